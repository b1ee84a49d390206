//! Attacks a comparison: makes programs from a grammar, of which one benchmark became slower by
//! construction, and looks for those that pass.
//!
//! ```text
//! cargo run --release --example adversary -- --seed 1 --cases 200
//! cargo run --release --example adversary -- --seed 2 --minutes 60
//! cargo run --release --example adversary -- --only files              # a kind, or a mechanism
//! cargo run --release --example adversary -- --seed 1 --case 37        # one of them again
//! cargo run --release --example adversary -- --bundle 10            # all mechanisms once, ten in a program
//! cargo run --release --example adversary -- --program /old/cargo-cbdr # another program
//! ```
//!
//! It prints each fault when it finds it, and keeps its repository with a file `about` that says
//! how to see it again. At the end it prints a table of all kinds. It fails if there are faults.

#![allow(clippy::print_stdout, unreachable_pub, missing_docs)]

mod attack;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use attack::case::Case;
use attack::judge::{Answer, Bystander, Report, judge};
use attack::mechanism::{Kind, Mechanism, all};

/// What is asked for.
struct Options {
    seed: u64,
    cases: u64,
    minutes: Option<u64>,
    case: Option<u64>,
    only: Option<String>,
    bundle: Option<u64>,
    program: PathBuf,
    keep: PathBuf,
}

impl Options {
    fn read() -> Self {
        let mut options = Options {
            seed: 1,
            cases: 100,
            minutes: None,
            case: None,
            only: None,
            bundle: None,
            program: beside(),
            keep: std::env::temp_dir().join("cbdr-adversary"),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let value = arguments.next().unwrap_or_else(|| panic!("`{argument}` needs a value"));
            let number = || value.parse().unwrap_or_else(|_| panic!("`{value}` is no number"));
            match argument.as_str() {
                "--seed" => options.seed = number(),
                "--cases" => options.cases = number(),
                "--minutes" => options.minutes = Some(number()),
                "--case" => options.case = Some(number()),
                "--bundle" => options.bundle = Some(number()),
                "--only" => options.only = Some(value),
                "--program" => options.program = value.into(),
                "--keep" => options.keep = value.into(),
                other => panic!(
                    "unknown option `{other}`, expected `--seed`, `--cases`, `--minutes`, `--case`, \
                     `--only`, `--bundle`, `--program` or `--keep`"
                ),
            }
        }
        options
    }

    fn mechanisms(&self) -> Vec<&'static Mechanism> {
        let is_chosen = |mechanism: &&Mechanism| {
            let only = self.only.as_deref();
            only.is_none_or(|only| only == mechanism.name || only == mechanism.kind.name())
        };
        let chosen: Vec<_> = all().into_iter().filter(is_chosen).collect();
        assert!(!chosen.is_empty(), "no mechanism and no kind is called {:?}", self.only);
        chosen
    }
}

/// The program that was built with this example.
fn beside() -> PathBuf {
    let itself = std::env::current_exe().expect("the path of this example");
    let folder = itself.ancestors().nth(2).expect("a folder of a build");
    folder.join("cargo-cbdr")
}

fn main() -> ExitCode {
    let options = Options::read();
    let program = options.program.canonicalize();
    let program = program.unwrap_or_else(|_| panic!("no {}", options.program.display()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let chosen = options.mechanisms();
    let start = Instant::now();
    let bundles = options.bundle.map(|size| Case::bundles(options.seed, size as usize, &chosen));
    let numbers = match (options.case, options.minutes, &bundles) {
        (Some(case), ..) => case..case + 1,
        (None, _, Some(bundles)) => 0..bundles.len() as u64,
        (None, Some(_), None) => 0..u64::MAX,
        (None, None, None) => 0..options.cases,
    };
    let limit = options.minutes.map(|minutes| Duration::from_secs(60 * minutes));
    let mut tally = Tally::default();
    for number in numbers {
        if limit.is_some_and(|limit| start.elapsed() > limit) {
            break;
        }
        let case = match &bundles {
            Some(bundles) => &bundles[number as usize],
            None => &Case::draw(options.seed, number, &chosen),
        };
        let folder = options.keep.join(format!("{}-{number}", options.seed));
        let _ = std::fs::remove_dir_all(&folder);
        let report = judge(case, &folder, &program, &path);
        let is_kept = said(case, &report, &folder) || options.case.is_some();
        if !is_kept {
            std::fs::remove_dir_all(&folder).expect("a folder to remove");
        }
        tally.add(case, report);
    }
    println!("{}", tally.table(start.elapsed()));
    ExitCode::from(u8::from(tally.faults > 0))
}

/// Prints what is worth a look; whether there is something.
fn said(case: &Case, report: &Report, folder: &Path) -> bool {
    let mut lines = Vec::new();
    for (mechanism, answer) in &report.slower {
        let line = match answer {
            Answer::Found | Answer::Said => continue,
            Answer::Fault(how) => format!("FAULT: it is slower, and {how}"),
            Answer::NotSlower(how) => format!("not slower: {how}"),
            Answer::Undecided => "undecided".to_owned(),
            Answer::Failed(why) => {
                // All of them failed together.
                lines = vec![format!("could not finish: {why}")];
                break;
            }
        };
        lines.push(format!("{} ({}): {line}", mechanism.name, mechanism.kind.name()));
    }
    if !lines.is_empty() {
        println!("{}\n  {}", case.about(), lines.join("\n  "));
        println!("  see {}", folder.join("about").display());
    }
    !lines.is_empty()
}

/// Counts of a kind.
#[derive(Default)]
struct Counts {
    slower: usize,
    found: usize,
    faults: usize,
    undecided: usize,
    failed: usize,
    not_slower: usize,
    others: usize,
    measured: usize,
    accused: usize,
}

#[derive(Default)]
struct Tally {
    cases: usize,
    faults: usize,
    kinds: BTreeMap<Kind, Counts>,
    /// How often each mechanism passed, of how often it was slower.
    mechanisms: BTreeMap<&'static str, (usize, usize)>,
}

impl Tally {
    fn add(&mut self, case: &Case, report: Report) {
        self.cases += 1;
        for (mechanism, answer) in &report.slower {
            let counts = self.kinds.entry(mechanism.kind).or_default();
            let (passed, slower) = self.mechanisms.entry(mechanism.name).or_default();
            counts.slower += 1;
            *slower += 1;
            match answer {
                Answer::Found | Answer::Said => counts.found += 1,
                Answer::Undecided => counts.undecided += 1,
                Answer::Failed(_) => counts.failed += 1,
                Answer::NotSlower(_) => counts.not_slower += 1,
                Answer::Fault(_) => {
                    counts.faults += 1;
                    self.faults += 1;
                    *passed += 1;
                }
            }
        }
        for (mechanism, bystander) in report.others {
            let counts = self.kinds.entry(mechanism.kind).or_default();
            counts.accused += usize::from(bystander == Bystander::Accused);
            if case.is_narrow() {
                counts.others += 1;
                counts.measured += usize::from(bystander != Bystander::LeftOut);
            }
        }
    }

    fn table(&self, elapsed: Duration) -> String {
        let mut text = format!(
            "\n{} cases in {:.0} s\n\n| kind | slower | found | faults | undecided | failed | not slower \
             | not touched | measured all the same | wrongly accused |\n|---|{}\n",
            self.cases,
            elapsed.as_secs_f64(),
            "--:|".repeat(9)
        );
        for kind in Kind::ALL {
            let Some(of) = self.kinds.get(&kind) else { continue };
            let numbers = [
                of.slower,
                of.found,
                of.faults,
                of.undecided,
                of.failed,
                of.not_slower,
                of.others,
                of.measured,
                of.accused,
            ];
            let cells: Vec<String> = numbers.iter().map(usize::to_string).collect();
            text += &format!("| {} | {} |\n", kind.name(), cells.join(" | "));
        }
        let passed = self.mechanisms.iter().filter(|(_, (passed, _))| *passed > 0);
        let passed: Vec<String> =
            passed.map(|(name, (passed, slower))| format!("{name} {passed} of {slower}")).collect();
        if !passed.is_empty() {
            text += &format!("\nFaults: {}\n", passed.join(", "));
        }
        text
    }
}
