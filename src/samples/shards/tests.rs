use super::*;
use crate::engine::test::exact;
use crate::model::metric::Metric;
use crate::model::metric::Units;
use crate::samples::companion::ExactMetric;
use crate::samples::{Analysis, Flow, Spec};

/// Rows of this many pairs whose head takes `factor` times as long, on a
/// machine that takes `level` for a run.
fn rows(pairs: u32, level: f64, factor: f64, salt: u32) -> String {
    let mut text = "benchmark,t\n".to_owned();
    for number in 0..pairs {
        let noise = |step: u32| f64::from((number * 7 + salt * 3 + step) * 7919 % 13) - 6.0;
        let base = format!("base,{}\n", level * (1.0 + 0.001 * noise(1)));
        let head = format!("head,{}\n", level * factor * (1.0 + 0.001 * noise(5)));
        text += &if number % 2 == 0 { base + &head } else { head + &base };
    }
    text
}

fn part(number: u64, of: u64, text: &str) -> ShardPart {
    let mut recording = Recording::new(None, Units::new());
    if !text.is_empty() {
        recording.read(&mut text.as_bytes(), "it").unwrap();
    }
    let side = |commit: &str| json!({"rev": "it", "commit": commit, "tree": "t", "dirty": false});
    let companion = json!({
        "schema": 1, "base": side("b"), "head": side("a"), "toolchain": null, "programs": [],
        "seed": 7, "shard": {"number": number, "of": of, "seed": number}, "confidence": 0.95,
        "estimator": "mean", "time_limit_seconds": 300.0, "max_pairs": null,
        "fail_on": [], "removed": [],
        "selecting": [], "told": [], "gates": [gate("it", 0.02)], "exact": [],
        "units": {}, "not_measured": [], "stopped_by": "max-pairs", "rows": recording.rows(),
    });
    let companion: Companion = serde_json::from_value(companion).unwrap();
    let shard = companion.shard.unwrap();
    ShardPart { file: format!("{number}.csv"), shard, companion, recording }
}

fn gate(benchmark: &str, threshold: f64) -> Value {
    let gate = BenchmarkGate { benchmark: benchmark.to_owned(), gate: Gate::new("t", threshold) };
    json!(gate)
}

/// The size of a program that gates.
fn size(benchmark: &str, head: f64, threshold: f64) -> ExactMetric {
    let gate = Gate::new("size", threshold);
    let result = exact(Metric::named("size"), Some(&gate), 1.0, head);
    ExactMetric { benchmark: benchmark.to_owned(), result }
}

/// Why parts can't be combined.
fn misfit(parts: Vec<ShardPart>) -> String {
    combine(parts, false).unwrap_err().to_string()
}

fn summary(outcome: &Outcome) -> Summary {
    outcome.benchmarks[0].metrics[0].summary
}

#[test]
fn one_machine_alone_says_what_its_samples_say() {
    let text = rows(40, 3.0, 1.012, 0);
    let combined = combine(vec![part(1, 1, &text)], false).unwrap();
    let spec = Spec {
        judges: false,
        not_measured: Vec::new(),
        gates: Some(vec![Gate::new("t", 0.02)]),
        named: Vec::new(),
        policy: part(1, 1, "").companion.policy(),
        chosen: true,
        base: None,
        units: Units::new(),
    };
    let mut alone = Analysis::new(spec, 1);
    alone.read(&mut text.as_bytes(), "it", &mut |_| Flow::Go).unwrap();
    let alone = alone.outcome(StoppedBy::MaxPairs);
    assert_eq!((combined.verdict, combined.stopped_by), (alone.verdict, alone.stopped_by));
    let (combined, alone) = (summary(&combined), summary(&alone));
    assert_eq!((combined.pairs, combined.base), (alone.pairs, alone.base));
    for (one, other) in [(combined.lower, alone.lower), (combined.upper, alone.upper)] {
        assert!((one.unwrap() - other.unwrap()).abs() < 1e-12, "{one:?} {other:?}");
    }
}

#[test]
fn a_slower_machine_counts_no_more_than_another() {
    let both = |level: f64| {
        let parts = vec![part(1, 2, &rows(9, 1.0, 1.1, 0)), part(2, 2, &rows(9, level, 1.1, 4))];
        combine(parts, false).unwrap()
    };
    let (alike, slower) = (both(1.0), both(8.0));
    assert_eq!(slower.verdict, Some(Verdict::Regression));
    let (alike, slower) = (summary(&alike), summary(&slower));
    assert!((alike.lower.unwrap() - slower.lower.unwrap()).abs() < 1e-12);
    assert!(slower.base.unwrap() > 3.0, "the estimates are in seconds, of all machines");
    assert!(slower.pairs < 18);
}

#[test]
fn the_order_of_the_files_does_not_matter() {
    let parts = |numbers: [u64; 3]| -> Vec<ShardPart> {
        let one = |number: u64| part(number, 3, &rows(6, number as f64, 1.1, number as u32));
        numbers.map(one).into_iter().collect()
    };
    let forwards = combine(parts([1, 2, 3]), false).unwrap();
    assert_eq!(combine(parts([3, 1, 2]), false).unwrap(), forwards);
}

#[test]
fn what_is_missing_is_named_and_may_be_allowed() {
    let parts = || vec![part(2, 4, &rows(20, 1.0, 1.0, 0))];
    assert_eq!(misfit(parts()), "shards 1, 3 and 4 of 4 are missing");
    let outcome = combine(parts(), true).unwrap();
    assert_eq!(outcome.verdict, Some(Verdict::NoRegression));
    assert_eq!(outcome.notices[0], Notice::MissingShards { numbers: vec![1, 3, 4] });
}

#[test]
fn a_benchmark_that_no_machine_had_time_for_leaves_the_verdict_open() {
    let of_several = |salt: u32| {
        let rows = rows(20, 1.0, 1.0, salt);
        rows.replace("base,", "it/base,").replace("head,", "it/head,")
    };
    let outcome = |more: Option<Value>| {
        let mut parts = vec![part(1, 2, &of_several(0)), part(2, 2, &of_several(4))];
        for part in &mut parts {
            part.companion
                .gates
                .extend(more.clone().map(|gate| serde_json::from_value(gate).unwrap()));
        }
        combine(parts, false).unwrap()
    };
    assert_eq!(outcome(None).verdict, Some(Verdict::NoRegression));
    let outcome = outcome(Some(gate("late", 0.02)));
    assert_eq!(outcome.verdict, Some(Verdict::Inconclusive));
    let late = &outcome.benchmarks[1];
    assert_eq!((late.name.as_str(), late.status), ("late", Status::NotMeasured));
}

#[test]
fn parts_of_different_things_are_refused() {
    let (a, b) = (rows(9, 1.0, 1.0, 0), rows(9, 1.0, 1.0, 1));
    let two = |change: &dyn Fn(&mut ShardPart)| {
        let mut second = part(2, 2, &b);
        change(&mut second);
        misfit(vec![part(1, 2, &a), second])
    };
    let other = two(&|part| part.companion.head.commit = "b".to_owned());
    assert_eq!(other, "1.csv and 2.csv have different head commits: a and b");
    let of = two(&|part| part.companion.shard.as_mut().unwrap().shard.of = 3);
    assert_eq!(of, "1.csv and 2.csv have different numbers of shards: 2 and 3");
    let twice = two(&|part| part.shard.shard.number = 1);
    assert_eq!(twice, "1.csv and 2.csv are both shard 1/2");
    let copies = "1.csv and 2.csv contain the same samples, or were made with the same seed";
    assert_eq!(two(&|part| part.shard.seed = 1), copies);
    assert_eq!(misfit(vec![part(1, 2, &a), part(2, 2, &a)]), copies);
    let rows = two(&|part| part.companion.rows += 1);
    assert_eq!(rows, "2.csv has 18 rows, but 19 were measured");
    let counts = "benchmark,t\nbase,7\nhead,7\nhead,7\nbase,7\n";
    combine(vec![part(1, 2, counts), part(2, 2, counts)], false).unwrap();
    let sized = two(&|part| part.companion.exact.push(size("it", 1.0, 0.0)));
    let said = r#"different programs: [] and [("it", "size", Some(1.0), Some(1.0))]"#;
    assert!(sized.ends_with(said), "{sized}");
    let idle = two(&|part| part.companion.stopped_by = StoppedBy::Identical);
    assert_eq!(idle, "2.csv has no samples (identical), but others have");
}

#[test]
fn rows_that_do_not_pair_are_refused() {
    for text in
        ["benchmark,t\nbase,1\nbase,1\nhead,1\nhead,1\n", "benchmark,t\nbase,1\nhead,1\nbase,1\n"]
    {
        let why = misfit(vec![part(1, 1, text)]);
        assert!(why.ends_with(" in 1.csv do not form pairs"), "{why}");
    }
}

#[test]
fn several_benchmarks_share_the_alarms_and_known_answers_count() {
    let text = |factor: f64| {
        let mut text = "benchmark,t\n".to_owned();
        for number in 0..12 {
            let noise = f64::from(number * 7919 % 13) * 0.001;
            for (name, factor) in [("a", 1.0), ("b", factor)] {
                let time = factor * (1.0 + noise * 1.5);
                text += &format!("{name}/base,{}\n{name}/head,{time}\n", 1.0 + noise);
            }
        }
        text
    };
    let parts = |size: f64| -> Vec<ShardPart> {
        let one = |number: u64| {
            // So that no two shards have the same rows.
            let mut part = part(number, 2, &text(1.0 + 0.001 * number as f64));
            let of_both = ["a", "b"].map(|name| gate(name, 0.05));
            part.companion.gates = serde_json::from_value(json!(of_both)).unwrap();
            part.companion.exact = vec![self::size("program", size, 0.05)];
            part
        };
        vec![one(1), one(2)]
    };
    let outcome = combine(parts(1.0), false).unwrap();
    let names: Vec<&str> = outcome.benchmarks.iter().map(|of| of.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "program"]);
    assert_eq!(outcome.verdict, Some(Verdict::NoRegression));
    assert_eq!(outcome.benchmarks[0].labels.as_ref().unwrap().head, "a/it");
    assert_eq!(combine(parts(1.1), false).unwrap().verdict, Some(Verdict::Regression));
}

#[test]
fn where_no_machine_had_anything_to_measure_that_is_the_answer() {
    let idle = |number, stopped_by| {
        let mut part = part(number, 2, "");
        part.companion.stopped_by = stopped_by;
        part
    };
    for (nothing, verdict) in
        [(StoppedBy::Identical, Verdict::Identical), (StoppedBy::NoBaseline, Verdict::NoBaseline)]
    {
        let outcome = combine(vec![idle(1, nothing), idle(2, nothing)], false).unwrap();
        assert_eq!((outcome.verdict, outcome.rows), (Some(verdict), Some(0)));
    }
}

#[test]
fn a_few_of_the_benchmarks_that_are_lost_are_named() {
    assert_eq!(with_them(&[]), "");
    assert_eq!(with_them(&["a", "b"]), "; not measured: `a`, `b`");
    let seven = ["a", "b", "c", "d", "e", "f", "g"];
    assert!(with_them(&seven).ends_with("`e` and 2 more"), "{}", with_them(&seven));
}
