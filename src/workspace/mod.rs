//! From two revisions to two sets of executables that can be measured.

mod alone;
mod ask;
mod build;
pub mod cache;
pub mod cargo;
mod clock;
mod command;
mod configuration;
mod event;
mod fault;
mod fetch;
mod fill;
mod foundation;
pub mod git;
mod identical;
mod live;
mod lockfile;
mod overlay;
mod record;
mod scratch;
mod settings;
mod sides;
mod surroundings;
mod tools;
mod traces;
mod workspaces;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

pub(crate) use alone::{Alone, Subject, alone};
pub(crate) use ask::{base_request, room, table, workspace};
pub use build::write_down;
pub use event::Event;
use foundation::Programs;
use scratch::Scratch;
pub(crate) use surroundings::flags;
pub(crate) use tools::Tools;
use workspaces::Workspaces;

use crate::error::{Error, Kind};
use crate::exec::process::{Helper, Interrupt};
use crate::exec::program::Program;
use crate::exec::system::canonical;
use crate::model::notice::Notice;
use crate::model::outcome::Removed;
use crate::model::side::{Pair, Side};
use crate::settings::options::{Benchmark, limits};
use crate::settings::policy::{Resolved, Settings};
use crate::settings::table::Table;
use crate::workspace::cache::{Lock, Room};
use crate::workspace::cargo::Workspace;
use crate::workspace::git::base::Sides;
use crate::workspace::git::worktree::Store;
use crate::workspace::git::{Repo, Revision};

/// What a comparison is asked to do.
#[derive(Clone, Debug)]
pub struct Request {
    /// The folder inside the repository from which it was called.
    pub folder: PathBuf,
    /// What the flags set.
    pub flags: Table,
    /// The head, when it is not HEAD.
    pub head: Option<String>,
    /// The base where the head lies on BASE.
    pub instead: Option<String>,
    /// Take BASE itself, not the merge-base.
    pub exact_base: bool,
    /// The head is the working tree as it is.
    pub dirty: bool,
    /// What is missing may be fetched from the remote, into the user's clone.
    pub fetch: bool,
    /// Compare the head with itself, built twice.
    pub aa: bool,
    /// Measure although both sides are the same program.
    pub always_run: bool,
    /// What the harness is told to run.
    pub filter: Option<String>,
    /// Whose table decides: the base's, where it has one, or the head's.
    pub policy_from: Side,
    /// The cache, when it is not at its usual place.
    pub cache: Option<PathBuf>,
    /// The environment that we were called in.
    pub env: Vec<(OsString, OsString)>,
    /// The program, with its first argument, that calls [`write_down`].
    pub capture: Vec<OsString>,
}

/// A benchmark, ready to run or not.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) benchmark: Benchmark,
    pub(crate) state: State,
}

/// How the two sides of a benchmark stand before anything is run.
#[derive(Debug)]
pub(crate) enum State {
    /// These two programs are to be measured.
    Ready(Box<Pair<Program>>),
    /// Both are the same program.
    Identical,
    /// The base lacks it, or does not build.
    NoBaseline,
}

/// Everything that sampling needs.
#[derive(Debug)]
pub(crate) struct Preparation {
    pub(crate) sides: Sides,
    pub(crate) built: Built,
    pub(crate) notices: Vec<Notice>,
    /// The repository's part of the cache.
    pub(crate) room: Room,
    /// A folder for what the runs print.
    pub(crate) scratch: Scratch,
    /// Held until the runs are over: they use the worktrees.
    pub(crate) _lock: Option<Lock>,
}

/// The benchmarks, and what decides about them.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) settings: Settings,
    pub(crate) benchmarks: Vec<Prepared>,
    /// Benchmarks that gate on the base and are not among the head's.
    pub(crate) removed: Vec<Removed>,
    pub(crate) toolchain: Option<String>,
}

/// Prepares both sides.
pub(crate) fn prepare(
    request: &Request,
    helper: &Helper,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Preparation, Error> {
    let start = Instant::now();
    let (mut work, scratch) = Work::open(request, helper, interrupt, tell)?;
    let inside = work.inside()?;
    let user = work.workspace(&request.folder, None)?;
    let place = work.repo.root().join(&inside);
    let table = settings::side_table(&user, &place, &request.flags)?.table;
    work.check_configured_base(table.as_ref());
    let (mut sides, done) = work.sides(table.as_ref())?;
    let (built, lock) = if done {
        (Built::nothing(&request.flags, table)?, None)
    } else {
        let doing = format!("comparing {} with {}", sides.head.rev, sides.base.rev);
        let lock = work.lock(&doing)?;
        work.check_out(&mut sides)?;
        let built = work.build_all(&sides, &Trees { inside, user, table })?;
        let (seconds, room) = (start.elapsed().as_secs_f64(), work.room.path());
        (work.tell)(Event::Prepared { seconds, room });
        (built, Some(lock))
    };
    let (notices, room) = (work.notices, work.room);
    Ok(Preparation { sides, built, notices, room, scratch, _lock: lock })
}

impl Built {
    /// What there is when there is nothing to compare: the settings.
    fn nothing(flags: &Table, table: Option<Table>) -> Result<Self, Error> {
        let table = flags.clone().over(table.unwrap_or_default());
        let (policy, limits) = limits(&table)?;
        let settings = Settings { benchmarks: Vec::new(), policy, limits };
        Ok(Built { settings, benchmarks: Vec::new(), removed: Vec::new(), toolchain: None })
    }
}

/// What is known of the user's own tree.
struct Trees {
    /// The folder that we were called in, from the repository's root.
    inside: PathBuf,
    user: Workspace,
    table: Option<Table>,
}

/// The state of a preparation.
struct Work<'a, 'b> {
    request: &'a Request,
    repo: Repo,
    room: Room,
    tools: Tools<'a>,
    tell: &'a mut (dyn FnMut(Event<'_>) + 'b),
    notices: Vec<Notice>,
    /// A name for the submodules and the files of git-lfs that a side's worktree
    /// lacks of its commit; empty for nothing.
    lacking: Pair<String>,
    /// The compilers and linkers that were looked at.
    programs: Programs,
}

impl<'a, 'b> Work<'a, 'b> {
    /// Opens the repository and its part of the cache, with a folder there
    /// for what tools print.
    fn open(
        request: &'a Request,
        helper: &'a Helper,
        interrupt: &'a Interrupt,
        tell: &'a mut (dyn FnMut(Event<'_>) + 'b),
    ) -> Result<(Self, Scratch), Error> {
        let repo = Repo::discover(&request.folder)?;
        let room = room(request, &repo)?;
        let scratch = Scratch::new(&room)?;
        let executable = request.capture.first().map(Path::new);
        let env = surroundings::clean(request.env.iter().cloned(), executable);
        let tools = Tools { helper, interrupt, env, scratch: scratch.path().to_owned() };
        let (notices, lacking, programs) = (Vec::new(), Pair::default(), Programs::default());
        Ok((Work { request, repo, room, tools, tell, notices, lacking, programs }, scratch))
    }

    fn notice(&mut self, notice: Notice) {
        (self.tell)(Event::Notice(&notice));
        self.notices.push(notice);
    }

    /// Says so when the configuration, which a branch can change, names another
    /// base than the CI job does.
    fn check_configured_base(&mut self, table: Option<&Table>) {
        let asked = base_request(self.request, table);
        let (None, Some(base)) = (asked.base, asked.configured) else { return };
        let Some((variable, named)) = asked.variables.into_iter().next() else { return };
        if base.strip_prefix("origin/").unwrap_or(&base) != named {
            self.notice(Notice::ConfiguredBase { base, variable, named });
        }
    }

    /// The folder that we were called in, from the repository's root.
    fn inside(&self) -> Result<PathBuf, Error> {
        let found = |path: &Path| canonical(path).map_err(Error::io("find", path));
        let root = found(self.repo.root())?;
        let folder = found(&self.request.folder)?;
        Ok(folder.strip_prefix(&root).unwrap_or(Path::new("")).to_owned())
    }

    /// Takes the lock of the room, for what we are `doing` there.
    fn lock(&mut self, doing: &str) -> Result<Lock, Error> {
        let about = format!("process {}, {doing}", std::process::id());
        let interrupt = self.tools.interrupt;
        let mut told = false;
        let lock = self.room.lock(&about, |holder| -> Result<(), Error> {
            if !told {
                (self.tell)(Event::Waiting(holder));
                told = true;
            }
            Ok(interrupt.check()?)
        })?;
        scratch::remove_leftovers(self.room.path());
        Ok(lock)
    }

    fn check_out(&mut self, sides: &mut Sides) -> Result<(), Error> {
        Side::BOTH.into_iter().try_for_each(|side| self.complete(sides.of(side)))?;
        let store = Store::open(&self.room.git(), &self.repo)?;
        if self.request.dirty {
            sides.head.tree = self.tools.interrupt.bound(|| self.repo.snapshot(&store))?;
            if self.request.aa {
                sides.base.tree.clone_from(&sides.head.tree);
            }
        }
        Side::BOTH
            .into_iter()
            .try_for_each(|side| self.check_out_side(&store, side, sides.of(side)))
    }

    fn check_out_side(
        &mut self,
        store: &Store,
        side: Side,
        revision: &Revision,
    ) -> Result<(), Error> {
        self.tools.interrupt.check()?;
        (self.tell)(Event::CheckingOut(side, revision));
        cache::make_dir(&self.room.side(side))?;
        clock::forget_the_future(&self.room.side(side), SystemTime::now())?;
        let tree = self.room.tree(side);
        // Killed, too, it would leave nothing that the next one takes for whole.
        let check_out = || store.check_out(&self.repo, side, &tree, revision, &[]);
        let empty = self.tools.interrupt.bound(check_out)?;
        let pointers = self.filter(store, side, &tree, revision)?;
        self.lacking[side] = match (empty.as_slice(), pointers.as_slice()) {
            ([], []) => String::new(),
            lacking => crate::exec::system::digest(format!("{lacking:?}").as_bytes()),
        };
        if let Some(example) = pointers.first() {
            let (count, example) = (pointers.len(), example.display().to_string());
            self.notice(Notice::Pointers { side, count, example });
        }
        Ok(())
    }

    /// The toolchain that rustup takes in a folder. Without rustup there is
    /// one toolchain, and nothing to choose.
    fn active_toolchain(&self, folder: &Path) -> Result<Option<String>, Error> {
        let args = vec!["show".into(), "active-toolchain".into()];
        let command = self.tools.command("rustup", args, folder, None);
        let shown = command.shown();
        let Ok((exit, printed, said)) = self.tools.quietly(command) else {
            return Ok(None);
        };
        self.tools.interrupt.check()?;
        if !exit.success() && fault::is_the_machines(exit, &said) {
            let folder = folder.to_owned();
            return Err(Kind::Tool { command: shown, folder, exit, said }.into());
        }
        let name = printed.split_whitespace().next().filter(|_| exit.success());
        Ok(name.map(str::to_owned))
    }

    fn build_all(&mut self, sides: &Sides, trees: &Trees) -> Result<Built, Error> {
        let folders = Pair::both(|side| self.room.tree(side).join(&trees.inside));
        if !folders.head.is_dir() {
            let folder = trees.inside.display().to_string();
            return Err(Kind::NotCommitted { side: Side::Head, folder }.into());
        }
        let flags = &self.request.flags;
        let head_own = match self.request.head {
            // Of HEAD, the table that the user has before them counts.
            None => trees.table.clone(),
            Some(_) => {
                let workspace = self.workspace_of(Side::Head, &folders.head, None)?;
                settings::side_table(&workspace, &folders.head, flags)?.table
            }
        };
        let asked = flags.clone().over(head_own.clone().unwrap_or_default());
        let toolchains = self.toolchains(asked.toolchain()?, &folders)?;
        let mut workspaces = self.workspaces(&folders, &toolchains, trees)?;
        let Resolved { mut settings, removed, notices } =
            self.resolve(&workspaces, &folders, head_own.clone())?;
        notices.into_iter().for_each(|notice| self.notice(notice));
        let from = overlay::bench_from(&settings.benchmarks)?;
        if let Some(from) = from {
            let contents = self.overlay(from, &settings.benchmarks, &workspaces)?;
            workspaces = self.workspaces(&folders, &toolchains, trees)?;
            workspaces.overlaid = Some((from.other(), contents));
            // What differs between the sides was told before both had the sources
            // of one.
            settings = self.resolve(&workspaces, &folders, head_own)?.settings;
        }
        let asked = &settings.benchmarks;
        self.changed_sources(asked, &workspaces)?;
        let (benchmarks, toolchain) = self.build_sides(sides, asked, &workspaces, &toolchains)?;
        Ok(Built { settings, benchmarks, removed, toolchain: Some(toolchain) })
    }
}
