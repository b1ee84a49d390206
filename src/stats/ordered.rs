//! A sorted list that is fast to insert into.
//!
//! The numbers are in blocks of bounded size, and a Fenwick tree has the number of
//! numbers in each block. To insert a number, to count those below a value and to find
//! the number of a rank each take a binary search, one block and one walk through the
//! tree.
//!
//! # References
//!
//! - Fenwick 1994, *A new data structure for cumulative frequency tables*, Software:
//!   Practice and Experience 24:327.

/// How many numbers a block may have before it is split.
const MOST: usize = 512;

/// Numbers in ascending order, which may be equal. None of them is NaN.
#[derive(Clone, Debug, Default)]
pub(super) struct Ordered {
    /// None of the blocks is empty.
    blocks: Vec<Vec<f64>>,
    /// At `i`, how many numbers are in the `i & -i` blocks up to the `i`th (counted from
    /// 1); 0 at 0.
    counts: Vec<usize>,
    len: usize,
}

impl Ordered {
    /// How many numbers there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn insert(&mut self, value: f64) {
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

    /// How many numbers are below `value`.
    pub(super) fn below(&self, value: f64) -> usize {
        self.count_while(|other| other < value)
    }

    /// How many numbers are above `value`.
    pub(super) fn above(&self, value: f64) -> usize {
        self.len - self.count_while(|other| other <= value)
    }

    /// The number in the middle, or the mean of the two.
    pub(super) fn median(&self) -> Option<f64> {
        let upper = self.get(self.len / 2)?;
        match self.len % 2 {
            1 => Some(upper),
            _ => Some(self.get(self.len / 2 - 1)?.midpoint(upper)),
        }
    }

    /// How many numbers fulfil a predicate, which are the first ones.
    fn count_while(&self, fulfils: impl Fn(f64) -> bool) -> usize {
        let number = self.first_block(|last| !fulfils(last));
        let mut place = number;
        let mut count = 0;
        while place > 0 {
            count += self.counts[place];
            place -= lowest_bit(place);
        }
        let within = |block: &Vec<f64>| block.partition_point(|value| fulfils(*value));
        count + self.blocks.get(number).map_or(0, within)
    }

    /// The number with `rank` others before it.
    pub(super) fn get(&self, rank: usize) -> Option<f64> {
        if rank >= self.len {
            return None;
        }
        let mut number = 0;
        let mut rest = rank;
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

    /// The first block whose last number fulfils a predicate.
    fn first_block(&self, fulfils: impl Fn(f64) -> bool) -> usize {
        self.blocks.partition_point(|block| !block.last().is_some_and(|last| fulfils(*last)))
    }

    /// Counts the numbers of all blocks anew, as is needed once for every half block of
    /// new numbers.
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
    use crate::stats::noise::TestNoise;

    #[test]
    fn ordered_values_are_as_in_a_sorted_list() {
        let mut noise = TestNoise::seeded(41);
        let (mut ordered, mut naive) = (Ordered::default(), Vec::new());
        assert_eq!((ordered.get(0), ordered.median(), ordered.below(1.0)), (None, None, 0));
        for n in 0..6000 {
            // Many ties, and every third number in ascending order.
            let rough = (20.0 * noise.normal()).round();
            let value = if n % 3 == 0 { f64::from(n) } else { rough };
            ordered.insert(value);
            naive.push(value);
            if n % 97 != 0 {
                continue;
            }
            naive.sort_by(f64::total_cmp);
            assert_eq!(ordered.len(), naive.len());
            let middle = naive[n as usize / 2].midpoint(naive[(n as usize).div_ceil(2)]);
            assert_eq!(ordered.median(), Some(middle));
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
        for rank in (0..6000).step_by(7) {
            assert_eq!(ordered.get(rank), Some(naive[rank]));
        }
    }
}
