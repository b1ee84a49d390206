//! Takes the rows of a file, header first.

use super::labels::Labels;
use super::rows::Taker;
use super::{Analysis, Error, Flow, Place, Spec};
use crate::model::estimator::Estimator;
use crate::model::metric::{Metric, Unit};

/// Looks for labels only.
pub(super) struct Scout<'a> {
    pub(super) spec: &'a Spec,
    pub(super) labels: Labels,
}

impl Taker for Scout<'_> {
    fn header(&mut self, metrics: &[String]) -> Result<Vec<bool>, Error> {
        // Told when the rows count.
        Ok(vec![true; metrics.len()])
    }

    fn row(&mut self, label: &[u8], _: &[Option<f64>], line: u64) -> Result<Flow, Error> {
        self.labels.number(label, self.spec, 0, line);
        self.labels.check_number(0)?;
        Ok(Flow::Go)
    }

    fn wait(&mut self) -> Flow {
        Flow::Go
    }
}

/// Reads one file.
pub(super) struct Reading<'a, 'b> {
    pub(super) analysis: &'a mut Analysis,
    pub(super) file: &'a str,
    pub(super) wait: &'a mut (dyn FnMut(&Analysis) -> Flow + 'b),
}

impl Taker for Reading<'_, '_> {
    fn header(&mut self, names: &[String]) -> Result<Vec<bool>, Error> {
        let Analysis { spec, files, metrics, labels, columns, values, levels, .. } =
            &mut *self.analysis;
        files.1 += 1;
        columns.clear();
        for name in names {
            let known = metrics.iter().position(|metric| metric.name == *name);
            columns.push(known.unwrap_or_else(|| {
                metrics.push(Metric::named(name).with(&spec.units));
                metrics.len() - 1
            }));
        }
        spec.stand_in(metrics);
        values.clear();
        values.resize(metrics.len(), None);
        labels.next_file(metrics.len());
        for couple in &mut labels.couples {
            couple.widen(spec, metrics, *levels);
        }
        let known = |name: &&String| metrics.iter().any(|metric| metric.name == **name);
        let gates = spec.gates.iter().flatten().map(|gate| &gate.metric);
        let missing = gates.chain(&spec.named).find(|name| !known(name));
        if let Some(missing) = missing.filter(|_| files.0 == files.1) {
            let metrics = metrics.iter().map(|metric| metric.name.clone()).collect();
            return Err(Error::NoMetric { metric: missing.clone(), metrics });
        }
        let logarithms = spec.estimator == Estimator::GeometricMean;
        let signed = |name: &String| {
            let free = Metric::named(name).unit == Unit::Unknown && spec.threshold(name).is_none();
            free && !logarithms
        };
        Ok(names.iter().map(signed).collect())
    }

    fn row(&mut self, label: &[u8], cells: &[Option<f64>], line: u64) -> Result<Flow, Error> {
        let analysis = &mut *self.analysis;
        let Analysis { spec, metrics, labels, columns, values, .. } = analysis;
        let (number, coupled) = labels.number(label, spec, metrics.len(), line);
        labels.check_number(metrics.len())?;
        if coupled {
            for couple in &mut labels.couples {
                couple.widen(spec, metrics, analysis.levels);
            }
            match analysis.levels {
                Some(levels) if analysis.expected.is_some() => {
                    labels.couples.iter_mut().for_each(|c| c.settle(spec, metrics, levels));
                }
                Some(_) => {
                    let place = Place { file: self.file.to_owned(), line };
                    let label = String::from_utf8_lossy(label).into_owned();
                    return Err(Error::Late { place, label });
                }
                None => {}
            }
        }
        for (column, cell) in columns.iter().zip(cells) {
            values[*column] = *cell;
        }
        let logarithms = spec.estimator == Estimator::GeometricMean;
        let paired = labels.take(number, values, line, logarithms);
        analysis.rows += 1;
        if paired && analysis.wants_scouting() {
            if analysis.levels.is_none() && analysis.is_due() {
                analysis.settle();
            }
            analysis.closed = analysis.is_closed();
            if analysis.closed {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Go)
    }

    fn wait(&mut self) -> Flow {
        (self.wait)(self.analysis)
    }
}
