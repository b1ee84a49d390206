//! Everything that is written to standard error.

pub(crate) mod fold;
mod frame;
pub(crate) mod grouped;
mod lines;
mod live;
pub(crate) mod notices;
mod sanitize;
pub(crate) mod shorten;
pub(crate) mod style;
mod subjects;
pub(crate) mod text;
pub(crate) mod verbosity;
pub(crate) mod width;

use std::error::Error as StdError;
use std::io::{self, ErrorKind, Write};
use std::iter::successors;

use anstyle::Style;
use cargo_cbdr::engine::{Event, Experiment};
use cargo_cbdr::error::shortage;
use cargo_cbdr::model::{Evidence, Layouts, Notice, Outcome, Weight};
use cargo_cbdr::settings::Error::{Bad, TooFew};

use crate::cli::ProgressForm;
use crate::exit::ExitKind;
use crate::failure::Failure;
use fold::{error_width, folded};
use live::{LiveLines, Place};
use style::{BAD, GOOD, HINT, STATUS_TEXT_COLUMN, WARNING, status_line};
use verbosity::verbosity;

/// A system error with its context.
pub(crate) fn about(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Prints what went wrong; returns the exit code.
pub(crate) fn failure(failure: &Failure) -> ExitKind {
    let (exit, stderr, hint) = match failure {
        Failure::Library(error) => {
            // Of a table, it would be the error of a side.
            let is_usage = matches!(error.as_kind(), Some(Bad { .. } | TooFew { .. }));
            let exit = if is_usage { ExitKind::Usage } else { ExitKind::Failed };
            (exit, error.child_output(), error.hint())
        }
        Failure::Usage(error) => (ExitKind::Usage, None, error.hint()),
        Failure::Arguments(_) => (ExitKind::Usage, None, None),
        // The reader is gone and wants no more.
        Failure::Io(error) if error.kind() == ErrorKind::BrokenPipe => return ExitKind::Success,
        Failure::Io(error) => {
            let hint = shortage(error).or_else(|| is_of_path(error).then_some(CHECK_PATH));
            (ExitKind::Failed, None, hint.map(str::to_owned))
        }
        Failure::Refused(_) => (ExitKind::Failed, None, None),
    };
    print_error(failure, stderr, hint);
    exit
}

const CHECK_PATH: &str = "check the path and its permissions";

/// Whether an error is about the file that was named, and not about what it is on.
fn is_of_path(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
    )
}

/// Makes a panic end the program like any other failure. A release aborts on a panic, because
/// that compiles faster, and would die of a signal instead.
pub(crate) fn report_bugs() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        let bug = Failure::Refused("this is a bug in cargo-cbdr".to_owned());
        let issues = concat!(env!("CARGO_PKG_REPOSITORY"), "/issues");
        print_error(&bug, None, Some(format!("report it with the lines above: {issues}")));
        std::process::exit(ExitKind::Failed.code().into());
    }));
}

/// Prints an error with its causes, the last lines of a program's standard error, and a hint.
fn print_error(error: &dyn StdError, stderr: Option<&str>, hint: Option<String>) {
    let mut text = indented(&format!("{BAD}error{BAD:#}: "), &error.to_string());
    let causes = successors(error.source(), |&cause| cause.source());
    let causes: String = causes.map(|cause| indented("  ", &cause.to_string())).collect();
    if !causes.is_empty() {
        text += &format!("\nCaused by:\n{causes}");
    }
    if let Some(stderr) = stderr {
        let lines: Vec<&str> = stderr.lines().collect();
        let shown = lines[lines.len().saturating_sub(20)..].iter().map(|line| {
            let line = text::line(line);
            let shown = if verbosity().is_verbose { line } else { beginning(&line) };
            format!("  {shown}\n")
        });
        text += &format!("\nIt printed:\n{}", shown.collect::<String>());
    }
    text.extend(hint.map(|hint| indented(&format!("{HINT}hint{HINT:#}: "), &hint)));
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// A line of another program, truncated if it is very long.
fn beginning(line: &str) -> String {
    const MOST: usize = 300;
    let length = line.chars().count();
    if length <= MOST {
        return line.to_owned();
    }
    let rest = text::count((length - MOST) as u64, "more character");
    format!("{} ({rest} with --verbose)", text::cut(line, MOST))
}

/// A text after its prefix. Further lines are indented, so that none looks like a line of this
/// program.
fn indented(start: &str, text: &str) -> String {
    let text = text::clean(text);
    let mut lines = text.split('\n');
    let first = format!("{start}{}", lines.next().unwrap_or_default());
    let first = folded(&first, error_width(), width::columns(start));
    let others = lines.map(|line| folded(format!("  {line}").trim_end(), error_width(), 4));
    std::iter::once(first).chain(others).map(|line| line + "\n").collect()
}

/// Shows what happens while something runs.
pub(crate) struct Ui {
    live: LiveLines,
    /// Whether only the live lines are shown, because the rest would repeat what an earlier
    /// comparison has shown.
    pub(crate) is_live_only: bool,
    /// Whether the same metric gates everywhere.
    has_one_metric: bool,
    /// Notices that are printed together before anything else is.
    noticed: Vec<Notice>,
}

impl Ui {
    pub(crate) fn new() -> Self {
        let (live, noticed) = (LiveLines::new(verbosity()), Vec::new());
        Ui { live, is_live_only: false, has_one_metric: false, noticed }
    }

    /// Prints a status line, above the live lines if there are any.
    pub(crate) fn status(&mut self, verb: &str, thing: &str) {
        self.print_notices();
        self.finding(verb, GOOD, thing);
    }

    /// Prints a status line with `--verbose`.
    fn detail(&mut self, verb: &str, thing: &str) {
        if verbosity().is_verbose {
            self.status(verb, thing);
        }
    }

    /// Shows a step of a known number, if it is one: on a terminal as a live line; in a log as a
    /// status line, if there was none for some time.
    pub(crate) fn step(&mut self, verb: &str, thing: &str, place: Place) {
        self.live.step(verb, thing, place);
    }

    /// Prints a finding as soon as it is made, with a verb in the colour of its weight.
    fn finding(&mut self, verb: &str, style: Style, what: &str) {
        self.live.print(&status_line(style, verb, what), STATUS_TEXT_COLUMN);
    }

    pub(crate) fn warn(&mut self, what: &str) {
        self.print_notices();
        self.message("warning", WARNING, what);
    }

    /// Prints the notices since the last call, those of the same kind on one line.
    fn print_notices(&mut self) {
        for line in grouped::lines(&std::mem::take(&mut self.noticed)) {
            let style = if line.weight == Weight::Warning { WARNING } else { HINT };
            self.message(line.kind(), style, &line.text);
        }
    }

    fn message(&mut self, kind: &str, style: Style, what: &str) {
        let line = format!("{style}{kind}{style:#}: {}", text::line(what));
        self.live.print(&line, kind.len() + 2);
    }

    pub(crate) fn show(&mut self, event: &Event<'_>) {
        if self.is_live_only && !matches!(event, Event::Pair { .. } | Event::Sampled(_)) {
            return;
        }
        if !matches!(event, Event::Notice(_)) {
            self.print_notices();
        }
        match event {
            Event::Sampling(plan) => {
                self.live.end(false);
                self.has_one_metric = plan.is_about_one_metric();
                self.status("Sampling", &text::plan(plan));
                for line in text::run_lengths(plan) {
                    self.detail("Measuring", &line);
                }
                let metrics: Vec<&str> =
                    plan.metrics.iter().map(|metric| metric.name.as_str()).collect();
                self.detail("Measuring", &metrics.join(", "));
            }
            Event::Measured { benchmark, why } => {
                self.detail("Measuring", &format!("`{benchmark}`: {why}"));
            }
            Event::Prepared { seconds, cache } => {
                self.status("Prepared", &format!("in {}", text::seconds(*seconds)));
                self.detail("Keeping", &format!("worktrees and builds in {}", cache.display()));
            }
            Event::Pair { progress, .. } => self.show_pair(progress),
            Event::Sampled(progress) if progress.plan().is_longer => {}
            Event::Sampled(progress) => self.live.draw_last(progress),
            Event::Notice(notice) => self.noticed.push((*notice).clone()),
            event => match (status(event), step(event)) {
                (Some((verb, thing)), _) => self.status(verb, &thing),
                (None, Some((verb, thing, place))) => self.step(verb, &thing, place),
                (None, None) => {}
            },
        }
    }

    /// Shows what is known after a pair: first what was found with it.
    fn show_pair(&mut self, progress: &Experiment) {
        let plan = progress.plan();
        let only = self.has_one_metric;
        for (benchmark, metric) in progress.found() {
            let found = text::found(benchmark, metric, only);
            let is_asked_again = plan.layouts == Layouts::Auto && metric.depends_on_placement();
            match (plan.is_over_layouts, is_asked_again) {
                (true, _) => {
                    let layouts = text::count(benchmark.pairs, "layout");
                    self.finding("Regression", BAD, &format!("{found} over {layouts}"));
                }
                (false, true) => self.finding("Slower", WARNING, &format!("{found} in one layout")),
                (false, false) => self.finding("Regression", BAD, &found),
            }
        }
        let set_aside = (!plan.is_longer).then(|| progress.just_set_aside());
        for (benchmark, metric) in set_aside.into_iter().flatten() {
            let found = text::found(benchmark, metric, only);
            self.finding("Unclear", WARNING, &format!("{found} in one layout"));
        }
        self.live.draw(progress);
    }

    /// Whether there are live lines.
    pub(crate) fn is_live(&self) -> bool {
        verbosity().progress == ProgressForm::Live
    }

    /// Shows the results of samples so far.
    pub(crate) fn samples(&mut self, outcome: &Outcome) {
        let any_gates = outcome.metrics().any(|(_, metric)| metric.gates);
        let shown = outcome.metrics().filter(|(_, metric)| !any_gates || metric.gates);
        let rows = outcome.rows.unwrap_or_default();
        let lines = shown.map(|(of, metric)| text::sample_line(of, metric, rows));
        self.live.show(lines.collect());
    }

    /// Ends the live lines; the last state of a comparison stays.
    pub(crate) fn end(&mut self) {
        self.live.end(!self.is_live_only);
        self.print_notices();
    }
}

/// The status line of an event: a verb and an object.
fn status(event: &Event<'_>) -> Option<(&'static str, String)> {
    Some(match event {
        Event::Sides(sides) => ("Comparing", text::sides(sides)),
        Event::Waiting("") => ("Blocking", "waiting for another cargo cbdr".to_owned()),
        Event::Waiting(holder) => ("Blocking", format!("waiting for {holder}")),
        Event::Fetching(what, remote) => ("Fetching", format!("{what} from {remote}")),
        Event::CheckingOut(side, revision) => {
            ("Checking out", format!("{side}: {}", text::revision(revision)))
        }
        Event::Building(side, what) => ("Building", format!("{side}: {what}")),
        Event::Diagnosing(side) => ("Diagnosing", format!("{side}: why it was not built")),
        Event::Fresh(side, what) => ("Fresh", format!("{side}: {what} (built before)")),
        Event::OtherBuilds(unaffected, of) => {
            let why = match unaffected {
                0 => format!("none of {of} benchmarks is unaffected"),
                _ => format!("only {unaffected} of {of} benchmarks are unaffected"),
            };
            ("Building", format!("with another number of codegen units: {why}"))
        }
        Event::WarmingUp(benchmark) => ("Warming up", format!("`{benchmark}`")),
        // In a log, nothing else would be seen until it ends.
        Event::Watching { program, is_slow: true, .. } => {
            ("Checking", format!("whether `{program}` runs changed code"))
        }
        Event::AllMeasured { benchmark, why } => {
            ("Measuring", format!("all benchmarks of `{benchmark}`: {why}"))
        }
        Event::Explaining { benchmark, evidence: Evidence::Instructions } => {
            ("Counting", format!("the instructions of `{benchmark}`"))
        }
        Event::Explaining { benchmark, evidence: Evidence::Samples } => {
            ("Profiling", format!("`{benchmark}` with perf"))
        }
        Event::OverLayouts(plan) => {
            let benchmarks = text::count(plan.benchmarks.len() as u64, "benchmark");
            ("Sampling", format!("{benchmarks} again, in random layouts"))
        }
        Event::Longer(plan) => {
            let gating = plan.benchmarks.iter().filter(|one| one.gates()).count() as u64;
            let length = plan.run_lengths().map(|(_, time, _)| time).max().unwrap_or_default();
            let length = text::length(length.as_secs_f64());
            ("Sampling", format!("{} again, {length} a run", text::count(gating, "benchmark")))
        }
        Event::Rounds { seed, .. } => ("Sampling", format!("in rounds, seed {seed}")),
        _ => return None,
    })
}

/// The line of an event that is one of many: a verb, an object, and its number if that is known.
fn step(event: &Event<'_>) -> Option<(&'static str, String, Place)> {
    Some(match event {
        Event::WarmUpRun { side, place, previous_seconds } => {
            ("Warming up", text::warm_up_run(*side, *place, *previous_seconds), None)
        }
        Event::Watching { program, place: None, .. } => {
            ("Checking", format!("whether `{program}` runs changed code"), None)
        }
        Event::Watching { program, place, .. } => {
            ("Checking", format!("which benchmarks of `{program}` run changed code"), *place)
        }
        Event::Linking { program, layout: None } => {
            ("Linking", format!("`{program}`, with what is unchanged at the same addresses"), None)
        }
        Event::Linking { program, layout } => {
            ("Linking", format!("`{program}` in random layouts"), *layout)
        }
        Event::Counting(benchmark, place) => {
            ("Counting", format!("the instructions of `{benchmark}`"), Some(*place))
        }
        Event::Timing(place) => {
            ("Timing", "pairs, to find out how many fit".to_owned(), Some(*place))
        }
        Event::TryingLengths { group, groups, pair } => {
            let place = (*groups > 1).then_some((*group, *groups));
            ("Trying", format!("run lengths, pair {pair}"), place)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_takes_long_is_said_when_it_begins() {
        let said = |is_slow| status(&Event::Watching { program: "p", place: None, is_slow });
        assert_eq!(said(true).unwrap().1, "whether `p` runs changed code");
        assert!(said(false).is_none());
    }

    #[test]
    fn of_a_very_long_line_the_beginning_is_shown_and_how_much_is_left_out() {
        assert_eq!(beginning(&"é".repeat(300)), "é".repeat(300));
        let long = beginning(&"é".repeat(1300));
        assert_eq!(long, "é".repeat(300) + "… (1000 more characters with --verbose)");
    }
}
