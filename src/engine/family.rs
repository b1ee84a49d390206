//! How the tests of a comparison pass on their share of its error; see
//! [`Family`](crate::stats::family::Family).

use super::test::MetricTest;
use crate::model::Verdict;
use crate::stats::family::Family;

/// Passes the error of the tests that are regressions on to the undecided ones. Returns
/// the indices of those that become regressions by that.
pub(crate) fn step_down(family: &mut Family, tests: &mut [&mut MetricTest]) -> Vec<usize> {
    let mut more = Vec::new();
    while let Some(levels) = family.found(tests.iter().filter(|test| test.is_regression()).count())
    {
        for (place, test) in tests.iter_mut().enumerate() {
            if test.relax(levels) == Some(Verdict::Regression) {
                more.push(place);
            }
        }
    }
    more
}

/// The most likely regression among the named `tests`, if it is certain that one is but not
/// which. A single test gives this verdict itself, or none.
pub(crate) fn likeliest<'a, 'b>(
    family: &Family,
    tests: impl Iterator<Item = (&'a str, &'b MetricTest)>,
) -> Option<&'a str> {
    let gating: Vec<_> = tests.filter(|(_, test)| test.threshold().is_some()).collect();
    if !family.is_slower() || family.names_any() || gating.len() == 1 {
        return None;
    }
    let open = gating.into_iter().filter(|(_, test)| test.verdict().is_none());
    let likeliest = open.max_by(|(_, one), (_, other)| one.evidence().total_cmp(&other.evidence()));
    likeliest.map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Estimator, Gate, Metric, Side};
    use crate::stats::estimator::Levels;

    const TESTS: usize = 8;

    fn tests(family: &Family) -> Vec<MetricTest> {
        let gate = Gate::new("wall_time", 0.02);
        let metric = Metric::named("wall_time");
        let test =
            |_| MetricTest::new(metric.clone(), Some(&gate), Estimator::Robust, family.levels());
        (0..TESTS).map(test).collect()
    }

    /// Pushes a pair that is slower by `change`, and some noise.
    fn push(test: &mut MetricTest, change: f64, number: i32) {
        let noise = 1.0 + 0.003 * f64::from(number * 7 % 5 - 2);
        test.push(1.0, (1.0 + change) * noise, Side::Base);
    }

    fn all(tests: &mut [MetricTest]) -> Vec<&mut MetricTest> {
        tests.iter_mut().collect()
    }

    /// Half of the tests are found to be regressions; the others have no pair. Also how many
    /// pairs that took.
    fn half_found(family: &Family) -> (Vec<MetricTest>, i32) {
        let mut tests = tests(family);
        let pairs = (0..).find(|number| {
            let half = &mut tests[..TESTS / 2];
            half.iter_mut().for_each(|test| push(test, 0.3, *number));
            half[0].verdict().is_some()
        });
        (tests, pairs.unwrap() + 1)
    }

    #[test]
    fn what_is_found_leaves_its_share_to_the_others() {
        let mut family = Family::new(0.95, TESTS);
        assert_eq!(family.levels(), Levels::new(0.95, TESTS));
        let (mut tests, pairs) = half_found(&family);
        // One pair fewer: no bet can more than double what it has.
        (0..pairs - 1).for_each(|number| push(&mut tests[5], 0.3, number));
        push(&mut tests[6], 0.3, 0);
        assert_eq!(tests[5].verdict(), None);
        assert_eq!(step_down(&mut family, &mut all(&mut tests)), [5]);
        assert_eq!(tests[5].verdict(), Some(Verdict::Regression));
        assert_eq!(tests[6].verdict(), None);
        assert_eq!(family.levels(), Levels::new(0.95, TESTS - TESTS / 2 - 1));
        assert!(step_down(&mut family, &mut all(&mut tests)).is_empty(), "nothing is new");
    }

    #[test]
    fn what_was_shown_once_counts_later() {
        let mut family = Family::new(0.95, TESTS);
        let (mut tests, pairs) = half_found(&family);
        // Nearly there, then a few pairs the other way.
        (0..pairs - 1).for_each(|number| push(&mut tests[7], 0.3, number));
        (0..2).for_each(|number| push(&mut tests[7], -0.01, number));
        assert_eq!(step_down(&mut family, &mut all(&mut tests)), [7]);
    }

    #[test]
    fn a_family_knows_that_some_are_slower_before_it_knows_which() {
        let mut family = Family::new(0.95, TESTS);
        let mut tests = tests(&family);
        let sum = |tests: &[MetricTest]| tests.iter().map(MetricTest::evidence).sum::<f64>();
        let mut before = 0.0;
        assert!((sum(&tests) - TESTS as f64).abs() < 1e-9, "one each at the beginning");
        for number in 0.. {
            assert!(number < 30 && tests.iter().all(|test| test.verdict().is_none()));
            tests.iter_mut().for_each(|test| push(test, 0.1, number));
            let now = sum(&tests);
            let named = tests.iter().map(|test| ("all alike", test));
            assert_eq!(likeliest(&family, named), None);
            family.weigh(before, now);
            before = now;
            if family.is_slower() {
                break;
            }
        }
        // Whatever comes then.
        family.weigh(before, 0.0);
        push(&mut tests[3], 0.1, 0);
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let likeliest = |family: &Family| super::likeliest(family, names.into_iter().zip(&tests));
        assert_eq!(likeliest(&family), Some("d"));
        // Where one is named, the others are none the wiser.
        assert!(family.found(1).is_some());
        assert_eq!(likeliest(&family), None);
    }
}
