//! Published builds: what a run of one side needs, with a checksum for every
//! file.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{RepositoryCache, make_dir};
use crate::error::Error;
use crate::exec::system::{digest, digest_file, is_inside, may_execute, mode, permissions};
use crate::workspace::cargo::Invocation;
use crate::workspace::environment::Environment;
use crate::workspace::files::{read_record, remove, remove_unknown, unless_damaged, write_record};
use crate::workspace::inputs::Inputs;
use crate::workspace::relink::Link;

/// The record of an artifact.
pub(super) const MANIFEST: &str = "manifest.json";

/// The folder of the files from which executables were linked. Their contents are only checked
/// when one is linked again.
const LINKS: &str = "links";

/// The folder of the traces of its programs.
const RECORDS: &str = "watched";

/// The folder of how its programs differ from others.
const COMPARISONS: &str = "compared";

/// All that shapes a build, a line each; two builds of one key are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArtifactKey {
    text: String,
}

impl ArtifactKey {
    pub(crate) fn new<'a>(parts: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        let line = |(name, value)| format!("{name}={value:?}\n");
        ArtifactKey { text: parts.into_iter().map(line).collect() }
    }

    /// The name of its artifact's folder.
    pub(crate) fn name(&self) -> String {
        let mut name = digest(self.text.as_bytes());
        name.truncate(32);
        name
    }
}

/// The published part of a build.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The files that a run may need. Those outside of the target folder are left out.
    pub(crate) files: Vec<PathBuf>,
    /// Folders that a run may need although they may be empty.
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) executables: Vec<Executable>,
    /// What the build has read besides its commit.
    pub(crate) inputs: Inputs,
}

/// One executable of an artifact.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Executable {
    /// Which benchmark target it is.
    pub(crate) target: String,
    /// Its path below the target folder.
    pub(crate) path: PathBuf,
    /// How cargo runs it.
    pub(crate) invocation: Invocation,
    /// How it was linked, or why that is not known.
    pub(crate) link: Result<Link, String>,
}

/// The artifact of a key, if it exists and is intact, and all inputs of its build
/// are unchanged, including the environment `env`. Other artifacts are removed.
///
/// # Errors
/// If a damaged one can't be removed, or one of its files can't be read, so that
/// it is not known whether it is damaged.
pub(crate) fn find(
    cache: &RepositoryCache,
    key: &ArtifactKey,
    env: &Environment,
) -> Result<Option<Artifact>, Error> {
    let path = cache.builds().join(key.name());
    if !path.try_exists().map_err(Error::io("look at", &path))? {
        return Ok(None);
    }
    match Artifact::read(&path, key, env)? {
        Some(artifact) => {
            let used = File::open(path.join(MANIFEST));
            let _ = used.and_then(|file| file.set_modified(SystemTime::now()));
            Ok(Some(artifact))
        }
        None => {
            remove(&path)?;
            Ok(None)
        }
    }
}

/// Publishes what was built in the target folder `root` as the artifact of a key.
///
/// # Errors
/// When a file can't be copied.
pub(crate) fn publish(
    cache: &RepositoryCache,
    key: &ArtifactKey,
    root: &Path,
    contents: Contents,
) -> Result<Artifact, Error> {
    let builds = cache.builds();
    make_dir(&builds)?;
    let staging = tempfile::Builder::new()
        .prefix("new-")
        .tempdir_in(&builds)
        .map_err(Error::io("create a folder in", &builds))?;
    let relative = |path: &PathBuf| path.strip_prefix(root).ok().map(Path::to_owned);
    let mut files = BTreeMap::new();
    for path in contents.files.iter().filter_map(relative) {
        let (from, to) = (root.join(&path), staging.path().join("files").join(&path));
        make_dir(to.parent().unwrap_or(staging.path()))?;
        std::fs::copy(&from, &to).map_err(Error::io("copy", &from))?;
        let sha256 = digest_file(&to).map_err(Error::io("read", &to))?;
        let about = to.metadata().map_err(Error::io("look at", &to))?;
        let executable = may_execute(&about);
        files.insert(path, PublishedFile { sha256, executable });
    }
    let folders: Vec<_> = contents.folders.iter().filter_map(relative).collect();
    for folder in &folders {
        make_dir(&staging.path().join("files").join(folder))?;
    }
    let Contents { mut executables, inputs, .. } = contents;
    let links = staging.path().join(LINKS);
    for Executable { link, .. } in &mut executables {
        if let Ok(kept) = link
            && let Err(why) = kept.publish(&links)
        {
            *link = Err(why);
        }
    }
    let (path, key) = (builds.join(key.name()), key.text.clone());
    let artifact = Artifact { path, key, files, folders, executables, inputs };
    write_record(&staging.path().join(MANIFEST), &artifact)?;
    let failed = Error::io("publish", &artifact.path);
    std::fs::rename(staging.path(), &artifact.path).map_err(failed)?;
    // There is nothing under that name that has to be removed.
    let _ = staging.keep();
    Ok(artifact)
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct PublishedFile {
    sha256: String,
    executable: bool,
}

/// A published build.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Artifact {
    /// Its folder.
    #[serde(skip)]
    path: PathBuf,
    key: String,
    files: BTreeMap<PathBuf, PublishedFile>,
    folders: Vec<PathBuf>,
    executables: Vec<Executable>,
    inputs: Inputs,
}

impl Artifact {
    /// Reads an artifact and checks its key and every file; removes what is not in
    /// the manifest (such as a benchmark's output of an earlier run). `None` if it
    /// is another one or not intact.
    fn read(path: &Path, key: &ArtifactKey, env: &Environment) -> Result<Option<Self>, Error> {
        let Some(artifact) = read_record::<Artifact>(&path.join(MANIFEST))? else {
            return Ok(None);
        };
        let artifact = Artifact { path: path.to_owned(), ..artifact };
        let Artifact { files, folders, executables, inputs, .. } = &artifact;
        let is_whole = |run: &Executable| {
            files.contains_key(&run.path)
                // A removal may have been cut short.
                && run.link.as_ref().map_or(true, |link| link.is_whole(&artifact.links()))
        };
        if artifact.key != key.text
            || !executables.iter().all(is_whole)
            || !inputs.is_unchanged(env)?
            || !files.keys().chain(folders).all(|path| artifact.holds(path))
        {
            return Ok(None);
        }
        let root = artifact.files();
        for (path, file) in files {
            let path = root.join(path);
            let sha256 = unless_damaged(digest_file(&path), &path)?;
            if sha256.as_ref() != Some(&file.sha256) {
                return Ok(None);
            }
            let about = path.metadata().map_err(Error::io("look at", &path))?;
            // Archives and caches of CI services may lose it.
            if file.executable && !may_execute(&about) {
                let set = std::fs::set_permissions(&path, permissions(mode(&about) | 0o100));
                set.map_err(Error::io("change the mode of", &path))?;
            }
        }
        let is_known = |path: &Path| files.keys().any(|file| file.starts_with(path));
        remove_unknown(&root, |_| false, is_known)?;
        for folder in folders {
            make_dir(&root.join(folder))?;
        }
        Ok(Some(artifact))
    }

    /// Whether a path is below the files, without a link that leads elsewhere.
    fn holds(&self, path: &Path) -> bool {
        let root = self.files();
        is_inside(&root, path)
            && [&root.join(path), &root, &self.path].into_iter().all(|place| !place.is_symlink())
    }

    /// The folder that replaces the target folder.
    pub(crate) fn files(&self) -> PathBuf {
        self.path.join("files")
    }

    /// The folder of the files from which its executables were linked.
    pub(crate) fn links(&self) -> PathBuf {
        self.path.join(LINKS)
    }

    /// The folder of what its programs were seen to do.
    pub(crate) fn records(&self) -> PathBuf {
        self.path.join(RECORDS)
    }

    /// The folder of how its programs differ from others.
    pub(crate) fn comparisons(&self) -> PathBuf {
        self.path.join(COMPARISONS)
    }

    /// The name of its folder, which is that of its key.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
    }

    /// The paths of its files below [`Artifact::files`].
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    /// The digest of one of its files.
    pub(crate) fn digest(&self, file: &Path) -> Option<&str> {
        self.files.get(file).map(|file| file.sha256.as_str())
    }

    /// The executable of a benchmark target.
    pub(crate) fn executable(&self, target: &str) -> Option<&Executable> {
        self.executables.iter().find(|executable| executable.target == target)
    }
}
