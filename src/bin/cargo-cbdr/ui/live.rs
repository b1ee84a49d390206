//! The live lines, drawn between runs only: there is no ticker. In a log, a permanent line every
//! few seconds.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cargo_cbdr::engine::experiment::{Experiment, Snapshot};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};

use super::fold::{error_width, folded};
use super::frame::Frame;
use super::lines::{self, FEW, Gauge, View};
use super::style::{GOOD, status_line};
use super::text;
use super::verbosity::{Verbosity, verbosity};
use super::width::plain;
use crate::cli::ProgressForm;

/// Which of how many something is, if that is known.
pub(super) type Place = Option<(usize, usize)>;

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

/// What was decided over layouts while others are still measured: the latest state of each group
/// of benchmarks.
#[derive(Default)]
pub(crate) struct OverLayouts(Vec<Snapshot>);

impl OverLayouts {
    fn remember(&mut self, progress: &Experiment) {
        if progress.plan().is_over_layouts && progress.decided().next().is_some() {
            self.add(progress.snapshot());
        }
    }

    fn add(&mut self, latest: Snapshot) {
        let names =
            |of: &Snapshot| of.benchmarks.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
        let own = names(&latest);
        self.0.retain(|known| names(known) != own);
        self.0.push(latest);
    }

    /// A state of the comparison as built, with these verdicts.
    fn overrule(&self, mut as_built: Snapshot) -> Snapshot {
        self.0.iter().for_each(|over| lines::overrule(&mut as_built, over));
        as_built
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
        over_layouts: OverLayouts,
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
                let over_layouts = OverLayouts::default();
                LiveLines::Log { pace, most, said: Vec::new(), steps, over_layouts }
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
                terminal.show(match place.zip(number) {
                    None => View { lines: vec![format!("  {text}")], gauge: None },
                    Some(((done, of), after)) => {
                        let (done, of) = (done as u64, of as u64);
                        let gauge = Some(Gauge { before: text, done, of, after });
                        View { lines: Vec::new(), gauge }
                    }
                });
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
        let (elapsed, plan) = (progress.elapsed(), progress.plan());
        let is_as_built = !plan.is_over_layouts && !plan.is_longer;
        match self {
            LiveLines::Terminal(terminal) => {
                terminal.over_layouts.remember(progress);
                if !terminal.draws.allows(elapsed) {
                    return;
                }
                let snapshot = progress.snapshot();
                match plan.is_longer {
                    true => terminal.show_gauge(Some(lines::gauge(&snapshot, terminal_size().0))),
                    false => terminal.draw(snapshot, is_as_built),
                }
            }
            LiveLines::Log { pace, most, said, over_layouts, .. } => {
                over_layouts.remember(progress);
                if pace.is_due(elapsed) {
                    let mut snapshot = progress.snapshot();
                    if is_as_built {
                        snapshot = over_layouts.overrule(snapshot);
                    }
                    let lines = lines::log(&snapshot, *most);
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
        terminal.show(View { lines, gauge: None });
    }

    /// Replaces the previous lines by others, on a terminal.
    pub(crate) fn show(&mut self, lines: Vec<String>) {
        if let LiveLines::Terminal(terminal) = self {
            terminal.show(View { lines, gauge: None });
        }
    }

    /// Removes the live lines. With `keeps_last`, those of a comparison stay as its summary.
    pub(crate) fn end(&mut self, keeps_last: bool) {
        let terminal = match self {
            LiveLines::Terminal(terminal) => terminal,
            // The next comparison begins at second 0.
            LiveLines::Log { pace, said, over_layouts, .. } => {
                (*pace, *over_layouts) = (LogPace::default(), OverLayouts::default());
                return said.clear();
            }
            LiveLines::None => return,
        };
        let lines = terminal.last_lines();
        terminal.last = None;
        terminal.over_layouts = OverLayouts::default();
        terminal.show(View::default());
        for line in lines.iter().filter(|_| keeps_last) {
            let _ = writeln!(anstream::stderr().lock(), "{line}");
        }
    }
}

/// Prints a status line of a log.
fn log_status(verb: &str, thing: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}", status_line(GOOD, verb, thing));
}

/// The live lines of a terminal. indicatif composes them, and a [`Frame`] replaces what is on the
/// screen by them in one write.
pub(crate) struct Terminal {
    composed: Composed,
    lines: ProgressBar,
    gauge: ProgressBar,
    frame: Frame,
    has_colour: bool,
    draws: RateLimit,
    over_layouts: OverLayouts,
    /// The last state of a comparison.
    last: Option<Box<Snapshot>>,
    /// How far the scale reaches. It only widens, so that what shrinks is the interval.
    reach: f64,
}

impl Terminal {
    fn new() -> Self {
        let choice = anstream::AutoStream::choice(&io::stderr());
        let composed = Composed::default();
        let target = ProgressDrawTarget::term_like(Box::new(composed.clone()));
        let bars = MultiProgress::with_draw_target(target);
        Terminal {
            composed,
            lines: bars.add(ProgressBar::new(0).with_style(style("{msg}"))),
            gauge: bars.add(ProgressBar::new(0).with_style(style(""))),
            frame: Frame::default(),
            has_colour: choice != anstream::ColorChoice::Never,
            draws: RateLimit(f64::NEG_INFINITY),
            over_layouts: OverLayouts::default(),
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

    fn draw(&mut self, mut snapshot: Snapshot, is_as_built: bool) {
        if is_as_built {
            snapshot = self.over_layouts.overrule(snapshot);
        }
        let reach = self.reach.max(lines::reach(&snapshot));
        // What is measured again must not squeeze what comes after it.
        if is_as_built {
            self.reach = reach;
        }
        self.show(lines::live(&snapshot, reach, terminal_size()));
    }

    fn show(&mut self, View { lines, gauge }: View) {
        let width = terminal_size().0;
        let cut = |line: &String| self.coloured(lines::cut(line, width));
        let lines: Vec<String> = lines.iter().map(cut).collect();
        self.lines.set_message(lines.join("\n"));
        self.show_gauge(gauge);
    }

    /// Shows other progress below the same lines.
    fn show_gauge(&mut self, gauge: Option<Gauge>) {
        let size = terminal_size();
        match gauge {
            None => self.gauge.set_style(style("")),
            Some(gauge) => {
                self.gauge.set_style(match gauge.bar(size.0.saturating_sub(2)) {
                    Some(width) => style(&format!("  {{prefix}} {{bar:{width}}} {{msg}}")),
                    None => style("  {prefix} {msg}"),
                });
                self.gauge.set_length(gauge.of);
                self.gauge.set_position(gauge.done);
                self.gauge.set_prefix(gauge.before);
                self.gauge.set_message(gauge.after);
            }
        }
        self.gauge.tick();
        write(&self.frame.shown(self.composed.lines(), size));
    }

    fn print(&mut self, line: &str) {
        write(&self.frame.above(&self.coloured(line.to_owned()), terminal_size()));
    }

    /// A line, with colours if this terminal has them.
    fn coloured(&self, line: String) -> String {
        if self.has_colour { line } else { plain(&line) }
    }
}

/// The lines that indicatif composed last, by writing them as to a terminal. Its movements of the
/// cursor are left to [`Frame`], which also knows what a narrower terminal has wrapped.
#[derive(Clone, Debug, Default)]
struct Composed(Arc<Mutex<Composition>>);

#[derive(Debug, Default)]
struct Composition {
    /// Each line, and the blanks after it, until they are flushed.
    open: Vec<String>,
    flushed: Vec<String>,
}

impl Composed {
    fn lines(&self) -> Vec<String> {
        self.with(|written| {
            let lines = written.flushed.iter().step_by(2).map(|line| line.trim_end().to_owned());
            lines.filter(|line| !line.is_empty()).collect()
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Composition) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TermLike for Composed {
    fn width(&self) -> u16 {
        u16::try_from(terminal_size().0).unwrap_or(u16::MAX).max(2)
    }

    fn height(&self) -> u16 {
        u16::try_from(terminal_size().1).unwrap_or(u16::MAX)
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
        self.with(|written| written.open.extend([line.to_owned(), String::new()]));
        Ok(())
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.with(|written| written.open.push(text.to_owned()));
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.with(|written| written.flushed = std::mem::take(&mut written.open));
        Ok(())
    }
}

/// A style of this template, all of which are constants but for the width of a bar.
fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("█░")
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
    use cargo_cbdr::model::Verdict;

    #[test]
    fn a_log_has_fewer_and_fewer_lines_of_long_steps() {
        let mut pace = LogPace::default();
        let due: Vec<u32> = (0..120).filter(|second| pace.is_due(f64::from(*second))).collect();
        assert_eq!(due, [5, 10, 15, 20, 25, 30, 35, 41, 48, 56, 66, 77, 90, 105]);
    }

    #[test]
    fn what_was_decided_over_layouts_counts_in_the_lines_as_built() {
        let state = |name: &str, verdict| {
            let mut state = lines::tests::snapshot(Some(0.03), 0.05, None);
            state.benchmarks[0].name = name.to_owned();
            state.benchmarks[0].metrics[0].verdict = Some(verdict);
            state
        };
        let mut over = OverLayouts::default();
        for (name, verdict) in [
            ("one", Verdict::Inconclusive),
            ("other", Verdict::NoRegression),
            ("one", Verdict::Regression),
        ] {
            over.add(state(name, verdict));
        }
        // The latest state of each is kept.
        assert_eq!(over.0.len(), 2);
        let mut as_built = state("one", Verdict::Inconclusive);
        for name in ["other", "third"] {
            as_built.benchmarks.extend(state(name, Verdict::Inconclusive).benchmarks);
        }
        let verdicts = over.overrule(as_built).benchmarks;
        let verdicts = verdicts.iter().map(|of| of.metrics[0].verdict.unwrap());
        let expected = [Verdict::Regression, Verdict::NoRegression, Verdict::Inconclusive];
        assert_eq!(verdicts.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_log_of_another_comparison_begins_again() {
        let (pace, steps) = (LogPace(60.0), (Instant::now(), LogPace::default()));
        let over_layouts = OverLayouts::default();
        let said = vec!["1 passed".to_owned()];
        let mut live = LiveLines::Log { pace, most: FEW, said, steps, over_layouts };
        live.end(true);
        let LiveLines::Log { pace, said, .. } = &mut live else { unreachable!() };
        assert!(pace.is_due(5.0));
        assert_eq!(said.len(), 0);
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
