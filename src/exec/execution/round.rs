//! Runs of libtest and bencher that are as long as a comparison wants them.
//!
//! Both time one iteration, choose as many as fit into a millisecond, and repeat rounds of a hundred
//! samples of that many or of five times as many, until a round took 0.1 s and varied little, or all
//! took 3 s (`library/test/src/bench.rs` of Rust). No flag changes that. But of time they know only
//! what the clock says: a library in front of it sets the clock, so that the harness chooses the wanted
//! number of iterations of a sample, and believes that the first round took 4 s. The times that it
//! reports are those of the second half of the samples, during which the clock is not touched. Of these
//! the library reports the median, too, since bencher prints whole nanoseconds.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::run::Context;
use super::stop::Stop;
use crate::exec::harness::Harness;
use crate::exec::process::preload::{self, Library};
use crate::exec::process::{Command, look_up};
use crate::model::Dialect;

const LIBRARY: Library = Library { name: "round", source: include_str!("round.rs.in") };

/// The variable that says how long a round should be, and the file of its report.
pub(super) const VARIABLE: &str = "CBDR_ROUND";
const REPORT: &str = "round";

/// The iterations of a round if its short samples have one.
pub(super) const ITERATIONS: f64 = 300.0;

/// How often a round reads the clock, and the set-up of the only benchmark at most. Bencher repeats the
/// set-up for each sample.
const READINGS: u64 = 204;
const SET_UP: u64 = 36;

/// More benchmarks than a run has.
const MOST_BENCHMARKS: u64 = 1_000_000;

/// The most iterations of a short sample, and the shortest time of one, seconds: bencher rounds
/// down.
const MOST: f64 = 1e6;
const SHORTEST: f64 = 0.5e-9;

/// How the runs of a program are limited to one round of each benchmark.
#[derive(Clone, Debug)]
pub(crate) struct OneRound {
    /// The folder of the library.
    library: PathBuf,
    pub(super) report: PathBuf,
    /// What the user lets the program load first.
    others: Option<OsString>,
    /// How often the harness reads the clock before its first benchmark, and after the last.
    around: u64,
}

impl OneRound {
    /// Of a program that this command runs as it is, without a runner, which has a `folder` for its
    /// report. `None` if its rounds can't be limited, or the library can't be made in the folder
    /// `shared`, of which the path has to be one that loaders can read.
    pub(super) fn of(
        (harness, command): (&Harness, &Command),
        folder: &Path,
        shared: &Path,
        context: Context<'_>,
    ) -> Result<Option<Self>, Stop> {
        let around = match harness.dialect {
            Dialect::Libtest if harness.repeating().is_some() => 1,
            Dialect::Bencher => 0,
            _ => return Ok(None),
        };
        let is_readable = !shared.as_os_str().as_encoded_bytes().iter().any(|b| b": ".contains(b));
        let rustc = look_up("rustc".as_ref(), command.var("PATH"), &command.cwd);
        let rustc = rustc.ok().filter(|_| preload::IS_KNOWN && is_readable);
        let Some(rustc) = rustc else { return Ok(None) };
        let Ok(build) = LIBRARY.build(&rustc, command, shared) else { return Ok(None) };
        if let Some(build) = build
            && context.helper.run(&build, context.interrupt)?.check(&build).is_err()
        {
            return Ok(None);
        }
        let others = command.var(preload::VARIABLE).map(ToOwned::to_owned);
        let report = folder.join(REPORT);
        Ok(Some(OneRound { library: shared.to_owned(), report, others, around }))
    }

    /// Limits the runs of a command to a round that takes about this time, of iterations that take so
    /// many seconds, if that is known. Else each run chooses by its first one.
    /// More than so many benchmarks are not limited.
    pub(super) fn limit(
        &self,
        command: &mut Command,
        (time, iteration): (Duration, Option<f64>),
        benchmarks: u64,
    ) {
        let chosen = iteration.map_or(0, |seconds| {
            let fit = time.as_secs_f64() / (ITERATIONS * seconds.max(SHORTEST));
            fit.clamp(1.0, MOST) as u64
        });
        // As long for all lengths of runs, since it is part of the environment.
        let last = benchmarks.min(MOST_BENCHMARKS).saturating_mul(READINGS) + self.around;
        let time = time.as_nanos();
        let words = format!("{} {last:09} {chosen:07} {time:010} ", self.around);
        let mut value = OsString::from(words);
        value.push(&self.report);
        self.lift(command);
        command.set_var(VARIABLE, value);
        LIBRARY.load(command, &self.library);
    }

    /// Lets the runs of a command be as long as the harness makes them.
    pub(super) fn lift(&self, command: &mut Command) {
        for (name, value) in [(VARIABLE, None), (preload::VARIABLE, self.others.as_ref())] {
            command.env.retain(|(key, _)| key != name);
            command.env.extend(value.map(|value| (name.into(), value.clone())));
        }
    }

    /// Whether the latest run loaded the library.
    pub(super) fn is_loaded(&self) -> bool {
        self.report.is_file()
    }

    /// Whether the latest run measured one round of each of so many benchmarks. What is timed reads the
    /// clock itself if there are more readings than of a round and of the set-up of one benchmark.
    pub(super) fn is_kept(&self, benchmarks: usize) -> bool {
        let more = self.report().first().and_then(|readings| self.more(*readings, benchmarks));
        more.is_some_and(|more| more == 0 || benchmarks == 1 && more <= SET_UP)
    }

    /// The median times of an iteration of the benchmarks of the latest run, seconds, if their
    /// rounds are all that it measured; at most those of the first 4095.
    pub(super) fn medians(&self, benchmarks: usize) -> Vec<f64> {
        match self.report().as_slice() {
            [readings, medians @ ..] if self.more(*readings, benchmarks) == Some(0) => {
                medians.iter().map(|bits| 1e-9 * f64::from_bits(*bits)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// How many more readings these are than those of a round of so many benchmarks.
    fn more(&self, readings: u64, benchmarks: usize) -> Option<u64> {
        readings.checked_sub(2 * self.around + READINGS * benchmarks as u64)
    }

    /// What the library has reported of the latest run.
    fn report(&self) -> Vec<u64> {
        let bytes = std::fs::read(&self.report).unwrap_or_default();
        let words = bytes.chunks_exact(8).map(TryInto::try_into);
        words.map_while(Result::ok).map(u64::from_ne_bytes).collect()
    }
}
