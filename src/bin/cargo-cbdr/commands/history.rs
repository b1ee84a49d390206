//! `cargo cbdr history`.

use cargo_cbdr::exec::process::{Helper, Interrupt};
use cargo_cbdr::flows::event::Event;
use cargo_cbdr::flows::history::{self, Skipped, check, record, series, sync};
use cargo_cbdr::settings::table::Table;
use cargo_cbdr::workspace;
use cargo_cbdr::workspace::git::abbreviated;
use cargo_cbdr::workspace::git::line::Parents;

use super::request::request;
use crate::cli::{self, Printed};
use crate::exit::Exit;
use crate::output::OutputFile;
use crate::render;
use crate::render::outputs::printed;
use crate::ui::{Failure, Ui, text};

/// Does what the arguments ask for.
pub(crate) fn run(
    args: &cli::History,
    helper: &Helper,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    match args {
        cli::History::Record(args) => self::record(args, helper, interrupt),
        cli::History::Check(args) => self::check(args, helper, interrupt),
        cli::History::List(args) => list(args, interrupt),
        cli::History::Annotate(args) => annotate(args),
        cli::History::Export(args) => export(args),
        cli::History::Push(args) => exchange("Pushed", args, sync::push, helper, interrupt),
        cli::History::Pull(args) => exchange("Pulled", args, sync::pull, helper, interrupt),
    }
}

fn parents(all: bool) -> Parents {
    if all { Parents::All } else { Parents::First }
}

fn record(args: &cli::Record, helper: &Helper, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let (metrics, show) = (args.metric.clone(), args.show.clone());
    let flags = Table { metrics, show, ..args.settings.0.clone() };
    let request = request(flags, args.rev.clone(), args.filter.filter.clone())?;
    let options = record::Options { request, runs: args.runs };
    let mut ui = Ui::new();
    let outcome =
        record::record(&options, helper, interrupt, &mut |event: Event<'_>| match event {
            Event::Round { number, .. } => ui.rounds(number, u64::from(args.runs)),
            Event::Workspace(workspace::Event::Prepared { seconds, .. }) => {
                ui.status("Prepared", &format!("in {}", text::seconds(seconds)))
            }
            event => ui.show(&event),
        });
    ui.end();
    let recorded = outcome?;
    let failed = recorded.results.iter().filter(|result| result.error.is_some()).count();
    ui.status("Recorded", &text::recorded(&recorded));
    match args.format {
        Printed::Human => printed(render::history::print_recorded(&recorded))?,
        Printed::Json => printed(render::history::print_recorded_json(&recorded))?,
    }
    Ok(if failed > 0 { Exit::Failed } else { Exit::Success })
}

fn check(args: &cli::Check, helper: &Helper, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let flags = Table {
        base: args.base.clone(),
        metrics: args.metric.clone(),
        on_inconclusive: args.on_inconclusive.clone(),
        ..Table::default()
    };
    let options = check::Options {
        request: request(flags, args.rev.clone(), None)?,
        baseline: args.baseline.clone(),
        z_threshold: args.z_threshold,
        min_history: args.min_history as usize,
        parents: parents(args.all_parents),
        all_machines: args.all_machines,
    };
    let report = check::check(&options, helper, interrupt)?;
    say_skipped(&report.skipped);
    match args.format {
        Printed::Human => printed(render::history::print_check(&report))?,
        Printed::Json => printed(render::history::print_check_json(&report))?,
    }
    Ok(Exit::of_check(&report))
}

fn list(args: &cli::List, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let flags = Table { metrics: args.metric.clone(), ..Table::default() };
    let options = series::Options {
        request: request(flags, args.rev.clone(), None)?,
        commits: args.commits as usize,
        parents: parents(args.all_parents),
        benchmark: args.benchmark.clone(),
    };
    let html = args
        .html
        .as_deref()
        .map(|path| Ok::<_, Failure>((path, OutputFile::new(path, interrupt)?)));
    let html = html.transpose()?;
    let listing = series::list(&options)?;
    say_skipped(&listing.skipped);
    match html {
        Some((path, file)) => {
            file.write(&crate::page::history::page(&listing))?;
            Ui::new().status("Wrote", &path.display().to_string());
        }
        None => render::history::print_list(&listing)?,
    }
    Ok(Exit::Success)
}

fn annotate(args: &cli::Annotate) -> Result<Exit, Failure> {
    let request = request(Table::default(), None, None)?;
    let done = match &args.change {
        Some(why) => {
            let commit = history::annotate(&request, &args.rev, why)?;
            format!("{}: {}", abbreviated(&commit), why.trim())
        }
        None => {
            let (commit, count) = history::remove_annotations(&request, &args.rev)?;
            let count = text::count(count as u64, "annotation");
            format!("{}: {count} removed", abbreviated(&commit))
        }
    };
    Ui::new().status("Annotated", &done);
    Ok(Exit::Success)
}

fn export(args: &cli::Export) -> Result<Exit, Failure> {
    let (all, skipped) = history::everything(&request(Table::default(), None, None)?)?;
    say_skipped(&skipped);
    let left_out = render::history_export::print(&all, args.format)?;
    if left_out > 0 {
        let count = text::count(left_out as u64, "metric");
        Ui::new().warn(&format!("{count} in a unit that Conbench does not know, left out"));
    }
    Ok(Exit::Success)
}

type Exchange = fn(
    &cargo_cbdr::workspace::Request,
    &str,
    &Helper,
    &Interrupt,
) -> Result<sync::Synced, cargo_cbdr::Error>;

fn exchange(
    verb: &str,
    args: &cli::Sync,
    exchange: Exchange,
    helper: &Helper,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let request = request(Table::default(), None, None)?;
    let synced = exchange(&request, &args.remote, helper, interrupt)?;
    let mut ui = Ui::new();
    let sent = match (verb, synced.is_pushed) {
        ("Pushed", false) => ", which had them all",
        _ => "",
    };
    let lines = text::count(synced.merged.lines as u64, "new line");
    ui.status(verb, &format!("{}{sent}; {lines} from there", args.remote));
    if synced.merged.skipped > 0 {
        let notes = text::count(synced.merged.skipped as u64, "note");
        ui.warn(&format!("{notes} too large to be merged, left as they were"));
    }
    Ok(Exit::Success)
}

/// Says of what in the notes nothing could be made.
fn say_skipped(skipped: &Skipped) {
    let Some((commit, why)) = &skipped.example else { return };
    let lines = text::count(skipped.lines as u64, "line");
    let of = abbreviated(commit);
    Ui::new().warn(&format!("{lines} of the notes passed over; one, of commit {of}: {why}"));
}
