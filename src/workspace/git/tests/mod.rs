//! Tests of this module, on repositories created with libgit2 in scratch folders.

#![cfg(unix)]

mod base;
mod filters;
mod hooks;
mod line;
mod remote;
mod repo;
mod snapshot;
mod submodules;
mod worktree;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::{IndexAddOption, Oid, Repository, RepositoryInitOptions, Signature, Time};

use super::{Repo, Revision};
use crate::exec::system::write;

/// A repository `work` on the branch `main`, without a commit.
pub(super) struct Scratch {
    folder: tempfile::TempDir,
    git: Repository,
    clock: Cell<i64>,
}

impl Scratch {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("work");
        let git = init(&path);
        Scratch { folder, git, clock: Cell::new(1_700_000_000) }
    }

    /// The scratch folder around it.
    fn around(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// The root of the working tree.
    pub(super) fn path(&self) -> PathBuf {
        self.around().join("work")
    }

    /// The repository, opened as in production.
    pub(super) fn open(&self) -> Repo {
        Repo::discover(&self.path()).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        write(&self.path().join(path), text);
    }

    pub(super) fn set(&self, key: &str, value: &str) {
        self.git.config().unwrap().set_str(key, value).unwrap();
    }

    /// Sets the time of the next commit, in seconds since 1970; later commits follow it.
    fn set_clock(&self, seconds: i64) {
        self.clock.set(seconds);
    }

    /// Creates a commit with these parents, on no branch, with a tree of its own.
    fn commit(&self, message: &str, parents: &[Oid]) -> Oid {
        let mut builder = self.git.treebuilder(None).unwrap();
        let blob = self.git.blob(message.as_bytes()).unwrap();
        builder.insert("message", blob, 0o100_644).unwrap();
        self.commit_tree(message, parents, builder.write().unwrap())
    }

    fn commit_tree(&self, message: &str, parents: &[Oid], tree: Oid) -> Oid {
        let time = self.clock.replace(self.clock.get() + 1);
        let who = Signature::new("A", "a@localhost", &Time::new(time, 0)).unwrap();
        let tree = self.git.find_tree(tree).unwrap();
        let parents: Vec<_> =
            parents.iter().map(|parent| self.git.find_commit(*parent).unwrap()).collect();
        let parents: Vec<_> = parents.iter().collect();
        self.git.commit(None, &who, &who, message, &tree, &parents).unwrap()
    }

    /// Commits the working tree on top of `main`.
    fn commit_all(&self, message: &str) -> Oid {
        let mut index = self.git.index().unwrap();
        index.add_all(["*"], IndexAddOption::DEFAULT, None).unwrap();
        index.update_all(["*"], None).unwrap();
        index.write().unwrap();
        let tree = index.write_tree().unwrap();
        let parent = self.git.refname_to_id("refs/heads/main").ok();
        let commit = self.commit_tree(message, parent.as_slice(), tree);
        self.point("refs/heads/main", commit);
        commit
    }

    /// Creates `count` consecutive commits, oldest first.
    fn chain(&self, count: usize) -> Vec<Oid> {
        let mut chain: Vec<Oid> = Vec::new();
        for number in 0..count {
            let parent: Vec<Oid> = chain.last().copied().into_iter().collect();
            chain.push(self.commit(&number.to_string(), &parent));
        }
        chain
    }

    /// Points a reference to a commit.
    fn point(&self, reference: &str, commit: Oid) {
        self.git.reference(reference, commit, true, "").unwrap();
    }

    /// Makes the repository shallow, cut off before these commits.
    fn cut(&self, ends: &[Oid]) {
        let lines: String = ends.iter().map(|end| format!("{end}\n")).collect();
        std::fs::write(self.git.path().join("shallow"), lines).unwrap();
        let parents = |end: &Oid| self.git.find_commit(*end).unwrap().parent_ids().collect();
        let parents: BTreeSet<Oid> =
            ends.iter().flat_map(|end| -> Vec<Oid> { parents(end) }).collect();
        parents.into_iter().for_each(|parent| self.lose(parent));
    }

    /// Removes an object.
    fn lose(&self, object: Oid) {
        let name = object.to_string();
        let (folder, file) = name.split_at(2);
        std::fs::remove_file(self.git.path().join("objects").join(folder).join(file)).unwrap();
    }

    /// A commit as a revision to check out.
    fn revision(&self, commit: Oid) -> Revision {
        let git = Repository::open(self.path()).unwrap();
        let tree = git.find_commit(commit).unwrap().tree_id().to_string();
        Revision {
            rev: "it".into(),
            commit: commit.to_string(),
            tree,
            dirty: false,
            subject: String::new(),
        }
    }
}

fn init(path: &Path) -> Repository {
    let mut options = RepositoryInitOptions::new();
    options.initial_head("main").external_template(false);
    Repository::init_opts(path, &options).unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Identifies a file, to detect whether it was written again: a checkout or a rename creates
/// another one.
fn identity(path: &Path) -> (u64, i64, i64) {
    let about = path.symlink_metadata().unwrap();
    (about.ino(), about.mtime(), about.mtime_nsec())
}

/// The names in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}
