//! How many pairs the verdict will need, if the noise stays as it is.
//!
//! A plug-in: the effect seen so far is held fixed, and the least number of pairs
//! is sought with which its evidence decides. A forecast, not a promise: the
//! effect is itself uncertain, most of all after few pairs.

use super::estimator::{Running, Signal};
use super::sequential::{c2, ln_evidence, ln_needed, ln_sign_evidence};

/// Beyond this many pairs nobody waits.
const CAP: u64 = 10_000_000;

/// Fewer pairs say too little of their own spread.
const FEWEST: u64 = 3;

/// When the verdict is to be expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forecast {
    /// With this many pairs in all, those already measured included.
    Pairs(u64),
    /// Not within ten million pairs: the change is too close to the threshold.
    Never,
    /// There are too few pairs to say, or the estimate is undefined.
    Unknown,
}

/// The number of pairs in all with which `running` is expected to decide about
/// `threshold` (as in [`Running::decide`]).
pub fn pairs_to_verdict(running: &Running, threshold: f64) -> Forecast {
    let pairs = running.pairs();
    if running.decide(threshold).is_some() {
        return Forecast::Pairs(pairs);
    }
    let signal = running.critical_change(threshold).and_then(|change| running.signal(change));
    let Some(signal) = signal.filter(|_| pairs >= FEWEST) else {
        return Forecast::Unknown;
    };
    let above = match signal {
        Signal::Share { above, .. } => above,
        Signal::Signs { above, below } => above > below,
    };
    let level = if above { running.lower_level() } else { running.upper_level() };
    let Some(needed) = ln_needed(level) else {
        return Forecast::Never;
    };
    let decides = |count: u64| evidence(signal, level, pairs, count) >= needed;
    first(pairs + 1, decides).map_or(Forecast::Never, Forecast::Pairs)
}

/// The evidence of `count` pairs, if all go on as the first `pairs` did.
fn evidence(signal: Signal, level: f64, pairs: u64, count: u64) -> f64 {
    match signal {
        Signal::Share { share, .. } => ln_evidence(count, share, c2(level)),
        Signal::Signs { above, below } => {
            let scale = count as f64 / pairs as f64;
            ln_sign_evidence(scale * above as f64, scale * below as f64)
        }
    }
}

/// The least number from `start` up to the cap that `decides`: evidence falls at
/// first, and once it rises it goes on rising.
fn first(start: u64, decides: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut below, mut enough) = (start, start);
    while !decides(enough) {
        if enough >= CAP {
            return None;
        }
        below = enough + 1;
        enough = (2 * enough).min(CAP);
    }
    while below < enough {
        let middle = below + (enough - below) / 2;
        if decides(middle) {
            enough = middle;
        } else {
            below = middle + 1;
        }
    }
    Some(enough)
}
