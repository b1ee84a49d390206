//! One JSON object: of metrics, or of benchmarks that are objects of metrics.
//! It is all of standard output, or the content of the file that `$CBDR_OUTPUT`
//! names. A trailing comma, as scripts often print, is allowed.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::definition::{Definition, NO_HARNESS};
use super::report::{Error, MOST_METRICS, check_at_most, no_number, reading, set, text};
use crate::model::{Dialect, Reading, Values};

/// Names the file.
const VARIABLE: &str = "CBDR_OUTPUT";

pub(super) static JSON: Definition = Definition {
    dialect: Dialect::Json,
    set_up: |_, command, paths| {
        command.set_var(VARIABLE, paths.output.clone());
        Vec::new()
    },
    read: |paths| {
        let printed = text(&paths.stdout)?;
        let written = text(&paths.output)?;
        read(if written.trim().is_empty() { &printed } else { &written })
    },
    ..NO_HARNESS
};

pub(super) fn read(text: &str) -> Result<Vec<Reading>, Error> {
    if text.trim().is_empty() {
        return Err(Error::Unreadable("it printed nothing".to_owned()));
    }
    let text = forgive(text);
    let value: JsonValue = serde_json::from_str(&text)
        .map_err(|error| Error::Unreadable(format!("it is not one JSON object: {error}")))?;
    let JsonValue::Object(entries) = value else {
        return Err(Error::Unreadable(format!("it is {}, not an object", value.kind())));
    };
    let nested = entries.iter().filter(|(_, value)| matches!(value, JsonValue::Object(_))).count();
    if entries.is_empty() {
        return Err(Error::Unreadable("the object is empty".to_owned()));
    } else if nested == 0 {
        return Ok(vec![Reading::of_program(values(entries, "")?)]);
    } else if nested < entries.len() {
        let why = "some values are numbers and some are objects: report either metrics or \
            benchmarks";
        return Err(Error::Unreadable(why.to_owned()));
    }
    let mut readings = Vec::new();
    for (name, value) in entries {
        let JsonValue::Object(metrics) = value else { continue };
        if metrics.is_empty() {
            return Err(Error::Unreadable(format!("the benchmark `{name}` has no metric")));
        }
        let values = values(metrics, &format!("{name}."))?;
        readings.push(reading(name, values));
    }
    Ok(readings)
}

/// An object of numbers; `place` is where it is, for errors.
fn values(entries: Vec<(String, JsonValue)>, place: &str) -> Result<Values, Error> {
    check_at_most(entries.len(), MOST_METRICS, "metrics")?;
    let mut values = Values::default();
    for (name, value) in entries {
        let JsonValue::Number(number) = value else {
            return Err(no_number(&format!("{place}{name}"), value.kind()));
        };
        set(&mut values, &name, number)?;
    }
    Ok(values)
}

/// The text without the commas before closing brackets, which become blanks,
/// so that places in errors stay right.
fn forgive(text: &str) -> String {
    let mut bytes = text.trim_start_matches('\u{feff}').as_bytes().to_vec();
    let mut comma = None;
    let (mut quoted, mut escaped) = (false, false);
    for at in 0..bytes.len() {
        match bytes[at] {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => (quoted, comma) = (!quoted, None),
            _ if quoted => {}
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A value, with what objects lose in other types: names that are there twice.
#[derive(Deserialize)]
#[serde(untagged)]
enum JsonValue {
    Number(f64),
    Object(#[serde(deserialize_with = "entries")] Vec<(String, JsonValue)>),
    Other(Value),
}

impl JsonValue {
    fn kind(&self) -> &'static str {
        match self {
            JsonValue::Number(_) => "a number",
            JsonValue::Object(_) => "an object",
            JsonValue::Other(Value::Bool(_)) => "a boolean",
            JsonValue::Other(Value::String(_)) => "a string",
            JsonValue::Other(Value::Array(_)) => "a list",
            JsonValue::Other(_) => "null",
        }
    }
}

/// All entries of an object, in their order.
fn entries<'a, D: Deserializer<'a>>(object: D) -> Result<Vec<(String, JsonValue)>, D::Error> {
    struct InOrder;
    impl<'a> Visitor<'a> for InOrder {
        type Value = Vec<(String, JsonValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = map.next_entry()? {
                entries.push(entry);
            }
            Ok(entries)
        }
    }
    object.deserialize_map(InOrder)
}

#[cfg(test)]
mod tests;
