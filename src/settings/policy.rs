//! The layers: flags over the tables of the two sides. What decides comes from the
//! base, so that a branch can't quietly loosen its own gate; what is run comes
//! from the head.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::choice::Choice;
use super::error::Error;
use super::options::{self, Benchmark, Subject};
use super::origin::Layer;
use super::setting::{Role, TableKey};
use super::table::{KeyDifference, Table, WrittenUnit, WrittenWaiver};
use crate::model::notice::{DifferentKey, Notice, RunDiffers};
use crate::model::outcome::{Limits, Policy, Removed};
use crate::model::side::Side;

/// The keys that a target chosen by a flag overrides, all of them at once.
const TARGETS: [&str; 5] = ["bench", "bin", "example", "command", "benchmarks"];

/// The keys that a flag overrides in part: those of single metrics.
const BY_METRIC: [&str; 2] = ["thresholds", "units"];

/// The settings of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) benchmarks: Vec<Benchmark>,
    pub(crate) policy: Policy,
    pub(crate) limits: Limits,
    /// The table from which the settings that all benchmarks share are read.
    pub(crate) table: Table,
}

/// The settings, with notices about the tables from which they come.
pub(crate) struct Resolved {
    pub(crate) settings: Settings,
    /// Benchmarks that gate on the base but that the head lacks.
    pub(crate) removed: Vec<Removed>,
    /// The names of the head's benchmarks that gate on the base, too.
    pub(crate) gated: Vec<String>,
    pub(crate) notices: Vec<Notice>,
}

/// The table of one side, and the packages to which it applies.
pub(crate) struct SideTable<'a> {
    pub(crate) choice: Choice<'a>,
    pub(crate) table: Option<Table>,
}

/// A benchmark of a side's table.
struct SideBenchmark {
    of: TableOf,
    /// Its name in the outputs; `None` if its target is not known.
    name: Option<String>,
    /// The folder of its package, relative to the root of the workspace.
    folder: Option<PathBuf>,
}

/// The settings of a benchmark.
#[derive(Default)]
struct TableOf {
    /// Its name in the table, if any.
    key: Option<String>,
    /// All of its keys, with those that it inherits.
    table: Table,
    /// Whether it runs by default.
    is_found: bool,
    /// Whether its package has a table of its own, in addition to that of the side.
    has_own: bool,
}

impl TableOf {
    fn named((key, table): (String, Table)) -> Self {
        TableOf { key: Some(key), table, ..TableOf::default() }
    }
}

impl SideBenchmark {
    /// Whether it is the same benchmark as one of the other side.
    fn is(&self, other: &SideBenchmark) -> bool {
        let [own, others] = [&self.of, &other.of].map(|of| (&of.table.package, &of.table.bench));
        match (&self.name, &other.name) {
            // Whether a name includes its package depends on the others. The package may have
            // been moved or renamed.
            _ if self.of.is_found && other.of.is_found => {
                own == others || own.1 == others.1 && self.folder == other.folder
            }
            (Some(name), Some(other)) => name == other,
            _ => self.of.key == other.of.key,
        }
    }
}

impl<'a> SideTable<'a> {
    /// The table of the package that `flags` or the current folder choose, over that
    /// of the workspace, whose metadata is given.
    ///
    /// # Errors
    /// If one of them is invalid.
    pub(crate) fn read(metadata: &Value, choice: Choice<'a>, flags: &Table) -> Result<Self, Error> {
        let common = Table::of_metadata(metadata, Layer::Workspace)?;
        let layers = flags.clone().over(common.clone().unwrap_or_default());
        let own = match choice.package(&layers) {
            Ok(package) => Table::of_metadata(&package.metadata, Layer::Package)?,
            Err(_) => None,
        };
        let table = match (own, common) {
            (Some(own), Some(common)) => Some(own.over(common)),
            (own, common) => own.or(common),
        };
        Ok(SideTable { choice, table })
    }

    /// The benchmarks of the table: the named ones, else that of the target that it names,
    /// else all bench targets of the possible packages, else the only target of another
    /// kind.
    fn benchmarks(&self, flags: &Table) -> Result<Vec<SideBenchmark>, Error> {
        let table = self.table.clone().unwrap_or_default();
        let named = if flags.targets() > 0 { Vec::new() } else { table.named() };
        let mut tables: Vec<TableOf> = named.into_iter().map(TableOf::named).collect();
        if tables.is_empty() {
            let table = Table { benchmarks: None, ..table };
            tables = self.found(flags, &table)?;
            if tables.is_empty() {
                tables.push(TableOf { table, ..TableOf::default() });
            }
        }
        let identified = |of: TableOf| {
            let layers = flags.clone().over(of.table.clone());
            let identity = options::identity(of.key.as_deref(), &layers, self.choice).ok();
            let folder = identity.as_ref().map(|(_, package, _)| {
                package.folder.strip_prefix(self.choice.root).unwrap_or(&package.folder).to_owned()
            });
            SideBenchmark { of, name: identity.map(|(name, ..)| name), folder }
        };
        let mut benchmarks: Vec<SideBenchmark> = tables.into_iter().map(identified).collect();
        // Benchmarks with the same name are in different packages.
        let names: Vec<_> = benchmarks.iter().map(|one| one.name.clone()).collect();
        for SideBenchmark { of, name, .. } in &mut benchmarks {
            let is_shared = names.iter().filter(|other| *other == name).count() > 1;
            if let (Some(own), Some(package), true) = (&name, &of.table.package, is_shared) {
                *name = Some(format!("{package}/{own}"));
                of.key.clone_from(name);
            }
        }
        Ok(benchmarks)
    }

    /// The tables of the benchmarks, if no target is named: the bench targets of the
    /// possible packages, each with the table of its package.
    fn found(&self, flags: &Table, table: &Table) -> Result<Vec<TableOf>, Error> {
        let layers = flags.clone().over(table.clone());
        if layers.targets() > 0 {
            return Ok(Vec::new());
        }
        // A package that does not exist is reported when its target is searched for.
        let packages = self.choice.packages_with_benches(&layers).unwrap_or_default();
        let chosen = self.choice.package(&layers).ok().map(|package| &package.name);
        let mut found = Vec::new();
        for package in packages {
            let own = match chosen == Some(&package.name) {
                true => None,
                false => Table::of_metadata(&package.metadata, Layer::Package)?,
            };
            let has_own = own.is_some();
            let whole = own.unwrap_or_default().over(table.clone());
            let whole = Table { package: Some(package.name.clone()), ..whole };
            let mut of_package: Vec<TableOf> =
                whole.named().into_iter().map(TableOf::named).collect();
            let table = Table { benchmarks: None, ..whole };
            if of_package.is_empty() && table.targets() > 0 {
                of_package.push(TableOf { table, ..TableOf::default() });
            } else if of_package.is_empty() {
                of_package.extend(package.benches().map(|target| {
                    let table = Table { bench: Some(target.name.clone()), ..table.clone() };
                    TableOf { table, is_found: true, ..TableOf::default() }
                }));
            }
            found.extend(of_package.into_iter().map(|of| TableOf { has_own, ..of }));
        }
        Ok(found)
    }
}

/// Merges the layers: flags, then what decides from the table of `policy_from`,
/// then the head's table. If the base has no table, the head's decides; if only
/// the base has one, it still decides.
///
/// # Errors
/// If a value can't be parsed, a name does not exist, or benchmarks differ in a
/// setting that a comparison has only once.
pub(crate) fn resolve(
    flags: &Table,
    head: &SideTable<'_>,
    base: Option<&SideTable<'_>>,
    policy_from: Side,
) -> Result<Resolved, Error> {
    let of_head = head.benchmarks(flags)?;
    let of_base = base.map(|base| base.benchmarks(flags)).transpose();
    let of_base = of_base.map_err(|error| error.of(Side::Base))?.unwrap_or_default();
    let base_table = base.and_then(|base| base.table.as_ref());
    let mut differing = Vec::new();
    let mut benchmarks = Vec::new();
    for one in &of_head {
        let parse = |table: &Table| -> Result<Benchmark, Error> {
            let parsed = options::benchmark(one.of.key.as_deref(), table, head.choice)?;
            options::limits(table)?;
            Ok(Benchmark { is_found: one.of.is_found, ..parsed })
        };
        let table = flags.clone().over(one.of.table.clone());
        // Also if the base decides, since it would be in force once the head is merged.
        let mut benchmark = parse(&table).map_err(|error| {
            let is_of_table = parse(&one.of.table).as_ref().err() == Some(&error);
            if is_of_table { error.of(Side::Head) } else { error }
        })?;
        if let Some(policy) = policy_of(one, base_table, &of_base) {
            let differences = one.of.table.differences(&policy).into_iter();
            let keys = differences.map(|difference| difference.key);
            let decides = |key: &TableKey| key.role.is_policy() && !is_overridden(flags, key.name);
            differing.extend(keys.filter(decides).map(|key| key.name.to_owned()));
            if policy_from == Side::Base {
                let table = flags.clone().over(one.of.table.clone().with(Role::is_policy, &policy));
                benchmark = parse(&table).map_err(|error| error.of(policy_from))?;
            }
        }
        benchmarks.push(benchmark);
    }
    check_agreement(&benchmarks)?;
    check_build_commands(&benchmarks)?;
    let table = benchmarks[0].table.clone();
    let (policy, limits) = options::limits(&table).map_err(|error| error.of(policy_from))?;

    let mut notices = Vec::new();
    differing.sort_unstable();
    differing.dedup();
    if !differing.is_empty() {
        notices.push(Notice::PolicyDiffers { keys: differing, from: policy_from });
    }
    if let Some(base) = base {
        let differs = run_differs(flags, (head, &of_head), (base, &of_base));
        notices.extend(differs.map(Notice::RunDiffers));
    }
    notices.extend(waiver_notices(&benchmarks, base_table));
    // Without a table, the base's only target was not requested by name: if the head's table
    // chooses another one, that is reported as a difference of settings.
    let head_chooses = head.table.as_ref().is_some_and(|table| {
        table.targets() > 0 || table.benchmarks.as_ref().is_some_and(|named| !named.is_empty())
    });
    let counts = |benchmark: &SideBenchmark| {
        base_table.is_some()
            || benchmark.of.has_own
            || of_base.len() > 1
            || benchmark.of.is_found && !head_chooses
    };
    let (mut removed, mut gated) = (Vec::new(), Vec::new());
    if flags.targets() == 0 {
        let is_gated = |benchmark: &&SideBenchmark| {
            of_base.iter().any(|base| counts(base) && base.name.is_some() && benchmark.is(base))
        };
        let names = of_head.iter().filter(is_gated).filter_map(|benchmark| benchmark.name.clone());
        gated.extend(names);
        let is_gone = |benchmark: &SideBenchmark| !of_head.iter().any(|head| head.is(benchmark));
        let gone = of_base.iter().filter(|benchmark| counts(benchmark) && is_gone(benchmark));
        let gone = gone.filter_map(|benchmark| benchmark.name.clone());
        removed.extend(gone.map(|benchmark| Removed { benchmark, metric: None }));
    }
    if !removed.is_empty() {
        notices.push(Notice::Removed(removed.clone()));
    }
    let settings = Settings { benchmarks, policy, limits, table };
    Ok(Resolved { settings, removed, gated, notices })
}

/// What the base's table, if there is one, decides about a benchmark of the head: its
/// benchmark of the same name, or else the keys outside all named benchmarks. A key of which a comparison has
/// only one value may be set in the base's named benchmarks alone, which then agree on it.
fn policy_of(
    benchmark: &SideBenchmark,
    base: Option<&Table>,
    of_base: &[SideBenchmark],
) -> Option<Table> {
    let same = of_base.iter().find(|other| benchmark.is(other));
    let same = same.filter(|same| base.is_some() || same.of.has_own);
    match (same, base, of_base.first()) {
        (Some(same), ..) => Some(same.of.table.clone()),
        (None, Some(base), Some(first)) => {
            Some(base.clone().with(|role| role == Role::Judges, &first.of.table))
        }
        (None, base, _) => base.cloned(),
    }
}

/// Checks that all benchmarks agree on the settings that a comparison has only
/// once, and that no metric has two units, since samples have one column for it.
fn check_agreement(benchmarks: &[Benchmark]) -> Result<(), Error> {
    let (first, others) = benchmarks.split_first().expect("a comparison has a benchmark");
    for other in others {
        let mut differences = first.table.differences(&other.table).into_iter();
        if let Some(found) = differences.find(|found| found.key.role == Role::Judges) {
            return Err(Error::Disagree(found.key.name.to_owned()));
        }
    }
    let mut known: BTreeMap<&str, &WrittenUnit> = BTreeMap::new();
    for (metric, unit) in benchmarks.iter().flat_map(|one| one.table.units.iter().flatten()) {
        if *known.entry(metric).or_insert(unit) != unit {
            return Err(Error::Disagree(format!("units.{metric}")));
        }
    }
    Ok(())
}

/// Checks that a build command builds what a command runs. The table of a workspace may have one
/// for some of its packages only.
fn check_build_commands(benchmarks: &[Benchmark]) -> Result<(), Error> {
    let is_command = |one: &Benchmark| matches!(one.subject, Subject::Command { .. });
    let is_used = benchmarks.iter().any(is_command);
    for Benchmark { subject, table, .. } in benchmarks {
        let (Subject::Target(target, _), Some(build)) = (subject, &table.build_command) else {
            continue;
        };
        let layer_of = |key: &str| table.origins.get(key).layer;
        let layer = layer_of("build-command");
        let is_beside = match layer {
            Layer::Benchmark => true,
            Layer::Workspace => !is_used && layer_of(target.kind.name()) != Layer::Default,
            _ => !is_used,
        };
        if is_beside {
            let error = options::beside_target(build, target);
            return Err(if layer == Layer::Flag { error } else { error.of(Side::Head) });
        }
    }
    Ok(())
}

/// Whether a flag overrides a key of the tables.
fn is_overridden(flags: &Table, key: &str) -> bool {
    let is_target = flags.targets() > 0 && TARGETS.contains(&key);
    let is_set = || flags.entries().iter().any(|(set, _)| *set == key);
    is_target || !BY_METRIC.contains(&key) && is_set()
}

/// How the sides' tables differ in what is run, apart from what the flags override.
fn run_differs(
    flags: &Table,
    (head, of_head): (&SideTable<'_>, &[SideBenchmark]),
    (base, of_base): (&SideTable<'_>, &[SideBenchmark]),
) -> Option<RunDiffers> {
    let only_side = match (&base.table, &head.table) {
        (Some(_), None) => Some(Side::Base),
        (None, Some(_)) => Some(Side::Head),
        _ => None,
    };
    let differences = |head: &Table, base: &Table| -> Vec<KeyDifference> {
        let mut differences = head.differences(base);
        differences.retain(|KeyDifference { key, .. }| {
            matches!(key.role, Role::Selects | Role::Shapes) && !is_overridden(flags, key.name)
        });
        differences
    };
    let [head_table, base_table] = [head, base].map(|side| side.table.clone().unwrap_or_default());
    let mut whole_table = differences(&head_table, &base_table);
    // The named benchmarks are compared one by one, by their own keys; here, only
    // their names are.
    for found in whole_table.iter_mut().filter(|found| found.key.name == "benchmarks") {
        (found.own, found.other) = (names(&head_table), names(&base_table));
    }
    whole_table.retain(|found| found.own != found.other);
    let mut keys: Vec<DifferentKey> = whole_table.iter().map(|of| different(None, of)).collect();
    // One without a name is of a package that the side does not have.
    for benchmark in of_head.iter().filter(|benchmark| benchmark.name.is_some()) {
        let others = of_base.iter().filter(|other| other.name.is_some() && benchmark.is(other));
        for other in others {
            let mut own = differences(&benchmark.of.table, &other.of.table);
            own.retain(|found| !whole_table.contains(found));
            keys.extend(own.iter().map(|found| different(benchmark.name.clone(), found)));
        }
    }
    keys.sort_by(|one, other| one.key.cmp(&other.key));
    (only_side.is_some() || !keys.is_empty()).then_some(RunDiffers { only_side, keys })
}

fn different(benchmark: Option<String>, found: &KeyDifference) -> DifferentKey {
    let text = |value: &Option<Value>| match value.as_ref()? {
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    };
    DifferentKey {
        key: found.key.name.to_owned(),
        selects: found.key.role == Role::Selects,
        benchmark,
        base: text(&found.other),
        head: text(&found.own),
    }
}

/// The names of a table's named benchmarks.
fn names(table: &Table) -> Option<Value> {
    let named = table.benchmarks.as_ref().filter(|named| !named.is_empty())?;
    Some(named.keys().map(String::as_str).collect())
}

/// The features that are enabled because bench targets require them.
pub(crate) fn required_notices(benchmarks: &[Benchmark]) -> impl Iterator<Item = Notice> {
    let mut by_features: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for Benchmark { name, subject, table, .. } in benchmarks {
        let Subject::Target(_, build) = subject else { continue };
        let named = table.features.as_ref().map_or(0, Vec::len);
        let required = build.features.get(named..).unwrap_or_default().to_vec();
        if !required.is_empty() {
            by_features.entry(required).or_default().push(name.clone());
        }
    }
    let notices = by_features.into_iter();
    notices.map(|(features, benchmarks)| Notice::Required { benchmarks, features })
}

/// The head's waivers that the base does not have, and those that have expired.
fn waiver_notices(benchmarks: &[Benchmark], base: Option<&Table>) -> Vec<Notice> {
    let named = base.map(Table::named).unwrap_or_default();
    let before = named.iter().map(|(_, table)| table).chain(base);
    let before: Vec<&WrittenWaiver> = before.flat_map(|of| of.waivers.iter().flatten()).collect();
    let new = benchmarks.iter().flat_map(|one| one.table.waivers.iter().flatten());
    let new = new.filter(|waiver| !before.contains(waiver)).map(|waiver| Notice::NewWaiver {
        metric: waiver.metric.clone(),
        ceiling: waiver.ceiling.text().to_owned(),
        reason: waiver.reason.clone(),
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
