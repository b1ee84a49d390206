//! Numbers along an axis, all in one unit and with enough digits to distinguish them.

use cargo_cbdr::model::metric::Unit;

use crate::render::escape::line;
use crate::ui::text;

/// How the values of an axis are written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    scale: f64,
    /// The unit, with its prefix.
    pub(crate) unit: String,
    digits: usize,
}

impl Axis {
    /// The axis of values from `from` to `to`, `step` apart.
    pub(crate) fn new(unit: &Unit, from: f64, to: f64, step: f64) -> Self {
        let largest = from.abs().max(to.abs());
        let (scales, rest) = text::scales(unit);
        // Plain numbers get no prefix that makes them larger.
        let plain = matches!(unit, Unit::Unknown | Unit::Count);
        let mut sensible = scales.iter().filter(|(scale, _)| !plain || *scale >= 1.0);
        let smallest = sensible.clone().next_back();
        let fits = sensible.find(|(scale, _)| largest > 0.0 && largest >= *scale);
        let (scale, prefix) = fits.or(smallest).copied().unwrap_or((1.0, ""));
        let unit = line(&format!("{prefix}{rest}"));
        let step = step / scale;
        let digits = if step > 0.0 { digits(step) } else { 0 };
        Axis { scale, unit, digits }
    }

    /// A value in the axis's own unit.
    pub(crate) fn scaled(&self, value: f64) -> f64 {
        value / self.scale
    }

    /// A value in the metric's unit, from one in the axis's own.
    pub(crate) fn whole(&self, scaled: f64) -> f64 {
        scaled * self.scale
    }

    /// A value without its unit.
    pub(crate) fn number(&self, value: f64) -> String {
        let scaled = value / self.scale;
        // Beyond all prefixes, a number would be too long to read.
        if scaled.abs() >= 1e7 || (scaled != 0.0 && scaled.abs() < 1e-6) {
            return format!("{scaled:.3e}");
        }
        let number = format!("{scaled:.0$}", self.digits);
        // No "-0.0".
        let zero = number.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
        if zero { number.trim_start_matches('-').to_owned() } else { number }
    }

    /// A value with its unit.
    pub(crate) fn label(&self, value: f64) -> String {
        format!("{} {}", self.number(value), self.unit).trim_end().to_owned()
    }
}

/// How many digits after the point a step and its multiples need: two digits of the step are
/// enough.
fn digits(step: f64) -> usize {
    let first = (-step.log10()).ceil().clamp(0.0, 9.0) as usize;
    let scaled = step * 10_f64.powi(first as i32);
    let whole = (scaled - scaled.round()).abs() < 1e-6 * scaled;
    if whole || scaled > 100.0 { first } else { first + 1 }
}

/// A number of things, short.
pub(crate) fn count(number: f64) -> String {
    match number {
        n if n >= 1e6 => format!("{}M", n / 1e6),
        n if n >= 1e4 => format!("{}k", n / 1e3),
        n => format!("{n:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_told_apart() {
        let axis = Axis::new(&Unit::Seconds, 1.0001e-3, 1.0009e-3, 1e-7);
        assert_eq!(axis.label(1.0001e-3), "1.0001 ms");
        assert_eq!(axis.label(1.0002e-3), "1.0002 ms");
        let axis = Axis::new(&Unit::Bytes, 0.0, 3_000_000.0, 104_857.6);
        assert_eq!((axis.number(1_048_576.0), axis.unit.as_str()), ("1.0".to_owned(), "MiB"));
        let axis = Axis::new(&Unit::Unknown, -0.5, 0.5, 0.25);
        assert_eq!(
            (axis.number(-0.001), axis.number(0.25)),
            ("0.00".to_owned(), "0.25".to_owned())
        );
        let axis = Axis::new(&Unit::Unknown, 0.0, 100.0, 2.5);
        assert_eq!((axis.number(2.5), axis.number(7.5)), ("2.5".to_owned(), "7.5".to_owned()));
        assert_eq!([250.0, 20_000.0, 2_500_000.0].map(count), ["250", "20k", "2.5M"]);
        assert_eq!(Axis::new(&Unit::Seconds, 0.0, 1e300, 1e299).label(1e300), "1.000e300 s");
        assert_eq!(Axis::new(&Unit::Unknown, 0.0, 0.0, 0.0).label(0.0), "0");
    }
}
