//! `cargo cbdr compare --aa --repeat N`: the whole gate, many times on no
//! change at all.

use cargo_cbdr::exec::process::{Helper, Interrupt};
use cargo_cbdr::model::outcome::StoppedBy;
use cargo_cbdr::{Options, Report};

use super::observe::observed;
use crate::cli::Format;
use crate::exit::Exit;
use crate::report;
use crate::ui::{Failure, Ui, text};

/// The seeds stay below this, so that JSON can hold them.
const SEEDS: u64 = 1 << 53;

/// Makes the comparison `times` times, each with the next seed. A regression
/// is no failure here: it is what is counted.
pub(crate) fn run(
    times: u64,
    mut options: Options,
    format: Format,
    helper: &Helper,
    interrupt: &Interrupt,
    mut ui: Ui,
) -> Result<Exit, Failure> {
    if !matches!(format, Format::Human | Format::Json) {
        let what = "many comparisons are printed as `--format human` or `json` only";
        return Err(Failure::Arguments(what.to_owned()));
    }
    let mut reports: Vec<Report> = Vec::new();
    let mut stopped = false;
    let mut failed = Ok(());
    for time in 1..=times {
        let outcome = observed(&options, None, None, helper, interrupt, &mut ui);
        ui.end();
        match outcome {
            Err(Failure::Library(error)) if error.is_interrupt() => stopped = true,
            Err(failure) => failed = Err(failure),
            Ok((report, kept)) => {
                failed = kept;
                stopped = report.sampled.stopped_by == StoppedBy::Interrupt;
                if !stopped {
                    let verdict = text::outcome(&report);
                    ui.status("Compared", &format!("{time} of {times}: {verdict}"));
                    reports.push(report);
                }
            }
        }
        if stopped || failed.is_err() {
            break;
        }
        options.seed = (options.seed + 1) % SEEDS;
        // From now on all is built.
        ui.show_live_only();
    }
    // What was done counts, whatever became of the rest.
    let printed = match format {
        _ if reports.is_empty() && failed.is_err() => Ok(()),
        Format::Json => report::json::print_all(&reports),
        _ => report::repeated::print(&reports),
    };
    if stopped {
        return Ok(Exit::interrupted(interrupt));
    }
    failed?;
    report::outputs::printed(printed)?;
    Ok(Exit::Success)
}
