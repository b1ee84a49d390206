//! The tests of one comparison, which share its error.
//!
//! *Which* benchmarks are slower is answered step by step (Holm 1979, *A simple sequentially
//! rejective multiple test procedure*, Scand. J. Stat. 6:65): of `m` tests each is held to
//! `a/m` until a regression is found, then each of the others to `a/(m - 1)`, and so on. What
//! a test has shown before counts, so the order in which the regressions are found does not
//! matter. *Whether any* is slower is answered by the average of the tests' evidence,
//! which is evidence itself whatever they have to do with each other (Vovk and Wang 2021,
//! *E-values: calibration, combination and applications*, Ann. Stat. 49:1736).

use super::estimator::{Levels, RESERVED};

/// The error of a comparison, and how its tests share it.
#[derive(Clone, Debug)]
pub struct Family {
    confidence: f64,
    tests: usize,
    /// How many of them were found to be regressions.
    found: usize,
    /// The sum of their evidence.
    evidence: f64,
    is_slower: bool,
}

impl Family {
    /// A family of this many tests, without evidence yet. The `confidence` is the probability
    /// that no alarm is false, between 0.5 and 1.
    pub fn new(confidence: f64, tests: usize) -> Self {
        Family { confidence, tests, found: 0, evidence: 0.0, is_slower: false }
    }

    /// The levels of each undecided test.
    pub fn levels(&self) -> Levels {
        Levels::new(self.confidence, self.tests.saturating_sub(self.found))
    }

    /// Sets the number of tests that were found to be regressions. If it has increased, returns
    /// the levels of the others from now on.
    pub fn found(&mut self, number: usize) -> Option<Levels> {
        let is_more = number > self.found;
        self.found = self.found.max(number);
        is_more.then(|| self.levels())
    }

    /// Updates the sum of the evidence after that of some tests has changed; `before` is 0 for
    /// new ones. See [`Running::evidence`](super::estimator::Running::evidence).
    pub fn weigh(&mut self, before: f64, now: f64) {
        if self.is_slower {
            return;
        }
        self.evidence += now - before;
        let needed = self.tests as f64 / ((1.0 - RESERVED) * (1.0 - self.confidence));
        self.is_slower = self.evidence >= needed * (1.0 - 1e-9);
    }

    /// The average of their evidence, as it was when it was enough.
    pub fn average(&self) -> f64 {
        self.evidence / self.tests.max(1) as f64
    }

    /// Whether one of the tests is a regression, even if it is not known which.
    pub fn is_slower(&self) -> bool {
        self.is_slower
    }

    /// Whether a test is found to be a regression.
    pub fn names_any(&self) -> bool {
        self.found > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_tests_share_the_error_that_decided_ones_leave() {
        let mut family = Family::new(0.95, 10);
        assert_eq!(family.levels(), Levels::new(0.95, 10));
        assert!(family.found(0).is_none() && !family.names_any());
        assert_eq!(family.found(4), Some(Levels::new(0.95, 6)));
        assert!(family.found(4).is_none() && family.found(3).is_none());
        assert_eq!(family.levels(), Levels::new(0.95, 6));
        assert_eq!(family.found(10), Some(Levels::new(0.95, 1)));
    }

    #[test]
    fn the_average_decides_and_remains_decided() {
        let mut family = Family::new(0.95, 4);
        // A little less than one in twenty: an average of 20.2.
        family.weigh(0.0, 4.0);
        family.weigh(1.0, 77.7);
        assert!(!family.is_slower());
        family.weigh(77.7, 77.9);
        assert!(family.is_slower());
        family.weigh(77.9, 0.1);
        assert!(family.is_slower() && !family.names_any());
    }
}
