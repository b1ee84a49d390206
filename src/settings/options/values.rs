//! Values as they are written: percentages, durations, words.

use std::time::Duration;

use super::Error;
use crate::model::dialect::Dialect;
use crate::model::metric::{Better, Metric, Quantity, Unit, Units};
use crate::model::outcome::OnDoubt;
use crate::settings::table::{Scale, Table};

/// A percentage such as `2%`, as a fraction.
///
/// # Errors
/// When it is no number with a percent sign.
pub(super) fn percent(what: &'static str, text: &str) -> Result<f64, Error> {
    let bad = |why: &str| Error::Bad { what, value: text.to_owned(), why: why.to_owned() };
    let Some(number) = text.trim().strip_suffix('%') else {
        return Err(bad("a percentage is written with its sign, such as `2%`"));
    };
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number / 100.0),
        _ => Err(bad("not a percentage such as `2%`")),
    }
}

pub(super) fn threshold(text: &str) -> Result<f64, Error> {
    percentage("threshold", text)
}

/// A percentage that is not negative, as a fraction.
pub(super) fn percentage(what: &'static str, text: &str) -> Result<f64, Error> {
    let value = percent(what, text)?;
    if value < 0.0 {
        let why = "it is 0% or more".to_owned();
        return Err(Error::Bad { what, value: text.to_owned(), why });
    }
    Ok(value)
}

pub(super) fn confidence(text: &str) -> Result<f64, Error> {
    let value = percent("confidence", text)?;
    if value > 0.5 && value < 1.0 {
        return Ok(value);
    }
    let why = "it lies between 50% and 100%".to_owned();
    Err(Error::Bad { what: "confidence", value: text.to_owned(), why })
}

pub(super) fn duration(what: &'static str, text: &str) -> Result<Duration, Error> {
    let why = |why: String| Error::Bad { what, value: text.to_owned(), why };
    let duration = humantime::parse_duration(text)
        .map_err(|error| why(format!("{error}; write `90s` or `5m`")))?;
    if duration.is_zero() {
        return Err(why("it must be longer than nothing".to_owned()));
    }
    Ok(duration)
}

pub(super) fn on_doubt(what: &'static str, text: Option<&str>) -> Result<OnDoubt, Error> {
    match text {
        None | Some("pass") => Ok(OnDoubt::Pass),
        Some("fail") => Ok(OnDoubt::Fail),
        Some(other) => {
            let why = "it is `pass` or `fail`".to_owned();
            Err(Error::Bad { what, value: other.to_owned(), why })
        }
    }
}

/// How runs are called and read.
pub(super) fn harness(name: &str) -> Result<Dialect, Error> {
    let bad = |why| Error::Bad { what: "harness", value: name.to_owned(), why };
    name.parse().map_err(bad)
}

/// Units and directions. What is left open is as of a metric of that name.
pub(super) fn units(table: &Table) -> Result<Units, Error> {
    let unit = |(name, scale): (&String, &Scale)| {
        let usual = Metric::named(name);
        let better = match scale.better.as_deref() {
            None => usual.better,
            Some(word) => Better::of(word).ok_or_else(|| Error::Bad {
                what: "units",
                value: format!("{name}.better = {word}"),
                why: "better is `lower` or `higher`".to_owned(),
            })?,
        };
        let unit = scale.unit.as_deref().map_or(usual.unit, |symbol| Unit::of(symbol.trim()));
        Ok((name.clone(), Quantity { unit, better }))
    };
    table.units.iter().flatten().map(unit).collect()
}

pub(super) fn words(what: &'static str, text: &str) -> Result<Vec<String>, Error> {
    match shlex::split(text) {
        Some(words) if !words.is_empty() => Ok(words),
        _ => {
            let why = "it is split into words as a shell would, and that failed".to_owned();
            Err(Error::Bad { what, value: text.to_owned(), why })
        }
    }
}

/// The words of a command, as a shell would split them.
///
/// # Errors
/// When there is none, or a quote stays open.
pub fn command_words(text: &str) -> Result<Vec<String>, Error> {
    words("command", text)
}

/// How long one run may take; ten minutes where nothing else is said.
///
/// # Errors
/// When it is no duration.
pub fn run_timeout(text: Option<&str>) -> Result<Duration, Error> {
    duration("run-timeout", text.unwrap_or("10m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_have_their_sign_and_durations_their_unit() {
        assert_eq!(threshold("2%"), Ok(0.02));
        assert_eq!(threshold(" 0.5 % "), Ok(0.005));
        for bad in ["2", "0.02", "two%", "", "%", "NaN%", "inf%", "-1%"] {
            assert!(threshold(bad).is_err(), "{bad}");
        }
        assert_eq!(confidence("99.9%").map(|level| (level * 1e4).round()), Ok(9990.0));
        for bad in ["50%", "100%", "95"] {
            assert!(confidence(bad).is_err(), "{bad}");
        }
        assert_eq!(duration("time-limit", "1m 30s"), Ok(Duration::from_secs(90)));
        for bad in ["5", "0s", "soon"] {
            assert!(duration("time-limit", bad).is_err(), "{bad}");
        }
        let said = threshold("2").unwrap_err().to_string();
        assert_eq!(said, "bad threshold `2`: a percentage is written with its sign, such as `2%`");
    }

    #[test]
    fn commands_are_split_as_a_shell_would() {
        let split = words("command", r#"tool 'a b' "c d" e\ f"#).unwrap();
        assert_eq!(split, ["tool", "a b", "c d", "e f"]);
        assert!(words("command", "").is_err());
        assert!(words("command", "tool 'open").is_err());
    }

    #[test]
    fn doubt_passes_or_fails() {
        assert_eq!(on_doubt("on-inconclusive", None), Ok(OnDoubt::Pass));
        assert_eq!(on_doubt("on-inconclusive", Some("fail")), Ok(OnDoubt::Fail));
        assert!(on_doubt("on-inconclusive", Some("maybe")).is_err());
    }
}
