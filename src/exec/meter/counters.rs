//! The counters of processor and kernel, of a program and its descendants.
//!
//! Everything but `context_switches` is counted in user mode only: that is
//! allowed without privileges on most systems, and it is the program's own
//! work. Several metrics share a counter where they can, and a counter that
//! had to take turns with others (and so counted only some of the time) is an
//! error: what is scaled up from a part is an estimate, no count.

use std::io;

use super::{Error, Refusal};
use crate::exec::machine::{Machine, Processor};
use crate::exec::process::counter::{
    Count, Counter, Event, Hardware, Reason, Software, probe, reason,
};
use crate::model::metric::{KnownMetric, Metric, Source, Unit};
use crate::model::row::Values;

/// A metric, and where its counters are among all.
#[derive(Clone, Debug)]
struct Place {
    metric: &'static KnownMetric,
    counter: usize,
    /// What is to be taken away.
    minus: Option<usize>,
}

/// The counters that some metrics need.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    pub(super) counters: Vec<Counter>,
    places: Vec<Place>,
}

impl Counters {
    /// Adds a metric, if it is one of these.
    ///
    /// # Errors
    /// When this machine does not count it.
    pub(super) fn add(&mut self, name: &str, machine: &Machine) -> Result<(), Refusal> {
        let Some(metric) = KnownMetric::from(Source::Counter).find(|known| known.name == name)
        else {
            return Ok(());
        };
        let name = metric.name;
        let (counter, minus) = counters(name, &machine.processor);
        let minus = minus.transpose().map_err(|Unknown| unknown_interrupts(name))?;
        for counter in minus.iter().chain([&counter]) {
            probe(*counter).map_err(|error| refusal(name, *counter, error, machine))?;
        }
        self.push(metric, counter, minus);
        Ok(())
    }

    fn push(&mut self, metric: &'static KnownMetric, counter: Counter, minus: Option<Counter>) {
        let counter = self.place(counter);
        let minus = minus.map(|counter| self.place(counter));
        self.places.push(Place { metric, counter, minus });
    }

    fn place(&mut self, counter: Counter) -> usize {
        let known = self.counters.iter().position(|other| *other == counter);
        known.unwrap_or_else(|| {
            self.counters.push(counter);
            self.counters.len() - 1
        })
    }

    pub(super) fn metrics(&self) -> impl Iterator<Item = Metric> {
        self.places.iter().map(|place| place.metric.metric())
    }

    /// The values of a run.
    pub(super) fn read(&self, counts: &[Count]) -> Result<Values, Error> {
        let mut values = Values::new();
        for place in &self.places {
            let value = |at: usize| {
                let count = counts.get(at).copied().unwrap_or_default();
                match count.running < count.enabled || count.enabled == 0 {
                    true => Err(Error::Shared {
                        metric: place.metric.name,
                        share: count.running as f64 / count.enabled.max(1) as f64,
                    }),
                    false => Ok(count.value as f64),
                }
            };
            let minus = place.minus.map(value).transpose()?.unwrap_or(0.0);
            let value = value(place.counter)? - minus;
            // The kernel's clock counts nanoseconds.
            let is_time = place.metric.unit == Unit::Seconds;
            values.set(place.metric.name, if is_time { value / 1e9 } else { value });
        }
        Ok(values)
    }
}

/// A number that nobody told us.
struct Unknown;

/// What counts a metric, and what is taken away from it.
fn counters(name: &str, processor: &Processor) -> (Counter, Option<Result<Counter, Unknown>>) {
    let user = |event| Counter { event, kernel: false };
    let hardware = |event| (user(Event::Hardware(event)), None);
    match name {
        "cycles" => hardware(Hardware::Cycles),
        "branches" => hardware(Hardware::Branches),
        "branch_misses" => hardware(Hardware::BranchMisses),
        "cache_misses" => hardware(Hardware::CacheMisses),
        "page_faults" => (user(Event::Software(Software::PageFaults)), None),
        // They happen in the kernel.
        "context_switches" => {
            (Counter { event: Event::Software(Software::ContextSwitches), kernel: true }, None)
        }
        "task_clock" => (user(Event::Software(Software::TaskClock)), None),
        "instructions_minus_irqs" => {
            let minus = interrupts(processor).map(|number| user(Event::Raw(number)));
            (user(Event::Hardware(Hardware::Instructions)), Some(minus.ok_or(Unknown)))
        }
        _ => hardware(Hardware::Instructions),
    }
}

/// The number of the event "hardware interrupt" that came in user mode. Each
/// is counted as an instruction of the program that it interrupts, so that the
/// count depends on how long it ran; rustc's benchmarks take them away
/// (measureme's counter `instructions-minus-irqs:u`, whose findings on which
/// processors have the event these are).
pub(super) fn interrupts(processor: &Processor) -> Option<u64> {
    let (family, model) = (processor.family?, processor.model?);
    match processor.vendor.as_deref()? {
        // Zen and later: LS_INT_TAKEN; before: INTERRUPTS_TAKEN.
        "AuthenticAMD" if family >= 0x17 => Some(0x2c),
        "AuthenticAMD" if family >= 0x0f => Some(0xcf),
        // From Sandy Bridge on: HW_INTERRUPTS.RECEIVED.
        "GenuineIntel" if family == 6 && model >= 42 => Some(0x1cb),
        _ => None,
    }
}

fn unknown_interrupts(name: &'static str) -> Refusal {
    Refusal {
        metric: name,
        why: "how this processor counts interrupts is not known".to_owned(),
        hint: Some("`instructions` leaves them in".to_owned()),
        source: None,
    }
}

/// What it means that a counter could not be opened, and what can be done.
fn refusal(metric: &'static str, counter: Counter, error: io::Error, machine: &Machine) -> Refusal {
    let is_virtual = machine.processor.is_virtual;
    let elsewhere = "`instructions_cachegrind` counts with valgrind, on any machine".to_owned();
    let helps = !matches!(counter.event, Event::Software(_)) && super::HAS_VALGRIND;
    let elsewhere = helps.then_some(elsewhere);
    // Without a privilege, one may count oneself: in user mode up to 2, in the
    // kernel up to 1.
    let enough = if counter.kernel { 1 } else { 2 };
    let paranoid = machine.perf_event_paranoid;
    let (why, hint) = match (reason(&error), paranoid) {
        (Reason::NoEvent, _) if is_virtual => (
            "this virtual machine has no such counter: its host does not pass it on".to_owned(),
            elsewhere,
        ),
        (Reason::NoEvent, _) => {
            ("neither the processor nor the kernel has such a counter".to_owned(), elsewhere)
        }
        (Reason::Forbidden, Some(level)) if level > enough => (
            format!("the setting `kernel.perf_event_paranoid` is {level}, which forbids it"),
            Some(format!(
                "`sudo sysctl kernel.perf_event_paranoid={enough}`, or run with the capability \
                 CAP_PERFMON"
            )),
        ),
        (Reason::Forbidden, _) => (
            "the system call `perf_event_open` is forbidden here, as containers do (seccomp)"
                .to_owned(),
            Some(
                "start the container with `--cap-add PERFMON`, or with a seccomp profile that \
                 allows it"
                    .to_owned(),
            ),
        ),
        (Reason::NoCall, _) => ("this system has no `perf_event_open`".to_owned(), elsewhere),
        (Reason::Other, _) => ("the system refuses it".to_owned(), elsewhere),
    };
    // What has no number was not said by the system.
    let source = error.raw_os_error().map(|_| error);
    Refusal { metric, why, hint, source }
}

#[cfg(test)]
impl Counters {
    /// As on a machine that has them all.
    pub(super) fn unprobed(names: &[&'static str], processor: &Processor) -> Self {
        let mut all = Counters::default();
        for metric in KnownMetric::from(Source::Counter).filter(|m| names.contains(&m.name)) {
            let (counter, minus) = counters(metric.name, processor);
            all.push(metric, counter, minus.and_then(Result::ok));
        }
        all
    }
}

/// The refusal that this error would be.
#[cfg(all(test, target_os = "linux"))]
pub(super) fn refused(metric: &'static str, error: io::Error, machine: &Machine) -> Refusal {
    refusal(metric, counters(metric, &machine.processor).0, error, machine)
}
