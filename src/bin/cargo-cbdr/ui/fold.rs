//! Wraps long lines between words, where a terminal would break them within a word.

use std::io;

use super::width::columns;

/// With less room than this after the indent, wrapping is left to the terminal.
const LEAST: usize = 20;

/// The width of standard error, if it is a terminal. In a file or a pipe, lines are not
/// wrapped, so that they can be searched.
pub(crate) fn error_width() -> Option<usize> {
    terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| width.0.into())
}

/// The width of standard output, if it is a terminal.
pub(crate) fn output_width() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into())
}

/// The height of standard output, if it is a terminal.
pub(crate) fn output_height() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(_, height)| height.0.into())
}

/// A line for standard output, wrapped if that is a terminal.
pub(crate) fn paragraph(line: &str, indent: usize) -> String {
    folded(line, output_width(), indent) + "\n"
}

/// A line, wrapped between words to at most `width` columns; continuation lines are
/// indented by `indent`. A longer word is not broken, so that an address can still be
/// copied.
pub(crate) fn folded(line: &str, width: Option<usize>, indent: usize) -> String {
    let Some(width) = width.filter(|width| *width >= indent + LEAST) else {
        return line.to_owned();
    };
    let mut words = line.split(' ');
    let mut folded = words.next().unwrap_or_default().to_owned();
    let mut column = columns(&folded);
    for word in words {
        let length = columns(word);
        if column + 1 + length > width && column > indent {
            folded.truncate(folded.trim_end_matches(' ').len());
            folded += &format!("\n{:indent$}", "");
            column = indent;
        } else {
            folded.push(' ');
            column += 1;
        }
        folded += word;
        column += length;
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_folded_between_words_and_indented() {
        let line = "warning: the branch introduces a waiver of its own for `max_rss`";
        let lines = [
            "warning: the branch introduces a",
            "         waiver of its own for",
            "         `max_rss`",
        ];
        assert_eq!(folded(line, Some(33), 9), lines.join("\n"));
        assert_eq!(folded(line, Some(line.len()), 9), line);
        assert_eq!(folded(line, None, 9), line);
        // There would be no room after the indent.
        assert_eq!(folded(line, Some(28), 9), line);
    }

    #[test]
    fn colours_take_no_room_and_blanks_before_the_text_stay() {
        let line = "\x1b[1m\x1b[32m    Sampling\x1b[0m 2 benchmarks in pairs each";
        let lines =
            ["\x1b[1m\x1b[32m    Sampling\x1b[0m 2 benchmarks in", "             pairs each"];
        assert_eq!(folded(line, Some(33), 13), lines.join("\n"));
    }

    #[test]
    fn a_word_that_is_too_long_stays_whole() {
        let word = "https://example.org/a/very/long/address";
        assert_eq!(folded(word, Some(20), 0), word);
        assert_eq!(
            folded(&format!("see {word} for more"), Some(24), 2),
            format!("see\n  {word}\n  for more")
        );
    }

    #[test]
    fn nothing_is_lost_and_nothing_is_too_wide() {
        let line = "a bc def ghij klmno pqrstu vwxyz a bc def ghij klmno pqrstu vwxyz";
        for width in 22..80 {
            let folded = folded(line, Some(width), 2);
            assert!(folded.lines().all(|line| line.len() <= width), "{width}: {folded}");
            assert_eq!(folded.replace("\n ", ""), line, "{width}");
        }
    }
}
