//! Runs criterion executables against themselves.

use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cargo_cbdr::exec::process::{Command, Sink};
use serde::Deserialize;

use super::metrics::{Sample, values};
use super::noise::Random;
use super::recording::{Row, Way, digits};

/// How many benchmarks of a suite are recorded.
const FEW: usize = 3;

/// How many benchmarks the process of a whole suite runs: as many as the suite of the
/// table that is to be reproduced has.
const WHOLE: usize = 14;

/// How long a process may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// A benchmark of a suite.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Benchmark {
    executable: PathBuf,
    name: String,
}

/// Runs a program and gives what it took, seconds; an error where it failed.
pub type Runner<'a> = dyn Fn(&Command) -> Result<f64, Box<dyn Error>> + 'a;

/// A suite of benchmarks, of one executable or of several.
pub struct Suite<'a> {
    runner: &'a Runner<'a>,
    name: String,
    folder: PathBuf,
    /// Those that a run of the whole suite has.
    whole: Vec<Benchmark>,
    few: Vec<Benchmark>,
}

/// What a process measured.
struct Measured {
    seconds: f64,
    benchmarks: Vec<(String, Vec<Sample>)>,
}

impl<'a> Suite<'a> {
    /// Finds the benchmarks.
    ///
    /// # Errors
    /// When an executable can't be run, or lists no benchmark.
    pub fn find(runner: &'a Runner<'a>, executables: &[PathBuf]) -> Result<Self, Box<dyn Error>> {
        let first = executables.first().ok_or("no executable is named")?;
        let (name, folder) = place(first)?;
        let mut suite = Suite { runner, name, folder, whole: Vec::new(), few: Vec::new() };
        let mut all = Vec::new();
        for executable in executables {
            let executable = std::path::absolute(executable)?;
            let names = suite.list(&executable)?;
            // A name that contains the time can't be requested.
            let again = suite.list(&executable)?;
            for name in names.into_iter().filter(|name| again.contains(name)) {
                // Rows know a benchmark by its name.
                if all.iter().all(|other: &Benchmark| other.name != name) {
                    all.push(Benchmark { executable: executable.clone(), name });
                }
            }
        }
        if all.is_empty() {
            return Err(format!(
                "`{}` lists no benchmarks; name criterion's executables, as `cargo bench --no-run` \
                 prints them",
                first.display()
            )
            .into());
        }
        suite.whole = spread(&all, WHOLE);
        suite.few = spread(&suite.whole, FEW);
        Ok(suite)
    }

    /// Records rounds of all ways until so much time has gone by; a round that has begun
    /// is finished.
    ///
    /// # Errors
    /// When a process fails, or the rows can't be written.
    pub fn record(
        &self,
        load: &str,
        time: Duration,
        rows: impl Write,
    ) -> Result<u32, Box<dyn Error>> {
        let mut writer = csv::Writer::from_writer(rows);
        let start = Instant::now();
        let mut random = Random::seeded(1);
        let mut round = 0;
        while round == 0 || start.elapsed() < time {
            let mut ways = Way::ALL;
            for last in (1..ways.len()).rev() {
                ways.swap(last, (random.uniform() * (last + 1) as f64) as usize);
            }
            for way in ways {
                for number in 0..way.pairs {
                    let pair = round * way.pairs + number;
                    for row in self.pairs(way)? {
                        writer.serialize(Row { load: load.to_owned(), pair, ..row })?;
                    }
                }
            }
            writer.flush()?;
            round += 1;
        }
        Ok(round)
    }

    /// A pair of each of the few.
    fn pairs(&self, way: Way) -> Result<Vec<Row>, Box<dyn Error>> {
        let mut rows = Vec::new();
        if way.whole {
            let both = [self.run(&self.whole, way)?, self.run(&self.whole, way)?];
            for benchmark in &self.few {
                for (member, measured) in (0..).zip(&both) {
                    rows.push(self.row(benchmark, way, member, measured)?);
                }
            }
        } else {
            for benchmark in &self.few {
                for member in 0..2 {
                    let measured = self.run(std::slice::from_ref(benchmark), way)?;
                    rows.push(self.row(benchmark, way, member, &measured)?);
                }
            }
        }
        Ok(rows)
    }

    fn row(
        &self,
        benchmark: &Benchmark,
        way: Way,
        member: u8,
        measured: &Measured,
    ) -> Result<Row, Box<dyn Error>> {
        let found = measured.benchmarks.iter().find(|(name, _)| *name == benchmark.name);
        let (_, samples) = found.ok_or_else(|| format!("`{}` was not measured", benchmark.name))?;
        let [mean, median, minimum, trimmed, slope] = values(samples).map(|value| digits(value, 6));
        let parts = samples
            .iter()
            .map(|sample| format!("{:.0}", 1e4 * sample.time / sample.iterations / median));
        let samples =
            if way == Way::SHORTEST { parts.collect::<Vec<_>>().join(" ") } else { String::new() };
        Ok(Row {
            suite: self.name.clone(),
            load: String::new(),
            way: way.name.to_owned(),
            benchmark: benchmark.name.clone(),
            pair: 0,
            member,
            seconds: digits(measured.seconds / measured.benchmarks.len() as f64, 4),
            mean,
            median,
            minimum,
            trimmed,
            slope,
            samples,
        })
    }

    /// Runs benchmarks, those of one executable in one process.
    fn run(&self, all: &[Benchmark], way: Way) -> Result<Measured, Box<dyn Error>> {
        let mut measured = Measured { seconds: 0.0, benchmarks: Vec::new() };
        for group in all.chunk_by(|one, other| one.executable == other.executable) {
            let home = tempfile::tempdir()?;
            let names: Vec<String> = group.iter().map(|one| escape(&one.name)).collect();
            let flags = ["--bench", "--noplot", "--nresamples", "2", "--sample-size", "10"];
            let mut arguments: Vec<OsString> = flags.map(OsString::from).to_vec();
            for word in ["--warm-up-time", way.warm_up, "--measurement-time", way.measuring] {
                arguments.push(word.into());
            }
            arguments.push(format!("^(?:{})$", names.join("|")).into());
            measured.seconds +=
                self.call(&group[0].executable, arguments, home.path(), Sink::Null)?;
            find(home.path(), &mut measured.benchmarks)?;
        }
        Ok(measured)
    }

    fn list(&self, executable: &Path) -> Result<Vec<String>, Box<dyn Error>> {
        let home = tempfile::tempdir()?;
        let file = home.path().join("list");
        let arguments = ["--bench", "--list"].map(OsString::from).to_vec();
        self.call(executable, arguments, home.path(), Sink::File(file.clone()))?;
        let listed = fs_err::read_to_string(file)?;
        let names = listed.lines().filter_map(|line| line.rsplit_once(": bench"));
        Ok(names.map(|(name, _)| name.to_owned()).collect())
    }

    /// What the process took, seconds.
    fn call(
        &self,
        executable: &Path,
        mut arguments: Vec<OsString>,
        home: &Path,
        stdout: Sink,
    ) -> Result<f64, Box<dyn Error>> {
        arguments.insert(0, executable.into());
        let errors = home.join("stderr");
        let mut env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        env.retain(|(name, _)| name != "CRITERION_HOME");
        env.push(("CRITERION_HOME".into(), home.join("criterion").into()));
        let command = Command {
            argv: arguments,
            env,
            cwd: self.folder.clone(),
            stdout,
            stderr: Sink::File(errors.clone()),
            timeout: Some(PATIENCE),
            sweep: true,
            ..Command::default()
        };
        (self.runner)(&command).map_err(|error| {
            let said = fs_err::read_to_string(errors).unwrap_or_default();
            format!("`{}` {error}: {}", executable.display(), said.trim()).into()
        })
    }
}

/// The name of a suite and the folder in which it runs: the one that holds cargo's target
/// folder; for an executable elsewhere, its own name and this folder.
fn place(executable: &Path) -> Result<(String, PathBuf), Box<dyn Error>> {
    let executable = std::path::absolute(executable)?;
    let target = executable.ancestors().find(|folder| folder.ends_with("target"));
    let text = |name: &std::ffi::OsStr| name.to_string_lossy().into_owned();
    let package = target.and_then(Path::parent);
    if let Some((folder, name)) = package.and_then(|folder| Some((folder, folder.file_name()?))) {
        return Ok((text(name), folder.to_owned()));
    }
    let stem = executable.file_stem().ok_or("an executable has a name")?;
    Ok((text(stem), std::env::current_dir()?))
}

/// So many of all, evenly spread.
fn spread(all: &[Benchmark], most: usize) -> Vec<Benchmark> {
    let count = all.len().min(most);
    (0..count).map(|number| all[(2 * number + 1) * all.len() / (2 * count)].clone()).collect()
}

/// A text as a regular expression that matches it alone.
fn escape(text: &str) -> String {
    let special = |c| if r"\.+*?()|[]{}^$#&-~".contains(c) { Some('\\') } else { None };
    text.chars().flat_map(|c| special(c).into_iter().chain([c])).collect()
}

/// `benchmark.json`.
#[derive(Deserialize)]
struct About {
    full_id: String,
}

/// `sample.json`.
#[derive(Deserialize)]
struct Times {
    iters: Vec<f64>,
    times: Vec<f64>,
}

/// The benchmarks whose files are below a folder.
fn find(folder: &Path, found: &mut Vec<(String, Vec<Sample>)>) -> Result<(), Box<dyn Error>> {
    for entry in fs_err::read_dir(folder)? {
        let path = entry?.path();
        // A benchmark may be called so, too.
        if path.ends_with("new") && path.join("sample.json").exists() {
            let About { full_id } =
                serde_json::from_str(&fs_err::read_to_string(path.join("benchmark.json"))?)?;
            let Times { iters, times } =
                serde_json::from_str(&fs_err::read_to_string(path.join("sample.json"))?)?;
            let both = iters.into_iter().zip(times);
            let samples: Vec<Sample> =
                both.map(|(iterations, time)| Sample { iterations, time }).collect();
            if samples.is_empty() {
                return Err(format!("`{full_id}` has no samples").into());
            }
            found.push((full_id, samples));
        } else if path.is_dir() {
            find(&path, found)?;
        }
    }
    Ok(())
}
