//! Where code has moved between the sides.
//!
//! A location in an executable is explained by its source: if both sides have the same code
//! there, each token of it is at one place on each side, however comments and blanks have
//! moved it. In other sources, the lines that did not change are known.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::code::{self, SourcePosition, asks_for_locations};
use super::locations::MovedLocation;
use crate::exec::system::digest;
use crate::model::side::Pair;
use crate::workspace::files::walk;
use crate::workspace::git::text_diff::equal_lines;

/// The suffixes of files that may differ between sides with the same code. For others that
/// are not Rust, it is unknown what a build makes of them.
const TEXTS: [&str; 2] = ["md", "markdown"];

/// The files that differ between the sides, and where their code has moved.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Moves {
    /// The worktrees, if the compiler names sources by the same paths in both.
    trees: Option<Pair<PathBuf>>,
    /// The folder in these from which the compiler names sources.
    workspace: PathBuf,
    /// The files in which the trees differ, from the roots of these.
    pub(crate) changed: Vec<String>,
    /// Read on demand.
    #[serde(skip)]
    sources: OnceCell<ChangedSources>,
}

/// What the sources that differ tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangedSources {
    /// By their paths from the roots of the trees.
    moves: BTreeMap<String, SourceMoves>,
    /// Whether nothing that differs is, or may become, code.
    are_same_code: bool,
    /// A digest of their texts, or of nothing where those explain nothing.
    digest: String,
}

#[derive(Clone, Debug)]
enum SourceMoves {
    /// Of the same code: from each token of the base's to that of the head's.
    Code(BTreeMap<SourcePosition, SourcePosition>),
    /// From each line of the base's that did not change to that of the head's.
    Lines(BTreeMap<u32, u32>),
}

impl Moves {
    pub(crate) fn new(
        trees: Option<Pair<PathBuf>>,
        workspace: PathBuf,
        changed: Vec<String>,
    ) -> Self {
        Moves { trees, workspace, changed, sources: OnceCell::new() }
    }

    /// Lines of one source in `workspace` that moved: no tree is read.
    #[cfg(test)]
    pub(crate) fn of_lines(workspace: &str, source: &str, lines: BTreeMap<u32, u32>) -> Self {
        let digest = format!("{lines:?}");
        let moves = BTreeMap::from([(source.to_owned(), SourceMoves::Lines(lines))]);
        let sources = ChangedSources { moves, digest, are_same_code: false };
        Moves { sources: OnceCell::from(sources), workspace: workspace.into(), ..Moves::default() }
    }

    /// Whether code has moved from the location in the base to that in the head. Never if a
    /// source may use the locations of its code.
    pub(crate) fn explains(&self, location: &MovedLocation) -> bool {
        let source = Path::new(&location.source);
        // Sources outside of the workspace are named by their full paths, those of the base.
        let root = self.trees.as_ref().map(|trees| &trees.base);
        let path = match root.and_then(|root| source.strip_prefix(root).ok()) {
            Some(inside) => inside.to_owned(),
            None => self.workspace.join(source),
        };
        let (base, head) = (location.base, location.head);
        match path.to_str().and_then(|path| self.sources().moves.get(path)) {
            Some(SourceMoves::Code(places)) => places.get(&base) == Some(&head),
            Some(SourceMoves::Lines(lines)) => {
                base.column == head.column && lines.get(&base.line) == Some(&head.line)
            }
            None => false,
        }
    }

    /// Whether both sides have the same code, and it has moved from each location in the base
    /// to that in the head.
    pub(crate) fn explain_all(&self, locations: &[MovedLocation]) -> bool {
        self.sources().are_same_code && locations.iter().all(|location| self.explains(location))
    }

    /// A digest of all that [`Moves::explains`] depends on.
    pub(crate) fn digest(&self) -> String {
        let root = self.trees.as_ref().map(|trees| &trees.base);
        digest(format!("{root:?} {:?} {}", self.workspace, self.sources().digest).as_bytes())
    }

    fn sources(&self) -> &ChangedSources {
        self.sources.get_or_init(|| match &self.trees {
            Some(trees) if !uses_locations(&trees.head) => {
                ChangedSources::read(trees, &self.changed)
            }
            _ => ChangedSources::default(),
        })
    }
}

impl ChangedSources {
    fn read(trees: &Pair<PathBuf>, changed: &[String]) -> Self {
        let mut sources = ChangedSources { are_same_code: true, ..ChangedSources::default() };
        let mut texts_read = String::new();
        for path in changed {
            let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
            if extension.is_some_and(|extension| TEXTS.contains(&extension)) {
                continue;
            }
            let texts = Pair::try_both(|side| std::fs::read_to_string(trees[side].join(path)));
            let moves = match (extension, texts) {
                (Some("rs"), Ok(Pair { base, head })) => {
                    let digests = [&base, &head].map(|text| digest(text.as_bytes()));
                    texts_read += &format!("{path:?} {digests:?}\n");
                    match code::moves(&base, &head) {
                        Some(places) => Some(SourceMoves::Code(places)),
                        None => equal_lines(&base, &head).ok().map(SourceMoves::Lines),
                    }
                }
                _ => None,
            };
            sources.are_same_code &= matches!(moves, Some(SourceMoves::Code(_)));
            sources.moves.extend(moves.map(|moves| (path.clone(), moves)));
        }
        sources.digest = digest(texts_read.as_bytes());
        sources
    }
}

/// Whether a source in a worktree may use source locations, or can't be read.
fn uses_locations(tree: &Path) -> bool {
    let Ok(found) = walk(tree, |path| path.ends_with(".git")) else { return true };
    let is_source = |path: &Path| path.extension().is_some_and(|extension| extension == "rs");
    let mut sources = found.iter().filter(|(path, about)| about.is_file() && is_source(path));
    sources.any(|(path, _)| {
        let text = std::fs::read_to_string(tree.join(path));
        text.is_ok_and(|text| asks_for_locations(&text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::system::write;

    struct Trees {
        folder: tempfile::TempDir,
    }

    impl Trees {
        fn new(base: &str, head: &str) -> Self {
            let trees = Trees { folder: tempfile::tempdir().unwrap() };
            for (side, text) in [("base", base), ("head", head)] {
                write(&trees.folder.path().join(side).join("in/src/lib.rs"), text);
            }
            trees
        }

        fn moves(&self, changed: &[&str]) -> Moves {
            let trees = Pair { base: "base", head: "head" }.map(|one| self.folder.path().join(one));
            let changed = changed.iter().map(|path| (*path).to_owned()).collect();
            Moves::new(Some(trees), "in".into(), changed)
        }
    }

    fn moved(source: &str, base: (u32, u32), head: (u32, u32)) -> MovedLocation {
        let [base, head] = [base, head].map(|(line, column)| SourcePosition { line, column });
        MovedLocation { source: source.to_owned(), base, head }
    }

    const SOURCE: &str = "src/lib.rs";

    #[test]
    fn in_edited_code_a_location_moves_with_a_line_that_is_the_same() {
        let trees = Trees::new("one\ntwo\nthree\nfour\n", "new\none\n2\nthree\nfour\n");
        let moves = trees.moves(&["in/src/lib.rs", "in/gone.rs", "README.md"]);
        let explains = |source: &str, base, head| moves.explains(&moved(source, base, head));
        assert!(explains(SOURCE, (1, 5), (2, 5)));
        assert!(explains(SOURCE, (4, 1), (5, 1)));
        assert!(!explains(SOURCE, (1, 5), (2, 6)), "another column");
        assert!(!explains(SOURCE, (2, 5), (3, 5)), "the line has changed");
        assert!(!explains(SOURCE, (1, 5), (3, 5)), "another line");
        assert!(!explains("src/main.rs", (1, 5), (2, 5)), "another source");
        let absolute = trees.folder.path().join("base/in/src/lib.rs");
        assert!(explains(absolute.to_str().unwrap(), (1, 5), (2, 5)));
        assert!(!explains("in/src/lib.rs", (1, 5), (2, 5)), "as from the root");
        assert!(!moves.explain_all(&[moved(SOURCE, (1, 5), (2, 5))]), "the code is not the same");
        write(&trees.folder.path().join("head/in/src/other.rs"), "fn f() -> u32 { line!() }\n");
        let moves = trees.moves(&["in/src/lib.rs"]);
        assert!(!moves.explains(&moved(SOURCE, (1, 5), (2, 5))), "a source asks for lines");
    }

    #[test]
    fn the_same_code_is_followed_through_comments_and_blanks_in_its_lines() {
        let trees = Trees::new("f();\ng(x[1]);\n", "f(); // first\n\n  g(x[1]); // then\n");
        let moves = trees.moves(&["in/src/lib.rs", "README.md"]);
        let location = [moved(SOURCE, (2, 3), (3, 5))];
        assert!(moves.explain_all(&location));
        assert!(!moves.explain_all(&[moved(SOURCE, (2, 3), (3, 3))]), "another character");
        assert!(moves.explain_all(&[]));
        let with_other = trees.moves(&["in/src/lib.rs", "build.txt"]);
        assert!(!with_other.explain_all(&location), "a build may read the other file");
        assert!(with_other.explains(&location[0]));
    }

    #[test]
    fn nothing_is_explained_where_sources_have_other_names_on_the_two_sides() {
        let moves = Moves::new(None, "in".into(), vec!["in/src/lib.rs".to_owned()]);
        assert!(!moves.explains(&moved(SOURCE, (1, 5), (2, 5))));
        assert!(!moves.explain_all(&[]));
    }
}
