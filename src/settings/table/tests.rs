//! What a table may say.

use super::*;
use serde_json::json;

#[test]
fn every_key_is_a_field_and_every_field_a_key() {
    let known = format!("{:?}", Table::default());
    for key in keys() {
        assert!(known.contains(&format!("{}: None", key.replace('-', "_"))), "{key}");
    }
    assert_eq!(known.matches(": None").count(), keys().count());
}

#[test]
fn an_unknown_key_suggests_the_nearest() {
    let got = Table::of_metadata(&json!({"cbdr": {"treshold": "2%"}}), "package");
    let error = got.unwrap_err();
    assert_eq!(error.to_string(), "unknown key `treshold` in [package.metadata.cbdr]");
    assert_eq!(error.hint().as_deref(), Some("did you mean `threshold`?"));
}

#[test]
fn a_bad_value_names_its_key() {
    let got = Table::of_metadata(&json!({"cbdr": {"max-pairs": "many"}}), "workspace");
    let text = got.unwrap_err().to_string();
    assert!(text.starts_with("bad value in [workspace.metadata.cbdr]: `max-pairs`: "), "{text}");
}

#[test]
fn a_target_in_a_higher_layer_clears_the_lower_ones() {
    let low = Table { bench: Some("b".into()), threshold: Some("1%".into()), ..Table::default() };
    let high = Table { command: Some("c".into()), ..Table::default() };
    let both = high.over(low);
    assert_eq!((both.bench, both.command), (None, Some("c".to_owned())));
    assert_eq!(both.threshold.as_deref(), Some("1%"));
}

#[test]
fn named_benchmarks_inherit_the_table_around_them() {
    let metadata = json!({"cbdr": {
        "bench": "all", "threshold": "3%",
        "benchmarks": {"small": {"args": ["1"]}, "tool": {"bin": "t"}},
    }});
    let table = Table::of_metadata(&metadata, "package").unwrap().unwrap();
    let named = table.named();
    let small = &named[0].1;
    assert_eq!(named[0].0, "small");
    assert_eq!((small.bench.as_deref(), small.args.clone()), (Some("all"), Some(vec!["1".into()])));
    assert_eq!((named[1].1.bench.clone(), named[1].1.bin.as_deref()), (None, Some("t")));
    assert_eq!(named[1].1.threshold.as_deref(), Some("3%"));
}

#[test]
fn a_bad_table_of_a_benchmark_is_named_where_it_stands() {
    let of =
        |table| Table::of_metadata(&json!({"cbdr": {"benchmarks": {"a": table}}}), "workspace");
    let said = |table| of(table).unwrap_err().to_string();
    assert_eq!(
        said(json!({"bin": "a", "bench": "a"})),
        "[workspace.metadata.cbdr.benchmarks.a] names more than one of `bench`, `bin`, `example` and \
         `command`"
    );
    assert!(said(json!({"benchmarks": {}})).contains("has no benchmarks of its own"));
    assert!(said(json!("a")).ends_with("it is not a table"));
    assert_eq!(
        said(json!({"binn": "a"})),
        "unknown key `binn` in [workspace.metadata.cbdr.benchmarks.a]"
    );
}

#[test]
fn the_policy_of_the_base_replaces_the_heads() {
    let table = |threshold: &str, args: &str| Table {
        threshold: Some(threshold.into()),
        args: Some(vec![args.into()]),
        ..Table::default()
    };
    let (head, base) = (table("50%", "head"), table("2%", "base"));
    assert_eq!(head.policy_differences(&base), ["threshold"]);
    let differing = head.run_differences(&base);
    assert_eq!(differing, [("args", Some(json!(["head"])), Some(json!(["base"])))]);
    let table = head.with_policy_of(&base);
    assert_eq!(table.threshold.as_deref(), Some("2%"));
    assert_eq!(table.args, Some(vec!["head".to_owned()]));
    assert_eq!(table.policy_differences(&base), [""; 0]);
}

#[test]
fn every_key_either_decides_or_is_of_the_run_or_is_known_to_be_neither() {
    // A value for each key, by its type.
    let values = keys().map(|key| {
        let candidates = [
            json!("4"),
            json!(4),
            json!(true),
            json!(["4"]),
            json!([4]),
            json!([{"metric": "m", "ceiling": "4%", "reason": "r", "expires": "2999-01-01"}]),
            json!({"m": "4%"}),
            json!({"m": {"unit": "s"}}),
            json!({"m": {"bench": "b"}}),
        ];
        let table = |value| Table::of_metadata(&json!({"cbdr": {key: value}}), "package");
        candidates.into_iter().find_map(|value| table(value).ok()).flatten().unwrap()
    });
    for (key, table) in keys().zip(values) {
        let decides = table.policy_differences(&Table::default()) == [key];
        let runs = table.run_differences(&Table::default());
        let runs = runs.iter().map(|(key, ..)| *key).collect::<Vec<_>>() == [key];
        let neither = NEITHER.contains(&key);
        assert_eq!([decides, runs, neither].iter().filter(|is| **is).count(), 1, "{key}");
        // What decides is all taken from the base, and nothing else is.
        let taken = Table::default().with_policy_of(&table);
        assert_eq!(taken == table, decides, "{key}");
    }
}

#[test]
fn what_is_not_set_and_what_is_set_to_nothing_do_not_differ() {
    let nothing = json!({"cbdr": {"args": [], "features": [], "all-features": false}});
    let nothing = Table::of_metadata(&nothing, "package").unwrap().unwrap();
    assert_eq!(nothing.run_differences(&Table::default()), []);
}
