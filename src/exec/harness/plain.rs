//! No dialect at all: what the process took is the measurement.

use super::Reading;
use crate::model::row::Sample;

/// It reports nothing of its own.
pub(super) fn read() -> Reading {
    Reading::Process(Sample::new())
}
