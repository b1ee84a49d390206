//! Which metrics of a benchmark gate, with which thresholds.

use crate::model::{BenchmarkThreshold, DEFAULT_METRIC, Gate, LearntThreshold, stand_in};
use crate::settings::options::Benchmark;

/// Which of the measured metrics gate. If none was named, another one may replace the
/// default. `names` are those of the benchmark, besides its program's; waivers may use
/// any of them.
pub(crate) fn gates(benchmark: &Benchmark, measured: &[String], names: &[&str]) -> Vec<Gate> {
    let stand_in = stand_in(measured).filter(|_| benchmark.gates_are_default);
    let gates = benchmark.gates.iter().map(|gate| match stand_in {
        Some(metric) if gate.metric == DEFAULT_METRIC => gate.clone().of(metric),
        _ => gate.clone(),
    });
    let gates = gates.filter(|gate| measured.contains(&gate.metric));
    gates.map(|gate| of_benchmark(benchmark, gate, names)).collect()
}

/// A gate of a benchmark with these names, with its own threshold and its waiver, if any.
pub(crate) fn of_benchmark(benchmark: &Benchmark, mut gate: Gate, names: &[&str]) -> Gate {
    let names = [names, &[benchmark.name.as_str()]].concat();
    if !benchmark.own_thresholds.contains(&gate.metric)
        && let Some(threshold) = BenchmarkThreshold::of(&benchmark.by_pattern, &names)
    {
        gate = gate.allowing(threshold);
    }
    let is_its = |one: &&LearntThreshold| {
        one.metric == gate.metric && names.contains(&one.benchmark.as_str())
    };
    if gate.learnt.is_some()
        && let Some(LearntThreshold { threshold, learnt, .. }) =
            benchmark.learnt.iter().find(is_its)
    {
        (gate.threshold, gate.learnt) = (*threshold, Some(*learnt));
    }
    let mut waivers = benchmark.waivers.iter();
    let waiver = waivers.find(|waiver| waiver.is_about(&gate.metric, &names)).cloned();
    Gate { waiver, ..gate }
}
