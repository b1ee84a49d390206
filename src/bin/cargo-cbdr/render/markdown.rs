//! The result as a comment on a pull request.

use cargo_cbdr::model::{BenchmarkResult, MetricResult, Verdict, Weight};

use super::answer::is_better;
use super::escape::{code, line, plain, prose, quantity, xml};
use super::explanation::{self, Explained};
use super::readable::{self, CellTexts, CommitLink, Readable, ResultRow};
use super::scale;
use super::table::{Align, TextTable};
use crate::ui::text::{self, cut};

/// The invisible first line of every comment, by which a bot finds the one to
/// update.
const MARKER: &str = "<!-- cargo-cbdr -->";

/// The maximum length of a comment on GitHub, which counts characters; bytes are at least as many.
const LONGEST: usize = 65_000;

/// The shares of all that may be shown, to try in turn until the comment is short enough.
const SHARES: [f64; 4] = [1.0, 0.5, 0.25, 0.1];

/// The maximum number of rows of a table, of other lines, and of the characters of a name and of a
/// sentence or the command.
const ROWS: f64 = 100.0;
const LINES: f64 = 40.0;
const NAME: f64 = 120.0;
const TEXT: f64 = 1000.0;

/// Up to this many metrics are all shown.
const FEW: usize = 5;

pub(crate) fn comment(result: &Readable<'_>) -> String {
    format!("{MARKER}\n{}", summary(result))
}

/// The comment without the marker.
pub(super) fn summary(result: &Readable<'_>) -> String {
    let text = |share| Comment { result, share }.text();
    let [all, parts @ ..] = SHARES;
    let shorter = |known: String, share| if known.len() > LONGEST { text(share) } else { known };
    parts.into_iter().fold(text(all), shorter)
}

/// A comment with at most this share of the maximum amount of everything.
struct Comment<'a> {
    result: &'a Readable<'a>,
    share: f64,
}

impl Comment<'_> {
    fn text(&self) -> String {
        let (outcome, answer) = (self.result.outcome, &self.result.answer);
        let sign = match outcome.verdict {
            Some(Verdict::Regression | Verdict::DifferentOutput) => "🔴 ",
            Some(_) if !outcome.removed.is_empty() => "🟡 ",
            Some(Verdict::NoRegression | Verdict::Identical) => "🟢 ",
            Some(Verdict::Inconclusive | Verdict::NoBaseline) => "🟡 ",
            None => "",
        };
        let mut out = format!("<h3>{sign}{}</h3>\n\n", self.prose(&answer.heading()));
        let advice = self.result.notices.iter().find(|notice| notice.is_advice);
        let advice = advice.map(|notice| notice.text.as_str());
        // Advice begins with the number of undecided metrics, too.
        let rest = Some(answer.rest()).filter(|rest| {
            !rest.is_empty() && !advice.as_ref().is_some_and(|advice| advice.starts_with(rest))
        });
        out.extend(rest.as_deref().into_iter().chain(advice).map(|text| self.paragraph(text)));
        let (shown, folded) = split(self.result);
        if !shown.is_empty() {
            out.extend([self.table(&shown), self.scale(&shown)]);
        }
        out.extend(self.result.suite.iter().map(|suite| self.paragraph(suite)));
        out += &self.benchmarks();
        let explained = outcome.explanations.iter().flat_map(explanation::tables);
        out.extend(explained.map(|explained| self.explained(explained)));
        if !folded.is_empty() {
            let gates = folded.iter().filter(|row| row.metric.gates).count();
            let others = folded.len() - gates;
            let do_not = if others == 1 { "that does not gate" } else { "that do not gate" };
            let is_one_metric = readable::only_metric(&folded).is_some();
            let noun = if is_one_metric { "benchmark" } else { "metric" };
            let kinds = [(gates, noun, "without a regression"), (others, "metric", do_not)];
            let kinds = kinds.into_iter().filter(|(number, ..)| *number > 0);
            let kinds: Vec<String> = kinds
                .map(|(number, noun, what)| format!("{} {what}", text::count(number as u64, noun)))
                .collect();
            // After the blank line, it is Markdown again.
            let (kinds, table) = (kinds.join(", "), self.table(&folded));
            out += &format!("<details><summary>{kinds}</summary>\n\n{table}</details>\n\n");
        }
        out + &self.details()
    }

    fn most(&self, maximum: f64) -> usize {
        (self.share * maximum) as usize
    }

    /// A name of reasonable length, as code.
    fn name(&self, name: &str) -> String {
        code(&cut(&line(name), self.most(NAME)))
    }

    /// A sentence of reasonable length.
    fn prose(&self, sentence: &str) -> String {
        prose(&cut(sentence, self.most(TEXT)))
    }

    fn paragraph(&self, sentence: &str) -> String {
        format!("<p>{}</p>\n\n", self.prose(sentence))
    }

    /// The intervals that decide, on one scale.
    fn scale(&self, rows: &[&ResultRow<'_>]) -> String {
        let gates = rows.iter().filter(|row| row.metric.gates).take(self.most(LINES));
        let gates: Vec<&ResultRow<'_>> = gates.copied().collect();
        let only = readable::only_metric(&gates);
        let name = |row: &ResultRow<'_>| {
            cut(&line(&row.full_name(self.result.outcome, only)), self.most(NAME))
        };
        let named: Vec<_> = gates.iter().map(|row| (name(row), row.metric)).collect();
        let lines = scale::lines(&named);
        match lines.is_empty() {
            true => String::new(),
            false => format!("<pre>\n{}\n</pre>\n\n", xml(&lines.join("\n"))),
        }
    }

    /// The benchmarks without measurements, as a list in Markdown.
    fn benchmarks(&self) -> String {
        let outcome = self.result.outcome;
        let is_empty =
            |b: &&BenchmarkResult| b.metrics.is_empty() && !readable::is_listed(b.status);
        let alone = outcome.benchmarks.iter().filter(is_empty).take(self.most(ROWS));
        let alone = alone.map(|benchmark| {
            let what = self.prose(&readable::without_numbers(outcome, benchmark));
            format!("{} {}", self.name(&benchmark.name), plain(&what))
        });
        let listed = readable::listed(&outcome.benchmarks, |name| self.name(name));
        let items: String = alone.chain(listed).map(|item| format!("- {item}\n")).collect();
        if items.is_empty() { items } else { items + "\n" }
    }

    /// Which functions or lines make a benchmark slower.
    fn explained(&self, Explained { title, table, rest, .. }: Explained) -> String {
        let title = self.paragraph(&title);
        if table.rows.is_empty() {
            return title;
        }
        let table = table.map_cells(|column, cell| match column {
            0 => self.name(cell),
            1 | 2 => quantity(cell),
            _ => cell.to_owned(),
        });
        let rest = rest.map_or(String::new(), |rest| format!("\n{rest}\n"));
        format!("{title}{}{rest}\n", drawn(&table))
    }

    fn table(&self, rows: &[&ResultRow<'_>]) -> String {
        // If all rows have the same metric, it is named once.
        let only = readable::only_metric(rows);
        let heading = only.map_or(String::new(), |only| {
            let estimate = self.prose(&readable::estimate_heading(self.result.estimate, only));
            format!("<p>{estimate}:</p>\n\n")
        });
        let strong = |of: &CellTexts, text: &str| match of.gates && !text.is_empty() {
            true => format!("**{text}**"),
            false => text.to_owned(),
        };
        let lines = readable::lines(&rows[..rows.len().min(self.most(ROWS))]);
        let table = TextTable::of(&lines)
            .text("benchmark", |of| match of.is_before {
                true => of.subject.clone(),
                false => self.name(&of.subject),
            })
            .when(only.is_none(), |table| table.text("metric", |of| self.name(&of.metric)))
            .numbers("base", |of| quantity(&of.base))
            .numbers("head", |of| quantity(&of.head))
            .numbers("change", |of| strong(of, &of.change))
            .intervals("interval", |of| of.interval.clone())
            .when(readable::has_layouts(rows), |table| {
                table.text("measured", |of| of.measured.clone())
            })
            .numbers("threshold", |of| of.threshold.clone())
            .text("verdict", |of| strong(of, &of.verdict));
        let mut out = heading + &drawn(&table.build());
        if let Some(left @ 1..) = rows.len().checked_sub(self.most(ROWS)) {
            let metrics = text::count(left as u64, "more metric");
            out += &format!("\nand {metrics}, none of them worse; `--format json` has all.\n");
        }
        out + "\n"
    }

    /// The folded part. It is one block of HTML, in which nothing is parsed as Markdown;
    /// a blank line would end it.
    fn details(&self) -> String {
        // Advice is shown above.
        let notices: Vec<_> = self.result.notices.iter().filter(|line| !line.is_advice).collect();
        let count = |kind: &str| notices.iter().filter(|line| line.kind() == kind).count() as u64;
        let counts = ["warning", "note"].map(|kind| (count(kind), kind)).into_iter();
        let counts = counts.filter(|(number, _)| *number > 0);
        let noticed: String =
            counts.map(|(number, kind)| format!(", {}", text::count(number, kind))).collect();
        let notices = notices.iter().take(self.most(LINES)).map(|notice| {
            let sign = if notice.weight == Weight::Warning { "⚠️ " } else { "" };
            format!("{sign}{}: {}", notice.kind(), self.prose(&notice.text))
        });
        let commits = self.result.commits.iter().map(|CommitLink { name, revision, url }| {
            let hash = format!("<code>{}</code>", revision.commit);
            let link = url.as_ref().map(|url| format!("<a href=\"{url}\">{hash}</a>"));
            format!("{name}: {} {}", link.unwrap_or(hash), self.prose(&revision.subject))
        });
        let facts = self.result.facts_and_command().map(|(name, value)| {
            format!("{name}: <code>{}</code>", xml(&cut(&line(value), self.most(TEXT))))
        });
        let items = notices.chain(commits).chain(facts).map(|item| format!("<li>{item}</li>\n"));
        let items: String = items.collect();
        let summary = format!("How cargo cbdr measured this{noticed}");
        format!("<details><summary>{summary}</summary>\n<ul>\n{items}</ul></details>\n")
    }
}

/// Draws a table whose cells are Markdown.
fn drawn(table: &TextTable) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let names = table.headings.iter().map(|of| of.text.as_str());
    let rule = table.headings.iter().map(|heading| match heading.align {
        Align::Left => ":--",
        Align::Right => "--:",
        Align::Center => ":-:",
    });
    let rows = table.rows.iter().map(|row| row.cells.iter().map(String::as_str).collect());
    [names.collect(), rule.collect()].into_iter().chain(rows).map(line).collect()
}

/// All metrics, the worst first: those that changed or are undecided, or all that gate if
/// they are few; and the others.
fn split<'a>(result: &'a Readable<'a>) -> (Vec<&'a ResultRow<'a>>, Vec<&'a ResultRow<'a>>) {
    let gates = result.rows.iter().filter(|row| row.metric.gates).count();
    let is_shown = |row: &&ResultRow<'_>| match gates {
        0 => true,
        gates => row.metric.gates && (gates <= FEW || has_changed(row.metric)),
    };
    result.rows.iter().partition(is_shown)
}

/// Whether a metric did not pass, or passed with a change.
fn has_changed(metric: &MetricResult) -> bool {
    metric.verdict != Some(Verdict::NoRegression) || metric.warned || is_better(metric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::answer::tests::{outcome, over_layouts, time};
    use crate::render::readable::CommandLine;
    use cargo_cbdr::model::notice::{Advice, BenchmarkNotice, Notice};
    use cargo_cbdr::model::outcome::Outcome;
    use cargo_cbdr::model::outcome::Status;

    fn written(outcome: &Outcome) -> String {
        comment(&Readable::new(outcome, &CommandLine::default()))
    }

    const BAD: Verdict = Verdict::Regression;
    const GOOD: Verdict = Verdict::NoRegression;

    #[test]
    fn of_many_metrics_those_that_changed_are_shown_and_the_others_folded() {
        let mut metrics = vec![("slow", time(0.2, BAD)), ("fast", time(-0.1, GOOD))];
        metrics.extend(["a", "b", "c", "d"].map(|name| (name, time(0.0, GOOD))));
        let text = written(&outcome(BAD, metrics));
        let (before, folded) = text.split_once("<details><summary>4 benchmarks without").unwrap();
        assert!(before.contains("| `slow` |") && before.contains("| `fast` |"), "{before}");
        assert!(!before.contains("| `a` |") && folded.contains("| `a` |"), "{text}");
        // Few are all shown.
        let few = outcome(GOOD, vec![("a", time(0.0, GOOD)), ("b", time(0.0, GOOD))]);
        assert!(!written(&few).contains("benchmarks without"));
    }

    #[test]
    fn what_was_measured_before_the_verdict_is_a_row_of_its_own() {
        let metric = over_layouts(time(0.1, BAD), &time(0.2, BAD));
        let text = written(&outcome(BAD, vec![("a", metric), ("b", time(0.0, GOOD))]));
        assert!(text.contains("| change | interval | measured | threshold |"), "{text}");
        assert!(text.contains("| **+10.0%** | [+9.00%, +11.0%] | 14 layouts | +2% |"), "{text}");
        assert!(text.contains("| as built | 47.40 ms |"), "{text}");
        assert!(text.contains("| +20.0% | [+19.0%, +21.0%] | 14 pairs |  |"), "{text}");
    }

    #[test]
    fn what_to_try_next_is_not_folded() {
        let open = Verdict::Inconclusive;
        let mut outcome = outcome(open, vec![("a", time(0.02, open))]);
        let advice = Advice { open: 1, time: Some((600.0, 1)), ..Advice::default() };
        outcome.notices = vec![Notice::Advice(advice)];
        let text = written(&outcome);
        let (before, folded) = text.split_once("<details>").unwrap();
        assert!(before.contains("<code>--time-limit 10m</code> would probably decide"), "{text}");
        assert!(!folded.contains("--time-limit"), "{text}");
        // Where a regression is the answer, the number of undecided ones is not repeated.
        outcome.verdict = Some(BAD);
        let metrics = outcome.benchmarks.remove(0).metrics;
        for name in ["b", "c"] {
            let metrics = vec![time(0.2, BAD)];
            let compared = BenchmarkResult::new(name, Status::Compared);
            outcome.benchmarks.push(BenchmarkResult { metrics, ..compared });
        }
        let compared = BenchmarkResult::new("a", Status::Compared);
        outcome.benchmarks.push(BenchmarkResult { metrics, ..compared });
        assert_eq!(written(&outcome).matches("1 undecided").count(), 1);
    }

    #[test]
    fn what_is_listed_is_neither_emphasis_nor_a_link() {
        let mut outcome = outcome(Verdict::NoBaseline, Vec::new());
        outcome.benchmarks = vec![BenchmarkResult::new("a_*b*", Status::New)];
        let why = "there is no `x_*y*` in [z](https://a.b)".to_owned();
        outcome.notices = vec![BenchmarkNotice::NoBaseline { why }.about("a_*b*")];
        let text = written(&outcome);
        let expected = "- `a_*b*` has no baseline: there is no <code>x&#95;&#42;y&#42;</code> in \
                        &#91;z&#93;(https:&#8203;//a.b)\n";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn commits_are_linked_where_the_repository_is_at_github() {
        let mut outcome = outcome(GOOD, vec![("a", time(0.0, GOOD))]);
        let mut at = |repository: &str| {
            let sides = outcome.sides.as_mut().unwrap();
            sides.repository = repository.to_owned();
            sides.head.subject = "Fix #7 for @all".to_owned();
            written(&outcome)
        };
        let link = format!("<a href=\"https://github.com/o/r/commit/{}\">", "b".repeat(40));
        let linked = at("github.com/o/r");
        assert!(linked.contains(&link), "{linked}");
        assert!(linked.contains("Fix #&#8203;7 for @&#8203;all"), "{linked}");
        for other in ["example.org/o/r", "folder", "github.com/o/r\"><b>", "github.com/o"] {
            assert!(!at(other).contains("/commit/"), "{other}");
        }
    }

    #[test]
    fn a_comment_is_never_too_long() {
        let name = "`@|<&#".repeat(100);
        let metrics = (0..300).map(|_| (name.as_str(), time(0.2, BAD))).collect();
        let mut outcome = outcome(BAD, metrics);
        outcome.selecting = vec![name; 50];
        let text = written(&outcome);
        assert!(text.len() < 65_536, "{}", text.len());
        assert!(text.ends_with("</ul></details>\n"), "{text}");
    }
}
