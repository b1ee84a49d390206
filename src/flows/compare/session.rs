//! The running part of a comparison: warm-up, forecast, sampling.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Instant;

use super::catalogue::Found;
use super::{Error, Kind, Options};
use crate::engine::experiment::{self, Plan, Run, Step};
use crate::exec::execution::{Bench, Hands, Hook, Reported};
use crate::exec::process::Interrupt;
use crate::flows::event::Event;
use crate::model::dialect::Dialect;
use crate::model::gate::Gate;
use crate::model::notice::Notice;
use crate::model::outcome::{Sampled, StoppedBy, Verdict};
use crate::model::row::Sample;
use crate::model::side::{Pair, Side};
use crate::settings::policy::Settings;
use crate::workspace::cache::Room;

/// The benchmarks of a comparison, and who watches.
pub(super) struct Session<'a, 'b> {
    pub(super) benches: Vec<Bench<'a>>,
    pub(super) hands: Hands<'a>,
    /// The repository's part of the cache.
    pub(super) room: &'a Room,
    pub(super) tell: &'a mut (dyn FnMut(Event<'_>) + 'b),
    pub(super) start: Instant,
    pub(super) notices: &'a mut Vec<Notice>,
    /// The names of all programs, also of those that need not be run.
    pub(super) programs: Vec<String>,
}

/// What came of it.
pub(super) struct Measured {
    pub(super) sampled: Sampled,
    /// What each bench was found to have.
    pub(super) found: Vec<Found>,
    /// What decides, each with the name of its benchmark, but for what is known
    /// without a run.
    pub(super) gates: Vec<(String, Gate)>,
    /// Seconds from the start to the first measured pair.
    pub(super) prepare_seconds: f64,
}

impl Session<'_, '_> {
    /// Warms up and samples, between the user's commands for the first and the
    /// last run. Several programs put their names before those of their
    /// benchmarks.
    pub(super) fn run(
        &mut self,
        settings: &Settings,
        options: &Options,
    ) -> Result<Measured, Error> {
        let set_up = self
            .benches
            .iter()
            .try_for_each(|bench| bench.hook(Hook::Setup, &Side::BOTH, self.hands));
        let measured = set_up.and_then(|()| self.measure(settings, options));
        // Whatever became of it, and whoever asked for the end.
        let never = Interrupt::never().map_err(Kind::Listen)?;
        let hands = Hands { interrupt: &never, ..self.hands };
        let clean = |bench: &Bench<'_>| bench.hook(Hook::Cleanup, &Side::BOTH, hands);
        let cleaned = self.benches.iter().map(clean).fold(Ok(()), Result::and);
        let measured = measured?;
        cleaned?;
        Ok(measured)
    }

    fn measure(&mut self, settings: &Settings, options: &Options) -> Result<Measured, Error> {
        let mut found = self.warm_up(options, self.programs.len() > 1)?;
        let plan = Plan {
            subjects: found.iter().map(|found| found.subject.clone()).collect(),
            confidence: settings.policy.confidence,
            estimator: settings.policy.estimator,
            time_limit: settings.limits.time,
            max_pairs: settings.limits.pairs,
            fail_fast: options.fail_fast,
            decides: options.shard.is_none(),
            seed: options.shard.map_or(options.seed, |shard| shard.seed(options.seed)),
        };
        let is_known = found.iter().any(Found::has_exact);
        if plan.questions() == 0 && !is_known {
            // All that could gate is on one side only: where that is the base, the
            // head measures nothing that could be judged.
            let removed: Vec<_> = found.iter().flat_map(Found::removed).collect();
            if !removed.is_empty() && !found.iter().any(Found::has_new) {
                return Err(Kind::AllRemoved(removed).into());
            }
            let stopped_by = StoppedBy::NoBaseline;
            let sampled = Sampled { benchmarks: Vec::new(), stopped_by, elapsed: 0.0 };
            let prepare_seconds = self.start.elapsed().as_secs_f64();
            let gates = Vec::new();
            return Ok(Measured { sampled, found, gates, prepare_seconds });
        }
        if plan.questions() > 0 && plan.decides {
            self.foresee(&plan)?;
        }
        let prepare_seconds = self.start.elapsed().as_secs_f64();
        let mut sampled = self.sample(&plan)?;
        let mut rest = sampled.benchmarks.drain(..).collect::<Vec<_>>().into_iter();
        for (bench, found) in self.benches.iter().zip(&mut found) {
            let mut own: Vec<_> = rest.by_ref().take(found.subject.benchmarks.len()).collect();
            found.add_exact(&bench.benchmark.name, &mut own);
            sampled.benchmarks.append(&mut own);
        }
        if sampled.pairs() == 0 && sampled.stopped_by == StoppedBy::TimeLimit {
            return Err(Kind::NoPair(plan.time_limit).into());
        }
        let gates = plan
            .benchmarks()
            .flat_map(|of| of.gates.iter().map(move |gate| (of.name.clone(), gate.clone())));
        Ok(Measured { sampled, found, gates: gates.collect(), prepare_seconds })
    }

    fn sample(&mut self, plan: &Plan) -> Result<Sampled, Error> {
        let mut metrics: Vec<String> = Vec::new();
        for metric in plan.benchmarks().flat_map(|benchmark| &benchmark.metrics) {
            if !metrics.contains(&metric.name) {
                metrics.push(metric.name.clone());
            }
        }
        if plan.questions() > 0 {
            (self.tell)(Event::Sampling { metrics: &metrics, plan });
        }
        let several = plan.benchmarks().count() > 1;
        let label = |program: usize, number: usize, side: Side| match several {
            true => format!("{}/{side}", plan.subjects[program].benchmarks[number].name),
            false => side.name().to_owned(),
        };
        let start = self.start;
        let (benches, tell) = (RefCell::new(&mut self.benches), &mut *self.tell);
        let hands = self.hands;
        let mut foreseen = Vec::new();
        let sampled = experiment::sample(
            plan,
            &mut || start.elapsed().as_secs_f64(),
            &mut |turn, left| benches.borrow_mut()[turn.program].pair(turn, left, hands),
            &mut |step| match step {
                Step::Pair(program, runs, progress) => {
                    for (side, samples) in runs {
                        for (number, sample) in samples {
                            let label = label(program, *number, *side);
                            tell(Event::Run { label: &label, sample });
                        }
                    }
                    tell(Event::Pair(progress));
                    let bench = &mut benches.borrow_mut()[program];
                    if bench.meters.has_slow_runs() {
                        bench.done = bench.meters.done(&progress.results(program));
                    }
                }
                Step::End(progress) => tell(Event::Sampled(progress)),
                Step::Unlikely(unlikely) => {
                    let notice = Notice::Unlikely(unlikely.clone());
                    tell(Event::Notice(&notice));
                    foreseen.push(notice);
                }
            },
        )?;
        // Forecasts are rough: one that did not come true is forgotten.
        if sampled.verdict() == Verdict::Inconclusive {
            self.notices.append(&mut foreseen);
        }
        self.remarks();
        let left = self.benches.iter().filter(|bench| bench.left_behind > 0);
        let left = left.map(|bench| (bench.benchmark.name.clone(), bench.left_behind));
        for (benchmark, processes) in left.collect::<Vec<_>>() {
            self.notice(Notice::LeftBehind { benchmark, processes });
        }
        Ok(sampled)
    }

    /// Says what there is to say of the benches' runs.
    fn remarks(&mut self) {
        let remarks = self.benches.iter_mut().flat_map(|bench| std::mem::take(&mut bench.remarks));
        for remark in remarks.collect::<Vec<_>>() {
            self.notice(Notice::Run(remark));
        }
    }

    fn notice(&mut self, notice: Notice) {
        (self.tell)(Event::Notice(&notice));
        self.notices.push(notice);
    }

    /// Runs each side unmeasured, and learns what a run measures and how long
    /// a pair takes.
    fn warm_up(&mut self, options: &Options, several: bool) -> Result<Vec<Found>, Error> {
        let filter = options.request.filter.as_deref();
        let mut all = Vec::new();
        for number in 0..self.benches.len() {
            let (reported, pair_seconds) = self.warm_up_one(number)?;
            for notice in self.benches[number].refusals(&names(reported.as_ref()))? {
                self.notice(notice);
            }
            let bench = &mut self.benches[number];
            let mut found = Found::of(bench, reported.clone(), pair_seconds, several, filter)?;
            let (hands, known) = (self.hands, self.room.scratch("repetitions-v1"));
            if !bench.needs_no_run() {
                if !bench.check_output(hands)? || !bench.tune(reported.as_ref(), &known, hands)? {
                    hands.interrupt.check()?;
                }
                found.subject.pair_seconds *= f64::from(bench.runs());
                self.remarks();
            }
            for notice in found.notices() {
                self.notice(notice);
            }
            all.push(found);
        }
        if let (Some(bench), true) = (self.benches.first(), all.iter().all(Found::is_empty)) {
            let benchmark = bench.benchmark.name.clone();
            let (harness, filter) = (bench.dialect().name(), filter.map(str::to_owned));
            return Err(Kind::NoBenchmark { benchmark, harness, filter }.into());
        }
        if filter.is_none() {
            self.check_waivers(&all)?;
        }
        let measured = |metric: &String| all.iter().any(|found| found.measures(metric));
        let set = self.benches.iter().flat_map(|bench| bench.benchmark.units.keys());
        let unused: BTreeSet<String> = set.filter(|metric| !measured(metric)).cloned().collect();
        for metric in unused {
            self.notice(Notice::UnusedUnit { metric });
        }
        Ok(all)
    }

    /// That every waiver is about something that there is.
    fn check_waivers(&self, all: &[Found]) -> Result<(), Error> {
        let names = || all.iter().flat_map(Found::names).chain(self.programs.iter().cloned());
        let gates = || {
            let found = all.iter().flat_map(|found| &found.subject.benchmarks);
            let asked = self.benches.iter().flat_map(|bench| &bench.benchmark.gates);
            found.flat_map(|benchmark| &benchmark.gates).chain(asked)
        };
        let whole = self.benches.len() == self.programs.len();
        for waiver in self.benches.iter().flat_map(|bench| &bench.benchmark.waivers) {
            let why = match &waiver.benchmark {
                Some(name) if names().all(|known| known != *name) => {
                    format!("there is no benchmark `{name}`")
                }
                _ if whole && gates().all(|gate| gate.metric != waiver.metric) => {
                    format!("`{}` does not gate", waiver.metric)
                }
                _ => continue,
            };
            return Err(Kind::Waiver { metric: waiver.metric.clone(), why }.into());
        }
        Ok(())
    }

    /// What each side reports, and how long the latest pair took, seconds.
    fn warm_up_one(&mut self, number: usize) -> Result<(Option<Pair<Reported>>, f64), Error> {
        let hands = self.hands;
        if self.benches[number].dialect() == Dialect::Plain {
            // Nothing but our meters has any metrics.
            for notice in self.benches[number].refusals(&[])? {
                self.notice(notice);
            }
        }
        let bench = &mut self.benches[number];
        if bench.needs_no_run() {
            let nothing = || vec![(None, Sample::new())];
            return Ok((Some(Pair::both(|_| nothing())), 0.0));
        }
        if bench.warmup() > 0 {
            (self.tell)(Event::WarmingUp(&bench.benchmark.name));
        }
        let (mut reported, mut seconds) = (None, 0.0);
        for _ in 0..bench.warmup() {
            let begin = Instant::now();
            let mut both = Pair::default();
            for side in Side::BOTH {
                match bench.warm_up(side, hands)? {
                    Run::Measured(one) => both[side] = one,
                    Run::Interrupted | Run::OutOfTime => hands.interrupt.check()?,
                }
            }
            seconds = begin.elapsed().as_secs_f64();
            reported.get_or_insert(both);
        }
        Ok((reported, seconds))
    }

    /// Says early what can't come to a verdict.
    fn foresee(&mut self, plan: &Plan) -> Result<(), Error> {
        let (least, needed, limit) = (plan.least_pairs(), plan.least_time(), plan.time_limit);
        if plan.max_pairs.is_some_and(|most| most < least) {
            self.notice(Notice::TooFewPairs { least });
        } else if needed > limit {
            return Err(Kind::LimitTooShort { least, needed, limit }.into());
        }
        Ok(())
    }
}

/// The metrics that either side reported.
fn names(reported: Option<&Pair<Reported>>) -> Vec<String> {
    let both = reported.into_iter().flat_map(|pair| [&pair.base, &pair.head]);
    let samples = both.flatten().map(|(_, sample)| sample);
    samples.flat_map(|sample| sample.iter().map(|(name, _)| name.to_owned())).collect()
}
