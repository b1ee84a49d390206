//! The page: one HTML file that shows a result and its data. It needs no
//! network, no scripts and no other files.

mod chart;
mod funnel;
mod glance;
mod histogram;
pub(crate) mod history;
mod metric;
mod ratios;

use std::path::Path;

use cargo_cbdr::exec::machine::Machine;
use cargo_cbdr::model::{
    BenchmarkResult, Cost, Explanation, FunctionCost, Outcome, Pair, Side, Status, Verdict,
};
use cargo_cbdr::samples::Recording;
use cargo_cbdr::workspace::git::abbreviated;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::render::escape::{line, spans};
use crate::render::explanation::{self, Explained};
use crate::render::flamegraph;
use crate::render::readable::{self, CommitLink, Readable, ResultRow};
use crate::render::table::{Align, Heading, TextTable};
use crate::ui::grouped::NoticeLine;
use crate::ui::text;

const STYLE: &str = include_str!("style.css");

/// The content security policy: a browser may use the embedded style, and load
/// or run nothing else.
const POLICY: &str = include_str!("policy.txt");

pub(crate) fn page(result: &Readable<'_>, recording: &Recording) -> String {
    let title = format!("cargo cbdr: {}", line(&result.answer.title(result.outcome.verdict)));
    let body = html! {
        (verdict(result))
        (notices(&result.notices))
        (glance::glance(result))
        (explanations(result.outcome))
        (sections(result, recording))
        (method(result))
    };
    document(&title, &body)
}

/// A whole page.
fn document(title: &str, body: &Markup) -> String {
    let now = text::now().replace('T', " ").replace('Z', " UTC");
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // All text is escaped. Even if it were not, it could do nothing.
                meta http-equiv="Content-Security-Policy"
                    content=(POLICY.trim());
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main { (body) }
                footer { "Made by cargo cbdr " (env!("CARGO_PKG_VERSION")) ", " (now) }
            }
        }
    };
    markup.into_string()
}

/// The verdict, and the reason for it.
fn verdict(result: &Readable<'_>) -> Markup {
    let (outcome, answer) = (result.outcome, &result.answer);
    html! {
        header class=(tone(outcome.verdict)) {
            @if let Some(sides) = &outcome.sides {
                p.sides { b { (line(&sides.repository)) } ": " (line(&text::sides(sides))) }
            }
            h1 { (line(&answer.heading())) }
            p.reason { (sentence(&answer.rest())) }
            @if let Some(suite) = &result.suite { p { (sentence(suite)) } }
            @for CommitLink { name, revision, url } in &result.commits {
                @let hash = html! { code { (abbreviated(&revision.commit)) } };
                p.commit {
                    (name) " "
                    @if let Some(url) = url { a href=(url) { (hash) } } @else { (hash) }
                    " " (line(&revision.subject))
                }
            }
        }
    }
}

/// The class that colours a verdict.
fn tone(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Regression | Verdict::DifferentOutput) => "bad",
        Some(Verdict::NoRegression | Verdict::Identical) => "good",
        Some(Verdict::Inconclusive | Verdict::NoBaseline) => "doubt",
        None => "plain",
    }
}

/// The result of a metric: its verdict, or why it has none.
fn answer(row: &ResultRow<'_>) -> Markup {
    let verdict = row.cells.verdict.as_str();
    let answer = if verdict.is_empty() { "informational" } else { verdict };
    html! { span class={ "verdict " (tone(row.metric.verdict)) } { (answer) } }
}

/// A sentence, in which text between backticks is code.
fn sentence(text: &str) -> Markup {
    html! {
        @for (is_code, part) in spans(text) {
            @if is_code { code { (part) } } @else { (part) }
        }
    }
}

fn notices(notices: &[NoticeLine]) -> Markup {
    html! {
        @if !notices.is_empty() {
            section.notices {
                h2 { "Notices" }
                ul {
                    @for notice in notices {
                        li class=(notice.kind()) {
                            b { (notice.kind()) ": " } (sentence(&notice.text))
                        }
                    }
                }
            }
        }
    }
}

/// Why benchmarks have regressed: the functions that cost more, and their call stacks.
fn explanations(outcome: &Outcome) -> Markup {
    html! {
        @for explanation in &outcome.explanations {
            section {
                @for Explained { title, caption, table, rest } in explanation::tables(explanation) {
                    p { (sentence(&title)) }
                    @if !table.rows.is_empty() { (self::table(caption, &table)) }
                    @if let Some(rest) = rest { p.small { (rest) } }
                }
                (flame_graph(explanation, Side::Head))
                @if !explanation.stacks.is_empty() {
                    details {
                        summary { "The call stacks of the base" }
                        (flame_graph(explanation, Side::Base))
                    }
                }
            }
        }
    }
}

/// The call stacks of a side.
fn flame_graph(explanation: &Explanation, side: Side) -> Markup {
    let what = if matches!(explanation.cost, Cost::Seconds(_)) { "Time" } else { "Instructions" };
    let change = |one: &&FunctionCost| {
        let Pair { base, head } = one.cost.values();
        (head - base).abs()
    };
    let largest = explanation.functions.iter().max_by(|a, b| change(a).total_cmp(&change(b)));
    html! {
        @if let Some(picture) = flamegraph::picture(explanation, side) {
            figure.flames {
                div.wide { (PreEscaped(picture)) }
                figcaption {
                    (what) " on the " (side.name()) " by call stack: each function stands on its caller. "
                    "Red: more on the head, blue: less. "
                    (flamegraph::MARK) " marks functions whose code differs."
                    // In the picture there may be no room for its name.
                    @if let Some(largest) = largest {
                        " The largest change is that of " code { (line(&largest.name)) } "."
                    }
                }
            }
        }
    }
}

/// A table whose first column has names, as code.
fn table(caption: &str, table: &TextTable) -> Markup {
    let is_number = |heading: &Heading| heading.align == Align::Right;
    html! {
        table.glance {
            caption { (line(caption)) }
            thead {
                tr {
                    @for heading in &table.headings {
                        @if heading.text.is_empty() { td {} }
                        @else { th.number[is_number(heading)] scope="col" { (heading.text) } }
                    }
                }
            }
            tbody {
                @for row in &table.rows {
                    tr {
                        @for (at, (heading, cell)) in table.headings.iter().zip(&row.cells).enumerate() {
                            @if at == 0 { th scope="row" { code { (line(cell)) } } }
                            @else {
                                td.number[is_number(heading)] data-name=(heading.text) { (cell) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// More benchmarks than these that passed are folded together.
const TOGETHER: usize = 10;

/// The most metrics that are drawn.
const DRAWN: usize = 60;

/// With more metrics that gate than these, benchmarks that passed are folded.
const OPEN: usize = 4;

/// The benchmarks, the worst first; many that passed are folded together.
fn sections(result: &Readable<'_>, recording: &Recording) -> Markup {
    let outcome = result.outcome;
    let is_apart = |one: &&BenchmarkResult| !readable::is_listed(one.status);
    let benchmarks = result.benchmarks().into_iter().filter(is_apart);
    let left = result.rows.len().saturating_sub(DRAWN);
    let folds = outcome.gates().count() > OPEN;
    let is_quiet = |one: &&BenchmarkResult| folds && one.metrics.iter().all(|of| of.rank() > 1);
    let (quiet, loud): (Vec<_>, Vec<_>) = benchmarks.partition(is_quiet);
    let are_together = quiet.len() > TOGETHER;
    let together = text::count(quiet.len() as u64, "benchmark");
    let quiet = html! {
        @for benchmark in quiet { (section(result, recording, benchmark, true)) }
    };
    html! {
        @for benchmark in loud { (section(result, recording, benchmark, false)) }
        @if are_together {
            details.together { summary { (together) " without a regression" } (quiet) }
        } @else {
            (quiet)
        }
        @for text in readable::listed(&outcome.benchmarks, |name| format!("`{name}`")) {
            section { p { (sentence(&text)) } }
        }
        @if left > 0 {
            p.small {
                (text::count(left as u64, "metric")) " not drawn, because a page can't hold all; "
                code { "cargo cbdr plot --metric" } " draws any of them from the samples."
            }
        }
    }
}

/// The section of a benchmark, which can be linked.
fn section(
    result: &Readable<'_>,
    recording: &Recording,
    benchmark: &BenchmarkResult,
    is_folded: bool,
) -> Markup {
    let name = html! {
        code { (line(&benchmark.name)) }
        @if benchmark.pairs > 0 { small { (text::count(benchmark.pairs, "pair")) } }
    };
    let anchor = glance::anchor(benchmark);
    let content = content(result, recording, benchmark);
    html! {
        section data-kind=(glance::kinds(benchmark)) {
            @if is_folded {
                details {
                    summary { (name) }
                    // A link to its content opens it.
                    div id=(anchor) { (content) }
                }
            } @else {
                h2 id=(anchor) { (name) a.link href={ "#" (anchor) } aria-label="link" { "#" } }
                (content)
            }
        }
    }
}

/// The content of a benchmark's section. Of all metrics, the first ones are drawn.
fn content(result: &Readable<'_>, recording: &Recording, benchmark: &BenchmarkResult) -> Markup {
    let outcome = result.outcome;
    let (drawn, undrawn) = result.rows.split_at(result.rows.len().min(DRAWN));
    let is_own = |row: &&ResultRow<'_>| std::ptr::eq(row.benchmark, benchmark);
    let (gates, others): (Vec<_>, Vec<_>) =
        drawn.iter().filter(is_own).partition(|row| row.metric.gates);
    let (first, folded) = if gates.is_empty() { (others, Vec::new()) } else { (gates, others) };
    html! {
        @if benchmark.status != Status::Compared || benchmark.metrics.is_empty() {
            p { code { (line(&benchmark.name)) } " " (sentence(&readable::without_numbers(outcome, benchmark))) }
        }
        @for row in first { (metric::article(outcome, recording, row)) }
        @for row in undrawn.iter().filter(is_own) {
            p { (line(&glance::described(row))) " " (answer(row)) }
        }
        @if !folded.is_empty() {
            details {
                summary { (text::count(folded.len() as u64, "informational metric")) }
                @for row in folded { (metric::article(outcome, recording, row)) }
            }
        }
    }
}

/// What was compared, how, and on which machine.
fn method(result: &Readable<'_>) -> Markup {
    let outcome = result.outcome;
    html! {
        section {
            h2 { "How this was measured" }
            dl {
                @for CommitLink { name, revision, .. } in &result.commits {
                    dt { (name) } dd { code { (revision.commit) } " " (line(&revision.subject)) }
                }
                @for (name, value) in &result.facts { dt { (name) } dd { (line(value)) } }
                @if let Some(seed) = outcome.seed { dt { "seed" } dd { (seed) } }
                @if outcome.sides.is_some() {
                    dt { "machine" }
                    dd { (line(&described(&Machine::read(Path::new("/"))))) }
                }
            }
            p { "Reproduce:" }
            pre { code { (line(&result.command)) } }
        }
    }
}

/// The machine in a line.
fn described(machine: &Machine) -> String {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let parts = [
        Some(machine.processor.name.clone().unwrap_or_else(|| arch.to_owned())),
        Some(text::count(threads, "thread")),
        machine.memory.map(text::bytes),
        machine.system.clone().or(Some(os.to_owned())),
        machine.kernel.as_ref().map(|kernel| format!("kernel {kernel}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
