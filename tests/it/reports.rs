//! The formats for other programs: they contain what each of these needs, and
//! external text can't inject anything.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Cbdr, PRINTED, Repo, printing};

/// A branch whose name is no friend, on which the work takes half as long again.
fn hostile() -> Repo {
    let base = "{\"work\": {\"wall_time\": 0.100N, \"max_rss\": 1000}}";
    let repo = printing(base, &base.replace("0.100", "0.150"));
    repo.git(&["branch", "--move", "x|<img/src=x>`@octocat`#1"]);
    repo
}

/// Samples whose labels and metrics are no friends, either.
fn hostile_samples(folder: &Path) -> Cbdr {
    let label = "a|b<script>alert(1)</script>`@octocat` ::error::x\u{1b}[31m\u{202e}&";
    let mut rows = "benchmark,\"m|<b>`@all`\u{7}&amp;\",w\n".to_owned();
    for number in 0..40 {
        rows += &format!("base,{},1\n\"{label}\",{},1\n", 1.0 + 0.001 * f64::from(number % 7), 1.5);
    }
    std::fs::write(folder.join("in.csv"), rows).unwrap();
    let units = json!({ "w": { "unit": "|<b>@all`\u{1b}", "better": "lower" } });
    std::fs::write(folder.join("in.csv.json"), json!({ "units": units }).to_string()).unwrap();
    let metric = "m|<b>`@all`\u{7}&amp;";
    Cbdr::new(folder, folder).args([
        "analyze",
        "in.csv",
        "--threshold",
        "2%",
        "--metric",
        metric,
        "--format",
    ])
}

#[test]
fn a_comment_has_its_marker_its_table_and_no_mention() {
    let repo = hostile();
    let call = format!("compare main {PRINTED} --explain=never --format markdown");
    let ran = repo.cbdr(&call).run().code(100);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "<!-- cargo-cbdr -->");
    assert!(
        lines[1].starts_with("<h3>🔴 work is ") && lines[1].contains(" slower than main"),
        "{lines:?}"
    );
    let row = lines.iter().find(|line| line.starts_with("| `work` | ")).unwrap();
    assert!(row.ends_with("| +2% | **regression** |"), "{row}");
    let header = lines.iter().find(|line| line.starts_with("| benchmark |")).unwrap();
    assert_eq!(row.matches('|').count(), header.matches('|').count(), "{row}");
    // The only metric is named once, before the table.
    assert!(ran.stdout.contains("<p>Median <code>wall_time</code>:</p>\n\n| benchmark | base |"));
    assert!(ran.stdout.contains('┃') && ran.stdout.contains('●'));
    assert!(ran.stdout.contains("<details><summary>How cargo cbdr measured this"));
    assert!(ran.stdout.contains(&repo.head()));
    assert!(ran.stdout.contains("--seed"), "no way to repeat it");
    assert!(!ran.stdout.contains("<img"));
    // The details are one block of HTML, which a blank line would end.
    let details = ran.stdout.split("<details>").last().unwrap();
    assert!(!details.contains("\n\n"), "{details}");
}

#[test]
fn names_from_samples_cannot_speak_in_a_comment() {
    let folder = crate::support::scratch();
    let ran = hostile_samples(folder.path()).args(["markdown"]).run().code(100);
    let text = &ran.stdout;
    assert!(!text.contains("<script>") && !text.contains("<b>") && !text.contains('\u{1b}'));
    assert!(!text.contains('\u{202e}') && !text.contains('\u{7}'));
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    for row in &rows {
        assert_eq!(row.matches('|').count(), rows[0].matches('|').count(), "{row}");
    }
    // Whoever is mentioned is mentioned within code, or not at all.
    let outside: String = text
        .split("<code>")
        .map(|part| part.split_once("</code>").map_or(part, |(_, rest)| rest))
        .collect();
    let outside = outside
        .split("<pre>")
        .map(|part| part.split_once("</pre>").map_or(part, |(_, rest)| rest).to_owned())
        .collect::<String>();
    assert!(!outside.contains("@octocat") && !outside.contains("@all"), "{outside}");
}

#[test]
fn a_comment_of_many_benchmarks_is_not_too_long_and_shows_the_worst() {
    let folder = crate::support::scratch();
    let name = "x".repeat(400);
    let mut rows = "benchmark,wall_time\n".to_owned();
    for number in 0..20 {
        for benchmark in 0..300 {
            let noise = 0.001 * f64::from((number * 7 + benchmark * 3) % 11);
            let head = if benchmark == 266 { 1.3 } else { 1.0 };
            let label = format!("b{benchmark}-{name}");
            rows += &format!("{label}/base,{}\n{label}/head,{head}\n", 1.0 + noise);
        }
    }
    std::fs::write(folder.path().join("in.csv"), rows).unwrap();
    let call = Cbdr::new(folder.path(), folder.path());
    let call = call.args(["analyze", "in.csv", "--threshold", "5%", "--format", "markdown"]);
    let text = call.run().code(100).stdout;
    assert!(text.chars().count() < 65536, "{}", text.chars().count());
    let first = text.lines().find(|line| line.starts_with("| `")).unwrap();
    assert!(first.starts_with("| `b266-xxx") && first.contains("**regression**"), "{first}");
    assert!(text.contains(" more metrics, none of them worse"));
}

#[test]
fn annotations_are_commands_and_the_summary_is_appended() {
    let repo = hostile();
    let summary = repo.around().join("summary");
    std::fs::write(&summary, "before\n").unwrap();
    let args = format!("compare main {PRINTED} --format github");
    let ran = repo.cbdr(&args).env("GITHUB_STEP_SUMMARY", &summary).run().code(100);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("::error title=regression%3A wall_time of work::"), "{lines:?}");
    assert!(lines[1].starts_with("::notice title=cargo cbdr%3A regression::"), "{lines:?}");
    assert!(lines[2..].iter().all(|line| line.starts_with("::warning title=")), "{lines:?}");
    let text = std::fs::read_to_string(&summary).unwrap();
    assert!(text.starts_with("before\n<h3>🔴 work is "), "{text}");

    let open = format!("{args} --max-pairs 6 --threshold 900% --fail-on");
    for (policy, level, code) in [("none", "::warning ", 0), ("inconclusive", "::error ", 102)] {
        let ran = repo.cbdr(&format!("{open} {policy}")).run().code(code);
        assert!(ran.stdout.starts_with(level), "{}", ran.stdout);
    }
}

#[test]
fn a_name_cannot_be_a_workflow_command() {
    let folder = crate::support::scratch();
    let ran = hostile_samples(folder.path()).args(["github"]).run().code(100);
    for line in ran.stdout.lines() {
        assert!(
            line.starts_with("::error title=") || line.starts_with("::notice title="),
            "{line}"
        );
        let title = line.split_once("title=").unwrap().1.split("::").next().unwrap();
        assert!(!title.contains([':', ',']), "{title}");
    }
    assert_eq!(ran.stdout.lines().count(), 2);
    assert!(!ran.stdout.contains('\u{1b}'));
}

/// The elements of an XML document that is written as ours is: their names.
#[track_caller]
pub(crate) fn elements(text: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut all = Vec::new();
    for part in text.split('<').skip(1) {
        let (tag, content) = part.split_once('>').unwrap();
        assert!(!content.contains(['>', '"', '\'']), "{content}");
        assert!(tag.matches('"').count() % 2 == 0, "{tag}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap().to_owned();
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_ref(), Some(&name), "{text}");
        } else if !tag.starts_with('?') {
            all.push(name.clone());
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
    all
}

#[test]
fn junit_has_a_case_for_each_metric_that_gates() {
    let repo = hostile();
    let args = format!(
        "compare main {PRINTED} --metric wall_time,max_rss --threshold max_rss=50% --format junit"
    );
    let ran = repo.cbdr(&args).run().code(100);
    let names = elements(&ran.stdout);
    assert_eq!(names.iter().filter(|name| *name == "testcase").count(), 2);
    assert_eq!(names.iter().filter(|name| *name == "failure").count(), 1);
    assert!(ran.stdout.contains("tests=\"2\" skipped=\"0\" failures=\"1\" errors=\"0\""));
    let open = format!("{args} --max-pairs 6 --threshold 900% --fail-on");
    let ran = repo.cbdr(&format!("{open} none")).run().code(0);
    assert!(elements(&ran.stdout).contains(&"skipped".to_owned()));
    let ran = repo.cbdr(&format!("{open} inconclusive")).run().code(102);
    assert!(ran.stdout.contains("type=\"inconclusive\">"));
}

#[test]
fn names_cannot_break_the_xml() {
    let folder = crate::support::scratch();
    let ran = hostile_samples(folder.path()).args(["junit"]).run().code(100);
    assert!(!elements(&ran.stdout).iter().any(|name| name == "script" || name == "b"));
    assert!(!ran.stdout.chars().any(|c| c.is_control() && c != '\n'), "{}", ran.stdout);
    let without = Cbdr::new(folder.path(), folder.path());
    without.args(["analyze", "in.csv", "--format", "junit"]).run().code(2).says("--threshold");
}

/// The content of a file.
#[track_caller]
fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn exports_have_the_shape_that_each_service_takes() {
    let repo = hostile();
    let kinds = "--export bencher=b.json --export github-action-benchmark=g.json \
                 --export github-action-benchmark-bigger=h.json";
    let call = repo.cbdr(&format!("compare main {PRINTED} {kinds} --format json"));
    let object = call.run().code(100).json();
    let metric = &object["benchmarks"][0]["metrics"];
    let metric = metric.as_array().unwrap().iter().find(|m| m["name"] == "wall_time").unwrap();
    let folder = repo.path();

    let bencher = read(&folder.join("b.json"));
    assert_eq!(bencher["work"]["wall_time"], json!({ "value": metric["head"] }));
    let change = &bencher["work"]["wall_time_change"];
    assert_eq!((&change["value"], &change["lower_value"]), (&metric["change"], &metric["lower"]));

    let action = read(&folder.join("g.json"));
    let entry = action.as_array().unwrap().iter().find(|e| e["name"] == "work: wall_time").unwrap();
    assert_eq!((&entry["value"], &entry["unit"]), (&metric["head"], &json!("s")));
    assert!(entry["extra"].is_string());
    assert_eq!(read(&folder.join("h.json")), json!([]));
}

#[test]
fn an_output_that_cannot_be_written_costs_no_measurement() {
    let repo = hostile();
    let table = [
        ("--export bencher=no/such/folder", 101, "can't write `no/such/folder`"),
        ("--export bencher=.", 101, "can't write `.`"),
        ("--export bensher=f", 2, "did you mean `bencher`?"),
        ("--export bencher=f --samples f", 2, "`f` would be written twice"),
        ("--aa --repeat 2 --format markdown", 2, "only `--format human` and `json`"),
    ];
    for (args, code, what) in table {
        let base = if args.contains("--aa") { "" } else { "main" };
        let call = repo.cbdr(&format!("compare {base} {args}"));
        call.run().code(code).says(what).never_says("Sampling").never_says("Building");
    }
    let call = repo.cbdr("compare main --format github").env("GITHUB_STEP_SUMMARY", "/no/such");
    call.run().code(101).says("/no/such").never_says("Sampling");
    assert!(!repo.path().join("f").exists());
    // Nothing half made is left behind.
    let left = std::fs::read_dir(repo.path()).unwrap();
    let left = left
        .filter(|e| e.as_ref().unwrap().file_name().as_encoded_bytes().starts_with(b".cargo-cbdr"));
    assert_eq!(left.count(), 0);
}

#[test]
fn a_file_that_was_there_stays_when_there_is_no_result() {
    let repo = hostile();
    repo.write("b.json", "before");
    repo.cbdr("compare main --command false --export bencher=b.json").run().code(101);
    assert_eq!(std::fs::read_to_string(repo.path().join("b.json")).unwrap(), "before");
}
