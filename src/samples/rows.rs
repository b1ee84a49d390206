//! Parses CSV into rows: the first column is a label, every other one a metric.
//! It streams, and needs memory for one line only.
//!
//! Written by hand, for exact lines and columns in errors, and since a long file spends most of
//! its time here.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, ErrorKind, Read};

use super::error::{failure, no_rows, unread};
use crate::error::{Error, Failure};
use crate::model::metric::Metric;

/// How much is read at once.
const CHUNK: usize = 1 << 16;

/// The maximum length of a line, bytes.
const LONGEST: usize = 1 << 24;

/// The maximum number of metrics in a file.
const MOST_METRICS: usize = 1000;

/// The maximum length of a label or of a metric's name, bytes.
const LONGEST_NAME: usize = 4096;

/// Whether to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Continue.
    Go,
    /// Stop reading.
    Stop,
}

/// What the rows of a file are read into.
pub(super) trait RowSink {
    /// Called with the names of the metrics, in the order of their columns. Returns
    /// for each of them whether its values may be negative.
    fn header(&mut self, metrics: &[String]) -> Result<Vec<bool>, Error>;

    /// Called with a row: its label, and the values of the metrics, `None` for empty cells.
    fn row(&mut self, label: &[u8], values: &[Option<f64>], line: u64) -> Result<Flow, Error>;

    /// Called before each read, which may take long, after all rows so far. Returns
    /// whether to continue.
    fn wait(&mut self) -> Flow {
        Flow::Go
    }
}

/// The numbers of the metrics of a file's columns among those that are known, with the new ones.
pub(super) fn columns(known: &mut Vec<Metric>, file: impl Iterator<Item = Metric>) -> Vec<usize> {
    let mut columns = Vec::new();
    for metric in file {
        let number = known.iter().position(|other| other.name == metric.name);
        columns.push(number.unwrap_or(known.len()));
        if number.is_none() {
            known.push(metric);
        }
    }
    columns
}

/// Reads `source` to its end, or until `sink` stops.
pub(super) fn read(
    source: &mut dyn Read,
    file: &str,
    sink: &mut impl RowSink,
) -> Result<Flow, Error> {
    let mut parser = RowParser { file, line: 0, header: vec![], signed: vec![], values: vec![] };
    let mut source = BufReader::with_capacity(CHUNK, source);
    let mut line = Vec::new();
    loop {
        if source.buffer().is_empty() && sink.wait() == Flow::Stop {
            return Ok(Flow::Stop);
        }
        let text = match source.fill_buf() {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(source) => return Err(unread(file, source)),
        };
        let is_end = text.is_empty();
        // Reading from a slice can't fail; this is the fastest search for a byte in `std`.
        let mut rest = text;
        let length = rest.skip_until(b'\n').unwrap_or_default();
        line.extend_from_slice(&text[..length]);
        source.consume(length);
        if line.len() > LONGEST {
            parser.line += 1;
            return Err(parser.bad(1, format!("the line is longer than {LONGEST} bytes")));
        }
        if !is_end && !line.ends_with(b"\n") {
            continue;
        }
        let flow = parser.line(&line, sink)?;
        line.clear();
        if is_end && parser.header.is_empty() {
            return Err(no_rows(format!("{file} is empty")));
        }
        if is_end || flow == Flow::Stop {
            return Ok(flow);
        }
    }
}

struct RowParser<'a> {
    file: &'a str,
    line: u64,
    /// The header, with the column of the labels.
    header: Vec<String>,
    /// For each metric, whether its values may be negative.
    signed: Vec<bool>,
    values: Vec<Option<f64>>,
}

impl RowParser<'_> {
    /// Parses a line. Only the last one of a file may lack its end.
    fn line(&mut self, line: &[u8], sink: &mut impl RowSink) -> Result<Flow, Error> {
        self.line += 1;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        if let Some(column) = CsvCells::of(line).misquoted() {
            let what = "the cell begins with a quote, so one has to end it, before the next comma; \
                write a quote inside it twice";
            Err(self.bad(column, what.to_owned()))
        } else if line.is_empty() {
            Ok(Flow::Go)
        } else if self.header.is_empty() {
            self.header(line, sink).map(|()| Flow::Go)
        } else {
            self.row(line, sink)
        }
    }

    fn header(&mut self, line: &[u8], sink: &mut impl RowSink) -> Result<(), Error> {
        let cells = CsvCells::of(line).texts();
        if cells[0] != "benchmark" {
            let what = format!(
                "{}, line {}, column 1: the first column is `{}`, not `benchmark`",
                self.file, self.line, cells[0]
            );
            let hint = "the first line names the columns: `benchmark,wall_time,…`";
            return Err(failure(what, hint));
        }
        if cells.len() - 1 > MOST_METRICS {
            let what = format!("there are more than {MOST_METRICS} metrics");
            return Err(self.bad(MOST_METRICS + 2, what));
        }
        for (number, name) in cells.iter().enumerate().skip(1) {
            let what = match name.len() {
                0 => "the metric has no name".to_owned(),
                1..=LONGEST_NAME if !cells[..number].contains(name) => continue,
                1..=LONGEST_NAME => format!("`{name}` appears twice"),
                _ => format!("its name is longer than {LONGEST_NAME} bytes"),
            };
            return Err(self.bad(number + 1, what));
        }
        if cells.len() == 1 {
            return Err(self.bad(2, "there are no metrics".to_owned()));
        }
        self.signed = sink.header(&cells[1..])?;
        self.values = vec![None; cells.len() - 1];
        self.header = cells;
        Ok(())
    }

    fn row(&mut self, line: &[u8], sink: &mut impl RowSink) -> Result<Flow, Error> {
        let mut cells = CsvCells::of(line);
        let label = cells.next().unwrap_or_default();
        if label.is_empty() {
            return Err(self.bad(1, "the label is missing".to_owned()));
        }
        if label.len() > LONGEST_NAME {
            return Err(self.bad(1, format!("the label is longer than {LONGEST_NAME} bytes")));
        }
        // A repeated header, if files were concatenated.
        if *label == *b"benchmark" && CsvCells::of(line).texts() == self.header {
            return Ok(Flow::Go);
        }
        for number in 0..self.values.len() {
            let Some(cell) = cells.next() else {
                let what = format!("the row ends here, but the header has {}", self.width());
                return Err(self.bad(number + 2, what));
            };
            self.values[number] = self.value(&cell, number)?;
        }
        if !cells.rest.is_empty() {
            let what = format!("the row goes on, but the header has {}", self.width());
            return Err(self.bad(self.header.len() + 1, what));
        }
        sink.row(&label, &self.values, self.line)
    }

    fn value(&self, cell: &[u8], number: usize) -> Result<Option<f64>, Error> {
        let cell = String::from_utf8_lossy(cell);
        let cell = cell.trim();
        let bad = |what: &str| Err(self.bad(number + 2, format!("`{cell}` {what}")));
        match cell.parse::<f64>().ok() {
            _ if cell.is_empty() => Ok(None),
            None => bad("is not a number"),
            Some(value) if !value.is_finite() => {
                bad("is not a finite number; leave a cell without a value empty")
            }
            Some(value) if value < 0.0 && !self.signed[number] => bad("is negative"),
            value => Ok(value),
        }
    }

    fn width(&self) -> String {
        let s = if self.header.len() == 1 { "" } else { "s" };
        format!("{} column{s}", self.header.len())
    }

    #[cold]
    fn bad(&self, column: usize, what: String) -> Error {
        let name = self.header.get(column - 1);
        let name = name.map_or(String::new(), |name| format!(" (`{name}`)"));
        let (file, line) = (self.file, self.line);
        Failure::with(format!("{file}, line {line}, column {column}{name}: {what}"), None).into()
    }
}

/// The cells of a line, without their quotes.
struct CsvCells<'t> {
    /// The rest of the line, with the comma before the next cell.
    rest: &'t [u8],
    begun: bool,
}

impl<'t> CsvCells<'t> {
    fn of(line: &'t [u8]) -> Self {
        CsvCells { rest: line, begun: false }
    }

    /// The column of a cell whose first quote is not matched by one at its end.
    fn misquoted(mut self) -> Option<usize> {
        let column = self.rest.contains(&b'"').then(|| self.by_ref().count() + 1);
        column.filter(|_| self.rest.starts_with(b"\""))
    }

    fn texts(self) -> Vec<String> {
        self.map(|cell| String::from_utf8_lossy(&cell).into_owned()).collect()
    }
}

impl<'t> Iterator for CsvCells<'t> {
    type Item = Cow<'t, [u8]>;

    fn next(&mut self) -> Option<Cow<'t, [u8]>> {
        let text = if self.begun { self.rest.strip_prefix(b",")? } else { self.rest };
        self.begun = true;
        if let Some(quoted) = text.strip_prefix(b"\"") {
            let mut cell = Vec::new();
            self.rest = quoted;
            loop {
                match self.rest {
                    [b'"', b'"', rest @ ..] => {
                        cell.push(b'"');
                        self.rest = rest;
                    }
                    [b'"', rest @ ..] if matches!(rest, [] | [b',', ..]) => {
                        self.rest = rest;
                        return Some(cell.into());
                    }
                    [] | [b'"', ..] => {
                        self.rest = text;
                        return None;
                    }
                    [byte, rest @ ..] => {
                        cell.push(*byte);
                        self.rest = rest;
                    }
                }
            }
        }
        let end = text.iter().position(|byte| matches!(byte, b',' | b'\r')).unwrap_or(text.len());
        self.rest = &text[end..];
        Some(Cow::Borrowed(&text[..end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records its calls.
    #[derive(Default)]
    struct CollectedRows(Vec<String>);

    impl RowSink for CollectedRows {
        fn header(&mut self, metrics: &[String]) -> Result<Vec<bool>, Error> {
            self.0.push(metrics.join("|"));
            Ok(vec![false; metrics.len()])
        }

        fn row(&mut self, label: &[u8], values: &[Option<f64>], line: u64) -> Result<Flow, Error> {
            self.0.push(format!("{line} {} {values:?}", String::from_utf8_lossy(label)));
            Ok(Flow::Go)
        }
    }

    /// Returns this many bytes at a time.
    struct Drops<'a>(&'a [u8], usize);

    impl Read for Drops<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn notes(text: &[u8], size: usize) -> Vec<String> {
        let mut notes = CollectedRows::default();
        read(&mut Drops(text, size), "it", &mut notes).unwrap();
        notes.0
    }

    #[test]
    fn rows_are_the_same_however_the_text_arrives() {
        let text = b"benchmark,t,u\r\na,1,2.5\n\n\"b \"\"c\"\"\",,1e-3\r\na,0.1,3";
        let whole = notes(text, text.len());
        let expected = [
            "t|u",
            "2 a [Some(1.0), Some(2.5)]",
            "4 b \"c\" [None, Some(0.001)]",
            "5 a [Some(0.1), Some(3.0)]",
        ];
        assert_eq!(whole, expected);
        for size in 1..text.len() {
            assert_eq!(notes(text, size), whole, "{size}");
        }
    }

    #[test]
    fn a_quote_that_begins_a_cell_has_to_end_it() {
        for (text, place) in [
            ("benchmark,t\na,1\na,\"1\n", "line 3, column 2 (`t`)"),
            ("benchmark,t\n\"a\"x,1\n", "line 2, column 1 (`benchmark`)"),
            ("benchmark,t\n\"a\nb\",1\n", "line 2, column 1 (`benchmark`)"),
            ("\u{feff}\"benchmark,t\n", "line 1, column 1"),
            ("benchmark,t\na,\"", "line 2, column 2 (`t`)"),
        ] {
            let mut notes = CollectedRows::default();
            let error = read(&mut text.as_bytes(), "it", &mut notes).unwrap_err().to_string();
            let (found, why) = error.rsplit_once(": ").unwrap();
            assert_eq!(found, format!("it, {place}"), "{text}");
            assert!(why.starts_with("the cell begins with a quote"), "{why}");
        }
    }

    #[test]
    fn lines_may_be_longer_than_what_is_read_at_once() {
        let blanks = " ".repeat(3 * CHUNK);
        let text = format!("benchmark,t\nx,{blanks}1\ny,2\nx,{blanks}3");
        assert_eq!(notes(text.as_bytes(), CHUNK).len(), 4);
        let endless = format!("benchmark,t\n{}", "x".repeat(LONGEST + 10));
        let mut notes = CollectedRows::default();
        let error = read(&mut endless.as_bytes(), "it", &mut notes).unwrap_err();
        let expected =
            format!("it, line 2, column 1 (`benchmark`): the line is longer than {LONGEST} bytes");
        assert_eq!(error.to_string(), expected);
    }
}
