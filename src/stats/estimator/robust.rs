//! The typical change, with a guard on the average.
//!
//! Whether the *typical* change is above or below a candidate is what two
//! [wagers](crate::stats::betting) bet on, one for each direction. The median of the changes
//! has to be on the same side of the candidate as the wager that is won.
//!
//! The *guard* is the mean with a threshold [`TAIL`] times as far. It limits what the
//! median does not see: runs that are rare and much slower. Each bound is the larger of
//! the typical change's bound and of the mean's bound divided by [`TAIL`], so either of
//! them can raise an alarm, while an all-clear needs both. Alarms share their level
//! ([`GUARD`]); all-clears need not. In an alarm the guard is a wager of its own. In an
//! all-clear it is the evidence of [`sequential`](crate::stats::sequential): a condition on
//! top can only make it rarer, and so needs no theorem. The estimate is the typical change,
//! unless the guard's lower bound is above it. Then the tail overrules the typical change,
//! and the estimate is the change of the mean divided by [`TAIL`].
//!
//! Nothing can guard against a tail that has not shown itself. So there is no all-clear
//! before a tail of a fifth of the runs would have been seen with a probability of 1
//! minus the level (14 pairs at 5 %).
//!
//! The interval is what the same wagers do not refute, each candidate with wagers of its
//! own, which are computed on demand from the kept pairs ([`KeptPairs`]). What they refute need
//! not be contiguous: the interval ends where two candidates are both refuted, one of them
//! twice as far from the estimate as the other.
//!
//! Internally, everything is oriented such that a larger value is worse.

use super::decision::{Decision, Prospect, ROUNDING, Signal};
use super::levels::Levels;
use super::mean::RatioOfMeans;
use super::median::MedianOfRatios;
use crate::model::Better;
use crate::stats::betting::{self, Aim, Guard, Wager};

/// The factor by which the guard's threshold is further away than the threshold itself.
pub const TAIL: f64 = 3.0;

/// The minimum fraction of runs in a slow tail: before such a tail would have shown
/// itself, there is no all-clear.
const RARE: f64 = 0.2;

/// The guard's part of the level of an alarm.
const GUARD: f64 = 0.2;

/// The part of a bound's level that is left once pairs are merged. Each merging is a new game for
/// all candidates but the tracked ones, so at the whole level the lower bound was at some time wrong
/// in 8.5 ± 1.1 % of simulated comparisons of 8192 pairs, and at this part in 3.7 ± 0.6 %
/// (`examples/error-rates/long_bounds.rs`). Verdicts are about tracked candidates.
const MERGED: f64 = 0.4;

/// The logarithm of any ratio of two numbers is nearer to 0 than this.
const MAX_LN_RATIO: f64 = 1500.0;

/// How exact a bound is, as a part of its distance from the estimate.
const EXACT: f64 = 0.004;

/// The search for a bound ends after this many consecutive distances, each twice the
/// previous one, are refuted.
const IN_A_ROW: u32 = 2;

#[derive(Clone, Debug)]
pub(super) struct Robust {
    direction: Better,
    alarm: f64,
    pub(super) typical: MedianOfRatios,
    mean: RatioOfMeans,
    kept: KeptPairs,
    /// The wagers that are updated after every pair.
    tracked: Vec<CandidateWagers>,
}

/// Whether the change is beyond a candidate, according to the wagers.
#[derive(Clone, Debug)]
struct CandidateWagers {
    candidate: f64,
    levels: Levels,
    alarm: Wager,
    clear: Wager,
    guard: Guard,
}

impl CandidateWagers {
    fn new(candidate: f64, levels: Levels) -> Self {
        CandidateWagers {
            candidate,
            levels,
            alarm: Wager::new(Aim::Above, part(levels.alarm)),
            clear: Wager::new(Aim::Below, levels.clear),
            guard: Guard::new(levels.alarm * GUARD),
        }
    }

    fn push(&mut self, pair: &PairMean) {
        let distance = pair.ln_ratio - ln_ratio(self.candidate);
        self.alarm.push(distance);
        self.clear.push(distance);
        self.guard.push(guarded(self.candidate), pair.base, pair.head);
    }

    fn relax(&mut self, levels: Levels) {
        self.levels = levels;
        self.alarm.relax(part(levels.alarm));
        self.guard.relax(levels.alarm * GUARD);
    }

    /// The capital of both players who bet on an alarm.
    fn evidence(&self) -> f64 {
        part(1.0) * self.alarm.capital() + GUARD * self.guard.capital()
    }
}

/// A pair, or the average of several.
#[derive(Clone, Copy, Debug, Default)]
struct PairMean {
    base: f64,
    head: f64,
    ln_ratio: f64,
}

impl PairMean {
    fn plus(self, other: PairMean) -> Self {
        PairMean {
            base: self.base + other.base,
            head: self.head + other.head,
            ln_ratio: self.ln_ratio + other.ln_ratio,
        }
    }

    fn over(self, count: usize) -> Self {
        let part = 1.0 / count as f64;
        PairMean { base: part * self.base, head: part * self.head, ln_ratio: part * self.ln_ratio }
    }
}

/// The pairs in order, in bounded memory: if there are more than [`KeptPairs::MOST`], neighbours
/// are merged. The average of neighbours is as symmetric as they are, so the theorem holds
/// for it, too.
#[derive(Clone, Debug, Default)]
struct KeptPairs {
    sums: Vec<PairMean>,
    pairs: usize,
    /// How often the sums were merged in twos: each has two to this power.
    halvings: u32,
}

impl KeptPairs {
    const MOST: usize = 512;

    fn push(&mut self, pair: PairMean) {
        let width = 1 << self.halvings;
        match self.sums.last_mut().filter(|_| !self.pairs.is_multiple_of(width)) {
            Some(last) => *last = last.plus(pair),
            None => self.sums.push(pair),
        }
        self.pairs += 1;
        if self.pairs == Self::MOST * width {
            self.sums = self.sums.chunks(2).map(|two| two[0].plus(two[1])).collect();
            self.halvings += 1;
        }
    }

    fn iter(&self) -> impl Iterator<Item = PairMean> + '_ {
        let width = 1 << self.halvings;
        let count = move |place: usize| width.min(self.pairs - place * width);
        self.sums.iter().enumerate().map(move |(place, sum)| sum.over(count(place)))
    }
}

impl Robust {
    pub(super) fn new(direction: Better, alarm: f64) -> Self {
        Robust {
            direction,
            alarm,
            typical: MedianOfRatios::default(),
            mean: RatioOfMeans::default(),
            kept: KeptPairs::default(),
            tracked: Vec::new(),
        }
    }

    /// Makes decisions about `threshold` fast and exact. Call it before the first pair.
    pub(super) fn track(&mut self, threshold: f64, levels: Levels) {
        self.tracked.push(CandidateWagers::new(threshold + ROUNDING, levels));
    }

    pub(super) fn push(&mut self, base: f64, head: f64) {
        let (better, worse) = self.turned((base, head));
        self.typical.push(better, worse);
        self.mean.push(better, worse);
        // Exact where the change equals a candidate that is written in decimals.
        let change = if better == worse { 0.0 } else { (worse - better) / better };
        let pair = PairMean { base: better, head: worse, ln_ratio: ln_ratio(change) };
        self.kept.push(pair);
        self.tracked.iter_mut().for_each(|wagers| wagers.push(&pair));
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
        Some(self.direction.worse(tail.unwrap_or(typical)))
    }

    /// The typical change, if the tail overrules it.
    pub(super) fn overruled(&self) -> Option<f64> {
        let typical = self.typical.change().filter(|_| self.tail_overrules());
        typical.map(|change| self.direction.worse(change))
    }

    /// The means of both sides.
    pub(super) fn means(&self) -> (Option<f64>, Option<f64>) {
        self.turned((self.mean.base(), self.mean.head()))
    }

    /// The change of the mean that counts as much as this one of the typical run.
    pub(super) fn of_mean(&self, change: f64) -> f64 {
        self.direction.worse(stretched(self.direction.worse(change)))
    }

    fn tail_overrules(&self) -> bool {
        let both = self.typical.change().zip(self.mean.change().map(shrunk));
        both.is_some_and(|(typical, tail)| {
            tail > typical && self.guard_refutes(typical, self.alarm * GUARD)
        })
    }

    pub(super) fn lower(&self, level: f64) -> Option<f64> {
        self.bound(level, Better::Lower)
    }

    pub(super) fn upper(&self, level: f64) -> Option<f64> {
        self.bound(level, Better::Higher)
    }

    /// The bound of the change that is the least one if this is better.
    fn bound(&self, level: f64, is_least_if: Better) -> Option<f64> {
        let is_least = self.direction == is_least_if;
        let end = if is_least { self.least(level) } else { self.most(level) };
        end.map(|end| self.direction.worse(end))
    }

    /// Both bounds, consistent with [`Robust::decide`].
    pub(super) fn held_against(
        &self,
        threshold: f64,
        levels: Levels,
    ) -> (Option<f64>, Option<f64>) {
        let beyond = threshold + 2.0 * ROUNDING;
        let (least, most) = (self.least(levels.alarm), self.most(levels.clear));
        let (least, most) = match self.decide(threshold, levels) {
            Some(Decision::Regression) => (least.map(|end| end.max(beyond)).or(Some(beyond)), most),
            Some(Decision::NoRegression) => {
                (least, most.map(|end| end.min(threshold)).or(Some(threshold)))
            }
            None => {
                let most = most.filter(|end| *end >= beyond || self.has_seen(levels.clear));
                (least.map(|end| end.min(threshold)), most.map(|end| end.max(beyond)))
            }
        };
        let worse = |end: Option<f64>| end.map(|end| self.direction.worse(end));
        self.turned((worse(least), worse(most)))
    }

    /// The number of pairs whose change is worse than a candidate, and of those whose change is
    /// better.
    pub(super) fn signs(&self, change: f64) -> (u64, u64) {
        self.typical.signs(self.direction.worse(change))
    }

    /// The result of the pairs for the threshold.
    pub(super) fn decide(&self, threshold: f64, levels: Levels) -> Option<Decision> {
        let critical = threshold + ROUNDING;
        let typical = self.typical.change()?;
        self.at(critical, levels, |wagers| {
            let slower = typical > critical && wagers.alarm.is_won();
            let tail = self.mean.change().map(shrunk);
            if slower || tail.is_some_and(|tail| tail > critical) && wagers.guard.is_won() {
                return Some(Decision::Regression);
            }
            let passes = typical <= critical && wagers.clear.is_won();
            let clears = passes
                && self.has_seen(levels.clear)
                && self.mean.upper(levels.clear).is_some_and(|end| shrunk(end) <= critical);
            clears.then_some(Decision::NoRegression)
        })
    }

    /// Raises the level of an alarm.
    pub(super) fn relax(&mut self, levels: Levels) {
        self.alarm = levels.alarm;
        self.tracked.iter_mut().for_each(|wagers| wagers.relax(levels));
    }

    /// See [`Running::evidence`](super::Running::evidence).
    pub(super) fn evidence(&self, threshold: f64, levels: Levels) -> f64 {
        self.at(threshold + ROUNDING, levels, CandidateWagers::evidence)
    }

    /// How close an alarm is: 1 if there is one, negative if the typical change is not
    /// beyond the threshold. The evidence grows with the square of the distance.
    pub(super) fn share_beyond(&self, threshold: f64, levels: Levels) -> Option<f64> {
        let critical = threshold + ROUNDING;
        let typical = self.typical.change()?;
        let share = self.at(critical, levels, |wagers| wagers.alarm.share());
        let share = share.max(0.0).sqrt();
        Some(if typical > critical { share } else { -share })
    }

    /// Whether a tail that is not too rare would have shown itself with a probability of
    /// `1 - clear`.
    pub(super) fn has_seen(&self, clear: f64) -> bool {
        self.typical.pairs() >= pairs_to_see(clear)
    }

    /// What determines the verdict. A larger value is worse.
    pub(super) fn prospects(&self, threshold: f64, levels: Levels) -> Vec<Option<Prospect>> {
        let Levels { alarm, clear } = levels;
        let critical = threshold + ROUNDING;
        let typical = self.typical.change().map(|typical| {
            let (above, below) =
                self.at(critical, levels, |wagers| (wagers.alarm.growth(), wagers.clear.growth()));
            Signal::Bets { higher: typical > critical, above, below }
        });
        let guard = self.mean.signal(guarded(threshold) - 1.0);
        let fewest = pairs_to_see(clear);
        vec![
            typical.map(|signal| Prospect { signal, above: part(alarm), below: clear, fewest }),
            guard.map(|signal| Prospect { signal, above: alarm * GUARD, below: clear, fewest }),
        ]
    }

    /// The minimum number of pairs that can decide either way.
    pub(super) fn least_pairs(levels: Levels) -> Option<u64> {
        let alarm = betting::least_pairs(Aim::Above, part(levels.alarm));
        alarm.into_iter().chain(Robust::least_pairs_to_pass(levels.clear)).min()
    }

    /// The minimum number of pairs of an all-clear.
    pub(super) fn least_pairs_to_pass(clear: f64) -> Option<u64> {
        let typical = betting::least_pairs(Aim::Below, clear)?;
        Some(typical.max(pairs_to_see(clear)))
    }

    /// Reads the wagers about a candidate, which are made from the kept pairs if it is not tracked.
    fn at<T>(&self, candidate: f64, levels: Levels, read: impl Fn(&CandidateWagers) -> T) -> T {
        let same = |one: &&CandidateWagers| one.candidate == candidate && one.levels == levels;
        if let Some(tracked) = self.tracked.iter().find(same) {
            return read(tracked);
        }
        let mut wagers = CandidateWagers::new(candidate, levels);
        self.kept.iter().for_each(|pair| wagers.push(&pair));
        read(&wagers)
    }

    /// The lower bound at the level of an alarm.
    fn least(&self, level: f64) -> Option<f64> {
        let typical = self.typical_bound(Aim::Above, part(level));
        self.guard_bound(typical.unwrap_or(-1.0), level * GUARD).or(typical)
    }

    /// The upper bound at the level of an all-clear.
    fn most(&self, level: f64) -> Option<f64> {
        let guard = self.mean.upper(level).map(shrunk)?;
        Some(self.typical_bound(Aim::Below, level)?.max(guard))
    }

    /// The bound of the typical change: the candidates beyond it are refuted. `None` if
    /// no candidate is.
    fn typical_bound(&self, aim: Aim, level: f64) -> Option<f64> {
        let estimate = ln_ratio(self.typical.change()?);
        let level = if self.kept.halvings > 0 { MERGED * level } else { level };
        let sign = match aim {
            Aim::Above => -1.0,
            Aim::Below => 1.0,
        };
        let refuted = |distance: f64| {
            let mut wager = Wager::new(aim, level);
            self.kept.iter().any(|pair| {
                wager.push(pair.ln_ratio - (estimate + sign * distance));
                wager.is_won()
            })
        };
        let count = self.kept.sums.len() as f64;
        let spread = self.kept.iter().map(|pair| (pair.ln_ratio - estimate).abs());
        let spread = spread.sum::<f64>() / count;
        // If all pairs are the same, up to rounding.
        let nearest = (estimate.abs() * f64::EPSILON).max(1e-15);
        let (mut far, mut near, mut row) = ((spread / count.sqrt()).max(nearest), 0.0, 0);
        let mut first = far;
        while row < IN_A_ROW {
            if refuted(far) {
                first = if row == 0 { far } else { first };
                row += 1;
            } else {
                (near, row) = (far, 0);
            }
            if far > 2.0 * MAX_LN_RATIO && row == 0 {
                return None;
            }
            far *= 2.0;
        }
        // Invariant: `first` is refuted and `near` is not.
        while first - near > EXACT * first && first > nearest {
            let middle = near.midpoint(first);
            *(if refuted(middle) { &mut first } else { &mut near }) = middle;
        }
        Some((estimate + sign * first).exp_m1())
    }

    /// The bound of the mean's change, divided by [`TAIL`], if it is above `typical`.
    fn guard_bound(&self, typical: f64, level: f64) -> Option<f64> {
        let tail = self.mean.change().map(shrunk).filter(|tail| *tail > typical)?;
        if !self.guard_refutes(typical, level) {
            return None;
        }
        let (mut near, mut far) = (tail.min(f64::MAX), typical);
        if self.guard_refutes(near, level) {
            return Some(tail);
        }
        // Invariant: `far` is refuted and `near` is not.
        while near - far > EXACT * (near - typical) && near.midpoint(far) != far {
            let middle = near.midpoint(far);
            *(if self.guard_refutes(middle, level) { &mut far } else { &mut near }) = middle;
        }
        Some(far)
    }

    /// Whether, by the guard, the mean's change is above what `change` allows.
    fn guard_refutes(&self, change: f64, level: f64) -> bool {
        let mut guard = Guard::new(level);
        let ratio = guarded(change);
        self.kept.iter().for_each(|pair| guard.push(ratio, pair.base, pair.head));
        guard.is_won()
    }

    /// The better side first if these are base and head; base first if these are the
    /// better and the worse side.
    fn turned<T>(&self, (base, head): (T, T)) -> (T, T) {
        match self.direction {
            Better::Lower => (base, head),
            Better::Higher => (head, base),
        }
    }
}

/// The logarithm of the ratio of a change, which is finite also where one side is 0.
fn ln_ratio(change: f64) -> f64 {
    change.ln_1p().clamp(-MAX_LN_RATIO, MAX_LN_RATIO)
}

/// The typical change's part of the level of an alarm.
fn part(alarm: f64) -> f64 {
    alarm * (1.0 - GUARD)
}

/// How many pairs show a tail that is not too rare with a probability of `1 - level`.
fn pairs_to_see(level: f64) -> u64 {
    (level.ln() / (1.0 - RARE).ln()).ceil().max(0.0) as u64
}

/// The ratio that is allowed for the mean if `change` is allowed for the typical change.
fn guarded(change: f64) -> f64 {
    1.0 + stretched(change)
}

/// The change that is allowed for the mean if `change` is allowed for the typical change. A
/// larger value is worse.
fn stretched(change: f64) -> f64 {
    if change > 0.0 { TAIL * change } else { change }
}

/// The change of the mean, to be compared with the threshold itself: the reverse of
/// [`stretched`].
fn shrunk(change: f64) -> f64 {
    if change > 0.0 { change / TAIL } else { change }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::TestNoise;

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
            let mut guard = Guard::new(0.01);
            pairs.iter().for_each(|(base, head)| guard.push(1.0 + 3.0 * typical, *base, *head));
            let tail = robust.mean.change().unwrap() / 3.0;
            if guard.is_won() {
                spoke += 1;
                assert_eq!((robust.overruled(), robust.change()), (Some(typical), Some(tail)));
                let bound = robust.least(0.05).unwrap();
                assert!(typical < bound && bound < tail, "{typical} {bound} {tail}");
                assert!(robust.guard_refutes(bound, 0.01));
                assert!(!robust.guard_refutes(bound + 0.005 * (tail - typical), 0.01));
            } else {
                silent += 1;
                assert_eq!((robust.overruled(), robust.change()), (None, Some(typical)));
            }
        }
        assert!(silent > 0 && spoke > 0, "{silent} {spoke}");
    }

    #[test]
    fn the_ends_part_what_the_wagers_refute() {
        let mut noise = TestNoise::seeded(52);
        let (mut found, mut odd) = (0, 0);
        for round in 0..60 {
            let count = [20, 41, 60][round % 3];
            let mut sums = Robust::new(Better::Lower, 0.05);
            let changes: Vec<f64> = (0..count).map(|_| 0.01 * noise.normal()).collect();
            changes.iter().for_each(|change| sums.push(1.0, 1.0 + change));
            let refuted = |aim: Aim, candidate: f64| {
                let mut wager = Wager::new(aim, 0.04);
                changes.iter().for_each(|change| wager.push(change.ln_1p() - candidate.ln_1p()));
                wager.is_won()
            };
            let estimate = sums.typical.change().unwrap();
            for (aim, out) in [(Aim::Above, -1.0), (Aim::Below, 1.0)] {
                let Some(end) = sums.typical_bound(aim, 0.04) else { continue };
                let distance = (end - estimate).abs();
                found += 1;
                // A step further out is refuted, and one further in is not. Beyond, what is
                // refuted need not be in one piece, but nearly is.
                let inside = refuted(aim, end - out * 0.005 * distance);
                let steps = (0..40).map(|step| 0.001 + 0.1 * f64::from(step));
                let open = steps.filter(|step| !refuted(aim, end + out * step * distance));
                odd += open.count() + usize::from(inside);
            }
        }
        assert!(odd <= found / 20, "{odd} of {found}");
        assert!(found > 60, "{found}");
    }

    #[test]
    fn neighbours_are_put_together_only_where_there_are_many_pairs() {
        let mut kept = KeptPairs::default();
        for number in 1..=20_000_u32 {
            let value = f64::from(number);
            kept.push(PairMean { base: value, head: 2.0 * value, ln_ratio: -value });
            let width = 1 << kept.halvings;
            assert_eq!(kept.sums.len(), kept.pairs.div_ceil(width));
            assert!(kept.sums.len() <= KeptPairs::MOST, "{number}");
        }
        let all: Vec<PairMean> = kept.iter().collect();
        assert_eq!((kept.halvings, all.len()), (6, 313));
        // The last one has only half of its pairs.
        for (place, pair) in all.iter().take(312).enumerate() {
            let mean = 64.0 * place as f64 + 32.5;
            assert_eq!((pair.base, pair.head, pair.ln_ratio), (mean, 2.0 * mean, -mean));
        }
        assert_eq!(kept.iter().last().map(|pair| pair.base), Some(19_984.5));
    }

    #[test]
    fn what_is_tracked_is_what_the_kept_pairs_say() {
        let mut noise = TestNoise::seeded(53);
        let levels = Levels { alarm: 0.01, clear: 0.05 };
        let mut decided = 0;
        for round in 0..6 {
            let mut sums = Robust::new(Better::Lower, levels.alarm);
            sums.track(0.02, levels);
            for _ in 0..50 {
                let effect = 0.01 * f64::from(round);
                sums.push(1.0 + 0.02 * noise.normal(), 1.0 + effect + 0.02 * noise.normal());
                let mut asked = sums.clone();
                asked.tracked.clear();
                assert_eq!(sums.decide(0.02, levels), asked.decide(0.02, levels));
                assert_eq!(sums.held_against(0.02, levels), asked.held_against(0.02, levels));
                decided += usize::from(sums.decide(0.02, levels).is_some());
            }
        }
        assert!(decided > 40, "{decided}");
    }

    #[test]
    fn the_least_pairs_are_those_of_the_easiest_way_to_a_verdict() {
        for (alarm, clear) in [(0.05, 0.05), (0.01, 0.05), (0.05, 0.001), (1e-6, 0.4)] {
            let steady = |change: f64, pairs: usize| {
                let sums = filled(Better::Lower, &vec![(1.0, 1.0 + change); pairs]);
                sums.decide(0.02, Levels { alarm, clear }).is_some()
            };
            let naive = (1..100).find(|pairs| steady(0.5, *pairs) || steady(0.0, *pairs));
            let least = Robust::least_pairs(Levels { alarm, clear }).map(|pairs| pairs as usize);
            assert_eq!(least, naive, "{alarm} {clear}");
        }
    }
}
