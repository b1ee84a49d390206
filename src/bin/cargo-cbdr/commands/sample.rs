//! `cargo cbdr sample`.

use std::io::Write;
use std::iter::once;

use cargo_cbdr::exec::process::{Helper, Interrupt, environment};
use cargo_cbdr::flows::event::Event;
use cargo_cbdr::flows::sample::{Sampling, commands, sample};
use cargo_cbdr::model::outcome::StoppedBy;
use cargo_cbdr::settings::options;
use cargo_cbdr::settings::table::Table;

use super::observe::random_seed;
use crate::cli::Sample;
use crate::exit::Exit;
use crate::samples::CsvRows;
use crate::ui::{Failure, Ui};

/// Runs the commands and writes rows.
pub(crate) fn run(args: &Sample, helper: &Helper, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let sampling = sampling(args)?;
    interrupt.stop_with_reader()?;
    let mut ui = Ui::new();
    // Rows wait here until their round is complete.
    let mut rows = CsvRows::new();
    let outcome = sample(&sampling, helper, interrupt, &mut |event: Event<'_>| {
        match event {
            Event::Rounds { seed, .. } => {
                ui.status("Sampling", &format!("in rounds, seed {seed}"));
            }
            event => ui.show(&event),
        }
        rows.take(&event)?;
        if matches!(event, Event::Sampling { .. } | Event::Round(_)) {
            let mut out = std::io::stdout().lock();
            out.write_all(&rows.drain()?)?;
            out.flush()?;
        }
        Ok::<_, Failure>(())
    });
    match (outcome, interrupt.signal()) {
        (_, Some(_)) if interrupt.is_reader_gone() => Ok(Exit::Success),
        (Ok(StoppedBy::Interrupt), Some(signal)) => Ok(Exit::Signal(signal)),
        (outcome, _) => outcome.map(|_| Exit::Success),
    }
}

fn sampling(args: &Sample) -> Result<Sampling, Failure> {
    let table =
        Table { time_limit: args.time_limit.clone(), max_pairs: args.rounds, ..Table::default() };
    let (_, limits) = options::limits(once(&table)).map_err(Failure::usage)?;
    Ok(Sampling {
        commands: commands(&args.commands).map_err(Failure::usage)?,
        folder: super::current_folder()?,
        env: environment(),
        metrics: args.metric.clone(),
        limits,
        warmup: args.warmup,
        run_timeout: options::run_timeout(args.run_timeout.as_deref()).map_err(Failure::usage)?,
        seed: args.seed.unwrap_or_else(random_seed),
    })
}
