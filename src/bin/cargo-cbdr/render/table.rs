//! Tables of results: columns with their headings, and rows. Each format draws them in its own way.

use anstyle::Style;

/// How the cells of a column are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
    /// Intervals; at the right where all text is monospaced.
    Center,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) text: String,
    pub(crate) align: Align,
    /// The order in which columns are dropped from a table that is too wide: the largest
    /// number first, and 0 never.
    pub(crate) leaves: u8,
    /// The columns that it replaces: it is shown once those with this number are dropped. 0
    /// if it replaces none.
    pub(crate) replaces: u8,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextTable {
    pub(crate) headings: Vec<Heading>,
    pub(crate) rows: Vec<TableRow>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableRow {
    pub(crate) cells: Vec<String>,
    /// Its colour in a terminal.
    pub(crate) style: Option<Style>,
}

impl TextTable {
    /// A table without columns yet, of these rows.
    pub(crate) fn of<R>(rows: &[R]) -> Building<'_, R> {
        let empty = vec![TableRow::default(); rows.len()];
        Building { rows, table: TextTable { headings: Vec::new(), rows: empty } }
    }

    /// Replaces each cell by what `changed` returns for it and the number of its column.
    pub(crate) fn map_cells(mut self, changed: impl Fn(usize, &str) -> String) -> Self {
        for row in &mut self.rows {
            for (at, cell) in row.cells.iter_mut().enumerate() {
                *cell = changed(at, cell);
            }
        }
        self
    }
}

/// A table that gets its columns, each with how to fill its cells.
pub(crate) struct Building<'a, R> {
    rows: &'a [R],
    table: TextTable,
}

impl<R> Building<'_, R> {
    pub(crate) fn text(self, heading: &str, cell: impl Fn(&R) -> String) -> Self {
        self.column(Align::Left, heading, cell)
    }

    pub(crate) fn numbers(self, heading: &str, cell: impl Fn(&R) -> String) -> Self {
        self.column(Align::Right, heading, cell)
    }

    pub(crate) fn intervals(self, heading: &str, cell: impl Fn(&R) -> String) -> Self {
        self.column(Align::Center, heading, cell)
    }

    fn column(mut self, align: Align, text: &str, cell: impl Fn(&R) -> String) -> Self {
        self.table.headings.push(Heading { text: text.to_owned(), align, leaves: 0, replaces: 0 });
        for (of, row) in self.rows.iter().zip(&mut self.table.rows) {
            row.cells.push(cell(of));
        }
        self
    }

    /// Adds columns only if `is_shown`.
    pub(crate) fn when(self, is_shown: bool, columns: impl FnOnce(Self) -> Self) -> Self {
        if is_shown { columns(self) } else { self }
    }

    /// Drops the latest column from a table that is too wide, the largest number first.
    pub(crate) fn leaves(mut self, leaves: u8) -> Self {
        if let Some(latest) = self.table.headings.last_mut() {
            latest.leaves = leaves;
        }
        self
    }

    /// Shows the latest column only instead of those that are dropped with this number.
    pub(crate) fn replaces(mut self, replaces: u8) -> Self {
        if let Some(latest) = self.table.headings.last_mut() {
            latest.replaces = replaces;
        }
        self
    }

    pub(crate) fn styled(mut self, style: impl Fn(&R) -> Option<Style>) -> Self {
        for (of, row) in self.rows.iter().zip(&mut self.table.rows) {
            row.style = style(of);
        }
        self
    }

    pub(crate) fn build(self) -> TextTable {
        self.table
    }
}
