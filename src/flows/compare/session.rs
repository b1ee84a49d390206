//! What the steps of a comparison share.

use super::harnesses;
use super::options::Call;
use super::program::ComparedProgram;
use crate::engine::Reporter;
use crate::error::Error;
use crate::flows::error::no_filter;
use crate::flows::hooks::with_hooks;
use crate::model::{BenchmarkResult, Division, Explanation, Gate, Sampled, StoppedBy};
use crate::workspace::Preparation;

/// The programs of a comparison, and to whom is reported what happens.
pub(super) struct Session<'s, 'a> {
    pub(super) call: Call<'a>,
    pub(super) preparation: &'a Preparation,
    pub(super) programs: Vec<ComparedProgram<'a>>,
    pub(super) reporter: &'s mut (dyn Reporter + 's),
    pub(super) findings: Findings,
}

/// What is found out besides the results.
#[derive(Default)]
pub(super) struct Findings {
    /// The gates, each with the name of its benchmark, except those of metrics known without a
    /// run.
    pub(super) gates: Vec<(String, Gate)>,
    pub(super) explanations: Vec<Explanation>,
    /// How the benchmarks are divided among several machines, if they are.
    pub(super) division: Option<Division>,
    /// Seconds from the start to the first measured pair.
    pub(super) prepare_seconds: f64,
}

impl<'s, 'a> Session<'s, 'a> {
    /// A session of these programs.
    pub(super) fn new(
        call: Call<'a>,
        preparation: &'a Preparation,
        programs: Vec<ComparedProgram<'a>>,
        reporter: &'s mut (dyn Reporter + 's),
    ) -> Self {
        Session { call, preparation, programs, reporter, findings: Findings::default() }
    }

    /// A session of the programs that can be run. Reports what is special about their harnesses.
    pub(super) fn of(
        call: Call<'a>,
        preparation: &'a Preparation,
        reporter: &'s mut (dyn Reporter + 's),
    ) -> Result<Self, Error> {
        let several = preparation.benchmarks.len() > 1;
        let mut programs = Vec::new();
        for number in 0..preparation.benchmarks.len() {
            if let Some(program) = ComparedProgram::of(preparation, number, call)? {
                let dialects = program.sides.as_ref().map(|side| side.harness.dialect);
                let notices = harnesses::notices(program.prepared, dialects);
                notices.into_iter().for_each(|notice| reporter.notice(notice));
                programs.push(program);
            }
        }
        // A program that takes no filter is selected by its name, if there are others.
        let takes =
            |one: &ComparedProgram<'_>| one.dialect().filters() || several && !one.is_left_out();
        match &call.options.request.filter {
            Some(filter) if !programs.is_empty() && !programs.iter().any(takes) => {
                Err(no_filter(filter).into())
            }
            _ => Ok(Session::new(call, preparation, programs, reporter)),
        }
    }
}

impl Session<'_, '_> {
    /// Ends the measurements without sampling.
    pub(super) fn unsampled(&mut self, stopped_by: StoppedBy) -> Result<Option<Sampled>, Error> {
        self.findings.prepare_seconds = self.seconds();
        Ok(Some(Sampled::nothing(stopped_by)))
    }

    /// Calls a function between the user's set-up and cleanup commands of all programs.
    pub(super) fn with_hooks<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let sides = self.programs.iter().flat_map(|one| {
            [&one.sides.base, &one.sides.head].map(|side| (side.hooks.clone(), one.benchmark()))
        });
        let hooks: Vec<_> = sides.collect();
        with_hooks(&hooks, self.call.context, || run(self))
    }

    /// Seconds since the start.
    pub(super) fn seconds(&self) -> f64 {
        self.call.start.elapsed().as_secs_f64()
    }

    /// The results of the programs that were measured.
    pub(super) fn results(&self) -> impl Iterator<Item = &BenchmarkResult> {
        self.programs.iter().flat_map(|program| &program.found.results)
    }

    /// Reports what the user should know about the runs so far.
    pub(super) fn report_runs(&mut self) {
        for program in &mut self.programs {
            let notices = program.execution.notices.drain(..);
            notices.for_each(|notice| self.reporter.notice(notice));
        }
    }
}
