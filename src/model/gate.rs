//! Gates: how far a metric may change, when there is a warning, and waivers.

use serde::{Deserialize, Serialize};

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
}

impl Gate {
    /// A gate with a threshold only.
    pub fn new(metric: &str, threshold: f64) -> Self {
        Gate { metric: metric.to_owned(), threshold, warn: None, waiver: None }
    }

    /// The change that the verdict is about: the threshold, or the ceiling of the
    /// waiver if that is larger.
    pub(crate) fn limit(&self) -> f64 {
        let ceiling = self.waiver.as_ref().map(|waiver| waiver.ceiling);
        ceiling.map_or(self.threshold, |ceiling| ceiling.max(self.threshold))
    }

    /// The waiver as part of a result.
    pub(crate) fn waived(&self) -> Option<Waived> {
        let Waiver { ceiling, reason, expires, issue, .. } = self.waiver.clone()?;
        Some(Waived { threshold: self.threshold, ceiling, reason, expires, issue })
    }

    /// The same gate for another metric.
    #[must_use]
    pub(crate) fn of(self, metric: &str) -> Self {
        Gate { metric: metric.to_owned(), ..self }
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
