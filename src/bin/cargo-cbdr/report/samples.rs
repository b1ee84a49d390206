//! The samples: a row for each measured run, on disk as soon as its pair is
//! complete. The last comparison's are always kept, in the repository's part
//! of the cache; `--samples` keeps them where the user wants.

use std::io;
use std::path::{Path, PathBuf};

use cargo_cbdr::Report;
use cargo_cbdr::event::Event;
use cargo_cbdr::sample::Sample;

use super::about::About;

/// The files that are being written.
pub(crate) struct File {
    wanted: Option<PathBuf>,
    writers: Vec<(PathBuf, csv::Writer<std::fs::File>)>,
    metrics: Vec<String>,
    rows: u64,
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
            Event::Rounds { metrics, .. } => {
                self.metrics = metrics.to_vec();
                Ok(self.writer.write_record(header(metrics))?)
            }
            Event::Run { label, sample } => {
                Ok(self.writer.write_record(row(&self.metrics, label, sample))?)
            }
            _ => Ok(()),
        }
    }

    /// The rows since the last time.
    pub(crate) fn drain(&mut self) -> io::Result<Vec<u8>> {
        let next = csv::Writer::from_writer(Vec::new());
        let writer = std::mem::replace(&mut self.writer, next);
        writer.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}

impl File {
    /// Opens the file that the user wants, if any: before anything is built,
    /// so that a bad path costs nobody a measurement.
    pub(crate) fn new(wanted: Option<PathBuf>) -> io::Result<Self> {
        let mut file = File { wanted, writers: Vec::new(), metrics: Vec::new(), rows: 0 };
        if let Some(path) = file.wanted.clone() {
            file.open(&path)?;
            // Of other samples; what is there tells that these are whole.
            About::remove(&path)?;
        }
        Ok(file)
    }

    fn open(&mut self, path: &Path) -> io::Result<()> {
        // Flushed after every row instead of when a buffer is full.
        let opened = std::fs::File::create(path).map_err(|error| unwritten(path, &error))?;
        self.writers.push((path.to_owned(), csv::Writer::from_writer(opened)));
        Ok(())
    }

    /// Writes what an event brings. A file that can't be written is given up,
    /// and the others are not.
    pub(crate) fn take(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Prepared { room, .. } => self.open(&room.join("samples.csv")),
            Event::Sampling { metrics, .. } => {
                self.metrics = metrics.to_vec();
                self.write(&header(metrics))
            }
            Event::Run { label, sample } => {
                let row = row(&self.metrics, label, sample);
                self.rows += 1;
                self.write(&row)
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self, row: &[String]) -> io::Result<()> {
        let mut failed = Ok(());
        self.writers.retain_mut(|(path, writer)| {
            let written = writer.write_record(row).map_err(io::Error::from);
            match written.and_then(|()| writer.flush()) {
                Ok(()) => true,
                Err(error) => {
                    failed = Err(unwritten(path, &error));
                    false
                }
            }
        });
        failed
    }

    /// Writes beside the user's file what it was measured on.
    pub(crate) fn finish(self, report: &Report) -> io::Result<()> {
        let Some(path) = self.wanted else {
            return Ok(());
        };
        About::of(report, self.rows).write(&path)
    }
}

/// What a file could not take. Of no kind: a pipe that nobody reads is no
/// success here.
fn unwritten(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("can't write `{}`: {error}", path.display()))
}
