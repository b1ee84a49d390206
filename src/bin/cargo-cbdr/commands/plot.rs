//! `cargo cbdr plot`.

use std::io::{Cursor, IsTerminal, Read};
use std::path::Path;

use cargo_cbdr::Error;
use cargo_cbdr::exec::process::{Interrupt, standard_input};
use cargo_cbdr::model::metric::Metric;
use cargo_cbdr::model::outcome::StoppedBy;
use cargo_cbdr::samples::{self, Analysis, Flow, Recording};

use super::analyze;
use crate::cli::{Analyze, Format, Plot, Rule};
use crate::exit::Exit;
use crate::plot;
use crate::report::outcome::Outcome;
use crate::report::outputs::{Outputs, Wanted};
use crate::ui::Failure;

/// Columns of what is no terminal.
const COLUMNS: usize = 80;

/// Draws the samples.
pub(crate) fn run(args: &Plot, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let page = args.html.as_deref();
    let wanted = Wanted { page, inputs: &args.samples.files, ..Wanted::default() };
    let outputs = Outputs::new(Format::Human, wanted, interrupt)?;
    let texts = texts(&args.samples.files)?;
    let units = analyze::units(&args.samples.files)?;
    let mut recording = Recording::new(args.samples.base.clone(), units);
    for (name, text) in &texts {
        recording.read(&mut text.as_slice(), name).map_err(Error::from)?;
    }
    if page.is_some() {
        return paint(args, outputs, &texts, &recording);
    }
    if recording.labels().next().is_none() {
        return Err(Error::from(samples::Error::NoRow).into());
    }
    let metrics = metrics(&recording, &args.samples.metric)?;
    if args.vega {
        crate::report::json::print_line(&plot::vega::specification(&recording, &metrics))?;
        return Ok(Exit::Success);
    }
    plot::print(&mut anstream::stdout().lock(), &recording, &metrics, width())?;
    Ok(Exit::Success)
}

/// Writes the page: what `analyze` says, and the samples.
fn paint(
    args: &Plot,
    outputs: Outputs,
    texts: &[Text],
    recording: &Recording,
) -> Result<Exit, Failure> {
    let asked = Analyze {
        samples: args.samples.clone(),
        combine: false,
        allow_missing: false,
        rule: Rule::Evidence,
        on_inconclusive: None,
        format: Format::Human,
    };
    let (spec, on_inconclusive) = analyze::spec(&asked)?;
    let mut analysis = Analysis::new(spec.clone(), texts.len());
    if analysis.wants_scouting() {
        let all = texts.iter().map(|(name, text)| {
            let text: Box<dyn Read> = Box::new(Cursor::new(text.clone()));
            (name.clone(), text)
        });
        analysis.scout(&mut all.into_iter()).map_err(Error::from)?;
    }
    for (name, text) in texts {
        analysis.read(&mut text.as_slice(), name, &mut |_| Flow::Go).map_err(Error::from)?;
    }
    analysis.check().map_err(Error::from)?;
    let findings = analysis.findings(StoppedBy::MaxPairs);
    outputs.write(&Outcome::of_samples(&findings, &spec, on_inconclusive), recording)?;
    Ok(Exit::Success)
}

/// A file's name in messages, and what is in it.
type Text = (String, Vec<u8>);

/// What is to be read, with its name in messages: all of it, as it is looked
/// at more than once.
fn texts(files: &[std::path::PathBuf]) -> Result<Vec<Text>, Failure> {
    let standard = [Path::new("-").to_owned()];
    let files = if files.is_empty() { &standard } else { files };
    let text = |path: &std::path::PathBuf| {
        if path != Path::new("-") {
            return Ok((format!("`{}`", path.display()), fs_err::read(path)?));
        }
        if std::io::stdin().is_terminal() {
            let what = "standard input is a terminal: give a file, or pipe samples in";
            return Err(Failure::Arguments(what.to_owned()));
        }
        let mut text = Vec::new();
        standard_input()?.read_to_end(&mut text)?;
        Ok(("standard input".to_owned(), text))
    };
    files.iter().map(text).collect()
}

/// Those that were named, or all.
fn metrics(recording: &Recording, named: &[String]) -> Result<Vec<Metric>, Failure> {
    let all = recording.metrics();
    if named.is_empty() {
        return Ok(all.to_vec());
    }
    let find = |name: &String| {
        let found = all.iter().find(|metric| metric.name == *name);
        found.cloned().ok_or_else(|| {
            let metrics = all.iter().map(|metric| metric.name.clone()).collect();
            let error = samples::Error::NoMetric { metric: name.clone(), metrics };
            Failure::from(Error::from(error))
        })
    };
    named.iter().map(find).collect()
}

/// How many columns there are to draw in.
fn width() -> usize {
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    let width = terminal.map(|(width, _)| usize::from(width.0)).or_else(told);
    width.unwrap_or(COLUMNS).clamp(20, 160)
}
