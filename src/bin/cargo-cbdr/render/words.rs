//! The texts of a result that are the same in all formats.

use std::borrow::Cow;

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::notice::Notice;
use cargo_cbdr::model::outcome::{
    BenchmarkResult, Method, MetricResult, Outcome, Status, Summary, Verdict,
};

use cargo_cbdr::model::revision::{Revision, Sides};
use cargo_cbdr::model::side::Pair;
use cargo_cbdr::stats::estimator::TAIL;

use super::answer::{is_better, is_time};
use super::escape::line;
use crate::ui::text;

/// The address of the explanation of what a verdict promises.
pub(crate) const PROMISE: &str =
    concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/statistics.md");

/// The confidence of the bounds, and for how many looks: `95% at every look`.
pub(crate) fn confidence(outcome: &Outcome) -> String {
    let uses = |method| outcome.benchmarks.iter().any(|of| of.method == Some(method));
    let for_one_look = uses(Method::Paired) || uses(Method::Welch);
    let looks = match (outcome.rows.is_none() || uses(Method::Sequential), for_one_look) {
        _ if uses(Method::Judge) => return "none: the estimates alone decide".to_owned(),
        (true, true) => "at every look where the rows pair, else for one look",
        (true, false) => "at every look",
        (false, _) => "for one look",
    };
    format!("{}% {looks}", text::rounded(100.0 * outcome.policy.confidence))
}

/// A result for display: a metric whose average decides has the estimates of the average.
pub(crate) fn readable(outcome: &Outcome) -> Cow<'_, Outcome> {
    if !outcome.metrics().any(|(_, metric)| text::on_average(metric).is_some()) {
        return Cow::Borrowed(outcome);
    }
    let mut outcome = outcome.clone();
    for metric in outcome.benchmarks.iter_mut().flat_map(|one| &mut one.metrics) {
        if let Some(average) = text::on_average(metric) {
            *metric = average;
        }
    }
    Cow::Owned(outcome)
}

/// The metric of all of these, if it is the same one.
pub(crate) fn only_metric<'a>(
    shown: impl IntoIterator<Item = &'a MetricResult>,
) -> Option<&'a str> {
    let mut names = shown.into_iter().map(|metric| metric.name.as_str());
    let first = names.next()?;
    names.all(|name| name == first).then_some(first)
}

/// A name for a metric among others: the benchmark's, the metric's, or both. `only` is the
/// name of the metric if all have the same one.
pub(crate) fn full_name(
    outcome: &Outcome,
    benchmark: &BenchmarkResult,
    metric: &MetricResult,
    only: Option<&str>,
) -> String {
    match (outcome.benchmarks.len(), only) {
        (0 | 1, _) => metric.name.clone(),
        (_, Some(_)) => benchmark.name.clone(),
        (_, None) => format!("{} {}", benchmark.name, metric.name),
    }
}

/// The same at the beginning of a sentence, with the metric's name as code.
pub(crate) fn estimate_heading(outcome: &Outcome, metric: &str) -> String {
    let text = estimate_of(outcome, &format!("`{metric}`"));
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// What the values of both sides are: `median wall_time`, or `median_time`, whose name is enough.
/// The metric's name may be code.
pub(crate) fn estimate_of(outcome: &Outcome, metric: &str) -> String {
    match estimate(outcome) {
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

/// Why the base has no baseline, if its benchmark does not build.
pub(crate) fn no_baseline<'a>(outcome: &'a Outcome, name: &str) -> Option<&'a str> {
    outcome.notices.iter().find_map(|notice| match notice {
        Notice::NoBaseline { benchmark, why } if benchmark == name => Some(why.as_str()),
        _ => None,
    })
}

/// The names of the unaffected benchmarks, each as `shown`; `None` if there are none.
pub(crate) fn unaffected(
    benchmarks: &[BenchmarkResult],
    shown: impl Fn(&str) -> String,
) -> Option<String> {
    let all: Vec<_> = benchmarks.iter().filter(|one| one.status == Status::Unaffected).collect();
    let names = all.iter().map(|benchmark| shown(&benchmark.name));
    (!all.is_empty()).then(|| text::first_few(names))
}

/// The line of one metric: its change, its interval, its threshold.
pub(super) fn sentence(benchmark: &BenchmarkResult, metric: &MetricResult) -> String {
    let only = match metric.status {
        Status::Compared | Status::Unaffected => None,
        Status::New => Some("head"),
        Status::Removed => Some("base"),
    };
    if let Some(side) = only {
        return format!("only the {side} of `{}` measures `{}`", benchmark.name, metric.name);
    }
    let summary = &metric.summary;
    let change = summary.change.map_or("?".to_owned(), text::percent);
    let threshold =
        metric.limit().map_or(String::new(), |limit| format!(", threshold {}", text::limit(limit)));
    if metric.judgement.is_some() {
        // Only the estimates decide.
        return format!("`{}` of `{}` changed by {change}{threshold}", metric.name, benchmark.name);
    }
    let (how, over) = match over_layouts(metric) {
        Some((over, change)) => (" as built", format!(", {over} {change}")),
        None if metric.overruled.is_some() => (" on average", String::new()),
        None => ("", String::new()),
    };
    format!(
        "`{}` of `{}` changed by {change}{how}, interval {}{over}{threshold}, {}",
        metric.name,
        benchmark.name,
        text::interval(summary.lower, summary.upper),
        text::count(benchmark.pairs, "pair"),
    )
}

/// The result of a comparison in a few words.
pub(crate) fn brief(outcome: &Outcome) -> String {
    let change = |metric: &MetricResult| {
        let summary = &metric.summary;
        let change = summary.change.map_or("?".to_owned(), text::percent);
        format!("{} {change} {}", line(&metric.name), text::bounds(summary.lower, summary.upper))
    };
    let changes: Vec<String> = outcome.gates().map(|(_, metric)| change(metric)).collect();
    let verdict = text::verdict(outcome.verdict.unwrap_or(Verdict::Inconclusive));
    let pairs = text::count(outcome.pairs(), "pair");
    let spent = text::seconds(outcome.elapsed_seconds.unwrap_or_default());
    format!("{verdict}, {}, {pairs}, {spent}", changes.join(", "))
}

/// What tables show of a metric; `-` if there is no such number. From zero there is no change in
/// percent.
pub(crate) struct Cells {
    pub(crate) name: String,
    pub(crate) base: String,
    pub(crate) head: String,
    /// Both estimates in one cell: `47.4 → 55.1 ms`.
    pub(crate) both: String,
    pub(crate) change: String,
    pub(crate) interval: String,
    /// The change of the plain mean.
    pub(crate) mean: String,
    /// Empty if the metric does not gate.
    pub(crate) verdict: String,
}

pub(crate) fn cells(result: &MetricResult) -> Cells {
    let dash = || "-".to_owned();
    let summary = &result.summary;
    let [base, head] = match (summary.base, summary.head) {
        (Some(base), Some(head)) => text::values([base, head], &result.unit),
        (base, head) => {
            [base, head].map(|one| one.map_or_else(dash, |value| text::value(value, &result.unit)))
        }
    };
    let verdict = match (result.verdict, result.status) {
        _ if result.judgement.is_some() => {
            result.judgement.map_or(String::new(), |j| j.to_string())
        }
        (Some(_), _) if is_better(result) => {
            if is_time(result) { "faster" } else { "better" }.to_owned()
        }
        (Some(verdict), _) => text::verdict(verdict).to_owned(),
        (None, Status::Compared) => String::new(),
        (None, status) => status.to_string(),
    };
    let [change, interval, mean] = match (summary.base, summary.head) {
        (None, _) | (_, None) | (Some(0.0), Some(0.0)) => std::array::from_fn(|_| dash()),
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
    Cells { name: line(&result.name), base, head, both, change, interval, mean, verdict }
}

/// What the estimates of both sides are: `median`.
pub(crate) fn estimate(outcome: &Outcome) -> &'static str {
    let are_averages = outcome.gates().next().is_some()
        && outcome.gates().all(|(_, metric)| metric.overruled.is_some());
    match outcome.policy.estimator {
        Estimator::Robust if are_averages => "mean",
        estimator => estimator.statistic(),
    }
}

/// A remark on the changes, if one of these has another direction than the estimates
/// of the sides, or is that of an average.
pub(crate) fn apart<'a>(
    outcome: &Outcome,
    shown: impl IntoIterator<Item = &'a MetricResult> + Clone,
) -> Option<String> {
    let averages = shown.clone().into_iter().filter(|metric| metric.overruled.is_some()).count();
    if averages > 0 {
        let whose = match averages {
            1 => "an average decides and is shown".to_owned(),
            several => format!("{several} averages decide and are shown"),
        };
        return Some(format!(
            "because of rare slow runs, {whose}: it may change by {TAIL} times the threshold"
        ));
    }
    /// How far the two have to be apart for a remark.
    const APART: f64 = 0.005;
    let goes_apart = |result: &MetricResult| {
        let Summary { base: Some(base), head: Some(head), change: Some(change), .. } =
            result.summary
        else {
            return false;
        };
        let implied = head / base - 1.0;
        (implied - change).abs() > APART && (implied < 0.0) != (change < 0.0)
    };
    let estimate = estimate(outcome);
    shown.into_iter().any(goes_apart).then(|| {
        format!(
            "a change is the {estimate} of the pairs' changes, not the change of the {estimate}s"
        )
    })
}

/// Whether a metric gates, or the user asked to show it.
pub(crate) fn is_requested(benchmark: &BenchmarkResult, metric: &MetricResult) -> bool {
    metric.gates || benchmark.shown.contains(&metric.name)
}

/// How many layouts there were, and the change over them with its interval: `over 14 layouts`,
/// `+2.10% [+2.02%, +3.40%]`.
pub(crate) fn over_layouts(result: &MetricResult) -> Option<(String, String)> {
    let over = result.layouts.filter(|over| over.number > 0)?;
    let layouts = text::layouts(over.number, over.placing);
    let bounds = text::bounds(over.summary.lower, over.summary.upper);
    Some((format!("over {layouts}"), format!("{} {bounds}", change_over_layouts(result))))
}

/// The change over layouts, if it was tested.
pub(super) fn change_over_layouts(result: &MetricResult) -> String {
    let over = result.layouts.filter(|over| over.number > 0);
    over.map_or("-".to_owned(), |over| over.summary.change.map_or("?".to_owned(), text::percent))
}

/// Whether a metric was tested over layouts.
pub(super) fn has_layouts(benchmarks: &[BenchmarkResult]) -> bool {
    benchmarks.iter().flat_map(|one| &one.metrics).any(|metric| metric.layouts.is_some())
}

/// Whether the plain mean of one of these differs from the estimator.
pub(super) fn shows_mean<'a>(metrics: impl IntoIterator<Item = &'a MetricResult>) -> bool {
    let other = |m: &MetricResult| m.mean.is_some_and(|mean| mean.change != m.summary.change);
    metrics.into_iter().any(other)
}

/// All metrics, those that matter most first.
pub(crate) fn worst_first(outcome: &Outcome) -> Vec<(&BenchmarkResult, &MetricResult)> {
    let mut all: Vec<_> = outcome.metrics().collect();
    all.sort_by(|(_, one), (_, other)| one.by_severity(other));
    all
}

/// All benchmarks, by their metrics that matter most.
pub(crate) fn benchmarks_worst_first(outcome: &Outcome) -> Vec<&BenchmarkResult> {
    let mut all: Vec<_> = outcome
        .benchmarks
        .iter()
        .map(|benchmark| {
            let metrics = benchmark.metrics.iter();
            (metrics.min_by(|one, other| one.by_severity(other)), benchmark)
        })
        .collect();
    all.sort_by(|(one, _), (other, _)| match (one, other) {
        (Some(one), Some(other)) => one.by_severity(other),
        _ => other.is_some().cmp(&one.is_some()),
    });
    all.into_iter().map(|(_, benchmark)| benchmark).collect()
}

/// One of the two commits.
pub(crate) struct Commit<'a> {
    /// `base commit`, `head commit`.
    pub(crate) name: &'static str,
    pub(crate) revision: &'a Revision,
    /// Its address, if known.
    pub(crate) url: Option<String>,
}

/// The two commits; `None` for samples.
pub(crate) fn commits(outcome: &Outcome) -> Vec<Commit<'_>> {
    let Some(sides) = &outcome.sides else { return Vec::new() };
    let both = [("base commit", &sides.base), ("head commit", &sides.head)];
    let commit =
        |(name, revision): (&'static str, _)| Commit { name, revision, url: url(sides, revision) };
    both.map(commit).into()
}

/// The address of a commit, if the repository is known to be on GitHub.
fn url(sides: &Sides, revision: &Revision) -> Option<String> {
    let name = sides.repository.strip_prefix("github.com/")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    let is_name = name.matches('/').count() == 1 && name.chars().all(is_plain);
    is_name.then(|| format!("https://github.com/{name}/commit/{}", revision.commit))
}

/// What was compared and how, as names and values; the last one is the command
/// that reproduces the result.
pub(crate) fn facts(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(sides) = &outcome.sides {
        facts.push(("repository", sides.repository.clone()));
        facts.push(("compared", text::sides(sides)));
    }
    if let Some(Some(toolchain)) = &outcome.toolchain {
        facts.push(("toolchain", toolchain.clone()));
    }
    facts.push(("confidence", confidence(outcome)));
    facts.push(("estimator", outcome.policy.estimator.to_string()));
    facts.push(("stopped by", outcome.stopped_by.to_string()));
    if let (Some(elapsed), Some(prepared)) = (outcome.elapsed_seconds, outcome.prepare_seconds) {
        let (elapsed, prepared) = (text::seconds(elapsed), text::seconds(prepared));
        facts.push(("time", format!("{elapsed} of sampling, after {prepared} of preparation")));
    }
    facts.push(("command", command(outcome.seed)));
    facts
}

/// This call, with the seed that it used.
fn command(seed: Option<u64>) -> String {
    let args = std::env::args_os().skip(1);
    let mut args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    if args.first().is_some_and(|first| first == "cbdr") {
        args.remove(0);
    }
    if let Some(seed) = seed.filter(|_| !args.iter().any(|arg| arg.starts_with("--seed"))) {
        // The benchmark's own arguments follow `--`.
        let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
        args.splice(end..end, ["--seed".to_owned(), seed.to_string()]);
    }
    let words = ["cargo", "cbdr"].into_iter().chain(args.iter().map(String::as_str));
    // Only a NUL can't be quoted, and no argument has one.
    shlex::try_join(words).unwrap_or_default()
}
