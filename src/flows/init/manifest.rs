//! Adds a table to `Cargo.toml` and leaves everything else unchanged.

use serde_json::Value as Json;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use super::TableOwner;

/// The comment above a new table.
const COMMENT: &str = "# What `cargo cbdr compare` runs, and how much slower it may get.\n";

/// The text of a manifest with a new table `[OWNER.metadata.cbdr]`.
///
/// # Errors
/// If the text is not a manifest with such an owner, or already has the table: a message.
pub(super) fn with_table(
    text: &str,
    owner: TableOwner,
    entries: &[(&'static str, Json)],
) -> Result<String, String> {
    let mut document: DocumentMut =
        text.replace("\r\n", "\n").parse().map_err(|error| format!("{error}"))?;
    let manifest = document.as_table_mut() as &mut dyn TableLike;
    let owned = manifest.get_mut(&owner.to_string()).and_then(Item::as_table_like_mut);
    let owned = owned.ok_or_else(|| format!("it has no [{owner}]"))?;
    let metadata = owned.entry("metadata").or_insert_with(|| {
        let mut table = Table::new();
        // It needs no header, since the table in it has one.
        table.set_implicit(true);
        Item::Table(table)
    });
    let is_inline = metadata.is_value();
    let metadata = metadata.as_table_like_mut();
    let metadata = metadata.ok_or_else(|| format!("{owner}.metadata is not a table"))?;
    if metadata.contains_key("cbdr") {
        return Err(format!("it already has a table [{}]", owner.table()));
    }
    let entries = entries.iter().map(|(key, json)| (*key, value(json)));
    let item = if is_inline {
        Item::Value(Value::InlineTable(entries.collect()))
    } else {
        let mut table = Table::new();
        for (key, value) in entries {
            table.insert(key, item(key, value));
        }
        table.decor_mut().set_prefix(format!("\n{COMMENT}"));
        Item::Table(table)
    };
    metadata.insert("cbdr", item);
    let edited = document.to_string();
    // A file with Windows line endings throughout keeps them.
    let is_windows = text.contains("\r\n") && !text.replace("\r\n", "").contains('\n');
    Ok(if is_windows { edited.replace('\n', "\r\n") } else { edited })
}

/// Named benchmarks become tables of their own, everything else a value.
fn item(key: &str, value: Value) -> Item {
    match value {
        Value::InlineTable(benchmarks) if key == "benchmarks" => {
            let mut table = Table::new();
            table.set_implicit(true);
            for (name, benchmark) in benchmarks {
                let own = Item::Value(benchmark).into_table();
                table.insert(&name, own.map_or_else(|value| value, Item::Table));
            }
            Item::Table(table)
        }
        value => Item::Value(value),
    }
}

fn value(json: &Json) -> Value {
    match json {
        Json::Bool(is_set) => Value::from(*is_set),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64().unwrap_or_default()),
        },
        Json::Array(list) => Value::Array(list.iter().map(value).collect::<Array>()),
        Json::Object(map) => {
            let set = map.iter().filter(|(_, json)| !json.is_null());
            Value::InlineTable(set.map(|(key, json)| (key, value(json))).collect())
        }
        Json::String(text) => Value::from(text.as_str()),
        // TOML has no null, and no layer sets it.
        Json::Null => Value::from(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::table::Table as Layer;

    fn entries() -> Vec<(&'static str, Json)> {
        let thresholds = [("max_rss".to_owned(), "5%".into())].into();
        let layer = Layer {
            bench: Some("parse".into()),
            args: Some(vec!["--quick".into(), "a \"b\"".into()]),
            threshold: Some("2%".into()),
            thresholds: Some(thresholds),
            max_pairs: Some(7),
            all_features: Some(true),
            ..Layer::default()
        };
        layer.entries()
    }

    const TABLE: &str = "[package.metadata.cbdr]\nbench = \"parse\"\n\
        args = [\"--quick\", 'a \"b\"']\nall-features = true\nthreshold = \"2%\"\n\
        thresholds = { max_rss = \"5%\" }\nmax-pairs = 7\n";

    #[test]
    fn all_that_was_there_stays_as_it_was() {
        let before =
            "# A file.\n\n[package] # the package\nname = 'a'   # odd quotes\nversion='1.0.0'\n";
        let after = "\n[dependencies]\n# kept\nb   =  \"1\"\n\n[[bench]]\nname = \"parse\"\n";
        let written =
            with_table(&format!("{before}{after}"), TableOwner::Package, &entries()).unwrap();
        assert_eq!(written, format!("{before}\n{COMMENT}{TABLE}{after}"));
    }

    #[test]
    fn named_benchmarks_have_tables_of_their_own() {
        let bench = |name: &str| Layer { bench: Some(name.into()), ..Layer::default() };
        let benchmarks = ["fast", "one/slow"].map(|name| (name.to_owned(), bench(name)));
        let threshold = Some("5%".into());
        let layer = Layer { threshold, benchmarks: Some(benchmarks.into()), ..Layer::default() };
        let written = with_table("[package]\n", TableOwner::Package, &layer.entries()).unwrap();
        let expected = format!(
            "[package]\n\n{COMMENT}[package.metadata.cbdr]\nthreshold = \"5%\"\n\n\
             [package.metadata.cbdr.benchmarks.fast]\nbench = \"fast\"\n\n\
             [package.metadata.cbdr.benchmarks.\"one/slow\"]\nbench = \"one/slow\"\n"
        );
        assert_eq!(written, expected);
    }

    #[test]
    fn the_new_table_goes_behind_those_of_other_tools() {
        let text = "[package]\nname = \"a\"\n\n[package.metadata.docs.rs]\nall-features = true\n\n\
                    [lints]\n";
        let written = with_table(text, TableOwner::Package, &entries()).unwrap();
        let at = |part: &str| written.find(part).unwrap();
        assert!(at("docs.rs") < at(TABLE) && at(TABLE) < at("[lints]"), "{written}");
        assert_eq!(written.replace(&format!("\n{COMMENT}{TABLE}"), ""), text);
    }

    #[test]
    fn every_way_to_write_the_tables_around_it_is_kept() {
        for text in [
            "package = { name = \"a\" }\n",
            "[package]\nname = \"a\"\nmetadata = { docs = 1 }\n",
            "[package]\nname = \"a\"\nmetadata.docs.rs.all-features = true\n[lints]\n",
            "package.name = \"a\"\n",
            "[package]\nname = \"a\"\n[package.metadata]\nx = 1 # here\n[lib]\nbench = false\n",
            "[package]\nname = \"a\"",
        ] {
            let written = with_table(text, TableOwner::Package, &entries()).unwrap();
            let after: DocumentMut = written.parse().unwrap();
            let before: DocumentMut = text.parse().unwrap();
            let found = &after["package"]["metadata"]["cbdr"];
            assert_eq!(found["bench"].as_str(), Some("parse"), "{written}");
            assert_eq!(found["max-pairs"].as_integer(), Some(7), "{written}");
            for (key, item) in before.as_table() {
                if key != "package" {
                    assert_eq!(item.to_string(), after[key].to_string(), "{written}");
                }
            }
            assert!(written.contains("name = \"a\""), "{written}");
        }
    }

    #[test]
    fn lines_that_end_as_windows_has_them_stay_so() {
        let text = "[package]\r\nname = \"a\"\r\n";
        let written = with_table(text, TableOwner::Package, &entries()).unwrap();
        assert!(written.starts_with(text));
        assert_eq!(written.matches('\n').count(), written.matches("\r\n").count());
    }

    #[test]
    fn what_is_there_is_never_replaced() {
        let text = format!("[package]\nname = \"a\"\n{TABLE}");
        assert!(
            with_table(&text, TableOwner::Package, &entries()).unwrap_err().contains("already")
        );
        assert!(
            with_table("[workspace]\n", TableOwner::Package, &entries())
                .unwrap_err()
                .contains("has no")
        );
        assert!(with_table("[package\n", TableOwner::Package, &entries()).is_err());
        let odd = "[package]\nmetadata = 1\n";
        assert!(
            with_table(odd, TableOwner::Package, &entries())
                .unwrap_err()
                .contains("is not a table")
        );
    }
}
