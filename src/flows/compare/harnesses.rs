//! What the user should know about how the two sides of a benchmark are measured.

use crate::exec::harness;
use crate::model::{
    BenchmarkNotice, DEFAULT_METRIC, Dialect, Notice, Pair, Reading, Side, TargetKind,
};
use crate::settings::options::Subject;
use crate::workspace::{Prepared, SourceFile};

/// Strings in the source of a benchmark that measures times itself: with the standard
/// library, or with libraries whose results can't be parsed here.
const TIMING: [&str; 7] =
    ["Instant", "SystemTime", "brunch", "easybench", "glassbench", "microbench", "tiny_bench"];

/// Checks that both sides are measured in the same way, and in a meaningful one.
pub(super) fn notices(prepared: &Prepared, dialects: Pair<Dialect>) -> Vec<Notice> {
    let mut notices = Vec::new();
    if dialects.base != dialects.head {
        notices.push(BenchmarkNotice::HarnessesDiffer { dialects });
    }
    let used = |library: &&str| {
        Side::BOTH.into_iter().any(|side| dialects[side].libraries().contains(library))
    };
    for library in harness::libraries().into_iter().filter(used) {
        let versions = Pair::both(|side| {
            let versions = prepared.libraries[side].get(library).into_iter().flatten();
            versions.cloned().collect::<Vec<_>>()
        });
        if versions.base != versions.head {
            let library = library.to_owned();
            notices.push(BenchmarkNotice::HarnessChanged { library, versions });
        }
    }
    notices.extend(own_timing(prepared, dialects.head));
    notices.into_iter().map(|notice| notice.about(&prepared.benchmark.name)).collect()
}

/// A warning about a bench target whose whole process is measured because its harness is
/// unknown. Benchmarks usually repeat until they have measured long enough, and then the
/// time of the process does not depend on the code. That can't be seen from outside,
/// because a benchmark with a fixed amount of work may take a constant time, too. So the
/// source is searched; `--harness plain` states that the process is meant.
fn own_timing(prepared: &Prepared, dialect: Dialect) -> Option<BenchmarkNotice> {
    let benchmark = &prepared.benchmark;
    let is_bench = matches!(&benchmark.subject,
        Subject::Target(target, _) if target.kind == TargetKind::Bench);
    if dialect != Dialect::Plain || benchmark.harness.is_some() || !is_bench {
        return None;
    }
    let source = prepared.source.as_ref()?;
    let word = timing_word(&read(source))?.to_owned();
    Some(BenchmarkNotice::OwnTiming { word, path: source.inside.display().to_string() })
}

/// The first of the strings in a source, outside of line comments.
fn timing_word(source: &str) -> Option<&'static str> {
    let words =
        || code(source).flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
    TIMING.into_iter().find(|timing| words().any(|word| word == *timing))
}

/// The lines of a source, without the comments at their ends.
fn code(source: &str) -> impl Iterator<Item = &str> {
    source.lines().map(|line| line.split("//").next().unwrap_or_default())
}

/// The text of a source; empty if it can't be read.
pub(super) fn read(source: &SourceFile) -> String {
    std::fs::read_to_string(&source.path).unwrap_or_default()
}

/// Calls with which a benchmark's code sets its own times. In criterion, those of a
/// group override the command line.
const OWN_TIMES: [&str; 3] = [".measurement_time(", ".sample_size(", ".warm_up_time("];

/// Where a source sets its own times, each as file and line.
pub(super) fn own_times(source: &SourceFile) -> Vec<String> {
    let file = source.inside.display();
    own_times_in(&read(source)).into_iter().map(|line| format!("{file}:{line}")).collect()
}

/// The lines, counted from 1.
fn own_times_in(text: &str) -> Vec<usize> {
    let sets = |line: &str| {
        // That is the least number, and the one on the command line.
        let line = line.replace(".sample_size(10)", "");
        OWN_TIMES.iter().any(|call| line.contains(call))
    };
    code(text).enumerate().filter(|(_, line)| sets(line)).map(|(number, _)| number + 1).collect()
}

/// Whether a source configures criterion to measure for less than a second, judging by
/// its text. Old versions of criterion do so unless the command line overrides it.
pub(super) fn asks_for_short_runs(text: &str) -> bool {
    let code: String = code(text).collect();
    let configures = code.split(';').any(|statement| {
        let configuration = statement.split_once("Criterion::default()");
        configuration.is_some_and(|(_, calls)| calls.contains(".measurement_time("))
    });
    configures && ["from_millis(", "from_micros("].iter().any(|unit| code.contains(unit))
}

/// Whether a source sets how many iterations a sample of divan has, judging by its text.
pub(super) fn sets_sample_size(text: &str) -> bool {
    code(text).any(|line| line.contains("sample_size"))
}

/// A warning about a benchmark that is so short, compared with the harness's resolution,
/// that a change beyond the threshold may not show.
pub(super) fn coarse(
    benchmark: &str,
    reading: &Reading,
    limit: f64,
    (step, dialect): (f64, Dialect),
) -> Option<Notice> {
    let value = reading.values.get(DEFAULT_METRIC)?;
    let step = step / value;
    let notice = BenchmarkNotice::Coarse { value, step, dialect };
    (step > limit).then(|| notice.about(benchmark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Values;

    #[test]
    fn a_source_that_takes_times_has_a_word_for_it() {
        let table = [
            ("use std::time::{Duration, Instant};", Some("Instant")),
            ("let start = std::time::SystemTime::now();", Some("SystemTime")),
            ("benches!(brunch::Bench::new(\"a\"));", Some("brunch")),
            ("// An Instant lasts.\nfn main() {}", None),
            ("fn main() { std::thread::sleep(Duration::from_millis(1)); } // Instant", None),
            ("struct Instantly; fn crunch() {}", None),
        ];
        for (source, expected) in table {
            assert_eq!(timing_word(source), expected, "{source}");
        }
    }

    #[test]
    fn the_lines_that_set_times_are_named() {
        let text = "let mut group = c.benchmark_group(\"a\");\n\
                    group.measurement_time(Duration::from_secs(10));\n\
                    // group.sample_size(10);\n\
                    group\n    .sample_size(500)\n    .warm_up_time(x);\n\
                    group.sample_size(10);\n";
        assert_eq!(own_times_in(text), [2, 5, 6]);
    }

    #[test]
    fn only_a_configuration_can_ask_for_shorter_runs_than_the_command_line() {
        let table = [
            ("config = Criterion::default().measurement_time(Duration::from_millis(100));", true),
            (
                "Criterion::default()\n    .sample_size(10)\n    .measurement_time(SHORT);\n\
              const SHORT: Duration = Duration::from_millis(50);",
                true,
            ),
            ("config = Criterion::default().measurement_time(Duration::from_secs(10));", false),
            ("config = Criterion::default(); group.measurement_time(from_millis(5));", false),
            ("// Criterion::default().measurement_time(Duration::from_millis(100));", false),
        ];
        for (text, expected) in table {
            assert_eq!(asks_for_short_runs(text), expected, "{text}");
        }
    }

    #[test]
    fn code_that_sets_the_number_of_iterations_in_a_sample_is_recognised() {
        assert!(sets_sample_size("#[divan::bench(\n    sample_size = 1,\n)]"));
        assert!(!sets_sample_size("#[divan::bench] // sample_size = 1\nfn a() {}"));
    }

    #[test]
    fn whole_nanoseconds_are_too_coarse_for_short_benchmarks() {
        let reading = |time: f64| Reading {
            benchmark: Some("a".to_owned()),
            values: Values::from_iter([("wall_time", time)]),
            amount: None,
        };
        let step = (1e-9, Dialect::Bencher);
        let is_coarse = |time| coarse("a", &reading(time), 0.02, step).is_some();
        assert!(is_coarse(49e-9));
        assert!(!is_coarse(51e-9));
        assert!(is_coarse(0.0));
    }
}
