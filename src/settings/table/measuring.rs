//! The keys that say how a run is made and what surrounds it.

use serde::{Deserialize, Serialize};

/// A number, or a word for it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Count {
    /// The number.
    Number(u64),
    /// The word.
    Word(String),
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Count::Number(number) => number.fmt(f),
            Count::Word(word) => word.fmt(f),
        }
    }
}

/// The part of a layer that these keys are.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Measuring {
    /// How many runs make a measurement: a number, or `auto`.
    pub repetitions: Option<Count>,
    /// Of how many measurements the least is taken, with the estimator `min`.
    pub min_of: Option<u32>,
    /// Whether both members of a pair run at the same time.
    pub duet: Option<bool>,
    /// `on` or `off`: address randomisation.
    pub aslr: Option<String>,
    /// Whether each pair's environment is of another length.
    pub env_padding: Option<bool>,
    /// The processors to run on: one, or two for a duet.
    pub cpus: Option<Vec<u16>>,
    /// How much nicer than its parent a run is.
    pub nice: Option<i8>,
    /// The file that standard input comes from.
    pub stdin: Option<String>,
    /// `warm` or `cold`: the page cache before each run.
    pub page_cache: Option<String>,
    /// What is warmed or cooled beside the executable and the input.
    pub page_cache_files: Option<Vec<String>>,
    /// How busy the rest of the machine may be before a pair begins.
    pub max_busy: Option<String>,
    /// A command before each run.
    pub prepare: Option<String>,
    /// A command before the first run.
    pub setup: Option<String>,
    /// A command after the last run.
    pub cleanup: Option<String>,
    /// Whether the sides' standard outputs are compared.
    pub check_output: Option<bool>,
    /// `each`, `head` or `base`: whose benchmark sources both sides have.
    pub bench_from: Option<String>,
}

/// All keys of [`Measuring`].
pub(super) const KEYS: [&str; 16] = [
    "repetitions",
    "min-of",
    "duet",
    "aslr",
    "env-padding",
    "cpus",
    "nice",
    "stdin",
    "page-cache",
    "page-cache-files",
    "max-busy",
    "prepare",
    "setup",
    "cleanup",
    "check-output",
    "bench-from",
];

impl Measuring {
    /// This layer over a lower one.
    pub(super) fn over(self, low: Measuring) -> Measuring {
        Measuring {
            repetitions: self.repetitions.or(low.repetitions),
            min_of: self.min_of.or(low.min_of),
            duet: self.duet.or(low.duet),
            aslr: self.aslr.or(low.aslr),
            env_padding: self.env_padding.or(low.env_padding),
            cpus: self.cpus.or(low.cpus),
            nice: self.nice.or(low.nice),
            stdin: self.stdin.or(low.stdin),
            page_cache: self.page_cache.or(low.page_cache),
            page_cache_files: self.page_cache_files.or(low.page_cache_files),
            max_busy: self.max_busy.or(low.max_busy),
            prepare: self.prepare.or(low.prepare),
            setup: self.setup.or(low.setup),
            cleanup: self.cleanup.or(low.cleanup),
            check_output: self.check_output.or(low.check_output),
            bench_from: self.bench_from.or(low.bench_from),
        }
    }
}
