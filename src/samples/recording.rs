//! Rows that are kept: for pictures, and for those who want every value.

use std::io::Read;

use super::labels::Labels;
use super::rows::{self, Taker};
use super::{Error, Flow, Spec};
use crate::model::estimator::Estimator;
use crate::model::metric::{Metric, Unit, Units};
use crate::model::side::{Pair, Side};

/// All rows of all labels, in memory: 8 bytes a value.
#[derive(Debug)]
pub struct Recording {
    /// Says which labels are compared.
    spec: Spec,
    metrics: Vec<Metric>,
    labels: Labels,
    /// Of each label, of each metric, the values in the order of its rows. NaN
    /// stands for none and never leaves this file.
    values: Vec<Vec<Vec<f64>>>,
    /// Of each label, its rows before the file that is being read.
    earlier: Vec<usize>,
    couples: Vec<Recorded>,
    /// Of the columns of the file that is being read, the metrics' numbers.
    columns: Vec<usize>,
}

/// Two labels that are compared.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The benchmark, as an analysis calls it.
    pub name: String,
    /// The numbers of the labels.
    pub labels: Pair<usize>,
    /// The pairs in their order: which side came first, and the rows of the
    /// labels. None where the rows do not pair throughout.
    pub pairs: Vec<(Side, Pair<usize>)>,
    half: Option<(Side, usize)>,
    parted: bool,
}

impl Recording {
    /// An empty one. Labels are compared as in an analysis: each with `base`
    /// where that is given. `units` are those that are not the usual ones.
    pub fn new(base: Option<String>, units: Units) -> Self {
        let spec = Spec {
            judges: false,
            gates: None,
            named: Vec::new(),
            confidence: 0.95,
            estimator: Estimator::Mean,
            chosen: false,
            base,
            units,
        };
        Recording {
            spec,
            metrics: Vec::new(),
            labels: Labels::default(),
            values: Vec::new(),
            earlier: Vec::new(),
            couples: Vec::new(),
            columns: Vec::new(),
        }
    }

    /// Keeps the rows of a file.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn read(&mut self, source: &mut dyn Read, name: &str) -> Result<(), Error> {
        rows::read(source, name, self).map(drop)
    }

    /// The metrics of the runs that follow. No pair reaches over that.
    pub fn begin(&mut self, metrics: impl IntoIterator<Item = Metric>) {
        self.columns.clear();
        for metric in metrics {
            let known = self.metrics.iter().position(|other| other.name == metric.name);
            self.columns.push(known.unwrap_or_else(|| {
                self.metrics.push(metric);
                self.metrics.len() - 1
            }));
        }
        for label in &mut self.values {
            let rows = label.first().map_or(0, Vec::len);
            label.resize_with(self.metrics.len(), || vec![f64::NAN; rows]);
        }
        self.earlier = self.values.iter().map(|label| label.first().map_or(0, Vec::len)).collect();
        for couple in &mut self.couples {
            couple.half = None;
        }
    }

    /// Keeps a run: its values, in the order of the metrics it began with.
    pub fn push(&mut self, label: &str, cells: &[Option<f64>]) {
        self.take(label.as_bytes(), cells);
    }

    fn take(&mut self, label: &[u8], cells: &[Option<f64>]) {
        let (number, coupled) = self.labels.number(label, &self.spec, 0, 0);
        if number == self.values.len() {
            self.values.push(vec![Vec::new(); self.metrics.len()]);
            self.earlier.push(0);
        }
        if coupled {
            self.enter_couples();
        }
        let row = self.values[number].first().map_or(0, Vec::len);
        for values in &mut self.values[number] {
            values.push(f64::NAN);
        }
        for (&column, cell) in self.columns.iter().zip(cells) {
            self.values[number][column][row] = cell.unwrap_or(f64::NAN);
        }
        for couple in &mut self.couples {
            let side = Side::BOTH.into_iter().find(|&side| couple.labels[side] == number);
            if let Some(side) = side {
                couple.take(side, row);
            }
        }
    }

    /// Enters the couples that a new label made.
    fn enter_couples(&mut self) {
        for couple in &self.labels.couples[self.couples.len()..] {
            let mut recorded = Recorded {
                name: couple.name.clone(),
                labels: couple.labels,
                pairs: Vec::new(),
                half: None,
                parted: false,
            };
            // What the earlier one had before the later one came.
            for side in Side::BOTH {
                let number = couple.labels[side];
                match self.values[number].first().map_or(0, Vec::len) {
                    0 => {}
                    1 if self.earlier[number] == 0 => recorded.half = Some((side, 0)),
                    _ => recorded.parted = true,
                }
            }
            self.couples.push(recorded);
        }
    }

    /// What was measured.
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// The labels, in the order in which they appeared.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.labels.all.iter().map(|label| label.name.as_str())
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.values.iter().map(|label| label.first().map_or(0, Vec::len) as u64).sum()
    }

    /// Whether the rows are those of another one, to the last digit, and that is
    /// no accident: not where each run of a label gives the same, as counts may.
    pub(crate) fn holds_the_rows_of(&self, other: &Self) -> bool {
        let varies =
            |values: &Vec<f64>| values.windows(2).any(|two| two[0].to_bits() != two[1].to_bits());
        if !self.values.iter().flatten().any(varies) {
            return false;
        }
        let bits = |recording: &Self| -> Vec<u64> {
            let values = recording.values.iter().flatten().flatten();
            values.map(|value| value.to_bits()).collect()
        };
        self.labels().eq(other.labels()) && bits(self) == bits(other)
    }

    /// The labels that are compared.
    pub fn couples(&self) -> &[Recorded] {
        &self.couples
    }

    /// The sides of a benchmark: the only ones, or those of that name.
    pub fn couple(&self, benchmark: &str) -> Option<&Recorded> {
        match self.couples.as_slice() {
            [only] => Some(only),
            several => several.iter().find(|couple| couple.name == benchmark),
        }
    }

    /// The values of a metric in the rows of a label.
    pub fn values(&self, label: usize, metric: &str) -> impl Iterator<Item = Option<f64>> {
        let column = self.metrics.iter().position(|known| known.name == metric);
        let values = column.and_then(|column| self.values.get(label)?.get(column));
        let values = values.map(Vec::as_slice).unwrap_or_default();
        values.iter().map(|&value| Some(value).filter(|value| !value.is_nan()))
    }

    /// The pairs of a metric, in their order, where both sides have a value:
    /// which side came first, and both values.
    pub fn pairs(
        &self,
        couple: &Recorded,
        metric: &str,
    ) -> impl Iterator<Item = (Side, Pair<f64>)> {
        let column = self.metrics.iter().position(|known| known.name == metric);
        let pairs = column.map_or(&[][..], |_| couple.pairs.as_slice());
        let labels = couple.labels;
        pairs.iter().filter_map(move |&(first, rows)| {
            let value = |side: Side| self.values[labels[side]][column.unwrap_or(0)][rows[side]];
            let pair = Pair::both(value);
            (!pair.base.is_nan() && !pair.head.is_nan()).then_some((first, pair))
        })
    }
}

impl Recorded {
    /// Whether all its rows pair.
    pub fn is_whole(&self) -> bool {
        !self.parted && self.half.is_none()
    }

    fn take(&mut self, side: Side, row: usize) {
        if self.parted {
            return;
        }
        match self.half.take() {
            None => self.half = Some((side, row)),
            Some((other, _)) if other == side => {
                self.parted = true;
                self.pairs = Vec::new();
            }
            Some((first, earlier)) => {
                let rows = match first {
                    Side::Base => Pair { base: earlier, head: row },
                    Side::Head => Pair { base: row, head: earlier },
                };
                self.pairs.push((first, rows));
            }
        }
    }
}

impl Taker for Recording {
    fn header(&mut self, metrics: &[String]) -> Result<Vec<bool>, Error> {
        let units = self.spec.units.clone();
        self.begin(metrics.iter().map(|name| Metric::named(name).with(&units)));
        Ok(metrics.iter().map(|name| Metric::named(name).unit == Unit::Unknown).collect())
    }

    fn row(&mut self, label: &[u8], values: &[Option<f64>], _: u64) -> Result<Flow, Error> {
        self.take(label, values);
        self.labels.check_number(self.metrics.len())?;
        Ok(Flow::Go)
    }

    fn wait(&mut self) -> Flow {
        Flow::Go
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
        let pairs = recording.pairs(&recording.couples()[0], metric);
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
    fn a_comparison_that_runs_gives_what_its_file_gives() {
        let mut live = Recording::new(None, Units::new());
        live.begin([Metric::named("t")]);
        for (label, value) in [("head", 2.0), ("base", 1.0)] {
            live.push(label, &[Some(value)]);
        }
        let read = recording(&["benchmark,t\nhead,2\nbase,1\n"]);
        assert_eq!(pairs(&live, "t"), pairs(&read, "t"));
        assert_eq!(live.couple("any").unwrap().labels, Pair { base: 1, head: 0 });
    }
}
