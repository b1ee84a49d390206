//! Lets a program start on the processor on which the one before it ended (Linux).
//!
//! When a program starts, the kernel moves it to the idlest processor; among several idle ones, that
//! is a matter of chance. But processors differ at any moment: the other hyperthread of a core may
//! work for somebody else, and only one cache has what the program before it has used. Two runs of a
//! pair on two processors may differ by half, which costs more pairs than everything else.
//!
//! Only a program that may run nowhere else is not moved. So the child binds itself to the
//! processor until its exec, after which it stops for its parent, as for a debugger. There the
//! parent lifts the binding, before the program's first instruction. So the program may run on all
//! processors and sees all of them; it merely begins on this one, and stays as long as the kernel
//! has no reason to move it. The stop takes some 10 µs.

use std::ffi::CStr;

use rustix::fs::{Mode, getxattr, stat};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::Usage;

/// The number of the field of `/proc/PID/stat` with the processor, of those after the name.
const PROCESSOR: usize = 36;

/// The least part of its time that a program has a processor for itself, if nothing else runs there.
const ALONE: f64 = 0.9;

/// Where programs run, from one to the next.
#[derive(Debug, Default)]
pub(super) struct Stay {
    /// The processor on which the latest program ended, unless it had to share it.
    latest: Option<usize>,
    /// Whether programs may not be stopped here.
    is_forbidden: bool,
}

/// What a child does before its exec to begin on a processor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Start {
    on: Option<usize>,
    /// Where it may run, if it was bound to one of these processors.
    bound: Option<CpuSet>,
    is_forbidden: bool,
}

impl Stay {
    /// Where `program` should start.
    pub(super) fn start(&self, program: &CStr) -> Start {
        let on = self.latest.filter(|_| !self.is_forbidden && !has_privileges(program));
        Start { on, ..Start::default() }
    }

    /// Lets a child that has executed its program go on.
    pub(super) fn release(&mut self, pid: i32, start: &Start) {
        self.is_forbidden |= start.is_forbidden;
        let (Some(all), Some(child)) = (&start.bound, Pid::from_raw(pid)) else { return };
        let how = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let status = loop {
            match waitid(WaitId::Pid(child), how) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other,
            }
        };
        // It may have been killed instead, or be stopped by another signal, which it then gets.
        let Some(signal) = status.ok().flatten().and_then(|status| status.trapping_signal()) else {
            return;
        };
        let signal = if signal == Signal::TRAP.as_raw() { 0 } else { signal };
        let _ = sched_setaffinity(Some(child), all);
        // SAFETY: a plain system call about our own child, which is stopped.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, signal) };
    }

    /// Remembers where the child `pid` has ended, which is not reaped yet.
    pub(super) fn note(&mut self, pid: i32) {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name may contain anything.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        self.latest = rest.split_ascii_whitespace().nth(PROCESSOR).and_then(|on| on.parse().ok());
    }

    /// Corrects what a child has used by its stop, and leaves the choice of the next processor to
    /// the kernel if it had to share this one for a good part of its `wall` time, seconds.
    pub(super) fn judge(&mut self, start: &Start, wall: f64, usage: &mut Usage) {
        if start.bound.is_some() {
            usage.voluntary_switches = usage.voluntary_switches.saturating_sub(1);
        }
        if usage.involuntary_switches > 0 && usage.user + usage.sys < ALONE * wall {
            self.latest = None;
        }
    }
}

impl Start {
    /// Binds the calling child to its processor until it is released, with nothing but system
    /// calls.
    pub(super) fn bind(&mut self) {
        let Some(on) = self.on else { return };
        let Ok(all) = sched_getaffinity(None) else { return };
        let mut one = CpuSet::new();
        one.set(on);
        if !all.is_set(on) || all.count() == 1 || sched_setaffinity(None, &one).is_err() {
            return;
        }
        // SAFETY: a plain system call.
        if unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } == 0 {
            self.bound = Some(all);
        } else {
            self.is_forbidden = true;
            let _ = sched_setaffinity(None, &all);
        }
    }
}

/// Whether a program gets privileges from its file, which the kernel refuses if it would stop for a
/// parent that has fewer.
fn has_privileges(program: &CStr) -> bool {
    let by_mode = Mode::SUID | Mode::SGID;
    let mode = stat(program).map(|about| Mode::from_raw_mode(about.st_mode));
    mode.map_or(true, |mode| mode.intersects(by_mode))
        || getxattr(program, c"security.capability", &mut [0; 0]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::allowed_cpus;
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    fn allowed() -> CpuSet {
        sched_getaffinity(None).unwrap()
    }

    /// The processor of a child and what it prints. It is bound to the processor `on` until it is
    /// released.
    fn started(on: usize) -> (Option<usize>, String) {
        let mut command = Command::new("sh");
        command.args(["-c", "grep Cpus_allowed: /proc/self/status"]).stdout(Stdio::piped());
        let mut start = Start { on: Some(on), ..Start::default() };
        // SAFETY: system calls only.
        let child = unsafe {
            command.pre_exec(move || {
                start.bind();
                Ok(())
            })
        };
        let child = child.spawn().unwrap();
        let pid = child.id() as i32;
        let how = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_raw(pid).unwrap()), how).unwrap();
        let mut stay = Stay::default();
        stay.note(pid);
        let at_start = stay.latest;
        stay.release(pid, &Start { bound: Some(allowed()), ..Start::default() });
        (at_start, String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap())
    }

    #[test]
    fn a_program_begins_on_the_processor_but_may_run_on_all() {
        let own = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let own = own.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap();
        // A single one leaves no choice.
        let cpus = Some(allowed_cpus()).filter(|cpus| cpus.len() > 1);
        for cpu in cpus.into_iter().flatten() {
            let (at_start, printed) = started(cpu.into());
            assert_eq!((at_start, printed.trim_end()), (Some(cpu.into()), own));
        }
    }

    #[test]
    fn the_kernel_chooses_after_a_run_that_shared_its_processor_and_for_privileged_programs() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::write(&program, "").unwrap();
        let path = CString::new(program.as_os_str().as_bytes()).unwrap();
        let mut stay = Stay { latest: Some(3), is_forbidden: false };
        assert_eq!(stay.start(&path).on, Some(3));
        for mode in [0o4755, 0o2755] {
            std::fs::set_permissions(&program, PermissionsExt::from_mode(mode)).unwrap();
            assert_eq!(stay.start(&path).on, None);
        }
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(stay.start(c"/nothing/there").on, None);

        let start = Start { on: Some(3), bound: Some(allowed()), is_forbidden: false };
        let used = |user, involuntary_switches| Usage {
            user,
            voluntary_switches: 5,
            involuntary_switches,
            ..Usage::default()
        };
        for (mut usage, latest) in
            [(used(0.5, 0), Some(3)), (used(0.95, 2), Some(3)), (used(0.5, 1), None)]
        {
            stay.judge(&start, 1.0, &mut usage);
            assert_eq!((usage.voluntary_switches, stay.latest), (4, latest));
        }
        let forbidden = Stay { latest: Some(3), is_forbidden: true };
        assert_eq!(forbidden.start(&path).on, None);
    }
}
