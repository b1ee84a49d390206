//! The running part of a comparison: warm-up, plan, sampling.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::Options;
use super::discovery::Discovery;
use super::layouts::{LayoutResults, depends_on_layout, questions, time_needed};
use super::lengths::{Lengths, plan_groups};
use super::program::ComparedProgram;
use crate::engine::event::{Event, Reporter};
use crate::engine::experiment::{Experiment, Progress, Turn};
use crate::engine::longer;
use crate::engine::plan::{Group, Plan};
use crate::error::{Error, Kind};
use crate::exec::execution::{Context, Hook, Stop};
use crate::exec::process::Interrupt;
use crate::model::dialect::Dialect;
use crate::model::explanation::{Explain, Explanation};
use crate::model::gate::Gate;
use crate::model::layouts::Layouts;
use crate::model::notice::{Advice, Notice};
use crate::model::outcome::{Sampled, StoppedBy, Verdict};
use crate::model::row::{BenchmarkId, Reading, Row};
use crate::model::run_length::RunLength;
use crate::model::side::{Pair, Side};
use crate::settings::policy::Settings;
use crate::workspace::LineMoves;

/// How long the trial of run lengths may take, as a fraction of the time limit and in addition to
/// it.
const TRIAL: f64 = 0.1;

/// The fraction of the time limit that is reserved for layouts if all benchmarks are tested over
/// them.
const LAYOUTS_PART: f64 = 0.5;

/// The programs of a comparison, and what is needed to run them.
pub(super) struct Session<'a, 'b> {
    pub(super) programs: Vec<ComparedProgram<'a>>,
    pub(super) context: Context<'a>,
    /// A file with the repetitions that other comparisons found.
    pub(super) known_repetitions: PathBuf,
    /// A file with the lengths of runs that other comparisons found.
    pub(super) known_lengths: PathBuf,
    /// How long the longest runs measure a benchmark; set after the warm-up.
    pub(super) longest: Duration,
    pub(super) reporter: &'b mut (dyn Reporter + 'b),
    /// The start of the comparison.
    pub(super) start: Instant,
    /// The files that differ between the sides, and how their lines moved.
    pub(super) moves: &'a LineMoves,
    /// The names of all programs, including those that need not be run.
    pub(super) names: Vec<String>,
}

/// What a session measured.
pub(super) struct Measured {
    pub(super) sampled: Sampled,
    /// Why benchmarks have regressed.
    pub(super) explanations: Vec<Explanation>,
    /// What was found in each program.
    pub(super) discoveries: Vec<Discovery>,
    /// The gates, each with the name of its benchmark, except those of metrics
    /// known without a run.
    pub(super) gates: Vec<(String, Gate)>,
    /// Seconds from the start to the first measured pair.
    pub(super) prepare_seconds: f64,
}

impl Measured {
    /// The result without sampling, of a comparison that began at `start`.
    pub(super) fn nothing(
        stopped_by: StoppedBy,
        discoveries: Vec<Discovery>,
        start: Instant,
    ) -> Self {
        Measured {
            sampled: Sampled {
                benchmarks: Vec::new(),
                stopped_by,
                likely_slower: None,
                elapsed: 0.0,
            },
            explanations: Vec::new(),
            discoveries,
            gates: Vec::new(),
            prepare_seconds: start.elapsed().as_secs_f64(),
        }
    }
}

impl Session<'_, '_> {
    /// Warms up and samples, between the user's commands for the first and the last run.
    pub(super) fn run(
        &mut self,
        settings: &Settings,
        options: &Options,
    ) -> Result<Measured, Error> {
        let set_up = self.hook(Hook::Setup, self.context);
        let measured = set_up.and_then(|()| self.measure(settings, options));
        // Clean up even after an error or an interrupt.
        let never = Interrupt::never().map_err(Kind::Listen)?;
        let cleaned = self.hook(Hook::Cleanup, Context { interrupt: &never, ..self.context });
        let measured = measured?;
        cleaned?;
        Ok(measured)
    }

    /// Runs the user's commands of one kind. The others run even if a cleanup
    /// fails.
    fn hook(&self, hook: Hook, context: Context<'_>) -> Result<(), Error> {
        let mut all = self.programs.iter().map(|program| program.hook(hook, context));
        match hook {
            Hook::Cleanup => all.fold(Ok(()), Result::and),
            Hook::Setup | Hook::Prepare => all.try_for_each(|ran| ran),
        }
    }

    fn measure(&mut self, settings: &Settings, options: &Options) -> Result<Measured, Error> {
        let mut discoveries = self.warm_up(options.request.filter.as_deref())?;
        let benchmarks = discoveries.iter().map(|found| found.benchmarks.len()).sum();
        self.longest = longer::length(settings.limits.time, benchmarks);
        self.programs.iter_mut().for_each(|program| program.longest = self.longest);
        self.leave_unaffected(&mut discoveries, options, settings.limits.time)?;
        let mut plan = self.plan(&discoveries, settings, options)?;
        if plan.tests() == 0 && !discoveries.iter().any(Discovery::has_exact) {
            if discoveries.iter().any(|found| !found.unaffected.is_empty()) {
                return Ok(Measured::nothing(StoppedBy::Verdict, discoveries, self.start));
            }
            // Everything that could gate is on one side only. If that is the base,
            // the head measures nothing that could be compared.
            let removed: Vec<_> = discoveries.iter().flat_map(Discovery::removed).collect();
            if !removed.is_empty() && !discoveries.iter().any(Discovery::has_new) {
                return Err(Kind::AllRemoved(removed).into());
            }
            return Ok(Measured::nothing(StoppedBy::NoBaseline, discoveries, self.start));
        }
        self.try_lengths(&mut plan)?;
        self.foresee(&mut plan, settings.policy.layouts)?;
        let prepare_seconds = self.start.elapsed().as_secs_f64();
        let mut sampled = self.sample(&plan, settings.policy.layouts)?;
        let explanations = match options.explain {
            Explain::Never => Vec::new(),
            when => self.explain(when, &discoveries, &sampled.benchmarks)?,
        };
        let mut rest = std::mem::take(&mut sampled.benchmarks).into_iter();
        for (program, discovery) in self.programs.iter().zip(&mut discoveries) {
            let mut own: Vec<_> = rest.by_ref().take(discovery.benchmarks.len()).collect();
            discovery.complete(&program.execution.benchmark.name, &mut own);
            sampled.benchmarks.append(&mut own);
        }
        if sampled.pairs() == 0 && sampled.stopped_by == StoppedBy::TimeLimit {
            return Err(Kind::NoPair(plan.time_limit).into());
        }
        let gates = plan.benchmarks.iter().flat_map(|benchmark| {
            benchmark.gates.iter().map(|gate| (benchmark.name.clone(), gate.clone()))
        });
        let gates = gates.collect();
        Ok(Measured { sampled, explanations, gates, discoveries, prepare_seconds })
    }

    /// Runs each side of each program unmeasured, to find out what a run measures and
    /// how long a pair takes.
    fn warm_up(&mut self, filter: Option<&str>) -> Result<Vec<Discovery>, Error> {
        let mut all = Vec::new();
        for number in 0..self.programs.len() {
            all.push(self.discover(number, filter)?);
        }
        // The full name of a benchmark does not select others that contain it.
        if let Some(name) = filter.filter(|name| all.iter().any(|found| found.has(name))) {
            all.iter_mut().for_each(|found| found.keep_only(name));
        }
        let notices: Vec<Notice> = all.iter().flat_map(Discovery::notices).collect();
        notices.into_iter().for_each(|notice| self.notice(notice));
        if let (Some(program), true) = (self.programs.first(), all.iter().all(Discovery::is_empty))
        {
            let benchmark = program.execution.benchmark.name.clone();
            let (harness, filter) = (program.dialect().name(), filter.map(str::to_owned));
            return Err(Kind::NoBenchmark { benchmark, harness, filter }.into());
        }
        if filter.is_none() {
            self.check_waivers(&all)?;
        }
        let is_measured = |metric: &String| all.iter().any(|found| found.measures(metric));
        let units = self.programs.iter().flat_map(|one| one.execution.benchmark.units.keys());
        let unused: BTreeSet<_> = units.filter(|metric| !is_measured(metric)).cloned().collect();
        for metric in unused {
            self.notice(Notice::UnusedUnit { metric });
        }
        Ok(all)
    }

    /// Warms up one program.
    fn discover(&mut self, number: usize, filter: Option<&str>) -> Result<Discovery, Error> {
        // If there are several programs, benchmarks are prefixed with the name of theirs.
        let several = self.names.len() > 1;
        let program = &mut self.programs[number];
        let mut notices = Vec::new();
        if program.dialect() == Dialect::Plain {
            // All metrics come from the meters, so refuse before anything runs.
            notices = program.execution.take_refusals(&[])?;
        }
        for notice in notices {
            self.notice(notice);
        }
        let program = &mut self.programs[number];
        let warm_up = program.warm_up(self.context, self.reporter)?;
        let reported = metrics_of(warm_up.readings.as_ref());
        for notice in program.execution.take_refusals(&reported)? {
            self.notice(notice);
        }
        let program = &mut self.programs[number];
        let mut discovery = Discovery::of(program, &warm_up, several, filter)?;
        if !program.execution.needs_no_run() && !program.is_left_out() {
            let known = self.known_repetitions.clone();
            program.tune(&discovery, &warm_up, known, self.context)?;
            discovery.pair_seconds *= f64::from(program.execution.effort().runs());
            self.run_notices();
        }
        Ok(discovery)
    }

    /// Checks that every waiver is about something that exists.
    fn check_waivers(&self, all: &[Discovery]) -> Result<(), Error> {
        let names = || all.iter().flat_map(Discovery::names).chain(&self.names);
        let benchmarks = || self.programs.iter().map(|program| program.execution.benchmark);
        let gates = || {
            let found = all.iter().flat_map(|discovery| &discovery.benchmarks);
            let asked = benchmarks().flat_map(|benchmark| &benchmark.gates);
            found.flat_map(|benchmark| &benchmark.gates).chain(asked)
        };
        let all_run = self.programs.len() == self.names.len();
        for waiver in benchmarks().flat_map(|benchmark| &benchmark.waivers) {
            let why = match &waiver.benchmark {
                Some(name) if names().all(|known| known != name) => {
                    format!("there is no benchmark `{name}`")
                }
                _ if all_run && gates().all(|gate| gate.metric != waiver.metric) => {
                    format!("`{}` does not gate", waiver.metric)
                }
                _ => continue,
            };
            return Err(Kind::Waiver { metric: waiver.metric.clone(), why }.into());
        }
        Ok(())
    }

    fn plan(
        &mut self,
        discoveries: &[Discovery],
        settings: &Settings,
        options: &Options,
    ) -> Result<Plan, Error> {
        let seed = options.shard.map_or(options.seed, |shard| shard.seed(options.seed));
        let mut plan = Plan {
            time_limit: settings.limits.time,
            max_pairs: settings.limits.pairs,
            fail_fast: options.fail_fast,
            decides: options.shard.is_none(),
            layouts: match self.programs.iter().any(ComparedProgram::can_be_placed) {
                true if options.shard.is_none() => settings.policy.layouts,
                _ => Layouts::Off,
            },
            ..Plan::new(settings.policy.confidence, settings.policy.estimator, seed)
        };
        let programs = self.programs.iter_mut().zip(discoveries).enumerate();
        for (number, (program, discovery)) in programs {
            plan_groups(program, number, discovery, &mut plan, self.context)
                .map_err(Stop::into_error)?;
        }
        Ok(plan)
    }

    /// Determines how long the runs of each group should be.
    fn try_lengths(&mut self, plan: &mut Plan) -> Result<(), Error> {
        let budget = plan.time_limit.mul_f64(TRIAL);
        for number in 0..self.programs.len() {
            let of_program = |(_, group): &(usize, &Group)| group.program == number;
            let groups = plan.groups.iter().enumerate().filter(of_program);
            let groups: Vec<usize> = groups.map(|(number, _)| number).collect();
            let share = groups.len() as f64 / plan.groups.len() as f64;
            let deadline = Instant::now() + budget.mul_f64(share);
            let Session { programs, context, reporter, known_lengths, .. } = self;
            let program = &mut programs[number];
            let mut lengths = Lengths { program, groups, context: *context };
            lengths.choose(plan, deadline, known_lengths, &mut |group, groups| {
                reporter.event(Event::TryingLengths { group, groups });
            })?;
            self.run_notices();
        }
        Ok(())
    }

    /// Reports early what can't reach a verdict.
    fn foresee(&mut self, plan: &mut Plan, layouts: Layouts) -> Result<(), Error> {
        if plan.tests() == 0 || !plan.decides {
            return Ok(());
        }
        let (least, limit) = (plan.least_pairs(), plan.time_limit);
        if let Layouts::Number(number) = layouts
            && u64::from(number) < least
        {
            return Err(Kind::TooFewLayouts { number, least }.into());
        }
        if plan.max_pairs.is_some_and(|most| most < least) {
            self.notice(Notice::TooFewPairs { least });
            return Ok(());
        }
        self.time_again(plan).map_err(Stop::into_error)?;
        let needed = plan.least_time();
        if needed > limit {
            let benchmarks = plan.benchmarks.iter().filter(|one| !one.gates.is_empty()).count();
            let slowest = plan.slowest();
            let newer = self.programs.iter().find_map(ComparedProgram::version_with_short_runs);
            let error = Kind::LimitTooShort { least, benchmarks, needed, limit, slowest, newer };
            return Err(error.into());
        }
        Ok(())
    }

    /// If the minimum number of pairs does not fit the time limit, runs a pair of each group
    /// again, until it does: the first timing may have been slow by accident, with a cold
    /// cache or on a busy machine. No pair runs for longer than would fit, and none at all once
    /// the groups that were run again need too long by themselves.
    fn time_again(&mut self, plan: &mut Plan) -> Result<(), Stop> {
        let mut confirmed = Duration::ZERO;
        for number in 0..plan.groups.len() {
            if plan.least_time() <= plan.time_limit || confirmed > plan.time_limit {
                break;
            }
            let group = &plan.groups[number];
            let Some(least) = plan.least_pairs_in(group) else { continue };
            let most = plan.time_limit.div_f64(least as f64);
            let wanted: Vec<BenchmarkId> = group.benchmarks.clone().map(BenchmarkId).collect();
            let length = group.length.unwrap_or(RunLength::LONG);
            let begin = Instant::now();
            let program = &mut self.programs[group.program];
            match program.pair(&wanted, Side::Base, length, Some(begin + most), self.context) {
                Ok(_) => {
                    let seconds = &mut plan.groups[number].pair_seconds;
                    *seconds = seconds.min(begin.elapsed().as_secs_f64());
                    confirmed += Duration::from_secs_f64(*seconds * least as f64);
                }
                Err(Stop::OutOfTime) => break,
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }

    fn sample(&mut self, plan: &Plan, layouts: Layouts) -> Result<Sampled, Error> {
        if plan.tests() > 0 {
            self.reporter.event(Event::Sampling(plan));
        }
        let began = self.start.elapsed().as_secs_f64();
        let mut experiment = Experiment::new(plan.clone(), began);
        if matches!(layouts, Layouts::Number(_)) {
            experiment.reserve(LAYOUTS_PART * plan.time_limit.as_secs_f64());
        }
        let mut over = LayoutResults::default();
        let mut stopped_by = loop {
            let stopped_by = self.sample_as_built(&mut experiment, plan)?;
            let questions = questions(&experiment, plan, &self.programs, layouts, &over);
            if questions.is_empty() || stopped_by == StoppedBy::Interrupt || !plan.decides {
                break stopped_by;
            }
            let spent = self.start.elapsed().as_secs_f64() - began;
            let ended = self.ask_over_layouts(plan, &questions, spent, layouts, &mut over)?;
            let goes_on = plan.fail_fast && !over.confirm_any();
            if ended != StoppedBy::Verdict || stopped_by != StoppedBy::Verdict || !goes_on {
                break if ended == StoppedBy::Verdict { stopped_by } else { ended };
            }
            experiment.go_on();
        };
        let mut sampled = experiment.finish(stopped_by);
        sampled.elapsed = sampled.elapsed.max(over.ended - began);
        let asked_again = std::mem::take(&mut over.advice);
        let of_layouts = over.likely_slower.take();
        sampled.likely_slower = sampled.likely_slower.or(of_layouts);
        over.put_into(&mut sampled.benchmarks);
        let is_found = plan.fail_fast && sampled.names_a_regression();
        if plan.decides && stopped_by != StoppedBy::Interrupt && !is_found {
            match self.run_longer(plan, began, &mut sampled)? {
                StoppedBy::Interrupt => stopped_by = StoppedBy::Interrupt,
                _ if stopped_by == StoppedBy::Verdict && !sampled.is_decided() => {
                    stopped_by = StoppedBy::TimeLimit;
                }
                _ => {}
            }
            sampled.stopped_by = stopped_by;
        }
        if sampled.names_a_regression() {
            sampled.likely_slower = None;
        }
        let is_limited = matches!(stopped_by, StoppedBy::TimeLimit | StoppedBy::MaxPairs);
        if is_limited && plan.decides && sampled.is_decided() {
            // What was undecided as built has its verdict over layouts.
            sampled.stopped_by = StoppedBy::Verdict;
            stopped_by = StoppedBy::Verdict;
        }
        let advice = match stopped_by {
            StoppedBy::TimeLimit => match (experiment.advice(), asked_again) {
                (Some(as_built), Some(over)) => Some(as_built.and(over)),
                (as_built, over) => as_built.or(over),
            },
            // More time would change nothing, and there already is a notice about too few pairs.
            StoppedBy::MaxPairs if plan.max_pairs >= Some(plan.least_pairs()) => {
                experiment.advice().map(|advice| Advice { time: None, ..advice })
            }
            _ => None,
        };
        let not_asked = experiment.not_asked();
        let (benchmarks, example) = (not_asked.len(), not_asked.first().map(ToString::to_string));
        // Forecasts are rough: one that did not come true is dropped.
        if sampled.verdict() == Verdict::Inconclusive {
            let unlikely = experiment.foreseen().cloned().map(Notice::Unlikely);
            unlikely.into_iter().for_each(|notice| self.reporter.record(notice));
        }
        match (example, advice) {
            (Some(example), _) if stopped_by == StoppedBy::TimeLimit => {
                self.notice(Notice::NotAsked { benchmarks, example });
            }
            (_, Some(advice)) => self.notice(Notice::Advice(advice)),
            _ => {}
        }
        self.run_notices();
        for number in 0..self.programs.len() {
            let execution = &self.programs[number].execution;
            let (benchmark, processes) = (execution.benchmark.name.clone(), execution.left_behind);
            if processes > 0 {
                self.notice(Notice::LeftBehind { benchmark, processes });
            }
        }
        Ok(sampled)
    }

    /// Samples the executables as built.
    fn sample_as_built(
        &mut self,
        experiment: &mut Experiment,
        plan: &Plan,
    ) -> Result<StoppedBy, Error> {
        let Session { programs, context, reporter, start, .. } = self;
        let placed: Vec<bool> =
            plan.groups.iter().map(|group| programs[group.program].can_be_placed()).collect();
        let mut to_ask: Vec<BenchmarkId> = Vec::new();
        run(
            experiment,
            &|| start.elapsed().as_secs_f64(),
            &mut |turn, progress| {
                let group = &plan.groups[turn.group];
                programs[group.program].measure(turn, group, progress, *context)
            },
            *reporter,
            &mut |turn, experiment| {
                if plan.layouts != Layouts::Auto {
                    return;
                }
                if placed[turn.group] {
                    experiment.set_aside(&|test, least| {
                        test.looks_slower(least) && depends_on_layout(test.metric())
                    });
                }
                let before = to_ask.len();
                to_ask.extend(experiment.to_ask_again());
                if to_ask.len() > before {
                    experiment.reserve(time_needed(plan, &to_ask));
                }
            },
        )
    }

    /// Reports what the user should know about the runs so far.
    fn run_notices(&mut self) {
        let programs = self.programs.iter_mut();
        let notices = programs.flat_map(|program| std::mem::take(&mut program.execution.notices));
        for notice in notices.collect::<Vec<_>>() {
            self.notice(Notice::Run(notice));
        }
    }

    pub(super) fn notice(&mut self, notice: Notice) {
        self.reporter.notice(notice);
    }
}

/// Measures a pair.
type Measure<'a> = dyn FnMut(&Turn, &Progress<'_>) -> Result<Vec<Row>, Stop> + 'a;

/// Measures pair after pair until the experiment ends, or a run is stopped. `after_pair`
/// may change the rest of the experiment.
///
/// # Errors
/// If a run fails. The event of the end is sent nevertheless.
pub(super) fn run(
    experiment: &mut Experiment,
    clock: &dyn Fn() -> f64,
    measure: &mut Measure<'_>,
    reporter: &mut dyn Reporter,
    after_pair: &mut dyn FnMut(&Turn, &mut Experiment),
) -> Result<StoppedBy, Error> {
    let ended = loop {
        let turn = match experiment.next(clock()) {
            Ok(turn) => turn,
            Err(stopped_by) => break Ok(stopped_by),
        };
        let rows = match measure(&turn, &experiment.progress()) {
            Ok(rows) => rows,
            Err(Stop::OutOfTime) => break Ok(StoppedBy::TimeLimit),
            Err(Stop::Interrupted) => break Ok(StoppedBy::Interrupt),
            Err(Stop::Error(error)) => break Err(error),
        };
        experiment.push(&turn, &rows, clock());
        after_pair(&turn, experiment);
        reporter.event(Event::Pair { rows: &rows, progress: &experiment.progress() });
        if let Some(unlikely) = experiment.unlikely() {
            reporter.event(Event::Unlikely(unlikely));
        }
    };
    if experiment.has_pairs() {
        reporter.event(Event::Sampled(&experiment.progress()));
    }
    ended
}

/// The metrics that either side reported.
fn metrics_of(readings: Option<&Pair<Vec<Reading>>>) -> Vec<String> {
    let both = readings.into_iter().flat_map(|pair| [&pair.base, &pair.head]);
    both.flatten().flat_map(|reading| reading.values.metrics()).collect()
}

#[cfg(test)]
mod tests;
