//! The code of a Rust source without what the compiler skips, and its positions.
//!
//! Two sources have the same code if they have the same tokens, apart from comments (also those
//! for rustdoc, which are attributes) and imports for rustdoc alone. Then the n-th token of one
//! corresponds to the n-th of the other, which maps each position in one source to the other.
//!
//! It errs on the safe side: a source that can't be parsed has no code.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, LineColumn, Spacing, Span, TokenStream, TokenTree};

/// A position in a source; both numbers begin at 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourcePosition {
    pub(crate) line: u32,
    /// In characters.
    pub(crate) column: u32,
}

/// The text of a token, and where it begins. An operator's character has a mark if another one
/// follows at once.
type Token = (String, SourcePosition);

/// What marks an operator's character that continues.
const JOINT: char = '&';

/// How comments for rustdoc begin, outer and inner ones, and how many tokens these have.
const COMMENTS: [(&[&str], usize); 2] =
    [(&["#", "[", "doc", "="], 6), (&["#", "!", "[", "doc", "="], 7)];

/// How an import for rustdoc begins, which other compilations drop.
const FOR_RUSTDOC: [&str; 8] = ["#", "[", "cfg", "(", "doc", ")", "]", "use"];

/// Where the code of the source `base` is in `head`. `None` unless both have the
/// same code.
pub(super) fn moves(base: &str, head: &str) -> Option<BTreeMap<SourcePosition, SourcePosition>> {
    let (base, head) = (code(base)?, code(head)?);
    let are_same = base.iter().map(|(text, _)| text).eq(head.iter().map(|(text, _)| text));
    let positions = |code: Vec<Token>| code.into_iter().map(|(_, position)| position);
    are_same.then(|| positions(base).zip(positions(head)).collect())
}

/// Whether a source requests source locations from the compiler, so that the program may
/// use them in any way: `line!`, `column!`, `Location::caller`, or `location` beside the hook of
/// panics. A source that can't be parsed counts as one.
pub(super) fn asks_for_locations(source: &str) -> bool {
    // Most sources do not even have the letters.
    if !["line", "column", "caller", "set_hook"].iter().any(|word| source.contains(word)) {
        return false;
    }
    let Some(code) = code(source) else { return true };
    let has = |word: &str| code.iter().any(|(text, _)| text == word);
    has("set_hook") && has("location")
        || (0..code.len()).any(|at| {
            let text = |ahead: usize| code.get(at + ahead).map_or("", |(text, _)| text);
            let is_call = text(1) == "!" && ["(", "[", "{"].contains(&text(2));
            text(0) == "caller" || is_call && ["line", "column"].contains(&text(0))
        })
}

/// The tokens of a source without comments and imports for rustdoc.
fn code(source: &str) -> Option<Vec<Token>> {
    let all = tokens(source)?;
    let (mut code, mut rest) = (Vec::new(), all.as_slice());
    while let Some((token, after)) = rest.split_first() {
        let begins = |with: &[&str]| {
            rest.len() >= with.len() && rest.iter().zip(with).all(|((text, _), word)| text == word)
        };
        let comment = COMMENTS.iter().find(|(begin, _)| begins(begin)).map(|(_, count)| *count);
        // It has no other semicolon than that at its end.
        let end = || rest.iter().position(|(text, _)| text == ";").map(|at| at + 1);
        let skipped = comment.or_else(|| begins(&FOR_RUSTDOC).then(end).flatten());
        rest = match skipped {
            Some(count) => rest.get(count..)?,
            None => {
                code.push(token.clone());
                after
            }
        };
    }
    Some(code)
}

/// All tokens of a source. `None` if it can't be parsed.
fn tokens(source: &str) -> Option<Vec<Token>> {
    let text = source.trim_start_matches('\u{feff}');
    // A line for the shell (`#!/bin/…`), which is no attribute (`#![…]`).
    let is_script = text.starts_with("#!") && !text.starts_with("#![");
    let text = if is_script { &text[text.find('\n').unwrap_or(text.len())..] } else { text };
    let mut found = Vec::new();
    let mut add = |text: String, span: Span| {
        let LineColumn { line, column } = span.start();
        found.push((text, SourcePosition { line: line as u32, column: column as u32 + 1 }));
    };
    // Not by recursion, since sources may be nested as deeply as their authors like.
    let mut open = vec![(text.parse::<TokenStream>().ok()?.into_iter(), None)];
    while let Some((tokens, end)) = open.last_mut() {
        match tokens.next() {
            Some(TokenTree::Group(group)) => {
                let (begin, end) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                add(begin.to_owned(), group.span_open());
                open.push((group.stream().into_iter(), Some((end, group.span_close()))));
            }
            Some(TokenTree::Punct(punct)) => {
                let joint = (punct.spacing() == Spacing::Joint).then_some(JOINT);
                add(std::iter::once(punct.as_char()).chain(joint).collect(), punct.span());
            }
            Some(token) => add(token.to_string(), token.span()),
            None => {
                if let Some((text, span)) = end.take() {
                    add(text.to_owned(), span);
                }
                open.pop();
            }
        }
    }
    // The texts of all sources would be kept.
    proc_macro2::extra::invalidate_current_thread_spans();
    Some(found)
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
            "set_hook(Box::new(|about| show(about.location())))",
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
            "set_hook(Box::new(|about| show(about)))",
            "inline(self.location())",
        ] {
            assert!(!asks_for_locations(quiet), "{quiet}");
        }
    }
}
