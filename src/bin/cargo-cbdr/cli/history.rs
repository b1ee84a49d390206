//! The arguments of `history` and `bisect`.

use std::path::PathBuf;

use cargo_cbdr::model::outcome::OnDoubt;
use cargo_cbdr::settings::Written;
use cargo_cbdr::settings::table::Flags;
use cargo_cbdr::settings::table::flags::{POLICY, SELECTION};
use clap::{Args, Subcommand, ValueEnum};

use super::{DECIDING, EXIT_CODES, Filter, OUTPUT, SIDES, STOPPING, Seed};

const STORE: &str = "Store";

/// What to do with the history.
#[derive(Debug, Subcommand)]
pub(crate) enum History {
    /// Measure a commit and store the results in its git note
    ///
    /// Builds the commit in a worktree in the cache, runs its benchmarks and
    /// stores what came out, with the machine, the build and all repetitions,
    /// in the note of the commit under refs/notes/cbdr.
    Record(Box<Record>),
    /// Say whether the latest result of a commit fits the past
    ///
    /// The z-score: how many deviations the best repetition is from what the
    /// results of the 100 commits before lead to expect; positive is better.
    /// Only results of the same machine, benchmark and build count.
    #[command(after_help = EXIT_CODES)]
    Check(Check),
    /// Show the results of a commit and those before it
    List(List),
    /// Say that from a commit on another level is to be expected
    Annotate(Annotate),
    /// Write all results to standard output
    Export(Export),
    /// Take the notes to a remote, after those that are there were merged
    Push(Sync),
    /// Bring the notes of a remote and merge them
    Pull(Sync),
}

/// The arguments of `history record`.
#[derive(Debug, Args)]
pub(crate) struct Record {
    /// Measure this revision instead of HEAD
    #[arg(long, value_name = "REV", help_heading = SIDES)]
    pub(crate) rev: Option<String>,

    /// How often each benchmark is run and measured
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = STOPPING)]
    pub(crate) runs: u32,

    /// Metrics that decide when the result is checked [default: wall_time]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = DECIDING)]
    pub(crate) metric: Option<Vec<String>>,

    /// Metrics to measure besides, such as instructions
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = DECIDING)]
    pub(crate) show: Option<Vec<String>>,

    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Printed::Human, help_heading = OUTPUT)]
    pub(crate) format: Printed,

    #[command(flatten)]
    pub(crate) settings: Flags<SELECTION>,

    #[command(flatten)]
    pub(crate) filter: Filter,
}

/// The arguments of `history check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Check this revision instead of HEAD
    #[arg(long, value_name = "REV", help_heading = SIDES)]
    pub(crate) rev: Option<String>,

    /// The default branch, which says what the past is: of a commit on it what
    /// came before its first parent, of one on another branch what came before
    /// the place where that left BASE [default: as for compare]
    #[arg(long, value_name = "BASE", help_heading = SIDES)]
    pub(crate) base: Option<String>,

    /// Take this commit and those before it for the past
    #[arg(long, value_name = "REV", conflicts_with = "base", help_heading = SIDES)]
    pub(crate) baseline: Option<String>,

    /// The commits of merged branches are part of the past, too
    #[arg(long, help_heading = SIDES)]
    pub(crate) all_parents: bool,

    /// Also check results of other machines, each by its own past
    #[arg(long, help_heading = SIDES)]
    pub(crate) all_machines: bool,

    /// Metrics that decide [default: those of the recording]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = DECIDING)]
    pub(crate) metric: Option<Vec<String>>,

    /// How many deviations to the worse pass
    #[arg(long, value_name = "N", default_value_t = 5.0, value_parser = positive,
          help_heading = DECIDING)]
    pub(crate) z_threshold: f64,

    /// How many commits with a result make a history; with fewer the answer is
    /// inconclusive
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u64).range(2..=100), help_heading = DECIDING)]
    pub(crate) min_history: u64,

    /// Exit code of an inconclusive check: 0 or 102 [default: pass]
    #[arg(long, value_name = "pass|fail", hide_possible_values = true, help_heading = DECIDING)]
    pub(crate) on_inconclusive: Option<Written<OnDoubt>>,

    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Printed::Human, help_heading = OUTPUT)]
    pub(crate) format: Printed,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("a number above 0".to_owned()),
    }
}

/// The arguments of `history list`.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// The newest commit, instead of HEAD
    #[arg(long, value_name = "REV", help_heading = SIDES)]
    pub(crate) rev: Option<String>,

    /// How many commits are looked at
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = SIDES)]
    pub(crate) commits: u64,

    /// Look at the commits of merged branches, too
    #[arg(long, help_heading = SIDES)]
    pub(crate) all_parents: bool,

    /// Only this benchmark
    #[arg(long, value_name = "NAME", help_heading = SIDES)]
    pub(crate) benchmark: Option<String>,

    /// Metrics to show [default: those that decide]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = SIDES)]
    pub(crate) metric: Option<Vec<String>>,

    /// Write a page with the plots to this file, instead
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) html: Option<PathBuf>,
}

/// The arguments of `history annotate`.
#[derive(Debug, Args)]
pub(crate) struct Annotate {
    /// The first commit of the new level
    #[arg(help_heading = SIDES)]
    pub(crate) rev: String,

    /// Why another level is to be expected
    #[arg(long, value_name = "WHY", required_unless_present = "remove", help_heading = STORE)]
    pub(crate) change: Option<String>,

    /// Take back what was said of this commit
    #[arg(long, conflicts_with = "change", help_heading = STORE)]
    pub(crate) remove: bool,
}

/// The arguments of `history export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// How the results are written
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv, help_heading = OUTPUT)]
    pub(crate) format: ExportFormat,
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Printed {
    /// For people.
    Human,
    /// One JSON object.
    Json,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A row for each repetition of each metric.
    Csv,
    /// One JSON object.
    Json,
    /// A JSON array of what Conbench's server takes as results, one object for
    /// each metric.
    Conbench,
}

/// The arguments of `history push` and `history pull`.
#[derive(Debug, Args)]
pub(crate) struct Sync {
    /// The remote: its name or its address
    #[arg(default_value = "origin", help_heading = STORE)]
    pub(crate) remote: String,
}

/// The arguments of `bisect`.
///
/// A binary search over the commits after GOOD up to BAD, in which each try is
/// a comparison with GOOD, as `compare --exact-base GOOD` makes it. What does
/// not build or stays inconclusive is left out. The confidence is that of the
/// answer: each comparison gets its share. Ended at any moment, the same
/// command goes on where it was.
#[derive(Debug, Args)]
pub(crate) struct Bisect {
    /// A commit before the regression
    #[arg(help_heading = SIDES)]
    pub(crate) good: String,

    /// A commit with the regression
    #[arg(help_heading = SIDES)]
    pub(crate) bad: String,

    /// Search the commits of merged branches, too, not only the line of first
    /// parents
    #[arg(long, help_heading = SIDES)]
    pub(crate) all_parents: bool,

    /// Forget what an earlier search for the same has found
    #[arg(long, help_heading = SIDES)]
    pub(crate) restart: bool,

    #[command(flatten)]
    pub(crate) settings: Flags<{ SELECTION | POLICY }>,

    #[command(flatten)]
    pub(crate) filter: Filter,

    /// Exit code when BAD against GOOD is inconclusive: 0 or 102 [default: pass]
    #[arg(long, value_name = "pass|fail", hide_possible_values = true, help_heading = DECIDING)]
    pub(crate) on_inconclusive: Option<Written<OnDoubt>>,

    #[command(flatten)]
    pub(crate) seed: Seed,

    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Printed::Human, help_heading = OUTPUT)]
    pub(crate) format: Printed,
}
