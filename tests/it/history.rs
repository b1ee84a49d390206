//! Results that are stored with their commits, and the check of a new one against them.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::lookback::import;
use crate::support::{Cbdr, Repo, git};

/// A made-up result without values.
fn empty_result() -> Value {
    json!({
        "repository": "example.org/x",
        "case": {"benchmark": "work", "name": "", "harness": "plain", "package": "steady",
            "subject": "bench `work`", "args": []},
        "hardware": {"cpu": "Some CPU", "cores": 2, "memory_mib": 1024, "os": "linux", "arch": "x"},
        "context": {"rustc": "rustc 1", "host": "x", "profile": "bench", "features": [], "flags": []},
        "error": null,
    })
}

/// A stored result of a commit.
fn result(commit: &str, time: u32, values: &[f64]) -> Value {
    let mut result = empty_result();
    result["commit"] = json!(commit);
    result["metrics"] = json!([
        {"name": "wall_time", "unit": "s", "better": "lower", "gates": true, "values": values}
    ]);
    json!({"cbdr": 1, "id": format!("{commit}-{time}"), "time": time, "result": result})
}

impl Repo {
    /// Adds a line to the note of a commit, as git does.
    #[track_caller]
    fn note(&self, commit: &str, line: &str) {
        self.git(&["notes", "--ref", "cbdr", "append", "-m", line, commit]);
    }

    /// The lines of a commit's note.
    #[track_caller]
    fn noted(&self, commit: &str) -> Vec<String> {
        let text = self.git(&["notes", "--ref", "cbdr", "show", commit]);
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// Makes one commit for each value, with the value as its result.
    #[track_caller]
    fn commits_with(&self, values: &[f64]) -> Vec<String> {
        let commit = |(number, value): (usize, &f64)| {
            let commit = self.commit(&format!("with {value}"));
            self.note(&commit, &result(&commit, number as u32, &[*value, value + 0.5]).to_string());
            commit
        };
        values.iter().enumerate().map(commit).collect()
    }

    #[track_caller]
    fn check(&self, args: &str, code: i32) -> Value {
        let args = format!("history check --all-machines --format json {args}");
        self.cbdr(&args).run().code(code).json()
    }
}

/// The only metric of the only result.
#[track_caller]
fn metric(object: &Value) -> &Value {
    assert_eq!(object["results"].as_array().unwrap().len(), 1, "{object}");
    &object["results"][0]["metrics"][0]
}

/// Ten values about 10 whose spread is small.
const QUIET: [f64; 10] = [10.0, 10.1, 9.9, 10.0, 10.2, 9.8, 10.1, 10.0, 9.9, 10.1];

#[test]
fn an_annotation_near_the_end_of_a_long_branch_counts() {
    let repo = Repo::new("steady");
    repo.commits_with(&QUIET);
    let commit = "commit refs/heads/long\ncommitter A <a@localhost> 1700000000 +0000\ndata 0\n";
    import(&repo, &[], &format!("{commit}from refs/heads/main^0\n{}", commit.repeat(104)));
    let long = repo.git(&["rev-list", "--reverse", "main..long"]);
    let long: Vec<&str> = long.lines().collect();
    repo.note(long[104], &result(long[104], 0, &[20.0]).to_string());
    let check = |code| repo.check(&format!("--base main {}", long[104]), code)["verdict"].clone();
    assert_eq!(check(100), "regression");
    repo.cbdr(&format!("history annotate {} --change slower", long[103])).run().code(0);
    assert_eq!(check(0), "inconclusive");
}

#[test]
fn a_recording_stores_everything_that_must_agree_and_all_repetitions() {
    let repo = Repo::new("steady");
    repo.git(&["remote", "add", "origin", "https://me:secret@example.org/some/thing.git"]);
    let args = "history record --runs 4 --metric cpu_time,max_rss --format json -- --some args";
    let ran = repo.cbdr(args).env("RUSTFLAGS", "-Cdebuginfo=0").run().code(0);
    ran.json();
    let lines = repo.noted(&repo.head());
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(!lines[0].contains("secret"));
    let line: Value = serde_json::from_str(&lines[0]).unwrap();
    let line = &line["result"];
    assert_eq!(line["repository"], "example.org/some/thing");
    assert_eq!(line["commit"], json!(repo.head()));
    let case = json!({"benchmark": "work", "name": "", "harness": "plain", "package": "steady",
        "subject": "bench `work`", "args": ["--some", "args"]});
    assert_eq!(line["case"], case);
    assert!(line["hardware"]["cores"].as_u64().unwrap() > 0);
    assert!(line["context"]["rustc"].as_str().unwrap().starts_with("rustc 1."));
    assert_eq!(line["context"]["profile"], "bench");
    assert_eq!(line["context"]["flags"], json!(["RUSTFLAGS=-Cdebuginfo=0"]));
    let metrics = line["metrics"].as_array().unwrap();
    let gating: Vec<_> = metrics.iter().filter(|m| m["gates"] == true).collect();
    assert_eq!(gating.len(), 2);
    for metric in metrics {
        assert_eq!(metric["values"].as_array().unwrap().len(), 4);
        assert_eq!(metric["better"], "lower");
    }
    // Only refs/notes/cbdr is new, and the tree is as it was.
    let refs = repo.git(&["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/heads/main\nrefs/notes/cbdr");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn sizes_are_recorded_with_the_rest_and_alone() {
    let repo = Repo::new("steady");
    let args = "history record --runs 2 --format json --metric executable_bytes,text_bytes";
    for args in [format!("{args},cpu_time"), args.to_owned()] {
        repo.cbdr(&args).run().code(0).json();
        let noted = repo.noted(&repo.head());
        let line: Value = serde_json::from_str(noted.last().unwrap()).unwrap();
        let value = |name| {
            let metrics = line["result"]["metrics"].as_array().unwrap();
            let metric = metrics.iter().find(|metric| metric["name"] == name).unwrap();
            metric["values"][0].as_f64().unwrap()
        };
        assert!(0.0 < value("text_bytes"), "{line}");
        assert!(value("text_bytes") < value("executable_bytes"), "{line}");
    }
}

#[test]
fn another_revision_is_recorded_on_its_own_commit_and_a_dirty_tree_is_not_measured() {
    let repo = Repo::new("steady");
    let first = repo.head();
    repo.replace("src/lib.rs", "500_000", "1_000");
    repo.commit("less");
    repo.write("stray.txt", "x");
    let record = "history record --runs 1 --command true";
    repo.cbdr(&format!("{record} HEAD~1")).run().code(0);
    assert_eq!(repo.noted(&first).len(), 1);
    let ran = repo.cbdr(record).run().code(0);
    ran.says("in the working tree are not measured (`compare --dirty` measures them)");
}

#[test]
fn a_failure_is_stored_too_and_has_no_score() {
    let repo = Repo::new("steady");
    let fail = "fn main() {\n    panic!(\"my last words\");";
    repo.replace("benches/work.rs", "fn main() {", fail);
    let commit = repo.commit("panic");
    let ran = repo.cbdr("history record --runs 3").run().code(101);
    assert!(ran.stdout.contains("failed: exited with code 101"), "{}", ran.stdout);
    let line: Value = serde_json::from_str(&repo.noted(&commit)[0]).unwrap();
    let line = &line["result"];
    assert!(line["error"].as_str().unwrap().starts_with("exited with code 101"), "{line}");
    assert_eq!(line["metrics"], json!([]));
    let object = repo.cbdr("history check --format json").run().code(101).json();
    assert_eq!(object["verdict"], "inconclusive");
}

#[test]
fn a_commit_that_does_not_build_is_an_error_and_stores_nothing() {
    let repo = Repo::new("steady");
    repo.write("src/lib.rs", "this is not Rust");
    repo.commit("broken");
    repo.cbdr("history record").run().code(101).says("error: the head does not build");
    assert_eq!(repo.git(&["for-each-ref", "refs/notes"]), "");
}

#[test]
fn the_parent_is_the_baseline_on_the_default_branch_and_worse_is_negative() {
    let repo = Repo::new("steady");
    let values = [&QUIET[..], &[12.0]].concat();
    let commits = repo.commits_with(&values);
    let object = repo.check("", 100);
    assert_eq!(object["verdict"], "regression");
    assert_eq!(object["baseline"], json!({"commit": commits[9], "rule": "parent"}));
    assert_eq!((&object["commit"], &object["window"]), (&json!(commits[10]), &json!(11)));
    let found = metric(&object);
    assert_eq!((&found["value"], &found["commits"]), (&json!(12.0), &json!(10)));
    assert!((found["mean"].as_f64().unwrap() - 10.01).abs() < 1e-9);
    assert!(found["z"].as_f64().unwrap() < -10.0);
    // Of the same size to the better it is none, and a wide limit passes both.
    let better = repo.commits_with(&[8.0]);
    repo.check("--baseline HEAD~2", 0);
    assert_eq!(repo.check("--z-threshold 50 HEAD~1", 0)["verdict"], "no-regression");
    let args = format!("{} --baseline HEAD~2", better[0]);
    assert!(metric(&repo.check(&args, 0))["z"].as_f64().unwrap() > 10.0);
}

#[test]
fn on_a_branch_the_fork_point_is_the_baseline_and_its_own_commits_do_not_count() {
    let repo = Repo::new("steady");
    let commits = repo.commits_with(&QUIET);
    repo.branch("feature");
    repo.commits_with(&[50.0, 10.0]);
    let object = repo.check("", 0);
    assert_eq!(object["baseline"], json!({"commit": commits[9], "rule": "fork-point"}));
    assert_eq!(metric(&object)["commits"], 10);
    // Later commits of the default branch do not count, either.
    repo.git(&["checkout", "--quiet", "main"]);
    repo.commits_with(&[70.0]);
    assert_eq!(metric(&repo.check("feature", 0))["z"], metric(&object)["z"]);
    // What BASE has nothing to do with is judged by its latest commit.
    repo.git(&["checkout", "--quiet", "--orphan", "other"]);
    repo.commits_with(&[10.0]);
    assert_eq!(repo.check("", 0)["baseline"]["rule"], "latest");
}

#[test]
fn a_result_is_not_part_of_its_own_past() {
    let repo = Repo::new("steady");
    let commits = repo.commits_with(&[&QUIET[..], &[12.0]].concat());
    // With its own commit as the baseline the others of that commit count.
    let own = repo.check("--baseline HEAD", 100);
    assert_eq!(metric(&own)["z"], metric(&repo.check("", 100))["z"]);
    repo.note(&commits[10], &result(&commits[10], 99, &[12.0]).to_string());
    let both = repo.check("--baseline HEAD", 0);
    assert_eq!(metric(&both)["results"], 11);
}

#[test]
fn the_commits_parents_decide_what_came_before_and_not_their_times() {
    let repo = Repo::new("steady");
    let values = [&QUIET[..], &[12.0]].concat();
    let commits = repo.commits_with(&values);
    let z = metric(&repo.check("", 100))["z"].clone();
    // The same commits over, each a day before its parent.
    repo.git(&["checkout", "--quiet", "--orphan", "backwards"]);
    for (number, value) in values.iter().enumerate() {
        let date = format!("2025-02-{:02}T00:00:00Z", 20 - number);
        repo.git(&["commit", "--quiet", "--allow-empty", "-m", "x", "--date", &date]);
        let line = result(&repo.head(), number as u32, &[*value, value + 0.5]);
        repo.note(&repo.head(), &line.to_string());
    }
    repo.git(&["branch", "--force", "main", "backwards"]);
    let object = repo.check("", 100);
    assert_ne!(object["commit"], json!(commits[10]));
    assert_eq!(metric(&object)["z"], z);
}

#[test]
fn too_little_history_is_inconclusive_and_says_why() {
    let repo = Repo::new("steady");
    repo.commits_with(&[&QUIET[..8], &[12.0]].concat());
    let object = repo.check("", 0);
    assert_eq!(object["verdict"], "inconclusive");
    let reason = "too little history: 8 commits with a result, of the 10 that are needed";
    assert_eq!(metric(&object)["reason"], reason);
    repo.check("--fail-on inconclusive", 102);
    assert_eq!(repo.check("--min-history 8", 100)["verdict"], "regression");
}

#[test]
fn a_history_without_spread_has_no_score() {
    let repo = Repo::new("steady");
    repo.commits_with(&[&[4.0; 12][..], &[5.0]].concat());
    let object = repo.check("", 0);
    assert_eq!(object["verdict"], "inconclusive");
    let reason = "all results of wall_time are the same, this one is another";
    assert_eq!(metric(&object)["reason"], reason);
}

#[test]
fn an_annotated_change_begins_a_new_mean_until_it_is_removed() {
    let repo = Repo::new("steady");
    let commits = repo.commits_with(&[&QUIET[..], &[14.0, 14.1, 14.05]].concat());
    let z = |args: &str, code| metric(&repo.check(args, code))["z"].as_f64();
    assert!(z("HEAD~2", 100).unwrap() < -5.0);
    let args = ["history", "annotate", "HEAD~2", "--change", "another allocator"];
    Cbdr::new(repo.path(), &repo.cache()).args(args).run().code(0);
    let object = repo.check("", 0);
    assert!((metric(&object)["mean"].as_f64().unwrap() - 14.05).abs() < 1e-9);
    assert_eq!(object["verdict"], "no-regression");
    // The annotated commit itself is not judged by what came before.
    let object = repo.check("HEAD~2", 0);
    let reason = metric(&object)["reason"].as_str().unwrap().to_owned();
    assert_eq!(object["verdict"], "inconclusive");
    assert_eq!(
        reason,
        format!("a change has been annotated since: {} (another allocator)", &commits[10][..10])
    );
    let list = repo.cbdr("history list").run().code(0);
    assert!(list.stdout.contains("change: another allocator"), "{}", list.stdout);
    repo.cbdr("history annotate HEAD~2 --remove").run().code(0);
    assert!(z("HEAD~2", 100).unwrap() < -5.0);
    repo.cbdr("history annotate HEAD~2 --remove").run().code(101).says("has no annotation");
    repo.cbdr("history annotate nowhere --change x").run().code(101).says("unknown revision");
    repo.cbdr("history annotate HEAD").run().code(2);
}

#[test]
fn only_results_that_agree_in_everything_are_compared() {
    let repo = Repo::new("steady");
    repo.commits_with(&QUIET);
    let commit = repo.commit("the next");
    for (path, value) in [
        ("/case/args", json!(["x"])),
        ("/hardware/cpu", json!("another")),
        ("/context/rustc", json!("rustc 2")),
        ("/metrics/0/unit", json!("ns")),
    ] {
        let mut line = result(&commit, 1, &[10.0]);
        *line["result"].pointer_mut(path).unwrap() = value;
        repo.note(&commit, &line.to_string());
    }
    let object = repo.check("", 0);
    let results = object["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    for result in results {
        assert_eq!(result["metrics"][0]["commits"], 0, "{result}");
    }
}

#[test]
fn other_machines_results_are_left_out_unless_they_are_asked_for() {
    let repo = Repo::new("steady");
    repo.commits_with(&QUIET);
    let ran = repo.cbdr("history check").run().code(101);
    ran.says("from this machine is stored").says("hint: there are results from other machines");
    repo.commit("nothing");
    let ran = repo.cbdr("history check --all-machines").run().code(101);
    ran.says("hint: `cargo cbdr history record` measures one").never_says("apart from");
    repo.note(repo.git(&["rev-parse", "HEAD"]).trim(), "hello");
    let ran = repo.cbdr("history check --all-machines").run().code(101);
    ran.says(" is stored, apart from lines that can't be read (1; one, of ");
    let ran = repo.cbdr("history check --all-machines HEAD~1 --metric wall_tim").run();
    ran.code(101).says("hint: did you mean `wall_time`?");
}

#[test]
fn what_others_put_into_the_notes_is_passed_over_and_cannot_command_the_terminal() {
    let repo = Repo::new("steady");
    let commits = repo.commits_with(&[&QUIET[..], &[10.0]].concat());
    let before = metric(&repo.check("", 0)).clone();
    let mut other = result(&commits[0], 1, &[10.0]);
    other["cbdr"] = json!(2);
    let long = format!("{{\"cbdr\":1,\"x\":\"{}\"}}", "y".repeat(2 << 20));
    let huge = result(&commits[3], 5, &[1.0]).to_string().replace("1.0", "1e999");
    for line in ["hello", "{}", "[[[[", &other.to_string(), &huge] {
        repo.note(&commits[3], line);
    }
    std::fs::write(repo.around().join("long"), long).unwrap();
    let path = repo.around().join("long").display().to_string();
    repo.git(&["notes", "--ref", "cbdr", "append", "-F", &path, &commits[4]]);
    let ran = repo.cbdr("history check --all-machines --format json").run().code(0);
    let ran = ran.says("warning: 6 lines of the notes skipped");
    assert_eq!(*metric(&ran.json()), before);
    let mut nasty = result(&commits[10], 50, &[10.0]);
    nasty["result"]["case"]["benchmark"] = json!("a\u{1b}[31mb\r\u{202e}\nregression: x");
    repo.note(&commits[10], &nasty.to_string());
    for command in ["check --all-machines", "list"] {
        let ran = repo.cbdr(&format!("history {command}")).run().code(0);
        assert!(!ran.stdout.contains('\u{1b}') && ran.stdout.contains("a\\u{1b}[31mb"));
        assert!(!ran.stdout.lines().any(|line| line.starts_with("regression")));
    }
}

#[test]
fn a_list_shows_the_series_with_outliers_failures_and_what_is_next() {
    let repo = Repo::new("steady");
    let mut values = [QUIET, QUIET].concat();
    values[12] = 40.0;
    let commits = repo.commits_with(&values);
    let mut failed = result(&commits[14], 77, &[]);
    failed["result"]["metrics"] = json!([]);
    failed["result"]["error"] = json!("was killed by SIGSEGV");
    repo.note(&commits[14], &failed.to_string());
    let ran = repo.cbdr("history list").run().code(0);
    let row = |short: &str| ran.stdout.lines().filter(|l| l.contains(short)).collect::<Vec<_>>();
    assert!(row(&commits[12][..10])[0].contains("outlier"), "{}", ran.stdout);
    assert!(row(&commits[14][..10])[1].contains("failed: was killed by SIGSEGV"));
    assert!(ran.stdout.contains("next: "), "{}", ran.stdout);
    let few = repo.cbdr("history list --commits 3").run().code(0);
    assert!(!few.stdout.contains(&commits[12][..10]));
    repo.cbdr("history list --benchmark other").run().code(101).says("no result of");
}

#[test]
fn the_page_draws_the_series_and_its_marks_and_no_script_of_others_runs() {
    let repo = Repo::new("steady");
    let mut values = [QUIET, QUIET].concat();
    values[12] = 40.0;
    let commits = repo.commits_with(&values);
    let path = repo.around().join("past.html");
    let args = format!("history list --html {}", path.display());
    let page = || {
        repo.cbdr(&args).run().code(0).says("Wrote ");
        std::fs::read_to_string(&path).unwrap()
    };
    // The style names the colour, too.
    let red = |page: &str| page.matches("stroke=\"#B92C3E\"").count();
    let before = page();
    assert_eq!(before.matches("<circle").count(), 20, "{before}");
    // Not the commit before them, which has no result.
    assert!(before.contains(&format!("20 commits, {} to", &commits[0][..10])), "{before}");
    let why = "<script>alert(1)</script>";
    let args = ["history", "annotate", &commits[15], "--change", why];
    Cbdr::new(repo.path(), &repo.cache()).args(args).run().code(0);
    let after = page();
    assert_eq!(red(&after), red(&before) + 1);
    assert!(!after.contains("<script") && after.contains("&lt;script"));
    assert!(after.contains("Content-Security-Policy"));
    assert!(after.contains(&commits[12][..10]));
}

#[test]
fn everything_can_be_exported() {
    let repo = Repo::new("steady");
    let commits = repo.commits_with(&QUIET[..2]);
    repo.cbdr("history annotate HEAD --change why").run().code(0);
    let csv = repo.cbdr("history export").run().code(0).stdout;
    // Two repetitions of one metric on two commits, and the header.
    assert_eq!(csv.lines().count(), 5, "{csv}");
    assert!(csv.starts_with("commit,time,id,repository,benchmark,"));
    let json = repo.cbdr("history export --format json").run().code(0).json();
    let of = |commit: &str| {
        let all = json["commits"].as_array().unwrap();
        all.iter().find(|found| found["commit"] == commit).unwrap()
    };
    assert_eq!(of(&commits[1])["changes"][0]["why"], "why");
    assert_eq!(
        of(&commits[0])["results"][0]["result"]["metrics"][0]["values"],
        json!([10.0, 10.5])
    );
}

#[test]
fn a_threshold_is_learnt_from_the_bases_results_on_such_machines_and_the_branch_has_no_say() {
    let repo = Repo::new("steady");
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    let configure = |threshold: &str| {
        let table =
            format!("[package.metadata.cbdr]\ncommand = \"true\"\nthreshold = {threshold:?}\n");
        repo.write("Cargo.toml", &format!("{manifest}\n{table}"));
        repo.commit(&format!("allow {threshold}"))
    };
    let first = configure("auto");
    repo.cbdr("history record --runs 1").run().code(0);
    let recorded: Value = serde_json::from_str(&repo.noted(&first)[0]).unwrap();
    assert!(recorded["result"]["seconds"].as_f64().unwrap() > 0.0, "{recorded}");
    repo.git(&["notes", "--ref", "cbdr", "remove", &first]);
    repo.branch("feature");
    repo.replace("src/lib.rs", "500_000", "500_001");
    let head = configure("90%");
    // Results of ten runs, which differ by up to so much.
    let note = |commit: &str, (from, to): (u32, u32), noise: f64, cpu: Option<&str>| {
        let lines = (from..to).map(|number| {
            let mut line = recorded.clone();
            let run = |run: u32| f64::from((7 * run * run + 3 * number + run) % 11) / 11.0;
            let values: Vec<f64> = (0..10).map(|place| 1.0 + noise * run(place)).collect();
            (line["id"], line["time"]) = (json!(format!("{noise}-{number}")), json!(number));
            line["result"]["commit"] = json!(commit);
            line["result"]["metrics"] =
                result(commit, number, &values)["result"]["metrics"].clone();
            if let Some(cpu) = cpu {
                line["result"]["hardware"]["cpu"] = json!(cpu);
            }
            line.to_string()
        });
        repo.note(commit, &lines.collect::<Vec<_>>().join("\n"));
    };
    let compare = || {
        let args = "compare main --max-pairs 6 --warmup 0 --always-run --layouts off --format";
        let [human, json] =
            ["human", "json"].map(|format| repo.cbdr(&format!("{args} {format}")).run());
        let metric = json.json()["benchmarks"][0]["metrics"][0].clone();
        (human, metric["threshold"].as_f64().unwrap(), metric["learnt"].clone())
    };
    // Neither other machines count nor the branch, or too few results.
    note(&first, (0, 4), 0.03, None);
    note(&first, (10, 20), 0.3, Some("another"));
    note(&head, (10, 20), 0.3, None);
    let (human, threshold, learnt) = compare();
    assert_eq!((threshold, learnt), (0.02, json!({"results": 0})));
    human.says("threshold 2%, the default: fewer than 5 results");
    note(&first, (4, 30), 0.03, None);
    let (human, quiet, learnt) = compare();
    assert_eq!(learnt, json!({"results": 30}));
    assert!(quiet > 0.01 && quiet < 0.05, "{quiet}");
    human.says(", learnt from 30 results").never_says("noisier");
    // What has become noisier is said, and goes no further than a tenth.
    note(&first, (30, 60), 0.3, None);
    let (human, loud, learnt) = compare();
    assert_eq!(loud, 0.1);
    assert!(learnt["earlier"].as_f64().unwrap() < 1.2 * quiet, "{learnt}");
    human.says("warning: ").says("learnt from stored results has grown from ");
}

#[test]
fn ten_recorders_at_once_lose_nothing() {
    let repo = Repo::new("steady");
    // One after the other they would not meet: each has a cache of its own.
    let start = |number: usize| {
        let cache = repo.around().join(format!("cache-{number}"));
        let args = "history record --runs 1 --warmup 0 --command true";
        let cbdr = Cbdr::new(repo.path(), &cache).args(args.split(' '));
        let mut command = cbdr.into_command();
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..10).map(start).collect();
    for child in children {
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    assert_eq!(repo.noted(&repo.head()).len(), 10);
}

/// Two clones of one bare remote, each with notes of its own.
fn clones(repo: &Repo) -> [std::path::PathBuf; 2] {
    let remote = repo.around().join("remote.git");
    git(&repo.around(), &["clone", "--quiet", "--bare", "repo", "remote.git"]);
    ["one", "two"].map(|name| {
        git(&repo.around(), &["clone", "--quiet", &remote.display().to_string(), name]);
        repo.around().join(name)
    })
}

fn annotate(repo: &Repo, folder: &Path, why: &str) {
    let args = ["history", "annotate", "HEAD", "--change", why];
    Cbdr::new(folder, &repo.cache()).args(args).run().code(0);
}

#[test]
fn two_clones_push_to_one_remote_and_both_have_all_lines() {
    let repo = Repo::new("steady");
    let [one, two] = clones(&repo);
    let run = |folder: &Path, args: &str| {
        Cbdr::new(folder, &repo.cache()).args(args.split(' ')).run().code(0)
    };
    run(&one, "history pull").says("Pulled notes from origin; 0 new lines");
    run(&one, "history push").says("Pushed notes to origin, which already had all of them");
    annotate(&repo, &one, "first");
    run(&one, "history push").says("Pushed notes to origin; 0 new lines from there");
    annotate(&repo, &two, "second");
    run(&two, "history push").says("Pushed notes to origin; 1 new line from there");
    run(&one, "history pull").says("1 new line");
    run(&one, "history pull").says("0 new lines");
    let show = |folder: &Path| git(folder, &["notes", "--ref", "cbdr", "show", "HEAD"]);
    assert_eq!(show(&one), show(&two));
    assert_eq!(show(&one).lines().count(), 2);
    // What one removes stays removed when the other has it still.
    run(&one, "history annotate HEAD --remove");
    run(&one, "history push");
    annotate(&repo, &two, "third");
    run(&two, "history push");
    run(&one, "history pull");
    let again = Cbdr::new(&one, &repo.cache()).args(["history", "annotate", "HEAD", "--remove"]);
    again.run().code(0).says("Removed 1 annotation of");
    // Nothing of the exchange is left.
    let refs = git(&one, &["for-each-ref", "--format=%(refname)", "refs/cbdr"]);
    assert_eq!(refs, "");
}

#[test]
fn pushes_at_the_same_time_lose_nothing() {
    let repo = Repo::new("steady");
    let folders = clones(&repo);
    for (number, folder) in folders.iter().enumerate() {
        for line in 0..5 {
            annotate(&repo, folder, &format!("{number} {line}"));
        }
    }
    let pushes = folders.iter().cycle().take(6).map(|folder| {
        let cbdr = Cbdr::new(folder, &repo.cache()).args(["history", "push"]);
        cbdr.into_command().stderr(Stdio::null()).spawn().unwrap()
    });
    for mut child in pushes.collect::<Vec<_>>() {
        assert!(child.wait().unwrap().success());
    }
    let remote = repo.around().join("remote.git");
    let text = git(&remote, &["notes", "--ref", "cbdr", "show", "HEAD"]);
    assert_eq!(text.lines().count(), 10, "{text}");
}

#[test]
fn a_push_that_the_remote_refuses_is_an_error_with_gits_words() {
    let repo = Repo::new("steady");
    let [one, _] = clones(&repo);
    annotate(&repo, &one, "x");
    let hook = repo.around().join("remote.git/hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho no notes here >&2\nexit 1\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).unwrap();
    let push = |remote: &str| {
        Cbdr::new(&one, &repo.cache()).args(["history", "push", "--", remote]).run().code(101)
    };
    push("origin").says("could not push the notes to `origin`").says("no notes here");
    push("nowhere").says("could not read the notes from `nowhere`");
    push("--upload-pack=x").says("is not a remote");
}

#[test]
fn notes_that_git_spread_over_folders_are_found_and_added_to() {
    let repo = Repo::new("steady");
    let commits = repo.commits_with(&[&QUIET[..], &[10.0]].concat());
    // As git lays out many of them.
    let blob = repo.git(&["notes", "--ref", "cbdr", "list", &commits[2]]);
    let index = repo.around().join("index");
    let tree = |entries: &str| {
        std::fs::write(repo.around().join("entries"), entries).unwrap();
        let script = "git update-index --index-info < ../entries && git write-tree";
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", script]).current_dir(repo.path()).env("GIT_INDEX_FILE", &index);
        String::from_utf8(shell.output().unwrap().stdout).unwrap().trim().to_owned()
    };
    let name = &commits[2];
    let spread = format!("{}/{}/{}", &name[..2], &name[2..4], &name[4..]);
    let id = tree(&format!("100644 {blob}\t{spread}\n"));
    let commit = repo.git(&["commit-tree", "-m", "spread", &id]);
    repo.git(&["update-ref", "refs/notes/cbdr", &commit]);
    let args = ["history", "annotate", name, "--change", "here"];
    Cbdr::new(repo.path(), &repo.cache()).args(args).run().code(0);
    assert_eq!(repo.noted(name).len(), 2);
    let files = repo.git(&["ls-tree", "-r", "--name-only", "refs/notes/cbdr"]);
    assert_eq!(files, spread);
    let list = repo.cbdr("history list").run().code(0);
    assert!(list.stdout.contains("change: here"), "{}", list.stdout);
}

#[test]
fn a_remote_that_went_on_without_our_lines_takes_none_away() {
    let repo = Repo::new("steady");
    let [one, two] = clones(&repo);
    annotate(&repo, &one, "the first");
    annotate(&repo, &one, "the second");
    repo.cbdr("history push").folder(&one).run().code(0);
    repo.cbdr("history pull").folder(&two).run().code(0);
    // On top of what is there, a note without the first line; then none.
    for step in ["one line", "none"] {
        let note = git(&two, &["notes", "--ref", "cbdr", "show"]);
        match step {
            "none" => drop(git(&two, &["notes", "--ref", "cbdr", "remove"])),
            _ => {
                let last = note.lines().last().unwrap();
                git(&two, &["notes", "--ref", "cbdr", "add", "--force", "-m", last]);
            }
        }
        git(&two, &["push", "--quiet", "origin", "refs/notes/cbdr"]);
        repo.cbdr("history pull").folder(&one).run().code(0);
        let kept = git(&one, &["notes", "--ref", "cbdr", "show"]);
        assert!(kept.contains("the first") && kept.contains("the second"), "{step}: {kept}");
        // And they come back to all.
        repo.cbdr("history push").folder(&one).run().code(0);
        repo.cbdr("history pull").folder(&two).run().code(0);
        assert_eq!(git(&two, &["notes", "--ref", "cbdr", "show"]), kept);
    }
}
