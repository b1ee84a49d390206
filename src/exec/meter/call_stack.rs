//! Functions with their callers.

/// A function and its callers, as linkers name them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallStack(pub(super) String);

impl CallStack {
    /// What separates two names, as in callgrind's files.
    pub(super) const SEPARATOR: char = '\'';

    /// The function, its caller, and so on.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        // Callgrind puts a number after the name of a function that calls itself.
        self.0.split(CallStack::SEPARATOR).filter(|name| name.parse::<u32>().is_err())
    }
}
