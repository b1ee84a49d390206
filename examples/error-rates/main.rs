//! How often a verdict is wrong, and how many pairs it takes, by our rules and by the usual
//! practice, on simulated and on recorded noise.
//!
//! ```text
//! cargo run --release --example error-rates                # all tables, minutes
//! cargo run --release --example error-rates -- --quick     # the same, coarser
//! cargo run --release --example error-rates -- --readme    # the first table alone
//! cargo run --release --example error-rates -- --shards    # those of several machines alone
//! cargo run --release --example error-rates -- --layouts   # the one with layouts alone
//! cargo run --release --example error-rates -- --suites    # those of suites alone
//! cargo run --release --example error-rates -- --last-look # that of a last look alone
//! cargo run --release --example error-rates -- --stopped   # that of what is reported alone
//! cargo run --release --example error-rates -- --long-bounds # that of long comparisons alone
//! cargo run --release --example error-rates -- --lengths   # the last one alone
//! cargo run --release --example error-rates -- --files     # that of docs/data/layouts.md
//! cargo run --release --example error-rates -- --giving-up # docs/data/giving-up.md
//! cargo run --release --example error-rates -- --divided   # docs/data/shards.md
//! cargo run --release --example error-rates -- --suite-number # docs/data/suite-number.md
//! cargo run --release --example error-rates -- --learnt --quick # docs/data/learnt-thresholds.md
//! ```
//!
//! The output of the first command is `docs/data/error-rates.md`. Each of its tables is the same if
//! it is printed alone.

#![allow(clippy::print_stdout, unreachable_pub, missing_docs)]

mod before;
mod divided;
mod files;
mod giving_up;
mod last_look;
mod layouts;
mod learnt;
mod lengths;
mod long_bounds;
mod machines;
mod noise;
mod plan;
mod shards;
mod stopped;
mod suite_number;
mod suites;
mod tables;
mod trial;
mod two_point;

use plan::{Results, Size};

const SEED: u64 = 20_261_121;

/// Tables that can be made alone, on so many threads.
type Part = fn(&Size, usize) -> String;

fn main() {
    let mut size = Size { runs: 4000, pairs: 400, patience: 3000 };
    let (mut horizon, mut readme) = (300_000, false);
    let mut alone: Option<Part> = None;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--quick" => {
                size = Size { runs: 400, pairs: 200, patience: 1000 };
                horizon = 20_000;
            }
            "--readme" => readme = true,
            "--shards" => alone = Some(shards_of),
            "--layouts" => alone = Some(layouts_of),
            "--suites" => alone = Some(suites_of),
            "--last-look" => alone = Some(last_look_of),
            "--stopped" => alone = Some(stopped_of),
            "--files" => alone = Some(|size, _| files::table(size.runs)),
            "--long-bounds" => alone = Some(long_bounds_of),
            "--lengths" => alone = Some(lengths_of),
            "--giving-up" => alone = Some(giving_up_of),
            "--learnt" => alone = Some(|size, _| learnt::table(size, SEED)),
            "--divided" => alone = Some(|size, _| divided::table(size, SEED)),
            "--suite-number" => {
                alone = Some(|size, threads| suite_number::tables(size, threads, SEED));
            }
            other => {
                let known = "`--quick`, `--readme`, `--shards`, `--layouts`, `--suites`, \
                             `--last-look`, `--stopped`, `--files`, `--giving-up`, `--divided`, \
                             `--suite-number`, `--learnt`, `--long-bounds` or `--lengths`";
                panic!("unknown option `{other}`, expected {known}")
            }
        }
    }
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    if let Some(part) = alone {
        print!("{}", part(&size, threads));
        return;
    }
    let cells = if readme { size.summary() } else { size.all() };
    let results = Results::simulate(&cells, SEED, threads);
    if readme {
        print!("{}", tables::summary(&size, &results));
        return;
    }
    println!("# Error rates and pairs to a verdict\n");
    println!(
        "Made by `cargo run --release --example error-rates`, seed {SEED}: {} comparisons per cell \
         (a quarter of that for pairs to a verdict on noise other than normal 3 %), at most {} pairs \
         at the threshold and {} elsewhere. The threshold is 2 %. A measurement of `min` is the \
         minimum of 5 runs; its pairs are counted as pairs of single runs. Recorded pairs are \
         replayed in blocks of 100 from random positions; which run of a pair is the head's is drawn \
         at random. Welch's interval is looked at after every run once there are 5 of each side; two \
         of its runs count as a pair.\n",
        size.runs, size.pairs, size.patience
    );
    println!("<!-- summary -->");
    print!("{}", tables::summary(&size, &results));
    println!("<!-- /summary -->");
    print!("{}", tables::full(&size, &results, horizon));
    let parts: [Part; 7] =
        [shards_of, layouts_of, suites_of, last_look_of, stopped_of, long_bounds_of, lengths_of];
    for part in parts {
        print!("{}", part(&size, threads));
    }
}

/// The table with a last look.
fn last_look_of(size: &Size, threads: usize) -> String {
    last_look::table(size, &Results::simulate(&last_look::cells(size), SEED, threads))
}

/// The table of what is reported at the verdict.
fn stopped_of(size: &Size, _threads: usize) -> String {
    stopped::table(size)
}

/// The table of long comparisons.
fn long_bounds_of(size: &Size, _threads: usize) -> String {
    long_bounds::table(size)
}

/// The table with the trial of run lengths.
fn lengths_of(size: &Size, _threads: usize) -> String {
    lengths::table(size, SEED)
}

/// The table with giving up.
fn giving_up_of(size: &Size, _threads: usize) -> String {
    giving_up::table(size)
}

/// The tables with suites.
fn suites_of(size: &Size, threads: usize) -> String {
    suites::tables(size, &Results::simulate(&suites::cells(size), SEED, threads))
}

/// The table with layouts.
fn layouts_of(size: &Size, threads: usize) -> String {
    layouts::table(size, &Results::simulate(&layouts::cells(size), SEED, threads))
}

/// The tables with several machines.
fn shards_of(size: &Size, threads: usize) -> String {
    shards::tables(size, &Results::simulate(&size.all_shards(), SEED, threads))
}
