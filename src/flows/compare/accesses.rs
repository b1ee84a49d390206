//! Whether what a run accessed is the same on both sides.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::exec::execution::is_volatile;
use crate::exec::process::trace::{Access, Watched};
use crate::exec::program::Program;
use crate::exec::system::{digest_file, replace_bytes};
use crate::model::{Pair, Side};
use crate::workspace::cache::TREE;
use crate::workspace::{SameRun, names_package};

/// The folders of the two sides, and what is known to differ in them.
pub(super) struct Folders<'a> {
    /// The repository's part of the cache.
    cache: PathBuf,
    trees: Pair<PathBuf>,
    /// The folders with what cargo built, where that is known.
    built: Pair<Option<PathBuf>>,
    /// The folders of the sides, whose paths may be part of what was built.
    homes: Pair<PathBuf>,
    /// The folders in which the runs have their own files.
    own: Pair<PathBuf>,
    /// The files that differ between the commits, relative to the root of the repository.
    pub(super) changed: &'a [String],
    /// The executables, if they are equal in all that is loaded.
    equal: Option<Pair<PathBuf>>,
    /// How the runs differ.
    run: SameRun,
}

impl<'a> Folders<'a> {
    /// Those of two programs that are run in the folders `own`.
    pub(super) fn of(
        programs: &Pair<Program>,
        own: Pair<PathBuf>,
        changed: &'a [String],
        run: &SameRun,
    ) -> Option<Self> {
        let homes = Pair::try_both(|side| programs[side].home.canonicalize()).ok()?;
        let built = Pair::both(|side| {
            let Program { executable, home, .. } = &programs[side];
            let folder = executable.as_ref()?.strip_prefix(home).ok()?.iter().next()?;
            home.join(folder).canonicalize().ok()
        });
        Some(Folders {
            cache: homes.head.parent()?.to_owned(),
            trees: homes.as_ref().map(|home| home.join(TREE)),
            built,
            homes,
            own: Pair::try_both(|side| own[side].canonicalize()).ok()?,
            changed,
            equal: None,
            run: run.clone(),
        })
    }

    /// The same, of executables that are equal in all that is loaded.
    pub(super) fn of_equal(self, programs: &Pair<Program>) -> Self {
        let executable = |side: Side| programs[side].executable.as_deref()?.canonicalize().ok();
        Folders { equal: Pair::try_both(|side| executable(side).ok_or(())).ok(), ..self }
    }

    /// Checks that what the two runs accessed is the same. Returns the files and folders of the
    /// worktrees among that.
    ///
    /// # Errors
    /// What is not the same, or not known to be, as the end of a sentence about the program.
    pub(super) fn check(&self, watched: Pair<&Watched>) -> Result<BTreeSet<String>, String> {
        let mut opened = BTreeSet::new();
        for side in Side::BOTH {
            let Watched { unseen, accessed, executed, .. } = watched[side];
            if let Some(unseen) = unseen {
                return Err(unseen.clone());
            }
            self.check_package(watched[side])?;
            for (path, access) in accessed {
                self.check_access(side, path, *access)?;
                let inside = path.strip_prefix(&self.trees[side]).ok();
                let inside = inside.filter(|_| *access > Access::Passed);
                opened.extend(inside.map(|inside| inside.display().to_string()));
            }
            let is_own = |path: &PathBuf| self.equal.as_ref().is_some_and(|own| own[side] == *path);
            for program in executed.iter().filter(|program| !is_own(program)) {
                if !program.is_file() {
                    return Err(format!(
                        "it runs `{}`, a program without a file",
                        program.display()
                    ));
                }
                self.check_access(side, program, Access::Used)?;
            }
        }
        // The same program, run in the same way, goes elsewhere: what it finds there may depend
        // on what an earlier run has left.
        let outside = watched.map(|watched| self.outside(watched));
        match outside.base.symmetric_difference(&outside.head).next() {
            Some(path) => Err(format!("only one side opens `{}`", path.display())),
            None => Ok(opened),
        }
    }

    /// The files that were there before, outside of the cache.
    fn outside<'w>(&self, watched: &'w Watched) -> BTreeSet<&'w Path> {
        let used = watched.accessed.iter().filter(|(_, access)| **access > Access::Passed);
        let paths = used.map(|(path, _)| path.as_path());
        paths.filter(|path| !path.starts_with(&self.cache) && !is_volatile(path)).collect()
    }

    /// Checks that a run does not know the names of cargo's variables about the package, if these
    /// differ: neither from a program that it has started nor from a file.
    fn check_package(&self, watched: &Watched) -> Result<(), String> {
        if !self.run.is_other_package {
            return Ok(());
        }
        let used = watched.accessed.iter().filter(|(_, access)| **access == Access::Used);
        let files = used.map(|(path, _)| path).chain(&watched.executed);
        let has_all = |path: &Path| path.starts_with("/proc") && path.ends_with("environ");
        let mut named =
            files.filter(|path| path.is_file() && (has_all(path) || names_package(path)));
        match named.next() {
            Some(path) => Err(format!(
                "it opens `{}`, which contains the names of cargo's variables for the package, \
                 and their values differ",
                path.display()
            )),
            None => Ok(()),
        }
    }

    /// Checks an access in a worktree to `path`, which is `name` there and has a counterpart.
    fn check_in_tree(
        &self,
        name: &str,
        [path, other]: [&Path; 2],
        access: Access,
    ) -> Result<(), String> {
        // A missing folder is there on the other side if that has files in it.
        let is_changed = || {
            let mut changed = self.changed.iter().map(Path::new);
            changed.any(|path| match access {
                Access::Absent => path.starts_with(name),
                _ => path == Path::new(name),
            })
        };
        let shown = if name.is_empty() { "." } else { name };
        let differs = || Err(format!("it opens `{shown}`, which differs"));
        match access {
            Access::Moved => Err(format!("it gives the folder `{name}` another name")),
            Access::Absent | Access::Used if is_changed() => differs(),
            _ if Path::new(name).starts_with(".git") => {
                Err("it reads the git repository around it".to_owned())
            }
            Access::Absent => Ok(()),
            _ if is_same(path, other, access, None) => Ok(()),
            Access::Listed => {
                Err(format!("it lists the folder `{name}`, in which files were added or removed"))
            }
            Access::Passed | Access::Used => differs(),
        }
    }

    /// Checks that something that a side accessed is the same on the other one. It needs not
    /// be, if that side would access it, too, as something that is there: it is then checked
    /// for that side.
    fn check_access(&self, side: Side, path: &Path, access: Access) -> Result<(), String> {
        if !path.starts_with(&self.cache) || path.starts_with(&self.own[side]) {
            return Ok(());
        }
        let shown = |path: &Path| path.display().to_string();
        if let Ok(inside) = path.strip_prefix(&self.trees[side]) {
            let other = self.trees[side.other()].join(inside);
            return self.check_in_tree(&shown(inside), [path, &other], access);
        }
        // There is a link to the folder with what was built.
        if access <= Access::Passed || path.parent() == Some(&self.homes[side]) && path.is_symlink()
        {
            return Ok(());
        }
        let of_build = self.built.as_ref().map(Option::as_deref);
        let inside = of_build[side].and_then(|own| path.strip_prefix(own).ok());
        let Some((inside, other)) = inside.zip(of_build[side.other()]) else {
            return Err(format!("it opens `{}`, which belongs to no worktree", shown(path)));
        };
        // What has its name on the other side may be left from an earlier build.
        let is_renamed =
            inside.iter().any(|name| self.run.renamed.contains(&*name.to_string_lossy()));
        match !is_renamed && is_same(path, &other.join(inside), access, Some(&self.homes)) {
            true => Ok(()),
            false => Err(format!("it opens `{}`, which was built and differs", shown(inside))),
        }
    }
}

/// Whether something is the same as its counterpart on the other side, apart from the paths
/// of the `homes`.
fn is_same(path: &Path, other: &Path, access: Access, homes: Option<&Pair<PathBuf>>) -> bool {
    let (about, others) = match (path.symlink_metadata(), other.symlink_metadata()) {
        (Ok(about), Ok(others)) => (about, others),
        // A run has removed both, and what was in a file is not known any more.
        (Err(_), Err(_)) => return access == Access::Passed,
        _ => return false,
    };
    if about.file_type() != others.file_type() {
        return false;
    }
    if about.is_dir() {
        let [one, other] = [path, other].map(names);
        let folders = |all: &Option<Names>| {
            all.as_ref().map(|all| all.iter().filter(|(_, is_folder)| *is_folder).count())
        };
        // Its number of links is that of the folders in it. Some file systems show in its length
        // how many entries it has.
        let looks_alike = about.len() == others.len()
            && about.permissions() == others.permissions()
            && folders(&one) == folders(&other);
        return if access == Access::Passed { looks_alike } else { one == other };
    }
    if about.is_symlink() {
        return std::fs::read_link(path).ok() == std::fs::read_link(other).ok();
    }
    about.is_file()
        && about.len() == others.len()
        && about.permissions() == others.permissions()
        && (digest_file(path).is_ok_and(|one| digest_file(other).is_ok_and(|two| one == two))
            || homes.is_some_and(|homes| has_same_but_for(path, other, homes)))
}

/// The names in a folder, each with whether it is a folder.
type Names = BTreeSet<(OsString, bool)>;

fn names(folder: &Path) -> Option<Names> {
    let entries = folder.read_dir().ok()?.map(|entry| {
        let entry = entry.ok()?;
        Some((entry.file_name(), entry.file_type().ok()?.is_dir()))
    });
    entries.collect()
}

/// Whether two files, of equal length, are equal but for the paths of the sides.
fn has_same_but_for(path: &Path, other: &Path, homes: &Pair<PathBuf>) -> bool {
    let homes = homes.as_ref().map(|home| home.as_os_str().as_encoded_bytes());
    let read = |path: &Path| {
        let mut bytes = std::fs::read(path).ok()?;
        replace_bytes(&mut bytes, homes.head, homes.base);
        Some(bytes)
    };
    homes.base.len() == homes.head.len() && read(path).is_some_and(|one| read(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::system::{relink, write};

    /// A cache with both sides, in which `make` has made more in the trees, and in what was
    /// built.
    struct Cache {
        folder: tempfile::TempDir,
        programs: Pair<Program>,
        changed: Vec<String>,
    }

    impl Cache {
        fn new(changed: &[&str]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let programs = Pair::both(|side| {
                let home = folder.path().join(side.name());
                let built = folder.path().join("builds").join(side.name());
                write(&home.join("tree/same/file"), "same");
                write(&home.join("tree/.git"), side.name());
                write(&home.join("own/out"), side.name());
                write(&built.join("deps/work"), &format!("work of the {side}"));
                write(&built.join("out/text"), &format!("{} and more", home.display()));
                relink(&built, &home.join("t-1")).unwrap();
                Program::of_test(&home.join("t-1/deps/work"), &home)
            });
            let changed = changed.iter().map(|path| (*path).to_owned()).collect();
            Cache { folder, programs, changed }
        }

        fn path(&self, path: &str) -> PathBuf {
            self.folder.path().canonicalize().unwrap().join(path)
        }

        fn tree(&self, side: Side, path: &str) -> PathBuf {
            self.path(side.name()).join(TREE).join(path)
        }

        fn folders(&self, run: &SameRun) -> Folders<'_> {
            let own = self.programs.as_ref().map(|program| program.home.join("own"));
            Folders::of(&self.programs, own, &self.changed, run).unwrap()
        }

        /// What is found out about an access of the base.
        fn why(&self, path: &Path, access: Access) -> Option<String> {
            self.folders(&SameRun::default()).check_access(Side::Base, path, access).err()
        }
    }

    use Access::{Absent, Listed, Moved, Passed, Used};

    #[test]
    fn an_access_to_the_tree_is_one_to_a_file_that_differs_or_does_not() {
        let cache = Cache::new(&["changed", "gone/new"]);
        for (name, base, head) in [
            ("changed", "a", "a"),
            ("bytes", "ab", "ac"),
            ("length", "a", "ab"),
            ("mode", "a", "a"),
            ("deep/file", "a", "b"),
            ("more/one", "", ""),
        ] {
            write(&cache.tree(Side::Base, name), base);
            write(&cache.tree(Side::Head, name), head);
        }
        let path = cache.tree(Side::Head, "mode");
        let mut permissions = path.metadata().unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(path, permissions).unwrap();
        write(&cache.tree(Side::Head, "more/two"), "");
        write(&cache.tree(Side::Head, "wide/folder/file"), "");
        write(&cache.tree(Side::Base, "wide/file"), "");
        write(&cache.tree(Side::Base, "only"), "");
        for (side, target) in [(Side::Base, "same"), (Side::Head, "deep")] {
            relink(Path::new(target), &cache.tree(side, "link")).unwrap();
            relink(Path::new("same"), &cache.tree(side, "alike")).unwrap();
        }
        for (name, access, expected) in [
            ("same/file", Used, ""),
            ("same", Listed, ""),
            ("alike", Used, ""),
            ("missing", Absent, ""),
            ("removed", Used, "it opens `removed`, which differs"),
            ("removed", Passed, ""),
            // As the trees were before any run.
            ("changed", Used, "it opens `changed`, which differs"),
            ("gone/new", Absent, "it opens `gone/new`, which differs"),
            ("gone", Absent, "it opens `gone`, which differs"),
            // As they are.
            ("bytes", Used, "it opens `bytes`, which differs"),
            ("length", Used, "it opens `length`, which differs"),
            ("mode", Used, "it opens `mode`, which differs"),
            ("only", Used, "it opens `only`, which differs"),
            ("link", Used, "it opens `link`, which differs"),
            ("deep", Listed, ""),
            ("deep", Passed, ""),
            // The number of links to a folder is that of the folders in it.
            ("wide", Passed, "it opens `wide`, which differs"),
            ("more", Listed, "it lists the folder `more`, in which files were added or removed"),
            (".git", Used, "it reads the git repository around it"),
            (".git/HEAD", Absent, "it reads the git repository around it"),
        ] {
            let why = cache.why(&cache.tree(Side::Base, name), access).unwrap_or_default();
            assert_eq!(why, expected, "{name} {access:?}");
        }
        let why = cache.why(&cache.tree(Side::Base, "same"), Moved).unwrap();
        assert_eq!(why, "it gives the folder `same` another name");
    }

    #[test]
    fn elsewhere_in_the_cache_is_what_was_built_and_what_nobody_knows() {
        let cache = Cache::new(&[]);
        write(&cache.path("builds/base/out/old"), "left by a run");
        write(&cache.path("git/HEAD"), "main");
        for (path, access, expected) in [
            ("base/own/out", Used, ""),
            // What the loader does with each folder of libraries.
            ("base/t-1", Used, ""),
            ("builds/base/deps", Passed, ""),
            ("builds/base/deps/libm.so", Absent, ""),
            ("builds/base/out/text", Used, ""),
            ("builds/base/deps/work", Used, "it opens `deps/work`, which was built and differs"),
            ("builds/base/out/old", Used, "it opens `out/old`, which was built and differs"),
            ("builds/base/out", Listed, "it opens `out`, which was built and differs"),
            ("git/HEAD", Used, "which belongs to no worktree"),
            ("head/tree/same/file", Used, "which belongs to no worktree"),
            ("head/own/out", Used, "which belongs to no worktree"),
            ("git", Listed, "which belongs to no worktree"),
        ] {
            let why = cache.why(&cache.path(path), access).unwrap_or_default();
            assert!(
                why.ends_with(expected) && why.is_empty() == expected.is_empty(),
                "{path}: {why}"
            );
        }
        // As an earlier build of this package has left it.
        let run = SameRun { renamed: ["out".to_owned()].into(), ..SameRun::default() };
        let why = |access: Access| {
            let path = cache.path("builds/base/out/text");
            cache.folders(&run).check_access(Side::Base, &path, access).err()
        };
        assert!(why(Used).unwrap().ends_with("it opens `out/text`, which was built and differs"));
        assert_eq!(why(Absent), None);
        assert_eq!(cache.why(Path::new("/etc/hostname"), Used), None);
        assert_eq!(cache.why(Path::new("/tmp"), Moved), None);
    }

    /// What both sides accessed and executed.
    fn watched(accessed: &[(PathBuf, Access)], executed: &[PathBuf]) -> Watched {
        let accessed = accessed.iter().cloned().collect();
        Watched { accessed, executed: executed.iter().cloned().collect(), ..Watched::default() }
    }

    #[test]
    fn both_runs_have_to_be_the_same_in_all_that_they_do() {
        let cache = Cache::new(&[]);
        let file = |side, name: &str| (cache.tree(side, name), Used);
        let check = |folders: &Folders<'_>, base: &Watched, head: &Watched| {
            folders.check(Pair { base, head })
        };
        let folders = cache.folders(&SameRun::default());
        let usual = Pair::both(|side| {
            let hostname = (PathBuf::from("/etc/hostname"), Used);
            let all = [file(side, "same/file"), hostname, (cache.tree(side, "new"), Absent)];
            watched(&all, &[PathBuf::from("/bin/sh")])
        });
        let files = BTreeSet::from(["same/file".to_owned()]);
        assert_eq!(check(&folders, &usual.base, &usual.head), Ok(files));
        let why = |base: &Watched| check(&folders, base, &usual.head).unwrap_err();
        let unseen = Watched { unseen: Some("it hides".to_owned()), ..usual.base.clone() };
        assert_eq!(why(&unseen), "it hides");
        // A cache that an earlier run of this side has filled.
        let mut other = usual.base.clone();
        other.accessed.insert("/tmp/of-base".into(), Used);
        assert_eq!(why(&other), "only one side opens `/tmp/of-base`");
        other.accessed.insert("/tmp/of-base".into(), Absent);
        other.accessed.insert("/proc/17/maps".into(), Used);
        assert!(check(&folders, &other, &usual.head).is_ok());
        let mut shared = usual.base.clone();
        shared.accessed.insert("/dev/shm/of-base".into(), Used);
        assert_eq!(why(&shared), "only one side opens `/dev/shm/of-base`");
        // Its own executable differs, unless it is known not to in what is loaded.
        let mut again = usual.base.clone();
        again.executed.insert(cache.path("builds/base/deps/work"));
        assert_eq!(why(&again), "it opens `deps/work`, which was built and differs");
        let equal = cache.folders(&SameRun::default()).of_equal(&cache.programs);
        assert!(check(&equal, &again, &usual.head).is_ok());
        again.executed.insert("/memfd:code (deleted)".into());
        assert!(why(&again).contains("a program without a file"));
        // Whoever knows the names of cargo's variables may read them, and who reads all.
        let package = cache.folders(&SameRun { is_other_package: true, ..SameRun::default() });
        assert!(check(&package, &usual.base, &usual.head).is_ok());
        let script = cache.path("script");
        write(&script, "echo $CARGO_PKG_VERSION");
        for (access, is_ok) in [(Used, false), (Absent, true)] {
            let other = watched(&[(script.clone(), access)], &[]);
            assert_eq!(package.check_package(&other).is_ok(), is_ok);
            assert!(folders.check_package(&other).is_ok());
        }
        assert!(package.check_package(&watched(&[], &[script])).is_err());
        let environ = Path::new("/proc/self/environ");
        let reads_all = watched(&[(environ.to_owned(), Used)], &[]);
        assert_eq!(package.check_package(&reads_all).is_err(), environ.exists());
    }
}
