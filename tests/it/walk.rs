//! How far a reader walks from a result to an output: the files that the functions of an output
//! lead to, in the order in which they are called. Each function is read once, where it is first
//! called. What is counted is a sequence of files: a *stay* is a file in it, a *return* a stay in
//! a file where the reader has been before.
//!
//! A call is found by its name: in the same file, in the module or type before `::`, or in the
//! only such file from which this one imports. What the library's statistics or processes do is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::tidy;

/// Where a reader of a result may have to go.
const ROOMS: [&str; 2] = ["src/bin/cargo-cbdr", "src/model"];

/// A function: its file, and the number of the line where it begins.
type Function = (PathBuf, usize);

struct Sources {
    /// The lines of each file, without its tests and comments.
    files: BTreeMap<PathBuf, Vec<String>>,
    functions: BTreeMap<String, Vec<Function>>,
    /// The file of each type.
    types: BTreeMap<String, PathBuf>,
}

impl Sources {
    fn read() -> Self {
        let mut sources =
            Sources { files: BTreeMap::new(), functions: BTreeMap::new(), types: BTreeMap::new() };
        for (path, text) in ROOMS.into_iter().flat_map(tidy::sources) {
            sources.add(PathBuf::from(path), &text);
        }
        sources
    }

    fn add(&mut self, path: PathBuf, text: &str) {
        let code = tidy::code(text.split("#[cfg(test)]\n").next().unwrap());
        let lines: Vec<String> = code.lines().map(str::to_owned).collect();
        for (number, line) in lines.iter().enumerate() {
            let words: Vec<&str> = line.split([' ', '(', '<', '{', ':', ';']).collect();
            let after = |word: &str| {
                let at = words.iter().position(|other| *other == word)?;
                words.get(at + 1).map(|name| (*name).to_owned())
            };
            if let Some(name) = after("fn") {
                self.functions.entry(name).or_default().push((path.clone(), number));
            }
            for kind in ["struct", "enum", "trait"] {
                if let Some(name) = after(kind) {
                    self.types.insert(name, path.clone());
                }
            }
        }
        self.files.insert(path, lines);
    }

    /// The lines of a function: until the brace in the column where it begins.
    fn body(&self, (path, first): &Function) -> &[String] {
        let lines = &self.files[path][*first..];
        let indent = lines[0].len() - lines[0].trim_start().len();
        let end = format!("{}}}", " ".repeat(indent));
        let last = lines.iter().position(|line| *line == end).unwrap_or(0);
        &lines[..=last]
    }

    /// The functions that a function calls, in their order.
    fn calls(&self, function: &Function) -> Vec<Function> {
        let text = self.body(function).join("\n").replace(|c: char| !c.is_ascii(), "_");
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut calls = Vec::new();
        for (at, _) in text.match_indices(|c: char| !is_name(c)) {
            let start = text[..at].rfind(|c| !is_name(c)).map_or(0, |before| before + 1);
            let (before, name) = (&text[..start], &text[start..at]);
            if name.is_empty() || before.ends_with("fn ") {
                continue;
            }
            let qualifier = before.strip_suffix("::").map(|before| {
                &before[before.rfind(|c| !is_name(c)).map_or(0, |before| before + 1)..]
            });
            let is_call = text[at..].starts_with('(') || qualifier.is_some();
            calls.extend(self.resolve(&function.0, qualifier, name).filter(|_| is_call));
        }
        calls
    }

    fn resolve(&self, here: &Path, qualifier: Option<&str>, name: &str) -> Option<Function> {
        let is_named = |path: &Path, name: &str| {
            let folder = path.parent().and_then(Path::file_name);
            path.file_stem().is_some_and(|stem| stem == name)
                || path.ends_with("mod.rs") && folder.is_some_and(|folder| folder == name)
        };
        let is_of = |path: &Path| match qualifier {
            None | Some("Self" | "self") => path == here,
            Some(of) => self.types.get(of).is_some_and(|file| file == path) || is_named(path, of),
        };
        let imports = self.files[here].iter().filter(|line| line.starts_with("use "));
        let imported: BTreeSet<&str> = imports
            .flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
            .collect();
        let is_imported =
            |path: &Path| qualifier.is_none() && imported.iter().any(|name| is_named(path, name));
        let all = self.functions.get(name)?;
        let here = all.iter().find(|(path, _)| is_of(path));
        let mut there = all.iter().filter(|(path, _)| is_imported(path));
        here.or_else(|| there.next().filter(|_| there.next().is_none())).cloned()
    }
}

/// The files that a reader visits, one after the other.
fn walk(sources: &Sources, start: &Function) -> Vec<PathBuf> {
    fn read(
        sources: &Sources,
        function: &Function,
        known: &mut BTreeSet<Function>,
        way: &mut Vec<PathBuf>,
    ) {
        way.push(function.0.clone());
        for call in sources.calls(function) {
            if known.insert(call.clone()) {
                read(sources, &call, known, way);
                way.push(function.0.clone());
            }
        }
    }
    let mut way = Vec::new();
    read(sources, start, &mut BTreeSet::from([start.clone()]), &mut way);
    way.dedup();
    way
}

/// The most stays: to put a result into words, once for all outputs, and from these to an output.
/// A change that needs more should say why: the suite's numbers have words of their own.
const MOST: [(&str, &str, usize); 4] = [
    ("render/readable.rs", "new", 95),
    ("render/human.rs", "report", 90),
    ("render/markdown.rs", "comment", 75),
    ("page/mod.rs", "page", 145),
];

#[test]
fn from_a_result_to_an_output_is_a_short_walk() {
    let sources = Sources::read();
    for (file, name, most) in MOST {
        let path = Path::new("src/bin/cargo-cbdr").join(file);
        let function = sources.functions[name].iter().find(|(other, _)| *other == path).unwrap();
        let way = walk(&sources, function);
        let rooms: BTreeSet<&PathBuf> = way.iter().collect();
        let returns = way.len() - rooms.len();
        let count = format!("{} stays in {} rooms, {returns} returns", way.len(), rooms.len());
        assert!(way.len() <= most, "{file}: {count}; at most {most} stays were expected");
    }
}
