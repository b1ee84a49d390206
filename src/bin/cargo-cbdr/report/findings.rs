//! What samples show: for people, and as the object of a comparison without
//! commits and toolchain.

use std::io::Write;

use cargo_cbdr::model::outcome::{StoppedBy, Verdict};
use cargo_cbdr::samples::{Branch, Findings, Method, MetricFinding, Spec, Versus};
use serde::Serialize;

use super::{grid, human, json};
use crate::ui::{notices, text, verdict_style};

#[derive(Serialize)]
struct Object<'a> {
    schema: u32,
    verdict: Option<&'static str>,
    confidence: f64,
    estimator: &'static str,
    /// Nobody knows it of samples; here so that the object has one shape.
    seed: Option<u64>,
    stopped_by: &'static str,
    /// As `seed`.
    elapsed_seconds: Option<f64>,
    /// As `seed`.
    prepare_seconds: Option<f64>,
    rows: u64,
    benchmarks: Vec<Benchmark<'a>>,
    removed: Vec<json::Gone<'a>>,
    notices: Vec<String>,
}

#[derive(Serialize)]
struct Benchmark<'a> {
    name: &'a str,
    status: &'static str,
    pairs: u64,
    /// The labels, and how they were compared.
    base: &'a str,
    head: &'a str,
    rule: &'static str,
    metrics: Vec<Metric<'a>>,
}

#[derive(Serialize)]
struct Metric<'a> {
    #[serde(flatten)]
    metric: json::Metric<'a>,
    /// In the metric's unit; of samples that are looked at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<[f64; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judgement: Option<String>,
}

/// Prints the object on a line of its own.
pub(crate) fn print_json(findings: &Findings, spec: &Spec) -> std::io::Result<()> {
    let object = Object {
        schema: 1,
        verdict: findings.verdict.map(Verdict::name),
        confidence: spec.confidence,
        estimator: findings.estimator.name(),
        seed: None,
        stopped_by: findings.stopped_by.name(),
        elapsed_seconds: None,
        prepare_seconds: None,
        rows: findings.rows,
        benchmarks: findings.versus.iter().map(benchmark).collect(),
        removed: json::removed(&findings.branch.removed),
        notices: findings.notices.iter().map(notices::notice).collect(),
    };
    json::print_line(&object)
}

fn benchmark(versus: &Versus) -> Benchmark<'_> {
    Benchmark {
        name: &versus.result.name,
        status: versus.result.status.name(),
        pairs: versus.result.pairs,
        base: &versus.labels.base,
        head: &versus.labels.head,
        rule: versus.method.name(),
        metrics: versus.findings.iter().map(metric).collect(),
    }
}

fn metric(finding: &MetricFinding) -> Metric<'_> {
    Metric {
        metric: json::metric(&finding.result),
        difference: finding.difference.map(|d| [d.lower, d.estimate, d.upper]),
        judgement: finding.judgement.map(|judgement| judgement.to_string()),
    }
}

/// Prints tables, what they mean, and the verdict if there is one.
pub(crate) fn print(findings: &Findings, spec: &Spec) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    for versus in &findings.versus {
        table(&mut out, versus)?;
    }
    if !findings.versus.is_empty() {
        writeln!(out, "  {}", meaning(findings, spec))?;
    }
    let Some(verdict) = findings.verdict else {
        return Ok(());
    };
    let style = verdict_style(verdict);
    writeln!(out, "{style}{verdict}{style:#}: {}", reason(findings, verdict))
}

/// The columns of the interval and of the difference.
const INTERVAL: usize = 4;
const DIFFERENCE: usize = 6;

fn table(out: &mut impl Write, versus: &Versus) -> std::io::Result<()> {
    let (base, head) = (text::line(&versus.labels.base), text::line(&versus.labels.head));
    let pairs = match versus.result.pairs {
        0 => String::new(),
        pairs => format!(": {}", text::count(pairs, "pair")),
    };
    let gates = versus.result.metrics.iter().any(|metric| metric.threshold.is_some());
    let limits =
        if gates { format!("; {}", human::thresholds(&versus.result)) } else { String::new() };
    writeln!(out, "{head} against {base}{pairs}{limits}")?;
    let once = matches!(versus.method, Method::Pairs | Method::Apart);
    let names = ["metric", &base, &head, "change", "interval", "mean", "difference", "verdict"];
    let mut rows = vec![(names.map(str::to_owned).to_vec(), None)];
    rows.extend(versus.findings.iter().map(|finding| {
        let [name, base, head, change, interval, mean, verdict] = human::cells(&finding.result);
        let difference = difference(finding);
        let verdict = finding.judgement.map_or(verdict, |judgement| judgement.to_string());
        let style = finding.result.verdict.map(verdict_style);
        (vec![name, base, head, change, interval, mean, difference, verdict], style)
    }));
    let mut hidden = Vec::new();
    if versus.method == Method::Judge {
        hidden.push(INTERVAL);
    }
    if !human::shows_mean(&versus.result) {
        hidden.push(human::MEAN);
    }
    if !once {
        hidden.push(DIFFERENCE);
    }
    let verdict = names.len() - 1 - hidden.len();
    grid::print(out, &grid::without(rows, hidden), &[0, verdict])
}

/// The difference of the means and its bounds, in the metric's unit.
fn difference(finding: &MetricFinding) -> String {
    let unit = &finding.result.metric.unit;
    let value = |value: f64| {
        let sign = if value < 0.0 { "" } else { "+" };
        format!("{sign}{}", text::value(value, unit))
    };
    finding.difference.map_or("-".to_owned(), |d| {
        format!("{} [{}, {}]", value(d.estimate), value(d.lower), value(d.upper))
    })
}

/// What the intervals promise.
pub(super) fn meaning(findings: &Findings, spec: &Spec) -> String {
    let percent = |fraction: f64| text::rounded(100.0 * fraction);
    let has = |method| findings.versus.iter().any(|versus| versus.method == method);
    let confidence = percent(spec.confidence);
    let estimator = findings.estimator;
    if spec.judges {
        return format!("The ratio of the estimates, without an interval. Estimator: {estimator}.");
    }
    let bounds = match spec.gates {
        Some(_) => format!("Each bound holds with {confidence}% confidence"),
        None => format!("Each interval holds the true value with {confidence}% confidence"),
    };
    let results = findings.versus.iter().flat_map(|versus| &versus.result.metrics);
    let shared = match results.filter(|result| result.threshold.is_some()).count() {
        0 | 1 => String::new(),
        several => format!(", the lower one for all {several} questions together"),
    };
    let looks = match (has(Method::Sequential), has(Method::Pairs) || has(Method::Apart)) {
        (true, false) => ",\n  however often it is looked at",
        (true, true) => ",\n  however often it is looked at where the rows pair, else for one look",
        _ => ",\n  for one look at samples whose number was chosen beforehand",
    };
    format!("{bounds}{shared}{looks}. Estimator: {estimator}.")
}

/// Why the verdict is what it is, and what it is not about, in one sentence.
pub(super) fn reason(findings: &Findings, verdict: Verdict) -> String {
    let Branch { removed, selecting, .. } = &findings.branch;
    let selecting: Vec<&str> = selecting.iter().map(String::as_str).collect();
    decided_by(findings, verdict) + &text::not_asked(removed, &selecting)
}

fn decided_by(findings: &Findings, verdict: Verdict) -> String {
    match verdict {
        Verdict::Identical => return "nothing can have changed".to_owned(),
        Verdict::NoBaseline => return "there is nothing to compare with".to_owned(),
        _ => {}
    }
    let all = findings.versus.iter().flat_map(|v| v.findings.iter().map(move |f| (v, f)));
    let decided = all.into_iter().find(|(_, f)| f.result.verdict == Some(verdict));
    let Some((versus, finding)) = decided else {
        return String::new();
    };
    if verdict == Verdict::Inconclusive {
        let end = match findings.stopped_by {
            StoppedBy::Interrupt => "interrupted",
            _ => "there are no more samples",
        };
        return format!("the interval still holds the threshold; {end}");
    }
    format!(
        "{} of {} {}",
        text::line(&finding.result.metric.name),
        text::line(&versus.labels.head),
        text::against_threshold(&finding.result),
    )
}
