//! The results, with one file per format.

pub(crate) mod answer;
mod bencher;
mod benchmark_action;
pub(crate) mod bisect;
mod conbench;
pub(crate) mod doctor;
pub(crate) mod escape;
pub(crate) mod events;
pub(crate) mod explanation;
mod export;
mod github;
pub(crate) mod grid;
pub(crate) mod history;
pub(crate) mod history_export;
pub(crate) mod human;
pub(crate) mod json;
mod junit;
mod markdown;
pub(crate) mod outputs;
pub(crate) mod preview;
pub(crate) mod readable;
pub(crate) mod scale;
pub(crate) mod table;

use std::io::{self, Write};

use crate::cli::Format;
use readable::Readable;

/// Prints a result to standard output.
pub(crate) fn print(format: Format, result: &Readable<'_>) -> io::Result<()> {
    let text = match format {
        Format::Human => return human::print(result),
        Format::Json => return json::print(result.outcome),
        Format::Github => return github::print(result),
        Format::Markdown => markdown::comment(result),
        Format::Junit => junit::document(result)?,
    };
    io::stdout().lock().write_all(text.as_bytes())
}

/// The current time in the format of RFC 3339, to the second. A clock before
/// 1970 or after 9999, which can't be represented, shows the nearest time that
/// can.
pub(crate) fn now() -> String {
    rfc3339(std::time::SystemTime::now())
}

fn rfc3339(time: std::time::SystemTime) -> String {
    let seconds = time.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let shown = std::time::Duration::from_secs(seconds.min(LAST));
    humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + shown).to_string()
}

/// The last second of the year 9999, since 1970.
const LAST: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_clock_that_is_set_to_any_time_is_no_panic() {
        assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(1)), "1970-01-01T00:00:01Z");
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
        let last = "9999-12-31T23:59:59Z";
        assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(LAST)), last);
        assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(LAST + 1)), last);
    }
}
