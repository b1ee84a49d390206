//! The distributions of both sides in the same bins.

use cargo_cbdr::model::{Pair, Unit};
use plotters::prelude::*;

use super::chart::{self, BASE, ChartFrame, Figure, HEAD};
use crate::plot::axis::Axis;
use crate::plot::bins::Bins;
use crate::ui::text;

const BINS: usize = 40;

/// The drawing, and a remark on what is not in it.
pub(super) fn draw(values: &Pair<Vec<f64>>, unit: &Unit) -> Figure {
    let bins = Bins::new(&[values.base.clone(), values.head.clone()], BINS)?;
    let (range, highest) = ((bins.from, bins.edge(bins.len())), 1.05 * bins.largest());
    // Ticks are round numbers in the unit that is shown.
    let rough = Axis::new(unit, range.0, range.1, 0.0);
    let shown = (rough.scaled(range.0), rough.scaled(range.1));
    let axis = Axis::new(unit, range.0, range.1, rough.whole(chart::step(shown)));
    let frame = ChartFrame {
        x: shown,
        y: (0.0, highest),
        x_label: &|x| axis.number(axis.whole(x)),
        y_label: &chart::percents((0.0, highest)),
        x_name: axis.unit.clone(),
        y_name: "share of the runs".to_owned(),
        logarithmic: false,
    };
    let mut titles = Vec::new();
    let drawing = chart::svg(chart::SIZE, &frame, |plane| {
        for (label, side, colour) in [(0, "base", BASE), (1, "head", HEAD)] {
            // In each bin, the bars of the sides overlap.
            for bin in (0..bins.len()).filter(|bin| bins.counts[label][*bin] > 0) {
                let (left, top) = plane.at(axis.scaled(bins.edge(bin)), bins.share(label, bin));
                let (right, bottom) = plane.at(axis.scaled(bins.edge(bin + 1)), 0.0);
                let corners = [(left + 1, top), (right - 1, bottom)];
                plane.draw(&Rectangle::new(corners, colour.mix(0.35).filled()));
                titles.push(format!("{side}: {}", text::count(bins.counts[label][bin], "run")));
            }
        }
    });
    Some((chart::titled(&drawing, "rect", &titles), bins.not_drawn(unit)))
}
