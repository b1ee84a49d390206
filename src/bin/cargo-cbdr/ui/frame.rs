//! Lines at the end of a terminal that are redrawn: what to write for that.

use super::width;

/// Terminals that support it show everything up to [`END`] at once. The cursor is hidden until
/// then; it never stays hidden, however the program ends.
const BEGIN: &str = "\x1b[?2026h\x1b[?25l";
const END: &str = "\x1b[?25h\x1b[?2026l";

/// Clears all below the cursor.
const CLEAR: &str = "\x1b[J";

/// The lines that are drawn now. The cursor is at the beginning of the row below them.
#[derive(Debug, Default)]
pub(super) struct Frame {
    lines: Vec<String>,
}

impl Frame {
    /// What replaces the current lines by these, on a terminal with this many columns and
    /// rows. Nothing if there are none before and after.
    pub(super) fn shown(&mut self, lines: Vec<String>, (columns, rows): (usize, usize)) -> String {
        if lines.is_empty() && self.lines.is_empty() {
            return String::new();
        }
        let up = self.up(columns);
        self.lines = lines;
        // What does not fit could not be redrawn.
        self.lines.truncate(rows.saturating_sub(1));
        let lines: String = self.lines.iter().map(|line| format!("{line}\x1b[K\n")).collect();
        format!("{BEGIN}{up}{lines}{CLEAR}{END}")
    }

    /// What prints a permanent line above the lines.
    pub(super) fn above(&mut self, line: &str, (columns, _): (usize, usize)) -> String {
        if self.lines.is_empty() {
            return format!("{line}\n");
        }
        let up = self.up(columns);
        let lines: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        format!("{BEGIN}{up}{CLEAR}{line}\n{lines}{END}")
    }

    /// Moves the cursor to the first line. A terminal that has become narrower has
    /// wrapped what was drawn, which then has to be cleared, too.
    fn up(&self, columns: usize) -> String {
        let rows = |line: &String| width::columns(line).div_ceil(columns.max(1)).max(1);
        let rows: usize = self.lines.iter().map(rows).sum();
        match rows {
            0 => String::new(),
            rows if rows > self.lines.len() => format!("\x1b[{rows}A\r{CLEAR}"),
            rows => format!("\x1b[{rows}A\r"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A terminal with this many columns, as far as frames need one.
    struct Screen {
        columns: usize,
        rows: Vec<Vec<char>>,
        /// The cursor's row and column.
        at: (usize, usize),
    }

    impl Screen {
        fn new(columns: usize) -> Self {
            Screen { columns, rows: vec![Vec::new()], at: (0, 0) }
        }

        fn rows(&self) -> Vec<String> {
            self.rows.iter().map(|row| row.iter().collect()).collect()
        }

        fn write(&mut self, text: &str) {
            let mut rest = text;
            while let Some(c) = rest.chars().next() {
                rest = &rest[c.len_utf8()..];
                match c {
                    '\n' => self.down(),
                    '\r' => self.at.1 = 0,
                    '\x1b' => {
                        let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap();
                        self.obey(&rest[1..end], &rest[end..=end]);
                        rest = &rest[end + 1..];
                    }
                    c => self.put(c),
                }
            }
        }

        fn obey(&mut self, argument: &str, command: &str) {
            let (row, column) = self.at;
            match command {
                "A" => self.at.0 = row.saturating_sub(argument.parse().unwrap()),
                "K" => self.rows[row].truncate(column),
                "J" => {
                    self.rows[row].truncate(column);
                    self.rows.truncate(row + 1);
                }
                "h" | "l" => {}
                other => panic!("{other}"),
            }
        }

        fn put(&mut self, c: char) {
            if self.at.1 == self.columns {
                self.down();
            }
            let (row, column) = self.at;
            match self.rows[row].get_mut(column) {
                Some(place) => *place = c,
                None => self.rows[row].push(c),
            }
            self.at.1 += 1;
        }

        fn down(&mut self) {
            self.at = (self.at.0 + 1, 0);
            if self.rows.len() == self.at.0 {
                self.rows.push(Vec::new());
            }
        }

        /// The terminal becomes narrower, and wraps what is too long.
        fn narrow(&mut self, columns: usize) {
            let fold = |row: &Vec<char>| match row.is_empty() {
                true => vec![Vec::new()],
                false => row.chunks(columns).map(<[char]>::to_vec).collect(),
            };
            self.rows = self.rows.iter().flat_map(fold).collect();
            self.at = (self.rows.len() - 1, 0);
            self.columns = columns;
        }
    }

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn frames_replace_each_other_and_what_is_printed_stays_above() {
        let (mut frame, mut screen, size) = (Frame::default(), Screen::new(20), (20, 10));
        screen.write("before\n");
        screen.write(&frame.shown(lines(&["one", "two", "three"]), size));
        assert_eq!(screen.rows(), ["before", "one", "two", "three", ""]);
        screen.write(&frame.shown(lines(&["four", "five"]), size));
        assert_eq!(screen.rows(), ["before", "four", "five", ""]);
        screen.write(&frame.above("found", size));
        assert_eq!(screen.rows(), ["before", "found", "four", "five", ""]);
        screen.write(&frame.shown(Vec::new(), size));
        assert_eq!(screen.rows(), ["before", "found", ""]);
        assert_eq!(frame.shown(Vec::new(), size), "");
        assert_eq!(frame.above("last", size), "last\n");
    }

    #[test]
    fn a_terminal_that_becomes_narrower_keeps_no_rest_of_a_frame() {
        let (mut frame, mut screen) = (Frame::default(), Screen::new(20));
        screen.write("before\n");
        screen.write(&frame.shown(lines(&["a line of 18 chars", "two"]), (20, 10)));
        screen.narrow(8);
        assert_eq!(screen.rows(), ["before", "a line o", "f 18 cha", "rs", "two", ""]);
        screen.write(&frame.shown(lines(&["a line", "two"]), (8, 10)));
        assert_eq!(screen.rows(), ["before", "a line", "two", ""]);
    }

    #[test]
    fn no_more_lines_are_drawn_than_can_be_drawn_over() {
        let (mut frame, mut screen) = (Frame::default(), Screen::new(20));
        screen.write(&frame.shown(lines(&["1", "2", "3", "4"]), (20, 3)));
        assert_eq!(screen.rows(), ["1", "2", ""]);
    }

    #[test]
    fn the_cursor_is_shown_at_the_end_of_all_that_is_written() {
        let mut frame = Frame::default();
        for text in [frame.shown(lines(&["one"]), (20, 10)), frame.above("found", (20, 10))] {
            assert!(text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l"), "{text:?}");
            assert!(text.ends_with("\x1b[?2026l"), "{text:?}");
        }
    }
}
