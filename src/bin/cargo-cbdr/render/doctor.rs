//! What `doctor` saw, in sentences and as JSON.

use std::io::Write;

use anstyle::Style;
use cargo_cbdr::exec::machine::Machine;
use cargo_cbdr::exec::process::TELLS_FAULTS_AND_SWITCHES;
use cargo_cbdr::flows::doctor::{Checkup, Noise};
use cargo_cbdr::model::metric::Unit;
use serde_json::{Value, json};

use crate::ui::{GOOD, WARNING, text};

/// A sentence about one thing.
struct Observation {
    about: &'static str,
    text: String,
    /// Whether it makes measurements worse, or some impossible.
    warns: bool,
}

/// The sentences, in their order.
#[derive(Default)]
struct Observations(Vec<Observation>);

impl Observations {
    fn add(&mut self, about: &'static str, warns: bool, text: impl Into<String>) {
        self.0.push(Observation { about, text: text.into(), warns });
    }

    fn fine(&mut self, about: &'static str, text: impl Into<String>) {
        self.add(about, false, text);
    }

    fn warning(&mut self, about: &'static str, text: impl Into<String>) {
        self.add(about, true, text);
    }
}

/// Prints the sentences.
pub(crate) fn print(checkup: &Checkup) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    for Observation { about, text, warns } in observations(checkup) {
        let style: Style = if warns { WARNING } else { GOOD };
        writeln!(out, "{style}{about:>12}{style:#} {}", text::clean(&text))?;
    }
    Ok(())
}

/// Prints one object.
pub(crate) fn print_json(checkup: &Checkup) -> std::io::Result<()> {
    super::json::print_line(&object(checkup))
}

fn object(checkup: &Checkup) -> Value {
    let machine = &checkup.machine;
    let meter = |(metric, refusal): &(cargo_cbdr::model::metric::Metric, Option<_>)| {
        let why = refusal.as_ref().map(|refusal: &cargo_cbdr::exec::meter::Refusal| &refusal.why);
        json!({ "name": metric.name, "available": why.is_none(), "why": why })
    };
    let noise = |noise: &Noise| {
        let thresholds = noise.thresholds.iter();
        let thresholds = thresholds.map(|(time, least)| json!({ "seconds": time, "least": least }));
        json!({
            "run_seconds": noise.run,
            "pairs": noise.pairs,
            "deviation": noise.deviation,
            "thresholds": thresholds.collect::<Vec<_>>(),
        })
    };
    let warnings = observations(checkup).into_iter().filter(|one| one.warns);
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
        "noise": checkup.noise.iter().map(noise).collect::<Vec<_>>(),
        "warnings": warnings.map(|one| one.text).collect::<Vec<_>>(),
    })
}

fn observations(checkup: &Checkup) -> Vec<Observation> {
    let mut observations = Observations::default();
    hardware(&mut observations, &checkup.machine);
    processors(&mut observations, &checkup.machine);
    clock_rates(&mut observations, &checkup.machine);
    environment(&mut observations, checkup);
    clocks(&mut observations, checkup);
    meters(&mut observations, checkup);
    for noise in &checkup.noise {
        self::noise(&mut observations, noise);
    }
    observations.0
}

fn hardware(observations: &mut Observations, machine: &Machine) {
    let name = machine.processor.name.clone().unwrap_or("a processor without a name".to_owned());
    let memory = machine.memory.map(|bytes| text::value(bytes as f64, &Unit::Bytes));
    let memory = memory.map_or(String::new(), |memory| format!(", {memory} of memory"));
    let kernel =
        machine.kernel.as_ref().map_or(String::new(), |kernel| format!(", Linux {kernel}"));
    observations.fine("machine", format!("{name}{memory}{kernel}"));
}

fn processors(observations: &mut Observations, machine: &Machine) {
    let online = machine.online.map(|count| text::count(count, "processor"));
    match (machine.allowed, online) {
        (Some(1), _) => observations.warning(
            "processors",
            "only one may be used, so that everything else that runs interrupts the benchmark",
        ),
        (Some(allowed), Some(online)) if Some(allowed) == machine.online => {
            observations.fine("processors", format!("{online}, all of which may be used"));
        }
        (Some(allowed), Some(online)) => {
            observations.fine("processors", format!("{online}, {allowed} of which may be used"));
        }
        (None, Some(online)) => observations.fine("processors", online),
        (_, None) => observations.fine("processors", "how many is not told here"),
    }
    match machine.smt {
        Some(true) => observations.fine(
            "threads",
            "two share a core (SMT), so that one slows the other: keep the second one idle, or \
             `echo off | sudo tee /sys/devices/system/cpu/smt/control`",
        ),
        Some(false) => observations.fine("threads", "each has a core of its own"),
        None => {}
    }
    if let Some(limit) = machine.limits.processors {
        observations.warning(
            "limits",
            format!(
                "the control group may use the time of {limit} processors and is stopped when \
                 it is used up, as in a container with `--cpus`: runs then show steps of some ten \
                 milliseconds"
            ),
        );
    }
    if let Some(limit) = machine.limits.memory {
        let limit = text::value(limit as f64, &Unit::Bytes);
        observations.fine("limits", format!("the control group may use {limit} of memory"));
    }
}

fn clock_rates(observations: &mut Observations, machine: &Machine) {
    let names = machine.governors.join(", ");
    match machine.governors.as_slice() {
        [] => observations.fine(
            "governor",
            "what chooses the clock rate is not told here, as is usual in virtual machines",
        ),
        [only] if only == "performance" => observations.fine("governor", names),
        _ => observations.warning(
            "governor",
            format!(
                "{names}: the clock rate follows the load; `sudo cpupower frequency-set -g \
                 performance` keeps it up"
            ),
        ),
    }
    match machine.turbo {
        Some(true) => observations.warning(
            "turbo",
            "on: the clock rate depends on heat and on what the other cores do; \
             `echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo`, or 0 into \
             `cpufreq/boost`, turns it off",
        ),
        Some(false) => observations.fine("turbo", "off"),
        None => {}
    }
    match machine.on_battery {
        Some(true) => observations
            .warning("power", "from the battery: clock rates may fall at any time; plug it in"),
        Some(false) => observations.fine("power", "from outside"),
        None => {}
    }
}

fn environment(observations: &mut Observations, checkup: &Checkup) {
    let machine = &checkup.machine;
    if machine.processor.is_virtual {
        observations.fine(
            "host",
            "this is a virtual machine: what else its host does is part of the noise",
        );
    }
    if let [Some(always), Some(now)] = checkup.stolen {
        let text = format!(
            "{} of the processors' time went to others while measuring, {} since the start",
            share(now),
            share(always)
        );
        let warns = now > 0.01 || always > 0.05;
        observations.add("stolen time", warns, text);
    }
    if let Some(load) = machine.load {
        let text = format!("{load} processes ran or could, over the last minute");
        let busy = load > 0.5 * machine.allowed.unwrap_or(1) as f64;
        match busy {
            true => observations
                .warning("load", format!("{text}: something else is busy, let it end first")),
            false => observations.fine("load", text),
        }
    }
    match machine.randomisation {
        Some(0) => observations.fine(
            "addresses",
            "not randomised: every run of a side has the same layout, which may be a lucky one",
        ),
        Some(_) => observations
            .fine("addresses", "randomised: a part of the noise, which many pairs even out"),
        None => {}
    }
}

fn clocks(observations: &mut Observations, checkup: &Checkup) {
    let step = text::value(checkup.clock_step, &Unit::Seconds);
    let source = checkup.machine.clock_source.as_ref();
    let source = source.map_or(String::new(), |source| format!(" ({source})"));
    let text = format!("wall time steps by {step}{source}");
    observations.add("clock", checkup.clock_step > 1e-6, text);
    if let Some(step) = checkup.processor_clock_step {
        let warns = step > 0.5e-3;
        let text = text::value(step, &Unit::Seconds);
        let advice =
            if warns { ": too coarse for runs shorter than a hundred of them" } else { "" };
        let text = format!("processor time steps by {text}{advice}");
        observations.add("clock", warns, text);
    }
}

fn meters(observations: &mut Observations, checkup: &Checkup) {
    let names = |wanted: Option<&str>| {
        let all = checkup.meters.iter();
        let named = all.filter(|(_, refusal)| refusal.as_ref().map(|r| &*r.why) == wanted);
        named.map(|(metric, _)| format!("`{}`", metric.name)).collect::<Vec<_>>().join(", ")
    };
    let usual = match TELLS_FAULTS_AND_SWITCHES {
        true => "times, memory, faults and switches of every run",
        false => "times and memory of every run",
    };
    observations.fine("metrics", usual);
    let more = names(None);
    if !more.is_empty() {
        observations.fine("metrics", format!("when they are asked for, {more}"));
    }
    let mut seen: Vec<&str> = Vec::new();
    for refusal in checkup.meters.iter().filter_map(|(_, refusal)| refusal.as_ref()) {
        if !seen.contains(&&*refusal.why) {
            seen.push(&refusal.why);
            let hint = refusal.hint.as_ref().map_or(String::new(), |hint| format!("; {hint}"));
            let names = names(Some(&refusal.why));
            observations.warning("metrics", format!("not {names}: {}{hint}", refusal.why));
        }
    }
}

fn noise(observations: &mut Observations, noise: &Noise) {
    let run = text::value(noise.run, &Unit::Seconds);
    let Some(deviation) = noise.deviation else {
        return observations.warning("noise", format!("runs of {run}: too few to say anything"));
    };
    let pairs = text::count(noise.pairs, "pair");
    let differ = share(deviation);
    observations.fine(
        "noise",
        format!(
            "runs of {run}: the two of a pair differ by {differ} (standard deviation, {pairs})"
        ),
    );
    let can = |&(time, least): &(f64, Option<f64>)| {
        let time = text::roughly(time);
        match least {
            Some(least) => format!("of {} in {time}", share(least)),
            None => format!("of none in {time}"),
        }
    };
    let can: Vec<String> = noise.thresholds.iter().map(can).collect();
    let usual = noise.thresholds.last().and_then(|(_, least)| *least);
    let text = format!(
        "for runs of {run}, no change is told from a threshold {}, or from a larger one",
        can.join(", ")
    );
    observations.add("verdicts", usual.is_none_or(|least| least > 0.02), text);
}

/// A fraction of at least 0 in percent.
fn share(fraction: f64) -> String {
    text::percent(fraction).trim_start_matches('+').to_owned()
}
