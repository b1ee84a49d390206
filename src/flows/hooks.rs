//! The user's commands around all runs.

use crate::error::{Error, Failure};
use crate::exec::execution::{Context, Hook, RunHooks};
use crate::exec::process::Interrupt;
use crate::settings::options::Benchmark;

/// Calls a function between the user's set-up and cleanup commands of these benchmarks. Cleanup
/// happens even after an error or an interrupt, for all of them even if it fails for one.
pub(super) fn with_hooks<T>(
    hooks: &[(RunHooks, &Benchmark)],
    context: Context<'_>,
    run: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let each = |hook, context| hooks.iter().map(move |(own, of)| own.run(hook, of, context));
    let ran = each(Hook::Setup, context).collect::<Result<(), Error>>().and_then(|()| run());
    let never = Interrupt::never().map_err(|error| {
        let step = "run it again; if it fails again, please report it";
        Failure::new("could not listen for signals", step).caused_by(error)
    })?;
    let cleaned = each(Hook::Cleanup, Context { interrupt: &never, ..context });
    let cleaned = cleaned.fold(Ok(()), Result::and);
    let ran = ran?;
    cleaned?;
    Ok(ran)
}
