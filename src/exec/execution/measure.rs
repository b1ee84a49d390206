//! From runs to measurements, of one side or of a pair.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use super::around::pad;
use super::{Bench, Failed, Hands, Once, Reported, fold, isolation};
use crate::engine::experiment::{Run, Samples, Turn};
use crate::error::{Error, Kind};
use crate::exec::meter::Pass;
use crate::exec::process::idle;
use crate::model::row::Sample;
use crate::model::side::{Pair, Side};

impl Bench<'_> {
    /// Runs one side once, with all its benchmarks.
    pub(crate) fn warm_up(&mut self, side: Side, hands: Hands<'_>) -> Result<Run<Reported>, Error> {
        let all = self.all(side);
        self.ready(side, all, 0);
        Ok(match self.measure_once(&[side], None, hands)? {
            Run::Measured(mut all) => Run::Measured(all.pop().unwrap_or_default()),
            Run::OutOfTime => Run::OutOfTime,
            Run::Interrupted => Run::Interrupted,
        })
    }

    /// Measures a pair. A run may take as long as the benchmark's limit says;
    /// where `left` is shorter for all of them, running into that is no
    /// failure.
    pub(crate) fn pair(
        &mut self,
        turn: &Turn<'_>,
        left: Duration,
        hands: Hands<'_>,
    ) -> Result<Run<Pair<Samples>>, Error> {
        let due = Instant::now() + left;
        let measuring = &self.benchmark.measuring;
        if let Some(most) = measuring.max_busy
            && !idle::wait(most, left, hands.interrupt)
        {
            let stopped = hands.interrupt.signal().is_some();
            return Ok(if stopped { Run::Interrupted } else { Run::OutOfTime });
        }
        let order = [turn.first, turn.first.other()];
        for side in order {
            let select = self.select(turn.wanted, side);
            // In turn, both run in the same place; in a duet, each in its own.
            let spot = if measuring.duet { usize::from(side != turn.first) } else { 0 };
            self.ready(side, select, spot);
            if measuring.env_padding {
                pad(&mut self.callers[side].command, turn.lot);
            }
        }
        let together: &[&[Side]] =
            if measuring.duet { &[&order] } else { &[&order[..1], &order[1..]] };
        let mut samples = Pair::default();
        for &sides in together {
            let all = match self.measure(sides, Some(due), hands)? {
                Run::Measured(all) => all,
                Run::OutOfTime => return Ok(Run::OutOfTime),
                Run::Interrupted => return Ok(Run::Interrupted),
            };
            for (&side, reported) in sides.iter().zip(all) {
                samples[side] = self.samples(turn.wanted, side, &reported)?;
            }
        }
        Ok(Run::Measured(samples))
    }

    /// One measurement of sides at the same time: of so many measurements the
    /// best, each the mean of so many plain runs; of every other kind of runs
    /// one.
    fn measure(
        &mut self,
        sides: &[Side],
        due: Option<Instant>,
        hands: Hands<'_>,
    ) -> Result<Run<Vec<Reported>>, Error> {
        let (best_of, repetitions) = (self.benchmark.measuring.min_of, self.repetitions);
        self.measure_as(sides, (best_of, repetitions), due, hands)
    }

    /// One run of each kind, of sides at the same time.
    fn measure_once(
        &mut self,
        sides: &[Side],
        due: Option<Instant>,
        hands: Hands<'_>,
    ) -> Result<Run<Vec<Reported>>, Error> {
        self.measure_as(sides, (1, 1), due, hands)
    }

    fn measure_as(
        &mut self,
        sides: &[Side],
        (best_of, repetitions): (u32, u32),
        due: Option<Instant>,
        hands: Hands<'_>,
    ) -> Result<Run<Vec<Reported>>, Error> {
        let mut passes = self.meters.passes();
        passes.retain(|pass| !self.done.contains(pass));
        let mut measured = vec![vec![(None, Sample::new())]; sides.len()];
        for pass in passes {
            let (best_of, repetitions) =
                if pass == Pass::Plain { (best_of, repetitions) } else { (1, 1) };
            let mut all = vec![Vec::new(); sides.len()];
            for _ in 0..best_of {
                let mut runs = vec![Vec::new(); sides.len()];
                for _ in 0..repetitions {
                    match self.once(pass, sides, due, hands)? {
                        Run::Measured(each) => {
                            runs.iter_mut().zip(each).for_each(|(runs, one)| runs.push(one));
                        }
                        stopped => return Ok(stopped),
                    }
                }
                all.iter_mut().zip(runs).for_each(|(all, runs)| all.push(fold::mean(runs)));
            }
            for (measured, all) in measured.iter_mut().zip(all) {
                let best = fold::best(all, &self.benchmark.units);
                if pass == Pass::Plain { *measured = best } else { join(measured, best) }
            }
        }
        Ok(Run::Measured(measured))
    }

    /// Makes a side's command one of a run with the arguments `select`, in
    /// the place of the number `spot`.
    pub(super) fn ready(&mut self, side: Side, select: Vec<OsString>, spot: usize) {
        let isolation = isolation(&self.benchmark.measuring, &self.cpus, spot);
        let caller = &mut self.callers[side];
        caller.command.argv.truncate(caller.words);
        caller.command.argv.extend(select);
        caller.command.isolation = isolation;
    }

    /// Runs sides once, at the same time, as they are ready for.
    pub(super) fn once(
        &mut self,
        pass: Pass,
        sides: &[Side],
        due: Option<Instant>,
        hands: Hands<'_>,
    ) -> Result<Run<Vec<Reported>>, Error> {
        for &side in sides {
            let caller = &mut self.callers[side];
            match caller.around.before_run(self.benchmark, hands) {
                Ok(remarks) => self.remarks.extend(remarks),
                Err(error) if error.is_interrupt() => return Ok(Run::Interrupted),
                Err(error) => return Err(error),
            }
            caller.harness.clear(&caller.place).map_err(Kind::Harness)?;
        }
        let left = due.map(|due| due.saturating_duration_since(Instant::now()));
        let once = Once { meters: &self.meters, limit: self.benchmark.run_timeout, left, hands };
        let programs = |side: &Side| {
            let caller = &self.callers[*side];
            (&caller.command, caller.folder.as_path())
        };
        let programs: Vec<_> = sides.iter().map(programs).collect();
        let (ran, left_behind) = once.run(pass, &programs)?;
        self.left_behind += left_behind;
        let mut all = Vec::with_capacity(sides.len());
        for (&side, ran) in sides.iter().zip(ran) {
            match ran {
                Ok(Run::Measured(sample)) if pass == Pass::Plain => {
                    all.push(self.read(side, &sample)?);
                }
                Ok(Run::Measured(sample)) => all.push(vec![(None, sample)]),
                Ok(Run::OutOfTime) => return Ok(Run::OutOfTime),
                Ok(Run::Interrupted) => return Ok(Run::Interrupted),
                Err(Failed { fault, command, stderr }) => {
                    let benchmark = self.benchmark.name.clone();
                    return Err(Kind::Benchmark { side, benchmark, fault, command, stderr }.into());
                }
            }
        }
        Ok(Run::Measured(all))
    }
}

/// Adds what another kind of run measured of the program itself.
fn join(measured: &mut Reported, other: Reported) {
    let own = |reported: &Reported| reported.iter().position(|(name, _)| name.is_none());
    if let (Some(at), Some(from)) = (own(measured), own(&other)) {
        measured[at].1.join(other[from].1.clone());
    }
}
