//! `cargo cbdr doctor`.

use cargo_cbdr::exec::process::{Helper, Interrupt, environment};
use cargo_cbdr::flows::doctor::{Request, examine};
use cargo_cbdr::settings::values::Time;

use super::observe::random_seed;
use crate::cli::{Doctor, Printed};
use crate::exit::Exit;
use crate::render;
use crate::ui::{Failure, Ui, text};

/// The word by which this program makes itself work.
const WORK: &str = "__work";

/// The rounds that this process was started to work, if it was.
pub(crate) fn asked_to_work() -> Option<u64> {
    let mut args = std::env::args().skip(1);
    args.next().filter(|word| word == WORK)?;
    args.next()?.parse().ok()
}

/// Looks at the machine and says what it saw.
pub(crate) fn run(args: &Doctor, helper: &Helper, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let Time(time) = args.time_limit.read("time-limit").map_err(Failure::usage)?;
    let request = Request {
        work: vec![std::env::current_exe()?.into(), WORK.into()],
        env: environment(),
        time,
        seed: random_seed(),
        confidence: 0.95,
    };
    let mut ui = Ui::new();
    let outcome = examine(&request, helper, interrupt, &mut || {
        let time = text::seconds(time.as_secs_f64());
        ui.status("Measuring", &format!("the noise of this machine, for {time}"));
    });
    ui.end();
    let checkup = outcome?;
    match args.format {
        Printed::Human => render::doctor::print(&checkup)?,
        Printed::Json => render::doctor::print_json(&checkup)?,
    }
    Ok(Exit::Success)
}
