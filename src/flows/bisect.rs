//! Which commit brought the regression? A binary search in which each try is
//! the real comparison of a commit with the good one.
//!
//! # The promise
//!
//! If the change, once in, stays in, the answer is right with at least the
//! confidence that is asked for: it is wrong only if a verdict on the way was
//! wrong, and the chances of wrong verdicts that the comparisons are allowed
//! add up to no more than 1 minus that confidence ([`level`]). They are shared
//! out by number, before anything is measured, so it does not matter how many
//! comparisons it takes, or that what is compared next depends on what was
//! found before (Boole's inequality, each comparison being a fresh measurement
//! whose chance of a wrong verdict holds given everything before it).

pub mod search;
pub mod state;

use search::{Search, steps};
use state::{CommitOutcome, Measurement, State, Step};

use crate::error::{Error, Kind};
use crate::exec::process::{Helper, Interrupt, RunError};
use crate::exec::system::digest;
use crate::flows::compare::{self, compare};
use crate::flows::event::Event;
use crate::flows::history::hardware::Hardware;
use crate::model::outcome::{OnDoubt, Outcome, StoppedBy, Verdict};
use crate::model::revision::Revision;
use crate::model::side::Side;
use crate::settings::values::Confidence;
use crate::settings::{self, Written, options};
use crate::workspace::git::Repo;
use crate::workspace::git::line::{Commit, Node, Parents};
use crate::workspace::{self, Request, cargo};

/// What to search for.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is compared and what decides; its base and head are not looked at.
    /// The confidence is that of the answer.
    pub request: Request,
    /// The good commit.
    pub good: String,
    /// The bad commit.
    pub bad: String,
    /// Which parents of merges are looked at.
    pub parents: Parents,
    /// Forget what an earlier search for the same has found.
    pub restart: bool,
    /// The seed of the first comparison's order, below 2^53.
    pub seed: u64,
}

/// How a search stands.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// It begins, among so many commits, with so many verdicts from before.
    Begins(usize, usize),
    /// A commit is to be tried; so many suspects and at most so many tries are
    /// left, if none has to be skipped.
    Trying(&'a Commit, usize, u32),
    /// A commit was tried.
    Tried(&'a Commit, &'a Step),
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    /// Whether the bad commit has a regression against the good one.
    pub verdict: Verdict,
    /// The good commit.
    pub good: Revision,
    /// The bad commit.
    pub bad: Revision,
    /// The commit that brought it; several when those between could not be
    /// tried; none without a regression.
    pub guilty: Vec<Commit>,
    /// All that was tried, in order.
    pub steps: Vec<Step>,
    /// With which probability the answer is right, at least.
    pub confidence: f64,
    /// What doubt means.
    pub on_inconclusive: OnDoubt,
}

/// The chance of a wrong verdict that comparison number `number` (from 1) is
/// allowed, when all of them together may have `total` and `expected` are
/// expected: nine tenths are for those, in equal parts; the last tenth is for
/// all that may follow, in parts of 1/i² (which sum to π²/6).
pub fn level(total: f64, number: u32, expected: u32) -> f64 {
    if number <= expected {
        return 0.9 * total / f64::from(expected);
    }
    let extra = f64::from(number - expected);
    let share = 6.0 / (std::f64::consts::PI * extra).powi(2);
    0.1 * total * share
}

/// Searches for the commit after `good` that brought the regression that `bad`
/// has against it.
///
/// # Errors
/// When `good` is no ancestor of `bad`, has no such benchmark or does not build,
/// and when a comparison can't be made for a reason that is not the commit's.
/// A signal is an error, too; what was found so far is kept.
pub fn bisect(
    options: &Options,
    helper: &Helper,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Event<'_>),
    follow: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, Error> {
    let repo = Repo::discover(&options.request.folder)?;
    let good = repo.at(Some(&options.good))?;
    let bad = repo.at(Some(&options.bad))?;
    let nodes = repo.between(&good.commit, &bad.commit, options.parents)?;
    let request = request(options, &good, helper, interrupt)?;
    let (policy, _) = options::limits(&request.flags)?;
    let about = (&good.commit, &bad.commit, options.parents, &request.flags, Hardware::here());
    let name = &digest(format!("{about:?}").as_bytes())[..16];
    let path = workspace::repository_cache(&request, &repo)?.file(&format!("bisect-{name}.json"));
    let mut state = State::open(path);
    if options.restart {
        state.remove();
        state.steps.clear();
    }
    follow(Progress::Begins(nodes.len(), state.steps.len()));
    let expected = 1 + steps(nodes.len());
    let total = 1.0 - policy.confidence;
    let mut tries = Tries { request, options, state, total, expected, helper, interrupt };
    let mut search = Search::new(nodes.iter().map(|node| node.parents.clone()).collect());
    let last = nodes.len() - 1;
    let verdict = match tries.of(&nodes, last, &search, tell, follow)? {
        CommitOutcome::Bad => Verdict::Regression,
        CommitOutcome::Good => Verdict::NoRegression,
        CommitOutcome::Inconclusive => Verdict::Inconclusive,
        CommitOutcome::Unusable => {
            let why = tries.state.steps.last().and_then(|step| step.why.clone());
            return Err(Kind::Bisect { which: "bad", why: why.unwrap_or_default() }.into());
        }
    };
    while let Some(next) = search.next().filter(|_| verdict == Verdict::Regression) {
        let outcome = tries.of(&nodes, next, &search, tell, follow)?;
        search.mark(next, outcome.mark());
    }
    let guilty = search.suspects().into_iter().map(|at| nodes[at].commit.clone());
    let guilty = guilty.filter(|_| verdict == Verdict::Regression).collect();
    tries.state.remove();
    let (confidence, on_inconclusive) = (policy.confidence, policy.on_inconclusive);
    let steps = tries.state.steps;
    Ok(Report { verdict, good, bad, guilty, steps, confidence, on_inconclusive })
}

/// The comparisons of a search: of each commit with the good one, all by the
/// table that the user has before them.
fn request(
    options: &Options,
    good: &Revision,
    helper: &Helper,
    interrupt: &Interrupt,
) -> Result<Request, Error> {
    let mut flags = workspace::user_table(&options.request, helper, interrupt)?;
    flags.base = Some(good.commit.clone());
    // Those of each commit's own table count, unless one is chosen.
    flags.benchmarks = None;
    // A slowdown that was accepted is one all the same.
    flags.waivers = Some(Vec::new());
    let policy_from = Side::Head;
    let (exact_base, dirty, aa, always_run) = (true, false, false, false);
    let request = options.request.clone();
    Ok(Request { flags, exact_base, dirty, aa, always_run, policy_from, ..request })
}

/// What tries commits.
struct Tries<'a> {
    request: Request,
    options: &'a Options,
    state: State,
    /// The chance of a wrong answer, and the comparisons that are expected to
    /// share it.
    total: f64,
    expected: u32,
    helper: &'a Helper,
    interrupt: &'a Interrupt,
}

impl Tries<'_> {
    /// What a commit is: as was found before, or by comparing it now.
    fn of(
        &mut self,
        nodes: &[Node],
        at: usize,
        search: &Search,
        tell: &mut dyn FnMut(Event<'_>),
        follow: &mut dyn FnMut(Progress<'_>),
    ) -> Result<CommitOutcome, Error> {
        let commit = &nodes[at].commit;
        if let Some(known) = self.state.steps.iter().find(|step| step.commit == commit.id) {
            return Ok(known.outcome);
        }
        follow(Progress::Trying(commit, search.suspects().len(), search.tries_left()));
        let measured = self.state.steps.iter().filter(|step| step.measured.is_some()).count();
        let level = level(self.total, 1 + measured as u32, self.expected);
        let mut request = self.request.clone();
        request.head = Some(commit.id.clone());
        request.flags.confidence = Some(Written::new(Confidence(1.0 - level)));
        let seed = (self.options.seed + self.state.steps.len() as u64) % (1 << 53);
        let options = compare::Options { request, fail_fast: true, seed, shard: None };
        let step = match compare(&options, self.helper, self.interrupt, tell) {
            Ok(compared) => step(commit, &compared.outcome, level)?,
            Err(error) if is_the_commits(&error) => Step {
                commit: commit.id.clone(),
                outcome: CommitOutcome::Unusable,
                why: Some(error.to_string()),
                measured: None,
            },
            Err(error) => return Err(error),
        };
        self.state.push(step)?;
        let step = &self.state.steps[self.state.steps.len() - 1];
        follow(Progress::Tried(commit, step));
        Ok(step.outcome)
    }
}

/// What a comparison with the good commit says of a commit.
fn step(commit: &Commit, compared: &Outcome, level: f64) -> Result<Step, Error> {
    if compared.stopped_by == StoppedBy::Interrupt {
        return Err(RunError::Interrupted.into());
    }
    let (outcome, why) = match compared.verdict {
        Some(Verdict::Regression) => (CommitOutcome::Bad, None),
        Some(Verdict::NoRegression) => (CommitOutcome::Good, None),
        Some(Verdict::Identical) => {
            (CommitOutcome::Good, Some("the same program as the good commit's".to_owned()))
        }
        Some(Verdict::Inconclusive) | None => (CommitOutcome::Inconclusive, None),
        Some(Verdict::NoBaseline) => {
            let why = "it has no such benchmark, or does not build".to_owned();
            return Err(Kind::Bisect { which: "good", why }.into());
        }
    };
    let judged = || compared.metrics().filter(|(_, metric)| metric.verdict.is_some());
    let decided = judged().find(|(_, metric)| metric.verdict == compared.verdict);
    let measured = decided.or(judged().next()).map(|(_, metric)| Measurement {
        level,
        change: metric.summary.change,
        lower: metric.summary.lower.filter(|bound| bound.is_finite()),
        upper: metric.summary.upper.filter(|bound| bound.is_finite()),
        pairs: compared.pairs(),
        seconds: compared.elapsed_seconds.unwrap_or_default(),
    });
    Ok(Step { commit: commit.id.clone(), outcome, why, measured })
}

/// Whether a comparison failed because of what the commit is, so that others
/// can still be tried.
fn is_the_commits(error: &Error) -> bool {
    match error.kind() {
        Kind::Build { side, .. }
        | Kind::Manifests { side, .. }
        | Kind::NotCommitted { side, .. }
        | Kind::Benchmark { side, .. } => *side == Side::Head,
        Kind::Settings(error) => {
            !matches!(error, settings::Error::Bad { .. } | settings::Error::Disagree(_))
        }
        Kind::Cargo(cargo::Error::NoExecutable(_)) | Kind::NoBenchmark { .. } => true,
        Kind::AllRemoved(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chances_add_up_to_the_total_however_many_comparisons_there_are() {
        for expected in [1, 7, 12] {
            let spent = |count: u32| -> f64 { (1..=count).map(|n| level(0.05, n, expected)).sum() };
            assert!((spent(expected) - 0.045).abs() < 1e-12);
            assert!(spent(100_000) < 0.05 && spent(100_000) > 0.0499);
        }
    }
}
