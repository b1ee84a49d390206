//! Whose fault it is that something does not build: the code's, or that of
//! what is around it.
//!
//! A base that does not compile is nothing to compare with, and no reason to
//! fail. A full disk, a missing linker or a killed compiler says nothing about
//! the base, and a gate that passes for it lies. So the code is at fault only
//! where a tool says so in words that are known here, and nothing speaks
//! against it. In doubt it is not the code.

use std::path::Path;

use crate::exec::process::Exit;

/// Whose fault it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The code's.
    Code,
    /// Not known to be the code's; what was said.
    Outside(String),
}

/// What systems and tools say of what no code can help.
const SIGNS: [&str; 18] = [
    "No space left on device",
    "Disk quota exceeded",
    "Read-only file system",
    "File too large",
    "File size limit exceeded",
    "Too many open files",
    "Resource temporarily unavailable",
    "Cannot allocate memory",
    "out of memory",
    "memory allocation of",
    "internal compiler error",
    "(signal: ",
    "Killed",
    "Could not resolve",
    "name resolution",
    "Network is unreachable",
    "Connection refused",
    "timed out",
];

/// The system's errors that code makes when it names a file that is not there:
/// ENOENT, ENOTDIR, EISDIR.
const FILE_ERRORS: [&str; 3] = ["2", "20", "21"];

/// The compiler's errors about files that an earlier run of it wrote.
const DAMAGE: [&str; 7] = [
    "error[E0460]",
    "error[E0461]",
    "error[E0462]",
    "error[E0464]",
    "error[E0514]",
    "error[E0519]",
    "error[E0786]",
];

/// What cargo says of manifests that do not have what is asked for, or are no
/// manifests; how the line begins, and how it goes on.
const MANIFESTS: [(&str, &str); 13] = [
    ("error: failed to parse manifest", ""),
    ("error: failed to load manifest", ""),
    ("error: failed to parse lock file", ""),
    ("error: invalid ", ""),
    ("error: the package '", "does not contain this feature"),
    ("error: the package '", "does not contain these features"),
    ("error: none of the selected packages contains", "feature"),
    ("error: package `", "does not have feature"),
    ("error: package `", "does not have the feature"),
    ("error: profile `", "is not defined"),
    ("error: target `", "requires the features"),
    ("error: rustc ", "is not supported by the following package"),
    ("error: package `", "cannot be built because it requires rustc"),
];

/// Lines that only sum up.
const SUMMARIES: [&str; 4] = [
    "error: could not compile",
    "error: aborting due to",
    "error: build failed",
    "error: failed to run custom build command",
];

/// The code by which a build command says that what is there can't be built.
const SAYS_SO: Exit = Exit::Code(125);

/// Cargo's code for errors; rustup and those that speak for it have others.
const CARGO_FAILED: Exit = Exit::Code(101);

/// Of a build by cargo of what lies in `tree`, which `said` so.
pub(super) fn of_cargo(exit: Exit, said: &str, tree: &Path) -> Fault {
    match exit {
        CARGO_FAILED => of_output(said, tree),
        _ => Fault::Outside(first_error(said)),
    }
}

/// Of a build by any command. What was killed, what a shell could not find or
/// start (126, 127) and what died of a signal below a shell is not the code's;
/// 125 says that it is, as it does to `git bisect run`.
pub(super) fn of_command(exit: Exit, said: &str, tree: &Path) -> Fault {
    match exit {
        SAYS_SO => Fault::Code,
        Exit::Code(1..=124) => of_output(said, tree),
        _ => Fault::Outside(first_error(said)),
    }
}

/// Of reading manifests alone, which takes nothing but files.
pub(super) fn of_manifests(exit: Exit, said: &str) -> Fault {
    match said.lines().find(|line| is_sign(line)) {
        Some(line) => Fault::Outside(plain(line)),
        None if exit == CARGO_FAILED => Fault::Code,
        None => Fault::Outside(first_error(said)),
    }
}

/// Whether a tool that failed tells of something that no code and no setting
/// can help, such as a lack of file descriptors.
pub(super) fn is_the_machines(exit: Exit, said: &str) -> bool {
    matches!(exit, Exit::Signal(_)) || said.lines().any(is_sign)
}

fn of_output(said: &str, tree: &Path) -> Fault {
    if let Some(line) = said.lines().find(|line| is_sign(line)) {
        return Fault::Outside(plain(line));
    }
    let mut is_proven = said.lines().any(is_of_another_compiler);
    for block in blocks(said) {
        let line = block[0];
        let is_damage = DAMAGE.iter().any(|code| line.starts_with(code))
            || line.starts_with("error: /")
            || (line.starts_with("error[E0463]") && line.contains("which `"));
        let has_place = block.iter().any(|line| line.trim_start().starts_with("--> "));
        if is_damage {
            return Fault::Outside(plain(line));
        } else if has_place || is_script_of(&block, tree) || is_about_manifests(line) {
            is_proven = true;
        } else if !SUMMARIES.iter().any(|begin| line.starts_with(begin)) {
            return Fault::Outside(plain(line));
        }
    }
    if is_proven { Fault::Code } else { Fault::Outside(first_error(said)) }
}

/// The errors in what cargo and rustc said, each with the lines that follow it.
fn blocks(said: &str) -> Vec<Vec<&str>> {
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    let mut is_inside = false;
    for line in said.lines() {
        let begins = line.starts_with("error: ") || line.starts_with("error[");
        if begins {
            blocks.push(Vec::new());
        }
        is_inside = begins || (is_inside && !line.starts_with("warning"));
        if let (true, Some(block)) = (is_inside, blocks.last_mut()) {
            block.push(line);
        }
    }
    blocks
}

/// Whether a line tells of something that no code can help. A line of source
/// that a compiler shows (`3 | …`) tells nothing.
fn is_sign(line: &str) -> bool {
    if line
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')
        .starts_with('|')
    {
        return false;
    }
    let number = line.split_once("(os error ").and_then(|(_, rest)| rest.split(')').next());
    number.is_some_and(|number| !FILE_ERRORS.contains(&number))
        || SIGNS.iter().any(|sign| line.contains(sign))
}

/// Whether a build script of a package in `tree` ended with a code of its own.
/// (Those of other packages mostly look for what is installed.)
fn is_script_of(block: &[&str], tree: &Path) -> bool {
    let begin = format!("({}", tree.display());
    let package = block[0].strip_prefix("error: failed to run custom build command for `");
    let ended = |line: &&str| {
        line.contains("process didn't exit successfully")
            && ["(exit status: ", "(exit code: "].iter().any(|words| line.contains(words))
    };
    package.is_some_and(|package| package.contains(&begin)) && block.iter().any(ended)
}

fn is_about_manifests(line: &str) -> bool {
    MANIFESTS.iter().any(|(begin, then)| line.starts_with(begin) && line.contains(then))
}

/// Whether a line is an error with a place in the manner of C compilers,
/// `file:line:column: error:`.
fn is_of_another_compiler(line: &str) -> bool {
    let Some((place, _)) = line.split_once(": error: ") else { return false };
    let mut parts = place.rsplit(':');
    let is_number = |part: Option<&str>| part.is_some_and(|part| part.parse::<u32>().is_ok());
    is_number(parts.next()) && parts.next().is_some()
}

/// The first line that is an error, else the last that says anything.
fn first_error(said: &str) -> String {
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    let error = lines.clone().find(|line| line.starts_with("error"));
    error.or_else(|| lines.next_back()).map(plain).unwrap_or_default()
}

fn plain(line: &str) -> String {
    let line = line.trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cargo(said: &str) -> Fault {
        of_cargo(CARGO_FAILED, said, Path::new("/room/base/tree"))
    }

    fn outside(line: &str) -> Fault {
        Fault::Outside(line.to_owned())
    }

    const COMPILE: &str = "   Compiling m v0.1.0 (/room/base/tree)\n\
        error[E0308]: mismatched types\n --> src/lib.rs:1:1\n  |\n\n\
        error: could not compile `m` (lib) due to 1 previous error\n";

    #[test]
    fn what_has_a_place_in_the_source_is_the_codes() {
        assert_eq!(cargo(COMPILE), Fault::Code);
        let spread = "error: one\n       two\n --> src/lib.rs:1:1\n  |\n";
        assert_eq!(cargo(spread), Fault::Code);
        let missing = "error: couldn't read `src/x`: No such file or directory (os error 2)\n \
                       --> src/lib.rs:3:4\n";
        assert_eq!(cargo(missing), Fault::Code);
    }

    #[test]
    fn one_sign_of_something_else_outweighs_that() {
        let full = "error: failed to write /t/lib.rmeta: No space left on device (os error 28)";
        let said = format!("{COMPILE}{full}\n");
        assert_eq!(cargo(&said), outside(full.strip_prefix("error: ").unwrap()));
        let linker = "error: linking with `cc` failed: exit status: 1\n  |\n  = note: x\n";
        let said = format!("{COMPILE}{linker}");
        assert_eq!(cargo(&said), outside("linking with `cc` failed: exit status: 1"));
        let warned = format!("{linker}warning: unused\n --> src/lib.rs:1:1\n");
        assert_eq!(cargo(&warned), outside("linking with `cc` failed: exit status: 1"));
        let damage =
            "error[E0786]: found invalid metadata files for crate `a`\n --> src/lib.rs:1:5";
        assert!(matches!(cargo(damage), Fault::Outside(_)));
        let short = "error: /t/libm.so: file too short\n --> src/lib.rs:1:5\n";
        assert!(matches!(cargo(short), Fault::Outside(_)));
        assert!(matches!(of_cargo(Exit::Signal(9), COMPILE, Path::new("/")), Fault::Outside(_)));
        // Rustup's code.
        assert!(matches!(of_cargo(Exit::Code(1), COMPILE, Path::new("/")), Fault::Outside(_)));
    }

    #[test]
    fn what_has_no_place_is_not_known_to_be_the_codes() {
        for said in [
            "error: linker `cc` not found\n  |\n  = note: No such file or directory (os error 2)\n",
            "error[E0463]: can't find crate for `std`\n  |\n  = note: the target may not be there\n",
            "error: could not compile `m` (lib)\n\nCaused by:\n  process didn't exit \
             successfully: `rustc` (signal: 9, SIGKILL: kill)\n",
            "error: failed to get `a` as a dependency of package `m v0.1.0 (/room/base/tree)`\n\n\
             Caused by:\n  [7] Could not connect to server\n",
            "",
        ] {
            assert!(matches!(cargo(said), Fault::Outside(_)), "{said}");
        }
    }

    #[test]
    fn a_build_script_is_the_codes_when_it_ends_by_itself_and_lies_there() {
        let said = |at: &str, how: &str| {
            format!(
                "error: failed to run custom build command for `m v0.1.0{at}`\nnote: x\n\n\
                 Caused by:\n  process didn't exit successfully: `/t/build-script-build` ({how})\n  \
                 --- stderr\n\n  thread 'main' panicked at build.rs:1:12:\n  no good\n"
            )
        };
        let here = " (/room/base/tree/m)";
        assert_eq!(cargo(&said(here, "exit status: 101")), Fault::Code);
        assert_eq!(cargo(&said(here, "exit code: 1")), Fault::Code);
        assert!(matches!(cargo(&said(here, "signal: 9, SIGKILL: kill")), Fault::Outside(_)));
        assert!(matches!(cargo(&said("", "exit status: 101")), Fault::Outside(_)));
        let full = said(here, "exit status: 101") + "  No space left on device (os error 28)\n";
        assert_eq!(cargo(&full), outside("No space left on device (os error 28)"));
    }

    #[test]
    fn a_lack_of_descriptors_and_a_signal_are_the_machines_fault() {
        let lack = "error: could not read the settings: Too many open files (os error 24)";
        assert!(is_the_machines(Exit::Code(1), lack));
        assert!(is_the_machines(Exit::Signal(9), ""));
        assert!(!is_the_machines(Exit::Code(1), "error: no active toolchain"));
    }

    #[test]
    fn manifests_without_what_is_asked_for_are_the_codes() {
        assert_eq!(
            cargo("error: the package 'm' does not contain this feature: fast\n"),
            Fault::Code
        );
        assert_eq!(cargo("error: profile `foo` is not defined\n"), Fault::Code);
        let old = "error: target `work` in package `m` requires the features: `q`\nConsider x\n";
        assert_eq!(cargo(old), Fault::Code);
        assert_eq!(of_manifests(CARGO_FAILED, "error: duplicate key\n"), Fault::Code);
        let many = "error: failed to open: /t\n\nCaused by:\n  Too many open files (os error 24)\n";
        assert_eq!(of_manifests(CARGO_FAILED, many), outside("Too many open files (os error 24)"));
        let none = "error: toolchain 'x' is not installed\n";
        assert_eq!(of_manifests(Exit::Code(1), none), outside("toolchain 'x' is not installed"));
    }

    #[test]
    fn any_command_is_heard_as_compilers_are() {
        let of = |code, said| of_command(Exit::Code(code), said, Path::new("/room/base/tree"));
        assert_eq!(
            of(2, "cc -c x.c\nx.c:1:2: error: expected `;`\nmake: *** [x] Error 1\n"),
            Fault::Code
        );
        assert_eq!(of(101, COMPILE), Fault::Code);
        assert_eq!(of(2, "make: *** no rule\n"), outside("make: *** no rule"));
        assert_eq!(of(125, "no words of a compiler\n"), Fault::Code);
        assert!(matches!(of(127, COMPILE), Fault::Outside(_)));
        assert!(matches!(of(137, COMPILE), Fault::Outside(_)));
        assert!(matches!(of(1, "note: error: x\n"), Fault::Outside(_)));
    }
}
