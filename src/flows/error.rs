//! Why a subcommand has no result, although all programs ran.

use crate::error::{Advise, Failure, Help};
use crate::exec::meter;
use crate::exec::process::FailedRun;
use crate::model::{Dialect, Removed};
use crate::settings;
use crate::settings::options::Benchmark;

/// Why there is no result, as far as searches for commits tell it from other reasons.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FlowError {
    #[error("the head of `{benchmark}` reports no benchmark (harness {harness})")]
    NoBenchmark { benchmark: String, harness: &'static str, filter: Option<String> },
    #[error("nothing is left to decide: the head no longer measures {}", list(.0))]
    AllRemoved(Vec<Removed>),
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

/// What to do where a harness reports nothing of a process.
pub(super) const MEASURED_WHOLE: &str = "use `--harness plain` to measure the process itself";

/// What to do where Rust's own harness finds nothing in a program, which measures nothing, either.
const EMPTY: &str = "mark its functions with `#[bench]`, or enable the `--features` with which it is \
    compiled; if it uses another harness, its `[[bench]]` section needs `harness = false`";

impl Advise for FlowError {
    fn advice(&self) -> Option<Help> {
        match self {
            Self::NoBenchmark { filter: Some(filter), .. } => Help::hint(format!(
                "no name matches the filter `{filter}`; without `--filter`, all benchmarks are run"
            )),
            Self::NoBenchmark { harness, .. } if *harness == Dialect::Libtest.name() => {
                Help::next_step(EMPTY)
            }
            Self::NoBenchmark { .. } => Help::next_step(MEASURED_WHOLE),
            Self::AllRemoved(_) => Help::next_step(
                "measure it again, or choose with `--metric` what decides instead; if a table \
                 names it, `--policy-from head` uses the head's table",
            ),
        }
    }
}

/// The error that no program of a comparison has benchmarks which a filter could select.
pub(super) fn no_filter(filter: &str) -> Failure {
    let filtering = Dialect::ALL.into_iter().filter(|dialect| dialect.filters());
    let step = format!(
        "leave out `--filter`: the harnesses that support filters are {}",
        settings::error::list(filtering)
    );
    Failure::new(format!("no benchmark here can be filtered (`--filter {filter}`)"), step)
}

/// The error that a command failed.
pub(super) fn failed_command(
    label: &str,
    FailedRun { fault, command, stderr }: FailedRun,
) -> Failure {
    let help = fault.help(&stderr, "run the command by hand: it has to exit with code 0");
    Failure::with(format!("`{label}` {fault}: `{command}`"), help).of_output(stderr)
}

/// The error that a benchmark does not measure a metric, but these.
pub(super) fn no_metric(benchmark: &str, metric: &str, measured: &[String]) -> Failure {
    let step = other_metric(metric, measured, "it measures");
    Failure::new(format!("no run of `{benchmark}` measured `{metric}`"), step)
}

/// The hint for a metric that is not among `there`: the name of a metric that it
/// resembles, including those that have to be requested; else the existing names.
pub(super) fn other_metric(metric: &str, there: &[String], words: &str) -> String {
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
    fn every_error_ends_with_advice() {
        let no_benchmark = |filter: Option<&str>| FlowError::NoBenchmark {
            benchmark: String::new(),
            harness: "divan",
            filter: filter.map(str::to_owned),
        };
        each_leads_somewhere(vec![
            no_benchmark(None).into(),
            no_benchmark(Some("a")).into(),
            FlowError::AllRemoved(vec![]).into(),
            no_filter("a").into(),
            no_metric("a", "x", &["y".to_owned()]).into(),
            no_metric("a", "wal_time", &["wall_time".to_owned()]).into(),
        ]);
    }
}
