//! The change of each pair, in the order of measurement; the colour shows which
//! side went first.

use cargo_cbdr::model::side::{Pair, Side};
use cargo_cbdr::stats::empirical::sorted;
use plotters::prelude::*;

use super::chart::{self, BASE, ChartFrame, Figure, HEAD, INK, LIMIT};
use crate::plot::axis;
use crate::plot::bins::at;
use crate::ui::text;

/// Above this number, pairs are drawn in groups.
const MOST: usize = 1200;

/// The most groups of pairs in which the same side went first.
const GROUPS: usize = 150;

/// Up to this many dots have their number as a title.
const TITLED: usize = 300;

/// A dot of one pair, or of a group of pairs.
struct Dot {
    /// The number of the pair, or of one in the middle of the group.
    number: f64,
    /// The change, or the group's median.
    change: f64,
    first: Side,
    /// For a group, the range of changes of nine in ten pairs.
    most: Option<(f64, f64)>,
}

/// The drawing, and a remark if not every pair has a dot in it.
pub(super) fn draw(pairs: &[(Side, Pair<f64>)], threshold: Option<f64>) -> Figure {
    let change = |(number, &(first, pair)): (usize, &(Side, Pair<f64>))| {
        let change = pair.head / pair.base - 1.0;
        change.is_finite().then_some((number + 1, first, change))
    };
    let changes: Vec<_> = pairs.iter().enumerate().filter_map(change).collect();
    if changes.is_empty() {
        return None;
    }
    let (dots, size) = dots(&changes);
    let range = range(&dots, threshold);
    let outside = dots.iter().filter(|dot| dot.change < range.0 || dot.change > range.1).count();
    let frame = ChartFrame {
        x: (0.5, pairs.len() as f64 + 0.5),
        y: range,
        x_label: &axis::count,
        y_label: &chart::percents(range),
        x_name: "pair".to_owned(),
        y_name: "head against base".to_owned(),
        logarithmic: false,
    };
    let drawing = chart::svg(chart::SIZE, &frame, |plane| {
        plane.level(0.0, INK);
        for dot in &dots {
            let colour = if dot.first == Side::Base { BASE } else { HEAD };
            if let Some((low, high)) = dot.most {
                let ends = [(dot.number, low), (dot.number, high)];
                plane.path(ends, colour.mix(0.35).stroke_width(3));
            }
            let place = plane.at(dot.number, dot.change);
            plane.draw(&Circle::new(place, 6, colour.mix(0.75).filled()));
        }
        threshold.into_iter().for_each(|threshold| plane.level(threshold, LIMIT));
    });
    let titled = if dots.len() <= TITLED { dots.as_slice() } else { &[] };
    let title = |dot: &Dot| format!("pair {}: {}", dot.number, text::percent(dot.change));
    let titles: Vec<String> = titled.iter().map(title).collect();
    let drawing = chart::titled(&drawing, "circle", &titles);
    let mut remarks = Vec::new();
    if size > 1 {
        remarks.push(format!(
            "each dot is the median of up to {size} pairs of one order, its line spans nine of \
             ten of them"
        ));
    }
    if outside > 0 {
        let dots = text::count(outside as u64, "dot");
        remarks.push(format!("{dots} beyond the range at its edge"));
    }
    Some((drawing, (!remarks.is_empty()).then(|| remarks.join("; "))))
}

/// A dot for each pair, or for each group of pairs in one order that follow each other; and the
/// largest group's size.
fn dots(changes: &[(usize, Side, f64)]) -> (Vec<Dot>, usize) {
    let mut dots = Vec::new();
    let mut largest = 1;
    for first in Side::BOTH {
        let of_order: Vec<_> = changes.iter().filter(|(_, side, _)| *side == first).collect();
        let size = if changes.len() > MOST { of_order.len().div_ceil(GROUPS).max(1) } else { 1 };
        largest = largest.max(size);
        for group in of_order.chunks(size) {
            let sorted = sorted(group.iter().map(|(_, _, change)| *change));
            dots.push(Dot {
                number: group[group.len() / 2].0 as f64,
                change: at(&sorted, 0.5),
                first,
                most: (size > 1).then(|| (at(&sorted, 0.05), at(&sorted, 0.95))),
            });
        }
    }
    dots.sort_by(|one, other| one.number.total_cmp(&other.number));
    (dots, largest)
}

/// The range of the changes that are shown: nearly all of them, zero, and the
/// threshold where it is near.
fn range(dots: &[Dot], threshold: Option<f64>) -> (f64, f64) {
    let ends = |dot: &Dot| dot.most.map_or([dot.change; 2], |(low, high)| [low, high]);
    let sorted = sorted(dots.iter().flat_map(ends));
    let (low, high) = (at(&sorted, 0.02), at(&sorted, 0.98));
    let reach = (high - low).max(0.002);
    let (least, most) = (at(&sorted, 0.0), at(&sorted, 1.0));
    let (mut from, mut to) = (least.max(low - reach), most.min(high + reach));
    for value in [Some(0.0), threshold].into_iter().flatten() {
        if value > low - 2.0 * reach && value < high + 2.0 * reach {
            (from, to) = (from.min(value), to.max(value));
        }
    }
    let margin = 0.05 * (to - from).max(0.002);
    (from - margin, to + margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_every_pair_of_their_order() {
        let side = |number: usize| if number.is_multiple_of(2) { Side::Base } else { Side::Head };
        let changes: Vec<_> = (1..=5000).map(|n| (n, side(n), n as f64)).collect();
        let (dots, size) = dots(&changes);
        assert_eq!(size, 17);
        assert!(dots.len() <= 2 * GROUPS);
        for dot in dots {
            let (low, high) = dot.most.unwrap();
            assert!(low <= dot.change && dot.change <= high && high - low <= 34.0);
        }
    }

    #[test]
    fn what_cannot_be_divided_is_not_drawn() {
        let pair = |base, head| (Side::Base, Pair { base, head });
        assert!(draw(&[pair(0.0, 1.0)], None).is_none());
        assert!(
            draw(&[pair(1.0, 1.0)], Some(0.02)).is_some_and(|(svg, _)| svg.starts_with("<svg"))
        );
    }
}
