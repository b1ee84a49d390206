//! All rows, kept for charts and for exports of every value.

use std::io::Read;

use super::error::{failure, no_rows};
use super::labels::{Labels, RecordedPairs, side_of};
use super::rows::{self, Flow, RowSink, columns};
use crate::error::Error;
use crate::model::{BenchmarkId, Metric, MetricId, Pair, Row, Side, Unit, Units};
use crate::settings::error::instead_of;

/// All rows of all labels, in memory: 8 bytes per value.
#[derive(Debug, Default)]
pub struct Recording {
    units: Units,
    pub(super) metrics: Vec<Metric>,
    pub(super) labels: Labels,
    /// For each label and metric, the values in the order of the label's rows. NaN
    /// is an empty cell, and never leaves [`samples`](super).
    pub(super) values: Vec<Vec<Vec<f64>>>,
    /// The numbers of the metrics in the columns of the current file.
    columns: Vec<usize>,
}

impl Recording {
    /// An empty recording. Labels are compared as in an analysis: each with `base`
    /// if given. `units` are those that differ from the defaults.
    pub fn new(base: Option<String>, units: Units) -> Self {
        Recording { units, labels: Labels::new(base), ..Recording::default() }
    }

    /// Adds the rows of a file.
    ///
    /// # Errors
    /// If it can't be read, or is not CSV as it is documented.
    pub fn read(&mut self, source: &mut dyn Read, name: &str) -> Result<(), Error> {
        rows::read(source, name, self).map(drop)
    }

    /// Checks that there are rows, and that one has the label of the base.
    ///
    /// # Errors
    /// If there are none.
    pub fn check_labels(&self) -> Result<(), Error> {
        let labels = &self.labels;
        if labels.all.is_empty() {
            return Err(no_rows("there are no rows, only the header"));
        }
        match &labels.base {
            Some(base) if labels.names().all(|label| label != base) => {
                let hint = instead_of(base, labels.names(), "available:");
                Err(failure(format!("no row has the label `{base}`"), hint))
            }
            _ => Ok(()),
        }
    }

    /// Sets the metrics of the following runs. No pairs are formed across this.
    pub fn begin(&mut self, metrics: impl IntoIterator<Item = Metric>) {
        self.columns = columns(&mut self.metrics, metrics.into_iter());
        for label in &mut self.values {
            let rows = rows_of(label);
            label.resize_with(self.metrics.len(), || vec![f64::NAN; rows]);
        }
        self.labels.next_file();
    }

    /// Adds a run: its values, in the order of the metrics given to `begin`.
    pub fn push(&mut self, label: &str, cells: &[Option<f64>]) {
        self.take(label.as_bytes(), cells, 0, |_| true);
    }

    /// Adds a row, and returns of which comparisons it completes a pair. It belongs to no pair of
    /// those that are not open any more.
    pub(super) fn take(
        &mut self,
        label: &[u8],
        cells: &[Option<f64>],
        line: u64,
        is_open: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let number = self.labels.number(label, line);
        if number == self.values.len() {
            self.values.push(vec![Vec::new(); self.metrics.len()]);
        }
        let values = &mut self.values[number];
        let row = rows_of(values);
        values.iter_mut().for_each(|values| values.push(f64::NAN));
        for (&column, cell) in self.columns.iter().zip(cells) {
            values[column][row] = cell.unwrap_or(f64::NAN);
        }
        self.labels.count(number);
        let mut completed = Vec::new();
        for &(pair, side) in &self.labels.all[number].pairs {
            if is_open(pair) && self.labels.pairs[pair].take(side, row, line) {
                completed.push(pair);
            }
        }
        completed
    }

    /// The metrics.
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// The labels, in the order in which they appeared.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.labels.names()
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> u64 {
        self.values.iter().map(|label| rows_of(label) as u64).sum()
    }

    /// Whether the rows equal those of another recording to the last digit. Rows
    /// without a metric that varies, such as counts, may be equal by accident and
    /// don't count.
    pub(crate) fn holds_the_rows_of(&self, other: &Self) -> bool {
        let varies =
            |values: &Vec<f64>| values.windows(2).any(|two| two[0].to_bits() != two[1].to_bits());
        if !self.values.iter().flatten().any(varies) {
            return false;
        }
        let bits = |recording: &Self| -> Vec<u64> {
            recording.values.iter().flatten().flatten().map(|value| value.to_bits()).collect()
        };
        self.labels().eq(other.labels()) && bits(self) == bits(other)
    }

    /// The pairs of the labels that are compared.
    pub fn comparisons(&self) -> &[RecordedPairs] {
        &self.labels.pairs
    }

    /// The first benchmark with a row that belongs to no pair.
    pub(crate) fn unpaired(&self) -> Option<&str> {
        let pair = self.labels.pairs.iter().find(|pair| !pair.is_whole())?;
        Some(&pair.name)
    }

    /// The pairs of a benchmark: those of this name, or the only ones if their labels name none.
    pub fn comparison(&self, benchmark: &str) -> Option<&RecordedPairs> {
        let is_it = |one: &&RecordedPairs| match self.comparisons().len() {
            1 if side_of(&self.labels.all[one.labels.head].name).is_none() => true,
            _ => one.name == benchmark,
        };
        self.comparisons().iter().find(is_it)
    }

    /// A pair of a comparison: which side came first, and both rows, with the metrics and the
    /// comparisons by their numbers.
    pub(super) fn pair(&self, comparison: usize, pair: usize) -> (Side, [Row; 2]) {
        let RecordedPairs { labels, pairs, .. } = &self.labels.pairs[comparison];
        let (first, rows) = pairs[pair];
        let row = |side| {
            let values = self.values[labels[side]].iter().enumerate();
            let values = values.map(|(metric, values)| (MetricId(metric), values[rows[side]]));
            let values = values.filter(|(_, value)| !value.is_nan()).collect();
            Row { benchmark: BenchmarkId(comparison), side, values }
        };
        (first, Side::BOTH.map(row))
    }

    /// The values of a metric in the rows of a label.
    pub fn values(&self, label: usize, metric: &str) -> impl Iterator<Item = Option<f64>> {
        let column = self.metrics.iter().position(|known| known.name == metric);
        let values = column.and_then(|column| self.values.get(label)?.get(column));
        let values = values.map(Vec::as_slice).unwrap_or_default();
        values.iter().map(|&value| Some(value).filter(|value| !value.is_nan()))
    }

    /// The pairs of a metric in which both sides have a value, in order: which
    /// side came first, and both values.
    pub fn pairs(
        &self,
        comparison: &RecordedPairs,
        metric: &str,
    ) -> impl Iterator<Item = (Side, Pair<f64>)> {
        let column = self.metrics.iter().position(|known| known.name == metric);
        let pairs = column.map_or(&[][..], |_| comparison.pairs.as_slice());
        let labels = comparison.labels;
        pairs.iter().filter_map(move |&(first, rows)| {
            let value = |side: Side| self.values[labels[side]][column.unwrap_or(0)][rows[side]];
            let pair = Pair::both(value);
            (!pair.base.is_nan() && !pair.head.is_nan()).then_some((first, pair))
        })
    }
}

/// How many rows a label has.
fn rows_of(label: &[Vec<f64>]) -> usize {
    label.first().map_or(0, Vec::len)
}

impl RowSink for Recording {
    fn header(&mut self, metrics: &[String]) -> Result<Vec<bool>, Error> {
        let units = self.units.clone();
        self.begin(metrics.iter().map(|name| Metric::named(name).with(&units)));
        Ok(metrics.iter().map(|name| Metric::named(name).unit == Unit::Unknown).collect())
    }

    fn row(&mut self, label: &[u8], values: &[Option<f64>], line: u64) -> Result<Flow, Error> {
        self.take(label, values, line, |_| true);
        self.labels.check_number(self.metrics.len())?;
        Ok(Flow::Go)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(files: &[&str]) -> Recording {
        let mut recording = Recording::new(None, Units::new());
        for text in files {
            recording.read(&mut text.as_bytes(), "it").unwrap();
        }
        recording
    }

    fn pairs(recording: &Recording, metric: &str) -> Vec<(Side, f64, f64)> {
        let pairs = recording.pairs(&recording.comparisons()[0], metric);
        pairs.map(|(first, pair)| (first, pair.base, pair.head)).collect()
    }

    #[test]
    fn pairs_keep_their_order_and_who_came_first() {
        let recording =
            recording(&["benchmark,t,u\nbase,1,7\nhead,2,\nhead,4,8\nbase,3,9\nbase,5,1\n"]);
        assert_eq!(pairs(&recording, "t"), [(Side::Base, 1.0, 2.0), (Side::Head, 3.0, 4.0)]);
        assert_eq!(pairs(&recording, "u"), [(Side::Head, 9.0, 8.0)]);
        assert_eq!(pairs(&recording, "v"), []);
        let values: Vec<_> = recording.values(1, "u").collect();
        assert_eq!(values, [None, Some(8.0)]);
    }

    #[test]
    fn rows_that_do_not_pair_are_values_all_the_same() {
        let recording = recording(&["benchmark,t\nbase,1\nbase,2\nhead,2\nhead,3\n"]);
        assert_eq!(pairs(&recording, "t"), []);
        assert_eq!(recording.values(0, "t").count(), 2);
    }

    #[test]
    fn no_pair_reaches_over_two_files() {
        let recording = recording(&[
            "benchmark,t\nbase,1\nhead,2\nbase,9\n",
            "benchmark,u,t\nhead,0,4\nbase,0,3\n",
        ]);
        assert_eq!(pairs(&recording, "t"), [(Side::Base, 1.0, 2.0), (Side::Head, 3.0, 4.0)]);
        let values: Vec<_> = recording.values(0, "u").collect();
        assert_eq!(values, [None, None, Some(0.0)]);
    }

    #[test]
    fn the_only_pairs_are_not_those_of_another_benchmark_than_their_labels_name() {
        let recording = recording(&["benchmark,t\na/base,1\na/head,2\n"]);
        assert!(recording.comparison("a").is_some());
        assert!(recording.comparison("b").is_none());
    }

    #[test]
    fn a_comparison_that_runs_gives_what_its_file_gives() {
        let mut live = Recording::new(None, Units::new());
        live.begin([Metric::named("t")]);
        for (label, value) in [("head", 2.0), ("base", 1.0)] {
            live.push(label, &[Some(value)]);
        }
        let read = recording(&["benchmark,t\nhead,2\nbase,1\n"]);
        assert_eq!(pairs(&live, "t"), pairs(&read, "t"));
        assert_eq!(live.comparison("any").unwrap().labels, Pair { base: 1, head: 0 });
    }
}
