//! Lets a program start on the processor on which the one before it ended (Linux).
//!
//! When a program starts, the kernel moves it to the idlest processor; among several idle ones, that
//! is a matter of chance. But processors differ at any moment: the other hyperthread of a core may
//! work for somebody else, and only one cache has what the program before it has used. Two runs of a
//! pair on two processors may differ by half, which costs more pairs than everything else.
//!
//! Only a program that may run nowhere else is not moved. So this process binds itself to the
//! processor, and with it the child until its exec. There the child stops for its parent, as for a
//! debugger, which lifts the binding before the program's first instruction. So the program may
//! run on all processors and sees all of them; it merely begins on this one, and stays as long as
//! the kernel has no reason to move it. The stop takes some 10 µs.
//!
//! The child itself does next to nothing, since its peak memory begins with what it touches.

use std::ffi::CStr;
use std::fs::File;
use std::io::Read;

use rustix::fs::{Mode, getxattr, stat};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::exit::Usage;

/// The number of the field of `/proc/PID/stat` with the processor, of those after the name.
const PROCESSOR: usize = 36;

/// The least part of its time that a program has a processor for itself, if nothing else runs there.
const ALONE: f64 = 0.9;

/// After a program that takes less than this, seconds, the next one is not stopped: an empty one would
/// take twice as long, and mostly starts where its parent is anyway.
const BRIEF: f64 = 0.0003;

/// Programs that take so long, seconds, may be moved meanwhile, and leave time to look where to.
const LONG: f64 = 0.002;

/// Where programs run, from one to the next.
#[derive(Debug, Default)]
pub(super) struct Stay {
    /// The processor on which the latest program ended, unless it had to share it.
    latest: Option<usize>,
    /// Whether programs may not be stopped here.
    is_forbidden: bool,
    /// Whether the latest program may run on one processor only.
    is_single: bool,
}

/// What to restore once the next child has started, for which this process is bound to a processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    /// Where this process may run otherwise.
    own: CpuSet,
    /// Where the child may run.
    all: CpuSet,
}

impl Stay {
    /// Binds this process to the processor on which `program` should start, which may run on those
    /// that are `allowed`, or else on all of this process.
    pub(super) fn bind(&mut self, program: &CStr, allowed: Option<CpuSet>) -> Option<Bound> {
        let own = sched_getaffinity(None).ok()?;
        let all = allowed.unwrap_or(own);
        self.is_single = all.count() == 1;
        let on = self.latest.filter(|_| !(self.is_single || self.is_forbidden))?;
        let mut one = CpuSet::new();
        one.set(on);
        let can_be = all.is_set(on) && !has_privileges(program);
        (can_be && sched_setaffinity(None, &one).is_ok()).then_some(Bound { own, all })
    }

    /// Lifts the binding of this process and of the child, if one has executed its program. The
    /// child goes on, which has stopped unless that was `forbidden`.
    pub(super) fn release(&mut self, bound: &Bound, child: Option<i32>, forbidden: bool) {
        let _ = sched_setaffinity(None, &bound.own);
        let Some((pid, child)) = child.and_then(|pid| Some((pid, Pid::from_raw(pid)?))) else {
            return;
        };
        self.is_forbidden |= forbidden;
        if forbidden {
            let _ = sched_setaffinity(Some(child), &bound.all);
            return;
        }
        let how = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let status = retry_on_intr(|| waitid(WaitId::Pid(child), how));
        // It may have been killed instead, or be stopped by another signal, which it then gets.
        let Some(signal) = status.ok().flatten().and_then(|status| status.trapping_signal()) else {
            return;
        };
        let signal = if signal == Signal::TRAP.as_raw() { 0 } else { signal };
        let _ = sched_setaffinity(Some(child), &bound.all);
        // SAFETY: a plain system call about our own child, which is stopped.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, signal) };
    }

    /// Remembers where the child `pid`, which took `wall` seconds, has ended, unless that was brief. It
    /// is not reaped yet.
    pub(super) fn note(&mut self, pid: i32, has_stopped: bool, wall: f64) {
        if wall < BRIEF {
            self.latest = None;
        } else if !(self.is_single || has_stopped && wall < LONG) {
            self.latest = processor_of(pid);
        }
    }

    /// Corrects what a child has used by its stop, and leaves the choice of the next processor to
    /// the kernel if it had to share this one for a good part of its `wall` time, seconds.
    pub(super) fn judge(&mut self, has_stopped: bool, wall: f64, usage: &mut Usage) {
        usage.voluntary_switches = usage.voluntary_switches.saturating_sub(has_stopped.into());
        if usage.involuntary_switches > 0 && usage.user + usage.sys < ALONE * wall {
            self.latest = None;
        }
    }
}

/// The processor on which a child has ended that is not reaped yet.
fn processor_of(pid: i32) -> Option<usize> {
    let mut bytes = [0; 1 << 10];
    let stat = File::open(format!("/proc/{pid}/stat"));
    let length = stat.and_then(|mut stat| stat.read(&mut bytes)).unwrap_or(0);
    let stat = String::from_utf8_lossy(&bytes[..length]);
    // The name may contain anything.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_ascii_whitespace().nth(PROCESSOR).and_then(|on| on.parse().ok())
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

    /// The processor of a child when it stops, and what it prints when it goes on.
    fn started(on: usize) -> (Option<usize>, String) {
        let mut stay = Stay { latest: Some(on), ..Stay::default() };
        let bound = stay.bind(c"/bin/sh", None).unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "grep Cpus_allowed: /proc/self/status"]).stdout(Stdio::piped());
        // SAFETY: a system call.
        let child = unsafe {
            command.pre_exec(|| {
                libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
                Ok(())
            })
        };
        let child = child.spawn().unwrap();
        let pid = child.id() as i32;
        let how = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_raw(pid).unwrap()), how).unwrap();
        let at_start = processor_of(pid);
        stay.release(&bound, Some(pid), false);
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
    fn where_a_short_program_or_one_without_a_choice_has_ended_is_not_looked_up() {
        // No machine has that one.
        let earlier = Some(usize::MAX);
        for (has_stopped, wall, is_single, is_looked_up) in [
            (true, 0.5 * LONG, false, false),
            (true, LONG, false, true),
            (false, 0.5 * LONG, false, true),
            (false, LONG, true, false),
        ] {
            let mut stay = Stay { latest: earlier, is_single, ..Stay::default() };
            let mut child = Command::new("true").spawn().unwrap();
            stay.note(child.id() as i32, has_stopped, wall);
            assert_eq!(stay.latest != earlier, is_looked_up, "{has_stopped} {wall}");
            child.wait().unwrap();
        }
        // The next program is not stopped after a brief one.
        for has_stopped in [false, true] {
            let mut stay = Stay { latest: earlier, ..Stay::default() };
            stay.note(std::process::id() as i32, has_stopped, 0.5 * BRIEF);
            assert_eq!(stay.latest, None);
        }
    }

    #[test]
    fn the_kernel_chooses_after_a_run_that_shared_its_processor_and_for_privileged_programs() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::write(&program, "").unwrap();
        let path = CString::new(program.as_os_str().as_bytes()).unwrap();
        let mut stay = Stay { latest: Some(3), ..Stay::default() };
        assert!(!has_privileges(&path));
        for mode in [0o4755, 0o2755] {
            std::fs::set_permissions(&program, PermissionsExt::from_mode(mode)).unwrap();
            assert!(has_privileges(&path) && stay.bind(&path, None).is_none());
        }
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        assert!(has_privileges(c"/nothing/there"));

        let used = |user, involuntary_switches| Usage {
            user,
            voluntary_switches: 5,
            involuntary_switches,
            ..Usage::default()
        };
        for (mut usage, latest) in
            [(used(0.5, 0), Some(3)), (used(0.95, 2), Some(3)), (used(0.5, 1), None)]
        {
            stay.judge(true, 1.0, &mut usage);
            assert_eq!((usage.voluntary_switches, stay.latest), (4, latest));
        }
        let mut forbidden = Stay { latest: Some(3), is_forbidden: true, ..Stay::default() };
        assert!(forbidden.bind(&path, None).is_none());
    }
}
