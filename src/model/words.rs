//! Enums whose values users type as words.

use std::borrow::Borrow;

/// Defines the words that users type for the values of an enum: `ALL`, `name`,
/// `Display` and `FromStr`, whose error lists the words.
macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        words!($type { $($variant = $word),+ } else |_| $crate::model::words::one_of(&[$($word),+]));
    };
    ($type:ident { $($variant:ident = $word:literal),+ $(,)? } else $refusal:expr) => {
        impl $type {
            /// All of them, in the order in which they are offered.
            pub const ALL: [$type; [$($word),+].len()] = [$($type::$variant),+];

            /// The word for it, in options and outputs.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $word),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                let refusal: fn(&str) -> String = $refusal;
                $type::ALL.into_iter().find(|value| value.name() == word).ok_or_else(|| refusal(word))
            }
        }
    };
}
pub(crate) use words;

/// Defines `Display` and `FromStr` of an enum with a variant for each of some words, and one for
/// a number from 1 on.
macro_rules! words_or_number {
    ($type:ident { $($variant:ident = $word:literal),+ } or $number:ident) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $($type::$variant => f.pad($word),)+
                    $type::$number(number) => number.fmt(f),
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match (text, text.parse()) {
                    $(($word, _) => Ok($type::$variant),)+
                    (_, Ok(number @ 1..)) => Ok($type::$number(number)),
                    _ => Err($crate::model::words::expected(&[
                        $(concat!("`", $word, "`"),)+ "a number of 1 or more",
                    ])),
                }
            }
        }
    };
}
pub(crate) use words_or_number;

/// Displays enums by the names under which they are serialized.
macro_rules! display_serialized {
    ($($type:ty),+) => {$(
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                serde::Serialize::serialize(self, f)
            }
        }
    )+};
}
pub(crate) use display_serialized;

/// What is expected instead of an unknown word: ``it must be `a`, `b` or `c` ``.
pub(crate) fn one_of(words: &[&str]) -> String {
    expected(&words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>())
}

/// [`one_of`] for words that are already code.
pub(crate) fn expected<W: Borrow<str>>(words: &[W]) -> String {
    let (last, others) = words.split_last().expect("an enum with words has one");
    format!("it must be {} or {}", others.join(", "), last.borrow())
}
