//! The user's commands around all runs.

use crate::error::Error;
use crate::exec::execution::{Context, Hook};
use crate::exec::process::Interrupt;
use crate::flows::error::FlowError;

/// Calls a function with programs, between the user's set-up and cleanup commands, which `hook`
/// runs for one program. Cleanup happens even after an error or an interrupt, for all programs
/// even if it fails for one.
pub(super) fn with_hooks<P, T>(
    programs: &mut [P],
    hook: impl Fn(&P, Hook, Context<'_>) -> Result<(), Error>,
    context: Context<'_>,
    run: impl FnOnce(&mut [P]) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut set_up = programs.iter().map(|program| hook(program, Hook::Setup, context));
    let ran = set_up.try_for_each(|ran| ran).and_then(|()| run(programs));
    let never = Interrupt::never().map_err(FlowError::Listen)?;
    let context = Context { interrupt: &never, ..context };
    let cleaned = programs.iter().map(|program| hook(program, Hook::Cleanup, context));
    let cleaned = cleaned.fold(Ok(()), Result::and);
    let ran = ran?;
    cleaned?;
    Ok(ran)
}
