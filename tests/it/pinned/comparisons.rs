//! `compare`, `bisect` and `sample`: real runs of benchmarks that print
//! recorded numbers.

use std::fmt::Write;

use super::expected::Outputs;
use super::scene::{ANYWHERE, SUMMARY, Scene, Unstable};
use super::trace;
use crate::support::Repo;

/// Prints line N of `values.txt`, which has 100, where N counts the runs of
/// this side.
const SCRIPT: &str = "\
runs=$(cat runs 2> /dev/null || echo 0)
echo $((runs + 1)) > runs
sed -n \"$((runs % 100 + 1))p\" values.txt
";

/// What measures: every metric is printed by the benchmark.
pub(super) const BENCHMARK: &str = "--command 'sh bench.sh' --harness json --metric wall_time";

/// What is unstable in the outputs of a comparison.
const UNSTABLE: [Unstable; 31] = [
    // How long it took: in JSON, behind the verdict, in Markdown, JUnit and on
    // the page.
    ("\"elapsed_seconds\":", ",", "SECONDS"),
    ("\"prepare_seconds\":", ",", "SECONDS"),
    ("(after ", ")", "TIME"),
    (", after ", "s", "N"),
    (" pairs in ", ";", "TIME"),
    (" pairs in ", ". In the long", "TIME"),
    ("<li>time: <code>", "</code>", "TIMES"),
    ("<property name=\"time\" value=\"", "\"", "TIMES"),
    ("<dt>time</dt><dd>", "</dd>", "TIMES"),
    // The compiler.
    ("\"toolchain\":\"", "\"", "TOOLCHAIN"),
    ("\"toolchain\": \"", "\"", "TOOLCHAIN"),
    ("<li>toolchain: <code>", "</code>", "TOOLCHAIN"),
    ("<property name=\"toolchain\" value=\"", "\"", "TOOLCHAIN"),
    ("<dt>toolchain</dt><dd>", "</dd>", "TOOLCHAIN"),
    // The machine.
    ("<dt>machine</dt><dd>", "</dd>", "MACHINE"),
    ("\"architecture_name\": \"", "\"", "ARCHITECTURE"),
    ("\"cpu_core_count\": ", ",", "CORES"),
    ("\"cpu_frequency_max_hz\": ", ",", "HERTZ"),
    ("\"cpu_l1d_cache_bytes\": ", ",", "BYTES"),
    ("\"cpu_l1i_cache_bytes\": ", ",", "BYTES"),
    ("\"cpu_l2_cache_bytes\": ", ",", "BYTES"),
    ("\"cpu_l3_cache_bytes\": ", ",", "BYTES"),
    ("\"cpu_model_name\": \"", "\"", "PROCESSOR"),
    ("\"cpu_thread_count\": ", ",", "THREADS"),
    ("\"kernel_name\": \"", "\"", "KERNEL"),
    ("\"memory_bytes\": ", ",", "BYTES"),
    ("\"os_version\": \"", "\"", "SYSTEM"),
    // When and by which version something was exported.
    ("\"timestamp\": \"", "\"", "TIME"),
    ("\"batch_id\": \"", "\"", "ID"),
    ("\"run_id\": \"", "\"", "ID"),
    ("\"cargo_cbdr\": \"", "\"", "VERSION"),
];

/// A benchmark of a suite: its name, the program whose recorded times it
/// prints, from which pair on, and the factor that the times get.
type Printed = (&'static str, &'static str, usize, f64);

/// What 100 runs print, each a line of JSON: the times of one side of the pairs.
fn values(suite: &[Printed], side: usize) -> String {
    let traces =
        suite.iter().map(|&(_, program, skip, _)| trace(program, skip + 100).split_off(skip));
    let traces: Vec<_> = traces.collect();
    let mut text = String::new();
    for run in 0..100 {
        let benchmark = |(&(name, _, _, factor), trace): (&Printed, &Vec<[f64; 2]>)| {
            let time = factor * trace[run][side];
            format!("\"{name}\": {{\"wall_time\": {time}, \"throughput\": {}}}", 1e6 / time)
        };
        let benchmarks: Vec<String> = suite.iter().zip(&traces).map(benchmark).collect();
        let _ = writeln!(text, "{{{}}}", benchmarks.join(", "));
    }
    text
}

/// A repository with a commit for each of the suites, on `main` the first, on
/// `feature` the others.
#[track_caller]
pub(super) fn repository(suites: &[&[Printed]]) -> Repo {
    let repo = Repo::new("library");
    repo.write("bench.sh", SCRIPT);
    repo.write(".gitignore", "*.csv\n*.json\n*.html\n*.md\n");
    let units = "units.throughput = { unit = \"B/s\", better = \"higher\" }";
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    repo.write("Cargo.toml", &format!("{manifest}\n[package.metadata.cbdr]\n{units}\n"));
    for (number, suite) in suites.iter().enumerate() {
        if number == 1 {
            repo.branch("feature");
        }
        repo.write("values.txt", &values(suite, number.min(1)));
        repo.commit(&format!("suite {number}"));
    }
    repo
}

/// Calls in a repository. What is said while a comparison runs depends on how
/// long it takes, and is no part of their transcripts.
fn scene(repo: &Repo) -> Scene {
    let scene = Scene::new(repo.path(), &repo.cache()).replacing(&ANYWHERE).replacing(&UNSTABLE);
    scene.without_stderr()
}

/// A transcript of a call that came to a result.
#[track_caller]
pub(super) fn finished(transcript: String) -> String {
    let failed = ["\nexit code 2\n", "\nexit code 101\n"];
    assert!(!failed.iter().any(|code| transcript.contains(code)), "{transcript}");
    transcript
}

/// A comparison of a suite of which one benchmark is slower, one is not, one
/// is new and one was removed.
#[test]
fn a_suite_in_every_format() {
    let repo = repository(&[
        &[("parse", "sha", 100, 1.0), ("print", "sha", 500, 1.0), ("old", "mem", 100, 1.0)],
        &[("parse", "sha", 100, 1.2), ("print", "sha", 500, 1.0), ("new", "mem", 100, 1.0)],
    ]);
    let scene = scene(&repo);
    let compare = format!("compare main {BENCHMARK} --threshold 5% --explain=never --seed 7");
    let mut outputs = Outputs::new("suite");
    let exports = "--export bencher=bencher.json --export github-action-benchmark=action.json \
                   --export github-action-benchmark-bigger=bigger.json";
    let calls: [(&str, &str, &[&str]); 8] = [
        ("human", "--samples out.csv", &["out.csv", "out.csv.json"]),
        ("json", "--format json", &[]),
        ("markdown", "--format markdown", &[]),
        ("github", "--format github", &[SUMMARY]),
        ("junit", "--format junit", &[]),
        ("report", "--report page.html", &["page.html"]),
        ("exports", exports, &["bencher.json", "action.json", "bigger.json"]),
        ("other-seed", "--seed 8 --samples out.csv", &["out.csv"]),
    ];
    for (name, more, files) in calls {
        let compare = match more.contains("--seed") {
            true => compare.replace(" --seed 7", ""),
            false => compare.clone(),
        };
        let call = format!("{compare} {more}");
        outputs.add(name, finished(scene.transcript(call.trim_end(), files)));
    }
    outputs.check();
}

#[test]
fn each_verdict_and_its_exit_code() {
    let repo = repository(&[
        &[("work", "sha", 100, 1.0), ("gone", "mem", 100, 1.0)],
        &[("work", "sha", 100, 1.0)],
    ]);
    repo.branch("same");
    repo.commit("nothing");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.git(&["checkout", "--quiet", "-b", "other"]);
    repo.write("values.txt", &values(&[("other", "sha", 100, 1.0)], 1));
    repo.commit("another benchmark");
    let scene = scene(&repo);
    let mut outputs = Outputs::new("verdict");
    let options = format!("{BENCHMARK} --seed 3");
    let calls = [
        ("no-regression", "main --head feature --threshold 5%"),
        ("removed-fails", "main --head feature --threshold 5% --fail-on removed"),
        ("inconclusive", "main --head feature --threshold 2% --max-pairs 6"),
        (
            "inconclusive-fails",
            "main --head feature --threshold 2% --max-pairs 6 --fail-on inconclusive",
        ),
        ("identical", "feature --head same"),
        ("no-baseline", "main --head other"),
        ("no-baseline-fails", "main --head other --fail-on no-baseline"),
        ("repeated", "--aa --repeat 2 --threshold 50%"),
    ];
    for (name, call) in calls {
        // Of two that differ in the exit code the object is the same.
        let formats: &[&str] =
            if name.ends_with("-fails") { &["human"] } else { &["human", "json"] };
        for format in formats {
            let call = format!("compare {call} {options} --format {format}");
            outputs.add(&format!("{name}.{format}"), finished(scene.transcript(&call, &[])));
        }
    }
    // Without samples to pin, unlike what `analyze` shows at these widths.
    for columns in ["60", "80", "120"] {
        let scene = self::scene(&repo).with("COLUMNS", columns);
        let shown = ["feature --head same", "main --head other"]
            .map(|call| finished(scene.transcript(&format!("compare {call} {options}"), &[])));
        outputs.add(columns, shown.concat());
    }
    let shard = "main --head feature --shard 2/3 --max-pairs 4 --samples shard.csv";
    let call = format!("compare {shard} {options} --format json");
    let files = ["shard.csv", "shard.csv.json"];
    outputs.add("shard", finished(scene.transcript(&call, &files)));
    outputs.check();
}

#[test]
fn the_commit_that_brought_a_regression() {
    let work = |factor: f64| [("work", "sha", 100, factor)];
    let repo = repository(&[&work(1.0), &work(1.001), &work(1.2), &work(1.201), &work(1.202)]);
    // How long a comparison took.
    let times = [("\"seconds\":", ",", "SECONDS"), (" pairs, ", "\n", "TIME")];
    let scene = scene(&repo).replacing(&times);
    let mut outputs = Outputs::new("bisect");
    for format in ["human", "json"] {
        let call = format!(
            "bisect main feature {BENCHMARK} --threshold 5% --seed 3 --restart \
             --format {format}"
        );
        outputs.add(format, finished(scene.transcript(&call, &[])));
    }
    outputs.check();
}

/// The times are the machine's: the columns and the order of the runs are
/// kept.
#[test]
fn the_order_of_sampled_runs() {
    let folder = crate::support::scratch();
    let mut outputs = Outputs::new("sample");
    let calls = [
        ("two", "a:true b:true --rounds 10 --seed 3"),
        ("two-other-seed", "a:true b:true --rounds 10 --seed 4"),
        ("three", "a:true b:true c:true --rounds 9 --seed 3"),
        ("four", "a:true b:true c:true d:true --rounds 6 --seed 3"),
    ];
    for (name, call) in calls {
        let cbdr = crate::support::Cbdr::new(folder.path(), &folder.path().join("cache"));
        let ran = cbdr.args(["sample"]).args(call.split(' ')).run().code(0);
        let (header, rows) = ran.stdout.split_once('\n').unwrap();
        let labels: String = rows.lines().map(|row| row.split(',').next().unwrap()).collect();
        outputs.add(name, format!("$ cargo cbdr sample {call}\n{header}\n{labels}\n"));
    }
    outputs.check();
}
