//! The settings: the flags of the command line and the keys of the table
//! `[package.metadata.cbdr]` (or `[workspace.metadata.cbdr]`) in `Cargo.toml`. Both
//! make a [`Table`], so that the layers lie over each other with one rule.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use clap::{ArgAction, ArgMatches, Args, FromArgMatches};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::options::Error;
use super::setting::{Key, Role, Setting, Switch, Written, settings};
use super::values::{
    Aslr, BenchFrom, Confidence, PageCache, Repetitions, Threshold, Time, Toolchain, Words,
};
use crate::model::dialect::Dialect;
use crate::model::estimator::Estimator;
use crate::model::outcome::OnDoubt;
use crate::model::side::Side;

use headings::{BENCHMARK, BUILD, DECIDING, MEASURING, SIDES, STOPPING};

/// What options stand under in the help.
#[expect(missing_docs, reason = "the names say it")]
pub mod headings {
    pub const SIDES: &str = "Sides";
    pub const BENCHMARK: &str = "Benchmark";
    pub const BUILD: &str = "Build";
    pub const DECIDING: &str = "Deciding";
    pub const STOPPING: &str = "Stopping";
    pub const MEASURING: &str = "Measuring";
}

/// What is wrong with a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A key that does not exist.
    #[error("unknown key `{key}` in [{table}]")]
    UnknownKey {
        /// The key.
        key: String,
        /// The table.
        table: String,
        /// The key that it resembles.
        nearest: Option<String>,
    },
    /// A key that exists, with a value that does not fit.
    #[error("bad value in [{table}]: {why}")]
    BadValue {
        /// The table.
        table: String,
        /// What is wrong.
        why: String,
    },
    /// Two keys that exclude each other.
    #[error("[{table}] names more than one of `bench`, `bin`, `example` and `command`")]
    TwoTargets {
        /// The table.
        table: String,
    },
}

impl TableError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            TableError::UnknownKey { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`?"))
            }
            TableError::UnknownKey { .. } => Some(format!(
                "the keys are {}",
                Table::keys().map(|key| key.name).collect::<Vec<_>>().join(", ")
            )),
            TableError::BadValue { .. } => None,
            TableError::TwoTargets { .. } => Some("keep one of them".to_owned()),
        }
    }
}

settings! {
    /// What is run, and how it is built.
    pub struct Selection {
        /// Package of the benchmark
        "package" Selects package: Option<String>,
            arg(short, long, value_name = "NAME", help_heading = BENCHMARK);

        /// Run this bench target
        "bench" Selects bench: Option<String>,
            arg(long, value_name = "NAME", group = "target", help_heading = BENCHMARK);

        /// Run this binary target
        "bin" Selects bin: Option<String>,
            arg(long, value_name = "NAME", group = "target", help_heading = BENCHMARK);

        /// Run this example target
        "example" Selects example: Option<String>,
            arg(long, value_name = "NAME", group = "target", help_heading = BENCHMARK);

        /// Run any command, in the package's folder of either side
        "command" Selects command: Option<Written<Words>>,
            arg(long, value_name = "CMD", group = "target", help_heading = BENCHMARK);

        /// Build with this command before running --command
        "build-command" Shapes build_command: Option<Written<Words>>,
            arg(long, value_name = "CMD", help_heading = BENCHMARK);

        /// How a run is called and read: plain (the process itself is the
        /// measurement), json, criterion, divan or libtest [default: what the
        /// executable of a bench target shows, else plain]
        "harness" Selects harness: Option<Written<Dialect>>,
            arg(long, value_name = "NAME", help_heading = BENCHMARK);

        /// Arguments of the benchmark
        "args" Selects args: Option<Vec<String>>,
            arg(last = true, value_name = "ARGS", help_heading = BENCHMARK);

        /// Features to enable, separated by commas or spaces
        "features" Shapes features: Option<Vec<String>>,
            arg(short = 'F', long, value_name = "FEATURES", help_heading = BUILD);

        /// Enable all features
        "all-features" Shapes all_features: Switch,
            arg(long, action = ArgAction::SetTrue, help_heading = BUILD);

        /// Leave out the default features
        "no-default-features" Shapes no_default_features: Switch,
            arg(long, action = ArgAction::SetTrue, help_heading = BUILD);

        /// Profile to build with [default: bench for bench targets, else release]
        "profile" Shapes profile: Option<String>,
            arg(long, value_name = "NAME", help_heading = BUILD);

        /// Toolchain for both sides: head's, base's, each side's own, or a name
        "toolchain" Shapes toolchain: Option<Written<Toolchain>> = Toolchain::Of(Side::Head),
            arg(long, value_name = "head|base|each|NAME", help_heading = BUILD);

        /// Unmeasured runs of each side that come first
        "warmup" Shapes warmup: Option<u32> = 1,
            arg(long, value_name = "N", help_heading = STOPPING);

        /// How long one run may take
        "run-timeout" Shapes run_timeout: Option<Written<Time>> = Time::minutes(10),
            arg(long, value_name = "TIME", help_heading = STOPPING);
    }
}

// What is measured stands before its thresholds in a table, but behind them in the
// help: settings with a number come first there.
settings! {
    /// What is measured.
    pub struct Metrics {
        /// Metrics that decide [default: wall_time]
        "metrics" Gates gating: Option<Vec<String>>,
            arg(long = "metric", value_name = "NAMES", value_delimiter = ',', display_order = 4,
                help_heading = DECIDING);

        /// Metrics to measure and show besides, such as instructions or
        /// instructions_cachegrind
        "show" Informs shown: Option<Vec<String>>,
            arg(long = "show", value_name = "NAMES", value_delimiter = ',', display_order = 5,
                help_heading = DECIDING);
    }
}

settings! {
    /// What decides, and how long it may take.
    pub struct Deciding {
        /// Change from which on there is a warning, below the threshold [default:
        /// none]
        "warn" Gates warn: Option<Written<Threshold>>,
            arg(long, value_name = "PERCENT", display_order = 2, help_heading = DECIDING);

        /// Confidence of the verdict, 1 minus the chance that it is wrong
        "confidence" Judges confidence: Option<Written<Confidence>> = Confidence(0.95),
            arg(long, value_name = "PERCENT", display_order = 3, help_heading = DECIDING);

        /// How the change is estimated: robust, mean, geometric-mean, median or min
        "estimator" Judges estimator: Option<Written<Estimator>> = Estimator::default(),
            arg(long, value_name = "NAME", help_heading = DECIDING);

        /// How long sampling may take
        "time-limit" Judges time_limit: Option<Written<Time>> = Time::minutes(5),
            arg(long, value_name = "TIME", help_heading = STOPPING);

        /// How many pairs there may be
        "max-pairs" Judges max_pairs: Option<u64>,
            arg(long, value_name = "N", help_heading = STOPPING);
    }
}

settings! {
    /// What answers that are neither yes nor no do to the exit code.
    pub struct Doubt {
        /// Exit code of an inconclusive comparison: 0 or 102
        "on-inconclusive" Judges on_inconclusive: Option<Written<OnDoubt>> = OnDoubt::Pass,
            arg(long, value_name = "pass|fail", help_heading = DECIDING);

        /// Exit code when the base lacks the benchmark or does not build
        "on-no-baseline" Judges on_no_baseline: Option<Written<OnDoubt>> = OnDoubt::Pass,
            arg(long, value_name = "pass|fail", help_heading = DECIDING);

        /// Exit code when what gates on the base is not measured on the head, and
        /// all else would be 0
        "on-removed" Judges on_removed: Option<Written<OnDoubt>> = OnDoubt::Pass,
            arg(long, value_name = "pass|fail", help_heading = DECIDING);
    }
}

settings! {
    /// How runs are made and what surrounds them.
    pub struct Runs {
        /// How many runs make a measurement; auto: as many as the clock needs
        "repetitions" Shapes repetitions: Option<Written<Repetitions>> = Repetitions::Auto,
            arg(long, value_name = "auto|N", help_heading = MEASURING);

        /// Of how many measurements --estimator min takes the least [default: 5]
        "min-of" Shapes min_of: Option<u32>,
            arg(long, value_name = "N", help_heading = MEASURING);

        /// Address randomisation; off: every run has the same addresses
        "aslr" Shapes aslr: Option<Written<Aslr>> = Aslr::On,
            arg(long, value_name = "on|off", help_heading = MEASURING);

        /// Run on this processor only
        "cpu" Shapes cpu: Option<u16>,
            arg(long, value_name = "N", help_heading = MEASURING);

        /// Be so much nicer to other programs, or less where it may be
        "nice" Shapes nice: Option<i8>,
            arg(long, value_name = "N", allow_negative_numbers = true, help_heading = MEASURING);

        /// Standard input of every run, a file in the package's folder of either
        /// side [default: empty]
        "stdin" Shapes stdin: Option<String>,
            arg(long, value_name = "FILE", help_heading = MEASURING);

        /// Bring the executable and the input into the page cache before each
        /// run, or out of it [default: leave it alone]
        "page-cache" Shapes page_cache: Option<Written<PageCache>>,
            arg(long, value_name = "warm|cold", help_heading = MEASURING);

        /// The same for this file in the package's folder of either side
        "page-cache-files" Shapes page_cache_files: Option<Vec<String>>,
            arg(long = "page-cache-file", value_name = "FILE", help_heading = MEASURING);

        /// Before each run do this, unmeasured, in the package's folder of either
        /// side
        "prepare" Shapes prepare: Option<Written<Words>>,
            arg(long, value_name = "CMD", help_heading = MEASURING);

        /// The same before the first run of either side
        "setup" Shapes setup: Option<Written<Words>>,
            arg(long, value_name = "CMD", help_heading = MEASURING);

        /// The same after the last run of either side
        "cleanup" Shapes cleanup: Option<Written<Words>>,
            arg(long, value_name = "CMD", help_heading = MEASURING);

        /// Compare what the two sides print to standard output
        "check-output" Shapes check_output: Switch,
            arg(long, action = ArgAction::SetTrue, help_heading = MEASURING);

        /// Build both sides with the benchmark sources of one
        "bench-from" Selects bench_from: Option<Written<BenchFrom>> = BenchFrom::Each,
            arg(long, value_name = "each|head|base", help_heading = MEASURING);
    }
}

/// The largest changes that pass: two keys, which one flag sets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Thresholds {
    /// Of the metrics that have none of their own.
    #[serde(rename = "threshold")]
    pub common: Option<Written<Threshold>>,
    /// Of single metrics.
    #[serde(rename = "thresholds")]
    pub own: Option<BTreeMap<String, Written<Threshold>>>,
}

impl Thresholds {
    const KEYS: &[Key] = &[
        Key { name: "threshold", role: Role::Gates },
        Key { name: "thresholds", role: Role::Gates },
    ];

    /// That of a metric of which nothing is said.
    pub const DEFAULT: Threshold = Threshold(0.02);

    /// Those of flags: `2%` for all metrics, `METRIC=5%` for one.
    pub fn of_flags<'a>(flags: impl IntoIterator<Item = &'a String>) -> Self {
        let mut thresholds = Thresholds::default();
        for flag in flags {
            match flag.split_once('=') {
                Some((metric, text)) => {
                    let own = thresholds.own.get_or_insert_default();
                    own.insert(metric.trim().to_owned(), text.into());
                }
                None => thresholds.common = Some(flag.as_str().into()),
            }
        }
        thresholds
    }

    /// Whether any is set.
    pub fn is_set(&self) -> bool {
        self.common.is_some() || self.own.is_some()
    }

    /// That of the metrics that have none of their own.
    ///
    /// # Errors
    /// When its text is no percentage.
    pub(super) fn common(&self) -> Result<Threshold, Error> {
        Ok(self.common.read("threshold")?.unwrap_or(Thresholds::DEFAULT))
    }

    /// Those of single metrics.
    ///
    /// # Errors
    /// When the text of one is no percentage.
    pub(super) fn own(&self) -> Result<BTreeMap<String, Threshold>, Error> {
        let own = self.own.iter().flatten();
        own.map(|(metric, text)| Ok((metric.clone(), text.read("threshold")?))).collect()
    }

    fn over(self, low: Self) -> Self {
        Thresholds { common: self.common.or(low.common), own: joined(self.own, low.own) }
    }
}

impl Args for Thresholds {
    fn augment_args(command: clap::Command) -> clap::Command {
        let help = "Largest change that passes, of all metrics or of one";
        command.arg(
            clap::Arg::new("threshold")
                .long("threshold")
                .value_name("[METRIC=]PERCENT")
                .action(ArgAction::Append)
                .help(format!("{help} [default: {}]", Thresholds::DEFAULT))
                .display_order(1)
                .help_heading(DECIDING),
        )
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Thresholds {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Thresholds::of_flags(matches.get_many("threshold").into_iter().flatten()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Thresholds::from_arg_matches(matches)?.over(std::mem::take(self));
        Ok(())
    }
}

/// One layer of settings: a table in `Cargo.toml`, or the flags.
#[derive(Clone, Debug, Default, PartialEq, Args, Deserialize, Serialize)]
#[serde(default)]
pub struct Table {
    /// Branch, tag or commit to compare with [default: the pull request's
    /// target in CI, else origin/HEAD, main or master]
    #[arg(help_heading = SIDES)]
    pub base: Option<String>,
    /// What is run, and how it is built.
    #[command(flatten)]
    #[serde(flatten)]
    pub selection: Selection,
    /// What is measured.
    #[command(flatten)]
    #[serde(flatten)]
    pub metrics: Metrics,
    /// The largest changes that pass.
    #[command(flatten)]
    #[serde(flatten)]
    pub thresholds: Thresholds,
    /// What decides, and how long it may take.
    #[command(flatten)]
    #[serde(flatten)]
    pub deciding: Deciding,
    /// What answers that are neither yes nor no do to the exit code.
    #[command(flatten)]
    #[serde(flatten)]
    pub doubt: Doubt,
    /// How runs are made and what surrounds them.
    #[command(flatten)]
    #[serde(flatten)]
    pub runs: Runs,
    /// Units and directions of metrics.
    #[arg(skip)]
    pub units: Option<BTreeMap<String, Scale>>,
    /// Accepted slowdowns. Always the head's.
    #[arg(skip)]
    pub waivers: Option<Vec<Waiver>>,
    /// Named benchmarks, each over the rest of this table.
    #[arg(skip)]
    pub benchmarks: Option<BTreeMap<String, Table>>,
}

/// The keys of [`Table`] that are in none of its groups; the first stands before
/// those, the others behind.
const BASE: &[Key] = &[Key { name: "base", role: Role::Selects }];
const REST: &[Key] = &[
    Key { name: "units", role: Role::Gates },
    Key { name: "waivers", role: Role::Informs },
    Key { name: "benchmarks", role: Role::Selects },
];

/// A slowdown that is accepted.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// The metric.
    pub metric: String,
    /// The benchmark; else all.
    pub benchmark: Option<String>,
    /// The change up to which it passes.
    pub ceiling: Written<Threshold>,
    /// Why.
    pub reason: String,
    /// The last day on which it counts, `2026-12-31`, in UTC.
    pub expires: String,
    /// Where it is discussed.
    pub issue: Option<String>,
}

/// What the values of a metric are.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// The symbol of the unit.
    pub unit: Option<String>,
    /// `lower` or `higher`.
    pub better: Option<String>,
}

/// A key with two values that differ; `None` stands for one that is not set.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) key: Key,
    pub(super) own: Option<Value>,
    pub(super) other: Option<Value>,
}

impl Table {
    /// The keys, in the order in which they are declared.
    pub(super) fn keys() -> impl Iterator<Item = &'static Key> {
        let groups = [
            BASE,
            Selection::KEYS,
            Metrics::KEYS,
            Thresholds::KEYS,
            Deciding::KEYS,
            Doubt::KEYS,
            Runs::KEYS,
            REST,
        ];
        groups.into_iter().flatten()
    }

    /// The table `cbdr` in `metadata`; `place` is what it is called in errors.
    /// `None` when there is none.
    ///
    /// # Errors
    /// When a key or the type of a value is not what it may be.
    pub fn of_metadata(metadata: &Value, place: &str) -> Result<Option<Self>, TableError> {
        match metadata.get("cbdr") {
            None | Some(Value::Null) => Ok(None),
            Some(table) => Table::parse(table, &format!("{place}.metadata.cbdr")).map(Some),
        }
    }

    fn parse(value: &Value, place: &str) -> Result<Self, TableError> {
        let bad = |why: String| TableError::BadValue { table: place.to_owned(), why };
        let entries = value.as_object().ok_or_else(|| bad("it is not a table".to_owned()))?;
        let names = || Table::keys().map(|key| key.name);
        if let Some(key) = entries.keys().find(|key| names().all(|known| known != *key)) {
            return Err(TableError::UnknownKey {
                key: key.clone(),
                table: place.to_owned(),
                nearest: nearest(key, names()).map(str::to_owned),
            });
        }
        let named = value.get("benchmarks").and_then(Value::as_object);
        for (name, value) in named.into_iter().flatten() {
            let place = format!("{place}.benchmarks.{name}");
            if value.get("benchmarks").is_some() {
                let why = "a benchmark has no benchmarks of its own".to_owned();
                return Err(TableError::BadValue { table: place, why });
            }
            Table::parse(value, &place)?;
        }
        for (key, value) in entries {
            // Key by key, so that the error can name it.
            let one = Value::Object([(key.clone(), value.clone())].into_iter().collect());
            serde_json::from_value::<Table>(one)
                .map_err(|error| bad(format!("`{key}`: {error}")))?;
        }
        let table: Table =
            serde_json::from_value(value.clone()).map_err(|error| bad(error.to_string()))?;
        if table.selection.targets() > 1 {
            return Err(TableError::TwoTargets { table: place.to_owned() });
        }
        Ok(table)
    }

    /// What this layer sets, in the order of the keys.
    pub fn entries(&self) -> Vec<(&'static str, Value)> {
        let mut values = serde_json::to_value(self).unwrap_or_default();
        let entry = |key: &Key| Some((key.name, values.get_mut(key.name)?.take()));
        Table::keys().filter_map(entry).filter(|(_, value)| !value.is_null()).collect()
    }

    /// Reads the values of this layer alone.
    ///
    /// # Errors
    /// When the text of one means nothing.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.selection.check()?;
        self.metrics.check()?;
        self.thresholds.common()?;
        self.thresholds.own()?;
        self.deciding.check()?;
        self.doubt.check()?;
        self.runs.check()
    }

    /// This layer over a lower one. A target chosen here clears the lower
    /// layer's choice.
    #[must_use]
    pub fn over(self, mut low: Table) -> Table {
        if self.selection.targets() > 0 {
            low.selection.bench = None;
            low.selection.bin = None;
            low.selection.example = None;
            low.selection.command = None;
        }
        Table {
            base: self.base.or(low.base),
            selection: self.selection.over(low.selection),
            metrics: self.metrics.over(low.metrics),
            thresholds: self.thresholds.over(low.thresholds),
            deciding: self.deciding.over(low.deciding),
            doubt: self.doubt.over(low.doubt),
            runs: self.runs.over(low.runs),
            units: joined(self.units, low.units),
            waivers: self.waivers.or(low.waivers),
            benchmarks: self.benchmarks.or(low.benchmarks),
        }
    }

    /// The named benchmarks, each over this table.
    pub fn named(&self) -> Vec<(String, Table)> {
        let rest = Table { benchmarks: None, ..self.clone() };
        let named = self.benchmarks.iter().flatten();
        named.map(|(name, table)| (name.clone(), table.clone().over(rest.clone()))).collect()
    }

    /// This table with the keys of some roles taken from `other`.
    #[must_use]
    pub(super) fn with(self, is_taken: fn(Role) -> bool, other: &Table) -> Table {
        let other = other.clone();
        Table {
            selection: self.selection.with(is_taken, other.selection),
            metrics: self.metrics.with(is_taken, other.metrics),
            thresholds: if is_taken(Role::Gates) { other.thresholds } else { self.thresholds },
            deciding: self.deciding.with(is_taken, other.deciding),
            doubt: self.doubt.with(is_taken, other.doubt),
            runs: self.runs.with(is_taken, other.runs),
            units: if is_taken(Role::Gates) { other.units } else { self.units },
            ..self
        }
    }

    /// The keys that this table and `other` set differently.
    pub(super) fn differences(&self, other: &Table) -> Vec<Difference> {
        let [own, other] = [self, other].map(|table| -> BTreeMap<&str, Value> {
            table.entries().into_iter().filter(|(_, value)| says_something(value)).collect()
        });
        let difference = |key: &Key| {
            let (own, other) = (own.get(key.name).cloned(), other.get(key.name).cloned());
            Difference { key: *key, own, other }
        };
        Table::keys().map(difference).filter(|found| found.own != found.other).collect()
    }
}

impl Selection {
    /// How many targets are chosen.
    pub(crate) fn targets(&self) -> usize {
        let named = [&self.bench, &self.bin, &self.example].map(Option::is_some);
        named.into_iter().chain([self.command.is_some()]).filter(|is_set| *is_set).count()
    }
}

/// The entries of two layers, of which the higher one's count.
fn joined<T>(
    high: Option<BTreeMap<String, T>>,
    low: Option<BTreeMap<String, T>>,
) -> Option<BTreeMap<String, T>> {
    match (high, low) {
        (Some(high), Some(mut low)) => {
            low.extend(high);
            Some(low)
        }
        (high, low) => high.or(low),
    }
}

/// Whether a value says anything that a key which is not set does not.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// The one of `names` that `word` most resembles, if it resembles any.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = names.into_iter().map(|name| (strsim::jaro_winkler(word, name), name));
    let best = scored.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (best.0 > 0.75).then_some(best.1)
}
