//! Sizes of the executables: exact, and known before anything runs.

use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, SectionKind};

use super::Error;
use crate::exec::process::Command;
use crate::exec::system::canonical;
use crate::model::metric::{KnownMetric, Metric, Source};
use crate::model::side::{Pair, Side};

const TEXT: &str = "text_bytes";

/// The values of both sides' programs, by their files.
///
/// # Errors
/// When the sides run one and the same program (a shell, say), so that nothing
/// of either was built into it, or when it can't be read.
pub fn sizes(metric: &str, paths: &Pair<PathBuf>) -> Result<Option<(Metric, Pair<f64>)>, Error> {
    let Some(known) = KnownMetric::from(Source::Executable).find(|known| known.name == metric)
    else {
        return Ok(None);
    };
    if paths.base == paths.head {
        return Err(Error::SameProgram { metric: known.name, program: paths.base.clone() });
    }
    let size = |side: Side| {
        let path = &paths[side];
        let read = |source| Error::Executable { path: path.clone(), source };
        if known.name != TEXT {
            return Ok(fs_err::metadata(path).map_err(read)?.len());
        }
        let bytes = fs_err::read(path).map_err(read)?;
        text(&bytes).ok_or_else(|| Error::NoText { path: path.clone() })
    };
    let values = Pair { base: size(Side::Base)? as f64, head: size(Side::Head)? as f64 };
    Ok(Some((known.metric(), values)))
}

/// The file of a command's program. Where it is looked up by name, the name.
pub fn program(command: &Command) -> PathBuf {
    let name = Path::new(command.argv.first().map_or("".as_ref(), |name| name.as_os_str()));
    if name.components().count() < 2 {
        return name.to_owned();
    }
    let path = command.cwd.join(name);
    canonical(&path).unwrap_or(path)
}

/// The bytes of all sections with machine code in them; `None` when it is no
/// executable that we can read.
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
        let (metric, file) = sizes("executable_bytes", &paths).unwrap().unwrap();
        assert_eq!(metric.unit, Unit::Bytes);
        assert_eq!(file.head - file.base, 5.0);
        let (_, text) = sizes("text_bytes", &paths).unwrap().unwrap();
        assert_eq!(text.base, text.head);
        assert!(text.base > 10_000.0 && text.base < file.base);
        assert!(sizes("wall_time", &paths).unwrap().is_none());
    }

    #[test]
    fn a_program_that_is_not_built_has_no_size_worth_knowing() {
        let sh = Path::new("sh");
        let same = sizes("executable_bytes", &paths(sh, sh)).unwrap_err();
        assert!(matches!(same, Error::SameProgram { .. }));
        let folder = tempfile::tempdir().unwrap();
        let scripts = ["a", "b"].map(|name| folder.path().join(name));
        for script in &scripts {
            std::fs::write(script, "#!/bin/sh\n").unwrap();
        }
        let paths = paths(&scripts[0], &scripts[1]);
        assert!(sizes("executable_bytes", &paths).is_ok());
        assert!(matches!(sizes("text_bytes", &paths).unwrap_err(), Error::NoText { .. }));
    }
}
