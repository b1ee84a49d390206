//! How benchmark programs are called and read, by name.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A way to speak of benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// The process itself is the measurement.
    Plain,
    /// An object of metrics, or of benchmarks that are objects of metrics.
    Json,
    /// Criterion.rs, from 0.3 on.
    Criterion,
    /// Divan.
    Divan,
    /// The `#[bench]` functions of Rust's own test harness, and what prints as
    /// it does.
    Libtest,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 5] =
        [Dialect::Plain, Dialect::Json, Dialect::Criterion, Dialect::Divan, Dialect::Libtest];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Plain => "plain",
            Dialect::Json => "json",
            Dialect::Criterion => "criterion",
            Dialect::Divan => "divan",
            Dialect::Libtest => "libtest",
        }
    }
}

impl FromStr for Dialect {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Dialect::ALL.into_iter().find(|dialect| dialect.name() == name);
        found.ok_or_else(|| {
            let names = Dialect::ALL.map(Dialect::name);
            let (last, others) = names.split_last().unwrap_or((&"", &[]));
            format!("it is {} or {last}", others.join(", "))
        })
    }
}
