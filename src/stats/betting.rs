//! Evidence with a theorem: bets on the direction of each pair's change.
//!
//! Let `z = ln(head/base) - ln(1 + candidate)` of a pair. If the head takes `1 + candidate`
//! times as long as the base would have in its place, `z` is symmetric about 0 whatever the
//! noise, since a coin decides which of the two runs first. A *bet* is a
//! function `f` that is odd, nondecreasing and below 1 in size, and that is chosen before
//! the pair is measured. A capital of 1 that is multiplied by `1 + f(z)` at each pair is
//! then a fair game: its mean stays 1. If the head takes at most that long, `z` is at most
//! such a symmetric value, so `f(z)` has a mean of at most 0 and the game is unfair against
//! the player; a factor is not needed. By Ville's inequality the
//! capital of such a game ever reaches `1/level` with a probability of at most `level`,
//! however often it is looked at. So a [`Wager`] that has reached it refutes "the change
//! is at most the candidate"; with `-z` for `z` it refutes the opposite.
//!
//! The theorem leaves the choice of the bet free, which decides how soon the game is won:
//!
//! ```text
//! f(z) = stake * tanh(slope * z / s)      s = the median of |z| so far
//! ```
//!
//! On normal noise the best bet is such a `tanh`, with a slope in proportion to the
//! effect. On noise with a narrow core and wide tails it is nearly a sign test, with a
//! stake below 1 that survives the tails. The capital is spread over all [`BETS`] at the
//! beginning and each part bets for itself, so that the noise shows which of them suits it,
//! at the price of the logarithm of that part. Nothing here has a unit: a threshold of 0 and
//! noise of any size need no case of their own.
//!
//! No more is staked than can be won: a capital just below the aim bets just so much that
//! it may reach it. This saves a few pairs and leaves the game fair.
//!
//! The [`Guard`] bets on `y - r x` itself, in units of the mean of `x`, so that rare and
//! much slower runs count for what they cost.
//!
//! # References
//!
//! - Ville 1939, *Étude critique de la notion de collectif*, for the inequality.
//! - Vovk and Wang 2024, *Nonparametric e-tests of symmetry*, New England Journal of
//!   Statistics in Data Science 2:261, for bets on symmetric noise.
//! - Ramdas, Ruf, Larsson and Koolen 2020, *Admissible anytime-valid sequential inference
//!   must rely on nonnegative martingales*, arXiv 2009.03167.
//! - Waudby-Smith and Ramdas 2024, *Estimating means of bounded random variables by
//!   betting*, J. R. Stat. Soc. B 86:1, for the mixture over bets.

struct Bet {
    /// How steep it is: from effects that are small beside the noise to signs.
    slope: f64,
    /// The largest part of its capital that it stakes.
    stake: f64,
    /// Its part of the initial capital if the aim is an alarm. Slowdowns may have any size,
    /// so much of the capital bets on large ones.
    alarm: f64,
    /// The same for an all-clear, which mostly has to distinguish no change from the threshold.
    clear: f64,
}

/// All ways to bet. The parts are rounded from those with which simulated comparisons took
/// the fewest pairs, on noise other than the recorded one (`docs/statistics.md`).
const BETS: [Bet; 8] = [
    Bet { slope: 1.0 / 16.0, stake: NEARLY_ALL, alarm: 0.02, clear: 0.03 },
    Bet { slope: 0.125, stake: NEARLY_ALL, alarm: 0.08, clear: 0.15 },
    Bet { slope: 0.25, stake: NEARLY_ALL, alarm: 0.06, clear: 0.15 },
    Bet { slope: 1.0, stake: 0.5, alarm: 0.20, clear: 0.22 },
    Bet { slope: 4.0, stake: 0.25, alarm: 0.05, clear: 0.12 },
    Bet { slope: 4.0, stake: 0.5, alarm: 0.12, clear: 0.18 },
    Bet { slope: 4.0, stake: 0.75, alarm: 0.20, clear: 0.10 },
    Bet { slope: 4.0, stake: NEARLY_ALL, alarm: 0.27, clear: 0.05 },
];

/// Bets that are less steep than this begin after [`ABSTAIN`] pairs: without a scale they would
/// be signs, and lose nearly all that they stake.
const FLAT: f64 = 1.0;

const ABSTAIN: usize = 3;

/// A stake that leaves something even if it is lost.
const NEARLY_ALL: f64 = 0.9999;

/// The number of latest pairs whose sizes determine the scale.
const RECENT: usize = 512;

/// What a wager should show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// That the change is above the candidate.
    Above,
    Below,
}

/// A capital that bets against a candidate, from 1 to `1/level`.
#[derive(Clone, Debug)]
pub(super) struct Wager {
    aim: Aim,
    /// The capital that refutes the candidate.
    needed: f64,
    capital: f64,
    /// The largest capital so far.
    most: f64,
    /// The logarithm of the capital without the limit on what is staked.
    ln_unlimited: f64,
    /// Which part of the capital each bet has.
    parts: [f64; BETS.len()],
    /// The sizes of the latest pairs, in no order.
    sizes: Vec<f64>,
    /// The median size, as of the latest renewal.
    scale: f64,
    pairs: usize,
    /// The number of pairs until the scale is computed again.
    renewal: usize,
}

impl Wager {
    /// A wager that may be lost with a probability of `level`. With a level outside of 0
    /// to 0.5 it is never won.
    pub(super) fn new(aim: Aim, level: f64) -> Self {
        Wager {
            aim,
            needed: needed(level),
            capital: 1.0,
            most: 1.0,
            ln_unlimited: 0.0,
            parts: aim.parts(),
            sizes: Vec::new(),
            scale: 0.0,
            pairs: 0,
            renewal: 0,
        }
    }

    /// Bets on a pair whose `ln(1 + change)` is `distance` above that of the candidate.
    pub(super) fn push(&mut self, distance: f64) {
        self.renew_scale();
        let z = if self.aim == Aim::Above { distance } else { -distance };
        let (mut slope, mut direction) = (0.0, 0.0);
        let mut bets = [0.0; BETS.len()];
        for (size, bet) in bets.iter_mut().zip(&BETS) {
            if bet.slope != slope {
                (slope, direction) = (bet.slope, directed(bet.slope * z, self.scale));
            }
            let abstains = bet.slope < FLAT && self.pairs < ABSTAIN;
            *size = if abstains { 0.0 } else { bet.stake * direction };
        }
        let together: f64 = self.parts.iter().zip(&bets).map(|(part, bet)| part * bet).sum();
        self.ln_unlimited += together.ln_1p();
        let most = (self.needed / self.capital - 1.0).max(0.0);
        self.capital *= 1.0 + together.clamp(-most, most);
        self.most = self.most.max(self.capital);
        for (part, bet) in self.parts.iter_mut().zip(&bets) {
            *part *= 1.0 + bet;
        }
        // By their own sum: by `1 + together` an error of rounding would grow with each loss.
        let all: f64 = self.parts.iter().sum();
        self.parts.iter_mut().for_each(|part| *part /= all);
        match self.sizes.get_mut(self.pairs % RECENT) {
            Some(oldest) => *oldest = z.abs(),
            None => self.sizes.push(z.abs()),
        }
        self.pairs += 1;
    }

    /// Whether the candidate is refuted. Once it is, it remains so: nothing is staked any
    /// more.
    pub(super) fn is_won(&self) -> bool {
        self.needed.is_finite() && self.most >= self.needed * (1.0 - 1e-9)
    }

    /// From now on, a larger `level` is enough. The largest capital so far counts: Ville's
    /// inequality is about it.
    pub(super) fn relax(&mut self, level: f64) {
        self.needed = needed(level);
    }

    /// The capital, which has a mean of at most 1 if the candidate is true.
    pub(super) fn capital(&self) -> f64 {
        self.capital
    }

    /// How close it is to being won: the logarithm of the capital, divided by that of the
    /// required one: 1 if it is won, negative if capital was lost.
    pub(super) fn share(&self) -> f64 {
        self.capital.ln() / self.needed.ln()
    }

    /// The results of the bets so far, to extrapolate them.
    pub(super) fn growth(&self) -> BetGrowth {
        let before = self.aim.parts();
        let mut growths = [0.0; BETS.len()];
        for (growth, (now, before)) in growths.iter_mut().zip(self.parts.iter().zip(before)) {
            *growth = self.ln_unlimited + (now / before).ln();
        }
        BetGrowth { aim: self.aim, growths }
    }

    /// The scale is kept for a twenty-fifth of the pairs, so that it costs little.
    fn renew_scale(&mut self) {
        if self.pairs >= self.renewal {
            let mut sizes = self.sizes.clone();
            let middle = sizes.len() / 2;
            if middle < sizes.len() {
                self.scale = *sizes.select_nth_unstable_by(middle, f64::total_cmp).1;
            }
            self.renewal = self.pairs + 1 + self.pairs / 25;
        }
    }
}

impl Aim {
    /// The part of the initial capital of each bet.
    fn parts(self) -> [f64; BETS.len()] {
        BETS.map(|bet| if self == Aim::Above { bet.alarm } else { bet.clear })
    }
}

/// The capital that refutes a candidate at `level`: none does outside of 0 to 0.5.
fn needed(level: f64) -> f64 {
    if level > 0.0 && level < 0.5 { level.recip() } else { f64::INFINITY }
}

/// `tanh(value / scale)`: the sign of the value if there is no scale yet, or none at all
/// because most values are 0.
fn directed(value: f64, scale: f64) -> f64 {
    if value == 0.0 { 0.0 } else { (value / scale).tanh() }
}

/// What each bet of a wager has made of its capital.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BetGrowth {
    aim: Aim,
    growths: [f64; BETS.len()],
}

impl BetGrowth {
    /// The logarithm of the capital after `times` as many pairs if all of them go on like
    /// the ones so far.
    pub(super) fn ln_capital(&self, times: f64) -> f64 {
        let growths = self.growths.map(|growth| growth * times);
        let most = growths.into_iter().fold(f64::NEG_INFINITY, f64::max);
        if most.is_infinite() {
            return most;
        }
        let parts = self.aim.parts().into_iter().zip(growths);
        most + parts.map(|(part, growth)| part * (growth - most).exp()).sum::<f64>().ln()
    }
}

/// The minimum number of pairs with which a wager can be won at `level`; `None` if it
/// never can.
pub(super) fn least_pairs(aim: Aim, level: f64) -> Option<u64> {
    let mut wager = Wager::new(aim, level);
    let sure = if aim == Aim::Above { 1.0 } else { -1.0 };
    // Each pair adds a factor, so even the smallest level that a double can hold needs
    // fewer pairs than this.
    (1..5_000).find(|_| {
        wager.push(sure);
        wager.is_won()
    })
}

/// A capital that bets on the ratio of the means being above a candidate.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    needed: f64,
    capitals: [f64; GUARD_SLOPES.len()],
    /// The largest capital so far.
    most: f64,
    sum: f64,
    pairs: u32,
}

/// The slopes of the guard's bets: from a quarter of the mean to four times as much.
const GUARD_SLOPES: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

impl Guard {
    /// A guard that may be wrong with a probability of `level`.
    pub(super) fn new(level: f64) -> Self {
        Guard {
            needed: needed(level),
            capitals: [1.0; GUARD_SLOPES.len()],
            most: 1.0,
            sum: 0.0,
            pairs: 0,
        }
    }

    /// Bets on a pair against the candidate `ratio`. The first pair only gives the unit.
    pub(super) fn push(&mut self, ratio: f64, base: f64, head: f64) {
        if self.pairs > 0 {
            let mean = self.sum / f64::from(self.pairs);
            let difference = head - ratio * base;
            for (capital, slope) in self.capitals.iter_mut().zip(GUARD_SLOPES) {
                *capital *= 1.0 + NEARLY_ALL * directed(slope * difference, mean);
            }
            self.most = self.most.max(self.capital());
        }
        self.sum += base;
        self.pairs = self.pairs.saturating_add(1);
    }

    pub(super) fn is_won(&self) -> bool {
        self.most >= self.needed
    }

    pub(super) fn relax(&mut self, level: f64) {
        self.needed = needed(level);
    }

    pub(super) fn capital(&self) -> f64 {
        self.capitals.iter().sum::<f64>() / GUARD_SLOPES.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::TestNoise;

    const AIMS: [Aim; 2] = [Aim::Above, Aim::Below];

    /// Each way to give the sizes their signs, equally likely under the null.
    fn signs(sizes: &[f64]) -> impl Iterator<Item = Vec<f64>> + '_ {
        (0..1_u32 << sizes.len()).map(|signs| {
            let signed = |(place, size): (usize, &f64)| match signs >> place & 1 {
                0 => *size,
                _ => -size,
            };
            sizes.iter().enumerate().map(signed).collect()
        })
    }

    #[test]
    fn the_game_is_fair_whatever_the_sizes() {
        let mut noise = TestNoise::seeded(81);
        for round in 0..12 {
            let size = |_| match round % 4 {
                0 => 1.0,
                1 => noise.normal().abs(),
                2 => (4.0 * noise.normal()).exp(),
                _ => f64::from(u8::from(noise.uniform() < 0.5)),
            };
            let sizes: Vec<f64> = (0..10).map(size).collect();
            for (aim, level) in AIMS.into_iter().zip([0.04, 0.2]) {
                let (mut sum, mut won, mut ways) = (0.0, 0, 0);
                for pairs in signs(&sizes) {
                    let mut wager = Wager::new(aim, level);
                    pairs.iter().for_each(|distance| wager.push(*distance));
                    sum += wager.capital;
                    won += u32::from(wager.is_won());
                    ways += 1;
                }
                let mean = sum / f64::from(ways);
                assert!((mean - 1.0).abs() < 1e-9, "{round}: {mean}");
                assert!(f64::from(won) <= level * f64::from(ways), "{round}: {won} of {ways}");
            }
        }
    }

    #[test]
    fn below_the_candidate_the_game_is_unfair_against_the_player() {
        let sizes: Vec<f64> = (1..=12).map(|i| f64::from(i * i % 7) + 0.3).collect();
        let mut last = 1.0;
        for shift in [0.0, 0.1, 0.5, 2.0] {
            let capitals = signs(&sizes).map(|pairs| {
                let mut wager = Wager::new(Aim::Above, 0.04);
                pairs.iter().for_each(|distance| wager.push(distance - shift));
                wager.capital
            });
            let mean = capitals.sum::<f64>() / f64::from(1 << 12);
            assert!(mean <= last + 1e-9, "{shift}: {mean}");
            last = mean;
        }
        assert!(last < 0.1, "{last}");
    }

    #[test]
    fn what_is_won_is_exactly_the_aim_and_remains_won() {
        let mut noise = TestNoise::seeded(82);
        for aim in AIMS {
            let mut wager = Wager::new(aim, 0.05);
            let effect = if aim == Aim::Above { 0.5 } else { -0.5 };
            let mut pairs = 0;
            while !wager.is_won() {
                assert!(wager.share() < 1.0 && wager.capital < 20.0);
                wager.push(effect + noise.normal());
                pairs += 1;
            }
            assert!(pairs > 5 && (wager.capital - 20.0).abs() < 1e-9, "{}", wager.capital);
            (0..50).for_each(|_| wager.push(-effect));
            assert!(wager.is_won() && (wager.share() - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn units_do_not_matter() {
        let mut noise = TestNoise::seeded(83);
        let pairs: Vec<f64> = (0..60).map(|_| 0.3 + noise.normal()).collect();
        let capital = |unit: f64| {
            let mut wager = Wager::new(Aim::Above, 1e-6);
            pairs.iter().for_each(|distance| wager.push(unit * distance));
            wager.capital
        };
        for unit in [1e-12, 1e-3, 1e6] {
            assert!((capital(unit) / capital(1.0) - 1.0).abs() < 1e-9, "{unit}");
        }
    }

    #[test]
    fn the_least_pairs_are_known_and_a_level_of_none_is_never_won() {
        assert_eq!(least_pairs(Aim::Above, 0.04), Some(6));
        assert_eq!(least_pairs(Aim::Below, 0.05), Some(8));
        for level in [0.0, 0.5, 0.7, -1.0, f64::NAN] {
            assert_eq!(least_pairs(Aim::Above, level), None, "{level}");
        }
        assert!(least_pairs(Aim::Above, 1e-300).is_some());
        assert!(least_pairs(Aim::Below, 1e-300).is_some());
    }

    #[test]
    fn a_wager_that_goes_on_like_before_fares_as_foretold() {
        let pattern = [1.0, 2.0, -0.5, 1.5];
        for aim in AIMS {
            let sign = if aim == Aim::Above { 1.0 } else { -1.0 };
            let mut wager = Wager::new(aim, 1e-200);
            let mut round = |times: usize| {
                let pairs = pattern.repeat(times);
                pairs.iter().for_each(|distance| wager.push(sign * distance));
                (wager.growth(), wager.capital.ln())
            };
            let (growth, now) = round(20);
            assert!((growth.ln_capital(1.0) - now).abs() < 1e-9, "{now}");
            let (_, later) = round(20);
            let foretold = growth.ln_capital(2.0);
            assert!((foretold / later - 1.0).abs() < 0.1, "{foretold} {later}");
        }
    }

    #[test]
    fn the_guard_is_fair_to_runs_that_swap_their_sides() {
        let mut noise = TestNoise::seeded(84);
        let ratio = 1.06;
        for _ in 0..10 {
            let pairs: Vec<(f64, f64)> =
                (0..12).map(|_| (noise.normal().exp(), noise.normal().exp())).collect();
            let (mut sum, mut won) = (0.0, 0);
            for swaps in 0..1_u32 << pairs.len() {
                let mut guard = Guard::new(0.05);
                for (place, &(base, head)) in pairs.iter().enumerate() {
                    match swaps >> place & 1 {
                        0 => guard.push(ratio, base, head),
                        _ => guard.push(ratio, head / ratio, ratio * base),
                    }
                }
                sum += guard.capital();
                won += u32::from(guard.is_won());
            }
            let ways = f64::from(1 << pairs.len());
            assert!((sum / ways - 1.0).abs() < 1e-9, "{}", sum / ways);
            assert!(f64::from(won) <= 0.05 * ways, "{won}");
        }
    }
}
