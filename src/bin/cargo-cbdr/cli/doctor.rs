//! The arguments of `doctor`.

use clap::{Args, ValueEnum};

use super::{OUTPUT, STOPPING};

/// Say what this machine can measure, and how well.
///
/// Looks at what it knows of the machine, at the meters that it has, and at
/// how noisy it is: a program of its own against itself, in pairs.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// How long the noise is measured
    #[arg(long, value_name = "TIME", default_value = "20s", help_heading = STOPPING)]
    pub(crate) time_limit: String,

    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Shape::Human, help_heading = OUTPUT)]
    pub(crate) format: Shape,
}

/// How the result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// For people.
    Human,
    /// One JSON object.
    Json,
}
