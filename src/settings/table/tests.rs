//! What a table may say.

use super::*;
use serde_json::json;

fn table(keys: Value) -> Table {
    Table::of_metadata(&json!({ "cbdr": keys }), Layer::Package).unwrap().unwrap()
}

fn message(keys: Value) -> String {
    Table::of_metadata(&json!({ "cbdr": keys }), Layer::Workspace).unwrap_err().to_string()
}

fn documentation(name: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(root.join(name)).unwrap()
}

/// The words in backticks of a text.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_key_is_a_field_and_every_field_a_key() {
    let fields = serde_json::to_value(Table::default()).unwrap();
    let mut keys: Vec<&str> = Table::KEYS.iter().map(|key| key.name).collect();
    keys.sort_unstable();
    assert_eq!(fields.as_object().unwrap().keys().collect::<Vec<_>>(), keys);
}

#[test]
fn every_key_is_documented_with_its_default() {
    let text = documentation("docs/configuration.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut documented = BTreeMap::new();
    for row in rows {
        let mut cells = row.split(" | ");
        let (keys, default) = (format!("`{}", cells.next().unwrap()), cells.nth(1).unwrap());
        for key in quoted(&keys) {
            documented.insert(key.to_owned(), default.to_owned());
        }
    }
    let mut keys: Vec<&str> = Table::KEYS.iter().map(|key| key.name).collect();
    keys.retain(|key| *key != "benchmarks");
    keys.sort_unstable();
    assert_eq!(documented.keys().collect::<Vec<_>>(), keys);
    for (key, default) in Table::defaults() {
        assert_eq!(documented[key], format!("`{default}`"), "{key}");
    }
    let threshold = format!("({} % by default)", 100.0 * THRESHOLD);
    assert!(documentation("README.md").contains(&threshold), "{threshold}");
}

#[test]
fn the_documentation_knows_which_keys_decide_and_which_select() {
    let text = documentation("docs/configuration.md");
    let between = |from: &str, to: &str| {
        let part = text.split(from).nth(1).unwrap();
        let mut keys: Vec<String> =
            quoted(part.split(to).next().unwrap()).into_iter().map(str::to_owned).collect();
        keys.sort();
        keys
    };
    let of_role = |is_meant: fn(Role) -> bool, left_out: &[&str]| {
        let mut keys: Vec<&str> =
            Table::KEYS.iter().filter(|key| is_meant(key.role)).map(|key| key.name).collect();
        keys.retain(|key| !left_out.contains(key));
        keys.sort_unstable();
        keys
    };
    let deciding = of_role(Role::is_policy, &[]);
    assert_eq!(between("**What decides**", "is taken from the base's table"), deciding);
    // Which are called the target and the named benchmarks there.
    let targets = ["bench", "bin", "example", "command", "benchmarks"];
    let selecting = of_role(|role| role == Role::Selects, &targets);
    assert_eq!(between("can change which benchmarks run", "the line of the verdict"), selecting);
}

#[test]
fn an_unknown_key_suggests_the_nearest() {
    let got = Table::of_metadata(&json!({"cbdr": {"treshold": "2%"}}), Layer::Package);
    let error = got.unwrap_err();
    assert_eq!(error.to_string(), "unknown key `treshold` in [package.metadata.cbdr]");
    assert_eq!(error.hint().as_deref(), Some("did you mean `threshold`?"));
    assert_eq!(
        crate::settings::error::nearest("WALL_TIME", ["max_rss", "wall_time"]),
        Some("wall_time")
    );
}

#[test]
fn a_bad_value_names_its_key() {
    let text = message(json!({"max-pairs": "many"}));
    assert_eq!(
        text,
        "invalid value in [workspace.metadata.cbdr]: `max-pairs`: expected a whole number from 0 \
         on, not \"many\""
    );
}

#[test]
fn a_value_of_another_type_is_named_with_what_is_expected() {
    let about = |table| message(table).rsplit_once("cbdr]: ").unwrap().1.to_owned();
    assert_eq!(
        about(json!({"repetitions": true})),
        "`repetitions`: expected a string or a number, not `true`"
    );
    assert_eq!(about(json!({"check-output": 3})), "`check-output`: expected a string, not `3`");
    assert_eq!(about(json!({"threshold": 2})), "`threshold`: expected a string, not `2`");
    assert_eq!(
        about(json!({"warmup": -1})),
        "`warmup`: expected a whole number from 0 on, not `-1`"
    );
    assert_eq!(about(json!({"args": "a b"})), "`args`: expected a list, not \"a b\"");
    assert_eq!(about(json!({"args": ["a", ["b"]]})), "`args`: expected a string, not a list");
    assert_eq!(
        about(json!({"all-features": "yes"})),
        "`all-features`: expected `true` or `false`, not \"yes\""
    );
    assert_eq!(about(json!({"nice": 1.5})), "`nice`: expected a whole number, not `1.5`");
    assert_eq!(about(json!({"units": {"x": "B"}})), "`units`: expected a table, not \"B\"");
    assert_eq!(about(json!({"thresholds": "1%"})), "`thresholds`: expected a table, not \"1%\"");
}

#[test]
fn what_is_wrong_with_a_command_is_said() {
    let why = |command: &str| table(json!({"command": command})).command().unwrap_err().to_string();
    assert_eq!(why(""), "invalid command ``: it is empty");
    let open = "a quote is not closed, or nothing follows a backslash";
    assert_eq!(why("sh -c 'a"), format!("invalid command `sh -c 'a`: {open}"));
}

#[test]
fn a_target_in_a_higher_layer_clears_the_lower_ones() {
    let both = table(json!({"command": "c"})).over(table(json!({"bench": "b", "warn": "1%"})));
    assert_eq!(both, table(json!({"command": "c", "warn": "1%"})));
}

#[test]
fn a_threshold_of_one_benchmark_leaves_those_of_others_in_lower_layers() {
    let of = |name: &str, threshold: &str| (name.to_owned(), json!({ "threshold": threshold }));
    let layer = |all: &[(String, Value)]| {
        table(json!({ "benchmark": all.iter().cloned().collect::<serde_json::Map<_, _>>() }))
    };
    let both = layer(&[of("a", "3%")]).over(layer(&[of("a", "1%"), of("b", "2%")]));
    assert_eq!(both, layer(&[of("a", "3%"), of("b", "2%")]));
}

#[test]
fn what_a_value_means_is_asked_when_it_counts() {
    let low = table(json!({"threshold": "2", "aslr": "no", "repetitions": 0}));
    assert!(low.read_all().is_err());
    let high = table(json!({"threshold": "3%", "aslr": "off", "repetitions": 4}));
    assert_eq!(high.clone().over(low).read_all(), Ok(()));
    // As it was written.
    let entries = [("threshold", json!("3%")), ("repetitions", json!(4)), ("aslr", json!("off"))];
    assert_eq!(high.entries(), entries);
}

#[test]
fn a_flag_sets_thresholds_of_all_metrics_and_of_single_ones() {
    let mut high = Table::default();
    high.set_thresholds(&["3%", "max_rss=5%", "4%"].map(Written::from));
    assert_eq!(high, table(json!({"threshold": "4%", "thresholds": {"max_rss": "5%"}})));
    let low = json!({"threshold": "1%", "thresholds": {"max_rss": "1%", "cpu_time": "1%"}});
    let both = high.over(table(low));
    let of = |metric: &str| both.thresholds().unwrap().unwrap()[metric];
    assert_eq!((of("max_rss"), of("cpu_time")), (Allowed(Some(0.05)), Allowed(Some(0.01))));
    assert_eq!(both.threshold(), Ok(Allowed(Some(0.04))));
}

#[test]
fn named_benchmarks_inherit_the_table_around_them() {
    let around = table(json!({
        "bench": "all", "threshold": "3%",
        "benchmarks": {"small": {"args": ["1"]}, "tool": {"bin": "t"}},
    }));
    let small = table(json!({"bench": "all", "threshold": "3%", "args": ["1"]}));
    let tool = table(json!({"bin": "t", "threshold": "3%"}));
    assert_eq!(around.named(), [("small".to_owned(), small), ("tool".to_owned(), tool)]);
}

#[test]
fn a_bad_table_of_a_benchmark_is_named_where_it_stands() {
    let message = |table| message(json!({"benchmarks": {"a": table}}));
    assert_eq!(
        message(json!({"bin": "a", "bench": "a"})),
        "[workspace.metadata.cbdr.benchmarks.a] sets more than one of `bench`, `bin`, `example` \
         and \
         `command`"
    );
    assert!(message(json!({"benchmarks": {}})).contains("has no benchmarks of its own"));
    assert!(message(json!("a")).ends_with("it is not a table"));
    for key in ["base", "toolchain"] {
        assert_eq!(
            message(json!({"bin": "a", key: "a"})),
            format!(
                "invalid value in [workspace.metadata.cbdr.benchmarks.a]: `{key}`: a comparison has \
                 only one; set it in [workspace.metadata.cbdr]"
            )
        );
    }
    assert_eq!(
        message(json!({"binn": "a"})),
        "unknown key `binn` in [workspace.metadata.cbdr.benchmarks.a]"
    );
}

#[test]
fn the_policy_of_the_base_replaces_the_heads() {
    let head = table(json!({"threshold": "50%", "args": ["head"]}));
    let base = table(json!({"threshold": "2%", "args": ["base"]}));
    let found: Vec<_> =
        head.differences(&base).into_iter().map(|found| (found.key.name, found.own)).collect();
    assert_eq!(found, [("args", Some(json!(["head"]))), ("threshold", Some(json!("50%")))]);
    let taken = head.with(Role::is_policy, &base);
    assert_eq!(taken, table(json!({"threshold": "2%", "args": ["head"]})));
}

#[test]
fn what_decides_is_taken_from_the_base_and_nothing_else_is() {
    // A value for each key, by its type.
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
        json!({"m": {"threshold": "4%"}}),
    ];
    for key in Table::KEYS.iter() {
        let of =
            |value: &Value| Table::of_metadata(&json!({"cbdr": {key.name: value}}), Layer::Package);
        let table = candidates.iter().find_map(|value| of(value).ok()).flatten().unwrap();
        let found = table.differences(&Table::default());
        assert_eq!(found.iter().map(|found| found.key).collect::<Vec<_>>(), [*key]);
        let taken = Table::default().with(Role::is_policy, &table);
        assert_eq!(taken == table, key.role.is_policy(), "{key:?}");
    }
}

#[test]
fn what_is_not_set_and_what_is_set_to_nothing_do_not_differ() {
    let nothing = table(json!({"args": [], "features": [], "all-features": false}));
    assert_eq!(nothing.differences(&Table::default()), []);
}
