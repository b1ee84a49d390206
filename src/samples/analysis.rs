//! Reads rows, and returns an [`Outcome`] at any time.

use std::io::Read;

use super::error::{failure, no_metric};
use super::labels::{Labels, RecordedPairs};
use super::one_look::{LabelSums, judged, measured};
use super::recording::Recording;
use super::rows::{self, Flow, RowSink};
use super::spec::Spec;
use crate::engine::remarks::remarks;
use crate::engine::{Experiment, Plan};
use crate::error::{Error, Failure};
use crate::model::{
    BenchmarkNotice, BenchmarkResult, Estimator, Method, Metric, Notice, Outcome, Pair, Policy,
    Sampled, Side, Status, StoppedBy, Verdict,
};
use crate::settings::error::list;
use crate::stats::estimator::Levels;
use crate::stats::fixed::TwoSamples;
use crate::stats::moments::PairMoments;

/// If one side comes first in at least this many pairs and in all of them, that is no accident: the
/// coins of one comparison in 2048 would do that.
const PAIRS_IN_ORDER: usize = 12;

/// The state of an analysis while rows are read.
#[derive(Debug)]
pub struct Analysis {
    spec: Spec,
    /// How many files have not begun yet.
    files: usize,
    recording: Recording,
    /// The names of the comparisons, if they are known beforehand.
    expected: Option<Vec<String>>,
    /// The tests of the pairs, once their number is known.
    tests: Option<Experiment>,
    /// Whether every test is decided.
    closed: bool,
}

impl Analysis {
    /// A new analysis of `files` files.
    pub fn new(spec: Spec, files: usize) -> Self {
        Analysis {
            recording: Recording::new(spec.base.clone(), spec.units.clone()),
            spec,
            files,
            expected: None,
            tests: None,
            closed: false,
        }
    }

    /// Whether [`first_pass`](Analysis::first_pass) should be called first: whether verdicts
    /// depend on the number of labels.
    pub fn needs_first_pass(&self) -> bool {
        self.spec.gates.is_some() && !self.spec.judges
    }

    /// Reads files, each with its name, for their labels only, so that the number of
    /// tests that share the error is known from the first row.
    ///
    /// # Errors
    /// If one can't be read, or is not CSV as it is documented.
    pub fn first_pass<'a, R: Read>(
        &mut self,
        files: impl Iterator<Item = (&'a str, R)>,
    ) -> Result<(), Error> {
        let mut labels = Labels::new(self.spec.base.clone());
        for (name, mut file) in files {
            rows::read(&mut file, name, &mut labels)?;
        }
        self.expected = Some(labels.pairs.into_iter().map(|pair| pair.name).collect());
        Ok(())
    }

    /// Reads one file. `wait` is called before each read, which may take long, and
    /// returns whether to continue.
    ///
    /// # Errors
    /// If one can't be read, or is not CSV as it is documented.
    pub fn read(
        &mut self,
        source: &mut dyn Read,
        name: &str,
        wait: &mut dyn FnMut(&Analysis) -> Flow,
    ) -> Result<Flow, Error> {
        rows::read(source, name, &mut FileReading { analysis: self, file: name, wait })
    }

    /// Checks that there is a result.
    ///
    /// # Errors
    /// If the rows contain nothing to compare, or not what was requested.
    pub fn check(&self) -> Result<(), Error> {
        let Recording { labels, values, metrics, .. } = &self.recording;
        self.recording.check_labels()?;
        // After the named base, whose absence explains more.
        if let [only] = labels.all.as_slice() {
            return Err(failure(
                format!("`{}` is the only label: there is nothing to compare it with", only.name),
                "the first column names the side of a run: give those of the other side another \
                 label, such as `head`",
            ));
        }
        if labels.pairs.is_empty() {
            let what = format!("no two labels can be compared: {}", list(labels.names()));
            return Err(failure(what, "choose one of them with `--base`"));
        }
        let gating = metrics.iter().enumerate();
        for (number, metric) in gating.filter(|(_, one)| self.spec.gate(&one.name).is_some()) {
            let mut compared =
                labels.all.iter().zip(values).filter(|(label, _)| !label.pairs.is_empty());
            let lacking = compared.find(|(_, of)| of[number].iter().all(|value| value.is_nan()));
            if let Some((label, _)) = lacking {
                let what = format!("no run of `{}` has a value of `{}`", label.name, metric.name);
                return Err(Failure::with(what, None).into());
            }
        }
        match labels.pairs.iter().find(|pair| pair.broken.is_some()) {
            Some(pair) if self.spec.chosen && self.spec.needs_pairs() => Err(failure(
                format!(
                    "the estimator `{}` can't be used: the rows of {} do not form pairs",
                    self.spec.policy.estimator, pair.name
                ),
                "use `--estimator mean` or `geometric-mean`; `median` needs a threshold and rows \
                 that form pairs",
            )),
            _ => Ok(()),
        }
    }

    /// The result of the rows so far.
    pub fn outcome(&self, stopped_by: StoppedBy) -> Outcome {
        let tested = self.needs_first_pass().then(|| match &self.tests {
            Some(tests) => tests.finish(stopped_by),
            // Too early for this verdict: not all labels may be known.
            None => Sampled { likely_slower: None, ..self.tests().finish(stopped_by) },
        });
        let sums = self.recording.values.iter().map(|metrics| {
            let logarithms = self.spec.policy.estimator.takes_logarithms();
            metrics.iter().map(|values| LabelSums::of(values, logarithms)).collect()
        });
        let sums: Vec<Vec<LabelSums>> = sums.collect();
        let all = 0..self.recording.comparisons().len();
        let mut benchmarks: Vec<BenchmarkResult> =
            all.map(|number| self.result(number, tested.as_ref(), &sums)).collect();
        for (name, needed) in &self.spec.not_measured {
            benchmarks.push(BenchmarkResult::not_measured(name, *needed));
        }
        let likely_slower = tested.and_then(|tested| tested.likely_slower);
        let verdict = Verdict::of_benchmarks(&benchmarks, likely_slower.as_deref());
        let has = |method| benchmarks.iter().any(|benchmark| benchmark.method == Some(method));
        let mean_stands_in = self.spec.needs_pairs() && !has(Method::Sequential);
        let mut policy = self.spec.policy.clone();
        if mean_stands_in {
            policy.estimator = Estimator::Mean;
        }
        Outcome {
            notices: self.notices(&benchmarks),
            benchmarks,
            likely_slower,
            verdict: self.spec.gates.as_ref().map(|_| verdict),
            policy,
            stopped_by: if self.closed { StoppedBy::Verdict } else { stopped_by },
            rows: Some(self.recording.rows()),
            ..Outcome::default()
        }
    }

    /// The result of two labels: for all metrics, or, if nothing gates, for those that
    /// were named. `sums` are those of each label.
    fn result(
        &self,
        number: usize,
        tested: Option<&Sampled>,
        sums: &[Vec<LabelSums>],
    ) -> BenchmarkResult {
        let Recording { labels, metrics, .. } = &self.recording;
        let pair = &labels.pairs[number];
        let method = match tested {
            _ if self.spec.judges => Method::Judge,
            _ if pair.broken.is_some() => Method::Welch,
            Some(_) => Method::Sequential,
            None => Method::Paired,
        };
        let without_test = |(column, metric): (usize, &Metric)| {
            let sums = pair.labels.map(|label| &sums[label][column]);
            let measured = |samples: TwoSamples<'_>| {
                measured(&self.spec, metric, self.levels(), sums, samples)
            };
            match method {
                Method::Judge => judged(&self.spec, metric, sums),
                Method::Welch => {
                    measured(TwoSamples::Apart(&sums.base.moments, &sums.head.moments))
                }
                _ => measured(TwoSamples::Paired(&self.moments(pair, metric))),
            }
        };
        let mut metrics = match tested.filter(|_| method == Method::Sequential) {
            Some(tested) => tested.benchmarks[number].metrics.clone(),
            None => metrics.iter().enumerate().map(without_test).collect(),
        };
        let named = &self.spec.named;
        if self.spec.gates.is_none() && !named.is_empty() {
            metrics.retain(|metric| named.contains(&metric.name));
        }
        BenchmarkResult {
            pairs: if self.spec.judges { 0 } else { pair.pairs.len() as u64 },
            labels: Some(pair.labels.map(|label| labels.all[label].name.clone())),
            method: Some(method),
            metrics,
            ..BenchmarkResult::new(&pair.name, Status::Compared)
        }
    }

    /// The sums of the pairs of a metric, or of their logarithms.
    fn moments(&self, recorded: &RecordedPairs, metric: &Metric) -> PairMoments {
        let pairs = self.recording.pairs(recorded, &metric.name);
        let logarithms = self.spec.policy.estimator.takes_logarithms();
        let values = pairs.map(|(_, Pair { base, head })| match logarithms {
            true => (base.ln(), head.ln()),
            false => (base, head),
        });
        // A value without logarithm makes the label's own sums undefined.
        values.filter(|(base, head)| base.is_finite() && head.is_finite()).collect()
    }

    fn notices(&self, benchmarks: &[BenchmarkResult]) -> Vec<Notice> {
        let labels = &self.recording.labels;
        let mut notices = Vec::new();
        let alone = labels.unpaired();
        notices.extend(alone.map(|label| Notice::Alone { label: label.to_owned() }));
        if self.needs_first_pass() {
            notices.extend(labels.pairs.iter().filter_map(|pair| {
                Some(Notice::Unpaired { line: pair.broken?, benchmark: pair.name.clone() })
            }));
            notices.extend(labels.pairs.iter().filter_map(|pair| {
                let first = &labels.all[pair.labels[always_first(pair)?]];
                let (first, pairs) = (first.name.clone(), pair.pairs.len() as u64);
                Some(BenchmarkNotice::FixedOrder { first, pairs }.about(&pair.name))
            }));
        }
        notices.extend(remarks(benchmarks));
        let one_look = [Some(Method::Paired), Some(Method::Welch)];
        if benchmarks.iter().any(|benchmark| one_look.contains(&benchmark.method)) {
            notices.push(Notice::OneLook);
        }
        notices
    }

    /// The number of tests that share the error.
    fn sharing(&self) -> usize {
        let own = self.recording.comparisons().len();
        let gates = self.spec.gates.as_ref().map_or(0, Vec::len);
        gates * self.expected.as_ref().map_or(own, Vec::len)
    }

    /// The levels for a single look.
    fn levels(&self) -> Levels {
        Levels::new(self.spec.policy.confidence, self.sharing()).whole()
    }

    /// The tests of all comparisons, with the pairs so far.
    fn tests(&self) -> Experiment {
        let Policy { confidence, estimator, .. } = self.spec.policy;
        let comparisons = self.recording.comparisons();
        let own = || comparisons.iter().map(|one| one.name.clone()).collect();
        let mut plan = Plan::new(confidence, estimator, 0);
        plan.of_tests = Some(self.sharing());
        for name in self.expected.clone().unwrap_or_else(own) {
            plan.add_group(0, true, 0.0);
            let gates = self.spec.gates.clone().unwrap_or_default();
            plan.add_benchmark(&name, self.recording.metrics(), gates);
        }
        let mut tests = Experiment::new(plan, 0.0);
        for (number, recorded) in comparisons.iter().enumerate() {
            for pair in 0..recorded.pairs.len() {
                let (first, rows) = self.recording.pair(number, pair);
                tests.push_recorded(number, first, rows);
            }
        }
        tests
    }

    /// Whether a verdict is possible with the pairs so far. Without a first pass, the tests begin
    /// as late as possible, so that as many labels as possible have appeared and share the error.
    fn should_test(&self) -> bool {
        let Policy { estimator, confidence, .. } = self.spec.policy;
        let least = estimator.least_pairs(Levels::new(confidence, 1));
        let most = self.recording.comparisons().iter().map(|one| one.pairs.len() as u64).max();
        self.needs_first_pass() && most.zip(least).is_some_and(|(most, least)| most >= least)
    }

    /// Tests the latest pairs of some comparisons.
    fn push(&mut self, comparisons: &[usize]) {
        if self.tests.is_none() && self.should_test() {
            self.tests = Some(self.tests());
        } else if let Some(tests) = &mut self.tests {
            for comparison in comparisons.iter().copied() {
                let latest = self.recording.comparisons()[comparison].pairs.len() - 1;
                let (first, rows) = self.recording.pair(comparison, latest);
                tests.push_recorded(comparison, first, rows);
            }
        }
        self.closed = self.tests.as_ref().is_some_and(|tests| !tests.is_open());
    }
}

/// The side that came first in each of many pairs, if there is one: its order was not random.
fn always_first(RecordedPairs { pairs, .. }: &RecordedPairs) -> Option<Side> {
    let (first, _) = *pairs.first()?;
    (pairs.len() >= PAIRS_IN_ORDER && pairs.iter().all(|(other, _)| *other == first))
        .then_some(first)
}

impl RowSink for Labels {
    fn header(&mut self, metrics: &[String]) -> Result<Vec<bool>, Error> {
        // Negative values are rejected when the rows are analysed.
        Ok(vec![true; metrics.len()])
    }

    fn row(&mut self, label: &[u8], _: &[Option<f64>], line: u64) -> Result<Flow, Error> {
        self.number(label, line);
        self.check_number(0)?;
        Ok(Flow::Go)
    }
}

struct FileReading<'a, 'b> {
    analysis: &'a mut Analysis,
    file: &'a str,
    wait: &'a mut (dyn FnMut(&Analysis) -> Flow + 'b),
}

impl RowSink for FileReading<'_, '_> {
    fn header(&mut self, names: &[String]) -> Result<Vec<bool>, Error> {
        let analysis = &mut *self.analysis;
        let known = analysis.recording.metrics().len();
        let mut may_be_negative = analysis.recording.header(names)?;
        let metrics = analysis.recording.metrics();
        analysis.spec.let_stand_in(metrics);
        analysis.recording.labels.check_number(metrics.len())?;
        analysis.files = analysis.files.saturating_sub(1);
        let spec = &analysis.spec;
        let gates = spec.gates.iter().flatten().map(|gate| &gate.metric);
        let is_known = |name: &String| metrics.iter().any(|metric| metric.name == *name);
        let missing = gates.chain(&spec.named).find(|name| !is_known(name));
        if let Some(missing) = missing.filter(|_| analysis.files == 0) {
            return Err(no_metric(missing, metrics));
        }
        let logarithms = spec.policy.estimator.takes_logarithms();
        for (name, may_be_negative) in names.iter().zip(&mut may_be_negative) {
            *may_be_negative &= spec.gate(name).is_none() && !logarithms;
        }
        let knows_number = analysis.expected.is_some() || analysis.tests.is_some();
        if knows_number && metrics.len() > known {
            analysis.tests = Some(analysis.tests());
        }
        Ok(may_be_negative)
    }

    fn row(&mut self, label: &[u8], cells: &[Option<f64>], line: u64) -> Result<Flow, Error> {
        let Analysis { recording, tests, expected, .. } = &mut *self.analysis;
        let known = recording.comparisons().len();
        let is_open = |comparison| tests.as_ref().is_none_or(|of| of.is_group_open(comparison));
        let completed = recording.take(label, cells, line, is_open);
        recording.labels.check_number(recording.metrics().len())?;
        if recording.comparisons().len() > known && tests.is_some() && expected.is_none() {
            let (file, label) = (self.file, String::from_utf8_lossy(label));
            return Err(failure(
                format!(
                    "{file}, line {line}: the label `{label}` appears here for the first time, when \
                     a verdict was already possible"
                ),
                "the error rate is shared among all labels, so they must be known first: pass the \
                 samples as files",
            ));
        }
        if !completed.is_empty() {
            self.analysis.push(&completed);
        }
        Ok(if self.analysis.closed { Flow::Stop } else { Flow::Go })
    }

    fn wait(&mut self) -> Flow {
        (self.wait)(self.analysis)
    }
}
