//! The repository checks itself: the boundaries of the map in `lib.rs`, by
//! reading its own sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The layers, top to bottom: a file imports only from its own and from
/// those above. As in the map.
const LAYERS: [&str; 9] =
    ["model", "error", "stats", "settings", "engine", "exec", "workspace", "samples", "flows"];

/// Words that only some places may have.
const OWNERS: [(&[&str], &[&str]); 23] = [
    (&["statrs"], &["src/stats/quantile.rs"]),
    (&["git2"], &["src/workspace/git/"]),
    (&["libc", "rustix", "signal_hook"], &["src/exec/process/"]),
    // What depends on the system. `meter` states what a system does not count.
    (
        &["target_os", "target_vendor", "unix)", "std::os::"],
        &[
            "src/exec/system",
            "src/exec/process/",
            "src/exec/meter/",
            "src/workspace/cache/tests/",
            "src/workspace/git/tests/",
            "src/workspace/git/notes/tests/",
        ],
    ),
    (&["unsafe"], &["src/exec/process/"]),
    (&["perf_event_open_sys"], &["src/exec/process/counter.rs"]),
    (&["postcard"], &["src/exec/process/wire.rs"]),
    (&["cargo_metadata"], &["src/workspace/cargo.rs"]),
    (&["clap"], &["src/settings/", "src/bin/cargo-cbdr/cli"]),
    (&["clap_complete", "clap_mangen"], &["src/bin/cargo-cbdr/cli"]),
    (&["memchr"], &["src/exec/harness/mod.rs", "src/exec/system.rs", "src/workspace/identical.rs"]),
    (
        &["toml_edit"],
        &[
            "src/workspace/inputs/configuration.rs",
            "src/workspace/lock_file.rs",
            "src/flows/init/manifest.rs",
        ],
    ),
    (&["tar::", "flate2"], &["src/workspace/pack"]),
    (&["maud", "plotters"], &["src/bin/cargo-cbdr/page/"]),
    (&["indicatif"], &["src/bin/cargo-cbdr/ui/live.rs"]),
    (&["unicode_width"], &["src/bin/cargo-cbdr/ui/width.rs"]),
    (&["quick_junit"], &["src/bin/cargo-cbdr/render/junit.rs"]),
    (&["inferno"], &["src/bin/cargo-cbdr/render/flamegraph.rs"]),
    (
        &["object::"],
        &[
            "src/workspace/functions/",
            "src/workspace/identical",
            "src/workspace/relink/archive.rs",
            "src/exec/meter/size.rs",
            "src/exec/meter/perf/file.rs",
        ],
    ),
    (&["framehop", "linux_perf_data"], &["src/exec/meter/perf/file.rs"]),
    (&["rustc_demangle"], &["src/workspace/functions/"]),
    (&["proc_macro2"], &["src/workspace/identical/code.rs"]),
    (&["println!", "eprintln!", "print!(", "eprint!(", "anstream"], &["src/bin/"]),
];

/// How many lines of code each room may have at most. Its folder and its file count; tests,
/// comments and blank lines do not.
const BUDGETS: [(&str, usize); 10] = [
    ("bin", 10_037),
    ("engine", 2_624),
    ("error", 156),
    ("exec", 6_970),
    ("flows", 6_832),
    ("model", 1_896),
    ("samples", 2_002),
    ("settings", 1_895),
    ("stats", 2_326),
    ("workspace", 11_311),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All Rust files below a folder, by their path from the root.
pub(crate) fn sources(folder: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    assert!(!found.is_empty(), "{folder}");
    found
}

/// The code of a file, without comments.
pub(crate) fn code(text: &str) -> String {
    let line = |line: &str| line.split("//").next().unwrap_or("").to_owned();
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Whether `word` occurs in `text` by itself, not as a part of a name.
fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(part);
        let after = text[at + word.len()..].chars().next().is_some_and(part);
        !(before && word.starts_with(part) || after && word.ends_with(part))
    })
}

/// The layer of a file of the library: the first part of its path.
fn layer(path: &str) -> &str {
    let path = path.strip_prefix("src/").unwrap();
    path.split('/').next().unwrap().trim_end_matches(".rs")
}

/// Whether a file of `src` has tests alone.
fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("tests.rs")
}

/// The lines of code of a file, without its tests.
fn lines_of_code(text: &str) -> Vec<&str> {
    let mut lines = text.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            let item = lines.find(|line| !line.trim().starts_with("#[")).unwrap_or("");
            if !item.trim_end().ends_with(';') {
                let indent = &item[..item.len() - item.trim_start().len()];
                lines.find(|line| line.strip_prefix(indent).is_some_and(|rest| rest == "}"));
            }
        } else if !line.trim().is_empty() && !line.trim().starts_with("//") {
            found.push(line);
        }
    }
    found
}

#[test]
fn each_room_stays_within_its_budget_of_lines_of_code() {
    let mut rooms: BTreeMap<String, usize> = BTreeMap::new();
    for (path, text) in sources("src") {
        if !is_test(&path) && path != "src/lib.rs" {
            *rooms.entry(layer(&path).to_owned()).or_default() += lines_of_code(&text).len();
        }
    }
    let budgets = BTreeMap::from(BUDGETS);
    let names: Vec<&str> = rooms.keys().map(String::as_str).collect();
    assert_eq!(names, budgets.keys().copied().collect::<Vec<_>>(), "each room has a budget");
    let beyond = rooms.iter().filter(|(room, lines)| **lines > budgets[room.as_str()]);
    let beyond: Vec<String> = beyond
        .map(|(room, lines)| format!("src/{room}: {lines} lines, {} allowed", budgets[&**room]))
        .collect();
    assert!(
        beyond.is_empty(),
        "{}\nFirst look for what is in the room twice, for what another room already does, and for \
         what nobody needs any more. If the room has to do more than before, raise its figure \
         in `BUDGETS` of tests/it/tidy.rs, and say in the commit what the lines are for.",
        beyond.join("\n")
    );
}

#[test]
fn each_foreign_crate_has_one_owner() {
    for (path, text) in sources("src") {
        // The lint names of `lib.rs` and the like are no use of it.
        let code = code(&text);
        for (words, owners) in OWNERS {
            if owners.iter().any(|owner| path.starts_with(owner)) {
                continue;
            }
            for word in words {
                let has_word = has_word(&code, word);
                assert!(!has_word, "`{word}` in {path}, but it belongs to {owners:?}");
            }
        }
    }
}

#[test]
fn no_file_imports_from_a_layer_below_it() {
    let rank = |name: &str| LAYERS.iter().position(|layer| *layer == name);
    for (path, text) in sources("src") {
        if path.starts_with("src/bin/") || path == "src/lib.rs" {
            continue;
        }
        let own = rank(layer(&path)).unwrap_or_else(|| panic!("{path} is in no layer"));
        let code = code(&text);
        for (at, _) in code.match_indices("crate::") {
            let rest = &code[at + "crate::".len()..];
            // `use crate::{a, b}` names several, `crate::a::B` one.
            let names: Vec<&str> = match rest.strip_prefix('{') {
                Some(list) => list.split('}').next().unwrap().split(',').collect(),
                None => vec![rest],
            };
            for name in names {
                let name: String =
                    name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let Some(other) = rank(&name) else { continue };
                assert!(other <= own, "{path} imports `{name}`, which is below it");
            }
        }
    }
}

/// The modules of a crate and the files that they are.
fn modules(root: &str) -> BTreeMap<Vec<String>, (String, String)> {
    let is_of_crate = |path: &str| root != "src/" || !path.starts_with("src/bin/");
    let files = sources(root).into_iter().filter(|(path, _)| is_of_crate(path) && !is_test(path));
    let module = |path: &str| {
        let inside = path.strip_prefix(root).unwrap().trim_end_matches(".rs");
        let mut names: Vec<String> = inside.split('/').map(str::to_owned).collect();
        names.pop_if(|last| ["lib", "main", "mod"].contains(&&**last));
        names
    };
    files.map(|(path, text)| (module(&path), (path, text))).collect()
}

/// The paths that the tree of a `use` names, each after those names.
fn used_paths(before: &[String], tree: &str, found: &mut Vec<Vec<String>>) {
    let (names, list) = match tree.split_once('{') {
        Some((names, list)) => (names, list.strip_suffix('}')),
        None => (tree, None),
    };
    let names = names.split(" as ").next().unwrap().split("::").map(str::trim);
    // In braces, `self` is what stands before them.
    let is_more = |name: &&str| !name.is_empty() && (*name != "self" || before.is_empty());
    let names = names.filter(is_more).map(str::to_owned);
    let path: Vec<String> = before.iter().cloned().chain(names).collect();
    let Some(list) = list else { return found.push(path) };
    let (mut depth, mut start) = (0, 0);
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let item = list[start..at].trim();
                if !item.is_empty() {
                    used_paths(&path, item, found);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// The files of a crate, each with those that its `use` lines name.
fn imports(root: &str) -> BTreeMap<String, BTreeSet<String>> {
    let modules = modules(root);
    let of = |module: &Vec<String>, text: &str| {
        let code = lines_of_code(text).join("\n");
        let mut paths = Vec::new();
        for item in code.split(';') {
            let Some(at) = item.find("use ").filter(|at| {
                let before = item[..*at].trim_start();
                before.is_empty() || before.starts_with("pub") || before.ends_with('\n')
            }) else {
                continue;
            };
            used_paths(&[], item[at + "use ".len()..].trim(), &mut paths);
        }
        let file = |path: Vec<String>| {
            let (ups, rest) =
                path.split_at(path.iter().take_while(|name| *name == "super").count());
            let own = [&module[..], &rest[..1]].concat();
            let full = match rest.first()?.as_str() {
                "crate" => rest[1..].to_vec(),
                "self" => [&module[..], &rest[1..]].concat(),
                _ if !ups.is_empty() => [&module[..module.len() - ups.len()], rest].concat(),
                _ if modules.contains_key(&own) => [&module[..], rest].concat(),
                _ => return None,
            };
            let known = (0..=full.len()).rev().find_map(|end| modules.get(&full[..end]));
            known.map(|(path, _)| path.clone())
        };
        paths.into_iter().filter_map(file).collect::<BTreeSet<_>>()
    };
    let all = modules.iter().map(|(module, (path, text))| (path.clone(), of(module, text)));
    let without_itself = |(path, mut imported): (String, BTreeSet<String>)| {
        imported.remove(&path);
        (path, imported)
    };
    all.map(without_itself).collect()
}

/// The shortest way from a file back to itself, along imports.
fn circle_of<'f>(
    file: &'f str,
    imports: &'f BTreeMap<String, BTreeSet<String>>,
) -> Option<Vec<&'f str>> {
    let mut ways = vec![vec![file]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            for next in imports.get(*way.last().unwrap()).into_iter().flatten() {
                let extended = [&way[..], &[next.as_str()]].concat();
                if next == file {
                    return Some(extended);
                }
                if seen.insert(next) {
                    longer.push(extended);
                }
            }
        }
        ways = longer;
    }
    None
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    for root in ["src/", "src/bin/cargo-cbdr/"] {
        let imports = imports(root);
        let circles = imports.keys().filter_map(|file| circle_of(file, &imports));
        let circles: Vec<String> = circles.map(|circle| circle.join("\n  imports ")).collect();
        assert!(
            circles.is_empty(),
            "{}\nWhat a file and those below it both need belongs into a file of its own.",
            circles.join("\n")
        );
    }
}

#[test]
fn the_map_names_the_layers_in_their_order_and_the_folder_holds_no_other() {
    let map = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let map = map.split("//! # The words").next().unwrap();
    let entries: Vec<&str> = map.lines().filter_map(|line| line.strip_prefix("//! - ")).collect();
    let names = entries.iter().flat_map(|entry| {
        let head = entry.split(':').next().unwrap();
        head.split(", ").map(|name| name.trim_matches(['[', ']', '`']).to_owned())
    });
    let names: Vec<String> = names.collect();
    let (rooms, voice) = names.split_at(names.len() - 1);
    assert_eq!(rooms, LAYERS);
    assert_eq!(voice, ["bin/cargo-cbdr/"]);
    let mut folder: Vec<String> = std::fs::read_dir(root().join("src"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| name.trim_end_matches(".rs").to_owned())
        .filter(|name| name != "bin" && name != "lib")
        .collect();
    folder.sort();
    folder.dedup();
    let mut layers = LAYERS.map(str::to_owned);
    layers.sort();
    assert_eq!(folder, layers);
}

#[test]
fn nothing_is_left_unfinished_or_switched_off() {
    let words = ["todo!", "unimplemented!", "dbg!", "#[ignore"];
    for (path, text) in sources("src").into_iter().chain(sources("tests")) {
        if path == "tests/it/tidy.rs" {
            continue;
        }
        for word in words {
            assert!(!text.contains(word), "`{word}` in {path}");
        }
    }
}

#[test]
fn the_readme_leads_to_every_document_and_no_link_leads_nowhere() {
    let (mut found, mut next) = (BTreeSet::new(), vec![PathBuf::from("README.md")]);
    while let Some(page) = next.pop() {
        if !found.insert(page.clone()) || page.extension().is_none_or(|end| end != "md") {
            continue;
        }
        let text = std::fs::read_to_string(root().join(&page)).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://") && !link.starts_with('#')) {
            let path = page.parent().unwrap().join(link.split('#').next().unwrap());
            let target = root().join(&path).canonicalize();
            let target = target.unwrap_or_else(|_| panic!("{} leads to {link}", page.display()));
            next.push(target.strip_prefix(root().canonicalize().unwrap()).unwrap().to_owned());
        }
    }
    for folder in ["docs", "docs/data"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = Path::new(folder).join(entry.unwrap().file_name());
            let is_linked = found.contains(&path) || root().join(&path).is_dir();
            assert!(is_linked, "no link leads from the README to {}", path.display());
        }
    }
}

#[test]
fn the_readme_names_the_exit_codes_and_the_version_has_a_changelog() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let readme = read("README.md");
    for code in ["`0`", "`2`", "`100`", "`101`", "`102`"] {
        assert!(readme.contains(&format!("| {code} |")), "{code} is not in the README's table");
    }
    let commands: Vec<&str> =
        readme.lines().filter(|line| line.starts_with("    cargo ")).collect();
    assert_eq!(commands[..2], ["    cargo run --release -- demo", "    cargo test"]);
    let heading = format!("## {}", env!("CARGO_PKG_VERSION"));
    assert!(read("CHANGELOG.md").contains(&heading), "{heading} is not in the changelog");
    let run = read(".ci/run");
    assert!(run.lines().any(|line| line == "cargo test"), ".ci/run does not run `cargo test`");
    assert!(Path::new(&root()).join("Cargo.lock").exists());
}
