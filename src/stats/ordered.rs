//! A sorted list that is fast to insert into.
//!
//! The numbers are in blocks of bounded size. To insert a number, to count those below a value
//! and to find the number of a rank each take a walk over the blocks, of which a million numbers
//! have at most a thousand, and a search in one of them.

/// How many numbers a block may have before it is split.
const MOST: usize = 2048;

/// Numbers in ascending order, which may be equal. None of them is NaN.
#[derive(Clone, Debug, Default)]
pub(super) struct Ordered {
    /// None of the blocks is empty.
    blocks: Vec<Vec<f64>>,
    len: usize,
}

impl Ordered {
    /// How many numbers there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn insert(&mut self, value: f64) {
        self.len += 1;
        let last = self.blocks.len().saturating_sub(1);
        let number = self.first_block(|last| last >= value).min(last);
        let Some(block) = self.blocks.get_mut(number) else {
            return self.blocks.push(vec![value]);
        };
        block.insert(block.partition_point(|other| *other < value), value);
        if block.len() > MOST {
            let upper = block.split_off(MOST / 2);
            self.blocks.insert(number + 1, upper);
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
        let before: usize = self.blocks[..number].iter().map(Vec::len).sum();
        let within = |block: &Vec<f64>| block.partition_point(|value| fulfils(*value));
        before + self.blocks.get(number).map_or(0, within)
    }

    /// The number with `rank` others before it.
    pub(super) fn get(&self, rank: usize) -> Option<f64> {
        let mut rest = rank;
        for block in &self.blocks {
            match block.get(rest) {
                Some(value) => return Some(*value),
                None => rest -= block.len(),
            }
        }
        None
    }

    /// The first block whose last number fulfils a predicate.
    fn first_block(&self, fulfils: impl Fn(f64) -> bool) -> usize {
        self.blocks.partition_point(|block| !block.last().is_some_and(|last| fulfils(*last)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::TestNoise;

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
