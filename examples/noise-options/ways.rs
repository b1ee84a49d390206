//! The options that are compared, and how a pair is measured under each.

use std::path::PathBuf;
use std::time::Duration;

use cargo_cbdr::exec::process::{Command, Helper, Interrupt, Isolation, RunOutcome, allowed_cpus};

/// The number of runs per measurement, for options that repeat.
pub const RUNS: usize = 5;

/// An option against noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Plain,
    FixedAddresses,
    OneCpu,
    Nicer,
    LessNice,
    Mean,
    Least,
}

impl Way {
    pub fn all() -> Vec<Way> {
        use Way::*;
        let all = vec![Plain, FixedAddresses, OneCpu, Nicer, LessNice, Mean, Least];
        all.into_iter().filter(|way| way.isolation().rehearse().is_ok()).collect()
    }

    /// The option as it is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Way::Plain => "none",
            Way::FixedAddresses => "`--aslr off`",
            Way::OneCpu => "`--cpu N`",
            Way::Nicer => "`--nice 5`",
            Way::LessNice => "`--nice -10`",
            Way::Mean => "`--repetitions 5`",
            Way::Least => "`--estimator min`",
        }
    }

    /// The number of runs per side in a pair.
    pub fn runs(self) -> usize {
        if matches!(self, Way::Mean | Way::Least) { RUNS } else { 1 }
    }

    fn isolation(self) -> Isolation {
        Isolation {
            fixed_addresses: self == Way::FixedAddresses,
            cpus: allowed_cpus()
                .last()
                .copied()
                .filter(|_| self == Way::OneCpu)
                .into_iter()
                .collect(),
            nice: match self {
                Way::Nicer => 5,
                Way::LessNice => -10,
                _ => 0,
            },
        }
    }
}

/// A pair, first and second run: wall time and CPU time, seconds.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub wall: [f64; 2],
    pub cpu: [f64; 2],
}

pub struct Lab<'a> {
    helper: &'a Helper,
    never: Interrupt,
    program: PathBuf,
}

impl<'a> Lab<'a> {
    pub fn new(helper: &'a Helper, never: Interrupt) -> std::io::Result<Self> {
        Ok(Lab { helper, never, program: std::env::current_exe()? })
    }

    /// The mean user time of `runs` consecutive runs, seconds.
    pub fn user_time(&self, name: &str, runs: usize) -> Result<f64, Box<dyn std::error::Error>> {
        let command = self.command(name, Way::Plain);
        let mut sum = 0.0;
        for _ in 0..runs {
            sum += self.helper.run(&command, &self.never)?.usage.user;
        }
        Ok(sum / runs as f64)
    }

    fn command(&self, name: &str, way: Way) -> Command {
        Command {
            argv: vec![self.program.clone().into(), "--work".into(), name.into()],
            env: std::env::vars_os().collect(),
            cwd: "/".into(),
            timeout: Some(Duration::from_secs(60)),
            sweep: true,
            isolation: way.isolation(),
            ..Command::default()
        }
    }

    /// Measures one pair of runs of the program `name`.
    pub fn pair(&self, name: &str, way: Way) -> Result<Measured, Box<dyn std::error::Error>> {
        let command = self.command(name, way);
        let mut measured = Measured { wall: [0.0; 2], cpu: [0.0; 2] };
        for side in [0, 1] {
            let mut all = Vec::with_capacity(way.runs());
            for _ in 0..way.runs() {
                all.push(self.helper.run(&command, &self.never)?);
            }
            let of = |value: fn(&RunOutcome) -> f64| -> f64 {
                let values = all.iter().map(value);
                match way {
                    Way::Least => values.fold(f64::INFINITY, f64::min),
                    _ => values.sum::<f64>() / all.len() as f64,
                }
            };
            measured.wall[side] = of(|outcome| outcome.wall);
            measured.cpu[side] = of(|outcome| outcome.usage.user + outcome.usage.sys);
        }
        Ok(measured)
    }
}
