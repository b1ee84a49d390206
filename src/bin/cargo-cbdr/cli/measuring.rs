//! The options that say how runs are made and what surrounds them.

use cargo_cbdr::settings::table;
use clap::Args;

const MEASURING: &str = "Measuring";

/// How runs are made and what surrounds them.
#[derive(Debug, Args)]
pub(crate) struct Measuring {
    /// How many runs make a measurement; auto: as many as the clock needs
    /// [default: auto]
    #[arg(long, value_name = "auto|N", help_heading = MEASURING)]
    repetitions: Option<String>,

    /// Of how many measurements --estimator min takes the least [default: 5]
    #[arg(long, value_name = "N", help_heading = MEASURING)]
    min_of: Option<u32>,

    /// Run both members of a pair at the same time, on two processors
    #[arg(long, help_heading = MEASURING)]
    duet: bool,

    /// Address randomisation; off: every run has the same addresses
    /// [default: on]
    #[arg(long, value_name = "on|off", help_heading = MEASURING)]
    aslr: Option<String>,

    /// Give each pair an environment of another length, both sides the same
    #[arg(long, help_heading = MEASURING)]
    env_padding: bool,

    /// Run on this processor only; two of them with --duet
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = MEASURING)]
    cpu: Vec<u16>,

    /// Be so much nicer to other programs, or less where it may be
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = MEASURING)]
    nice: Option<i8>,

    /// Standard input of every run, a file in the package's folder of either
    /// side [default: empty]
    #[arg(long, value_name = "FILE", help_heading = MEASURING)]
    stdin: Option<String>,

    /// Bring the executable and the input into the page cache before each
    /// run, or out of it [default: leave it alone]
    #[arg(long, value_name = "warm|cold", help_heading = MEASURING)]
    page_cache: Option<String>,

    /// The same for this file in the package's folder of either side
    #[arg(long, value_name = "FILE", help_heading = MEASURING)]
    page_cache_file: Vec<String>,

    /// Begin a pair only when others keep the machine less busy than this
    #[arg(long, value_name = "PERCENT", help_heading = MEASURING)]
    max_busy: Option<String>,

    /// Before each run do this, unmeasured, in the package's folder of either
    /// side
    #[arg(long, value_name = "CMD", help_heading = MEASURING)]
    prepare: Option<String>,

    /// The same before the first run of either side
    #[arg(long, value_name = "CMD", help_heading = MEASURING)]
    setup: Option<String>,

    /// The same after the last run of either side
    #[arg(long, value_name = "CMD", help_heading = MEASURING)]
    cleanup: Option<String>,

    /// Compare what the two sides print to standard output
    #[arg(long, help_heading = MEASURING)]
    check_output: bool,

    /// Build both sides with the benchmark sources of one [default: each]
    #[arg(long, value_name = "each|head|base", help_heading = MEASURING)]
    bench_from: Option<String>,
}

impl Measuring {
    /// The options as a layer over the tables.
    pub(crate) fn table(&self) -> table::Measuring {
        let number = |text: &String| match text.parse() {
            Ok(number) => table::Count::Number(number),
            Err(_) => table::Count::Word(text.clone()),
        };
        let files = &self.page_cache_file;
        table::Measuring {
            repetitions: self.repetitions.as_ref().map(number),
            min_of: self.min_of,
            duet: self.duet.then_some(true),
            aslr: self.aslr.clone(),
            env_padding: self.env_padding.then_some(true),
            cpus: (!self.cpu.is_empty()).then(|| self.cpu.clone()),
            nice: self.nice,
            stdin: self.stdin.clone(),
            page_cache: self.page_cache.clone(),
            page_cache_files: (!files.is_empty()).then(|| files.clone()),
            max_busy: self.max_busy.clone(),
            prepare: self.prepare.clone(),
            setup: self.setup.clone(),
            cleanup: self.cleanup.clone(),
            check_output: self.check_output.then_some(true),
            bench_from: self.bench_from.clone(),
        }
    }
}
