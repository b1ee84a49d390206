//! The exit codes.

use std::collections::BTreeSet;

use cargo_cbdr::exec::process::Interrupt;
use cargo_cbdr::model::{Doubt, Notice, Outcome, Status, Verdict};

use crate::failure::Failure;

/// How a subcommand ends.
pub(crate) type CommandResult = Result<ExitKind, Failure>;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitKind {
    /// No regression.
    Success,
    /// The command line can't be parsed.
    Usage,
    /// Also different output, where that was asked to fail.
    Regression,
    /// There is no result, because something failed.
    Failed,
    /// Inconclusive, no baseline or something removed, if the settings make that
    /// fail.
    InDoubt,
    /// By a signal.
    Signal(i32),
    /// Like the program that was traced.
    Traced(u8),
}

impl ExitKind {
    /// By the signal that arrived.
    pub(crate) fn interrupted(interrupt: &Interrupt) -> Self {
        ExitKind::Signal(interrupt.signal().unwrap_or_default())
    }

    /// The number, except for signals.
    pub(crate) fn code(self) -> u8 {
        match self {
            ExitKind::Success => 0,
            ExitKind::Usage => 2,
            ExitKind::Regression => 100,
            ExitKind::Failed => 101,
            ExitKind::InDoubt => 102,
            ExitKind::Traced(code) => code,
            ExitKind::Signal(signal) => 128_u8.saturating_add(u8::try_from(signal).unwrap_or(0)),
        }
    }

    /// How a search for a commit ends.
    pub(crate) fn of_search(verdict: Verdict, fail_on: &BTreeSet<Doubt>) -> Self {
        match verdict {
            Verdict::Regression => ExitKind::Regression,
            Verdict::Inconclusive if fail_on.contains(&Doubt::Inconclusive) => ExitKind::InDoubt,
            _ => ExitKind::Success,
        }
    }

    /// How a check of the history ends. A result that failed can't be checked.
    pub(crate) fn of_check(report: &cargo_cbdr::flows::history::check::CheckReport) -> Self {
        let failed = report.results.iter().any(|result| result.error.is_some());
        match ExitKind::of_search(report.verdict, &report.fail_on) {
            ExitKind::Success | ExitKind::InDoubt if failed => ExitKind::Failed,
            exit => exit,
        }
    }

    /// How a comparison or an analysis ends, which need not have a verdict.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        let is_unwritten = is_unwritten(outcome);
        let Some(verdict) = outcome.verdict else {
            return if is_unwritten { ExitKind::Failed } else { ExitKind::Success };
        };
        let gating: BTreeSet<&str> =
            outcome.gates().map(|(benchmark, _)| benchmark.name.as_str()).collect();
        // Not one has the pairs for a verdict, or needs none.
        let not_asked = outcome.notices.iter().any(|notice| {
            matches!(notice, Notice::BelowMinimumPairs { benchmarks, .. } if *benchmarks >= gating.len())
        }) && !outcome.benchmarks.iter().any(|one| one.status == Status::Unaffected);
        match verdict {
            Verdict::Regression | Verdict::DifferentOutput => ExitKind::Regression,
            // There was no result because there was nothing to compare.
            Verdict::Inconclusive if not_asked => ExitKind::Failed,
            _ if is_unwritten => ExitKind::Failed,
            _ if !doubts(outcome).is_empty() => ExitKind::InDoubt,
            _ => ExitKind::Success,
        }
    }
}

/// The doubts about an outcome that were asked to fail.
pub(crate) fn doubts(outcome: &Outcome) -> Vec<Doubt> {
    let has_new = outcome.benchmarks.iter().any(|benchmark| benchmark.status == Status::New);
    let is_verdict = |verdict| outcome.verdict == Some(verdict);
    let holds = |doubt: &&Doubt| match doubt {
        Doubt::Inconclusive => is_verdict(Verdict::Inconclusive),
        Doubt::NoBaseline => is_verdict(Verdict::NoBaseline) || has_new,
        Doubt::Removed => !outcome.removed.is_empty(),
    };
    outcome.policy.fail_on.iter().filter(holds).copied().collect()
}

/// Whether a requested output of it is missing.
pub(crate) fn is_unwritten(outcome: &Outcome) -> bool {
    outcome.notices.iter().any(|notice| matches!(notice, Notice::Unwritten { .. }))
}

#[cfg(test)]
mod tests {
    use cargo_cbdr::model::BenchmarkResult;

    use super::*;
    use crate::render::answer::tests::{outcome, time};

    #[test]
    fn only_if_not_one_benchmark_has_the_pairs_for_a_verdict_it_could_not_finish() {
        for (benchmarks, exit) in [(1, ExitKind::Success), (2, ExitKind::Failed)] {
            let open = Verdict::Inconclusive;
            let metrics = vec![("a", time(0.0, open)), ("b", time(0.0, open))];
            let mut outcome = outcome(open, metrics);
            let example = "a".to_owned();
            outcome.notices.push(Notice::BelowMinimumPairs { benchmarks, example });
            assert_eq!(ExitKind::of(&outcome), exit);
            outcome.benchmarks.push(BenchmarkResult::new("c", Status::Unaffected));
            assert_eq!(ExitKind::of(&outcome), ExitKind::Success);
        }
    }

    #[test]
    fn what_is_new_fails_where_asked_also_if_something_else_is_undecided() {
        let open = Verdict::Inconclusive;
        let mut outcome = outcome(open, vec![("a", time(0.0, open))]);
        outcome.benchmarks.push(BenchmarkResult::new("b", Status::New));
        assert_eq!(ExitKind::of(&outcome), ExitKind::Success);
        outcome.policy.fail_on.insert(Doubt::NoBaseline);
        assert_eq!(ExitKind::of(&outcome), ExitKind::InDoubt);
    }
}
