//! Arguments that several subcommands have.

use cargo_cbdr::settings::table::headings::{BENCHMARK, STOPPING};
use clap::{Args, ValueEnum};

use crate::failure::Failure;

pub(super) const OUTPUT: &str = "Output";

pub(super) const CODES_OF_CHECK: &str = "Exit codes: 0 no regression (also inconclusive unless set to fail), \
2 usage, 100 regression, 101 could not finish, 102 inconclusive if set to fail.";

/// Which benchmarks are run.
#[derive(Clone, Debug, Args)]
pub(crate) struct Filter {
    /// Run only the benchmarks whose names match, by the rules of the harness
    #[arg(long, value_name = "TEXT", help_heading = BENCHMARK)]
    pub(crate) filter: Option<String>,
}

/// Reads a number that has no upper limit: clap would print its type's.
pub(super) fn at_least_one(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        number => number.map_err(|error: std::num::ParseIntError| error.to_string()),
    }
}

/// What the order of the runs comes from.
#[derive(Clone, Debug, Args)]
pub(crate) struct Seed {
    /// Shuffle the runs with this seed, below 2^53 [default: random]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..1 << 53),
          help_heading = STOPPING)]
    pub(crate) seed: Option<u64>,
}

/// How the result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Human,
    /// One JSON object.
    Json,
    /// A comment for a pull request.
    Markdown,
    /// Annotations of a GitHub workflow, and the summary of its job.
    Github,
    /// JUnit's XML.
    Junit,
}

impl Format {
    /// The format, if it is one of those that an option supports.
    pub(crate) fn printed(self, option: &str) -> Result<Printed, Failure> {
        match self {
            Format::Human => Ok(Printed::Human),
            Format::Json => Ok(Printed::Json),
            _ => {
                Failure::arguments(format!("`{option}` supports only `--format human` and `json`"))
            }
        }
    }
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Printed {
    /// For people.
    Human,
    /// One JSON object.
    Json,
}
