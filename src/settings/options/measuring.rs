//! How runs are made and what surrounds them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Error;
use super::values::{percent, words};
use crate::model::estimator::Estimator;
use crate::model::side::Side;
use crate::settings::table::{Count, Table};

/// How many measurements `min` takes the least of, where nothing else is said.
const MIN_OF: u32 = 5;

/// How runs are made and what surrounds them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measuring {
    /// How many runs make a measurement.
    pub repetitions: Repetitions,
    /// Of how many measurements the least is taken; 1 but for the estimator
    /// `min`.
    pub min_of: u32,
    /// Whether both members of a pair run at the same time.
    pub duet: bool,
    /// Whether addresses are the same in every run.
    pub fixed_addresses: bool,
    /// Whether each pair's environment is of another length.
    pub env_padding: bool,
    /// The processors to run on: none in particular, one, or two for a duet.
    /// Where and beside what a run takes place is the machine's affair, and not
    /// written down.
    #[serde(skip)]
    pub cpus: Vec<u16>,
    /// How much nicer than its parent a run is.
    #[serde(skip)]
    pub nice: i8,
    /// The file that standard input comes from, from the package's folder.
    pub stdin: Option<PathBuf>,
    /// The page cache before each run.
    pub page_cache: PageCache,
    /// What is warmed or cooled beside the executable and the input, from the
    /// package's folder.
    pub page_cache_files: Vec<PathBuf>,
    /// The share of the machine, 0 to 1, that others may keep busy when a pair
    /// begins.
    #[serde(skip)]
    pub max_busy: Option<f64>,
    /// The words of the commands around runs.
    pub hooks: Hooks,
    /// Whether the sides' standard outputs are compared.
    pub check_output: bool,
    /// Whose benchmark sources both sides have; else each has its own.
    pub bench_from: Option<Side>,
}

/// How many runs make a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repetitions {
    /// As many as the clocks of the metrics that gate ask for.
    Auto,
    /// So many, at least 1.
    Fixed(u32),
}

/// The page cache before each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageCache {
    /// Left as it is.
    Alone,
    /// With the files in it.
    Warm,
    /// Without them.
    Cold,
}

/// The words of commands that are run in a side's package folder, unmeasured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hooks {
    /// Before each run.
    pub prepare: Option<Vec<String>>,
    /// Before a side's first run.
    pub setup: Option<Vec<String>>,
    /// After a side's last run.
    pub cleanup: Option<Vec<String>>,
}

/// Checks the keys of a table, all of which can be understood without the
/// workspace.
///
/// # Errors
/// When one of them can't, or two don't go together.
pub fn measuring(table: &Table) -> Result<Measuring, Error> {
    let checked = values(table)?;
    together(&checked, table)?;
    Ok(checked)
}

/// The same of a single layer, which need not go together.
pub(super) fn values(table: &Table) -> Result<Measuring, Error> {
    let keys = &table.measuring;
    let hook = |what, text: &Option<String>| text.as_deref().map(|t| words(what, t)).transpose();
    let least = table.estimator.as_deref() == Some(Estimator::Min.name());
    Ok(Measuring {
        repetitions: repetitions(keys.repetitions.as_ref())?,
        min_of: min_of(keys.min_of, least)?,
        duet: keys.duet.unwrap_or(false),
        fixed_addresses: addresses(keys.aslr.as_deref())?,
        env_padding: keys.env_padding.unwrap_or(false),
        cpus: keys.cpus.clone().unwrap_or_default(),
        nice: keys.nice.unwrap_or(0),
        stdin: keys.stdin.clone().map(PathBuf::from),
        page_cache: page_cache(keys.page_cache.as_deref())?,
        page_cache_files: paths(keys.page_cache_files.as_deref()),
        max_busy: keys.max_busy.as_deref().map(max_busy).transpose()?,
        hooks: Hooks {
            prepare: hook("prepare", &keys.prepare)?,
            setup: hook("setup", &keys.setup)?,
            cleanup: hook("cleanup", &keys.cleanup)?,
        },
        check_output: keys.check_output.unwrap_or(false),
        bench_from: bench_from(keys.bench_from.as_deref())?,
    })
}

/// Whether the settings go together.
fn together(checked: &Measuring, table: &Table) -> Result<(), Error> {
    if checked.min_of > 1 && table.estimator.as_deref() != Some(Estimator::Min.name()) {
        let why = "only the estimator `min` takes the least";
        return Err(bad("min-of", checked.min_of.to_string(), why));
    }
    let cpus = &checked.cpus;
    let shown = || cpus.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
    let bad = |why: &str| Err(bad("cpus", shown(), why));
    match (checked.duet, cpus.as_slice()) {
        (_, []) | (false, [_]) => {}
        (true, [one, other]) if one != other => {}
        (true, _) => return bad("a duet has two processors"),
        (false, _) => return bad("a run has one processor; two are for `--duet`"),
    }
    if checked.page_cache == PageCache::Alone && !checked.page_cache_files.is_empty() {
        let files: Vec<_> = checked.page_cache_files.iter().map(|f| f.to_string_lossy()).collect();
        let why = "nothing is done with them without `page-cache`: say `warm` or `cold`";
        return Err(self::bad("page-cache-files", files.join(","), why));
    }
    Ok(())
}

fn bad(what: &'static str, value: impl Into<String>, why: &str) -> Error {
    Error::Bad { what, value: value.into(), why: why.to_owned() }
}

fn repetitions(count: Option<&Count>) -> Result<Repetitions, Error> {
    let Some(count) = count else { return Ok(Repetitions::Auto) };
    let text = count.to_string();
    let number = text.parse::<u32>().ok().filter(|&number| number > 0);
    match (text.as_str(), number) {
        ("auto", _) => Ok(Repetitions::Auto),
        (_, Some(number)) => Ok(Repetitions::Fixed(number)),
        _ => Err(bad("repetitions", text, "it is `auto` or a number from 1 on")),
    }
}

fn min_of(given: Option<u32>, least: bool) -> Result<u32, Error> {
    match (given, least) {
        (Some(0), _) => Err(bad("min-of", "0", "it is at least 1")),
        (Some(given), _) => Ok(given),
        (None, true) => Ok(MIN_OF),
        (None, false) => Ok(1),
    }
}

fn addresses(text: Option<&str>) -> Result<bool, Error> {
    match text {
        None | Some("on") => Ok(false),
        Some("off") => Ok(true),
        Some(other) => Err(bad("aslr", other, "it is `on` or `off`")),
    }
}

fn page_cache(text: Option<&str>) -> Result<PageCache, Error> {
    match text {
        None => Ok(PageCache::Alone),
        Some("warm") => Ok(PageCache::Warm),
        Some("cold") => Ok(PageCache::Cold),
        Some(other) => Err(bad("page-cache", other, "it is `warm` or `cold`")),
    }
}

fn bench_from(text: Option<&str>) -> Result<Option<Side>, Error> {
    match text {
        None | Some("each") => Ok(None),
        Some("base") => Ok(Some(Side::Base)),
        Some("head") => Ok(Some(Side::Head)),
        Some(other) => Err(bad("bench-from", other, "it is `each`, `head` or `base`")),
    }
}

fn max_busy(text: &str) -> Result<f64, Error> {
    let share = percent("max-busy", text)?;
    if share > 0.0 && share < 1.0 {
        return Ok(share);
    }
    Err(bad("max-busy", text, "it lies between 0% and 100%, of all processors together"))
}

fn paths(list: Option<&[String]>) -> Vec<PathBuf> {
    list.unwrap_or_default().iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(keys: serde_json::Value) -> Result<Measuring, String> {
        let table = Table::of_metadata(&json!({ "cbdr": keys }), "package");
        let table = table.map_err(|error| error.to_string())?.unwrap();
        measuring(&table).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_is_done_that_nobody_asked_for() {
        let plain = of(json!({})).unwrap();
        assert_eq!((plain.fixed_addresses, plain.nice), (false, 0));
        assert!(plain.cpus.is_empty());
        assert_eq!((plain.repetitions, plain.min_of), (Repetitions::Auto, 1));
        assert_eq!((plain.page_cache, plain.hooks), (PageCache::Alone, Hooks::default()));
        assert!(!plain.duet && !plain.env_padding && !plain.check_output);
        assert_eq!((plain.bench_from, plain.max_busy, plain.stdin), (None, None, None));
    }

    #[test]
    fn each_key_is_understood() {
        let got = of(json!({
            "repetitions": 7, "estimator": "min", "min-of": 3, "duet": true, "aslr": "off",
            "env-padding": true, "cpus": [1, 0], "nice": -3, "stdin": "in.txt",
            "page-cache": "cold", "page-cache-files": ["data"], "max-busy": "10%",
            "prepare": "make 'a b'", "setup": "s", "cleanup": "c", "check-output": true,
            "bench-from": "head",
        }));
        let got = got.unwrap();
        assert_eq!((got.repetitions, got.min_of, got.duet), (Repetitions::Fixed(7), 3, true));
        assert_eq!((got.fixed_addresses, got.nice, got.cpus), (true, -3, vec![1, 0]));
        assert_eq!(got.hooks.prepare, Some(vec!["make".to_owned(), "a b".to_owned()]));
        assert_eq!((got.max_busy, got.bench_from), (Some(0.1), Some(Side::Head)));
        assert_eq!((got.page_cache, got.page_cache_files.len()), (PageCache::Cold, 1));
        assert_eq!(of(json!({"estimator": "min"})).unwrap().min_of, 5);
        assert_eq!(of(json!({"repetitions": "auto"})).unwrap().repetitions, Repetitions::Auto);
    }

    #[test]
    fn what_can_not_be_meant_is_said() {
        for (keys, said) in [
            (json!({"repetitions": 0}), "bad repetitions `0`: it is `auto` or a number from 1 on"),
            (json!({"repetitions": "many"}), "bad repetitions `many`"),
            (json!({"min-of": 3}), "only the estimator `min` takes the least"),
            (json!({"aslr": "no"}), "bad aslr `no`: it is `on` or `off`"),
            (json!({"cpus": [0, 1]}), "bad cpus `0,1`: a run has one processor"),
            (json!({"cpus": [1, 1], "duet": true}), "bad cpus `1,1`: a duet has two processors"),
            (json!({"cpus": [1], "duet": true}), "bad cpus `1`: a duet has two processors"),
            (json!({"page-cache": "hot"}), "it is `warm` or `cold`"),
            (json!({"page-cache-files": ["x"]}), "nothing is done with them"),
            (json!({"max-busy": "100%"}), "bad max-busy `100%`"),
            (json!({"prepare": "'open"}), "bad prepare"),
            (json!({"bench-from": "mine"}), "it is `each`, `head` or `base`"),
            (json!({"nice": 1000}), "`nice`: "),
        ] {
            let error = of(keys.clone()).unwrap_err();
            assert!(error.contains(said), "{keys}: {error}");
        }
    }
}
