//! The command `cargo cbdr`.

mod cli;
mod commands;
mod exit;
mod failure;
mod output;
mod page;
mod plot;
mod render;
mod samples;
mod ui;

use cargo_cbdr::exec::process::die_of;

fn main() -> std::process::ExitCode {
    ui::report_bugs();
    let exit = commands::run().unwrap_or_else(|failure| ui::failure(&failure));
    if let exit::ExitKind::Signal(signal) = exit {
        let _ = die_of(signal);
    }
    exit.code().into()
}
