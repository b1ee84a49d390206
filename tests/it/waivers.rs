//! Two levels, and accepted slowdowns.

use serde_json::{Value, json};

use crate::support::{Cbdr, PRINTED_KEYS, Repo, printing_as_configured, write_script};

/// A benchmark whose numbers are known: the base's `cost` is 1000.
fn costing(more: &str, head: u32) -> Repo {
    printing_as_configured(&table(more), &report(1000), &report(head))
}

fn report(cost: u32) -> String {
    format!("{{\"cost\": {cost}, \"size\": 1000}}")
}

fn table(more: &str) -> String {
    format!(
        "[package.metadata.cbdr]\n{PRINTED_KEYS}metrics = [\"cost\"]\nthreshold = \"5%\"\n{more}\n"
    )
}

fn compare(repo: &Repo) -> Cbdr {
    repo.cbdr("compare main --format json --max-pairs 40")
}

fn cost(object: &Value) -> Value {
    let metrics = object["benchmarks"][0]["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == "cost").unwrap().clone()
}

fn waiver(ceiling: &str, expires: &str, more: &str) -> String {
    format!(
        "[[package.metadata.cbdr.waivers]]\nmetric = \"cost\"\nceiling = \"{ceiling}\"\n\
         expires = \"{expires}\"\nreason = \"a table that pays off later\"\n{more}"
    )
}

#[test]
fn a_change_between_the_two_levels_passes_with_a_warning() {
    for (head, warned) in [(1005, false), (1030, true)] {
        let repo = costing("warn = \"1%\"", head);
        let ran = compare(&repo).run().code(0);
        let object = ran.json();
        let words = "exceeds the warning level";
        let ran = if warned { ran.says(words) } else { ran.never_says(words) };
        assert_eq!(object["verdict"], "no-regression", "{}", ran.stderr);
        assert_eq!((cost(&object)["warned"].clone(), object["stopped_by"].clone()), {
            (json!(warned), json!("verdict"))
        });
    }
    let repo = costing("warn = \"1%\"", 1100);
    let object = compare(&repo).run().code(100).never_says("warning level").json();
    assert_eq!(cost(&object)["warned"], false);
    // By a flag, too; not above the threshold.
    let object = compare(&repo).args(["--threshold", "20%", "--warn", "8%"]).run().code(0).json();
    assert_eq!(cost(&object)["warned"], true);
    compare(&repo)
        .args(["--warn", "5%"])
        .run()
        .code(2)
        .says("invalid warn `5%`: it has to be below");
}

#[test]
fn an_accepted_slowdown_passes_up_to_its_ceiling_and_says_so() {
    let repo = costing("", 1080);
    compare(&repo).run().code(100);
    let waiver = waiver("10%", "2999-12-31", "issue = \"https://example.org/7\"");
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    repo.write("Cargo.toml", &(manifest + &waiver));
    repo.commit("accept it");
    let ran = compare(&repo).run().code(0);
    let ran = ran.says("the branch introduces a waiver: `cost` may get worse by up to 10%");
    let ran = ran.says("waived: up to +10.0% instead of +5.00% is accepted until 2999-12-31");
    let object = ran.says("(a table that pays off later, https://example.org/7)").json();
    assert_eq!(object["verdict"], "no-regression");
    let cost = cost(&object);
    assert_eq!((&cost["verdict"], &cost["threshold"]), (&json!("no-regression"), &json!(0.1)));
    let waiver = json!({
        "threshold": 0.05, "ceiling": 0.1, "reason": "a table that pays off later",
        "expires": "2999-12-31", "issue": "https://example.org/7",
    });
    assert_eq!(cost["waiver"], waiver);
    // It names no other metric's, and no more than its ceiling.
    write_script(&repo, &report(1120));
    repo.commit("too much");
    compare(&repo).run().code(100);
}

#[test]
fn a_waiver_that_expired_counts_no_longer_and_one_of_the_base_is_not_new() {
    let repo = costing(&waiver("10%", "2020-12-31", ""), 1080);
    let ran = compare(&repo).run().code(100).never_says("of its own");
    ran.says("the waiver of `cost` expired on 2020-12-31");
    // One that is not needed is reported as such.
    let repo = costing(&waiver("10%", "2999-12-31", ""), 1001);
    compare(&repo).run().code(0).never_says("of its own").says("passes without its waiver");
}

#[test]
fn a_waiver_of_something_unknown_is_an_error() {
    for (more, what) in [
        ("benchmark = \"nobody\"", "there is no benchmark `nobody`"),
        ("colour = \"red\"", "`waivers`: unknown field `colour`"),
    ] {
        let repo = costing(&waiver("10%", "2999-12-31", more), 1080);
        compare(&repo).run().code(101).says(what);
    }
    let repo = costing(&waiver("10%", "soon", ""), 1080);
    compare(&repo).run().code(101).says("invalid waiver `soon`: `expires` is a date");
    let other = waiver("10%", "2999-12-31", "").replace("\"cost\"", "\"costs\"");
    let repo = costing(&other, 1080);
    compare(&repo)
        .run()
        .code(101)
        .says("the waiver of `costs` has no effect: `costs` does not gate");
}
