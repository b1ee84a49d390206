//! `cargo cbdr analyze --combine`.

use std::path::{Path, PathBuf};

use cargo_cbdr::Error;
use cargo_cbdr::engine::event::Event;
use cargo_cbdr::exec::process::Interrupt;
use cargo_cbdr::model::notice::Notice;
use cargo_cbdr::samples::{self, Companion, Misfit, Recording, ShardPart, Spec};

use super::analyze;
use crate::cli::Analyze;
use crate::exit::{CommandResult, ExitKind};
use crate::render::outputs::{Outputs, WantedOutputs};
use crate::render::readable::{CommandLine, Readable};
use crate::samples::AGAIN;
use crate::ui::{Failure, Ui, text};

/// Prints the verdict of the shards measured by several machines, with the
/// settings of the measurement; only `--fail-on` may differ.
pub(super) fn run(
    args: &Analyze,
    called: &CommandLine,
    asked: &Spec,
    interrupt: &Interrupt,
) -> CommandResult {
    let outputs = Outputs::new(args.format, WantedOutputs::default(), interrupt)?;
    let (mut parts, mut left_out) = (Vec::new(), Vec::new());
    for path in &args.samples.files {
        if path.is_dir() {
            left_out.extend(parts_in(path, &mut parts)?);
        } else {
            parts.push(part(path).map_err(Error::from)?);
        }
    }
    let mut outcome = samples::combine(parts, args.allow_missing).map_err(Error::from)?;
    outcome.notices.extend(left_out.into_iter().map(|text| Notice::OfShards { text }));
    if args.failure.0.fail_on.is_some() {
        outcome.policy.fail_on.clone_from(&asked.policy.fail_on);
    }
    let mut ui = Ui::new();
    outcome.notices.iter().for_each(|notice| ui.show(&Event::Notice(notice)));
    ui.end();
    analyze::give(args.format, outputs, &Readable::new(&outcome, called))?;
    Ok(ExitKind::of(&outcome))
}

/// Reads the shards in a folder, those that were stopped, too. Returns a sentence about each
/// file of samples that is none.
fn parts_in(folder: &Path, parts: &mut Vec<ShardPart>) -> Result<Vec<String>, Failure> {
    let (known, mut left_out) = (parts.len(), Vec::new());
    let entries = fs_err::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut files: Vec<PathBuf> = entries.collect::<std::io::Result<_>>()?;
    files.sort();
    for path in files {
        let name = path.to_string_lossy();
        let samples = name.strip_suffix(".partial").unwrap_or(&name);
        let is_beside = AGAIN.iter().any(|suffix| samples.ends_with(&format!(".{suffix}")));
        if !samples.ends_with(".csv") || is_beside {
            continue;
        }
        match part(&path) {
            Ok(part) => parts.push(part),
            Err(samples::Error::Shards(Misfit::NoShard { file, why })) => {
                left_out.push(format!("{file} is left out: {why}"))
            }
            Err(error) => return Err(Error::from(error).into()),
        }
    }
    match parts.len() > known {
        true => Ok(left_out),
        false => {
            let (file, why) = (text::path(folder), "it contains none".to_owned());
            Err(Error::from(samples::Error::from(Misfit::NoShard { file, why })).into())
        }
    }
}

/// Reads a shard and its companion.
fn part(path: &Path) -> Result<ShardPart, samples::Error> {
    let file = text::path(path);
    let (companion, shard) = Companion::of_shard(path, &file)?;
    let mut recording = Recording::new(None, companion.units.clone());
    let read = |source| samples::Error::Read { file: file.clone(), source };
    let text = std::fs::read(path).map_err(read)?;
    if !text.trim_ascii().is_empty() {
        recording.read(&mut text.as_slice(), &file)?;
    }
    Ok(ShardPart { file, shard, companion, recording })
}
