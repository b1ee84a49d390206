//! The user's filter, as it applies to each program of a comparison.
//!
//! Users filter by the printed names, which begin with the program's name if several
//! programs run. The harness only knows the rest.

use crate::model::Dialect;

/// The part of a program that a filter selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selection<'a> {
    All,
    /// What its harness matches with this text.
    Matching(&'a str),
    Nothing,
}

impl<'a> Selection<'a> {
    /// What `filter` selects of the program `name`. With `several`, the names of benchmarks
    /// begin with that of their program.
    pub(super) fn of(filter: Option<&'a str>, name: &str, dialect: Dialect, several: bool) -> Self {
        let Some(filter) = filter else { return Selection::All };
        let rest = match filter.strip_prefix(name) {
            Some("" | "/") if several => return Selection::All,
            Some(rest) if several => rest.strip_prefix('/'),
            _ => None,
        };
        match dialect.filters() {
            true => Selection::Matching(rest.unwrap_or(filter)),
            // A harness without filters runs as a whole or not at all.
            false if !several || rest.is_some() || name.contains(filter) => Selection::All,
            false => Selection::Nothing,
        }
    }

    pub(super) fn filter(self) -> Option<&'a str> {
        match self {
            Selection::Matching(filter) => Some(filter),
            Selection::All | Selection::Nothing => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_as_it_is_printed_reaches_its_program_only() {
        let harness = |filter, several| Selection::of(filter, "fib", Dialect::Criterion, several);
        assert_eq!(harness(None, true), Selection::All);
        assert_eq!(harness(Some("fib/rec/20"), true), Selection::Matching("rec/20"));
        assert_eq!(harness(Some("fib/rec/20"), false), Selection::Matching("fib/rec/20"));
        assert_eq!(harness(Some("other/rec"), true), Selection::Matching("other/rec"));
        assert_eq!(harness(Some("fibonacci"), true), Selection::Matching("fibonacci"));
        assert_eq!(harness(Some("fib"), true), Selection::All);
        assert_eq!(harness(Some("fib"), false), Selection::Matching("fib"));
        let plain = |filter, several| Selection::of(Some(filter), "work", Dialect::Plain, several);
        assert_eq!(plain("work", true), Selection::All);
        assert_eq!(plain("wo", true), Selection::All);
        assert_eq!(plain("work/x", true), Selection::All);
        assert_eq!(plain("other", true), Selection::Nothing);
        assert_eq!(plain("other", false), Selection::All);
    }
}
