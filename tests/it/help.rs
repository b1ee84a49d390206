//! The documentation of the command line: help, completions, manual pages.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Cbdr, Ran, path_with_binary};

fn cbdr(args: &[&str]) -> Ran {
    Cbdr::new(Path::new("."), Path::new("unused")).args(args).run()
}

/// Whether a program reads a text without complaint; `None` when it is not here.
fn accepts(program: &[&str], text: &str) -> Option<bool> {
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().ok()?;
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Some(output.status.success() && output.stderr.is_empty())
}

#[test]
fn help_is_short_and_long_under_headings_and_works_through_cargo() {
    let short = cbdr(&["compare", "-h"]).code(0).stdout;
    let long = cbdr(&["help", "compare"]).code(0).stdout;
    for heading in ["Sides:", "Benchmark:", "Build:", "Deciding:", "Stopping:", "Output:"] {
        assert!(short.contains(heading) && long.contains(heading), "{heading}");
    }
    assert!(long.contains("worktrees of its own") && !short.contains("worktrees of its own"));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["cbdr", "help", "compare"]).env("PATH", path_with_binary());
    let output = cargo.output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), long);
}

#[test]
fn record_names_the_metric_that_criterion_is_checked_by() {
    let help = cbdr(&["history", "record", "--help"]).code(0).stdout;
    let words: Vec<&str> = help.split_whitespace().collect();
    assert!(words.join(" ").contains("with criterion and divan, median_time"), "{help}");
}

#[test]
fn there_is_a_manual_page_of_the_whole_and_of_each_subcommand() {
    let whole = cbdr(&["man"]).code(0).stdout;
    assert!(whole.contains(".TH cargo-cbdr 1") && whole.contains("cargo\\-cbdr\\-compare(1)"));
    let names: Vec<&str> = whole
        .lines()
        .filter_map(|line| line.strip_prefix("cargo\\-cbdr\\-")?.strip_suffix("(1)"))
        .filter(|name| *name != "help")
        .collect();
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        let page = cbdr(&["man", name]).code(0).stdout;
        assert!(page.contains(&format!(".TH cargo-cbdr-{name} 1")), "{name}");
        let lint = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", "-"];
        assert_ne!(accepts(&lint, &page), Some(false), "{name}");
    }
    cbdr(&["man", "nope"]).code(2).says("there is no subcommand `nope`; choose `compare`");
}

#[test]
fn the_help_of_samples_offers_no_threshold_that_they_cannot_have() {
    for command in ["analyze", "plot"] {
        let help = cbdr(&[command, "--help"]).code(0).stdout;
        assert!(help.contains("--threshold") && !help.contains("possible values: auto"), "{help}");
    }
}

#[test]
fn an_unknown_argument_is_for_the_benchmark_and_a_negative_number_for_nobody() {
    let call =
        |args: &str| Cbdr::new(Path::new("."), Path::new(".")).args(args.split(' ')).run().code(2);
    call("compare main --sample-size 10")
        .says("to pass '--sample-size' to the benchmark, use '-- --sample-size'");
    call("compare --threshold -1%").says("only `--nice` takes a negative number");
    // No benchmark runs here.
    call("plot --frobnicate").never_says("to the benchmark");
}
