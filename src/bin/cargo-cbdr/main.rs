//! The command `cargo cbdr`.

mod cli;
mod commands;
mod exit;
mod output;
mod page;
mod plot;
mod render;
mod samples;
mod ui;

use cargo_cbdr::exec::process::{Helper, die_of};

fn main() -> std::process::ExitCode {
    // First of all, while this process is small: see `process`.
    let helper = Helper::start();
    ui::report_bugs();
    let helper = helper.map_err(|error| ui::about("could not start the helper process", &error));
    let outcome = helper.map_err(ui::Failure::from).and_then(commands::run);
    let exit = outcome.unwrap_or_else(|failure| ui::failure(&failure));
    if let exit::ExitKind::Signal(signal) = exit {
        let _ = die_of(signal);
    }
    exit.code().into()
}
