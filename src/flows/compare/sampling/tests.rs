use super::*;
use crate::engine::event::Recorder;
use crate::flows::error::FlowError;
use crate::model::estimator::Estimator;
use crate::model::gate::Gate;
use crate::model::metric::{Metric, Unit};
use crate::model::row::{BenchmarkId, MetricId};
use crate::model::side::Side;

#[test]
fn the_end_is_an_event_also_when_a_run_fails_or_is_stopped() {
    let failed = || Stop::Error(FlowError::NoPair(Default::default()).into());
    for (stops_after, stop, expected, pairs_at_end) in [
        (0, failed(), None, vec![]),
        (3, failed(), None, vec![3]),
        (3, Stop::OutOfTime, Some(StoppedBy::TimeLimit), vec![3]),
        (2, Stop::Interrupted, Some(StoppedBy::Interrupt), vec![2]),
        (u64::MAX, failed(), Some(StoppedBy::MaxPairs), vec![5]),
    ] {
        let mut stop = Some(stop);
        let mut plan = Plan::new(0.95, Estimator::Mean, 7);
        plan.time_limit = std::time::Duration::from_secs(1000);
        plan.max_pairs = Some(5);
        plan.add_group(0, false, 0.0);
        let metric = Metric::cost("wall_time", Unit::Seconds);
        plan.add_benchmark("it", &[metric], vec![Gate::new("wall_time", 0.02)]);
        let mut experiment = Experiment::new(plan, 0.0);
        let mut measured = 0;
        let mut measure = |turn: &Turn, _: &Progress<'_>| {
            measured += 1;
            if measured > stops_after {
                return Err(stop.take().unwrap());
            }
            let values = vec![(MetricId(0), 1.0)];
            let row = |side: Side| Row { benchmark: BenchmarkId(0), side, values: values.clone() };
            Ok([turn.first, turn.first.other()].map(row).to_vec())
        };
        let (mut pairs, mut ends) = (0, Vec::new());
        let stopped_by = run(
            &mut experiment,
            &|| 0.0,
            &mut measure,
            &mut Recorder::new(|event: Event<'_>| match event {
                Event::Pair { rows, .. } => pairs += rows.len() / 2,
                Event::Sampled(progress) => ends.push(progress.results(0).next().unwrap().pairs),
                _ => {}
            }),
            &mut |_, _| {},
        );
        assert_eq!((stopped_by.ok(), &ends), (expected, &pairs_at_end));
        assert_eq!(pairs as u64, pairs_at_end.first().copied().unwrap_or(0));
    }
}
