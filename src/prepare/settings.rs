//! From the tables of both sides and the flags to the settings of the
//! comparison.

use std::path::Path;

use crate::cargo::{Package, Workspace};
use crate::config::{Table, Waiver};
use crate::error::Error;
use crate::event::Notice;
use crate::options::{self, Benchmark, Choice, Settings};
use crate::side::Side;

/// What the tables came to.
pub(super) struct Resolved {
    pub(super) settings: Settings,
    /// The keys in which the sides' tables decide differently.
    pub(super) differing: Vec<&'static str>,
    /// Benchmarks that only the base's table names.
    pub(super) removed: Vec<String>,
    /// What there is to say of the waivers.
    pub(super) waivers: Vec<Notice>,
}

/// The table of a workspace: that of the package that `flags` or the folder
/// `inside` choose, over the workspace's own.
pub(super) fn table(
    workspace: &Workspace,
    inside: &Path,
    flags: &Table,
) -> Result<Option<Table>, Error> {
    let common = Table::of_metadata(&workspace.metadata, "workspace")?;
    let asked = flags.clone().over(common.clone().unwrap_or_default());
    let package = choice(workspace, inside).package(&asked).ok();
    let own = match package {
        Some(package) => Table::of_metadata(&package.metadata, "package")?,
        None => None,
    };
    Ok(match (own, common) {
        (Some(own), Some(common)) => Some(own.over(common)),
        (own, common) => own.or(common),
    })
}

fn choice<'a>(workspace: &'a Workspace, inside: &Path) -> Choice<'a> {
    let here: Option<&Package> = workspace.package_around(inside);
    Choice { packages: &workspace.packages, here }
}

/// Lays the layers over each other: flags, then what decides from the table
/// of `policy_from`, then the head's table.
pub(super) fn resolve(
    workspace: &Workspace,
    inside: &Path,
    flags: &Table,
    head: Option<Table>,
    base: Option<Table>,
    policy_from: Side,
) -> Result<Resolved, Error> {
    let mut differing = Vec::new();
    let mut removed = Vec::new();
    let mut tables: Vec<(Option<String>, Table)> = Vec::new();
    let chosen_by_flag = [&flags.bench, &flags.bin, &flags.example, &flags.command];
    let chosen_by_flag = chosen_by_flag.iter().any(|target| target.is_some());
    let waived_before = base.as_ref().map(waivers_of).unwrap_or_default();
    let deciding = base.filter(|_| head.is_some());
    let head = head.unwrap_or_default();
    let named = if chosen_by_flag { Vec::new() } else { head.named() };
    let base_named = match &deciding {
        Some(base) if !chosen_by_flag => base.named(),
        _ => Vec::new(),
    };
    let mut decide = |name: Option<&str>, table: Table| {
        let own = base_named.iter().find(|(known, _)| Some(known.as_str()) == name);
        let Some(base) = own.map(|(_, table)| table).or(deciding.as_ref()) else {
            return table;
        };
        let (with_base, keys) = table.clone().with_policy_of(base);
        differing.extend(keys);
        if policy_from == Side::Base { with_base } else { table }
    };
    for (name, table) in &named {
        let table = decide(Some(name), table.clone());
        tables.push((Some(name.clone()), flags.clone().over(table)));
    }
    if named.is_empty() {
        tables.push((None, flags.clone().over(decide(None, head))));
    } else {
        let gone = base_named.iter().filter(|(name, _)| !named.iter().any(|(n, _)| n == name));
        removed.extend(gone.map(|(name, _)| name.clone()));
    }
    differing.sort_unstable();
    differing.dedup();
    let choice = choice(workspace, inside);
    let checked = |(name, table): &(Option<String>, Table)| {
        options::benchmark(name.as_deref(), table, choice)
    };
    let benchmarks = tables.iter().map(checked).collect::<Result<Vec<_>, _>>()?;
    let (policy, limits) = options::limits(tables.iter().map(|(_, table)| table))?;
    let waivers =
        waiver_notices(tables.iter().map(|(_, table)| table), &waived_before, &benchmarks);
    let settings = Settings { benchmarks, policy, limits };
    Ok(Resolved { settings, differing, removed, waivers })
}

/// All waivers of a side.
fn waivers_of(table: &Table) -> Vec<Waiver> {
    let named = table.named();
    let all = named.iter().map(|(_, table)| table).chain([table]);
    all.filter_map(|table| table.waivers.clone()).flatten().collect()
}

/// The head's waivers that the base does not have, and those that have expired.
fn waiver_notices<'a>(
    tables: impl Iterator<Item = &'a Table>,
    before: &[Waiver],
    benchmarks: &[Benchmark],
) -> Vec<Notice> {
    let new = tables.flat_map(|table| table.waivers.iter().flatten());
    let new = new.filter(|waiver| !before.contains(waiver)).map(|waiver| {
        let (metric, ceiling) = (waiver.metric.clone(), waiver.ceiling.clone());
        Notice::NewWaiver { metric, ceiling, reason: waiver.reason.clone() }
    });
    let expired = benchmarks.iter().flat_map(|benchmark| &benchmark.expired);
    let mut notices: Vec<Notice> = Vec::new();
    for notice in new.chain(expired.cloned().map(Notice::ExpiredWaiver)) {
        if !notices.contains(&notice) {
            notices.push(notice);
        }
    }
    notices
}
