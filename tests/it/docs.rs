//! The documentation: the program accepts the commands in it, the examples run, the book
//! has every chapter, and what the chapters name exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Cbdr, Repo, path_with_binary, skipped, toolchain};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The names of the chapters, and of the printed tables in `docs/data`.
fn chapters() -> Vec<String> {
    let names = |folder: &str| {
        let entries = std::fs::read_dir(root().join("docs").join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let pages = names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md");
        pages.map(|name| format!("{folder}{name}")).collect::<Vec<_>>()
    };
    let mut all = [names(""), names("data/")].concat();
    all.sort();
    all
}

/// The chapters and the documents beside them.
fn documents() -> Vec<String> {
    let chapters = chapters().into_iter().map(|name| format!("docs/{name}"));
    let beside = ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(str::to_owned);
    chapters.chain(beside).collect()
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

/// The parts of a page: each heading with what follows it.
fn sections(text: &str) -> Vec<String> {
    let (mut all, mut is_block) = (vec![String::new()], false);
    for line in text.lines() {
        is_block ^= line.trim_start().starts_with("```");
        if line.starts_with('#') && !is_block {
            all.push(String::new());
        }
        all.last_mut().unwrap().push_str(line);
        all.last_mut().unwrap().push('\n');
    }
    all
}

/// What is between single backticks, outside of blocks.
fn quoted(text: &str) -> Vec<String> {
    let (mut all, mut is_block) = (Vec::new(), false);
    for line in text.lines() {
        is_block ^= line.trim_start().starts_with("```");
        if !is_block {
            all.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    all
}

/// The anchor of a heading, as GitHub and mdbook make it.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_anchor_that_a_link_names_is_a_heading() {
    let mut linked = 0;
    for name in documents() {
        let text = read(&name);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let Some((path, fragment)) = link.split_once('#') else { continue };
            let target = match path {
                "" => root().join(&name),
                _ => root().join(&name).parent().unwrap().join(path),
            };
            let sections = sections(&std::fs::read_to_string(&target).unwrap());
            let mut headings = sections.iter().filter_map(|section| section.lines().next());
            let is_there = headings.any(|heading| anchor(heading) == fragment);
            assert!(is_there, "{name} leads to {link}, and there is no such heading");
            linked += 1;
        }
    }
    assert!(linked > 20, "{linked}");
}

#[test]
fn every_file_that_the_documents_name_is_there() {
    let folders =
        ["src/", "tests/", "examples/", "docs/", "fixtures/", "benches/", ".ci/", ".github/"];
    // Those of the user's repository.
    let users = [
        ".github/workflows/cbdr.yml",
        ".github/workflows/cbdr-comment.yml",
        ".github/workflows/cbdr-watch.yml",
        "benches/",
    ];
    let mut named = 0;
    for name in documents() {
        for part in quoted(&read(&name)) {
            let mut words = part.split(' ');
            let is_ours = |word: &&str| folders.iter().any(|folder| word.starts_with(folder));
            for path in words.by_ref().filter(is_ours).filter(|path| !path.contains('*')) {
                named += 1;
                let is_there = users.contains(&path) || root().join(path).exists();
                assert!(is_there, "{name} names {path}, which is not there");
            }
        }
    }
    assert!(named > 20, "{named}");
}

#[test]
fn every_example_and_every_test_that_the_documents_name_is_there() {
    let of = |example: &str| {
        let path = root().join("examples").join(example);
        path.join("main.rs").exists() || path.with_extension("rs").exists()
    };
    let (mut code, mut folders) = (String::new(), vec![root().join("src"), root().join("tests")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(end) if end == "rs" => code += &std::fs::read_to_string(path).unwrap(),
                _ => {}
            }
        }
    }
    for name in documents() {
        let text = read(&name);
        for example in text.split("cargo run --release --example ").skip(1) {
            let end = example.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
            let example = &example[..end.unwrap_or(example.len())];
            assert!(of(example), "{name} names the example {example}, which is not there");
        }
        let is_test = |part: &&String| {
            part.matches('_').count() > 3
                && part.chars().all(|c| c == '_' || c.is_ascii_lowercase())
        };
        for test in quoted(&text).iter().filter(is_test) {
            assert!(code.contains(&format!("fn {test}(")), "{name} names the test {test}");
        }
    }
}

/// Addresses elsewhere that were looked up.
const ADDRESSES: [&str; 8] = [
    "https://bencher.dev/docs/how-to/track-benchmarks/#relative-continuous-benchmarking",
    "https://github.com/asayers/cbdr",
    "https://github.com/bheisler/criterion.rs/issues/824",
    "https://github.com/conbench/conbench",
    "https://github.com/dtolnay/itoa",
    "https://github.com/sharkdp/hyperfine/issues/21",
    "https://mutants.rs",
    // An example, which need not exist.
    "https://github.com/example/parser/issues/7",
];

#[test]
fn what_needs_a_release_is_marked_and_addresses_are_known() {
    let manifest: toml_edit::DocumentMut = read("Cargo.toml").parse().unwrap();
    let package = |key: &str| manifest["package"][key].as_str().unwrap();
    let repository = package("repository");
    let (mut marked, mut known) = (0, BTreeSet::new());
    for name in documents() {
        for section in sections(&read(&name)) {
            let needs =
                ["cargo install cargo-cbdr", "--locked cargo-cbdr", "cargo-cbdr@", "binstall"];
            let action = repository.trim_start_matches("https://github.com/");
            if needs.iter().any(|part| section.contains(part)) || section.contains(action) {
                marked += 1;
                assert!(section.contains("first release"), "{name}: not marked:\n{section}");
            }
            for version in section.split("cargo-cbdr@").skip(1) {
                let version = version.trim_start_matches('v');
                assert!(version.starts_with(package("version")), "{name}: {version}");
            }
            for address in section.split("https://").skip(1) {
                let end = address.find([' ', ')', '`', '"', '\n', '>']).unwrap();
                let address = format!("https://{}", &address[..end]);
                let is_known = ADDRESSES.contains(&address.as_str());
                assert!(is_known || address.starts_with(repository), "{name}: {address}");
                known.insert(address);
            }
        }
    }
    assert!(marked > 1, "{marked}");
    for address in ADDRESSES {
        assert!(known.contains(address), "{address} is no longer named");
    }
    let oldest = format!("Rust {}", package("rust-version"));
    for name in ["README.md", "docs/platforms.md"] {
        assert!(read(name).contains(&oldest), "{name} does not name {oldest}");
    }
}

/// Options of cargo, git, harnesses, the examples and other tools.
#[rustfmt::skip]
const OTHERS: [&str; 29] = [
    "array", "bundle", "cap-add", "cases", "config", "error-on-alert",
    "fail-threshold", "iterate", "jq", "lib", "locked", "max-time", "measurement-time",
    "method", "minutes", "noplot", "nresamples", "paginate", "path", "quick", "release",
    "repo", "sample-count", "sample-size", "skip-ext-time", "test",
    "timeout", "timings", "warm-up-time",
];

/// The help of a subcommand, and of those below it.
fn help(words: &[&str]) -> String {
    let args = [words, &["--help"]].concat();
    let own = Cbdr::new(root(), Path::new("unused")).args(&args).run().code(0).stdout;
    let listed = own.split("Commands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap();
    let names = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let below = names.filter(|name| !name.is_empty() && *name != "help");
    below.map(|name| help(&[words, &[name]].concat())).fold(own.clone(), |all, one| all + &one)
}

/// The options in a text.
fn options(text: &str) -> BTreeSet<String> {
    let starts = text.match_indices("--").filter(|(at, _)| {
        !text[..*at].ends_with(|c: char| c.is_alphanumeric() || "-/(#".contains(c))
    });
    let names = starts.map(|(at, _)| {
        let rest = &text[at + 2..];
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-');
        rest[..end.unwrap_or(rest.len())].to_owned()
    });
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())).collect()
}

#[test]
fn every_option_that_the_documents_name_is_in_the_help() {
    let (ours, mut others) = (options(&help(&[])), BTreeSet::new());
    assert!(ours.len() > 80, "{ours:?}");
    let mut unknown = Vec::new();
    // The printed tables have options that were tried and removed.
    for name in documents().iter().filter(|name| !name.starts_with("docs/data/")) {
        for option in options(&read(name)).difference(&ours) {
            match OTHERS.contains(&option.as_str()) {
                true => drop(others.insert(option.clone())),
                false => unknown.push(format!("{name}: --{option}")),
            }
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    let stale: Vec<&str> = OTHERS.into_iter().filter(|name| !others.contains(*name)).collect();
    assert!(stale.is_empty(), "no longer named: {stale:?}");
}

#[test]
fn every_key_in_an_example_is_one_that_the_table_of_keys_has() {
    let configuration = read("docs/configuration.md");
    let rows = configuration.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells: Vec<&str> = rows.filter_map(|row| row.split(" | ").next()).collect();
    let keys: Vec<&str> = cells.iter().flat_map(|cell| cell.split(['`', ','])).collect();
    let mut seen = 0;
    for name in documents() {
        for block in read(&name).split("```toml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            let table: toml_edit::DocumentMut = block.parse().unwrap();
            let own = &table["package"]["metadata"]["cbdr"];
            for (key, _) in own.as_table().unwrap() {
                seen += 1;
                let is_known = keys.contains(&key) || key == "benchmarks";
                assert!(is_known, "{name}: the key `{key}`");
            }
        }
    }
    assert!(seen > 5, "{seen}");
}

/// The decimal fractions in a text, without their signs.
fn fractions(text: &str) -> impl Iterator<Item = &str> {
    let numbers = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    numbers.map(|number| number.trim_matches('.')).filter(|number| number.contains('.'))
}

#[test]
fn every_figure_that_is_quoted_with_its_error_or_in_a_table_is_in_the_data() {
    let (data, chapters): (Vec<_>, Vec<_>) =
        chapters().into_iter().partition(|name| name.starts_with("data/"));
    let data: String = data.iter().map(|name| read(format!("docs/{name}"))).collect();
    let data: BTreeSet<&str> = fractions(&data).collect();
    let mut quoted = 0;
    for name in chapters {
        let text = read(format!("docs/{name}")).replace('\n', " \n");
        let is_all_simulated = ["error-rates.md", "suites.md"].contains(&name.as_str());
        let rows = text.lines().filter(|line| is_all_simulated && line.starts_with('|'));
        let parts: Vec<&str> = text.split(" ± ").collect();
        let with_error = parts[..parts.len() - 1].iter().filter_map(|part| part.rsplit(' ').next());
        for figure in rows.chain(with_error).flat_map(fractions) {
            quoted += 1;
            assert!(data.contains(figure), "{name}: {figure} is in no table of docs/data");
        }
    }
    assert!(quoted > 60, "{quoted}");
}

#[test]
fn the_result_that_is_explained_is_the_one_that_is_printed() {
    let pinned = read("tests/it/pinned/expected/suite/human.txt");
    let printed = pinned.split("--- standard output\n").nth(1).unwrap();
    let printed = printed.split("--- ").next().unwrap();
    let page = read("docs/result.md");
    let (before, rest) = page.split_once("```text\n").unwrap();
    let (shown, after) = rest.split_once("```").unwrap();
    if std::env::var_os("CBDR_BLESS").is_some_and(|value| !value.is_empty()) {
        let renewed = format!("{before}```text\n{printed}```{after}");
        return std::fs::write(root().join("docs/result.md"), renewed).unwrap();
    }
    assert_eq!(shown, printed, "renew it by CBDR_BLESS=1 cargo test --test it docs::");
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
    let (mut understood, mut refused) = (0, Vec::new());
    for path in documents().iter().map(PathBuf::from) {
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
    command.envs(toolchain()).env("PATH", path_with_binary());
    command.env("CBDR_CACHE_DIR", repo.cache());
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
    let repo = Repo::new("steady");
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    let table = "[package.metadata.cbdr]\nlayouts = \"off\"\n";
    repo.write("Cargo.toml", &format!("{manifest}\n{table}"));
    repo.commit("no layouts, which take long");
    repo.branch("feature");
    repo.replace("src/lib.rs", "500_000", "4_000_000");
    repo.commit("slower");
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
