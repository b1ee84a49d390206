//! Measures one commit and stores the results.

use std::time::Instant;

use super::add_lines;
use super::fingerprint::Fingerprint;
use super::note::{BenchmarkCase, BuildContext, Content, ResultKey, StoredMetric, StoredResult};
use crate::engine::{Event, Recorder, Reporter};
use crate::error::{Error, Failure};
use crate::exec::error::ExecError;
use crate::exec::execution::{Context, Execution, SideProgram, gates};
use crate::exec::meter;
use crate::exec::process::{FailedRun, may_write};
use crate::flows::error::{FlowError, no_filter, no_metric};
use crate::flows::filter::Selection;
use crate::flows::hooks::with_hooks;
use crate::model::{
    BenchmarkNotice, Dialect, Metric, Notice, Reading, Revision, RunLength, Side, TargetKind,
    Values,
};
use crate::settings::options::{Benchmark, Subject};
use crate::stats::empirical::median_of;
use crate::workspace::git::{Repo, remote};
use crate::workspace::{self, PreparedSide, Request};

/// The maximum length of a stored error, characters.
const MAX_ERROR: usize = 500;

/// What to record.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// The benchmarks. The head is the commit.
    pub request: Request,
    /// The number of measured runs of each benchmark.
    pub runs: u32,
}

/// What was recorded.
#[derive(Clone, Debug)]
pub struct RecordReport {
    /// The commit.
    pub revision: Revision,
    /// One result for each benchmark.
    pub results: Vec<StoredResult>,
    /// What the user should know.
    pub notices: Vec<Notice>,
}

/// Builds a commit, runs each of its benchmarks `runs` times, in turn, and stores the
/// results in the commit's note. The failure of a benchmark is a result, too.
///
/// # Errors
/// If the commit does not build or its results can't be stored. An interrupted
/// recording stores nothing.
pub fn record(
    options: &RecordOptions,
    context: Context<'_>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<RecordReport, Error> {
    let reporter = &mut Recorder::new(on_event);
    let repo = Repo::discover(&options.request.folder)?;
    // Checked before anything is built and run.
    let objects = repo.common_dir().join("objects");
    may_write(&objects).map_err(Error::io("store results in", &objects))?;
    let side = workspace::prepare_one(&options.request, context, reporter)?;
    let filter = options.request.filter.as_deref();
    let mut programs = programs(&side, filter, context)?;
    let hooks = programs.iter().map(|one| (one.program.hooks.clone(), one.execution.benchmark));
    with_hooks(&hooks.collect::<Vec<_>>(), context, || {
        let several = programs.len() > 1;
        for program in &mut programs {
            let benchmark = program.execution.benchmark;
            if program.warmup() > 0 {
                reporter.event(Event::WarmingUp(&benchmark.name));
            }
            let refused = program.warm_up(several && (filter.is_some() || benchmark.is_found))?;
            refused.into_iter().for_each(|notice| reporter.notice(notice));
        }
        if programs.iter().all(|one| one.is_empty)
            && let Some(first) = programs.first()
        {
            return Err(first.no_benchmark(filter).into());
        }
        for round in 1..=options.runs {
            for program in programs.iter_mut().filter(|one| one.error.is_none() && !one.is_empty) {
                program.run()?;
            }
            reporter.event(Event::Round { number: round.into(), runs: &[] });
        }
        Ok(())
    })?;
    for Execution { benchmark, left_behind, .. } in programs.iter().map(|one| &one.execution) {
        if *left_behind > 0 {
            let notice = BenchmarkNotice::LeftBehind { processes: *left_behind };
            reporter.notice(notice.about(&benchmark.name));
        }
    }
    let (repository, hardware) = (remote::public_name(&repo), Fingerprint::here());
    let results =
        programs.iter().flat_map(|program| program.results(&side, &repository, &hardware));
    let results: Vec<StoredResult> = results.collect();
    let contents = results.iter().map(|result| Content::Result(Box::new(result.clone())));
    let commit = (&repo, side.revision.commit.as_str());
    add_lines(commit, contents, "Record results", |why| {
        let what = format!("the result can't be stored: {why}");
        Failure::new(what, "see `cargo cbdr history record --help`")
    })?;
    let notices = std::mem::take(&mut reporter.notices);
    Ok(RecordReport { revision: side.revision.clone(), results, notices })
}

fn programs<'a>(
    side: &'a PreparedSide,
    filter: Option<&'a str>,
    context: Context<'a>,
) -> Result<Vec<ProgramRecord<'a>>, Error> {
    let several = side.programs.len() > 1;
    let mut programs = Vec::new();
    let mut is_taken = false;
    for (number, (benchmark, program)) in side.programs.iter().enumerate() {
        let program =
            SideProgram::new(benchmark, program, Side::Head, side.scratch.path(), number)?;
        let dialect = program.harness.dialect;
        let part = Selection::of(filter, &benchmark.name, dialect, several);
        is_taken |= dialect.filters() || several && part != Selection::Nothing;
        if part != Selection::Nothing {
            programs.push(ProgramRecord {
                execution: Execution::new(benchmark, &program, context)?,
                program,
                filter: part.filter(),
                runs: Vec::new(),
                names: Vec::new(),
                exact: Vec::new(),
                error: None,
                is_empty: false,
            });
        }
    }
    match filter {
        Some(filter) if !is_taken => Err(no_filter(filter).into()),
        _ => Ok(programs),
    }
}

/// The recording of one program.
struct ProgramRecord<'a> {
    execution: Execution<'a>,
    program: SideProgram,
    filter: Option<&'a str>,
    /// What each run reported, and how long it took, seconds.
    runs: Vec<(Vec<Reading>, f64)>,
    /// The benchmarks found in the warm-up.
    names: Vec<Option<String>>,
    /// Values that are known without a run.
    exact: Vec<(Metric, f64)>,
    error: Option<String>,
    /// Whether it has no benchmark.
    is_empty: bool,
}

impl ProgramRecord<'_> {
    fn dialect(&self) -> Dialect {
        self.program.harness.dialect
    }

    /// The number of unmeasured runs at the beginning.
    fn warmup(&self) -> u32 {
        self.execution.warmup([&self.program])
    }

    fn no_benchmark(&self, filter: Option<&str>) -> FlowError {
        FlowError::no_benchmark(self.execution.benchmark, self.dialect(), filter)
    }

    /// Runs a program unmeasured, to find out which benchmarks it has and what they
    /// measure; returns what the user should know about that.
    ///
    /// # Errors
    /// If there is no benchmark, unless that is allowed, or none of the gating metrics.
    fn warm_up(&mut self, may_be_empty: bool) -> Result<Vec<Notice>, Error> {
        for _ in 0..self.warmup() {
            self.run()?;
        }
        let last = self.runs.drain(..).next_back();
        let readings = last.as_ref().map_or(&[][..], |(readings, _)| readings.as_slice());
        let measured: Vec<String> =
            readings.iter().flat_map(|reading| reading.values.metrics()).collect();
        let notices = self.execution.drop_unavailable_metrics(&measured)?;
        self.names = readings.iter().map(|reading| reading.benchmark.clone()).collect();
        for name in self.execution.benchmark.asked() {
            self.exact.extend(meter::size(name, &self.program.executable)?);
        }
        self.is_empty = may_be_empty && last.is_some() && readings.is_empty();
        if last.is_some() && !self.is_empty {
            self.check_gates(measured)?;
        }
        Ok(notices)
    }

    /// Checks that a run that `measured` these metrics has one that gates.
    fn check_gates(&self, mut measured: Vec<String>) -> Result<(), Error> {
        let asked = self.execution.benchmark;
        if self.names.is_empty() {
            return Err(self.no_benchmark(self.filter).into());
        }
        measured.extend(self.exact.iter().map(|(metric, _)| metric.name.clone()));
        measured.sort();
        measured.dedup();
        if gates(asked, &measured, &[]).is_empty() {
            let metric = asked.gates.first().map_or("", |gate| &gate.metric);
            return Err(no_metric(&asked.name, metric, &measured).into());
        }
        Ok(())
    }

    /// Runs the program once. A failed run ends this recording, but not the others.
    fn run(&mut self) -> Result<(), Error> {
        let ProgramRecord { execution, program, filter, .. } = self;
        let start = Instant::now();
        let error = match execution.run_all(program, RunLength::LONG, *filter, None) {
            Ok(readings) => {
                self.runs.push((readings, start.elapsed().as_secs_f64()));
                return Ok(());
            }
            Err(stop) => Error::from(stop),
        };
        let what = match error.as_kind() {
            Some(ExecError::Benchmark { run: FailedRun { fault, stderr, .. }, .. }) => {
                let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
                let last = last.map_or(String::new(), |line| format!(": {}", line.trim()));
                format!("{fault}{last}")
            }
            Some(ExecError::Output { .. }) => error.to_string(),
            _ => return Err(error),
        };
        self.error.get_or_insert(what.chars().take(MAX_ERROR).collect());
        Ok(())
    }

    /// The results of the program's benchmarks: the values of those that every run reported.
    fn results(
        &self,
        side: &PreparedSide,
        repository: &str,
        hardware: &Fingerprint,
    ) -> Vec<StoredResult> {
        if self.is_empty {
            return Vec::new();
        }
        let mut names = self.names.clone();
        for reading in self.runs.iter().flat_map(|(readings, _)| readings) {
            if !names.contains(&reading.benchmark) {
                names.push(reading.benchmark.clone());
            }
        }
        if names.is_empty() {
            names.push(None);
        }
        let benchmark = self.execution.benchmark;
        let result = |name: Option<String>| {
            let reading = |(run, _): &(Vec<Reading>, f64)| {
                let reading = run.iter().find(|reading| reading.benchmark == name);
                reading.map(|reading| reading.values.clone())
            };
            let runs: Vec<Values> = self.runs.iter().filter_map(reading).collect();
            let is_lacking = runs.len() < self.runs.len();
            let lacking = is_lacking.then(|| "some of its runs did not report it".to_owned());
            let error = self.error.clone().or(lacking);
            let case = BenchmarkCase {
                benchmark: benchmark.name.clone(),
                name: name.unwrap_or_default(),
                harness: self.dialect().name().to_owned(),
                package: benchmark.package.clone(),
                subject: match &benchmark.subject {
                    Subject::Target(target, _) => target.to_string(),
                    Subject::Command { words, .. } => words.join(" "),
                },
                args: benchmark.args.clone(),
            };
            let context = build_context(benchmark, side);
            StoredResult {
                repository: repository.to_owned(),
                commit: side.revision.commit.clone(),
                key: ResultKey { case, hardware: hardware.clone(), context },
                metrics: if error.is_none() { self.metrics(&runs) } else { Vec::new() },
                error,
                seconds: median_of(self.runs.iter().map(|(_, seconds)| *seconds)),
            }
        };
        names.into_iter().map(result).collect()
    }

    /// The values of all runs, and those known without a run, metric by metric.
    fn metrics(&self, runs: &[Values]) -> Vec<StoredMetric> {
        let benchmark = self.execution.benchmark;
        let names = runs.first().map(Values::metrics).unwrap_or_default();
        let of_runs = names.iter().map(|name| {
            let values = runs.iter().filter_map(|run| run.get(name)).collect();
            (Metric::named(name).with(&benchmark.units), values)
        });
        let exact = self.exact.iter().map(|(metric, value)| (metric.clone(), vec![*value]));
        let all = || of_runs.clone().chain(exact.clone());
        let names: Vec<String> = all().map(|(metric, _)| metric.name).collect();
        let gates = gates(benchmark, &names, &[]);
        let stored = all().map(|(metric, values)| StoredMetric {
            unit: metric.unit.symbol().to_owned(),
            better: metric.better,
            gates: gates.iter().any(|gate| gate.metric == metric.name),
            name: metric.name,
            values,
        });
        stored.filter(|metric| !metric.values.is_empty()).collect()
    }
}

fn build_context(benchmark: &Benchmark, side: &PreparedSide) -> BuildContext {
    let mut features = Vec::new();
    let mut profile = String::new();
    if let Subject::Target(target, build) = &benchmark.subject {
        let usual = if target.kind == TargetKind::Bench { "bench" } else { "release" };
        profile = build.profile.clone().unwrap_or_else(|| usual.to_owned());
        features.clone_from(&build.features);
        if build.all_features {
            features.push("--all-features".to_owned());
        }
        if build.no_default_features {
            features.push("--no-default-features".to_owned());
        }
        features.sort();
    }
    let mut lines = side.rustc.lines();
    let rustc = lines.next().unwrap_or_default().to_owned();
    let host = lines.find_map(|line| line.strip_prefix("host: ")).unwrap_or_default().to_owned();
    BuildContext { rustc, host, profile, features, flags: workspace::compiler_flags(&side.env) }
}
