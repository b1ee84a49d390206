//! How a benchmark executable is called, and how the output of one run is
//! read.
//!
//! One run of a process is one sample of each benchmark that it reports: the
//! iterations inside share their process, its memory's layout and its moment,
//! so they are not independent of each other.

mod criterion;
mod divan;
mod json;
mod libtest;
mod marks;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::exec::process::{Command, Sink};
use crate::model::dialect::Dialect;
use crate::model::metric::unfit;
use crate::model::row::{Reading, Values};

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
    #[error("{0} is there twice")]
    Twice(String),
    /// A benchmark or a metric with a name that is none.
    #[error("the name `{}` of a {what} is none: {why}", .name.chars().take(100).collect::<String>())]
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
        /// What the system said.
        source: std::io::Error,
    },
}

impl Dialect {
    /// What its executables hold, of which some only in some versions.
    fn words(self) -> &'static [&'static str] {
        match self {
            Dialect::Plain | Dialect::Json => &[],
            Dialect::Criterion => &criterion::WORDS,
            Dialect::Divan => &divan::WORDS,
            Dialect::Libtest => &libtest::WORDS,
        }
    }
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
    /// The dialect.
    pub dialect: Dialect,
    /// Which of the dialect's words it knows.
    known: Vec<&'static str>,
}

impl Harness {
    /// The dialect in which an executable is to be spoken with; without the
    /// executable, as behind a script, no flag is known.
    pub fn new(dialect: Dialect, executable: Option<&[u8]>) -> Self {
        let holds = |word: &&&'static str| executable.is_some_and(|bytes| marks::has(bytes, word));
        Harness { dialect, known: dialect.words().iter().filter(holds).copied().collect() }
    }

    /// That of an executable, by the marks that the libraries leave in it;
    /// plain where there are none.
    pub(crate) fn detect(executable: &[u8]) -> Self {
        Harness::new(marks::dialect(executable), Some(executable))
    }

    /// What both know, where they are of one dialect: the two sides are to be
    /// called alike.
    #[must_use]
    pub fn agreed(self, other: &Harness) -> Self {
        if self.dialect != other.dialect {
            return self;
        }
        let known = self.known.into_iter().filter(|word| other.known.contains(word)).collect();
        Harness { known, ..self }
    }

    fn knows(&self, word: &str) -> bool {
        self.known.contains(&word)
    }

    /// Makes a command one of this harness: short runs of equal settings, and
    /// a place for its output. Flags that are in the command stay as they are.
    pub fn set_up(&self, command: &mut Command, place: &OutputPaths) {
        if self.dialect != Dialect::Plain {
            command.stdout = Sink::File(place.stdout.clone());
        }
        let flags = match self.dialect {
            Dialect::Plain => Vec::new(),
            Dialect::Json => {
                command.set_var(json::VARIABLE, place.output.clone());
                Vec::new()
            }
            Dialect::Criterion => {
                command.set_var(criterion::HOME, place.output.clone());
                command.env.retain(|(name, _)| name != criterion::PORT);
                criterion::flags(self)
            }
            Dialect::Divan => divan::flags(self),
            Dialect::Libtest => Vec::new(),
        };
        let given: Vec<String> =
            command.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        for (flag, value) in flags {
            let with_value = format!("{flag}=");
            if !given.iter().any(|word| word == flag || word.starts_with(&with_value)) {
                command.argv.push(flag.into());
                command.argv.extend(value.map(OsString::from));
            }
        }
    }

    /// Whether it can be told exactly which benchmarks to run.
    pub(crate) fn can_leave(&self) -> bool {
        match self.dialect {
            Dialect::Plain | Dialect::Json => false,
            Dialect::Criterion => self.knows(criterion::EXACT),
            Dialect::Divan => self.knows(divan::EXACT),
            Dialect::Libtest => self.knows(libtest::EXACT),
        }
    }

    /// The arguments with which only these benchmarks run.
    pub fn only(&self, names: &[&str]) -> Vec<OsString> {
        match self.dialect {
            Dialect::Plain | Dialect::Json => Vec::new(),
            Dialect::Criterion => criterion::only(names),
            Dialect::Divan => divan::only(names),
            Dialect::Libtest => libtest::only(names),
        }
    }

    /// Empties the place before a run.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn clear(&self, place: &OutputPaths) -> Result<(), Error> {
        let emptied = match self.dialect {
            Dialect::Plain => return Ok(()),
            Dialect::Criterion => remove(&place.output, |path| std::fs::remove_dir_all(path)),
            _ => remove(&place.output, |path| std::fs::remove_file(path)),
        };
        let emptied = emptied.and(remove(&place.stdout, |path| std::fs::remove_file(path)));
        emptied.map_err(|source| Error::File { path: place.output.clone(), source })
    }

    /// Reads what a run left.
    ///
    /// # Errors
    /// When it can't be understood, or a name or a value is none.
    pub fn read(&self, place: &OutputPaths) -> Result<Vec<Reading>, Error> {
        if self.dialect == Dialect::Plain {
            return Ok(vec![Reading::of_program(Values::new())]);
        }
        let printed = text(&place.stdout)?;
        let benchmarks = match self.dialect {
            Dialect::Plain | Dialect::Json => {
                let written = text(&place.output)?;
                let chosen = if written.trim().is_empty() { printed } else { written };
                return json::read(&chosen);
            }
            Dialect::Criterion => criterion::read(&printed, &place.output)?,
            Dialect::Divan => divan::read(&printed)?,
            Dialect::Libtest => libtest::read(&printed)?,
        };
        once(&benchmarks)?;
        let reading = |(name, values)| Reading { benchmark: Some(name), values };
        Ok(benchmarks.into_iter().map(reading).collect())
    }
}

fn remove(path: &Path, how: impl Fn(&Path) -> std::io::Result<()>) -> std::io::Result<()> {
    match how(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A file's text, of which there is none where there is no file.
fn text(path: &Path) -> Result<String, Error> {
    match bytes(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(Error::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(String::new())
        }
        Err(error) => Err(error),
    }
}

/// What a file holds that a run has left: a plain one, of bounded size.
fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    let about = std::fs::metadata(path).map_err(failed)?;
    // Whoever opens a pipe waits for its other end.
    if !about.is_file() {
        return Err(failed(std::io::Error::other("it is no plain file")));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Error::TooMuch(format!("{} MiB", LARGEST >> 20)));
    }
    Ok(bytes)
}

/// That a name may stand in tables and rows.
fn named(what: &'static str, name: &str) -> Result<(), Error> {
    match unfit(name) {
        Some(why) => Err(Error::Name { what, name: name.to_owned(), why }),
        None => Ok(()),
    }
}

/// That no benchmark is there twice, and not too many are.
fn once(benchmarks: &[(String, Values)]) -> Result<(), Error> {
    let mut names = BTreeSet::new();
    for (name, _) in benchmarks {
        named("benchmark", name)?;
        if !names.insert(name) {
            return Err(Error::Twice(format!("the benchmark `{name}`")));
        }
    }
    few(benchmarks.len(), MOST_BENCHMARKS, "benchmarks")
}

/// That there are at most so many.
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
