//! What the steps of a preparation share, and what it reads of the user's own tree.

use std::path::{Path, PathBuf};
use std::time::Instant;

use tempfile::TempDir;

use super::cache::{Cache, Lock, RepositoryCache};
use super::cargo::{self, Workspace};
use super::files::temporary_folder;
use super::git::Repo;
use super::git::base::target_branches;
use super::git::store::Store;
use super::identical::Moves;
use super::prepared::{About, Preparation};
use super::request::Request;
use super::tools::Tools;
use super::{environment, settings};
use crate::engine::event::{Event, Recorder, Reporter};
use crate::error::Error;
use crate::exec::execution::Context;
use crate::exec::process::Interrupt;
use crate::model::{Notice, Pair, Sides};
use crate::settings::policy::Settings;
use crate::settings::table::Table;
use crate::settings::values::Toolchain;

/// The prefix of the names of scratch folders in the cache.
const SCRATCH: &str = "tmp-";

/// What the steps of a preparation share.
pub(super) struct PrepareContext<'a> {
    pub(super) request: &'a Request,
    pub(super) repo: Repo,
    pub(super) cache: RepositoryCache,
    /// What they and the runs print is in a folder of the cache once its lock is held.
    pub(super) tools: Tools<'a>,
    reporter: &'a mut (dyn Reporter + 'a),
    /// The files that differ between the sides, once both are built.
    pub(super) moves: Moves,
}

impl<'a> PrepareContext<'a> {
    pub(super) fn open(
        request: &'a Request,
        context: Context<'a>,
        reporter: &'a mut (dyn Reporter + 'a),
    ) -> Result<Self, Error> {
        let repo = Repo::discover(&request.folder)?;
        let cache = repository_cache(request, &repo)?;
        let tools = Tools::new(context, environment::of(request))?;
        Ok(PrepareContext { request, repo, cache, tools, reporter, moves: Moves::default() })
    }

    /// The folders of both sides in the cache.
    pub(super) fn side_folders(&self) -> Pair<PathBuf> {
        Pair::both(|side| self.cache.side_folder(side))
    }

    pub(super) fn event(&mut self, event: Event<'_>) {
        self.reporter.event(event);
    }

    pub(super) fn notice(&mut self, notice: Notice) {
        self.reporter.notice(notice);
    }

    /// Warns if the configuration, which a branch can change, names a base other than
    /// that of the CI job.
    pub(super) fn check_configured_base(&mut self, table: Option<&Table>) {
        let flags = &self.request.flags;
        let configured = table.and_then(|table| table.base.clone());
        let Some(base) = configured.filter(|_| flags.base.is_none()) else { return };
        let targets = target_branches(&self.request.env);
        let Some((variable, named)) = targets.into_iter().next() else { return };
        if base.strip_prefix("origin/").unwrap_or(&base) != named {
            self.notice(Notice::ConfiguredBase { base, variable: variable.to_owned(), named });
        }
    }

    /// A preparation in which nothing was built.
    pub(super) fn finish(self, sides: Sides, settings: Settings) -> Preparation {
        let PrepareContext { cache, tools: Tools { scratch, .. }, moves, .. } = self;
        let about = About {
            sides,
            moves,
            removed: Vec::new(),
            changed_crates: None,
            costs: Vec::new(),
            toolchain: None,
            must_run: false,
        };
        let (benchmarks, unbuilt) = (Vec::new(), Vec::new());
        Preparation { about, settings, benchmarks, unbuilt, cache, scratch, _lock: None }
    }

    /// Takes the lock of the repository's part of the cache, with a scratch folder there;
    /// `purpose` is shown to those who wait for it.
    pub(super) fn lock(&mut self, purpose: &str) -> Result<Lock, Error> {
        let lock;
        (lock, self.tools.scratch) =
            lock_cache(&self.cache, purpose, self.tools.interrupt, &mut *self.reporter)?;
        Ok(lock)
    }

    pub(super) fn prepared(&mut self, start: Instant) {
        let seconds = start.elapsed().as_secs_f64();
        self.reporter.event(Event::Prepared { seconds, cache: self.cache.path() });
    }

    /// The private repository.
    pub(super) fn store(&self) -> Result<Store, Error> {
        Ok(Store::open(&self.cache.git(), &self.repo.inner)?)
    }

    /// The toolchain that a flag names.
    pub(super) fn named_toolchain(&self) -> Result<Option<String>, Error> {
        Ok(match self.request.flags.clone().toolchain()? {
            Toolchain::Named(name) => Some(name),
            Toolchain::Of(_) | Toolchain::Each => None,
        })
    }

    /// Gets the workspace around a folder from cargo: the one of `toolchain`, or of the one that a
    /// flag names, since the folder's own may not be installed.
    pub(super) fn workspace(
        &self,
        folder: &Path,
        toolchain: Option<&str>,
    ) -> Result<Workspace, Error> {
        let named = self.named_toolchain()?;
        let toolchain = toolchain.or(named.as_deref());
        let command = self.tools.command("cargo", cargo::metadata_args(), folder, toolchain);
        Ok(Workspace::parse(&self.tools.output(command)?)?)
    }
}

/// The user's own working tree.
pub(super) struct UserTree {
    /// The folder of the manifest for the folder in which the program was called, relative
    /// to the repository's root.
    pub(super) inside: PathBuf,
    /// The full path of `inside`.
    pub(super) folder: PathBuf,
    pub(super) workspace: Workspace,
}

impl UserTree {
    pub(super) fn read(context: &PrepareContext<'_>) -> Result<Self, Error> {
        let find = |path: &Path| path.canonicalize().map_err(Error::io("find", path));
        let root = find(context.repo.root())?;
        let folder = find(&context.request.folder)?;
        let inside = folder.strip_prefix(&root).unwrap_or(Path::new(""));
        // Like cargo, from a folder that need not be in any commit, such as `target`.
        let has_manifest = |inside: &&Path| root.join(inside).join("Cargo.toml").is_file();
        let inside = inside.ancestors().find(has_manifest).unwrap_or(inside).to_owned();
        let workspace = context.workspace(&context.request.folder, None)?;
        Ok(UserTree { folder: context.repo.root().join(&inside), inside, workspace })
    }

    pub(super) fn table(&self, flags: &Table) -> Result<Option<Table>, Error> {
        Ok(settings::side_table(&self.workspace, &self.folder, flags)?.table)
    }
}

/// Takes the lock of a repository's part of the cache, with a scratch folder there; `purpose` is
/// shown to those who wait for it.
pub(super) fn lock_cache(
    cache: &RepositoryCache,
    purpose: &str,
    interrupt: &Interrupt,
    reporter: &mut dyn Reporter,
) -> Result<(Lock, TempDir), Error> {
    let about = format!("process {}, {purpose}", std::process::id());
    let mut is_waiting = false;
    let lock = cache.lock(&about, |holder| {
        if !is_waiting {
            reporter.event(Event::Waiting(holder));
            is_waiting = true;
        }
        Ok(interrupt.check()?)
    })?;
    let path = cache.path();
    // These belong to killed processes, since whoever uses one holds the lock.
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(SCRATCH) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    Ok((lock, temporary_folder(SCRATCH, path)?))
}

/// The repository's part of the cache.
pub(crate) fn repository_cache(request: &Request, repo: &Repo) -> Result<RepositoryCache, Error> {
    Cache::open(request.cache.clone())?.repository(repo.common_dir(), &repo.name())
}

/// The settings of the flags and the table in the user's tree.
///
/// # Errors
/// If there is no repository or workspace, or the table is invalid.
pub(crate) fn user_table(request: &Request, context: Context<'_>) -> Result<Table, Error> {
    let reporter = &mut Recorder::new(|_| {});
    let context = PrepareContext::open(request, context, reporter)?;
    let table = UserTree::read(&context)?.table(&request.flags)?;
    Ok(request.flags.clone().over(table.unwrap_or_default()))
}

/// The user's workspace, and the root of the repository.
///
/// # Errors
/// If one of them does not exist.
pub(crate) fn user_workspace(
    request: &Request,
    context: Context<'_>,
) -> Result<(Workspace, PathBuf), Error> {
    let reporter = &mut Recorder::new(|_| {});
    let context = PrepareContext::open(request, context, reporter)?;
    let workspace = context.workspace(&request.folder, None)?;
    Ok((workspace, context.repo.root().to_owned()))
}
