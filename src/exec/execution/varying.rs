//! Names that change with every run, such as those with the time of day: detected by
//! comparing two runs of one program, and replaced by their stable part.

use std::ffi::OsString;

use super::{Context, Execution, SideProgram, Stop};
use crate::exec::error::ExecError;
use crate::exec::meter::Pass;
use crate::model::row::Reading;
use crate::model::run_length::RunLength;

/// The placeholder for the part that changes.
const MARK: &str = "*";

/// The names of one side that change with every run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VaryingNames {
    names: Vec<VaryingName>,
    /// Those that do not change.
    fixed: Vec<String>,
}

/// A name that changes with every run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct VaryingName {
    /// Its stable name.
    stable: String,
    /// The text before the part that changes.
    before: String,
    /// The text after it.
    after: String,
}

impl VaryingName {
    fn fits(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&*self.before);
        rest.is_some_and(|rest| rest.ends_with(&*self.after))
    }

    /// Whether it can be distinguished from another one only by their order.
    fn is_like(&self, other: &VaryingName) -> bool {
        self.before == other.before && self.after == other.after
    }
}

impl VaryingNames {
    /// The names of a program that reported `first` and later `second`, in its order; none
    /// if it is not clear which belong together.
    pub(crate) fn between(first: &[String], second: &[String]) -> Self {
        let (fixed, gone): (Vec<String>, Vec<String>) =
            first.iter().cloned().partition(|name| second.contains(name));
        let come: Vec<&String> = second.iter().filter(|name| !first.contains(name)).collect();
        let mut names: Vec<VaryingName> = Vec::new();
        if gone.len() != come.len() {
            return VaryingNames::default();
        }
        for (one, other) in gone.iter().zip(come) {
            let Some((before, after)) = around_difference(one, other) else {
                return VaryingNames::default();
            };
            let plain = format!("{before}{MARK}{after}");
            let mut stable = plain.clone();
            let mut number = 1;
            while fixed.contains(&stable) || names.iter().any(|name| name.stable == stable) {
                number += 1;
                stable = format!("{plain} #{number}");
            }
            names.push(VaryingName { stable, before, after });
        }
        VaryingNames { names, fixed }
    }

    /// The stable names of those that change.
    pub(crate) fn stable(&self) -> impl Iterator<Item = &String> {
        self.names.iter().map(|name| &name.stable)
    }

    /// Gives the readings of a run their stable names. If several can't be distinguished
    /// otherwise, their order decides.
    pub(crate) fn rename(&self, readings: &mut [Reading]) {
        let mut left: Vec<&VaryingName> = self.names.iter().collect();
        for name in readings.iter_mut().filter_map(|reading| reading.benchmark.as_mut()) {
            if left.is_empty() || self.fixed.contains(name) {
                continue;
            }
            let fitting = left.iter().enumerate().filter(|(_, one)| one.fits(name));
            // The first of those with the longest known part.
            let known = |one: &VaryingName| one.before.len() + one.after.len();
            let best = fitting.min_by_key(|(_, one)| std::cmp::Reverse(known(one)));
            if let Some((at, _)) = best {
                name.clone_from(&left.remove(at).stable);
            }
        }
    }

    /// The text around the changing part of a stable name. `None` for a name that does
    /// not change.
    ///
    /// # Errors
    /// If only its position distinguishes it from another one.
    fn around(&self, stable: &str) -> Result<Option<(&str, &str)>, Ambiguous> {
        let Some(name) = self.names.iter().find(|name| name.stable == stable) else {
            return Ok(None);
        };
        match self.names.iter().filter(|other| name.is_like(other)).count() {
            1 => Ok(Some((&name.before, &name.after))),
            _ => Err(Ambiguous),
        }
    }
}

/// A name can't be distinguished from another one.
struct Ambiguous;

impl SideProgram {
    /// The arguments that run only these benchmarks; `None` if the harness can't select
    /// them.
    pub(crate) fn only(&self, names: &[&str]) -> Option<Vec<OsString>> {
        let around = names.iter().map(|name| self.varying.around(name));
        let around: Vec<_> = around.collect::<Result<_, _>>().ok()?;
        match around.iter().any(Option::is_some) {
            true => self.harness.only_like(names, &around),
            false => Some(self.harness.only(names)),
        }
    }
}

impl Execution<'_> {
    /// The names of the benchmarks of a program that match the filter, from another
    /// process: by listing them, or by a complete run if the harness has no list with as
    /// many as `expected`.
    pub(crate) fn names(
        &mut self,
        program: &mut SideProgram,
        expected: usize,
        filter: Option<&str>,
        context: Context<'_>,
    ) -> Result<Vec<String>, Stop> {
        let listed = self.list(program, filter, context)?;
        if listed.len() == expected {
            return Ok(listed);
        }
        let run = self.run_all(program, RunLength::Probe, filter, context)?;
        Ok(run.into_iter().filter_map(|reading| reading.benchmark).collect())
    }

    /// The names that a program lists; `None` if it fails.
    fn list(
        &mut self,
        program: &mut SideProgram,
        filter: Option<&str>,
        context: Context<'_>,
    ) -> Result<Vec<String>, Stop> {
        let Some(flag) = program.harness.list() else { return Ok(Vec::new()) };
        let mut arguments = program.all(filter);
        arguments.push(flag.into());
        program.select(RunLength::Probe, arguments);
        match self.run_process(Pass::Plain, program, None, context) {
            Ok(_) => Ok(program.harness.listed(&program.paths).unwrap_or_default()),
            Err(Stop::Error(error))
                if matches!(error.as_kind(), Some(ExecError::Benchmark { .. })) =>
            {
                Ok(Vec::new())
            }
            Err(stop) => Err(stop),
        }
    }
}

/// What two names have in common before and after their difference, without numbers that
/// belong to it, as a year belongs to a time. `None` if nothing is left by which to
/// recognise the name.
fn around_difference(one: &str, other: &str) -> Option<(String, String)> {
    let (one, other) = (pieces(one), pieces(other));
    let shortest = one.len().min(other.len());
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let mut before = one.iter().zip(&other).take_while(same).count();
    let behind = one.iter().rev().zip(other.iter().rev()).take(shortest - before);
    let mut after = behind.take_while(same).count();
    before -= spread(one[..before].iter().rev());
    after -= spread(one[one.len() - after..].iter());
    let around = (one[..before].concat(), one[one.len() - after..].concat());
    let is_known = |text: &str| text.chars().any(char::is_alphanumeric);
    (is_known(&around.0) || is_known(&around.1)).then_some(around)
}

/// The words of a name, and the separators between them.
fn pieces(name: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut was_word = None;
    for (at, c) in name.char_indices() {
        let is_word = c.is_alphanumeric();
        if was_word.is_some_and(|was| was != is_word) {
            pieces.push(&name[start..at]);
            start = at;
        }
        was_word = Some(is_word);
    }
    pieces.push(&name[start..]);
    pieces
}

/// How many of the pieces next to a difference belong to it: numbers, except those in
/// another part of the path.
fn spread<'a>(pieces: impl Iterator<Item = &'a &'a str>) -> usize {
    let mut spread = 0;
    for (number, piece) in pieces.enumerate() {
        let is_number = piece.starts_with(|c: char| c.is_ascii_digit());
        let is_word = piece.starts_with(char::is_alphanumeric);
        if is_number {
            spread = number + 1;
        } else if is_word || piece.contains('/') || piece.contains("::") {
            break;
        }
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::row::Values;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn stable(first: &[&str], second: &[&str]) -> Vec<String> {
        VaryingNames::between(&names(first), &names(second)).stable().cloned().collect()
    }

    #[test]
    fn a_time_of_day_a_number_and_an_address_are_left_out_as_a_whole() {
        for (one, other, expected) in [
            (
                "show/2026-11-22 12:08:59.99123 +00:00",
                "show/2026-11-22 12:09:00.1 +00:00",
                "show/*",
            ),
            ("at 2026-11-22T12:08:59Z, f32", "at 2026-11-22T12:08:59.5Z, f32", "at *, f32"),
            ("read/1024/id 7", "read/1024/id 95", "read/1024/id *"),
            ("crate::f::0x7ffd12", "crate::f::0xa2", "crate::f::*"),
            ("of_abc/64", "of_xyz/64", "of_*/64"),
        ] {
            assert_eq!(stable(&["a", one], &["a", other]), [expected]);
            // At any time of day.
            assert_eq!(stable(&[other, "a"], &[one, "a"]), [expected]);
        }
    }

    #[test]
    fn what_does_not_change_or_is_not_known_again_is_left_as_it_is() {
        assert!(stable(&["a", "b/1"], &["a", "b/1"]).is_empty());
        assert!(stable(&["a", "b/1"], &["a"]).is_empty());
        assert!(stable(&["123"], &["456"]).is_empty());
        assert_eq!(stable(&["x/*", "x/1"], &["x/*", "x/2"]), ["x/* #2"]);
    }

    #[test]
    fn the_readings_of_any_run_get_their_stable_names() {
        let first = names(&["now/1 a", "now/1 b", "k/1", "now/2", "now/3", "fixed/1"]);
        let second = names(&["now/5 a", "now/6 b", "k/9", "now/7", "now/8", "fixed/1"]);
        let varying = VaryingNames::between(&first, &second);
        let reading =
            |name: &&str| Reading { benchmark: Some((*name).to_owned()), values: Values::new() };
        let renamed = |run: &[&str]| -> Vec<String> {
            let mut readings: Vec<Reading> = run.iter().map(reading).collect();
            varying.rename(&mut readings);
            readings.into_iter().filter_map(|reading| reading.benchmark).collect()
        };
        let expected = ["now/* a", "now/* b", "k/*", "now/*", "now/* #2", "fixed/1"];
        assert_eq!(
            renamed(&["now/91 a", "now/92 b", "k/8", "now/3", "now/4", "fixed/1"]),
            expected
        );
        assert_eq!(renamed(&["k/0", "other"]), ["k/*", "other"]);
        assert!(varying.around("now/*").is_err() && varying.around("now/* #2").is_err());
        assert!(matches!(varying.around("now/* a"), Ok(Some(("now/", " a")))));
        assert!(matches!(varying.around("fixed/1"), Ok(None)));
    }
}
