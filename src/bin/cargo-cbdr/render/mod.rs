//! The results, with one file per format.

pub(crate) mod answer;
mod bencher;
mod benchmark_action;
pub(crate) mod bisect;
pub(crate) mod doctor;
pub(crate) mod escape;
pub(crate) mod events;
pub(crate) mod explanation;
pub(crate) mod export;
pub(crate) mod flamegraph;
mod github;
pub(crate) mod grid;
pub(crate) mod history;
pub(crate) mod history_export;
pub(crate) mod human;
pub(crate) mod json;
mod junit;
mod markdown;
pub(crate) mod names;
pub(crate) mod outputs;
pub(crate) mod preview;
pub(crate) mod readable;
pub(crate) mod scale;
pub(crate) mod table;

use std::io::{self, Write};

use serde::Serialize;

use crate::cli::{Format, Printed};
use readable::Readable;

/// Prints something to standard output, for people or as one JSON object.
pub(crate) fn show<V: Serialize>(
    format: Printed,
    human: impl FnOnce() -> String,
    json: impl FnOnce() -> V,
) -> io::Result<()> {
    outputs::printed(match format {
        Printed::Human => print_text(&human()),
        Printed::Json => json::print_line(&json()),
    })
}

/// Prints text to standard output, with its colours if these are wanted there.
pub(crate) fn print_text(text: &str) -> io::Result<()> {
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(outputs::unprinted)
}

/// Prints a result to standard output.
pub(crate) fn print(format: Format, result: &Readable<'_>) -> io::Result<()> {
    let text = match format {
        Format::Human => human::report(result),
        Format::Json => return json::print(result.outcome),
        Format::Github => github::annotations(result),
        Format::Markdown => markdown::comment(result),
        Format::Junit => junit::document(result)?,
    };
    print_text(&text)
}

#[cfg(test)]
mod tests {
    use cargo_cbdr::model::metric::Better;
    use cargo_cbdr::model::outcome::{BenchmarkResult, Doubt, Outcome, Status, Verdict};
    use cargo_cbdr::samples::Recording;
    use serde_json::Value;

    use super::readable::CommandLine;
    use super::*;
    use crate::ui::text;

    /// Comparisons as `--format json` gave them: slower in all layouts, slower as built only, a
    /// fifth of the head's runs three times as slow, faster, and too few pairs.
    const RECORDED: [&str; 5] = [
        include_str!("recorded/placed.json"),
        include_str!("recorded/placement.json"),
        include_str!("recorded/tail.json"),
        include_str!("recorded/faster.json"),
        include_str!("recorded/open.json"),
    ];

    /// The result in all formats that name the metric's change, with their names.
    fn formats(outcome: &Outcome) -> Vec<(&'static str, String)> {
        let result = &Readable::new(outcome, &CommandLine::default());
        let mut all = vec![
            ("human", human::report(result)),
            ("markdown", markdown::comment(result)),
            ("junit", junit::document(result).unwrap()),
            ("page", crate::page::page(result, &Recording::default())),
            ("action", benchmark_action::value(outcome, Better::Lower).to_string()),
        ];
        // Passes have no annotation of their own.
        if outcome.verdict != Some(Verdict::NoRegression) {
            all.push(("github", github::annotations(result).replace("%25", "%")));
        }
        all
    }

    #[test]
    fn all_formats_have_the_numbers_of_the_test_that_decided() {
        for recorded in RECORDED {
            let outcome: Outcome = serde_json::from_str(recorded).unwrap();
            let json = json::value(&outcome);
            let metric = &json["benchmarks"][0]["metrics"][0];
            assert_eq!(
                *metric,
                serde_json::from_str::<Value>(recorded).unwrap()["benchmarks"][0]["metrics"][0]
            );
            let number = |key: &str| metric[key].as_f64();
            let (base, head, change) = (number("base"), number("head"), number("change").unwrap());
            assert!((head.unwrap() / base.unwrap() - 1.0 - change).abs() < 1e-9, "{metric}");
            let (lower, upper) = (number("lower"), number("upper"));
            let limit = number("threshold").unwrap();
            match metric["verdict"].as_str().unwrap() {
                "regression" => assert!(lower.unwrap() > limit, "{metric}"),
                "no-regression" => assert!(upper.unwrap() <= limit, "{metric}"),
                open => assert_eq!(open, "inconclusive"),
            }
            let interval = text::interval(lower, upper);
            for (format, shown) in formats(&outcome) {
                let row = &Readable::new(&outcome, &CommandLine::default()).rows[0];
                match format {
                    "junit" => {
                        let failed = shown.contains("type=\"regression\"");
                        assert_eq!(failed, outcome.verdict == Some(Verdict::Regression), "{shown}");
                    }
                    "action" => {}
                    _ => assert!(shown.contains(&row.cells.verdict), "{format}: {shown}"),
                }
                for text in [text::percent(change), interval.clone()] {
                    assert!(shown.contains(&text), "{format} lacks {text}: {shown}");
                }
            }
            let bencher = &bencher::value(&outcome)["place"]["wall_time_change"];
            let bounds = (bencher["lower_value"].as_f64(), bencher["upper_value"].as_f64());
            assert_eq!((bencher["value"].as_f64(), bounds), (Some(change), (lower, upper)));
        }
    }

    #[test]
    fn all_formats_say_what_is_new_where_that_fails_and_what_has_risen_from_zero() {
        let mut outcome: Outcome = serde_json::from_str(RECORDED[0]).unwrap();
        let summary = &mut outcome.benchmarks[0].metrics[0].summary;
        (summary.base, summary.change, summary.lower, summary.upper) =
            (Some(0.0), None, None, None);
        outcome.benchmarks.push(BenchmarkResult::new("added", Status::New));
        outcome.policy.fail_on.insert(Doubt::NoBaseline);
        for (format, shown) in
            formats(&outcome).into_iter().filter(|(format, _)| *format != "action")
        {
            assert!(shown.contains("from zero"), "{format}: {shown}");
            let new = if format == "junit" { "`added` is new" } else { "no baseline for `added`" };
            assert!(
                shown.replace("<code>", "`").replace("</code>", "`").contains(new),
                "{format}: {shown}"
            );
        }
    }
}
