//! Why a benchmark regressed: the functions that execute more instructions. Valgrind
//! counts them while the benchmark is executed once, in each of a few runs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::discovery::Discovery;
use super::program::ComparedProgram;
use super::session::Session;
use crate::error::Error;
use crate::exec::execution::Stop;
use crate::exec::meter::Profiler;
use crate::flows::event::Event;
use crate::model::explanation::{CountedFunction, Explain, Explanation};
use crate::model::notice::Notice;
use crate::model::outcome::BenchmarkResult;
use crate::model::side::{Pair, Side};
use crate::workspace::functions;

/// The maximum number of regressions to explain, the largest first.
const MOST: usize = 3;

/// How often each side is executed. Functions whose work depends on random seeds differ
/// between these runs, too: only in one of ten cases do all runs of one side exceed all of
/// the other.
const RUNS: usize = 3;

/// Counting that takes no longer than this is considered cheap.
const CHEAP: Duration = Duration::from_secs(15);

/// The instructions of functions in each run, by their demangled names.
type Counts = BTreeMap<String, [u64; RUNS]>;

impl Session<'_, '_> {
    /// Which functions of the largest regressions execute more instructions.
    pub(super) fn explain(
        &mut self,
        when: Explain,
        discoveries: &[Discovery],
        results: &[BenchmarkResult],
    ) -> Result<Vec<Explanation>, Error> {
        let mut results = results.iter();
        let mut regressed = Vec::new();
        for (number, found) in discoveries.iter().enumerate() {
            let own = results.by_ref().take(found.benchmarks.len()).zip(&found.benchmarks);
            let own = own.filter(|(result, _)| result.has_regressed());
            regressed.extend(own.map(|(result, found)| (number, result, found.inner.clone())));
        }
        regressed.sort_by(|(_, one, _), (_, other, _)| worst(other).total_cmp(&worst(one)));
        let is_asked = when == Explain::Always;
        let deadline = (!is_asked).then(|| Instant::now() + CHEAP);
        let mut differing_in = BTreeMap::new();
        let mut explanations = Vec::new();
        for (number, result, inner) in regressed.into_iter().take(MOST) {
            let benchmark = result.name.clone();
            let path = self.programs[number].path_variable();
            let profiler = match Profiler::find(path.as_deref()) {
                Ok(profiler) => profiler,
                Err(refusal) if is_asked => {
                    let (why, hint) = (refusal.to_string(), refusal.hint);
                    self.notice(Notice::NotMeasured { benchmark, why, hint });
                    break;
                }
                Err(_) => break,
            };
            (self.on_event)(Event::Explaining { benchmark: &benchmark });
            let counts = self.count(number, inner.as_deref(), &profiler, deadline)?;
            if let Some(counts) = counts {
                let differing =
                    differing_in.entry(number).or_insert_with(|| differing(&self.programs[number]));
                explanations.push(explanation(&benchmark, &counts, differing.as_ref()));
            } else if is_asked {
                let why = "its instructions could not be counted".to_owned();
                self.notice(Notice::NotMeasured { benchmark, why, hint: None });
            }
        }
        Ok(explanations)
    }

    /// The instructions of the functions of both sides. `None` if they can't be counted, or
    /// not before the deadline.
    fn count(
        &mut self,
        program: usize,
        benchmark: Option<&str>,
        profiler: &Profiler,
        deadline: Option<Instant>,
    ) -> Result<Option<Pair<Counts>>, Error> {
        let mut both = Pair::<Counts>::default();
        for run in 0..RUNS {
            for side in Side::BOTH {
                let program = &mut self.programs[program];
                let counts = program.profile(side, benchmark, profiler, deadline, self.context);
                let Some(counts) = counts.map_err(Stop::into_error)? else { return Ok(None) };
                for (name, instructions) in counts {
                    both[side].entry(functions::shown(&name)).or_default()[run] += instructions;
                }
            }
        }
        Ok(Some(both))
    }
}

/// The largest regression of a benchmark.
fn worst(result: &BenchmarkResult) -> f64 {
    let changes = result.metrics.iter().filter_map(|metric| metric.summary.change);
    changes.fold(f64::NEG_INFINITY, |worst, change| worst.max(change.abs()))
}

/// The names of the functions whose code differs between the sides, if known.
fn differing(program: &ComparedProgram<'_>) -> Option<BTreeSet<String>> {
    let changed = program.changed_functions()?;
    Some(changed.iter().map(|function| function.name.clone()).collect())
}

fn explanation(
    benchmark: &str,
    counts: &Pair<Counts>,
    differing: Option<&BTreeSet<String>>,
) -> Explanation {
    let names: BTreeSet<&String> =
        Side::BOTH.into_iter().flat_map(|side| counts[side].keys()).collect();
    let of = |name: &String| {
        Pair::both(|side| {
            let mut runs = counts[side].get(name).copied().unwrap_or_default();
            runs.sort_unstable();
            runs
        })
    };
    let changed = names.into_iter().map(|name| (name, of(name)));
    let changed = changed
        .filter(|(_, Pair { base, head })| base[RUNS - 1] < head[0] || head[RUNS - 1] < base[0]);
    let mut functions: Vec<CountedFunction> = changed
        .map(|(name, runs)| CountedFunction {
            name: name.clone(),
            instructions: runs.map(|runs| runs[RUNS / 2]),
            differs: differing.map(|differing| differing.contains(name)),
        })
        .collect();
    functions.sort_by_key(|function| {
        let Pair { base, head } = function.instructions;
        std::cmp::Reverse(base.abs_diff(head))
    });
    let instructions = Pair::both(|side| {
        let mut runs = [0_u64; RUNS];
        for function in counts[side].values() {
            runs.iter_mut().zip(function).for_each(|(sum, instructions)| *sum += instructions);
        }
        runs.sort_unstable();
        runs[RUNS / 2]
    });
    Explanation { benchmark: benchmark.to_owned(), instructions, functions }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_no_reason() {
        let counts = |all: [(&str, [u64; RUNS]); 3]| -> Counts {
            all.into_iter().map(|(name, runs)| (name.to_owned(), runs)).collect()
        };
        let both = Pair {
            base: counts([("seeded", [900, 100, 500]), ("same", [7; 3]), ("more", [40, 41, 40])]),
            head: counts([("seeded", [800, 950, 700]), ("same", [7; 3]), ("more", [50, 48, 49])]),
        };
        let differing = BTreeSet::from(["more".to_owned()]);
        let Explanation { instructions, functions, .. } =
            explanation("bench", &both, Some(&differing));
        let more = CountedFunction {
            name: "more".to_owned(),
            instructions: Pair { base: 40, head: 49 },
            differs: Some(true),
        };
        assert_eq!(functions, [more]);
        assert_eq!(instructions, Pair { base: 547, head: 857 });
    }
}
