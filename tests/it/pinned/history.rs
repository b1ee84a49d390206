//! `history`: results in the notes of commits with fixed dates, and a
//! recording of a benchmark that prints recorded numbers.

use serde_json::{Value, json};

use super::comparisons::{BENCHMARK, finished, repository};
use super::expected::Outputs;
use super::scene::{ANYWHERE, Scene, Unstable};
use super::trace;
use crate::support::Repo;

/// The line of a result in a commit's note: three values of two metrics, or an
/// error.
fn line(commit: &str, number: usize, factor: f64, error: Option<&str>) -> Value {
    let times: Vec<f64> =
        trace("sha", 160)[3 * number + 100..][..3].iter().map(|[time, _]| factor * time).collect();
    let rates: Vec<f64> = times.iter().map(|time| 1e6 / time).collect();
    let metrics = json!([
        {"name": "wall_time", "unit": "s", "better": "lower", "gates": true, "values": times},
        {"name": "rate", "unit": "i/s", "better": "higher", "gates": false, "values": rates},
    ]);
    json!({"cbdr": 1, "id": format!("id-{number}"), "time": 1_767_225_600 + 86_400 * number,
        "result": {
            "repository": "example.org/o/r",
            "commit": commit,
            "case": {"benchmark": "work", "name": "parse", "harness": "json", "package": "steady",
                "subject": "bench `work`", "args": ["--size", "7"]},
            "hardware": {"cpu": "Some CPU", "cores": 2, "memory_mib": 1024,
                "os": "linux debian 12", "arch": "x86_64"},
            "context": {"rustc": "rustc 1.90.0", "host": "x86_64-unknown-linux-gnu",
                "profile": "bench", "features": ["fast"], "flags": ["RUSTFLAGS=-Cdebuginfo=0"]},
            "metrics": if error.is_some() { json!([]) } else { metrics },
            "error": error,
        }
    })
}

/// Fifteen commits with results on `main`, of which one failed, one is an
/// outlier and one begins a new level, and two on `feature`, of which the
/// second is slower.
fn with_results() -> Repo {
    let repo = Repo::new("library");
    for number in 0..17 {
        if number == 15 {
            repo.branch("feature");
        }
        let commit = repo.commit(&format!("commit {number}"));
        let factor = match number {
            4 => 3.0,
            10..15 => 1.2,
            15 => 1.14,
            16 => 1.5,
            _ => 1.0,
        };
        let error = (number == 7).then_some("was killed by SIGSEGV");
        let line = line(&commit, number, factor, error).to_string();
        repo.git(&["notes", "--ref", "cbdr", "append", "-m", &line, &commit]);
        if number == 10 {
            let change = json!({"cbdr": 1, "id": "change", "time": 1_767_225_600,
                "change": "another allocator"});
            repo.git(&["notes", "--ref", "cbdr", "append", "-m", &change.to_string(), &commit]);
        }
    }
    repo
}

#[test]
fn results_of_the_past() {
    let repo = with_results();
    let scene = Scene::new(repo.path(), &repo.cache()).replacing(&ANYWHERE);
    let mut outputs = Outputs::new("history");
    let check = "history check --all-machines --min-history 3";
    let calls = [
        ("regression", check.to_owned()),
        ("no-regression", format!("{check} HEAD~1")),
        ("inconclusive", "history check --all-machines HEAD~15".to_owned()),
        (
            "inconclusive-fails",
            "history check --all-machines HEAD~15 --fail-on inconclusive".to_owned(),
        ),
        ("failed", format!("{check} HEAD~9")),
        ("level", format!("{check} HEAD~6")),
        ("baseline", format!("{check} --baseline HEAD~4 --metric rate --z-threshold 100")),
    ];
    for (name, call) in calls {
        outputs.add(&format!("check.{name}.human"), scene.transcript(&call, &[]));
        let call = format!("{call} --format json");
        outputs.add(&format!("check.{name}.json"), scene.transcript(&call, &[]));
    }
    let others: [(&str, &str, &[&str]); 7] = [
        ("check.no-result", "history check HEAD~3", &[]),
        ("list", "history list", &[]),
        ("list.metrics", "history list --commits 4 --metric wall_time,rate", &[]),
        ("list.unknown", "history list --benchmark other", &[]),
        ("list.page", "history list --html past.html", &["past.html"]),
        ("export.csv", "history export", &[]),
        ("export.json", "history export --format json", &[]),
    ];
    for (name, call, files) in others {
        outputs.add(name, scene.transcript(call, files));
    }
    outputs.check();
}

/// What is unstable in a recording.
const UNSTABLE: [Unstable; 11] = [
    ("\"id\":\"", "\"", "ID"),
    ("\"time\":", ",", "TIME"),
    ("\"seconds\":", "}", "SECONDS"),
    ("\"cpu\":\"", "\"", "PROCESSOR"),
    ("\"cores\":", ",", "CORES"),
    ("\"memory_mib\":", ",", "MEBIBYTES"),
    ("\"os\":\"", "\"", "SYSTEM"),
    ("\"arch\":\"", "\"", "ARCHITECTURE"),
    ("\"rustc\":\"", "\"", "TOOLCHAIN"),
    ("\"host\":\"", "\"", "TRIPLE"),
    // The line of the compiler and the machine.
    ("\n  rustc ", "\n", "TOOLCHAIN, MACHINE"),
];

#[test]
fn a_recording_and_the_note_that_it_leaves() {
    let repo = repository(&[&[("parse", "sha", 100, 1.0), ("print", "sha", 500, 1.0)]]);
    let scene = Scene::new(repo.path(), &repo.cache()).replacing(&UNSTABLE);
    let scene = scene.without_stderr();
    let mut outputs = Outputs::new("record");
    let record = format!("history record {BENCHMARK} --runs 4");
    for format in ["human", "json"] {
        let call = format!("{record} --format {format}");
        outputs.add(format, finished(scene.transcript(&call, &[])));
    }
    let note = repo.git(&["notes", "--ref", "cbdr", "show"]);
    // git leaves a blank line between the lines of a note.
    let lines: Vec<&str> = note.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 4, "{note}");
    outputs.add("note", scene.shown("the last line of the note", &format!("{}\n", lines[3])));
    outputs.check();
}
