//! Cargo's configuration files, read for what they let a build depend on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, TableLike, Value};

/// What a configuration file names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConfigFile {
    /// Other files that it includes, relative to its own folder.
    pub includes: Vec<PathBuf>,
    /// The variables of its table `[env]`.
    pub variables: BTreeSet<String>,
    /// All its strings: some of them name compilers, linkers and wrappers.
    pub strings: BTreeSet<String>,
}

impl ConfigFile {
    /// Reads the text of one. Of a text that is no TOML, which cargo refuses,
    /// nothing is known.
    pub(crate) fn parse(text: &str) -> Self {
        let Ok(document) = text.parse::<DocumentMut>() else { return ConfigFile::default() };
        let mut file = ConfigFile::default();
        if let Some(variables) = document.get("env").and_then(Item::as_table_like) {
            file.variables.extend(variables.iter().map(|(name, _)| name.to_owned()));
        }
        match document.get("include") {
            Some(Item::Value(value)) => file.include(value),
            Some(Item::ArrayOfTables(tables)) => {
                tables.iter().for_each(|table| file.include_path(table.get("path")));
            }
            _ => {}
        }
        strings_of_table(document.as_table(), &mut file.strings);
        file
    }

    /// A path, a table with a path, or a list of these.
    fn include(&mut self, value: &Value) {
        match value {
            Value::String(path) => self.includes.push(path.value().into()),
            Value::InlineTable(table) => {
                self.includes.extend(table.get("path").and_then(Value::as_str).map(PathBuf::from));
            }
            Value::Array(list) => list.iter().for_each(|value| self.include(value)),
            _ => {}
        }
    }

    fn include_path(&mut self, path: Option<&Item>) {
        self.includes.extend(path.and_then(Item::as_str).map(PathBuf::from));
    }
}

fn strings_of_table(table: &dyn TableLike, found: &mut BTreeSet<String>) {
    for (_, item) in table.iter() {
        match item {
            Item::Value(value) => strings_of_value(value, found),
            Item::Table(table) => strings_of_table(table, found),
            Item::ArrayOfTables(tables) => {
                tables.iter().for_each(|table| strings_of_table(table, found));
            }
            Item::None => {}
        }
    }
}

fn strings_of_value(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            found.insert(text.value().clone());
        }
        Value::Array(list) => list.iter().for_each(|value| strings_of_value(value, found)),
        Value::InlineTable(table) => strings_of_table(table, found),
        _ => {}
    }
}

/// Cargo's configuration file of a folder: `.cargo/config`, which wins over
/// `.cargo/config.toml`.
pub(crate) fn config_in(folder: &Path) -> Option<PathBuf> {
    let names = ["config", "config.toml"].map(|name| folder.join(".cargo").join(name));
    names.into_iter().find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_file_includes_others_in_each_of_the_ways_that_cargo_knows() {
        let includes = |text: &str| ConfigFile::parse(text).includes;
        assert_eq!(includes("include = 'a.toml'"), paths(&["a.toml"]));
        assert_eq!(includes("include = ['a.toml', \"b.toml\"]"), paths(&["a.toml", "b.toml"]));
        let tables = "include = ['a.toml', { path = 'b.toml', optional = true }]";
        assert_eq!(includes(tables), paths(&["a.toml", "b.toml"]));
        assert_eq!(includes("[[include]]\npath = 'c.toml'\n"), paths(&["c.toml"]));
        assert_eq!(includes("[build]\njobs = 1\n"), paths(&[]));
    }

    #[test]
    fn the_variables_of_its_environment_are_known_by_name() {
        let text = "env.ONE = '1'\n[env]\n";
        assert_eq!(ConfigFile::parse(text), ConfigFile::default(), "that is no TOML");
        let text =
            "[env]\nONE = '1'\nTWO = { value = '2', force = true }\n[env.THREE]\nvalue = '3'\n";
        let names = ["ONE", "TWO", "THREE"].map(str::to_owned);
        assert_eq!(ConfigFile::parse(text).variables, BTreeSet::from(names));
    }

    #[test]
    fn all_strings_are_found_wherever_they_stand() {
        let text = "[build]\nrustc-wrapper = 'sccache'\nrustflags = ['-Clinker=clang']\n\
                    [target.'cfg(debug_assertions)']\nlinker = '/usr/bin/ld'\n\
                    [profile.release.package]\na = { opt-level = 's' }\n";
        let strings = ["sccache", "-Clinker=clang", "/usr/bin/ld", "s"].map(str::to_owned);
        assert_eq!(ConfigFile::parse(text).strings, BTreeSet::from(strings));
    }
}
