//! `cargo cbdr compare --aa --repeat N`: the complete gate, many times without
//! any change.

use cargo_cbdr::Options;
use cargo_cbdr::exec::execution::Context;
use cargo_cbdr::model::outcome::{Outcome, StoppedBy};

use super::observe::{KeepRuns, Observed, observed};
use crate::cli::Format;
use crate::exit::{CommandResult, ExitKind};
use crate::render::{self, answer::answer, show};
use crate::ui::{Failure, Ui};

/// The seeds stay below this, so that JSON can represent them.
const SEEDS: u64 = 1 << 53;

/// Runs the comparison `times` times, each with the next seed. Regressions are
/// counted, and are not a failure.
pub(crate) fn run(
    times: u64,
    mut options: Options,
    format: Format,
    context: Context<'_>,
    mut ui: Ui,
) -> CommandResult {
    let format = format.printed("--repeat")?;
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut stopped = false;
    let mut failed = Ok(());
    for time in 1..=times {
        let result = observed(&options, KeepRuns::default(), context, &mut ui);
        ui.end();
        match result {
            Err(Failure::Library(error)) if error.is_interrupt() => stopped = true,
            Err(failure) => failed = Err(failure),
            Ok(Observed { outcome, written }) => {
                failed = written;
                stopped = outcome.stopped_by == StoppedBy::Interrupt;
                if !stopped {
                    ui.status("Compared", &format!("{time} of {times}: {}", answer(&outcome)));
                    outcomes.push(outcome);
                }
            }
        }
        if stopped || failed.is_err() {
            break;
        }
        options.seed = (options.seed + 1) % SEEDS;
        // The next comparisons find everything built.
        ui.show_live_only();
    }
    // The finished comparisons count, even if a later one failed.
    let printed = match outcomes.is_empty() && failed.is_err() {
        true => Ok(()),
        false => {
            let json = || render::json::repeated(&outcomes);
            show(format, |out| render::human::repeated(out, &outcomes), json)
        }
    };
    if stopped {
        return Ok(ExitKind::interrupted(context.interrupt));
    }
    failed?;
    printed?;
    Ok(ExitKind::Success)
}
