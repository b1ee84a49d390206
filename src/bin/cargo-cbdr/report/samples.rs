//! The samples: a row for each measured run, on disk as soon as its pair is
//! complete. The last comparison's are always kept, in the repository's part
//! of the cache; `--samples` keeps them where the user wants.

use std::io;
use std::path::{Path, PathBuf};

use cargo_cbdr::exec::process::Interrupt;
use cargo_cbdr::flows::event::Event;
use cargo_cbdr::model::outcome::StoppedBy;
use cargo_cbdr::model::row::Sample;
use cargo_cbdr::{Report, workspace};

use super::about::About;
use crate::output;
use crate::ui::Failure;

/// The name of the file in the repository's part of the cache.
const KEPT: &str = "samples.csv";

/// The files that are being written.
pub(crate) struct File<'a> {
    /// That of the user, if one is wanted.
    wanted: Option<output::Rows>,
    /// The one in the cache.
    kept: Option<output::Rows>,
    rows: Rows,
    count: u64,
    interrupt: &'a Interrupt,
}

/// The names of the columns.
fn header(metrics: &[String]) -> Vec<String> {
    std::iter::once("benchmark".to_owned()).chain(metrics.iter().cloned()).collect()
}

/// The cells of a run.
fn row(metrics: &[String], label: &str, sample: &Sample) -> Vec<String> {
    let value =
        |metric: &String| sample.get(metric).map_or(String::new(), |value| value.to_string());
    std::iter::once(label.to_owned()).chain(metrics.iter().map(value)).collect()
}

/// The rows as text, taken away whenever somebody wants them.
pub(crate) struct Rows {
    metrics: Vec<String>,
    writer: csv::Writer<Vec<u8>>,
}

impl Rows {
    pub(crate) fn new() -> Self {
        Rows { metrics: Vec::new(), writer: csv::Writer::from_writer(Vec::new()) }
    }

    /// Adds what an event brings.
    pub(crate) fn take(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Rounds { metrics, .. } => self.begin(metrics),
            Event::Run { label, sample } => self.add(label, sample),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, metrics: &[String]) -> io::Result<()> {
        self.metrics = metrics.to_vec();
        Ok(self.writer.write_record(header(metrics))?)
    }

    fn add(&mut self, label: &str, sample: &Sample) -> io::Result<()> {
        Ok(self.writer.write_record(row(&self.metrics, label, sample))?)
    }

    /// The rows since the last time.
    pub(crate) fn drain(&mut self) -> io::Result<Vec<u8>> {
        let next = csv::Writer::from_writer(Vec::new());
        let writer = std::mem::replace(&mut self.writer, next);
        writer.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}

impl<'a> File<'a> {
    /// Makes sure that the file that the user wants, if any, can be written:
    /// before anything is built, so that a bad path costs nobody a measurement.
    pub(crate) fn new(wanted: Option<&Path>, interrupt: &'a Interrupt) -> Result<Self, Failure> {
        let wanted = wanted.map(|path| output::Rows::new(path, interrupt)).transpose()?;
        Ok(File { wanted, kept: None, rows: Rows::new(), count: 0, interrupt })
    }

    /// Writes what an event brings. A file that can't be written is given up,
    /// and the other is not.
    pub(crate) fn take(&mut self, event: &Event<'_>) -> Result<(), Failure> {
        match event {
            Event::Workspace(workspace::Event::Prepared { cache, .. }) => {
                self.kept = Some(output::Rows::new(&cache.join(KEPT), self.interrupt)?);
            }
            // The header waits for the first row.
            Event::Sampling { metrics, .. } => self.rows.begin(metrics)?,
            Event::Run { label, sample } => {
                self.rows.add(label, sample)?;
                self.count += 1;
            }
            // Whole pairs only: they wait here until one is complete.
            Event::Pair(_) => return Ok(self.write()?),
            _ => {}
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let rows = self.rows.drain()?;
        let [wanted, kept] = [&mut self.wanted, &mut self.kept]
            .map(|file| file.as_mut().map_or(Ok(()), |file| file.push(&rows)));
        wanted.and(kept)
    }

    /// Puts the rows of a comparison that is over in their place, with what it
    /// was beside those that the user wanted. Rows that are not all there, of a
    /// comparison that was stopped or failed or of a file that could not be
    /// written, stay where they are; where those are that the user wanted.
    pub(crate) fn end(mut self, report: Option<&Report>) -> io::Result<Option<PathBuf>> {
        let is_over = report.is_some_and(|of| of.sampled.stopped_by != StoppedBy::Interrupt);
        // The header, where there is no row.
        let written = if is_over { self.write() } else { Ok(()) };
        let about = report.map(|report| About::of(report, self.count).text()).transpose()?;
        let end = |file: Option<output::Rows>, about: Option<&str>| match file {
            None => Ok(None),
            Some(file) if is_over && !file.has_failed() => file.finish(about).map(|()| None),
            Some(file) => file.keep(about),
        };
        let wanted = end(self.wanted, about.as_deref());
        let kept = end(self.kept, None);
        written.and(kept).and(wanted)
    }
}
