//! Merges the pairs of several machines into one sequence, for one test.
//!
//! Machines differ in speed and in noise, but the change, a factor, is the same on
//! all of them. So at the true ratio `r` every difference `y - r x` is symmetric about
//! 0, no matter which machine measured its pair. The evidence of
//! [`sequential`](super::sequential) assumes nothing else, so the pairs of several
//! machines may be taken one after the other. No pair spans two machines.
//!
//! - *Order*: the first pair of each machine, then the second of each, and so on,
//!   without machines that have no more. The order is fixed before anything is
//!   measured, and whether a machine has one more pair was known before that pair was
//!   measured. So neither can favour a side, whatever ended a machine's sampling.
//! - *Weight*: without weights the slowest and noisiest machine would dominate the
//!   sums of `y - r x`. The pairs of each machine are divided by its level and by its
//!   variance, both computed from the products `x y` alone. Under the null, the swapped
//!   pair `(y/r, r x)` is as likely as the measured pair `(x, y)` and has the same
//!   product, for every `r`. So given all products, the signs of the differences are
//!   still fair coins, and the weights may depend on all pairs, later ones included,
//!   unless it was the signs that ended a machine's sampling.
//!
//! Decisions by signs or by logarithms (median and geometric mean) do not depend on the
//! weights.
//!
//! # Reference
//!
//! Fisher 1935, *The Design of Experiments*, section 21, on the symmetry under swaps
//! within pairs.

use super::empirical::{lower_median, sorted};

/// A machine's variance is estimated as if it had this many more values with the
/// variance of the typical machine, since a few pairs show little of it.
const PRIOR: f64 = 3.0;

/// The order of the pairs: the number of the machine and the number of the pair, both
/// from 0. `counts` has the number of pairs of each machine.
pub fn in_turn(counts: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let rounds = counts.iter().copied().max().unwrap_or(0);
    (0..rounds).flat_map(move |pair| {
        let machines = counts.iter().enumerate().filter(move |&(_, count)| pair < *count);
        machines.map(move |(machine, _)| (machine, pair))
    })
}

/// The factor for the pairs of each machine, in the inverse of their unit, such that
/// the typical machine's factor is 1 over its level. Pairs with a 0 are ignored; a
/// machine without any other pair has the factor 1.
pub fn weights(machines: &[Vec<(f64, f64)>]) -> Vec<f64> {
    let logarithms: Vec<Vec<f64>> = machines
        .iter()
        .map(|pairs| {
            let halves = pairs.iter().map(|(base, head)| 0.5 * (base.ln() + head.ln()));
            halves.filter(|half| half.is_finite()).collect()
        })
        .collect();
    let variances: Vec<(f64, f64)> = logarithms.iter().map(|all| variance(all)).collect();
    let known = variances.iter().filter(|(_, n)| *n > 0.0).map(|(v, _)| *v);
    let typical = lower_median(&sorted(known)).unwrap_or(0.0);
    let weight = |(all, (variance, n)): (&Vec<f64>, &(f64, f64))| {
        if all.is_empty() {
            return 1.0;
        }
        let level = (all.iter().sum::<f64>() / all.len() as f64).exp();
        let relative = (PRIOR * typical + n * variance) / ((PRIOR + n) * typical);
        1.0 / (level * if typical > 0.0 { relative } else { 1.0 })
    };
    logarithms.iter().zip(&variances).map(weight).collect()
}

/// The variance by the differences of neighbours, which a slow drift does not affect
/// (von Neumann 1941, Ann. Math. Stat. 12:367), and the number of differences.
fn variance(values: &[f64]) -> (f64, f64) {
    let steps = values.windows(2).map(|two| 0.5 * (two[1] - two[0]).powi(2));
    let count = values.len().saturating_sub(1) as f64;
    (steps.sum::<f64>() / count.max(1.0), count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::TestNoise;

    fn machine(noise: &mut TestNoise, pairs: usize, level: f64, spread: f64) -> Vec<(f64, f64)> {
        let mut time = || level * (spread * noise.normal()).exp();
        (0..pairs).map(|_| (time(), 1.02 * time())).collect()
    }

    #[test]
    fn each_machine_has_its_turn_until_it_has_no_more() {
        let order: Vec<_> = in_turn(&[2, 0, 3]).collect();
        assert_eq!(order, [(0, 0), (2, 0), (0, 1), (2, 1), (2, 2)]);
        assert_eq!(in_turn(&[]).count() + in_turn(&[0]).count(), 0);
    }

    #[test]
    fn weights_know_nothing_that_a_swap_would_change() {
        let mut noise = TestNoise::seeded(5);
        let machines = [(1.0, 0.01), (3.0, 0.05), (0.2, 0.02)];
        let machines = machines.map(|(level, spread)| machine(&mut noise, 20, level, spread));
        let before = weights(&machines);
        for ratio in [0.9, 1.02, 2.0] {
            let swap = |&(base, head): &(f64, f64)| match noise.uniform() < 0.5 {
                true => (head / ratio, base * ratio),
                false => (base, head),
            };
            let mut swap = swap;
            let swapped: Vec<Vec<_>> =
                machines.iter().map(|all| all.iter().map(&mut swap).collect()).collect();
            for (before, after) in before.iter().zip(weights(&swapped)) {
                assert!((after / before - 1.0).abs() < 1e-9, "{ratio}: {before} {after}");
            }
        }
    }

    #[test]
    fn the_level_is_taken_out_and_a_noisy_machine_counts_less() {
        let mut noise = TestNoise::seeded(6);
        let machines = [(1.0, 0.01), (2.0, 0.01), (1.0, 0.05)];
        let machines = machines.map(|(level, spread)| machine(&mut noise, 400, level, spread));
        let [plain, slow, noisy] = weights(&machines)[..] else { panic!() };
        assert!((slow / plain - 0.5).abs() < 0.1, "{slow} {plain}");
        assert!((noisy / plain - 0.04).abs() < 0.02, "{noisy} {plain}");
    }

    #[test]
    fn a_variance_of_few_pairs_is_drawn_to_the_typical_one() {
        // By logarithms each step is of one size, so the variance is half its square.
        let steps = |sizes: &[f64]| -> Vec<(f64, f64)> {
            let mut sum = 0.0f64;
            let mut one = |size: &f64| {
                sum += size;
                (sum.exp(), sum.exp())
            };
            sizes.iter().map(&mut one).collect()
        };
        // Variances 2, 8 and 0.5, the typical one 2, and two machines of one pair.
        let machines = [
            steps(&[0.0, 2.0, -2.0, 2.0]),
            steps(&[0.0, 4.0, -4.0, 4.0]),
            steps(&[0.0, 1.0]),
            steps(&[1.0]),
            steps(&[0.0]),
        ];
        let relative = [1.0, (3.0 + 3.0 * 4.0) / 6.0, (3.0 + 0.25) / 4.0, 1.0, 1.0];
        let levels = [1.0f64, 2.0, 0.5, 1.0, 0.0].map(f64::exp);
        for (number, weight) in weights(&machines).into_iter().enumerate() {
            let expected = 1.0 / (levels[number] * relative[number]);
            assert!((weight / expected - 1.0).abs() < 1e-12, "{number}: {weight} {expected}");
        }
        // Where the typical machine does not vary, nothing is drawn to anything.
        let exact = [steps(&[0.0, 0.0]), steps(&[0.0, 0.0]), steps(&[-1.0, 2.0])];
        assert_eq!(weights(&exact)[..2], [1.0, 1.0]);
        assert!((weights(&exact)[2] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_to_weigh_by_is_a_plain_weight() {
        let zeros = vec![(0.0, 0.0); 3];
        assert_eq!(weights(&[zeros, vec![], vec![(0.0, 4.0)]]), [1.0, 1.0, 1.0]);
        let exact = [vec![(2.0, 2.0); 5], vec![(2.0, 2.0)], vec![(4.0, 4.0); 2]];
        let found = weights(&exact);
        for (found, expected) in found.iter().zip([0.5, 0.5, 0.25]) {
            assert!((found - expected).abs() < 1e-12, "{found}");
        }
    }
}
