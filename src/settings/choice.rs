//! Which package and which target a table selects.

use std::path::Path;

use super::error::{Error, instead_of, list};
use super::table::Table;
use crate::model::target::{Package, Target, TargetKind};

/// The packages from which a table can choose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice<'a> {
    /// The packages of the workspace.
    pub(crate) packages: &'a [Package],
    /// The package of the folder in which the program was called.
    pub(crate) here: Option<&'a Package>,
    /// The root of the workspace.
    pub(crate) root: &'a Path,
}

impl<'a> Choice<'a> {
    /// The package of a table: the one that it names; else the current one,
    /// unless only another one has the target; else the only possible one.
    ///
    /// # Errors
    /// If the named package does not exist, or none is named and there are several.
    pub(crate) fn package(&self, table: &Table) -> Result<&'a Package, Error> {
        if let Some(name) = &table.package {
            return self.named(name);
        }
        let wanted = table.named_targets().next();
        let fits = |package: &&Package| match &wanted {
            Some(wanted) => package.targets.iter().any(|target| target.name == wanted.name),
            None => package.benches().next().is_some(),
        };
        let fitting: Vec<_> = self.packages.iter().filter(fits).collect();
        match (self.here, fitting.as_slice(), self.packages) {
            (Some(here), [other], _) if wanted.is_some() && !fits(&here) => Ok(other),
            (Some(here), _, _) => Ok(here),
            (None, [only], _) => Ok(only),
            (None, _, [only]) => Ok(only),
            (None, several, all) => {
                let any = match (several, &wanted) {
                    ([], Some(wanted)) => return Err(self.no_target(wanted)),
                    ([], None) => all.iter().collect(),
                    _ => several.to_vec(),
                };
                let names = list(any.iter().map(|package| &*package.name));
                let found = match several.is_empty() {
                    true => "no package of this workspace has a bench target",
                    false => "this workspace has several packages",
                };
                Err(Error::Undecided {
                    found: found.to_owned(),
                    hint: format!("choose one with `-p`: {names}"),
                })
            }
        }
    }

    /// The packages whose bench targets all run for a table that names no target: the one
    /// that it names; else those that `cargo bench` would select in this folder; and if
    /// these have no bench target, at the workspace's root, all that have one.
    ///
    /// # Errors
    /// If it names a package that does not exist.
    pub(crate) fn packages_with_benches(&self, table: &Table) -> Result<Vec<&'a Package>, Error> {
        let has_benches = |package: &&Package| package.benches().next().is_some();
        let all = || self.packages.iter().filter(has_benches);
        let chosen: Vec<&Package> = if let Some(name) = &table.package {
            return Ok(vec![self.named(name)?].into_iter().filter(has_benches).collect());
        } else if let Some(here) = self.here.filter(|here| here.folder != self.root) {
            return Ok(vec![here].into_iter().filter(has_benches).collect());
        } else {
            all().filter(|package| package.is_default).collect()
        };
        Ok(if chosen.is_empty() { all().collect() } else { chosen })
    }

    /// The error that no package has this target.
    fn no_target(&self, wanted: &Target) -> Error {
        let targets = self.packages.iter().flat_map(|package| &package.targets);
        let of_kind = targets.filter(|target| target.kind == wanted.kind);
        let names = of_kind.map(|target| &*target.name);
        let hint = instead_of(&wanted.name, names, "its targets of that kind:");
        Error::Unknown { what: format!("no package of this workspace has the {wanted}"), hint }
    }

    fn named(&self, name: &str) -> Result<&'a Package, Error> {
        self.packages.iter().find(|package| package.name == name).ok_or_else(|| {
            let names = self.packages.iter().map(|package| &*package.name);
            let hint = instead_of(name, names, "it has");
            Error::Unknown { what: format!("the workspace has no package `{name}`"), hint }
        })
    }
}

/// The target that a table names, or the only possible one in `package`.
pub(super) fn target(table: &Table, package: &Package, all: Choice<'_>) -> Result<Target, Error> {
    let of = |kind| package.targets.iter().filter(move |target| target.kind == kind);
    if let Some(target) = table.named_targets().next() {
        if package.targets.contains(&target) {
            return Ok(target);
        }
        let names = of(target.kind).map(|target| &*target.name);
        let hint = instead_of(&target.name, names, "its targets of that kind:");
        let what = format!("the package `{}` has no {target}", package.name);
        return Err(Error::Unknown { what, hint });
    }
    for kind in TargetKind::ALL {
        let found: Vec<_> = of(kind).collect();
        match found.as_slice() {
            [] => {}
            [only] => return Ok((*only).clone()),
            several => {
                let names = list(several.iter().map(|target| &*target.name));
                let what = match kind {
                    TargetKind::Bench => "several bench targets",
                    TargetKind::Bin => "no bench target, but several binaries",
                    TargetKind::Example => "no bench target, but several examples",
                };
                return Err(Error::Undecided {
                    found: format!("`{}` has {what}: {names}", package.name),
                    hint: format!(
                        "choose one with `--{0}`, or set `{0}` in [package.metadata.cbdr]",
                        kind.name()
                    ),
                });
            }
        }
    }
    let others = |is_meant: fn(&&Package) -> bool| {
        let mut names = all.packages.iter().filter(is_meant).map(|other| &*other.name).peekable();
        names.peek().is_some().then(|| list(names))
    };
    let hint = if let Some(names) = others(|other| other.benches().next().is_some()) {
        format!("these packages have benches; choose one with `-p`: {names}")
    } else if let Some(names) = others(|other| !other.targets.is_empty()) {
        format!("these packages have binaries or examples; choose one with `-p`: {names}")
    } else {
        "add a `[[bench]]`, or use any program with `--command`".to_owned()
    };
    let found = format!("`{}` has no bench, bin or example target", package.name);
    Err(Error::Undecided { found, hint })
}
