//! Writing samples: a row for each measured run, on disk as soon as its pair is
//! complete. Those of the last comparison are always kept in the repository's part
//! of the cache; `--samples` keeps them where the user wants.

use std::io;
use std::iter::once;
use std::path::{Path, PathBuf};

use cargo_cbdr::exec::process::Interrupt;
use cargo_cbdr::flows::event::Event;
use cargo_cbdr::model::outcome::StoppedBy;
use cargo_cbdr::samples::Companion;
use cargo_cbdr::{Compared, workspace};

use crate::output::RowsFile;
use crate::ui::{Failure, notices};

/// The name of the file in the repository's part of the cache.
const KEPT: &str = "samples.csv";

/// Rows as CSV, until they are drained.
pub(crate) struct CsvRows {
    metrics: Vec<String>,
    writer: csv::Writer<Vec<u8>>,
}

impl CsvRows {
    pub(crate) fn new() -> Self {
        CsvRows { metrics: Vec::new(), writer: csv::Writer::from_writer(Vec::new()) }
    }

    /// Adds the header or the row that an event brings.
    pub(crate) fn take(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Rounds { metrics, .. } | Event::Sampling { metrics, .. } => {
                self.metrics = metrics.to_vec();
                let names = metrics.iter().map(String::as_str);
                Ok(self.writer.write_record(once("benchmark").chain(names))?)
            }
            Event::Run { label, sample } => {
                let value = |metric| sample.get(metric).map(|value| value.to_string());
                let values = self.metrics.iter().map(|metric| value(metric).unwrap_or_default());
                Ok(self.writer.write_record(once((*label).to_owned()).chain(values))?)
            }
            _ => Ok(()),
        }
    }

    /// Takes the rows since the last time.
    pub(crate) fn drain(&mut self) -> io::Result<Vec<u8>> {
        let next = csv::Writer::from_writer(Vec::new());
        let writer = std::mem::replace(&mut self.writer, next);
        writer.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}

/// The files with the samples of a comparison.
pub(crate) struct SamplesFiles<'a> {
    /// The file of `--samples`.
    wanted: Option<RowsFile>,
    /// The file in the cache.
    kept: Option<RowsFile>,
    rows: CsvRows,
    /// How many rows there are.
    count: u64,
    /// The first failure.
    written: Result<(), Failure>,
    interrupt: &'a Interrupt,
}

impl<'a> SamplesFiles<'a> {
    /// Checks that the file of `--samples` can be written, before anything is built, so
    /// that a bad path costs no measurement.
    pub(crate) fn new(wanted: Option<&Path>, interrupt: &'a Interrupt) -> Result<Self, Failure> {
        let wanted = wanted.map(|path| RowsFile::new(path, interrupt)).transpose()?;
        let (rows, written) = (CsvRows::new(), Ok(()));
        Ok(SamplesFiles { wanted, kept: None, rows, count: 0, written, interrupt })
    }

    /// Writes what an event brings. When one file can't be written, the other one is
    /// written on.
    pub(crate) fn take(&mut self, event: &Event<'_>) {
        let taken = self.try_take(event);
        if self.written.is_ok() {
            self.written = taken;
        }
    }

    fn try_take(&mut self, event: &Event<'_>) -> Result<(), Failure> {
        self.rows.take(event)?;
        match event {
            Event::Workspace(workspace::Event::Prepared { room, .. }) => {
                self.kept = Some(RowsFile::new(&room.join(KEPT), self.interrupt)?);
            }
            Event::Run { .. } => self.count += 1,
            // Rows, and the header, wait until a pair is complete.
            Event::Pair(_) => self.write()?,
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

    /// Puts the rows of a finished comparison in their place, and the companion beside
    /// the file of `--samples`. Rows stay where they are if some are missing: because the
    /// comparison was stopped or failed, or because they could not be written. Returns
    /// where those of `--samples` then are, and whether everything could be written.
    pub(crate) fn end(
        mut self,
        compared: Option<&Compared>,
    ) -> (Option<PathBuf>, Result<(), Failure>) {
        let ended = self.try_end(compared);
        let (left, ended) = match ended {
            Ok(left) => (left, Ok(())),
            Err(error) => (None, Err(Failure::from(error))),
        };
        (left, self.written.and(ended))
    }

    fn try_end(&mut self, compared: Option<&Compared>) -> io::Result<Option<PathBuf>> {
        let is_over = compared.is_some_and(|of| of.outcome.stopped_by != StoppedBy::Interrupt);
        // Without any row, the header.
        let written = if is_over { self.write() } else { Ok(()) };
        let companion = compared.and_then(|of| companion(of, self.count));
        let description = companion.map(|companion| companion.text()).transpose()?;
        let end = |file: Option<RowsFile>, description: Option<&str>| match file {
            None => Ok(None),
            Some(file) if is_over && !file.has_failed() => file.finish(description).map(|()| None),
            Some(file) => file.keep(description),
        };
        let wanted = end(self.wanted.take(), description.as_deref());
        let kept = end(self.kept.take(), None);
        written.and(kept).and(wanted)
    }
}

/// The companion of the rows of a comparison.
fn companion(of: &Compared, rows: u64) -> Option<Companion> {
    let about_settings = of.outcome.notices.iter().filter(|notice| notice.is_about_settings());
    let sentences = about_settings.map(notices::notice).collect();
    Companion::new(&of.outcome, &of.programs, &of.gates, sentences, rows)
}
