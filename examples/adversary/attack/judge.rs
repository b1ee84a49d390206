//! What a comparison answers about a case, held against what was planted.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::case::Case;
use super::mechanism::{Kind, Mechanism};
use super::repository;

/// How a comparison is called.
const CALL: &str = "compare main --format json --layouts off --threshold 50% --seed 5";

/// What measures a benchmark, whatever was found without a run.
const ALL: &str = "--measure-all --always-run --filter";

/// Long enough for what happens late in a run. Nothing else needs it.
const LONG: &str = "-- --measurement-time 0.3 --warm-up-time 0.1";

/// A single pair, as only a shard may have: too few for a verdict.
const BRIEFLY: &str = "--shard 1/1 --max-pairs 1 --warmup 0 --samples";

/// What became of a benchmark that is slower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was found.
    Found,
    /// It was measured, without a verdict.
    Undecided,
    /// The comparison could not finish.
    Failed(String),
    /// A notice says why the numbers don't show it.
    Said,
    /// It passes, as this, and is slower if it is measured.
    Fault(String),
    /// It passes, as this, but is not found to be slower either way: nothing was planted.
    NotSlower(String),
}

/// What became of a benchmark that is not slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bystander {
    /// It was not measured.
    LeftOut,
    /// It was measured.
    Measured,
    /// It was measured and called slower.
    Accused,
}

/// What became of a case.
#[derive(Debug, Default)]
pub struct Report {
    /// The benchmarks that became slower.
    pub slower: Vec<(&'static Mechanism, Answer)>,
    /// The others.
    pub others: Vec<(&'static Mechanism, Bystander)>,
}

/// The end of a call.
struct Outcome {
    code: Option<i32>,
    object: Value,
    stderr: String,
}

/// Writes the repository of a case into a folder, and compares it there, with this PATH.
pub fn judge(case: &Case, folder: &Path, program: &Path, path: &OsStr) -> Report {
    repository::write(case, folder);
    let call = |cache: &str, words: &str| call(case, folder, program, path, cache, words);
    if case.is_warm {
        call("cache", "--head harmless");
    }
    let outcome = call("cache", &brevity(case, folder));
    let mut report = Report::default();
    for member in &case.members {
        let mechanism = member.mechanism;
        if !member.is_slower {
            report.others.push((mechanism, outcome.bystander(mechanism)));
            continue;
        }
        let answer = match outcome.answer(mechanism) {
            Answer::Fault(_) if outcome.says(mechanism.said) => Answer::Said,
            // The numbers themselves are not to be believed.
            Answer::Fault(how) if mechanism.kind != Kind::Gate => {
                match call("cache-of-all", &measured(mechanism)).answer(mechanism) {
                    Answer::Found => Answer::Fault(how),
                    Answer::Fault(all) => Answer::NotSlower(format!("{how}, and {all} measured")),
                    other => Answer::NotSlower(format!("{how}, and if measured: {other:?}")),
                }
            }
            answer => answer,
        };
        report.slower.push((mechanism, answer));
    }
    let about = reproduction(case, folder, program, &report);
    std::fs::write(folder.join("about"), about).expect("a file");
    report
}

/// The words of a call that make it brief if the case is.
fn brevity(case: &Case, folder: &Path) -> String {
    let samples = folder.join("samples.csv");
    if case.is_brief { format!("{BRIEFLY} {}", samples.display()) } else { String::new() }
}

/// The words of a call that measures the benchmark of a mechanism.
fn measured(mechanism: &Mechanism) -> String {
    let long = if mechanism.kind == Kind::Length { LONG } else { "" };
    format!("{ALL} {} {long}", mechanism.name)
}

/// What a person can do to see it again.
fn reproduction(case: &Case, folder: &Path, program: &Path, report: &Report) -> String {
    let mut text = format!("{}\n\n", case.about());
    for (mechanism, answer) in &report.slower {
        text += &format!("{}: {answer:?}\n", mechanism.name);
    }
    let call = |cache: &str, words: &str| {
        let (cache, program) = (folder.join(cache), program.display());
        let limit = case.time_limit;
        format!("CBDR_CACHE_DIR={} {program} {CALL} {limit} {words}\n", cache.display())
    };
    text += &format!("\ncd {}\n", root(case, folder).display());
    if case.is_warm {
        text += &call("cache", "--head harmless");
    }
    text += &call("cache", &brevity(case, folder));
    let passed = report.slower.iter().filter(|(_, answer)| *answer != Answer::Found);
    text + &passed.map(|(one, _)| call("cache-of-all", &measured(one))).collect::<String>()
}

fn root(case: &Case, folder: &Path) -> PathBuf {
    folder.join("repo").join(case.folder)
}

fn call(
    case: &Case,
    folder: &Path,
    program: &Path,
    path: &OsStr,
    cache: &str,
    words: &str,
) -> Outcome {
    let mut command = Command::new(program);
    command.current_dir(root(case, folder)).stdin(Stdio::null()).env("PATH", path);
    let words = format!("{CALL} {} {words}", case.time_limit);
    command.args(words.split_whitespace());
    for name in ["GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "GITHUB_STEP_SUMMARY"] {
        command.env_remove(name);
    }
    command.env("CBDR_CACHE_DIR", folder.join(cache)).env("NO_COLOR", "1");
    // Cargo reads all certificates whenever it is called, and nothing is fetched.
    command.env("SSL_CERT_FILE", "/dev/null").env("SSL_CERT_DIR", "/dev/null");
    let output = command.env("CARGO_TERM_COLOR", "never").output().expect("the program to attack");
    Outcome {
        code: output.status.code(),
        object: serde_json::from_slice(&output.stdout).unwrap_or(Value::Null),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Outcome {
    /// The benchmark of a mechanism: what it is, and its verdict where it has one.
    fn benchmark(&self, mechanism: &Mechanism) -> Option<(&str, Option<&str>)> {
        let all = self.object["benchmarks"].as_array()?;
        let found = all.iter().find(|one| one["name"] == mechanism.name)?;
        let verdicts = found["metrics"].as_array()?.iter().filter(|metric| metric["gates"] == true);
        let verdicts: Vec<&str> =
            verdicts.filter_map(|metric| metric["verdict"].as_str()).collect();
        Some((found["status"].as_str()?, verdicts.first().copied()))
    }

    /// What is said of a benchmark that is slower: a fault where it passes.
    fn answer(&self, mechanism: &Mechanism) -> Answer {
        if !matches!(self.code, Some(0 | 100)) {
            let last: Vec<&str> = self.stderr.lines().rev().take(6).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            return Answer::Failed(format!("exit {:?}: {}", self.code, last.join(" / ")));
        }
        let verdict = self.object["verdict"].as_str().unwrap_or("no verdict");
        match self.benchmark(mechanism) {
            Some((_, Some("regression"))) => Answer::Found,
            Some((_, Some("inconclusive"))) => Answer::Undecided,
            Some((_, Some(verdict))) => Answer::Fault(verdict.to_owned()),
            Some((status, None)) if status != "compared" => Answer::Fault(status.to_owned()),
            _ if verdict == "inconclusive" => Answer::Undecided,
            _ => Answer::Fault(verdict.to_owned()),
        }
    }

    fn bystander(&self, mechanism: &Mechanism) -> Bystander {
        match self.benchmark(mechanism) {
            Some((_, Some("regression"))) => Bystander::Accused,
            Some((_, Some(_))) => Bystander::Measured,
            _ => Bystander::LeftOut,
        }
    }

    /// Whether a notice has one of these words.
    fn says(&self, words: &[&str]) -> bool {
        let notices = self.object["notices"].to_string();
        words.iter().any(|word| notices.contains(word))
    }
}
