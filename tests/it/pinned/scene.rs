//! A folder in which the program is called, and the transcript of a call.

use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::support::Cbdr;

/// The file that gets the job's summary, where a call names it as an output.
pub(super) const SUMMARY: &str = "summary.md";

/// Variables whose names begin so change what is printed.
const VARIABLES: [&str; 5] = ["CBDR_", "CI_", "GITHUB_", "CARGO_PROFILE_", "RUSTFLAGS"];

/// A piece of the outputs that differs from run to run or between machines:
/// what stands on one line between the first text and the next occurrence of
/// the second, each time, is replaced by the third.
pub(super) type Unstable = (&'static str, &'static str, &'static str);

/// What is unstable wherever it occurs, whatever was called.
pub(super) const ANYWHERE: [Unstable; 4] = [
    // The version of this program.
    ("\"cargo_cbdr\":\"", "\"", "VERSION"),
    // That, and when a page was made.
    ("<footer>Made by cargo cbdr ", "</footer>", "VERSION, TIME"),
    // When and where JUnit's suite was run.
    (" timestamp=\"", "\"", "TIME"),
    (" hostname=\"", "\"", "HOST"),
];

/// Where and how the program is called.
pub(super) struct Scene {
    folder: PathBuf,
    cache: PathBuf,
    unstable: Vec<Unstable>,
    /// Whether standard error is part of the transcripts. That of a command
    /// that measures tells how long it took, and what cargo said.
    shows_stderr: bool,
    /// Variables of the environment.
    variables: Vec<(&'static str, &'static str)>,
}

impl Scene {
    /// Calls in a folder, whose outputs are the same in every run.
    pub(super) fn new(folder: &Path, cache: &Path) -> Self {
        Scene {
            folder: folder.to_owned(),
            cache: cache.to_owned(),
            unstable: Vec::new(),
            shows_stderr: true,
            variables: Vec::new(),
        }
    }

    /// The same, with placeholders for more.
    pub(super) fn replacing(mut self, unstable: &[Unstable]) -> Self {
        self.unstable.extend_from_slice(unstable);
        self
    }

    /// The same, without standard error.
    pub(super) fn without_stderr(self) -> Self {
        Scene { shows_stderr: false, ..self }
    }

    /// The same, with a variable in the environment.
    pub(super) fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    /// Runs `cargo cbdr LINE`, split into words as a shell would, and returns
    /// the call, its exit code, what it printed, and what is in `files` now.
    /// The last two words may be `< FILE`.
    #[track_caller]
    pub(super) fn transcript(&self, line: &str, files: &[&str]) -> String {
        let mut words = shlex::split(line).unwrap();
        let mut command = Cbdr::new(&self.folder, &self.cache).into_command();
        let changes = |name: &str| VARIABLES.iter().any(|start| name.starts_with(start));
        for (name, _) in std::env::vars_os() {
            if name != "CBDR_CACHE_DIR" && changes(&name.to_string_lossy()) {
                command.env_remove(name);
            }
        }
        command.env("COLUMNS", "100").envs(self.variables.iter().copied());
        if let Some(at) = words.iter().position(|word| word == "<") {
            command.stdin(File::open(self.folder.join(&words[at + 1])).unwrap());
            words.truncate(at);
        }
        for file in files {
            // What an earlier call wrote.
            let _ = std::fs::remove_file(self.folder.join(file));
        }
        if files.contains(&SUMMARY) {
            command.env("GITHUB_STEP_SUMMARY", self.folder.join(SUMMARY));
        }
        let output = command.args(words).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        let Some(code) = output.status.code() else {
            panic!("{line}: {}\n{stderr}", output.status)
        };

        let mut out = format!("$ cargo cbdr {line}\nexit code {code}\n");
        section(&mut out, "standard output", &self.stable(&stdout));
        if self.shows_stderr {
            section(&mut out, "standard error", &self.stable(&stderr));
        }
        for file in files {
            let written = std::fs::read_to_string(self.folder.join(file));
            let Ok(written) = written else { panic!("{line} did not write {file}:\n{stderr}") };
            section(&mut out, file, &self.stable(&written));
        }
        out
    }

    /// A text with placeholders below a heading, as in a transcript.
    pub(super) fn shown(&self, heading: &str, text: &str) -> String {
        let mut out = String::new();
        section(&mut out, heading, &self.stable(text));
        out
    }

    /// An output with placeholders.
    fn stable(&self, text: &str) -> String {
        let replace = |text: String, &unstable: &Unstable| between(&text, unstable);
        self.unstable.iter().fold(text.to_owned(), replace)
    }
}

fn between(text: &str, (from, to, placeholder): Unstable) -> String {
    let mut parts = text.split(from);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(from);
        match part.find(to).filter(|end| !part[..*end].contains('\n')) {
            Some(end) => {
                out.push_str(placeholder);
                out.push_str(&part[end..]);
            }
            None => out.push_str(part),
        }
    }
    out
}

/// Adds a section with a heading. Long lines are broken: those of JSON before
/// the next name or object, those of HTML after each tag. The heading says so,
/// and what is added can be told from what was there, so that two sections are
/// equal only when the texts are.
fn section(out: &mut String, heading: &str, text: &str) {
    let is_json_line = text.starts_with(['{', '[']) && text.find('\n') == Some(text.len() - 1);
    let (text, note) = if text.is_empty() {
        (String::new(), " (empty)")
    } else if is_json_line {
        (broken_json(text), " (one line, broken here after commas)")
    } else if text.starts_with("<!DOCTYPE html>") {
        (text.replace('>', ">\n"), " (broken here after each `>`)")
    } else {
        (text.to_owned(), "")
    };
    let _ = writeln!(out, "--- {heading}{note}");
    out.push_str(&text);
    if !text.is_empty() && !text.ends_with('\n') {
        out.push_str("\n--- (no end of line)\n");
    }
}

/// One line of JSON, broken after the commas that a name, a text or an object
/// follows.
fn broken_json(line: &str) -> String {
    let mut out = String::new();
    let mut chars = line.chars().peekable();
    let (mut is_text, mut is_escaped) = (false, false);
    while let Some(c) = chars.next() {
        out.push(c);
        match c {
            '"' if !is_escaped => is_text = !is_text,
            ',' if !is_text && matches!(chars.peek(), Some('"' | '{')) => out.push('\n'),
            _ => {}
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    out
}

#[test]
fn placeholders_and_breaks_leave_the_rest_as_it_is() {
    let text = "after 0.3s; time=\"1\", time=\"2\" and time=\"3\n\"";
    let stable = between(&between(text, ("after ", ";", "TIME")), ("time=\"", "\"", "T"));
    assert_eq!(stable, "after TIME; time=\"T\", time=\"T\" and time=\"3\n\"");

    let line = "{\"a, \\\"b\":[1,2],\"c\":[\"x\",\"y\\\\\",{\"d\":null}]}\n";
    let broken = broken_json(line);
    assert_eq!(broken, "{\"a, \\\"b\":[1,2],\n\"c\":[\"x\",\n\"y\\\\\",\n{\"d\":null}]}\n");
    let mut out = String::new();
    section(&mut out, "x", line);
    section(&mut out, "y", "text");
    section(&mut out, "z", "");
    let expected = "--- x (one line, broken here after commas)\n".to_owned()
        + &broken
        + "--- y\ntext\n--- (no end of line)\n--- z (empty)\n";
    assert_eq!(out, expected);
}
