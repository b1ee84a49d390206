//! Shortens names that are too long for their column, by a part in the middle.

use std::collections::BTreeMap;

use super::width::columns;

/// The second column of a wide character.
const SECOND: char = '\0';

/// A name with a character for each column, so that cutting it is cutting columns.
type Letters = Vec<char>;

/// Names of at most `most` columns each. What is too long loses its middle, or another part
/// if that is where it differs from the name most like it. Names that would still look the same
/// keep the part in which they differ, if there is room for it.
pub(crate) fn shortened(names: &[&str], most: usize) -> Vec<String> {
    let all: Vec<Letters> = names.iter().map(|name| in_columns(name)).collect();
    match all.iter().all(|name| name.len() <= most) {
        true => names.iter().map(|name| (*name).to_owned()).collect(),
        false => shortened_by(&all, &nearest(&all), most).iter().map(|name| text(name)).collect(),
    }
}

fn in_columns(name: &str) -> Letters {
    let column = |c: char| match columns(c.encode_utf8(&mut [0; 4])) {
        2.. => vec![c, SECOND],
        _ => vec![c],
    };
    name.chars().flat_map(column).collect()
}

/// The text of a name. Half of a wide character is a blank.
fn text(name: &[char]) -> String {
    let mut text = String::new();
    let mut rest = name.iter().copied().peekable();
    while let Some(c) = rest.next() {
        let is_wide = c != SECOND && columns(c.encode_utf8(&mut [0; 4])) > 1;
        let is_half = c == SECOND || is_wide && rest.next_if_eq(&SECOND).is_none();
        text.push(if is_half { ' ' } else { c });
    }
    text
}

/// The smallest width of at least `least` characters at which all of these names can still
/// be distinguished.
pub(crate) fn distinct_width(names: &[&str], least: usize) -> usize {
    let names: Vec<Letters> = names.iter().map(|name| in_columns(name)).collect();
    let nearest = nearest(&names);
    let longest = names.iter().map(Vec::len).max().unwrap_or(0);
    let are_distinct =
        |width: &usize| alike(&names, &shortened_by(&names, &nearest, *width)).is_empty();
    (least..longest).find(are_distinct).unwrap_or(longest)
}

/// Where each name differs from the one most like it; `None` if there is no other.
fn nearest(names: &[Letters]) -> Vec<Option<CommonEnds>> {
    let nearest = |name: &Letters| {
        let others = names.iter().filter(|other| *other != name);
        let differences = others.map(|other| CommonEnds::of(&[name, other]));
        differences.max_by_key(|difference| difference.before + difference.after)
    };
    names.iter().map(nearest).collect()
}

fn shortened_by(names: &[Letters], nearest: &[Option<CommonEnds>], most: usize) -> Vec<Letters> {
    let shortened = |(name, nearest): (&Letters, &Option<CommonEnds>)| {
        let nearest = nearest.filter(|_| name.len() > most);
        let kept = nearest.and_then(|difference| difference.kept(name, most));
        kept.unwrap_or_else(|| cut(name, most, most / 2))
    };
    let mut short: Vec<Letters> = names.iter().zip(nearest).map(shortened).collect();
    for alike in alike(names, &short) {
        for (name, better) in alike.iter().zip(told_apart(&alike, most).into_iter().flatten()) {
            for (_, short) in names.iter().zip(&mut short).filter(|(other, _)| *other == name) {
                short.clone_from(&better);
            }
        }
    }
    short
}

/// Groups of different names that look the same when shortened.
fn alike<'a>(names: &'a [Letters], short: &[Letters]) -> Vec<Vec<&'a [char]>> {
    let mut groups: BTreeMap<&Letters, Vec<&[char]>> = BTreeMap::new();
    for (name, short) in names.iter().zip(short) {
        let group = groups.entry(short).or_default();
        if !group.contains(&name.as_slice()) {
            group.push(name);
        }
    }
    groups.into_values().filter(|group| group.len() > 1).collect()
}

fn is_distinct<T: PartialEq>(texts: &[T]) -> bool {
    texts.iter().enumerate().all(|(at, text)| !texts[..at].contains(text))
}

/// A name of at most `most` characters: what is too long is replaced by an ellipsis after its
/// first `begin` characters.
fn cut(name: &[char], most: usize, begin: usize) -> Letters {
    let end = most.saturating_sub(1).saturating_sub(begin);
    match name.len() <= most {
        true => name.to_vec(),
        false => [&name[..begin], &['…'], &name[name.len() - end..]].concat(),
    }
}

/// The positions where a name may be cut, starting near the middle.
fn begins(most: usize) -> impl Iterator<Item = usize> {
    let middle = most / 2;
    let begins = (0..most).flat_map(move |far| [middle + far, middle.saturating_sub(far)]);
    begins.filter(move |begin| *begin < most)
}

/// Distinct short forms of different names, of at most `most` characters each; `None` if
/// there is no room for what differs.
fn told_apart(names: &[&[char]], most: usize) -> Option<Vec<Letters>> {
    let difference = CommonEnds::of(names);
    let kept = names.iter().map(|name| difference.kept(name, most)).collect::<Option<_>>();
    let cut = |begin: usize| names.iter().map(|name| cut(name, most, begin)).collect();
    let around = || names.iter().map(|name| difference.around(name, most)).collect();
    kept.into_iter()
        .chain(begins(most).map(cut))
        .chain(std::iter::once_with(around))
        .find(|short: &Vec<Letters>| is_distinct(short))
}

/// The part in which names differ.
#[derive(Clone, Copy, Debug)]
struct CommonEnds {
    /// The number of common characters before it.
    before: usize,
    /// The number of common characters after it.
    after: usize,
}

impl CommonEnds {
    fn of(names: &[&[char]]) -> Self {
        let same = |pairs: &mut dyn Iterator<Item = (&char, &char)>| {
            pairs.take_while(|(one, other)| one == other).count()
        };
        let both = |name: &&[char]| same(&mut names[0].iter().zip(*name));
        let before = names.iter().map(both).min().unwrap_or(0);
        let both = |name: &&[char]| {
            same(&mut names[0].iter().rev().zip(name.iter().rev())).min(name.len() - before)
        };
        CommonEnds { before, after: names.iter().map(both).min().unwrap_or(0) }
    }

    /// Extended to whole words.
    fn in_words(self, name: &[char]) -> Self {
        let is_word = |c: &&char| c.is_alphanumeric();
        let begun = name[..self.before].iter().rev().take_while(is_word).count();
        let ended = name[name.len() - self.after..].iter().take_while(is_word).count();
        CommonEnds { before: self.before - begun, after: self.after - ended }
    }

    /// A name with this part of it, in whole words if there is room for them.
    fn kept(self, name: &[char], most: usize) -> Option<Letters> {
        [self.in_words(name), self].into_iter().find_map(|part| {
            let length = name.len() - part.before - part.after;
            let is_kept = |begin: &usize| {
                let end = most.saturating_sub(1).saturating_sub(*begin);
                part.before + length <= *begin || length + part.after <= end
            };
            match begins(most).find(is_kept) {
                Some(begin) => Some(cut(name, most, begin)),
                None => (length + 2 <= most).then(|| part.around(name, most)),
            }
        })
    }

    /// A name with an ellipsis before and after this part of it.
    fn around(self, name: &[char], most: usize) -> Letters {
        if name.len() <= most {
            return name.to_vec();
        }
        let differs = &name[self.before..name.len() - self.after];
        let differs = &differs[..differs.len().min(most.saturating_sub(2))];
        let room = most.saturating_sub(2 + differs.len());
        let begin = self.before.min(room.div_ceil(2));
        let end = self.after.min(room - begin);
        [&name[..begin], &['…'], differs, &['…'], &name[name.len() - end..]].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_loses_its_middle() {
        let names = ["a::very::long::path::of_a_benchmark", "short"];
        assert_eq!(shortened(&names, 16), ["a::very:…nchmark", "short"]);
        assert_eq!(shortened(&names, 35), names);
        assert_eq!(shortened(&names, 1), ["…", "…"]);
        assert_eq!(shortened(&names, 0), ["…", "…"]);
    }

    #[test]
    fn a_wide_character_takes_two_columns_and_is_never_halved() {
        let names = ["解析_大きな文書_単一スレッド", "🦀 parse"];
        for width in 1..30 {
            assert!(shortened(&names, width).iter().all(|name| columns(name) <= width), "{width}");
        }
        assert_eq!(shortened(&names, 13), ["解析_ …レッド", "🦀 parse"]);
        assert_eq!(distinct_width(&["解析一", "解析二"], 2), 3);
    }

    #[test]
    fn names_that_would_look_the_same_keep_the_part_in_which_they_differ() {
        let near_the_end = ["group/parse/1024/threads", "group/parse/4096/threads"];
        assert_eq!(shortened(&near_the_end, 14), ["g…1024/threads", "g…4096/threads"]);
        let near_the_beginning = ["group/de/of_a_large_document", "group/ser/of_a_large_document"];
        assert_eq!(shortened(&near_the_beginning, 14), ["group/de…ument", "group/ser…ment"]);
        let in_the_middle = [
            "group_of_parsers/variant=compact/size=1024/threads=1",
            "group_of_parsers/variant=verbose/size=1024/threads=1",
        ];
        assert_eq!(
            shortened(&in_the_middle, 24),
            ["group_of…compact…reads=1", "group_of…verbose…reads=1"]
        );
        // One is a prefix of the other.
        let names = ["a_long_name_of_a_group/sum", "a_long_name_of_a_group/sum_sum"];
        let short = shortened(&names, 12);
        assert_ne!(short[0], short[1]);
    }

    #[test]
    fn the_same_name_is_shortened_in_the_same_way_everywhere() {
        let [one, other] = ["group/parse/1024/threads", "group/parse/4096/threads"];
        let short = shortened(&[one, one, other], 14);
        assert_eq!(short[0], short[1]);
        assert_ne!(short[0], short[2]);
    }

    #[test]
    fn names_are_no_longer_than_there_is_room_for_and_differ_from_some_width_on() {
        let names: Vec<String> = (0..3)
            .flat_map(|one| (0..9).map(move |other| (one, other)))
            .map(|(one, other)| format!("module::group_{one}/with_a_long_name/size={other}/unit"))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for width in 1..60 {
            assert!(shortened(&names, width).iter().all(|name| name.chars().count() <= width));
        }
        let width = distinct_width(&names, 8);
        assert!(width < 44, "{width}");
        assert!(is_distinct(&shortened(&names, width)));
        assert_eq!(distinct_width(&["one", "other"], 8), 5);
    }
}
