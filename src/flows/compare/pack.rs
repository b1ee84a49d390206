//! `pack`: everything up to the first measured run, for `compare` on other machines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::layouts::seeds;
use super::options::{Call, Options};
use super::program::{ComparedProgram, link_fault};
use super::session::Session;
use super::units::Builds;
use super::{aligned, planned, planning, prepare, same, warm_up};
use crate::engine::{Event, PATIENCE, Plan, Recorder, Reporter};
use crate::error::Error;
use crate::exec::execution::{Context, SideProgram};
use crate::exec::program::LinkedElsewhere;
use crate::model::{BenchmarkNotice, Divisible, Layouts, Notice, Pair, Side};
use crate::workspace::pack::Pack;

/// What is in a pack.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packed {
    /// Its length, bytes.
    pub bytes: u64,
    /// How long packing took, seconds.
    pub seconds: f64,
    /// How many benchmarks have to be measured.
    pub affected: usize,
    /// How many benchmarks the change does not affect, on this machine.
    pub unaffected: usize,
    /// The number of layouts of each side of a program.
    pub layouts: u64,
}

/// Prepares a comparison and writes it to a file, with this number of layouts of each side.
///
/// # Errors
/// If it can't be prepared, or the file can't be written.
pub fn pack(
    options: &Options,
    (file, layouts): (&Path, Layouts),
    context: Context<'_>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Packed, Error> {
    let call = Call::new(options, context);
    let place = Pack::destination(file)?;
    let reporter = &mut Recorder::new(on_event);
    let mut builds = Builds::first(options);
    loop {
        let mut preparation = prepare(&options.request, &mut builds, context, reporter)?;
        // What was seen of runs here is seen again where they are measured.
        let mut pack = Pack::of(&preparation, &options.request, &reporter.notices);
        same::confirm(&mut preparation, call, reporter)?;
        let mut session = Session::of(call, &preparation, reporter)?;
        let mut made = Vec::new();
        let linked = link(&mut session, &mut builds, layouts, &mut pack, &mut made);
        if let Ok(None) = linked {
            reporter.begin_again();
            continue;
        }
        let mut programs = session.programs;
        let not_aligned = |notice: &&Notice| {
            matches!(notice, Notice::Benchmark { notice: BenchmarkNotice::NotAligned { .. }, .. })
        };
        pack.notices.extend(reporter.notices.iter().filter(not_aligned).cloned());
        pack.notices.extend(builds.notice());
        let written = linked.and_then(|packed| {
            let bytes = pack.write(&place, context.interrupt)?;
            Ok(Packed {
                bytes,
                seconds: call.start.elapsed().as_secs_f64(),
                ..packed.unwrap_or_default()
            })
        });
        made.iter().for_each(|path| drop(std::fs::remove_file(path)));
        for program in &mut programs {
            program.each_side().try_for_each(SideProgram::unalign)?;
        }
        return written;
    }
}

/// Finds out what is affected, and links it aligned and in random layouts; `None` if other builds
/// are to be packed. The files are `made`.
fn link(
    session: &mut Session<'_, '_>,
    builds: &mut Builds,
    layouts: Layouts,
    pack: &mut Pack,
    made: &mut Vec<PathBuf>,
) -> Result<Option<Packed>, Error> {
    let mut packed = Packed::default();
    if session.programs.is_empty() {
        return Ok(Some(packed));
    }
    let plan = session.with_hooks(|session| {
        warm_up::discover(session, &mut builds.warm_ups)?;
        pack.about.costs = planning::divisible(session);
        let Some((mut plan, _)) = planned(session, builds)? else { return Ok(None) };
        set_seconds(&mut pack.about.costs, &plan, &session.programs);
        if layouts != Layouts::Auto {
            plan.layouts = layouts;
        }
        aligned::align(session, &plan)?;
        Ok(Some(plan))
    })?;
    let Some(plan) = plan else { return Ok(None) };
    for ComparedProgram { found, .. } in &session.programs {
        packed.affected += found.benchmarks.len();
        packed.unaffected += found.unaffected.len();
    }
    packed.layouts = number_of_layouts(&plan, packed.affected + packed.unaffected);
    for (number, program) in session.programs.iter().enumerate() {
        // Stored with the builds, which are packed.
        let _ = program.changed_functions();
        if !aligned::is_placed(&plan, number) || program.check_relink().is_err() {
            continue;
        }
        let seeds = |layout| seeds(session.call.options.seed, number, layout);
        let linked = link_layouts(program, (packed.layouts, &seeds), made, session.reporter);
        // Where one can't be linked, the machines that measure use copies, as this one would.
        let linked = match linked {
            Err(error) if error.is_interrupt() => return Err(error),
            Err(error) => Err(link_fault(&error)),
            Ok(_) if packed.layouts == 0 => Err("it was packed with `--layouts off`".to_owned()),
            Ok(linked) => Ok(linked),
        };
        for side in Side::BOTH {
            let layouts = linked.as_ref().map(|linked| linked[side].clone()).map_err(String::clone);
            let aligned = program.sides[side].aligned().cloned().zip(program.aligned);
            pack.add_linked(program.number, side, LinkedElsewhere { aligned, layouts });
        }
    }
    Ok(Some(packed))
}

/// Links so many layouts of a program; returns their files.
fn link_layouts(
    program: &ComparedProgram<'_>,
    (count, seeds): (u64, &dyn Fn(u64) -> Pair<u32>),
    made: &mut Vec<PathBuf>,
    reporter: &mut dyn Reporter,
) -> Result<Pair<Vec<PathBuf>>, Error> {
    let mut layouts = Pair::<Vec<PathBuf>>::default();
    for layout in 0..count {
        let place = Some((layout as usize + 1, count as usize));
        reporter.event(Event::Linking { program: &program.found.program, layout: place });
        for side in Side::BOTH {
            let path = program.sides[side].path_of_layout(layout);
            made.push(path.clone());
            let context = program.execution.context;
            program.sides[side].link_layout(seeds(layout)[side], &path, context)?;
            layouts[side].push(path);
        }
    }
    Ok(layouts)
}

/// Sets how long each benchmark takes at least. What is unaffected is only traced again.
fn set_seconds(costs: &mut [Divisible], plan: &Plan, programs: &[ComparedProgram<'_>]) {
    let mut seconds: BTreeMap<&str, f64> = BTreeMap::new();
    for ComparedProgram { found, .. } in programs {
        let own = found.pair_seconds / found.most_reported() as f64;
        seconds.extend(found.unaffected.iter().map(|one| (one.name.as_str(), own)));
    }
    for group in &plan.groups {
        let least = plan.least_pairs_in(group).unwrap_or(0) as f64 * group.pair_seconds;
        let own = &plan.benchmarks[group.benchmarks.clone()];
        seconds.extend(own.iter().map(|one| (one.name.as_str(), least / own.len() as f64)));
    }
    for one in costs {
        one.seconds = seconds.get(one.benchmark.as_str()).copied().unwrap_or(0.0);
    }
}

/// How many layouts are linked: as many as a test over them has before it waits for the pairs as
/// built, also where all of so many benchmarks are measured.
fn number_of_layouts(plan: &Plan, benchmarks: usize) -> u64 {
    match plan.layouts {
        Layouts::Off => 0,
        Layouts::Number(number) => number.into(),
        Layouts::Auto if plan.tests() == 0 => 0,
        Layouts::Auto => {
            let of_tests = Some(benchmarks.max(plan.tests()));
            PATIENCE * Plan { of_tests, ..plan.clone() }.least_pairs()
        }
    }
}
