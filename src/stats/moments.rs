//! Running means and centred sums, of one stream of numbers and of pairs.
//!
//! Everything is kept about the mean. Raw sums of squares lose every digit when
//! the values are large and their spread is small (a time stamp in nanoseconds,
//! say: at an offset of 1e9 a spread of 1 drowns in the squares of 1e18).
//!
//! # References
//!
//! - Welford 1962, *Note on a method for calculating corrected sums of squares
//!   and products*, Technometrics 4:419.
//! - Chan, Golub and LeVeque 1979, *Updating formulae and a pairwise algorithm
//!   for computing sample variances*, for [`Moments::merge`].

/// Count, mean and sum of squared deviations of a stream of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// The moments of nothing.
    pub fn new() -> Self {
        Moments::default()
    }

    /// Takes in one more value.
    pub fn push(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// Takes in all that `other` has seen, as though it had been pushed here.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let (here, there) = (self.count as f64, other.count as f64);
        let step = other.mean - self.mean;
        self.count += other.count;
        self.mean += step * (there / (here + there));
        self.squares += other.squares + step * (step * (here * there / (here + there)));
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean, in the unit of the values; none of nothing.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// The variance with Bessel's correction (n - 1 below), in the unit squared;
    /// none of fewer than two values.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }

    /// The variance about the mean with n below, in the unit squared; none of
    /// nothing.
    pub(crate) fn population_variance(&self) -> Option<f64> {
        (self.count > 0).then(|| self.squares / self.count as f64)
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut moments = Moments::new();
        for value in values {
            moments.push(value);
        }
        moments
    }
}

/// Count, means, sums of squared deviations and the sum of their products
/// (the co-moment) of a stream of pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairMoments {
    base: Moments,
    head: Moments,
    products: f64,
}

impl PairMoments {
    /// The moments of nothing.
    pub fn new() -> Self {
        PairMoments::default()
    }

    /// Takes in one more pair.
    pub fn push(&mut self, base: f64, head: f64) {
        let before = base - self.base.mean;
        self.base.push(base);
        self.head.push(head);
        self.products += before * (head - self.head.mean);
    }

    /// Takes in all that `other` has seen, as though it had been pushed here.
    pub fn merge(&mut self, other: &Self) {
        if other.count() == 0 {
            return;
        }
        let (here, there) = (self.count() as f64, other.count() as f64);
        let step = other.base.mean - self.base.mean;
        let across = (other.head.mean - self.head.mean) * (here * there / (here + there));
        self.products += other.products + step * across;
        self.base.merge(&other.base);
        self.head.merge(&other.head);
    }

    /// How many pairs there were.
    pub fn count(&self) -> u64 {
        self.base.count
    }

    /// The first members' own moments.
    pub fn base(&self) -> &Moments {
        &self.base
    }

    /// The second members' own moments.
    pub fn head(&self) -> &Moments {
        &self.head
    }

    /// The covariance of the members with n - 1 below; none of fewer than two
    /// pairs.
    pub fn covariance(&self) -> Option<f64> {
        (self.count() > 1).then(|| self.products / (self.count() - 1) as f64)
    }

    /// The covariance of the members with n below; none of nothing.
    pub(crate) fn population_covariance(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.products / self.count() as f64)
    }
}

impl FromIterator<(f64, f64)> for PairMoments {
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(pairs: I) -> Self {
        let mut moments = PairMoments::new();
        for (base, head) in pairs {
            moments.push(base, head);
        }
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::noise::Noise;

    fn close(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance * a.abs().max(b.abs())
    }

    /// Mean, squares and products in two passes, the naive twin.
    fn two_pass(pairs: &[(f64, f64)]) -> (f64, f64, f64) {
        let n = pairs.len() as f64;
        let x = pairs.iter().map(|p| p.0).sum::<f64>() / n;
        let y = pairs.iter().map(|p| p.1).sum::<f64>() / n;
        let squares = pairs.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
        let products = pairs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
        (x, squares, products)
    }

    fn pairs(noise: &mut Noise, count: usize, offset: f64) -> Vec<(f64, f64)> {
        let mut one = || {
            let shared = noise.normal();
            let (x, y) = (noise.normal(), noise.normal());
            (offset + shared + x, offset + shared + y)
        };
        (0..count).map(|_| one()).collect()
    }

    #[test]
    fn streaming_equals_two_passes() {
        let mut noise = Noise::seeded(1);
        for round in 0..2000 {
            let offset = [0.0, 1.0, 1e3, 1e9][round % 4];
            let sample = pairs(&mut noise, 2 + round % 40, offset);
            let (mean, squares, products) = two_pass(&sample);
            let moments: PairMoments = sample.iter().copied().collect();
            // At 1e9 a double is 1.2e-7 wide, so the twin's own mean is no better.
            let loose = if offset > 1e6 { 1e-5 } else { 1e-9 };
            assert!((moments.base.mean - mean).abs() <= 1e-15 * offset + 1e-13 + 1e-16 * offset);
            assert!(close(moments.base.squares, squares, loose), "{round}");
            let scale = squares + products.abs();
            assert!((moments.products - products).abs() <= loose * scale, "{round}");
        }
    }

    #[test]
    fn an_offset_of_a_billion_keeps_the_spread() {
        let moments: Moments = (0..1000).map(|i| 1e9 + f64::from(i % 3)).collect();
        let plain: Moments = (0..1000).map(|i| f64::from(i % 3)).collect();
        assert!(close(moments.squares, plain.squares, 1e-9));
    }

    #[test]
    fn a_constant_has_no_spread_at_all() {
        let moments: Moments = std::iter::repeat_n(0.1, 1000).collect();
        assert_eq!(moments.mean(), Some(0.1));
        assert_eq!(moments.variance(), Some(0.0));
    }

    #[test]
    fn any_grouping_merges_to_the_same() {
        let mut noise = Noise::seeded(2);
        let sample = pairs(&mut noise, 60, 50.0);
        let whole: PairMoments = sample.iter().copied().collect();
        for cut in 0..=60 {
            for second in [cut, (cut + 60) / 2, 60] {
                let mut left: PairMoments = sample[..cut].iter().copied().collect();
                let mut middle: PairMoments = sample[cut..second].iter().copied().collect();
                let right: PairMoments = sample[second..].iter().copied().collect();
                middle.merge(&right);
                left.merge(&middle);
                assert_eq!(left.count(), 60);
                assert!(close(left.base.mean, whole.base.mean, 1e-14));
                assert!(close(left.head.squares, whole.head.squares, 1e-12));
                assert!(close(left.products, whole.products, 1e-11));
            }
        }
    }

    #[test]
    fn nothing_adds_nothing_and_to_nothing_all() {
        let huge: PairMoments = [(1e300, 3e300), (2e300, 5e300)].into_iter().collect();
        let some: PairMoments = [(1.0, 3.0), (2.0, 5.0)].into_iter().collect();
        for sums in [PairMoments::new(), some, huge] {
            let (mut with_nothing, mut from_nothing) = (sums, PairMoments::new());
            with_nothing.merge(&PairMoments::new());
            from_nothing.merge(&sums);
            assert_eq!((with_nothing, from_nothing), (sums, sums));
        }
    }

    #[test]
    fn nothing_and_one_value_have_no_variance() {
        assert_eq!(Moments::new().mean(), None);
        assert_eq!(Moments::new().population_variance(), None);
        assert_eq!(PairMoments::new().population_covariance(), None);
        let one: PairMoments = [(3.0, 4.0)].into_iter().collect();
        assert_eq!(one.base().variance(), None);
        assert_eq!(one.covariance(), None);
        assert_eq!(one.population_covariance(), Some(0.0));
    }
}
