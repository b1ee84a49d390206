//! The arguments of `doctor`.

use cargo_cbdr::settings::Written;
use cargo_cbdr::settings::values::Time;
use clap::Args;

use super::{OUTPUT, Printed, STOPPING};

/// Say what this machine can measure, and how well.
///
/// Looks at what it knows of the machine, at the meters that it has, and at
/// how noisy it is: a program of its own against itself, in pairs.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// How long the noise is measured
    #[arg(long, value_name = "TIME", default_value = "20s", help_heading = STOPPING)]
    pub(crate) time_limit: Written<Time>,

    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Printed::Human, help_heading = OUTPUT)]
    pub(crate) format: Printed,
}
