//! The subcommands.

mod analyze;
mod bisect;
mod cache;
mod compare;
mod demo;
mod doctor;
mod history;
mod hook;
mod init;
mod pack;
mod plot;
mod sample;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use anstream::ColorChoice;
use cargo_cbdr::exec::execution::Context;
use cargo_cbdr::exec::process::{self, Helper, Interrupt};
use cargo_cbdr::exec::system;
use cargo_cbdr::settings::options::check;
use cargo_cbdr::settings::table::Table;
use cargo_cbdr::workspace::{self, Request};

use crate::cli::{self, CliCommand};
use crate::exit::{CommandResult, ExitKind};
use crate::failure::Failure;
use crate::render::outputs::print_bytes;
use crate::render::readable::CommandLine;
use crate::ui::{about, verbosity};

/// The argument with which cargo calls this program as a runner.
const CAPTURE: &str = "__capture";

/// The argument with which a recording linker calls this program.
const LINK: &str = "__link";

/// The argument that makes this program trace another one.
const TRACE: &str = "__trace";

/// The argument with which a shell asks for completions.
const COMPLETE: &str = "__complete";

/// The argument that makes this program do the work that `doctor` measures.
const WORK: &str = "__work";

/// Runs the subcommand of the command line, or what a word of this program's own asks for.
pub(crate) fn run() -> CommandResult {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_ref().and_then(|first| first.to_str()) {
        Some(LINK) => workspace::record_link(args)?,
        Some(CAPTURE) => workspace::record_invocation(args, process::environment().into_iter())?,
        Some(TRACE) => return Ok(ExitKind::Traced(process::trace::trace(args)?)),
        Some(WORK) => {
            let rounds = args.next().and_then(|rounds| rounds.to_str()?.parse().ok());
            cargo_cbdr::flows::doctor::work(rounds.unwrap_or_default());
        }
        Some(COMPLETE) => return Ok(written(cli::generated::complete(args))?),
        _ => {
            // While this process is small: see `process`. What is above starts no programs, and a
            // tracer would mistake the helper's end for that of its program.
            let helper = Helper::start();
            let failed = |error| about("could not start the helper process", &error);
            return run_command(&helper.map_err(failed)?);
        }
    }
    Ok(ExitKind::Success)
}

fn run_command(helper: &Helper) -> CommandResult {
    let cli = match cli::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => {
            cli::print(&error);
            return Ok(if error.use_stderr() { ExitKind::Usage } else { ExitKind::Success });
        }
    };
    verbosity::choose(&cli.display)?;
    let failed = |error| about("could not listen for signals", &error);
    let interrupt = Interrupt::listen().map_err(failed)?;
    let context = Context { helper, interrupt: &interrupt };
    let called = CommandLine::new(std::env::args_os().skip(1));
    let outcome = match cli.command {
        CliCommand::Compare(args) => compare::run(&args, &called, context),
        CliCommand::Pack(args) => pack::run(&args, context),
        CliCommand::Init(args) => init::run(&args, context),
        CliCommand::Demo => demo::run(&called, context),
        CliCommand::Sample(args) => sample::run(&args, context),
        CliCommand::Analyze(args) => analyze::run(&args, &called, &interrupt),
        CliCommand::Doctor(args) => doctor::run(&args, context),
        CliCommand::Cache { what } => cache::run(&what),
        CliCommand::Completions { shell } => Ok(written(Ok(cli::generated::completions(shell)))?),
        CliCommand::Man { command } => man(command.as_deref()),
        CliCommand::Hook { what } => hook::run(&what, &called, context),
        CliCommand::Plot(args) => plot::run(&args, &called, &interrupt),
        CliCommand::Bisect(args) => bisect::run(&args, context),
        CliCommand::History(args) => history::run(&args, context),
    };
    match outcome {
        Err(Failure::Library(error)) if error.is_interrupt() => {
            Ok(ExitKind::interrupted(&interrupt))
        }
        outcome => outcome,
    }
}

fn man(command: Option<&str>) -> CommandResult {
    let unknown = || {
        let (command, names) =
            (command.unwrap_or_default(), cli::generated::subcommands().join("`, `"));
        Failure::Arguments(format!("there is no subcommand `{command}`; choose `{names}`"))
    };
    Ok(written(cli::generated::man(command).ok_or_else(unknown)?)?)
}

fn written(page: io::Result<Vec<u8>>) -> io::Result<ExitKind> {
    print_bytes(&page?)?;
    Ok(ExitKind::Success)
}

/// A request for HEAD in the current folder, with these `flags`.
fn request(flags: Table) -> Result<Request, Failure> {
    // Reported before anything is checked out, as an error of the command line.
    check(&flags)?;
    Ok(Request {
        folder: current_folder()?,
        flags,
        cache: cache_dir(),
        env: environment(),
        capture: call_of_ourselves(CAPTURE)?,
        record_link: call_of_ourselves(LINK)?,
        trace: call_of_ourselves(TRACE)?,
        ..Request::default()
    })
}

/// The cache's place, if the environment sets one.
fn cache_dir() -> Option<PathBuf> {
    std::env::var_os("CBDR_CACHE_DIR").filter(|place| !place.is_empty()).map(PathBuf::from)
}

/// The environment of this program. Settings for quiet and colours are passed on to cargo,
/// too.
fn environment() -> Vec<(OsString, OsString)> {
    let mut env = process::environment();
    let mut set = |name: &str, value: &str| {
        env.retain(|(other, _)| other != name);
        env.push((name.into(), value.into()));
    };
    match ColorChoice::global() {
        ColorChoice::Always => set("CARGO_TERM_COLOR", "always"),
        ColorChoice::Never => set("CARGO_TERM_COLOR", "never"),
        _ => {}
    }
    if verbosity::verbosity().is_quiet {
        set("CARGO_TERM_QUIET", "true");
        env.retain(|(name, _)| name != "CARGO_TERM_VERBOSE");
    }
    env
}

/// The folder in which the program was called.
fn current_folder() -> io::Result<PathBuf> {
    std::env::current_dir().map_err(|error| about("could not find the working directory", &error))
}

/// The command that calls this program with an internal argument.
fn call_of_ourselves(word: &str) -> io::Result<Vec<OsString>> {
    Ok(vec![std::env::current_exe()?.into(), word.into()])
}

/// An unpredictable seed, below 2^53 so that JSON can represent it.
fn random_seed() -> u64 {
    system::random() >> 11
}
