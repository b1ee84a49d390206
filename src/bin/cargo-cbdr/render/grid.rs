//! Tables of text.

use std::io::{self, Write};

use anstyle::Style;

use super::escape::line;

/// A column that may be left out.
pub(crate) struct Column<'a> {
    heading: &'a str,
    /// Whether it holds words, and not numbers.
    is_text: bool,
    is_shown: bool,
}

impl<'a> Column<'a> {
    /// A column of words.
    pub(crate) fn text(heading: &'a str) -> Self {
        Column { heading, is_text: true, is_shown: true }
    }

    /// A column of numbers.
    pub(crate) fn numbers(heading: &'a str) -> Self {
        Column { heading, is_text: false, is_shown: true }
    }

    /// The same, left out unless `is_shown`.
    pub(crate) fn shown_if(self, is_shown: bool) -> Self {
        Column { is_shown, ..self }
    }
}

/// A row of cells, and how it looks.
pub(crate) type TableRow<const N: usize> = ([String; N], Option<Style>);

/// Prints the headings and the rows, whatever stands in their cells. Each column is
/// as wide as its widest cell; words stand to the left, numbers to the right.
pub(crate) fn print<const N: usize>(
    out: &mut impl Write,
    columns: &[Column<'_>; N],
    rows: impl Iterator<Item = TableRow<N>>,
) -> io::Result<()> {
    let headings = columns.each_ref().map(|column| column.heading.to_owned());
    let rows = std::iter::once((headings, None)).chain(rows);
    let rows: Vec<TableRow<N>> =
        rows.map(|(cells, style)| (cells.map(|cell| line(&cell)), style)).collect();
    let width = |at: usize| rows.iter().map(|(row, _)| row[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for (cells, style) in &rows {
        let mut line = String::from("  ");
        for ((cell, column), width) in cells.iter().zip(columns).zip(widths) {
            line += &match column.is_text {
                _ if !column.is_shown => String::new(),
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
