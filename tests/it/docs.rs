//! The documentation: the program accepts the commands in it, the examples run, and the
//! book has every chapter.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Cbdr, Repo, branch_with, path_with_binary, skipped};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The names of the chapters.
fn chapters() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("docs")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md").collect();
    names.sort();
    names
}

#[test]
fn the_book_has_every_chapter_once() {
    let summary = read("docs/SUMMARY.md");
    let links = summary.lines().filter_map(|line| line.split("](").nth(1)?.strip_suffix(')'));
    let mut linked: Vec<&str> = links.collect();
    linked.sort_unstable();
    assert_eq!(linked, chapters());
    let book: toml_edit::DocumentMut = read("book.toml").parse().unwrap();
    assert_eq!(book["book"]["src"].as_str(), Some("docs"));
}

/// The commands in code, in blocks and in lines.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_block = false;
    let mut joined = text.replace("\\\n", " ");
    // Values that CI services put in.
    for variable in ["${{ matrix.shard }}", "$SLURM_ARRAY_TASK_ID", "$SLURM_ARRAY_TASK_COUNT"] {
        joined = joined.replace(variable, "1");
    }
    for line in joined.lines() {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
            continue;
        }
        let parts: Vec<&str> = match is_block || line.starts_with("    ") {
            true => vec![line],
            false => line.split('`').skip(1).step_by(2).collect(),
        };
        for part in parts {
            let Some(at) = part.find("cargo cbdr ") else { continue };
            let command = part[at + "cargo cbdr ".len()..].split(" #").next().unwrap();
            let ends = ["|", ">", "&&", ";", "…", "`", " < ", " • "];
            let end = ends.iter().filter_map(|end| command.find(end)).min();
            // What may be left out is written in brackets.
            let command = command[..end.unwrap_or(command.len())].replace(['[', ']'], "");
            found.push(command.trim().to_owned());
        }
    }
    found
}

#[test]
fn every_command_in_the_documents_is_one_that_the_program_understands() {
    let mut texts: Vec<PathBuf> =
        chapters().iter().map(|name| Path::new("docs").join(name)).collect();
    texts.extend(["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(PathBuf::from));
    let (mut understood, mut refused) = (0, Vec::new());
    for path in texts {
        for command in commands(&read(&path)) {
            let Some(mut words) = shlex::split(&command) else { continue };
            let is_subcommand = words.first().is_some_and(|word| {
                word.chars().all(|c| c.is_ascii_lowercase()) && !word.is_empty()
            });
            // A sentence that begins with the program's name is no command.
            if !is_subcommand {
                continue;
            }
            // Help is printed only when all before it is understood.
            let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
            words.insert(end, "--help".to_owned());
            let ran = Cbdr::new(root(), Path::new("unused")).args(&words).run();
            match ran.code {
                Some(0) => understood += 1,
                _ => refused.push(format!("{}: `{command}`: {}", path.display(), ran.stderr)),
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(understood > 50, "{understood}");
}

/// The shell scripts on a page.
fn scripts(page: &str) -> Vec<String> {
    let text = read(page);
    let blocks = text.split("```sh\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

/// Runs a script in a repository, with the program on the path.
#[track_caller]
fn run(repo: &Repo, script: &str) -> String {
    let mut command = Command::new("bash");
    command.args(["-e", "-u", "-c", script]).current_dir(repo.path()).stdin(Stdio::null());
    command.env("PATH", path_with_binary()).env("CBDR_CACHE_DIR", repo.cache());
    command.env_remove("GITHUB_BASE_REF");
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}\n{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_examples_for_agents_run_and_print_what_they_say() {
    if Command::new("jq").arg("--version").stdout(Stdio::null()).status().is_err() {
        return skipped("jq is not installed");
    }
    let scripts = scripts("docs/agents.md");
    let [brief, reading, events] = &scripts[..] else { panic!("{scripts:?}") };
    let repo = branch_with("40_000_000");
    std::fs::write(repo.path().join(".git/info/exclude"), "*.json*\n").unwrap();
    assert_eq!(run(&repo, &format!("{brief}\necho $code")), "100\n");
    let printed = run(&repo, reading);
    let mut lines = printed.lines();
    assert_eq!(lines.next(), Some("regression"));
    let slower = lines.next().unwrap();
    let is_said = slower.starts_with("work wall_time: ") && slower.contains("% slower, at least ");
    assert!(is_said, "{printed}");
    run(&repo, events);
    let written = std::fs::read_to_string(repo.path().join("events.jsonl")).unwrap();
    let reasons = written.lines().map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["reason"].as_str().unwrap().to_owned()
    });
    let reasons: Vec<String> = reasons.collect();
    let named = read("docs/agents.md");
    for reason in ["fresh", "sampling", "pair", "verdict", "result"] {
        assert!(reasons.iter().any(|one| one == reason), "{reason}: {reasons:?}");
        assert!(named.contains(&format!("`{reason}`")), "{reason}");
    }
    assert_eq!(reasons.last().unwrap(), "result");
}
