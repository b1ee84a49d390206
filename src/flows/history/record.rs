//! Measures one commit and stores what came out.

use super::entry::{Case, Context, Line, Measured, Series};
use super::hardware::Hardware;
use crate::engine::experiment::Run;
use crate::error::{Error, Kind};
use crate::exec::execution::{Bench, Hands, Hook, Reported};
use crate::exec::process::{Helper, Interrupt, may_write};
use crate::flows::event::Event;
use crate::model::metric::Metric;
use crate::model::notice::Notice;
use crate::model::outcome::MetricResult;
use crate::model::row::Sample;
use crate::model::side::{Pair, Side};
use crate::model::target::TargetKind;
use crate::settings::options::{Benchmark, Subject};
use crate::workspace::git::{Repo, Revision};
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
/// When the commit does not build or its results can't be stored. Of an
/// interrupted recording nothing is stored.
pub fn record(
    options: &Options,
    helper: &Helper,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Recorded, Error> {
    let repo = Repo::discover(&options.request.folder)?;
    // Known before anything is built and run.
    let objects = repo.common_dir().join("objects");
    may_write(&objects).map_err(Error::io("store results in", &objects))?;
    let prepared = workspace::prepare_one(&options.request, helper, interrupt, &mut |event| {
        tell(event.into());
    })?;
    let mut notices = prepared.notices.clone();
    let mut tracks = tracks(&prepared, options.request.filter.as_deref())?;
    let hands = Hands { helper, interrupt };
    let hook = |tracks: &[Track<'_>], hook: Hook, hands: Hands<'_>| {
        tracks.iter().try_for_each(|track| track.bench.hook(hook, &[Side::Head], hands))
    };
    let ran = hook(&tracks, Hook::Setup, hands)
        .and_then(|()| run_all(&mut tracks, options.runs, hands, &mut notices, tell));
    // Whatever became of it, and whoever asked for the end.
    let never = Interrupt::never().map_err(Kind::Listen)?;
    let cleaned = hook(&tracks, Hook::Cleanup, Hands { interrupt: &never, ..hands });
    ran?;
    cleaned?;
    for track in &tracks {
        let processes = track.bench.left_behind;
        if processes > 0 {
            let notice =
                Notice::LeftBehind { benchmark: track.bench.benchmark.name.clone(), processes };
            tell(Event::Notice(&notice));
            notices.push(notice);
        }
    }
    let hardware = Hardware::here();
    let results: Vec<Measured> = tracks
        .into_iter()
        .flat_map(|track| track.results(&prepared, &repo.public_name(), &hardware))
        .collect();
    let commit = &prepared.revision.commit;
    let line = |measured: &Measured| {
        let line = Line::of_result(measured.clone());
        Ok((commit.clone(), line.written().map_err(Kind::Unstorable)?))
    };
    let lines = results.iter().map(line).collect::<Result<Vec<_>, Error>>()?;
    repo.add_lines(&lines, "Record results")?;
    Ok(Recorded { revision: prepared.revision.clone(), results, notices })
}

/// Warms up and runs each program so often, in turn.
fn run_all(
    tracks: &mut [Track<'_>],
    runs: u32,
    hands: Hands<'_>,
    notices: &mut Vec<Notice>,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<(), Error> {
    for track in tracks.iter_mut() {
        if track.bench.warmup() > 0 {
            tell(Event::WarmingUp(&track.bench.benchmark.name));
        }
        for _ in 0..track.bench.warmup() {
            track.run(hands)?;
        }
        notices.extend(track.check(tell)?);
        track.runs.clear();
    }
    for round in 1..=runs {
        for track in tracks.iter_mut().filter(|track| track.error.is_none()) {
            track.run(hands)?;
        }
        tell(Event::Round(u64::from(round)));
    }
    Ok(())
}

/// One program in the loop.
struct Track<'a> {
    bench: Bench<'a>,
    /// What its runs reported.
    runs: Vec<Reported>,
    /// The benchmarks that the warm-up showed, where there was one.
    known: Vec<Option<String>>,
    /// What is known of it without a run.
    exact: Vec<MetricResult>,
    error: Option<String>,
}

fn tracks<'a>(
    prepared: &'a PreparedSide,
    filter: Option<&'a str>,
) -> Result<Vec<Track<'a>>, Error> {
    let numbered = prepared.programs.iter().enumerate();
    let tracks = numbered.map(|(number, (benchmark, program))| {
        // There is one side: whichever is asked for, it is that one.
        let programs = Pair::both(|_| program.clone());
        let scratch = prepared.scratch.path();
        let bench = Bench::new(benchmark, &programs, scratch, number, filter)?;
        let (runs, known, exact) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Track { bench, runs, known, exact, error: None })
    });
    let tracks: Vec<Track<'_>> = tracks.collect::<Result<_, Error>>()?;
    match filter {
        Some(filter) if !tracks.iter().any(|track| track.bench.dialect().filters()) => {
            Err(Kind::NoFilter(filter.to_owned()).into())
        }
        _ => Ok(tracks),
    }
}

impl Track<'_> {
    /// Runs once. A run that fails ends the track, but not the recording.
    fn run(&mut self, hands: Hands<'_>) -> Result<(), Error> {
        let failed = match self.bench.warm_up(Side::Head, hands) {
            Ok(Run::Measured(reported)) => {
                self.runs.push(reported);
                None
            }
            Ok(Run::OutOfTime | Run::Interrupted) => return Ok(hands.interrupt.check()?),
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
    fn check(&mut self, tell: &mut dyn FnMut(Event<'_>)) -> Result<Vec<Notice>, Error> {
        let last = self.runs.last().cloned().unwrap_or_default();
        self.known = last.iter().map(|(name, _)| name.clone()).collect();
        let names = last.iter().flat_map(|(_, sample)| sample.iter());
        let mut measured: Vec<String> = names.map(|(metric, _)| metric.to_owned()).collect();
        let notices = self.bench.refusals(&measured)?;
        notices.iter().for_each(|notice| tell(Event::Notice(notice)));
        self.exact = self.bench.exact()?;
        if self.runs.is_empty() {
            return Ok(notices);
        }
        let benchmark = self.bench.benchmark.name.clone();
        if last.is_empty() {
            let harness = self.bench.dialect().name();
            return Err(Kind::NoBenchmark { benchmark, harness, filter: None }.into());
        }
        measured.extend(self.exact.iter().map(|result| result.metric.name.clone()));
        measured.sort();
        measured.dedup();
        if self.bench.gates(&measured, &[]).is_empty() {
            let asked = self.bench.benchmark.gates.first();
            let metric = asked.map_or(String::new(), |gate| gate.metric.clone());
            return Err(Kind::NoMetric { benchmark, metric, measured }.into());
        }
        Ok(notices)
    }

    /// A result for each benchmark of the program; when a run failed, or left
    /// one out, there is an error in place of its values.
    fn results(
        self,
        prepared: &PreparedSide,
        repository: &str,
        hardware: &Hardware,
    ) -> Vec<Measured> {
        let mut names = self.known.clone();
        for (name, _) in self.runs.iter().flatten() {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        if names.is_empty() {
            names.push(None);
        }
        let context = context(self.bench.benchmark, prepared);
        let result = |name: &Option<String>| {
            let of_run = |run: &'_ Reported| -> Option<Sample> {
                let found = run.iter().find(|(other, _)| other == name);
                found.map(|(_, sample)| sample.clone())
            };
            let samples: Vec<Sample> = self.runs.iter().filter_map(of_run).collect();
            let left_out = (samples.len() < self.runs.len())
                .then(|| "some of its runs did not report it".to_owned());
            let error = self.error.clone().or(left_out);
            let metrics = if error.is_none() { self.series(&samples) } else { Vec::new() };
            Measured {
                repository: repository.to_owned(),
                commit: prepared.revision.commit.clone(),
                case: self.case(name.as_deref()),
                hardware: hardware.clone(),
                context: context.clone(),
                metrics,
                error,
            }
        };
        names.iter().map(result).collect()
    }

    /// The repetitions, metric by metric.
    fn series(&self, samples: &[Sample]) -> Vec<Series> {
        let first = samples.first().into_iter().flat_map(|sample| sample.iter());
        let measured: Vec<String> = first.map(|(metric, _)| metric.to_owned()).collect();
        let exact = self.exact.iter().map(|result| result.metric.name.clone());
        let all: Vec<String> = measured.iter().cloned().chain(exact).collect();
        let gates = self.bench.gates(&all, &[]);
        let series = |metric: &Metric, values: Vec<f64>| Series {
            name: metric.name.clone(),
            unit: metric.unit.symbol().to_owned(),
            better: metric.better,
            gates: gates.iter().any(|gate| gate.metric == metric.name),
            values,
        };
        let of_runs = measured.iter().map(|name| {
            let metric = Metric::named(name).with(&self.bench.benchmark.units);
            series(&metric, samples.iter().filter_map(|sample| sample.get(name)).collect())
        });
        let of_program = self
            .exact
            .iter()
            .map(|result| series(&result.metric, result.summary.head.into_iter().collect()));
        of_runs.chain(of_program).filter(|series| !series.values.is_empty()).collect()
    }

    fn case(&self, name: Option<&str>) -> Case {
        let benchmark = self.bench.benchmark;
        Case {
            benchmark: benchmark.name.clone(),
            name: name.unwrap_or_default().to_owned(),
            harness: self.bench.dialect().name().to_owned(),
            package: benchmark.package.clone(),
            subject: described(&benchmark.subject),
            args: benchmark.args.clone(),
        }
    }
}

/// What is run, in a few words: a target, or the command itself.
fn described(subject: &Subject) -> String {
    match subject {
        Subject::Target(target, _) => target.to_string(),
        Subject::Command { words, .. } => words.join(" "),
    }
}

fn context(benchmark: &Benchmark, prepared: &PreparedSide) -> Context {
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
    Context { rustc, host, profile, features, flags: workspace::compiler_flags(&prepared.env) }
}
