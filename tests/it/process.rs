//! However a comparison ends, no process keeps running and no sample is lost.
//!
//! The benchmarks are shell scripts that write notes into the folder `$NOTES`.
//! Their processes are found by that variable: all of them, including the
//! tool's own, have it in their environment.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::support::live::{assert_gone, heed_signals, noting};
use crate::support::{Repo, make_executable, side_by_side};

/// How long to wait for something, on the slowest machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Where a script counts its runs, as a function for scripts.
const COUNT: &str = "echo run >> $NOTES/runs\nruns=$(wc -l < $NOTES/runs)\n";

/// Calls `answer` until it returns something.
#[track_caller]
fn until<T>(what: &str, limit: Duration, mut answer: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(start.elapsed() < limit, "after {limit:?} still not: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A repository whose benchmark is a script, and a folder for its notes.
struct Stage {
    repo: Repo,
    notes: PathBuf,
}

impl Stage {
    fn new(script: &str) -> Self {
        let repo = Repo::new("steady");
        repo.write("run.sh", script);
        repo.commit("a script");
        repo.branch("feature");
        repo.write("other.txt", "so that the trees differ\n");
        repo.commit("other");
        let notes = repo.around().join("notes");
        std::fs::create_dir(&notes).unwrap();
        Stage { repo, notes }
    }

    /// A comparison of the script on both sides.
    fn compare(&self, args: &str) -> crate::support::Cbdr {
        let cbdr = self.repo.cbdr(&format!("compare main {args}")).env("NOTES", &self.notes);
        cbdr.args(["--command", "sh run.sh"])
    }

    fn samples(&self) -> PathBuf {
        self.repo.around().join("out.csv")
    }

    fn note(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.notes.join(name)).ok().filter(|text| text.ends_with('\n'))
    }

    /// Waits for a note.
    #[track_caller]
    fn wait_for(&self, live: &mut Live, name: &str) {
        until(name, LIMIT, || {
            let ended = live.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended without {name}: {}", live.stderr());
            self.note(name)
        });
    }
}

/// A running comparison.
struct Live {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Live {
    fn start(stage: &Stage, cbdr: crate::support::Cbdr) -> Self {
        Live::onto(stage, cbdr, &stage.repo.around().join("stdout"))
    }

    /// Starts it with its standard output in a file.
    fn onto(stage: &Stage, cbdr: crate::support::Cbdr, out: &Path) -> Self {
        let mut command = cbdr.into_command();
        heed_signals(&mut command);
        Live::spawn(stage, command, out)
    }

    fn spawn(stage: &Stage, mut command: Command, out: &Path) -> Self {
        let err = stage.repo.around().join("stderr");
        command.stdout(File::create(out).unwrap()).stderr(File::create(&err).unwrap());
        Live { child: command.spawn().unwrap(), out: out.to_owned(), err }
    }

    /// Kills the tool's children, the helper and its twin.
    #[track_caller]
    fn kill_helper(&self) {
        let pid = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        let line = format!("kill -9 {children}");
        assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
    }

    #[track_caller]
    fn signal(&self, signal: i32) {
        let line = format!("kill -{signal} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
    }

    #[track_caller]
    fn end(&mut self) -> ExitStatus {
        let child = &mut self.child;
        until("the end of the tool", LIMIT, || child.try_wait().unwrap())
    }

    fn stdout(&self) -> String {
        std::fs::read_to_string(&self.out).unwrap()
    }

    fn stderr(&self) -> String {
        std::fs::read_to_string(&self.err).unwrap()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Every file below a folder with its content.
fn picture(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(picture(&path));
        } else {
            let content = std::fs::read(&path).unwrap();
            found.insert(path, content);
        }
    }
    found
}

/// The labels of the rows of a samples file.
#[track_caller]
fn labels(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "half a row: {text:?}");
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("benchmark,wall_time,"));
    lines.map(|line| line.split(',').next().unwrap().to_owned()).collect()
}

#[track_caller]
fn assert_whole_pairs(path: &Path, pairs: usize) {
    let labels = labels(path);
    assert_eq!(labels.len(), 2 * pairs, "{labels:?}");
    assert!(labels.chunks(2).all(|pair| pair[0] != pair[1]), "{labels:?}");
}

#[test]
fn a_killed_tool_leaves_no_benchmark_running() {
    let families = [
        // With a child of its own.
        "sleep 1000 &\necho $$ > $NOTES/runs\nwait\n",
        // Ignores the polite signals, as do its children.
        "trap '' TERM INT HUP\necho $$ > $NOTES/runs\nwhile :; do sleep 1000; done\n",
        // With a child in a session of its own.
        "setsid sleep 1000 &\necho $$ > $NOTES/runs\nwait\n",
    ];
    for script in families {
        let stage = Stage::new(script);
        let before = picture(stage.repo.path());
        let mut live = Live::start(&stage, stage.compare(""));
        stage.wait_for(&mut live, "runs");
        live.signal(libc::SIGKILL);
        assert_eq!(live.end().signal(), Some(libc::SIGKILL));
        assert_gone(&stage.notes, "after the end");
        assert!(picture(stage.repo.path()) == before, "the repository was written to");
    }
}

#[test]
fn a_checkout_that_takes_long_does_not_outlast_a_signal() {
    side_by_side(&[libc::SIGINT, libc::SIGTERM], |&signal| {
        let stage = Stage::new("true\n");
        // Reading this object waits for a writer that never comes.
        let blob = stage.repo.git(&["rev-parse", "HEAD:other.txt"]);
        let (folder, file) = blob.trim().split_at(2);
        let object = stage.repo.path().join(".git/objects").join(folder).join(file);
        std::fs::remove_file(&object).unwrap();
        assert!(Command::new("mkfifo").arg(&object).status().unwrap().success());
        let mut live = Live::start(&stage, stage.compare(""));
        until("the checkout", LIMIT, || live.stderr().contains("Checking out head").then_some(()));
        live.signal(signal);
        assert_eq!(live.end().signal(), Some(signal));
        assert_gone(&stage.notes, "after the end");
    });
}

#[test]
fn after_a_kill_the_next_comparison_is_as_any_other() {
    let script = format!("{COUNT}[ $runs -ne 5 ] || sleep 1000\n");
    let stage = Stage::new(&script);
    let mut live = Live::start(&stage, stage.compare(""));
    until("the fifth run", LIMIT, || stage.note("runs").filter(|runs| runs.lines().count() == 5));
    live.signal(libc::SIGKILL);
    live.end();
    assert_gone(&stage.notes, "after the end");
    stage.compare("--max-pairs 6 --threshold 900%").run().code(0).never_says("Blocking");
}

/// A repository whose build script blocks.
fn blocked_build() -> Stage {
    let stage = Stage::new("");
    let script = "fn main() {\n    let notes = std::env::var(\"NOTES\").unwrap();\n    \
                  std::fs::write(notes + \"/building\", \"yes\\n\").unwrap();\n    \
                  std::thread::sleep(std::time::Duration::from_secs(1000));\n}\n";
    stage.repo.write("build.rs", script);
    stage.repo.commit("a build script");
    stage
}

#[test]
fn a_tool_killed_while_cargo_builds_leaves_no_cargo() {
    let stage = blocked_build();
    let before = picture(stage.repo.path());
    // The base has no build script.
    let compare = stage.repo.cbdr("compare main").env("NOTES", &stage.notes);
    let mut live = Live::start(&stage, compare);
    stage.wait_for(&mut live, "building");
    assert!(noting(&stage.notes).iter().any(|line| line.contains("build-script-build")));
    live.signal(libc::SIGKILL);
    live.end();
    assert_gone(&stage.notes, "after the end");
    assert!(picture(stage.repo.path()) == before, "the repository was written to");
}

#[test]
fn a_signal_while_cargo_builds_ends_both() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let stage = blocked_build();
        let compare = stage.repo.cbdr("compare main").env("NOTES", &stage.notes);
        let mut live = Live::start(&stage, compare);
        stage.wait_for(&mut live, "building");
        live.signal(signal);
        assert_eq!(live.end().signal(), Some(signal));
        assert_eq!(live.stdout(), "");
        assert!(!live.stderr().contains("error: the head does not build"), "{}", live.stderr());
        assert_gone(&stage.notes, "after the end");
    }
}

#[test]
fn a_signal_while_sampling_keeps_what_is_known_and_is_what_the_tool_dies_of() {
    // The last one: as a job of a cluster ends, whose processes all get the signal, this one late.
    let ends = ["sleep 1000", "sleep 1000", "sleep 1000", "kill -TERM $$"];
    let signals = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGTERM];
    for (signal, end) in signals.into_iter().zip(ends) {
        // Two runs to warm up, three pairs, and one run of a fourth.
        let stage = Stage::new(&format!(
            "{COUNT}[ $runs -lt 10 ] || {{ echo yes > $NOTES/blocked; {end}; }}\n"
        ));
        let before = picture(stage.repo.path());
        let samples = stage.samples();
        let args = format!("--threshold 0% --samples {}", samples.display());
        let mut live = Live::start(&stage, stage.compare(&args));
        stage.wait_for(&mut live, "blocked");
        live.signal(signal);
        assert_eq!(live.end().signal(), Some(signal), "{}", live.stderr());
        let stdout = live.stdout();
        assert!(stdout.contains("sh: 3 pairs"), "{stdout}");
        assert!(stdout.starts_with("UNDECIDED: the change of "), "{stdout}");
        assert!(stdout.contains("interrupted after"), "{stdout}");
        assert_whole_pairs(&samples.with_extension("csv.partial"), 3);
        let about = samples.with_extension("csv.partial.json");
        let about = std::fs::read_to_string(about).unwrap();
        let about: serde_json::Value = serde_json::from_str(&about).unwrap();
        assert_eq!(about["head"]["commit"], stage.repo.head());
        assert_gone(&stage.notes, "after the end");
        assert!(picture(stage.repo.path()) == before, "the repository was written to");
    }
}

#[test]
fn a_hangup_takes_the_terminal_with_it() {
    let stage = Stage::new(&format!(
        "{COUNT}[ $runs -lt 5 ] || {{ echo yes > $NOTES/blocked; sleep 1000; }}\n"
    ));
    let mut live = Live::onto(&stage, stage.compare(""), Path::new("/dev/full"));
    stage.wait_for(&mut live, "blocked");
    live.signal(libc::SIGHUP);
    assert_eq!(live.end().signal(), Some(libc::SIGHUP), "{}", live.stderr());
    assert_gone(&stage.notes, "after the end");
}

#[test]
fn a_signal_in_the_warm_up_is_what_the_tool_dies_of() {
    let stage = Stage::new("echo yes > $NOTES/runs\nsleep 1000\n");
    let mut live = Live::start(&stage, stage.compare(""));
    stage.wait_for(&mut live, "runs");
    live.signal(libc::SIGINT);
    assert_eq!(live.end().signal(), Some(libc::SIGINT));
    assert_eq!(live.stdout(), "");
    assert_gone(&stage.notes, "after the end");
}

#[test]
fn a_second_signal_does_not_wait_for_the_benchmark() {
    // It notes that it was asked to stop, and continues.
    let script = "trap 'echo yes > $NOTES/asked' TERM\necho yes > $NOTES/runs\n\
                  while :; do sleep 1000 & wait; done\n";
    let stage = Stage::new(script);
    let mut live = Live::start(&stage, stage.compare(""));
    stage.wait_for(&mut live, "runs");
    live.signal(libc::SIGINT);
    stage.wait_for(&mut live, "asked");
    live.signal(libc::SIGINT);
    assert_eq!(live.end().signal(), Some(libc::SIGINT));
    assert_gone(&stage.notes, "after the end");
}

#[test]
fn a_benchmark_deaf_to_sigterm_is_ended_all_the_same() {
    let script = "trap '' TERM\necho yes > $NOTES/runs\nwhile :; do sleep 1000; done\n";
    let stage = Stage::new(script);
    let mut live = Live::start(&stage, stage.compare(""));
    stage.wait_for(&mut live, "runs");
    live.signal(libc::SIGTERM);
    assert_eq!(live.end().signal(), Some(libc::SIGTERM));
    assert_gone(&stage.notes, "after the end");
}

#[test]
fn a_daemon_is_ended_with_its_run_and_reported() {
    // Each run waits until its daemon is alive.
    let script = "rm -f $NOTES/daemon\n\
                  setsid sh -c 'echo yes > $NOTES/daemon; exec sleep 1000' &\n\
                  until [ -s $NOTES/daemon ]; do :; done\n";
    let stage = Stage::new(script);
    let ran = stage.compare("--max-pairs 6 --threshold 900%").run().code(0);
    assert_eq!(noting(&stage.notes), Vec::<String>::new());
    ran.says("warning: processes that `sh` left running were killed (14)");
}

#[test]
fn children_of_a_run_that_the_time_limit_ends_are_not_reported() {
    let stage =
        Stage::new(&format!("{COUNT}[ $runs -lt 5 ] && exit 0\nsetsid sleep 1000 &\nwait\n"));
    let ran = stage.compare("--time-limit 1s --warmup 0").run().code(101);
    assert_eq!(noting(&stage.notes), Vec::<String>::new());
    assert!(ran.stdout.contains("inconclusive"), "{}", ran.stdout);
    ran.never_says("running, which");
}

#[test]
fn children_that_ended_by_themselves_are_not_reported() {
    // A child that has ended, but was not waited for.
    let script = "sh -c 'sh -c \"exit 0\" & echo $! > $NOTES/child; exec sleep 0.1'\n\
                  while kill -0 $(cat $NOTES/child) 2>/dev/null; do \
                  grep -q '^State:.Z' /proc/$(cat $NOTES/child)/status && break; done\n";
    let stage = Stage::new(script);
    stage.compare("--max-pairs 6 --threshold 900%").run().code(0).never_says("left");
}

#[test]
fn a_benchmark_starts_with_its_signals_as_they_should_be() {
    let stage = Stage::new("grep ^Sig /proc/self/status > $NOTES/signals\n");
    stage.compare("--max-pairs 6 --threshold 900%").run().code(0);
    let status = stage.note("signals").unwrap();
    let set = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    assert_eq!(set("SigBlk:"), 0, "{status}");
    assert_eq!(set("SigIgn:") & (1 << (libc::SIGPIPE - 1)), 0, "{status}");
}

#[test]
fn a_signal_that_was_ignored_from_the_start_stays_so() {
    let script = "echo yes > $NOTES/runs\ngrep ^SigIgn /proc/self/status > $NOTES/signals\n\
                  sleep 1000\n";
    let stage = Stage::new(script);
    let mut command = stage.compare("").into_command();
    // SAFETY: signal is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            Ok(())
        });
    }
    let mut live = Live::spawn(&stage, command, Path::new("/dev/null"));
    stage.wait_for(&mut live, "signals");
    let ignored = stage.note("signals").unwrap();
    let ignored = u64::from_str_radix(ignored.split_whitespace().nth(1).unwrap(), 16).unwrap();
    assert_eq!(ignored & 1, 1, "the benchmark does not ignore SIGHUP");
    live.signal(libc::SIGHUP);
    // If the first signal were not ignored, this would be the second one, which ends the
    // tool at once, before the helper has ended the benchmark.
    live.signal(libc::SIGTERM);
    assert_eq!(live.end().signal(), Some(libc::SIGTERM));
    assert_eq!(noting(&stage.notes), Vec::<String>::new());
}

#[test]
fn a_killed_helper_is_an_error_and_leaves_no_benchmark() {
    let stage = Stage::new("sleep 1000 &\necho yes > $NOTES/runs\nwait\n");
    let mut live = Live::start(&stage, stage.compare(""));
    stage.wait_for(&mut live, "runs");
    live.kill_helper();
    assert_eq!(live.end().code(), Some(101), "{}", live.stderr());
    assert!(live.stderr().contains("error: the helper process that runs the programs is gone"));
    assert_gone(&stage.notes, "after the end");
}

#[test]
fn what_stops_its_parent_is_ended_when_its_time_is_over() {
    // The helper is continued once; then whatever stops it again, and can't be asked to end, is
    // killed.
    let once = "kill -STOP $PPID\nexec sleep 1000\n";
    let again = "trap '' TERM\nwhile :; do kill -STOP $PPID; sleep 0.05; done\n";
    // What stops itself is ended, too.
    let itself = "kill -STOP 0\n";
    side_by_side(&[once, again, itself], |script| {
        let stage = Stage::new(script);
        let ran = stage.compare("--run-timeout 200ms").run().code(101);
        ran.says("ran longer than 200ms");
        assert_gone(&stage.notes, "after the end");
    });
}

#[test]
fn a_benchmark_that_stops_its_parent_does_not_outlast_a_signal() {
    let stage = Stage::new("echo yes > $NOTES/runs\nkill -STOP $PPID\nexec sleep 1000\n");
    let mut live = Live::start(&stage, stage.compare(""));
    stage.wait_for(&mut live, "runs");
    live.signal(libc::SIGTERM);
    assert_eq!(live.end().signal(), Some(libc::SIGTERM));
    assert_gone(&stage.notes, "after the end");
}

#[test]
fn a_benchmark_does_not_outlive_tool_and_helper() {
    let stage = Stage::new("echo yes > $NOTES/runs\nexec sleep 1000\n");
    let mut live = Live::start(&stage, stage.compare(""));
    stage.wait_for(&mut live, "runs");
    // Stopped first, so that it can't end the benchmark when the helper is gone.
    live.signal(libc::SIGSTOP);
    live.kill_helper();
    live.signal(libc::SIGKILL);
    live.end();
    assert_gone(&stage.notes, "after the end");
}

#[test]
fn a_program_that_is_not_there_is_an_error_that_names_it() {
    let stage = Stage::new("");
    let missing = |program: &str| {
        let compare = stage.repo.cbdr("compare main").args(["--command", program]);
        let message = format!("could not start `{program}`");
        compare.run().code(101).says(&message).says("No such file or directory");
    };
    missing("no-such-program");
    missing("./no-such-program");
}

#[test]
fn a_benchmark_that_crashes_is_an_error_that_names_the_signal() {
    let stage = Stage::new("kill -SEGV $$\n");
    let ran = stage.compare("").run().code(101);
    ran.says("error: the base of `sh` was killed by SIGSEGV: `sh run.sh`");
}

#[test]
fn what_a_benchmark_prints_controls_neither_terminal_nor_ci_service() {
    let stage = Stage::new("printf '\\033[2J\\n  ::add-path::x\\n##[group]\\n' >&2\nexit 1\n");
    let ran = stage.compare("").run().code(101).says("  \\u{1b}[2J\n  ");
    assert!(ran.stderr.lines().all(|line| !line.trim_start().starts_with("::")), "{ran:?}");
    ran.never_says("##[");
}

#[test]
fn a_failure_after_good_runs_says_whose_it_is_and_keeps_the_samples() {
    let script =
        format!("{COUNT}[ $runs -ne 7 ] || {{ echo my last words >&2; exit 3; }}\necho fine >&2\n");
    let stage = Stage::new(&script);
    let samples = stage.samples();
    let args = format!("--threshold 0% --seed 1 --samples {}", samples.display());
    let ran = stage.compare(&args).run().code(101);
    let sides = ["base", "head"];
    let named = sides.map(|side| format!("error: the {side} of `sh` exited with code 3: `sh run"));
    assert!(named.iter().any(|line| ran.stderr.contains(line)), "{}", ran.stderr);
    let ran = ran.says("my last words");
    // The standard error of this run, not of the runs before.
    ran.never_says("fine");
    assert_whole_pairs(&samples.with_extension("csv.partial"), 2);
}

#[test]
fn a_benchmark_that_prints_much_is_no_trouble_and_its_last_lines_are_shown() {
    let script = format!(
        "{COUNT}yes out | head -c 20000000\nyes err | head -c 20000000 >&2\n\
         [ $runs -lt 4 ] || {{ echo my last words >&2; exit 1; }}\n"
    );
    let stage = Stage::new(&script);
    let ran = stage.compare("").run().code(101);
    assert!(ran.stderr.len() < 10_000, "{} bytes", ran.stderr.len());
    ran.says("my last words");
}

#[test]
fn a_benchmark_without_output_finds_an_empty_input() {
    let stage = Stage::new("exec >&- 2>&-\n[ -z \"$(cat)\" ]\n");
    stage.compare("--max-pairs 6 --threshold 900%").run().code(0);
}

/// Compiles a static program. Where that is impossible, prints so and returns `None`.
fn static_program(folder: &Path, source: &str) -> Option<PathBuf> {
    let (code, program) = (folder.join("program.c"), folder.join("program"));
    std::fs::write(&code, source).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-static", "-o"]).args([&program, &code]);
    let done = cc.output().is_ok_and(|output| output.status.success());
    if !done {
        let mut err = std::io::stderr();
        let _ = std::io::Write::write_all(&mut err, b"SKIPPED: no cc that links statically\n");
    }
    done.then_some(program)
}

#[test]
fn the_harness_is_not_in_the_memory_of_a_small_program() {
    let stage = Stage::new("");
    let Some(program) = static_program(&stage.notes, "int main(void) { return 0; }\n") else {
        return;
    };
    let compare = stage
        .repo
        .cbdr("compare main --max-pairs 6 --threshold 900% --format json")
        .args(["--command".as_ref(), program.as_os_str()]);
    let object = compare.run().code(0).json();
    let metrics = object["benchmarks"][0]["metrics"].as_array().unwrap();
    let size = metrics.iter().find(|metric| metric["name"] == "max_rss").unwrap();
    for side in ["base", "head"] {
        let bytes = size[side].as_f64().unwrap();
        // It starts at the size of the helper, which is larger without optimisation.
        let most = if cfg!(debug_assertions) { 4.0e6 } else { 1.2e6 };
        assert!(bytes < most, "the {side} of a program that does nothing took {bytes} bytes");
    }
}

#[test]
fn what_prints_without_end_is_ended_and_the_error_names_it() {
    let stage = Stage::new("exec yes >&2\n");
    let error = "printed more than 256 MiB: `sh run.sh`";
    stage.compare("").run().code(101).says(error).says("hint: make it print less");
    // To files with a hole, as large, which cost nothing.
    let endless = |to: u8| format!("truncate -s 257M /dev/fd/{to}; echo y >&{to}; exec sleep 1000");
    let stage = Stage::new(&endless(1));
    let error = "of `sh` printed more than 256 MiB: `sh run.sh`";
    stage.compare("--harness json").run().code(101).says(error);
    stage.compare("--check-output --warmup 0").run().code(101).says(error);
    let stage = Stage::new("true\n");
    let hook = stage.repo.around().join("endless.sh");
    std::fs::write(&hook, endless(1)).unwrap();
    let endless_hook = format!("sh {}", hook.display());
    for hook in ["prepare", "setup", "cleanup"] {
        let ran = stage
            .compare("--max-pairs 6 --threshold 900%")
            .args([format!("--{hook}"), endless_hook.clone()]);
        let ran = ran.run().code(101).says(&format!("`{hook}` of the "));
        ran.says(&format!("printed more than 256 MiB: `{endless_hook}`"));
    }
    let call = stage.repo.cbdr("sample").args([format!("a:sh -c '{}'", endless(2))]);
    call.run().code(101).says("`a` printed more than 256 MiB");
    // A tool that the comparison uses.
    let bin = stage.repo.around().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::fs::write(bin.join("cargo"), format!("#!/bin/sh\n{}\n", endless(1))).unwrap();
    make_executable(&bin.join("cargo"));
    let usual = std::env::var_os("PATH").unwrap();
    let path = std::iter::once(bin).chain(std::env::split_paths(&usual));
    let cbdr = stage.repo.cbdr("compare main").env("PATH", std::env::join_paths(path).unwrap());
    cbdr.run().code(101).says("error: `cargo metadata").says("printed more than 256 MiB in `");
    // Output that is not kept may have any length; the timeout ends the program.
    let stage = Stage::new("exec yes\n");
    stage.compare("--run-timeout 300ms").run().code(101).says("ran longer than 300ms");
}

#[test]
fn what_may_be_read_once_is_no_input_of_many_runs() {
    let stage = Stage::new("cat > /dev/null\n");
    let pipe = stage.repo.around().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let ran = stage
        .compare("--max-pairs 6 --threshold 900%")
        .args([Path::new("--stdin"), &pipe])
        .run()
        .code(101);
    ran.says("/pipe` is a pipe, but every run has to read it")
        .says("hint: write it to a file first");
    stage.compare("--max-pairs 6 --threshold 900% --stdin /dev/null").run().code(0);
    let ran = stage.compare("--max-pairs 6 --threshold 900% --stdin no-such").run().code(101);
    ran.says("could not open `").says("/no-such`");
}
