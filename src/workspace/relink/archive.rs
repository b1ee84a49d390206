//! rustc's libraries without what linkers do not read.
//!
//! Nine tenths of a library may be the metadata from which rustc compiles what depends on
//! it. It is a member of its own, in which no symbol is defined.

use object::read::archive::ArchiveFile;

/// How an archive begins whose first member is the index: that says which member defines a
/// symbol, by a number, and then so many positions of members, all of four bytes with the highest
/// first.
const BEGIN: &[u8] = b"!<arch>\n/ ";
/// Where the index is, after its header.
const INDEX: usize = 8 + HEADER;
/// The length of a member's header, bytes.
const HEADER: usize = 60;
/// The member with the metadata.
const METADATA: &[u8] = b"lib.rmeta";

/// An archive without rustc's metadata. `None` if it has none, or its format is
/// unknown.
pub(super) fn without_metadata(archive: &[u8]) -> Option<Vec<u8>> {
    let parsed = ArchiveFile::parse(archive).ok().filter(|_| archive.starts_with(BEGIN))?;
    let members = parsed.members().collect::<Result<Vec<_>, _>>().ok()?;
    let metadata = members.iter().find(|member| member.name() == METADATA)?;
    let (start, length) = metadata.file_range();
    let (start, length) = (usize::try_from(start).ok()?, usize::try_from(length).ok()?);
    // The next one begins at an even position.
    let metadata = start - HEADER..(start + length).next_multiple_of(2);
    let mut kept = archive[..metadata.start].to_vec();
    let number = |at: usize| {
        let bytes = archive[..metadata.start].get(at..)?;
        Some(u32::from_be_bytes(*bytes.first_chunk()?) as usize)
    };
    for symbol in 1..=number(INDEX)? {
        let at = INDEX + 4 * symbol;
        let position = number(at)?;
        if metadata.contains(&position) {
            return None;
        }
        if position >= metadata.end {
            let position = u32::try_from(position - metadata.len()).ok()?;
            kept[at..at + 4].copy_from_slice(&position.to_be_bytes());
        }
    }
    kept.extend_from_slice(archive.get(metadata.end..)?);
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAGIC: &[u8] = b"!<arch>\n";

    fn member(name: &str, content: &[u8]) -> Vec<u8> {
        let fields =
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, content.len());
        assert_eq!(fields.len(), HEADER);
        let end: &[u8] = if content.len() % 2 == 1 { b"\n" } else { b"" };
        [fields.as_bytes(), content, end].concat()
    }

    fn archive(members: &[Vec<u8>]) -> Vec<u8> {
        [MAGIC, &members.concat()].concat()
    }

    /// An index of symbols in the members at these positions.
    fn index(positions: &[u32]) -> Vec<u8> {
        let numbers = std::iter::once(positions.len() as u32).chain(positions.iter().copied());
        let mut content: Vec<u8> = numbers.flat_map(u32::to_be_bytes).collect();
        content.extend(positions.iter().flat_map(|_| *b"f\0"));
        member("/", &content)
    }

    #[test]
    fn the_metadata_goes_and_the_index_leads_to_the_same_members() {
        let (one, metadata, two) = (member("1.o/", b"one"), member("lib.rmeta/", b"abc"), "two");
        let two = member("2.o/", two.as_bytes());
        let start = (MAGIC.len() + index(&[0, 0]).len()) as u32;
        let second = start + one.len() as u32;
        let third = second + metadata.len() as u32;
        let whole = archive(&[index(&[start, third]), one.clone(), metadata.clone(), two.clone()]);
        let expected = archive(&[index(&[start, second]), one.clone(), two.clone()]);
        assert!(without_metadata(&whole) == Some(expected.clone()));
        assert_eq!(without_metadata(&expected), None, "there is none left");
        let defines = archive(&[index(&[second, third]), one, metadata, two]);
        assert_eq!(without_metadata(&defines), None, "it defines a symbol");
    }

    #[test]
    fn what_is_no_whole_archive_stays_as_it_is() {
        let whole = archive(&[index(&[]), member("lib.rmeta/", b"abc"), member("1.o/", b"one")]);
        assert!(without_metadata(&whole).is_some());
        for length in 0..whole.len() {
            let cut = without_metadata(&whole[..length]);
            // After a member, it is whole again.
            let is_whole = |cut: Vec<u8>| {
                let parsed = ArchiveFile::parse(&*cut);
                parsed.is_ok_and(|archive| archive.members().all(|member| member.is_ok()))
            };
            assert!(cut.is_none_or(is_whole), "{length}");
        }
        let huge = archive(&[index(&[]), member("lib.rmeta/", b"")]);
        let text =
            String::from_utf8_lossy(&huge).replace("644     0  ", "644     18446744073709551615");
        assert_eq!(without_metadata(text.as_bytes()), None);
        assert_eq!(without_metadata(&archive(&[member("lib.rmeta/", b"")])), None);
        assert_eq!(without_metadata(b""), None);
    }
}
