//! What a program measures, where a run of all its benchmarks takes long.

use std::time::{Duration, Instant};

use super::measurement::Execution;
use super::side::SideProgram;
use super::stop::Stop;
use crate::exec::harness;
use crate::exec::meter::Pass;
use crate::model::{Reading, RunLength};

/// How long the first benchmark of a list may take, at least.
const LEAST_ALLOWED: Duration = Duration::from_millis(500);

impl Execution<'_> {
    /// What all benchmarks that match the filter measure, and the time of such a run, seconds.
    ///
    /// A run that takes longer than `patience` is stopped if the harness can list its benchmarks:
    /// then the first of them stands for all. In Criterion's benchmarks, the code can override
    /// short times, and libtest has none, so that hundreds of them take minutes. Once a run was
    /// stopped there is no patience with others: those of the other side take as long.
    pub(crate) fn discover(
        &mut self,
        program: &mut SideProgram,
        length: RunLength,
        filter: Option<&str>,
        patience: &mut Duration,
    ) -> Result<(Vec<Reading>, f64), Stop> {
        let (begin, allowed) = (Instant::now(), *patience);
        let deadline = begin.checked_add(allowed).filter(|_| self.can_list(program));
        if !patience.is_zero() {
            match self.run_all(program, length, filter, deadline) {
                Err(Stop::OutOfTime) => *patience = Duration::ZERO,
                readings => return Ok((readings?, begin.elapsed().as_secs_f64())),
            }
        }
        if let Some(found) = self.first_of_list(program, length, filter, allowed)? {
            return Ok(found);
        }
        let begin = Instant::now();
        let readings = self.run_all(program, length, filter, None)?;
        Ok((readings, begin.elapsed().as_secs_f64()))
    }

    /// The readings of the first benchmark, with the names of all that are listed, and the time
    /// that they take if each takes as long. `None` if the list does not name them all. If the first
    /// one takes longer than allowed, and it is known what it measures, its time is 0.
    fn first_of_list(
        &mut self,
        program: &mut SideProgram,
        length: RunLength,
        filter: Option<&str>,
        allowed: Duration,
    ) -> Result<Option<(Vec<Reading>, f64)>, Stop> {
        let Some(names) = self.list(program, filter)? else { return Ok(None) };
        let only = names.first().and_then(|first| program.only(&[first]));
        let Some(only) = only else { return Ok(None) };
        let begin = Instant::now();
        program.select(length, only);
        let time = program.harness.listed_time();
        let deadline = time.as_ref().and_then(|_| begin.checked_add(allowed.max(LEAST_ALLOWED)));
        let values = match (self.run_selected(program, deadline), time) {
            (Err(Stop::OutOfTime), Some(time)) => time,
            (readings, _) => match readings?.as_slice() {
                [first] if first.benchmark.as_ref() == names.first() => first.values.clone(),
                _ => return Ok(None),
            },
        };
        let seconds = begin.elapsed().as_secs_f64() * names.len() as f64;
        self.is_listed = true;
        let named = |name| Reading { benchmark: Some(name), values: values.clone(), amount: None };
        Ok(Some((names.into_iter().map(named).collect(), seconds)))
    }

    fn can_list(&self, program: &SideProgram) -> bool {
        // Another kind of run may find something else in each of them.
        let is_plain = self.meters.passes() == [Pass::Plain];
        is_plain && self.benchmark.args.is_empty() && program.harness.can_list()
    }

    /// The names of the benchmarks that match the filter, as the harness lists them. `None` if it
    /// can't, or does not name them all; what knows no lists names none.
    pub(crate) fn list(
        &mut self,
        program: &mut SideProgram,
        filter: Option<&str>,
    ) -> Result<Option<Vec<String>>, Stop> {
        if !self.can_list(program) {
            return Ok(None);
        }
        let names = self.list_with(program, filter, &[])?;
        let Some(mut names) = names.filter(|names| !names.is_empty()) else { return Ok(None) };
        if program.harness.lists_ignored() {
            let ignored = self.list_with(program, filter, &[harness::IGNORED])?;
            names.retain(|name| ignored.iter().flatten().all(|ignored| ignored != name));
        }
        Ok(Some(names))
    }

    fn list_with(
        &mut self,
        program: &mut SideProgram,
        filter: Option<&str>,
        flags: &[&str],
    ) -> Result<Option<Vec<String>>, Stop> {
        program.select_list(flags, program.all(filter));
        self.run_process(Pass::Plain, program, None)?;
        program.listed().map_err(Stop::from)
    }
}
