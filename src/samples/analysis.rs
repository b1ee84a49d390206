//! Reads rows, and returns an [`Outcome`] at any time.

use std::io::Read;

use super::comparison::LabelComparison;
use super::labels::{Labels, PairRole};
use super::rows::{self, RowSink};
use super::{Error, Flow, Position, Spec};
use crate::engine::family::{likeliest, step_down};
use crate::engine::remarks::remarks;
use crate::engine::test::MetricTest;
use crate::model::{
    BenchmarkResult, Estimator, Method, Metric, Notice, Outcome, Policy, Status, StoppedBy, Unit,
    Verdict,
};
use crate::stats::estimator::Levels;
use crate::stats::family::Family;
use crate::stats::moments::Moments;

/// The sums of one metric of one label.
#[derive(Clone, Copy, Debug)]
pub(super) struct MetricSums {
    /// Of the values, or of their logarithms if these are needed.
    pub(super) moments: Moments,
    pub(super) least: f64,
    /// Whether a value has no logarithm although logarithms are needed.
    pub(super) undefined: bool,
}

impl MetricSums {
    fn new() -> Self {
        MetricSums { moments: Moments::default(), least: f64::INFINITY, undefined: false }
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

    pub(super) fn estimate(&self, estimator: Estimator) -> Option<f64> {
        match estimator {
            Estimator::Min => Some(self.least).filter(|least| least.is_finite()),
            // A zero makes the geometric mean zero.
            Estimator::GeometricMean if self.undefined => Some(0.0),
            Estimator::GeometricMean => self.moments.mean().map(f64::exp),
            _ => self.moments.mean(),
        }
    }
}

/// The statistics of the rows of one label.
#[derive(Clone, Debug)]
struct LabelSums {
    /// For each metric.
    sums: Vec<MetricSums>,
    first: Vec<Option<f64>>,
}

/// The state of an analysis while rows are read.
#[derive(Debug)]
pub struct Analysis {
    spec: Spec,
    files: usize,
    /// The number of files begun so far.
    begun: usize,
    metrics: Vec<Metric>,
    labels: Labels,
    /// For each label, by its number.
    sums: Vec<LabelSums>,
    /// For each two labels that are compared, in the order of `labels.pairs`.
    comparisons: Vec<LabelComparison>,
    /// The tests, once their number is known.
    family: Option<Family>,
    /// The number of comparisons, if known beforehand.
    expected: Option<usize>,
    rows: u64,
    /// The numbers of the metrics in the columns of the current file.
    columns: Vec<usize>,
    /// The current row, in the order of the metrics.
    values: Vec<Option<f64>>,
    /// Whether every test is decided.
    closed: bool,
}

impl Analysis {
    /// A new analysis of `files` files.
    pub fn new(spec: Spec, files: usize) -> Self {
        Analysis {
            labels: Labels::new(spec.base.clone()),
            spec,
            files,
            begun: 0,
            metrics: Vec::new(),
            sums: Vec::new(),
            comparisons: Vec::new(),
            family: None,
            expected: None,
            rows: 0,
            columns: Vec::new(),
            values: Vec::new(),
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
    /// See [`Error`].
    pub fn first_pass<'a, R: Read>(
        &mut self,
        files: impl Iterator<Item = (&'a str, R)>,
    ) -> Result<(), Error> {
        let mut labels = Labels::new(self.spec.base.clone());
        for (name, mut file) in files {
            rows::read(&mut file, name, &mut labels)?;
        }
        let comparisons = labels.pairs.len();
        self.family = Some(self.family_of(comparisons));
        self.expected = Some(comparisons);
        Ok(())
    }

    /// Reads one file. `wait` is called before each read, which may take long, and
    /// returns whether to continue.
    ///
    /// # Errors
    /// See [`Error`].
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
        let names = || self.labels.names().map(str::to_owned).collect();
        if self.rows == 0 {
            return Err(Error::NoRow);
        }
        if let Some(base) = &self.spec.base
            && self.labels.names().all(|label| label != base)
        {
            return Err(Error::NoBase { base: base.clone(), labels: names() });
        }
        // After the named base, whose absence explains more.
        if let [only] = self.labels.all.as_slice() {
            return Err(Error::OneLabel(only.name.clone()));
        }
        if self.comparisons.is_empty() {
            return Err(Error::NoPair(names()));
        }
        for (number, metric) in self.metrics.iter().enumerate() {
            let labels = self.labels.all.iter().zip(&self.sums);
            let mut compared = labels.filter(|(label, _)| !label.pairs.is_empty());
            let lacking = compared.find(|(_, sums)| sums.sums[number].least == f64::INFINITY);
            if let Some((label, _)) = lacking.filter(|_| self.spec.gate(&metric.name).is_some()) {
                let (label, metric) = (label.name.clone(), metric.name.clone());
                return Err(Error::NoValue { label, metric });
            }
        }
        match self.labels.pairs.iter().find(|pair| pair.broken.is_some()) {
            Some(pair) if self.spec.chosen && self.spec.needs_pairs() => Err(Error::NeedsPairs {
                estimator: self.spec.policy.estimator,
                why: format!("the rows of {} do not form pairs", pair.name),
            }),
            _ => Ok(()),
        }
    }

    /// The result of the rows so far.
    pub fn outcome(&self, stopped_by: StoppedBy) -> Outcome {
        let levels = self.family_of(self.expected.unwrap_or(self.comparisons.len())).levels();
        let mut benchmarks: Vec<BenchmarkResult> =
            (0..self.comparisons.len()).map(|number| self.result(number, levels)).collect();
        for (name, needed) in &self.spec.not_measured {
            benchmarks.push(BenchmarkResult::not_measured(name, *needed));
        }
        let likely_slower = self.likely_slower();
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
            rows: Some(self.rows),
            ..Outcome::default()
        }
    }

    /// The result of two labels: for all metrics, or, if nothing gates, for those that
    /// were named.
    fn result(&self, number: usize, levels: Levels) -> BenchmarkResult {
        let (pair, comparison) = (&self.labels.pairs[number], &self.comparisons[number]);
        let sums = pair.labels.map(|label| self.sums[label].sums.as_slice());
        let mut metrics = comparison.results(&self.spec, &self.metrics, levels, sums);
        let named = &self.spec.named;
        if self.spec.gates.is_none() && !named.is_empty() {
            metrics.retain(|metric| named.contains(&metric.name));
        }
        BenchmarkResult {
            pairs: comparison.pairs,
            labels: Some(pair.labels.map(|label| self.labels.all[label].name.clone())),
            method: Some(comparison.method(&self.spec)),
            metrics,
            ..BenchmarkResult::new(&pair.name, Status::Compared)
        }
    }

    fn notices(&self, benchmarks: &[BenchmarkResult]) -> Vec<Notice> {
        let mut notices = Vec::new();
        let alone = self.labels.unpaired();
        notices.extend(alone.map(|label| Notice::Alone { label: label.to_owned() }));
        if self.needs_first_pass() {
            notices.extend(self.labels.pairs.iter().filter_map(|pair| {
                Some(Notice::Unpaired { line: pair.broken?, benchmark: pair.name.clone() })
            }));
            let pairs = self.labels.pairs.iter().zip(&self.comparisons);
            notices.extend(pairs.filter_map(|(pair, comparison)| {
                let first = &self.labels.all[pair.labels[comparison.always_first()?]];
                let (benchmark, first) = (pair.name.clone(), first.name.clone());
                Some(Notice::FixedOrder { benchmark, first, pairs: comparison.pairs })
            }));
        }
        notices.extend(remarks(benchmarks));
        let one_look = [Some(Method::Paired), Some(Method::Welch)];
        if benchmarks.iter().any(|benchmark| one_look.contains(&benchmark.method)) {
            notices.push(Notice::OneLook);
        }
        notices
    }

    /// The tests of this many comparisons.
    fn family_of(&self, comparisons: usize) -> Family {
        let gates = self.spec.gates.as_ref().map_or(0, Vec::len);
        Family::new(self.spec.policy.confidence, gates * comparisons)
    }

    /// See [`Outcome::likely_slower`].
    fn likely_slower(&self) -> Option<String> {
        let tests =
            self.labels.pairs.iter().zip(&self.comparisons).flat_map(|(pair, comparison)| {
                comparison.tests().iter().map(|test| (pair.name.as_str(), test))
            });
        likeliest(self.family.as_ref()?, tests).map(str::to_owned)
    }

    /// Updates the tests after a pair of comparison `number`, whose evidence was `before`.
    fn weigh(&mut self, number: usize, before: f64) {
        let Some(family) = &mut self.family else { return };
        family.weigh(before, self.comparisons[number].evidence());
        // Only then can the number of regressions have grown, and there may be many tests.
        if self.comparisons[number].tests().iter().any(MetricTest::is_regression) {
            let tests = self.comparisons.iter_mut().flat_map(LabelComparison::tests_mut);
            step_down(family, &mut tests.collect::<Vec<_>>());
        }
    }

    /// Adds the comparisons of a new label.
    fn add_comparisons(&mut self, label: &[u8], place: impl Fn() -> Position) -> Result<(), Error> {
        if self.family.is_some() && self.expected.is_none() {
            let label = String::from_utf8_lossy(label).into_owned();
            return Err(Error::Late { place: place(), label });
        }
        for pair in &self.labels.pairs[self.comparisons.len()..] {
            let half = pair.half.map(|side| self.sums[pair.labels[side]].first.clone());
            self.comparisons.push(LabelComparison::new(
                &self.spec,
                &self.metrics,
                self.family.as_ref().map(Family::levels),
                half.unwrap_or_default(),
                pair.broken.is_some(),
            ));
            if let (Some(family), Some(new)) = (&mut self.family, self.comparisons.last()) {
                family.weigh(0.0, new.evidence());
            }
        }
        Ok(())
    }

    fn take(&mut self, number: usize, line: u64) {
        let logarithms = self.spec.policy.estimator.takes_logarithms();
        let label = &mut self.sums[number];
        if self.labels.count(number) {
            label.first.clone_from(&self.values);
        }
        for (sums, value) in label.sums.iter_mut().zip(&self.values) {
            if let Some(value) = value {
                sums.push(*value, logarithms);
            }
        }
        self.rows += 1;
        let mut taken = Vec::new();
        for &(pair, side) in &self.labels.all[number].pairs {
            let comparison = &mut self.comparisons[pair];
            if !comparison.takes_pairs() {
                continue;
            }
            match self.labels.pairs[pair].take(side, line) {
                PairRole::First => comparison.take_first(&self.values),
                PairRole::Second(first) => {
                    let before = comparison.evidence();
                    comparison.take_second(first, &self.values);
                    taken.push((pair, before));
                }
                PairRole::Unpaired => comparison.give_up_pairs(),
            }
        }
        // Without a first pass, pairs are kept until the first verdict is possible: as late as
        // possible, so that as many labels as possible have appeared and share the error.
        if !taken.is_empty() && self.needs_first_pass() {
            if self.family.is_none() && self.should_test() {
                self.finish_family();
            } else {
                taken.into_iter().for_each(|(number, before)| self.weigh(number, before));
            }
            self.closed = self.is_closed();
        }
    }

    /// Fixes the error probabilities, now that a verdict is possible.
    fn finish_family(&mut self) {
        let mut family = self.family_of(self.comparisons.len());
        let levels = family.levels();
        for comparison in &mut self.comparisons {
            comparison.begin_tests(&self.spec, &self.metrics, levels);
            family.weigh(0.0, comparison.evidence());
        }
        let tests = self.comparisons.iter_mut().flat_map(LabelComparison::tests_mut);
        step_down(&mut family, &mut tests.collect::<Vec<_>>());
        self.family = Some(family);
    }

    /// Whether every test is decided and no more tests can be added.
    fn is_closed(&self) -> bool {
        let complete = self.expected.is_none_or(|number| number == self.comparisons.len());
        complete && self.family.is_some() && !self.comparisons.iter().any(LabelComparison::is_open)
    }

    /// Whether a verdict is possible with the pairs that are kept.
    fn should_test(&self) -> bool {
        let Policy { estimator, confidence, .. } = self.spec.policy;
        let least = estimator.least_pairs(Levels::new(confidence, 1));
        let most = self.comparisons.iter().map(LabelComparison::waiting).max();
        most.zip(least).is_some_and(|(most, least)| most >= least)
    }
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
        let Analysis { spec, metrics, labels, sums, comparisons, columns, family, .. } =
            &mut *self.analysis;
        *columns =
            rows::columns(metrics, names.iter().map(|name| Metric::named(name).with(&spec.units)));
        spec.let_stand_in(metrics);
        labels.check_number(metrics.len())?;
        labels.next_file();
        sums.iter_mut().for_each(|label| label.sums.resize(metrics.len(), MetricSums::new()));
        let levels = family.as_ref().map(Family::levels);
        for comparison in comparisons {
            let before = comparison.evidence();
            comparison.widen(spec, metrics, levels);
            if let Some(family) = family {
                family.weigh(before, comparison.evidence());
            }
        }
        self.analysis.values = vec![None; metrics.len()];
        self.analysis.begun += 1;
        let Analysis { spec, metrics, files, begun, .. } = &*self.analysis;
        let gates = spec.gates.iter().flatten().map(|gate| &gate.metric);
        let is_known = |name: &String| metrics.iter().any(|metric| metric.name == *name);
        let missing = gates.chain(&spec.named).find(|name| !is_known(name));
        if let Some(missing) = missing.filter(|_| files == begun) {
            let metrics = metrics.iter().map(|metric| metric.name.clone()).collect();
            return Err(Error::NoMetric { metric: missing.clone(), metrics });
        }
        let logarithms = spec.policy.estimator.takes_logarithms();
        let may_be_negative = |name: &String| {
            Metric::named(name).unit == Unit::Unknown && spec.gate(name).is_none() && !logarithms
        };
        Ok(names.iter().map(may_be_negative).collect())
    }

    fn row(&mut self, label: &[u8], cells: &[Option<f64>], line: u64) -> Result<Flow, Error> {
        let analysis = &mut *self.analysis;
        let number = analysis.labels.number(label, line);
        if number == analysis.sums.len() {
            analysis.labels.check_number(analysis.metrics.len())?;
            let sums = vec![MetricSums::new(); analysis.metrics.len()];
            analysis.sums.push(LabelSums { sums, first: Vec::new() });
            if analysis.labels.pairs.len() > analysis.comparisons.len() {
                analysis
                    .add_comparisons(label, || Position { file: self.file.to_owned(), line })?;
            }
        }
        for (column, cell) in analysis.columns.iter().zip(cells) {
            analysis.values[*column] = *cell;
        }
        analysis.take(number, line);
        Ok(if analysis.closed { Flow::Stop } else { Flow::Go })
    }

    fn wait(&mut self) -> Flow {
        (self.wait)(self.analysis)
    }
}
