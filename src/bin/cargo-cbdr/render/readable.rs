//! A result in the words of all formats, made once. A renderer arranges these words, and looks
//! nothing up.

use std::ffi::OsString;

use cargo_cbdr::model::{
    BenchmarkResult, Estimator, Method, MetricResult, Notice, Outcome, Pair, Revision, Sides,
    Status, Summary,
};

use super::answer::{self, Answer, is_better, is_time};
use super::escape::line;
use crate::ui::grouped::{self, NoticeLine};
use crate::ui::text;

/// A result, with all that formats for people show of it.
pub(crate) struct Readable<'a> {
    /// As measured.
    pub(crate) outcome: &'a Outcome,
    /// The verdict in a word or two, and how much was removed.
    pub(crate) title: String,
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
    /// All metrics, those that matter most first.
    pub(crate) rows: Vec<ResultRow<'a>>,
    /// All benchmarks together, in a sentence.
    pub(crate) suite: Option<String>,
}

impl<'a> Readable<'a> {
    pub(crate) fn new(outcome: &'a Outcome, called: &CommandLine) -> Self {
        let mut rows: Vec<ResultRow<'_>> =
            outcome.metrics().map(|(benchmark, metric)| ResultRow::of(benchmark, metric)).collect();
        rows.sort_by(|one, other| one.metric.by_severity(other.metric));
        Readable {
            outcome,
            title: answer::title(outcome),
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
            name: before.label().to_owned(),
            measured: text::count(before.summary.pairs, "pair"),
            mean: String::new(),
            threshold: None,
            verdict: String::new(),
            ..cells(metric, &before.summary)
        });
        ResultRow { benchmark, metric, cells: cells(metric, &metric.summary), before }
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
        let threshold = self.cells.threshold.as_ref();
        let threshold = threshold.map_or(String::new(), |limit| format!(", threshold {limit}"));
        if metric.judgement.is_some() {
            // Only the estimates decide.
            return format!(
                "`{}` of `{}` changed by {change}{threshold}",
                metric.name, benchmark.name
            );
        }
        let how = if metric.is_average() { " on average" } else { "" };
        format!(
            "`{}` of `{}` changed by {change}{how}, interval {}{threshold}, {}{}",
            metric.name,
            benchmark.name,
            text::interval(summary.lower, summary.upper),
            self.cells.measured,
            self.before_in_brackets()
        )
    }

    /// What was measured before: ` (as built +35.3% [+26.9%, +44.3%] in 6 pairs)`.
    fn before_in_brackets(&self) -> String {
        self.before.as_ref().map_or(String::new(), |before| {
            let CellTexts { name, change, interval, measured, .. } = before;
            format!(" ({name} {change} {interval} in {measured})")
        })
    }
}

/// A line of a table: a row, or what was measured before the test that decided it.
#[derive(Clone, Copy)]
pub(crate) struct ResultLine<'r> {
    pub(crate) benchmark: &'r BenchmarkResult,
    /// `None` for a benchmark without a metric to show.
    pub(crate) row: Option<&'r ResultRow<'r>>,
    pub(crate) is_before: bool,
}

impl<'r> ResultLine<'r> {
    pub(crate) fn of(row: &'r ResultRow<'r>) -> Self {
        ResultLine { benchmark: row.benchmark, row: Some(row), is_before: false }
    }

    /// Each of the lines, and below it what was measured before.
    pub(crate) fn with_before(lines: impl Iterator<Item = Self>) -> Vec<Self> {
        let lines = lines.flat_map(|line| {
            let has_before = line.row.is_some_and(|row| row.before.is_some());
            let before = has_before.then_some(ResultLine { is_before: true, ..line });
            std::iter::once(line).chain(before)
        });
        lines.collect()
    }

    /// A cell, or `-` of a benchmark without a metric.
    pub(crate) fn cell(&self, cell: impl Fn(&CellTexts) -> &String) -> String {
        let cells = self.row.and_then(|row| match self.is_before {
            true => row.before.as_ref(),
            false => Some(&row.cells),
        });
        cells.map_or_else(|| "-".to_owned(), |cells| cell(cells).clone())
    }

    /// A cell that only a row has.
    pub(crate) fn of_row(&self, cell: impl Fn(&ResultRow<'_>) -> String) -> String {
        match (self.is_before, self.row) {
            (true, _) => String::new(),
            (false, row) => row.map_or_else(|| "-".to_owned(), cell),
        }
    }
}

/// What tables show of a metric; `-` if there is no such number. From zero there is no change in
/// percent.
#[derive(Clone)]
pub(crate) struct CellTexts {
    pub(crate) name: String,
    pub(crate) base: String,
    pub(crate) head: String,
    /// Both estimates in one cell: `47.4 → 55.1 ms`.
    pub(crate) both: String,
    pub(crate) change: String,
    pub(crate) interval: String,
    /// The change of the plain mean.
    pub(crate) mean: String,
    /// In what it was measured: `14 pairs`, `8 layouts`.
    pub(crate) measured: String,
    pub(crate) threshold: Option<String>,
    /// Empty if the metric does not gate.
    pub(crate) verdict: String,
}

fn cells(result: &MetricResult, summary: &Summary) -> CellTexts {
    let dash = || "-".to_owned();
    let [base, head] = match (summary.base, summary.head) {
        (Some(base), Some(head)) => text::values([base, head], &result.unit),
        (base, head) => {
            [base, head].map(|one| one.map_or_else(dash, |value| text::value(value, &result.unit)))
        }
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
    let both = summary.base.zip(summary.head);
    let both = both.map(|(base, head)| text::step(base, head, &result.unit));
    let both = both.unwrap_or_else(|| format!("{base} → {head}"));
    let measured = match result.layouts.filter(|over| over.number > 0) {
        Some(over) => text::layouts(over.number, over.placing),
        // Of samples that are not judged pair by pair, the interval is that of a single look.
        None if summary.pairs == 0 && summary.lower < summary.upper => "one look".to_owned(),
        None if summary.pairs == 0 && summary.base.is_some() => "exact".to_owned(),
        None => text::count(summary.pairs, "pair"),
    };
    let threshold = result.limit().map(text::limit);
    let name = line(&result.name);
    CellTexts { name, base, head, both, change, interval, mean, measured, threshold, verdict }
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
    let commit = |(name, revision): (&'static str, _)| CommitLink {
        name,
        revision,
        url: url(sides, revision),
    };
    both.map(commit).into()
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

/// The names of a benchmark's sides: their labels, without the benchmark's name.
pub(crate) fn sides(benchmark: &BenchmarkResult) -> Pair<String> {
    let Some(labels) = &benchmark.labels else {
        return Pair { base: "base".to_owned(), head: "head".to_owned() };
    };
    let prefix = format!("{}/", benchmark.name);
    labels.as_ref().map(|label| line(label.strip_prefix(&prefix).unwrap_or(label)))
}

/// What is said of a benchmark without measurements, after its name.
pub(crate) fn without_numbers(outcome: &Outcome, benchmark: &BenchmarkResult) -> String {
    let why = outcome.notices.iter().find_map(|notice| match notice {
        Notice::NoBaseline { benchmark: of, why } if *of == benchmark.name => Some(why),
        _ => None,
    });
    let what = match (benchmark.status, why) {
        (Status::New, Some(why)) => return format!("has no baseline: {why}"),
        (Status::New, None) => "is new: there is no baseline",
        (Status::Compared, _) => "is the same program on both sides",
        (Status::Removed, _) => "is no longer on the head",
        (Status::Unaffected, _) => "is unaffected",
        (Status::NotMeasured, _) => match benchmark.needed_seconds.map(text::seconds) {
            Some(time) => {
                return format!("was not measured: the time limit leaves no room for {time}");
            }
            None => "was not measured: its machine was lost",
        },
        (Status::DifferentOutput, _) => "does not print the same on both sides",
    };
    what.to_owned()
}

/// The benchmarks that are only named, since they have no numbers: their status, and why.
pub(crate) fn listed(benchmarks: &[BenchmarkResult]) -> [(Status, &'static str); 2] {
    let is_lost =
        |one: &BenchmarkResult| one.status == Status::NotMeasured && one.needed_seconds.is_none();
    let why = match benchmarks.iter().any(is_lost) {
        true => "not measured, because a machine was lost or the time limit leaves no room",
        false => "not measured, because the time limit leaves no room",
    };
    let unaffected = "unaffected, because none of the code that changed runs there";
    [(Status::NotMeasured, why), (Status::Unaffected, unaffected)]
}

/// Whether benchmarks of a status are only named.
pub(crate) fn is_listed(status: Status) -> bool {
    matches!(status, Status::NotMeasured | Status::Unaffected)
}

/// The names of the benchmarks of a status, each as `shown`; `None` if there are none.
pub(crate) fn names(
    benchmarks: &[BenchmarkResult],
    status: Status,
    shown: impl Fn(&str) -> String,
) -> Option<String> {
    let all: Vec<_> = benchmarks.iter().filter(|one| one.status == status).collect();
    (!all.is_empty()).then(|| text::first_few(all.iter().map(|benchmark| shown(&benchmark.name))))
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
    let CellTexts { threshold, verdict, measured, .. } = &row.cells;
    let threshold = threshold.as_ref().map(|limit| format!(", threshold {limit}: {verdict}"));
    let (changed, threshold) = (text::changed(&row.metric.summary), threshold.unwrap_or_default());
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

/// Whether another test than that of the pairs decided one of these.
pub(super) fn has_layouts(rows: &[&ResultRow<'_>]) -> bool {
    rows.iter().any(|row| row.before.is_some())
}

/// Whether the plain mean of one of these differs from the estimator.
pub(crate) fn shows_mean(rows: &[&ResultRow<'_>]) -> bool {
    rows.iter()
        .any(|row| row.metric.mean.is_some_and(|mean| mean.change != row.metric.summary.change))
}
