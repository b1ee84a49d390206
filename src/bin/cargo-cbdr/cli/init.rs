//! The arguments of `init`.

use cargo_cbdr::settings::table::Flags;
use cargo_cbdr::settings::table::flags::{POLICY, RUNS, SELECTION};
use clap::{Args, ValueEnum};

use super::{Filter, OUTPUT, STOPPING};

/// What the table is to say, and what else is written.
#[derive(Debug, Args)]
pub(crate) struct Init {
    #[command(flatten)]
    pub(crate) settings: Flags<{ SELECTION | POLICY | RUNS }>,

    #[command(flatten)]
    pub(crate) filter: Filter,

    /// How long the benchmark is tried at most; `0s` writes without a try
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = STOPPING)]
    pub(crate) try_for: String,

    /// Also write a workflow that compares pull requests
    #[arg(long, value_enum, value_name = "KIND", help_heading = OUTPUT)]
    pub(crate) ci: Option<Service>,

    /// Write nothing, print the changes as a patch
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) dry_run: bool,
}

/// Where pull requests are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Service {
    /// GitHub Actions: `.github/workflows/cbdr.yml`.
    Github,
    /// GitLab CI: `.gitlab/cbdr.yml`, to be included.
    Gitlab,
    /// Anything else: a shell script, `ci/cbdr.sh`.
    Script,
}
