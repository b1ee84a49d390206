//! What a setting is: declared once, it becomes a flag, a key of the tables, a
//! value in a layer, and its parsed meaning.

use std::ffi::OsStr;
use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser, ValueParserFactory};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::error::Error;

/// The role of a key, which determines from whose table it is used, and what is
/// reported if the sides differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It decides about a benchmark: the base's value is used.
    Gates,
    /// It decides, and a comparison has it only once: the base's value is used.
    Judges,
    /// It selects which benchmarks run: the head's value is used.
    Selects,
    /// It affects how benchmarks are built and run: the head's value is used.
    Shapes,
    /// It changes neither runs nor verdicts, or has a notice of its own.
    Informs,
}

impl Role {
    /// Whether the base's value is used, so that a branch can't loosen its own
    /// gate.
    pub(super) fn is_policy(self) -> bool {
        matches!(self, Role::Gates | Role::Judges)
    }
}

/// A key of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableKey {
    pub(super) name: &'static str,
    pub(super) role: Role,
}

/// The keys of which a comparison has only one value although they decide nothing.
pub(super) const ONLY_AROUND: [&str; 2] = ["base", "toolchain"];

impl TableKey {
    /// Whether a comparison has only one value of it.
    pub(super) fn is_common(self) -> bool {
        self.role == Role::Judges || ONLY_AROUND.contains(&self.name)
    }
}

/// A setting as stored in a layer.
pub(crate) trait Setting: Clone + Send + Sync + 'static {
    /// The parsed value.
    type Value;

    /// The parsed value, if it is set; `key` is its name in errors.
    fn read(&self, key: &'static str) -> Result<Self::Value, Error>;

    /// This layer's value, merged over a lower one's.
    fn over(self, _low: Self) -> Self {
        self
    }

    /// Its flag, with the properties of its type.
    fn arg(arg: Arg) -> Arg {
        arg
    }

    /// The value of the flag, if it is given.
    fn given(matches: &ArgMatches, flag: &str) -> Option<Self> {
        matches.get_one(flag).cloned()
    }
}

/// Settings without parsing; their special properties follow the type.
macro_rules! plain {
    ($($type:ty { $($special:item)* })+) => { $(
        impl Setting for $type {
            type Value = $type;

            fn read(&self, _: &'static str) -> Result<$type, Error> {
                Ok(self.clone())
            }

            $($special)*
        }
    )+ };
}
pub(super) use plain;

/// Plain settings of one value, and lists of such values.
macro_rules! values {
    ($($type:ty: $name:literal),+) => { $(
        plain! {
            $type {
                fn arg(arg: Arg) -> Arg {
                    arg.value_name($name).value_parser(value_parser!($type))
                }
            }
            Vec<$type> {
                fn arg(arg: Arg) -> Arg {
                    arg.value_name($name).value_parser(value_parser!($type)).action(ArgAction::Append)
                }

                fn given(matches: &ArgMatches, flag: &str) -> Option<Self> {
                    matches.get_many(flag).map(|values| values.cloned().collect())
                }
            }
        }
    )+ };
}
values!(String: "NAME", u64: "N", u32: "N", i8: "N");

plain! {
    bool {
        fn arg(arg: Arg) -> Arg {
            arg.action(ArgAction::SetTrue)
        }

        /// A table can also say `false`, a flag can't.
        fn given(matches: &ArgMatches, flag: &str) -> Option<bool> {
            matches.get_flag(flag).then_some(true)
        }
    }
}

impl<T: Meaning> Setting for Written<T> {
    type Value = T;

    fn read(&self, key: &'static str) -> Result<T, Error> {
        self.read(key)
    }

    fn arg(arg: Arg) -> Arg {
        let arg = arg.value_name(T::VALUE_NAME).hide_possible_values(true);
        arg.value_parser(value_parser!(Written<T>))
    }
}

impl<T: Meaning> Setting for Vec<Written<T>> {
    type Value = Vec<T>;

    fn read(&self, key: &'static str) -> Result<Vec<T>, Error> {
        self.iter().map(|word| word.read(key)).collect()
    }

    fn arg(arg: Arg) -> Arg {
        Written::<T>::arg(arg).value_delimiter(',').action(ArgAction::Append)
    }

    fn given(matches: &ArgMatches, flag: &str) -> Option<Self> {
        matches.get_many(flag).map(|words| words.cloned().collect())
    }
}

/// A type that is parsed from a text, with a reason if that fails.
pub trait Meaning: FromStr<Err = String> + Clone + Send + Sync + 'static {
    /// Its placeholder in the help: a kind of value, or the words, separated by bars.
    const VALUE_NAME: &'static str;

    /// Whether it may also be a number in a table.
    const IS_NUMBER: bool = false;

    /// Whether it may also be `true` or `false` in a table.
    const IS_SWITCH: bool = false;

    /// The words for it that a shell offers.
    fn words() -> Vec<&'static str> {
        Self::VALUE_NAME.split('|').filter(|value| value.starts_with(char::is_lowercase)).collect()
    }
}

/// A value as it is written. It is parsed when it is used, so that a value that a
/// higher layer overrides is never an error.
#[derive(Clone, Debug, PartialEq)]
pub struct Written<T> {
    text: String,
    meaning: PhantomData<T>,
}

impl<T> Written<T> {
    /// `value`, as it is displayed.
    pub fn new(value: impl Display) -> Self {
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
    /// If it can't be parsed; `what` is its name in the error.
    pub fn read(&self, what: &'static str) -> Result<T, Error> {
        self.text.parse().map_err(|why: String| Error::bad(what, &self.text, why))
    }
}

impl<T> From<&str> for Written<T> {
    fn from(text: &str) -> Self {
        Written::new(text)
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
        let or = if T::IS_NUMBER { " or a number" } else { "" };
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Written::new(text)),
            Value::Number(number) if T::IS_NUMBER => Ok(Written::new(number)),
            Value::Bool(is_on) if T::IS_SWITCH => Ok(Written::new(is_on)),
            other => Err(D::Error::custom(format!("expected a string{or}, not `{other}`"))),
        }
    }
}

impl<T: Meaning> ValueParserFactory for Written<T> {
    type Parser = WrittenParser<T>;

    fn value_parser() -> WrittenParser<T> {
        WrittenParser(PhantomData)
    }
}

/// Accepts any text from the command line, and has the words that completions
/// offer.
#[derive(Clone, Debug)]
pub struct WrittenParser<T>(PhantomData<T>);

impl<T: Meaning> TypedValueParser for WrittenParser<T> {
    type Value = Written<T>;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Written<T>, clap::Error> {
        Ok(Written::new(StringValueParser::new().parse_ref(command, argument, value)?))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = T::words().into_iter().map(PossibleValue::new);
        (values.len() > 0).then(|| Box::new(values) as Box<dyn Iterator<Item = PossibleValue>>)
    }
}

/// Declares settings: each once, with its help, key, role, type, default, and its
/// flag with group, heading and other properties.
///
/// This generates a table for serde, with a method for each setting that returns
/// the parsed value, the flags for clap, the list of the keys, and the merging of
/// layers. A setting without a default returns an `Option`; a default is shown in
/// the help.
macro_rules! settings {
    ($(#[$about:meta])+ pub struct $table:ident { $(
        $(#[doc = $doc:literal])+
        $key:literal $role:ident $field:ident: $type:ty $(= $default:expr)?, $group:ident $heading:ident [$($arg:tt)*];
    )+ }) => {
        $(#[$about])+
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
        #[serde(default)]
        pub struct $table { $(
            $(#[doc = $doc])+
            #[serde(rename = $key)]
            pub $field: Option<$type>,
        )+
            /// Where they come from.
            #[serde(skip)]
            pub origins: Origins,
        }

        impl $table {
            /// The keys, in the order in which they are declared.
            pub(super) const KEYS: &[TableKey] = &[$(TableKey { name: $key, role: Role::$role }),+];

            $(
                $(#[doc = $doc])+
                pub(crate) fn $field(&self) -> Result<settings!(@type $type $(, $default)?), Error> {
                    let value = self.$field.as_ref().map(|set| Setting::read(set, $key)).transpose();
                    settings!(@read value $(, $default)?)
                }
            )+

            /// Reads every setting of this layer alone.
            ///
            /// # Errors
            /// When one means nothing.
            pub(super) fn read_all(&self) -> Result<(), Error> {
                $(self.$field()?;)+
                Ok(())
            }

            /// The flags of some groups.
            fn flags(groups: u8) -> Vec<Arg> {
                let mut flags = Vec::new();
                $(if groups & $group != 0 {
                    let help = settings!(@help concat!($($doc),+) $(, $default)?);
                    let arg = Arg::new($key).long($key).help(help).help_heading($heading);
                    flags.push(<$type as Setting>::arg(arg)$($arg)*);
                })+
                flags
            }

            /// The values of the flags of some groups.
            fn given(groups: u8, matches: &ArgMatches) -> Self {
                let given = |group| groups & group != 0;
                $table {
                    $($field: given($group).then(|| Setting::given(matches, $key)).flatten(),)+
                    origins: Origins::default(),
                }
            }

            /// Each setting of this layer over that of a lower one.
            fn each_over(self, low: Self) -> Self {
                $table {
                    $($field: match (self.$field, low.$field) {
                        (Some(high), Some(low)) => Some(Setting::over(high, low)),
                        (high, low) => high.or(low),
                    },)+
                    origins: self.origins.over(low.origins),
                }
            }

            /// This table with the keys of some roles taken from the base's.
            #[must_use]
            pub(super) fn with(mut self, is_taken: fn(Role) -> bool, base: &Self) -> Self {
                $(if is_taken(Role::$role) {
                    self.$field.clone_from(&base.$field);
                })+
                let taken = Self::KEYS.iter().filter(|key| is_taken(key.role));
                let taken: Vec<_> = taken.map(|key| key.name).collect();
                self.origins.take_from_base(|key| taken.contains(&key), &base.origins);
                self
            }

            /// The defaults, by key.
            pub(super) fn defaults() -> BTreeMap<&'static str, String> {
                BTreeMap::from([$($(($key, $default.to_string()),)?)+])
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
