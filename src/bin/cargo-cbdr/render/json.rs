//! The result as one JSON object, `"schema": 2`, which `docs/schema.json`
//! describes.

use std::collections::BTreeMap;
use std::io;

use cargo_cbdr::model::outcome::Outcome;
use serde::Serialize;

use super::{human, outputs};
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

/// One of the events of a comparison, the last of which is the result.
#[derive(Serialize)]
pub(super) struct EventLine<T> {
    pub(super) reason: &'static str,
    #[serde(flatten)]
    pub(super) about: T,
}

/// Prints the object as the last of the events.
pub(crate) fn print_result(outcome: &Outcome) -> io::Result<()> {
    print_line(&EventLine { reason: "result", about: Document::of(outcome) })
}

/// One object for many comparisons.
pub(crate) fn repeated(outcomes: &[Outcome]) -> impl Serialize {
    let times = human::times(outcomes);
    Repeated {
        schema: 2,
        repeat: outcomes.len(),
        verdicts: times.map(|(verdict, times)| (verdict.to_string(), times)).into(),
        comparisons: outcomes.iter().map(Document::of).collect(),
    }
}

/// Prints a value on a line of its own. Control characters and invisible
/// characters are escaped by number: outside of strings, JSON has no such
/// characters.
pub(crate) fn print_line(value: &impl Serialize) -> io::Result<()> {
    let mut line = String::new();
    for c in serde_json::to_string(value)?.chars() {
        if text::is_hidden(c) {
            line.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            line.push(c);
        }
    }
    outputs::print_bytes(format!("{line}\n").as_bytes())
}
