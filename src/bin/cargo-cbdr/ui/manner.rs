//! How much is said on standard error while something runs, and how.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::OnceLock;

use super::Failure;

/// The variable that chooses as `--progress` does.
const VARIABLE: &str = "CBDR_PROGRESS";

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Lines that are drawn over.
    Live,
    /// A line every few seconds, which stays.
    #[default]
    Plain,
    /// Not at all.
    None,
}

/// How the program talks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manner {
    /// Nothing but errors.
    pub(crate) is_quiet: bool,
    /// Also where things are.
    pub(crate) is_verbose: bool,
    pub(crate) progress: Progress,
}

/// Chosen once, by the command line.
static CHOSEN: OnceLock<Manner> = OnceLock::new();

/// The manner of this process.
pub(crate) fn manner() -> Manner {
    CHOSEN.get().copied().unwrap_or_default()
}

/// Chooses the manner from the flags; `asked` is `--progress`.
///
/// # Errors
/// When the variable says something else than the flag could.
pub(crate) fn choose(quiet: bool, verbose: bool, asked: Option<&str>) -> Result<(), Failure> {
    let variable = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let is_terminal = std::io::stderr().is_terminal() && !is_dumb;
    let progress = progress(asked, variable, is_terminal)?;
    let progress = if quiet { Progress::None } else { progress };
    let _ = CHOSEN.set(Manner { is_quiet: quiet, is_verbose: verbose, progress });
    Ok(())
}

/// What the flag says, else the variable; nothing is drawn over on what is no
/// terminal that can do it.
fn progress(
    asked: Option<&str>,
    variable: Option<OsString>,
    is_terminal: bool,
) -> Result<Progress, Failure> {
    let named = |name: &str| match name {
        "live" if is_terminal => Some(Progress::Live),
        "live" | "plain" => Some(Progress::Plain),
        "none" => Some(Progress::None),
        _ => None,
    };
    let usual = if is_terminal { "live" } else { "plain" };
    let variable = variable.map(|value| value.to_string_lossy().into_owned());
    let name = asked.map(str::to_owned).or(variable).unwrap_or_else(|| usual.to_owned());
    let wrong = || format!("{VARIABLE} is `{name}`: plain, live and none are possible");
    named(&name).ok_or_else(|| Failure::Arguments(wrong()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_wins_over_the_variable_and_the_terminal_over_both() {
        let chosen = |asked, variable: Option<&str>, is_terminal| {
            progress(asked, variable.map(OsString::from), is_terminal).ok()
        };
        for (asked, variable, is_terminal, expected) in [
            (None, None, true, Some(Progress::Live)),
            (None, None, false, Some(Progress::Plain)),
            (Some("live"), None, false, Some(Progress::Plain)),
            (Some("plain"), Some("live"), true, Some(Progress::Plain)),
            (None, Some("none"), true, Some(Progress::None)),
            (None, Some("loud"), true, None),
        ] {
            assert_eq!(chosen(asked, variable, is_terminal), expected, "{asked:?} {variable:?}");
        }
    }
}
