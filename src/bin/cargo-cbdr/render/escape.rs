//! Escaping for each format. Names of branches, benchmarks, metrics and files, and
//! the output of programs, come from others and can be anything.

use crate::ui::text;
pub(crate) use crate::ui::text::line;

/// Escapes text for HTML and XML, also in a quoted attribute. Characters that
/// XML 1.0 can't have are shown by their numbers.
pub(crate) fn xml(text: &str) -> String {
    let text = text::clean(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// A name as code in Markdown, also in a table's cell. Within code nobody is
/// mentioned and nothing is linked.
pub(crate) fn code(name: &str) -> String {
    let name = line(name);
    let plain = |c: char| !(c.is_ascii_punctuation() && "`|\\<>&".contains(c));
    if !name.is_empty() && name.trim() == name && name.chars().all(plain) {
        return format!("`{name}`");
    }
    let escaped = name.chars().map(|c| match c.is_ascii_punctuation() {
        true => format!("&#{};", u32::from(c)),
        false => c.to_string(),
    });
    format!("<code>{}</code>", escaped.collect::<String>())
}

/// A number and its unit in a table of Markdown. A unit may be any text, so that it
/// may look like a link (`www.a.b`) or a reference (`GH-1`); then it becomes code.
pub(crate) fn quantity(text: &str) -> String {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let is_number = number.chars().all(|c| c.is_ascii_digit() || ".+-e".contains(c));
    let is_plain = unit.chars().all(|c| c.is_alphabetic() || " /%".contains(c));
    if is_number && is_plain { text.to_owned() } else { code(text) }
}

/// The parts of a sentence, and whether each is code: between two backticks.
pub(crate) fn spans(sentence: &str) -> Vec<(bool, String)> {
    let sentence = line(sentence);
    let parts: Vec<&str> = sentence.split('`').collect();
    let span = |(number, part): (usize, &&str)| match (number % 2 == 1, number + 1 < parts.len()) {
        (true, false) => (false, format!("`{part}")),
        (is_code, _) => (is_code, (*part).to_owned()),
    };
    parts.iter().enumerate().map(span).collect()
}

/// A sentence for an HTML block within Markdown. Text between backticks becomes
/// code; elsewhere, mentions, references and links are prevented.
pub(crate) fn prose(sentence: &str) -> String {
    let escaped = spans(sentence).into_iter().map(|(is_code, part)| match is_code {
        true => format!("<code>{}</code>", xml(&part)),
        false => unlinked(&part).replace('`', "&#96;"),
    });
    escaped.collect()
}

/// HTML outside of an HTML block of Markdown, where punctuation would be emphasis, a link or a cell.
pub(crate) fn plain(html: &str) -> String {
    let escaped = html.chars().map(|c| match c {
        '*' | '_' | '[' | ']' | '|' | '~' | '\\' => format!("&#{};", u32::from(c)),
        c => c.to_string(),
    });
    escaped.collect()
}

/// Escapes text so that a service that renders Markdown finds no mention,
/// reference or link in it, by a zero-width space after whatever begins one.
fn unlinked(text: &str) -> String {
    const BLANK: &str = "&#8203;";
    let mut escaped = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let begins = ["://", "www.", "WWW.", "GH-", "gh-"];
        let word = begins.into_iter().find_map(|word| rest.strip_prefix(word).map(|_| word));
        let taken = word.map_or(c.len_utf8(), |word| if word == "://" { 1 } else { word.len() });
        let (now, next) = rest.split_at(taken);
        escaped += &xml(now);
        let refers = "#!~%$&^*".contains(c) && next.starts_with(|c: char| c.is_alphanumeric());
        if word.is_some() || c == '@' || refers {
            escaped += BLANK;
        }
        rest = next;
    }
    escaped
}

/// The message of a GitHub workflow command.
pub(crate) fn command_data(text: &str) -> String {
    text::clean(text).replace('%', "%25").replace('\n', "%0A")
}

/// A property of a GitHub workflow command.
pub(crate) fn command_property(text: &str) -> String {
    command_data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_code_whatever_they_hold() {
        let table = [
            ("wall_time", "`wall_time`"),
            ("@all", "`@all`"),
            ("a|b", "<code>a&#124;b</code>"),
            ("a\\|b", "<code>a&#92;&#124;b</code>"),
            ("``", "<code>&#96;&#96;</code>"),
            ("a\n| b", "<code>a &#124; b</code>"),
            (" a", "<code> a</code>"),
            ("", "<code></code>"),
            ("<b>&", "<code>&#60;b&#62;&#38;</code>"),
            ("\u{1b}[31m", "<code>&#92;u&#123;1b&#125;&#91;31m</code>"),
        ];
        for (name, expected) in table {
            assert_eq!(code(name), expected);
        }
    }

    #[test]
    fn units_cannot_break_a_table() {
        assert_eq!(quantity("1.2 MiB/s"), "1.2 MiB/s");
        assert_eq!(quantity("-"), "-");
        assert_eq!(quantity("1 a|b"), "<code>1 a&#124;b</code>");
        assert_eq!(quantity("1 @all"), "`1 @all`");
        assert_eq!(quantity("1.5 www.a.b"), "`1.5 www.a.b`");
        assert_eq!(quantity("1 GH-1"), "`1 GH-1`");
        assert_eq!(quantity("1.500 M req/s"), "1.500 M req/s");
    }

    #[test]
    fn sentences_mention_nobody() {
        let table = [
            (
                "`a` of `b<i>`: @all, see #1",
                "<code>a</code> of <code>b&lt;i&gt;</code>: @&#8203;all, see #&#8203;1",
            ),
            ("it's `open", "it&#39;s &#96;open"),
            ("a\n\n<!-- x", "a  &lt;!-- x"),
            ("`@all`", "<code>@all</code>"),
            ("https://a.b www.a.b", "https:&#8203;//a.b www.&#8203;a.b"),
            (
                "GH-1 a!1 ~b %c 5%, &d",
                "GH-&#8203;1 a!&#8203;1 ~&#8203;b %&#8203;c 5%, &amp;&#8203;d",
            ),
        ];
        for (sentence, expected) in table {
            assert_eq!(prose(sentence), expected);
        }
    }

    #[test]
    fn outside_of_a_block_nothing_is_emphasis_a_link_or_a_cell() {
        let escaped = plain(&prose("no `a*b*` here: [x](y), __z__, a|b, \\* and ~~c~~"));
        assert_eq!(
            escaped,
            "no <code>a&#42;b&#42;</code> here: &#91;x&#93;(y), &#95;&#95;z&#95;&#95;, a&#124;b, \
             &#92;&#42; and &#126;&#126;&#8203;c&#126;&#126;"
        );
    }

    #[test]
    fn a_workflow_command_stays_one() {
        // Also once the service has decoded it.
        assert_eq!(command_data("100%\n::error::x\r"), "100%25%0A\\u{3a}:error::x\\u{d}");
        assert_eq!(command_property("a,b: c"), "a%2Cb%3A c");
    }

    #[test]
    fn xml_has_no_characters_that_it_cannot_have() {
        assert_eq!(
            xml("<a b='\"'>&\u{0}\u{ffff}\u{7}"),
            "&lt;a b=&#39;&quot;&#39;&gt;&amp;\\u{0}\\u{ffff}\\u{7}"
        );
    }
}
