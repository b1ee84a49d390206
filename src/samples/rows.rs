//! CSV to rows: the first column a label, every other one a metric. Streams,
//! in the memory of one long line.

use std::io::{ErrorKind, Read};

use super::error::{Error, Position};
use super::number;

/// How much is read at once.
const CHUNK: usize = 1 << 16;

/// A line longer than this is none of ours.
const LONGEST: usize = 1 << 24;

/// The most metrics of a file.
const MOST_METRICS: usize = 1000;

/// The longest label and the longest name of a metric, bytes.
const LONGEST_NAME: usize = 4096;

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// There may be more.
    Go,
    /// It is enough.
    Stop,
}

/// Takes the rows of a file, header first.
pub(super) trait RowSink {
    /// The metrics of the columns that follow, in their order; returns of each
    /// whether its values may be negative.
    fn header(&mut self, metrics: &[String]) -> Result<Vec<bool>, Error>;

    /// One row: its label, and a value or none for each of those metrics.
    fn row(&mut self, label: &[u8], values: &[Option<f64>], line: u64) -> Result<Flow, Error>;

    /// All that can be had without waiting was handed over. Says whether to
    /// wait for more.
    fn wait(&mut self) -> Flow;
}

/// Reads `source` to its end, or until somebody has enough.
pub(super) fn read(
    source: &mut dyn Read,
    file: &str,
    sink: &mut impl RowSink,
) -> Result<Flow, Error> {
    let mut parser = Parser { file, line: 0, header: Vec::new(), signed: vec![], values: vec![] };
    let mut buffer = vec![0; CHUNK];
    let mut filled = 0;
    loop {
        if sink.wait() == Flow::Stop {
            return Ok(Flow::Stop);
        }
        // One byte is kept for the end that the last line may lack.
        if filled + 1 == buffer.len() {
            if buffer.len() >= LONGEST {
                parser.line += 1;
                return Err(parser.bad(1, "the line does not end".to_owned()));
            }
            buffer.resize(2 * buffer.len(), 0);
        }
        let room = buffer.len() - 1;
        let new = match source.read(&mut buffer[filled..room]) {
            Ok(new) => new,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(source) => return Err(Error::Read { file: file.to_owned(), source }),
        };
        let end = new == 0;
        let latest = filled..filled + new;
        filled += new;
        if end && filled > 0 {
            buffer[filled] = b'\n';
            filled += 1;
        }
        let last = if end {
            filled
        } else {
            let newline = buffer[latest.clone()].iter().rposition(|&byte| byte == b'\n');
            newline.map_or(0, |at| latest.start + at + 1)
        };
        if parser.lines(&buffer[..last], sink)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        buffer.copy_within(last..filled, 0);
        filled -= last;
        if end {
            let empty = parser.header.is_empty();
            return if empty { Err(Error::Empty(file.to_owned())) } else { Ok(Flow::Go) };
        }
    }
}

struct Parser<'a> {
    file: &'a str,
    line: u64,
    /// The whole header, the label's column included.
    header: Vec<String>,
    /// Of each metric, whether it may be negative.
    signed: Vec<bool>,
    values: Vec<Option<f64>>,
}

impl Parser<'_> {
    /// Takes whole lines, each with its end.
    fn lines(&mut self, mut text: &[u8], sink: &mut impl RowSink) -> Result<Flow, Error> {
        while !text.is_empty() {
            self.line += 1;
            if let [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] = text {
                text = rest;
                continue;
            }
            if self.header.is_empty() {
                text = self.header(text, sink)?;
                continue;
            }
            let (flow, rest) = self.row(text, sink)?;
            if flow == Flow::Stop {
                return Ok(flow);
            }
            text = rest;
        }
        Ok(Flow::Go)
    }

    fn header<'t>(&mut self, text: &'t [u8], sink: &mut impl RowSink) -> Result<&'t [u8], Error> {
        let (line, rest) = cut_line(text);
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let cells = split(line);
        if cells[0] != "benchmark" {
            let what = format!("the first column is `{}`, not `benchmark`", cells[0]);
            return Err(self.bad(1, what));
        }
        if cells.len() - 1 > MOST_METRICS {
            let what = format!("there are more than {MOST_METRICS} metrics");
            return Err(self.bad(MOST_METRICS + 2, what));
        }
        for (number, name) in cells.iter().enumerate().skip(1) {
            if name.is_empty() {
                return Err(self.bad(number + 1, "the metric has no name".to_owned()));
            }
            if name.len() > LONGEST_NAME {
                let what = format!("its name is longer than {LONGEST_NAME} bytes");
                return Err(self.bad(number + 1, what));
            }
            if cells[..number].contains(name) {
                return Err(self.bad(number + 1, format!("`{name}` is there twice")));
            }
        }
        if cells.len() == 1 {
            return Err(self.bad(2, "there is no metric".to_owned()));
        }
        self.signed = sink.header(&cells[1..])?;
        self.values = vec![None; cells.len() - 1];
        self.header = cells;
        Ok(rest)
    }

    /// Takes one row; returns what follows its line.
    fn row<'t>(
        &mut self,
        text: &'t [u8],
        sink: &mut impl RowSink,
    ) -> Result<(Flow, &'t [u8]), Error> {
        let quoted;
        let (label, mut at) = if text[0] == b'"' {
            let (label, after) = cell(text);
            quoted = label;
            (quoted.as_bytes(), after)
        } else {
            let after = text.iter().position(|byte| matches!(byte, b',' | b'\n'));
            let after = after.unwrap_or(text.len());
            (&text[..after], after)
        };
        if label.is_empty() {
            return Err(self.bad(1, "the label is missing".to_owned()));
        }
        if label.len() > LONGEST_NAME {
            return Err(self.bad(1, format!("the label is longer than {LONGEST_NAME} bytes")));
        }
        // Files that were put one behind the other.
        if label == b"benchmark" && split(cut_line(text).0) == self.header {
            return Ok((Flow::Go, cut_line(text).1));
        }
        for number in 0..self.values.len() {
            if text[at] != b',' {
                let what = format!("the row ends here, but the header has {}", self.width());
                return Err(self.bad(number + 2, what));
            }
            at += 1;
            let rest = &text[at..];
            let (value, after) = match number::fast(rest) {
                Some((value, after)) if matches!(rest[after], b',' | b'\n' | b'\r') => {
                    (Some(value), after)
                }
                _ => self.careful(rest, number)?,
            };
            self.values[number] = value;
            at += after;
        }
        match &text[at..] {
            [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] => {
                Ok((sink.row(label, &self.values, self.line)?, rest))
            }
            _ => {
                let what = format!("the row goes on, but the header has {}", self.width());
                Err(self.bad(self.header.len() + 1, what))
            }
        }
    }

    /// The value of a cell that is not plain digits, and where it ends.
    #[cold]
    fn careful(&self, text: &[u8], number: usize) -> Result<(Option<f64>, usize), Error> {
        let (cell, after) = cell(text);
        let cell = cell.trim();
        if cell.is_empty() {
            return Ok((None, after));
        }
        let bad = |what: &str| Err(self.bad(number + 2, format!("`{cell}` {what}")));
        match number::slow(cell) {
            None => bad("is no number"),
            Some(value) if !value.is_finite() => {
                bad("is no finite number; a cell without a value is left empty")
            }
            Some(value) if value < 0.0 && !self.signed[number] => bad("is negative"),
            value => Ok((value, after)),
        }
    }

    fn width(&self) -> String {
        match self.header.len() {
            1 => "1 column".to_owned(),
            several => format!("{several} columns"),
        }
    }

    #[cold]
    fn bad(&self, column: usize, what: String) -> Error {
        let name = self.header.get(column - 1).cloned();
        let place = Position { file: self.file.to_owned(), line: self.line };
        Error::Row { place, column, name, what }
    }
}

/// The line at the beginning, without its end, and what follows it.
fn cut_line(text: &[u8]) -> (&[u8], &[u8]) {
    let at = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
    let line = &text[..at];
    (line.strip_suffix(b"\r").unwrap_or(line), text.get(at + 1..).unwrap_or_default())
}

/// All cells of a line.
fn split(line: &[u8]) -> Vec<String> {
    let mut cells = Vec::new();
    let mut at = 0;
    while at <= line.len() {
        let (cell, after) = cell(&line[at..]);
        cells.push(cell);
        at += after + 1;
    }
    cells
}

/// The cell at the beginning, without its quotes, and where it ends.
fn cell(text: &[u8]) -> (String, usize) {
    let Some(inner) = text.strip_prefix(b"\"") else {
        let end = text.iter().position(|byte| matches!(byte, b',' | b'\n' | b'\r'));
        let end = end.unwrap_or(text.len());
        return (String::from_utf8_lossy(&text[..end]).into_owned(), end);
    };
    let mut value = Vec::new();
    let mut at = 0;
    loop {
        match inner[at..] {
            [b'"', b'"', ..] => {
                value.push(b'"');
                at += 2;
            }
            // A quote that nobody closes ends with its line.
            [b'"', ..] => break at += 1,
            [] | [b'\n', ..] => break,
            [byte, ..] => {
                value.push(byte);
                at += 1;
            }
        }
    }
    (String::from_utf8_lossy(&value).into_owned(), at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes down what it takes.
    #[derive(Default)]
    struct Notes(Vec<String>);

    impl RowSink for Notes {
        fn header(&mut self, metrics: &[String]) -> Result<Vec<bool>, Error> {
            self.0.push(metrics.join("|"));
            Ok(vec![false; metrics.len()])
        }

        fn row(&mut self, label: &[u8], values: &[Option<f64>], line: u64) -> Result<Flow, Error> {
            self.0.push(format!("{line} {} {values:?}", String::from_utf8_lossy(label)));
            Ok(Flow::Go)
        }

        fn wait(&mut self) -> Flow {
            Flow::Go
        }
    }

    /// Gives so many bytes at a time.
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
        let mut notes = Notes::default();
        read(&mut Drops(text, size), "it", &mut notes).unwrap();
        notes.0
    }

    #[test]
    fn it_does_not_matter_how_the_text_arrives() {
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
    fn lines_may_be_longer_than_what_is_read_at_once() {
        let blanks = " ".repeat(3 * CHUNK);
        let text = format!("benchmark,t\nx,{blanks}1\ny,2\nx,{blanks}3");
        assert_eq!(notes(text.as_bytes(), CHUNK).len(), 4);
        let endless = format!("benchmark,t\n{}", "x".repeat(LONGEST + 10));
        let mut notes = Notes::default();
        let error = read(&mut endless.as_bytes(), "it", &mut notes).unwrap_err();
        assert_eq!(error.to_string(), "it, line 2, column 1 (`benchmark`): the line does not end");
    }
}
