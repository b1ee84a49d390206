//! A small version of the simulation behind the promise, and the table of it in the book.

#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/error-rates/before.rs"]
mod before;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/error-rates/files.rs"]
mod files;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/error-rates/layouts.rs"]
mod layouts;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/error-rates/machines.rs"]
mod machines;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/error-rates/noise.rs"]
pub(crate) mod noise;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/error-rates/plan.rs"]
mod plan;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/error-rates/stopped.rs"]
mod stopped;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/error-rates/suites.rs"]
mod suites;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/error-rates/tables.rs"]
mod tables;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/error-rates/trial.rs"]
mod trial;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/error-rates/two_point.rs"]
mod two_point;

use cargo_cbdr::model::estimator::Estimator;

use machines::{Park, Shards, Way};
use noise::Noise;
use plan::{Results, Size};
use stopped::Reported;
use suites::{Asked, Suite};
use trial::{Cell, Rule, Shape, THRESHOLD, error_of_rate, least_mean_pairs};

const SMALL: Size = Size { runs: 200, pairs: 60, patience: 400 };

fn ours(estimators: &[Estimator]) -> Vec<Rule> {
    estimators.iter().copied().map(Rule::Ours).collect()
}

#[test]
fn ours_keep_their_promise_and_the_usual_practice_does_not() {
    let mut cells: Vec<Cell> = Vec::new();
    for noise in [Noise::Normal(0.03), Noise::TwoPoint, Noise::Recorded("sha")] {
        for rule in ours(&Estimator::ALL) {
            cells.push(SMALL.at_threshold(rule, noise, 0.05));
        }
        cells.push(SMALL.at_threshold(Rule::Welch(0.05), noise, 0.05));
    }
    let results = Results::simulate(&cells, 1, 2);
    assert!(results.claims() >= 14);
    assert_eq!(results.broken(), []);
    for cell in cells.iter().filter(|cell| matches!(cell.rule, Rule::Welch(_))) {
        let tally = results.of(cell);
        assert!(tally.alarm_rate().max(tally.clear_rate()) > 0.12, "{cell:?} {tally:?}");
    }
}

#[test]
fn robust_is_near_the_bound_on_normal_noise_and_quick_on_recordings() {
    let (normal, recorded) = (Noise::Normal(0.03), Noise::Recorded("sha"));
    let robust = Rule::Ours(Estimator::Robust);
    let cell = |rule, noise| Cell { runs: 100, ..SMALL.until_verdict(rule, noise, 0.0) };
    let cells = [cell(robust, normal), cell(robust, recorded), cell(Rule::Welch(0.0005), recorded)];
    let results = Results::simulate(&cells, 2, 2);
    let [on_normal, on_recorded, usual] = cells.map(|cell| results.of(&cell).mean_pairs());
    let bound = 1.4 * least_mean_pairs(0.0, 0.03, 0.05) + 3.0 * 3.0;
    assert!(on_normal < bound, "{on_normal} {bound}");
    assert!(on_recorded < usual / 3.0, "{on_recorded} {usual}");
}

#[test]
fn pairs_of_several_machines_keep_the_promise_and_weights_spare_pairs() {
    let cell = |noise, machines, way, change| Shards {
        way,
        ..SMALL.of_shards(Estimator::Mean, noise, (machines, Park::Mixed), change)
    };
    let mut cells = Vec::new();
    for noise in [Noise::Normal(0.03), Noise::TwoPoint, Noise::Recorded("sha")] {
        for machines in [2, 4] {
            let ways = [Way::Ours, Way::OwnVerdicts];
            cells.extend(ways.map(|way| cell(noise, machines, way, THRESHOLD)));
        }
    }
    let still = [Way::Ours, Way::Unweighted].map(|way| cell(Noise::Normal(0.03), 4, way, 0.0));
    cells.extend(still);
    let results = Results::simulate(&cells, 4, 2);
    assert_eq!((results.claims(), results.broken()), (cells.len(), vec![]));
    let [ours, unweighted] = still.map(|cell| results.of(&cell).mean_pairs());
    assert!(ours < 0.6 * unweighted, "{ours} {unweighted}");
}

#[test]
fn a_tail_of_twice_the_tails_threshold_is_caught_where_it_is_not_rare() {
    let tail = Shape::Slower(0.2, 0.6);
    let cell = |estimator| Cell {
        runs: 100,
        ..SMALL.with_shape(Rule::Ours(estimator), Noise::Normal(0.01), tail)
    };
    let cells = [cell(Estimator::Robust), cell(Estimator::Median)];
    let results = Results::simulate(&cells, 3, 2);
    let [guarded, blind] = cells.map(|cell| results.of(&cell));
    assert!(guarded.alarm_rate() > 0.8 && guarded.clear_rate() < 0.15, "{guarded:?}");
    assert!(blind.clear_rate() > 0.95, "{blind:?}");
}

#[test]
fn at_an_alarm_the_estimate_is_too_large_and_each_bound_holds_as_promised() {
    let most = 200.0 * (0.05 + 3.0 * error_of_rate(0.05, 200));
    for (noise, change) in [(Noise::Normal(0.03), 0.03), (Noise::Recorded("python"), 0.0)] {
        let all = Reported::of(noise, change, 100, 200);
        let wrong = f64::from(all.too_high.max(all.too_low));
        assert!(wrong <= most, "{noise:?}: {wrong} of 200");
        let estimate = all.alarms.value();
        assert!(change < THRESHOLD || estimate > 1.2 * change, "{estimate}");
    }
}

#[test]
fn the_chapter_shows_the_table_that_the_simulation_printed() {
    let read = |name: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        std::fs::read_to_string(path).unwrap()
    };
    let printed = read("docs/data/error-rates.md");
    let table = printed.split("<!-- summary -->").nth(1).unwrap();
    let table = table.split("<!-- /summary -->").next().unwrap().trim();
    assert!(table.starts_with("| rule |") && table.lines().count() == 9, "{table}");
    assert!(read("docs/error-rates.md").contains(table), "the chapter shows another table");
    let kept = printed
        .matches("that are covered by a promise, 0 exceed it by more than three standard errors");
    assert_eq!((kept.count(), printed.matches("that are covered by a promise").count()), (4, 4));
}

#[test]
fn over_layouts_the_promise_is_about_the_source() {
    let cell = |asked, of_layout, change| layouts::Cell {
        asked,
        of_layout,
        of_run: 0.01,
        change,
        runs: 100,
        pairs: 200,
    };
    use layouts::Asked::{AsBuilt, Both, Layouts};
    let cells: Vec<_> = [0.005, 0.02, 0.1]
        .into_iter()
        .flat_map(|of_layout| [Both, Layouts].map(|asked| cell(asked, of_layout, THRESHOLD)))
        .collect();
    let results = Results::simulate(&cells, 3, 2);
    assert_eq!(results.claims(), 6);
    assert_eq!(results.broken(), []);
    // As built, the same change is called slower or not by where the code came to lie.
    let built = cell(AsBuilt, 0.02, 0.0);
    let rates = Results::simulate(&[built], 3, 2).of(&built);
    assert!(rates.alarm_rate() > 0.1, "{rates:?}");
    // What is slower is found all the same.
    let slower = cell(Both, 0.005, 0.1);
    assert_eq!(Results::simulate(&[slower], 3, 2).of(&slower).alarms, 100);
}

#[test]
fn a_suite_keeps_the_promise_together_and_holm_and_the_average_pay() {
    let small = Size { runs: 20, ..SMALL };
    let cells: Vec<Suite> =
        suites::cells(&small).into_iter().filter(|cell| cell.benchmarks == 14).collect();
    let results = Results::simulate(&cells, 5, 2);
    assert!(results.claims() > 10 && results.broken().is_empty(), "{:?}", results.broken());
    let total = |asked: Asked| {
        let some = cells.iter().filter(|cell| cell.asked == asked && cell.slower.0 > 0);
        some.map(|cell| results.of(cell).mean_pairs()).sum::<f64>()
    };
    assert!(total(Asked::WhichByHolm) > total(Asked::WhichByShares));
    assert!(total(Asked::AnyByAverage) < total(Asked::AnyByShares));
}

#[test]
fn noise_of_a_file_makes_no_false_alarms_if_the_files_are_new_often_enough() {
    let alarms = |renewal| files::alarms(renewal, 0.0, 200);
    assert!(alarms(None) > 0.1, "without new files, the promise does not hold");
    assert!(alarms(Some(2)) <= 0.05);
}
