//! From what a run left behind to samples.

use std::path::PathBuf;

use super::{Bench, Case, Reported};
use crate::engine::experiment::Samples;
use crate::error::{Error, Kind};
use crate::exec::harness::{self, Harness, Reading};
use crate::exec::meter;
use crate::exec::process::stderr_tail;
use crate::exec::program::Program;
use crate::model::dialect::Dialect;
use crate::model::row::Sample;
use crate::model::side::Side;
use crate::model::target::TargetKind;
use crate::settings::options::{Benchmark, Subject};

impl Bench<'_> {
    /// The samples of the cases in what a side reported; all that are wanted
    /// have to be there.
    pub(super) fn samples(
        &self,
        wanted: &[usize],
        side: Side,
        reported: &Reported,
    ) -> Result<Samples, Error> {
        let mut samples = Samples::new();
        for (number, case) in self.cases.iter().enumerate() {
            let found = reported.iter().find(|(name, _)| *name == case.name);
            match found {
                Some((_, sample)) => samples.push((number, self.checked(case, sample, side)?)),
                None if wanted.contains(&number) => {
                    let name = case.name.as_deref().unwrap_or(&self.benchmark.name);
                    return Err(self.omitted(side, format!("the benchmark `{name}`")));
                }
                None => {}
            }
        }
        Ok(samples)
    }

    /// A case's sample with the metrics that it had in the warm-up.
    pub(super) fn checked(
        &self,
        case: &Case,
        sample: &Sample,
        side: Side,
    ) -> Result<Sample, Error> {
        let mut checked = Sample::new();
        let of = |metric: &str| match &case.name {
            Some(name) => format!("`{metric}` of `{name}`"),
            None => format!("`{metric}`"),
        };
        for metric in &case.metrics {
            let Some(value) = sample.get(metric) else {
                if meter::pass(metric).is_some_and(|pass| self.done.contains(&pass)) {
                    continue;
                }
                return Err(self.omitted(side, of(metric)));
            };
            if value < 0.0 && case.gates.contains(metric) {
                let why = format!("{} is {value}, and what gates is not below zero", of(metric));
                return Err(self.unreadable(side, harness::Error::Unreadable(why)));
            }
            checked.set(metric, value);
        }
        Ok(checked)
    }

    pub(super) fn omitted(&self, side: Side, what: String) -> Error {
        let benchmark = self.benchmark.name.clone();
        Kind::Omitted { side, benchmark, what }.into()
    }

    pub(super) fn unreadable(&self, side: Side, source: harness::Error) -> Error {
        let (benchmark, command) =
            (self.benchmark.name.clone(), self.callers[side].command.shown());
        let output = stderr_tail(&self.callers[side].place.stdout);
        let harness = self.callers[side].harness.dialect.name();
        Kind::Output { side, benchmark, command, harness, output, source }.into()
    }

    /// What a run of a side reported, of which `process` is what was measured
    /// from outside.
    pub(super) fn read(&self, side: Side, process: &Sample) -> Result<Reported, Error> {
        let caller = &self.callers[side];
        let read = caller.harness.read(&caller.place);
        Ok(match read.map_err(|error| self.unreadable(side, error))? {
            Reading::Process(own) => vec![(None, over(own, process))],
            Reading::Benchmarks(all) => {
                all.into_iter().map(|(name, sample)| (Some(name), sample)).collect()
            }
        })
    }
}

/// What a process measured itself wins over what was measured from outside.
fn over(own: Sample, process: &Sample) -> Sample {
    let mut both = Sample::new();
    for (name, value) in process.iter() {
        both.set(name, own.get(name).unwrap_or(value));
    }
    for (name, value) in own.iter() {
        both.set(name, value);
    }
    both
}

/// How a side is called: as was asked for, else as the executable of a bench
/// target shows.
pub(super) fn harness_of(benchmark: &Benchmark, program: &Program) -> Result<Harness, Error> {
    let is_bench = matches!(&benchmark.subject,
        Subject::Target(target, _) if target.kind == TargetKind::Bench);
    let dialect = match benchmark.harness {
        None if !is_bench => Some(Dialect::Plain),
        asked => asked,
    };
    let read = |path: &PathBuf| fs_err::read(path).map_err(Error::io("read", path));
    let executable = match (dialect, &program.executable) {
        (Some(Dialect::Plain | Dialect::Json), _) | (_, None) => None,
        (_, Some(path)) => Some(read(path)?),
    };
    Ok(match (dialect, executable) {
        (Some(dialect), executable) => Harness::new(dialect, executable.as_deref()),
        (None, Some(executable)) => Harness::detect(&executable),
        (None, None) => Harness::new(Dialect::Plain, None),
    })
}
