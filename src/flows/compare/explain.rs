//! Why a benchmark has regressed: the functions that execute more instructions, counted by
//! valgrind while the benchmark is executed once in each of a few runs; or else, those that
//! take more time, by samples that perf takes of a few runs. Of code that has grown, the crates.

mod hot_lines;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use super::program::ComparedProgram;
use super::session::Session;
use crate::engine::{Event, Reporter};
use crate::error::Error;
use crate::exec::execution::{Sampling, SideProgram, Unknown};
use crate::exec::machine::Machine;
use crate::exec::meter::{self, CallStack, CountedCode, Profiler, Sampler};
use crate::model::{
    BenchmarkNotice, BenchmarkResult, Better, Cost, Dialect, Evidence, Explain, Explanation,
    FunctionCost, MetricResult, Pair, RunLength, Side, StackCost, StackFrame, Unit, Verdict,
};
use crate::stats::empirical::{median, median_of, sorted};
use crate::workspace::functions;

/// The maximum number of regressions to explain, the largest first.
const MOST: usize = 3;

/// How often each side is executed to count instructions. Functions whose work depends on
/// random seeds differ between these runs, too: only in one of ten cases do all runs of one
/// side exceed all of the other.
const COUNTED_RUNS: usize = 3;

/// How often each side is sampled. Samples of every function differ from run to run: in one
/// of 126 cases all runs of one side exceed all of the other by chance.
const SAMPLED_RUNS: usize = 5;

/// How long a run is sampled.
const SAMPLED: Duration = Duration::from_millis(300);

/// The least change that samples show, as a part of all that the benchmark takes on the base.
const LEAST_SAMPLED: f64 = 0.01;

/// The least change of the instructions of code that is the same, as a part of all of the process on
/// the base: what is below is the start of the process.
const LEAST_COUNTED: f64 = 1e-4;

/// An explanation that takes no longer than this is considered cheap.
const CHEAP: Duration = Duration::from_secs(15);

/// What functions cost, by the names that people read, in each of the runs.
type Costs = BTreeMap<String, Vec<f64>>;

/// What call stacks cost in all runs together, by the names that people read, the callers first.
type Stacks = BTreeMap<Vec<String>, Pair<f64>>;

/// What functions and call stacks cost on both sides, before it is known which code differs.
#[derive(Default)]
struct FoundCosts {
    /// The time of an iteration in each run, seconds, if the costs are shares of it, 0 to 1;
    /// otherwise they are instructions.
    times: Option<Pair<Vec<f64>>>,
    functions: Pair<Costs>,
    stacks: Stacks,
    /// How often the instructions of each function are executed in the first run, if they are
    /// counted: by the file and the linker's name.
    code: Pair<BTreeMap<(String, String), CountedCode>>,
    runs: usize,
    /// Names of linkers as people read them: most occur in many stacks.
    shown: BTreeMap<String, String>,
}

/// Which functions of the largest regressions cost more.
pub(super) fn explain(session: &mut Session<'_, '_>) -> Result<Vec<Explanation>, Error> {
    let when = session.call.options.explain;
    if when == Explain::Never {
        return Ok(Vec::new());
    }
    let mut regressed = Vec::new();
    for (number, program) in session.programs.iter().enumerate() {
        let own = program.found.results.iter().zip(&program.found.benchmarks);
        let own = own.filter(|(result, _)| result.has_regressed());
        regressed.extend(own.map(|(result, found)| (number, result.clone(), found.inner.clone())));
    }
    regressed.sort_by(|(_, one, _), (_, other, _)| worst(other).total_cmp(&worst(one)));
    let is_requested = when == Explain::Always;
    let deadline = (!is_requested).then(|| Instant::now() + CHEAP);
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let mut explanations = Vec::new();
    for (number, result, inner) in regressed.into_iter().take(MOST).take_while(|_| !is_over()) {
        let Session { programs, reporter, .. } = session;
        let (program, result, reporter) = (&mut programs[number], &result, &mut **reporter);
        let inner = inner.as_deref();
        let mut search = CostSearch { program, result, inner, deadline, reporter };
        let explained = search.find_why().and_then(|found| {
            let program = &programs[number];
            let mut explanation = found.explanation(&result.name, differing(program).as_ref());
            let hot = hot_lines::find(program, &found, &explanation);
            let hot = hot.map(|hot| explanation.hot = hot);
            explanations.push(explanation);
            hot
        });
        match explained {
            Err(Unknown::Stopped(stop)) => return Err(stop.into()),
            Err(Unknown::Because(why, hint)) if is_requested => {
                let notice = BenchmarkNotice::NotMeasured { why, hint };
                reporter.notice(notice.about(&result.name));
            }
            _ => {}
        }
    }
    Ok(explanations)
}

/// The search for the functions of one benchmark that cost more.
struct CostSearch<'s, 'a> {
    program: &'s mut ComparedProgram<'a>,
    result: &'s BenchmarkResult,
    /// The harness's name for the benchmark; `None` for the program itself.
    inner: Option<&'s str>,
    deadline: Option<Instant>,
    reporter: &'s mut dyn Reporter,
}

impl CostSearch<'_, '_> {
    /// What the functions of a benchmark cost: in instructions, or in time where these are not
    /// known, or not the reason.
    fn find_why(&mut self) -> Result<FoundCosts, Unknown> {
        let part = self.inner.is_some();
        let differing = differing(self.program);
        let counted = match self.count_instructions() {
            Ok(found) if explains(&found, self.result, part, differing.as_ref()) => {
                return Ok(found);
            }
            Err(Unknown::Stopped(stop)) => return Err(stop.into()),
            counted => counted,
        };
        match (counted, self.time_functions()) {
            (Ok(found), Err(Unknown::Because(..))) => Ok(found),
            // A small part of the process has few samples.
            (Ok(found), Ok(timed)) if timed.changed(differing.as_ref()).is_empty() => Ok(found),
            (Err(Unknown::Because(counted, hint)), Err(Unknown::Because(sampled, other))) => {
                let why = format!(
                    "which functions take longer is not known: instructions can't be counted \
                     ({counted}), and samples can't be taken ({sampled})"
                );
                Err(Unknown::Because(why, hint.or(other)))
            }
            (_, timed) => timed,
        }
    }

    /// What the functions cost in instructions.
    fn count_instructions(&mut self) -> Result<FoundCosts, Unknown> {
        let path = self.program.sides.head.path_variable();
        let profiler = Profiler::find(path.as_deref())?;
        if !self.program.both_sides(|side| side.once().is_some()) {
            return Err("its harness can't execute it just once".into());
        }
        let (benchmark, evidence) = (&self.result.name, Evidence::Instructions);
        self.reporter.event(Event::Explaining { benchmark, evidence });
        self.take_counts(profiler)
    }

    /// What the functions cost in time.
    fn time_functions(&mut self) -> Result<FoundCosts, Unknown> {
        let metric = time_metric(self.result);
        let metric = metric.ok_or("what regressed is not a time")?;
        let path = self.program.sides.head.path_variable();
        let sampler = Sampler::find(path.as_deref(), &Machine::read(Path::new("/")))?;
        let (benchmark, evidence) = (&self.result.name, Evidence::Samples);
        self.reporter.event(Event::Explaining { benchmark, evidence });
        self.take_samples(&sampler, metric)
    }

    /// The instructions of both sides.
    fn take_counts(&mut self, mut profiler: Profiler) -> Result<FoundCosts, Unknown> {
        let CostSearch { program, result, inner, deadline, reporter } = self;
        let mut both = FoundCosts { runs: COUNTED_RUNS, ..FoundCosts::default() };
        for run in 0..COUNTED_RUNS {
            // One list of each side's instructions is enough.
            profiler.by_address = run == 0;
            for side in Side::BOTH {
                let place = (2 * run + 1 + usize::from(side == Side::Head), 2 * COUNTED_RUNS);
                reporter.event(Event::Counting(&result.name, place));
                let arguments = program.arguments(side, inner.as_slice());
                let own = &mut program.sides[side];
                let mut counts = None;
                if arguments.is_some_and(|arguments| own.select_once(arguments)) {
                    counts = program.execution.profile(own, &profiler, *deadline)?;
                }
                let counts = counts.ok_or("a run of valgrind failed or took too long")?;
                let stacks = counts.stacks.into_iter().filter(|(stack, _)| !stack.searches_stack());
                for (stack, instructions) in stacks {
                    both.add(&stack, side, run, instructions as f64);
                }
                if run == 0 {
                    both.code[side] = counts.functions;
                }
            }
        }
        Ok(both)
    }

    /// The shares of the functions of both sides in the time that `metric` measures.
    fn take_samples(
        &mut self,
        sampler: &Sampler,
        metric: &MetricResult,
    ) -> Result<FoundCosts, Unknown> {
        let CostSearch { program, inner, deadline, .. } = self;
        if program.dialect() == Dialect::Gungraun {
            return Err("they would be valgrind's, under which its harness runs it".into());
        }
        let length = program.unless_as_coded(RunLength::Time(SAMPLED));
        let begin = Instant::now();
        let mut both = FoundCosts { runs: SAMPLED_RUNS, ..FoundCosts::default() };
        let mut times = Pair::<Vec<f64>>::default();
        for run in 0..SAMPLED_RUNS {
            for side in Side::BOTH {
                let sampling = Sampling { sampler, metric: &metric.name, run };
                let arguments = program.arguments(side, inner.as_slice());
                let arguments = arguments.ok_or("its harness can't run it alone")?;
                let own = &mut program.sides[side];
                own.select(length, arguments);
                let sampled = program.execution.sample(own, sampling, *deadline)?;
                // A process without a report has the time of perf in its own.
                let usual = Pair { base: metric.summary.base, head: metric.summary.head };
                let time = sampled.reported.or(usual[side]);
                times[side].push(time.ok_or("its time is not known")?);
                for (stack, share) in sampled.samples.shares() {
                    both.add(stack, side, run, share);
                }
            }
            let needed = begin.elapsed().mul_f64(SAMPLED_RUNS as f64 / (run + 1) as f64);
            if deadline.is_some_and(|deadline| begin + needed > deadline) {
                return Err("that would take too long".into());
            }
        }
        Ok(FoundCosts { times: Some(times), ..both })
    }
}

impl FoundCosts {
    /// Adds what a function costs in a run if it is called in one way.
    fn add(&mut self, stack: &CallStack, side: Side, run: usize, cost: f64) {
        let shown = &mut self.shown;
        let read = |name: &str| match shown.get(name) {
            Some(known) => known.clone(),
            None => shown.entry(name.to_owned()).or_insert(functions::shown(name)).clone(),
        };
        let mut names: Vec<String> = stack.names().map(read).collect();
        let Some(function) = names.first() else { return };
        let runs = || vec![0.0; self.runs];
        self.functions[side].entry(function.clone()).or_insert_with(runs)[run] += cost;
        names.reverse();
        // What calls `main` is the same in every stack.
        names.drain(..names.iter().position(|name| name == "main").unwrap_or(0));
        self.stacks.entry(names).or_default()[side] += cost;
    }
}

/// Whether the instructions are the reason for a regression, not how long they take: they have
/// increased by at least half as much as the time, or, if only a `part` of the process is measured,
/// at all, in functions where this is not by chance.
fn explains(
    found: &FoundCosts,
    result: &BenchmarkResult,
    part: bool,
    differing: Option<&BTreeSet<String>>,
) -> bool {
    let Some(change) = time_metric(result).and_then(|metric| metric.summary.change) else {
        return true;
    };
    let total = found.total();
    if part {
        let changed = found.changed(differing);
        let more: f64 = changed.iter().map(|(_, cost)| cost.head - cost.base).sum();
        return more > 0.0 && more >= LEAST_COUNTED * total.base;
    }
    total.head >= (1.0 + 0.5 * change) * total.base
}

/// The crates of programs whose code has grown.
pub(super) fn explain_code(session: &Session<'_, '_>) -> Vec<Explanation> {
    let is_wanted = session.call.options.explain != Explain::Never;
    let grown = session.programs.iter().filter(|one| is_wanted && one.found.has_grown());
    grown.filter_map(|program| sizes_of_crates(&program.found.program, &program.sides)).collect()
}

/// The crates of a program whose code has another size on the head, as far as its functions have
/// names.
fn sizes_of_crates(benchmark: &str, sides: &Pair<SideProgram>) -> Option<Explanation> {
    let sizes = Pair::both(|side| meter::sizes_of_functions(&sides[side].executable));
    let (base, head) = (sizes.base?, sizes.head?);
    let mut crates = BTreeMap::<String, Pair<u64>>::new();
    for (side, functions) in [(Side::Base, base.0), (Side::Head, head.0)] {
        for (name, size) in functions {
            crates.entry(crate_of(&functions::shown(&name)).to_owned()).or_default()[side] += size;
        }
    }
    crates.retain(|_, size| size.base != size.head);
    let mut crates: Vec<(String, Pair<u64>)> = crates.into_iter().collect();
    crates.sort_by_key(|(_, size)| std::cmp::Reverse(size.base.abs_diff(size.head)));
    let cost = |(name, size)| FunctionCost { name, cost: Cost::Bytes(size), differs: None };
    Some(Explanation {
        benchmark: benchmark.to_owned(),
        cost: Cost::Bytes(Pair { base: base.1, head: head.1 }),
        functions: crates.into_iter().map(cost).collect(),
        hot: None,
        stacks: Vec::new(),
    })
}

/// The first crate in the name of a function; nothing for functions of other languages.
pub(super) fn crate_of(function: &str) -> &str {
    let before = function.split_once("::").map_or("", |(before, _)| before);
    before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// The largest regression of a benchmark.
fn worst(result: &BenchmarkResult) -> f64 {
    let changes = result.metrics.iter().filter_map(|metric| metric.summary.change);
    changes.fold(f64::NEG_INFINITY, |worst, change| worst.max(change.abs()))
}

/// The metric of time that regressed, if one did.
fn time_metric(result: &BenchmarkResult) -> Option<&MetricResult> {
    let has_regressed = |metric: &&MetricResult| metric.verdict == Some(Verdict::Regression);
    let mut regressed = result.metrics.iter().filter(has_regressed);
    regressed.find(|metric| metric.unit == Unit::Seconds && metric.better == Better::Lower)
}

/// The names of the functions whose code differs between the sides, if known.
fn differing(program: &ComparedProgram<'_>) -> Option<BTreeSet<String>> {
    let changed = program.changed_functions()?;
    Some(changed.iter().map(|function| function.name.clone()).collect())
}

impl FoundCosts {
    fn explanation(&self, benchmark: &str, differing: Option<&BTreeSet<String>>) -> Explanation {
        let total = self.total();
        let differs = |name: &String| differing.is_some_and(|names| names.contains(name));
        let mut changed = self.changed(differing);
        // What differs of code that is the same is the start of the process, or a consequence.
        let is_same = |name: &String| differing.is_some() && !differs(name);
        let change = |both: &Pair<f64>| (both.head - both.base).abs();
        changed.sort_by(|(name, one), (other_name, other)| {
            let by_change = change(other).total_cmp(&change(one));
            is_same(name).cmp(&is_same(other_name)).then(by_change)
        });
        let function = |(name, cost): (&String, Pair<f64>)| FunctionCost {
            name: name.clone(),
            cost: self.cost(cost),
            differs: differing.map(|_| differs(name)),
        };
        Explanation {
            benchmark: benchmark.to_owned(),
            cost: self.cost(total),
            functions: changed.into_iter().map(function).collect(),
            hot: None,
            stacks: self.stacks(total, differs),
        }
    }

    /// What one run costs in all.
    fn total(&self) -> Pair<f64> {
        match &self.times {
            None => self.functions.as_ref().map(median_sum),
            Some(times) => times.as_ref().map(|times| range(Some(times))[1]),
        }
    }

    /// The functions whose cost differs in each run, by name.
    fn changed(&self, differing: Option<&BTreeSet<String>>) -> Vec<(&String, Pair<f64>)> {
        let (costs, total) = (&self.functions, self.total());
        let differs = |name: &String| differing.is_some_and(|names| names.contains(name));
        let names: BTreeSet<&String> =
            Side::BOTH.into_iter().flat_map(|side| costs[side].keys()).collect();
        let changed = names.into_iter().filter_map(|name| {
            let runs = Pair::both(|side| range(costs[side].get(name)));
            let ([least, _, most], [head_least, _, head_most]) = (runs.base, runs.head);
            let is_change = most < head_least || head_most < least;
            let cost = Pair::both(|side| self.of_share(runs[side][1], total[side]));
            (is_change && self.is_large(cost, total, differs(name))).then_some((name, cost))
        });
        changed.collect()
    }

    /// What a cost is in all, of which `total` is that of all functions.
    fn of_share(&self, cost: f64, total: f64) -> f64 {
        if self.times.is_some() { cost * total } else { cost }
    }

    /// The call stacks of a run, on average.
    fn stacks(&self, total: Pair<f64>, differs: impl Fn(&String) -> bool) -> Vec<StackCost> {
        let frame = |name: &String| StackFrame { function: name.clone(), differs: differs(name) };
        let cost = |sum: f64, side: Side| self.of_share(sum / self.runs as f64, total[side]);
        let stack = |(names, sums): (&Vec<String>, &Pair<f64>)| StackCost {
            frames: names.iter().map(frame).collect(),
            cost: Pair::both(|side| cost(sums[side], side)),
        };
        self.stacks.iter().map(stack).collect()
    }

    /// Whether a function's cost differs by more than could be by chance. Where the time of all
    /// varies from run to run, that of a function with a large share of it does, too, though
    /// its share may not.
    fn is_large(&self, cost: Pair<f64>, total: Pair<f64>, differs: bool) -> bool {
        let Some(times) = &self.times else {
            return differs || (cost.head - cost.base).abs() >= LEAST_COUNTED * total.base;
        };
        let spread = |side: Side| {
            let times = sorted(times[side].iter().copied());
            // Twice the range of all but the least and the largest.
            2.0 * (times[times.len() - 2] - times[1]) / times[times.len() / 2]
        };
        let by_chance = spread(Side::Base).max(spread(Side::Head)) * cost.base.max(cost.head);
        (cost.head - cost.base).abs() >= LEAST_SAMPLED * total.base + by_chance
    }

    fn cost(&self, both: Pair<f64>) -> Cost {
        match self.times {
            // These were whole numbers, below 2^53.
            None => Cost::Instructions(both.map(|count| count as u64)),
            Some(_) => Cost::Seconds(both),
        }
    }
}

/// What a function costs in several runs: the least, the median and the most. None means that no run
/// entered it.
fn range(costs: Option<&Vec<f64>>) -> [f64; 3] {
    let costs = sorted(costs.map_or(&[0.0][..], Vec::as_slice).iter().copied());
    [costs[0], median(&costs).unwrap_or_default(), costs[costs.len() - 1]]
}

/// What all functions cost together, in the run in the middle.
fn median_sum(costs: &Costs) -> f64 {
    let runs = costs.values().map(Vec::len).max().unwrap_or_default();
    let sum = |run: usize| costs.values().map(|runs| runs[run]).sum::<f64>();
    median_of((0..runs).map(sum)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Metric, Summary};

    fn costs(all: &[(&str, &[f64])]) -> Costs {
        all.iter().map(|(name, runs)| ((*name).to_owned(), runs.to_vec())).collect()
    }

    fn of(functions: Pair<Costs>, runs: usize) -> FoundCosts {
        FoundCosts { functions, runs, ..FoundCosts::default() }
    }

    #[test]
    fn what_differs_from_run_to_run_is_no_reason() {
        let both = Pair {
            base: costs(&[
                ("seeded", &[900.0, 100.0, 500.0]),
                ("same", &[7.0; 3]),
                ("more", &[40.0, 41.0, 40.0]),
            ]),
            head: costs(&[
                ("seeded", &[800.0, 950.0, 700.0]),
                ("same", &[7.0; 3]),
                ("more", &[50.0, 48.0, 49.0]),
            ]),
        };
        let differing = BTreeSet::from(["more".to_owned()]);
        let found = of(both, COUNTED_RUNS);
        let explanation = found.explanation("bench", Some(&differing));
        let more = FunctionCost {
            name: "more".to_owned(),
            cost: Cost::Instructions(Pair { base: 40, head: 49 }),
            differs: Some(true),
        };
        assert_eq!(explanation.functions, [more]);
        assert_eq!(explanation.cost, Cost::Instructions(Pair { base: 547, head: 857 }));
    }

    #[test]
    fn of_a_small_part_of_a_process_the_changed_code_is_shown() {
        let count = |next: f64, parse: f64| {
            costs(&[("set_up", &[3e8; 3]), ("next", &[next; 3]), ("parse", &[parse; 3])])
        };
        let both = Pair { base: count(486.0, 360.0), head: count(772.0, 359.0) };
        let found = of(both, COUNTED_RUNS);
        let shown = |differing| -> Vec<String> {
            let functions = found.explanation("bench", differing).functions;
            functions.into_iter().map(|one| one.name).collect()
        };
        let differing = BTreeSet::from(["next".to_owned()]);
        assert_eq!(shown(Some(&differing)), ["next"]);
        assert!(shown(None).is_empty());
    }

    #[test]
    fn instructions_explain_a_time_that_grows_as_they_do() {
        let found = |head: f64| {
            let both = Pair { base: costs(&[("f", &[1e6; 3])]), head: costs(&[("f", &[head; 3])]) };
            of(both, COUNTED_RUNS)
        };
        let slower = |change| {
            let summary = Summary { change: Some(change), ..Summary::default() };
            let verdict = Some(Verdict::Regression);
            let metric =
                MetricResult::new(Metric::named("wall_time"), Some(0.02), summary, verdict);
            BenchmarkResult { metrics: vec![metric], ..BenchmarkResult::default() }
        };
        let explains = |found: &FoundCosts, result: &BenchmarkResult, part| {
            let differing = BTreeSet::from(["edited".to_owned()]);
            super::explains(found, result, part, Some(&differing))
        };
        assert!(explains(&found(1.2e6), &slower(0.3), false));
        assert!(!explains(&found(1.03e6), &slower(3.0), false), "memory");
        // Of a process, a benchmark may be a small part.
        assert!(explains(&found(1.03e6), &slower(3.0), true));
        assert!(!explains(&found(1e6 + 9.0), &slower(3.0), true));
        assert!(explains(&found(1e6), &BenchmarkResult::default(), false), "not a time");
        // What varies from run to run says nothing about it.
        let seeded = Pair {
            base: costs(&[("edited", &[65.0; 3]), ("hash", &[1e6, 1.1e6, 1.4e6])]),
            head: costs(&[("edited", &[71.0; 3]), ("hash", &[1.2e6, 1.3e6, 1.3e6])]),
        };
        assert!(!explains(&of(seeded, COUNTED_RUNS), &slower(1.0), true));
    }

    #[test]
    fn samples_show_changes_beyond_what_varies() {
        let both = Pair {
            base: costs(&[
                ("hot", &[0.24, 0.25, 0.26, 0.25, 0.23]),
                ("cold", &[0.73, 0.72, 0.71, 0.72, 0.74]),
                ("gone", &[0.03; 5]),
                ("small", &[0.001; 5]),
            ]),
            head: costs(&[
                ("hot", &[0.49, 0.51, 0.5, 0.5, 0.52]),
                ("cold", &[0.49, 0.47, 0.48, 0.48, 0.46]),
                ("new", &[0.0, 0.0, 0.02, 0.02, 0.02]),
                ("small", &[0.003; 5]),
            ]),
        };
        let times = Pair { base: vec![4.0; 5], head: vec![6.0, 6.0, 6.0, 6.03, 5.97] };
        let explained = |costs: Pair<Costs>, times: Pair<Vec<f64>>| {
            let found = FoundCosts { times: Some(times), ..of(costs, SAMPLED_RUNS) };
            let explanation = found.explanation("bench", None);
            let names = explanation.functions.iter().map(|one| one.name.clone());
            (explanation.cost, names.collect::<Vec<_>>())
        };
        let total = Cost::Seconds(Pair { base: 4.0, head: 6.0 });
        // The share of `cold` is smaller since all takes longer, and its time the same. `new`
        // has no sample in two runs, as on the base.
        let expected = ["hot", "gone"].map(str::to_owned).to_vec();
        assert_eq!(explained(both.clone(), times), (total, expected));
        let times = Some(Pair { base: vec![4.0; 5], head: vec![6.0; 5] });
        let found = FoundCosts { times, ..of(both.clone(), SAMPLED_RUNS) };
        let hot = &found.explanation("bench", None).functions[0];
        assert_eq!(hot.cost, Cost::Seconds(Pair { base: 1.0, head: 3.0 }));
        // Where the time of all varies by a third, that of `hot` has doubled all the same.
        let times = Pair { base: vec![3.5, 4.0, 4.8, 4.0, 4.0], head: vec![6.0; 5] };
        assert_eq!(explained(both, times).1[0], "hot");
    }

    #[test]
    fn a_function_belongs_to_the_first_crate_in_its_name() {
        let table = [
            ("deep::work", "deep"),
            ("<alloc::vec::Vec<T> as core::clone::Clone>::clone", "alloc"),
            ("<&T as core::fmt::Debug>::fmt", "core"),
            ("<(A, B) as other_one::Trait>::call", "other_one"),
            ("memcpy", ""),
        ];
        for (function, expected) in table {
            assert_eq!(crate_of(function), expected, "{function}");
        }
    }

    #[test]
    fn a_process_that_enters_nothing_costs_nothing() {
        let found = FoundCosts::default();
        let explanation = found.explanation("bench", None);
        assert_eq!(explanation.cost, Cost::Instructions(Pair { base: 0, head: 0 }));
        assert_eq!(explanation.functions, []);
    }
}
