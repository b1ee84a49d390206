//! A threshold that is learnt from earlier results: what the noise of a benchmark lets a comparison
//! decide in its time.
//!
//! Only the differences between runs of one result count, one right after the other. How the level
//! changes from commit to commit does not matter, so that a slow climb loosens nothing.

use crate::model::{Better, Estimator, Learnt};
use crate::stats::estimator::{Levels, Running};

/// The smallest threshold that is learnt, and the largest one: a gate that allows more would be
/// useless.
pub const RANGE: [f64; 2] = [0.01, 0.1];

/// The fewest results from which a threshold is learnt, and the most, which are the newest.
pub const RESULTS: [usize; 2] = [5, 30];

/// The factor by which a threshold exceeds what the noise allows, since the machine may be noisier
/// later.
pub(crate) const MARGIN: f64 = 1.25;

/// The factor by which a threshold has grown since the oldest results if that is worth a warning.
const GROWN: f64 = 1.25;

/// The maximum number of pairs for which a reach is computed; with more, it shrinks with their
/// square root.
const MOST_PAIRS: u64 = 500;

/// How the verdicts are reached for which a threshold is learnt.
#[derive(Clone, Copy, Debug)]
pub struct Learner {
    /// The estimator of the metric.
    pub estimator: Estimator,
    /// Which way is better.
    pub better: Better,
    /// The error that the comparison allows each benchmark.
    pub levels: Levels,
    /// For how many pairs of each benchmark there is time.
    pub pairs: f64,
}

impl Learner {
    /// The threshold, a fraction, from the runs of each result, the oldest one first; `None` if
    /// there are too few results.
    pub fn threshold(&self, results: &[Vec<f64>]) -> Option<(f64, Learnt)> {
        let [least, most] = RESULTS;
        if results.len() < least {
            return None;
        }
        let newest = results.len().saturating_sub(most);
        let threshold = self.of(&results[newest..]);
        let oldest = &results[..results.len().min(most).div_ceil(2).max(least)];
        let earlier = Some(self.of(oldest)).filter(|earlier| threshold > GROWN * earlier);
        Some((threshold, Learnt { results: results.len() - newest, earlier }))
    }

    fn of(&self, results: &[Vec<f64>]) -> f64 {
        // In units of their own, so that the level of a result does not matter.
        let pairs = |runs: &'_ [f64]| {
            let unit = runs.first().copied().filter(|unit| *unit > 0.0).unwrap_or(1.0);
            runs.chunks_exact(2).map(move |two| [two[0] / unit, two[1] / unit]).collect::<Vec<_>>()
        };
        let known: Vec<[f64; 2]> = results.iter().flat_map(|runs| pairs(runs)).collect();
        let [least, most] = RANGE;
        if known.iter().all(|[one, other]| one == other) {
            return least;
        }
        let running = Running::new(self.estimator, self.better, self.levels);
        let reach = reach(running, &known, MOST_PAIRS, self.pairs);
        let per_mille = (1000.0 * MARGIN * reach.unwrap_or(most)).ceil();
        (per_mille / 1000.0).clamp(least, most)
    }
}

/// How far from the threshold a change has to be for a verdict within `pairs` pairs that are like
/// the `known` ones, of which at most so many are repeated.
pub(crate) fn reach(
    mut running: Running,
    known: &[[f64; 2]],
    most: u64,
    pairs: f64,
) -> Option<f64> {
    // In both directions, since neither is the right one. Otherwise a difference by chance would
    // look like a change.
    let both = known.iter().flat_map(|[one, other]| [[one, other], [other, one]]);
    for [base, head] in both.cycle().take(most.min(MOST_PAIRS) as usize) {
        running.push(*base, *head);
    }
    running.reach(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::TestNoise;

    fn learner(pairs: f64) -> Learner {
        let levels = Levels::new(0.95, 1);
        Learner { estimator: Estimator::Robust, better: Better::Lower, levels, pairs }
    }

    /// Results of ten runs each, with normal noise of these deviations, on a level that climbs.
    fn results(deviations: impl Iterator<Item = f64>) -> Vec<Vec<f64>> {
        let mut noise = TestNoise::seeded(7);
        let result = |(place, deviation): (usize, f64)| {
            let level = 1.02_f64.powi(place as i32);
            (0..10).map(|_| level * (1.0 + deviation * noise.normal())).collect()
        };
        deviations.enumerate().map(result).collect()
    }

    fn steady(deviation: f64) -> Vec<Vec<f64>> {
        results(std::iter::repeat_n(deviation, 20))
    }

    #[test]
    fn it_grows_with_the_noise_and_shrinks_with_the_time_within_its_range() {
        let of = |deviation, pairs| learner(pairs).threshold(&steady(deviation)).unwrap().0;
        let all = [of(0.001, 99.0), of(0.05, 200.0), of(0.05, 99.0), of(0.08, 99.0), of(0.5, 9.0)];
        assert_eq!((all[0], all[4]), (0.01, 0.1), "{all:?}");
        assert!(all.windows(2).all(|two| two[0] < two[1]), "{all:?}");
        assert_eq!(learner(20.0).threshold(&vec![vec![3.0; 10]; 5]).unwrap().0, 0.01);
    }

    #[test]
    fn a_level_that_climbs_does_not_loosen_it() {
        let mut flat = steady(0.02);
        for (place, runs) in flat.iter_mut().enumerate() {
            runs.iter_mut().for_each(|run| *run /= 1.02_f64.powi(place as i32));
        }
        let climbing = learner(100.0).threshold(&steady(0.02)).unwrap();
        assert_eq!(learner(100.0).threshold(&flat).unwrap(), climbing);
        assert_eq!(climbing.1, Learnt { results: 20, earlier: None });
    }

    #[test]
    fn what_has_become_noisier_little_by_little_is_compared_with_the_oldest_results() {
        let slowly = results((0..200).map(|place| 0.01 * 1.01_f64.powi(place)));
        let (threshold, learnt) = learner(100.0).threshold(&slowly).unwrap();
        assert_eq!(learnt.results, RESULTS[1]);
        let is_less = |earlier| earlier < 0.5 * threshold;
        assert!(learnt.earlier.is_some_and(is_less), "{threshold} {learnt:?}");
    }

    #[test]
    fn too_few_results_teach_nothing() {
        assert_eq!(learner(100.0).threshold(&steady(0.02)[..4]), None);
        assert!(learner(100.0).threshold(&steady(0.02)[..5]).is_some());
    }
}
