//! How often to repeat a program that is too short for its clock within one
//! measurement.
//!
//! A clock has a *precision*, its smallest step, and an *accuracy*, the time from which
//! on its step no longer matters. Algorithm 1 times `i` executions in a row, for each
//! `i` up to the quotient `j` of the two. It uses the shortest time of one execution
//! among these, and an oracle determines how many repetitions that time needs: `j` at
//! the precision, 1 from the accuracy on. The oracle is the paper's logistic function,
//! with the parameters of the clock. (BenchmarkTools' own table is for a clock of
//! nanoseconds, for which every process is long enough.)
//!
//! # References
//!
//! - Chen and Revels 2016, *Robust benchmarking in noisy environments*,
//!   Algorithm 1 and the oracle of its section on implementation.

/// The resolution of a clock, and from which time on it no longer matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Its smallest step, seconds.
    pub precision: f64,
    /// The time for which an error of one step is small enough, seconds.
    pub accuracy: f64,
}

impl Clock {
    /// The number of steps in a time that it measures accurately enough: `j`, at least 1.
    pub(crate) fn steps(&self) -> u32 {
        let steps = (self.accuracy / self.precision).round();
        if steps >= 1.0 { steps.min(f64::from(u32::MAX)) as u32 } else { 1 }
    }
}

/// The paper's oracle, a logistic function of the time of one execution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logistic {
    /// How steeply it falls, 1/s: `a`.
    pub steepness: f64,
    /// Where it has fallen by half, as a share of the accuracy: `b`.
    pub middle: f64,
    /// The clock of the measured time.
    pub clock: Clock,
}

impl Logistic {
    /// The oracle of a clock. In the paper's figure `a` is 0.009 for a clock of 1000
    /// steps. The product of the two, 9, gives the curve its shape (flat at both ends,
    /// 0.989 `j` and 1.011), so it is kept for other numbers of steps.
    pub fn of(clock: Clock) -> Self {
        Logistic { steepness: 9.0 / clock.accuracy, middle: 0.5, clock }
    }

    /// How often to repeat an execution of `time` seconds, 1 to [`Clock::steps`].
    pub fn repetitions(&self, time: f64) -> u32 {
        let span = f64::from(self.clock.steps() - 1);
        let fall = (self.steepness * (time - self.middle * self.clock.accuracy)).exp();
        (1.0 + span / (1.0 + fall)).floor() as u32
    }
}

/// Algorithm 1 without its oracle: the least time of one execution, from the times of
/// 1, 2, 3 … executions in a row; `None` of no times.
pub fn least_time(times: impl IntoIterator<Item = f64>) -> Option<f64> {
    let each = times.into_iter().zip(1u32..).map(|(time, count)| time / f64::from(count));
    each.reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_of_ticks_has_the_papers_curve() {
        let clock = Clock { precision: 0.004, accuracy: 0.1 };
        let oracle = Logistic::of(clock);
        assert_eq!(clock.steps(), 25);
        assert_eq!(oracle.repetitions(0.0), 24);
        assert_eq!(oracle.repetitions(0.001), 24);
        assert_eq!(oracle.repetitions(0.05), 13);
        assert_eq!(oracle.repetitions(0.1), 1);
        assert_eq!(oracle.repetitions(f64::MAX), 1);
        let falling = (0..200).map(|ms| oracle.repetitions(f64::from(ms) / 1e3));
        let falling: Vec<u32> = falling.collect();
        assert!(falling.is_sorted_by(|one, next| one >= next));
    }

    #[test]
    fn a_clock_coarser_than_its_accuracy_repeats_nothing() {
        let clock = Clock { precision: 1.0, accuracy: 0.1 };
        assert_eq!((clock.steps(), Logistic::of(clock).repetitions(0.0)), (1, 1));
    }

    #[test]
    fn nothing_timed_is_no_time() {
        assert_eq!(least_time([]), None);
        assert_eq!(least_time([3.0, 4.0, 9.0]), Some(2.0));
    }
}
