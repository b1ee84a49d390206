//! What all charts have in common: size, colours and frame.
//!
//! The colours are those of the light page. Where the page is dark or printed, its
//! style sheet replaces each of them, which it finds by value.

use std::fmt::Display;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::render::escape::xml;

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
pub(super) const SIZE: (u32, u32) = (960, 590);

/// The size of a chart that is as wide as the page.
pub(super) const WIDE: (u32, u32) = (2160, 760);

/// The height of text.
const LETTERS: u32 = 27;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Drawn<'a, T = ()> =
    Result<T, DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// A drawing as SVG, or a sentence why there is none.
pub(super) fn svg(size: (u32, u32), draw: impl for<'a> FnOnce(&Area<'a>) -> Drawn<'a>) -> String {
    let mut text = String::new();
    let drawn = {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        draw(&area).and_then(|()| area.present()).map_err(|error| error.to_string())
    };
    if let Err(error) = drawn {
        return xml(&format!("could not be drawn: {error}"));
    }
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
        let whole = titles.next().zip(part.split_once('>'));
        let Some((title, (attributes, rest))) = whole else {
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

/// Maps the values of a frame to positions on the area.
pub(super) struct Plane {
    x: (f64, f64),
    y: (f64, f64),
    logarithmic: bool,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Plane {
    /// The position of a point. A point outside the frame is at its edge.
    pub(super) fn at(&self, x: f64, y: f64) -> (i32, i32) {
        let scale = |x: f64| if self.logarithmic { x.max(f64::MIN_POSITIVE).ln() } else { x };
        let part = (scale(x) - scale(self.x.0)) / (scale(self.x.1) - scale(self.x.0));
        let across = self.left + part.clamp(0.0, 1.0) * (self.right - self.left);
        let part = ((y - self.y.0) / (self.y.1 - self.y.0)).clamp(0.0, 1.0);
        let down = self.bottom - part * (self.bottom - self.top);
        (across.round() as i32, down.round() as i32)
    }
}

impl ChartFrame<'_> {
    /// Draws the grid and its numbers.
    pub(super) fn draw<'a>(&self, area: &Area<'a>) -> Drawn<'a, Plane> {
        let (width, height) = area.dim_in_pixel();
        let (width, height) = (f64::from(width), f64::from(height));
        let rows = ticks(self.y, 5);
        let texts: Vec<String> = rows.iter().map(|&y| (self.y_label)(y)).collect();
        let widest = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        let plane = Plane {
            x: self.x,
            y: self.y,
            logarithmic: self.logarithmic,
            left: 24.0 + 0.56 * f64::from(LETTERS) * widest as f64,
            right: width - 36.0,
            top: 56.0,
            bottom: height - 96.0,
        };
        for (&y, text) in rows.iter().zip(&texts) {
            let (left, right) = (plane.at(self.x.0, y), plane.at(self.x.1, y));
            area.draw(&PathElement::new([left, right], GRID.stroke_width(2)))?;
            write(area, text, (left.0 - 12, left.1), (HPos::Right, VPos::Center))?;
        }
        let columns = match self.logarithmic {
            true => powers(self.x),
            false => ticks(self.x, 5),
        };
        for value in columns {
            let (x, bottom) = plane.at(value, self.y.0);
            area.draw(&PathElement::new([(x, bottom), (x, bottom + 8)], GRID.stroke_width(2)))?;
            let text = (self.x_label)(value);
            write(area, &text, (x, bottom + 16), (HPos::Center, VPos::Top))?;
        }
        let middle = ((plane.left + plane.right) / 2.0) as i32;
        write(area, &self.x_name, (middle, height as i32 - 6), (HPos::Center, VPos::Bottom))?;
        write(area, &self.y_name, (8, 6), (HPos::Left, VPos::Top))?;
        Ok(plane)
    }
}

/// Writes text; `place` is its left, middle or right, and its top, middle or
/// bottom.
pub(super) fn write<'a>(
    area: &Area<'a>,
    text: &impl Display,
    place: (i32, i32),
    (across, down): (HPos, VPos),
) -> Drawn<'a> {
    let font = ("sans-serif", LETTERS).into_font().color(&INK);
    area.draw(&Text::new(text.to_string(), place, font.pos(Pos::new(across, down))))
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
    match ticks(range, 5).as_slice() {
        [first, second, ..] => second - first,
        _ => range.1 - range.0,
    }
}

/// 1, 2, 5, 10 and so on within a range of positive numbers; only the powers of ten
/// where the range is wide.
fn powers((from, to): (f64, f64)) -> Vec<f64> {
    let wide = to / from > 2000.0;
    let firsts: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
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
        let svg = svg(SIZE, |area| area.draw(&Circle::new((5, 5), 2, BASE.filled())));
        assert!(svg.starts_with("<svg viewBox=\"0 0 960 590\""), "{svg}");
        assert!(svg.contains("#2F6DB5"));
    }
}
