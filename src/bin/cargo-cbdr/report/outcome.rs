//! What a comparison or an analysis came to, for the formats that tell it to
//! other programs: one view of both.

use cargo_cbdr::Report;
use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::notice::Notice;
use cargo_cbdr::model::outcome::{
    BenchmarkResult, MetricResult, OnDoubt, Removed, Status, StoppedBy, Verdict,
};
use cargo_cbdr::model::revision::Sides;
use cargo_cbdr::samples::{Findings, Spec};

use super::{findings, human};
use crate::ui::{notices, text};

/// The view.
pub(crate) struct Outcome<'a> {
    /// The overall verdict, where something gates.
    pub(crate) verdict: Option<Verdict>,
    /// Why it is that one.
    pub(crate) reason: String,
    /// What the intervals promise.
    pub(crate) meaning: String,
    /// The commits; nobody knows those of samples.
    pub(crate) sides: Option<&'a Sides>,
    pub(crate) toolchain: Option<&'a str>,
    pub(crate) confidence: f64,
    pub(crate) estimator: Estimator,
    pub(crate) seed: Option<u64>,
    pub(crate) stopped_by: StoppedBy,
    /// Seconds of sampling.
    pub(crate) elapsed: Option<f64>,
    /// Seconds before sampling.
    pub(crate) prepared: Option<f64>,
    pub(crate) benchmarks: Vec<&'a BenchmarkResult>,
    pub(crate) notices: Vec<String>,
    /// Those of them that say how a branch changes its own gate.
    pub(crate) of_tables: Vec<String>,
    /// What gates on the base and is not measured on the head.
    pub(crate) removed: &'a [Removed],
    /// Whether an open question fails.
    pub(crate) on_inconclusive: OnDoubt,
    /// Whether a benchmark without a baseline fails.
    pub(crate) on_no_baseline: OnDoubt,
    /// Whether it fails that something was removed.
    pub(crate) on_removed: OnDoubt,
    /// The call that would make it again.
    pub(crate) command: String,
}

impl<'a> Outcome<'a> {
    /// Of a comparison.
    pub(crate) fn of(report: &'a Report) -> Self {
        Outcome {
            verdict: report.decided(),
            reason: human::reason(report),
            meaning: match report.sampled.pairs() {
                0 => String::new(),
                _ => words(&human::meaning(report)),
            },
            sides: Some(&report.sides),
            toolchain: report.toolchain.as_deref(),
            confidence: report.policy.confidence,
            estimator: report.policy.estimator,
            seed: Some(report.seed),
            stopped_by: report.sampled.stopped_by,
            elapsed: Some(report.sampled.elapsed),
            prepared: Some(report.prepare_seconds),
            benchmarks: report.sampled.benchmarks.iter().collect(),
            notices: report.notices.iter().map(notices::notice).collect(),
            of_tables: of_tables(&report.notices),
            removed: &report.removed,
            on_inconclusive: report.policy.on_inconclusive,
            on_no_baseline: report.policy.on_no_baseline,
            on_removed: report.policy.on_removed,
            command: command(Some(report.seed)),
        }
    }

    /// Of an analysis.
    pub(crate) fn of_samples(
        findings: &'a Findings,
        spec: &Spec,
        on_inconclusive: OnDoubt,
    ) -> Self {
        Outcome {
            verdict: findings.verdict,
            reason: match findings.verdict {
                Some(verdict) => findings::reason(findings, verdict),
                None => "no threshold was given, so there is no verdict".to_owned(),
            },
            meaning: words(&findings::meaning(findings, spec)),
            sides: None,
            toolchain: None,
            confidence: spec.confidence,
            estimator: findings.estimator,
            seed: None,
            stopped_by: findings.stopped_by,
            elapsed: None,
            prepared: None,
            benchmarks: findings.versus.iter().map(|versus| &versus.result).collect(),
            notices: findings.notices.iter().map(notices::notice).collect(),
            of_tables: of_tables(&findings.notices),
            removed: &findings.branch.removed,
            on_inconclusive,
            on_no_baseline: OnDoubt::Pass,
            on_removed: OnDoubt::Pass,
            command: command(None),
        }
    }

    /// All metrics with their benchmarks.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = (&'a BenchmarkResult, &'a MetricResult)> {
        self.benchmarks.iter().flat_map(|&b| b.metrics.iter().map(move |metric| (b, metric)))
    }

    /// Those that decide.
    pub(crate) fn gates(&self) -> impl Iterator<Item = (&'a BenchmarkResult, &'a MetricResult)> {
        self.metrics().filter(|(_, metric)| metric.decides())
    }

    /// The overall verdict in words, and how much of what it could be about is gone.
    pub(crate) fn headline(&self) -> String {
        match text::removed_count(self.removed) {
            Some(removed) => format!("{}, {removed}", self.verdict()),
            None => self.verdict().to_owned(),
        }
    }

    fn verdict(&self) -> &'static str {
        match self.verdict {
            Some(Verdict::Regression) => "regression",
            Some(Verdict::NoRegression) => "no regression",
            Some(Verdict::Inconclusive) => "inconclusive",
            Some(Verdict::Identical) => "identical",
            Some(Verdict::NoBaseline) => "no baseline",
            None => "estimates only",
        }
    }

    /// A name for a metric among all: with its benchmark's where there are
    /// several.
    pub(crate) fn full_name(&self, benchmark: &BenchmarkResult, metric: &MetricResult) -> String {
        match self.benchmarks.len() {
            0 | 1 => metric.metric.name.clone(),
            _ => format!("{} {}", benchmark.name, metric.metric.name),
        }
    }
}

/// Whether a notice says how a branch changes its own gate.
pub(super) fn is_of_tables(notice: &Notice) -> bool {
    matches!(
        notice,
        Notice::PolicyDiffers { .. }
            | Notice::RunDiffers(_)
            | Notice::ConfiguredBase { .. }
            | Notice::NewWaiver { .. }
            | Notice::Told { .. }
    )
}

fn of_tables(notices: &[Notice]) -> Vec<String> {
    notices.iter().filter(|notice| is_of_tables(notice)).map(notices::notice).collect()
}

/// What is said of one metric: its change, its interval, its threshold.
pub(crate) fn sentence(benchmark: &BenchmarkResult, metric: &MetricResult) -> String {
    let only = match metric.status {
        Status::Compared => None,
        Status::New => Some("head"),
        Status::Removed => Some("base"),
    };
    if let Some(side) = only {
        let (metric, benchmark) = (&metric.metric.name, &benchmark.name);
        return format!("only the {side} of `{benchmark}` measures `{metric}`");
    }
    let summary = &metric.summary;
    let change = summary.change.map_or("?".to_owned(), text::percent);
    let threshold = metric
        .limit()
        .map_or(String::new(), |limit| format!(", threshold {}", text::percent(limit)));
    format!(
        "`{}` of `{}` changed by {change}, interval {}{threshold}, {}",
        metric.metric.name,
        benchmark.name,
        text::interval(summary.lower, summary.upper),
        text::count(benchmark.pairs, "pair"),
    )
}

/// What is to be seen first.
pub(crate) fn rank(result: &MetricResult) -> u8 {
    match result.verdict {
        Some(Verdict::Regression) => 0,
        Some(Verdict::Inconclusive) => 1,
        Some(_) => 2,
        None => 3,
    }
}

/// Text for a terminal's width as one line.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// This call, with the seed that it used.
fn command(seed: Option<u64>) -> String {
    let args = std::env::args_os().skip(1);
    let mut args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    if args.first().is_some_and(|first| first == "cbdr") {
        args.remove(0);
    }
    if let Some(seed) = seed.filter(|_| !args.iter().any(|arg| arg.starts_with("--seed"))) {
        // Behind `--` stand the benchmark's own arguments.
        let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
        args.splice(end..end, ["--seed".to_owned(), seed.to_string()]);
    }
    let words = ["cargo", "cbdr"].into_iter().chain(args.iter().map(String::as_str));
    // Only a NUL can't be quoted, and no argument has one.
    shlex::try_join(words).unwrap_or_default()
}
