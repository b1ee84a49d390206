//! Combines several runs into one measurement.

use crate::model::{Better, Metric, Reading, Units, Values};

/// The mean of runs, for the benchmarks and metrics that all of them report.
pub(super) fn mean(runs: Vec<Vec<Reading>>) -> Vec<Reading> {
    let count = runs.len() as f64;
    fold(runs, |_, values| values.iter().sum::<f64>() / count)
}

/// The best of measurements, for the benchmarks and metrics that all of them
/// report: the smallest, or the largest if higher is better.
pub(super) fn best(measurements: Vec<Vec<Reading>>, units: &Units) -> Vec<Reading> {
    fold(measurements, |metric, values| {
        let best = match Metric::named(metric).with(units).better {
            Better::Lower => f64::min,
            Better::Higher => f64::max,
        };
        values.iter().copied().reduce(best).unwrap_or(f64::NAN)
    })
}

fn fold(all: Vec<Vec<Reading>>, value: impl Fn(&str, &[f64]) -> f64) -> Vec<Reading> {
    if all.len() < 2 {
        return all.into_iter().next().unwrap_or_default();
    }
    let of_benchmark = |Reading { benchmark, values, amount }: &Reading| {
        let same = all.iter().map(|readings| {
            let found = readings.iter().find(|other| other.benchmark == *benchmark);
            found.map(|reading| &reading.values)
        });
        let each: Vec<&Values> = same.collect::<Option<_>>()?;
        let folded = values.iter().filter_map(|(metric, _)| {
            let each: Option<Vec<f64>> = each.iter().map(|one| one.get(metric)).collect();
            Some((metric, value(metric, &each?)))
        });
        let (benchmark, amount) = (benchmark.clone(), amount.clone());
        Some(Reading { benchmark, values: folded.collect(), amount })
    };
    all[0].iter().filter_map(of_benchmark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::metric::{Quantity, Unit};

    fn run(values: &[(&str, f64)]) -> Vec<Reading> {
        vec![Reading::of_program(values.iter().copied().collect())]
    }

    #[test]
    fn a_measurement_is_the_mean_of_its_runs() {
        let runs = vec![run(&[("t", 1.0), ("x", 1.0)]), run(&[("t", 2.0)]), run(&[("t", 6.0)])];
        assert_eq!(mean(runs), run(&[("t", 3.0)]));
    }

    #[test]
    fn the_best_follows_the_direction() {
        let units = Units::from([(
            "rate".to_owned(),
            Quantity { unit: Unit::Unknown, better: Better::Higher },
        )]);
        let runs = vec![run(&[("t", 2.0), ("rate", 5.0)]), run(&[("t", 1.0), ("rate", 9.0)])];
        assert_eq!(best(runs, &units), run(&[("t", 1.0), ("rate", 9.0)]));
    }

    #[test]
    fn a_benchmark_that_a_run_lacks_is_in_no_measurement() {
        let named = |names: &[&str]| -> Vec<Reading> {
            let reading = |name: &&str| {
                let values = Values::from_iter([("t", 1.0)]);
                Reading { benchmark: Some((*name).to_owned()), values, amount: None }
            };
            names.iter().map(reading).collect()
        };
        assert_eq!(mean(vec![named(&["a", "b"]), named(&["b"])]), named(&["b"]));
    }
}
