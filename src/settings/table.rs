//! The settings: the flags of the command line and the keys of the table
//! `[package.metadata.cbdr]` (or `[workspace.metadata.cbdr]`) in `Cargo.toml`. Both
//! make a [`Table`], so that the layers lie over each other with one rule.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use clap::builder::{Resettable, Str};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::{Error, instead_of};
use super::origin::{Layer, Origins, ResolvedSetting, SettingOrigin};
use super::setting::{ONLY_AROUND, Role, Setting, TableKey, Written, plain, settings};
use super::values::{
    Allowed, Aslr, BenchFrom, CheckOutput, CodegenUnits, Confidence, Cpus, FailOn, Repetitions,
    SuiteChoice, Threshold, Time, Toolchain, Words,
};
use crate::model::dialect::Dialect;
use crate::model::estimator::Estimator;
use crate::model::gate::THRESHOLD;
use crate::model::layouts::Layouts;
use crate::model::shard::ShardBy;
use crate::model::side::Side;
use crate::model::target::{Target, TargetKind};
use flags::{BASE, FAILURE, LAYOUTS, POLICY, RUNS, SELECTION, SHARDS, SUITE};
use headings::{BENCHMARK, BUILD, DECIDING, MEASURING, SIDES, STOPPING};

/// The help headings.
#[expect(missing_docs, reason = "the names say it")]
pub mod headings {
    pub const SIDES: &str = "Sides";
    pub const BENCHMARK: &str = "Benchmark";
    pub const BUILD: &str = "Build";
    pub const DECIDING: &str = "Deciding";
    pub const STOPPING: &str = "Stopping";
    pub(crate) const MEASURING: &str = "Measuring";
}

/// Groups of flags that a command takes or not.
pub mod flags {
    /// What to compare with.
    pub const BASE: u8 = 1;
    /// What is run, and how it is built.
    pub const SELECTION: u8 = 2;
    /// What decides, and how long it may take.
    pub const POLICY: u8 = 4;
    /// What fails besides a regression.
    pub const FAILURE: u8 = 8;
    /// How runs are made and what surrounds them.
    pub const RUNS: u8 = 16;
    /// How many code layouts are compared.
    pub const LAYOUTS: u8 = 32;
    /// How a comparison is divided over several machines.
    pub const SHARDS: u8 = 64;
    /// What all benchmarks together have to pass.
    pub const SUITE: u8 = 128;
}

/// The group of keys without a flag.
const NO_FLAG: u8 = 0;

/// The keys that shape builds.
const BUILDS: [&str; 7] = [
    "build-command",
    "features",
    "all-features",
    "no-default-features",
    "profile",
    "codegen-units",
    "toolchain",
];

/// Clears the flag's long name: the argument is positional.
const POSITIONAL: Resettable<Str> = Resettable::Reset;

// In the order in which a table is written. Settings with a display order come first under
// their heading.
settings! {
    /// One layer of settings: a table in `Cargo.toml`, or the flags.
    pub struct Table {
        /// Branch, tag or commit to compare with [default: the pull request's
        /// target in CI, else origin/HEAD, main or master]
        "base" Selects base: String, BASE SIDES [.long(POSITIONAL).value_name("BASE")];

        /// Benchmark this package
        "package" Selects package: String, SELECTION BENCHMARK [.short('p')];

        /// Run this bench target
        "bench" Selects bench: String, SELECTION BENCHMARK [.group("target")];

        /// Run this binary target
        "bin" Selects bin: String, SELECTION BENCHMARK [.group("target")];

        /// Run this example target
        "example" Selects example: String, SELECTION BENCHMARK [.group("target")];

        /// Run this command in each side's package folder
        "command" Selects command: Written<Words>, SELECTION BENCHMARK [.group("target")];

        /// Build with this command before running --command
        "build-command" Shapes build_command: Written<Words>, SELECTION BENCHMARK [];

        /// Run the benchmark with this harness's arguments and parse its output;
        /// plain measures the process itself [default: detected in the executable
        /// of a bench target, else plain]
        "harness" Selects harness: Written<Dialect>, SELECTION BENCHMARK
            [.hide_possible_values(false)];

        /// Arguments for the benchmark
        "args" Selects args: Vec<String>, SELECTION BENCHMARK
            [.long(POSITIONAL).last(true).value_name("ARGS").num_args(1..)];

        /// Enable these features, separated by commas or spaces
        "features" Shapes features: Vec<String>, SELECTION BUILD
            [.short('F').value_name("FEATURES")];

        /// Enable all features
        "all-features" Shapes all_features: bool, SELECTION BUILD [];

        /// Do not enable the default features
        "no-default-features" Shapes no_default_features: bool, SELECTION BUILD [];

        /// Build with this profile [default: bench for bench targets, else release]
        "profile" Shapes profile: String, SELECTION BUILD [];

        /// Split each crate into N codegen units, or into as many as the profile
        /// does; auto: into one if far fewer benchmarks have to be measured then
        "codegen-units" Shapes codegen_units: Written<CodegenUnits> = CodegenUnits::Auto, SELECTION BUILD
            [];

        /// Build with this toolchain: head's, base's, each side's own, or a name
        "toolchain" Shapes toolchain: Written<Toolchain> = Toolchain::Of(Side::Head), SELECTION BUILD
            [];

        /// Run each side this many times first, unmeasured
        "warmup" Shapes warmup: u32 = 1, SELECTION STOPPING [];

        /// Stop a run that takes longer than this
        "run-timeout" Shapes run_timeout: Written<Time> = Time::minutes(10), SELECTION STOPPING [];

        /// Decide by these metrics [default: wall_time; with criterion and divan,
        /// median_time]
        "metrics" Gates metrics: Vec<String>, POLICY DECIDING
            [.long("metric").value_name("NAMES").value_delimiter(',').display_order(4)];

        /// Also measure and show these metrics, such as instructions_cachegrind or
        /// allocations
        "show" Informs show: Vec<String>, POLICY DECIDING
            [.value_name("NAMES").value_delimiter(',').display_order(5)];

        /// Allow changes up to this, for all metrics or for one; auto: up to what
        /// the noise of stored results allows
        "threshold" Gates threshold: Written<Allowed> = Allowed(Some(THRESHOLD)), POLICY DECIDING
            [.value_name("[METRIC=]PERCENT|auto").action(ArgAction::Append)
            .value_delimiter(',').display_order(1)];

        /// Allowed changes of single metrics, by the flag of threshold
        "thresholds" Gates thresholds: BTreeMap<String, Written<Allowed>>, NO_FLAG DECIDING [];

        /// Allowed changes of single benchmarks, by their names or patterns of them
        "benchmark" Gates benchmark: BTreeMap<String, WrittenBenchmark>, NO_FLAG DECIDING [];

        /// Also decide by the geometric mean of all benchmarks, or by their sum [default: off]
        "suite" Judges suite: Written<SuiteChoice>, SUITE DECIDING
            [.value_name("geomean|sum[=PERCENT]").display_order(2)];

        /// Warn about allowed changes that are larger than this [default: none]
        "warn" Gates warn: Written<Threshold>, POLICY DECIDING [.display_order(2)];

        /// Accepted slowdowns, always the head's
        "waivers" Informs waivers: Vec<WrittenWaiver>, NO_FLAG DECIDING [];

        /// Units and directions of metrics
        "units" Gates units: BTreeMap<String, WrittenUnit>, NO_FLAG DECIDING [];

        /// Decide with this confidence: 1 minus the probability of a wrong verdict
        "confidence" Judges confidence: Written<Confidence> = Confidence(0.95), POLICY DECIDING
            [.display_order(3)];

        /// Estimate the change with this estimator
        "estimator" Judges estimator: Written<Estimator> = Estimator::default(), POLICY DECIDING
            [.hide_possible_values(false)];

        /// Sample for at most this long
        "time-limit" Judges time_limit: Written<Time> = Time::minutes(5), POLICY STOPPING [];

        /// Measure at most N pairs
        "max-pairs" Judges max_pairs: u64, POLICY STOPPING [];

        /// Also fail (102) on these results, separated by commas; `none` clears the
        /// list in Cargo.toml [default: none]
        "fail-on" Judges fail_on: Vec<Written<FailOn>>, FAILURE DECIDING
            [.value_name("RESULTS").hide_possible_values(false)];

        /// Measure in N random layouts of code, data and heap; auto: only what
        /// looks slower without them; off: nothing
        "layouts" Judges layouts: Written<Layouts> = Layouts::Auto, LAYOUTS DECIDING [];

        /// Let --shard divide the benchmarks, or the pairs of all of them if there
        /// are fewer benchmarks than machines
        "shard-by" Judges shard_by: Written<ShardBy> = ShardBy::Benchmarks, SHARDS STOPPING [];

        /// Named benchmarks, each over the rest of the table
        "benchmarks" Selects benchmarks: BTreeMap<String, Table>, NO_FLAG DECIDING [];

        /// Make each measurement the mean of this many runs; auto: as many as the
        /// clock needs
        "repetitions" Shapes repetitions: Written<Repetitions> = Repetitions::Auto, RUNS MEASURING
            [];

        /// With --estimator min: take the smallest of N measurements [default: 5]
        "min-of" Shapes min_of: u32, RUNS MEASURING [];

        /// Randomise addresses; off: use the same addresses in every run
        "aslr" Shapes aslr: Written<Aslr> = Aslr::On, RUNS MEASURING [];

        /// Run on these processors only, such as 2, 0-3 or 0,2
        "cpu" Shapes cpu: Written<Cpus>, RUNS MEASURING [];

        /// Add this to the niceness of every run
        "nice" Shapes nice: i8, RUNS MEASURING [.allow_negative_numbers(true)];

        /// Read standard input from this file in each side's package folder
        /// [default: empty]
        "stdin" Shapes stdin: String, RUNS MEASURING [.value_name("FILE")];

        /// Run this command before each run, unmeasured, in each side's package
        /// folder
        "prepare" Shapes prepare: Written<Words>, RUNS MEASURING [];

        /// Run this command before the first run of each side
        "setup" Shapes setup: Written<Words>, RUNS MEASURING [];

        /// Run this command after the last run of each side
        "cleanup" Shapes cleanup: Written<Words>, RUNS MEASURING [];

        /// Compare what the two sides print; warn: report a difference; fail: exit
        /// with 100 [default: off; without a value: warn]
        "check-output" Gates check_output: Written<CheckOutput>, RUNS MEASURING
            [.num_args(0..=1).require_equals(true).default_missing_value("warn")];

        /// Build both sides with the benchmark sources of this side
        "bench-from" Selects bench_from: Written<BenchFrom> = BenchFrom::Each, RUNS MEASURING [];
    }
}

/// A slowdown that is accepted.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenWaiver {
    pub(crate) metric: String,
    /// The benchmark; else all.
    pub(crate) benchmark: Option<String>,
    /// The change up to which it passes.
    pub(crate) ceiling: Written<Threshold>,
    pub(crate) reason: String,
    /// The last day on which it counts, `2026-12-31`, in UTC.
    pub(crate) expires: String,
    pub(crate) issue: Option<String>,
}

/// What decides about a benchmark within a program.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenBenchmark {
    /// The largest change that passes, of the metrics without a threshold of their own.
    pub(crate) threshold: Written<Allowed>,
}

/// What the values of a metric are.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenUnit {
    /// The symbol of the unit.
    pub(crate) unit: Option<String>,
    /// `lower` or `higher`.
    pub(crate) better: Option<String>,
}

plain! {
    Vec<WrittenWaiver> {}
    BTreeMap<String, Table> {}
    BTreeMap<String, WrittenUnit> {
        fn over(self, low: Self) -> Self {
            low.into_iter().chain(self).collect()
        }
    }
    BTreeMap<String, WrittenBenchmark> {
        fn over(self, low: Self) -> Self {
            low.into_iter().chain(self).collect()
        }
    }
}

impl Setting for BTreeMap<String, Written<Allowed>> {
    type Value = BTreeMap<String, Allowed>;

    fn read(&self, _: &'static str) -> Result<Self::Value, Error> {
        self.iter().map(|(metric, text)| Ok((metric.clone(), text.read("threshold")?))).collect()
    }

    fn over(self, low: Self) -> Self {
        low.into_iter().chain(self).collect()
    }
}

/// The flags of some of the groups in [`flags`].
#[derive(Clone, Debug)]
pub struct Flags<const GROUPS: u8>(pub Table);

impl<const GROUPS: u8> Args for Flags<GROUPS> {
    fn augment_args(command: Command) -> Command {
        command.args(Table::flags(GROUPS))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const GROUPS: u8> FromArgMatches for Flags<GROUPS> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut table = Table::given(GROUPS, matches);
        if GROUPS & POLICY != 0 {
            // One flag for two keys.
            table.threshold = None;
            let given = matches.get_many::<Written<Allowed>>("threshold");
            table.set_thresholds(given.into_iter().flatten());
        }
        table.origins = Origins::of(&table.entries(), Layer::Flag);
        Ok(Flags(table))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|flags| *self = flags)
    }
}

/// A key with two values that differ; `None` stands for one that is not set.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeyDifference {
    pub(super) key: TableKey,
    pub(super) own: Option<Value>,
    pub(super) other: Option<Value>,
}

impl Table {
    /// The table `cbdr` in the `metadata` of a package or a workspace, if any.
    ///
    /// # Errors
    /// If a key does not exist, or a value has the wrong type.
    pub fn of_metadata(metadata: &Value, layer: Layer) -> Result<Option<Self>, Error> {
        let Some(table) = metadata.get("cbdr").filter(|table| !table.is_null()) else {
            return Ok(None);
        };
        let mut table = Table::parse(table, &format!("{layer}.metadata.cbdr"))?;
        table.origins = Origins::of(&table.entries(), layer);
        for named in table.benchmarks.iter_mut().flat_map(BTreeMap::values_mut) {
            named.origins = Origins::of(&named.entries(), Layer::Benchmark);
        }
        Ok(Some(table))
    }

    fn parse(value: &Value, name: &str) -> Result<Self, Error> {
        let bad = |why: String| Error::BadType { table: name.to_owned(), why };
        let entries = value.as_object().ok_or_else(|| bad("it is not a table".to_owned()))?;
        let names = || Table::KEYS.iter().map(|key| key.name);
        if let Some(key) = entries.keys().find(|key| names().all(|known| known != *key)) {
            let what = format!("unknown key `{key}` in [{name}]");
            return Err(Error::Unknown { what, hint: instead_of(key, names(), "the keys are") });
        }
        let named = value.get("benchmarks").and_then(Value::as_object);
        for (benchmark, value) in named.into_iter().flatten() {
            let (around, table) = (name, format!("{name}.benchmarks.{benchmark}"));
            if value.get("benchmarks").is_some() {
                let why = "a benchmark has no benchmarks of its own".to_owned();
                return Err(Error::BadType { table, why });
            }
            if let Some(key) = ONLY_AROUND.iter().find(|key| value.get(key).is_some()) {
                let why = format!("`{key}`: a comparison has only one; set it in [{around}]");
                return Err(Error::BadType { table, why });
            }
            Table::parse(value, &table)?;
        }
        for (key, value) in entries {
            // Key by key, so that the error can name the key.
            let one = Value::Object([(key.clone(), value.clone())].into_iter().collect());
            serde_json::from_value::<Table>(one)
                .map_err(|error| bad(format!("`{key}`: {}", super::error::type_error(&error))))?;
        }
        let table: Table =
            serde_json::from_value(value.clone()).map_err(|error| bad(error.to_string()))?;
        if table.targets() > 1 {
            return Err(Error::TwoTargets(name.to_owned()));
        }
        Ok(table)
    }

    /// What this layer sets, in the order of the keys.
    pub fn entries(&self) -> Vec<(&'static str, Value)> {
        let mut values = serde_json::to_value(self).unwrap_or_default();
        let entry = |key: &TableKey| Some((key.name, values.get_mut(key.name)?.take()));
        Table::KEYS.iter().filter_map(entry).filter(|(_, value)| !value.is_null()).collect()
    }

    /// What is in force of the keys that a comparison has only once, if all layers are merged
    /// into this one.
    pub(crate) fn common_settings(&self) -> Vec<ResolvedSetting> {
        self.resolved(TableKey::is_common)
    }

    /// What is in force of the keys that each benchmark has.
    pub(crate) fn own_settings(&self) -> Vec<ResolvedSetting> {
        self.resolved(|key| !key.is_common())
    }

    /// What is set of some keys, else the defaults, without named benchmarks and waivers.
    fn resolved(&self, is_included: fn(TableKey) -> bool) -> Vec<ResolvedSetting> {
        let (set, defaults) = (BTreeMap::from_iter(self.entries()), Table::defaults());
        let mut resolved = Vec::new();
        let keys = Table::KEYS.iter().filter(|key| is_included(**key)).map(|key| key.name);
        for key in keys.filter(|key| !["benchmarks", "waivers"].contains(key)) {
            let mut add = |key: String, value: Value| {
                let SettingOrigin { layer, side } = self.origins.get(&key);
                resolved.push(ResolvedSetting { key, value, layer, side });
            };
            match (set.get(key), defaults.get(key)) {
                (Some(Value::Object(metrics)), _) => {
                    for (metric, value) in metrics {
                        add(format!("{key}.{metric}"), value.clone());
                    }
                }
                (Some(value), _) => add(key.to_owned(), value.clone()),
                (None, Some(text)) => {
                    let number = text.parse::<u64>().map(Value::from);
                    add(key.to_owned(), number.unwrap_or_else(|_| text.as_str().into()));
                }
                (None, None) => {}
            }
        }
        resolved
    }

    /// Sets the thresholds of flags: `2%` is that of all metrics, `METRIC=5%` of one.
    pub fn set_thresholds<'a>(&mut self, flags: impl IntoIterator<Item = &'a Written<Allowed>>) {
        for flag in flags {
            match flag.text().split_once('=') {
                Some((metric, threshold)) => {
                    let thresholds = self.thresholds.get_or_insert_default();
                    thresholds.insert(metric.trim().to_owned(), threshold.into());
                }
                None => self.threshold = Some(flag.clone()),
            }
        }
    }

    /// This layer over a lower one. A target chosen here clears the lower
    /// layer's choice, and its named benchmarks.
    #[must_use]
    pub(crate) fn over(self, mut low: Table) -> Table {
        if self.targets() > 0 {
            (low.bench, low.bin, low.example) = (None, None, None);
            (low.command, low.benchmarks) = (None, None);
        }
        if self.named_targets().next().is_some() {
            // It built what that command ran.
            low.build_command = None;
        }
        self.each_over(low)
    }

    /// The keys that determine what is built or called, and not only how it is measured.
    pub fn building_keys() -> impl Iterator<Item = &'static str> {
        let builds = |key: &&TableKey| key.role == Role::Selects || BUILDS.contains(&key.name);
        Table::KEYS.iter().filter(builds).map(|key| key.name)
    }

    /// The targets that are named.
    pub(super) fn named_targets(&self) -> impl Iterator<Item = Target> {
        let names = TargetKind::ALL.into_iter().zip([&self.bench, &self.bin, &self.example]);
        names.filter_map(|(kind, name)| Some(Target { kind, name: name.clone()? }))
    }

    /// How many targets are chosen, with a command.
    pub(crate) fn targets(&self) -> usize {
        self.named_targets().count() + usize::from(self.command.is_some())
    }

    /// The named benchmarks, each over this table.
    pub fn named(&self) -> Vec<(String, Table)> {
        let rest = Table { benchmarks: None, ..self.clone() };
        let named = self.benchmarks.iter().flatten();
        named.map(|(name, table)| (name.clone(), table.clone().over(rest.clone()))).collect()
    }

    /// The keys that this table and `other` set differently.
    pub(super) fn differences(&self, other: &Table) -> Vec<KeyDifference> {
        let [own, other] = [self, other].map(|table| -> BTreeMap<&str, Value> {
            table.entries().into_iter().filter(|(_, value)| is_set(value)).collect()
        });
        let difference = |key: &TableKey| {
            let (own, other) = (own.get(key.name).cloned(), other.get(key.name).cloned());
            KeyDifference { key: *key, own, other }
        };
        Table::KEYS.iter().map(difference).filter(|found| found.own != found.other).collect()
    }
}

/// The same settings of a pack: what differs from the defaults was set when it was made.
pub(crate) fn of_pack(mut settings: Vec<ResolvedSetting>) -> Vec<ResolvedSetting> {
    let defaults = Table::defaults();
    for ResolvedSetting { key, value, layer, .. } in &mut settings {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if *layer == Layer::Default && defaults.get(key.as_str()) != Some(&text) {
            *layer = Layer::Pack;
        }
    }
    settings
}

/// Whether a value differs from an unset key.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}
