//! Turns the texts of flags and tables into plain, validated data.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::choice::{Choice, target};
use super::error::{Error, nearest};
use super::origin::Layer;
use super::setting::Written;
use super::table::{Table, WrittenUnit};
use super::values::{
    Aslr, CheckOutput, CodegenUnits, Cpus, FailOn, Repetitions, SuiteChoice, Words,
};
use crate::model::gate::THRESHOLD;
use crate::model::metric::{DEFAULT_METRIC, FILE_SIZE, unfit};
use crate::model::{
    BenchmarkThreshold, BuildOptions, Dialect, Doubt, Estimator, Gate, LearntThreshold, Limits,
    Metric, Package, Policy, Quantity, Side, SuiteGate, Target, Unit, Units, Waiver,
};
use crate::stats::learnt::RANGE;

/// The default number of measurements of which `min` uses the smallest.
const MIN_OF: u32 = 5;

/// How many times anything may run before the next measurement: more would hardly ever end.
pub const MOST_RUNS: u32 = 10_000;

/// Where a benchmark comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Subject {
    /// An executable that cargo builds.
    Target(Target, BuildOptions),
    /// A command, and what builds it.
    Command {
        words: Vec<String>,
        /// The words of the command that builds it.
        build: Option<Vec<String>>,
    },
}

/// A benchmark to compare. The serialized part describes how it is run; what
/// decides and what is shown is stored elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// Its name in the outputs.
    pub(crate) name: String,
    pub(crate) package: String,
    /// What is run.
    #[serde(rename = "run")]
    pub(crate) subject: Subject,
    /// Whether it was not named: one of the targets that run by default.
    #[serde(skip)]
    pub(crate) is_found: bool,
    pub(crate) args: Vec<String>,
    /// The harness by which it is called and parsed; if `None`, it is detected in the executable.
    pub(crate) harness: Option<Dialect>,
    /// The metrics that gate.
    #[serde(skip)]
    pub(crate) gates: Vec<Gate>,
    /// Thresholds of benchmarks within it, for the metrics that have none of their own.
    #[serde(skip)]
    pub(crate) by_pattern: Vec<BenchmarkThreshold>,
    /// The metrics that have one.
    #[serde(skip)]
    pub(crate) own_thresholds: BTreeSet<String>,
    /// Learnt thresholds of the benchmarks within it, and of itself.
    #[serde(skip)]
    pub(crate) learnt: Vec<LearntThreshold>,
    /// Slowdowns that are accepted today.
    #[serde(skip)]
    pub(crate) waivers: Vec<Waiver>,
    /// Accepted slowdowns that have expired.
    #[serde(skip)]
    pub(crate) expired: Vec<Waiver>,
    /// Whether they were not named, so that the only metric may replace the
    /// default.
    #[serde(skip)]
    pub(crate) gates_are_default: bool,
    /// Units and directions that differ from the defaults.
    #[serde(skip)]
    pub(crate) units: Units,
    /// Other metrics that are measured and shown.
    #[serde(skip)]
    pub(crate) shown: Vec<String>,
    /// The number of unmeasured runs of each side at the beginning.
    pub(crate) warmup: u32,
    /// The maximum time of a run.
    #[serde(skip)]
    pub(crate) run_timeout: Duration,
    /// How its runs are made, and in which surroundings.
    pub(crate) measuring: Measuring,
    /// The table from which all of this is read: the flags over those of the sides.
    #[serde(skip)]
    pub(crate) table: Table,
}

impl Benchmark {
    /// The metrics that are requested by name.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &String> {
        self.gates.iter().map(|gate| &gate.metric).chain(&self.shown)
    }

    /// Whether the number of codegen units may be chosen by what is measured.
    pub(crate) fn chooses_units(&self) -> bool {
        self.table.codegen_units() == Ok(CodegenUnits::Auto)
    }

    /// Builds these packages with one codegen unit.
    pub(crate) fn use_one_unit(&mut self, packages: &BTreeSet<String>) {
        if let Subject::Target(_, options) = &mut self.subject {
            options.of_one_unit.clone_from(packages);
        }
    }

    /// Whether a threshold is to be learnt.
    pub(crate) fn learns(&self) -> bool {
        self.gates.iter().any(|gate| gate.learnt.is_some())
            || self.by_pattern.iter().any(|one| one.threshold.is_none())
    }
}

/// How runs are made, and in which surroundings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measuring {
    /// The number of runs per measurement.
    pub(crate) repetitions: Repetitions,
    /// The number of measurements of which the smallest is used; 1 except for
    /// the estimator `min`.
    pub(crate) min_of: u32,
    /// Whether addresses are the same in every run.
    pub(crate) fixed_addresses: bool,
    /// The processor to run on. It depends on the machine, and is not serialized.
    #[serde(skip)]
    pub(crate) cpus: Vec<u16>,
    /// The niceness that is added to a run.
    #[serde(skip)]
    pub(crate) nice: i8,
    /// The file for standard input, relative to the package's folder.
    pub(crate) stdin: Option<PathBuf>,
    /// The words of the commands around runs.
    pub(crate) hooks: Hooks,
    /// Whether the sides' standard outputs are compared.
    pub(crate) check_output: bool,
    /// Whether a difference is the verdict.
    #[serde(skip)]
    pub(crate) fails_on_output: bool,
    /// Whose benchmark sources both sides use; if `None`, each uses its own.
    pub(crate) bench_from: Option<Side>,
}

/// The words of commands that are run in a side's package folder, unmeasured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hooks {
    /// Before each run.
    pub(crate) prepare: Option<Vec<String>>,
    /// Before a side's first run.
    pub(crate) setup: Option<Vec<String>>,
    /// After a side's last run.
    pub(crate) cleanup: Option<Vec<String>>,
}

/// The name of a table's benchmark in the outputs, its package, and what is run.
/// `key` is the name of a named benchmark; others are named after their target.
///
/// # Errors
/// If a name does not exist or is invalid.
pub(super) fn identity<'a>(
    key: Option<&str>,
    table: &Table,
    choice: Choice<'a>,
) -> Result<(String, &'a Package, Subject), Error> {
    let package = choice.package(table)?;
    let subject = match table.command()? {
        Some(Words(words)) => {
            Subject::Command { words, build: table.build_command()?.map(|Words(words)| words) }
        }
        None => {
            let mut build = BuildOptions {
                features: table.features.clone().unwrap_or_default(),
                all_features: table.all_features.unwrap_or(false),
                no_default_features: table.no_default_features.unwrap_or(false),
                profile: table.profile.clone(),
                codegen_units: match table.codegen_units()? {
                    CodegenUnits::Number(units) => Some(units),
                    CodegenUnits::Auto | CodegenUnits::Profile => None,
                },
                of_one_unit: BTreeSet::new(),
                strips_names: named(table).any(|metric| metric == FILE_SIZE),
            };
            let target = target(table, package, choice)?;
            build.features.extend(package.missing_features(&target, &build));
            Subject::Target(target, build)
        }
    };
    let name = match (key, &subject) {
        (Some(key), _) => key,
        (None, Subject::Target(target, _)) => &target.name,
        (None, Subject::Command { words, .. }) => {
            let program = words.first().map_or("", String::as_str);
            program.rsplit('/').next().unwrap_or(program)
        }
    };
    match unfit(name) {
        Some(why) => Err(Error::bad("name of a benchmark", name, why)),
        None => Ok((name.to_owned(), package, subject)),
    }
}

/// Validates one benchmark's table. `key` is the name of a named benchmark;
/// others are named after their target.
///
/// # Errors
/// If a value can't be parsed or a name does not exist.
pub(crate) fn benchmark(
    key: Option<&str>,
    table: &Table,
    choice: Choice<'_>,
) -> Result<Benchmark, Error> {
    let (name, package, subject) = identity(key, table, choice)?;
    with_settings(name, package.name.clone(), subject, table)
}

/// A benchmark with the settings of a table, whatever target that names.
///
/// # Errors
/// If a value can't be parsed.
pub(crate) fn with_settings(
    name: String,
    package: String,
    subject: Subject,
    table: &Table,
) -> Result<Benchmark, Error> {
    let (waivers, expired) = waivers(table, SystemTime::now())?;
    Ok(Benchmark {
        name,
        package,
        subject,
        is_found: false,
        args: table.args.clone().unwrap_or_default(),
        harness: table.harness()?,
        gates: gates(table)?,
        by_pattern: by_pattern(table)?,
        own_thresholds: table.thresholds.iter().flat_map(BTreeMap::keys).cloned().collect(),
        learnt: Vec::new(),
        waivers,
        expired,
        gates_are_default: table.metrics.is_none() && table.thresholds.is_none(),
        units: units(table)?,
        shown: table.show.clone().unwrap_or_default(),
        warmup: table.warmup()?,
        run_timeout: run_timeout(table)?,
        measuring: measuring(table)?,
        table: table.clone(),
    })
}

/// Validates the values of a layer, as far as possible without the others and
/// the workspace.
///
/// # Errors
/// If one of them is invalid.
pub fn check(table: &Table) -> Result<(), Error> {
    table.read_all()?;
    if let (Some(build), Some(target)) = (&table.build_command, table.named_targets().next()) {
        return Err(beside_target(build, &target));
    }
    limits(table)?;
    measuring_alone(table)?;
    if named(table).any(String::is_empty) {
        return Err(Error::bad("metric", "", "a metric has a name"));
    }
    if table.metrics.is_some() || table.thresholds.is_none() {
        // The threshold that a warning has to be below may be another layer's.
        let mut table = table.clone();
        table.warn = None;
        gates(&table)?;
    }
    Ok(())
}

/// The error for a build command where cargo builds what runs.
pub(super) fn beside_target(build: &Written<Words>, target: &Target) -> Error {
    let why = format!("it is for a `command`, but what runs is {target}, which cargo builds");
    Error::bad("build-command", build.text(), why)
}

/// The metrics that a table names.
fn named(table: &Table) -> impl Iterator<Item = &String> {
    let named = table.metrics.iter().chain(&table.show).flatten();
    named.chain(table.thresholds.iter().flat_map(BTreeMap::keys))
}

/// The settings that a comparison has only once.
///
/// # Errors
/// If a value can't be parsed.
pub fn limits(table: &Table) -> Result<(Policy, Limits), Error> {
    let policy = Policy {
        confidence: table.confidence()?.0,
        estimator: table.estimator()?,
        fail_on: fail_on(table)?,
        layouts: table.layouts()?,
        shard_by: table.shard_by()?,
        suite: suite(table)?,
    };
    let limits = Limits { time: table.time_limit()?.0, pairs: table.max_pairs };
    if limits.pairs == Some(0) {
        return Err(Error::bad("max-pairs", "0", "at least one pair is needed"));
    }
    Ok((policy, limits))
}

/// The number of the suite that gates. Without a threshold of its own it has that of the benchmarks.
fn suite(table: &Table) -> Result<Option<SuiteGate>, Error> {
    let Some(SuiteChoice(Some((number, own)))) = table.suite()? else { return Ok(None) };
    let shared = || Ok(table.threshold()?.0.unwrap_or(THRESHOLD));
    let threshold = own.map_or_else(shared, |own| Ok(own.0))?;
    Ok(Some(SuiteGate { number, threshold }))
}

/// What fails besides a regression.
fn fail_on(table: &Table) -> Result<BTreeSet<Doubt>, Error> {
    let words = table.fail_on()?.unwrap_or_default();
    if words.len() > 1 && words.contains(&FailOn(None)) {
        return Err(Error::bad("fail-on", "none", "it excludes all others"));
    }
    Ok(words.into_iter().filter_map(|FailOn(doubt)| doubt).collect())
}

/// How long one run may take.
///
/// # Errors
/// If it is not a time.
pub fn run_timeout(table: &Table) -> Result<Duration, Error> {
    Ok(table.run_timeout()?.0)
}

/// The metrics that gate.
///
/// # Errors
/// If a threshold is not a percentage or belongs to a metric that does not gate,
/// or if the warning level is not below the thresholds.
pub fn gates(table: &Table) -> Result<Vec<Gate>, Error> {
    let common = table.threshold()?;
    let own = table.thresholds()?.unwrap_or_default();
    let names = match table.metrics.clone().filter(|names| !names.is_empty()) {
        Some(names) => names,
        // A metric with a threshold of its own is meant to gate.
        None => std::iter::once(DEFAULT_METRIC.to_owned()).chain(own.keys().cloned()).collect(),
    };
    if let Some((stray, threshold)) = own.iter().find(|(metric, _)| !names.contains(metric)) {
        let why = match nearest(stray, names.iter().map(String::as_str)) {
            Some(meant) => format!("this metric does not gate; did you mean `{meant}`?"),
            None => "this metric does not gate: add it to `metrics`".to_owned(),
        };
        return Err(Error::bad("threshold", format!("{stray}={threshold}"), why));
    }
    let warn = table.warn()?.map(|level| level.0);
    let mut gates: Vec<Gate> = Vec::new();
    for name in names {
        if gates.iter().all(|gate| gate.metric != name) {
            let allowed = own.get(&name).unwrap_or(&common).0;
            gates.push(Gate { warn, ..Gate::new(&name, THRESHOLD).allowing(allowed) });
        }
    }
    if let Some(written) = &table.warn
        && let Some(gate) = gates.iter().find(|gate| warn >= Some(least(gate)))
    {
        let why = format!("it has to be below the threshold of `{}`", gate.metric);
        return Err(Error::bad("warn", written.text(), why));
    }
    Ok(gates)
}

/// The smallest threshold that a gate may have.
fn least(gate: &Gate) -> f64 {
    if gate.learnt.is_some() { RANGE[0] } else { gate.threshold }
}

/// The thresholds of benchmarks within a program. A flag for all of them overrides these.
fn by_pattern(table: &Table) -> Result<Vec<BenchmarkThreshold>, Error> {
    if table.origins.get("threshold").layer == Layer::Flag {
        return Ok(Vec::new());
    }
    let warn = table.warn()?.map(|level| level.0);
    let mut all = Vec::new();
    for (pattern, written) in table.benchmark.iter().flatten() {
        let threshold = written.threshold.read("threshold")?.0;
        if warn >= threshold.or(Some(RANGE[0])) {
            let why = format!("`warn` has to be below the threshold of `{pattern}`");
            return Err(Error::bad("threshold", written.threshold.text(), why));
        }
        all.push(BenchmarkThreshold { pattern: pattern.clone(), threshold });
    }
    Ok(all)
}

/// The waivers of a table that are valid at the time `now`, and those that have
/// expired.
///
/// # Errors
/// If a ceiling is not a percentage, a date is invalid, or a reason is empty.
fn waivers(table: &Table, now: SystemTime) -> Result<(Vec<Waiver>, Vec<Waiver>), Error> {
    let (mut valid, mut expired) = (Vec::new(), Vec::new());
    for given in table.waivers.iter().flatten() {
        if given.reason.trim().is_empty() {
            return Err(Error::bad("waiver", &*given.metric, "it has no reason"));
        }
        let end =
            humantime::parse_rfc3339(&format!("{}T23:59:59Z", given.expires)).map_err(|_| {
                Error::bad("waiver", &*given.expires, "`expires` is a date: `2026-12-31`")
            })?;
        let waiver = Waiver {
            metric: given.metric.clone(),
            benchmark: given.benchmark.clone(),
            ceiling: given.ceiling.read("ceiling")?.0,
            reason: given.reason.trim().to_owned(),
            expires: given.expires.clone(),
            issue: given.issue.clone(),
        };
        if now <= end { valid.push(waiver) } else { expired.push(waiver) }
    }
    Ok((valid, expired))
}

/// Units and directions. What is not given is that of the metric with this name.
fn units(table: &Table) -> Result<Units, Error> {
    let unit = |(name, written): (&String, &WrittenUnit)| {
        let usual = Metric::named(name);
        let better = match &written.better {
            None => usual.better,
            Some(word) => word
                .parse()
                .map_err(|why| Error::bad("units", format!("{name}.better = {word}"), why))?,
        };
        let unit = written.unit.as_deref().map_or(usual.unit, |symbol| Unit::of(symbol.trim()));
        Ok((name.clone(), Quantity { unit, better }))
    };
    table.units.iter().flatten().map(unit).collect()
}

/// How runs are made and what surrounds them.
///
/// # Errors
/// If a value can't be parsed, or two are incompatible.
fn measuring(table: &Table) -> Result<Measuring, Error> {
    let measuring = measuring_alone(table)?;
    if measuring.min_of > 1 && table.estimator()? != Estimator::Min {
        let why = "only the estimator `min` uses minima";
        return Err(Error::bad("min-of", measuring.min_of.to_string(), why));
    }
    Ok(measuring)
}

/// The same for a layer, whose values need not be compatible.
fn measuring_alone(table: &Table) -> Result<Measuring, Error> {
    let repetitions = table.repetitions()?;
    let fixed = if let Repetitions::Fixed(number) = repetitions { number } else { 1 };
    let min_of = table.min_of.unwrap_or(1);
    for (key, number, least) in
        [("warmup", table.warmup()?, 0), ("min-of", min_of, 1), ("repetitions", fixed, 1)]
    {
        if !(least..=MOST_RUNS).contains(&number) {
            let why = format!("it must be a number from {least} to {MOST_RUNS}");
            return Err(Error::bad(key, number.to_string(), why));
        }
    }
    let takes_least = table.estimator()? == Estimator::Min;
    let check_output = table.check_output()?.unwrap_or(CheckOutput::Off);
    let hook = |words: Option<Words>| words.map(|Words(words)| words);
    Ok(Measuring {
        repetitions,
        min_of: table.min_of.unwrap_or(if takes_least { MIN_OF } else { 1 }),
        fixed_addresses: table.aslr()? == Aslr::Off,
        cpus: table.cpu()?.map_or_else(Vec::new, |Cpus(cpus)| cpus),
        nice: table.nice.unwrap_or(0),
        stdin: table.stdin.clone().map(PathBuf::from),
        hooks: Hooks {
            prepare: hook(table.prepare()?),
            setup: hook(table.setup()?),
            cleanup: hook(table.cleanup()?),
        },
        check_output: check_output != CheckOutput::Off,
        fails_on_output: check_output == CheckOutput::Fail,
        bench_from: table.bench_from()?.side(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::origin::Layer;
    use crate::settings::table;
    use serde_json::json;

    fn waiver(ceiling: &str, expires: &str) -> table::WrittenWaiver {
        table::WrittenWaiver {
            metric: "wall_time".into(),
            benchmark: None,
            ceiling: ceiling.into(),
            reason: "a table that pays off later".into(),
            expires: expires.into(),
            issue: None,
        }
    }

    fn sorted(waivers: &[table::WrittenWaiver]) -> Result<(usize, usize), Error> {
        let table = Table { waivers: Some(waivers.to_vec()), ..Table::default() };
        // The last second of the day, and the first of the next.
        let (valid, expired) = super::waivers(&table, day("2026-11-21T23:59:59Z"))?;
        let (later, _) = super::waivers(&table, day("2026-11-22T00:00:01Z"))?;
        assert!(later.len() <= valid.len());
        Ok((valid.len() - later.len(), expired.len()))
    }

    fn day(text: &str) -> SystemTime {
        humantime::parse_rfc3339(text).unwrap()
    }

    #[test]
    fn a_waiver_counts_to_the_end_of_its_day() {
        let all =
            [waiver("5%", "2026-11-20"), waiver("5%", "2026-11-21"), waiver("5%", "2026-11-22")];
        assert_eq!(sorted(&all), Ok((1, 1)));
        for (ceiling, expires) in
            [("5", "2026-11-22"), ("5%", "soon"), ("5%", "2026-13-01"), ("-5%", "2026-11-22")]
        {
            assert!(sorted(&[waiver(ceiling, expires)]).is_err(), "{ceiling} {expires}");
        }
        let silent = table::WrittenWaiver { reason: " ".into(), ..waiver("5%", "2026-11-22") };
        assert!(sorted(&[silent]).is_err());
    }

    #[test]
    fn a_warning_comes_before_the_threshold() {
        let table = |warn: &str, threshold: &str| {
            let keys = json!({ "warn": warn, "threshold": threshold });
            Table::of_metadata(&json!({ "cbdr": keys }), Layer::Package).unwrap().unwrap()
        };
        let gates = super::gates(&table("1%", "2%")).unwrap();
        assert_eq!((gates[0].warn, gates[0].threshold), (Some(0.01), 0.02));
        for (warn, threshold) in [("2%", "2%"), ("3%", "2%"), ("1", "2%")] {
            assert!(super::gates(&table(warn, threshold)).is_err(), "{warn} {threshold}");
            let of_one = json!({ "warn": warn, "benchmark": { "a*": { "threshold": threshold } } });
            let of_one = Table::of_metadata(&json!({ "cbdr": of_one }), Layer::Package);
            assert!(by_pattern(&of_one.unwrap().unwrap()).is_err(), "{warn} {threshold}");
        }
    }

    fn of(keys: serde_json::Value) -> Result<Measuring, String> {
        let table = Table::of_metadata(&json!({ "cbdr": keys }), Layer::Package);
        let table = table.map_err(|error| error.to_string())?.unwrap();
        measuring(&table).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_is_done_that_nobody_asked_for() {
        let plain = of(json!({})).unwrap();
        assert_eq!((plain.fixed_addresses, plain.nice), (false, 0));
        assert!(plain.cpus.is_empty());
        assert_eq!((plain.repetitions, plain.min_of), (Repetitions::Auto, 1));
        assert_eq!(plain.hooks, Hooks::default());
        assert!(!plain.check_output);
        assert_eq!((plain.bench_from, plain.stdin), (None, None));
    }

    #[test]
    fn each_key_is_understood() {
        let got = of(json!({
            "repetitions": 7, "estimator": "min", "min-of": 3, "aslr": "off",
            "cpu": 1, "nice": -3, "stdin": "in.txt",
            "prepare": "make 'a b'", "setup": "s", "cleanup": "c", "check-output": true,
            "bench-from": "head",
        }));
        let got = got.unwrap();
        assert_eq!((got.repetitions, got.min_of), (Repetitions::Fixed(7), 3));
        assert_eq!((got.fixed_addresses, got.nice, &*got.cpus), (true, -3, &[1][..]));
        assert_eq!(got.hooks.prepare, Some(vec!["make".to_owned(), "a b".to_owned()]));
        assert_eq!(got.bench_from, Some(Side::Head));
        assert_eq!(of(json!({"estimator": "min"})).unwrap().min_of, 5);
        assert_eq!(of(json!({"repetitions": "auto"})).unwrap().repetitions, Repetitions::Auto);
    }

    #[test]
    fn what_can_not_be_meant_is_said() {
        for (keys, said) in [
            (
                json!({"repetitions": 0}),
                "invalid repetitions `0`: it must be `auto` or a number of 1 or more",
            ),
            (json!({"repetitions": "many"}), "invalid repetitions `many`"),
            (json!({"min-of": 3}), "only the estimator `min` uses minima"),
            (json!({"min-of": 0}), "invalid min-of `0`: it must be a number from 1 to 10000"),
            (json!({"warmup": 1_000_000}), "`1000000`: it must be a number from 0 to 10000"),
            (json!({"repetitions": 10_001}), "invalid repetitions `10001`: it must be a number"),
            (json!({"check-output": "no"}), "it must be `warn`, `fail` or `off`"),
            (json!({"aslr": "no"}), "invalid aslr `no`: it must be `on` or `off`"),
            (json!({"prepare": "'open"}), "invalid prepare"),
            (json!({"bench-from": "mine"}), "it must be `each`, `head` or `base`"),
            (json!({"nice": 1000}), "`nice`: "),
        ] {
            let error = of(keys.clone()).unwrap_err();
            assert!(error.contains(said), "{keys}: {error}");
        }
    }
}
