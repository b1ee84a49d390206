//! Writes samples: a row for each measured run, on disk as soon as its pair is
//! complete. Those of the last comparison are always kept in the repository's part
//! of the cache; `--samples` also stores them in a file of the user.

use std::io;
use std::path::{Path, PathBuf};

use cargo_cbdr::Compared;
use cargo_cbdr::engine::{Event, Plan};
use cargo_cbdr::exec::process::Interrupt;
use cargo_cbdr::model::{Row, StoppedBy};
use cargo_cbdr::samples::csv::{self, CsvText};
use cargo_cbdr::samples::{Companion, Described, OwnPart};

use crate::failure::Failure;
use crate::output::RowsFile;
use crate::ui::grouped;

/// The name of the file in the repository's part of the cache.
const KEPT: &str = "samples.csv";

/// The suffixes of the files with the rows over layouts and of longer runs, instead of `csv`.
pub(crate) const AGAIN: [&str; 2] = ["layouts.csv", "longer.csv"];

/// The files with the samples of a comparison.
pub(crate) struct SamplesFiles<'a> {
    as_built: RowsFiles,
    /// Those with other suffixes, once there are any, next to the others.
    again: [Option<RowsFiles>; AGAIN.len()],
    /// Whether there is only one benchmark.
    is_only: bool,
    /// How many rows there are as built.
    count: u64,
    /// The first failure.
    written: Result<(), Failure>,
    interrupt: &'a Interrupt,
}

/// Where the samples are at the end.
pub(crate) struct SamplesEnd {
    /// Where those of `--samples` are if not in its file.
    pub(crate) left: Option<PathBuf>,
    /// Whether everything could be written.
    pub(crate) written: Result<(), Failure>,
    /// The file of the cache, if it has all of them.
    pub(crate) kept: Option<PathBuf>,
}

/// A file for the user, and one in the cache.
#[derive(Default)]
struct RowsFiles {
    /// The file of `--samples`.
    wanted: Option<RowsFile>,
    /// The file in the cache.
    kept: Option<RowsFile>,
    /// Where that is, once it has all rows.
    cached: Option<PathBuf>,
    rows: CsvText,
}

impl RowsFiles {
    fn header(&mut self, plan: &Plan) -> io::Result<()> {
        self.rows.header(plan.metrics.iter().map(|metric| metric.name.as_str()))
    }

    fn push(&mut self, rows: &[Row], plan: &Plan, is_only: bool) -> io::Result<()> {
        for row in rows {
            self.rows.row(&csv::label(plan, row, is_only), csv::cells(plan, row))?;
        }
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        let rows = self.rows.take()?;
        let [wanted, kept] = [&mut self.wanted, &mut self.kept]
            .map(|file| file.as_mut().map_or(Ok(()), |file| file.push(&rows)));
        wanted.and(kept)
    }

    /// Moves the rows to their final place, with `description` next to the user's file,
    /// or leaves them where they are. Returns where the user's rows are.
    fn end(&mut self, is_over: bool, description: Option<&str>) -> io::Result<Option<PathBuf>> {
        // Without any row, the header.
        let written = if is_over { self.write() } else { Ok(()) };
        let end = |file: Option<RowsFile>, description| {
            file.map_or(Ok(None), |file| file.end(is_over, description))
        };
        let wanted = end(self.wanted.take(), description);
        let path = self.kept.as_ref().map(|file| file.path.clone());
        let kept = end(self.kept.take(), None);
        self.cached = path.filter(|_| is_over && matches!(kept, Ok(None)));
        written.and(kept).and(wanted)
    }
}

impl<'a> SamplesFiles<'a> {
    /// Checks that the file of `--samples` can be written, before anything is built, so
    /// that a bad path costs no measurement.
    pub(crate) fn new(wanted: Option<&Path>, interrupt: &'a Interrupt) -> Result<Self, Failure> {
        let wanted = wanted.map(|path| RowsFile::new(path, interrupt)).transpose()?;
        let as_built = RowsFiles { wanted, ..RowsFiles::default() };
        let (again, written) = (Default::default(), Ok(()));
        Ok(SamplesFiles { as_built, again, is_only: false, count: 0, written, interrupt })
    }

    /// Writes the rows of an event. If one file can't be written, the other one
    /// continues.
    pub(crate) fn take(&mut self, event: &Event<'_>) {
        if let Err(failure) = self.try_take(event)
            && self.written.is_ok()
        {
            self.written = Err(failure);
        }
    }

    fn try_take(&mut self, event: &Event<'_>) -> Result<(), Failure> {
        match event {
            Event::Prepared { cache, .. } => {
                let path = cache.join(KEPT);
                // Those of an earlier comparison do not belong to the new ones.
                for suffix in AGAIN {
                    let _ = std::fs::remove_file(path.with_extension(suffix));
                }
                self.as_built.kept = Some(RowsFile::new(&path, self.interrupt)?);
            }
            // The header waits for the first row.
            Event::Sampling(plan) => {
                self.as_built.header(plan)?;
                self.is_only = plan.benchmarks.len() == 1;
                if let Some(file) = &mut self.as_built.wanted {
                    file.about = Some(Described::by(&plan.metrics)?);
                }
            }
            Event::OverLayouts(plan) | Event::Longer(plan)
                if self.again[usize::from(plan.is_longer)].is_none() =>
            {
                let mut files = RowsFiles::default();
                files.header(plan)?;
                let which = usize::from(plan.is_longer);
                let beside = |file: &Option<RowsFile>| -> Result<Option<RowsFile>, Failure> {
                    let path = file.as_ref().and_then(|file| file.beside(AGAIN[which]));
                    path.map(|path| RowsFile::new(&path, self.interrupt)).transpose()
                };
                files.wanted = beside(&self.as_built.wanted)?;
                files.kept = beside(&self.as_built.kept)?;
                self.again[which] = Some(files);
            }
            Event::Pair { rows, progress } => {
                let plan = progress.plan();
                match &mut self.again[usize::from(plan.is_longer)] {
                    Some(files) if plan.is_again() => files.push(rows, plan, self.is_only)?,
                    _ => {
                        self.count += rows.len() as u64;
                        self.as_built.push(rows, plan, self.is_only)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Moves the rows of a finished comparison to their final place, with the companion
    /// next to the file of `--samples`. Rows stay where they are if some are missing,
    /// because the comparison was stopped or failed, or because they could not be
    /// written.
    pub(crate) fn end(mut self, compared: Option<&Compared>) -> SamplesEnd {
        let (left, written) = match self.try_end(compared) {
            Ok(left) => (left, self.written),
            Err(error) => (None, self.written.and(Err(error.into()))),
        };
        SamplesEnd { left, written, kept: self.as_built.cached.filter(|_| self.count > 0) }
    }

    fn try_end(&mut self, compared: Option<&Compared>) -> io::Result<Option<PathBuf>> {
        let is_over = compared.is_some_and(|of| of.outcome.stopped_by != StoppedBy::Interrupt);
        let companion = compared.and_then(|of| companion(of, self.count));
        let description = companion.map(|companion| companion.text()).transpose()?;
        let left = self.as_built.end(is_over, description.as_deref());
        self.again.iter_mut().flatten().fold(left, |left, files| files.end(is_over, None).and(left))
    }
}

/// The companion of the rows of a comparison.
fn companion(of: &Compared, rows: u64) -> Option<Companion> {
    let about_settings = of.outcome.notices.iter().filter(|notice| notice.is_about_settings());
    let sentences = about_settings.map(grouped::text).collect();
    let own = of.division.as_ref();
    let own = own.map(|division| OwnPart::new(&of.outcome, division, grouped::text));
    Companion::new(&of.outcome, &of.programs, &of.gates, sentences, own, rows)
}
