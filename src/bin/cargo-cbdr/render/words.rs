//! The texts of a result that are the same in all formats.

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::notice::Notice;
use cargo_cbdr::model::outcome::{
    BenchmarkResult, Method, MetricResult, Outcome, Status, Summary, Verdict,
};
use cargo_cbdr::model::side::Pair;
use cargo_cbdr::stats::estimator::TAIL;

use super::escape::line;
use super::readable::ResultRow;
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
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
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

/// What the estimates of both sides are: `median`.
pub(crate) fn estimate(outcome: &Outcome) -> &'static str {
    let are_averages = outcome.gates().next().is_some()
        && outcome.gates().all(|(_, metric)| metric.overruled.is_some());
    match outcome.policy.estimator {
        Estimator::Robust if are_averages => "mean",
        Estimator::Robust | Estimator::Median => "median",
        Estimator::Mean => "mean",
        Estimator::GeometricMean => "geometric mean",
        Estimator::Min => "minimum",
    }
}

/// A remark on the changes, if one of these has another direction than the estimates
/// of the sides, or is that of an average.
pub(crate) fn apart(estimate: &str, rows: &[&ResultRow<'_>]) -> Option<String> {
    let averages = rows.iter().filter(|row| row.metric.overruled.is_some()).count();
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
    let goes_apart = |row: &&ResultRow<'_>| {
        let Summary { base: Some(base), head: Some(head), change: Some(change), .. } =
            row.metric.summary
        else {
            return false;
        };
        let implied = head / base - 1.0;
        (implied - change).abs() > APART && (implied < 0.0) != (change < 0.0)
    };
    rows.iter().any(goes_apart).then(|| {
        format!(
            "a change is the {estimate} of the pairs' changes, not the change of the {estimate}s"
        )
    })
}

/// Whether one of these was tested over layouts.
pub(super) fn has_layouts(rows: &[&ResultRow<'_>]) -> bool {
    rows.iter().any(|row| row.metric.layouts.is_some())
}

/// Whether the plain mean of one of these differs from the estimator.
pub(super) fn shows_mean(rows: &[&ResultRow<'_>]) -> bool {
    rows.iter()
        .any(|row| row.metric.mean.is_some_and(|mean| mean.change != row.metric.summary.change))
}
