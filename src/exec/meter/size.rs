//! Sizes of the executables, which are exact and known before anything runs.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, ObjectSymbol, SectionKind, Symbol, SymbolKind};

use super::refusal::unread;
use crate::error::{Failure, Help};
use crate::exec::process::Command;
use crate::model::{KnownMetric, Metric, MetricSource, Pair};

pub(crate) const TEXT: &str = "text_bytes";

/// What to do where a size is not that of a program of the repository.
const OWN_PROGRAM: &str = "measure a bench, bin or example target, or a `--command` that begins with \
    the program's path in the worktree";

/// The size of both sides' programs. `None` if the metric is not a size.
///
/// # Errors
/// If both sides run the same program (such as a shell), which can't contain
/// anything of either side, or if a program can't be read.
pub(crate) fn sizes(
    metric: &str,
    programs: Pair<&Path>,
) -> Result<Option<(Metric, Pair<f64>)>, Failure> {
    let Some(known) = of_executable(metric) else { return Ok(None) };
    if programs.base == programs.head {
        let (metric, program) = (known.name, programs.base.display());
        let what = format!("`{metric}` is meaningless: both sides run `{program}`");
        return Err(Failure::with(what, Help::hint(OWN_PROGRAM)));
    }
    let values = Pair::try_both(|side| value(known, programs[side]))?;
    Ok(Some((known.metric(), values)))
}

/// The size of one program. `None` if the metric is not a size.
///
/// # Errors
/// If it can't be read.
pub(crate) fn size(metric: &str, program: &Path) -> Result<Option<(Metric, f64)>, Failure> {
    let Some(known) = of_executable(metric) else { return Ok(None) };
    Ok(Some((known.metric(), value(known, program)?)))
}

/// Whether a metric is a size.
pub(crate) fn is_size(metric: &str) -> bool {
    of_executable(metric).is_some()
}

fn of_executable(metric: &str) -> Option<&'static KnownMetric> {
    KnownMetric::from(MetricSource::Executable).find(|known| known.name == metric)
}

fn value(known: &KnownMetric, path: &Path) -> Result<f64, Failure> {
    let failed = || unread("read", path);
    if known.name != TEXT {
        return Ok(fs_err::metadata(path).map_err(failed())?.len() as f64);
    }
    let bytes = fs_err::read(path).map_err(failed())?;
    let text = text(&bytes).ok_or_else(|| {
        let what = format!(
            "`{TEXT}` of `{}` is not known: it is not an executable in a known format",
            path.display()
        );
        Failure::with(what, Help::hint(OWN_PROGRAM))
    })?;
    Ok(text as f64)
}

/// The size of each function in an executable's machine code, and of all of it. `None` if it
/// can't be read.
pub(crate) fn functions(path: &Path) -> Option<(Vec<(String, u64)>, u64)> {
    let bytes = fs_err::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    Some((by_address(file.symbols()).into_values().collect(), text(&bytes)?))
}

/// The functions among symbols, by their addresses, with the names that linkers know, and their
/// sizes. If one has several names, this is the shortest that does not begin with `_`.
pub(super) fn by_address<'d: 'f, 'f>(
    symbols: impl Iterator<Item = Symbol<'d, 'f>>,
) -> BTreeMap<u64, (String, u64)> {
    let functions = symbols.filter(|one| one.kind() == SymbolKind::Text && one.size() > 0);
    let mut functions: Vec<_> = functions
        .filter_map(|one| Some((one.address(), (one.name().ok()?.to_owned(), one.size()))))
        .collect();
    functions.sort_by_key(|(_, (name, _))| (!name.starts_with('_'), Reverse(name.len())));
    functions.into_iter().collect()
}

/// The file of a command's program, or its name if it is looked up in the `PATH`.
pub(crate) fn program(command: &Command) -> PathBuf {
    let name = Path::new(command.argv.first().map_or("".as_ref(), |name| name.as_os_str()));
    if name.components().count() < 2 {
        return name.to_owned();
    }
    let path = command.cwd.join(name);
    path.canonicalize().unwrap_or(path)
}

/// The size of an executable's machine code, bytes. `None` if its format is
/// unknown.
fn text(bytes: &[u8]) -> Option<u64> {
    let file = object::File::parse(bytes).ok()?;
    let sections = file.sections().filter(|section| section.kind() == SectionKind::Text);
    let sizes: Vec<u64> = sections.map(|section| section.size()).collect();
    (!sizes.is_empty()).then(|| sizes.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::metric::Unit;

    fn paths(base: &Path, head: &Path) -> Pair<PathBuf> {
        let path =
            |path: &Path| program(&Command { argv: vec![path.into()], ..Command::default() });
        Pair { base: path(base), head: path(head) }
    }

    #[test]
    fn both_sizes_of_a_program_that_grew() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        std::fs::write(path("base"), &program).unwrap();
        std::fs::write(path("head"), [program.as_slice(), b"grown"].concat()).unwrap();
        let paths = paths(&path("base"), &path("head"));
        let (metric, file) =
            sizes("executable_bytes", paths.as_ref().map(|path| path.as_path())).unwrap().unwrap();
        assert_eq!(metric.unit, Unit::Bytes);
        assert_eq!(file.head - file.base, 5.0);
        let (_, text) =
            sizes("text_bytes", paths.as_ref().map(|path| path.as_path())).unwrap().unwrap();
        assert_eq!(text.base, text.head);
        assert!(text.base > 10_000.0 && text.base < file.base);
        assert!(sizes("wall_time", paths.as_ref().map(|path| path.as_path())).unwrap().is_none());
    }

    #[test]
    fn a_program_that_is_not_built_has_no_size_worth_knowing() {
        let sh = Path::new("sh");
        let same = sizes("executable_bytes", Pair { base: sh, head: sh }).unwrap_err();
        assert!(same.to_string().contains("is meaningless: both sides run"), "{same}");
        let folder = tempfile::tempdir().unwrap();
        let scripts = ["a", "b"].map(|name| folder.path().join(name));
        for script in &scripts {
            std::fs::write(script, "#!/bin/sh\n").unwrap();
        }
        let paths = paths(&scripts[0], &scripts[1]);
        assert!(sizes("executable_bytes", paths.as_ref().map(|path| path.as_path())).is_ok());
        let error = sizes("text_bytes", paths.as_ref().map(|path| path.as_path())).unwrap_err();
        assert!(error.to_string().contains("not an executable in a known format"), "{error}");
    }
}
