//! How much the program writes to standard error while something runs.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::OnceLock;

use super::Failure;
use crate::cli::ProgressForm;

/// The variable that chooses as `--progress` does.
const VARIABLE: &str = "CBDR_PROGRESS";

/// How much is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verbosity {
    /// Nothing but errors.
    pub(crate) is_quiet: bool,
    /// Also where things are.
    pub(crate) is_verbose: bool,
    pub(crate) progress: ProgressForm,
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
pub(crate) fn choose(
    quiet: bool,
    verbose: bool,
    progress: Option<ProgressForm>,
) -> Result<(), Failure> {
    let variable = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let is_terminal = std::io::stderr().is_terminal() && !is_dumb;
    let progress = progress_form(progress, variable, is_terminal)?;
    let progress = if quiet { ProgressForm::None } else { progress };
    let _ = CHOSEN.set(Verbosity { is_quiet: quiet, is_verbose: verbose, progress });
    Ok(())
}

/// What the flag says, else the variable. Only a terminal that can do it is drawn over.
fn progress_form(
    flag: Option<ProgressForm>,
    variable: Option<OsString>,
    is_terminal: bool,
) -> Result<ProgressForm, Failure> {
    let asked = match (flag, variable) {
        (Some(flag), _) => flag,
        (None, None) => ProgressForm::Live,
        (None, Some(variable)) => {
            let name = variable.to_string_lossy();
            let wrong = || format!("{VARIABLE} is `{name}`: plain, live and none are possible");
            ProgressForm::named(&name).ok_or_else(|| Failure::Arguments(wrong()))?
        }
    };
    Ok(if asked == ProgressForm::Live && !is_terminal { ProgressForm::Plain } else { asked })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_wins_over_the_variable_and_the_terminal_over_both() {
        let chosen = |asked, variable: Option<&str>, is_terminal| {
            progress_form(asked, variable.map(OsString::from), is_terminal).ok()
        };
        for (asked, variable, is_terminal, expected) in [
            (None, None, true, Some(ProgressForm::Live)),
            (None, None, false, Some(ProgressForm::Plain)),
            (Some(ProgressForm::Live), None, false, Some(ProgressForm::Plain)),
            (Some(ProgressForm::Plain), Some("live"), true, Some(ProgressForm::Plain)),
            (None, Some("none"), true, Some(ProgressForm::None)),
            (None, Some("loud"), true, None),
        ] {
            assert_eq!(chosen(asked, variable, is_terminal), expected, "{asked:?} {variable:?}");
        }
    }
}
