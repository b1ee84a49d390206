//! `action.yml`: its scripts, run as a GitHub runner runs them, with substitutes for
//! what would need the network.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use yaml_rust2::{Yaml, YamlLoader};

use crate::support::{Repo, path_with_binary};

const MARKER: &str = "<!-- cargo-cbdr -->";
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn action() -> Yaml {
    let text = std::fs::read_to_string(root().join("action.yml")).unwrap();
    YamlLoader::load_from_str(&text).unwrap().remove(0)
}

fn step<'a>(action: &'a Yaml, name: &str) -> &'a Yaml {
    let steps = action["runs"]["steps"].as_vec().unwrap();
    steps.iter().find(|step| step["name"].as_str() == Some(name)).unwrap()
}

/// An alias `cbdr` in the branch's `.cargo/config.toml` would replace it.
#[test]
fn no_script_calls_this_program_by_way_of_cargo() {
    let call = "cargo-cbdr compare --fetch";
    for (file, call) in [
        ("action.yml", "cargo-cbdr \"${words[@]}\""),
        ("src/bin/cargo-cbdr/ci/gitlab.yml", call),
        ("src/bin/cargo-cbdr/ci/gitlab-shards.yml", "cargo-cbdr pack --fetch"),
        ("src/bin/cargo-cbdr/ci/slurm.sh", "cargo-cbdr compare "),
        ("src/bin/cargo-cbdr/ci/kubernetes.yml", "cargo-cbdr pack "),
        ("src/bin/cargo-cbdr/ci/script.sh", call),
    ] {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        let calls = ["compare", "pack", "analyze", "history", "hook"]
            .map(|verb| format!("cargo cbdr {verb}"));
        let is_call =
            |line: &&str| !line.contains('`') && calls.iter().any(|call| line.contains(call));
        assert_eq!(text.lines().find(is_call), None, "{file}");
        assert!(text.contains(call), "{file}");
    }
}

/// A job on a runner: its folders, the context of expressions, and the output of its steps.
struct Job {
    folder: tempfile::TempDir,
    action: Yaml,
    /// The values of expressions.
    context: BTreeMap<String, String>,
    /// Variables that the runner sets.
    env: BTreeMap<&'static str, String>,
}

/// How a step ended.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    said: String,
}

impl Ended {
    #[track_caller]
    fn code(self, expected: i32) -> Self {
        assert_eq!(self.code, Some(expected), "{}", self.said);
        self
    }

    #[track_caller]
    fn never_says(self, piece: &str) -> Self {
        assert!(!self.said.contains(piece), "{piece:?} is in:\n{}", self.said);
        self
    }

    #[track_caller]
    fn says(self, piece: &str) -> Self {
        assert!(self.said.contains(piece), "{piece:?} is not in:\n{}", self.said);
        self
    }
}

impl Job {
    /// A job of a pull request on Linux, with the defaults of all inputs.
    fn new() -> Self {
        let folder = crate::support::scratch();
        let action = action();
        let mut context = BTreeMap::new();
        for (name, input) in action["inputs"].as_hash().unwrap() {
            let default = input["default"].as_str().unwrap().to_owned();
            context.insert(format!("inputs.{}", name.as_str().unwrap()), default);
        }
        context.insert("github.event.pull_request.number".into(), "7".into());
        context.insert("github.event.merge_group.base_sha".into(), String::new());
        context.insert("github.token".into(), "secret".into());
        for name in ["home", "temp", "bin"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let env = BTreeMap::from([
            ("HOME", at("home")),
            ("RUNNER_TEMP", at("temp")),
            ("RUNNER_OS", "Linux".into()),
            ("RUNNER_ARCH", "X64".into()),
            ("GITHUB_ACTION_PATH", root().to_str().unwrap().to_owned()),
            ("GITHUB_EVENT_NAME", "pull_request".into()),
            ("GITHUB_JOB", "measure".into()),
            ("GITHUB_REPOSITORY", "owner/crate".into()),
            ("GITHUB_OUTPUT", at("output")),
            ("GITHUB_STEP_SUMMARY", at("summary")),
        ]);
        Job { folder, action, context, env }
    }

    fn set(&mut self, name: &str, value: &str) {
        let old = self.context.insert(name.to_owned(), value.to_owned());
        assert!(old.is_some(), "no step reads `{name}`");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Puts a script before every program of this name. It finds `$LOG` to write its words to.
    fn stand_in(&self, program: &str, script: &str) {
        let path = self.path("bin").join(program);
        let log = self.path(&format!("{program}.log"));
        let said = "printf '<%s>' \"$@\" >> \"$LOG\"; echo >> \"$LOG\"";
        let text = format!("#!/bin/bash\nLOG='{}'\n{said}\n{script}\n", log.display());
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// What is left of a text when its expressions have their values.
    fn evaluate(&self, text: &str) -> String {
        let mut parts = text.split("${{");
        let mut evaluated = parts.next().unwrap().to_owned();
        for part in parts {
            let (expression, rest) = part.split_once("}}").unwrap();
            let value = self.context.get(expression.trim());
            evaluated += value.unwrap_or_else(|| panic!("`{expression}` has no value here"));
            evaluated += rest;
        }
        evaluated
    }

    /// Runs a step's script as a runner does, in `folder`, and reads its outputs.
    fn run(&mut self, name: &str, folder: &Path) -> Ended {
        let step = step(&self.action, name).clone();
        assert_eq!(step["shell"].as_str(), Some("bash"), "{name}");
        let script = self.path("script.sh");
        std::fs::write(&script, step["run"].as_str().unwrap()).unwrap();
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-eo", "pipefail"]).arg(script);
        command.current_dir(folder).stdin(Stdio::null());
        for name in ["GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "CBDR_CACHE_DIR"] {
            command.env_remove(name);
        }
        let home = |name: &str| {
            let folder = format!(".{}", name.split('_').next().unwrap().to_lowercase());
            let set = std::env::var_os(name);
            set.or_else(|| Some(std::env::home_dir()?.join(folder).into_os_string())).unwrap()
        };
        // HOME is the job's; the compiler stays where it is.
        command.env("CARGO_HOME", home("CARGO_HOME")).env("RUSTUP_HOME", home("RUSTUP_HOME"));
        let paths = path_with_binary();
        let paths = std::iter::once(self.path("bin")).chain(std::env::split_paths(&paths));
        command.env("PATH", std::env::join_paths(paths).unwrap()).envs(&self.env);
        for (name, value) in step["env"].as_hash().into_iter().flatten() {
            command.env(name.as_str().unwrap(), self.evaluate(value.as_str().unwrap()));
        }
        let output = command.output().unwrap();
        if let Some(id) = step["id"].as_str() {
            for line in self.read("output").lines() {
                let (key, value) = line.split_once('=').unwrap();
                self.context.insert(format!("steps.{id}.outputs.{key}"), value.to_owned());
            }
            let _ = std::fs::remove_file(self.path("output"));
        }
        let said = [output.stdout, output.stderr].concat();
        Ended { code: output.status.code(), said: String::from_utf8(said).unwrap() }
    }

    /// The same, where the folder does not matter.
    fn run_anywhere(&mut self, name: &str) -> Ended {
        let folder = self.path("temp");
        self.run(name, &folder)
    }

    /// Packs an archive as the release workflow does, with a program that calls the real one,
    /// and lets `curl` find it.
    fn release(&self) {
        let (releases, program) = (self.path("releases"), self.path("program"));
        pack(TARGET, &releases, &program);
        self.stand_in(
            "curl",
            &format!(
                "while [ $# -gt 1 ]; do if [ \"$1\" = --output ]; then to=$2; shift; fi; shift; done\n\
                 cp '{}'/\"${{1##*/}}\" \"$to\"",
                releases.display()
            ),
        );
    }
}

const TARGET: &str = "x86_64-unknown-linux-musl";

/// Runs `.ci/package` with a small program that calls the real one.
fn pack(target: &str, to: &Path, program: &Path) {
    let text = format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_cargo-cbdr"));
    std::fs::write(program, text).unwrap();
    std::fs::set_permissions(program, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new("bash");
    command.arg(root().join(".ci/package")).arg(target).arg(to).arg(program);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What a program prints.
fn printed(program: &str, args: &[&str], folder: &Path) -> String {
    let output = Command::new(program).args(args).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn nothing_from_outside_is_written_into_a_script_and_other_actions_are_pinned() {
    let action = action();
    let text = std::fs::read_to_string(root().join("action.yml")).unwrap();
    assert_eq!(action["runs"]["using"].as_str(), Some("composite"));
    let steps = action["runs"]["steps"].as_vec().unwrap();
    let mut scripts = 0;
    for step in steps {
        let name = step["name"].as_str().unwrap();
        if let Some(script) = step["run"].as_str() {
            scripts += 1;
            assert!(!script.contains("${{"), "{name}");
            assert_eq!(step["shell"].as_str(), Some("bash"), "{name}");
        } else {
            let (_, pin) = step["uses"].as_str().unwrap().split_once('@').unwrap();
            assert!(pin.len() == 40 && pin.chars().all(|c| c.is_ascii_hexdigit()), "{name}");
            assert!(text.contains(&format!("@{pin} # v")), "{name} does not name its version");
        }
        // The step that runs the code of the pull request has no token.
        let has_token = format!("{:?}", step["env"]).contains("github.token");
        assert_eq!(has_token, name == "Comment", "{name}");
    }
    assert_eq!(scripts, 4);
    assert_eq!(text.matches("github.token").count(), 1);
    let install = step(&action, "Install");
    assert_eq!(install["env"]["REPOSITORY"].as_str(), Some(env!("CARGO_PKG_REPOSITORY")));
}

#[test]
fn every_script_is_one_that_shellcheck_accepts() {
    let action = action();
    let installed = Command::new("shellcheck").arg("--version").stdout(Stdio::null()).status();
    if installed.is_err() {
        return crate::support::skipped("shellcheck is not installed");
    }
    for step in action["runs"]["steps"].as_vec().unwrap() {
        let Some(script) = step["run"].as_str() else { continue };
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, script).unwrap();
        let mut command = Command::new("shellcheck");
        let output = command.args(["--shell", "bash"]).arg(file.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn the_version_is_that_of_the_action_unless_another_is_asked_for() {
    let mut job = Job::new();
    job.run_anywhere("Look at the runner").code(0);
    assert_eq!(job.context["steps.plan.outputs.version"], VERSION);
    assert_eq!(job.context["steps.plan.outputs.target"], TARGET);
    let home = job.path("home").display().to_string();
    assert_eq!(job.context["steps.plan.outputs.cache"], format!("{home}/.cache/cargo-cbdr"));
    job.set("inputs.version", "v9.8.7");
    job.env.insert("RUNNER_ARCH", "S390X".into());
    job.run_anywhere("Look at the runner").code(0);
    assert_eq!(job.context["steps.plan.outputs.version"], "9.8.7");
    assert_eq!(job.context["steps.plan.outputs.target"], "");
    for odd in ["../1", "1 2", "$(id)", "1;id"] {
        job.set("inputs.version", odd);
        job.run_anywhere("Look at the runner").code(1).says("is not a version");
    }
}

#[test]
fn an_event_that_hands_a_token_to_the_code_of_forks_is_refused() {
    let mut job = Job::new();
    job.env.insert("GITHUB_EVENT_NAME", "pull_request_target".into());
    job.run_anywhere("Look at the runner").code(1).says("use `on: pull_request`");
}

#[test]
fn an_archive_is_checked_and_installed_once() {
    let mut job = Job::new();
    job.stand_in("cargo", "exit 9");
    job.release();
    job.run_anywhere("Look at the runner").code(0);
    job.run_anywhere("Install").code(0).says(": OK");
    let folder = Path::new(&job.context["steps.plan.outputs.tool"]).join("bin");
    let said = printed(folder.join("cargo-cbdr").to_str().unwrap(), &["--version"], &folder);
    assert_eq!(said.split_whitespace().last(), Some(VERSION));
    let url = format!("{}>", binstall("pkg-url").replace("{ archive-suffix }", ".tgz"));
    let asked = job.read("curl.log");
    assert!(asked.contains(&url), "{asked}");
    job.run_anywhere("Install").code(0).says("is in the cache");
    assert_eq!(job.read("curl.log"), asked);
    assert_eq!(job.read("cargo.log"), "");
    // It is the one that is run.
    job.stand_in("cargo-cbdr", "exit 9");
    std::fs::write(folder.join("cargo-cbdr"), "#!/bin/sh\necho \"called $0\"\n").unwrap();
    let called = format!("called {}", folder.join("cargo-cbdr").display());
    job.run_anywhere("Compare").code(0).says(&called);
}

#[test]
fn a_damaged_archive_is_not_installed() {
    let mut job = Job::new();
    job.stand_in("cargo", "exit 0");
    job.release();
    let sum = format!("releases/cargo-cbdr-{TARGET}-v{VERSION}.tgz.sha256");
    let wrong = job.read(&sum).replace(char::is_numeric, "a");
    std::fs::write(job.path(&sum), wrong).unwrap();
    job.run_anywhere("Look at the runner").code(0);
    job.run_anywhere("Install").code(1).says("FAILED");
    assert!(!Path::new(&job.context["steps.plan.outputs.tool"]).join("bin/cargo-cbdr").exists());
    assert_eq!(job.read("cargo.log"), "");
}

#[test]
fn where_there_is_no_archive_it_is_compiled() {
    let mut job = Job::new();
    job.stand_in("curl", "echo 'curl: (22) 404' >&2; exit 22");
    job.stand_in("cargo", "exit 0");
    job.run_anywhere("Look at the runner").code(0);
    job.run_anywhere("Install").code(0).says("compiling it");
    let path = format!("<--path><{}>", root().display());
    assert!(job.read("cargo.log").contains(&path), "{}", job.read("cargo.log"));
    job.set("inputs.version", "1.2.3");
    job.run_anywhere("Look at the runner").code(0);
    job.run_anywhere("Install").code(0);
    assert!(job.read("cargo.log").ends_with("<cargo-cbdr@1.2.3>\n"), "{}", job.read("cargo.log"));
    job.stand_in("cargo", "exit 101");
    job.run_anywhere("Install").code(101);
}

#[test]
fn a_pull_request_is_compared_and_its_result_is_kept_and_shown() {
    let repo = Repo::new("steady");
    repo.branch("topic");
    repo.write("README.md", "words\n");
    repo.commit("words");
    let mut job = Job::new();
    job.set("inputs.base", "main");
    job.run_anywhere("Look at the runner").code(0);
    job.run("Compare", repo.path()).code(0).says("::notice title=cargo cbdr%3A identical");
    assert_eq!(job.context["steps.compare.outputs.exit-code"], "0");
    let (summary, comment) = (job.read("summary"), job.read("temp/cbdr/comment.md"));
    assert!(summary.contains("identical: both sides are the same program"), "{summary}");
    assert_eq!(comment, format!("{MARKER}\n{summary}"));
    assert_eq!(job.read("temp/cbdr/number"), "7\n");
    let cache = job.context["steps.plan.outputs.cache"].clone();
    let builds: Vec<_> = std::fs::read_dir(Path::new(&cache).join("repositories-v1"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().join("builds").is_dir())
        .collect();
    assert_eq!(builds.len(), 1, "what the workflow keeps between jobs is not where it looks");
    // A later use in the same job does not show the result of the first.
    job.set("inputs.base", "no-such-branch");
    job.run("Compare", repo.path()).code(101).says("error: ");
    assert!(job.read("temp/cbdr/comment.md").contains("no result"));
}

#[test]
fn arguments_are_split_as_in_a_shell_and_never_run_by_one() {
    let mut job = Job::new();
    job.stand_in("cargo-cbdr", "echo '### slower' > \"$GITHUB_STEP_SUMMARY\"; exit 100");
    job.set("inputs.threshold", "5%");
    job.set("inputs.base", "release 1");
    job.set("inputs.args", "--metric 'a b' \\$HOME\n  `id` $(id) -- --quick");
    job.run_anywhere("Look at the runner").code(0);
    job.run_anywhere("Compare").code(100);
    let words = job.read("cargo-cbdr.log");
    let expected = "<--threshold><5%><release 1><--metric><a b><$HOME><`id`><$(id)><--><--quick>\n";
    assert!(words.ends_with(expected), "{words}");
    assert!(words.starts_with("<compare><--fetch><--format><github><--report>"), "{words}");
    assert_eq!(job.context["steps.compare.outputs.exit-code"], "100");
    assert_eq!(job.read("summary"), "### slower\n");
    job.set("inputs.args", "--metric 'open");
    job.run_anywhere("Compare").code(1);
    assert_eq!(job.read("cargo-cbdr.log"), words);
}

#[test]
fn an_entry_of_a_merge_queue_is_compared_with_the_one_before_it() {
    let mut job = Job::new();
    job.stand_in("cargo-cbdr", "exit 0");
    job.run_anywhere("Look at the runner").code(0);
    job.set("github.event.merge_group.base_sha", "0123456");
    job.run_anywhere("Compare").code(0);
    assert!(job.read("cargo-cbdr.log").ends_with("<0123456>\n"), "{}", job.read("cargo-cbdr.log"));
    job.set("inputs.base", "main");
    job.run_anywhere("Compare").code(0);
    assert!(job.read("cargo-cbdr.log").ends_with("<main>\n"), "{}", job.read("cargo-cbdr.log"));
}

#[test]
fn a_shard_has_files_of_its_own_and_all_of_them_get_one_verdict() {
    let mut job = Job::new();
    job.stand_in("cargo-cbdr", "exit 0");
    job.run_anywhere("Look at the runner").code(0);
    assert_eq!(job.context["steps.plan.outputs.artifact"], "cbdr-measure-Linux-X64");
    job.set("inputs.shard", "2/4");
    job.set("inputs.base", "main");
    job.run_anywhere("Look at the runner").code(0);
    assert_eq!(job.context["steps.plan.outputs.artifact"], "cbdr-measure-2-of-4-Linux-X64");
    job.run_anywhere("Compare").code(0);
    let file = job.path("temp/cbdr/shard-2.csv").display().to_string();
    let words = job.read("cargo-cbdr.log");
    assert!(words.ends_with(&format!("<--samples><{file}><--shard><2/4><main>\n")), "{words}");
    job.set("inputs.shard", "");
    job.set("inputs.combine", "shards");
    job.set("inputs.args", "--fail-on inconclusive");
    job.run_anywhere("Compare").code(0);
    let words = job.read("cargo-cbdr.log");
    let combined = "<analyze><--combine><--format><github><shards><--fail-on><inconclusive>\n";
    assert!(words.ends_with(combined), "{words}");
    assert!(job.path("temp/shards").is_dir());
}

#[test]
fn a_pack_is_made_of_the_repository_and_measured_without_it() {
    let repo = Repo::new("steady");
    repo.branch("topic");
    repo.write("README.md", "words\n");
    repo.commit("words");
    let mut job = Job::new();
    let file = job.path("a $(pack)").display().to_string();
    job.set("inputs.pack", &file);
    job.set("inputs.base", "main");
    job.set("inputs.threshold", "5%");
    job.run_anywhere("Look at the runner").code(0);
    job.run("Compare", repo.path()).code(0).says("Packed");
    assert_eq!(job.read("summary"), "", "there is no result yet");
    job.set("inputs.pack", "");
    job.set("inputs.packed", &file);
    job.set("inputs.shard", "1/1");
    job.run_anywhere("Compare").code(0).says("identical");
    assert!(job.path("temp/cbdr/shard-1.csv.json").is_file());
    job.set("inputs.packed", "gone");
    job.run_anywhere("Compare").code(101);
    // What can't be built is an error of the job, too.
    job.set("inputs.pack", &file);
    job.set("inputs.base", "no-such-branch");
    job.run("Compare", repo.path()).code(101);
    assert!(job.read("summary").contains("no result"), "{}", job.read("summary"));
}

#[test]
fn the_words_of_a_pack_are_those_that_it_takes() {
    let mut job = Job::new();
    job.stand_in("cargo-cbdr", "exit 0");
    job.set("inputs.pack", "a pack");
    job.set("inputs.args", "--layouts off -- --quick");
    job.set("github.event.merge_group.base_sha", "0123456");
    job.run_anywhere("Look at the runner").code(0);
    job.run_anywhere("Compare").code(0);
    let expected = "<pack><--fetch><0123456><a pack><--layouts><off><--><--quick>\n";
    assert_eq!(job.read("cargo-cbdr.log"), expected);
    job.set("inputs.pack", "");
    job.set("inputs.packed", "a pack");
    job.set("inputs.args", "");
    // Its artifact has expired.
    job.run_anywhere("Compare").code(101).says("Re-run all jobs");
    std::fs::write(job.path("temp/a pack"), "").unwrap();
    job.run_anywhere("Compare").code(0);
    let words = job.read("cargo-cbdr.log");
    let (file, report) = (job.path("temp/cbdr/samples.csv"), job.path("temp/cbdr/report.html"));
    let (file, report) = (file.display(), report.display());
    let measured = format!(
        "<compare><--packed><a pack><--format><github><--report><{report}><--samples><{file}>\n"
    );
    assert!(words.ends_with(&measured), "{words}");
    // Neither has builds to restore or a result to post that the other has.
    for (name, input) in [
        ("Restore earlier builds", "packed"),
        ("Keep the builds", "packed"),
        ("Keep the report", "pack"),
        ("Comment", "pack"),
    ] {
        let condition = step(&job.action, name)["if"].as_str().unwrap();
        assert!(condition.contains(&format!("inputs.{input} == ''")), "{name}: {condition}");
    }
    // An artifact of an earlier attempt would stay.
    let keep = &step(&job.action, "Keep the report")["with"];
    assert_eq!(keep["overwrite"].as_bool(), Some(true));
}

#[test]
fn builds_are_kept_after_a_regression_too() {
    let action = action();
    let (restore, save) =
        (step(&action, "Restore earlier builds"), step(&action, "Keep the builds"));
    assert!(restore["uses"].as_str().unwrap().starts_with("actions/cache/restore@"));
    assert!(save["uses"].as_str().unwrap().starts_with("actions/cache/save@"));
    for key in ["path", "key"] {
        assert_eq!(restore["with"][key], save["with"][key], "{key}");
    }
    // Without it, a step runs after successful ones only.
    assert!(save["if"].as_str().unwrap().starts_with("${{ !cancelled() && "));
}

#[test]
fn no_cache_of_others_is_filled_after_foreign_code_has_run() {
    let action = action();
    let steps = action["runs"]["steps"].as_vec().unwrap();
    let at = |name: &str| steps.iter().position(|one| one["name"].as_str() == Some(name)).unwrap();
    // What a comment starts has the cache of the default branch.
    let builds = step(&action, "Keep the builds")["if"].as_str().unwrap();
    assert!(builds.contains("github.event_name != 'issue_comment'"), "{builds}");
    let (restore, save) = (step(&action, "Restore the tool"), step(&action, "Keep the tool"));
    assert!(at("Install") < at("Keep the tool") && at("Keep the tool") < at("Compare"));
    assert!(restore["uses"].as_str().unwrap().starts_with("actions/cache/restore@"));
    for key in ["path", "key"] {
        assert_eq!(restore["with"][key], save["with"][key], "{key}");
    }
}

/// A job whose comparison has ended, with a `gh` that is this script.
fn compared(gh: &str) -> Job {
    let mut job = Job::new();
    job.stand_in("cargo-cbdr", "echo '### slower' > \"$GITHUB_STEP_SUMMARY\"; exit 100");
    job.run_anywhere("Look at the runner").code(0);
    job.run_anywhere("Compare").code(100);
    job.stand_in("gh", gh);
    job
}

#[test]
fn the_one_comment_is_posted_and_then_edited() {
    let mut job = compared("cat \"${7#body=@}\" > /dev/null 2>&1; exit 0");
    job.run_anywhere("Comment").code(0);
    let body = format!("<body=@{}>\n", job.path("temp/cbdr/body.md").display());
    let calls = job.read("gh.log");
    let post = format!("<api><repos/owner/crate/issues/7/comments><--method><POST><--field>{body}");
    assert!(calls.ends_with(&post), "{calls}");
    assert_eq!(job.read("temp/cbdr/body.md"), format!("{MARKER}\n### slower\n"));
    job.stand_in("gh", "case \"$*\" in *--jq*) echo 41; echo 42;; esac");
    job.run_anywhere("Comment").code(0);
    let calls = job.read("gh.log");
    let edit = "<api><repos/owner/crate/issues/comments/41><--method><PATCH><--field>";
    assert!(calls.ends_with(&format!("{edit}{body}")), "{calls}");
}

#[test]
fn what_passed_is_no_news_unless_a_comment_says_otherwise() {
    let mut job = compared("exit 0");
    job.set("inputs.comment", "news");
    job.run_anywhere("Comment").code(0);
    assert!(job.read("gh.log").contains("<POST>"), "{}", job.read("gh.log"));
    job.set("steps.compare.outputs.exit-code", "0");
    job.stand_in("gh", "case \"$*\" in *POST*) exit 1;; esac");
    job.run_anywhere("Comment").code(0).never_says("could not be posted");
    job.stand_in("gh", "case \"$*\" in *--jq*) echo 41;; esac");
    job.run_anywhere("Comment").code(0);
    assert!(job.read("gh.log").contains("issues/comments/41>"), "{}", job.read("gh.log"));
}

#[test]
fn a_token_that_may_not_comment_changes_no_verdict() {
    let mut job =
        compared("case \"$*\" in *POST*) echo 'gh: not accessible (HTTP 403)' >&2; exit 1;; esac");
    job.run_anywhere("Comment").code(0).says("not allowed to comment");
    let mut job = compared("echo 'gh: gone (HTTP 500)' >&2; exit 1");
    job.run_anywhere("Comment").code(0).says("::warning::").says("gone (HTTP 500)");
    assert!(!job.read("gh.log").contains("POST"), "what is there is not known");
}

#[test]
fn without_a_pull_request_or_a_token_or_when_told_so_nothing_is_posted() {
    for (name, value) in [
        ("inputs.comment", "false"),
        ("github.event.pull_request.number", ""),
        ("github.token", ""),
    ] {
        let mut job = compared("exit 0");
        job.set(name, value);
        job.run_anywhere("Comment").code(0);
        assert_eq!(job.read("gh.log"), "", "{name}");
    }
}

/// What Cargo.toml configures for `cargo binstall`, for our release and its target.
fn binstall(key: &str) -> String {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let manifest: toml_edit::DocumentMut = manifest.parse().unwrap();
    let package = &manifest["package"];
    let template = package["metadata"]["binstall"][key].as_str().unwrap();
    template
        .replace("{ repo }", package["repository"].as_str().unwrap())
        .replace("{ name }", package["name"].as_str().unwrap())
        .replace("{ version }", package["version"].as_str().unwrap())
        .replace("{ target }", TARGET)
}

#[test]
fn an_archive_has_the_name_that_binstall_asks_for_and_all_that_it_should_hold() {
    let folder = crate::support::scratch();
    let (out, program) = (folder.path().join("archives"), folder.path().join("program"));
    pack(TARGET, &out, &program);
    assert_eq!(binstall("pkg-fmt"), "tgz");
    let url = binstall("pkg-url").replace("{ archive-suffix }", ".tgz");
    let archive = url.rsplit('/').next().unwrap();
    assert!(printed("sha256sum", &["--check", &format!("{archive}.sha256")], &out).contains("OK"));
    printed("tar", &["-xzf", archive], &out);
    let path = binstall("bin-dir").replace("{ bin }", "cargo-cbdr").replace("{ binary-ext }", "");
    assert_eq!(std::fs::read(out.join(&path)).unwrap(), std::fs::read(&program).unwrap());
    let unpacked = out.join(path).parent().unwrap().to_owned();
    let read = |path: &str| std::fs::read_to_string(unpacked.join(path)).unwrap();
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        assert_eq!(read(file), std::fs::read_to_string(root().join(file)).unwrap());
    }
    let cbdr = |args: &[&str]| printed(env!("CARGO_BIN_EXE_cargo-cbdr"), args, &out);
    for (shell, file) in [
        ("bash", "cargo-cbdr.bash"),
        ("zsh", "_cargo-cbdr"),
        ("fish", "cargo-cbdr.fish"),
        ("elvish", "cargo-cbdr.elv"),
        ("powershell", "_cargo-cbdr.ps1"),
    ] {
        assert_eq!(read(&format!("completions/{file}")), cbdr(&["completions", shell]), "{shell}");
    }
    assert_eq!(read("man/man1/cargo-cbdr.1"), cbdr(&["man"]));
    let commands = cbdr(&["--help"]);
    let commands = commands.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = commands.lines().filter_map(|line| line.split_whitespace().next());
    let names: Vec<&str> = names.filter(|name| *name != "help").collect();
    assert!(names.contains(&"compare") && names.contains(&"bisect"), "{commands}");
    for name in &names {
        assert_eq!(read(&format!("man/man1/cargo-cbdr-{name}.1")), cbdr(&["man", name]), "{name}");
    }
    assert_eq!(std::fs::read_dir(unpacked.join("man/man1")).unwrap().count(), names.len() + 1);
}

#[test]
fn every_workflow_pins_the_actions_of_others_and_has_no_rights_that_it_does_not_name() {
    for name in ["ci.yml", "release.yml"] {
        let path = root().join(".github/workflows").join(name);
        let text = std::fs::read_to_string(path).unwrap();
        let workflow = YamlLoader::load_from_str(&text).unwrap().remove(0);
        assert!(!workflow["permissions"].is_badvalue(), "{name}");
        for (job, steps) in workflow["jobs"].as_hash().unwrap() {
            for step in steps["steps"].as_vec().unwrap() {
                let script = step["run"].as_str().unwrap_or_default();
                assert!(!script.contains("${{ github"), "{name}: {job:?}: {script}");
                let Some(used) = step["uses"].as_str().filter(|used| *used != "./") else {
                    continue;
                };
                let (_, pin) = used.split_once('@').unwrap();
                assert!(pin.len() == 40 && text.contains(&format!("@{pin} # v")), "{used}");
            }
        }
    }
}
