//! Executables in which what did not change is at the same addresses. They are measured
//! instead of those as built, so that an edit does not make other code faster or slower by
//! moving it.

use std::path::PathBuf;
use std::time::Instant;

use super::layouts::depends_on_layout;
use super::program::{ComparedProgram, link_fault};
use super::session::Session;
use crate::engine::{Event, Plan};
use crate::error::Error;
use crate::exec::execution::{SideProgram, Stop, Unknown};
use crate::model::{BenchmarkId, BenchmarkNotice, Layouts, Pair, RunLength, Side};
use crate::workspace::functions::Alignment;

/// How often both sides are linked at most.
const MOST_LINKS: usize = 3;

/// Aligns the programs of a plan that can be linked again and whose metrics depend on the
/// placement of code. A notice says why one of them can't be aligned.
pub(super) fn align(session: &mut Session<'_, '_>, plan: &Plan) -> Result<(), Error> {
    if plan.layouts == Layouts::Off {
        return Ok(());
    }
    let Session { programs, reporter, .. } = session;
    let numbered = programs.iter_mut().enumerate();
    for (number, program) in numbered.filter(|(number, _)| is_placed(plan, *number)) {
        if program.both_sides(|side| side.linked_elsewhere().is_some()) {
            program.sides.base.use_aligned()?;
            program.aligned = program.sides.head.use_aligned()?;
            continue;
        }
        if program.check_relink().is_err() {
            continue;
        }
        reporter.event(Event::Linking { program: &program.found.program, layout: None });
        match aligned(program, plan, number) {
            Ok(share) => program.aligned = Some(share),
            Err(why) => {
                program.each_side().try_for_each(SideProgram::unalign)?;
                let why = match why {
                    Unknown::Because(why, _) => why,
                    Unknown::Stopped(Stop::Error(error)) => link_fault(&error),
                    Unknown::Stopped(stop) => return Err(stop.into()),
                };
                reporter.notice(BenchmarkNotice::NotAligned { why }.about(&program.name()));
            }
        }
    }
    Ok(())
}

/// Whether a metric that gates in the program of this number depends on the placement of code.
pub(super) fn is_placed(plan: &Plan, number: usize) -> bool {
    let own = plan.groups.iter().filter(|group| group.program == number);
    let mut own = own.flat_map(|group| &plan.benchmarks[group.benchmarks.clone()]);
    own.any(|one| one.gating().any(|(_, metric, _)| depends_on_layout(metric)))
}

/// Links both sides of a program aligned, and runs a benchmark of each once. Returns which
/// share of the code that both have is at the same addresses.
fn aligned(program: &mut ComparedProgram<'_>, plan: &Plan, number: usize) -> Result<f64, Unknown> {
    let context = program.execution.context;
    let mut alignment = Alignment::of(program.built)?;
    let mut links = 0;
    let share = loop {
        let begin = Instant::now();
        let executables = Pair::try_both(|side| {
            let program = &mut program.sides[side];
            let link = alignment.write(side, &program.folder.join("aligned"));
            let executable = program.align(&link?, context);
            executable.map_err(|error| Unknown::from(Stop::from(error)))
        })?;
        program.link_seconds = Some(begin.elapsed().as_secs_f64());
        let executables = executables.as_ref().map(PathBuf::as_path);
        let (share, again) = alignment.check(executables)?;
        links += 1;
        if !again || links == MOST_LINKS {
            break share;
        }
    };
    let first = plan.groups.iter().find(|group| group.program == number);
    let first = first.map(|group| BenchmarkId(group.benchmarks.start));
    program.pair(plan, first.as_slice(), Side::Base, RunLength::Probe, None)?;
    Ok(share)
}
