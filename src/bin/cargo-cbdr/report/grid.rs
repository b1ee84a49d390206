//! Rows of cells, aligned.

use std::io::Write;

use anstyle::Style;

/// Prints rows, each column as wide as its widest cell: the columns in `words`
/// to the left, all others, numbers, to the right.
pub(super) fn print(
    out: &mut impl Write,
    rows: &[(Vec<String>, Option<Style>)],
    words: &[usize],
) -> std::io::Result<()> {
    let columns = rows.first().map_or(0, |(row, _)| row.len());
    let width = |column: usize| rows.iter().map(|(row, _)| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for (row, style) in rows {
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
