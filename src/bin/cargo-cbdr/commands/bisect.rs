//! `cargo cbdr bisect`.

use cargo_cbdr::exec::process::{Helper, Interrupt};
use cargo_cbdr::flows::bisect::{self, Options, Progress};
use cargo_cbdr::flows::event::Event;
use cargo_cbdr::settings::table::Table;
use cargo_cbdr::workspace;
use cargo_cbdr::workspace::git::line::Parents;

use super::observe::random_seed;
use super::request::request;
use crate::cli::{Bisect, Printed};
use crate::exit::Exit;
use crate::render;
use crate::ui::{Failure, Ui, text};

/// Searches for the commit that the arguments ask for.
pub(crate) fn run(args: &Bisect, helper: &Helper, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let on_inconclusive = args.on_inconclusive.clone();
    let flags = Table { on_inconclusive, ..args.settings.0.clone() };
    let options = Options {
        request: request(flags, None, args.filter.filter.clone())?,
        good: args.good.clone(),
        bad: args.bad.clone(),
        parents: if args.all_parents { Parents::All } else { Parents::First },
        restart: args.restart,
        seed: args.seed.seed.unwrap_or_else(random_seed),
    };
    // Both the comparisons and the search speak, in turn.
    let ui = std::cell::RefCell::new(Ui::new());
    let outcome = bisect::bisect(
        &options,
        helper,
        interrupt,
        &mut |event: Event<'_>| {
            use workspace::Event::{Prepared, Sides};
            if !matches!(event, Event::Workspace(Sides(_) | Prepared { .. }) | Event::Sampling(_)) {
                ui.borrow_mut().show(&event);
            }
        },
        &mut |progress: Progress<'_>| {
            let mut ui = ui.borrow_mut();
            ui.end();
            let (verb, thing) = text::bisecting(&progress);
            ui.status(verb, &thing);
        },
    );
    let mut ui = ui.into_inner();
    ui.end();
    let report = match outcome {
        Err(error) if error.is_interrupt() => {
            ui.status("Interrupted", "what was found is kept; the same command goes on from there");
            return Ok(Exit::interrupted(interrupt));
        }
        outcome => outcome?,
    };
    match args.format {
        Printed::Human => render::outputs::printed(render::bisect::print(&report))?,
        Printed::Json => render::outputs::printed(render::bisect::print_json(&report))?,
    }
    Ok(Exit::of_search(report.verdict, report.on_inconclusive))
}
