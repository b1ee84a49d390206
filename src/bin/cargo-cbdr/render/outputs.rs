//! The files to which a result is written, besides standard output.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cargo_cbdr::exec::process::Interrupt;
use cargo_cbdr::model::{Notice, Outcome};
use cargo_cbdr::samples::Recording;

use super::export::ExportKind;
use super::markdown;
use super::readable::{CommandLine, Readable};
use crate::cli::Format;
use crate::failure::Failure;
use crate::output::{self, OutputFile};
use crate::page;
use crate::ui::about;

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

    /// Writes all of them, even if one fails; of that, the outcome and what is written later tell.
    /// A reader of a pipe that is gone wants no more, which is no failure.
    pub(crate) fn write(
        self,
        outcome: &mut Outcome,
        called: &CommandLine,
        recording: &Recording,
    ) -> io::Result<()> {
        let mut all = Ok(());
        let mut note = |outcome: &mut Outcome, written: io::Result<()>| match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                outcome.notices.push(Notice::Unwritten { why: error.to_string() });
                if all.is_ok() {
                    all = Err(error);
                }
            }
            _ => {}
        };
        for (kind, file) in self.exports {
            let written = file.write(&kind.content(outcome));
            note(outcome, written);
        }
        if let Some(file) = self.page {
            let written = file.write(&page::page(&Readable::new(outcome, called), recording));
            note(outcome, written);
        }
        if let Some(mut file) = self.summary {
            let summary = markdown::summary(&Readable::new(outcome, called));
            // With one write, since other steps may write, too.
            let written = file.write_all(format!("{summary}\n").as_bytes());
            note(outcome, written);
        }
        all
    }
}

/// Prints to standard output.
pub(crate) fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(unprinted)
}

/// Explains an error of standard output.
pub(super) fn unprinted(error: io::Error) -> io::Error {
    about("could not write to standard output", &error)
}

/// The outcome of printing a result. If the reader of standard output is gone, that is not an
/// error: the exit code is still that of the result.
pub(crate) fn printed(outcome: io::Result<()>) -> io::Result<()> {
    outcome.or_else(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    })
}
