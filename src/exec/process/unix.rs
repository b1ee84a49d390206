//! The system calls that std has no safe form of: rustix has most of them, the others are wrapped
//! here so that their callers need no `unsafe`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::AtomicI32;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, access};
use rustix::io::retry_on_intr;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process, kill_process_group, waitid,
};

use super::exit::{Exit, Usage};

/// The least number of free bytes of a file system that is not full: a write that hits
/// a full disk may still leave a few.
const LEAST_SPACE: u64 = 1 << 20;

/// Forks the process. Returns the number of the child, and nothing in the child. Only the calling thread exists in the child, so call it
/// while there is only one.
pub(super) fn fork() -> io::Result<Option<i32>> {
    // SAFETY: fork has no memory preconditions. The child is limited in what it may
    // do only if there are other threads, and the one caller (`Helper::start`) runs
    // before there is another.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok((pid != 0).then_some(pid)),
    }
}

/// A number that this process shares with the children that it forks, for as
/// long as they live.
pub(super) fn shared_cell() -> io::Result<&'static AtomicI32> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh anonymous mapping of one page, at an address the kernel
    // chooses, aliases nothing.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the page is zeroed, aligned for any type, never unmapped, and only
    // ever used as this one atomic.
    Ok(unsafe { &*page.cast::<AtomicI32>() })
}

/// Ends the process at once and runs no destructors, which the forked helper
/// shares with its parent.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit never returns and touches no memory of ours.
    unsafe { libc::_exit(code) }
}

/// The host name of the machine; empty if it has none.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Whether this process ignores `signal`.
pub(super) fn is_ignored(signal: i32) -> bool {
    // SAFETY: the action is zeroed and only written to.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// The number of the user as whom this process acts.
pub(crate) fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether the file system of `path` has less than 1 MiB or no file left for
/// users. False where the system does not tell.
pub(crate) fn is_full(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|about| {
        let free = about.f_frsize.saturating_mul(about.f_bavail);
        free < LEAST_SPACE || about.f_files > 0 && about.f_favail == 0
    })
}

extern "C" fn nothing(_signal: libc::c_int) {}

/// Catches `signals` and does nothing, so that the process survives them and the
/// programs that it executes start with the defaults (an ignored signal would
/// stay ignored).
pub(super) fn survive(signals: impl IntoIterator<Item = i32>) {
    for signal in signals {
        // SAFETY: the action is fully initialised (zeroed is a valid empty
        // mask and no flags) and its handler is async-signal-safe.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

pub(super) fn signals(members: &[i32]) -> libc::sigset_t {
    // SAFETY: the set is initialised by sigemptyset before use.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for &member in members {
            libc::sigaddset(&raw mut set, member);
        }
        set
    }
}

/// Blocks or unblocks a signal.
pub(super) fn mask(how: libc::c_int, signal: i32) {
    let set = signals(&[signal]);
    // SAFETY: the pointer is to a live local.
    unsafe { libc::sigprocmask(how, &raw const set, std::ptr::null_mut()) };
}

/// Whether this process may execute the file.
pub(super) fn may_execute(path: &Path) -> io::Result<()> {
    Ok(access(path, Access::EXEC_OK)?)
}

/// Whether this process may write to the file or create files in the folder.
///
/// # Errors
/// The reason why it may not.
pub(crate) fn may_write(path: &Path) -> io::Result<()> {
    Ok(access(path, Access::WRITE_OK)?)
}

/// A program that was started in a process group of its own and is not reaped.
pub(super) struct Child {
    pub(super) pid: i32,
    /// A descriptor that can be read once the program has ended, where the system
    /// has that.
    pub(super) ended: Option<OwnedFd>,
}

/// Why [`wait_for_event`] returned.
pub(super) struct Wakeup {
    pub(super) at: Instant,
    pub(super) ended: bool,
    /// `control` can be read.
    pub(super) asked: bool,
}

/// Waits until `child` has ended, `control` can be read or `patience` is over.
/// May also return early. The ended child stays a zombie, so that no other
/// process group can get its number.
///
/// SIGCHLD tells of the end where no descriptor does. It is blocked outside of
/// this function, but not while std starts a program, so the signal of one that
/// ended right away may have been missed.
pub(super) fn wait_for_event(
    child: &Child,
    control: Option<BorrowedFd<'_>>,
    patience: Option<Duration>,
) -> Wakeup {
    if child.ended.is_none() && has_ended(child.pid) {
        return Wakeup { at: Instant::now(), ended: true, asked: false };
    }
    let limit = patience.map(|patience| libc::timespec {
        tv_sec: patience.as_secs().min(1 << 30) as _,
        tv_nsec: patience.subsec_nanos() as libc::c_long,
    });
    let control = control.map(|control| control.as_raw_fd());
    let ended = child.ended.as_ref().map(AsRawFd::as_raw_fd);
    // SAFETY: the sets are initialised before use, the descriptors are open
    // and far below FD_SETSIZE (the helper opens next to nothing), and the
    // pointers outlive the call.
    unsafe {
        let mut readable: libc::fd_set = std::mem::zeroed();
        libc::FD_ZERO(&raw mut readable);
        for fd in [control, ended].into_iter().flatten() {
            libc::FD_SET(fd, &raw mut readable);
        }
        // The descriptor tells of the end without a handler's detour.
        let blocked = if ended.is_some() { signals(&[libc::SIGCHLD]) } else { signals(&[]) };
        let count = libc::pselect(
            control.max(ended).map_or(0, |highest| highest + 1),
            &raw mut readable,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
            &raw const blocked,
        );
        let at = Instant::now();
        let is_readable = |fd: i32| count > 0 && libc::FD_ISSET(fd, &raw const readable);
        let ended = ended.map_or_else(|| has_ended(child.pid), is_readable);
        Wakeup { at, ended, asked: control.is_some_and(is_readable) }
    }
}

/// Waits until one of the two can be read, `(first, second)`, or `patience` is over. Interrupted
/// waits are taken up again.
pub(super) fn poll_two(
    first: BorrowedFd<'_>,
    second: BorrowedFd<'_>,
    patience: Option<Duration>,
) -> io::Result<(bool, bool)> {
    let mut fds = [first, second].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
    retry_on_intr(|| poll(&mut fds, patience.as_ref()))?;
    let [first, second] = fds.map(|fd| !fd.revents().is_empty());
    Ok((first, second))
}

/// Looks for an ended child, which stays a zombie; `None` if none of these has ended.
fn ended(of: WaitId<'_>) -> io::Result<Option<WaitIdStatus>> {
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(of, how)?)
}

/// Whether the child `pid` has ended. It stays a zombie.
pub(super) fn has_ended(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| matches!(ended(WaitId::Pid(pid)), Ok(Some(_))))
}

/// Whether there are children, zombies among them.
pub(super) fn has_children() -> bool {
    ended(WaitId::All).is_ok()
}

/// Waits for the child `pid` and reaps it. Returns how it ended, and what it and
/// the children that it waited for have used.
pub(super) fn reap(pid: i32) -> io::Result<(Exit, Usage)> {
    let mut status = 0;
    // SAFETY: zeroed is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live locals.
        let got = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if got == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let exit = if libc::WIFSIGNALED(status) {
        Exit::Signal(libc::WTERMSIG(status))
    } else {
        Exit::Code(libc::WEXITSTATUS(status))
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    // Linux and the BSDs count KiB, Apple's systems bytes.
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    let usage = Usage {
        user: seconds(usage.ru_utime),
        sys: seconds(usage.ru_stime),
        max_rss: usage.ru_maxrss as u64 * unit,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    };
    Ok((exit, usage))
}

/// Sends `signal` to every process of a group, which may be gone.
pub(super) fn signal_group(group: i32, signal: Signal) {
    if let Some(group) = Pid::from_raw(group).filter(|group| !group.is_init()) {
        let _ = kill_process_group(group, signal);
    }
}

/// Sends `signal` to the process `pid`.
pub(super) fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid).filter(|pid| !pid.is_init()) {
        let _ = kill_process(pid, signal);
    }
}

/// Sets whether this process becomes the parent of its descendants' orphans
/// (Linux; elsewhere they go to init and can't be found).
pub(super) fn adopt_orphans(adopt: bool) {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(adopt.then_some(Pid::INIT));
    #[cfg(not(target_os = "linux"))]
    let _ = adopt;
}
