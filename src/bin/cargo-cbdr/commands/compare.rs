//! `cargo cbdr compare`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cargo_cbdr::Options;
use cargo_cbdr::analysis::Recording;
use cargo_cbdr::config::Table;
use cargo_cbdr::metric::Units;
use cargo_cbdr::options::threshold_flag;
use cargo_cbdr::prepare::Request;
use cargo_cbdr::process::{Helper, Interrupt};
use cargo_cbdr::side::Side;
use cargo_cbdr::verdict::StoppedBy;

use super::capture;
use super::observe::{observed, random_seed};
use crate::cli::{Compare, From};
use crate::exit::Exit;
use crate::report;
use crate::report::outcome::Outcome;
use crate::report::outputs::{self, Outputs};
use crate::ui::{Failure, Ui};

/// Runs the comparison that the arguments ask for.
pub(crate) fn run(args: &Compare, helper: &Helper, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let mut ui = Ui::new();
    let options = options(args, std::env::current_dir()?)?;
    if let Some(times) = args.repeat {
        return super::repeat::run(times, options, args.format, helper, interrupt, ui);
    }
    let outputs =
        Outputs::new(args.format, args.report.as_deref(), &args.export, args.samples.as_deref())?;
    let mut recording = Recording::new(None, Units::new());
    let kept = outputs.want_runs().then_some(&mut recording);
    let outcome = observed(&options, args.samples.clone(), kept, helper, interrupt, &mut ui);
    ui.end();
    let report = match outcome {
        Err(Failure::Library(error)) if error.is_interrupt() => {
            return Ok(Exit::interrupted(interrupt));
        }
        outcome => outcome?,
    };
    let outcome = Outcome::of(&report);
    let written = outputs.write(&outcome, &recording);
    let printed = outputs::print(
        args.format,
        &outcome,
        || report::human::print(&report),
        || report::json::print(&report),
    );
    // After a hangup there may be no terminal to print to.
    if report.sampled.stopped_by == StoppedBy::Interrupt {
        return Ok(Exit::interrupted(interrupt));
    }
    written?;
    printed?;
    Ok(Exit::of(&report))
}

fn options(args: &Compare, folder: PathBuf) -> Result<Options, Failure> {
    let request = Request {
        folder,
        flags: flags(args)?,
        head: args.head.clone(),
        instead: args.instead.clone(),
        exact_base: args.exact_base,
        dirty: args.dirty,
        aa: args.aa,
        always_run: args.always_run,
        filter: args.filter.clone(),
        policy_from: match args.policy_from {
            From::Base => Side::Base,
            From::Head => Side::Head,
        },
        cache: cache_dir(),
        env: std::env::vars_os().collect(),
        capture: capture()?,
    };
    let seed = args.seed.unwrap_or_else(random_seed);
    Ok(Options { request, fail_fast: args.fail_fast, seed })
}

/// The cache's place, when the environment names one.
pub(super) fn cache_dir() -> Option<PathBuf> {
    std::env::var_os("CBDR_CACHE_DIR").filter(|place| !place.is_empty()).map(PathBuf::from)
}

/// The flags as a layer over the tables.
fn flags(args: &Compare) -> Result<Table, Failure> {
    let some = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    let mut table = Table {
        base: args.base.clone(),
        package: args.package.clone(),
        bench: args.bench.clone(),
        bin: args.bin.clone(),
        example: args.example.clone(),
        command: args.command.clone(),
        build_command: args.build_command.clone(),
        harness: args.harness.clone(),
        args: some(&args.args),
        features: some(&args.features),
        all_features: args.all_features.then_some(true),
        no_default_features: args.no_default_features.then_some(true),
        profile: args.profile.clone(),
        toolchain: args.toolchain.clone(),
        metrics: some(&args.metric),
        show: some(&args.show),
        threshold: None,
        thresholds: None::<BTreeMap<_, _>>,
        warn: args.warn.clone(),
        waivers: None,
        units: None,
        confidence: args.confidence.clone(),
        estimator: args.estimator.clone(),
        time_limit: args.time_limit.clone(),
        max_pairs: args.max_pairs,
        warmup: args.warmup,
        run_timeout: args.run_timeout.clone(),
        on_inconclusive: args.on_inconclusive.clone(),
        on_no_baseline: args.on_no_baseline.clone(),
        benchmarks: None,
    };
    for threshold in &args.threshold {
        threshold_flag(threshold, &mut table).map_err(Failure::usage)?;
    }
    // Said before anything is checked out: a flag that can't be understood is
    // the command line's fault.
    cargo_cbdr::options::check(&table).map_err(Failure::usage)?;
    Ok(table)
}
