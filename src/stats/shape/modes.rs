//! Whether runs come in two kinds.
//!
//! A density with one mode is nowhere lower than at a place on its left and at a place on
//! its right. So of three cells of equal width, the middle one is expected to hold at
//! least as many runs as the lesser of the outer two, whatever the skewness and the tails.
//! A middle cell that holds significantly fewer than *both* is a valley. The cells are
//! those of histograms between the 5 % and the 95 % quantile. The level is divided by the
//! number of middle cells.
//!
//! # References
//!
//! - Hartigan and Hartigan 1985, *The dip test of unimodality*, Ann. Stat. 13:70, for
//!   the hypothesis (any one mode); McNemar 1947, *Note on the sampling error of the
//!   difference between correlated proportions*, Psychometrika 12:153, for the
//!   comparison of two counts, with its correction for continuity.

use super::log_pair::CHANCE;
use super::ranks::middle;
use crate::model::Kinds;
use crate::stats::empirical::sorted;
use crate::stats::quantile;

/// The numbers of cells of the histograms.
const CELLS: [usize; 3] = [6, 9, 13];
/// The least share of the rarer kind.
const SHARE: f64 = 0.1;
/// The least distance of the kinds.
const DISTANCE: f64 = 0.01;

/// The two kinds of runs, if there are two. The values are logarithms.
pub(super) fn two_kinds(values: Vec<f64>) -> Option<Kinds> {
    let order = sorted(values);
    let looks: usize = CELLS.iter().map(|cells| cells - 2).sum();
    let critical = quantile::normal(1.0 - CHANCE / looks as f64)?;
    let valleys = CELLS.iter().filter_map(|&cells| valley(&order, cells));
    let (z, split) = valleys.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (fast, slow) = order.split_at(order.partition_point(|value| *value < split));
    let share = slow.len() as f64 / order.len() as f64;
    let distance = (middle(slow) - middle(fast)).exp_m1();
    let fits = (SHARE..=1.0 - SHARE).contains(&share) && distance.is_finite();
    (z >= critical && fits && distance >= DISTANCE).then_some(Kinds { share, distance })
}

/// The deepest valley of a histogram: its depth in standard errors, and where it is.
fn valley(order: &[f64], cells: usize) -> Option<(f64, f64)> {
    let edge = order.len() / 20;
    let inner = &order[edge..order.len() - edge];
    let least = *inner.first()?;
    let most = *inner.last()?;
    let width = (most - least) / cells as f64;
    // There is nothing between the steps of a coarse clock or a counter.
    if !(width > 0.0 && (is_fine(inner, width) || is_two_valued(inner))) {
        return None;
    }
    let mut counts = vec![0.0f64; cells];
    for value in inner {
        counts[(((value - least) / width) as usize).min(cells - 1)] += 1.0;
    }
    let mut deepest = None;
    for place in 1..cells - 1 {
        let highest = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
        let side = highest(&counts[..place]).min(highest(&counts[place + 1..]));
        let z = (side - counts[place] - 1.0) / (side + counts[place]).max(1.0).sqrt();
        if deepest.is_none_or(|(most, _)| z > most) && 2.0 * counts[place] <= side {
            deepest = Some((z, least + (place as f64 + 0.5) * width));
        }
    }
    deepest
}

/// Whether the median step between different values is well below the width of a cell.
fn is_fine(order: &[f64], width: f64) -> bool {
    let steps = order.windows(2).map(|two| two[1] - two[0]).filter(|step| *step > 0.0);
    let steps = sorted(steps);
    steps.len() >= 8 && middle(&steps) < width / 4.0
}

fn is_two_valued(order: &[f64]) -> bool {
    order.chunk_by(|a, b| a == b).count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` values evenly from `least` to `most`.
    fn even(least: f64, most: f64, count: usize) -> Vec<f64> {
        (0..count).map(|i| least + (most - least) * (i as f64 + 0.5) / count as f64).collect()
    }

    fn both(slow: usize, apart: f64) -> Option<Kinds> {
        two_kinds([even(0.0, 0.01, 1000 - slow), even(apart, apart + 0.01, slow)].concat())
    }

    #[test]
    fn two_kinds_are_told_with_share_and_distance_wherever_they_lie() {
        let Kinds { share, distance } = both(300, 0.2).unwrap();
        assert!((share - 0.3).abs() < 1e-12 && (distance - 0.2f64.exp_m1()).abs() < 1e-9);
        for shift in [-5.0, 3.0] {
            let all = [even(0.0, 0.01, 700), even(0.2, 0.21, 300)].concat();
            let moved = two_kinds(all.iter().map(|value| value + shift).collect()).unwrap();
            assert!((moved.share - share).abs() < 1e-12, "{shift}");
            assert!((moved.distance - distance).abs() < 1e-9, "{shift}");
        }
        // A tenth of the runs is a kind, on either side, and less is a tail.
        assert!(both(100, 0.2).is_some() && both(900, 0.2).is_some());
        assert!(both(99, 0.2).is_none() && both(901, 0.2).is_none());
        // The kinds are a per cent apart or more.
        let near = |distance: f64| {
            let fast = even(0.0, 0.001, 50);
            two_kinds([fast.clone(), fast.iter().map(|v| v + distance).collect()].concat())
        };
        assert!(near(0.01).is_some() && near(0.0099).is_none());
    }

    #[test]
    fn one_kind_has_no_valley() {
        assert_eq!(two_kinds(even(0.0, 1.0, 200)), None);
        // A wedge, on either side.
        let wedge: Vec<f64> = even(0.0, 1.0, 200).iter().map(|value| value.sqrt()).collect();
        assert_eq!(two_kinds(wedge.iter().map(|value| -value).collect()), None);
        assert_eq!(two_kinds(wedge), None);
        assert_eq!((two_kinds(vec![]), two_kinds(vec![1.0; 40])), (None, None));
    }

    #[test]
    fn the_valley_is_as_deep_as_mcnemars_test_says() {
        // Cells of a width of 1, of 20 runs, 2 and 10: (10 - 2 - 1) / sqrt(12).
        let order = [even(0.0, 1.0, 20), even(1.0, 2.0, 2), even(2.0, 3.0, 10)].concat();
        let ends = [vec![0.0], order, vec![3.0]].concat();
        let (z, place) = valley(&sorted(ends), 3).unwrap();
        // One of 34 is cut off at either end, and the ends are there no more.
        let width = (3.0 - 0.05 - 0.025) / 3.0;
        assert!((z - 7.0 / 12f64.sqrt()).abs() < 1e-12, "{z}");
        assert!((place - (0.025 + 1.5 * width)).abs() < 1e-12, "{place}");
    }

    #[test]
    fn the_deepest_valley_is_the_first_of_the_deepest() {
        let place = |counts: [usize; 5]| {
            let cells = (0..5).map(|i| even(i as f64, i as f64 + 1.0, counts[i]));
            let inner = cells.collect::<Vec<_>>().concat();
            // What is cut off at the ends, so that all of these stay.
            let edge = inner.len() / 18;
            let all = [vec![inner[0]; edge], inner.clone(), vec![inner[inner.len() - 1]; edge]];
            valley(&all.concat(), 5).map(|(_, place)| place.floor())
        };
        assert_eq!(place([20, 5, 20, 1, 20]), Some(3.0));
        assert_eq!(place([20, 1, 20, 5, 20]), Some(1.0));
        assert_eq!(place([20, 1, 20, 1, 20]), Some(1.0));
        // Half as many as at the sides are a valley, more are none.
        assert_eq!(place([20, 10, 20, 20, 20]), Some(1.0));
        assert_eq!(place([20, 14, 20, 20, 20]), None);
    }

    #[test]
    fn the_steps_of_a_clock_are_no_valleys() {
        // 10 values, a hundred runs each: between them there is nothing.
        let clock: Vec<f64> = (0..1000).map(|i| f64::from(i % 10)).collect();
        assert_eq!(valley(&sorted(clock.clone()), 13), None);
        assert!(!is_fine(&sorted(clock), 2.0));
        let steps: Vec<f64> = (0..9).map(f64::from).collect();
        assert!(is_fine(&steps, 4.1) && !is_fine(&steps, 4.0) && !is_fine(&steps[1..], 4.1));
        // Two values are two kinds.
        let coins: Vec<f64> = (0..100).map(|i| f64::from(u8::from(i % 3 == 0))).collect();
        assert!(two_kinds(coins).is_some_and(|kinds| (kinds.share - 0.34).abs() < 1e-12));
    }
}
