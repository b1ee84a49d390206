//! The whole way, from a request to a report.

mod catalogue;
mod session;

use std::time::Instant;

use crate::engine::remarks::remarks;
use crate::engine::schedule::Shard;
use crate::error::{Error, Kind};
use crate::exec::execution::{Bench, Hands};
use crate::exec::process::{Helper, Interrupt};
use crate::flows::event::Event;
use crate::model::gate::Gate;
use crate::model::notice::Notice;
use crate::model::outcome::{
    BenchmarkResult, Policy, Removed, Sampled, Status, StoppedBy, Verdict,
};
use crate::model::side::Side;
use crate::settings::options::{Benchmark, Limits};
use crate::workspace::git::base::Sides;
use crate::workspace::{self, Preparation, Prepared, Request, State};
use catalogue::Found;
use session::{Measured, Session};

/// How a comparison is to be made.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is compared.
    pub request: Request,
    /// Whether the first regression ends it.
    pub fail_fast: bool,
    /// The seed of the order, below 2^53.
    pub seed: u64,
    /// The part of a comparison of several machines that this one is. It samples
    /// to its limits and gives no verdict.
    pub shard: Option<Shard>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    /// The overall verdict; of a shard that measured, *inconclusive*: see
    /// [`Report::decided`].
    pub verdict: Verdict,
    /// The two commits.
    pub sides: Sides,
    /// The compiler of the head, where something was built.
    pub toolchain: Option<String>,
    /// What decided.
    pub policy: Policy,
    /// What limited it.
    pub limits: Limits,
    /// The seed of the order; of a shard's order, that of the whole.
    pub seed: u64,
    /// The part that this is of a comparison of several machines.
    pub shard: Option<Shard>,
    /// What was run, or would have been.
    pub programs: Vec<Benchmark>,
    /// What decides, each with the name of its benchmark, but for what is known
    /// without a run.
    pub gates: Vec<(String, Gate)>,
    /// The numbers.
    pub sampled: Sampled,
    /// What gates on the base and is not measured on the head.
    pub removed: Vec<Removed>,
    /// Seconds from the call to the first measured pair.
    pub prepare_seconds: f64,
    /// What the user should know.
    pub notices: Vec<Notice>,
}

impl Report {
    /// The overall verdict; none of a shard that measured, for that is given by
    /// all of them together.
    pub fn decided(&self) -> Option<Verdict> {
        let measured =
            !matches!(self.sampled.stopped_by, StoppedBy::Identical | StoppedBy::NoBaseline);
        (self.shard.is_none() || !measured).then_some(self.verdict)
    }

    /// The keys of the tables in which the sides differ and that change which
    /// benchmarks run.
    pub fn selecting(&self) -> Vec<&'static str> {
        let differing = self.notices.iter().filter_map(|notice| match notice {
            Notice::RunDiffers(differs) => Some(differs.selecting()),
            _ => None,
        });
        differing.flatten().collect()
    }
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
    let preparation =
        workspace::prepare(&options.request, helper, interrupt, &mut |event| tell(event.into()))?;
    let mut notices = preparation.notices.clone();
    let benches = benches(&preparation, options)?;
    let Measured { sampled, found, gates, prepare_seconds } = if benches.is_empty() {
        let stopped_by = nothing_to_measure(&preparation);
        let sampled = Sampled { benchmarks: Vec::new(), stopped_by, elapsed: 0.0 };
        let prepare_seconds = start.elapsed().as_secs_f64();
        Measured { sampled, found: Vec::new(), gates: Vec::new(), prepare_seconds }
    } else {
        let programs = preparation.benchmarks.iter().map(|one| one.benchmark.name.clone());
        let programs: Vec<String> = programs.collect();
        let notices = &mut notices;
        let (hands, room) = (Hands { helper, interrupt }, &preparation.cache);
        let mut session = Session { benches, programs, hands, room, tell, start, notices };
        session.run(&preparation.settings, options)?
    };
    for notice in remarks(&sampled.benchmarks) {
        tell(Event::Notice(&notice));
        notices.push(notice);
    }
    let verdict = match sampled.stopped_by {
        StoppedBy::Identical => Verdict::Identical,
        StoppedBy::NoBaseline => Verdict::NoBaseline,
        _ if options.shard.is_some() => Verdict::Inconclusive,
        _ => sampled.verdict(),
    };
    let mut removed = preparation.removed.clone();
    removed.extend(found.iter().flat_map(Found::removed));
    let benchmarks = all_benchmarks(&preparation, sampled.benchmarks, found);
    let sampled = Sampled { benchmarks, ..sampled };
    Ok(Report {
        verdict,
        sides: preparation.sides,
        toolchain: preparation.toolchain,
        policy: preparation.settings.policy,
        limits: preparation.settings.limits,
        seed: options.seed,
        shard: options.shard,
        programs: programs_of(preparation.benchmarks),
        gates,
        sampled,
        removed,
        prepare_seconds,
        notices,
    })
}

fn programs_of(prepared: Vec<Prepared>) -> Vec<Benchmark> {
    prepared.into_iter().map(|prepared| prepared.benchmark).collect()
}

/// Why no benchmark is there to be measured.
fn nothing_to_measure(preparation: &Preparation) -> StoppedBy {
    let lacking = |state: &State| matches!(state, State::NoBaseline);
    if preparation.benchmarks.iter().any(|prepared| lacking(&prepared.state)) {
        StoppedBy::NoBaseline
    } else {
        StoppedBy::Identical
    }
}

/// The benchmarks of what can be run.
fn benches<'a>(
    preparation: &'a Preparation,
    options: &'a Options,
) -> Result<Vec<Bench<'a>>, Error> {
    let filter = options.request.filter.as_deref();
    let mut benches = Vec::new();
    for (number, prepared) in preparation.benchmarks.iter().enumerate() {
        if let State::Ready(programs) = &prepared.state {
            let scratch = preparation.scratch.path();
            benches.push(Bench::new(&prepared.benchmark, programs, scratch, number, filter)?);
        }
    }
    let takes = |bench: &Bench<'_>| bench.dialect().filters();
    match filter {
        Some(filter) if !benches.is_empty() && !benches.iter().any(takes) => {
            Err(Kind::NoFilter(filter.to_owned()).into())
        }
        _ => Ok(benches),
    }
}

/// The measured benchmarks, among those of which there is nothing to measure.
fn all_benchmarks(
    preparation: &Preparation,
    measured: Vec<BenchmarkResult>,
    found: Vec<Found>,
) -> Vec<BenchmarkResult> {
    let (mut measured, mut found) = (measured.into_iter(), found.into_iter());
    let without = |name: &str, status| BenchmarkResult {
        name: name.to_owned(),
        status,
        pairs: 0,
        metrics: Vec::new(),
    };
    let mut all = Vec::new();
    for prepared in &preparation.benchmarks {
        let name = &prepared.benchmark.name;
        match prepared.state {
            State::Ready(_) => {
                let Some(found) = found.next() else { continue };
                for result in measured.by_ref().take(found.subject.benchmarks.len()) {
                    all.push(found.with_one_sided(result));
                }
                let side = |side| if side == Side::Head { Status::New } else { Status::Removed };
                all.extend(found.alone.iter().map(|one| without(&one.name, side(one.side))));
            }
            State::Identical => all.push(without(name, Status::Compared)),
            State::NoBaseline => all.push(without(name, Status::New)),
        }
    }
    let removed = preparation.removed.iter();
    all.extend(removed.map(|removed| without(&removed.benchmark, Status::Removed)));
    all
}
