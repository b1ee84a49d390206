//! Starts a program through std, on systems other than Linux.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

use super::exit::{Exit, Usage};
use super::launch::Launch;
use super::unix::{self, Child, mask};

pub(super) struct StdSpawner;

impl StdSpawner {
    pub(super) fn new() -> Self {
        StdSpawner
    }

    /// Starts a program and returns also when: just before the call, since nothing
    /// tells when its exec is.
    pub(super) fn spawn(
        &mut self,
        launch: &Launch<'_>,
        running: &AtomicI32,
    ) -> io::Result<(Child, Instant)> {
        // Nothing tells where it begins here, and nothing determines it.
        let _ = (launch.peak, launch.stays);
        let text = |text: &CString| OsStr::from_bytes(text.as_bytes()).to_owned();
        let [stdin, stdout, stderr] = &launch.files;
        let mut command = std::process::Command::new(text(&launch.args.program));
        let args = launch.args;
        command.arg0(text(&args.argv[0])).args(args.argv[1..].iter().map(text));
        command.env_clear().current_dir(text(&args.cwd)).process_group(0);
        for variable in &args.env {
            let bytes = variable.as_bytes();
            // The first character of a name may be `=`.
            let at = bytes.iter().skip(1).position(|&byte| byte == b'=');
            let (name, value) = bytes.split_at(at.map_or(bytes.len(), |at| at + 1));
            command.env(OsStr::from_bytes(name), OsStr::from_bytes(value.get(1..).unwrap_or(b"")));
        }
        let nice = launch.isolation.nice;
        // Only then, since std has a faster way without it.
        if nice != 0 {
            // SAFETY: one system call, which is async-signal-safe.
            unsafe {
                command.pre_exec(move || {
                    libc::nice(nice.into());
                    Ok(())
                })
            };
        }
        let own = BorrowedFd::try_clone_to_owned;
        command.stdin(own(stdin)?).stdout(own(stdout)?).stderr(own(stderr)?);
        // The program starts with the signals that are blocked here.
        mask(libc::SIG_UNBLOCK, libc::SIGCHLD);
        let began = Instant::now();
        let child = command.spawn();
        mask(libc::SIG_BLOCK, libc::SIGCHLD);
        let pid = child?.id() as i32;
        running.store(pid, Ordering::Release);
        Ok((Child { pid, ended: None }, began))
    }

    /// Waits for a program and reaps it. Returns how it ended, and what it and the children that it
    /// waited for have used.
    pub(super) fn reap(&mut self, pid: i32, _wall: f64) -> io::Result<(Exit, Usage)> {
        unix::reap(pid)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Isolation;
    use super::super::launch::ExecArgs;
    use super::super::unix::{has_ended, wait_for_event};
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    fn started(script: &str, cwd: &std::path::Path, output: &std::fs::File) -> (Child, i32) {
        let string = |text: &str| CString::new(text).unwrap();
        let args = ExecArgs {
            program: string("/bin/sh"),
            argv: ["sh", "-c", script, "zero", "one"].map(string).to_vec(),
            env: ["PATH=/bin:/usr/bin", "A=b=c"].map(string).to_vec(),
            cwd: CString::new(cwd.as_os_str().as_bytes()).unwrap(),
        };
        let files = [output.as_fd(); 3];
        let isolation = &Isolation::default();
        let launch = Launch { args: &args, files, isolation, peak: true, stays: true };
        let running = AtomicI32::new(0);
        let (child, _) = StdSpawner::new().spawn(&launch, &running).unwrap();
        (child, running.into_inner())
    }

    #[test]
    fn a_process_is_started_in_a_group_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        let output = std::fs::File::create_new(cwd.join("output")).unwrap();
        let script = "echo \"$A $0 $1 $(pwd) $(env | grep -c ^HOME)\"; kill -9 0";
        let (child, running) = started(script, &cwd, &output);
        let (exit, usage) = StdSpawner::new().reap(child.pid, 0.0).unwrap();
        assert_eq!((exit, running), (Exit::Signal(9), child.pid));
        assert!((1 << 16..1 << 30).contains(&usage.max_rss), "{} bytes", usage.max_rss);
        let printed = std::fs::read_to_string(cwd.join("output")).unwrap();
        assert_eq!(printed, format!("b=c zero one {} 0\n", cwd.display()));
    }

    #[test]
    fn one_that_ended_before_anybody_waited_is_seen() {
        let output = tempfile::tempfile().unwrap();
        let (child, _) = started("exit 3", "/".as_ref(), &output);
        while !has_ended(child.pid) {
            std::thread::yield_now();
        }
        // Readable, so that the wait ends even if the child's end is missed.
        let (control, mut other) = UnixStream::pair().unwrap();
        other.write_all(b"x").unwrap();
        let seen = wait_for_event(&child, Some(control.as_fd()), None);
        assert!(seen.ended && !seen.asked);
        assert_eq!(StdSpawner::new().reap(child.pid, 0.0).unwrap().0, Exit::Code(3));
    }
}
