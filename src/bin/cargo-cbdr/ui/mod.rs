//! The voice: everything that is said on standard error.

mod calm;
mod lines;
mod live;
pub(crate) mod manner;
pub(crate) mod notices;
pub(crate) mod text;

use std::io::Write;

use anstyle::{AnsiColor, Style};
use cargo_cbdr::error::system_hint;
use cargo_cbdr::flows::event::Event;
use cargo_cbdr::model::outcome::Outcome;
use cargo_cbdr::{Error, workspace};

use crate::exit::Exit;

pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// What ended the program.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library said so.
    Library(Error),
    /// The command line is at fault.
    Usage(Box<cargo_cbdr::settings::Error>),
    /// The same, in words.
    Arguments(String),
    /// An output could not be written.
    Io(std::io::Error),
    /// The demo did not find what it planted.
    Demo(String),
    /// It can't be done here, for a reason that is no error of the library's.
    Refused(String),
}

impl Failure {
    pub(crate) fn usage(error: cargo_cbdr::settings::Error) -> Self {
        Failure::Usage(Box::new(error))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Library(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::Io(error)
    }
}

/// An error of the system's that says about what it is.
pub(crate) fn about(what: &str, error: &std::io::Error) -> std::io::Error {
    std::io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Says what went wrong, and how the process is to end.
pub(crate) fn failure(failure: &Failure) -> Exit {
    let (error, hint, said, exit): (&dyn std::error::Error, _, _, _) = match failure {
        Failure::Library(error) => (error, error.hint(), error.child_output(), Exit::Failed),
        Failure::Usage(error) => (&**error, error.hint(), None, Exit::Usage),
        Failure::Io(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            return Exit::Success;
        }
        Failure::Io(error) => (error, system_hint(error), None, Exit::Failed),
        Failure::Demo(what) | Failure::Refused(what) => {
            line(BAD, "error", what);
            return Exit::Failed;
        }
        Failure::Arguments(what) => {
            line(BAD, "error", what);
            return Exit::Usage;
        }
    };
    let mut err = anstream::stderr().lock();
    let _ = writeln!(err, "{BAD}error{BAD:#}: {}", said_by(&error.to_string()));
    let mut source = error.source();
    if source.is_some() {
        let _ = writeln!(err, "\nCaused by:");
    }
    while let Some(cause) = source {
        let _ = writeln!(err, "  {}", said_by(&cause.to_string()));
        source = cause.source();
    }
    if let Some(said) = said {
        let _ = writeln!(err, "\nIt said:");
        for line in text::last_lines(said, 20) {
            let _ = writeln!(err, "  {}", text::line(line));
        }
    }
    if let Some(hint) = hint {
        let _ = writeln!(err, "{HINT}hint{HINT:#}: {}", said_by(&hint));
    }
    exit
}

/// What an error says; what it has on further lines is indented, so that it is
/// no line of ours.
fn said_by(error: &str) -> String {
    text::clean(error).replace('\n', "\n  ")
}

fn line(style: Style, word: &str, rest: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{style}{word}{style:#}: {}", said_by(rest));
}

/// A line in cargo's manner: a verb, right-aligned in 12 columns, and a thing.
fn status_line(verb: &str, thing: &str) -> String {
    format!("{GOOD}{verb:>12}{GOOD:#} {}", text::line(thing))
}

/// What a comparison shows while it runs.
pub(crate) struct Ui {
    live: live::Live,
    manner: manner::Manner,
    hushed: bool,
}

impl Ui {
    pub(crate) fn new() -> Self {
        let manner = manner::manner();
        Ui { live: live::Live::new(manner), manner, hushed: false }
    }

    /// Prints a status line, above the live lines if there are any.
    pub(crate) fn status(&mut self, verb: &str, thing: &str) {
        if !self.manner.is_quiet {
            self.live.line(&status_line(verb, thing));
        }
    }

    /// Says where something is, to those who want to know.
    pub(crate) fn detail(&mut self, verb: &str, thing: &str) {
        if self.manner.is_verbose {
            self.status(verb, thing);
        }
    }

    /// Prints a warning.
    pub(crate) fn warn(&mut self, what: &str) {
        if self.manner.is_quiet {
            return;
        }
        self.live.line(&format!("{WARNING}warning{WARNING:#}: {}", text::line(what)));
    }

    /// Shows how many of all rounds are over.
    pub(crate) fn rounds(&mut self, round: u64, rounds: u64) {
        if self.is_live() {
            let done = text::count(round, "round");
            self.live.show(vec![format!("  {done} of {rounds}")]);
        }
    }

    /// From now on shows nothing but the live lines: what else there is to say
    /// has been said.
    pub(crate) fn hush(&mut self) {
        self.hushed = true;
    }

    /// Shows an event.
    pub(crate) fn show(&mut self, event: &Event<'_>) {
        if self.hushed && !matches!(event, Event::Pair { .. } | Event::Sampled(_)) {
            return;
        }
        match event {
            Event::Workspace(event) => self.show_preparation(event),
            Event::WarmingUp(benchmark) => self.status("Warming up", &format!("`{benchmark}`")),
            Event::Sampling(plan) => {
                self.status("Sampling", &text::plan(plan));
                let metrics: Vec<&str> =
                    plan.metrics.iter().map(|metric| metric.name.as_str()).collect();
                self.detail("Measuring", &metrics.join(", "));
            }
            Event::Rounds { seed, .. } => {
                self.status("Sampling", &format!("in rounds, seed {seed}"));
            }
            Event::Round { .. } => {}
            Event::Pair { progress, .. } => self.live.draw(progress),
            Event::Sampled(progress) => self.live.draw_last(progress),
            Event::Notice(notice) => self.warn(&notices::notice(notice)),
        }
    }

    fn show_preparation(&mut self, event: &workspace::Event<'_>) {
        match event {
            workspace::Event::Sides(sides) => self.status("Comparing", &text::sides(sides)),
            workspace::Event::Waiting(holder) => {
                let holder = if holder.is_empty() { "another cargo cbdr" } else { holder };
                self.status("Blocking", &format!("waiting for {holder}"));
            }
            workspace::Event::Fetching(what, remote) => {
                self.status("Fetching", &format!("{what} from {remote}"));
            }
            workspace::Event::CheckingOut(side, revision) => {
                self.status("Checking out", &format!("{side}: {}", text::revision(revision)));
            }
            workspace::Event::Building(side, what) => {
                self.status("Building", &format!("{side}: {what}"))
            }
            workspace::Event::Diagnosing(side) => {
                self.status("Diagnosing", &format!("{side}: why it was not built"));
            }
            workspace::Event::Fresh(side, what) => {
                self.status("Fresh", &format!("{side}: {what} (built before)"));
            }
            workspace::Event::Prepared { seconds, cache } => {
                self.status("Prepared", &format!("both sides in {}", text::seconds(*seconds)));
                self.detail("Keeping", &format!("worktrees and builds in {}", cache.display()));
            }
            workspace::Event::Notice(notice) => self.warn(&notices::notice(notice)),
        }
    }

    /// Whether what is known so far can be shown.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.live, live::Live::Terminal { .. })
    }

    /// Shows what samples say so far.
    pub(crate) fn samples(&mut self, outcome: &Outcome) {
        let any = outcome.metrics().any(|(_, metric)| metric.gates);
        let shown = outcome.metrics().filter(|(_, metric)| !any || metric.gates);
        let lines = shown.map(|(of, metric)| text::sample_line(of, metric, outcome.rows));
        self.live.show(lines.collect());
    }

    /// Ends the live lines; the last state of a comparison stays.
    pub(crate) fn end(&mut self) {
        self.live.end(!self.hushed);
    }
}

/// The colour of a verdict.
pub(crate) fn verdict_style(verdict: cargo_cbdr::model::outcome::Verdict) -> Style {
    use cargo_cbdr::model::outcome::Verdict;
    match verdict {
        Verdict::NoRegression | Verdict::Identical => GOOD,
        Verdict::Regression => BAD,
        Verdict::Inconclusive | Verdict::NoBaseline => WARNING,
    }
}
