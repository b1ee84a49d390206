//! Notices as lines: those that differ only in their subject share one sentence.

use cargo_cbdr::model::notice::{Notice, Weight};

use super::notices::sentence;
use super::subjects::Subjects;

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
