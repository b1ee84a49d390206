//! The command line: what may be typed, and nothing else.

pub(crate) mod generated;
mod history;
mod pipe;
mod shared;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::builder::styling::{AnsiColor, Styles};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand};
pub(crate) use clap::{ColorChoice, ValueEnum};
use clap_complete::Shell;

use cargo_cbdr::model::{Layouts, Shard, Side};
use cargo_cbdr::settings::Written;
use cargo_cbdr::settings::table::flags::{
    BASE, FAILURE, LAYOUTS, POLICY, RUNS, SELECTION, SHARDS, SUITE,
};
use cargo_cbdr::settings::table::headings::{BENCHMARK, BUILD, DECIDING, SIDES, STOPPING};
use cargo_cbdr::settings::table::{Flags, Table};
use cargo_cbdr::settings::values::Time;

use crate::render::export::{self, ExportKind};
use crate::ui::text;

pub(crate) use history::{
    Annotate, Bisect, Check, Export, ExportFormat, History, List, RecordArgs, Sync,
};
pub(crate) use pipe::{Analyze, DecisionRule, Plot, Sample, SampleArgs};
use shared::{CODES_OF_CHECK, OUTPUT, at_least_one};
pub(crate) use shared::{Filter, Format, Printed, Seed};

const ARGUMENTS: &str = "Arguments";
const CACHE: &str = "Cache";
const EXIT_CODES: &str = "Exit codes: 0 no regression (also identical; inconclusive, no baseline \
or removed unless set to fail), 2 usage, 100 regression, 101 could not finish, 102 inconclusive, \
no baseline or removed if set to fail.";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Compare the benchmarks of a branch with those of its merge-base
#[derive(Debug, Parser)]
#[command(name = "cargo cbdr", bin_name = "cargo cbdr", version, styles = STYLES, max_term_width = 80)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: CliCommand,

    #[command(flatten)]
    pub(crate) display: DisplayFlags,
}

/// How much is printed to standard error.
#[derive(Debug, Args)]
pub(crate) struct DisplayFlags {
    /// Print only the result and errors
    #[arg(short, long, global = true, help_heading = OUTPUT)]
    pub(crate) quiet: bool,

    /// Also print all metrics, and where worktrees and builds are
    #[arg(short, long, global = true, conflicts_with = "quiet", help_heading = OUTPUT)]
    pub(crate) verbose: bool,

    /// Show progress as plain lines (for logs and screen readers), live (redrawn
    /// in place), or none [env: CBDR_PROGRESS=] [default: live on a terminal,
    /// else plain]
    #[arg(long, global = true, value_name = "FORM", value_enum, hide_possible_values = true,
          help_heading = OUTPUT)]
    pub(crate) progress: Option<ProgressForm>,

    /// Use colours: auto, always or never [env: CARGO_TERM_COLOR=] [default:
    /// auto]
    #[arg(long, global = true, value_name = "WHEN", value_enum, hide_possible_values = true,
          help_heading = OUTPUT)]
    pub(crate) color: Option<ColorChoice>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Compare HEAD with the merge-base of BASE and HEAD
    ///
    /// Checks out both into worktrees of its own, builds their benchmarks, and
    /// measures them in pairs until it is clear whether HEAD is slower by more
    /// than the threshold. Your checkout is only read.
    #[command(after_help = EXIT_CODES)]
    Compare(Box<Compare>),
    /// Write a configuration; with --ci, also a workflow
    ///
    /// Tries the benchmarks (or the one you name), chooses those that can be
    /// decided in time, and adds a table [package.metadata.cbdr] to Cargo.toml,
    /// which is otherwise unchanged. Existing files and tables are never
    /// overwritten.
    Init(Box<Init>),
    /// Run a comparison in a small repository with a planted slowdown
    Demo,
    Pack(Box<Pack>),
    Sample(Sample),
    #[command(after_help = CODES_OF_CHECK)]
    Analyze(Box<Analyze>),
    #[command(after_help = CODES_OF_CHECK)]
    Bisect(Box<Bisect>),
    /// Store results with their commits, and check new ones against them
    #[command(subcommand)]
    History(History),
    /// Compare every branch before it is pushed
    Hook {
        #[command(subcommand)]
        what: HookAction,
    },
    /// List or clean the cache of builds
    Cache {
        #[command(subcommand)]
        what: CacheAction,
    },
    /// Print a completion script for a shell
    ///
    /// Save it where the shell finds it when it starts. For bash:
    /// `cargo-cbdr completions bash > ~/.cargo-cbdr.bash`, and add the line
    /// `. ~/.cargo-cbdr.bash` to ~/.bashrc. For zsh: the same, with the line after
    /// `compinit` in ~/.zshrc. For fish: save it as
    /// ~/.config/fish/conf.d/cargo-cbdr.fish.
    Completions {
        /// The shell
        #[arg(help_heading = ARGUMENTS)]
        shell: Shell,
    },
    /// Print a manual page, as roff
    Man {
        /// The subcommand [default: an overview of all]
        #[arg(help_heading = ARGUMENTS)]
        command: Option<String>,
    },
    Plot(Plot),
    Doctor(Doctor),
}

/// What is fixed in a pack.
fn packed() -> impl Iterator<Item = &'static str> {
    // Named benchmarks have no flag.
    let keys = Table::building_keys().filter(|key| *key != "benchmarks");
    keys.chain(["head", "dirty", "exact_base", "fetch", "aa"]).chain([
        "repeat",
        "policy_from",
        "always_run",
    ])
}

/// The arguments of `compare`.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("shard-by", |arg| arg.requires("shard")))]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) settings:
        Flags<{ BASE | SELECTION | POLICY | FAILURE | LAYOUTS | SUITE | RUNS | SHARDS }>,

    #[command(flatten)]
    pub(crate) filter: Filter,

    #[command(flatten)]
    pub(crate) sides: SideFlags,

    /// With --aa: repeat the whole comparison N times, and count the verdicts
    #[arg(long, value_name = "N", requires = "aa",
          conflicts_with_all = ["base", "exact_base", "samples", "explain", "fail-on"],
          value_parser = at_least_one, help_heading = SIDES)]
    pub(crate) repeat: Option<u64>,

    /// Measure unaffected benchmarks, too: those that run none of the code that
    /// changed
    #[arg(long, help_heading = DECIDING)]
    pub(crate) measure_all: bool,

    /// Stop at the first regression, even if other metrics are undecided
    #[arg(long, help_heading = STOPPING)]
    pub(crate) fail_fast: bool,

    /// Sample until the time limit even if no further verdict is expected within it
    #[arg(long, help_heading = STOPPING)]
    pub(crate) use_full_time: bool,

    /// Build and measure nothing; print what would be compared, with all settings
    /// and where each one comes from
    #[arg(long, conflicts_with_all = ["repeat", "samples", "report", "export", "message_format"],
          help_heading = OUTPUT)]
    pub(crate) dry_run: bool,

    /// Find the functions that make a benchmark slower, with valgrind or else
    /// perf [default: with --report and --format markdown, for at most 15 s]
    #[arg(long, value_enum, value_name = "WHEN", num_args = 0..=1, require_equals = true,
        default_missing_value = "always", help_heading = OUTPUT)]
    pub(crate) explain: Option<When>,

    #[command(flatten)]
    pub(crate) seed: Seed,

    /// Print the result in this format
    #[arg(long, value_enum, default_value_t = Format::Human, help_heading = OUTPUT)]
    pub(crate) format: Format,

    /// With json: print each event (building, pair, verdict and others) as a
    /// line of JSON to standard output, and the result as the last line
    #[arg(long, value_enum, value_name = "FORM", default_value_t = MessageFormat::Human,
          conflicts_with_all = ["format", "repeat"], help_heading = OUTPUT)]
    pub(crate) message_format: MessageFormat,

    /// Measure what `cargo cbdr pack` has built and written to this file; needs
    /// neither the repository nor Rust
    #[arg(long, value_name = "FILE", conflicts_with_all = packed(), help_heading = SIDES)]
    pub(crate) packed: Option<PathBuf>,

    /// Measure part I of N, one part on each machine; `analyze --combine` gives
    /// the verdict from the N files; `auto` takes I and N from the variables of
    /// Slurm, Kubernetes, GitLab, Buildkite or CircleCI
    #[arg(long, value_name = "I/N", value_parser = shard, help_heading = STOPPING,
          conflicts_with_all = ["repeat", "fail_fast"])]
    pub(crate) shard: Option<Shard>,

    /// Also write all runs to this file, as CSV; until the comparison ends, to
    /// FILE.csv.partial
    #[arg(long, value_name = "FILE.csv", help_heading = OUTPUT)]
    pub(crate) samples: Option<PathBuf>,

    /// Also write a report: a page with the result and all measurements
    #[arg(long, value_name = "FILE.html", conflicts_with = "repeat", help_heading = OUTPUT)]
    pub(crate) report: Option<PathBuf>,

    /// Also write the result for a service that tracks results (bencher,
    /// github-action-benchmark, github-action-benchmark-bigger), or call stacks
    /// of what has regressed (flamegraph, folded-base, folded-head)
    #[arg(long, value_name = "KIND=FILE", value_parser = export::parse, conflicts_with = "repeat",
          help_heading = OUTPUT)]
    pub(crate) export: Vec<(ExportKind, PathBuf)>,
}

/// The sides, and what is prepared of them.
#[derive(Clone, Debug, Args)]
pub(crate) struct SideFlags {
    /// Compare this revision instead of HEAD
    #[arg(long, value_name = "REV", help_heading = SIDES)]
    pub(crate) head: Option<String>,

    /// Used as base if the head is an ancestor of BASE.
    #[arg(skip)]
    pub(crate) fallback_base: Option<String>,

    /// Compare the working tree as it is, untracked files included
    #[arg(long, conflicts_with = "head", help_heading = SIDES)]
    pub(crate) dirty: bool,

    /// Compare with BASE itself, not with the merge-base
    #[arg(long, help_heading = SIDES)]
    pub(crate) exact_base: bool,

    /// Fetch what this clone lacks, with the installed git: the branch BASE,
    /// and in a shallow clone the history up to the merge-base
    #[arg(long, help_heading = SIDES)]
    pub(crate) fetch: bool,

    /// Compare the head with itself, built twice, to see what the gate reports
    /// when nothing has changed
    #[arg(long, conflicts_with_all = ["base", "exact_base"], help_heading = SIDES)]
    pub(crate) aa: bool,

    /// Read thresholds and limits from this side's Cargo.toml, if it has a table
    #[arg(long, value_name = "base|head", default_value_t = Side::Base, value_parser = side,
          help_heading = DECIDING)]
    pub(crate) policy_from: Side,

    /// Measure even if both sides are the same program
    #[arg(long, help_heading = DECIDING)]
    pub(crate) always_run: bool,
}

/// Build a comparison, and write it to a file for other machines
///
/// Any machine of the same kind can measure it with `compare --packed FILE`, without
/// the repository, git, Rust or a linker.
#[derive(Debug, Args)]
#[command(
    override_usage = "cargo cbdr pack [OPTIONS] [BASE] <FILE> [-- <ARGS>...]",
    mut_arg("args", |args| args.index(3)),
    // A single name is that of the file, although it is read as BASE.
    mut_arg("aa", |aa| aa.conflicts_with(Resettable::Reset).conflicts_with_all(["exact_base", "file"])),
)]
pub(crate) struct Pack {
    #[command(flatten)]
    pub(crate) settings: Flags<{ BASE | SELECTION | POLICY | FAILURE | RUNS }>,

    /// The file to write
    #[arg(help_heading = ARGUMENTS)]
    pub(crate) file: Option<PathBuf>,

    /// Link N random layouts of each side, or none [default: as many as it takes
    /// to confirm what is clearly slower]
    #[arg(long, value_name = "off|N", default_value_t = Layouts::Auto,
          hide_default_value = true, help_heading = BUILD)]
    pub(crate) layouts: Layouts,

    #[command(flatten)]
    pub(crate) sides: SideFlags,

    #[command(flatten)]
    pub(crate) seed: Seed,
}

fn shard(text: &str) -> Result<Shard, String> {
    if text == "auto" { Shard::of_task(|name| std::env::var(name).ok()) } else { text.parse() }
}

fn side(text: &str) -> Result<Side, &'static str> {
    Side::BOTH.into_iter().find(|side| side.name() == text).ok_or("it must be `base` or `head`")
}

/// Whether to do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// Always, however long it takes.
    Always,
    /// Never, even where it is quick.
    Never,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressForm {
    /// A line every few seconds, which stays.
    #[default]
    Plain,
    /// Lines that are redrawn in place.
    Live,
    /// Not at all.
    None,
}

/// What is printed while something runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MessageFormat {
    /// No events; progress for people on standard error.
    Human,
    /// A line of JSON for each event.
    Json,
}

/// What the new table contains, and what else is written.
#[derive(Debug, Args)]
pub(crate) struct Init {
    #[command(flatten)]
    pub(crate) settings: Flags<{ SELECTION | POLICY | RUNS }>,

    #[command(flatten)]
    pub(crate) filter: Filter,

    /// Try the benchmarks for at most this long; `0s` skips the trial
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = STOPPING)]
    pub(crate) try_for: String,

    /// Also write a CI workflow that compares pull requests
    #[arg(long, value_enum, value_name = "KIND", help_heading = OUTPUT)]
    pub(crate) ci: Option<Service>,

    /// With --ci: divide each comparison among this many machines
    #[arg(long, value_name = "N", requires = "ci", value_parser = clap::value_parser!(u64).range(2..=256),
          help_heading = OUTPUT)]
    pub(crate) shards: Option<u64>,

    /// With --ci github: compare a pull request on this event
    #[arg(long, value_enum, value_name = "EVENT", default_value = "push", requires = "ci",
          help_heading = OUTPUT)]
    pub(crate) on: Trigger,

    /// With --ci github: instead write a workflow that compares the default branch
    /// with yesterday's each night, and opens an issue after a regression
    #[arg(long, requires = "ci", conflicts_with_all = ["shards", "on"], help_heading = OUTPUT)]
    pub(crate) watch: bool,

    /// Write nothing; print the changes as a patch
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) dry_run: bool,
}

/// Where pull requests are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Service {
    /// GitHub Actions: `.github/workflows/cbdr.yml`.
    Github,
    /// GitLab CI: `.gitlab/cbdr.yml`, to be included.
    Gitlab,
    /// Buildkite: `.buildkite/cbdr.yml`, to be uploaded.
    Buildkite,
    /// Slurm: a script that submits an array, `ci/cbdr-slurm.sh`.
    Slurm,
    /// Kubernetes: an indexed job and its verdict, `ci/cbdr-kubernetes.yml`.
    Kubernetes,
    /// Anything else: a shell script, `ci/cbdr.sh`.
    Script,
}

/// What starts the comparison of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Trigger {
    /// Each push.
    Push,
    /// The comment `/bench` by somebody with write access.
    Comment,
    /// The label `bench`, and each push while it is set.
    Label,
}

/// What to do with the pre-push hook.
#[derive(Debug, Subcommand)]
pub(crate) enum HookAction {
    /// Make git compare each branch with its merge-base before it is pushed
    ///
    /// A regression stops the push, and so does a branch that can't be compared;
    /// `git push --no-verify` pushes anyway. An existing hook is kept and runs
    /// first.
    Install(HookArgs),
    /// Remove the hook and restore the previous one
    ///
    /// Removes only the lines that `hook install` wrote.
    Uninstall,
    /// Compare the branches that git is about to push; called by the hook
    #[command(hide = true)]
    Run(HookArgs),
}

/// How the branches of a push are compared.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// Sample all branches of a push for at most this long, in total [default: 1m]
    #[arg(long, value_name = "TIME", help_heading = STOPPING)]
    pub(crate) time_limit: Option<Written<Time>>,

    /// More arguments for `cargo cbdr compare`
    #[arg(last = true, value_name = "ARGS", help_heading = BENCHMARK)]
    pub(crate) args: Vec<String>,
}

/// What to do with the cache.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheAction {
    /// List what is cached for each repository, most recently used first
    List,
    /// Remove this repository's builds, worktrees and target folders
    ///
    /// All of it can be rebuilt. Whatever a running comparison uses is kept.
    Clean {
        /// Clean all repositories
        #[arg(long, help_heading = CACHE)]
        all: bool,
    },
}

/// Report what this machine can measure, and how precisely
///
/// Lists what is known about the machine and its meters, and measures its
/// noise: a built-in program against itself, in pairs.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Measure the noise for this long
    #[arg(long, value_name = "TIME", default_value = "20s", help_heading = STOPPING)]
    pub(crate) time_limit: Written<Time>,

    /// Print the result in this format
    #[arg(long, value_enum, default_value_t = Printed::Human, help_heading = OUTPUT)]
    pub(crate) format: Printed,
}

/// The arguments, without the `cbdr` that cargo adds when it calls us.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut args: Vec<OsString> = args.collect();
    if args.get(1).is_some_and(|first| first == "cbdr") {
        args.remove(1);
    }
    Cli::try_parse_from(args).map_err(with_right_tips)
}

/// Corrects the tip to pass an unknown argument behind `--`, where that goes to the benchmark.
fn with_right_tips(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    if !argument.starts_with('-') && usage.contains("compare") {
        let tip = format!("to compare '{argument}' instead of HEAD, use '--head {argument}'");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return error;
    }
    let right = if argument.starts_with('-') && argument[1..].starts_with(char::is_numeric) {
        "only `--nice` takes a negative number".to_owned()
    } else if usage.contains("<ARGS>") {
        format!("to pass '{argument}' to the benchmark, use '-- {argument}'")
    } else {
        return error;
    };
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        for tip in tips.iter_mut().filter(|tip| tip.to_string().starts_with("to pass ")) {
            *tip = (&right).into();
        }
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// Prints what is wrong with them, or the help: in colours, unless it quotes what
/// a terminal would obey.
pub(crate) fn print(error: &clap::Error) {
    let plain = error.render().to_string();
    let cleaned = text::clean(&plain);
    let _ = match cleaned == plain {
        true => error.print(),
        false => writeln!(std::io::stderr().lock(), "{}", cleaned.trim_end()),
    };
}

/// Arguments of `compare` alone.
pub(crate) fn compare(args: &[String]) -> Result<Compare, clap::Error> {
    let words = ["cargo cbdr", "compare"].into_iter().chain(args.iter().map(String::as_str));
    match Cli::try_parse_from(words)?.command {
        CliCommand::Compare(compare) => Ok(*compare),
        _ => Err(Cli::command().error(ErrorKind::InvalidSubcommand, "not `compare`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_option_has_a_heading_and_a_help_in_our_style() {
        let cli = Cli::command();
        let all = cli.get_subcommands().flat_map(|c| std::iter::once(c).chain(c.get_subcommands()));
        let subcommands = all.flat_map(|command| command.get_arguments());
        for arg in subcommands.filter(|arg| arg.get_id() != "help") {
            let name = arg.get_id();
            assert!(arg.get_help_heading().is_some(), "{name} has no heading");
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.starts_with(char::is_uppercase) && !help.ends_with('.'), "{name}: {help}");
        }
    }

    #[test]
    fn every_help_fits_80_columns_and_what_is_explained_is_shown() {
        let mut cli = Cli::command();
        cli.build();
        let all = cli.get_subcommands().flat_map(|c| std::iter::once(c).chain(c.get_subcommands()));
        for command in std::iter::once(&cli).chain(all) {
            for help in [command.clone().render_help(), command.clone().render_long_help()] {
                let help = help.to_string();
                let too_long = help.lines().find(|line| line.chars().count() > 80);
                assert_eq!(too_long, None, "{}", command.get_name());
            }
        }
        for name in ["compare", "init", "sample", "analyze", "plot", "bisect", "doctor"] {
            let command = cli.find_subcommand(name).unwrap();
            assert!(command.get_long_about().is_some(), "{name}");
        }
    }

    #[test]
    fn an_option_without_effect_is_an_error_and_not_ignored() {
        for (line, other) in [
            ("compare --aa --repeat 2 --fail-on inconclusive", "--fail-on"),
            ("compare --aa --repeat 2 --explain", "--explain"),
            ("compare --shard-by pairs", "--shard"),
            ("plot a.csv --threshold 2%", "--html"),
            ("plot a.csv --confidence 99%", "--html"),
            ("plot a.csv --estimator mean --vega", "--vega"),
        ] {
            let words = format!("cargo-cbdr {line}");
            let error = parse(words.split(' ').map(OsString::from)).unwrap_err().to_string();
            assert!(error.contains(other), "{line}: {error}");
        }
    }

    #[test]
    fn who_names_both_sides_learns_of_the_option_for_the_head() {
        let words = ["cargo-cbdr", "compare", "main", "feature"].map(OsString::from);
        let error = parse(words.into_iter()).unwrap_err().to_string();
        assert!(error.contains("'--head feature'"), "{error}");
    }

    #[test]
    fn both_ways_of_calling_are_the_same() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for line in ["cargo-cbdr compare main --dirty", "cargo-cbdr cbdr compare main --dirty"] {
            let CliCommand::Compare(compare) = parse(words(line).into_iter()).unwrap().command
            else {
                panic!("{line}");
            };
            assert_eq!(
                (compare.settings.0.base.as_deref(), compare.sides.dirty),
                (Some("main"), true)
            );
        }
    }
}
