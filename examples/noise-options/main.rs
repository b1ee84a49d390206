//! Measures the effect of each noise option on this machine: the standard
//! deviation of the log-ratio within pairs of runs of the same program.
//!
//! ```text
//! cargo run --release --example noise-options                 # ten minutes
//! cargo run --release --example noise-options -- --rounds 30  # a quick look
//! ```
//!
//! Each round measures one pair per option, in random order, so that all
//! options meet the same conditions. The tables go into `docs/data/noise-options.md`.

#![allow(clippy::print_stdout, unreachable_pub, missing_docs)]

mod figures;
mod ways;
mod work;

use std::path::Path;
use std::time::Instant;

use cargo_cbdr::exec::machine::Machine;
use cargo_cbdr::exec::process::{Helper, Interrupt};

use figures::Figures;
use ways::{Lab, Way};

const SEED: u64 = 20_261_121;

/// The number of rounds per program, without `--rounds`.
const ROUNDS: usize = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let mut rounds = ROUNDS;
    match (args.next().as_deref(), args.next()) {
        // The measured programs are this executable, called with `--work`.
        (Some("--work"), Some(name)) => {
            work::work(&name);
            return Ok(());
        }
        (Some("--rounds"), Some(number)) => rounds = number.parse()?,
        (None, _) => {}
        (Some(other), _) => panic!("unknown option `{other}`, expected `--rounds N`"),
    }
    let helper = Helper::start()?;
    let lab = Lab::new(&helper, Interrupt::never()?)?;
    println!("Printed by `cargo run --release --example noise-options -- --rounds {rounds}`");
    println!("on {}.\n", machine());
    for (name, about) in work::PROGRAMS {
        let start = Instant::now();
        let ways = Way::all();
        let mut measured = vec![Vec::with_capacity(rounds); ways.len()];
        let mut order: Vec<usize> = (0..ways.len()).collect();
        let mut random = figures::Random::seeded(SEED);
        for _ in 0..rounds {
            random.shuffle(&mut order);
            for &number in &order {
                measured[number].push(lab.pair(name, ways[number])?);
            }
        }
        let figures: Vec<Figures> = measured.iter().map(|pairs| Figures::of(pairs)).collect();
        println!("### {about}\n");
        println!(
            "{rounds} pairs each, {:.0} s, load {} at the end.\n",
            start.elapsed().as_secs_f64(),
            load()
        );
        figures::print(&ways, &figures, &measured[0]);
    }
    println!("### `user_time` of the short program\n");
    let measure = |runs: usize| -> Result<Vec<f64>, Box<dyn std::error::Error>> {
        (0..rounds).map(|_| lab.user_time("short", runs)).collect()
    };
    let tick = cargo_cbdr::exec::process::tick();
    println!("The kernel's tick is {:.0} ms; {rounds} measurements each.\n", 1e3 * tick);
    let measured = [1, 5, 24].map(|runs| measure(runs).map(|values| (runs, values)));
    figures::print_user_time(&measured.into_iter().collect::<Result<Vec<_>, _>>()?);
    Ok(())
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}

fn machine() -> String {
    let processor = Machine::read(Path::new("/")).processor;
    let virtual_machine = processor.is_virtual;
    let model = processor.name.unwrap_or_else(|| "an unknown processor".to_owned());
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let kind = if virtual_machine { " of a virtual machine" } else { "" };
    format!("{cpus} processors{kind} ({model}), load {} at the start", load())
}
