//! Which builds are compared: those of the profile, or others with one codegen unit per crate.
//!
//! With several units, an edited function changes what is inlined into others, which then differ,
//! too. Builds are never mixed: what is equal with one unit may really be slower with several.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::options::Options;
use super::unaffected::LeftOut;
use super::warm_up::WarmUps;
use crate::error::Error;
use crate::exec::known::Known;
use crate::model::Notice;
use crate::settings::options::Benchmark;
use crate::workspace::{Preparation, Request};

/// How long it takes to measure a benchmark, roughly; not as it was measured, so that all
/// comparisons of two commits choose the same builds.
const PER_BENCHMARK: Duration = Duration::from_secs(1);

/// Others are built if what is to be measured takes longer than this, and than half of the time
/// limit.
const LONG: Duration = Duration::from_secs(60);

/// They are used if they leave out more benchmarks by at least this part of all.
const CLEARLY: f64 = 0.25;

/// The builds that are compared.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Builds {
    /// Whether they have one codegen unit where the number may be chosen.
    one_unit: bool,
    is_chosen: bool,
    /// The number of benchmarks that are measured with the profile's, and of all.
    with_profile: (usize, usize),
    /// The number of benchmarks that are measured with one unit.
    with_one: usize,
    /// What the choice depends on.
    #[serde(skip)]
    parts: Vec<String>,
    /// What builds on neither side, and is not built again.
    #[serde(skip)]
    pub(super) unbuilt: Vec<String>,
    /// The unmeasured runs of the latest builds.
    #[serde(skip)]
    pub(super) warm_ups: WarmUps,
}

impl Builds {
    /// The profile's at first, and at last where all is measured. What was packed is compared, and
    /// machines that build on their own have to build the same.
    pub(super) fn first(options: &Options) -> Self {
        let Request { aa, always_run, measure_all, .. } = options.request;
        let is_divided = options.packed.is_some() || options.shard.is_some();
        let is_chosen = aa || always_run || measure_all || is_divided;
        Builds { is_chosen, ..Builds::default() }
    }

    /// The request for them.
    pub(super) fn request(&self, request: &Request) -> Request {
        let unbuilt = self.unbuilt.clone();
        Request { one_unit: self.one_unit, unbuilt, ..request.clone() }
    }

    /// Whether an earlier comparison of the programs has chosen other builds.
    pub(super) fn recall(&mut self, preparation: &Preparation, filter: Option<&str>) -> bool {
        self.is_chosen |= !preparation.settings.benchmarks.iter().all(Benchmark::chooses_units);
        if self.is_chosen || self.one_unit {
            return false;
        }
        let programs = preparation.benchmarks.iter().flat_map(|one| {
            let args = format!("{:?}", one.benchmark.args);
            one.state.programs().map(move |program| format!("{} {args}", program.identity))
        });
        let rest = format!("{filter:?} {:?}", preparation.settings.limits.time);
        let parts: Vec<String> = programs.chain([rest]).collect();
        let stored = known(preparation, &parts).read();
        let unbuilt = std::mem::take(&mut self.unbuilt);
        *self = Builds { parts, unbuilt, ..stored.unwrap_or_default() };
        self.one_unit
    }

    /// Whether the profile's are compared because others fail, with this error.
    pub(super) fn are_given_up(&mut self, error: &Error) -> bool {
        let are_others = std::mem::take(&mut self.one_unit) && !error.is_interrupt();
        self.is_chosen |= are_others;
        are_others
    }

    /// Whether one codegen unit may leave out more than these builds, as far as is known.
    pub(super) fn may_be_improved(&self) -> bool {
        !self.one_unit && self.with_profile == (0, 0)
    }

    /// Whether others are to be compared instead, after what was left out of these.
    pub(super) fn are_replaced(&mut self, left: &LeftOut, preparation: &Preparation) -> bool {
        let (measured, all) = (left.of - left.unaffected, left.of);
        if self.one_unit {
            self.with_one = measured;
        }
        if self.is_chosen {
            return false;
        }
        if self.one_unit {
            let (measured, all) = self.with_profile;
            let saved = measured as f64 - self.with_one as f64;
            self.one_unit = saved >= CLEARLY * all as f64;
            self.is_chosen = true;
            known(preparation, &self.parts).write(self);
            return !self.one_unit;
        }
        let time = PER_BENCHMARK * measured as u32;
        let is_long = time >= LONG.max(preparation.settings.limits.time / 2);
        self.with_profile = (measured, all);
        self.one_unit = left.has_units && is_long && measured > all / 2;
        self.is_chosen = !self.one_unit;
        self.one_unit
    }

    /// That they are not the profile's.
    pub(super) fn notice(&self) -> Option<Notice> {
        let (instead_of, of) = self.with_profile;
        let notice = Notice::OneUnit { measured: self.with_one, instead_of, of };
        self.one_unit.then_some(notice)
    }
}

/// The choice of earlier comparisons.
fn known(preparation: &Preparation, parts: &[String]) -> Known {
    Known::new(&preparation.cache.found_out("codegen-units-v1"), parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_codegen_unit_is_advised_until_it_was_tried() {
        let first = Builds::default();
        let of_one = Builds { one_unit: true, ..Builds::default() };
        let given_up = Builds { with_profile: (67, 67), with_one: 67, ..Builds::default() };
        let improved = [first, of_one, given_up].map(|builds| builds.may_be_improved());
        assert_eq!(improved, [true, false, false]);
    }
}
