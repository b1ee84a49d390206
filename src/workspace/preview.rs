//! What a comparison would do, known once both sides are checked out and their manifests
//! are read: nothing is built.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cargo::TargetCall;
use super::context::PrepareContext;
use super::prepare::{SetUp, set_up_sides};
use super::relink::linker::host;
use super::request::Request;
use super::setup::sides::{Setup, SideSetup};
use crate::engine::event::Reporter;
use crate::error::Error;
use crate::exec::execution::Context;
use crate::model::{Divisible, Gate, Notice, Pair, Removed, Shard, Side, Sides, Waiver};
use crate::settings::options::{Benchmark, Hooks, Subject};
use crate::settings::origin::ResolvedSetting;
use crate::settings::policy::Settings;

/// A comparison that was resolved, and not run.
#[derive(Clone, Debug)]
pub struct Preview {
    /// The commits.
    pub sides: Sides,
    /// The head's compiler; `None` if there is nothing to compare.
    pub toolchain: Option<String>,
    /// The compiler's host; `None` if there is nothing to compare.
    pub target: Option<String>,
    /// The folder in which a pack has to be.
    pub folder: Option<PathBuf>,
    /// The programs besides the benchmarks that a machine needs to measure them.
    pub programs: BTreeSet<String>,
    /// How long sampling may take.
    pub time_limit: Duration,
    /// Whose table decides, if the base has one.
    pub policy_from: Side,
    /// The settings that a comparison has only once.
    pub settings: Vec<ResolvedSetting>,
    /// What would be built and run; empty if there is nothing to compare.
    pub benchmarks: Vec<PreviewedBenchmark>,
    /// What gates on the base and is not on the head.
    pub removed: Vec<Removed>,
    /// What can be divided among machines, and how long each takes; `None` before the benchmarks
    /// have run.
    pub costs: Option<Vec<Divisible>>,
    /// What the user should know about it.
    pub notices: Vec<Notice>,
}

/// A program that would be run. Which benchmarks it contains is known only once it runs.
#[derive(Clone, Debug)]
pub struct PreviewedBenchmark {
    /// Its name in the outputs.
    pub name: String,
    /// Its package on the head.
    pub package: String,
    /// The command that is run; `None` for the executable of a target.
    pub command: Option<Vec<String>>,
    /// The words of the command that builds each side; `None` if it needs none.
    pub build: Pair<Option<Vec<String>>>,
    /// Why the base does not have it.
    pub is_new: Option<String>,
    /// The metrics that decide, each with the waiver that it has, if any.
    pub gates: Vec<Gate>,
    /// Whether the gates are defaults: a harness that reports other metrics replaces them.
    pub gates_are_default: bool,
    /// Its own settings.
    pub settings: Vec<ResolvedSetting>,
}

/// What one machine would measure.
#[derive(Clone, Debug, Default)]
pub struct PreviewedShard {
    /// The names of its benchmarks.
    pub benchmarks: Vec<String>,
    /// How long sampling takes at least, on a machine as fast as the one that packed, seconds.
    pub least_seconds: f64,
}

impl Preview {
    /// What each of so many machines would measure; `None` if that is unknown, or if all of them
    /// measure all benchmarks.
    pub fn shards(&self, of: u64) -> Option<Vec<PreviewedShard>> {
        let costs = self.costs.as_ref()?;
        let numbers = Shard::divide(costs, &self.sides.key(), of)?;
        let mut shards = vec![PreviewedShard::default(); of as usize];
        for (one, number) in costs.iter().zip(numbers) {
            let shard = &mut shards[number as usize - 1];
            shard.benchmarks.push(one.benchmark.clone());
            shard.least_seconds += one.seconds;
        }
        Some(shards)
    }
}

/// Resolves a comparison as [`prepare`](super::prepare) does, up to its first build. The
/// `reporter` has its notices.
///
/// # Errors
/// The same, up to there.
pub(crate) fn preview(
    request: &Request,
    context: Context<'_>,
    reporter: &mut dyn Reporter,
) -> Result<Preview, Error> {
    let mut context = PrepareContext::open(request, context, reporter)?;
    let policy_from = request.policy_from;
    Ok(match set_up_sides(&mut context)? {
        SetUp::NothingToCompare { sides, settings } => Preview::new(sides, &settings, policy_from),
        SetUp::Compared { sides, setup, .. } => {
            let benchmarks = setup.settings.benchmarks.iter();
            let mut removed = setup.removed.clone();
            let gone = benchmarks.clone().filter(|benchmark| setup.lacks_gated(benchmark));
            removed.extend(gone.map(|one| Removed { benchmark: one.name.clone(), metric: None }));
            Preview {
                toolchain: setup.head.rustc.lines().next().map(str::to_owned),
                target: host(&setup.head.rustc).map(str::to_owned),
                benchmarks: benchmarks.map(|benchmark| resolved(&setup, benchmark)).collect(),
                removed,
                ..Preview::new(sides, &setup.settings, policy_from)
            }
        }
    })
}

impl Preview {
    /// What follows from the settings.
    pub(super) fn new(sides: Sides, settings: &Settings, policy_from: Side) -> Self {
        Preview {
            sides,
            toolchain: None,
            target: None,
            folder: None,
            programs: settings.benchmarks.iter().flat_map(programs).collect(),
            time_limit: settings.limits.time,
            policy_from,
            settings: settings.table.common_settings(),
            benchmarks: Vec::new(),
            removed: Vec::new(),
            costs: None,
            notices: Vec::new(),
        }
    }
}

/// The programs that runs of a benchmark look up in the `PATH`.
fn programs(benchmark: &Benchmark) -> Vec<String> {
    let Hooks { prepare, setup, cleanup } = &benchmark.measuring.hooks;
    let called = [prepare.as_ref(), setup.as_ref(), cleanup.as_ref(), command(benchmark)];
    let called = called.into_iter().flatten().filter_map(|words| words.first());
    let called = called.filter(|word| !word.contains(std::path::is_separator)).cloned();
    let is_simulated = benchmark.asked().any(|metric| metric.ends_with("_cachegrind"));
    called.chain(is_simulated.then(|| "valgrind".to_owned())).collect()
}

fn resolved(setup: &Setup, benchmark: &Benchmark) -> PreviewedBenchmark {
    let sides = setup.sides();
    let build = |side: &SideSetup| match &benchmark.subject {
        Subject::Command { build, .. } => build.clone(),
        Subject::Target(target, _) if side.folder_of(benchmark, target).is_err() => None,
        Subject::Target(target, options) => {
            let call = TargetCall {
                kind: target.kind,
                names: vec![&target.name],
                options: &side.options(benchmark, target, options),
                into: Path::new(""),
                configs: &[],
                linker: None,
            };
            let args = call.plain_args().into_iter();
            let args = args.map(|word| word.to_string_lossy().into_owned());
            Some(std::iter::once("cargo".to_owned()).chain(args).collect())
        }
    };
    PreviewedBenchmark::new(benchmark, sides.map(build), setup.lack(benchmark))
}

impl PreviewedBenchmark {
    pub(super) fn new(
        benchmark: &Benchmark,
        build: Pair<Option<Vec<String>>>,
        is_new: Option<String>,
    ) -> Self {
        let gate = |gate: &Gate| {
            let is_its = |waiver: &&Waiver| waiver.metric == gate.metric;
            Gate { waiver: benchmark.waivers.iter().find(is_its).cloned(), ..gate.clone() }
        };
        PreviewedBenchmark {
            name: benchmark.name.clone(),
            package: benchmark.package.clone(),
            command: command(benchmark).cloned(),
            build,
            is_new,
            gates: benchmark.gates.iter().map(gate).collect(),
            gates_are_default: benchmark.gates_are_default,
            settings: benchmark.table.own_settings(),
        }
    }
}

fn command(benchmark: &Benchmark) -> Option<&Vec<String>> {
    match &benchmark.subject {
        Subject::Command { words, .. } => Some(words),
        Subject::Target(..) => None,
    }
}
