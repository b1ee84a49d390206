//! How a benchmark executable is called, and how the output of one run is
//! read.
//!
//! One run of a process is one sample of each benchmark that it reports: the
//! iterations inside share their process, its memory's layout and its moment,
//! so they are not independent of each other.

mod bencher;
mod criterion;
mod divan;
mod gungraun;
mod json;
mod libtest;
mod pattern;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use memchr::memmem;

use crate::exec::process::{Command, Sink};
use crate::exec::system::remove_by;
use crate::model::dialect::Dialect;
use crate::model::metric::unfit;
use crate::model::row::{Reading, Values};
use crate::model::run_length::RunLength;

/// How long a probe measures each benchmark.
const PROBE: Duration = Duration::from_millis(1);

/// How long a capped run measures each benchmark: what Criterion's quick mode takes at least.
const CAP: Duration = Duration::from_millis(100);

/// The most that a file may hold that a run has left, bytes.
const LARGEST: u64 = 16 << 20;

/// The most benchmarks of a run.
const MOST_BENCHMARKS: usize = 10_000;

/// The most metrics of a benchmark.
const MOST_METRICS: usize = 1000;

/// What is wrong with the output of a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none.
    #[error("it printed nothing")]
    Nothing,
    /// It can't be understood.
    #[error("{0}")]
    Unreadable(String),
    /// There is more of it than anybody would read.
    #[error("it has more than {0}")]
    TooMuch(String),
    /// It has one name twice.
    #[error("{0} appears twice")]
    Twice(String),
    /// A benchmark or a metric with a name that is none.
    #[error("the name `{}` of a {what} is not valid: {why}",
        .name.chars().take(100).collect::<String>())]
    Name {
        /// Of which of the two it is.
        what: &'static str,
        /// The name.
        name: String,
        /// Why.
        why: &'static str,
    },
    /// A value that is no number, or not finite.
    #[error("the value of `{metric}` is {what}, not a finite number")]
    NoNumber {
        /// The metric.
        metric: String,
        /// What it is.
        what: String,
    },
    /// A file that it left can't be read.
    #[error("could not read `{}`", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The message of the system.
        source: std::io::Error,
    },
}

/// How one harness is recognised, called and read: one in each file.
struct Definition {
    dialect: Dialect,
    /// Words that its executables hold, all of them, with a bar in each that is left
    /// out: an executable that holds this table is not to hold the words.
    marks: &'static [&'static str],
    /// Words that only some versions hold.
    words: &'static [&'static str],
    /// The one of them that tells whether a run can be limited to some benchmarks.
    exact: Option<&'static str>,
    /// Prepares the environment of a run, and gives the flags that are always there.
    set_up: fn(&Harness, &mut Command, &OutputPaths) -> Vec<Flag>,
    /// The flags with which a run measures each benchmark for so long; none if it can't
    /// be told.
    timed: fn(&Harness, RunLength) -> Vec<Flag>,
    /// The arguments with which only these benchmarks run.
    only: fn(&[&str]) -> Vec<OsString>,
    /// The arguments with which the benchmarks run that match a filter of the user's, or
    /// whose name it is.
    matching: fn(&str) -> Vec<OsString>,
    /// What a run has left.
    read: fn(&OutputPaths) -> Result<Vec<Reading>, Error>,
}

/// A flag with its value.
type Flag = (&'static str, Option<String>);

static DEFINITIONS: [&Definition; 7] = [
    &PLAIN,
    &json::JSON,
    &criterion::CRITERION,
    &divan::DIVAN,
    &gungraun::GUNGRAUN,
    &bencher::BENCHER,
    &libtest::LIBTEST,
];

/// The process itself is the measurement.
static PLAIN: Definition = Definition {
    dialect: Dialect::Plain,
    marks: &[],
    words: &[],
    exact: None,
    set_up: |_, _, _| Vec::new(),
    timed: |_, _| Vec::new(),
    only: |_| Vec::new(),
    matching: |_| Vec::new(),
    read: |_| Ok(vec![Reading::of_program(Values::new())]),
};

impl Dialect {
    fn definition(self) -> &'static Definition {
        DEFINITIONS.iter().find(|one| one.dialect == self).copied().unwrap_or(&PLAIN)
    }

    /// Whether it takes names of benchmarks as arguments.
    pub(crate) fn filters(self) -> bool {
        self.definition().exact.is_some()
    }

    /// The libraries that its executables have it from.
    pub(crate) fn libraries(self) -> &'static [&'static str] {
        match self {
            Dialect::Criterion => &["criterion", "codspeed-criterion-compat"],
            Dialect::Divan => &["divan", "codspeed-divan-compat"],
            Dialect::Gungraun => &["gungraun", "iai-callgrind"],
            Dialect::Bencher => &["bencher", "codspeed-bencher-compat"],
            // Rust's own comes with the compiler.
            Dialect::Plain | Dialect::Json | Dialect::Libtest => &[],
        }
    }

    /// The least difference between two values of `wall_time` that are printed, seconds,
    /// where that may be a part of them worth speaking of.
    pub(crate) fn step(self) -> Option<f64> {
        (self == Dialect::Bencher).then_some(1e-9)
    }

    /// The harness of an executable, by the words that the library leaves in it; plain
    /// if none is recognised. They survive stripping, and nothing has to be run.
    fn detect(executable: &[u8]) -> Self {
        let mut marked = DEFINITIONS.iter().filter(|definition| !definition.marks.is_empty());
        let found = marked.find(|definition| shows(executable, definition.marks));
        found.map_or(Dialect::Plain, |definition| definition.dialect)
    }
}

/// Whether an executable holds all of these words, which have bars in them.
fn shows(executable: &[u8], marks: &[&str]) -> bool {
    marks.iter().all(|mark| has(executable, &mark.replace('|', "")))
}

/// Whether an executable holds a word.
fn has(executable: &[u8], word: &str) -> bool {
    memmem::find(executable, word.as_bytes()).is_some()
}

/// Where a run leaves what it reports. The same for both sides, so that no
/// path differs between them.
#[derive(Clone, Debug)]
pub struct OutputPaths {
    /// Takes its standard output.
    pub stdout: PathBuf,
    /// The file (json) or folder (criterion) for what else it writes.
    pub output: PathBuf,
}

/// A dialect, as an executable speaks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Harness {
    pub(crate) dialect: Dialect,
    /// Which of the dialect's words it knows.
    known: Vec<&'static str>,
}

impl Harness {
    /// The harness of this dialect with the flags that an executable knows; without an
    /// executable, as behind a script, no flag is known.
    pub fn new(dialect: Dialect, executable: Option<&[u8]>) -> Self {
        let holds = |word: &&&'static str| executable.is_some_and(|bytes| has(bytes, word));
        let known = dialect.definition().words.iter().filter(holds).copied().collect();
        Harness { dialect, known }
    }

    /// The harness that an executable shows.
    pub(crate) fn detect(executable: &[u8]) -> Self {
        Harness::new(Dialect::detect(executable), Some(executable))
    }

    /// The flags that both sides know, if they have one harness: the two are called
    /// alike.
    #[must_use]
    pub(crate) fn agreed(self, other: &Harness) -> Self {
        if self.dialect != other.dialect {
            return self;
        }
        let known = self.known.into_iter().filter(|word| other.known.contains(word)).collect();
        Harness { known, ..self }
    }

    fn knows(&self, word: &str) -> bool {
        self.known.contains(&word)
    }

    /// Makes a command one of this harness: equal settings, and a place for its output.
    /// Flags that are in the command stay as they are.
    pub(crate) fn set_up(&self, command: &mut Command, paths: &OutputPaths) {
        if self.dialect != Dialect::Plain {
            command.stdout = Sink::File(paths.stdout.clone());
        }
        let flags = (self.dialect.definition().set_up)(self, command, paths);
        command.argv.extend(words(flags, &command.argv));
    }

    /// The words with which a run measures each benchmark for so long, beside the words
    /// that are `given`; none if the harness can't be told, or was told.
    pub(crate) fn timed(&self, length: RunLength, given: &[OsString]) -> Vec<OsString> {
        words((self.dialect.definition().timed)(self, length), given)
    }

    /// Whether a run can be limited to some benchmarks.
    pub(crate) fn can_leave(&self) -> bool {
        self.dialect.definition().exact.is_some_and(|word| self.knows(word))
    }

    /// The arguments with which only these benchmarks run.
    pub(crate) fn only(&self, names: &[&str]) -> Vec<OsString> {
        (self.dialect.definition().only)(names)
    }

    /// The arguments with which the benchmarks run that match a filter of the user's: in
    /// the harness's own way, or because it is their name.
    pub(crate) fn matching(&self, filter: &str) -> Vec<OsString> {
        (self.dialect.definition().matching)(filter)
    }

    /// The arguments with which only these benchmarks run: a name, and for one that
    /// changes with every run what is known before and behind. None if the harness takes
    /// no such thing.
    pub(crate) fn only_like(
        &self,
        names: &[&str],
        around: &[Option<(&str, &str)>],
    ) -> Option<Vec<OsString>> {
        match self.dialect {
            Dialect::Criterion | Dialect::Divan => Some(vec![pattern::like(names, around).into()]),
            Dialect::Plain
            | Dialect::Json
            | Dialect::Gungraun
            | Dialect::Bencher
            | Dialect::Libtest => None,
        }
    }

    /// The arguments with which each benchmark is executed once, whatever its code asks for.
    /// None if the harness has none.
    pub(crate) fn once(&self) -> Option<Vec<OsString>> {
        match self.dialect {
            Dialect::Criterion | Dialect::Divan => Some(vec!["--test".into()]),
            Dialect::Plain | Dialect::Json => Some(Vec::new()),
            Dialect::Gungraun | Dialect::Bencher | Dialect::Libtest => None,
        }
    }

    /// The flag with which it lists the names of its benchmarks, a line each.
    pub(crate) fn list(&self) -> Option<&'static str> {
        matches!(self.dialect, Dialect::Criterion | Dialect::Libtest).then_some("--list")
    }

    /// The names that a run with that flag has listed.
    ///
    /// # Errors
    /// When they can't be read.
    pub(crate) fn listed(&self, paths: &OutputPaths) -> Result<Vec<String>, Error> {
        let text = text(&paths.stdout)?;
        let name = |line: &str| {
            line.strip_suffix(": benchmark").or(line.strip_suffix(": bench")).map(str::to_owned)
        };
        Ok(text.lines().filter_map(name).collect())
    }

    /// Removes what an earlier run left.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn clear(&self, paths: &OutputPaths) -> Result<(), Error> {
        if self.dialect == Dialect::Plain {
            return Ok(());
        }
        let output = match paths.output.is_dir() {
            true => remove_by(&paths.output, |path| std::fs::remove_dir_all(path)),
            false => remove_by(&paths.output, |path| std::fs::remove_file(path)),
        };
        let removed = output.and(remove_by(&paths.stdout, |path| std::fs::remove_file(path)));
        removed.map_err(|source| Error::File { path: paths.output.clone(), source })
    }

    /// Reads what a run left.
    ///
    /// # Errors
    /// When it can't be understood, or a name or a value is not one.
    pub fn read(&self, paths: &OutputPaths) -> Result<Vec<Reading>, Error> {
        let readings = (self.dialect.definition().read)(paths)?;
        let mut names = BTreeSet::new();
        for name in readings.iter().filter_map(|reading| reading.benchmark.as_deref()) {
            named("benchmark", name)?;
            if !names.insert(name) {
                return Err(Error::Twice(format!("the benchmark `{name}`")));
            }
        }
        few(names.len(), MOST_BENCHMARKS, "benchmarks")?;
        Ok(readings)
    }
}

/// The words of flags that are not among the words that are `given`.
fn words(flags: Vec<Flag>, given: &[OsString]) -> Vec<OsString> {
    let given: Vec<_> = given.iter().map(|word| word.to_string_lossy()).collect();
    let mut words = Vec::new();
    for (flag, value) in flags {
        let with_value = format!("{flag}=");
        if !given.iter().any(|word| word == flag || word.starts_with(&with_value)) {
            words.push(flag.into());
            words.extend(value.map(OsString::from));
        }
    }
    words
}

/// A time in the form of a flag's value: seconds, without an exponent.
fn seconds_of(time: Duration) -> Option<String> {
    Some(time.as_secs_f64().to_string())
}

/// Words of tango's executables, with a bar in each. It measures two executables in one
/// process, alternating between them; what cargo runs only lists the benchmarks, and when
/// one executable is measured by itself, the times have one decimal.
const TANGO: [&str; 2] =
    ["Tango bench|marking harness", "Number of samples to |take for each test"];

/// A harness that an executable shows and that can't be used here, by name.
pub(crate) fn unusable(executable: &[u8]) -> Option<&'static str> {
    shows(executable, &TANGO).then_some("tango")
}

/// The libraries of all harnesses.
pub(crate) fn libraries() -> Vec<&'static str> {
    Dialect::ALL.into_iter().flat_map(Dialect::libraries).copied().collect()
}

/// What to do about the end of a run that a harness tells of, in what the run printed to
/// standard error.
pub(crate) fn advice(stderr: &str) -> Option<String> {
    gungraun::advice(stderr)
}

/// What a run reports of a benchmark.
fn reading(benchmark: impl Into<String>, values: Values) -> Reading {
    Reading { benchmark: Some(benchmark.into()), values }
}

/// The text of a file; empty if there is no file.
fn text(path: &Path) -> Result<String, Error> {
    match bytes(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(Error::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(String::new())
        }
        Err(error) => Err(error),
    }
}

/// What a file holds that a run has left. It has to be a plain one, of bounded size.
fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    let about = std::fs::metadata(path).map_err(failed)?;
    // Opening a pipe would wait for its other end.
    if !about.is_file() {
        return Err(failed(std::io::Error::other("it is not a regular file")));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Error::TooMuch(format!("{} MiB", LARGEST >> 20)));
    }
    Ok(bytes)
}

/// Checks that a name may stand in tables and rows.
fn named(what: &'static str, name: &str) -> Result<(), Error> {
    match unfit(name) {
        Some(why) => Err(Error::Name { what, name: name.to_owned(), why }),
        None => Ok(()),
    }
}

/// Checks that there are at most so many.
fn few(count: usize, most: usize, what: &str) -> Result<(), Error> {
    match count > most {
        true => Err(Error::TooMuch(format!("{most} {what}"))),
        false => Ok(()),
    }
}

/// Adds a metric's value.
fn set(values: &mut Values, metric: &str, value: f64) -> Result<(), Error> {
    named("metric", metric)?;
    if !value.is_finite() {
        return Err(Error::NoNumber { metric: metric.to_owned(), what: value.to_string() });
    }
    if !values.set(metric, value) {
        return Err(Error::Twice(format!("the metric `{metric}`")));
    }
    Ok(())
}

/// A number of times such as `1.2345 µs`, in seconds; `None` when the unit is
/// none of time.
fn seconds(number: &str, unit: &str) -> Option<f64> {
    let scale = match unit {
        "ps" => 1e-12,
        "ns" => 1e-9,
        "µs" | "μs" | "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    number.replace(',', "").parse::<f64>().ok().map(|number| number * scale)
}

#[cfg(test)]
mod tests;
