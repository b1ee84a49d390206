//! Tables of results: columns that know how to fill their cells, and rows. Each format draws them
//! in its own way.

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
        Building { rows, style: Box::new(|_| None), columns: Vec::new() }
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

type StyleOf<'a, R> = Box<dyn Fn(&R) -> Option<Style> + 'a>;
type TextOf<'a, R> = Box<dyn Fn(&R) -> String + 'a>;

/// A table that gets its columns, each with how to fill its cells.
pub(crate) struct Building<'a, R> {
    rows: &'a [R],
    style: StyleOf<'a, R>,
    columns: Vec<Column<'a, R>>,
}

struct Column<'a, R> {
    heading: Heading,
    is_shown: bool,
    cell: TextOf<'a, R>,
}

impl<'a, R> Building<'a, R> {
    pub(crate) fn text(self, heading: &str, cell: impl Fn(&R) -> String + 'a) -> Self {
        self.column(Align::Left, heading, Box::new(cell))
    }

    pub(crate) fn numbers(self, heading: &str, cell: impl Fn(&R) -> String + 'a) -> Self {
        self.column(Align::Right, heading, Box::new(cell))
    }

    pub(crate) fn intervals(self, heading: &str, cell: impl Fn(&R) -> String + 'a) -> Self {
        self.column(Align::Center, heading, Box::new(cell))
    }

    fn column(mut self, align: Align, text: &str, cell: TextOf<'a, R>) -> Self {
        let heading = Heading { text: text.to_owned(), align, leaves: 0, replaces: 0 };
        self.columns.push(Column { heading, is_shown: true, cell });
        self
    }

    /// Leaves out the latest column unless `is_shown`.
    pub(crate) fn shown_if(self, is_shown: bool) -> Self {
        self.with_latest(|column| column.is_shown = is_shown)
    }

    /// Drops the latest column from a table that is too wide, the largest number first.
    pub(crate) fn leaves(self, leaves: u8) -> Self {
        self.with_latest(|column| column.heading.leaves = leaves)
    }

    /// Shows the latest column only instead of those that are dropped with this number.
    pub(crate) fn replaces(self, replaces: u8) -> Self {
        self.with_latest(|column| column.heading.replaces = replaces)
    }

    fn with_latest(mut self, change: impl FnOnce(&mut Column<'a, R>)) -> Self {
        self.columns.last_mut().map(change);
        self
    }

    pub(crate) fn styled(self, style: impl Fn(&R) -> Option<Style> + 'a) -> Self {
        Building { style: Box::new(style), ..self }
    }

    pub(crate) fn build(self) -> TextTable {
        let Building { rows, style, columns } = self;
        let columns: Vec<_> = columns.into_iter().filter(|column| column.is_shown).collect();
        let row = |row: &R| TableRow {
            cells: columns.iter().map(|column| (column.cell)(row)).collect(),
            style: style(row),
        };
        let rows = rows.iter().map(row).collect();
        TextTable { rows, headings: columns.into_iter().map(|column| column.heading).collect() }
    }
}
