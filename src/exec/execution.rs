//! Runs the program of a benchmark repeatedly.
//!
//! A run is one process of one side ([`SideProgram`]). A measurement consists of as
//! many runs as the clock and the estimator need, of every kind
//! ([`Pass`](crate::exec::meter::Pass)) that the metrics need. It returns readings or a [`Stop`].

mod fold;
mod gating;
mod hooks;
mod listing;
mod measurement;
mod output;
mod placement;
mod placing;
mod repetitions;
mod round;
mod run;
mod side;
mod stop;
mod varying;
mod watching;

pub(crate) use gating::{gates, of_benchmark};
pub(crate) use hooks::{Hook, RunHooks};
pub(crate) use measurement::{Execution, Sampling};
pub(crate) use output::{Outputs, check_output};
pub(crate) use repetitions::tune_repetitions;
pub use run::Context;
pub(crate) use run::Runs;
pub(crate) use side::SideProgram;
pub(crate) use stop::{Stop, Unknown};
pub(crate) use varying::VaryingNames;
pub(crate) use watching::{Watching, is_volatile};
