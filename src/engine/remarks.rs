//! Remarks on a metric's result.

use crate::model::{BenchmarkResult, Finding, MetricResult, Notice, Placing, Remark, Verdict};

/// A change below this, a fraction, can come of the placement of code alone.
const PLACEMENT: f64 = 0.05;

/// With more gating metrics than this, those that passed have only the remarks that matter
/// whatever there is beside them.
const MANY_GATES: usize = 3;

/// If this fraction of the pairs are ties, the clock is too coarse: one in so many.
const PAIRS_PER_TIE: u64 = 4;

/// The remarks on the results of the gating metrics.
pub(crate) fn remarks<'a>(
    benchmarks: impl IntoIterator<Item = &'a BenchmarkResult>,
) -> Vec<Notice> {
    let metrics = benchmarks.into_iter().flat_map(|of| of.metrics.iter().map(move |m| (of, m)));
    let gating: Vec<_> = metrics.filter(|(_, result)| result.threshold.is_some()).collect();
    let is_shown = |result: &MetricResult, remark: &Remark| match (result.verdict, remark) {
        (Some(Verdict::Regression), Remark::Noise(found)) => !found.is_about_cost(),
        (Some(Verdict::NoRegression), Remark::Noise(found)) if !found.questions_verdict() => false,
        (_, Remark::Warned { .. } | Remark::Waived { .. }) => true,
        (_, Remark::Placement { .. } | Remark::Learnt { .. }) => true,
        (verdict, _) => verdict != Some(Verdict::NoRegression) || gating.len() <= MANY_GATES,
    };
    let mut notices = Vec::new();
    for (of, result) in &gating {
        for remark in remarks_on(result).into_iter().filter(|remark| is_shown(result, remark)) {
            let (benchmark, metric) = (of.name.clone(), result.name.clone());
            notices.push(Notice::Metric { benchmark, metric, remark });
        }
    }
    notices
}

fn remarks_on(result: &MetricResult) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let (change, pairs) = (result.summary.change, result.summary.pairs);
    let average = result.mean.and_then(|mean| mean.change);
    let regressed = result.verdict == Some(Verdict::Regression);
    let small = change.is_some_and(|change| change.abs() < PLACEMENT);
    remarks.extend(placement(result).filter(|_| !regressed));
    if result.warned {
        remarks.push(Remark::Warned { change });
    }
    remarks.extend(waived(result).filter(|_| !regressed));
    let threshold = result.waiver.as_ref().map(|waiver| waiver.threshold).or(result.threshold);
    if let (Some(learnt), Some(threshold)) = (result.learnt, threshold) {
        remarks.push(Remark::Learnt { threshold, learnt });
    }
    if let (Some(typical), Some(average)) = (result.overruled, average) {
        remarks.push(Remark::Tail { average, typical });
    } else if regressed
        && small
        && result.layouts.is_none_or(|layouts| layouts.placing == Placing::Copied)
        && result.metric().depends_on_placement()
    {
        remarks.push(Remark::SmallChange);
    }
    let is_coarse = result.findings.iter().any(|one| matches!(one, Finding::Coarse { .. }));
    // A coarse clock explains them.
    if PAIRS_PER_TIE * result.ties > pairs && !is_coarse {
        remarks.push(Remark::Ties { ties: result.ties, pairs });
    }
    remarks.extend(result.findings.iter().copied().map(Remark::Noise));
    remarks
}

/// What is said of a change that the executables show as they were built, and that is not
/// one over layouts.
fn placement(result: &MetricResult) -> Option<Remark> {
    let before = result.before.filter(|it| it.verdict == Verdict::Regression)?;
    let layouts = result.layouts?;
    Some(Remark::Placement { before, layouts, summary: result.summary, verdict: result.verdict? })
}

fn waived(result: &MetricResult) -> Option<Remark> {
    let waiver = result.waiver.clone()?;
    let (change, needed) = (result.summary.change, result.needs_waiver());
    Some(Remark::Waived { change, needed, waiver, better: result.better })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Metric, Status, Summary};

    #[test]
    fn what_would_save_pairs_is_said_only_where_a_verdict_is_missing() {
        let findings = vec![
            Finding::Outliers { one_in: 20.0, share: 0.9 },
            Finding::NotNormal { fit: 0.5 },
            Finding::Coarse { step: 0.01 },
        ];
        let said = |verdict| {
            let metric = Metric::named("wall_time");
            let result = MetricResult::new(metric, Some(0.02), Summary::default(), Some(verdict));
            let result = MetricResult { findings: findings.clone(), ..result };
            let mut benchmark = BenchmarkResult::new("it", Status::Compared);
            benchmark.metrics = vec![result];
            remarks([&benchmark]).len()
        };
        let all = [Verdict::Inconclusive, Verdict::Regression, Verdict::NoRegression];
        assert_eq!(all.map(said), [3, 1, 1]);
    }

    #[test]
    fn many_ties_are_said_unless_the_steps_of_a_clock_explain_them() {
        let with = |ties, findings: &[Finding]| {
            let summary = Summary { pairs: 20, ..Summary::default() };
            let metric = Metric::named("allocations");
            let result = MetricResult::new(metric, Some(0.0), summary, Some(Verdict::Inconclusive));
            remarks_on(&MetricResult { ties, findings: findings.to_vec(), ..result })
        };
        assert_eq!(with(20, &[]), [Remark::Ties { ties: 20, pairs: 20 }]);
        assert_eq!(with(5, &[]), []);
        let coarse = Finding::Coarse { step: 0.01 };
        assert_eq!(with(20, &[coarse]), [Remark::Noise(coarse)]);
    }
}
