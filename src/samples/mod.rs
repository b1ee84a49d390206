//! Samples to verdicts: what `analyze` does with rows of runs.
//!
//! Rows come one by one and are not kept. As long as every two rows of two
//! labels hold both of them, they are pairs, and with a threshold they are put
//! to the same [`MetricTest`](crate::engine::test::MetricTest) as in a comparison that
//! is running: same sums, same decisions, same numbers. Else what is said is
//! Welch's and Fieller's, of samples looked at once.
//!
//! What several machines measured of one comparison is put together by [`combine`].

pub mod csv;
mod error;
mod findings;
mod labels;
mod number;
mod reading;
mod recording;
mod rows;
mod shards;
mod versus;

use std::io::Read;

pub use error::{Error, Misfit, Place};
pub use findings::{Branch, Findings, Method, MetricFinding, Versus};
pub use recording::{Recorded, Recording};
pub use rows::Flow;
pub use shards::{Judging, Part, combine};

use crate::engine::remarks::remarks;
use crate::model::estimator::Estimator;
use crate::model::gate::Gate;
use crate::model::metric::{DEFAULT_METRIC, Metric, Units};
use crate::model::notice::Notice;
use crate::model::outcome::{StoppedBy, Verdict};
use crate::stats::estimator::Levels;
use crate::stats::moments::Moments;
use labels::Labels;
use reading::{Reading, Scout};
use versus::Couple;

/// What is asked of the samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// BenchmarkTools' judgement, and not evidence.
    pub judges: bool,
    /// The metrics that gate; none when only estimates are wanted.
    pub gates: Option<Vec<Gate>>,
    /// The metrics that were named; of none, all are shown and
    /// [`DEFAULT_METRIC`] is meant, or the only one that there is.
    pub named: Vec<String>,
    /// 1 minus the chance of a wrong verdict.
    pub confidence: f64,
    /// How a change is estimated.
    pub estimator: Estimator,
    /// Whether that was asked for: else the mean stands in where rows don't pair.
    pub chosen: bool,
    /// The label that all others are compared with.
    pub base: Option<String>,
    /// Units and directions that are not the usual ones.
    pub units: Units,
}

impl Spec {
    /// What decides about a metric, where it gates.
    pub fn gate(&self, metric: &str) -> Option<&Gate> {
        let gates = self.gates.as_deref().unwrap_or_default();
        gates.iter().find(|gate| gate.metric == metric)
    }

    /// The largest change of a metric that passes, where it gates.
    pub fn threshold(&self, metric: &str) -> Option<f64> {
        self.gate(metric).map(Gate::limit)
    }
}

/// The sums of one metric of one label.
#[derive(Clone, Copy, Debug)]
struct Sums {
    /// Of the values, or of their logarithms where those are asked for.
    moments: Moments,
    least: f64,
    /// A value has no logarithm.
    undefined: bool,
}

impl Sums {
    fn new() -> Self {
        Sums { moments: Moments::new(), least: f64::INFINITY, undefined: false }
    }

    fn push(&mut self, value: f64, logarithms: bool) {
        self.least = self.least.min(value);
        if !logarithms {
            self.moments.push(value);
        } else if value > 0.0 {
            self.moments.push(value.ln());
        } else {
            self.undefined = true;
        }
    }

    fn estimate(&self, estimator: Estimator) -> Option<f64> {
        match estimator {
            Estimator::Min => Some(self.least).filter(|least| least.is_finite()),
            // A zero makes the geometric mean zero.
            Estimator::GeometricMean if self.undefined => Some(0.0),
            Estimator::GeometricMean => self.moments.mean().map(f64::exp),
            Estimator::Mean | Estimator::Median | Estimator::Robust => self.moments.mean(),
        }
    }
}

/// Takes in rows and says what they say.
#[derive(Debug)]
pub struct Analysis {
    spec: Spec,
    /// How many files there are, and how many of them were begun.
    files: (usize, usize),
    metrics: Vec<Metric>,
    labels: Labels,
    /// Once it is known how many questions there are.
    levels: Option<Levels>,
    /// How many couples there will be, where that is known beforehand.
    expected: Option<usize>,
    rows: u64,
    /// Of the columns of the file that is being read, the metrics' numbers.
    columns: Vec<usize>,
    /// The row that is being read, in the order of the metrics.
    values: Vec<Option<f64>>,
    closed: bool,
}

impl Analysis {
    /// Of so many files.
    pub fn new(spec: Spec, files: usize) -> Self {
        Analysis {
            spec,
            files: (files, 0),
            metrics: Vec::new(),
            labels: Labels::default(),
            levels: None,
            expected: None,
            rows: 0,
            columns: Vec::new(),
            values: Vec::new(),
            closed: false,
        }
    }

    /// Whether the files should be scouted: whether what is decided depends on
    /// how many labels there are.
    pub fn wants_scouting(&self) -> bool {
        self.spec.gates.is_some() && !self.spec.judges
    }

    /// Reads the files, each with its name, for their labels only, so that the
    /// first verdict knows how many questions share the error.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn scout(
        &mut self,
        files: &mut dyn Iterator<Item = (String, Box<dyn Read>)>,
    ) -> Result<(), Error> {
        let mut scout = Scout { spec: &self.spec, labels: Labels::default() };
        for (name, mut file) in files {
            rows::read(&mut *file, &name, &mut scout)?;
        }
        let couples = scout.labels.couples.len();
        self.levels = Some(self.levels(couples));
        self.expected = Some(couples);
        Ok(())
    }

    /// Reads one file. `wait` is called before every read, which may take
    /// long, and says whether to go on.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn read(
        &mut self,
        source: &mut dyn Read,
        name: &str,
        wait: &mut dyn FnMut(&Analysis) -> Flow,
    ) -> Result<Flow, Error> {
        let mut reading = Reading { analysis: self, file: name, wait };
        rows::read(source, name, &mut reading)
    }

    /// Whether something can be said at all.
    ///
    /// # Errors
    /// Where the rows that were read hold nothing to compare, or not what was
    /// asked for.
    pub fn check(&self) -> Result<(), Error> {
        let names = || self.labels.all.iter().map(|label| label.name.clone()).collect();
        if self.rows == 0 {
            return Err(Error::NoRow);
        }
        if let Some(base) = &self.spec.base
            && self.labels.all.iter().all(|label| label.name != *base)
        {
            return Err(Error::NoBase { base: base.clone(), labels: names() });
        }
        if let [only] = self.labels.all.as_slice() {
            return Err(Error::OneLabel(only.name.clone()));
        }
        if self.labels.couples.is_empty() {
            return Err(Error::NoCouple(names()));
        }
        let gates = self.metrics.iter().enumerate();
        for (number, metric) in gates.filter(|(_, m)| self.spec.threshold(&m.name).is_some()) {
            let compared = self.labels.all.iter().filter(|label| label.is_compared());
            let lacks = |label: &&labels::Label| label.sums[number].least == f64::INFINITY;
            if let Some(label) = compared.into_iter().find(lacks) {
                let (label, metric) = (label.name.clone(), metric.name.clone());
                return Err(Error::NoValue { label, metric });
            }
        }
        let parted = self.labels.couples.iter().find_map(|couple| couple.parted.map(|_| couple));
        match parted {
            Some(couple) if self.spec.chosen && self.spec.needs_pairs() => Err(Error::NeedsPairs {
                estimator: self.spec.estimator.name(),
                why: format!("the rows of {} do not pair", couple.name),
            }),
            _ => Ok(()),
        }
    }

    /// What the rows so far say.
    pub fn findings(&self, stopped_by: StoppedBy) -> Findings {
        let levels = self.levels.unwrap_or_else(|| self.levels(self.labels.couples.len()));
        let versus = self.labels.couples.iter().map(|couple| {
            let label = couple.labels.map(|number| &self.labels.all[number]);
            let names = label.map(|label| label.name.as_str());
            let sums = label.map(|label| label.sums.as_slice());
            self.shown(couple.versus(&self.spec, &self.metrics, levels, names, sums))
        });
        let versus: Vec<Versus> = versus.collect();
        let metrics = versus.iter().flat_map(|versus| &versus.result.metrics);
        let verdict = Verdict::overall(metrics.filter_map(|metric| metric.verdict));
        let sequential = versus.iter().any(|versus| versus.method == Method::Sequential);
        let stands_in = self.spec.needs_pairs() && !sequential;
        Findings {
            estimator: if stands_in { Estimator::Mean } else { self.spec.estimator },
            verdict: self.spec.gates.as_ref().map(|_| verdict),
            stopped_by: if self.closed { StoppedBy::Verdict } else { stopped_by },
            rows: self.rows,
            notices: self.notices(&versus),
            branch: Branch::default(),
            versus,
        }
    }

    fn notices(&self, versus: &[Versus]) -> Vec<Notice> {
        let mut notices = Vec::new();
        for label in self.labels.alone() {
            notices.push(Notice::Alone { label: label.to_owned() });
        }
        for couple in self.labels.couples.iter().filter(|_| self.wants_scouting()) {
            if let Some(line) = couple.parted {
                notices.push(Notice::Unpaired { benchmark: couple.name.clone(), line });
            }
        }
        notices.extend(remarks(versus.iter().map(|versus| &versus.result)));
        if versus.iter().any(|versus| matches!(versus.method, Method::Pairs | Method::Apart)) {
            notices.push(Notice::OneLook);
        }
        notices
    }

    /// Only what was named, where nothing gates.
    fn shown(&self, mut versus: Versus) -> Versus {
        let named = &self.spec.named;
        if self.spec.gates.is_none() && !named.is_empty() {
            versus.findings.retain(|finding| named.contains(&finding.result.metric.name));
            versus.result.metrics.retain(|result| named.contains(&result.metric.name));
        }
        versus
    }

    fn levels(&self, couples: usize) -> Levels {
        let gates = self.spec.gates.as_ref().map_or(0, Vec::len);
        Levels::new(self.spec.confidence, gates * couples)
    }

    /// Begins to ask, once a verdict is possible.
    fn settle(&mut self) {
        let levels = *self.levels.get_or_insert(Levels::new(
            self.spec.confidence,
            self.spec.gates.as_ref().map_or(0, Vec::len) * self.labels.couples.len(),
        ));
        for couple in &mut self.labels.couples {
            couple.settle(&self.spec, &self.metrics, levels);
        }
    }

    /// Whether every question that there will be has its answer.
    fn is_closed(&self) -> bool {
        let couples = &self.labels.couples;
        let complete = self.expected.is_none_or(|number| number == couples.len());
        complete && self.levels.is_some() && !couples.iter().any(Couple::is_open)
    }

    /// Whether a verdict is possible with the pairs that are kept.
    fn is_due(&self) -> bool {
        let least = self.spec.estimator.least_pairs(Levels::new(self.spec.confidence, 1));
        let most = self.labels.couples.iter().map(Couple::waiting).max();
        most.zip(least).is_some_and(|(most, least)| most >= least)
    }
}

impl Spec {
    /// Whether the estimator can't do without pairs.
    fn needs_pairs(&self) -> bool {
        !self.judges && !matches!(self.estimator, Estimator::Mean | Estimator::GeometricMean)
    }

    /// Where no metric was named and the usual one is not there, the only one
    /// that there is stands in.
    fn stand_in(&mut self, metrics: &[Metric]) {
        if let ([only], true) = (metrics, self.named.is_empty())
            && let Some([gate]) = self.gates.as_deref_mut()
            && gate.metric == DEFAULT_METRIC
        {
            gate.metric.clone_from(&only.name);
        }
    }
}
