//! What the helper and the side that asks say to each other: frames, each a
//! list of byte strings. A program is described once (see `known`). While a program runs, an empty frame means "end it",
//! and a closed socket means that the asking side is gone: end it and go too.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use super::counter::{Count, Counter};
use super::known::{Mention, Received, entry};
use super::launch::ExecArgs;
use super::{Command, Exit, Isolation, Outcome, Sink, Usage};

/// Why there is no outcome.
pub(super) enum Refused {
    /// The program could not be started.
    Spawn(io::Error),
    /// It could not be counted.
    Count(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused::Spawn(error)
    }
}

fn encode(fields: &[&[u8]]) -> Vec<u8> {
    let size: usize = fields.iter().map(|field| field.len() + 4).sum();
    let mut frame = Vec::with_capacity(size + 4);
    frame.extend((size as u32).to_ne_bytes());
    for field in fields {
        frame.extend((field.len() as u32).to_ne_bytes());
        frame.extend_from_slice(field);
    }
    frame
}

/// Reads one frame; `None` when the other side has closed between frames.
pub(super) fn read_frame(from: &mut impl Read) -> io::Result<Option<Vec<Vec<u8>>>> {
    let mut size = [0; 4];
    match from.read_exact(&mut size) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let mut body = vec![0; u32::from_ne_bytes(size) as usize];
    from.read_exact(&mut body)?;
    let mut fields = Vec::new();
    let mut rest = body.as_slice();
    while let Some((length, tail)) = rest.split_first_chunk::<4>() {
        let length = u32::from_ne_bytes(*length) as usize;
        let field = tail.get(..length).ok_or(io::ErrorKind::InvalidData)?;
        fields.push(field.to_vec());
        rest = &tail[length..];
    }
    Ok(Some(fields))
}

/// What the helper is asked to run.
pub(super) struct Request {
    pub(super) stdin: Option<PathBuf>,
    pub(super) stdout: Sink,
    pub(super) stderr: Sink,
    pub(super) timeout: Option<Duration>,
    pub(super) sweep: bool,
    pub(super) isolation: Isolation,
    pub(super) counters: Vec<Counter>,
}

/// Before the description of a program that is not known yet.
const NEW: u8 = 1;

/// The fields: the program's number and whether it is new; input, outputs,
/// timeout, sweep, isolation and counters. Then of a new program the folder, the
/// number of arguments, the arguments and the environment; of a known one the
/// places of the variables that have changed, each followed by the variable.
pub(super) fn encode_request(command: &Command, mention: &Mention) -> Vec<u8> {
    let mut program = (mention.number() as u32).to_ne_bytes().to_vec();
    program.push(if matches!(mention, Mention::New(_)) { NEW } else { 0 });
    let timeout = command.timeout.map_or(u64::MAX, |limit| limit.as_nanos() as u64).to_ne_bytes();
    let sweep = [u8::from(command.sweep)];
    let counters: Vec<u8> = command.counters.iter().flat_map(|c| c.encode()).collect();
    let (stdout, stderr) = (encode_sink(&command.stdout), encode_sink(&command.stderr));
    // No file's path is empty.
    let stdin = command.stdin.as_ref().map_or(&[][..], |path| path.as_os_str().as_bytes());
    let isolation = command.isolation.encode();
    let mut fields: Vec<&[u8]> =
        vec![&program, stdin, &stdout, &stderr, &timeout, &sweep, &isolation, &counters];
    let count = (command.argv.len() as u32).to_ne_bytes();
    let numbers: Vec<[u8; 4]>;
    let entries: Vec<Vec<u8>>;
    match mention {
        Mention::New(_) => {
            fields.extend([command.cwd.as_os_str().as_bytes(), &count]);
            fields.extend(command.argv.iter().map(|word| word.as_bytes()));
            entries = command.env.iter().map(entry).collect();
            fields.extend(entries.iter().map(Vec::as_slice));
        }
        Mention::Known(_, changes) => {
            numbers = changes.iter().map(|&at| (at as u32).to_ne_bytes()).collect();
            entries = changes.iter().map(|&at| entry(&command.env[at])).collect();
            let each = numbers.iter().zip(&entries);
            fields.extend(each.flat_map(|(at, entry)| [at.as_slice(), entry.as_slice()]));
        }
    }
    encode(&fields)
}

/// Reads a request: the run, and the program, which is known from now on.
pub(super) fn decode_request(
    fields: Vec<Vec<u8>>,
    programs: &mut Received,
) -> io::Result<(Request, &ExecArgs)> {
    let mut fields = fields.into_iter();
    let program: Option<[u8; 5]> = fields.next().and_then(|field| field.try_into().ok());
    let [number @ .., is_new] = program.ok_or(io::ErrorKind::InvalidData)?;
    let number = u32::from_ne_bytes(number) as usize;
    let request = read_run(&mut fields).ok_or(io::ErrorKind::InvalidData)?;
    let program = match is_new {
        NEW => programs.put(number, read_program(fields)?),
        _ => programs.change(number, read_changes(fields)?)?,
    };
    Ok((request, program))
}

fn read_run(fields: &mut impl Iterator<Item = Vec<u8>>) -> Option<Request> {
    let stdin = Some(fields.next()?).filter(|path| !path.is_empty());
    let stdin = stdin.map(|path| OsString::from_vec(path).into());
    let stdout = decode_sink(&fields.next()?)?;
    let stderr = decode_sink(&fields.next()?)?;
    let timeout = u64::from_ne_bytes(fields.next()?.try_into().ok()?);
    let sweep = fields.next()? == [1];
    let isolation = Isolation::decode(&fields.next()?)?;
    let counters = fields.next()?;
    let (counters, []) = counters.as_chunks::<10>() else { return None };
    let counters = counters.iter().map(Counter::decode).collect::<Option<_>>()?;
    let timeout = (timeout != u64::MAX).then(|| Duration::from_nanos(timeout));
    Some(Request { stdin, stdout, stderr, timeout, sweep, isolation, counters })
}

fn read_program(mut fields: impl Iterator<Item = Vec<u8>>) -> io::Result<ExecArgs> {
    let mut next = || fields.next().ok_or(io::ErrorKind::InvalidData);
    let (cwd, count) = (CString::new(next()?)?, read_number(next()?)?);
    let mut strings = fields.map(CString::new);
    let argv = strings.by_ref().take(count).collect::<Result<_, _>>()?;
    Ok(ExecArgs { argv, env: strings.collect::<Result<_, _>>()?, cwd })
}

fn read_changes(mut fields: impl Iterator<Item = Vec<u8>>) -> io::Result<Vec<(usize, CString)>> {
    let mut changes = Vec::new();
    while let Some(at) = fields.next() {
        let variable = fields.next().ok_or(io::ErrorKind::InvalidData)?;
        changes.push((read_number(at)?, CString::new(variable)?));
    }
    Ok(changes)
}

fn read_number(field: Vec<u8>) -> io::Result<usize> {
    let number = field.try_into().map_err(|_| io::ErrorKind::InvalidData)?;
    Ok(u32::from_ne_bytes(number) as usize)
}

fn encode_sink(sink: &Sink) -> Vec<u8> {
    match sink {
        Sink::Null => b"n".to_vec(),
        Sink::Stderr => b"e".to_vec(),
        Sink::File(path) => [b"f", path.as_os_str().as_bytes()].concat(),
    }
}

fn decode_sink(field: &[u8]) -> Option<Sink> {
    match field.split_first()? {
        (b'n', _) => Some(Sink::Null),
        (b'e', _) => Some(Sink::Stderr),
        (b'f', path) => Some(Sink::File(OsStr::from_bytes(path).into())),
        _ => None,
    }
}

pub(super) fn encode_reply(reply: &Result<Outcome, Refused>) -> Vec<u8> {
    // Only the number can cross; an error without one is our own.
    let number = |error: &io::Error| error.raw_os_error().unwrap_or(libc::EINVAL).to_ne_bytes();
    let outcome = match reply {
        Err(Refused::Spawn(error)) => return encode(&[&number(error)]),
        Err(Refused::Count(error)) => return encode(&[&number(error), b"count"]),
        Ok(outcome) => outcome,
    };
    let (kind, number) = match outcome.exit {
        Exit::Code(code) => (0, code),
        Exit::Signal(signal) => (1, signal),
    };
    let usage = outcome.usage;
    let whole = [
        usage.max_rss,
        usage.minor_faults,
        usage.major_faults,
        usage.voluntary_switches,
        usage.involuntary_switches,
        u64::from(outcome.left_behind),
    ];
    let whole: Vec<u8> = whole.into_iter().flat_map(u64::to_ne_bytes).collect();
    let seconds = [outcome.wall, usage.user, usage.sys];
    let seconds: Vec<u8> = seconds.into_iter().flat_map(f64::to_ne_bytes).collect();
    let counts: Vec<u8> = outcome.counts.iter().flat_map(|count| count.encode()).collect();
    let flags = [kind, u8::from(outcome.timed_out), u8::from(outcome.printed_too_much)];
    encode(&[&flags, &number.to_ne_bytes(), &seconds, &whole, &counts])
}

pub(super) fn decode_reply(fields: &[Vec<u8>]) -> Result<Outcome, Refused> {
    let error = |number: &Vec<u8>| match number.as_slice().try_into() {
        Ok(number) => io::Error::from_raw_os_error(i32::from_ne_bytes(number)),
        Err(_) => io::ErrorKind::InvalidData.into(),
    };
    match fields {
        [number] => Err(Refused::Spawn(error(number))),
        [number, _] => Err(Refused::Count(error(number))),
        fields => {
            read_outcome(fields).ok_or_else(|| Refused::Spawn(io::ErrorKind::InvalidData.into()))
        }
    }
}

fn read_outcome(fields: &[Vec<u8>]) -> Option<Outcome> {
    let [flags, number, seconds, whole, counts] = fields else {
        return None;
    };
    let &[kind, timed_out, printed_too_much] = flags.as_slice() else {
        return None;
    };
    let number = i32::from_ne_bytes(number.as_slice().try_into().ok()?);
    let (&[wall, user, sys], []) = seconds.as_chunks::<8>() else {
        return None;
    };
    let (&[max_rss, minor, major, voluntary, involuntary, left_behind], []) =
        whole.as_chunks::<8>()
    else {
        return None;
    };
    let (counts, []) = counts.as_chunks::<24>() else {
        return None;
    };
    Some(Outcome {
        exit: if kind == 0 { Exit::Code(number) } else { Exit::Signal(number) },
        wall: f64::from_ne_bytes(wall),
        usage: Usage {
            user: f64::from_ne_bytes(user),
            sys: f64::from_ne_bytes(sys),
            max_rss: u64::from_ne_bytes(max_rss),
            minor_faults: u64::from_ne_bytes(minor),
            major_faults: u64::from_ne_bytes(major),
            voluntary_switches: u64::from_ne_bytes(voluntary),
            involuntary_switches: u64::from_ne_bytes(involuntary),
        },
        timed_out: timed_out == 1,
        printed_too_much: printed_too_much == 1,
        left_behind: u64::from_ne_bytes(left_behind) as u32,
        counts: counts.iter().map(Count::decode).collect(),
    })
}
