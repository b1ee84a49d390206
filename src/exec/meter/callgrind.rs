//! The instructions of a program by call stack, from valgrind's callgrind.
//!
//! Callgrind tells apart the stacks through which a function is called, and writes the
//! instructions of the function itself for each of them. Those of all stacks add up to those
//! of the program.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::cachegrind::{INSTRUCTIONS, find, missing, take, wrap};
use super::call_stack::CallStack;
use super::refusal::{Refusal, no_count};
use crate::error::Failure;
use crate::exec::process::Command;

const OPTIONS: [&str; 5] = [
    "--tool=callgrind",
    // With many more callers, a recursive parser has so many stacks that memory runs out.
    "--separate-callers=24",
    "--dump-line=yes",
    "--compress-pos=no",
    "--cache-sim=no",
];

/// Counts the instructions of each call stack.
#[derive(Clone, Debug)]
pub(crate) struct Profiler {
    valgrind: PathBuf,
    /// Whether it counts also each instruction: a sixth more time, and files of one and a half
    /// times the size or more.
    pub(crate) by_address: bool,
}

impl Profiler {
    /// The profiler of this machine, from the `PATH` `path`.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn find(path: Option<&OsStr>) -> Result<Self, Refusal> {
        let valgrind = find(path).ok_or_else(|| missing(INSTRUCTIONS))?;
        Ok(Profiler { valgrind, by_address: true })
    }

    /// The command that counts those of another one; it writes to `folder`.
    ///
    /// # Errors
    /// When files of an earlier run in `folder` can't be removed.
    pub(crate) fn command(&self, command: &Command, folder: &Path) -> Result<Command, Failure> {
        take(folder)?;
        let by_address = if self.by_address { "--dump-instr=yes" } else { "--dump-instr=no" };
        let options = [&OPTIONS[..], &[by_address]].concat();
        Ok(wrap(&self.valgrind, &options, "--callgrind-out-file=", command, folder))
    }

    /// What was counted.
    ///
    /// # Errors
    /// When the run left nothing.
    pub(crate) fn counted(&self, folder: &Path) -> Result<Counted, Failure> {
        let mut counted = Counted::default();
        for file in take(folder)? {
            counted.add(&file);
        }
        match counted.stacks.is_empty() {
            true => Err(no_count()),
            false => Ok(counted),
        }
    }
}

/// How often a process executes what.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// The instructions of each stack: of the function that is the first of its names, without
    /// those that it calls.
    pub(crate) stacks: BTreeMap<CallStack, u64>,
    /// Those of each function, by the path of its executable or library and its name, if they are
    /// counted by their addresses.
    pub(crate) functions: BTreeMap<(String, String), CountedCode>,
}

/// The instructions of a function, by their addresses in the file.
pub(crate) type CountedCode = BTreeMap<u64, CountedInstruction>;

/// How often an instruction is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CountedInstruction {
    pub(crate) count: u64,
    /// The source file and line, where there is debug information.
    pub(crate) source: Option<(String, u64)>,
}

impl Counted {
    /// Adds what a file of callgrind says.
    fn add(&mut self, file: &str) {
        let Counted { stacks, functions } = self;
        let mut names = <[HashMap<&str, &str>; 3]>::default();
        let [objects, sources, callers] = &mut names;
        let (mut object, mut source, mut current) = ("", "", None);
        let mut lines = file.lines();
        while let Some(line) = lines.next() {
            match line.split_once('=') {
                Some(("fn", name)) => {
                    let stack = CallStack(named(name, callers).to_owned());
                    let function = stack.names().next().unwrap_or_default();
                    let code = functions.entry((object.to_owned(), function.to_owned()));
                    current = Some((code.or_default(), stacks.entry(stack).or_default()));
                }
                Some(("cfn", name)) => _ = named(name, callers),
                Some(("ob", name)) => object = named(name, objects),
                Some(("cob", name)) => _ = named(name, objects),
                Some(("fl" | "fi" | "fe", name)) => source = named(name, sources),
                Some(("cfl" | "cfi", name)) => _ = named(name, sources),
                // The next line has what the called function costs.
                Some(("calls", _)) => _ = lines.next(),
                Some(_) => {}
                None => {
                    let (Some((code, all)), Some((address, line, count))) =
                        (&mut current, of_line(line))
                    else {
                        continue;
                    };
                    **all += count;
                    let Some(address) = address else { continue };
                    let source = || (line > 0).then(|| (source.to_owned(), line));
                    let new = || CountedInstruction { count: 0, source: source() };
                    code.entry(address).or_insert_with(new).count += count;
                }
            }
        }
    }
}

/// What `(number) name` or `(number)` stands for: a name is written once, with a number that
/// stands for it from then on.
fn named<'f>(text: &'f str, names: &mut HashMap<&'f str, &'f str>) -> &'f str {
    let Some((number, name)) = text.split_once(')') else { return text };
    if let Some(name) = name.strip_prefix(' ') {
        names.insert(number, name);
    }
    names.get(number).copied().unwrap_or_default()
}

/// The address of an instruction, the number of its source line, and how often it is executed. If
/// they are not counted by their addresses, it is about all of a line.
fn of_line(line: &str) -> Option<(Option<u64>, u64, u64)> {
    let (address, rest) = match line.strip_prefix("0x") {
        Some(line) => line.split_once(' ').map(|(address, rest)| (Some(address), rest))?,
        None => (None, line),
    };
    let address = address.map(|address| u64::from_str_radix(address, 16)).transpose().ok()?;
    let (line, count) = rest.split_once(' ')?;
    Some((address, line.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_of_stacks_are_added() {
        let folder = tempfile::tempdir().unwrap();
        let mut profiler = Profiler { valgrind: "/usr/bin/valgrind".into(), by_address: true };
        let command = Command { argv: vec!["x".into(), "-a".into()], ..Command::default() };
        let wrapped = profiler.command(&command, folder.path()).unwrap().shown();
        assert!(wrapped.contains("--tool=callgrind") && wrapped.ends_with(" x -a"), "{wrapped}");
        assert!(wrapped.contains("--dump-instr=yes"), "{wrapped}");
        profiler.by_address = false;
        let brief = profiler.command(&command, folder.path()).unwrap().shown();
        assert_eq!(brief, wrapped.replace("--dump-instr=yes", "--dump-instr=no"));
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        write(
            "valgrind.10",
            "version: 1\ncmd: fn=x\nevents: Ir\nsummary: 41\n\nob=(1) /bin/x\nfl=(1) a.rs\n\
             fn=(1) main\n0x10 3 10\nfi=(2) b.rs\n0x14 7 5\ncfi=(1)\ncfn=(2) leaf'main\n\
             calls=1 0x20 0\n0x18 7 20\n0x18 7 1\nfn=(2)\n0x20 0 20\nfn=(3) leaf'2'leaf'main\n\
             0x20 0 4\n0x24 0 1\n\ntotals: 41\n",
        );
        write("valgrind.11", "events: Ir\nob=(1) /bin/x\nfn=(1) leaf'main\n0x24 0 4\n");
        // Without addresses.
        write("valgrind.12", "positions: line\nob=(1) /bin/x\nfn=(1) main\n0 5\n3 2\n");
        let Counted { stacks, functions } = profiler.counted(folder.path()).unwrap();
        let read: Vec<_> =
            stacks.iter().map(|(stack, cost)| (stack.names().collect::<Vec<_>>(), *cost)).collect();
        let expected =
            [(vec!["leaf", "leaf", "main"], 5), (vec!["leaf", "main"], 24), (vec!["main"], 23)];
        assert_eq!(read, expected);
        let instruction = |count, source: Option<(&str, u64)>| {
            let source = source.map(|(file, line)| (file.to_owned(), line));
            CountedInstruction { count, source }
        };
        let code = |name: &str| functions[&("/bin/x".to_owned(), name.to_owned())].clone();
        let main = [(0x10, (10, Some(("a.rs", 3)))), (0x14, (5, Some(("b.rs", 7))))];
        let main = [main, [(0x18, (1, Some(("b.rs", 7)))); 2]].concat();
        let leaf = vec![(0x20, (24, None)), (0x24, (5, None))];
        for (name, expected) in [("main", main), ("leaf", leaf)] {
            let expected =
                expected.into_iter().map(|(at, (n, source))| (at, instruction(n, source)));
            assert_eq!(code(name), expected.collect());
        }
        assert_eq!(
            profiler.counted(folder.path()).unwrap_err().to_string(),
            "the run left no count"
        );
    }
}
