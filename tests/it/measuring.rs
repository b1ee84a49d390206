//! How runs are made, and in which surroundings.

use std::collections::BTreeSet;

use crate::support::{ONE_PAIR, PRINTED, Ran, Repo, metric, printing};

/// Adds a line to the file that `LOG` names: the side, the processors, the
/// niceness, where the stack lies, the first line of standard input.
const LOOK: &str = r#"side=$(basename "$(dirname "$PWD")")
cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$$/status)
nice=$(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f17)
stack=$(sed -n 's/ .*\[stack\]//p' /proc/$$/maps)
read -r line
echo "$side cpus=$cpus nice=$nice stack=$stack input=$line" >> "$LOG"
"#;

/// A repository with a branch, and two scripts: one that looks, one that adds
/// its argument and its side to the log.
fn repo() -> Repo {
    let repo = Repo::new("steady");
    repo.write("look.sh", LOOK);
    repo.write("say.sh", "echo \"$1 $(basename \"$(dirname \"$PWD\")\")\" >> \"$LOG\"\n");
    repo.write("input", "first\nsecond\n");
    repo.commit("scripts");
    repo.branch("feature");
    repo.write("other", "");
    repo.commit("a change");
    repo
}

/// Runs a comparison; returns its output, and the lines of the log.
#[track_caller]
fn compare(repo: &Repo, command: &str, args: &str, code: i32) -> (Ran, Vec<String>) {
    let log = repo.around().join("log");
    let _ = std::fs::remove_file(&log);
    let call = repo.cbdr(&format!("compare main {args}")).args(["--command", command]);
    let ran = call.env("LOG", &log).run().code(code);
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    (ran, text.lines().map(str::to_owned).collect())
}

/// The different values of a field.
fn values(lines: &[String], field: &str) -> BTreeSet<String> {
    let value = |line: &String| {
        let found = line.split(' ').find_map(|word| word.strip_prefix(field)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("{field} is not in {line}")).to_owned()
    };
    lines.iter().map(value).collect()
}

fn set<const N: usize>(values: [&str; N]) -> BTreeSet<String> {
    values.map(str::to_owned).into_iter().collect()
}

#[test]
fn a_run_is_left_alone_unless_asked_otherwise() {
    let (_, lines) = compare(&repo(), "sh look.sh", "--max-pairs 6 --threshold 900% --warmup 0", 0);
    assert_eq!(lines.len(), 12);
    assert_eq!(values(&lines, "input"), set([""]));
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let own = own.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    assert_eq!(values(&lines, "cpus"), set([own.trim()]));
}

#[test]
fn addresses_processor_niceness_and_input_are_as_was_asked() {
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let own = own.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let first = own.trim().split([',', '-']).next().unwrap();
    let args =
        format!("--max-pairs 6 --threshold 900% --aslr off --cpu {first} --nice 3 --stdin input");
    let (_, lines) = compare(&repo(), "sh look.sh", &args, 0);
    assert_eq!(lines.len(), 14);
    assert_eq!(values(&lines, "cpus"), set([first]));
    let own = std::fs::read_to_string("/proc/self/stat").unwrap();
    let own: i32 = own.rsplit(')').next().unwrap().split(' ').nth(17).unwrap().parse().unwrap();
    assert_eq!(values(&lines, "nice"), set([&(own + 3).min(19).to_string()]));
    // Read from its beginning by every run.
    assert_eq!(values(&lines, "input"), set(["first"]));
    assert_eq!(values(&lines, "stack").len(), 1, "{lines:?}");
}

#[test]
fn what_the_machine_refuses_is_an_error_that_names_it() {
    let repo = repo();
    let (ran, lines) = compare(&repo, "sh look.sh", "--cpu 1023", 101);
    ran.says("`sh` can't be run as requested")
        .says("could not run on processor 1023")
        .says("hint: choose a processor that this process may use: ");
    assert_eq!(lines, [] as [&str; 0]);
    let (ran, _) = compare(&repo, "sh look.sh", "--stdin none", 101);
    ran.says("/none`, the standard input of the base of `sh`\n")
        .says("No such file or directory")
        .says("hint: name a file that both sides have");
    let (ran, _) = compare(&repo, "sh look.sh", "--aslr maybe", 2);
    ran.says("invalid aslr `maybe`: it must be `on` or `off`");
}

#[test]
fn commands_run_before_the_first_before_each_and_after_the_last_run() {
    let args = "--max-pairs 6 --threshold 900% --seed 1 --repetitions 2";
    let repo = repo();
    let hooks = ["--setup", "sh say.sh 'set up'", "--prepare", "sh say.sh prepare"];
    let cleanup = ["--cleanup", "sh say.sh 'clean up'"];
    let log = repo.around().join("log");
    let call = || {
        let _ = std::fs::remove_file(&log);
        let call = repo.cbdr(&format!("compare main {args}")).args(hooks).args(cleanup);
        call.env("LOG", &log)
    };
    call().args(["--command", "sh say.sh run"]).run().code(0);
    let lines = |log| std::fs::read_to_string(log).unwrap();
    let text = lines(&log);
    let mut all: Vec<&str> = text.lines().collect();
    assert_eq!(all[..2], ["set up base", "set up head"]);
    assert_eq!(all[all.len() - 2..], ["clean up base", "clean up head"]);
    all.drain(..2);
    all.truncate(all.len() - 2);
    // A warm-up of each side, then twice the runs of six pairs.
    assert_eq!(all.len(), 2 * (2 + 24));
    for two in all.chunks(2) {
        let side = two[0].strip_prefix("prepare ").unwrap();
        assert_eq!(two[1], format!("run {side}"));
    }
    // Also when a run fails.
    call().args(["--command", "sh -c 'exit 3'"]).run().code(101).says("exited with code 3");
    assert!(lines(&log).ends_with("clean up base\nclean up head\n"));
}

#[test]
fn a_failing_command_around_runs_is_an_error_with_its_last_words() {
    let repo = repo();
    for hook in ["setup", "prepare", "cleanup"] {
        let call = repo.cbdr("compare main --command true --max-pairs 6 --threshold 900%");
        let ran = call.args([format!("--{hook}"), "sh -c 'echo oh dear; exit 7'".into()]).run();
        ran.code(101)
            .says(&format!("`{hook}` of the base of `true` exited with code 7"))
            .says("oh dear");
    }
}

#[test]
fn a_measurement_is_the_mean_of_repetitions_or_the_least_of_measurements() {
    let repo = repo();
    let samples = repo.around().join("samples.csv");
    let rows = || std::fs::read_to_string(&samples).unwrap().lines().count() - 1;
    let count = |args: &str| {
        let args = format!(
            "--max-pairs 8 --threshold 900% --warmup 0 {args} --samples {}",
            samples.display()
        );
        let (_, lines) = compare(&repo, "sh say.sh run", &args, 0);
        assert_eq!(rows(), 16);
        lines.len()
    };
    assert_eq!(count(""), 16);
    assert_eq!(count("--repetitions 3"), 48);
    assert_eq!(count("--estimator min"), 80);
    assert_eq!(count("--estimator min --min-of 2 --repetitions 3"), 96);
}

#[test]
fn what_is_too_short_for_its_clock_is_repeated_and_how_often_is_remembered() {
    let repo = repo();
    let args = &format!("--metric user_time {ONE_PAIR} --format json");
    let (ran, lines) = compare(&repo, "sh say.sh run", args, 0);
    let runs = |ran: &Ran| -> usize {
        let notices = ran.json()["notices"].clone();
        let told = notices.as_array().unwrap().iter().find_map(|notice| {
            notice.as_str()?.strip_suffix(" runs")?.rsplit(' ').next()?.parse().ok()
        });
        told.unwrap_or_else(|| panic!("{notices}"))
    };
    // The slower the machine, the fewer; what takes no time at all is run 24 times.
    let number = runs(&ran);
    assert!((2..25).contains(&number), "{number}");
    // Tuning, a warm-up, a pair; then no more tuning.
    assert!(lines.len() > 2 + 2 * number);
    let (ran, lines) = compare(&repo, "sh say.sh run", args, 0);
    assert_eq!((runs(&ran), lines.len()), (number, 2 + 2 * number));
    // The wall clock is fine enough.
    let (_, lines) =
        compare(&repo, "sh say.sh run", "--max-pairs 6 --threshold 900% --warmup 0", 0);
    assert_eq!(lines.len(), 12);
}

#[test]
fn outputs_are_compared_and_a_difference_is_said() {
    let repo = repo();
    let differ = "the two sides of `sh` print different output: line 2 of standard output differs";
    let args = "--check-output --max-pairs 6 --threshold 900%";
    let (ran, _) = compare(&repo, "sh -c 'echo a; pwd; echo b'", args, 0);
    ran.never_says("print different output").never_says("something different in each run");
    let (ran, _) = compare(&repo, "sh -c 'echo a; ls other 2>&1; echo b'", args, 0);
    ran.says(differ);
    let (ran, _) = compare(&repo, "sh -c 'echo a; echo $$; echo b'", args, 0);
    ran.says("the base of `sh` prints something different in each run, in line 2");
    let (ran, _) =
        compare(&repo, "sh -c 'ls other 2>&1; true'", "--max-pairs 6 --threshold 900%", 0);
    ran.never_says("print different output");
}

#[test]
fn different_output_is_a_verdict_where_that_was_asked_to_fail() {
    let repo = repo();
    let fail = "--check-output=fail --max-pairs 14 --warmup 0 --threshold 90%";
    let other = "sh -c 'ls other 2>&1; sh say.sh run'";
    let (ran, lines) = compare(&repo, other, &format!("{fail} --format json"), 100);
    let object = ran.json();
    for said in [&object["verdict"], &object["stopped_by"], &object["benchmarks"][0]["status"]] {
        assert_eq!(said, "different-output", "{object}");
    }
    // Each side twice, to see whether it prints the same each time; nothing is measured.
    assert_eq!(lines.len(), 4);
    let answer = "different output: the two sides of sh do not print the same";
    for (format, text) in [
        ("human", answer),
        ("markdown", "<h3>🔴 different output"),
        ("github", "::error title=cargo cbdr%3A different output::"),
        ("junit", " type=\"different-output\">"),
    ] {
        let (ran, _) = compare(&repo, other, &format!("{fail} --format {format}"), 100);
        assert!(ran.stdout.contains(text), "{format}: {}", ran.stdout);
    }
    compare(&repo, "echo same", fail, 0);
    // What can't be compared was not shown to be the same.
    let (ran, _) = compare(&repo, "sh -c 'echo $$'", fail, 101);
    ran.says("the outputs of `sh` can't be compared: line 1 of the base differs from run to run");
    let (ran, _) = compare(&repo, "true", fail, 101);
    ran.says("the outputs of `true` can't be compared: it prints nothing").says("CBDR_OUTPUT");
}

#[test]
fn what_a_benchmark_hands_over_is_compared_in_place_of_what_it_prints() {
    let repo = repo();
    let fail = "--check-output=fail --max-pairs 14 --warmup 0 --threshold 90%";
    let hand = |what: &str| {
        format!("sh -c 'echo $$; if [ \"$CBDR_OUTPUT\" ]; then {what} > $CBDR_OUTPUT; fi'")
    };
    compare(&repo, &hand("echo digest"), fail, 0);
    let (ran, _) = compare(&repo, &hand("(ls other 2>&1; true)"), fail, 100);
    ran.says("line 1 of what they hand over differs");
    // Measured runs hand nothing over.
    let (_, lines) = compare(&repo, &hand("echo 7; sh say.sh handed >&2; echo"), fail, 0);
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn the_bases_table_decides_whether_different_output_fails() {
    let repo = Repo::new("steady");
    let table = |value: &str| {
        let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
        let manifest = manifest.split("\n[package.metadata").next().unwrap().to_owned();
        let table = format!("[package.metadata.cbdr]\ncheck-output = {value}\n");
        repo.write("Cargo.toml", &format!("{manifest}\n{table}"));
    };
    table("\"fail\"");
    repo.commit("checked");
    repo.branch("feature");
    table("true");
    repo.write("other", "");
    repo.commit("loosened");
    let (ran, _) =
        compare(&repo, "sh -c 'ls other 2>&1; true'", "--max-pairs 6 --threshold 900%", 100);
    ran.says("base and head set `check-output` differently");
    let from_head = "--max-pairs 6 --threshold 900% --policy-from head";
    let (ran, _) = compare(&repo, "sh -c 'ls other 2>&1; true'", from_head, 0);
    ran.says("print different output");
}

#[test]
fn a_port_that_is_taken_is_explained() {
    let repo = Repo::new("steady");
    repo.write("serve.sh", "echo 'OSError: [Errno 98] Address already in use' >&2; exit 1\n");
    repo.commit("serve");
    let ran = repo.cbdr("compare --aa --command").args(["sh serve.sh"]).run().code(101);
    ran.says("Address already in use").says("hint: an address was still in use");
}

#[test]
fn what_a_benchmark_prints_wins_over_a_meter_that_may_not_be_there() {
    let one = |count: u32| format!("{{\"one\": {{\"instructions\": {count}, \"size\": 7}}}}");
    let repo = printing(&one(1000), &one(1500));
    let compare = |args: &str| {
        let call = format!("compare main {PRINTED} {args} {ONE_PAIR} --format json");
        repo.cbdr(&call).run().code(0).json()
    };
    for args in ["--metric instructions", "--metric size --show instructions"] {
        let object = compare(args);
        let instructions = metric(&object, "instructions");
        assert_eq!(
            (&instructions["base"], &instructions["head"]),
            (&1000.0.into(), &1500.0.into())
        );
    }
}
