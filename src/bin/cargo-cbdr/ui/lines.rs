//! The lines of a running comparison: a scale for each metric, in columns, or words.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use cargo_cbdr::engine::Snapshot;
use cargo_cbdr::model::{BenchmarkResult, Better, MetricResult, SuiteNumber, Summary, Verdict};

use super::shorten::shortened;
use super::style::verdict_style;
use super::text;
use super::width::{self, beginning, plain};
use crate::render::answer::is_time;
use crate::render::scale::ChangeScale;

const DIM: Style = Style::new().dimmed();

/// Up to this many metrics get a line each in a log.
pub(super) const FEW: usize = 3;

/// The maximum number of lines to draw.
const MANY: usize = 12;

/// The maximum width of a scale, columns.
const WIDEST: usize = 61;

/// How far a scale may reach, unless it has to reach farther.
const STEPS: [f64; 10] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];

/// The minimum and maximum width of the bar of a gauge, columns.
const BAR: (usize, usize) = (6, 20);

/// What is drawn on a terminal.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct View {
    pub(super) lines: Vec<String>,
    /// It is below the lines.
    pub(super) gauge: Option<Gauge>,
}

/// A bar that fills up, between two texts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gauge {
    pub(super) before: String,
    pub(super) done: u64,
    pub(super) of: u64,
    pub(super) after: String,
}

impl Gauge {
    /// The width of the bar on a terminal of `width` columns; `None` if there is no room for it.
    pub(super) fn bar(&self, width: usize) -> Option<usize> {
        // Two blanks before, one between the parts, one column left free.
        let parts = [&self.before, &self.after];
        let taken: usize = parts.iter().map(|part| width::columns(part) + 1).sum();
        let room = width.saturating_sub(2 + taken + 1).min(BAR.1);
        (room >= BAR.0).then_some(room)
    }
}

type GatingMetric<'a> = (&'a BenchmarkResult, &'a MetricResult);

/// What is drawn on a terminal of so many columns and rows: a line for each gating
/// metric, or for the undecided ones if there are too many, all on a scale that reaches `reach`
/// to either side of no change; then one for all together.
pub(super) fn live(snapshot: &Snapshot, reach: f64, size: (usize, usize)) -> View {
    View { lines: metric_lines(snapshot, reach, size), gauge: Some(gauge(snapshot, size.0)) }
}

/// The last state of a comparison: the same without a bar.
pub(super) fn last(snapshot: &Snapshot, reach: f64, size: (usize, usize)) -> Vec<String> {
    let (width, gating) = (usable(size.0), gating(snapshot));
    let mut lines = metric_lines(snapshot, reach, size);
    let joined = texts(snapshot, &gating).map(|(before, after)| format!("  {before}; {after}"));
    let count = joined.into_iter().find(|line| width::columns(line) < width);
    lines.push(cut(&count.unwrap_or_else(|| format!("  {}", verdicts(&gating))), width));
    lines
}

/// The width without room for the `^C` that a terminal shows after the last line.
fn usable(width: usize) -> usize {
    width.saturating_sub(2)
}

/// How far the scale has to reach: some times the largest threshold, and to the estimates that are
/// undecided. Of several, one that is far off must not squeeze the others.
pub(super) fn reach(snapshot: &Snapshot) -> f64 {
    const LIMITS: f64 = 4.0;
    const MOST_LIMITS: f64 = 10.0;
    /// A few pairs may be anywhere.
    const LEAST: u64 = 5;
    let gating = gating(snapshot);
    let limit = |(_, metric): &GatingMetric<'_>| metric.limit().unwrap_or_default().abs();
    let largest = gating.iter().map(limit).fold(0.0, f64::max);
    let counts = |metric: &MetricResult| {
        metric.summary.pairs >= LEAST && (gating.len() == 1 || is_open(metric))
    };
    let open = gating.iter().filter(|(_, metric)| counts(metric));
    let changes = open.filter_map(|(_, metric)| metric.summary.change);
    let farthest = changes.map(|change| 1.2 * change.abs()).fold(LIMITS * largest, f64::max);
    let most = if gating.len() > 1 && largest > 0.0 { MOST_LIMITS * largest } else { f64::MAX };
    let farthest = farthest.min(most);
    STEPS.into_iter().find(|step| farthest <= *step).unwrap_or(farthest)
}

/// The lines of the metrics, all on the same scale, and below them what the scale shows.
fn metric_lines(snapshot: &Snapshot, reach: f64, (width, height): (usize, usize)) -> Vec<String> {
    let width = usable(width);
    // Lines for the scale and for all together, and one for the cursor.
    let shown = shown(&gating(snapshot), MANY.min(height.saturating_sub(3)).max(1));
    let names: Vec<String> = shown.iter().map(|one| text::line(&name(snapshot, *one))).collect();
    let longest = names.iter().map(|name| width::columns(name)).max().unwrap_or(0);
    let columns = Columns::new(width, longest, reach);
    let names = shortened(&names.iter().map(String::as_str).collect::<Vec<_>>(), columns.name);
    let lines = names.iter().zip(&shown).map(|(name, (_, metric))| columns.line(name, metric));
    let legend = (!shown.is_empty() && columns.scale > 0).then(|| columns.legend(&shown));
    lines.chain(legend).map(|line| cut(&line, width)).collect()
}

/// The pairs towards the least number for a verdict, and then the time towards the end.
pub(super) fn gauge(snapshot: &Snapshot, width: usize) -> Gauge {
    let (width, gating) = (usable(width), &gating(snapshot));
    let least = snapshot.least_pairs;
    let pairs = |benchmark: &BenchmarkResult| benchmark.pairs.min(least);
    let done: u64 = gating.iter().map(|(benchmark, _)| pairs(benchmark)).sum();
    let of = least * gating.len() as u64;
    let (done, of) = match done < of {
        true => (done, of),
        false => {
            let limit = snapshot.limit;
            let end = snapshot.remaining.map_or(limit, |left| limit.min(snapshot.elapsed + left));
            ((1000.0 * snapshot.elapsed) as u64, (1000.0 * end) as u64)
        }
    };
    let texts = texts(snapshot, gating);
    let shortest = (cut(&texts[3].0, width.saturating_sub(3)), String::new());
    let gauge = |(before, after): (String, String)| Gauge { before, done, of, after };
    let fits = |gauge: &Gauge| gauge.bar(width).is_some();
    texts.into_iter().map(gauge).find(fits).unwrap_or_else(|| gauge(shortest))
}

/// What stands before and after the bar of a gauge: the verdicts and the pairs, and the times.
/// The longest come first, without what matters least in the others.
fn texts(snapshot: &Snapshot, gating: &[GatingMetric<'_>]) -> [(String, String); 4] {
    let [times, last] = times(snapshot);
    let pairs = pairs_so_far(snapshot, gating);
    let short = if gating.len() == 1 { pairs.clone() } else { verdicts(gating) };
    let long = if gating.len() == 1 { pairs } else { format!("{short}; {pairs}") };
    [(long.clone(), times.clone()), (long, last.clone()), (short.clone(), times), (short, last)]
}

/// Puts the verdicts over layouts, which count, into a comparison as built. What passed as built
/// is not asked again.
pub(super) fn overrule(as_built: &mut Snapshot, over: &Snapshot) {
    as_built.elapsed = as_built.elapsed.max(over.elapsed);
    let is_only_one = gating(as_built).len() == 1;
    for again in &over.benchmarks {
        for one in as_built.benchmarks.iter_mut().filter(|one| one.name == again.name) {
            if is_only_one {
                (one.pairs, as_built.is_over_layouts) = (again.pairs, true);
            }
            let metrics = one.metrics.iter_mut().filter(|metric| metric.gates);
            for metric in metrics.filter(|one| one.verdict != Some(Verdict::NoRegression)) {
                // Without a verdict, it was measured along with others.
                let is_same = |of: &&MetricResult| of.name == metric.name && of.verdict.is_some();
                if let Some(again) = again.metrics.iter().find(is_same) {
                    metric.verdict = again.verdict;
                    if again.summary.pairs > 0 {
                        metric.summary = again.summary;
                    }
                }
            }
        }
    }
}

/// A line of a log.
pub(super) struct LogLine {
    pub(super) text: String,
    /// The text without the times, to see whether it is news.
    pub(super) news: String,
}

/// The lines of a log: one for each of up to `most` metrics, else one for all together.
pub(super) fn log(snapshot: &Snapshot, most: usize) -> Vec<LogLine> {
    let gating = gating(snapshot);
    let (of_suite, others): (Vec<_>, Vec<_>) = gating.iter().copied().partition(is_of_suite);
    let are_many = others.len() > most;
    let alone = if are_many { of_suite } else { gating };
    let together = are_many.then(|| {
        let pairs: u64 = snapshot.benchmarks.iter().map(|benchmark| benchmark.pairs).sum();
        let [(before, after), ..] = texts(snapshot, &others);
        let text = format!("{before}; {after}");
        LogLine { text, news: format!("{pairs} {}", verdicts(&others)) }
    });
    alone.into_iter().map(|metric| log_line(snapshot, metric)).chain(together).collect()
}

/// A line that would be too long loses its end, and its colours with it.
pub(super) fn cut(line: &str, width: usize) -> String {
    let fits = width::columns(line) < width.max(1);
    if fits { line.to_owned() } else { beginning(&plain(line), width.saturating_sub(1)).to_owned() }
}

/// The widths of the parts of a line.
struct Columns {
    name: usize,
    /// 0 if there is no room for it.
    interval: usize,
    /// 0 if there is no room for it.
    scale: usize,
    /// Whether the verdict is in words; otherwise it is a symbol.
    has_words: bool,
    /// How far the scale reaches to either side of no change.
    reach: f64,
}

const CHANGE: usize = 8;
const INTERVAL: usize = 18;
const VERDICT: usize = 13;

impl Columns {
    /// Distributes `width`: first to the scale, then to the words of the verdict, the
    /// names and the interval.
    fn new(width: usize, longest: usize, reach: f64) -> Self {
        // Two blanks before, one between the parts, one column left free.
        let room = width.saturating_sub(2 + 1 + 1 + CHANGE + 1);
        let name = longest.min((room / 2).max(8));
        let left = room.saturating_sub(name);
        let has_words = left >= 10 + 1 + 1 + VERDICT;
        let verdict = if has_words { VERDICT } else { 1 };
        let mut left = left.saturating_sub(verdict + 1);
        let mut interval = 0;
        if left >= INTERVAL + 1 + 20 {
            interval = INTERVAL;
            left -= INTERVAL + 1;
        }
        // An odd number has a middle.
        let scale = if left > 10 { (left - 2).min(WIDEST) | 1 } else { 0 };
        Columns { name, interval, scale, has_words, reach }
    }

    fn line(&self, name: &str, metric: &MetricResult) -> String {
        let style = style(metric);
        // A regression must not be overlooked.
        let has_regressed = metric.verdict == Some(Verdict::Regression);
        let name_style = if has_regressed { style } else { Style::new() };
        let mut line = format!(
            "  {name_style}{}{name_style:#} {style}{:>CHANGE$}{style:#}",
            width::padded(name, self.name),
            text::change(&metric.summary)
        );
        if self.interval > 0 {
            let Summary { lower, upper, .. } = metric.summary;
            line += &format!(" {:^INTERVAL$}", text::bounds(lower, upper));
        }
        if self.scale > 0 {
            line += &format!(" {}", scale(metric, self.scale, self.reach));
        }
        let verdict = match (metric.verdict, self.has_words) {
            (Some(Verdict::Inconclusive) | None, true) => "undecided".to_owned(),
            (Some(verdict), true) => text::verdict(verdict).to_owned(),
            (Some(Verdict::Inconclusive) | None, false) => "?".to_owned(),
            (Some(Verdict::Regression), false) => "!".to_owned(),
            (Some(_), false) => "=".to_owned(),
        };
        format!("{line} {style}{verdict}{style:#}")
    }

    /// What the scale shows: its ends, which side is slower or worse, and what is allowed, if that
    /// is the same for all.
    fn legend(&self, shown: &[GatingMetric<'_>]) -> String {
        let are_costs = shown.iter().all(|(_, metric)| metric.better == Better::Lower);
        let words = match (are_costs, shown.iter().all(|(_, metric)| is_time(metric))) {
            (true, true) => ["faster", "slower"],
            (true, false) => ["less", "more"],
            _ => ["lower", "higher"],
        };
        let end = text::short_size(self.reach);
        let ends = [format!("-{end}"), format!("+{end}")];
        let long = [format!("{} ◂ {}", ends[0], words[0]), format!("{} ▸ {}", words[1], ends[1])];
        let fits = |ends: &[String; 2]| width::columns(&ends.concat()) + 4 <= self.scale;
        // Where the scale is too narrow for them, the words are beside it.
        let is_wide = fits(&long);
        let [good, bad] = match is_wide || !self.has_words {
            true => [String::new(), String::new()],
            false => [format!("{} ◂ ", words[0]), format!(" ▸ {}", words[1])],
        };
        let [left, right] = if is_wide { long } else { ends };
        let mut cells: Vec<char> = vec![' '; self.scale];
        let middle = (self.scale - 1).div_ceil(2);
        let ends = width::columns(&left).max(width::columns(&right));
        if ends < middle {
            cells[middle] = '0';
        }
        let limits = shown.iter().filter_map(|(_, metric)| metric.limit());
        let mut limits: Vec<String> = limits.map(text::limit).collect();
        limits.dedup();
        if let ([limit], Some(at)) = (limits.as_slice(), shown[0].1.limit()) {
            let scale = ChangeScale { from: -self.reach, to: self.reach };
            let at = scale.column(at, self.scale);
            let label = format!("┃{limit}");
            let end = at + width::columns(&label);
            if at > middle && end + width::columns(&right) < self.scale {
                cells.splice(at..end, label.chars());
            }
        }
        let (first, last) = (width::columns(&left), self.scale - width::columns(&right));
        let between: String = cells[first..last.max(first)].iter().collect();
        let interval = if self.interval > 0 { self.interval + 1 } else { 0 };
        let before = 2 + self.name + 1 + CHANGE + interval + 1;
        format!("{DIM}{good:>before$}{left}{between}{right}{bad}{DIM:#}")
    }
}

fn style(metric: &MetricResult) -> Style {
    match metric.verdict {
        Some(Verdict::Inconclusive) | None => AnsiColor::Yellow.on_default(),
        Some(verdict) => verdict_style(verdict),
    }
}

fn is_open(metric: &MetricResult) -> bool {
    metric.verdict == Some(Verdict::Inconclusive)
}

fn gating(snapshot: &Snapshot) -> Vec<GatingMetric<'_>> {
    let all = snapshot.benchmarks.iter().flat_map(|b| b.metrics.iter().map(move |m| (b, m)));
    all.filter(|(_, metric)| metric.threshold.is_some()).collect()
}

/// Whether it is a number of the whole suite.
fn is_of_suite((benchmark, _): &GatingMetric<'_>) -> bool {
    SuiteNumber::is_title(&benchmark.name)
}

/// The metrics that get a line: first those of the suite, then the regressions, the worst first,
/// then all others in their order; or else as many undecided ones as there is `room` for, those first that look
/// worst. Of more than fit, only those whose change is bounded on the bad side: of many
/// estimates, the largest is large even if nothing has changed.
fn shown<'a>(gating: &[GatingMetric<'a>], room: usize) -> Vec<GatingMetric<'a>> {
    let is_regression = |(_, one): &GatingMetric<'a>| one.verdict == Some(Verdict::Regression);
    let is_first = |one: &GatingMetric<'a>| is_of_suite(one) || is_regression(one);
    let (mut first, mut others): (Vec<_>, Vec<_>) = gating.iter().copied().partition(is_first);
    first.sort_by(|one, other| {
        is_of_suite(other).cmp(&is_of_suite(one)).then_with(|| one.1.by_severity(other.1))
    });
    if gating.len() > room {
        others.retain(|(_, metric)| is_open(metric));
        if first.len() + others.len() > room {
            others.retain(|(_, metric)| is_bounded(metric));
        }
        // Those that were not measured yet have nothing to show.
        let is_unknown = |metric: &MetricResult| metric.summary.change.is_none();
        others.sort_by(|(_, one), (_, other)| {
            is_unknown(one).cmp(&is_unknown(other)).then_with(|| one.by_severity(other))
        });
        // Some of the undecided ones should be visible, too.
        first.truncate(room.saturating_sub(others.len()).max(room / 2));
    }
    first.into_iter().chain(others).take(room).collect()
}

/// Whether it is known by how much a metric has become worse at least.
fn is_bounded(metric: &MetricResult) -> bool {
    let Summary { lower, upper, .. } = metric.summary;
    let bound = if metric.better == Better::Lower { lower } else { upper };
    bound.is_some_and(f64::is_finite)
}

/// `12 of at least 14 pairs`, or later `30 pairs`: those of all benchmarks, which always increases.
fn pairs_so_far(snapshot: &Snapshot, gating: &[GatingMetric<'_>]) -> String {
    // Several metrics of a benchmark have the same pairs.
    let benchmarks = || gating.chunk_by(|one, other| std::ptr::eq(one.0, other.0));
    let pairs = || benchmarks().map(|metrics| metrics[0].0.pairs);
    let unit = if snapshot.is_over_layouts { "layout" } else { "pair" };
    match pairs().max().unwrap_or(0) {
        most if most < snapshot.least_pairs => {
            format!("{most} of at least {} {unit}s", snapshot.least_pairs)
        }
        _ => text::count(pairs().sum(), unit),
    }
}

/// `1 regression, 7 passed, 4 undecided`.
fn verdicts(gating: &[GatingMetric<'_>]) -> String {
    let count = |verdict| {
        gating.iter().filter(|(_, metric)| metric.verdict == Some(verdict)).count() as u64
    };
    let [slower, passed, open] =
        [Verdict::Regression, Verdict::NoRegression, Verdict::Inconclusive].map(count);
    let parts = [
        (slower, text::count(slower, "regression")),
        (passed, format!("{passed} passed")),
        (open, format!("{open} undecided")),
    ];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0).map(|(_, text)| text);
    parts.collect::<Vec<_>>().join(", ")
}

/// The time spent of the time limit and the time left, and only one of them where there is little
/// room.
fn times(snapshot: &Snapshot) -> [String; 2] {
    let (elapsed, limit) = (snapshot.elapsed, snapshot.limit);
    // What is left of it for longer runs is no round number.
    let shown = if limit < 1.0 { limit } else { limit.round() };
    let shown = text::option(Duration::from_secs_f64(shown));
    let spent = format!("{}/{shown}", text::seconds(elapsed));
    // Nothing takes longer than the limit.
    let left = snapshot.remaining.map(|seconds| seconds.min((limit - elapsed).max(0.0)));
    let left = match left.filter(|left| *left >= 0.5) {
        Some(seconds) => format!("~{} left", text::roughly(seconds)),
        None if snapshot.is_unlikely => "unlikely within the limit".to_owned(),
        None => return [spent.clone(), spent],
    };
    [format!("{spent}, {left}"), left]
}

/// The subject of a line: the benchmark, and the metric if not all have the same one.
fn name(snapshot: &Snapshot, (benchmark, metric): GatingMetric<'_>) -> String {
    let is_one_metric = gating(snapshot).iter().all(|(_, other)| other.name == metric.name);
    match (snapshot.benchmarks.len(), is_one_metric) {
        (1, _) => metric.name.clone(),
        (_, true) => benchmark.name.clone(),
        (_, false) => format!("{} {}", benchmark.name, metric.name),
    }
}

fn log_line(snapshot: &Snapshot, gating: GatingMetric<'_>) -> LogLine {
    let (benchmark, metric) = gating;
    let threshold = metric.limit().map_or(String::new(), text::limit);
    let Summary { lower, upper, .. } = metric.summary;
    let (change, interval) = (text::change(&metric.summary), text::interval(lower, upper));
    let name = name(snapshot, gating);
    let known = format!("{name} {change}, interval {interval}, threshold {threshold}");
    let [(pairs, times), ..] = texts(snapshot, &[gating]);
    let verdict = metric.verdict.filter(|_| !is_open(metric));
    let state = verdict.map_or(times, |verdict| text::verdict(verdict).to_owned());
    let text = format!("{known}; {pairs}; {state}");
    // A verdict stays as it is, however many pairs the others need.
    let news = if is_open(metric) { format!("{known} {}", benchmark.pairs) } else { known };
    LogLine { text, news }
}

/// The interval on a scale of `width` columns that reaches `reach` to either side of no change.
fn scale(metric: &MetricResult, width: usize, reach: f64) -> String {
    let style = style(metric);
    let cells = ChangeScale { from: -reach, to: reach }.cells(metric, width);
    let style_of = |cell: &char| match cell {
        '·' => DIM,
        '0' | '┃' => Style::new(),
        _ => style,
    };
    let runs = cells.chunk_by(|one, other| style_of(one) == style_of(other)).map(|run| {
        let style = style_of(&run[0]);
        format!("{style}{}{style:#}", String::from_iter(run))
    });
    runs.collect()
}

#[cfg(test)]
pub(super) mod tests;
