//! Traces what runs of a program do, or reuses earlier traces.
//!
//! What a run does follows from the program, its arguments, its environment and the files
//! that it accesses. A trace is stored next to the build, and reused as long as all of
//! these and what the system grants are unchanged: the build and its worktree are checked
//! before every comparison, other files have a fingerprint. Kernel files about the process
//! itself have none.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::round;
use super::side::SideProgram;
use crate::exec::machine;
use crate::exec::process::Command;
use crate::exec::process::trace::{Breakpoints, Tracing, Watched};
use crate::exec::system::{Memo, digest, digest_file, stamp};

/// What belongs to the process and not to the machine, changes all the time, or is not a
/// regular file. (The features in `/proc/cpuinfo` are part of the key.)
pub(crate) fn is_volatile(path: &Path) -> bool {
    let is_process = |name: &str| {
        ["cpuinfo", "self", "thread-self"].contains(&name)
            || name.bytes().all(|byte| byte.is_ascii_digit())
    };
    match path.strip_prefix("/proc") {
        Ok(inside) => inside.iter().next().and_then(OsStr::to_str).is_none_or(is_process),
        Err(_) => path.starts_with("/dev") && !path.starts_with("/dev/shm"),
    }
}

/// What traces: once it is edited, what was stored is traced again.
const SOURCES: &str = concat!(
    include_str!("watching.rs"),
    include_str!("../process/trace.rs"),
    include_str!("../process/trace/names.rs"),
    include_str!("../process/trace/paths.rs"),
    include_str!("../process/trace/tracer.rs"),
    include_str!("../process/trace/watched.rs"),
);

/// Folders with files of the kernel, whose times are meaningless.
const OF_KERNEL: [&str; 2] = ["/proc", "/sys"];

/// What `/proc` has of each process that its own doings decide, or that [`machine::granted`] has.
const OWN: &str = "auxv cmdline comm cwd environ exe fd fdinfo io limits map_files maps mem \
    numa_maps oom_score pagemap root sched schedstat smaps smaps_rollup stack stat statm status \
    syscall task timers wchan";

/// Traces the runs of one side's program.
#[derive(Debug)]
pub(crate) struct Watching {
    pub(super) tracing: Tracing,
    /// The file of the traces of runs in this configuration; `None` if they are not stored.
    memo: Option<Memo>,
    /// The traces, by the runs' arguments.
    seen: BTreeMap<String, SeenRun>,
    has_new: bool,
    /// How long the runs took whose traces were reused.
    spared: Duration,
    /// The functions that every run enters.
    entered_before: BTreeSet<u64>,
    /// Folders whose files need no fingerprint: those of the runs, and what was checked before.
    known: [PathBuf; 2],
    /// The folder of the runs.
    own: PathBuf,
}

/// The trace of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SeenRun {
    watched: Watched,
    /// How long it took.
    took: Duration,
    /// The files that it accessed, with their fingerprints; `None` for missing ones.
    files: BTreeMap<PathBuf, Option<String>>,
}

impl Watching {
    /// `tracer` is the command of the tracing program.
    ///
    /// # Errors
    /// If the breakpoints can't be written.
    pub(crate) fn new(
        program: &SideProgram,
        tracer: &[OsString],
        breakpoints: &Breakpoints,
    ) -> io::Result<Self> {
        let tracing = Tracing::new(tracer, breakpoints, &program.folder)?;
        let known = [
            program.folder.parent().unwrap_or(&program.folder).to_owned(),
            program.home.parent().unwrap_or(&program.home).to_owned(),
        ];
        let own = program.folder.canonicalize()?;
        let Command { cwd, env, stdin, isolation, .. } = &program.command;
        let words = &program.command.argv[..program.words];
        let call = format!("{words:?}\n{cwd:?}\n{env:?}\n{stdin:?}\n{isolation:?}");
        let call = call.replace(&*known[0].to_string_lossy(), "");
        let given = stdin.as_ref().and_then(|path| fingerprint(Path::new(path)));
        let (machine, granted) = (machine::identity(), machine::granted());
        let key = format!("{SOURCES}\n{machine}\n{granted}\n{call}\n{given:?}\n{breakpoints:?}");
        // One file per program, regardless of its environment.
        let name = digest(format!("{words:?}").as_bytes());
        let records = program.records.as_ref();
        let memo = records.map(|folder| {
            Memo::new(folder.join(format!("{}.json", &name[..16])), &digest(key.as_bytes()))
        });
        let kept = memo.as_ref().and_then(|memo| memo.read().ok().flatten());
        let (seen, entered_before) = (kept.unwrap_or_default(), BTreeSet::new());
        let spared = Duration::ZERO;
        Ok(Watching { tracing, memo, seen, has_new: false, spared, entered_before, known, own })
    }

    /// Assumes from now on that every run enters these functions at first, and shows whether it
    /// enters some of them, `again`, once it has entered another one.
    ///
    /// # Errors
    /// If the other breakpoints can't be written.
    pub(crate) fn leave_out(
        &mut self,
        entered: &BTreeSet<u64>,
        again: &BTreeSet<u64>,
    ) -> io::Result<()> {
        self.tracing.leave_out(entered, again)?;
        self.entered_before.extend(entered.difference(again));
        Ok(())
    }

    /// The stored trace of a run of the command, if it is still valid.
    pub(super) fn remembered(&mut self, command: &Command) -> Option<&Watched> {
        let run = self.seen.get(&self.arguments(command))?;
        let is_same = run.files.iter().all(|(path, then)| fingerprint(path) == *then);
        self.spared += if is_same { run.took } else { Duration::ZERO };
        is_same.then_some(&run.watched)
    }

    /// How long the runs took whose traces were reused since the last call. If they count, how
    /// much is traced does not depend on what was before.
    pub(crate) fn take_spared(&mut self) -> Duration {
        std::mem::take(&mut self.spared)
    }

    /// The trace of the latest run, which was of this command and took this time.
    pub(super) fn watched(&mut self, command: &Command, took: Duration) -> Option<Watched> {
        let mut watched = self.tracing.watched().ok()?;
        if watched.entered.is_empty() && !self.tracing.later().is_empty() {
            watched.unseen.get_or_insert_with(|| "it enters nothing of its own".to_owned());
        }
        watched.entered.extend(&self.entered_before);
        // The files of this comparison, which the next one has elsewhere: those of the run and, beside
        // its folder, what is preloaded.
        let own = &self.own;
        watched.accessed.retain(|path, _| !path.starts_with(own) && path.parent() != own.parent());
        if !watched.executed.is_empty() || watched.has_claimed {
            // The search for programs was not traced, and what others hold is not known.
            return Some(watched);
        }
        let has_none = |path: &&PathBuf| {
            let is_known = self.known.iter().any(|folder| path.starts_with(folder));
            is_known || is_volatile(path) && inherited(path).is_none()
        };
        let files = watched.accessed.keys().filter(|path| !has_none(path));
        let files = files.map(|path| (path.clone(), fingerprint(path))).collect();
        let run = SeenRun { watched: watched.clone(), took, files };
        self.seen.insert(self.arguments(command), run);
        self.has_new = true;
        Some(watched)
    }

    /// Stores the traces. Errors are ignored.
    pub(crate) fn keep(&self) {
        if let Some(memo) = self.memo.as_ref().filter(|_| self.has_new) {
            let _ = memo.write(&self.seen);
        }
    }

    /// What distinguishes runs of the program.
    fn arguments(&self, command: &Command) -> String {
        let limit = command.var(round::VARIABLE);
        let call = format!("{:?} {limit:?} {:?}", command.argv, self.tracing.later());
        call.replace(&*self.known[0].to_string_lossy(), "")
    }
}

/// Our own counterpart of a file of the kernel about a process, if a process has it from the one
/// that started it, or from the system.
fn inherited(path: &Path) -> Option<PathBuf> {
    let mut inside = path.strip_prefix("/proc").ok()?.iter();
    let process = inside.next()?.to_str()?;
    let is_process = process.bytes().all(|byte| byte.is_ascii_digit());
    let about = inside.next().and_then(OsStr::to_str).filter(|_| is_process)?;
    let is_own = OWN.split_whitespace().any(|own| own == about);
    (!is_own).then(|| ["/proc/self", about].iter().map(OsStr::new).chain(inside).collect())
}

/// The fingerprint of a file or folder; `None` if it does not exist.
fn fingerprint(path: &Path) -> Option<String> {
    let inherited = inherited(path);
    let path = inherited.as_deref().unwrap_or(path);
    let about = path.metadata().ok()?;
    if about.is_file() && OF_KERNEL.iter().any(|folder| path.starts_with(folder)) {
        return Some(digest_file(path).unwrap_or_default());
    }
    Some(format!("{} {:?} {:?}", about.len(), about.modified().ok(), stamp(&about)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{SOURCES, inherited};

    #[test]
    fn a_file_about_a_process_that_it_has_inherited_is_compared_with_ours() {
        let ours = |path: &str| inherited(Path::new(path)).map(|path| path.display().to_string());
        assert_eq!(ours("/proc/7/oom_score_adj").as_deref(), Some("/proc/self/oom_score_adj"));
        assert_eq!(ours("/proc/7/net/tcp").as_deref(), Some("/proc/self/net/tcp"));
        for other in ["/proc/7/maps", "/proc/7/fd/3", "/proc/7", "/proc/meminfo", "/etc/hosts"] {
            assert_eq!(ours(other), None, "{other}");
        }
    }

    #[test]
    fn an_edit_of_what_traces_forgets_what_was_traced() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/exec/process/trace");
        for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(SOURCES.contains(&text), "`SOURCES` lacks {}", file.display());
        }
    }
}
