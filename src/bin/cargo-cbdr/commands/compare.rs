//! `cargo cbdr compare`.

use cargo_cbdr::Options;
use cargo_cbdr::exec::process::{Helper, Interrupt};
use cargo_cbdr::model::metric::Units;
use cargo_cbdr::model::outcome::StoppedBy;
use cargo_cbdr::model::side::Side;
use cargo_cbdr::samples::Recording;
use cargo_cbdr::workspace::Request;

use super::observe::{observed, random_seed};
use super::request::request;
use crate::cli::{Compare, From};
use crate::exit::Exit;
use crate::report;
use crate::report::outcome::Outcome;
use crate::report::outputs::{self, Outputs, Wanted};
use crate::ui::{Failure, Ui};

/// Runs the comparison that the arguments ask for.
pub(crate) fn run(args: &Compare, helper: &Helper, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let mut ui = Ui::new();
    let options = options(args)?;
    if let Some(times) = args.repeat {
        return super::repeat::run(times, options, args.format, helper, interrupt, ui);
    }
    let samples = args.samples.as_deref();
    let wanted =
        Wanted { page: args.report.as_deref(), exports: &args.export, samples, inputs: &[] };
    let outputs = match Outputs::new(args.format, wanted, interrupt) {
        Err(Failure::Library(error)) if error.is_interrupt() => {
            return Ok(Exit::interrupted(interrupt));
        }
        outputs => outputs?,
    };
    let mut recording = Recording::new(None, Units::new());
    let kept = outputs.want_runs().then_some(&mut recording);
    let outcome = observed(&options, samples, kept, helper, interrupt, &mut ui);
    ui.end();
    let (report, kept) = match outcome {
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
    kept?;
    written?;
    outputs::printed(printed)?;
    Ok(Exit::of(&report))
}

fn options(args: &Compare) -> Result<Options, Failure> {
    let request = request(args.settings.0.clone(), args.head.clone(), args.filter.filter.clone())?;
    let request = Request {
        instead: args.instead.clone(),
        exact_base: args.exact_base,
        dirty: args.dirty,
        fetch: args.fetch,
        aa: args.aa,
        always_run: args.always_run,
        policy_from: match args.policy_from {
            From::Base => Side::Base,
            From::Head => Side::Head,
        },
        ..request
    };
    let seed = args.seed.seed.unwrap_or_else(random_seed);
    Ok(Options { request, fail_fast: args.fail_fast, seed, shard: args.shard })
}
