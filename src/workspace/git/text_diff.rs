//! Differences between two texts, line by line.

use std::collections::BTreeMap;

use git2::{DiffOptions, Patch};

use super::Error;

/// More lines of context than a text has.
const ALL: u32 = 1 << 29;

/// The numbers of the lines that are the same in both texts, from 1: from lines of `old` to
/// lines of `new`.
///
/// # Errors
/// If libgit2 cannot compare the texts (each may have at most 4 GiB).
pub(crate) fn equal_lines(old: &str, new: &str) -> Result<BTreeMap<u32, u32>, Error> {
    let read = || -> Result<BTreeMap<u32, u32>, git2::Error> {
        let patch = compare(old, new, ALL)?;
        if patch.num_hunks() == 0 {
            return Ok((1..).zip(old.lines()).map(|(number, _)| (number, number)).collect());
        }
        let mut equal = BTreeMap::new();
        for number in 0..patch.num_lines_in_hunk(0)? {
            let line = patch.line_in_hunk(0, number)?;
            let numbers = line.old_lineno().zip(line.new_lineno());
            equal.extend(numbers.filter(|_| line.origin() == ' '));
        }
        Ok(equal)
    };
    read().map_err(Error::git("compare", "two texts"))
}

/// The hunks of a patch from `old` to `new`, each with three lines of context, as after the
/// names of the files in a unified diff. Empty if the texts are the same.
///
/// # Errors
/// As of [`equal_lines`].
pub fn unified(old: &str, new: &str) -> Result<String, Error> {
    let read = || -> Result<String, git2::Error> {
        let text = compare(old, new, 3)?.to_buf()?;
        let text = text.as_str().unwrap_or_default();
        // Before the first one are the names of the files.
        Ok(text.find("@@ ").map(|first| text[first..].to_owned()).unwrap_or_default())
    };
    read().map_err(Error::git("compare", "two texts"))
}

fn compare<'t>(old: &'t str, new: &'t str, context: u32) -> Result<Patch<'t>, git2::Error> {
    let mut options = DiffOptions::new();
    options.context_lines(context).interhunk_lines(0).force_text(true);
    Patch::from_buffers(old.as_bytes(), None, new.as_bytes(), None, Some(&mut options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(old: &str, new: &str) -> Vec<(u32, u32)> {
        equal_lines(old, new).unwrap().into_iter().collect()
    }

    #[test]
    fn equal_lines_stand_where_insertions_and_deletions_moved_them() {
        assert_eq!(pairs("", ""), []);
        assert_eq!(pairs("a\nb\n", "a\nb\n"), [(1, 1), (2, 2)]);
        assert_eq!(pairs("a\nb\nc\n", "new\na\nB\nc\nd\n"), [(1, 2), (3, 4)]);
        assert_eq!(pairs("a\nb\nc\nd", "c\nd"), [(3, 1), (4, 2)]);
        assert_eq!(pairs("a\nb\n", ""), []);
        assert_eq!(pairs("", "a\n"), []);
        assert_eq!(pairs("a\nb", "a\nb\n"), [(1, 1)], "the end of the line differs");
        assert_eq!(pairs("a\nz\0\n", "b\na\nz\0\n"), [(1, 2), (2, 3)], "as of text");
    }

    #[test]
    fn a_unified_diff_begins_with_its_first_hunk() {
        assert_eq!(unified("a\n", "a\n").unwrap(), "");
        assert_eq!(unified("a\nb\n", "a\nc\n").unwrap(), "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert_eq!(unified("", "a\n").unwrap(), "@@ -0,0 +1 @@\n+a\n");
        let ends = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n";
        assert_eq!(unified("a", "a\n").unwrap(), ends);
    }
}
