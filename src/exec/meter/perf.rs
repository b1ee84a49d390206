//! Samples of perf: in which functions a program spends its time.
//!
//! perf interrupts the program some two thousand times per second of its time on a processor
//! and notes the function that it is in, and the top of its stack, in which perf finds the
//! callers later. Only its own code counts, not the kernel's: most systems allow that without
//! privileges.
//!
//! A benchmark repeats the same work. If an interrupt comes after so many repetitions exactly,
//! all samples are of one part of the work. So each run has a frequency of its own: where that
//! matters, runs differ.
//!
//! perf also reads its file, as it finds the callers in the copied stacks, and the names of
//! functions. A parser of that file (linux-perf-data) leaves both to its user, and brings nine
//! other crates even without zstd.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::counters::CounterMeter;
use super::{CallStack, Refusal};
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

/// What is printed of a sample: its weight, and the addresses and names of its stack.
const FIELDS: &str = "period,ip,sym";

/// How callers are found: compilers leave out frame pointers, but not what unwinding needs. As
/// many bytes of the stack are copied with each sample.
const CALL_GRAPH: &str = "dwarf,16384";

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

/// Samples of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PerfSamples {
    pub(crate) count: u64,
    /// Their weights by call stacks. The unit is that of the event.
    pub(crate) stacks: BTreeMap<CallStack, u64>,
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
        argv.extend(["--call-graph".into(), CALL_GRAPH.into()]);
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
        let options = ["script", "--force", "--no-demangle", "--no-inline", "--fields", FIELDS];
        argv.extend(options.map(Into::into));
        argv.extend(["--input".into(), folder.join(DATA).into()]);
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
    /// Reads a report: for each sample its weight, then a line for each function of its stack,
    /// then an empty line.
    fn parse(report: &str) -> Self {
        let mut samples = PerfSamples::default();
        for sample in report.split("\n\n") {
            let mut lines = sample.lines().map(str::trim).filter(|line| !line.is_empty());
            let weight = lines.next().and_then(|line| line.parse::<u64>().ok());
            // After its address.
            let names = lines.filter_map(|line| Some(line.split_once(' ')?.1.trim()));
            let mut names: Vec<&str> = names.collect();
            // Where the copied part of the stack ends.
            names.truncate(names.iter().rposition(|name| *name != "[unknown]").unwrap_or(0) + 1);
            if let (Some(weight), false) = (weight, names.is_empty()) {
                let stack = CallStack(names.join(&CallStack::SEPARATOR.to_string()));
                samples.count += 1;
                *samples.stacks.entry(stack).or_default() += weight;
            }
        }
        samples
    }

    pub(crate) fn add(&mut self, others: PerfSamples) {
        self.count += others.count;
        for (stack, weight) in others.stacks {
            *self.stacks.entry(stack).or_default() += weight;
        }
    }

    /// The share of the time that the program spends in each call stack, 0 to 1.
    pub(crate) fn shares(&self) -> impl Iterator<Item = (&CallStack, f64)> {
        let all: u64 = self.stacks.values().sum();
        let share = move |weight: u64| weight as f64 / all.max(1) as f64;
        self.stacks.iter().map(move |(stack, weight)| (stack, share(*weight)))
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
    const RECORDED: &str = "    500250 \n\t           98a70 malloc\n\t           131eb \
        _ZN1m4main17h4009bc0cd8b193aaE\n\t           27304 __libc_start_main@@GLIBC_2.34\n\n    \
        500250 \n\t          163978 __memcmp_evex_movbe\n\t           131eb \
        _ZN1m4main17h4009bc0cd8b193aaE\n\n    500250 \n\t           12d4 [unknown]\n\n    500250 \n\t 98a70 malloc\n\t 1 \
        _ZN1m4main17h4009bc0cd8b193aaE\n\t 27304 __libc_start_main@@GLIBC_2.34\n\t 0 \
        [unknown]\n\n";

    #[test]
    fn a_report_has_a_stack_for_each_sample() {
        let mut samples = PerfSamples::parse(RECORDED);
        assert_eq!((samples.count, samples.stacks.len()), (4, 3));
        let names: Vec<Vec<&str>> =
            samples.stacks.keys().map(|one| one.names().collect()).collect();
        let main = "_ZN1m4main17h4009bc0cd8b193aaE";
        let expected = [
            vec!["[unknown]"],
            vec!["__memcmp_evex_movbe", main],
            vec!["malloc", main, "__libc_start_main@@GLIBC_2.34"],
        ];
        assert_eq!(names, expected);
        samples.add(PerfSamples::parse("    1500750 \n\t  7 [unknown]\n\n"));
        assert_eq!((samples.count, samples.stacks.len()), (5, 3));
        let shares: Vec<f64> = samples.shares().map(|(_, share)| share).collect();
        assert_eq!(shares, [4.0 / 7.0, 1.0 / 7.0, 2.0 / 7.0]);
    }

    #[test]
    fn what_is_no_sample_is_left_out() {
        for text in ["", "\n\n", "# Samples: 5\n", "Error:\nThe data has no samples!\n", "  12 \n"]
        {
            assert_eq!(PerfSamples::parse(text), PerfSamples::default(), "{text:?}");
        }
        // Names may have anything in them.
        let samples = PerfSamples::parse("  3 \n\t 7 operator| (a, b) [clone]\n");
        let stack = samples.shares().next().unwrap().0;
        assert_eq!(stack.names().collect::<Vec<_>>(), ["operator| (a, b) [clone]"]);
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
             cycles:u --freq 2203 --call-graph 'dwarf,16384' --output {} -- x -a",
            data.display()
        );
        assert_eq!(record.shown(), expected);
        assert_eq!(record.var("PERF_CONFIG"), Some(OsStr::new("/dev/null")));
        let report = sampler.report(&command, folder.path());
        assert_eq!(report.var("PERF_CONFIG"), Some(OsStr::new("/dev/null")));
        assert!(report.shown().contains("--fields 'period,ip,sym'"), "{}", report.shown());
    }

    #[test]
    fn without_perf_the_reason_is_told() {
        let empty = tempfile::tempdir().unwrap();
        let refused = Sampler::find(Some(empty.path().as_os_str()), &Machine::default());
        assert_eq!(refused.unwrap_err().why, "`perf` is not on the PATH");
    }
}
