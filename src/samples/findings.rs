//! What comes of an analysis.

use crate::model::estimator::Estimator;
use crate::model::notice::Notice;
use crate::model::outcome::{BenchmarkResult, MetricResult, Removed, StoppedBy, Verdict};
use crate::model::side::Pair;
use crate::stats::fixed::MeanDifference;
use crate::stats::judge::Judgement;

/// How two labels were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By the rule of `compare`: valid however often it is looked at.
    Sequential,
    /// By Student's and Fieller's intervals of pairs: valid for one look.
    Pairs,
    /// By Welch's and Fieller's intervals: valid for one look.
    Apart,
    /// By BenchmarkTools' judgement, which promises nothing.
    Judge,
}

impl Method {
    /// Its name in the outputs.
    pub fn name(self) -> &'static str {
        match self {
            Method::Sequential => "sequential",
            Method::Pairs => "paired",
            Method::Apart => "welch",
            Method::Judge => "judge",
        }
    }
}

/// What is said of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricFinding {
    /// As of a comparison.
    pub result: MetricResult,
    /// The difference of the means, of samples looked at once.
    pub difference: Option<MeanDifference>,
    /// BenchmarkTools' word.
    pub judgement: Option<Judgement>,
}

/// What is said of two labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Versus {
    /// The labels.
    pub labels: Pair<String>,
    /// How they were compared.
    pub method: Method,
    /// As of a comparison.
    pub result: BenchmarkResult,
    /// The metrics, in the order of the columns.
    pub findings: Vec<MetricFinding>,
}

/// What a branch changes of its own gate, as the shards of a comparison say it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Branch {
    /// What gates on the base and is not measured on the head.
    pub removed: Vec<Removed>,
    /// The keys of the tables that differ and change which benchmarks run.
    pub selecting: Vec<String>,
    /// What was said of the tables, in sentences.
    pub told: Vec<String>,
}

/// What is said of all samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// How changes are estimated.
    pub estimator: Estimator,
    /// The overall verdict, where something gates.
    pub verdict: Option<Verdict>,
    /// Why no further row was read.
    pub stopped_by: StoppedBy,
    /// How many rows were read.
    pub rows: u64,
    /// The comparisons.
    pub versus: Vec<Versus>,
    /// What the shards say of the branch's own gate.
    pub branch: Branch,
    /// What the user should know.
    pub notices: Vec<Notice>,
}
