//! The result as JUnit's XML: a suite for each benchmark, a case for each
//! metric that gates. Fits the schema of the Ant task.

use std::io;
use std::time::Duration;

use cargo_cbdr::exec::machine;
use cargo_cbdr::model::outcome::{BenchmarkResult, Doubt, MetricResult, Outcome, Status, Verdict};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite, XmlString};

use super::escape::line;
use super::readable::{self, CommitLink, Readable, ResultRow};
use crate::ui::text;

pub(super) fn document(result: &Readable<'_>) -> io::Result<String> {
    let mut report = Report::unnamed();
    let together = result.outcome.suite.iter().flat_map(|suite| &suite.numbers);
    for (id, benchmark) in result.benchmarks().into_iter().chain(together).enumerate() {
        report.add_test_suite(suite(result, id, benchmark));
    }
    report.to_string().map_err(io::Error::other)
}

fn suite(result: &Readable<'_>, id: usize, benchmark: &BenchmarkResult) -> TestSuite {
    let name = named(&benchmark.name);
    // Samples may be of any size.
    let time = Duration::try_from_secs_f64(seconds(benchmark)).unwrap_or_default();
    let mut suite = TestSuite::new(name.as_str());
    suite.set_time(time);
    // As the schema wants it, a timestamp has no zone.
    for (attribute, value) in [
        ("package", "cargo-cbdr".to_owned()),
        ("id", id.to_string()),
        ("timestamp", text::now().trim_end_matches('Z').to_owned()),
        ("hostname", named(&machine::host())),
    ] {
        suite.extra.insert(XmlString::new(attribute), XmlString::new(value));
    }
    for CommitLink { name, revision, .. } in &result.commits {
        suite.add_property((*name, revision.commit.as_str()));
    }
    for (key, value) in result.facts_and_command() {
        suite.add_property((key, line(value).as_str()));
    }
    for (metric, status) in cases(result, benchmark) {
        let mut case = TestCase::new(named(&metric), status);
        case.set_classname(name.as_str()).set_time(time);
        suite.add_test_case(case);
    }
    let rows = benchmark.metrics.iter().map(|metric| ResultRow::of(benchmark, metric));
    let sentences: Vec<String> = rows.map(|row| row.sentence()).collect();
    suite.set_system_out(text::clean(&sentences.join("\n")));
    let notices: Vec<String> =
        result.notices.iter().map(|line| format!("{}: {}", line.kind(), line.text)).collect();
    suite.set_system_err(text::clean(&notices.join("\n")));
    suite
}

fn cases(result: &Readable<'_>, benchmark: &BenchmarkResult) -> Vec<(String, TestCaseStatus)> {
    let outcome = result.outcome;
    let gates = benchmark.metrics.iter().filter(|metric| metric.gates);
    let gates = gates.map(|metric| ResultRow::of(benchmark, metric));
    let mut cases: Vec<_> = gates.map(|of| (of.metric.name.clone(), case(outcome, &of))).collect();
    // A benchmark without measurements gets a case of its own.
    if benchmark.status != Status::Compared || benchmark.metrics.is_empty() {
        let why = format!("`{}` {}", benchmark.name, readable::without_numbers(outcome, benchmark));
        let gated = || outcome.removed.iter().any(|one| one.benchmark == benchmark.name);
        let whole = match benchmark.status {
            Status::Compared | Status::Unaffected => TestCaseStatus::success(),
            Status::New => doubtful(outcome, Doubt::NoBaseline, why),
            Status::Removed if gated() => doubtful(outcome, Doubt::Removed, why),
            Status::Removed => skipped(why),
            Status::NotMeasured => doubtful(outcome, Doubt::Inconclusive, why),
            Status::DifferentOutput => failed(Verdict::DifferentOutput, why),
        };
        cases.push((benchmark.status.to_string(), whole));
    }
    cases
}

fn case(outcome: &Outcome, row: &ResultRow<'_>) -> TestCaseStatus {
    let why = row.sentence();
    match row.metric.verdict {
        _ if row.metric.status == Status::Removed => doubtful(outcome, Doubt::Removed, why),
        Some(Verdict::Regression) => failed(Verdict::Regression, why),
        // It is one of those that are undecided.
        Some(Verdict::Inconclusive) if outcome.likely_slower.is_some() => {
            failed(Verdict::Regression, why)
        }
        Some(Verdict::Inconclusive) => doubtful(outcome, Doubt::Inconclusive, why),
        // A shard by pairs reaches no verdict.
        None => skipped(why),
        _ => TestCaseStatus::success(),
    }
}

fn doubtful(outcome: &Outcome, doubt: Doubt, why: String) -> TestCaseStatus {
    match doubt {
        doubt if outcome.policy.fail_on.contains(&doubt) => failed(doubt, why),
        // The sentence names it.
        Doubt::Removed => skipped(why),
        doubt => skipped(format!("{doubt}: {why}")),
    }
}

fn failed(kind: impl ToString, why: String) -> TestCaseStatus {
    let why = line(&why);
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(kind.to_string()).set_message(why.as_str()).set_description(why);
    status
}

fn skipped(why: String) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(line(&why));
    status
}

/// A name, which must not be empty.
fn named(name: &str) -> String {
    let name = line(name);
    if name.trim().is_empty() { "-".to_owned() } else { name }
}

/// How long all runs of a benchmark took, if `wall_time` was measured; else 0.
fn seconds(benchmark: &BenchmarkResult) -> f64 {
    let wall = benchmark.metrics.iter().find(|result| result.name == "wall_time");
    let of_pair = |result: &MetricResult| Some(result.summary.base? + result.summary.head?);
    wall.and_then(of_pair).unwrap_or(0.0) * benchmark.pairs as f64
}
