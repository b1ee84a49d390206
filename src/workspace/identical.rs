//! Whether two artifacts are the same program: equal byte for byte, where each side's own
//! path counts as the other's, and of executables only what is loaded into memory counts,
//! without the build-id.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, SectionFlags};

use crate::error::Error;
use crate::exec::process::Command;
use crate::model::side::Pair;
use crate::workspace::cache::Artifact;

/// Whether the two are run alike: with the same arguments and in the same
/// environment, but for the folders of the sides in them, and for what cargo
/// tells of the package's description, version and the like: that is in the
/// executable where it is used.
pub(super) fn same_run(base: &Command, head: &Command, folders: &Pair<PathBuf>) -> bool {
    let [base_path, head_path] =
        [&folders.base, &folders.head].map(|path| path.as_os_str().as_encoded_bytes());
    let plain = |text: &OsStr| {
        let mut bytes = text.as_encoded_bytes().to_vec();
        replace(&mut bytes, head_path, base_path);
        bytes
    };
    let words = |command: &Command| {
        let counts = |name: &OsStr| !name.as_encoded_bytes().starts_with(b"CARGO_PKG_");
        let variables = command.env.iter().filter(|(name, _)| counts(name));
        let variables = variables.flat_map(|(name, value)| [plain(name), plain(value)]);
        let arguments = command.argv.iter().map(|word| plain(word));
        let folder = std::iter::once(plain(command.cwd.as_os_str()));
        folder.chain(arguments).chain(variables).collect::<Vec<_>>()
    };
    base.argv.len() == head.argv.len() && words(base) == words(head)
}

/// Whether the two hold the same files. `base_path` and `head_path`, of one
/// length, are the folders of the sides.
pub(super) fn identical(
    base: &Artifact,
    base_path: &Path,
    head: &Artifact,
    head_path: &Path,
) -> Result<bool, Error> {
    if !base.paths().eq(head.paths()) {
        return Ok(false);
    }
    let paths = [base_path, head_path].map(|path| path.as_os_str().as_encoded_bytes());
    for path in base.paths() {
        let read = |artifact: &Artifact| {
            let full = artifact.files().join(path);
            fs_err::read(&full).map_err(Error::io("read", &full))
        };
        if !same_file(read(base)?, read(head)?, paths) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn same_file(mut base: Vec<u8>, mut head: Vec<u8>, [base_path, head_path]: [&[u8]; 2]) -> bool {
    if base == head {
        return true;
    }
    if base_path.len() != head_path.len() {
        return false;
    }
    // In both: a side that was seeded from the other one's target folder has
    // dependencies with the other's path in them.
    replace(&mut base, head_path, base_path);
    replace(&mut head, head_path, base_path);
    base == head || same_program(&base, &head).unwrap_or(false)
}

/// Writes `new` over every `old` in `bytes`; the two are of one length.
fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    let Some(&first) = old.first() else { return };
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|&byte| byte == first) {
        at += found;
        if bytes[at..].starts_with(old) {
            bytes[at..at + old.len()].copy_from_slice(new);
            at += old.len();
        } else {
            at += 1;
        }
    }
}

/// Whether two ELF files load the same: the entry and every section with memory of its own
/// except for the build-id. `None` when they are not ELF files.
fn same_program(base: &[u8], head: &[u8]) -> Option<bool> {
    let (base, head) = (elf(base)?, elf(head)?);
    if base.entry() != head.entry() || base.architecture() != head.architecture() {
        return Some(false);
    }
    Some(loaded(&base)? == loaded(&head)?)
}

fn elf(bytes: &[u8]) -> Option<object::File<'_>> {
    object::File::parse(bytes).ok().filter(|file| file.format() == object::BinaryFormat::Elf)
}

type Section<'a> = (&'a str, u64, u64, u64, &'a [u8]);

fn loaded<'a>(file: &'a object::File<'a>) -> Option<Vec<Section<'a>>> {
    let mut sections = Vec::new();
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags } = section.flags() else {
            return None;
        };
        let name = section.name().ok()?;
        if sh_flags & u64::from(object::elf::SHF_ALLOC) != 0 && name != ".note.gnu.build-id" {
            let data = section.data().ok()?;
            sections.push((name, section.address(), section.size(), sh_flags, data));
        }
    }
    (!sections.is_empty()).then_some(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&[u8]; 2] = [b"/cache/base/", b"/cache/head/"];

    #[test]
    fn a_files_own_path_is_no_difference_and_any_other_byte_is() {
        let same = |base: &str, head: &str| same_file(base.into(), head.into(), PATHS);
        assert!(same("x /cache/base/a", "x /cache/head/a"));
        assert!(same("/cache/base//cache/base/", "/cache/head//cache/head/"));
        // The base was seeded from the head's folder, and only its own crate
        // was compiled anew.
        assert!(same(
            "/cache/base/own /cache/head/dependency",
            "/cache/head/own /cache/head/dependency"
        ));
        assert!(!same("x /cache/base/a", "x /cache/head/b"));
        assert!(!same("x", "xx"));
    }

    #[test]
    fn a_run_is_the_same_but_for_the_folders_of_the_sides() {
        let command = |words: &[&str], env: &[(&str, &str)]| Command {
            argv: words.iter().map(Into::into).collect(),
            env: env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            ..Command::default()
        };
        let folders = Pair { base: "/cache/base".into(), head: "/cache/head".into() };
        let base = command(&["/cache/base/a", "--bench"], &[("DIR", "/cache/base/t"), ("N", "1")]);
        let head =
            |words: &[&str], env: &[(&str, &str)]| same_run(&base, &command(words, env), &folders);
        assert!(head(&["/cache/head/a", "--bench"], &[("DIR", "/cache/head/t"), ("N", "1")]));
        assert!(!head(&["/cache/head/a", "--bench"], &[("DIR", "/cache/head/t"), ("N", "2")]));
        assert!(!head(&["/cache/head/a", "--bench"], &[("DIR", "/cache/head/t")]));
        assert!(!head(&["/cache/head/a", "--quick"], &[("DIR", "/cache/head/t"), ("N", "1")]));
        assert!(!head(
            &["/cache/head/a"],
            &[("--bench", ""), ("DIR", "/cache/head/t"), ("N", "1")]
        ));
    }

    #[test]
    fn of_a_program_only_what_is_loaded_counts() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        if elf(&program).is_none() {
            // Of other programs, every byte counts.
            return;
        }
        let at = |name: &str| {
            let file = object::File::parse(&*program).unwrap();
            let section = file.section_by_name(name).unwrap();
            section.file_range().unwrap().0 as usize
        };
        let differs_at = |offset: usize| {
            let mut other = program.clone();
            other[offset] ^= 1;
            !same_file(program.clone(), other, PATHS)
        };
        assert!(differs_at(at(".text")), "code");
        assert!(differs_at(at(".rodata")), "constants");
        assert!(!differs_at(at(".strtab") + 8), "symbol names");
        // The note's header is 16 bytes long; then comes the id.
        assert!(!differs_at(at(".note.gnu.build-id") + 16), "build-id");
    }
}
