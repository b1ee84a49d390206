//! The typical change, with a guard on the average.
//!
//! The *typical* change is judged by the average of two pieces of evidence, that of the
//! signs and that of the mean. Whichever suits the noise decides, at the price of about
//! a factor of 2 ([`ln_average`]). The median of the changes has to be on the same side
//! of a candidate as the evidence.
//!
//! The *guard* is the mean with a threshold [`TAIL`] times as far. It limits what the
//! median does not see: runs that are rare and much slower. Each bound is the larger of
//! the typical change's bound and of the mean's bound divided by [`TAIL`], so either of
//! them can raise an alarm, while an all-clear needs both. Alarms share their level
//! ([`GUARD`]); all-clears need not. The estimate is the typical change, unless the
//! guard's lower bound is above it. Then the tail overrules the typical change, and the
//! estimate is the change of the mean divided by [`TAIL`].
//!
//! Nothing can guard against a tail that has not shown itself. So there is no all-clear
//! before a tail of a fifth of the runs would have been seen with a probability of 1
//! minus the level (14 pairs at 5 %).
//!
//! Internally, everything is turned such that a larger value is worse.
//!
//! # References
//!
//! Vovk and Wang 2021, *E-values: calibration, combination and applications*, Ann. Stat.
//! 49:1736 (an average of e-values is an e-value), and those of
//! [`sequential`](crate::stats::sequential), [`median`](super::median) and
//! [`mean`](super::mean).

use super::mean::RatioOfMeans;
use super::median::MedianOfRatios;
use super::{Better, Decision, Prospect, ROUNDING, Signal, Tail};
use crate::stats::sequential::{
    least_average, least_pairs, ln_average, ln_evidence, ln_needed, ln_sign_evidence,
};

/// By what factor the guard's threshold is further away than the threshold itself.
pub const TAIL: f64 = 3.0;

/// The part of the runs that a slow tail has at least: before such a tail would have
/// shown itself there is no all-clear.
const RARE: f64 = 0.2;

/// The guard's part of the level of an alarm.
const GUARD: f64 = 0.2;

/// Bounds are not searched beyond this change.
const LARGEST: f64 = 1e12;

#[derive(Clone, Debug)]
pub(super) struct Robust {
    direction: Better,
    /// The level of an alarm.
    alarm: f64,
    pub(super) typical: MedianOfRatios,
    mean: RatioOfMeans,
}

impl Robust {
    pub(super) fn new(direction: Better, alarm: f64) -> Self {
        Robust {
            direction,
            alarm,
            typical: MedianOfRatios::default(),
            mean: RatioOfMeans::default(),
        }
    }

    /// Keeps decisions about `threshold` exact, however many pairs there will be. Call
    /// it before the first.
    pub(super) fn watch(&mut self, threshold: f64) {
        self.typical.watch(threshold);
    }

    pub(super) fn push(&mut self, base: f64, head: f64) {
        let (better, worse) = self.turned((base, head));
        self.typical.push(better, worse);
        self.mean.push(better, worse);
    }

    pub(super) fn base(&self) -> Option<f64> {
        self.turned((self.typical.base(), self.typical.head())).0
    }

    pub(super) fn head(&self) -> Option<f64> {
        self.turned((self.typical.base(), self.typical.head())).1
    }

    pub(super) fn change(&self) -> Option<f64> {
        let typical = self.typical.change()?;
        let tail = self.tail_overrules().then(|| self.mean.change().map(shrunk)).flatten();
        Some(self.back(tail.unwrap_or(typical)))
    }

    /// The typical change, if the tail overrules it.
    pub(super) fn overruled(&self) -> Option<f64> {
        let typical = self.typical.change().filter(|_| self.tail_overrules());
        typical.map(|change| self.back(change))
    }

    fn tail_overrules(&self) -> bool {
        let least = self.mean.lower(self.alarm * GUARD).map(shrunk);
        least.zip(self.typical.change()).is_some_and(|(least, typical)| least > typical)
    }

    pub(super) fn lower(&self, level: f64) -> Option<f64> {
        match self.direction {
            Better::Lower => self.least(level),
            Better::Higher => self.most(level).map(|change| self.back(change)),
        }
    }

    pub(super) fn upper(&self, level: f64) -> Option<f64> {
        match self.direction {
            Better::Lower => self.most(level),
            Better::Higher => self.least(level).map(|change| self.back(change)),
        }
    }

    /// How many pairs' changes are worse than a candidate, and how many better.
    pub(super) fn signs(&self, change: f64) -> (u64, u64) {
        self.typical.signs(self.back(change))
    }

    /// What the bounds say about the threshold, without searching them.
    pub(super) fn decide(&self, threshold: f64, alarm: f64, clear: f64) -> Option<Decision> {
        let critical = threshold + ROUNDING;
        let typical = self.typical.change()?;
        let slower = typical > critical && self.refutes(Tail::Above, critical, part(alarm));
        let guard = |end: Option<f64>| end.map(shrunk);
        if slower || guard(self.mean.lower(alarm * GUARD)).is_some_and(|end| end > critical) {
            return Some(Decision::Regression);
        }
        let passes = typical <= critical && self.refutes(Tail::Below, critical, clear);
        let clears = passes
            && self.has_seen(clear)
            && guard(self.mean.upper(clear)).is_some_and(|end| end <= critical);
        clears.then_some(Decision::NoRegression)
    }

    /// Whether a tail that is not too rare would have shown itself with a probability of
    /// `1 - clear`.
    pub(super) fn has_seen(&self, clear: f64) -> bool {
        self.typical.pairs() >= pairs_to_see(clear)
    }

    /// The questions that make the verdict. A larger value is worse.
    pub(super) fn prospects(
        &self,
        threshold: f64,
        alarm: f64,
        clear: f64,
    ) -> Vec<Option<Prospect>> {
        let tail = if threshold > 0.0 { threshold * TAIL } else { threshold };
        let (above, below) = self.typical.signs(threshold);
        let both = match self.mean.signal(threshold) {
            Some(Signal::Share { above: higher, share }) => {
                Some(Signal::Both { higher, share, above, below })
            }
            _ => None,
        };
        let guard = self.mean.signal(tail);
        let fewest = pairs_to_see(clear);
        vec![
            both.map(|signal| Prospect { signal, above: part(alarm), below: clear, fewest }),
            guard.map(|signal| Prospect { signal, above: alarm * GUARD, below: clear, fewest }),
        ]
    }

    /// The least number of pairs that can decide either way.
    pub(super) fn least_pairs(alarm: f64, clear: f64) -> Option<u64> {
        let alarms = [least_average(part(alarm)), least_pairs(alarm * GUARD)];
        let clears = least_average(clear).zip(least_pairs(clear));
        let clears = clears.map(|(typical, guard)| typical.max(guard).max(pairs_to_see(clear)));
        alarms.into_iter().chain([clears]).flatten().min()
    }

    /// The lower bound at the level of an alarm.
    fn least(&self, level: f64) -> Option<f64> {
        let typical = self.typical_bound(Tail::Above, part(level));
        let guard = self.mean.lower(level * GUARD).map(shrunk);
        [typical, guard].into_iter().flatten().reduce(f64::max)
    }

    /// The upper bound at the level of an all-clear.
    fn most(&self, level: f64) -> Option<f64> {
        let guard = self.mean.upper(level).map(shrunk)?;
        Some(self.typical_bound(Tail::Below, level)?.max(guard))
    }

    /// The bound of the typical change: the end of the candidates that are refuted because
    /// the typical change is on this side of them.
    fn typical_bound(&self, tail: Tail, level: f64) -> Option<f64> {
        let between = self.typical.change_between()?;
        let (estimate, mut far) = match tail {
            Tail::Above => (between.least, -1.0),
            Tail::Below => (between.most, LARGEST),
        };
        if !self.refutes(tail, far, level) {
            return None;
        }
        let mut near = estimate.min(LARGEST);
        if self.refutes(tail, near, level) {
            return Some(estimate);
        }
        // Invariant: `far` is refuted and `near` is not.
        while (near - far).abs() > 1e-14 * (1.0 + near.abs().min(far.abs())) {
            let middle = near.midpoint(far);
            *(if self.refutes(tail, middle, level) { &mut far } else { &mut near }) = middle;
        }
        Some(far)
    }

    /// Whether the evidence says that the typical change is on this side of `change`.
    fn refutes(&self, tail: Tail, change: f64, level: f64) -> bool {
        let Some(needed) = ln_needed(level) else { return false };
        let (most, rest) = self.typical.signs_on(tail, change);
        let signs = (most > rest).then(|| ln_sign_evidence(most as f64, rest as f64));
        let pairs = self.typical.pairs();
        let share = self.mean.share_on(tail, change);
        let mean = share.map(|share| ln_evidence(pairs, share, needed));
        ln_average(signs, mean) >= needed
    }

    /// The better side first if these are base and head; base first if these are the
    /// better and the worse side.
    fn turned<T>(&self, (base, head): (T, T)) -> (T, T) {
        match self.direction {
            Better::Lower => (base, head),
            Better::Higher => (head, base),
        }
    }

    /// The change from better to worse as the change from base to head, or the reverse.
    fn back(&self, change: f64) -> f64 {
        match self.direction {
            Better::Lower => change,
            Better::Higher if change == f64::INFINITY => -1.0,
            Better::Higher => -change / (1.0 + change),
        }
    }
}

/// The typical change's part of the level of an alarm.
fn part(alarm: f64) -> f64 {
    alarm * (1.0 - GUARD)
}

/// How many pairs show a tail that is not too rare with a probability of `1 - level`.
fn pairs_to_see(level: f64) -> u64 {
    (level.ln() / (1.0 - RARE).ln()).ceil().max(0.0) as u64
}

/// The change of the mean, to be compared with the threshold itself.
fn shrunk(change: f64) -> f64 {
    if change > 0.0 { change / TAIL } else { change }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::noise::TestNoise;

    fn filled(direction: Better, pairs: &[(f64, f64)]) -> Robust {
        let mut sums = Robust::new(direction, 0.05);
        pairs.iter().for_each(|(base, head)| sums.push(*base, *head));
        sums
    }

    #[test]
    fn without_a_tail_it_is_the_median() {
        let mut noise = TestNoise::seeded(51);
        for (round, direction) in
            [Better::Lower, Better::Higher].into_iter().cycle().take(20).enumerate()
        {
            let effect = 1.0 + 0.02 * round as f64;
            let mut one = || (1.0 + 0.05 * noise.uniform(), effect + 0.05 * noise.uniform());
            let pairs: Vec<(f64, f64)> = (0..31).map(|_| one()).collect();
            let mut median = MedianOfRatios::default();
            pairs.iter().for_each(|(base, head)| median.push(*base, *head));
            let robust = filled(direction, &pairs);
            assert_eq!((robust.base(), robust.head()), (median.base(), median.head()));
            let (change, expected) = (robust.change().unwrap(), median.change().unwrap());
            assert!((change - expected).abs() < 1e-12, "{round}: {change} {expected}");
            assert_eq!(robust.overruled(), None);
        }
        assert_eq!(filled(Better::Lower, &[(2.0, 2.0); 30]).overruled(), None);
    }

    #[test]
    fn a_tail_speaks_when_its_guard_is_as_sure_as_an_alarm_of_its_part() {
        // Every fifth run is three times as slow: its share of the mean is no accident
        // from a certain number of pairs on.
        let slow = |i: u32| if i % 5 == 2 { 3.0 } else { 1.0 };
        let pair = |i: u32| (1.0, slow(i) * (1.004 + 0.001 * f64::from(i % 3)));
        let (mut silent, mut spoke) = (0, 0);
        for count in 10..60 {
            let pairs: Vec<(f64, f64)> = (0..count).map(pair).collect();
            let robust = filled(Better::Lower, &pairs);
            let typical = robust.typical.change().unwrap();
            let sure = |level: f64| robust.mean.lower(level).is_some_and(|end| end > 3.0 * typical);
            let tail = robust.mean.change().unwrap() / 3.0;
            if sure(0.01) {
                spoke += 1;
                assert_eq!((robust.overruled(), robust.change()), (Some(typical), Some(tail)));
            } else {
                silent += usize::from(sure(0.05));
                assert_eq!((robust.overruled(), robust.change()), (None, Some(typical)));
            }
            for threshold in [0.0, 0.003, 0.01, 0.03, 0.1] {
                let alarm = robust.decide(threshold, 0.05, 0.05) == Some(Decision::Regression);
                assert_eq!(alarm, robust.least(0.05).is_some_and(|end| end > threshold), "{count}");
            }
        }
        assert!(silent > 0 && spoke > 0, "{silent} {spoke}");
    }

    #[test]
    fn the_ends_part_what_both_bets_together_refute() {
        let mut noise = TestNoise::seeded(52);
        for round in 0..60 {
            // Half of the changes above the other half, at times far above.
            let (count, apart) = ([20, 41, 60][round % 3], [0.0, 0.2, 1e6][round / 3 % 3]);
            let mut sums = Robust::new(Better::Lower, 0.05);
            for number in 0..count {
                let far = if number % 2 == 0 { apart } else { 0.0 };
                sums.push(1.0, 1.0 + far + 0.01 * noise.uniform());
            }
            let refuted = |tail: Tail, change: f64| {
                let (above, below) = sums.typical.signs(change);
                let (most, rest) =
                    if tail == Tail::Above { (above, below) } else { (below, above) };
                let needed = ln_needed(0.04).unwrap();
                let signs = ln_sign_evidence(most as f64, rest as f64).exp();
                let share = sums.mean.share_on(tail, change);
                let mean = share.map_or(0.0, |share| ln_evidence(count, share, needed).exp());
                0.4 * if most > rest { signs } else { 0.0 } + 0.6 * mean >= 12.5
            };
            for tail in [Tail::Above, Tail::Below] {
                let Some(end) = sums.typical_bound(tail, 0.04) else { continue };
                let step = if tail == Tail::Above { -1e-9 } else { 1e-9 } * (1.0 + end.abs());
                assert!(refuted(tail, end + step), "{round}: {end}");
                let estimate = sums.typical.change().unwrap();
                assert!(!refuted(tail, end - step) || end == estimate, "{round}: {end}");
            }
        }
    }

    #[test]
    fn the_least_pairs_are_those_of_the_easiest_way_to_a_verdict() {
        for (alarm, clear) in [(0.05, 0.05), (0.01, 0.05), (0.05, 0.001), (1e-6, 0.4)] {
            let steady = |change: f64, pairs: usize| {
                let sums = filled(Better::Lower, &vec![(1.0, 1.0 + change); pairs]);
                sums.decide(0.02, alarm, clear).is_some()
            };
            let naive = (1..100).find(|pairs| steady(0.5, *pairs) || steady(0.0, *pairs));
            let least = Robust::least_pairs(alarm, clear).map(|pairs| pairs as usize);
            assert_eq!(least, naive, "{alarm} {clear}");
        }
    }
}
