//! Rows of cells, aligned.

use std::io::Write;

use anstyle::Style;

use super::escape::line;

/// A row of cells, and how it looks.
pub(crate) type Row = (Vec<String>, Option<Style>);

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

/// Prints the headings of the columns and rows, without the columns that are not
/// shown.
pub(crate) fn print_columns<const N: usize>(
    out: &mut impl Write,
    columns: &[Column<'_>; N],
    rows: impl Iterator<Item = ([String; N], Option<Style>)>,
) -> std::io::Result<()> {
    let shown = |cells: [String; N]| -> Vec<String> {
        let cells = cells.into_iter().zip(columns).filter(|(_, column)| column.is_shown);
        cells.map(|(cell, _)| cell).collect()
    };
    let headings = columns.each_ref().map(|column| column.heading.to_owned());
    let mut all: Vec<Row> = vec![(shown(headings), None)];
    all.extend(rows.map(|(cells, style)| (shown(cells), style)));
    let visible = columns.iter().filter(|column| column.is_shown).enumerate();
    let words: Vec<usize> =
        visible.filter(|(_, column)| column.is_text).map(|(number, _)| number).collect();
    print(out, &all, &words)
}

/// Prints rows, whatever stands in their cells, each column as wide as its widest
/// cell: the columns in `words` to the left, all others, numbers, to the right.
pub(crate) fn print(out: &mut impl Write, rows: &[Row], words: &[usize]) -> std::io::Result<()> {
    let rows: Vec<Row> =
        rows.iter().map(|(row, style)| (row.iter().map(|c| line(c)).collect(), *style)).collect();
    let columns = rows.first().map_or(0, |(row, _)| row.len());
    let width = |column: usize| rows.iter().map(|(row, _)| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for (row, style) in &rows {
        let mut line = String::from("  ");
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            line += &match words.contains(&column) {
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
