//! Simulates comparisons, each until its rule stops it.

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::metric::Better;
use cargo_cbdr::stats::estimator::{Decision, Levels, Running};
use cargo_cbdr::stats::moments::Moments;
use cargo_cbdr::stats::quantile::student_t;

use super::before::Before;
use super::noise::{Noise, Random, Source};

/// The threshold of all comparisons.
pub const THRESHOLD: f64 = 0.02;

/// The rule that decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Our rule. A coin decides which side of a pair goes first.
    Ours(Estimator),
    /// The same with pairs in blocks of two, one in each order.
    InBlocks(Estimator),
    /// The one that the default went by before, with pairs in blocks of two as it had them.
    Before,
    /// The usual practice: a coin decides whose run is next. From 5 runs of each side on,
    /// one looks at Welch's interval at this one-sided level after every run, until it
    /// excludes the threshold.
    Welch(f64),
}

impl Rule {
    pub fn name(self) -> String {
        match self {
            Rule::Ours(estimator) => format!("`{estimator}`"),
            Rule::InBlocks(estimator) => format!("`{estimator}` in blocks"),
            Rule::Before => "`robust` before".to_owned(),
            Rule::Welch(0.05) => "Welch, one-sided 5 %".to_owned(),
            Rule::Welch(_) => "Welch, two-sided 99.9 %".to_owned(),
        }
    }
}

/// How the head differs from the base, apart from the factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Not at all.
    Same,
    /// A share of its runs takes longer by a factor.
    Slower(f64, f64),
    /// All its runs vary more by a factor, about the same mean.
    Wider(f64),
}

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    pub rule: Rule,
    pub noise: Noise,
    /// The factor between the sides, minus 1.
    pub change: f64,
    pub shape: Shape,
    /// How much longer the second run of each two takes.
    pub slot: f64,
    /// The promised probability of a wrong verdict.
    pub level: f64,
    pub questions: usize,
    /// How many comparisons there are, and how many pairs each may have.
    pub runs: u32,
    pub pairs: u32,
}

/// The results of the comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    pub runs: u32,
    pub alarms: u32,
    pub clears: u32,
    pub pairs: f64,
    pub squares: f64,
}

impl Tally {
    /// Counts as many comparisons, each of which `one` simulates from the noise.
    pub fn simulated(
        runs: u32,
        noise: Noise,
        seed: u64,
        mut one: impl FnMut(&mut Source, &mut Random) -> (Option<Decision>, f64),
    ) -> Self {
        let (mut random, mut source) = (Random::seeded(seed), Source::new(noise));
        let mut tally = Tally { runs, ..Tally::default() };
        for _ in 0..runs {
            source.restart();
            let (decision, pairs) = one(&mut source, &mut random);
            tally.push(decision, pairs);
        }
        tally
    }

    /// Counts a comparison, which took so many pairs (or seconds).
    pub fn push(&mut self, decision: Option<Decision>, pairs: f64) {
        match decision {
            Some(Decision::Regression) => self.alarms += 1,
            Some(Decision::NoRegression) => self.clears += 1,
            None => {}
        }
        self.pairs += pairs;
        self.squares += pairs * pairs;
    }

    pub fn alarm_rate(&self) -> f64 {
        f64::from(self.alarms) / f64::from(self.runs)
    }

    pub fn clear_rate(&self) -> f64 {
        f64::from(self.clears) / f64::from(self.runs)
    }

    /// Alarms and all-clears, in percent, with so many digits after the point.
    pub fn rates(&self, digits: usize) -> String {
        let (alarms, clears) = (100.0 * self.alarm_rate(), 100.0 * self.clear_rate());
        format!("{alarms:.digits$} / {clears:.digits$}")
    }

    pub fn mean_pairs(&self) -> f64 {
        self.pairs / f64::from(self.runs)
    }

    /// The Monte Carlo standard error of the mean number of pairs.
    pub fn error_of_pairs(&self) -> f64 {
        let runs = f64::from(self.runs);
        ((self.squares / runs - self.mean_pairs().powi(2)).max(0.0) / runs).sqrt()
    }
}

/// The Monte Carlo standard error of a rate whose true value is `rate`.
pub fn error_of_rate(rate: f64, runs: u32) -> f64 {
    (rate * (1.0 - rate) / f64::from(runs)).sqrt()
}

impl Cell {
    pub fn tally(&self, seed: u64) -> Tally {
        let critical = CriticalValues::new(self.rule);
        Tally::simulated(self.runs, self.noise, seed, |source, random| match self.rule {
            Rule::Ours(estimator) | Rule::InBlocks(estimator) => {
                self.ours(estimator, source, random)
            }
            Rule::Before => self.before(source, random),
            Rule::Welch(_) => self.welch(&critical, source, random),
        })
    }

    fn ours(
        &self,
        estimator: Estimator,
        source: &mut Source,
        random: &mut Random,
    ) -> (Option<Decision>, f64) {
        let levels = Levels::new(1.0 - self.level, self.questions);
        let mut running = Running::new(estimator, Better::Lower, levels);
        running.track(THRESHOLD);
        let repeated = if estimator == Estimator::Min { 5 } else { 1 };
        let mut base_first = true;
        for pair in 0..self.pairs / repeated {
            let follows = pair % 2 == 1 && matches!(self.rule, Rule::InBlocks(_));
            base_first = if follows { !base_first } else { random.coin() };
            let (mut base, mut head) = (f64::INFINITY, f64::INFINITY);
            for _ in 0..repeated {
                let (first, second) = source.pair(random);
                let second = second * (1.0 + self.slot);
                let (x, y) = if base_first { (first, second) } else { (second, first) };
                base = base.min(x);
                head = head.min(self.head(y, random));
            }
            running.push(base, head);
            if let Some(decision) = running.decide(THRESHOLD) {
                return (Some(decision), f64::from((pair + 1) * repeated));
            }
        }
        (None, f64::from(self.pairs))
    }

    fn before(&self, source: &mut Source, random: &mut Random) -> (Option<Decision>, f64) {
        let mut rule = Before::new(THRESHOLD, self.level);
        let mut base_first = true;
        for pair in 0..self.pairs {
            base_first = if pair % 2 == 1 { !base_first } else { random.coin() };
            let (first, second) = source.pair(random);
            let second = second * (1.0 + self.slot);
            let (base, head) = if base_first { (first, second) } else { (second, first) };
            rule.push(base, self.head(head, random));
            if let Some(decision) = rule.decide() {
                return (Some(decision), f64::from(pair + 1));
            }
        }
        (None, f64::from(self.pairs))
    }

    fn welch(
        &self,
        critical: &CriticalValues,
        source: &mut Source,
        random: &mut Random,
    ) -> (Option<Decision>, f64) {
        // The base is scaled by 1 + T, so that the difference is compared with zero.
        let (mut base, mut head) = (Moments::default(), Moments::default());
        for pair in 0..self.pairs {
            let (first, second) = source.pair(random);
            for (slot, time) in [first, second * (1.0 + self.slot)].into_iter().enumerate() {
                if random.coin() {
                    base.push(time * (1.0 + THRESHOLD));
                } else {
                    head.push(self.head(time, random));
                }
                if let Some(decision) = critical.decide(&base, &head) {
                    return (Some(decision), f64::from(pair) + 0.5 * (slot + 1) as f64);
                }
            }
        }
        (None, f64::from(self.pairs))
    }

    /// The time of a run of the head, if a run of the base takes `time`.
    fn head(&self, time: f64, random: &mut Random) -> f64 {
        let time = time * (1.0 + self.change);
        match self.shape {
            Shape::Same => time,
            Shape::Slower(share, by) if random.uniform() < share => time * (1.0 + by),
            Shape::Slower(..) => time,
            Shape::Wider(by) => time * (1.0 + by * (2.0 * random.uniform() - 1.0) * 3f64.sqrt()),
        }
    }
}

/// Student's critical values by whole degrees of freedom, since the quantile takes longer
/// than everything else.
struct CriticalValues(Vec<f64>);

impl CriticalValues {
    const MOST: usize = 2000;

    fn new(rule: Rule) -> Self {
        let Rule::Welch(level) = rule else { return CriticalValues(Vec::new()) };
        let value = |dof: usize| student_t(1.0 - level, dof.max(1) as f64).unwrap_or(f64::INFINITY);
        CriticalValues((0..=Self::MOST).map(value).collect())
    }

    fn decide(&self, base: &Moments, head: &Moments) -> Option<Decision> {
        if base.count().min(head.count()) < 5 {
            return None;
        }
        let part = |side: &Moments| Some(side.variance()? / side.count() as f64);
        let (a, b) = (part(base)?, part(head)?);
        let below = |part: f64, side: &Moments| part * part / (side.count() - 1) as f64;
        let dof = (a + b) * (a + b) / (below(a, base) + below(b, head));
        let critical = self.0[(dof as usize).min(Self::MOST)];
        let difference = head.mean()? - base.mean()?;
        if difference.abs() <= critical * (a + b).sqrt() {
            return None;
        }
        Some(if difference > 0.0 { Decision::Regression } else { Decision::NoRegression })
    }
}

/// The lower bound of the mean number of pairs with normal noise of unknown variance, for
/// a `change` from the threshold, if both sides have this relative `deviation`.
pub fn least_mean_pairs(change: f64, deviation: f64, level: f64) -> f64 {
    let spread = deviation * ((1.0 + change).powi(2) + (1.0 + THRESHOLD).powi(2)).sqrt();
    let effect = (THRESHOLD - change) / spread;
    -level.ln() / (0.5 * (effect * effect).ln_1p())
}
