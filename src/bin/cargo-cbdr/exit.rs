//! The exit codes.

use cargo_cbdr::exec::process::Interrupt;
use cargo_cbdr::model::notice::Notice;
use cargo_cbdr::model::outcome::{OnDoubt, Outcome, Status, Verdict};

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// No regression.
    Success,
    /// The command line can't be parsed.
    Usage,
    Regression,
    /// There is no result, because something failed.
    Failed,
    /// Inconclusive, no baseline or something removed, if the settings make that
    /// fail.
    InDoubt,
    /// By a signal.
    Signal(i32),
    /// Like the program that was traced.
    Watched(u8),
}

impl Exit {
    /// By the signal that arrived.
    pub(crate) fn interrupted(interrupt: &Interrupt) -> Self {
        Exit::Signal(interrupt.signal().unwrap_or_default())
    }

    /// The number, except for signals.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Usage => 2,
            Exit::Regression => 100,
            Exit::Failed => 101,
            Exit::InDoubt => 102,
            Exit::Watched(code) => code,
            Exit::Signal(signal) => 128_u8.saturating_add(u8::try_from(signal).unwrap_or(0)),
        }
    }

    /// How a search for a commit ends.
    pub(crate) fn of_search(verdict: Verdict, on_inconclusive: OnDoubt) -> Self {
        match verdict {
            Verdict::Regression => Exit::Regression,
            Verdict::Inconclusive => Exit::doubt(on_inconclusive),
            _ => Exit::Success,
        }
    }

    /// How a comparison without a clear verdict ends.
    fn doubt(policy: OnDoubt) -> Self {
        if policy == OnDoubt::Fail { Exit::InDoubt } else { Exit::Success }
    }

    /// How a check of the history ends. A result that failed can't be checked.
    pub(crate) fn of_check(report: &cargo_cbdr::flows::history::check::CheckReport) -> Self {
        let failed = report.results.iter().any(|result| result.error.is_some());
        match report.verdict {
            Verdict::Regression => Exit::Regression,
            _ if failed => Exit::Failed,
            Verdict::Inconclusive => Exit::doubt(report.on_inconclusive),
            _ => Exit::Success,
        }
    }

    /// How a comparison or an analysis ends, which need not have a verdict.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        let policy = &outcome.policy;
        let has_new = outcome.benchmarks.iter().any(|benchmark| benchmark.status == Status::New);
        let not_asked =
            outcome.notices.iter().any(|notice| matches!(notice, Notice::BelowMinimumPairs { .. }));
        let exit = match outcome.verdict {
            None => return Exit::Success,
            Some(Verdict::Regression) => Exit::Regression,
            // There was no result because there was nothing to compare.
            Some(Verdict::Inconclusive) if not_asked => Exit::Failed,
            Some(Verdict::Inconclusive) => Exit::doubt(policy.on_inconclusive),
            Some(Verdict::NoBaseline) => Exit::doubt(policy.on_no_baseline),
            _ if has_new => Exit::doubt(policy.on_no_baseline),
            _ => Exit::Success,
        };
        match exit {
            Exit::Success if !outcome.removed.is_empty() => Exit::doubt(policy.on_removed),
            exit => exit,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
