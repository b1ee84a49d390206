//! `cargo cbdr analyze`, also with `--combine`.

use std::fs::File;
use std::io::{self, IsTerminal, Seek};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cargo_cbdr::Error;
use cargo_cbdr::engine::event::Event;
use cargo_cbdr::exec::process::{Interrupt, standard_input};
use cargo_cbdr::model::{Estimator, Notice, Outcome, StoppedBy};
use cargo_cbdr::samples::{
    self, Analysis, Companion, Described, Flow, NoShard, Recording, SeededShard, ShardPart, Spec,
};
use cargo_cbdr::settings::table::Table;
use cargo_cbdr::settings::values::Threshold;
use cargo_cbdr::settings::{Written, options};

use crate::cli::{Analyze, DecisionRule, Format, SampleArgs};
use crate::exit::{CommandResult, ExitKind};
use crate::failure::Failure;
use crate::render;
use crate::render::outputs::{self, Outputs, WantedOutputs};
use crate::render::readable::{CommandLine, Readable};
use crate::samples::AGAIN;
use crate::ui::{Ui, failure, text};

/// How often the result so far is shown.
const REDRAW: Duration = Duration::from_millis(100);

/// The judge's threshold if none is given.
const TOLERANCE: Threshold = Threshold(0.05);

/// Prints the result of samples.
pub(crate) fn run(args: &Analyze, called: &CommandLine, interrupt: &Interrupt) -> CommandResult {
    let spec = spec(&args.samples, args.rule, &args.failure.0)?;
    let needs_verdict = spec.gates.is_none() && !args.combine;
    if args.format == Format::Junit && needs_verdict {
        let what = "a JUnit test case is a metric with a verdict: add `--threshold`";
        return Failure::arguments(what);
    }
    if args.failure.0.fail_on.is_some() && needs_verdict {
        return Failure::arguments("`--fail-on` is about a verdict: add `--threshold`");
    }
    let outputs = Outputs::new(args.format, WantedOutputs::default(), interrupt)?;
    let mut ui = Ui::new();
    let result = match args.combine {
        true => combine(args, &spec),
        false => analyse(&spec, &inputs(&args.samples.files)?, interrupt, &mut ui),
    };
    ui.end();
    let mut outcome = match result {
        // There is no result yet.
        Err(Failure::Library(_)) if interrupt.signal().is_some() => {
            return Ok(ExitKind::interrupted(interrupt));
        }
        result => result?,
    };
    if !args.combine {
        outcome.notices.extend(args.samples.files.iter().filter_map(|path| part_only(path)));
    }
    // The summary itself states how often it may be looked at.
    let notices = outcome.notices.iter().filter(|notice| **notice != Notice::OneLook);
    notices.for_each(|notice| ui.show(&Event::Notice(notice)));
    ui.end();
    let given = outputs.write(&mut outcome, called, &Recording::default());
    outputs::printed(render::print(args.format, &Readable::new(&outcome, called)))?;
    if let Err(error) = given {
        failure(&error.into());
    }
    match (outcome.stopped_by, interrupt.signal()) {
        (StoppedBy::Interrupt, Some(signal)) => Ok(ExitKind::Signal(signal)),
        _ => Ok(ExitKind::of(&outcome)),
    }
}

/// The notice that a file has a part of a comparison, if it has.
fn part_only(path: &Path) -> Option<Notice> {
    let name = text::path(path);
    let (_, SeededShard { shard, .. }) = Companion::of_shard(path, &name).ok()?;
    let text = format!(
        "{name} is shard {shard} of a comparison, and this result is about its rows alone; \
         `--combine` with all shards gives the verdict"
    );
    Some(Notice::OfShards { text })
}

pub(super) struct Input {
    /// The name in messages.
    pub(super) name: String,
    pub(super) file: File,
    /// Whether it can be read twice.
    regular: bool,
}

/// Opens the files of samples; without any, standard input.
pub(super) fn inputs(files: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let standard_input = [PathBuf::from("-")];
    let files = if files.is_empty() { &standard_input } else { files };
    // The same rows would count as more evidence than there is.
    let places: Vec<_> =
        files.iter().map(|path| path.canonicalize().unwrap_or(path.clone())).collect();
    let again = (1..files.len()).find(|number| places[..*number].contains(&places[*number]));
    if let Some(again) = again {
        return Failure::arguments(format!("{} would be read twice", text::path(&files[again])));
    }
    files.iter().map(|path| Input::open(path)).collect()
}

impl Input {
    fn open(path: &Path) -> Result<Self, Failure> {
        if path != Path::new("-") {
            let file = fs_err::File::open(path)?;
            let regular = file.metadata()?.is_file();
            return Ok(Input { name: text::path(path), file: file.into_parts().0, regular });
        }
        if io::stdin().is_terminal() {
            let what = "standard input is a terminal: name a file, or pipe samples in";
            return Failure::arguments(what);
        }
        Ok(Input { name: "standard input".to_owned(), file: standard_input()?, regular: false })
    }
}

/// The specification of the analysis.
pub(super) fn spec(args: &SampleArgs, rule: DecisionRule, fails: &Table) -> Result<Spec, Failure> {
    let judges = rule == DecisionRule::Judge;
    if judges && args.confidence.is_some() {
        return Failure::arguments("`--rule judge` has no confidence: leave out `--confidence`");
    }
    let has_threshold = !args.threshold.is_empty();
    let usual = match (judges, has_threshold) {
        (true, _) => Estimator::Min,
        (false, true) => Estimator::default(),
        (false, false) => Estimator::Mean,
    };
    let mut table = Table {
        metrics: args.metric.clone(),
        confidence: args.confidence.clone(),
        estimator: args.estimator.clone().or(Some(Written::new(usual))),
        threshold: judges.then(|| Written::new(TOLERANCE)),
        ..fails.clone()
    };
    table.set_thresholds(&args.threshold);
    // A threshold of its own names a metric, too.
    let own = table.thresholds.as_ref().map(|own| own.keys().cloned().collect());
    let (policy, _) = options::limits(&table)?;
    let gates = (judges || has_threshold).then(|| options::gates(&table)).transpose()?;
    if gates.iter().flatten().any(|gate| gate.learnt.is_some()) {
        return Failure::arguments(
            "`auto` is learnt from the results of a repository, which samples do not have: give a \
             percentage",
        );
    }
    let estimator = policy.estimator;
    if estimator.needs_pairs() && (judges || gates.is_none()) {
        let why = match judges {
            true => "pairs, which `--rule judge` does not use",
            false => "pairs and a threshold: add `--threshold`",
        };
        return Failure::arguments(format!("`--estimator {estimator}` needs {why}"));
    }
    let Described { units, not_measured, .. } = described(&args.files)?;
    Ok(Spec {
        judges,
        gates,
        named: table.metrics.or(own).unwrap_or_default(),
        policy,
        chosen: args.estimator.is_some(),
        base: args.base.clone(),
        units,
        not_measured,
    })
}

/// What the files next to these say. If a metric has several units, the first one counts.
pub(super) fn described(files: &[PathBuf]) -> Result<Described, Failure> {
    let mut all = Described::default();
    for path in files.iter().filter(|path| *path != Path::new("-")) {
        let Described { units, not_measured, .. } = Described::beside(path)?;
        for (metric, scale) in units {
            all.units.entry(metric).or_insert(scale);
        }
        all.not_measured.extend(not_measured);
    }
    Ok(all)
}

fn analyse(
    spec: &Spec,
    inputs: &[Input],
    interrupt: &Interrupt,
    ui: &mut Ui,
) -> Result<Outcome, Failure> {
    let mut analysis = Analysis::new(spec.clone(), inputs.len());
    if analysis.needs_first_pass() && inputs.iter().all(|input| input.regular) {
        for input in inputs {
            (&input.file).rewind()?;
        }
        let files = inputs.iter().map(|input| (input.name.as_str(), &input.file));
        analysis.first_pass(files)?;
    }
    let mut stopped_by = StoppedBy::MaxPairs;
    for input in inputs {
        if input.regular {
            (&input.file).rewind()?;
        }
        let mut drawn = Instant::now();
        let mut wait = |analysis: &Analysis| {
            if !input.regular && ui.is_live() && drawn.elapsed() >= REDRAW {
                ui.samples(&analysis.outcome(StoppedBy::MaxPairs));
                drawn = Instant::now();
            }
            match interrupt.wait_readable(&input.file) {
                Ok(false) => Flow::Stop,
                // If waiting fails, reading gives the error.
                Ok(true) | Err(_) => Flow::Go,
            }
        };
        let flow = analysis.read(&mut &input.file, &input.name, &mut wait);
        if flow? == Flow::Stop {
            stopped_by = StoppedBy::Interrupt;
            break;
        }
    }
    analysis.check()?;
    Ok(analysis.outcome(stopped_by))
}

/// The verdict of the shards measured by several machines, with the settings of the measurement;
/// only `--fail-on` may differ.
fn combine(args: &Analyze, asked: &Spec) -> Result<Outcome, Failure> {
    let (mut parts, mut left_out) = (Vec::new(), Vec::new());
    for path in &args.samples.files {
        let known = parts.len();
        for file in files_of(path)? {
            match part(&file) {
                Ok(part) => parts.push(part),
                Err(error) => match error.as_kind() {
                    Some(NoShard { file: name, why }) if file != *path => {
                        left_out.push(format!("{name} is left out: {why}"));
                    }
                    _ => return Err(error.into()),
                },
            }
        }
        if parts.len() == known {
            let (file, why) = (text::path(path), "it contains none".to_owned());
            return Err(Error::from(NoShard { file, why }).into());
        }
    }
    let mut outcome = samples::combine(parts, args.allow_missing)?;
    outcome.notices.extend(left_out.into_iter().map(|text| Notice::OfShards { text }));
    if args.failure.0.fail_on.is_some() {
        outcome.policy.fail_on.clone_from(&asked.policy.fail_on);
    }
    Ok(outcome)
}

/// The files of samples in a folder, those of shards that were stopped, too; or the file itself.
fn files_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs_err::read_dir(path)?.map(|entry| Ok(entry?.path()));
    let mut files: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
    files.retain(|path| {
        let name = path.to_string_lossy();
        let samples = name.strip_suffix(".partial").unwrap_or(&name);
        let is_beside = AGAIN.iter().any(|suffix| samples.ends_with(&format!(".{suffix}")));
        samples.ends_with(".csv") && !is_beside
    });
    files.sort();
    Ok(files)
}

/// Reads a shard and its companion.
fn part(path: &Path) -> Result<ShardPart, Error> {
    let file = text::path(path);
    let (companion, shard) = Companion::of_shard(path, &file)?;
    let mut recording = Recording::new(None, companion.units.clone());
    let text = std::fs::read(path).map_err(|source| samples::unread(&file, source))?;
    if !text.trim_ascii().is_empty() {
        recording.read(&mut text.as_slice(), &file)?;
    }
    Ok(ShardPart { file, shard, companion, recording })
}
