//! The names of benchmarks and of their sides.

use cargo_cbdr::model::{BenchmarkResult, Pair, Status};

use super::escape::line;
use crate::ui::text;

/// The names of a benchmark's sides: their labels, without the benchmark's name.
pub(crate) fn sides(benchmark: &BenchmarkResult) -> Pair<String> {
    let Some(labels) = &benchmark.labels else {
        return Pair { base: "base".to_owned(), head: "head".to_owned() };
    };
    let prefix = format!("{}/", benchmark.name);
    labels.as_ref().map(|label| line(label.strip_prefix(&prefix).unwrap_or(label)))
}

/// The names of the benchmarks of a status, each as `shown`; `None` if there are none.
pub(crate) fn names(
    benchmarks: &[BenchmarkResult],
    status: Status,
    shown: impl Fn(&str) -> String,
) -> Option<String> {
    let all: Vec<_> = benchmarks.iter().filter(|one| one.status == status).collect();
    (!all.is_empty()).then(|| text::first_few(all.iter().map(|benchmark| shown(&benchmark.name))))
}
