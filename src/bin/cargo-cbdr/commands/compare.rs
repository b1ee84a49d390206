//! `cargo cbdr compare`, once or with `--repeat`.

use std::path::{Path, PathBuf};

use cargo_cbdr::Options;
use cargo_cbdr::engine::event::Event;
use cargo_cbdr::exec::execution::Context;
use cargo_cbdr::flows::compare::preview;
use cargo_cbdr::model::{Explain, Notice, Outcome, StoppedBy};
use cargo_cbdr::samples::{Companion, Recording, csv};
use cargo_cbdr::workspace::Request;

use super::{random_seed, request};
use crate::cli::{Compare, Format, MessageFormat, SideFlags, When};
use crate::exit::{CommandResult, ExitKind};
use crate::failure::Failure;
use crate::output;
use crate::render::answer::answer;
use crate::render::outputs::{self, Outputs, WantedOutputs};
use crate::render::readable::{CommandLine, Readable};
use crate::render::{self, events, show};
use crate::samples::{SamplesEnd, SamplesFiles};
use crate::ui::{self, Ui, text};

/// The seeds stay below this, so that JSON can represent them.
const SEEDS: u64 = 1 << 53;

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
        show(format, || render::preview::report(&preview, shard), json)?;
        return Ok(ExitKind::Success);
    }
    if let Some(times) = args.repeat {
        return repeat(times, options, args.format, context, ui);
    }
    let samples = args.samples.as_deref();
    if args.shard.is_some() {
        let what = "`--shard` needs `--samples FILE.csv`: the file is what it contributes to the \
                    verdict";
        put_aside(samples.ok_or_else(|| Failure::Arguments(what.to_owned()))?, &mut ui)?;
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
    let Observed { mut outcome, written, kept } = result?;
    if let Err(failure) = &written {
        outcome.notices.push(Notice::Unwritten { why: failure.to_string() });
    }
    let given = outputs.write(&mut outcome, called, &recording);
    let readable = Readable::new(&outcome, called);
    let printed = match args.message_format {
        MessageFormat::Human => render::print(args.format, &readable),
        MessageFormat::Json => render::json::print_result(&outcome),
    };
    // After a hangup there may be no terminal to print to.
    if outcome.stopped_by == StoppedBy::Interrupt {
        return Ok(ExitKind::interrupted(context.interrupt));
    }
    outputs::printed(printed)?;
    if let Err(failure) = written.and(given.map_err(Failure::from)) {
        let samples = kept.map(|path| format!("the samples, as {}", text::path(&path)));
        samples.into_iter().for_each(|what| ui.status("Keeping", &what));
        ui::failure(&failure);
    }
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
    let exports_stacks = args.export.iter().any(|(kind, _)| kind.explains());
    if exports_stacks && args.explain == Some(When::Never) {
        let what = "`--export` of call stacks needs them: leave out `--explain=never`";
        return Failure::arguments(what);
    }
    Ok(Options {
        request: Request {
            filter: args.filter.filter.clone(),
            measure_all: args.measure_all,
            decides: args.shard.is_none(),
            ..with_sides(request(args.settings.0.clone())?, &args.sides)
        },
        fail_fast: args.fail_fast,
        uses_full_time: args.use_full_time,
        explain: match args.explain {
            Some(When::Always) => Explain::Always,
            None if exports_stacks => Explain::Always,
            None if args.report.is_some() || args.format == Format::Markdown => Explain::WhereCheap,
            Some(When::Never) | None => Explain::Never,
        },
        seed: args.seed.seed.unwrap_or_else(random_seed),
        shard: args.shard,
        packed: args.packed.clone(),
        only: None,
    })
}

/// A request for these sides.
pub(super) fn with_sides(request: Request, sides: &SideFlags) -> Request {
    Request {
        head: sides.head.clone(),
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

/// The result of a comparison.
pub(super) struct Observed {
    pub(super) outcome: Outcome,
    /// Whether the samples could be written: a comparison continues without
    /// their files, but does not succeed without them.
    pub(super) written: Result<(), Failure>,
    /// The file with all of them in the cache.
    kept: Option<PathBuf>,
}

/// What to do with a comparison's runs and events, besides showing them.
#[derive(Default)]
pub(super) struct KeepRuns<'a> {
    /// The CSV file of the samples.
    pub(super) samples: Option<&'a Path>,
    /// The samples, if they are needed afterwards.
    pub(super) recording: Option<&'a mut Recording>,
    /// Whether each event is printed as a line of JSON.
    pub(super) prints_events: bool,
}

/// Compares, shows what happens and keeps the samples.
pub(super) fn observed(
    options: &Options,
    kept: KeepRuns<'_>,
    context: Context<'_>,
    ui: &mut Ui,
) -> Result<Observed, Failure> {
    let KeepRuns { samples, mut recording, prints_events } = kept;
    let mut files = SamplesFiles::new(samples, context.interrupt)?;
    let result = cargo_cbdr::compare(options, context, &mut |event: Event<'_>| {
        ui.show(&event);
        if prints_events {
            events::print(&event);
        }
        match (&mut recording, &event) {
            (Some(recording), Event::Sampling(plan)) => {
                recording.begin(plan.metrics.iter().cloned());
            }
            (Some(recording), Event::Pair { rows, progress }) if !progress.plan().is_again() => {
                let plan = progress.plan();
                let is_only = plan.benchmarks.len() == 1;
                for row in *rows {
                    recording.push(&csv::label(plan, row, is_only), &csv::cells(plan, row));
                }
            }
            _ => {}
        }
        files.take(&event);
    });
    let SamplesEnd { left, written, kept } = files.end(result.as_ref().ok());
    if let Some(path) = left {
        ui.end();
        ui.status("Keeping", &format!("the samples so far, as {}", text::path(&path)));
    }
    Ok(Observed { outcome: result?.outcome, written, kept })
}

/// Runs the comparison `times` times, each with the next seed. Regressions are
/// counted, and are not a failure.
fn repeat(
    times: u64,
    mut options: Options,
    format: Format,
    context: Context<'_>,
    mut ui: Ui,
) -> CommandResult {
    let format = format.printed("--repeat")?;
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut stopped = false;
    let mut failed = Ok(());
    for time in 1..=times {
        let result = observed(&options, KeepRuns::default(), context, &mut ui);
        ui.end();
        match result {
            Err(Failure::Library(error)) if error.is_interrupt() => stopped = true,
            Err(failure) => failed = Err(failure),
            Ok(Observed { outcome, written, .. }) => {
                failed = written;
                stopped = outcome.stopped_by == StoppedBy::Interrupt;
                if !stopped {
                    ui.status("Compared", &format!("{time} of {times}: {}", answer(&outcome)));
                    outcomes.push(outcome);
                }
            }
        }
        if stopped || failed.is_err() {
            break;
        }
        options.seed = (options.seed + 1) % SEEDS;
        // The next comparisons find everything built.
        ui.is_live_only = true;
    }
    // The finished comparisons count, even if a later one failed.
    if !outcomes.is_empty() || failed.is_ok() {
        let json = || render::json::repeated(&outcomes);
        let printed = show(format, || render::human::repeated(&outcomes), json);
        failed = failed.and(printed.map_err(Failure::from));
    }
    match stopped {
        true => Ok(ExitKind::interrupted(context.interrupt)),
        false => failed.map(|()| ExitKind::Success),
    }
}
