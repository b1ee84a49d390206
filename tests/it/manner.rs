//! How much is printed to standard error.

#[cfg(target_os = "linux")]
use std::io::Write;
#[cfg(target_os = "linux")]
use std::process::Stdio;
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use crate::support::Repo;
#[cfg(target_os = "linux")]
use crate::support::{Cbdr, PRINTED, live::Terminal, printing, scratch};

fn changed() -> Repo {
    let repo = Repo::new("steady");
    repo.branch("topic");
    repo.replace("benches/work.rs", "wrapping_mul(31)", "wrapping_mul(37)");
    repo.commit("changed");
    repo
}

#[test]
fn quiet_leaves_the_result_and_errors_of_cargo_too() {
    let repo = changed();
    let ran = repo
        .cbdr("compare main --quiet --max-pairs 6 --threshold 900% --layouts off")
        .run()
        .code(0);
    assert_eq!(ran.stderr, "");
    assert!(ran.stdout.contains("UNDECIDED: "), "{}", ran.stdout);
    repo.cbdr("compare nowhere -q").run().code(101).says("error: unknown revision `nowhere`");
    repo.replace("benches/work.rs", "wrapping_mul(37)", "wrapping_mul(\"37\")");
    repo.commit("broken");
    repo.cbdr("compare main -q").run().code(101).says("mismatched types");
}

/// A comparison that builds nothing and decides nothing.
const COMPARE: &str = "compare main --command true --max-pairs 6 --threshold 900%";

#[test]
fn verbose_says_where_things_are_and_a_wrong_form_is_refused() {
    let repo = changed();
    let ran = repo.cbdr(&format!("-v {COMPARE} --progress none")).run().code(0);
    let ran = ran.says("Keeping worktrees and builds in").says("Measuring wall_time");
    ran.says(repo.cache().canonicalize().unwrap().to_str().unwrap());
    repo.cbdr("compare main --progress loud").run().code(2);
    let ran = repo.cbdr("compare main").env("CBDR_PROGRESS", "loud").run().code(2);
    ran.says("error: CBDR_PROGRESS is `loud`, but must be plain, live or none");
    repo.cbdr("compare main -q -v").run().code(2);
}

#[test]
fn colours_are_used_as_asked_and_as_cargo_is_told() {
    let repo = changed();
    let coloured = |option: &str, cargo: &str| {
        let cbdr = repo.cbdr(&format!("{COMPARE} {option}"));
        let ran = cbdr.env("CARGO_TERM_COLOR", cargo).run().code(0);
        let has_colour = |text: &str| text.contains('\x1b');
        assert_eq!(has_colour(&ran.stdout), has_colour(&ran.stderr), "{ran:#?}");
        has_colour(&ran.stdout)
    };
    // The tests set NO_COLOR, which neither of both asks.
    assert!(coloured("--color always", "never"));
    assert!(coloured("", "always"));
    assert!(!coloured("--color never", "always"));
    assert!(!coloured("--color auto", "always"));
    assert!(!coloured("", "auto"));
    repo.cbdr("compare main --color sometimes").run().code(2).says("[possible values: auto, ");
}

#[test]
fn cargos_variable_for_quiet_counts_unless_more_is_asked_for() {
    let repo = changed();
    let compare = |option: &str| {
        let cbdr = repo.cbdr(&format!("{COMPARE} {option}"));
        cbdr.env("CARGO_TERM_QUIET", "true").run().code(0)
    };
    assert_eq!(compare("").stderr, "");
    compare("--verbose").says("Measuring wall_time");
}

#[test]
fn the_table_has_what_gates_and_what_is_asked_for() {
    let repo = changed();
    let rows = |option: &str| {
        let ran = repo.cbdr(&format!("{COMPARE} {option}")).run().code(0);
        let has = |name: &str| ran.stdout.contains(&format!("\n  {name} "));
        (has("wall_time"), has("max_rss"), has("sys_time"), ran.stdout.contains("more metrics"))
    };
    assert_eq!(rows(""), (true, false, false, true));
    assert_eq!(rows("--show max_rss"), (true, true, false, true));
    assert_eq!(rows("--verbose"), (true, true, true, false));
}

#[test]
#[cfg(target_os = "linux")]
fn on_a_terminal_the_lines_of_a_comparison_are_redrawn_in_place_and_the_last_ones_stay() {
    let one =
        |time: &str| format!(r#"{{"one": {{"time": {time}N}}, "zwei 時間": {{"time": 1.0}}}}"#);
    let repo = printing(&one("1.0"), &one("1.5"));
    let mut compare = repo.cbdr(&format!("compare main {PRINTED} --metric time")).into_command();
    let terminal = Terminal::of(&mut compare);
    let status = compare.stdout(Stdio::null()).status().unwrap();
    drop(compare);
    let written = terminal.written();
    let screen = terminal.end();
    let rows: Vec<String> = screen.screen().rows(0, 90).collect();
    assert_eq!(status.code(), Some(100), "{rows:#?}");
    // With a bar of the pairs that are left.
    assert!(written.contains(" of at least 8 pairs █"), "{written}");
    let with = |piece: &str| rows.iter().filter(|row| row.contains(piece)).count();
    for last in ["  Regression one: ", "  one   ", "  zwei 時間 ", "1 regression, 1 passed; "] {
        assert_eq!(with(last), 1, "{last}: {rows:#?}");
    }
    assert_eq!((with(" at least 8 pairs █"), with("undecided")), (0, 0), "{rows:#?}");
    assert!(!screen.screen().hide_cursor());
}

#[test]
#[cfg(target_os = "linux")]
fn on_a_terminal_samples_are_analysed_while_they_come() {
    let folder = scratch();
    let mut analyze =
        Cbdr::new(folder.path(), folder.path()).args(["analyze", "--base", "base"]).into_command();
    let terminal = Terminal::of(&mut analyze);
    let mut child = analyze.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop(analyze);
    let mut rows = child.stdin.take().unwrap();
    writeln!(rows, "benchmark,time").unwrap();
    let start = Instant::now();
    while !terminal.written().contains(" time +50.0%") {
        assert!(start.elapsed() < Duration::from_secs(60), "{}", terminal.written());
        writeln!(rows, "base,1.0\nhead,1.5").unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(rows);
    let output = child.wait_with_output().unwrap();
    let rows: Vec<String> = terminal.end().screen().rows(0, 90).collect();
    assert!(output.status.success() && rows.iter().all(|row| row.is_empty()), "{rows:#?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("+50.0%"), "{output:?}");
}
