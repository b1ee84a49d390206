//! How what is kept is counted and ends.

use std::os::unix::ffi::OsStrExt;
use std::time::SystemTime;

use super::*;
use crate::workspace::cache::cleaning::size;
use crate::workspace::cache::cleaning::{CachedRepository, Cleaned};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// An artifact of so many bytes that was last used so long ago.
fn artifact(scratch: &Scratch, name: &str, bytes: u64, age: Duration) {
    let folder = scratch.repository.builds().join(name);
    write(&folder.join("manifest.json"), "");
    write(&folder.join("files/it"), "");
    let file = File::options().write(true).open(folder.join("files/it")).unwrap();
    file.set_len(bytes).unwrap();
    let manifest = File::open(folder.join("manifest.json")).unwrap();
    manifest.set_modified(SystemTime::now() - age).unwrap();
}

#[test]
fn beyond_4_gib_those_go_that_were_not_used_longest() {
    const GIB: u64 = 1 << 30;
    let scratch = Scratch::new();
    artifact(&scratch, "1st", 2 * GIB, DAY);
    artifact(&scratch, "2nd", GIB, 2 * DAY);
    artifact(&scratch, "3rd", GIB, 3 * DAY);
    scratch.repository.prune(&[]);
    // Four GiB to the byte are allowed.
    assert_eq!(scratch.builds(), ["1st", "2nd", "3rd"]);
    artifact(&scratch, "4th", 1, 4 * DAY);
    artifact(&scratch, "5th and kept", 1, 5 * DAY);
    scratch.repository.prune(&["5th and kept".to_owned()]);
    assert_eq!(scratch.builds(), ["1st", "2nd", "3rd", "5th and kept"]);
    artifact(&scratch, "newest", GIB, Duration::ZERO);
    scratch.repository.prune(&[]);
    assert_eq!(scratch.builds(), ["1st", "2nd", "newest"]);
}

#[test]
fn what_a_killed_run_left_half_done_goes() {
    let scratch = Scratch::new();
    scratch.repository.prune(&[]);
    artifact(&scratch, "new-1234", 1, Duration::ZERO);
    artifact(&scratch, "whole", 1, Duration::ZERO);
    write(&scratch.repository.builds().join("without a manifest/files/it"), "");
    // One that is there but cannot be looked at: a link to itself.
    let odd = scratch.repository.builds().join("odd/manifest.json");
    make_dir(odd.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("manifest.json", odd).unwrap();
    scratch.repository.prune(&[]);
    assert_eq!(scratch.builds(), ["odd", "whole"]);
}

#[test]
fn sizes_are_those_of_all_files_and_no_link_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    assert_eq!((size(folder.path()), size(&at("nothing"))), (0, 0));
    write(&at("a/one"), "12345");
    write(&at("a/b/two"), "123");
    write(&at("three"), "1");
    assert_eq!(size(folder.path()), 9);
    std::os::unix::fs::symlink(folder.path(), at("a/me")).unwrap();
    let link = folder.path().as_os_str().len() as u64;
    assert_eq!(size(folder.path()), 9 + link);
}

/// A second repository in the same cache.
fn other(scratch: &Scratch) -> RepositoryCache {
    let common = scratch.around().join("other/.git");
    std::fs::create_dir_all(&common).unwrap();
    scratch.cache.repository(&common, "other").unwrap()
}

#[test]
fn what_is_kept_is_listed_with_its_sizes_the_latest_used_first() {
    let scratch = Scratch::new();
    let empty = Cache::open(Some(scratch.around().join("empty"))).unwrap();
    assert_eq!(empty.repositories().unwrap(), []);
    // A repository with a note and a lock only holds nothing.
    assert_eq!(scratch.cache.repositories().unwrap(), []);
    let other = other(&scratch);
    write(&other.path().join("git/HEAD"), "ref");
    std::fs::remove_file(other.path().join("repository")).unwrap();
    artifact(&scratch, "one", 100, 5 * DAY);
    artifact(&scratch, "two", 200, 7 * DAY);
    write(&scratch.repository.builds().join("new-half/files/it"), "1234");
    write(&scratch.repository.worktree(Side::Base).join("file"), "12345");
    let note = scratch.repository.path().join("repository").metadata().unwrap().len();
    let at = |days: u32| SystemTime::now() - days * DAY;
    for (path, days) in [(other.path(), 1), (scratch.repository.path(), 9)] {
        File::open(path).unwrap().set_modified(at(days)).unwrap();
    }
    let used = scratch.repository.builds().join("one/manifest.json").metadata().unwrap().modified();
    let kept = scratch.cache.repositories().unwrap();
    let folders: Vec<&Path> = kept.iter().map(|kept| &*kept.folder).collect();
    assert_eq!(folders, [other.path(), scratch.repository.path()]);
    assert_eq!(kept[0].repository, None);
    assert_eq!((kept[0].artifacts, kept[0].artifact_bytes, kept[0].other_bytes), (0, 0, 3));
    let expected = CachedRepository {
        folder: scratch.repository.path().to_owned(),
        repository: Some(scratch.around().join("work/.git")),
        artifacts: 2,
        artifact_bytes: 304,
        other_bytes: 5 + note,
        used: used.ok(),
    };
    assert_eq!(kept[1], expected);
    std::fs::remove_dir_all(scratch.cache.path().join(BUCKET)).unwrap();
    write(&scratch.cache.path().join(BUCKET), "a file");
    let error = scratch.cache.repositories().unwrap_err();
    assert!(error.to_string().starts_with("could not read `"), "{error}");
}

#[test]
fn a_repository_is_listed_by_its_path_in_any_encoding() {
    let scratch = Scratch::new();
    let path = scratch.around().join(OsStr::from_bytes(b"w\xff/.git"));
    std::fs::create_dir_all(&path).unwrap();
    write(&scratch.cache.repository(&path, "w").unwrap().git().join("HEAD"), "ref");
    let listed = scratch.cache.repositories().unwrap();
    assert_eq!(listed[0].repository.as_deref(), Some(&*path));
}

#[test]
fn a_part_is_emptied_but_for_what_cannot_be_made_again_unless_somebody_is_in_it() {
    let scratch = Scratch::new();
    artifact(&scratch, "one", 100, DAY);
    write(&scratch.repository.worktree(Side::Head).join("file"), "12345");
    write(&scratch.repository.git().join("HEAD"), "ref");
    write(&scratch.repository.file("samples.csv"), "samples");
    write(&scratch.repository.found_out("resolved-1"), "1234567");
    let held = scratch.repository.lock("a comparison", |_| Ok(())).unwrap();
    assert_eq!(scratch.repository.clean().unwrap(), Cleaned::InUse("a comparison".into()));
    assert_eq!(scratch.builds(), ["one"]);
    drop(held);
    assert_eq!(scratch.repository.clean().unwrap(), Cleaned::Freed(115));
    assert_eq!(names(scratch.repository.path()), ["lock", "repository", "samples.csv"]);
    assert_eq!(scratch.repository.clean().unwrap(), Cleaned::Freed(0));
    // Also a file in a folder's place.
    write(&scratch.repository.builds(), "a file");
    assert_eq!(scratch.repository.clean().unwrap(), Cleaned::Freed(6));
    assert!(!scratch.repository.builds().exists());
}

#[test]
fn all_parts_are_emptied_and_those_of_earlier_versions_go() {
    let scratch = Scratch::new();
    let other = other(&scratch);
    artifact(&scratch, "one", 100, DAY);
    write(&other.git().join("HEAD"), "ref");
    let held = other.lock("a comparison", |_| Ok(())).unwrap();
    let root = scratch.cache.path();
    write(&root.join("repositories-v0/it/file"), "1234567");
    write(&root.join("somebody's/file"), "");
    let mut cleaned = scratch.cache.clean().unwrap();
    cleaned.sort_by(|one, other| one.0.cmp(&other.0));
    let mut expected = [
        (root.join("repositories-v0"), Cleaned::Freed(7)),
        (other.path().to_owned(), Cleaned::InUse("a comparison".into())),
        (scratch.repository.path().to_owned(), Cleaned::Freed(100)),
    ];
    expected.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(cleaned, expected);
    assert_eq!(names(root), [".gitignore", "CACHEDIR.TAG", BUCKET, "somebody's"]);
    drop(held);
}
