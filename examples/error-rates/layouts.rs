//! Comparisons of executables whose placement causes a difference.

use std::fmt::Write;

use cargo_cbdr::engine::layouts::{LayoutNoise, first_runs, looks_slower};
use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::model::metric::Better;
use cargo_cbdr::stats::estimator::{Decision, Levels, Running};

use super::noise::Random;
use super::plan::{Results, Simulated, Size};
use super::tables::{head, percent, row, words};
use super::trial::{THRESHOLD, Tally, error_of_rate};

const LEVEL: f64 = 0.05;

/// Seconds that a pair takes, and that it takes to link both sides.
const PAIR: f64 = 0.02;
const LINKS: f64 = 0.3;

/// How many units over layouts there may be.
const UNITS: u32 = 200;

/// The standard deviations of the effects of a layout and of a run.
const OF_LAYOUTS: [f64; 4] = [0.0, 0.005, 0.02, 0.1];
const OF_RUNS: [f64; 2] = [0.01, 0.05];

/// What decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Asked {
    /// `--layouts off`: the executables as they were built.
    AsBuilt,
    /// `--layouts auto`: these first, and where they have regressed or look slower for long,
    /// layouts.
    Both,
    /// `--layouts N`: layouts.
    Layouts,
}

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    pub asked: Asked,
    pub of_layout: f64,
    pub of_run: f64,
    /// The change of the source: the factor between the sides, averaged over layouts, minus
    /// 1.
    pub change: f64,
    pub runs: u32,
    pub pairs: u32,
}

impl Cell {
    /// One comparison: its verdict, and the seconds that it took.
    fn compare(&self, random: &mut Random) -> (Option<Decision>, f64) {
        let (built, pairs) = match self.asked {
            Asked::Layouts => (AsBuilt::LooksSlower, 0),
            Asked::AsBuilt | Asked::Both => self.as_built(random),
        };
        let seconds = f64::from(pairs) * PAIR;
        match (self.asked, built) {
            (Asked::Both, AsBuilt::Decided(Decision::NoRegression)) => {
                (Some(Decision::NoRegression), seconds)
            }
            (Asked::AsBuilt, AsBuilt::Decided(decision)) => (Some(decision), seconds),
            (Asked::AsBuilt, _) | (_, AsBuilt::Open) => (None, seconds),
            _ => {
                let (over, more) = self.over_layouts(random);
                (over, seconds + more)
            }
        }
    }

    fn as_built(&self, random: &mut Random) -> (AsBuilt, u32) {
        let (base, head) = (self.layout(random), self.layout(random));
        let mut running = running();
        let least = Estimator::Robust.least_pairs(levels()).unwrap_or(u64::MAX);
        for pair in 1..=self.pairs {
            running.push(self.run(base, 0.0, random), self.run(head, self.change, random));
            if let Some(decision) = running.decide(THRESHOLD) {
                return (AsBuilt::Decided(decision), pair);
            }
            if self.asked == Asked::Both && looks_slower(&running, THRESHOLD, least) {
                return (AsBuilt::LooksSlower, pair);
            }
        }
        (AsBuilt::Open, self.pairs)
    }

    fn over_layouts(&self, random: &mut Random) -> (Option<Decision>, f64) {
        let (mut running, mut noise) = (running(), LayoutNoise::new(THRESHOLD));
        let mut seconds = 0.0;
        for _ in 0..UNITS {
            let (base, head) = (self.layout(random), self.layout(random));
            let number = noise.runs(first_runs(None, LINKS, PAIR));
            seconds += LINKS + f64::from(number) * PAIR;
            let mut runs = |layout, change| -> Vec<f64> {
                (0..number).map(|_| self.run(layout, change, random)).collect()
            };
            let (base, head) = (runs(base, 0.0), runs(head, self.change));
            let ratios: Vec<f64> = base.iter().zip(&head).map(|(base, head)| head / base).collect();
            noise.push(&ratios, LINKS, PAIR);
            running.push(middle(base), middle(head));
            if let Some(decision) = running.decide(THRESHOLD) {
                return (Some(decision), seconds);
            }
        }
        (None, seconds)
    }

    fn layout(&self, random: &mut Random) -> f64 {
        (self.of_layout * random.normal()).exp()
    }

    fn run(&self, layout: f64, change: f64, random: &mut Random) -> f64 {
        layout * (1.0 + change) * (self.of_run * random.normal()).exp()
    }
}

/// The result of the executables as built.
#[derive(Clone, Copy)]
enum AsBuilt {
    Decided(Decision),
    /// Undecided after many pairs, with an estimate beyond the threshold.
    LooksSlower,
    Open,
}

fn running() -> Running {
    let mut running = Running::new(Estimator::Robust, Better::Lower, levels());
    running.track(THRESHOLD);
    running
}

fn levels() -> Levels {
    Levels::new(1.0 - LEVEL, 1)
}

/// The middle one of an odd number of values.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

impl Simulated for Cell {
    fn tally(&self, seed: u64) -> Tally {
        let mut random = Random::seeded(seed);
        let mut tally = Tally { runs: self.runs, ..Tally::default() };
        for _ in 0..self.runs {
            let (decision, seconds) = self.compare(&mut random);
            tally.push(decision, seconds);
        }
        tally
    }

    /// About the source. As built nothing is promised of it, and `auto` promises only that
    /// its alarms are true.
    fn promised(&self) -> Option<(f64, f64)> {
        let alarm = if self.change <= THRESHOLD { LEVEL } else { 1.0 };
        let clear = if self.change >= THRESHOLD { LEVEL } else { 1.0 };
        match self.asked {
            Asked::AsBuilt => None,
            Asked::Both => Some((alarm, 1.0)),
            Asked::Layouts => Some((alarm, clear)),
        }
    }
}

const ALL: [Asked; 3] = [Asked::AsBuilt, Asked::Both, Asked::Layouts];

/// The changes of the source.
const CHANGES: [f64; 5] = [0.0, THRESHOLD, 0.03, 0.05, 0.1];

/// All cells.
pub fn cells(size: &Size) -> Vec<Cell> {
    let mut cells = Vec::new();
    for of_layout in OF_LAYOUTS {
        for of_run in OF_RUNS {
            for asked in ALL {
                let runs = size.runs / 4;
                let cell = |change| Cell { asked, of_layout, of_run, change, runs, pairs: 1000 };
                cells.extend(CHANGES.map(cell));
            }
        }
    }
    cells
}

/// The table.
pub fn table(size: &Size, results: &Results<Cell>) -> String {
    let mut out = String::new();
    let error = percent(error_of_rate(LEVEL, size.runs / 4));
    let _ = writeln!(
        out,
        "\n## Layouts\n\nNormal noise of runs, and of layouts: a factor that each executable has of its \
         own. The change is that of the source, averaged over layouts. A pair takes {PAIR} s and \
             linking both sides {LINKS} s; there are at most 1000 pairs as built, {UNITS} layouts \
             of each side, and as many pairs for each pair of layouts as `LayoutNoise` determines. \
             {} comparisons per cell (standard error {error} at 5 %).",
        size.runs / 4
    );
    let title = "Alarms / all-clears, %, and mean seconds to the end";
    let changes = CHANGES.map(|change| format!("{:+.0} %", 100.0 * change));
    let columns = [words(&["layouts", "runs", "`--layouts`"]), changes.to_vec()].concat();
    head(&mut out, title, &columns);
    for cells in cells(size).chunks(CHANGES.len()) {
        let first = cells[0];
        let asked = match first.asked {
            Asked::AsBuilt => "off",
            Asked::Both => "auto",
            Asked::Layouts => "N",
        };
        let text = |cell: &Cell| {
            let tally = results.of(cell);
            format!("{}, {:.1} s", tally.rates(1), tally.mean_pairs())
        };
        let names = [percent(first.of_layout), percent(first.of_run), asked.to_owned()];
        row(&mut out, names.into_iter().chain(cells.iter().map(text)));
    }
    let _ = writeln!(
        out,
        "\nOf {} promises about the source (alarms of `auto`, both kinds of `N`), broken by more \
         than three standard errors: {}.",
        results.claims(),
        results.broken().len()
    );
    out
}
