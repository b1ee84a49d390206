//! What a notice is about, in its sentence.

use std::fmt;

use cargo_cbdr::model::notice::Notice;

use super::text::{first_few, line};

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
    pub(super) fn unnamed() -> Self {
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
