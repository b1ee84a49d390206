//! Makes text from other sources harmless for a terminal and for the log of a CI service.

/// The text without control characters and without commands to a CI service.
pub(crate) fn clean(text: &str) -> String {
    let visible = visible(text);
    let lines = visible.split('\n').map(|line| {
        // GitHub obeys `::` at the beginning of a line, also after blanks.
        let rest = line.trim_start();
        match rest.strip_prefix("::") {
            Some(after) => format!("{}\\u{{3a}}:{after}", &line[..line.len() - rest.len()]),
            None => line.to_owned(),
        }
    });
    let lines: Vec<String> = lines.collect();
    unbracketed(&lines.join("\n"))
}

/// [`clean`] text on one line: line breaks and tabs become spaces.
pub(crate) fn line(text: &str) -> String {
    clean(&text.replace(['\n', '\t'], " "))
}

/// The text with the second `#` of each `##WORD[` shown as a number. Commands of other
/// services (`##vso[`, `##teamcity[`) and GitHub's old ones (`##[`) begin like this, and
/// are obeyed anywhere in a line.
fn unbracketed(text: &str) -> String {
    let mut parts = text.split("##");
    let mut done = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let word = part.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        done += if word.starts_with('[') { "#\\u{23}" } else { "##" };
        done += part;
    }
    done
}

/// The text with control characters and invisible characters shown as numbers. Line breaks
/// and tabs are kept.
fn visible(text: &str) -> String {
    let shown = |c: char| match is_hidden(c) && !matches!(c, '\n' | '\t') {
        true => c.escape_unicode().to_string(),
        false => c.to_string(),
    };
    text.chars().map(shown).collect()
}

/// Whether a character is invisible: control characters (ISO 6429), characters that change
/// the direction of text or format it in other ways (Unicode's Cf), line breaks other than
/// `\n`, zero-width spaces, tags, and code points that are not characters.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_cannot_command_the_terminal() {
        assert_eq!(clean("a\u{1b}[31mb\rc\u{202e}d"), "a\\u{1b}[31mb\\u{d}c\\u{202e}d");
        assert_eq!(clean("\u{9b}2J\u{7f}"), "\\u{9b}2J\\u{7f}");
    }

    #[test]
    fn what_nobody_sees_is_shown() {
        for c in "\u{ad}\u{61c}\u{200b}\u{200d}\u{2028}\u{2060}\u{feff}\u{e0041}".chars() {
            assert_eq!(clean(&format!("a{c}b")), format!("a{}b", c.escape_unicode()));
        }
        let plain = "µ ± │━● 漢字 e\u{301} ⚠\u{fe0f} 🔴";
        assert_eq!(clean(plain), plain);
    }

    #[test]
    fn text_of_others_gives_no_command_to_the_service_that_reads_the_log() {
        let table = [
            ("::set-env name=A::b", "\\u{3a}:set-env name=A::b"),
            ("a::b\n \t::c::\n", "a::b\n \t\\u{3a}:c::\n"),
            ("x ##[group]", "x #\\u{23}[group]"),
            ("##vso[task.setvariable]", "#\\u{23}vso[task.setvariable]"),
            ("####teamcity[a]##[b", "###\\u{23}teamcity[a]#\\u{23}[b"),
            ("# a ## b[c", "# a ## b[c"),
        ];
        for (text, expected) in table {
            assert_eq!(clean(text), expected);
        }
    }

    #[test]
    fn a_line_is_one() {
        assert_eq!(line("a\n::b\t\r"), "a ::b \\u{d}");
        assert_eq!(line("\n::b"), " \\u{3a}:b");
    }
}
