//! What two executables were linked from.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::rc::Rc;

use crate::exec::program::{Program, Relink, RelinkInput, changed};
use crate::exec::system::{digest, replace_bytes};
use crate::model::Pair;

/// The suffixes of files that rustc makes and puts in an order of its own.
pub(super) const RUSTCS: [&str; 2] = [".rlib", ".rcgu.o"];

/// How files of libraries begin that contain all that linkers take of them.
const LIBRARIES: [&[u8]; 2] = [b"!<arch>\n", b"\x7fELF"];

pub(super) fn content_of_executable(program: &Program) -> Result<Vec<u8>, String> {
    let path = program.executable.as_ref().ok_or("cargo did not build it")?;
    read(path, program.executable_sha256.as_deref())
}

/// The links of both executables.
pub(super) fn links(programs: &Pair<Program>) -> Result<Pair<&Relink>, String> {
    Pair::try_both(|side| programs[side].relink.as_ref().map_err(String::clone))
}

/// Checks that two executables were linked by the same command, except for the files
/// that were kept, and for the paths of folders of the sides.
pub(super) fn same_call(relink: &Pair<&Relink>, programs: &Pair<Program>) -> Result<(), String> {
    let calls = Pair::both(|side| {
        let (relink, home) = (relink[side], programs[side].home.to_string_lossy());
        let others = relink.inputs.iter().filter(|input| input.sha256.is_none());
        let others: BTreeSet<_> =
            others.map(|RelinkInput { path, bytes, .. }| (path, bytes)).collect();
        let mut words: Vec<_> =
            relink.command.argv.iter().map(|word| plain(word, relink, &home)).collect();
        // The order of rustc's own files is compared by what depends on it.
        words.dedup_by(|one, other| one.is_none() && other.is_none());
        (others, words)
    });
    match calls.base == calls.head {
        true => Ok(()),
        false => Err("the sides are linked with different libraries or options".to_owned()),
    }
}

/// A word of a call without the folders of kept files and of its side; `None` for rustc's own files.
fn plain(word: &OsStr, relink: &Relink, home: &str) -> Option<String> {
    let mut plain = word.to_string_lossy().into_owned();
    for RelinkInput { path, .. } in kept_files(relink) {
        if path == Path::new(word) && RUSTCS.iter().any(|suffix| plain.ends_with(suffix)) {
            return None;
        }
        if let Some(folder) = path.parent().and_then(Path::to_str) {
            plain = plain.replace(folder, "");
        }
    }
    // What linkers find in a folder is noted.
    let folder = if plain.starts_with("-L") { home } else { "" };
    Some(plain.replace(folder, ""))
}

/// A file: the name of the crate from which it was compiled, and its content.
pub(super) type OriginFile = (String, Vec<u8>);

/// Files in the order of the link.
pub(super) type Files = Vec<Rc<OriginFile>>;

/// The kept files of each side; those that both have are the same in memory. Of files that
/// only one has, the side's own path is replaced by the base's. Without `with_shared`, there
/// are no others.
pub(super) fn files(
    links: &Pair<&Relink>,
    programs: &Pair<Program>,
    with_shared: bool,
) -> Result<Pair<Files>, String> {
    let mut shared: HashMap<&Option<String>, Rc<OriginFile>> = HashMap::new();
    Pair::try_both(|side| {
        let others: HashSet<_> =
            kept_files(links[side.other()]).map(|input| &input.sha256).collect();
        let mut all = Vec::new();
        for input in kept_files(links[side]) {
            if !others.contains(&input.sha256) {
                let (origin, content) = content_of(input)?;
                all.push(Rc::new((origin, with_base_paths(content, programs))));
            } else if with_shared {
                if !shared.contains_key(&input.sha256) {
                    shared.insert(&input.sha256, Rc::new(content_of(input)?));
                }
                all.extend(shared.get(&input.sha256).cloned());
            }
        }
        Ok(all)
    })
}

/// Replaces the folder of the head by that of the base, if that is as long.
pub(super) fn with_base_paths(mut content: Vec<u8>, programs: &Pair<Program>) -> Vec<u8> {
    let homes = programs.as_ref().map(|program| program.home.as_os_str().as_encoded_bytes());
    if homes.base.len() == homes.head.len() {
        replace_bytes(&mut content, homes.head, homes.base);
    }
    content
}

pub(super) fn kept_files(link: &Relink) -> impl Iterator<Item = &RelinkInput> {
    link.inputs.iter().filter(|input| input.sha256.is_some())
}

fn content_of(input: &RelinkInput) -> Result<OriginFile, String> {
    let name = input.path.file_name().unwrap_or_default().to_string_lossy();
    // The hash follows the last hyphen, as in `libname-0123456789abcdef.rlib`.
    let name = name.split('.').next().unwrap_or_default();
    let name = name.rsplit_once('-').map_or(name, |(name, _)| name);
    let content = read(&input.path, input.sha256.as_deref())?;
    let is_library = input.path.extension().is_some_and(|end| end == "a" || end == "so");
    // Neither a thin archive nor a script does.
    if is_library && !LIBRARIES.iter().any(|begin| content.starts_with(begin)) {
        return Err(format!("`{}` names files that were not kept", input.path.display()));
    }
    Ok((name.trim_start_matches("lib").to_owned(), content))
}

/// Reads a file of this digest, where one is known.
pub(super) fn read(path: &Path, sha256: Option<&str>) -> Result<Vec<u8>, String> {
    let content = std::fs::read(path)
        .map_err(|error| format!("could not read `{}`: {error}", path.display()))?;
    match sha256.is_none_or(|sha256| sha256 == digest(&content)) {
        true => Ok(content),
        false => Err(changed(path, true)),
    }
}
