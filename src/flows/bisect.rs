//! Finds the commit that introduced a regression: a binary search in which each
//! step is a regular comparison of a commit with the good one.
//!
//! # The promise
//!
//! If the regression persists once it is introduced, the answer is right with at
//! least the requested confidence. It is wrong only if a verdict on the way is
//! wrong, and the error probabilities of the comparisons add up to no more than 1
//! minus that confidence ([`level`]). They are assigned by number, before anything
//! is measured. So it does not matter how many comparisons the search takes, or
//! that each one depends on earlier verdicts (Boole's inequality: each comparison
//! is a new measurement, whose error probability holds whatever came before).

mod search;

use std::collections::BTreeSet;
use std::path::PathBuf;

pub use search::StepOutcome;
use search::{Search, halvings};
use serde::{Deserialize, Serialize};

use crate::engine::Event;
use crate::error::{Error, Failure};
use crate::exec::error::ExecError;
use crate::exec::execution::Context;
use crate::exec::process::RunError;
use crate::exec::system::{Memo, digest};
use crate::flows::compare::{Options, compare};
use crate::flows::error::FlowError;
use crate::flows::history::fingerprint::Fingerprint;
use crate::model::layouts::OverLayouts;
use crate::model::{
    BenchmarkResult, Doubt, Outcome, Policy, Removed, Revision, Side, StoppedBy, Verdict,
};
use crate::settings::values::Confidence;
use crate::settings::{self, Written, options};
use crate::workspace::error::WorkspaceError;
use crate::workspace::git::Repo;
use crate::workspace::git::line::{self, Commit, Node, Parents};
use crate::workspace::{self, Request, cargo};

/// What to search for.
#[derive(Clone, Debug)]
pub struct BisectOptions {
    /// What to compare, and what decides. Its base and head are ignored, and its
    /// confidence is that of the answer.
    pub request: Request,
    /// The good commit.
    pub good: String,
    /// The bad commit.
    pub bad: String,
    /// Which parents of merges to search.
    pub parents: Parents,
    /// Whether to discard the results of an earlier search for the same commit.
    pub restart: bool,
    /// The seed of the first comparison's order, below 2^53.
    pub seed: u64,
}

/// The progress of a search.
#[derive(Clone, Copy, Debug)]
pub enum BisectEvent<'a> {
    /// The search begins.
    Begins {
        /// How many commits are searched.
        commits: usize,
        /// The number of results known from an earlier search.
        known: usize,
    },
    /// A commit is about to be tried.
    Trying {
        /// The commit.
        commit: &'a Commit,
        /// The number of remaining suspects.
        suspects: usize,
        /// The maximum number of remaining tries, if no commit has to be skipped.
        tries_left: u32,
    },
    /// An event of the comparison of that commit.
    Comparing(Event<'a>),
    /// A commit was tried.
    Tried(&'a Commit, &'a BisectStep),
}

/// The result for one commit, as stored in the cache and in the JSON output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BisectStep {
    /// The commit.
    pub commit: String,
    /// The outcome.
    pub outcome: StepOutcome,
    /// Why it could not be tried, or was not measured.
    pub why: Option<String>,
    /// The measurement, if there was one.
    pub measured: Option<StepMeasurement>,
    /// The benchmarks that regressed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub regressed: BTreeSet<String>,
    /// Their gates that did, each by its benchmark and metric.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub gates: BTreeSet<(String, String)>,
}

/// The measurement of a commit against the good one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepMeasurement {
    pub(crate) level: f64,
    /// The change of the metric that decided, a fraction.
    pub change: Option<f64>,
    /// The lower bound of the change.
    pub lower: Option<f64>,
    /// The upper bound of the change.
    pub upper: Option<f64>,
    /// The number of pairs.
    pub pairs: u64,
    /// The layouts of the test that decided, if it was not that of the pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layouts: Option<OverLayouts>,
    /// How long sampling took, seconds.
    pub seconds: f64,
}

/// The answer of a search.
#[derive(Clone, Debug)]
pub struct BisectReport {
    /// Whether the bad commit is a regression against the good one.
    pub verdict: Verdict,
    /// The good commit.
    pub good: Revision,
    /// The bad commit.
    pub bad: Revision,
    /// The commit that introduced the regression. Several commits if some could not
    /// be tried, none without a regression.
    pub guilty: Vec<Commit>,
    /// All commits that were tried, in order.
    pub steps: Vec<BisectStep>,
    /// The minimum probability that the answer is right.
    pub confidence: f64,
    /// What fails besides a regression.
    pub fail_on: BTreeSet<Doubt>,
}

/// Searches for the commit after `good` that introduced the regression of `bad`
/// against it.
///
/// # Errors
/// If `good` is not an ancestor of `bad`, has no such benchmark or does not build, or
/// if a comparison fails for a reason unrelated to its commit. A signal is an error,
/// too; the results so far are kept in the cache.
pub fn bisect(
    options: &BisectOptions,
    context: Context<'_>,
    on_event: &mut dyn FnMut(BisectEvent<'_>),
) -> Result<BisectReport, Error> {
    let repo = Repo::discover(&options.request.folder)?;
    let good = repo.at(Some(&options.good))?;
    let bad = repo.at(Some(&options.bad))?;
    let nodes = line::between(&repo, &good.commit, &bad.commit, options.parents)?;
    let request = comparison_with(&good, &options.request, context)?;
    let (policy, _) = options::limits(&request.flags)?;
    // All on which the verdicts depend, apart from the commits.
    let Request { flags, filter, .. } = &request;
    let build = workspace::compiler_flags(&request.env);
    let identity = (&good.commit, &bad.commit, options.parents, flags, filter, build);
    let name = &digest(format!("{identity:?} {:?}", Fingerprint::here()).as_bytes())[..16];
    let path = workspace::repository_cache(&request, &repo)?.file(&format!("bisect-{name}.json"));
    let saved = Memo::new(path.clone(), "");
    if options.restart {
        let _ = std::fs::remove_file(&path);
    }
    // A file that can't be read counts as empty.
    let steps: Vec<BisectStep> = saved.read().ok().flatten().unwrap_or_default();
    on_event(BisectEvent::Begins { commits: nodes.len(), known: steps.len() });
    let mut bisection = Bisection {
        request,
        seed: options.seed,
        search: Search::new(nodes.iter().map(|node| node.parents.clone()).collect()),
        nodes,
        steps,
        saved,
        path,
        policy,
        context,
    };
    let last = bisection.try_commit(bisection.nodes.len() - 1, on_event)?;
    let verdict = match last.outcome {
        StepOutcome::Bad => Verdict::Regression,
        StepOutcome::Good => Verdict::NoRegression,
        StepOutcome::Inconclusive => Verdict::Inconclusive,
        StepOutcome::Unusable => {
            let why = last.why.unwrap_or_default();
            return Err(incomparable("bad", &why).into());
        }
    };
    let mut guilty = Vec::new();
    if verdict == Verdict::Regression {
        while let Some(next) = bisection.search.next() {
            let step = bisection.try_commit(next, on_event)?;
            bisection.search.mark(next, step.outcome);
        }
        let suspects = bisection.search.suspects().into_iter();
        guilty = suspects.map(|number| bisection.nodes[number].commit.clone()).collect();
    }
    let _ = std::fs::remove_file(&bisection.path);
    Ok(BisectReport {
        verdict,
        good,
        bad,
        guilty,
        steps: bisection.steps,
        confidence: bisection.policy.confidence,
        fail_on: bisection.policy.fail_on,
    })
}

/// The request of a comparison of any commit with the good one. All of them use the
/// table of the user's checkout.
fn comparison_with(
    good: &Revision,
    request: &Request,
    context: Context<'_>,
) -> Result<Request, Error> {
    let mut flags = workspace::user_table(request, context)?;
    flags.base = Some(good.commit.clone());
    // The named benchmarks come from each commit's own table, unless one is chosen.
    flags.benchmarks = None;
    // A waiver accepts a slowdown, but that is still a slowdown.
    flags.waivers = Some(Vec::new());
    Ok(Request { flags, exact_base: true, policy_from: Side::Head, ..request.clone() })
}

struct Bisection<'a> {
    /// The request of all comparisons, without a head.
    request: Request,
    seed: u64,
    nodes: Vec<Node>,
    search: Search,
    steps: Vec<BisectStep>,
    /// They are stored, so that an interrupted search can continue.
    saved: Memo,
    path: PathBuf,
    policy: Policy,
    context: Context<'a>,
}

impl Bisection<'_> {
    /// Returns the result for a commit: from an earlier search, or by comparing it now.
    fn try_commit(
        &mut self,
        number: usize,
        on_event: &mut dyn FnMut(BisectEvent<'_>),
    ) -> Result<BisectStep, Error> {
        let commit = &self.nodes[number].commit;
        if let Some(known) = self.steps.iter().find(|step| step.commit == commit.id) {
            return Ok(known.clone());
        }
        let suspects = self.search.suspects().len();
        on_event(BisectEvent::Trying { commit, suspects, tries_left: halvings(suspects) });
        let measured = self.steps.iter().filter(|step| step.measured.is_some()).count();
        let (total, expected) = (1.0 - self.policy.confidence, 1 + halvings(self.nodes.len()));
        let level = level(total, 1 + measured as u32, expected);
        let mut request = Request { head: Some(commit.id.clone()), ..self.request.clone() };
        request.flags.confidence = Some(Written::new(Confidence(1.0 - level)));
        let seed = (self.seed + self.steps.len() as u64) % (1 << 53);
        // The bad commit is the first one that is tried. What else regressed in between, and was
        // mended again, is not what is searched for.
        let bad = self.steps.first();
        let only = bad.map(|bad| bad.gates.clone());
        let only = only.filter(|gates| !gates.is_empty() && self.policy.suite.is_none());
        let bad = bad.map(|bad| bad.regressed.clone());
        let options = Options { request, fail_fast: true, only, seed, ..Options::default() };
        let compared = compare(&options, self.context, &mut |event| {
            on_event(BisectEvent::Comparing(event));
        });
        let step = match compared {
            Ok(compared) => step(commit, &compared.outcome, level, bad.as_ref())?,
            Err(error) if lies_in_the_commit(&error) => BisectStep {
                commit: commit.id.clone(),
                outcome: StepOutcome::Unusable,
                why: Some(error.to_string()),
                measured: None,
                regressed: BTreeSet::new(),
                gates: BTreeSet::new(),
            },
            Err(error) => return Err(error),
        };
        self.steps.push(step.clone());
        self.saved.write(&self.steps).map_err(Error::io("write", &self.path))?;
        on_event(BisectEvent::Tried(commit, &step));
        Ok(step)
    }
}

/// The error probability of comparison `number` (from 1), of a `total` for all and
/// with `expected` comparisons expected. The expected ones share nine tenths of it
/// equally. All that may follow share the last tenth, in proportion to 1/i², whose
/// sum is π²/6.
fn level(total: f64, number: u32, expected: u32) -> f64 {
    if number <= expected {
        return 0.9 * total / f64::from(expected);
    }
    let extra = f64::from(number - expected);
    let share = 6.0 / (std::f64::consts::PI * extra).powi(2);
    0.1 * total * share
}

/// The result for a commit, from its comparison with the good one. These benchmarks regressed in the
/// `bad` one: what no longer measures them says nothing about them.
fn step(
    commit: &Commit,
    compared: &Outcome,
    level: f64,
    bad: Option<&BTreeSet<String>>,
) -> Result<BisectStep, Error> {
    if compared.stopped_by == StoppedBy::Interrupt {
        return Err(RunError::Interrupted.into());
    }
    let is_bad = |removed: &&Removed| bad.is_some_and(|bad| bad.contains(&removed.benchmark));
    let unmeasured = compared.removed.iter().find(is_bad);
    let (outcome, why) = match (compared.verdict, unmeasured) {
        (Some(Verdict::Regression), _) => (StepOutcome::Bad, None),
        (Some(Verdict::NoRegression | Verdict::Identical), Some(removed)) => {
            (StepOutcome::Inconclusive, Some(format!("it does not measure {removed}")))
        }
        (Some(Verdict::NoRegression), None) => (StepOutcome::Good, None),
        (Some(Verdict::Identical), None) => {
            (StepOutcome::Good, Some("the same program as the good commit's".to_owned()))
        }
        (Some(Verdict::DifferentOutput), _) => {
            let why = "it prints something different from the good commit".to_owned();
            (StepOutcome::Inconclusive, Some(why))
        }
        (Some(Verdict::Inconclusive) | None, _) => (StepOutcome::Inconclusive, None),
        (Some(Verdict::NoBaseline), _) => {
            let why = "it has no such benchmark, or does not build";
            return Err(incomparable("good", why).into());
        }
    };
    let gating = || compared.metrics().filter(|(_, metric)| metric.verdict.is_some());
    let decided = gating().find(|(_, metric)| metric.verdict == compared.verdict);
    let measured = decided.or(gating().next()).map(|(_, metric)| StepMeasurement {
        level,
        change: metric.summary.change,
        lower: metric.summary.lower.filter(|bound| bound.is_finite()),
        upper: metric.summary.upper.filter(|bound| bound.is_finite()),
        pairs: compared.pairs(),
        layouts: metric.layouts,
        seconds: compared.elapsed_seconds.unwrap_or_default(),
    });
    // It is not known which gate of a benchmark that is likely slower.
    let is_likely = |of: &BenchmarkResult| compared.likely_slower.as_ref() == Some(&of.name);
    let regressed = gating()
        .filter(|(of, metric)| metric.verdict == Some(Verdict::Regression) || is_likely(of));
    let gates = regressed.map(|(of, metric)| (of.name.clone(), metric.name.clone()));
    let gates: BTreeSet<_> = gates.collect();
    let regressed = gates.iter().map(|(benchmark, _)| benchmark.clone()).collect();
    Ok(BisectStep { commit: commit.id.clone(), outcome, why, measured, regressed, gates })
}

fn incomparable(which: &str, why: &str) -> Failure {
    let what = format!("the {which} commit can't be compared: {why}");
    Failure::new(what, "choose another commit")
}

/// Whether a comparison failed because of its commit, so that other commits can
/// still be tried.
fn lies_in_the_commit(error: &Error) -> bool {
    use settings::Error::{Bad, Disagree};
    let is_of_tables = |error: &settings::Error| !matches!(error, Bad { .. } | Disagree(_));
    matches!(
        error.as_kind(),
        Some(
            WorkspaceError::Build { side: Side::Head, .. }
                | WorkspaceError::Manifests { side: Side::Head, .. }
                | WorkspaceError::NotCommitted { side: Side::Head, .. }
        )
    ) || matches!(
        error.as_kind(),
        Some(
            ExecError::Benchmark { side: Side::Head, .. }
                | ExecError::Start { side: Side::Head, .. }
        )
    ) || matches!(error.as_kind(), Some(FlowError::NoBenchmark { .. } | FlowError::AllRemoved(_)))
        || matches!(error.as_kind(), Some(cargo::Error::NoExecutable(_)))
        || error.as_kind().is_some_and(is_of_tables)
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
