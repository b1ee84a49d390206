//! The words of a result, which are the same in all formats.

use std::cmp::Ordering;

use cargo_cbdr::model::metric::{Better, Unit};
use cargo_cbdr::model::notice::Notice;
use cargo_cbdr::model::outcome::{
    BenchmarkResult, Method, MetricResult, Outcome, Removed, Status, StoppedBy, Verdict,
};

use super::escape::line;
use crate::ui::{notices, text};

/// The overall verdict in words, and how much of what it could be about is gone.
pub(crate) fn headline(outcome: &Outcome) -> String {
    let verdict = match outcome.verdict {
        Some(Verdict::Regression) => "regression",
        Some(Verdict::NoRegression) => "no regression",
        Some(Verdict::Inconclusive) => "inconclusive",
        Some(Verdict::Identical) => "identical",
        Some(Verdict::NoBaseline) => "no baseline",
        None => "estimates only",
    };
    match removed_count(&outcome.removed) {
        Some(removed) => format!("{verdict}, {removed}"),
        None => verdict.to_owned(),
    }
}

/// Why the verdict is what it is, and what it is not about, in one sentence.
pub(crate) fn reason(outcome: &Outcome) -> String {
    const MOST: usize = 10;
    let mut reason = decided_by(outcome);
    if let Some(count) = removed_count(&outcome.removed) {
        reason += &format!("; {count}: {}", text::removed_names(&outcome.removed, MOST));
    }
    if !outcome.selecting.is_empty() {
        let keys = text::list(outcome.selecting.iter().map(|key| format!("`{}`", line(key))));
        reason += &format!("; base and head set what is run differently: {keys}");
    }
    reason
}

fn decided_by(outcome: &Outcome) -> String {
    match (outcome.verdict, outcome.elapsed_seconds) {
        (Some(Verdict::Identical), _) => "nothing can have changed".to_owned(),
        (Some(Verdict::NoBaseline), _) => "there is nothing to compare with".to_owned(),
        (Some(verdict), Some(seconds)) => decided_here(outcome, verdict, &text::seconds(seconds)),
        (Some(verdict), None) => decided_by_samples(outcome, verdict),
        (None, Some(seconds)) => shard(outcome, &text::seconds(seconds)),
        (None, None) => "no threshold was given, so there is no verdict".to_owned(),
    }
}

/// What decided a comparison that took so long.
fn decided_here(outcome: &Outcome, verdict: Verdict, spent: &str) -> String {
    let number = deciding(outcome).count();
    match (verdict, number) {
        (Verdict::Inconclusive, _) => {
            let open = match outcome.gates().count() {
                1 => "the interval still holds the threshold".to_owned(),
                all => format!("{number} of {all} intervals still hold their thresholds"),
            };
            format!("{open}; {}", stopped(outcome, spent))
        }
        (Verdict::NoRegression, 0)
            if outcome.benchmarks.iter().any(|one| one.status == Status::Unaffected) =>
        {
            "no benchmark runs any of the code that changed".to_owned()
        }
        (_, 0) => String::new(),
        (Verdict::Regression, _) => format!("{}, after {spent}", regressions(outcome)),
        (Verdict::NoRegression, 2..) => {
            let faster = faster(outcome).map_or(String::new(), |faster| format!("; {faster}"));
            format!("all {number} changes are below their thresholds{faster} (after {spent})")
        }
        _ => {
            let passed = deciding(outcome).next().map(|one| passed(outcome, one));
            format!("{} (after {spent})", passed.unwrap_or_default())
        }
    }
}

/// What decided about samples, of which one metric stands for all.
fn decided_by_samples(outcome: &Outcome, verdict: Verdict) -> String {
    match (verdict, deciding(outcome).next()) {
        (_, None) => String::new(),
        (Verdict::Inconclusive, _) => {
            let end = match outcome.stopped_by {
                StoppedBy::Interrupt => "interrupted",
                _ => "there are no more samples",
            };
            format!("the interval still holds the threshold; {end}")
        }
        (Verdict::Regression, Some(_)) => regressions(outcome),
        (_, Some(first)) => passed(outcome, first),
    }
}

/// What passed: how much faster it is, where that is sure.
fn passed(outcome: &Outcome, one: (&BenchmarkResult, &MetricResult)) -> String {
    let (benchmark, metric) = one;
    match metric.summary.change.filter(|_| is_better(metric) && is_time(metric)) {
        Some(change) => {
            let [_, from, to, ..] = cells(metric);
            let (subject, base) = (line(subject(benchmark)), base_name(outcome, benchmark));
            let (change, name) = (text::size(change), line(&metric.name));
            format!("{subject} is {change} faster than {base} ({name} {from} → {to})")
        }
        None => changed(one),
    }
}

/// What a benchmark is compared with.
fn base_name(outcome: &Outcome, benchmark: &BenchmarkResult) -> String {
    match (&benchmark.labels, &outcome.sides) {
        (Some(labels), _) => line(&labels.base),
        (None, Some(sides)) => line(&sides.base.rev),
        (None, None) => "base".to_owned(),
    }
}

/// What has regressed: of one metric all that matters, of several their names and changes,
/// the worst first.
fn regressions(outcome: &Outcome) -> String {
    let mut worst: Vec<_> = deciding(outcome).collect();
    worst.sort_by(|(_, one), (_, other)| by_severity(one, other));
    if let [only] = worst.as_slice() {
        return regression(outcome, *only);
    }
    let shown = |(benchmark, metric): &(&BenchmarkResult, &MetricResult)| {
        let change = metric.summary.change.map_or("from zero".to_owned(), text::percent);
        (line(subject(benchmark)), line(&metric.name), change)
    };
    let is_one_each = worst.iter().all(|(benchmark, metric)| {
        is_time(metric) && benchmark.metrics.iter().filter(|metric| metric.gates).count() == 1
    });
    let all = outcome.gates().count();
    let named = worst.iter().map(|one| match (is_one_each, shown(one)) {
        (true, (benchmark, _, change)) => format!("{benchmark} {change}"),
        (false, (benchmark, metric, change)) => format!("{metric} of {benchmark} {change}"),
    });
    let count = worst.len();
    let what = if is_one_each { "benchmarks are slower" } else { "metrics have got worse" };
    format!("{count} of {all} {what}: {}", first_few(named))
}

/// The one regression: `parse is 24.6% slower than main (wall_time 47.4 ms → 55.1 ms; allowed: 2.00%)`.
fn regression(outcome: &Outcome, one: (&BenchmarkResult, &MetricResult)) -> String {
    let (benchmark, metric) = one;
    let Some(change) = metric.summary.change.filter(|_| metric.better == Better::Lower) else {
        return changed(one);
    };
    let base = base_name(outcome, benchmark);
    let (subject, name, change) =
        (line(subject(benchmark)), line(&metric.name), text::size(change));
    let [_, from, to, ..] = cells(metric);
    let allowed = text::size(metric.limit().unwrap_or_default());
    let over = change_in_layouts(metric).map_or(String::new(), |over| format!("{over}; "));
    if is_time(metric) {
        let details = format!("{over}{name} {from} → {to}; allowed: {allowed}");
        format!("{subject} is {change} slower than {base} ({details})")
    } else {
        let details = format!("{over}{from} → {to}; allowed: {allowed}");
        format!("{name} of {subject} is {change} more than that of {base} ({details})")
    }
}

/// Which benchmarks have got faster, where some have.
fn faster(outcome: &Outcome) -> Option<String> {
    let mut all: Vec<_> = outcome.gates().filter(|(_, metric)| is_better(metric)).collect();
    all.sort_by(|(_, one), (_, other)| {
        let gain = |metric: &MetricResult| metric.summary.change.unwrap_or_default().abs();
        gain(other).total_cmp(&gain(one))
    });
    let word = if all.iter().all(|(_, metric)| is_time(metric)) { "faster" } else { "better" };
    let named = all.iter().map(|(benchmark, metric)| {
        let change = metric.summary.change.map_or("?".to_owned(), text::percent);
        format!("{} {change}", line(subject(benchmark)))
    });
    (!all.is_empty()).then(|| format!("{} {word}: {}", all.len(), first_few(named)))
}

/// Whether a metric passes, and its whole interval is on the good side of no change.
fn is_better(metric: &MetricResult) -> bool {
    let summary = &metric.summary;
    metric.verdict == Some(Verdict::NoRegression)
        && match metric.better {
            Better::Lower => summary.upper.is_some_and(|upper| upper < 0.0),
            Better::Higher => summary.lower.is_some_and(|lower| lower > 0.0),
        }
}

/// What a metric is that has got better.
fn better_word(metric: &MetricResult) -> &'static str {
    if is_time(metric) { "faster" } else { "better" }
}

/// Whether more of a metric is slower.
fn is_time(metric: &MetricResult) -> bool {
    metric.unit == Unit::Seconds && metric.better == Better::Lower
}

/// What a benchmark is called: where labels are compared, by that of the head.
fn subject(benchmark: &BenchmarkResult) -> &str {
    benchmark.labels.as_ref().map_or(&benchmark.name, |labels| &labels.head)
}

/// What stands in place of a verdict, which is that of all shards.
fn shard(outcome: &Outcome, spent: &str) -> String {
    let Some(shard) = outcome.shard.flatten() else { return String::new() };
    let pairs = text::count(outcome.pairs(), "pair");
    format!(
        "shard {shard}: {pairs} in {spent}; `analyze --combine` gives the verdict of all {}",
        shard.of
    )
}

/// The metrics whose verdict is the overall one.
fn deciding(outcome: &Outcome) -> impl Iterator<Item = (&BenchmarkResult, &MetricResult)> {
    outcome.gates().filter(|(_, metric)| metric.verdict == outcome.verdict)
}

fn changed((benchmark, metric): (&BenchmarkResult, &MetricResult)) -> String {
    format!("{} of {} {}", line(&metric.name), line(subject(benchmark)), against_threshold(metric))
}

/// Why a comparison came to no verdict.
fn stopped(outcome: &Outcome, spent: &str) -> String {
    match outcome.stopped_by {
        StoppedBy::MaxPairs => "the pairs allowed were used up".to_owned(),
        StoppedBy::Interrupt => format!("interrupted after {spent}"),
        StoppedBy::Verdict => "a benchmark could not be measured".to_owned(),
        _ => format!(
            "the time limit of {} came first",
            humantime::format_duration(outcome.limits.time)
        ),
    }
}

/// What became of a metric that was decided, held against its threshold:
/// `changed by +5.00%, more than +2.00%`. Where higher is better a threshold
/// allows a fall, and that is said.
fn against_threshold(result: &MetricResult) -> String {
    let over = over_layouts(result);
    let (change, limit) = (result.summary.change, result.limit().unwrap_or_default());
    let regressed = result.verdict == Some(Verdict::Regression);
    let beyond = if regressed { "more" } else { "less" };
    let threshold = text::size(result.threshold.unwrap_or_default());
    match (result.better, change) {
        (Better::Lower, change) => {
            let change = change.map_or("?".to_owned(), text::percent);
            format!("changed by {change}{over}, {beyond} than {}", text::percent(limit))
        }
        (Better::Higher, Some(change)) if change < 0.0 => format!(
            "fell by {}{over}, {beyond} than the {} that its threshold of {threshold} allows",
            text::size(change),
            text::size(limit)
        ),
        (Better::Higher, change) => format!(
            "rose {}{over}, where its threshold of {threshold} allows a fall of {}",
            change.map_or("from zero".to_owned(), |change| format!("by {}", text::size(change))),
            text::size(limit)
        ),
    }
}

/// What the change is over layouts, in brackets: ` (+2.10% over 14 layouts)`.
fn over_layouts(result: &MetricResult) -> String {
    change_in_layouts(result).map_or(String::new(), |over| format!(" ({over})"))
}

/// What the change is over layouts: `+2.10% over 14 layouts`.
fn change_in_layouts(result: &MetricResult) -> Option<String> {
    let over = result.layouts.filter(|over| over.number > 0)?;
    let change = over.summary.change.map_or("?".to_owned(), text::percent);
    Some(format!("{change} over {}", text::layouts(over.number, over.placing)))
}

/// How much was removed: `1 benchmark removed`; none where nothing was.
fn removed_count(removed: &[Removed]) -> Option<String> {
    let metrics = removed.iter().filter(|removed| removed.metric.is_some()).count() as u64;
    let benchmarks = removed.len() as u64 - metrics;
    let some = |number: u64, noun| (number > 0).then(|| text::count(number, noun));
    let parts: Vec<_> =
        [some(benchmarks, "benchmark"), some(metrics, "metric")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{} removed", parts.join(" and ")))
}

/// What the intervals promise, in one or two lines of a terminal; nothing of a
/// comparison that has none.
pub(super) fn meaning_in_lines(outcome: &Outcome) -> Vec<String> {
    let is_comparison = outcome.rows.is_none();
    if is_comparison && outcome.pairs() == 0 {
        return Vec::new();
    }
    let uses = |method| outcome.benchmarks.iter().any(|of| of.method == Some(method));
    let estimator = outcome.policy.estimator;
    if uses(Method::Judge) {
        let ratio = "The ratio of the estimates, without an interval.";
        return vec![format!("{ratio} Estimator: {estimator}.")];
    }
    let percent = 100.0 * outcome.policy.confidence;
    let confidence = text::rounded(percent);
    let bounds = match is_comparison || outcome.verdict.is_some() {
        true => format!("Each bound holds with {confidence}% confidence"),
        false => format!("Each interval holds the true value with {confidence}% confidence"),
    };
    let shared = match outcome.gates().count() {
        0 | 1 => String::new(),
        several => format!(", the lower one for all {several} questions together"),
    };
    let for_one_look = uses(Method::Paired) || uses(Method::Welch);
    let looks = match (is_comparison, uses(Method::Sequential)) {
        (true, _) => {
            let both = text::rounded(2.0 * percent - 100.0);
            format!("however often it is looked at (the two together: {both}%)")
        }
        (false, true) if for_one_look => {
            "however often it is looked at where the rows pair, else for one look".to_owned()
        }
        (false, true) => "however often it is looked at".to_owned(),
        (false, false) => "for one look at samples whose number was chosen beforehand".to_owned(),
    };
    vec![format!("{bounds}{shared},"), format!("{looks}. Estimator: {estimator}.")]
}

/// The same in one line.
pub(crate) fn meaning(outcome: &Outcome) -> String {
    meaning_in_lines(outcome).join(" ")
}

/// The notices in sentences.
pub(crate) fn notices(outcome: &Outcome) -> Vec<String> {
    outcome.notices.iter().map(notices::notice).collect()
}

/// A name for a metric among all: with its benchmark's where there are
/// several.
pub(crate) fn full_name(
    outcome: &Outcome,
    benchmark: &BenchmarkResult,
    metric: &MetricResult,
) -> String {
    match outcome.benchmarks.len() {
        0 | 1 => metric.name.clone(),
        _ => format!("{} {}", benchmark.name, metric.name),
    }
}

/// Why the base has no such benchmark to compare with, where it has one that does not build.
pub(crate) fn no_baseline<'a>(outcome: &'a Outcome, name: &str) -> Option<&'a str> {
    outcome.notices.iter().find_map(|notice| match notice {
        Notice::NoBaseline { benchmark, why } if benchmark == name => Some(why.as_str()),
        _ => None,
    })
}

/// The first five names, and how many more there are.
fn first_few(names: impl ExactSizeIterator<Item = String>) -> String {
    const FEW: usize = 5;
    let rest = names.len().saturating_sub(FEW);
    let rest = (rest > 0).then(|| format!("{rest} more"));
    text::list(names.take(FEW).chain(rest))
}

/// The names of the benchmarks that are unaffected, each as `shown`; none where there are
/// none.
pub(crate) fn unaffected(
    benchmarks: &[BenchmarkResult],
    shown: impl Fn(&str) -> String,
) -> Option<String> {
    let all: Vec<_> = benchmarks.iter().filter(|one| one.status == Status::Unaffected).collect();
    let names = all.iter().map(|benchmark| shown(&benchmark.name));
    (!all.is_empty()).then(|| first_few(names))
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
    let threshold = metric
        .limit()
        .map_or(String::new(), |limit| format!(", threshold {}", text::percent(limit)));
    format!(
        "`{}` of `{}` changed by {change}, interval {}{threshold}, {}",
        metric.name,
        benchmark.name,
        text::interval(summary.lower, summary.upper),
        text::count(benchmark.pairs, "pair"),
    )
}

/// What a comparison came to, in a few words.
pub(crate) fn brief(outcome: &Outcome) -> String {
    let change = |metric: &MetricResult| {
        let summary = &metric.summary;
        let change = summary.change.map_or("?".to_owned(), text::percent);
        format!("{} {change} {}", line(&metric.name), text::interval(summary.lower, summary.upper))
    };
    let changes: Vec<String> = outcome.gates().map(|(_, metric)| change(metric)).collect();
    let verdict = outcome.verdict.unwrap_or(Verdict::Inconclusive);
    let pairs = text::count(outcome.pairs(), "pair");
    let spent = text::seconds(outcome.elapsed_seconds.unwrap_or_default());
    format!("{verdict}, {}, {pairs}, {spent}", changes.join(", "))
}

/// The cells of a metric in a table: its name, both estimates, the change, the
/// interval, the change of the plain mean, and the verdict.
pub(crate) fn cells(result: &MetricResult) -> [String; 7] {
    let summary = &result.summary;
    let value =
        |value: Option<f64>| value.map_or("-".to_owned(), |value| text::value(value, &result.unit));
    [
        line(&result.name),
        value(summary.base),
        value(summary.head),
        summary.change.map_or("-".to_owned(), text::percent),
        text::interval(summary.lower, summary.upper),
        result.mean.and_then(|mean| mean.change).map_or("-".to_owned(), text::percent),
        match (result.verdict, result.status) {
            (Some(_), _) if is_better(result) => better_word(result).to_owned(),
            (Some(verdict), _) => verdict.to_string(),
            (None, Status::Compared) => String::new(),
            (None, status) => status.to_string(),
        },
    ]
}

/// The change over layouts, where they were asked.
pub(super) fn change_over_layouts(result: &MetricResult) -> String {
    let over = result.layouts.filter(|over| over.number > 0);
    over.map_or("-".to_owned(), |over| over.summary.change.map_or("?".to_owned(), text::percent))
}

/// Whether a metric was asked over layouts.
pub(super) fn has_layouts(benchmarks: &[BenchmarkResult]) -> bool {
    benchmarks.iter().flat_map(|one| &one.metrics).any(|metric| metric.layouts.is_some())
}

/// Whether the plain mean of one of these says something else than the estimator.
pub(super) fn shows_mean<'a>(metrics: impl IntoIterator<Item = &'a MetricResult>) -> bool {
    let other = |m: &MetricResult| m.mean.is_some_and(|mean| mean.change != m.summary.change);
    metrics.into_iter().any(other)
}

/// Where a metric stands when those that matter most come first.
pub(crate) fn rank(result: &MetricResult) -> u8 {
    match result.verdict {
        Some(Verdict::Regression) => 0,
        Some(Verdict::Inconclusive) => 1,
        Some(_) => 2,
        None => 3,
    }
}

/// Puts the metric first that matters more: by verdict, and of what does not pass the one
/// that is worse.
pub(crate) fn by_severity(one: &MetricResult, other: &MetricResult) -> Ordering {
    let worse = |result: &MetricResult| match (rank(result), result.better) {
        (0 | 1, Better::Lower) => result.summary.change.unwrap_or(f64::INFINITY),
        (0 | 1, Better::Higher) => -result.summary.change.unwrap_or(f64::NEG_INFINITY),
        _ => 0.0,
    };
    rank(one).cmp(&rank(other)).then_with(|| worse(other).total_cmp(&worse(one)))
}

/// All metrics, those that matter most first.
pub(crate) fn worst_first(outcome: &Outcome) -> Vec<(&BenchmarkResult, &MetricResult)> {
    let mut all: Vec<_> = outcome.metrics().collect();
    all.sort_by(|(_, one), (_, other)| by_severity(one, other));
    all
}

/// All benchmarks, by their metrics that matter most.
pub(crate) fn benchmarks_worst_first(outcome: &Outcome) -> Vec<&BenchmarkResult> {
    let mut all: Vec<_> = outcome
        .benchmarks
        .iter()
        .map(|benchmark| {
            let metrics = benchmark.metrics.iter();
            (metrics.min_by(|one, other| by_severity(one, other)), benchmark)
        })
        .collect();
    all.sort_by(|(one, _), (other, _)| match (one, other) {
        (Some(one), Some(other)) => by_severity(one, other),
        _ => other.is_some().cmp(&one.is_some()),
    });
    all.into_iter().map(|(_, benchmark)| benchmark).collect()
}

/// What was compared and how, a name and a value each; the last one is the call
/// that makes the result again.
pub(crate) fn facts(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(sides) = &outcome.sides {
        facts.push(("compared", text::sides(sides)));
        facts.push(("base commit", sides.base.commit.clone()));
        facts.push(("head commit", sides.head.commit.clone()));
    }
    if let Some(Some(toolchain)) = &outcome.toolchain {
        facts.push(("toolchain", toolchain.clone()));
    }
    let confidence = text::rounded(100.0 * outcome.policy.confidence);
    facts.push(("confidence", format!("{confidence}%")));
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
        // Behind `--` stand the benchmark's own arguments.
        let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
        args.splice(end..end, ["--seed".to_owned(), seed.to_string()]);
    }
    let words = ["cargo", "cbdr"].into_iter().chain(args.iter().map(String::as_str));
    // Only a NUL can't be quoted, and no argument has one.
    shlex::try_join(words).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cargo_cbdr::model::metric::Metric;
    use cargo_cbdr::model::outcome::Summary;

    #[test]
    fn a_change_is_held_against_its_threshold_in_the_direction_that_is_worse() {
        let said = |better, change, verdict| {
            let summary = Summary { change, ..Summary::default() };
            let metric = Metric { better, ..Metric::named("rate") };
            against_threshold(&MetricResult::new(metric, Some(0.02), summary, Some(verdict)))
        };
        let (bad, good) = (Verdict::Regression, Verdict::NoRegression);
        let table = [
            (Better::Lower, Some(0.05), bad, "changed by +5.00%, more than +2.00%"),
            (Better::Lower, Some(-0.01), good, "changed by -1.00%, less than +2.00%"),
            (Better::Lower, None, bad, "changed by ?, more than +2.00%"),
            (
                Better::Higher,
                Some(-0.03),
                bad,
                "fell by 3.00%, more than the 1.96% that its threshold of 2.00% allows",
            ),
            (
                Better::Higher,
                Some(-0.01),
                good,
                "fell by 1.00%, less than the 1.96% that its threshold of 2.00% allows",
            ),
            (
                Better::Higher,
                Some(0.04),
                good,
                "rose by 4.00%, where its threshold of 2.00% allows a fall of 1.96%",
            ),
            (
                Better::Higher,
                None,
                good,
                "rose from zero, where its threshold of 2.00% allows a fall of 1.96%",
            ),
        ];
        for (better, change, verdict, expected) in table {
            assert_eq!(said(better, change, verdict), expected);
        }
    }
}
