//! The set-up: which benchmark to compare, how long a run of it takes, which threshold its
//! noise allows, and the table in `Cargo.toml` that says so.

mod manifest;
mod trial;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Kind};
use crate::exec::execution::Context;
use crate::exec::system::{Place, canonical};
use crate::model::dialect::Dialect;
use crate::model::target::{Package, Target, TargetKind};
use crate::settings::choice::Choice;
use crate::settings::options::{self, Subject};
use crate::settings::table::Table;
use crate::workspace::cargo::Workspace;
use crate::workspace::{self, Request};

pub use trial::{Trial, try_out};

/// A target that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The name of its package.
    pub package: String,
    /// The target.
    pub target: Target,
    /// The harness that its source names, a guess.
    pub harness: Dialect,
    /// Whether only a nightly compiler builds it.
    pub is_unstable: bool,
}

impl Candidate {
    fn new(package: &Package, target: &Target) -> Self {
        let source = package.sources.get(target);
        let source = source.and_then(|path| fs_err::read_to_string(path).ok()).unwrap_or_default();
        let marks = [
            ("criterion", Dialect::Criterion),
            ("divan", Dialect::Divan),
            ("gungraun", Dialect::Gungraun),
            ("iai_callgrind", Dialect::Gungraun),
            ("bencher", Dialect::Bencher),
            ("#[bench]", Dialect::Libtest),
        ];
        let marked = marks.into_iter().find(|(mark, _)| source.contains(mark));
        Candidate {
            package: package.name.clone(),
            target: target.clone(),
            harness: marked.map_or(Dialect::Plain, |(_, harness)| harness),
            is_unstable: source.contains("#![feature("),
        }
    }
}

/// Whose metadata a table is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableOwner {
    /// `[package.metadata.cbdr]`.
    Package,
    /// `[workspace.metadata.cbdr]`.
    Workspace,
}

impl TableOwner {
    /// The name of the table.
    pub fn table(self) -> String {
        format!("{self}.metadata.cbdr")
    }
}

impl fmt::Display for TableOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TableOwner::Package => "package",
            TableOwner::Workspace => "workspace",
        })
    }
}

/// Where the table goes, and what it is to hold.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The manifest.
    pub manifest: PathBuf,
    /// The root of the repository, which holds the manifest.
    pub root: PathBuf,
    /// The folder in which to compare, from the repository's root; empty if it is the root
    /// itself.
    pub folder: PathBuf,
    /// Where a new table goes.
    pub owner: TableOwner,
    /// Where there is a table already.
    pub existing: Option<TableOwner>,
    /// What is chosen; none for a command.
    pub chosen: Option<Candidate>,
    /// Other bench targets that could have been chosen.
    pub others: Vec<Candidate>,
    /// The content of the table.
    pub table: Table,
}

impl Proposal {
    /// The request of this benchmark alone.
    pub fn request(&self, request: &Request) -> Request {
        let package = self.chosen.as_ref().map(|chosen| chosen.package.clone());
        let mut flags = self.table.clone();
        flags.package = package.or(flags.package);
        Request { flags, ..request.clone() }
    }

    /// The text of the manifest as it is, and with the table.
    ///
    /// # Errors
    /// When it can't be read or edited, or has such a table.
    pub fn edited_manifest(&self) -> Result<(String, String), Error> {
        let path = &self.manifest;
        if let Some(owner) = self.existing {
            return Err(Kind::Configured { path: path.clone(), table: owner.table() }.into());
        }
        let before = fs_err::read_to_string(path).map_err(Error::io("read", path))?;
        let after = manifest::with_table(&before, self.owner, &self.table.entries());
        let after = after.map_err(|why| Kind::Manifest { path: path.clone(), why })?;
        Ok((before, after))
    }
}

/// Looks at the workspace of a request, whose flags go into the table, and chooses a
/// benchmark if the flags name none.
///
/// # Errors
/// When there is no repository or no workspace, or nothing that can be chosen.
pub fn propose(request: &Request, context: Context<'_>) -> Result<Proposal, Error> {
    let (workspace, root) = workspace::user_workspace(request, context.helper, context.interrupt)?;
    let flags = &request.flags;
    let (chosen, others) = choose(&workspace, &request.folder, flags)?;
    let named = chosen.as_ref().map(|chosen| chosen.package.clone());
    let named = named.or(flags.package.clone());
    let package = match &named {
        Some(name) => workspace.package(name),
        None => workspace.package_around(&request.folder).or(workspace.packages.first()),
    };
    let owner = match package {
        Some(package) if package.folder == workspace.root => TableOwner::Package,
        _ => TableOwner::Workspace,
    };
    let mut table = flags.clone();
    table.package = named.filter(|_| owner == TableOwner::Workspace);
    if let Some(Candidate { target, .. }) = &chosen {
        let name = Some(target.name.clone());
        match target.kind {
            TargetKind::Bench => table.bench = name,
            TargetKind::Bin => table.bin = name,
            TargetKind::Example => table.example = name,
        }
    }
    let has_table = |metadata: &serde_json::Value| metadata.get("cbdr").is_some();
    let (existing, folder) = match package {
        Some(package) if has_table(&package.metadata) => {
            (Some(TableOwner::Package), &package.folder)
        }
        _ if has_table(&workspace.metadata) => (Some(TableOwner::Workspace), &workspace.root),
        _ => (None, &workspace.root),
    };
    let manifest = folder.join("Cargo.toml");
    let find = |path: &Path| canonical(path).map_err(Error::io("find", path));
    let root = find(&root)?;
    let folder = find(&workspace.root)?;
    let folder = folder.strip_prefix(&root).unwrap_or(Path::new("")).to_owned();
    Ok(Proposal { manifest, root, folder, owner, existing, chosen, others, table })
}

/// What the flags name; else the first bench target, one of the package around `folder` if
/// it has any, and one that every compiler builds if there is one; else the only binary or
/// example. Also returns the bench targets that were not chosen.
fn choose(
    workspace: &Workspace,
    folder: &Path,
    flags: &Table,
) -> Result<(Option<Candidate>, Vec<Candidate>), Error> {
    if flags.command.is_some() {
        return Ok((None, Vec::new()));
    }
    let here = workspace.package_around(folder);
    let choice = Choice { packages: &workspace.packages, here, root: &workspace.root };
    let benches = |package: &Package| -> Vec<Candidate> {
        let benches = package.targets.iter().filter(|target| target.kind == TargetKind::Bench);
        benches.map(|target| Candidate::new(package, target)).collect()
    };
    let mut candidates = if flags.targets() > 0 {
        Vec::new()
    } else if flags.package.is_some() {
        benches(choice.package(flags)?)
    } else {
        let own = here.map(benches).filter(|own| !own.is_empty());
        own.unwrap_or_else(|| workspace.packages.iter().flat_map(benches).collect())
    };
    if candidates.is_empty() {
        let benchmark = options::benchmark(None, flags, choice)?;
        let Subject::Target(target, _) = benchmark.subject else { return Ok((None, candidates)) };
        let package = workspace.package(&benchmark.package);
        return Ok((package.map(|package| Candidate::new(package, &target)), candidates));
    }
    // A stable sort: otherwise the manifest's order stands.
    candidates.sort_by_key(|candidate| candidate.is_unstable);
    Ok((Some(candidates.remove(0)), candidates))
}

/// Writes a file, replacing the one that is there as a whole and keeping its permissions. A
/// script can be executed.
///
/// # Errors
/// When it can't be written.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs_err::create_dir_all(folder).map_err(Error::io("make the folder", folder))?;
    let written = Place::find(path).and_then(|place| match text.starts_with("#!") {
        true => place.replace_script(text.as_bytes()),
        false => place.replace(text.as_bytes()),
    });
    written.map_err(Error::io("write", path))
}
