//! What is made from the definition of the command line: completions and manual
//! pages.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use cargo_cbdr::model::target::TargetKind;
use cargo_cbdr::workspace::names;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_mangen::Man;

use super::Cli;

/// The name of the executable.
const EXECUTABLE: &str = "cargo-cbdr";

/// The script that makes a shell complete our words. Those of the usual shells ask the program,
/// which knows the branches and targets, too, and complete `cargo cbdr` as well.
pub(crate) fn completions(shell: Shell) -> Vec<u8> {
    match shell {
        Shell::Bash => include_bytes!("shells/bash.sh").to_vec(),
        Shell::Zsh => include_bytes!("shells/zsh.sh").to_vec(),
        Shell::Fish => include_bytes!("shells/fish.fish").to_vec(),
        _ => {
            let mut script = Vec::new();
            let mut command = Cli::command().name(EXECUTABLE).bin_name(EXECUTABLE);
            clap_complete::generate(shell, &mut command, EXECUTABLE, &mut script);
            script
        }
    }
}

/// The manual page of the program, or of one of its subcommands; `None` for a name that is none.
pub(crate) fn man(subcommand: Option<&str>) -> Option<io::Result<Vec<u8>>> {
    let program = Cli::command().name(EXECUTABLE);
    let Some(name) = subcommand else { return Some(page(program)) };
    let command = program.get_subcommands().find(|command| command.get_name() == name)?;
    let title = format!("{EXECUTABLE}-{name}");
    Some(page(command.clone().bin_name(format!("cargo cbdr {name}")).display_name(title)))
}

/// The names of the subcommands.
pub(crate) fn subcommands() -> Vec<String> {
    let program = Cli::command();
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
    shown.map(|command| command.get_name().to_owned()).collect()
}

fn page(command: Command) -> io::Result<Vec<u8>> {
    let source = format!("{EXECUTABLE} {}", env!("CARGO_PKG_VERSION"));
    let mut page = Vec::new();
    Man::new(command).source(source).manual("Cargo").render(&mut page)?;
    Ok(page)
}

/// The candidates for a word that is being typed: a line each, with the help behind a tab. `args` are the
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
        "command" if command == "man" => among(arg, |_| subcommands()),
        _ => arg,
    }
}

fn among(arg: Arg, names: impl Fn(&Path) -> Vec<String> + Send + Sync + 'static) -> Arg {
    arg.add(ArgValueCandidates::new(move || {
        let folder = std::env::current_dir().unwrap_or_default();
        names(&folder).into_iter().map(CompletionCandidate::new).collect()
    }))
}
