//! The helper process: the side that asks ([`Helper`]) and the loop of the side
//! that spawns ([`serve`]). They send each other `wire`'s messages over a pair of
//! sockets.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::command::{Command, Sink};
use super::counter::{CounterEvent, OpenCounters};
use super::exit::Exit;
use super::interrupt::Interrupt;
use super::launch::{ExecArgs, Launch};
use super::outcome::{MOST_OUTPUT, RunError, RunOutcome};
#[cfg(not(target_os = "linux"))]
use super::plain::StdSpawner as Spawner;
#[cfg(target_os = "linux")]
use super::spawn::Spawner;
use super::unix::{self, Child};
use super::wire::{LaunchError, Message, Reply, receive, send};

/// How much time a process group has between SIGTERM and SIGKILL, and how much later than the
/// program this process may get the signal that all processes of a job get.
const GRACE: Duration = Duration::from_secs(2);

/// How long the helper may be late, before it is continued, then its program ended, and then
/// itself: a program can stop its parent.
const PATIENCE: Duration = Duration::from_secs(4);

/// How often to look how much a program has printed. Rarely, since each look
/// takes processor time; a shorter run is not looked at.
const LOOK_AT_OUTPUT: Duration = Duration::from_millis(250);

/// The asking side of the helper process. Dropping it ends the helper and
/// whatever it runs.
#[derive(Debug)]
pub struct Helper {
    socket: UnixStream,
    pid: i32,
    running: &'static AtomicI32,
    sent: RefCell<Sent>,
}

/// The number of programs that the helper keeps: those of both sides and what runs in between.
const KEPT: usize = 8;

/// The programs that the helper keeps, by their numbers.
#[derive(Debug, Default)]
struct Sent(Vec<Command>);

impl Sent {
    /// The number of a command's program, and the program unless the helper has it.
    fn number(&mut self, command: &Command) -> io::Result<(usize, Option<ExecArgs>)> {
        let Command { argv, env, cwd, .. } = command;
        let is_same = |sent: &Command| sent.argv == *argv && sent.env == *env && sent.cwd == *cwd;
        if let Some(number) = self.0.iter().position(is_same) {
            return Ok((number, None));
        }
        let program = ExecArgs::new(command)?;
        if self.0.len() == KEPT {
            self.0.clear();
        }
        self.0.push(command.clone());
        Ok((self.0.len() - 1, Some(program)))
    }
}

impl Helper {
    /// Forks the helper. Call it before anything else, while the process is
    /// small and has one thread.
    ///
    /// # Errors
    /// When the system refuses a process or a socket.
    pub fn start() -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let running = unix::shared_cell()?;
        match unix::fork()? {
            Some(pid) => Ok(Helper { socket, pid, running, sent: RefCell::default() }),
            None => {
                drop(socket);
                serve(theirs, running);
                unix::exit_now(0)
            }
        }
    }

    /// Runs `command` to its end.
    ///
    /// # Errors
    /// See [`RunError`]. A program that ran and failed is an [`RunOutcome`].
    pub fn run(&self, command: &Command, interrupt: &Interrupt) -> Result<RunOutcome, RunError> {
        interrupt.check()?;
        self.send(command)?;
        self.receive(command, interrupt)
    }

    /// Asks for a run.
    fn send(&self, command: &Command) -> Result<(), RunError> {
        let found = self.sent.borrow_mut().number(command);
        let (number, program) = found.map_err(|source| spawn_error(command, source))?;
        let message = Message::run(command, number, program);
        send(&mut &self.socket, &message).map_err(|error| self.lost(error))
    }

    /// Waits for the outcome of the run that was asked for.
    fn receive(&self, command: &Command, interrupt: &Interrupt) -> Result<RunOutcome, RunError> {
        self.wait(command.timeout, interrupt).map_err(|error| self.lost(error))?;
        // Nothing follows a reply until the next request.
        let reply: Reply = receive(&mut BufReader::with_capacity(256, &self.socket))
            .and_then(|reply| reply.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
            .map_err(|error| self.lost(error))?;
        if reply.as_ref().is_ok_and(RunOutcome::may_share_a_signal) {
            interrupt.wait(GRACE).map_err(RunError::Helper)?;
        }
        interrupt.check()?;
        reply.map_err(|error| match error {
            LaunchError::Spawn(number) => {
                spawn_error(command, io::Error::from_raw_os_error(number))
            }
            LaunchError::Count(number) => RunError::Count {
                program: command.name(),
                source: io::Error::from_raw_os_error(number),
            },
        })
    }

    /// Waits until the reply can be read, and passes on an interrupt. Not longer than the program
    /// may take: by then the helper has been stopped, most likely by the program.
    fn wait(&self, timeout: Option<Duration>, interrupt: &Interrupt) -> io::Result<()> {
        let mut patience = timeout.map(|timeout| timeout.saturating_add(PATIENCE));
        let (mut is_told, mut late) = (false, 0);
        loop {
            let other = if is_told { self.socket.as_fd() } else { interrupt.fd() };
            let (replied, stop) = unix::poll_two(self.socket.as_fd(), other, patience)?;
            if replied {
                return Ok(());
            }
            if stop {
                send(&mut &self.socket, &Message::Stop)?;
                is_told = true;
            } else {
                late += 1;
            }
            patience = Some(PATIENCE);
            if late > 1 {
                unix::signal_group(self.running.load(Ordering::Acquire), Signal::KILL);
            }
            if late > 2 {
                unix::signal(self.pid, Signal::KILL);
                return Err(io::Error::other("it was stopped by a signal"));
            }
            unix::signal(self.pid, Signal::CONT);
        }
    }

    /// Ends the program that was running when the helper went away.
    fn lost(&self, error: io::Error) -> RunError {
        unix::signal_group(self.running.load(Ordering::Acquire), Signal::KILL);
        RunError::Helper(error)
    }
}

fn spawn_error(command: &Command, source: io::Error) -> RunError {
    RunError::Spawn { program: command.name(), source }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        unix::signal(self.pid, Signal::CONT);
        let _ = unix::reap(self.pid);
    }
}

/// The signals that the helper survives: those that a terminal sends to all
/// processes at once, SIGPIPE, and SIGCHLD, which interrupts its waiting.
const SURVIVED: [i32; 7] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGTSTP,
    libc::SIGPIPE,
    libc::SIGCHLD,
];

/// What the asking side sends. A message may have been read together with the one before it.
type Requests<'s> = BufReader<&'s UnixStream>;

/// Answers one request after the other until the socket closes.
fn serve(socket: UnixStream, running: &AtomicI32) {
    // A signal that was ignored from the start (by `nohup`, say) stays ignored, for
    // the programs too. SIGPIPE is only ignored because this program is in Rust.
    let ours = |&signal: &i32| {
        [libc::SIGPIPE, libc::SIGCHLD].contains(&signal) || !unix::is_ignored(signal)
    };
    unix::survive(SURVIVED.into_iter().filter(ours));
    // So that it arrives only inside `wait_for_event`, and none is lost between looking and waiting.
    unix::mask(libc::SIG_BLOCK, libc::SIGCHLD);
    let mut spawner = Spawner::new();
    let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") else {
        return;
    };
    let mut kept = BTreeMap::new();
    let mut requests = BufReader::new(&socket);
    while let Ok(Some(message)) = receive(&mut requests) {
        // "Stop" is for a program that has ended by itself meanwhile.
        let Message::Run { number, program, how } = message else { continue };
        kept.extend(program.map(|program| (number, program)));
        // The asking side is about to sleep. If it still waits for this processor when the program is
        // executed, the kernel moves the program to another one, which takes as long as all the rest.
        std::thread::yield_now();
        let reply = answer(&how, &kept[&number], &mut spawner, (&mut requests, &null), running);
        if send(&mut &socket, &reply).is_err() {
            return;
        }
    }
}

/// Starts a program, waits for its end and cleans up after it.
fn answer(
    request: &Command,
    program: &ExecArgs,
    spawner: &mut Spawner,
    (requests, null): (&mut Requests<'_>, &File),
    running: &AtomicI32,
) -> Reply {
    let stdin = request.stdin.as_ref().map(File::open).transpose()?;
    let opened = [stdin, open(&request.stdout)?, open(&request.stderr)?];
    let files = opened.each_ref().map(|file| file.as_ref().unwrap_or(null).as_fd());
    let kept = [(&request.stdout, &opened[1]), (&request.stderr, &opened[2])];
    let kept = kept.into_iter().filter(|(sink, _)| matches!(sink, Sink::File(_)));
    let output: Vec<&File> = kept.filter_map(|(_, file)| file.as_ref()).collect();
    // The stop that this takes would be counted, too.
    let switches = CounterEvent::CONTEXT_SWITCHES;
    let stays = request.counters.iter().all(|counter| counter.event != switches);
    let (isolation, peak) = (&request.isolation, request.peak);
    let launch = Launch { args: program, files, isolation, peak, stays };
    unix::adopt_orphans(request.sweep);
    let counters = OpenCounters::open(&request.counters).map_err(LaunchError::count)?;
    let (child, start) = spawner.spawn(&launch, running)?;
    let (end, why) = wait(&child, start, request.timeout, &output, requests);
    let wall = end.duration_since(start).as_secs_f64();
    // The group is ended and forgotten before its leader is reaped: until then no
    // other process can get its number.
    unix::signal_group(child.pid, Signal::KILL);
    running.store(0, Ordering::Release);
    let (exit, usage) = spawner.reap(child.pid, wall)?;
    let left_behind = if request.sweep { end_orphans() } else { 0 };
    let counts = counters.read().map_err(LaunchError::count)?;
    let timed_out = why == Some(Ended::TimeOut);
    let printed_too_much = why == Some(Ended::TooMuchOutput) || is_too_much(&output);
    Ok(RunOutcome { exit, wall, usage, timed_out, printed_too_much, left_behind, counts })
}

/// The file of a sink, except for [`Sink::Null`].
fn open(sink: &Sink) -> io::Result<Option<File>> {
    Ok(match sink {
        Sink::Null => None,
        Sink::Stderr => Some(io::stderr().as_fd().try_clone_to_owned()?.into()),
        Sink::File(path) => Some(File::options().append(true).create(true).open(path)?),
    })
}

/// Whether a program has printed too much to one of these files.
fn is_too_much(output: &[&File]) -> bool {
    let size = |file: &File| file.metadata().map_or(0, |about| about.len());
    output.iter().any(|file| size(file) > MOST_OUTPUT)
}

/// Why a program was ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    TimeOut,
    TooMuchOutput,
    /// The asking side sent [`Message::Stop`] or is gone.
    Stopped,
}

/// Waits for the end of the child. Ends its group if its time is up, if it
/// prints too much, or if the asking side says so or is gone. Returns when it
/// ended, and why if not by itself.
fn wait(
    child: &Child,
    start: Instant,
    timeout: Option<Duration>,
    output: &[&File],
    requests: &mut Requests<'_>,
) -> (Instant, Option<Ended>) {
    let mut due = timeout.map(|timeout| start + timeout);
    let mut look = (!output.is_empty()).then(|| start + LOOK_AT_OUTPUT);
    let socket: &UnixStream = requests.get_ref();
    let mut control = Some(socket.as_fd());
    let mut why = None;
    loop {
        let has_message = !requests.buffer().is_empty();
        let next = [due, look].into_iter().flatten().min();
        let patience = next.map(|next| next.saturating_duration_since(Instant::now()));
        let patience = if has_message { Some(Duration::ZERO) } else { patience };
        let seen = unix::wait_for_event(child, control, patience);
        let is_asked = has_message || seen.asked;
        let late = due.is_some_and(|due| due <= seen.at);
        if seen.ended {
            // Its end may be seen too late because it stopped this process.
            return (seen.at, why.or(late.then_some(Ended::TimeOut)));
        }
        let mut too_much = false;
        if look.is_some_and(|look| look <= seen.at) {
            too_much = why.is_none() && is_too_much(output);
            look = Some(seen.at + LOOK_AT_OUTPUT);
        }
        if !is_asked && !late && !too_much {
            continue;
        }
        // A closed socket stays readable. The asking side no longer holds the lock of
        // the cache then, so the next comparison may be about to begin.
        let is_deserted = is_asked && !matches!(receive::<Message>(requests), Ok(Some(_)));
        if is_deserted {
            control = None;
        }
        let is_first = why.is_none();
        why = why.or(Some(match (is_asked, too_much) {
            (true, _) => Ended::Stopped,
            (false, true) => Ended::TooMuchOutput,
            (false, false) => Ended::TimeOut,
        }));
        look = None;
        if !is_first || is_deserted || too_much {
            // Either the grace period is over, or there is none: nobody waits for the
            // program any more, or it would go on printing.
            due = None;
            unix::signal_group(child.pid, Signal::KILL);
        } else {
            due = Some(seen.at + GRACE);
            unix::signal_group(child.pid, Signal::TERM);
        }
    }
}

/// Ends and reaps the processes that the run left behind. Returns how many of
/// them had not ended by themselves.
fn end_orphans() -> u32 {
    let mut count = 0;
    if !unix::has_children() {
        return count;
    }
    // Processes that fork faster than they are ended are given up on after a while.
    for _ in 0..1000 {
        let children = children();
        if children.is_empty() {
            break;
        }
        for pid in children {
            unix::signal(pid, Signal::KILL);
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    #[test]
    fn a_request_to_stop_is_obeyed_that_was_read_together_with_the_run() {
        let helper = Helper::start().unwrap();
        let stopped = Pid::from_raw(helper.pid).unwrap();
        unix::signal(helper.pid, Signal::STOP);
        let how = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(stopped), how).unwrap();
        let command = Command {
            argv: vec!["/bin/sleep".into(), "600".into()],
            cwd: "/".into(),
            timeout: Some(Duration::from_secs(60)),
            ..Command::default()
        };
        helper.send(&command).unwrap();
        send(&mut &helper.socket, &Message::Stop).unwrap();
        unix::signal(helper.pid, Signal::CONT);
        let never = Interrupt::never().unwrap();
        let outcome = helper.receive(&command, &never).unwrap();
        assert_eq!((outcome.exit, outcome.timed_out), (Exit::Signal(libc::SIGTERM), false));
    }

    #[test]
    fn only_a_signal_that_came_from_elsewhere_may_come_here_too() {
        let helper = Helper::start().unwrap();
        let never = Interrupt::never().unwrap();
        let run = |script: &str, timeout: Duration| {
            let argv = ["/bin/sh", "-c", script].map(Into::into).into();
            let timeout = Some(timeout);
            let command = Command { argv, cwd: "/".into(), timeout, ..Command::default() };
            helper.run(&command, &never).unwrap()
        };
        let minute = Duration::from_secs(60);
        assert!(run("kill -TERM $$", minute).may_share_a_signal());
        assert!(!run("kill -KILL $$", minute).may_share_a_signal());
        let late = run("exec sleep 600", Duration::from_millis(1));
        assert_eq!((late.exit, late.timed_out), (Exit::Signal(libc::SIGTERM), true));
        assert!(!late.may_share_a_signal());
    }

    #[test]
    fn a_program_is_sent_once_until_there_are_too_many() {
        let command = |argument: usize| Command {
            argv: vec!["/program".into(), argument.to_string().into()],
            env: vec![("A".into(), "1".into())],
            cwd: "/".into(),
            ..Command::default()
        };
        let mut sent = Sent::default();
        let mut number = |command: &Command| {
            let (number, program) = sent.number(command)?;
            Ok::<_, io::Error>((number, program.is_some()))
        };
        // One that can't be sent is not kept.
        let invalid = Command { argv: vec!["a\0b".into()], ..Command::default() };
        assert!(number(&invalid).is_err() && number(&invalid).is_err());
        for is_new in [true, false] {
            for argument in 0..KEPT {
                assert_eq!(number(&command(argument)).unwrap(), (argument, is_new));
            }
        }
        // Only what the program gets at its exec is part of it.
        let usual = command(0);
        let same = Command { peak: true, timeout: Some(GRACE), ..usual.clone() };
        assert_eq!(number(&same).unwrap(), (0, false));
        let env = vec![("A".into(), "2".into())];
        let others =
            [Command { env, ..usual.clone() }, Command { cwd: "/tmp".into(), ..usual.clone() }];
        for (place, other) in others.iter().chain([&usual]).enumerate() {
            assert_eq!(number(other).unwrap(), (place, true));
        }
    }
}
