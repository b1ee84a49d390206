//! One side alone: a revision, built and ready to be run.

use std::path::{Path, PathBuf};

use super::build::Checkout;
use super::command::Place;
use super::scratch::Scratch;
use super::sides::Artifacts;
use super::{Program, Request, Work, configuration, lockfile, settings};
use crate::error::{Error, Kind};
use crate::exec::process::{Helper, Interrupt};
use crate::model::notice::Notice;
use crate::model::side::{Pair, Side};
use crate::settings::options::{self, Benchmark};
use crate::settings::policy::{SideTable, resolve};
use crate::settings::values::Toolchain;
use crate::workspace::Event;
use crate::workspace::cache::{Artifact, Lock};
use crate::workspace::cargo::{self, Workspace};
use crate::workspace::git::Revision;
use crate::workspace::git::worktree::Store;

/// A revision, ready to be run.
#[derive(Debug)]
pub(crate) struct Alone {
    pub(crate) revision: Revision,
    pub(crate) subjects: Vec<Subject>,
    /// What `rustc -vV` says there.
    pub(crate) rustc: String,
    /// The environment of the builds and the runs.
    pub(crate) env: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    pub(crate) notices: Vec<Notice>,
    /// A folder for what the runs print.
    pub(crate) scratch: Scratch,
    /// Held until the runs are over: they use the worktree.
    pub(crate) _lock: Lock,
}

/// A benchmark and the program that is run.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) benchmark: Benchmark,
    pub(crate) program: Program,
}

/// Prepares the head of a request, without any base: its table decides.
pub(crate) fn alone(
    request: &Request,
    helper: &Helper,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Alone, Error> {
    let start = std::time::Instant::now();
    let (mut work, scratch) = Work::open(request, helper, interrupt, tell)?;
    let revision = work.repo.at(request.head.as_deref())?;
    let files = if request.head.is_none() { work.repo.dirty_files()? } else { 0 };
    if files > 0 {
        work.notice(Notice::DirtyTree { files });
    }
    let lock = work.lock(&format!("measuring {}", revision.rev))?;
    work.complete(&revision)?;
    let store = Store::open(&work.room.git(), &work.repo)?;
    work.check_out_side(&store, Side::Head, &revision)?;
    let (subjects, rustc) = work.build_alone(&revision)?;
    let (seconds, room) = (start.elapsed().as_secs_f64(), work.room.path());
    (work.tell)(Event::Prepared { seconds, room });
    let (env, notices) = (work.tools.env, work.notices);
    Ok(Alone { revision, subjects, rustc, env, notices, scratch, _lock: lock })
}

impl Work<'_, '_> {
    /// Builds what the head's table asks for; also what its rustc says.
    fn build_alone(&mut self, revision: &Revision) -> Result<(Vec<Subject>, String), Error> {
        let inside = self.inside()?;
        let folder = self.room.tree(Side::Head).join(&inside);
        if !folder.is_dir() {
            let folder = inside.display().to_string();
            return Err(Kind::NotCommitted { side: Side::Head, folder }.into());
        }
        let flags = &self.request.flags;
        let user = self.workspace(&self.request.folder, None)?;
        let around = if self.request.head.is_none() {
            // Of HEAD, the table that the user has before them counts.
            settings::side_table(&user, &self.repo.root().join(&inside), flags)?.table
        } else {
            let workspace = self.workspace_of(Side::Head, &folder, None)?;
            settings::side_table(&workspace, &folder, flags)?.table
        };
        let asked = flags.clone().over(around.clone().unwrap_or_default());
        let toolchain = match asked.toolchain()? {
            Toolchain::Each | Toolchain::Of(_) => self.active_toolchain(&folder)?,
            Toolchain::Named(name) => Some(name),
        };
        let workspace = self.workspace_of(Side::Head, &folder, toolchain.as_deref())?;
        self.check_beside(Side::Head, &workspace)?;
        let choice = settings::choice(&workspace, &folder);
        let resolved = resolve(flags, &SideTable { choice, table: around }, None, Side::Head)?;
        let at = self.checkout_alone(revision, &workspace, &user.root, toolchain)?;
        let artifacts = self.build_side(&at, &resolved.settings.benchmarks, Ok(&workspace))?;
        let place = self.place(&at, revision, &resolved.settings.benchmarks, Ok(&workspace))?;
        let mut subjects = Vec::new();
        for benchmark in resolved.settings.benchmarks {
            let package = super::sides::package(Ok(&workspace), &benchmark.package);
            let folder = package.map_or(folder.clone(), |package| package.folder.clone());
            let program = self.program_alone(&benchmark, &at, &artifacts, &place, folder)?;
            subjects.push(Subject { benchmark, program });
        }
        let keep: Vec<String> = artifacts.values().flatten().map(Artifact::name).collect();
        self.room.prune(&keep);
        Ok((subjects, at.rustc))
    }

    /// What shapes the head's builds.
    fn checkout_alone(
        &self,
        revision: &Revision,
        workspace: &Workspace,
        user_root: &Path,
        toolchain: Option<String>,
    ) -> Result<Checkout, Error> {
        let env = &self.tools.env;
        let configs = configuration::outer_configs(self.repo.root(), self.room.path(), env);
        let roots = Pair { base: None, head: Some(workspace.root.clone()) };
        let (room, chosen) = (&self.room, toolchain.as_deref());
        let locks = lockfile::provide(&self.tools, room, &roots, user_root, &configs, chosen)?;
        let at = (workspace.root.clone(), configs);
        self.checkout(Side::Head, revision, toolchain, locks.head, at)
    }

    /// What is run of a benchmark whose package is in `folder`.
    fn program_alone(
        &mut self,
        benchmark: &Benchmark,
        at: &Checkout,
        artifacts: &Artifacts,
        place: &Place,
        folder: PathBuf,
    ) -> Result<Program, Error> {
        match &benchmark.subject {
            options::Subject::Target(target, build) => {
                let Some(Ok(artifact)) = artifacts.get(build) else {
                    return Err(cargo::Error::NoExecutable(target.to_string()).into());
                };
                self.run_of(benchmark, target, build, Side::Head, artifact, folder)
            }
            options::Subject::Command { words, .. } => {
                Ok(self.command_of(benchmark, words, at, place, &folder))
            }
        }
    }
}
