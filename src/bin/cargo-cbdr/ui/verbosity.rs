//! How much the program writes to standard error while something runs.

use std::io::IsTerminal;
use std::sync::OnceLock;

use super::Failure;

/// The variable that chooses as `--progress` does.
const VARIABLE: &str = "CBDR_PROGRESS";

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ProgressMode {
    /// Lines that are drawn over.
    Live,
    /// A line every few seconds, which stays.
    #[default]
    Plain,
    /// Not at all.
    None,
}

/// How much is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verbosity {
    /// Nothing but errors.
    pub(crate) is_quiet: bool,
    /// Also where things are.
    pub(crate) is_verbose: bool,
    pub(crate) progress: ProgressMode,
}

/// Set once, from the command line.
static CHOSEN: OnceLock<Verbosity> = OnceLock::new();

/// The verbosity of this process.
pub(crate) fn verbosity() -> Verbosity {
    CHOSEN.get().copied().unwrap_or_default()
}

/// Sets the verbosity from the flags; `progress` is `--progress`.
///
/// # Errors
/// When the variable holds a word that the flag does not take.
pub(crate) fn choose(quiet: bool, verbose: bool, progress: Option<&str>) -> Result<(), Failure> {
    let variable = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let variable = variable.map(|value| value.to_string_lossy().into_owned());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let is_terminal = std::io::stderr().is_terminal() && !is_dumb;
    let progress = progress_mode(progress, variable, is_terminal)?;
    let progress = if quiet { ProgressMode::None } else { progress };
    let _ = CHOSEN.set(Verbosity { is_quiet: quiet, is_verbose: verbose, progress });
    Ok(())
}

/// What the flag says, else the variable. Only a terminal that can do it is drawn over.
fn progress_mode(
    flag: Option<&str>,
    variable: Option<String>,
    is_terminal: bool,
) -> Result<ProgressMode, Failure> {
    let usual = if is_terminal { ProgressMode::Live } else { ProgressMode::Plain };
    let Some(name) = flag.map(str::to_owned).or(variable) else { return Ok(usual) };
    match name.as_str() {
        "live" => Ok(usual),
        "plain" => Ok(ProgressMode::Plain),
        "none" => Ok(ProgressMode::None),
        _ => Err(Failure::Arguments(format!(
            "{VARIABLE} is `{name}`: plain, live and none are possible"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_wins_over_the_variable_and_the_terminal_over_both() {
        let chosen = |asked, variable: Option<&str>, is_terminal| {
            progress_mode(asked, variable.map(str::to_owned), is_terminal).ok()
        };
        for (asked, variable, is_terminal, expected) in [
            (None, None, true, Some(ProgressMode::Live)),
            (None, None, false, Some(ProgressMode::Plain)),
            (Some("live"), None, false, Some(ProgressMode::Plain)),
            (Some("plain"), Some("live"), true, Some(ProgressMode::Plain)),
            (None, Some("none"), true, Some(ProgressMode::None)),
            (None, Some("loud"), true, None),
        ] {
            assert_eq!(chosen(asked, variable, is_terminal), expected, "{asked:?} {variable:?}");
        }
    }
}
