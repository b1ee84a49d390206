//! `cargo cbdr compare`.

use std::path::PathBuf;

use cargo_cbdr::Options;
use cargo_cbdr::exec::process::{Helper, Interrupt};
use cargo_cbdr::model::outcome::StoppedBy;
use cargo_cbdr::model::side::Side;
use cargo_cbdr::samples::Recording;
use cargo_cbdr::settings::table::Table;
use cargo_cbdr::workspace::Request;

use super::observe::{Observed, observed, random_seed};
use super::request::{cache_dir, checked};
use super::{capture, environment};
use crate::cli::{Compare, From};
use crate::exit::Exit;
use crate::render;
use crate::render::outputs::{self, Outputs, WantedOutputs};
use crate::ui::{Failure, Ui};

/// Runs the comparison that the arguments ask for.
pub(crate) fn run(args: &Compare, helper: &Helper, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let mut ui = Ui::new();
    let options = options(args, super::current_folder()?)?;
    if let Some(times) = args.repeat {
        return super::repeat::run(times, options, args.format, helper, interrupt, ui);
    }
    let samples = args.samples.as_deref();
    let wanted =
        WantedOutputs { page: args.report.as_deref(), exports: &args.export, samples, inputs: &[] };
    let outputs = Outputs::new(args.format, wanted, interrupt)?;
    let mut recording = Recording::default();
    let runs = outputs.want_runs().then_some(&mut recording);
    let result = observed(&options, samples, runs, helper, interrupt, &mut ui);
    ui.end();
    let Observed { outcome, written } = result?;
    let given = outputs.write(&outcome, &recording);
    let printed = render::print(args.format, &outcome);
    // After a hangup there may be no terminal to print to.
    if outcome.stopped_by == StoppedBy::Interrupt {
        return Ok(Exit::interrupted(interrupt));
    }
    written?;
    given?;
    outputs::printed(printed)?;
    Ok(Exit::of(&outcome))
}

fn options(args: &Compare, folder: PathBuf) -> Result<Options, Failure> {
    let request = Request {
        folder,
        flags: flags(args)?,
        head: args.head.clone(),
        instead: args.instead.clone(),
        exact_base: args.exact_base,
        dirty: args.dirty,
        fetch: args.fetch,
        aa: args.aa,
        always_run: args.always_run,
        filter: args.subject.filter.clone(),
        policy_from: match args.policy_from {
            From::Base => Side::Base,
            From::Head => Side::Head,
        },
        cache: cache_dir(),
        env: environment(),
        capture: capture()?,
    };
    let seed = args.seed.unwrap_or_else(random_seed);
    Ok(Options { request, fail_fast: args.fail_fast, seed, shard: args.shard })
}

/// The flags as a layer over the tables.
fn flags(args: &Compare) -> Result<Table, Failure> {
    let table = Table {
        base: args.base.clone(),
        on_inconclusive: args.on_inconclusive.clone(),
        on_no_baseline: args.on_no_baseline.clone(),
        on_removed: args.on_removed.clone(),
        measuring: args.measuring.table(),
        ..Table::default()
    };
    checked(table, &args.subject, Some(&args.question))
}
