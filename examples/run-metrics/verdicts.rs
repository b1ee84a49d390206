//! How long a verdict takes: recorded pairs, fed to the library's own rule.

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::metric::Better;
use cargo_cbdr::stats::empirical::sorted;
use cargo_cbdr::stats::estimator::{Decision, Levels, Running};

use super::metrics::{Metric, median};
use super::noise::Random;
use super::recording::{Run, Series};

/// Of all comparisons.
pub const THRESHOLD: f64 = 0.02;

/// Of a comparison, for each of so many tests.
pub const CONFIDENCE: f64 = 0.95;
pub const TESTS: usize = 14;

/// How long a benchmark may be sampled, seconds.
pub const LIMIT: f64 = 60.0;

/// How many neighbours stay neighbours when pairs are drawn.
const BLOCK: usize = 5;

/// A new comparison, by the rule that decides by default.
pub fn comparison() -> Running {
    let levels = Levels::new(CONFIDENCE, TESTS);
    let mut running = Running::new(Estimator::Robust, Better::Lower, levels);
    running.track(THRESHOLD);
    running
}

/// Draws recorded pairs, in blocks from random places; a coin decides for each pair which of
/// its runs is the base's, so that the true change is none.
pub struct Draw<'a> {
    series: &'a Series,
    random: Random,
    at: usize,
    left: usize,
}

impl<'a> Draw<'a> {
    pub fn new(series: &'a Series, seed: u64) -> Self {
        let random = Random::seeded(seed);
        Draw { series, random, at: 0, left: 0 }
    }

    /// The next pair: its seconds, base and head.
    pub fn pair(&mut self) -> (f64, &'a Run, &'a Run) {
        let pairs = &self.series.pairs;
        if self.left == 0 {
            self.at = (self.random.uniform() * pairs.len() as f64) as usize;
            self.left = BLOCK;
        }
        self.left -= 1;
        self.at = (self.at + 1) % pairs.len();
        let pair = &pairs[self.at];
        let [first, second] = &pair.runs;
        match self.random.coin() {
            true => (pair.seconds, first, second),
            false => (pair.seconds, second, first),
        }
    }

    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }
}

/// How a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    /// `None` where the limit came first.
    pub decision: Option<Decision>,
    pub pairs: u64,
    pub seconds: f64,
}

/// Compares until there is a verdict about one metric, or the [`LIMIT`] is reached.
pub fn compare(series: &Series, metric: Metric, change: f64, seed: u64) -> End {
    let mut draw = Draw::new(series, seed);
    let mut running = comparison();
    let mut end = End { decision: None, pairs: 0, seconds: 0.0 };
    loop {
        let (seconds, base, head) = draw.pair();
        if end.seconds + seconds > LIMIT {
            return end;
        }
        end.seconds += seconds;
        end.pairs += 1;
        let value = |run: &Run| run.values[metric as usize];
        running.push(value(base), value(head) * (1.0 + change));
        end.decision = running.decide(THRESHOLD);
        if end.decision.is_some() {
            return end;
        }
    }
}

/// What many comparisons came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tally {
    /// The median ones; what is undecided counts as longer than all others.
    pub pairs: Option<u64>,
    /// Seconds.
    pub seconds: Option<f64>,
    /// The share that is undecided after a 14th of the limit, 0 to 1.
    pub open_early: f64,
    /// After all of it.
    pub open: f64,
    /// The share that has the wrong verdict.
    pub wrong: f64,
}

impl Tally {
    /// Of comparisons, at least one, of which the right verdict is known.
    pub fn of(ends: &[End], right: Decision) -> Tally {
        let share = |is: &dyn Fn(&End) -> bool| {
            ends.iter().filter(|end| is(end)).count() as f64 / ends.len() as f64
        };
        let longer = |end: &End, value: f64| end.decision.map_or(f64::INFINITY, |_| value);
        let middle = |value: fn(&End) -> f64| {
            let all = sorted(ends.iter().map(|end| longer(end, value(end))));
            Some(median(&all)).filter(|value| value.is_finite())
        };
        let early = LIMIT / TESTS as f64;
        Tally {
            pairs: middle(|end| end.pairs as f64).map(|pairs| pairs.round() as u64),
            seconds: middle(|end| end.seconds),
            open_early: share(&|end| longer(end, end.seconds) > early),
            open: share(&|end| end.decision.is_none()),
            wrong: share(&|end| end.decision.is_some_and(|decision| decision != right)),
        }
    }
}
