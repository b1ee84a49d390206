//! Simulated comparisons, with a clock that moves by what the pairs take.

use std::time::Duration;

use super::*;
use crate::engine::layouts::median_rows;
use crate::model::{Estimator, Pair, Side, SuiteGate, SuiteNumber, Verdict};
use crate::stats::tests::TestNoise;

const THRESHOLD: f64 = 0.02;

/// A suite whose benchmarks have a program each, unless they share one.
#[derive(Clone, Copy)]
struct Suite {
    benchmarks: usize,
    /// The changes of the first benchmarks; that of the others is the threshold.
    changes: &'static [f64],
    /// The standard deviations of the effects of a run and of a layout.
    of_run: f64,
    of_layout: f64,
    /// That of a layout of a benchmark whose change is not the threshold.
    of_changed: f64,
    /// Seconds that a pair takes if there is no change, that linking both sides does, and
    /// that are allowed.
    pair: f64,
    links: f64,
    limit: f64,
    shares_program: bool,
    fail_fast: bool,
    gives_up: bool,
}

/// Thirty benchmarks, one of which is twice as slow, with layouts that spread as widely as +20
/// to +300 %; linking takes six times as long as is assumed.
const ONE: Suite = Suite {
    benchmarks: 30,
    changes: &[1.0],
    of_run: 0.02,
    of_layout: 0.005,
    of_changed: 0.25,
    pair: 0.3,
    links: 3.0,
    limit: 300.0,
    shares_program: false,
    fail_fast: false,
    gives_up: false,
};

struct Simulated {
    suite: Suite,
    random: TestNoise,
    /// The effects of the layouts as built.
    built: Vec<Pair<f64>>,
    now: f64,
    order: Vec<(Stage, usize)>,
    /// Whether it is known from the beginning how long links take.
    links_are_known: bool,
}

impl Simulated {
    fn new(suite: Suite, seed: u64) -> Self {
        let (built, random) = (Vec::new(), TestNoise::seeded(seed));
        let (now, order, links_are_known) = (0.0, Vec::new(), false);
        let mut new = Simulated { suite, random, built, now, order, links_are_known };
        // The first one and those at the threshold are so as built, too.
        new.built = (0..suite.benchmarks)
            .map(|id| match (1..suite.changes.len()).contains(&id) {
                true => new.layout(id),
                false => Pair { base: 0.0, head: 0.0 },
            })
            .collect();
        new
    }

    fn plan(&self, seed: u64) -> Plan {
        let mut plan = Plan::new(0.95, Estimator::Robust, seed);
        plan.time_limit = Duration::from_secs_f64(self.suite.limit);
        plan.layouts = Layouts::Auto;
        (plan.fail_fast, plan.gives_up) = (self.suite.fail_fast, self.suite.gives_up);
        for id in 0..self.suite.benchmarks {
            let program = if self.suite.shares_program { 0 } else { id };
            plan.add_group(program, true, self.seconds(id));
            let gates = vec![Gate::new("wall_time", THRESHOLD)];
            plan.add_benchmark(&id.to_string(), &[Metric::named("wall_time")], gates);
        }
        plan
    }

    fn change(&self, id: usize) -> f64 {
        self.suite.changes.get(id).copied().unwrap_or(THRESHOLD)
    }

    fn seconds(&self, id: usize) -> f64 {
        self.suite.pair * (1.0 + 0.5 * self.change(id))
    }

    fn layout(&mut self, id: usize) -> Pair<f64> {
        let Suite { changes, of_layout, of_changed, .. } = self.suite;
        let deviation = if id < changes.len() { of_changed } else { of_layout };
        let mut one = || deviation * self.random.normal();
        Pair { base: one(), head: one() }
    }

    fn run(&mut self, id: usize, layout: Pair<f64>, first: Side) -> Vec<Row> {
        self.now += self.seconds(id);
        let mut row = |side| {
            let change = if side == Side::Head { self.change(id).ln_1p() } else { 0.0 };
            let time = layout[side] + change + self.suite.of_run * self.random.normal();
            Row { benchmark: BenchmarkId(id), side, values: vec![(MetricId(0), time.exp())] }
        };
        [first, first.other()].map(&mut row).to_vec()
    }

    /// A unit of a test over layouts.
    fn unit(&mut self, over: &LayoutPlan, noise: &mut [LayoutNoise], turn: &Turn) -> Vec<Row> {
        self.now += self.suite.links;
        let pairs = turn.wanted.iter().map(|id| self.seconds(over.of[id.0].0)).sum();
        let first_runs = first_runs(over.plan.max_pairs, self.suite.links, pairs);
        let mut rows = Vec::new();
        for &id in &turn.wanted {
            let of = over.of[id.0].0;
            let layout = self.layout(of);
            let number = noise[id.0].runs(first_runs);
            let own: Vec<Row> =
                (0..number).flat_map(|_| self.run(of, layout, turn.first)).collect();
            let value = |side| {
                let of_side = own.iter().filter(move |row| row.side == side);
                of_side.filter_map(|row| row.get(MetricId(0)))
            };
            let ratios: Vec<f64> =
                value(Side::Base).zip(value(Side::Head)).map(|(base, head)| head / base).collect();
            noise[id.0].push(&ratios, self.suite.links, self.seconds(of));
            rows.extend(median_rows(&own, id, turn.first));
        }
        rows
    }

    /// The verdict over layouts of each benchmark that was tested over them, in order.
    fn compare(&mut self, seed: u64) -> (Vec<(usize, Verdict)>, StoppedBy) {
        let plan = self.plan(seed);
        let placed = vec![true; self.suite.benchmarks];
        let mut stages = Stages::new(plan.clone(), placed, |_| true, 0.0);
        if self.links_are_known {
            (0..stages.links.len()).for_each(|one| stages.linked(one, Some(self.suite.links), 0));
        }
        let stopped_by = loop {
            let (stage, turn) = match stages.next(self.now) {
                Ok(next) => next,
                Err(stopped_by) => break stopped_by,
            };
            let rows = match stage {
                Stage::AsBuilt => {
                    self.order.push((stage, turn.group));
                    self.run(turn.group, self.built[turn.group], turn.first)
                }
                Stage::Over(number) => {
                    let LayoutTest { over, noise, .. } = stages.test(number);
                    self.order.push((stage, over.of[turn.wanted[0].0].0));
                    let rows = self.unit(over, noise, &turn);
                    stages.linked(over_program(&stages, number, &turn), Some(self.suite.links), 0);
                    rows
                }
            };
            stages.push(stage, &turn, &rows, self.now);
        };
        stages.end();
        let verdicts = stages.tests().iter().flat_map(|test| {
            let results = test.experiment.finish(test.stopped_by()).benchmarks;
            let results = results.into_iter().zip(&test.over.of);
            results.filter_map(|(result, of)| Some((of.0, result.metrics[0].verdict?)))
        });
        (verdicts.collect(), stopped_by)
    }

    /// The verdict of the first benchmark if alarms are tested when the pairs as built are over
    /// and the time that is expected to be enough is left.
    fn compare_at_the_end(&mut self, seed: u64) -> Verdict {
        let plan = self.plan(seed);
        let mut as_built = Experiment::new(plan.clone(), 0.0);
        let mut gates: Vec<(BenchmarkId, Gate)> = Vec::new();
        while let Ok(turn) = as_built.next(self.now) {
            let rows = self.run(turn.group, self.built[turn.group], turn.first);
            as_built.push(&turn, &rows, self.now);
            as_built.set_aside(&|test, least| test.looks_slower(least));
            gates.extend(as_built.just_raised().map(|(id, _, gate)| (id, gate.clone())));
            let over = LayoutPlan::new(&plan, &gates, None, 0, |_| LINKS).plan;
            let links = over.groups.iter().filter_map(|group| over.least_pairs_in(group));
            let links = LINKS * links.sum::<u64>() as f64;
            let needed = 1.5 * (over.least_time().as_secs_f64() + links);
            as_built.reserve(needed.min(0.5 * self.suite.limit));
        }
        let over = LayoutPlan::new(&plan, &gates, None, 0, |_| LINKS);
        let mut noise: Vec<LayoutNoise> = over.plan.benchmarks.iter().map(super::noise).collect();
        let mut experiment = Experiment::new(over.plan.clone(), 0.0);
        while let Ok(turn) = experiment.next(self.now) {
            let rows = self.unit(&over, &mut noise, &turn);
            experiment.push(&turn, &rows, self.now);
        }
        let results = experiment.finish(StoppedBy::TimeLimit).benchmarks;
        let first = over.of.iter().zip(results).find(|(of, _)| of.0 == 0);
        first.and_then(|(_, result)| result.metrics[0].verdict).unwrap_or(Verdict::Inconclusive)
    }
}

fn over_program(stages: &Stages, number: usize, turn: &Turn) -> usize {
    stages.tests()[number].over.plan.groups[turn.group].program
}

fn is_found(verdicts: &[(usize, Verdict)], id: usize) -> bool {
    verdicts.contains(&(id, Verdict::Regression))
}

#[test]
fn what_is_twice_as_slow_never_ends_inconclusive() {
    // The alarm as built would come too late if all had the same number of pairs first.
    let short = Suite { limit: 160.0, ..ONE };
    for suite in [ONE, short, Suite { of_run: 0.05, ..ONE }] {
        for seed in 0..3 {
            let at_the_end = Simulated::new(suite, seed).compare_at_the_end(seed);
            assert_eq!(at_the_end, Verdict::Inconclusive, "{seed}");
            let mut simulated = Simulated::new(suite, seed);
            let (verdicts, stopped_by) = simulated.compare(seed);
            assert!(is_found(&verdicts, 0), "{seed}: {verdicts:?}");
            assert_eq!(stopped_by, StoppedBy::TimeLimit);
            // The others have the rest of the time.
            let last = simulated.order.iter().rposition(|(stage, _)| *stage == Stage::AsBuilt);
            let confirmed = simulated.order.iter().rposition(|(_, id)| *id == 0);
            assert!(last > confirmed, "{seed}");
            // A last unit takes up to 6 s.
            assert!(simulated.now > suite.limit - 6.0, "{}", simulated.now);
        }
    }
}

#[test]
fn the_first_confirmed_alarm_ends_a_comparison_that_fails_fast() {
    let suite = Suite { fail_fast: true, changes: &[1.0, 1.0], ..ONE };
    for seed in 0..6 {
        let mut simulated = Simulated::new(suite, seed);
        let (verdicts, stopped_by) = simulated.compare(seed);
        assert_eq!(stopped_by, StoppedBy::Verdict);
        assert!(is_found(&verdicts, 0) || is_found(&verdicts, 1), "{verdicts:?}");
        assert!(simulated.now < 0.5 * suite.limit, "{}", simulated.now);
        assert!(
            simulated.order.iter().all(|(_, id)| simulated.order.contains(&(Stage::AsBuilt, *id)))
        );
    }
}

/// Ten benchmarks that are slower by what their layouts as built make of them, and not at all
/// over layouts; the first is slower over layouts, too.
const STORM: Suite = Suite {
    benchmarks: 10,
    changes: &[1.0, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02],
    of_changed: 0.1,
    links: 1.0,
    limit: 200.0,
    ..ONE
};

#[test]
fn many_alarms_have_one_test_each_and_share_the_error() {
    let (mut wrong, mut tested) = (0, 0);
    let seeds = 30;
    for seed in 0..seeds {
        let mut simulated = Simulated::new(STORM, seed);
        let (verdicts, _) = simulated.compare(seed);
        assert!(is_found(&verdicts, 0), "{seed}: {verdicts:?}");
        let mut ids: Vec<usize> = verdicts.iter().map(|(id, _)| *id).collect();
        tested += ids.len();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|two| two[0] < two[1]), "one test each: {ids:?}");
        wrong += usize::from((1..STORM.benchmarks).any(|id| is_found(&verdicts, id)));
    }
    assert!(tested > 3 * seeds as usize, "{tested}");
    // Three standard errors above the level of 5 %.
    assert!(wrong <= 5, "{wrong} of {seeds}");
}

#[test]
fn where_all_benchmarks_of_a_program_became_slower_most_alarms_are_confirmed_in_time() {
    let suite = Suite {
        benchmarks: 18,
        changes: &[0.05; 18],
        of_changed: 0.015,
        pair: 0.12,
        links: 0.3,
        limit: 120.0,
        shares_program: true,
        ..ONE
    };
    let mut found = 0;
    for seed in 0..3 {
        let (verdicts, _) = Simulated::new(suite, seed).compare(seed);
        found += (0..18).filter(|id| is_found(&verdicts, *id)).count();
    }
    // 20 with three pairs in each of the first layouts, and the pairs as built before them.
    assert!(found > 30, "{found} of 54");
}

#[test]
fn alarms_that_are_none_leave_time_for_the_pairs_as_built() {
    let suite = Suite { changes: &[0.0; 10], of_changed: 0.2, links: 0.3, ..STORM };
    for seed in 0..6 {
        let mut simulated = Simulated::new(suite, seed);
        let (verdicts, _) = simulated.compare(seed);
        assert!((1..suite.benchmarks).all(|id| !is_found(&verdicts, id)), "{verdicts:?}");
        let stages = simulated.order.iter().map(|(stage, _)| *stage);
        let over = stages.clone().filter(|stage| *stage != Stage::AsBuilt).count();
        let first = stages.clone().take_while(|stage| *stage == Stage::AsBuilt).count();
        // The first test begins before the pairs as built are over.
        assert!(over > 0 && stages.skip(first).any(|stage| stage == Stage::AsBuilt), "{seed}");
    }
}

#[test]
fn layouts_that_take_too_long_for_a_verdict_leave_time_for_the_pairs_as_built() {
    let changes = &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let (benchmarks, of_changed, links) = (changes.len(), 0.0, 60.0);
    let suite = Suite { benchmarks, changes, of_changed, links, gives_up: true, ..ONE };
    let mut simulated = Simulated::new(suite, 1);
    let (verdicts, stopped_by) = simulated.compare(1);
    let open = vec![(0, Verdict::Inconclusive)];
    assert_eq!((verdicts, stopped_by), (open, StoppedBy::TimeLimit));
    // Three units show that the minimum number is out of reach. All others pass as built.
    let pairs = |of| simulated.order.iter().filter(|(stage, id)| of == (*stage, *id)).count();
    assert_eq!(pairs((Stage::Over(0), 0)), 3);
    assert!((1..benchmarks).all(|id| pairs((Stage::AsBuilt, id)) >= 14), "{:?}", simulated.order);
}

#[test]
fn where_too_few_pairs_fit_for_an_alarm_and_its_layouts_all_of_the_time_is_theirs() {
    let changes = &[0.8];
    let suite = Suite { benchmarks: 1, changes, of_changed: 0.01, pair: 5.0, links: 1.0, ..ONE };
    // Pairs of 7 s: 8 fit, of which 6 could raise an alarm.
    let few = Suite { limit: 60.0, ..suite };
    for seed in 0..3 {
        let mut simulated = Simulated::new(few, seed);
        let (verdicts, _) = simulated.compare(seed);
        assert!(is_found(&verdicts, 0), "{seed}: {verdicts:?}");
        let stages: Vec<Stage> = simulated.order.iter().map(|(stage, _)| *stage).collect();
        assert_eq!(stages[..2], [Stage::AsBuilt, Stage::Over(0)]);
    }
    // Pairs as built go first where they can pass, where layouts take too long, and where both fit.
    for other in [Suite { limit: 100.0, ..suite }, Suite { links: 30.0, ..few }] {
        let mut simulated = Simulated::new(other, 1);
        simulated.links_are_known = true;
        simulated.compare(1);
        let first = simulated.order.iter().take_while(|(stage, _)| *stage == Stage::AsBuilt);
        assert!(first.count() >= 6, "{:?}", simulated.order);
    }
}

#[test]
fn without_layouts_and_in_shards_the_order_is_that_of_the_experiment() {
    for layouts in [Layouts::Off, Layouts::Auto] {
        let mut simulated = Simulated::new(Suite { limit: 60.0, ..ONE }, 1);
        let plan = Plan { layouts: Layouts::Off, ..simulated.plan(1) };
        let placed = vec![layouts == Layouts::Auto; plan.groups.len()];
        let plan = Plan { layouts, decides: layouts == Layouts::Off, ..plan };
        let mut stages = Stages::new(plan.clone(), placed, |_| true, 0.0);
        let mut experiment = Experiment::new(plan, 0.0);
        while let Ok((stage, turn)) = stages.next(simulated.now) {
            assert_eq!(
                (stage, experiment.next(simulated.now).ok()),
                (Stage::AsBuilt, Some(turn.clone()))
            );
            let rows = simulated.run(turn.group, Pair { base: 0.0, head: 0.0 }, turn.first);
            stages.push(stage, &turn, &rows, simulated.now);
            experiment.push(&turn, &rows, simulated.now);
        }
        assert!(experiment.next(simulated.now).is_err() && simulated.now > 50.0);
    }
}

/// Compares a suite of which every benchmark is slower by 3 % as built, and by `change` over layouts.
/// Returns the verdicts of its geometric mean as built and over layouts, if it has those.
fn compare_suite(change: f64, layouts: Layouts) -> (Option<Verdict>, Option<Verdict>) {
    let mut plan = Plan::new(0.95, Estimator::Robust, 4);
    plan.time_limit = Duration::from_secs(100);
    plan.layouts = layouts;
    for id in 0..5 {
        plan.add_group(id / 2, true, 0.01);
        let gates = vec![Gate::new("wall_time", 0.2)];
        plan.add_benchmark(&id.to_string(), &[Metric::named("wall_time")], gates);
    }
    let threshold = 0.01;
    plan.add_suite(Some(SuiteGate { number: SuiteNumber::Geomean, threshold }), 0);
    let mut stages = Stages::new(plan.clone(), vec![true; 5], Metric::depends_on_placement, 0.0);
    let (mut random, mut now) = (TestNoise::seeded(6), 0.0);
    while let Ok((stage, turn)) = stages.next(now) {
        now += 0.01;
        let slower = if stage == Stage::AsBuilt { 0.03 } else { change };
        let mut rows = Vec::new();
        for id in &turn.wanted {
            for (side, factor) in [(Side::Base, 1.0), (Side::Head, 1.0 + slower)] {
                let time = factor * (0.01 * random.normal()).exp();
                rows.push(Row { benchmark: *id, side, values: vec![(MetricId(0), time)] });
            }
        }
        stages.push(stage, &turn, &rows, now);
    }
    stages.end();
    let verdict = |experiment: &Experiment| {
        let suite = experiment.finish(StoppedBy::Verdict).suite.unwrap();
        suite.numbers[0].metrics[0].verdict.unwrap()
    };
    let over = stages.tests().iter().find(|test| !test.over.of_suite.is_empty());
    (Some(verdict(stages.as_built())), over.map(|test| verdict(&test.experiment)))
}

#[test]
fn an_alarm_of_the_whole_suite_is_tested_over_layouts() {
    let (bad, good) = (Some(Verdict::Regression), Some(Verdict::NoRegression));
    assert_eq!(compare_suite(0.03, Layouts::Auto), (bad, bad));
    assert_eq!(compare_suite(0.0, Layouts::Auto), (bad, good));
    assert_eq!(compare_suite(0.0, Layouts::Off), (bad, None));
    assert_eq!(compare_suite(0.0, Layouts::Number(20)).1, good);
}
