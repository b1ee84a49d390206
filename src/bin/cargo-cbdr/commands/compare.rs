//! `cargo cbdr compare`.

use std::path::Path;

use cargo_cbdr::Options;
use cargo_cbdr::exec::execution::Context;
use cargo_cbdr::flows::compare::preview;
use cargo_cbdr::model::{Explain, StoppedBy};
use cargo_cbdr::samples::{Companion, Recording};
use cargo_cbdr::workspace::Request;

use super::observe::{KeepRuns, Observed, observed, random_seed};
use super::request::request;
use crate::cli::{Compare, Format, MessageFormat, SideFlags, When};
use crate::exit::{CommandResult, ExitKind};
use crate::output;
use crate::render;
use crate::render::outputs::{self, Outputs, WantedOutputs};
use crate::render::readable::{CommandLine, Readable};
use crate::ui::{Failure, Ui, text};

/// Runs the comparison, as requested by the arguments.
pub(crate) fn run(args: &Compare, called: &CommandLine, context: Context<'_>) -> CommandResult {
    let mut ui = Ui::new();
    let options = options(args)?;
    if args.dry_run {
        let format = args.format.printed("--dry-run")?;
        let preview = preview(&options, context, &mut |event| ui.show(&event));
        ui.end();
        let (preview, shard) = (preview?, options.shard);
        let json = || render::preview::json(&preview, shard);
        render::show(format, |out| render::preview::print(out, &preview, shard), json)?;
        return Ok(ExitKind::Success);
    }
    if let Some(times) = args.repeat {
        return super::repeat::run(times, options, args.format, context, ui);
    }
    let samples = args.samples.as_deref();
    match (samples, args.shard) {
        (Some(samples), Some(_)) => put_aside(samples, &mut ui)?,
        (None, Some(_)) => {
            return Failure::arguments(
                "`--shard` needs `--samples FILE.csv`: the file is what it contributes to the \
                 verdict",
            );
        }
        (_, None) => {}
    }
    let wanted =
        WantedOutputs { page: args.report.as_deref(), exports: &args.export, samples, inputs: &[] };
    let outputs = Outputs::new(args.format, wanted, context.interrupt)?;
    let mut recording = Recording::default();
    let runs = args.report.is_some().then_some(&mut recording);
    let prints_events = args.message_format == MessageFormat::Json;
    let kept = KeepRuns { samples, recording: runs, prints_events };
    let result = observed(&options, kept, context, &mut ui);
    ui.end();
    let Observed { outcome, written } = result?;
    let readable = Readable::new(&outcome, called);
    let given = outputs.write(&readable, &recording);
    let printed = match args.message_format {
        MessageFormat::Human => render::print(args.format, &readable),
        MessageFormat::Json => render::json::print_result(&outcome),
    };
    // After a hangup there may be no terminal to print to.
    if outcome.stopped_by == StoppedBy::Interrupt {
        return Ok(ExitKind::interrupted(context.interrupt));
    }
    written?;
    given?;
    outputs::printed(printed)?;
    Ok(ExitKind::of(&outcome))
}

/// Renames what an earlier start of a shard's task has measured, so that it counts, too.
fn put_aside(samples: &Path, ui: &mut Ui) -> std::io::Result<()> {
    let partial = output::partial(samples);
    if !partial.is_file() {
        return Ok(());
    }
    if Companion::of_shard(&partial, "").is_err() {
        let what = "an earlier run of this shard was killed before it could describe them";
        ui.status("Dropping", &format!("the pairs in {}: {what}", text::path(&partial)));
        return Ok(());
    }
    let names = (1..).map(|start| samples.with_extension(format!("{start}.csv.partial")));
    let Some(aside) = names.into_iter().find(|path| !path.exists()) else { return Ok(()) };
    let what = format!("the pairs of an earlier run of this shard, as {}", text::path(&aside));
    ui.status("Keeping", &what);
    fs_err::rename(Companion::path(&partial), Companion::path(&aside))?;
    fs_err::rename(partial, aside)
}

fn options(args: &Compare) -> Result<Options, Failure> {
    let head = args.sides.head.clone();
    let request = request(args.settings.0.clone(), head, args.filter.filter.clone())?;
    let request = Request {
        measure_all: args.measure_all,
        decides: args.shard.is_none(),
        ..with_sides(request, &args.sides)
    };
    let seed = args.seed.seed.unwrap_or_else(random_seed);
    Ok(Options {
        request,
        fail_fast: args.fail_fast,
        uses_full_time: args.use_full_time,
        explain: match args.explain {
            Some(When::Always) => Explain::Always,
            None if args.export.iter().any(|(kind, _)| kind.explains()) => Explain::Always,
            None if args.report.is_some() || args.format == Format::Markdown => Explain::WhereCheap,
            Some(When::Never) | None => Explain::Never,
        },
        seed,
        shard: args.shard,
        packed: args.packed.clone(),
        only: None,
    })
}

/// A request for these sides.
pub(super) fn with_sides(request: Request, sides: &SideFlags) -> Request {
    Request {
        fallback_base: sides.fallback_base.clone(),
        exact_base: sides.exact_base,
        dirty: sides.dirty,
        fetch: sides.fetch,
        aa: sides.aa,
        always_run: sides.always_run,
        policy_from: sides.policy_from,
        ..request
    }
}
