//! The set-up: which benchmark to compare, how long a run of it takes, which threshold its
//! noise allows, and the table in `Cargo.toml` that configures this.

mod manifest;
mod trial;

use std::path::{Path, PathBuf};

use crate::error::{Error, Failure};
use crate::exec::execution::Context;
use crate::exec::system::Place;
use crate::model::words::words;
use crate::model::{Dialect, Package, Target, TargetKind};
use crate::settings;
use crate::settings::choice::Choice;
use crate::settings::options::{self, Subject};
use crate::settings::table::Table;
use crate::workspace::cargo::Workspace;
use crate::workspace::{self, Request};

pub use trial::{Standing, Trial, Tried, try_out};

/// A target that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The name of its package.
    pub package: String,
    /// The target.
    pub target: Target,
    /// The harness, guessed from its source.
    pub harness: Dialect,
    /// Whether it needs a nightly compiler.
    pub is_unstable: bool,
}

impl Candidate {
    fn new(package: &Package, target: &Target) -> Self {
        let source = package.sources.get(target);
        let source = source.and_then(|path| fs_err::read_to_string(path).ok()).unwrap_or_default();
        let is_named = |library: &&str| source.contains(&library.replace('-', "_"));
        let of_library = |dialect: &Dialect| dialect.libraries().iter().any(is_named);
        let harness = match Dialect::ALL.into_iter().find(of_library) {
            Some(harness) => harness,
            None if source.contains("#[bench]") => Dialect::Libtest,
            None => Dialect::Plain,
        };
        Candidate {
            package: package.name.clone(),
            target: target.clone(),
            harness,
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

words!(TableOwner { Package = "package", Workspace = "workspace" });

/// Where the table goes, and its content.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The manifest.
    pub manifest: PathBuf,
    /// The root of the repository that contains the manifest.
    pub root: PathBuf,
    /// The folder in which to compare, relative to the repository's root; empty for the
    /// root itself.
    pub folder: PathBuf,
    /// Where a new table goes.
    pub owner: TableOwner,
    /// Where a table exists already, if any.
    pub existing: Option<TableOwner>,
    /// The chosen target; `None` for a command.
    pub chosen: Option<Candidate>,
    /// Other bench targets that could have been chosen.
    pub others: Vec<Candidate>,
    /// The content of the table.
    pub table: Table,
    /// The settings of the flags, if they leave the target to a trial.
    open: Option<Table>,
    /// The name of the package at the workspace's root.
    root_package: Option<String>,
}

impl Proposal {
    /// The request of a trial: for this benchmark alone, or for all that can be chosen.
    pub fn request(&self, request: &Request) -> Request {
        let chosen = self.chosen.as_ref().map(|chosen| chosen.package.clone());
        let table = self.open.as_ref().unwrap_or(&self.table).clone();
        let package = chosen.filter(|_| self.open.is_none()).or(table.package.clone());
        Request { flags: Table { package, ..table }, ..request.clone() }
    }

    /// Puts the choice of a trial into the table. No target is named if the choice is
    /// more than one and equals what runs by default.
    pub fn settle(&mut self, trial: &Trial) {
        let Some(flags) = &self.open else { return };
        let chosen: Vec<&Tried> = trial.chosen().collect();
        let is_at_root = |tried: &&Tried| self.root_package.as_ref() == Some(&tried.package);
        let is_of_package = chosen.iter().all(is_at_root);
        self.owner = if is_of_package { TableOwner::Package } else { TableOwner::Workspace };
        let entry = |tried: &Tried| Table {
            package: Some(tried.package.clone()).filter(|_| !is_of_package),
            bench: tried.target.as_ref().map(|target| target.name.clone()),
            ..Table::default()
        };
        let choice = match chosen.as_slice() {
            [only] => entry(only),
            all if all.len() > self.others.len() => Table::default(),
            several => {
                let named = several.iter().map(|tried| (tried.name.clone(), entry(tried)));
                Table { benchmarks: Some(named.collect()), ..Table::default() }
            }
        };
        self.table = choice.over(flags.clone());
    }

    /// The text of the manifest as it is, and the text with the table.
    ///
    /// # Errors
    /// If it can't be read or edited, or already has such a table.
    pub fn edited_manifest(&self) -> Result<(String, String), Error> {
        let path = &self.manifest;
        if let Some(owner) = self.existing {
            let (path, table) = (path.display(), owner.table());
            let what = format!("`{path}` already has a table [{table}], which is not overwritten");
            let step = "edit that table; `cargo cbdr compare` uses it";
            return Err(Failure::new(what, step).into());
        }
        let before = fs_err::read_to_string(path).map_err(Error::io("read", path))?;
        let after = manifest::with_table(&before, self.owner, &self.table.entries());
        let after = after.map_err(|why| {
            let what = format!("could not edit `{}`: {why}", path.display());
            Failure::new(what, "edit the table by hand, as docs/configuration.md shows")
        })?;
        Ok((before, after))
    }
}

/// Inspects the workspace of a request, whose flags go into the table, and chooses a
/// benchmark if the flags name none.
///
/// # Errors
/// If there is no repository or workspace, or nothing to choose from.
pub fn propose(request: &Request, context: Context<'_>) -> Result<Proposal, Error> {
    let (workspace, root) = workspace::user_workspace(request, context)?;
    let flags = &request.flags;
    let chosen = choose(&workspace, &request.folder, flags);
    let (chosen, others) =
        chosen.map_err(|error| workspace::with_folder_hint(error, &workspace, &root))?;
    let named = chosen.as_ref().map(|chosen| &chosen.package).or(flags.package.as_ref());
    let package = match named {
        Some(name) => workspace.package(name),
        None => workspace.package_around(&request.folder).or(workspace.packages.first()),
    };
    let is_at_root = package.is_some_and(|package| package.folder == workspace.root);
    let owner = if is_at_root { TableOwner::Package } else { TableOwner::Workspace };
    let package_key = named.filter(|_| !is_at_root).cloned();
    let mut table = Table { package: package_key, ..flags.clone() };
    if let Some(Candidate { target, .. }) = &chosen {
        let name = Some(target.name.clone());
        match target.kind {
            TargetKind::Bench => table.bench = name,
            TargetKind::Bin => table.bin = name,
            TargetKind::Example => table.example = name,
        }
    }
    options::check(&table)?;
    let has_table = |metadata: &serde_json::Value| metadata.get("cbdr").is_some();
    let (existing, folder) = match package {
        Some(package) if has_table(&package.metadata) => {
            (Some(TableOwner::Package), &package.folder)
        }
        _ if has_table(&workspace.metadata) => (Some(TableOwner::Workspace), &workspace.root),
        _ => (None, &workspace.root),
    };
    let manifest = folder.join("Cargo.toml");
    let find = |path: &Path| path.canonicalize().map_err(Error::io("find", path));
    let root = find(&root)?;
    let folder = find(&workspace.root)?;
    let mut packages = workspace.packages.iter();
    let root_package = packages.find(|package| package.folder == workspace.root);
    Ok(Proposal {
        manifest,
        folder: folder.strip_prefix(&root).unwrap_or(Path::new("")).to_owned(),
        root,
        owner,
        existing,
        chosen,
        open: (!others.is_empty()).then(|| flags.clone()),
        others,
        table,
        root_package: root_package.map(|package| package.name.clone()),
    })
}

/// The target that the flags name; else the first bench target that runs by default,
/// preferably one that needs no nightly compiler; else the only binary or example. Also
/// returns the bench targets that were not chosen.
fn choose(
    workspace: &Workspace,
    folder: &Path,
    flags: &Table,
) -> Result<(Option<Candidate>, Vec<Candidate>), settings::Error> {
    if flags.command.is_some() {
        return Ok((None, Vec::new()));
    }
    let here = workspace.package_around(folder);
    let choice = Choice { packages: &workspace.packages, here, root: &workspace.root };
    let mut candidates = Vec::new();
    if flags.targets() == 0 {
        for package in choice.packages_with_benches(flags)? {
            candidates.extend(package.benches().map(|target| Candidate::new(package, target)));
        }
    }
    if candidates.is_empty() {
        let benchmark = options::benchmark(None, flags, choice)?;
        let Subject::Target(target, _) = benchmark.subject else { return Ok((None, candidates)) };
        let package = workspace.package(&benchmark.package);
        return Ok((package.map(|package| Candidate::new(package, &target)), candidates));
    }
    // A stable sort, which otherwise keeps the manifest's order.
    candidates.sort_by_key(|candidate| candidate.is_unstable);
    Ok((Some(candidates.remove(0)), candidates))
}

/// Writes a file, replacing an existing one as a whole and keeping its permissions. Scripts
/// are made executable.
///
/// # Errors
/// If it can't be written.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs_err::create_dir_all(folder).map_err(Error::io("create the folder", folder))?;
    let written = Place::find(path).and_then(|place| match text.starts_with("#!") {
        true => place.replace_script(text.as_bytes()),
        false => place.replace(text.as_bytes()),
    });
    written.map_err(Error::io("write", path))
}
