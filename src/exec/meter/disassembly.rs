//! The text of machine instructions, from objdump.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::callgrind::CountedCode;
use super::source::in_path;
use crate::exec::process::{Command, Sink};

/// The command that prints the instructions of a function in the file `object` to `listing`;
/// `command` is that which has executed it. `None` where there is no objdump.
pub(crate) fn disassembly(
    object: &str,
    code: &CountedCode,
    command: &Command,
    listing: PathBuf,
) -> Option<Command> {
    let objdump = in_path("objdump", command.var("PATH"))?;
    let mut argv = vec![objdump.into_os_string()];
    argv.extend(["--disassemble", "--no-show-raw-insn"].map(Into::into));
    // As most tools for Rust show them.
    argv.extend(cfg!(target_arch = "x86_64").then(|| "--disassembler-options=intel".into()));
    argv.push(format!("--start-address={:#x}", code.keys().next()?).into());
    // objdump ends before the address where it is to stop.
    argv.push(format!("--stop-address={:#x}", code.keys().next_back()? + 1).into());
    argv.push(object.into());
    let (env, cwd) = (command.env.clone(), command.cwd.clone());
    Some(Command { argv, env, cwd, stdout: Sink::File(listing), ..Command::default() })
}

/// The instructions in a listing by their addresses, without comments, from lines such as
/// `  1234:  jne    1240 <name+0x10>`, with a tab after the colon.
pub(crate) fn instructions(listing: &str) -> BTreeMap<u64, String> {
    let instruction = |line: &str| {
        let (address, text) = line.split_once(":\t")?;
        let text = text.split_once(" # ").map_or(text, |(text, _)| text);
        let words: Vec<&str> = text.split_whitespace().collect();
        Some((u64::from_str_radix(address.trim(), 16).ok()?, words.join(" ")))
    };
    listing.lines().filter_map(instruction).collect()
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
        assert_eq!(instructions(listing), BTreeMap::from(expected));
    }
}
