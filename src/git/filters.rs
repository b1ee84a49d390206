//! Files that lie otherwise in a working tree than in git: those with a
//! `filter` of the user's, which libgit2 does not run.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use git2::{AttrCheckFlags, Index, ObjectType, Odb, Oid, Repository};

use super::worktree::Store;
use super::{Error, Repo, Revision};

/// What a file of git-lfs begins with that stands for another one.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

/// The files of a worktree that the user's filters are about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filtered {
    /// Those that lie there as git has them, and should not.
    pub raw: Vec<PathBuf>,
    /// Those of git-lfs.
    pub lfs: Vec<PathBuf>,
    /// The filters, as `-c` of git takes them.
    pub settings: Vec<String>,
}

impl Store {
    /// The filtered files of the worktree at `path`, which `revision` was
    /// checked out into.
    ///
    /// # Errors
    /// When the worktree or the user's configuration can't be read.
    pub fn filtered(
        &self,
        user: &Repo,
        path: &Path,
        revision: &Revision,
    ) -> Result<Filtered, Error> {
        let failed = || Error::git("find the filtered files of", path.display().to_string());
        let worktree = Repository::open(path).map_err(failed())?;
        let index = worktree.index().map_err(failed())?;
        let database = self.repository().odb().map_err(failed())?;
        if !speaks_of_filters(&index, &database, &user.inner.commondir().join("info/attributes")) {
            return Ok(Filtered::default());
        }
        let (known, settings) = drivers(&user.inner)?;
        let mut filtered = Filtered { settings, ..Filtered::default() };
        let head = Oid::from_str(&revision.commit).and_then(|id| self.repository().find_commit(id));
        let head = head.and_then(|commit| commit.tree()).map_err(failed())?;
        for entry in index.iter().filter(|entry| entry.mode & 0o170_000 == 0o100_000) {
            let file = crate::system::from_git(&entry.path);
            let filter = worktree.get_attr(&file, "filter", AttrCheckFlags::INDEX_THEN_FILE);
            let Ok(Some(filter)) = filter else { continue };
            if filter == "lfs" {
                filtered.lfs.push(file.clone());
            }
            // Of a dirty tree, what was changed was taken as it lies there.
            let is_kept = || head.get_path(&file).is_ok_and(|kept| kept.id() == entry.id);
            if !known.contains(filter) || (revision.dirty && !is_kept()) {
                continue;
            }
            let (size, _) = database.read_header(entry.id).map_err(failed())?;
            if is_blob(&path.join(&file), entry.id, size as u64) {
                filtered.raw.push(file);
            }
        }
        Ok(filtered)
    }

    /// Sees to it that the index of the worktree at `path`, which was just written, is
    /// believed: of files as young as it is libgit2 compares the contents, which
    /// filters have changed.
    ///
    /// # Errors
    /// When the index can't be touched.
    pub fn settle(&self, path: &Path) -> Result<(), Error> {
        let failed = Error::git("open", path.display().to_string());
        let index = Repository::open(path).and_then(|tree| tree.index()).map_err(failed)?;
        super::times::settle(&index)
    }
}

/// Whether any attributes of a tree, or those at `own`, can name a filter. Asking them
/// of every file takes long.
fn speaks_of_filters(index: &Index, database: &Odb<'_>, own: &Path) -> bool {
    let speaks = |text: &[u8]| text.windows(6).any(|word| word == b"filter");
    let mut files = index.iter().filter(|entry| entry.path.ends_with(b".gitattributes"));
    // What can't be read may.
    std::fs::read(own).is_ok_and(|text| speaks(&text))
        || files.any(|entry| database.read(entry.id).map_or(true, |file| speaks(file.data())))
}

/// The filters that the user's configuration knows, and their settings.
fn drivers(user: &Repository) -> Result<(BTreeSet<String>, Vec<String>), Error> {
    let failed = || Error::git("read", "the configuration");
    let config = user.config().map_err(failed())?;
    let mut entries = config.entries(Some("^filter\\.")).map_err(failed())?;
    let (mut names, mut settings) = (BTreeSet::new(), Vec::new());
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(failed())?;
        let (Ok(key), Ok(value)) = (entry.name(), entry.value()) else { continue };
        let Some((name, what)) = key.strip_prefix("filter.").and_then(|rest| rest.rsplit_once('.'))
        else {
            continue;
        };
        if ["smudge", "process"].contains(&what) {
            names.insert(name.to_owned());
        }
        settings.push(format!("{key}={value}"));
    }
    // Where git-lfs finds what the user's clone has.
    settings.push(format!("lfs.storage={}", user.commondir().join("lfs").display()));
    Ok((names, settings))
}

/// Whether a file holds just what the blob does.
fn is_blob(file: &Path, blob: Oid, size: u64) -> bool {
    file.symlink_metadata().is_ok_and(|about| about.is_file() && about.len() == size)
        && Oid::hash_file(ObjectType::Blob, file).is_ok_and(|id| id == blob)
}

/// Whether a file only stands for another one, which git-lfs has elsewhere.
pub fn is_pointer(file: &Path) -> bool {
    let mut begin = [0; POINTER.len()];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == POINTER
}
