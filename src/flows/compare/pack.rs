//! `pack`: everything up to the first measured run, for `compare` on other machines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::discovery::Discovery;
use super::layouts::seeds;
use super::program::ComparedProgram;
use super::session::Session;
use super::units::Builds;
use super::{Options, Planned, aligned, division, planned, prepare, program, same, warm_up};
use crate::engine::event::{Event, Recorder};
use crate::engine::plan::Plan;
use crate::engine::stages::PATIENCE;
use crate::error::Error;
use crate::exec::execution::{Context, SideProgram};
use crate::exec::program::LinkedElsewhere;
use crate::flows::hooks::with_hooks;
use crate::model::layouts::Layouts;
use crate::model::notice::Notice;
use crate::model::shard::Divisible;
use crate::model::side::{Pair, Side};
use crate::workspace::Preparation;
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
    let start = Instant::now();
    let place = Pack::destination(file)?;
    let reporter = &mut Recorder::new(on_event);
    let mut builds = Builds::first(options);
    loop {
        let mut preparation = prepare(&options.request, &mut builds, context, reporter)?;
        // What was seen of runs here is seen again where they are measured.
        let mut pack = Pack::of(&preparation, &options.request, &reporter.notices);
        same::confirm(&mut preparation, options, context, reporter)?;
        let mut programs = program::programs(&preparation, None, reporter)?;
        let mut packed = Packed::default();
        let wanted = (options, layouts);
        let mut made = Vec::new();
        let linked = if programs.is_empty() {
            Ok(true)
        } else {
            let session =
                Session { programs: &mut programs, context, start, reporter: &mut *reporter };
            link(session, &preparation, wanted, &mut builds, &mut pack, &mut packed, &mut made)
        };
        if let Ok(false) = linked {
            reporter.begin_again();
            continue;
        }
        let not_aligned = |notice: &&Notice| matches!(notice, Notice::NotAligned { .. });
        pack.notices.extend(reporter.notices.iter().filter(not_aligned).cloned());
        pack.notices.extend(builds.notice());
        let written = linked.and_then(|_| pack.write(&place, context.interrupt));
        made.iter().for_each(|path| drop(std::fs::remove_file(path)));
        programs.iter_mut().try_for_each(|one| one.try_sides(SideProgram::unalign))?;
        return Ok(Packed { bytes: written?, seconds: start.elapsed().as_secs_f64(), ..packed });
    }
}

/// Finds out what is affected, and links it aligned and in random layouts, which are added to the
/// pack and to `made`. False if other builds are to be packed.
fn link(
    session: Session<'_, '_>,
    preparation: &Preparation,
    (options, layouts): (&Options, Layouts),
    builds: &mut Builds,
    pack: &mut Pack,
    packed: &mut Packed,
    made: &mut Vec<PathBuf>,
) -> Result<bool, Error> {
    let Session { programs, context, start, reporter } = session;
    let plan = with_hooks(programs, ComparedProgram::hook, context, |programs| {
        let session = &mut Session { programs, context, start, reporter: &mut *reporter };
        let filter = options.request.filter.as_deref();
        let mut found = warm_up::discover(session, preparation, filter)?;
        let mut costs = division::divisible(session.programs, &found, preparation);
        let planned = planned(session, &mut found, preparation, options, builds)?;
        let Some(Planned { mut plan, .. }) = planned else { return Ok(None) };
        set_seconds(&mut costs, &plan, &found);
        pack.costs = costs;
        match layouts {
            Layouts::Auto => {}
            wanted => plan.layouts = wanted,
        }
        packed.affected = found.iter().map(|found| found.benchmarks.len()).sum();
        packed.unaffected = found.iter().map(|found| found.unaffected.len()).sum();
        aligned::align(session, &plan)?;
        Ok(Some(plan))
    })?;
    let Some(plan) = plan else { return Ok(false) };
    packed.layouts = number_of_layouts(&plan, packed.affected + packed.unaffected);
    for (number, program) in programs.iter().enumerate() {
        // Stored with the builds, which are packed.
        let _ = program.changed_functions();
        if !aligned::is_placed(&plan, number) || program.check_relink().is_err() {
            continue;
        }
        let mut layouts = Pair::<Vec<PathBuf>>::default();
        for layout in 0..packed.layouts {
            let place = (layout as usize + 1, packed.layouts as usize);
            let name = &program.execution.benchmark.name;
            reporter.event(Event::Linking { program: name, place });
            let seeds = seeds(options.seed, number, layout);
            for side in Side::BOTH {
                let path = program.sides[side].path_of_layout(layout);
                program.sides[side].link_layout(seeds[side], &path, context)?;
                made.push(path.clone());
                layouts[side].push(path);
            }
        }
        let off = "it was packed with `--layouts off`";
        for side in Side::BOTH {
            let layouts = std::mem::take(&mut layouts[side]);
            let layouts = if layouts.is_empty() { Err(off.to_owned()) } else { Ok(layouts) };
            let aligned = program.sides[side].aligned().cloned().zip(program.aligned);
            pack.add_linked(program.number, side, LinkedElsewhere { aligned, layouts });
        }
    }
    Ok(true)
}

/// Sets how long each benchmark takes at least. What is unaffected is only traced again.
fn set_seconds(costs: &mut [Divisible], plan: &Plan, found: &[Discovery]) {
    let mut seconds: BTreeMap<&str, f64> = BTreeMap::new();
    for found in found {
        let own = found.pair_seconds / found.most_reported() as f64;
        seconds.extend(found.unaffected.iter().map(|(name, _)| (name.as_str(), own)));
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
