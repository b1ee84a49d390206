//! Charts: in the terminal, as a specification, and as a self-contained page.

use std::path::Path;

use serde_json::Value;

use crate::support::{Cbdr, Repo};

/// Samples of `pairs` pairs, of which the head takes 3 % longer.
fn samples(folder: &Path, pairs: u32) {
    let mut rows = "benchmark,wall_time,max_rss\n".to_owned();
    for number in 0..pairs {
        let noise = |factor: u32| 0.0001 * f64::from(number * factor % 97);
        let base = format!("base,{},1000\n", 0.01 + noise(7919) / 10.0);
        let head = format!("head,{},1024\n", 1.03 * (0.01 + noise(104_729) / 10.0));
        rows += &if number % 2 == 0 { base.clone() + &head } else { head + &base };
    }
    std::fs::write(folder.join("in.csv"), rows).unwrap();
}

fn cbdr(folder: &Path, args: &str) -> Cbdr {
    Cbdr::new(folder, &folder.join("cache")).args(args.split_whitespace())
}

#[test]
fn histograms_stand_side_by_side_or_below_each_other() {
    let folder = crate::support::scratch();
    samples(folder.path(), 50);
    let wide = cbdr(folder.path(), "plot in.csv").env("COLUMNS", "100").run().code(0);
    assert!(wide.stdout.starts_with("wall_time\n"), "{}", wide.stdout);
    let both = |line: &str| line.contains("base (50)") && line.contains("head (50)");
    assert_eq!(wide.stdout.lines().filter(|line| both(line)).count(), 2, "a metric each");
    assert!(!wide.stdout.contains('\u{1b}'), "colour despite NO_COLOR");
    let narrow = cbdr(folder.path(), "plot in.csv --metric wall_time").env("COLUMNS", "30");
    let narrow = narrow.run().code(0);
    assert!(!narrow.stdout.lines().any(both) && !narrow.stdout.contains("max_rss"));
    assert!(narrow.stdout.lines().all(|line| line.chars().count() <= 30), "{}", narrow.stdout);
    cbdr(folder.path(), "plot in.csv --metric wall_tme").run().code(101).says("`wall_time`?");
    cbdr(folder.path(), "plot in.csv --base gone")
        .run()
        .code(101)
        .says("no row has the label `gone`");
    for command in ["analyze", "plot"] {
        let again = cbdr(folder.path(), &format!("{command} in.csv ./in.csv")).run().code(2);
        again.says("`./in.csv` would be read twice");
    }
    cbdr(folder.path(), "plot none.csv").run().code(101).says("none.csv");
}

#[test]
fn the_specification_holds_the_samples() {
    let folder = crate::support::scratch();
    samples(folder.path(), 3);
    let object = cbdr(folder.path(), "plot in.csv --vega").run().code(0).json();
    assert_eq!(object["data"]["values"].as_array().unwrap().len(), 6);
    let titles: Vec<&Value> =
        object["vconcat"].as_array().unwrap().iter().map(|chart| &chart["title"]).collect();
    assert_eq!(titles, ["wall_time", "max_rss"]);
    cbdr(folder.path(), "plot in.csv --vega --html p.html").run().code(2);
}

/// Demands that a page loads and runs nothing, and that its elements close.
#[track_caller]
fn stands_alone(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>"));
    for word in ["<script", "<link", " src=", "@import", "url(", "onload", "<iframe"] {
        assert!(!page.contains(word), "{word}");
    }
    let addresses: Vec<&str> = page.match_indices("http").map(|(at, _)| &page[at..]).collect();
    for address in addresses {
        let known = ["http://www.w3.org/2000/svg\"", "http-equiv="];
        assert!(known.iter().any(|known| address.starts_with(known)), "{}", &address[..60]);
    }
    for name in
        ["html", "body", "main", "section", "article", "figure", "svg", "table", "div", "details"]
    {
        let opened =
            page.matches(&format!("<{name} ")).count() + page.matches(&format!("<{name}>")).count();
        assert_eq!(opened, page.matches(&format!("</{name}>")).count(), "{name}");
    }
}

#[test]
fn the_page_of_a_comparison_shows_all_that_led_to_it() {
    let repo = Repo::new("steady");
    // It reports the time that the source says, with noise that changes no digit shown.
    let write = |time: &str| {
        let source = format!(
            "fn main() {{\n    let clock = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();\n    \
             let noise = 1.0 + f64::from(clock % 1000) * 1e-8;\n    \
             println!(\"{{{{\\\"wall_time\\\": {{}}}}}}\", {time} * noise);\n}}\n"
        );
        repo.write("benches/work.rs", &source);
        repo.commit(time);
    };
    write("1e-3");
    repo.branch("x|<img/src=x>`@octocat`");
    write("1.5e-3");
    let args = "compare main --harness json --seed 7 --explain=never --report report.html \
                --format json";
    let object = repo.cbdr(args).run().code(100).json();
    let page = std::fs::read_to_string(repo.path().join("report.html")).unwrap();
    stands_alone(&page);
    assert!(page.contains("<h1>work is ") && !page.contains("<img"));
    for commit in ["base", "head"] {
        assert!(page.contains(object[commit]["commit"].as_str().unwrap()), "{commit}");
    }
    let metrics = object["benchmarks"][0]["metrics"].as_array().unwrap();
    for metric in metrics {
        let name = metric["name"].as_str().unwrap();
        assert!(page.contains(&format!("<code>{name}</code>")), "{name}");
    }
    assert_eq!(page.matches("<article>").count(), metrics.len());
    for title in ["Distributions", "Interval over time", "Pair by pair", "Numbers"] {
        assert!(page.contains(&format!("<h4>{title}</h4>")), "{title}");
    }
    // The threshold is in the picture, and what decided is beside it.
    assert!(page.contains("stroke=\"#B92C3E\"") && page.contains("; verdict: over "));
    assert!(page.contains("--seed 7") && page.contains("machine"));
}

#[test]
fn a_page_of_samples_says_when_it_does_not_draw_every_pair() {
    let folder = crate::support::scratch();
    samples(folder.path(), 1500);
    let html = "plot in.csv --html p.html";
    let read = || std::fs::read_to_string(folder.path().join("p.html")).unwrap();
    cbdr(folder.path(), html).run().code(0);
    let page = read();
    stands_alone(&page);
    assert!(
        page.contains("<h1>estimates only</h1>") && page.contains("<h4>Interval over time</h4>")
    );
    assert!(page.contains("each dot is the median of up to 5 pairs"), "not thinned");
    assert!(page.matches("<circle").count() < 1000);
    cbdr(folder.path(), &format!("{html} --threshold 1%")).run().code(0);
    let page = read();
    assert!(page.contains("<h1>head is "));
    assert!(page.contains("of 1500 pairs") && page.contains("did not count"));
}

#[test]
fn names_from_samples_cannot_speak_on_the_page() {
    let folder = crate::support::scratch();
    let label = "</style><script>alert(1)</script>\"'&\u{1b}[31m\u{202e}";
    let mut rows = "benchmark,</code><b onload=x>\n".to_owned();
    for number in 0..20 {
        let noise = 0.001 * f64::from(number % 7);
        rows += &format!("base,{}\n\"{}\",{}\n", 1.0 + noise, label.replace('"', "\"\""), 1.5);
    }
    std::fs::write(folder.path().join("in.csv"), rows).unwrap();
    let unit =
        "{\"units\":{\"</code><b onload=x>\":{\"unit\":\"<b \u{1b}>\",\"better\":\"lower\"}}}";
    std::fs::write(folder.path().join("in.csv.json"), unit.replace('\u{1b}', "\\u001b")).unwrap();
    let text = cbdr(folder.path(), "plot in.csv").run().code(0).stdout;
    assert!(text.contains("<b \\u{1b}>") && !text.contains('\u{1b}'), "{text}");
    cbdr(folder.path(), "plot in.csv --html p.html").run().code(0);
    let page = std::fs::read_to_string(folder.path().join("p.html")).unwrap();
    stands_alone(&page.replace("b onload=x", ""));
    assert!(page.contains("&lt;/code&gt;&lt;b onload=x&gt;") && !page.contains("<b "));
    assert!(!page.chars().any(|c| c == '\u{1b}' || c == '\u{202e}'));
}

#[test]
fn a_page_that_cannot_be_written_costs_no_measurement() {
    let repo = Repo::new("steady");
    repo.branch("feature");
    repo.commit("nothing");
    let ran = repo.cbdr("compare main --report no/such.html").run().code(101);
    ran.says("can't write `no/such.html`").never_says("Building");
    // Nothing was measured, and the page states that.
    repo.cbdr("compare main --report page.html").run().code(0);
    let page = std::fs::read_to_string(repo.path().join("page.html")).unwrap();
    assert!(page.contains("<h1>identical: ") && page.contains("is the same program on both sides"));
}

#[test]
fn of_many_benchmarks_those_that_got_slower_come_first() {
    let folder = crate::support::scratch();
    let mut rows = "benchmark,wall_time\n".to_owned();
    for number in 0..20 {
        for benchmark in 0..70 {
            let noise = 0.001 * f64::from((number * 7 + benchmark * 3) % 11);
            let head = if benchmark == 66 { 1.3 } else { 1.0 };
            rows += &format!("b{benchmark}/base,{}\nb{benchmark}/head,{head}\n", 1.0 + noise);
        }
    }
    std::fs::write(folder.path().join("in.csv"), rows).unwrap();
    cbdr(folder.path(), "plot in.csv --html p.html --threshold 5%").run().code(0);
    let page = std::fs::read_to_string(folder.path().join("p.html")).unwrap();
    stands_alone(&page);
    assert!(page.contains("<h2 id=\"benchmark-b66\"><code>b66</code>"), "the slower one is folded");
    assert!(page.contains("<summary><code>b0</code>"), "one that passed is not folded");
    let (_, glance) = page.split_once("At a glance").unwrap();
    assert!(glance.find("<code>b66</code>") < glance.find("<code>b0</code>"));
    // Every row leads to its benchmark, and every benchmark to be chosen has its kind.
    for number in 0..70 {
        assert!(page.contains(&format!("<a href=\"#benchmark-b{number}\">")), "{number}");
        assert_eq!(page.matches(&format!(" id=\"benchmark-b{number}\"")).count(), 1, "{number}");
    }
    let rows =
        |kind: &str| page.matches(&format!("<tr class=\"gates\" data-kind=\"{kind}\"")).count();
    assert_eq!((rows("regression"), rows("better")), (1, 69));
    assert!(
        page.contains(">1 regression</label>") && page.contains(">69 faster or better</label>")
    );
    assert_eq!(page.matches("<article>").count(), 60);
    assert!(page.contains("10 metrics not drawn"));
}
