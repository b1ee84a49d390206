//! Published builds: what a run of one side needs, with a checksum of every
//! file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{Environment, Error, Inputs, Key, Room, io_error, make_dir};
use crate::exec::system::{digest_file, is_inside};
use crate::workspace::cargo::Invocation;

impl Room {
    /// The artifact of a key, if it is there and whole, and all that it was
    /// built of is as it was, the environment `env` included. Any other one is
    /// removed.
    ///
    /// # Errors
    /// When a damaged one can't be removed, or it can't be known whether it is
    /// one: a file of it can't be read now.
    pub fn artifact(&self, key: &Key, env: &Environment) -> Result<Option<Artifact>, Error> {
        let path = self.builds().join(key.name());
        if !path.try_exists().map_err(io_error("look at", &path))? {
            return Ok(None);
        }
        match Artifact::read(&path, key, env)? {
            Some(artifact) => {
                let used = File::open(path.join("manifest.json"));
                let _ = used.and_then(|file| file.set_modified(SystemTime::now()));
                Ok(Some(artifact))
            }
            None => {
                std::fs::remove_dir_all(&path).map_err(io_error("remove", &path))?;
                Ok(None)
            }
        }
    }

    /// Publishes the files `from` (paths below `root`, copied as they are) as
    /// the artifact of a key, with the empty `folders`, built of its commit and
    /// of `inputs`.
    ///
    /// # Errors
    /// When they can't be copied.
    pub fn publish(
        &self,
        key: &Key,
        root: &Path,
        from: &[PathBuf],
        folders: &[PathBuf],
        executables: Vec<Executable>,
        inputs: Inputs,
    ) -> Result<Artifact, Error> {
        let builds = self.builds();
        make_dir(&builds)?;
        let staging = tempfile::Builder::new()
            .prefix("new-")
            .tempdir_in(&builds)
            .map_err(io_error("make a folder in", &builds))?;
        let mut files = Vec::new();
        for path in from {
            let Ok(relative) = path.strip_prefix(root) else {
                continue;
            };
            let to = staging.path().join("files").join(relative);
            make_dir(to.parent().unwrap_or(staging.path()))?;
            std::fs::copy(path, &to).map_err(io_error("copy", path))?;
            let sha256 = digest_file(&to).map_err(io_error("read", &to))?;
            files.push(Entry { path: relative.to_owned(), sha256 });
        }
        let relative = |path: &PathBuf| path.strip_prefix(root).ok().map(Path::to_owned);
        let folders: Vec<_> = folders.iter().filter_map(relative).collect();
        for folder in &folders {
            make_dir(&staging.path().join("files").join(folder))?;
        }
        let key_text = key.text.clone();
        let manifest = Manifest { key: key_text, files, folders, executables, inputs };
        let at = staging.path().join("manifest.json");
        let text = serde_json::to_vec_pretty(&manifest).map_err(io::Error::from);
        let written = text.and_then(|text| std::fs::write(&at, text));
        written.map_err(io_error("write", &at))?;
        let path = builds.join(key.name());
        std::fs::rename(staging.path(), &path).map_err(io_error("publish", &path))?;
        // Under that name there is nothing any more to be removed.
        let _ = staging.keep();
        Ok(Artifact { path, manifest })
    }
}

/// What was read, or `None` where what should be there is not. That it can't be
/// read for any other reason (no file descriptor is left, say) tells nothing
/// about it.
pub(super) fn there<T>(
    read: io::Result<T>,
    verb: &'static str,
    path: &Path,
) -> Result<Option<T>, Error> {
    let damaged = [
        io::ErrorKind::NotFound,
        io::ErrorKind::NotADirectory,
        io::ErrorKind::IsADirectory,
        io::ErrorKind::InvalidInput,
        io::ErrorKind::InvalidData,
    ];
    match read {
        Err(error) if damaged.contains(&error.kind()) => Ok(None),
        read => read.map(Some).map_err(io_error(verb, path)),
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Manifest {
    key: String,
    files: Vec<Entry>,
    /// Folders that are there although they may be empty.
    folders: Vec<PathBuf>,
    executables: Vec<Executable>,
    /// What it was built of beside its commit.
    inputs: Inputs,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    path: PathBuf,
    sha256: String,
}

/// One executable of an artifact.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Executable {
    /// Which benchmark target it is.
    pub target: String,
    /// Its path below the target folder.
    pub path: PathBuf,
    /// How cargo runs it.
    pub invocation: Invocation,
}

/// A published build.
#[derive(Clone, Debug)]
pub struct Artifact {
    path: PathBuf,
    manifest: Manifest,
}

impl Artifact {
    /// Reads it and checks that it is of this key, every file, and that nothing
    /// else is run; what is not in the manifest (a benchmark's own output of
    /// last time) is removed. `None` where it is another or not whole.
    fn read(path: &Path, key: &Key, env: &Environment) -> Result<Option<Self>, Error> {
        let manifest = path.join("manifest.json");
        let Some(text) = there(std::fs::read(&manifest), "read", &manifest)? else {
            return Ok(None);
        };
        let Ok(manifest) = serde_json::from_slice::<Manifest>(&text) else { return Ok(None) };
        let artifact = Artifact { path: path.to_owned(), manifest };
        let Manifest { key: of, files, folders, executables, inputs } = &artifact.manifest;
        let is_known = |run: &Executable| files.iter().any(|entry| entry.path == run.path);
        if *of != key.text || !executables.iter().all(is_known) {
            return Ok(None);
        }
        if !inputs.is_unchanged(env)? {
            return Ok(None);
        }
        let named = files.iter().map(|entry| &entry.path).chain(folders);
        if !named.clone().all(|path| artifact.holds(path)) {
            return Ok(None);
        }
        for entry in files {
            let path = artifact.files().join(&entry.path);
            if there(digest_file(&path), "read", &path)?.as_ref() != Some(&entry.sha256) {
                return Ok(None);
            }
        }
        let root = artifact.files();
        artifact.remove_strangers(&root).map_err(io_error("clear up", &root))?;
        for folder in &artifact.manifest.folders {
            let folder = root.join(folder);
            std::fs::create_dir_all(&folder).map_err(io_error("make", &folder))?;
        }
        Ok(Some(artifact))
    }

    /// Whether a path is one below the files, and no link leads elsewhere on the
    /// way.
    fn holds(&self, path: &Path) -> bool {
        let root = self.files();
        is_inside(&root, path)
            && [&root.join(path), &root, &self.path].into_iter().all(|place| !place.is_symlink())
    }

    fn remove_strangers(&self, folder: &Path) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let relative = path.strip_prefix(self.files()).unwrap_or(&path).to_owned();
            let known = |entry: &Entry| entry.path.starts_with(&relative);
            let is_dir = path.symlink_metadata()?.is_dir();
            if !self.manifest.files.iter().any(known) {
                if is_dir { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) }?;
            } else if path.is_dir() {
                self.remove_strangers(&path)?;
            }
        }
        Ok(())
    }

    /// The folder that stands in for the target folder.
    pub fn files(&self) -> PathBuf {
        self.path.join("files")
    }

    /// The name of its folder, that of its key.
    pub fn name(&self) -> String {
        self.path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
    }

    /// The paths of its files below that folder.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.manifest.files.iter().map(|entry| entry.path.as_path())
    }

    /// The executable of a benchmark target.
    pub fn executable(&self, target: &str) -> Option<&Executable> {
        self.manifest.executables.iter().find(|executable| executable.target == target)
    }
}
