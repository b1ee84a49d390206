//! Why a subcommand has no result, although all programs ran.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Advise, Help};
use crate::exec::error::port_hint;
use crate::exec::meter;
use crate::exec::process::{Exit, RunFault};
use crate::model::{Dialect, Removed, Side, time};
use crate::settings;
use crate::settings::options::Benchmark;
use crate::workspace::git::abbreviated;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FlowError {
    #[error(
        "a run of the {side} of `{benchmark}` does not report {what}, although an earlier run did"
    )]
    Omitted { side: Side, benchmark: String, what: String },
    #[error("the head of `{benchmark}` reports no benchmark (harness {harness})")]
    NoBenchmark { benchmark: String, harness: &'static str, filter: Option<String> },
    #[error(
        "`{metric}` measures a process, but `{benchmark}` measures its benchmarks one by one \
        (harness {harness})"
    )]
    OfProcess { benchmark: String, metric: String, harness: &'static str },
    #[error("`{metric}` of the benchmarks of `{benchmark}` can't be counted (harness {harness})")]
    Uncounted { benchmark: String, metric: String, harness: &'static str },
    #[error("no benchmark here can be filtered (`--filter {0}`)")]
    NoFilter(String),
    #[error("could not listen for signals")]
    Listen(#[source] io::Error),
    #[error("`{label}` {fault}: `{command}`")]
    Command { label: String, fault: RunFault, command: String, stderr: String },
    #[error("there is no metric `{metric}`")]
    UnknownMetric { metric: String, known: Vec<String> },
    #[error("no run of `{benchmark}` measured `{metric}`")]
    NoMetric { benchmark: String, metric: String, measured: Vec<String> },
    #[error("the outputs of `{benchmark}` can't be compared: {why}")]
    Output { benchmark: String, why: String },
    #[error("nothing is left to decide: the head no longer measures {}", list(.0))]
    AllRemoved(Vec<Removed>),
    #[error("the waiver of `{metric}` has no effect: {why}")]
    Waiver { metric: String, why: String },
    #[error(
        "{least} pairs{}, the minimum for a verdict, take about {}, longer than the time limit of \
         {}",
        shortest_of(*.benchmarks, .shortest, *.together), time::estimate(*.needed),
        time::duration(*.limit)
    )]
    LimitTooShort {
        least: u64,
        benchmarks: usize,
        /// The benchmark that takes the least time.
        shortest: String,
        /// How many benchmarks share its runs, itself included.
        together: usize,
        /// The time that it needs.
        needed: Duration,
        limit: Duration,
        /// The version of the harness with which runs could be much shorter.
        newer: Option<&'static str>,
    },
    #[error(
        "no verdict is possible over {number} layouts: at least {least} of each side are needed"
    )]
    TooFewLayouts { number: u32, least: u64 },
    #[error("shards by pairs give no verdict on the whole suite")]
    SuiteByPairs,
    #[error("no bench target can be tried: {0}")]
    NothingToTry(String),
    #[error("can't annotate: {0}")]
    Annotation(String),
    #[error("could not edit `{}`: {why}", .path.display())]
    Manifest { path: PathBuf, why: String },
    #[error("`{}` already has a table [{table}], which is not overwritten", .path.display())]
    Configured { path: PathBuf, table: String },
    #[error("the result can't be stored: {0}")]
    Unstorable(String),
    #[error("no result of {rev} ({}){place} is stored", abbreviated(.commit))]
    NoResult { rev: String, commit: String, place: &'static str, others: usize },
    #[error("could not {what} `{remote}`: `{command}` {exit}")]
    Remote { what: &'static str, remote: String, command: String, exit: Exit, stderr: String },
    #[error("the {which} commit can't be compared: {why}")]
    Bisect { which: &'static str, why: String },
    #[error("`{0}` is not a remote (a name or an address)")]
    RemoteName(String),
    #[error("not a single pair fitted into the time limit of {}", time::duration(*.0))]
    NoPair(Duration),
}

impl FlowError {
    pub(crate) fn no_benchmark(of: &Benchmark, dialect: Dialect, filter: Option<&str>) -> Self {
        let (benchmark, filter) = (of.name.clone(), filter.map(str::to_owned));
        FlowError::NoBenchmark { benchmark, harness: dialect.name(), filter }
    }
}

fn list(removed: &[Removed]) -> String {
    removed.iter().map(Removed::to_string).collect::<Vec<_>>().join(", ")
}

impl Advise for FlowError {
    fn advice(&self) -> Option<Help> {
        Help::next_step(match self {
            Self::NoBenchmark { filter: Some(filter), .. } => {
                return Help::hint(format!(
                    "no name matches the filter `{filter}`; without `--filter`, all benchmarks are run"
                ));
            }
            Self::NoFilter(_) => {
                let filtering = Dialect::ALL.into_iter().filter(|dialect| dialect.filters());
                return Help::hint(format!(
                    "leave out `--filter`: the harnesses that support filters are {}",
                    settings::error::list(filtering)
                ));
            }
            Self::Command { fault, stderr, .. } => {
                return Help::of(
                    fault.hint().or_else(|| port_hint(stderr)).map(str::to_owned),
                    "run the command by hand: it has to exit with code 0",
                );
            }
            Self::UnknownMetric { known, metric } => {
                return Help::hint(no_metric(metric, known, "there are"));
            }
            Self::NoMetric { measured, metric, .. } => {
                return Help::hint(no_metric(metric, measured, "it measures"));
            }
            Self::LimitTooShort { needed, benchmarks, newer, .. } => {
                return Help::hint(longer_limit(*needed, *benchmarks, *newer));
            }
            Self::TooFewLayouts { least, .. } => {
                return Help::hint(format!("use `--layouts {least}` or more, or `--layouts auto`"));
            }
            Self::NoResult { others: 1.., .. } => {
                return Help::hint(
                    "there are results from other machines: `--all-machines` includes them",
                );
            }
            Self::Output { .. } => {
                "let the benchmark write what should be equal into the file that CBDR_OUTPUT names"
            }
            Self::SuiteByPairs => {
                "divide by benchmarks, among no more machines than there are benchmarks, or use \
                 `--suite off`"
            }
            Self::Omitted { .. } => {
                "make every run report the same, or leave the benchmark out with `--filter`"
            }
            Self::NoBenchmark { .. } | Self::OfProcess { .. } => {
                "use `--harness plain` to measure the process itself"
            }
            Self::Uncounted { harness: "divan", .. } => {
                "make divan's `AllocProfiler` the global allocator of both sides' benchmarks, so \
                 that divan counts; if none of the benchmarks allocates, divan reports nothing"
            }
            Self::Uncounted { .. } => {
                "use `--harness plain` to count those of the whole process, without arguments of \
                 your own"
            }
            Self::Listen(_) => "run it again; if it fails again, please report it",
            Self::AllRemoved(_) => {
                "measure it again, or choose with `--metric` what decides instead; if a table \
                 names it, `--policy-from head` uses the head's table"
            }
            Self::Waiver { .. } => "correct it, or remove it from the head's table",
            Self::NothingToTry(_) => {
                "name a target with `--bench`, `--bin` or `--example`, or any program with \
                 `--command`"
            }
            Self::Annotation(_) => "see `cargo cbdr history annotate --help`",
            Self::Manifest { .. } => "edit the table by hand, as docs/configuration.md shows",
            Self::Configured { .. } => "edit that table; `cargo cbdr compare` uses it",
            Self::Unstorable(_) => "see `cargo cbdr history record --help`",
            Self::NoResult { .. } => "`cargo cbdr history record` measures one",
            Self::Remote { .. } => "check whether `git ls-remote` works for that remote",
            Self::Bisect { .. } => "choose another commit",
            Self::RemoteName(_) => "`git remote -v` lists the remotes",
            Self::NoPair(_) => "allow a longer `--time-limit`, or shorten the benchmark",
        })
    }

    fn child_output(&self) -> Option<&str> {
        match self {
            Self::Command { stderr, .. } | Self::Remote { stderr, .. } => Some(stderr),
            _ => None,
        }
    }
}

/// Pairs may take longer than they did when they were timed, by this factor.
pub(crate) const HEADROOM: f64 = 1.25;

/// A time limit with room for pairs that take so long: from two minutes on, whole minutes.
pub(crate) fn limit_for(needed: Duration) -> Duration {
    let wanted = (needed.as_secs_f64() * HEADROOM).ceil() as u64;
    Duration::from_secs(if wanted < 120 { wanted } else { wanted.next_multiple_of(60) })
}

/// What to do if the minimum number of pairs takes longer than the time limit. The suggested
/// limit has room for runs that take longer than the warm-up did.
fn longer_limit(needed: Duration, benchmarks: usize, newer: Option<&str>) -> String {
    let wanted = time::exact(limit_for(needed)).replace(' ', "");
    let hint = match benchmarks {
        1 => format!("allow `--time-limit {wanted}`, or shorten the benchmark"),
        _ => format!(
            "choose fewer benchmarks with `--bench` or `--filter`, or allow `--time-limit {wanted}` \
             or more"
        ),
    };
    match newer {
        Some(version) => {
            format!("{hint}; with {version} or later, a run takes milliseconds instead of seconds")
        }
        None => hint,
    }
}

/// Which of several benchmarks takes so long, with how many others.
fn shortest_of(benchmarks: usize, shortest: &str, together: usize) -> String {
    match (benchmarks, together) {
        (1, _) => String::new(),
        (all, 1) => format!(" of `{shortest}`, the shortest of {all} benchmarks"),
        (all, together) if together >= all => {
            format!(" of all {all} benchmarks, which only run together")
        }
        (all, together) => {
            let others = together - 1;
            format!(" of `{shortest}` and {others} that run with it, the shortest of {all}")
        }
    }
}

/// The hint for a metric that is not among `there`: the name of a metric that it
/// resembles, including those that have to be requested; else the existing names.
fn no_metric(metric: &str, there: &[String], words: &str) -> String {
    let others: Vec<String> = meter::all().map(|metric| metric.name).collect();
    let near = |names: &[String]| {
        settings::error::nearest(metric, names.iter().map(String::as_str)).map(str::to_owned)
    };
    // A text of one or two letters resembles many names.
    let nearest = near(there).or_else(|| near(&others).filter(|_| metric.len() > 3));
    match nearest {
        Some(nearest) if nearest != metric => format!("did you mean `{nearest}`?"),
        _ => format!("choose another metric: {words} {}", there.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::each_leads_somewhere;

    #[test]
    fn a_limit_that_is_too_short_names_one_that_will_do_and_what_else_helps() {
        let hour = Duration::from_secs(3600);
        assert_eq!(
            longer_limit(hour, 1, None),
            "allow `--time-limit 1h15m`, or shorten the benchmark"
        );
        assert_eq!(
            longer_limit(hour, 87, Some("criterion 0.4")),
            "choose fewer benchmarks with `--bench` or `--filter`, or allow `--time-limit 1h15m` or \
             more; with criterion 0.4 or later, a run takes milliseconds instead of seconds"
        );
    }

    #[test]
    fn a_limit_in_which_nothing_fits_names_what_takes_the_least() {
        let of = |benchmarks, together| shortest_of(benchmarks, "a", together);
        assert_eq!(of(1, 1), "");
        assert_eq!(of(30, 1), " of `a`, the shortest of 30 benchmarks");
        assert_eq!(of(30, 30), " of all 30 benchmarks, which only run together");
        assert_eq!(of(30, 3), " of `a` and 2 that run with it, the shortest of 30");
    }

    #[test]
    fn every_error_ends_with_advice() {
        let text = String::new;
        let (exit, time) = (Exit::Code(3), Duration::from_secs(1));
        let no_benchmark =
            |filter| FlowError::NoBenchmark { benchmark: text(), harness: "divan", filter };
        let no_result =
            |others| FlowError::NoResult { rev: text(), commit: text(), place: "", others };
        let errors = [
            FlowError::Omitted { side: Side::Head, benchmark: text(), what: text() },
            no_benchmark(None),
            no_benchmark(Some(text())),
            FlowError::OfProcess { benchmark: text(), metric: text(), harness: "divan" },
            FlowError::Uncounted { benchmark: text(), metric: text(), harness: "divan" },
            FlowError::Uncounted { benchmark: text(), metric: text(), harness: "bencher" },
            FlowError::NoFilter(text()),
            FlowError::Listen(io::ErrorKind::NotFound.into()),
            FlowError::Command {
                label: text(),
                fault: RunFault::Exit(exit),
                command: text(),
                stderr: text(),
            },
            FlowError::UnknownMetric { metric: "wal_time".into(), known: vec!["wall_time".into()] },
            FlowError::NoMetric {
                benchmark: text(),
                metric: "x".into(),
                measured: vec!["y".into()],
            },
            FlowError::Output { benchmark: text(), why: text() },
            FlowError::AllRemoved(vec![]),
            FlowError::Waiver { metric: text(), why: text() },
            FlowError::LimitTooShort {
                least: 9,
                benchmarks: 1,
                shortest: text(),
                together: 1,
                needed: time,
                limit: time,
                newer: None,
            },
            FlowError::TooFewLayouts { number: 1, least: 9 },
            FlowError::SuiteByPairs,
            FlowError::NothingToTry(text()),
            FlowError::Annotation(text()),
            FlowError::Manifest { path: "a".into(), why: text() },
            FlowError::Configured { path: "a".into(), table: text() },
            FlowError::Unstorable(text()),
            no_result(0),
            no_result(1),
            FlowError::Remote {
                what: "push the notes to",
                remote: text(),
                command: text(),
                exit,
                stderr: text(),
            },
            FlowError::Bisect { which: "good", why: text() },
            FlowError::RemoteName(text()),
            FlowError::NoPair(time),
        ];
        each_leads_somewhere(errors.map(crate::Error::from).into());
    }
}
