//! The two sides of a comparison.

use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

use super::words::words;

/// One of the two things that are compared.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// What the head is compared with.
    #[default]
    Base,
    /// What is tested for a regression.
    Head,
}

// These are also the names of folders, whose paths have to be of equal length.
words!(Side { Base = "base", Head = "head" });

impl Side {
    /// Both, base first.
    pub const BOTH: [Side; 2] = Side::ALL;

    /// The other side.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Side::Base => Side::Head,
            Side::Head => Side::Base,
        }
    }
}

/// One value for each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pair<T> {
    /// The value of the base.
    pub base: T,
    /// The value of the head.
    pub head: T,
}

impl<T> Pair<T> {
    /// Makes both with a function, base first.
    pub fn both(mut make: impl FnMut(Side) -> T) -> Self {
        let base = make(Side::Base);
        Pair { base, head: make(Side::Head) }
    }

    /// Makes both with a function that may fail, base first.
    ///
    /// # Errors
    /// The first error of `make`.
    pub(crate) fn try_both<E>(mut make: impl FnMut(Side) -> Result<T, E>) -> Result<Self, E> {
        let base = make(Side::Base)?;
        Ok(Pair { base, head: make(Side::Head)? })
    }

    /// Applies a function to both values.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> Pair<U> {
        let base = change(self.base);
        Pair { base, head: change(self.head) }
    }

    /// A pair of references.
    pub fn as_ref(&self) -> Pair<&T> {
        Pair { base: &self.base, head: &self.head }
    }
}

impl<T> Index<Side> for Pair<T> {
    type Output = T;

    fn index(&self, side: Side) -> &T {
        match side {
            Side::Base => &self.base,
            Side::Head => &self.head,
        }
    }
}

impl<T> IndexMut<Side> for Pair<T> {
    fn index_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Base => &mut self.base,
            Side::Head => &mut self.head,
        }
    }
}
