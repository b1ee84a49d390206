//! Numbers in their order, however many come.
//!
//! They stand in blocks of bounded size, and a Fenwick tree holds how many are in
//! each: taking one in, counting those below a value and finding the one of a rank
//! are each a binary search, one block and one walk through the tree.
//!
//! # References
//!
//! - Fenwick 1994, *A new data structure for cumulative frequency tables*, Software:
//!   Practice and Experience 24:327.

/// How many numbers a block holds before it is cut in two.
const MOST: usize = 512;

/// Numbers in ascending order, equal ones included.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ordered {
    /// None of them is empty.
    blocks: Vec<Vec<f64>>,
    /// At `i`, how many numbers are in the `i & -i` blocks that end with the `i`th
    /// (counted from 1); 0 at 0.
    counts: Vec<usize>,
    len: usize,
}

impl Ordered {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Takes in one more, which is not NaN.
    pub(crate) fn insert(&mut self, value: f64) {
        self.len += 1;
        if self.blocks.is_empty() {
            self.blocks.push(vec![value]);
            return self.count();
        }
        let number = self.first_block(|last| last >= value).min(self.blocks.len() - 1);
        let block = &mut self.blocks[number];
        block.insert(block.partition_point(|other| *other < value), value);
        if block.len() > MOST {
            let upper = block.split_off(MOST / 2);
            self.blocks.insert(number + 1, upper);
            return self.count();
        }
        let mut place = number + 1;
        while place < self.counts.len() {
            self.counts[place] += 1;
            place += lowest_bit(place);
        }
    }

    /// How many are below `value`.
    pub(crate) fn below(&self, value: f64) -> usize {
        self.so_many(|other| other < value)
    }

    /// How many are above `value`.
    pub(crate) fn above(&self, value: f64) -> usize {
        self.len - self.so_many(|other| other <= value)
    }

    /// The one that has `rank` others before it.
    pub(crate) fn get(&self, rank: usize) -> Option<f64> {
        if rank >= self.len {
            return None;
        }
        let (mut number, mut rest) = (0, rank);
        let mut step = self.blocks.len().next_power_of_two();
        while step > 0 {
            if let Some(&count) = self.counts.get(number + step)
                && count <= rest
            {
                number += step;
                rest -= count;
            }
            step /= 2;
        }
        self.blocks[number].get(rest).copied()
    }

    /// The one in the middle, or the mean of the two.
    pub(crate) fn median(&self) -> Option<f64> {
        let half = self.len / 2;
        let upper = self.get(half)?;
        if self.len % 2 == 1 { Some(upper) } else { Some(self.get(half - 1)?.midpoint(upper)) }
    }

    /// How many of the first ones are `so`; none after them is.
    fn so_many(&self, so: impl Fn(f64) -> bool) -> usize {
        let number = self.first_block(|last| !so(last));
        let (mut place, mut count) = (number, 0);
        while place > 0 {
            count += self.counts[place];
            place -= lowest_bit(place);
        }
        let within = self.blocks.get(number).map_or(0, |block| block.partition_point(|v| so(*v)));
        count + within
    }

    /// The first block whose last number is `so`.
    fn first_block(&self, so: impl Fn(f64) -> bool) -> usize {
        self.blocks.partition_point(|block| !block.last().is_some_and(|last| so(*last)))
    }

    /// Counts all blocks anew: once for `MOST / 2` numbers.
    fn count(&mut self) {
        self.counts.clear();
        self.counts.push(0);
        self.counts.extend(self.blocks.iter().map(Vec::len));
        for place in 1..self.counts.len() {
            let next = place + lowest_bit(place);
            if next < self.counts.len() {
                self.counts[next] += self.counts[place];
            }
        }
    }
}

fn lowest_bit(place: usize) -> usize {
    place & place.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::noise::Noise;

    #[test]
    fn it_is_a_sorted_list() {
        let mut noise = Noise::seeded(41);
        let (mut ordered, mut naive) = (Ordered::default(), Vec::new());
        assert_eq!((ordered.median(), ordered.get(0), ordered.below(1.0)), (None, None, 0));
        for n in 0..6000 {
            // Many ties, and a stretch in ascending order.
            let rough = (20.0 * noise.normal()).round();
            let value = if n % 3 == 0 { f64::from(n) } else { rough };
            ordered.insert(value);
            naive.push(value);
            if n % 97 != 0 {
                continue;
            }
            naive.sort_by(f64::total_cmp);
            assert_eq!(ordered.len(), naive.len());
            for rank in [0, naive.len() / 3, naive.len() - 1] {
                assert_eq!(ordered.get(rank), Some(naive[rank]));
            }
            for value in [-100.0, -3.0, 0.0, 0.5, rough, f64::from(n), 1e9] {
                let below = naive.iter().filter(|other| **other < value).count();
                let above = naive.iter().filter(|other| **other > value).count();
                assert_eq!((ordered.below(value), ordered.above(value)), (below, above), "{n}");
            }
        }
        assert_eq!(ordered.get(6000), None);
        naive.sort_by(f64::total_cmp);
        assert_eq!(ordered.median(), Some(naive[2999].midpoint(naive[3000])));
    }
}
