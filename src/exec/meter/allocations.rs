//! Allocations, counted by a library that is preloaded into the program and stands in front
//! of `malloc`. The program runs at about its usual speed, and has the same counts in every
//! run that does the same work.
//!
//! Of a benchmark that criterion executes once, only that counts which happens while its time
//! is taken: criterion reads the clock twice before and twice after. Of any other program
//! all counts, and that of the programs that it starts.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::refusal::{Refusal, no_count, unread};
use super::source::{self, COUNTS};
use crate::error::{Failure, Help};
use crate::exec::harness::shows;
use crate::exec::process::preload::Library;
use crate::exec::process::{Command, Sink};
use crate::model::{
    ALLOCATED_BYTES, ALLOCATIONS, KnownMetric, Metric, MetricSource, PEAK_HEAP_BYTES, Values,
};

const LIBRARY: Library = Library { name: "allocations", source: include_str!("allocations.rs.in") };

/// The variable with the template of the names of the files, and their prefix.
const VARIABLE: &str = "CBDR_ALLOCATIONS";
const FILE: &str = "allocated.";

/// Allocators that do not use `malloc`, and strings in executables that have them, with a bar
/// in each. C code beside them may use it.
const ALLOCATORS: [(&str, &[&str]); 2] =
    [("jemalloc", &["<jemal|loc>"]), ("mimalloc", &["mimalloc: err|or"])];

/// How executables begin.
const ELF: &[u8; 4] = b"\x7fELF";

/// How often the clock is read for a benchmark that is executed once. If it is read more often, it is
/// not known which of the readings are those around what is timed.
const READINGS: u64 = 4;

/// A harness alone allocates many times this often before it runs a benchmark.
const LEAST_OF_HARNESS: u64 = 100;

/// The compiler of the library, with which all of these metrics are measured.
#[derive(Clone, Debug)]
pub(super) struct Allocations {
    rustc: PathBuf,
    /// Whether only what is timed counts, and not the whole process.
    pub(super) is_timed: bool,
}

impl Allocations {
    /// `None` if none of these metrics is one of allocations.
    ///
    /// # Errors
    /// If they can't be counted here, or there is no compiler in `path`.
    pub(super) fn for_metrics(
        names: &[String],
        path: Option<&OsStr>,
    ) -> Result<Option<Self>, Vec<Refusal>> {
        let asked = source::asked(names, MetricSource::Allocations);
        if asked.is_empty() {
            return Ok(None);
        }
        let rustc = source::in_path("rustc", path);
        let (why, hint) = match rustc {
            Some(rustc) if cfg!(target_os = "linux") => {
                return Ok(Some(Allocations { rustc, is_timed: false }));
            }
            Some(_) => ("allocations are counted on Linux only", None),
            None => {
                ("`rustc`, which compiles the counter, is not on the PATH", Some("install Rust"))
            }
        };
        Err(asked.iter().map(|metric| Refusal::new(metric.name, why, hint)).collect())
    }

    pub(super) fn metrics() -> impl Iterator<Item = Metric> {
        KnownMetric::from(MetricSource::Allocations).map(KnownMetric::metric)
    }

    /// The command that makes the library in `folder`; `None` if it is there already.
    ///
    /// # Errors
    /// If the allocations of this program would not be seen, or the source can't be written.
    pub(super) fn build(
        &self,
        program: &Command,
        folder: &Path,
    ) -> Result<Option<Command>, Failure> {
        let build = LIBRARY.build(&self.rustc, program, folder).map_err(unread(COUNTS, folder))?;
        if build.is_some() {
            check(program)?;
        }
        Ok(build)
    }

    /// The command that runs `command` with the library, which writes to `folder`.
    pub(super) fn wrap(&self, mut command: Command, folder: &Path) -> Command {
        LIBRARY.load(&mut command, folder);
        command.set_var(VARIABLE, folder.join(format!("{FILE}XXXXXX")));
        Command { stdout: Sink::Null, counters: Vec::new(), ..command }
    }

    /// Reads the values from the files of a run of `command` in `folder`, and removes them.
    pub(super) fn read(&self, command: &Command, folder: &Path) -> Result<Values, Failure> {
        let files = take(folder)?;
        if files.is_empty() {
            let why = "the program is linked statically, so it loads no libraries";
            return Err(unseen(why));
        }
        let parsed: Option<Vec<_>> = files.iter().map(|file| CountFile::parse(file)).collect();
        let parsed = parsed.ok_or_else(no_count)?;
        let all = parsed.iter().fold(HeapCounts::default(), |sum, file| sum.plus(file.process));
        if all.calls < if self.is_timed { LEAST_OF_HARNESS } else { 1 } {
            let why = format!(
                "{} were seen in the whole process, so its allocator does not use `malloc`",
                all.calls
            );
            return Err(unseen(&why));
        }
        let timed = parsed.iter().find(|file| file.readings > 0);
        let own = match timed {
            _ if !self.is_timed => all,
            Some(file) if file.readings == READINGS => file.timed,
            Some(file) if file.readings > READINGS => {
                let what = format!(
                    "the allocations of `{}` can't be counted: the benchmark reads the clock itself, \
                     so it is not known what is timed",
                    command.shown()
                );
                let hint = "leave it out with `--filter`, or let divan's `AllocProfiler` count";
                return Err(Failure::with(what, Help::hint(hint)));
            }
            _ => {
                return Err(unseen("the harness was not seen to time its benchmark"));
            }
        };
        let values =
            [(ALLOCATIONS, own.calls), (ALLOCATED_BYTES, own.bytes), (PEAK_HEAP_BYTES, own.peak)];
        Ok(values.into_iter().map(|(name, value)| (name, value as f64)).collect())
    }
}

/// The error for a program that allocates, but not with `malloc`.
fn unseen(why: &str) -> Failure {
    let hint = "measure a program that is linked dynamically and has the default allocator, or \
        divan's benchmarks with its `AllocProfiler` around the allocator";
    Failure::with(format!("the allocations can't be counted: {why}"), Help::hint(hint))
}

/// Checks that a program has no allocator that the library does not see.
fn check(program: &Command) -> Result<(), Failure> {
    let files = program.argv.iter().map(|word| program.cwd.join(word));
    for path in files.filter(|file| is_executable(file)) {
        let read = fs_err::read(&path);
        let bytes = read.map_err(unread("read", &path))?;
        if let Some((allocator, _)) = ALLOCATORS.iter().find(|(_, marks)| shows(&bytes, marks)) {
            let shown = path.display();
            let why = format!("`{shown}` has {allocator}, which does not use `malloc`");
            return Err(unseen(&why));
        }
    }
    Ok(())
}

/// Whether a file is an executable, and not input of one, which may be large.
fn is_executable(file: &Path) -> bool {
    let mut start = [0; ELF.len()];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *ELF
}

/// What the file of a process has.
struct CountFile {
    process: HeapCounts,
    /// How often the clock was read.
    readings: u64,
    /// What was counted between the second reading of the clock and the last but one.
    timed: HeapCounts,
}

impl CountFile {
    fn parse(file: &[u8]) -> Option<Self> {
        let number = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.try_into().ok()?));
        let numbers: Vec<u64> = file.chunks(8).map(number).collect::<Option<_>>()?;
        let &[calls, bytes, _, _, peak, readings, ref marks @ ..] = numbers.as_slice() else {
            return None;
        };
        let [begin, end, _] = marks.as_chunks::<4>().0 else { return None };
        let timed = HeapCounts {
            calls: end[0].saturating_sub(begin[0]),
            bytes: end[1].saturating_sub(begin[1]),
            peak: end[3].saturating_sub(begin[2]),
        };
        Some(CountFile { process: HeapCounts { calls, bytes, peak }, readings, timed })
    }
}

/// Reads the library's files in `folder` and removes them.
pub(super) fn take(folder: &Path) -> Result<Vec<Vec<u8>>, Failure> {
    source::take(folder, FILE)
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct HeapCounts {
    calls: u64,
    bytes: u64,
    /// The most bytes in use at once.
    peak: u64,
}

impl HeapCounts {
    fn plus(self, other: HeapCounts) -> HeapCounts {
        HeapCounts {
            calls: self.calls + other.calls,
            bytes: self.bytes + other.bytes,
            peak: self.peak.max(other.peak),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(is_timed: bool) -> Allocations {
        Allocations { rustc: "/bin/rustc".into(), is_timed }
    }

    /// What the library leaves of a process with so many calls, of which the clock was read before
    /// ten.
    fn file(calls: u64, readings: u64) -> Vec<u8> {
        let now = [calls, 5000, 0, 300];
        let (second, previous) = ([10, 1000, 200, 200], [14, 1700, 250, 290]);
        let numbers = [&now[..], &[900, readings], &second, &previous, &now].concat();
        numbers.into_iter().flat_map(u64::to_ne_bytes).collect()
    }

    fn values(meter: &Allocations, files: &[Vec<u8>]) -> Result<Vec<f64>, String> {
        let folder = tempfile::tempdir().unwrap();
        for (number, file) in files.iter().enumerate() {
            std::fs::write(folder.path().join(format!("{FILE}{number}")), file).unwrap();
        }
        std::fs::write(folder.path().join("allocations.so"), "kept").unwrap();
        let read = meter.read(&Command::default(), folder.path());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let values = read.map_err(|error| error.to_string())?;
        Ok(values.iter().map(|(_, value)| value).collect())
    }

    #[test]
    fn of_a_program_all_counts_and_of_a_benchmark_what_is_timed() {
        let both = [file(500, 4), file(7, 0)];
        assert_eq!(values(&meter(false), &both).unwrap(), [507.0, 10_000.0, 900.0]);
        assert_eq!(values(&meter(true), &both[..1]).unwrap(), [4.0, 700.0, 90.0]);
        assert_eq!(values(&meter(true), &both).unwrap(), [4.0, 700.0, 90.0]);
    }

    #[test]
    fn what_is_not_seen_is_not_zero() {
        let why = |meter, files: &[Vec<u8>]| values(&meter, files).unwrap_err();
        assert!(why(meter(false), &[]).contains("linked statically"));
        assert!(why(meter(false), &[file(0, 0)]).contains("0 were seen"));
        assert!(why(meter(true), &[file(20, 4)]).contains("20 were seen"));
        assert!(why(meter(true), &[file(500, 3)]).contains("was not seen to time"));
        assert!(why(meter(true), &[file(500, 5)]).contains("reads the clock itself"));
        assert!(why(meter(false), &[vec![1, 2, 3]]).contains("no count"));
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        let command = Command { argv: vec![program.clone().into()], ..Command::default() };
        let text = ALLOCATORS[0].1[0].replace('|', "");
        std::fs::write(&program, &text).unwrap();
        assert!(check(&command).is_ok());
        std::fs::write(&program, [&ELF[..], text.as_bytes()].concat()).unwrap();
        let error = meter(false).build(&command, folder.path()).unwrap_err().to_string();
        assert!(error.contains("has jemalloc"), "{error}");
    }

    #[test]
    fn the_library_is_made_once_and_preloaded_before_the_users() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command { argv: vec!["x".into(), "-a".into()], ..Command::default() };
        command.set_var("LD_PRELOAD", "/lib/other.so");
        let build = meter(false).build(&command, folder.path()).unwrap().unwrap();
        assert_eq!(build.argv[0], "/bin/rustc");
        let library = folder.path().join("allocations.so");
        std::fs::write(&library, "").unwrap();
        assert_eq!(meter(false).build(&command, folder.path()).unwrap(), None);
        let wrapped = meter(false).wrap(command.clone(), folder.path());
        assert_eq!(wrapped.argv, command.argv);
        let expected = format!("{}:/lib/other.so", library.display());
        assert_eq!(wrapped.var("LD_PRELOAD"), Some(expected.as_ref()));
    }
}
