//! Why a benchmark regressed, as a table of functions, for all formats.

use cargo_cbdr::model::explanation::{CountedFunction, Explanation};
use cargo_cbdr::model::metric::Unit;
use cargo_cbdr::model::side::{Pair, Side};

use crate::ui::text;

/// The number of functions to name; the rest is only counted.
const FUNCTIONS: usize = 5;

/// The headings of the table.
pub(crate) const HEADINGS: [&str; 5] = ["function", "base", "head", "change", "its code"];

/// The table of an explanation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// What it is about: a sentence without a full stop.
    pub(crate) title: String,
    /// A row for each function: see [`HEADINGS`].
    pub(crate) rows: Vec<[String; 5]>,
    /// What is left out, if anything is.
    pub(crate) rest: Option<String>,
}

pub(crate) fn table(explanation: &Explanation) -> Table {
    let Explanation { benchmark, instructions, functions } = explanation;
    let number = |count: u64| text::value(count as f64, &Unit::Count);
    let all = number(instructions.base);
    if functions.is_empty() {
        let title = format!(
            "`{benchmark}` executes the same {all} instructions on both sides, function by \
             function: what differs is how long they take, because of memory, caches or predicted \
             branches"
        );
        return Table { title, rows: Vec::new(), rest: None };
    }
    // The totals include what differs from run to run.
    let sum = |side: Side| functions.iter().map(|function| function.instructions[side]).sum();
    let (before, after): (u64, u64) = (sum(Side::Base), sum(Side::Head));
    let more = if after < before { "fewer" } else { "more" };
    let title = format!(
        "executed once, `{benchmark}` takes {} {more} instructions, of {all}",
        number(after.abs_diff(before)),
    );
    let row = |function: &CountedFunction| {
        let Pair { base, head } = function.instructions;
        let sign = if head > base { '+' } else { '-' };
        let code = match (function.differs, base, head) {
            (_, 0, _) => "on the head only",
            (_, _, 0) => "on the base only",
            (Some(true), ..) => "differs",
            (Some(false), ..) => "is the same",
            (None, ..) => "is not known",
        };
        let change = format!("{sign}{}", number(head.abs_diff(base)));
        [function.name.clone(), number(base), number(head), change, code.to_owned()]
    };
    let rows = functions.iter().take(FUNCTIONS).map(row).collect();
    let rest = functions.len().saturating_sub(FUNCTIONS) as u64;
    let rest = (rest > 0).then(|| format!("and {}", text::count(rest, "more function")));
    Table { title, rows, rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(functions: &[(u64, u64, Option<bool>)]) -> Table {
        let functions = functions.iter().enumerate().map(|(place, (base, head, differs))| {
            let instructions = Pair { base: *base, head: *head };
            CountedFunction { name: format!("f{place}"), instructions, differs: *differs }
        });
        let instructions = Pair { base: 5000, head: 7000 };
        let benchmark = "print".to_owned();
        table(&Explanation { benchmark, instructions, functions: functions.collect() })
    }

    #[test]
    fn each_function_has_a_row_up_to_five() {
        let table = explained(&[
            (1000, 3000, Some(true)),
            (0, 500, Some(true)),
            (400, 0, None),
            (300, 100, Some(false)),
            (10, 20, None),
            (1, 2, None),
        ]);
        assert_eq!(
            table.title,
            "executed once, `print` takes 1.911 k more instructions, of 5.000 k"
        );
        let rows = table.rows.iter().map(|row| row.join(" | ")).collect::<Vec<_>>();
        let expected = [
            "f0 | 1.000 k | 3.000 k | +2.000 k | differs",
            "f1 | 0 | 500 | +500 | on the head only",
            "f2 | 400 | 0 | -400 | on the base only",
            "f3 | 300 | 100 | -200 | is the same",
            "f4 | 10 | 20 | +10 | is not known",
        ];
        assert_eq!(rows, expected);
        assert_eq!(table.rest.as_deref(), Some("and 1 more function"));
    }

    #[test]
    fn without_a_function_that_differs_it_is_time() {
        let table = explained(&[]);
        assert!(table.title.contains("the same 5.000 k instructions on both sides"), "{table:?}");
        assert_eq!((table.rows.len(), table.rest), (0, None));
    }
}
