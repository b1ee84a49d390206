//! Files whose contents in a working tree differ from those in git, because the user has
//! a `filter` for them. Libgit2 does not run filters.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use git2::{AttrCheckFlags, ErrorCode, ObjectType, Odb, Oid, Repository};

use super::store::{Store, TreeEntry};
use super::{Error, Revision};
use crate::exec::system::{digest, digest_file, from_git, git_bytes, stamp};

/// The beginning of a git-lfs pointer, a file that represents another one.
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n";

/// The maximum size of a pointer, bytes.
const LONGEST: u64 = 1024;

/// The files of a worktree to which the user's filters apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filtered {
    /// Those with their content from git, which still have to pass through a filter.
    pub(crate) raw: Vec<PathBuf>,
    /// Those managed by git-lfs.
    pub(crate) lfs: Vec<PathBuf>,
    /// Where the clone keeps the contents of files of git-lfs.
    pub(crate) storage: PathBuf,
    /// The filters, as arguments of git's `-c`.
    pub(crate) settings: Vec<String>,
}

/// The filtered files of the worktree at `path`, in which `revision` is
/// checked out.
pub(crate) fn filtered(
    store: &Store,
    user: &Repository,
    path: &Path,
    revision: &Revision,
) -> Result<Filtered, Error> {
    let failed = || Error::git("find the filtered files of", path.display());
    let worktree = Repository::open(path).map_err(failed())?;
    let index = worktree.index().map_err(failed())?;
    let database = store.repository().odb().map_err(failed())?;
    let files = index.iter().filter(|entry| is_attributes(&from_git(&entry.path)));
    if !may_mention(user, &database, files.map(|entry| entry.id), &["filter"]) {
        return Ok(Filtered::default());
    }
    let (known, settings) = drivers(user)?;
    let storage = storage(user);
    let mut filtered = Filtered { settings, storage, ..Filtered::default() };
    let head = Oid::from_str(&revision.commit).and_then(|id| store.repository().find_commit(id));
    let head = head.and_then(|commit| commit.tree()).map_err(failed())?;
    for entry in index.iter().filter(|entry| entry.mode & 0o170_000 == 0o100_000) {
        let file = from_git(&entry.path);
        let filter = worktree.get_attr(&file, "filter", AttrCheckFlags::INDEX_THEN_FILE);
        let Ok(Some(filter)) = filter else { continue };
        if filter == "lfs" {
            let is_pointer = Pointer::read(&path.join(&file)).is_some();
            filtered.lfs.push(file.clone());
            // Replaced by content in the clone, since git-lfs itself would fetch.
            if is_pointer {
                continue;
            }
        }
        // The snapshot of a dirty tree has the unfiltered content of changed files.
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

/// Makes libgit2 trust the index of the worktree at `path`, which was just written: it
/// compares the contents of files that are as new as the index, and filters have
/// changed those.
pub(crate) fn settle(path: &Path) -> Result<(), Error> {
    let failed = Error::git("open", path.display());
    let index = Repository::open(path).and_then(|tree| tree.index()).map_err(failed)?;
    super::times::settle(&index)
}

/// Replaces the pointers of git-lfs in the worktree `tree` by what the clone has, and notes in the
/// index that these files are correct, although their blobs are only pointers. Adds the pointers
/// to what is not there to `missing`; returns whether it replaced any. (git-lfs itself would write
/// into the clone, and ask the server.)
pub(crate) fn fill_pointers(
    tree: &Path,
    filtered: &Filtered,
    missing: &mut Vec<PathBuf>,
) -> Result<bool, Error> {
    if filtered.lfs.is_empty() {
        return Ok(false);
    }
    let failed = || Error::git("write the index of", tree.display());
    let mut index = Repository::open(tree).and_then(|tree| tree.index()).map_err(failed())?;
    let mut is_noted = false;
    for path in &filtered.lfs {
        let full = tree.join(path);
        let Some(pointer) = Pointer::read(&full) else { continue };
        let place = pointer.place(&filtered.storage);
        let is_there = place.metadata().is_ok_and(|about| about.len() == pointer.size);
        if !is_there || digest_file(&place).ok().as_ref() != Some(&pointer.sha256) {
            missing.push(path.clone());
            continue;
        }
        let mode = full.metadata().map_err(Error::io("read", &full))?.permissions();
        fs_err::remove_file(&full).map_err(Error::io("remove", &full))?;
        fs_err::copy(&place, &full).map_err(Error::io("copy", &place))?;
        fs_err::set_permissions(&full, mode).map_err(Error::io("change", &full))?;
        let about = full.symlink_metadata().map_err(Error::io("read", &full))?;
        let Some(mut entry) = index.get_path(path, 0) else { continue };
        super::times::note(&mut entry, stamp(&about));
        entry.file_size = about.len() as u32;
        index.add(&entry).map_err(failed())?;
        is_noted = true;
    }
    if is_noted {
        super::times::save(&mut index, tree)?;
    }
    Ok(is_noted)
}

/// Whether libgit2 would change some files of a tree when it writes them: with other line
/// endings, or with the name of the blob for `$Id$`. The tree has `entries`, and is checked out
/// into `worktree`.
pub(super) fn converts(user: &Repository, worktree: &Repository, entries: &[TreeEntry]) -> bool {
    let config = worktree.config().and_then(|mut config| config.snapshot());
    let (Ok(config), Ok(database)) = (config, worktree.odb()) else { return true };
    let is_set = |key: &str, plain: &[&str]| match config.get_string(key) {
        Ok(value) => !plain.contains(&&*value.to_lowercase()),
        Err(error) => error.code() != ErrorCode::NotFound,
    };
    let files = entries.iter().filter(|entry| is_attributes(&entry.path)).map(|entry| entry.id);
    is_set("core.autocrlf", &["false", "no", "off", "0", "input"])
        || is_set("core.eol", &["lf", "native"])
        || may_mention(user, &database, files, &["crlf", "ident"])
}

/// A digest of all that decides what is written of a blob: the attributes in the tree with
/// these `entries`, those in no commit, and the settings of line endings.
pub(super) fn attributes(user: &Repository, store: &Repository, entries: &[TreeEntry]) -> String {
    let mut text = Vec::new();
    for entry in entries.iter().filter(|entry| is_attributes(&entry.path)) {
        text.extend_from_slice(entry.id.as_bytes());
        text.extend_from_slice(&git_bytes(&entry.path));
        text.push(0);
    }
    let config = store.config().and_then(|mut config| config.snapshot());
    for key in ["core.autocrlf", "core.eol"] {
        let value = config.as_ref().ok().and_then(|config| config.get_string(key).ok());
        text.extend_from_slice(format!("{key}={value:?}\0").as_bytes());
    }
    for path in own_attributes(user) {
        text.extend_from_slice(&std::fs::read(path).unwrap_or_default());
        text.push(0);
    }
    digest(&text)
}

/// Whether a path is that of a file of attributes.
pub(super) fn is_attributes(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".gitattributes"))
}

/// The files of attributes that are in no commit: the clone's, the user's and the
/// machine's.
fn own_attributes(user: &Repository) -> Vec<PathBuf> {
    use etcetera::BaseStrategy;
    let named = user.config().and_then(|config| config.get_path("core.attributesfile")).ok();
    let usual = || {
        let strategy = etcetera::choose_base_strategy().ok()?;
        Some(strategy.config_dir().join("git/attributes"))
    };
    let clone = user.commondir().join("info/attributes");
    [clone, PathBuf::from("/etc/gitattributes")].into_iter().chain(named.or_else(usual)).collect()
}

/// Whether attributes, those in a tree (with these ids) or in no commit, may have one of
/// these words. To look up the attributes of every file takes as long as the rest of a
/// checkout.
fn may_mention(
    user: &Repository,
    database: &Odb<'_>,
    mut in_tree: impl Iterator<Item = Oid>,
    words: &[&str],
) -> bool {
    let has = |text: &[u8], word: &str| text.windows(word.len()).any(|at| at == word.as_bytes());
    let has_any = |text: &[u8]| words.iter().any(|word| has(text, word));
    let mut own = own_attributes(user).into_iter();
    own.any(|path| match std::fs::read(path) {
        Ok(text) => has_any(&text),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }) || in_tree.any(|id| database.read(id).map_or(true, |file| has_any(file.data())))
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
    Ok((names, settings))
}

/// Where git-lfs keeps what the user's clone has: `lfs.storage`, from the git
/// folder if it is relative, else `lfs` in there.
pub(super) fn storage(user: &Repository) -> PathBuf {
    let config = user.config().and_then(|mut config| config.snapshot());
    let set = config.and_then(|config| config.get_path("lfs.storage"));
    user.commondir().join(set.unwrap_or_else(|_| PathBuf::from("lfs")))
}

/// Whether a file holds the same as the blob.
fn is_blob(file: &Path, blob: Oid, size: u64) -> bool {
    file.symlink_metadata().is_ok_and(|about| about.is_file() && about.len() == size)
        && Oid::hash_file(ObjectType::Blob, file).is_ok_and(|id| id == blob)
}

/// What a pointer contains about its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// The SHA-256 of that file, in hexadecimal.
    pub(crate) sha256: String,
    /// Its size, bytes.
    pub(crate) size: u64,
}

impl Pointer {
    /// Reads a file; `None` when it is not a pointer.
    pub(crate) fn read(file: &Path) -> Option<Self> {
        let about = file.symlink_metadata().ok()?;
        if !about.is_file() || about.len() > LONGEST {
            return None;
        }
        let mut text = String::new();
        std::fs::File::open(file).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
        let fields = text.strip_prefix(POINTER)?;
        let field = |name: &str| fields.lines().find_map(|line| line.strip_prefix(name));
        let sha256 = field("oid sha256:")?.to_owned();
        let is_hex = sha256.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
        let size = field("size ")?.parse().ok()?;
        (sha256.len() == 64 && is_hex).then_some(Pointer { sha256, size })
    }

    /// Where that file is, in a clone's storage.
    pub(crate) fn place(&self, storage: &Path) -> PathBuf {
        let Pointer { sha256, .. } = self;
        storage.join("objects").join(&sha256[..2]).join(&sha256[2..4]).join(sha256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_names_a_file_by_its_hash_and_nothing_else_does() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            Pointer::read(file.path())
        };
        let sha256 = "0a".repeat(32);
        let pointer = Pointer { sha256: sha256.clone(), size: 12 };
        let text = format!("{POINTER}oid sha256:{sha256}\nsize 12\n");
        assert_eq!(read(&text), Some(pointer.clone()));
        let expected = PathBuf::from(format!("/s/objects/0a/0a/{sha256}"));
        assert_eq!(pointer.place(Path::new("/s")), expected);
        for bad in [
            String::new(),
            text.replace("0a0a", "../."),
            text.replace("size 12", "size -1"),
            text.replace("sha256:", "sha256:0"),
            text.replace("spec/v1", "spec/v2"),
            text.clone() + &" ".repeat(1024),
        ] {
            assert_eq!(read(&bad), None, "{bad}");
        }
    }
}
