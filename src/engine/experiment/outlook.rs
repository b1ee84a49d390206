//! How much longer verdicts will take, if the noise stays as it is.

use super::Experiment;
use super::state::{BenchmarkState, GroupState, Outlook};
use crate::model::Unlikely;
use crate::stats::forecast::Forecast;

/// The number of pairs before the first forecast: fewer show too little of the
/// noise.
const PAIRS_TO_FORESEE: u64 = 20;

/// The number of pairs that show how long they take: the first may have a cold cache.
const PAIRS_TO_TIME: u64 = 3;

/// How many times the limit a forecast has to be for a warning, since forecasts are rough; and how
/// many times the time that is left that of the minimum number of pairs is if it is out of reach.
const CLEARLY: f64 = 2.0;

/// How many times the pairs for which there is time a forecast has to be for giving a test up.
const HOPELESS: f64 = 10.0;

/// The share of the pairs for which there is time that a test has before it may be given up. An
/// estimate from fewer says too little: at a sixteenth of the pairs, the verdict that follows would
/// be lost three times as often (simulated by `examples/error-rates/giving_up.rs`).
const SHARE_BEFORE_GIVING_UP: f64 = 0.25;

impl GroupState {
    /// Whether it has too few pairs for a forecast.
    pub(super) fn is_early(&self) -> bool {
        self.is_open && self.pairs < PAIRS_TO_FORESEE
    }
}

impl BenchmarkState {
    fn outlook(&self) -> Outlook {
        let open = self.open_tests().map(|test| Outlook::of(test, self.pairs));
        open.fold(Outlook::DECIDED, Outlook::along_with)
    }
}

impl Experiment {
    /// Whether no further verdict is expected within the time limit.
    pub(super) fn is_hopeless(&self, elapsed: f64) -> bool {
        let left = self.plan.left(elapsed);
        // How many pairs of each there is time for: what is open shares it.
        let shared = left / self.open_groups().map(|group| group.pair_seconds).sum::<f64>();
        let is_hopeless = |number: usize| {
            let group = &self.groups[number];
            if group.pairs < group.least {
                // Those from before show that, too, if there are no others.
                let timed = if group.is_timed { group.timed_pairs } else { group.pairs };
                let is_timed = self.needs_minimum && timed >= PAIRS_TO_TIME;
                return is_timed && group.lacking() > CLEARLY * left;
            }
            let share = group.pairs as f64 / (group.pairs as f64 + shared);
            // Nor would all of the time be enough for this one alone.
            let most = (HOPELESS * shared).max(left / group.pair_seconds);
            group.pairs >= PAIRS_TO_FORESEE
                && share >= SHARE_BEFORE_GIVING_UP
                && self.outlook(number).soonest.is_none_or(|pairs| pairs > most)
        };
        let mut open = (0..self.groups.len()).filter(|number| self.groups[*number].is_open);
        self.plan.gives_up && open.all(is_hopeless)
    }

    /// The first test without an expected verdict within the limits, and the number of
    /// others. Returned once, when every group has enough pairs for a forecast.
    pub(crate) fn unlikely(&mut self) -> Option<&Unlikely> {
        if self.has_foreseen || self.groups.iter().any(GroupState::is_early) {
            return None;
        }
        let open = (0..self.groups.len()).filter(|&group| self.groups[group].is_open);
        let mut found = open.flat_map(|group| self.unlikely_in(group));
        let first = found.next();
        let all = first.map(|first| Unlikely { others: found.count(), ..first });
        (self.has_foreseen, self.foreseen) = (true, all);
        self.foreseen()
    }

    /// What [`unlikely`](Experiment::unlikely) returned.
    pub(crate) fn foreseen(&self) -> Option<&Unlikely> {
        self.foreseen.as_ref()
    }

    fn unlikely_in(&self, number: usize) -> Vec<Unlikely> {
        let group = &self.groups[number];
        let left = self.plan.left(self.elapsed);
        let in_time = group.pairs.saturating_add((left / group.pair_seconds).max(0.0) as u64);
        let most_pairs = self.plan.max_pairs.filter(|most| *most < in_time);
        let affordable = most_pairs.unwrap_or(in_time);
        let unit = if most_pairs.is_some() { 1.0 } else { group.pair_seconds };
        let open = self
            .of_group(number)
            .iter()
            .flat_map(|benchmark| benchmark.open_tests().map(move |test| (benchmark, test)));
        let found = open.filter_map(|(benchmark, test)| {
            let needed = match test.forecast() {
                Forecast::Pairs(pairs) => Some(pairs),
                Forecast::Never => None,
                Forecast::Unknown => return None,
            };
            if needed.is_some_and(|needed| (needed as f64) < CLEARLY * affordable as f64) {
                return None;
            }
            Some(Unlikely {
                benchmark: benchmark.name.clone(),
                metric: test.metric().name.clone(),
                limit: test.metric().better.limit(test.threshold()?),
                most_pairs,
                needed: needed.map(|pairs| pairs as f64 * unit),
                reach: test.reach(affordable),
                others: 0,
            })
        });
        found.collect()
    }

    /// Seconds until all verdicts, or until a limit if there are no verdicts.
    pub(super) fn remaining(&self) -> Option<f64> {
        let groups = 0..self.groups.len();
        if self.plan.decides {
            let seconds =
                |group: usize| Some(self.outlook(group).all? * self.groups[group].pair_seconds);
            return groups.map(seconds).sum();
        }
        let most = self.plan.max_pairs.unwrap_or(u64::MAX);
        let seconds =
            |group: &GroupState| most.saturating_sub(group.pairs) as f64 * group.pair_seconds;
        let left: f64 = self.open_groups().map(seconds).sum();
        Some(left.min(self.plan.left(self.elapsed)).max(0.0))
    }

    /// The outlook of a group, all of which is measured until the suite has its verdict. Otherwise
    /// a benchmark that leaves makes later pairs proportionally shorter.
    pub(super) fn outlook(&self, group: usize) -> Outlook {
        *self.groups[group].outlook.get_or_init(|| {
            let each: Vec<Outlook> =
                self.of_group(group).iter().map(BenchmarkState::outlook).collect();
            let mut own = each.iter().copied().fold(Outlook::DECIDED, Outlook::along_with);
            if self.plan.groups[group].can_select_benchmarks {
                let left: Option<f64> = each.iter().map(|one| one.all).sum();
                own.all = left.map(|left| left / self.wanted(group).len().max(1) as f64);
            }
            let suite = self.suite.iter().filter(|number| number.is_open());
            let suite = suite.map(|number| {
                let test = number.test();
                Outlook::of(test, test.pairs()).in_rounds_of(number.round_length())
            });
            suite.fold(own, Outlook::along_with)
        })
    }
}
