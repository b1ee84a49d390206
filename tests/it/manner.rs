//! How much is printed to standard error.

use crate::support::Repo;

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
