//! Hostile names, texts and numbers, in every input and every output: they are
//! displayed, but never interpreted.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Ran, Random, Repo, setting};

/// What an attacker would put into a name.
const FRAGMENTS: [&str; 54] = [
    "\u{1b}[31m",
    "\u{1b}]0;title\u{7}",
    "\u{9b}2J",
    "\u{8}\u{8}\u{8}",
    "\r",
    "\n",
    "\t",
    "\u{0}",
    "\u{7f}",
    "\u{202e}",
    "\u{2066}",
    "\u{61c}",
    "\u{200b}",
    "\u{2060}",
    "\u{feff}",
    "\u{ad}",
    "\u{2028}",
    "\u{e0041}",
    "\u{fffe}",
    "::set-env name=A::b",
    "\n::error::x",
    "\n  ::stop-commands::x",
    "##[group]",
    "##vso[task.setvariable variable=A]b",
    "##teamcity[message]",
    "%0A::error::x",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=x>",
    "' onmouseover='x",
    "]]>",
    "&lt;",
    "<!--",
    "-->",
    "</code></pre></details>\n\n",
    "@octocat",
    " @org/team ",
    " #1 ",
    " GH-1 ",
    " !1 ~x ",
    "|",
    "`",
    "``",
    "\\",
    "[a](https://evil.example)",
    "![a](https://evil.example/x.png)",
    " https://evil.example ",
    " www.evil.example ",
    "{msg}{bar}",
    "$(touch pwned)",
    "; touch pwned #",
    "=cmd|' /C calc'!A0",
    "--config=x",
    "../../../pwned",
];

/// One of some fragments; of another `tag`, another one.
fn nasty(random: &mut Random, tag: &str) -> String {
    let mut name = String::new();
    for place in 0..=random.below(4) {
        name += FRAGMENTS[random.below(FRAGMENTS.len() as u64) as usize];
        if place == 0 {
            name += tag;
        }
    }
    name
}

/// The same, as far as the name of a metric or of a benchmark may have it.
fn name(random: &mut Random, tag: &str) -> String {
    nasty(random, tag).replace(char::is_control, "")
}

/// Control characters and invisible characters.
fn is_hidden(c: char) -> bool {
    let unseen = ['\u{ad}', '\u{61c}', '\u{feff}', '\u{2028}', '\u{2029}'];
    c.is_control()
        || unseen.contains(&c)
        || ('\u{200b}'..='\u{200f}').contains(&c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2060}'..='\u{206f}').contains(&c)
        || ('\u{e0000}'..='\u{e007f}').contains(&c)
}

/// That a text for a terminal, or the log of a service, has no commands.
#[track_caller]
fn is_calm(text: &str) {
    for line in text.lines() {
        let odd = line.chars().find(|c| is_hidden(*c) && *c != '\t');
        assert_eq!(odd, None, "{odd:?} in {line:?}");
        assert!(!line.trim_start().starts_with("::"), "{line:?}");
        for command in ["##[", "##vso[", "##teamcity["] {
            assert!(!line.contains(command), "{line:?}");
        }
    }
}

/// The parts of a text that are not between two marks.
fn without(text: &str, from: &str, to: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once(from) {
        kept += before;
        rest = after.split_once(to).map_or("", |(_, after)| after);
    }
    kept + rest
}

/// Every tag of a text with the names of its attributes.
#[track_caller]
fn tags(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for part in text.split('<').skip(1) {
        let (tag, content) = part.split_once('>').unwrap();
        assert!(!content.contains('>'), "{content}");
        let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut attributes = Vec::new();
        while !rest.trim_matches([' ', '/']).is_empty() {
            let (attribute, after) = rest.split_once('=').unwrap_or((rest, ""));
            attributes.push(attribute.trim().to_owned());
            let after = after.strip_prefix('"').unwrap_or(after);
            rest = after.split_once('"').map_or("", |(_, rest)| rest);
        }
        found.push((name.trim_end_matches('/').to_lowercase(), attributes));
    }
    found
}

/// That a comment in Markdown links, mentions and shows nothing of theirs.
#[track_caller]
fn is_calm_comment(text: &str) {
    is_calm(&without(text, "\u{200b}", ""));
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    let mut columns = 0;
    for row in &rows {
        let bars = row.matches('|').count();
        // Each table has columns of its own.
        columns = if row.starts_with("| benchmark |") { bars } else { columns };
        assert_eq!(bars, columns, "{row}");
    }
    let outside = without(text, "<!-- cargo-cbdr -->", "\n");
    let known = ["h3", "p", "pre", "code", "details", "summary", "ul", "li"];
    for (tag, attributes) in tags(&outside) {
        assert!(known.contains(&tag.trim_start_matches('/')), "{tag}: {text}");
        assert!(attributes.is_empty(), "{tag} {attributes:?}");
    }
    let outside = without(&without(&outside, "<code>", "</code>"), "<pre>", "</pre>");
    let outside = without(&outside, "`", "`");
    // As a browser reads it.
    let outside =
        outside.replace("&#8203;", "\u{200b}").replace("&#39;", "'").replace("&#96;", "`");
    for bad in ["://", "www.e", "&#"] {
        assert!(!outside.contains(bad), "{bad}: {outside}");
    }
    // A block of HTML goes on to the next blank line, and has no other markup.
    let blocks = outside.split("\n\n").filter(|block| !block.trim_start().starts_with('<'));
    assert!(!blocks.clone().any(|block| block.contains("](")), "{outside}");
    let letters: Vec<char> = outside.chars().collect();
    for pair in letters.windows(2) {
        let mentions = ['@', '#', '!', '~', '$'].contains(&pair[0]);
        assert!(!(mentions && pair[1].is_alphanumeric()), "{pair:?}: {outside}");
    }
    assert!(!outside.to_lowercase().contains("gh-1"), "{outside}");
}

/// That a page has no element and no attribute that is not ours.
#[track_caller]
fn is_calm_page(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(!text.chars().any(|c| is_hidden(c) && c != '\n'), "{}", path.display());
    let text = without(&text, "<style>", "</style>");
    let known = "!doctype html head meta title body main footer header section article figure \
        figcaption div span p h1 h2 h3 h4 code pre small table thead tbody tr th td ul ol li dl dt \
        dd details summary i b a caption fieldset legend input label svg rect circle line path polyline polygon text g";
    let attributes = "class charset href name id for type checked scope title data-kind data-group content lang http-equiv html style role aria-label data-name \
        width height viewbox xmlns x y x1 y1 x2 y2 cx cy r d points fill stroke stroke-width opacity \
        fg:x fg:w total_samples dx dy dominant-baseline text-anchor font-family font-size fill-opacity stroke-opacity";
    let has = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    for (tag, names) in tags(&text) {
        assert!(has(known, tag.trim_start_matches('/')), "{tag}");
        for name in names {
            assert!(has(attributes, &name.to_lowercase()), "{tag} {name}");
        }
    }
    assert!(text.contains("default-src 'none'"));
}

/// That a text is XML, of characters that XML may have.
#[track_caller]
fn is_xml(text: &str) {
    crate::reports::elements(text);
    is_calm(text);
    assert!(!text.contains(['\u{fffe}', '\u{ffff}']));
    for part in text.split('&').skip(1) {
        let (entity, _) = part.split_once(';').unwrap();
        assert!(["amp", "lt", "gt", "quot", "apos", "#39"].contains(&entity), "{entity}");
    }
}

/// That the workflow commands are ours, one line each.
#[track_caller]
fn are_our_commands(text: &str) {
    for line in text.lines() {
        let ours = ["::error title=", "::warning title=", "::notice title="];
        let ours = ours.iter().find_map(|begin| line.strip_prefix(begin));
        let Some((title, message)) = ours.and_then(|rest| rest.split_once("::")) else {
            panic!("{line:?}");
        };
        assert!(!title.contains([',', ':']), "{title:?}");
        assert!(!(title.to_owned() + message).chars().any(is_hidden), "{line:?}");
    }
}

/// A text in a table of `Cargo.toml`.
fn quoted(text: &str) -> String {
    json!(text).to_string().replace('\u{7f}', "\\u007f")
}

/// A program that prints a file, as `cat` does, but is linked statically where that is possible:
/// valgrind starts it several times as fast.
fn printer(folder: &Path) -> String {
    let (source, program) = (folder.join("print.c"), folder.join("print"));
    let text = "#include <stdio.h>\nint main(int count, char **args) {\n    \
                FILE *file = fopen(args[1], \"r\");\n    int c;\n    \
                while ((c = getc(file)) != EOF) putchar(c);\n    return 0;\n}\n";
    std::fs::write(&source, text).unwrap();
    let compiles = |more: &[&str]| {
        let mut cc = std::process::Command::new("cc");
        let output = cc.args(more).arg(&source).arg("-o").arg(&program).output().unwrap();
        output.status.success()
    };
    assert!(compiles(&["-static"]) || compiles(&[]));
    program.display().to_string()
}

/// A repository in which everything has a bad name that can have one.
fn hostile(random: &mut Random) -> (Repo, String) {
    let repo = Repo::named("steady", &nasty(random, "repo").replace(['/', '\0', '\n', '\r'], "_"));
    let [one, two] = ["one", "two"].map(|tag| name(random, tag));
    let [metric, other] = ["m", "n"].map(|tag| name(random, tag));
    let unit = |random: &mut Random| {
        let unit = nasty(random, "");
        format!("{{ unit = {}, better = \"lower\" }}", quoted(&unit))
    };
    let units = [unit(random), unit(random)];
    let table = format!(
        "\n[package.metadata.cbdr]\ncommand = \"{} report.json\"\nharness = \"json\"\n\
         metrics = [{metric}, {other}]\nthreshold = \"2%\"\nmax-pairs = 12\nargs = [\"-\"]\n\
         units = {{ {metric} = {}, {other} = {} }}\n\
         waivers = [{{ metric = {metric}, ceiling = \"90%\", reason = {}, expires = \"2999-01-01\", \
         issue = {} }}]\n",
        printer(&repo.around()),
        units[0],
        units[1],
        quoted(&nasty(random, "why")),
        quoted(&nasty(random, "where")),
        metric = quoted(&metric),
        other = quoted(&other),
    );
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    repo.write("Cargo.toml", &(manifest + &table));
    let report = |factor: f64| {
        let metrics = json!({ metric.as_str(): factor, other.as_str(): 2.0 * factor });
        json!({ one.as_str(): metrics, two.as_str(): metrics }).to_string()
    };
    repo.write("report.json", &report(1.0));
    repo.commit(&nasty(random, "subject").replace('\0', ""));
    repo.branch("x|<img/src=x>`@octocat`#1$(touch${IFS}pwned);'\"\u{202e}\u{200b}");
    repo.write("report.json", &report(1.5));
    repo.commit(&nasty(random, "subject").replace('\0', ""));
    (repo, metric)
}

fn compare(repo: &Repo, args: &str) -> Ran {
    repo.cbdr(&format!("compare main {args}")).run()
}

#[test]
fn a_comparison_of_hostile_names_says_nothing_of_theirs() {
    for seed in 1..=setting("CBDR_ROUNDS", 1) {
        let (repo, metric) = hostile(&mut Random::new(seed));
        let ran = compare(&repo, "--report page.html --export bencher=b.json").code(100);
        is_calm(&ran.stdout);
        is_calm(&ran.stderr);
        is_calm_page(&repo.path().join("page.html"));
        let ran = compare(&repo, "--format json").code(100);
        ran.json();
        assert!(!ran.stdout.trim_end().chars().any(is_hidden), "{:?}", ran.stdout);
        let ran = compare(&repo, "--format junit --samples rows.csv").code(100);
        is_xml(&ran.stdout);
        let summary = repo.around().join("summary");
        let call = repo.cbdr("compare main --format github --explain=never");
        let call = call.env("GITHUB_STEP_SUMMARY", &summary);
        let ran = call.run().code(100);
        are_our_commands(&ran.stdout);
        is_calm(&ran.stderr);
        is_calm_comment(&std::fs::read_to_string(&summary).unwrap());
        is_calm_comment(&compare(&repo, "--format markdown").code(100).stdout);
        of_samples(&repo, &metric);
    }
}

/// The same of the samples that were kept.
fn of_samples(repo: &Repo, metric: &str) {
    let analyze = |format: &str| {
        let call = repo.cbdr(&format!("analyze rows.csv --threshold 2% --format {format}"));
        call.args([format!("--metric={metric}")]).run()
    };
    for format in ["human", "json", "markdown", "github", "junit"] {
        let ran = analyze(format);
        assert!(ran.code == Some(100) || ran.code == Some(0), "{ran:?}");
        is_calm(&ran.stderr);
        match format {
            "human" => is_calm(&ran.stdout),
            "json" => assert!(!ran.stdout.trim_end().chars().any(is_hidden)),
            "markdown" => is_calm_comment(&ran.stdout),
            "github" => are_our_commands(&ran.stdout),
            _ => is_xml(&ran.stdout),
        }
    }
    is_calm(&repo.cbdr("plot rows.csv").run().code(0).stdout);
    let vega = repo.cbdr("plot rows.csv --vega").run().code(0);
    vega.json();
    assert!(!vega.stdout.trim_end().chars().any(is_hidden));
    repo.cbdr("plot rows.csv --html page.html").run().code(0);
    is_calm_page(&repo.path().join("page.html"));
}

#[test]
fn a_history_of_hostile_names_says_nothing_of_theirs() {
    for seed in 1..=setting("CBDR_ROUNDS", 1) {
        let mut random = Random::new(seed);
        let (repo, _) = hostile(&mut random);
        let ran = repo.cbdr("history record --runs 2").run().code(0);
        is_calm(&ran.stdout);
        is_calm(&ran.stderr);
        let why = nasty(&mut random, "why").replace('\0', "");
        let call = repo.cbdr("history annotate HEAD --change").args([format!("x{why}")]);
        is_calm(&call.run().code(0).stderr);
        repo.git(&["notes", "--ref", "cbdr", "append", "-m", &format!("x{why}")]);
        for args in ["check", "list", "export --format csv", "list --html page.html"] {
            let ran = repo.cbdr(&format!("history {args}")).run().code(0);
            is_calm(&ran.stdout);
            is_calm(&ran.stderr);
        }
        is_calm_page(&repo.path().join("page.html"));
        for args in ["export --format json", "check --format json"] {
            let ran = repo.cbdr(&format!("history {args}")).run().code(0);
            let _: Value = ran.json();
            assert!(!ran.stdout.trim_end().chars().any(is_hidden), "{args}");
        }
        // A cell that a spreadsheet would reckon with.
        let csv = repo.cbdr("history export --format csv").run().stdout;
        let cells = csv.lines().skip(1).flat_map(|line| line.split(','));
        for cell in cells {
            let begin = cell.trim_start_matches('"').chars().next();
            let is_number = cell.parse::<f64>().is_ok() || cell == "-";
            assert!(is_number || !matches!(begin, Some('=' | '+' | '@')), "{cell}");
        }
    }
}

#[test]
fn an_error_about_a_hostile_name_says_nothing_of_theirs() {
    for seed in 1..=setting("CBDR_ROUNDS", 2) {
        let mut random = Random::new(seed);
        let repo = Repo::new("steady");
        let name = format!("x{}", nasty(&mut random, "x").replace('\0', ""));
        let script = format!("cat <<'END' >&2\n{name}\nEND\nexit 3\n");
        repo.write("fail.sh", &script);
        repo.commit("fail");
        repo.branch("feature");
        repo.commit("empty");
        let calls: [(&[&str], i32); 11] = [
            (&["compare", &name], 101),
            (&["compare", "main", "--head", &name], 101),
            (&["compare", "main", "--always-run", "--command", "sh fail.sh"], 101),
            (&["compare", "main", "--always-run", "--command", "echo x", "--metric", &name], 101),
            (&["compare", "main", "--threshold", &name], 2),
            (&["compare", &name, &name], 2),
            (&[&name], 2),
            (&["compare", "main", "--export", &name], 2),
            (&["analyze", &name], 101),
            (&["history", "pull", &name], 101),
            (&["man", &name], 2),
        ];
        for (args, code) in calls {
            let ran = repo.cbdr("").args(args).run().code(code);
            is_calm(&ran.stderr);
            // What follows a line end is indented: it is no line of ours.
            let own = ["hint:", "error:", "warning:"].map(|word| ran.stderr.matches(word).count());
            assert!(own[1] >= 1, "{}", ran.stderr);
        }
        let ran = repo.cbdr("compare").env("GITHUB_BASE_REF", &name).run().code(101);
        is_calm(&ran.stderr);
        assert!(!repo.path().join("pwned").exists());
    }
}

/// The commands that hints name may be pasted into a shell.
#[test]
fn a_hint_is_a_command_that_may_be_pasted() {
    let repo = Repo::new("steady");
    repo.git(&["remote", "add", "origin", "/nowhere"]);
    for name in ["x$(touch pwned)", "x;touch pwned", "x`touch pwned`", "x'y", "x\"y", "x&y|z>w"] {
        for call in
            [repo.cbdr("compare").args([name]), repo.cbdr("compare").env("GITHUB_BASE_REF", name)]
        {
            let said = call.run().code(101).stderr;
            let hint = said.split("hint: run ").nth(1).unwrap();
            let command = hint.split(" (or `compare --fetch`)").next().unwrap().trim();
            let command = command.strip_prefix('`').unwrap().strip_suffix('`').unwrap();
            let words = shlex::split(command).unwrap();
            assert_eq!(words, ["git", "fetch", "origin", name], "{said}");
        }
    }
    // And nothing is suggested that git would treat as an option.
    let said = repo.cbdr("compare").env("GITHUB_BASE_REF", "--upload-pack=x").run().code(101);
    assert!(!said.stderr.contains("git fetch"), "{}", said.stderr);
}

#[test]
fn names_that_can_stand_in_no_row_are_refused() {
    let repo = Repo::new("steady");
    repo.write("report.json", "{}");
    repo.commit("report");
    repo.branch("feature");
    let long = "x".repeat(1001);
    let table = [
        (json!({ "a\nb": 1 }), "of a metric is not valid: it contains a line end"),
        (json!({ "a\u{1b}b": 1 }), "of a metric is not valid: it contains a line end"),
        (json!({ "": 1 }), "of a metric is not valid: it is empty"),
        (json!({ &*long: 1 }), "xxx` of a metric is not valid: it is longer than 1000 bytes"),
        (
            json!({ "a\n::error::b": { "m": 1 } }),
            "of a benchmark is not valid: it contains a line end",
        ),
        (
            json!({ &*long: { "m": 1 } }),
            "of a benchmark is not valid: it is longer than 1000 bytes",
        ),
    ];
    for (report, why) in table {
        repo.write("report.json", &report.to_string());
        repo.commit("report");
        let call = repo.cbdr("compare --aa --harness json --command");
        let ran = call.args(["cat ./report.json"]).run().code(101).says(why);
        is_calm(&ran.stderr);
        assert!(ran.stderr.len() < 2000, "{}", ran.stderr);
    }
    let long = "x".repeat(4097);
    for rows in [format!("benchmark,m\n{long},1\n"), format!("benchmark,{long}\na,1\n")] {
        repo.write("rows.csv", &rows);
        repo.cbdr("analyze rows.csv").run().code(101).says("is longer than 4096 bytes");
    }
}

#[test]
fn a_repository_at_a_path_with_a_line_end_is_refused() {
    let repo = Repo::named("steady", "a\n::error::b");
    repo.branch("feature");
    repo.commit("empty");
    let ran = repo.cbdr("compare main --always-run --command true").run().code(101);
    is_calm(&ran.stderr);
    ran.says("error: the path of the repository contains a line break")
        .says("hint: move or rename it");
}

#[test]
fn an_argument_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let repo = crate::support::branch_with("3_000_000");
    let odd = std::ffi::OsStr::from_bytes(b"\xff\x1b[31m.csv");
    let call = repo
        .cbdr(
            "compare main --max-pairs 6 --threshold 900% --command true --format markdown --samples",
        )
        .args([odd]);
    is_calm_comment(&call.run().code(0).stdout);
    assert!(repo.path().join(odd).exists());
}

/// The objects of git by hand, as no git writes them.
#[track_caller]
fn tree(repo: &Repo, lines: &str) -> String {
    use std::io::Write;
    let mut child = std::process::Command::new("git");
    child.args(["mktree", "--missing"]).current_dir(repo.path());
    child.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_tree_cannot_lead_out_of_its_worktree() {
    let repo = Repo::new("steady");
    let outside = repo.around().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("precious"), "mine").unwrap();
    let precious = || std::fs::read_to_string(outside.join("precious")).ok();
    let main = repo.head();
    let whole = repo.git(&["ls-tree", "HEAD"]) + "\n";
    let blob = |text: &Path| {
        repo.write("text", text.to_str().unwrap());
        repo.git(&["hash-object", "-w", "text"])
    };
    let link = blob(&outside);
    let modules = |name: &str, path: &str| {
        repo.write("text", &format!("[submodule \"{name}\"]\n\tpath = {path}\n\turl = x\n"));
        let id = repo.git(&["hash-object", "-w", "text"]);
        format!("100644 blob {id}\t.gitmodules\n")
    };
    // A module of the clone that has the commit.
    let store = repo.path().join(".git/modules/part");
    let store = store.to_str().unwrap();
    crate::support::git(&repo.around(), &["clone", "--quiet", "--bare", "repo", store]);
    let inner = tree(&repo, &format!("160000 commit {main}\tprecious\n"));
    let cases = [
        ("a parent", format!("{whole}160000 commit {main}\t..\n{}", modules("part", ".."))),
        (
            "a link and a folder of one name",
            format!(
                "{whole}{}120000 blob {link}\tway\n040000 tree {inner}\tway\n",
                modules("part", "way/precious")
            ),
        ),
        (
            "somebody else's module",
            format!("{whole}160000 commit {main}\tpart\n{}", modules("../../../repo/.git", "part")),
        ),
    ];
    std::fs::remove_file(repo.path().join("text")).unwrap();
    for (what, lines) in cases {
        let commit = repo.git(&["commit-tree", &tree(&repo, &lines), "-p", &main, "-m", what]);
        let args = [
            "compare",
            "main",
            "--head",
            &commit,
            "--always-run",
            "--max-pairs",
            "6",
            "--threshold",
            "900%",
        ];
        let call = repo.cbdr("").args(args).args(["--command", "true"]);
        let ran = call.run();
        is_calm(&ran.stderr);
        assert_eq!(precious().as_deref(), Some("mine"), "{what}: {ran:?}");
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1, "{what}: {ran:?}");
        let head = repo.cached().join("head");
        assert!(head.join("tree").exists(), "{what}: {ran:?}");
        assert!(!head.join("tree/part/src").exists(), "{what}: {ran:?}");
    }
}

#[test]
fn links_lead_no_write_out_of_the_worktree() {
    use std::os::unix::fs::symlink;
    let repo = Repo::new("steady");
    let outside = repo.around().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::remove_file(repo.path().join("Cargo.lock")).unwrap();
    repo.commit("no lock");
    repo.branch("feature");
    symlink(outside.join("Cargo.lock"), repo.path().join("Cargo.lock")).unwrap();
    repo.replace("src/lib.rs", "500_000", "500_001");
    repo.commit("a link to nowhere");
    std::fs::remove_file(repo.path().join("Cargo.lock")).unwrap();
    repo.cbdr("compare main --max-pairs 6 --threshold 900% --layouts off").run().code(0);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    // What a run leaves in its worktree leads no clean-up astray.
    std::fs::write(outside.join("precious"), "mine").unwrap();
    let swap = "rm -rf src way; ln -s ../../../../../outside src; ln -s ../../../../../outside way";
    let call =
        repo.cbdr("compare main --max-pairs 6 --threshold 900% --always-run --warmup 0 --command");
    call.args([format!("sh -c '{swap}'")]).run().code(0);
    repo.cbdr("compare main --max-pairs 6 --threshold 900% --layouts off").run().code(0);
    assert!(outside.join("precious").exists());
    let left: Vec<_> = std::fs::read_dir(&outside).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(left, [outside.join("precious")]);
}
