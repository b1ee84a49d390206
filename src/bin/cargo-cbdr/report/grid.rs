//! Rows of cells, aligned.

use std::io::Write;

use anstyle::Style;

use super::escape::line;

/// A row of cells, and how it looks.
pub(crate) type Row = (Vec<String>, Option<Style>);

/// The row of the columns' names.
pub(crate) fn header<const COLUMNS: usize>(names: [&str; COLUMNS]) -> Row {
    (names.map(str::to_owned).to_vec(), None)
}

/// The rows without some of their columns.
pub(crate) fn without(
    mut rows: Vec<Row>,
    hidden: impl IntoIterator<Item = usize> + Clone,
) -> Vec<Row> {
    for (row, _) in &mut rows {
        let mut column = 0;
        row.retain(|_| {
            column += 1;
            !hidden.clone().into_iter().any(|hidden| hidden + 1 == column)
        });
    }
    rows
}

/// Prints rows, each column as wide as its widest cell. The columns in `words` are aligned to
/// the left; all others, which are numbers, to the right.
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
