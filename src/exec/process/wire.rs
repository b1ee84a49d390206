//! The messages between the helper and the side that asks it: each is a length
//! and the message in postcard's encoding.
//!
//! The asking side sends a [`Message`] and reads one [`Reply`] for each
//! [`Message::Run`]. A closed socket tells the helper that the asking side is
//! gone: it ends the program that is running and itself.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::command::Command;
use super::launch::ExecArgs;
use super::outcome::RunOutcome;

/// What the asking side sends.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Message {
    Run {
        /// The number of the program, and the program unless the helper has it under this number.
        number: usize,
        program: Option<ExecArgs>,
        /// How it is run: a command without its program.
        how: Box<Command>,
    },
    /// End the program that is running. Ignored if it has just ended by itself.
    Stop,
}

impl Message {
    /// The request of a run. Arguments and environment, which are long, are not even copied.
    pub(super) fn run(command: &Command, number: usize, program: Option<ExecArgs>) -> Self {
        let how = Box::new(Command {
            argv: Vec::new(),
            env: Vec::new(),
            cwd: PathBuf::new(),
            stdin: command.stdin.clone(),
            stdout: command.stdout.clone(),
            stderr: command.stderr.clone(),
            timeout: command.timeout,
            sweep: command.sweep,
            peak: command.peak,
            counters: command.counters.clone(),
            isolation: command.isolation.clone(),
        });
        Message::Run { number, program, how }
    }
}

/// What the helper answers.
pub(super) type Reply = Result<RunOutcome, LaunchError>;

/// Why there is no outcome, with the system's error number: an [`io::Error`]
/// can't be sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum LaunchError {
    /// The program could not be started.
    Spawn(i32),
    /// The program could not be counted.
    Count(i32),
}

impl LaunchError {
    pub(super) fn count(error: io::Error) -> Self {
        LaunchError::Count(number(&error))
    }
}

impl From<io::Error> for LaunchError {
    fn from(error: io::Error) -> Self {
        LaunchError::Spawn(number(&error))
    }
}

/// The system's number of an error. An error without one is our own.
fn number(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EINVAL)
}

pub(super) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut frame = Vec::with_capacity(128);
    frame.extend([0; 4]);
    let mut frame = postcard::to_extend(message, frame).map_err(invalid)?;
    let length = (frame.len() - 4) as u32;
    frame[..4].copy_from_slice(&length.to_ne_bytes());
    to.write_all(&frame)
}

/// Reads one message. `None` if the other side has closed the socket between
/// messages.
pub(super) fn receive<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let mut message = vec![0; u32::from_ne_bytes(length) as usize];
    from.read_exact(&mut message)?;
    postcard::from_bytes(&message).map(Some).map_err(invalid)
}

fn invalid(error: postcard::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use super::super::counter::{Counter, CounterEvent, CounterReading};
    use super::super::{Exit, Isolation, Sink, Usage};
    use super::*;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::time::Duration;

    #[track_caller]
    fn assert_survives<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(message: T) {
        let mut socket = Vec::new();
        send(&mut socket, &message).unwrap();
        let mut socket = socket.as_slice();
        assert_eq!(receive(&mut socket).unwrap(), Some(message));
        assert_eq!(receive::<T>(&mut socket).unwrap(), None);
    }

    #[test]
    fn what_is_sent_is_what_arrives() {
        // No text in any encoding.
        let bytes = OsString::from_vec(vec![b'/', 0xff, 0xfe, b'=']);
        let counter = |event, kernel| Counter { event, kernel };
        let command = Command {
            argv: vec![bytes.clone()],
            env: vec![("A".into(), bytes.clone())],
            stdin: Some(bytes.clone()),
            stdout: Sink::File(bytes.into()),
            stderr: Sink::Stderr,
            timeout: Some(Duration::from_nanos(u64::MAX)),
            sweep: true,
            peak: true,
            isolation: Isolation { fixed_addresses: true, cpus: vec![3, 300], nice: -20 },
            counters: vec![
                counter(CounterEvent::of("branch_misses"), false),
                counter(CounterEvent::CONTEXT_SWITCHES, true),
                counter(CounterEvent::raw(u64::MAX), false),
            ],
            ..Command::default()
        };
        let shortest = Command { argv: vec!["/".into()], ..Command::default() };
        for command in [command, shortest] {
            let program = Some(ExecArgs::new(&command).unwrap());
            assert_survives(Message::run(&command, 3, program));
        }
        assert_survives(Message::Stop);
        let outcome = RunOutcome {
            exit: Exit::Signal(9),
            wall: 0.1 + 0.2,
            usage: Usage { user: f64::MIN_POSITIVE, max_rss: u64::MAX, ..Usage::default() },
            timed_out: true,
            printed_too_much: false,
            left_behind: 3,
            counts: vec![CounterReading { value: 1 << 60, enabled: 3, running: 2 }],
        };
        assert_survives::<Reply>(Ok(outcome));
        assert_survives::<Reply>(Err(LaunchError::Spawn(libc::ENOENT)));
        assert_survives::<Reply>(Err(LaunchError::count(io::ErrorKind::Other.into())));
    }

    #[test]
    fn half_a_message_is_an_error() {
        let mut socket = Vec::new();
        send(&mut socket, &Message::Stop).unwrap();
        assert!(receive::<Message>(&mut &socket[..socket.len() - 1]).is_err());
        socket[4] = 7;
        assert!(receive::<Message>(&mut socket.as_slice()).is_err());
    }
}
