//! Tests of the lines.

use super::*;
use cargo_cbdr::model::metric::{Metric, Unit};
use cargo_cbdr::model::outcome::Status;

pub(crate) fn snapshot(lower: Option<f64>, change: f64, upper: Option<f64>) -> Snapshot {
    let summary =
        Summary { pairs: 12, base: Some(1.0), head: Some(1.0), change: Some(change), lower, upper };
    let metric = Metric::cost("wall_time", Unit::Seconds);
    let open = Some(Verdict::Inconclusive);
    let result = MetricResult::new(metric, Some(0.02), summary, open);
    let benchmark = BenchmarkResult {
        pairs: 12,
        metrics: vec![result],
        ..BenchmarkResult::new("sum", Status::Compared)
    };
    Snapshot {
        benchmarks: vec![benchmark],
        elapsed: 3.2,
        limit: 300.0,
        remaining: Some(8.0),
        is_unlikely: false,
        least_pairs: 6,
        is_over_layouts: false,
    }
}

fn drawn(snapshot: &Snapshot, width: usize) -> String {
    plain(&metric_lines(snapshot, reach(snapshot), (width, 24))[0])
}

#[test]
fn the_line_fits_any_terminal() {
    for snapshot in [
        snapshot(Some(-0.051), 0.004, Some(0.063)),
        snapshot(None, 0.004, None),
        snapshot(Some(-0.9), 250.0, Some(1e6)),
    ] {
        for width in 1..200 {
            let line = drawn(&snapshot, width);
            assert!(width::columns(&line) < width.max(1), "{width}: {line}");
        }
    }
}

#[test]
fn the_scale_shows_the_interval_against_the_threshold() {
    let view = |snapshot: &Snapshot, width| -> Vec<String> {
        live(snapshot, reach(snapshot), (width, 24)).lines.iter().map(|line| plain(line)).collect()
    };
    let open = snapshot(Some(-0.03), 0.01, None);
    let expected = [
        "  wall_time   +1.00%     [≥ -3.00%]     ·······━━━0●┃╌╌╌╌╌╌╌╌ undecided",
        "                               faster ◂ -10%      0 ┃+2% +10% ▸ slower",
    ];
    assert_eq!(view(&open, 80), expected);
    let wide = view(&open, 110);
    assert!(wide[1].contains("-10% ◂ faster") && wide[1].ends_with("slower ▸ +10%"), "{wide:?}");
}

#[test]
fn the_scale_is_fixed_by_the_threshold_and_widened_by_what_is_far_off() {
    assert_eq!(reach(&snapshot(Some(-0.5), 0.01, Some(9.0))), 0.1);
    assert_eq!(reach(&snapshot(None, 0.3, None)), 0.5);
    let mut many = snapshot(None, 0.3, None);
    many.benchmarks = vec![many.benchmarks[0].clone(); 2];
    assert_eq!(reach(&many), 0.2, "the others can still be seen");
}

#[test]
fn of_many_metrics_the_open_ones_are_shown_and_all_are_counted() {
    let mut many = snapshot(Some(-0.03), 0.0, Some(0.03));
    many.benchmarks = vec![many.benchmarks[0].clone(); 12];
    assert_eq!(shown(&gating(&many), 8).len(), 8);
    for (number, benchmark) in many.benchmarks.iter_mut().enumerate() {
        let verdict = match number {
            0 => Verdict::Regression,
            1..=7 => Verdict::NoRegression,
            _ => Verdict::Inconclusive,
        };
        benchmark.metrics[0].verdict = Some(verdict);
    }
    // One that was not measured yet, and the worst.
    many.benchmarks[10].metrics[0].summary.change = Some(0.05);
    many.benchmarks[9].metrics[0].summary.change = None;
    many.benchmarks[10].name = "worst".to_owned();
    let all = gating(&many);
    let lines = shown(&all, 8);
    assert_eq!(lines.len(), 5, "the regression, and what is open");
    assert_eq!(lines[0].1.verdict, Some(Verdict::Regression));
    assert_eq!(lines[1].0.name, "worst");
    assert_eq!(lines[4].1.summary.change, None);
    assert_eq!(shown(&all, 2).len(), 2);
    // Of more than fit, those without a bound say nothing yet.
    many.benchmarks[10].metrics[0].summary.lower = None;
    assert!(shown(&gating(&many), 4).iter().all(|(benchmark, _)| benchmark.name != "worst"));
    assert_eq!(shown(&gating(&many), 2).len(), 2);
    let counted = |width| last(&many, 0.1, (width, 24)).pop().unwrap();
    for (width, rest) in [
        (80, "; 144 pairs; 3.2s/5m, ~8s left"),
        (66, "; 144 pairs; ~8s left"),
        (60, "; 3.2s/5m, ~8s left"),
        (52, "; ~8s left"),
        (42, ""),
    ] {
        assert_eq!(counted(width), format!("  1 regression, 7 passed, 4 undecided{rest}"));
    }
}

#[test]
fn many_lines_stand_in_columns_and_fit_any_terminal() {
    let mut many = snapshot(Some(-0.03), 0.0, Some(0.03));
    many.benchmarks = vec![many.benchmarks[0].clone(); 5];
    many.benchmarks[1].name = "a benchmark with a name of some length".into();
    many.benchmarks[2].metrics[0].verdict = Some(Verdict::Regression);
    many.benchmarks[3].metrics[0].summary.upper = Some(0.2);
    for width in 1..200 {
        for line in
            last(&many, 0.1, (width, 24)).into_iter().chain(live(&many, 0.1, (width, 24)).lines)
        {
            let length = width::columns(&line);
            assert!(length < width.max(1) || length == 0, "{width}: {line}");
        }
    }
    for width in [40, 60, 80, 120] {
        let lines = live(&many, 0.1, (width, 24)).lines;
        let marks: Vec<Option<usize>> =
            lines[..5].iter().map(|line| plain(line).chars().position(|c| c == '┃')).collect();
        assert!(marks[0].is_some() && marks.iter().all(|mark| *mark == marks[0]), "{marks:?}");
    }
    // On a low one, what is open is drawn, as far as it goes.
    assert_eq!(last(&many, 0.1, (80, 5)).len(), 4);
}

#[test]
fn the_log_form_says_the_same_in_words() {
    let snapshot = snapshot(None, 0.004, Some(0.03));
    assert_eq!(
        log_line(&snapshot, gating(&snapshot)[0]).text,
        "wall_time +0.40%, interval ≤ +3.00%, threshold +2%; 12 pairs; 3.2s/5m, ~8s left"
    );
}

fn news(snapshot: &Snapshot) -> Vec<String> {
    log(snapshot, 3).into_iter().map(|line| line.news).collect()
}

#[test]
fn the_log_repeats_only_what_changed() {
    let mut snapshot = snapshot(Some(-0.03), 0.004, Some(0.03));
    let first = news(&snapshot);
    snapshot.elapsed += 10.0;
    assert_eq!(news(&snapshot), first, "only the time has changed");
    snapshot.benchmarks[0].pairs += 1;
    assert_ne!(news(&snapshot), first, "another pair");
    snapshot.benchmarks[0].metrics[0].verdict = Some(Verdict::NoRegression);
    let decided = news(&snapshot);
    assert_ne!(decided, first);
    snapshot.benchmarks[0].pairs += 1;
    assert_eq!(news(&snapshot), decided, "pairs that others needed");
    // Of many, the counts and the pairs.
    snapshot.benchmarks = vec![snapshot.benchmarks[0].clone(); 5];
    let many = news(&snapshot);
    snapshot.elapsed += 10.0;
    assert_eq!(news(&snapshot), many);
    snapshot.benchmarks[4].metrics[0].verdict = Some(Verdict::Regression);
    assert_ne!(news(&snapshot), many);
}

#[test]
fn a_number_of_the_suite_has_a_line_however_many_benchmarks_there_are() {
    let mut many = snapshot(Some(-0.03), 0.0, Some(0.03));
    many.benchmarks = vec![many.benchmarks[0].clone(); 20];
    many.benchmarks[3].metrics[0].verdict = Some(Verdict::Regression);
    many.benchmarks[7].name = "suite geomean".to_owned();
    assert_eq!(shown(&gating(&many), 4)[0].0.name, "suite geomean");
    assert_eq!(shown(&gating(&many), 4)[1].1.verdict, Some(Verdict::Regression));
    let lines: Vec<String> = log(&many, 3).into_iter().map(|line| line.text).collect();
    assert!(lines[0].starts_with("suite geomean +0.00%, interval"), "{lines:?}");
    assert!(lines[1].starts_with("1 regression, 18 undecided; "), "{lines:?}");
}

#[test]
fn the_forecast_ends_with_the_limit() {
    let mut snapshot = snapshot(Some(-0.03), 0.004, Some(0.03));
    snapshot.remaining = Some(1e6);
    assert_eq!(times(&snapshot)[1], "~5m left");
    snapshot.elapsed = 290.0;
    assert_eq!(times(&snapshot), ["4m 50s/5m, ~10s left", "~10s left"]);
    snapshot.elapsed = 301.0;
    assert_eq!(times(&snapshot), ["5m 01s/5m", "5m 01s/5m"]);
    // The limit is shown as it was set, not as a forecast.
    for (limit, expected) in
        [(4e-4, "400us"), (14.887_792_455, "15s"), (100.0, "1m40s"), (5400.0, "1h30m")]
    {
        (snapshot.elapsed, snapshot.limit) = (0.0, limit);
        let spent = times(&snapshot)[0].split(',').next().unwrap().to_owned();
        assert_eq!(spent, format!("0.0s/{expected}"));
    }
}

#[test]
fn the_last_state_has_the_verdicts_over_layouts() {
    let mut as_built = snapshot(Some(-0.03), 0.004, Some(0.03));
    let mut passed = as_built.benchmarks[0].metrics[0].clone();
    passed.name = "max_rss".to_owned();
    as_built.benchmarks[0].metrics.push(passed);
    let mut over = as_built.clone();
    as_built.benchmarks[0].metrics[1].verdict = Some(Verdict::NoRegression);
    over.elapsed = 5.0;
    over.benchmarks[0].metrics[0].verdict = Some(Verdict::Regression);
    over.benchmarks[0].metrics[0].summary.change = Some(0.5);
    overrule(&mut as_built, &over);
    let metric = &as_built.benchmarks[0].metrics[0];
    assert_eq!(metric.verdict, Some(Verdict::Regression));
    assert_eq!((metric.summary.change, as_built.elapsed), (Some(0.5), 5.0));
    // This one was not asked again.
    assert_eq!(as_built.benchmarks[0].metrics[1].verdict, Some(Verdict::NoRegression));
}

#[test]
fn before_there_are_enough_pairs_for_a_verdict_their_number_is_given() {
    let mut many = snapshot(None, 0.3, None);
    many.benchmarks = vec![many.benchmarks[0].clone(); 30];
    (many.least_pairs, many.remaining) = (14, None);
    let view = live(&many, 0.1, (80, 24));
    assert_eq!(view.lines, [""; 0]);
    let gauge = view.gauge.unwrap();
    assert_eq!(gauge.before, "30 undecided; 12 of at least 14 pairs");
    assert_eq!((gauge.done, gauge.of, gauge.after.as_str()), (360, 420, "3.2s/5m"));
    assert_eq!(last(&many, 0.1, (80, 24)), ["  30 undecided; 12 of at least 14 pairs; 3.2s/5m"]);
    // Then the time to the forecast end.
    for benchmark in &mut many.benchmarks {
        benchmark.pairs = 14;
    }
    many.remaining = Some(8.0);
    let gauge = live(&many, 0.1, (80, 24)).gauge.unwrap();
    assert_eq!((gauge.done, gauge.of), (3200, 11_200));
    assert_eq!(gauge.before, "30 undecided; 420 pairs");
    assert_eq!(gauge.after, "3.2s/5m, ~8s left");
}

#[test]
fn a_gauge_fits_any_terminal() {
    for count in [1, 5] {
        let mut many = snapshot(Some(-0.03), 0.0, Some(0.03));
        many.benchmarks = vec![many.benchmarks[0].clone(); count];
        for terminal in 1..200 {
            let gauge = live(&many, 0.1, (terminal, 24)).gauge.unwrap();
            let parts = width::columns(&gauge.before) + width::columns(&gauge.after) + 5;
            let bar = gauge.bar(terminal.saturating_sub(2)).unwrap_or(0);
            assert!(bar == 0 || parts + bar <= terminal, "{terminal}: {gauge:?}");
            assert!(bar > 0 || gauge.after.is_empty(), "{terminal}: {gauge:?}");
        }
    }
}

#[test]
fn a_scale_has_a_style_for_each_run_of_signs() {
    let snapshot = snapshot(Some(-0.03), 0.0, Some(0.03));
    let drawn = scale(gating(&snapshot)[0].1, 41, 0.05);
    // What is beyond it; interval and estimate; the threshold; interval; what is beyond it.
    assert_eq!(drawn.matches("\x1b[33m").count(), 2, "{drawn:?}");
    assert_eq!(drawn.matches("\x1b[2m").count(), 2, "{drawn:?}");
    assert_eq!(plain(&drawn).chars().count(), 41);
}

#[test]
fn a_regression_is_red_as_a_whole() {
    let mut many = snapshot(Some(-0.03), 0.0, Some(0.03));
    many.benchmarks = vec![many.benchmarks[0].clone(); 3];
    many.benchmarks[2].name = "slow".to_owned();
    many.benchmarks[2].metrics[0].verdict = Some(Verdict::Regression);
    let lines = live(&many, 0.1, (100, 24)).lines;
    let red = verdict_style(Verdict::Regression);
    assert!(lines[0].starts_with(&format!("  {red}slow")), "{lines:?}");
}

/// A frame as a terminal of so many columns shows it, without colours.
fn frame(snapshot: &Snapshot, width: usize) -> String {
    let View { mut lines, gauge } = live(snapshot, reach(snapshot), (width, 24));
    let Gauge { before, done, of, after } = gauge.unwrap();
    let bar = Gauge { before: before.clone(), done, of, after: after.clone() };
    let bar = bar.bar(width.saturating_sub(2)).unwrap_or(0);
    let filled = (bar as u64 * done / of.max(1)) as usize;
    let bar = "█".repeat(filled) + &"░".repeat(bar - filled);
    lines.push(format!("  {before} {bar} {after}"));
    lines.iter().map(|line| plain(line).trim_end().to_owned() + "\n").collect()
}

#[test]
fn the_frames_of_three_widths_are_as_pinned() {
    let at = |pairs: u64, lower, change, upper| {
        let mut snapshot = snapshot(lower, change, upper);
        snapshot.benchmarks[0].pairs = pairs;
        snapshot.benchmarks[0].metrics[0].summary.pairs = pairs;
        (snapshot.elapsed, snapshot.remaining) = (0.3 * pairs as f64, Some(6.0));
        snapshot
    };
    let mut frames = vec![
        ("one benchmark", at(2, None, 0.16, None)),
        ("one benchmark", at(7, Some(-0.01), 0.13, None)),
        ("one benchmark", at(12, Some(0.01), 0.118, Some(0.26))),
        ("one benchmark", at(20, Some(0.018), 0.112, Some(0.19))),
    ];
    let mut three = at(12, Some(-0.01), 0.008, Some(0.031));
    let metrics = &mut three.benchmarks[0].metrics;
    metrics.extend([metrics[0].clone(), metrics[0].clone()]);
    (metrics[1].name, metrics[2].name) = ("cpu_time".to_owned(), "max_rss".to_owned());
    metrics[1].verdict = Some(Verdict::NoRegression);
    metrics[2].summary.change = Some(0.08);
    (metrics[2].summary.lower, metrics[2].summary.upper) = (Some(0.05), Some(0.11));
    metrics[2].verdict = Some(Verdict::Regression);
    frames.push(("three metrics", three));
    for pairs in [3, 16] {
        let bounds = |width| (pairs > 12).then_some(width);
        let mut many = at(pairs, bounds(-0.04), 0.0, bounds(0.05));
        many.benchmarks = (0..30)
            .map(|number| {
                let mut one = many.benchmarks[0].clone();
                one.name = format!("parse/number {number}");
                one.metrics[0].summary.change = Some(0.001 * f64::from(number));
                if number % 4 > 0 && pairs > 12 {
                    one.metrics[0].verdict = Some(Verdict::NoRegression);
                }
                one
            })
            .collect();
        many.least_pairs = 12;
        frames.push(("30 benchmarks", many));
    }
    let mut shown = String::new();
    for width in [60, 80, 120] {
        for (name, snapshot) in &frames {
            let frame = frame(snapshot, width);
            assert!(frame.lines().all(|line| width::columns(line) < width), "{frame}");
            shown += &format!("{width} columns, {name}\n{frame}\n");
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin/cargo-cbdr/ui/frames.txt");
    if std::env::var_os("CBDR_BLESS").is_some() {
        std::fs::write(path, &shown).unwrap();
    }
    let pinned = std::fs::read_to_string(path).unwrap();
    assert!(shown == pinned, "{shown}\nIf meant: CBDR_BLESS=1 cargo test --bin cargo-cbdr frames");
}
