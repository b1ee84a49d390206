//! A filter of the user's in the languages of the harnesses: the benchmarks whose name it is
//! or has in it, and where the harness takes regular expressions, those that it matches.

use super::criterion::escape;

/// A regular expression that finds a filter both as the text that it is and, if it can be
/// one, as a regular expression.
pub(super) fn either(filter: &str) -> String {
    let literal = escape(filter);
    match is_expression(filter) {
        _ if literal == filter => literal,
        true => format!("(?:{filter})|{literal}"),
        false => literal,
    }
}

/// Whether a text can be a regular expression. Where it can't, a harness would refuse it.
fn is_expression(text: &str) -> bool {
    let mut groups = 0_usize;
    let mut is_repeatable = false;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' if rest.next().is_none() => return false,
            '[' => {
                let Some(end) = end_of_class(rest.as_str()) else { return false };
                rest = rest.as_str()[end..].chars();
            }
            '(' => {
                groups += 1;
                let flags = rest.as_str().strip_prefix('?').map(|_| rest.next());
                is_repeatable = flags.is_some();
                continue;
            }
            ')' if groups == 0 => return false,
            ')' => groups -= 1,
            '*' | '+' | '?' if !is_repeatable => return false,
            '{' => match rest.as_str().split_once('}') {
                Some((count, after)) if is_repeatable && is_count(count) => rest = after.chars(),
                _ => return false,
            },
            '|' | '^' => {
                is_repeatable = false;
                continue;
            }
            _ => {}
        }
        is_repeatable = true;
    }
    groups == 0
}

/// Where a class of characters ends, from behind its bracket.
fn end_of_class(text: &str) -> Option<usize> {
    let start = text.len() - text.trim_start_matches('^').len();
    let mut depth = 1;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => depth += 1,
            // The first one stands for itself.
            ']' if at > start => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + c.len_utf8());
        }
    }
    None
}

/// Whether a text is how often something repeats: `2`, `2,` or `2,3`.
fn is_count(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once(',') {
        None => is_number(text),
        Some((least, most)) => is_number(least) && (most.is_empty() || is_number(most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_text_and_an_expression_where_it_can_be_one() {
        for (filter, expected) in [
            ("parse/16", "parse/16"),
            ("parse.*", r"(?:parse.*)|parse\.\*"),
            ("^(a|b)$", r"(?:^(a|b)$)|\^\(a\|b\)\$"),
            ("f(x", r"f\(x"),
            ("f)", r"f\)"),
            ("*const", r"\*const"),
            ("x{", r"x\{"),
            ("x{2,}", r"(?:x{2,})|x\{2,\}"),
            ("{}", r"\{\}"),
            ("[u8; 4]", r"(?:[u8; 4])|\[u8; 4\]"),
            ("[0", r"\[0"),
            ("[]", r"\[\]"),
            (r"a\", r"a\\"),
            ("a|*", r"a\|\*"),
        ] {
            assert_eq!(either(filter), expected, "{filter}");
        }
    }
}
