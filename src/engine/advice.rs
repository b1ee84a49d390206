//! What would decide the verdicts that are undecided at the end, tried on the pairs at
//! hand. This is advice for the next comparison, not a verdict: choosing what decides
//! after seeing the pairs would be choosing the result.

use std::collections::BTreeMap;

use super::test::MetricTest;
use crate::model::{Advice, MetricId, THRESHOLD};
use crate::stats::forecast::Forecast;

/// The thresholds that are suggested, fractions.
pub(crate) const SUGGESTED_THRESHOLDS: [f64; 5] = [THRESHOLD, 0.03, 0.05, 0.1, 0.2];

/// A forecast is rough: the suggested time is longer by this factor.
const ROOM: f64 = 1.25;

/// The longest time to suggest, seconds: nobody waits longer for a comparison.
const LONGEST: f64 = 7_200.0;

/// A test that is undecided at the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenTest<'a> {
    pub(super) test: &'a MetricTest,
    /// The other metrics of the same runs.
    pub(super) others: &'a [(MetricId, MetricTest)],
    /// How long a pair takes, seconds.
    pub(super) pair_seconds: f64,
    /// The number of pairs that it is expected to take if there are too few for a forecast, if any.
    pub(super) at_least: Option<u64>,
}

/// What would decide these tests, if there are any. `elapsed` is the time spent on
/// sampling, seconds.
pub(super) fn advice(open: &[OpenTest<'_>], elapsed: f64) -> Option<Advice> {
    if open.is_empty() {
        return None;
    }
    Some(Advice {
        open: open.len(),
        metric: metric(open),
        threshold: threshold(open),
        time: time(open, elapsed),
        is_limited_by_pairs: false,
    })
}

/// The other metric of the same unit that would have decided the largest number of them.
fn metric(open: &[OpenTest<'_>]) -> Option<(String, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for OpenTest { test, others, .. } in open {
        let Some(threshold) = test.threshold() else { continue };
        for (_, other) in *others {
            if other.metric().unit == test.metric().unit && other.decides(threshold) {
                *counts.entry(&other.metric().name).or_default() += 1;
            }
        }
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count)?;
    Some((most.0.to_owned(), most.1))
}

/// The smallest threshold that would have decided the largest number of them.
fn threshold(open: &[OpenTest<'_>]) -> Option<(f64, usize)> {
    let decided = |threshold: f64| {
        let larger = |test: &MetricTest| test.threshold().is_some_and(|own| own < threshold);
        open.iter().filter(|one| larger(one.test) && one.test.decides(threshold)).count()
    };
    let all = SUGGESTED_THRESHOLDS.map(|threshold| (threshold, decided(threshold)));
    // Of equal numbers, the last one is found.
    let most = all.into_iter().rev().max_by_key(|(_, decided)| *decided);
    most.filter(|(_, decided)| *decided > 0)
}

/// The time limit within which all tests with a forecast should be decided,
/// seconds.
fn time(open: &[OpenTest<'_>], elapsed: f64) -> Option<(f64, usize)> {
    let left = open.iter().filter_map(|one| {
        let pairs = match one.test.forecast() {
            Forecast::Pairs(pairs) => pairs,
            Forecast::Unknown => one.at_least.filter(|least| *least > one.test.pairs())?,
            Forecast::Never => return None,
        };
        Some(pairs.saturating_sub(one.test.pairs()) as f64 * one.pair_seconds)
    });
    let mut left: Vec<f64> = left.collect();
    left.sort_unstable_by(f64::total_cmp);
    // As many as fit, the soonest first.
    let mut total = elapsed;
    let mut count = 0;
    for seconds in left {
        if ROOM * (total + seconds) > LONGEST {
            break;
        }
        total += seconds;
        count += 1;
    }
    (count > 0).then_some((ROOM * total, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Estimator, Gate, Metric, Side};
    use crate::stats::estimator::Levels;
    use crate::stats::tests::TestNoise;

    /// A test with 40 pairs of this change, with normal noise of this standard deviation.
    fn test(name: &str, gate: Option<f64>, change: f64, noise: f64) -> MetricTest {
        let gate = gate.map(|threshold| Gate::new(name, threshold));
        let levels = Levels::new(0.95, 3);
        let mut test =
            MetricTest::new(Metric::named(name), gate.as_ref(), Estimator::Robust, levels);
        let mut random = TestNoise::seeded(11);
        for pair in 0..40 {
            let first = if pair % 2 == 0 { Side::Base } else { Side::Head };
            let mut value = || 1.0 + noise * random.normal();
            test.push(value(), (1.0 + change) * value(), first);
        }
        test
    }

    #[test]
    fn what_would_have_decided_is_named_with_how_many() {
        let gate = Some(0.02);
        let noisy = test("median_time", gate, 0.0, 0.06);
        let least = test("min_time", None, 0.0, 0.001);
        let bytes = test("max_rss", None, 0.0, 0.001);
        let near = test("median_time", gate, 0.02, 0.001);
        let others = [noisy.clone(), least, bytes].map(|test| (MetricId(0), test));
        let open = [
            OpenTest { test: &noisy, others: &others, pair_seconds: 0.5, at_least: None },
            OpenTest { test: &near, others: &[], pair_seconds: 0.5, at_least: None },
        ];
        let said = advice(&open, 20.0).unwrap();
        assert_eq!((said.open, said.metric), (2, Some(("min_time".to_owned(), 1))));
        // The one at its threshold is below any larger one.
        let (threshold, decided) = said.threshold.unwrap();
        assert!(threshold >= 0.03 && decided == 2, "{threshold} {decided}");
        let (seconds, decided) = said.time.unwrap();
        assert!(seconds > 25.0 && decided >= 1, "{seconds} {decided}");
        assert_eq!(advice(&[], 20.0), None);
    }

    #[test]
    fn too_few_pairs_for_a_forecast_are_expected_to_be_enough_as_soon_as_they_can_be() {
        let levels = Levels::new(0.95, 1);
        let gate = Gate::new("wall_time", 0.02);
        let metric = Metric::named("wall_time");
        let test = MetricTest::new(metric, Some(&gate), Estimator::Robust, levels);
        let open = |at_least| OpenTest { test: &test, others: &[], pair_seconds: 2.0, at_least };
        assert_eq!(advice(&[open(None)], 20.0).unwrap().time, None);
        // 8 pairs of 2 s after 20 s, and a quarter more.
        assert_eq!(advice(&[open(Some(8))], 20.0).unwrap().time, Some((45.0, 1)));
    }

    #[test]
    fn where_nothing_helps_nothing_is_named() {
        let wild = test("wall_time", Some(0.02), 0.0, 0.5);
        let one = OpenTest { test: &wild, others: &[], pair_seconds: 1e4, at_least: None };
        let nothing = Advice { open: 1, ..Advice::default() };
        assert_eq!(advice(&[one], 20.0), Some(nothing));
    }
}
