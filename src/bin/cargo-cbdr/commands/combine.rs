//! `cargo cbdr analyze --combine`.

use std::path::Path;

use cargo_cbdr::Error;
use cargo_cbdr::engine::event::Event;
use cargo_cbdr::exec::process::Interrupt;
use cargo_cbdr::samples::{self, Companion, Misfit, Part, Recording, Spec};

use super::analyze;
use crate::cli::Analyze;
use crate::exit::Exit;
use crate::render::outputs::{Outputs, WantedOutputs};
use crate::render::readable::{CommandLine, Readable};
use crate::ui::{Failure, Ui};

/// Prints the verdict of the shards measured by several machines, with the
/// settings of the measurement; only `--on-inconclusive` may differ.
pub(super) fn run(
    args: &Analyze,
    called: &CommandLine,
    asked: &Spec,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let outputs = Outputs::new(args.format, WantedOutputs::default(), interrupt)?;
    let parts: Vec<Part> =
        args.samples.files.iter().map(|path| part(path)).collect::<Result<_, _>>()?;
    let mut outcome = samples::combine(parts, args.allow_missing).map_err(Error::from)?;
    if args.on_inconclusive.is_some() {
        outcome.policy.on_inconclusive = asked.policy.on_inconclusive;
    }
    let mut ui = Ui::new();
    outcome.notices.iter().for_each(|notice| ui.show(&Event::Notice(notice)));
    ui.end();
    analyze::give(args.format, outputs, &Readable::new(&outcome, called))?;
    Ok(Exit::of(&outcome))
}

/// Reads a shard and its companion.
fn part(path: &Path) -> Result<Part, Failure> {
    if path == Path::new("-") {
        let what = "a shard has a second file beside it, so standard input can't be one";
        return Err(Failure::Arguments(what.to_owned()));
    }
    let file = analyze::quoted(path);
    let no_shard = |why: String| {
        let misfit = Misfit::NoShard { file: file.clone(), why };
        Failure::from(Error::from(samples::Error::from(misfit)))
    };
    let companion = Companion::beside(path)?.map_err(no_shard)?;
    let shard = companion.shard;
    let shard = shard.ok_or_else(|| no_shard("it was not measured as one".to_owned()))?;
    let mut recording = Recording::new(None, companion.units.clone());
    let text = fs_err::read(path)?;
    if !text.trim_ascii().is_empty() {
        recording.read(&mut text.as_slice(), &file).map_err(Error::from)?;
    }
    Ok(Part { file, shard, companion, recording })
}
