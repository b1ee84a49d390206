//! `cargo cbdr init`.

mod workflow;

use std::path::{Path, PathBuf};
use std::time::Duration;

use cargo_cbdr::Error;
use cargo_cbdr::exec::execution::Context;
use cargo_cbdr::flows::init::{
    Candidate, Proposal, Standing, Trial, Tried, propose, try_out, write,
};
use cargo_cbdr::model::{Dialect, THRESHOLD, Unit};
use cargo_cbdr::settings::Written;
use cargo_cbdr::settings::table::Table;
use cargo_cbdr::settings::values::duration;
use cargo_cbdr::workspace::Request;
use cargo_cbdr::workspace::git::text_diff::unified;

use super::request;
use crate::cli::Init;
use crate::exit::{CommandResult, ExitKind};
use crate::failure::Failure;
use crate::output;
use crate::render::outputs::print_bytes;
use crate::ui::{Ui, text};

/// Runs shorter than this, seconds, are mostly the start of a process.
const SHORT: f64 = 0.005;

/// The maximum time of a run in a trial, unless the user sets it.
const RUN_TIMEOUT: &str = "2m";

struct FileChange {
    path: PathBuf,
    /// The current text; `None` for a new file.
    before: Option<String>,
    after: String,
}

pub(crate) fn run(args: &Init, context: Context<'_>) -> CommandResult {
    let mut ui = Ui::new();
    let outcome = set_up(args, context, &mut ui);
    ui.end();
    outcome.map(|()| ExitKind::Success)
}

fn set_up(args: &Init, context: Context<'_>, ui: &mut Ui) -> Result<(), Failure> {
    if args.filter.filter.is_some() {
        let what = "a table has no key for a filter: pass the harness's own filter after `--`";
        return Failure::arguments(what);
    }
    let time = duration(&args.try_for).map_err(|error| {
        Failure::Arguments(format!("invalid --try-for `{}`: {error}", args.try_for))
    })?;
    let request = request(args.settings.0.clone())?;
    let mut proposal = propose(&request, context)?;
    let workflow = args.ci.map(|service| workflow::change(service, args, &proposal)).transpose()?;
    let mut changes = Vec::new();
    match proposal.existing {
        // A workflow can be added to an existing table, but nothing that would have to go
        // into the table.
        Some(owner) if workflow.is_some() && request.flags.entries().is_empty() => {
            ui.status("Keeping", &format!("[{}], which exists already", owner.table()));
        }
        _ => {
            // What can't be written is rejected before anything is built.
            proposal.edited_manifest()?;
            if !args.dry_run {
                output::check(&proposal.manifest)?;
            }
            choose_values(&mut proposal, &request, time, context, ui)?;
            let (before, after) = proposal.edited_manifest()?;
            let path = proposal.manifest.clone();
            changes.push(FileChange { path, before: Some(before), after });
        }
    }
    let has_new_table = !changes.is_empty();
    changes.extend(workflow);
    if args.dry_run {
        for FileChange { path, before, after } in &changes {
            let name = shown(path, &proposal.root);
            print_bytes(patch(&name, before.as_deref(), after)?.as_bytes())?;
        }
        return Ok(());
    }
    for FileChange { path, after, .. } in &changes {
        write(path, after)?;
        ui.status("Wrote", &format!("`{}`", shown(path, &proposal.root)));
    }
    if has_new_table {
        let table = proposal.owner.table();
        let next = "on the default branch; on others: `cargo cbdr compare`";
        ui.status("Next", &format!("commit [{table}] {next}"));
    }
    if let Some(service) = args.ci {
        ui.status("Then", workflow::next(service, args));
    }
    Ok(())
}

/// The change of the file `name` as a patch that `git apply` takes.
fn patch(name: &str, before: Option<&str>, after: &str) -> Result<String, Error> {
    let mut patch = format!("diff --git a/{name} b/{name}\n");
    let mut source = format!("a/{name}");
    if before.is_none() {
        let mode = if after.starts_with("#!") { "100755" } else { "100644" };
        patch += &format!("new file mode {mode}\n");
        source = "/dev/null".to_owned();
    }
    patch += &format!("--- {source}\n+++ b/{name}\n");
    Ok(patch + &unified(before.unwrap_or_default(), after)?)
}

/// A path in the repository.
fn shown(path: &Path, root: &Path) -> String {
    let canonical = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    canonical.strip_prefix(root).unwrap_or(path).display().to_string()
}

/// Tries out what can be chosen, reports what is chosen and why, and puts it into the
/// table with the threshold and the time limit that it needs, unless the user has set them.
fn choose_values(
    proposal: &mut Proposal,
    request: &Request,
    time: Duration,
    context: Context<'_>,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let mut threshold = THRESHOLD;
    if time.is_zero() {
        if let Some(chosen) = &proposal.chosen {
            show_chosen(ui, chosen, &proposal.others);
        }
    } else {
        let mut request = proposal.request(request);
        request.flags.run_timeout.get_or_insert_with(|| Written::from(RUN_TIMEOUT));
        let trial = try_out(&request, time, context, &mut |event| ui.show(&event))?;
        ui.end();
        proposal.settle(&trial);
        show_trial(ui, &trial, &proposal.table);
        threshold = trial.threshold;
        let table = &mut proposal.table;
        if let (None, Some(minutes)) = (&table.time_limit, trial.minutes_needed) {
            table.time_limit = Some(Written::new(format!("{minutes}m")));
        }
    }
    let table = &mut proposal.table;
    if table.threshold.is_none() && table.thresholds.is_none() {
        table.threshold = Some(Written::new(text::fraction(threshold)));
    }
    Ok(())
}

/// Reports what is chosen without a trial.
fn show_chosen(ui: &mut Ui, chosen: &Candidate, others: &[Candidate]) {
    let name = |Candidate { target, package, harness, is_unstable, .. }: &Candidate| {
        let nightly = if *is_unstable { ", for nightly compilers" } else { "" };
        format!("{target} ({}{nightly}) of `{package}`", harness.name())
    };
    ui.status("Choosing", &name(chosen));
    if !others.is_empty() {
        let others = text::first_few(others.iter().map(name));
        ui.status("Leaving", &format!("{others}; `-p` and `--bench` choose another"));
    }
}

/// A line for each target that was tried.
fn show_tried(ui: &mut Ui, trial: &Trial) {
    for tried in &trial.tried {
        let harness = tried.harness.name();
        let name = match &tried.target {
            Some(target) => format!("{target} ({harness}) of `{}`", tried.package),
            None => format!("`{}`", tried.name),
        };
        let why = match &tried.standing {
            Standing::Chosen => {
                let benchmarks = match tried.harness {
                    Dialect::Plain => String::new(),
                    _ => text::count(tried.benchmarks as u64, "benchmark") + " in ",
                };
                ui.status("Choosing", &format!("{name}: {benchmarks}{}", runs(tried)));
                continue;
            }
            Standing::Noisy(Some(reach)) => format!(
                "it is noisy: even with {} for it alone, a change has to be {} away from the \
                 threshold to be detected",
                text::length(trial.limit),
                text::size(*reach)
            ),
            Standing::Noisy(None) => "it is too noisy for any verdict in time".to_owned(),
            Standing::Slow(least) => format!(
                "its runs take {}, and a verdict needs at least {} of the {} available",
                text::value(tried.run, &Unit::Seconds),
                text::roughly(*least),
                text::length(trial.limit)
            ),
            Standing::Empty => "it has no benchmarks".to_owned(),
            Standing::Failed(why) => why.clone(),
        };
        ui.status("Leaving", &format!("{name}: {why}"));
    }
}

/// The number of measured runs, and how long they take.
fn runs(tried: &Tried) -> String {
    let runs = text::count(tried.runs as u64, "run");
    format!("{runs} of {}", text::value(tried.run, &Unit::Seconds))
}

fn show_trial(ui: &mut Ui, trial: &Trial, table: &Table) {
    show_tried(ui, trial);
    let [limit, new_limit] = [trial.limit, trial.new_limit].map(text::roughly);
    let least = text::roughly(trial.least.max(1.0));
    let is_short = |tried: &&Tried| tried.harness == Dialect::Plain && tried.run < SHORT;
    for tried in trial.chosen().filter(is_short) {
        let run = text::value(tried.run, &Unit::Seconds);
        ui.warn(&format!(
            "a run of {run} is mostly the start of a process: make it do its work more often, or \
             on more data (10 to 500 ms suit best); arguments go after `--`"
        ));
    }
    if let Some(minutes) = trial.minutes_needed {
        let more = if table.time_limit.is_none() { "it is raised to" } else { "allow" };
        ui.warn(&format!(
            "a verdict needs at least {least}, and the time limit is {limit}: {more} {minutes}m; \
             fewer benchmarks or less data take less time (arguments go after `--`)"
        ));
    } else {
        ui.status("Expecting", &format!("the first verdict after {least}"));
    }
    let Some(reach) = trial.reach else {
        ui.warn("too few runs to suggest a threshold; use `cargo cbdr compare --aa`");
        return;
    };
    let nine = if trial.benchmarks() > 1 { " for nine of ten benchmarks" } else { "" };
    let size = text::size(reach);
    let known = format!(
        "at this noise, {new_limit} is enough{nine} to detect a change {size} above or below it"
    );
    let threshold = text::fraction(trial.threshold);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insertion_has_its_surroundings() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n";
        let after = before.replace("5\n", "5\nnew\n");
        assert_eq!(
            patch("f", Some(before), &after).unwrap(),
            "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -3,6 +3,7 @@\n 3\n 4\n 5\n+new\n 6\n 7\n 8\n"
        );
    }

    #[test]
    fn a_new_file_and_a_last_line_without_an_end() {
        assert_eq!(
            patch("d/f", None, "#!x\n").unwrap(),
            "diff --git a/d/f b/d/f\nnew file mode 100755\n--- /dev/null\n+++ b/d/f\n\
             @@ -0,0 +1 @@\n+#!x\n"
        );
        assert_eq!(
            patch("f", Some("a"), "a\nb\n").unwrap(),
            "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n-a\n\
             \\ No newline at end of file\n+a\n+b\n"
        );
    }
}
