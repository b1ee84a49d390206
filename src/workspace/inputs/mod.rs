//! What a build has read that is in no commit: if it changes, another build would produce other
//! files.
//!
//! | what | found by | recorded in | compared |
//! |---|---|---|---|
//! | cargo's configuration files | [`configuration`] | the artifact's key | when an artifact is looked for |
//! | compilers, linkers, the processor, the variables that they read | [`toolchain`] | the artifact's key, and the record of the target folder | then, and before cargo builds in that folder |
//! | other variables, files and libraries | [`traces`], after the build | [`Inputs`], in the artifact's manifest and in the record of the target folder | the same |
//!
//! It is not known what build commands have read, so they are run again if anything around them has
//! changed (see [`super::folder_record`]).

pub(super) mod configuration;
pub(super) mod toolchain;
pub(super) mod traces;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::environment::{Environment, var};
use super::files::unless_damaged;
use crate::error::FileError;
use crate::exec::system::{digest, digest_file, hex};

/// What a build has read besides its commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inputs {
    /// Environment variables, each with a digest of its value (the values may be
    /// secret); `None` for one that was not set.
    variables: BTreeMap<String, Option<String>>,
    /// Files, and folders with all that is in them, outside of the worktree.
    files: Vec<InputFile>,
    /// Why it can't be known whether the inputs have changed.
    unknown: Option<String>,
}

impl Inputs {
    /// Adds the variables of these names, with the values that `env` gives them.
    fn add_variables<'a>(&mut self, names: impl IntoIterator<Item = &'a str>, env: &Environment) {
        for name in names {
            self.variables.insert(name.to_owned(), value_digest(name, env));
        }
    }

    /// Adds the file or folder at `path`, which was read by a build that started at
    /// `began`.
    fn add_file(&mut self, path: PathBuf, role: FileRole, began: SystemTime) {
        if !self.files.iter().any(|known| known.path == path && known.role == role) {
            let held = look(&path).ok().filter(|(_, latest)| *latest < began);
            let digest = held.map_or(String::new(), |(digest, _)| digest);
            self.files.push(InputFile { path, role, digest });
        }
    }

    /// Takes the files of a later build that did not end, as they were then: what it has built is
    /// beside what others have built from the files of these.
    pub(super) fn add_files_of(&mut self, later: Inputs) {
        self.files.retain(|known| later.files.iter().all(|file| file.path != known.path));
        self.files.extend(later.files);
    }

    /// Notes why not all inputs are known. From then on they never count as
    /// unchanged.
    pub(super) fn set_unknown(&mut self, why: impl Into<String>) {
        self.unknown.get_or_insert(why.into());
    }

    /// Whether all inputs are known to be what they were, in the environment `env`.
    ///
    /// # Errors
    /// When a file that is there can't be read now.
    pub(super) fn is_unchanged(&self, env: &Environment) -> Result<bool, FileError> {
        let mut variables = self.variables.iter();
        if self.unknown.is_some()
            || !variables.all(|(name, value)| value_digest(name, env) == *value)
        {
            return Ok(false);
        }
        for file in &self.files {
            if !file.is_unchanged()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether something has changed that cargo considers unchanged: a library, or a
    /// file that is no newer than `built`, the end of the build that read it. Cargo
    /// compares times, not contents.
    ///
    /// # Errors
    /// When a file that is there can't be read now.
    pub(super) fn hides_a_change(&self, built: SystemTime) -> Result<bool, FileError> {
        for file in &self.files {
            let is_hidden = match file.role {
                FileRole::Library => !file.is_unchanged()?,
                FileRole::Source => {
                    // Cargo notices by itself that a file is gone. One that was not known for
                    // certain may be another one now.
                    let found = file.look()?;
                    found.is_some_and(|(digest, latest)| digest != file.digest && latest <= built)
                }
            };
            if is_hidden {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A digest of the value that `env` gives a variable.
fn value_digest(name: &str, env: &Environment) -> Option<String> {
    var(env, name).map(|value| digest(value.as_encoded_bytes()))
}

/// A file or folder as it was when something was built from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct InputFile {
    path: PathBuf,
    role: FileRole,
    /// Of its contents; empty where they are not known for certain, because it was
    /// changed after the build began: the change may or may not be in the build.
    digest: String,
}

/// What a file is to a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum FileRole {
    /// Cargo compares its time.
    Source,
    /// The linker read it, and cargo does not watch it.
    Library,
}

impl InputFile {
    fn is_unchanged(&self) -> Result<bool, FileError> {
        // Where it was not known for certain, it need not be read now.
        if self.digest.is_empty() {
            return Ok(false);
        }
        Ok(self.look()?.is_some_and(|(digest, _)| digest == self.digest))
    }

    fn look(&self) -> Result<Option<(String, SystemTime)>, FileError> {
        unless_damaged(look(&self.path), &self.path)
    }
}

/// A digest of a file, or of the names and contents of the files in a folder,
/// and the time of the latest change. What cargo and git keep in a package's
/// folder does not count.
fn look(path: &Path) -> io::Result<(String, SystemTime)> {
    let about = path.metadata()?;
    if !about.is_dir() {
        return Ok((digest_file(path)?, about.modified()?));
    }
    let mut hasher = Sha256::new();
    let mut latest = SystemTime::UNIX_EPOCH;
    let (mut folders, mut seen) = (vec![path.to_owned()], BTreeSet::new());
    while let Some(folder) = folders.pop() {
        // A link may lead to a folder around it.
        if !seen.insert(folder.canonicalize()?) {
            continue;
        }
        let entries = std::fs::read_dir(&folder)?.collect::<io::Result<Vec<_>>>()?;
        let mut paths: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
        paths.sort();
        for path in paths {
            // Through links: so do cargo and the compiler.
            let Ok(about) = path.metadata() else { continue };
            let name = path.file_name().unwrap_or_default();
            if about.is_dir() && ![OsStr::new(".git"), OsStr::new("target")].contains(&name) {
                folders.push(path);
            } else if about.is_file() {
                latest = latest.max(about.modified()?);
                hasher.update(path.as_os_str().as_encoded_bytes());
                hasher.update([0]);
                hasher.update(digest_file(&path)?);
            }
        }
    }
    Ok((hex(hasher.finalize().as_slice()), latest))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::time::Duration;

    use super::*;

    const NO_ENV: [(OsString, OsString); 0] = [];

    fn of_source(path: &Path, began: SystemTime) -> Inputs {
        let mut inputs = Inputs::default();
        inputs.add_file(path.to_owned(), FileRole::Source, began);
        inputs
    }

    fn soon() -> SystemTime {
        SystemTime::now() + Duration::from_secs(60)
    }

    #[test]
    fn a_file_that_is_changed_added_to_a_folder_or_removed_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            crate::exec::system::write(&folder.path().join(name), text);
        };
        write("Cargo.toml", "x");
        write("src/lib.rs", "y");
        let inputs = of_source(folder.path(), soon());
        let file = of_source(&folder.path().join("src/lib.rs"), soon());
        let is_unchanged = |inputs: &Inputs| inputs.is_unchanged(&NO_ENV).unwrap();
        write("target/debug/a", "z");
        write(".git/HEAD", "z");
        assert!(is_unchanged(&inputs) && is_unchanged(&file));
        write("src/lib.rs", "Y");
        assert!(!is_unchanged(&inputs) && !is_unchanged(&file));
        write("src/lib.rs", "y");
        write("src/new.rs", "");
        assert!(!is_unchanged(&inputs) && is_unchanged(&file));
        std::fs::remove_file(folder.path().join("src/new.rs")).unwrap();
        assert!(is_unchanged(&inputs));
        std::fs::remove_file(folder.path().join("src/lib.rs")).unwrap();
        assert!(!is_unchanged(&inputs) && !is_unchanged(&file));
    }

    #[test]
    fn a_change_behind_a_link_is_seen_though_links_lead_in_a_circle() {
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [folder, elsewhere] = folders.each_ref().map(|folder| folder.path());
        crate::exec::system::link(elsewhere, &folder.join("linked")).unwrap();
        crate::exec::system::link(folder, &elsewhere.join("back")).unwrap();
        std::fs::write(elsewhere.join("a"), "x").unwrap();
        let inputs = of_source(folder, soon());
        assert!(inputs.is_unchanged(&NO_ENV).unwrap());
        std::fs::write(elsewhere.join("a"), "y").unwrap();
        assert!(!inputs.is_unchanged(&NO_ENV).unwrap());
    }

    #[test]
    fn a_source_that_changed_during_the_build_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "x").unwrap();
        let before = SystemTime::now() - Duration::from_secs(60);
        assert!(!of_source(folder.path(), before).is_unchanged(&NO_ENV).unwrap());
        assert!(!of_source(&folder.path().join("gone"), soon()).is_unchanged(&NO_ENV).unwrap());
    }

    #[test]
    fn variables_count_by_value_and_by_whether_they_are_set() {
        let env = |pairs: &[(&str, &str)]| -> Vec<(OsString, OsString)> {
            pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
        };
        let mut inputs = Inputs::default();
        inputs.add_variables(["A", "B"], &env(&[("A", "secret"), ("C", "1")]));
        assert!(inputs.is_unchanged(&env(&[("A", "secret"), ("C", "2")])).unwrap());
        assert!(!inputs.is_unchanged(&env(&[("A", "other")])).unwrap());
        assert!(!inputs.is_unchanged(&env(&[])).unwrap());
        assert!(!inputs.is_unchanged(&env(&[("A", "secret"), ("B", "")])).unwrap());
        assert!(!serde_json::to_string(&inputs).unwrap().contains("secret"));
        inputs.set_unknown("a build script reads what is not there");
        assert!(!inputs.is_unchanged(&env(&[("A", "secret")])).unwrap());
    }

    #[test]
    fn a_change_that_is_no_newer_than_the_build_is_hidden_from_cargo() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let write = |text: &str, time: SystemTime| {
            std::fs::write(&path, text).unwrap();
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        };
        let built = SystemTime::now();
        let minute = Duration::from_secs(60);
        write("x", built - 10 * minute);
        let inputs = of_source(&path, built);
        let mut linked = Inputs::default();
        linked.add_file(path.clone(), FileRole::Library, built);
        assert!(!inputs.hides_a_change(built).unwrap() && !linked.hides_a_change(built).unwrap());
        write("y", built + minute);
        assert!(!inputs.hides_a_change(built).unwrap(), "cargo sees that it is newer");
        assert!(linked.hides_a_change(built).unwrap(), "cargo does not look at libraries");
        write("y", built - minute);
        assert!(inputs.hides_a_change(built).unwrap());
        // It was newer than the beginning of the build, so either may have been built.
        let unknown = of_source(&path, built - 2 * minute);
        assert!(unknown.hides_a_change(built).unwrap());
        write("y", built + minute);
        assert!(!unknown.hides_a_change(built).unwrap());
        // A failed build has built another one since.
        let mut later = inputs.clone();
        write("z", built - 2 * minute);
        later.add_files_of(of_source(&path, built));
        assert!(!later.hides_a_change(built).unwrap() && inputs.hides_a_change(built).unwrap());
        write("x", built - 10 * minute);
        assert!(later.hides_a_change(built).unwrap() && !inputs.hides_a_change(built).unwrap());
    }
}
