//! No benchmark that became slower passes, in whichever way it became slower. The example
//! `adversary` looks for longer.

#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/adversary/attack/mod.rs"]
mod attack;

use std::path::Path;

use attack::case::Case;
use attack::judge::{Answer, judge};

/// Programs with one mechanism each that touches all benchmarks, so that it can't share one.
const ALONE: [&str; 4] = ["collected", "registered", "version_at_run_time", "head_runner"];

fn attack(cases: &[Case]) {
    let program = Path::new(env!("CARGO_BIN_EXE_cargo-cbdr"));
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = String::new();
    for case in cases {
        let folder = folder.path().join(case.seed.1.to_string());
        let report = judge(case, &folder, program);
        assert!(!report.slower.is_empty());
        for (mechanism, answer) in report.slower {
            // On a busy machine there may be no verdict, which the result says.
            if !matches!(answer, Answer::Found | Answer::Said | Answer::Undecided) {
                wrong += &format!("{}: {answer:?}\n    by {}\n", mechanism.name, case.about());
            }
        }
    }
    if !wrong.is_empty() {
        let folder = folder.keep();
        panic!(
            "slower, and not found; the files `about` in {} say how to see it again:\n{wrong}",
            folder.display()
        );
    }
}

/// The programs in which so many benchmarks became slower.
fn programs(is_chosen: impl Fn(&[&str]) -> bool) -> Vec<Case> {
    let cases = Case::packed().into_iter().filter(|case| {
        let names: Vec<&str> = case.slower().map(|mechanism| mechanism.name).collect();
        is_chosen(&names)
    });
    cases.collect()
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "assembly of x86-64")]
#[test]
fn nothing_that_is_slower_passes_by_its_code() {
    attack(&programs(|names| names.len() > 1 && names.contains(&"helper")));
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are traced on x86-64 alone")]
#[test]
fn nothing_that_is_slower_passes_by_its_files_or_its_length() {
    attack(&programs(|names| names.len() > 1 && !names.contains(&"helper")));
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are traced on x86-64 alone")]
#[test]
fn nothing_that_is_slower_passes_by_what_touches_all_of_it() {
    attack(&programs(|names| matches!(names, [alone] if ALONE.contains(alone))));
}
