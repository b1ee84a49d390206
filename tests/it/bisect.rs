//! The commit that introduced a regression is found, whatever the commits in between.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Cbdr, Repo};

/// What is built and run: a script, so that nothing has to be compiled, which prints a number, so
/// that nothing depends on the machine.
const ARGS: [&str; 12] = [
    "--build-command",
    "sh build.sh",
    "--command",
    "sh run.sh",
    "--harness",
    "json",
    "--metric",
    "work",
    "--threshold",
    "20%",
    "--seed",
    "1",
];

/// One commit of the script: what it prints, and whether it builds.
#[track_caller]
fn script(repo: &Repo, work: u32, builds: bool) -> String {
    commit(repo, &format!("echo '{{\"work\": {work}}}'\n"), builds)
}

#[track_caller]
fn commit(repo: &Repo, script: &str, builds: bool) -> String {
    repo.write("run.sh", script);
    repo.write("build.sh", if builds { "exit 0\n" } else { "echo broken >&2; exit 125\n" });
    repo.commit(&format!("{script}, builds: {builds}"))
}

/// A good commit and `count` after it, of which `guilty` and all later ones
/// are slow and `broken` do not build.
fn history(count: usize, guilty: usize, broken: &[usize]) -> (Repo, Vec<String>) {
    let repo = Repo::new("steady");
    let commit = |number| script(&repo, work(number, guilty), !broken.contains(&number));
    let commits = (0..=count).map(commit).collect();
    (repo, commits)
}

/// The work of a commit, four times as much from `guilty` on.
fn work(number: usize, guilty: usize) -> u32 {
    1500 + number as u32 + if number >= guilty { 4500 } else { 0 }
}

fn bisect(repo: &Repo, args: &str) -> Cbdr {
    repo.cbdr(&format!("bisect {args}")).args(ARGS)
}

fn guilty(object: &Value) -> Vec<String> {
    let all = object["guilty"].as_array().unwrap().iter();
    all.map(|commit| commit["commit"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_guilty_commit_is_found_and_how_sure_that_is() {
    let (repo, commits) = history(9, 6, &[]);
    let args = format!("{} HEAD --format json", commits[0]);
    let object = bisect(&repo, &args).run().code(100).json();
    assert_eq!(guilty(&object), [&*commits[6]]);
    assert_eq!((&object["verdict"], &object["confidence"]), (&"regression".into(), &0.95.into()));
    let steps = object["steps"].as_array().unwrap();
    assert!(steps.len() <= 5, "{steps:?}");
    let spent: f64 = steps.iter().map(|s| s["measured"]["level"].as_f64().unwrap()).sum();
    assert!(spent <= 0.05, "{spent}");
    assert!(object["runs"].as_u64().unwrap() > 20);
    // In words; the builds and the verdicts of the first time are of no use to
    // it, since it was finished.
    let again = bisect(&repo, &format!("{} HEAD", commits[0])).run().code(100);
    let brought = format!("regression: {} ", &commits[6][..10]);
    assert!(again.stdout.starts_with(&brought), "{}", again.stdout);
    assert!(again.stdout.contains("with a probability of at least 95%"), "{}", again.stdout);
    again.says("Bisecting 9 commits");
}

#[test]
fn commits_that_do_not_build_are_gone_around() {
    let (repo, commits) = history(9, 6, &[2, 4, 8]);
    let args = format!("{} HEAD --format json", commits[0]);
    let object = bisect(&repo, &args).run().code(100).json();
    assert_eq!(guilty(&object), [&*commits[6]]);
    // One that hides the answer stays under suspicion.
    let (repo, commits) = history(5, 3, &[3]);
    let ran = bisect(&repo, &format!("{} HEAD", commits[0])).run().code(100);
    assert!(ran.stdout.contains("one of 2 commits introduced it; only the last"), "{}", ran.stdout);
    for commit in &commits[3..5] {
        assert!(ran.stdout.contains(&commit[..10]), "{}", ran.stdout);
    }
    assert!(ran.stdout.contains(", of which 1 could not be built or run."), "{}", ran.stdout);
}

#[test]
fn a_commit_that_does_not_measure_what_regressed_is_not_cleared() {
    let repo = Repo::new("steady");
    let commits = ["100", "gone", "still gone", "150"].map(|work| {
        let other = work.parse::<u32>().map(|work| format!(", \"b\": {{\"work\": {work}}}"));
        let all = format!("{{\"a\": {{\"work\": 100}}{}}}", other.unwrap_or_default());
        repo.write("run.sh", &format!("# {work}\necho '{all}'\n"));
        repo.commit(work)
    });
    let args = ["--command", "sh run.sh", "--harness", "json", "--metric", "work", "--seed", "1"];
    let call = format!("bisect {} HEAD --layouts off --format json", commits[0]);
    let object = repo.cbdr(&call).args(args).run().code(100).json();
    assert_eq!(guilty(&object), commits[1..]);
    let why = "nothing is left to decide: the head no longer measures `work` of `b`";
    assert_eq!(object["steps"][1]["why"], why, "{object}");
}

#[test]
fn what_else_was_slower_in_between_is_not_what_is_searched_for() {
    let repo = Repo::new("steady");
    let commits = [(100, 100), (100, 150), (101, 150), (150, 100)].map(|(a, b)| {
        let all = format!("{{\"a\": {{\"work\": {a}}}, \"b\": {{\"work\": {b}}}}}");
        commit(&repo, &format!("echo '{all}'\n"), true)
    });
    let object = bisect(&repo, &format!("{} HEAD --format json", commits[0]));
    let object = object.run().code(100).json();
    assert_eq!(guilty(&object), [&*commits[3]]);
    for step in object["steps"].as_array().unwrap() {
        let regressed = if step["outcome"] == "bad" { json!(["a"]) } else { Value::Null };
        assert_eq!(step["regressed"], regressed, "{object}");
    }
}

#[test]
fn another_metric_that_was_worse_in_between_is_not_what_is_searched_for() {
    let repo = Repo::new("steady");
    let commits = [(100, 100), (100, 150), (101, 150), (150, 100)].map(|(work, mem)| {
        commit(&repo, &format!("echo '{{\"work\": {work}, \"mem\": {mem}}}'\n"), true)
    });
    let args = format!("{} HEAD --metric mem --format json", commits[0]);
    let object = bisect(&repo, &args).run().code(100).json();
    assert_eq!(guilty(&object), [&*commits[3]], "{object}");
}

#[test]
fn a_commit_without_the_target_that_regressed_is_gone_around() {
    let repo = Repo::new("library");
    let target = |name: &str, work: u32| {
        let print = format!("println!(\"{{{{\\\"work\\\": {work}}}}}\")");
        repo.write(&format!("benches/{name}.rs"), &format!("fn main() {{ {print} }}\n"));
        format!("\n[[bench]]\nname = \"{name}\"\nharness = false\n")
    };
    let package = "[package]\nname = \"steady\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let mut commits = Vec::new();
    for (stays, gone) in [(100, Some(100)), (101, None), (102, Some(150))] {
        let targets = [Some(target("work", stays)), gone.map(|work| target("gone", work))];
        let targets: String = targets.into_iter().flatten().collect();
        if gone.is_none() {
            std::fs::remove_file(repo.path().join("benches/gone.rs")).unwrap();
        }
        repo.write("Cargo.toml", &format!("{package}{targets}"));
        commits.push(repo.commit(&format!("{stays}, {gone:?}")));
    }
    let call = format!("bisect {} HEAD --harness json --metric work --layouts off", commits[0]);
    let call = format!("{call} --threshold 20% --seed 1 --format json");
    let object = repo.cbdr(&call).run().code(100).json();
    assert_eq!(guilty(&object), commits[1..], "{object}");
    assert_eq!(object["steps"][1]["outcome"], "unusable", "{object}");
}

#[test]
fn an_inconclusive_commit_is_gone_around() {
    let (repo, commits) = history(3, 2, &[]);
    // One pair gives no verdict, not even on the last commit.
    let args = format!("{} HEAD --max-pairs 1", commits[0]);
    let ran = bisect(&repo, &args).run().code(0);
    assert!(ran.stdout.starts_with("inconclusive: "), "{}", ran.stdout);
    bisect(&repo, &format!("{args} --fail-on inconclusive")).run().code(102);
}

#[test]
fn a_search_that_was_killed_goes_on_where_it_was() {
    let repo = Repo::new("steady");
    let [tried, hold] = ["tried", "hold"].map(|name| repo.around().join(name));
    // As long as it is held, nothing is measured of the third commit after the good one.
    std::fs::write(&hold, "").unwrap();
    let commits: Vec<String> = (0..10)
        .map(|number| {
            let (tried, hold) = (tried.display(), hold.display());
            let script = format!(
                "mkdir -p {tried}/{number}\n\
                 [ ! -e {hold} ] || [ $(ls {tried} | wc -l) -lt 4 ] || exec sleep 1000\n\
                 echo '{{\"work\": {}}}'\n",
                work(number, 6)
            );
            commit(&repo, &script, true)
        })
        .collect();
    let args = format!("{} HEAD", commits[0]);
    let mut command = bisect(&repo, &args).into_command();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let tried: Vec<String> = lines.by_ref().filter(|line| line.contains("Tried")).take(2).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(hold).unwrap();
    // A filter is another question.
    bisect(&repo, &format!("{args} --filter x")).run().code(101).says("Bisecting 9 commits");
    let ran = bisect(&repo, &args).run().code(100).says("Resuming 9 commits, ");
    for line in &tried {
        let commit = line.split_whitespace().nth(1).unwrap().trim_end_matches(':');
        assert!(!ran.stderr.contains(&format!("Trying {commit}")), "{}", ran.stderr);
    }
    assert!(ran.stdout.contains(&commits[6][..10]));
    // Another question has another answer.
    let other = format!("{} HEAD~1 --format json", commits[0]);
    bisect(&repo, &other).run().code(100).says("Bisecting 8 commits");
}

#[test]
fn an_accepted_slowdown_is_found_all_the_same() {
    let (repo, commits) = history(3, 2, &[]);
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    let waiver =
        "metric = \"work\"\nceiling = \"5000%\"\nreason = \"x\"\nexpires = \"9000-01-01\"\n";
    repo.write("Cargo.toml", &format!("{manifest}\n[[package.metadata.cbdr.waivers]]\n{waiver}"));
    repo.commit("accept it");
    let args = format!("{} HEAD --format json", commits[0]);
    let object = bisect(&repo, &args).run().code(100).json();
    assert_eq!(guilty(&object), [&*commits[2]]);
}

#[test]
fn no_regression_between_them_is_an_answer() {
    let (repo, commits) = history(3, 9, &[]);
    let ran = bisect(&repo, &format!("{} HEAD", commits[0])).run().code(0);
    assert!(ran.stdout.starts_with("no regression: HEAD is not slower"), "{}", ran.stdout);
    assert!(ran.stdout.lines().nth(1).unwrap().starts_with("  good, "), "{}", ran.stdout);
}

#[test]
fn odd_questions_are_errors() {
    let (repo, commits) = history(3, 2, &[0, 3]);
    let first = &commits[1];
    let swapped = bisect(&repo, &format!("HEAD {first}")).run().code(101);
    swapped.says("is not an ancestor of").says("hint: the good commit comes first");
    bisect(&repo, "HEAD HEAD").run().code(101).says("are the same commit");
    bisect(&repo, "nowhere HEAD").run().code(101).says("unknown revision `nowhere`");
    let broken = bisect(&repo, &format!("{first} HEAD")).run().code(101);
    broken.says("the bad commit can't be compared: the head does not build");
    let broken = bisect(&repo, &format!("{} HEAD~1", commits[0])).run().code(101);
    broken.says("the good commit can't be compared");
}

#[test]
fn merged_branches_are_searched_when_that_is_asked_for() {
    let repo = Repo::new("steady");
    let good = script(&repo, 1500, true);
    repo.branch("side");
    script(&repo, 1501, true);
    let culprit = script(&repo, 6000, true);
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("other.txt", "x");
    repo.commit("on main");
    repo.git(&["merge", "--quiet", "--no-edit", "side"]);
    let merge = repo.head();
    let line = bisect(&repo, &format!("{good} HEAD --format json")).run().code(100).json();
    assert_eq!(guilty(&line), [merge]);
    let args = format!("{good} HEAD --all-parents --format json");
    assert_eq!(guilty(&bisect(&repo, &args).run().code(100).json()), [culprit]);
    let off = bisect(&repo, "side~1 HEAD").run().code(101);
    off.says("do not lead to").says("hint: `--all-parents`");
}
