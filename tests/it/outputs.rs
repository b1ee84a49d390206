//! Files that a command writes: an existing file stays until it can be
//! replaced, and no sample is lost, neither new ones nor earlier ones.
//!
//! The benchmark is a shell script that counts its runs in `$NOTES/runs`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::live::heed_signals;
use crate::support::{Cbdr, Ran, Random, Repo, skipped, toolchain};

/// How long the slowest machine may take to do what it should.
const LIMIT: Duration = Duration::from_secs(120);

/// The content of the files before the command is called.
const YESTERDAY: &str = "benchmark,wall_time\nbase,1\nhead,1\n";

/// Counts the run; the number of the run is then `$run`.
const COUNT: &str = "echo run >> $NOTES/runs\nrun=$(wc -l < $NOTES/runs)\n";

struct World {
    repo: Repo,
    notes: PathBuf,
    /// The folder of the files that are written.
    out: PathBuf,
}

impl World {
    /// A repository whose benchmark is that script on both sides, after the
    /// line that counts.
    fn new(script: &str) -> Self {
        let repo = Repo::new("steady");
        repo.write("run.sh", &format!("{COUNT}{script}\n"));
        repo.commit("a script");
        repo.branch("feature");
        repo.write("other.txt", "so that the trees differ\n");
        repo.commit("other");
        let [notes, out] = ["notes", "out"].map(|name| repo.around().join(name));
        std::fs::create_dir(&notes).unwrap();
        std::fs::create_dir(&out).unwrap();
        World { repo, notes, out }
    }

    /// The binary in the folder of the outputs' repository, with its script as
    /// the benchmark.
    fn compare(&self, args: &str) -> Cbdr {
        let cbdr = self.cbdr(&format!("compare main --threshold 0% --warmup 0 {args}"));
        cbdr.args(["--command", "sh run.sh"])
    }

    /// The binary in the repository; `OUT` in `args` is the folder of the
    /// outputs.
    fn cbdr(&self, args: &str) -> Cbdr {
        let args = args.replace("OUT", self.out.to_str().unwrap());
        self.repo.cbdr(&args).env("NOTES", &self.notes)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.out.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.at(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.at(name)).unwrap()
    }

    /// The number of rows, all of them whole, of whole pairs.
    #[track_caller]
    fn rows(&self, name: &str) -> usize {
        whole_rows(&self.read(name))
    }

    /// Every file in the folder of the outputs, with its content.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entry = |entry: std::io::Result<std::fs::DirEntry>| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(&path).unwrap())
        };
        std::fs::read_dir(&self.out).unwrap().map(entry).collect()
    }

    fn names(&self) -> Vec<String> {
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.unwrap().file_name().into_string().unwrap()
        };
        let mut names: Vec<String> = std::fs::read_dir(&self.out).unwrap().map(name).collect();
        names.sort();
        names
    }

    /// Waits until so many runs have begun.
    #[track_caller]
    fn wait_for_runs(&self, child: &mut Child, count: usize) {
        let runs = || std::fs::read_to_string(self.notes.join("runs")).unwrap_or_default();
        until("the runs", || {
            assert!(child.try_wait().unwrap().is_none(), "it ended before");
            (runs().lines().count() >= count).then_some(())
        });
    }
}

#[track_caller]
fn whole_rows(text: &str) -> usize {
    assert!(text.ends_with('\n') && text.starts_with("benchmark,"), "half a row: {text:?}");
    let labels: Vec<&str> = text.lines().skip(1).map(|row| &row[..5]).collect();
    assert!(labels.chunks(2).all(|pair| pair.len() == 2 && pair[0] != pair[1]), "{labels:?}");
    labels.len()
}

/// Asks again and again until there is an answer.
#[track_caller]
fn until<T>(what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(start.elapsed() < LIMIT, "still not: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Starts the binary, heeding signals, with both outputs kept.
fn start(cbdr: Cbdr) -> Child {
    let mut command = cbdr.into_command();
    heed_signals(&mut command);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: kill takes two numbers; the child was not waited for.
    unsafe { libc::kill(child.id() as i32, signal) };
}

fn end(mut child: Child) -> (std::process::ExitStatus, String) {
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap(), said)
}

const ALL: &str = "--samples OUT/x.csv --report OUT/x.html --export bencher=OUT/x.json";

#[test]
fn what_was_there_stays_when_there_is_nothing_to_put_in_its_place() {
    let world = World::new("test $run -lt 1");
    for name in ["x.csv", "x.csv.json", "x.csv.partial", "x.html", "x.json"] {
        world.write(name, &format!("{name} of yesterday\n"));
    }
    let before = world.files();
    for (args, code) in [
        (format!("compare no-such-revision {ALL}"), 101),
        (format!("compare main --head no-such-revision {ALL}"), 101),
        (format!("compare main --threshold many {ALL}"), 2),
        (format!("compare main {ALL} --export bensher=OUT/y"), 2),
        (format!("compare main {ALL} --export bencher=OUT/no/such/folder"), 101),
        (format!("compare main {ALL} --bench no-such-bench"), 101),
        // The benchmark fails in its first run.
        (format!("compare main {ALL} --warmup 0 --command sh\\ run.sh"), 101),
        ("history list no-such-revision --html OUT/x.html".to_owned(), 101),
        ("plot OUT/x.csv --html OUT/x.html".to_owned(), 101),
    ] {
        let out = world.out.to_str().unwrap();
        let words = shlex::split(&args.replace("OUT", out)).unwrap();
        let ran = world.cbdr("").args(words).run();
        assert_eq!(ran.code, Some(code), "{args}: {ran:#?}");
        assert_eq!(world.files(), before, "{args}: {ran:#?}");
    }
}

#[test]
fn no_two_outputs_are_on_one_path_and_none_is_on_an_input() {
    let world = World::new("");
    world.write("there.csv", YESTERDAY);
    symlink("there.csv", world.at("link")).unwrap();
    symlink("missing.csv", world.at("dangling")).unwrap();
    symlink(&world.out, world.at("folder")).unwrap();
    let before = world.names();
    for args in [
        "--samples OUT/x.csv --report OUT/x.csv.json",
        "--samples OUT/x.csv --report OUT/x.csv.partial",
        "--samples OUT/x.csv --export bencher=OUT/x.csv.partial.json",
        "--samples OUT/x.csv --report OUT/./x.csv",
        "--samples OUT/x.csv --report OUT/../out/x.csv",
        "--samples OUT/there.csv --report OUT/link",
        "--samples OUT/link --report OUT/there.csv.partial",
        "--samples OUT/dangling --report OUT/missing.csv",
        "--report OUT/x --export bencher=OUT/folder/x",
        "--export github-action-benchmark=OUT/x --export bencher=OUT/x",
        "--samples /dev/stdout --report /dev/fd/1",
    ] {
        world.compare(args).run().code(2).says("would be written twice").never_says("Checking out");
    }
    let summary =
        world.compare("--format github --report OUT/s").env("GITHUB_STEP_SUMMARY", world.at("s"));
    summary.run().code(2).says("would be written twice");
    world
        .cbdr("plot OUT/there.csv --html OUT/link")
        .run()
        .code(2)
        .says("would be both read and written");
    assert_eq!(world.read("there.csv"), YESTERDAY);
    assert_eq!(world.names(), before);
    // What keeps nothing may get anything.
    world
        .compare("--max-pairs 6 --threshold 900% --samples /dev/null --report /dev/null")
        .run()
        .code(0);
}

#[test]
fn samples_replace_those_of_yesterday_when_the_comparison_is_over() {
    let world = World::new("test -e $NOTES/go || exit 1");
    let partial = "benchmark,wall_time\nof an interrupted run\n";
    for (name, text) in [("x.csv", YESTERDAY), ("x.csv.json", "{}"), ("x.csv.partial", partial)] {
        world.write(name, text);
    }
    std::fs::write(world.notes.join("go"), "").unwrap();
    world.compare("--max-pairs 6 --threshold 900% --samples OUT/x.csv").run().code(0);
    assert_eq!(world.names(), ["x.csv", "x.csv.json"]);
    assert_eq!(world.rows("x.csv"), 12);
    let about: serde_json::Value = serde_json::from_str(&world.read("x.csv.json")).unwrap();
    assert_eq!(about["rows"], 12);
}

#[test]
fn what_was_measured_before_a_failure_is_kept_beside_what_was_there() {
    let world = World::new("test $run -lt 6");
    world.write("x.csv", YESTERDAY);
    world.write("x.csv.json", "{}");
    world.write("x.csv.partial", "benchmark,wall_time\n");
    world.write("x.csv.partial.json", "{}");
    let ran = world.compare("--samples OUT/x.csv").run().code(101);
    ran.says("x.csv.partial`").says("exited with code 1");
    assert_eq!((world.read("x.csv"), world.read("x.csv.json")), (YESTERDAY.into(), "{}".into()));
    assert_eq!(world.rows("x.csv.partial"), 4);
    assert_eq!(world.names(), ["x.csv", "x.csv.json", "x.csv.partial", "x.csv.partial.json"]);
    let about: serde_json::Value = serde_json::from_str(&world.read("x.csv.partial.json")).unwrap();
    assert_eq!(about["units"]["wall_time"]["unit"], "s");
    // It can be read as any other.
    world.cbdr("analyze OUT/x.csv.partial").run().code(0);
}

#[test]
fn what_was_measured_before_a_signal_is_kept_with_what_it_is_of() {
    let world = World::new("test $run -lt 5 || test -e $NOTES/go || exec sleep 1000");
    world.write("x.csv", YESTERDAY);
    world.write("x.csv.json", "{}");
    let mut child = start(world.compare("--samples OUT/x.csv"));
    world.wait_for_runs(&mut child, 5);
    signal(&child, libc::SIGINT);
    let (status, said) = end(child);
    assert_eq!(status.signal(), Some(libc::SIGINT), "{said}");
    assert!(said.contains("x.csv.partial`"), "{said}");
    assert_eq!((world.read("x.csv"), world.read("x.csv.json")), (YESTERDAY.into(), "{}".into()));
    assert_eq!(world.rows("x.csv.partial"), 4);
    let about: serde_json::Value = serde_json::from_str(&world.read("x.csv.partial.json")).unwrap();
    assert_eq!((&about["rows"], &about["stopped_by"]), (&4.into(), &"interrupt".into()));
    // The next comparison that ends leaves nothing of it.
    std::fs::write(world.notes.join("go"), "").unwrap();
    world.compare("--max-pairs 6 --threshold 900% --samples OUT/x.csv").run().code(0);
    assert_eq!(world.names(), ["x.csv", "x.csv.json"]);
    assert_eq!(world.rows("x.csv"), 12);
}

#[test]
fn killed_at_any_moment_it_leaves_yesterdays_samples_or_todays_whole() {
    let mut random = Random::new(7);
    let world = World::new("sleep 0.00$(($run % 10))");
    for round in 0..6 {
        for name in world.names() {
            std::fs::remove_file(world.at(&name)).unwrap();
        }
        world.write("x.csv", YESTERDAY);
        world.write("x.csv.json", "{}");
        std::fs::write(world.notes.join("runs"), "").unwrap();
        // The last moments are those in which the files change places.
        let runs = 2 + random.below(19) as usize;
        let mut child = start(world.compare("--max-pairs 10 --threshold 900% --samples OUT/x.csv"));
        let runs_now = || std::fs::read_to_string(world.notes.join("runs")).unwrap();
        until("the run", || {
            let is_over = child.try_wait().unwrap().is_some();
            (is_over || runs_now().lines().count() >= runs).then_some(())
        });
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        signal(&child, libc::SIGKILL);
        let (status, said) = end(child);
        let measured = (runs_now().lines().count().saturating_sub(1)) / 2 * 2;
        let text = world.read("x.csv");
        if text == YESTERDAY {
            assert_eq!(world.read("x.csv.json"), "{}", "round {round}");
            let kept =
                if world.at("x.csv.partial").exists() { world.rows("x.csv.partial") } else { 0 };
            assert!(kept + 2 >= measured, "round {round}: {kept} of {measured}: {said}");
            if kept > 0 {
                assert!(world.read("x.csv.partial.json").contains("wall_time"), "round {round}");
            }
        } else {
            assert_eq!(whole_rows(&text), 20, "round {round}: {status}: {said}");
        }
    }
}

#[test]
fn a_stream_gets_the_rows_at_once_and_no_file_beside_it() {
    let world = World::new("");
    let ran = world.compare("--max-pairs 6 --threshold 900% --samples /dev/stdout").run().code(0);
    assert_eq!(ran.stdout.lines().filter(|line| line.starts_with("base,")).count(), 6);
    assert!(ran.stdout.contains("inconclusive"), "{}", ran.stdout);
    let ran = world.compare("--max-pairs 6 --threshold 900% --samples /dev/stderr").run().code(0);
    assert_eq!(ran.stderr.lines().filter(|line| line.starts_with("base,")).count(), 6);
    for name in ["stdout", "stderr"] {
        for end in ["json", "partial", "partial.json"] {
            assert!(!Path::new("/dev").join(format!("{name}.{end}")).exists(), "{name}.{end}");
        }
    }
    // Also where standard output is a file, which is not to be replaced.
    let mut command = world
        .compare("--max-pairs 6 --threshold 900% --samples /dev/stdout --report /dev/fd/2")
        .into_command();
    let open = |name: &str| File::options().append(true).create(true).open(world.at(name)).unwrap();
    command.stdout(open("stdout")).stderr(open("stderr"));
    assert!(command.status().unwrap().success(), "{}", world.read("stderr"));
    let text = world.read("stdout");
    assert_eq!(text.lines().filter(|line| line.starts_with("base,")).count(), 6, "{text}");
    assert!(text.contains("inconclusive"), "{text}");
    let said = world.read("stderr");
    assert!(said.contains("Sampling in pairs") && said.contains("</html>"), "{said}");
    assert_eq!(world.names(), ["stderr", "stdout"]);
}

#[test]
fn a_pipe_is_written_to_once_somebody_reads_it() {
    let world = World::new("");
    let pipe = world.at("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for option in ["--samples", "--report"] {
        let cbdr = world.compare("--max-pairs 6 --threshold 900%").args([option]).args([&pipe]);
        let mut child = start(cbdr);
        assert!(child.try_wait().unwrap().is_none());
        let text = std::fs::read_to_string(&pipe).unwrap();
        let (status, said) = end(child);
        assert!(status.success(), "{said}");
        assert!(text.starts_with("benchmark,") || text.contains("</html>"), "{text}");
        // A signal is handled while there is no reader.
        let mut child = start(world.compare("").args([option]).args([&pipe]));
        until("that the signals are caught", || {
            assert!(child.try_wait().unwrap().is_none());
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t")).unwrap();
            let caught = u64::from_str_radix(caught, 16).unwrap();
            (caught & (1 << (libc::SIGHUP - 1)) != 0).then_some(())
        });
        signal(&child, libc::SIGINT);
        let (status, said) = end(child);
        assert_eq!(status.signal(), Some(libc::SIGINT), "{said}");
        assert!(!said.contains("Sampling"), "{said}");
    }
    assert_eq!(world.names(), ["pipe"]);
}

#[test]
fn a_link_stays_a_link_and_permissions_stay_what_they_were() {
    let world = World::new("");
    for (link, file) in [("x.csv", "far/samples"), ("x.html", "far/page")] {
        std::fs::create_dir_all(world.at("far")).unwrap();
        symlink(file, world.at(link)).unwrap();
    }
    world.write("far/page", "yesterday");
    std::fs::set_permissions(world.at("far/page"), PermissionsExt::from_mode(0o604)).unwrap();
    world
        .compare("--max-pairs 6 --threshold 900% --samples OUT/x.csv --report OUT/x.html")
        .run()
        .code(0);
    assert!(world.at("x.csv").is_symlink() && world.at("x.html").is_symlink());
    assert_eq!(world.rows("far/samples"), 12);
    assert!(world.read("far/page").contains("</html>"));
    let mode = |name: &str| world.at(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("far/page"), 0o604);
    std::fs::set_permissions(world.at("far/samples"), PermissionsExt::from_mode(0o640)).unwrap();
    world.compare("--max-pairs 6 --threshold 900% --samples OUT/x.csv").run().code(0);
    assert_eq!(mode("far/samples"), 0o640);
    assert_eq!(world.names(), ["far", "x.csv", "x.csv.json", "x.html"]);
    assert_eq!(std::fs::read_dir(world.at("far")).unwrap().count(), 2);
}

/// Runs the binary by a shell script in which the folder of the outputs is a
/// file system of so many kilobytes; `None` where none can be mounted.
fn in_small(world: &World, kilobytes: u32, args: &str, then: &str) -> Option<Ran> {
    let out = world.out.display();
    let mount = format!("mount -t tmpfs -o size={kilobytes}k none '{out}' || exit 77");
    let before = format!("printf '{}' > {out}/x", YESTERDAY.replace('\n', "\\n"));
    let args = args.replace("OUT", world.out.to_str().unwrap());
    let run = format!(
        "{mount}; {before}; \"$0\" {args} > \"$NOTES/said\" 2>&1; code=$?; cd {out}; {then}; exit $code"
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &run, env!("CARGO_BIN_EXE_cargo-cbdr")]);
    command.current_dir(world.repo.path()).stdin(Stdio::null());
    command.envs(toolchain());
    command.env("CBDR_CACHE_DIR", world.repo.cache()).env("NOTES", &world.notes);
    let output = command.output().unwrap();
    if output.status.code() == Some(77) || !output.stderr.is_empty() {
        skipped("no file system can be mounted here");
        return None;
    }
    Some(Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: std::fs::read_to_string(world.notes.join("said")).unwrap(),
    })
}

#[test]
fn a_full_disk_costs_neither_what_was_there_nor_what_was_measured() {
    let world = World::new("");
    // A page for the file that is there, one for rows, none for a page of HTML.
    let compare = "compare main --threshold 0% --confidence 99.9999% --warmup 0 --command 'sh run.sh' --max-pairs 40";
    let Some(ran) =
        in_small(&world, 8, &format!("{compare} --samples OUT/x"), "tail -n +1 x x.partial; ls")
    else {
        return;
    };
    let ran = ran.code(101).says("No space left on device").says("x.partial`");
    let (x, rest) = ran.stdout.split_once("==> x.partial <==\n").unwrap();
    assert_eq!(x, format!("==> x <==\n{YESTERDAY}\n"));
    let rows = rest.strip_suffix("x\nx.partial\n").unwrap();
    assert!(whole_rows(&rows.replace("\nx\n", "\n")) >= 10, "{rows}");
    world.cbdr("history record --runs 2").args(["--command", "sh run.sh"]).run().code(0);
    for args in [
        "compare main --warmup 0 --command 'sh run.sh' --max-pairs 6 --threshold 900% --report OUT/x",
        "history list --html OUT/x",
    ] {
        let ran = in_small(&world, 4, args, "cat x; ls").unwrap().code(101);
        assert_eq!(ran.stdout, format!("{YESTERDAY}x\n"));
        ran.says("can't write `").says("No space left on device");
    }
}

#[test]
fn a_file_that_is_a_mount_point_is_written_in_place() {
    let world = World::new("");
    let args = "compare main --warmup 0 --command 'sh run.sh' --max-pairs 6 --threshold 900% --report OUT/x --samples OUT/s";
    let out = world.out.display();
    for name in ["x", "s"] {
        std::fs::write(world.notes.join(name), "yesterday").unwrap();
    }
    let bind = format!(
        "touch {out}/x {out}/s && mount --bind $NOTES/x {out}/x && mount --bind $NOTES/s {out}/s || exit 77"
    );
    let run = format!("{bind}; exec \"$0\" {}", args.replace("OUT", world.out.to_str().unwrap()));
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &run, env!("CARGO_BIN_EXE_cargo-cbdr")]);
    command.current_dir(world.repo.path()).stdin(Stdio::null());
    command.envs(toolchain());
    command.env("CBDR_CACHE_DIR", world.repo.cache()).env("NOTES", &world.notes);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(77) || said.contains("unshare") {
        return skipped("nothing can be mounted here");
    }
    assert!(output.status.success(), "{said}");
    assert!(std::fs::read_to_string(world.notes.join("x")).unwrap().contains("</html>"));
    assert_eq!(whole_rows(&std::fs::read_to_string(world.notes.join("s")).unwrap()), 12);
}

#[test]
fn an_output_in_a_folder_that_can_not_be_written_to_is_an_error_at_once() {
    let world = World::new("");
    world.write("x", YESTERDAY);
    std::fs::set_permissions(&world.out, PermissionsExt::from_mode(0o555)).unwrap();
    let is_closed = std::fs::write(world.at("tried"), "").is_err();
    if is_closed {
        for option in ["--samples", "--report"] {
            let ran = world.compare("").args([option]).args([world.at("x")]).run().code(101);
            ran.says("can't write `").says("Permission denied").never_says("Checking out");
        }
    } else {
        skipped("root may write everywhere");
    }
    std::fs::set_permissions(&world.out, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn the_tally_of_many_comparisons_is_printed_whatever_becomes_of_one() {
    let world = World::new("test $run -lt 38");
    let repeat = |world: &World, args: &str| {
        let args =
            format!("compare --aa --repeat 40 --warmup 0 --max-pairs 6 --threshold 900% {args}");
        world.cbdr(&args).args(["--command", "sh run.sh"])
    };
    // Three of twelve runs each; the fourth fails.
    let ran = repeat(&world, "--format json").run().code(101).says("exited with code 1");
    let object = ran.json();
    assert_eq!((&object["repeat"], &object["verdicts"]["inconclusive"]), (&3.into(), &3.into()));
    // None at all.
    let ran = repeat(&world, "").run().code(101).says("exited with code 1");
    assert_eq!(ran.stdout, "");
    // A signal in the fourth.
    let world = World::new("test $run -lt 38 || exec sleep 1000");
    let mut child = start(repeat(&world, ""));
    world.wait_for_runs(&mut child, 38);
    signal(&child, libc::SIGTERM);
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert!(printed.starts_with("3 comparisons of "), "{printed}");
    assert_eq!(end(child).0.signal(), Some(libc::SIGTERM));
}

#[test]
fn comparisons_leave_no_file_descriptor_open() {
    let world = World::new("");
    let call = "compare --aa --repeat 14 --warmup 0 --max-pairs 6 --threshold 900% --format json";
    let compare = world.repo.cbdr(call).args(["--command", "sh run.sh"]);
    let ran = compare.env("NOTES", &world.notes).after("ulimit -n 28").run().code(0);
    assert_eq!(ran.json()["repeat"], 14);
}
