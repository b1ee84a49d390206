//! The table `[package.metadata.cbdr]` (or `[workspace.metadata.cbdr]`) in
//! `Cargo.toml`, in the words of the options. The command line makes the same
//! [`Table`], so that the layers lie over each other with one rule.

mod measuring;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use measuring::{Count, Measuring};

/// What is wrong with a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
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

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::UnknownKey { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`?"))
            }
            Error::UnknownKey { .. } => {
                Some(format!("the keys are {}", keys().collect::<Vec<_>>().join(", ")))
            }
            Error::BadValue { .. } => None,
            Error::TwoTargets { .. } => Some("keep one of them".to_owned()),
        }
    }
}

/// One layer of settings: what it leaves open is `None`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Table {
    /// What to compare with.
    pub base: Option<String>,
    /// The package of the benchmark.
    pub package: Option<String>,
    /// A `[[bench]]` target.
    pub bench: Option<String>,
    /// A `[[bin]]` target.
    pub bin: Option<String>,
    /// An `[[example]]` target.
    pub example: Option<String>,
    /// Any program instead.
    pub command: Option<String>,
    /// What builds that program.
    pub build_command: Option<String>,
    /// How a run is called and read.
    pub harness: Option<String>,
    /// Arguments of the benchmark.
    pub args: Option<Vec<String>>,
    /// Features to enable.
    pub features: Option<Vec<String>>,
    /// Enable all features.
    pub all_features: Option<bool>,
    /// Leave out the default features.
    pub no_default_features: Option<bool>,
    /// The profile to build with.
    pub profile: Option<String>,
    /// `head`, `base`, `each` or a toolchain's name.
    pub toolchain: Option<String>,
    /// The metrics that gate.
    pub metrics: Option<Vec<String>>,
    /// The metrics that are measured and shown besides.
    pub show: Option<Vec<String>>,
    /// The largest change that passes.
    pub threshold: Option<String>,
    /// The same for single metrics.
    pub thresholds: Option<BTreeMap<String, String>>,
    /// The change from which on there is a warning.
    pub warn: Option<String>,
    /// Accepted slowdowns. Always the head's.
    pub waivers: Option<Vec<Waiver>>,
    /// Units and directions of metrics.
    pub units: Option<BTreeMap<String, Scale>>,
    /// 1 minus the chance of a wrong verdict.
    pub confidence: Option<String>,
    /// How a change is estimated.
    pub estimator: Option<String>,
    /// How long sampling may take.
    pub time_limit: Option<String>,
    /// How many pairs there may be.
    pub max_pairs: Option<u64>,
    /// How many runs of each side come first, unmeasured.
    pub warmup: Option<u32>,
    /// How long one run may take.
    pub run_timeout: Option<String>,
    /// What an open question does to the exit code.
    pub on_inconclusive: Option<String>,
    /// What a missing base does to the exit code.
    pub on_no_baseline: Option<String>,
    /// What does to the exit code that the head lacks what gates on the base.
    pub on_removed: Option<String>,
    /// How a run is made and what surrounds it.
    #[serde(flatten)]
    pub measuring: Measuring,
    /// Named benchmarks, each over the rest of this table.
    pub benchmarks: Option<BTreeMap<String, Table>>,
}

/// A slowdown that is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// The metric.
    pub metric: String,
    /// The benchmark; else all.
    pub benchmark: Option<String>,
    /// The change up to which it passes.
    pub ceiling: String,
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

/// All keys of [`Table`]; a test holds the two together.
fn keys() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter().chain(measuring::KEYS)
}

/// Its own.
const KEYS: [&str; 31] = [
    "base",
    "package",
    "bench",
    "bin",
    "example",
    "command",
    "build-command",
    "harness",
    "args",
    "features",
    "all-features",
    "no-default-features",
    "profile",
    "toolchain",
    "metrics",
    "show",
    "threshold",
    "thresholds",
    "warn",
    "waivers",
    "units",
    "confidence",
    "estimator",
    "time-limit",
    "max-pairs",
    "warmup",
    "run-timeout",
    "on-inconclusive",
    "on-no-baseline",
    "on-removed",
    "benchmarks",
];

/// Writes a field's value over with the higher layer's, where it has one.
macro_rules! over {
    ($high:ident, $low:ident, $($field:ident),+ $(,)?) => {
        Table { measuring: $high.measuring.over($low.measuring), $($field: $high.$field.or($low.$field)),+ }
    };
}

/// The keys that decide: taken from the base's table, so that a branch can't
/// loosen its own gate.
const POLICY: [&str; 12] = [
    "threshold",
    "thresholds",
    "warn",
    "units",
    "metrics",
    "confidence",
    "estimator",
    "time-limit",
    "max-pairs",
    "on-inconclusive",
    "on-no-baseline",
    "on-removed",
];

/// The keys that neither decide nor say what is run: metrics that are only shown
/// change no verdict, every waiver that is new on the head has a notice of its own,
/// and the named benchmarks are compared one by one, by their own keys.
const NEITHER: [&str; 3] = ["show", "waivers", "benchmarks"];

/// A key with two values that differ; `None` stands for one that is not set.
pub type Difference = (&'static str, Option<Value>, Option<Value>);

impl Table {
    /// The table `cbdr` in `metadata`; `place` is what it is called in errors.
    /// `None` when there is none.
    ///
    /// # Errors
    /// When a key or a value is not what it may be.
    pub fn of_metadata(metadata: &Value, place: &str) -> Result<Option<Self>, Error> {
        match metadata.get("cbdr") {
            None | Some(Value::Null) => Ok(None),
            Some(table) => Table::parse(table, &format!("{place}.metadata.cbdr")).map(Some),
        }
    }

    fn parse(value: &Value, place: &str) -> Result<Self, Error> {
        let bad = |why: String| Error::BadValue { table: place.to_owned(), why };
        let entries = value.as_object().ok_or_else(|| bad("it is not a table".to_owned()))?;
        for key in entries.keys() {
            if !keys().any(|known| known == key) {
                let nearest = nearest(key, keys()).map(str::to_owned);
                let table = place.to_owned();
                return Err(Error::UnknownKey { key: key.clone(), table, nearest });
            }
        }
        for (name, value) in
            value.get("benchmarks").and_then(Value::as_object).into_iter().flatten()
        {
            let place = format!("{place}.benchmarks.{name}");
            if value.get("benchmarks").is_some() {
                let why = "a benchmark has no benchmarks of its own".to_owned();
                return Err(Error::BadValue { table: place, why });
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
        if table.targets() > 1 {
            return Err(Error::TwoTargets { table: place.to_owned() });
        }
        Ok(table)
    }

    /// What this layer sets, in the order of the keys.
    pub fn entries(&self) -> Vec<(&'static str, Value)> {
        let whole = serde_json::to_value(self).unwrap_or_default();
        let value = |key: &'static str| Some((key, whole.get(key)?.clone()));
        keys().filter_map(value).filter(|(_, value)| !value.is_null()).collect()
    }

    fn targets(&self) -> usize {
        let named = [&self.bench, &self.bin, &self.example, &self.command];
        named.iter().filter(|target| target.is_some()).count()
    }

    /// This layer over a lower one. A target chosen here clears the lower
    /// layer's choice.
    #[must_use]
    pub fn over(self, mut low: Table) -> Table {
        if self.targets() > 0 {
            (low.bench, low.bin, low.example, low.command) = (None, None, None, None);
        }
        let mut thresholds = low.thresholds.take();
        if let Some(own) = self.thresholds.clone() {
            thresholds.get_or_insert_default().extend(own);
        }
        let mut units = low.units.take();
        if let Some(own) = self.units.clone() {
            units.get_or_insert_default().extend(own);
        }
        let high = Table { thresholds, units, ..self };
        over!(
            high,
            low,
            base,
            package,
            bench,
            bin,
            example,
            command,
            build_command,
            harness,
            args,
            features,
            all_features,
            no_default_features,
            profile,
            toolchain,
            metrics,
            show,
            threshold,
            thresholds,
            warn,
            waivers,
            units,
            confidence,
            estimator,
            time_limit,
            max_pairs,
            warmup,
            run_timeout,
            on_inconclusive,
            on_no_baseline,
            on_removed,
            benchmarks,
        )
    }

    /// The named benchmarks, each over this table.
    pub fn named(&self) -> Vec<(String, Table)> {
        let rest = Table { benchmarks: None, ..self.clone() };
        let named = self.benchmarks.iter().flatten();
        named.map(|(name, table)| (name.clone(), table.clone().over(rest.clone()))).collect()
    }

    /// This table with everything that decides taken from `base`.
    #[must_use]
    pub(crate) fn with_policy_of(self, base: &Table) -> Table {
        let base = base.clone();
        Table {
            threshold: base.threshold,
            thresholds: base.thresholds,
            warn: base.warn,
            units: base.units,
            metrics: base.metrics,
            confidence: base.confidence,
            estimator: base.estimator,
            time_limit: base.time_limit,
            max_pairs: base.max_pairs,
            on_inconclusive: base.on_inconclusive,
            on_no_baseline: base.on_no_baseline,
            on_removed: base.on_removed,
            ..self
        }
    }

    /// This table with what a comparison has one of, whatever its benchmarks,
    /// taken from `other`.
    #[must_use]
    pub(crate) fn with_common_policy_of(self, other: &Table) -> Table {
        let other = other.clone();
        Table {
            confidence: other.confidence,
            estimator: other.estimator,
            time_limit: other.time_limit,
            max_pairs: other.max_pairs,
            on_inconclusive: other.on_inconclusive,
            on_no_baseline: other.on_no_baseline,
            on_removed: other.on_removed,
            ..self
        }
    }

    /// The keys that decide in which this table and `other` differ.
    pub(crate) fn policy_differences(&self, other: &Table) -> Vec<&'static str> {
        let differing = self.differences(other).into_iter().map(|(key, ..)| key);
        differing.filter(|key| POLICY.contains(key)).collect()
    }

    /// The keys that select or shape what is run in which this table and `other`
    /// differ, each with both values: all but those that decide, and a few that do
    /// neither.
    pub(crate) fn run_differences(&self, other: &Table) -> Vec<Difference> {
        let elsewhere = |key: &&str| POLICY.contains(key) || NEITHER.contains(key);
        let mut differing = self.differences(other);
        differing.retain(|(key, ..)| !elsewhere(key));
        differing
    }

    fn differences(&self, other: &Table) -> Vec<Difference> {
        let [own, other] = [self, other].map(|table| -> BTreeMap<&'static str, Value> {
            table.entries().into_iter().filter(|(_, value)| says_something(value)).collect()
        });
        let both = |key: &'static str| (key, own.get(key).cloned(), other.get(key).cloned());
        keys().map(both).filter(|(_, one, other)| one != other).collect()
    }
}

/// Whether a value is another one than a key that is not set has.
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
