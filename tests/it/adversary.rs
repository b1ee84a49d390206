//! No benchmark that became slower passes, in whichever way it became slower. The example
//! `adversary` looks for longer.

#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/adversary/attack/mod.rs"]
mod attack;

use std::path::Path;

use attack::case::Case;
use attack::judge::{Answer, judge};
use attack::mechanism::{Kind, Mechanism, Reach, all};

/// Some of those that touch all benchmarks. Each has a program of its own, so all take long.
const ALONE: [&str; 4] = ["collected", "registered", "version_at_run_time", "head_runner"];

/// What becomes slower after many calls, as all others of this kind but one: what becomes so after a
/// while is `what_is_slower_in_longer_runs_only_does_not_pass`. Such runs are long.
const LATE: [&str; 1] = ["falls_back"];

fn attack(cases: &[Case]) {
    let program = Path::new(env!("CARGO_BIN_EXE_cargo-cbdr"));
    let folder = crate::support::scratch();
    let mut wrong = String::new();
    let (mut found, mut all) = (0, 0);
    for case in cases {
        let folder = folder.path().join(case.seed.1.to_string());
        for cache in ["cache", "cache-of-all"] {
            crate::support::create_cache(&folder.join(cache));
        }
        let report = judge(case, &folder, program, crate::support::search_path());
        assert!(!report.slower.is_empty());
        // Without the pairs for a verdict, what is measured is found.
        let is_found = |answer: &Answer| match answer {
            Answer::Undecided => case.is_brief,
            answer => matches!(answer, Answer::Found | Answer::Said),
        };
        all += report.slower.len();
        found += report.slower.iter().filter(|(_, answer)| is_found(answer)).count();
        // On a busy machine there may be no verdict, which the result says.
        let is_wrong = |answer: &Answer| !is_found(answer) && *answer != Answer::Undecided;
        let mut some = report.slower.iter().filter(|(_, answer)| is_wrong(answer)).peekable();
        if some.peek().is_some() {
            wrong += &format!("{}\n    see {}\n", case.about(), folder.join("about").display());
        }
        for (mechanism, answer) in some {
            wrong += &format!("    {}: {answer:?}\n", mechanism.name);
        }
    }
    if !wrong.is_empty() {
        let _ = folder.keep();
        panic!("slower, and not found:\n{wrong}");
    }
    assert!(found > 0, "all {all} are undecided: the machine is too busy to show anything");
}

/// How many share a program. More take less time, but hide each other.
const SHARE: usize = 25;

/// Programs with all mechanisms of a kind that can share one.
fn bundled(kinds: &[Kind]) -> Vec<Case> {
    let is_one = |one: &&Mechanism| kinds.contains(&one.kind) && one.reach == Reach::Benchmark;
    let mut cases = bundles_of(&all().into_iter().filter(is_one).collect::<Vec<_>>());
    // What passes here is taken to be the same: it is not measured at all.
    cases.iter_mut().for_each(|case| case.is_brief = true);
    cases
}

fn bundles_of(mechanisms: &[&'static Mechanism]) -> Vec<Case> {
    Case::bundles(33, SHARE, mechanisms)
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "assembly of x86-64")]
#[test]
fn nothing_that_is_slower_passes_by_its_code() {
    attack(&bundled(&[Kind::Code, Kind::Native]));
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are traced on x86-64 alone")]
#[test]
fn nothing_that_is_slower_passes_by_its_files() {
    attack(&bundled(&[Kind::Inputs, Kind::Files]));
}

#[test]
fn nothing_that_is_slower_passes_by_its_length() {
    let some: Vec<_> = all().into_iter().filter(|one| LATE.contains(&one.name)).collect();
    assert_eq!(some.len(), LATE.len());
    let mut cases = bundles_of(&some);
    // Long enough for runs of 100 ms, into which several times as many calls fit.
    cases.iter_mut().for_each(|case| case.time_limit = "--time-limit 15s");
    attack(&cases);
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "programs are traced on x86-64 alone")]
#[test]
fn nothing_that_is_slower_passes_by_what_touches_all_of_it() {
    let some: Vec<_> = all().into_iter().filter(|one| ALONE.contains(&one.name)).collect();
    assert_eq!(some.len(), ALONE.len());
    attack(&Case::bundles(33, 1, &some));
}
