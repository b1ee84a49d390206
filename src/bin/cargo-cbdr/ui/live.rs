//! The live lines, drawn between runs only: there is no ticker. In a log, a permanent line every
//! few seconds.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use cargo_cbdr::engine::experiment::{Experiment, Snapshot};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};

use super::fold::{error_width, folded};
use super::frame::Frame;
use super::lines::{self, FEW, Gauge};
use super::verbosity::{Verbosity, verbosity};
use super::width::plain;
use super::{GOOD, Place, status_line, text};
use crate::cli::ProgressForm;

/// The maximum number of draws per second.
const RATE: u8 = 10;

/// Seconds between two lines of a log at the beginning. Later it is a sixth of the time
/// spent, so that a long log stays short.
const LOG_INTERVAL: f64 = 5.0;

/// When the latest line of a log was printed, seconds since a start.
#[derive(Default)]
pub(crate) struct LogPace(f64);

impl LogPace {
    /// Whether a line is printed `elapsed` seconds after the start.
    fn is_due(&mut self, elapsed: f64) -> bool {
        let is_due = elapsed >= self.0 + LOG_INTERVAL.max(self.0 / 6.0);
        self.0 = if is_due { elapsed } else { self.0 };
        is_due
    }
}

pub(crate) enum LiveLines {
    Terminal(Terminal),
    Log {
        /// Since sampling began.
        pace: LogPace,
        /// The maximum number of lines at a time.
        most: usize,
        /// The news of the previous lines.
        said: Vec<String>,
        /// That of steps before sampling, and the latest other line, since which it counts.
        steps: (Instant, LogPace),
    },
    None,
}

impl LiveLines {
    pub(crate) fn new(verbosity: Verbosity) -> Self {
        match verbosity.progress {
            ProgressForm::Live => LiveLines::Terminal(Terminal::new()),
            ProgressForm::Plain => {
                let most = if verbosity.is_verbose { usize::MAX } else { FEW };
                let (pace, steps) = (LogPace::default(), (Instant::now(), LogPace::default()));
                LiveLines::Log { pace, most, said: Vec::new(), steps }
            }
            ProgressForm::None => LiveLines::None,
        }
    }

    /// Prints a permanent line above the live lines, unless the program is to be quiet. If the
    /// terminal is too narrow, continuation lines are indented by `indent`.
    pub(crate) fn print(&mut self, line: &str, indent: usize) {
        let line = folded(line, error_width(), indent);
        match self {
            LiveLines::Terminal(terminal) => return terminal.print(&line),
            LiveLines::Log { steps, .. } => *steps = (Instant::now(), LogPace::default()),
            LiveLines::None if verbosity().is_quiet => return,
            LiveLines::None => {}
        }
        let _ = writeln!(anstream::stderr().lock(), "{line}");
    }

    /// Shows a step: as a live line, with a bar if it is one of a known number, or as the line of a
    /// log if it is due.
    pub(crate) fn step(&mut self, verb: &str, thing: &str, place: Place) {
        let number = place.map(|(number, of)| format!("{number} of {of}"));
        match self {
            LiveLines::Terminal(terminal) => {
                let text = format!("{} {}", verb.to_lowercase(), text::line(thing));
                match place.zip(number) {
                    None => terminal.show(&[format!("  {text}")], None),
                    Some(((done, of), after)) => {
                        let (done, of) = (done as u64, of as u64);
                        terminal.show(&[], Some(Gauge { before: text, done, of, after }));
                    }
                }
            }
            LiveLines::Log { steps: (since, pace), .. } => {
                if pace.is_due(since.elapsed().as_secs_f64()) {
                    let number = number.map_or(String::new(), |number| format!(": {number}"));
                    log_status(verb, &format!("{thing}{number}"));
                }
            }
            LiveLines::None => {}
        }
    }

    /// Shows the progress of sampling, unless that was shown a moment ago.
    pub(crate) fn draw(&mut self, progress: &Experiment) {
        let elapsed = progress.elapsed();
        match self {
            LiveLines::Terminal(terminal) => {
                let plan = progress.plan();
                if plan.is_over_layouts && progress.decided().next().is_some() {
                    terminal.over_layouts.push(progress.snapshot());
                }
                if !terminal.draws.allows(elapsed) {
                    return;
                }
                let snapshot = progress.snapshot();
                match plan.is_longer {
                    true => terminal.show_gauge(Some(lines::gauge(&snapshot, terminal_size().0))),
                    false => terminal.draw(snapshot, plan.is_over_layouts),
                }
            }
            LiveLines::Log { pace, most, said, .. } => {
                if pace.is_due(elapsed) {
                    let lines = lines::log(&progress.snapshot(), *most);
                    for line in lines.iter().filter(|line| !said.contains(&line.news)) {
                        log_status("Sampling", &line.text);
                    }
                    *said = lines.into_iter().map(|line| line.news).collect();
                }
            }
            LiveLines::None => {}
        }
    }

    /// Shows the last state of a comparison, with the verdicts over layouts once there are any.
    pub(crate) fn draw_last(&mut self, progress: &Experiment) {
        let LiveLines::Terminal(terminal) = self else { return };
        let snapshot = progress.snapshot();
        match (progress.plan().is_over_layouts, &mut terminal.last) {
            (true, Some(last)) => lines::overrule(last, &snapshot),
            (true, None) => return,
            // There is nothing left to wait for.
            (false, last) => {
                *last =
                    Some(Box::new(Snapshot { remaining: None, is_unlikely: false, ..snapshot }));
            }
        }
        let lines = terminal.last_lines();
        terminal.show(&lines, None);
    }

    /// Replaces the previous lines by others, on a terminal.
    pub(crate) fn show(&mut self, lines: &[String]) {
        if let LiveLines::Terminal(terminal) = self {
            terminal.show(lines, None);
        }
    }

    /// Removes the live lines. With `keeps_last`, those of a comparison stay as its summary.
    pub(crate) fn end(&mut self, keeps_last: bool) {
        let LiveLines::Terminal(terminal) = self else { return };
        let lines = terminal.last_lines();
        terminal.last = None;
        terminal.over_layouts.clear();
        terminal.show(&[], None);
        for line in lines.iter().filter(|_| keeps_last) {
            let _ = writeln!(anstream::stderr().lock(), "{line}");
        }
    }
}

/// Prints a status line of a log.
fn log_status(verb: &str, thing: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}", status_line(GOOD, verb, thing));
}

/// The live lines of a terminal. indicatif composes the gauge below them, and a [`Frame`] replaces
/// what is on the screen in one write.
pub(crate) struct Terminal {
    /// Without the gauge.
    lines: Vec<String>,
    frame: Frame,
    has_colour: bool,
    draws: RateLimit,
    /// What was decided over layouts while others are still measured.
    over_layouts: Vec<Snapshot>,
    /// The last state of a comparison.
    last: Option<Box<Snapshot>>,
    /// How far the scale reaches. It only widens, so that what shrinks is the interval.
    reach: f64,
}

impl Terminal {
    fn new() -> Self {
        let choice = anstream::AutoStream::choice(&io::stderr());
        Terminal {
            lines: Vec::new(),
            frame: Frame::default(),
            has_colour: choice != anstream::ColorChoice::Never,
            draws: RateLimit(f64::NEG_INFINITY),
            over_layouts: Vec::new(),
            last: None,
            reach: 0.0,
        }
    }

    /// The lines of the last state of a comparison, if there is one.
    fn last_lines(&mut self) -> Vec<String> {
        let Some(last) = &self.last else { return Vec::new() };
        self.reach = self.reach.max(lines::reach(last));
        lines::last(last, self.reach, terminal_size())
    }

    fn draw(&mut self, mut snapshot: Snapshot, is_over_layouts: bool) {
        if !is_over_layouts {
            self.over_layouts.iter().for_each(|over| lines::overrule(&mut snapshot, over));
        }
        let reach = self.reach.max(lines::reach(&snapshot));
        // What is measured again must not squeeze what comes after it.
        if !is_over_layouts {
            self.reach = reach;
        }
        let size = terminal_size();
        let lines = lines::metric_lines(&snapshot, reach, size);
        self.show(&lines, Some(lines::gauge(&snapshot, size.0)));
    }

    /// Shows these lines, and a gauge below them.
    fn show(&mut self, lines: &[String], gauge: Option<Gauge>) {
        let width = terminal_size().0;
        let cut = |line: &String| self.coloured(lines::cut(line, width));
        self.lines = lines.iter().map(cut).collect();
        self.show_gauge(gauge);
    }

    /// Shows other progress below the same lines.
    fn show_gauge(&mut self, gauge: Option<Gauge>) {
        let size = terminal_size();
        let gauge = gauge.map(|gauge| composed(gauge, size.0));
        let lines = self.lines.iter().cloned().chain(gauge).collect();
        write(&self.frame.shown(lines, size));
    }

    fn print(&mut self, line: &str) {
        write(&self.frame.above(&self.coloured(line.to_owned()), terminal_size()));
    }

    /// A line, with colours if this terminal has them.
    fn coloured(&self, line: String) -> String {
        if self.has_colour { line } else { plain(&line) }
    }
}

/// The line of a gauge on a terminal of `width` columns.
pub(super) fn composed(gauge: Gauge, width: usize) -> String {
    let template = match gauge.bar(width.saturating_sub(2)) {
        Some(width) => format!("  {{prefix}} {{bar:{width}}} {{msg}}"),
        None => "  {prefix} {msg}".to_owned(),
    };
    // It is a constant but for the width.
    let style = ProgressStyle::with_template(&template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("█░");
    let line = Composed::default();
    let target = ProgressDrawTarget::term_like(Box::new(line.clone()));
    let bar = ProgressBar::with_draw_target(Some(gauge.of), target).with_style(style);
    bar.with_position(gauge.done).with_prefix(gauge.before).with_message(gauge.after).tick();
    line.text().trim_end().to_owned()
}

/// What indicatif writes as to a terminal. Its movements of the cursor are left to [`Frame`], which
/// also knows what a narrower terminal has wrapped.
#[derive(Clone, Debug, Default)]
struct Composed(Arc<Mutex<String>>);

impl Composed {
    fn text(&self) -> MutexGuard<'_, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TermLike for Composed {
    fn width(&self) -> u16 {
        u16::try_from(terminal_size().0).unwrap_or(u16::MAX).max(2)
    }

    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.write_str(line)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.text().push_str(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes everything at once, so that a terminal does not show half of it.
fn write(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Allows [`RATE`] draws per second on average, and as many at once after a pause, so that the
/// last draw before a long run is up to date. Has when the next draw would be due if none had
/// been late, in seconds since sampling began.
#[derive(Debug)]
struct RateLimit(f64);

impl RateLimit {
    fn allows(&mut self, now: f64) -> bool {
        let interval = 1.0 / f64::from(RATE);
        // If it is due much later, it was that of another comparison.
        let earliest = now - 1.0 + interval;
        let due = if self.0 > now + interval { earliest } else { self.0.max(earliest) };
        let is_allowed = due <= now;
        self.0 = if is_allowed { due + interval } else { due };
        is_allowed
    }
}

/// The columns and rows of the terminal, or default numbers.
fn terminal_size() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(io::stderr());
    size.map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_fewer_and_fewer_lines_of_long_steps() {
        let mut pace = LogPace::default();
        let due: Vec<u32> = (0..120).filter(|second| pace.is_due(f64::from(*second))).collect();
        assert_eq!(due, [5, 10, 15, 20, 25, 30, 35, 41, 48, 56, 66, 77, 90, 105]);
    }

    #[test]
    fn short_pairs_are_drawn_ten_times_a_second_and_long_ones_always() {
        let mut draws = RateLimit(f64::NEG_INFINITY);
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
