//! The files of a pack: an archive in the format of `tar`. Its content is not trusted to stay
//! in its folders: what would be written elsewhere is refused.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use tar::{Builder, Entries, EntryType, Header, HeaderMode};

use super::{damaged, outside};
use crate::error::Error;
use crate::exec::process::Interrupt;
use crate::exec::system::{is_inside, link, make_private_dir, permissions};
use crate::workspace::files::{remove, walk};

/// The first entry: all that is not a file.
const ABOUT: &str = "pack.json";

/// The folders of an artifact that runs may need.
pub(super) const OF_ARTIFACT: [&str; 2] = ["files", "compared"];

/// The folders of a side.
pub(super) const OF_SIDE: [&str; 2] = ["tree", "built"];

/// What cargo keeps for later builds alone.
const INTERMEDIATE: [&str; 3] = ["deps", "incremental", ".fingerprint"];

/// Whether a path in one of the folders belongs to git, or to later builds of what a build command
/// has built.
fn is_left_out(path: &Path) -> bool {
    let is_named = |name: &str| path.file_name().is_some_and(|found| found == name);
    is_named(".git") || path.starts_with("target") && INTERMEDIATE.into_iter().any(is_named)
}

/// Whether a path is below one of the folders of a side or an artifact, or is a link of a side
/// to an artifact.
fn is_packed(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().take(3).map(OsStr::to_string_lossy).collect();
    let parts: Vec<&str> = parts.iter().map(|part| &**part).collect();
    let is_known = match parts.as_slice() {
        ["base" | "head", folder, ..] if OF_SIDE.contains(folder) => true,
        ["base" | "head", link] => link.starts_with("t-"),
        ["builds", _, folder, ..] => OF_ARTIFACT.contains(folder),
        _ => false,
    };
    is_known && path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Whether a link at `path` below `root` leads to something below a folder of the pack. With `..`
/// in the middle, that is not known from its text.
fn stays_inside(root: &Path, path: &Path, to: &Path) -> bool {
    if let Ok(inside) = to.strip_prefix(root) {
        return is_packed(inside);
    }
    let mut folder = path.parent().unwrap_or(path).to_owned();
    let mut parts = to.components().peekable();
    while parts.next_if_eq(&Component::ParentDir).is_some() {
        if !folder.pop() {
            return false;
        }
    }
    is_packed(&folder.join(parts.collect::<PathBuf>()))
}

/// An archive whose entries have neither times nor owners, which mean nothing on another machine.
/// What is not a file is its first entry.
pub(super) fn begin<W: Write>(to: W, about: &[u8]) -> io::Result<Builder<W>> {
    let mut archive = Builder::new(to);
    archive.mode(HeaderMode::Deterministic);
    archive.follow_symlinks(false);
    archive.sparse(false);
    let mut header = Header::new_gnu();
    header.set_size(about.len() as u64);
    archive.append_data(&mut header, ABOUT, about)?;
    Ok(archive)
}

/// Adds a folder or a link below `root`, if it exists. Links that lead out of the pack are left
/// out.
pub(super) fn add_folder(
    archive: &mut Builder<impl Write>,
    root: &Path,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<(), Error> {
    let full = root.join(folder);
    if full.is_symlink() {
        return add(archive, root, folder);
    }
    if full.is_dir() {
        add(archive, root, folder)?;
        for (path, _) in walk(&full, is_left_out)? {
            interrupt.check()?;
            add(archive, root, &folder.join(path))?;
        }
    }
    Ok(())
}

fn add(archive: &mut Builder<impl Write>, root: &Path, path: &Path) -> Result<(), Error> {
    let full = root.join(path);
    let failed = || Error::io("pack", &full);
    let about = full.symlink_metadata().map_err(failed())?;
    let is_packed = match about.is_symlink() {
        true => stays_inside(root, path, &std::fs::read_link(&full).map_err(failed())?),
        false => about.is_dir() || about.is_file(),
    };
    if is_packed {
        archive.append_path_with_name(&full, path).map_err(failed())?;
    }
    Ok(())
}

/// The content of the first entry.
pub(super) fn first(entries: &mut Entries<'_, impl Read>) -> io::Result<Vec<u8>> {
    let mut about = Vec::new();
    entries.next().ok_or(io::ErrorKind::UnexpectedEof)??.read_to_end(&mut about)?;
    Ok(about)
}

/// Writes the entries of a pack, the `file`, below `root`, in place of what is there. Where an
/// artifact was built, the rest of it stays: its record tells whether these are its files.
///
/// # Errors
/// If one of them would be elsewhere, or can't be written.
pub(super) fn unpack(
    file: &Path,
    entries: Entries<'_, impl Read>,
    root: &Path,
    interrupt: &Interrupt,
) -> Result<(), Error> {
    let damaged = |error| damaged(file).caused_by(error);
    let mut folders = BTreeSet::new();
    for entry in entries {
        interrupt.check()?;
        let mut entry = entry.map_err(damaged)?;
        let path = entry.path().map_err(damaged)?.into_owned();
        if !is_packed(&path) || !is_inside(root, &path) {
            return Err(outside(file, &path).into());
        }
        let folder: PathBuf = path.components().take(3).collect();
        if path.starts_with("builds") && folders.insert(folder.clone()) {
            remove(&root.join(folder))?;
        }
        let full = root.join(&path);
        let failed = || Error::io("write", &full);
        make_private_dir(full.parent().unwrap_or(root)).map_err(failed())?;
        match entry.header().entry_type() {
            EntryType::Directory => make_private_dir(&full).map_err(failed())?,
            EntryType::Regular => {
                let mode = entry.header().mode().map_err(failed())?;
                let mut file = File::create_new(&full).map_err(failed())?;
                io::copy(&mut entry, &mut file).map_err(failed())?;
                file.set_permissions(permissions(mode & 0o755)).map_err(failed())?;
            }
            EntryType::Symlink => {
                let to = entry.link_name().map_err(failed())?.unwrap_or_default();
                if !stays_inside(root, &path, &to) {
                    return Err(outside(file, &path).into());
                }
                remove(&full)?;
                link(&to, &full).map_err(failed())?;
            }
            _ => return Err(outside(file, &path).into()),
        }
    }
    Ok(())
}
