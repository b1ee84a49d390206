//! Numbers along an axis: all in one unit, with as many digits as tell them
//! apart.

use cargo_cbdr::metric::Unit;

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
    /// Of values from `from` to `to`, `step` apart.
    pub(crate) fn new(unit: &Unit, from: f64, to: f64, step: f64) -> Self {
        let largest = from.abs().max(to.abs());
        let (scales, rest) = text::scales(unit);
        // Plain numbers get no prefix that makes them larger.
        let plain = matches!(unit, Unit::Unknown | Unit::Count);
        let mut sensible = scales.iter().filter(|(scale, _)| !plain || *scale >= 1.0);
        let smallest = sensible.clone().next_back();
        let fits = sensible.find(|(scale, _)| largest > 0.0 && largest >= *scale);
        let (scale, prefix) = fits.or(smallest).copied().unwrap_or((1.0, ""));
        let unit = format!("{prefix}{rest}");
        let step = step / scale;
        let digits = if step > 0.0 { (-step.log10()).ceil().clamp(0.0, 9.0) as usize } else { 0 };
        Axis { scale, unit, digits }
    }

    /// A value without its unit.
    pub(crate) fn number(&self, value: f64) -> String {
        let digits = self.digits;
        let number = format!("{:.digits$}", value / self.scale);
        // No "-0.0".
        let zero = number.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
        if zero { number.trim_start_matches('-').to_owned() } else { number }
    }

    /// A value with its unit.
    pub(crate) fn label(&self, value: f64) -> String {
        format!("{} {}", self.number(value), self.unit).trim_end().to_owned()
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
        let axis = Axis::new(&Unit::Bytes, 0.0, 3_000_000.0, 100_000.0);
        assert_eq!((axis.number(1_048_576.0), axis.unit.as_str()), ("1.00".to_owned(), "MiB"));
        let axis = Axis::new(&Unit::Unknown, -0.5, 0.5, 0.25);
        assert_eq!((axis.number(-0.001), axis.number(0.25)), ("0.0".to_owned(), "0.2".to_owned()));
        assert_eq!(Axis::new(&Unit::Unknown, 0.0, 0.0, 0.0).label(0.0), "0");
    }
}
