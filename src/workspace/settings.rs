//! From the tables of both sides and the flags to the settings of the
//! comparison.

use std::path::Path;

use serde_json::Value;

use crate::error::Error;
use crate::model::notice::{DifferentKey, Notice, RunDiffers};
use crate::model::outcome::Removed;
use crate::model::side::Side;
use crate::model::target::Package;
use crate::settings::options::{self, Benchmark, Choice, Settings};
use crate::settings::table::{Difference, Table, Waiver};
use crate::workspace::cargo::Workspace;

/// The keys that a target chosen by a flag overrides, all of them at once.
const TARGETS: [&str; 5] = ["bench", "bin", "example", "command", "benchmarks"];

/// The keys of which a flag overrides a part: those of single metrics.
const BY_METRIC: [&str; 2] = ["thresholds", "units"];

/// What the tables came to.
pub(super) struct Resolved {
    pub(super) settings: Settings,
    /// Benchmarks that gate on the base and are not among the head's.
    pub(super) removed: Vec<Removed>,
    /// What there is to say of the tables.
    pub(super) notices: Vec<Notice>,
}

/// What a side has to say of the settings.
pub(super) struct Of<'a> {
    pub(super) workspace: &'a Workspace,
    /// The folder that we were called in.
    pub(super) inside: &'a Path,
    pub(super) table: Option<Table>,
}

/// A benchmark that a side's table asks for.
struct Entry {
    /// The name that it has in the table, if it has one.
    name: Option<String>,
    /// All of its keys, with those that it inherits.
    table: Table,
    /// What it is called in the outputs; none where its target can't be told.
    called: Option<String>,
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

/// Whether a flag says what is run, so that no table does.
fn choose_a_target(flags: &Table) -> bool {
    let targets = [&flags.bench, &flags.bin, &flags.example, &flags.command];
    targets.iter().any(|target| target.is_some())
}

impl Of<'_> {
    /// The benchmarks that its table asks for: the named ones, else the only one.
    fn entries(&self, flags: &Table) -> Vec<Entry> {
        let table = self.table.clone().unwrap_or_default();
        let named = if choose_a_target(flags) { Vec::new() } else { table.named() };
        let mut all: Vec<_> = named.into_iter().map(|(name, table)| (Some(name), table)).collect();
        if all.is_empty() {
            all.push((None, Table { benchmarks: None, ..table }));
        }
        let entry = |(name, table): (Option<String>, Table)| {
            let layers = flags.clone().over(table.clone());
            let choice = choice(self.workspace, self.inside);
            let benchmark = options::benchmark(name.as_deref(), &layers, choice).ok();
            Entry { name, table, called: benchmark.map(|benchmark| benchmark.name) }
        };
        all.into_iter().map(entry).collect()
    }
}

/// Lays the layers over each other: flags, then what decides from the table of
/// `policy_from`, then the head's table. A base that has no table leaves it to the
/// head's to decide; a head that has none is still decided about by the base's.
pub(super) fn resolve(
    flags: &Table,
    head: &Of<'_>,
    base: Option<&Of<'_>>,
    policy_from: Side,
) -> Result<Resolved, Error> {
    let entries = head.entries(flags);
    let base_entries = base.map(|base| base.entries(flags)).unwrap_or_default();
    let policy = base.and_then(|base| base.table.as_ref());
    let mut differing = Vec::new();
    let mut tables: Vec<(Option<&str>, Table)> = Vec::new();
    for entry in &entries {
        let mut table = entry.table.clone();
        if let Some(base) = policy {
            let policy = policy_of(entry, base, &base_entries);
            let keys = table.policy_differences(&policy).into_iter();
            differing.extend(keys.filter(|key| !is_overridden(flags, key)));
            if policy_from == Side::Base {
                table = table.with_policy_of(&policy);
            }
        }
        tables.push((entry.name.as_deref(), flags.clone().over(table)));
    }
    let choice = choice(head.workspace, head.inside);
    let checked = |(name, table): &(Option<&str>, Table)| options::benchmark(*name, table, choice);
    let benchmarks = tables.iter().map(checked).collect::<Result<Vec<_>, _>>()?;
    let tables = || tables.iter().map(|(_, table)| table);
    let (policy_checked, limits) = options::limits(tables())?;

    let mut notices = Vec::new();
    differing.sort_unstable();
    differing.dedup();
    if !differing.is_empty() {
        notices.push(Notice::PolicyDiffers { keys: differing, from: policy_from });
    }
    if let Some(base) = base {
        let differs = run_differs(flags, (head, &entries), (base, &base_entries));
        notices.extend(differs.map(Notice::RunDiffers));
    }
    let waived_before = policy.map(waivers_of).unwrap_or_default();
    notices.extend(waiver_notices(tables(), &waived_before, &benchmarks));
    let mut removed = Vec::new();
    // Without a table nobody asked for the base's benchmark by name: that the head
    // runs another one is said as a difference of settings.
    if policy.is_some() && !choose_a_target(flags) {
        let gone = |called: &String| benchmarks.iter().all(|head| head.name != *called);
        let gone = base_entries.into_iter().filter_map(|entry| entry.called).filter(gone);
        removed.extend(gone.map(|benchmark| Removed { benchmark, metric: None }));
    }
    if !removed.is_empty() {
        notices.push(Notice::Removed(removed.clone()));
    }
    let settings = Settings { benchmarks, policy: policy_checked, limits };
    Ok(Resolved { settings, removed, notices })
}

/// What the base's table decides about a benchmark of the head: by the benchmark
/// of its name, else by what stands around them all. What a comparison has one of
/// may be set in the base's named benchmarks alone, which then agree on it.
fn policy_of(entry: &Entry, base: &Table, base_entries: &[Entry]) -> Table {
    let same = base_entries.iter().find(|other| match (&entry.called, &other.called) {
        (Some(called), Some(other)) => called == other,
        _ => entry.name == other.name,
    });
    match (same, base_entries.first()) {
        (Some(same), _) => same.table.clone(),
        (None, Some(first)) => base.clone().with_common_policy_of(&first.table),
        (None, None) => base.clone(),
    }
}

/// Whether a flag of this call says what a key of the tables would.
fn is_overridden(flags: &Table, key: &str) -> bool {
    let is_target = choose_a_target(flags) && TARGETS.contains(&key);
    let is_set = || flags.entries().iter().any(|(set, _)| *set == key);
    is_target || !BY_METRIC.contains(&key) && is_set()
}

/// How the sides' tables differ in what is run, but for what the flags say.
fn run_differs(
    flags: &Table,
    (head, entries): (&Of<'_>, &[Entry]),
    (base, base_entries): (&Of<'_>, &[Entry]),
) -> Option<RunDiffers> {
    let lone = match (&base.table, &head.table) {
        (Some(_), None) => Some(Side::Base),
        (None, Some(_)) => Some(Side::Head),
        _ => None,
    };
    let [head_table, base_table] = [head, base].map(|side| side.table.clone().unwrap_or_default());
    let differing = |head: &Table, base: &Table| -> Vec<Difference> {
        let mut differing = head.run_differences(base);
        differing.retain(|(key, ..)| !is_overridden(flags, key));
        differing
    };
    let around = differing(&head_table, &base_table);
    let mut keys: Vec<DifferentKey> =
        around.iter().map(|difference| different(None, difference)).collect();
    let [head_names, base_names] = [&head_table, &base_table].map(names);
    if head_names != base_names && !is_overridden(flags, "benchmarks") {
        keys.push(different(None, &("benchmarks", head_names, base_names)));
    }
    for entry in entries.iter().filter(|entry| entry.called.is_some()) {
        for other in base_entries.iter().filter(|other| other.called == entry.called) {
            let mut own = differing(&entry.table, &other.table);
            own.retain(|difference| !around.contains(difference));
            keys.extend(own.iter().map(|own| different(entry.called.clone(), own)));
        }
    }
    keys.sort_by_key(|differing| differing.key);
    (lone.is_some() || !keys.is_empty()).then_some(RunDiffers { lone, keys })
}

fn different(benchmark: Option<String>, (key, head, base): &Difference) -> DifferentKey {
    let text = |value: &Option<Value>| match value.as_ref()? {
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    };
    DifferentKey { key, benchmark, base: text(base), head: text(head) }
}

/// The names of a table's named benchmarks.
fn names(table: &Table) -> Option<Value> {
    let named = table.benchmarks.as_ref().filter(|named| !named.is_empty())?;
    Some(named.keys().map(String::as_str).collect())
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
