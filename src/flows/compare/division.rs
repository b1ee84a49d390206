//! Which benchmarks this machine measures, of a comparison over several machines.

use super::Options;
use super::discovery::Discovery;
use super::program::ComparedProgram;
use crate::model::shard::{AllottedBenchmark, Division, Shard, ShardBy};
use crate::workspace::Preparation;

/// Divides what was found among the machines, and keeps the part of this one. Benchmarks that can't
/// run without the others of their program stay together. `None` if there is only one machine, or
/// if all of them measure all benchmarks.
pub(super) fn divide(
    programs: &[ComparedProgram<'_>],
    found: &mut [Discovery],
    preparation: &Preparation,
    options: &Options,
) -> Option<Division> {
    let Shard { number, of } = options.shard?;
    let names = programs.iter().zip(&*found).flat_map(|(program, found)| {
        let is_apart = program.can_select_benchmarks();
        found.benchmarks.iter().map(move |one| match is_apart {
            true => one.name.as_str(),
            false => found.program.as_str(),
        })
    });
    // What stays together has the same name, and is consecutive.
    let names: Vec<&str> = names.collect();
    let mut apart = names.clone();
    apart.dedup();
    let is_by_pairs = preparation.settings.policy.shard_by == ShardBy::Pairs;
    if is_by_pairs || (apart.len() as u64) < of {
        return None;
    }
    let sides = &preparation.sides;
    let key = format!("{} {}", sides.base.commit, sides.head.commit);
    let mut shards = apart.iter().zip(Shard::allot(&apart, &key, of)).peekable();
    let mut benchmarks = Vec::new();
    let all = found.iter().flat_map(|found| found.benchmarks.iter().map(move |one| (found, one)));
    for (name, (found, one)) in names.iter().zip(all) {
        while shards.next_if(|(part, _)| *part != name).is_some() {}
        benchmarks.push(AllottedBenchmark {
            benchmark: one.name.clone(),
            program: found.program.clone(),
            shard: shards.peek().map_or(1, |(_, shard)| *shard),
            gates: one.gates.clone(),
        });
    }
    let mut allotted = benchmarks.iter();
    for found in found {
        found.benchmarks.retain(|_| allotted.next().is_some_and(|one| one.shard == number));
    }
    Some(Division { benchmarks, sharing: 0, evidence: 0.0 })
}
