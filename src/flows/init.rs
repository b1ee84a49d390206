//! The set-up: which benchmark, how long a run of it takes, which threshold
//! that allows, and the table that says so.

mod manifest;
mod trial;

use std::path::{Path, PathBuf};

use crate::error::{Error, Kind};
use crate::exec::process::{Helper, Interrupt};
use crate::exec::system::{Place, canonical};
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
    /// Its package.
    pub package: String,
    /// Itself.
    pub target: Target,
    /// The harness that its source names, a guess.
    pub harness: &'static str,
    /// Whether only a nightly compiler takes it.
    pub is_unstable: bool,
}

/// Where the table goes, and what it is to say.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The manifest.
    pub manifest: PathBuf,
    /// The root of the repository, which holds it.
    pub root: PathBuf,
    /// The folder in which to compare, from the repository's root; empty where
    /// it is the root itself.
    pub folder: PathBuf,
    /// Whose metadata: `package` or `workspace`.
    pub owner: &'static str,
    /// The name of a table that is there already.
    pub there: Option<String>,
    /// What is chosen; `None` where a command is run.
    pub chosen: Option<Candidate>,
    /// Other bench targets that could have been.
    pub others: Vec<Candidate>,
    /// What the table sets.
    pub table: Table,
}

/// Looks at the workspace of a request, whose flags go into the table, and
/// chooses a benchmark where they don't.
///
/// # Errors
/// When there is no repository or no workspace, or nothing that can be chosen.
pub fn propose(
    request: &Request,
    helper: &Helper,
    interrupt: &Interrupt,
) -> Result<Proposal, Error> {
    let (workspace, root) = workspace::user_workspace(request, helper, interrupt)?;
    let flags = &request.flags;
    let (chosen, others) = choose(&workspace, &request.folder, flags)?;
    let mut table = flags.clone();
    let named = chosen.as_ref().map(|chosen| chosen.package.clone());
    let named = named.or(flags.package.clone());
    let package = match &named {
        Some(name) => workspace.package(name),
        None => workspace.package_around(&request.folder).or(workspace.packages.first()),
    };
    let is_root = |package: &Package| package.folder == workspace.root;
    let owner = if package.is_some_and(is_root) { "package" } else { "workspace" };
    table.package = named.filter(|_| owner == "workspace");
    if let Some(Candidate { target, .. }) = &chosen {
        let name = Some(target.name.clone());
        match target.kind {
            TargetKind::Bench => table.bench = name,
            TargetKind::Bin => table.bin = name,
            TargetKind::Example => table.example = name,
        }
    }
    let has = |metadata: &serde_json::Value| metadata.get("cbdr").is_some();
    let mut there = None;
    if package.is_some_and(|package| has(&package.metadata)) {
        there = Some("package.metadata.cbdr".to_owned());
    } else if has(&workspace.metadata) {
        there = Some("workspace.metadata.cbdr".to_owned());
    }
    let found = |path: &Path| canonical(path).map_err(Error::io("find", path));
    let root = found(&root)?;
    let folder = found(&workspace.root)?;
    let folder = folder.strip_prefix(&root).unwrap_or(Path::new("")).to_owned();
    let manifest = match (&there, package) {
        (Some(name), Some(package)) if name.starts_with("package") => &package.folder,
        _ => &workspace.root,
    };
    let manifest = manifest.join("Cargo.toml");
    Ok(Proposal { manifest, root, folder, owner, there, chosen, others, table })
}

/// What the flags name; else the first bench target, of the package around
/// `folder` if it has any, and those that every compiler takes before others;
/// else the only binary or example.
fn choose(
    workspace: &Workspace,
    folder: &Path,
    flags: &Table,
) -> Result<(Option<Candidate>, Vec<Candidate>), Error> {
    if flags.command.is_some() {
        return Ok((None, Vec::new()));
    }
    let here = workspace.package_around(folder);
    let choice = Choice { packages: &workspace.packages, here };
    let mut found =
        if flags.targets() > 0 { Vec::new() } else { benches(workspace, choice, flags)? };
    if found.is_empty() {
        let benchmark = options::benchmark(None, flags, choice)?;
        let Subject::Target(target, _) = benchmark.subject else { return Ok((None, found)) };
        let package = workspace.package(&benchmark.package);
        return Ok((package.map(|package| candidate(package, &target)), found));
    }
    // Stable: of the rest, the manifest's order stands.
    found.sort_by_key(|candidate| candidate.is_unstable);
    Ok((Some(found.remove(0)), found))
}

fn benches(
    workspace: &Workspace,
    choice: Choice<'_>,
    flags: &Table,
) -> Result<Vec<Candidate>, Error> {
    let of = |package: &Package| -> Vec<Candidate> {
        let benches = package.targets.iter().filter(|target| target.kind == TargetKind::Bench);
        benches.map(|target| candidate(package, target)).collect()
    };
    if flags.package.is_some() {
        return Ok(of(choice.package(flags)?));
    }
    let own = choice.here.map(of).unwrap_or_default();
    if !own.is_empty() {
        return Ok(own);
    }
    Ok(workspace.packages.iter().flat_map(of).collect())
}

fn candidate(package: &Package, target: &Target) -> Candidate {
    let source = package.sources.get(target);
    let source = source.and_then(|path| fs_err::read_to_string(path).ok()).unwrap_or_default();
    let marks = [("criterion", "criterion"), ("divan", "divan"), ("#[bench]", "libtest")];
    let harness = marks.into_iter().find(|(mark, _)| source.contains(mark));
    Candidate {
        package: package.name.clone(),
        target: target.clone(),
        harness: harness.map_or("plain", |(_, harness)| harness),
        is_unstable: source.contains("#![feature("),
    }
}

/// A request of the proposal's benchmark alone.
pub fn request_of(request: &Request, proposal: &Proposal) -> Request {
    let package = proposal.chosen.as_ref().map(|chosen| chosen.package.clone());
    let mut flags = proposal.table.clone();
    flags.package = package.or(flags.package);
    Request { flags, ..request.clone() }
}

/// The manifest's text as it is, and with the table.
///
/// # Errors
/// When it can't be read or edited, or has such a table.
pub fn edited(proposal: &Proposal) -> Result<(String, String), Error> {
    let path = &proposal.manifest;
    if let Some(table) = &proposal.there {
        let (path, table) = (path.clone(), table.clone());
        return Err(Kind::Configured { path, table }.into());
    }
    let before = fs_err::read_to_string(path).map_err(Error::io("read", path))?;
    let after = manifest::with_table(&before, proposal.owner, &proposal.table.entries());
    let after = after.map_err(|why| Kind::Manifest { path: path.clone(), why })?;
    Ok((before, after))
}

/// Writes a file whole: in the place of the one that is there, with its
/// permissions, or new. A new script can be executed.
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
