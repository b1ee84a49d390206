//! How durations read.

use std::time::Duration;

/// A duration in the words of the options, without meaningless digits: `1m 30s`, `250ms`.
pub fn duration(duration: Duration) -> String {
    exact(match duration.as_millis() as u64 {
        // To the millisecond, it would be nothing.
        0 => duration,
        millis @ ..2000 => Duration::from_millis(millis),
        _ => Duration::from_secs(duration.as_secs_f64().round() as u64),
    })
}

/// A duration as it was set: `5m`, `100ms`.
pub fn exact(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

/// An estimate: from ten minutes on, whole minutes, rounded up.
pub(crate) fn estimate(estimated: Duration) -> String {
    match estimated.as_secs() {
        0..600 => duration(estimated),
        long => exact(Duration::from_secs(60 * long.div_ceil(60))),
    }
}

/// Measured seconds: `3.2s`, `1m 05s`.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 9.95 => format!("{s:.1}s"),
        s if s < 120.0 => format!("{s:.0}s"),
        s if s < 7200.0 => format!("{}m {:02}s", s as u64 / 60, s as u64 % 60),
        s => format!("{}h {:02}m", s as u64 / 3600, s as u64 / 60 % 60),
    }
}

/// Forecast seconds, in their largest unit: `8s`, `5m`.
pub fn roughly(seconds: f64) -> String {
    match seconds {
        s if s < 99.5 => format!("{s:.0}s"),
        s if s < 5970.0 => format!("{:.0}m", s / 60.0),
        s => format!("{:.0}h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_keeps_the_digits_that_matter() {
        let all = [400, 1_900_000, 90_000_400_000, 300_000_000_000].map(Duration::from_nanos);
        assert_eq!(all.map(duration), ["400ns", "1ms", "1m 30s", "5m"]);
    }

    #[test]
    fn a_long_time_has_no_more_digits_than_matter() {
        let all = [8.04, 9.96, 119.4, 134.0, 7199.0, 7260.0];
        assert_eq!(all.map(seconds), ["8.0s", "10s", "119s", "2m 14s", "119m 59s", "2h 01m"]);
        assert_eq!([8.4, 99.5, 5969.0, 7200.0].map(roughly), ["8s", "2m", "99m", "2h"]);
        let all = [90, 600, 601].map(Duration::from_secs);
        assert_eq!(all.map(estimate), ["1m 30s", "10m", "11m"]);
    }
}
