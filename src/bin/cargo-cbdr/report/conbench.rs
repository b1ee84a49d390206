//! A benchmark result as Conbench's interface takes it.

use cargo_cbdr::exec::machine::Description;
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
