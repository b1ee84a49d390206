//! `compare`: from a request to an outcome.

mod accesses;
mod discovery;
mod explain;
mod harnesses;
mod layouts;
mod lengths;
mod longer;
mod program;
mod same;
mod session;
mod unaffected;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::engine::event::{Event, Recorder, Reporter};
use crate::engine::remarks::remarks;
use crate::error::{Error, Kind};
use crate::exec::execution::Context;
use crate::model::explanation::Explain;
use crate::model::gate::Gate;
use crate::model::notice::{ChangedFunction, Notice};
use crate::model::outcome::{BenchmarkResult, Outcome, Status, StoppedBy, Verdict};
use crate::model::shard::Shard;
use crate::model::side::Side;
use crate::settings::options::Benchmark;
use crate::workspace::{self, Preparation, Preview, Request, State};
use discovery::Discovery;
use program::ComparedProgram;
use session::{Measured, Session};

/// The options of a comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// What to compare.
    pub request: Request,
    /// Whether to stop at the first regression.
    pub fail_fast: bool,
    /// When to look for the functions that make a benchmark slower.
    pub explain: Explain,
    /// The seed of the order, below 2^53.
    pub seed: u64,
    /// Which shard this is, of a comparison over several machines. A shard
    /// samples to its limits and reaches no verdict.
    pub shard: Option<Shard>,
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
    let Context { helper, interrupt } = context;
    let reporter = &mut Recorder::new(on_event);
    let mut preparation = workspace::prepare(&options.request, helper, interrupt, reporter)?;
    same::confirm(&mut preparation, options, context, reporter)?;
    let programs = programs(&preparation, options.request.filter.as_deref(), reporter)?;
    let Measured { sampled, explanations, discoveries, gates, prepare_seconds } =
        if programs.is_empty() {
            Measured::nothing(nothing_to_measure(&preparation), Vec::new(), start)
        } else {
            let names = preparation.benchmarks.iter().map(|one| one.benchmark.name.clone());
            let mut session = Session {
                programs,
                context,
                known_repetitions: preparation.cache.file("repetitions-v1"),
                known_lengths: preparation.cache.file("run-lengths-v2"),
                longest: Duration::ZERO,
                reporter: &mut *reporter,
                start,
                names: names.collect(),
                moves: &preparation.moves,
            };
            session.run(&preparation.settings, options)?
        };
    for notice in remarks(&sampled.benchmarks) {
        reporter.notice(notice);
    }
    for notice in changed_functions(&preparation, &sampled.benchmarks, &discoveries) {
        reporter.notice(notice);
    }
    let verdict = match sampled.stopped_by {
        StoppedBy::Identical => Some(Verdict::Identical),
        StoppedBy::NoBaseline => Some(Verdict::NoBaseline),
        // The verdict is that of all shards together.
        _ if options.shard.is_some() => None,
        _ => Some(sampled.verdict()),
    };
    let mut removed = preparation.removed.clone();
    removed.extend(discoveries.iter().flat_map(Discovery::removed));
    let notices = std::mem::take(&mut reporter.notices);
    let selecting = notices.iter().filter_map(|notice| match notice {
        Notice::RunDiffers(differs) => Some(differs.selecting()),
        _ => None,
    });
    let outcome = Outcome {
        verdict,
        stopped_by: sampled.stopped_by,
        elapsed_seconds: Some(sampled.elapsed),
        prepare_seconds: Some(prepare_seconds),
        rows: None,
        benchmarks: all_benchmarks(&preparation, sampled.benchmarks, discoveries),
        likely_slower: sampled.likely_slower,
        sides: Some(preparation.sides),
        toolchain: Some(preparation.toolchain),
        policy: preparation.settings.policy,
        limits: preparation.settings.limits,
        seed: Some(options.seed),
        shard: Some(options.shard),
        removed,
        explanations,
        selecting: selecting.flatten().map(str::to_owned).collect(),
        notices,
    };
    let prepared = preparation.benchmarks.into_iter();
    let programs = prepared.map(|prepared| prepared.benchmark).collect();
    Ok(Compared { outcome, programs, gates })
}

/// Resolves a comparison without building or measuring anything.
///
/// # Errors
/// Those of [`compare`] that occur before its first build.
pub fn preview(
    options: &Options,
    Context { helper, interrupt }: Context<'_>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Preview, Error> {
    let reporter = &mut Recorder::new(on_event);
    let preview = workspace::preview(&options.request, helper, interrupt, reporter)?;
    Ok(Preview { notices: std::mem::take(&mut reporter.notices), ..preview })
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

/// The programs that can be run. Reports what is special about their harnesses.
fn programs<'a>(
    preparation: &'a Preparation,
    filter: Option<&'a str>,
    reporter: &mut dyn Reporter,
) -> Result<Vec<ComparedProgram<'a>>, Error> {
    let several = preparation.benchmarks.len() > 1;
    let mut programs = Vec::new();
    for (number, prepared) in preparation.benchmarks.iter().enumerate() {
        let scratch = preparation.scratch.path();
        if let Some(program) = ComparedProgram::of(prepared, scratch, number, filter, several)? {
            for notice in harnesses::notices(prepared, program.dialects()) {
                reporter.notice(notice);
            }
            programs.push(program);
        }
    }
    // A program that takes no filter is selected by its name, if there are others.
    let takes =
        |one: &ComparedProgram<'_>| one.dialect().filters() || several && !one.is_left_out();
    match filter {
        Some(filter) if !programs.is_empty() && !programs.iter().any(takes) => {
            Err(Kind::NoFilter(filter.to_owned()).into())
        }
        _ => Ok(programs),
    }
}

/// Which functions differ in programs with a regressed benchmark, if that is known.
fn changed_functions(
    preparation: &Preparation,
    measured: &[BenchmarkResult],
    discoveries: &[Discovery],
) -> Vec<Notice> {
    let mut measured = measured.iter();
    let ready = preparation.benchmarks.iter().filter_map(|prepared| match &prepared.state {
        State::Ready(programs) | State::Same(programs, _) => Some((prepared, programs)),
        State::Identical(_) | State::NoBaseline => None,
    });
    let mut notices = Vec::new();
    for ((prepared, programs), found) in ready.zip(discoveries) {
        let own: Vec<_> = measured.by_ref().take(found.results).collect();
        let regressed = own.into_iter().filter(|result| result.has_regressed());
        let entered: Vec<_> = regressed.map(|result| found.entered.get(&result.name)).collect();
        if !entered.is_empty()
            && let Some(changed) = prepared.changed.of(programs)
        {
            let mut changed = changed.to_vec();
            let is_known = entered.iter().all(Option::is_some);
            for function in changed.iter_mut().filter(|_| is_known) {
                let mut all = entered.iter().flatten();
                function.runs = Some(all.any(|entered| entered.contains(&function.name)));
            }
            for function in &mut changed {
                let crates = preparation.changed_crates.as_ref();
                function.is_edited = crates.and_then(|crates| names_any(&function.name, crates));
            }
            sort_by_relevance(&mut changed);
            let benchmark = prepared.benchmark.name.clone();
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
fn all_benchmarks(
    preparation: &Preparation,
    measured: Vec<BenchmarkResult>,
    discoveries: Vec<Discovery>,
) -> Vec<BenchmarkResult> {
    let (mut measured, mut discoveries) = (measured.into_iter(), discoveries.into_iter());
    let mut all = Vec::new();
    for prepared in &preparation.benchmarks {
        let name = &prepared.benchmark.name;
        match &prepared.state {
            State::Ready(_) | State::Same(..) => {
                let Some(found) = discoveries.next() else { continue };
                for result in measured.by_ref().take(found.results) {
                    let shown = prepared.benchmark.shown.clone();
                    all.push(BenchmarkResult { shown, ..found.with_one_sided(result) });
                }
                let side = |side| if side == Side::Head { Status::New } else { Status::Removed };
                let unaffected = found.unaffected.iter();
                all.extend(unaffected.map(|(name, reason)| {
                    BenchmarkResult::same(name, Status::Unaffected, reason.clone())
                }));
                all.extend(
                    found
                        .one_sided
                        .iter()
                        .map(|one| BenchmarkResult::new(&one.name, side(one.side))),
                );
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::side::Pair;

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
