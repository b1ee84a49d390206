//! Whether both sides print the same.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::{Bench, Hands};
use crate::engine::experiment::Run;
use crate::error::Error;
use crate::exec::meter::Pass;
use crate::exec::process::Sink;
use crate::model::notice::RunNotice;
use crate::model::side::{Pair, Side};

impl Bench<'_> {
    /// Runs both sides, unmeasured, and says so where they do not print the
    /// same. False when a signal arrived first.
    pub(crate) fn check_output(&mut self, hands: Hands<'_>) -> Result<bool, Error> {
        if !self.benchmark.measuring.check_output {
            return Ok(true);
        }
        let folders = Pair::both(|side| self.callers[side].home.clone());
        let Some(first) = self.print("first", hands)? else { return Ok(false) };
        let compare = |one: &Path, other: &Path, folders: Pair<&Path>| {
            let outputs = Pair { base: one, head: other };
            difference(&outputs, &folders).map_err(Error::io("read", one))
        };
        let Some(line) = compare(&first.base, &first.head, folders.as_ref().map(|f| f.as_path()))?
        else {
            return Ok(true);
        };
        let Some(second) = self.print("second", hands)? else { return Ok(false) };
        let benchmark = self.benchmark.name.clone();
        for side in Side::BOTH {
            let same = Pair::both(|_| folders[side].as_path());
            if let Some(line) = compare(&first[side], &second[side], same)? {
                self.remarks.push(RunNotice::OutputVaries { benchmark, side, line });
                return Ok(true);
            }
        }
        self.remarks.push(RunNotice::OutputDiffers { benchmark, line });
        Ok(true)
    }

    /// Runs both sides once, with standard output in files; these.
    fn print(&mut self, name: &str, hands: Hands<'_>) -> Result<Option<Pair<PathBuf>>, Error> {
        let mut files = Pair::<PathBuf>::default();
        for side in Side::BOTH {
            let all = self.all(side);
            self.ready(side, all, 0);
            let caller = &mut self.callers[side];
            let usual = caller.command.stdout.clone();
            let file = caller.folder.join(name);
            fs_err::write(&file, "").map_err(Error::io("write", &file))?;
            caller.command.stdout = Sink::File(file.clone());
            let ran = self.once(Pass::Plain, &[side], None, hands);
            self.callers[side].command.stdout = usual;
            // A harness that reads standard output finds it empty, which is no
            // failure here.
            match ran {
                Ok(Run::Measured(_)) => files[side] = file,
                Ok(_) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(files))
    }
}

/// The first line in which two outputs differ, counted from 1; each side's own
/// `folder`, of which the paths are of one length, counts as the other's.
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
        if one != other && replaced(&one, names.base, names.head) != other {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// `text` with every `old` made `new`.
fn replaced(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut done = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(&first) = rest.first() {
        if !old.is_empty() && rest.starts_with(old) {
            done.extend_from_slice(new);
            rest = &rest[old.len()..];
        } else {
            done.push(first);
            rest = &rest[1..];
        }
    }
    done
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
