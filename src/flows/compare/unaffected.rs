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
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use super::Options;
use super::discovery::Discovery;
use super::lengths::spread;
use super::program::{ComparedProgram, NO_BENCHMARK};
use super::session::Session;
use crate::error::Error;
use crate::exec::execution::{Context, Stop, Watching};
use crate::exec::process::trace::{Watched, is_itself};
use crate::exec::system::canonical;
use crate::flows::event::Event;
use crate::model::notice::Notice;
use crate::model::side::{Pair, Side};
use crate::workspace::cache::TREE;
use crate::workspace::functions;

/// How long tracing may take, as a fraction of the time limit and in addition to it.
const PART: f64 = 0.1;

/// How long a program without a changed function may be traced, in pairs.
const MOST_PAIRS: f64 = 2.0;

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
            let Session { programs, context, on_event, moves, .. } = self;
            let program = &mut programs[number];
            if discovery.benchmarks.is_empty() {
                continue;
            }
            let begin = Instant::now();
            let places = match program.is_same_run {
                true => functions::places(program.built, moves),
                false => Err("the sides are run with different arguments".to_owned()),
            };
            let watched = places.and_then(|places| {
                let watching = Pair::try_both(|side| {
                    let watching = program.watching(side, &request.trace, &places[side].all);
                    watching.map_err(|error| format!("they can't be traced: {error}"))
                });
                Ok((watching?, places.map(|places| places.changed)))
            });
            let (watching, changed) = match watched {
                Ok(watched) => watched,
                Err(why) => {
                    let benchmark = &program.execution.benchmark.name;
                    on_event(Event::AllMeasured { benchmark, why: &why });
                    has_same_code = false;
                    continue;
                }
            };
            // Only runs count.
            deadline += begin.elapsed();
            let changed_files = &moves.changed;
            let context = *context;
            let mut watcher =
                Watcher { program, watching, changed, changed_files, deadline, context };
            let is_same_code = watcher.has_same_code();
            let begin = Instant::now();
            if is_same_code {
                // It is traced once on each side, which takes about as long as a pair and saves
                // all of its pairs.
                let pairs = Duration::from_secs_f64(MOST_PAIRS * discovery.pair_seconds);
                watcher.deadline = deadline.max(begin + pairs);
            }
            let looked = watcher.look_at(discovery, on_event);
            watcher.watching.as_ref().map(Watching::keep);
            looked.map_err(Stop::into_error)?;
            if is_same_code {
                deadline += begin.elapsed();
            }
            has_same_code &= is_same_code;
        }
        let benchmarks: usize = discoveries.iter().map(|found| found.unaffected.len()).sum();
        if benchmarks > 0 {
            self.notice(Notice::Unaffected { benchmarks, of: all, has_same_code });
        }
        Ok(())
    }
}

/// Traces the benchmarks of a program.
struct Watcher<'w, 'a> {
    program: &'w mut ComparedProgram<'a>,
    watching: Pair<Watching>,
    /// The functions that differ between the sides: their addresses and names.
    changed: Pair<BTreeMap<u64, String>>,
    /// Files that differ between the sides, relative to the root of the repository.
    changed_files: &'w [String],
    deadline: Instant,
    context: Context<'w>,
}

impl Watcher<'_, '_> {
    /// Removes the unaffected benchmarks from a discovery.
    fn look_at(
        &mut self,
        discovery: &mut Discovery,
        on_event: &mut dyn FnMut(Event<'_>),
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
            on_event(Event::Watching { program, place: None });
            let all: BTreeSet<_> =
                discovery.benchmarks.iter().map(|one| one.name.clone()).collect();
            match self.enters(only)? {
                Some(entered) if entered.is_empty() => {
                    discovery.leave_out(&all);
                    return Ok(());
                }
                Some(entered) if count == 1 => {
                    discovery.entered.extend(all.into_iter().map(|name| (name, entered.clone())));
                }
                _ => {}
            }
        }
        if is_alone {
            return Ok(());
        }
        // What is entered before the first benchmark is entered by all.
        let before = self.entered(Some(NO_BENCHMARK))?;
        let why = match &before {
            None if Instant::now() >= self.deadline => {
                Some("the time for tracing was over".to_owned())
            }
            None => {
                Some("what the program does before the first of them can't be traced".to_owned())
            }
            Some(before) => {
                let differs = self.changed_of(before).pop_first();
                differs
                    .map(|name| format!("`{name}`, which differs, runs before the first of them"))
            }
        };
        if let Some(why) = why {
            let benchmark = &self.program.execution.benchmark.name;
            on_event(Event::AllMeasured { benchmark, why: &why });
            return Ok(());
        }
        if let Some(before) = before {
            for side in Side::BOTH {
                // If this fails, tracing only takes longer.
                let _ = self.watching[side].leave_out(&before[side]);
            }
        }
        let mut unaffected = BTreeSet::new();
        for (done, place) in spread(count).enumerate() {
            if Instant::now() >= self.deadline {
                break;
            }
            let program = &self.program.execution.benchmark.name;
            on_event(Event::Watching { program, place: Some((done + 1, count)) });
            let found = &discovery.benchmarks[place];
            // The program's own metrics belong to no benchmark.
            let (Some(inner), name) = (&names[place], found.name.clone()) else { continue };
            match self.enters(Some(inner))? {
                Some(entered) if entered.is_empty() => drop(unaffected.insert(name)),
                Some(entered) => drop(discovery.entered.insert(name, entered)),
                None => {}
            }
        }
        discovery.leave_out(&unaffected);
        Ok(())
    }

    /// The functions that a benchmark, or with `None` any of them, enters on either side and
    /// that differ between the sides. `None` if it does something that can't be traced, or
    /// accesses a file that differs.
    fn enters(&mut self, benchmark: Option<&str>) -> Result<Option<BTreeSet<String>>, Stop> {
        Ok(self.entered(benchmark)?.map(|entered| self.changed_of(&entered)))
    }

    /// Whether no function differs between the sides.
    fn has_same_code(&self) -> bool {
        Side::BOTH.into_iter().all(|side| self.changed[side].is_empty())
    }

    /// The names of the entered functions that differ between the sides.
    fn changed_of(&self, entered: &Pair<BTreeSet<u64>>) -> BTreeSet<String> {
        let of = |side: Side| {
            let changed = &self.changed[side];
            entered[side].iter().filter_map(|place| changed.get(place).cloned())
        };
        Side::BOTH.into_iter().flat_map(of).collect()
    }

    /// The addresses of all functions that a benchmark enters on each side; see
    /// [`Watcher::enters`].
    fn entered(&mut self, benchmark: Option<&str>) -> Result<Option<Pair<BTreeSet<u64>>>, Stop> {
        let mut entered = Pair::default();
        for side in Side::BOTH {
            let watching = &mut self.watching[side];
            let watched =
                self.program.watch(side, benchmark, watching, self.deadline, self.context)?;
            let Some(watched) = watched.filter(|watched| watched.unseen.is_none()) else {
                return Ok(None);
            };
            if self.asks_for_change(side, &watched) {
                return Ok(None);
            }
            entered[side] = watched.entered;
        }
        Ok(Some(entered))
    }

    /// Whether a program accessed a file that differs between the sides, or that may
    /// differ.
    fn asks_for_change(&self, side: Side, watched: &Watched) -> bool {
        let home = settled(&self.program.built[side].home);
        let Some(cache) = home.parent() else { return true };
        watched.asked_for.iter().any(|path| {
            if is_itself(path) {
                // Its executable differs.
                return true;
            }
            let path = settled(path);
            if !path.starts_with(cache) {
                return false;
            }
            match path.strip_prefix(home.join(TREE)) {
                Ok(file) => {
                    self.changed_files.iter().any(|changed| Path::new(changed).starts_with(file))
                }
                // The loader searches there for libraries, and each side would find its own.
                Err(_) => path.is_file(),
            }
        }) || watched.executed.iter().map(|path| settled(path)).any(|path| {
            // It started another built program.
            path.starts_with(cache) && !path.starts_with(home.join(TREE)) && path.is_file()
        })
    }
}

/// A path with its links resolved as far as the file exists, and without `..`.
fn settled(path: &Path) -> PathBuf {
    if let Ok(path) = canonical(path) {
        return path;
    }
    let mut settled = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(settled.pop()),
            Component::CurDir => {}
            part => settled.push(part),
        }
    }
    settled
}
