//! Programs whose executables are the same on both sides, in commits that differ in files. A
//! traced run shows whether they open any of these; if that is not known, they are measured.

use std::time::Instant;

use super::unaffected::ProgramTracer;
use super::{ComparedProgram, Discovery, Options, Session};
use crate::engine::{Event, Reporter};
use crate::error::Error;
use crate::exec::execution::{Context, Stop, Unknown};
use crate::model::{Notice, SameReason};
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
        match trace_both(preparation, number, options, context, reporter) {
            Ok(reason) => {
                preparation.benchmarks[number].state = State::Identical(reason);
                reporter.notice(Notice::Identical { benchmark, moved });
            }
            Err(unknown) => {
                let why = unknown.reason().map_err(Stop::into_error)?;
                preparation.benchmarks[number].unconfirmed = Some(why);
            }
        }
    }
    Ok(())
}

/// Says why such programs are measured anyway, unless all that is left of them is unaffected.
pub(super) fn report(session: &mut Session<'_, '_>, found: &[Discovery]) {
    for (program, found) in session.programs.iter().zip(found) {
        let prepared = &session.preparation.benchmarks[program.number];
        if let (Some(why), false) = (&prepared.unconfirmed, found.benchmarks.is_empty()) {
            let (benchmark, why) = (prepared.benchmark.name.clone(), why.clone());
            session.reporter.notice(Notice::SameProgram { benchmark, why });
        }
    }
}

/// How it is known that a run of the program of this number does the same on both sides.
fn trace_both(
    preparation: &Preparation,
    number: usize,
    options: &Options,
    context: Context<'_>,
    reporter: &mut dyn Reporter,
) -> Result<SameReason, Unknown> {
    let (changed, filter) = (&preparation.moves.changed, options.request.filter.as_deref());
    let program = ComparedProgram::of(preparation, number, filter, context);
    let unrun = SameReason { changed_files: changed.len(), ..SameReason::default() };
    let Some(mut program) = program.map_err(Stop::from)? else { return Ok(unrun) };
    if program.is_left_out() || program.execution.needs_no_run() {
        return Ok(unrun);
    }
    let name = &preparation.benchmarks[number].benchmark.name;
    reporter.event(Event::Watching { program: name, place: None });
    // A run that takes longer could not be measured, either.
    let deadline = Instant::now() + preparation.settings.limits.time;
    let tracer = &options.request.trace;
    let mut traced = ProgramTracer::of_equal(&mut program, changed, tracer, deadline)?;
    let seen = traced.see_all();
    traced.keep();
    seen
}
