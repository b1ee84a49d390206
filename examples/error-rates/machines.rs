//! Comparisons whose pairs come from several machines.

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::metric::Better;
use cargo_cbdr::stats::estimator::{Decision, Levels, Running};
use cargo_cbdr::stats::machines::{in_turn, weights};

use super::noise::{Noise, Random, Source};
use super::trial::{THRESHOLD, Tally};

/// How many machines.
pub const MACHINES: [usize; 3] = [2, 4, 8];

/// The promised probability of a wrong verdict.
pub const LEVEL: f64 = 0.05;

/// How long a run takes on each machine, and to which power its noise is raised.
const SPEEDS: [f64; 8] = [1.0, 1.7, 0.6, 2.5, 1.2, 0.8, 3.0, 1.5];
const SPREADS: [f64; 8] = [1.0, 2.0, 0.5, 3.0, 1.0, 1.5, 0.7, 4.0];

/// What the machines are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Park {
    /// They differ in speed.
    Alike,
    /// They differ in speed, and in noise by up to a factor of 8.
    Mixed,
}

/// How the pairs are made one sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// As `analyze --combine` does.
    Ours,
    /// The same, but each machine stops at a verdict of its own.
    OwnVerdicts,
    /// Without weights.
    Unweighted,
}

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shards {
    pub estimator: Estimator,
    pub noise: Noise,
    pub machines: usize,
    pub park: Park,
    pub way: Way,
    /// The factor between the sides, minus 1.
    pub change: f64,
    pub runs: u32,
    /// About how many pairs all machines have together.
    pub pairs: u32,
}

impl Shards {
    /// Simulates all comparisons. The pairs are those up to the verdict.
    pub fn tally(&self, seed: u64) -> Tally {
        let mut random = Random::seeded(seed);
        let mut sources: Vec<Source> =
            (0..self.machines).map(|_| Source::new(self.noise)).collect();
        let mut tally = Tally { runs: self.runs, ..Tally::default() };
        for _ in 0..self.runs {
            let (decision, pairs) = self.one(&mut sources, &mut random);
            tally.push(decision, f64::from(pairs));
        }
        tally
    }

    fn one(&self, sources: &mut [Source], random: &mut Random) -> (Option<Decision>, u32) {
        let machines: Vec<Vec<(f64, f64)>> = sources
            .iter_mut()
            .enumerate()
            .map(|(machine, source)| {
                source.restart();
                self.shard(machine, source, random)
            })
            .collect();
        let factors = match self.way {
            Way::Ours | Way::OwnVerdicts => weights(&machines),
            Way::Unweighted => vec![1.0; machines.len()],
        };
        let counts: Vec<usize> = machines.iter().map(Vec::len).collect();
        let mut running = self.running();
        for (number, (machine, pair)) in (1..).zip(in_turn(&counts)) {
            let (base, head) = machines[machine][pair];
            running.push(factors[machine] * base, factors[machine] * head);
            if let Some(decision) = running.decide(THRESHOLD) {
                return (Some(decision), number);
            }
        }
        (None, counts.iter().sum::<usize>() as u32)
    }

    /// The pairs of one machine, as many as its speed allows.
    fn shard(&self, machine: usize, source: &mut Source, random: &mut Random) -> Vec<(f64, f64)> {
        let (speed, spread) = match self.park {
            Park::Alike => (SPEEDS[machine], 1.0),
            Park::Mixed => (SPEEDS[machine], SPREADS[machine]),
        };
        let all: f64 = SPEEDS[..self.machines].iter().map(|speed| 1.0 / speed).sum();
        let count = (f64::from(self.pairs) / speed / all).round() as usize;
        let mut running = self.running();
        let mut pairs = Vec::with_capacity(count);
        for _ in 0..count {
            let base_first = random.coin();
            let (first, second) = source.pair(random);
            let (base, head) = if base_first { (first, second) } else { (second, first) };
            let time = |time: f64| speed * time.powf(spread);
            pairs.push((time(base), (1.0 + self.change) * time(head)));
            if self.way == Way::OwnVerdicts {
                running.push(time(base), (1.0 + self.change) * time(head));
                if running.decide(THRESHOLD).is_some() {
                    break;
                }
            }
        }
        pairs
    }

    fn running(&self) -> Running {
        let levels = Levels::new(1.0 - LEVEL, 1);
        let mut running = Running::new(self.estimator, Better::Lower, levels);
        running.track(THRESHOLD);
        running
    }
}
