//! The exit codes.

use cargo_cbdr::Report;
use cargo_cbdr::exec::process::Interrupt;
use cargo_cbdr::model::outcome::{OnDoubt, Removed, Verdict};

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// No regression, or nothing that asks for more.
    Success,
    /// The command line can't be understood.
    Usage,
    /// A regression.
    Regression,
    /// There is no answer, because something failed.
    Failed,
    /// Inconclusive, without a baseline or with something removed, where that was
    /// asked to fail.
    InDoubt,
    /// By a signal.
    Signal(i32),
}

impl Exit {
    /// By the signal that interrupted us.
    pub(crate) fn interrupted(interrupt: &Interrupt) -> Self {
        Exit::Signal(interrupt.signal().unwrap_or_default())
    }

    /// The number, for all but signals.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Usage => 2,
            Exit::Regression => 100,
            Exit::Failed => 101,
            Exit::InDoubt => 102,
            Exit::Signal(signal) => 128_u8.saturating_add(u8::try_from(signal).unwrap_or(0)),
        }
    }

    /// How an analysis ends, which may have been asked for no verdict.
    pub(crate) fn of_samples(verdict: Option<Verdict>, on_inconclusive: OnDoubt) -> Self {
        match verdict {
            Some(Verdict::Regression) => Exit::Regression,
            Some(Verdict::Inconclusive) => Exit::doubt(on_inconclusive),
            _ => Exit::Success,
        }
    }

    /// What neither yes nor no comes to.
    pub(crate) fn doubt(policy: OnDoubt) -> Self {
        if policy == OnDoubt::Fail { Exit::InDoubt } else { Exit::Success }
    }

    /// How a check of the history ends: a result that failed is none.
    pub(crate) fn of_check(report: &cargo_cbdr::flows::history::check::CheckReport) -> Self {
        let failed = report.results.iter().any(|result| result.error.is_some());
        match report.verdict {
            Verdict::Regression => Exit::Regression,
            _ if failed => Exit::Failed,
            Verdict::Inconclusive => Exit::doubt(report.on_inconclusive),
            _ => Exit::Success,
        }
    }

    /// How a comparison ends.
    pub(crate) fn of(report: &Report) -> Self {
        let is_new = |b: &cargo_cbdr::model::outcome::BenchmarkResult| {
            b.status == cargo_cbdr::model::outcome::Status::New
        };
        let Some(verdict) = report.decided() else { return Exit::Success };
        let exit = match verdict {
            Verdict::Regression => Exit::Regression,
            Verdict::Inconclusive => Exit::doubt(report.policy.on_inconclusive),
            Verdict::NoBaseline => Exit::doubt(report.policy.on_no_baseline),
            _ if report.sampled.benchmarks.iter().any(is_new) => {
                Exit::doubt(report.policy.on_no_baseline)
            }
            _ => Exit::Success,
        };
        exit.unless_removed(&report.removed, report.policy.on_removed)
    }

    /// What success comes to where something was removed.
    pub(crate) fn unless_removed(self, removed: &[Removed], policy: OnDoubt) -> Self {
        match self {
            Exit::Success if !removed.is_empty() => Exit::doubt(policy),
            exit => exit,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
