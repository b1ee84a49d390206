//! `cargo cbdr analyze --combine`.

use std::path::{Path, PathBuf};

use cargo_cbdr::Error;
use cargo_cbdr::engine::event::Event;
use cargo_cbdr::exec::process::Interrupt;
use cargo_cbdr::model::notice::Notice;
use cargo_cbdr::samples::{
    self, Companion, Misfit, NotAShard, Recording, SeededShard, ShardPart, Spec,
};

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
            parts.push(part(path)?);
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
        match Companion::of_shard(&path) {
            Ok((companion, shard)) => parts.push(read(&path, companion, shard)?),
            Err(NotAShard::Unreadable(error)) => return Err(error.into()),
            Err(NotAShard::Because(why)) => {
                left_out.push(format!("{} is left out: {why}", text::path(&path)))
            }
        }
    }
    match parts.len() > known {
        true => Ok(left_out),
        false => Err(no_shard(folder, "it contains none".to_owned())),
    }
}

/// Reads a shard and its companion.
fn part(path: &Path) -> Result<ShardPart, Failure> {
    let (companion, shard) = Companion::of_shard(path).map_err(|error| match error {
        NotAShard::Unreadable(error) => error.into(),
        NotAShard::Because(why) => no_shard(path, why),
    })?;
    read(path, companion, shard)
}

fn no_shard(path: &Path, why: String) -> Failure {
    let misfit = Misfit::NoShard { file: text::path(path), why };
    Failure::from(Error::from(samples::Error::from(misfit)))
}

fn read(path: &Path, companion: Companion, shard: SeededShard) -> Result<ShardPart, Failure> {
    let file = text::path(path);
    let mut recording = Recording::new(None, companion.units.clone());
    let text = fs_err::read(path)?;
    if !text.trim_ascii().is_empty() {
        recording.read(&mut text.as_slice(), &file).map_err(Error::from)?;
    }
    Ok(ShardPart { file, shard, companion, recording })
}
