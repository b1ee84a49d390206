//! `cargo cbdr init`.

mod patch;
mod workflow;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cargo_cbdr::exec::process::{Helper, Interrupt};
use cargo_cbdr::flows::event::Event;
use cargo_cbdr::flows::init::{
    Candidate, Proposal, Trial, edited, propose, request_of, try_out, write,
};
use cargo_cbdr::model::dialect::Dialect;
use cargo_cbdr::settings::Written;
use cargo_cbdr::settings::table::{THRESHOLD, Table};
use cargo_cbdr::workspace;
use cargo_cbdr::workspace::Request;

use super::request::request;
use crate::cli::Init;
use crate::exit::Exit;
use crate::output;
use crate::ui::{Failure, Ui, text};
use patch::patch;

/// Runs below this many seconds are mostly the start of a process.
const SHORT: f64 = 0.005;

/// How long one run may take in a trial, unless the user says otherwise.
const RUN_TIMEOUT: &str = "2m";

/// A file to be written.
struct Change {
    path: PathBuf,
    /// What is there; `None` where nothing is.
    before: Option<String>,
    after: String,
}

pub(crate) fn run(args: &Init, helper: &Helper, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let mut ui = Ui::new();
    let done = set_up(args, helper, interrupt, &mut ui);
    ui.end();
    done.map(|()| Exit::Success)
}

fn set_up(args: &Init, helper: &Helper, interrupt: &Interrupt, ui: &mut Ui) -> Result<(), Failure> {
    if args.filter.filter.is_some() {
        let what = "a table has no filter: give the harness its own, after `--`";
        return Err(Failure::Arguments(what.to_owned()));
    }
    let time = humantime::parse_duration(&args.try_for).map_err(|error| {
        Failure::Arguments(format!("invalid --try-for `{}`: {error}", args.try_for))
    })?;
    let request = request(args.settings.0.clone(), None, None)?;
    let mut proposal = propose(&request, helper, interrupt)?;
    let workflow = args.ci.map(|service| workflow::change(service, &proposal)).transpose()?;
    let mut changes = Vec::new();
    // Refused, or found to be impossible, before anything is built. Where a table is there, a
    // workflow may be asked for, but nothing that would have to go into the table.
    let is_new =
        proposal.there.is_none() || workflow.is_none() || !request.flags.entries().is_empty();
    if is_new {
        edited(&proposal)?;
        if !args.dry_run {
            output::check(&proposal.manifest)?;
        }
        say_chosen(ui, &proposal);
        if !time.is_zero() {
            let request = request_of(&request, &proposal);
            let trial = trial(&request, time, helper, interrupt, ui)?;
            say_tried(ui, &trial, &proposal.table);
            settle(&mut proposal.table, Some(&trial));
        }
        settle(&mut proposal.table, None);
        let (before, after) = edited(&proposal)?;
        changes.push(Change { path: proposal.manifest.clone(), before: Some(before), after });
    } else if let Some(there) = &proposal.there {
        ui.status("Keeping", &format!("[{there}], which is there already"));
    }
    changes.extend(workflow);
    if args.dry_run {
        let mut out = std::io::stdout().lock();
        for Change { path, before, after } in &changes {
            let name = shown(path, &proposal.root);
            out.write_all(patch(&name, before.as_deref(), after).as_bytes())?;
        }
        return Ok(());
    }
    for Change { path, after, .. } in &changes {
        write(path, after)?;
        ui.status("Wrote", &format!("`{}`", shown(path, &proposal.root)));
    }
    say_next(ui, args, &proposal, is_new);
    Ok(())
}

/// Tries the benchmark out, with what is being done shown.
fn trial(
    request: &Request,
    time: Duration,
    helper: &Helper,
    interrupt: &Interrupt,
    ui: &mut Ui,
) -> Result<Trial, Failure> {
    let mut request = request.clone();
    request.flags.run_timeout.get_or_insert_with(|| Written::from(RUN_TIMEOUT));
    let trial = try_out(&request, time, helper, interrupt, &mut |event| match event {
        Event::Workspace(workspace::Event::Prepared { seconds, .. }) => {
            ui.status("Prepared", &format!("in {}", text::seconds(seconds)));
        }
        event => ui.show(&event),
    })?;
    Ok(trial)
}

/// What the trial decides, where the user did not; and without one the usual
/// threshold, so that it is there to be seen.
fn settle(table: &mut Table, trial: Option<&Trial>) {
    if table.threshold.is_none() && table.thresholds.is_none() {
        let threshold = trial.map_or(THRESHOLD.0, |trial| trial.threshold);
        table.threshold = Some(Written::new(percent(threshold)));
    }
    if let (None, Some(minutes)) = (&table.time_limit, trial.and_then(minutes_needed)) {
        table.time_limit = Some(Written::new(format!("{minutes}m")));
    }
}

/// The time limit, in minutes, that a benchmark needs for whose verdict the
/// usual one leaves little room.
fn minutes_needed(trial: &Trial) -> Option<u64> {
    let needed = 2.0 * trial.least;
    (needed > trial.limit).then(|| (needed / 60.0).ceil() as u64)
}

fn percent(fraction: f64) -> String {
    format!("{}%", text::rounded(100.0 * fraction))
}

fn shown(path: &Path, root: &Path) -> String {
    let canonical = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    canonical.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn named(candidate: &Candidate) -> String {
    let nightly = if candidate.is_unstable { ", for nightly compilers" } else { "" };
    format!("{} ({}{nightly})", candidate.target, candidate.harness)
}

fn say_chosen(ui: &mut Ui, proposal: &Proposal) {
    let Some(chosen) = &proposal.chosen else { return };
    ui.status("Choosing", &format!("{} of `{}`", named(chosen), chosen.package));
    if !proposal.others.is_empty() {
        let other = |other: &Candidate| match other.package == chosen.package {
            true => named(other),
            false => format!("{} of `{}`", named(other), other.package),
        };
        let shown = proposal.others.iter().take(10).map(other).collect::<Vec<_>>().join(", ");
        let more = match proposal.others.len() {
            0..=10 => String::new(),
            all => format!(" and {} more", all - 10),
        };
        ui.status("Leaving", &format!("{shown}{more}; `-p` and `--bench` choose another"));
    }
}

fn say_tried(ui: &mut Ui, trial: &Trial, table: &Table) {
    let benchmarks = match trial.harness {
        Dialect::Plain => String::new(),
        harness => {
            let count = text::count(trial.benchmarks as u64, "benchmark");
            format!(", {count} of {}", harness.name())
        }
    };
    let runs = text::count(trial.runs, "run");
    let run = text::value(trial.run, &cargo_cbdr::model::metric::Unit::Seconds);
    ui.status("Measured", &format!("{runs} of {run}{benchmarks}"));
    let limit = text::roughly(trial.limit);
    let least = text::roughly(trial.least);
    if trial.harness == Dialect::Plain && trial.run < SHORT {
        ui.warn(&format!(
            "a run of {run} is mostly the start of a process: let it do its work more often or \
             on more data (10 to 500 ms suit best); arguments go after `--`"
        ));
    }
    if let Some(minutes) = minutes_needed(trial) {
        ui.warn(&format!(
            "the least that a verdict needs takes {least} of the {limit} that there are: the time \
             limit becomes {minutes}m; fewer benchmarks or less data take less (arguments go \
             after `--`)"
        ));
    } else {
        ui.status("Expecting", &format!("a verdict after {least} at the earliest"));
    }
    match trial.reach {
        None => ui.warn("too few runs to say which threshold fits; `cargo cbdr compare --aa` does"),
        Some(reach) => say_reach(ui, trial, reach, table),
    }
}

fn say_reach(ui: &mut Ui, trial: &Trial, reach: f64, table: &Table) {
    let nine = if trial.benchmarks > 1 { " for nine of ten benchmarks" } else { "" };
    let limit = text::roughly(trial.limit);
    let told = text::percent(reach);
    let told = told.trim_start_matches('+');
    let known = format!("at this noise {limit} tell{nine} a change that is {told} away from it");
    let threshold = percent(trial.threshold);
    if table.threshold.is_some() || table.thresholds.is_some() {
        ui.status("Threshold", &format!("yours; {known}"));
    } else if reach <= trial.threshold {
        ui.status("Threshold", &format!("{threshold}; {known}"));
    } else {
        ui.warn(&format!(
            "{known}, so that a threshold of {threshold} often ends as inconclusive here: try a \
             quieter machine (`cargo cbdr doctor`) or another benchmark"
        ));
    }
}

fn say_next(ui: &mut Ui, args: &Init, proposal: &Proposal, is_new: bool) {
    if is_new {
        let table = format!("[{}.metadata.cbdr]", proposal.owner);
        ui.status("Next", &format!("commit {table}; on a branch: `cargo cbdr compare`"));
    }
    if let Some(service) = args.ci {
        ui.status("Then", workflow::next(service));
    }
}
