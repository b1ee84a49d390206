//! `cargo cbdr doctor`.

use cargo_cbdr::exec::execution::Context;
use cargo_cbdr::exec::process::environment;
use cargo_cbdr::flows::doctor::{DoctorOptions, examine};
use cargo_cbdr::settings::values::Time;

use super::{WORK, call_of_ourselves, random_seed};
use crate::cli::Doctor;
use crate::exit::{CommandResult, ExitKind};
use crate::render::doctor::{json, report};
use crate::render::show;
use crate::ui::{Ui, text};

/// Examines the machine and prints its properties.
pub(crate) fn run(args: &Doctor, context: Context<'_>) -> CommandResult {
    let Time(time) = args.time_limit.read("time-limit")?;
    let options = DoctorOptions {
        work: call_of_ourselves(WORK)?,
        env: environment(),
        time,
        seed: random_seed(),
        confidence: 0.95,
    };
    let mut ui = Ui::new();
    let checkup = examine(&options, context, &mut || {
        let time = text::seconds(time.as_secs_f64());
        ui.status("Measuring", &format!("the noise of this machine, for {time}"));
    })?;
    show(args.format, || report(&checkup), || json(&checkup))?;
    Ok(ExitKind::Success)
}
