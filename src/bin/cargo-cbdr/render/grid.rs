//! Tables on a terminal.

use super::escape::line;
use super::table::{Align, Heading, TableRow, TextTable};
use crate::ui::fold::output_width;
use crate::ui::shorten::{distinct_width, shortened};
use crate::ui::width;

impl Heading {
    /// Whether it is shown if all columns with `left` or a larger number are dropped.
    fn is_shown_without(&self, left: u8) -> bool {
        let has_left = self.leaves > 0 && self.leaves >= left;
        !has_left && (self.replaces == 0 || self.replaces >= left)
    }
}

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

/// Draws a table with any text in its cells, if it has rows. Each column is as wide as its widest
/// cell; words are aligned at the left, numbers at their decimal points. On a terminal, the table
/// is no wider than that: columns are dropped, and names are shortened.
pub(crate) fn drawn(table: &TextTable) -> String {
    drawn_within(output_width(), table)
}

fn drawn_within(most: Option<usize>, table: &TextTable) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let TextTable { headings, rows } = table.clone().map_cells(|_, cell| line(cell));
    let names = headings.iter().map(|heading| line(&heading.text)).collect();
    let mut rows: Vec<TableRow> =
        std::iter::once(TableRow { cells: names, style: None }).chain(rows).collect();
    for at in (0..headings.len()).filter(|at| headings[*at].align != Align::Left) {
        // The heading is not a number.
        align(rows.iter_mut().skip(1).map(|row| &mut row.cells[at]).collect());
    }
    let width = |at: usize| rows.iter().map(|of| width::columns(&of.cells[at])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let widths = fitted(&headings, &widths, most, || distinct_width(&names_in(&rows), SHORT));
    if let Some(Some(width)) = widths.first() {
        let names = shortened(&names_in(&rows), *width);
        for (row, name) in rows.iter_mut().zip(names) {
            row.cells[0] = name;
        }
    }
    let row = |TableRow { cells, style }: &TableRow| {
        let mut line = String::from("  ");
        for ((cell, heading), width) in cells.iter().zip(&headings).zip(&widths) {
            let Some(width) = *width else { continue };
            let pad =
                if heading.align == Align::Left { width::padded } else { width::right_aligned };
            line += &pad(cell, width);
            line += "  ";
        }
        let style = style.unwrap_or_default();
        format!("{style}{}{style:#}\n", line.trim_end())
    };
    rows.iter().map(row).collect()
}

/// Aligns numbers at their decimal points, and both ends of intervals, too.
fn align(cells: Vec<&mut String>) {
    let parts =
        |cell: &String| -> Vec<String> { cell.split_inclusive(", ").map(str::to_owned).collect() };
    let most = cells.iter().map(|cell| parts(cell).len()).max().unwrap_or(0);
    let mut rows: Vec<_> = cells.into_iter().map(|cell| (parts(cell), cell)).collect();
    rows.retain(|(parts, _)| parts.len() == most);
    for at in 0..most {
        let numbers = rows.iter().filter_map(|(parts, _)| at_point(&parts[at]));
        let widths = numbers.map(|(left, right)| (width::columns(left), width::columns(right)));
        let (before, after) = widths.fold((0, 0), |(a, b), (c, d)| (a.max(c), b.max(d)));
        for (parts, _) in &mut rows {
            if let Some((left, right)) = at_point(&parts[at]) {
                parts[at] = width::right_aligned(left, before) + &width::padded(right, after);
            }
        }
    }
    for (parts, cell) in rows {
        *cell = parts.concat();
    }
}

/// Splits a cell where its decimal point is or would be; `None` without a number.
fn at_point(cell: &str) -> Option<(&str, &str)> {
    let from = cell.find(|c: char| c.is_ascii_digit())?;
    let digits = cell[from..].find(|c: char| !c.is_ascii_digit());
    Some(cell.split_at(digits.map_or(cell.len(), |length| from + length)))
}

/// The cells of the first column.
fn names_in(rows: &[TableRow]) -> Vec<&str> {
    rows.iter().filter_map(|row| row.cells.first()).map(String::as_str).collect()
}

/// The widths of the columns that are shown, so that a table is at most `most` characters wide,
/// if possible. Columns are dropped in their order, and the first one becomes narrower: while
/// others can be dropped, no narrower than `distinct`, the smallest width at which its names
/// can still be distinguished.
fn fitted(
    columns: &[Heading],
    widths: &[usize],
    most: Option<usize>,
    distinct: impl FnOnce() -> usize,
) -> Vec<Option<usize>> {
    let shown = |left: u8| -> Vec<Option<usize>> {
        let both = columns.iter().zip(widths);
        both.map(|(column, width)| column.is_shown_without(left).then_some(*width)).collect()
    };
    // There are two spaces before each column.
    let excess = |widths: &[Option<usize>]| {
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
        let table = TextTable::of(names)
            .text("benchmark", |name: &&str| (*name).to_owned())
            .numbers("pairs", |_| "1234".to_owned())
            .leaves(5)
            .numbers("base", |_| "10.00 ms".to_owned())
            .leaves(4)
            .numbers("head", |_| "11.00 ms".to_owned())
            .leaves(4)
            .numbers("base → head", |_| "10.0 → 11.0 ms".to_owned())
            .replaces(4)
            .leaves(3)
            .numbers("change", |_| "+10.0%".to_owned())
            .when(false, |table| table.numbers("never", |_| "x".to_owned()))
            .build();
        lines(most, &table)
    }

    fn lines(most: Option<usize>, table: &TextTable) -> Vec<String> {
        drawn_within(most, table).lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_table_that_fits_keeps_its_columns_however_short_its_names_are() {
        let table = TextTable::of(&[()])
            .text("benchmark", |_: &()| "short".to_owned())
            .numbers("pairs", |_| "12".to_owned())
            .leaves(2)
            .numbers("base", |_| "10.00 ms".to_owned())
            .leaves(1)
            .build();
        let line = |most| lines(Some(most), &table).swap_remove(1);
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
        assert_eq!(aligned(&["15.33 回", "1.5 ms"]), ["15.33 回", " 1.5 ms "], "wide units");
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
        let table = TextTable::of(&[()])
            .text("benchmark", |_: &()| NAMES[0].to_owned())
            .numbers("change", |_| "+20.0%".to_owned())
            .intervals("interval", |_| "[+17.4%,  +21.3%]".to_owned())
            .leaves(1)
            .text("verdict", |_| "no regression".to_owned())
            .build();
        let line = lines(Some(60), &table).swap_remove(1);
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
