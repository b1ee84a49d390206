//! The live lines: one for each gating metric, redrawn between runs only. On
//! what is no terminal, a calm line every few seconds.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use cargo_cbdr::runner::Progress;
use cargo_cbdr::verdict::{BenchmarkResult, MetricResult, Verdict};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{status_line, text, verdict_style};

const DIM: Style = Style::new().dimmed();

/// How often the live lines are drawn at most, times a second.
const RATE: u8 = 10;

/// Seconds between two lines of a log, at first; later a sixth of the time
/// spent, so that a long log stays short.
const CALM: f64 = 5.0;

/// Up to this many questions have a line each in a log.
const FEW: usize = 3;

/// Up to this many lines are drawn.
const MANY: usize = 8;

/// Draws progress.
pub(crate) enum Live {
    Terminal { bars: MultiProgress, lines: Vec<ProgressBar>, colour: bool },
    Log { next: f64 },
}

impl Live {
    pub(crate) fn new(terminal: bool) -> Self {
        if terminal {
            let target = ProgressDrawTarget::stderr_with_hz(RATE);
            let bars = MultiProgress::with_draw_target(target);
            let choice = anstream::AutoStream::choice(&std::io::stderr());
            let colour = choice != anstream::ColorChoice::Never;
            Live::Terminal { bars, lines: Vec::new(), colour }
        } else {
            Live::Log { next: CALM }
        }
    }

    /// Prints a line that stays.
    pub(crate) fn line(&mut self, line: &str) {
        let print = || {
            let _ = writeln!(anstream::stderr().lock(), "{line}");
        };
        match self {
            Live::Terminal { bars, .. } => bars.suspend(print),
            Live::Log { .. } => print(),
        }
    }

    /// Shows how far sampling has come.
    pub(crate) fn draw(&mut self, progress: &Progress) {
        match self {
            Live::Terminal { .. } => {
                let width = terminal_width();
                let line = |&(benchmark, metric): &_| live_line(progress, benchmark, metric, width);
                let gating = gating(progress);
                let shown = shown(&gating);
                let mut lines: Vec<String> = shown.iter().map(line).collect();
                if shown.len() < gating.len() {
                    lines.push(format!("  {}", count_line(progress, &gating)));
                }
                self.show(lines);
            }
            Live::Log { next } => {
                if progress.elapsed >= *next {
                    *next = progress.elapsed + CALM.max(progress.elapsed / 6.0);
                    let gating = gating(progress);
                    let lines = match gating.len() {
                        0..=FEW => gating.iter().map(|(b, m)| log_line(progress, b, m)).collect(),
                        _ => vec![count_line(progress, &gating)],
                    };
                    for line in lines {
                        let line = status_line("Sampling", &line);
                        let _ = writeln!(anstream::stderr().lock(), "{line}");
                    }
                }
            }
        }
    }

    /// Shows lines in the place of those before, on a terminal.
    pub(crate) fn show(&mut self, drawn: Vec<String>) {
        let Live::Terminal { bars, lines, colour } = self else {
            return;
        };
        while lines.len() < drawn.len() {
            let style = ProgressStyle::with_template("{msg}");
            let bar = bars.add(ProgressBar::new_spinner());
            lines.push(style.map_or(bar.clone(), |style| bar.with_style(style)));
        }
        for line in lines.drain(drawn.len().min(lines.len())..) {
            bars.remove(&line);
        }
        let width = terminal_width().saturating_sub(1);
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

    /// Takes the live lines away.
    pub(crate) fn end(&mut self) {
        if let Live::Terminal { bars, lines, .. } = self {
            let _ = bars.clear();
            lines.clear();
        }
    }
}

/// The columns of the terminal, or the usual number.
fn terminal_width() -> usize {
    terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0))
}

fn gating(progress: &Progress) -> Vec<(&BenchmarkResult, &MetricResult)> {
    let all = progress.benchmarks.iter().flat_map(|b| b.metrics.iter().map(move |m| (b, m)));
    all.filter(|(_, metric)| metric.threshold.is_some()).collect()
}

/// What is drawn of many: those that are open, as many as there is room for.
fn shown<'a>(
    gating: &[(&'a BenchmarkResult, &'a MetricResult)],
) -> Vec<(&'a BenchmarkResult, &'a MetricResult)> {
    if gating.len() <= MANY {
        return gating.to_vec();
    }
    let open = gating.iter().filter(|(_, metric)| metric.verdict == Some(Verdict::Inconclusive));
    open.take(MANY - 1).copied().collect()
}

/// How many of many questions have which answer.
fn count_line(progress: &Progress, gating: &[(&BenchmarkResult, &MetricResult)]) -> String {
    let number = |verdict| {
        let found = gating.iter().filter(|(_, metric)| metric.verdict == Some(verdict)).count();
        (found > 0).then(|| format!("{found} {verdict}"))
    };
    let verdicts = [Verdict::Regression, Verdict::NoRegression, Verdict::Inconclusive];
    let numbers: Vec<String> = verdicts.into_iter().filter_map(number).collect();
    let pairs = gating.iter().map(|(benchmark, _)| benchmark.pairs).max().unwrap_or(0);
    let (spent, limit) = (text::seconds(progress.elapsed), text::roughly(progress.limit));
    let left = progress.remaining.filter(|left| *left > 0.0);
    let left = left.map_or(String::new(), |left| format!(", ~{} left", text::roughly(left)));
    format!(
        "{} verdicts: {}; up to {}, {spent}/{limit}{left}",
        gating.len(),
        numbers.join(", ").replace("inconclusive", "open"),
        text::count(pairs, "pair")
    )
}

fn name(progress: &Progress, benchmark: &BenchmarkResult, metric: &MetricResult) -> String {
    match progress.benchmarks.len() {
        1 => metric.metric.name.clone(),
        _ => format!("{} {}", benchmark.name, metric.metric.name),
    }
}

/// What stands behind the interval: pairs, time of the time limit, and what
/// is left.
fn tail(progress: &Progress, benchmark: &BenchmarkResult, metric: &MetricResult) -> String {
    let pairs = text::count(benchmark.pairs, "pair");
    let (spent, limit) = (text::seconds(progress.elapsed), text::roughly(progress.limit));
    let left = match (metric.verdict, progress.remaining) {
        (Some(Verdict::Inconclusive), Some(left)) => format!(", ~{} left", text::roughly(left)),
        (Some(Verdict::Inconclusive) | None, _) => String::new(),
        (Some(verdict), _) => format!(", {verdict}"),
    };
    format!("{pairs}, {spent}/{limit}{left}")
}

fn interval(metric: &MetricResult) -> String {
    let summary = &metric.summary;
    text::interval(summary.lower, summary.upper)
}

fn log_line(progress: &Progress, benchmark: &BenchmarkResult, metric: &MetricResult) -> String {
    let name = name(progress, benchmark, metric);
    let change = metric.summary.change.map_or("?".to_owned(), text::percent);
    let threshold = metric.threshold.map_or(String::new(), text::percent);
    let (interval, tail) = (interval(metric), tail(progress, benchmark, metric));
    format!("{name} {change} {interval}, threshold {threshold}; {tail}")
}

/// The line of one metric, no longer than the terminal is wide.
fn live_line(
    progress: &Progress,
    benchmark: &BenchmarkResult,
    metric: &MetricResult,
    width: usize,
) -> String {
    let name = text::clean(&name(progress, benchmark, metric));
    let change = metric.summary.change.map_or("?".to_owned(), text::percent);
    let tail = tail(progress, benchmark, metric);
    let interval = interval(metric);
    // Two spaces before, one between the parts, none at the right edge.
    let taken = |parts: &[&str]| parts.iter().map(|part| part.chars().count() + 1).sum::<usize>();
    let full = width.saturating_sub(taken(&[&name, &change, &interval, &tail]) + 4);
    let style = match metric.verdict {
        Some(Verdict::Inconclusive) | None => AnsiColor::Yellow.on_default(),
        Some(verdict) => verdict_style(verdict),
    };
    if full >= 10 {
        let scale = scale(metric, full.min(60), style);
        return format!("  {name} {style}{change}{style:#} {interval} {scale} {tail}");
    }
    let narrow = width.saturating_sub(taken(&[&name, &change, &tail]) + 4);
    if narrow >= 8 {
        let scale = scale(metric, narrow, style);
        return format!("  {name} {style}{change}{style:#} {scale} {tail}");
    }
    let line = format!("  {name} {change} {interval} {tail}");
    line.chars().take(width.saturating_sub(1)).collect()
}

/// The interval on a scale of `width` columns that has the threshold in its
/// middle: `···━━━━●━│━···`.
fn scale(metric: &MetricResult, width: usize, style: Style) -> String {
    let threshold = metric.threshold.unwrap_or_default();
    let summary = &metric.summary;
    let reach = reach(metric, threshold);
    let last = (width - 1) as f64;
    let column = |change: f64| {
        let place = (change - threshold) / reach;
        ((place + 1.0) / 2.0 * last).round().clamp(0.0, last) as usize
    };
    let from = column(summary.lower.unwrap_or(f64::NEG_INFINITY));
    let to = column(summary.upper.unwrap_or(f64::INFINITY));
    let at = summary.change.map(column);
    let middle = column(threshold);
    let mut drawn = String::new();
    for place in 0..width {
        let inside = (from..=to).contains(&place);
        if Some(place) == at && place != middle {
            drawn.push_str(&format!("{style}●{style:#}"));
        } else if place == middle {
            drawn.push('│');
        } else if inside {
            drawn.push_str(&format!("{style}━{style:#}"));
        } else {
            drawn.push_str(&format!("{DIM}·{DIM:#}"));
        }
    }
    drawn
}

/// How far the scale reaches to either side of the threshold: the least of
/// 1, 2, 5, 10 % and so on that holds the bounds there are, so that the
/// interval is seen to shrink between the few changes of scale.
fn reach(metric: &MetricResult, threshold: f64) -> f64 {
    let summary = &metric.summary;
    let ends = [summary.lower, summary.upper, summary.change];
    let finite = ends.into_iter().flatten().filter(|end| end.is_finite());
    let farthest = finite.map(|end| (end - threshold).abs());
    let farthest = farthest.fold(0.01, f64::max);
    let steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];
    steps.into_iter().find(|step| farthest <= *step).unwrap_or(farthest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cargo_cbdr::metric::{Metric, Unit};
    use cargo_cbdr::stats::estimator::Summary;
    use cargo_cbdr::verdict::Status;

    fn progress(lower: Option<f64>, change: f64, upper: Option<f64>) -> Progress {
        let summary = Summary {
            pairs: 12,
            base: Some(1.0),
            head: Some(1.0),
            change: Some(change),
            lower,
            upper,
        };
        let metric = Metric::cost("wall_time", Unit::Seconds);
        let open = Some(Verdict::Inconclusive);
        let result = MetricResult::new(metric, Some(0.02), summary, open);
        let benchmark = BenchmarkResult {
            name: "sum".into(),
            status: Status::Compared,
            pairs: 12,
            metrics: vec![result],
        };
        Progress { benchmarks: vec![benchmark], elapsed: 3.2, limit: 300.0, remaining: Some(8.0) }
    }

    fn plain(progress: &Progress, width: usize) -> String {
        let (benchmark, metric) = gating(progress)[0];
        let line = live_line(progress, benchmark, metric, width);
        anstream::adapter::strip_str(&line).to_string()
    }

    #[test]
    fn the_line_fits_any_terminal() {
        for progress in [
            progress(Some(-0.051), 0.004, Some(0.063)),
            progress(None, 0.004, None),
            progress(Some(-0.9), 250.0, Some(1e6)),
        ] {
            for width in 1..200 {
                let line = plain(&progress, width);
                assert!(line.chars().count() < width.max(1), "{width}: {line}");
            }
        }
    }

    #[test]
    fn the_scale_shows_the_interval_against_the_threshold() {
        let wide = plain(&progress(Some(-0.03), 0.0, Some(0.03)), 110);
        assert_eq!(
            wide,
            "  wall_time +0.00% [-3.00%, +3.00%] ━━━━━━━━━━━━━●━━━━━━━━│━━━━················· \
             12 pairs, 3.2s/5m, ~8s left"
        );
    }

    #[test]
    fn of_many_questions_the_open_ones_are_shown_and_all_are_counted() {
        let mut many = progress(Some(-0.03), 0.0, Some(0.03));
        many.benchmarks = vec![many.benchmarks[0].clone(); 12];
        assert_eq!(shown(&gating(&many)).len(), MANY - 1);
        for (number, benchmark) in many.benchmarks.iter_mut().enumerate() {
            let verdict = match number {
                0 => Verdict::Regression,
                1..=7 => Verdict::NoRegression,
                _ => Verdict::Inconclusive,
            };
            benchmark.metrics[0].verdict = Some(verdict);
        }
        let all = gating(&many);
        assert_eq!(shown(&all).len(), 4);
        let expected = "12 verdicts: 1 regression, 7 no-regression, 4 open; up to 12 pairs, \
                        3.2s/5m, ~8s left";
        assert_eq!(count_line(&many, &all), expected);
    }

    #[test]
    fn the_log_form_says_the_same_in_words() {
        let progress = progress(None, 0.004, Some(0.03));
        let (benchmark, metric) = gating(&progress)[0];
        assert_eq!(
            log_line(&progress, benchmark, metric),
            "wall_time +0.40% [-∞, +3.00%], threshold +2.00%; 12 pairs, 3.2s/5m, ~8s left"
        );
    }
}
