//! The lookback z-score agrees with Conbench on 79 histories. The files
//! document how they were made.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::process::{Command, Stdio};

use cargo_cbdr::model::metric::Better;
use cargo_cbdr::stats::lookback::{
    Distribution, Point, PointStatistics, THRESHOLD, best, point_statistics,
};
use serde_json::{Value, json};

use crate::support::Repo;

/// One result of a case.
#[derive(Clone)]
struct Measured {
    id: String,
    commit: String,
    time: String,
    series: [String; 3],
    unit: String,
    data: Vec<Option<f64>>,
    is_marked: bool,
    begins_change: bool,
}

impl Measured {
    fn better(&self) -> Better {
        if self.unit.ends_with("/s") { Better::Higher } else { Better::Lower }
    }

    /// The single value; `None` of a failed result.
    fn single(&self, rule: &str) -> Option<f64> {
        let values: Option<Vec<f64>> = self.data.iter().copied().collect();
        let values = values.filter(|_| !self.is_marked && !self.unit.is_empty())?;
        match rule {
            "best" => best(&values, self.better()),
            // Another rule of Conbench, which we do not have.
            _ => (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64),
        }
    }
}

/// One commit of a case: author time, parent, branch, fork point.
struct Commit {
    sha: String,
    time: String,
    parent: Option<String>,
    branch: Option<String>,
    fork_point: Option<String>,
}

struct Case {
    window: usize,
    rule: String,
    commits: Vec<Commit>,
    results: Vec<Measured>,
}

impl Case {
    fn commit(&self, sha: &str) -> Option<&Commit> {
        self.commits.iter().find(|commit| commit.sha == sha)
    }

    fn result(&self, id: &str) -> &Measured {
        self.results.iter().find(|result| result.id == id).unwrap()
    }

    /// Conbench's ancestry of a commit, newest first: by author time, where
    /// ours goes by the commits' parents.
    fn ancestry(&self, baseline: &str) -> Vec<&Commit> {
        let Some(base) = self.commit(baseline) else { return Vec::new() };
        let Some(fork) = base.fork_point.as_ref().and_then(|fork| self.commit(fork)) else {
            return Vec::new();
        };
        let is_default = |commit: &&Commit| commit.fork_point.as_ref() == Some(&commit.sha);
        let mut own: Vec<&Commit> = Vec::new();
        if fork.sha != base.sha {
            let same = |commit: &&Commit| {
                (&commit.branch, &commit.fork_point) == (&base.branch, &base.fork_point)
                    && !is_default(commit)
                    && commit.time <= base.time
            };
            own.extend(self.commits.iter().filter(same));
        }
        let mut main: Vec<&Commit> = self.commits.iter().filter(is_default).collect();
        main.retain(|commit| commit.time <= fork.time);
        for list in [&mut own, &mut main] {
            list.sort_by(|one, other| other.time.cmp(&one.time));
        }
        own.into_iter().chain(main).take(self.window).collect()
    }

    /// A commit and those before it by their parents, newest first.
    fn line(&self, from: &str) -> Vec<&Commit> {
        let parent = |commit: &&Commit| self.commit(commit.parent.as_deref()?);
        std::iter::successors(self.commit(from), parent).collect()
    }

    /// The successful results of a series on some commits, in order.
    fn history(&self, of: &Measured, commits: &[&Commit]) -> Vec<(&Measured, Point)> {
        let times: BTreeMap<&str, &str> =
            commits.iter().map(|commit| (&*commit.sha, &*commit.time)).collect();
        let mut places: Vec<&str> = times.values().copied().collect();
        places.sort_unstable();
        places.dedup();
        let mut found: Vec<(&Measured, Point)> = Vec::new();
        for result in self.results.iter().filter(|result| result.series == of.series) {
            let (Some(time), Some(value)) = (times.get(&*result.commit), result.single(&self.rule))
            else {
                continue;
            };
            let place = places.binary_search(time).unwrap() as u64;
            found.push((result, Point { place, value }));
        }
        found.sort_by(|(one, at), (other, then)| {
            (at.place, &one.time).cmp(&(then.place, &other.time))
        });
        found
    }
}

/// The points, and the places of the annotated changes.
fn split(history: &[(&Measured, Point)]) -> (Vec<Point>, Vec<u64>) {
    let points = history.iter().map(|(_, point)| *point).collect();
    let changes = history.iter().filter(|(result, _)| result.begins_change);
    (points, changes.map(|(_, point)| point.place).collect())
}

fn cases() -> HashMap<String, Case> {
    let file: Value = serde_json::from_str(include_str!("golden/conbench/cases.json")).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let option = |value: &Value| value.as_str().map(str::to_owned);
    let case = |case: &Value| {
        let commit = |row: &Value| Commit {
            sha: text(&row[0]),
            time: text(&row[1]),
            parent: option(&row[2]),
            branch: option(&row[3]),
            // The server knows nothing but the name of an unknown commit.
            fork_point: option(&row[4]).filter(|_| row[5] != true),
        };
        let result = |row: &Value| Measured {
            id: text(&row[0]),
            commit: text(&row[1]),
            time: text(&row[2]),
            series: [text(&row[5]), text(&row[6]), text(&row[7])],
            unit: text(&row[8]),
            data: row[9].as_array().into_iter().flatten().map(Value::as_f64).collect(),
            is_marked: row[10] == true,
            begins_change: row[11] == true,
        };
        let case_of = Case {
            window: case["window"].as_u64().unwrap() as usize,
            rule: text(&case["svs"]),
            commits: case["commits"].as_array().unwrap().iter().map(commit).collect(),
            results: case["results"].as_array().unwrap().iter().map(result).collect(),
        };
        (text(&case["case"]), case_of)
    };
    file["cases"].as_array().unwrap().iter().map(case).collect()
}

/// One line of a file, its cells by the names in the header.
struct Line(HashMap<&'static str, &'static str>);

impl Line {
    #[track_caller]
    fn text(&self, column: &str) -> &'static str {
        self.0[column]
    }

    #[track_caller]
    fn number(&self, column: &str) -> Option<f64> {
        let text = self.text(column);
        (!text.is_empty()).then(|| text.parse().unwrap())
    }

    fn name(&self) -> String {
        let cell = |column| self.0.get(column).copied().unwrap_or_default();
        ["case", "contender", "rule", "how", "result"].map(cell).join(" ")
    }

    #[track_caller]
    fn assert_near(&self, column: &str, actual: Option<f64>, tolerance: f64, scale: f64) {
        let name = self.name();
        match (self.number(column), actual) {
            (None, None) => {}
            (Some(expected), Some(actual)) => {
                let allowed = tolerance * expected.abs() + 1e-15 * scale;
                let off = (expected - actual).abs();
                assert!(off <= allowed, "{name}: `{column}` is {actual}, not {expected}");
            }
            (expected, actual) => panic!("{name}: `{column}` is {actual:?}, not {expected:?}"),
        }
    }
}

fn lines(file: &'static str) -> Vec<Line> {
    let mut lines = file.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines.map(|line| Line(header.iter().copied().zip(line.split(',')).collect())).collect()
}

#[test]
fn the_single_value_is_the_best_repetition_and_failures_have_none() {
    let cases = cases();
    let lines = lines(include_str!("golden/conbench/singles.csv"));
    assert!(lines.len() > 1000);
    for line in lines {
        let case = &cases[line.text("case")];
        let single = case.result(line.text("result")).single(&case.rule);
        assert_eq!((line.text("failed") == "true"), single.is_none(), "{}", line.name());
        line.assert_near("svs", single, 1e-15, 0.0);
    }
}

#[test]
fn z_mean_and_deviation_are_conbenchs() {
    let cases = cases();
    let (mut tested, mut with_z) = (0, 0);
    for line in lines(include_str!("golden/conbench/zscores.csv")) {
        if line.text("tie_ambiguous") == "true" {
            continue;
        }
        let name = line.name();
        let case = &cases[line.text("case")];
        let contender = case.result(line.text("contender"));
        let commits = case.ancestry(line.text("baseline_commit"));
        let ends = [commits.first(), commits.last()].map(|end| end.map_or("", |end| &*end.sha));
        assert_eq!(line.number("ancestry_len").unwrap_or(0.0), commits.len() as f64, "{name}");
        assert_eq!([line.text("ancestry_newest"), line.text("ancestry_oldest")], ends, "{name}");
        let history = case.history(contender, &commits);
        let (points, changes) = split(&history);
        let found = Distribution::of(&points, &changes, case.window);
        if !points.is_empty() {
            assert_eq!(line.number("n_results"), Some(points.len() as f64), "{name}");
            assert_eq!(line.number("n_outliers"), Some(found.outliers as f64), "{name}");
        }
        let mean = line.number("dist_mean").unwrap_or(0.0);
        let tight = line.number("dist_stddev").is_some_and(|s| s < 1e-8 * mean.abs());
        let tolerance = if tight { 1e-6 } else { 1e-9 };
        line.assert_near("dist_mean", found.mean, 1e-9, 0.0);
        line.assert_near("dist_stddev", found.deviation, tolerance, mean.abs());
        let value = contender.single(&case.rule);
        let z = value.and_then(|value| found.z(value, contender.better()));
        line.assert_near("z", z, tolerance, 1.0);
        assert!(z.is_none_or(|z| z != 0.0 || z.is_sign_positive()), "{name}");
        let flags = [z.is_some_and(|z| z < -THRESHOLD), z.is_some_and(|z| z > THRESHOLD)];
        assert_eq!(["regression", "improvement"].map(|f| line.text(f) == "true"), flags, "{name}");
        tested += 1;
        with_z += usize::from(z.is_some());
    }
    assert!(tested > 200 && with_z > 150, "{tested} {with_z}");
}

#[test]
fn the_rolling_history_is_conbenchs() {
    let cases = cases();
    let mut series: BTreeMap<(&str, &str), Vec<Line>> = BTreeMap::new();
    for line in lines(include_str!("golden/conbench/history.csv")) {
        series.entry((line.text("case"), line.text("of"))).or_default().push(line);
    }
    assert_eq!(series.len(), 40);
    for ((name, of), lines) in series {
        let case = &cases[name];
        let commits = case.commits.iter();
        let commits = commits.filter(|commit| commit.fork_point.as_ref() == Some(&commit.sha));
        let history = case.history(case.result(of), &commits.collect::<Vec<_>>());
        let (points, changes) = split(&history);
        let found: Vec<PointStatistics> = point_statistics(&points, &changes, case.window);
        assert_eq!(lines.len(), found.len(), "{name}");
        for ((result, point), row) in history.iter().zip(found) {
            let line = lines.iter().find(|line| line.text("result") == result.id).unwrap();
            assert_eq!(line.text("segment"), row.segment.to_string(), "{}", line.name());
            assert_eq!(line.text("is_outlier"), row.is_outlier.to_string(), "{}", line.name());
            line.assert_near("rolling_mean_excl", row.mean_before, 1e-9, 0.0);
            line.assert_near("residual", row.residual(*point), 1e-9, 10.0 * point.value.abs());
            // Conbench prints a missing deviation as 0.
            let deviation = row.deviation_before.or(Some(0.0));
            line.assert_near("rolling_stddev_excl", deviation, 1e-9, point.value.abs());
        }
    }
}

/// The baseline by Conbench's documentation: the parent of a commit on the default
/// branch, the beginning of the branch for a commit on another one.
fn documented(case: &Case, contender: &Measured) -> Option<(String, &'static str)> {
    let commit = case.commit(&contender.commit)?;
    let fork = commit.fork_point.clone()?;
    match fork == commit.sha {
        true => Some((commit.parent.clone()?, "parent")),
        false => Some((fork, "fork-point")),
    }
}

/// Whether Conbench and we are asked the same: the baseline is the documented one, the
/// commits' times are in the order of their parents, all results have one unit, and the
/// contender is the latest result of its commit.
fn means_the_same(case: &Case, line: &Line) -> bool {
    let contender = case.result(line.text("contender"));
    let Some((baseline, _)) = documented(case, contender) else { return false };
    let names = |commits: Vec<&Commit>| -> Vec<String> {
        commits.into_iter().take(100).map(|commit| commit.sha.clone()).collect()
    };
    let own: Vec<_> = case.results.iter().filter(|r| r.series == contender.series).collect();
    let rival = |other: &&&Measured| other.commit == contender.commit && other.id != contender.id;
    line.text("tie_ambiguous") != "true"
        && line.text("how") == "direct"
        && line.text("baseline_commit") == baseline
        && (case.window, &*case.rule) == (100, "best")
        && names(case.line(&baseline)) == names(case.ancestry(&baseline))
        && own.iter().all(|other| other.unit == contender.unit)
        && own.iter().filter(rival).all(|other| other.time < contender.time)
        && contender.single("best").is_some()
}

/// A repository with the case's commits and results.
fn repository(case: &Case, of: &Measured) -> (Repo, HashMap<String, String>) {
    let repo = Repo::new("steady");
    let marks = repo.around().join("marks");
    let mark = |sha: &str| 1 + case.commits.iter().position(|commit| commit.sha == sha).unwrap();
    let mut stream = String::from("feature done\n");
    for (number, commit) in case.commits.iter().enumerate() {
        let branch = commit.branch.as_deref().unwrap_or("main").replace(':', "/");
        stream += &format!("reset refs/heads/{branch}\n");
        stream += &format!("commit refs/heads/{branch}\nmark :{}\n", number + 1);
        // All at the same time, so that the order is that of the parents.
        let message = &commit.sha;
        stream += "committer A <a@localhost> 1700000000 +0000\n";
        stream += &format!("data {}\n{message}\n", message.len());
        if let Some(parent) = &commit.parent {
            stream += &format!("from :{}\n", mark(parent));
        }
    }
    stream += "done\n";
    let export = format!("--export-marks={}", marks.display());
    import(&repo, &["--force", &export], &stream);
    let marks = std::fs::read_to_string(marks).unwrap();
    let ids: HashMap<&str, &str> =
        marks.lines().map(|line| line.split_once(' ').unwrap()).collect();
    let id = |commit: &Commit| ids[&*format!(":{}", mark(&commit.sha))].to_owned();
    let ids: HashMap<String, String> =
        case.commits.iter().map(|commit| (commit.sha.clone(), id(commit))).collect();
    import(&repo, &[], &notes(case, of, &ids));
    (repo, ids)
}

fn notes(case: &Case, of: &Measured, ids: &HashMap<String, String>) -> String {
    let mut notes: BTreeMap<&str, String> = BTreeMap::new();
    let mut times: Vec<&str> = case.results.iter().map(|result| &*result.time).collect();
    times.sort_unstable();
    for result in &case.results {
        let Some(commit) = ids.get(&result.commit) else { continue };
        let values: Option<Vec<f64>> = result.data.iter().copied().collect();
        let values = values.filter(|values| !values.is_empty() && !result.is_marked);
        let better = if result.better() == Better::Higher { "higher" } else { "lower" };
        let [benchmark, context, machine] = &result.series;
        let line = json!({
            "cbdr": 1,
            "id": result.id,
            "time": times.binary_search(&&*result.time).unwrap(),
            "result": {
                "repository": "", "commit": commit,
                "case": {"benchmark": benchmark, "name": "", "harness": "plain", "package": "p",
                    "subject": "s", "args": []},
                "hardware": {"cpu": machine, "cores": 1, "memory_mib": 1, "os": "o", "arch": "a"},
                "context": {"rustc": context, "host": "h", "profile": "bench", "features": [],
                    "flags": []},
                "metrics": values.as_ref().map_or(json!([]), |values| json!([{"name": "m",
                    "unit": result.unit, "better": better, "gates": true, "values": values}])),
                "error": values.is_none().then_some("it failed"),
            },
        });
        let note = notes.entry(commit).or_default();
        *note += &format!("{line}\n");
        if result.begins_change && values.is_some() && result.series == of.series {
            *note += &format!("{}\n", json!({"cbdr": 1, "id": "c", "time": 0, "change": "x"}));
        }
    }
    let mut stream = String::from("commit refs/notes/cbdr\n");
    stream += "committer A <a@localhost> 1700000000 +0000\ndata 0\n";
    for (commit, text) in notes {
        stream += &format!("M 100644 inline {commit}\ndata {}\n{text}\n", text.len());
    }
    stream
}

pub(crate) fn import(repo: &Repo, args: &[&str], stream: &str) {
    let mut command = Command::new("git");
    command.current_dir(repo.path()).args(["fast-import", "--quiet"]).args(args);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn from_the_notes_of_a_repository_come_conbenchs_baselines_and_scores() {
    let cases = cases();
    let mut tested = BTreeMap::new();
    let mut repositories = HashMap::new();
    for line in lines(include_str!("golden/conbench/zscores.csv")) {
        let case = &cases[line.text("case")];
        // There are many random histories; the others show every rule once.
        if !means_the_same(case, &line) || case.commits.len() > 60 {
            continue;
        }
        let name = line.name();
        let contender = case.result(line.text("contender"));
        // The same for all results of a series.
        let of = (line.text("case"), contender.series.clone());
        let (repo, ids) = repositories.entry(of).or_insert_with(|| repository(case, contender));
        let args = "history check --all-machines --format json --base main";
        let ran = repo.cbdr(args).args([&ids[&contender.commit]]).run();
        let object = ran.json();
        let (baseline, rule) = documented(case, contender).unwrap();
        let expected = json!({"commit": ids[&baseline], "rule": rule});
        assert_eq!(object["baseline"], expected, "{name}");
        let [benchmark, context, machine] = &contender.series;
        let results = object["results"].as_array().unwrap().iter();
        let mut results = results.filter(|result| {
            let found = [&result["case"]["benchmark"], &result["context"]["rustc"]];
            found == [benchmark, context] && result["hardware"]["cpu"] == **machine
        });
        let metric = &results.next().unwrap()["metrics"][0];
        assert!(results.next().is_none(), "{name}");
        let mean = line.number("dist_mean").unwrap_or(0.0);
        let tight = line.number("dist_stddev").is_some_and(|s| s < 1e-8 * mean.abs());
        let tolerance = if tight { 1e-6 } else { 1e-9 };
        line.assert_near("dist_mean", metric["mean"].as_f64(), 1e-9, 0.0);
        line.assert_near("z", metric["z"].as_f64(), tolerance, 1.0);
        *tested.entry(rule).or_insert(0) += 1;
    }
    assert!(tested["parent"] > 50 && tested["fork-point"] > 1, "{tested:?}");
}
