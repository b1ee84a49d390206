//! The results agree with other programs (R, scipy, mratios, EnvStats) and with
//! 40-digit arithmetic. The files document how they were made.

use std::collections::HashMap;

use cargo_cbdr::stats::fixed::{Confidence, TwoSamples};
use cargo_cbdr::stats::judge::{judge, ratio};
use cargo_cbdr::stats::moments::{Moments, PairMoments};
use cargo_cbdr::stats::ratio::{RatioSet, paired, unpaired};
use cargo_cbdr::stats::repetitions::{Clock, Logistic, least_time};
use cargo_cbdr::stats::welch::Welch;

/// One line of a file: its cells by the names in the header.
struct Row(HashMap<&'static str, &'static str>);

impl Row {
    #[track_caller]
    fn text(&self, column: &str) -> &'static str {
        self.0[column]
    }

    #[track_caller]
    fn number(&self, column: &str) -> f64 {
        self.text(column).parse().unwrap()
    }

    fn name(&self) -> String {
        format!("{} at {}", self.text("case"), self.text("conf"))
    }

    #[track_caller]
    fn assert_within(&self, column: &str, actual: f64, tolerance: f64) {
        let expected = self.number(column);
        let error = (actual - expected).abs();
        assert!(
            error <= tolerance,
            "{}: `{column}` is {actual}, not {expected}: off by {error:e}, more than {tolerance:e}",
            self.name()
        );
    }

    #[track_caller]
    fn assert_relative(&self, column: &str, actual: f64, tolerance: f64) {
        self.assert_within(column, actual, tolerance * self.number(column).abs());
    }
}

fn rows(file: &'static str) -> Vec<Row> {
    let mut lines = file.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &'static str| Row(header.iter().copied().zip(line.split(',')).collect());
    lines.map(row).collect()
}

/// The samples of each case, base and head.
fn samples(file: &'static str) -> HashMap<&'static str, (Vec<f64>, Vec<f64>)> {
    let mut samples: HashMap<_, (Vec<f64>, Vec<f64>)> = HashMap::new();
    for row in rows(file) {
        let values = row.text("values").split(' ').map(|value| value.parse().unwrap());
        let sides = samples.entry(row.text("case")).or_default();
        let side = if row.text("side") == "x" { &mut sides.0 } else { &mut sides.1 };
        *side = values.collect();
    }
    samples
}

fn moments(values: &[f64]) -> Moments {
    values.iter().copied().collect()
}

/// The bounds of the difference, each at one-sided `confidence`.
fn bounds(base: &Moments, head: &Moments, confidence: f64) -> (f64, f64) {
    let confidence = Confidence { lower: confidence, upper: confidence };
    let difference = TwoSamples::Apart(base, head).difference(confidence).unwrap();
    (difference.lower, difference.upper)
}

/// The two-sided interval of the difference at `confidence`.
fn interval(base: &Moments, head: &Moments, confidence: f64) -> (f64, f64) {
    bounds(base, head, 0.5 + 0.5 * confidence)
}

#[test]
fn welch_agrees_with_r_and_scipy() {
    let samples = samples(include_str!("golden/welch/samples.csv"));
    let expected = rows(include_str!("golden/welch/expected.csv"));
    assert_eq!(expected.len(), 4 * 41);
    for row in expected {
        let (base, head) = &samples[row.text("case")];
        let (base, head) = (moments(base), moments(head));
        let welch = match (row.text("status"), Welch::new(&base, &head)) {
            ("ok" | "zero_variance_one", Some(welch)) => welch,
            ("too_few" | "zero_variance_both", None) => continue,
            (status, welch) => panic!("{}: {welch:?} where {status}", row.name()),
        };
        assert_moments(&row, &base, &head, &welch);
        let confidence = row.number("conf");
        let (lower, upper) = interval(&base, &head, confidence);
        let (one_lower, one_upper) = bounds(&base, &head, confidence);
        let ends =
            [("lo", lower), ("hi", upper), ("one_lower", one_lower), ("one_upper", one_upper)];
        for (column, end) in ends {
            row.assert_within(column, end, row.number("abs_tol"));
        }
    }
}

fn assert_moments(row: &Row, base: &Moments, head: &Moments, welch: &Welch) {
    let mean = |column, moments: &Moments| {
        row.assert_relative(column, moments.mean().unwrap(), 64.0 * f64::EPSILON);
    };
    mean("mean_x", base);
    mean("mean_y", head);
    let loose = match row.text("case") {
        "w23" | "w24" | "w25" => 1e-6,
        "w26" | "w27" | "w28" | "w29" | "w30" => 1e-4,
        _ => 1e-12,
    };
    row.assert_relative("var_x", base.variance().unwrap(), loose);
    row.assert_relative("var_y", head.variance().unwrap(), loose);
    row.assert_relative("dof", welch.dof, loose);
}

/// A sample of `count` values with this mean and standard deviation: half of them are as
/// far below the mean as the other half is above it, and an odd one is at the mean.
fn sample(count: u64, mean: f64, deviation: f64) -> Moments {
    let moved = count - count % 2;
    let distance = deviation * ((count - 1) as f64 / moved as f64).sqrt();
    let value = |at| match at {
        _ if at == moved => mean,
        _ if at % 2 == 0 => mean - distance,
        _ => mean + distance,
    };
    (0..count).map(value).collect()
}

#[test]
fn welch_agrees_with_what_was_published() {
    for row in rows(include_str!("golden/welch/published.csv")) {
        let side =
            |n, mean, sd: &str| sample(row.number(n) as u64, row.number(mean), row.number(sd));
        let (base, head) = (side("n_x", "mean_x", "sd_x"), side("n_y", "mean_y", "sd_y"));
        let welch = Welch::new(&base, &head).unwrap();
        let (lower, upper) = interval(&base, &head, row.number("conf"));
        for (column, actual) in [
            ("t", welch.difference / welch.standard_error),
            ("dof", welch.dof),
            ("lo", lower),
            ("hi", upper),
        ] {
            let error = (actual - row.number(column)).abs();
            assert!(error < 1e-10 * actual.abs(), "{}: {column}", row.text("id"));
        }
    }
}

#[test]
fn fieller_agrees_with_mratios_and_inverted_tests() {
    let samples = samples(include_str!("golden/fieller/samples.csv"));
    let expected = rows(include_str!("golden/fieller/expected.csv"));
    assert_eq!(expected.len(), 60);
    for row in expected {
        let (base, head) = &samples[row.text("case")];
        let (x, y) = (moments(base), moments(head));
        let confidence = row.number("conf");
        let set = match row.text("df_rule") {
            "n-1" => {
                let pairs = base.iter().copied().zip(head.iter().copied());
                paired(&pairs.collect::<PairMoments>(), confidence)
            }
            "plugin" => unpaired(&x, &y, confidence),
            rule => panic!("{rule}"),
        };
        match (row.text("kind"), set.unwrap_or_else(|| panic!("{}", row.name()))) {
            ("bounded", RatioSet::Between { lower, upper })
            | ("outside", RatioSet::Outside { lower, upper }) => {
                row.assert_within("lo", lower, row.number("abs_tol"));
                row.assert_within("hi", upper, row.number("abs_tol"));
            }
            ("all", RatioSet::All) => {}
            (kind, set) => panic!("{}: {set:?} where {kind}", row.name()),
        }
    }
}

#[test]
fn geometric_means_agree_with_r_on_logarithms() {
    let samples = samples(include_str!("golden/lognormal/samples.csv"));
    for row in rows(include_str!("golden/lognormal/expected.csv")) {
        let (base, head) = &samples[row.text("case")];
        let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Moments>();
        let (base, head) = (logs(base), logs(head));
        let (lower, upper) = interval(&base, &head, row.number("conf"));
        let welch = Welch::new(&base, &head).unwrap();
        row.assert_relative("gm_ratio", welch.difference.exp(), 1e-9);
        row.assert_relative("gm_lo", lower.exp(), 1e-9);
        row.assert_relative("gm_hi", upper.exp(), 1e-9);
    }
}

#[test]
fn judgements_agree_with_benchmark_tools() {
    let ratios = rows(include_str!("golden/benchmarktools/ratio.csv"));
    assert_eq!(ratios.len(), 6);
    for row in ratios {
        let quotient = ratio(row.number("b"), row.number("a"));
        assert_eq!(quotient, row.number("ratio"));
    }
    let judgements = rows(include_str!("golden/benchmarktools/judge.csv"));
    assert_eq!(judgements.len(), 34);
    for row in judgements {
        let (ratio, tolerance) = (row.number("ratio"), row.number("tolerance"));
        let judgement = judge(ratio, tolerance).to_string();
        assert_eq!(judgement, row.text("outcome"), "{ratio} at {tolerance}");
    }
}

/// The oracle works in any unit of time, here in nanoseconds.
#[test]
fn repetitions_agree_with_the_paper() {
    for row in rows(include_str!("golden/benchmarktools/paper_logistic.csv")) {
        let accuracy = row.number("tau_acc_ns");
        let clock = Clock { precision: accuracy / row.number("j"), accuracy };
        let oracle = Logistic { steepness: row.number("a_per_ns"), middle: row.number("b"), clock };
        let time = row.number("t_ns");
        assert_eq!(f64::from(oracle.repetitions(time)), row.number("Y"), "{oracle:?} at {time}");
    }
}

#[test]
fn algorithm_1_finds_the_times_and_the_repetitions() {
    let series = rows(include_str!("golden/benchmarktools/tuning_series.csv"));
    let expected = rows(include_str!("golden/benchmarktools/tuning.csv"));
    assert_eq!((series.len(), expected.len()), (9, 9));
    for (series, expected) in series.iter().zip(expected) {
        assert_eq!(series.text("series"), expected.text("series"));
        let times = series.text("T_ns").split(' ').map(|time| time.parse::<f64>().unwrap());
        let least = least_time(times).unwrap();
        let tolerance = 1e-12 * expected.number("t_hat_ns");
        assert!((least - expected.number("t_hat_ns")).abs() <= tolerance, "{least}");
        let clock = Clock { precision: 1.0, accuracy: 1000.0 };
        let oracle = Logistic::of(clock).repetitions(least);
        assert_eq!(f64::from(oracle), expected.number("paper_n_Y"));
    }
}
