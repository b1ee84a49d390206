//! Samples of several labels, counted in the same bins.

use cargo_cbdr::model::Unit;
use cargo_cbdr::stats::empirical::{nearest, sorted};

use super::axis::Axis;
use crate::ui::text;

/// The largest share of the values that may lie beyond the range at either end. If there are
/// more, the range grows.
const BEYOND: f64 = 0.01;

/// Counts in bins of one width.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bins {
    /// The lower edge of the first one.
    pub(crate) from: f64,
    pub(crate) width: f64,
    /// The counts of each label.
    pub(crate) counts: Vec<Vec<u64>>,
    /// How many values each label has, with those below and above all bins.
    pub(crate) totals: Vec<u64>,
}

impl Bins {
    /// Counts the values of labels, all finite, in at most `most` bins. None if there are no
    /// values.
    ///
    /// The width is that of Freedman and Diaconis 1981 (twice the interquartile range by the
    /// cube root of the number) for the label that needs the smallest one.
    pub(crate) fn new(labels: &[Vec<f64>], most: usize) -> Option<Self> {
        let (least, greatest) = range(&sorted(labels.iter().flatten().copied()))?;
        let wanted = labels.iter().filter_map(|of| wanted(of)).fold(f64::INFINITY, f64::min);
        let span = greatest - least;
        let (count, width) = if span <= 0.0 {
            (1, if least == 0.0 { 1.0 } else { 0.01 * least.abs() })
        } else {
            let count = if wanted.is_finite() { (span / wanted).ceil() } else { most as f64 };
            let count = count.clamp(6.0_f64.min(most as f64), most as f64);
            (count as usize, span / count)
        };
        // A single value gets a bin around it.
        let from = if span > 0.0 { least } else { least - 0.5 * width };
        let counts = labels.iter().map(|values| {
            let mut counts = vec![0; count];
            for value in values.iter().filter(|value| (least..=greatest).contains(*value)) {
                // The last bin includes its upper edge.
                counts[(((value - from) / width) as usize).min(count - 1)] += 1;
            }
            counts
        });
        let totals = labels.iter().map(|values| values.len() as u64).collect();
        Some(Bins { from, width, counts: counts.collect(), totals })
    }

    /// The values below and above all bins, if there are any, with the edges in a unit:
    /// `not drawn: 3 runs outside 1.0 to 2.0 ms`.
    pub(crate) fn not_drawn(&self, unit: &Unit) -> Option<String> {
        let beyond = self.totals.iter().sum::<u64>() - self.counts.iter().flatten().sum::<u64>();
        let (from, to) = (self.from, self.edge(self.len()));
        let axis = Axis::new(unit, from, to, self.width);
        let (runs, from, to) = (text::count(beyond, "run"), axis.label(from), axis.label(to));
        (beyond > 0).then(|| format!("not drawn: {runs} outside {from} to {to}"))
    }

    /// How many bins there are.
    pub(crate) fn len(&self) -> usize {
        self.counts.first().map_or(0, Vec::len)
    }

    /// The lower edge of a bin. That of the bin after the last one is the end.
    pub(crate) fn edge(&self, bin: usize) -> f64 {
        self.from + self.width * bin as f64
    }

    /// The share of a label's values in a bin.
    pub(crate) fn share(&self, label: usize, bin: usize) -> f64 {
        self.counts[label][bin] as f64 / self.totals[label].max(1) as f64
    }

    /// The largest share of all.
    pub(crate) fn largest(&self) -> f64 {
        let all = (0..self.counts.len()).flat_map(|l| (0..self.len()).map(move |b| (l, b)));
        all.map(|(label, bin)| self.share(label, bin)).fold(0.0, f64::max)
    }
}

/// The width of bins that suits a label. None if its values are much the same.
fn wanted(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values.iter().copied());
    let spread = at(&sorted, 0.75) - at(&sorted, 0.25);
    (spread > 0.0).then(|| 2.0 * spread / (sorted.len() as f64).cbrt())
}

/// The range of the bins: all values, unless a few at the ends are so far off that the
/// others would share few bins.
fn range(sorted: &[f64]) -> Option<(f64, f64)> {
    let (least, most) = (*sorted.first()?, *sorted.last()?);
    let (low, high) = (at(sorted, BEYOND), at(sorted, 1.0 - BEYOND));
    let reach = 0.5 * (high - low);
    if reach <= 0.0 || sorted.len() < 50 {
        return Some((least, most));
    }
    let first = sorted.partition_point(|&value| value < low - reach);
    let behind = sorted.partition_point(|&value| value <= high + reach);
    Some((sorted[first], sorted[behind - 1]))
}

/// The sorted value at a share of the way; NaN if there is none.
pub(crate) fn at(sorted: &[f64], share: f64) -> f64 {
    nearest(sorted, share).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_counted_once() {
        let base: Vec<f64> = (0..1000).map(|n| f64::from(n * 7919 % 1000)).collect();
        let head = vec![0.0, 999.0, 500.0, 5e6];
        let bins = Bins::new(&[base, head], 20).unwrap();
        let counted = bins.counts.iter().map(|counts| counts.iter().sum::<u64>());
        assert_eq!(
            (counted.collect::<Vec<_>>(), bins.totals.clone()),
            (vec![1000, 3], vec![1000, 4])
        );
        let not_drawn = bins.not_drawn(&Unit::Count).unwrap();
        assert!(not_drawn.starts_with("not drawn: 1 run outside 0"), "{not_drawn}");
        assert!(bins.len() <= 20 && bins.edge(bins.len()) < 5000.0);
    }

    #[test]
    fn values_that_are_all_the_same_have_one_bin() {
        for value in [0.0, 5.0, -3e9, 1e-9] {
            let bins = Bins::new(&[vec![value; 7], vec![value]], 20).unwrap();
            assert_eq!((bins.len(), bins.counts.clone()), (1, vec![vec![7], vec![1]]));
            assert!(bins.from < value && value < bins.edge(1));
        }
        assert_eq!(Bins::new(&[vec![], vec![]], 20), None);
    }

    #[test]
    fn labels_far_apart_keep_their_shapes() {
        let around = |middle: f64| (0..40).map(|n| middle + 0.01 * f64::from(n)).collect();
        let bins = Bins::new(&[around(1.0), around(3.0)], 40).unwrap();
        let filled = |label: usize| bins.counts[label].iter().filter(|count| **count > 0).count();
        assert!(filled(0) >= 4 && filled(1) >= 4, "{bins:?}");
    }

    #[test]
    fn few_values_are_all_shown() {
        let bins = Bins::new(&[vec![1.0, 1.1, 90.0]], 20).unwrap();
        assert_eq!(bins.not_drawn(&Unit::Count), None);
        assert_eq!(bins.counts[0].iter().sum::<u64>(), 3);
    }
}
