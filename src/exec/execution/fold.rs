//! From several runs to one measurement.

use super::Reported;
use crate::model::metric::{Better, Metric, Units};
use crate::model::row::Sample;

/// The mean of runs, of what all of them report.
pub(super) fn mean(runs: Vec<Reported>) -> Reported {
    let count = runs.len() as f64;
    fold(runs, |_, values| values.iter().sum::<f64>() / count)
}

/// The best of measurements, of what all of them report: the least, or the
/// greatest where higher is better.
pub(super) fn best(measurements: Vec<Reported>, units: &Units) -> Reported {
    fold(measurements, |metric, values| {
        let best = match Metric::named(metric).with(units).better {
            Better::Lower => f64::min,
            Better::Higher => f64::max,
        };
        values.iter().copied().reduce(best).unwrap_or(f64::NAN)
    })
}

fn fold(all: Vec<Reported>, value: impl Fn(&str, &[f64]) -> f64) -> Reported {
    if all.len() < 2 {
        return all.into_iter().next().unwrap_or_default();
    }
    let mut folded = Reported::new();
    for (name, first) in &all[0] {
        let same = |reported: &Reported| {
            let found = reported.iter().find(|(other, _)| other == name);
            found.map(|(_, sample)| sample.clone())
        };
        let Some(samples) = all.iter().map(same).collect::<Option<Vec<Sample>>>() else {
            continue;
        };
        let mut sample = Sample::new();
        for (metric, _) in first.iter() {
            let values: Option<Vec<f64>> = samples.iter().map(|one| one.get(metric)).collect();
            if let Some(values) = values {
                sample.set(metric, value(metric, &values));
            }
        }
        folded.push((name.clone(), sample));
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::metric::Quantity;
    use crate::model::metric::Unit;

    fn run(values: &[(&str, f64)]) -> Reported {
        vec![(None, values.iter().copied().collect())]
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
        let named = |names: &[&str]| -> Reported {
            let sample = |name: &&str| (Some((*name).to_owned()), Sample::from_iter([("t", 1.0)]));
            names.iter().map(sample).collect()
        };
        assert_eq!(mean(vec![named(&["a", "b"]), named(&["b"])]), named(&["b"]));
    }
}
