//! The result as JUnit's XML: a suite for each benchmark, a case for each
//! metric that gates. Fits the schema of the Ant task.

use std::fmt::{self, Write};

use cargo_cbdr::exec::machine;
use cargo_cbdr::model::outcome::{
    BenchmarkResult, MetricResult, OnDoubt, Outcome, Status, Verdict,
};

use super::escape::{line, xml};
use super::words::{self, Commit, facts, sentence};
use crate::ui::grouped;

/// The result of a case.
enum TestCase {
    Passed,
    Skipped(String),
    /// The type of the failure, and why.
    Failed(String, String),
}

pub(super) fn document(outcome: &Outcome) -> String {
    let outcome = &*words::readable(outcome);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (id, benchmark) in words::benchmarks_worst_first(outcome).into_iter().enumerate() {
        // Writing to a string does not fail.
        let _ = suite(&mut out, outcome, id, benchmark);
    }
    out + "</testsuites>\n"
}

fn suite(
    out: &mut String,
    outcome: &Outcome,
    id: usize,
    benchmark: &BenchmarkResult,
) -> fmt::Result {
    let cases = cases(outcome, benchmark);
    let failures = cases.iter().filter(|(_, case)| matches!(case, TestCase::Failed(..))).count();
    let skipped = cases.iter().filter(|(_, case)| matches!(case, TestCase::Skipped(_))).count();
    let name = attribute(&benchmark.name);
    let time = seconds(benchmark);
    writeln!(
        out,
        "  <testsuite package=\"cargo-cbdr\" id=\"{id}\" name=\"{name}\" timestamp=\"{}\" \
         hostname=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" \
         time=\"{time:.6}\">\n    <properties>",
        timestamp(),
        attribute(&machine::host()),
        cases.len(),
    )?;
    for Commit { name, revision, .. } in words::commits(outcome) {
        writeln!(out, "      <property name=\"{name}\" value=\"{}\"/>", xml(&revision.commit))?;
    }
    for (key, value) in facts(outcome) {
        writeln!(out, "      <property name=\"{key}\" value=\"{}\"/>", xml(&line(&value)))?;
    }
    writeln!(out, "    </properties>")?;
    for (metric, case) in &cases {
        write!(
            out,
            "    <testcase name=\"{}\" classname=\"{name}\" time=\"{time:.6}\"",
            attribute(metric)
        )?;
        match case {
            TestCase::Passed => writeln!(out, "/>")?,
            TestCase::Skipped(why) => {
                writeln!(out, "><skipped message=\"{}\"/></testcase>", xml(&line(why)))?;
            }
            TestCase::Failed(kind, why) => {
                let why = xml(&line(why));
                writeln!(
                    out,
                    "><failure type=\"{kind}\" message=\"{why}\">{why}</failure></testcase>"
                )?;
            }
        }
    }
    let all: Vec<String> = benchmark.metrics.iter().map(|m| sentence(benchmark, m)).collect();
    writeln!(out, "    <system-out>{}</system-out>", xml(&all.join("\n")))?;
    let notices = grouped::lines(&outcome.notices);
    let notices: Vec<String> =
        notices.iter().map(|line| format!("{}: {}", line.kind(), line.text)).collect();
    writeln!(out, "    <system-err>{}</system-err>", xml(&notices.join("\n")))?;
    writeln!(out, "  </testsuite>")
}

fn cases(outcome: &Outcome, benchmark: &BenchmarkResult) -> Vec<(String, TestCase)> {
    let gates = benchmark.metrics.iter().filter(|metric| metric.gates);
    let mut cases: Vec<_> = gates.map(|m| (m.name.clone(), case(outcome, benchmark, m))).collect();
    // A benchmark without measurements gets a case of its own.
    let whole = match (benchmark.status, benchmark.metrics.is_empty()) {
        (Status::Compared, true) | (Status::Unaffected, _) => Some(TestCase::Passed),
        (Status::New, _) => {
            let why = "the base has no such benchmark, or does not build".to_owned();
            Some(doubtful(outcome.policy.on_no_baseline, Verdict::NoBaseline, why))
        }
        (Status::Removed, _) => {
            let gates = outcome.removed.iter().any(|one| one.benchmark == benchmark.name);
            let policy = if gates { outcome.policy.on_removed } else { OnDoubt::Pass };
            Some(removed(policy, "only the base has it".to_owned()))
        }
        (Status::Compared, false) => None,
    };
    cases.extend(whole.map(|case| (benchmark.status.to_string(), case)));
    cases
}

fn case(outcome: &Outcome, benchmark: &BenchmarkResult, metric: &MetricResult) -> TestCase {
    let why = sentence(benchmark, metric);
    match metric.verdict {
        _ if metric.status == Status::Removed => removed(outcome.policy.on_removed, why),
        Some(Verdict::Regression) => TestCase::Failed(Verdict::Regression.to_string(), why),
        // It is one of those that are undecided.
        Some(Verdict::Inconclusive) if outcome.likely_slower.is_some() => {
            TestCase::Failed(Verdict::Regression.to_string(), why)
        }
        Some(Verdict::Inconclusive) => {
            doubtful(outcome.policy.on_inconclusive, Verdict::Inconclusive, why)
        }
        // A shard reaches no verdict.
        None => TestCase::Skipped(why),
        _ => TestCase::Passed,
    }
}

fn removed(policy: OnDoubt, why: String) -> TestCase {
    match policy {
        OnDoubt::Fail => TestCase::Failed(Status::Removed.to_string(), why),
        OnDoubt::Pass => TestCase::Skipped(why),
    }
}

fn doubtful(policy: OnDoubt, verdict: Verdict, why: String) -> TestCase {
    match policy {
        OnDoubt::Fail => TestCase::Failed(verdict.to_string(), why),
        OnDoubt::Pass => TestCase::Skipped(format!("{verdict}: {why}")),
    }
}

/// A name as an attribute, which must not be empty.
fn attribute(name: &str) -> String {
    let name = xml(&line(name));
    if name.trim().is_empty() { "-".to_owned() } else { name }
}

/// How long all runs of a benchmark took, if `wall_time` was measured; else 0.
fn seconds(benchmark: &BenchmarkResult) -> f64 {
    let wall = benchmark.metrics.iter().find(|result| result.name == "wall_time");
    let of_pair = |result: &MetricResult| Some(result.summary.base? + result.summary.head?);
    wall.and_then(of_pair).unwrap_or(0.0) * benchmark.pairs as f64
}

/// The current time in the format of the schema: without fraction and zone.
fn timestamp() -> String {
    super::now().trim_end_matches('Z').to_owned()
}
