//! How much room text takes in a terminal: wide characters take two columns, colours none.

use unicode_width::UnicodeWidthStr;

/// A text without its colours.
pub(crate) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

pub(crate) fn columns(text: &str) -> usize {
    plain(text).width()
}

/// The beginning of a text without colours, as far as it fits into this many columns.
pub(crate) fn beginning(text: &str, most: usize) -> &str {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let fits = ends.take_while(|end| text[..*end].width() <= most);
    &text[..fits.last().unwrap_or(0)]
}

/// The text with blanks after it, so that it takes at least this many columns.
pub(crate) fn padded(text: &str, least: usize) -> String {
    format!("{text}{:1$}", "", least.saturating_sub(columns(text)))
}

/// The text with blanks before it, so that it takes at least this many columns.
pub(crate) fn right_aligned(text: &str, least: usize) -> String {
    format!("{:1$}{text}", "", least.saturating_sub(columns(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns_and_colours_none() {
        for (text, expected) in [
            ("", 0),
            ("parse", 5),
            ("\x1b[31mé\x1b[0m", 1),
            ("解析", 4),
            ("🦀", 2),
            ("e\u{301}", 1),
        ] {
            assert_eq!(columns(text), expected, "{text:?}");
        }
    }

    #[test]
    fn half_of_a_wide_character_is_not_shown() {
        assert_eq!(beginning("解析", 3), "解");
        assert_eq!(beginning("解析", 4), "解析");
        assert_eq!(beginning("a解", 1), "a");
        assert_eq!(beginning("解", 1), "");
    }

    #[test]
    fn columns_are_filled_with_blanks() {
        assert_eq!(padded("解析", 6), "解析  ");
        assert_eq!(right_aligned("解析", 5), " 解析");
        assert_eq!(padded("long", 2), "long");
    }
}
