//! The result in one line, which is the first one of every format for people:
//! `spin is 24.6% slower than main (47.4 → 55.1 ms; allowed 2%)`.

use std::fmt;

use cargo_cbdr::model::{
    BenchmarkResult, Better, Doubt, Layouts, MetricResult, Notice, Outcome, PairsResult, Removed,
    Status, StoppedBy, Summary, Unit, Verdict, time,
};
use cargo_cbdr::stats::estimator::TAIL;

use super::escape::line;
use super::names;
use crate::exit::{ExitKind, doubts, is_unwritten};
use crate::ui::text;

/// A metric with its benchmark.
type Of<'a> = (&'a BenchmarkResult, &'a MetricResult);

/// The result of a comparison.
pub(crate) struct Answer {
    /// A sentence without a full stop: `spin is 24.6% slower than main`.
    pub(crate) sentence: String,
    /// The numbers behind it: `47.4 → 55.1 ms`, `allowed 2%`.
    pub(crate) details: Vec<String>,
    /// What the sentence does not cover, such as what was removed.
    pub(crate) besides: Vec<String>,
    /// How much was removed: `, 1 benchmark removed`.
    removed: String,
}

impl Answer {
    fn new(sentence: impl Into<String>, details: impl IntoIterator<Item = String>) -> Self {
        let (sentence, details) = (sentence.into(), details.into_iter().collect());
        Answer { sentence, details, besides: Vec::new(), removed: String::new() }
    }

    /// The sentence, and how much was removed: a heading.
    pub(crate) fn heading(&self) -> String {
        format!("{}{}", self.sentence, self.removed)
    }

    /// The verdict in a word or two, and how much was removed: a title.
    pub(crate) fn title(&self, verdict: Option<Verdict>) -> String {
        format!("{}{}", verdict.map_or(ESTIMATES, text::verdict), self.removed)
    }

    /// Everything after the sentence, as a separate sentence; empty if there is nothing.
    pub(crate) fn rest(&self) -> String {
        [self.details.as_slice(), &self.besides].concat().join("; ")
    }

    /// The numbers in brackets, to be put after the sentence.
    pub(crate) fn details(&self) -> String {
        let details = self.details.join("; ");
        if details.is_empty() { details } else { format!(" ({details})") }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.sentence, self.details())?;
        self.besides.iter().try_for_each(|what| write!(f, "; {what}"))
    }
}

/// How a comparison ends whose verdict does not say that; `None` if a signal ends it.
fn consequence(outcome: &Outcome) -> Option<String> {
    let is_open = outcome.verdict == Some(Verdict::Inconclusive);
    let exit = ExitKind::of(outcome);
    match exit {
        _ if outcome.stopped_by == StoppedBy::Interrupt => None,
        ExitKind::Failed if is_unwritten(outcome) => {
            Some("fails (exit code 101), because an output could not be written".to_owned())
        }
        ExitKind::InDoubt => {
            let doubts = doubts(outcome).into_iter().map(|doubt| format!("`--fail-on {doubt}`"));
            Some(format!("fails (exit code 102), because of {}", text::list(doubts)))
        }
        _ if !is_open => None,
        ExitKind::Success => {
            Some("passes (exit code 0); `--fail-on inconclusive` would fail".to_owned())
        }
        exit => {
            let code = exit.code();
            Some(format!("fails (exit code {code}), because no benchmark has enough pairs"))
        }
    }
}

/// What is new beside other benchmarks, where that was asked to fail.
pub(super) fn unwanted_new(outcome: &Outcome) -> Option<String> {
    let is_asked = outcome.policy.fail_on.contains(&Doubt::NoBaseline);
    let is_beside = is_asked && outcome.verdict != Some(Verdict::NoBaseline);
    let new = names::names(&outcome.benchmarks, Status::New, |name| format!("`{}`", line(name)));
    new.filter(|_| is_beside).map(|names| format!("no baseline for {names}"))
}

/// The result of a comparison, and what its verdict does not cover.
pub(crate) fn answer(outcome: &Outcome) -> Answer {
    const MOST: usize = 10;
    let mut answer = match outcome.verdict {
        Some(Verdict::Regression) => {
            Answer { besides: beside_a_regression(outcome), ..regression(outcome) }
        }
        Some(Verdict::NoRegression) => no_regression(outcome),
        Some(Verdict::Inconclusive) => inconclusive(outcome),
        Some(Verdict::Identical) => identical(outcome),
        Some(Verdict::NoBaseline) => no_baseline(outcome),
        Some(Verdict::DifferentOutput) => different_output(outcome),
        None => no_verdict(outcome),
    };
    answer.besides.extend(waived(outcome));
    answer.besides.extend(unwanted_new(outcome));
    answer.besides.extend(consequence(outcome));
    if let Some(count) = removed_count(&outcome.removed) {
        let names = text::removed_names(&outcome.removed, MOST);
        answer.besides.push(format!("{count}: {names}"));
        answer.removed = format!(", {count}");
    }
    if !outcome.selecting.is_empty() {
        let keys = text::list(outcome.selecting.iter().map(|key| format!("`{}`", line(key))));
        answer.besides.push(format!("the branch changes what is run: {keys}"));
    }
    answer.besides.extend(outcome.notices.iter().filter_map(not_used));
    answer
}

/// The changes that pass because of a waiver alone.
fn waived(outcome: &Outcome) -> Option<String> {
    let passes = |metric: &MetricResult| metric.verdict == Some(Verdict::NoRegression);
    let gates = outcome.gates().filter(|(_, metric)| passes(metric) && metric.needs_waiver());
    let gates: Vec<_> = gates.collect();
    let names = named(outcome, &gates, are_times(&gates), |metric| metric.summary.change);
    (!gates.is_empty()).then(|| format!("accepted by a waiver: {names}"))
}

/// What a side's configuration of cargo says about runs, if the other's holds for both.
fn not_used(notice: &Notice) -> Option<String> {
    let Notice::RunnerDiffers(differs) = notice else { return None };
    let runner = differs.runner.iter().map(|_| "the runner".to_owned());
    let variables = differs.variables.iter().map(|name| format!("the variable `{}`", line(name)));
    let (of, what) = (differs.from.other(), text::list(runner.chain(variables)));
    Some(format!("not used: the {of}'s cargo configuration of {what}"))
}

/// The sentence without a verdict.
const ESTIMATES: &str = "estimates only";

fn no_verdict(outcome: &Outcome) -> Answer {
    let (Some(shard), Some(spent)) = (outcome.shard.flatten(), outcome.elapsed_seconds) else {
        return Answer::new(ESTIMATES, ["no threshold was given".to_owned()]);
    };
    let (pairs, spent) = (text::count(outcome.pairs(), "pair"), text::seconds(spent));
    let next = format!("`analyze --combine` gives the verdict of all {}", shard.of);
    Answer::new(format!("shard {shard}: {pairs} in {spent}; {next}"), None)
}

fn identical(outcome: &Outcome) -> Answer {
    let is_nothing = |notice: &Notice| matches!(notice, Notice::NothingToCompare { .. });
    let nothing = outcome.notices.iter().any(is_nothing);
    let why =
        if nothing { "there is nothing to compare" } else { "both sides are the same program" };
    Answer::new(format!("identical: {why}"), None)
}

fn no_baseline(outcome: &Outcome) -> Answer {
    let new = names::names(&outcome.benchmarks, Status::New, |name| format!("`{}`", line(name)));
    let what = new.map_or(String::new(), |names| format!("{names} "));
    Answer::new(format!("no baseline: there is nothing to compare {what}with"), None)
}

/// What was not measured, since the two sides do not print the same.
fn different_output(outcome: &Outcome) -> Answer {
    let names = names::names(&outcome.benchmarks, Status::DifferentOutput, line);
    let what = names.unwrap_or_else(|| "a benchmark".to_owned());
    let sentence = format!("different output: the two sides of {what} do not print the same");
    Answer::new(sentence, ["nothing was measured".to_owned()])
}

/// The regressions: for one metric all that matters, for several their names and changes,
/// the worst first.
fn regression(outcome: &Outcome) -> Answer {
    let worst = deciding(outcome);
    match (worst.as_slice(), deciding_suite(outcome).next()) {
        ([only], _) => return only_regression(outcome, *only),
        ([], Some(suite)) => return only_regression(outcome, suite),
        _ => {}
    }
    if let Some(likeliest) = &outcome.likely_slower {
        return some_regression(outcome, likeliest);
    }
    let is_slower = are_times(&worst);
    let names = named(outcome, &worst, is_slower, |metric| metric.summary.change);
    let worse = format!("metrics{} are worse", of_one(outcome));
    let what = if is_slower { "benchmarks are slower" } else { &worse };
    let (all, _) = asked(outcome);
    Answer::new(format!("{} of {all} {what}: {names}", worst.len()), None)
}

/// What a regression must not hide: what is undecided or was not measured, and an interrupt.
fn beside_a_regression(outcome: &Outcome) -> Vec<String> {
    let is_open = |metric: &MetricResult| metric.verdict == Some(Verdict::Inconclusive);
    let open = outcome.gates().filter(|(_, metric)| is_open(metric)).count();
    let open = (open > 0 && outcome.likely_slower.is_none()).then(|| format!("{open} undecided"));
    let unconfirmed = if is_unconfirmed(outcome) { "as built, " } else { "" };
    let is_interrupted = outcome.stopped_by == StoppedBy::Interrupt;
    let interrupted = is_interrupted.then(|| format!("{unconfirmed}{}", stopped(outcome)));
    let not_measured = not_measured(outcome).map(|(benchmarks, needed)| {
        format!("{} not measured ({needed})", text::count(benchmarks as u64, "benchmark"))
    });
    // Without a benchmark, the sentence is about the first number of the suite.
    let said = usize::from(deciding(outcome).is_empty());
    let suite = deciding_suite(outcome).skip(said);
    let suite = suite.map(|(of, one)| format!("{} {}", line(&of.name), risen(one.summary.change)));
    open.into_iter().chain(suite).chain(not_measured).chain(interrupted).collect()
}

/// The beginning of the sentence of what is undecided.
pub(crate) const UNDECIDED: &str = "undecided";

/// Whether an interrupt left no time to measure the regressions over layouts.
fn is_unconfirmed(outcome: &Outcome) -> bool {
    let is_as_built = |(_, one): &Of<'_>| one.layouts.is_none() && one.depends_on_placement();
    outcome.stopped_by == StoppedBy::Interrupt
        && outcome.policy.layouts == Layouts::Auto
        && outcome.likely_slower.is_none()
        && deciding(outcome).iter().any(is_as_built)
}

/// The sentence if something regressed, but it is not certain what.
fn some_regression(outcome: &Outcome, likeliest: &str) -> Answer {
    let (all, each) = asked(outcome);
    let sentence = format!("at least 1 of {all} {each}s is slower, but it is not certain which");
    let likeliest = format!("most likely {}", line(likeliest));
    let stopped = (outcome.stopped_by != StoppedBy::Interrupt).then(|| stopped(outcome));
    Answer::new(sentence, [likeliest].into_iter().chain(stopped))
}

fn only_regression(outcome: &Outcome, (benchmark, metric): Of<'_>) -> Answer {
    let summary = metric.summary;
    let mut sentence = match summary.change {
        Some(change) => against_base(outcome, (benchmark, metric), change),
        None => format!("{} has risen from zero", what(benchmark, metric)),
    };
    sentence += if metric.is_average() { " on average" } else { "" };
    let bound = if metric.better == Better::Lower { summary.lower } else { summary.upper };
    if let Some(bound) = bound.filter(|bound| bound.is_finite()) {
        sentence += &format!(", at least {}", text::size(bound));
    }
    let typical = metric.overruled.map(text::percent);
    let typical = typical.map(|change| format!("rare slow runs; the typical run {change}"));
    Answer::new(sentence, numbers(metric).chain(typical))
}

fn no_regression(outcome: &Outcome) -> Answer {
    let passed = deciding(outcome);
    match (passed.as_slice(), unaffected(outcome)) {
        ([], 0) => Answer::new("no regression", None),
        ([], _) => {
            let is_new = |one: &BenchmarkResult| one.status == Status::New;
            let new = outcome.benchmarks.iter().any(is_new);
            let asked = if new { "no benchmark with a baseline" } else { "no benchmark" };
            let sentence = format!("no regression: {asked} runs any of the code that changed");
            Answer::new(sentence, None)
        }
        ([only], 0) => only_pass(outcome, *only),
        (several, unaffected) => {
            let sentence = format!("no regression in {}", all_asked(outcome));
            let run = if unaffected == 1 { "runs" } else { "run" };
            let benchmarks = text::count(unaffected as u64, "benchmark");
            let unaffected =
                (unaffected > 0).then(|| format!("{benchmarks} {run} no code that changed"));
            Answer::new(sentence, unaffected.into_iter().chain(faster(outcome, several)))
        }
    }
}

/// The only metric, which passed: how much faster it is, if that is certain.
fn only_pass(outcome: &Outcome, (benchmark, metric): Of<'_>) -> Answer {
    let numbers = numbers(metric);
    match metric.summary.change {
        Some(change) if is_better(metric) => {
            Answer::new(against_base(outcome, (benchmark, metric), change), numbers)
        }
        change => {
            let sentence = format!("no regression in {}", what(benchmark, metric));
            Answer::new(sentence, change.map(text::percent).into_iter().chain(numbers))
        }
    }
}

fn inconclusive(outcome: &Outcome) -> Answer {
    let open = deciding(outcome);
    if let Some(not_measured) = not_measured(outcome) {
        return in_part(outcome, &open, not_measured);
    }
    match (open.as_slice(), deciding_suite(outcome).next()) {
        ([], Some(suite)) => only_open(outcome, suite),
        ([only], _) if outcome.gates().count() == 1 => only_open(outcome, *only),
        (several, _) => {
            let all = all_asked(outcome);
            let suite = deciding_suite(outcome).map(|(of, _)| format!(", and {}", line(&of.name)));
            let suite = suite.collect::<String>();
            let sentence = format!("{UNDECIDED}: {} of {all}{suite}", several.len());
            let as_built = slower_as_built(outcome, several);
            Answer::new(sentence, as_built.into_iter().chain([stopped(outcome)]))
        }
    }
}

/// The only metric that is undecided.
fn only_open(outcome: &Outcome, only: Of<'_>) -> Answer {
    let (benchmark, metric) = only;
    let (lower, upper) = (metric.summary.lower, metric.summary.upper);
    let change = match text::ends(lower, upper) {
        (Some(lower), Some(upper)) => format!("between {lower} and {upper}"),
        (Some(lower), None) => format!("at least {lower}"),
        (None, Some(upper)) => format!("at most {upper}"),
        (None, None) => text::interval(lower, upper),
    };
    let sentence = format!("{UNDECIDED}: the change of {} is {change}", what(benchmark, metric));
    let as_built = slower_as_built(outcome, &[only]);
    Answer::new(sentence, [allowed(metric)].into_iter().chain(as_built).chain([stopped(outcome)]))
}

/// The sentence if there was no time for some benchmarks.
fn in_part(outcome: &Outcome, open: &[Of<'_>], (benchmarks, needed): (usize, String)) -> Answer {
    let (all, each) = asked(outcome);
    let (of, left) = match each {
        "benchmark" => (all + benchmarks, benchmarks.to_string()),
        _ => (all, text::count(benchmarks as u64, "benchmark")),
    };
    let decided = format!("{} of {} decided", all - open.len(), text::count(of as u64, each));
    let undecided = if open.is_empty() { "" } else { &format!(", {} undecided", open.len()) };
    let sentence = format!("{UNDECIDED}: {decided}{undecided}, {left} not measured");
    Answer::new(sentence, [needed].into_iter().chain(slower_as_built(outcome, open)))
}

/// The number of benchmarks for which the time limit leaves no room, or whose machine is lost, and
/// `they need about 8m more; --time-limit 13m`.
fn not_measured(outcome: &Outcome) -> Option<(usize, String)> {
    let is_one = |one: &&BenchmarkResult| one.status == Status::NotMeasured;
    let all: Vec<_> = outcome.benchmarks.iter().filter(is_one).collect();
    let seconds: Vec<f64> = all.iter().filter_map(|one| one.needed_seconds).collect();
    let wanted = outcome.notices.iter().filter_map(|notice| match notice {
        Notice::NoTime(it) => Some(it.wanted),
        _ => None,
    });
    let wanted = wanted.max().map(|wanted| format!("; --time-limit {}", text::option(wanted)));
    let they = if all.len() == 1 { "it needs" } else { "they need" };
    let time = text::roughly(seconds.iter().sum());
    let needed = match all.len() - seconds.len() {
        0 => format!("{they} about {time} more{}", wanted.unwrap_or_default()),
        lost => format!("{lost} on machines that were lost"),
    };
    (!all.is_empty()).then_some((all.len(), needed))
}

/// What of these regressed as built, and was measured over too few layouts to confirm that.
fn slower_as_built(outcome: &Outcome, open: &[Of<'_>]) -> Option<String> {
    let is_slower = |before: PairsResult| before.verdict == Verdict::Regression;
    let slower = open.iter().filter(|(_, metric)| metric.before.is_some_and(is_slower));
    let slower: Vec<_> = slower.copied().collect();
    let label = slower.first()?.1.before?.label();
    let may = "which may be placement or noise";
    if outcome.gates().count() == 1 {
        return Some(format!("{label} {}, {may}", text::change(&slower[0].1.of_pairs().0)));
    }
    let names = named(outcome, &slower, are_times(open), |metric| metric.of_pairs().0.change);
    Some(format!("{} slower {label}, {may}: {names}", slower.len()))
}

/// Why a comparison reached no verdict.
fn stopped(outcome: &Outcome) -> String {
    match (outcome.stopped_by, outcome.elapsed_seconds) {
        (StoppedBy::Interrupt, Some(seconds)) => {
            format!("interrupted after {}", text::seconds(seconds))
        }
        (StoppedBy::Interrupt, None) => "interrupted".to_owned(),
        (_, None) => "there are no more samples".to_owned(),
        (StoppedBy::MaxPairs, _) => {
            let few = outcome.notices.iter().find_map(|notice| match notice {
                Notice::TooFewPairs { least } => Some(format!(", but any verdict needs {least}")),
                _ => None,
            });
            format!("the maximum number of pairs was reached{}", few.unwrap_or_default())
        }
        (StoppedBy::Verdict, _) => "a benchmark could not be measured".to_owned(),
        _ => {
            let limit = time::exact(outcome.limits.time);
            match outcome.notices.iter().any(|notice| matches!(notice, Notice::GaveUp { .. })) {
                true => format!("no verdict was expected within the time limit of {limit}"),
                false => format!("the time limit of {limit} was reached"),
            }
        }
    }
}

/// `spin is 24.6% slower than main`, or of what is no time
/// `max_rss of spin is 12.0% higher than on main`.
fn against_base(outcome: &Outcome, (benchmark, metric): Of<'_>, change: f64) -> String {
    let size = text::size(change);
    let what = what(benchmark, metric);
    let base = match (&benchmark.labels, &outcome.sides) {
        (Some(_), _) => names::sides(benchmark).base,
        (None, Some(sides)) => line(text::name(&sides.base)),
        (None, None) => "base".to_owned(),
    };
    match (is_time(metric), change < 0.0) {
        (true, true) => format!("{what} is {size} faster than {base}"),
        (true, false) => format!("{what} is {size} slower than {base}"),
        (false, is_less) => {
            let than = if benchmark.labels.is_some() { "that of" } else { "on" };
            let compared = if is_less { "lower" } else { "higher" };
            format!("{what} is {size} {compared} than {than} {base}")
        }
    }
}

/// The subject of a metric: for times, only the benchmark.
fn what(benchmark: &BenchmarkResult, metric: &MetricResult) -> String {
    let subject = line(subject(benchmark));
    if is_time(metric) { subject } else { format!("{} of {subject}", line(&metric.name)) }
}

/// The values of both sides, with the metric's name if it is not the default, and the
/// allowed change.
fn numbers(metric: &MetricResult) -> impl Iterator<Item = String> {
    let Summary { base, head, .. } = metric.summary;
    let step = base.zip(head).map(|(base, head)| {
        let step = text::step(base, head, &metric.unit);
        let is_named = is_time(metric) && metric.name != "wall_time";
        if is_named { format!("{} {step}", line(&metric.name)) } else { step }
    });
    step.into_iter().chain([allowed(metric)])
}

/// `allowed 2%`. If higher is better, the allowed decrease is a little less than the
/// threshold.
fn allowed(metric: &MetricResult) -> String {
    let limit = text::short_size(metric.limit().unwrap_or_default());
    match metric.better {
        _ if metric.is_average() => {
            let average = text::short_size(TAIL * metric.threshold.unwrap_or_default());
            format!("allowed {limit}, and {average} for an average")
        }
        Better::Lower => format!("allowed {limit}"),
        Better::Higher => {
            let threshold = text::short_size(metric.threshold.unwrap_or_default());
            format!("a threshold of {threshold} allows {limit}")
        }
    }
}

/// The metrics that certainly improved, the largest gain first, if any.
fn faster(outcome: &Outcome, passed: &[Of<'_>]) -> Option<String> {
    let mut better: Vec<Of<'_>> =
        passed.iter().copied().filter(|(_, metric)| is_better(metric)).collect();
    let gain = |metric: &MetricResult| metric.summary.change.unwrap_or_default().abs();
    better.sort_by(|(_, one), (_, other)| gain(other).total_cmp(&gain(one)));
    let is_faster = are_times(&better);
    let word = if is_faster { "faster" } else { "better" };
    let names = named(outcome, &better, is_faster, |metric| metric.summary.change);
    (!better.is_empty()).then(|| format!("{} {word}: {names}", better.len()))
}

/// The benchmark of all metrics, if it is the same one.
fn only_benchmark(outcome: &Outcome) -> Option<&BenchmarkResult> {
    let mut gates = outcome.gates().map(|(benchmark, _)| benchmark);
    gates.next().filter(|first| gates.all(|other| other.name == first.name))
}

/// ` of parse` if all metrics are those of one benchmark, else nothing. Labels are not named: that
/// of the head would be the head's alone.
fn of_one(outcome: &Outcome) -> String {
    let only = only_benchmark(outcome).filter(|only| only.labels.is_none());
    only.map_or(String::new(), |only| format!(" of {}", line(&only.name)))
}

/// The first few of these: `parse +19.6%`, or `max_rss of parse +19.6%`, or `max_rss +19.6%` if
/// there is one benchmark.
fn named(
    outcome: &Outcome,
    metrics: &[Of<'_>],
    is_by_benchmark: bool,
    change: impl Fn(&MetricResult) -> Option<f64>,
) -> String {
    let has_one = only_benchmark(outcome).is_some();
    text::first_few(metrics.iter().map(|(benchmark, metric)| {
        let (change, subject) = (risen(change(metric)), line(subject(benchmark)));
        match is_by_benchmark {
            true => format!("{subject} {change}"),
            false if has_one => format!("{} {change}", line(&metric.name)),
            false => format!("{} of {subject} {change}", line(&metric.name)),
        }
    }))
}

/// A change in percent, which there is not from zero.
fn risen(change: Option<f64>) -> String {
    change.map_or("from zero".to_owned(), text::percent)
}

/// The metrics whose verdict is the overall one, the worst first.
fn deciding(outcome: &Outcome) -> Vec<Of<'_>> {
    let mut all: Vec<_> =
        outcome.gates().filter(|(_, metric)| metric.verdict == outcome.verdict).collect();
    all.sort_by(|(_, one), (_, other)| one.by_severity(other));
    all
}

/// The numbers of the suite whose verdict is the overall one.
fn deciding_suite(outcome: &Outcome) -> impl Iterator<Item = Of<'_>> {
    outcome.suite_gates().filter(|(_, metric)| metric.verdict == outcome.verdict)
}

/// How many benchmarks run no code that changed.
fn unaffected(outcome: &Outcome) -> usize {
    outcome.benchmarks.iter().filter(|one| one.status == Status::Unaffected).count()
}

/// The number of benchmarks that had to pass, or of metrics if some benchmark has several.
fn asked(outcome: &Outcome) -> (usize, &'static str) {
    let gates: Vec<_> = outcome.gates().collect();
    match has_one_each(&gates) {
        true => (gates.len() + unaffected(outcome), "benchmark"),
        false => (gates.len(), "metric"),
    }
}

/// Those, counted: `2 benchmarks`, or `2 metrics of parse`.
fn all_asked(outcome: &Outcome) -> String {
    let (all, each) = asked(outcome);
    let of = if each == "metric" { of_one(outcome) } else { String::new() };
    format!("{}{of}", text::count(all as u64, each))
}

/// Whether each of these is a time, and the only gating metric of its benchmark.
fn are_times(metrics: &[Of<'_>]) -> bool {
    metrics.iter().all(|(_, metric)| is_time(metric)) && has_one_each(metrics)
}

/// Whether each of these is the only gating metric of its benchmark.
fn has_one_each(metrics: &[Of<'_>]) -> bool {
    let gates = |of: &BenchmarkResult| of.metrics.iter().filter(|metric| metric.gates).count();
    metrics.iter().all(|(benchmark, _)| gates(benchmark) == 1)
}

/// Whether a metric passes, and its whole interval is on the good side of no change.
pub(crate) fn is_better(metric: &MetricResult) -> bool {
    let summary = &metric.summary;
    metric.verdict == Some(Verdict::NoRegression)
        && match metric.better {
            Better::Lower => summary.upper.is_some_and(|upper| upper < 0.0),
            Better::Higher => summary.lower.is_some_and(|lower| lower > 0.0),
        }
}

/// Whether a higher value of a metric is slower.
pub(crate) fn is_time(metric: &MetricResult) -> bool {
    metric.unit == Unit::Seconds && metric.better == Better::Lower
}

/// The name of a benchmark: if other labels are compared, that of the head.
fn subject(benchmark: &BenchmarkResult) -> &str {
    let labels = benchmark.labels.as_ref();
    let head = labels.map(|labels| labels.head.as_str());
    head.filter(|head| !head.starts_with(&format!("{}/", benchmark.name)))
        .unwrap_or(&benchmark.name)
}

/// How much was removed: `1 benchmark removed`; `None` if nothing was.
fn removed_count(removed: &[Removed]) -> Option<String> {
    let metrics = removed.iter().filter(|removed| removed.metric.is_some()).count() as u64;
    let counts = [(removed.len() as u64 - metrics, "benchmark"), (metrics, "metric")];
    let counts = counts.into_iter().filter(|(number, _)| *number > 0);
    let counts = text::list(counts.map(|(number, noun)| text::count(number, noun)));
    (!counts.is_empty()).then(|| format!("{counts} removed"))
}

#[cfg(test)]
pub(crate) mod tests;
