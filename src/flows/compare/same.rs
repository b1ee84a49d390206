//! Programs whose executables are the same on both sides, in commits that differ in files. A
//! traced run shows whether they open any of these; if that is not known, they are measured.

use std::time::Instant;

use super::Options;
use super::program::ComparedProgram;
use super::unaffected::Watcher;
use crate::engine::event::{Event, Reporter};
use crate::error::Error;
use crate::exec::execution::{Context, Stop, Watching};
use crate::model::notice::Notice;
use crate::model::outcome::Reason;
use crate::workspace::{Preparation, State};

/// Decides about all such programs.
pub(super) fn confirm(
    preparation: &mut Preparation,
    options: &Options,
    context: Context<'_>,
    reporter: &mut dyn Reporter,
) -> Result<(), Error> {
    for number in 0..preparation.benchmarks.len() {
        let prepared = &preparation.benchmarks[number];
        let State::Same(_, moved) = prepared.state else { continue };
        let benchmark = prepared.benchmark.name.clone();
        let seen = look_at(preparation, number, options, context, reporter);
        let notice = match seen.map_err(Stop::into_error)? {
            Ok(reason) => {
                preparation.benchmarks[number].state = State::Identical(reason);
                Notice::Identical { benchmark, moved }
            }
            Err(why) => Notice::SameProgram { benchmark, why },
        };
        reporter.notice(notice);
    }
    Ok(())
}

/// Whether a run of the program of this number does the same on both sides, or why that is not
/// known.
fn look_at(
    preparation: &Preparation,
    number: usize,
    options: &Options,
    context: Context<'_>,
    reporter: &mut dyn Reporter,
) -> Result<Result<Reason, String>, Stop> {
    let changed = &preparation.moves.changed;
    let (filter, several) = (options.request.filter.as_deref(), preparation.benchmarks.len() > 1);
    let (prepared, scratch) = (&preparation.benchmarks[number], preparation.scratch.path());
    let program = ComparedProgram::of(prepared, scratch, number, filter, several)?;
    let unrun = Reason { changed_files: changed.len(), ..Reason::default() };
    let Some(mut program) = program else { return Ok(Ok(unrun)) };
    if program.is_left_out() || program.execution.needs_no_run() {
        return Ok(Ok(unrun));
    }
    reporter.event(Event::Watching { program: &prepared.benchmark.name, place: None });
    // A run that takes longer could not be measured, either.
    let deadline = Instant::now() + preparation.settings.limits.time;
    let tracer = &options.request.trace;
    let mut watcher = match Watcher::of_equal(&mut program, changed, tracer, deadline, context) {
        Ok(watcher) => watcher,
        Err(why) => return Ok(Err(why)),
    };
    let seen = watcher.look_at_all();
    watcher.watching.as_ref().map(Watching::keep);
    seen
}
