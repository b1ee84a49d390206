//! Fieller's set: all ratios of two means that the data do not refute.
//!
//! A ratio `r` is in the set if `(my - r mx)^2 <= t^2 (b - 2 r c + r^2 a)`, where
//! `a`, `b` and `c` are the variances and the covariance of the means `mx` and `my`.
//! This is a quadratic inequality in `r`, so the set need not be an interval: it is
//! unbounded where the mean of the base can't be distinguished from zero.
//!
//! # References
//!
//! - Fieller 1954, *Some problems in interval estimation*, JRSS B 16:175.
//! - Tamhane and Logan 2004, *Finding the maximum safe dose level for
//!   heteroscedastic data*, J. Biopharm. Stat. 14:843, for [`unpaired`].

use super::moments::{Moments, PairMoments};
use super::quantile::student_t;
use super::welch::{SampleMean, satterthwaite};

/// A set of ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RatioSet {
    /// Every number: the data exclude nothing.
    All,
    /// From `lower` to `upper`, both included.
    Between {
        /// The least ratio of the set.
        lower: f64,
        /// The greatest ratio of the set.
        upper: f64,
    },
    /// Everything up to `lower` and everything from `upper` on.
    Outside {
        /// The end of the lower part.
        lower: f64,
        /// The beginning of the upper part.
        upper: f64,
    },
    /// This number and all above.
    AtLeast(f64),
    /// This number and all below.
    AtMost(f64),
    /// No number: the base is certainly zero and the head is not.
    Empty,
}

/// Two means, and how well they are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Parts {
    /// The mean of the base, the denominator.
    pub(super) base: f64,
    /// The mean of the head, the numerator.
    pub(super) head: f64,
    /// The variance of the base's mean, `a`.
    pub(super) base_variance: f64,
    /// The variance of the head's mean, `b`.
    pub(super) head_variance: f64,
    /// The covariance of the two means, `c`.
    pub(super) covariance: f64,
}

impl RatioSet {
    /// The set for a critical value whose square is `t_squared` (0 or more).
    /// Parts that are not finite exclude nothing.
    pub(super) fn new(parts: &Parts, t_squared: f64) -> Self {
        let Parts { base: x, head: y, base_variance: a, head_variance: b, covariance: c } = *parts;
        // The set is { r : square r^2 - 2 middle r + rest <= 0 }.
        let square = x * x - t_squared * a;
        let middle = x * y - t_squared * c;
        let rest = y * y - t_squared * b;
        // Computed as `middle^2 - square rest` this would cancel if the means are far
        // larger than their errors.
        let spread = a * y * y - 2.0 * c * x * y + b * x * x;
        let discriminant = t_squared * (spread - t_squared * (a * b - c * c));
        if ![square, middle, rest, discriminant].iter().all(|part| part.is_finite()) {
            return RatioSet::All;
        }
        if square == 0.0 {
            return RatioSet::half_line(middle, rest);
        }
        if square < 0.0 && discriminant <= 0.0 {
            return RatioSet::All;
        }
        let root = discriminant.max(0.0).sqrt();
        let far = if middle < 0.0 { middle - root } else { middle + root };
        // The second root comes from the product of both, since the difference
        // `middle - root` would cancel.
        let near = if far == 0.0 { 0.0 } else { rest / far };
        let (lower, upper) = ascending(far / square, near);
        if !(lower.is_finite() && upper.is_finite()) {
            return RatioSet::All;
        }
        if square > 0.0 {
            RatioSet::Between { lower, upper }
        } else {
            RatioSet::Outside { lower, upper }
        }
    }

    /// The set if the quadratic coefficient is zero: `rest <= 2 middle r`.
    fn half_line(middle: f64, rest: f64) -> Self {
        let end = rest / (2.0 * middle);
        if middle == 0.0 && rest > 0.0 {
            RatioSet::Empty
        } else if !end.is_finite() {
            RatioSet::All
        } else if middle > 0.0 {
            RatioSet::AtLeast(end)
        } else {
            RatioSet::AtMost(end)
        }
    }

    /// Lower and upper bound of the ratio of two quantities that are never negative:
    /// the least interval around the part of the set from 0 on. A bound is `None`
    /// where the data do not bound the ratio on that side.
    ///
    /// The lower bound of [`RatioSet::Empty`] is infinity: the ratio is above every
    /// number.
    pub(super) fn bounds(&self) -> (Option<f64>, Option<f64>) {
        match *self {
            RatioSet::All => (None, None),
            RatioSet::Between { lower, upper } => (Some(lower.max(0.0)), Some(upper.max(0.0))),
            RatioSet::Outside { lower, upper } if lower < 0.0 && upper > 0.0 => (Some(upper), None),
            RatioSet::Outside { .. } => (None, None),
            RatioSet::AtLeast(end) => ((end > 0.0).then_some(end), None),
            RatioSet::AtMost(end) => (None, Some(end.max(0.0))),
            RatioSet::Empty => (Some(f64::INFINITY), None),
        }
    }
}

fn ascending(one: f64, other: f64) -> (f64, f64) {
    if one <= other { (one, other) } else { (other, one) }
}

/// The set of mean(head)/mean(base) from pairs, at two-sided `confidence` (0 to 1),
/// with n - 1 degrees of freedom; `None` of fewer than two pairs.
pub fn paired(pairs: &PairMoments, confidence: f64) -> Option<RatioSet> {
    let count = pairs.count() as f64;
    let t = student_t(0.5 + 0.5 * confidence, count - 1.0)?;
    let parts = Parts {
        base: pairs.base().mean()?,
        head: pairs.head().mean()?,
        base_variance: pairs.base().variance()? / count,
        head_variance: pairs.head().variance()? / count,
        covariance: pairs.covariance()? / count,
    };
    Some(RatioSet::new(&parts, t * t))
}

/// The set of mean(head)/mean(base) from two independent samples, at two-sided
/// `confidence` (0 to 1), with Satterthwaite's degrees of freedom at the estimated
/// ratio, at least 1; `None` where these are undefined.
pub fn unpaired(base: &Moments, head: &Moments, confidence: f64) -> Option<RatioSet> {
    let (base, head) = (SampleMean::of(base)?, SampleMean::of(head)?);
    let dof = satterthwaite(&base, &head, head.mean / base.mean)?.max(1.0);
    let t = student_t(0.5 + 0.5 * confidence, dof)?;
    let parts = Parts {
        base: base.mean,
        head: head.mean,
        base_variance: base.variance,
        head_variance: head.variance,
        covariance: 0.0,
    };
    Some(RatioSet::new(&parts, t * t))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(base: f64, head: f64) -> Parts {
        Parts { base, head, base_variance: 1.0, head_variance: 1.0, covariance: 0.0 }
    }

    #[test]
    fn the_ends_satisfy_the_equation() {
        for (x, y, t2) in [(5.0, 7.0, 2.0), (5.0, -7.0, 3.0), (-9.0, 0.5, 4.0), (1.0, 6.0, 4.0)] {
            let (RatioSet::Between { lower, upper } | RatioSet::Outside { lower, upper }) =
                RatioSet::new(&parts(x, y), t2)
            else {
                panic!("{x} {y} {t2}");
            };
            for r in [lower, upper] {
                let gap = (y - r * x).powi(2) - t2 * (1.0 + r * r);
                assert!(gap.abs() < 1e-12 * (1.0 + r * r) * (x * x + y * y), "{gap}");
            }
        }
    }

    #[test]
    fn every_kind_occurs() {
        assert_eq!(RatioSet::new(&parts(1.0, 1.0), 4.0), RatioSet::All);
        assert!(matches!(RatioSet::new(&parts(1.0, 9.0), 4.0), RatioSet::Outside { .. }));
        assert_eq!(RatioSet::new(&parts(2.0, 3.0), 4.0), RatioSet::AtLeast(5.0 / 12.0));
        assert_eq!(RatioSet::new(&parts(2.0, -3.0), 4.0), RatioSet::AtMost(-5.0 / 12.0));
        let certain = Parts { base: 0.0, base_variance: 0.0, ..parts(0.0, 3.0) };
        assert_eq!(RatioSet::new(&certain, 4.0), RatioSet::Empty);
        assert_eq!(RatioSet::new(&parts(f64::NAN, 1.0), 4.0), RatioSet::All);
        // Of zero and zero, both without doubt, any ratio will do.
        let nothing = Parts { head: 0.0, head_variance: 0.0, ..certain };
        assert_eq!(RatioSet::new(&nothing, 4.0), RatioSet::All);
        // 3^2 + 4^2 = 25: the gap between the two parts has shrunk to nothing.
        assert_eq!(RatioSet::new(&parts(3.0, 4.0), 25.0), RatioSet::All);
    }

    #[test]
    fn without_any_variance_the_ratio_is_a_point() {
        let exact = Parts { base_variance: 0.0, head_variance: 0.0, ..parts(4.0, 5.0) };
        let point = RatioSet::Between { lower: 1.25, upper: 1.25 };
        assert_eq!(RatioSet::new(&exact, 10.0), point);
    }

    #[test]
    fn bounds_are_those_of_things_never_negative() {
        let outside = |lower, upper| RatioSet::Outside { lower, upper }.bounds();
        assert_eq!(outside(-3.0, 0.5), (Some(0.5), None));
        assert_eq!(outside(-3.0, -0.5), (None, None));
        assert_eq!(outside(0.5, 3.0), (None, None));
        // 0 is in the set, and so is everything on one side of it.
        assert_eq!((outside(0.0, 3.0), outside(-3.0, 0.0)), ((None, None), (None, None)));
        assert_eq!(RatioSet::All.bounds(), (None, None));
        let between = RatioSet::Between { lower: -1.0, upper: 2.0 };
        assert_eq!(between.bounds(), (Some(0.0), Some(2.0)));
        assert_eq!(RatioSet::AtLeast(-0.1).bounds(), (None, None));
        assert_eq!(RatioSet::AtLeast(0.0).bounds(), (None, None));
        assert_eq!(RatioSet::AtLeast(0.5).bounds(), (Some(0.5), None));
        assert_eq!(RatioSet::AtMost(-0.5).bounds(), (None, Some(0.0)));
        assert_eq!(RatioSet::AtMost(0.5).bounds(), (None, Some(0.5)));
        assert_eq!(RatioSet::Empty.bounds(), (Some(f64::INFINITY), None));
    }
}
