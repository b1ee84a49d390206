//! What is simulated, and how it is distributed over threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cargo_cbdr::model::estimator::Estimator;

use super::machines::{LEVEL as SHARDS_LEVEL, MACHINES, Park, Shards, Way};
use super::noise::Noise;
use super::trial::{Cell, Rule, Shape, THRESHOLD, Tally, error_of_rate};

/// The size of the simulation.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Comparisons in each cell.
    pub runs: u32,
    /// The most pairs if the change is the threshold, so that no verdict is due.
    pub pairs: u32,
    /// The most pairs of other comparisons.
    pub patience: u32,
}

pub const LEVELS: [f64; 5] = [0.2, 0.05, 0.01, 0.001, 0.000_25];
pub const CHANGES: [f64; 3] = [0.0, 0.5 * THRESHOLD, 1.5 * THRESHOLD];
/// A slowdown that is seen at once.
pub const LARGE: f64 = 0.1;
pub const QUESTIONS: [usize; 3] = [1, 4, 50];
pub const SLOT: f64 = 0.02;

/// Our rules, the default before, and the usual practice.
pub fn rules() -> Vec<Rule> {
    let ours = Estimator::ALL.into_iter().map(Rule::Ours);
    ours.chain([Rule::Before, Rule::Welch(0.05), Rule::Welch(0.0005)]).collect()
}

/// The same, and the default in another order of the runs.
pub fn ordered_rules() -> Vec<Rule> {
    let mut all = rules();
    all.insert(1, Rule::InBlocks(Estimator::Robust));
    all
}

pub fn noises() -> Vec<Noise> {
    Noise::SYNTHETIC.into_iter().chain(Noise::RECORDED).collect()
}

/// Changes that hardly affect the typical run.
pub const SHAPES: [(&str, Shape); 6] = [
    ("5 % of runs 60 % slower (mean +3 %)", Shape::Slower(0.05, 0.6)),
    ("10 % of runs 120 % slower (mean +12 %)", Shape::Slower(0.1, 1.2)),
    ("20 % of runs 60 % slower (mean +12 %)", Shape::Slower(0.2, 0.6)),
    ("second mode: 30 % of runs 15 % slower (mean +4.5 %)", Shape::Slower(0.3, 0.15)),
    ("second mode: 60 % of runs 10 % slower (mean +6 %)", Shape::Slower(0.6, 0.1)),
    ("10 % more spread, same mean", Shape::Wider(0.1)),
];

pub const SHAPE_NOISES: [Noise; 3] =
    [Noise::Normal(0.01), Noise::Normal(0.03), Noise::Recorded("python")];

impl Size {
    /// A comparison where the change is the threshold.
    pub fn at_threshold(&self, rule: Rule, noise: Noise, level: f64) -> Cell {
        Cell {
            rule,
            noise,
            change: THRESHOLD,
            shape: Shape::Same,
            slot: 0.0,
            level,
            questions: 1,
            runs: self.runs,
            pairs: self.pairs,
        }
    }

    /// A comparison where it is `change`, at 5 %.
    pub fn until_verdict(&self, rule: Rule, noise: Noise, change: f64) -> Cell {
        let cell = self.at_threshold(rule, noise, 0.05);
        // Fewer comparisons where they take long.
        let runs = if noise == Noise::Normal(0.03) { self.runs } else { self.runs / 4 };
        Cell { change, runs, pairs: self.patience, ..cell }
    }

    /// A comparison where the change is the threshold, and that goes on for long.
    pub fn for_long(&self, noise: Noise) -> Cell {
        let cell = self.at_threshold(Rule::Ours(Estimator::Robust), noise, 0.05);
        Cell { pairs: self.patience, ..cell }
    }

    pub fn with_slot(&self, rule: Rule, noise: Noise) -> Cell {
        Cell { slot: SLOT, ..self.at_threshold(rule, noise, 0.05) }
    }

    pub fn with_questions(&self, rule: Rule, noise: Noise, questions: usize) -> Cell {
        Cell { questions, ..self.at_threshold(rule, noise, 0.05) }
    }

    pub fn with_shape(&self, rule: Rule, noise: Noise, shape: Shape) -> Cell {
        Cell { shape, ..self.until_verdict(rule, noise, 0.0) }
    }

    /// What the first table needs.
    pub fn summary(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for rule in rules() {
            for noise in noises() {
                cells.push(self.at_threshold(rule, noise, 0.05));
            }
            for noise in [Noise::Normal(0.03)].into_iter().chain(Noise::RECORDED) {
                cells.extend([0, 1].map(|i| self.until_verdict(rule, noise, CHANGES[i])));
            }
        }
        cells
    }

    /// What all tables need.
    pub fn all(&self) -> Vec<Cell> {
        let mut cells = self.summary();
        for rule in rules() {
            for noise in noises() {
                cells.extend(CHANGES.map(|change| self.until_verdict(rule, noise, change)));
                if matches!(rule, Rule::Ours(_)) {
                    cells.extend(LEVELS.map(|level| self.at_threshold(rule, noise, level)));
                }
            }
            for noise in Noise::HELD_OUT {
                cells.push(self.at_threshold(rule, noise, 0.05));
                let changes = [CHANGES[0], CHANGES[1], LARGE];
                cells.extend(changes.map(|change| self.until_verdict(rule, noise, change)));
            }
            cells.push(self.until_verdict(rule, Noise::Normal(0.03), LARGE));
        }
        cells.extend(noises().into_iter().map(|noise| self.for_long(noise)));
        for rule in ordered_rules() {
            for noise in slot_noises() {
                cells.push(self.with_slot(rule, noise));
                cells.push(Cell { slot: SLOT, ..self.until_verdict(rule, noise, CHANGES[0]) });
            }
            for noise in Noise::RECORDED {
                cells.push(self.at_threshold(rule, noise, 0.05));
            }
        }
        for rule in rules() {
            for noise in SHAPE_NOISES {
                cells.extend(SHAPES.map(|(_, shape)| self.with_shape(rule, noise, shape)));
            }
        }
        for rule in question_rules() {
            for noise in question_noises() {
                cells.extend(QUESTIONS.map(|number| self.with_questions(rule, noise, number)));
            }
        }
        cells
    }
}

pub const SHARD_ESTIMATORS: [Estimator; 2] = [Estimator::Robust, Estimator::Mean];

pub const SHARD_NOISES: [Noise; 8] = [
    Noise::Normal(0.03),
    Noise::LogNormal,
    Noise::Contaminated,
    Noise::Pareto,
    Noise::TwoPoint,
    Noise::Drifting,
    Noise::Recorded("sha"),
    Noise::Recorded("python"),
];

/// Other ways than ours are shown for this many machines, which differ.
pub const OTHER_WAYS: usize = 4;

impl Size {
    /// A comparison of pairs from several machines.
    pub fn of_shards(
        &self,
        estimator: Estimator,
        noise: Noise,
        (machines, park): (usize, Park),
        change: f64,
    ) -> Shards {
        // As many pairs as nearly all verdicts need, since all of them are simulated.
        let at_threshold = change >= THRESHOLD;
        let runs = if at_threshold { self.runs } else { self.runs / 8 };
        let pairs = if at_threshold { self.pairs } else { self.patience / 2 };
        Shards { estimator, noise, machines, park, way: Way::Ours, change, runs, pairs }
    }

    /// What the tables of shards need.
    pub fn all_shards(&self) -> Vec<Shards> {
        let mut cells = Vec::new();
        for estimator in SHARD_ESTIMATORS {
            for noise in SHARD_NOISES {
                for park in parks() {
                    let cell = |change| self.of_shards(estimator, noise, park, change);
                    cells.extend([CHANGES[0], CHANGES[1], THRESHOLD].map(cell));
                }
                for way in [Way::OwnVerdicts, Way::Unweighted] {
                    let cell = |change| {
                        self.of_shards(estimator, noise, (OTHER_WAYS, Park::Mixed), change)
                    };
                    cells.extend([CHANGES[0], THRESHOLD].map(|c| Shards { way, ..cell(c) }));
                }
            }
        }
        cells
    }
}

/// One machine, then several.
pub fn parks() -> Vec<(usize, Park)> {
    let several = [Park::Alike, Park::Mixed].map(|park| MACHINES.map(|number| (number, park)));
    [(1, Park::Alike)].into_iter().chain(several.into_iter().flatten()).collect()
}

pub fn slot_noises() -> [Noise; 3] {
    [Noise::Normal(0.03), Noise::Normal(0.01), Noise::Recorded("sha")]
}

pub fn question_noises() -> [Noise; 3] {
    [Noise::Normal(0.03), Noise::TwoPoint, Noise::Recorded("tiny")]
}

pub fn question_rules() -> [Rule; 3] {
    [Estimator::Robust, Estimator::Mean, Estimator::Median].map(Rule::Ours)
}

/// A cell that can be simulated.
pub trait Simulated: Copy + PartialEq + std::fmt::Debug + Send + Sync {
    /// Simulates the cell.
    fn tally(&self, seed: u64) -> Tally;

    /// The promised probabilities of a false alarm and of a false all-clear, if the change
    /// makes them false.
    fn promised(&self) -> Option<(f64, f64)>;
}

impl Simulated for Cell {
    fn tally(&self, seed: u64) -> Tally {
        Cell::tally(self, seed)
    }

    fn promised(&self) -> Option<(f64, f64)> {
        let alarm = if self.change <= THRESHOLD { self.level / self.questions as f64 } else { 1.0 };
        let clear = if self.change >= THRESHOLD { self.level } else { 1.0 };
        claimed(self).then_some((alarm, clear))
    }
}

impl Simulated for Shards {
    fn tally(&self, seed: u64) -> Tally {
        Shards::tally(self, seed)
    }

    fn promised(&self) -> Option<(f64, f64)> {
        let clear = if self.change >= THRESHOLD { SHARDS_LEVEL } else { 1.0 };
        Some((SHARDS_LEVEL, clear))
    }
}

/// The cells and their results.
pub struct Results<C = Cell>(Vec<(C, Tally)>);

impl<C: Simulated> Results<C> {
    /// Simulates each cell once, on `threads`. The results of a cell depend on the seed and
    /// on the cell, not on the threads.
    pub fn simulate(cells: &[C], seed: u64, threads: usize) -> Self {
        let mut distinct: Vec<C> = Vec::new();
        for cell in cells {
            if !distinct.contains(cell) {
                distinct.push(*cell);
            }
        }
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(cell) = distinct.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let tally = cell.tally(seed ^ fingerprint(cell));
                        done.lock().expect("no thread panics").push((*cell, tally));
                    }
                });
            }
        });
        Results(done.into_inner().expect("no thread panics"))
    }

    pub fn of(&self, cell: &C) -> Tally {
        let found = self.0.iter().find(|(other, _)| other == cell);
        found.map(|(_, tally)| *tally).expect("a table shows only what was simulated")
    }

    /// The cells in which one of our rules is wrong more often than promised, by more than
    /// three standard errors of the simulation.
    pub fn broken(&self) -> Vec<(C, Tally)> {
        let broken = |(cell, tally): &&(C, Tally)| {
            let bound = |level: f64| level + 3.0 * error_of_rate(level, tally.runs);
            cell.promised().is_some_and(|(alarm, clear)| {
                tally.alarm_rate() > bound(alarm) || tally.clear_rate() > bound(clear)
            })
        };
        self.0.iter().filter(broken).copied().collect()
    }

    pub fn claims(&self) -> usize {
        self.0.iter().filter(|(cell, _)| cell.promised().is_some()).count()
    }
}

/// Whether the documentation promises an error rate here, as it does where the change is
/// a factor. With two-point noise all minima are equal, so `min` sees a change of exactly
/// the threshold and rightly says that it is not beyond.
pub fn claimed(cell: &Cell) -> bool {
    let constant = cell.rule == Rule::Ours(Estimator::Min) && cell.noise == Noise::TwoPoint;
    matches!(cell.rule, Rule::Ours(_)) && cell.shape == Shape::Same && !constant
}

/// A number that differs from cell to cell: the FNV-1a hash of its `Debug` output.
fn fingerprint(cell: &impl std::fmt::Debug) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    format!("{cell:?}").bytes().fold(0xcbf2_9ce4_8422_2325, step)
}
