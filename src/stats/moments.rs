//! Running means and centred sums, of one stream of numbers and of pairs.
//!
//! All sums are about the mean. Raw sums of squares lose every digit if the values
//! are large and their spread is small: at an offset of 1e9, a spread of 1 is lost
//! in squares of 1e18.
//!
//! # Reference
//!
//! Welford 1962, *Note on a method for calculating corrected sums of squares and
//! products*, Technometrics 4:419.

/// Count, mean and sum of squared deviations of a stream of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Adds a value.
    pub fn push(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean, in the unit of the values; `None` of no value.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// The variance with Bessel's correction (divided by n - 1), in the unit squared;
    /// `None` of fewer than two values.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }

    /// The variance about the mean, divided by n, in the unit squared; `None` of no
    /// value.
    pub(crate) fn population_variance(&self) -> Option<f64> {
        (self.count > 0).then(|| self.squares / self.count as f64)
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut moments = Moments::default();
        for value in values {
            moments.push(value);
        }
        moments
    }
}

/// Count, means, sums of squared deviations and sum of the deviations' products (the
/// co-moment) of a stream of pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairMoments {
    base: Moments,
    head: Moments,
    products: f64,
}

impl PairMoments {
    pub(crate) fn push(&mut self, base: f64, head: f64) {
        let before = base - self.base.mean;
        self.base.push(base);
        self.head.push(head);
        self.products += before * (head - self.head.mean);
    }

    pub(crate) fn count(&self) -> u64 {
        self.base.count
    }

    /// The moments of the first values of the pairs.
    pub(crate) fn base(&self) -> &Moments {
        &self.base
    }

    /// The moments of the second values.
    pub(crate) fn head(&self) -> &Moments {
        &self.head
    }

    /// The covariance, divided by n - 1; `None` of fewer than two pairs.
    pub(crate) fn covariance(&self) -> Option<f64> {
        (self.count() > 1).then(|| self.products / (self.count() - 1) as f64)
    }

    /// The covariance, divided by n; `None` of no pair.
    pub(crate) fn population_covariance(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.products / self.count() as f64)
    }
}

impl FromIterator<(f64, f64)> for PairMoments {
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(pairs: I) -> Self {
        let mut moments = PairMoments::default();
        for (base, head) in pairs {
            moments.push(base, head);
        }
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::TestNoise;

    fn close(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance * a.abs().max(b.abs())
    }

    /// Mean, squares and products in two passes.
    fn two_pass(pairs: &[(f64, f64)]) -> (f64, f64, f64) {
        let n = pairs.len() as f64;
        let x = pairs.iter().map(|p| p.0).sum::<f64>() / n;
        let y = pairs.iter().map(|p| p.1).sum::<f64>() / n;
        let squares = pairs.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
        let products = pairs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
        (x, squares, products)
    }

    fn pairs(noise: &mut TestNoise, count: usize, offset: f64) -> Vec<(f64, f64)> {
        let mut one = || {
            let shared = noise.normal();
            let (x, y) = (noise.normal(), noise.normal());
            (offset + shared + x, offset + shared + y)
        };
        (0..count).map(|_| one()).collect()
    }

    #[test]
    fn streaming_equals_two_passes() {
        let mut noise = TestNoise::seeded(1);
        for round in 0..2000 {
            let offset = [0.0, 1.0, 1e3, 1e9][round % 4];
            let sample = pairs(&mut noise, 2 + round % 40, offset);
            let (mean, squares, products) = two_pass(&sample);
            let moments: PairMoments = sample.iter().copied().collect();
            // At 1e9 a double's last digit is 1.2e-7, so two passes are no more exact.
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
    fn nothing_and_one_value_have_no_variance() {
        assert_eq!(Moments::default().mean(), None);
        assert_eq!(Moments::default().population_variance(), None);
        assert_eq!(PairMoments::default().population_covariance(), None);
        let one: PairMoments = [(3.0, 4.0)].into_iter().collect();
        assert_eq!(one.base().variance(), None);
        assert_eq!(one.covariance(), None);
        assert_eq!(one.population_covariance(), Some(0.0));
    }
}
