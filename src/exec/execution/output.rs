//! Compares the output of both sides.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::measurement::Execution;
use super::side::SideProgram;
use super::stop::Stop;
use crate::error::Error;
use crate::exec::meter::Pass;
use crate::exec::process::Sink;
use crate::exec::system::replace_bytes;
use crate::model::run_length::RunLength;
use crate::model::{BenchmarkNotice, Pair, Side};

/// The variable that names the file into which a benchmark writes what should be the same on both
/// sides. It is set in these runs only.
const HAND_OVER: &str = "CBDR_OUTPUT";

/// What the outputs of both sides show.
pub(crate) enum Outputs {
    Same,
    Differ,
    /// There are none, or they were not compared.
    Nothing,
    /// A side prints something different each time, from this line on.
    Vary(Side, u64),
}

/// Runs both sides, unmeasured, and adds a notice if their output differs.
pub(crate) fn check_output(
    execution: &mut Execution<'_>,
    sides: &mut Pair<SideProgram>,
    filter: Option<&str>,
) -> Result<Outputs, Stop> {
    if !execution.benchmark.measuring.check_output {
        return Ok(Outputs::Nothing);
    }
    let homes = Pair::both(|side| sides[side].home.clone());
    let compare = |one: &Path, other: &Path, folders: Pair<&Path>| {
        let outputs = Pair { base: one, head: other };
        difference(&outputs, &folders).map_err(Error::io("read", one))
    };
    let printed = print_both(execution, sides, "first", filter)?;
    let is_empty = |files: Pair<&PathBuf>| {
        let about = |file: &PathBuf| fs_err::metadata(file).map_err(Error::io("read", file));
        Ok::<_, Error>(about(files.base)?.len() + about(files.head)?.len() == 0)
    };
    let [stdout, handed] = [0, 1].map(|file| printed.as_ref().map(|files| &files[file]));
    // What is handed over is compared, if anything is.
    let is_handed_over = !is_empty(handed)?;
    let first = if is_handed_over { handed } else { stdout };
    let folders = homes.as_ref().map(|home| home.as_path());
    let Some(line) = compare(first.base, first.head, folders)? else {
        return Ok(if is_empty(first)? { Outputs::Nothing } else { Outputs::Same });
    };
    let printed = print_both(execution, sides, "second", filter)?;
    let second = printed.as_ref().map(|files| &files[usize::from(is_handed_over)]);
    for side in Side::BOTH {
        let same = Pair::both(|_| homes[side].as_path());
        if let Some(line) = compare(first[side], second[side], same)? {
            execution.notice(BenchmarkNotice::OutputVaries { side, line });
            return Ok(Outputs::Vary(side, line));
        }
    }
    execution.notice(BenchmarkNotice::OutputDiffers { line, is_handed_over });
    Ok(Outputs::Differ)
}

/// Runs both sides once, and returns the files with their outputs, and with what they hand over.
fn print_both(
    execution: &mut Execution<'_>,
    sides: &mut Pair<SideProgram>,
    name: &str,
    filter: Option<&str>,
) -> Result<Pair<[PathBuf; 2]>, Stop> {
    Pair::try_both(|side| {
        let program = &mut sides[side];
        program.select(RunLength::Probe, program.all(filter));
        let file = program.folder.join(name);
        let handed = program.folder.join(format!("{name}-handed-over"));
        for file in [&file, &handed] {
            fs_err::write(file, "").map_err(Error::io("write", file))?;
        }
        program.command.env.push((HAND_OVER.into(), handed.clone().into()));
        let usual = std::mem::replace(&mut program.command.stdout, Sink::File(file.clone()));
        // A harness that parses standard output finds it empty, which is not a
        // failure here.
        let ran = execution.run(Pass::Plain, program, None);
        let command = &mut sides[side].command;
        command.stdout = usual;
        command.env.pop();
        ran.map(|_| [file, handed])
    })
}

/// The first line in which two outputs differ, counted from 1. Each side's own
/// `folder` is treated as equal to the other's; their paths have the same
/// length.
pub(super) fn difference(outputs: &Pair<&Path>, folders: &Pair<&Path>) -> io::Result<Option<u64>> {
    let mut base = BufReader::new(File::open(outputs.base)?);
    let mut head = BufReader::new(File::open(outputs.head)?);
    let names = folders.as_ref().map(|folder| folder.as_os_str().as_encoded_bytes());
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for number in 1.. {
        one.clear();
        other.clear();
        let ends = base.read_until(b'\n', &mut one)? + head.read_until(b'\n', &mut other)? == 0;
        if ends {
            break;
        }
        replace_bytes(&mut one, names.base, names.head);
        if one != other {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(base: &str, head: &str) -> Option<u64> {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("1"), folder.path().join("2"));
        std::fs::write(&one, base).unwrap();
        std::fs::write(&other, head).unwrap();
        let folders = Pair { base: Path::new("/c/base"), head: Path::new("/c/head") };
        difference(&Pair { base: &one, head: &other }, &folders).unwrap()
    }

    #[test]
    fn the_first_differing_line_is_named() {
        assert_eq!(of("a\nb\nc\n", "a\nb\nc\n"), None);
        assert_eq!(of("", ""), None);
        assert_eq!(of("a\nb\nc\n", "a\nx\ny\n"), Some(2));
        assert_eq!(of("a\n", "a\nb\n"), Some(2));
        assert_eq!(of("a\n", "a"), Some(1));
    }

    #[test]
    fn a_sides_own_path_is_no_difference() {
        assert_eq!(of("in /c/base/tree, /c/base\n", "in /c/head/tree, /c/head\n"), None);
        assert_eq!(of("in /c/base\n", "in /d/head\n"), Some(1));
    }
}
