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
//! `file` reads what it noted.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod file;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod file {
    pub(super) fn read(_: &std::path::Path) -> Option<super::samples::PerfSamples> {
        None
    }
}

mod samples;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::counters::CounterMeter;
use super::refusal::Refusal;
use super::source::in_path;
pub(crate) use samples::PerfSamples;

use crate::exec::machine::Machine;
use crate::exec::process::Command;

/// Interrupts per second, for one run after the other: primes, so that few frequencies of a
/// program's own are in step with several of them.
const FREQUENCIES: [u32; 5] = [1999, 1801, 2203, 1709, 2309];

/// The events that are sampled, the better first, with the metric of the counter that has to
/// be there.
const EVENTS: [(&str, &str); 2] = [("cycles", "cycles:u"), ("task_clock", "task-clock:u")];

/// The file in the folder of a run.
const DATA: &str = "perf.data";

/// How callers are found: compilers leave out frame pointers, but not what unwinding needs. As
/// many bytes of the stack are copied with each sample.
const CALL_GRAPH: &str = "dwarf,16384";

/// How samples are recorded: without a list of the kernel's BPF programs, which takes root a
/// second, and without copies of the executables, which are still there afterwards.
const OPTIONS: [&str; 5] =
    ["record", "--quiet", "--no-bpf-event", "--no-buildid", "--no-buildid-cache"];

/// What is run to take samples.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    perf: PathBuf,
    event: &'static str,
}

impl Sampler {
    /// That of this machine, with what is found in the `PATH` `path`.
    ///
    /// # Errors
    /// When there is no perf, or the system does not let it take samples.
    pub(crate) fn find(path: Option<&OsStr>, machine: &Machine) -> Result<Self, Refusal> {
        let perf = in_path("perf", path).ok_or_else(missing)?;
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
        let frequency = FREQUENCIES[run % FREQUENCIES.len()].to_string();
        let mut argv = vec![self.perf.clone().into_os_string()];
        argv.extend(OPTIONS.map(Into::into));
        argv.extend(["--event".into(), self.event.into(), "--freq".into(), frequency.into()]);
        argv.extend(["--call-graph".into(), CALL_GRAPH.into()]);
        argv.extend(["--output".into(), folder.join(DATA).into(), "--".into()]);
        argv.extend(command.argv.iter().cloned());
        let mut command = Command { argv, counters: Vec::new(), ..command.clone() };
        // perf takes nothing from the user's configuration.
        command.set_var("PERF_CONFIG", "/dev/null");
        command
    }
}

impl PerfSamples {
    /// Reads what perf has written to `folder`. `None` where that can't be read.
    pub(crate) fn take(folder: &Path) -> Option<Self> {
        let data = folder.join(DATA);
        let samples = file::read(&data);
        let _ = std::fs::remove_file(data);
        samples
    }
}

fn missing() -> Refusal {
    let hint = "install it, for example with `apt-get install linux-perf`";
    Refusal::new("samples", "`perf` is not on the PATH", Some(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_leaves_the_users_configuration_alone() {
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
    }

    #[test]
    fn without_perf_the_reason_is_told() {
        let empty = tempfile::tempdir().unwrap();
        let refused = Sampler::find(Some(empty.path().as_os_str()), &Machine::default());
        assert_eq!(refused.unwrap_err().why, "`perf` is not on the PATH");
    }
}
