//! Options that several commands have.

use clap::Args;

use super::{BENCHMARK, BUILD, DECIDING, STOPPING};

/// What is run, and how it is built.
#[derive(Debug, Args)]
pub(crate) struct Subject {
    /// Package of the benchmark
    #[arg(short, long, value_name = "NAME", help_heading = BENCHMARK)]
    pub(crate) package: Option<String>,

    /// Run this bench target
    #[arg(long, value_name = "NAME", group = "target", help_heading = BENCHMARK)]
    pub(crate) bench: Option<String>,

    /// Run this binary target
    #[arg(long, value_name = "NAME", group = "target", help_heading = BENCHMARK)]
    pub(crate) bin: Option<String>,

    /// Run this example target
    #[arg(long, value_name = "NAME", group = "target", help_heading = BENCHMARK)]
    pub(crate) example: Option<String>,

    /// Run any command, in the package's folder of either side
    #[arg(long, value_name = "CMD", group = "target", help_heading = BENCHMARK)]
    pub(crate) command: Option<String>,

    /// Build with this command before running --command
    #[arg(long, value_name = "CMD", help_heading = BENCHMARK)]
    pub(crate) build_command: Option<String>,

    /// How a run is called and read: plain (the process itself is the
    /// measurement), json, criterion, divan or libtest [default: what the
    /// executable of a bench target shows, else plain]
    #[arg(long, value_name = "NAME", help_heading = BENCHMARK)]
    pub(crate) harness: Option<String>,

    /// Run only the benchmarks whose names match, as the harness matches them
    #[arg(long, value_name = "TEXT", help_heading = BENCHMARK)]
    pub(crate) filter: Option<String>,

    /// Arguments of the benchmark
    #[arg(last = true, value_name = "ARGS", help_heading = BENCHMARK)]
    pub(crate) args: Vec<String>,

    /// Features to enable, separated by commas or spaces
    #[arg(short = 'F', long, value_name = "FEATURES", help_heading = BUILD)]
    pub(crate) features: Vec<String>,

    /// Enable all features
    #[arg(long, help_heading = BUILD)]
    pub(crate) all_features: bool,

    /// Leave out the default features
    #[arg(long, help_heading = BUILD)]
    pub(crate) no_default_features: bool,

    /// Profile to build with [default: bench for bench targets, else release]
    #[arg(long, value_name = "NAME", help_heading = BUILD)]
    pub(crate) profile: Option<String>,

    /// Toolchain for both sides: head's, base's, each side's own, or a name
    /// [default: head]
    #[arg(long, value_name = "head|base|each|NAME", help_heading = BUILD)]
    pub(crate) toolchain: Option<String>,

    /// Unmeasured runs of each side that come first [default: 1]
    #[arg(long, value_name = "N", help_heading = STOPPING)]
    pub(crate) warmup: Option<u32>,

    /// How long one run may take [default: 10m]
    #[arg(long, value_name = "TIME", help_heading = STOPPING)]
    pub(crate) run_timeout: Option<String>,
}

/// What decides, and how long it may take.
#[derive(Debug, Args)]
pub(crate) struct Question {
    /// Largest change that passes, of all metrics or of one [default: 2%]
    #[arg(long, value_name = "[METRIC=]PERCENT", help_heading = DECIDING)]
    pub(crate) threshold: Vec<String>,

    /// Change from which on there is a warning, below the threshold [default:
    /// none]
    #[arg(long, value_name = "PERCENT", help_heading = DECIDING)]
    pub(crate) warn: Option<String>,

    /// Confidence of the verdict, 1 minus the chance that it is wrong
    /// [default: 95%]
    #[arg(long, value_name = "PERCENT", help_heading = DECIDING)]
    pub(crate) confidence: Option<String>,

    /// Metrics that decide [default: wall_time]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = DECIDING)]
    pub(crate) metric: Vec<String>,

    /// Metrics to measure and show besides, such as instructions or
    /// instructions_cachegrind
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = DECIDING)]
    pub(crate) show: Vec<String>,

    /// How the change is estimated: robust, mean, geometric-mean or median
    /// [default: robust]
    #[arg(long, value_name = "NAME", help_heading = DECIDING)]
    pub(crate) estimator: Option<String>,

    /// How long sampling may take [default: 5m]
    #[arg(long, value_name = "TIME", help_heading = STOPPING)]
    pub(crate) time_limit: Option<String>,

    /// How many pairs there may be
    #[arg(long, value_name = "N", help_heading = STOPPING)]
    pub(crate) max_pairs: Option<u64>,
}
