//! `cargo cbdr init`: what it writes is enough, and nothing else changes.

use std::process::{Command, Stdio};

use crate::support::{Ran, Repo, make_executable, search_path};

fn read(repo: &Repo, path: &str) -> String {
    std::fs::read_to_string(repo.path().join(path)).unwrap()
}

#[track_caller]
fn init(repo: &Repo, args: &str) -> Ran {
    repo.cbdr(&format!("init {args}")).run()
}

#[test]
fn the_table_it_writes_is_all_that_a_comparison_needs() {
    let repo = Repo::new("steady");
    let before = read(&repo, "Cargo.toml");
    let ran = init(&repo, "--metric cpu_time --try-for 1s").code(0);
    let ran = ran.says("Choosing bench `work` (plain) of `steady`: ").says(" runs of ");
    ran.says("Expecting the first verdict after").says("Wrote `Cargo.toml`").says("Next commit");
    let after = read(&repo, "Cargo.toml");
    let added: String = after.lines().filter(|line| !before.contains(line)).collect();
    assert!(added.starts_with("# What `cargo cbdr compare` runs"), "{after}");
    let table =
        "[package.metadata.cbdr]\nbench = \"work\"\nmetrics = [\"cpu_time\"]\nthreshold = \"";
    assert!(after.contains(table), "{after}");
    assert_eq!(repo.git(&["status", "--porcelain"]), " M Cargo.toml");
    repo.commit("configured");
    repo.branch("slower");
    repo.replace("benches/work.rs", "fn main() {", "fn main() {\n    // Slower by nothing.");
    repo.commit("a comment");
    repo.cbdr("compare --max-pairs 6 --threshold 900% --layouts off").run().code(0);
}

#[test]
fn a_time_limit_that_is_given_stays_however_short_it_is() {
    let repo = Repo::new("steady");
    let ran = init(&repo, "--metric cpu_time --try-for 1s --time-limit 1ms").code(0);
    ran.says(": allow 1m; fewer benchmarks or less data take less time").never_says("raised");
    let manifest = read(&repo, "Cargo.toml");
    assert!(manifest.contains("time-limit = \"1ms\""), "{manifest}");
}

#[test]
fn what_is_there_is_never_overwritten() {
    let repo = Repo::new("steady");
    let ran = init(&repo, "--try-for 0s --threshold 7% --ci github -- --quick").code(0);
    ran.says("Wrote `.github/workflows/cbdr.yml`");
    let (manifest, workflow) =
        (read(&repo, "Cargo.toml"), read(&repo, ".github/workflows/cbdr.yml"));
    assert!(manifest.contains("args = [\"--quick\"]\nthreshold = \"7%\"\n"), "{manifest}");
    let ran = init(&repo, "--try-for 0s").code(101);
    ran.says("already has a table [package.metadata.cbdr], which is not overwritten");
    let ran = init(&repo, "--try-for 0s --ci github").code(101);
    ran.says("cbdr.yml` already exists, and is not overwritten");
    let ran = init(&repo, "--threshold 9% --ci script").code(101);
    ran.says("which is not overwritten").never_says("Wrote");
    // A workflow may come later; the table stays.
    let ran = init(&repo, "--ci script").code(0);
    ran.says("Keeping [package.metadata.cbdr]").says("Wrote `ci/cbdr.sh`");
    assert_eq!(read(&repo, "Cargo.toml"), manifest);
    assert_eq!(read(&repo, ".github/workflows/cbdr.yml"), workflow);
}

#[test]
fn a_dry_run_writes_nothing_and_prints_a_patch_of_the_same() {
    let repo = Repo::new("steady");
    for service in [
        "github",
        "github --shards 3",
        "github --on comment",
        "github --on label",
        "github --on comment --shards 3",
        "github --on label --shards 3",
        "github --watch",
        "gitlab",
        "gitlab --shards 3",
        "buildkite",
        "slurm",
        "kubernetes",
        "script",
    ] {
        let args = format!("--try-for 0s --ci {service}");
        let ran = init(&repo, &format!("{args} --dry-run")).code(0);
        assert_eq!(repo.git(&["status", "--porcelain"]), "");
        let mut apply = Command::new("git");
        apply.current_dir(repo.path()).args(["apply", "--whitespace=error-all", "-"]);
        let mut apply = apply.stdin(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut apply.stdin.take().unwrap(), ran.stdout.as_bytes()).unwrap();
        assert!(apply.wait().unwrap().success(), "{}", ran.stdout);
        repo.git(&["add", "--all"]);
        let patched = repo.git(&["write-tree"]);
        repo.git(&["reset", "--quiet", "--hard"]);
        init(&repo, &args).code(0);
        repo.git(&["add", "--all"]);
        assert_eq!(repo.git(&["write-tree"]), patched);
        repo.git(&["reset", "--quiet", "--hard"]);
    }
}

#[test]
fn the_documentation_shows_what_is_written() {
    let repo = Repo::new("steady");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let shown = std::fs::read_to_string(root.join("docs/ci.md")).unwrap();
    for (service, path) in [
        ("github", ".github/workflows/cbdr.yml"),
        ("gitlab", ".gitlab/cbdr.yml"),
        ("script", "ci/cbdr.sh"),
    ] {
        init(&repo, &format!("--try-for 0s --ci {service}")).code(0);
        let written = read(&repo, path);
        assert_no_placeholder(&written);
        let is_shown = shown.contains(if service == "github" { &*written } else { path });
        assert!(is_shown, "docs/ci.md does not show {path}:\n{written}");
        std::fs::remove_file(repo.path().join(path)).unwrap();
    }
}

#[track_caller]
fn assert_no_placeholder(written: &str) {
    let words = ["@FOLDER@", "@UP@", "@VERSION@", "@SHARDS@", "@NUMBERS@", "@OPTIONS@", "@JOBS@"];
    for placeholder in words.iter().chain(&["@if ", "@end@"]) {
        assert!(!written.contains(placeholder), "{written}");
    }
}

#[test]
fn engines_with_several_machines_get_as_many_as_are_asked_for() {
    let repo = Repo::new("steady");
    let files = [
        ("github", ".github/workflows/cbdr.yml", "        shard: [1, 2, 3]\n"),
        ("gitlab", ".gitlab/cbdr.yml", "  parallel: 3\n"),
        ("gitlab", ".gitlab/cbdr.yml", "  needs: [cbdr-pack]\n"),
        ("buildkite", ".buildkite/cbdr.yml", "    parallelism: 3\n"),
        ("slurm", "ci/cbdr-slurm.sh", "\nshards=3\n"),
        ("kubernetes", "ci/cbdr-kubernetes.yml", "  completions: 3\n  parallelism: 3\n"),
    ];
    for (service, path, line) in files {
        init(&repo, &format!("--try-for 0s --ci {service} --shards 3")).code(0);
        let written = read(&repo, path);
        assert_no_placeholder(&written);
        assert!(written.contains(line), "{written}");
        if path.ends_with(".yml") {
            yaml_rust2::YamlLoader::load_from_str(&written).unwrap();
        }
        // Both sides are built once.
        if service != "github" {
            assert_eq!(written.matches("cargo-cbdr pack").count(), 1, "{service}");
            let measures = written.lines().find(|line| line.contains("--shard auto")).unwrap();
            assert!(measures.contains("--packed"), "{service}: {measures}");
        }
        std::fs::remove_file(repo.path().join(path)).unwrap();
    }
    init(&repo, "--try-for 0s --ci script --shards 3").code(2).says("is for one machine");
    init(&repo, "--try-for 0s --shards 3").code(2).says("--ci");
    for options in ["gitlab --on comment", "script --watch"] {
        init(&repo, &format!("--try-for 0s --ci {options}")).code(2).says("`--ci github`");
    }
}

#[test]
fn every_script_that_it_writes_is_one_that_shellcheck_accepts() {
    let repo = Repo::new("steady");
    if Command::new("shellcheck").arg("--version").stdout(Stdio::null()).status().is_err() {
        return crate::support::skipped("shellcheck is not installed");
    }
    for (service, path) in [("slurm", "ci/cbdr-slurm.sh"), ("script", "ci/cbdr.sh")] {
        init(&repo, &format!("--try-for 0s --ci {service}")).code(0);
        let output = Command::new("shellcheck").arg(repo.path().join(path)).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// A search path that begins with these scripts.
fn with_programs(repo: &Repo, scripts: &[(&str, &str)]) -> std::ffi::OsString {
    for (name, text) in scripts {
        repo.write(&format!("bin/{name}"), text);
        make_executable(&repo.path().join("bin").join(name));
    }
    let folders = std::env::split_paths(search_path());
    std::env::join_paths(std::iter::once(repo.path().join("bin")).chain(folders)).unwrap()
}

#[test]
fn the_script_for_slurm_leaves_the_base_to_the_program_unless_somebody_names_one() {
    let repo = Repo::new("steady");
    init(&repo, "--try-for 0s --ci slurm").code(0);
    // Of what is submitted, only the builds are run, at once.
    let submit = "#!/bin/bash\n\
        for word; do case $word in --output=*) out=${word#*=};; esac; done\n\
        while [[ $1 == --* ]]; do shift; done\n\
        if [ \"$2\" = pack ]; then \"$@\"; fi > \"$out\" && echo 1\n";
    let program = "#!/bin/sh\necho \"$@\" >> \"$CALLS\"\n";
    let path = with_programs(&repo, &[("sbatch", submit), ("cargo-cbdr", program)]);
    let calls = repo.around().join("calls");
    let packed = |args: &[&str]| {
        let mut script = Command::new("bash");
        script.args(["ci/cbdr-slurm.sh", "submit"]).args(args).current_dir(repo.path());
        script.env_clear().env("PATH", &path).env("CALLS", &calls);
        let output = script.env("CBDR_RUNS", repo.around().join("runs")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let words = std::fs::read_to_string(&calls).unwrap();
        std::fs::remove_file(&calls).unwrap();
        let (words, file) = words.trim_end().rsplit_once(' ').unwrap();
        assert!(file.ends_with("/change.pack"), "{words} {file}");
        words.to_owned()
    };
    let head = repo.git(&["rev-parse", "HEAD"]).trim().to_owned();
    assert_eq!(packed(&[]), format!("pack --head {head}"));
    assert_eq!(packed(&["main"]), format!("pack --head {head} --exact-base {head}"));
}

#[test]
fn the_script_leaves_the_base_to_the_program_unless_somebody_names_one() {
    let repo = Repo::new("steady");
    init(&repo, "--try-for 0s --ci script").code(0);
    let path =
        with_programs(&repo, &[("cargo-cbdr", "#!/bin/sh\nfor word; do echo \"($word)\"; done\n")]);
    let calls_with = |args: &[&str], variable: &[(&str, &str)]| {
        let mut script = Command::new("sh");
        script.arg("ci/cbdr.sh").args(args).current_dir(repo.path());
        script.env_clear().env("PATH", &path);
        let output = script.env("CBDR_OUT", "out").envs(variable.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let words = String::from_utf8(output.stdout).unwrap();
        let (_, last) = words.trim_end().rsplit_once("(out/cbdr.html)").unwrap();
        last.trim().to_owned()
    };
    std::fs::create_dir(repo.path().join("out")).unwrap();
    assert_eq!(calls_with(&[], &[]), "");
    assert_eq!(calls_with(&[], &[("CHANGE_TARGET", "next")]), "(next)");
    assert_eq!(calls_with(&["v1"], &[("CHANGE_TARGET", "next")]), "(v1)");
}

#[test]
fn a_workflow_of_a_crate_in_a_folder_goes_there() {
    let repo = Repo::new("steady");
    std::fs::create_dir_all(repo.path().join("deep/crate")).unwrap();
    for name in ["Cargo.toml", "Cargo.lock", "src", "benches"] {
        repo.git(&["mv", name, "deep/crate/"]);
    }
    repo.commit("moved");
    let folder = repo.path().join("deep/crate");
    let lines = [
        (
            "github",
            ".github/workflows/cbdr.yml",
            "        with: { working-directory: deep/crate }\n",
        ),
        (
            "github --watch",
            ".github/workflows/cbdr-watch.yml",
            "          working-directory: deep/crate\n",
        ),
        ("gitlab", ".gitlab/cbdr.yml", "    - cd deep/crate\n"),
        ("buildkite", ".buildkite/cbdr.yml", "      cd deep/crate\n"),
        ("slurm", "ci/cbdr-slurm.sh", "\")/../deep/crate\"\n"),
        ("kubernetes", "ci/cbdr-kubernetes.yml", "              cd deep/crate\n"),
        ("script", "ci/cbdr.sh", "cd \"$(dirname \"$0\")/../deep/crate\"\n"),
    ];
    for (service, path, line) in lines {
        let args = format!("init --try-for 0s --ci {service}");
        repo.cbdr(&args).folder(&folder).run().code(0);
        assert!(read(&repo, path).contains(line), "{}", read(&repo, path));
    }
    assert!(read(&repo, "deep/crate/Cargo.toml").contains("[package.metadata.cbdr]"));
}

#[test]
fn in_a_workspace_the_table_of_the_workspace_names_the_package() {
    let repo = Repo::new("members");
    let ran = init(&repo, "--try-for 0s").code(0);
    let ran = ran.says("Choosing bench `work_one` (plain) of `one`");
    ran.says("Leaving bench `work_two` (plain) of `two`; `-p` and `--bench` choose another");
    let table = "[workspace.metadata.cbdr]\npackage = \"one\"\nbench = \"work_one\"\n";
    assert!(read(&repo, "Cargo.toml").contains(table));
    repo.commit("configured");
    repo.branch("topic");
    repo.commit("nothing");
    let ran = repo.cbdr("compare --format json").run().code(0);
    assert_eq!(ran.json()["benchmarks"][0]["name"], "work_one");
    repo.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    init(&repo, "--try-for 0s -p two").code(0).says("Choosing bench `work_two`");
    repo.git(&["reset", "--quiet", "--hard"]);
    let ran = init(&repo, "--try-for 0s --bench work_three").code(101);
    ran.says("error: ").never_says("Wrote");
    let ran = init(&repo, "--try-for 0s --bench work_one --filter x").code(2);
    ran.says("a table has no key for a filter");
}

#[test]
fn what_is_named_is_written_down_as_it_is_named() {
    let repo = Repo::new("steady");
    repo.write("src/main.rs", "fn main() {}\n");
    repo.commit("a program");
    for (args, line) in
        [("--bin steady", "bin = \"steady\""), ("--command true", "command = \"true\"")]
    {
        init(&repo, &format!("--try-for 0s {args}")).code(0);
        let manifest = read(&repo, "Cargo.toml");
        assert!(manifest.contains(&format!("cbdr]\n{line}\nthreshold = ")), "{manifest}");
        repo.git(&["checkout", "--quiet", "Cargo.toml"]);
    }
}

#[test]
fn a_benchmark_that_does_not_run_is_not_written_down() {
    let repo = Repo::new("steady");
    repo.replace("benches/work.rs", "fn main() {", "fn main() {\n    panic!(\"no\");");
    repo.commit("broken");
    init(&repo, "--try-for 1s").code(101).says("error: the base of `work`");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

/// The source of a bench of Rust's own format that takes `millis` for a run.
fn bench(names: &[&str], noise: &str, millis: u64) -> String {
    let mut source = String::from(
        "fn main() {\n    let args: Vec<String> = std::env::args().collect();\n    \
         if args.len() > 99 { println!(\"Exactly match filters rather than by substring\"); }\n    \
         let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);\n    \
         let chance = (now.unwrap().as_nanos() / 1000 % 1000) as f64 / 1000.0;\n",
    );
    source += &format!("    std::thread::sleep(std::time::Duration::from_millis({millis}));\n");
    for name in names {
        let line = "test {} ... bench: {:.2} ns/iter (+/- 1.00)";
        source += &format!(
            "    if !args.iter().any(|arg| arg == \"--exact\") || args.iter().any(|arg| arg == {name:?}) {{\n        \
             println!({line:?}, {name:?}, 1000.0 * ({noise}_f64 * chance).exp());\n    }}\n"
        );
    }
    source + "}\n"
}

#[test]
fn of_several_targets_those_are_chosen_that_can_be_decided() {
    let repo = Repo::new("steady");
    let plain = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    let benches = [
        ("broken", "fn main() {\n    std::process::exit(3);\n}\n".to_owned()),
        ("bad", "no Rust".to_owned()),
        ("first", bench(&["a", "b"], "0.001", 1)),
        ("noisy", bench(&["c"], "40.0", 1)),
        ("second", bench(&["d"], "0.001", 1)),
        ("slow", bench(&["e"], "0.001", 1000)),
    ];
    let entry = |name: &str| format!("\n[[bench]]\nname = \"{name}\"\nharness = false\n");
    let mut manifest = plain.split("[[bench]]").next().unwrap().to_owned();
    for (name, source) in &benches {
        repo.write(&format!("benches/{name}.rs"), source);
        manifest += &entry(name);
    }
    repo.git(&["rm", "--quiet", "benches/work.rs"]);
    repo.write("Cargo.toml", &manifest);
    repo.commit("several benches");
    // A run of the slow one takes more than half of what it may, those of the others far less, also
    // where others use the processors.
    let ran = init(&repo, "--try-for 8s --time-limit 30s").code(0);
    let ran = ran.says("`bad` is left out: it builds on neither side");
    let ran = ran.says("Choosing bench `first` (libtest) of `steady`: 2 benchmarks in ");
    let ran = ran.says("Choosing bench `second` (libtest) of `steady`: 1 benchmark in ");
    let ran = ran.says("Leaving bench `noisy` (libtest) of `steady`: it is ");
    let ran = ran.says("Leaving bench `slow` (libtest) of `steady`: its runs take ");
    ran.says("Leaving bench `broken` (plain) of `steady`: the base of `broken` exited with code 3");
    let after = read(&repo, "Cargo.toml");
    let table =
        |name: &str| format!("[package.metadata.cbdr.benchmarks.{name}]\nbench = \"{name}\"\n");
    assert!(after.contains(&table("first")) && after.contains(&table("second")), "{after}");
    assert_eq!(after.matches("bench = \"").count(), 2, "{after}");
    // What was written runs.
    repo.commit("configured");
    let ran = repo
        .cbdr("compare --aa --max-pairs 6 --threshold 900% --layouts off --format json")
        .run()
        .code(0);
    let object = ran.json();
    let names: Vec<_> =
        object["benchmarks"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["first/a", "first/b", "second/d"]);
}

#[test]
fn where_all_of_several_are_chosen_none_is_named() {
    let repo = Repo::new("steady");
    repo.write("benches/work.rs", &bench(&["a"], "0.001", 1));
    repo.write("benches/more.rs", &bench(&["b"], "0.001", 1));
    let manifest = read(&repo, "Cargo.toml") + "\n[[bench]]\nname = \"more\"\nharness = false\n";
    repo.write("Cargo.toml", &manifest);
    repo.commit("two benches");
    init(&repo, "--try-for 1s").code(0);
    let after = read(&repo, "Cargo.toml");
    assert!(after.contains("[package.metadata.cbdr]\nthreshold = \""), "{after}");
    assert!(!after.contains("bench = \""), "{after}");
}
