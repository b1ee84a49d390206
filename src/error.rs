//! What went wrong, with a hint.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use crate::exec::process::{Exit, RunError, RunFault};
use crate::exec::{harness, meter, process};
use crate::model::dialect::Dialect;
use crate::model::outcome::Removed;
use crate::model::side::Side;
use crate::workspace::{cache, cargo, git};
use crate::{samples, settings};

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Kind>);

/// The reason printed by a tool.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Cause(String);

impl Cause {
    /// `None` if the tool printed nothing.
    pub(crate) fn of(text: String) -> Option<Self> {
        (!text.is_empty()).then_some(Cause(text))
    }
}

/// An operation on a file or folder failed.
#[derive(Debug, thiserror::Error)]
#[error("could not {verb} `{}`", .path.display())]
pub struct FileError {
    verb: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

impl FileError {
    /// Names the verb and the path of a failed call.
    pub(crate) fn new(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| FileError { verb, path, source }
    }
}

/// The kinds of failure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Kind {
    #[error(transparent)]
    Git(#[from] git::Error),
    #[error(transparent)]
    Cache(#[from] cache::Error),
    #[error(transparent)]
    Cargo(#[from] cargo::Error),
    #[error(transparent)]
    Settings(#[from] settings::Error),
    #[error(transparent)]
    Analysis(#[from] samples::Error),
    #[error(transparent)]
    Process(#[from] process::RunError),
    #[error(transparent)]
    Meter(#[from] meter::Error),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{command}` failed in `{}`: it {exit}", .folder.display())]
    Tool { command: String, folder: PathBuf, exit: Exit, stderr: String },
    #[error(
        "`{command}` {} in `{}`, and was ended", RunFault::TooMuchOutput, .folder.display()
    )]
    TooMuchOutput { command: String, folder: PathBuf, stderr: String },
    #[error("`{}` is a pipe, but every run has to read it from the beginning", .0.display())]
    Pipe(PathBuf),
    #[error("the {side} does not build: `{command}` {exit}")]
    Build { side: Side, command: String, exit: Exit },
    #[error("could not build the {side}: `{command}` {exit}")]
    Unbuilt { side: Side, command: String, exit: Exit, source: Option<Cause> },
    #[error(
        "{} to be built by a nightly compiler, but this is rustc {release}", names(.benchmarks)
    )]
    NeedsNightly { benchmarks: Vec<String>, release: String },
    #[error("the manifests of the {side} can't be read: `{command}` {exit}")]
    Manifests { side: Side, command: String, exit: Exit, stderr: String },
    #[error(
        "the {side}'s package `{package}` needs `{needed}` in `{}`, which is outside the \
         repository", .folder.display()
    )]
    OutsideDependency { side: Side, package: String, needed: String, folder: PathBuf },
    #[error(
        "`{benchmark}` runs what is in `{}`, where cargo would build both sides", .folder.display()
    )]
    SharedFolder { benchmark: String, folder: PathBuf },
    #[error("`{folder}` is not in the {side}'s commit")]
    NotCommitted { side: Side, folder: String },
    #[error("the {side} of `{benchmark}` {fault}: `{command}`")]
    Benchmark { side: Side, benchmark: String, fault: RunFault, command: String, stderr: String },
    #[error("can't read what the {side} of `{benchmark}` reports as {harness}: `{command}`")]
    Output {
        side: Side,
        benchmark: String,
        command: String,
        harness: &'static str,
        output: String,
        source: harness::Error,
    },
    #[error(transparent)]
    Harness(harness::Error),
    #[error(
        "a run of the {side} of `{benchmark}` does not report {what}, which an earlier one did"
    )]
    Omitted { side: Side, benchmark: String, what: String },
    #[error("`{benchmark}` can't be measured: the results of {harness} can't be read")]
    UnusableHarness { benchmark: String, harness: &'static str },
    #[error("the head of `{benchmark}` reports no benchmark (harness {harness})")]
    NoBenchmark { benchmark: String, harness: &'static str, filter: Option<String> },
    #[error(
        "`{metric}` measures a process, but `{benchmark}` measures its benchmarks one by one \
        (harness {harness})"
    )]
    OfProcess { benchmark: String, metric: String, harness: &'static str },
    #[error("no benchmark here can be filtered (`--filter {0}`)")]
    NoFilter(String),
    #[error("`{hook}` of the {side} of `{benchmark}` {fault}: `{command}`")]
    Hook {
        side: Side,
        hook: &'static str,
        benchmark: String,
        fault: RunFault,
        command: String,
        stderr: String,
    },
    #[error("`{benchmark}` can't be run as requested")]
    Isolation { benchmark: String, source: process::IsolationError },
    #[error("could not listen for signals")]
    Listen(#[source] io::Error),
    #[error("`{label}` {fault}: `{command}`")]
    Command { label: String, fault: RunFault, command: String, stderr: String },
    #[error("there is no metric `{metric}`")]
    UnknownMetric { metric: String, known: Vec<String> },
    #[error("no run of `{benchmark}` measured `{metric}`")]
    NoMetric { benchmark: String, metric: String, measured: Vec<String> },
    #[error("nothing is left to decide: the head no longer measures {}", list(.0))]
    AllRemoved(Vec<Removed>),
    #[error("the waiver of `{metric}` has no effect: {why}")]
    Waiver { metric: String, why: String },
    #[error(
        "{least} pairs{}, the minimum for a verdict, take about {}, longer than the time limit of \
         {}{}",
        of_each(*.benchmarks), about(.needed), seconds(.limit), slowest_of(.slowest)
    )]
    LimitTooShort {
        least: u64,
        benchmarks: usize,
        needed: Duration,
        limit: Duration,
        /// The benchmark with the longest pairs, and how long these are.
        slowest: (String, Duration),
        /// The version of the harness with which runs could be much shorter.
        newer: Option<&'static str>,
    },
    #[error(
        "no verdict is possible over {number} layouts: at least {least} of each side are needed"
    )]
    TooFewLayouts { number: u32, least: u64 },
    #[error("no bench target can be tried: {0}")]
    NothingToTry(String),
    #[error("can't annotate: {0}")]
    Annotation(String),
    #[error("could not edit `{}`: {why}", .path.display())]
    Manifest { path: PathBuf, why: String },
    #[error("`{}` already has a table [{table}], which is not overwritten", .path.display())]
    Configured { path: PathBuf, table: String },
    #[error("the result can't be stored: {0}")]
    Unstorable(String),
    #[error("no result of {rev} ({}){place} is stored", git::abbreviated(.commit))]
    NoResult { rev: String, commit: String, place: &'static str, others: usize },
    #[error("the filter of `{example}` failed on the {side}: git {exit}")]
    Filter { side: Side, example: String, exit: Exit, stderr: String },
    #[error("could not fetch {what} from `{remote}`: `{command}` {exit}")]
    Fetch { what: String, remote: String, command: String, exit: Exit, stderr: String },
    #[error("could not {verb} the notes {preposition} `{remote}`: `{command}` {exit}")]
    Remote {
        verb: &'static str,
        preposition: &'static str,
        remote: String,
        command: String,
        exit: Exit,
        stderr: String,
    },
    #[error("the {which} commit can't be compared: {why}")]
    Bisect { which: &'static str, why: String },
    #[error("there is no remote `{0}` to fetch from")]
    NoRemote(String),
    #[error("`{0}` is not a remote (a name or an address)")]
    RemoteName(String),
    #[error("not a single pair fitted into the time limit of {}", seconds(.0))]
    NoPair(Duration),
}

/// The names of benchmarks that have to be or do something, with the verb.
fn names(benchmarks: &[String]) -> String {
    let names: Vec<String> = benchmarks.iter().map(|name| format!("`{name}`")).collect();
    let verb = if names.len() == 1 { "has" } else { "have" };
    format!("{} {verb}", names.join(", "))
}

/// The names of what was removed.
fn list(removed: &[Removed]) -> String {
    let one = |removed: &Removed| match &removed.metric {
        Some(metric) => format!("`{metric}` of `{}`", removed.benchmark),
        None => format!("`{}`", removed.benchmark),
    };
    removed.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn seconds(duration: &Duration) -> humantime::FormattedDuration {
    let rounded = if duration.as_secs() < 2 {
        Duration::from_millis(duration.as_millis() as u64)
    } else {
        Duration::from_secs(duration.as_secs_f64().round() as u64)
    };
    humantime::format_duration(rounded)
}

/// An estimate: from ten minutes on, the seconds are left out.
fn about(duration: &Duration) -> humantime::FormattedDuration {
    match duration.as_secs() {
        0..600 => seconds(duration),
        long => humantime::format_duration(Duration::from_secs(60 * long.div_ceil(60))),
    }
}

impl<K: Into<Kind>> From<K> for Error {
    fn from(kind: K) -> Self {
        Error(Box::new(kind.into()))
    }
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        if self.is_interrupt() {
            return None;
        }
        let shortage = || self.0.hint().or_else(|| system_hint(self));
        shortage().or_else(|| self.0.next_step().map(str::to_owned))
    }

    /// The end of what the failed program printed, to be shown as it is.
    pub fn child_output(&self) -> Option<&str> {
        match &*self.0 {
            Kind::Output { output: text, .. }
            | Kind::Tool { stderr: text, .. }
            | Kind::TooMuchOutput { stderr: text, .. }
            | Kind::Manifests { stderr: text, .. }
            | Kind::Benchmark { stderr: text, .. }
            | Kind::Hook { stderr: text, .. }
            | Kind::Command { stderr: text, .. }
            | Kind::Fetch { stderr: text, .. }
            | Kind::Filter { stderr: text, .. }
            | Kind::Remote { stderr: text, .. } => {
                Some(text.as_str()).filter(|text| !text.trim().is_empty())
            }
            _ => None,
        }
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0
    }

    /// Whether a signal asked this process to end.
    pub fn is_interrupt(&self) -> bool {
        matches!(&*self.0, Kind::Process(RunError::Interrupted))
    }

    /// As [`FileError::new`].
    pub(crate) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let error = FileError::new(verb, path);
        move |source| error(source).into()
    }
}

impl Kind {
    /// The hint that follows from the kind, regardless of the causes.
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Kind::File(error) | Kind::Git(git::Error::File(error)) => {
                return cache::damage_hint(error);
            }
            Kind::Git(error) => return error.hint(),
            Kind::Cache(error) => return error.hint(),
            Kind::Settings(error) => return error.hint(),
            Kind::Analysis(error) => return error.hint(),
            Kind::Meter(error) => return error.hint(),
            Kind::UnknownMetric { known, metric } => {
                return Some(no_metric(metric, known, "there are"));
            }
            Kind::NoMetric { measured, metric, .. } => {
                return Some(no_metric(metric, measured, "it measures"));
            }
            Kind::Isolation { source: process::IsolationError::Cpu(..), .. } => {
                return Some(processors());
            }
            Kind::NoBenchmark { filter: Some(filter), .. } => {
                return Some(format!(
                    "no name matches the filter `{filter}`; without `--filter`, all benchmarks are run"
                ));
            }
            Kind::LimitTooShort { needed, benchmarks, newer, .. } => {
                return Some(longer_limit(*needed, *benchmarks, *newer));
            }
            Kind::TooFewLayouts { least, .. } => {
                return Some(format!("use `--layouts {least}` or more, or `--layouts auto`"));
            }
            Kind::NoFilter(_) => {
                let filtering = Dialect::ALL.into_iter().filter(|dialect| dialect.filters());
                let names: Vec<&str> = filtering.map(Dialect::name).collect();
                let (last, others) = names.split_last()?;
                return Some(format!(
                    "leave out `--filter`: only the harnesses {} and {last} support filters",
                    others.join(", ")
                ));
            }
            Kind::Benchmark { fault, .. }
            | Kind::Hook { fault, .. }
            | Kind::Command { fault, .. }
                if matches!(fault, RunFault::TimedOut(_)) =>
            {
                "raise `--run-timeout`"
            }
            Kind::Benchmark { fault, .. }
            | Kind::Hook { fault, .. }
            | Kind::Command { fault, .. }
                if *fault == RunFault::TooMuchOutput =>
            {
                "make it print less: it was stopped before it could fill the disk"
            }
            Kind::Benchmark { stderr, .. } | Kind::Command { stderr, .. }
                if is_port_taken(stderr) =>
            {
                "an address was still in use: a port becomes free only some time after a run; use port \
                 0, which selects any free port, or set SO_REUSEADDR"
            }
            Kind::Benchmark { stderr, .. } if harness::advice(stderr).is_some() => {
                return harness::advice(stderr);
            }
            Kind::Output { .. } => {
                "set `--harness` to the format that the benchmark prints; `plain` measures the \
                 process"
            }
            Kind::NoResult { others, .. } if *others > 0 => {
                "there are results from other machines: `--all-machines` includes them"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// What to do if neither the kind nor the system's error has a hint of its own.
    fn next_step(&self) -> Option<&'static str> {
        Some(match self {
            Kind::Git(_) => "check whether `git status` and `git fsck` report a problem here",
            Kind::Cache(_) => "set CBDR_CACHE_DIR to a folder that you can write to",
            Kind::Cargo(_) => "check whether `cargo metadata` and `cargo bench --no-run` work here",
            Kind::Settings(_) => {
                "correct it; docs/configuration.md lists the keys, `--help` the options"
            }
            // These errors name the file, the line and the column.
            Kind::Analysis(_) => return None,
            // These have a hint each.
            Kind::Output { .. }
            | Kind::NoFilter(_)
            | Kind::UnknownMetric { .. }
            | Kind::NoMetric { .. }
            | Kind::LimitTooShort { .. }
            | Kind::TooFewLayouts { .. } => return None,
            Kind::Process(error) => return next_step_of_process(error),
            Kind::Meter(_) => "check that the file can be read, or choose another `--metric`",
            Kind::File(_) => "check the path and its permissions",
            Kind::Pipe(_) => "write it to a file first, and use that file",
            Kind::Tool { .. } | Kind::TooMuchOutput { .. } => {
                "run the command in that folder to see what it needs"
            }
            Kind::Build { .. } => {
                "fix the errors above, or choose another target (`-p`, `--bench`)"
            }
            Kind::Unbuilt { side: Side::Base, .. } => {
                "this may not be the fault of the code (but of the network, for example), so it \
                 does not count as a missing baseline; run it again, or try another base: `cargo \
                 cbdr compare BASE`"
            }
            Kind::Unbuilt { .. } => "fix what cargo reports above, and run it again",
            Kind::NeedsNightly { .. } => {
                "the source has `#![feature(…)]`: `--toolchain nightly` builds both sides with a \
                 nightly compiler, if rustup has one; `--bench` selects another target"
            }
            Kind::Manifests { .. } => "fix the manifests: `cargo metadata` reports the same",
            Kind::OutsideDependency { .. } => {
                "a worktree contains only what is committed: make it a submodule, or depend on it \
                 by git, version or absolute path"
            }
            Kind::SharedFolder { .. } => {
                "each side is built in `target` of its own worktree instead: name the program \
                 relative to the package's folder, as in `target/release/NAME`"
            }
            Kind::NotCommitted { .. } => {
                "commit it, or compare the working tree as it is: `--dirty`"
            }
            Kind::Benchmark { .. } => {
                "run it at that commit, with `cargo bench` or the command itself: a benchmark has to \
                 exit with 0"
            }
            Kind::Harness(_) => "measure the process itself with `--harness plain`",
            Kind::Omitted { .. } => {
                "make every run report the same, or leave the benchmark out with `--filter`"
            }
            Kind::UnusableHarness { .. } => {
                "choose another target with `--bench`, `--example` or `--command`; a bench target \
                 with criterion or divan, or one that prints JSON (`--harness json`), can be \
                 measured"
            }
            Kind::NoBenchmark { .. } | Kind::OfProcess { .. } => {
                "use `--harness plain` to measure the process itself"
            }
            Kind::Hook { .. } => "run the command by hand to see why it fails",
            Kind::Isolation { .. } => {
                "leave out that option, or run with the permissions that it needs"
            }
            Kind::Listen(_) => "run it again; if it fails again, please report it",
            Kind::Command { .. } => "run the command by hand: it has to exit with 0",
            Kind::AllRemoved(_) => {
                "measure it again, or choose with `--metric` what decides instead; if a table \
                 names it, `--policy-from head` uses the head's table"
            }
            Kind::Waiver { .. } => "correct it, or remove it from the head's table",
            Kind::NoPair(_) => "allow a longer `--time-limit`, or shorten the benchmark",
            Kind::NothingToTry(_) => {
                "name a target with `--bench`, `--bin` or `--example`, or any program with \
                 `--command`"
            }
            Kind::Annotation(_) => "see `cargo cbdr history annotate --help`",
            Kind::Manifest { .. } => "edit the table by hand, as docs/configuration.md shows",
            Kind::Configured { .. } => "edit that table; `cargo cbdr compare` uses it",
            Kind::Unstorable(_) => "see `cargo cbdr history record --help`",
            Kind::NoResult { .. } => "`cargo cbdr history record` measures one",
            Kind::Filter { .. } => {
                "make the filter work in this clone: `git checkout` needs it, too"
            }
            Kind::Fetch { .. } => {
                "check whether `git fetch` works here, or choose a base that this clone has"
            }
            Kind::Remote { .. } => "check whether `git ls-remote` works for that remote",
            Kind::Bisect { .. } => "choose another commit",
            Kind::NoRemote(_) | Kind::RemoteName(_) => "`git remote -v` lists the remotes",
        })
    }
}

/// The same for a failure to run or watch a process. There is none after an interrupt.
fn next_step_of_process(error: &RunError) -> Option<&'static str> {
    match error {
        RunError::Interrupted => None,
        RunError::Spawn { program, .. } if program == "cargo" => {
            Some("install Rust (https://rustup.rs), or add the folder of `cargo` to PATH")
        }
        RunError::Spawn { .. } => {
            Some("check that the program exists, is executable and is on PATH")
        }
        RunError::Count { .. } => Some("measure without counters: `--metric wall_time`"),
        RunError::Helper(_) => {
            Some("run it again; if it fails again, check the system log for what kills processes")
        }
    }
}

/// What to do about a system error that reports an exhausted resource, or a limit.
fn shortage_hint(error: &io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room; CBDR_CACHE_DIR moves the cache to another disk, TMPDIR the temporary files"
        }
        io::ErrorKind::FileTooLarge => "allow larger files: `ulimit -f unlimited`",
        io::ErrorKind::OutOfMemory => NO_MEMORY,
        io::ErrorKind::WouldBlock => {
            "allow more processes: `ulimit -u`, or wait until fewer are running"
        }
        _ if process::is_out_of_descriptors(error) => "allow more open files: `ulimit -n 1024`",
        _ => return None,
    })
}

const NO_MEMORY: &str = "free some memory, or raise the limit (`ulimit -v`)";

/// The messages of this system for each shortage, as programs in other
/// languages print them, with the hint.
static SHORTAGES: LazyLock<Vec<(String, &str)>> = LazyLock::new(|| {
    let with_words = |error: io::Error| {
        let text = error.to_string();
        let words = text.split(" (os error").next()?.to_owned();
        shortage_hint(&error).map(|hint| (words, hint))
    };
    (1..=LARGEST_ERRNO).map(io::Error::from_raw_os_error).filter_map(with_words).collect()
});

/// The largest error number of any Unix.
const LARGEST_ERRNO: i32 = 133;

/// What to do about a shortage that a program's text reports: in the system's words, or
/// in those of a Rust program that gets no memory.
pub(crate) fn shortage_in_text(text: &str) -> Option<&'static str> {
    let known = SHORTAGES.iter().find(|(words, _)| text.contains(words)).map(|(_, hint)| *hint);
    known.or_else(|| text.contains("memory allocation of").then_some(NO_MEMORY))
}

/// What to do about a shortage that an error or one of its causes reports. The
/// text counts if the cause is in another program or library.
pub fn system_hint(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(cause) = next {
        let hint = cause.downcast_ref().and_then(shortage_hint);
        if let Some(hint) = hint.or_else(|| shortage_in_text(&cause.to_string())) {
            return Some(hint.to_owned());
        }
        next = cause.source();
    }
    None
}

/// What to do if the minimum number of pairs takes longer than the time limit. The suggested
/// limit has room for runs that take longer than the warm-up did.
fn longer_limit(needed: Duration, benchmarks: usize, newer: Option<&str>) -> String {
    let wanted = (needed.as_secs_f64() * 1.25).ceil() as u64;
    let wanted =
        Duration::from_secs(if wanted < 120 { wanted } else { wanted.next_multiple_of(60) });
    let wanted = humantime::format_duration(wanted).to_string().replace(' ', "");
    let hint = match benchmarks {
        1 => format!("allow `--time-limit {wanted}`, or shorten the benchmark"),
        _ => format!(
            "choose fewer benchmarks with `--bench` or `--filter`, or allow `--time-limit {wanted}` \
             or more"
        ),
    };
    match newer {
        Some(version) => {
            format!("{hint}; with {version} or later, a run takes milliseconds instead of seconds")
        }
        None => hint,
    }
}

/// The number of benchmarks that need the pairs.
fn of_each(benchmarks: usize) -> String {
    match benchmarks {
        1 => String::new(),
        several => format!(" of each of {several} benchmarks"),
    }
}

/// The benchmark that takes longest, if a pair of it takes seconds.
fn slowest_of((benchmark, pair): &(String, Duration)) -> String {
    match pair.as_secs() {
        0 => String::new(),
        _ => format!("; a pair of `{benchmark}` alone takes {}", seconds(pair)),
    }
}

/// The available processors.
fn processors() -> String {
    let cpus = process::allowed_cpus();
    let cpus = cpus.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
    format!("choose a processor that this process may use: {cpus}")
}

/// Whether a program's output reports that its address is in use: in the
/// system's words (EADDRINUSE), or in those of a language's library.
fn is_port_taken(stderr: &str) -> bool {
    ["Address already in use", "AddrInUse", "EADDRINUSE"].iter().any(|words| stderr.contains(words))
}

/// The hint for a metric that is not among `there`: the name of a metric that it
/// resembles, including those that have to be requested; else the existing names.
fn no_metric(metric: &str, there: &[String], words: &str) -> String {
    let others: Vec<String> = meter::all().map(|metric| metric.name).collect();
    let near = |names: &[String]| {
        settings::error::nearest(metric, names.iter().map(String::as_str)).map(str::to_owned)
    };
    // A text of one or two letters resembles many names.
    let nearest = near(there).or_else(|| near(&others).filter(|_| metric.len() > 3));
    match nearest {
        Some(nearest) if nearest != metric => format!("did you mean `{nearest}`?"),
        _ => format!("choose another metric: {words} {}", there.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_is_known_by_its_error_and_by_the_systems_words_for_it() {
        let hint = |kind: io::ErrorKind| shortage_hint(&kind.into());
        assert_eq!(SHORTAGES.iter().filter(|(_, hint)| *hint == NO_MEMORY).count(), 1);
        for (words, hint) in SHORTAGES.iter() {
            let text = format!("ld: final link failed: {words}\n");
            assert_eq!(shortage_in_text(&text), Some(*hint), "{words}");
        }
        assert_eq!(shortage_in_text("memory allocation of 8 bytes failed"), Some(NO_MEMORY));
        assert_eq!(hint(io::ErrorKind::OutOfMemory), Some(NO_MEMORY));
        assert_eq!(hint(io::ErrorKind::NotFound), None);
        assert_eq!(shortage_in_text("No such file or directory"), None);
    }

    #[test]
    fn the_hint_is_that_of_the_cause() {
        let source = io::Error::from(io::ErrorKind::QuotaExceeded);
        let error = Error::io("write", Path::new("/x"))(source);
        assert!(error.hint().unwrap().starts_with("make room; "));
        let hint = Error::io("read", Path::new("/x"))(io::ErrorKind::NotFound.into()).hint();
        assert_eq!(hint.unwrap(), "check the path and its permissions");
    }

    /// An error of each kind.
    fn kinds() -> Vec<Kind> {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let text = String::new;
        let (side, exit) = (Side::Head, Exit::Code(3));
        let fault = || RunFault::Exit(Exit::Code(3));
        let spawn = |program: &str| RunError::Spawn { program: program.into(), source: gone() };
        let time = Duration::from_secs(1);
        vec![
            git::Error::OddSubmodule("a".into()).into(),
            cache::Error::NoPlace.into(),
            cargo::Error::NoExecutable(text()).into(),
            settings::Error::BadType { table: text(), why: text() }.into(),
            spawn("cargo").into(),
            spawn("other").into(),
            RunError::Count { program: text(), source: gone() }.into(),
            RunError::Helper(gone()).into(),
            meter::Error::Executable { path: "a".into(), source: gone() }.into(),
            FileError::new("read", Path::new("a"))(gone()).into(),
            Kind::Tool { command: text(), folder: "a".into(), exit, stderr: text() },
            Kind::TooMuchOutput { command: text(), folder: "a".into(), stderr: text() },
            Kind::Pipe("a".into()),
            Kind::Build { side, command: text(), exit },
            Kind::Unbuilt { side, command: text(), exit, source: None },
            Kind::Unbuilt { side: Side::Base, command: text(), exit, source: None },
            Kind::NeedsNightly { benchmarks: vec![], release: text() },
            Kind::Manifests { side, command: text(), exit, stderr: text() },
            Kind::OutsideDependency { side, package: text(), needed: text(), folder: "a".into() },
            Kind::SharedFolder { benchmark: text(), folder: "a".into() },
            Kind::NotCommitted { side, folder: text() },
            Kind::Benchmark {
                side,
                benchmark: text(),
                fault: fault(),
                command: text(),
                stderr: text(),
            },
            Kind::Harness(harness::Error::Nothing),
            Kind::Output {
                side,
                benchmark: text(),
                command: text(),
                harness: "json",
                output: text(),
                source: harness::Error::Nothing,
            },
            Kind::Omitted { side, benchmark: text(), what: text() },
            Kind::UnusableHarness { benchmark: text(), harness: "tango" },
            Kind::NoBenchmark { benchmark: text(), harness: "divan", filter: None },
            Kind::OfProcess { benchmark: text(), metric: text(), harness: "divan" },
            Kind::NoFilter(text()),
            Kind::Hook {
                side,
                hook: "setup",
                benchmark: text(),
                fault: fault(),
                command: text(),
                stderr: text(),
            },
            Kind::Isolation { benchmark: text(), source: process::IsolationError::Nice(1, gone()) },
            Kind::Listen(gone()),
            Kind::Command { label: text(), fault: fault(), command: text(), stderr: text() },
            Kind::UnknownMetric { metric: "wal_time".into(), known: vec!["wall_time".into()] },
            Kind::NoMetric { benchmark: text(), metric: "x".into(), measured: vec!["y".into()] },
            Kind::AllRemoved(vec![]),
            Kind::Waiver { metric: text(), why: text() },
            Kind::LimitTooShort {
                least: 9,
                benchmarks: 1,
                needed: time,
                limit: time,
                slowest: (text(), time),
                newer: None,
            },
            Kind::TooFewLayouts { number: 1, least: 9 },
            Kind::NothingToTry(text()),
            Kind::Annotation(text()),
            Kind::Manifest { path: "a".into(), why: text() },
            Kind::Configured { path: "a".into(), table: text() },
            Kind::Unstorable(text()),
            Kind::NoResult { rev: text(), commit: text(), place: "", others: 0 },
            Kind::Filter { side, example: text(), exit, stderr: text() },
            Kind::Fetch { what: text(), remote: text(), command: text(), exit, stderr: text() },
            Kind::Remote {
                verb: "push",
                preposition: "to",
                remote: text(),
                command: text(),
                exit,
                stderr: text(),
            },
            Kind::Bisect { which: "good", why: text() },
            Kind::NoRemote(text()),
            Kind::RemoteName(text()),
            Kind::NoPair(time),
        ]
    }

    #[test]
    fn a_limit_that_is_too_short_names_one_that_will_do_and_what_else_helps() {
        let hour = Duration::from_secs(3600);
        assert_eq!(
            longer_limit(hour, 1, None),
            "allow `--time-limit 1h15m`, or shorten the benchmark"
        );
        assert_eq!(
            longer_limit(hour, 87, Some("criterion 0.4")),
            "choose fewer benchmarks with `--bench` or `--filter`, or allow `--time-limit 1h15m` or \
             more; with criterion 0.4 or later, a run takes milliseconds instead of seconds"
        );
    }

    #[test]
    fn every_error_ends_with_a_next_step() {
        for kind in kinds() {
            // What one of the two always says, the other would never be asked for. Some errors
            // of other rooms have a hint.
            let varies =
                matches!(kind, Kind::Git(_) | Kind::Cache(_) | Kind::Settings(_) | Kind::Meter(_));
            let steps = [kind.hint(), kind.next_step().map(str::to_owned)];
            assert!(varies || steps.iter().flatten().count() == 1, "{kind:?}: {steps:?}");
            let error = Error::from(kind);
            let hint = error.hint().unwrap_or_else(|| panic!("`{error:?}` leads nowhere"));
            let first = hint.chars().next().unwrap();
            assert!(!first.is_uppercase() && !hint.ends_with(['.', ' ']), "{hint}");
        }
        assert_eq!(Error::from(RunError::Interrupted).hint(), None);
    }
}
