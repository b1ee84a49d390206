//! The probabilities of error that a test is allowed.

/// The part of the probability of a false alarm that is reserved for the longer runs of what
/// has passed.
pub(crate) const RESERVED: f64 = 0.01;

/// The probabilities of a wrong verdict of each kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// The probability of *regression* if there is none, 0 to 0.5.
    pub(crate) alarm: f64,
    /// The probability of *no regression* if there is one, 0 to 0.5.
    pub(crate) clear: f64,
}

impl Levels {
    /// The levels of each of this many `tests` (0 counts as 1), at a
    /// `confidence` between 0.5 and 1. Outside of that, nothing is ever decided.
    ///
    /// Only the alarms share the level (Bonferroni): one false alarm makes the whole
    /// comparison wrong, while its all-clear needs those of all tests. They share it with
    /// the alarms of longer runs.
    pub fn new(confidence: f64, tests: usize) -> Self {
        let wrong = 1.0 - confidence;
        Levels { alarm: (1.0 - RESERVED) * wrong / tests.max(1) as f64, clear: wrong }
    }

    /// The levels where there are no longer runs.
    #[must_use]
    pub fn whole(self) -> Self {
        Levels { alarm: self.alarm / (1.0 - RESERVED), ..self }
    }

    /// How many tests share the level of an alarm.
    pub(crate) fn tests(&self) -> usize {
        ((1.0 - RESERVED) * self.clear / self.alarm).round() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_alarms_share_the_level() {
        let levels = Levels::new(0.95, 5);
        assert!((levels.alarm - (1.0 - RESERVED) * 0.01).abs() < 1e-15);
        assert!((levels.clear - 0.05).abs() < 1e-15);
        assert_eq!(Levels::new(0.9, 0), Levels::new(0.9, 1));
        assert!((1..400).all(|number| Levels::new(0.95, number).tests() == number));
    }
}
