//! The distributions of both sides in the same bins.

use cargo_cbdr::model::metric::Unit;
use cargo_cbdr::model::side::Pair;
use plotters::prelude::*;

use super::chart::{self, Area, BASE, ChartFrame, Drawn, HEAD, Plane};
use super::metric::Figure;
use crate::plot::axis::Axis;
use crate::plot::bins::Bins;
use crate::ui::text;

const BINS: usize = 40;

/// The drawing, and a remark on what is not in it.
pub(super) fn draw(values: &Pair<Vec<f64>>, unit: &Unit) -> Figure {
    let both = [values.base.clone(), values.head.clone()];
    let bins = Bins::new(&both, BINS)?;
    let range = (bins.from, bins.edge(bins.len()));
    let drawing = chart::svg(chart::SIZE, |area| drawn(area, &bins, unit));
    let titles: Vec<String> =
        [0, 1].iter().flat_map(|label| filled(&bins, *label)).map(|(_, title)| title).collect();
    let drawing = chart::titled(&drawing, "rect", &titles);
    let beyond: u64 = bins.beyond.iter().map(|(below, above)| below + above).sum();
    let axis = Axis::new(unit, range.0, range.1, bins.width);
    let missing = (beyond > 0).then(|| {
        let (from, to) = (axis.label(range.0), axis.label(range.1));
        format!("{} outside {from} to {to} not drawn", text::count(beyond, "run"))
    });
    Some((drawing, missing))
}

fn drawn<'a>(area: &Area<'a>, bins: &Bins, unit: &Unit) -> Drawn<'a> {
    let (range, highest) = ((bins.from, bins.edge(bins.len())), bins.largest());
    // Ticks are round numbers in the unit that is shown.
    let rough = Axis::new(unit, range.0, range.1, 0.0);
    let shown = (rough.scaled(range.0), rough.scaled(range.1));
    let axis = Axis::new(unit, range.0, range.1, rough.whole(chart::step(shown)));
    let share = Axis::new(&Unit::Unknown, 0.0, 100.0, chart::step((0.0, 105.0 * highest)));
    let frame = ChartFrame {
        x: shown,
        y: (0.0, 1.05 * highest),
        x_label: &|x| axis.number(axis.whole(x)),
        y_label: &|y| format!("{}%", share.number(100.0 * y)),
        x_name: axis.unit.clone(),
        y_name: "share of the runs".to_owned(),
        logarithmic: false,
    };
    let plane = frame.draw(area)?;
    for (label, colour) in [(0, BASE), (1, HEAD)] {
        bars(area, &plane, &axis, bins, label, colour)?;
    }
    Ok(())
}

/// The bins that hold runs of a side, and how many each holds in words.
fn filled(bins: &Bins, label: usize) -> impl Iterator<Item = (usize, String)> {
    let side = if label == 0 { "base" } else { "head" };
    let count = move |bin: usize| bins.counts[label][bin];
    let bins = (0..bins.len()).filter(move |bin| count(*bin) > 0);
    bins.map(move |bin| (bin, format!("{side}: {}", text::count(count(bin), "run"))))
}

/// The bars of one side; in each bin, those of the sides overlap.
fn bars<'a>(
    area: &Area<'a>,
    plane: &Plane,
    axis: &Axis,
    bins: &Bins,
    label: usize,
    colour: RGBColor,
) -> Drawn<'a> {
    for (bin, _) in filled(bins, label) {
        let (left, top) = plane.at(axis.scaled(bins.edge(bin)), bins.share(label, bin));
        let (right, bottom) = plane.at(axis.scaled(bins.edge(bin + 1)), 0.0);
        let corners = [(left + 1, top), (right - 1, bottom)];
        area.draw(&Rectangle::new(corners, colour.mix(0.35).filled()))?;
    }
    Ok(())
}
