//! `cargo cbdr history`.

use cargo_cbdr::engine::event::Event;
use cargo_cbdr::exec::execution::Context;
use cargo_cbdr::flows::history::note::SkippedLines;
use cargo_cbdr::flows::history::{self, check, list, record, sync};
use cargo_cbdr::settings::table::Table;
use cargo_cbdr::workspace::Request;
use cargo_cbdr::workspace::git::abbreviated;
use cargo_cbdr::workspace::git::line::Parents;
use cargo_cbdr::workspace::git::notes::Merged;

use super::request;
use crate::cli;
use crate::exit::{CommandResult, ExitKind};
use crate::failure::Failure;
use crate::output::OutputFile;
use crate::page;
use crate::render::{history as render, history_export, print_text, show};
use crate::ui::{Ui, text};

/// Runs the subcommand of the arguments.
pub(crate) fn run(args: &cli::History, context: Context<'_>) -> CommandResult {
    match args {
        cli::History::Record(args) => record(args, context),
        cli::History::Check(args) => check(args, context),
        cli::History::List(args) => list(args, context),
        cli::History::Annotate(args) => annotate(args),
        cli::History::Export(args) => export(args),
        cli::History::Push(args) => push(args, context),
        cli::History::Pull(args) => pull(args, context),
    }
}

fn parents(all: bool) -> Parents {
    if all { Parents::All } else { Parents::First }
}

fn record(args: &cli::RecordArgs, context: Context<'_>) -> CommandResult {
    let flags =
        Table { metrics: args.metric.clone(), show: args.show.clone(), ..args.settings.0.clone() };
    let filter = args.filter.filter.clone();
    let request = Request { head: args.rev.clone(), filter, ..request(flags)? };
    let options = record::RecordOptions { request, runs: args.runs };
    let mut ui = Ui::new();
    let outcome = record::record(&options, context, &mut |event| match event {
        Event::Round { number, .. } => {
            ui.step("Measuring", "rounds", Some((number as usize, args.runs as usize)));
        }
        event => ui.show(&event),
    });
    ui.end();
    let recorded = outcome?;
    let results = text::count(recorded.results.len() as u64, "result");
    ui.status("Recorded", &format!("{results} of {}", text::revision(&recorded.revision)));
    let json = || render::recorded_json(&recorded);
    show(args.format, || render::recorded(&recorded), json)?;
    let has_failed = recorded.results.iter().any(|result| result.error.is_some());
    Ok(if has_failed { ExitKind::Failed } else { ExitKind::Success })
}

fn check(args: &cli::Check, context: Context<'_>) -> CommandResult {
    let flags =
        Table { base: args.base.clone(), metrics: args.metric.clone(), ..args.failure.0.clone() };
    let options = check::CheckOptions {
        request: Request { head: args.rev.clone(), ..request(flags)? },
        baseline: args.baseline.clone(),
        z_threshold: args.z_threshold,
        min_history: args.min_history as usize,
        parents: parents(args.all_parents),
        all_machines: args.all_machines,
    };
    let checked = check::check(&options, context)?;
    warn_of_skipped(&checked.skipped);
    show(args.format, || render::check(&checked), || render::check_json(&checked))?;
    Ok(ExitKind::of_check(&checked))
}

fn list(args: &cli::List, context: Context<'_>) -> CommandResult {
    let flags = Table { metrics: args.metric.clone(), ..Table::default() };
    let options = list::ListOptions {
        request: Request { head: args.rev.clone(), ..request(flags)? },
        commits: args.commits as usize,
        parents: parents(args.all_parents),
        benchmark: args.benchmark.clone(),
    };
    let file = |path| Ok::<_, Failure>((path, OutputFile::new(path, context.interrupt)?));
    let html = args.html.as_deref().map(file).transpose()?;
    let listing = list::list(&options)?;
    warn_of_skipped(&listing.skipped);
    match html {
        Some((path, file)) => {
            file.write(&page::history::page(&listing))?;
            Ui::new().status("Wrote", &text::path(path));
        }
        None => print_text(&render::list(&listing))?,
    }
    Ok(ExitKind::Success)
}

fn annotate(args: &cli::Annotate) -> CommandResult {
    let request = request(Table::default())?;
    let (verb, what) = match &args.change {
        Some(why) => {
            let commit = history::annotate(&request, &args.rev, why)?;
            ("Annotated", format!("{}: {}", abbreviated(&commit), why.trim()))
        }
        None => {
            let (commit, count) = history::remove_annotations(&request, &args.rev)?;
            let count = text::count(count as u64, "annotation");
            ("Removed", format!("{count} of {}", abbreviated(&commit)))
        }
    };
    Ui::new().status(verb, &what);
    Ok(ExitKind::Success)
}

fn export(args: &cli::Export) -> CommandResult {
    let (notes, skipped) = history::all_notes(&request(Table::default())?)?;
    warn_of_skipped(&skipped);
    history_export::print(&notes, args.format)?;
    Ok(ExitKind::Success)
}

fn push(args: &cli::Sync, context: Context<'_>) -> CommandResult {
    let pushed = sync::push(&request(Table::default())?, &args.remote, context)?;
    let had_all = if pushed.is_pushed { "" } else { ", which already had all of them" };
    print_merged("Pushed", &format!("notes to {}{had_all}", args.remote), pushed.merged);
    Ok(ExitKind::Success)
}

fn pull(args: &cli::Sync, context: Context<'_>) -> CommandResult {
    let merged = sync::pull(&request(Table::default())?, &args.remote, context)?;
    print_merged("Pulled", &format!("notes from {}", args.remote), merged);
    Ok(ExitKind::Success)
}

fn print_merged(verb: &str, what: &str, merged: Merged) {
    let mut ui = Ui::new();
    let lines = text::count(merged.lines as u64, "new line");
    ui.status(verb, &format!("{what}; {lines} from there"));
    if merged.skipped > 0 {
        let notes = text::count(merged.skipped as u64, "note");
        ui.warn(&format!("{notes} too large to be merged, left as they were"));
    }
}

fn warn_of_skipped(skipped: &SkippedLines) {
    let Some((commit, why)) = &skipped.example else { return };
    let lines = text::count(skipped.count as u64, "line");
    let commit = abbreviated(commit);
    Ui::new().warn(&format!("{lines} of the notes skipped; one, of commit {commit}: {why}"));
}
