//! Tables of text.

use std::io::{self, Write};

use anstyle::Style;

use super::escape::line;
use crate::ui::fold::output_width;
use crate::ui::shorten::{distinct_width, shortened};
use crate::ui::width;

/// A column that may be left out.
pub(crate) struct Column<'a> {
    heading: &'a str,
    /// Whether it holds words, and not numbers.
    is_text: bool,
    is_shown: bool,
    /// The order in which columns are dropped from a table that is too wide: the largest
    /// number first, and 0 never.
    leaves: u8,
    /// The columns that it replaces: it is shown once those with this number are dropped. 0
    /// if it replaces none.
    replaces: u8,
}

impl<'a> Column<'a> {
    /// A column of words.
    pub(crate) fn text(heading: &'a str) -> Self {
        Column { heading, is_text: true, is_shown: true, leaves: 0, replaces: 0 }
    }

    /// A column of numbers.
    pub(crate) fn numbers(heading: &'a str) -> Self {
        Column { heading, is_text: false, is_shown: true, leaves: 0, replaces: 0 }
    }

    /// The same, left out unless `is_shown`.
    pub(crate) fn shown_if(self, is_shown: bool) -> Self {
        Column { is_shown, ..self }
    }

    /// The same, dropped from a table that is too wide, the largest number first.
    pub(crate) fn leaves(self, leaves: u8) -> Self {
        Column { leaves, ..self }
    }

    /// The same, shown only instead of the columns that are dropped with this number.
    pub(crate) fn replaces(self, replaces: u8) -> Self {
        Column { replaces, ..self }
    }

    /// Whether it is shown if all columns with `left` or a larger number are dropped.
    fn is_shown_without(&self, left: u8) -> bool {
        let has_left = self.leaves > 0 && self.leaves >= left;
        self.is_shown && !has_left && (self.replaces == 0 || self.replaces >= left)
    }
}

/// A row of cells, and its style.
pub(crate) type TableRow<const N: usize> = ([String; N], Option<Style>);

/// Columns with this number or a larger one matter less than names of more than [`SHORT`]
/// characters.
const MINOR: u8 = 4;

/// The minimum width of the first column while a minor column is shown.
const LONG: usize = 24;

/// The minimum width of the first column while another column could be dropped. With it, a
/// change, its interval and a verdict fit 60 columns.
const SHORT: usize = 15;

/// The minimum width of the first column.
const SHORTEST: usize = 8;

/// Prints the headings and the rows, with any text in their cells. Each column is as wide as
/// its widest cell; words are aligned at the left, numbers at their decimal points. On a
/// terminal, the table is no wider than that: columns are dropped, and names are shortened.
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
        // The heading is not a number.
        let cells: Vec<&mut String> =
            rows.iter_mut().skip(1).map(|(row, _)| &mut row[at]).collect();
        align(cells);
    }
    let width = |at: usize| rows.iter().map(|(row, _)| width::columns(&row[at])).max().unwrap_or(0);
    let widths =
        fitted(columns, std::array::from_fn(width), most, || distinct_width(&names(&rows), SHORT));
    if let Some(width) = widths[0] {
        let names = shortened(&names(&rows), width);
        for ((row, _), name) in rows.iter_mut().zip(names) {
            row[0] = name;
        }
    }
    for (cells, style) in &rows {
        let mut line = String::from("  ");
        for ((cell, column), width) in cells.iter().zip(columns).zip(widths) {
            let Some(width) = width else { continue };
            line += &match column.is_text {
                true => width::padded(cell, width),
                false => width::right_aligned(cell, width),
            };
            line += "  ";
        }
        match style {
            Some(style) => writeln!(out, "{style}{}{style:#}", line.trim_end())?,
            None => writeln!(out, "{}", line.trim_end())?,
        }
    }
    Ok(())
}

/// Aligns numbers at their decimal points, and both ends of intervals, too.
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

/// Splits a cell where its decimal point is or would be; `None` without a number.
fn at_point(cell: &str) -> Option<(&str, &str)> {
    let from = cell.find(|c: char| c.is_ascii_digit())?;
    let digits = cell[from..].find(|c: char| !c.is_ascii_digit());
    Some(cell.split_at(digits.map_or(cell.len(), |length| from + length)))
}

/// The first column.
fn names<const N: usize>(rows: &[TableRow<N>]) -> Vec<&str> {
    rows.iter().map(|(row, _)| row[0].as_str()).collect()
}

/// The widths of the columns that are shown, so that a table is at most `most` characters wide,
/// if possible. Columns are dropped in their order, and the first one becomes narrower: while
/// others can be dropped, no narrower than `distinct`, the smallest width at which its names
/// can still be distinguished.
fn fitted<const N: usize>(
    columns: &[Column<'_>; N],
    widths: [usize; N],
    most: Option<usize>,
    distinct: impl FnOnce() -> usize,
) -> [Option<usize>; N] {
    let shown = |left: u8| {
        let is_shown = |at: usize| columns[at].is_shown_without(left);
        std::array::from_fn(|at| is_shown(at).then_some(widths[at]))
    };
    // There are two spaces before each column.
    let excess = |widths: &[Option<usize>; N]| {
        let width = widths.iter().flatten().map(|width| width + 2).sum::<usize>();
        most.map_or(0, |most| width.saturating_sub(most))
    };
    let mut left = u8::MAX;
    if excess(&shown(left)) == 0 {
        return shown(left);
    }
    let distinct = distinct();
    loop {
        let mut shown = shown(left);
        let next = columns.iter().filter(|column| column.is_shown_without(left));
        let next = next.map(|column| column.leaves).max().unwrap_or(0);
        let least = match next {
            0 => SHORTEST,
            MINOR.. => LONG.max(distinct),
            _ => distinct,
        };
        let excess = excess(&shown);
        if next == 0 || excess == 0 || widths[0] >= least + excess {
            shown[0] = Some(widths[0].saturating_sub(excess).max(least.min(widths[0])));
            return shown;
        }
        left = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["a::very::long::module::path::of_a_benchmark", "short"];

    fn printed(most: Option<usize>) -> Vec<String> {
        printed_of(&NAMES, most)
    }

    fn printed_of(names: &[&str], most: Option<usize>) -> Vec<String> {
        let columns = [
            Column::text("benchmark"),
            Column::numbers("pairs").leaves(5),
            Column::numbers("base").leaves(4),
            Column::numbers("head").leaves(4),
            Column::numbers("base → head").replaces(4).leaves(3),
            Column::numbers("change"),
            Column::numbers("never").shown_if(false),
        ];
        let cells = ["1234", "10.00 ms", "11.00 ms", "10.0 → 11.0 ms", "+10.0%", "x"];
        let rows = names.iter().map(|name| {
            let [pairs, base, head, both, change, never] = cells.map(str::to_owned);
            ([(*name).to_owned(), pairs, base, head, both, change, never], None)
        });
        let mut out = Vec::new();
        print_within(most, &mut out, &columns, rows).unwrap();
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
        assert_eq!(first(50), "  a::very::lon…a_benchmark  10.0 → 11.0 ms  +10.0%");
        assert_eq!(first(41), "  a::very…nchmark  10.0 → 11.0 ms  +10.0%");
        assert_eq!(first(40), "  a::very::long::…of_a_benchmark  +10.0%");
        assert_eq!(first(12), "  a::v…ark  +10.0%");
        let columns = [
            Column::text("benchmark"),
            Column::numbers("change"),
            Column::numbers("interval").leaves(1),
            Column::text("verdict"),
        ];
        let row = [NAMES[0], "+20.0%", "[+17.4%,  +21.3%]", "no regression"].map(str::to_owned);
        let mut out = Vec::new();
        print_within(Some(60), &mut out, &columns, std::iter::once((row, None))).unwrap();
        let line = String::from_utf8(out).unwrap().lines().nth(1).unwrap().to_owned();
        assert_eq!(line, "  a::very:…nchmark  +20.0%  [+17.4%,  +21.3%]  no regression");
        for most in 20..90 {
            for line in printed(Some(most)) {
                assert!(line.chars().count() <= most, "{most}: {line}");
            }
        }
    }

    #[test]
    fn a_column_leaves_before_names_can_no_longer_be_told_apart() {
        let names = [
            "group_of_parsers/variant=compact/size=1024/threads=1",
            "group_of_parsers/variant=compact/size=4096/threads=1",
            "group_of_parsers/variant=verbose/size=1024/threads=1",
            "group_of_parsers/variant=verbose/size=4096/threads=1",
        ];
        for most in 40..100 {
            let mut lines = printed_of(&names, Some(most));
            lines.sort();
            lines.dedup();
            assert_eq!(lines.len(), 5, "{most}: {lines:#?}");
        }
    }
}
