//! The tables, in Markdown.

use std::fmt::Write;

use cargo_cbdr::stats::estimator::Decision;

use super::costs::Costs;
use super::metrics::Metric;
use super::recording::{Series, Way};
use super::shapes::{Iterations, MOST_PAIRS, Planted, Said, Shape};
use super::verdicts::{CONFIDENCE, LIMIT, TESTS, THRESHOLD, Tally, compare};

const SEED: u64 = 20_261_122;

/// How often each benchmark is compared with itself: for each way, metric and change, and
/// for each change of shape.
const COMPARISONS: u64 = 40;
const PLANTED: u64 = 10;

/// The changes whose verdicts are timed.
const CHANGES: [f64; 3] = [0.0, 0.05, 0.1];

/// All tables, load after load in the order in which they come.
pub fn page(series: &[Series]) -> String {
    let mut text = format!(
        "# The cost of a verdict on one benchmark of a suite\n\nMade by `cargo run --release \
         --example run-metrics -- study fixtures/runs/*.csv`, seed {SEED}. \
         The conclusions are in [suites](../suites.md).\n\n"
    );
    for load in loads(series) {
        let under: Vec<&Series> = series.iter().filter(|one| one.load == load).collect();
        text += &format!("## Load: {load}\n\n{}\n", recorded(&under));
        text += &costs(&under);
        text += &suites(&under);
        text += &verdicts(&under);
        text += &verdicts_by_suite(&under);
        text += &shapes(&under);
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// The loads, in the order in which they come.
pub fn loads(series: &[Series]) -> Vec<&str> {
    let mut loads: Vec<&str> = Vec::new();
    for one in series {
        if !loads.contains(&one.load.as_str()) {
            loads.push(&one.load);
        }
    }
    loads
}

fn in_way<'a>(all: &[&'a Series], way: Way) -> Vec<&'a Series> {
    all.iter().filter(|series| series.way == way.name).copied().collect()
}

/// What there is.
fn recorded(all: &[&Series]) -> String {
    let mut suites: Vec<&str> = all.iter().map(|series| series.suite.as_str()).collect();
    suites.dedup();
    let pairs: usize = all.iter().map(|series| series.pairs.len()).sum();
    let shortest = in_way(all, Way::SHORTEST).len();
    format!("{} ({shortest} benchmarks, {pairs} pairs).\n", suites.join(", "))
}

fn header(columns: &[&str], words: usize) -> String {
    let lines = (0..columns.len()).map(|number| if number < words { "---|" } else { "--:|" });
    format!("| {} |\n|{}\n", columns.join(" | "), lines.collect::<String>())
}

/// Two significant digits.
fn short(value: f64) -> String {
    format!("{value:.1e}")
}

fn cells(values: impl IntoIterator<Item = String>) -> String {
    values.into_iter().fold(String::new(), |mut line, cell| {
        let _ = write!(line, " {cell} |");
        line
    })
}

/// The costs of all ways.
pub fn costs(all: &[&Series]) -> String {
    let names = Metric::ALL.map(Metric::name);
    let mut text = "### What a verdict costs\n\nThe duration of a pair in seconds times the \
                    variance of ln(second/first), estimated from the median absolute deviation; in \
                        brackets, with the ordinary variance. Each value is the median over all \
                        benchmarks.\n\n"
        .to_owned();
    text += &header(&[&["way", "ms a pair"][..], &names].concat(), 1);
    for way in Way::ALL {
        let each: Vec<Costs> = in_way(all, way).into_iter().filter_map(Costs::of).collect();
        let Some(Costs { seconds_a_pair, typical, plain }) = Costs::median(&each) else { continue };
        let both = typical.iter().zip(plain);
        let row =
            cells(both.map(|(typical, plain)| format!("{} ({})", short(*typical), short(plain))));
        let _ = writeln!(text, "| {} | {:.0} |{row}", way.about(), 1e3 * seconds_a_pair);
    }
    text + "\n"
}

/// The costs of the shortest way, suite by suite.
pub fn suites(all: &[&Series]) -> String {
    let names = Metric::ALL.map(Metric::name);
    let mut text = format!("### Suite by suite, {}\n\n", Way::SHORTEST.about());
    text += &header(&[&["suite", "ms a pair"][..], &names].concat(), 1);
    let series = in_way(all, Way::SHORTEST);
    for group in series.chunk_by(|one, other| one.suite == other.suite) {
        let each: Vec<Costs> = group.iter().filter_map(|one| Costs::of(one)).collect();
        let Some(Costs { seconds_a_pair, typical, .. }) = Costs::median(&each) else { continue };
        let row = cells(typical.map(short));
        let _ = writeln!(text, "| {} | {:.0} |{row}", group[0].suite, 1e3 * seconds_a_pair);
    }
    text + "\n"
}

fn verdicts(all: &[&Series]) -> String {
    let early = LIMIT / TESTS as f64;
    let mut text = format!(
        "### How long a verdict takes\n\n`robust`, a threshold of {:.0} %, {TESTS} tests at {:.0} %, {COMPARISONS} \
         comparisons of each benchmark: the median number of pairs and of seconds, then the \
         percentage undecided after {early:.1} s (a {TESTS}th of {LIMIT} s) and after {LIMIT} s, then the \
         percentage of wrong verdicts.\n\n",
        1e2 * THRESHOLD,
        1e2 * CONFIDENCE
    );
    let mut columns = vec!["way".to_owned(), "metric".to_owned()];
    for change in CHANGES {
        columns.push(format!("+{:.0} %: pairs, seconds", 1e2 * change));
        columns.extend(["undecided, %".to_owned(), "wrong, %".to_owned()]);
    }
    text += &header(&columns.iter().map(String::as_str).collect::<Vec<_>>(), 2);
    for way in Way::ALL {
        let series = in_way(all, way);
        if series.is_empty() {
            continue;
        }
        for metric in Metric::ALL {
            let row = CHANGES.map(|change| tally_cells(&tally(&series, metric, change)));
            let _ = writeln!(text, "| {} | {} |{}", way.name, metric.name(), row.concat());
        }
    }
    text + "\n"
}

/// All-clears in the shortest way, suite by suite.
fn verdicts_by_suite(all: &[&Series]) -> String {
    let names = Metric::ALL.map(Metric::name);
    let mut text = format!(
        "### Suite by suite, all-clears\n\nWay: {}. Without a change: the median seconds, and in \
         brackets the percentage undecided after {LIMIT} s.\n\n",
        Way::SHORTEST.about()
    );
    text += &header(&[&["suite"][..], &names].concat(), 1);
    let series = in_way(all, Way::SHORTEST);
    for group in series.chunk_by(|one, other| one.suite == other.suite) {
        let row = Metric::ALL.map(|metric| {
            let Tally { seconds, open, .. } = tally(group, metric, 0.0);
            let seconds = seconds.map_or(format!(">{LIMIT}"), |seconds| format!("{seconds:.1}"));
            format!("{seconds} ({:.0})", 1e2 * open)
        });
        let _ = writeln!(text, "| {} |{}", group[0].suite, cells(row));
    }
    text + "\n"
}

/// Many comparisons of benchmarks with a head that is slower by a factor. Every metric
/// gets the same pairs.
fn tally(series: &[&Series], metric: Metric, change: f64) -> Tally {
    let mut ends = Vec::new();
    for (number, one) in (0..).zip(series) {
        for comparison in 0..COMPARISONS {
            ends.push(compare(one, metric, change, seed(number, comparison)));
        }
    }
    let right = if change > THRESHOLD { Decision::Regression } else { Decision::NoRegression };
    Tally::of(&ends, right)
}

fn seed(series: u64, comparison: u64) -> u64 {
    SEED ^ (series << 32) ^ comparison
}

fn tally_cells(tally: &Tally) -> String {
    let typical = match (tally.pairs, tally.seconds) {
        (Some(pairs), Some(seconds)) => format!("{pairs}, {seconds:.1}"),
        _ => format!("none, >{LIMIT}"),
    };
    cells([
        typical,
        format!("{:.0}, {:.0}", 1e2 * tally.open_early, 1e2 * tally.open),
        format!("{:.1}", 1e2 * tally.wrong),
    ])
}

fn shapes(all: &[&Series]) -> String {
    let names = Metric::ALL.map(Metric::name);
    let mut text = format!(
        "### What each metric detects\n\nWay: {}. {PLANTED} comparisons of each benchmark, at most \
         {MOST_PAIRS} pairs: the percentages of *regression* and *no regression*, and the mean \
         number of pairs. A sample has thousands of iterations, 20 to 200, or one.\n\n",
        Way::SHORTEST.about()
    );
    text += &header(&[&["change", "added to the mean, %", "iterations"][..], &names].concat(), 1);
    let series = in_way(all, Way::SHORTEST);
    for shape in Shape::ALL {
        // To whole runs and samples the iterations do not matter.
        let among = matches!(shape, Shape::Iterations(_));
        for iterations in Iterations::ALL.into_iter().take(if among { 3 } else { 1 }) {
            let planted: Vec<Planted> =
                series.iter().filter_map(|one| Planted::new(one, shape, iterations)).collect();
            let Some(said) = said(&planted) else { continue };
            let added = match shape.added() {
                Some(added) => format!("{}", 1e2 * added),
                None => "10 and more".to_owned(),
            };
            let kind = if among { iterations.name() } else { "any" };
            let _ =
                writeln!(text, "| {} | {added} | {kind} |{}", shape.name(), cells(said.map(words)));
        }
    }
    text + "\n"
}

fn said(planted: &[Planted]) -> Option<[Said; 5]> {
    let mut said = [Said::default(); 5];
    for (number, one) in (0..).zip(planted) {
        for comparison in 0..PLANTED {
            let ends = one.compare(seed(number, comparison));
            for (sum, end) in said.iter_mut().zip(&ends) {
                sum.add(end);
            }
        }
    }
    (!planted.is_empty()).then_some(said)
}

fn words(said: Said) -> String {
    let of = |part: u32| 100.0 * f64::from(part) / f64::from(said.comparisons);
    format!(
        "{:.0} / {:.0}, {:.0}",
        of(said.regression),
        of(said.no_regression),
        said.pairs as f64 / f64::from(said.comparisons)
    )
}
