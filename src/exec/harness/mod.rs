//! How a benchmark executable is called, and how the output of a run is parsed.
//!
//! One run of a process is one sample of each benchmark that it reports: the
//! iterations inside it share the process, its memory layout and the moment, so
//! they are not independent samples.

mod bencher;
mod criterion;
mod definition;
mod divan;
mod gungraun;
mod json;
mod libtest;
mod pattern;
mod report;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use memchr::memmem;

pub use definition::{Harness, OutputPaths};
pub(crate) use gungraun::advice;
pub use report::Error;

use definition::{Definition, Flag, NO_HARNESS};
use report::{check_at_most, named, text};

use crate::error::FileError;
use crate::exec::process::{Command, Sink};
use crate::exec::system::remove;
use crate::model::{DEFAULT_METRIC, Dialect, Reading, RunLength, Values};

/// The argument that lists the benchmarks instead of running them.
pub(crate) const LIST: &str = "--list";

/// The argument that makes such a list one of what is not run by default, where
/// [`Harness::lists_ignored`].
pub(crate) const IGNORED: &str = "--ignored";

/// The maximum number of benchmarks in a run.
const MOST_BENCHMARKS: usize = 10_000;

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
static PLAIN: Definition = NO_HARNESS;

impl Dialect {
    fn definition(self) -> &'static Definition {
        DEFINITIONS.iter().find(|one| one.dialect == self).copied().unwrap_or(&PLAIN)
    }

    /// Whether it accepts names of benchmarks as arguments.
    pub(crate) fn filters(self) -> bool {
        self.definition().exact.is_some()
    }

    /// The libraries that provide it.
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

    /// The resolution of the printed `wall_time`, seconds, if it is coarse enough to
    /// matter.
    pub(crate) fn step(self) -> Option<f64> {
        (self == Dialect::Bencher).then_some(1e-9)
    }

    /// The harness of an executable, recognised by strings that the library leaves in
    /// it; plain if there are none. Strings survive stripping, and nothing has to be
    /// run.
    fn detect(executable: &[u8]) -> Self {
        let mut marked = DEFINITIONS.iter().filter(|definition| !definition.marks.is_empty());
        let found = marked.find(|definition| shows(executable, definition.marks));
        found.map_or(Dialect::Plain, |definition| definition.dialect)
    }
}

/// Whether an executable contains all of these strings, without their bars.
pub(crate) fn shows(executable: &[u8], marks: &[&str]) -> bool {
    marks.iter().all(|mark| has(executable, &mark.replace('|', "")))
}

/// Whether an executable contains a string.
fn has(executable: &[u8], word: &str) -> bool {
    memmem::find(executable, word.as_bytes()).is_some()
}

impl Harness {
    /// The harness of this dialect with the flags that an executable supports. Without
    /// an executable, as for a script, none is assumed.
    pub fn new(dialect: Dialect, executable: Option<&[u8]>) -> Self {
        let holds = |word: &&&'static str| executable.is_some_and(|bytes| has(bytes, word));
        let known = dialect.definition().words.iter().filter(holds).copied().collect();
        Harness { dialect, known, has_percentiles: false }
    }

    /// The same, for runs of which these metrics are asked for.
    #[must_use]
    pub(crate) fn for_metrics<'m>(self, mut asked: impl Iterator<Item = &'m String>) -> Self {
        Harness { has_percentiles: asked.any(|metric| metric == criterion::P99), ..self }
    }

    /// Recognises the harness of an executable.
    pub(crate) fn detect(executable: &[u8]) -> Self {
        Harness::new(Dialect::detect(executable), Some(executable))
    }

    /// The flags that both sides support if they have the same harness, so that
    /// both are called in the same way.
    #[must_use]
    pub(crate) fn agreed(self, other: &Harness) -> Self {
        if self.dialect != other.dialect {
            return self;
        }
        let known = self.known.into_iter().filter(|word| other.known.contains(word)).collect();
        Harness { known, ..self }
    }

    /// Prepares a command for this harness: the same settings on both sides, and a
    /// place for its output. Flags that the command already has are kept.
    pub(crate) fn set_up(&self, command: &mut Command, paths: &OutputPaths) {
        if self.dialect != Dialect::Plain {
            command.stdout = Sink::File(paths.stdout.clone());
        }
        let flags = (self.dialect.definition().set_up)(self, command, paths);
        command.argv.extend(words(flags, &command.argv));
    }

    /// Prepares a command to count allocations, if the harness does that only on demand.
    pub(crate) fn count_allocations(&self, command: &mut Command) {
        if self.dialect == Dialect::Gungraun {
            gungraun::count_allocations(command);
        }
    }

    /// The arguments that set how long a run measures each benchmark, in addition to
    /// those `given`; none if the harness has no such flags, or they are given. `iteration` is that
    /// of the only benchmark, if it is known.
    pub(crate) fn timed(
        &self,
        length: RunLength,
        iteration: Option<f64>,
        given: &[OsString],
    ) -> Vec<OsString> {
        words((self.dialect.definition().timed)(self, length, iteration), given)
    }

    /// The time of an iteration of a benchmark of which both sides reported this, seconds, if that
    /// determines how it is sampled, and the environment does not.
    pub(crate) fn iteration(&self, command: &Command, readings: [&Reading; 2]) -> Option<f64> {
        let is_set = command.var(divan::SAMPLE_SIZE_VARIABLE).is_some();
        let is_chosen = self.dialect == Dialect::Divan && !is_set;
        is_chosen.then(|| divan::iteration(self, readings))?
    }

    /// The first version of a library with which runs can be much shorter, if its own repeats each
    /// benchmark for seconds.
    pub(crate) fn version_with_short_runs(&self) -> Option<&'static str> {
        let takes_seconds = match self.dialect {
            Dialect::Criterion => criterion::takes_seconds(self),
            Dialect::Bencher | Dialect::Libtest => true,
            Dialect::Divan | Dialect::Gungraun | Dialect::Json | Dialect::Plain => false,
        };
        (takes_seconds && self.can_select_benchmarks()).then_some("criterion 0.4")
    }

    /// Whether a run can be limited to some benchmarks.
    pub(crate) fn can_select_benchmarks(&self) -> bool {
        self.dialect.definition().exact.is_some_and(|word| self.knows(word))
    }

    /// The arguments with which only these benchmarks run.
    pub(crate) fn only(&self, names: &[&str]) -> Vec<OsString> {
        (self.dialect.definition().only)(names)
    }

    /// The arguments that run the benchmarks that match the user's filter: as the
    /// harness matches, or because it is their name.
    pub(crate) fn matching(&self, filter: &str) -> Vec<OsString> {
        (self.dialect.definition().matching)(filter)
    }

    /// The arguments that execute each benchmark once, regardless of its own settings.
    /// `None` if the harness can't do that.
    pub(crate) fn once(&self) -> Option<Vec<OsString>> {
        match self.dialect {
            Dialect::Criterion | Dialect::Divan => Some(vec!["--test".into()]),
            Dialect::Plain | Dialect::Json => Some(Vec::new()),
            Dialect::Libtest if self.knows(libtest::BENCH_HELP) => {
                Some(vec!["--test-threads=1".into()])
            }
            Dialect::Gungraun | Dialect::Bencher | Dialect::Libtest => None,
        }
    }

    /// The word of a command without which it executes each benchmark once.
    pub(crate) fn repeating(&self) -> Option<&'static str> {
        (self.dialect == Dialect::Libtest && self.once().is_some()).then_some("--bench")
    }

    /// Whether it lists its benchmarks, all of which measure the same.
    pub(crate) fn can_list(&self) -> bool {
        let lists = matches!(self.dialect, Dialect::Criterion | Dialect::Libtest);
        lists && self.can_select_benchmarks()
    }

    /// All that the benchmarks of its list measure, with a time of 0, if that is known without a run.
    pub(crate) fn listed_time(&self) -> Option<Values> {
        let time = || [(DEFAULT_METRIC, 0.0)].into_iter().collect();
        (self.dialect == Dialect::Libtest).then(time)
    }

    /// Whether its list also contains what it does not run.
    pub(crate) fn lists_ignored(&self) -> bool {
        self.dialect == Dialect::Libtest
    }

    /// The names in the output of a run with [`LIST`]; `None` if not all of them are known.
    ///
    /// # Errors
    /// If it can't be read.
    pub(crate) fn listed(&self, paths: &OutputPaths) -> Result<Option<Vec<String>>, Error> {
        Ok(criterion::listed(&text(&paths.stdout)?))
    }

    /// Whether a run that executes a benchmark once reads the clock just before and after it, as
    /// it does to time it.
    pub(crate) fn times_what_runs_once(&self) -> bool {
        self.dialect == Dialect::Criterion && self.can_select_benchmarks()
    }

    /// Removes the output of an earlier run.
    ///
    /// # Errors
    /// If a file can't be removed.
    pub(crate) fn clear(&self, paths: &OutputPaths) -> Result<(), Error> {
        if self.dialect == Dialect::Plain {
            return Ok(());
        }
        for path in [&paths.output, &paths.stdout] {
            remove(path).map_err(FileError::new("remove", path))?;
        }
        Ok(())
    }

    /// Parses the output of a run.
    ///
    /// # Errors
    /// If it can't be parsed, or a name or a value is invalid.
    pub fn read(&self, paths: &OutputPaths) -> Result<Vec<Reading>, Error> {
        let readings = (self.dialect.definition().read)(paths)?;
        let mut names = BTreeSet::new();
        for name in readings.iter().filter_map(|reading| reading.benchmark.as_deref()) {
            named("benchmark", name)?;
            if !names.insert(name) {
                return Err(Error::Unreadable(format!("the benchmark `{name}` appears twice")));
            }
        }
        check_at_most(names.len(), MOST_BENCHMARKS, "benchmarks")?;
        Ok(readings)
    }
}

/// The flags as arguments, except those already `given`.
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

/// Whether an executable contains the name of one of these files, so that it may open it; also if
/// it can't be read.
pub(crate) fn names_any(executable: &Path, files: &[String]) -> bool {
    let Ok(bytes) = std::fs::read(executable) else { return true };
    let names = files.iter().filter_map(|file| Path::new(file).file_name()?.to_str());
    names.collect::<BTreeSet<_>>().into_iter().any(|name| has(&bytes, name))
}

/// Harnesses that can't be used, and strings in their executables, with a bar in each. Tango
/// measures two executables in one process, alternating between them; `cargo bench` only lists
/// the benchmarks, and a single executable prints times with one decimal. Binggan and zenbench
/// repeat their work for a time of their own, and print for people.
const UNUSABLE: [(&str, &[&str]); 3] = [
    ("tango", &["Tango bench|marking harness", "Number of samples to |take for each test"]),
    ("binggan", &["BINGGAN|_HOME", "BINGGAN|_VERBOSE"]),
    ("zenbench", &["ZENBENCH|_SUBPROCESS", "ZENBENCH|_RESULT"]),
];

/// The name of a harness that was recognised but can't be used here.
pub(crate) fn unusable(executable: &[u8]) -> Option<&'static str> {
    let found = UNUSABLE.iter().find(|(_, marks)| shows(executable, marks));
    found.map(|(name, _)| *name)
}

/// The libraries of all harnesses.
pub(crate) fn libraries() -> Vec<&'static str> {
    Dialect::ALL.into_iter().flat_map(Dialect::libraries).copied().collect()
}

#[cfg(test)]
mod tests;
