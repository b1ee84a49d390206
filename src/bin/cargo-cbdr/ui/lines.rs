//! The lines of a running comparison: a scale for each metric, in columns, or words.

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

/// `12 of at least 14 pairs`, or later `up to 30 pairs`.
fn pairs_so_far(snapshot: &Snapshot, gating: &[GatingMetric<'_>]) -> String {
    let pairs = gating.iter().map(|(benchmark, _)| benchmark.pairs).max().unwrap_or(0);
    let unit = if snapshot.is_over_layouts { "layout" } else { "pair" };
    match (pairs < snapshot.least_pairs, gating.len()) {
        (true, _) => format!("{pairs} of at least {} {unit}s", snapshot.least_pairs),
        (false, 1) => text::count(pairs, unit),
        (false, _) => format!("up to {}", text::count(pairs, unit)),
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
    // To the second, a short limit would be nothing.
    let shown = if limit < 1.0 { text::length(limit) } else { text::roughly(limit) };
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
pub(super) mod tests {
    use super::*;
    use cargo_cbdr::model::metric::{Metric, Unit};
    use cargo_cbdr::model::outcome::Status;

    pub(crate) fn snapshot(lower: Option<f64>, change: f64, upper: Option<f64>) -> Snapshot {
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
        Snapshot {
            benchmarks: vec![benchmark],
            elapsed: 3.2,
            limit: 300.0,
            remaining: Some(8.0),
            is_unlikely: false,
            least_pairs: 6,
            is_over_layouts: false,
        }
    }

    fn drawn(snapshot: &Snapshot, width: usize) -> String {
        plain(&metric_lines(snapshot, reach(snapshot), (width, 24))[0])
    }

    #[test]
    fn the_line_fits_any_terminal() {
        for snapshot in [
            snapshot(Some(-0.051), 0.004, Some(0.063)),
            snapshot(None, 0.004, None),
            snapshot(Some(-0.9), 250.0, Some(1e6)),
        ] {
            for width in 1..200 {
                let line = drawn(&snapshot, width);
                assert!(width::columns(&line) < width.max(1), "{width}: {line}");
            }
        }
    }

    #[test]
    fn the_scale_shows_the_interval_against_the_threshold() {
        let view = |snapshot: &Snapshot, width| -> Vec<String> {
            live(snapshot, reach(snapshot), (width, 24))
                .lines
                .iter()
                .map(|line| plain(line))
                .collect()
        };
        let open = snapshot(Some(-0.03), 0.01, None);
        let expected = [
            "  wall_time   +1.00%     [≥ -3.00%]     ·······━━━0●┃╌╌╌╌╌╌╌╌ undecided",
            "                               faster ◂ -10%      0 ┃+2% +10% ▸ slower",
        ];
        assert_eq!(view(&open, 80), expected);
        let wide = view(&open, 110);
        assert!(
            wide[1].contains("-10% ◂ faster") && wide[1].ends_with("slower ▸ +10%"),
            "{wide:?}"
        );
    }

    #[test]
    fn the_scale_is_fixed_by_the_threshold_and_widened_by_what_is_far_off() {
        assert_eq!(reach(&snapshot(Some(-0.5), 0.01, Some(9.0))), 0.1);
        assert_eq!(reach(&snapshot(None, 0.3, None)), 0.5);
        let mut many = snapshot(None, 0.3, None);
        many.benchmarks = vec![many.benchmarks[0].clone(); 2];
        assert_eq!(reach(&many), 0.2, "the others can still be seen");
    }

    #[test]
    fn of_many_metrics_the_open_ones_are_shown_and_all_are_counted() {
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
        // One that was not measured yet, and the worst.
        many.benchmarks[10].metrics[0].summary.change = Some(0.05);
        many.benchmarks[9].metrics[0].summary.change = None;
        many.benchmarks[10].name = "worst".to_owned();
        let all = gating(&many);
        let lines = shown(&all, 8);
        assert_eq!(lines.len(), 5, "the regression, and what is open");
        assert_eq!(lines[0].1.verdict, Some(Verdict::Regression));
        assert_eq!(lines[1].0.name, "worst");
        assert_eq!(lines[4].1.summary.change, None);
        assert_eq!(shown(&all, 2).len(), 2);
        // Of more than fit, those without a bound say nothing yet.
        many.benchmarks[10].metrics[0].summary.lower = None;
        assert!(shown(&gating(&many), 4).iter().all(|(benchmark, _)| benchmark.name != "worst"));
        assert_eq!(shown(&gating(&many), 2).len(), 2);
        let counted = |width| last(&many, 0.1, (width, 24)).pop().unwrap();
        for (width, rest) in [
            (80, "; up to 12 pairs; 3.2s/5m, ~8s left"),
            (66, "; up to 12 pairs; ~8s left"),
            (60, "; 3.2s/5m, ~8s left"),
            (52, "; ~8s left"),
            (42, ""),
        ] {
            assert_eq!(counted(width), format!("  1 regression, 7 passed, 4 undecided{rest}"));
        }
    }

    #[test]
    fn many_lines_stand_in_columns_and_fit_any_terminal() {
        let mut many = snapshot(Some(-0.03), 0.0, Some(0.03));
        many.benchmarks = vec![many.benchmarks[0].clone(); 5];
        many.benchmarks[1].name = "a benchmark with a name of some length".into();
        many.benchmarks[2].metrics[0].verdict = Some(Verdict::Regression);
        many.benchmarks[3].metrics[0].summary.upper = Some(0.2);
        for width in 1..200 {
            for line in
                last(&many, 0.1, (width, 24)).into_iter().chain(live(&many, 0.1, (width, 24)).lines)
            {
                let length = width::columns(&line);
                assert!(length < width.max(1) || length == 0, "{width}: {line}");
            }
        }
        for width in [40, 60, 80, 120] {
            let lines = live(&many, 0.1, (width, 24)).lines;
            let marks: Vec<Option<usize>> =
                lines[..5].iter().map(|line| plain(line).chars().position(|c| c == '┃')).collect();
            assert!(marks[0].is_some() && marks.iter().all(|mark| *mark == marks[0]), "{marks:?}");
        }
        // On a low one, what is open is drawn, as far as it goes.
        assert_eq!(last(&many, 0.1, (80, 5)).len(), 4);
    }

    #[test]
    fn the_log_form_says_the_same_in_words() {
        let snapshot = snapshot(None, 0.004, Some(0.03));
        assert_eq!(
            log_line(&snapshot, gating(&snapshot)[0]).text,
            "wall_time +0.40%, interval ≤ +3.00%, threshold +2%; 12 pairs; 3.2s/5m, ~8s left"
        );
    }

    fn news(snapshot: &Snapshot) -> Vec<String> {
        log(snapshot, 3).into_iter().map(|line| line.news).collect()
    }

    #[test]
    fn the_log_repeats_only_what_changed() {
        let mut snapshot = snapshot(Some(-0.03), 0.004, Some(0.03));
        let first = news(&snapshot);
        snapshot.elapsed += 10.0;
        assert_eq!(news(&snapshot), first, "only the time has changed");
        snapshot.benchmarks[0].pairs += 1;
        assert_ne!(news(&snapshot), first, "another pair");
        snapshot.benchmarks[0].metrics[0].verdict = Some(Verdict::NoRegression);
        let decided = news(&snapshot);
        assert_ne!(decided, first);
        snapshot.benchmarks[0].pairs += 1;
        assert_eq!(news(&snapshot), decided, "pairs that others needed");
        // Of many, the counts and the pairs.
        snapshot.benchmarks = vec![snapshot.benchmarks[0].clone(); 5];
        let many = news(&snapshot);
        snapshot.elapsed += 10.0;
        assert_eq!(news(&snapshot), many);
        snapshot.benchmarks[4].metrics[0].verdict = Some(Verdict::Regression);
        assert_ne!(news(&snapshot), many);
    }

    #[test]
    fn a_number_of_the_suite_has_a_line_however_many_benchmarks_there_are() {
        let mut many = snapshot(Some(-0.03), 0.0, Some(0.03));
        many.benchmarks = vec![many.benchmarks[0].clone(); 20];
        many.benchmarks[3].metrics[0].verdict = Some(Verdict::Regression);
        many.benchmarks[7].name = "suite geomean".to_owned();
        assert_eq!(shown(&gating(&many), 4)[0].0.name, "suite geomean");
        assert_eq!(shown(&gating(&many), 4)[1].1.verdict, Some(Verdict::Regression));
        let lines: Vec<String> = log(&many, 3).into_iter().map(|line| line.text).collect();
        assert!(lines[0].starts_with("suite geomean +0.00%, interval"), "{lines:?}");
        assert!(lines[1].starts_with("1 regression, 18 undecided; "), "{lines:?}");
    }

    #[test]
    fn the_forecast_ends_with_the_limit() {
        let mut snapshot = snapshot(Some(-0.03), 0.004, Some(0.03));
        snapshot.remaining = Some(1e6);
        assert_eq!(times(&snapshot)[1], "~5m left");
        snapshot.elapsed = 290.0;
        assert_eq!(times(&snapshot), ["4m 50s/5m, ~10s left", "~10s left"]);
        snapshot.elapsed = 301.0;
        assert_eq!(times(&snapshot), ["5m 01s/5m", "5m 01s/5m"]);
        (snapshot.elapsed, snapshot.limit) = (0.0, 4e-4);
        assert_eq!(times(&snapshot)[0], "0.0s/400us");
    }

    #[test]
    fn the_last_state_has_the_verdicts_over_layouts() {
        let mut as_built = snapshot(Some(-0.03), 0.004, Some(0.03));
        let mut passed = as_built.benchmarks[0].metrics[0].clone();
        passed.name = "max_rss".to_owned();
        as_built.benchmarks[0].metrics.push(passed);
        let mut over = as_built.clone();
        as_built.benchmarks[0].metrics[1].verdict = Some(Verdict::NoRegression);
        over.elapsed = 5.0;
        over.benchmarks[0].metrics[0].verdict = Some(Verdict::Regression);
        over.benchmarks[0].metrics[0].summary.change = Some(0.5);
        overrule(&mut as_built, &over);
        let metric = &as_built.benchmarks[0].metrics[0];
        assert_eq!(metric.verdict, Some(Verdict::Regression));
        assert_eq!((metric.summary.change, as_built.elapsed), (Some(0.5), 5.0));
        // This one was not asked again.
        assert_eq!(as_built.benchmarks[0].metrics[1].verdict, Some(Verdict::NoRegression));
    }

    #[test]
    fn before_there_are_enough_pairs_for_a_verdict_their_number_is_given() {
        let mut many = snapshot(None, 0.3, None);
        many.benchmarks = vec![many.benchmarks[0].clone(); 30];
        (many.least_pairs, many.remaining) = (14, None);
        let view = live(&many, 0.1, (80, 24));
        assert_eq!(view.lines, [""; 0]);
        let gauge = view.gauge.unwrap();
        assert_eq!(gauge.before, "30 undecided; 12 of at least 14 pairs");
        assert_eq!((gauge.done, gauge.of, gauge.after.as_str()), (360, 420, "3.2s/5m"));
        assert_eq!(
            last(&many, 0.1, (80, 24)),
            ["  30 undecided; 12 of at least 14 pairs; 3.2s/5m"]
        );
        // Then the time to the forecast end.
        for benchmark in &mut many.benchmarks {
            benchmark.pairs = 14;
        }
        many.remaining = Some(8.0);
        let gauge = live(&many, 0.1, (80, 24)).gauge.unwrap();
        assert_eq!((gauge.done, gauge.of), (3200, 11_200));
        assert_eq!(gauge.before, "30 undecided; up to 14 pairs");
        assert_eq!(gauge.after, "3.2s/5m, ~8s left");
    }

    #[test]
    fn a_gauge_fits_any_terminal() {
        for count in [1, 5] {
            let mut many = snapshot(Some(-0.03), 0.0, Some(0.03));
            many.benchmarks = vec![many.benchmarks[0].clone(); count];
            for terminal in 1..200 {
                let gauge = live(&many, 0.1, (terminal, 24)).gauge.unwrap();
                let parts = width::columns(&gauge.before) + width::columns(&gauge.after) + 5;
                let bar = gauge.bar(terminal.saturating_sub(2)).unwrap_or(0);
                assert!(bar == 0 || parts + bar <= terminal, "{terminal}: {gauge:?}");
                assert!(bar > 0 || gauge.after.is_empty(), "{terminal}: {gauge:?}");
            }
        }
    }

    #[test]
    fn a_scale_has_a_style_for_each_run_of_signs() {
        let snapshot = snapshot(Some(-0.03), 0.0, Some(0.03));
        let drawn = scale(gating(&snapshot)[0].1, 41, 0.05);
        // What is beyond it; interval and estimate; the threshold; interval; what is beyond it.
        assert_eq!(drawn.matches("\x1b[33m").count(), 2, "{drawn:?}");
        assert_eq!(drawn.matches("\x1b[2m").count(), 2, "{drawn:?}");
        assert_eq!(plain(&drawn).chars().count(), 41);
    }

    #[test]
    fn a_regression_is_red_as_a_whole() {
        let mut many = snapshot(Some(-0.03), 0.0, Some(0.03));
        many.benchmarks = vec![many.benchmarks[0].clone(); 3];
        many.benchmarks[2].name = "slow".to_owned();
        many.benchmarks[2].metrics[0].verdict = Some(Verdict::Regression);
        let lines = live(&many, 0.1, (100, 24)).lines;
        let red = verdict_style(Verdict::Regression);
        assert!(lines[0].starts_with(&format!("  {red}slow")), "{lines:?}");
    }

    /// A frame as a terminal of so many columns shows it, without colours.
    fn frame(snapshot: &Snapshot, width: usize) -> String {
        let View { mut lines, gauge } = live(snapshot, reach(snapshot), (width, 24));
        let Gauge { before, done, of, after } = gauge.unwrap();
        let bar = Gauge { before: before.clone(), done, of, after: after.clone() };
        let bar = bar.bar(width.saturating_sub(2)).unwrap_or(0);
        let filled = (bar as u64 * done / of.max(1)) as usize;
        let bar = "█".repeat(filled) + &"░".repeat(bar - filled);
        lines.push(format!("  {before} {bar} {after}"));
        lines.iter().map(|line| plain(line).trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn the_frames_of_three_widths_are_as_pinned() {
        let at = |pairs: u64, lower, change, upper| {
            let mut snapshot = snapshot(lower, change, upper);
            snapshot.benchmarks[0].pairs = pairs;
            snapshot.benchmarks[0].metrics[0].summary.pairs = pairs;
            (snapshot.elapsed, snapshot.remaining) = (0.3 * pairs as f64, Some(6.0));
            snapshot
        };
        let mut frames = vec![
            ("one benchmark", at(2, None, 0.16, None)),
            ("one benchmark", at(7, Some(-0.01), 0.13, None)),
            ("one benchmark", at(12, Some(0.01), 0.118, Some(0.26))),
            ("one benchmark", at(20, Some(0.018), 0.112, Some(0.19))),
        ];
        let mut three = at(12, Some(-0.01), 0.008, Some(0.031));
        let metrics = &mut three.benchmarks[0].metrics;
        metrics.extend([metrics[0].clone(), metrics[0].clone()]);
        (metrics[1].name, metrics[2].name) = ("cpu_time".to_owned(), "max_rss".to_owned());
        metrics[1].verdict = Some(Verdict::NoRegression);
        metrics[2].summary.change = Some(0.08);
        (metrics[2].summary.lower, metrics[2].summary.upper) = (Some(0.05), Some(0.11));
        metrics[2].verdict = Some(Verdict::Regression);
        frames.push(("three metrics", three));
        for pairs in [3, 16] {
            let bounds = |width| (pairs > 12).then_some(width);
            let mut many = at(pairs, bounds(-0.04), 0.0, bounds(0.05));
            many.benchmarks = (0..30)
                .map(|number| {
                    let mut one = many.benchmarks[0].clone();
                    one.name = format!("parse/number {number}");
                    one.metrics[0].summary.change = Some(0.001 * f64::from(number));
                    if number % 4 > 0 && pairs > 12 {
                        one.metrics[0].verdict = Some(Verdict::NoRegression);
                    }
                    one
                })
                .collect();
            many.least_pairs = 12;
            frames.push(("30 benchmarks", many));
        }
        let mut shown = String::new();
        for width in [60, 80, 120] {
            for (name, snapshot) in &frames {
                let frame = frame(snapshot, width);
                assert!(frame.lines().all(|line| width::columns(line) < width), "{frame}");
                shown += &format!("{width} columns, {name}\n{frame}\n");
            }
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin/cargo-cbdr/ui/frames.txt");
        if std::env::var_os("CBDR_BLESS").is_some() {
            std::fs::write(path, &shown).unwrap();
        }
        let pinned = std::fs::read_to_string(path).unwrap();
        assert!(
            shown == pinned,
            "{shown}\nIf meant: CBDR_BLESS=1 cargo test --bin cargo-cbdr frames"
        );
    }
}
