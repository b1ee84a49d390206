//! The arguments of `history` and `bisect`.

use std::path::PathBuf;

use cargo_cbdr::settings::table::Flags;
use cargo_cbdr::settings::table::flags::{FAILURE, LAYOUTS, POLICY, SELECTION};
use cargo_cbdr::settings::table::headings::{DECIDING, STOPPING};
use clap::{Args, Subcommand, ValueEnum};

use super::shared::{CODES_OF_CHECK, Filter, OUTPUT, Printed, Seed};

const COMMITS: &str = "Commits";
const STORE: &str = "Store";

/// What to do with the history.
#[derive(Debug, Subcommand)]
pub(crate) enum History {
    /// Measure a commit and store the results in its git note
    ///
    /// Builds the commit in a worktree in the cache, runs its benchmarks and
    /// stores the results, with the machine, the build and all repetitions,
    /// in the commit's note under refs/notes/cbdr.
    Record(Box<RecordArgs>),
    /// Check the latest result of a commit against earlier commits
    ///
    /// Computes the z-score: by how many standard deviations the best repetition
    /// is better than the results of the last 100 commits predict; negative is
    /// worse. Only results from the same machine, benchmark and build count.
    #[command(after_help = CODES_OF_CHECK)]
    Check(Box<Check>),
    /// List the results of a commit and of those before it
    List(List),
    /// Mark a commit that is expected to change the results
    Annotate(Annotate),
    /// Print all results
    Export(Export),
    /// Push the notes to a remote, after merging the notes there
    Push(Sync),
    /// Fetch the notes of a remote and merge them
    Pull(Sync),
}

/// The arguments of `history record`.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Measure this revision instead of HEAD
    #[arg(help_heading = COMMITS)]
    pub(crate) rev: Option<String>,

    #[command(flatten)]
    pub(crate) settings: Flags<SELECTION>,

    #[command(flatten)]
    pub(crate) filter: Filter,

    /// Run and measure each benchmark N times
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = STOPPING)]
    pub(crate) runs: u32,

    /// Let `check` decide by these metrics [default: wall_time; with criterion
    /// and divan, median_time]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = DECIDING)]
    pub(crate) metric: Option<Vec<String>>,

    /// Also measure these metrics, such as instructions
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = DECIDING)]
    pub(crate) show: Option<Vec<String>>,

    /// Print the result in this format
    #[arg(long, value_enum, default_value_t = Printed::Human, help_heading = OUTPUT)]
    pub(crate) format: Printed,
}

/// The arguments of `history check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Check this revision instead of HEAD
    #[arg(help_heading = COMMITS)]
    pub(crate) rev: Option<String>,

    /// Use this default branch: a commit on it is checked against those before
    /// it, a commit on another branch against the merge-base and those before it
    /// [default: as for compare]
    #[arg(long, value_name = "BASE", help_heading = COMMITS)]
    pub(crate) base: Option<String>,

    /// Check against this commit and those before it
    #[arg(long, value_name = "REV", conflicts_with = "base", help_heading = COMMITS)]
    pub(crate) baseline: Option<String>,

    /// Include the commits of merged branches
    #[arg(long, help_heading = COMMITS)]
    pub(crate) all_parents: bool,

    /// Check results from other machines, too, each against its own
    #[arg(long, help_heading = COMMITS)]
    pub(crate) all_machines: bool,

    /// Decide by these metrics [default: those of the recording]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = DECIDING)]
    pub(crate) metric: Option<Vec<String>>,

    /// Allow the result to be worse by N standard deviations
    #[arg(long, value_name = "N", default_value_t = 5.0, value_parser = positive,
          help_heading = DECIDING)]
    pub(crate) z_threshold: f64,

    /// Require N commits with a result; with fewer, the check is inconclusive
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u64).range(2..=100), help_heading = DECIDING)]
    pub(crate) min_history: u64,

    #[command(flatten)]
    pub(crate) failure: Flags<{ FAILURE }>,

    /// Print the result in this format
    #[arg(long, value_enum, default_value_t = Printed::Human, help_heading = OUTPUT)]
    pub(crate) format: Printed,
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or("it must be a number above 0".to_owned())
}

/// The arguments of `history list`.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Start at this commit instead of HEAD
    #[arg(help_heading = COMMITS)]
    pub(crate) rev: Option<String>,

    /// List the results of at most N commits
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = COMMITS)]
    pub(crate) commits: u64,

    /// Include the commits of merged branches
    #[arg(long, help_heading = COMMITS)]
    pub(crate) all_parents: bool,

    /// List only this benchmark
    #[arg(long, value_name = "NAME", help_heading = OUTPUT)]
    pub(crate) benchmark: Option<String>,

    /// Show these metrics [default: those that decide]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = OUTPUT)]
    pub(crate) metric: Option<Vec<String>>,

    /// Write a page with plots to this file instead
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) html: Option<PathBuf>,
}

/// The arguments of `history annotate`.
#[derive(Debug, Args)]
pub(crate) struct Annotate {
    /// The first commit with the new results
    #[arg(help_heading = COMMITS)]
    pub(crate) rev: String,

    /// The reason why the results change
    #[arg(long, value_name = "WHY", required_unless_present = "remove", help_heading = STORE)]
    pub(crate) change: Option<String>,

    /// Remove the mark from this commit
    #[arg(long, conflicts_with = "change", help_heading = STORE)]
    pub(crate) remove: bool,
}

/// The arguments of `history export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Print the results in this format
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv, help_heading = OUTPUT)]
    pub(crate) format: ExportFormat,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A row for each repetition of each metric.
    Csv,
    /// One JSON object.
    Json,
}

/// The arguments of `history push` and `history pull`.
#[derive(Debug, Args)]
pub(crate) struct Sync {
    /// Use this remote: its name or its address
    #[arg(default_value = "origin", help_heading = STORE)]
    pub(crate) remote: String,
}

/// Find the commit that introduced a regression
///
/// Searches the commits after GOOD up to BAD; each step compares a commit with
/// GOOD, as `compare --exact-base GOOD` does, but with the table of your
/// checkout. Commits that do not build or stay inconclusive are skipped. The
/// confidence is that of the answer: each comparison gets a share of it. If
/// interrupted, the same command continues where it stopped.
#[derive(Debug, Args)]
pub(crate) struct Bisect {
    /// A commit before the regression
    #[arg(display_order = 1000, help_heading = COMMITS)]
    pub(crate) good: String,

    /// A commit with the regression
    #[arg(display_order = 1001, help_heading = COMMITS)]
    pub(crate) bad: String,

    /// Search the commits of merged branches, too, not only first parents
    #[arg(long, help_heading = COMMITS)]
    pub(crate) all_parents: bool,

    /// Start over: ignore the results of an earlier, identical search
    #[arg(long, help_heading = COMMITS)]
    pub(crate) restart: bool,

    #[command(flatten)]
    pub(crate) settings: Flags<{ SELECTION | POLICY | FAILURE | LAYOUTS }>,

    #[command(flatten)]
    pub(crate) filter: Filter,

    #[command(flatten)]
    pub(crate) seed: Seed,

    /// Print the result in this format
    #[arg(long, value_enum, default_value_t = Printed::Human, help_heading = OUTPUT)]
    pub(crate) format: Printed,
}
