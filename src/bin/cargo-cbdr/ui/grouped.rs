//! Notices as lines: the same notice for several benchmarks becomes one line with their names.

use cargo_cbdr::model::noise::Finding;
use cargo_cbdr::model::notice::{Notice, Remark, RunNotice, Weight};
use cargo_cbdr::model::outcome::Verdict;
use cargo_cbdr::stats::estimator::TAIL;

use super::notices::{notice, these};
use super::text::{first_few, line};
use super::verbosity::verbosity;

/// A line, and its weight.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoticeLine {
    pub(crate) weight: Weight,
    /// A sentence without a full stop.
    pub(crate) text: String,
}

impl NoticeLine {
    /// What kind of notice it is: `warning`.
    pub(crate) fn kind(&self) -> &'static str {
        match self.weight {
            Weight::Warning => "warning",
            Weight::Note | Weight::Detail => "note",
        }
    }
}

/// The notices, warnings first, and those of the same kind together. Details are left out
/// without `--verbose`.
pub(crate) fn lines<'a>(notices: impl IntoIterator<Item = &'a Notice>) -> Vec<NoticeLine> {
    let mut groups: Vec<Vec<&Notice>> = Vec::new();
    for notice in notices {
        if notice.weight() == Weight::Detail && !verbosity().is_verbose {
            continue;
        }
        let kind = Kind::of(notice).map(|kind| kind.what);
        let same = groups
            .iter_mut()
            .find(|group| kind.is_some() && Kind::of(group[0]).map(|other| other.what) == kind);
        match same {
            Some(group) => group.push(notice),
            None => groups.push(vec![notice]),
        }
    }
    let mut lines: Vec<NoticeLine> = groups.iter().map(|group| text(group)).collect();
    lines.sort_by_key(|line| line.weight != Weight::Warning);
    lines
}

/// The text of notices of one kind.
fn text(group: &[&Notice]) -> NoticeLine {
    let weight = group[0].weight();
    let kinds: Vec<Kind<'_>> = group.iter().filter_map(|notice| Kind::of(notice)).collect();
    let text = match kinds.as_slice() {
        [first, _, ..] => {
            let is_one_metric = kinds.iter().all(|kind| kind.metric == first.metric);
            let name = |kind: &Kind<'_>| match kind.metric.filter(|_| !is_one_metric) {
                Some(metric) => format!("`{}` of `{}`", line(metric), line(kind.benchmark)),
                None => format!("`{}`", line(kind.benchmark)),
            };
            format!("{}: {}", first.what, first_few(kinds.iter().map(name)))
        }
        _ => notice(group[0]),
    };
    NoticeLine { weight, text }
}

/// What several notices can have in common.
struct Kind<'a> {
    /// The common text.
    what: String,
    benchmark: &'a str,
    metric: Option<&'a str>,
}

impl<'a> Kind<'a> {
    /// The kind of a notice about one benchmark; `None` if it is never grouped.
    fn of(notice: &'a Notice) -> Option<Self> {
        let (what, benchmark) = match notice {
            Notice::Metric { benchmark, metric, remark } => {
                let what = of_remark(remark)?;
                return Some(Kind { what, benchmark, metric: Some(metric) });
            }
            Notice::Run(notice) => of_run(notice)?,
            Notice::NoBaseline { benchmark, why } => (format!("no baseline ({why})"), benchmark),
            Notice::LeftOut { benchmark, why } => (format!("left out, because {why}"), benchmark),
            Notice::New { benchmark } => ("new: the base does not have them".into(), benchmark),
            Notice::OneSided { benchmark, metric, side } => {
                (format!("only the {side} measures `{metric}`"), benchmark)
            }
            Notice::OnlyBase { benchmark } => {
                ("no longer on the head, and none of their metrics gate".into(), benchmark)
            }
            Notice::Identical { benchmark, moved: 0 } => {
                ("the same program on both sides: nothing can have changed".into(), benchmark)
            }
            Notice::Identical { benchmark, .. } => {
                let what = "the same program on both sides, except for line numbers in panic \
                    messages: nothing can have changed";
                (what.into(), benchmark)
            }
            Notice::SameProgram { benchmark, why } => {
                (format!("the same program on both sides, but measured: {why}"), benchmark)
            }
            Notice::NotMeasured { benchmark, why, hint } => {
                let hint = hint.as_ref().map_or(String::new(), |hint| format!("; {hint}"));
                (format!("{why}{hint}"), benchmark)
            }
            Notice::NotLinked { benchmark, why } => {
                let what = format!(
                    "can't be linked with their functions in another order ({why}); copies of them \
                     in other pages of memory are used instead, which vary only a part of the \
                     placement"
                );
                (what, benchmark)
            }
            Notice::LeftBehind { benchmark, .. } => {
                ("left processes running, which were killed".into(), benchmark)
            }
            _ => return None,
        };
        Some(Kind { what, benchmark, metric: None })
    }
}

fn of_remark(remark: &Remark) -> Option<String> {
    let what = match remark {
        Remark::Warned { .. } => "pass, but changed by more than the warning level",
        // Each has a reason of its own.
        Remark::Waived { .. } | Remark::Longer { .. } => return None,
        Remark::SmallChange => "regressions below 5%, which code placement alone can cause",
        Remark::Placement { over, .. } if over.verdict == Verdict::NoRegression => {
            "slower as built, but not over other layouts of the code: placement, not your change"
        }
        Remark::Placement { .. } => {
            "slower as built, and undecided over other layouts of the code: it may be placement; \
             a longer `--time-limit` would decide"
        }
        Remark::Tail { .. } => {
            return Some(format!(
                "rare slow runs change the average more than the typical run; an average may change \
                 by {TAIL} times the threshold (in JSON, its change is divided by {TAIL})"
            ));
        }
        Remark::Ties { .. } => {
            "many pairs changed by exactly the threshold and count for neither verdict"
        }
        Remark::Noise(found) => of_finding(found),
        Remark::Earlier { estimator, .. } => {
            return Some(format!(
                "`--estimator {estimator}` would have needed less than half of the pairs"
            ));
        }
    };
    Some(what.to_owned())
}

fn of_finding(found: &Finding) -> &'static str {
    match found {
        Finding::Outliers { .. } => {
            "outliers cause most of the variance; a median needs fewer pairs than a mean \
             (`--estimator median`), but misses a change of these runs alone"
        }
        Finding::Skewed { .. } => {
            "a few pairs are far off on one side, so the average change is not the typical one; a \
             mean estimates the former, a median the latter (`--estimator`)"
        }
        Finding::TwoKinds { .. } => {
            "the runs come in two kinds; look for what varies from run to run, such as the core, \
             the memory layout or a cache"
        }
        Finding::Drift { .. } => {
            "the values of both sides drifted while sampling; check what else the machine is \
             doing, and whether it gets hot"
        }
        Finding::DifferenceDrift { .. } => {
            "the change drifted while sampling; a longer warm-up (`--warmup`) or a second \
             comparison shows which value lasts"
        }
        Finding::Slot { .. } => {
            "the second run of a pair differs from the first; make sure that no run leaves files, \
             processes or full caches behind"
        }
        Finding::Correlated { .. } => {
            "each pair resembles the one before, so the verdict is less certain than stated; \
             repeat the comparison, on a quieter machine if possible"
        }
        Finding::NotNormal { .. } => {
            "the differences are far from normal; a median may need far fewer pairs than a mean \
             (`--estimator median`)"
        }
    }
}

fn of_run(notice: &RunNotice) -> Option<(String, &String)> {
    let (what, benchmark) = match notice {
        RunNotice::HarnessChanged { benchmark, library, versions } => {
            let what = format!(
                "the harness `{library}` is {} on the base and {} on the head: a change may come \
                 from the harness",
                these(&versions.base),
                these(&versions.head)
            );
            return Some((what, benchmark));
        }
        RunNotice::HarnessesDiffer { benchmark, dialects } => {
            let what = format!(
                "the harness is {} on the base and {} on the head: a change may come from the \
                 harness",
                dialects.base, dialects.head
            );
            return Some((what, benchmark));
        }
        RunNotice::Coarse { benchmark, dialect, .. } => {
            let what = format!(
                "so short that small changes may not be seen, since {dialect} reports whole \
                 nanoseconds"
            );
            return Some((what, benchmark));
        }
        RunNotice::BenchChanged { benchmark, .. } => (
            "the sources of the benchmarks themselves differ between the sides (`--bench-from \
             head` or `base` uses the same ones for both)",
            benchmark,
        ),
        RunNotice::OwnTiming { benchmark, .. } => (
            "the processes are measured, since no harness is known, but the sources measure times \
             themselves: print what they measure as JSON (`--harness json`), or confirm that the \
             process is meant (`--harness plain`)",
            benchmark,
        ),
        RunNotice::OwnTimes { benchmark, .. } => (
            "pairs take long, because the code sets measurement times of its own, which override \
             the command line",
            benchmark,
        ),
        RunNotice::OutputDiffers { benchmark, .. } => {
            ("the two sides print different output, so they may not do the same work", benchmark)
        }
        RunNotice::OutputVaries { benchmark, .. } => (
            "the output varies from run to run, so it can't show whether both sides do the same \
             work",
            benchmark,
        ),
        RunNotice::Repeated { benchmark, .. } => (
            "runs are too short for the clock of the gating metric: each measurement is the mean \
             of several runs",
            benchmark,
        ),
        RunNotice::BenchFrom { .. } | RunNotice::NamesVary { .. } => return None,
    };
    Some((what.to_owned(), benchmark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outliers(benchmark: &str, metric: &str) -> Notice {
        let found = Finding::Outliers { one_in: 9.0, share: 0.9 };
        Notice::Metric {
            benchmark: benchmark.to_owned(),
            metric: metric.to_owned(),
            remark: Remark::Noise(found),
        }
    }

    fn new(number: u32) -> Notice {
        Notice::New { benchmark: format!("b{number}") }
    }

    #[test]
    fn the_same_of_several_is_one_line_and_warnings_come_first() {
        let mut notices: Vec<Notice> = (1..=7).map(new).collect();
        notices.extend([outliers("parse", "wall_time"), outliers("print", "wall_time")]);
        let lines = lines(&notices);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0].kind(), "warning");
        assert!(lines[0].text.starts_with("outliers cause most of the variance; "), "{lines:?}");
        assert!(lines[0].text.ends_with(": `parse` and `print`"), "{lines:?}");
        let expected =
            "new: the base does not have them: `b1`, `b2`, `b3`, `b4`, `b5` and 2 others";
        assert_eq!((lines[1].kind(), lines[1].text.as_str()), ("note", expected));
    }

    #[test]
    fn one_alone_keeps_its_numbers_and_metrics_are_named_where_they_differ() {
        let alone = lines(&[outliers("parse", "wall_time"), new(1)]);
        assert!(alone[0].text.contains("1 pair in 9 is an outlier"), "{alone:?}");
        assert_eq!(alone[1].text, "`b1` is new: the base does not have it");
        let several = lines(&[outliers("parse", "wall_time"), outliers("parse", "cpu_time")]);
        assert!(several[0].text.ends_with(": `wall_time` of `parse` and `cpu_time` of `parse`"));
    }

    #[test]
    fn details_are_for_verbose() {
        let remark = Remark::Earlier {
            estimator: cargo_cbdr::model::estimator::Estimator::Median,
            needed: 3,
            pairs: 9,
        };
        let (benchmark, metric) = ("parse".to_owned(), "wall_time".to_owned());
        assert_eq!(lines(&[Notice::Metric { benchmark, metric, remark }]), []);
    }
}
