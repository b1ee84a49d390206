//! The files that commands write: [`OutputFile`] is replaced atomically at the
//! end, and [`RowsFile`] collects rows next to its file until the last one.
//! Until then, the content of a file is not changed.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cargo_cbdr::Error;
use cargo_cbdr::exec::process::{Interrupt, RunError};
use cargo_cbdr::exec::system::{Place, is_pipe};
use cargo_cbdr::samples::Companion;

use crate::failure::Failure;
use crate::ui::{about, text};

/// A file that is written at the end. At the beginning, it is checked that it
/// can be written.
#[derive(Debug)]
pub(crate) struct OutputFile {
    path: PathBuf,
    /// A file there is replaced atomically, so that no reader sees a part of it.
    place: Place,
    /// A pipe or a device, which is written to directly.
    stream: Option<File>,
}

impl OutputFile {
    /// Checks that the file can be written, without changing it. For a pipe, waits
    /// until there is a reader.
    pub(crate) fn new(path: &Path, interrupt: &Interrupt) -> Result<Self, Failure> {
        let (place, path) = (find(path)?, path.to_owned());
        let stream = match place.is_stream() {
            true => Some(stream(&place, &path, interrupt)?),
            false => place.check().map(|()| None).map_err(|error| unwritten(&path, &error))?,
        };
        Ok(OutputFile { path, place, stream })
    }

    pub(crate) fn write(self, content: &str) -> io::Result<()> {
        let written = match self.stream {
            Some(mut stream) => stream.write_all(content.as_bytes()),
            None => self.place.replace(content.as_bytes()),
        };
        written.map_err(|error| unwritten(&self.path, &error))
    }
}

/// Checks that a file can be replaced.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    let place = find(path)?;
    if place.is_stream() {
        return Err(unwritten(path, &io::Error::other("it is not a regular file")));
    }
    place.check().map_err(|error| unwritten(path, &error))
}

/// A file of rows. They are written to `FILE.partial` as they arrive; at the end,
/// that file replaces `FILE`.
#[derive(Debug)]
pub(crate) struct RowsFile {
    pub(crate) path: PathBuf,
    place: Place,
    /// Where the rows are until the last one. A stream gets them at once.
    partial: PathBuf,
    /// Created with the first rows: until then, its path may contain the rows of an earlier
    /// comparison that did not finish.
    file: Option<File>,
    /// How many bytes were written.
    length: u64,
    /// Whether writing has failed, so that rows are missing.
    has_failed: bool,
    /// What stands next to the rows until they are complete, set before the first of them: as far
    /// as they are known if they don't end.
    pub(crate) about: Option<String>,
}

impl RowsFile {
    /// Checks that all of its files can be written, without changing them.
    pub(crate) fn new(path: &Path, interrupt: &Interrupt) -> Result<Self, Failure> {
        let OutputFile { path, place, stream: file } = OutputFile::new(path, interrupt)?;
        let partial = if file.is_some() { path.clone() } else { partial(place.path()) };
        if file.is_none() {
            let beside = [Companion::path(&partial), Companion::path(&path)];
            check(&partial).and(beside.iter().try_for_each(|path| check(path)))?;
        }
        Ok(RowsFile { path, place, partial, file, length: 0, has_failed: false, about: None })
    }

    /// The path next to it with another suffix; `None` for a pipe.
    pub(crate) fn beside(&self, ending: &str) -> Option<PathBuf> {
        (!self.place.is_stream()).then(|| self.path.with_extension(ending))
    }

    /// Adds rows. An error leaves the earlier rows intact, and later ones are
    /// ignored.
    pub(crate) fn push(&mut self, rows: &[u8]) -> io::Result<()> {
        if self.has_failed {
            return Ok(());
        }
        let pushed = self.add(rows);
        self.has_failed = pushed.is_err();
        pushed
    }

    fn add(&mut self, rows: &[u8]) -> io::Result<()> {
        let partial = &self.partial;
        if self.file.is_none() {
            let begun = undescribe(partial).and_then(|()| File::create(partial));
            self.file = Some(begun.map_err(|error| unwritten(partial, &error))?);
            // Rows without it are better than none.
            let about = self.about.iter();
            about.for_each(|about| drop(std::fs::write(Companion::path(partial), about)));
        }
        if let Some(file) = &mut self.file {
            file.write_all(rows).map_err(|error| {
                let _ = file.set_len(self.length);
                // Without the kind: `BrokenPipe` would end the program as a success.
                io::Error::other(unwritten(partial, &error).to_string())
            })?;
        }
        self.length += rows.len() as u64;
        Ok(())
    }

    /// Moves the rows of a comparison that is over to `FILE`; stopped ones, or some of which are
    /// missing, stay in `FILE.partial`. Their description comes next to them. Returns where the
    /// rows are if not in `FILE`, and if there are any.
    pub(crate) fn end(
        mut self,
        is_over: bool,
        description: Option<&str>,
    ) -> io::Result<Option<PathBuf>> {
        match is_over && !self.has_failed {
            true => self.push(&[]).and_then(|()| self.finish(description)).map(|()| None),
            false => self.keep(description),
        }
    }

    /// Rows that went to a stream are already there, and get no description.
    fn finish(self, description: Option<&str>) -> io::Result<()> {
        if self.place.is_stream() {
            return Ok(());
        }
        drop(self.file);
        let beside = Companion::path(&self.path);
        let companion = find(&beside)?;
        let error = |error| unwritten(&beside, &error);
        // Both are written before either is renamed, so that they mismatch only for a
        // moment.
        let staged = description.map(|text| companion.stage(text.as_bytes())).transpose();
        let staged = staged.map_err(error)?;
        self.place.replace_with(&self.partial).map_err(|error| unwritten(&self.path, &error))?;
        let published = staged.map_or(Ok(()), |staged| staged.publish());
        published.and(undescribe(&self.partial)).map_err(error)
    }

    fn keep(self, description: Option<&str>) -> io::Result<Option<PathBuf>> {
        let partial = self.partial;
        if self.place.is_stream() || self.file.is_none() {
            return Ok(None);
        }
        if self.length == 0 {
            let removed = std::fs::remove_file(&partial).and(undescribe(&partial));
            return removed.map(|()| None).map_err(|error| unwritten(&partial, &error));
        }
        if let Some(text) = description {
            let beside = Companion::path(&partial);
            find(&beside)?.replace(text.as_bytes()).map_err(|error| unwritten(&beside, &error))?;
        }
        Ok(Some(partial))
    }
}

fn undescribe(rows: &Path) -> io::Result<()> {
    match std::fs::remove_file(Companion::path(rows)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The path of the file with the rows until they are complete.
pub(crate) fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

/// All paths that a [`RowsFile`] writes to at some time, as the user would give them.
pub(crate) fn files_of_rows(path: &Path) -> io::Result<Vec<PathBuf>> {
    let place = find(path)?;
    if place.is_stream() {
        return Ok(vec![path.to_owned()]);
    }
    let partial = partial(place.path());
    let beside = Companion::path(&partial);
    Ok(vec![path.to_owned(), Companion::path(path), partial, beside])
}

/// Rejects two outputs with the same path, however it is spelled, and an output
/// whose path is also read.
pub(crate) fn distinct(outputs: &[PathBuf], inputs: &[PathBuf]) -> Result<(), Failure> {
    let mut seen: Vec<Place> = Vec::new();
    // For an input that can't be found, reading gives the better error.
    let inputs: Vec<Place> = inputs.iter().filter_map(|path| Place::find(path).ok()).collect();
    for path in outputs {
        let place = find(path)?;
        let what = if seen.contains(&place) && place.path() != Path::new("/dev/null") {
            "would be written twice"
        } else if inputs.contains(&place) && !place.is_stream() {
            "would be both read and written"
        } else {
            seen.push(place);
            continue;
        };
        return Failure::arguments(format!("{} {what}", text::path(path)));
    }
    Ok(())
}

fn find(path: &Path) -> io::Result<Place> {
    Place::find(path).map_err(|error| unwritten(path, &error))
}

/// Opens a pipe or a device.
fn stream(place: &Place, path: &Path, interrupt: &Interrupt) -> Result<File, Failure> {
    let failed = |error| unwritten(path, &error);
    if !is_pipe(&place.path().metadata().map_err(failed)?) {
        return Ok(File::options().append(true).open(place.path()).map_err(failed)?);
    }
    let opened = interrupt.open_pipe(place.path()).map_err(failed)?;
    opened.ok_or_else(|| Error::from(RunError::Interrupted).into())
}

fn unwritten(path: &Path, error: &io::Error) -> io::Error {
    about(&format!("can't write {}", text::path(path)), error)
}
