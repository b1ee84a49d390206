//! The rule of the default estimator before it used bets: the average of the evidence of the
//! mean and of the signs, with the same guard. There is no theorem behind it.

use cargo_cbdr::stats::estimator::Decision;
use statrs::function::beta::ln_beta;

/// The signs' weight in the average.
const ON_SIGNS: f64 = 0.4;

/// By what factor the guard's threshold is further away, and its part of the level.
const TAIL: f64 = 3.0;
const GUARD: f64 = 0.2;

/// The pairs of one comparison.
pub struct Before {
    threshold: f64,
    level: f64,
    /// The least number of pairs of an all-clear.
    fewest: f64,
    typical: Differences,
    guard: Differences,
}

impl Before {
    pub fn new(threshold: f64, level: f64) -> Self {
        let (typical, guard) = (Differences::default(), Differences::default());
        Before { threshold, level, fewest: (level.ln() / 0.8_f64.ln()).ceil(), typical, guard }
    }

    pub fn push(&mut self, base: f64, head: f64) {
        self.typical.push(head - base * (1.0 + self.threshold));
        self.guard.push(head - base * (1.0 + TAIL * self.threshold));
    }

    pub fn decide(&self) -> Option<Decision> {
        let Differences { pairs, above, .. } = self.typical;
        let is_slower = 2.0 * above > pairs;
        let (alarm, guard) = (needed((1.0 - GUARD) * self.level), needed(GUARD * self.level));
        let slower = is_slower && self.typical.ln_average(true, alarm) >= alarm;
        if slower || self.guard.ln_evidence(true, guard) >= guard {
            return Some(Decision::Regression);
        }
        let clear = needed(self.level);
        let clears = !is_slower
            && pairs >= self.fewest
            && self.typical.ln_average(false, clear) >= clear
            && self.guard.ln_evidence(false, clear) >= clear;
        clears.then_some(Decision::NoRegression)
    }
}

/// The logarithm of the evidence that decides at `level`.
fn needed(level: f64) -> f64 {
    -(2.0 * level).ln()
}

/// Sums of differences.
#[derive(Default)]
struct Differences {
    pairs: f64,
    above: f64,
    below: f64,
    sum: f64,
    squares: f64,
}

impl Differences {
    fn push(&mut self, difference: f64) {
        self.pairs += 1.0;
        self.above += f64::from(u8::from(difference > 0.0));
        self.below += f64::from(u8::from(difference < 0.0));
        self.sum += difference;
        self.squares += difference * difference;
    }

    /// The evidence of the mean on one side, as `stats::sequential` has it.
    fn ln_evidence(&self, above: bool, needed: f64) -> f64 {
        let share = self.sum * self.sum / (self.pairs * self.squares);
        if share.is_nan() || (self.sum > 0.0) != above {
            return f64::NEG_INFINITY;
        }
        let grown = self.pairs * 0.15 / (1.0 + needed).sqrt();
        let rise = -0.5 * self.pairs * (-share * (grown / (1.0 + grown))).ln_1p();
        needed / (1.0 + needed) - 0.8 * grown.ln_1p() + rise
    }

    /// The evidence of the signs on one side.
    fn ln_of_signs(&self, above: bool) -> f64 {
        if (self.above > self.below) != above || self.above == self.below {
            return f64::NEG_INFINITY;
        }
        let fair = (self.above + self.below) * std::f64::consts::LN_2;
        fair + ln_beta(self.above + 0.5, self.below + 0.5) - ln_beta(0.5, 0.5)
    }

    fn ln_average(&self, above: bool, needed: f64) -> f64 {
        let (signs, mean) = (self.ln_of_signs(above), self.ln_evidence(above, needed));
        (ON_SIGNS * signs.exp() + (1.0 - ON_SIGNS) * mean.exp()).ln()
    }
}
