//! Metrics that the processor or the kernel counts, for a program and its
//! descendants.
//!
//! Everything except `context_switches` is counted in user mode only: most
//! systems allow that without privileges, and it is the program's own work.
//! Metrics share counters where they can. A counter that was multiplexed with
//! others, and so counted only part of the time, is an error: a scaled value
//! would be an estimate, not a count.

use std::io;

use super::refusal::Refusal;
use crate::error::{Failure, Help};
use crate::exec::machine::{Machine, Processor};
use crate::exec::process::counter::{
    Counter, CounterEvent, CounterReading, CounterRefusal, probe, reason,
};
use crate::model::{KnownMetric, Metric, MetricSource, Unit, Values};

/// The instructions without those that interrupts are counted as.
const MINUS_INTERRUPTS: &str = "instructions_minus_irqs";

/// A metric and its counters.
#[derive(Clone, Debug)]
struct CounterMetric {
    metric: &'static KnownMetric,
    counter: Counter,
    /// The counter whose value is subtracted.
    minus: Option<Counter>,
}

/// The metrics to be counted, and the counters that they need, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct CounterMeter {
    pub(super) counters: Vec<Counter>,
    metrics: Vec<CounterMetric>,
}

impl CounterMeter {
    /// Adds a metric if it comes from counters.
    ///
    /// # Errors
    /// If this machine does not count it.
    pub(super) fn add(&mut self, name: &str, machine: &Machine) -> Result<(), Refusal> {
        let Some(metric) =
            KnownMetric::from(MetricSource::Counter).find(|known| known.name == name)
        else {
            return Ok(());
        };
        let name = metric.name;
        let counter = counter(name);
        let minus = match name == MINUS_INTERRUPTS {
            true => Some(interrupts(&machine.processor).ok_or_else(|| {
                let why = "how this processor counts interrupts is not known";
                Refusal::new(name, why, Some("`instructions` includes them"))
            })?),
            false => None,
        };
        for counter in minus.iter().chain([&counter]) {
            probe(*counter).map_err(|error| refusal(name, *counter, error, machine))?;
        }
        self.push(metric, counter, minus);
        Ok(())
    }

    fn push(&mut self, metric: &'static KnownMetric, counter: Counter, minus: Option<Counter>) {
        for needed in [counter].into_iter().chain(minus) {
            if !self.counters.contains(&needed) {
                self.counters.push(needed);
            }
        }
        self.metrics.push(CounterMetric { metric, counter, minus });
    }

    pub(super) fn metrics(&self) -> impl Iterator<Item = Metric> {
        self.metrics.iter().map(|own| own.metric.metric())
    }

    /// The values of a run.
    pub(super) fn read(&self, readings: &[CounterReading]) -> Result<Values, Failure> {
        let mut values = Values::default();
        for CounterMetric { metric, counter, minus } in &self.metrics {
            let value = |counter: Counter| {
                let mut counted = self.counters.iter().zip(readings);
                let found = counted.find(|(known, _)| **known == counter);
                let reading = found.map_or(CounterReading::default(), |(_, reading)| *reading);
                if reading.running < reading.enabled || reading.enabled == 0 {
                    let share = reading.running as f64 / reading.enabled.max(1) as f64;
                    let (name, percent) = (metric.name, 100.0 * share);
                    let what = format!(
                        "`{name}` was counted for only {percent:.0}% of the run: the processor has \
                         too few counters for all that are in use"
                    );
                    let hint = "use fewer counters at a time; another profiler, or the kernel's \
                        watchdog (`sysctl kernel.nmi_watchdog=0`), may hold some";
                    return Err(Failure::with(what, Help::hint(hint)));
                }
                Ok(reading.value as f64)
            };
            let minus = minus.map(value).transpose()?.unwrap_or(0.0);
            let value = value(*counter)? - minus;
            // The kernel's clock counts nanoseconds.
            let is_time = metric.unit == Unit::Seconds;
            values.set(metric.name, if is_time { value / 1e9 } else { value });
        }
        Ok(values)
    }
}

/// The counter of a metric.
fn counter(name: &str) -> Counter {
    let event = CounterEvent::of(name);
    // Switches happen in the kernel.
    Counter { event, kernel: event == CounterEvent::CONTEXT_SWITCHES }
}

/// The counter of hardware interrupts in user mode, if its number is known. Each interrupt is
/// counted as an instruction of the program that it interrupts, so that the count
/// depends on how long the program ran. rustc's benchmarks subtract them
/// (measureme's counter `instructions-minus-irqs:u`; which processors have the
/// event is its finding).
fn interrupts(processor: &Processor) -> Option<Counter> {
    let family = processor.family?;
    let model = processor.model?;
    let number = match processor.vendor.as_deref()? {
        // Zen and later: LS_INT_TAKEN; before: INTERRUPTS_TAKEN.
        "AuthenticAMD" if family >= 0x17 => 0x2c,
        "AuthenticAMD" if family >= 0x0f => 0xcf,
        // From Sandy Bridge on: HW_INTERRUPTS.RECEIVED.
        "GenuineIntel" if family == 6 && model >= 42 => 0x1cb,
        _ => return None,
    };
    Some(Counter { event: CounterEvent::raw(number), kernel: false })
}

/// Explains why a counter could not be opened, and what the user can do.
fn refusal(metric: &'static str, counter: Counter, error: io::Error, machine: &Machine) -> Refusal {
    let elsewhere = "`instructions_cachegrind` counts with valgrind, on any machine";
    let elsewhere = Some(elsewhere).filter(|_| !counter.event.is_of_kernel());
    // Up to 2, everybody may count their own programs in user mode; up to 1, also
    // in the kernel.
    let enough = if counter.kernel { 1 } else { 2 };
    let level = machine.perf_event_paranoid.unwrap_or(enough);
    let forbidden =
        format!("the setting `kernel.perf_event_paranoid` is {level}, which forbids it");
    let allow = format!(
        "`sudo sysctl kernel.perf_event_paranoid={enough}`, or run with the capability CAP_PERFMON"
    );
    let (why, hint) = match reason(&error) {
        CounterRefusal::NoEvent if machine.processor.is_virtual => {
            ("this virtual machine has no such counter: its host does not expose it", elsewhere)
        }
        CounterRefusal::NoEvent => {
            ("neither the processor nor the kernel has such a counter", elsewhere)
        }
        CounterRefusal::Forbidden if level > enough => (&*forbidden, Some(&*allow)),
        CounterRefusal::Forbidden => (
            "the system call `perf_event_open` is forbidden here, as is usual in containers \
             (seccomp)",
            Some(
                "start the container with `--cap-add PERFMON`, or with a seccomp profile that \
                 allows it",
            ),
        ),
        CounterRefusal::NoCall => ("this system has no `perf_event_open`", elsewhere),
        CounterRefusal::Other => ("the system refuses it", elsewhere),
    };
    // An error without a number is not the system's.
    let source = error.raw_os_error().map(|_| error);
    Refusal { source, ..Refusal::new(metric, why, hint) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processor(vendor: &str, family: u64, model: u64) -> Processor {
        Processor {
            vendor: Some(vendor.to_owned()),
            family: Some(family),
            model: Some(model),
            ..Processor::default()
        }
    }

    /// The meter of a machine that has all counters.
    fn meter(names: &[&'static str]) -> CounterMeter {
        let processor = processor("GenuineIntel", 6, 143);
        let mut meter = CounterMeter::default();
        for metric in KnownMetric::from(MetricSource::Counter).filter(|m| names.contains(&m.name)) {
            let minus = interrupts(&processor).filter(|_| metric.name == MINUS_INTERRUPTS);
            meter.push(metric, counter(metric.name), minus);
        }
        meter
    }

    fn reading(value: u64) -> CounterReading {
        CounterReading { value, enabled: 10, running: 10 }
    }

    #[test]
    fn metrics_share_their_counters_and_interrupts_are_subtracted() {
        let meter = meter(&["instructions", "instructions_minus_irqs", "task_clock"]);
        let user = |event| Counter { event, kernel: false };
        let expected = [
            user(CounterEvent::of("instructions")),
            user(CounterEvent::raw(0x1cb)),
            user(CounterEvent::of("task_clock")),
        ];
        assert_eq!(meter.counters, expected);
        let values = meter.read(&[reading(1000), reading(30), reading(2_000_000)]).unwrap();
        assert_eq!(values.get("instructions"), Some(1000.0));
        assert_eq!(values.get("instructions_minus_irqs"), Some(970.0));
        assert_eq!(values.get("task_clock"), Some(0.002));
    }

    #[test]
    fn a_counter_that_took_turns_is_an_error() {
        let meter = meter(&["cycles"]);
        let half = CounterReading { value: 500, enabled: 10, running: 5 };
        let error = meter.read(&[half]).unwrap_err();
        assert!(error.to_string().contains("`cycles` was counted for only 50%"), "{error}");
        let hint = crate::Error::from(error).hint();
        assert!(hint.unwrap().contains("fewer counters"));
        assert!(meter.read(&[CounterReading::default()]).is_err());
    }

    #[test]
    fn interrupts_have_another_number_on_every_kind_of_processor() {
        let number = |vendor, family, model| {
            let counter = interrupts(&processor(vendor, family, model))?;
            (0..0x1000).find(|number| counter.event == CounterEvent::raw(*number))
        };
        assert_eq!(number("GenuineIntel", 6, 42), Some(0x1cb));
        assert_eq!(number("GenuineIntel", 6, 30), None);
        assert_eq!(number("AuthenticAMD", 0x19, 1), Some(0x2c));
        assert_eq!(number("AuthenticAMD", 0x15, 1), Some(0xcf));
        assert_eq!(number("Other", 6, 42), None);
    }

    // On other systems, the numbers have another meaning.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_refusal_names_the_cause_and_the_setting() {
        let machine = |paranoid, is_virtual| Machine {
            perf_event_paranoid: paranoid,
            processor: Processor { is_virtual, ..Processor::default() },
            ..Machine::default()
        };
        let (enoent, eacces, eperm, enosys, emfile) = (2, 13, 1, 38, 24);
        let table = [
            ("instructions", enoent, machine(Some(2), true), "virtual machine", "cachegrind"),
            ("cycles", enoent, machine(Some(2), false), "neither the processor", "cachegrind"),
            ("cycles", eacces, machine(Some(4), false), "`kernel.perf_event_paranoid` is 4", "=2`"),
            ("context_switches", eacces, machine(Some(2), false), "is 2, which", "=1`"),
            ("cycles", eperm, machine(Some(2), false), "seccomp", "--cap-add PERFMON"),
            ("page_faults", eperm, machine(None, false), "seccomp", "--cap-add PERFMON"),
            ("cycles", enosys, machine(None, false), "no `perf_event_open`", "cachegrind"),
            ("cycles", emfile, machine(None, false), "the system refuses it", "cachegrind"),
        ];
        for (metric, number, machine, why, hint) in table {
            let error = io::Error::from_raw_os_error(number);
            let refusal = refusal(metric, counter(metric), error, &machine);
            let text = refusal.to_string();
            assert!(text.starts_with(&format!("`{metric}` can't be measured: ")), "{text}");
            assert!(text.contains(why), "{text}");
            assert!(refusal.hint.as_ref().is_some_and(|text| text.contains(hint)), "{refusal:?}");
            assert!(refusal.source.is_some());
        }
    }
}
