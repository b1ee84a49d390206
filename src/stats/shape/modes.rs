//! Whether runs come in two kinds.
//!
//! A density with one mode is nowhere lower than at two places on either side. So of
//! three cells of equal width the middle one is expected to hold at least as many
//! runs as the lesser of the outer two, whatever the skewness and the tails; a
//! middle that holds significantly fewer than *both* is a valley. The cells are
//! those of histograms between the 5 % and the 95 % quantile, and the level is divided
//! by the number of middles looked at.
//!
//! # References
//!
//! - Hartigan and Hartigan 1985, *The dip test of unimodality*, Ann. Stat. 13:70, for
//!   the hypothesis (any one mode); McNemar 1947, *Note on the sampling error of the
//!   difference between correlated proportions*, Psychometrika 12:153, for the
//!   comparison of two counts, with its correction for continuity.

use super::ranks::{middle, sorted};
use super::{CHANCE, Kinds};
use crate::stats::quantile;

/// The numbers of cells of the histograms.
const CELLS: [usize; 3] = [6, 9, 13];
/// The least share of the rarer kind.
const SHARE: f64 = 0.1;
/// The least distance of the kinds.
const DISTANCE: f64 = 0.01;

/// The two kinds, if there are two, of values that are logarithms.
pub(super) fn two_kinds(values: Vec<f64>) -> Option<Kinds> {
    let order = sorted(values);
    let looks: usize = CELLS.iter().map(|cells| cells - 2).sum();
    let critical = quantile::normal(1.0 - CHANCE / looks as f64)?;
    let valleys = CELLS.iter().filter_map(|&cells| valley(&order, cells));
    let (z, split) = valleys.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (fast, slow) = order.split_at(order.partition_point(|value| *value < split));
    let share = slow.len() as f64 / order.len() as f64;
    let distance = (middle(slow) - middle(fast)).exp_m1();
    let fits = (SHARE..=1.0 - SHARE).contains(&share) && distance.is_finite();
    (z >= critical && fits && distance >= DISTANCE).then_some(Kinds { share, distance })
}

/// The deepest valley of a histogram: by how many standard errors it is one,
/// and where.
fn valley(order: &[f64], cells: usize) -> Option<(f64, f64)> {
    let edge = order.len() / 20;
    let inner = &order[edge..order.len() - edge];
    let (least, most) = (*inner.first()?, *inner.last()?);
    let width = (most - least) / cells as f64;
    // A coarse clock's or a counter's steps have nothing between them.
    if !(width > 0.0 && (is_fine(inner, width) || is_two_valued(inner))) {
        return None;
    }
    let mut counts = vec![0.0f64; cells];
    for value in inner {
        counts[(((value - least) / width) as usize).min(cells - 1)] += 1.0;
    }
    let mut deepest = None;
    for place in 1..cells - 1 {
        let highest = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
        let side = highest(&counts[..place]).min(highest(&counts[place + 1..]));
        let z = (side - counts[place] - 1.0) / (side + counts[place]).max(1.0).sqrt();
        if deepest.is_none_or(|(most, _)| z > most) && 2.0 * counts[place] <= side {
            deepest = Some((z, least + (place as f64 + 0.5) * width));
        }
    }
    deepest
}

/// Whether the usual step from a value to the next other one is well below
/// the width of a cell.
fn is_fine(order: &[f64], width: f64) -> bool {
    let steps = order.windows(2).map(|two| two[1] - two[0]).filter(|step| *step > 0.0);
    let steps = sorted(steps.collect());
    steps.len() >= 8 && middle(&steps) < width / 4.0
}

fn is_two_valued(order: &[f64]) -> bool {
    order.chunk_by(|a, b| a == b).count() == 2
}
