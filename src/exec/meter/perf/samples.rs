//! The samples of a program.

use std::collections::BTreeMap;

use crate::exec::meter::call_stack::CallStack;

/// Samples of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PerfSamples {
    pub(crate) count: u64,
    /// Their weights by call stacks. The unit is that of the event.
    pub(crate) stacks: BTreeMap<CallStack, u64>,
}

impl PerfSamples {
    pub(crate) fn add(&mut self, others: PerfSamples) {
        self.count += others.count;
        for (stack, weight) in others.stacks {
            *self.stacks.entry(stack).or_default() += weight;
        }
    }

    /// The share of the time that the program spends in each call stack, 0 to 1.
    pub(crate) fn shares(&self) -> impl Iterator<Item = (&CallStack, f64)> {
        let all: u64 = self.stacks.values().sum();
        let share = move |weight: u64| weight as f64 / all.max(1) as f64;
        self.stacks.iter().map(move |(stack, weight)| (stack, share(*weight)))
    }
}
