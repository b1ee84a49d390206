//! One metric, from its first pair to what is said of it at the end.

use super::*;
use crate::model::{Finding, Unit, Waiver};

const LEVELS: Levels = Levels { alarm: 0.05, clear: 0.05 };

fn gate(threshold: f64) -> Gate {
    Gate::new("wall_time", threshold)
}

fn asked(gate: Option<&Gate>, estimator: Estimator) -> MetricTest {
    MetricTest::new(Metric::named("wall_time"), gate, estimator, LEVELS)
}

/// Repeatable noise between -1 and 1 that no two neighbours share.
fn noise(number: u64) -> f64 {
    let z = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Pushes pairs number `from` up to `to` of a change with noise of a size.
fn push(test: &mut MetricTest, (from, to): (u64, u64), change: f64, size: f64) {
    for number in from..to {
        let first = [Side::Base, Side::Head][usize::from(noise(3 * number) > 0.0)];
        let (base, head) = (1.0 + size * noise(3 * number + 1), 1.0 + size * noise(3 * number + 2));
        test.push(base, (1.0 + change) * head, first);
    }
}

#[test]
fn what_is_said_is_what_decided_it() {
    let gate = gate(0.02);
    let mut test = asked(Some(&gate), Estimator::Robust);
    assert_eq!((test.verdict(), test.threshold()), (None, Some(0.02)));
    assert_eq!(test.result().verdict, Some(Verdict::Inconclusive));
    assert_eq!((test.metric().name.as_str(), test.forecast()), ("wall_time", Forecast::Unknown));
    push(&mut test, (0, 13), 0.0, 0.001);
    assert!(test.is_open() && test.verdict().is_none());
    assert!(matches!(test.forecast(), Forecast::Pairs(14..)));
    push(&mut test, (13, 14), 0.0, 0.001);
    let said = test.result();
    assert_eq!((said.verdict, said.summary.pairs), (Some(Verdict::NoRegression), 14));
    assert_eq!((test.verdict(), test.is_open()), (said.verdict, false));
    assert_eq!(test.forecast(), Forecast::Pairs(14));
    // What comes later changes nothing.
    push(&mut test, (14, 60), 1.0, 0.001);
    assert_eq!((test.result(), test.end().summary), (said.clone(), said.summary));

    let mut slower = asked(Some(&gate), Estimator::Robust);
    push(&mut slower, (0, 14), 0.5, 0.001);
    assert_eq!((slower.verdict(), slower.is_open()), (Some(Verdict::Regression), false));
}

#[test]
fn without_a_gate_nothing_is_decided_and_all_is_estimated() {
    let mut test = asked(None, Estimator::Robust);
    push(&mut test, (0, 100), 0.5, 0.001);
    let result = test.end();
    assert_eq!((result.threshold, result.verdict, test.verdict()), (None, None, None));
    assert_eq!((test.is_open(), test.forecast()), (false, Forecast::Never));
    assert_eq!((result.summary.pairs, result.findings), (100, vec![]));
    assert!((result.summary.change.unwrap() - 0.5).abs() < 0.01);
    assert!((result.mean.unwrap().change.unwrap() - 0.5).abs() < 0.01);
}

#[test]
fn the_plain_mean_is_said_beside_every_estimator_but_of_minima() {
    let gate = gate(0.02);
    for estimator in Estimator::ALL {
        let mut mean = Running::new(Estimator::Mean, Better::Lower, LEVELS);
        for gate in [None, Some(&gate)] {
            let mut test = asked(gate, estimator);
            push(&mut test, (0, 5), 0.1, 0.05);
            if gate.is_none() {
                for number in 0..5u64 {
                    let one = |part| 1.0 + 0.05 * noise(3 * number + part);
                    mean.push(one(1), 1.1 * one(2));
                }
            }
            let expected = (estimator != Estimator::Min).then(|| mean.summary());
            assert_eq!(test.result().mean, expected, "{estimator}");
        }
    }
}

#[test]
fn a_pass_beyond_the_warning_level_is_warned_of() {
    let gate = Gate { warn: Some(0.01), ..gate(0.2) };
    let warned = |change: f64, size: f64, pairs: u64, gate: &Gate| {
        let mut test = asked(Some(gate), Estimator::Mean);
        push(&mut test, (0, pairs), change, size);
        assert_eq!(test.verdict(), Some(Verdict::NoRegression), "{change}");
        (test.result().warned, test.is_open())
    };
    assert_eq!(warned(0.03, 0.001, 20, &gate), (true, false));
    assert_eq!(warned(0.003, 0.001, 20, &gate), (false, false));
    assert_eq!(warned(-0.1, 0.001, 20, &gate), (false, false));
    assert_eq!(warned(0.03, 0.001, 20, &Gate { warn: None, ..gate.clone() }), (false, false));
    let waived = Gate { waiver: Some(waiver(0.3)), ..gate.clone() };
    assert_eq!(warned(0.03, 0.001, 20, &waived), (false, false));
    // Too near to be told: it goes on for a while, and then gives up.
    let gate = Gate { warn: Some(0.05), ..super::tests::gate(0.3) };
    let mut test = asked(Some(&gate), Estimator::Mean);
    let (mut pairs, mut open) = (0, 0);
    while test.is_open() {
        test.push(1.0, 1.06 + [0.1, -0.1][pairs as usize % 2], Side::Base);
        pairs += 1;
        if test.verdict().is_some() && test.is_open() {
            open += 1;
            assert!(!test.result().warned);
            // The forecast is that of the warning: the verdict is in.
            assert!(matches!(test.forecast(), Forecast::Pairs(more) if more > 4 * pairs));
        }
    }
    assert!(!test.result().warned && test.result().summary.pairs == pairs);
    // The verdict came with the pair before the first that was open.
    assert!(open > 0 && pairs == 4 * (pairs - open), "{pairs} {open}");
    assert_eq!(test.verdict(), Some(Verdict::NoRegression));
    assert!(test.result().verdict.is_some());
}

fn waiver(ceiling: f64) -> Waiver {
    Waiver {
        metric: "wall_time".to_owned(),
        benchmark: None,
        ceiling,
        reason: "a table".to_owned(),
        expires: "2999-12-31".to_owned(),
        issue: None,
    }
}

#[test]
fn a_waiver_is_said_with_the_threshold_that_it_stands_above() {
    let gate = Gate { waiver: Some(waiver(0.3)), ..gate(0.02) };
    let test = asked(Some(&gate), Estimator::Mean);
    let result = test.result();
    assert_eq!(result.threshold, Some(0.3));
    assert_eq!(result.waiver.map(|waived| (waived.ceiling, waived.threshold)), Some((0.3, 0.02)));
}

#[test]
fn ties_and_overruled_runs_are_said() {
    let gate = gate(0.25);
    let mut ties = asked(Some(&gate), Estimator::Median);
    (0..4).for_each(|_| ties.push(4.0, 5.0, Side::Base));
    assert_eq!(ties.result().ties, 4);
    let mut tailed = asked(None, Estimator::Robust);
    for number in 0..100 {
        let slow = if number % 4 == 1 { 3.0 } else { 1.0 };
        tailed.push(1.0 + 0.001 * noise(number), slow + 0.001 * noise(number + 500), Side::Head);
    }
    assert!(tailed.result().overruled.is_some_and(|change| change.abs() < 0.002));
}

#[test]
fn the_noise_is_looked_at_where_it_gates_and_matters() {
    let gate = gate(0.02);
    let found = |gate: Option<&Gate>, estimator, slot: f64, tail: f64| {
        let mut test = asked(gate, estimator);
        for number in 0..200 {
            // So noisy that no verdict comes before the end.
            let (one, other) = (1.0 + 0.1 * noise(2 * number), 1.02 + 0.1 * noise(2 * number + 1));
            let other = if number % 20 == 3 { tail * other } else { other };
            match noise(number + 7000) > 0.0 {
                true => test.push(one, other * slot, Side::Base),
                false => test.push(one * slot, other, Side::Head),
            }
        }
        assert!(gate.is_none() || test.is_open());
        test.end().findings
    };
    let slot = found(Some(&gate), Estimator::Mean, 1.2, 1.0);
    assert!(
        matches!(slot[..], [Finding::Slot { effect, .. }] if (effect - 0.2).abs() < 0.05),
        "{slot:?}"
    );
    assert_eq!(found(None, Estimator::Mean, 1.2, 1.0), []);
    assert_eq!(found(Some(&gate), Estimator::Mean, 1.0, 1.0), []);
}

#[test]
fn what_can_be_told_apart_shrinks_with_the_root_of_the_pairs() {
    let mut test = asked(None, Estimator::Mean);
    assert_eq!(test.reach(100), None);
    push(&mut test, (0, 40), 0.0, 0.05);
    let Summary { lower, upper, .. } = test.result().summary;
    let half = (upper.unwrap() - lower.unwrap()) / 2.0;
    for (pairs, expected) in [(40, half), (160, half / 2.0), (10, 2.0 * half)] {
        assert!((test.reach(pairs).unwrap() / expected - 1.0).abs() < 1e-12);
    }
    assert!(test.reach(0).unwrap() > 6.0 * half);
    let mut constant = asked(None, Estimator::Median);
    (0..10).for_each(|_| constant.push(2.0, 2.0, Side::Base));
    assert_eq!(constant.reach(100), None);
}

#[test]
fn a_simulated_count_is_decided_by_its_mean() {
    let (simulated, timed) = (Metric::named("instructions_cachegrind"), Metric::named("wall_time"));
    assert_eq!(estimator(&simulated, Estimator::Robust), Estimator::Mean);
    assert_eq!(estimator(&simulated, Estimator::Median), Estimator::Median);
    assert_eq!(estimator(&timed, Estimator::Robust), Estimator::Robust);
}

#[test]
fn an_exact_answer_needs_no_pair_and_has_no_width() {
    let gate = Gate::new("executable_bytes", 0.02);
    let answer =
        |base, head| exact(Metric::cost("executable_bytes", Unit::Bytes), Some(&gate), base, head);
    let table = [
        (100.0, 103.0, Some(0.03), Verdict::Regression),
        // The threshold itself passes.
        (100.0, 102.0, Some(0.02), Verdict::NoRegression),
        (100.0, 100.0, Some(0.0), Verdict::NoRegression),
        (100.0, 50.0, Some(-0.5), Verdict::NoRegression),
        (0.0, 0.0, Some(0.0), Verdict::NoRegression),
        (0.0, 5.0, None, Verdict::Regression),
    ];
    for (base, head, change, verdict) in table {
        let result = answer(base, head);
        assert_eq!((result.summary.change, result.verdict), (change, Some(verdict)));
        assert_eq!(result.summary.pairs, 0);
        assert_eq!(result.summary.upper, change);
        if change.is_some() {
            assert_eq!(result.summary.lower, change);
        }
    }
    let shown = exact(Metric::cost("text_bytes", Unit::Bytes), None, 1.0, 2.0);
    assert_eq!((shown.threshold, shown.verdict), (None, None));
}

#[test]
fn an_exact_answer_knows_directions_warnings_and_waivers() {
    let cost = Metric::cost("text_bytes", Unit::Bytes);
    let gain = Metric { better: Better::Higher, ..cost.clone() };
    let warning = Gate { warn: Some(0.01), ..Gate::new("text_bytes", 0.25) };
    let answer = |metric: &Metric, gate: &Gate, base, head| {
        let result = exact(metric.clone(), Some(gate), base, head);
        (result.verdict == Some(Verdict::Regression), result.warned)
    };
    // Where more is better the change is that of the reciprocals.
    let table = [(4.0, 5.0), (4.0, 5.1), (4.0, 4.1), (4.0, 4.04), (4.0, 3.0)];
    let expected = [(false, true), (true, false), (false, true), (false, false), (false, false)];
    for ((fewer, more), expected) in table.into_iter().zip(expected) {
        assert_eq!(answer(&cost, &warning, fewer, more), expected, "{more}");
        assert_eq!(answer(&gain, &warning, more, fewer), expected, "{more}");
    }
    let waived = Gate { waiver: Some(waiver(0.5)), ..warning };
    assert_eq!(answer(&cost, &waived, 4.0, 5.1), (false, false));
    let said = exact(cost, Some(&waived), 4.0, 5.1);
    assert_eq!(said.threshold, Some(0.5));
    assert_eq!(said.waiver.map(|waived| (waived.ceiling, waived.threshold)), Some((0.5, 0.25)));
}
