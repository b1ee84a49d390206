//! The program of a benchmark on one side: what measures a single commit.

use std::path::Path;

use crate::error::{Error, Kind};
use crate::exec::execution::{Context, Execution, Hook, SideProgram, Stop};
use crate::exec::process::Interrupt;
use crate::exec::program::Program;
use crate::model::dialect::Dialect;
use crate::model::row::Reading;
use crate::model::side::Side;
use crate::settings::options::Benchmark;

/// The program of a benchmark on one side.
pub(super) struct OneSided<'a> {
    pub(super) execution: Execution<'a>,
    pub(super) program: SideProgram,
    /// What the harness is told to run.
    filter: Option<&'a str>,
}

impl<'a> OneSided<'a> {
    /// `number` tells its files in `scratch` from those of others.
    pub(super) fn new(
        benchmark: &'a Benchmark,
        program: &Program,
        scratch: &Path,
        number: usize,
        filter: Option<&'a str>,
    ) -> Result<Self, Error> {
        let program = SideProgram::new(benchmark, program, Side::Head, scratch, number)?;
        Ok(OneSided { execution: Execution::new(benchmark, &program)?, program, filter })
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.program.harness.dialect
    }

    /// Runs the program once.
    pub(super) fn run(&mut self, context: Context<'_>) -> Result<Vec<Reading>, Error> {
        let OneSided { execution, program, filter } = self;
        execution.warm_up(program, *filter, context).map_err(Stop::into_error)
    }
}

/// Does something with programs between the user's commands for the first and the last
/// run. The last ones run also after an error or an interrupt.
pub(super) fn with_hooks<'a, T>(
    programs: &mut [OneSided<'a>],
    context: Context<'_>,
    run: impl FnOnce(&mut [OneSided<'a>]) -> Result<T, Error>,
) -> Result<T, Error> {
    let hook = |programs: &[OneSided<'a>], hook, context| {
        programs.iter().try_for_each(|one| one.program.hook(hook, one.execution.benchmark, context))
    };
    let ran = hook(programs, Hook::Setup, context).and_then(|()| run(programs));
    let never = Interrupt::never().map_err(Kind::Listen)?;
    let cleaned = hook(programs, Hook::Cleanup, Context { interrupt: &never, ..context });
    let ran = ran?;
    cleaned?;
    Ok(ran)
}
