//! A result in the words of all formats, made once. A renderer arranges these words, and looks
//! nothing up.

use std::ffi::OsString;

use anstyle::Style;
use cargo_cbdr::model::{
    BenchmarkNotice, BenchmarkResult, Estimator, MeanDifference, Method, MetricResult, Notice,
    Outcome, Revision, Sides, Status, Summary,
};

use super::answer::{self, Answer, is_better, is_time};
use super::escape::line;
use super::names::names;
use crate::ui::grouped::{self, NoticeLine};
use crate::ui::style::verdict_style;
use crate::ui::text;

/// A result, with all that formats for people show of it.
pub(crate) struct Readable<'a> {
    /// As measured.
    pub(crate) outcome: &'a Outcome,
    pub(crate) answer: Answer,
    /// The confidence of the bounds, and for how many looks: `95% at every look`.
    pub(crate) confidence: String,
    /// What the estimates of both sides are: `median`.
    pub(crate) estimate: &'static str,
    pub(crate) notices: Vec<NoticeLine>,
    /// None for samples.
    pub(crate) commits: Vec<CommitLink<'a>>,
    /// What was compared and how.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// The command that reproduces the result.
    pub(crate) command: String,
    /// All metrics, those that matter most first: of those that pass, what became better.
    pub(crate) rows: Vec<ResultRow<'a>>,
    /// All benchmarks together, in a sentence.
    pub(crate) suite: Option<String>,
}

impl<'a> Readable<'a> {
    pub(crate) fn new(outcome: &'a Outcome, called: &CommandLine) -> Self {
        let mut rows: Vec<ResultRow<'_>> =
            outcome.metrics().map(|(benchmark, metric)| ResultRow::of(benchmark, metric)).collect();
        rows.sort_by(|one, other| {
            let by_gain = || is_better(other.metric).cmp(&is_better(one.metric));
            one.metric.by_severity(other.metric).then_with(by_gain)
        });
        Readable {
            outcome,
            answer: answer::answer(outcome),
            confidence: confidence(outcome),
            estimate: estimate(outcome),
            notices: grouped::lines(&outcome.notices),
            commits: commits(outcome),
            facts: facts(outcome),
            command: called.with_seed(outcome.seed),
            rows,
            suite: suite(outcome),
        }
    }

    /// The metrics of a benchmark, those that matter most first.
    pub(crate) fn of(&self, benchmark: &BenchmarkResult) -> impl Iterator<Item = &ResultRow<'a>> {
        self.rows.iter().filter(move |row| std::ptr::eq(row.benchmark, benchmark))
    }

    /// All benchmarks, by their metrics that matter most; last those without any.
    pub(crate) fn benchmarks(&self) -> Vec<&'a BenchmarkResult> {
        let mut all: Vec<&BenchmarkResult> = Vec::new();
        for benchmark in self.rows.iter().map(|row| row.benchmark).chain(&self.outcome.benchmarks) {
            if !all.iter().any(|known| std::ptr::eq(*known, benchmark)) {
                all.push(benchmark);
            }
        }
        all
    }

    /// The facts, and the command as the last one.
    pub(crate) fn facts_and_command(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let facts = self.facts.iter().map(|(name, value)| (*name, value.as_str()));
        facts.chain([("command", self.command.as_str())])
    }
}

/// A metric of a benchmark.
#[derive(Clone)]
pub(crate) struct ResultRow<'a> {
    pub(crate) benchmark: &'a BenchmarkResult,
    pub(crate) metric: &'a MetricResult,
    pub(crate) cells: CellTexts,
    /// What was measured before the test that decided, if that was another one.
    pub(crate) before: Option<CellTexts>,
}

impl<'a> ResultRow<'a> {
    pub(crate) fn of(benchmark: &'a BenchmarkResult, metric: &'a MetricResult) -> Self {
        let before = metric.layouts.filter(|over| over.number > 0).and(metric.before.as_ref());
        let before = before.map(|before| CellTexts {
            subject: before.label().to_owned(),
            is_before: true,
            style: Some(Style::new().dimmed()),
            gates: false,
            measured: text::count(before.summary.pairs, "pair"),
            mean: String::new(),
            difference: String::new(),
            threshold: String::new(),
            verdict: String::new(),
            ..CellTexts::of(benchmark, metric, &before.summary)
        });
        let cells = CellTexts::of(benchmark, metric, &metric.summary);
        ResultRow { benchmark, metric, cells, before }
    }

    /// Whether it gates, or the user asked to show it.
    pub(crate) fn is_requested(&self) -> bool {
        self.metric.gates || self.benchmark.shown.contains(&self.metric.name)
    }

    /// Its name among others: the benchmark's, the metric's, or both. `only` is the name of the
    /// metric if all have the same one.
    pub(crate) fn full_name(&self, outcome: &Outcome, only: Option<&str>) -> String {
        match (outcome.benchmarks.len(), only) {
            (0 | 1, _) => self.metric.name.clone(),
            (_, Some(_)) => self.benchmark.name.clone(),
            (_, None) => format!("{} {}", self.benchmark.name, self.metric.name),
        }
    }

    /// Its change, its interval and its threshold in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let (benchmark, metric) = (self.benchmark, &self.metric);
        let only = match metric.status {
            Status::New => Some("head"),
            Status::Removed => Some("base"),
            _ => None,
        };
        if let Some(side) = only {
            return format!("only the {side} of `{}` measures `{}`", benchmark.name, metric.name);
        }
        let summary = &metric.summary;
        let change = text::change(summary);
        let threshold = self.cells.and_threshold();
        if metric.judgement.is_some() {
            // Only the estimates decide.
            return format!(
                "`{}` of `{}` changed by {change}{threshold}",
                metric.name, benchmark.name
            );
        }
        let how = if metric.is_average() { " on average" } else { "" };
        let interval = text::interval(summary.lower, summary.upper);
        let changed = match summary.change {
            None if summary.base == Some(0.0) => "has risen from zero".to_owned(),
            _ => format!("changed by {change}{how}, interval {interval}"),
        };
        format!(
            "`{}` of `{}` {changed}{threshold}, {}{}",
            metric.name,
            benchmark.name,
            self.cells.measured,
            self.before_in_brackets()
        )
    }

    /// What was measured before: ` (as built +35.3% [+26.9%, +44.3%] in 6 pairs)`.
    fn before_in_brackets(&self) -> String {
        self.before.as_ref().map_or(String::new(), |before| format!(" ({})", before.measurement()))
    }
}

/// What a line of a table shows of a metric; `-` if there is no such number. From zero there is no
/// change in percent.
#[derive(Clone, Default)]
pub(crate) struct CellTexts {
    /// The benchmark; of what was measured before, in which executables.
    pub(crate) subject: String,
    pub(crate) metric: String,
    /// Whether it was measured before the test that decided.
    pub(crate) is_before: bool,
    /// Its colour in a terminal.
    pub(crate) style: Option<Style>,
    pub(crate) gates: bool,
    pub(crate) base: String,
    pub(crate) head: String,
    /// Both estimates in one cell: `47.4 → 55.1 ms`.
    pub(crate) both: String,
    pub(crate) change: String,
    pub(crate) interval: String,
    /// The change of the plain mean.
    pub(crate) mean: String,
    /// The difference of the means and its bounds: `+3.669 ms [+3.071, +4.266]`.
    pub(crate) difference: String,
    /// In what it was measured: `14 pairs`, `8 layouts`.
    pub(crate) measured: String,
    pub(crate) pairs: String,
    /// Empty if there is none, as the verdict is if the metric does not gate.
    pub(crate) threshold: String,
    pub(crate) verdict: String,
}

impl CellTexts {
    fn of(benchmark: &BenchmarkResult, result: &MetricResult, summary: &Summary) -> Self {
        let [base, head] = match (summary.base, summary.head) {
            (Some(base), Some(head)) => text::values([base, head], &result.unit),
            (base, head) => [base, head]
                .map(|one| one.map_or_else(dash, |value| text::value(value, &result.unit))),
        };
        let verdict = match (result.judgement, result.verdict, result.status) {
            (Some(judgement), ..) => judgement.to_string(),
            (_, Some(_), _) if is_better(result) && is_time(result) => "faster".to_owned(),
            (_, Some(_), _) if is_better(result) => "better".to_owned(),
            (_, Some(verdict), _) => text::verdict(verdict).to_owned(),
            (_, None, Status::Compared) => String::new(),
            (_, None, status) => status.to_string(),
        };
        let [change, interval, mean] = match (summary.base, summary.head) {
            (None, _) | (_, None) if summary.change.is_none() => std::array::from_fn(|_| dash()),
            (Some(0.0), Some(0.0)) => std::array::from_fn(|_| dash()),
            (Some(0.0), _) => ["from zero".to_owned(), dash(), dash()],
            _ => [
                summary.change.map_or_else(dash, text::percent),
                match result.judgement {
                    Some(_) => dash(),
                    None => text::interval(summary.lower, summary.upper),
                },
                result.mean.and_then(|mean| mean.change).map_or_else(dash, text::percent),
            ],
        };
        let both = match (summary.base, summary.head) {
            (Some(base), Some(head)) => text::step(base, head, &result.unit),
            _ => format!("{base} → {head}"),
        };
        let measured = match result.layouts.filter(|over| over.number > 0) {
            Some(over) => text::layouts(over.number, over.placing),
            // Of samples that are not judged pair by pair, the interval is that of a single look.
            None if summary.pairs == 0 && summary.lower < summary.upper => "one look".to_owned(),
            None if summary.pairs == 0 && summary.base.is_some() => "exact".to_owned(),
            None => text::count(summary.pairs, "pair"),
        };
        CellTexts {
            subject: line(&benchmark.name),
            metric: line(&result.name),
            gates: result.gates,
            base,
            head,
            both,
            change,
            interval,
            mean,
            difference: difference(result).unwrap_or_else(dash),
            measured,
            pairs: summary.pairs.to_string(),
            threshold: result.limit().map(text::limit).unwrap_or_default(),
            verdict,
            style: result.verdict.map(verdict_style),
            is_before: false,
        }
    }

    /// Of a benchmark without a metric to show.
    pub(super) fn without_metric(benchmark: &BenchmarkResult, verdict: String) -> Self {
        let mut cells =
            CellTexts { subject: line(&benchmark.name), verdict, ..CellTexts::default() };
        let CellTexts { metric, base, head, both, change, interval, measured, pairs, .. } =
            &mut cells;
        for cell in [metric, base, head, both, change, interval, measured, pairs] {
            *cell = dash();
        }
        cells
    }

    /// `as built +35.3% [+26.9%, +44.3%] in 6 pairs`.
    pub(crate) fn measurement(&self) -> String {
        let CellTexts { subject, change, interval, measured, .. } = self;
        format!("{subject} {change} {interval} in {measured}")
    }

    /// `, threshold +2%`, or nothing.
    pub(crate) fn and_threshold(&self) -> String {
        match self.threshold.as_str() {
            "" => String::new(),
            threshold => format!(", threshold {threshold}"),
        }
    }

    /// Whether its plain mean differs from the estimator.
    pub(crate) fn shows_mean(&self) -> bool {
        self.mean != "-" && self.mean != self.change
    }
}

fn dash() -> String {
    "-".to_owned()
}

fn difference(metric: &MetricResult) -> Option<String> {
    let MeanDifference { lower, estimate, upper } = metric.difference?;
    let (numbers, symbol) = text::in_one_unit(&[estimate, lower, upper], &metric.unit, 4);
    let sign = |number: &str| if number.starts_with('-') { "" } else { "+" };
    let signed = |at: usize| format!("{}{}", sign(&numbers[at]), numbers[at]);
    let [estimate, lower, upper] = [0, 1, 2].map(signed);
    Some(line(&format!("{estimate} {symbol} [{lower}, {upper}]")))
}

/// One of the two commits.
pub(crate) struct CommitLink<'a> {
    /// `base commit`, `head commit`.
    pub(crate) name: &'static str,
    pub(crate) revision: &'a Revision,
    pub(crate) url: Option<String>,
}

fn commits(outcome: &Outcome) -> Vec<CommitLink<'_>> {
    let Some(sides) = &outcome.sides else { return Vec::new() };
    let both = [("base commit", &sides.base), ("head commit", &sides.head)];
    both.map(|(name, revision)| CommitLink { name, revision, url: url(sides, revision) }).into()
}

/// The address of a commit, if the repository is known to be on GitHub.
fn url(sides: &Sides, revision: &Revision) -> Option<String> {
    let name = sides.repository.strip_prefix("github.com/")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    let is_name = name.matches('/').count() == 1 && name.chars().all(is_plain);
    is_name.then(|| format!("https://github.com/{name}/commit/{}", revision.commit))
}

fn facts(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut add = |name, value| facts.push((name, value));
    if let Some(sides) = &outcome.sides {
        add("repository", sides.repository.clone());
        add("compared", text::sides(sides));
    }
    if let Some(Some(toolchain)) = &outcome.toolchain {
        add("toolchain", toolchain.clone());
    }
    add("confidence", confidence(outcome));
    add("estimator", outcome.policy.estimator.to_string());
    add("stopped by", outcome.stopped_by.to_string());
    if let (Some(elapsed), Some(prepared)) = (outcome.elapsed_seconds, outcome.prepare_seconds) {
        let (elapsed, prepared) = (text::seconds(elapsed), text::seconds(prepared));
        add("time", format!("{elapsed} of sampling, after {prepared} of preparation"));
    }
    facts
}

/// How this program was called.
#[derive(Default)]
pub(crate) struct CommandLine(Vec<String>);

impl CommandLine {
    /// From the arguments, without the program's own name.
    pub(crate) fn new(args: impl Iterator<Item = OsString>) -> Self {
        let mut args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
        if args.first().is_some_and(|first| first == "cbdr") {
            args.remove(0);
        }
        CommandLine(args)
    }

    /// The call, with the seed that it used.
    fn with_seed(&self, seed: Option<u64>) -> String {
        let mut args = self.0.clone();
        if let Some(seed) = seed.filter(|_| !args.iter().any(|arg| arg.starts_with("--seed"))) {
            // The benchmark's own arguments follow `--`.
            let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
            args.splice(end..end, ["--seed".to_owned(), seed.to_string()]);
        }
        let words = ["cargo", "cbdr"].into_iter().chain(args.iter().map(String::as_str));
        // Only a NUL can't be quoted, and no argument has one.
        shlex::try_join(words).unwrap_or_default()
    }
}

/// The confidence of the bounds, and for how many looks: `95% at every look`.
pub(crate) fn confidence(outcome: &Outcome) -> String {
    let uses = |method| outcome.benchmarks.iter().any(|of| of.method == Some(method));
    let for_one_look = uses(Method::Paired) || uses(Method::Welch);
    let looks = match (outcome.rows.is_none() || uses(Method::Sequential), for_one_look) {
        _ if uses(Method::Judge) => return "none: the estimates alone decide".to_owned(),
        (true, true) => "at every look if the rows form pairs, else for a single look",
        (true, false) => "at every look",
        (false, _) => "for one look",
    };
    format!("{} {looks}", text::fraction(outcome.policy.confidence))
}

/// The metric of all of these, if it is the same one.
pub(crate) fn only_metric<'a>(rows: &[&'a ResultRow<'_>]) -> Option<&'a str> {
    let (first, others) = rows.split_first()?;
    let name = &first.metric.name;
    others.iter().all(|row| row.metric.name == *name).then_some(name)
}

/// [`estimate_of`] at the beginning of a sentence, with the metric's name as code.
pub(crate) fn estimate_heading(estimate: &str, metric: &str) -> String {
    let text = estimate_of(estimate, &format!("`{metric}`"));
    let mut letters = text.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// What the values of both sides are: `median wall_time`, or `median_time`, whose name is enough.
/// The metric's name may be code.
pub(crate) fn estimate_of(estimate: &str, metric: &str) -> String {
    match estimate {
        "median" if metric.trim_start_matches('`').starts_with("median_") => metric.to_owned(),
        estimate => format!("{estimate} {metric}"),
    }
}

/// What is said of a benchmark without measurements, after its name.
pub(crate) fn without_numbers(outcome: &Outcome, benchmark: &BenchmarkResult) -> String {
    let why = outcome.notices.iter().find_map(|notice| match notice {
        Notice::Benchmark { benchmark: of, notice: BenchmarkNotice::NoBaseline { why } } => {
            (*of == benchmark.name).then_some(why)
        }
        _ => None,
    });
    let what = match (benchmark.status, why, benchmark.needed_seconds) {
        (Status::New, Some(why), _) => return format!("has no baseline: {why}"),
        (Status::NotMeasured, _, Some(needed)) => {
            let time = text::seconds(needed);
            return format!("was not measured: the time limit leaves no room for {time}");
        }
        (Status::NotMeasured, ..) => "was not measured: its machine was lost",
        (Status::New, ..) => "is new: there is no baseline",
        (Status::Compared, ..) => "is the same program on both sides",
        (Status::Removed, ..) => "is no longer on the head",
        (Status::Unaffected, ..) => "is unaffected",
        (Status::DifferentOutput, ..) => "does not print the same on both sides",
    };
    what.to_owned()
}

/// The benchmarks that are only named, each as `shown`, since they have no numbers: a sentence for
/// each reason.
pub(crate) fn listed(
    benchmarks: &[BenchmarkResult],
    shown: impl Fn(&str) -> String,
) -> impl Iterator<Item = String> {
    let is_lost =
        |one: &BenchmarkResult| one.status == Status::NotMeasured && one.needed_seconds.is_none();
    let lost = if benchmarks.iter().any(is_lost) { "a machine was lost or " } else { "" };
    let not_measured = format!("not measured, because {lost}the time limit leaves no room");
    let unaffected = "unaffected, because none of the code that changed runs there".to_owned();
    let all = [(Status::NotMeasured, not_measured), (Status::Unaffected, unaffected)];
    all.into_iter().filter_map(move |(status, why)| {
        Some(format!("{why}: {}", names(benchmarks, status, &shown)?))
    })
}

/// Whether benchmarks of a status are only named.
pub(crate) fn is_listed(status: Status) -> bool {
    matches!(status, Status::NotMeasured | Status::Unaffected)
}

/// All benchmarks together: `suite of 67 benchmarks: geomean +0.31% [-0.05%, +0.62%] in 14 pairs`.
fn suite(outcome: &Outcome) -> Option<String> {
    let suite = outcome.suite.as_ref()?;
    let metrics = suite.numbers.iter().flat_map(|of| of.metrics.iter().map(move |one| (of, one)));
    let rows = metrics.map(|(of, metric)| ResultRow::of(of, metric));
    let rows: Vec<ResultRow<'_>> =
        rows.filter(|row| row.metric.gates || row.metric.summary.pairs > 0).collect();
    let only = only_metric(&rows.iter().collect::<Vec<_>>()).is_some();
    let numbers: Vec<String> = rows.iter().map(|row| number(row, only)).collect();
    let some = format!(" and {} unaffected", suite.unaffected);
    let unaffected = if suite.unaffected == 0 { "" } else { &some };
    let benchmarks = text::count(suite.benchmarks as u64, "benchmark");
    let all = format!("suite of {benchmarks}{unaffected}: {}", numbers.join("; "));
    (!numbers.is_empty()).then_some(all)
}

/// A number of the suite, without the word.
fn number(row: &ResultRow<'_>, is_only: bool) -> String {
    let name = row.benchmark.name.trim_start_matches("suite ");
    let metric = if is_only { String::new() } else { format!(" of {}", line(&row.metric.name)) };
    let before = row.before_in_brackets();
    let CellTexts { verdict, measured, .. } = &row.cells;
    let threshold = match row.cells.and_threshold().as_str() {
        "" => String::new(),
        threshold => format!("{threshold}: {verdict}"),
    };
    let changed = text::changed(&row.metric.summary);
    format!("{name}{metric} {changed} in {measured}{before}{threshold}")
}

/// What the estimates of both sides are: `median`.
pub(crate) fn estimate(outcome: &Outcome) -> &'static str {
    let are_averages =
        outcome.gates().next().is_some() && outcome.gates().all(|(_, metric)| metric.is_average());
    match outcome.policy.estimator {
        Estimator::Robust if are_averages => "mean",
        estimator => estimator.statistic(),
    }
}

/// The lines of a table: each row, and below it what was measured before.
pub(super) fn lines(rows: &[&ResultRow<'_>]) -> Vec<CellTexts> {
    rows.iter().flat_map(|row| std::iter::once(&row.cells).chain(&row.before)).cloned().collect()
}

/// Whether another test than that of the pairs decided one of these.
pub(super) fn has_layouts(rows: &[&ResultRow<'_>]) -> bool {
    rows.iter().any(|row| row.before.is_some())
}
