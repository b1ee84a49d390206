//! The programs that the helper knows: each is sent to it once, and then named by
//! its number. A run sends only the environment variables that have another value
//! than in the run before.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::Command;
use super::launch::ExecArgs;

/// The helper keeps no more programs than this. It has to stay small: its size is
/// in the peak memory of every program that it starts.
const MOST_PROGRAMS: usize = 16;

/// Nor more bytes of them, one program excepted.
const MOST_BYTES: usize = 128 << 10;

type Variable = (OsString, OsString);

/// What the asking side has sent.
#[derive(Debug, Default)]
pub(super) struct Sent {
    programs: Vec<Program>,
}

#[derive(Debug)]
struct Program {
    argv: Vec<OsString>,
    env: Vec<Variable>,
    cwd: PathBuf,
}

impl Program {
    fn new(command: &Command) -> Self {
        let Command { argv, env, cwd, .. } = command;
        Program { argv: argv.clone(), env: env.clone(), cwd: cwd.clone() }
    }

    /// Whether a command is this program, but for values of its environment.
    fn is(&self, command: &Command) -> bool {
        self.env.len() == command.env.len() && self.argv == command.argv && self.cwd == command.cwd
    }

    fn bytes(&self) -> usize {
        let variables = self.env.iter().map(|(name, value)| name.len() + value.len() + 2);
        let words = self.argv.iter().map(|word| word.len() + 1);
        variables.chain(words).sum::<usize>() + self.cwd.as_os_str().len() + 1
    }
}

/// How to say which program is to be run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mention {
    /// One that is not known. It gets this number; those with this number or a
    /// higher one are forgotten.
    New(usize),
    /// A known one, with other variables in these places.
    Known(usize, Vec<usize>),
}

impl Mention {
    /// The program's number.
    pub(super) fn number(&self) -> usize {
        match self {
            Mention::New(number) | Mention::Known(number, _) => *number,
        }
    }
}

impl Sent {
    /// How to say which program a command runs; from now on it is known.
    pub(super) fn mention(&mut self, command: &Command) -> Mention {
        if let Some(number) = self.programs.iter().position(|program| program.is(command)) {
            let known = &mut self.programs[number].env;
            let others = (0..known.len()).filter(|&at| known[at] != command.env[at]);
            let others: Vec<usize> = others.collect();
            others.iter().for_each(|&at| known[at].clone_from(&command.env[at]));
            return Mention::Known(number, others);
        }
        let program = Program::new(command);
        let bytes = self.programs.iter().chain([&program]).map(Program::bytes).sum::<usize>();
        if self.programs.len() >= MOST_PROGRAMS || bytes > MOST_BYTES {
            self.programs.clear();
        }
        self.programs.push(program);
        Mention::New(self.programs.len() - 1)
    }

    /// Forgets the programs from this number on: the helper may not have them.
    pub(super) fn forget(&mut self, number: usize) {
        self.programs.truncate(number);
    }
}

/// What the helper has received.
#[derive(Debug, Default)]
pub(super) struct Received {
    programs: Vec<ExecArgs>,
}

impl Received {
    /// Takes a new program in the place of all from `number` on.
    pub(super) fn put(&mut self, number: usize, program: ExecArgs) -> &ExecArgs {
        self.programs.truncate(number);
        let last = self.programs.len();
        self.programs.push(program);
        &self.programs[last]
    }

    /// A known program, after changes to its environment: all of them or none.
    pub(super) fn change(
        &mut self,
        number: usize,
        changes: Vec<(usize, CString)>,
    ) -> io::Result<&ExecArgs> {
        let program = self.programs.get_mut(number).ok_or(io::ErrorKind::InvalidData)?;
        if changes.iter().any(|(at, _)| *at >= program.env.len()) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        changes.into_iter().for_each(|(at, variable)| program.env[at] = variable);
        Ok(program)
    }
}

/// A variable as the system takes it.
pub(super) fn entry((name, value): &(impl AsRef<OsStr>, impl AsRef<OsStr>)) -> Vec<u8> {
    [name.as_ref().as_bytes(), b"=", value.as_ref().as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::super::wire::{decode_request, encode_request, read_frame};
    use super::*;

    fn command(program: &str, variables: &[(&str, &str)]) -> Command {
        let env = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Command {
            argv: vec![program.into(), "-x".into()],
            env,
            cwd: "/".into(),
            ..Command::default()
        }
    }

    /// Both sides of the wire.
    #[derive(Default)]
    struct Wire {
        sent: Sent,
        received: Received,
    }

    impl Wire {
        /// Sends a request; the number of its bytes, and what the helper makes of it.
        fn send(&mut self, command: &Command) -> (usize, io::Result<&ExecArgs>) {
            let mention = self.sent.mention(command);
            let frame = encode_request(command, &mention);
            let fields = read_frame(&mut frame.as_slice()).unwrap().unwrap();
            let program = decode_request(fields, &mut self.received).map(|(_, program)| program);
            if program.is_err() {
                self.sent.forget(mention.number());
            }
            (frame.len(), program)
        }

        /// Sends a request and holds what arrives against the command itself; the
        /// number of its bytes.
        #[track_caller]
        fn check(&mut self, command: &Command) -> usize {
            let (bytes, program) = self.send(command);
            let string = |text: &[u8]| CString::new(text).unwrap();
            let expected = ExecArgs {
                argv: command.argv.iter().map(|word| string(word.as_bytes())).collect(),
                env: command.env.iter().map(|variable| string(&entry(variable))).collect(),
                cwd: string(command.cwd.as_os_str().as_bytes()),
            };
            assert_eq!(program.unwrap(), &expected);
            assert_eq!(self.sent.programs.len(), self.received.programs.len());
            bytes
        }
    }

    #[test]
    fn a_program_is_sent_once_and_then_only_what_changes() {
        let mut wire = Wire::default();
        let long = "y".repeat(2000);
        let with =
            |program, padding: &str| command(program, &[("LONG", &long), ("PADDING", padding)]);
        let first = wire.check(&with("base", "x"));
        let other = wire.check(&with("head", "x"));
        assert!(first > 2000 && other > 2000, "{first} {other}");
        for padding in ["x", "xx", "", "xxx", "xxx"] {
            for program in ["head", "base"] {
                let bytes = wire.check(&with(program, padding));
                assert!(bytes < 200, "{program} {padding}: {bytes}");
            }
        }
        // Other arguments, another folder or another variable make another program.
        let usual = with("base", "x");
        let mut more = usual.clone();
        more.argv.push("more".into());
        let elsewhere = Command { cwd: "/tmp".into(), ..usual.clone() };
        let mut fewer = usual.clone();
        fewer.env.pop();
        for other in [&more, &elsewhere, &fewer] {
            wire.check(other);
            assert!(wire.check(other) < 200 && wire.check(&usual) < 200);
        }
        assert_eq!(wire.sent.programs.len(), 5);
    }

    #[test]
    fn of_many_programs_few_are_kept() {
        let mut wire = Wire::default();
        let mut sizes = Vec::new();
        for number in 0..5000 {
            // Now and then one that is larger than all that may be kept.
            let length = if number % 700 == 699 { 2 * MOST_BYTES } else { (number * 37) % 30_000 };
            let command = command(&format!("program {number}"), &[("LONG", &"y".repeat(length))]);
            wire.check(&command);
            assert!(wire.check(&command) < 200);
            let programs = &wire.sent.programs;
            let bytes: usize = programs.iter().map(Program::bytes).sum();
            assert!(programs.len() == 1 || bytes <= MOST_BYTES, "{bytes}");
            sizes.push(programs.len());
        }
        assert!(sizes.iter().all(|size| (1..=MOST_PROGRAMS).contains(size)));
        assert!(sizes.contains(&1) && sizes.iter().any(|size| *size > 8));
    }

    #[test]
    fn what_the_helper_refuses_is_sent_anew() {
        let mut wire = Wire::default();
        let good = command("base", &[("A", "1"), ("B", "2")]);
        let later = command("later", &[]);
        // No string of the system's has a zero in it: in a new program, and in a
        // change to a known one.
        for known in [false, true] {
            if known {
                wire.check(&good);
                wire.check(&later);
            }
            let bad = command("base", &[("A", "3"), ("B", "2\0")]);
            assert_eq!(wire.send(&bad).1.unwrap_err().kind(), io::ErrorKind::InvalidInput);
            assert_eq!(wire.send(&bad).1.unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
        wire.check(&good);
        wire.check(&later);
        // A number that was never given is an error, as is a place beyond the end.
        assert!(wire.received.change(7, Vec::new()).is_err());
        let beyond = vec![(0, CString::from(c"A=9")), (2, CString::from(c"C=1"))];
        assert!(wire.received.change(0, beyond).is_err());
        wire.check(&good);
    }
}
