//! The tracer, on Linux for x86-64.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::{Breakpoints, Watched};

/// The instruction that stops a program.
const BREAKPOINT: u8 = 0xcc;

/// What the kernel is asked to tell of, and that the program ends with the tracer.
const OPTIONS: i32 = libc::PTRACE_O_EXITKILL
    | libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC;

/// The mark of a stop at a system call, beside SIGTRAP.
const AT_SYSTEM_CALL: i32 = libc::SIGTRAP | 0x80;

/// The system calls that name a file: which argument the folder is from which the name
/// counts, if one is, and which the name.
const NAMING: [(i64, Option<usize>, usize); 18] = [
    (libc::SYS_open, None, 0),
    (libc::SYS_creat, None, 0),
    (libc::SYS_stat, None, 0),
    (libc::SYS_lstat, None, 0),
    (libc::SYS_access, None, 0),
    (libc::SYS_readlink, None, 0),
    (libc::SYS_chdir, None, 0),
    (libc::SYS_execve, None, 0),
    (libc::SYS_truncate, None, 0),
    (libc::SYS_openat, Some(0), 1),
    (libc::SYS_openat2, Some(0), 1),
    (libc::SYS_newfstatat, Some(0), 1),
    (libc::SYS_statx, Some(0), 1),
    (libc::SYS_faccessat, Some(0), 1),
    (libc::SYS_faccessat2, Some(0), 1),
    (libc::SYS_readlinkat, Some(0), 1),
    (libc::SYS_execveat, Some(0), 1),
    (libc::SYS_name_to_handle_at, Some(0), 1),
];

/// The longest name of a file, bytes.
const LONGEST_NAME: usize = 4096;

/// Runs a program to its end with breakpoints. Returns what it did, and its exit code.
pub(super) fn run(mut command: Command, breakpoints: &Breakpoints) -> io::Result<(Watched, i32)> {
    // SAFETY: the closure makes nothing but a system call, which takes plain numbers.
    unsafe {
        command.pre_exec(|| check(libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0)).map(|_| ()));
    }
    let child = command.spawn()?;
    let pid = child.id() as libc::pid_t;
    // It stops when its program is loaded.
    let (_, status) = wait(pid)?;
    if !libc::WIFSTOPPED(status) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    // SAFETY: the call takes plain numbers.
    check(unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, OPTIONS) })?;
    let mut tracer = Tracer::set(pid, breakpoints)?;
    let mut signal = 0;
    let mut stopped = pid;
    loop {
        go_on(stopped, signal)?;
        let (thread, status) = wait(-1)?;
        stopped = thread;
        if libc::WIFSTOPPED(status) {
            signal = tracer.stopped(thread, status)?;
        } else if thread == pid {
            let code = match libc::WIFEXITED(status) {
                true => libc::WEXITSTATUS(status),
                false => 128 + libc::WTERMSIG(status),
            };
            return Ok((tracer.watched, code));
        } else {
            signal = 0;
        }
    }
}

/// The tracer of a program.
struct Tracer {
    /// The breakpoints: what was there before, and the names of the functions.
    places: BTreeMap<u64, (u8, Vec<String>)>,
    /// The threads and processes that were seen.
    known: HashSet<libc::pid_t>,
    watched: Watched,
}

impl Tracer {
    /// Sets the breakpoints in a program that has just been loaded.
    fn set(pid: libc::pid_t, breakpoints: &Breakpoints) -> io::Result<Self> {
        let moved = entry(pid)?.wrapping_sub(breakpoints.entry);
        let memory = memory(pid)?;
        let mut places: BTreeMap<u64, (u8, Vec<String>)> = BTreeMap::new();
        for (address, name) in &breakpoints.places {
            let at = address.wrapping_add(moved);
            if let Some((_, names)) = places.get_mut(&at) {
                names.push(name.clone());
                continue;
            }
            let mut byte = [0];
            memory.read_exact_at(&mut byte, at)?;
            memory.write_all_at(&[BREAKPOINT], at)?;
            places.insert(at, (byte[0], vec![name.clone()]));
        }
        Ok(Tracer { places, known: HashSet::from([pid]), watched: Watched::default() })
    }

    /// Sees why a thread has stopped. Returns the signal that it is to get.
    fn stopped(&mut self, thread: libc::pid_t, status: i32) -> io::Result<i32> {
        let signal = libc::WSTOPSIG(status);
        let is_new = self.known.insert(thread);
        // A new thread, process or program.
        if status >> 16 != 0 {
            return Ok(0);
        }
        Ok(match signal {
            AT_SYSTEM_CALL => {
                self.system_call(thread);
                0
            }
            libc::SIGTRAP if self.is_at_breakpoint(thread)? => 0,
            // New threads and processes stop once.
            libc::SIGSTOP if is_new => 0,
            signal => signal,
        })
    }

    /// Whether a thread has met a breakpoint, which is then removed.
    fn is_at_breakpoint(&mut self, thread: libc::pid_t) -> io::Result<bool> {
        let mut registers = registers(thread)?;
        let at = registers.rip.wrapping_sub(1);
        let Some((byte, names)) = self.places.get(&at) else { return Ok(false) };
        self.watched.entered.extend(names.iter().cloned());
        memory(thread)?.write_all_at(&[*byte], at)?;
        registers.rip = at;
        // SAFETY: the pointer is to a live local of the type that the call reads.
        check(unsafe {
            libc::ptrace(libc::PTRACE_SETREGS, thread, 0, (&raw const registers).cast_mut())
        })?;
        Ok(true)
    }

    /// Notes which file a system call names. What can't be read is noted as unseen.
    fn system_call(&mut self, thread: libc::pid_t) {
        let Ok(registers) = registers(thread) else { return };
        let call = registers.orig_rax as i64;
        if call == libc::SYS_io_uring_setup {
            self.unseen("it uses io_uring");
        }
        // The system calls stop a program twice; at the second time they have a result.
        let begins = registers.rax as i64 == i64::from(-libc::ENOSYS);
        let Some((_, folder, name)) = NAMING.iter().find(|(known, ..)| *known == call && begins)
        else {
            return;
        };
        let arguments = [registers.rdi, registers.rsi];
        // What can't be read here, the kernel can't read either.
        let Ok(name) = text(thread, arguments[*name]) else { return };
        let name = Path::new(OsStr::from_bytes(&name));
        if name.as_os_str().is_empty() {
            return;
        }
        let folder = folder.map(|at| arguments[at] as i32).filter(|fd| *fd != libc::AT_FDCWD);
        let folder = match folder {
            None => format!("/proc/{thread}/cwd"),
            Some(fd) => format!("/proc/{thread}/fd/{fd}"),
        };
        let path = match name.is_absolute() {
            true => name.to_owned(),
            false => match std::fs::read_link(folder) {
                Ok(folder) => folder.join(name),
                Err(_) => return self.unseen("it names a file from a folder that is not known"),
            },
        };
        // Only what is opened can be listed.
        let is_opened = [libc::SYS_open, libc::SYS_openat, libc::SYS_openat2].contains(&call);
        if !is_opened && path.is_dir() {
            return;
        }
        if path.to_str().is_none() {
            return self.unseen("a file has a name that is not Unicode");
        }
        if [libc::SYS_execve, libc::SYS_execveat].contains(&call) {
            self.watched.executed.insert(path.clone());
        }
        self.watched.asked_for.insert(path);
    }

    fn unseen(&mut self, what: &str) {
        self.watched.unseen.get_or_insert_with(|| what.to_owned());
    }
}

/// Waits for a stop or an end: of a child, or with -1 of whatever is watched.
fn wait(pid: libc::pid_t) -> io::Result<(libc::pid_t, i32)> {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is to a live local.
        match unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) } {
            -1 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            stopped => return Ok((stopped, status)),
        }
    }
}

/// Lets a thread go on until its next system call. One that is gone is no error.
fn go_on(thread: libc::pid_t, signal: i32) -> io::Result<()> {
    // SAFETY: the call takes plain numbers.
    let done = check(unsafe { libc::ptrace(libc::PTRACE_SYSCALL, thread, 0, signal) });
    match done {
        Err(error) if error.raw_os_error() != Some(libc::ESRCH) => Err(error),
        _ => Ok(()),
    }
}

fn registers(thread: libc::pid_t) -> io::Result<libc::user_regs_struct> {
    // SAFETY: zeroed is a valid value, and the pointer is to a live local of the type that
    // the call writes.
    unsafe {
        let mut registers: libc::user_regs_struct = std::mem::zeroed();
        check(libc::ptrace(libc::PTRACE_GETREGS, thread, 0, &raw mut registers))?;
        Ok(registers)
    }
}

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn memory(thread: libc::pid_t) -> io::Result<File> {
    File::options().read(true).write(true).open(format!("/proc/{thread}/mem"))
}

/// Where a program that was loaded begins, as the kernel tells it.
fn entry(pid: libc::pid_t) -> io::Result<u64> {
    let auxiliary = std::fs::read(format!("/proc/{pid}/auxv"))?;
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).unwrap_or_default();
    let mut entries = auxiliary.chunks_exact(16).map(|entry| entry.split_at(8));
    let found = entries.find(|(kind, _)| number(kind) == libc::AT_ENTRY);
    found.map(|(_, value)| number(value)).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// The text at an address, without the zero at its end.
fn text(thread: libc::pid_t, address: u64) -> io::Result<Vec<u8>> {
    let memory = memory(thread)?;
    let mut text = Vec::new();
    let mut buffer = [0; 256];
    while text.len() < LONGEST_NAME {
        let at = address + text.len() as u64;
        // No further than to the end of the page: the next one may not be there.
        let most = (4096 - at % 4096).min(buffer.len() as u64) as usize;
        let got = memory.read_at(&mut buffer[..most], at)?;
        let end = buffer[..got].iter().position(|byte| *byte == 0);
        text.extend_from_slice(&buffer[..end.unwrap_or(got)]);
        if end.is_some() {
            return Ok(text);
        }
        if got == 0 {
            break;
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}
