//! Standard deviations of the log-ratios, their uncertainty, and the tables.

use crate::ways::{Measured, Way};

/// The splitmix64 generator (Steele, Lea and Flood 2014).
pub struct Random(u64);

impl Random {
    pub fn seeded(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn shuffle(&mut self, all: &mut [usize]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last + 1));
        }
    }
}

/// Log-ratios within pairs.
pub struct Figures {
    wall: Vec<f64>,
    cpu: Vec<f64>,
    /// The median wall time of a run, seconds.
    typical: f64,
}

impl Figures {
    pub fn of(pairs: &[Measured]) -> Self {
        let log = |two: [f64; 2]| (two[1] / two[0]).ln();
        let all: Vec<f64> = pairs.iter().flat_map(|pair| pair.wall).collect();
        Figures {
            wall: pairs.iter().map(|pair| log(pair.wall)).collect(),
            cpu: pairs.iter().map(|pair| log(pair.cpu)).collect(),
            typical: median(all),
        }
    }
}

fn deviation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The standard deviation of a normal distribution with the same median
/// absolute deviation; outliers hardly affect it.
fn typical_deviation(values: &[f64]) -> f64 {
    let middle = median(values.to_vec());
    1.4826 * median(values.iter().map(|value| (value - middle).abs()).collect())
}

/// The bootstrap distribution of a statistic of two lists of pairs: 1000
/// values in ascending order, from rounds drawn with replacement.
fn drawn(one: &[f64], other: &[f64], figure: impl Fn(&[f64], &[f64]) -> f64) -> Vec<f64> {
    let mut random = Random::seeded(1);
    let draw = |_| {
        let rounds: Vec<usize> = one.iter().map(|_| random.below(one.len())).collect();
        let of = |all: &[f64]| rounds.iter().map(|&round| all[round]).collect::<Vec<_>>();
        figure(&of(one), &of(other))
    };
    let mut draws: Vec<f64> = (0..1000).map(draw).collect();
    draws.sort_by(f64::total_cmp);
    draws
}

/// The standard deviation that the same runs have without pairs, scaled to two
/// runs: a coin decides the side of each run, and the sides are compared as two
/// independent samples.
fn coin_flips(pairs: &[Measured], value: fn(&Measured) -> [f64; 2]) -> f64 {
    let runs: Vec<f64> = pairs.iter().flat_map(value).map(f64::ln).collect();
    let mut random = Random::seeded(2);
    let differences: Vec<f64> = (0..2000)
        .map(|_| {
            let mut sums = [(0.0, 0.0); 2];
            for run in &runs {
                let side = &mut sums[(random.next() >> 63) as usize];
                *side = (side.0 + run, side.1 + 1.0);
            }
            sums[1].0 / sums[1].1 - sums[0].0 / sums[0].1
        })
        .collect();
    deviation(&differences) * (pairs.len() as f64).sqrt()
}

pub fn print(ways: &[Way], figures: &[Figures], plain: &[Measured]) {
    println!(
        "| option | median run, ms | SD of ln(y/x), % | variance relative to none (90 % interval) | \
         robust SD, % | SD of CPU time, % |"
    );
    println!("|---|--:|--:|--:|--:|--:|");
    let none = &figures[0];
    for (way, own) in ways.iter().zip(figures) {
        let variance = |one: &[f64], other: &[f64]| (deviation(one) / deviation(other)).powi(2);
        let cost = way.runs() as f64;
        let against = match *way {
            Way::Plain => "1".to_owned(),
            _ => {
                let draws = drawn(&own.wall, &none.wall, variance);
                format!(
                    "{:.2} ({:.2} to {:.2}){}",
                    cost * variance(&own.wall, &none.wall),
                    cost * draws[50],
                    cost * draws[950],
                    if cost > 1.0 { " for the same number of runs" } else { "" }
                )
            }
        };
        println!(
            "| {} | {:.2} | {:.2} ± {:.2} | {against} | {:.2} | {:.2} |",
            way.name(),
            1e3 * own.typical,
            100.0 * deviation(&own.wall),
            100.0 * deviation(&drawn(&own.wall, &own.wall, |one, _| deviation(one))),
            100.0 * typical_deviation(&own.wall),
            100.0 * deviation(&own.cpu),
        );
    }
    let wall = coin_flips(plain, |pair| pair.wall);
    println!(
        "| none, unpaired (sides drawn by coin flips) | {:.2} | {:.2} | {:.2} | | {:.2} |\n",
        1e3 * none.typical,
        100.0 * wall,
        (wall / deviation(&none.wall)).powi(2),
        100.0 * coin_flips(plain, |pair| pair.cpu),
    );
}

pub fn print_user_time(measured: &[(usize, Vec<f64>)]) {
    println!(
        "| runs per measurement | mean, ms | measurements of 0, % | SD, % of the mean | \
         relative variance for the same number of runs |"
    );
    println!("|--:|--:|--:|--:|--:|");
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let relative = |values: &[f64]| deviation(values) / mean(values);
    for (runs, values) in measured {
        let zeros = values.iter().filter(|&&value| value == 0.0).count();
        println!(
            "| {runs} | {:.2} | {:.0} | {:.0} | {:.2} |",
            1e3 * mean(values),
            100.0 * zeros as f64 / values.len() as f64,
            100.0 * relative(values),
            *runs as f64 * (relative(values) / relative(&measured[0].1)).powi(2),
        );
    }
}
