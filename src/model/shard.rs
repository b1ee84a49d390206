//! The parts of a comparison over several machines.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::gate::Gate;
use super::layouts::Placing;
use super::side::Pair;
use super::suite::SuiteGate;
use super::words::words;

/// What is divided among several machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShardBy {
    /// Each machine measures some of the benchmarks; if there are fewer than machines, some of
    /// the pairs.
    #[default]
    Benchmarks,
    /// Each machine measures some of the pairs of all benchmarks.
    Pairs,
}

words!(ShardBy { Benchmarks = "benchmarks", Pairs = "pairs" });

/// The division of benchmarks among machines, as one of them has made it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Division {
    /// All benchmarks that both sides have, in their order: the same on all machines.
    pub(crate) benchmarks: Vec<AllottedBenchmark>,
    /// The number of the whole suite that decides, too.
    pub(crate) suite: Option<SuiteGate>,
    /// Each test of this machine has the error of the comparison divided by this.
    pub(crate) sharing: usize,
    /// The evidence that a benchmark of this machine is slower, as its part of the average of
    /// all machines.
    pub(crate) evidence: f64,
    /// What this machine has measured over layouts for the number of the suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) over_layouts: Vec<SuitePairs>,
}

/// The pairs over layouts of a benchmark, for the number of a suite that is divided among machines.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct SuitePairs {
    pub(crate) benchmark: String,
    pub(crate) metric: String,
    pub(crate) placing: Placing,
    pub(crate) pairs: Vec<Pair<f64>>,
}

/// What is divided among machines: a benchmark that both sides have.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Divisible {
    /// Its name.
    pub benchmark: String,
    /// Equal for benchmarks that stay on one machine, which are consecutive.
    pub together: String,
    /// How long it takes at least, seconds; 0 if that is unknown.
    pub seconds: f64,
}

/// A benchmark, and the machine that measures it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct AllottedBenchmark {
    pub(crate) benchmark: String,
    pub(crate) program: String,
    /// The number of the machine's shard.
    pub(crate) shard: u64,
    pub(crate) gates: Vec<Gate>,
}

impl Division {
    /// How many tests share the error of the comparison if this machine has `tests`.
    pub(crate) fn sharers(&self, shard: Shard, tests: usize) -> usize {
        let [own, all] = self.tests_of(&[shard.number]);
        sharers(all, own, tests)
    }

    /// The share of the error of the machines with these numbers.
    pub(crate) fn share_of(&self, shards: &[u64]) -> f64 {
        let [own, all] = self.tests_of(shards);
        own as f64 / all.max(1) as f64
    }

    /// How many tests these machines were allotted, and how many there are.
    fn tests_of(&self, shards: &[u64]) -> [usize; 2] {
        let own = self.benchmarks.iter().filter(|one| shards.contains(&one.shard));
        [own.map(|one| one.gates.len()).sum(), self.tests()]
    }

    /// How many tests there are: those of all benchmarks, and those of the suite.
    pub(crate) fn tests(&self) -> usize {
        let gates = || self.benchmarks.iter().flat_map(|one| &one.gates);
        let metrics: BTreeSet<&str> = gates().map(|gate| gate.metric.as_str()).collect();
        gates().count() + self.suite.map_or(0, |_| metrics.len())
    }
}

/// How many tests share the error of a comparison if it has `all` tests, of which a machine was
/// allotted `own` and `left` of these are needed: the error of a machine is proportional to what it
/// was allotted.
pub fn sharers(all: usize, own: usize, left: usize) -> usize {
    (all * left).div_ceil(own.max(1))
}

/// One machine's part of a comparison over several machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shard {
    /// The number of the part, from 1.
    pub(crate) number: u64,
    /// The number of parts.
    pub of: u64,
}

/// The variables in which engines number their tasks: that of a task, the number of the first
/// task, and the variable with how many there are. A job of Slurm inherits the variables of the
/// job that submitted it, so Slurm's come first.
const ENGINES: [(&str, u64, &str); 5] = [
    ("SLURM_ARRAY_TASK_ID", 1, "SLURM_ARRAY_TASK_COUNT"),
    ("JOB_COMPLETION_INDEX", 0, SHARDS),
    ("CI_NODE_INDEX", 1, "CI_NODE_TOTAL"),
    ("BUILDKITE_PARALLEL_JOB", 0, "BUILDKITE_PARALLEL_JOB_COUNT"),
    ("CIRCLE_NODE_INDEX", 0, "CIRCLE_NODE_TOTAL"),
];

/// The number of shards, which wins over that of an engine: Kubernetes names none, and if only
/// some tasks of an array are started again, Slurm names theirs.
const SHARDS: &str = "CBDR_SHARDS";

impl Shard {
    /// `shards 1, 2 and 5`, or `shard 3`.
    pub fn listed(numbers: &[u64]) -> String {
        let text = |number: &u64| number.to_string();
        match numbers {
            [] => "no shard".to_owned(),
            [only] => format!("shard {only}"),
            [most @ .., last] => {
                let most: Vec<String> = most.iter().map(text).collect();
                format!("shards {} and {last}", most.join(", "))
            }
        }
    }

    /// The shard of this task of an engine, by the values of `variable`.
    ///
    /// # Errors
    /// A sentence that names the variables, if they are missing or contradict each other.
    pub fn of_task(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let task = |(index, first, count)| Some((index, variable(index)?, first, count));
        let Some((index, task, first, count)) = ENGINES.into_iter().find_map(task) else {
            let known = ENGINES.map(|(index, ..)| index).join(", ");
            return Err(format!("`auto` needs one of the variables {known}"));
        };
        let count = if variable(SHARDS).is_some() { SHARDS } else { count };
        let of = variable(count).ok_or_else(|| format!("{index} is set, but {count} is not"))?;
        let number = task.parse::<u64>().ok().and_then(|task| (task + 1).checked_sub(first));
        let shard = number.and_then(|number| format!("{number}/{of}").parse().ok());
        shard.ok_or_else(|| {
            format!("{index}={task} is not one of {count}={of} tasks that count from {first}")
        })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(number, of)| {
            Some(Shard { number: number.parse().ok()?, of: of.parse().ok()? })
        });
        let fits =
            |shard: &Shard| (1..=shard.of).contains(&shard.number) && shard.of <= MOST_SHARDS;
        parts.filter(fits).ok_or_else(|| {
            format!("expected `I/N`, with I from 1 to N and N at most {MOST_SHARDS}, such as `1/4`")
        })
    }
}

/// More machines than this are a mistake.
const MOST_SHARDS: u64 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_several() {
        assert_eq!("2/4".parse(), Ok(Shard { number: 2, of: 4 }));
        assert_eq!(Shard { number: 2, of: 4 }.to_string(), "2/4");
        for bad in ["0/4", "5/4", "1", "1/0", "a/2", "1/2/3", "-1/2", "", "1/10001"] {
            let error = bad.parse::<Shard>().unwrap_err();
            assert!(error.starts_with("expected `I/N`"), "{bad}: {error}");
        }
    }

    #[test]
    fn a_task_of_an_engine_is_a_shard() {
        let of_task = |values: &[(&str, &str)]| {
            let find = |name: &str| values.iter().find(|(known, _)| *known == name);
            Shard::of_task(|name| find(name).map(|(_, value)| (*value).to_owned()))
        };
        let second = Ok(Shard { number: 2, of: 4 });
        for (index, first, count) in ENGINES {
            let task = (first + 1).to_string();
            assert_eq!(of_task(&[(index, &task), (count, "4")]), second, "{index}");
            // Two of four tasks, started again.
            let again = [(index, task.as_str()), (SHARDS, "4"), (count, "2")];
            assert_eq!(of_task(&again[..]), second, "{index}");
            assert!(of_task(&[(index, &task)]).unwrap_err().contains(count));
            for bad in ["4", "-1", "x"] {
                let last = (first + 4).to_string();
                let task = if bad == "4" { last.as_str() } else { bad };
                let error = of_task(&[(index, task), (count, "4")]).unwrap_err();
                assert!(error.starts_with(&format!("{index}={task} is not one of")), "{error}");
            }
        }
        assert!(of_task(&[]).unwrap_err().contains("CI_NODE_INDEX"));
    }
}
