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

/// What a list consists of: a number, or several numbers next to each other.
pub(super) trait Element: Copy {
    /// How many elements a block may have before it is split.
    const MOST: usize;

    /// The largest number of the element.
    fn most(self) -> f64;

    fn of(value: f64) -> Self;

    /// Adds a number that is not above the largest one, unless it belongs into a new
    /// element. Returns whether it was added.
    fn takes(&mut self, value: f64) -> bool;

    /// How many numbers are in these elements.
    fn count(elements: &[Self]) -> usize;

    /// The element of the number with `rank` others before it, and how many of these are
    /// in the same element.
    fn find(elements: &[Self], rank: usize) -> Option<(Self, usize)>;
}

impl Element for f64 {
    const MOST: usize = 512;

    fn most(self) -> f64 {
        self
    }

    fn of(value: f64) -> Self {
        value
    }

    fn takes(&mut self, _: f64) -> bool {
        false
    }

    fn count(elements: &[Self]) -> usize {
        elements.len()
    }

    fn find(elements: &[Self], rank: usize) -> Option<(Self, usize)> {
        elements.get(rank).map(|value| (*value, 0))
    }
}

/// Numbers in ascending order, which may be equal. None of them is NaN.
#[derive(Clone, Debug)]
pub(super) struct Ordered<E = f64> {
    /// None of the blocks is empty.
    blocks: Vec<Vec<E>>,
    /// At `i`, how many numbers are in the `i & -i` blocks up to the `i`th (counted from
    /// 1); 0 at 0.
    counts: Vec<usize>,
    len: usize,
    elements: usize,
}

impl<E> Default for Ordered<E> {
    fn default() -> Self {
        Ordered { blocks: Vec::new(), counts: Vec::new(), len: 0, elements: 0 }
    }
}

impl<E: Element> FromIterator<E> for Ordered<E> {
    /// From elements in ascending order.
    fn from_iter<I: IntoIterator<Item = E>>(elements: I) -> Self {
        let mut ordered = Ordered::default();
        for element in elements {
            match ordered.blocks.last_mut() {
                Some(block) if block.len() < E::MOST / 2 => block.push(element),
                _ => ordered.blocks.push(vec![element]),
            }
            ordered.elements += 1;
            ordered.len += E::count(&[element]);
        }
        ordered.count();
        ordered
    }
}

impl<E: Element> Ordered<E> {
    /// How many numbers there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn elements(&self) -> usize {
        self.elements
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = E> {
        self.blocks.iter().flatten().copied()
    }

    pub(super) fn insert(&mut self, value: f64) {
        self.len += 1;
        if self.blocks.is_empty() {
            self.blocks.push(vec![E::of(value)]);
            self.elements = 1;
            return self.count();
        }
        let number = self.first_block(|last| last.most() >= value).min(self.blocks.len() - 1);
        let block = &mut self.blocks[number];
        let at = block.partition_point(|other| other.most() < value);
        if !block.get_mut(at).is_some_and(|element| element.takes(value)) {
            block.insert(at, E::of(value));
            self.elements += 1;
        }
        if block.len() > E::MOST {
            let upper = block.split_off(E::MOST / 2);
            self.blocks.insert(number + 1, upper);
            return self.count();
        }
        let mut place = number + 1;
        while place < self.counts.len() {
            self.counts[place] += 1;
            place += lowest_bit(place);
        }
    }

    /// How many numbers are in the elements that fulfil a predicate, which are the first
    /// ones.
    pub(super) fn count_while(&self, fulfils: impl Fn(E) -> bool) -> usize {
        let number = self.first_block(|last| !fulfils(last));
        let mut place = number;
        let mut count = 0;
        while place > 0 {
            count += self.counts[place];
            place -= lowest_bit(place);
        }
        let within = |block: &Vec<E>| E::count(&block[..block.partition_point(|v| fulfils(*v))]);
        count + self.blocks.get(number).map_or(0, within)
    }

    /// The element of the number with `rank` others before it, and how many of these are
    /// in the same element.
    pub(super) fn get(&self, rank: usize) -> Option<(E, usize)> {
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
        E::find(&self.blocks[number], rest)
    }

    /// The first block whose last element fulfils a predicate.
    fn first_block(&self, fulfils: impl Fn(E) -> bool) -> usize {
        self.blocks.partition_point(|block| !block.last().is_some_and(|last| fulfils(*last)))
    }

    /// Counts the numbers of all blocks anew, as is needed once for every half block of
    /// new elements.
    fn count(&mut self) {
        self.counts.clear();
        self.counts.push(0);
        self.counts.extend(self.blocks.iter().map(|block| E::count(block)));
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
        let (mut ordered, mut naive) = (Ordered::<f64>::default(), Vec::new());
        assert_eq!((ordered.get(0), ordered.count_while(|other| other < 1.0)), (None, 0));
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
            assert_eq!((ordered.len(), ordered.elements()), (naive.len(), naive.len()));
            for rank in [0, naive.len() / 3, naive.len() - 1] {
                assert_eq!(ordered.get(rank), Some((naive[rank], 0)));
            }
            for value in [-100.0, -3.0, 0.0, 0.5, rough, f64::from(n), 1e9] {
                let below = naive.iter().filter(|other| **other < value).count();
                assert_eq!(ordered.count_while(|other| other < value), below, "{n}");
            }
        }
        assert_eq!(ordered.get(6000), None);
        naive.sort_by(f64::total_cmp);
        assert!(ordered.iter().eq(naive.iter().copied()));
        let again: Ordered = ordered.iter().collect();
        assert!(again.iter().eq(naive.iter().copied()));
        for rank in (0..6000).step_by(7) {
            assert_eq!(again.get(rank), Some((naive[rank], 0)));
        }
    }
}
