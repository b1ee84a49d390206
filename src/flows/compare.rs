//! `compare`: from a request to an outcome.

mod accesses;
mod aligned;
mod cases;
mod discovery;
mod division;
mod explain;
mod fit;
mod harnesses;
mod itself;
mod layouts;
mod lengths;
mod longer;
mod pack;
mod planning;
mod program;
mod renewal;
mod same;
mod sampling;
mod session;
mod unaffected;
mod units;
mod warm_up;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::engine::longer::{kept as kept_for_longer_runs, length as longest_run};
use crate::engine::remarks::remarks;
use crate::engine::{Event, Plan, Recorder, Reporter};
use crate::error::Error;
use crate::exec::execution::{Context, SideProgram};
use crate::flows::error::FlowError;
use crate::flows::history::learn::learn;
use crate::flows::hooks::with_hooks;
use crate::model::{
    BenchmarkResult, ChangedFunction, Division, Explain, Explanation, Gate, Notice, Outcome,
    Removed, Sampled, Shard, Status, StoppedBy, Verdict,
};
use crate::settings::options::Benchmark;
use crate::workspace::pack::Pack;
use crate::workspace::{self, Preparation, Preview, Request, State};
use discovery::Discovery;
pub(super) use itself::{TriedPairs, TriedProgram, sample_each};
pub use pack::{Packed, pack};
use program::ComparedProgram;
use session::Session;
use units::Builds;

/// The options of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What to compare.
    pub request: Request,
    /// Whether to stop at the first regression.
    pub fail_fast: bool,
    /// Whether to sample until the time limit even if no further verdict is expected.
    pub uses_full_time: bool,
    /// When to look for the functions that make a benchmark slower.
    pub explain: Explain,
    /// The gates that decide, each by its benchmark and metric; all if `None`.
    pub only: Option<BTreeSet<(String, String)>>,
    /// The seed of the order, below 2^53.
    pub seed: u64,
    /// Which shard this is, of a comparison over several machines.
    pub shard: Option<Shard>,
    /// The pack with all that is made ready, instead of a repository.
    pub packed: Option<PathBuf>,
}

/// The result of a comparison, and what its samples describe.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The result.
    pub outcome: Outcome,
    /// What was run, or would have been run.
    pub programs: Vec<Benchmark>,
    /// The gates of the sampled metrics, each with the name of its benchmark.
    pub gates: Vec<(String, Gate)>,
    /// How the benchmarks are divided among several machines, if they are.
    pub division: Option<Division>,
}

struct Measured {
    /// What was found in each program, with its results.
    programs: Vec<Discovery>,
    /// All but the results.
    sampled: Sampled,
    explanations: Vec<Explanation>,
    /// The gates, each with the name of its benchmark, except those of metrics
    /// known without a run.
    gates: Vec<(String, Gate)>,
    division: Option<Division>,
    /// Seconds from the start to the first measured pair.
    prepare_seconds: f64,
}

/// Compares the two sides. `on_event` is called with what happens, between runs only.
///
/// # Errors
/// If there is no result: see [`Error`]. A signal during sampling is not an error:
/// the outcome then holds the estimates so far.
pub fn compare(
    options: &Options,
    context: Context<'_>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Compared, Error> {
    let start = Instant::now();
    let reporter = &mut Recorder::new(on_event);
    let mut builds = Builds::first(options);
    loop {
        let mut preparation = match &options.packed {
            Some(file) => Pack::unpack(file, &options.request, context.interrupt, reporter)?,
            None => prepare(&options.request, &mut builds, context, reporter)?,
        };
        same::confirm(&mut preparation, options, context, reporter)?;
        let filter = options.request.filter.as_deref();
        let mut programs = program::programs(&preparation, filter, context, reporter)?;
        let measured = with_hooks(&mut programs, ComparedProgram::hook, context, |programs| {
            let (preparation, reporter) = (&preparation, &mut *reporter);
            let session = &mut Session { programs, preparation, options, start, reporter };
            measure(session, &mut builds)
        })?;
        let Some(measured) = measured else {
            reporter.begin_again();
            continue;
        };
        let changed = changed_functions(&programs, &measured, preparation.changed_crates.as_ref());
        let notices = builds.notice().into_iter().chain(remarks(measured.results()));
        notices.chain(changed).for_each(|notice| reporter.notice(notice));
        let notices = std::mem::take(&mut reporter.notices);
        let (gates, division) = (measured.gates.clone(), measured.division.clone());
        let outcome = outcome(options, &preparation, measured, notices);
        let prepared = preparation.benchmarks.into_iter();
        let programs = prepared.map(|prepared| prepared.benchmark).collect();
        return Ok(Compared { outcome, programs, gates, division });
    }
}

/// Prepares the builds that are compared, and learns the thresholds that are to be learnt.
fn prepare(
    request: &Request,
    builds: &mut Builds,
    context: Context<'_>,
    reporter: &mut Recorder<impl FnMut(Event<'_>)>,
) -> Result<Preparation, Error> {
    let prepare = |builds: &mut Builds, reporter: &mut Recorder<_>| loop {
        match workspace::prepare(&builds.request(request), context, reporter) {
            Err(error) if builds.are_given_up(&error) => reporter.begin_again(),
            prepared => return prepared,
        }
    };
    let mut preparation = prepare(builds, reporter)?;
    if builds.recall(&preparation, request.filter.as_deref()) {
        // The lock of the first has to be free.
        drop(preparation);
        reporter.begin_again();
        preparation = prepare(builds, reporter)?;
    }
    learn(&mut preparation, request)?;
    Ok(preparation)
}

/// Resolves a comparison without building or measuring anything.
///
/// # Errors
/// Those of [`compare`] that occur before its first build.
pub fn preview(
    options: &Options,
    context: Context<'_>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Preview, Error> {
    let reporter = &mut Recorder::new(on_event);
    if let Some(file) = &options.packed {
        let preview = Pack::preview(file, &options.request)?;
        preview.notices.iter().for_each(|notice| reporter.notice(notice.clone()));
        return Ok(preview);
    }
    let preview = workspace::preview(&options.request, context, reporter)?;
    Ok(Preview { notices: std::mem::take(&mut reporter.notices), ..preview })
}

/// Warms up, samples what the change may affect, and explains what has regressed; `None` if other
/// builds are to be compared.
fn measure(session: &mut Session<'_, '_>, builds: &mut Builds) -> Result<Option<Measured>, Error> {
    if session.programs.is_empty() {
        let stopped_by = nothing_to_measure(session.preparation);
        return Ok(Some(Measured::nothing(stopped_by, session, Vec::new())));
    }
    let mut found = warm_up::discover(session, &mut builds.warm_ups)?;
    if let Some(only) = &session.options.only {
        found.iter_mut().for_each(|found| found.keep(only));
        if !found.iter().any(Discovery::decides) {
            return without_gates(session, only).map(Some);
        }
    }
    if session.programs.iter().any(|program| program.prints_something_else) {
        for (program, found) in session.programs.iter().zip(&mut found) {
            let name = &program.execution.benchmark.name;
            let differs = program.prints_something_else.then_some(Status::DifferentOutput);
            found.results.extend(differs.map(|status| BenchmarkResult::new(name, status)));
        }
        return Ok(Some(Measured::nothing(StoppedBy::DifferentOutput, session, found)));
    }
    let planned = planned(session, &mut found, builds)?;
    let Some(Planned { mut plan, longest, mut division }) = planned else { return Ok(None) };
    let nothing = planning::reason_not_to_sample(&plan, &found, division.as_ref())?;
    if let Some(stopped_by) = nothing {
        let explanations = explain::explain_code(session, &found);
        let measured = Measured::nothing(stopped_by, session, found);
        return Ok(Some(Measured { explanations, division, ..measured }));
    }
    let mut sample = || {
        aligned::align(session, &plan)?;
        lengths::choose(session, &mut plan)?;
        fit::into_limit(session, &mut plan, &mut found)?;
        plan.kept = kept_for_longer_runs(&plan, longest);
        let prepare_seconds = session.seconds();
        Ok::<_, Error>((prepare_seconds, sampling::sample(session, &plan, longest)?))
    };
    let sampled = sample();
    session.programs.iter_mut().try_for_each(|one| one.try_sides(SideProgram::unalign))?;
    let (prepare_seconds, (mut sampled, over_layouts)) = sampled?;
    let is_out_of_time = sampled.pairs() == 0 && sampled.stopped_by == StoppedBy::TimeLimit;
    if is_out_of_time && !found.iter().any(Discovery::has_regressed) {
        return Err(FlowError::NoPair(plan.time_limit).into());
    }
    let results = plan.by_program(std::mem::take(&mut sampled.benchmarks), found.len());
    let programs = session.programs.iter().zip(&mut found);
    for ((program, found), mut results) in programs.zip(results) {
        results.iter_mut().for_each(|result| result.aligned = program.aligned);
        found.results = results;
    }
    let mut explanations = explain::explain(session, &found)?;
    explanations.extend(explain::explain_code(session, &found));
    found.iter_mut().for_each(Discovery::add_exact);
    let gates = plan.benchmarks.into_iter().flat_map(|benchmark| {
        benchmark.gates.into_iter().map(move |gate| (benchmark.name.clone(), gate))
    });
    if let Some(division) = &mut division {
        division.evidence = sampled.evidence;
        division.over_layouts = over_layouts;
    }
    Ok(Some(Measured {
        programs: found,
        sampled,
        explanations,
        gates: gates.collect(),
        division,
        prepare_seconds,
    }))
}

/// The result where nothing that is measured has any of these gates: their programs are identical.
///
/// # Errors
/// If they are gone instead.
fn without_gates(
    session: &Session<'_, '_>,
    gates: &BTreeSet<(String, String)>,
) -> Result<Measured, Error> {
    let mut prepared = session.preparation.benchmarks.iter();
    let is_identical = prepared.any(|prepared| {
        let has = |benchmark: &String| {
            let rest = benchmark.strip_prefix(&prepared.benchmark.name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        matches!(prepared.state, State::Identical(_)) && gates.iter().any(|(one, _)| has(one))
    });
    if is_identical {
        return Ok(Measured::nothing(StoppedBy::Identical, session, Vec::new()));
    }
    let gone = |(benchmark, metric): &(String, String)| Removed {
        benchmark: benchmark.clone(),
        metric: Some(metric.clone()),
    };
    Err(FlowError::AllRemoved(gates.iter().map(gone).collect()).into())
}

/// The pairs of what the change may affect.
struct Planned {
    plan: Plan,
    /// How long runs are that are longer than usual.
    longest: Duration,
    /// Where this machine measures a part of the benchmarks.
    division: Option<Division>,
}

/// Plans the pairs of those benchmarks that this machine measures and the change may affect; `None`
/// if other builds are to be compared.
fn planned(
    session: &mut Session<'_, '_>,
    found: &mut [Discovery],
    builds: &mut Builds,
) -> Result<Option<Planned>, Error> {
    let (settings, shard) = (&session.preparation.settings, session.options.shard);
    let mut division = division::divide(session, found);
    // Machines with some of the pairs of all benchmarks reach a verdict together.
    let decides = shard.is_none() || division.is_some();
    if !decides && settings.policy.suite.is_some() {
        return Err(FlowError::SuiteByPairs.into());
    }
    let benchmarks = found.iter().map(|found| found.benchmarks.len()).sum();
    let longest = longest_run(settings.limits.time, benchmarks);
    if decides {
        let left_out = unaffected::leave_out(session, found, longest)?;
        if builds.are_replaced(&left_out, session.preparation) {
            session.reporter.event(Event::OtherBuilds(left_out.unaffected, left_out.of));
            return Ok(None);
        }
        // Where only some gates count, this would be about their benchmarks alone.
        let notice = left_out.notice().filter(|_| session.options.only.is_none());
        notice.into_iter().for_each(|notice| session.reporter.notice(notice));
    }
    same::report(session, found);
    let mut plan = planning::plan(session, found, decides)?;
    if let (Some(division), Some(shard)) = (&mut division, shard) {
        division.sharing = division.sharers(shard, plan.tests());
        plan.of_tests = Some(division.sharing);
    }
    Ok(Some(Planned { plan, longest, division }))
}

impl Measured {
    /// The result without sampling.
    fn nothing(
        stopped_by: StoppedBy,
        session: &Session<'_, '_>,
        mut found: Vec<Discovery>,
    ) -> Self {
        found.iter_mut().for_each(Discovery::add_exact);
        Measured {
            programs: found,
            sampled: Sampled::nothing(stopped_by),
            explanations: Vec::new(),
            gates: Vec::new(),
            division: None,
            prepare_seconds: session.seconds(),
        }
    }

    fn results(&self) -> impl Iterator<Item = &BenchmarkResult> {
        self.programs.iter().flat_map(|program| &program.results)
    }
}

/// Why there is no benchmark to measure.
fn nothing_to_measure(preparation: &Preparation) -> StoppedBy {
    let lacking = |state: &State| matches!(state, State::NoBaseline);
    if preparation.benchmarks.iter().any(|prepared| lacking(&prepared.state)) {
        StoppedBy::NoBaseline
    } else {
        StoppedBy::Identical
    }
}

fn outcome(
    options: &Options,
    preparation: &Preparation,
    measured: Measured,
    notices: Vec<Notice>,
) -> Outcome {
    let Sampled { stopped_by, suite, likely_slower, elapsed, .. } = measured.sampled;
    let benchmarks = all_benchmarks(preparation, &measured.programs);
    let has_unmeasured = benchmarks.iter().any(|one| one.status == Status::NotMeasured);
    let of_benchmarks = || {
        let all = benchmarks.iter().chain(suite.iter().flat_map(|suite| &suite.numbers));
        // That of a shard is that of all shards together.
        let is_whole = options.shard.is_none();
        is_whole.then(|| Verdict::of_benchmarks(all, likely_slower.as_deref()))
    };
    let verdict = stopped_by.without_runs().or_else(of_benchmarks);
    let stopped_by = match stopped_by {
        StoppedBy::Verdict if has_unmeasured && verdict == Some(Verdict::Inconclusive) => {
            StoppedBy::TimeLimit
        }
        stopped_by => stopped_by,
    };
    let mut removed = preparation.removed.clone();
    removed.extend(measured.programs.iter().flat_map(|program| program.removed()));
    let selecting = notices.iter().filter_map(|notice| match notice {
        Notice::RunDiffers(differs) => Some(differs.selecting()),
        _ => None,
    });
    Outcome {
        verdict,
        stopped_by,
        elapsed_seconds: Some(elapsed),
        prepare_seconds: Some(measured.prepare_seconds),
        rows: None,
        benchmarks,
        suite,
        likely_slower,
        sides: Some(preparation.sides.clone()),
        toolchain: Some(preparation.toolchain.clone()),
        policy: preparation.settings.policy.clone(),
        limits: preparation.settings.limits.clone(),
        seed: Some(options.seed),
        shard: Some(options.shard),
        removed,
        explanations: measured.explanations,
        selecting: selecting.flatten().collect(),
        notices,
    }
}

/// Which functions differ in programs with a regressed benchmark, if that is known. `edited` are
/// the crates whose source differs.
fn changed_functions(
    programs: &[ComparedProgram<'_>],
    measured: &Measured,
    edited: Option<&BTreeSet<String>>,
) -> Vec<Notice> {
    let mut notices = Vec::new();
    for (program, found) in programs.iter().zip(&measured.programs) {
        let regressed = found.results.iter().filter(|result| result.has_regressed());
        let entered: Vec<_> = regressed.map(|result| found.entered.get(&result.name)).collect();
        if !entered.is_empty()
            && let Some(changed) = program.changed_functions()
        {
            let mut changed = changed.to_vec();
            let is_known = entered.iter().all(Option::is_some);
            for function in &mut changed {
                let mut all = entered.iter().flatten();
                let runs = all.any(|entered| entered.contains(&function.name));
                function.runs = is_known.then_some(runs);
                function.is_edited = edited.and_then(|crates| names_any(&function.name, crates));
            }
            sort_by_relevance(&mut changed);
            let benchmark = program.execution.benchmark.name.clone();
            notices.push(Notice::Functions { benchmark, changed });
        }
    }
    notices
}

/// Puts those first that run in a regressed benchmark, and of these those whose source may have
/// changed.
fn sort_by_relevance(changed: &mut [ChangedFunction]) {
    changed.sort_by_key(|one| (one.runs == Some(false), one.is_edited == Some(false)));
}

/// Whether a function's name contains one of these crates; names of generic functions also
/// contain those of their type arguments. `None` for functions of other languages.
fn names_any(function: &str, crates: &BTreeSet<String>) -> Option<bool> {
    let words = function.split(|c: char| !c.is_alphanumeric() && c != '_');
    function.contains("::").then(|| words.into_iter().any(|word| crates.contains(word)))
}

/// The measured benchmarks, together with those that had nothing to measure.
fn all_benchmarks(preparation: &Preparation, measured: &[Discovery]) -> Vec<BenchmarkResult> {
    let mut all = Vec::new();
    for (number, prepared) in preparation.benchmarks.iter().enumerate() {
        let name = &prepared.benchmark.name;
        match &prepared.state {
            State::Ready(_) | State::Same(..) => {
                for program in measured.iter().filter(|program| program.number == number) {
                    all.extend(benchmarks_of(program, &prepared.benchmark.shown));
                }
            }
            State::Identical(reason) => {
                all.push(BenchmarkResult::same(name, Status::Compared, reason.clone()));
            }
            State::NoBaseline if preparation.removed.iter().any(|gone| gone.benchmark == *name) => {
            }
            State::NoBaseline => all.push(BenchmarkResult::new(name, Status::New)),
        }
    }
    let removed = preparation.removed.iter();
    all.extend(removed.map(|gone| BenchmarkResult::new(&gone.benchmark, Status::Removed)));
    all
}

/// All benchmarks of a program. The metrics that are `shown` were requested without a gate.
fn benchmarks_of(found: &Discovery, shown: &[String]) -> Vec<BenchmarkResult> {
    let mut all = Vec::new();
    for result in &found.results {
        let shown = shown.to_vec();
        all.push(BenchmarkResult { shown, ..found.with_one_sided(result.clone()) });
    }
    all.extend(
        found
            .unaffected
            .iter()
            .map(|(name, reason)| BenchmarkResult::same(name, Status::Unaffected, reason.clone())),
    );
    let not_measured = found.not_measured.iter();
    all.extend(not_measured.map(|(name, needed)| BenchmarkResult::not_measured(name, *needed)));
    all.extend(found.one_sided_results());
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Pair;

    #[test]
    fn of_the_functions_that_differ_those_come_first_that_run_and_may_have_been_edited() {
        let function = |name: &str, runs, is_edited| ChangedFunction {
            name: name.to_owned(),
            bytes: Pair { base: Some(1), head: Some(2) },
            runs,
            is_edited,
        };
        let mut changed = [
            function("elsewhere", Some(false), Some(true)),
            function("criterion::iter", Some(true), Some(false)),
            function("hex::encode", Some(true), Some(true)),
            function("memcpy", Some(true), None),
        ];
        sort_by_relevance(&mut changed);
        let names = changed.each_ref().map(|function| function.name.as_str());
        assert_eq!(names, ["hex::encode", "memcpy", "criterion::iter", "elsewhere"]);
    }

    #[test]
    fn a_function_is_edited_if_its_name_contains_a_changed_crate() {
        let crates = BTreeSet::from(["hex".to_owned()]);
        let edited = |name: &str| names_any(name, &crates);
        assert_eq!(edited("<hex::Encoder as core::fmt::Display>::fmt"), Some(true));
        assert_eq!(edited("criterion::Bencher::iter::<hex::Bytes>"), Some(true));
        assert_eq!(edited("rustc_hex::encode"), Some(false));
        assert_eq!(edited("memcpy"), None);
    }
}
