use super::*;
use crate::exec::process::{Exit, Usage};

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|&name| name.to_owned()).collect()
}

fn outcome() -> RunOutcome {
    let usage = Usage { user: 1.0, sys: 0.5, minor_faults: 7, ..Usage::default() };
    RunOutcome {
        exit: Exit::Code(0),
        wall: 2.0,
        usage,
        timed_out: false,
        printed_too_much: false,
        left_behind: 0,
        counts: Vec::new(),
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
    let values = rusage::read(&outcome());
    let told: Vec<String> = rusage::metrics().map(|metric| metric.name).collect();
    assert!(told.contains(&"wall_time".to_owned()));
    assert_eq!(values.iter().map(|(name, _)| name).collect::<Vec<_>>(), told);
}

#[test]
fn only_what_is_asked_for_is_measured_and_a_meter_that_disturbs_has_its_own_run() {
    let machine = Machine::default();
    // Anything of that name will do: it isn't run.
    let folder = tempfile::tempdir().unwrap();
    for program in ["valgrind", "rustc"] {
        let path = folder.path().join(program);
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(path, crate::exec::system::permissions(0o700)).unwrap();
    }
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
    if cfg!(target_os = "linux") {
        let counted = passes(&["peak_heap_bytes", "allocations"]);
        assert_eq!(counted, (vec![Pass::Allocations], 3));
    }
}

#[test]
fn a_plain_run_has_what_the_kernel_tells() {
    let machine = Machine::default();
    let meters = Meters::for_metrics(&names(&["wall_time"]), None, &machine);
    let folder = tempfile::tempdir().unwrap();
    let values = meters.read(Pass::Plain, &Command::default(), &outcome(), folder.path()).unwrap();
    assert_eq!(values.get("cpu_time"), Some(1.5));
    assert_eq!(values.get("minor_faults"), Some(7.0));
    assert_eq!(values.get("instructions"), None);
    for metric in meters.metrics() {
        assert!(values.get(&metric.name).is_some(), "{}", metric.name);
    }
}
