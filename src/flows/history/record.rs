//! Measures one commit and stores what came out.

use super::entry::{Case, Context as RunContext, Line, Measured, Series};
use super::hardware::Hardware;
use crate::error::{Error, Kind};
use crate::exec::execution::{Context, gates};
use crate::exec::meter;
use crate::exec::process::{Helper, Interrupt, may_write};
use crate::flows::event::Event;
use crate::flows::one_sided::{OneSided, with_hooks};
use crate::model::metric::Metric;
use crate::model::notice::Notice;
use crate::model::revision::Revision;
use crate::model::row::{Reading, Values};
use crate::model::target::TargetKind;
use crate::settings::options::{Benchmark, Subject};
use crate::workspace::git::Repo;
use crate::workspace::{self, PreparedSide, Request};

/// What to record.
#[derive(Clone, Debug)]
pub struct Options {
    /// The benchmarks, and as the head the commit.
    pub request: Request,
    /// How often each benchmark is run and measured.
    pub runs: u32,
}

/// What was recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The commit.
    pub revision: Revision,
    /// A result of each benchmark.
    pub results: Vec<Measured>,
    /// What the user should know.
    pub notices: Vec<Notice>,
}

/// Builds a commit, runs each of its benchmarks `runs` times, in turn, and
/// stores the results in the commit's note. A benchmark that fails is a result,
/// too.
///
/// # Errors
/// When the commit does not build or its results can't be stored. Nothing is stored of
/// an interrupted recording.
pub fn record(
    options: &Options,
    helper: &Helper,
    interrupt: &Interrupt,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Recorded, Error> {
    let repo = Repo::discover(&options.request.folder)?;
    // Known before anything is built and run.
    let objects = repo.common_dir().join("objects");
    may_write(&objects).map_err(Error::io("store results in", &objects))?;
    let prepared = workspace::prepare_one(&options.request, helper, interrupt, &mut |event| {
        on_event(event.into());
    })?;
    let mut notices = prepared.notices.clone();
    let mut programs = programs(&prepared, options.request.filter.as_deref())?;
    let context = Context { helper, interrupt };
    let tracks = with_hooks(&mut programs, context, |programs| {
        let mut tracks: Vec<Track> = programs.iter().map(|_| Track::default()).collect();
        for (program, track) in programs.iter_mut().zip(&mut tracks) {
            let warmup = program.execution.warmup([&program.program]);
            if warmup > 0 {
                on_event(Event::WarmingUp(&program.execution.benchmark.name));
            }
            for _ in 0..warmup {
                track.run(program, context)?;
            }
            for notice in track.check(program)? {
                on_event(Event::Notice(&notice));
                notices.push(notice);
            }
            track.runs.clear();
        }
        for round in 1..=options.runs {
            for (program, track) in programs.iter_mut().zip(&mut tracks) {
                if track.error.is_none() {
                    track.run(program, context)?;
                }
            }
            on_event(Event::Round { number: u64::from(round), runs: &[] });
        }
        Ok(tracks)
    })?;
    for OneSided { execution, .. } in &programs {
        if execution.left_behind > 0 {
            let (benchmark, processes) = (execution.benchmark.name.clone(), execution.left_behind);
            let notice = Notice::LeftBehind { benchmark, processes };
            on_event(Event::Notice(&notice));
            notices.push(notice);
        }
    }
    let hardware = Hardware::here();
    let results = programs.iter().zip(tracks).flat_map(|(program, track)| {
        track.results(program, &prepared, &repo.public_name(), &hardware)
    });
    let results: Vec<Measured> = results.collect();
    let commit = &prepared.revision.commit;
    let line = |measured: &Measured| {
        let line = Line::of_result(measured.clone());
        Ok((commit.clone(), line.written().map_err(Kind::Unstorable)?))
    };
    let lines = results.iter().map(line).collect::<Result<Vec<_>, Error>>()?;
    repo.add_lines(&lines, "Record results")?;
    Ok(Recorded { revision: prepared.revision.clone(), results, notices })
}

fn programs<'a>(
    prepared: &'a PreparedSide,
    filter: Option<&'a str>,
) -> Result<Vec<OneSided<'a>>, Error> {
    let numbered = prepared.programs.iter().enumerate();
    let programs = numbered.map(|(number, (benchmark, program))| {
        OneSided::new(benchmark, program, prepared.scratch.path(), number, filter)
    });
    let programs = programs.collect::<Result<Vec<_>, Error>>()?;
    match filter {
        Some(filter) if !programs.iter().any(|program| program.dialect().filters()) => {
            Err(Kind::NoFilter(filter.to_owned()).into())
        }
        _ => Ok(programs),
    }
}

/// What is known of one program.
#[derive(Default)]
struct Track {
    /// What its runs reported.
    runs: Vec<Vec<Reading>>,
    /// The benchmarks that the warm-up showed, if there was one.
    known: Vec<Option<String>>,
    /// What is known of it without a run.
    exact: Vec<(Metric, f64)>,
    /// How a run failed.
    error: Option<String>,
}

impl Track {
    /// Runs once. A run that fails ends the track, but not the recording.
    fn run(&mut self, program: &mut OneSided<'_>, context: Context<'_>) -> Result<(), Error> {
        let failed = match program.run(context) {
            Ok(readings) => {
                self.runs.push(readings);
                None
            }
            Err(error) => match error.kind() {
                Kind::Benchmark { fault, stderr, .. } => {
                    let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
                    let last = last.map_or(String::new(), |line| format!(": {}", line.trim()));
                    Some(format!("{fault}{last}"))
                }
                Kind::Output { .. } => Some(error.to_string()),
                _ => return Err(error),
            },
        };
        // As long as a note is to hold.
        self.error = self.error.take().or(failed.map(|text| text.chars().take(500).collect()));
        Ok(())
    }

    /// Learns from the warm-up what there is, and refuses to record what lacks
    /// a metric that is to decide.
    fn check(&mut self, program: &mut OneSided<'_>) -> Result<Vec<Notice>, Error> {
        let last = self.runs.last().cloned().unwrap_or_default();
        self.known = last.iter().map(|reading| reading.benchmark.clone()).collect();
        let mut measured: Vec<String> =
            last.iter().flat_map(|reading| reading.values.metrics()).collect();
        let notices = program.execution.take_refusals(&measured)?;
        let benchmark = program.execution.benchmark;
        for name in benchmark.asked() {
            self.exact.extend(meter::size(name, &program.program.executable)?);
        }
        if self.runs.is_empty() {
            return Ok(notices);
        }
        if last.is_empty() {
            let (benchmark, harness) = (benchmark.name.clone(), program.dialect().name());
            return Err(Kind::NoBenchmark { benchmark, harness, filter: None }.into());
        }
        measured.extend(self.exact.iter().map(|(metric, _)| metric.name.clone()));
        measured.sort();
        measured.dedup();
        if gates(benchmark, &measured, &[]).is_empty() {
            let asked = benchmark.gates.first();
            let metric = asked.map_or(String::new(), |gate| gate.metric.clone());
            let benchmark = benchmark.name.clone();
            return Err(Kind::NoMetric { benchmark, metric, measured }.into());
        }
        Ok(notices)
    }

    /// A result for each benchmark of the program. If a run failed, or did not report the
    /// benchmark, there is an error in place of its values.
    fn results(
        self,
        program: &OneSided<'_>,
        prepared: &PreparedSide,
        repository: &str,
        hardware: &Hardware,
    ) -> Vec<Measured> {
        let benchmark = program.execution.benchmark;
        let mut names = self.known.clone();
        for reading in self.runs.iter().flatten() {
            if !names.contains(&reading.benchmark) {
                names.push(reading.benchmark.clone());
            }
        }
        if names.is_empty() {
            names.push(None);
        }
        let context = context(benchmark, prepared);
        let result = |name: &Option<String>| {
            let of_run = |run: &Vec<Reading>| {
                let found = run.iter().find(|reading| reading.benchmark == *name);
                found.map(|reading| reading.values.clone())
            };
            let runs: Vec<Values> = self.runs.iter().filter_map(of_run).collect();
            let left_out = (runs.len() < self.runs.len())
                .then(|| "some of its runs did not report it".to_owned());
            let error = self.error.clone().or(left_out);
            let metrics = if error.is_none() { self.series(benchmark, &runs) } else { Vec::new() };
            Measured {
                repository: repository.to_owned(),
                commit: prepared.revision.commit.clone(),
                case: Case {
                    benchmark: benchmark.name.clone(),
                    name: name.clone().unwrap_or_default(),
                    harness: program.dialect().name().to_owned(),
                    package: benchmark.package.clone(),
                    subject: described(&benchmark.subject),
                    args: benchmark.args.clone(),
                },
                hardware: hardware.clone(),
                context: context.clone(),
                metrics,
                error,
            }
        };
        names.iter().map(result).collect()
    }

    /// The repetitions, metric by metric.
    fn series(&self, benchmark: &Benchmark, runs: &[Values]) -> Vec<Series> {
        let measured = runs.first().map(Values::metrics).unwrap_or_default();
        let exact = self.exact.iter().map(|(metric, _)| metric.name.clone());
        let all: Vec<String> = measured.iter().cloned().chain(exact).collect();
        let gates = gates(benchmark, &all, &[]);
        let series = |metric: &Metric, values: Vec<f64>| Series {
            name: metric.name.clone(),
            unit: metric.unit.symbol().to_owned(),
            better: metric.better,
            gates: gates.iter().any(|gate| gate.metric == metric.name),
            values,
        };
        let of_runs = measured.iter().map(|name| {
            let metric = Metric::named(name).with(&benchmark.units);
            series(&metric, runs.iter().filter_map(|values| values.get(name)).collect())
        });
        let of_program = self.exact.iter().map(|(metric, value)| series(metric, vec![*value]));
        of_runs.chain(of_program).filter(|series| !series.values.is_empty()).collect()
    }
}

/// What is run, in a few words: a target, or the command itself.
fn described(subject: &Subject) -> String {
    match subject {
        Subject::Target(target, _) => target.to_string(),
        Subject::Command { words, .. } => words.join(" "),
    }
}

fn context(benchmark: &Benchmark, prepared: &PreparedSide) -> RunContext {
    let mut features = Vec::new();
    let mut profile = String::new();
    if let Subject::Target(target, build) = &benchmark.subject {
        let usual = if target.kind == TargetKind::Bench { "bench" } else { "release" };
        profile = build.profile.clone().unwrap_or_else(|| usual.to_owned());
        features.clone_from(&build.features);
        let words = [(build.all_features, "--all-features")];
        let words = words.into_iter().chain([(build.no_default_features, "--no-default-features")]);
        features.extend(words.filter(|(is_set, _)| *is_set).map(|(_, word)| word.to_owned()));
        features.sort();
    }
    let mut lines = prepared.rustc.lines();
    let rustc = lines.next().unwrap_or_default().to_owned();
    let host = lines.find_map(|line| line.strip_prefix("host: ")).unwrap_or_default().to_owned();
    RunContext { rustc, host, profile, features, flags: workspace::compiler_flags(&prepared.env) }
}
