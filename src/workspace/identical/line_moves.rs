//! Where unchanged lines of changed sources are on the other side.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::locations::MovedLocation;
use super::moves::uses_places;
use crate::exec::system::digest;
use crate::model::side::Pair;
use crate::workspace::git::text_diff::equal_lines;

/// Where the unchanged lines of changed sources are. The sources are read on demand.
#[derive(Debug, Default)]
pub(crate) struct LineMoves {
    /// The worktrees.
    pub(crate) trees: Pair<PathBuf>,
    /// The folder in these from which the compiler names sources.
    pub(crate) workspace: PathBuf,
    /// The files in which the trees differ, from the roots of these.
    pub(crate) changed: Vec<String>,
    /// By the paths of the sources from the roots: from lines in the base to lines in the
    /// head.
    pub(crate) lines: OnceCell<BTreeMap<String, BTreeMap<u32, u32>>>,
}

impl LineMoves {
    /// Whether a location only moved with its line. Never if a source may use the
    /// locations of its code. Sources outside of the workspace are named by their paths,
    /// as in the base.
    pub(crate) fn explains(&self, location: &MovedLocation) -> bool {
        let ((base, column), (head, other_column)) = (location.base, location.head);
        let lines = self.lines();
        let source = Path::new(&location.source);
        let path = match source.strip_prefix(&self.trees.base) {
            Ok(inside) => inside.to_owned(),
            Err(_) => self.workspace.join(source),
        };
        let moved = path.to_str().and_then(|path| lines.get(path)?.get(&base));
        column == other_column && moved == Some(&head)
    }

    /// A digest of all that [`LineMoves::explains`] depends on.
    pub(crate) fn digest(&self) -> String {
        let all = (&self.trees.base, &self.workspace, self.lines());
        digest(format!("{all:?}").as_bytes())
    }

    fn lines(&self) -> &BTreeMap<String, BTreeMap<u32, u32>> {
        self.lines.get_or_init(|| self.read())
    }

    fn read(&self) -> BTreeMap<String, BTreeMap<u32, u32>> {
        if uses_places(&self.trees.head).unwrap_or(true) {
            return BTreeMap::new();
        }
        let sources = self.changed.iter().filter(|path| path.ends_with(".rs"));
        let lines = sources.filter_map(|path| {
            let texts = Pair::try_both(|side| std::fs::read_to_string(self.trees[side].join(path)));
            let Pair { base, head } = texts.ok()?;
            Some((path.clone(), equal_lines(&base, &head).ok()?))
        });
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::system::write;

    #[test]
    fn a_location_moves_with_a_line_that_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let trees = Pair { base: folder.path().join("base"), head: folder.path().join("head") };
        write(&trees.base.join("in/src/lib.rs"), "one\ntwo\nthree\nfour\n");
        write(&trees.head.join("in/src/lib.rs"), "new\none\n2\nthree\nfour\n");
        let moves = LineMoves {
            trees: trees.clone(),
            workspace: "in".into(),
            changed: vec!["in/src/lib.rs".into(), "in/gone.rs".into(), "README.md".into()],
            ..LineMoves::default()
        };
        let explains = |moves: &LineMoves, source: &str, base, head| {
            moves.explains(&MovedLocation { source: source.to_owned(), base, head })
        };
        let source = "src/lib.rs";
        assert!(explains(&moves, source, (1, 5), (2, 5)));
        assert!(explains(&moves, source, (4, 1), (5, 1)));
        assert!(!explains(&moves, source, (1, 5), (2, 6)), "another column");
        assert!(!explains(&moves, source, (2, 5), (3, 5)), "the line has changed");
        assert!(!explains(&moves, source, (1, 5), (3, 5)), "another line");
        assert!(!explains(&moves, "src/main.rs", (1, 5), (2, 5)), "another source");
        let absolute = trees.base.join("in/src/lib.rs");
        assert!(explains(&moves, absolute.to_str().unwrap(), (1, 5), (2, 5)));
        assert!(!explains(&moves, "in/src/lib.rs", (1, 5), (2, 5)), "as from the root");
        write(&trees.head.join("in/src/other.rs"), "fn f() -> u32 { line!() }\n");
        let moves = LineMoves { lines: OnceCell::new(), ..moves };
        assert!(!explains(&moves, source, (1, 5), (2, 5)), "a source asks for lines");
    }
}
