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

/// What is expected instead of an unknown word: ``it must be `a`, `b` or `c` ``.
pub(crate) fn one_of(words: &[&str]) -> String {
    expected(&words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>())
}

/// [`one_of`] for words that are already code.
pub(crate) fn expected<W: Borrow<str>>(words: &[W]) -> String {
    let (last, others) = words.split_last().expect("an enum with words has one");
    format!("it must be {} or {}", others.join(", "), last.borrow())
}
