//! Samples of perf: in which functions a program spends its time.
//!
//! perf interrupts the program some two thousand times per second of its time on a processor
//! and notes the function that it is in. Only its own code counts, not the kernel's: most
//! systems allow that without privileges.
//!
//! A benchmark repeats the same work. If an interrupt comes after so many repetitions exactly,
//! all samples are of one part of the work. So each run has a frequency of its own: where that
//! matters, runs differ.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::Refusal;
use super::counters::CounterMeter;
use crate::exec::machine::Machine;
use crate::exec::process::{Command, Sink};

/// Interrupts per second, for one run after the other: primes, so that few frequencies of a
/// program's own are in step with several of them.
const FREQUENCIES: [u32; 5] = [1999, 1801, 2203, 1709, 2309];

/// The events that are sampled, the better first, with the metric of the counter that has to
/// be there.
const EVENTS: [(&str, &str); 2] = [("cycles", "cycles:u"), ("task_clock", "task-clock:u")];

/// The files in the folder of a run.
const DATA: &str = "perf.data";
const REPORT: &str = "perf.report";

/// What separates the columns of a report. perf puts a dot where a name has it.
const SEPARATOR: char = '|';

/// The columns of a report: the number of samples, their weight, the function.
const COLUMNS: &str = "sample,period,symbol";

/// How samples are recorded: without a list of the kernel's BPF programs, which takes root a
/// second, and without copies of the executables, which are still there for the report.
const OPTIONS: [&str; 5] =
    ["record", "--quiet", "--no-bpf-event", "--no-buildid", "--no-buildid-cache"];

/// Variables with which perf takes nothing from the user's configuration, and asks no server
/// for debug information.
const VARIABLES: [(&str, &str); 2] = [("PERF_CONFIG", "/dev/null"), ("DEBUGINFOD_URLS", "")];

/// What is run to take samples.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    perf: PathBuf,
    event: &'static str,
}

/// PerfSamples of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PerfSamples {
    pub(crate) count: u64,
    /// Their weights by functions, as linkers know these. The unit is that of the event.
    pub(crate) functions: BTreeMap<String, u64>,
}

impl Sampler {
    /// That of this machine, with what is found in the `PATH` `path`.
    ///
    /// # Errors
    /// When there is no perf, or the system does not let it take samples.
    pub(crate) fn find(path: Option<&OsStr>, machine: &Machine) -> Result<Self, Refusal> {
        let perf = super::in_path("perf", path).ok_or_else(missing)?;
        let mut refused = Err(missing());
        for (metric, event) in EVENTS {
            match CounterMeter::default().add(metric, machine) {
                Ok(()) => return Ok(Sampler { perf, event }),
                Err(refusal) => refused = Err(refusal),
            }
        }
        refused
    }

    /// The command that runs another one and takes samples; it writes to `folder`. `run` is
    /// the number of the run.
    pub(crate) fn record(&self, command: &Command, folder: &Path, run: usize) -> Command {
        // perf would keep those of an earlier run beside the new ones.
        let data = folder.join(DATA);
        let _ = std::fs::remove_file(&data);
        let frequency = FREQUENCIES[run % FREQUENCIES.len()].to_string();
        let mut argv = vec![self.perf.clone().into_os_string()];
        argv.extend(OPTIONS.map(Into::into));
        argv.extend(["--event".into(), self.event.into(), "--freq".into(), frequency.into()]);
        argv.extend(["--output".into(), data.into(), "--".into()]);
        argv.extend(command.argv.iter().cloned());
        let mut command = Command { argv, counters: Vec::new(), ..command.clone() };
        VARIABLES.into_iter().for_each(|(name, value)| command.set_var(name, value));
        command
    }

    /// The command that writes a report of these samples to `folder`; `command` is that whose
    /// samples they are.
    pub(crate) fn report(&self, command: &Command, folder: &Path) -> Command {
        let mut argv = vec![self.perf.clone().into_os_string()];
        let options = ["report", "--stdio", "--quiet", "--force", "--no-demangle", "--no-children"];
        argv.extend(options.map(Into::into));
        argv.extend(["--fields", COLUMNS, "--field-separator"].map(Into::into));
        argv.extend([SEPARATOR.to_string().into(), "--input".into(), folder.join(DATA).into()]);
        let (env, cwd) = (command.env.clone(), command.cwd.clone());
        let stdout = Sink::File(folder.join(REPORT));
        let mut report = Command { argv, env, cwd, stdout, ..Command::default() };
        VARIABLES.into_iter().for_each(|(name, value)| report.set_var(name, value));
        report
    }

    /// What such a report says; `None` where there is none.
    pub(crate) fn read(&self, folder: &Path) -> Option<PerfSamples> {
        let report = std::fs::read(folder.join(REPORT)).ok()?;
        let _ = std::fs::remove_file(folder.join(DATA));
        Some(PerfSamples::parse(&String::from_utf8_lossy(&report)))
    }
}

impl PerfSamples {
    /// Reads a report: a line for each function.
    fn parse(report: &str) -> Self {
        let mut samples = PerfSamples::default();
        for line in report.lines() {
            let mut columns = line.splitn(3, SEPARATOR).map(str::trim);
            let mut number = || columns.next()?.parse::<u64>().ok();
            let (Some(count), Some(weight)) = (number(), number()) else { continue };
            let Some(function) = columns.next() else { continue };
            // `[.]` before it says that it is no part of the kernel.
            let function = function.split_once("] ").map_or(function, |(_, name)| name.trim());
            samples.count += count;
            *samples.functions.entry(function.to_owned()).or_default() += weight;
        }
        samples
    }
    pub(crate) fn add(&mut self, others: PerfSamples) {
        self.count += others.count;
        for (function, weight) in others.functions {
            *self.functions.entry(function).or_default() += weight;
        }
    }

    /// The share of the time that the program spends in each function, 0 to 1.
    pub(crate) fn shares(&self) -> impl Iterator<Item = (&str, f64)> {
        let all: u64 = self.functions.values().sum();
        let share = move |weight: u64| weight as f64 / all.max(1) as f64;
        self.functions.iter().map(move |(function, weight)| (function.as_str(), share(*weight)))
    }
}

fn missing() -> Refusal {
    let why = "`perf` is not on the PATH".to_owned();
    let hint = Some("install it, for example with `apt-get install linux-perf`".to_owned());
    Refusal { metric: "samples", why, hint, source: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What perf 6.1 wrote.
    const RECORDED: &str = "\
 671        | 673019039  |[.] _ZN3hot3hot17hc8bcbc95001f7f3bE
 293        | 293881637  |[.] _ZN3hot4cold17hf0165adb842dbe42E
 26         | 26078234   |[.] __vdso_clock_gettime
 2          | 2006018    |[.] _RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys3pal4unix4timeNtB2_8Timespec3now
 1          | 1003009    |[.] 0x00000000000012d4
 1          | 1003009    |[.] clock_gettime@@GLIBC_2.17


";

    #[test]
    fn a_report_has_a_line_for_each_function() {
        let mut samples = PerfSamples::parse(RECORDED);
        assert_eq!(samples.count, 994);
        assert_eq!(samples.functions.len(), 6);
        assert_eq!(samples.functions["_ZN3hot3hot17hc8bcbc95001f7f3bE"], 673_019_039);
        assert_eq!(samples.functions["0x00000000000012d4"], 1_003_009);
        assert_eq!(samples.functions["clock_gettime@@GLIBC_2.17"], 1_003_009);
        samples.add(PerfSamples::parse("3|100|[.] hot\n4|1|[.] __vdso_clock_gettime\n"));
        assert_eq!(samples.count, 1001);
        assert_eq!(samples.functions["__vdso_clock_gettime"], 26_078_235);
    }

    #[test]
    fn what_is_no_line_of_a_function_is_left_out() {
        for text in ["", "\n\n", "# Samples: 5\n", "Error:\nThe data has no samples!\n", "1|2\n"] {
            assert_eq!(PerfSamples::parse(text), PerfSamples::default(), "{text:?}");
        }
        // Names may have anything in them.
        let samples = PerfSamples::parse("1|3|[.] operator| (a, b) [clone]\n1|1|[k] other\n");
        let shares: Vec<_> = samples.shares().collect();
        assert_eq!(shares, [("operator| (a, b) [clone]", 0.75), ("other", 0.25)]);
    }

    #[test]
    fn the_commands_leave_the_users_configuration_alone() {
        let mut command = Command { argv: vec!["x".into(), "-a".into()], ..Command::default() };
        command.set_var("PERF_CONFIG", "/home/me/perfconfig");
        let sampler = Sampler { perf: "/usr/bin/perf".into(), event: "cycles:u" };
        let folder = tempfile::tempdir().unwrap();
        let record = sampler.record(&command, folder.path(), 7);
        let data = folder.path().join("perf.data");
        let expected = format!(
            "/usr/bin/perf record --quiet --no-bpf-event --no-buildid --no-buildid-cache --event \
             cycles:u --freq 2203 --output {} -- x -a",
            data.display()
        );
        assert_eq!(record.shown(), expected);
        assert_eq!(record.var("PERF_CONFIG"), Some(OsStr::new("/dev/null")));
        let report = sampler.report(&command, folder.path());
        assert_eq!(report.var("PERF_CONFIG"), Some(OsStr::new("/dev/null")));
        assert!(report.shown().contains("--fields 'sample,period,symbol'"), "{}", report.shown());
    }

    #[test]
    fn without_perf_the_reason_is_told() {
        let empty = tempfile::tempdir().unwrap();
        let refused = Sampler::find(Some(empty.path().as_os_str()), &Machine::default());
        assert_eq!(refused.unwrap_err().why, "`perf` is not on the PATH");
    }
}
