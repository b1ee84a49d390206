//! A comparison that is killed at any moment leaves the repository unchanged, no
//! running process, the samples so far, and a cache from which the next comparison
//! measures the right programs.
//!
//! The moments are seeded: a phase, and a delay within the time that the
//! phase usually takes. `tests/kill.sh` tries hundreds of them.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant, SystemTime};

use crate::support::live::{assert_gone, heed_signals};
use crate::support::{Cbdr, Random, Repo, setting};

/// How long to wait for something, on the slowest machine.
const LIMIT: Duration = Duration::from_secs(120);

/// The pairs of a comparison that is to be ended.
const PAIRS: usize = 33;

/// What begins each phase: a piece of standard error, and how often it has to be
/// there. The last phase, which writes the results, begins with the last row of the
/// samples.
const PHASES: [(&str, &str, usize); 8] = [
    ("worktree of the base", "Checking out base", 1),
    ("worktree of the head", "Checking out head", 1),
    ("build of the base", "Building base", 1),
    ("build of the head", "Building head", 1),
    ("publishing", "Finished `bench` profile", 1),
    ("preparing the runs", "Prepared", 1),
    ("warm-up", "Warming up", 1),
    ("runs", "Sampling in pairs", 1),
];

/// The benchmark reports exactly the work of its side, so that the right verdict is
/// known; with `UNSETTLED` it reports something else each time.
const BENCH: &str = r#"#[path = "../src/lib.rs"]
mod steady;

fn main() {
    std::thread::sleep(std::time::Duration::from_millis(3));
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos() % 1000;
    let unsettled = std::env::var_os("UNSETTLED").is_some();
    println!("{{\"work\": {}}}", if unsettled { now as u64 + 500 } else { steady::ROUNDS });
    let mut runs = std::fs::OpenOptions::new();
    let notes = std::env::var("NOTES").unwrap();
    let mut runs = runs.append(true).create(true).open(notes + "/runs").unwrap();
    std::io::Write::write_all(&mut runs, b"run\n").unwrap();
}
"#;

/// Everything about a folder that writing to it would change.
type Picture = Vec<(PathBuf, u32, SystemTime, Vec<u8>)>;

fn picture(folder: &Path, into: &mut Picture) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = path.symlink_metadata().unwrap();
        let content = if about.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        let mode = about.permissions().mode();
        into.push((path.clone(), mode, about.modified().unwrap(), content));
        if about.is_dir() {
            picture(&path, into);
        }
    }
    into.sort();
}

struct World {
    repo: Repo,
    notes: PathBuf,
    /// The amount of work on the base and the head.
    work: (u64, u64),
}

impl World {
    fn new() -> Self {
        let repo = Repo::new("steady");
        repo.write("benches/work.rs", BENCH);
        repo.replace("src/lib.rs", "500_000", "1000000");
        repo.commit("exact");
        repo.branch("feature");
        let notes = repo.around().join("notes");
        std::fs::create_dir(&notes).unwrap();
        World { repo, notes, work: (1_000_000, 0) }
    }

    /// Makes another head: at least a tenth slower or faster than the base.
    fn next(&mut self, number: usize) {
        let tenth = if number.is_multiple_of(2) { 1_100_000 } else { 900_000 };
        self.work.1 = tenth + number as u64;
        let text = format!("//! Work.\n\n/// Rounds.\npub const ROUNDS: u64 = {};\n", self.work.1);
        self.repo.write("src/lib.rs", &text);
        self.repo.commit("other work");
    }

    fn compare(&self, args: &str) -> Cbdr {
        let args = format!("compare main --harness json --metric work {args}");
        self.repo.cbdr(&args).env("NOTES", &self.notes)
    }

    fn samples(&self) -> PathBuf {
        self.repo.around().join("out.csv")
    }

    /// Where the samples are until the comparison is over.
    fn partial(&self) -> PathBuf {
        self.repo.around().join("out.csv.partial")
    }

    /// The rows on disk, all of them complete.
    fn rows(&self) -> Vec<String> {
        // In this order, since the first becomes the second.
        let text = std::fs::read_to_string(self.partial());
        let text = text.or_else(|_| std::fs::read_to_string(self.samples())).unwrap_or_default();
        text.split_inclusive('\n').skip(1).map(str::to_owned).collect()
    }

    /// Starts a comparison that comes to no verdict, for which it would have to be surer than
    /// its pairs allow.
    ///
    /// As built alone: what looks slower for a while would be handed over to layouts, and the
    /// pairs that are waited for would not come.
    fn begin(&self) -> Live {
        let _ = std::fs::remove_file(self.notes.join("runs"));
        let _ = std::fs::remove_file(self.samples());
        let _ = std::fs::remove_file(self.partial());
        let (samples, page) = (self.samples(), self.repo.around().join("out.html"));
        let args = format!(
            "--threshold 1% --confidence 99.9999999% --layouts off --measure-all --max-pairs {PAIRS} --samples {} --report {}",
            samples.display(),
            page.display()
        );
        let mut command = self.compare(&args).env("UNSETTLED", "1").into_command();
        heed_signals(&mut command);
        let err = self.repo.around().join("stderr");
        command.stdout(std::process::Stdio::null()).stderr(File::create(&err).unwrap());
        Live { child: command.spawn().unwrap(), err }
    }

    /// Asserts that exactly the measured pairs are on disk, possibly without one that had
    /// just ended.
    fn assert_samples(&self, about: &str) {
        let rows = self.rows();
        let whole = rows.iter().all(|row| row.ends_with('\n') && row.matches(',').count() > 0);
        assert!(whole, "{about}: {rows:?}");
        let runs = std::fs::read_to_string(self.notes.join("runs")).unwrap_or_default();
        let measured = runs.lines().count().saturating_sub(2) / 2;
        let sides = rows.chunks(2).all(|pair| pair.len() < 2 || pair[0][..4] != pair[1][..4]);
        assert!(sides, "{about}: {rows:?}");
        assert!(rows.len() / 2 + 1 >= measured, "{about}: {measured} pairs, but {rows:?}");
    }

    /// Asserts that a comparison measures the current programs.
    fn assert_right(&self, about: &str) {
        let (base, head) = self.work;
        let ran = self.compare("--threshold 5% --layouts off --format json").run();
        assert!([Some(0), Some(100)].contains(&ran.code), "{about}: {ran:#?}");
        assert!(!ran.stderr.contains("Blocking waiting for process"), "{about}: {ran:#?}");
        let object = ran.json();
        let verdict = if head > base { "regression" } else { "no-regression" };
        assert_eq!(object["verdict"], verdict, "{about}: {ran:#?}");
        let metrics = object["benchmarks"][0]["metrics"].as_array().unwrap();
        let metric = metrics.iter().find(|metric| metric["name"] == "work").unwrap();
        assert_eq!(metric["base"].as_f64(), Some(base as f64), "{about}: {ran:#?}");
        assert_eq!(metric["head"].as_f64(), Some(head as f64), "{about}: {ran:#?}");
    }
}

/// A running comparison.
struct Live {
    child: Child,
    err: PathBuf,
}

impl Live {
    fn stderr(&self) -> String {
        std::fs::read_to_string(&self.err).unwrap_or_default()
    }

    /// The current phase: how many have begun.
    fn phase(&self, world: &World) -> usize {
        let said = self.stderr();
        if world.rows().len() >= 2 * PAIRS {
            return PHASES.len() + 1;
        }
        let begun = |(_, mark, count): &(_, &str, usize)| said.matches(mark).count() >= *count;
        PHASES.iter().rposition(begun).map_or(0, |last| last + 1)
    }

    /// Waits for a phase or a later one. False if the comparison has ended before.
    fn reach(&mut self, world: &World, phase: usize) -> bool {
        let start = Instant::now();
        while self.phase(world) < phase {
            assert!(start.elapsed() < LIMIT, "phase {phase} does not come: {}", self.stderr());
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Sends a signal unless the process has ended, when its number may belong to another.
    fn signal(&mut self, signal: i32) {
        if self.child.try_wait().unwrap().is_none() {
            // SAFETY: kill takes two numbers; the child was not waited for.
            unsafe { libc::kill(self.child.id() as i32, signal) };
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How long each phase of an undisturbed comparison takes.
fn durations(world: &World) -> Vec<Duration> {
    let mut live = world.begin();
    let mut last = Instant::now();
    let mut durations = Vec::new();
    for phase in 1..=PHASES.len() + 1 {
        live.reach(world, phase);
        durations.push(last.elapsed());
        last = Instant::now();
    }
    assert!(live.child.wait().unwrap().success(), "{}", live.stderr());
    durations.push(last.elapsed());
    durations
}

fn name(phase: usize) -> &'static str {
    match phase {
        0 => "start",
        _ => PHASES.get(phase - 1).map_or("report", |phase| phase.0),
    }
}

/// Ends comparisons at `count` moments by one of `signals`, and prints how many were in
/// each phase.
#[allow(clippy::print_stderr)]
fn end_at(count: usize, seed: u64, signals: &[i32]) {
    let mut random = Random::new(seed);
    let mut world = World::new();
    world.next(0);
    let durations = durations(&world);
    let mut hit = vec![0; PHASES.len() + 2];
    let (mut number, mut done) = (0, 0);
    while done < count {
        number += 1;
        assert!(number < 3 * count + 20, "most moments came too late: {hit:?}");
        world.next(number);
        let signal = signals[random.below(signals.len() as u64) as usize];
        let phase = random.below(durations.len() as u64) as usize;
        // If the cache is empty, the base is built too.
        if random.below(5) == 0 || name(phase).contains("build of the base") {
            std::fs::remove_dir_all(world.repo.cache()).unwrap();
        }
        let delay = durations[phase].mul_f64(random.below(1000) as f64 / 1000.0);
        let about = format!("seed {seed}, moment {number}, signal {signal}, {}", name(phase));
        let mut before = Picture::new();
        picture(world.repo.path(), &mut before);
        let mut live = world.begin();
        if live.reach(&world, phase) {
            std::thread::sleep(delay);
        }
        let begun = live.phase(&world);
        let asked = Instant::now();
        live.signal(signal);
        let status = live.child.wait().unwrap();
        if status.signal().is_some() {
            assert_eq!(status.signal(), Some(signal), "{about}: {}", live.stderr());
            hit[begun] += 1;
            done += 1;
        } else {
            // It ended by itself, after all pairs.
            assert!(status.success(), "{about}: {status}: {}", live.stderr());
        }
        assert!(asked.elapsed() < Duration::from_secs(30), "{about}: {:?}", asked.elapsed());
        world.assert_samples(&about);
        if random.below(2) == 0 {
            assert_gone(&world.notes, &about);
        }
        world.assert_right(&about);
        assert_gone(&world.notes, &about);
        let mut after = Picture::new();
        picture(world.repo.path(), &mut after);
        assert!(before == after, "{about}: the repository was written to");
    }
    for (phase, hits) in hit.iter().enumerate() {
        eprintln!("{hits:>4} in: {}", name(phase));
    }
    eprintln!("{done:>4} ended by signals {signals:?}, of {number} comparisons, seed {seed}");
}

#[test]
fn killed_at_any_moment() {
    let count = setting("CBDR_KILLS", 5) as usize;
    end_at(count, setting("CBDR_SEED", 1), &[libc::SIGKILL]);
}

#[test]
fn asked_to_end_at_any_moment() {
    let count = setting("CBDR_SIGNALS", 3) as usize;
    end_at(count, setting("CBDR_SEED", 1) + 1000, &[libc::SIGINT, libc::SIGTERM, libc::SIGHUP]);
}
