//! What went wrong, with a hint.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::exec::process::{Exit, RunError};
use crate::exec::{harness, meter, process};
use crate::model::outcome::Removed;
use crate::model::side::Side;
use crate::samples;
use crate::settings::{options, table};
use crate::workspace::{cache, cargo, git};

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Kind>);

/// What a tool gave as the reason.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Cause(String);

impl Cause {
    /// Of what was said, if it was anything.
    pub(crate) fn of(said: String) -> Option<Self> {
        (!said.is_empty()).then_some(Cause(said))
    }
}

/// The kinds of failure; private, so that they may change.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Kind {
    #[error(transparent)]
    Git(#[from] git::Error),
    #[error(transparent)]
    Cache(#[from] cache::Error),
    #[error(transparent)]
    Cargo(#[from] cargo::Error),
    #[error(transparent)]
    Config(#[from] table::Error),
    #[error(transparent)]
    Options(#[from] options::Error),
    #[error(transparent)]
    Analysis(#[from] samples::Error),
    #[error(transparent)]
    Process(#[from] process::RunError),
    #[error(transparent)]
    Meter(#[from] meter::Error),
    #[error("could not {verb} `{}`", .path.display())]
    Io { verb: &'static str, path: PathBuf, source: io::Error },
    #[error("`{command}` failed in `{}`: it {exit}", .folder.display())]
    Tool { command: String, folder: PathBuf, exit: Exit, said: String },
    #[error(
        "`{command}` printed more than {} MiB in `{}`, and was ended", process::MOST_OUTPUT >> 20,
        .folder.display()
    )]
    Talkative { command: String, folder: PathBuf, said: String },
    #[error("`{}` is a pipe, and every run reads it from its beginning", .0.display())]
    Pipe(PathBuf),
    #[error("the {side} does not build: `{command}` {exit}")]
    Build { side: Side, command: String, exit: Exit },
    #[error("could not build the {side}: `{command}` {exit}")]
    Unbuilt { side: Side, command: String, exit: Exit, source: Option<Cause> },
    #[error("the manifests of the {side} can't be read: `{command}` {exit}")]
    Manifests { side: Side, command: String, exit: Exit, said: String },
    #[error(
        "the {side}'s package `{package}` needs `{needed}` in `{}`, and that is outside of the \
         repository", .folder.display()
    )]
    Beside { side: Side, package: String, needed: String, folder: PathBuf },
    #[error("`{folder}` is not in the {side}'s commit")]
    NotCommitted { side: Side, folder: String },
    #[error("the {side} of `{benchmark}` {what}: `{command}`")]
    Benchmark { side: Side, benchmark: String, what: String, command: String, said: String },
    #[error("can't read what the {side} of `{benchmark}` reports as {harness}: `{command}`")]
    Output {
        side: Side,
        benchmark: String,
        command: String,
        harness: &'static str,
        said: String,
        source: harness::Error,
    },
    #[error(transparent)]
    Harness(harness::Error),
    #[error(
        "a run of the {side} of `{benchmark}` does not report {what}, which an earlier one did"
    )]
    Omitted { side: Side, benchmark: String, what: String },
    #[error("the head of `{benchmark}` reports no benchmark (harness {harness})")]
    NoBenchmark { benchmark: String, harness: &'static str, filter: Option<String> },
    #[error("`{metric}` is of a process, and `{benchmark}` has benchmarks (harness {harness})")]
    OfProcess { benchmark: String, metric: String, harness: &'static str },
    #[error("nothing takes the filter `{0}`")]
    NoFilter(String),
    #[error("`{hook}` of the {side} of `{benchmark}` {what}: `{command}`")]
    Hook {
        side: Side,
        hook: &'static str,
        benchmark: String,
        what: String,
        command: String,
        said: String,
    },
    #[error("`{benchmark}` can't be run as was asked for")]
    Isolation { benchmark: String, source: process::IsolationError },
    #[error("could not listen for signals")]
    Listen(#[source] io::Error),
    #[error("a duet needs two processors, and this process may use {0}")]
    NoDuet(usize),
    #[error("this system does not say how busy it is, which `max-busy` needs")]
    NoBusy,
    #[error("`{label}` {what}: `{command}`")]
    Command { label: String, what: String, command: String, said: String },
    #[error("there is no metric `{metric}`")]
    UnknownMetric { metric: String, known: Vec<String> },
    #[error("no run of `{benchmark}` measured `{metric}`")]
    NoMetric { benchmark: String, metric: String, measured: Vec<String> },
    #[error("nothing is left to decide: the head no longer measures {}", list(.0))]
    AllRemoved(Vec<Removed>),
    #[error("the waiver of `{metric}` accepts nothing: {why}")]
    Waiver { metric: String, why: String },
    #[error(
        "{least} pairs, the least that a verdict needs, take about {}, \
         which does not fit into the time limit of {}",
        seconds(.needed), seconds(.limit)
    )]
    LimitTooShort { least: u64, needed: Duration, limit: Duration },
    #[error("can't annotate: {0}")]
    Annotation(String),
    #[error("could not edit `{}`: {why}", .path.display())]
    Manifest { path: PathBuf, why: String },
    #[error("`{}` has a table [{table}] already, and nothing is overwritten", .path.display())]
    Configured { path: PathBuf, table: String },
    #[error("the result can't be stored: {0}")]
    Unstorable(String),
    #[error("no result of {rev} ({}){place} is stored", git::abbreviated(.commit))]
    NoResult { rev: String, commit: String, place: &'static str, others: usize },
    #[error("the filter of `{example}` failed on the {side}: git {exit}")]
    Filter { side: Side, example: String, exit: Exit, said: String },
    #[error("could not fetch {what} from `{remote}`: `{command}` {exit}")]
    Fetch { what: String, remote: String, command: String, exit: Exit, said: String },
    #[error("could not {verb} the notes {preposition} `{remote}`: `{command}` {exit}")]
    Remote {
        verb: &'static str,
        preposition: &'static str,
        remote: String,
        command: String,
        exit: Exit,
        said: String,
    },
    #[error("the {which} commit can't be compared: {why}")]
    Bisect { which: &'static str, why: String },
    #[error("there is no remote `{0}` to fetch from")]
    NoRemote(String),
    #[error("`{0}` is no remote: a name or an address")]
    RemoteName(String),
    #[error("not one pair fitted into the time limit of {}", seconds(.0))]
    NoPair(Duration),
}

/// What was removed, by name.
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

impl<K: Into<Kind>> From<K> for Error {
    fn from(kind: K) -> Self {
        Error(Box::new(kind.into()))
    }
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let unbuilt = || match &*self.0 {
            Kind::Unbuilt { side: Side::Base, .. } => Some(
                "that is not known to be the code's fault, so it is no missing baseline; \
                 another base may do: `cargo cbdr compare BASE`"
                    .to_owned(),
            ),
            _ => None,
        };
        self.own_hint().or_else(|| system_hint(self)).or_else(unbuilt)
    }

    /// What is known by the kind alone.
    fn own_hint(&self) -> Option<String> {
        match &*self.0 {
            Kind::Git(error) => error.hint(),
            Kind::Cache(error) => error.hint(),
            Kind::Config(error) => error.hint(),
            Kind::Options(error) => error.hint(),
            Kind::Analysis(error) => error.hint(),
            Kind::Meter(error) => error.hint(),
            Kind::UnknownMetric { known, metric } => Some(no_metric(metric, known, "there are")),
            Kind::NoMetric { measured, metric, .. } => {
                Some(no_metric(metric, measured, "it measures"))
            }
            Kind::Isolation { source: process::IsolationError::Cpu(..), .. } => Some(processors()),
            Kind::NoBenchmark { filter: Some(filter), .. } => {
                Some(format!("no name matches the filter `{filter}`"))
            }
            Kind::LimitTooShort { needed, .. } => Some(longer(*needed)),
            kind => kind.advice().map(str::to_owned),
        }
    }

    /// What the failed program said last, to be shown as it is.
    pub fn said(&self) -> Option<&str> {
        match &*self.0 {
            Kind::Tool { said, .. }
            | Kind::Talkative { said, .. }
            | Kind::Manifests { said, .. }
            | Kind::Benchmark { said, .. }
            | Kind::Output { said, .. }
            | Kind::Hook { said, .. }
            | Kind::Command { said, .. }
            | Kind::Fetch { said, .. }
            | Kind::Filter { said, .. }
            | Kind::Remote { said, .. } => {
                Some(said.as_str()).filter(|said| !said.trim().is_empty())
            }
            _ => None,
        }
    }

    /// Of which kind it is.
    pub(crate) fn kind(&self) -> &Kind {
        &self.0
    }

    /// Whether a signal asked for the end.
    pub fn is_interrupt(&self) -> bool {
        matches!(&*self.0, Kind::Process(RunError::Interrupted))
    }

    pub(crate) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Kind::Io { verb, path, source }.into()
    }
}

impl Kind {
    /// What there is to do, where it is always the same.
    fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Kind::NotCommitted { .. } => {
                "commit it, or compare the working tree as it is: `--dirty`"
            }
            Kind::Benchmark { what, .. } | Kind::Hook { what, .. } | Kind::Command { what, .. }
                if what.starts_with("ran longer") =>
            {
                "allow more with `--run-timeout`"
            }
            Kind::Benchmark { what, .. } | Kind::Hook { what, .. } | Kind::Command { what, .. }
                if what.starts_with("printed more") =>
            {
                "let it print less; it was ended before it could fill the disk"
            }
            Kind::Pipe(_) => "write it to a file first, and name that",
            Kind::Beside { .. } => {
                "a worktree holds what the commit does: make it a submodule, or name it by git, \
                 by a version or by an absolute path"
            }
            Kind::Benchmark { said, .. } | Kind::Command { said, .. } if is_port_taken(said) => {
                "an address was still in use: the port of the run before is free only some time \
                 after it, unless SO_REUSEADDR is set; port 0 takes any that is free. Runs \
                 overlap only in a duet"
            }
            Kind::AllRemoved(_) => {
                "measure it again, or name with `--metric` what is to decide instead; where a \
                 table names it, `--policy-from head` takes the head's"
            }
            Kind::Waiver { .. } => "correct it, or take it out of the table of the head",
            Kind::Output { .. } => {
                "`--harness` says how a run is read; `plain` measures the process"
            }
            Kind::NoBenchmark { .. } | Kind::OfProcess { .. } => {
                "with `--harness plain` the process itself is the measurement"
            }
            Kind::NoFilter(_) => "the harnesses criterion, divan and libtest have filters",
            Kind::NoResult { others, .. } if *others > 0 => {
                "there are results of other machines: `--all-machines` takes them"
            }
            Kind::NoResult { .. } => "`cargo cbdr history record` measures one",
            Kind::NoRemote(_) => "`git remote -v` shows those that there are",
            Kind::Configured { .. } => "edit it; `cargo cbdr compare` uses what it says",
            Kind::NoPair(_) => "a longer `--time-limit`, or a shorter benchmark",
            _ => return None,
        })
    }
}

/// A longer limit: with room for runs that take longer than the warm-up did.
fn longer(needed: Duration) -> String {
    let wanted = Duration::from_secs((needed.as_secs_f64() * 1.25).ceil() as u64);
    let wanted = humantime::format_duration(wanted).to_string().replace(' ', "");
    format!("`--time-limit {wanted}`, or a shorter benchmark")
}

/// Which processors there are to choose from.
fn processors() -> String {
    let cpus = process::allowed_cpus();
    let cpus = cpus.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
    format!("this process may use {cpus}")
}

/// What to do about what the system said, wherever it is among the causes.
pub fn system_hint(error: &dyn std::error::Error) -> Option<String> {
    const KNOWN: [(&[&str], &str); 5] = [
        (
            &["No space left on device", "Disk quota exceeded"],
            "make room; CBDR_CACHE_DIR puts the cache on another disk, TMPDIR what is temporary",
        ),
        (&["Too many open files"], "allow more open files: `ulimit -n 1024`"),
        (&["File too large"], "allow larger files: `ulimit -f unlimited`"),
        (
            &["Cannot allocate memory", "memory allocation of"],
            "leave it more memory (`ulimit -v` and the like are limits, too)",
        ),
        (
            &["Resource temporarily unavailable"],
            "allow more processes: `ulimit -u`, or wait until fewer are running",
        ),
    ];
    let mut next = Some(error);
    while let Some(cause) = next {
        let text = cause.to_string();
        let found = KNOWN.iter().find(|(signs, _)| signs.iter().any(|sign| text.contains(sign)));
        if let Some((_, hint)) = found {
            return Some((*hint).to_owned());
        }
        next = cause.source();
    }
    None
}

/// Whether a program said that the address that it wanted is taken: in the words
/// of the system (EADDRINUSE) or of a language's library.
fn is_port_taken(said: &str) -> bool {
    ["Address already in use", "AddrInUse", "EADDRINUSE"].iter().any(|words| said.contains(words))
}

/// What to do about a metric that is not among `there`: the name of one that it
/// resembles, which may be one that has to be asked for; else those there are.
fn no_metric(metric: &str, there: &[String], words: &str) -> String {
    let others: Vec<String> = meter::all().map(|metric| metric.name).collect();
    let near = |names: &[String]| {
        table::nearest(metric, names.iter().map(String::as_str)).map(str::to_owned)
    };
    // What resembles a letter or two resembles many.
    let nearest = near(there).or_else(|| near(&others).filter(|_| metric.len() > 3));
    match nearest {
        Some(nearest) if nearest != metric => format!("did you mean `{nearest}`?"),
        _ => format!("{words} {}", there.join(", ")),
    }
}
