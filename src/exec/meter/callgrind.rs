//! The instructions of a program by call stack, from valgrind's callgrind.
//!
//! Callgrind tells apart the stacks through which a function is called, and writes the
//! instructions of the function itself for each of them. Those of all stacks add up to those
//! of the program.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::cachegrind::{INSTRUCTIONS, find, missing, take, wrap};
use super::{CallStack, Error, Refusal};
use crate::exec::process::Command;

const OPTIONS: [&str; 5] = [
    "--tool=callgrind",
    // With many more callers, a recursive parser has so many stacks that memory runs out.
    "--separate-callers=24",
    "--dump-line=no",
    "--compress-pos=no",
    "--cache-sim=no",
];

/// Counts the instructions of each call stack.
#[derive(Clone, Debug)]
pub(crate) struct Profiler {
    valgrind: PathBuf,
}

impl Profiler {
    /// The profiler of this machine, from the `PATH` `path`.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn find(path: Option<&OsStr>) -> Result<Self, Refusal> {
        let valgrind = find(path).ok_or_else(|| missing(INSTRUCTIONS))?;
        Ok(Profiler { valgrind })
    }

    /// The command that counts those of another one; it writes to `folder`.
    ///
    /// # Errors
    /// When files of an earlier run in `folder` can't be removed.
    pub(crate) fn command(&self, command: &Command, folder: &Path) -> Result<Command, Error> {
        take(folder)?;
        Ok(wrap(&self.valgrind, &OPTIONS, "--callgrind-out-file=", command, folder))
    }

    /// The instructions of each stack: of the function that is the first of its names, without
    /// those that it calls.
    ///
    /// # Errors
    /// When the run left none.
    pub(crate) fn stacks(&self, folder: &Path) -> Result<BTreeMap<CallStack, u64>, Error> {
        let mut all = BTreeMap::new();
        for file in take(folder)? {
            add(&mut all, &file);
        }
        match all.is_empty() {
            true => Err(Error::NoCount),
            false => Ok(all),
        }
    }
}

/// Adds what a file of callgrind says.
fn add(all: &mut BTreeMap<CallStack, u64>, file: &str) {
    // A name is written once, with a number that stands for it from then on.
    let mut names = HashMap::new();
    let mut current = None;
    let mut lines = file.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("fn=") {
            current = named(name, &mut names);
        } else if let Some(name) = line.strip_prefix("cfn=") {
            named(name, &mut names);
        } else if line.starts_with("calls=") {
            // The next line has what the called function costs.
            lines.next();
        } else if let (Some(stack), Some(instructions)) = (&current, of_line(line)) {
            *all.entry(CallStack::clone(stack)).or_default() += instructions;
        }
    }
}

/// What `(number) name` or `(number)` stands for.
fn named<'f>(text: &'f str, names: &mut HashMap<&'f str, CallStack>) -> Option<CallStack> {
    let (number, name) = text.strip_prefix('(')?.split_once(')')?;
    if let Some(name) = name.strip_prefix(' ') {
        names.insert(number, CallStack(name.to_owned()));
    }
    names.get(number).cloned()
}

/// The instructions of a source line: its number, then the count.
fn of_line(line: &str) -> Option<u64> {
    let (number, instructions) = line.split_once(' ')?;
    number.parse::<u64>().ok()?;
    instructions.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_of_stacks_are_added() {
        let folder = tempfile::tempdir().unwrap();
        let profiler = Profiler { valgrind: "/usr/bin/valgrind".into() };
        let command = Command { argv: vec!["x".into(), "-a".into()], ..Command::default() };
        let wrapped = profiler.command(&command, folder.path()).unwrap().shown();
        assert!(wrapped.contains("--tool=callgrind") && wrapped.ends_with(" x -a"), "{wrapped}");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        write(
            "valgrind.10",
            "version: 1\ncmd: fn=x\nevents: Ir\nsummary: 41\n\nob=(1) /bin/x\nfl=(1) a.rs\n\
             fn=(1) main\n0 10\nfi=(2) b.rs\n0 5\ncfi=(1)\ncfn=(2) leaf'main\ncalls=1 0\n0 20\n0 1\n\
             fn=(2)\n0 20\nfn=(3) leaf'2'leaf'main\n0 5\n\ntotals: 41\n",
        );
        write("valgrind.11", "events: Ir\nfn=(1) leaf'main\n0 4\nsummary: 4\n");
        let stacks = profiler.stacks(folder.path()).unwrap();
        let read: Vec<_> =
            stacks.iter().map(|(stack, cost)| (stack.names().collect::<Vec<_>>(), *cost)).collect();
        let expected =
            [(vec!["leaf", "leaf", "main"], 5), (vec!["leaf", "main"], 24), (vec!["main"], 16)];
        assert_eq!(read, expected);
        assert!(matches!(profiler.stacks(folder.path()), Err(Error::NoCount)));
    }
}
