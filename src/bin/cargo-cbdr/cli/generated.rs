//! What is made from the definition of the command line: completions and manual
//! pages.

use std::io;

use clap::CommandFactory;
use clap_complete::Shell;
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

fn page(command: clap::Command) -> io::Result<Vec<u8>> {
    let source = format!("{EXECUTABLE} {}", env!("CARGO_PKG_VERSION"));
    let mut page = Vec::new();
    Man::new(command).source(source).manual("Cargo").render(&mut page)?;
    Ok(page)
}
