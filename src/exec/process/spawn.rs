//! Starts a program on Linux, with `clone` itself. Elsewhere `plain` does it.

use std::cell::OnceCell;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

use rustix::thread::CpuSet;

use super::exit::{Exit, Usage};
use super::isolation::Isolation;
use super::launch::Launch;
use super::stay::Stay;
use super::unix::{self, Child, signals};

/// What every start of a program needs.
pub(super) struct Spawner {
    /// The stack of the child until its exec.
    stack: Vec<u8>,
    /// Memory that this process can read from files again: starts and lengths.
    unwritten: OnceCell<Vec<(usize, usize)>>,
    /// The file that takes the order to reset this process's peak memory; -1 where
    /// there is none.
    peak: libc::c_int,
    stay: Stay,
    /// Whether the latest program has stopped after its exec.
    has_stopped: bool,
}

/// What the child needs between clone and exec, and what it reports.
struct SpawnedChild {
    program: *const libc::c_char,
    argv: *const *const libc::c_char,
    env: *const *const libc::c_char,
    cwd: *const libc::c_char,
    files: [libc::c_int; 3],
    isolation: *const Isolation,
    cpus: Option<CpuSet>,
    /// Whether it stops after its exec, and whether that was forbidden.
    stops: bool,
    is_forbidden: bool,
    /// The signals to be blocked: none.
    mask: libc::sigset_t,
    /// Gets the number of the child.
    running: *const AtomicI32,
    /// The last moment before exec.
    at: Instant,
    /// The error number of what failed, or 0.
    error: libc::c_int,
}

/// What the child does until its exec: nothing but system calls. With exec the
/// signals that the helper catches get their defaults again.
extern "C" fn begin(start: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `Spawner::spawn` passes its `SpawnedChild`, which only the child uses
    // while it shares this memory.
    unsafe {
        let start = &mut *start.cast::<SpawnedChild>();
        // If the helper is killed, nobody else ends this program.
        let ready = libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0
            && libc::setpgid(0, 0) == 0
            && libc::chdir(start.cwd) == 0
            && libc::dup2(start.files[0], 0) == 0
            && libc::dup2(start.files[1], 1) == 1
            && libc::dup2(start.files[2], 2) == 2
            && libc::sigprocmask(libc::SIG_SETMASK, &raw const start.mask, std::ptr::null_mut())
                == 0;
        if let (true, Err(refused)) = (ready, (*start.isolation).apply(start.cpus.as_ref())) {
            start.error = refused.raw_os_error().unwrap_or(libc::EINVAL);
            libc::_exit(127)
        }
        if ready {
            if start.stops {
                start.is_forbidden = libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0;
            }
            (*start.running).store(libc::getpid(), Ordering::Release);
            start.at = Instant::now();
            libc::execve(start.program, start.argv, start.env);
        }
        start.error = *libc::__errno_location();
        libc::_exit(127)
    }
}

/// The list of pointers that the system wants: one to each string, then a null.
fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect()
}

impl Spawner {
    pub(super) fn new() -> Self {
        let peak = File::options().write(true).open("/proc/self/clear_refs");
        let peak = peak.map_or(-1, IntoRawFd::into_raw_fd);
        // So large that it is mapped by itself. Next to nothing of it is used.
        Spawner {
            stack: vec![0; 256 << 10],
            unwritten: OnceCell::new(),
            peak,
            stay: Stay::default(),
            has_stopped: false,
        }
    }

    /// Starts a program and returns also when: the clock starts in the child, right
    /// before exec. `running` has its number before it can do anything.
    ///
    /// This is `posix_spawn` without its two system calls for each of 64 signals,
    /// and with a descriptor that tells of the end.
    pub(super) fn spawn(
        &mut self,
        launch: &Launch<'_>,
        running: &AtomicI32,
    ) -> io::Result<(Child, Instant)> {
        let argv = pointers(&launch.args.argv);
        let env = pointers(&launch.args.env);
        let cpus = launch.isolation.cpu_set();
        let bound = launch.stays.then(|| self.stay.bind(&launch.args.program, cpus)).flatten();
        let mut start = SpawnedChild {
            program: launch.args.program.as_ptr(),
            argv: argv.as_ptr(),
            env: env.as_ptr(),
            cwd: launch.args.cwd.as_ptr(),
            files: [0, 1, 2].map(|n: usize| launch.files[n].as_raw_fd()),
            isolation: launch.isolation,
            cpus: cpus.filter(|_| bound.is_none()),
            stops: bound.is_some(),
            is_forbidden: false,
            mask: signals(&[]),
            running,
            at: Instant::now(),
            error: 0,
        };
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
        let mut ended: libc::c_int = -1;
        if launch.peak {
            self.shrink();
        }
        // SAFETY: the child has a stack of its own (its top is rounded down to
        // the alignment that every ABI asks of it), shares the memory only
        // while this thread, the only one, sleeps (CLONE_VFORK), and makes
        // nothing but system calls. A kernel without CLONE_PIDFD leaves
        // `ended` alone.
        let pid = unsafe {
            let top = self.stack.as_mut_ptr().add(self.stack.len());
            let top = top.sub(top as usize % 64);
            libc::clone(begin, top.cast(), flags, (&raw mut start).cast(), &raw mut ended)
        };
        let failure = (pid < 0).then(io::Error::last_os_error);
        if let Some(bound) = &bound {
            let child = (pid > 0 && start.error == 0).then_some(pid);
            self.stay.release(bound, child, start.is_forbidden);
        }
        self.has_stopped = start.stops && !start.is_forbidden;
        if let Some(failure) = failure {
            return Err(failure);
        }
        // SAFETY: the kernel made this descriptor for us.
        let ended = (ended >= 0).then(|| unsafe { OwnedFd::from_raw_fd(ended) });
        if start.error != 0 {
            running.store(0, Ordering::Release);
            let _ = unix::reap(pid);
            return Err(io::Error::from_raw_os_error(start.error));
        }
        Ok((Child { pid, ended }, start.at))
    }

    /// Waits for the latest program, which took `wall` seconds, and reaps it. Returns how it
    /// ended, and what it and the children that it waited for have used.
    pub(super) fn reap(&mut self, pid: i32, wall: f64) -> io::Result<(Exit, Usage)> {
        self.stay.note(pid, self.has_stopped, wall);
        let (exit, mut usage) = unix::reap(pid)?;
        self.stay.judge(self.has_stopped, wall, &mut usage);
        Ok((exit, usage))
    }

    /// Makes this process as small as it can be and resets its peak memory, at
    /// which the child's begins. The code comes back page by page as it is needed.
    fn shrink(&self) {
        for &(start, length) in self.unwritten.get_or_init(unwritten) {
            // SAFETY: nothing was or will be written there, so the kernel finds in
            // the file again what is dropped.
            unsafe { libc::madvise(start as *mut libc::c_void, length, libc::MADV_DONTNEED) };
        }
        // SAFETY: the pointer is to a byte. A plain call, since every further
        // function from here to the child costs memory.
        unsafe { libc::write(self.peak, b"5".as_ptr().cast(), 1) };
    }
}

/// Where files are mapped that this process has not written to and can't write
/// to, its code above all: starts and lengths, joined where they adjoin.
fn unwritten() -> Vec<(usize, usize)> {
    let mut found = Vec::<(usize, usize)>::new();
    let Ok(maps) = File::open("/proc/self/smaps") else {
        return found;
    };
    let mut latest = None;
    for line in BufReader::new(maps).lines().map_while(Result::ok) {
        match line.strip_prefix("Anonymous:") {
            None => latest = read_only(&line).or(latest),
            Some(written) => found.extend(latest.take().filter(|_| written.trim() == "0 kB")),
        }
    }
    found.dedup_by(|(start, length), before| {
        let adjoins = before.0 + before.1 == *start;
        before.1 += if adjoins { *length } else { 0 };
        adjoins
    });
    found
}

/// The start and the length in a line that begins a mapping, if it is a file's
/// and can't be written to.
fn read_only(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let may = words.next()?;
    let is_file = words.nth(3)?.starts_with('/');
    let number = |text| usize::from_str_radix(text, 16).ok();
    let start = number(start)?;
    let length = number(end)? - start;
    (is_file && !may.contains('w') && may.ends_with('p')).then_some((start, length))
}
