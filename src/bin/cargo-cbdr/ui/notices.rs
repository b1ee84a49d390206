//! The texts of notices.

mod code;
mod remarks;
mod undecided;

use std::fmt::Display;

use cargo_cbdr::model::{
    BenchmarkNotice, DifferentKey, NoTime, Notice, Pair, Removed, RunDiffers, RunnerDiffers, Shard,
    Side,
};
use remarks::remark;

use super::subjects::Subjects;
use super::text::{self, count, line, list, roughly};

/// A notice in a sentence without a full stop, about one subject or several. The numbers of one
/// are left out for several, so that those with an equal sentence can share it.
#[expect(clippy::too_many_lines, reason = "a sentence for each kind, and nothing else")]
pub(super) fn sentence(notice: &Notice, of: &Subjects) -> String {
    match notice {
        Notice::DirtyTree { files } => format!(
            "the changes of {} in the working tree are not measured (`compare --dirty` measures \
             them)",
            count(*files as u64, "file")
        ),
        Notice::NothingToCompare { base, is_named, has_parent } => {
            let advice = match (is_named, has_parent) {
                (true, _) => "choose an earlier base, such as the commit before the head",
                (false, true) => {
                    "`cargo cbdr compare HEAD~1` compares with the previous commit, and `--dirty` \
                     measures uncommitted changes"
                }
                (false, false) => "`--dirty` measures uncommitted changes",
            };
            format!("nothing to compare: the head has no commits that `{base}` lacks; {advice}")
        }
        Notice::MergeRef { base } => format!(
            "`{base}` is not in this clone; the head is a merge commit, so its first parent is \
             used as the base"
        ),
        Notice::PolicyDiffers { keys, from } => {
            let counts = match from {
                Side::Base => "the base's value is used (`--policy-from head` uses the head's)",
                Side::Head => "the head's value is used, because of `--policy-from head`",
            };
            format!("base and head set {} differently; {counts}", code_list(keys))
        }
        Notice::BaseTable { why } => format!(
            "the table of the base is not used, because it is invalid: {why}; only that of the \
             head counts, because of `--policy-from head`"
        ),
        Notice::RunDiffers(differs) => run_differs(differs),
        Notice::RunnerDiffers(differs) => runner_differs(differs),
        Notice::BuildDiffers { benchmarks, args } => {
            let [base, head] = [&args.base, &args.head].map(|args| match args.as_slice() {
                [] => "without options".to_owned(),
                args => format!("with `{}`", line(&args.join(" "))),
            });
            format!(
                "{} {} built differently on the two sides, because their manifests define or \
                 require other features or profiles: the base {base}, the head {head}",
                code_list(benchmarks),
                is_or_are(benchmarks.len())
            )
        }
        Notice::CompilerDiffers { keys } => format!(
            "base and head are compiled with different settings, so code may differ that nobody \
             edited: {}",
            keys.iter().map(different).collect::<Vec<_>>().join("; ")
        ),
        Notice::OneToolchain => {
            "`rust-toolchain.toml` differs between the sides, but one toolchain \
             builds both: `--toolchain each` builds each with its own"
                .to_owned()
        }
        Notice::Alias => {
            "cargo's configuration has an alias `cbdr`, which `cargo cbdr` runs instead of this \
             program: call `cargo-cbdr`"
                .to_owned()
        }
        Notice::UncommittedConfiguration { files } => format!(
            "{} {} not committed, so neither side is built with that configuration of cargo; commit \
             it, or move it to a folder around the repository",
            code_list(files),
            is_or_are(files.len())
        ),
        Notice::OneLock { libraries } => format!(
            "the sides require different versions of {}; not both commits have a `Cargo.lock`, so \
             both start from the same one, and a side is built with another version only if the \
             locked one does not fit",
            code_list(libraries)
        ),
        Notice::Required { benchmarks, features } => format!(
            "built with the features that cargo requires for {}: {}",
            code_list(benchmarks),
            code_list(features)
        ),
        Notice::UnusedUnit { metric } => {
            format!("a unit is set for `{metric}`, but no benchmark measures it")
        }
        Notice::Removed(removed) => self::removed(removed),
        Notice::BenchFrom { side, folders, differing } => {
            bench_from(*side, folders, differing.as_deref())
        }
        Notice::Benchmark { notice, .. } => of_benchmark(notice, of),
        Notice::Unaffected { benchmarks, of, has_same_code } => {
            code::unaffected(*benchmarks, *of, *has_same_code)
        }
        Notice::OneUnit { measured, instead_of, of } => format!(
            "the workspace's crates are built with one codegen unit each, on both sides, which \
             leaves {measured} of {of} benchmarks to measure instead of {instead_of}; \
             `--codegen-units profile` prevents this"
        ),
        Notice::OfShards { text } | Notice::OfShard { text, .. } => text.clone(),
        Notice::Pointers { side, count: files, example } => format!(
            "{} of the {side}, such as `{example}`, {} without the content that git-lfs stores: \
             `--fetch` downloads it if git-lfs is installed",
            count(*files as u64, "file"),
            is_or_are(*files)
        ),
        Notice::TooFewPairs { least } => {
            format!("`--max-pairs` allows no verdict: at least {least} pairs are needed")
        }
        Notice::NoMoreLayouts { layouts } => {
            let many = format!("all {layouts} layouts");
            let all = if *layouts == 1 { "the only layout" } else { &many };
            format!(
                "what is undecided has been measured in {all} of the pack; `cargo cbdr pack \
                 --layouts {}` links more of them",
                2 * layouts
            )
        }
        Notice::BelowMinimumPairs { benchmarks, example } => format!(
            "the time limit leaves too few pairs of {} for any verdict: raise `--time-limit`, or \
             select fewer benchmarks with `--filter`",
            and_others(*benchmarks, example)
        ),
        Notice::GaveUp { after, limit } => format!(
            "sampling ended after {} of {}, because no further verdict was expected in that time; \
             `--use-full-time` samples until the limit",
            text::seconds(after.as_secs_f64()),
            text::option(*limit)
        ),
        Notice::NoTime(NoTime { benchmarks, wanted }) => {
            let seconds = benchmarks.iter().map(|(_, seconds)| seconds).sum();
            let they = if benchmarks.len() == 1 { "it" } else { "they" };
            let needed =
                |(name, seconds): &(String, f64)| format!("`{name}` ({})", text::seconds(*seconds));
            format!(
                "{} {} not measured: {they} would need about {}, for which the time limit leaves \
                 no room: {}; allow `--time-limit {}`, or select some with `--filter`",
                count(benchmarks.len() as u64, "benchmark"),
                is_or_are(benchmarks.len()),
                roughly(seconds),
                text::first_few(benchmarks.iter().map(needed)),
                text::option(*wanted)
            )
        }
        Notice::OnlyShort { benchmarks, example, length } => format!(
            "there was no time to run {} for {} as well, so code that runs only after more \
             iterations was not measured: raise `--time-limit`, or select fewer benchmarks with \
             `--filter`",
            and_others(*benchmarks, example),
            text::length(*length)
        ),
        Notice::Unlikely(unlikely) => undecided::unlikely(unlikely),
        Notice::Advice(advice) => undecided::advice(advice),
        Notice::Metric { remark: about, .. } => format!("{of}: {}", remark(about, of)),
        Notice::ConfiguredBase { base, variable, named } => format!(
            "the head is compared with `{base}`, the `base` of the configuration, not with \
             `{named}`, which {variable} names"
        ),
        Notice::NewWaiver { metric, ceiling, reason } => format!(
            "the branch introduces a waiver: `{metric}` may get worse by up to {ceiling} \
             ({reason})"
        ),
        Notice::ExpiredWaiver(waiver) => format!(
            "the waiver of `{}` expired on {}: it no longer counts",
            waiver.metric, waiver.expires
        ),
        Notice::Alone { label } => format!("there are no rows to compare `{label}` with"),
        Notice::Unpaired { benchmark, line } => format!(
            "the rows of {benchmark} do not form pairs from line {line} on, so there is no \
             sequential verdict"
        ),
        Notice::MissingShards { numbers } => {
            let are = is_or_are(numbers.len());
            format!("{} {are} missing from the verdict", Shard::listed(numbers))
        }
        Notice::Unwritten { why } => why.clone(),
        Notice::OneLook => {
            "the intervals are Welch's and Fieller's: valid for a single look at samples whose \
             number was chosen in advance"
                .to_owned()
        }
    }
}

/// A notice about a benchmark.
#[expect(clippy::too_many_lines, reason = "a sentence for each kind, and nothing else")]
fn of_benchmark(notice: &BenchmarkNotice, of: &Subjects) -> String {
    let (is, it, its) = (of.or("is", "are"), of.or("it", "them"), of.its());
    match notice {
        BenchmarkNotice::OneFile { path } => format!(
            "{of} {is} `{}` of your working tree on both sides: name it relative to the package's \
             folder to run that of each side",
            line(path)
        ),
        BenchmarkNotice::NoBaseline { why } => format!("no baseline for {of}: {why}"),
        BenchmarkNotice::LeftOut { why } => format!("{of} {is} left out: {why}"),
        BenchmarkNotice::New => format!("{of} {is} new: the base does not have {it}"),
        BenchmarkNotice::OneSided { metric, side } => {
            format!("only the {side} of {of} measures `{metric}`")
        }
        BenchmarkNotice::OnlyBase => format!(
            "{of} {is} no longer on the head, but none of {its} metrics could fail the check"
        ),
        BenchmarkNotice::Functions { changed } => code::functions(changed, of),
        BenchmarkNotice::Identical { moved: 0 } => of.are_the_same(),
        BenchmarkNotice::Identical { moved } => {
            let locations = count(*moved as u64, "source location");
            let one = format!("the line numbers of {locations}");
            let numbers = of.or(one, "line numbers of source locations");
            format!("{}, except for {numbers} in panic messages", of.are_the_same())
        }
        BenchmarkNotice::SameProgram { why } => {
            format!("{}, but measured anyway: {why}", of.are_the_same())
        }
        BenchmarkNotice::NotMeasured { why, hint } => {
            let hint = hint.as_ref().map_or(String::new(), |hint| format!("; {hint}"));
            format!("{of}: {why}{hint}")
        }
        BenchmarkNotice::NotLinked { why } => format!(
            "{of} can't be linked with {its} functions in another order ({why}); copies of {it} \
             in other memory pages are measured instead, which vary only part of the placement"
        ),
        BenchmarkNotice::NotAligned { why } => format!(
            "{of} can't be linked with unchanged code and data at equal addresses ({why}); the \
             executables are measured as built"
        ),
        BenchmarkNotice::LeftBehind { processes } => {
            let number = of.alone(format!(" ({processes})"));
            format!("processes that {of} left running were killed{number}")
        }
        BenchmarkNotice::FixedOrder { first, pairs } => format!(
            "one side comes first in all pairs of {of}{}: whatever makes second runs slower or \
             faster counts as a change, so the error rate is not guaranteed; `cargo cbdr sample` \
             shuffles the order",
            of.alone(format!(" (`{first}`, {pairs} times)"))
        ),
        BenchmarkNotice::BenchChanged { path } => format!(
            "the benchmark code of {of} differs between the sides{}; `--bench-from head` (or \
             `base`) gives both sides the same",
            of.alone(format!(", in {path}"))
        ),
        BenchmarkNotice::HarnessChanged { library, versions } => format!(
            "`{library}`, the harness of {of}, is {} on the base and {} on the head: a change may \
             come from the harness",
            these(&versions.base),
            these(&versions.head)
        ),
        BenchmarkNotice::HarnessesDiffer { dialects } => format!(
            "the harness of {of} is {} on the base and {} on the head: a change may come from the \
             harness",
            dialects.base, dialects.head
        ),
        BenchmarkNotice::OwnTiming { word, path } => format!(
            "no harness is known for {of}, so the whole process is measured; but the source \
             measures times itself{}, and if it repeats its work until some time has passed, the \
             time of the process is meaningless: print the measured times as JSON (`--harness \
             json`), or confirm that the process is meant (`--harness plain`)",
            of.alone(format!(" (`{word}` in {path})"))
        ),
        BenchmarkNotice::OwnTimes { pair_seconds, places } => format!(
            "pairs of {of} take long{}, and the code sets measurement times of its own{}, which \
             override the command line: shorter ones make the verdict faster",
            of.alone(format!(" ({})", text::seconds(*pair_seconds))),
            of.alone(format!(" ({})", places.join(", ")))
        ),
        BenchmarkNotice::ManyRounds { pair_seconds } => format!(
            "pairs of {of} take long{}: a benchmark that reads the clock while it is timed, or does \
             not call `iter` exactly once, runs for as long as under `cargo bench`",
            of.alone(format!(" ({})", text::seconds(*pair_seconds)))
        ),
        BenchmarkNotice::LongRuns { shorter_since } => format!(
            "each run of {of} repeats a benchmark for up to several seconds: with {shorter_since} or \
             later it takes milliseconds, and a verdict a fraction of the time"
        ),
        BenchmarkNotice::Coarse { value, step, dialect } => {
            let part = format!("one is {} of its time", text::size(*step));
            let known = if *value == 0.0 { "it takes less than one" } else { &part };
            format!(
                "{dialect} reports whole nanoseconds, which is coarse for {of}{}: slowdowns of \
                 less than that may be missed",
                of.alone(format!(" ({known})"))
            )
        }
        BenchmarkNotice::OutputDiffers { line, is_handed_over } => {
            let place = if *is_handed_over { "what they hand over" } else { "standard output" };
            format!(
                "the two sides of {of} print different output{}, so they may not do the same work",
                of.alone(format!(": line {line} of {place} differs"))
            )
        }
        BenchmarkNotice::AmountDiffers { amounts: Pair { base, head } } => format!(
            "{of} {} different amounts of data on the two sides{}, so they do not do the same work: \
             let both have the same data",
            of.or("processes", "process"),
            of.alone(format!(" ({base} an iteration on the base, {head} on the head)"))
        ),
        BenchmarkNotice::OutputVaries { side, line } => format!(
            "the {side} of {of} prints something different in each run{}, so its output can't show \
             whether both sides do the same work",
            of.alone(format!(", in line {line}"))
        ),
        BenchmarkNotice::FewAllocations { calls } => format!(
            "hardly any allocations of {of} were seen{}: those of an allocator that does not use \
             `malloc` are not counted",
            of.alone(format!(" ({calls})"))
        ),
        BenchmarkNotice::NamesVary { names } => format!(
            "the names {} of {of} change from run to run: what varies, and all after it, is \
             replaced by `*`, and the sides are paired by the rest and by position",
            code_list(names)
        ),
        BenchmarkNotice::Repeated { runs } => format!(
            "the clock is too coarse for one run of {of}: each measurement is the mean of {} runs",
            of.or(runs, "several")
        ),
    }
}

/// The verb for so many things.
fn is_or_are(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// Names as code: `a`, `b` and `c`.
fn code_list(names: &[impl Display]) -> String {
    list(names.iter().map(|name| format!("`{name}`")))
}

fn and_others(benchmarks: usize, example: &str) -> String {
    let others = count(benchmarks as u64 - 1, "other benchmark");
    if benchmarks == 1 { format!("`{example}`") } else { format!("`{example}` and {others}") }
}

/// All keys come first, since a comment may cut what follows.
fn run_differs(differs: &RunDiffers) -> String {
    let only_side = match differs.only_side {
        Some(Side::Base) => "only the base has a table for cargo cbdr, and that table is used",
        Some(Side::Head) => {
            "the base has no table for cargo cbdr yet, so the head's is used until it is merged"
        }
        None => "",
    };
    let mut keys: Vec<&str> = differs.keys.iter().map(|differing| &*differing.key).collect();
    keys.dedup();
    let keys = code_list(&keys);
    let values = differs.keys.iter().map(different).collect::<Vec<_>>().join("; ");
    let sets = match differs.only_side {
        _ if differs.keys.is_empty() => String::new(),
        Some(Side::Head) => format!("it sets {keys} ({values})"),
        _ => format!(
            "base and head differ in what is run: they set {keys} differently, and the head's \
             value is used ({values})"
        ),
    };
    [only_side, &sets].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

fn runner_differs(differs: &RunnerDiffers) -> String {
    let RunnerDiffers { from, runner, variables } = differs;
    let runner = runner.as_ref().map(|runners| match runners {
        Pair { base, head } if base == head => format!("the runner `{base}`"),
        runners => {
            let [base, head] = [&runners.base, &runners.head].map(|words| match words.as_str() {
                "" => "none".to_owned(),
                words => format!("`{}`", line(words)),
            });
            format!("the runner (base {base}, head {head})")
        }
    });
    let variables = variables.iter().map(|name| format!("the variable `{name}`"));
    let what = list(runner.into_iter().chain(variables));
    let (other, why) = match from {
        Side::Base => ("head", "`--policy-from head` uses the head's"),
        Side::Head => ("base", "because of `--policy-from head`"),
    };
    format!(
        "cargo's configuration differs in how benchmarks are run: {what}; the {from}'s is used for \
         the {other}, too ({why})"
    )
}

/// A key with its values on both sides.
fn different(differing: &DifferentKey) -> String {
    const MOST: usize = 80;
    let value = |value: &Option<String>| match value.as_deref().map(line) {
        None => "not set".to_owned(),
        Some(text) => format!("`{}`", text::cut(&text, MOST)),
    };
    let of = differing.benchmark.as_ref().map_or(String::new(), |name| format!(" of `{name}`"));
    let (base, head) = (value(&differing.base), value(&differing.head));
    format!("`{}`{of}: base {base}, head {head}", differing.key)
}

/// What gates on the base but is not measured on the head.
pub(crate) fn removed(removed: &[Removed]) -> String {
    const MOST: usize = 40;
    let (benchmarks, metrics): (Vec<Removed>, Vec<Removed>) =
        removed.iter().cloned().partition(|removed| removed.metric.is_none());
    let has = if benchmarks.len() == 1 { "has the benchmark" } else { "has the benchmarks" };
    let kinds = [(has, benchmarks), ("measures", metrics)];
    let kinds = kinds.iter().filter(|(_, removed)| !removed.is_empty()).map(|(verb, removed)| {
        let names = text::removed_names(removed, MOST);
        format!("the head no longer {verb} {names}, which could fail this check")
    });
    kinds.collect::<Vec<_>>().join("; ")
}

fn these(versions: &[String]) -> String {
    if versions.is_empty() { "missing".to_owned() } else { list(versions.iter().cloned()) }
}

fn bench_from(side: Side, folders: &[String], differing: Option<&str>) -> String {
    let differing = differing.map_or(String::new(), |path| {
        format!("; the {}'s sources differ, in {path}", side.other())
    });
    let folders = code_list(folders);
    format!(
        "both sides are built with {folders} of the {side}, but each with its own Cargo.toml{differing}"
    )
}
