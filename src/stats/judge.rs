//! BenchmarkTools' judgement: the ratio of two estimates against a tolerance.
//!
//! No interval, no evidence, no promise: two numbers and a line between them. It
//! is here for those who want the answer that they know.
//!
//! # Reference
//!
//! BenchmarkTools.jl 1.8.0, `ratio` and `judge` in its `src/trials.jl`.

use crate::model::outcome::Judgement;

/// Head over base; 1 where they are equal, also of zero and zero.
pub fn ratio(base: f64, head: f64) -> f64 {
    if base == head { 1.0 } else { head / base }
}

/// Judges a ratio of which less is better. The tolerance is added and taken away,
/// so that it reaches as far down as up.
pub fn judge(ratio: f64, tolerance: f64) -> Judgement {
    if ratio.is_nan() || ratio - tolerance > 1.0 {
        Judgement::Regression
    } else if ratio + tolerance < 1.0 {
        Judgement::Improvement
    } else {
        Judgement::Invariant
    }
}
