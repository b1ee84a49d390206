//! `cargo cbdr sample`.

use cargo_cbdr::engine::event::Event;
use cargo_cbdr::exec::execution::Context;
use cargo_cbdr::exec::process::environment;
use cargo_cbdr::flows::sample::{Sampling, commands, sample};
use cargo_cbdr::model::outcome::StoppedBy;
use cargo_cbdr::samples::csv::CsvText;
use cargo_cbdr::settings::options;
use cargo_cbdr::settings::table::Table;

use super::random_seed;
use crate::cli::Sample;
use crate::exit::{CommandResult, ExitKind};
use crate::failure::Failure;
use crate::render::outputs::print_bytes;
use crate::ui::Ui;

/// Runs the commands and writes rows.
pub(crate) fn run(args: &Sample, context: Context<'_>) -> CommandResult {
    let sampling = sampling(args)?;
    context.interrupt.stop_with_reader()?;
    let mut ui = Ui::new();
    // Rows wait here until their round is complete.
    let mut csv = CsvText::default();
    let mut columns: Vec<String> = Vec::new();
    let outcome = sample(&sampling, context, &mut |event: Event<'_>| {
        match event {
            Event::Rounds { metrics, .. } => {
                ui.show(&event);
                columns = metrics.iter().map(|metric| metric.name.clone()).collect();
                csv.header(columns.iter().map(String::as_str))?;
            }
            Event::Round { runs, .. } => {
                for (label, values) in runs {
                    csv.row(label, columns.iter().map(|metric| values.get(metric)))?;
                }
                print_bytes(&csv.take()?)?;
            }
            event => ui.show(&event),
        }
        Ok::<_, Failure>(())
    });
    match (outcome, context.interrupt.signal()) {
        (_, Some(_)) if context.interrupt.is_reader_gone() => Ok(ExitKind::Success),
        (Ok(StoppedBy::Interrupt), Some(signal)) => Ok(ExitKind::Signal(signal)),
        (outcome, _) => outcome.map(|_| ExitKind::Success),
    }
}

fn sampling(args: &Sample) -> Result<Sampling, Failure> {
    let table = Table {
        time_limit: args.time_limit.clone(),
        max_pairs: args.rounds,
        run_timeout: args.run_timeout.clone(),
        ..Table::default()
    };
    let (_, limits) = options::limits(&table)?;
    Ok(Sampling {
        commands: commands(&args.commands)?,
        folder: super::current_folder()?,
        env: environment(),
        metrics: args.metric.clone(),
        limits,
        warmup: args.warmup,
        run_timeout: options::run_timeout(&table)?,
        seed: args.seed.seed.unwrap_or_else(random_seed),
    })
}
