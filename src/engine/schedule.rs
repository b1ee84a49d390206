//! Which side goes first in each pair.
//!
//! The seed tosses a coin for each pair, so the order is unpredictable without it. The
//! evidence depends on that: given all earlier measurements, base and head are equally
//! likely to come first in a pair. In blocks of two pairs, one in each order, the second
//! order would follow from the first, and noise by which a fast run tends to follow a slow
//! one would add up: 5.7 % instead of 5 % wrong verdicts on recorded timings.

use crate::model::{Divisible, Shard, Side};

impl Shard {
    /// The seed of the shard's order, below 2^53, derived from that of the
    /// whole comparison: the orders of shards with the same seed are
    /// independent of each other.
    pub(crate) fn seed(self, seed: u64) -> u64 {
        scramble(scramble(seed) ^ self.number) >> 11
    }

    /// The number of the shard for each of these benchmarks: the same on every machine. `None` if
    /// there are fewer parts than machines. `key` is what all machines know.
    pub fn divide(benchmarks: &[Divisible], key: &str, of: u64) -> Option<Vec<u64>> {
        let parts: Vec<&[Divisible]> =
            benchmarks.chunk_by(|one, other| one.together == other.together).collect();
        if (parts.len() as u64) < of {
            return None;
        }
        let seconds = |part: &[Divisible]| part.iter().map(|one| one.seconds).sum();
        let named = parts.iter().map(|part| (part[0].together.as_str(), seconds(part)));
        let shards = Self::allot(&named.collect::<Vec<_>>(), key, of);
        Some(parts.iter().zip(shards).flat_map(|(part, shard)| vec![shard; part.len()]).collect())
    }

    /// The number of the shard for each of these names, all of them different, of which each takes
    /// so many seconds. The longest comes first, and each goes to the shard with the least to do;
    /// where no times are known, all shards get as many, up to one.
    fn allot(parts: &[(&str, f64)], key: &str, of: u64) -> Vec<u64> {
        let hash = |text: &str| text.bytes().fold(0, |hash, byte| scramble(hash ^ u64::from(byte)));
        let key = hash(key);
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|one| (scramble(key ^ hash(parts[*one].0)), parts[*one].0));
        order.sort_by(|one, other| parts[*other].1.total_cmp(&parts[*one].1));
        let mut loads = vec![0.0; of as usize];
        let mut shards = vec![0; parts.len()];
        for one in order {
            let by_load = |one: &usize, other: &usize| f64::total_cmp(&loads[*one], &loads[*other]);
            let least = (0..loads.len()).min_by(by_load).unwrap_or(0);
            // Of what takes no known time, the number counts.
            loads[least] += parts[one].1.max(1e-9);
            shards[one] = least as u64 + 1;
        }
        shards
    }
}

/// The order of the runs of one benchmark, a pure function of the seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    seed: u64,
}

impl Schedule {
    /// The order of the benchmark number `benchmark` under `seed`; the
    /// benchmarks' orders are independent of each other.
    pub(crate) fn new(seed: u64, benchmark: u64) -> Self {
        Schedule { seed: scramble(seed ^ scramble(benchmark)) }
    }

    /// Which side goes first in the pair number `pair`, counted from 0.
    pub(crate) fn first(self, pair: u64) -> Side {
        let base_first = scramble(self.seed.wrapping_add(pair)) & 1 == 0;
        if base_first { Side::Base } else { Side::Head }
    }

    /// A number that the two runs of the pair number `pair` share.
    pub(crate) fn pair_seed(self, pair: u64) -> u64 {
        scramble(!self.seed ^ scramble(pair))
    }
}

/// The order of rounds in which each of several labels runs once.
///
/// The first round has the order in which the labels were given, so that the
/// rows begin with it; the others are shuffled by the seed. Of two labels, a coin
/// decides which is first, like the sides of a comparison. More than two run in
/// blocks of as many rounds as there are labels: a Latin square with shuffled
/// rounds, slots and labels, so that after every block each label has had each
/// slot equally often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    schedule: Schedule,
    labels: usize,
}

impl Rounds {
    /// The order of `labels` labels under `seed`.
    pub(crate) fn new(seed: u64, labels: usize) -> Self {
        Rounds { schedule: Schedule::new(seed, 0), labels }
    }

    /// The labels of the round number `round`, counted from 0, in their order.
    pub(crate) fn order(self, round: u64) -> Vec<usize> {
        let first = self.shuffled(0);
        let mut place = vec![0; self.labels];
        for (slot, &label) in first.iter().enumerate() {
            place[label] = slot;
        }
        self.shuffled(round).into_iter().map(|label| place[label]).collect()
    }

    fn shuffled(self, round: u64) -> Vec<usize> {
        if self.labels == 2 {
            let first = usize::from(self.schedule.first(round) == Side::Head);
            return vec![first, 1 - first];
        }
        let count = self.labels.max(1);
        let (block, row) = (round / count as u64, (round % count as u64) as usize);
        let mut state = scramble(self.schedule.seed.wrapping_add(block));
        let (rows, slots) = (permutation(count, &mut state), permutation(count, &mut state));
        let labels = permutation(count, &mut state);
        (0..self.labels).map(|slot| labels[(rows[row] + slots[slot]) % count]).collect()
    }
}

/// A permutation of `0..count` (Fisher and Yates, from the end).
fn permutation(count: usize, state: &mut u64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        *state = scramble(*state);
        all.swap(last, (*state % (last as u64 + 1)) as usize);
    }
    all
}

/// The output function of SplitMix64 (Steele, Lea and Flood, *Fast splittable
/// pseudorandom number generators*, OOPSLA 2014). Written out instead of using
/// a crate, because a seed in a report must always give the same order.
fn scramble(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_has_a_seed_of_its_own() {
        let of = |seed| Schedule::new(seed, 0);
        let seeds: std::collections::BTreeSet<u64> =
            (0..99).map(|pair| of(1).pair_seed(pair)).collect();
        assert_eq!(seeds.len(), 99);
        assert_eq!(of(1).pair_seed(3), of(1).pair_seed(3));
        assert_ne!(of(1).pair_seed(3), of(2).pair_seed(3));
        // Repeating a comparison with its seed always gives the same order.
        assert_eq!([0, 1, 2].map(|pair| of(42).pair_seed(pair) % 1000), PINNED_LOTS);
    }

    #[test]
    fn no_order_follows_from_the_ones_before() {
        // How often two neighbours in four pairs have each combination of orders, over many seeds.
        let mut counts = [0; 16];
        for seed in 0..16_000 {
            let schedule = Schedule::new(seed, 3);
            let heads = (0..4).map(|pair| usize::from(schedule.first(pair) == Side::Head));
            counts[heads.fold(0, |sum, head| 2 * sum + head)] += 1;
        }
        // Five standard deviations of 1000.
        assert!(counts.iter().all(|count| (847..=1153).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_order_of_a_seed_never_changes() {
        let letters = |seed, benchmark| -> String {
            let schedule = Schedule::new(seed, benchmark);
            let letter = |pair| schedule.first(pair).name().chars().next();
            (0..16).filter_map(letter).collect()
        };
        assert_eq!(letters(1, 0), letters(1, 0));
        assert_eq!(letters(42, 0), PINNED);
        assert_ne!(letters(42, 1), PINNED);
        assert_ne!(letters(43, 0), PINNED);
    }

    const PINNED_LOTS: [u64; 3] = [621, 633, 151];
    const PINNED: &str = "hhbhbbhbbhbhbhhh";

    #[test]
    fn each_name_has_one_shard_whatever_the_order_and_all_shards_have_as_many() {
        let names: Vec<String> = (0..300).map(|number| format!("group/{number}")).collect();
        let names: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 0.0)).collect();
        let shards = Shard::allot(&names, "commits", 8);
        let count = |shard: u64| shards.iter().filter(|one| **one == shard).count();
        assert!((1..=8).all(|shard| [37, 38].contains(&count(shard))), "{shards:?}");
        let mut reversed = names.clone();
        reversed.reverse();
        let mut again = Shard::allot(&reversed, "commits", 8);
        again.reverse();
        assert_eq!(again, shards);
        assert_ne!(Shard::allot(&names, "others", 8), shards);
        // On all machines and in all versions.
        let four = ["a", "b", "c", "d"].map(|name| (name, 0.0));
        assert_eq!(Shard::allot(&four, "x", 2), [2, 1, 2, 1]);
        assert_eq!(Shard::allot(&four[..1], "x", 1), [1]);
    }

    #[test]
    fn where_times_are_known_all_shards_have_as_much_to_do() {
        let one = |name: &str, together: &str, seconds| Divisible {
            benchmark: name.to_owned(),
            together: together.to_owned(),
            seconds,
        };
        let all = [
            one("a", "a", 1.0),
            one("b", "b", 5.0),
            one("c", "same", 1.0),
            one("d", "same", 2.0),
            one("e", "e", 1.0),
        ];
        let shards = Shard::divide(&all, "x", 2).unwrap();
        let other = 3 - shards[1];
        assert_eq!(shards, [other, shards[1], other, other, other]);
        assert_eq!(Shard::divide(&all, "x", 5), None, "two of them stay together");
        assert_eq!(Shard::divide(&all, "x", u64::MAX), None);
    }

    #[test]
    fn each_shard_has_an_order_of_its_own() {
        let seeds: std::collections::BTreeSet<u64> =
            (1..=1000).map(|number| Shard { number, of: 1000 }.seed(42)).collect();
        assert_eq!(seeds.len(), 1000);
        assert!(seeds.iter().all(|seed| *seed < 1 << 53));
        assert_eq!(Shard { number: 3, of: 8 }.seed(42), Shard { number: 3, of: 4 }.seed(42));
    }

    #[test]
    fn two_labels_go_as_the_sides_do() {
        for seed in 0..50 {
            let schedule = Schedule::new(seed, 0);
            for round in 0..40 {
                let order = Rounds::new(seed, 2).order(round);
                let same = schedule.first(round) == schedule.first(0);
                assert_eq!(order, if same { [0, 1] } else { [1, 0] });
            }
        }
    }

    #[test]
    fn each_label_has_each_slot_equally_often() {
        for labels in [1, 3, 4, 5, 7] {
            let rounds = Rounds::new(7, labels);
            assert_eq!(rounds.order(0), (0..labels).collect::<Vec<_>>());
            let blocks = 6;
            let mut counts = vec![vec![0; labels]; labels];
            for round in 0..(blocks * labels) as u64 {
                for (slot, label) in rounds.order(round).into_iter().enumerate() {
                    counts[label][slot] += 1;
                }
            }
            assert!(counts.iter().flatten().all(|&count| count == blocks), "{counts:?}");
        }
        let orders: std::collections::BTreeSet<_> =
            (0..300).map(|round| Rounds::new(7, 3).order(round)).collect();
        assert_eq!(orders.len(), 6);
    }

    #[test]
    fn both_orders_are_equally_likely() {
        let firsts = (0..10_000).filter(|&seed| Schedule::new(seed, 0).first(0) == Side::Base);
        let count = firsts.count();
        // Four standard deviations of a fair coin.
        assert!((4800..=5200).contains(&count), "{count}");
    }
}
