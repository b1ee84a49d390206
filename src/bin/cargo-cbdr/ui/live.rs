//! The live lines, drawn between runs only. In a log, a permanent line every few seconds.

use std::io::Write;
use std::time::Instant;

use cargo_cbdr::engine::experiment::{Progress, Snapshot};

use super::fold::{error_width, folded};
use super::frame::Frame;
use super::lines::{self, FEW, LogLine, plain};
use super::status_line;
use super::verbosity::Verbosity;
use crate::cli::ProgressForm;

/// The maximum number of draws per second.
const RATE: u8 = 10;

/// Seconds between two lines of a log at the beginning. Later it is a sixth of the time
/// spent, so that a long log stays short.
const LOG_INTERVAL: f64 = 5.0;

/// When steps are printed into a log: like the progress of sampling, but counted since the
/// latest other line.
pub(crate) struct LogSteps {
    start: Instant,
    /// Seconds from the start to the next line.
    next: f64,
}

impl LogSteps {
    fn new(start: Instant) -> Self {
        LogSteps { start, next: LOG_INTERVAL }
    }

    /// Whether a step at the time `now` is printed.
    fn is_due(&mut self, now: Instant) -> bool {
        let elapsed = now.duration_since(self.start).as_secs_f64();
        let is_due = elapsed >= self.next;
        if is_due {
            self.next = following(elapsed);
        }
        is_due
    }
}

/// When the line of a log after the one at `elapsed` is due, both in seconds since the start.
fn following(elapsed: f64) -> f64 {
    elapsed + LOG_INTERVAL.max(elapsed / 6.0)
}

/// Draws progress.
pub(crate) enum LiveLines {
    Terminal(Terminal),
    Log {
        /// When the next line is due, seconds since sampling began.
        next: f64,
        /// The maximum number of lines at a time.
        most: usize,
        /// The previous lines.
        said: Vec<LogLine>,
        /// When the steps before sampling are due.
        steps: LogSteps,
    },
    None,
}

impl LiveLines {
    pub(crate) fn new(verbosity: Verbosity) -> Self {
        match verbosity.progress {
            ProgressForm::Live => LiveLines::Terminal(Terminal::new()),
            ProgressForm::Plain => {
                let most = if verbosity.is_verbose { usize::MAX } else { FEW };
                let steps = LogSteps::new(Instant::now());
                LiveLines::Log { next: LOG_INTERVAL, most, said: Vec::new(), steps }
            }
            ProgressForm::None => LiveLines::None,
        }
    }

    /// Prints a permanent line above the live lines. If the terminal is too narrow,
    /// continuation lines are indented by `indent`.
    pub(crate) fn print(&mut self, line: &str, indent: usize) {
        let line = folded(line, error_width(), indent);
        match self {
            LiveLines::Terminal(terminal) => return terminal.print(&line),
            LiveLines::Log { steps, .. } => *steps = LogSteps::new(Instant::now()),
            LiveLines::None => {}
        }
        let _ = writeln!(anstream::stderr().lock(), "{line}");
    }

    /// Shows a step before sampling: as a live line, or as the line of a log if it is due.
    pub(crate) fn step(&mut self, live: &str, log: &str) {
        match self {
            LiveLines::Terminal(terminal) => terminal.show(vec![format!("  {live}")]),
            LiveLines::Log { steps, .. } => {
                if steps.is_due(Instant::now()) {
                    let _ = writeln!(anstream::stderr().lock(), "{log}");
                }
            }
            LiveLines::None => {}
        }
    }

    /// Shows the progress of sampling, unless that was shown a moment ago.
    pub(crate) fn draw(&mut self, progress: &Progress<'_>) {
        let elapsed = progress.elapsed();
        match self {
            LiveLines::Terminal(terminal) => {
                if terminal.draws.allows(elapsed) {
                    terminal.draw(&progress.snapshot());
                }
            }
            LiveLines::Log { next, most, said, .. } => {
                if elapsed >= *next {
                    *next = following(elapsed);
                    let lines = lines::log(&progress.snapshot(), *most);
                    for line in lines.iter().filter(|line| !said.contains(line)) {
                        let line = status_line("Sampling", &line.text);
                        let _ = writeln!(anstream::stderr().lock(), "{line}");
                    }
                    *said = lines;
                }
            }
            LiveLines::None => {}
        }
    }

    /// Shows the last state of a comparison.
    pub(crate) fn draw_last(&mut self, progress: &Progress<'_>) {
        if let LiveLines::Terminal(terminal) = self {
            let snapshot = progress.snapshot();
            terminal.draw(&snapshot);
            terminal.last = Some(Box::new(snapshot));
        }
    }

    /// Adds the verdicts over layouts to the last state of the comparison as built.
    pub(crate) fn add_last(&mut self, over_layouts: &Progress<'_>) {
        if let LiveLines::Terminal(Terminal { last: Some(last), .. }) = self {
            lines::overrule(last, &over_layouts.snapshot());
        }
    }

    /// Replaces the previous lines by others, on a terminal.
    pub(crate) fn show(&mut self, lines: Vec<String>) {
        if let LiveLines::Terminal(terminal) = self {
            terminal.show(lines);
        }
    }

    /// Removes the live lines. With `keeps_last`, those of a comparison stay as its summary.
    pub(crate) fn end(&mut self, keeps_last: bool) {
        let LiveLines::Terminal(terminal) = self else { return };
        terminal.show(Vec::new());
        if let Some(mut snapshot) = terminal.last.take().filter(|_| keeps_last) {
            // There is nothing left to wait for.
            snapshot.remaining = None;
            snapshot.is_unlikely = false;
            let (width, height) = terminal_size();
            for line in lines::live(&snapshot, width, height) {
                let _ = writeln!(anstream::stderr().lock(), "{line}");
            }
        }
    }
}

/// The live lines of a terminal.
pub(crate) struct Terminal {
    frame: Frame,
    has_colour: bool,
    draws: RateLimit,
    /// The last state of a comparison.
    last: Option<Box<Snapshot>>,
}

impl Terminal {
    fn new() -> Self {
        let choice = anstream::AutoStream::choice(&std::io::stderr());
        Terminal {
            frame: Frame::default(),
            has_colour: choice != anstream::ColorChoice::Never,
            draws: RateLimit::default(),
            last: None,
        }
    }

    fn draw(&mut self, snapshot: &Snapshot) {
        let (width, height) = terminal_size();
        self.show(lines::live(snapshot, width, height));
    }

    fn show(&mut self, lines: Vec<String>) {
        let size = terminal_size();
        let fits = |line: &String| plain(line).chars().count() < size.0;
        let cut = |line: String| match fits(&line) {
            true => line,
            false => plain(&line).chars().take(size.0.saturating_sub(1)).collect(),
        };
        let lines = lines.into_iter().map(|line| self.coloured(cut(line))).collect();
        write(&self.frame.shown(lines, size));
    }

    fn print(&mut self, line: &str) {
        let line = self.coloured(line.to_owned());
        write(&self.frame.above(&line, terminal_size()));
    }

    /// A line, with colours if this terminal has them.
    fn coloured(&self, line: String) -> String {
        if self.has_colour { line } else { plain(&line) }
    }
}

/// Writes everything at once, so that a terminal does not show half of it.
fn write(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Allows [`RATE`] draws per second on average, and as many at once after a pause, so
/// that the last draw before a long run is up to date.
#[derive(Debug)]
struct RateLimit {
    /// The number of draws that are allowed now.
    credit: f64,
    /// When that was counted.
    at: f64,
}

impl Default for RateLimit {
    fn default() -> Self {
        RateLimit { credit: RATE.into(), at: 0.0 }
    }
}

impl RateLimit {
    /// Whether to draw at this time, in seconds since sampling began. A time earlier than
    /// the last one belongs to another comparison.
    fn allows(&mut self, now: f64) -> bool {
        if now < self.at {
            *self = RateLimit::default();
        }
        let rate = f64::from(RATE);
        self.credit = (self.credit + rate * (now - self.at)).min(rate);
        self.at = now;
        let is_allowed = self.credit >= 1.0;
        if is_allowed {
            self.credit -= 1.0;
        }
        is_allowed
    }
}

/// The columns and rows of the terminal, or default numbers.
fn terminal_size() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_fewer_and_fewer_lines_of_long_steps() {
        let start = Instant::now();
        let mut steps = LogSteps::new(start);
        let at = |seconds: u64| start + std::time::Duration::from_secs(seconds);
        let due: Vec<u64> = (0..120).filter(|second| steps.is_due(at(*second))).collect();
        assert_eq!(due, [5, 10, 15, 20, 25, 30, 35, 41, 48, 56, 66, 77, 90, 105]);
    }

    #[test]
    fn short_pairs_are_drawn_ten_times_a_second_and_long_ones_always() {
        let mut draws = RateLimit::default();
        // 3000 pairs of a millisecond: ten at once, and then ten a second.
        let drawn = (0..3000).filter(|pair| draws.allows(0.001 * f64::from(*pair))).count();
        assert!((38..=40).contains(&drawn), "{drawn}");
        // Between two long pairs, nine short ones.
        for round in 1..5 {
            let start = 60.0 * f64::from(round);
            assert!((0..10).all(|pair| draws.allows(start + 0.001 * f64::from(pair))));
        }
        // Another comparison starts again.
        assert!((0..10).all(|pair| draws.allows(0.001 * f64::from(pair))));
    }
}
