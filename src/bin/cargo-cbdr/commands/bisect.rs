//! `cargo cbdr bisect`.

use cargo_cbdr::Error;
use cargo_cbdr::engine::event::Event;
use cargo_cbdr::exec::execution::Context;
use cargo_cbdr::flows::bisect::{BisectEvent, BisectOptions, bisect};
use cargo_cbdr::settings::table::Table;
use cargo_cbdr::workspace::git::abbreviated;
use cargo_cbdr::workspace::git::line::Parents;

use super::observe::random_seed;
use super::request::request;
use crate::cli::{Bisect, Printed};
use crate::exit::Exit;
use crate::render::bisect::{described, print, print_json, tried};
use crate::render::outputs::printed;
use crate::ui::{Failure, Ui, text};

/// Searches for the commit, as requested by the arguments.
pub(crate) fn run(args: &Bisect, context: Context<'_>) -> Result<Exit, Failure> {
    let on_inconclusive = args.on_inconclusive.clone();
    let flags = Table { on_inconclusive, ..args.settings.0.clone() };
    let options = BisectOptions {
        request: request(flags, None, args.filter.filter.clone())?,
        good: args.good.clone(),
        bad: args.bad.clone(),
        parents: if args.all_parents { Parents::All } else { Parents::First },
        restart: args.restart,
        seed: args.seed.seed.unwrap_or_else(random_seed),
    };
    let mut ui = Ui::new();
    let outcome = bisect(&options, context, &mut |event| show(&mut ui, event));
    ui.end();
    if outcome.as_ref().is_err_and(Error::is_interrupt) {
        ui.status(
            "Interrupted",
            "the verdicts so far are kept; the same command resumes from there",
        );
    }
    let report = outcome?;
    printed(match args.format {
        Printed::Human => print(&report),
        Printed::Json => print_json(&report),
    })?;
    Ok(Exit::of_search(report.verdict, report.on_inconclusive))
}

fn show(ui: &mut Ui, event: BisectEvent<'_>) {
    match event {
        // The search itself reports which commits it compares.
        BisectEvent::Comparing(Event::Sides(_) | Event::Prepared { .. } | Event::Sampling(_)) => {}
        BisectEvent::Comparing(event) => ui.show(&event),
        BisectEvent::Begins { commits, known } => {
            let commits = text::count(commits as u64, "commit");
            if known == 0 {
                ui.status("Bisecting", &commits);
            } else {
                let verdicts = text::count(known as u64, "verdict");
                ui.status("Resuming", &format!("{commits}, {verdicts} from before"));
            }
        }
        BisectEvent::Trying { commit, suspects, tries_left } => {
            let suspects = text::count(suspects as u64, "suspect");
            let tries = text::count(tries_left.into(), "halving");
            ui.status("Trying", &format!("{}; {suspects}, {tries} left", described(commit)));
        }
        BisectEvent::Tried(commit, step) => {
            ui.end();
            ui.status("Tried", &format!("{}: {}", abbreviated(&commit.id), tried(step)));
        }
    }
}
