//! Why a benchmark has regressed: the functions that execute more instructions, counted by
//! valgrind while the benchmark is executed once.

use std::collections::{BTreeMap, BTreeSet};

use super::discovery::Discovery;
use super::program::ComparedProgram;
use super::session::Session;
use crate::error::Error;
use crate::exec::execution::Stop;
use crate::exec::meter::Profiler;
use crate::model::notice::{CountedFunction, Explanation, Notice};
use crate::model::outcome::BenchmarkResult;
use crate::model::side::{Pair, Side};
use crate::workspace::functions;

/// How many regressions are explained, the largest first.
const MOST: usize = 3;

impl Session<'_, '_> {
    /// Says of the largest regressions which functions execute more instructions.
    pub(super) fn explain(
        &mut self,
        discoveries: &[Discovery],
        results: &[BenchmarkResult],
    ) -> Result<(), Error> {
        let mut results = results.iter();
        let mut regressed = Vec::new();
        for (number, found) in discoveries.iter().enumerate() {
            let own = results.by_ref().take(found.benchmarks.len()).zip(&found.benchmarks);
            let own = own.filter(|(result, _)| result.has_regressed());
            regressed.extend(own.map(|(result, found)| (number, result, found.inner.clone())));
        }
        regressed.sort_by(|(_, one, _), (_, other, _)| worst(other).total_cmp(&worst(one)));
        for (number, result, inner) in regressed.into_iter().take(MOST) {
            let program = &mut self.programs[number];
            let path = program.path_variable();
            let explained = match Profiler::find(path.as_deref()) {
                Ok(profiler) => self.count(number, inner.as_deref(), &profiler)?,
                Err(refusal) => {
                    let (benchmark, why) = (result.name.clone(), refusal.to_string());
                    self.notice(Notice::NotMeasured { benchmark, why, hint: refusal.hint });
                    return Ok(());
                }
            };
            self.notice(match explained {
                Some(counts) => {
                    let differ = differing(&self.programs[number]);
                    Notice::Explained(explanation(&result.name, &counts, differ.as_ref()))
                }
                None => {
                    let why = "its instructions could not be counted".to_owned();
                    Notice::NotMeasured { benchmark: result.name.clone(), why, hint: None }
                }
            });
        }
        Ok(())
    }

    /// The instructions of the functions of both sides, by the names that people read.
    fn count(
        &mut self,
        program: usize,
        benchmark: Option<&str>,
        profiler: &Profiler,
    ) -> Result<Option<Pair<BTreeMap<String, u64>>>, Error> {
        let mut both = Pair::<BTreeMap<String, u64>>::default();
        for side in Side::BOTH {
            let counts = self.programs[program].profile(side, benchmark, profiler, self.context);
            let Some(counts) = counts.map_err(Stop::into_error)? else { return Ok(None) };
            for (name, instructions) in counts {
                *both[side].entry(functions::shown(&name)).or_default() += instructions;
            }
        }
        Ok(Some(both))
    }
}

/// The largest change of a benchmark that is a regression.
fn worst(result: &BenchmarkResult) -> f64 {
    let changes = result.metrics.iter().filter_map(|metric| metric.summary.change);
    changes.fold(f64::NEG_INFINITY, |worst, change| worst.max(change.abs()))
}

/// The names of the functions whose code differs between the sides, where that is known.
fn differing(program: &ComparedProgram<'_>) -> Option<BTreeSet<String>> {
    let changed = functions::changed(program.built).ok()?;
    Some(changed.into_iter().map(|function| function.name).collect())
}

fn explanation(
    benchmark: &str,
    counts: &Pair<BTreeMap<String, u64>>,
    differing: Option<&BTreeSet<String>>,
) -> Explanation {
    let names: BTreeSet<&String> =
        Side::BOTH.into_iter().flat_map(|side| counts[side].keys()).collect();
    let mut functions: Vec<CountedFunction> = names
        .into_iter()
        .map(|name| CountedFunction {
            name: name.clone(),
            instructions: Pair::both(|side| counts[side].get(name).copied().unwrap_or_default()),
            differs: differing.map(|differing| differing.contains(name)),
        })
        .filter(|function| function.instructions.base != function.instructions.head)
        .collect();
    functions.sort_by_key(|function| {
        let Pair { base, head } = function.instructions;
        std::cmp::Reverse(base.abs_diff(head))
    });
    let instructions = Pair::both(|side| counts[side].values().sum());
    Explanation { benchmark: benchmark.to_owned(), instructions, functions }
}
