//! The expected outputs, with a folder for each test and a file for each call.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The variable that has the expected outputs written instead of compared.
const BLESS: &str = "CBDR_BLESS";

/// How many equal lines are shown before the first one that differs.
const BEFORE: usize = 3;
/// How many lines are shown from the first one that differs.
const AFTER: usize = 4;
/// How many characters of a line are shown on either side of a difference.
const BESIDE: usize = 80;

/// The actual outputs of one test, by the names of their files.
pub(super) struct Outputs {
    folder: PathBuf,
    actual: BTreeMap<String, String>,
}

impl Outputs {
    /// The outputs whose expected ones are in `pinned/expected/NAME`.
    pub(super) fn new(name: &str) -> Self {
        let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/pinned/expected");
        Outputs { folder: expected.join(name), actual: BTreeMap::new() }
    }

    /// Adds the output that is to be equal to the file `NAME.txt`.
    #[track_caller]
    pub(super) fn add(&mut self, name: &str, text: String) {
        let earlier = self.actual.insert(format!("{name}.txt"), text);
        assert!(earlier.is_none(), "two outputs are called {name}");
    }

    /// Demands that the folder holds these outputs and nothing else. With
    /// `CBDR_BLESS` in the environment it makes it so.
    #[track_caller]
    pub(super) fn check(self) {
        assert!(!self.actual.is_empty());
        if std::env::var_os(BLESS).is_some_and(|value| !value.is_empty()) {
            return self.bless();
        }
        let differences = self.differences();
        let (count, folder) = (differences.len(), self.folder.display());
        assert!(
            differences.is_empty(),
            "{count} outputs are not as in {folder}:\n\n{}\n\
             If that is meant: {BLESS}=1 cargo test --test it pinned::",
            differences.join("\n")
        );
    }

    fn bless(self) {
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder).unwrap();
        }
        std::fs::create_dir_all(&self.folder).unwrap();
        for (name, text) in self.actual {
            std::fs::write(self.folder.join(name), text).unwrap();
        }
    }

    /// What differs, a text for each file.
    fn differences(&self) -> Vec<String> {
        let mut expected = BTreeMap::new();
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            expected.insert(name, std::fs::read_to_string(entry.path()).unwrap());
        }
        let mut differences = Vec::new();
        for (name, actual) in &self.actual {
            match expected.remove(name) {
                None => differences.push(format!("{name} is new: there is no such file\n")),
                Some(expected) if expected != *actual => {
                    differences.push(format!("{name}{}", difference(&expected, actual)));
                }
                Some(_) => {}
            }
        }
        let gone = expected.into_keys().map(|name| format!("{name}: nothing gives this output\n"));
        differences.extend(gone);
        differences
    }
}

/// The first line that differs between two texts that are not equal, with
/// those around it.
fn difference(expected: &str, actual: &str) -> String {
    // With their ends, for these may be what differs.
    let lines =
        |text: &str| -> Vec<String> { text.split_inclusive('\n').map(str::to_owned).collect() };
    let (expected, actual) = (lines(expected), lines(actual));
    let pairs = expected.iter().zip(&actual);
    let first = pairs.take_while(|(expected, actual)| expected == actual).count();
    let column = match (expected.get(first), actual.get(first)) {
        (Some(expected), Some(actual)) => {
            let pairs = expected.chars().zip(actual.chars());
            pairs.take_while(|(expected, actual)| expected == actual).count()
        }
        _ => 0,
    };
    let mut out = format!(", line {}:\n", first + 1);
    let mut show = |sign: char, lines: &[String], column: usize| {
        for (number, line) in lines.iter().enumerate() {
            let _ =
                writeln!(out, "  {sign} {}", window(line, if number == 0 { column } else { 0 }));
        }
    };
    show(' ', &expected[first.saturating_sub(BEFORE)..first], 0);
    show('-', &expected[first..expected.len().min(first + AFTER)], column);
    show('+', &actual[first..actual.len().min(first + AFTER)], column);
    out
}

/// The part of a line around a column, with everything that is not seen made
/// visible. A line that ends with the file has no `\n` at its end.
fn window(line: &str, column: usize) -> String {
    let count = line.chars().count();
    let from = column.saturating_sub(BESIDE);
    let part: String = line.chars().skip(from).take(2 * BESIDE).collect();
    let shown: String = part
        .chars()
        .map(|c| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() })
        .collect();
    let (before, after) = (from > 0, from + 2 * BESIDE < count);
    format!("{}{shown}{}", if before { "…" } else { "" }, if after { "…" } else { "" })
}

#[test]
fn a_difference_is_shown_with_what_stands_around_it() {
    let long = "x".repeat(1000);
    let expected = format!("a\nb\nc\nd\n{long}1{long}\ne\n");
    let shown = difference(&expected, &expected.replace('1', "2"));
    assert!(shown.starts_with(", line 5:\n    b\\n\n    c\\n\n    d\\n\n  - …xxx"), "{shown}");
    assert!(shown.contains("x1x") && shown.contains("x2x"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() < 2 * BESIDE + 10), "{shown}");
    // The end of the last line, and a line more.
    assert_eq!(difference("a\nb", "a\nb\n"), ", line 2:\n    a\\n\n  - b\n  + b\\n\n");
    assert_eq!(difference("a\n", "a\nb\n"), ", line 2:\n    a\\n\n  + b\\n\n");
}

#[test]
fn an_output_that_differs_is_new_or_is_gone_is_found() {
    let folder = crate::support::scratch();
    let write = |name: &str| std::fs::write(folder.path().join(name), "text\n").unwrap();
    ["same.txt", "other.txt", "gone.txt"].into_iter().for_each(write);
    let mut outputs = Outputs { folder: folder.path().to_owned(), actual: BTreeMap::new() };
    outputs.add("same", "text\n".to_owned());
    outputs.add("other", "test\n".to_owned());
    outputs.add("new", "text\n".to_owned());
    let expected = [
        "new.txt is new: there is no such file\n",
        "other.txt, line 1:\n  - text\\n\n  + test\\n\n",
        "gone.txt: nothing gives this output\n",
    ];
    assert_eq!(outputs.differences(), expected);
    outputs.bless();
    let names = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["new.txt", "other.txt", "same.txt"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("other.txt")).unwrap(), "test\n");
}
