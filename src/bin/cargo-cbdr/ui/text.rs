//! Numbers, commits and results as text.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cargo_cbdr::engine::plan::Plan;
use cargo_cbdr::model::{
    BaseRule, BenchmarkResult, MetricResult, Origin, Placing, Removed, Revision, Side, Sides,
    Summary, Unit, Verdict, time,
};
use cargo_cbdr::workspace::git::abbreviated;

pub(crate) use cargo_cbdr::model::time::{roughly, seconds};

pub(crate) use super::sanitize::{clean, is_hidden, line};

/// A path as code.
pub(crate) fn path(path: &Path) -> String {
    format!("`{}`", path.display())
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A number of layouts: `14 layouts`.
pub(crate) fn layouts(number: u64, placing: Placing) -> String {
    match placing {
        Placing::Linked => count(number, "layout"),
        Placing::Copied if number == 1 => "1 copy in memory".to_owned(),
        Placing::Copied => format!("{number} copies in memory"),
    }
}

/// A fraction as a signed percentage: `+1.23%`.
pub(crate) fn percent(fraction: f64) -> String {
    let value = 100.0 * fraction;
    let digits = match value.abs() {
        // What rounding left of zero, which has no "-0.00%".
        v if v < 1e-10 => return "+0.00%".to_owned(),
        // One byte of a million can be a regression, which zero would contradict.
        v if v < 0.005 => return limit(fraction),
        v if v < 9.995 => 2,
        v if v < 999.95 => 1,
        _ => 0,
    };
    format!("{value:+.digits$}%")
}

/// The size of a change in percent, without its sign: `1.23%`.
pub(crate) fn size(fraction: f64) -> String {
    percent(fraction.abs()).trim_start_matches('+').to_owned()
}

/// The size of a threshold in percent, as it would be written: `2%`.
pub(crate) fn short_size(fraction: f64) -> String {
    let percent = 100.0 * fraction.abs();
    // Two decimals would show little of what is smaller, or nothing.
    let shown = if percent < 0.1 { format!("{percent:.1e}") } else { size(fraction) };
    // Its text has no zeros at the end.
    format!("{}%", shown.trim_end_matches('%').parse::<f64>().unwrap_or(percent))
}

/// An allowed change, as short as it would be written: `+2%`, `-2.91%`.
pub(crate) fn limit(fraction: f64) -> String {
    let sign = if fraction < 0.0 { '-' } else { '+' };
    format!("{sign}{}", short_size(fraction))
}

/// The names of what was removed, at most `most` of them.
pub(crate) fn removed_names(removed: &[Removed], most: usize) -> String {
    first(removed.iter().map(|removed| line(&removed.to_string())), most)
}

/// The first `most` characters of a text.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let end = text.char_indices().nth(most);
    end.map_or(text.to_owned(), |(end, _)| format!("{}…", &text[..end]))
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    match items.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The ends of an interval: `None` where one is missing, infinite or as good as that.
pub(crate) fn ends(lower: Option<f64>, upper: Option<f64>) -> (Option<String>, Option<String>) {
    /// An end this many times as far as the other bounds nothing.
    const FAR: f64 = 1e4;
    let lower = lower.filter(|lower| lower.is_finite());
    let near = FAR * (1.0 + lower.unwrap_or(0.0).max(0.0));
    (lower.map(percent), upper.filter(|upper| *upper < near).map(percent))
}

/// An interval, of which a missing end is not shown.
pub(crate) fn interval(lower: Option<f64>, upper: Option<f64>) -> String {
    match ends(lower, upper) {
        (Some(lower), Some(upper)) => format!("[{lower}, {upper}]"),
        (Some(lower), None) => format!("≥ {lower}"),
        (None, Some(upper)) => format!("≤ {upper}"),
        (None, None) => "not yet bounded".to_owned(),
    }
}

/// An interval right after its change: a single end gets brackets, since `+22% ≥ +15%` would read
/// as a comparison of the two.
pub(crate) fn bounds(lower: Option<f64>, upper: Option<f64>) -> String {
    let interval = interval(lower, upper);
    if interval.starts_with(['≥', '≤']) { format!("[{interval}]") } else { interval }
}

pub(crate) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::NoRegression => "no regression",
        Verdict::Regression => "regression",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Identical => "identical",
        Verdict::NoBaseline => "no baseline",
        Verdict::DifferentOutput => "different output",
    }
}

/// A change; `?` if there is none in per cent.
pub(crate) fn change(summary: &Summary) -> String {
    summary.change.map_or("?".to_owned(), percent)
}

/// A duration as an option has it: `1m30s`.
pub(crate) fn option(time: Duration) -> String {
    cargo_cbdr::model::time::exact(time).replace(' ', "")
}

/// A change and its bounds: `+5.00% [+3.10%, +6.90%]`.
pub(crate) fn changed(summary: &Summary) -> String {
    format!("{} {}", change(summary), bounds(summary.lower, summary.upper))
}

/// The first five names, and how many others there are.
pub(crate) fn first_few(names: impl ExactSizeIterator<Item = String>) -> String {
    first(names, 5)
}

/// The first `most` names, and how many others there are.
pub(crate) fn first(names: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let rest = names.len().saturating_sub(most) as u64;
    list(names.take(most).chain((rest > 0).then(|| count(rest, "other"))))
}

/// Which of the unmeasured runs begins: `run 2 of 2, head; run 1 took 25s`.
pub(crate) fn warm_up_run(
    side: Side,
    (number, runs): (usize, usize),
    previous_seconds: Option<f64>,
) -> String {
    let previous = previous_seconds
        .map_or_else(String::new, |time| format!("; run {} took {}", number - 1, seconds(time)));
    format!("run {number} of {runs}, {side}{previous}")
}

const TIMES: &[(f64, &str)] = &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];

const BYTES: &[(f64, &str)] =
    &[(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];

const NUMBERS: &[(f64, &str)] =
    &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ")];

/// From here on, numbers have exponents.
const MOST: f64 = 1e15;

/// The prefixes of a unit with their factors, largest first, and what follows the prefix.
/// Seconds, bytes, counts and what is counted per second are scaled; other units, such as
/// `ms`, are shown as they are.
pub(crate) fn scales(unit: &Unit) -> (&'static [(f64, &'static str)], &str) {
    match unit {
        Unit::Seconds => (TIMES, ""),
        Unit::Bytes => (BYTES, ""),
        Unit::Unknown => (NUMBERS, ""),
        // Counts have no thousandths.
        Unit::Count => (&NUMBERS[..4], ""),
        Unit::Other(symbol) if symbol.starts_with("B/") => (BYTES, &symbol[1..]),
        Unit::Other(symbol) if symbol.contains('/') || symbol == "Hz" => (NUMBERS, symbol),
        Unit::Other(symbol) => (&[(1.0, "")], symbol),
    }
}

/// A value in its unit, with four digits.
pub(crate) fn value(value: f64, unit: &Unit) -> String {
    let [text] = values([value], unit);
    text
}

/// A number and its unit.
fn with_unit(number: &str, symbol: &str) -> String {
    line(&format!("{number} {symbol}")).trim_end().to_owned()
}

pub(crate) fn bytes(number: u64) -> String {
    value(number as f64, &Unit::Bytes)
}

/// Values with their unit, which is the same for all unless they are far apart.
pub(crate) fn values<const N: usize>(values: [f64; N], unit: &Unit) -> [String; N] {
    if are_far_apart(&values) {
        return values.map(|one| value(one, unit));
    }
    let (numbers, symbol) = in_one_unit(&values, unit, 4);
    std::array::from_fn(|at| with_unit(&numbers[at], &symbol))
}

/// Whether no single unit suits all of these values.
fn are_far_apart(values: &[f64]) -> bool {
    const FAR: f64 = 100.0;
    let sizes = || values.iter().map(|value| value.abs()).filter(|size| *size > 0.0);
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    most > FAR * least
}

/// Values in the unit of the largest one, with the same number of decimals, such that the
/// largest one has `digits` digits; with exponents if no unit has so few. Zeros have neither.
pub(crate) fn in_one_unit(values: &[f64], unit: &Unit, digits: usize) -> (Vec<String>, String) {
    let (scales, rest) = scales(unit);
    let gap = if scales.starts_with(&NUMBERS[..4]) { " " } else { "" };
    let largest = values.iter().map(|value| value.abs()).fold(0.0, f64::max);
    if largest == 0.0 {
        let symbol = if *unit == Unit::Count { "" } else { unit.symbol() };
        return (vec!["0".to_owned(); values.len()], symbol.to_owned());
    }
    let fits = scales.iter().find(|(scale, _)| largest >= *scale).or(scales.last());
    let is_far = |(scale, _): &(f64, _)| {
        !(0.1_f64.powi(digits as i32 - 1)..MOST).contains(&(largest / scale))
    };
    let has_exponents = fits.is_some_and(is_far);
    let plain = scales.iter().find(|(scale, _)| has_exponents && *scale == 1.0);
    let (scale, name) = plain.or(fits).copied().unwrap_or((1.0, ""));
    let before = (largest / scale).log10().max(0.0) as usize;
    let are_whole = values.iter().all(|value| value.fract() == 0.0);
    let is_whole = scales == BYTES || *unit == Unit::Count && are_whole;
    let has_none = is_whole && scale == 1.0 && rest.is_empty();
    let decimals = if has_none { 0 } else { digits.saturating_sub(1).saturating_sub(before) };
    let number = |value: &f64| match *value {
        0.0 => "0".to_owned(),
        value if has_exponents => format!("{value:.*e}", digits.saturating_sub(1)),
        value => format!("{:.decimals$}", value / scale),
    };
    let symbol = if name.is_empty() { rest.to_owned() } else { format!("{name}{gap}{rest}") };
    (values.iter().map(number).collect(), symbol)
}

/// The step from one value to another, with three digits: `47.4 → 55.1 ms`.
pub(crate) fn step(from: f64, to: f64, unit: &Unit) -> String {
    if are_far_apart(&[from, to]) {
        return format!("{} → {}", value(from, unit), value(to, unit));
    }
    let (numbers, symbol) = in_one_unit(&[from, to], unit, 3);
    with_unit(&numbers.join(" → "), &symbol)
}

/// The number of verdicts of a comparison, how they are reached, and how long that takes at least.
pub(crate) fn plan(plan: &Plan) -> String {
    let seed = plan.seed;
    if !plan.decides {
        let most = plan.max_pairs.map_or(String::new(), |most| format!("{most} pairs or "));
        let time = time::exact(plan.time_limit);
        return format!("in pairs, up to {most}{time}, seed {seed}");
    }
    let verdicts = plan.tests();
    if verdicts == 1 {
        return format!("in pairs, seed {seed}");
    }
    let what = match plan.benchmarks.len() {
        several if several == verdicts => format!("{several} benchmarks"),
        1 => format!("{verdicts} metrics"),
        several => format!("{verdicts} metrics of {several} benchmarks"),
    };
    let time = plan.least_time().as_secs_f64();
    let time = if time < 1.0 { String::new() } else { format!(", about {}", roughly(time)) };
    let least = plan.least_pairs();
    format!("{what} in at least {least} pairs each{time}, seed {seed}")
}

/// How long runs measure: `100ms`.
pub(crate) fn length(seconds: f64) -> String {
    time::exact(Duration::from_secs_f64(seconds))
}

/// How long the runs of each group of benchmarks are, if that can be set.
pub(crate) fn run_lengths(plan: &Plan) -> impl Iterator<Item = String> {
    plan.run_lengths().map(|(names, time, pair_seconds)| {
        let time = time::exact(time);
        let pair = value(pair_seconds, &Unit::Seconds);
        format!("{} for {time} a run, {pair} a pair", names.join(", "))
    })
}

/// A regression that has just been found. The metric is named unless `only` it decides.
pub(crate) fn found(benchmark: &BenchmarkResult, metric: &MetricResult, only: bool) -> String {
    let on_average = if metric.is_average() { " on average" } else { "" };
    let change = changed(&metric.summary);
    let name = &benchmark.name;
    let metric = if only { String::new() } else { format!("{} ", metric.name) };
    format!("{name}: {metric}{change}{on_average}")
}

/// A fraction as an option has it, without the noise of its last digits: `97.5%`.
pub(crate) fn fraction(fraction: f64) -> String {
    format!("{}%", (fraction * 1e8).round() / 1e6)
}

/// The name of a commit as it was given; if that is a hash, its first digits.
pub(crate) fn name(revision: &Revision) -> &str {
    let rev = &revision.rev;
    let is_whole = rev.len() == revision.commit.len() && rev.bytes().all(|c| c.is_ascii_hexdigit());
    match revision.commit.starts_with(rev) {
        true => abbreviated(&revision.commit),
        false if is_whole => abbreviated(rev),
        false => rev,
    }
}

/// A commit by its name and its first digits.
pub(crate) fn revision(revision: &Revision) -> String {
    let (name, short) = (name(revision), abbreviated(&revision.commit));
    let dirty = if revision.dirty { " plus the changes of the working tree" } else { "" };
    if name == short { format!("{short}{dirty}") } else { format!("{name} ({short}){dirty}") }
}

/// Which commits are compared, and why.
pub(crate) fn sides(sides: &Sides) -> String {
    let head = revision(&sides.head);
    let short = abbreviated(&sides.base.commit);
    let name = name(&sides.base);
    let base = match sides.rule {
        BaseRule::Itself => return format!("{head} with itself, built twice"),
        BaseRule::Exact => revision(&sides.base),
        BaseRule::MergeBase if sides.head.dirty && sides.head.commit == sides.base.commit => {
            format!("{short} itself")
        }
        BaseRule::MergeBase if name == short => format!("its ancestor {short}"),
        BaseRule::MergeBase => format!("its merge-base with {name} ({short})"),
        BaseRule::FirstParent => format!("the commit of {name} that it was merged onto ({short})"),
    };
    let origin = match sides.origin {
        Origin::Argument => String::new(),
        Origin::Configuration => format!("; {name} is the configured base"),
        Origin::Variable(variable) => format!("; {name} comes from {variable}"),
        Origin::Usual => format!("; {name} is the default"),
    };
    let directly = if sides.rule == BaseRule::Exact { " directly" } else { "" };
    format!("{head}{directly} with {base}{origin}")
}

/// The result of a metric of two labels so far.
pub(crate) fn sample_line(benchmark: &BenchmarkResult, metric: &MetricResult, rows: u64) -> String {
    let change = changed(&metric.summary);
    let verdict = match metric.verdict {
        None | Some(Verdict::Inconclusive) => String::new(),
        Some(verdict) => format!(", {}", self::verdict(verdict)),
    };
    let (name, rows) = (line(&benchmark.name), count(rows, "row"));
    format!("  {name} {} {change}; {rows}{verdict}", line(&metric.name))
}

/// The current time in the format of RFC 3339, to the second.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now().max(UNIX_EPOCH)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_keep_three_digits_and_are_zero_only_for_no_change() {
        let table = [
            (0.0, "+0.00%"),
            (-0.0, "+0.00%"),
            (-1e-16, "+0.00%"),
            (1.0 / 800_000.0, "+0.00013%"),
            (-0.000_01, "-0.001%"),
            (0.000_05, "+0.01%"),
            (0.012_34, "+1.23%"),
            (-0.1, "-10.0%"),
            (0.1999, "+20.0%"),
            (0.09996, "+10.0%"),
            (12.0, "+1200%"),
        ];
        for (fraction, expected) in table {
            assert_eq!(percent(fraction), expected);
        }
    }

    #[test]
    fn a_commit_that_was_given_by_its_hash_is_named_once_and_short() {
        let [a, b] = ["a", "b"].map(|letter| letter.repeat(40));
        let revision = |rev: &str, commit: &str, dirty: bool| serde_json::json!({"rev": rev, "commit": commit, "tree": "", "dirty": dirty});
        let said = |base: serde_json::Value, head: serde_json::Value, is_merge_base: bool| {
            let all = serde_json::json!({"base": base, "head": head, "merge_base": is_merge_base});
            sides(&serde_json::from_value(all).unwrap())
        };
        for (base, is_merge_base, expected) in [
            ("main", false, "directly with main (aaaaaaaaaa)"),
            (&a, false, "directly with aaaaaaaaaa"),
            ("main", true, "with its merge-base with main (aaaaaaaaaa)"),
            ("aaaaaa", true, "with its ancestor aaaaaaaaaa"),
            (&b, true, "with its merge-base with bbbbbbbbbb (aaaaaaaaaa)"),
        ] {
            let head = revision("feature", &"f".repeat(40), false);
            let said = said(revision(base, &a, false), head, is_merge_base);
            assert_eq!(said, format!("feature (ffffffffff) {expected}"));
        }
        let said = said(revision("main", &a, false), revision("main", &a, true), true);
        let expected =
            "main (aaaaaaaaaa) plus the changes of the working tree with aaaaaaaaaa itself";
        assert_eq!(said, expected);
    }

    #[test]
    fn what_runs_before_sampling_is_named_with_the_time_that_it_takes() {
        assert_eq!(warm_up_run(Side::Base, (1, 2), None), "run 1 of 2, base");
        assert_eq!(warm_up_run(Side::Head, (2, 2), Some(24.6)), "run 2 of 2, head; run 1 took 25s");
    }

    #[test]
    fn a_threshold_is_as_short_as_it_was_written() {
        let table = [
            (0.02, "2%"),
            (0.0291, "2.91%"),
            (0.1, "10%"),
            (2.0, "200%"),
            (0.0, "0%"),
            (0.000_05, "0.005%"),
            (0.000_012, "0.0012%"),
        ];
        for (fraction, expected) in table {
            assert_eq!(short_size(fraction), expected);
        }
    }

    #[test]
    fn values_find_their_scale() {
        let table = [
            (0.0123, Unit::Seconds, "12.30 ms"),
            (1.5, Unit::Seconds, "1.500 s"),
            (3.2e-7, Unit::Seconds, "320.0 ns"),
            (0.0, Unit::Seconds, "0 s"),
            (1_365_000.0, Unit::Bytes, "1.302 MiB"),
            (12.0, Unit::Bytes, "12 B"),
            (12.0, Unit::Count, "12"),
            (123_456.0, Unit::Count, "123.5 k"),
            (3.5e6, Unit::of("B/s"), "3.338 MiB/s"),
            (12.0, Unit::of("B/s"), "12.00 B/s"),
            (3.5e6, Unit::of("req/s"), "3.500 M req/s"),
            (0.25, Unit::of("1/s"), "250.0 m 1/s"),
            (12_345.0, Unit::of("ms"), "12345 ms"),
            (0.0, Unit::of("B/s"), "0 B/s"),
        ];
        for (number, unit, expected) in table {
            assert_eq!(value(number, &unit), expected);
        }
    }

    #[test]
    fn what_no_unit_suits_has_an_exponent() {
        let milliseconds = Unit::Other("ms".to_owned());
        for (number, unit, expected) in [
            (1e308, &Unit::Unknown, "1.000e308"),
            (f64::MAX, &Unit::Seconds, "1.798e308 s"),
            (1.2345e-13, &Unit::Seconds, "1.234e-13 s"),
            (5e-324, &Unit::Unknown, "4.941e-324"),
            (1.5e-4, &milliseconds, "1.500e-4 ms"),
            (1.5e-3, &milliseconds, "0.002 ms"),
            (f64::INFINITY, &Unit::Bytes, "inf B"),
        ] {
            assert_eq!(value(number, unit), expected);
        }
        assert_eq!(step(1e300, 2e300, &Unit::Unknown), "1.00e300 → 2.00e300");
    }

    #[test]
    fn a_step_has_one_unit_and_as_many_decimals_on_both_sides() {
        let table = [
            (0.0474, 0.0551, Unit::Seconds, "47.4 → 55.1 ms"),
            (0.000_9, 0.001_2, Unit::Seconds, "0.90 → 1.20 ms"),
            (0.0012, 0.000_9, Unit::Seconds, "1.20 → 0.90 ms"),
            (0.0, 0.005, Unit::Seconds, "0 → 5.00 ms"),
            (1e-9, 5.0, Unit::Seconds, "1.000 ns → 5.000 s"),
            (0.0, 0.0, Unit::Seconds, "0 → 0 s"),
            (10.0, 12.0, Unit::Count, "10 → 12"),
            (1000.0, 1024.0, Unit::Bytes, "0.98 → 1.00 KiB"),
            (6.0e7, 5.0e7, Unit::of("B/s"), "57.2 → 47.7 MiB/s"),
        ];
        for (from, to, unit, expected) in table {
            assert_eq!(step(from, to, &unit), expected);
        }
    }

    #[test]
    fn no_end_of_an_interval_is_an_infinity() {
        assert_eq!(interval(Some(-0.01), Some(0.2)), "[-1.00%, +20.0%]");
        assert_eq!(interval(Some(0.086), None), "≥ +8.60%");
        assert_eq!(bounds(Some(0.086), None), "[≥ +8.60%]");
        assert_eq!(bounds(Some(0.01), Some(0.02)), "[+1.00%, +2.00%]");
        assert_eq!(interval(Some(f64::NEG_INFINITY), Some(0.02)), "≤ +2.00%");
        assert_eq!(interval(None, Some(f64::INFINITY)), "not yet bounded");
        assert_eq!(interval(Some(-0.652), Some(3.1e74)), "≥ -65.2%");
        // What was almost free and is not any more.
        assert_eq!(interval(Some(18_551.0), Some(20_469.5)), "[+1855100%, +2046950%]");
        assert_eq!(interval(Some(18_551.0), Some(3.1e74)), "≥ +1855100%");
    }
}
