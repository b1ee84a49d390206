//! What all charts have in common: size, colours and frame.
//!
//! The colours are those of the light page. Where the page is dark or printed, its
//! style sheet replaces each of them, which it finds by value.

use cargo_cbdr::model::metric::Unit;
use plotters::coord::Shift;
use plotters::element::{Drawable, PointCollection};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::plot::axis::Axis;
use crate::render::escape::xml;

/// A drawing, and a remark on it. `None` if there is nothing to draw.
pub(super) type Figure = Option<(String, Option<String>)>;

/// The colour of the base.
pub(super) const BASE: RGBColor = RGBColor(0x2F, 0x6D, 0xB5);
/// The colour of the head.
pub(super) const HEAD: RGBColor = RGBColor(0xD0, 0x5F, 0x27);
/// The colour of text.
pub(super) const INK: RGBColor = RGBColor(0x4A, 0x50, 0x57);
/// The colour of the grid.
pub(super) const GRID: RGBColor = RGBColor(0xE1, 0xE4, 0xE7);
/// The colour of the interval.
pub(super) const BAND: RGBColor = RGBColor(0x6C, 0x5C, 0xA8);
/// The colour of the threshold.
pub(super) const LIMIT: RGBColor = RGBColor(0xB9, 0x2C, 0x3E);

/// The size of a chart: twice its displayed size, since positions are integers.
pub(super) const SIZE: Size = (960, 590);

/// The size of a chart that is as wide as the page.
pub(super) const WIDE: Size = (2160, 760);

/// The height of text.
const LETTERS: u32 = 27;

type Size = (u32, u32);
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The drawing of a chart as SVG.
pub(super) fn svg(size: Size, frame: &ChartFrame<'_>, draw: impl FnOnce(&Plane<'_>)) -> String {
    let mut text = String::new();
    draw(&frame.drawn_on(SVGBackend::with_string(&mut text, size).into_drawing_area()));
    // Without a size of its own a drawing fills its place; the view box keeps its shape.
    let (width, height) = size;
    text.replacen(&format!(" width=\"{width}\" height=\"{height}\""), "", 1)
}

/// A drawing in which the first elements of a kind have titles, which a browser shows for the
/// element at the pointer.
pub(super) fn titled(svg: &str, element: &str, titles: &[String]) -> String {
    let begin = format!("<{element} ");
    let mut parts = svg.split(&begin);
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut titles = titles.iter();
    for part in parts {
        out += &begin;
        let Some((title, (attributes, rest))) = titles.next().zip(part.split_once('>')) else {
            out += part;
            continue;
        };
        let title = format!("<title>{}</title>", xml(title));
        out += &match attributes.strip_suffix('/') {
            Some(attributes) => format!("{attributes}>{title}</{element}>{rest}"),
            None => format!("{attributes}>{title}{rest}"),
        };
    }
    out
}

/// The frame of a chart: its ranges, and how the numbers at its sides are written.
pub(super) struct ChartFrame<'f> {
    pub(super) x: (f64, f64),
    pub(super) y: (f64, f64),
    pub(super) x_label: &'f dyn Fn(f64) -> String,
    pub(super) y_label: &'f dyn Fn(f64) -> String,
    pub(super) x_name: String,
    pub(super) y_name: String,
    /// Whether the x axis is logarithmic.
    pub(super) logarithmic: bool,
}

/// What a chart is drawn on, by the values of its frame.
pub(super) struct Plane<'a> {
    area: Area<'a>,
    frame: &'a ChartFrame<'a>,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl<'a> Plane<'a> {
    /// The position of a point. A point outside the frame is at its edge.
    pub(super) fn at(&self, x: f64, y: f64) -> (i32, i32) {
        let ChartFrame { x: across, y: up, logarithmic, .. } = self.frame;
        let scale = |x: f64| if *logarithmic { x.max(f64::MIN_POSITIVE).ln() } else { x };
        let part =
            |value: f64, (from, to): (f64, f64)| ((value - from) / (to - from)).clamp(0.0, 1.0);
        let across = part(scale(x), (scale(across.0), scale(across.1)));
        let right = self.left + across * (self.right - self.left);
        let down = self.bottom - part(y, *up) * (self.bottom - self.top);
        (right.round() as i32, down.round() as i32)
    }

    pub(super) fn draw<E>(&self, element: &E)
    where
        for<'e> &'e E: PointCollection<'e, (i32, i32)>,
        E: Drawable<SVGBackend<'a>>,
    {
        // Drawing in memory does not fail.
        let _ = self.area.draw(element);
    }

    /// Draws a line through points.
    pub(super) fn path(&self, points: impl IntoIterator<Item = (f64, f64)>, style: ShapeStyle) {
        let points: Vec<_> = points.into_iter().map(|(x, y)| self.at(x, y)).collect();
        self.draw(&PathElement::new(points, style));
    }

    /// Draws a line from left to right at `y`, if that is in the frame.
    pub(super) fn level(&self, y: f64, colour: RGBColor) {
        let ChartFrame { x: (left, right), y: (low, high), .. } = *self.frame;
        if (low..=high).contains(&y) {
            let width = if colour == LIMIT { 4 } else { 2 };
            self.path([(left, y), (right, y)], colour.stroke_width(width));
        }
    }

    /// Writes text; `place` is its left, middle or right, and its top, middle or
    /// bottom.
    pub(super) fn write(&self, text: &str, place: (i32, i32), (across, down): (HPos, VPos)) {
        let font = ("sans-serif", LETTERS).into_font().color(&INK);
        self.draw(&Text::new(text.to_owned(), place, font.pos(Pos::new(across, down))));
    }
}

impl ChartFrame<'_> {
    /// Draws the grid and its numbers.
    fn drawn_on<'a>(&'a self, area: Area<'a>) -> Plane<'a> {
        let (width, height) = area.dim_in_pixel();
        let (width, height) = (f64::from(width), f64::from(height));
        let rows = ticks(self.y, 5);
        let texts: Vec<String> = rows.iter().map(|&y| (self.y_label)(y)).collect();
        let widest = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        let plane = Plane {
            area,
            frame: self,
            left: 24.0 + 0.56 * f64::from(LETTERS) * widest as f64,
            right: width - 36.0,
            top: 56.0,
            bottom: height - 96.0,
        };
        for (&y, text) in rows.iter().zip(&texts) {
            plane.path([(self.x.0, y), (self.x.1, y)], GRID.stroke_width(2));
            let (left, down) = plane.at(self.x.0, y);
            plane.write(text, (left - 12, down), (HPos::Right, VPos::Center));
        }
        let columns = if self.logarithmic { powers(self.x) } else { ticks(self.x, 5) };
        for value in columns {
            let (x, bottom) = plane.at(value, self.y.0);
            plane.draw(&PathElement::new([(x, bottom), (x, bottom + 8)], GRID.stroke_width(2)));
            plane.write(&(self.x_label)(value), (x, bottom + 16), (HPos::Center, VPos::Top));
        }
        let middle = ((plane.left + plane.right) / 2.0) as i32;
        plane.write(&self.x_name, (middle, height as i32 - 6), (HPos::Center, VPos::Bottom));
        plane.write(&self.y_name, (8, 6), (HPos::Left, VPos::Top));
        plane
    }
}

/// Writes the changes of a range in percent.
pub(super) fn percents(range: (f64, f64)) -> impl Fn(f64) -> String {
    let axis = Axis::new(&Unit::Unknown, 0.0, 100.0, step((100.0 * range.0, 100.0 * range.1)));
    move |change| format!("{}%", axis.number(100.0 * change))
}

/// About `count` round numbers within a range.
fn ticks((from, to): (f64, f64), count: usize) -> Vec<f64> {
    let rough = (to - from) / count as f64;
    if rough.is_nan() || rough <= 0.0 || !rough.is_finite() {
        return vec![from];
    }
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|step| step * power);
    let step = steps.into_iter().find(|&step| step >= rough * 0.999).unwrap_or(rough);
    let first = (from / step - 1e-9).ceil() as i64;
    let last = (to / step + 1e-9).floor() as i64;
    (first..=last).map(|number| number as f64 * step).collect()
}

/// The distance of the round numbers in a range.
pub(super) fn step(range: (f64, f64)) -> f64 {
    if let [first, second, ..] = ticks(range, 5)[..] { second - first } else { range.1 - range.0 }
}

/// 1, 2, 5, 10 and so on within a range of positive numbers; only the powers of ten
/// where the range is wide.
fn powers((from, to): (f64, f64)) -> Vec<f64> {
    let firsts: &[f64] = if to / from > 2000.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let exponents = from.log10().floor() as i32..=to.log10().ceil() as i32;
    let all = exponents.flat_map(|exponent| firsts.iter().map(move |f| f * 10_f64.powi(exponent)));
    all.filter(|value| (from..=to).contains(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        let near = |found: Vec<f64>, expected: &[f64]| {
            assert_eq!(found.len(), expected.len(), "{found:?}");
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
        };
        near(ticks((0.0, 10.0), 5), &[0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        near(ticks((-0.013, 0.021), 5), &[-0.01, 0.0, 0.01, 0.02]);
        near(ticks((3.0, 3.0), 5), &[3.0]);
        near(powers((1.0, 40.0)), &[1.0, 2.0, 5.0, 10.0, 20.0]);
        near(powers((1.0, 1e6)), &[1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]);
    }

    #[test]
    fn elements_get_their_titles_in_order() {
        let svg = "<svg x=\"1\"><circle r=\"1\"/><rect/><circle r=\"2\"/></svg>";
        let titles = ["a<b".to_owned(), "c".to_owned(), "no more".to_owned()];
        let expected = "<svg x=\"1\"><circle r=\"1\"><title>a&lt;b</title></circle><rect/>\
                        <circle r=\"2\"><title>c</title></circle></svg>";
        assert_eq!(titled(svg, "circle", &titles), expected);
        let whole = titled("<svg x=\"1\"></svg>", "svg", &titles);
        assert_eq!(whole, "<svg x=\"1\"><title>a&lt;b</title></svg>");
    }

    #[test]
    fn a_drawing_has_no_size_of_its_own() {
        let number = |value: f64| value.to_string();
        let frame = ChartFrame {
            x: (0.0, 1.0),
            y: (0.0, 1.0),
            x_label: &number,
            y_label: &number,
            x_name: String::new(),
            y_name: String::new(),
            logarithmic: false,
        };
        let dot = Circle::new((5, 5), 2, BASE.filled());
        let svg = svg(SIZE, &frame, |plane| plane.draw(&dot));
        assert!(svg.starts_with("<svg viewBox=\"0 0 960 590\""), "{svg}");
        assert!(svg.contains("#2F6DB5"));
    }
}
