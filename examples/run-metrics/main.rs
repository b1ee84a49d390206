//! The cost of a verdict about a benchmark of a suite, by the length of a run and by the metric
//! computed from its samples, and which changes each such metric misses.
//!
//! ```text
//! cargo run --release --example run-metrics -- record --load NAME --seconds S OUT.csv EXECUTABLE...
//! cargo run --release --example run-metrics -- study FILE.csv...
//! ```
//!
//! The first command records pairs of runs of criterion executables against themselves, as built by
//! `cargo bench --no-run`. The second one prints `docs/data/run-metrics.md` from such recordings; its
//! output depends on the files only.

#![allow(clippy::print_stdout, clippy::print_stderr, unreachable_pub, missing_docs)]

mod costs;
mod metrics;
#[allow(dead_code)]
#[path = "../error-rates/noise.rs"]
mod noise;
mod record;
mod recording;
mod shapes;
mod tables;
mod verdicts;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use cargo_cbdr::exec::process::{Command, Helper, Interrupt};

use record::Suite;

const USAGE: &str = "expected `record --load NAME --seconds S OUT.csv EXECUTABLE...` \
                     or `study FILE.csv...`";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["record", "--load", load, "--seconds", seconds, out, ref executables @ ..] => {
            record(load, seconds, Path::new(out), executables)
        }
        ["study", ref files @ ..] if !files.is_empty() => study(files),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn record(
    load: &str,
    seconds: &str,
    out: &Path,
    executables: &[&str],
) -> Result<(), Box<dyn Error>> {
    let time = seconds.parse().ok().and_then(|time| Duration::try_from_secs_f64(time).ok());
    let time =
        time.ok_or_else(|| format!("`--seconds {seconds}`: expected a number of seconds"))?;
    let helper = Helper::start()?;
    let never = Interrupt::never()?;
    let runner = |command: &Command| -> Result<f64, Box<dyn Error>> {
        let outcome = helper.run(command, &never)?;
        if outcome.exit.success() { Ok(outcome.wall) } else { Err(outcome.exit.to_string().into()) }
    };
    let executables: Vec<PathBuf> = executables.iter().map(PathBuf::from).collect();
    let suite = Suite::find(&runner, &executables)?;
    let rounds = suite.record(load, time, fs_err::File::create(out)?)?;
    println!("{rounds} rounds in `{}`", out.display());
    Ok(())
}

fn study(files: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut rows = Vec::new();
    for file in files {
        rows.extend(recording::rows(Path::new(file))?);
    }
    print!("{}", tables::page(&recording::series(rows)?));
    Ok(())
}
