//! `pack`: everything up to the first measured run, for `compare` on other machines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::layouts::seeds;
use super::program::link_fault;
use super::{
    Builds, ComparedProgram, Discovery, Options, Planned, Session, aligned, division, planned,
    prepare, program, same, warm_up,
};
use crate::engine::{Event, PATIENCE, Plan, Recorder, Reporter};
use crate::error::Error;
use crate::exec::execution::{Context, SideProgram};
use crate::exec::program::LinkedElsewhere;
use crate::flows::hooks::with_hooks;
use crate::model::{Divisible, Layouts, Notice, Pair, Side};
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
        let mut programs = program::programs(&preparation, None, context, reporter)?;
        let packed = Packed::default();
        let mut linking = Linking { layouts, pack: &mut pack, packed, made: Vec::new() };
        let (preparation, reporter) = (&preparation, &mut *reporter);
        let session = Session { programs: &mut programs, preparation, options, start, reporter };
        let linked = linking.link(session, &mut builds, context);
        if let Ok(false) = linked {
            reporter.begin_again();
            continue;
        }
        let Linking { packed, made, .. } = linking;
        let not_aligned = |notice: &&Notice| matches!(notice, Notice::NotAligned { .. });
        pack.notices.extend(reporter.notices.iter().filter(not_aligned).cloned());
        pack.notices.extend(builds.notice());
        let written = linked.and_then(|_| pack.write(&place, context.interrupt));
        made.iter().for_each(|path| drop(std::fs::remove_file(path)));
        programs.iter_mut().try_for_each(|one| one.try_sides(SideProgram::unalign))?;
        return Ok(Packed { bytes: written?, seconds: start.elapsed().as_secs_f64(), ..packed });
    }
}

/// What is linked for a pack.
struct Linking<'p> {
    layouts: Layouts,
    pack: &'p mut Pack,
    packed: Packed,
    /// The files.
    made: Vec<PathBuf>,
}

impl Linking<'_> {
    /// Finds out what is affected, and links it aligned and in random layouts. False if other builds
    /// are to be packed.
    fn link(
        &mut self,
        session: Session<'_, '_>,
        builds: &mut Builds,
        context: Context<'_>,
    ) -> Result<bool, Error> {
        let Session { programs, preparation, options, start, reporter } = session;
        if programs.is_empty() {
            return Ok(true);
        }
        let plan = with_hooks(programs, ComparedProgram::hook, context, |programs| {
            let reporter = &mut *reporter;
            let session = &mut Session { programs, preparation, options, start, reporter };
            let mut found = warm_up::discover(session, &mut builds.warm_ups)?;
            let mut costs = division::divisible(session, &found);
            let planned = planned(session, &mut found, builds)?;
            let Some(Planned { mut plan, .. }) = planned else { return Ok(None) };
            set_seconds(&mut costs, &plan, &found);
            self.pack.costs = costs;
            if self.layouts != Layouts::Auto {
                plan.layouts = self.layouts;
            }
            self.packed.affected = found.iter().map(|found| found.benchmarks.len()).sum();
            self.packed.unaffected = found.iter().map(|found| found.unaffected.len()).sum();
            aligned::align(session, &plan)?;
            Ok(Some(plan))
        })?;
        let Some(plan) = plan else { return Ok(false) };
        let all = self.packed.affected + self.packed.unaffected;
        self.packed.layouts = number_of_layouts(&plan, all);
        for (number, program) in programs.iter().enumerate() {
            // Stored with the builds, which are packed.
            let _ = program.changed_functions();
            if aligned::is_placed(&plan, number) && program.check_relink().is_ok() {
                self.link_layouts(program, (number, options.seed), reporter)?;
            }
        }
        Ok(true)
    }

    /// Links the layouts of a program. Where one can't be linked, the machines that measure use
    /// copies, as this one would.
    fn link_layouts(
        &mut self,
        program: &ComparedProgram<'_>,
        (number, seed): (usize, u64),
        reporter: &mut dyn Reporter,
    ) -> Result<(), Error> {
        let linked = match self.link_all(program, (number, seed), reporter) {
            Err(error) if !error.is_interrupt() => Err(link_fault(&error)),
            linked => Ok(linked?),
        };
        let off = "it was packed with `--layouts off`";
        for side in Side::BOTH {
            let layouts = linked.as_ref().map(|linked| linked[side].clone()).map_err(String::clone);
            let layouts = layouts.and_then(|all| match all.is_empty() {
                true => Err(off.to_owned()),
                false => Ok(all),
            });
            let aligned = program.sides[side].aligned().cloned().zip(program.aligned);
            self.pack.add_linked(program.number, side, LinkedElsewhere { aligned, layouts });
        }
        Ok(())
    }

    /// Links all layouts of a program; returns their files.
    fn link_all(
        &mut self,
        program: &ComparedProgram<'_>,
        (number, seed): (usize, u64),
        reporter: &mut dyn Reporter,
    ) -> Result<Pair<Vec<PathBuf>>, Error> {
        let mut layouts = Pair::<Vec<PathBuf>>::default();
        for layout in 0..self.packed.layouts {
            let place = (layout as usize + 1, self.packed.layouts as usize);
            let name = &program.execution.benchmark.name;
            reporter.event(Event::Linking { program: name, place });
            let seeds = seeds(seed, number, layout);
            for side in Side::BOTH {
                let path = program.sides[side].path_of_layout(layout);
                self.made.push(path.clone());
                let context = program.execution.context;
                program.sides[side].link_layout(seeds[side], &path, context)?;
                layouts[side].push(path);
            }
        }
        Ok(layouts)
    }
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
