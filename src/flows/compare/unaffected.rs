//! Benchmarks that a change can't have affected: they enter none of the functions that
//! differ between the sides, and access none of the files that differ. They need no runs,
//! and have no share in the error rate.
//!
//! Why that is enough: a program starts in the same way on both sides, and proceeds in the
//! same way from function to function until it enters one that differs. Constants, vtables
//! and variables count as parts of the functions that refer to them (see
//! `workspace::functions`). What can't be traced is measured. `docs/unaffected.md`
//! explains the details and the limits.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::time::{Duration, Instant};

use super::accesses::Folders;
use super::discovery::Discovery;
use super::explain::crate_of;
use super::lengths::bit_reversed_order;
use super::program::{ComparedProgram, NO_BENCHMARK};
use super::session::Session;
use crate::engine::{Event, Reporter};
use crate::error::Error;
use crate::exec::execution::{SideProgram, Stop, Unknown, Watching};
use crate::exec::harness;
use crate::exec::process::trace::Breakpoints;
use crate::flows::filter::Selection;
use crate::model::{Dialect, FunctionCounts, Pair, RunLength, SameReason, Side};
use crate::workspace::{Moves, functions};

/// How long tracing may take, as a fraction of the time limit and in addition to it.
const PART: f64 = 0.1;

/// Why a program is measured that there was no time to trace.
const NO_TIME: &str = "there was no time left for tracing (a longer `--time-limit` leaves more)";

/// What to do about a function that differs without an edit, in a crate of several codegen units.
const UNITS: &str = "; if its source is the same, `--codegen-units 1` may keep it unchanged";

/// How many benchmarks are traced in one run at first.
const PART_SIZE: usize = 16;

/// A character that names of benchmarks rarely have: one followed by it is none, although it is
/// searched for in the same way.
const UNUSED: char = '~';

/// By how much the number of names falls from one search for none to the next: an expression of few
/// may be compiled in another way than one of many.
const FEWER: usize = 4;

/// How many pairs an unaffected benchmark saves at least: those for an all-clear.
const SAVED_PAIRS: f64 = 14.0;

/// How long a program without a changed function may be traced, in pairs.
const MOST_PAIRS: f64 = 2.0;

/// From how many seconds a pair on, tracing a whole program is announced.
const SLOW_PAIR: f64 = 10.0;

/// By how much what the loader prepares may differ where the whole process is measured, bytes: four
/// pages, in which two thousand pointers have room. To look up fifty symbols takes as long.
const MOST_PREPARED: u64 = 16 << 10;

/// What was left out.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// The number of benchmarks that are unaffected.
    pub(super) unaffected: usize,
    /// The number of all.
    pub(super) of: usize,
    /// Whether no function of any program differs.
    pub(super) has_same_code: bool,
    /// Whether a function differs of a crate that rustc has divided into codegen units.
    pub(super) has_units: bool,
}

/// Leaves out the unaffected benchmarks of all programs, until a part of the time limit is used
/// up. What is traced runs for `length`. One codegen unit is advised only where it may help.
pub(super) fn leave_out(
    session: &mut Session<'_, '_>,
    length: Duration,
    may_advise_one: bool,
) -> Result<LeftOut, Error> {
    let (preparation, request) = (session.preparation, &session.call.options.request);
    if preparation.about.must_run || request.measure_all {
        return Ok(LeftOut::default());
    }
    let of: usize = session.programs.iter().map(|one| one.found.benchmarks.len()).sum();
    let mut left_out = LeftOut { of, has_same_code: true, ..LeftOut::default() };
    let mut end = Instant::now() + preparation.settings.limits.time.mul_f64(PART);
    let programs = session.programs.iter_mut().filter(|one| !one.found.benchmarks.is_empty());
    for program in programs {
        let begin = Instant::now();
        let traced = ProgramTracer::new(program, &preparation.about.moves, &request.trace, length);
        // Only runs count.
        end += begin.elapsed();
        let mut traced = match traced {
            Ok(traced) => traced,
            Err(why) => {
                report_all(&program.found, &why, session.reporter);
                left_out.has_same_code = false;
                continue;
            }
        };
        traced.edited = preparation.about.changed_crates.as_ref();
        let is_same_code = traced.has_same_code();
        left_out.has_same_code &= is_same_code;
        left_out.has_units |= traced.has_units;
        traced.has_units &= may_advise_one;
        let begin = Instant::now();
        // A program without a changed function is traced once on each side, which takes about as
        // long as a pair and saves all of its pairs: that is worth it even if the time is up.
        let pairs = Duration::from_secs_f64(MOST_PAIRS * traced.program.found.pair_seconds);
        let deadline = if is_same_code { end.max(begin + pairs) } else { end };
        traced.deadline = deadline;
        let looked = traced.look_at(session.reporter);
        traced.keep();
        // What needs no pairs leaves time to trace more.
        if is_same_code {
            end += traced.deadline.saturating_duration_since(deadline) + begin.elapsed();
        } else {
            end = traced.deadline;
        }
        looked?;
    }
    left_out.unaffected = session.programs.iter().map(|one| one.found.unaffected.len()).sum();
    left_out.has_same_code &= left_out.unaffected == of;
    Ok(left_out)
}

/// Whether a function is of a crate with an edited file. Other numbers of codegen units don't keep
/// it unchanged.
fn is_edited(function: &str, crates: Option<&BTreeSet<String>>) -> bool {
    crates.is_some_and(|crates| crates.contains(crate_of(function)))
}

/// Traces the benchmarks of a program.
pub(super) struct ProgramTracer<'w, 'a> {
    program: &'w mut ComparedProgram<'a>,
    watching: Pair<Watching>,
    /// The functions that differ between the sides: their addresses and names.
    changed: Pair<BTreeMap<u64, String>>,
    /// See [`functions::FunctionPlaces::by_locals`].
    by_locals: Pair<BTreeMap<u64, BTreeSet<u64>>>,
    /// The functions that differ and that were registered before the first benchmark. One that no
    /// run was seen to enter may be entered in later iterations, by any of them.
    unseen: Pair<BTreeSet<u64>>,
    /// Whether a function differs of a crate that rustc has divided into codegen units.
    has_units: bool,
    /// The crates with an edited file, if they are known.
    edited: Option<&'w BTreeSet<String>>,
    /// The number of functions of each side, if they were compared.
    compared: Option<Pair<usize>>,
    folders: Folders<'w>,
    /// How long a run measures a benchmark.
    length: RunLength,
    /// Whether a run that executes each benchmark once shows all that a longer one would: no code
    /// differs, and the executables don't name a file that does.
    is_once_enough: bool,
    pub(super) deadline: Instant,
}

/// What was seen of a run on both sides, which differs at most by the functions that it entered.
#[derive(Debug, Default)]
struct Seen {
    /// The addresses of these functions.
    entered: Pair<BTreeSet<u64>>,
    /// The files and folders of the repository that it accessed.
    accessed: BTreeSet<String>,
}

impl<'w, 'a> ProgramTracer<'w, 'a> {
    /// Of a program whose functions may differ.
    ///
    /// # Errors
    /// Why all of its benchmarks have to be measured.
    fn new(
        program: &'w mut ComparedProgram<'a>,
        moves: &'w Moves,
        tracer: &[OsString],
        length: Duration,
    ) -> Result<Self, String> {
        let folders = program.folders(&moves.changed)?;
        if let Some(runner) = Side::BOTH.into_iter().find_map(|side| program.runner(side)) {
            return Err(format!("`{}` runs them, and is traced instead", runner.display()));
        }
        let places = functions::places(program.built, moves)?;
        let (base, head) = (places.base.prepared, places.head.prepared);
        if program.dialect() == Dialect::Plain && base.abs_diff(head) > MOST_PREPARED {
            return Err(format!(
                "before it begins, {base} bytes are prepared on the base and {head} on the head"
            ));
        }
        let breakpoints = places.as_ref().map(|places| &places.all);
        let mut tracer = ProgramTracer::of(program, folders, tracer, breakpoints)?;
        tracer.compared = Some(places.as_ref().map(|places| places.all.places.len()));
        tracer.by_locals = places.as_ref().map(|places| places.by_locals.clone());
        tracer.has_units = places.base.has_units;
        tracer.changed = places.map(|places| places.changed);
        tracer.is_once_enough &= tracer.has_same_code();
        if !tracer.is_once_enough {
            tracer.length = RunLength::Traced(length);
        }
        Ok(tracer)
    }

    /// Of a program whose executables are equal in all that is loaded.
    ///
    /// # Errors
    /// Why it has to be measured.
    pub(super) fn of_equal(
        program: &'w mut ComparedProgram<'a>,
        changed: &'w [String],
        tracer: &[OsString],
    ) -> Result<Self, String> {
        let folders = program.folders(changed)?.of_equal(program.built);
        let none = Breakpoints::default();
        ProgramTracer::of(program, folders, tracer, Pair { base: &none, head: &none })
    }

    /// Of a program without a function that differs.
    fn of(
        program: &'w mut ComparedProgram<'a>,
        folders: Folders<'w>,
        tracer: &[OsString],
        breakpoints: Pair<&Breakpoints>,
    ) -> Result<Self, String> {
        let watching = Pair::try_both(|side| {
            let watching = Watching::new(&program.sides[side], tracer, breakpoints[side]);
            watching.map_err(|error| format!("it can't be traced: {error}"))
        })?;
        // Sources are compiled into the executables, and named by what may panic.
        let files = folders.changed.iter().filter(|path| !path.ends_with(".rs"));
        let files: Vec<String> = files.cloned().collect();
        let is_once_enough =
            program.both_sides(|side| !harness::names_any(&side.executable, &files));
        Ok(ProgramTracer {
            program,
            watching,
            changed: Pair::default(),
            by_locals: Pair::default(),
            unseen: Pair::default(),
            has_units: false,
            edited: None,
            compared: None,
            folders,
            length: RunLength::EXECUTED,
            is_once_enough,
            deadline: Instant::now(),
        })
    }

    /// How it is known that a run of all its benchmarks does the same on both sides.
    pub(super) fn see_all(&mut self) -> Result<SameReason, Unknown> {
        let seen = self.see_whole(&[]);
        self.keep();
        Ok(self.reason(&seen?))
    }

    fn keep(&self) {
        self.watching.as_ref().map(Watching::keep);
    }

    /// How it is known that a run does the same on both sides.
    fn reason(&self, seen: &Seen) -> SameReason {
        let most = |number: &dyn Fn(Side) -> usize| number(Side::Base).max(number(Side::Head));
        let functions = self.compared.map(|compared| FunctionCounts {
            compared: most(&|side| compared[side]),
            differ: most(&|side| self.changed[side].len()),
            entered: most(&|side| seen.entered[side].len()),
        });
        let changed_files = self.folders.changed.len();
        SameReason { functions, changed_files, accessed: Some(seen.accessed.clone()) }
    }

    /// Leaves out the unaffected benchmarks of the program.
    fn look_at(&mut self, reporter: &mut dyn Reporter) -> Result<(), Stop> {
        let can_select = self.program.can_select_benchmarks();
        let count = self.program.found.benchmarks.len();
        let is_alone = !can_select || count == 1 && self.has_same_code();
        // If no function differs, one run mostly answers for all of them.
        if is_alone || self.has_same_code() {
            self.look_at_whole(is_alone, reporter)?;
        }
        // One run says nothing about each if they enter something that differs.
        if is_alone || self.program.found.benchmarks.is_empty() {
            return Ok(());
        }
        let Err(unknown) = self.skip_what_all_enter() else {
            return self.look_at_each(reporter);
        };
        let why = match unknown.reason()? {
            why if why == NO_TIME => why,
            why => format!("before the first of them, {why}"),
        };
        report_all(&self.program.found, &why, reporter);
        Ok(())
    }

    /// Looks at one run of all benchmarks.
    fn look_at_whole(&mut self, is_alone: bool, reporter: &mut dyn Reporter) -> Result<(), Stop> {
        let found = &self.program.found;
        let is_slow = found.pair_seconds >= SLOW_PAIR;
        reporter.event(Event::Watching { program: &found.program, place: None, is_slow });
        // Other benchmarks of the program may be on one side only.
        let has_more = found.most_reported() > 1 && self.program.can_select_benchmarks();
        let only = match found.benchmarks.as_slice() {
            [only] if has_more => only.inner.clone(),
            _ => None,
        };
        let seen = match self.see_whole(only.as_deref().as_slice()) {
            Ok(seen) => seen,
            Err(unknown) => {
                let why = unknown.reason()?;
                if is_alone {
                    report_all(&self.program.found, &why, reporter);
                }
                return Ok(());
            }
        };
        let (entered, reason) = (self.changed_of(&seen), self.reason(&seen));
        let found = &mut self.program.found;
        let names = found.benchmarks.iter().map(|one| one.name.clone());
        if entered.is_empty() {
            self.deadline += saved(found) * found.benchmarks.len() as u32;
            found.leave_out(&names.map(|one| (one, reason.clone())).collect());
        } else if let [only] = names.collect::<Vec<_>>().as_slice() {
            found.entered.insert(only.clone(), entered);
        }
        Ok(())
    }

    /// Does not trace again what the program enters before the first benchmark, since all
    /// benchmarks enter that. What only registers functions that differ counts where it is
    /// entered again.
    fn skip_what_all_enter(&mut self) -> Result<(), Unknown> {
        let mut before = self.see(&[NO_BENCHMARK], Some(self.length))?;
        let again = Pair::both(|side| {
            let by_locals = self.by_locals[side].keys();
            by_locals.filter(|place| before.entered[side].contains(*place)).copied().collect()
        });
        let differing = |side: Side| {
            let of_all = before.entered[side].difference(&again[side]);
            of_all.filter_map(|place| self.changed[side].get(place)).next()
        };
        if let Some(name) = Side::BOTH.into_iter().find_map(differing) {
            return Err(format!("it enters {}", self.differing(name)).into());
        }
        if Side::BOTH.into_iter().any(|side| !again[side].is_empty()) {
            self.add_searches(&mut before)?;
        }
        for side in Side::BOTH {
            // What differs by others alone is the same until it enters these.
            let (mut open, mut known): (Vec<u64>, _) = (Vec::new(), again[side].clone());
            open.extend(&known);
            while let Some(place) = open.pop() {
                match self.by_locals[side].get(&place) {
                    Some(referred) => open.extend(referred.iter().filter(|to| known.insert(**to))),
                    None if before.entered[side].contains(&place) => {}
                    None => drop(self.unseen[side].insert(place)),
                }
            }
            // If this fails, tracing only takes longer.
            let _ = self.watching[side].leave_out(&before.entered[side], &again[side]);
        }
        Ok(())
    }

    /// Adds what a harness enters only to find out which of its benchmarks it is to run if there are
    /// several names: that is no benchmark yet, after which what registers them would count.
    fn add_searches(&mut self, before: &mut Seen) -> Result<(), Unknown> {
        let names = self.program.found.benchmarks.iter().filter_map(|one| one.inner.as_deref());
        let unused: Vec<String> = names.clone().map(|name| format!("{name}{UNUSED}")).collect();
        let mut names: Vec<&str> = names.collect();
        let is_used = names.iter().any(|name| unused.iter().any(|one| name.contains(one)));
        if is_used || !self.program.both_sides(SideProgram::can_run_once) {
            return Ok(());
        }
        names = unused.iter().map(String::as_str).collect();
        while names.len() > 1 {
            let seen = match self.see(&names, None) {
                // Tracing only takes longer.
                Err(Unknown::Because(..)) => return Ok(()),
                seen => seen?,
            };
            for side in Side::BOTH {
                let same = seen.entered[side].iter();
                let same = same.filter(|place| !self.changed[side].contains_key(place));
                before.entered[side].extend(same);
            }
            names.truncate(names.len() / FEWER);
        }
        Ok(())
    }

    /// Names a function that differs, with what to do about it.
    fn differing(&self, name: &str) -> String {
        let may_be_kept = self.has_units && !is_edited(name, self.edited);
        format!("`{name}`, which differs{}", if may_be_kept { UNITS } else { "" })
    }

    /// A function that was registered before the first benchmark and that no run entered.
    fn unseen(&self) -> Option<&String> {
        let of =
            |side: Side| self.unseen[side].first().and_then(|place| self.changed[side].get(place));
        Side::BOTH.into_iter().find_map(of)
    }

    /// Finds out about each benchmark, until the deadline: first of all that can be executed once,
    /// which shows most of those that are affected, then of the others as they are measured.
    fn look_at_each(&mut self, reporter: &mut dyn Reporter) -> Result<(), Stop> {
        let saved = saved(&self.program.found);
        // The program's own metrics belong to no benchmark.
        let names = self.program.found.benchmarks.iter();
        let names = names.filter_map(|one| Some((one.name.clone(), one.inner.clone()?)));
        let mut left: Vec<(String, String)> = names.collect();
        let mut found = Found::default();
        let can_run_once = self.program.both_sides(SideProgram::can_run_once);
        if can_run_once {
            found.saved = if self.is_once_enough { saved } else { Duration::ZERO };
            self.look_at_parts(vec![left.clone()], None, &mut found, reporter)?;
            left.retain(|(name, _)| found.unaffected.contains_key(name));
        }
        found.unaffected.clear();
        // Of what repeats benchmarks for seconds, each counts.
        let is_short = can_run_once && self.program.both_sides(SideProgram::has_flag_of_time);
        let size = if is_short { PART_SIZE } else { 1 };
        if can_run_once && !left.is_empty() {
            // Probably, they are unaffected, and then save more than that.
            let pairs = saved.mul_f64(MOST_PAIRS / SAVED_PAIRS * left.len() as f64);
            self.deadline = self.deadline.max(Instant::now() + pairs);
        }
        let parts: Vec<_> = left.chunks(size).map(<[_]>::to_vec).collect();
        // Neighbours often enter the same functions: with too little time, see some of each kind.
        let order = bit_reversed_order(parts.len()).map(|number| parts[number].clone());
        found.saved = saved;
        // Only such a run reports which of them it has executed.
        self.look_at_parts(order.collect(), Some(self.length), &mut found, reporter)?;
        let all = self.program.found.benchmarks.len();
        let has_more = self.program.found.most_reported() > all || self.program.is_filtered();
        if has_more && self.unseen().is_some() {
            // Benchmarks that other machines measure, or that are not asked for, may enter it.
            let length = (!can_run_once).then_some(self.length);
            let asked = std::mem::replace(&mut self.program.part, Selection::All);
            let seen = self.see(&[], length);
            self.program.part = asked;
            if let Err(Unknown::Stopped(stop)) = seen {
                return Err(stop);
            }
        }
        let of_each = found.entered.values().cloned();
        let common = of_each.reduce(|common, more| &common & &more).unwrap_or_default();
        if let (Some(name), true) = (common.first(), found.entered.len() == all) {
            let why = format!("each enters {}", self.differing(name));
            report_all(&self.program.found, &why, reporter);
        }
        let unseen = self.unseen();
        if unseen.is_some() {
            found.unaffected.clear();
        }
        let why = match unseen {
            _ if found.is_out_of_time && found.unaffected.is_empty() => Some(NO_TIME.to_owned()),
            Some(name) => Some(format!("none is seen to enter {}", self.differing(name))),
            None => None,
        };
        if let Some(why) = why {
            report_all(&self.program.found, &why, reporter);
        }
        self.program.found.entered.append(&mut found.entered);
        self.program.found.leave_out(&found.unaffected);
        Ok(())
    }

    /// Looks at one run of each of these parts of the benchmarks, which are named as in outputs
    /// and as the harness knows them; if it enters something that differs, at each half of it. The
    /// largest parts come first, so that most is known if the time does not suffice for all.
    fn look_at_parts(
        &mut self,
        parts: Vec<Vec<(String, String)>>,
        length: Option<RunLength>,
        found: &mut Found,
        reporter: &mut dyn Reporter,
    ) -> Result<(), Stop> {
        let count = parts.iter().map(Vec::len).sum();
        let mut done = 0;
        let mut parts = VecDeque::from(parts);
        while let Some(part) = parts.pop_front() {
            if Instant::now() >= self.deadline {
                found.is_out_of_time = true;
                break;
            }
            let program = &self.program.found.program;
            let place = Some((done + 1, count));
            reporter.event(Event::Watching { program, place, is_slow: false });
            let names: Vec<&str> = part.iter().map(|(_, inner)| inner.as_str()).collect();
            let seen = match self.see(&names, length) {
                Err(Unknown::Stopped(stop)) => return Err(stop),
                Err(Unknown::Because(why, _)) => Err(why),
                Ok(seen) => Ok((self.changed_of(&seen), seen)),
            };
            match (seen, part.as_slice()) {
                (Ok((entered, seen)), all) if entered.is_empty() => {
                    done += all.len();
                    self.deadline += found.saved * all.len() as u32;
                    let reason = self.reason(&seen);
                    let names = all.iter().map(|(name, _)| (name.clone(), reason.clone()));
                    found.unaffected.extend(names);
                }
                (Ok((entered, _)), [(name, _)]) => {
                    done += 1;
                    found.entered.insert(name.clone(), entered);
                }
                (Err(why), [(name, _)]) => {
                    done += 1;
                    reporter.event(Event::Measured { benchmark: name, why: &why });
                }
                (_, several) => {
                    let (first, second) = several.split_at(several.len() / 2);
                    parts.extend([first, second].map(<[_]>::to_vec));
                }
            }
        }
        Ok(())
    }

    /// Whether no function differs between the sides.
    fn has_same_code(&self) -> bool {
        self.changed.base.is_empty() && self.changed.head.is_empty()
    }

    /// The names of the entered functions that differ between the sides.
    fn changed_of(&self, seen: &Seen) -> BTreeSet<String> {
        let of = |side: Side| {
            let changed = &self.changed[side];
            seen.entered[side].iter().filter_map(|place| changed.get(place).cloned())
        };
        Side::BOTH.into_iter().flat_map(of).collect()
    }

    /// The same in one run, which executes each benchmark once if that is enough.
    fn see_whole(&mut self, benchmarks: &[&str]) -> Result<Seen, Unknown> {
        if self.is_once_enough && self.program.both_sides(SideProgram::can_run_once) {
            match self.see(benchmarks, None) {
                Err(Unknown::Because(..)) => {}
                seen => return seen,
            }
        }
        self.see(benchmarks, Some(self.length))
    }

    /// What both sides do when they run some benchmarks, or with none all of them: for a time, or
    /// each once.
    fn see(&mut self, benchmarks: &[&str], length: Option<RunLength>) -> Result<Seen, Unknown> {
        let mut both = Pair::default();
        for side in Side::BOTH {
            let (watching, deadline) = (&mut self.watching[side], self.deadline);
            let watched = self.program.watch(side, benchmarks, watching, length, deadline)?;
            self.deadline -= watching.take_spared();
            both[side] = match watched {
                Some(watched) => watched,
                None if Instant::now() >= self.deadline => {
                    return Err(NO_TIME.into());
                }
                None => return Err("it can't be traced".into()),
            };
        }
        for side in Side::BOTH {
            self.unseen[side].retain(|place| !both[side].entered.contains(place));
        }
        let accessed = self.folders.check(both.as_ref())?;
        Ok(Seen { entered: both.map(|one| one.entered), accessed })
    }
}

/// What was found out about the benchmarks of a program.
#[derive(Default)]
struct Found {
    unaffected: BTreeMap<String, SameReason>,
    /// The functions that differ and that each enters.
    entered: BTreeMap<String, BTreeSet<String>>,
    /// By how much the time for tracing grows with each benchmark that is unaffected.
    saved: Duration,
    /// Whether the deadline came before all were looked at.
    is_out_of_time: bool,
}

/// How long the pairs of a benchmark take at least.
fn saved(discovery: &Discovery) -> Duration {
    let pair = discovery.pair_seconds / discovery.most_reported() as f64;
    Duration::from_secs_f64(SAVED_PAIRS * pair)
}

/// Reports why nothing of a program is known to be unaffected.
fn report_all(discovery: &Discovery, why: &str, reporter: &mut dyn Reporter) {
    reporter.event(match discovery.benchmarks.as_slice() {
        [only] => Event::Measured { benchmark: &only.name, why },
        _ => Event::AllMeasured { benchmark: &discovery.program, why },
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_a_crate_with_an_edited_file_is_edited() {
        let crates = BTreeSet::from(["hex".to_owned()]);
        for (name, expected) in [
            ("hex::encode", true),
            ("<hex::Table as core::fmt::Debug>::fmt", true),
            ("core::ptr::drop_in_place::<hex::Table>", false),
            ("main", false),
        ] {
            assert_eq!(is_edited(name, Some(&crates)), expected, "{name}");
            assert!(!is_edited(name, None), "{name}");
        }
    }
}
