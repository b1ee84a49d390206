//! The whole way, from a request to a report.

use std::time::Instant;

use crate::bench::{Bench, metrics};
use crate::error::{Error, Kind};
use crate::event::{Event, Notice, remarks};
use crate::git::base::Sides;
use crate::options::Limits;
use crate::prepare::{self, Preparation, Request, State};
use crate::process::{Helper, Interrupt};
use crate::runner::{self, Plan, Run, Step, Subject};
use crate::side::Side;
use crate::verdict::{BenchmarkResult, Policy, Sampled, Status, StoppedBy, Verdict};

/// How a comparison is to be made.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is compared.
    pub request: Request,
    /// Whether the first regression ends it.
    pub fail_fast: bool,
    /// The seed of the order, below 2^53.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    /// The overall verdict.
    pub verdict: Verdict,
    /// The two commits.
    pub sides: Sides,
    /// The compiler of the head, where something was built.
    pub toolchain: Option<String>,
    /// What decided.
    pub policy: Policy,
    /// What limited it.
    pub limits: Limits,
    /// The seed of the order.
    pub seed: u64,
    /// The numbers.
    pub sampled: Sampled,
    /// Seconds from the call to the first measured pair.
    pub prepare_seconds: f64,
    /// What the user should know.
    pub notices: Vec<Notice>,
}

/// Compares the two sides. `tell` learns what happens, between runs only.
///
/// # Errors
/// When there is no result: see [`Error`]. A signal during sampling is no
/// error: the report then says what is known so far.
pub fn compare(
    options: &Options,
    helper: &Helper,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Report, Error> {
    let start = Instant::now();
    let preparation = prepare::prepare(&options.request, helper, interrupt, tell)?;
    let mut notices = preparation.notices.clone();
    let (benches, mut plan) = plan(&preparation, options);
    let (sampled, prepare_seconds) = if benches.is_empty() {
        let stopped_by = nothing_to_measure(&preparation);
        let sampled = Sampled { benchmarks: Vec::new(), stopped_by, elapsed: 0.0 };
        (sampled, start.elapsed().as_secs_f64())
    } else {
        let mut session = Session { benches, helper, interrupt, tell, start };
        let sampled = session.run(&mut plan, &mut notices)?;
        if sampled.0.pairs() == 0 && sampled.0.stopped_by == StoppedBy::TimeLimit {
            return Err(Kind::NoPair(plan.time_limit).into());
        }
        sampled
    };
    for notice in remarks(&sampled.benchmarks) {
        tell(Event::Notice(&notice));
        notices.push(notice);
    }
    let verdict = match sampled.stopped_by {
        StoppedBy::Identical => Verdict::Identical,
        StoppedBy::NoBaseline => Verdict::NoBaseline,
        _ => sampled.verdict(),
    };
    let sampled =
        Sampled { benchmarks: all_benchmarks(&preparation, sampled.benchmarks), ..sampled };
    Ok(Report {
        verdict,
        sides: preparation.sides,
        toolchain: preparation.built.toolchain,
        policy: preparation.built.settings.policy,
        limits: preparation.built.settings.limits,
        seed: options.seed,
        sampled,
        prepare_seconds,
        notices,
    })
}

/// Why no benchmark is there to be measured.
fn nothing_to_measure(preparation: &Preparation) -> StoppedBy {
    let lacking = |state: &State| matches!(state, State::NoBaseline);
    if preparation.built.benchmarks.iter().any(|prepared| lacking(&prepared.state)) {
        StoppedBy::NoBaseline
    } else {
        StoppedBy::Identical
    }
}

/// The benchmarks to run, and the plan for them.
fn plan<'a>(preparation: &'a Preparation, options: &Options) -> (Vec<Bench<'a>>, Plan) {
    let settings = &preparation.built.settings;
    let mut benches = Vec::new();
    let mut subjects = Vec::new();
    for (number, prepared) in preparation.built.benchmarks.iter().enumerate() {
        let State::Ready(commands) = &prepared.state else {
            continue;
        };
        let said = preparation.scratch.path().join(format!("said-{number}"));
        benches.push(Bench::new(&prepared.benchmark, commands, said));
        subjects.push(Subject {
            name: prepared.benchmark.name.clone(),
            metrics: metrics(),
            gates: prepared.benchmark.gates.clone(),
            pair_seconds: 0.0,
        });
    }
    let plan = Plan {
        subjects,
        confidence: settings.policy.confidence,
        estimator: settings.policy.estimator,
        time_limit: settings.limits.time,
        max_pairs: settings.limits.pairs,
        fail_fast: options.fail_fast,
        seed: options.seed,
    };
    (benches, plan)
}

/// The running part of a comparison.
struct Session<'a, 'b> {
    benches: Vec<Bench<'a>>,
    helper: &'a Helper,
    interrupt: &'a Interrupt,
    tell: &'a mut (dyn FnMut(Event<'_>) + 'b),
    start: Instant,
}

impl Session<'_, '_> {
    /// Warms up and samples; also says when sampling began, seconds after the
    /// start.
    fn run(&mut self, plan: &mut Plan, notices: &mut Vec<Notice>) -> Result<(Sampled, f64), Error> {
        self.warm_up(plan)?;
        self.foresee(plan, notices)?;
        let metrics: Vec<String> = metrics().into_iter().map(|metric| metric.name).collect();
        (self.tell)(Event::Sampling { metrics: &metrics, seed: plan.seed });
        let began = self.start.elapsed().as_secs_f64();
        let several = plan.subjects.len() > 1;
        let names: Vec<String> = plan.subjects.iter().map(|subject| subject.name.clone()).collect();
        let label = |number: usize, side: Side| match several {
            true => format!("{}/{side}", names[number]),
            false => side.name().to_owned(),
        };
        let start = self.start;
        let (benches, tell) = (&mut self.benches, &mut *self.tell);
        let (helper, interrupt) = (self.helper, self.interrupt);
        let mut foreseen = Vec::new();
        let sampled = runner::sample(
            plan,
            &mut || start.elapsed().as_secs_f64(),
            &mut |number, side, left| benches[number].run(side, Some(left), helper, interrupt),
            &mut |step| match step {
                Step::Pair(number, runs, progress) => {
                    for (side, sample) in runs {
                        let label = label(number, *side);
                        tell(Event::Run { label: &label, sample });
                    }
                    tell(Event::Pair(progress));
                }
                Step::Unlikely(unlikely) => {
                    let notice = Notice::Unlikely(unlikely.clone());
                    tell(Event::Notice(&notice));
                    foreseen.push(notice);
                }
            },
        )?;
        // Forecasts are rough: one that did not come true is forgotten.
        if sampled.verdict() == Verdict::Inconclusive {
            notices.append(&mut foreseen);
        }
        let left = self.benches.iter().map(|bench| bench.left_behind);
        for (processes, benchmark) in left.collect::<Vec<_>>().into_iter().zip(names) {
            if processes > 0 {
                self.notice(Notice::LeftBehind { benchmark, processes }, notices);
            }
        }
        Ok((sampled, began))
    }

    fn notice(&mut self, notice: Notice, notices: &mut Vec<Notice>) {
        (self.tell)(Event::Notice(&notice));
        notices.push(notice);
    }

    /// Runs each side unmeasured, and learns what a run measures and how long
    /// a pair takes.
    fn warm_up(&mut self, plan: &mut Plan) -> Result<(), Error> {
        let (helper, interrupt) = (self.helper, self.interrupt);
        for (bench, subject) in self.benches.iter_mut().zip(&mut plan.subjects) {
            let known: Vec<String> = metrics().into_iter().map(|metric| metric.name).collect();
            let unknown = subject.gates.iter().find(|(name, _)| !known.contains(name));
            if let Some((metric, _)) = unknown {
                let (benchmark, metric) = (subject.name.clone(), metric.clone());
                return Err(Kind::NoMetric { benchmark, metric, measured: known }.into());
            }
            if bench.warmup() > 0 {
                (self.tell)(Event::WarmingUp(&subject.name));
            }
            for _ in 0..bench.warmup() {
                let begin = Instant::now();
                for side in Side::BOTH {
                    if bench.run(side, None, helper, interrupt)? == Run::Interrupted {
                        interrupt.check()?;
                    }
                }
                subject.pair_seconds = begin.elapsed().as_secs_f64();
            }
        }
        Ok(())
    }

    /// Says early what can't come to a verdict.
    fn foresee(&mut self, plan: &Plan, notices: &mut Vec<Notice>) -> Result<(), Error> {
        let (least, needed, limit) = (plan.least_pairs(), plan.least_time(), plan.time_limit);
        if plan.max_pairs.is_some_and(|most| most < least) {
            self.notice(Notice::TooFewPairs { least }, notices);
        } else if needed > limit {
            return Err(Kind::LimitTooShort { least, needed, limit }.into());
        }
        Ok(())
    }
}

/// The measured benchmarks, among those of which there is nothing to measure.
fn all_benchmarks(
    preparation: &Preparation,
    measured: Vec<BenchmarkResult>,
) -> Vec<BenchmarkResult> {
    let mut measured = measured.into_iter();
    let without = |name: &str, status| BenchmarkResult {
        name: name.to_owned(),
        status,
        pairs: 0,
        metrics: Vec::new(),
    };
    let mut all = Vec::new();
    for prepared in &preparation.built.benchmarks {
        let name = &prepared.benchmark.name;
        match prepared.state {
            State::Ready(_) => all.extend(measured.next()),
            State::Identical => all.push(without(name, Status::Compared)),
            State::NoBaseline => all.push(without(name, Status::New)),
        }
    }
    all.extend(preparation.built.removed.iter().map(|name| without(name, Status::Removed)));
    all
}
