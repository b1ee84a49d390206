use super::*;
use crate::model::gate::Gate;
use crate::model::metric::{Metric, Units};
use crate::model::outcome::{Policy, SameReason};
use crate::model::shard::AllottedBenchmark;
use crate::model::{BenchmarkNotice, Division};
use crate::samples::{Companion, Recording, combine};
use serde_json::json;

/// What a test has shown: its verdict, and among how many tests it is an alarm.
type Test = (Verdict, usize);

const OPEN: Verdict = Verdict::Inconclusive;
const PASSED: Verdict = Verdict::NoRegression;
const SLOWER: Verdict = Verdict::Regression;

/// The parts of two machines, each with two of four benchmarks; `None` is unaffected.
fn parts(tests: [Option<Test>; 4], evidence: f64) -> Vec<ShardPart> {
    let names = ["a", "b", "c", "d"];
    let gate = |_| vec![Gate::new("t", 0.02)];
    let allotted = |(place, name): (usize, &&str)| AllottedBenchmark {
        benchmark: format!("suite/{name}"),
        program: "suite".to_owned(),
        shard: 1 + place as u64 % 2,
        gates: gate(place),
    };
    let benchmarks: Vec<AllottedBenchmark> = names.iter().enumerate().map(allotted).collect();
    let part = |number: u64| {
        let own: Vec<usize> = (0..4).filter(|place| 1 + *place as u64 % 2 == number).collect();
        let sampled: Vec<usize> =
            own.iter().copied().filter(|place| tests[*place].is_some()).collect();
        let mut results = Vec::new();
        for place in &sampled {
            let (verdict, alarm_among) = tests[*place].unwrap();
            let summary = Summary {
                pairs: 20,
                base: Some(1.0),
                head: Some(1.05),
                change: Some(0.05),
                lower: Some(0.01),
                upper: Some(0.09),
            };
            let metric = MetricResult::new(Metric::named("t"), Some(0.02), summary, Some(verdict));
            let metric = MetricResult { alarm_among, shared_by: 4, ..metric };
            results.push(BenchmarkResult {
                pairs: 20,
                metrics: vec![metric],
                ..BenchmarkResult::new(&benchmarks[*place].benchmark, Status::Compared)
            });
        }
        for place in own.iter().filter(|place| tests[**place].is_none()) {
            let name = &benchmarks[*place].benchmark;
            results.push(BenchmarkResult::same(name, Status::Unaffected, SameReason::default()));
        }
        results.push(BenchmarkResult::new("suite/new", Status::New));
        let outcome = Outcome {
            benchmarks: results,
            elapsed_seconds: Some(10.0 * number as f64),
            seed: Some(number),
            notices: vec![BenchmarkNotice::New.about("suite/new")],
            policy: policy(),
            stopped_by: StoppedBy::TimeLimit,
            ..Outcome::default()
        };
        let division = Division {
            benchmarks: benchmarks.clone(),
            suite: None,
            sharing: 2 * sampled.len(),
            evidence,
            over_layouts: Vec::new(),
        };
        let gates = sampled.iter().map(|place| {
            json!({"benchmark": benchmarks[*place].benchmark, "metric": "t", "threshold": 0.02,
                "warn": null, "waiver": null})
        });
        let own = OwnPart::new(&outcome, &division, |_| "a new one".to_owned());
        let side =
            |commit: &str| json!({"rev": "it", "commit": commit, "tree": "t", "dirty": false});
        // As if it had been written and read.
        let companion: Companion = serde_json::from_str(&json!({
            "schema": 1, "base": side("b"), "head": side("a"), "toolchain": null, "programs": [],
            "seed": 7, "shard": {"number": number, "of": 2, "seed": number}, "confidence": 0.95,
            "estimator": "robust", "time_limit_seconds": 300.0, "max_pairs": null,
            "fail_on": [], "removed": [], "selecting": [], "told": [],
            "gates": gates.collect::<Vec<_>>(), "exact": [], "units": {}, "not_measured": [],
            "stopped_by": "time-limit", "own": own, "rows": 0,
        }).to_string())
        .unwrap();
        let shard = companion.shard.unwrap();
        let recording = Recording::new(None, Units::new());
        ShardPart { file: format!("{number}.csv"), shard, companion, recording }
    };
    vec![part(1), part(2)]
}

fn policy() -> Policy {
    Policy {
        confidence: 0.95,
        estimator: crate::model::estimator::Estimator::Robust,
        fail_on: BTreeSet::default(),
        layouts: Layouts::Auto,
        shard_by: crate::model::shard::ShardBy::Benchmarks,
        suite: None,
    }
}

fn verdicts(outcome: &Outcome) -> Vec<Option<Verdict>> {
    let metric = |one: &BenchmarkResult| one.metrics.first().and_then(|metric| metric.verdict);
    outcome.benchmarks.iter().map(metric).collect()
}

#[test]
fn the_outcome_is_that_of_one_machine() {
    let tests = [Some((PASSED, 0)), Some((SLOWER, 4)), None, Some((OPEN, 1))];
    let outcome = combine(parts(tests, 0.0), false).unwrap();
    let names: Vec<&str> = outcome.benchmarks.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["suite/a", "suite/b", "suite/d", "suite/c", "suite/new"]);
    assert_eq!(
        verdicts(&outcome),
        [Some(PASSED), Some(SLOWER), Some(OPEN), None, None],
        "the order is that of one machine"
    );
    assert_eq!(outcome.verdict, Some(SLOWER));
    assert_eq!((outcome.shard, outcome.rows, outcome.seed), (Some(None), None, None));
    assert_eq!(outcome.elapsed_seconds, Some(20.0));
    assert_eq!(outcome.stopped_by, StoppedBy::TimeLimit);
    assert_eq!(outcome.policy.layouts, Layouts::Auto);
    let pairs = outcome.metrics().map(|(_, metric)| metric.summary.pairs);
    assert!(pairs.clone().all(|pairs| pairs == 20) && pairs.count() == 3);
    let unaffected = Notice::Unaffected { benchmarks: 1, of: 4, has_same_code: false };
    let told = Notice::OfShard { text: "a new one".to_owned(), weight: Weight::Note };
    assert_eq!(outcome.notices, [unaffected, told], "each once");
}

#[test]
fn what_a_machine_left_open_may_be_a_regression_of_all() {
    // Each is held to a fourth of the error, until one is found.
    let with = |first| {
        combine(
            parts(
                [Some((OPEN, first)), Some((SLOWER, 4)), Some((OPEN, 2)), Some((PASSED, 0))],
                0.0,
            ),
            false,
        )
    };
    assert_eq!(verdicts(&with(2).unwrap())[..3], [Some(OPEN), Some(SLOWER), Some(OPEN)]);
    // A third for the next, and a half for the last.
    let outcome = with(3).unwrap();
    assert_eq!(verdicts(&outcome), [Some(SLOWER), Some(SLOWER), Some(SLOWER), Some(PASSED), None]);
    let raised = &outcome.benchmarks[0].metrics[0];
    assert_eq!((raised.summary.lower, raised.shared_by), (Some(0.02), 3));
    assert_eq!(outcome.stopped_by, StoppedBy::Verdict);
}

#[test]
fn the_machines_together_know_that_one_is_slower_before_they_know_which() {
    let open = [1, 0, 2, 0].map(|among| Some((OPEN, among)));
    let likely = |evidence| combine(parts(open, evidence), false).unwrap().likely_slower;
    assert_eq!(likely(9.0), None);
    assert_eq!(likely(11.0).as_deref(), Some("suite/c"));
}

#[test]
fn what_a_lost_machine_had_is_not_measured() {
    let passed = [Some((PASSED, 0)); 4];
    let lost = |allowed| {
        let mut parts = parts(passed, 0.0);
        parts.pop();
        combine(parts, allowed)
    };
    let error = lost(false).unwrap_err().to_string();
    assert_eq!(error, "shard 2 of 2 is missing; not measured: `suite/b`, `suite/d`");
    let outcome = lost(true).unwrap();
    let statuses: Vec<Status> = outcome.benchmarks.iter().map(|one| one.status).collect();
    use Status::{Compared, New, NotMeasured};
    assert_eq!(statuses, [Compared, Compared, NotMeasured, NotMeasured, New]);
    assert_eq!((outcome.verdict, outcome.stopped_by), (Some(OPEN), StoppedBy::TimeLimit));
    assert_eq!(outcome.notices[0], Notice::MissingShards { numbers: vec![2] });
}

#[test]
fn what_was_stopped_is_left_out_if_it_is_old_or_was_measured_again() {
    let all = || parts([Some((PASSED, 0)); 4], 0.0);
    // Sorted as files are, before or after the one that ended.
    let with = |file: &str, change: &dyn Fn(&mut ShardPart)| {
        let mut stopped = all().remove(0);
        stopped.companion.stopped_by = StoppedBy::Interrupt;
        stopped.file = file.to_owned();
        change(&mut stopped);
        let mut parts = all();
        parts.insert(usize::from(file == "1.csv.partial"), stopped);
        let outcome = combine(parts, false).unwrap();
        assert_eq!(outcome.verdict, Some(PASSED));
        match &outcome.notices[0] {
            Notice::OfShard { text, weight: Weight::Warning } => text.clone(),
            other => panic!("{other:?}"),
        }
    };
    for file in ["1.1.csv.partial", "1.csv.partial"] {
        let again = format!("{file} is left out: a later run measured its benchmarks again");
        assert_eq!(with(file, &|_| {}), again);
        let old =
            format!("{file} is left out: its run was interrupted, and compared other commits");
        assert_eq!(with(file, &|part| part.companion.head.commit = "older".to_owned()), old);
    }
}

#[test]
fn it_stopped_as_the_machine_that_left_something_undecided() {
    use StoppedBy::{Interrupt, MaxPairs, TimeLimit};
    // The first benchmark is the first machine's, the second one the second's.
    let joined = |own: [Verdict; 2], ends: [(StoppedBy, f64); 2]| {
        let [first, second] = own.map(|verdict| Some((verdict, 0)));
        let mut parts = parts([first, second, None, None], 0.0);
        for (part, (stopped_by, seconds)) in parts.iter_mut().zip(ends) {
            let mut text = json!(part.companion);
            text["stopped_by"] = json!(stopped_by);
            text["time_limit_seconds"] = json!(seconds);
            part.companion = serde_json::from_value(text).unwrap();
        }
        let outcome = combine(parts, false).unwrap();
        (outcome.stopped_by, outcome.limits.time.as_secs())
    };
    let limits = |first, second| [(first, 60.0), (second, 300.0)];
    let table = [
        ([OPEN, PASSED], limits(Interrupt, TimeLimit), (Interrupt, 60)),
        ([PASSED, OPEN], limits(Interrupt, MaxPairs), (MaxPairs, 300)),
        ([PASSED, OPEN], limits(MaxPairs, TimeLimit), (TimeLimit, 300)),
        ([OPEN, PASSED], limits(TimeLimit, MaxPairs), (TimeLimit, 60)),
        ([OPEN, OPEN], limits(TimeLimit, MaxPairs), (TimeLimit, 60)),
        ([OPEN, OPEN], limits(TimeLimit, Interrupt), (Interrupt, 300)),
        ([PASSED, PASSED], limits(Interrupt, TimeLimit), (StoppedBy::Verdict, 300)),
    ];
    for (own, ends, expected) in table {
        assert_eq!(joined(own, ends), expected, "{own:?} {ends:?}");
    }
}

#[test]
fn machines_that_tested_alarms_differently_are_not_joined() {
    let mut parts = parts([Some((PASSED, 0)); 4], 0.0);
    parts[1].companion.own.as_mut().unwrap().layouts = Layouts::Off;
    let error = combine(parts, false).unwrap_err().to_string();
    assert_eq!(error, "1.csv and 2.csv have different values of `layouts`: auto and off");
}

#[test]
fn a_companion_has_all_that_must_be_equal_in_shards() {
    let parts = parts([Some((PASSED, 0)); 4], 0.0);
    let companion = json!(parts[0].companion);
    for (what, place) in crate::samples::shards::SHARED {
        assert!(companion.pointer(place).is_some(), "{what} at {place}");
    }
}
