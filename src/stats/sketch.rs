//! Ranks in bounded memory.
//!
//! Up to [`MOST`] numbers are kept one by one. With more, neighbours are merged into
//! *buckets*, of which the ends and the count are known. So the number of a rank, and
//! the rank of a number, lie between two bounds that are certain, whatever the numbers
//! are and in whatever order they come.
//!
//! Buckets are smaller near the middle: a bucket may hold [`PART`] of the numbers between
//! itself and the middle, so next to the middle every number is kept. If the numbers come
//! in random order, the median and the interval around it stay near the middle. A bound
//! is then off by at most that part of its rank's distance from the middle (on normal
//! noise, by less than that part of its distance from the estimate, see the tests). If
//! the middle moves, a bound is off by at most that part of the way.
//!
//! No bucket reaches across a *fence*. How many numbers are below and above a fence is
//! known exactly, and so is the side of it on which a rank lies.
//!
//! # References
//!
//! - Munro and Paterson 1980, *Selection and sorting with limited storage*,
//!   Theoretical Computer Science 12:315: to find the median of n numbers in random
//!   order, it is enough to keep about the square root of n, next to the middle.
//! - Cormode, Korn, Muthukrishnan and Srivastava 2006, *Space- and time-efficient
//!   deterministic algorithms for biased quantiles over data streams*, PODS: errors
//!   that grow with the distance from the rank that is wanted.

use super::ordered::{Element, Ordered};

/// How many numbers are kept one by one.
const MOST: usize = 1 << 17;

/// The part of the numbers between itself and the middle that a bucket may hold. It is
/// doubled as long as there would be more than `MOST / 4` buckets.
const PART: f64 = 1.0 / 1024.0;

/// Numbers next to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bucket {
    least: f64,
    most: f64,
    count: usize,
}

impl Element for Bucket {
    const MOST: usize = 64;

    fn most(self) -> f64 {
        self.most
    }

    fn of(value: f64) -> Self {
        Bucket { least: value, most: value, count: 1 }
    }

    fn takes(&mut self, value: f64) -> bool {
        let is_within = self.least <= value;
        self.count += usize::from(is_within);
        is_within
    }

    fn count(buckets: &[Self]) -> usize {
        buckets.iter().map(|bucket| bucket.count).sum()
    }

    fn find(buckets: &[Self], rank: usize) -> Option<(Self, usize)> {
        let mut before = rank;
        buckets.iter().find_map(|bucket| match before.checked_sub(bucket.count) {
            Some(rest) => {
                before = rest;
                None
            }
            None => Some((*bucket, before)),
        })
    }
}

/// Two certain bounds of a value, which is known exactly if they are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Between<T> {
    pub(super) least: T,
    pub(super) most: T,
}

/// The ranks of numbers, none of which is NaN.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    fences: Vec<f64>,
    numbers: Numbers,
    /// How many numbers are kept one by one: [`MOST`], except in tests.
    pub(super) most: usize,
}

#[derive(Clone, Debug)]
enum Numbers {
    All(Ordered),
    Buckets(Ordered<Bucket>),
}

impl Default for Sketch {
    fn default() -> Self {
        Sketch { fences: Vec::new(), numbers: Numbers::All(Ordered::default()), most: MOST }
    }
}

impl Sketch {
    /// Counts the numbers below and above `fence` exactly. Call it before the first
    /// number.
    pub(super) fn fence(&mut self, fence: f64) {
        self.fences.push(fence);
    }

    pub(super) fn len(&self) -> usize {
        match &self.numbers {
            Numbers::All(values) => values.len(),
            Numbers::Buckets(buckets) => buckets.len(),
        }
    }

    pub(super) fn insert(&mut self, value: f64) {
        match &mut self.numbers {
            Numbers::All(values) => values.insert(value),
            Numbers::Buckets(buckets) => buckets.insert(value),
        }
        let too_many: Vec<Bucket> = match &self.numbers {
            Numbers::All(values) if values.len() > self.most => {
                values.iter().map(Bucket::of).collect()
            }
            Numbers::Buckets(buckets) if buckets.elements() > self.most / 2 => {
                buckets.iter().collect()
            }
            _ => return,
        };
        self.numbers = Numbers::Buckets(self.merged(too_many));
    }

    /// How many numbers are below `value`.
    pub(super) fn below(&self, value: f64) -> Between<usize> {
        match &self.numbers {
            Numbers::All(values) => exactly(values.count_while(|other| other < value)),
            Numbers::Buckets(buckets) => Between {
                least: buckets.count_while(|bucket| bucket.most < value),
                most: buckets.count_while(|bucket| bucket.least < value),
            },
        }
    }

    /// How many numbers are above `value`.
    pub(super) fn above(&self, value: f64) -> Between<usize> {
        match &self.numbers {
            Numbers::All(values) => {
                exactly(values.len() - values.count_while(|other| other <= value))
            }
            Numbers::Buckets(buckets) => Between {
                least: buckets.len() - buckets.count_while(|bucket| bucket.least <= value),
                most: buckets.len() - buckets.count_while(|bucket| bucket.most <= value),
            },
        }
    }

    /// The number with `rank` others before it.
    pub(super) fn get(&self, rank: usize) -> Option<Between<f64>> {
        let buckets = match &self.numbers {
            Numbers::All(values) => return values.get(rank).map(|(value, _)| exactly(value)),
            Numbers::Buckets(buckets) => buckets,
        };
        let (bucket, before) = buckets.get(rank)?;
        Some(match before {
            0 => exactly(bucket.least),
            _ if before + 1 == bucket.count => exactly(bucket.most),
            _ => Between { least: bucket.least, most: bucket.most },
        })
    }

    /// The number in the middle, or the mean of the two.
    pub(super) fn median(&self) -> Option<Between<f64>> {
        let half = self.len() / 2;
        let upper = self.get(half)?;
        if self.len() % 2 == 1 {
            return Some(upper);
        }
        let lower = self.get(half - 1)?;
        Some(Between {
            least: lower.least.midpoint(upper.least),
            most: lower.most.midpoint(upper.most),
        })
    }

    /// Merges neighbours until there are few enough.
    fn merged(&self, buckets: Vec<Bucket>) -> Ordered<Bucket> {
        let equal = merge_neighbours(buckets.into_iter(), |one, next| one.most == next.least);
        let mut part = PART;
        let mut merged = self.merged_by(&equal, part);
        while merged.len() > self.most / 4 && part < 1.0 {
            part *= 2.0;
            merged = self.merged_by(&merged, part);
        }
        merged.into_iter().collect()
    }

    /// Merges neighbours that together have no more than `part` of the numbers between
    /// them and the middle, in each half from its end to the middle.
    fn merged_by(&self, buckets: &[Bucket], part: f64) -> Vec<Bucket> {
        let total = Bucket::count(buckets);
        let merge_half = |buckets: &mut dyn Iterator<Item = Bucket>| {
            let mut before = 0;
            merge_neighbours(buckets, |one, next| {
                let count = one.count + next.count;
                let inside = total as f64 / 2.0 - (before + count) as f64;
                let fits = count as f64 <= part * inside && !self.has_fence_within(one, next);
                before += if fits { 0 } else { one.count };
                fits
            })
        };
        let mut end = 0;
        let in_lower_half = buckets.iter().take_while(|bucket| {
            end += bucket.count;
            2 * end <= total
        });
        let (lower, upper) = buckets.split_at(in_lower_half.count());
        let mut merged = merge_half(&mut lower.iter().copied());
        let upper = merge_half(&mut upper.iter().rev().copied());
        merged.extend(upper.into_iter().rev());
        merged
    }

    /// Whether a fence is within or between two buckets, or at the end of one.
    fn has_fence_within(&self, one: &Bucket, other: &Bucket) -> bool {
        let both = one.least.min(other.least)..=one.most.max(other.most);
        self.fences.iter().any(|fence| both.contains(fence))
    }
}

/// The bounds of a value that is known exactly.
fn exactly<T: Copy>(value: T) -> Between<T> {
    Between { least: value, most: value }
}

/// Merges each bucket into the one before it if they fit.
fn merge_neighbours(
    buckets: impl Iterator<Item = Bucket>,
    mut fits: impl FnMut(&Bucket, &Bucket) -> bool,
) -> Vec<Bucket> {
    let mut merged: Vec<Bucket> = Vec::new();
    for next in buckets {
        match merged.last_mut() {
            Some(one) if fits(one, &next) => {
                one.least = one.least.min(next.least);
                one.most = one.most.max(next.most);
                one.count += next.count;
            }
            _ => merged.push(next),
        }
    }
    merged
}

#[cfg(test)]
mod tests;
