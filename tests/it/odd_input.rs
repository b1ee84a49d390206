//! All external input, damaged at seeded places: a result or an error, never a
//! panic, and no more time or memory than its size justifies.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cargo_cbdr::exec::harness::{Harness, OutputPaths};
use cargo_cbdr::flows::history::note::CommitNote;
use cargo_cbdr::model::dialect::Dialect;
use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::layouts::Layouts;
use cargo_cbdr::model::metric::Units;
use cargo_cbdr::model::outcome::{Policy, StoppedBy};
use cargo_cbdr::model::shard::ShardBy;
use cargo_cbdr::model::target::{Target, TargetKind};
use cargo_cbdr::samples::{Analysis, Flow, Recording, Spec};
use cargo_cbdr::settings::options;
use cargo_cbdr::settings::origin::Layer;
use cargo_cbdr::settings::table::Table;
use cargo_cbdr::workspace::cargo::{BuildMessages, Workspace, invocation_from_log};

use crate::support::{Random, Repo, setting};

/// What a text does not expect.
const ODD: [&[u8]; 24] = [
    b"\0",
    b"\n",
    b"\r",
    b"\"",
    b"\\",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x1b[2J",
    b",",
    b",,,,,,,,",
    b"-1",
    b"1e999",
    b"-0",
    b"NaN",
    b"inf",
    b"99999999999999999999999999999999",
    b"0.000000000000000000000000000000000000001",
    b"[[[[[[[[[[[[[[[[[[[[",
    b"{\"a\":{\"a\":{\"a\":",
    b"null",
    b"true",
    b"::set-env name=A::b",
    "\u{202e}µ│├─".as_bytes(),
    b"/",
];

/// Damages a text in one to four places.
fn damaged(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() as u64 + 1) as usize;
        let to = (at + random.below(40) as usize).min(bytes.len());
        match random.below(6) {
            0 => drop(bytes.drain(at..to)),
            1 => bytes.truncate(at),
            2 => {
                let piece = bytes[at..to].to_vec();
                let other = random.below(bytes.len() as u64 + 1) as usize;
                bytes.splice(other..other, piece);
            }
            3 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            _ => {
                let odd = ODD[random.below(ODD.len() as u64) as usize];
                let times = if random.below(10) == 0 { 300 } else { 1 };
                bytes.splice(at..at, odd.repeat(times));
            }
        }
    }
    bytes
}

/// Calls `read` with each text damaged again and again, `CBDR_ROUNDS` times. What it returns says
/// whether the text was understood: both must occur, or nothing was tried.
#[track_caller]
fn try_all(seed: u64, texts: &[&[u8]], mut read: impl FnMut(&[u8]) -> bool) {
    let mut random = Random::new(seed);
    let mut understood = [0, 0];
    for text in texts {
        assert!(read(text), "{}", String::from_utf8_lossy(text));
        for round in 0..setting("CBDR_ROUNDS", 500) {
            let bytes = damaged(text, &mut random);
            let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read(&bytes)));
            let Ok(answer) = answer else {
                panic!("seed {seed}, round {round}: {:?}", String::from_utf8_lossy(&bytes));
            };
            understood[usize::from(answer)] += 1;
        }
    }
    assert!(understood.iter().all(|&count| count > 0), "{understood:?}");
}

#[test]
fn samples() {
    let plain: &[u8] =
        b"benchmark,wall_time,max_rss\nbase,1.5,100\nhead,1.25,\nhead,1,2\nbase,2,3\n";
    let quoted: &[u8] =
        b"\xef\xbb\xbfbenchmark,t\r\n\"a \"\"b\"\"/base\",1e-3\r\na/head,2\r\nbenchmark,t\r\na/base,3";
    let spec = |estimator| Spec {
        judges: false,
        not_measured: Vec::new(),
        gates: None,
        named: Vec::new(),
        policy: Policy {
            confidence: 0.95,
            estimator,
            fail_on: BTreeSet::new(),
            layouts: Layouts::Off,
            shard_by: ShardBy::Pairs,
            suite: None,
        },
        chosen: false,
        base: None,
        units: Units::new(),
    };
    for estimator in [Estimator::Mean, Estimator::GeometricMean, Estimator::Median] {
        try_all(1, &[plain, quoted], |text| {
            let mut analysis = Analysis::new(spec(estimator), 1);
            let read = analysis.read(&mut &*text, "it", &mut |_| Flow::Go);
            let mut recording = Recording::new(None, Units::new());
            let kept = recording.read(&mut &*text, "it");
            assert!(kept.is_ok() || read.is_err(), "{kept:?}");
            if read.is_ok() && analysis.check().is_ok() {
                analysis.outcome(StoppedBy::Verdict);
            }
            read.is_ok()
        });
    }
}

#[test]
fn what_benchmarks_print() {
    let folder = crate::support::scratch();
    let place =
        OutputPaths { stdout: folder.path().join("out"), output: folder.path().join("output") };
    let texts: [(Dialect, &[u8]); 4] = [
        (Dialect::Json, b"{\"one\": {\"wall_time\": 1.5e-3, \"n\": 3}, \"two\": {\"n\": -4,}}\n"),
        (
            Dialect::Criterion,
            b"fib 10   time:   [188.96 ns 189.33 ns 189.51 ns]\nb\n  time:   [1 cycles 2 cycles 3 cycles]\n",
        ),
        (
            Dialect::Divan,
            "work   fastest │ slowest │ median  │ mean    │ samples │ iters\n\
             ├─ add 1.2 ns  │ 3 ns    │ 1.3 ns  │ 1.4 ns  │ 100     │ 100\n\
             ╰─ of          │         │         │         │         │\n   \
             ╰─ 1  1.2 µs   │ 3 ms    │ 1.3 s   │ 1.4 m   │ 100     │ 100\n"
                .as_bytes(),
        ),
        (
            Dialect::Libtest,
            b"test a::b ... bench:   1,234.56 ns/iter (+/- 7) = 3 MB/s\ntest c ... ignored\n",
        ),
    ];
    for (dialect, text) in texts {
        let harness = Harness::new(dialect, None);
        try_all(2, &[text], |text| {
            std::fs::write(&place.stdout, text).unwrap();
            harness.read(&place).is_ok()
        });
    }
}

#[test]
fn a_run_that_prints_too_much() {
    let folder = crate::support::scratch();
    let place =
        OutputPaths { stdout: folder.path().join("out"), output: folder.path().join("output") };
    let read = |dialect, text: &str| {
        std::fs::write(&place.stdout, text).unwrap();
        Harness::new(dialect, None).read(&place).unwrap_err().to_string()
    };
    let metrics: Vec<String> = (0..1001).map(|n| format!("\"m{n}\":1")).collect();
    let object = format!("{{{}}}", metrics.join(","));
    assert_eq!(read(Dialect::Json, &object), "it has more than 1000 metrics");
    let benches: Vec<String> = (0..10_001).map(|n| format!("\"b{n}\":{{\"m\":1}}")).collect();
    let object = format!("{{{}}}", benches.join(","));
    assert_eq!(read(Dialect::Json, &object), "it has more than 10000 benchmarks");
    let deep = "[".repeat(1 << 20);
    assert!(read(Dialect::Json, &deep).contains("recursion limit"));
    let lines: String =
        (0..10_001).map(|n| format!("test b{n} ... bench: 1 ns/iter (+/- 0)\n")).collect();
    assert_eq!(read(Dialect::Libtest, &lines), "it has more than 10000 benchmarks");
    for dialect in [Dialect::Json, Dialect::Libtest, Dialect::Divan, Dialect::Criterion] {
        // A hole: nothing is written for it.
        std::fs::File::create(&place.stdout).unwrap().set_len(1 << 34).unwrap();
        let error = Harness::new(dialect, None).read(&place).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 16 MiB");
    }
    // Nobody writes into this pipe.
    std::fs::remove_file(&place.stdout).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&place.stdout).status().unwrap();
    assert!(made.success());
    Harness::new(Dialect::Json, None).read(&place).unwrap_err();
}

#[test]
fn samples_without_end() {
    let repo = Repo::new("steady");
    let analyze = |text: String| {
        repo.write("rows.csv", &text);
        repo.cbdr("analyze rows.csv").run()
    };
    let columns: Vec<String> = (0..1001).map(|n| format!("m{n}")).collect();
    let text = format!("benchmark,{}\n", columns.join(","));
    analyze(text).code(101).says("line 1, column 1002: there are more than 1000 metrics");
    let rows: String = (0..20_001).map(|n| format!("label {n},1\n")).collect();
    let ran = analyze(format!("benchmark,t\n{rows}")).code(101);
    ran.says("there are more than 20000 labels").says("hint: the first column");
}

#[test]
fn the_table() {
    let texts: [&[u8]; 2] = [
        br#"{"cbdr": {"base": "main", "bench": "work", "args": ["a"], "threshold": "2%",
            "thresholds": {"max_rss": "5%"}, "metrics": ["wall_time", "max_rss"],
            "units": {"n": {"unit": "B", "better": "higher"}}, "confidence": "95%",
            "time-limit": "5m", "max-pairs": 100, "warmup": 1, "run-timeout": "10m",
            "fail-on": ["removed"], "estimator": "median", "warn": "1%"}}"#,
        br#"{"cbdr": {"command": "sh -c 'a b' \"c\"", "build-command": "make",
            "benchmarks": {"one": {"bin": "b", "threshold": "3.5%"}, "two": {"args": []}}}}"#,
    ];
    try_all(3, &texts, |text| {
        let Ok(value) = serde_json::from_slice(text) else { return false };
        let table = match Table::of_metadata(&value, Layer::Package) {
            Ok(Some(table)) => table,
            Ok(None) => return false,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                let _ = error.hint();
                return false;
            }
        };
        let all = table.named().into_iter().map(|(_, named)| named).chain([table]);
        all.fold(true, |good, table| good & options::check(&table).is_ok())
    });
}

#[test]
fn what_cargo_says() {
    let folder = Path::new("/r");
    let target = Target { kind: TargetKind::Bench, name: "work".to_owned() };
    let messages: &[u8] = br#"{"reason":"build-script-executed","package_id":"path+file:///r#s@0.1.0","linked_libs":[],"linked_paths":[],"cfgs":[],"env":[],"out_dir":"/t/out"}
{"reason":"compiler-artifact","package_id":"path+file:///r#s@0.1.0","manifest_path":"/r/Cargo.toml","target":{"kind":["bench"],"crate_types":["bin"],"name":"work","src_path":"/r/benches/work.rs","edition":"2021","doc":false,"doctest":false,"test":false},"profile":{"opt_level":"3","debuginfo":0,"debug_assertions":false,"overflow_checks":false,"test":true},"features":[],"filenames":["/t/work-1"],"executable":"/t/work-1","fresh":false}
{"reason":"build-finished","success":true}
"#;
    let is_built = |text: &[u8]| {
        BuildMessages::read(text).is_ok_and(|messages| messages.built(&target, folder).is_ok())
    };
    try_all(4, &[messages], is_built);
    // A procedural macro may print whatever it likes among them.
    let deep = [&b"[".repeat(1 << 20), &b"\n\xff\0\n{\"reason\":{}}\n"[..], messages].concat();
    assert!(is_built(&deep));
    let log = b"   Compiling s\n     Running `A=1 'B=c d' valgrind /t/work-1 --bench`\n";
    try_all(5, &[log], |text| {
        let text = String::from_utf8_lossy(text);
        invocation_from_log(&text, &PathBuf::from("/t/work-1")).is_some()
    });
    let repo = Repo::new("members");
    let mut cargo = std::process::Command::new("cargo");
    cargo.args(["metadata", "--format-version=1", "--no-deps"]).current_dir(repo.path());
    let printed = cargo.output().unwrap().stdout;
    try_all(6, &[&printed], |text| {
        let Ok(text) = std::str::from_utf8(text) else { return false };
        Workspace::parse(text).is_ok()
    });
}

#[test]
fn notes() {
    let repo = Repo::new("steady");
    repo.cbdr("history record --command true --runs 1").run().code(0);
    repo.cbdr("history annotate HEAD --change because").run().code(0);
    let commit = repo.head();
    let note = repo.git(&["notes", "--ref", "cbdr", "show"]);
    try_all(7, &[note.as_bytes()], |text| CommitNote::parse(text, &commit).skipped.count == 0);
}
