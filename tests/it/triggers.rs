//! The workflows of `init --ci github`: what they may do, and their scripts, run as a GitHub runner
//! runs them, with a `gh` that writes down what it is asked for.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use yaml_rust2::{Yaml, YamlLoader};

use crate::support::{Repo, skipped};

const BASE: &str = "1111111111111111111111111111111111111111";
const HEAD: &str = "2222222222222222222222222222222222222222";

const WORKFLOWS: [&str; 7] = [
    "",
    "--on comment",
    "--on label",
    "--watch",
    "--shards 3",
    "--on comment --shards 3",
    "--on label --shards 3",
];

/// The workflow that `init --ci github` writes with these options.
fn written(options: &str) -> String {
    let repo = Repo::new("steady");
    repo.cbdr(&format!("init --try-for 0s --ci github {options}")).run().code(0);
    let folder = repo.path().join(".github/workflows");
    let mut files = std::fs::read_dir(folder).unwrap();
    std::fs::read_to_string(files.next().unwrap().unwrap().path()).unwrap()
}

fn parsed(text: &str) -> Yaml {
    YamlLoader::load_from_str(text).unwrap().remove(0)
}

/// The jobs with their steps.
fn jobs(workflow: &Yaml) -> impl Iterator<Item = (&str, &Yaml, &Vec<Yaml>)> {
    let jobs = workflow["jobs"].as_hash().unwrap().iter();
    jobs.map(|(name, job)| (name.as_str().unwrap(), job, job["steps"].as_vec().unwrap()))
}

fn step<'a>(workflow: &'a Yaml, name: &str) -> &'a Yaml {
    let mut steps = jobs(workflow).flat_map(|(_, _, steps)| steps);
    steps.find(|step| step["name"].as_str() == Some(name)).unwrap()
}

/// The scopes that a job can write, and all that it has.
fn rights<'a>(workflow: &'a Yaml, job: &'a Yaml) -> (Vec<&'a str>, usize) {
    let own = &job["permissions"];
    let scopes = if own.is_badvalue() { &workflow["permissions"] } else { own };
    let scopes = scopes.as_hash().unwrap();
    let can_write = scopes.iter().filter(|(_, right)| right.as_str() != Some("read"));
    (can_write.map(|(scope, _)| scope.as_str().unwrap()).collect(), scopes.len())
}

#[test]
fn what_can_write_runs_no_code_of_the_repository_and_what_runs_it_can_only_read() {
    for options in WORKFLOWS {
        let text = written(options);
        let workflow = parsed(&text);
        assert!(!text.contains("pull_request_target") && !text.contains("secrets"), "{options}");
        for (name, job, steps) in jobs(&workflow) {
            let (can_write, scopes) = rights(&workflow, job);
            let uses = steps.iter().filter_map(|step| step["uses"].as_str());
            let uses: Vec<&str> = uses.map(|used| used.split('@').next().unwrap()).collect();
            if uses.contains(&"actions/checkout") || uses.contains(&"cargo-cbdr/cargo-cbdr") {
                assert!(can_write.is_empty() && scopes == 1, "{options}: {name}");
                let has_token = format!("{steps:?}").contains("github.token");
                assert!(!has_token, "{options}: {name} hands its token to a step");
            } else {
                assert!(uses.iter().all(|used| *used == "actions/download-artifact"), "{name}");
            }
            for step in steps {
                let script = step["run"].as_str().unwrap_or_default();
                assert!(!script.contains("${{"), "{options}: {name}: {script}");
                if step["uses"].as_str().is_some_and(|used| used.contains("checkout")) {
                    let kept = step["with"]["persist-credentials"].as_bool();
                    assert_eq!(kept, Some(false), "{options}: {name}");
                }
            }
        }
    }
}

#[test]
fn several_machines_measure_what_one_has_built() {
    for on in ["push", "comment", "label"] {
        is_measured_by_several(on);
    }
}

fn is_measured_by_several(on: &str) {
    let workflow = parsed(&written(&format!("--on {on} --shards 3")));
    let needs = |job: &str| {
        let needs = &workflow["jobs"][job]["needs"];
        let all = needs.as_vec().cloned().unwrap_or_else(|| vec![needs.clone()]);
        all.iter().filter_map(|job| job.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let first: &[&str] = if on == "comment" { &["request"] } else { &[] };
    assert_eq!(needs("pack"), first);
    assert_eq!(needs("measure"), [first, &["pack"]].concat());
    assert_eq!(needs("verdict"), ["pack", "measure"]);
    // A skipped job counts as passed: it is skipped only if nothing was asked for.
    let condition = workflow["jobs"]["verdict"]["if"].as_str().unwrap();
    assert!(condition.starts_with("${{ always() "), "{condition}");
    assert_eq!(condition.contains("needs.pack.result != 'skipped'"), on != "push");
    let name = workflow["jobs"]["verdict"]["name"].as_str();
    assert_eq!(name, (on == "label").then_some("${{ github.workflow }}"));
    if on == "comment" {
        assert_eq!(needs("answer"), ["request", "verdict"]);
        let answer = step(&workflow, "Answer");
        assert_eq!(answer["env"]["CODE"].as_str(), Some("${{ needs.verdict.outputs.code }}"));
        let checkout = &workflow["jobs"]["pack"]["steps"][0]["with"]["ref"];
        assert_eq!(checkout.as_str(), Some("${{ needs.request.outputs.head }}"));
    }
    let with = |job: &str, action: &str| {
        let (_, _, steps) = jobs(&workflow).find(|(name, _, _)| *name == job).unwrap();
        let mut steps = steps.iter();
        let is_it = |step: &&Yaml| step["uses"].as_str().unwrap().starts_with(action);
        steps.find(is_it).map(|step| step["with"].clone())
    };
    for job in ["measure", "verdict"] {
        assert_eq!(with(job, "actions/checkout"), None, "{job}");
    }
    let (kept, got) = (
        with("pack", "actions/upload-artifact").unwrap(),
        with("measure", "actions/download-artifact").unwrap(),
    );
    assert_eq!(kept["name"], got["name"]);
    // The verdict reads no pack.
    assert!(!kept["name"].as_str().unwrap().starts_with("cbdr-measure-"));
    assert_eq!(kept["overwrite"].as_bool(), Some(true));
    let (pack, packed) = (
        with("pack", "cargo-cbdr/").unwrap()["pack"].clone(),
        with("measure", "cargo-cbdr/").unwrap()["packed"].clone(),
    );
    assert_eq!(kept["path"], pack);
    assert!(pack.as_str().unwrap().ends_with(&format!("/{}", packed.as_str().unwrap())));
}

#[test]
fn rights_are_the_least_that_their_jobs_need() {
    for (options, job, expected) in [
        ("--on comment", "request", ["pull-requests", "statuses"].as_slice()),
        ("--on comment", "answer", &["pull-requests", "statuses"]),
        ("--watch", "issue", &[]),
        ("--watch", "report", &["issues"]),
    ] {
        let workflow = parsed(&written(options));
        assert!(workflow["permissions"].as_hash().unwrap().is_empty(), "{options}");
        let (_, own, _) = jobs(&workflow).find(|(name, _, _)| *name == job).unwrap();
        assert_eq!(rights(&workflow, own).0, expected, "{job}");
    }
}

#[test]
fn only_a_new_comment_and_only_the_label_start_something() {
    let workflow = parsed(&written("--on comment"));
    let types = &workflow["on"]["issue_comment"]["types"];
    assert_eq!(types.as_vec().unwrap(), &[Yaml::String("created".to_owned())]);
    assert_eq!(workflow["on"].as_hash().unwrap().len(), 1);
    let request = workflow["jobs"]["request"]["if"].as_str().unwrap();
    for part in ["action == 'created'", "author_association", "issue.pull_request"] {
        assert!(request.contains(part), "{request}");
    }
    // The commit that was seen is the one that is built, and the one that gets the status.
    let checkout = &workflow["jobs"]["measure"]["steps"][0]["with"]["ref"];
    let answer = step(&workflow, "Answer");
    for head in [checkout, &answer["env"]["HEAD"]] {
        assert_eq!(head.as_str(), Some("${{ needs.request.outputs.head }}"));
    }
    // A skipped job with the name of the check would pass it.
    let workflow = parsed(&written("--on label"));
    let job = &workflow["jobs"]["compare"];
    assert!(job["name"].as_str().unwrap().contains("${{"));
    assert!(job["if"].as_str().unwrap().contains("label.name == 'bench'"));
}

/// The cache is found by the names of jobs, and what a comment starts must not fill it.
#[test]
fn what_a_comment_starts_finds_the_builds_of_the_watcher() {
    for options in ["--on comment", "--watch"] {
        let workflow = parsed(&written(options));
        assert!(!workflow["jobs"]["measure"].is_badvalue(), "{options}");
    }
}

#[test]
fn every_script_of_a_workflow_is_one_that_shellcheck_accepts() {
    if Command::new("shellcheck").arg("--version").stdout(Stdio::null()).status().is_err() {
        return skipped("shellcheck is not installed");
    }
    for options in WORKFLOWS {
        let workflow = parsed(&written(options));
        for script in jobs(&workflow).flat_map(|(_, _, steps)| steps) {
            let Some(script) = script["run"].as_str() else { continue };
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(&file, script).unwrap();
            let mut command = Command::new("shellcheck");
            let output = command.args(["--shell", "bash"]).arg(file.path()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
    }
}

/// A runner with a `gh`: `writer` may write, the pull request's head is `HEAD`, and the issues are
/// those in the file `issues`.
struct Runner {
    folder: tempfile::TempDir,
    workflow: Yaml,
}

impl Runner {
    /// `None` if there is no `jq`.
    fn new(options: &str) -> Option<Self> {
        if Command::new("jq").arg("--version").stdout(Stdio::null()).status().is_err() {
            skipped("jq is not installed");
            return None;
        }
        let runner =
            Runner { folder: crate::support::scratch(), workflow: parsed(&written(options)) };
        let gh = format!(
            r#"#!/bin/bash
            answer() {{ echo "$1" | jq --raw-output "$filter"; }}
            filter="${{*: -1}}"
            case "$*" in
                *collaborators/writer/permission*) answer '{{"permission": "admin"}}' ;;
                *collaborators/*) answer '{{"permission": "read"}}' ;;
                *pulls/7\ *) answer '{{"head": {{"sha": "{HEAD}"}}, "base": {{"ref": "main"}}}}' ;;
                *issues\?labels*) answer "$(cat issues)" ;;
                *) printf '<%s>' "$@" >> gh.log; echo >> gh.log ;;
            esac
            "#
        );
        runner.write("gh", &gh);
        std::fs::set_permissions(runner.folder.path().join("gh"), PermissionsExt::from_mode(0o755))
            .unwrap();
        Some(runner)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Reads a file, and removes it.
    fn take(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let _ = std::fs::remove_file(path);
        text
    }

    /// Runs a step, whose variables are empty unless they are given. Returns whether it succeeded,
    /// its outputs, and the calls of `gh`.
    fn run(&self, name: &str, variables: &[(&str, &str)]) -> (bool, String, String) {
        let step = step(&self.workflow, name);
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-e", "-c", step["run"].as_str().unwrap()]);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        for (name, _) in step["env"].as_hash().unwrap() {
            command.env(name.as_str().unwrap(), "");
        }
        let path = std::env::var_os("PATH").unwrap();
        let paths = [self.folder.path().to_owned()].into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(paths).unwrap());
        command.env("GITHUB_REPOSITORY", "owner/crate").env("GITHUB_SHA", HEAD);
        command.env("GITHUB_OUTPUT", "output").env("GITHUB_EVENT_NAME", "some");
        let output = command.envs(variables.iter().copied()).output().unwrap();
        (output.status.success(), self.take("output"), self.take("gh.log"))
    }

    /// What the job `request` makes of a comment.
    fn request(&self, author: &str, body: &str) -> (bool, String, String) {
        let variables = [("AUTHOR", author), ("BODY", body), ("NUMBER", "7")];
        self.run("Read the request", &variables)
    }
}

#[test]
fn a_comment_is_read_as_data() {
    let Some(runner) = Runner::new("--on comment") else { return };
    let outputs = |args: &str, target: &str, status: &str| {
        format!("base=main\nhead={HEAD}\nargs={args}\ntarget={target}\nstatus={status}\n")
    };
    for body in ["/bench", "/bench\r\n$(touch hit)", "/bench  \n--threshold 99%"] {
        let (is_done, output, calls) = runner.request("writer", body);
        assert!(is_done && output == outputs("", "", "cbdr"), "{body}: {output}");
        let pending =
            format!("<repos/owner/crate/statuses/{HEAD}><--silent><--raw-field><state=pending>");
        assert!(calls.contains(&pending) && calls.lines().count() == 1, "{calls}");
    }
    // What measures less, or less long, does not count as the whole.
    let (_, output, _) =
        runner.request("writer", "/bench -p a-b --filter x/y_1.2:z  --time-limit 9m");
    let args = "--filter x/y_1.2:z --time-limit 9m ";
    assert_eq!(output, outputs(args, "-p a-b ", "cbdr (part)"));
    for body in [
        "/bench $(touch hit)",
        "/bench `touch hit`",
        "/bench --filter $(touch${IFS}hit)",
        "/bench --filter 'a",
        "/bench --filter \"a\"",
        "/bench --filter a;touch hit",
        "/bench --filter a&",
        "/bench --filter",
        "/bench --filter --threshold=99%",
        "/bench --threshold 99%",
        "/bench --filter=a",
        "/bench --fail-on none",
        "/bench --command ls",
        "/bench -- --quick",
        "/bench other-branch",
        "/bench *",
    ] {
        let (is_done, output, calls) = runner.request("writer", body);
        assert!(!is_done && output.is_empty(), "{body}: {output}");
        assert!(calls.contains("issues/7/comments") && !calls.contains("statuses"), "{calls}");
    }
    assert!(!runner.folder.path().join("hit").exists());
}

#[test]
fn a_comment_of_others_or_about_something_else_is_ignored() {
    let Some(runner) = Runner::new("--on comment") else { return };
    for (author, body) in [("stranger", "/bench"), ("writer", "/benchmark"), ("writer", "/BENCH")] {
        assert_eq!(runner.request(author, body), (true, String::new(), String::new()), "{body}");
    }
}

#[test]
fn an_entry_of_a_merge_queue_needs_no_comment() {
    let Some(runner) = Runner::new("--on comment") else { return };
    let (is_done, output, calls) =
        runner.run("Read the request", &[("GITHUB_EVENT_NAME", "merge_group")]);
    assert!(
        is_done && output == format!("base=\nhead={HEAD}\nargs=\ntarget=\nstatus=cbdr\n"),
        "{output}"
    );
    assert!(calls.contains("<context=cbdr>"), "{calls}");
    let (_, _, calls) = runner.run("Answer", &[("CODE", "0"), ("HEAD", HEAD), ("STATUS", "cbdr")]);
    assert!(calls.contains("<state=success>") && !calls.contains("comments"), "{calls}");
}

#[test]
fn the_answer_is_a_status_of_the_commit_and_a_comment_or_only_news() {
    let Some(runner) = Runner::new("--on comment") else { return };
    runner.write("result/comment.md", "### slower\n");
    let answer = |code: &str, comment: &str| {
        let known = [("HEAD", HEAD), ("STATUS", "cbdr (part)"), ("NUMBER", "7")];
        let variables = [&known[..], &[("CODE", code), ("COMMENT", comment)]].concat();
        let (is_done, _, calls) = runner.run("Answer", &variables);
        assert!(
            is_done && calls.contains(&format!("<repos/owner/crate/statuses/{HEAD}>")),
            "{calls}"
        );
        assert!(calls.contains("<context=cbdr (part)>"), "{calls}");
        (calls, runner.take("body.md"))
    };
    // An exit code is what a job says that runs foreign code.
    for (code, state) in [
        ("0", "success"),
        ("100", "failure"),
        ("102", "failure"),
        ("101", "error"),
        ("", "error"),
        ("0 -F x=y", "error"),
        ("$(touch hit)", "error"),
    ] {
        let (calls, body) = answer(code, "always");
        assert!(calls.contains(&format!("<state={state}>")), "{code}: {calls}");
        assert!(calls.contains("issues/7/comments") && body.ends_with("\n### slower\n"), "{body}");
        let (calls, _) = answer(code, "news");
        assert_eq!(calls.contains("issues/7/comments"), state != "success", "{code}: {calls}");
    }
    assert!(!runner.folder.path().join("hit").exists());
    // A link to the environment of the step, which has its token.
    runner.take("result/comment.md");
    let link = runner.folder.path().join("result/comment.md");
    std::os::unix::fs::symlink("/proc/self/environ", link).unwrap();
    assert_eq!(answer("0", "always").1.lines().count(), 1);
}

#[test]
fn the_watcher_goes_on_from_the_issue_that_is_open() {
    let Some(runner) = Runner::new("--watch") else { return };
    let foreign = r#"{"number": 3, "body": "about something else"}, {"number": 4, "body": null}"#;
    runner.write("issues", &format!("[{foreign}]"));
    assert_eq!(runner.run("Find the issue", &[]), (true, String::new(), String::new()));
    let ours =
        format!("{{\"number\": 9, \"body\": \"<!-- cargo-cbdr {BASE} {HEAD} -->\\nslower\"}}");
    runner.write("issues", &format!("[{foreign}, {ours}]"));
    let (_, found, _) = runner.run("Find the issue", &[]);
    assert_eq!(found, format!("number=9\nbase={BASE}\nhead={HEAD}\n"));
}

#[test]
fn the_base_of_a_night_is_the_branch_a_day_ago() {
    let Some(runner) = Runner::new("--watch") else { return };
    let git = |args: &str, date: &str| {
        let mut command = Command::new("git");
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        command.args(who).args(args.split(' ')).current_dir(runner.folder.path());
        let output = command.env("GIT_COMMITTER_DATE", date).output().unwrap();
        assert!(output.status.success(), "{args}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git("init --quiet", "");
    git("commit --quiet --allow-empty -m old", "2001-01-01T00:00:00Z");
    let old = git("rev-parse HEAD", "");
    let choose = |variables: &[(&str, &str)]| runner.run("Choose the base", variables).1;
    assert_eq!(choose(&[("GITHUB_SHA", &old)]), "", "there is no other commit");
    git("commit --quiet --allow-empty -m new", "2037-01-01T00:00:00Z");
    let new = git("rev-parse HEAD", "");
    assert_eq!(choose(&[("GITHUB_SHA", &new)]), format!("base={old}\n"));
    let open = [("GITHUB_SHA", new.as_str()), ("BASE", BASE)];
    assert_eq!(choose(&[&open[..], &[("SEEN", HEAD)]].concat()), format!("base={BASE}\n"));
    assert_eq!(choose(&[&open[..], &[("SEEN", &new)]].concat()), "", "it was measured before");
}

#[test]
fn one_issue_is_opened_updated_and_closed() {
    let Some(runner) = Runner::new("--watch") else { return };
    runner.write("result/comment.md", "### slower\n");
    let guilty = format!("{{\"commit\": \"{BASE}\", \"summary\": \"Make it `slow`\"}}");
    let report = |code: &str, number: &str| {
        let variables = [("CODE", code), ("NUMBER", number), ("BASE", BASE)];
        let (is_done, _, calls) = runner.run("Report", &variables);
        assert!(is_done, "{calls}");
        (calls, runner.take("body.md"))
    };
    runner.write("result/bisect.json", &format!("{{\"guilty\": [{guilty}]}}"));
    let (calls, body) = report("100", "");
    assert!(calls.contains("<repos/owner/crate/issues>") && calls.contains("<labels[]=cbdr>"));
    assert!(body.starts_with(&format!("<!-- cargo-cbdr {BASE} {HEAD} -->\n")), "{body}");
    let expected = format!("\nIntroduced by:\n\n- {BASE} `Make it slow`\n\n### slower\n");
    assert!(body.ends_with(&expected), "{body}");
    runner.write("result/bisect.json", &format!("{{\"guilty\": [{guilty}, {guilty}]}}"));
    let (calls, body) = report("100", "9");
    assert!(calls.contains("<repos/owner/crate/issues/9><--silent><--method><PATCH>"), "{calls}");
    assert!(
        calls.lines().count() == 1 && body.contains("Introduced by one of:\n"),
        "{calls}{body}"
    );
    runner.write("result/bisect.json", "{\"verdict\": \"no-regression\", \"guilty\": []}");
    assert_eq!(report("100", "").0, "", "it was not confirmed");
    runner.write("result/bisect.json", "");
    let (_, body) = report("100", "9");
    assert!(!body.contains("Introduced") && body.contains("### slower"), "{body}");
    let (calls, _) = report("0", "9");
    assert!(calls.contains("issues/9/comments") && calls.contains("<state=closed>"), "{calls}");
    assert_eq!(report("0", "").0, "");
}
