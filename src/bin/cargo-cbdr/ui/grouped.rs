//! Notices as lines: those that differ only in their subject share one sentence.

use std::fmt;

use cargo_cbdr::model::notice::{Notice, Weight};

use super::notices::sentence;
use super::text::{first_few, line};

/// A line, and its weight.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoticeLine {
    pub(crate) weight: Weight,
    /// A sentence without a full stop.
    pub(crate) text: String,
    pub(crate) is_advice: bool,
}

impl NoticeLine {
    /// `warning` or `note`.
    pub(crate) fn kind(&self) -> &'static str {
        if self.weight == Weight::Warning { "warning" } else { "note" }
    }
}

/// The benchmarks, or metrics of benchmarks, that a sentence is about.
pub(super) struct Subjects {
    /// Their names as code: `` `a`, `b` and 3 others ``.
    names: String,
    are_several: bool,
}

impl Subjects {
    /// The subjects of notices with an equal sentence; nameless for a notice without a subject.
    pub(super) fn of(notices: &[&Notice]) -> Self {
        let all: Vec<_> = notices.iter().filter_map(|notice| notice.subject()).collect();
        let name = |name: &str| format!("`{}`", line(name));
        let metric = all.first().and_then(|first| first.metric);
        let common = metric.filter(|_| all.iter().all(|one| one.metric == metric));
        let names = first_few(all.iter().map(|one| match one.metric {
            Some(metric) if common.is_none() => {
                format!("{} of {}", name(metric), name(one.benchmark))
            }
            _ => name(one.benchmark),
        }));
        let names = common.map_or(names.clone(), |metric| format!("{} of {names}", name(metric)));
        Subjects { names, are_several: all.len() > 1 }
    }

    /// Several without names, to compare sentences.
    fn unnamed() -> Self {
        Subjects { names: String::new(), are_several: true }
    }

    /// Words about one subject, or about several.
    pub(super) fn or(&self, one: impl fmt::Display, several: &str) -> String {
        if self.are_several { several.to_owned() } else { one.to_string() }
    }

    /// Words that are left out for several subjects.
    pub(super) fn alone(&self, one: String) -> String {
        self.or(one, "")
    }

    /// `its` or `their`.
    pub(super) fn its(&self) -> String {
        self.or("its", "their")
    }

    /// That each by itself is the same program on both sides.
    pub(super) fn are_the_same(&self) -> String {
        format!("{self} {} the same program on both sides", self.or("is", "are each"))
    }
}

impl fmt::Display for Subjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names)
    }
}

/// One notice in a sentence without a full stop.
pub(crate) fn text(notice: &Notice) -> String {
    sentence(notice, &Subjects::of(&[notice]))
}

/// The notices, warnings first, and those with an equal sentence together.
pub(crate) fn lines<'a>(notices: impl IntoIterator<Item = &'a Notice>) -> Vec<NoticeLine> {
    let mut groups: Vec<(Option<String>, Vec<&Notice>)> = Vec::new();
    for notice in notices {
        let common = notice.subject().map(|_| sentence(notice, &Subjects::unnamed()));
        match groups.iter_mut().find(|(other, _)| common.is_some() && *other == common) {
            Some((_, group)) => group.push(notice),
            None => groups.push((common, vec![notice])),
        }
    }
    let line = |(_, group): &(_, Vec<&Notice>)| NoticeLine {
        weight: group[0].weight(),
        text: sentence(group[0], &Subjects::of(group)),
        is_advice: matches!(group[0], Notice::Advice(_)),
    };
    let mut lines: Vec<NoticeLine> = groups.iter().map(line).collect();
    lines.sort_by_key(|line| line.weight != Weight::Warning);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use cargo_cbdr::model::noise::Finding;
    use cargo_cbdr::model::notice::{BenchmarkNotice, Remark};

    fn outliers(benchmark: &str, metric: &str) -> Notice {
        let found = Finding::Outliers { one_in: 9.0, share: 0.9 };
        Notice::Metric {
            benchmark: benchmark.to_owned(),
            metric: metric.to_owned(),
            remark: Remark::Noise(found),
        }
    }

    fn new(number: u32) -> Notice {
        BenchmarkNotice::New.about(&format!("b{number}"))
    }

    #[test]
    fn a_notice_of_several_subjects_is_one_line_and_warnings_come_first() {
        let mut notices: Vec<Notice> = (1..=7).map(new).collect();
        notices.extend([outliers("parse", "wall_time"), outliers("print", "wall_time")]);
        let lines = lines(&notices);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0].kind(), "warning");
        let begin = "`wall_time` of `parse` and `print`: outliers cause most of the variance; ";
        assert!(lines[0].text.starts_with(begin), "{lines:?}");
        let expected =
            "`b1`, `b2`, `b3`, `b4`, `b5` and 2 others are new: the base does not have them";
        assert_eq!((lines[1].kind(), lines[1].text.as_str()), ("note", expected));
    }

    #[test]
    fn one_alone_keeps_its_numbers_and_metrics_are_named_where_they_differ() {
        let alone = lines(&[outliers("parse", "wall_time"), new(1)]);
        assert!(alone[0].text.contains("(1 pair in 9 causes 90%)"), "{alone:?}");
        assert_eq!(alone[1].text, "`b1` is new: the base does not have it");
        let several = lines(&[outliers("parse", "wall_time"), outliers("parse", "cpu_time")]);
        assert!(several[0].text.starts_with("`wall_time` of `parse` and `cpu_time` of `parse`: "));
    }
}
