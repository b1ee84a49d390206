//! The files to which a result is written, besides standard output.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cargo_cbdr::exec::process::Interrupt;
use cargo_cbdr::samples::Recording;

use super::export::ExportKind;
use super::markdown;
use super::readable::Readable;
use crate::cli::Format;
use crate::output::{self, OutputFile};
use crate::page;
use crate::ui::{Failure, about};

/// The requested files. Before anything is measured, it is checked that each can
/// be written.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    /// The summary of a GitHub job.
    summary: Option<fs_err::File>,
    page: Option<OutputFile>,
    exports: Vec<(ExportKind, OutputFile)>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WantedOutputs<'a> {
    pub(crate) page: Option<&'a Path>,
    pub(crate) exports: &'a [(ExportKind, PathBuf)],
    /// The samples, which another module writes.
    pub(crate) samples: Option<&'a Path>,
    /// The files that are read.
    pub(crate) inputs: &'a [PathBuf],
}

impl Outputs {
    /// Checks that all of them can be written, each to a path of its own.
    pub(crate) fn new(
        format: Format,
        wanted: WantedOutputs<'_>,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let summary = std::env::var_os("GITHUB_STEP_SUMMARY").map(PathBuf::from);
        let summary =
            summary.filter(|path| format == Format::Github && !path.as_os_str().is_empty());
        // The samples come first, so that an error about two equal paths names the other output.
        let mut paths = wanted.samples.map_or(Ok(Vec::new()), output::files_of_rows)?;
        paths.extend(wanted.exports.iter().map(|(_, path)| path.clone()));
        paths.extend(summary.clone().into_iter().chain(wanted.page.map(Path::to_owned)));
        output::distinct(&paths, wanted.inputs)?;
        let open =
            |(kind, path): &(ExportKind, PathBuf)| Ok((*kind, OutputFile::new(path, interrupt)?));
        Ok(Outputs {
            // Earlier steps may have written to it.
            summary: summary
                .map(|path| fs_err::OpenOptions::new().create(true).append(true).open(path))
                .transpose()?,
            page: wanted.page.map(|path| OutputFile::new(path, interrupt)).transpose()?,
            exports: wanted.exports.iter().map(open).collect::<Result<_, Failure>>()?,
        })
    }

    /// Writes all of them, even if one fails.
    pub(crate) fn write(self, result: &Readable<'_>, recording: &Recording) -> io::Result<()> {
        // With one write, since other steps may write, too.
        let summary = self
            .summary
            .map(|mut file| file.write_all(format!("{}\n", markdown::summary(result)).as_bytes()));
        let page = self.page.map(|file| file.write(&page::page(result, recording)));
        let exports = self.exports.into_iter();
        let exports = exports.map(|(kind, file)| file.write(&kind.content(result.outcome)));
        let results: Vec<_> = summary.into_iter().chain(page).chain(exports).collect();
        results.into_iter().collect()
    }
}

/// Explains an error of printing a result. If the reader of standard output is
/// gone, that is not an error: the exit code is still that of the result.
pub(crate) fn printed(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.map_err(|error| about("could not write to standard output", &error)),
    }
}
