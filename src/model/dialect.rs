//! How benchmark programs are called and parsed, by name.

use crate::model::words::{expected, words};

use serde::{Deserialize, Serialize};

/// A harness or format.
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
    /// Gungraun, formerly iai-callgrind, from 0.14 on.
    Gungraun,
    /// The crate bencher.
    Bencher,
    /// The `#[bench]` functions of Rust's own test harness, and others with the
    /// same output.
    Libtest,
}

words!(Dialect {
    Plain = "plain",
    Json = "json",
    Criterion = "criterion",
    Divan = "divan",
    Gungraun = "gungraun",
    Bencher = "bencher",
    Libtest = "libtest",
} else |_| expected(&Dialect::ALL.map(Dialect::name)));
