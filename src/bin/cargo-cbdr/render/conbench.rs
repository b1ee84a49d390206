//! Conbench's benchmark results, as its interface takes them: of a comparison, one
//! for each metric of each benchmark, with all values of the head; and the form
//! that they share with results of the history.

use std::time::SystemTime;

use cargo_cbdr::exec::{self, machine::Description};
use cargo_cbdr::model::outcome::{BenchmarkResult, MetricResult, Outcome, Status};
use cargo_cbdr::model::side::Side;
use cargo_cbdr::samples::Recording;
use serde_json::{Map, Value, json};

/// The units that Conbench takes.
const UNITS: [&str; 5] = ["B", "B/s", "s", "ns", "i/s"];

/// Whether Conbench takes values of a unit.
pub(super) fn takes(unit: &str) -> bool {
    UNITS.contains(&unit)
}

/// The fields of a result.
pub(super) struct Payload<'a> {
    /// Identifies the run and its batch.
    pub(super) run: &'a str,
    /// The command that measured.
    pub(super) reason: &'static str,
    /// The time of the result, as RFC 3339 has it.
    pub(super) time: &'a str,
    /// What a series of results has in common: the benchmark and the metric.
    pub(super) tags: Value,
    /// Facts about the build, beside the language.
    pub(super) context: Value,
    /// Facts for readers, beside the version of this program.
    pub(super) info: Value,
    /// From [`machine`].
    pub(super) machine: Value,
    /// The repository and the commit.
    pub(super) github: Value,
    /// The measured values, or why there are none.
    pub(super) outcome: Result<Stats<'a>, &'a str>,
    /// What Conbench stores and does not read.
    pub(super) optional: Option<Value>,
}

/// The values of a metric.
pub(super) struct Stats<'a> {
    pub(super) values: &'a [f64],
    pub(super) unit: &'a str,
    pub(super) iterations: usize,
}

impl Payload<'_> {
    /// The JSON object of the result.
    pub(super) fn json(self) -> Value {
        let mut context = json!({ "benchmark_language": "Rust" });
        let mut info = json!({ "cargo_cbdr": env!("CARGO_PKG_VERSION") });
        for (object, more) in [(&mut context, self.context), (&mut info, self.info)] {
            if let (Value::Object(object), Value::Object(more)) = (object, more) {
                object.extend(more);
            }
        }
        let mut result = Map::from_iter(
            [
                ("run_id", json!(self.run)),
                ("batch_id", json!(self.run)),
                ("run_reason", json!(self.reason)),
                ("run_tags", json!({})),
                ("timestamp", json!(self.time)),
                ("tags", self.tags),
                ("context", context),
                ("info", info),
                ("machine_info", self.machine),
                ("github", self.github),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        let (name, value) = match self.outcome {
            Ok(stats) => ("stats", stats.json()),
            Err(message) => ("error", json!({ "message": message })),
        };
        result.insert(name.to_owned(), value);
        if let Some(optional) = self.optional {
            result.insert("optional_benchmark_info".to_owned(), optional);
        }
        Value::Object(result)
    }
}

impl Stats<'_> {
    fn json(&self) -> Value {
        json!({
            "data": self.values,
            "unit": self.unit,
            "times": [],
            "time_unit": "s",
            "iterations": self.iterations,
        })
    }
}

/// A machine in Conbench's words, all of which it insists on: 0 or an empty
/// text stands for what is not known.
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

pub(super) fn value(outcome: &Outcome, recording: &Recording) -> Result<Value, String> {
    let now = SystemTime::now();
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let head = outcome.sides.as_ref().map(|sides| &sides.head);
    let commit = head.map_or("samples", |head| &head.commit);
    let mut github = json!({ "repository": repository()? });
    // A dirty tree is no commit's.
    if let Some(head) = head.filter(|head| !head.dirty) {
        github["commit"] = json!(head.commit);
    }
    if let Some(number) = pull_request() {
        github["pr_number"] = json!(number);
    }
    let name =
        std::env::var("CONBENCH_MACHINE_INFO_NAME").unwrap_or_else(|_| exec::machine::host());
    let (arch, os) = (std::env::consts::ARCH, std::env::consts::OS);
    let common = Common {
        run: format!("{commit}-{seconds}-{}", outcome.seed.unwrap_or(0)),
        time: super::now(),
        github,
        machine: machine(&name, arch, os, &exec::machine::describe()),
    };
    let known = outcome
        .metrics()
        .filter(|(_, metric)| metric.status == Status::Compared && takes(metric.unit.symbol()));
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
    outcome: &Outcome,
    recording: &Recording,
    common: &Common,
    benchmark: &BenchmarkResult,
    result: &MetricResult,
) -> Value {
    let summary = &result.summary;
    let values: Vec<f64> = recording.comparison(&benchmark.name).map_or(Vec::new(), |comparison| {
        let values = recording.values(comparison.labels[Side::Head], &result.name);
        values.flatten().collect()
    });
    let payload = Payload {
        run: &common.run,
        reason: "cargo cbdr compare",
        time: &common.time,
        tags: json!({ "name": benchmark.name, "metric": result.name }),
        context: json!({}),
        info: json!({ "toolchain": outcome.toolchain.as_ref().and_then(Option::as_ref) }),
        machine: common.machine.clone(),
        github: common.github.clone(),
        outcome: Ok(Stats { values: &values, unit: result.unit.symbol(), iterations: 1 }),
        optional: Some(json!({
            "base_commit": outcome.sides.as_ref().map(|sides| &sides.base.commit),
            "base": summary.base,
            "change": summary.change,
            "lower": summary.lower.filter(|end| end.is_finite()),
            "upper": summary.upper.filter(|end| end.is_finite()),
            "threshold": result.threshold,
            "verdict": result.verdict,
        })),
    };
    payload.json()
}
