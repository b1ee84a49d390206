//! Which benchmarks this machine measures, of a comparison over several machines.

use std::collections::BTreeMap;

use super::{Discovery, Session};
use crate::model::{AllottedBenchmark, Divisible, Division, Shard, ShardBy};

/// What can be divided of what was found.
pub(super) fn divisible(session: &Session<'_, '_>, found: &[Discovery]) -> Vec<Divisible> {
    let costs = session.preparation.costs.iter();
    let seconds: BTreeMap<&str, f64> =
        costs.map(|one| (one.benchmark.as_str(), one.seconds)).collect();
    let all = session.programs.iter().zip(found).flat_map(|(program, found)| {
        let is_apart = program.can_select_benchmarks();
        found.benchmarks.iter().map(move |one| (&one.name, is_apart, &found.program))
    });
    all.map(|(name, is_apart, program)| Divisible {
        benchmark: name.clone(),
        together: if is_apart { name } else { program }.clone(),
        seconds: seconds.get(name.as_str()).copied().unwrap_or(0.0),
    })
    .collect()
}

/// Divides what was found among the machines, and keeps the part of this one. Benchmarks that can't
/// run without the others of their program stay together. `None` if there is only one machine, or
/// if all of them measure all benchmarks.
pub(super) fn divide(session: &Session<'_, '_>, found: &mut [Discovery]) -> Option<Division> {
    let Shard { number, of } = session.options.shard?;
    let policy = &session.preparation.settings.policy;
    if policy.shard_by == ShardBy::Pairs {
        return None;
    }
    let key = session.preparation.sides.key();
    let shards = Shard::divide(&divisible(session, found), &key, of)?;
    let all = found.iter().flat_map(|found| found.benchmarks.iter().map(move |one| (found, one)));
    let allotted = all.zip(shards).map(|((found, one), shard)| AllottedBenchmark {
        benchmark: one.name.clone(),
        program: found.program.clone(),
        shard,
        gates: one.gates.clone(),
    });
    let benchmarks: Vec<AllottedBenchmark> = allotted.collect();
    let mut allotted = benchmarks.iter();
    for found in found {
        found.benchmarks.retain(|_| allotted.next().is_some_and(|one| one.shard == number));
    }
    let suite = policy.suite;
    Some(Division { benchmarks, suite, sharing: 0, evidence: 0.0, over_layouts: Vec::new() })
}
