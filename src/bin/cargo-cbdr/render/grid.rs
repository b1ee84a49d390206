//! Tables of text.

use std::io::{self, Write};

use anstyle::Style;

use super::escape::line;
use crate::ui::fold::output_width;
use crate::ui::text;

/// A column that may be left out.
pub(crate) struct Column<'a> {
    heading: &'a str,
    /// Whether it holds words, and not numbers.
    is_text: bool,
    is_shown: bool,
    /// When it is left out of a table that is too wide: those with the largest number go
    /// first, and those with 0 never.
    leaves: u8,
}

impl<'a> Column<'a> {
    /// A column of words.
    pub(crate) fn text(heading: &'a str) -> Self {
        Column { heading, is_text: true, is_shown: true, leaves: 0 }
    }

    /// A column of numbers.
    pub(crate) fn numbers(heading: &'a str) -> Self {
        Column { heading, is_text: false, is_shown: true, leaves: 0 }
    }

    /// The same, left out unless `is_shown`.
    pub(crate) fn shown_if(self, is_shown: bool) -> Self {
        Column { is_shown, ..self }
    }

    /// The same, left out of a table that is too wide, the largest number first.
    pub(crate) fn leaves(self, leaves: u8) -> Self {
        Column { leaves, ..self }
    }
}

/// A row of cells, and how it looks.
pub(crate) type TableRow<const N: usize> = ([String; N], Option<Style>);

/// The least width of the first column of a table that is too wide, as long as others can
/// leave.
const NAME: usize = 24;

/// The least width of the first column.
const SHORT: usize = 8;

/// Prints the headings and the rows, whatever stands in their cells. Each column is
/// as wide as its widest cell; words stand to the left, numbers below each other at their
/// points. On a terminal the table is no wider than that: what may leave does, and names are
/// cut in the middle.
pub(crate) fn print<const N: usize>(
    out: &mut impl Write,
    columns: &[Column<'_>; N],
    rows: impl Iterator<Item = TableRow<N>>,
) -> io::Result<()> {
    print_within(output_width(), out, columns, rows)
}

fn print_within<const N: usize>(
    most: Option<usize>,
    out: &mut impl Write,
    columns: &[Column<'_>; N],
    rows: impl Iterator<Item = TableRow<N>>,
) -> io::Result<()> {
    let headings = columns.each_ref().map(|column| column.heading.to_owned());
    let rows = std::iter::once((headings, None)).chain(rows);
    let mut rows: Vec<TableRow<N>> =
        rows.map(|(cells, style)| (cells.map(|cell| line(&cell)), style)).collect();
    for at in (0..N).filter(|at| !columns[*at].is_text) {
        // The heading is no number.
        let cells: Vec<&mut String> =
            rows.iter_mut().skip(1).map(|(row, _)| &mut row[at]).collect();
        align(cells);
    }
    let width = |at: usize| rows.iter().map(|(row, _)| row[at].chars().count()).max().unwrap_or(0);
    let mut widths: [Option<usize>; N] =
        std::array::from_fn(|at| columns[at].is_shown.then(|| width(at)));
    if let Some(most) = most {
        fit(columns, &mut widths, most);
    }
    for (cells, style) in &rows {
        let mut line = String::from("  ");
        for ((cell, column), width) in cells.iter().zip(columns).zip(widths) {
            let Some(width) = width else { continue };
            let cell = text::shortened(cell, width);
            line += &match column.is_text {
                true => format!("{cell:<width$}  "),
                false => format!("{cell:>width$}  "),
            };
        }
        match style {
            Some(style) => writeln!(out, "{style}{}{style:#}", line.trim_end())?,
            None => writeln!(out, "{}", line.trim_end())?,
        }
    }
    Ok(())
}

/// Puts numbers below each other at their decimal points, and so the ends of intervals.
fn align(cells: Vec<&mut String>) {
    let ends = |cell: &String| cell.replace(", ", ",\0");
    let parts = |cell: &String| ends(cell).split('\0').map(str::to_owned).collect::<Vec<_>>();
    let most = cells.iter().map(|cell| parts(cell).len()).max().unwrap_or(0);
    let mut rows: Vec<(&mut String, Vec<String>)> = cells
        .into_iter()
        .map(|cell| (parts(cell), cell))
        .filter(|(parts, _)| parts.len() == most)
        .map(|(parts, cell)| (cell, parts))
        .collect();
    for at in 0..most {
        let numbers: Vec<_> = rows.iter().filter_map(|(_, parts)| at_point(&parts[at])).collect();
        let widest = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or(0);
        let before = widest(&mut numbers.iter().map(|(before, _)| before.chars().count()));
        let after = widest(&mut numbers.iter().map(|(_, after)| after.chars().count()));
        for (_, parts) in &mut rows {
            if let Some((left, right)) = at_point(&parts[at]) {
                parts[at] = format!("{left:>before$}{right:<after$}");
            }
        }
    }
    for (cell, parts) in rows {
        *cell = parts.join(" ");
    }
}

/// A cell in two parts, where its decimal point is or would be; none of one without a number.
fn at_point(cell: &str) -> Option<(&str, &str)> {
    let from = cell.find(|c: char| c.is_ascii_digit())?;
    let digits = cell[from..].find(|c: char| !c.is_ascii_digit());
    Some(cell.split_at(digits.map_or(cell.len(), |length| from + length)))
}

/// Makes a table no wider than `most` characters, if that can be: takes columns out, and
/// makes the first one narrower.
fn fit<const N: usize>(columns: &[Column<'_>; N], widths: &mut [Option<usize>; N], most: usize) {
    // Two blanks stand before each column.
    let excess = |widths: &[Option<usize>; N]| {
        widths.iter().flatten().map(|width| width + 2).sum::<usize>().saturating_sub(most)
    };
    loop {
        let excess = excess(widths);
        if excess == 0 {
            return;
        }
        let shown = |at: &usize| widths[*at].is_some();
        let leaving = (0..N).filter(shown).map(|at| columns[at].leaves).max().unwrap_or(0);
        let least = if leaving > 0 { NAME } else { SHORT };
        if let Some(Some(first)) = widths.first_mut()
            && (leaving == 0 || *first >= least + excess)
        {
            *first = first.saturating_sub(excess).max(least.min(*first));
            return;
        }
        if leaving == 0 {
            return;
        }
        for (column, width) in columns.iter().zip(&mut *widths) {
            if column.leaves == leaving {
                *width = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(most: Option<usize>) -> Vec<String> {
        let columns = [
            Column::text("benchmark"),
            Column::numbers("pairs").leaves(2),
            Column::numbers("base").leaves(1),
            Column::numbers("head").leaves(1),
            Column::numbers("change"),
            Column::numbers("never").shown_if(false),
        ];
        let row = |name: &str| {
            (
                ["", "1234", "10.00 ms", "11.00 ms", "+10.0%", "x"].map(str::to_owned),
                name.to_owned(),
            )
        };
        let names = ["a::very::long::module::path::of_a_benchmark", "short"];
        let rows = names.map(row).map(|(mut cells, name)| {
            cells[0] = name;
            (cells, None)
        });
        let mut out = Vec::new();
        print_within(most, &mut out, &columns, rows.into_iter()).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_table_that_fits_keeps_its_columns_however_short_its_names_are() {
        let columns = [
            Column::text("benchmark"),
            Column::numbers("pairs").leaves(2),
            Column::numbers("base").leaves(1),
        ];
        let line = |most| {
            let mut out = Vec::new();
            let row = (["short", "12", "10.00 ms"].map(str::to_owned), None);
            print_within(Some(most), &mut out, &columns, std::iter::once(row)).unwrap();
            String::from_utf8(out).unwrap().lines().nth(1).unwrap().to_owned()
        };
        assert_eq!(line(28), "  short         12  10.00 ms");
        assert_eq!(line(27), "  short      10.00 ms");
    }

    #[test]
    fn a_table_is_as_wide_as_what_is_in_it() {
        let all = printed(None);
        assert_eq!(
            all[1],
            "  a::very::long::module::path::of_a_benchmark   1234  10.00 ms  11.00 ms  +10.0%"
        );
        assert_eq!(printed(Some(80)), all);
        assert!(all[0].ends_with("change"), "{all:?}");
    }

    #[test]
    fn numbers_stand_below_each_other_at_their_points_and_so_do_both_ends() {
        let aligned = |cells: &[&str]| {
            let mut cells: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
            align(cells.iter_mut().collect());
            cells
        };
        assert_eq!(
            aligned(&["15.33 ms", "702.4 µs", "0 s"]),
            [" 15.33 ms", "702.4 µs ", "  0 s    "]
        );
        assert_eq!(aligned(&["+0.66%", "+120.2%", "-"]), ["  +0.66%", "+120.2% ", "-"]);
        let intervals = ["[+14.7%, +21.3%]", "[-0.78%, +1.36%]", "≥ +8.6%", "-"];
        let expected = ["[+14.7%,  +21.3%] ", " [-0.78%,  +1.36%]", "≥ +8.6%", "-"];
        assert_eq!(aligned(&intervals), expected);
        assert_eq!(aligned(&["8", "1234"]), ["   8", "1234"]);
    }

    #[test]
    fn what_is_too_wide_is_cut_in_its_names_and_loses_columns_in_their_order() {
        let first = |most| printed(Some(most)).swap_remove(1);
        assert_eq!(
            first(70),
            "  a::very::long::m…::of_a_benchmark   1234  10.00 ms  11.00 ms  +10.0%"
        );
        assert_eq!(first(56), "  a::very::long…_a_benchmark  10.00 ms  11.00 ms  +10.0%");
        assert_eq!(first(40), "  a::very::long::…of_a_benchmark  +10.0%");
        assert_eq!(first(12), "  a::v…ark  +10.0%");
        for most in 20..90 {
            for line in printed(Some(most)) {
                assert!(line.chars().count() <= most, "{most}: {line}");
            }
        }
    }
}
