//! Gates: how far a metric may change, when there is a warning, and waivers.

use serde::{Deserialize, Serialize};

/// The largest change that passes by default, a fraction.
pub const THRESHOLD: f64 = 0.02;

/// A metric that gates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Its name.
    pub metric: String,
    /// The largest change that passes, a fraction.
    pub threshold: f64,
    /// The change beyond which there is a warning, a fraction.
    pub warn: Option<f64>,
    /// A larger change that is accepted for some time.
    pub waiver: Option<Waiver>,
    /// What the threshold is learnt from, if it is not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learnt: Option<Learnt>,
}

/// What a threshold is learnt from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learnt {
    /// The number of stored results; 0 if there are too few, so that the threshold is the default.
    pub results: usize,
    /// The threshold that the oldest results give, if it has grown since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<f64>,
}

/// The learnt threshold of a metric of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearntThreshold {
    /// The name that its harness prints, or that of its program.
    pub(crate) benchmark: String,
    pub(crate) metric: String,
    pub(crate) threshold: f64,
    pub(crate) learnt: Learnt,
}

impl Gate {
    /// A gate with a threshold only.
    pub fn new(metric: &str, threshold: f64) -> Self {
        Gate { metric: metric.to_owned(), threshold, warn: None, waiver: None, learnt: None }
    }

    /// The change that the verdict is about: the threshold, or the ceiling of the
    /// waiver if that is larger.
    pub(crate) fn limit(&self) -> f64 {
        let least = self.threshold;
        self.waiver.as_ref().map_or(least, |waiver| waiver.ceiling.max(least))
    }

    /// The waiver as part of a result.
    pub(crate) fn waived(&self) -> Option<Waived> {
        let Waiver { ceiling, reason, expires, issue, .. } = self.waiver.clone()?;
        Some(Waived { threshold: self.threshold, ceiling, reason, expires, issue })
    }

    /// The same gate with this threshold, or with the default until one is learnt.
    #[must_use]
    pub(crate) fn allowing(self, allowed: Option<f64>) -> Self {
        let learnt = allowed.is_none().then(Learnt::default);
        Gate { threshold: allowed.unwrap_or(THRESHOLD), learnt, ..self }
    }

    /// The same gate for another metric.
    #[must_use]
    pub(crate) fn of(self, metric: &str) -> Self {
        Gate { metric: metric.to_owned(), ..self }
    }
}

/// A threshold of benchmarks within a program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BenchmarkThreshold {
    /// A name, in which `*` stands for any text.
    pub(crate) pattern: String,
    /// The threshold; `None` if it is learnt.
    pub(crate) threshold: Option<f64>,
}

impl BenchmarkThreshold {
    /// The threshold of a benchmark: that of the most specific pattern that fits one of its names,
    /// which is the name itself, else the one with the most characters, and of several of these the
    /// smallest. `Some(None)` is a learnt one.
    pub(crate) fn of(all: &[Self], names: &[&str]) -> Option<Option<f64>> {
        let fitting = all.iter().filter(|one| names.iter().any(|name| one.fits(name)));
        let rank = |one: &Self| {
            let literal = one.pattern.chars().filter(|c| *c != '*').count();
            (names.contains(&one.pattern.as_str()), literal)
        };
        let most = fitting.max_by(|one, other| {
            let [own, others] = [one, other].map(|it| it.threshold.unwrap_or(f64::INFINITY));
            rank(one).cmp(&rank(other)).then(others.total_cmp(&own))
        });
        most.map(|one| one.threshold)
    }

    fn fits(&self, name: &str) -> bool {
        let mut parts = self.pattern.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else { return false };
        let mut parts: Vec<&str> = parts.collect();
        let Some(last) = parts.pop() else { return rest.is_empty() };
        for part in parts {
            let Some((_, after)) = rest.split_once(part) else { return false };
            rest = after;
        }
        rest.ends_with(last)
    }
}

/// An accepted slowdown, as it is declared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waiver {
    /// The metric. Not serialized, since the gate names it.
    #[serde(skip)]
    pub metric: String,
    /// The benchmark; `None` means all.
    pub benchmark: Option<String>,
    /// The change up to which it passes, a fraction.
    pub ceiling: f64,
    /// Why.
    pub reason: String,
    /// The last day on which it is valid, such as `2026-12-31`, in UTC.
    pub expires: String,
    /// Where it is discussed.
    pub(crate) issue: Option<String>,
}

impl Waiver {
    /// Whether it applies to this metric of this benchmark. A benchmark has several
    /// names: its own, and that of its program.
    pub(crate) fn is_about(&self, metric: &str, benchmark: &[&str]) -> bool {
        let named = self.benchmark.as_deref();
        self.metric == metric && named.is_none_or(|named| benchmark.contains(&named))
    }
}

/// An accepted slowdown, as part of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waived {
    /// The threshold without it, a fraction.
    pub threshold: f64,
    /// The change up to which it passes, a fraction.
    pub ceiling: f64,
    /// Why.
    pub reason: String,
    /// The last day on which it is valid.
    pub expires: String,
    /// Where it is discussed.
    pub issue: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_pattern_has_the_threshold() {
        let of = |patterns: &[(&str, f64)], names: &[&str]| {
            let all = patterns.iter().map(|(pattern, threshold)| BenchmarkThreshold {
                pattern: (*pattern).to_owned(),
                threshold: Some(*threshold),
            });
            BenchmarkThreshold::of(&all.collect::<Vec<_>>(), names).flatten()
        };
        let all = [("*", 0.1), ("parse*", 0.2), ("*/large", 0.3), ("parse/*/x", 0.4)];
        assert_eq!(of(&all, &["print/small"]), Some(0.1));
        assert_eq!(of(&all, &["parse/small"]), Some(0.2));
        assert_eq!(of(&all, &["parse/large"]), Some(0.3));
        assert_eq!(of(&all, &["parse/a/b/x"]), Some(0.4));
        assert_eq!(of(&[], &["a"]), None);
        // The name itself, although a pattern is as long; in a name, nothing but `*` is special.
        let named = [("u128[max]*", 0.1), ("u128[max]", 0.2)];
        assert_eq!(of(&named, &["suite/u128[max]", "u128[max]"]), Some(0.2));
        assert_eq!(of(&named, &["u128[min]"]), None);
        // Equally specific ones: the smallest.
        assert_eq!(of(&[("a*", 0.2), ("*b", 0.1)], &["ab"]), Some(0.1));
        for (pattern, name) in [("a", "ab"), ("*a", "ab"), ("ab*ba", "aba"), ("a*b*c", "acb")] {
            assert_eq!(of(&[(pattern, 0.1)], &[name]), None, "{pattern} {name}");
        }
    }

    #[test]
    fn the_limit_is_the_larger_of_threshold_and_ceiling() {
        let waiver = Waiver {
            metric: "wall_time".to_owned(),
            benchmark: Some("parse".to_owned()),
            ceiling: 0.1,
            reason: "a table".to_owned(),
            expires: "2999-12-31".to_owned(),
            issue: None,
        };
        let gate =
            |threshold| Gate { waiver: Some(waiver.clone()), ..Gate::new("wall_time", threshold) };
        assert_eq!((gate(0.02).limit(), gate(0.2).limit()), (0.1, 0.2));
        let waived = gate(0.02).waived().unwrap();
        assert_eq!((waived.threshold, waived.ceiling), (0.02, 0.1));
        assert_eq!(gate(0.02).of("max_rss"), Gate { metric: "max_rss".to_owned(), ..gate(0.02) });
        assert!(waiver.is_about("wall_time", &["suite/parse", "parse"]));
        assert!(
            !waiver.is_about("wall_time", &["print"]) && !waiver.is_about("max_rss", &["parse"])
        );
    }
}
