//! What a setting is: declared once, it is a flag, a key of the tables, a layer's
//! value and what that means.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser, ValueParserFactory};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::options::Error;

/// What a key does, which says whose table it is taken from and what is told where
/// the sides set it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It decides about a benchmark: the base's counts.
    Gates,
    /// It decides, and a comparison has one of it: the base's counts.
    Judges,
    /// It says which benchmarks run: the head's counts.
    Selects,
    /// It shapes how benchmarks are built and run: the head's counts.
    Shapes,
    /// It changes neither runs nor verdicts, or has a notice of its own.
    Informs,
}

impl Role {
    /// Whether it is taken from the base, so that a branch can't loosen its own
    /// gate.
    pub(super) fn is_policy(self) -> bool {
        matches!(self, Role::Gates | Role::Judges)
    }
}

/// A key of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) role: Role,
}

/// A setting in a layer, which may leave it open.
pub(crate) trait Setting: Sized {
    /// What it means.
    type Value;

    /// Whether its flag has a value.
    const HAS_VALUE: bool = true;

    /// This layer's over a lower one's.
    fn over(self, low: Self) -> Self;

    /// What it means, if it is set; `key` is what an error calls it.
    fn read(&self, key: &'static str) -> Result<Option<Self::Value>, Error>;
}

/// Settings that mean what they are.
macro_rules! plain {
    ($($type:ty),+) => { $(
        impl Setting for Option<$type> {
            type Value = $type;

            fn over(self, low: Self) -> Self {
                self.or(low)
            }

            fn read(&self, _: &'static str) -> Result<Option<$type>, Error> {
                Ok(self.clone())
            }
        }
    )+ };
}
plain!(String, u64, u32, i8, Vec<String>, u16);

/// A flag without a value. A table can also say `false`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Switch(pub Option<bool>);

impl Setting for Switch {
    type Value = bool;

    const HAS_VALUE: bool = false;

    fn over(self, low: Self) -> Self {
        Switch(self.0.or(low.0))
    }

    fn read(&self, _: &'static str) -> Result<Option<bool>, Error> {
        Ok(self.0)
    }
}

impl FromStr for Switch {
    type Err = std::str::ParseBoolError;

    /// As clap reads a flag, which is `false` where it is not given.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(|is_given: bool| Switch(is_given.then_some(true)))
    }
}

/// What a text can mean, or the reason why it means nothing.
pub trait Meaning: FromStr<Err = String> + Clone + Send + Sync + 'static {
    /// Whether a table may also give it as a number.
    const IS_NUMBER: bool = false;

    /// The words for it that a shell offers.
    fn words() -> Vec<&'static str> {
        Vec::new()
    }
}

/// A value as it is written. What it means is asked when it counts, so that a value
/// that a higher layer replaces is never an error.
#[derive(Clone, Debug, PartialEq)]
pub struct Written<T> {
    text: String,
    meaning: PhantomData<T>,
}

impl<T> Written<T> {
    /// As `value` is shown.
    pub fn new(value: impl fmt::Display) -> Self {
        Written { text: value.to_string(), meaning: PhantomData }
    }
}

impl<T: Meaning> Written<T> {
    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it means.
    ///
    /// # Errors
    /// When it means nothing; `what` is what the error calls it.
    pub fn read(&self, what: &'static str) -> Result<T, Error> {
        let bad = |why| Error::Bad { what, value: self.text.clone(), why };
        self.text.parse().map_err(bad)
    }
}

impl<T> From<&str> for Written<T> {
    fn from(text: &str) -> Self {
        Written::new(text)
    }
}

impl<T: Meaning> Setting for Option<Written<T>> {
    type Value = T;

    fn over(self, low: Self) -> Self {
        self.or(low)
    }

    fn read(&self, key: &'static str) -> Result<Option<T>, Error> {
        self.as_ref().map(|written| written.read(key)).transpose()
    }
}

impl<T: Meaning> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.text.parse() {
            Ok(number) if T::IS_NUMBER => serializer.serialize_u64(number),
            _ => serializer.serialize_str(&self.text),
        }
    }
}

impl<'de, T: Meaning> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Count {
            Number(u64),
            Word(String),
        }
        let text = match T::IS_NUMBER {
            false => String::deserialize(deserializer)?,
            true => match Count::deserialize(deserializer)? {
                Count::Number(number) => number.to_string(),
                Count::Word(word) => word,
            },
        };
        Ok(Written::new(text))
    }
}

impl<T: Meaning> ValueParserFactory for Written<T> {
    type Parser = WrittenParser<T>;

    fn value_parser() -> WrittenParser<T> {
        WrittenParser(PhantomData)
    }
}

/// Takes any text from the command line, and knows the words that completions
/// offer.
#[derive(Clone, Debug)]
pub struct WrittenParser<T>(PhantomData<T>);

impl<T: Meaning> TypedValueParser for WrittenParser<T> {
    type Value = Written<T>;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Written<T>, clap::Error> {
        let text = clap::builder::StringValueParser::new().parse_ref(command, argument, value)?;
        Ok(Written::new(text))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = T::words();
        let values = words.into_iter().map(PossibleValue::new);
        (values.len() > 0).then(|| Box::new(values) as Box<dyn Iterator<Item = PossibleValue>>)
    }
}

/// Declares settings: each once, with its help, key, role, type, default and flag.
///
/// What comes of it is a struct that clap and serde fill, a part of a
/// [`Table`](super::table::Table), with a method for each setting that reads what it
/// means. The type of a setting without a default is then an `Option`; a default
/// ends up in the help.
macro_rules! settings {
    ($(#[doc = $about:literal])+ pub struct $group:ident { $(
        $(#[doc = $doc:literal])+
        $key:literal $role:ident $field:ident: $type:ty $(= $default:expr)?, arg($($arg:tt)*);
    )+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default, PartialEq, clap::Args, serde::Deserialize, serde::Serialize)]
        #[serde(default)]
        pub struct $group { $(
            $(#[doc = $doc])+
            #[arg(
                hide_possible_values = <$type as Setting>::HAS_VALUE,
                help = settings!(@help concat!($($doc),+) $(, $default)?),
                $($arg)*
            )]
            #[serde(rename = $key)]
            pub $field: $type,
        )+ }

        impl $group {
            const KEYS: &[Key] = &[$(Key { name: $key, role: Role::$role }),+];

            $(
                $(#[doc = $doc])+
                pub(crate) fn $field(&self) -> Result<settings!(@type $type $(, $default)?), Error> {
                    settings!(@read Setting::read(&self.$field, $key) $(, $default)?)
                }
            )+

            /// Reads every setting.
            fn check(&self) -> Result<(), Error> {
                $(self.$field()?;)+
                Ok(())
            }

            /// These over those of a lower layer.
            fn over(self, low: Self) -> Self {
                $group { $($field: Setting::over(self.$field, low.$field)),+ }
            }

            /// These with those of some roles taken from `other`.
            fn with(mut self, is_taken: fn(Role) -> bool, other: Self) -> Self {
                $(if is_taken(Role::$role) {
                    self.$field = other.$field;
                })+
                self
            }

            /// The defaults, by key.
            #[cfg(test)]
            fn defaults() -> Vec<(&'static str, String)> {
                vec![$($(($key, $default.to_string()),)?)+]
            }
        }
    };
    (@type $type:ty) => { Option<<$type as Setting>::Value> };
    (@type $type:ty, $default:expr) => { <$type as Setting>::Value };
    (@help $doc:expr) => { $doc.trim_start() };
    (@help $doc:expr, $default:expr) => { format!("{} [default: {}]", $doc.trim_start(), $default) };
    (@read $read:expr) => { $read };
    (@read $read:expr, $default:expr) => { $read.map(|value| value.unwrap_or($default)) };
}
pub(super) use settings;
