//! The ways of keeping noise out of a pair.

use std::path::PathBuf;
use std::time::Duration;

use cargo_cbdr::exec::process::{
    Command, Helper, Interrupt, Isolation, Outcome, allowed_cpus, idle, pages,
};

/// How many runs the ways that repeat put into a measurement.
pub const RUNS: usize = 5;

/// A way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Plain,
    FixedAddresses,
    Padding,
    FixedAndPadding,
    OneCpu,
    Nicer,
    LessNice,
    Warm,
    Cold,
    Quiet,
    Mean,
    Least,
    Duet,
}

impl Way {
    pub fn all() -> Vec<Way> {
        use Way::*;
        let all = vec![
            Plain,
            FixedAddresses,
            Padding,
            FixedAndPadding,
            OneCpu,
            Nicer,
            LessNice,
            Warm,
            Cold,
            Quiet,
            Mean,
            Least,
            Duet,
        ];
        let can = |way: &Way| way.isolation(0).rehearse().is_ok();
        let cpus = allowed_cpus().len();
        let all = all.into_iter().filter(can);
        all.filter(|way| *way != Way::Duet || cpus > 1).collect()
    }

    /// The option.
    pub fn name(self) -> &'static str {
        match self {
            Way::Plain => "none",
            Way::FixedAddresses => "`--aslr off`",
            Way::Padding => "`--env-padding`",
            Way::FixedAndPadding => "`--aslr off --env-padding`",
            Way::OneCpu => "`--cpu N`",
            Way::Nicer => "`--nice 5`",
            Way::LessNice => "`--nice -10`",
            Way::Warm => "`--page-cache warm`",
            Way::Cold => "`--page-cache cold`",
            Way::Quiet => "`--max-busy 10%`",
            Way::Mean => "`--repetitions 5`",
            Way::Least => "`--estimator min`",
            Way::Duet => "`--duet`",
        }
    }

    /// How many runs of a side a pair costs.
    pub fn runs(self) -> usize {
        if matches!(self, Way::Mean | Way::Least) { RUNS } else { 1 }
    }

    fn isolation(self, spot: usize) -> Isolation {
        let cpus = allowed_cpus();
        let pinned = matches!(self, Way::OneCpu | Way::Duet);
        Isolation {
            fixed_addresses: matches!(self, Way::FixedAddresses | Way::FixedAndPadding),
            cpu: cpus.iter().rev().nth(spot).copied().filter(|_| pinned),
            nice: match self {
                Way::Nicer => 5,
                Way::LessNice => -10,
                _ => 0,
            },
        }
    }
}

/// A pair: the first run and the second one, seconds on the wall, and of
/// processor time.
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

    /// The mean user time of so many runs in a row, seconds.
    pub fn user_time(&self, name: &str, runs: usize) -> Result<f64, Box<dyn std::error::Error>> {
        let command = self.command(name, Way::Plain, 0);
        let mut sum = 0.0;
        for _ in 0..runs {
            sum += self.helper.run(&command, &self.never)?.usage.user;
        }
        Ok(sum / runs as f64)
    }

    fn command(&self, name: &str, way: Way, spot: usize) -> Command {
        Command {
            argv: vec![self.program.clone().into(), "--work".into(), name.into()],
            env: std::env::vars_os().collect(),
            cwd: "/".into(),
            timeout: Some(Duration::from_secs(60)),
            sweep: true,
            isolation: way.isolation(spot),
            ..Command::default()
        }
    }

    /// Measures a pair of a program with itself.
    pub fn pair(
        &self,
        name: &str,
        way: Way,
        lot: u64,
        round: usize,
    ) -> Result<Measured, Box<dyn std::error::Error>> {
        let command = |spot: usize| {
            let mut command = self.command(name, way, spot);
            if matches!(way, Way::Padding | Way::FixedAndPadding) {
                command.set_var("CBDR_PADDING", "x".repeat((lot % 4096) as usize));
            }
            command
        };
        if way == Way::Quiet {
            idle::wait(0.1, Duration::from_secs(2), &self.never);
        }
        let (mut wall, mut cpu) = ([0.0; 2], [0.0; 2]);
        let mut put = |side: usize, all: &[Outcome]| {
            let of = |value: fn(&Outcome) -> f64| -> f64 {
                let values = all.iter().map(value);
                match way {
                    Way::Least => values.fold(f64::INFINITY, f64::min),
                    _ => values.sum::<f64>() / all.len() as f64,
                }
            };
            wall[side] = of(|outcome| outcome.wall);
            cpu[side] = of(|outcome| outcome.usage.user + outcome.usage.sys);
        };
        if way == Way::Duet {
            // The sides change places from round to round.
            let commands = [command(0), command(1)];
            let ran = self.helper.run_both([&commands[0], &commands[1]], &self.never)?;
            let swap = (lot as usize ^ round) & 1;
            put(swap, &ran[..1]);
            put(1 - swap, &ran[1..]);
        } else {
            for side in [0, 1] {
                let command = command(0);
                let mut all = Vec::with_capacity(way.runs());
                for _ in 0..way.runs() {
                    match way {
                        Way::Warm => pages::load(&self.program)?,
                        Way::Cold => drop(pages::evict(&self.program)?),
                        _ => {}
                    }
                    all.push(self.helper.run(&command, &self.never)?);
                }
                put(side, &all);
            }
        }
        Ok(Measured { wall, cpu })
    }
}
