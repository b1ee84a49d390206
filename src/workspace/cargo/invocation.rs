//! How cargo runs an executable: with which arguments and in which environment.

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use crate::workspace::environment::{Environment, var};

/// How cargo runs an executable: `before`, the executable, the user's
/// arguments, `after`, with `env` added to the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Invocation {
    /// The runner that the user configured.
    pub(crate) before: Vec<String>,
    /// Arguments that cargo adds, such as `--bench`.
    pub(crate) after: Vec<String>,
    /// The variables that cargo sets.
    pub(crate) env: Vec<(String, String)>,
}

/// Finds the invocation of `executable` in the output of `cargo -vv`: its line ``Running
/// `NAME=value … runner executable --bench` ``. This is needed if the user's
/// configuration has a runner.
pub fn invocation_from_log(log: &str, executable: &Path) -> Option<Invocation> {
    let line = log.lines().rev().find_map(|line| {
        let (_, command) = line.split_once("Running `")?;
        let words = shlex::split(command.strip_suffix('`')?)?;
        words.iter().any(|word| Path::new(word) == executable).then_some(words)
    })?;
    let assignments = line.iter().take_while(|word| is_assignment(word)).count();
    let (env, rest) = line.split_at(assignments);
    let at = rest.iter().position(|word| Path::new(word) == executable)?;
    let pair = |word: &String| word.split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned()));
    Some(Invocation {
        before: rest[..at].to_vec(),
        after: rest[at + 1..].to_vec(),
        env: env.iter().filter_map(pair).collect(),
    })
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// What the recording runner was called with: its arguments, and its environment.
type RecordedCall = (Vec<String>, Vec<(String, String)>);

/// Finds the invocation of `executable` in the lines that the recording runner has written, which
/// was called by a cargo whose own environment was `env`.
pub(crate) fn recorded_invocation(
    text: &str,
    executable: &Path,
    env: &Environment,
) -> Option<Invocation> {
    let (after, of_run) = text.lines().find_map(|line| {
        let (argv, of_run): RecordedCall = serde_json::from_str(line).ok()?;
        let (program, after) = argv.split_first()?;
        (Path::new(program) == executable).then(|| (after.to_vec(), of_run))
    })?;
    // For cargo, rustup prepends its own folder to a PATH that lacks it. If
    // that were kept, runs would use the PATH at the time of the build.
    let inherited = |(name, value): &(String, String)| {
        // As the runner wrote it, which is not always UTF-8.
        let had = var(env, name).map(OsStr::to_string_lossy);
        had.is_some_and(|had| *value == had || (name == "PATH" && value.ends_with(&*had)))
    };
    let env = of_run.into_iter().filter(|pair| !inherited(pair)).collect();
    Some(Invocation { before: Vec::new(), after, env })
}

/// The recording runner: adds a line with its arguments and environment to the file that its first
/// argument names.
///
/// # Errors
/// If it was called without arguments or can't write.
pub fn record_invocation(
    mut args: impl Iterator<Item = OsString>,
    vars: impl Iterator<Item = (OsString, OsString)>,
) -> std::io::Result<()> {
    let note = args.next().ok_or(std::io::ErrorKind::InvalidInput)?;
    let text = |word: OsString| word.to_string_lossy().into_owned();
    let env = vars.map(|(name, value)| (text(name), text(value))).collect();
    let call: RecordedCall = (args.map(text).collect(), env);
    let mut line = serde_json::to_vec(&call)?;
    line.push(b'\n');
    OpenOptions::new().create(true).append(true).open(note)?.write_all(&line)
}
