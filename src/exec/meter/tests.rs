use super::*;
use crate::exec::machine::Processor;
use crate::exec::process::counter::Count;
use crate::exec::process::{Exit, Usage};

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|&name| name.to_owned()).collect()
}

fn outcome(counts: Vec<Count>) -> Outcome {
    let usage = Usage { user: 1.0, sys: 0.5, minor_faults: 7, ..Usage::default() };
    let exit = Exit::Code(0);
    Outcome {
        exit,
        wall: 2.0,
        usage,
        timed_out: false,
        printed_too_much: false,
        left_behind: 0,
        counts,
    }
}

#[test]
fn every_metric_has_one_name_and_is_found_by_it() {
    for known in &KNOWN {
        assert_eq!(KNOWN.iter().filter(|other| other.name == known.name).count(), 1);
        // Read from a file it is the same.
        assert_eq!(Metric::named(known.name), known.metric());
    }
}

#[test]
fn a_plain_run_has_a_value_for_every_metric_that_the_kernel_tells() {
    let values = rusage::read(&outcome(Vec::new()));
    let told: Vec<String> = rusage::metrics().map(|metric| metric.name).collect();
    assert!(told.contains(&"wall_time".to_owned()));
    assert_eq!(values.iter().map(|(name, _)| name).collect::<Vec<_>>(), told);
}

#[test]
fn only_what_is_asked_for_is_measured_and_a_meter_that_disturbs_has_its_own_run() {
    let machine = Machine::default();
    // Anything of that name will do: it isn't run.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("valgrind"), "").unwrap();
    let passes = |list: &[&str]| {
        let path = Some(folder.path().as_ref());
        let mut meters = Meters::for_metrics(&names(list), path, &machine);
        assert!(meters.take_refused().is_empty());
        (meters.passes(), meters.metrics().len())
    };
    let (plain, cachegrind) = (Pass::Plain, Pass::Cachegrind);
    let usual = rusage::metrics().count();
    assert_eq!(passes(&["wall_time"]), (vec![plain], usual));
    // What the program may print itself.
    assert_eq!(passes(&["tests_per_second"]), (vec![plain], usual));
    let both = (vec![plain, cachegrind], usual + 1);
    assert_eq!(passes(&["max_rss", "instructions_cachegrind"]), both);
    assert_eq!(passes(&["estimated_cycles_cachegrind", "text_bytes"]), (vec![cachegrind], 1));
    assert_eq!(passes(&["text_bytes"]), (vec![], 0));
}

#[test]
fn a_plain_run_has_what_the_kernel_tells() {
    let machine = Machine::default();
    let meters = Meters::for_metrics(&names(&["wall_time"]), None, &machine);
    let folder = tempfile::tempdir().unwrap();
    let values = meters.read(Pass::Plain, &outcome(Vec::new()), folder.path()).unwrap();
    assert_eq!(values.get("cpu_time"), Some(1.5));
    let told = crate::exec::process::TELLS_FAULTS_AND_SWITCHES;
    assert_eq!(values.get("minor_faults"), told.then_some(7.0));
    assert_eq!(values.get("instructions"), None);
    for metric in meters.metrics() {
        assert!(values.get(&metric.name).is_some(), "{}", metric.name);
    }
}

mod counting {
    use super::*;
    use crate::exec::process::counter::{Counter, Event, Hardware, Software};

    /// Counters as they would be where the machine has them.
    fn counters(list: &[&'static str]) -> Counters {
        counters::Counters::unprobed(list, &processor("GenuineIntel", 6, 143))
    }

    fn processor(vendor: &str, family: u64, model: u64) -> Processor {
        Processor {
            vendor: Some(vendor.to_owned()),
            family: Some(family),
            model: Some(model),
            ..Processor::default()
        }
    }

    fn count(value: u64) -> Count {
        Count { value, enabled: 10, running: 10 }
    }

    #[test]
    fn metrics_share_their_counters_and_interrupts_are_taken_away() {
        let counters = counters(&["instructions", "instructions_minus_irqs", "task_clock"]);
        let user = |event| Counter { event, kernel: false };
        let expected = [
            user(Event::Hardware(Hardware::Instructions)),
            user(Event::Raw(0x1cb)),
            user(Event::Software(Software::TaskClock)),
        ];
        assert_eq!(counters.counters, expected);
        let values = counters.read(&[count(1000), count(30), count(2_000_000)]).unwrap();
        assert_eq!(values.get("instructions"), Some(1000.0));
        assert_eq!(values.get("instructions_minus_irqs"), Some(970.0));
        assert_eq!(values.get("task_clock"), Some(0.002));
    }

    #[test]
    fn a_counter_that_took_turns_is_an_error() {
        let counters = counters(&["cycles"]);
        let half = Count { value: 500, enabled: 10, running: 5 };
        let error = counters.read(&[half]).unwrap_err();
        assert!(error.to_string().contains("`cycles` was counted for only 50%"), "{error}");
        assert!(error.hint().unwrap().contains("fewer counters"));
        assert!(counters.read(&[Count::default()]).is_err());
    }

    #[test]
    fn interrupts_have_another_number_on_every_kind_of_processor() {
        let number =
            |vendor, family, model| counters::interrupts(&processor(vendor, family, model));
        assert_eq!(number("GenuineIntel", 6, 42), Some(0x1cb));
        assert_eq!(number("GenuineIntel", 6, 30), None);
        assert_eq!(number("AuthenticAMD", 0x19, 1), Some(0x2c));
        assert_eq!(number("AuthenticAMD", 0x15, 1), Some(0xcf));
        assert_eq!(number("Other", 6, 42), None);
    }

    // Elsewhere nobody is asked, and the numbers mean something else.
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
            let error = std::io::Error::from_raw_os_error(number);
            let refusal = counters::refused(metric, error, &machine);
            let text = refusal.to_string();
            assert!(text.starts_with(&format!("`{metric}` can't be measured: ")), "{text}");
            assert!(text.contains(why), "{text}");
            assert!(refusal.hint.as_ref().is_some_and(|text| text.contains(hint)), "{refusal:?}");
            assert!(refusal.source.is_some());
        }
    }
}
