//! The result as one JSON object, `"schema": 2`, which `docs/schema.json`
//! describes.

use std::collections::BTreeMap;
use std::io::{self, Write};

use cargo_cbdr::model::outcome::Outcome;
use serde::Serialize;

use super::human;
use crate::ui::grouped;
use crate::ui::text;

/// A result, with the notices as sentences.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    #[serde(flatten)]
    outcome: &'a Outcome,
    notices: Vec<String>,
}

impl<'a> Document<'a> {
    fn of(outcome: &'a Outcome) -> Self {
        Document {
            schema: 2,
            outcome,
            notices: outcome.notices.iter().map(grouped::text).collect(),
        }
    }
}

#[derive(Serialize)]
struct Repeated<'a> {
    schema: u32,
    repeat: usize,
    verdicts: BTreeMap<String, u64>,
    comparisons: Vec<Document<'a>>,
}

#[cfg(test)]
pub(super) fn value(outcome: &Outcome) -> serde_json::Value {
    serde_json::to_value(Document::of(outcome)).unwrap()
}

/// Prints the object on a line of its own.
pub(super) fn print(outcome: &Outcome) -> io::Result<()> {
    print_line(&Document::of(outcome))
}

/// The last of the events: the result.
#[derive(Serialize)]
struct ResultEvent<'a> {
    reason: &'static str,
    #[serde(flatten)]
    result: Document<'a>,
}

/// Prints the object as the last of the events.
pub(crate) fn print_result(outcome: &Outcome) -> io::Result<()> {
    print_line(&ResultEvent { reason: "result", result: Document::of(outcome) })
}

/// Prints one object for many comparisons.
pub(crate) fn print_repeated(outcomes: &[Outcome]) -> io::Result<()> {
    let times = human::times(outcomes);
    print_line(&Repeated {
        schema: 2,
        repeat: outcomes.len(),
        verdicts: times.map(|(verdict, times)| (verdict.to_string(), times)).into(),
        comparisons: outcomes.iter().map(Document::of).collect(),
    })
}

/// Prints a value on a line of its own. Control characters and invisible
/// characters are escaped by number: outside of strings, JSON has no such
/// characters.
pub(crate) fn print_line(value: &impl Serialize) -> io::Result<()> {
    let mut line = String::new();
    for c in serde_json::to_string(value)?.chars() {
        match c {
            c if text::is_hidden(c) => {
                let mut units = [0; 2];
                let units = c.encode_utf16(&mut units);
                line.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            }
            c => line.push(c),
        }
    }
    writeln!(io::stdout().lock(), "{line}")
}
