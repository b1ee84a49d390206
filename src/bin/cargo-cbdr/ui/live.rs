//! The live lines, redrawn between runs only. On what is no terminal, a calm
//! line every few seconds.

use std::io::Write;

use cargo_cbdr::engine::experiment::{Progress, Snapshot};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::lines::{self, FEW};
use super::manner::{self, Manner};
use super::status_line;
use crate::cli::ProgressForm;

/// How often the live lines are drawn at most, times a second.
const RATE: u8 = 10;

/// Seconds between two lines of a log, at first; later a sixth of the time
/// spent, so that a long log stays short.
const CALM: f64 = 5.0;

/// Draws progress.
pub(crate) enum Live {
    Terminal {
        bars: MultiProgress,
        lines: Vec<ProgressBar>,
        colour: bool,
        /// The width of the terminal and of each line when they were drawn.
        before: (usize, Vec<usize>),
        pace: Pace,
        /// The last state of a comparison, to stay where it is in the end.
        last: Option<Box<Snapshot>>,
    },
    Log {
        next: f64,
    },
    None,
}

impl Live {
    pub(crate) fn new(manner: Manner) -> Self {
        match manner.progress {
            ProgressForm::Live => {
                let target = ProgressDrawTarget::stderr_with_hz(RATE);
                let bars = MultiProgress::with_draw_target(target);
                let choice = anstream::AutoStream::choice(&std::io::stderr());
                let colour = choice != anstream::ColorChoice::Never;
                Live::Terminal {
                    bars,
                    lines: Vec::new(),
                    colour,
                    before: (0, Vec::new()),
                    pace: Pace::default(),
                    last: None,
                }
            }
            ProgressForm::Plain => Live::Log { next: CALM },
            ProgressForm::None => Live::None,
        }
    }

    /// Prints a line that stays.
    pub(crate) fn line(&mut self, line: &str) {
        let print = || {
            let _ = writeln!(anstream::stderr().lock(), "{line}");
        };
        match self {
            Live::Terminal { bars, .. } => bars.suspend(print),
            Live::Log { .. } | Live::None => print(),
        }
    }

    /// Shows how far sampling has come, unless that was shown a moment ago.
    pub(crate) fn draw(&mut self, progress: &Progress<'_>) {
        let elapsed = progress.elapsed();
        match self {
            Live::Terminal { pace, .. } => {
                if pace.allows(elapsed) {
                    let (width, height) = terminal_size();
                    self.show(lines::live(&progress.snapshot(), width, height));
                }
            }
            Live::Log { next } => {
                if elapsed >= *next {
                    *next = elapsed + CALM.max(elapsed / 6.0);
                    let most = if manner::manner().is_verbose { usize::MAX } else { FEW };
                    for line in lines::log(&progress.snapshot(), most) {
                        let line = status_line("Sampling", &line);
                        let _ = writeln!(anstream::stderr().lock(), "{line}");
                    }
                }
            }
            Live::None => {}
        }
    }

    /// Shows the last state of a comparison.
    pub(crate) fn draw_last(&mut self, progress: &Progress<'_>) {
        let Live::Terminal { last, .. } = self else { return };
        let snapshot = last.insert(Box::new(progress.snapshot()));
        let (width, height) = terminal_size();
        let drawn = lines::live(snapshot, width, height);
        self.show(drawn);
    }

    /// Shows lines in the place of those before, on a terminal.
    pub(crate) fn show(&mut self, drawn: Vec<String>) {
        let Live::Terminal { bars, lines, colour, before, .. } = self else {
            return;
        };
        let columns = terminal_size().0;
        let extra = wrapped(before, columns);
        if extra > 0 {
            // The terminal has become narrower and folded what was drawn.
            bars.suspend(|| {
                let _ = write!(std::io::stderr().lock(), "\x1b[{extra}A\x1b[J");
            });
        }
        while lines.len() < drawn.len() {
            let style = ProgressStyle::with_template("{msg}");
            let bar = bars.add(ProgressBar::new_spinner());
            lines.push(style.map_or(bar.clone(), |style| bar.with_style(style)));
        }
        for line in lines.drain(drawn.len().min(lines.len())..) {
            bars.remove(&line);
        }
        let width = columns.saturating_sub(1);
        let length = |line: &String| anstream::adapter::strip_str(line).to_string().chars().count();
        *before = (columns, drawn.iter().map(|line| length(line).min(width)).collect());
        for (line, drawn) in lines.iter().zip(drawn) {
            let plain = || anstream::adapter::strip_str(&drawn).to_string();
            let fits = plain().chars().count() <= width;
            line.set_message(match (*colour, fits) {
                (true, true) => drawn,
                (false, true) => plain(),
                (_, false) => plain().chars().take(width).collect(),
            });
            line.tick();
        }
    }

    /// Ends the live lines. Those of a comparison stay as its summary, unless
    /// that is not `wanted`; others go.
    pub(crate) fn end(&mut self, wanted: bool) {
        let Live::Terminal { bars, lines, colour, last, .. } = self else { return };
        let _ = bars.clear();
        lines.clear();
        if let Some(mut snapshot) = last.take().filter(|_| wanted) {
            // Nothing is left to be waited for.
            snapshot.remaining = None;
            let (width, height) = terminal_size();
            for line in lines::live(&snapshot, width, height) {
                let plain = || anstream::adapter::strip_str(&line).to_string();
                let line = if *colour { line } else { plain() };
                let _ = writeln!(anstream::stderr().lock(), "{line}");
            }
        }
    }
}

/// Allows [`RATE`] draws a second on average, and as many at once after a pause:
/// what is drawn right before a long run is then up to date.
#[derive(Debug)]
pub(crate) struct Pace {
    /// How many draws are allowed now.
    credit: f64,
    /// When that was counted.
    at: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { credit: RATE.into(), at: 0.0 }
    }
}

impl Pace {
    /// Whether to draw at a time, in seconds since sampling began; an earlier
    /// time than before is that of another comparison.
    fn allows(&mut self, now: f64) -> bool {
        if now < self.at {
            *self = Pace::default();
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
fn wrapped((width, lengths): &(usize, Vec<usize>), columns: usize) -> usize {
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
        let mut pace = Pace::default();
        // 3000 pairs of a millisecond: ten at once, and then ten a second.
        let drawn = (0..3000).filter(|pair| pace.allows(0.001 * f64::from(*pair))).count();
        assert!((38..=40).contains(&drawn), "{drawn}");
        // Between two long pairs, nine short ones.
        for round in 1..5 {
            let start = 60.0 * f64::from(round);
            assert!((0..10).all(|pair| pace.allows(start + 0.001 * f64::from(pair))));
        }
        // Another comparison begins anew.
        assert!((0..10).all(|pair| pace.allows(0.001 * f64::from(pair))));
    }

    #[test]
    fn a_narrower_terminal_folds_lines_and_a_wider_one_none() {
        let before = (80, vec![79, 40, 41, 0]);
        assert_eq!(wrapped(&before, 120), 0);
        assert_eq!(wrapped(&before, 80), 0);
        assert_eq!(wrapped(&before, 40), 2);
        assert_eq!(wrapped(&before, 20), 3 + 1 + 2);
        assert_eq!(wrapped(&before, 0), 0);
    }
}
