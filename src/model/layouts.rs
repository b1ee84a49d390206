//! Layouts: where the code of an executable is placed in memory.

use serde::{Deserialize, Serialize};

use crate::model::words::words_or_number;

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

words_or_number!(Layouts { Auto = "auto", Off = "off" } or Number);

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
