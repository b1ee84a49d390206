//! Ranks in bounded memory.
//!
//! Up to [`MOST`] numbers are kept as they are. Of more, neighbours are put together
//! to groups, of which the ends and the number are known: so what is said of a
//! rank or of a number is a pair of bounds that are certain, whatever the numbers and
//! in whatever order they come. A group is the smaller the nearer it is to the middle:
//! it may hold [`PART`] of the numbers that lie between it and there, and so next
//! to the middle every number is kept. Of numbers in random order those wanted, the
//! median and the bounds about it, stay there: a bound is off by at most that part
//! of its ranks' distance from the middle (on normal noise: by less than that part of
//! its distance from the estimate, see the tests). Where the middle moves, it is by
//! at most that part of the way.
//!
//! No group reaches over a *fence*. What lies below and above a fence is counted
//! exactly, and so is on which side of it a rank lies.
//!
//! # References
//!
//! - Munro and Paterson 1980, *Selection and sorting with limited storage*,
//!   Theoretical Computer Science 12:315: of numbers in random order the median is
//!   found with about the root of their number kept, those next to the middle.
//! - Cormode, Korn, Muthukrishnan and Srivastava 2006, *Space- and time-efficient
//!   deterministic algorithms for biased quantiles over data streams*, PODS: errors
//!   that grow with the distance from the rank that is wanted.

use super::ordered::{Entry, Ordered};

/// So many numbers are kept as they are.
const MOST: usize = 1 << 17;

/// The part of the numbers between it and the middle that a group may hold; twice as
/// much, and so on, where there would be more than `MOST / 4` groups.
const PART: f64 = 1.0 / 1024.0;

/// Numbers that are next to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Group {
    least: f64,
    most: f64,
    count: usize,
}

impl Entry for Group {
    const MOST: usize = 64;

    fn most(self) -> f64 {
        self.most
    }

    fn of(value: f64) -> Self {
        Group { least: value, most: value, count: 1 }
    }

    fn takes(&mut self, value: f64) -> bool {
        let is_within = self.least <= value;
        self.count += usize::from(is_within);
        is_within
    }

    fn count(groups: &[Self]) -> usize {
        groups.iter().map(|group| group.count).sum()
    }

    fn find(groups: &[Self], rank: usize) -> Option<(Self, usize)> {
        let mut before = rank;
        groups.iter().find_map(|group| match before.checked_sub(group.count) {
            Some(rest) => {
                before = rest;
                None
            }
            None => Some((*group, before)),
        })
    }
}

/// What lies between two bounds that are certain; exact where both are one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Between<T> {
    pub(super) least: T,
    pub(super) most: T,
}

/// Numbers, as far as their ranks go. None of them is NaN.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    fences: Vec<f64>,
    kept: Kept,
    most: usize,
}

#[derive(Clone, Debug)]
enum Kept {
    All(Ordered),
    Groups(Ordered<Group>),
}

impl Default for Sketch {
    fn default() -> Self {
        Sketch { fences: Vec::new(), kept: Kept::All(Ordered::default()), most: MOST }
    }
}

impl Sketch {
    /// Keeps up to `most` numbers as they are.
    #[cfg(test)]
    pub(super) fn give_room(&mut self, most: usize) {
        self.most = most;
    }

    /// Counts exactly what lies below and above `fence`, from now on: to be called
    /// before there are many numbers.
    pub(super) fn fence(&mut self, fence: f64) {
        self.fences.push(fence);
    }

    /// How many numbers there are.
    pub(super) fn len(&self) -> usize {
        match &self.kept {
            Kept::All(values) => values.len(),
            Kept::Groups(groups) => groups.len(),
        }
    }

    /// Takes in one more, which is not NaN.
    pub(super) fn insert(&mut self, value: f64) {
        match &mut self.kept {
            Kept::All(values) => values.insert(value),
            Kept::Groups(groups) => groups.insert(value),
        }
        let crowd: Vec<Group> = match &self.kept {
            Kept::All(values) if values.len() > self.most => values.iter().map(Group::of).collect(),
            Kept::Groups(groups) if groups.entries() > self.most / 2 => groups.iter().collect(),
            _ => return,
        };
        self.kept = Kept::Groups(self.grouped(crowd));
    }

    /// How many are below `value`.
    pub(super) fn below(&self, value: f64) -> Between<usize> {
        match &self.kept {
            Kept::All(values) => exactly(values.so_many(|other| other < value)),
            Kept::Groups(groups) => Between {
                least: groups.so_many(|group| group.most < value),
                most: groups.so_many(|group| group.least < value),
            },
        }
    }

    /// How many are above `value`.
    pub(super) fn above(&self, value: f64) -> Between<usize> {
        match &self.kept {
            Kept::All(values) => exactly(values.len() - values.so_many(|other| other <= value)),
            Kept::Groups(groups) => Between {
                least: groups.len() - groups.so_many(|group| group.least <= value),
                most: groups.len() - groups.so_many(|group| group.most <= value),
            },
        }
    }

    /// The one that has `rank` others before it.
    pub(super) fn get(&self, rank: usize) -> Option<Between<f64>> {
        let groups = match &self.kept {
            Kept::All(values) => return values.get(rank).map(|(value, _)| exactly(value)),
            Kept::Groups(groups) => groups,
        };
        let (group, before) = groups.get(rank)?;
        Some(match before {
            0 => exactly(group.least),
            _ if before + 1 == group.count => exactly(group.most),
            _ => Between { least: group.least, most: group.most },
        })
    }

    /// The one in the middle, or the mean of the two.
    pub(super) fn median(&self) -> Option<Between<f64>> {
        let half = self.len() / 2;
        let upper = self.get(half)?;
        if self.len() % 2 == 1 {
            return Some(upper);
        }
        let lower = self.get(half - 1)?;
        let (least, most) = (lower.least.midpoint(upper.least), lower.most.midpoint(upper.most));
        Some(Between { least, most })
    }

    /// Puts neighbours together until there is room again.
    fn grouped(&self, crowd: Vec<Group>) -> Ordered<Group> {
        let mut groups = together(crowd.into_iter(), |one, next| one.most == next.least);
        let mut part = PART;
        groups = self.thinned(&groups, part);
        while groups.len() > self.most / 4 && part < 1.0 {
            part *= 2.0;
            groups = self.thinned(&groups, part);
        }
        groups.into_iter().collect()
    }

    /// Puts neighbours together that have no more than `part` of the numbers between
    /// them and the middle: in each half from its end to the middle.
    fn thinned(&self, groups: &[Group], part: f64) -> Vec<Group> {
        let total = Group::count(groups);
        let half = |groups: &mut dyn Iterator<Item = Group>| {
            let mut before = 0;
            together(groups, |one, next| {
                let count = one.count + next.count;
                let inside = total as f64 / 2.0 - (before + count) as f64;
                let fits = count as f64 <= part * inside && !self.parts(one, next);
                before += if fits { 0 } else { one.count };
                fits
            })
        };
        let mut end = 0;
        let lower = groups.iter().take_while(|group| {
            end += group.count;
            2 * end <= total
        });
        let lower = lower.count();
        let (lower, upper) = groups.split_at(lower);
        let mut thinned = half(&mut lower.iter().copied());
        let mut upper = half(&mut upper.iter().rev().copied());
        upper.reverse();
        thinned.append(&mut upper);
        thinned
    }

    /// Whether a fence is between two groups, or at the end of one.
    fn parts(&self, one: &Group, other: &Group) -> bool {
        let (least, most) = (one.least.min(other.least), one.most.max(other.most));
        self.fences.iter().any(|fence| least <= *fence && *fence <= most)
    }
}

/// Both bounds.
fn exactly<T: Copy>(value: T) -> Between<T> {
    Between { least: value, most: value }
}

/// Puts each group to the one before it, where they fit.
fn together(
    groups: impl Iterator<Item = Group>,
    mut fits: impl FnMut(&Group, &Group) -> bool,
) -> Vec<Group> {
    let mut all: Vec<Group> = Vec::new();
    for next in groups {
        match all.last_mut() {
            Some(one) if fits(one, &next) => {
                one.least = one.least.min(next.least);
                one.most = one.most.max(next.most);
                one.count += next.count;
            }
            _ => all.push(next),
        }
    }
    all
}

#[cfg(test)]
mod tests;
