//! Rows as CSV, as `analyze` reads them: a label, and a column for each metric.

use std::io;

use crate::engine::plan::Plan;
use crate::model::row::{MetricId, Row};

/// The label of a row: its side, after the name of its benchmark unless it is the only one.
pub fn label(plan: &Plan, row: &Row, is_only: bool) -> String {
    match is_only {
        true => row.side.name().to_owned(),
        false => format!("{}/{}", plan.benchmarks[row.benchmark.0].name, row.side),
    }
}

/// The values of a row, by the columns of its plan.
pub fn cells(plan: &Plan, row: &Row) -> Vec<Option<f64>> {
    (0..plan.metrics.len()).map(|column| row.get(MetricId(column))).collect()
}

/// Collects CSV until it is taken out.
#[derive(Debug)]
pub struct CsvText {
    writer: csv::Writer<Vec<u8>>,
}

impl Default for CsvText {
    fn default() -> Self {
        CsvText { writer: csv::Writer::from_writer(Vec::new()) }
    }
}

impl CsvText {
    /// Adds the line with the names of the columns.
    ///
    /// # Errors
    /// None that are known: it writes to memory.
    pub fn header<'a>(&mut self, metrics: impl IntoIterator<Item = &'a str>) -> io::Result<()> {
        Ok(self.writer.write_record(std::iter::once("benchmark").chain(metrics))?)
    }

    /// Adds a row; a missing value becomes an empty cell.
    ///
    /// # Errors
    /// If its number of cells differs from that of the header.
    pub fn row(
        &mut self,
        label: &str,
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> io::Result<()> {
        self.writer.write_field(label)?;
        for value in values {
            self.writer.write_field(value.map_or(String::new(), |value| value.to_string()))?;
        }
        Ok(self.writer.write_record(None::<&[u8]>)?)
    }

    /// Takes out what was added since the last time.
    ///
    /// # Errors
    /// None that are known: it writes to memory.
    pub fn take(&mut self) -> io::Result<Vec<u8>> {
        std::mem::take(self).writer.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}
