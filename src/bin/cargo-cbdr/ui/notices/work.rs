//! The words of notices about what the runs were given to do.

use cargo_cbdr::model::notice::RunNotice;
use cargo_cbdr::model::side::Side;

/// The notice in a sentence, without a full stop.
pub(super) fn work(work: &RunNotice) -> String {
    match work {
        RunNotice::BenchChanged { benchmark, path } => format!(
            "the benchmark `{benchmark}` itself changed between the sides, in {path} \
             (`--bench-from head` or `base` gives both the same)"
        ),
        RunNotice::BenchFrom { side, folders, differing } => {
            bench_from(*side, folders, differing.as_deref())
        }
        RunNotice::OutputDiffers { benchmark, line } => format!(
            "the two sides of `{benchmark}` do not print the same: line {line} of standard \
             output differs, so perhaps they do not do the same work"
        ),
        RunNotice::OutputVaries { benchmark, side, line } => format!(
            "the {side} of `{benchmark}` prints something else each time, in line {line}: \
             whether both sides do the same work can't be told from it"
        ),
        RunNotice::Repeated { benchmark, runs } => format!(
            "a run of `{benchmark}` is too short for the clock of what decides: a measurement \
             is the mean of {runs} runs"
        ),
        RunNotice::StillCached { benchmark, file, share } => format!(
            "{:.0} % of {} stays in the page cache, so `{benchmark}` does not start cold",
            100.0 * share,
            file.display()
        ),
    }
}

fn bench_from(side: Side, folders: &[String], differing: Option<&str>) -> String {
    let folders: Vec<_> = folders.iter().map(|folder| format!("`{folder}`")).collect();
    let differing = differing
        .map_or(String::new(), |path| format!("; the {} differs there, in {path}", side.other()));
    let folders = folders.join(", ");
    format!("both sides have {folders} of the {side}, but each its own Cargo.toml{differing}")
}
