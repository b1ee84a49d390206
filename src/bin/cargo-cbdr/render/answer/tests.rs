//! Outcomes, and the line that they get.

use std::collections::BTreeSet;

use super::*;
use cargo_cbdr::model::{Metric, NoTime, OverLayouts, PairsResult, Placing};
use serde_json::json;

/// The result of a comparison with `main`, with one metric in each benchmark.
pub(crate) fn outcome(verdict: Verdict, metrics: Vec<(&str, MetricResult)>) -> Outcome {
    let commit = |rev: &str, digit: &str| {
        let commit = digit.repeat(40);
        json!({ "rev": rev, "commit": commit, "tree": commit, "dirty": false })
    };
    let object = json!({
        "verdict": verdict, "confidence": 0.95, "estimator": "robust", "seed": 7,
        "base": commit("main", "a"), "head": commit("topic", "b"), "merge_base": true,
        "stopped_by": "verdict", "elapsed_seconds": 3.2, "prepare_seconds": 1.0,
        "benchmarks": [], "removed": [],
    });
    let mut outcome: Outcome = serde_json::from_value(object).unwrap();
    outcome.benchmarks = metrics.into_iter().map(|(name, metric)| of(name, metric)).collect();
    outcome
}

fn of(name: &str, metric: MetricResult) -> BenchmarkResult {
    BenchmarkResult {
        pairs: 14,
        metrics: vec![metric],
        ..BenchmarkResult::new(name, Status::Compared)
    }
}

/// A time of 47.4 ms with this change, and a threshold of 2 %.
pub(crate) fn time(change: f64, verdict: Verdict) -> MetricResult {
    let summary = Summary {
        pairs: 14,
        base: Some(0.0474),
        head: Some(0.0474 * (1.0 + change)),
        change: Some(change),
        lower: Some(change - 0.01),
        upper: Some(change + 0.01),
    };
    let metric = Metric::cost("wall_time", Unit::Seconds);
    MetricResult::new(metric, Some(0.02), summary, Some(verdict))
}

/// What 14 layouts decided after these pairs.
pub(crate) fn over_layouts(mut over: MetricResult, pairs: &MetricResult) -> MetricResult {
    let (summary, verdict) = (pairs.summary, pairs.verdict.unwrap());
    over.layouts = Some(OverLayouts { number: 14, placing: Placing::Linked });
    over.before = Some(PairsResult { summary, verdict, aligned: false });
    over
}

fn said(outcome: &Outcome) -> String {
    answer(outcome).to_string()
}

const BAD: Verdict = Verdict::Regression;
const GOOD: Verdict = Verdict::NoRegression;
const OPEN: Verdict = Verdict::Inconclusive;

#[test]
fn one_regression_is_named_with_its_numbers_and_several_the_worst_first() {
    let one = outcome(BAD, vec![("spin", time(0.162, BAD)), ("sum", time(0.0, GOOD))]);
    assert_eq!(
        said(&one),
        "spin is 16.2% slower than main, at least 15.2% (47.4 → 55.1 ms; allowed 2%)"
    );
    let several = vec![("a", time(0.1, BAD)), ("b", time(0.0, GOOD)), ("c", time(0.2, BAD))];
    let several = outcome(BAD, several);
    assert_eq!(said(&several), "2 of 3 benchmarks are slower: c +20.0% and a +10.0%");
    let open = vec![("a", time(0.1, BAD)), ("b", time(0.02, OPEN)), ("c", time(0.2, BAD))];
    let mut open = outcome(BAD, open);
    assert!(said(&open).ends_with(": c +20.0% and a +10.0%; 1 undecided"));
    // Layouts would have followed.
    open.stopped_by = StoppedBy::Interrupt;
    open.policy.layouts = Layouts::Auto;
    assert!(said(&open).ends_with("; 1 undecided; as built, interrupted after 3.2s"));
}

#[test]
fn a_regression_that_is_not_named_is_told_with_the_likeliest() {
    let metrics = vec![("a", time(0.03, OPEN)), ("b", time(0.0, GOOD)), ("c", time(0.02, OPEN))];
    let mut some = outcome(BAD, metrics);
    some.likely_slower = Some("a".to_owned());
    some.stopped_by = StoppedBy::MaxPairs;
    let expected = "at least 1 of 3 benchmarks is slower, but it is not certain which \
                    (most likely a; the maximum number of pairs was reached)";
    assert_eq!(said(&some), expected);
}

#[test]
fn what_is_no_time_is_higher_or_lower_and_named() {
    let rate = |change: f64, better| {
        let metric = Metric { better, ..Metric::named("rate") };
        MetricResult::new(metric, Some(0.02), time(change, BAD).summary, Some(BAD))
    };
    let one = |metric| said(&outcome(BAD, vec![("spin", metric)]));
    assert!(
        one(rate(-0.1, Better::Higher))
            .starts_with("rate of spin is 10.0% lower than on main, at least 9.00% (")
    );
    assert!(one(rate(-0.1, Better::Higher)).ends_with("; a threshold of 2% allows 1.96%)"));
    assert!(
        one(rate(0.1, Better::Lower))
            .starts_with("rate of spin is 10.0% higher than on main, at least 9.00% (")
    );
    let mut from_zero = rate(0.1, Better::Lower);
    from_zero.summary.change = None;
    assert!(one(from_zero).starts_with("rate of spin has risen from zero, at least 9.00% ("));
}

#[test]
fn a_pass_counts_all_benchmarks_and_names_the_faster_ones() {
    let pass = vec![("spin", time(0.005, GOOD))];
    let pass = outcome(GOOD, pass);
    assert_eq!(said(&pass), "no regression in spin (+0.50%; 47.4 → 47.6 ms; allowed 2%)");
    let faster = outcome(GOOD, vec![("spin", time(-0.1, GOOD))]);
    assert_eq!(said(&faster), "spin is 10.0% faster than main (47.4 → 42.7 ms; allowed 2%)");
    let metrics = vec![("a", time(0.0, GOOD)), ("b", time(-0.1, GOOD))];
    let mut several = outcome(GOOD, metrics);
    assert_eq!(said(&several), "no regression in 2 benchmarks (1 faster: b -10.0%)");
    several.benchmarks.push(BenchmarkResult::new("c", Status::Unaffected));
    assert!(
        said(&several).starts_with("no regression in 3 benchmarks (1 benchmark runs no code "),
        "{}",
        said(&several)
    );
}

#[test]
fn what_was_measured_does_not_name_what_was_not() {
    let mut one = outcome(GOOD, vec![("a", time(0.0, GOOD))]);
    one.benchmarks.push(BenchmarkResult::new("b", Status::Unaffected));
    let expected = "no regression in 2 benchmarks (1 benchmark runs no code that changed)";
    assert_eq!(said(&one), expected);
    let mut none = outcome(GOOD, Vec::new());
    none.benchmarks.push(BenchmarkResult::new("b", Status::Unaffected));
    let no_benchmark = "no regression: no benchmark runs any of the code that changed";
    assert_eq!(said(&none), no_benchmark);
    // It may run all of that code.
    none.benchmarks.push(BenchmarkResult::new("c", Status::New));
    let with_a_baseline = no_benchmark.replace("k runs", "k with a baseline runs");
    assert_eq!(said(&none), with_a_baseline);
}

#[test]
fn a_change_that_only_a_waiver_accepts_stands_on_the_line() {
    let with = |threshold: f64| -> MetricResult {
        let mut object = serde_json::to_value(time(0.3, GOOD)).unwrap();
        object["waiver"] = json!({
            "threshold": threshold, "ceiling": 0.4, "reason": "a table",
            "expires": "2999-12-31", "issue": null,
        });
        serde_json::from_value(object).unwrap()
    };
    let both = outcome(GOOD, vec![("a", with(0.02)), ("b", with(0.35))]);
    assert_eq!(said(&both), "no regression in 2 benchmarks; accepted by a waiver: a +30.0%");
}

#[test]
fn what_is_undecided_is_bounded_or_counted() {
    let mut one = outcome(OPEN, vec![("spin", time(0.015, OPEN))]);
    one.stopped_by = StoppedBy::MaxPairs;
    let passes = "passes (exit code 0); `--fail-on inconclusive` would fail";
    let ends = format!("(allowed 2%; the maximum number of pairs was reached); {passes}");
    let between = format!("undecided: the change of spin is between +0.50% and +2.50% {ends}");
    assert_eq!(said(&one), between);
    one.benchmarks[0].metrics[0].summary.lower = None;
    let most = format!("undecided: the change of spin is at most +2.50% {ends}");
    assert_eq!(said(&one), most);
    // A bound of a million percent and more is none, as in the tables.
    (one.benchmarks[0].metrics[0].summary.lower, one.benchmarks[0].metrics[0].summary.upper) =
        (Some(0.005), Some(2e4));
    let least = format!("undecided: the change of spin is at least +0.50% {ends}");
    assert_eq!(said(&one), least);
    one.policy.fail_on.insert(Doubt::Inconclusive);
    assert!(said(&one).ends_with("; fails (exit code 102), because of `--fail-on inconclusive`"));
    // Too few pairs, which is an error.
    let example = "spin".to_owned();
    one.notices.push(Notice::BelowMinimumPairs { benchmarks: 1, example });
    assert!(said(&one).ends_with("; fails (exit code 101), because no benchmark has enough pairs"));
    one.notices.pop();
    // What else fails, and what a signal ends, does not pass.
    one.policy.fail_on = BTreeSet::from([Doubt::Removed]);
    one.removed = vec![Removed { benchmark: "gone".to_owned(), metric: None }];
    let fails =
        "; fails (exit code 102), because of `--fail-on removed`; 1 benchmark removed: `gone`";
    assert!(said(&one).contains(fails), "{}", said(&one));
    (one.removed, one.stopped_by) = (Vec::new(), StoppedBy::Interrupt);
    assert!(said(&one).ends_with(")"), "{}", said(&one));
    let mut two = outcome(OPEN, vec![("a", time(0.02, OPEN)), ("b", time(0.0, GOOD))]);
    two.stopped_by = StoppedBy::TimeLimit;
    two.limits.time = std::time::Duration::from_secs(300);
    let expected =
        format!("undecided: 1 of 2 benchmarks (the time limit of 5m was reached); {passes}");
    assert_eq!(said(&two), expected);
}

#[test]
fn what_is_asked_to_fail_says_why() {
    let mut one = outcome(GOOD, vec![("a", time(0.0, GOOD)), ("b", time(0.0, GOOD))]);
    one.benchmarks.push(BenchmarkResult::new("c", Status::New));
    assert_eq!(said(&one), "no regression in 2 benchmarks");
    one.policy.fail_on = BTreeSet::from([Doubt::NoBaseline, Doubt::Removed]);
    let new =
        "no regression in 2 benchmarks; no baseline for `c`; fails (exit code 102), because of";
    assert_eq!(said(&one), format!("{new} `--fail-on no-baseline`"));
    one.removed = vec![Removed { benchmark: "gone".to_owned(), metric: None }];
    let both = "`--fail-on no-baseline` and `--fail-on removed`; 1 benchmark removed: `gone`";
    assert_eq!(said(&one), format!("{new} {both}"));
    let mut none = outcome(Verdict::NoBaseline, vec![]);
    none.benchmarks.push(BenchmarkResult::new("c", Status::New));
    none.policy.fail_on = one.policy.fail_on;
    let nothing =
        "no baseline: there is nothing to compare `c` with; fails (exit code 102), because of";
    assert_eq!(said(&none), format!("{nothing} `--fail-on no-baseline`"));
}

#[test]
fn an_output_that_is_missing_fails_what_would_pass() {
    let unwritten = |verdict, change| {
        let mut outcome = outcome(verdict, vec![("spin", time(change, verdict))]);
        let why = "can't write `r.html`: No space left on device".to_owned();
        outcome.notices.push(Notice::Unwritten { why });
        (said(&outcome), ExitKind::of(&outcome))
    };
    for (verdict, change) in [(OPEN, 0.015), (GOOD, 0.0)] {
        let (said, exit) = unwritten(verdict, change);
        let fails = "; fails (exit code 101), because an output could not be written";
        assert!(said.ends_with(fails), "{said}");
        assert_eq!(exit, ExitKind::Failed);
    }
    let (said, exit) = unwritten(BAD, 0.1);
    assert!(!said.contains("exit code"), "{said}");
    assert_eq!(exit, ExitKind::Regression);
}

#[test]
fn what_was_not_measured_is_counted_with_the_time_that_it_needs() {
    let late = |verdict, metrics: Vec<(&str, MetricResult)>| {
        let mut outcome = outcome(verdict, metrics);
        let needed: serde_json::Value = json!({
            "name": "late", "status": "not-measured", "pairs": 0, "metrics": [],
            "needed_seconds": 240.0,
        });
        for _ in 0..2 {
            outcome.benchmarks.push(serde_json::from_value(needed.clone()).unwrap());
        }
        let wanted = std::time::Duration::from_secs(780);
        outcome.notices.push(Notice::NoTime(NoTime { benchmarks: Vec::new(), wanted }));
        said(&outcome)
    };
    let needed = "(they need about 8m more; --time-limit 13m)";
    let passes = "passes (exit code 0); `--fail-on inconclusive` would fail";
    assert_eq!(
        late(OPEN, vec![("a", time(0.0, GOOD))]),
        format!("undecided: 1 of 3 benchmarks decided, 2 not measured {needed}; {passes}")
    );
    assert_eq!(
        late(OPEN, vec![("a", time(0.02, OPEN)), ("b", time(0.0, GOOD))]),
        format!(
            "undecided: 1 of 4 benchmarks decided, 1 undecided, 2 not measured {needed}; {passes}"
        )
    );
    assert_eq!(
        late(BAD, vec![("a", time(0.162, BAD))]),
        format!(
            "a is 16.2% slower than main, at least 15.2% (47.4 → 55.1 ms; allowed 2%); 2 benchmarks not \
             measured {needed}"
        )
    );
}

#[test]
fn several_metrics_of_one_benchmark_name_it_once() {
    let rates = |verdict, change| {
        let mut outcome = outcome(verdict, vec![("spin", time(change, verdict))]);
        let mut other = time(change, verdict);
        "max_rss".clone_into(&mut other.name);
        outcome.benchmarks[0].metrics.push(other);
        said(&outcome)
    };
    assert_eq!(
        rates(BAD, 0.1),
        "2 of 2 metrics of spin are worse: wall_time +10.0% and max_rss +10.0%"
    );
    assert!(rates(GOOD, -0.1).starts_with("no regression in 2 metrics of spin (2 "));
    assert!(rates(OPEN, 0.02).starts_with("undecided: 2 of 2 metrics of spin ("));
}

#[test]
fn what_is_slower_as_built_and_too_late_for_layouts_is_told() {
    let late = |metrics| {
        let mut outcome = outcome(OPEN, metrics);
        outcome.stopped_by = StoppedBy::TimeLimit;
        outcome.limits.time = std::time::Duration::from_secs(60);
        said(&outcome)
    };
    let mut over = time(0.05, OPEN);
    (over.summary.lower, over.summary.upper) = (None, None);
    let metric = over_layouts(over, &time(0.16, BAD));
    let may = "which may be placement or noise";
    assert!(late(vec![("spin", metric.clone())]).starts_with(&format!(
        "undecided: the change of spin is not yet bounded (allowed 2%; as built +16.0%, {may}; \
         the time limit of 1m was reached)"
    )));
    assert!(late(vec![("spin", metric), ("sum", time(0.0, GOOD))]).starts_with(&format!(
        "undecided: 1 of 2 benchmarks (1 slower as built, {may}: spin +16.0%; the time limit"
    )));
}

#[test]
fn a_slow_tail_is_named_with_the_limit_of_an_average() {
    let mut tail = time(0.42, BAD);
    tail.overruled = Some(0.003);
    assert_eq!(
        said(&outcome(BAD, vec![("spin", tail)])),
        "spin is 42.0% slower than main on average, at least 41.0% (47.4 → 67.3 ms; allowed \
         2%, and 6% for an average; rare slow runs; the typical run +0.30%)"
    );
}

#[test]
fn what_was_removed_stands_on_the_line() {
    let mut outcome = outcome(GOOD, vec![("a", time(0.0, GOOD)), ("b", time(0.0, GOOD))]);
    outcome.removed = vec![Removed { benchmark: "old".to_owned(), metric: None }];
    assert_eq!(said(&outcome), "no regression in 2 benchmarks; 1 benchmark removed: `old`");
    let heading = "no regression in 2 benchmarks, 1 benchmark removed";
    assert_eq!(answer(&outcome).heading(), heading);
    let title = answer(&outcome).title(outcome.verdict);
    assert_eq!(title, "no regression, 1 benchmark removed");
}
