//! An object that scatters the heap before `main`, made once by each compiler.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Link;
use crate::exec::system::{Place, digest};

/// Its source, with [`NAMES`] in place of what the compiler calls these functions.
const SOURCE: &str = include_str!("constructor.rs.in");

/// In the source, and how the functions' names end. They are those of the global allocator,
/// whichever it is.
const NAMES: [(&str, &[u8]); 2] =
    [("RUST_ALLOC", b"__rust_alloc"), ("RUST_DEALLOC", b"__rust_dealloc")];

/// How the compiler is called.
const FLAGS: &str = "--edition=2018 --crate-name=cbdr_heap --crate-type=lib --emit=obj \
    --cap-lints=allow -Copt-level=2 -Cpanic=abort -Ccodegen-units=1 -Cdebuginfo=0 -Cstrip=none";

impl Link {
    /// The object for this executable, whose kept files are in the folder `links`. `objects` is the
    /// folder of all such objects, `version` that of the compiler, and `rustc` runs it with some
    /// arguments and returns whether it succeeded. `None` if that fails: the heap then stays as it
    /// is.
    pub(crate) fn heap_object(
        &self,
        links: &Path,
        objects: &Path,
        version: &str,
        rustc: impl Fn(Vec<OsString>) -> bool,
    ) -> Option<PathBuf> {
        // The target for which it was built is part of the path of its standard library.
        let mut folders = self.args.iter().filter_map(|arg| arg.split_once("/lib/rustlib/"));
        let target =
            folders.find_map(|(_, rest)| rest.split_once("/lib/")).map(|(target, _)| target);
        let source = NAMES.iter().fold(SOURCE.to_owned(), |source, (word, end)| {
            let name = self.name_of(links, end);
            source.replace(word, name.as_deref().unwrap_or(&format!("cbdr_no_{word}")))
        });
        let key = digest(format!("{version}\n{target:?}\n{FLAGS}\n{source}").as_bytes());
        let object = objects.join(format!("{}.o", &key[..32]));
        if object.is_file() {
            return Some(object);
        }
        let staging = tempfile::tempdir_in(objects).ok()?;
        let [from, to] = ["heap.rs", "heap.o"].map(|name| staging.path().join(name));
        std::fs::write(&from, source).ok()?;
        let mut args: Vec<OsString> = FLAGS.split(' ').map(OsString::from).collect();
        args.extend(target.map(|target| format!("--target={target}").into()));
        args.extend(["-o".into(), to.clone().into(), from.into()]);
        let made = rustc(args).then(|| std::fs::read(to).ok()).flatten()?;
        // Whole or not at all, whenever the machine is switched off.
        Place::find(&object).and_then(|place| place.replace(&made)).is_ok().then_some(object)
    }

    /// The name in the kept files of a function that rustc mangles in its own way. They have the
    /// smallest last: rustc writes an object that defines little else.
    fn name_of(&self, links: &Path, end: &[u8]) -> Option<String> {
        let mut objects: Vec<_> = self.kept().collect();
        objects.retain(|file| file.path.extension().is_some_and(|extension| extension == "o"));
        objects.sort_by_key(|file| file.bytes);
        objects.iter().find_map(|file| {
            let content = std::fs::read(links.join(&file.path)).ok()?;
            let name = content.split(|byte| *byte == 0).find(|name| name.ends_with(end))?;
            // It may share its place with the name of the section that it is alone in.
            let name = std::str::from_utf8(name).ok()?.rsplit('.').next()?;
            Some(name.to_owned())
        })
    }
}
