use super::*;
use crate::engine::test::exact;
use crate::model::metric::Units;
use crate::samples::{Analysis, Flow, Spec};

/// Rows of so many pairs, of which the head takes `factor` times as long, on a
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

fn part(number: u64, of: u64, text: &str) -> Part {
    let mut recording = Recording::new(None, Units::new());
    if !text.is_empty() {
        recording.read(&mut text.as_bytes(), "it").unwrap();
    }
    Part {
        file: format!("{number}.csv"),
        shard: Shard { number, of },
        order: number,
        alike: vec![("head commits", "a".to_owned())],
        gates: vec![("it".to_owned(), Gate::new("t", 0.02))],
        exact: Vec::new(),
        branch: Branch::default(),
        nothing: None,
        rows: recording.rows(),
        recording,
    }
}

const JUDGING: Judging =
    Judging { confidence: 0.95, estimator: Estimator::Mean, allow_missing: false };

fn misfit(parts: Vec<Part>) -> Misfit {
    match combine(parts, JUDGING) {
        Err(Error::Shards(misfit)) => misfit,
        other => panic!("{other:?}"),
    }
}

fn result(findings: &Findings) -> &MetricResult {
    &findings.versus[0].findings[0].result
}

#[test]
fn one_machine_alone_says_what_its_samples_say() {
    let text = rows(40, 3.0, 1.012, 0);
    let combined = combine(vec![part(1, 1, &text)], JUDGING).unwrap();
    let spec = Spec {
        judges: false,
        gates: Some(vec![Gate::new("t", 0.02)]),
        named: Vec::new(),
        confidence: 0.95,
        estimator: Estimator::Mean,
        chosen: true,
        base: None,
        units: Units::new(),
    };
    let mut alone = Analysis::new(spec, 1);
    alone.read(&mut text.as_bytes(), "it", &mut |_| Flow::Go).unwrap();
    let alone = alone.findings(StoppedBy::MaxPairs);
    assert_eq!((combined.verdict, combined.stopped_by), (alone.verdict, alone.stopped_by));
    let (combined, alone) = (result(&combined).summary, result(&alone).summary);
    assert_eq!((combined.pairs, combined.base), (alone.pairs, alone.base));
    for (one, other) in [(combined.lower, alone.lower), (combined.upper, alone.upper)] {
        assert!((one.unwrap() - other.unwrap()).abs() < 1e-12, "{one:?} {other:?}");
    }
}

#[test]
fn a_slower_machine_counts_no_more_than_another() {
    let both = |level: f64| {
        let parts = vec![part(1, 2, &rows(9, 1.0, 1.1, 0)), part(2, 2, &rows(9, level, 1.1, 4))];
        combine(parts, JUDGING).unwrap()
    };
    let (alike, slower) = (both(1.0), both(8.0));
    assert_eq!(slower.verdict, Some(Verdict::Regression));
    let (alike, slower) = (result(&alike).summary, result(&slower).summary);
    assert!((alike.lower.unwrap() - slower.lower.unwrap()).abs() < 1e-12);
    assert!(slower.base.unwrap() > 3.0, "the estimates are in seconds, of all machines");
    assert!(slower.pairs < 18);
}

#[test]
fn the_order_of_the_files_does_not_matter() {
    let parts = |numbers: [u64; 3]| -> Vec<Part> {
        let one = |number: u64| part(number, 3, &rows(6, number as f64, 1.1, number as u32));
        numbers.map(one).into_iter().collect()
    };
    let forwards = combine(parts([1, 2, 3]), JUDGING).unwrap();
    assert_eq!(combine(parts([3, 1, 2]), JUDGING).unwrap(), forwards);
}

#[test]
fn what_is_missing_is_named_and_may_be_allowed() {
    let parts = || vec![part(2, 4, &rows(20, 1.0, 1.0, 0))];
    assert_eq!(misfit(parts()), Misfit::Missing { numbers: vec![1, 3, 4], of: 4 });
    assert_eq!(misfit(parts()).to_string(), "of 4 shards 1, 3 and 4 are missing");
    let findings = combine(parts(), Judging { allow_missing: true, ..JUDGING }).unwrap();
    assert_eq!(findings.verdict, Some(Verdict::NoRegression));
    assert_eq!(findings.notices[0], Notice::MissingShards { numbers: vec![1, 3, 4] });
}

#[test]
fn parts_of_different_things_are_refused() {
    let (a, b) = (rows(9, 1.0, 1.0, 0), rows(9, 1.0, 1.0, 1));
    let two = |change: &dyn Fn(&mut Part)| {
        let mut second = part(2, 2, &b);
        change(&mut second);
        misfit(vec![part(1, 2, &a), second])
    };
    let other = two(&|part| part.alike[0].1 = "b".to_owned());
    assert_eq!(other.to_string(), "1.csv and 2.csv have different head commits: a and b");
    assert!(matches!(two(&|part| part.shard.of = 3), Misfit::Differ { .. }));
    assert!(matches!(two(&|part| part.shard.number = 1), Misfit::Twice { .. }));
    assert!(matches!(two(&|part| part.order = 1), Misfit::Copy { .. }));
    assert!(matches!(misfit(vec![part(1, 2, &a), part(2, 2, &a)]), Misfit::Copy { .. }));
    assert!(matches!(two(&|part| part.rows += 1), Misfit::Rows { found: 18, measured: 19, .. }));
    let counts = "benchmark,t\nbase,7\nhead,7\nhead,7\nbase,7\n";
    combine(vec![part(1, 2, counts), part(2, 2, counts)], JUDGING).unwrap();
    let size = exact(Metric::named("size"), Some(&Gate::new("size", 0.0)), 1.0, 1.0);
    let sized = two(&|part| part.exact.push(("it".to_owned(), size.clone())));
    assert!(matches!(sized, Misfit::Differ { what: "programs", .. }), "{sized}");
    let idle = two(&|part| part.nothing = Some(StoppedBy::Identical));
    assert!(matches!(idle, Misfit::Nothing { why: "identical", .. }));
}

#[test]
fn rows_that_do_not_pair_are_refused() {
    for text in
        ["benchmark,t\nbase,1\nbase,1\nhead,1\nhead,1\n", "benchmark,t\nbase,1\nhead,1\nbase,1\n"]
    {
        assert!(matches!(misfit(vec![part(1, 1, text)]), Misfit::Unpaired { .. }), "{text}");
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
    let parts = |size: f64| -> Vec<Part> {
        let one = |number: u64| {
            let of_both = ["a", "b"].map(|name| (name.to_owned(), Gate::new("t", 0.05)));
            let size = exact(Metric::named("size"), Some(&Gate::new("size", 0.05)), 1.0, size);
            // Not the same rows twice.
            let text = text(1.0 + 0.001 * number as f64);
            Part {
                gates: of_both.to_vec(),
                exact: vec![("program".to_owned(), size)],
                ..part(number, 2, &text)
            }
        };
        vec![one(1), one(2)]
    };
    let findings = combine(parts(1.0), JUDGING).unwrap();
    let names: Vec<&str> = findings.versus.iter().map(|v| v.result.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "program"]);
    assert_eq!(findings.verdict, Some(Verdict::NoRegression));
    assert_eq!(findings.versus[0].labels.head, "a/head");
    assert_eq!(combine(parts(1.1), JUDGING).unwrap().verdict, Some(Verdict::Regression));
}

#[test]
fn where_no_machine_had_anything_to_measure_that_is_the_answer() {
    let idle = |number, nothing| Part { nothing: Some(nothing), ..part(number, 2, "") };
    for (nothing, verdict) in
        [(StoppedBy::Identical, Verdict::Identical), (StoppedBy::NoBaseline, Verdict::NoBaseline)]
    {
        let findings = combine(vec![idle(1, nothing), idle(2, nothing)], JUDGING).unwrap();
        assert_eq!((findings.verdict, findings.rows), (Some(verdict), 0));
    }
}
