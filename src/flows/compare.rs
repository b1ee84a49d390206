//! `compare`: from a request to an outcome.

mod catalogue;
mod session;

use std::time::Instant;

use crate::engine::remarks::remarks;
use crate::error::{Error, Kind};
use crate::exec::execution::{Bench, Hands};
use crate::exec::process::{Helper, Interrupt};
use crate::flows::event::Event;
use crate::model::gate::Gate;
use crate::model::notice::Notice;
use crate::model::outcome::{BenchmarkResult, Outcome, Sampled, Status, StoppedBy, Verdict};
use crate::model::shard::Shard;
use crate::model::side::Side;
use crate::settings::options::Benchmark;
use crate::workspace::{self, Preparation, Request, State};
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

/// What came of a comparison, and what its samples are of.
#[derive(Clone, Debug)]
pub struct Compared {
    /// What came of it.
    pub outcome: Outcome,
    /// What was run, or would have been.
    pub programs: Vec<Benchmark>,
    /// What decides about the metrics that are sampled, each with the name of its
    /// benchmark.
    pub gates: Vec<(String, Gate)>,
}

/// Compares the two sides. `tell` learns what happens, between runs only.
///
/// # Errors
/// When there is no result: see [`Error`]. A signal during sampling is no
/// error: the outcome then says what is known so far.
pub fn compare(
    options: &Options,
    helper: &Helper,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Compared, Error> {
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
        let programs = preparation.built.benchmarks.iter().map(|one| one.benchmark.name.clone());
        let programs: Vec<String> = programs.collect();
        let notices = &mut notices;
        let (hands, room) = (Hands { helper, interrupt }, &preparation.room);
        let mut session = Session { benches, programs, hands, room, tell, start, notices };
        session.run(&preparation.built.settings, options)?
    };
    for notice in remarks(&sampled.benchmarks) {
        tell(Event::Notice(&notice));
        notices.push(notice);
    }
    let verdict = match sampled.stopped_by {
        StoppedBy::Identical => Some(Verdict::Identical),
        StoppedBy::NoBaseline => Some(Verdict::NoBaseline),
        // All shards together give it.
        _ if options.shard.is_some() => None,
        _ => Some(sampled.verdict()),
    };
    let mut removed = preparation.built.removed.clone();
    removed.extend(found.iter().flat_map(Found::removed));
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
        benchmarks: all_benchmarks(&preparation, sampled.benchmarks, found),
        sides: Some(preparation.sides),
        toolchain: Some(preparation.built.toolchain),
        policy: preparation.built.settings.policy,
        limits: preparation.built.settings.limits,
        seed: Some(options.seed),
        shard: Some(options.shard),
        removed,
        selecting: selecting.flatten().map(str::to_owned).collect(),
        notices,
    };
    let prepared = preparation.built.benchmarks.into_iter();
    let programs = prepared.map(|prepared| prepared.benchmark).collect();
    Ok(Compared { outcome, programs, gates })
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

/// The benchmarks of what can be run.
fn benches<'a>(
    preparation: &'a Preparation,
    options: &'a Options,
) -> Result<Vec<Bench<'a>>, Error> {
    let filter = options.request.filter.as_deref();
    let mut benches = Vec::new();
    for (number, prepared) in preparation.built.benchmarks.iter().enumerate() {
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
    let mut all = Vec::new();
    for prepared in &preparation.built.benchmarks {
        let name = &prepared.benchmark.name;
        match prepared.state {
            State::Ready(_) => {
                let Some(found) = found.next() else { continue };
                for result in measured.by_ref().take(found.subject.benchmarks.len()) {
                    all.push(found.with_one_sided(result));
                }
                let side = |side| if side == Side::Head { Status::New } else { Status::Removed };
                all.extend(
                    found.alone.iter().map(|one| BenchmarkResult::new(&one.name, side(one.side))),
                );
            }
            State::Identical => all.push(BenchmarkResult::new(name, Status::Compared)),
            State::NoBaseline => all.push(BenchmarkResult::new(name, Status::New)),
        }
    }
    let removed = preparation.built.removed.iter();
    all.extend(removed.map(|gone| BenchmarkResult::new(&gone.benchmark, Status::Removed)));
    all
}
