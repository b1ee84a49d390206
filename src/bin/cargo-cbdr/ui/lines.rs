//! The lines of a comparison that runs: a scale each, in columns, or words.

use anstyle::{AnsiColor, Style};
use cargo_cbdr::engine::experiment::Snapshot;
use cargo_cbdr::model::outcome::{BenchmarkResult, MetricResult, Verdict};

use super::{text, verdict_style};

const DIM: Style = Style::new().dimmed();

/// Up to this many questions have a line each in a log.
pub(super) const FEW: usize = 3;

/// Up to this many lines are drawn while others are open.
const MANY: usize = 12;

/// The widest that a scale gets, columns.
const WIDEST: usize = 60;

type Question<'a> = (&'a BenchmarkResult, &'a MetricResult);

/// The lines of a terminal of `width` columns and `height` rows: those of
/// all questions, or of the open ones where there are too many, below each other
/// on one scale, and one for all together.
pub(super) fn live(snapshot: &Snapshot, width: usize, height: usize) -> Vec<String> {
    // The `^C` that a terminal shows behind the last line is not to fold it.
    let width = width.saturating_sub(2);
    let gating = gating(snapshot);
    if let [(benchmark, metric)] = gating.as_slice() {
        return vec![live_line(snapshot, benchmark, metric, width)];
    }
    // A line for all, and one for the cursor.
    let room = MANY.min(height.saturating_sub(2)).max(1);
    let shown = shown(&gating, room);
    // What is decided may lie off it: the open ones are watched.
    let is_open = |metric: &MetricResult| metric.verdict == Some(Verdict::Inconclusive);
    let any = shown.iter().any(|(_, metric)| is_open(metric));
    let watched = shown.iter().filter(|(_, metric)| !any || is_open(metric));
    let farthest = watched.map(|(_, metric)| farthest(metric)).fold(0.0, f64::max);
    let reach = rounded_up(farthest);
    let names: Vec<String> = shown.iter().map(|(b, m)| text::line(&name(snapshot, b, m))).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let columns = Columns::new(width, longest, reach);
    let mut lines: Vec<String> =
        names.iter().zip(&shown).map(|(name, (_, metric))| columns.line(name, metric)).collect();
    let count = count_line(snapshot, &gating);
    let scale = format!("; scale: threshold ±{}%", text::rounded(100.0 * reach));
    let with_scale = format!("  {count}{scale}");
    let fits = columns.scale > 0 && with_scale.chars().count() < width;
    lines.push(if fits { with_scale } else { format!("  {count}") });
    lines.iter().map(|line| cut(line, width)).collect()
}

/// The lines of a log: one each of up to `most` questions, else one for all.
pub(super) fn log(snapshot: &Snapshot, most: usize) -> Vec<String> {
    let gating = gating(snapshot);
    if gating.len() > most {
        return vec![count_line(snapshot, &gating)];
    }
    gating.iter().map(|(benchmark, metric)| log_line(snapshot, benchmark, metric)).collect()
}

/// A line that would be too long loses its end, and its colours with it.
fn cut(line: &str, width: usize) -> String {
    let plain = anstream::adapter::strip_str(line).to_string();
    if plain.chars().count() < width.max(1) {
        return line.to_owned();
    }
    plain.chars().take(width.saturating_sub(1)).collect()
}

/// What a line below others consists of, in columns.
struct Columns {
    name: usize,
    /// None where there is no room for it.
    interval: usize,
    /// None where there is no room for it.
    scale: usize,
    /// Whether the verdict is in words; else it is a sign.
    words: bool,
    reach: f64,
}

const CHANGE: usize = 8;
const INTERVAL: usize = 18;
const VERDICT: usize = 13;

impl Columns {
    /// Shares `width` out: to the scale first, then to the words of the verdict,
    /// the names and the interval.
    fn new(width: usize, longest: usize, reach: f64) -> Self {
        // Two blanks before, one between the parts, one column left free.
        let room = width.saturating_sub(2 + 1 + 1 + CHANGE + 1);
        let name = longest.min((room / 2).max(8));
        let left = room.saturating_sub(name);
        let words = left >= 10 + 1 + 1 + VERDICT;
        let verdict = if words { VERDICT } else { 1 };
        let left = left.saturating_sub(verdict + 1);
        let has_interval = left >= INTERVAL + 1 + 20;
        let interval = if has_interval { INTERVAL } else { 0 };
        let left = if has_interval { left - INTERVAL - 1 } else { left };
        let scale = if left > 10 { (left - 1).min(WIDEST) } else { 0 };
        Columns { name, interval, scale, words, reach }
    }

    fn line(&self, name: &str, metric: &MetricResult) -> String {
        let style = style(metric);
        let mut shown: String = name.chars().take(self.name).collect();
        if name.chars().count() > self.name && self.name > 1 {
            shown = name.chars().take(self.name - 1).chain(['…']).collect();
        }
        let change = metric.summary.change.map_or("?".to_owned(), text::percent);
        let mut line = format!("  {shown:<0$} {style}{change:>CHANGE$}{style:#}", self.name);
        if self.interval > 0 {
            line.push_str(&format!(" {:^INTERVAL$}", interval(metric)));
        }
        if self.scale > 0 {
            line.push(' ');
            line.push_str(&scale(metric, self.scale, self.reach, style));
        }
        let verdict = match (metric.verdict, self.words) {
            (Some(Verdict::Inconclusive) | None, true) => "open".to_owned(),
            (Some(verdict), true) => verdict.to_string(),
            (Some(Verdict::Inconclusive) | None, false) => "?".to_owned(),
            (Some(Verdict::Regression), false) => "!".to_owned(),
            (Some(_), false) => "=".to_owned(),
        };
        format!("{line} {style}{verdict}{style:#}")
    }
}

fn style(metric: &MetricResult) -> Style {
    match metric.verdict {
        Some(Verdict::Inconclusive) | None => AnsiColor::Yellow.on_default(),
        Some(verdict) => verdict_style(verdict),
    }
}

fn gating(snapshot: &Snapshot) -> Vec<Question<'_>> {
    let all = snapshot.benchmarks.iter().flat_map(|b| b.metrics.iter().map(move |m| (b, m)));
    all.filter(|(_, metric)| metric.threshold.is_some()).collect()
}

/// What is drawn of many: those that are open, as many as there is `room` for.
fn shown<'a>(gating: &[Question<'a>], room: usize) -> Vec<Question<'a>> {
    if gating.len() <= room {
        return gating.to_vec();
    }
    let open = gating.iter().filter(|(_, metric)| metric.verdict == Some(Verdict::Inconclusive));
    open.take(room).copied().collect()
}

/// How many of many questions have which answer.
fn count_line(snapshot: &Snapshot, gating: &[(&BenchmarkResult, &MetricResult)]) -> String {
    let number = |verdict| {
        let found = gating.iter().filter(|(_, metric)| metric.verdict == Some(verdict)).count();
        (found > 0).then(|| format!("{found} {verdict}"))
    };
    let verdicts = [Verdict::Regression, Verdict::NoRegression, Verdict::Inconclusive];
    let numbers: Vec<String> = verdicts.into_iter().filter_map(number).collect();
    let pairs = gating.iter().map(|(benchmark, _)| benchmark.pairs).max().unwrap_or(0);
    let (spent, limit) = (text::seconds(snapshot.elapsed), text::roughly(snapshot.limit));
    let left = snapshot.remaining.filter(|left| *left > 0.0);
    let left = left.map_or(String::new(), |left| format!(", ~{} left", text::roughly(left)));
    format!(
        "{} verdicts: {}; up to {}, {spent}/{limit}{left}",
        gating.len(),
        numbers.join(", ").replace("inconclusive", "open"),
        text::count(pairs, "pair")
    )
}

fn name(snapshot: &Snapshot, benchmark: &BenchmarkResult, metric: &MetricResult) -> String {
    match snapshot.benchmarks.len() {
        1 => metric.name.clone(),
        _ => format!("{} {}", benchmark.name, metric.name),
    }
}

/// What stands behind the interval: pairs, time of the time limit, and what
/// is left.
fn tail(snapshot: &Snapshot, benchmark: &BenchmarkResult, metric: &MetricResult) -> String {
    let pairs = text::count(benchmark.pairs, "pair");
    let (spent, limit) = (text::seconds(snapshot.elapsed), text::roughly(snapshot.limit));
    let left = match (metric.verdict, snapshot.remaining) {
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

fn log_line(snapshot: &Snapshot, benchmark: &BenchmarkResult, metric: &MetricResult) -> String {
    let name = name(snapshot, benchmark, metric);
    let change = metric.summary.change.map_or("?".to_owned(), text::percent);
    let threshold = metric.limit().map_or(String::new(), text::percent);
    let (interval, tail) = (interval(metric), tail(snapshot, benchmark, metric));
    format!("{name} {change} {interval}, threshold {threshold}; {tail}")
}

/// The line of one metric, no longer than the terminal is wide.
fn live_line(
    snapshot: &Snapshot,
    benchmark: &BenchmarkResult,
    metric: &MetricResult,
    width: usize,
) -> String {
    let name = text::line(&name(snapshot, benchmark, metric));
    let change = metric.summary.change.map_or("?".to_owned(), text::percent);
    let tail = tail(snapshot, benchmark, metric);
    let interval = interval(metric);
    // Two spaces before, one between the parts, none at the right edge.
    let taken = |parts: &[&str]| parts.iter().map(|part| part.chars().count() + 1).sum::<usize>();
    let full = width.saturating_sub(taken(&[&name, &change, &interval, &tail]) + 4);
    let style = style(metric);
    let reach = rounded_up(farthest(metric));
    if full >= 10 {
        let scale = scale(metric, full.min(WIDEST), reach, style);
        return format!("  {name} {style}{change}{style:#} {interval} {scale} {tail}");
    }
    let narrow = width.saturating_sub(taken(&[&name, &change, &tail]) + 4);
    if narrow >= 8 {
        let scale = scale(metric, narrow, reach, style);
        return format!("  {name} {style}{change}{style:#} {scale} {tail}");
    }
    let line = format!("  {name} {change} {interval} {tail}");
    line.chars().take(width.saturating_sub(1)).collect()
}

/// The interval on a scale of `width` columns that has the threshold in its
/// middle and reaches `reach` to either side: `···━━━━●━│━···`.
fn scale(metric: &MetricResult, width: usize, reach: f64, style: Style) -> String {
    let threshold = metric.limit().unwrap_or_default();
    let summary = &metric.summary;
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

/// How far the scale of a metric has to reach to either side of its threshold.
fn farthest(metric: &MetricResult) -> f64 {
    let summary = &metric.summary;
    let threshold = metric.limit().unwrap_or_default();
    let ends = [summary.lower, summary.upper, summary.change];
    let finite = ends.into_iter().flatten().filter(|end| end.is_finite());
    finite.map(|end| (end - threshold).abs()).fold(0.0, f64::max)
}

/// The least of 1, 2, 5, 10 % and so on that holds `farthest`, so that the
/// interval is seen to shrink between the few changes of scale.
fn rounded_up(farthest: f64) -> f64 {
    let steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];
    steps.into_iter().find(|step| farthest <= *step).unwrap_or(farthest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cargo_cbdr::model::metric::{Metric, Unit};
    use cargo_cbdr::model::outcome::{Status, Summary};

    fn snapshot(lower: Option<f64>, change: f64, upper: Option<f64>) -> Snapshot {
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
            pairs: 12,
            metrics: vec![result],
            ..BenchmarkResult::new("sum", Status::Compared)
        };
        Snapshot { benchmarks: vec![benchmark], elapsed: 3.2, limit: 300.0, remaining: Some(8.0) }
    }

    fn plain(snapshot: &Snapshot, width: usize) -> String {
        let (benchmark, metric) = gating(snapshot)[0];
        let line = live_line(snapshot, benchmark, metric, width);
        anstream::adapter::strip_str(&line).to_string()
    }

    #[test]
    fn the_line_fits_any_terminal() {
        for snapshot in [
            snapshot(Some(-0.051), 0.004, Some(0.063)),
            snapshot(None, 0.004, None),
            snapshot(Some(-0.9), 250.0, Some(1e6)),
        ] {
            for width in 1..200 {
                let line = plain(&snapshot, width);
                assert!(line.chars().count() < width.max(1), "{width}: {line}");
            }
        }
    }

    #[test]
    fn the_scale_shows_the_interval_against_the_threshold() {
        let wide = plain(&snapshot(Some(-0.03), 0.0, Some(0.03)), 110);
        assert_eq!(
            wide,
            "  wall_time +0.00% [-3.00%, +3.00%] ━━━━━━━━━━━━━●━━━━━━━━│━━━━················· \
             12 pairs, 3.2s/5m, ~8s left"
        );
    }

    #[test]
    fn of_many_questions_the_open_ones_are_shown_and_all_are_counted() {
        let mut many = snapshot(Some(-0.03), 0.0, Some(0.03));
        many.benchmarks = vec![many.benchmarks[0].clone(); 12];
        assert_eq!(shown(&gating(&many), 8).len(), 8);
        for (number, benchmark) in many.benchmarks.iter_mut().enumerate() {
            let verdict = match number {
                0 => Verdict::Regression,
                1..=7 => Verdict::NoRegression,
                _ => Verdict::Inconclusive,
            };
            benchmark.metrics[0].verdict = Some(verdict);
        }
        let all = gating(&many);
        assert_eq!(shown(&all, 8).len(), 4);
        let expected = "12 verdicts: 1 regression, 7 no-regression, 4 open; up to 12 pairs, \
                        3.2s/5m, ~8s left";
        assert_eq!(count_line(&many, &all), expected);
    }

    #[test]
    fn many_lines_stand_in_columns_and_fit_any_terminal() {
        let mut many = snapshot(Some(-0.03), 0.0, Some(0.03));
        many.benchmarks = vec![many.benchmarks[0].clone(); 5];
        many.benchmarks[1].name = "a benchmark with a name of some length".into();
        many.benchmarks[2].metrics[0].verdict = Some(Verdict::Regression);
        many.benchmarks[3].metrics[0].summary.upper = Some(0.2);
        for width in 1..200 {
            for line in live(&many, width, 24) {
                let plain = anstream::adapter::strip_str(&line).to_string();
                assert!(
                    plain.chars().count() < width.max(1) || plain.is_empty(),
                    "{width}: {line}"
                );
            }
        }
        for width in [40, 60, 80, 120] {
            let lines = live(&many, width, 24);
            let plain = |line: &String| anstream::adapter::strip_str(line).to_string();
            let marks: Vec<Option<usize>> =
                lines[..5].iter().map(|line| plain(line).chars().position(|c| c == '│')).collect();
            assert!(marks[0].is_some() && marks.iter().all(|mark| *mark == marks[0]), "{marks:?}");
        }
        // On a low one, what is open is drawn, as far as it goes.
        assert_eq!(live(&many, 80, 5).len(), 4);
    }

    #[test]
    fn the_log_form_says_the_same_in_words() {
        let snapshot = snapshot(None, 0.004, Some(0.03));
        let (benchmark, metric) = gating(&snapshot)[0];
        assert_eq!(
            log_line(&snapshot, benchmark, metric),
            "wall_time +0.40% [-∞, +3.00%], threshold +2.00%; 12 pairs, 3.2s/5m, ~8s left"
        );
    }
}
