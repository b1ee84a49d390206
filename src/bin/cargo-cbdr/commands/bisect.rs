//! `cargo cbdr bisect`.

use cargo_cbdr::Error;
use cargo_cbdr::engine::event::Event;
use cargo_cbdr::exec::execution::Context;
use cargo_cbdr::flows::bisect::{BisectEvent, BisectOptions, bisect};
use cargo_cbdr::workspace::Request;
use cargo_cbdr::workspace::git::abbreviated;
use cargo_cbdr::workspace::git::line::Parents;

use super::{random_seed, request};
use crate::cli::Bisect;
use crate::exit::{CommandResult, ExitKind};
use crate::render::bisect::{answer, described, json, tried};
use crate::render::show;
use crate::ui::{Ui, text};

/// Searches for the commit, as requested by the arguments.
pub(crate) fn run(args: &Bisect, context: Context<'_>) -> CommandResult {
    let request = request(args.settings.0.clone())?;
    let options = BisectOptions {
        request: Request { filter: args.filter.filter.clone(), ..request },
        good: args.good.clone(),
        bad: args.bad.clone(),
        parents: if args.all_parents { Parents::All } else { Parents::First },
        restart: args.restart,
        seed: args.seed.seed.unwrap_or_else(random_seed),
    };
    let mut ui = Ui::new();
    let outcome = bisect(&options, context, &mut |event| show_event(&mut ui, event));
    ui.end();
    if outcome.as_ref().is_err_and(Error::is_interrupt) {
        let what = "the verdicts so far are kept; the same command resumes from there";
        ui.status("Interrupted", what);
    }
    let report = outcome?;
    show(args.format, || answer(&report), || json(&report))?;
    Ok(ExitKind::of_search(report.verdict, &report.fail_on))
}

fn show_event(ui: &mut Ui, event: BisectEvent<'_>) {
    match event {
        // The search itself reports which commits it compares.
        BisectEvent::Comparing(Event::Sides(_) | Event::Prepared { .. } | Event::Sampling(_)) => {}
        BisectEvent::Comparing(event) => ui.show(&event),
        BisectEvent::Begins { commits, known } => {
            let commits = text::count(commits as u64, "commit");
            let verdicts = text::count(known as u64, "verdict");
            match known {
                0 => ui.status("Bisecting", &commits),
                _ => ui.status("Resuming", &format!("{commits}, {verdicts} from before")),
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
