//! Whether two executables differ only in locations of code that has moved in its
//! sources without being changed.

use std::collections::BTreeMap;
use std::path::Path;

use super::code::{self, Place, asks_for_places};
use super::locations::MovedLocation;
use crate::error::Error;
use crate::model::side::Pair;
use crate::workspace::files::walk;

/// Files that may differ, since they contain no code. For others that are not Rust, it
/// is unknown what a build makes of them.
const TEXTS: [&str; 2] = ["md", "markdown"];

/// Where code has moved between the sides, if all of it is the same.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// By the names of the sources: from places in the base to places in the head. Empty
    /// where the code is not the same, or may do something with its places.
    sources: BTreeMap<String, BTreeMap<Place, Place>>,
}

impl Moves {
    /// Reads the sources among `changed`, the paths of all files in which the `trees` differ,
    /// each from the root of its tree. The compiler names sources by their paths from
    /// `workspace`, a folder in the trees.
    ///
    /// # Errors
    /// When a worktree can't be read.
    pub(crate) fn read(
        trees: &Pair<&Path>,
        workspace: &Path,
        changed: &[String],
    ) -> Result<Self, Error> {
        let mut sources = BTreeMap::new();
        for path in changed {
            let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
            if extension.is_some_and(|extension| TEXTS.contains(&extension)) {
                continue;
            }
            let text = |tree: &Path| std::fs::read_to_string(tree.join(path)).ok();
            let texts = text(trees.base).zip(text(trees.head));
            let texts = texts.filter(|_| extension == Some("rs"));
            let Some(moves) = texts.and_then(|(base, head)| code::moves(&base, &head)) else {
                return Ok(Moves::default());
            };
            if let Some(name) = Path::new(path).strip_prefix(workspace).ok().and_then(Path::to_str)
            {
                sources.insert(name.to_owned(), moves);
            }
        }
        match uses_places(trees.head)? {
            true => Ok(Moves::default()),
            false => Ok(Moves { sources }),
        }
    }

    /// Whether each location leads to the same character of code on both sides.
    pub(crate) fn explain(&self, locations: &[MovedLocation]) -> bool {
        locations.iter().all(|location| {
            let source = self.sources.get(&location.source);
            source.and_then(|moves| moves.get(&location.base)) == Some(&location.head)
        })
    }
}

/// Whether a source in a worktree may use source locations.
pub(super) fn uses_places(tree: &Path) -> Result<bool, Error> {
    for (path, about) in walk(tree, |path| path.ends_with(".git"))? {
        if !about.is_file() || path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(tree.join(&path));
        if text.is_ok_and(|text| asks_for_places(&text)) {
            return Ok(true);
        }
    }
    Ok(false)
}
