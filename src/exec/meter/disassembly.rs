//! The text of machine instructions, from objdump.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::cachegrind::INSTRUCTIONS;
use super::{CountedCode, Refusal};
use crate::exec::process::{Command, Sink};

/// The file in the folder of a run.
const LISTING: &str = "objdump.txt";

/// Instructions are written as in Intel's manuals, as most tools for Rust do.
const SYNTAX: &str = if cfg!(target_arch = "x86_64") { "--disassembler-options=intel" } else { "" };

/// Disassembles functions.
#[derive(Debug)]
pub(crate) struct Disassembler {
    objdump: PathBuf,
}

impl Disassembler {
    /// That of this machine, from the `PATH` `path`.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn find(path: Option<&OsStr>) -> Result<Self, Refusal> {
        let missing = || Refusal {
            metric: INSTRUCTIONS,
            why: "`objdump` is not on the PATH".to_owned(),
            hint: Some(
                "install it, for example with `apt-get install binutils`, or keep line tables: \
                 `debug = \"line-tables-only\"` in `[profile.bench]`"
                    .to_owned(),
            ),
            source: None,
        };
        Ok(Disassembler { objdump: super::in_path("objdump", path).ok_or_else(missing)? })
    }

    /// The command that writes the instructions of a function in the file `object` to `folder`;
    /// `command` is that which has executed it.
    pub(crate) fn command(
        &self,
        object: &str,
        code: &CountedCode,
        command: &Command,
        folder: &Path,
    ) -> Command {
        let first = code.keys().next().copied().unwrap_or_default();
        // objdump ends before the address where it is to stop.
        let end = code.keys().next_back().map_or(first, |last| last + 1);
        let (start, stop) =
            (format!("--start-address={first:#x}"), format!("--stop-address={end:#x}"));
        let options = ["--disassemble", "--no-show-raw-insn", SYNTAX, &start, &stop, object];
        let mut argv = vec![self.objdump.clone().into_os_string()];
        argv.extend(options.iter().filter(|option| !option.is_empty()).map(Into::into));
        let listing = folder.join(LISTING);
        let _ = std::fs::remove_file(&listing);
        let (env, cwd) = (command.env.clone(), command.cwd.clone());
        Command { argv, env, cwd, stdout: Sink::File(listing), ..Command::default() }
    }

    /// The instructions in the listing, by their addresses, without comments.
    pub(crate) fn read(&self, folder: &Path) -> BTreeMap<u64, String> {
        let listing = std::fs::read(folder.join(LISTING)).unwrap_or_default();
        instructions(&String::from_utf8_lossy(&listing)).collect()
    }
}

/// Lines such as `  1234:	jne    1240 <name+0x10>`.
fn instructions(listing: &str) -> impl Iterator<Item = (u64, String)> {
    listing.lines().filter_map(|line| {
        let (address, text) = line.split_once(":\t")?;
        let text = text.split_once(" # ").map_or(text, |(text, _)| text);
        let words: Vec<&str> = text.split_whitespace().collect();
        Some((u64::from_str_radix(address.trim(), 16).ok()?, words.join(" ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_has_instructions_and_other_lines() {
        let listing = "\n/bin/x:     file format elf64-x86-64\n\n0000000000001234 <f>:\n    \
                       1234:\tmov    rdi,QWORD PTR [rip+0x262585]        # 38b188 <x+0x368>\n    \
                       123b:\tjne    1240 <f+0xc>\n";
        let expected = [(0x1234, "mov rdi,QWORD PTR [rip+0x262585]"), (0x123b, "jne 1240 <f+0xc>")];
        let expected = expected.map(|(at, text)| (at, text.to_owned()));
        assert_eq!(instructions(listing).collect::<Vec<_>>(), expected);
    }
}
