//! `cargo cbdr analyze`.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cargo_cbdr::Error;
use cargo_cbdr::exec::process::{Interrupt, standard_input};
use cargo_cbdr::flows::event::Event;
use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::metric::Units;
use cargo_cbdr::model::notice::Notice;
use cargo_cbdr::model::outcome::{OnDoubt, StoppedBy};
use cargo_cbdr::samples::{Analysis, Findings, Flow, Recording, Spec};
use cargo_cbdr::settings::table::Table;
use cargo_cbdr::settings::values::Threshold;
use cargo_cbdr::settings::{Written, options};

use crate::cli::{Analyze, Format, Rule};
use crate::exit::Exit;
use crate::report;
use crate::report::outcome::Outcome;
use crate::report::outputs::{self, Outputs, Wanted};
use crate::ui::{Failure, Ui};

/// How often what is known so far is shown.
const REDRAW: Duration = Duration::from_millis(100);

/// The judge's threshold, where none is given.
const TOLERANCE: Threshold = Threshold(0.05);

/// Says what the samples show.
pub(crate) fn run(args: &Analyze, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let (spec, on_inconclusive) = spec(args)?;
    if args.combine {
        return super::combine::run(args, interrupt);
    }
    let outputs = Outputs::new(args.format, Wanted::default(), interrupt)?;
    let sources = sources(args)?;
    let mut ui = Ui::new();
    let outcome = analyse(&spec, &sources, interrupt, &mut ui);
    ui.end();
    let findings = match outcome {
        // Too early for anything to be said.
        Err(Failure::Library(_)) if interrupt.signal().is_some() => {
            return Ok(Exit::interrupted(interrupt));
        }
        outcome => outcome?,
    };
    // The summary says itself how often it may be looked at.
    let notices = findings.notices.iter().filter(|notice| **notice != Notice::OneLook);
    notices.for_each(|notice| ui.show(&Event::Notice(notice)));
    let outcome = Outcome::of_samples(&findings, &spec, on_inconclusive);
    give(args.format, outputs, &outcome, &findings, &spec)?;
    match (findings.stopped_by, interrupt.signal()) {
        (StoppedBy::Interrupt, Some(signal)) => Ok(Exit::Signal(signal)),
        _ => Ok(Exit::of_samples(findings.verdict, on_inconclusive)),
    }
}

/// Writes the files that were asked for, and prints.
pub(super) fn give(
    format: Format,
    outputs: Outputs,
    outcome: &Outcome<'_>,
    findings: &Findings,
    spec: &Spec,
) -> Result<(), Failure> {
    outputs.write(outcome, &Recording::new(None, Units::new()))?;
    let printed = outputs::print(
        format,
        outcome,
        || report::findings::print(findings, spec),
        || report::findings::print_json(findings, spec),
    );
    outputs::printed(printed)?;
    Ok(())
}

/// Something to read.
struct Source {
    /// As it is called in messages.
    name: String,
    file: File,
    /// Whether it can be read twice.
    regular: bool,
}

fn sources(args: &Analyze) -> Result<Vec<Source>, Failure> {
    let standard = || -> Result<Source, Failure> {
        if std::io::stdin().is_terminal() {
            let what = "standard input is a terminal: give a file, or pipe samples in";
            return Err(Failure::Arguments(what.to_owned()));
        }
        let file = standard_input()?;
        Ok(Source { name: "standard input".to_owned(), file, regular: false })
    };
    let open = |path: &std::path::PathBuf| {
        if path == Path::new("-") {
            return standard();
        }
        let file = fs_err::File::open(path)?;
        let regular = file.metadata()?.is_file();
        let name = format!("`{}`", path.display());
        Ok(Source { name, file: file.into_parts().0, regular })
    };
    match args.samples.files.as_slice() {
        [] => Ok(vec![standard()?]),
        files => files.iter().map(open).collect(),
    }
}

/// What is asked, and what an open question means.
pub(super) fn spec(args: &Analyze) -> Result<(Spec, OnDoubt), Failure> {
    let judges = args.rule == Rule::Judge;
    let samples = &args.samples;
    let has_threshold = !samples.threshold.is_empty();
    let usual = match (judges, has_threshold) {
        (true, _) => Estimator::Min,
        (false, true) => Estimator::default(),
        (false, false) => Estimator::Mean,
    };
    let mut table = Table {
        metrics: samples.metric.clone(),
        confidence: Some(samples.confidence.clone()),
        estimator: samples.estimator.clone().or(Some(Written::new(usual))),
        on_inconclusive: args.on_inconclusive.clone(),
        threshold: judges.then(|| Written::new(TOLERANCE)),
        ..Table::default()
    };
    table.set_thresholds(&samples.threshold);
    let (policy, _) = options::limits(&table).map_err(Failure::usage)?;
    let gates = (judges || has_threshold).then(|| options::gates(&table));
    let gates = gates.transpose().map_err(Failure::usage)?;
    let estimator = policy.estimator;
    let of_pairs = matches!(estimator, Estimator::Median | Estimator::Robust);
    if args.format == Format::Junit && gates.is_none() && !args.combine {
        let what = "JUnit's cases are metrics with a verdict: give `--threshold`";
        return Err(Failure::Arguments(what.to_owned()));
    }
    if of_pairs && (judges || gates.is_none()) {
        let what = "that estimator needs pairs and a threshold: give `--threshold`";
        return Err(Failure::Arguments(what.to_owned()));
    }
    let spec = Spec {
        judges,
        gates,
        named: samples.metric.clone().unwrap_or_default(),
        confidence: policy.confidence,
        estimator,
        chosen: samples.estimator.is_some(),
        base: samples.base.clone(),
        units: units(&samples.files)?,
    };
    Ok((spec, policy.on_inconclusive))
}

/// What stands beside the files; of a metric in several, what the first says.
pub(super) fn units(files: &[PathBuf]) -> Result<Units, Failure> {
    let mut units = Units::new();
    for path in files.iter().filter(|path| *path != Path::new("-")) {
        for (metric, scale) in report::about::units_beside(path)? {
            units.entry(metric).or_insert(scale);
        }
    }
    Ok(units)
}

fn analyse(
    spec: &Spec,
    sources: &[Source],
    interrupt: &Interrupt,
    ui: &mut Ui,
) -> Result<Findings, Failure> {
    let mut analysis = Analysis::new(spec.clone(), sources.len());
    if analysis.wants_scouting() && sources.iter().all(|source| source.regular) {
        let again = |source: &Source| -> std::io::Result<(String, Box<dyn Read>)> {
            let mut file = source.file.try_clone()?;
            std::io::Seek::rewind(&mut file)?;
            Ok((source.name.clone(), Box::new(file)))
        };
        let files = sources.iter().map(again).collect::<Result<Vec<_>, _>>()?;
        analysis.scout(&mut files.into_iter()).map_err(Error::from)?;
    }
    let mut stopped_by = StoppedBy::MaxPairs;
    for source in sources {
        if source.regular {
            std::io::Seek::rewind(&mut &source.file)?;
        }
        let mut drawn = Instant::now();
        let mut wait = |analysis: &Analysis| {
            if !source.regular && ui.is_live() && drawn.elapsed() >= REDRAW {
                ui.samples(&analysis.findings(StoppedBy::MaxPairs));
                drawn = Instant::now();
            }
            match interrupt.wait_readable(&source.file) {
                Ok(false) => Flow::Stop,
                // What can't be waited for is an error when it is read.
                Ok(true) | Err(_) => Flow::Go,
            }
        };
        let flow = analysis.read(&mut &source.file, &source.name, &mut wait);
        if flow.map_err(Error::from)? == Flow::Stop {
            stopped_by = StoppedBy::Interrupt;
            break;
        }
    }
    analysis.check().map_err(Error::from)?;
    Ok(analysis.findings(stopped_by))
}
