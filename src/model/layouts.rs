//! Layouts: where the code of an executable is placed in memory.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Whether a verdict is about the executables as built, or about the source over many
/// layouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layouts {
    /// As built, but a regression has to be confirmed over layouts.
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
            _ => Err("it must be `auto`, `off` or a number of 1 or more".to_owned()),
        }
    }
}

/// How other layouts of an executable are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placing {
    /// It is linked again, with its functions in random order.
    Linked,
    /// It is copied, so that it gets other pages of memory.
    Copied,
}

/// The layouts in which a metric was tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverLayouts {
    /// The number of layouts of each side; 0 if there was no time for any.
    pub number: u64,
    /// How they were made.
    pub placing: Placing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_a_word_or_a_number() {
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
