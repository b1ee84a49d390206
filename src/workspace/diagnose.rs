//! Why something does not build: because of the code, or because of the machine.
//!
//! A base that does not compile can't be compared with, which is no reason to fail.
//! A full disk, a missing linker or a killed compiler says nothing about the base,
//! and a gate must not pass because of it. So the code is blamed only if a tool
//! reports an error in it, and nothing contradicts that. In doubt, it is not the
//! code.
//!
//! Cargo forwards rustc's diagnostics as JSON: an error with a position in a source
//! is the fault of the code, judging by its code and spans. The exit status reveals
//! signals, shells that found no command, and cargo's own errors as opposed to
//! rustup's. Everything else is text, of which only the phrases below are known:
//! cargo has no JSON for its own errors (manifests, build scripts, dead compilers),
//! build scripts and build commands may run any tool, and tools report errors of the
//! machine in words. (Those for shortages are the operating system's; see
//! [`shortage_in_text`].)

use std::path::{Path, PathBuf};

use super::tools::{Captured, Tools};
use crate::error::{Error, shortage_in_text};
use crate::exec::process::{Command, Exit, is_full};
use crate::workspace::cargo::{BuildMessages, CompilerError};
use crate::workspace::checkout::Worktree;
use crate::workspace::error::{EMPTY_SUBMODULE, UNSTABLE, WorkspaceError, is_unknown_request};

/// Whose fault it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Blame {
    Code,
    /// Not known to be the code, with the line that shows why.
    Machine(String),
}

/// What builds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tool {
    /// Cargo, whose standard output has the compiler's errors as JSON.
    Cargo,
    /// A command of the user, whose standard error can be anything.
    BuildCommand,
}

/// Phrases of programs that can't work on this machine, whatever the code.
const MACHINE: [&str; 11] = [
    "Read-only file system",
    "File size limit exceeded",
    "out of memory",
    "Killed",
    "(signal: ",
    "internal compiler error",
    "Could not resolve",
    "name resolution",
    "Network is unreachable",
    "Connection refused",
    "timed out",
];

/// The numbers of system errors caused by code that names a missing file: ENOENT,
/// ENOTDIR, EISDIR.
const FILE_ERRORS: [&str; 3] = ["2", "20", "21"];

/// The codes of rustc's errors about files that an earlier run of it wrote.
const DAMAGE: [&str; 7] = ["E0460", "E0461", "E0462", "E0464", "E0514", "E0519", "E0786"];

/// The code of "can't find crate", and the continuations if that is a dependency of a crate that
/// was compiled before, or a library of a target that is not installed. (Of the latter, the
/// place is the beginning of the first file.)
const MISSING_CRATE: (&str, [&str; 3]) = ("E0463", ["which `", "for `std`", "for `core`"]);

/// Cargo's errors about manifests that are invalid or lack what was requested:
/// the beginning of the line, and what it contains.
const MANIFESTS: [(&str, &str); 11] = [
    ("error: failed to parse manifest", ""),
    ("error: failed to load manifest", ""),
    ("error: failed to parse lock file", ""),
    ("error: invalid ", ""),
    ("error: the package '", "does not contain"),
    ("error: none of the selected packages contains", "feature"),
    ("error: package `", "does not have "),
    ("error: package `", "cannot be built because it requires rustc"),
    ("error: rustc ", "is not supported by the following package"),
    ("error: profile `", "is not defined"),
    ("error: target `", "requires the features"),
];

/// Errors that only summarize others.
const SUMMARIES: [&str; 4] =
    ["error: could not compile", "error: aborting due to", "error: build failed", BUILD_SCRIPT];

/// How cargo reports that a build script failed.
const BUILD_SCRIPT: &str = "error: failed to run custom build command";

/// How cargo reports that a process ended with a code of its own, by system.
const EXITED: [&str; 2] = ["(exit status: ", "(exit code: "];

/// The code with which a build command reports that this commit can't be built, as
/// for `git bisect run`.
const NOT_BUILDABLE: Exit = Exit::Code(125);

/// Cargo's exit code for errors; rustup and its proxies have others.
const CARGO_FAILED: Exit = Exit::Code(101);

/// Runs a failed build in `tree`, which has what `worktree` has, again with captured output, to find
/// out why it failed; an empty submodule is named if the build has named a file in it;
/// `shown` is the command as it failed. If it succeeds this time, returns its output.
pub(super) fn run_again(
    tools: &Tools<'_>,
    shown: String,
    mut command: Command,
    tool: Tool,
    worktree: &Worktree,
    tree: &Path,
) -> Result<String, Error> {
    let side = worktree.side;
    command.set_var("CARGO_TERM_COLOR", "never");
    let temporary = PathBuf::from(command.var("TMPDIR").unwrap_or("/tmp".as_ref()));
    let Captured { exit, stdout, stderr, .. } = tools.capture(command)?;
    if exit.success() {
        return Ok(stdout);
    }
    let folders = [tools.scratch.path(), &temporary];
    let errors = match tool {
        Tool::Cargo => BuildMessages::read(stdout.as_bytes())?.errors(),
        Tool::BuildCommand => Vec::new(),
    };
    let blame = match folders.into_iter().find(|path| is_full(path)) {
        Some(full) => Blame::Machine(format!("No space left on device: `{}`", full.display())),
        None => of_tool(tool, exit, &errors, &stderr, tree),
    };
    let with_empty = |why: String| {
        let said = [&stderr, "\n", &why].concat();
        let is_named = |link: &&PathBuf| said.contains(&format!("{}/", link.display()));
        match worktree.empty_submodules().iter().find(is_named) {
            Some(link) => format!("{why}\n{EMPTY_SUBMODULE} `{}` is empty", link.display()),
            None => why,
        }
    };
    Err(match blame {
        Blame::Code => {
            let why = most_telling(&errors).or_else(|| unknown_request(&stderr));
            let source = why.map(|why| with_empty(why).into());
            WorkspaceError::Build { side, command: shown, exit, source }.into()
        }
        Blame::Machine(why) => WorkspaceError::unbuilt(side, shown, exit, with_empty(why)).into(),
    })
}

/// If a command was killed, if a shell could not find or start it (126, 127), or if it died
/// of a signal below a shell, that is not the fault of the code.
fn of_tool(tool: Tool, exit: Exit, errors: &[CompilerError], stderr: &str, tree: &Path) -> Blame {
    match (tool, exit) {
        (Tool::BuildCommand, NOT_BUILDABLE) => Blame::Code,
        (Tool::Cargo, CARGO_FAILED) | (Tool::BuildCommand, Exit::Code(1..=124)) => {
            of_output(errors, stderr, tree)
        }
        _ => Blame::Machine(first_error(stderr)),
    }
}

/// The error that the others may only follow from: that another compiler is needed, or what the
/// code's author demands (`compile_error!`), which has no code, nor has what can't be parsed.
fn most_telling(errors: &[CompilerError]) -> Option<String> {
    let mut placed = errors.iter().filter(|error| error.has_place);
    let has = |code: Option<&str>| placed.clone().find(|error| error.code.as_deref() == code);
    let error = has(Some(UNSTABLE)).or_else(|| has(None)).or_else(|| placed.next())?;
    error.rendered.lines().next().map(plain)
}

/// What cargo says of a feature or a profile that no manifest has.
fn unknown_request(stderr: &str) -> Option<String> {
    stderr.lines().find(|line| line.starts_with("error: ") && is_unknown_request(line)).map(plain)
}

/// For reading manifests, which needs nothing but files.
pub(super) fn of_manifests(exit: Exit, stderr: &str) -> Blame {
    match stderr.lines().find(|line| is_of_machine(line)) {
        Some(line) => Blame::Machine(plain(line)),
        None if exit == CARGO_FAILED => Blame::Code,
        None => Blame::Machine(first_error(stderr)),
    }
}

/// Whether a failed tool reports something that no code and no setting can
/// change, such as a lack of file descriptors.
pub(super) fn is_fault_of_machine(exit: Exit, stderr: &str) -> bool {
    matches!(exit, Exit::Signal(_)) || stderr.lines().any(is_of_machine)
}

fn of_output(errors: &[CompilerError], stderr: &str, tree: &Path) -> Blame {
    // An error with a code is about the language, whatever its words.
    let without_code = errors.iter().filter(|error| error.code.is_none());
    let mut lines = without_code.flat_map(|error| error.rendered.lines()).chain(stderr.lines());
    if let Some(line) = lines.find(|line| is_of_machine(line)) {
        return Blame::Machine(plain(line));
    }
    let mut is_proven = stderr.lines().any(is_of_another_compiler);
    for error in errors.iter().chain(&errors_in_text(stderr)) {
        let line = error.rendered.lines().next().unwrap_or_default();
        let code = error.code.as_deref().unwrap_or_default();
        let is_about_manifests =
            MANIFESTS.iter().any(|(begin, then)| line.starts_with(begin) && line.contains(then));
        // An error that begins with a path comes from the dynamic linker, about a macro's library.
        let is_damage = DAMAGE.contains(&code)
            || (code == MISSING_CRATE.0 && MISSING_CRATE.1.iter().any(|of| line.contains(of)))
            || line.starts_with("error: /");
        if is_damage {
            return Blame::Machine(plain(line));
        } else if error.has_place || is_own_script(error, tree) || is_about_manifests {
            is_proven = true;
        } else if !SUMMARIES.iter().any(|begin| line.starts_with(begin)) {
            return Blame::Machine(plain(line));
        }
    }
    if is_proven { Blame::Code } else { Blame::Machine(first_error(stderr)) }
}

/// The errors in the output of cargo or a build command, each with the lines
/// that follow it.
fn errors_in_text(text: &str) -> Vec<CompilerError> {
    let mut errors: Vec<CompilerError> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        let code = line.strip_prefix("error[").and_then(|rest| rest.split(']').next());
        if line.starts_with("error: ") || code.is_some() {
            let (code, rendered) = (code.map(str::to_owned), String::new());
            errors.push(CompilerError { code, rendered, has_place: false });
            is_inside = true;
        }
        is_inside &= !line.starts_with("warning");
        if let Some(error) = errors.last_mut().filter(|_| is_inside) {
            error.has_place |= line.trim_start().starts_with("--> ");
            error.rendered.push_str(line);
            error.rendered.push('\n');
        }
    }
    errors
}

/// Whether a line reports something that no code can change. A line of source
/// quoted by a compiler (`3 | …`) does not count.
fn is_of_machine(line: &str) -> bool {
    let unnumbered = line.trim_start_matches(|c: char| c.is_ascii_digit() || c.is_whitespace());
    if unnumbered.starts_with('|') {
        return false;
    }
    let number = line.split_once("(os error ").and_then(|(_, rest)| rest.split(')').next());
    number.is_some_and(|number| !FILE_ERRORS.contains(&number))
        || shortage_in_text(line).is_some()
        || MACHINE.iter().any(|phrase| line.contains(phrase))
}

/// Whether a build script of a package in `tree` ended with a code of its own.
/// (Those of other packages mostly look for what is installed.)
fn is_own_script(error: &CompilerError, tree: &Path) -> bool {
    let line = error.rendered.lines().next().unwrap_or_default();
    line.starts_with(BUILD_SCRIPT)
        && line.contains(&format!("({}", tree.display()))
        && EXITED.iter().any(|words| error.rendered.contains(words))
}

/// Whether a line is an error with a position, in the format of C compilers,
/// `file:line:column: error:`.
fn is_of_another_compiler(line: &str) -> bool {
    let Some((place, _)) = line.split_once(": error: ") else { return false };
    let mut parts = place.rsplit(':');
    let is_number = |part: Option<&str>| part.is_some_and(|part| part.parse::<u32>().is_ok());
    is_number(parts.next()) && parts.next().is_some()
}

/// The first line that is an error, else the last one.
fn first_error(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
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
    use serde_json::json;

    const TREE: &str = "/cache/base/tree";

    fn compiler_errors(messages: &str) -> Vec<CompilerError> {
        BuildMessages::read(messages.as_bytes()).unwrap().errors()
    }

    /// Of a build by cargo that printed this to standard error.
    fn text(stderr: &str) -> Blame {
        of_tool(Tool::Cargo, CARGO_FAILED, &[], stderr, Path::new(TREE))
    }

    fn machine(line: &str) -> Blame {
        Blame::Machine(line.to_owned())
    }

    /// A message of cargo's about an error of rustc's.
    fn message(code: Option<&str>, message: &str, has_span: bool) -> String {
        let span = json!({
            "file_name": "src/lib.rs", "byte_start": 0, "byte_end": 1, "line_start": 1,
            "line_end": 1, "column_start": 1, "column_end": 1, "is_primary": true, "text": [],
        });
        let code = code.map(|code| json!({ "code": code, "explanation": null }));
        let rendered = format!("error: {message}\n --> src/lib.rs:1:1\n  |\n1 | Killed\n");
        let level =
            if message.contains("panic") { "error: internal compiler error" } else { "error" };
        let spans = if has_span { json!([span]) } else { json!([]) };
        let target = json!({
            "name": "m", "kind": ["lib"], "crate_types": ["lib"], "src_path": "/m/src/lib.rs",
        });
        let message = json!({
            "message": message, "code": code, "level": level, "spans": spans, "children": [],
            "rendered": rendered,
        });
        let message = json!({
            "reason": "compiler-message", "package_id": "m", "manifest_path": "/m/Cargo.toml",
            "target": target, "message": message,
        });
        format!("{message}\n")
    }

    fn messages(messages: &str) -> Blame {
        let summary = "error: could not compile `m` (lib) due to 1 previous error\n";
        of_tool(Tool::Cargo, CARGO_FAILED, &compiler_errors(messages), summary, Path::new(TREE))
    }

    #[test]
    fn an_error_with_a_place_in_the_source_is_the_codes() {
        let mismatched = message(Some("E0308"), "mismatched types", true);
        let aborting = message(None, "aborting due to 1 previous error", false);
        assert_eq!(messages(&format!("{mismatched}not JSON\n{aborting}")), Blame::Code);
        // Its words are about the code, too.
        assert_eq!(messages(&message(Some("E0412"), "no type `Killed`", true)), Blame::Code);
        assert_eq!(messages(&message(None, "expected `;`", true)), Blame::Code);
        let gone = "couldn't read `src/x`: No such file or directory (os error 2)";
        assert_eq!(messages(&message(None, gone, true)), Blame::Code);
    }

    #[test]
    fn one_sign_of_something_else_outweighs_that() {
        let mismatched = message(Some("E0308"), "mismatched types", true);
        for (code, other, has_span) in [
            (None, "failed to write /t/lib.rmeta: No space left on device (os error 28)", false),
            (None, "couldn't read `x`: Too many open files (os error 24)", true),
            (None, "linking with `cc` failed: exit status: 1", false),
            (None, "linker `cc` not found", false),
            (None, "/t/libm.so: file too short", true),
            (None, "the compiler panicked", true),
            (Some("E0786"), "found invalid metadata files for crate `a`", true),
            (Some("E0463"), "can't find crate for `b` which `a` depends on", true),
            (Some("E0463"), "can't find crate for `std`", true),
            (Some("E0463"), "can't find crate for `core`", true),
        ] {
            let both = mismatched.clone() + &message(code, other, has_span);
            assert_eq!(messages(&both), machine(other));
        }
        let tree = Path::new(TREE);
        let errors = compiler_errors(&mismatched);
        let killed = "error: could not compile `m` (lib)\n\nCaused by:\n  process didn't exit \
                      successfully: `rustc` (signal: 9, SIGKILL: kill)\n";
        assert!(matches!(
            of_tool(Tool::Cargo, CARGO_FAILED, &errors, killed, tree),
            Blame::Machine(_)
        ));
        assert!(matches!(
            of_tool(Tool::Cargo, Exit::Signal(9), &errors, "", tree),
            Blame::Machine(_)
        ));
        // Rustup's code.
        assert!(matches!(
            of_tool(Tool::Cargo, Exit::Code(1), &errors, "", tree),
            Blame::Machine(_)
        ));
    }

    #[test]
    fn what_the_author_demands_or_a_stable_compiler_refuses_is_told_before_what_follows() {
        let mismatched = message(None, "aborting due to 1 previous error", false)
            + &message(Some("E0308"), "mismatched types", true);
        let told = |messages: &str| most_telling(&compiler_errors(messages)).unwrap_or_default();
        assert_eq!(told(&mismatched), "mismatched types");
        let demand = mismatched.clone() + &message(None, "needs `--cfg bench`", true);
        assert_eq!(told(&demand), "needs `--cfg bench`");
        let unstable = demand + &message(Some("E0554"), "`#![feature]` is unstable", true);
        assert_eq!(told(&unstable), "`#![feature]` is unstable");
        assert_eq!(told(""), "");
    }

    #[test]
    fn what_reports_no_error_in_the_code_is_not_known_to_be_the_codes() {
        for stderr in [
            "error: failed to get `a` as a dependency of package `m v0.1.0 (/cache/base/tree)`\n\n\
             Caused by:\n  [7] Could not connect to server\n",
            "error: could not compile `m` (lib)\n",
            "",
        ] {
            assert!(matches!(text(stderr), Blame::Machine(_)), "{stderr}");
        }
    }

    #[test]
    fn a_build_script_is_the_codes_when_it_ends_by_itself_and_lies_there() {
        let stderr = |at: &str, how: &str| {
            format!(
                "error: failed to run custom build command for `m v0.1.0{at}`\nnote: x\n\n\
                 Caused by:\n  process didn't exit successfully: `/t/build-script-build` ({how})\n  \
                 --- stderr\n\n  thread 'main' panicked at build.rs:1:12:\n  no good\n"
            )
        };
        let here = " (/cache/base/tree/m)";
        assert_eq!(text(&stderr(here, "exit status: 101")), Blame::Code);
        assert_eq!(text(&stderr(here, "exit code: 1")), Blame::Code);
        assert!(matches!(text(&stderr(here, "signal: 9, SIGKILL: kill")), Blame::Machine(_)));
        assert!(matches!(text(&stderr("", "exit status: 101")), Blame::Machine(_)));
        let full = stderr(here, "exit status: 101") + "  No space left on device (os error 28)\n";
        assert_eq!(text(&full), machine("No space left on device (os error 28)"));
    }

    #[test]
    fn a_lack_of_descriptors_and_a_signal_are_the_machines_fault() {
        let lack = "error: could not read the settings: Too many open files (os error 24)";
        assert!(is_fault_of_machine(Exit::Code(1), lack));
        assert!(is_fault_of_machine(Exit::Signal(9), ""));
        assert!(!is_fault_of_machine(Exit::Code(1), "error: no active toolchain"));
    }

    #[test]
    fn manifests_without_what_is_asked_for_are_the_codes() {
        assert_eq!(
            text("error: the package 'm' does not contain this feature: fast\n"),
            Blame::Code
        );
        assert_eq!(text("error: profile `foo` is not defined\n"), Blame::Code);
        let old = "error: target `work` in package `m` requires the features: `q`\nConsider x\n";
        assert_eq!(text(old), Blame::Code);
        assert_eq!(of_manifests(CARGO_FAILED, "error: duplicate key\n"), Blame::Code);
        let many = "error: failed to open: /t\n\nCaused by:\n  Too many open files (os error 24)\n";
        assert_eq!(of_manifests(CARGO_FAILED, many), machine("Too many open files (os error 24)"));
        let none = "error: toolchain 'x' is not installed\n";
        assert_eq!(of_manifests(Exit::Code(1), none), machine("toolchain 'x' is not installed"));
    }

    #[test]
    fn any_command_is_heard_as_compilers_are() {
        let of = |code, stderr| {
            of_tool(Tool::BuildCommand, Exit::Code(code), &[], stderr, Path::new(TREE))
        };
        let compile = "   Compiling m v0.1.0 (/cache/base/tree)\n\
            error[E0308]: mismatched types\n --> src/lib.rs:1:1\n  |\n\n\
            error: could not compile `m` (lib) due to 1 previous error\n";
        let linker = "error: linking with `cc` failed: exit status: 1\n  |\n  = note: x\n\
            warning: unused\n --> src/lib.rs:1:1\n";
        assert_eq!(
            of(2, "cc -c x.c\nx.c:1:2: error: expected `;`\nmake: *** [x] Error 1\n"),
            Blame::Code
        );
        assert_eq!(of(101, compile), Blame::Code);
        let both = format!("{compile}{linker}");
        assert_eq!(of(101, &both), machine("linking with `cc` failed: exit status: 1"));
        assert_eq!(of(2, "make: *** no rule\n"), machine("make: *** no rule"));
        assert_eq!(of(125, "no words of a compiler\n"), Blame::Code);
        assert!(matches!(of(127, compile), Blame::Machine(_)));
        assert!(matches!(of(137, compile), Blame::Machine(_)));
        assert!(matches!(of(1, "note: error: x\n"), Blame::Machine(_)));
    }
}
