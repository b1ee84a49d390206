//! Names that change with every run, such as those with the time of day: two runs of one
//! program show which do, and their positions tell them apart.

use std::collections::BTreeSet;

use crate::model::Reading;

/// The benchmarks of one side if some of their names change with every run, else none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VaryingNames {
    /// In the order of a run.
    benchmarks: Vec<NamedByPosition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct NamedByPosition {
    /// Its name; if that varies, what stays of it.
    name: String,
    varies: bool,
}

impl VaryingNames {
    /// The names of a program that listed `first` and later `second`; none vary if the numbers
    /// of benchmarks differ.
    pub(crate) fn between(first: &[String], second: &[String]) -> Self {
        let mut benchmarks: Vec<NamedByPosition> = Vec::new();
        if first.len() != second.len() || first == second {
            return VaryingNames::default();
        }
        for (one, other) in first.iter().zip(second) {
            let varies = one != other;
            let plain = if varies { format!("{}*", stable_start(one, other)) } else { one.clone() };
            let mut name = plain.clone();
            let mut number = 1;
            while benchmarks.iter().any(|earlier| earlier.name == name) {
                number += 1;
                name = format!("{plain} #{number}");
            }
            benchmarks.push(NamedByPosition { name, varies });
        }
        VaryingNames { benchmarks }
    }

    /// The stable names of those that vary.
    pub(crate) fn stable(&self) -> impl Iterator<Item = &String> {
        self.benchmarks.iter().filter(|one| one.varies).map(|one| &one.name)
    }

    /// Gives the readings of a run of all benchmarks their stable names. A run of fewer has
    /// none that vary. Only those that vary go by their order: that of Criterion's files is not
    /// always that of the run.
    pub(crate) fn rename(&self, readings: &mut [Reading]) {
        if readings.len() != self.benchmarks.len() {
            return;
        }
        let fixed = self.benchmarks.iter().filter(|one| !one.varies).map(|one| &one.name);
        let fixed: BTreeSet<&String> = fixed.collect();
        let varying = readings
            .iter_mut()
            .filter(|reading| reading.benchmark.as_ref().is_some_and(|name| !fixed.contains(name)));
        for (reading, stable) in varying.zip(self.stable()) {
            reading.benchmark = Some(stable.clone());
        }
    }
}

/// What two names begin with, without a number, whose first digits may be equal by chance.
fn stable_start<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other);
    let length = same.take_while(|(c, _)| !c.is_ascii_digit()).map(|(c, _)| c.len_utf8()).sum();
    &one[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn what_varies_is_known_by_its_start_and_then_by_its_position() {
        let first = ["fixed/1", "at 12:08 UTC", "at 12:09 UTC", "of_abc/64", "f::0x7f"];
        let second = ["fixed/1", "at 1:01 UTC", "at 12:31 UTC", "of_xyz/64", "f::0x7a"];
        let varying = VaryingNames::between(&names(&first), &names(&second));
        let expected = ["at *", "at * #2", "of_*", "f::*"];
        assert!(varying.stable().eq(&expected));
        let reading =
            |name: &&str| Reading { benchmark: Some((*name).to_owned()), ..Reading::default() };
        let renamed = |run: &[&str]| -> Vec<String> {
            let mut readings: Vec<Reading> = run.iter().map(reading).collect();
            varying.rename(&mut readings);
            readings.into_iter().filter_map(|reading| reading.benchmark).collect()
        };
        let third = ["fixed/1", "at 3:07 UTC", "at 4:44 UTC", "of_k/64", "f::0x9"];
        assert_eq!(renamed(&third), [&["fixed/1"], &expected[..]].concat());
        let swapped = ["at 3:07 UTC", "fixed/1", "at 4:44 UTC", "of_k/64", "f::0x9"];
        assert_eq!(renamed(&swapped), ["at *", "fixed/1", "at * #2", "of_*", "f::*"]);
        // A run of those alone whose names are known.
        assert_eq!(renamed(&["fixed/1"]), ["fixed/1"]);
    }

    #[test]
    fn nothing_varies_if_the_lists_agree_or_have_different_lengths() {
        for (first, second) in [(["a", "b/1"], vec!["a", "b/1"]), (["a", "b/1"], vec!["a"])] {
            let varying = VaryingNames::between(&names(&first), &names(&second));
            assert_eq!(varying, VaryingNames::default());
        }
    }
}
