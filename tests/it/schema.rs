//! The JSON output conforms to `docs/schema.json`, and the schema covers all of
//! it.

use cargo_cbdr::model::outcome::Outcome;
use serde_json::{Value, json};

use crate::support::{PRINTED, Repo, printing};

/// Checks values against the keywords that our schema uses, and no others.
pub(crate) struct Schema {
    root: Value,
}

impl Schema {
    pub(crate) fn published() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/schema.json");
        Schema { root: serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap() }
    }

    /// What is wrong with a value, each with its place; and the keys that the
    /// schema describes there are added to `known`.
    fn errors(
        &self,
        schema: &Value,
        value: &Value,
        at: &str,
        known: &mut Vec<String>,
    ) -> Vec<String> {
        let mut errors = Vec::new();
        let mut need = |holds: bool, what: &str| {
            if !holds {
                errors.push(format!("{at}: {what} does not hold of {value}"));
            }
        };
        let number = value.as_f64();
        let length = value.as_array().map(|items| items.len() as u64);
        let mut deeper = Vec::new();
        for (keyword, rule) in schema.as_object().unwrap() {
            match keyword.as_str() {
                "$schema" | "title" | "description" | "$defs" => {}
                "const" => need(value == rule, "const"),
                "enum" => need(rule.as_array().unwrap().contains(value), "enum"),
                "type" => need(types(rule).iter().any(|name| is(value, name)), "type"),
                "minimum" => need(number.is_none_or(|n| n >= rule.as_f64().unwrap()), keyword),
                "exclusiveMinimum" => {
                    need(number.is_none_or(|n| n > rule.as_f64().unwrap()), keyword)
                }
                "exclusiveMaximum" => {
                    need(number.is_none_or(|n| n < rule.as_f64().unwrap()), keyword)
                }
                "minItems" => need(length.is_none_or(|n| n >= rule.as_u64().unwrap()), keyword),
                "maxItems" => need(length.is_none_or(|n| n <= rule.as_u64().unwrap()), keyword),
                "required" => {
                    let lacks = |name: &Value| value.get(name.as_str().unwrap()).is_none();
                    need(
                        !value.is_object() || !rule.as_array().unwrap().iter().any(lacks),
                        keyword,
                    );
                }
                "$ref" => {
                    let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
                    deeper.extend(self.errors(
                        self.root.pointer(pointer).unwrap(),
                        value,
                        at,
                        known,
                    ));
                }
                "allOf" => {
                    for one in rule.as_array().unwrap() {
                        deeper.extend(self.errors(one, value, at, known));
                    }
                }
                "oneOf" => {
                    let all = rule.as_array().unwrap().iter();
                    let fits =
                        all.filter(|one| self.errors(one, value, at, &mut Vec::new()).is_empty());
                    let fits: Vec<&Value> = fits.collect();
                    need(fits.len() == 1, "exactly one of oneOf");
                    fits.iter().for_each(|one| drop(self.errors(one, value, at, known)));
                }
                "items" => {
                    for (number, item) in value.as_array().unwrap_or(&Vec::new()).iter().enumerate()
                    {
                        deeper.extend(self.errors(rule, item, &format!("{at}/{number}"), known));
                    }
                }
                "properties" => {
                    for (name, rule) in rule.as_object().unwrap() {
                        let at = format!("{at}/{name}");
                        if let Some(value) = value.get(name) {
                            deeper.extend(self.errors(rule, value, &at, known));
                        }
                        known.push(at);
                    }
                }
                "additionalProperties" => {
                    for (name, value) in value.as_object().into_iter().flatten() {
                        let at = format!("{at}/{name}");
                        deeper.extend(self.errors(rule, value, &at, known));
                        known.push(at);
                    }
                }
                other => panic!("the test does not know `{other}`"),
            }
        }
        errors.extend(deeper);
        errors
    }

    #[track_caller]
    pub(crate) fn holds(&self, value: &Value) {
        let mut known = Vec::new();
        let errors = self.errors(&self.root, value, "", &mut known);
        assert!(errors.is_empty(), "{errors:#?}");
        for key in keys(value, "") {
            assert!(known.contains(&key), "the schema does not describe {key}");
        }
    }

    /// That a result is as the schema says, and that nothing of it is lost where it
    /// is read: but for the version of the form and the notices, which are words.
    #[track_caller]
    pub(crate) fn holds_and_reads(&self, value: &Value) {
        self.holds(value);
        let outcome: Outcome = serde_json::from_value(value.clone()).unwrap();
        let mut again = serde_json::to_value(outcome).unwrap();
        again["schema"] = value["schema"].clone();
        again["notices"] = value["notices"].clone();
        assert_eq!(again, *value);
    }

    fn refuses(&self, value: &Value) -> bool {
        !self.errors(&self.root, value, "", &mut Vec::new()).is_empty()
    }
}

fn types(rule: &Value) -> Vec<&str> {
    match rule {
        Value::String(name) => vec![name],
        several => several.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect(),
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "null" => value.is_null(),
        other => panic!("the test does not know the type `{other}`"),
    }
}

/// The places of all keys.
fn keys(value: &Value, at: &str) -> Vec<String> {
    let inner = |name: &str, value: &Value| keys(value, &format!("{at}/{name}"));
    match value {
        Value::Object(object) => object
            .iter()
            .flat_map(|(name, value)| [vec![format!("{at}/{name}")], inner(name, value)].concat())
            .collect(),
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(n, item)| inner(&n.to_string(), item)).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn comparisons_of_every_kind_are_as_the_schema_says() {
    let schema = Schema::published();
    let repo = Repo::new("steady");
    repo.branch("feature");
    repo.commit("nothing");
    let identical = repo.cbdr("compare main --format json").run().json();
    assert_eq!(identical["verdict"], "identical");
    schema.holds_and_reads(&identical);
    repo.replace("src/lib.rs", "500_000", "3_000_000");
    repo.commit("slower");
    let metric = "--metric cpu_time --format json --samples out.csv";
    let regression = repo.cbdr(&format!("compare main {metric}")).run().code(100).json();
    schema.holds_and_reads(&regression);
    let analyses = [
        "analyze out.csv --format json",
        "analyze out.csv --format json --threshold cpu_time=2% --metric cpu_time",
        "analyze out.csv --format json --rule judge",
    ];
    for analysis in analyses {
        schema.holds_and_reads(&repo.cbdr(analysis).run().json());
    }
    let open = repo
        .cbdr(&format!("compare main --max-pairs 6 --threshold 900% --layouts off {metric}"))
        .run()
        .code(0)
        .json();
    assert_eq!(open["verdict"], "inconclusive");
    schema.holds_and_reads(&open);
    schema.holds(&repo.cbdr("compare main --dry-run --format json").run().code(0).json());
    let many = "compare --aa --repeat 2 --max-pairs 6 --threshold 900% --layouts off --format json";
    schema.holds(&repo.cbdr(many).run().code(0).json());

    let mut broken = regression.clone();
    broken["verdict"] = json!("perhaps");
    assert!(schema.refuses(&broken));
    let mut broken = regression;
    broken["benchmarks"][0]["metrics"][0]["change"] = json!("2%");
    assert!(schema.refuses(&broken));
}

#[test]
fn a_benchmark_without_a_baseline_is_as_the_schema_says() {
    let repo = Repo::new("steady");
    repo.git(&["rm", "--quiet", "-r", "benches"]);
    repo.replace("Cargo.toml", "[[bench]]\nname = \"work\"\nharness = false\n", "");
    repo.commit("without");
    repo.branch("feature");
    repo.git(&["checkout", "--quiet", "HEAD~1", "--", "."]);
    repo.commit("with");
    let object = repo.cbdr("compare main --bench work --format json").run().code(0).json();
    assert_eq!(object["verdict"], "no-baseline");
    Schema::published().holds_and_reads(&object);
}

#[test]
fn what_was_removed_is_as_the_schema_says_of_a_comparison_and_of_its_shards() {
    let schema = Schema::published();
    let base = "{\"x\": {\"a\": 1, \"b\": 1}, \"y\": {\"a\": 1}}";
    let repo = printing(base, "{\"x\": {\"b\": 1}, \"z\": {\"a\": 1}}");
    let args = "--metric a,b --max-pairs 9 --format json --shard 1/1 --samples 1.csv";
    let shard = repo.cbdr(&format!("compare main {PRINTED} {args}")).run().code(0).json();
    let combined = repo.cbdr("analyze --combine 1.csv --format json").run().code(0).json();
    let removed = json!([{"benchmark": "y", "metric": null}, {"benchmark": "x", "metric": "a"}]);
    for object in [&shard, &combined] {
        assert_eq!(object["removed"], removed);
        schema.holds_and_reads(object);
    }
    let mut broken = shard;
    broken["removed"][0]["benchmark"] = json!(null);
    assert!(schema.refuses(&broken));
}
