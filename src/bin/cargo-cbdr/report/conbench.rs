//! A benchmark result as Conbench's interface takes it.

use cargo_cbdr::exec::machine::Description;
use serde_json::{Value, json};

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
    /// Facts about the build.
    pub(super) context: Value,
    /// Facts for readers.
    pub(super) info: Value,
    /// From [`machine`].
    pub(super) machine: Value,
    /// The repository and the commit.
    pub(super) github: Value,
    /// From [`stats`], or why there are no values.
    pub(super) outcome: Result<Value, &'a str>,
    /// What Conbench stores and does not read.
    pub(super) optional: Option<Value>,
}

impl Payload<'_> {
    /// The JSON object of the result.
    pub(super) fn json(self) -> Value {
        let mut object = json!({
            "run_id": self.run,
            "batch_id": self.run,
            "run_reason": self.reason,
            "run_tags": {},
            "timestamp": self.time,
            "tags": self.tags,
            "context": self.context,
            "info": self.info,
            "machine_info": self.machine,
            "github": self.github,
        });
        match self.outcome {
            Ok(stats) => object["stats"] = stats,
            Err(message) => object["error"] = json!({ "message": message }),
        }
        if let Some(optional) = self.optional {
            object["optional_benchmark_info"] = optional;
        }
        object
    }
}

/// The values of a metric, of so many runs each.
pub(super) fn stats(values: &[f64], unit: &str, iterations: usize) -> Value {
    json!({
        "data": values,
        "unit": unit,
        "times": [],
        "time_unit": "s",
        "iterations": iterations,
    })
}

/// A machine in Conbench's words. Conbench insists on all of them: 0 or an empty text
/// stands for what is not known.
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
