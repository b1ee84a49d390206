//! The words: numbers, commits and notices as a person reads them.

use cargo_cbdr::Report;
use cargo_cbdr::analysis::{MetricFinding, Versus};
use cargo_cbdr::event::Notice;
use cargo_cbdr::git::Revision;
use cargo_cbdr::git::base::{Origin, Rule, Sides};
use cargo_cbdr::metric::Unit;
use cargo_cbdr::runner::Unlikely;
use cargo_cbdr::stats::shape::{Finding, Kinds};
use cargo_cbdr::verdict::MetricResult;
use cargo_cbdr::verdict::Verdict;

/// Text of others, fit for a terminal: control characters are shown, not
/// obeyed.
pub(crate) fn clean(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => c.to_string(),
        c if c.is_control() || is_bidi(c) => c.escape_unicode().to_string(),
        c => c.to_string(),
    };
    text.chars().map(shown).collect()
}

/// Characters that turn the direction of the text after them.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The last lines of a longer text.
pub(crate) fn last_lines(text: &str, count: usize) -> impl Iterator<Item = &str> {
    let lines: Vec<&str> = text.lines().collect();
    lines.into_iter().rev().take(count).collect::<Vec<_>>().into_iter().rev()
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A fraction as a signed percentage: `+1.23%`.
pub(crate) fn percent(fraction: f64) -> String {
    let value = 100.0 * fraction;
    let digits = match value.abs() {
        v if v < 10.0 => 2,
        v if v < 1000.0 => 1,
        _ => 0,
    };
    // No "-0.00%".
    let value = if value.abs() < 0.005 { 0.0 } else { value };
    format!("{value:+.digits$}%")
}

/// An interval, whose ends there may be none of.
pub(crate) fn interval(lower: Option<f64>, upper: Option<f64>) -> String {
    let finite = |end: Option<f64>| end.filter(|end| end.is_finite()).map(percent);
    match (finite(lower), finite(upper)) {
        (None, None) => "unbounded".to_owned(),
        (lower, upper) => {
            let (lower, upper) = (lower.unwrap_or("-∞".into()), upper.unwrap_or("+∞".into()));
            format!("[{lower}, {upper}]")
        }
    }
}

/// A duration in seconds, for a person.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 9.95 => format!("{s:.1}s"),
        s if s < 120.0 => format!("{s:.0}s"),
        s if s < 7200.0 => format!("{}m {:02}s", s as u64 / 60, s as u64 % 60),
        s => format!("{}h {:02}m", s as u64 / 3600, s as u64 / 60 % 60),
    }
}

/// A duration in seconds, in its largest unit.
pub(crate) fn roughly(seconds: f64) -> String {
    match seconds {
        s if s < 99.5 => format!("{s:.0}s"),
        s if s < 5970.0 => format!("{:.0}m", s / 60.0),
        s => format!("{:.0}h", s / 3600.0),
    }
}

/// A value in its unit, with four digits.
pub(crate) fn value(value: f64, unit: Unit) -> String {
    let scales: &[(f64, &str)] = match unit {
        Unit::Seconds => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
        Unit::Bytes => {
            &[(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")]
        }
        Unit::Unknown => &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ")],
    };
    let fits = scales.iter().find(|(scale, _)| value.abs() >= *scale);
    let (scale, name) = fits.or(scales.last()).copied().unwrap_or((1.0, ""));
    if value == 0.0 {
        return format!("0 {}", unit.symbol()).trim_end().to_owned();
    }
    let scaled = value / scale;
    let digits = 3_usize.saturating_sub(scaled.abs().log10().max(0.0) as usize);
    let digits = if unit == Unit::Bytes && scale == 1.0 { 0 } else { digits };
    format!("{scaled:.digits$} {name}").trim_end().to_owned()
}

/// A percentage without the noise of its last digits.
pub(crate) fn rounded(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e6
}

/// What a comparison came to, in a few words.
pub(crate) fn outcome(report: &Report) -> String {
    let metrics = report.sampled.benchmarks.iter().flat_map(|benchmark| &benchmark.metrics);
    let change = |metric: &MetricResult| {
        let summary = &metric.summary;
        let change = summary.change.map_or("?".to_owned(), percent);
        format!("{} {change} {}", metric.metric.name, interval(summary.lower, summary.upper))
    };
    let gating = metrics.filter(|metric| metric.threshold.is_some()).map(change);
    let changes = gating.collect::<Vec<_>>().join(", ");
    let pairs = count(report.sampled.pairs(), "pair");
    format!("{}, {changes}, {pairs}, {}", report.verdict, seconds(report.sampled.elapsed))
}

/// A commit as it is named, and its first letters.
pub(crate) fn revision(revision: &Revision) -> String {
    let short = &revision.commit[..revision.commit.len().min(10)];
    let dirty = if revision.dirty { " with the changes of the working tree" } else { "" };
    if revision.commit.starts_with(&revision.rev) {
        format!("{short}{dirty}")
    } else {
        format!("{} ({short}){dirty}", revision.rev)
    }
}

/// Which commits are compared, and why these.
pub(crate) fn sides(sides: &Sides) -> String {
    let head = revision(&sides.head);
    let short = &sides.base.commit[..sides.base.commit.len().min(10)];
    let name = &sides.base.rev;
    let base = match sides.rule {
        Rule::Itself => return format!("{head} with itself, built twice"),
        Rule::Exact => format!("{name} itself ({short})"),
        Rule::MergeBase => format!("its merge-base with {name} ({short})"),
        Rule::FirstParent => format!("the commit of {name} that it was merged onto ({short})"),
    };
    let origin = match sides.origin {
        Origin::Argument => String::new(),
        Origin::Configuration => format!("; {name} is the configured base"),
        Origin::Variable(variable) => format!("; {name} comes from {variable}"),
        Origin::Usual => format!("; {name} is the first usual base that exists"),
    };
    format!("{head} with {base}{origin}")
}

/// A notice in a sentence, without a full stop.
pub(crate) fn notice(notice: &Notice) -> String {
    match notice {
        Notice::DirtyTree { files } => format!(
            "{} changed in the working tree and not measured (`--dirty` measures them)",
            count(*files as u64, "file")
        ),
        Notice::NothingToCompare { base } => {
            format!("nothing to compare: the head has no commit of its own beside `{base}`")
        }
        Notice::MergeRef { base } => format!(
            "`{base}` is not in this clone; the head is a merge commit, and its first parent \
             stands for the base"
        ),
        Notice::PolicyDiffers { keys } => format!(
            "base and head set {} differently; the base's setting counts \
             (`--policy-from head` takes the head's)",
            quoted(keys)
        ),
        Notice::NoBaseline { benchmark, why } => {
            format!("no baseline for `{benchmark}`: {why}")
        }
        Notice::Removed { benchmark } => {
            format!("the head no longer has the benchmark `{benchmark}`")
        }
        Notice::Identical { benchmark } => {
            format!("`{benchmark}` is the same program on both sides: nothing can have changed")
        }
        Notice::OtherFiles { count: files, example } => format!(
            "the programs are the same, but {} that they may read differ, such as `{example}` \
             (`--always-run` measures nevertheless)",
            count(*files as u64, "file")
        ),
        Notice::TooFewPairs { least } => {
            format!("no verdict is possible with fewer than {least} pairs")
        }
        Notice::LeftBehind { benchmark, processes } => format!(
            "`{benchmark}` left {} running, which were ended",
            count(*processes, "process").replace("processs", "processes")
        ),
        Notice::SmallChange { benchmark, metric } => format!(
            "the change of `{metric}` of `{benchmark}` is below 5 %: the two executables differ \
             by it, but the placement of code alone can do that"
        ),
        Notice::Unlikely(unlikely) => self::unlikely(unlikely),
        Notice::Shape { benchmark, metric, finding: found } => {
            format!("`{metric}` of `{benchmark}`: {}", finding(found))
        }
        Notice::Earlier { benchmark, metric, estimator, needed, pairs } => format!(
            "`{metric}` of `{benchmark}`: `--estimator {estimator}` would have had a verdict after \
             {needed} of the {pairs} pairs"
        ),
        Notice::Alone { label } => {
            format!("no row has what `{label}` would be compared with")
        }
        Notice::Unpaired { benchmark, line } => format!(
            "the rows of {benchmark} do not pair from line {line} on: no verdict that may be \
             looked at while sampling goes on"
        ),
        Notice::OneLook => {
            "the intervals are Welch's and Fieller's: valid for one look at samples \
                            whose number was chosen beforehand"
                .to_owned()
        }
    }
}

/// What a finding about the noise means and what can be done, without a full stop.
pub(crate) fn finding(finding: &Finding) -> String {
    match *finding {
        Finding::Outliers { one_in, share } => format!(
            "1 pair in {one_in:.0} is an outlier, and the outliers make {} of the variance; a mean \
             needs many pairs to even them out, a median does not (`--estimator median`), but it \
             would not see a change of such runs alone",
            whole_percent(share)
        ),
        Finding::Skewed { skewness, average, typical } => format!(
            "single pairs have a far slower {}: the change is {} on average, but {} in the typical \
             pair; a mean answers for the one, a median for the other (`--estimator`)",
            if skewness > 0.0 { "head" } else { "base" },
            percent(average),
            percent(typical)
        ),
        Finding::TwoKinds { base, head } => two_kinds(base, head),
        Finding::Drift { change } => format!(
            "the runs of both sides became {} while sampling; the pairs cancel most of that, but \
             see what else the machine does, and whether it gets hot",
            slower(change)
        ),
        Finding::DifferenceDrift { change } => format!(
            "the head became {} against the base while sampling, so the change is that of no one \
             moment; a longer warm-up (`--warmup`) or a second comparison shows which value lasts",
            slower(change)
        ),
        Finding::Slot { effect, z } => format!(
            "the second run of a pair is {} than the first ({:.1} standard errors); both sides \
             take turns at it, so the change is not biased, but let no run leave files, processes \
             or full caches to the next",
            slower(effect),
            z.abs()
        ),
        Finding::Correlated { correlation } => format!(
            "each pair resembles the one before (correlation {correlation:.2}), so the pairs say \
             less than their number and the verdict is less certain than it claims; repeat the \
             comparison, on a quieter machine if there is one"
        ),
        Finding::NotNormal { fit } => format!(
            "the differences are far from normal (fit {fit:.2}); a median may need far fewer \
             pairs than a mean (`--estimator median`)"
        ),
    }
}

fn two_kinds(base: Option<Kinds>, head: Option<Kinds>) -> String {
    let kinds = |Kinds { share, distance }| {
        format!("{} of them are {}", whole_percent(share), slower(distance))
    };
    let (whose, kinds) = match (base, head) {
        (None, None) => return "the runs are of one kind".to_owned(),
        (Some(base), None) => ("the base's", kinds(base)),
        (None, Some(head)) => ("the head's", kinds(head)),
        (Some(base), Some(head)) => {
            ("both sides'", format!("{} in the base, {} in the head", kinds(base), kinds(head)))
        }
    };
    format!(
        "{whose} runs come in two kinds: {kinds}; look for what varies from run to run, such as \
         the core, the memory's layout or a cache, for the change is that of the mixture"
    )
}

/// `1.23% slower`, `1.23% faster`.
fn slower(change: f64) -> String {
    let size = percent(change.abs());
    let word = if change < 0.0 { "faster" } else { "slower" };
    format!("{} {word}", size.trim_start_matches('+'))
}

fn whole_percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// Why a verdict is unlikely, and what could be told.
fn unlikely(unlikely: &Unlikely) -> String {
    let Unlikely { benchmark, metric, threshold, needed, reach } = unlikely;
    let needed = match needed {
        Some(needed) => format!("at this noise it would take about {}", roughly(*needed)),
        None => "the change is too close to the threshold".to_owned(),
    };
    let told = match reach {
        Some(reach) => format!(
            "; only a change below {} or above {} can be told from it in time",
            percent(threshold - reach),
            percent(threshold + reach)
        ),
        None => String::new(),
    };
    format!("a verdict on `{metric}` of `{benchmark}` within the limit is unlikely: {needed}{told}")
}

/// What a metric of two labels shows so far.
pub(crate) fn sample_line(versus: &Versus, finding: &MetricFinding, rows: u64) -> String {
    let result = &finding.result;
    let change = result.summary.change.map_or("?".to_owned(), percent);
    let interval = interval(result.summary.lower, result.summary.upper);
    let verdict = match result.verdict {
        None | Some(Verdict::Inconclusive) => String::new(),
        Some(verdict) => format!(", {verdict}"),
    };
    let (name, metric) = (clean(&versus.result.name), clean(&result.metric.name));
    format!("  {name} {metric} {change} {interval}; {}{verdict}", count(rows, "row"))
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_keep_three_digits_and_have_no_minus_zero() {
        let table = [
            (0.0, "+0.00%"),
            (-0.000_01, "+0.00%"),
            (0.012_34, "+1.23%"),
            (-0.1, "-10.0%"),
            (0.1999, "+20.0%"),
            (12.0, "+1200%"),
        ];
        for (fraction, expected) in table {
            assert_eq!(percent(fraction), expected);
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
        ];
        for (number, unit, expected) in table {
            assert_eq!(value(number, unit), expected);
        }
    }

    #[test]
    fn findings_are_sentences_without_an_end() {
        let kinds = Some(Kinds { share: 0.3, distance: 0.2 });
        let table = [
            (Finding::Outliers { one_in: 9.4, share: 0.96 }, "1 pair in 9 is an outlier"),
            (Finding::Skewed { skewness: 1.0, average: 0.02, typical: 0.0 }, "a far slower head"),
            (Finding::TwoKinds { base: None, head: kinds }, "the head's runs come in two kinds"),
            (Finding::TwoKinds { base: kinds, head: kinds }, "30% of them are 20.0% slower"),
            (Finding::Drift { change: -0.06 }, "6.00% faster while sampling"),
            (Finding::DifferenceDrift { change: 0.02 }, "2.00% slower against the base"),
            (Finding::Slot { effect: -0.012, z: -4.0 }, "1.20% faster than the first (4.0"),
            (Finding::Correlated { correlation: 0.31 }, "(correlation 0.31)"),
            (Finding::NotNormal { fit: 0.9 }, "(fit 0.90)"),
        ];
        for (found, part) in table {
            let words = finding(&found);
            assert!(words.contains(part), "{words}");
            assert!(!words.ends_with('.') && !words.starts_with(char::is_uppercase), "{words}");
        }
    }

    #[test]
    fn text_of_others_cannot_command_the_terminal() {
        assert_eq!(clean("a\u{1b}[31mb\rc\u{202e}d"), "a\\u{1b}[31mb\\u{d}c\\u{202e}d");
    }
}
