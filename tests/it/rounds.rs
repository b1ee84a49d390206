//! Runs of libtest and bencher are limited to one round of each benchmark.

use crate::support::{Cbdr, Ran, Repo, side_by_side};

/// Appends a line to the file that the environment names.
const NOTE: &str = r#"
fn note(line: String) {
    let mut log = std::fs::File::options();
    let mut log = log.create(true).append(true).open(std::env::var("LOG").unwrap()).unwrap();
    std::io::Write::write_all(&mut log, format!("{line}\n").as_bytes()).unwrap();
}
"#;

/// Of Rust's own harness. What it starts sees the environment that the user has set.
const LIBTEST: &str = r#"
#![feature(test)]
extern crate test;
#[bench]
fn work(bencher: &mut test::Bencher) {
    let mut iterations = 0;
    bencher.iter(|| {
        iterations += 1;
        std::hint::black_box(suite::work())
    });
    let vars = std::process::Command::new("env").output().unwrap().stdout;
    let vars = String::from_utf8(vars).unwrap();
    let known = |line: &&str| line.starts_with("LD_PRELOAD=") || line.starts_with("CBDR_ROUND=");
    let known: Vec<&str> = vars.lines().filter(known).collect();
    note(format!("{iterations} {}", known.join(" ")));
}
"#;

/// Chooses how often it repeats its benchmarks as libtest and bencher do, each with a prefix of all
/// names that it matches; notes whether it repeats a round.
const ALIKE: &str = r#"
use std::time::{Duration, Instant};
fn timed(reads_clock: bool, iterations: u64) -> Duration {
    let begin = Instant::now();
    for _ in 0..iterations {
        std::hint::black_box(suite::work());
        if reads_clock {
            std::hint::black_box(Instant::now());
        }
    }
    begin.elapsed()
}
fn main() {
    assert!(std::env::var_os("LD_PRELOAD").is_none());
    let suite_begin = (!IS_BENCHER).then(Instant::now);
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let filter = words.next().unwrap_or_default();
    for name in ["plain", "plainer", "reading", "seeding"] {
        if !name.contains(&filter) || !IS_BENCHER && !filter.is_empty() && filter != name {
            continue;
        }
        let timed = |iterations| timed(name == "reading", iterations);
        let seed = (name == "seeding").then(Instant::now);
        std::hint::black_box(seed);
        let chosen = 1_000_000 / (timed(1).as_nanos() as u64).max(1);
        let begin = Instant::now();
        let mut times = Vec::new();
        for sample in 0..100 {
            let iterations = chosen.clamp(1, 100) * if sample < 50 { 1 } else { 5 };
            let time = timed(iterations).as_nanos() as f64 / iterations as f64;
            times.push(if IS_BENCHER { time.floor() } else { time });
        }
        assert!(chosen < 1_000_000, "{name}: no iteration takes so little");
        let is_single = begin.elapsed() > Duration::from_secs(3);
        note(format!("{name} {is_single}"));
        times[50..].sort_by(f64::total_cmp);
        let median = (times[74] + times[75]) / 2.0;
        let median = if IS_BENCHER { median.floor() } else { median };
        println!("test {name} ... bench: {median:.2} ns/iter (+/- 1)");
    }
    if std::env::var("LOG").is_err() {
        println!("{MARKS}");
    }
    if IS_BENCHER {
        println!("test result: ok. 4 measured\n\n");
    }
    suite_begin.map(|begin| begin.elapsed());
}
"#;

const MANIFEST: &str = "[package]\nname = \"suite\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";

/// A repository whose head does more than its base.
fn repo(bench: &str, has_harness: bool) -> Repo {
    let repo = Repo::new("suite");
    let harness = format!("\n[[bench]]\nname = \"suite\"\nharness = {has_harness}\n");
    repo.write("Cargo.toml", &format!("{MANIFEST}{harness}"));
    repo.write("benches/suite.rs", &format!("{bench}{NOTE}"));
    let work = "pub fn work() -> u64 { (0..200).fold(1, |a, b| std::hint::black_box(a ^ b)) }\n";
    repo.write("src/lib.rs", work);
    repo.commit("base");
    repo.branch("feature");
    repo.replace("src/lib.rs", "200", "400");
    repo.commit("head");
    repo
}

/// Lets it measure, and returns what the runs have noted.
fn noted(repo: &Repo, cbdr: Cbdr) -> (Ran, Vec<String>) {
    let log = repo.around().join("log");
    let ran = cbdr.env("LOG", &log).run();
    let text = std::fs::read_to_string(&log).unwrap_or_else(|_| panic!("{}", ran.stderr));
    (ran, text.lines().map(str::to_owned).collect())
}

#[cfg_attr(not(target_os = "linux"), ignore = "libraries are preloaded on Linux alone")]
#[test]
fn a_run_of_libtest_measures_as_many_iterations_as_a_comparison_wants() {
    let repo = repo(LIBTEST, true);
    let cbdr = repo.cbdr("compare main --measure-all --layouts off --threshold 2%");
    // Of what is preloaded, what it starts sees the user's alone.
    let cbdr = cbdr.env("RUSTC_BOOTSTRAP", "1").env("LD_PRELOAD", "libc.so.6");
    let (ran, notes) = noted(&repo, cbdr);
    ran.code(100).never_says("up to several seconds");
    assert!(notes.iter().all(|note| note.ends_with(" LD_PRELOAD=libc.so.6")), "{notes:?}");
    // One alone, then 50 times as many as were chosen, and 50 times five times as many.
    let chosen = |note: &String| {
        let iterations: u64 = note.split(' ').next().unwrap().parse().unwrap();
        assert_eq!((iterations - 1) % 300, 0, "{notes:?}");
        (iterations - 1) / 300
    };
    // After the warm-up, both runs of a pair have the same.
    let chosen: Vec<u64> = notes.iter().skip(2).map(chosen).collect();
    assert!(chosen.len() >= 12 && chosen.chunks(2).all(|pair| pair[0] == pair[1]), "{chosen:?}");
}

#[cfg_attr(not(target_os = "linux"), ignore = "libraries are preloaded on Linux alone")]
#[test]
fn what_reads_the_clock_itself_is_repeated_for_as_long_as_ever() {
    let libtest =
        "Exactly match filters rather than by substring. Run benchmarks instead of tests.";
    for (is_bencher, marks) in [(false, libtest), (true, "")] {
        let marks =
            format!("const MARKS: &str = \"{marks}\";\nconst IS_BENCHER: bool = {is_bencher};");
        let repo = repo(&format!("{marks}{ALIKE}"), false);
        let call = "compare main --measure-all --layouts off --threshold 900% --max-pairs 6 \
                    --samples ../rows.csv";
        let (ran, notes) = noted(&repo, repo.cbdr(call));
        ran.code(0);
        let of = |name: &str| {
            let own = notes.iter().filter_map(|note| note.strip_prefix(name));
            own.map(|is_single| is_single == "true").collect::<Vec<bool>>()
        };
        let [plain, plainer, reading, seeding] =
            ["plain ", "plainer ", "reading ", "seeding "].map(of);
        assert!(plain.len() > 9 && plain.iter().all(|single| *single), "{notes:?}");
        assert!(plainer.len() > 9 && plainer.iter().all(|single| *single), "{notes:?}");
        // In the warm-up, the one before has shifted its readings.
        assert!(seeding.len() > 9, "{notes:?}");
        assert!(seeding[2..].iter().all(|single| *single), "{notes:?}");
        // Where nothing else reads the clock, there is more than the whole nanoseconds of bencher.
        let rows = std::fs::read_to_string(repo.around().join("rows.csv")).unwrap();
        let are_whole = |name: &str| {
            let own = rows.lines().filter_map(|row| row.split_once(&format!("{name}/")));
            let mut times =
                own.map(|(_, row)| row.split(',').nth(1).unwrap().parse::<f64>().unwrap());
            times.all(|time| (1e9 * time - (1e9 * time).round()).abs() < 1e-6)
        };
        assert!(!are_whole("plainer"), "{rows}");
        assert_eq!(are_whole("seeding"), is_bencher, "{rows}");
        // In the warm-up and in the first pair, nothing is known of it.
        assert!(reading.len() > 4 && reading[4..].iter().all(|single| !*single), "{notes:?}");
    }
}

#[cfg_attr(not(target_os = "linux"), ignore = "libraries are preloaded on Linux alone")]
#[test]
fn what_only_shows_which_files_a_program_opens_is_as_short() {
    let repo =
        repo(&format!("const MARKS: &str = \"\";\nconst IS_BENCHER: bool = true;{ALIKE}"), false);
    repo.write("README.md", "a file that no run opens");
    repo.commit("not a change of code");
    // Else only the second side would find it.
    std::fs::write(repo.around().join("log"), "").unwrap();
    let call = "compare HEAD~1 --format json";
    let (ran, notes) = noted(&repo, repo.cbdr(call));
    assert_eq!(ran.json()["verdict"], "identical", "{}", ran.stderr);
    // The traced run of each side.
    let of = |name: &str| notes.iter().filter(|note| note.starts_with(name)).collect::<Vec<_>>();
    assert_eq!(of("plain "), ["plain true"; 2], "{}", ran.stderr);
    // So it is where the traces are known, in which this has other folders.
    let (again, _) = noted(&repo, repo.cbdr(call));
    assert_eq!(again.json()["verdict"], "identical", "{}", again.stderr);
}

/// Of which one never ends.
const ENDLESS: &str = r#"
#![feature(test)]
extern crate test;
#[bench]
fn NAME(bencher: &mut test::Bencher) {
    bencher.iter(|| std::thread::park());
}
#[bench]
fn short(bencher: &mut test::Bencher) {
    bencher.iter(|| std::hint::black_box(suite::work()));
    note(String::new());
}
"#;

#[cfg_attr(not(target_os = "linux"), ignore = "libraries are preloaded on Linux alone")]
#[test]
fn what_takes_longer_than_the_limit_is_not_measured_and_the_others_are() {
    // The first and the last of the list.
    side_by_side(&["endless", "stuck"], |&endless| {
        let repo = repo(&ENDLESS.replace("NAME", endless), true);
        let call = "compare main --measure-all --layouts off --time-limit 5s --format json";
        let (ran, _) = noted(&repo, repo.cbdr(call).env("RUSTC_BOOTSTRAP", "1"));
        let ran = ran.code(100);
        let object = ran.json();
        let of = |name: &str| {
            let all = object["benchmarks"].as_array().unwrap();
            all.iter().find(|one| one["name"] == name).unwrap()["status"].as_str().unwrap()
        };
        assert_eq!([endless, "short"].map(of), ["not-measured", "compared"]);
        ran.never_says("reads the clock");
    });
}
