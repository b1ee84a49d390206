//! Conbench's benchmark results, as its interface takes them: one for each
//! metric of each benchmark, with all values of the head.

use std::time::SystemTime;

use cargo_cbdr::analysis::Recording;
use cargo_cbdr::machine::{self, Description};
use cargo_cbdr::side::Side;
use cargo_cbdr::verdict::{BenchmarkResult, MetricResult, Status};
use serde_json::{Value, json};

use crate::report::outcome::Outcome;

/// The units that Conbench takes.
const UNITS: [&str; 5] = ["B", "B/s", "s", "ns", "i/s"];

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
    let common = Common {
        run: format!("{commit}-{seconds}-{}", outcome.seed.unwrap_or(0)),
        time: crate::report::now(),
        github,
        machine: describe(&machine::describe()),
    };
    let known = outcome.metrics().filter(|(_, metric)| {
        metric.status == Status::Compared && UNITS.contains(&metric.metric.unit.symbol())
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
    let data = recording.couple(&benchmark.name).map_or(Vec::new(), |couple| {
        let values = recording.values(couple.labels[Side::Head], &result.metric.name);
        values.flatten().collect()
    });
    json!({
        "run_id": common.run,
        "batch_id": common.run,
        "run_reason": "cargo cbdr compare",
        "run_tags": {},
        "timestamp": common.time,
        "tags": { "name": benchmark.name, "metric": result.metric.name },
        "context": { "benchmark_language": "Rust" },
        "info": {
            "cargo_cbdr": env!("CARGO_PKG_VERSION"),
            "toolchain": outcome.toolchain,
        },
        "optional_benchmark_info": {
            "base_commit": outcome.sides.map(|sides| &sides.base.commit),
            "base": summary.base,
            "change": summary.change,
            "lower": summary.lower.filter(|end| end.is_finite()),
            "upper": summary.upper.filter(|end| end.is_finite()),
            "threshold": result.threshold,
            "verdict": result.verdict.map(|verdict| verdict.name()),
        },
        "machine_info": common.machine,
        "stats": {
            "data": data,
            "unit": result.metric.unit.symbol(),
            "times": [],
            "time_unit": "s",
            "iterations": 1,
        },
        "github": common.github,
    })
}

/// The machine in Conbench's words, each of which it wants; 0 and the empty
/// text stand for what nobody knows.
fn describe(machine: &Description) -> Value {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let [l1d, l1i, l2, l3] = machine.caches.map(|size| size.unwrap_or(0));
    json!({
        "name": std::env::var("CONBENCH_MACHINE_INFO_NAME").unwrap_or_else(|_| machine::host()),
        "architecture_name": std::env::consts::ARCH,
        "kernel_name": text(&machine.kernel),
        "os_name": std::env::consts::OS,
        "os_version": text(&machine.system),
        "cpu_model_name": text(&machine.processor),
        "cpu_l1d_cache_bytes": l1d,
        "cpu_l1i_cache_bytes": l1i,
        "cpu_l2_cache_bytes": l2,
        "cpu_l3_cache_bytes": l3,
        "cpu_core_count": machine.cores.unwrap_or(0),
        "cpu_thread_count": machine.threads,
        "cpu_frequency_max_hz": machine.frequency.unwrap_or(0),
        "memory_bytes": machine.memory.unwrap_or(0),
        "gpu_count": 0,
        "gpu_product_names": [],
    })
}
