//! Verdicts, and the other words that an outcome consists of.

use serde::{Deserialize, Serialize};

use crate::model::words::{display_serialized, words};

display_serialized!(Verdict, StoppedBy, Status, Method, Judgement);

/// The answer to the question "did it get slower by more than the threshold?",
/// for one metric or for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The change is below the threshold.
    NoRegression,
    /// The change is above the threshold.
    Regression,
    /// Neither could be shown before sampling had to stop.
    Inconclusive,
    /// Both sides are the same program (only overall).
    Identical,
    /// The base has no such benchmark, or does not build (only overall).
    NoBaseline,
    /// The two sides print something different where that was asked to fail (only overall).
    DifferentOutput,
}

impl Verdict {
    /// The verdict on all metrics that gate: a regression if there is one, else
    /// inconclusive if there is one.
    pub(crate) fn overall(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        let mut overall = Verdict::NoRegression;
        for verdict in verdicts {
            match verdict {
                Verdict::Regression => return Verdict::Regression,
                Verdict::Inconclusive => overall = Verdict::Inconclusive,
                _ => {}
            }
        }
        overall
    }
}

/// A result that is neither a pass nor a regression. It passes unless it is set to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// The limit was reached before a verdict.
    Inconclusive,
    /// The base lacks a benchmark, or does not build.
    NoBaseline,
    /// The head no longer measures what gates on the base.
    Removed,
}

words!(Doubt { Inconclusive = "inconclusive", NoBaseline = "no-baseline", Removed = "removed" });

/// Why sampling stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoppedBy {
    /// Every metric that gates had its verdict.
    #[default]
    Verdict,
    /// The time limit was reached.
    TimeLimit,
    /// There were no more pairs: the limit was reached, or all recorded ones were used.
    MaxPairs,
    /// A signal.
    Interrupt,
    /// There was nothing to measure.
    Identical,
    /// There was nothing to measure against.
    NoBaseline,
    /// The two sides print something different.
    DifferentOutput,
}

impl StoppedBy {
    /// The verdict where it is the reason why nothing was measured.
    pub(crate) fn without_runs(self) -> Option<Verdict> {
        match self {
            StoppedBy::Identical => Some(Verdict::Identical),
            StoppedBy::NoBaseline => Some(Verdict::NoBaseline),
            StoppedBy::DifferentOutput => Some(Verdict::DifferentOutput),
            _ => None,
        }
    }
}

/// Which sides have a benchmark, or a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Both have it.
    #[default]
    Compared,
    /// Only the head has it.
    New,
    /// Only the base has it.
    Removed,
    /// Both have it, and the change does not affect it: nothing was measured.
    Unaffected,
    /// Both have it, and the time limit leaves no room for it.
    NotMeasured,
    /// Both have it, and print something different.
    DifferentOutput,
}

/// How samples were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// By the rule of `compare`, valid however often the result is looked at.
    Sequential,
    /// By Student's and Fieller's intervals for pairs, valid for a single look.
    Paired,
    /// By Welch's and Fieller's intervals, valid for a single look.
    Welch,
    /// By BenchmarkTools' judgement, without any guarantee.
    Judge,
}

/// BenchmarkTools' judgement of a ratio of two estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Less than 1 by more than the tolerance.
    Improvement,
    /// Neither.
    Invariant,
    /// More than 1 by more than the tolerance, or no number.
    Regression,
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::Verdict::{Inconclusive, NoRegression, Regression};
    use super::*;
    use crate::model::Better;

    #[test]
    fn names_are_those_of_the_published_schema() {
        let schema = include_str!("../../../docs/schema.json");
        let holds = |names: &[&dyn fmt::Display]| {
            let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            assert!(schema.contains(&quoted.join(", ")), "{quoted:?}");
        };
        holds(&[
            &NoRegression,
            &Regression,
            &Inconclusive,
            &Verdict::Identical,
            &Verdict::NoBaseline,
            &Verdict::DifferentOutput,
        ]);
        use StoppedBy::{DifferentOutput, Identical, Interrupt, MaxPairs, NoBaseline, TimeLimit};
        let nothing: [&dyn fmt::Display; 3] = [&Identical, &NoBaseline, &DifferentOutput];
        holds(&[&StoppedBy::Verdict, &TimeLimit, &MaxPairs, &Interrupt]);
        holds(&nothing);
        let statuses: [&dyn fmt::Display; 6] = [
            &Status::Compared,
            &Status::New,
            &Status::Removed,
            &Status::Unaffected,
            &Status::NotMeasured,
            &Status::DifferentOutput,
        ];
        holds(&statuses);
        holds(&[&Method::Sequential, &Method::Paired, &Method::Welch, &Method::Judge]);
        holds(&[&Better::Lower, &Better::Higher]);
    }

    #[test]
    fn one_regression_outweighs_all_and_one_open_question_a_pass() {
        let table = [
            (vec![], NoRegression),
            (vec![NoRegression, NoRegression], NoRegression),
            (vec![NoRegression, Inconclusive], Inconclusive),
            (vec![Inconclusive, Regression, NoRegression], Regression),
        ];
        for (verdicts, expected) in table {
            assert_eq!(Verdict::overall(verdicts.clone()), expected, "{verdicts:?}");
        }
    }
}
