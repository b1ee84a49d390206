//! The filter as each program of a comparison takes it.
//!
//! A user filters by what we print, and where several programs run, that begins with the
//! program's name. The harness knows only the rest.

use crate::model::dialect::Dialect;

/// What of a program a filter means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// All of it.
    All,
    /// What its harness matches with this.
    Matching(&'a str),
    /// Nothing.
    Nothing,
}

impl<'a> Part<'a> {
    /// What `filter` means of the program `name`. `several` says whether names of benchmarks
    /// begin with that of their program.
    pub(super) fn of(filter: Option<&'a str>, name: &str, dialect: Dialect, several: bool) -> Self {
        let Some(filter) = filter else { return Part::All };
        let rest = match filter.strip_prefix(name) {
            Some("" | "/") if several => return Part::All,
            Some(rest) if several => rest.strip_prefix('/'),
            _ => None,
        };
        match dialect.filters() {
            true => Part::Matching(rest.unwrap_or(filter)),
            // Who takes no filter runs as a whole or not at all.
            false if !several || rest.is_some() || name.contains(filter) => Part::All,
            false => Part::Nothing,
        }
    }

    /// The filter for the harness.
    pub(super) fn filter(self) -> Option<&'a str> {
        match self {
            Part::Matching(filter) => Some(filter),
            Part::All | Part::Nothing => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_as_it_is_printed_reaches_its_program_only() {
        let harness = |filter, several| Part::of(filter, "fib", Dialect::Criterion, several);
        assert_eq!(harness(None, true), Part::All);
        assert_eq!(harness(Some("fib/rec/20"), true), Part::Matching("rec/20"));
        assert_eq!(harness(Some("fib/rec/20"), false), Part::Matching("fib/rec/20"));
        assert_eq!(harness(Some("other/rec"), true), Part::Matching("other/rec"));
        assert_eq!(harness(Some("fibonacci"), true), Part::Matching("fibonacci"));
        assert_eq!(harness(Some("fib"), true), Part::All);
        assert_eq!(harness(Some("fib"), false), Part::Matching("fib"));
        let plain = |filter, several| Part::of(Some(filter), "work", Dialect::Plain, several);
        assert_eq!(plain("work", true), Part::All);
        assert_eq!(plain("wo", true), Part::All);
        assert_eq!(plain("work/x", true), Part::All);
        assert_eq!(plain("other", true), Part::Nothing);
        assert_eq!(plain("other", false), Part::All);
    }
}
