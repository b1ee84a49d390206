//! Where the simulated timings come from.

use std::f64::consts::{PI, TAU};

/// The splitmix64 generator (Steele, Lea and Flood 2014).
pub struct Random(u64);

impl Random {
    pub fn seeded(seed: u64) -> Self {
        Random(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x5851_f42d_4c95_7f2d)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn uniform(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    pub fn coin(&mut self) -> bool {
        self.next() >> 63 == 0
    }

    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }
}

/// A kind of noise. The times are around 1, except for the recorded ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Normal with this deviation.
    Normal(f64),
    /// Log-normal, 5 %.
    LogNormal,
    /// Normal 1 %, and in 10 % of the runs 10 %.
    Contaminated,
    /// A delay of at least 2 %, with a Pareto distribution of index 2.5.
    Pareto,
    /// Two modes 10 % apart, 30 % of the runs in the slower one.
    Bimodal,
    /// One run of each pair takes 3 % more and the other one 3 % less: `d = +-1`.
    TwoPoint,
    /// Laplace, 2 %.
    Laplace,
    /// The logarithm has a Cauchy distribution with scale 1 %, cut at a factor of 20.
    Cauchy,
    /// Normal 1 % on top of a slow wave and a random walk, which the runs of a pair share.
    Drifting,
    /// Timings of one program against itself; see `fixtures/traces`.
    Recorded(&'static str),
}

impl Noise {
    pub const SYNTHETIC: [Noise; 9] = [
        Noise::Normal(0.03),
        Noise::LogNormal,
        Noise::Contaminated,
        Noise::Pareto,
        Noise::Bimodal,
        Noise::TwoPoint,
        Noise::Laplace,
        Noise::Cauchy,
        Noise::Drifting,
    ];

    pub const RECORDED: [Noise; 4] = [
        Noise::Recorded("sha"),
        Noise::Recorded("python"),
        Noise::Recorded("tiny"),
        Noise::Recorded("mem"),
    ];

    /// Recorded after the constants of all rules were fixed.
    pub const HELD_OUT: [Noise; 6] = [
        Noise::Recorded("awk"),
        Noise::Recorded("sort"),
        Noise::Recorded("perl"),
        Noise::Recorded("gzip"),
        Noise::Recorded("openssl"),
        Noise::Recorded("jq"),
    ];

    pub fn name(self) -> String {
        match self {
            Noise::Normal(deviation) => format!("normal {:.0} %", 100.0 * deviation),
            Noise::LogNormal => "log-normal 5 %".to_owned(),
            Noise::Recorded(name) => format!("recorded: {name}"),
            other => format!("{other:?}").to_lowercase().replace("twopoint", "two-point"),
        }
    }
}

/// The recorded pairs of one file, in microseconds.
fn recorded(name: &str) -> Vec<(f64, f64)> {
    let text = match name {
        "sha" => include_str!("../../fixtures/traces/sha.txt"),
        "python" => include_str!("../../fixtures/traces/python.txt"),
        "tiny" => include_str!("../../fixtures/traces/tiny.txt"),
        "mem" => include_str!("../../fixtures/traces/mem.txt"),
        "awk" => include_str!("../../fixtures/traces/awk.txt"),
        "sort" => include_str!("../../fixtures/traces/sort.txt"),
        "perl" => include_str!("../../fixtures/traces/perl.txt"),
        "gzip" => include_str!("../../fixtures/traces/gzip.txt"),
        "openssl" => include_str!("../../fixtures/traces/openssl.txt"),
        "jq" => include_str!("../../fixtures/traces/jq.txt"),
        other => panic!("no recording of `{other}`"),
    };
    let number = |word: &str| word.parse::<f64>().expect("a recording holds numbers");
    let pair = |line: &str| {
        let (first, second) = line.split_once(' ').expect("a line holds two numbers");
        (number(first), number(second))
    };
    text.lines().map(pair).collect()
}

/// A source of runs in their order, two by two.
pub struct Source {
    noise: Noise,
    recorded: Vec<(f64, f64)>,
    at: usize,
    left: usize,
    walk: f64,
    step: u64,
}

/// How many recorded pairs in a row are replayed before jumping elsewhere.
const BLOCK: usize = 100;

impl Source {
    pub fn new(noise: Noise) -> Self {
        let recorded = match noise {
            Noise::Recorded(name) => recorded(name),
            _ => Vec::new(),
        };
        Source { noise, recorded, at: 0, left: 0, walk: 0.0, step: 0 }
    }

    /// Starts a new comparison.
    pub fn restart(&mut self) {
        (self.left, self.walk, self.step) = (0, 0.0, 0);
    }

    /// The times of two runs in a row.
    pub fn pair(&mut self, random: &mut Random) -> (f64, f64) {
        match self.noise {
            Noise::Recorded(_) => return self.replay(random),
            Noise::TwoPoint => return if random.coin() { (0.97, 1.03) } else { (1.03, 0.97) },
            Noise::Drifting => {
                self.step += 1;
                self.walk += 0.01 * random.normal();
                let wave = 0.1 * (self.step as f64 / 30.0).sin();
                let level = (wave + self.walk).exp();
                return (
                    level * (1.0 + 0.01 * random.normal()),
                    level * (1.0 + 0.01 * random.normal()),
                );
            }
            _ => {}
        }
        (one(self.noise, random), one(self.noise, random))
    }

    /// Blocks of recorded pairs from random places.
    fn replay(&mut self, random: &mut Random) -> (f64, f64) {
        if self.left == 0 {
            self.at = (random.uniform() * self.recorded.len() as f64) as usize;
            self.left = BLOCK;
        }
        self.left -= 1;
        self.at = (self.at + 1) % self.recorded.len();
        self.recorded[self.at]
    }
}

fn one(noise: Noise, random: &mut Random) -> f64 {
    match noise {
        Noise::Normal(deviation) => (1.0 + deviation * random.normal()).max(0.0),
        Noise::LogNormal => (0.05 * random.normal()).exp(),
        Noise::Contaminated => {
            let deviation = if random.uniform() < 0.1 { 0.1 } else { 0.01 };
            (1.0 + deviation * random.normal()).max(0.0)
        }
        Noise::Pareto => 1.0 + 0.02 * random.uniform().powf(-1.0 / 2.5),
        Noise::Bimodal => {
            let mode = if random.uniform() < 0.3 { 1.1 } else { 1.0 };
            mode * (1.0 + 0.01 * random.normal())
        }
        Noise::Laplace => {
            let size = -0.02 * random.uniform().ln();
            if random.coin() { 1.0 + size } else { (1.0 - size).max(0.0) }
        }
        Noise::Cauchy => {
            let size = 0.01 * (PI * (random.uniform() - 0.5)).tan();
            size.clamp(-3.0, 3.0).exp()
        }
        Noise::TwoPoint | Noise::Drifting | Noise::Recorded(_) => unreachable!("made in pairs"),
    }
}
