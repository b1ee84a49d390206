//! Instructions and estimated cycles by valgrind's cachegrind, which runs the
//! program on a simulated processor: 20 to 100 times slower, but with the same
//! counts on every machine, virtual ones included.
//!
//! Such a run has no other metrics, since the time of a program under valgrind
//! is meaningless. Programs that the program starts are counted, too, as in all
//! other metrics. (A child that forks and never executes another program starts
//! from its parent's counts.)

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::refusal::{Refusal, no_count};
use super::source;
use crate::error::Failure;
use crate::exec::process::{Command, Sink};
use crate::exec::system::replace;
use crate::model::{KnownMetric, Metric, MetricSource, Values};

pub(super) const INSTRUCTIONS: &str = "instructions_cachegrind";
pub(super) const CYCLES: &str = "estimated_cycles_cachegrind";

/// The simulated caches: 32 KiB each for code and data, and 8 MiB behind them.
/// They do not depend on this machine, so that machines can be compared.
const CACHES: [&str; 3] = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"];

/// Valgrind's environment variables that would change what it counts.
const VARIABLES: [&str; 2] = ["VALGRIND_OPTS", "VALGRIND_LIB"];

/// The prefix of the names of the files that it writes, followed by the process id.
const FILE: &str = "valgrind.";

/// Valgrind, and the metrics to be read from it.
#[derive(Clone, Debug)]
pub(super) struct Cachegrind {
    valgrind: PathBuf,
    metrics: Vec<&'static KnownMetric>,
}

impl Cachegrind {
    /// `None` if none of these metrics comes from cachegrind.
    ///
    /// # Errors
    /// If there is no valgrind in `path`.
    pub(super) fn for_metrics(
        names: &[String],
        path: Option<&OsStr>,
    ) -> Result<Option<Self>, Vec<Refusal>> {
        let metrics = source::asked(names, MetricSource::Cachegrind);
        if metrics.is_empty() {
            return Ok(None);
        }
        match find(path) {
            Some(valgrind) => Ok(Some(Cachegrind { valgrind, metrics })),
            None => Err(metrics.iter().map(|metric| missing(metric.name)).collect()),
        }
    }

    pub(super) fn metrics(&self) -> impl Iterator<Item = Metric> {
        self.metrics.iter().map(|known| known.metric())
    }

    /// The command that runs `command` under valgrind, which writes to `folder`.
    pub(super) fn wrap(&self, command: &Command, folder: &Path) -> Command {
        let simulates = self.metrics.iter().any(|known| known.name == CYCLES);
        let cache_sim = if simulates { "--cache-sim=yes" } else { "--cache-sim=no" };
        let options = ["--tool=cachegrind", "--branch-sim=no", cache_sim];
        let caches = CACHES.iter().copied().filter(|_| simulates);
        let options: Vec<&str> = options.into_iter().chain(caches).collect();
        wrap(&self.valgrind, &options, "--cachegrind-out-file=", command, folder)
    }

    /// Reads the values from the files of a run in `folder`, and removes them.
    pub(super) fn read(&self, folder: &Path) -> Result<Values, Failure> {
        let files = take(folder)?;
        let counts = files.iter().filter_map(|file| Counts::parse(file));
        let total = counts.reduce(Counts::plus).ok_or_else(no_count)?;
        let value = |name: &str| if name == CYCLES { total.cycles() } else { total.instructions };
        Ok(self.metrics.iter().map(|known| (known.name, value(known.name) as f64)).collect())
    }
}

/// Reads valgrind's files in `folder` and removes them. They name the program and its arguments,
/// which need not be Unicode.
pub(super) fn take(folder: &Path) -> Result<Vec<String>, Failure> {
    let files = source::take(folder, FILE)?.into_iter();
    Ok(files.map(|file| String::from_utf8_lossy(&file).into_owned()).collect())
}

/// The command that runs `command` under a tool of valgrind, with its `options`. The tool
/// writes a file for each process to `folder`; `out` is its option for that.
pub(super) fn wrap(
    valgrind: &Path,
    options: &[&str],
    out: &str,
    command: &Command,
    folder: &Path,
) -> Command {
    let usual = ["--quiet", "--trace-children=yes", "--vgdb=no", "--demangle=no"];
    // A percent sign is special for valgrind.
    let folder = replace(folder.as_os_str(), b'%', "%%");
    let mut out = OsString::from(out);
    out.push(Path::new(&folder).join(format!("{FILE}%p")));
    let mut argv = vec![valgrind.as_os_str().to_owned()];
    argv.extend(options.iter().copied().chain(usual).map(OsString::from));
    argv.push(out);
    argv.extend(command.argv.iter().cloned());
    let mut command = Command { argv, stdout: Sink::Null, counters: Vec::new(), ..command.clone() };
    command.env.retain(|(name, _)| !VARIABLES.iter().any(|variable| name == variable));
    command
}

pub(super) fn find(path: Option<&OsStr>) -> Option<PathBuf> {
    source::in_path("valgrind", path)
}

pub(super) fn missing(metric: &'static str) -> Refusal {
    let hint = "install it, for example with `apt-get install valgrind`";
    Refusal::new(metric, "`valgrind` is not on the PATH", Some(hint))
}

/// The events of one file, for the whole program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Instructions read, `Ir`.
    instructions: u64,
    /// Data read and written, `Dr` and `Dw`.
    data: u64,
    /// Misses in the first-level caches, `I1mr`, `D1mr` and `D1mw`.
    first: u64,
    /// Misses in the last level, `ILmr`, `DLmr` and `DLmw`.
    last: u64,
}

impl Counts {
    /// Reads the lines `events:` and `summary:`.
    fn parse(text: &str) -> Option<Self> {
        let line = |key: &str| text.lines().rev().find_map(|line| line.strip_prefix(key));
        let mut counts = Counts::default();
        let mut values = line("summary:")?.split_whitespace();
        for event in line("events:")?.split_whitespace() {
            let value: u64 = values.next()?.parse().ok()?;
            match event {
                "Ir" => counts.instructions += value,
                "Dr" | "Dw" => counts.data += value,
                "I1mr" | "D1mr" | "D1mw" => counts.first += value,
                "ILmr" | "DLmr" | "DLmw" => counts.last += value,
                _ => {}
            }
        }
        Some(counts)
    }

    fn plus(self, other: Counts) -> Counts {
        Counts {
            instructions: self.instructions + other.instructions,
            data: self.data + other.data,
            first: self.first + other.first,
            last: self.last + other.last,
        }
    }

    /// Hits in the first-level caches, plus 5 times the hits in the last level, plus
    /// 35 times the accesses to memory: a rough model, but always the same
    /// (Turner-Trauring 2020, *CI for performance: reliable benchmarking in noisy
    /// environments*; the crates iai and gungraun use the same factors).
    fn cycles(self) -> u64 {
        let memory = self.last;
        let last = self.first.saturating_sub(self.last);
        let first = (self.instructions + self.data).saturating_sub(self.first);
        first + 5 * last + 35 * memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITH_CACHES: &str = "desc: I1 cache: x\ncmd: /bin/true\n\
        events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw\nfn=main\n1 10 0 0 0 0 0 0 0 0\n\
        summary: 1000 10 4 300 20 5 200 30 6\n";

    fn both() -> Cachegrind {
        let metrics = KnownMetric::from(MetricSource::Cachegrind).collect();
        Cachegrind { valgrind: "/usr/bin/valgrind".into(), metrics }
    }

    #[test]
    fn the_summary_is_read_and_weighed() {
        let counts = Counts::parse(WITH_CACHES).unwrap();
        assert_eq!(counts, Counts { instructions: 1000, data: 500, first: 60, last: 15 });
        // 1500 accesses, 1440 of which hit at once, 45 later, 15 never.
        assert_eq!(counts.cycles(), 1440 + 5 * 45 + 35 * 15);
        let plain = Counts::parse("events: Ir\nsummary: 77\n").unwrap();
        assert_eq!(plain, Counts { instructions: 77, ..Counts::default() });
        for bad in ["", "events: Ir\n", "events: Ir Dr\nsummary: 5\n", "events: Ir\nsummary: x\n"] {
            assert_eq!(Counts::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_files_of_all_processes_are_added_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        write("valgrind.10", WITH_CACHES);
        write("valgrind.11", WITH_CACHES);
        // Of a process that was killed.
        write("valgrind.12", "events: Ir\n");
        let odd = [b"cmd: x \xff\n", "events: Ir\nsummary: 5\n".as_bytes()].concat();
        std::fs::write(folder.path().join("valgrind.13"), odd).unwrap();
        write("said", "kept");
        let values = both().read(folder.path()).unwrap();
        assert_eq!(values.get(INSTRUCTIONS), Some(2005.0));
        assert_eq!(values.get(CYCLES), Some(2.0 * 2190.0 + 5.0));
        assert!(folder.path().join("said").exists());
        assert_eq!(both().read(folder.path()).unwrap_err().to_string(), "the run left no count");
    }

    #[test]
    fn a_command_is_wrapped_and_caches_cost_only_who_asks_for_them() {
        let mut command = Command { argv: vec!["x".into(), "-a".into()], ..Command::default() };
        command.set_var("VALGRIND_OPTS", "--tool=memcheck");
        command.set_var("PATH", "/bin");
        let words = |cachegrind: Cachegrind| {
            let wrapped = cachegrind.wrap(&command, Path::new("/tmp/5%"));
            assert_eq!(wrapped.env, [("PATH".into(), "/bin".into())]);
            wrapped.shown()
        };
        let counted = words(Cachegrind { metrics: both().metrics[..1].to_vec(), ..both() });
        assert_eq!(counted.split_whitespace().next(), Some("/usr/bin/valgrind"));
        assert!(counted.contains("--tool=cachegrind"), "{counted}");
        assert!(counted.ends_with("--cachegrind-out-file=/tmp/5%%/valgrind.%p' x -a"), "{counted}");
        assert!(counted.contains("--cache-sim=no") && !counted.contains("--LL"), "{counted}");
        let simulated = words(both());
        assert!(simulated.contains("--cache-sim=yes") && simulated.contains("--LL"), "{simulated}");
    }

    #[test]
    fn without_valgrind_every_metric_of_it_is_refused() {
        let empty = tempfile::tempdir().unwrap();
        // A file that can't be executed is none.
        std::fs::write(empty.path().join("valgrind"), "").unwrap();
        let names = [INSTRUCTIONS.to_owned(), "wall_time".to_owned()];
        let refused = Cachegrind::for_metrics(&names, Some(empty.path().as_os_str())).unwrap_err();
        assert_eq!(refused.len(), 1);
        assert_eq!(refused[0].metric, INSTRUCTIONS);
        assert!(refused[0].why.contains("valgrind"));
        let unasked = Cachegrind::for_metrics(&names[1..], None);
        assert!(unasked.unwrap().is_none());
    }
}
