//! Programs whose executables are the same on both sides, in commits that differ in files. A
//! traced run shows whether they open any of these; if that is not known, they are measured.

use std::time::Instant;

use super::options::Call;
use super::program::ComparedProgram;
use super::session::Session;
use super::unaffected::ProgramTracer;
use crate::engine::{Event, Reporter};
use crate::error::Error;
use crate::exec::execution::{SideProgram, Stop, Unknown};
use crate::model::{BenchmarkNotice, SameReason};
use crate::workspace::{Preparation, State};

/// Decides about all such programs.
pub(super) fn confirm(
    preparation: &mut Preparation,
    call: Call<'_>,
    reporter: &mut dyn Reporter,
) -> Result<(), Error> {
    for number in 0..preparation.benchmarks.len() {
        let prepared = &preparation.benchmarks[number];
        let State::Same(_, moved) = prepared.state else { continue };
        match trace_both(preparation, number, call, reporter) {
            Ok(reason) => {
                let prepared = &mut preparation.benchmarks[number];
                prepared.state = State::Identical(reason);
                let notice = BenchmarkNotice::Identical { moved };
                reporter.notice(notice.about(&prepared.benchmark.name));
            }
            Err(unknown) => {
                preparation.benchmarks[number].unconfirmed = Some(unknown.reason()?);
            }
        }
    }
    Ok(())
}

/// Says why such programs are measured anyway, unless all that is left of them is unaffected.
pub(super) fn report(session: &mut Session<'_, '_>) {
    for program in session.programs.iter().filter(|one| !one.found.benchmarks.is_empty()) {
        if let Some(why) = program.prepared.unconfirmed.clone() {
            let notice = BenchmarkNotice::SameProgram { why };
            session.reporter.notice(notice.about(&program.name()));
        }
    }
}

/// How it is known that a run of the program of this number does the same on both sides.
fn trace_both(
    preparation: &Preparation,
    number: usize,
    call: Call<'_>,
    reporter: &mut dyn Reporter,
) -> Result<SameReason, Unknown> {
    let changed = &preparation.about.moves.changed;
    let program = ComparedProgram::of(preparation, number, call);
    let unrun = SameReason { changed_files: changed.len(), ..SameReason::default() };
    let Some(mut program) = program.map_err(Stop::from)? else { return Ok(unrun) };
    if program.is_left_out() || program.execution.needs_no_run() {
        return Ok(unrun);
    }
    let name = &preparation.benchmarks[number].benchmark.name;
    reporter.event(Event::Watching { program: name, place: None, is_slow: false });
    if !program.both_sides(SideProgram::can_run_once) {
        program.limit_rounds().map_err(Unknown::Stopped)?;
    }
    let traced = ProgramTracer::of_equal(&mut program, changed, &call.options.request.trace);
    let mut traced = traced?;
    // A run that takes longer could not be measured, either.
    traced.deadline = Instant::now() + preparation.settings.limits.time;
    traced.see_all()
}
