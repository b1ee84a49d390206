//! The result of `doctor`, as sentences and as JSON.

use cargo_cbdr::exec::machine::Machine;
use cargo_cbdr::exec::meter::Refusal;
use cargo_cbdr::flows::doctor::{Checkup, LeastThreshold, RunNoise};
use cargo_cbdr::model::{Metric, THRESHOLD, Unit};
use serde_json::{Value, json};

use crate::ui::fold::paragraph;
use crate::ui::style::{GOOD, STATUS_TEXT_COLUMN, WARNING};
use crate::ui::text;

pub(crate) fn report(checkup: &Checkup) -> String {
    let line = |Sentence { about, text, warns }: &Sentence| {
        let style = if *warns { WARNING } else { GOOD };
        let line = format!("{style}{about:>12}{style:#} {}", text::clean(text));
        paragraph(&line, STATUS_TEXT_COLUMN)
    };
    Sentences::of(checkup).0.iter().map(line).collect()
}

pub(crate) fn json(checkup: &Checkup) -> Value {
    let machine = &checkup.machine;
    let meter = |(metric, refusal): &(Metric, Option<Refusal>)| {
        let why = why(refusal);
        json!({ "name": metric.name, "available": why.is_none(), "why": why })
    };
    let warnings = Sentences::of(checkup).0.into_iter().filter(|sentence| sentence.warns);
    json!({
        "schema": 1,
        "machine": {
            "processor": machine.processor.name,
            "vendor": machine.processor.vendor,
            "family": machine.processor.family,
            "model": machine.processor.model,
            "virtual": machine.processor.is_virtual,
            "kernel": machine.kernel,
            "processors_online": machine.online,
            "processors_allowed": machine.allowed,
            "memory_bytes": machine.memory,
            "governors": machine.governors,
            "turbo": machine.turbo,
            "smt": machine.smt,
            "address_randomisation": machine.randomisation,
            "perf_event_paranoid": machine.perf_event_paranoid,
            "clock_source": machine.clock_source,
            "load": machine.load,
            "on_battery": machine.on_battery,
            "processor_limit": machine.limits.processors,
            "memory_limit_bytes": machine.limits.memory,
        },
        "metrics": checkup.meters.iter().map(meter).collect::<Vec<_>>(),
        "clock_step_seconds": checkup.clock_step,
        "processor_clock_step_seconds": checkup.processor_clock_step,
        "stolen_since_start": checkup.stolen[0],
        "stolen_while_measuring": checkup.stolen[1],
        "noise": checkup.noise,
        "warnings": warnings.map(|sentence| sentence.text).collect::<Vec<_>>(),
    })
}

/// A sentence about one thing.
struct Sentence {
    about: &'static str,
    text: String,
    /// Whether it makes measurements worse, or some impossible.
    warns: bool,
}

/// All sentences, in the order in which they are printed.
struct Sentences(Vec<Sentence>);

impl Sentences {
    fn of(checkup: &Checkup) -> Self {
        let mut sentences = Sentences(Vec::new());
        sentences.processors(&checkup.machine);
        sentences.clock_rates(&checkup.machine);
        sentences.environment(checkup);
        sentences.clocks(checkup);
        sentences.metrics(&checkup.meters);
        for noise in &checkup.noise {
            sentences.noise(noise);
        }
        sentences.conclusion(&checkup.noise, busy(&checkup.machine));
        sentences
    }

    fn add(&mut self, about: &'static str, warns: bool, text: impl Into<String>) {
        self.0.push(Sentence { about, text: text.into(), warns });
    }

    /// A sentence about something that is on or off, if that is known.
    fn switch(&mut self, about: &'static str, is_on: Option<bool>, on: (bool, &str), off: &str) {
        match is_on {
            Some(true) => self.add(about, on.0, on.1),
            Some(false) => self.add(about, false, off),
            None => {}
        }
    }

    fn processors(&mut self, machine: &Machine) {
        let name = machine.processor.name.as_deref().unwrap_or("an unnamed processor");
        let memory = machine.memory.map(|bytes| format!(", {} of memory", text::bytes(bytes)));
        let kernel = machine.kernel.as_ref().map(|kernel| format!(", Linux {kernel}"));
        let more = memory.into_iter().chain(kernel).collect::<String>();
        self.add("machine", false, name.to_owned() + &more);
        match (machine.allowed, machine.online) {
            (Some(1), _) => {
                let what =
                    "only one may be used, so anything else that runs interrupts the benchmark";
                self.add("processors", true, what);
            }
            (allowed, Some(online)) => {
                let allowed = allowed.filter(|allowed| *allowed != online);
                let used = allowed.map(|allowed| format!(", {allowed} of which may be used"));
                let online = text::count(online, "processor");
                self.add("processors", false, online + &used.unwrap_or_default());
            }
            (_, None) => self.add("processors", false, "the system does not report how many"),
        }
        let on = "two share a core (SMT) and slow each other down: keep the second one idle, or \
                  `echo off | sudo tee /sys/devices/system/cpu/smt/control`";
        self.switch("threads", machine.smt, (false, on), "one on each core");
        if let Some(limit) = machine.limits.processors {
            let what = format!(
                "the control group may use the time of {limit} processors and is paused when that \
                 is used up, as in a container with `--cpus`: some runs then take tens of \
                 milliseconds longer"
            );
            self.add("limits", true, what);
        }
        if let Some(limit) = machine.limits.memory {
            let limit = text::bytes(limit);
            self.add("limits", false, format!("the control group may use {limit} of memory"));
        }
    }

    fn clock_rates(&mut self, machine: &Machine) {
        let names = machine.governors.join(", ");
        let (warns, text) = match names.as_str() {
            "" => (false, "not reported, as is usual in virtual machines".to_owned()),
            "performance" => (false, names),
            _ => {
                let advice = "`sudo cpupower frequency-set -g performance` keeps it up";
                (true, format!("{names}: the clock rate follows the load; {advice}"))
            }
        };
        self.add("governor", warns, text);
        let on = "on: the clock rate depends on the temperature and on the load of the other cores; \
                  `echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo`, or 0 into \
                  `cpufreq/boost`, turns it off";
        self.switch("turbo", machine.turbo, (true, on), "off");
        let on = (true, "on battery: clock rates may fall at any time; plug it in");
        self.switch("power", machine.on_battery, on, "plugged in");
    }

    fn environment(&mut self, checkup: &Checkup) {
        let machine = &checkup.machine;
        if machine.processor.is_virtual {
            let what = "this is a virtual machine: other work on its host adds to the noise";
            self.add("host", false, what);
        }
        if let [Some(always), Some(now)] = checkup.stolen {
            let (during, since_boot) = (text::size(now), text::size(always));
            let text = format!(
                "{during} of the processors' time went to other virtual machines while measuring, \
                 {since_boot} since boot"
            );
            self.add("stolen time", now > 0.01 || always > 0.05, text);
        }
        if let Some(load) = machine.load {
            let is_busy = busy(machine).is_some();
            let advice = if is_busy { ": something else is busy; let it finish first" } else { "" };
            let what = "processes were running or ready to run, over the last minute";
            self.add("load", is_busy, format!("{load} {what}{advice}"));
        }
        let on = (false, "randomised: a part of the noise, which many pairs average out");
        let off =
            "not randomised: every run of a side has the same layout, which may be a lucky one";
        self.switch("addresses", machine.randomisation.map(|level| level > 0), on, off);
    }

    fn clocks(&mut self, checkup: &Checkup) {
        let step = text::value(checkup.clock_step, &Unit::Seconds);
        let source = checkup.machine.clock_source.as_ref();
        let source = source.map_or(String::new(), |source| format!(" ({source})"));
        let text = format!("wall time steps by {step}{source}");
        self.add("clock", checkup.clock_step > 1e-6, text);
        if let Some(step) = checkup.processor_clock_step {
            let is_coarse = step > 0.5e-3;
            let advice =
                if is_coarse { ": too coarse for runs shorter than 100 steps" } else { "" };
            let step = text::value(step, &Unit::Seconds);
            self.add("clock", is_coarse, format!("processor time steps by {step}{advice}"));
        }
    }

    fn metrics(&mut self, meters: &[(Metric, Option<Refusal>)]) {
        self.add("metrics", false, "times, memory, faults and switches of every run");
        // Metrics that are refused for the same reason share a sentence.
        let names = |reason: Option<&str>| {
            let same = meters.iter().filter(|(_, refusal)| why(refusal) == reason);
            let names: Vec<String> = same.map(|(metric, _)| format!("`{}`", metric.name)).collect();
            names.join(", ")
        };
        let measured = names(None);
        if !measured.is_empty() {
            self.add("metrics", false, format!("on request: {measured}"));
        }
        let mut shown = Vec::new();
        for refusal in meters.iter().filter_map(|(_, refusal)| refusal.as_ref()) {
            let why = refusal.why.as_str();
            if shown.contains(&why) {
                continue;
            }
            shown.push(why);
            let hint = refusal.hint.as_ref().map_or(String::new(), |hint| format!("; {hint}"));
            self.add("metrics", true, format!("unavailable {}: {why}{hint}", names(Some(why))));
        }
    }

    fn noise(&mut self, noise: &RunNoise) {
        let run = text::value(noise.run_seconds, &Unit::Seconds);
        let Some(deviation) = noise.deviation else {
            let runs =
                if noise.run_seconds > 0.0 { format!("runs of {run}: ") } else { String::new() };
            return self.add("noise", true, format!("{runs}too few pairs for an estimate"));
        };
        let (pairs, deviation) = (text::count(noise.pairs, "pair"), text::size(deviation));
        let numbers = format!("differ by {deviation} (standard deviation, {pairs})");
        self.add("noise", false, format!("runs of {run}: those of a pair {numbers}"));
        let of = |threshold: &LeastThreshold| {
            let least = text::size(threshold.least?);
            Some(format!("{least} in {}", text::roughly(threshold.seconds)))
        };
        let thresholds: Vec<String> = noise.thresholds.iter().filter_map(of).collect();
        let thresholds = match thresholds.as_slice() {
            [] => "there are too few pairs to tell what can be decided: allow a longer \
                   `--time-limit`"
                .to_owned(),
            known => format!(
                "the smallest threshold at which an unchanged benchmark can be decided is {}",
                known.join(", ")
            ),
        };
        let longest = noise.thresholds.last().and_then(|threshold| threshold.least);
        let warns = longest.is_none_or(|least| least > THRESHOLD);
        self.add("verdicts", warns, format!("for runs of {run}, {thresholds}"));
    }

    /// The smallest threshold that runs of some length can decide, in the least time, and with
    /// which load.
    fn conclusion(&mut self, noise: &[RunNoise], busy: Option<f64>) {
        let all = noise.iter().flat_map(|noise| &noise.thresholds);
        let known = all.filter_map(|threshold| Some((threshold.least?, threshold.seconds)));
        let best = known.min_by(|(one, soon), (other, late)| {
            one.total_cmp(other).then_with(|| soon.total_cmp(late))
        });
        let Some((least, seconds)) = best else {
            let why = "too little was measured for one: allow a longer `--time-limit`";
            return self.add("conclusion", true, why);
        };
        let (shown, time) = (text::size(least), text::roughly(seconds));
        let fit = format!("fit for thresholds of {shown} or more, in {time} for each benchmark");
        let only = busy.map_or(String::new(), |load| {
            format!(
                "; that is true only while as much else is running as now (a load of {load}): run \
                 `cargo cbdr doctor` again when it has finished"
            )
        });
        self.add("conclusion", busy.is_some() || least > THRESHOLD, fit + &only);
    }
}

/// The load, if it is more than measurements should have beside them.
fn busy(machine: &Machine) -> Option<f64> {
    machine.load.filter(|load| *load > 0.5 * machine.allowed.unwrap_or(1) as f64)
}

fn why(refusal: &Option<Refusal>) -> Option<&str> {
    refusal.as_ref().map(|refusal| refusal.why.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_busy_machine_the_conclusion_says_with_which_load_it_is_true() {
        let concluded = |load| {
            let mut machine = Machine::default();
            (machine.load, machine.allowed) = (Some(load), Some(2));
            let thresholds = vec![LeastThreshold { seconds: 300.0, least: Some(0.0034) }];
            let noise =
                RunNoise { run_seconds: 0.01, pairs: 40, deviation: Some(0.01), thresholds };
            let checkup = Checkup {
                machine,
                meters: Vec::new(),
                clock_step: 1e-8,
                processor_clock_step: None,
                stolen: [None; 2],
                noise: vec![noise],
            };
            let Sentence { about, text, warns } = Sentences::of(&checkup).0.pop().unwrap();
            assert_eq!(about, "conclusion");
            (text, warns)
        };
        let fit = "fit for thresholds of 0.34% or more, in 5m for each benchmark";
        assert_eq!(concluded(0.3), (fit.to_owned(), false));
        let (busy, warns) = concluded(6.6);
        assert!(warns && busy.starts_with(fit) && busy.contains("(a load of 6.6)"), "{busy}");
    }
}
