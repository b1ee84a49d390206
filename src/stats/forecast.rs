//! Predicts how many pairs the verdict will need if the noise stays as it is.
//!
//! A plug-in estimate: the smallest number of pairs with which the effect so far would
//! be decided. It is a forecast without guarantee, since the effect itself is
//! uncertain, especially after few pairs.

use super::estimator::{Prospect, Running, Signal};
use super::first;
use super::sequential::{ln_evidence, ln_needed, ln_sign_evidence};

/// The largest number of pairs to forecast.
const CAP: u64 = 10_000_000;

/// The number of pairs before a forecast: fewer show too little of the noise.
const FEWEST: u64 = 3;

/// When to expect the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forecast {
    /// With this many pairs, including those already measured.
    Pairs(u64),
    /// Not within ten million pairs: the change is too close to the threshold.
    Never,
    /// There are too few pairs for a forecast, or the estimate is undefined.
    Unknown,
}

/// The number of pairs with which `running` is expected to decide about `threshold`
/// (see [`Running::decide`]).
pub(crate) fn pairs_to_verdict(running: &Running, threshold: f64) -> Forecast {
    let pairs = running.pairs();
    if running.decide(threshold).is_some() {
        return Forecast::Pairs(pairs);
    }
    let Some(prospects) = running.prospects(threshold).filter(|_| pairs >= FEWEST) else {
        return Forecast::Unknown;
    };
    let is_above = |prospect: &&Prospect| above(prospect.signal);
    let expected = |prospect: &Prospect| expected(prospect, pairs);
    let total = if prospects.iter().any(|prospect| is_above(&prospect)) {
        prospects.iter().filter(is_above).filter_map(expected).min()
    } else {
        let all: Option<Vec<u64>> = prospects.iter().map(expected).collect();
        all.and_then(|all| all.into_iter().max())
    };
    total.map_or(Forecast::Never, Forecast::Pairs)
}

/// The expected number of pairs for one of the two tests.
fn expected(prospect: &Prospect, pairs: u64) -> Option<u64> {
    let (level, fewest) = match above(prospect.signal) {
        true => (prospect.above, 0),
        false => (prospect.below, prospect.fewest),
    };
    let needed = needed(prospect.signal, level)?;
    let decides = |count: u64| evidence(prospect.signal, needed, pairs, count) >= needed;
    first_up_to_cap(fewest.max(pairs + 1), decides)
}

/// The evidence that decides at `level`.
fn needed(signal: Signal, level: f64) -> Option<f64> {
    match signal {
        // Each direction has a wager of its own.
        Signal::Bets { .. } => ln_needed(level).map(|both| both + std::f64::consts::LN_2),
        Signal::Share { .. } | Signal::Signs { .. } => ln_needed(level),
    }
}

/// Whether the signal points to a change above the candidate.
fn above(signal: Signal) -> bool {
    match signal {
        Signal::Share { above, .. } => above,
        Signal::Signs { above, below } => above > below,
        Signal::Bets { higher, .. } => higher,
    }
}

/// The evidence of `count` pairs if they all go on like the first `pairs`.
fn evidence(signal: Signal, needed: f64, pairs: u64, count: u64) -> f64 {
    let times = count as f64 / pairs as f64;
    match signal {
        Signal::Share { share, .. } => ln_evidence(count, share, needed),
        Signal::Signs { above, below } => {
            ln_sign_evidence(times * above as f64, times * below as f64)
        }
        Signal::Bets { higher, above, below } => {
            if higher {
                above.ln_capital(times)
            } else {
                below.ln_capital(times)
            }
        }
    }
}

/// The smallest number from `start` up to the cap that `decides`. The evidence may fall
/// at first, but once it rises, it keeps rising.
fn first_up_to_cap(start: u64, decides: impl Fn(u64) -> bool) -> Option<u64> {
    let mut below = start;
    let mut enough = start;
    while !decides(enough) {
        if enough >= CAP {
            return None;
        }
        below = enough;
        enough = (2 * enough).min(CAP);
    }
    Some(first(below..enough, decides))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Better, Estimator};
    use crate::stats::estimator::{Decision, Levels};
    use crate::stats::tests::TestNoise;

    fn running(estimator: Estimator) -> Running {
        let levels = Levels::new(0.95, 1);
        Running::new(estimator, Better::Lower, levels)
    }

    /// Pairs whose differences at `1 + threshold` have exactly the mean and the
    /// deviation of 3 % normal noise about `change`.
    fn typical(change: f64, threshold: f64, pairs: u32) -> Running {
        let mut running = running(Estimator::Mean);
        for i in 0..pairs {
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            let deviation = 0.03 * (1.0 + (1.0 + threshold) * (1.0 + threshold)).sqrt();
            running.push(1.0, 1.0 + change + sign * deviation);
        }
        running
    }

    #[test]
    fn the_forecast_is_near_the_simulated_means() {
        for (change, simulated) in [(0.0, 39.0), (0.01, 140.0), (0.10, 9.0)] {
            let Forecast::Pairs(pairs) = pairs_to_verdict(&typical(change, 0.02, 6), 0.02) else {
                panic!("{change}");
            };
            let factor = pairs as f64 / simulated;
            assert!((0.7..1.3).contains(&factor), "{change}: {pairs}");
        }
    }

    #[test]
    fn what_is_forecast_for_fixed_effects_comes_true() {
        let decided = (6..).step_by(2).find(|n| typical(0.0, 0.02, *n).decide(0.02).is_some());
        let Forecast::Pairs(pairs) = pairs_to_verdict(&typical(0.0, 0.02, 6), 0.02) else {
            panic!("no forecast");
        };
        assert!(pairs.abs_diff(u64::from(decided.unwrap())) <= 1, "{pairs} {decided:?}");
    }

    #[test]
    fn a_pattern_that_repeats_is_decided_when_it_was_forecast() {
        // Three to one on a side of the threshold, the one being half as far.
        let pattern = [-0.05, -0.04, 0.02, -0.045];
        for (round, estimator) in Estimator::ALL.into_iter().cycle().take(10).enumerate() {
            let side = if round < 5 { 1.0 } else { -1.0 };
            let mut running = running(estimator);
            let mut repeat = |times: usize| {
                for offset in pattern.repeat(times) {
                    running.push(1.0, 1.02 * (1.0 + side * offset));
                }
                (running.decide(0.02), pairs_to_verdict(&running, 0.02))
            };
            let (None, Forecast::Pairs(forecast)) = repeat(1) else { panic!("{estimator}") };
            let verdict = (2..).find(|_| repeat(1).0.is_some()).unwrap();
            assert!(forecast.abs_diff(4 * verdict) <= 4, "{estimator}: {forecast} {verdict}");
            assert!(verdict > 2, "{estimator}: there was something to forecast");
        }
    }

    #[test]
    fn what_the_forecast_goes_by_is_what_the_verdict_goes_by() {
        let mut noise = TestNoise::seeded(42);
        let mut decided = 0;
        for round in 0..200 {
            // A wager that has been won, or that stakes no more than it can win, has another
            // capital than the one that goes on, by which it is foretold.
            let by_sums = Estimator::ALL.into_iter().filter(|one| *one != Estimator::Robust);
            let estimator = by_sums.cycle().nth(round % 5).unwrap();
            let direction = [Better::Lower, Better::Higher][round / 5 % 2];
            let mut running = Running::new(estimator, direction, Levels::new(0.95, 1 + round % 3));
            let (threshold, effect) = (0.1 * noise.uniform(), 0.2 * (noise.uniform() - 0.5));
            for pairs in 1..60 {
                let tail = if round % 3 == 0 && pairs % 7 == 4 { 2.0 } else { 1.0 };
                let (one, other) = (0.03 * noise.normal(), 0.03 * noise.normal());
                running.push(1.0 + one, tail * (1.0 + effect + other));
                let prospects = running.prospects(threshold).unwrap();
                let found = |prospect: &Prospect, level: f64| {
                    let needed = ln_needed(level).unwrap();
                    evidence(prospect.signal, needed, pairs, pairs) >= needed
                };
                let is_above = |all: &Prospect| above(all.signal) && found(all, all.above);
                let is_below = |all: &Prospect| {
                    !above(all.signal) && found(all, all.below) && pairs >= all.fewest
                };
                let expected = match prospects.iter().any(is_above) {
                    above if !above && !prospects.iter().all(is_below) => None,
                    above if above == (direction == Better::Lower) => Some(Decision::Regression),
                    _ => Some(Decision::NoRegression),
                };
                assert_eq!(running.decide(threshold), expected, "{estimator} {round} {pairs}");
                decided += usize::from(expected.is_some());
            }
        }
        assert!(decided > 4_000, "{decided}");
    }

    #[test]
    fn as_many_above_as_below_ask_whether_it_is_below() {
        assert!(!above(Signal::Signs { above: 5, below: 5 }));
        assert!(above(Signal::Signs { above: 6, below: 5 }));
    }

    #[test]
    fn every_estimator_has_a_forecast_that_ends_with_the_verdict() {
        let mut noise = TestNoise::seeded(41);
        for estimator in Estimator::ALL {
            let mut running = running(estimator);
            assert_eq!(pairs_to_verdict(&running, 0.02), Forecast::Unknown);
            while running.decide(0.02).is_none() {
                running.push(1.0 + 0.03 * noise.normal(), 1.0 + 0.03 * noise.normal());
                if let Forecast::Pairs(pairs) = pairs_to_verdict(&running, 0.02) {
                    assert!(pairs >= running.pairs());
                }
            }
            let pairs = running.pairs();
            assert_eq!(pairs_to_verdict(&running, 0.02), Forecast::Pairs(pairs));
        }
    }

    #[test]
    fn at_the_threshold_itself_there_is_never_a_verdict() {
        assert_eq!(pairs_to_verdict(&typical(0.02, 0.02, 6), 0.02), Forecast::Never);
        let mut tied = running(Estimator::Median);
        for i in 0..8 {
            tied.push(1.0, 1.01 + f64::from(i % 2) * 0.02);
        }
        assert_eq!(pairs_to_verdict(&tied, 0.02), Forecast::Never);
        assert_eq!(pairs_to_verdict(&tied, f64::NAN), Forecast::Unknown);
    }
}
