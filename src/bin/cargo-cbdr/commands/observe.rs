//! A comparison whose events are shown.

use std::path::Path;

use cargo_cbdr::Options;
use cargo_cbdr::engine::event::Event;
use cargo_cbdr::exec::execution::Context;
use cargo_cbdr::exec::system;
use cargo_cbdr::model::outcome::Outcome;
use cargo_cbdr::samples::{Recording, csv};

use crate::render::events;
use crate::samples::SamplesFiles;
use crate::ui::{Failure, Ui, text};

/// The result of a comparison.
pub(super) struct Observed {
    pub(super) outcome: Outcome,
    /// Whether the samples could be written: a comparison continues without
    /// their files, but does not succeed without them.
    pub(super) written: Result<(), Failure>,
}

/// What to do with a comparison's runs and events, besides showing them.
#[derive(Default)]
pub(super) struct KeepRuns<'a> {
    /// The CSV file of the samples.
    pub(super) samples: Option<&'a Path>,
    /// The samples, if they are needed afterwards.
    pub(super) recording: Option<&'a mut Recording>,
    /// Whether each event is printed as a line of JSON.
    pub(super) prints_events: bool,
}

/// Compares, shows what happens and keeps the samples.
pub(super) fn observed(
    options: &Options,
    kept: KeepRuns<'_>,
    context: Context<'_>,
    ui: &mut Ui,
) -> Result<Observed, Failure> {
    let KeepRuns { samples, mut recording, prints_events } = kept;
    let mut files = SamplesFiles::new(samples, context.interrupt)?;
    let result = cargo_cbdr::compare(options, context, &mut |event: Event<'_>| {
        ui.show(&event);
        if prints_events {
            events::print(&event);
        }
        match (&mut recording, &event) {
            (Some(recording), Event::Sampling(plan)) => {
                recording.begin(plan.metrics.iter().cloned());
            }
            (Some(recording), Event::Pair { rows, progress }) if !progress.plan().is_again() => {
                let plan = progress.plan();
                for row in *rows {
                    recording.push(&csv::label(plan, row), &csv::cells(plan, row));
                }
            }
            _ => {}
        }
        files.take(&event);
    });
    let (left, written) = files.end(result.as_ref().ok());
    if let Some(path) = left {
        ui.end();
        ui.status("Keeping", &format!("the samples so far, as {}", text::path(&path)));
    }
    Ok(Observed { outcome: result?.outcome, written })
}

/// An unpredictable seed, below 2^53 so that JSON can represent it.
pub(super) fn random_seed() -> u64 {
    system::random() >> 11
}
