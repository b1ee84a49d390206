//! The live lines, drawn between runs only. In a log, a line every few seconds that stays.

use std::io::Write;

use cargo_cbdr::engine::experiment::{Progress, Snapshot};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::lines::{self, FEW, plain};
use super::status_line;
use super::verbosity::Verbosity;
use crate::cli::ProgressForm;

/// How often the live lines are drawn at most, times a second.
const RATE: u8 = 10;

/// Seconds between two lines of a log at first. Later it is a sixth of the time spent, so
/// that a long log stays short.
const LOG_INTERVAL: f64 = 5.0;

/// Draws progress.
pub(crate) enum LiveLines {
    Terminal(Terminal),
    Log {
        /// When the next line is due, seconds since sampling began.
        next: f64,
        /// How many lines there may be at a time.
        most: usize,
    },
    None,
}

impl LiveLines {
    pub(crate) fn new(verbosity: Verbosity) -> Self {
        match verbosity.progress {
            ProgressForm::Live => LiveLines::Terminal(Terminal::new()),
            ProgressForm::Plain => {
                let most = if verbosity.is_verbose { usize::MAX } else { FEW };
                LiveLines::Log { next: LOG_INTERVAL, most }
            }
            ProgressForm::None => LiveLines::None,
        }
    }

    /// Prints a line that stays, above the live lines.
    pub(crate) fn print(&mut self, line: &str) {
        let print = || {
            let _ = writeln!(anstream::stderr().lock(), "{line}");
        };
        match self {
            LiveLines::Terminal(terminal) => terminal.bars.suspend(print),
            LiveLines::Log { .. } | LiveLines::None => print(),
        }
    }

    /// Shows how far sampling has come, unless that was shown a moment ago.
    pub(crate) fn draw(&mut self, progress: &Progress<'_>) {
        let elapsed = progress.elapsed();
        match self {
            LiveLines::Terminal(terminal) => {
                if terminal.draws.allows(elapsed) {
                    terminal.draw(&progress.snapshot());
                }
            }
            LiveLines::Log { next, most } => {
                if elapsed >= *next {
                    *next = elapsed + LOG_INTERVAL.max(elapsed / 6.0);
                    for line in lines::log(&progress.snapshot(), *most) {
                        let line = status_line("Sampling", &line);
                        let _ = writeln!(anstream::stderr().lock(), "{line}");
                    }
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

    /// Shows lines in the place of the ones before, on a terminal.
    pub(crate) fn show(&mut self, lines: Vec<String>) {
        if let LiveLines::Terminal(terminal) = self {
            terminal.show(lines);
        }
    }

    /// Removes the live lines. If `keeps_last`, those of a comparison stay as its summary.
    pub(crate) fn end(&mut self, keeps_last: bool) {
        let LiveLines::Terminal(terminal) = self else { return };
        let _ = terminal.bars.clear();
        terminal.lines.clear();
        if let Some(mut snapshot) = terminal.last.take().filter(|_| keeps_last) {
            // Nothing is left to wait for.
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
    bars: MultiProgress,
    lines: Vec<ProgressBar>,
    has_colour: bool,
    /// The width of the terminal and of each line when they were drawn.
    drawn: (usize, Vec<usize>),
    draws: RateLimit,
    /// The last state of a comparison.
    last: Option<Box<Snapshot>>,
}

impl Terminal {
    fn new() -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(RATE);
        let choice = anstream::AutoStream::choice(&std::io::stderr());
        Terminal {
            bars: MultiProgress::with_draw_target(target),
            lines: Vec::new(),
            has_colour: choice != anstream::ColorChoice::Never,
            drawn: (0, Vec::new()),
            draws: RateLimit::default(),
            last: None,
        }
    }

    fn draw(&mut self, snapshot: &Snapshot) {
        let (width, height) = terminal_size();
        self.show(lines::live(snapshot, width, height));
    }

    fn show(&mut self, drawn: Vec<String>) {
        let columns = terminal_size().0;
        let extra = folded_rows(&self.drawn, columns);
        if extra > 0 {
            // The terminal has become narrower and has folded what was drawn.
            self.bars.suspend(|| {
                let _ = write!(std::io::stderr().lock(), "\x1b[{extra}A\x1b[J");
            });
        }
        while self.lines.len() < drawn.len() {
            let style = ProgressStyle::with_template("{msg}");
            let bar = self.bars.add(ProgressBar::new_spinner());
            self.lines.push(style.map_or(bar.clone(), |style| bar.with_style(style)));
        }
        for line in self.lines.drain(drawn.len()..) {
            self.bars.remove(&line);
        }
        let width = columns.saturating_sub(1);
        self.drawn = (columns, Vec::new());
        for (bar, line) in self.lines.iter().zip(drawn) {
            let plain = plain(&line);
            let length = plain.chars().count();
            self.drawn.1.push(length.min(width));
            bar.set_message(match (length <= width, self.has_colour) {
                (false, _) => plain.chars().take(width).collect(),
                (true, false) => plain,
                (true, true) => line,
            });
            bar.tick();
        }
    }
}

/// Allows [`RATE`] draws a second on average, and as many at once after a pause, so that
/// what is drawn right before a long run is up to date.
#[derive(Debug)]
struct RateLimit {
    /// How many draws are allowed now.
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
    /// Whether to draw at a time, in seconds since sampling began. An earlier time than the
    /// last one is that of another comparison.
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

/// How many rows more the lines of a wider terminal take in one of `columns`.
fn folded_rows((width, lengths): &(usize, Vec<usize>), columns: usize) -> usize {
    if columns == 0 || columns >= *width {
        return 0;
    }
    lengths.iter().map(|length| length.saturating_sub(1) / columns).sum()
}

/// The columns and rows of the terminal, or the usual numbers.
fn terminal_size() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // Another comparison begins anew.
        assert!((0..10).all(|pair| draws.allows(0.001 * f64::from(pair))));
    }

    #[test]
    fn a_narrower_terminal_folds_lines_and_a_wider_one_none() {
        let before = (80, vec![79, 40, 41, 0]);
        assert_eq!(folded_rows(&before, 120), 0);
        assert_eq!(folded_rows(&before, 80), 0);
        assert_eq!(folded_rows(&before, 40), 2);
        assert_eq!(folded_rows(&before, 20), 3 + 1 + 2);
        assert_eq!(folded_rows(&before, 0), 0);
    }
}
