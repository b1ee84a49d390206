//! Whether two artifacts are the same program: equal byte for byte, with each side's own path
//! treated as equal to the other's, and for executables only in what is loaded into memory,
//! without the build-id.
//!
//! # Moved source locations
//!
//! A comment moves the code below it, and thus the line numbers that a panic prints. Such
//! programs do the same work, too, if nothing else differs for certain. Three conditions
//! together make that certain; if one of them does not hold, the programs are measured.
//!
//! 1. *The executables* ([`locations`]; ELF only): everything that is loaded is equal, except
//!    for numbers at places where line and column follow the name of a source.
//! 2. *The sources* ([`moves`]): every source that differs between the commits has the same
//!    code on both sides, token by token, apart from comments and white space. So
//!    nobody edited such a number: data in the form of a location, such as a table in the
//!    user's code, is code, and changing it is a change.
//! 3. *Both together*: in the named source, each of the numbers points to a token of the
//!    code on the base, and to the same token on the head. A number with another meaning
//!    would have to follow the edit of the comments by chance.
//!
//! What remains is code that computes with its own location. Code of the repository that uses
//! locations (`line!`, `column!`, `Location::caller`) is never considered the same if they
//! have moved. A dependency that uses its caller's location is not checked: a logger prints
//! other line numbers, as a panic does.

mod code;
mod loaded;
mod locations;
mod moves;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use memchr::memmem;
use object::Object;

pub(crate) use code::SourcePosition;
use loaded::{Elf, loaded, segments};
pub(crate) use locations::{MovedLocation, position};
pub(crate) use moves::Moves;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::exec::process::Command;
use crate::exec::program::Program;
use crate::exec::system::replace_bytes;
use crate::model::side::Pair;
use crate::workspace::cache::artifact::Artifact;

/// How far two runs are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SameRun {
    /// Whether cargo's variables about the package differ, which the executables don't name.
    pub(crate) is_other_package: bool,
    /// The names, on either side, of folders that variables such as `OUT_DIR` name, and that differ
    /// by cargo's hash alone. What is in them may differ.
    pub(crate) renamed: BTreeSet<String>,
}

/// The beginning of cargo's variables about a package: its version, its description and so on.
const OF_PACKAGE: &str = "CARGO_PKG_";

/// Whether the two are run in the same way: with the same arguments and environment, except
/// for the folders of the sides, the hashes that cargo appends to the names of executables and
/// folders, and cargo's variables about the package. These are part of an executable that uses
/// them, unless it asks for them by name when it runs.
///
/// # Errors
/// What is not the same.
pub(super) fn same_run(
    base: &Program,
    head: &Program,
    folders: &Pair<PathBuf>,
) -> Result<SameRun, String> {
    let same = same_command(&base.command, &head.command, folders)?;
    if same.is_other_package {
        let asks = |program: &Program| program.executable.as_deref().is_none_or(names_package);
        if asks(base) || asks(head) {
            return Err(format!(
                "its executable may read the variables {OF_PACKAGE}*, which differ"
            ));
        }
    }
    Ok(same)
}

/// Whether a file contains the beginning of the names of cargo's variables about the package, or
/// can't be read.
pub(crate) fn names_package(path: &Path) -> bool {
    // Compilers compare eight bytes at once, so the rest may be elsewhere.
    let name = &OF_PACKAGE.as_bytes()[..8];
    std::fs::read(path).map_or(true, |bytes| memmem::find(&bytes, name).is_some())
}

/// How far two commands are the same.
fn same_command(
    base: &Command,
    head: &Command,
    folders: &Pair<PathBuf>,
) -> Result<SameRun, String> {
    let Pair { base: base_path, head: head_path } =
        folders.as_ref().map(|path| path.as_os_str().as_encoded_bytes());
    let plain = |text: &OsStr| {
        let mut bytes = text.as_encoded_bytes().to_vec();
        replace_bytes(&mut bytes, head_path, base_path);
        bytes
    };
    let words = |command: &Command| {
        let mut arguments: Vec<_> = command.argv.iter().map(|word| plain(word)).collect();
        if let Some(program) = arguments.first_mut() {
            erase_hash(program);
        }
        arguments.push(plain(command.cwd.as_os_str()));
        arguments
    };
    if words(base) != words(head) {
        return Err("the sides are run with different arguments".to_owned());
    }
    let variables = |command: &Command| {
        let all = command.env.iter().map(|(name, value)| (name.clone(), plain(value)));
        all.collect::<BTreeMap<_, _>>()
    };
    let (bases, heads) = (variables(base), variables(head));
    let mut same = SameRun::default();
    for name in bases.keys().chain(heads.keys()) {
        let (one, other) = (bases.get(name), heads.get(name));
        let renamed = one.zip(other).and_then(|(one, other)| renamed(one, other, base_path));
        match renamed {
            _ if one == other => {}
            Some(names) => same.renamed.extend(names),
            None if name.as_encoded_bytes().starts_with(OF_PACKAGE.as_bytes()) => {
                same.is_other_package = true;
            }
            None => {
                let name = name.display();
                return Err(format!("the environment variable {name} differs between the sides"));
            }
        }
    }
    Ok(same)
}

/// The names in which two lists of paths in a folder differ, if these differ by cargo's hash alone.
fn renamed(base: &[u8], head: &[u8], folder: &[u8]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for (base, head) in differing(base, head, b':')? {
        let (base, head) = (base.strip_prefix(folder)?, head.strip_prefix(folder)?);
        for (base, head) in differing(base, head, b'/')? {
            if hashless(base)? != hashless(head)? {
                return None;
            }
            names.extend([base, head].map(|name| String::from_utf8_lossy(name).into_owned()));
        }
    }
    Some(names)
}

/// The parts in which two texts of as many parts differ.
fn differing<'t>(
    one: &'t [u8],
    other: &'t [u8],
    separator: u8,
) -> Option<Vec<(&'t [u8], &'t [u8])>> {
    let parts = |text: &'t [u8]| text.split(|byte| *byte == separator).collect::<Vec<_>>();
    let (one, other) = (parts(one), parts(other));
    let is_alike = one.len() == other.len();
    is_alike.then(|| one.into_iter().zip(other).filter(|(one, other)| one != other).collect())
}

/// Overwrites the hash that cargo appends to the names of executables, and by which, since
/// 1.99, it also names their folders.
fn erase_hash(path: &mut [u8]) {
    if let Some(name) = hashless(path).filter(|name| name.ends_with(b"-")) {
        let hash = path[name.len()..].to_vec();
        replace_bytes(path, &hash, &[0; HASH]);
    }
}

/// What is in front of the hash at the end of a name.
fn hashless(name: &[u8]) -> Option<&[u8]> {
    let (rest, hash) = name.split_at(name.len().saturating_sub(HASH));
    let is_hash =
        hash.len() == HASH && hash.iter().all(|one| matches!(one, b'0'..=b'9' | b'a'..=b'f'));
    is_hash.then_some(rest)
}

/// The number of digits of that hash.
const HASH: usize = 16;

/// The locations of code in sources in which the files of the two differ, as far as they look like
/// some; `None` if they differ in anything else that counts. `base_path` and `head_path` are the
/// folders of the sides, of equal length.
pub(super) fn difference(
    base: &Artifact,
    base_path: &Path,
    head: &Artifact,
    head_path: &Path,
) -> Result<Option<Vec<MovedLocation>>, Error> {
    if !base.paths().eq(head.paths()) {
        return Ok(None);
    }
    let paths = [base_path, head_path].map(|path| path.as_os_str().as_encoded_bytes());
    let mut all = Vec::new();
    for path in base.paths() {
        let read = |artifact: &Artifact| {
            let full = artifact.files().join(path);
            fs_err::read(&full).map_err(Error::io("read", &full))
        };
        match of_files(read(base)?, read(head)?, paths) {
            Some(found) => all.extend(found),
            None => return Ok(None),
        }
    }
    Ok(Some(all))
}

fn of_files(
    mut base: Vec<u8>,
    mut head: Vec<u8>,
    [base_path, head_path]: [&[u8]; 2],
) -> Option<Vec<MovedLocation>> {
    if base == head {
        return Some(Vec::new());
    }
    if base_path.len() != head_path.len() {
        return None;
    }
    // In both, because a side that was copied from the other one's target
    // folder has dependencies that contain the other's path.
    replace_bytes(&mut base, head_path, base_path);
    replace_bytes(&mut head, head_path, base_path);
    if base == head { Some(Vec::new()) } else { of_programs(&base, &head) }
}

/// How two ELF files differ in what they load: the entry point, how memory is to be protected, and
/// every section in it, except the build-id. `None` if they are not ELF files.
fn of_programs(base: &[u8], head: &[u8]) -> Option<Vec<MovedLocation>> {
    let (base, head) = (Elf::parse(base).ok()?, Elf::parse(head).ok()?);
    if base.entry() != head.entry()
        || base.architecture() != head.architecture()
        || base.kind() != head.kind()
        || segments(&base) != segments(&head)
    {
        return None;
    }
    let (base_loads, head_loads) = (loaded(&base)?, loaded(&head)?);
    match base_loads == head_loads {
        true => Some(Vec::new()),
        false => locations::moved(&base, &base_loads, &head_loads),
    }
}

#[cfg(test)]
mod tests {
    use object::read::elf::ProgramHeader;
    use object::{LittleEndian, ObjectSection, elf};

    use super::*;

    const PATHS: [&[u8]; 2] = [b"/cache/base/", b"/cache/head/"];

    #[test]
    fn a_files_own_path_is_no_difference_and_any_other_byte_is() {
        let same =
            |base: &str, head: &str| of_files(base.into(), head.into(), PATHS) == Some(Vec::new());
        assert!(same("x /cache/base/a", "x /cache/head/a"));
        assert!(same("/cache/base//cache/base/", "/cache/head//cache/head/"));
        // The base was copied from the head's folder, and only its own crate
        // was compiled again.
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
        let head = |words: &[&str], env: &[(&str, &str)]| {
            same_command(&base, &command(words, env), &folders)
        };
        let dir = ("DIR", "/cache/head/t");
        let words = ["/cache/head/a", "--bench"];
        assert_eq!(head(&words, &[("N", "1"), dir]), Ok(SameRun::default()));
        assert!(head(&words, &[dir, ("N", "2")]).unwrap_err().contains("variable N"));
        assert!(head(&words, &[dir]).unwrap_err().contains("variable N"));
        let other_package = SameRun { is_other_package: true, ..SameRun::default() };
        let version = ("CARGO_PKG_VERSION", "2");
        assert_eq!(head(&words, &[dir, ("N", "1"), version]), Ok(other_package));
        let arguments = |words: &[&str], env: &[(&str, &str)]| {
            head(words, env).unwrap_err().contains("arguments")
        };
        assert!(arguments(&["/cache/head/a", "--quick"], &[dir, ("N", "1")]));
        assert!(arguments(&["/cache/head/a"], &[("--bench", ""), dir, ("N", "1")]));
        let called = |one: &str, other: &str| {
            same_command(&command(&[one, "x"], &[]), &command(&[other, "x"], &[]), &folders).is_ok()
        };
        assert!(called("/cache/base/a-0123456789abcdef", "/cache/head/a-fedcba9876543210"));
        assert!(!called("/cache/base/a-0123456789abcdef", "/cache/head/b-0123456789abcdef"));
        assert!(!called("/cache/base/a-0123456789abcdef", "/cache/head/a-0123456789abcde"));
        assert!(!called("/cache/base/a-0123456789abcdex", "/cache/head/a-0123456789abcdey"));
        assert!(!called("a", "b"));
        let of_unit = |hash: &str| format!("/cache/base/t/build/p/{hash}/out/a-{hash}");
        assert!(called(&of_unit("0123456789abcdef"), &of_unit("fedcba9876543210")));
        let other = of_unit("0123456789abcdef").replace("/p/0", "/p/1");
        assert!(!called(&of_unit("0123456789abcdef"), &other), "one of its own alone");
    }

    #[test]
    fn the_hashes_of_cargos_folders_are_no_difference_and_their_names_are_known() {
        let folders = Pair { base: "/cache/base".into(), head: "/cache/head".into() };
        let run = |base: &str, head: &str| {
            let command = |value: &str| Command {
                env: vec![("OUT_DIR".into(), value.into())],
                ..Command::default()
            };
            let same = same_command(&command(base), &command(head), &folders);
            same.map(|same| same.renamed.into_iter().collect::<Vec<_>>())
        };
        let (one, other) = ("semver-0123456789abcdef", "semver-fedcba9876543210");
        let of_base = format!("/lib:/cache/base/t/build/{one}/out");
        let of_head = format!("/lib:/cache/head/t/build/{other}/out");
        assert_eq!(run(&of_base, &of_head), Ok(vec![one.to_owned(), other.to_owned()]));
        assert_eq!(run(&of_base, &of_base.replace("base", "head")), Ok(Vec::new()));
        let differs = |head: &str| run(&of_base, head).unwrap_err().contains("variable OUT_DIR");
        assert!(differs(&of_head.replace("semver", "others")), "of another package");
        assert!(differs(&of_head.replace("out", "new")), "and more");
        assert!(differs(&format!("{of_head}:/cache/head")));
        assert!(differs(&of_head.replace("/t/", "/t/u/")));
        assert!(run("0123456789abcdef", "fedcba9876543210").is_err(), "no folder of a side");
        assert!(run("/a-0123456789abcdef", "/a-fedcba9876543210").is_err(), "no folder of a side");
    }

    #[test]
    fn cargos_variables_count_if_an_executable_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let folders = Pair { base: "/cache/base".into(), head: "/cache/head".into() };
        let run = |content: &str, version: &str| {
            let executable = folder.path().join("a");
            std::fs::write(&executable, content).unwrap();
            let mut base = Program::of_test(&executable, folder.path());
            let mut head = base.clone();
            base.command.set_var("CARGO_PKG_VERSION", "1");
            head.command.set_var("CARGO_PKG_VERSION", version);
            same_run(&base, &head, &folders).map(|same| same.is_other_package)
        };
        assert_eq!(run("code", "1"), Ok(false));
        assert_eq!(run("code", "2"), Ok(true));
        assert_eq!(run("code CARGO_PKG_VERSION code", "1"), Ok(false));
        assert!(run("code CARGO_PKG_VERSION code", "2").unwrap_err().contains("CARGO_PKG_*"));
        assert!(run("CARGO_{} and CARGO_PK", "2").is_err(), "a part of the name");
    }

    #[test]
    fn of_a_program_only_what_is_loaded_counts() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        if Elf::parse(&*program).is_err() {
            // For other programs, every byte counts.
            return;
        }
        let at = |name: &str| {
            let file = object::File::parse(&*program).unwrap();
            let section = file.section_by_name(name).unwrap();
            section.file_range().unwrap().0 as usize
        };
        let header_of = |kind: elf::ProgramType| {
            let file = Elf::parse(&*program).unwrap();
            let headers = file.elf_program_headers();
            let number = headers.iter().position(|one| one.p_type(LittleEndian) == kind).unwrap();
            let all: u64 = file.elf_header().e_phoff.get(LittleEndian);
            all as usize + number * size_of_val(&headers[0])
        };
        let differs_at = |offset: usize| {
            let mut other = program.clone();
            other[offset] ^= 1;
            of_files(program.clone(), other, PATHS) != Some(Vec::new())
        };
        assert!(differs_at(at(".text")), "code");
        assert!(differs_at(at(".rodata")), "constants");
        assert!(differs_at(header_of(elf::PT_GNU_STACK) + 4), "whether the stack is executable");
        assert!(differs_at(header_of(elf::PT_GNU_RELRO)), "what is read-only after relocation");
        assert!(!differs_at(at(".strtab") + 8), "symbol names");
        // The note's header is 16 bytes long; then comes the id.
        assert!(!differs_at(at(".note.gnu.build-id") + 16), "build-id");
    }
}
