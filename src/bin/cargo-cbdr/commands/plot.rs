//! `cargo cbdr plot`.

use std::io::Read;
use std::path::PathBuf;

use cargo_cbdr::exec::process::Interrupt;
use cargo_cbdr::model::{Metric, Outcome, StoppedBy};
use cargo_cbdr::samples::{self, Analysis, Flow, Recording};
use cargo_cbdr::settings::table::Table;

use super::analyze::{self, Input};
use crate::cli::{DecisionRule, Format, Plot, SampleArgs};
use crate::exit::{CommandResult, ExitKind};
use crate::failure::Failure;
use crate::plot;
use crate::render::outputs::{Outputs, WantedOutputs};
use crate::render::print_text;
use crate::render::readable::CommandLine;
use crate::ui::{about, fold};

/// The width without a terminal.
const COLUMNS: usize = 80;

pub(crate) fn run(args: &Plot, called: &CommandLine, interrupt: &Interrupt) -> CommandResult {
    let page = args.html.as_deref();
    let wanted = WantedOutputs { page, inputs: &args.samples.files, ..WantedOutputs::default() };
    let outputs = Outputs::new(Format::Human, wanted, interrupt)?;
    let texts = texts(&args.samples.files)?;
    let units = analyze::described(&args.samples.files)?.units;
    let mut recording = Recording::new(args.samples.base.clone(), units);
    for (name, text) in &texts {
        recording.read(&mut text.as_slice(), name)?;
    }
    if page.is_some() {
        let mut outcome = outcome(&args.samples, &texts)?;
        outputs.write(&mut outcome, called, &recording)?;
        return Ok(ExitKind::Success);
    }
    recording.check_labels()?;
    let metrics = metrics(&recording, args.samples.metric.as_deref().unwrap_or_default())?;
    if args.vega {
        crate::render::json::print_line(&plot::vega::specification(&recording, &metrics))?;
        return Ok(ExitKind::Success);
    }
    print_text(&plot::histograms(&recording, &metrics, width()))?;
    Ok(ExitKind::Success)
}

/// The result of `analyze`.
fn outcome(args: &SampleArgs, texts: &[Text]) -> Result<Outcome, Failure> {
    let spec = analyze::spec(args, DecisionRule::Evidence, &Table::default())?;
    let mut analysis = Analysis::new(spec, texts.len());
    if analysis.needs_first_pass() {
        let files = texts.iter().map(|(name, text)| (name.as_str(), text.as_slice()));
        analysis.first_pass(files)?;
    }
    for (name, text) in texts {
        analysis.read(&mut text.as_slice(), name, &mut |_| Flow::Go)?;
    }
    analysis.check()?;
    Ok(analysis.outcome(StoppedBy::MaxPairs))
}

/// The name of a file in messages, and its content.
type Text = (String, Vec<u8>);

/// Reads the files completely, since they are used more than once.
fn texts(files: &[PathBuf]) -> Result<Vec<Text>, Failure> {
    let text = |Input { name, mut file, .. }: Input| {
        let mut text = Vec::new();
        let read = file.read_to_end(&mut text);
        read.map_err(|error| about(&format!("could not read {name}"), &error))?;
        Ok((name, text))
    };
    analyze::inputs(files)?.into_iter().map(text).collect()
}

/// The metrics that were named, or all.
fn metrics(recording: &Recording, named: &[String]) -> Result<Vec<Metric>, Failure> {
    let all = recording.metrics();
    if named.is_empty() {
        return Ok(all.to_vec());
    }
    let find = |name: &String| {
        let metric = all.iter().find(|metric| metric.name == *name).cloned();
        metric.ok_or_else(|| samples::no_metric(name, all).into())
    };
    named.iter().map(find).collect()
}

/// How many columns there are to draw in.
fn width() -> usize {
    let variable = || std::env::var("COLUMNS").ok()?.parse().ok();
    fold::output_width().or_else(variable).unwrap_or(COLUMNS).clamp(20, 160)
}
