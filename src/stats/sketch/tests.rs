//! Comparison with a sorted list.

use super::*;
use crate::stats::noise::TestNoise;

const ROOM: usize = 1 << 10;

fn small() -> Sketch {
    Sketch { most: ROOM, ..Sketch::default() }
}

/// Orders in which a sketch may get its numbers, the hard ones too.
fn orders(count: usize) -> Vec<Vec<f64>> {
    let mut noise = TestNoise::seeded(51);
    let normal: Vec<f64> = (0..count).map(|_| noise.normal()).collect();
    let mut ascending = normal.clone();
    ascending.sort_by(f64::total_cmp);
    let descending = ascending.iter().rev().copied().collect();
    let outside_in =
        (0..count).map(|n| ascending[if n % 2 == 0 { n / 2 } else { count - 1 - n / 2 }]);
    let outside_in = outside_in.collect();
    let drift = normal.iter().enumerate().map(|(n, value)| value + n as f64 / 2000.0).collect();
    let jump = |n: usize| if n < count / 3 { 0.0 } else { 50.0 };
    let jump = normal.iter().enumerate().map(|(n, value)| value + jump(n)).collect();
    let coarse = normal.iter().map(|value| (3.0 * value).round()).collect();
    let mut tails: Vec<f64> = normal.iter().map(|value| 1.0 / value).collect();
    tails[count / 2] = f64::INFINITY;
    vec![normal, ascending, descending, outside_in, drift, jump, coarse, tails, vec![7.0; count]]
}

fn holds<T: PartialOrd + Copy>(between: Between<T>, truth: T) -> bool {
    between.least <= truth && truth <= between.most
}

#[test]
fn a_sketch_with_room_is_a_sorted_list() {
    for numbers in orders(ROOM) {
        let mut sketch = small();
        let mut naive = Vec::new();
        assert_eq!(sketch.median(), None);
        for (n, value) in numbers.into_iter().enumerate() {
            sketch.insert(value);
            naive.push(value);
            if n % 41 != 0 && n + 1 != ROOM {
                continue;
            }
            naive.sort_by(f64::total_cmp);
            for rank in [0, n / 3, n] {
                assert_eq!(sketch.get(rank), Some(exactly(naive[rank])));
            }
            let median = naive[n / 2].midpoint(naive[n.div_ceil(2)]);
            assert_eq!(sketch.median(), Some(exactly(median)));
            for candidate in [value, -0.5, 0.0, 3.0] {
                let below = naive.iter().filter(|other| **other < candidate).count();
                let above = naive.iter().filter(|other| **other > candidate).count();
                assert_eq!(sketch.below(candidate), exactly(below));
                assert_eq!(sketch.above(candidate), exactly(above));
            }
        }
        assert_eq!((sketch.len(), sketch.get(ROOM)), (ROOM, None));
    }
}

#[test]
fn bounds_hold_the_truth_in_whatever_order_and_fences_are_exact() {
    let fences = [-1.0, 0.0, 1.5, 50.0];
    for (order, numbers) in orders(30_000).into_iter().enumerate() {
        let mut sketch = small();
        fences.into_iter().for_each(|fence| sketch.fence(fence));
        let mut naive = Vec::new();
        let mut bounded = 0;
        for (n, value) in numbers.into_iter().enumerate() {
            sketch.insert(value);
            naive.push(value);
            if let Numbers::Buckets(buckets) = &sketch.numbers {
                assert!(buckets.elements() <= ROOM / 2 + 1);
                bounded += 1;
            }
            if n % 3001 != 0 {
                continue;
            }
            naive.sort_by(f64::total_cmp);
            assert_eq!(sketch.len(), naive.len());
            for rank in (0..=n).step_by(1 + n / 50) {
                let between = sketch.get(rank).unwrap();
                assert!(holds(between, naive[rank]), "{order}: {rank} of {n}, {between:?}");
            }
            assert!(holds(sketch.median().unwrap(), naive[n / 2].midpoint(naive[n.div_ceil(2)])));
            for candidate in fences.into_iter().chain([value, -0.1, 0.7, 1e3]) {
                let below = naive.iter().filter(|other| **other < candidate).count();
                let above = naive.iter().filter(|other| **other > candidate).count();
                let counts = (sketch.below(candidate), sketch.above(candidate));
                assert!(holds(counts.0, below) && holds(counts.1, above), "{order}: {candidate}");
                if fences.contains(&candidate) {
                    assert_eq!(counts, (exactly(below), exactly(above)), "{order}: {candidate}");
                }
            }
        }
        assert_eq!(bounded, 30_000 - ROOM, "{order}");
    }
}

#[test]
fn few_different_numbers_stay_exact() {
    let mut noise = TestNoise::seeded(52);
    let mut sketch = small();
    let mut counts = [0; 7];
    for _ in 0..20_000 {
        let number = (7.0 * noise.uniform()) as usize;
        counts[number] += 1;
        sketch.insert(number as f64);
    }
    for number in 0..7 {
        let below = counts[..number].iter().sum();
        assert_eq!(sketch.below(number as f64), exactly(below));
        assert_eq!(sketch.get(below), Some(exactly(number as f64)));
    }
}

#[test]
fn turned_round_it_says_the_same() {
    for numbers in orders(20_000) {
        let (mut one, mut other) = (small(), small());
        one.fence(0.3);
        other.fence(-0.3);
        for (n, value) in numbers.into_iter().enumerate() {
            one.insert(value);
            other.insert(-value);
            if n % 1999 != 0 {
                continue;
            }
            for rank in (0..=n).step_by(1 + n / 20) {
                let (here, there) = (one.get(rank).unwrap(), other.get(n - rank).unwrap());
                assert_eq!((here.least, here.most), (-there.most, -there.least), "{rank} of {n}");
            }
            assert_eq!(one.below(0.1), other.above(-0.1));
        }
    }
}

#[test]
fn on_normal_noise_the_bounds_are_outward_by_a_thousandth_at_most() {
    let mut noise = TestNoise::seeded(53);
    let mut sketch = Sketch::default();
    let mut naive = Vec::new();
    for _ in 0..400_000 {
        let value = noise.normal();
        sketch.insert(value);
        naive.push(value);
    }
    naive.sort_by(f64::total_cmp);
    let median = sketch.median().unwrap();
    assert_eq!(median.least, median.most);
    // The interval at any sensible level ends within this distance.
    for distance in (0..4000).step_by(50) {
        for rank in [200_000 - distance, 200_000 + distance] {
            let between = sketch.get(rank).unwrap();
            let off = (between.least - naive[rank]).abs().max(between.most - naive[rank]);
            let outward = off / (naive[rank] - median.least).abs();
            assert!(off == 0.0 || outward < PART, "{rank}: {outward}");
        }
    }
}
