//! How the benchmarks of a program share its runs, and how long these runs are.

use std::path::Path;
use std::time::{Duration, Instant};

use super::discovery::Discovery;
use super::program::ComparedProgram;
use crate::engine::plan::Plan;
use crate::engine::test::estimator;
use crate::engine::trial::{Length, Question, Trial};
use crate::error::Error;
use crate::exec::execution::{Context, Stop};
use crate::exec::known::Known;
use crate::model::notice::RunNotice;
use crate::model::row::{BenchmarkId, MetricId, Row};
use crate::model::run_length::RunLength;
use crate::model::side::Side;

/// Benchmarks share a process if it takes longer than this until the first of them, seconds.
const SLOW_START: f64 = 0.05;

/// If a pair takes longer than this, seconds, although short runs were requested, the
/// harness ignores that, or an iteration takes long.
const SLOW_PAIR: f64 = 0.5;

/// After this time per benchmark, a pair that should be short is stopped, if a capped
/// one can replace it.
const LONGEST_PAIR: Duration = Duration::from_secs(3);

/// How long runs measure if the process takes far longer to start.
const BEHIND_START_UP: Duration = Duration::from_millis(10);

/// How many benchmarks share a process. With one per process, the two sides are
/// closest in time. But if the process takes long to start, it runs as many as take
/// equally long together, so that at most half of the time is lost.
pub(super) fn group_size(start_up: f64, pair_seconds: f64, benchmarks: usize) -> usize {
    if start_up < SLOW_START || benchmarks == 0 {
        return 1;
    }
    let own = (pair_seconds / 2.0 - start_up) / benchmarks as f64;
    let size = (start_up / own.max(1e-6)).ceil() as usize;
    size.clamp(1, benchmarks)
}

/// Adds the benchmarks of a program to the plan, in groups that share a run.
pub(super) fn plan_groups(
    program: &mut ComparedProgram<'_>,
    number: usize,
    discovery: &Discovery,
    plan: &mut Plan,
    context: Context<'_>,
) -> Result<(), Stop> {
    let benchmarks = &discovery.benchmarks;
    program.expect(discovery);
    let pair_seconds = discovery.pair_seconds;
    if benchmarks.len() < 2 || !program.can_select_benchmarks() {
        program.plan(number, benchmarks, pair_seconds, plan);
        return Ok(());
    }
    let start_up = program.start_up(context)?;
    let size = group_size(start_up, pair_seconds, benchmarks.len());
    let groups = benchmarks.len().div_ceil(size);
    let own = (pair_seconds - 2.0 * start_up).max(0.0) / discovery.most_reported() as f64;
    for group in benchmarks.chunks(benchmarks.len().div_ceil(groups)) {
        let seconds = 2.0 * start_up + own * group.len() as f64;
        program.plan(number, group, seconds, plan);
    }
    Ok(())
}

/// The lengths of the runs of one program.
pub(super) struct Lengths<'p, 'a> {
    pub(super) program: &'p mut ComparedProgram<'a>,
    /// The groups of the program in the plan.
    pub(super) groups: Vec<usize>,
    pub(super) context: Context<'p>,
}

impl Lengths<'_, '_> {
    /// Determines how long the runs of each group should be, until `deadline`; the
    /// remaining groups get the most frequent length of the others, and are tried next
    /// time. `known` is a file with earlier results. `begins` is called before each trial.
    ///
    /// # Errors
    /// When a run fails.
    pub(super) fn choose(
        &mut self,
        plan: &mut Plan,
        deadline: Instant,
        known: &Path,
        begins: &mut dyn FnMut(usize, usize),
    ) -> Result<(), Error> {
        if self.program.runs_as_coded() {
            for &group in &self.groups {
                plan.groups[group].length = Some(RunLength::Own);
            }
        }
        if !self.program.takes_time() {
            return Ok(());
        }
        let parts = self.parts(plan);
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let known = Known::new(known, &parts);
        let lengths = known.read().and_then(|text| read(&text, self.groups.len()));
        let mut lengths = lengths.unwrap_or_else(|| vec![None; self.groups.len()]);
        if lengths.contains(&None) {
            self.try_missing(&mut lengths, plan, deadline, begins).map_err(Stop::into_error)?;
            known.write(&written(&lengths));
        }
        let usual = usual(&lengths);
        for (&group, length) in self.groups.iter().zip(lengths) {
            let length = length.unwrap_or(usual);
            let group = &mut plan.groups[group];
            group.length = Some(length.run);
            group.pair_seconds = length.pair_seconds;
        }
        self.note_own_times(plan);
        Ok(())
    }

    /// Adds a notice about the slowest benchmark that is slow because its code sets its own times.
    fn note_own_times(&mut self, plan: &Plan) {
        let groups = self.groups.iter().map(|&group| &plan.groups[group]);
        let slow = groups.filter(|group| group.pair_seconds > SLOW_PAIR);
        let slowest = slow.max_by(|one, other| one.pair_seconds.total_cmp(&other.pair_seconds));
        let (Some(slowest), places) = (slowest, self.program.own_times()) else { return };
        if let (Some(first), false) =
            (plan.benchmarks.get(slowest.benchmarks.start), places.is_empty())
        {
            let (benchmark, pair_seconds) = (first.name.clone(), slowest.pair_seconds);
            let notice = RunNotice::OwnTimes { benchmark, pair_seconds, places };
            self.program.execution.notices.push(notice);
        }
    }

    /// What the lengths depend on, besides the machine.
    fn parts(&self, plan: &Plan) -> Vec<String> {
        let mut parts = self.program.identities();
        for &group in &self.groups {
            for benchmark in &plan.benchmarks[plan.groups[group].benchmarks.clone()] {
                parts.push(benchmark.name.clone());
                let gates = benchmark.gates.iter();
                parts.extend(gates.map(|gate| format!("{}={}", gate.metric, gate.limit())));
            }
            parts.push(String::new());
        }
        parts
    }

    /// Tries the lengths of the groups whose length is not known, at least one of them.
    fn try_missing(
        &mut self,
        lengths: &mut [Option<Length>],
        plan: &Plan,
        deadline: Instant,
        begins: &mut dyn FnMut(usize, usize),
    ) -> Result<(), Stop> {
        let missing = spread(lengths.len()).filter(|place| lengths[*place].is_none());
        let missing: Vec<usize> = missing.collect();
        for (done, &place) in missing.iter().enumerate() {
            if done > 0 && Instant::now() >= deadline {
                break;
            }
            begins(done + 1, missing.len());
            lengths[place] = self.try_group(plan, self.groups[place])?;
        }
        Ok(())
    }

    /// Tries the lengths of one group; `None` if nothing in it gates.
    fn try_group(&mut self, plan: &Plan, group: usize) -> Result<Option<Length>, Stop> {
        let benchmarks = plan.groups[group].benchmarks.clone();
        let (mut asked, mut questions) = (Vec::new(), Vec::new());
        for id in benchmarks.clone() {
            for (metric, question) in questions_of(plan, id) {
                asked.push((BenchmarkId(id), metric));
                questions.push(question);
            }
        }
        if questions.is_empty() {
            return Ok(None);
        }
        let wanted: Vec<BenchmarkId> = benchmarks.map(BenchmarkId).collect();
        let start_ups = Duration::from_secs_f64(4.0 * self.program.known_start_up());
        let longest = start_ups + LONGEST_PAIR * wanted.len() as u32;
        let mut trial = Trial::new(questions);
        let mut first = Side::Base;
        while let Some(length) = trial.next() {
            let run = RunLength::Time(length);
            let longest = self.program.can_be_capped().then_some(longest);
            let (seconds, ratios) = match self.try_pair(&wanted, &asked, first, run, longest) {
                Err(Stop::OutOfTime) => (f64::INFINITY, Vec::new()),
                tried => tried?,
            };
            if seconds > SLOW_PAIR {
                let slow = self.behind_start_up(Length { run, pair_seconds: seconds }, &wanted);
                return self.capped(slow, &wanted, &asked, first).map(Some);
            }
            trial.push(seconds, &ratios);
            first = first.other();
        }
        Ok(trial.best())
    }

    /// For benchmarks that take long: if that is because the process takes long to start,
    /// longer runs cost little. They are just short enough for a median to work well on a
    /// busy machine (see `docs/suites.md`).
    fn behind_start_up(&self, slow: Length, wanted: &[BenchmarkId]) -> Length {
        let measuring = 1.5 * BEHIND_START_UP.as_secs_f64() * wanted.len() as f64;
        match 2.0 * measuring < self.program.known_start_up() {
            true => Length { run: RunLength::Time(BEHIND_START_UP), ..slow },
            false => slow,
        }
    }

    /// For benchmarks that take long although short runs were requested: the faster way of
    /// running them.
    fn capped(
        &mut self,
        slow: Length,
        wanted: &[BenchmarkId],
        asked: &[(BenchmarkId, MetricId)],
        first: Side,
    ) -> Result<Length, Stop> {
        if !self.program.can_be_capped() {
            return Ok(slow);
        }
        let run = RunLength::Capped;
        let (pair_seconds, ratios) = self.try_pair(wanted, asked, first, run, None)?;
        // Criterion 0.4.0 reports a constant for what is too slow for its quick mode.
        let is_constant = ratios.contains(&1.0);
        let is_worth_it = 2.0 * pair_seconds < slow.pair_seconds
            && !(is_constant && slow.pair_seconds.is_finite());
        Ok(if is_worth_it { Length { run, pair_seconds } } else { slow })
    }

    /// Measures a pair, for at most `longest`, and returns its time, seconds, and the ratios
    /// head/base of the questions.
    fn try_pair(
        &mut self,
        wanted: &[BenchmarkId],
        asked: &[(BenchmarkId, MetricId)],
        first: Side,
        run: RunLength,
        longest: Option<Duration>,
    ) -> Result<(f64, Vec<f64>), Stop> {
        let begin = Instant::now();
        let deadline = longest.map(|longest| begin + longest);
        let rows = self.program.pair(wanted, first, run, deadline, self.context)?;
        let seconds = begin.elapsed().as_secs_f64();
        Ok((seconds, asked.iter().map(|asked| ratio(&rows, *asked)).collect()))
    }
}

/// The length of runs that were not tried.
const SHORTEST: Length = Length { run: RunLength::SHORT, pair_seconds: 0.0 };

/// The middle one of the known lengths.
fn usual(lengths: &[Option<Length>]) -> Length {
    let mut known: Vec<Length> = lengths.iter().copied().flatten().collect();
    known.sort_by_key(|length| length.run.time());
    known.get(known.len() / 2).copied().unwrap_or(SHORTEST)
}

/// The gating metrics of a benchmark, and the question about each.
fn questions_of(plan: &Plan, id: usize) -> Vec<(MetricId, Question)> {
    let benchmark = &plan.benchmarks[id];
    let gating = benchmark.metrics.iter().filter_map(|(metric_id, metric)| {
        let gate = benchmark.gates.iter().find(|gate| gate.metric == metric.name)?;
        let least = estimator(metric, plan.estimator).least_pairs(plan.levels()).unwrap_or(1);
        Some((*metric_id, Question { threshold: gate.limit(), least }))
    });
    gating.collect()
}

/// The ratio head/base of a metric in a pair.
fn ratio(rows: &[Row], (benchmark, metric): (BenchmarkId, MetricId)) -> f64 {
    let value = |side| {
        let row = rows.iter().find(|row| row.benchmark == benchmark && row.side == side);
        row.and_then(|row| row.get(metric)).unwrap_or(f64::NAN)
    };
    value(Side::Head) / value(Side::Base)
}

/// The numbers up to `count`, ordered by their reversed bits, so that the first few are
/// spread over all.
pub(super) fn spread(count: usize) -> impl Iterator<Item = usize> {
    let all = count.next_power_of_two();
    let reversed = move |number: usize| match all {
        1 => 0,
        _ => number.reverse_bits() >> (usize::BITS - all.trailing_zeros()),
    };
    (0..all).map(reversed).filter(move |number| *number < count)
}

/// The word for a capped run in a line of lengths.
const CAPPED: &str = "capped";

/// The word for a length that was not tried.
const UNTRIED: &str = "-";

/// Lengths as a line: milliseconds and seconds of a pair, for each group.
fn written(lengths: &[Option<Length>]) -> String {
    let each = lengths.iter().map(|length| match length {
        Some(Length { run, pair_seconds }) => match run.time() {
            Some(time) => format!("{}:{pair_seconds}", time.as_millis()),
            None => format!("{CAPPED}:{pair_seconds}"),
        },
        None => UNTRIED.to_owned(),
    });
    each.collect::<Vec<_>>().join(" ")
}

/// Parses what [`written`] wrote for this many groups.
fn read(text: &str, groups: usize) -> Option<Vec<Option<Length>>> {
    let lengths = text.split_whitespace().map(|word| {
        if word == UNTRIED {
            return Some(None);
        }
        let (milliseconds, seconds) = word.split_once(':')?;
        let pair_seconds = seconds.parse().ok().filter(|seconds| *seconds >= 0.0)?;
        let run = match milliseconds {
            CAPPED => RunLength::Capped,
            milliseconds => RunLength::Time(Duration::from_millis(milliseconds.parse().ok()?)),
        };
        Some(Some(Length { run, pair_seconds }))
    });
    lengths.collect::<Option<Vec<_>>>().filter(|lengths| lengths.len() == groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_slow_start_is_shared_and_then_half_of_the_time_is_lost_at_most() {
        assert_eq!(group_size(0.006, 20.0, 300), 1);
        // 14 benchmarks of 5 ms after a start-up of a second.
        assert_eq!(group_size(1.0, 2.0 * (1.0 + 14.0 * 0.005), 14), 14);
        // 300 of 20 ms after 0.2 s: ten at a time.
        assert_eq!(group_size(0.2, 2.0 * (0.2 + 300.0 * 0.02), 300), 10);
        // Contradictory times, and no benchmarks.
        assert_eq!((group_size(1.0, 1.0, 14), group_size(1.0, 1.0, 0)), (14, 1));
    }

    #[test]
    fn a_trial_that_ends_early_has_seen_all_parts_of_a_suite() {
        assert_eq!(spread(8).collect::<Vec<_>>(), [0, 4, 2, 6, 1, 5, 3, 7]);
        for count in [0, 1, 2, 3, 14, 300] {
            let mut all: Vec<usize> = spread(count).collect();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn lengths_are_read_as_they_were_written() {
        let time = |milliseconds| RunLength::Time(Duration::from_millis(milliseconds));
        let length = |run, pair_seconds| Some(Length { run, pair_seconds });
        let capped = length(RunLength::Capped, 0.3);
        let lengths = vec![length(time(1), 0.0125), None, length(time(100), 3.5), capped];
        assert_eq!(read(&written(&lengths), 4), Some(lengths.clone()));
        assert_eq!(read(&written(&lengths), 3), None);
        for broken in ["1:", "1", "x:1", "1:-1", "1:NaN"] {
            assert_eq!(read(broken, 1), None, "{broken}");
        }
    }
}
