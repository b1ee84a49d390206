//! Conbench's benchmark results, in the format of its API: for a comparison, one
//! for each metric of each benchmark, with all values of the head; and the part
//! that they share with results of the history.

use std::time::SystemTime;

use cargo_cbdr::exec::machine::{Description, describe, host};
use cargo_cbdr::model::outcome::{MetricResult, Outcome, Status};
use cargo_cbdr::model::side::Side;
use cargo_cbdr::samples::Recording;
use serde_json::{Value, json};

/// The units that Conbench accepts.
const UNITS: [&str; 5] = ["B", "B/s", "s", "ns", "i/s"];

/// Whether Conbench accepts values of a unit.
pub(super) fn takes(unit: &str) -> bool {
    UNITS.contains(&unit)
}

/// A result without its values: `run` identifies the run and its batch, `reason`
/// is the command that measured, `time` is as RFC 3339 has it, and `tags` is what a
/// series of results has in common.
pub(super) fn result(
    run: &str,
    reason: &str,
    time: &str,
    tags: Value,
    machine: Value,
    github: Value,
) -> Value {
    json!({
        "run_id": run,
        "batch_id": run,
        "run_reason": reason,
        "run_tags": {},
        "timestamp": time,
        "tags": tags,
        "context": { "benchmark_language": "Rust" },
        "info": { "cargo_cbdr": env!("CARGO_PKG_VERSION") },
        "machine_info": machine,
        "github": github,
    })
}

/// The values of a metric.
pub(super) fn stats(values: &[f64], unit: &str, iterations: usize) -> Value {
    json!({
        "data": values,
        "unit": unit,
        "times": [],
        "time_unit": "s",
        "iterations": iterations,
    })
}

/// A machine in Conbench's terms, all of which are mandatory: 0 or an empty
/// text means unknown.
pub(super) fn machine(name: &str, arch: &str, os: &str, machine: &Description) -> Value {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let [l1d, l1i, l2, l3] = machine.caches.map(|size| size.unwrap_or(0));
    json!({
        "name": name,
        "architecture_name": arch,
        "kernel_name": text(&machine.kernel),
        "os_name": os,
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

/// The repository of the results, which is mandatory.
pub(super) fn repository() -> Result<String, String> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(repository) = variable("CONBENCH_PROJECT_REPOSITORY") {
        return Ok(repository);
    }
    let server = variable("GITHUB_SERVER_URL").unwrap_or("https://github.com".to_owned());
    let repository = variable("GITHUB_REPOSITORY").map(|name| format!("{server}/{name}"));
    repository.ok_or_else(|| {
        "Conbench needs the address of the repository: set `CONBENCH_PROJECT_REPOSITORY` to \
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

pub(super) fn value(outcome: &Outcome, recording: &Recording) -> Result<Value, String> {
    let now = SystemTime::now();
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let head = outcome.sides.as_ref().map(|sides| &sides.head);
    let commit = head.map_or("samples", |head| &head.commit);
    let mut github = json!({ "repository": repository()? });
    // A dirty tree belongs to no commit.
    if let Some(head) = head.filter(|head| !head.dirty) {
        github["commit"] = json!(head.commit);
    }
    if let Some(number) = pull_request() {
        github["pr_number"] = json!(number);
    }
    let name = std::env::var("CONBENCH_MACHINE_INFO_NAME").unwrap_or_else(|_| host());
    let machine = machine(&name, std::env::consts::ARCH, std::env::consts::OS, &describe());
    let run = format!("{commit}-{seconds}-{}", outcome.seed.unwrap_or(0));
    let time = super::now();
    let known = outcome
        .metrics()
        .filter(|(_, metric)| metric.status == Status::Compared && takes(metric.unit.symbol()));
    let results = known.map(|(benchmark, metric)| {
        let tags = json!({ "name": benchmark.name, "metric": metric.name });
        let (machine, github) = (machine.clone(), github.clone());
        let mut result = result(&run, "cargo cbdr compare", &time, tags, machine, github);
        let values = values(recording, &benchmark.name, &metric.name);
        result["stats"] = stats(&values, metric.unit.symbol(), 1);
        result["info"]["toolchain"] = json!(outcome.toolchain.as_ref().and_then(Option::as_ref));
        result["optional_benchmark_info"] = compared(outcome, metric);
        result
    });
    Ok(results.collect())
}

/// All values of the head.
fn values(recording: &Recording, benchmark: &str, metric: &str) -> Vec<f64> {
    let Some(comparison) = recording.comparison(benchmark) else { return Vec::new() };
    recording.values(comparison.labels[Side::Head], metric).flatten().collect()
}

/// What Conbench stores without reading it.
fn compared(outcome: &Outcome, metric: &MetricResult) -> Value {
    let summary = &metric.summary;
    json!({
        "base_commit": outcome.sides.as_ref().map(|sides| &sides.base.commit),
        "base": summary.base,
        "change": summary.change,
        "lower": summary.lower.filter(|end| end.is_finite()),
        "upper": summary.upper.filter(|end| end.is_finite()),
        "threshold": metric.threshold,
        "verdict": metric.verdict,
    })
}
