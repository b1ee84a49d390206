//! The tracer, on Linux for x86-64.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::names::{
    CalledName, NameKind, UNSEEN, bytes, memory, resolve_for, stopping_calls, text,
};
use super::watched::{Access, Breakpoints, Watched};

/// The instruction that stops a program.
const BREAKPOINT: u8 = 0xcc;

/// The events to report, and that the program ends with the tracer.
const OPTIONS: i32 = libc::PTRACE_O_EXITKILL
    | libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC;

/// The first number of a system call in the x32 interface, in which it means another one.
const X32: u32 = 0x4000_0000;

/// The processor's mark in a system call, from `linux/audit.h`.
const X86_64: u32 = 0xc000_003e;

/// How much of a program's memory is read at once, bytes.
const BLOCK: u64 = 1 << 16;

/// What `fcntl` does to lock a file.
const LOCKS: [i32; 4] = [libc::F_SETLK, libc::F_SETLKW, libc::F_OFD_SETLK, libc::F_OFD_SETLKW];

/// The longest address of a socket, bytes.
const LONGEST_ADDRESS: usize = 128;

/// Runs a program to its end with breakpoints. Returns what it did, and its exit code.
pub(super) fn run(mut command: Command, breakpoints: &Breakpoints) -> io::Result<(Watched, i32)> {
    // SAFETY: the closure makes nothing but system calls.
    unsafe {
        let filter = filter();
        command.pre_exec(move || {
            check(libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0))?;
            stop_at(&filter)
        });
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
    /// The breakpoints, and what was there before.
    places: BTreeMap<u64, u8>,
    /// Those of them that are set once a thread has met another one.
    later: BTreeSet<u64>,
    /// The offset of the program's addresses from those in its executable.
    moved: u64,
    /// The memory of each thread that has met a breakpoint since it runs its program.
    memory: BTreeMap<libc::pid_t, File>,
    /// The threads and processes that were seen.
    known: HashSet<libc::pid_t>,
    /// Whether one of its processes may accept connections.
    has_server: bool,
    watched: Watched,
}

impl Tracer {
    /// Sets the breakpoints in a program that has just been loaded.
    fn set(pid: libc::pid_t, breakpoints: &Breakpoints) -> io::Result<Self> {
        let moved = entry(pid)?.wrapping_sub(breakpoints.entry);
        let memory = memory(pid)?;
        let mut places = BTreeMap::new();
        let later = breakpoints.later.iter().map(|place| place.wrapping_add(moved));
        let later: BTreeSet<u64> = later.collect();
        let all = breakpoints.places.union(&breakpoints.later);
        let mut rest = all.map(|place| place.wrapping_add(moved)).peekable();
        while let Some(&first) = rest.peek() {
            let mut block = Vec::new();
            while let Some(at) = rest.next_if(|at| at - first < BLOCK) {
                block.push((at - first) as usize);
            }
            let mut bytes = vec![0; block.last().map_or(0, |last| last + 1)];
            memory.read_exact_at(&mut bytes, first)?;
            for at in block {
                let place = first + at as u64;
                places.insert(place, bytes[at]);
                if !later.contains(&place) {
                    bytes[at] = BREAKPOINT;
                }
            }
            memory.write_all_at(&bytes, first)?;
        }
        let known = HashSet::from([pid]);
        let (memory, watched) = (BTreeMap::new(), Watched::default());
        Ok(Tracer { places, later, moved, memory, known, has_server: false, watched })
    }

    /// Handles a stopped thread. Returns the signal to deliver to it.
    fn stopped(&mut self, thread: libc::pid_t, status: i32) -> io::Result<i32> {
        let signal = libc::WSTOPSIG(status);
        let is_new = self.known.insert(thread);
        match status >> 16 {
            0 => {}
            libc::PTRACE_EVENT_SECCOMP => {
                self.system_call(thread);
                return Ok(0);
            }
            libc::PTRACE_EVENT_EXEC => {
                // A new program has another memory.
                self.memory.clear();
                match std::fs::read_link(format!("/proc/{thread}/exe")) {
                    Ok(program) => {
                        self.watched.executed.insert(program);
                    }
                    Err(_) => self.unseen("it runs a program that is not known"),
                }
                return Ok(0);
            }
            // A new thread or process.
            _ => return Ok(0),
        }
        Ok(match signal {
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
        let Some(byte) = self.places.get(&at) else { return Ok(false) };
        self.watched.entered.insert(at.wrapping_sub(self.moved));
        let memory = match self.memory.entry(thread) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let memory = entry.insert(memory(thread)?);
                for place in &self.later {
                    memory.write_all_at(&[BREAKPOINT], *place)?;
                }
                memory
            }
        };
        memory.write_all_at(&[*byte], at)?;
        registers.rip = at;
        // SAFETY: the pointer is to a live local of the type that the call reads.
        check(unsafe {
            libc::ptrace(libc::PTRACE_SETREGS, thread, 0, (&raw const registers).cast_mut())
        })?;
        Ok(true)
    }

    /// Notes which files a system call names. What can't be read is noted as unseen.
    fn system_call(&mut self, thread: libc::pid_t) {
        let Ok(registers) = registers(thread) else { return };
        let call = registers.orig_rax as i64;
        let all = [registers.rdi, registers.rsi, registers.rdx, registers.r10];
        if let Some((_, why)) = UNSEEN.iter().find(|(known, _)| *known == call) {
            self.unseen(why);
        } else if [libc::SYS_bind, libc::SYS_connect].contains(&call) {
            if let Err(why) = self.socket(thread, call, &all) {
                self.unseen(why);
            }
        } else if [libc::SYS_flock, libc::SYS_fcntl].contains(&call) {
            self.watched.has_claimed |= call == libc::SYS_flock || LOCKS.contains(&(all[1] as i32));
        } else {
            for name in CalledName::all(call) {
                if let Err(why) = self.named(thread, name, &all) {
                    self.unseen(why);
                }
            }
        }
    }

    /// Notes the file of a name in a system call with these arguments.
    fn named(
        &mut self,
        thread: libc::pid_t,
        name: &CalledName,
        all: &[u64; 4],
    ) -> Result<(), &'static str> {
        // What can't be read here, the kernel can't read either.
        let Ok(text) = text(thread, all[name.at]) else { return Ok(()) };
        if text.is_empty() {
            return Ok(());
        }
        let flags = match name.kind {
            NameKind::Opened(at) => all[at],
            NameKind::Created => libc::O_TRUNC as u64,
            NameKind::Named | NameKind::Read | NameKind::Moved => 0,
        };
        let has = |flag: i32| flags & flag as u64 != 0;
        let is_opened = matches!(name.kind, NameKind::Opened(_));
        let folder = name.folder.map(|at| all[at] as i32);
        let found = resolve_for(thread, folder, &text, name.kind != NameKind::Read)?;
        let access = match found.kind {
            None => Access::Absent,
            Some(kind) if kind.is_dir() => match name.kind {
                NameKind::Moved => Access::Moved,
                _ if is_opened && !has(libc::O_PATH) => Access::Listed,
                _ => Access::Passed,
            },
            Some(_) if has(libc::O_TRUNC) => Access::Absent,
            Some(_) => Access::Used,
        };
        self.watched.note_all(found, access)
    }

    /// Notes the file of a socket. Other processes may know what differs, so the program may
    /// only talk to its own.
    fn socket(
        &mut self,
        thread: libc::pid_t,
        call: i64,
        all: &[u64; 4],
    ) -> Result<(), &'static str> {
        const OTHER: &str = "it connects to another process";
        let Ok(address) = bytes(thread, all[1], (all[2] as usize).min(LONGEST_ADDRESS)) else {
            return Ok(());
        };
        let Some((family, rest)) = address.split_first_chunk() else { return Ok(()) };
        let is_bind = call == libc::SYS_bind;
        self.watched.has_claimed |= is_bind;
        match i32::from(u16::from_ne_bytes(*family)) {
            libc::AF_UNIX if rest.first().is_some_and(|byte| *byte != 0) => {
                let name = rest.split(|byte| *byte == 0).next().unwrap_or_default();
                let found = resolve_for(thread, None, name, true)?;
                let is_foreign = found.kind.is_some()
                    && self.watched.accessed.get(&found.path) != Some(&Access::Absent);
                if is_foreign && !is_bind {
                    return Err(OTHER);
                }
                let access = if is_foreign { Access::Used } else { Access::Absent };
                self.watched.note_all(found, access)?;
            }
            libc::AF_UNIX | libc::AF_INET | libc::AF_INET6 if is_bind => self.has_server = true,
            libc::AF_UNIX | libc::AF_INET | libc::AF_INET6 if !self.has_server => {
                return Err(OTHER);
            }
            _ => {}
        }
        Ok(())
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
        let stopped = unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) };
        match check(stopped.into()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            waited => return waited.map(|_| (stopped, status)),
        }
    }
}

/// Which system calls stop a program (seccomp(2)): those that name a file, and those that
/// can't be traced. A process that calls the kernel in a way unusual for this processor is
/// killed, since it can't be traced.
fn filter() -> Vec<libc::sock_filter> {
    let load = |offset| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset);
    let end = |action| statement(libc::BPF_RET | libc::BPF_K, action);
    let jump = |when, value, to, or| libc::sock_filter {
        code: (libc::BPF_JMP | when | libc::BPF_K) as u16,
        jt: to,
        jf: or,
        k: value,
    };
    let calls: Vec<u32> = stopping_calls().map(|call| call as u32).collect();
    let left = |place: usize| (calls.len() - place) as u8;
    // The offsets are those in `struct seccomp_data`.
    let mut filter = vec![load(4), jump(libc::BPF_JEQ, X86_64, 0, left(0) + 3), load(0)];
    filter.push(jump(libc::BPF_JGE, X32, left(0) + 1, 0));
    let stops = calls.iter().enumerate();
    filter.extend(stops.map(|(place, call)| jump(libc::BPF_JEQ, *call, left(place) + 1, 0)));
    filter.extend([libc::SECCOMP_RET_ALLOW, libc::SECCOMP_RET_KILL_PROCESS].map(end));
    filter.push(end(libc::SECCOMP_RET_TRACE));
    filter
}

fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

/// Makes the calling process stop at system calls. A process without privileges has to
/// promise first that it will never have more.
fn stop_at(filter: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the pointer is to a live local, and what it points to lives as long.
    let set = || unsafe {
        let mode = libc::SECCOMP_MODE_FILTER;
        check(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program).into()).map(drop)
    };
    match set() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            // SAFETY: the call takes plain numbers.
            check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
            set()
        }
        set => set,
    }
}

/// Lets a thread continue until its next stop. It is not an error if it is gone.
fn go_on(thread: libc::pid_t, signal: i32) -> io::Result<()> {
    // SAFETY: the call takes plain numbers.
    let done = check(unsafe { libc::ptrace(libc::PTRACE_CONT, thread, 0, signal) });
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

/// The entry point of the loaded program, from the auxiliary vector.
fn entry(pid: libc::pid_t) -> io::Result<u64> {
    let auxiliary = std::fs::read(format!("/proc/{pid}/auxv"))?;
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).unwrap_or_default();
    let mut entries = auxiliary.chunks_exact(16).map(|entry| entry.split_at(8));
    let found = entries.find(|(kind, _)| number(kind) == libc::AT_ENTRY);
    found.map(|(_, value)| number(value)).ok_or_else(|| io::ErrorKind::NotFound.into())
}
