//! Layouts: where in memory the code of an executable lies.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::outcome::{Summary, Verdict};

/// Whether a verdict is about executables as they were built, or about the source in many
/// layouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layouts {
    /// As built; a regression also needs to be one over layouts.
    #[default]
    Auto,
    /// As built only.
    Off,
    /// Over this many layouts of each side.
    Number(u32),
}

impl fmt::Display for Layouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layouts::Auto => f.pad("auto"),
            Layouts::Off => f.pad("off"),
            Layouts::Number(number) => number.fmt(f),
        }
    }
}

impl FromStr for Layouts {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match (word, word.parse()) {
            ("auto", _) => Ok(Layouts::Auto),
            ("off", _) => Ok(Layouts::Off),
            (_, Ok(number @ 1..)) => Ok(Layouts::Number(number)),
            _ => Err("it is `auto`, `off` or a number of 1 or more".to_owned()),
        }
    }
}

/// How an executable comes to lie elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placing {
    /// It is linked again, its functions in a random order.
    Linked,
    /// It is copied, so that it lies in other pages of memory.
    Copied,
}

/// What a metric came to over layouts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverLayouts {
    /// How many layouts each side had.
    pub number: u64,
    /// How they were made.
    pub placing: Placing,
    /// The numbers, as those of pairs.
    #[serde(flatten)]
    pub summary: Summary,
    /// The verdict on them alone.
    pub verdict: Verdict,
    /// The verdict on the executables as they were built.
    pub as_built: Verdict,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_word_or_a_number() {
        for (word, expected) in
            [("auto", Layouts::Auto), ("off", Layouts::Off), ("24", Layouts::Number(24))]
        {
            assert_eq!(word.parse(), Ok(expected));
            assert_eq!(expected.to_string(), word);
        }
        for word in ["", "0", "-1", "on", "1.5"] {
            assert!(word.parse::<Layouts>().is_err(), "{word}");
        }
    }
}
