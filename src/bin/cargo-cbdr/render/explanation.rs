//! Why a benchmark regressed, as a table of functions, for all formats.

use cargo_cbdr::model::{Cost, Explanation, FunctionCost, HotLines, LineCost, Pair, Side, Unit};

use super::table::{Building, TextTable};
use crate::ui::text;

/// The number of functions to name; the rest is only counted.
const FUNCTIONS: usize = 5;

/// What is shown of an explanation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Explained {
    /// What it is about: a sentence without a full stop.
    pub(crate) title: String,
    /// What its numbers are: a sentence.
    pub(crate) caption: &'static str,
    /// A row for each function, or line.
    pub(crate) table: TextTable,
    /// What is left out, if anything is.
    pub(crate) rest: Option<String>,
}

/// The tables of an explanation: the functions, and the lines of the one that grew most.
pub(crate) fn tables(explanation: &Explanation) -> impl Iterator<Item = Explained> {
    std::iter::once(explained(explanation)).chain(explanation.hot.as_ref().map(lines))
}

fn explained(explanation: &Explanation) -> Explained {
    let Explanation { benchmark, cost, functions, .. } = explanation;
    let (unit, noun, caption) = match cost {
        Cost::Instructions(_) => (
            Unit::Count,
            "function",
            "Instructions of each function: first those whose code differs.",
        ),
        Cost::Seconds(_) => (
            Unit::Seconds,
            "function",
            "Time of an iteration spent in each function, sampled by perf: first those whose \
             code differs.",
        ),
        Cost::Bytes(_) => (Unit::Bytes, "crate", "Machine code of each crate whose size differs."),
    };
    let all = text::value(cost.values().base, &unit);
    // The totals hold what differs from run to run.
    let sum = |side: Side| functions.iter().map(|function| function.cost.values()[side]).sum();
    let (before, after): (f64, f64) = (sum(Side::Base), sum(Side::Head));
    let change = text::value((after - before).abs(), &unit);
    let word = |less, more| if after < before { less } else { more };
    let title = match (cost, functions.is_empty()) {
        (Cost::Instructions(_), true) => format!(
            "`{benchmark}` executes {all} instructions on both sides, and no function differs by \
             0.01% of them: they take longer, because of memory, caches or branch prediction, \
             or what differs is too small a part of the process"
        ),
        (Cost::Seconds(_), true) => format!(
            "the samples of perf show no function of `{benchmark}` whose time differs by more than \
             it varies from run to run"
        ),
        (Cost::Bytes(_), true) => {
            format!("the executable of `{benchmark}` does not name the crates of its code")
        }
        (Cost::Instructions(_), false) => {
            let more = word("fewer", "more");
            let what = if change == "1" { "instruction" } else { "instructions" };
            format!(
                "in one run of `{benchmark}`, these functions execute {change} {more} \
                 {what}, out of {all}"
            )
        }
        (Cost::Seconds(_), false) => format!(
            "sampled by perf, these functions of `{benchmark}` take {change} {}, out of {all}",
            word("shorter", "longer")
        ),
        (Cost::Bytes(_), false) => {
            let more = word("less", "more");
            format!("these crates have {change} {more} code in `{benchmark}`, out of {all}")
        }
    };
    let (shown, rest) = functions.split_at(functions.len().min(FUNCTIONS));
    let table = TextTable::of(shown).text(noun, |of| match of.name.as_str() {
        "" => "other languages".to_owned(),
        name => name.to_owned(),
    });
    let table = costs(table, &unit, |of| of.cost.values()).text("code", |of| code(of).to_owned());
    let more = text::count(rest.len() as u64, &format!("more {noun}"));
    let rest = (!rest.is_empty()).then(|| format!("and {more}"));
    Explained { title, caption, table: table.build(), rest }
}

/// The lines of a function that are executed more often.
fn lines(hot: &HotLines) -> Explained {
    let HotLines { function, lines } = hot;
    let title = format!("these lines of `{function}` are executed more often");
    let table = TextTable::of(lines).text("line", |LineCost { place, text, .. }| {
        if place == text { text.clone() } else { format!("{place}  {text}") }
    });
    let values = |line: &LineCost| line.instructions.map(|count| count as f64);
    Explained {
        title,
        caption: "Instructions of each line.",
        table: costs(table, &Unit::Count, values)
            .text("code", |line| match line.instructions.base {
                0 => "on the head only".to_owned(),
                _ => "on both sides".to_owned(),
            })
            .leaves(1)
            .build(),
        rest: None,
    }
}

/// Adds the columns of a cost on both sides.
fn costs<'a, R>(
    table: Building<'a, R>,
    unit: &Unit,
    values: impl Fn(&R) -> Pair<f64>,
) -> Building<'a, R> {
    let number = |value: f64| text::value(value, unit);
    table
        .numbers("base", |of| number(values(of).base))
        .numbers("head", |of| number(values(of).head))
        .numbers("change", |of| {
            let Pair { base, head } = values(of);
            let sign = if head > base { '+' } else { '-' };
            format!("{sign}{}", number((head - base).abs()))
        })
}

/// On which sides a function runs, and whether its code differs between them.
fn code(function: &FunctionCost) -> &'static str {
    let Pair { base, head } = function.cost.values();
    match function.differs {
        _ if base == 0.0 => "on the head only",
        _ if head == 0.0 => "on the base only",
        _ if matches!(function.cost, Cost::Bytes(_)) => "on both sides",
        Some(true) => "changed",
        Some(false) => "unchanged",
        None => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executed(functions: &[(u64, u64, Option<bool>)]) -> Explained {
        let functions = functions.iter().enumerate().map(|(place, (base, head, differs))| {
            let cost = Cost::Instructions(Pair { base: *base, head: *head });
            FunctionCost { name: format!("f{place}"), cost, differs: *differs }
        });
        let cost = Cost::Instructions(Pair { base: 5000, head: 7000 });
        let benchmark = "print".to_owned();
        let functions = functions.collect();
        explained(&Explanation { benchmark, cost, functions, hot: None, stacks: Vec::new() })
    }

    fn sampled(functions: Vec<FunctionCost>) -> Explained {
        let cost = Cost::Seconds(Pair { base: 40e-9, head: 52e-9 });
        let benchmark = "print".to_owned();
        explained(&Explanation { benchmark, cost, functions, hot: None, stacks: Vec::new() })
    }

    #[test]
    fn each_function_has_a_row_up_to_five() {
        let explained = executed(&[
            (1000, 3000, Some(true)),
            (0, 500, Some(true)),
            (400, 0, None),
            (300, 100, Some(false)),
            (10, 20, None),
            (1, 2, None),
        ]);
        assert_eq!(
            explained.title,
            "in one run of `print`, these functions execute 1.911 k more instructions, out of 5.000 k"
        );
        let rows = explained.table.rows.iter().map(|row| row.cells.join(" | ")).collect::<Vec<_>>();
        let expected = [
            "f0 | 1.000 k | 3.000 k | +2.000 k | changed",
            "f1 | 0 | 500 | +500 | on the head only",
            "f2 | 400 | 0 | -400 | on the base only",
            "f3 | 300 | 100 | -200 | unchanged",
            "f4 | 10 | 20 | +10 | unknown",
        ];
        assert_eq!(rows, expected);
        assert_eq!(explained.rest.as_deref(), Some("and 1 more function"));
    }

    #[test]
    fn each_line_is_shown_with_its_place() {
        let line = |place: &str, text: &str, base, head| LineCost {
            place: place.to_owned(),
            text: text.to_owned(),
            instructions: Pair { base, head },
        };
        let unread = "library/core/src/hint.rs:482";
        let lines = vec![line("+0x1f", "rol rax,7", 0, 1000), line(unread, unread, 20, 300)];
        let explained = super::lines(&HotLines { function: "f".to_owned(), lines });
        let rows = explained.table.rows.iter().map(|row| row.cells.join(" | ")).collect::<Vec<_>>();
        let unread = format!("{unread} | 20 | 300 | +280 | on both sides");
        assert_eq!(rows, ["+0x1f  rol rax,7 | 0 | 1.000 k | +1.000 k | on the head only", &unread]);
    }

    #[test]
    fn without_a_function_that_differs_it_is_time() {
        let explained = executed(&[]);
        assert!(
            explained.title.contains("executes 5.000 k instructions on both sides"),
            "{explained:?}"
        );
        assert_eq!((explained.table.rows.len(), explained.rest), (0, None));
    }

    #[test]
    fn of_samples_the_time_of_an_iteration_is_shown() {
        let function = |name: &str, base, head, differs| FunctionCost {
            name: name.to_owned(),
            cost: Cost::Seconds(Pair { base, head }),
            differs,
        };
        let explained = sampled(vec![
            function("hot", 30e-9, 42e-9, Some(true)),
            function("shared", 2e-9, 1e-9, Some(false)),
            function("new", 0.0, 1e-9, Some(true)),
        ]);
        assert_eq!(
            explained.title,
            "sampled by perf, these functions of `print` take 12.00 ns longer, out of 40.00 ns"
        );
        assert!(explained.caption.contains("sampled by perf"), "{}", explained.caption);
        let rows = explained.table.rows.iter().map(|row| row.cells.join(" | ")).collect::<Vec<_>>();
        let expected = [
            "hot | 30.00 ns | 42.00 ns | +12.00 ns | changed",
            "shared | 2.000 ns | 1.000 ns | -1.000 ns | unchanged",
            "new | 0 s | 1.000 ns | +1.000 ns | on the head only",
        ];
        assert_eq!(rows, expected);
        let none = sampled(Vec::new());
        assert!(none.title.contains("no function of `print`"), "{}", none.title);
    }
}
