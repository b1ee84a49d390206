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

/// A test of one of several machines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedTest {
    /// Its share of the error of all machines; those of all tests are at most 1 together.
    pub share: f64,
    /// Among how many tests with equal shares it is an alarm.
    pub alarm_among: usize,
}

/// Holm's procedure for shares that need not be equal: what is an alarm leaves its share to the
/// others, in proportion to theirs. For each test, among how many with equal shares it would have
/// been when it was found to be an alarm; `None` for those that are none.
pub fn alarms(tests: &[SharedTest]) -> Vec<Option<usize>> {
    let mut found = vec![None; tests.len()];
    loop {
        let open = || (0..tests.len()).filter(|test| found[*test].is_none());
        let left: f64 = open().map(|test| tests[test].share).sum();
        let among = |test: usize| left / tests[test].share * (1.0 - ROUNDING);
        let more = open().filter(|test| tests[*test].alarm_among as f64 >= among(*test));
        let more: Vec<(usize, usize)> =
            more.map(|test| (test, (among(test).ceil() as usize).max(1))).collect();
        if more.is_empty() {
            return found;
        }
        more.into_iter().for_each(|(test, among)| found[test] = Some(among));
    }
}

/// Rounding must not decide about shares that are equal.
const ROUNDING: f64 = 1e-9;

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
    fn what_a_machine_found_leaves_its_share_to_the_tests_of_all() {
        let test =
            |tests: usize, alarm_among| SharedTest { share: 1.0 / tests as f64, alarm_among };
        // Two machines with half of the error each, for two tests and for one.
        let all = |first, second, third| alarms(&[test(4, first), test(4, second), test(2, third)]);
        assert_eq!(all(3, 3, 1), [None; 3]);
        assert_eq!(all(4, 2, 1), [Some(4), None, None]);
        assert_eq!(all(4, 3, 1), [Some(4), Some(3), Some(1)]);
        // What a machine decides by itself is decided by all, too.
        for (found, levels) in [(0, 4), (1, 3)] {
            assert!(all(4, 4 - found, 0)[1].is_some_and(|among| among <= levels));
        }
        // A machine without tests leaves its share to the others at once.
        assert_eq!(alarms(&[test(4, 2), test(4, 0)]), [Some(2), None]);
        assert!(alarms(&[]).is_empty());
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
        assert!((family.average() - 20.225).abs() < 1e-9, "{}", family.average());
    }
}
