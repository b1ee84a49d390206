//! What `doctor` reports about the machine of the tests, whatever it is.

use crate::support::{Cbdr, Ran};

fn doctor(args: &[&str]) -> Ran {
    let folder = crate::support::scratch();
    Cbdr::new(folder.path(), folder.path()).args(["doctor"]).args(args).run()
}

#[test]
fn the_object_has_the_machine_its_metrics_and_its_noise() {
    let object = doctor(&["--time-limit", "1s", "--format", "json"]).code(0).json();
    assert_eq!(object["schema"], 1);
    let step = object["clock_step_seconds"].as_f64().unwrap();
    assert!(step > 0.0 && step < 0.1, "{step}");
    let metrics = object["metrics"].as_array().unwrap();
    let of = |name: &str| metrics.iter().find(|metric| metric["name"] == name).unwrap();
    for name in ["instructions", "task_clock", "instructions_cachegrind"] {
        // What is not there has a reason.
        assert_ne!(of(name)["available"].as_bool().unwrap(), of(name)["why"].is_string());
    }
    assert!(metrics.iter().all(|metric| metric["name"] != "wall_time"), "it is always there");
    let noise = object["noise"].as_array().unwrap();
    assert_eq!(noise.len(), 2);
    // The lengths of the runs: one has ten times the work of the other.
    let runs: Vec<f64> = noise.iter().map(|noise| noise["run_seconds"].as_f64().unwrap()).collect();
    assert!(runs[0] >= 0.0 && runs[1] >= 0.0);
    for noise in noise {
        let times: Vec<f64> = noise["thresholds"]
            .as_array()
            .unwrap()
            .iter()
            .map(|threshold| threshold["seconds"].as_f64().unwrap())
            .collect();
        assert_eq!(times, [60.0, 300.0]);
    }
    assert!(object["machine"]["processors_online"].as_u64().is_none_or(|count| count > 0));
}

#[test]
fn for_people_there_are_sentences() {
    let ran =
        doctor(&["--time-limit", "300ms"]).code(0).says("Measuring the noise of this machine");
    for about in ["machine", "processors", "governor", "clock", "metrics", "noise"] {
        let found = ran.stdout.lines().any(|line| line.trim_start().starts_with(about));
        assert!(found, "{about}:\n{}", ran.stdout);
    }
    assert!(ran.stdout.contains("`instructions_cachegrind`"), "{}", ran.stdout);
}

#[test]
fn a_time_that_is_none_is_a_mistake_of_the_command_line() {
    doctor(&["--time-limit", "soon"]).code(2).says("invalid time-limit `soon`");
}
