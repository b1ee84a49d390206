//! What rustc and build scripts tell cargo that they have read: dep-info files
//! and the output of build scripts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Environment variables and files that a build has read, as its tools wrote
/// them down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tracked {
    /// The variables, each with the value that rustc saw, where it is known.
    pub variables: BTreeMap<String, Option<String>>,
    /// The files and folders. Relative paths are relative to where the tool
    /// ran.
    pub paths: BTreeSet<PathBuf>,
}

impl Tracked {
    /// Reads a dep-info file of rustc: rules as in a Makefile, and a comment
    /// `# env-dep:NAME=VALUE` for each variable (`NAME` alone for one that was
    /// not set).
    pub(crate) fn of_dep_info(text: &str) -> Self {
        let mut tracked = Tracked::default();
        for line in text.lines() {
            if let Some(variable) = line.strip_prefix("# env-dep:") {
                let (name, value) = match variable.split_once('=') {
                    Some((name, value)) => (name, Some(unescape(value))),
                    None => (variable, None),
                };
                tracked.variables.insert(name.to_owned(), value);
            } else if !line.starts_with('#')
                && let Some((_, paths)) = line.split_once(": ")
            {
                tracked.paths.extend(words(paths).map(PathBuf::from));
            }
        }
        tracked
    }

    /// Reads what a build script printed: its lines `rerun-if-env-changed` and
    /// `rerun-if-changed`, with one colon or with two.
    pub(crate) fn of_build_script(output: &str) -> Self {
        let mut tracked = Tracked::default();
        for line in output.lines() {
            let Some(instruction) = line.strip_prefix("cargo:") else { continue };
            let instruction = instruction.strip_prefix(':').unwrap_or(instruction);
            let Some((key, value)) = instruction.split_once('=') else { continue };
            match key {
                "rerun-if-env-changed" => {
                    tracked.variables.insert(value.trim_end().to_owned(), None);
                }
                "rerun-if-changed" => {
                    tracked.paths.insert(PathBuf::from(value.trim_end()));
                }
                _ => {}
            }
        }
        tracked
    }
}

/// The words of a rule; a blank in a word has a backslash before it.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let word = words.last_mut().expect("there is always a last word");
        match c {
            '\\' if rest.peek() == Some(&' ') => word.extend(rest.next()),
            ' ' => words.push(String::new()),
            c => word.push(c),
        }
    }
    words.into_iter().filter(|word| !word.is_empty())
}

/// Undoes what rustc does to line ends and backslashes in the value of a
/// variable.
fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut rest = value.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some(other) => text.push(other),
            None => text.push('\\'),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables<'a>(pairs: &[(&'a str, Option<&'a str>)]) -> BTreeMap<String, Option<String>> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))).collect()
    }

    #[test]
    fn dep_info_names_files_and_variables() {
        let text = "/t/deps/b-1.d: benches/b.rs /data/a\\ b.txt\n\n\
                    /t/deps/b-1: benches/b.rs /data/a\\ b.txt\n\n\
                    benches/b.rs:\n/data/a\\ b.txt:\n\n\
                    # env-dep:ROUNDS=3\n# env-dep:TEXT=a\\nb\\\\c\n# env-dep:UNSET\n";
        let tracked = Tracked::of_dep_info(text);
        let paths = ["benches/b.rs", "/data/a b.txt"].map(PathBuf::from);
        assert_eq!(tracked.paths, BTreeSet::from(paths));
        let expected = [("ROUNDS", Some("3")), ("TEXT", Some("a\nb\\c")), ("UNSET", None)];
        assert_eq!(tracked.variables, variables(&expected));
    }

    #[test]
    fn build_scripts_speak_with_one_colon_or_two() {
        let output = "cargo:rerun-if-env-changed=ONE\ncargo::rerun-if-env-changed=TWO\n\
                      cargo:rerun-if-changed=wrapper.h\ncargo::rerun-if-changed=/usr/include/x.h\n\
                      cargo:warning=cargo:rerun-if-env-changed=NO\n said cargo:rerun-if-changed=no\n";
        let tracked = Tracked::of_build_script(output);
        assert_eq!(tracked.variables, variables(&[("ONE", None), ("TWO", None)]));
        let paths = ["wrapper.h", "/usr/include/x.h"].map(PathBuf::from);
        assert_eq!(tracked.paths, BTreeSet::from(paths));
    }

    #[test]
    fn what_is_neither_names_nothing() {
        assert_eq!(Tracked::of_dep_info("\n:\n# x\nsrc/lib.rs:\n"), Tracked::default());
        assert_eq!(
            Tracked::of_build_script("cargo:\ncargo:rerun-if-changed\n"),
            Tracked::default()
        );
    }
}
