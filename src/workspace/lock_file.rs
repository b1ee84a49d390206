//! The versions of libraries with which a package is built, according to `Cargo.lock`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

/// Versions of libraries, by name. A package may be built with several versions of one.
pub(crate) type Versions = BTreeMap<String, BTreeSet<String>>;

/// The versions of those `libraries` that a package of the workspace needs, directly
/// or indirectly. Empty if the file can't be read.
pub(super) fn versions(lock: &Path, package: &str, libraries: &[&str]) -> Versions {
    let (mut found, all) = (Versions::new(), packages(lock));
    let own = |table: &&Table| word(table, "name") == Some(package) && !is_external(table);
    let mut open: Vec<&Table> = all.iter().filter(own).collect();
    let mut known = BTreeSet::new();
    while let Some(table) = open.pop() {
        let (Some(name), Some(version)) = (word(table, "name"), word(table, "version")) else {
            continue;
        };
        if !known.insert((name, version, word(table, "source"))) {
            continue;
        }
        if libraries.contains(&name) {
            found.entry(name.to_owned()).or_default().insert(version.to_owned());
        }
        let needs = table.get("dependencies").and_then(|needs| needs.as_array());
        let needs = needs.into_iter().flatten().filter_map(|need| need.as_str());
        open.extend(needs.flat_map(|need| all.iter().filter(move |other| names(need, other))));
    }
    found
}

/// The packages that are not of the workspace, each by its name, version and source. Empty if the
/// file can't be read.
pub(super) fn external(lock: &Path) -> BTreeSet<String> {
    let text = |table: &Table| {
        ["name", "version", "source"].map(|key| word(table, key).unwrap_or_default()).join(" ")
    };
    packages(lock).iter().filter(|table| is_external(table)).map(text).collect()
}

fn packages(lock: &Path) -> ArrayOfTables {
    let text = std::fs::read_to_string(lock).unwrap_or_default();
    let mut document = text.parse::<DocumentMut>().unwrap_or_default();
    let all = document.remove("package").map(Item::into_array_of_tables);
    all.and_then(Result::ok).unwrap_or_default()
}

/// A package of the workspace has no source.
fn is_external(table: &Table) -> bool {
    table.contains_key("source")
}

/// Whether a dependency is this package: `NAME`, `NAME VERSION` or `NAME VERSION (SOURCE)`,
/// as much as is needed to distinguish it.
fn names(need: &str, table: &Table) -> bool {
    let mut words = need.split(' ');
    let is = |key: &str, asked: Option<&str>| asked.is_none() || word(table, key) == asked;
    words.next() == word(table, "name")
        && is("version", words.next())
        && is("source", words.next().map(|source| source.trim_matches(['(', ')'])))
}

fn word<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
version = 4

[[package]]
name = "criterion"
version = "0.5.1"
source = "registry+https://example.org/index"
dependencies = ["itoa"]

[[package]]
name = "criterion"
version = "0.7.0"
source = "registry+https://example.org/index"

[[package]]
name = "divan"
version = "0.1.21"
source = "registry+https://example.org/index"
dependencies = ["helper"]

[[package]]
name = "helper"
version = "0.1.0"
dependencies = ["criterion 0.7.0 (registry+https://example.org/index)", "divan"]

[[package]]
name = "itoa"
version = "1.0.0"
source = "registry+https://example.org/index"

[[package]]
name = "one"
version = "0.1.0"
dependencies = ["criterion 0.5.1", "itoa"]

[[package]]
name = "other"
version = "0.1.0"
dependencies = ["helper"]
"#;

    fn shown(package: &str, libraries: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("Cargo.lock");
        std::fs::write(&lock, LOCK).unwrap();
        format!("{:?}", versions(&lock, package, libraries))
    }

    #[test]
    fn a_version_is_the_one_that_the_package_needs() {
        let libraries = ["criterion", "divan"];
        assert_eq!(shown("one", &libraries), r#"{"criterion": {"0.5.1"}}"#);
        // Indirectly, and although two need each other.
        assert_eq!(shown("other", &libraries), r#"{"criterion": {"0.7.0"}, "divan": {"0.1.21"}}"#);
        assert_eq!(shown("other", &["divan"]), r#"{"divan": {"0.1.21"}}"#);
        // Of the workspace, not of a registry.
        assert_eq!(shown("itoa", &["itoa"]), "{}");
    }

    #[test]
    fn what_is_not_of_the_workspace_is_external() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("Cargo.lock");
        std::fs::write(&lock, LOCK).unwrap();
        let of = |package: &str| format!("{package} registry+https://example.org/index");
        let expected = ["criterion 0.5.1", "criterion 0.7.0", "divan 0.1.21", "itoa 1.0.0"];
        assert_eq!(external(&lock), expected.map(of).into());
    }

    #[test]
    fn of_a_lock_file_that_cannot_be_read_nothing_is_known() {
        assert_eq!(versions(Path::new("/nonexistent"), "one", &["criterion"]), Versions::new());
        assert_eq!(external(Path::new("/nonexistent")), BTreeSet::new());
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("Cargo.lock");
        for text in ["", "<<<<<<< HEAD", "package = 1", "[[package]]\nname = 1\n"] {
            std::fs::write(&lock, text).unwrap();
            assert_eq!(versions(&lock, "one", &["criterion"]), Versions::new());
            assert_eq!(external(&lock), BTreeSet::new());
        }
    }
}
