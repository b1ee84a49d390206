//! Conbench's benchmark results, as its interface takes them: one for each
//! metric of each benchmark, with all values of the head.

use std::time::SystemTime;

use cargo_cbdr::exec::machine;
use cargo_cbdr::model::outcome::{BenchmarkResult, MetricResult, Status};
use cargo_cbdr::model::side::Side;
use cargo_cbdr::samples::Recording;
use serde_json::{Value, json};

use crate::report::conbench::{self, Payload};
use crate::report::outcome::Outcome;

/// The repository that the results belong to, which Conbench insists on.
pub(super) fn repository() -> Result<String, String> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(repository) = variable("CONBENCH_PROJECT_REPOSITORY") {
        return Ok(repository);
    }
    let server = variable("GITHUB_SERVER_URL").unwrap_or("https://github.com".to_owned());
    let repository = variable("GITHUB_REPOSITORY").map(|name| format!("{server}/{name}"));
    repository.ok_or_else(|| {
        "Conbench wants to know the repository: set `CONBENCH_PROJECT_REPOSITORY` to \
         https://github.com/ORGANISATION/REPOSITORY"
            .to_owned()
    })
}

/// The pull request, if it is known.
fn pull_request() -> Option<u64> {
    let given = std::env::var("CONBENCH_PROJECT_PR_NUMBER").ok();
    let merged = || {
        let reference = std::env::var("GITHUB_REF").ok()?;
        Some(reference.strip_prefix("refs/pull/")?.split('/').next()?.to_owned())
    };
    given.filter(|number| !number.is_empty()).or_else(merged)?.parse().ok()
}

pub(super) fn value(outcome: &Outcome<'_>, recording: &Recording) -> Result<Value, String> {
    let now = SystemTime::now();
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let head = outcome.sides.map(|sides| &sides.head);
    let commit = head.map_or("samples", |head| &head.commit);
    let mut github = json!({ "repository": repository()? });
    // A dirty tree is no commit's.
    if let Some(head) = head.filter(|head| !head.dirty) {
        github["commit"] = json!(head.commit);
    }
    if let Some(number) = pull_request() {
        github["pr_number"] = json!(number);
    }
    let name = std::env::var("CONBENCH_MACHINE_INFO_NAME").unwrap_or_else(|_| machine::host());
    let (arch, os) = (std::env::consts::ARCH, std::env::consts::OS);
    let common = Common {
        run: format!("{commit}-{seconds}-{}", outcome.seed.unwrap_or(0)),
        time: crate::report::now(),
        github,
        machine: conbench::machine(&name, arch, os, &machine::describe()),
    };
    let known = outcome.metrics().filter(|(_, metric)| {
        metric.status == Status::Compared && conbench::takes(metric.metric.unit.symbol())
    });
    let results = known.map(|(b, m)| result(outcome, recording, &common, b, m));
    Ok(results.collect())
}

/// What all results of a run have in common.
struct Common {
    run: String,
    time: String,
    github: Value,
    machine: Value,
}

fn result(
    outcome: &Outcome<'_>,
    recording: &Recording,
    common: &Common,
    benchmark: &BenchmarkResult,
    result: &MetricResult,
) -> Value {
    let summary = &result.summary;
    let values: Vec<f64> = recording.couple(&benchmark.name).map_or(Vec::new(), |couple| {
        let values = recording.values(couple.labels[Side::Head], &result.metric.name);
        values.flatten().collect()
    });
    let payload = Payload {
        run: &common.run,
        reason: "cargo cbdr compare",
        time: &common.time,
        tags: json!({ "name": benchmark.name, "metric": result.metric.name }),
        context: json!({ "benchmark_language": "Rust" }),
        info: json!({
            "cargo_cbdr": env!("CARGO_PKG_VERSION"),
            "toolchain": outcome.toolchain,
        }),
        machine: common.machine.clone(),
        github: common.github.clone(),
        outcome: Ok(conbench::stats(&values, result.metric.unit.symbol(), 1)),
        optional: Some(json!({
            "base_commit": outcome.sides.map(|sides| &sides.base.commit),
            "base": summary.base,
            "change": summary.change,
            "lower": summary.lower.filter(|end| end.is_finite()),
            "upper": summary.upper.filter(|end| end.is_finite()),
            "threshold": result.threshold,
            "verdict": result.verdict.map(|verdict| verdict.name()),
        })),
    };
    payload.json()
}
