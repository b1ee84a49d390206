//! The arguments of the commands that make and read samples.

use std::path::PathBuf;

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::settings::Written;
use cargo_cbdr::settings::options::MOST_RUNS;
use cargo_cbdr::settings::table::Flags;
use cargo_cbdr::settings::table::flags::FAILURE;
use cargo_cbdr::settings::table::headings::{BENCHMARK, DECIDING, SIDES, STOPPING};
use cargo_cbdr::settings::values::{Allowed, Confidence, Time};
use clap::builder::{StringValueParser, TypedValueParser as _};
use clap::{Args, ValueEnum};

use super::shared::{Format, OUTPUT, Seed, at_least_one};

/// Run any commands in turn and print their measurements as CSV
///
/// Runs each command once, unmeasured, then all of them in rounds, in random
/// order, and prints a row for each run, in seconds and bytes. Stops at the
/// limit, or when the reader closes the pipe, as `cargo cbdr analyze --threshold`
/// does once it has a verdict.
#[derive(Debug, Args)]
pub(crate) struct Sample {
    /// A label, a colon, and a command, which is split into words as in a shell,
    /// but run without one
    #[arg(required = true, value_name = "NAME:COMMAND", help_heading = BENCHMARK)]
    pub(crate) commands: Vec<String>,

    /// Also measure these metrics, such as instructions_cachegrind or
    /// allocations
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = BENCHMARK)]
    pub(crate) metric: Vec<String>,

    /// Sample for at most this long [default: 5m]
    #[arg(long, value_name = "TIME", help_heading = STOPPING)]
    pub(crate) time_limit: Option<Written<Time>>,

    /// Run at most N rounds; in each, every command runs once
    #[arg(long, value_name = "N", visible_alias = "max-pairs", help_heading = STOPPING,
          value_parser = at_least_one)]
    pub(crate) rounds: Option<u64>,

    /// Run each command this many times first, unmeasured
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = STOPPING,
          value_parser = clap::value_parser!(u32).range(..=i64::from(MOST_RUNS)))]
    pub(crate) warmup: u32,

    /// Stop a run that takes longer than this [default: 10m]
    #[arg(long, value_name = "TIME", help_heading = STOPPING)]
    pub(crate) run_timeout: Option<Written<Time>>,

    #[command(flatten)]
    pub(crate) seed: Seed,
}

/// Compare samples with two or more labels
///
/// Reads CSV as written by `sample`, by `compare --samples` and by the original
/// cbdr: a column `benchmark` with the label, and a column for each metric.
/// With --threshold it gives the verdict that `compare` would give, and stops
/// as soon as it has one; without, it prints intervals.
#[derive(Debug, Args)]
pub(crate) struct Analyze {
    #[command(flatten)]
    pub(crate) samples: SampleArgs,

    /// Compute one verdict from the files that `compare --shard` wrote on
    /// several machines, with the settings they were measured with; a folder
    /// stands for all shards in it
    #[arg(long, requires = "files", help_heading = SIDES,
          conflicts_with_all = ["base", "threshold", "confidence", "metric", "estimator", "rule"])]
    pub(crate) combine: bool,

    /// With --combine: accept missing shards
    #[arg(long, requires = "combine", help_heading = SIDES)]
    pub(crate) allow_missing: bool,

    /// Decide by this rule
    #[arg(long, value_enum, default_value_t = DecisionRule::Evidence, help_heading = DECIDING)]
    pub(crate) rule: DecisionRule,

    #[command(flatten)]
    pub(crate) failure: Flags<{ FAILURE }>,

    /// Print the result in this format
    #[arg(long, value_enum, default_value_t = Format::Human, help_heading = OUTPUT)]
    pub(crate) format: Format,
}

/// Files of samples, and what to compute from them.
#[derive(Clone, Debug, Args)]
pub(crate) struct SampleArgs {
    /// Read samples from these files; `-` is standard input [default: -]
    #[arg(value_name = "FILE", help_heading = SIDES)]
    pub(crate) files: Vec<PathBuf>,

    /// Compare every other label with this one [default: each with the one
    /// before it, NAME/head with NAME/base]
    #[arg(long, value_name = "LABEL", help_heading = SIDES)]
    pub(crate) base: Option<String>,

    /// Allow changes up to this, for all metrics or for one [default: none, so
    /// no verdict]
    // `auto` is no word for it here: samples have no repository to learn from.
    #[arg(long, value_name = "[METRIC=]PERCENT", value_delimiter = ',', value_parser = StringValueParser::new().map(Written::<Allowed>::new), help_heading = DECIDING)]
    pub(crate) threshold: Vec<Written<Allowed>>,

    /// Decide with this confidence: 1 minus the probability of a wrong verdict;
    /// without a threshold, the confidence of the intervals [default: 95%]
    #[arg(long, value_name = "PERCENT", help_heading = DECIDING)]
    pub(crate) confidence: Option<Written<Confidence>>,

    /// Decide by these metrics [default: wall_time, or the only one]; without a
    /// threshold, show these [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = DECIDING)]
    pub(crate) metric: Option<Vec<String>>,

    /// Estimate the change with this estimator; min only with --rule judge
    /// [default: robust with a threshold and pairs, else mean; with --rule
    /// judge, min]
    #[arg(long, value_name = "NAME", help_heading = DECIDING)]
    pub(crate) estimator: Option<Written<Estimator>>,
}

/// Draw samples, in the terminal or to a file
///
/// Reads the same files as `analyze`, and draws a histogram of each metric, the
/// labels side by side in the same bins.
#[derive(Debug, Args)]
#[command(mut_args(|arg| match arg.get_id().as_str() {
    // They shape the result, which only the page has.
    "threshold" | "confidence" | "estimator" => arg.requires("html").conflicts_with("vega"),
    _ => arg,
}))]
pub(crate) struct Plot {
    #[command(flatten)]
    pub(crate) samples: SampleArgs,

    /// Write a page to this file instead: the samples, and the result of
    /// `analyze`
    #[arg(long, value_name = "FILE", conflicts_with = "vega", help_heading = OUTPUT)]
    pub(crate) html: Option<PathBuf>,

    /// Print a Vega-Lite specification instead, which contains the samples
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) vega: bool,
}

/// What decides about samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DecisionRule {
    /// The rule of `compare`.
    Evidence,
    /// BenchmarkTools' judge: the ratio of two estimates against a tolerance of
    /// 5%, or the threshold.
    Judge,
}
