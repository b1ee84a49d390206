//! The values of settings, besides the words of [`crate::model`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use std::time::Duration;

use super::setting::Meaning;
use crate::model::dialect::Dialect;
use crate::model::estimator::Estimator;
use crate::model::layouts::Layouts;
use crate::model::outcome::Doubt;
use crate::model::shard::ShardBy;
use crate::model::side::Side;
use crate::model::suite::SuiteNumber;
use crate::model::words::{one_of, words, words_or_number};

/// Texts with a placeholder in the help, or with a list of words; and whether a table may also
/// have a number or a switch.
macro_rules! meanings {
    ($($type:ty: $name:literal $($also:ident)?),+ $(,)?) => {
        $(impl Meaning for $type {
            const VALUE_NAME: &'static str = $name;
            $(const $also: bool = true;)?
        })+
    };
}
meanings!(
    FailOn: "inconclusive|no-baseline|removed|none",
    Aslr: "on|off",
    BenchFrom: "each|head|base",
    CheckOutput: "warn|fail|off" IS_SWITCH,
    ShardBy: "benchmarks|pairs",
    Toolchain: "head|base|each|NAME",
    SuiteChoice: "geomean|sum|off",
    Threshold: "PERCENT",
    Allowed: "PERCENT|auto",
    Confidence: "PERCENT",
    Time: "TIME",
    Words: "CMD",
    Repetitions: "auto|N" IS_NUMBER,
    CodegenUnits: "auto|profile|N" IS_NUMBER,
    Layouts: "auto|off|N" IS_NUMBER,
    Cpus: "N,N-N" IS_NUMBER,
);

/// Words that are explained by a sentence in the help.
macro_rules! described {
    ($($type:ty),+) => {
        $(impl Meaning for $type {
            const VALUE_NAME: &'static str = "NAME";

            fn words() -> Vec<&'static str> {
                <$type>::ALL.map(<$type>::name).to_vec()
            }
        })+
    };
}
described!(Estimator, Dialect);

/// Address randomisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aslr {
    /// The system's default.
    On,
    /// Every run has the same addresses.
    Off,
}

words!(Aslr { On = "on", Off = "off" });

/// Whose benchmark sources the two sides have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchFrom {
    /// Each its own sources.
    Each,
    /// Both those of the head.
    Head,
    /// Both those of the base.
    Base,
}

words!(BenchFrom { Each = "each", Head = "head", Base = "base" });

impl BenchFrom {
    /// The side whose sources both use, if any.
    pub(crate) fn side(self) -> Option<Side> {
        match self {
            BenchFrom::Each => None,
            BenchFrom::Head => Some(Side::Head),
            BenchFrom::Base => Some(Side::Base),
        }
    }
}

/// Whether the outputs of both sides are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOutput {
    /// They are not.
    Off,
    /// A difference is a warning.
    Warn,
    /// A difference is the verdict.
    Fail,
}

impl FromStr for CheckOutput {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "off" | "false" => Ok(CheckOutput::Off),
            "warn" | "true" => Ok(CheckOutput::Warn),
            "fail" => Ok(CheckOutput::Fail),
            _ => Err(one_of(&CheckOutput::words())),
        }
    }
}

/// A result that fails besides a regression; `None` is the word that overrides a list of a lower
/// layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailOn(pub Option<Doubt>);

impl FromStr for FailOn {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "none" => Ok(FailOn(None)),
            word => word
                .parse()
                .map(|doubt| FailOn(Some(doubt)))
                .map_err(|_: String| one_of(&FailOn::words())),
        }
    }
}

/// The number of the whole suite that gates, with a threshold of its own or that of the benchmarks;
/// `None` overrides one of a lower layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SuiteChoice(pub Option<(SuiteNumber, Option<Threshold>)>);

impl FromStr for SuiteChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(SuiteChoice(None));
        }
        let (word, threshold) = match text.split_once('=') {
            Some((word, threshold)) => (word, Some(threshold.parse()?)),
            None => (text, None),
        };
        let number = word.parse().map_err(|_: String| one_of(&SuiteChoice::words()))?;
        Ok(SuiteChoice(Some((number, threshold))))
    }
}

/// The number of runs per measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repetitions {
    /// As many as the clocks of the gating metrics need.
    Auto,
    /// This many, at least 1.
    Fixed(u32),
}

words_or_number!(Repetitions { Auto = "auto" } or Fixed);

/// How many codegen units rustc splits each crate into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodegenUnits {
    /// As many as in the profile, or one where that leaves clearly less to measure.
    Auto,
    /// As many as in the profile.
    Profile,
    /// This many, at least 1.
    Number(u32),
}

words_or_number!(CodegenUnits { Auto = "auto", Profile = "profile" } or Number);

/// The processors on which a program may run, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus(pub Vec<u16>);

impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<u16>().ok();
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(first..=last)
        };
        let ranges = text.split(',').map(range).collect::<Option<Vec<_>>>();
        let ranges = ranges.ok_or("it must be numbers or ranges such as `2`, `0-3` or `0,2`")?;
        Ok(Cpus(ranges.into_iter().flatten().collect()))
    }
}

/// Which toolchain builds the two sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Toolchain {
    /// Both that of one side.
    Of(Side),
    /// Each its own.
    Each,
    /// The one of this name.
    Named(String),
}

impl FromStr for Toolchain {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "head" => Toolchain::Of(Side::Head),
            "base" => Toolchain::Of(Side::Base),
            "each" => Toolchain::Each,
            name => Toolchain::Named(name.to_owned()),
        })
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Toolchain::Of(side) => side.fmt(f),
            Toolchain::Each => f.write_str("each"),
            Toolchain::Named(name) => f.write_str(name),
        }
    }
}

/// A text such as this example, as a fraction.
fn fraction(text: &str, example: &str) -> Result<f64, String> {
    let Some(number) = text.trim().strip_suffix('%') else {
        return Err(format!("a percentage is written with its sign, such as `{example}`"));
    };
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number / 100.0),
        _ => Err(format!("not a percentage such as `{example}`")),
    }
}

/// A fraction that is written as a percentage, within limits.
macro_rules! percentages {
    ($($(#[doc = $doc:literal])+ $type:ident, $example:literal: $fits:expr, $why:literal;)+) => { $(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $type(pub f64);

        impl FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let fits: fn(&f64) -> bool = $fits;
                let it = fraction(text, $example)?;
                fits(&it).then_some($type(it)).ok_or($why.to_owned())
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}%", self.0 * 100.0)
            }
        }

    )+ };
}
percentages! {
    /// How much worse something may get, a fraction.
    Threshold, "2%": |it| *it >= 0.0, "it must be 0% or more";
    /// 1 minus the probability of a wrong verdict.
    Confidence, "95%": |it| *it > 0.5 && *it < 1.0, "it must be above 50% and below 100%";
}

/// The largest change that passes; `None` is learnt from stored results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowed(pub Option<f64>);

impl FromStr for Allowed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Allowed(None)),
            text => text.parse().map(|Threshold(it)| Allowed(Some(it))),
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(it) => Threshold(it).fmt(f),
            None => f.write_str("auto"),
        }
    }
}

/// A time greater than zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub Duration);

impl Time {
    /// A number of minutes.
    pub(super) const fn minutes(minutes: u64) -> Self {
        Time(Duration::from_secs(60 * minutes))
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match duration(text)? {
            time if time.is_zero() => Err("it must be longer than zero".to_owned()),
            time => Ok(Time(time)),
        }
    }
}

/// A time such as `5m`.
///
/// # Errors
/// If it is not one, or longer than anything that is measured.
pub fn duration(text: &str) -> Result<Duration, String> {
    const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);
    match humantime::parse_duration(text) {
        // `M` would be months.
        _ if text.contains(char::is_uppercase) => {
            Err(format!("its unit is written in lower case: `{}`", text.to_lowercase()))
        }
        Ok(time) if time > LONGEST => Err("it must be at most 30 days".to_owned()),
        Ok(time) => Ok(time),
        Err(_) => Err("it must be a number with its unit, such as `90s`, `5m` or `2h`".to_owned()),
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

/// The words of a command, as a shell would split them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words(pub Vec<String>);

impl FromStr for Words {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match shlex::split(text) {
            Some(words) if !words.is_empty() => Ok(Words(words)),
            Some(_) => Err("it is empty".to_owned()),
            None => Err("a quote is not closed, or nothing follows a backslash".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::setting::Written;

    fn read<T: Meaning>(text: &str) -> Result<T, String> {
        Written::from(text).read("key").map_err(|error| error.to_string())
    }

    #[test]
    fn processors_are_numbers_and_ranges() {
        for (text, cpus) in [("2", vec![2]), ("0-3", vec![0, 1, 2, 3]), ("0,2", vec![0, 2])] {
            assert_eq!(read(text), Ok(Cpus(cpus)));
        }
        assert_eq!(read("5, 1-2"), Ok(Cpus(vec![5, 1, 2])));
        for bad in ["", "3-1", "0-", "-1", "0,", "all", "70000"] {
            assert!(read::<Cpus>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn percentages_have_their_sign_and_times_their_unit() {
        assert_eq!(read("2%"), Ok(Threshold(0.02)));
        assert_eq!([read("2%"), read("auto")], [Ok(Allowed(Some(0.02))), Ok(Allowed(None))]);
        assert_eq!(read(" 0.5 % "), Ok(Threshold(0.005)));
        for bad in ["2", "0.02", "two%", "", "%", "NaN%", "inf%", "-1%"] {
            assert!(read::<Threshold>(bad).is_err(), "{bad}");
        }
        assert_eq!(
            read::<Threshold>("2").unwrap_err(),
            "invalid key `2`: a percentage is written with its sign, such as `2%`"
        );
        assert_eq!(read::<Confidence>("99.9%").map(|it| (it.0 * 1e4).round()), Ok(9990.0));
        for bad in ["50%", "100%", "95"] {
            assert!(read::<Confidence>(bad).is_err(), "{bad}");
        }
        assert_eq!(
            read::<Confidence>("0.95").unwrap_err(),
            "invalid key `0.95`: a percentage is written with its sign, such as `95%`"
        );
        assert_eq!(read("1m 30s"), Ok(Time(Duration::from_secs(90))));
        for bad in ["5", "0s", "soon", "1y", "1M", "31d", "10000000000000000000s"] {
            assert!(read::<Time>(bad).is_err(), "{bad}");
        }
        assert_eq!(
            read::<Time>("5M").unwrap_err(),
            "invalid key `5M`: its unit is written in lower case: `5m`"
        );
        assert_eq!((Threshold(0.02).to_string(), Time::minutes(5).to_string()), {
            ("2%".to_owned(), "5m".to_owned())
        });
    }

    #[test]
    fn commands_are_split_as_a_shell_would() {
        let split: Words = read(r#"tool 'a b' "c d" e\ f"#).unwrap();
        assert_eq!(split.0, ["tool", "a b", "c d", "e f"]);
        assert!(read::<Words>("").is_err());
        assert!(read::<Words>("tool 'open").is_err());
    }

    #[test]
    fn a_word_is_one_of_those_that_are_offered() {
        assert_eq!(read("removed"), Ok(FailOn(Some(Doubt::Removed))));
        assert_eq!(
            read::<FailOn>("maybe").unwrap_err(),
            "invalid key `maybe`: it must be `inconclusive`, `no-baseline`, `removed` or `none`"
        );
        assert_eq!(
            read::<BenchFrom>("mine").unwrap_err(),
            "invalid key `mine`: it must be `each`, `head` or `base`"
        );
        assert_eq!(read("stable"), Ok(Toolchain::Named("stable".to_owned())));
        for word in Toolchain::words() {
            assert_ne!(read(word), Ok(Toolchain::Named(word.to_owned())));
        }
        assert_eq!([read("true"), read("false")], [Ok(CheckOutput::Warn), Ok(CheckOutput::Off)]);
        assert_eq!(read("off"), Ok(SuiteChoice(None)));
        assert_eq!(read("sum"), Ok(SuiteChoice(Some((SuiteNumber::Sum, None)))));
        let geomean = SuiteChoice(Some((SuiteNumber::Geomean, Some(Threshold(0.01)))));
        assert_eq!(read("geomean=1%"), Ok(geomean));
        for bad in ["mean", "geomean=", "geomean=1", "off=1%"] {
            assert!(read::<SuiteChoice>(bad).is_err(), "{bad}");
        }
        assert!(FailOn::words().into_iter().all(|word| read::<FailOn>(word).is_ok()));
        assert_eq!(Aslr::words(), Aslr::ALL.map(Aslr::name));
        assert_eq!(BenchFrom::words(), BenchFrom::ALL.map(BenchFrom::name));
        for (text, units) in [
            ("auto", CodegenUnits::Auto),
            ("profile", CodegenUnits::Profile),
            ("1", CodegenUnits::Number(1)),
        ] {
            assert_eq!(read(text), Ok(units));
        }
        for bad in ["0", "-1", "one", ""] {
            assert!(read::<CodegenUnits>(bad).is_err(), "{bad}");
        }
        assert!(Repetitions::words().into_iter().all(|word| read::<Repetitions>(word).is_ok()));
    }
}
