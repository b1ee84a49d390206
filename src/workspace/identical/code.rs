//! The code of a Rust source without what the compiler skips, and its positions.
//!
//! Two sources have the same code if they differ only in white space, comments and imports
//! for rustdoc alone. Then the n-th character of one code corresponds to the n-th of the
//! other, which maps each position in one source to the other.
//!
//! It errs on the safe side: a source that can't be parsed has no code, and `a+b` differs
//! from `a + b`. Characters, strings and comments are distinguished as in the language, so
//! that a changed string never counts as a comment.

use std::collections::BTreeMap;

/// The beginning of an import for rustdoc, which other compilations drop.
const FOR_RUSTDOC: &str = "#[cfg(doc)]";

/// A position in a source; both numbers begin at 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourcePosition {
    pub(crate) line: u32,
    /// In characters.
    pub(crate) column: u32,
}

/// The code of a source.
#[derive(Debug, Default)]
struct Code {
    /// Its characters, with a space for everything between two of them that the
    /// compiler skips.
    text: String,
    /// The position of each character.
    positions: Vec<SourcePosition>,
}

/// Where the code of the source `base` is in `head`. `None` unless both have the
/// same code.
pub(super) fn moves(base: &str, head: &str) -> Option<BTreeMap<SourcePosition, SourcePosition>> {
    let (base, head) = (Code::read(base)?, Code::read(head)?);
    (base.text == head.text).then(|| base.positions.into_iter().zip(head.positions).collect())
}

/// Whether a source requests source locations from the compiler, so that the program may
/// use them in any way: `line!`, `column!`, `Location::caller`. A source that can't be
/// parsed counts as one.
pub(super) fn asks_for_locations(source: &str) -> bool {
    // Most sources do not even have the letters.
    if !["line", "column", "caller"].iter().any(|word| source.contains(word)) {
        return false;
    }
    let Some(code) = Code::read(source) else { return true };
    let found = |word: &str, is_asking: fn(&str) -> bool| {
        code.text.match_indices(word).any(|(at, _)| {
            let (before, after) = (&code.text[..at], &code.text[at + word.len()..]);
            !before.ends_with(is_letter) && !after.starts_with(is_letter) && is_asking(after)
        })
    };
    let is_macro = |after: &str| {
        let called = after.trim_start().strip_prefix('!');
        called.is_some_and(|after| after.trim_start().starts_with(['(', '[', '{']))
    };
    found("line", is_macro) || found("column", is_macro) || found("caller", |_| true)
}

/// Whether a character is part of words and numbers.
fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

impl Code {
    /// `None` where a string or a comment has no end.
    fn read(source: &str) -> Option<Self> {
        let mut reader = Reader::new(source);
        reader.skip_first_line();
        while let Some(letter) = reader.peek(0) {
            match letter {
                _ if letter.is_whitespace() => reader.skip(),
                '/' if reader.sees("//") => reader.skip_line(),
                '/' if reader.sees("/*") => reader.skip_comment()?,
                '#' if reader.sees(FOR_RUSTDOC) && reader.skip_import() => {}
                '"' => reader.take_string()?,
                '\'' => reader.take_quoted()?,
                _ if is_letter(letter) => reader.take_word()?,
                _ => reader.take(),
            }
        }
        Some(reader.code)
    }
}

/// Walks through the letters of a source, and takes or skips each.
struct Reader {
    letters: Vec<char>,
    at: usize,
    position: SourcePosition,
    /// Whether something was skipped since the latest letter was taken.
    has_gap: bool,
    code: Code,
}

impl Reader {
    fn new(source: &str) -> Self {
        let letters = source.trim_start_matches('\u{feff}').chars().collect();
        let position = SourcePosition { line: 1, column: 1 };
        Reader { letters, at: 0, position, has_gap: false, code: Code::default() }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    fn sees(&self, text: &str) -> bool {
        self.letters[self.at..].iter().copied().take(text.len()).eq(text.chars())
    }

    fn step(&mut self) {
        let SourcePosition { line, column } = self.position;
        self.position = match self.peek(0) {
            Some('\n') => SourcePosition { line: line + 1, column: 1 },
            _ => SourcePosition { line, column: column + 1 },
        };
        self.at += 1;
    }

    fn skip(&mut self) {
        self.has_gap = true;
        self.step();
    }

    fn take(&mut self) {
        let Some(letter) = self.peek(0) else { return };
        if std::mem::take(&mut self.has_gap) && !self.code.text.is_empty() {
            self.code.text.push(' ');
            self.code.positions.push(SourcePosition::default());
        }
        self.code.text.push(letter);
        self.code.positions.push(self.position);
        self.step();
    }

    /// Skips a line for the shell (`#!/bin/…`), which is no attribute (`#![…]`).
    fn skip_first_line(&mut self) {
        if self.sees("#!") && self.peek(2) != Some('[') {
            self.skip_line();
        }
    }

    fn skip_line(&mut self) {
        while self.peek(0).is_some_and(|letter| letter != '\n') {
            self.skip();
        }
    }

    /// Skips a comment with the comments inside of it.
    fn skip_comment(&mut self) -> Option<()> {
        let mut depth = 0;
        loop {
            let is_end = self.sees("*/");
            if is_end || self.sees("/*") {
                depth = if is_end { depth - 1 } else { depth + 1 };
                self.skip();
            }
            self.peek(0)?;
            self.skip();
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Skips an import that only rustdoc sees, if this is one.
    fn skip_import(&mut self) -> bool {
        let rest = &self.letters[self.at + FOR_RUSTDOC.len()..];
        let blanks = rest.iter().take_while(|letter| letter.is_whitespace()).count();
        let is_import = rest[blanks..].starts_with(&['u', 's', 'e', ' ']);
        // It has no other semicolon than that at its end.
        if !is_import || !rest.contains(&';') {
            return false;
        }
        while self.peek(0) != Some(';') {
            self.skip();
        }
        self.skip();
        true
    }

    /// Takes a string with escapes.
    fn take_string(&mut self) -> Option<()> {
        self.take();
        loop {
            match self.peek(0)? {
                '"' => break self.take(),
                '\\' => self.take(),
                _ => {}
            }
            self.peek(0)?;
            self.take();
        }
        Some(())
    }

    /// Takes a character, or the quote of a lifetime.
    fn take_quoted(&mut self) -> Option<()> {
        let is_escape = self.peek(1) == Some('\\');
        let is_character = is_escape || self.peek(2) == Some('\'');
        self.take();
        if !is_character {
            self.take_letters();
            return Some(());
        }
        if is_escape {
            self.take();
        }
        self.take();
        while self.peek(0)? != '\'' {
            self.take();
        }
        self.take();
        Some(())
    }

    fn take_letters(&mut self) {
        while self.peek(0).is_some_and(is_letter) {
            self.take();
        }
    }

    /// Takes a word, and the raw string that it begins.
    fn take_word(&mut self) -> Option<()> {
        let begin = self.at;
        self.take_letters();
        let word: String = self.letters[begin..self.at].iter().collect();
        let marks = (0..).take_while(|ahead| self.peek(*ahead) == Some('#')).count();
        let is_raw = ["r", "br", "cr"].contains(&&*word) && self.peek(marks) == Some('"');
        if !is_raw {
            return Some(());
        }
        let end: String = std::iter::once('"').chain(std::iter::repeat_n('#', marks)).collect();
        (0..=marks).for_each(|_| self.take());
        while !self.sees(&end) {
            self.peek(0)?;
            self.take();
        }
        (0..=marks).for_each(|_| self.take());
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blanks_move_code_and_are_none() {
        let base = "use a;\n\nfn f(x: &[u8]) -> u8 {\n    x[1] // first\n}\n";
        let head = "//! All.\nuse a;\n\n#[cfg(doc)]\nuse crate::{b, c};\n\n/// Ä /* this */.\n\
                    fn f(x: &[u8]) -> u8 {\n\t/* of /* the */ two */ x[1] /* ; */\n}";
        let moves = moves(base, head).unwrap();
        // `x[1]`, and the `}` at the end.
        let at = |line, column| SourcePosition { line, column };
        assert_eq!(moves[&at(4, 5)], at(9, 25));
        assert_eq!(moves[&at(5, 1)], at(10, 1));
        assert_eq!(moves.get(&at(4, 12)), None, "a comment");
    }

    #[test]
    fn every_other_change_is_one_of_the_code() {
        let same = [
            ("f();", "f(); // done"),
            ("let a = 'b'; // x", "let a = 'b'; // y"),
            ("let a = '\"'; // \" x", "let a = '\"'; // \" y"),
            ("let a = '\\''; // x", "let a = '\\''; // y"),
            ("fn f<'a>(a: &'a u8) {} // '", "fn f<'a>(a: &'a u8) {}"),
            ("r#\"\"x\"#; // y", "r#\"\"x\"#; /* z */"),
            ("r#type; // \"", "r#type; /* z */"),
            ("\"\\\\\"; // x", "\"\\\\\"; // y"),
            ("#!/bin/sh it's \"\nf();", "f();"),
        ];
        for (base, head) in same {
            assert!(moves(base, head).is_some(), "{base}");
        }
        let other = [
            ("f(1);", "f(2);"),
            ("f(\"// 1\");", "f(\"// 2\");"),
            ("f(\"a b\");", "f(\"a  b\");"),
            ("f(\"\\\"// 1\");", "f(\"\\\"// 2\");"),
            ("f('\"', \"// 1\");", "f('\"', \"// 2\");"),
            ("f(b'\\'', \"// 1\");", "f(b'\\'', \"// 2\");"),
            ("f(r\"\\\", \"// 1\");", "f(r\"\\\", \"// 2\");"),
            ("f(br#\"\"// 1\"#);", "f(br#\"\"// 2\"#);"),
            ("f('r\"\\\"// 1\");", "f('r\"\\\"// 2\");"),
            ("f::<'a, 'b>(\"// 1\");", "f::<'a, 'b>(\"// 2\");"),
            ("f(); // 1", "f();\n1"),
            ("a /**/ b", "ab"),
            ("/* */ f(1); /* */", "/* */ f(2); /* */"),
            ("#[cfg(doc)] use a; f();", "#[cfg(doc)] use a; g();"),
            ("#[cfg(doc)] fn f() {}", "#[cfg(doc)] fn g() {}"),
            ("#[cfg(doctest)] use a;", "#[cfg(doctest)] use b;"),
        ];
        for (base, head) in other {
            assert!(moves(base, head).is_none(), "{base}");
        }
        for open in ["\"", "/* /* */", "r#\"\"", "'\\", "b\"\\\""] {
            assert!(moves(open, open).is_none(), "{open}");
        }
    }

    #[test]
    fn who_asks_for_locations_may_use_them() {
        for asking in [
            "let a = line!();",
            "std::column ! ()",
            "Location::caller().line()",
            "use L as M; M::caller",
            "line!(), \"",
        ] {
            assert!(asks_for_locations(asking), "{asking}");
        }
        for quiet in [
            "#[track_caller] fn f() {}",
            "// line!()",
            "fn line() {} if line != 1 {}",
            "underline!()",
            "let a = \"a line!\";",
            "the_caller(inline)",
        ] {
            assert!(!asks_for_locations(quiet), "{quiet}");
        }
    }
}
