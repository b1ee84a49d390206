//! How much the program writes to standard error while something runs.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::OnceLock;

use anstream::ColorChoice;

use crate::cli::{self, DisplayFlags, ProgressForm, ValueEnum};
use crate::failure::Failure;

/// The variable with the same effect as `--progress`.
const VARIABLE: &str = "CBDR_PROGRESS";

/// How much to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verbosity {
    /// Nothing but errors.
    pub(crate) is_quiet: bool,
    /// Also details, such as paths.
    pub(crate) is_verbose: bool,
    pub(crate) progress: ProgressForm,
}

/// Set once, from the command line.
static CHOSEN: OnceLock<Verbosity> = OnceLock::new();

/// The verbosity of this process.
pub(crate) fn verbosity() -> Verbosity {
    CHOSEN.get().copied().unwrap_or_default()
}

/// Sets the verbosity and the colours from the flags, or else from the variables,
/// including cargo's.
///
/// # Errors
/// If the variable has a value that the flag does not accept.
pub(crate) fn choose(flags: &DisplayFlags) -> Result<(), Failure> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let is = |name: &str, word: &str| variable(name).is_some_and(|value| value == word);
    if let Some(choice) = color_choice(flags.color, variable("CARGO_TERM_COLOR")) {
        choice.write_global();
    }
    let is_dumb = is("TERM", "dumb") || is("CARGO_TERM_PROGRESS_WHEN", "never");
    let is_terminal = std::io::stderr().is_terminal() && !is_dumb;
    let progress = progress_form(flags.progress, variable(VARIABLE), is_terminal)?;
    let is_quiet = flags.quiet || !flags.verbose && is("CARGO_TERM_QUIET", "true");
    let progress = if is_quiet { ProgressForm::None } else { progress };
    let _ = CHOSEN.set(Verbosity { is_quiet, is_verbose: flags.verbose, progress });
    Ok(())
}

/// The value of the flag, else of cargo's variable; if neither is set, the terminal and
/// the usual variables decide.
fn color_choice(flag: Option<cli::ColorChoice>, variable: Option<OsString>) -> Option<ColorChoice> {
    let named = |value: OsString| value.to_str()?.parse().ok();
    match flag.or_else(|| variable.and_then(named))? {
        cli::ColorChoice::Auto => None,
        cli::ColorChoice::Always => Some(ColorChoice::Always),
        cli::ColorChoice::Never => Some(ColorChoice::Never),
    }
}

/// The value of the flag, else of the variable. Live lines need a terminal that supports them.
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
            let wrong = || format!("{VARIABLE} is `{name}`, but must be plain, live or none");
            ProgressForm::from_str(&name, false).map_err(|_| Failure::Arguments(wrong()))?
        }
    };
    Ok(if asked == ProgressForm::Live && !is_terminal { ProgressForm::Plain } else { asked })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_for_colours_wins_over_cargos_variable() {
        for (flag, variable, expected) in [
            (None, None, None),
            (None, Some("always"), Some(ColorChoice::Always)),
            (None, Some("never"), Some(ColorChoice::Never)),
            (None, Some("sometimes"), None),
            (Some(cli::ColorChoice::Auto), Some("always"), None),
            (Some(cli::ColorChoice::Never), Some("always"), Some(ColorChoice::Never)),
            (Some(cli::ColorChoice::Always), Some("never"), Some(ColorChoice::Always)),
        ] {
            assert_eq!(color_choice(flag, variable.map(OsString::from)), expected, "{variable:?}");
        }
    }

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
