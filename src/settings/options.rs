//! From the words of flags and tables to plain checked data.

mod choice;
mod gates;
mod measuring;
mod values;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

pub use choice::Choice;
use choice::target;
use gates::waivers;
pub use gates::{gates, threshold_flag};
pub use measuring::{Hooks, Measuring, PageCache, Repetitions, measuring};
pub use values::{command_words, run_timeout};
use values::{confidence, duration, harness, on_doubt, percentage, units, words};

use crate::model::dialect::Dialect;
use crate::model::estimator::{Estimator, UnknownEstimator};
use crate::model::gate::{Gate, Waiver};
use crate::model::metric::{Units, unfit};
use crate::model::outcome::{Limits, Policy};
use crate::model::target::{BuildOptions, Target};
use crate::settings::table::{Scale, Table};

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A value that can't be understood.
    #[error("bad {what} `{value}`: {why}")]
    Bad {
        /// The setting.
        what: &'static str,
        /// Its value.
        value: String,
        /// What it should be.
        why: String,
    },
    /// A package that the workspace does not have.
    #[error("the workspace has no package `{name}`")]
    NoPackage {
        /// Its name.
        name: String,
        /// The one that it resembles, or all of them.
        hint: String,
    },
    /// A target that the package does not have.
    #[error("the package `{package}` has no {target}")]
    NoTarget {
        /// The package.
        package: String,
        /// The target.
        target: String,
        /// What it has.
        hint: String,
    },
    /// Nothing says what to run.
    #[error("which benchmark? {found}")]
    Undecided {
        /// What could be meant.
        found: String,
        /// What to type.
        hint: String,
    },
    /// Settings of which a comparison has one, given differently.
    #[error("the benchmarks disagree on `{0}`, of which a comparison has one")]
    Disagree(String),
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Bad { .. } => None,
            Error::NoPackage { hint, .. }
            | Error::NoTarget { hint, .. }
            | Error::Undecided { hint, .. } => Some(hint.clone()),
            Error::Disagree(key) => Some(format!("set `{key}` beside the benchmarks, not in them")),
        }
    }
}

/// Where a benchmark comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// An executable that cargo builds.
    Target(Target, BuildOptions),
    /// A command, and what builds it.
    Command {
        /// Its words.
        words: Vec<String>,
        /// The words of the command that builds it.
        build: Option<Vec<String>>,
    },
}

/// A benchmark to compare. What is written down beside its samples is what
/// shapes a run; what decides and what is shown stands elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// Its name in the outputs.
    pub name: String,
    /// The package, by name.
    pub package: String,
    /// What is run.
    #[serde(rename = "run")]
    pub subject: Subject,
    /// With which arguments.
    pub args: Vec<String>,
    /// How its runs are called and read; else what its executable shows.
    pub harness: Option<Dialect>,
    /// The metrics that gate.
    #[serde(skip)]
    pub gates: Vec<Gate>,
    /// Slowdowns that are accepted today.
    #[serde(skip)]
    pub waivers: Vec<Waiver>,
    /// Those whose last day is over.
    #[serde(skip)]
    pub expired: Vec<Waiver>,
    /// Whether nobody named them, so that the only metric that there is may
    /// stand in for the usual one.
    #[serde(skip)]
    pub stands_in: bool,
    /// Units and directions that are not the usual ones.
    #[serde(skip)]
    pub units: Units,
    /// The metrics that are measured and shown besides.
    #[serde(skip)]
    pub shown: Vec<String>,
    /// How many runs of each side come first, unmeasured.
    pub warmup: u32,
    /// How long one run may take.
    #[serde(skip)]
    pub run_timeout: Duration,
    /// How its runs are made and what surrounds them.
    pub measuring: Measuring,
}

impl Benchmark {
    /// The metrics that are asked for by name.
    pub fn asked(&self) -> impl Iterator<Item = &String> {
        self.gates.iter().map(|gate| &gate.metric).chain(&self.shown)
    }
}

/// What the tables and flags of a comparison come to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// What is compared.
    pub benchmarks: Vec<Benchmark>,
    /// What decides.
    pub policy: Policy,
    /// When it stops.
    pub limits: Limits,
}

/// Checks one benchmark's table. `name` is that of a named benchmark, else it
/// is called after its target.
///
/// # Errors
/// When a value can't be understood or a name leads nowhere.
pub fn benchmark(
    name: Option<&str>,
    table: &Table,
    choice: Choice<'_>,
) -> Result<Benchmark, Error> {
    let package = choice.package(table)?;
    let subject = match &table.command {
        Some(command) => {
            let build = table.build_command.as_deref().map(|text| words("build-command", text));
            Subject::Command { words: words("command", command)?, build: build.transpose()? }
        }
        None => {
            let build = BuildOptions {
                features: table.features.clone().unwrap_or_default(),
                all_features: table.all_features.unwrap_or(false),
                no_default_features: table.no_default_features.unwrap_or(false),
                profile: table.profile.clone(),
            };
            Subject::Target(target(table, package)?, build)
        }
    };
    let own = match &subject {
        Subject::Target(target, _) => target.name.clone(),
        Subject::Command { words, .. } => {
            let program = words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word));
            program.to_owned()
        }
    };
    let (waivers, expired) = waivers(table, SystemTime::now())?;
    let name = name.map_or(own, str::to_owned);
    if let Some(why) = unfit(&name) {
        return Err(Error::Bad { what: "name of a benchmark", value: name, why: why.to_owned() });
    }
    Ok(Benchmark {
        name,
        package: package.name.clone(),
        subject,
        args: table.args.clone().unwrap_or_default(),
        harness: table.harness.as_deref().map(harness).transpose()?,
        gates: gates(table)?,
        waivers,
        expired,
        stands_in: table.metrics.is_none() && table.thresholds.is_none(),
        units: units(table)?,
        shown: table.show.clone().unwrap_or_default(),
        warmup: table.warmup.unwrap_or(1),
        run_timeout: run_timeout(table.run_timeout.as_deref())?,
        measuring: measuring(table)?,
    })
}

/// Checks the values of a table that can be understood without the workspace.
///
/// # Errors
/// When one of them can't.
pub fn check(table: &Table) -> Result<(), Error> {
    limits(std::iter::once(table))?;
    measuring::values(table)?;
    if table.metrics.is_some() || table.thresholds.is_none() {
        // The threshold that a warning has to be below may be another layer's.
        gates(&Table { warn: None, ..table.clone() })?;
    }
    for (what, text) in [("command", &table.command), ("build-command", &table.build_command)] {
        text.as_deref().map(|text| words(what, text)).transpose()?;
    }
    table.run_timeout.as_deref().map(|text| duration("run-timeout", text)).transpose()?;
    table.harness.as_deref().map(harness).transpose()?;
    table.warn.as_deref().map(|text| percentage("warn", text)).transpose()?;
    Ok(())
}

/// Checks what the whole comparison has one of.
///
/// # Errors
/// When a value can't be understood, or the tables disagree.
pub fn limits<'a>(
    tables: impl Iterator<Item = &'a Table> + Clone,
) -> Result<(Policy, Limits), Error> {
    let one = |key: &str, get: fn(&Table) -> Option<String>| {
        let mut values = tables.clone().map(get);
        let first = values.next().flatten();
        if values.all(|value| value == first) {
            Ok(first)
        } else {
            Err(Error::Disagree(key.to_owned()))
        }
    };
    let level = one("confidence", |table| table.confidence.clone())?;
    let estimator = one("estimator", |table| table.estimator.clone())?;
    let time = one("time-limit", |table| table.time_limit.clone())?;
    let pairs = one("max-pairs", |table| table.max_pairs.map(|pairs| pairs.to_string()))?;
    let open = one("on-inconclusive", |table| table.on_inconclusive.clone())?;
    let missing = one("on-no-baseline", |table| table.on_no_baseline.clone())?;
    let removed = one("on-removed", |table| table.on_removed.clone())?;
    same_units(tables.clone())?;
    let policy = Policy {
        confidence: confidence(level.as_deref().unwrap_or("95%"))?,
        estimator: self::estimator(estimator.as_deref().unwrap_or(Estimator::default().name()))?,
        on_inconclusive: on_doubt("on-inconclusive", open.as_deref())?,
        on_no_baseline: on_doubt("on-no-baseline", missing.as_deref())?,
        on_removed: on_doubt("on-removed", removed.as_deref())?,
    };
    let limits = Limits {
        time: duration("time-limit", time.as_deref().unwrap_or("5m"))?,
        pairs: pairs.and_then(|pairs| pairs.parse().ok()),
    };
    if limits.pairs == Some(0) {
        let why = "at least one pair is needed".to_owned();
        return Err(Error::Bad { what: "max-pairs", value: "0".to_owned(), why });
    }
    Ok((policy, limits))
}

/// Demands that no metric is given two units: samples have one column for it.
fn same_units<'a>(tables: impl Iterator<Item = &'a Table>) -> Result<(), Error> {
    let mut known: BTreeMap<&str, &Scale> = BTreeMap::new();
    for (metric, scale) in tables.flat_map(|table| table.units.iter().flatten()) {
        if *known.entry(metric).or_insert(scale) != scale {
            return Err(Error::Disagree(format!("units.{metric}")));
        }
    }
    Ok(())
}

/// The estimator of a name.
fn estimator(name: &str) -> Result<Estimator, Error> {
    let bad = |why| Error::Bad { what: "estimator", value: name.to_owned(), why };
    name.parse().map_err(|error: UnknownEstimator| bad(error.to_string()))
}
