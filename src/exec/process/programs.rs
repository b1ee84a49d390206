//! The programs that the helper knows: each is sent to it once and is then
//! named by its number. A run sends only the environment variables whose value
//! differs from the run before.

use std::ffi::CString;
use std::io;

use serde::{Deserialize, Serialize};

use super::Command;
use super::launch::ExecArgs;

/// How many programs the helper keeps at most. It has to stay small: its size
/// is part of the peak memory of every program that it starts.
const MOST_PROGRAMS: usize = 16;

/// How many bytes of programs it keeps at most, unless a single one has more.
const MOST_BYTES: usize = 128 << 10;

/// Which program is to be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ProgramRef {
    /// A new one, which gets this number. Programs with this number or a
    /// higher one are forgotten.
    New { number: usize, args: ExecArgs },
    /// A known one, after these changes to its environment: the place of each
    /// variable, and what is there from now on.
    Known { number: usize, changes: Vec<(usize, CString)> },
}

/// The known programs. Both sides of the wire keep them and apply the same
/// references in the same order.
#[derive(Debug, Default)]
pub(super) struct KnownPrograms(Vec<ExecArgs>);

impl KnownPrograms {
    /// The reference to the program of a command, which is known from now on.
    ///
    /// # Errors
    /// When a string has a zero in it, which no string of the system has. Then
    /// nothing changes.
    pub(super) fn refer(&mut self, command: &Command) -> io::Result<ProgramRef> {
        let reference = match self.0.iter().position(|known| known.differs_in_env_only(command)) {
            Some(number) => ProgramRef::Known { number, changes: self.0[number].changes(command)? },
            None => {
                let args = ExecArgs::new(command)?;
                let bytes: usize = self.0.iter().chain([&args]).map(ExecArgs::bytes).sum();
                let fits = self.0.len() < MOST_PROGRAMS && bytes <= MOST_BYTES;
                ProgramRef::New { number: if fits { self.0.len() } else { 0 }, args }
            }
        };
        self.resolve(reference.clone())?;
        Ok(reference)
    }

    /// The program that a reference means.
    ///
    /// # Errors
    /// When no such program, or no such variable of it, was ever sent.
    pub(super) fn resolve(&mut self, reference: ProgramRef) -> io::Result<&ExecArgs> {
        let number = match reference {
            ProgramRef::New { number, args } => {
                self.0.truncate(number);
                self.0.push(args);
                self.0.len() - 1
            }
            ProgramRef::Known { number, changes } => {
                for (at, variable) in changes {
                    let known = self.0.get_mut(number).and_then(|args| args.env.get_mut(at));
                    *known.ok_or(io::ErrorKind::InvalidData)? = variable;
                }
                number
            }
        };
        self.0.get(number).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::{Message, RunRequest, receive, send};
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
    struct BothSides {
        ours: KnownPrograms,
        helpers: KnownPrograms,
    }

    impl BothSides {
        /// Sends a request and holds what arrives against the command itself. Returns
        /// the number of bytes sent.
        #[track_caller]
        fn check(&mut self, command: &Command) -> usize {
            let reference = self.ours.refer(command).unwrap();
            let mut socket = Vec::new();
            send(&mut socket, &Message::Run(RunRequest::new(command, reference))).unwrap();
            let received = receive(&mut socket.as_slice()).unwrap();
            let Some(Message::Run(request)) = received else { panic!("{received:?}") };
            let program = self.helpers.resolve(request.program).unwrap();
            assert_eq!(program, &ExecArgs::new(command).unwrap());
            assert_eq!(self.ours.0, self.helpers.0);
            socket.len()
        }
    }

    #[test]
    fn a_program_is_sent_once_and_then_only_what_changes() {
        let mut wire = BothSides::default();
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
        assert_eq!(wire.ours.0.len(), 5);
    }

    #[test]
    fn of_many_programs_few_are_kept() {
        let mut wire = BothSides::default();
        let mut sizes = Vec::new();
        for number in 0..5000 {
            // Now and then one that is larger than all that may be kept.
            let length = if number % 700 == 699 { 2 * MOST_BYTES } else { (number * 37) % 30_000 };
            let command = command(&format!("program {number}"), &[("LONG", &"y".repeat(length))]);
            wire.check(&command);
            assert!(wire.check(&command) < 200);
            let programs = &wire.ours.0;
            let bytes: usize = programs.iter().map(ExecArgs::bytes).sum();
            assert!(programs.len() == 1 || bytes <= MOST_BYTES, "{bytes}");
            sizes.push(programs.len());
        }
        assert!(sizes.iter().all(|size| (1..=MOST_PROGRAMS).contains(size)));
        assert!(sizes.contains(&1) && sizes.iter().any(|size| *size > 8));
    }

    #[test]
    fn a_string_that_the_system_cannot_have_is_refused_and_changes_nothing() {
        let mut wire = BothSides::default();
        let good = command("base", &[("A", "1"), ("B", "2")]);
        let bad = command("base", &[("A", "3"), ("B", "2\0")]);
        assert_eq!(wire.ours.refer(&bad).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        wire.check(&good);
        assert_eq!(wire.ours.refer(&bad).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        assert!(wire.check(&good) < 200);
        // A number that was never given is an error, as is a place beyond the end.
        let known = |number, at| {
            let changes = vec![(at, CString::from(c"C=1"))];
            ProgramRef::Known { number, changes }
        };
        assert!(wire.helpers.resolve(known(7, 0)).is_err());
        assert!(wire.helpers.resolve(known(0, 2)).is_err());
        wire.check(&good);
    }
}
