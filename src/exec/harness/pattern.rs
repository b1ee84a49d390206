//! A filter of the user's in the languages of the harnesses: the benchmarks whose name it is
//! or has in it, and where the harness takes regular expressions, those that it matches.

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

/// The first of the characters that show control characters.
pub(super) const PICTURES: u32 = 0x2400;

/// A text as a regular expression that matches it alone, and what it shows: see [`PICTURES`].
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if let Some(control) = (c as u32).checked_sub(PICTURES).filter(|code| *code < 0x20) {
            escaped += &format!(r"[\x{control:02X}{c}]");
            continue;
        }
        if r"\.+*?()|[]{}^$#&-~".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Whether a text is a regular expression as far as its brackets show: where one is missing, or
/// where there is nothing to repeat, a harness would refuse it.
fn is_expression(text: &str) -> bool {
    let is_closed = |pair: [char; 2]| {
        let [opened, closed] = pair.map(|bracket| text.matches(bracket).count());
        opened == closed
    };
    [['(', ')'], ['[', ']']].into_iter().all(is_closed)
        && !text.contains(['{', '}'])
        && !text.contains("[]")
        && !text.starts_with(['*', '+', '?', ')'])
        && !["(*", "(+", "|*", "|+"].iter().any(|nothing| text.contains(nothing))
        && !text.ends_with('\\')
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
            ("of(*const u8)", r"of\(\*const u8\)"),
            ("x{", r"x\{"),
            ("{}", r"\{\}"),
            ("[u8; 4]", r"(?:[u8; 4])|\[u8; 4\]"),
            ("[0", r"\[0"),
            ("[]", r"\[\]"),
            (r"a\", r"a\\"),
        ] {
            assert_eq!(either(filter), expected, "{filter}");
        }
    }
}
