//! The files of `--export`, for services that keep results over time and for viewers of
//! profiles.

use std::path::PathBuf;

use cargo_cbdr::model::{Better, Outcome, Side};
use cargo_cbdr::settings::error::instead_of;
use serde_json::Value;

use super::{bencher, benchmark_action, flamegraph};

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportKind {
    /// Bencher's metric format.
    Bencher,
    /// github-action-benchmark's custom format, of metrics of which less is
    /// better.
    Action,
    /// The same, of metrics of which more is better.
    ActionBigger,
    /// A flame graph of what has regressed.
    FlameGraph,
    /// The call stacks of a side of what has regressed.
    Folded(Side),
}

const KINDS: [(&str, ExportKind); 6] = [
    ("bencher", ExportKind::Bencher),
    ("github-action-benchmark", ExportKind::Action),
    ("github-action-benchmark-bigger", ExportKind::ActionBigger),
    ("flamegraph", ExportKind::FlameGraph),
    ("folded-base", ExportKind::Folded(Side::Base)),
    ("folded-head", ExportKind::Folded(Side::Head)),
];

/// Parses `KIND=FILE`. An error states what is wrong.
pub(crate) fn parse(text: &str) -> Result<(ExportKind, PathBuf), String> {
    let Some((name, path)) = text.split_once('=').filter(|(_, path)| !path.is_empty()) else {
        return Err("it is not KIND=FILE".to_owned());
    };
    let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == name) else {
        let hint = instead_of(name, KINDS.iter().map(|(name, _)| *name), "the kinds are");
        return Err(format!("there is no export `{name}`; {hint}"));
    };
    Ok((*kind, path.into()))
}

impl ExportKind {
    /// Whether it is about the functions that make a benchmark slower.
    pub(crate) fn explains(self) -> bool {
        matches!(self, ExportKind::FlameGraph | ExportKind::Folded(_))
    }

    /// The file's content.
    pub(crate) fn content(self, outcome: &Outcome) -> String {
        let value: Value = match self {
            ExportKind::Bencher => bencher::value(outcome),
            ExportKind::Action => benchmark_action::value(outcome, Better::Lower),
            ExportKind::ActionBigger => benchmark_action::value(outcome, Better::Higher),
            ExportKind::FlameGraph => return flamegraph::file(&outcome.explanations),
            ExportKind::Folded(side) => return flamegraph::folded(&outcome.explanations, side),
        };
        format!("{value:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kind_is_an_error_that_suggests_one() {
        assert_eq!(parse("bencher=a=b").unwrap(), (ExportKind::Bencher, PathBuf::from("a=b")));
        assert!(parse("bensher=f").unwrap_err().contains("did you mean `bencher`?"));
        assert!(parse("qqq=f").unwrap_err().contains("the kinds are `bencher`, `github-action"));
        for text in ["bencher", "bencher=", ""] {
            assert!(parse(text).unwrap_err().contains("it is not KIND=FILE"), "{text}");
        }
    }
}
