//! The helper process: the side that asks ([`Helper`]) and the loop of the
//! side that spawns ([`serve`]).
//!
//! They talk over a socket pair, as `wire` has it.

use std::cell::RefCell;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use super::counter::Counters;
use super::known::{Received, Sent};
use super::launch::{ExecArgs, Launch};
#[cfg(not(target_os = "linux"))]
use super::plain::Spawner;
#[cfg(target_os = "linux")]
use super::spawn::Spawner;
use super::unix::{self, Child, Fork};
use super::wire::{
    Refused, Request, decode_reply, decode_request, encode_reply, encode_request, read_frame,
};
use super::{Command, Exit, Interrupt, LOOK_AT_OUTPUT, MOST_OUTPUT, Outcome, RunError, Sink};

/// How long a group has between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// The asking side of the helper process. Dropping it ends the helper and
/// whatever it runs.
#[derive(Debug)]
pub struct Helper {
    socket: UnixStream,
    pid: i32,
    running: &'static AtomicI32,
    /// The programs that it knows.
    sent: RefCell<Sent>,
    /// Another helper, for what is to run at the same time.
    twin: Option<Box<Helper>>,
}

impl Helper {
    /// Forks the helper, and its twin. To be called on the first line of
    /// `main`: while the process is small, and has one thread.
    ///
    /// # Errors
    /// When the system refuses a process or a socket.
    pub fn start() -> io::Result<Self> {
        let twin = Helper::fork(None)?;
        Helper::fork(Some(twin))
    }

    fn fork(twin: Option<Helper>) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let running = unix::shared_cell()?;
        match unix::fork()? {
            Fork::Parent(pid) => {
                let (sent, twin) = (RefCell::default(), twin.map(Box::new));
                Ok(Helper { socket: ours, pid, running, sent, twin })
            }
            Fork::Child => {
                drop(ours);
                // Open here too, the twin's would never read as closed.
                if let Some(twin) = twin {
                    unix::close(twin.into_socket());
                }
                serve(theirs, running);
                unix::exit_now(0)
            }
        }
    }

    /// Runs `command` to its end.
    ///
    /// # Errors
    /// See [`RunError`]. A program that ran and failed is an [`Outcome`].
    pub fn run(&self, command: &Command, interrupt: &Interrupt) -> Result<Outcome, RunError> {
        interrupt.check()?;
        let program = self.send(command)?;
        self.receive(command, program, interrupt)
    }

    /// Runs two commands at the same time, each to its end; the first is
    /// started first, by less than a millisecond.
    ///
    /// # Errors
    /// As [`Helper::run`], of the first that fails; the other one is ended.
    pub fn run_both(
        &self,
        commands: [&Command; 2],
        interrupt: &Interrupt,
    ) -> Result<[Outcome; 2], RunError> {
        let [first, second] = commands;
        let Some(twin) = &self.twin else {
            return Ok([self.run(first, interrupt)?, self.run(second, interrupt)?]);
        };
        interrupt.check()?;
        let program = self.send(first)?;
        let sent = twin.send(second);
        let one = self.receive(first, program, interrupt);
        let program = sent?;
        if one.is_err() {
            twin.stop()?;
        }
        let other = twin.receive(second, program, interrupt);
        Ok([one?, other?])
    }

    /// Asks for a run; the number of its program.
    fn send(&self, command: &Command) -> Result<usize, RunError> {
        let mention = self.sent.borrow_mut().mention(command);
        let frame = encode_request(command, &mention);
        (&self.socket).write_all(&frame).map_err(|error| self.lost(error))?;
        Ok(mention.number())
    }

    /// Ends what is running.
    fn stop(&self) -> Result<(), RunError> {
        (&self.socket).write_all(&0u32.to_ne_bytes()).map_err(|error| self.lost(error))
    }

    fn receive(
        &self,
        command: &Command,
        program: usize,
        interrupt: &Interrupt,
    ) -> Result<Outcome, RunError> {
        let (_, stop) = unix::poll_two(self.socket.as_fd(), interrupt.fd())
            .map_err(|error| self.lost(error))?;
        if stop {
            self.stop()?;
        }
        let reply = read_frame(&mut &self.socket)
            .and_then(|reply| reply.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
            .map_err(|error| self.lost(error))?;
        let outcome = decode_reply(&reply);
        if outcome.is_err() {
            // It may be the description that was refused.
            self.sent.borrow_mut().forget(program);
        }
        interrupt.check()?;
        let name = || command.argv.first().map_or(String::new(), |p| p.to_string_lossy().into());
        outcome.map_err(|refused| match refused {
            Refused::Spawn(source) => RunError::Spawn { program: name(), source },
            Refused::Count(source) => RunError::Count { program: name(), source },
        })
    }

    /// Its socket alone, of a helper that is another process's to end.
    fn into_socket(self) -> i32 {
        let socket = self.socket.as_raw_fd();
        std::mem::forget(self);
        socket
    }

    /// The helper went away under us: end what it was running.
    fn lost(&self, error: io::Error) -> RunError {
        unix::signal_group(self.running.load(Ordering::Acquire), libc::SIGKILL);
        RunError::Helper(error)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        unix::wait_for(self.pid);
    }
}

/// The signals that the helper survives: what a terminal sends to all at
/// once, SIGPIPE, and SIGCHLD, which is to interrupt its waiting.
const SURVIVED: [i32; 7] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGTSTP,
    libc::SIGPIPE,
    libc::SIGCHLD,
];

/// The helper's life: one request after the other until the socket closes.
fn serve(socket: UnixStream, running: &AtomicI32) {
    // What was ignored (by `nohup`, say) stays so, also for the programs; but
    // SIGPIPE is only ignored because this program is written in Rust.
    let ours = |&signal: &i32| {
        [libc::SIGPIPE, libc::SIGCHLD].contains(&signal) || !unix::is_ignored(signal)
    };
    unix::survive(SURVIVED.into_iter().filter(ours));
    unix::block_sigchld();
    let mut spawner = Spawner::new();
    let mut programs = Received::default();
    while let Ok(Some(fields)) = read_frame(&mut &socket) {
        if fields.is_empty() {
            // "End it" for a program that has ended by itself meanwhile.
            continue;
        }
        let reply = decode_request(fields, &mut programs).map_err(Refused::Spawn);
        let reply = reply.and_then(|(request, program)| {
            answer(&request, program, &mut spawner, &socket, running)
        });
        if (&socket).write_all(&encode_reply(&reply)).is_err() {
            return;
        }
    }
}

/// Spawns, waits, clears up.
fn answer(
    request: &Request,
    program: &ExecArgs,
    spawner: &mut Spawner,
    socket: &UnixStream,
    running: &AtomicI32,
) -> Result<Outcome, Refused> {
    let files = [input(request)?, open(&request.stdout)?, open(&request.stderr)?];
    let kept = [&request.stdout, &request.stderr].map(|sink| matches!(sink, Sink::File(_)));
    let launch = Launch::new(program, files, request.isolation.ready())?;
    let printed = Printed::new(kept.into_iter().zip(&launch.files[1..]))?;
    unix::adopt_orphans(request.sweep);
    let counters = Counters::open(&request.counters).map_err(Refused::Count)?;
    let (child, start) = spawner.spawn(&launch, running)?;
    let (end, why) = wait(&child, start, request.timeout, &printed, socket);
    let wall = end.duration_since(start).as_secs_f64();
    // The group is ended, and forgotten, before its leader is reaped: till
    // then no other process can have taken its number.
    unix::signal_group(child.pid, libc::SIGKILL);
    running.store(0, Ordering::Release);
    let (exit, usage) = unix::reap(child.pid)?;
    let left_behind = if request.sweep { end_orphans() } else { 0 };
    let counts = counters.read().map_err(Refused::Count)?;
    let timed_out = why == Some(Ended::Late);
    let printed_too_much = why == Some(Ended::Talkative) || printed.is_too_much();
    Ok(Outcome { exit, wall, usage, timed_out, printed_too_much, left_behind, counts })
}

fn input(request: &Request) -> io::Result<OwnedFd> {
    match &request.stdin {
        None => open(&Sink::Null),
        Some(path) => Ok(std::fs::File::open(path)?.into()),
    }
}

fn open(sink: &Sink) -> io::Result<OwnedFd> {
    let mut options = std::fs::OpenOptions::new();
    Ok(match sink {
        Sink::Null => options.read(true).write(true).open("/dev/null")?.into(),
        Sink::Stderr => io::stderr().as_fd().try_clone_to_owned()?,
        Sink::File(path) => options.append(true).create(true).open(path)?.into(),
    })
}

/// The files that a program prints to.
struct Printed(Vec<std::fs::File>);

impl Printed {
    fn new<'a>(files: impl Iterator<Item = (bool, &'a OwnedFd)>) -> io::Result<Self> {
        let kept = files.filter(|(kept, _)| *kept);
        let kept = kept.map(|(_, file)| file.try_clone().map(std::fs::File::from));
        Ok(Printed(kept.collect::<io::Result<_>>()?))
    }

    fn is_too_much(&self) -> bool {
        let size = |file: &std::fs::File| file.metadata().map_or(0, |about| about.len());
        self.0.iter().any(|file| size(file) > MOST_OUTPUT)
    }
}

/// Why a program was ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// Its time was over.
    Late,
    /// It printed too much.
    Talkative,
    /// The asking side wanted it or was gone.
    Asked,
}

/// Waits until the child has ended, and ends its group when its time is over,
/// it prints too much, or the asking side wants it or is gone. When it ended,
/// and why, if not by itself.
fn wait(
    child: &Child,
    start: Instant,
    timeout: Option<Duration>,
    printed: &Printed,
    socket: &UnixStream,
) -> (Instant, Option<Ended>) {
    let mut due = timeout.map(|timeout| start + timeout);
    let mut look = (!printed.0.is_empty()).then(|| start + LOOK_AT_OUTPUT);
    let mut control = Some(socket.as_fd());
    let mut why = None;
    loop {
        let next = [due, look].into_iter().flatten().min();
        let patience = next.map(|next| next.saturating_duration_since(Instant::now()));
        let seen = unix::wait_for_event(child, control, patience);
        if seen.ended {
            return (seen.at, why);
        }
        let late = due.is_some_and(|due| due <= seen.at);
        let mut talkative = false;
        if look.is_some_and(|look| look <= seen.at) {
            talkative = why.is_none() && printed.is_too_much();
            look = Some(seen.at + LOOK_AT_OUTPUT);
        }
        if !seen.asked && !late && !talkative {
            continue;
        }
        // A closed socket can be read for ever. Nobody holds the lock of the
        // cache any more, so the next one may be about to begin.
        let is_alone = seen.asked && !matches!(read_frame(&mut &*socket), Ok(Some(_)));
        if is_alone {
            control = None;
        }
        let is_first = why.is_none();
        why = why.or(Some(match (seen.asked, talkative) {
            (true, _) => Ended::Asked,
            (false, true) => Ended::Talkative,
            (false, false) => Ended::Late,
        }));
        look = None;
        if !is_first || is_alone || talkative {
            // Its grace is over, nobody is there any more to grant it, or it
            // would use it to print on.
            due = None;
            unix::signal_group(child.pid, libc::SIGKILL);
        } else {
            due = Some(seen.at + GRACE);
            unix::signal_group(child.pid, libc::SIGTERM);
        }
    }
}

/// Ends and reaps what the run left to us; how many there were that had not
/// ended by themselves.
fn end_orphans() -> u32 {
    let mut count = 0;
    if !unix::has_children() {
        return count;
    }
    // A family that forks faster than it dies is given up on after a while.
    for _ in 0..1000 {
        let children = children();
        if children.is_empty() {
            break;
        }
        for pid in children {
            unix::kill(pid);
            let exit = unix::reap(pid).map(|(exit, _)| exit);
            count += u32::from(exit.is_ok_and(|exit| exit == Exit::Signal(libc::SIGKILL)));
        }
    }
    count
}

/// The children of this process, which has one thread.
fn children() -> Vec<i32> {
    let list = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
