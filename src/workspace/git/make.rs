//! Creates a small repository from scratch, for the demo.

use std::path::Path;

use git2::{IndexAddOption, Repository, RepositoryInitOptions, Signature, Time};

use super::Error;

/// A repository that is being created.
pub struct Maker {
    inner: Repository,
}

impl Maker {
    /// An empty repository in the folder `path`, on the branch `main`.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let mut options = RepositoryInitOptions::new();
        options.initial_head("main").external_template(false);
        let inner = Repository::init_opts(path, &options);
        let inner = inner.map_err(Error::git("create", path.display()))?;
        Ok(Maker { inner })
    }

    /// Commits everything in the folder.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn commit(&self, message: &str) -> Result<(), Error> {
        let commit = || -> Result<(), git2::Error> {
            let mut index = self.inner.index()?;
            index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
            let tree = self.inner.find_tree(index.write_tree()?)?;
            index.write()?;
            let who = Signature::new("cargo cbdr", "demo@localhost", &Time::new(1_700_000_000, 0))?;
            let parent = self.inner.head().ok().and_then(|head| head.peel_to_commit().ok());
            let parents: Vec<_> = parent.iter().collect();
            self.inner.commit(Some("HEAD"), &who, &who, message, &tree, &parents)?;
            Ok(())
        };
        commit().map_err(Error::git("commit", message))
    }

    /// Creates a branch at HEAD and switches to it.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn branch(&self, name: &str) -> Result<(), Error> {
        let branch = || -> Result<(), git2::Error> {
            let head = self.inner.head()?.peel_to_commit()?;
            self.inner.branch(name, &head, false)?;
            self.inner.set_head(&format!("refs/heads/{name}"))
        };
        branch().map_err(Error::git("create the branch", name))
    }
}
