//! Which changes a metric misses: recorded runs, with a change of shape planted into
//! the samples of the head.

use cargo_cbdr::stats::empirical::{nearest, sorted};
use cargo_cbdr::stats::estimator::{Decision, Running};

use super::metrics::{Metric, Sample, values};
use super::noise::Random;
use super::recording::{Run, Series};
use super::verdicts::{Draw, End, THRESHOLD, comparison};

/// How many pairs a comparison may have.
pub const MOST_PAIRS: u64 = 500;

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Nothing.
    Same,
    /// One iteration in so many takes three times as long.
    Iterations(f64),
    /// Half of the processes take 20 % longer.
    Processes,
    /// One sample in so many takes 20 % longer.
    Samples(usize),
    /// The slowest tenth of the runs take twice as long.
    WorstRuns,
    /// A fifth of the runs, whichever, take 60 % longer.
    Runs,
}

impl Shape {
    pub const ALL: [Shape; 9] = [
        Shape::Same,
        Shape::Iterations(10.0),
        Shape::Iterations(100.0),
        Shape::Iterations(1000.0),
        Shape::Processes,
        Shape::Samples(2),
        Shape::Samples(4),
        Shape::WorstRuns,
        Shape::Runs,
    ];

    pub fn name(self) -> String {
        match self {
            Shape::Same => "nothing changes".to_owned(),
            Shape::Iterations(many) => format!("1 iteration in {many} 3 times as slow"),
            Shape::Processes => "half of the processes 20 % slower".to_owned(),
            Shape::Samples(many) => format!("1 sample in {many} of a run 20 % slower"),
            Shape::WorstRuns => "the slowest tenth of the runs twice as slow".to_owned(),
            Shape::Runs => "a fifth of the runs 60 % slower".to_owned(),
        }
    }

    /// How much is added to the mean of all iterations, as a fraction; `None` where it
    /// depends on the runs.
    pub fn added(self) -> Option<f64> {
        match self {
            Shape::Same => Some(0.0),
            Shape::Iterations(many) => Some(2.0 / many),
            Shape::Processes => Some(0.1),
            Shape::Samples(many) => Some(0.2 / many as f64),
            Shape::WorstRuns => None,
            Shape::Runs => Some(0.12),
        }
    }
}

/// How many iterations a sample has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iterations {
    /// 1000, 2000, 3000 and so on, as criterion gives a benchmark of nanoseconds.
    Thousands,
    /// 20, 40, 60 and so on, as it gives one of a microsecond.
    Tens,
    /// A single one, as it gives a slow one.
    One,
}

impl Iterations {
    pub const ALL: [Iterations; 3] = [Iterations::Thousands, Iterations::Tens, Iterations::One];

    pub fn name(self) -> &'static str {
        match self {
            Iterations::Thousands => "thousands",
            Iterations::Tens => "20 to 200",
            Iterations::One => "one",
        }
    }

    fn of(self, number: usize) -> f64 {
        match self {
            Iterations::Thousands => 1000.0 * (number + 1) as f64,
            Iterations::Tens => 20.0 * (number + 1) as f64,
            Iterations::One => 1.0,
        }
    }
}

/// A change of shape in a benchmark.
pub struct Planted<'a> {
    series: &'a Series,
    shape: Shape,
    iterations: Iterations,
    /// The median of a run of which a tenth are slower.
    slow: f64,
}

impl<'a> Planted<'a> {
    /// `None` where samples are not recorded.
    pub fn new(series: &'a Series, shape: Shape, iterations: Iterations) -> Option<Self> {
        let runs = || series.pairs.iter().flat_map(|pair| &pair.runs);
        let level = |run: &Run| run.values[Metric::Median as usize];
        let slow = nearest(&sorted(runs().map(level)), 0.9)?;
        runs().all(|run| !run.samples.is_empty()).then_some(Planted {
            series,
            shape,
            iterations,
            slow,
        })
    }

    /// The same pairs to every metric: how each of them ends.
    pub fn compare(&self, seed: u64) -> [End; 5] {
        let mut draw = Draw::new(self.series, seed);
        let mut running: [Running; 5] = std::array::from_fn(|_| comparison());
        let mut ends = [End { decision: None, pairs: 0, seconds: 0.0 }; 5];
        for _ in 0..MOST_PAIRS {
            let (seconds, base, head) = draw.pair();
            let base = values(&self.samples(base, Shape::Same, draw.random()));
            let head = values(&self.samples(head, self.shape, draw.random()));
            for metric in Metric::ALL {
                let (end, number) = (&mut ends[metric as usize], metric as usize);
                if end.decision.is_none() {
                    running[number].push(base[number], head[number]);
                    end.decision = running[number].decide(THRESHOLD);
                    end.pairs += 1;
                    end.seconds += seconds;
                }
            }
            if ends.iter().all(|end| end.decision.is_some()) {
                break;
            }
        }
        ends
    }

    /// The samples of a run, changed.
    fn samples(&self, run: &Run, shape: Shape, random: &mut Random) -> Vec<Sample> {
        let process = match shape {
            Shape::Processes if random.coin() => 1.2,
            Shape::WorstRuns if run.values[Metric::Median as usize] >= self.slow => 2.0,
            Shape::Runs if random.uniform() < 0.2 => 1.6,
            _ => 1.0,
        };
        let first = random.uniform();
        let mut all = Vec::with_capacity(run.samples.len());
        for (number, each) in run.samples.iter().enumerate() {
            let iterations = self.iterations.of(number);
            let factor = match shape {
                Shape::Samples(many) if number % many == (first * many as f64) as usize => 1.2,
                Shape::Iterations(many) => {
                    1.0 + 2.0 * hits(iterations, 1.0 / many, random) / iterations
                }
                _ => process,
            };
            all.push(Sample { iterations, time: each * iterations * factor });
        }
        all
    }
}

/// How many of so many iterations are hit, each with this probability: by the gaps between
/// those that are.
pub fn hits(iterations: f64, probability: f64, random: &mut Random) -> f64 {
    let gap = (-probability).ln_1p();
    let (mut at, mut hits) = (0.0, 0.0);
    loop {
        at += (random.uniform().ln() / gap).floor() + 1.0;
        if at > iterations {
            return hits;
        }
        hits += 1.0;
    }
}

/// The number of comparisons with each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Said {
    pub comparisons: u32,
    pub regression: u32,
    pub no_regression: u32,
    /// The pairs of all.
    pub pairs: u64,
}

impl Said {
    pub fn add(&mut self, end: &End) {
        self.comparisons += 1;
        self.pairs += end.pairs;
        match end.decision {
            Some(Decision::Regression) => self.regression += 1,
            Some(Decision::NoRegression) => self.no_regression += 1,
            None => {}
        }
    }
}
