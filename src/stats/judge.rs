//! BenchmarkTools' judgement: the ratio of two estimates against a tolerance.
//!
//! It has no interval, no evidence and no guarantee. It is for those who want
//! BenchmarkTools' result.
//!
//! # Reference
//!
//! BenchmarkTools.jl 1.8.0, `ratio` and `judge` in its `src/trials.jl`.

use crate::model::Judgement;

/// Head over base; 1 if they are equal, even if both are zero.
pub fn ratio(base: f64, head: f64) -> f64 {
    if base == head { 1.0 } else { head / base }
}

/// Judges a ratio where lower is better. The tolerance is added and subtracted, so
/// it is symmetric about 1.
pub fn judge(ratio: f64, tolerance: f64) -> Judgement {
    if ratio.is_nan() || ratio - tolerance > 1.0 {
        Judgement::Regression
    } else if ratio + tolerance < 1.0 {
        Judgement::Improvement
    } else {
        Judgement::Invariant
    }
}
