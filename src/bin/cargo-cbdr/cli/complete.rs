//! How a command line that is being typed can go on, for the scripts that make shells ask.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use cargo_cbdr::model::target::TargetKind;
use cargo_cbdr::workspace::names;
use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use super::Cli;

/// The candidates for a word: a line each, with the help behind a tab. `args` are the
/// number of the word and all words, the first of which is the program.
pub(crate) fn complete(mut args: impl Iterator<Item = OsString>) -> io::Result<Vec<u8>> {
    let number = args.next().and_then(|number| number.to_str()?.parse().ok());
    let number: usize = number.ok_or(io::ErrorKind::InvalidInput)?;
    let mut words: Vec<OsString> = args.collect();
    words.resize(words.len().max(number + 1), OsString::new());
    let mut command = with_names(Cli::command());
    let folder = std::env::current_dir()?;
    let found = clap_complete::engine::complete(&mut command, words, number, Some(&folder))?;
    let mut lines = Vec::new();
    for candidate in found.iter().filter(|candidate| !candidate.is_hide_set()) {
        lines.extend_from_slice(candidate.get_value().as_encoded_bytes());
        if let Some(help) = candidate.get_help() {
            let help = help.to_string();
            lines.push(b'\t');
            lines.extend_from_slice(help.lines().next().unwrap_or_default().as_bytes());
        }
        lines.push(b'\n');
    }
    Ok(lines)
}

/// A command whose arguments, and those of its subcommands, know the names that can be their
/// values in this folder.
fn with_names(command: Command) -> Command {
    let name = command.get_name().to_owned();
    command.mut_args(|arg| with_its_names(&name, arg)).mut_subcommands(with_names)
}

fn with_its_names(command: &str, arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        // Here, the base is a label.
        "base" if ["analyze", "plot"].contains(&command) => arg,
        "base" | "head" | "good" | "bad" | "rev" | "baseline" => among(arg, names::revisions),
        "package" => among(arg, names::packages),
        "bench" => among(arg, |folder| names::targets(folder, TargetKind::Bench)),
        "bin" => among(arg, |folder| names::targets(folder, TargetKind::Bin)),
        "example" => among(arg, |folder| names::targets(folder, TargetKind::Example)),
        "features" => among(arg, names::features),
        "metrics" | "metric" | "show" => among(arg, |_| names::metrics()),
        "command" if command == "man" => among(arg, |_| super::subcommands()),
        _ => arg,
    }
}

fn among(arg: Arg, names: impl Fn(&Path) -> Vec<String> + Send + Sync + 'static) -> Arg {
    arg.add(ArgValueCandidates::new(move || {
        let folder = std::env::current_dir().unwrap_or_default();
        names(&folder).into_iter().map(CompletionCandidate::new).collect()
    }))
}
