//! Benchmarks that a change can't have affected: they enter none of the functions that
//! differ between the sides, and access none of the files that differ. They need no runs,
//! and have no share in the error rate.
//!
//! Why that is enough: a program starts in the same way on both sides, and proceeds in the
//! same way from function to function until it enters one that differs. Constants, vtables
//! and variables count as parts of the functions that refer to them (see
//! `workspace::functions`). What can't be traced is measured. `docs/unaffected.md`
//! explains the details and the limits.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::time::{Duration, Instant};

use super::Options;
use super::accesses::Folders;
use super::discovery::Discovery;
use super::lengths::spread;
use super::program::{ComparedProgram, NO_BENCHMARK};
use super::session::Session;
use crate::engine::event::{Event, Reporter};
use crate::error::Error;
use crate::exec::execution::{Context, Stop, Watching};
use crate::exec::process::trace::Breakpoints;
use crate::model::notice::Notice;
use crate::model::outcome::{FunctionCounts, Reason};
use crate::model::side::{Pair, Side};
use crate::workspace::{LineMoves, functions};

/// How long tracing may take, as a fraction of the time limit and in addition to it.
const PART: f64 = 0.1;

/// How long a program without a changed function may be traced, in pairs.
const MOST_PAIRS: f64 = 2.0;

/// Why a run is not known to be the same on both sides, as the end of a sentence about the
/// program.
type Unknown = String;

impl Session<'_, '_> {
    /// Leaves out the unaffected benchmarks, until a part of the time `limit` is used up.
    pub(super) fn leave_unaffected(
        &mut self,
        discoveries: &mut [Discovery],
        options: &Options,
        limit: Duration,
    ) -> Result<(), Error> {
        let request = &options.request;
        if request.aa || request.always_run || request.measure_all || options.shard.is_some() {
            return Ok(());
        }
        let all: usize = discoveries.iter().map(|found| found.benchmarks.len()).sum();
        let mut has_same_code = true;
        let mut deadline = Instant::now() + limit.mul_f64(PART);
        for (number, discovery) in discoveries.iter_mut().enumerate() {
            let Session { programs, context, reporter, moves, .. } = self;
            let program = &mut programs[number];
            if discovery.benchmarks.is_empty() {
                continue;
            }
            let begin = Instant::now();
            let mut watcher = match Watcher::new(program, moves, &request.trace, *context) {
                Ok(watcher) => watcher,
                Err(why) => {
                    let benchmark = &program.execution.benchmark.name;
                    reporter.event(Event::AllMeasured { benchmark, why: &why });
                    has_same_code = false;
                    continue;
                }
            };
            // Only runs count.
            deadline += begin.elapsed();
            watcher.deadline = deadline;
            let is_same_code = watcher.has_same_code();
            let begin = Instant::now();
            if is_same_code {
                // It is traced once on each side, which takes about as long as a pair and saves
                // all of its pairs.
                let pairs = Duration::from_secs_f64(MOST_PAIRS * discovery.pair_seconds);
                watcher.deadline = deadline.max(begin + pairs);
            }
            let looked = watcher.look_at(discovery, *reporter);
            watcher.watching.as_ref().map(Watching::keep);
            looked.map_err(Stop::into_error)?;
            if is_same_code {
                deadline += begin.elapsed();
            }
            has_same_code &= is_same_code;
        }
        let benchmarks: usize = discoveries.iter().map(|found| found.unaffected.len()).sum();
        if benchmarks > 0 {
            has_same_code &= benchmarks == all;
            self.notice(Notice::Unaffected { benchmarks, of: all, has_same_code });
        }
        Ok(())
    }
}

/// Traces the benchmarks of a program.
pub(super) struct Watcher<'w, 'a> {
    program: &'w mut ComparedProgram<'a>,
    pub(super) watching: Pair<Watching>,
    /// The functions that differ between the sides: their addresses and names.
    changed: Pair<BTreeMap<u64, String>>,
    /// The number of functions of each side, if they were compared.
    compared: Option<Pair<usize>>,
    folders: Folders<'w>,
    pub(super) deadline: Instant,
    context: Context<'w>,
}

/// What was seen of a run on both sides, which differs at most by the functions that it entered.
#[derive(Debug, Default)]
struct Seen {
    /// The addresses of these functions.
    entered: Pair<BTreeSet<u64>>,
    /// The files and folders of the repository that it accessed.
    accessed: BTreeSet<String>,
}

impl<'w, 'a> Watcher<'w, 'a> {
    /// That of a program whose functions may differ.
    ///
    /// # Errors
    /// Why all of its benchmarks have to be measured.
    fn new(
        program: &'w mut ComparedProgram<'a>,
        moves: &'w LineMoves,
        tracer: &[OsString],
        context: Context<'w>,
    ) -> Result<Self, Unknown> {
        let folders = program.folders(&moves.changed)?;
        if let Some(runner) = Side::BOTH.into_iter().find_map(|side| program.runner(side)) {
            return Err(format!("`{}` runs them, and is traced instead", runner.display()));
        }
        let places = functions::places(program.built, moves)?;
        let breakpoints = places.as_ref().map(|places| &places.all);
        let watching = watching(program, tracer, breakpoints)?;
        let compared = Some(places.as_ref().map(|places| places.all.places.len()));
        let changed = places.map(|places| places.changed);
        let deadline = Instant::now();
        Ok(Watcher { program, watching, changed, compared, folders, deadline, context })
    }

    /// That of a program whose executables are equal in all that is loaded.
    ///
    /// # Errors
    /// Why it has to be measured.
    pub(super) fn of_equal(
        program: &'w mut ComparedProgram<'a>,
        changed: &'w [String],
        tracer: &[OsString],
        deadline: Instant,
        context: Context<'w>,
    ) -> Result<Self, Unknown> {
        let folders = program.folders(changed)?.of_equal(program.built);
        let none = Breakpoints::default();
        let watching = watching(program, tracer, Pair { base: &none, head: &none })?;
        let changed = Pair::default();
        Ok(Watcher { program, watching, changed, compared: None, folders, deadline, context })
    }

    /// Whether a run of all its benchmarks does the same on both sides, and how that is known.
    pub(super) fn look_at_all(&mut self) -> Result<Result<Reason, Unknown>, Stop> {
        Ok(self.see(None)?.map(|seen| self.reason(&seen)))
    }

    /// How it is known that a run does the same on both sides.
    fn reason(&self, seen: &Seen) -> Reason {
        let most = |number: &dyn Fn(Side) -> usize| number(Side::Base).max(number(Side::Head));
        let functions = self.compared.map(|compared| FunctionCounts {
            compared: most(&|side| compared[side]),
            differ: most(&|side| self.changed[side].len()),
            entered: most(&|side| seen.entered[side].len()),
        });
        let changed_files = self.folders.changed.len();
        Reason { functions, changed_files, accessed: Some(seen.accessed.clone()) }
    }

    /// Removes the unaffected benchmarks from a discovery.
    fn look_at(
        &mut self,
        discovery: &mut Discovery,
        reporter: &mut dyn Reporter,
    ) -> Result<(), Stop> {
        let count = discovery.benchmarks.len();
        let names: Vec<Option<String>> =
            discovery.benchmarks.iter().map(|one| one.inner.clone()).collect();
        let is_alone = count == 1 || !self.program.can_leave();
        let has_more = count < discovery.most_reported() && self.program.can_leave();
        let only = names.first().filter(|_| count == 1 && has_more);
        let only = only.and_then(Option::as_deref);
        if is_alone || self.has_same_code() {
            let program = &self.program.execution.benchmark.name;
            reporter.event(Event::Watching { program, place: None });
            let all: BTreeSet<_> =
                discovery.benchmarks.iter().map(|one| one.name.clone()).collect();
            match self.see(only)?.map(|seen| (self.changed_of(&seen), self.reason(&seen))) {
                Ok((entered, reason)) if entered.is_empty() => {
                    discovery.leave_out(all.into_iter().map(|one| (one, reason.clone())).collect());
                    return Ok(());
                }
                Ok((entered, _)) if count == 1 => {
                    discovery.entered.extend(all.into_iter().map(|name| (name, entered.clone())));
                }
                Err(why) if is_alone => {
                    let benchmark = &self.program.execution.benchmark.name;
                    reporter.event(Event::AllMeasured { benchmark, why: &why });
                }
                _ => {}
            }
        }
        if is_alone {
            return Ok(());
        }
        // What is entered before the first benchmark is entered by all.
        let before = self.see(Some(NO_BENCHMARK))?.and_then(|seen| {
            match self.changed_of(&seen).pop_first() {
                Some(name) => Err(format!("it enters `{name}`, which differs")),
                None => Ok(seen),
            }
        });
        match before {
            Ok(before) => {
                for side in Side::BOTH {
                    // If this fails, tracing only takes longer.
                    let _ = self.watching[side].leave_out(&before.entered[side]);
                }
            }
            Err(why) => {
                let benchmark = &self.program.execution.benchmark.name;
                let why = format!("before the first of them, {why}");
                reporter.event(Event::AllMeasured { benchmark, why: &why });
                return Ok(());
            }
        }
        let mut unaffected = BTreeMap::new();
        for (done, place) in spread(count).enumerate() {
            if Instant::now() >= self.deadline {
                break;
            }
            let program = &self.program.execution.benchmark.name;
            reporter.event(Event::Watching { program, place: Some((done + 1, count)) });
            let found = &discovery.benchmarks[place];
            // The program's own metrics belong to no benchmark.
            let (Some(inner), name) = (&names[place], found.name.clone()) else { continue };
            match self.see(Some(inner))?.map(|seen| (self.changed_of(&seen), self.reason(&seen))) {
                Ok((entered, reason)) if entered.is_empty() => {
                    unaffected.insert(name, reason);
                }
                Ok((entered, _)) => drop(discovery.entered.insert(name, entered)),
                Err(why) => reporter.event(Event::Measured { benchmark: &name, why: &why }),
            }
        }
        discovery.leave_out(unaffected);
        Ok(())
    }

    /// Whether no function differs between the sides.
    fn has_same_code(&self) -> bool {
        Side::BOTH.into_iter().all(|side| self.changed[side].is_empty())
    }

    /// The names of the entered functions that differ between the sides.
    fn changed_of(&self, seen: &Seen) -> BTreeSet<String> {
        let of = |side: Side| {
            let changed = &self.changed[side];
            seen.entered[side].iter().filter_map(|place| changed.get(place).cloned())
        };
        Side::BOTH.into_iter().flat_map(of).collect()
    }

    /// What both sides do when they run a benchmark, or with `None` all of them.
    fn see(&mut self, benchmark: Option<&str>) -> Result<Result<Seen, Unknown>, Stop> {
        let mut both = Pair::default();
        for side in Side::BOTH {
            let watching = &mut self.watching[side];
            let watched =
                self.program.watch(side, benchmark, watching, self.deadline, self.context)?;
            both[side] = match watched {
                Some(watched) => watched,
                None if Instant::now() >= self.deadline => {
                    return Ok(Err("the time for tracing was over".to_owned()));
                }
                None => return Ok(Err("it can't be traced".to_owned())),
            };
        }
        let accessed = self.folders.check(both.as_ref());
        Ok(accessed.map(|accessed| Seen { entered: both.map(|one| one.entered), accessed }))
    }
}

/// How the runs of both sides are traced.
fn watching(
    program: &ComparedProgram<'_>,
    tracer: &[OsString],
    breakpoints: Pair<&Breakpoints>,
) -> Result<Pair<Watching>, Unknown> {
    Pair::try_both(|side| {
        let watching = program.watching(side, tracer, breakpoints[side]);
        watching.map_err(|error| format!("it can't be traced: {error}"))
    })
}
