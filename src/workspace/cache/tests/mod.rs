//! Rooms, locks, artifacts and their end, in scratch folders.

#![cfg(unix)]

mod ending;

use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

use super::*;
use crate::exec::system::write;
use crate::workspace::cache::artifact::{Artifact, ArtifactKey, Contents, Executable};
use crate::workspace::git::tests::names;

/// A cache in a scratch folder, with the repository of a repository.
struct Scratch {
    folder: tempfile::TempDir,
    cache: Cache,
    repository: RepositoryCache,
}

impl Scratch {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(folder.path().join("cache"))).unwrap();
        let common = folder.path().join("work/.git");
        std::fs::create_dir_all(&common).unwrap();
        let repository = cache.repository(&common, "work").unwrap();
        Scratch { folder, cache, repository }
    }

    /// The folder around the cache.
    fn around(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// Publishes what cargo might have built: an executable `bench`, data in a folder, and an
    /// empty folder.
    fn publish(&self, key: &ArtifactKey) -> Artifact {
        let root = self.around().join("built");
        for (path, text) in
            [("release/bench", "program"), ("release/build/data", "data"), ("x", "")]
        {
            write(&root.join(path), text);
        }
        let files = ["release/bench", "release/build/data"].map(|path| root.join(path));
        std::fs::set_permissions(&files[0], PermissionsExt::from_mode(0o755)).unwrap();
        let elsewhere = self.around().join("elsewhere");
        write(&elsewhere, "not below the root");
        let files = [&files[..], &[elsewhere]].concat();
        let folders = vec![root.join("tmp/deep"), self.around()];
        let executable = Executable {
            target: "bench".into(),
            path: "release/bench".into(),
            invocation: crate::workspace::cargo::Invocation::default(),
            link: Err(String::new()),
        };
        let contents =
            Contents { files, folders, executables: vec![executable], ..Contents::default() };
        artifact::publish(&self.repository, key, &root, contents).unwrap()
    }

    /// What is below `builds`.
    fn builds(&self) -> Vec<String> {
        names(&self.repository.builds())
    }
}

fn key(name: &str) -> ArtifactKey {
    ArtifactKey::new([("name", name.to_owned())])
}

#[test]
fn the_cache_says_that_it_is_one_and_is_found_through_links() {
    let scratch = Scratch::new();
    let root = scratch.around().join("cache");
    assert_eq!(scratch.cache.path(), root);
    let tag = std::fs::read_to_string(root.join("CACHEDIR.TAG")).unwrap();
    assert!(tag.starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"));
    // In a working tree, it is no change.
    assert_eq!(std::fs::read_to_string(root.join(".gitignore")).unwrap(), "*\n");
    let link = scratch.around().join("link");
    std::os::unix::fs::symlink(&root, &link).unwrap();
    std::fs::write(root.join("CACHEDIR.TAG"), "somebody's own").unwrap();
    assert_eq!(Cache::open(Some(link)).unwrap().path(), root);
    assert_eq!(std::fs::read_to_string(root.join("CACHEDIR.TAG")).unwrap(), "somebody's own");
}

#[test]
fn a_part_is_named_after_its_repository_and_no_two_are_one() {
    let scratch = Scratch::new();
    let repository = |common: &str, name: &str| {
        let common = scratch.around().join(common);
        std::fs::create_dir_all(&common).unwrap();
        let repository = scratch.cache.repository(&common, name).unwrap();
        let path = repository.path().to_owned();
        assert_eq!(path.parent().unwrap(), scratch.cache.path().join(BUCKET));
        let note = std::fs::read_to_string(path.join("repository")).unwrap();
        assert_eq!(note, format!("{}\n", common.display()));
        path.file_name().unwrap().to_str().unwrap().to_owned()
    };
    let (name, hash) = {
        let whole = repository("a/.git", "a-b_C9 d/é.rs");
        let (name, hash) = whole.rsplit_once('-').unwrap();
        (name.to_owned(), hash.to_owned())
    };
    assert_eq!(name, "a-b_C9drs");
    let bytes = scratch.around().join("a/.git");
    assert_eq!(hash, digest(bytes.as_os_str().as_encoded_bytes())[..16]);
    assert_eq!(repository("a/.git", "a-b_C9drs"), format!("{name}-{hash}"));
    assert_ne!(repository("b/.git", "a-b_C9drs"), format!("{name}-{hash}"));
    assert_eq!(repository("c", &"x".repeat(100)).rsplit_once('-').unwrap().0, "x".repeat(32));
    // What the note says stays, whoever wrote it.
    std::fs::write(scratch.repository.path().join("repository"), "moved\n").unwrap();
    scratch.cache.repository(&scratch.around().join("work/.git"), "work").unwrap();
    assert_eq!(
        std::fs::read_to_string(scratch.repository.path().join("repository")).unwrap(),
        "moved\n"
    );
}

#[test]
fn a_part_that_others_may_write_to_or_own_is_refused() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let scratch = Scratch::new();
    let again = || scratch.cache.repository(&scratch.around().join("work/.git"), "work");
    let bucket = scratch.repository.path().parent().unwrap();
    for folder in [scratch.repository.path(), bucket] {
        let mode =
            |mode| std::fs::set_permissions(folder, PermissionsExt::from_mode(mode)).unwrap();
        for open in [0o777, 0o1777, 0o702, 0o720] {
            mode(open);
            let error = again().unwrap_err();
            let what = format!("the cache folder `{}` is writable by", folder.display());
            assert!(error.to_string().starts_with(&what), "{open:o}: {error}");
        }
        for closed in [0o755, 0o700] {
            mode(closed);
            again().unwrap();
        }
        // Only root can give a folder away; everybody else sees nothing more here.
        if chown(folder, Some(12_345), None).is_ok() {
            let error = again().unwrap_err();
            assert!(error.to_string().ends_with("another user (uid 12345)"), "{error}");
            chown(folder, Some(user_id()), None).unwrap();
        }
    }
    again().unwrap();
    // The place itself may be shared as `/tmp` is.
    let place = scratch.around().join("cache");
    let mode = |mode| std::fs::set_permissions(&place, PermissionsExt::from_mode(mode)).unwrap();
    mode(0o1777);
    Cache::open(Some(place.clone())).unwrap();
    mode(0o777);
    let error = Cache::open(Some(place.clone())).unwrap_err();
    assert!(error.to_string().ends_with("is writable by other users"), "{error}");
}

#[test]
fn the_sides_have_paths_of_one_length() {
    let repository = Scratch::new().repository;
    let at = |path: &str| repository.path().join(path);
    assert_eq!((repository.git(), repository.file("samples.csv")), (at("git"), at("samples.csv")));
    assert_eq!(repository.worktree(Side::Base), at("base/tree"));
    assert_eq!(repository.target_link(Side::Head, "bench"), at("head/t-bench"));
    assert_eq!(repository.target_folder(Side::Head, "bench"), at("head/live-bench"));
    let long = |side| repository.target_link(side, "x").as_os_str().len();
    assert_eq!(long(Side::Base), long(Side::Head));
}

#[test]
fn the_link_of_a_side_leads_where_it_was_pointed_last() {
    let scratch = Scratch::new();
    make_dir(&scratch.repository.side_folder(Side::Base)).unwrap();
    let link = scratch.repository.target_link(Side::Base, "x");
    // As a killed run leaves it.
    write(&link.with_extension("new"), "half");
    for to in ["one", "two"] {
        scratch.repository.link_target(Side::Base, "x", Path::new(to)).unwrap();
        assert_eq!(link.read_link().unwrap(), Path::new(to));
    }
    assert_eq!(names(&scratch.repository.side_folder(Side::Base)), ["t-x"]);
    let error = scratch.repository.link_target(Side::Head, "x", Path::new("one")).unwrap_err();
    assert!(error.to_string().starts_with("could not create `"), "{error}");
}

#[test]
fn who_waits_for_the_lock_learns_who_holds_it() {
    let scratch = Scratch::new();
    let never = |_: &str| panic!("nobody has it");
    let held = scratch.repository.lock("a longer description of the first", never).unwrap();
    let mut told = Vec::new();
    let refused = scratch.repository.lock("second", |holder| {
        told.push(holder.to_owned());
        if told.len() < 2 { Ok(()) } else { Err(Failure::new("enough", "stop").into()) }
    });
    assert_eq!(refused.unwrap_err().to_string(), "enough");
    assert_eq!(told, ["a longer description of the first"; 2]);
    let mut held = Some(held);
    let second = scratch.repository.lock("second", |_| {
        held.take();
        Ok(())
    });
    assert!(held.is_none());
    assert_eq!(std::fs::read_to_string(scratch.repository.path().join("lock")).unwrap(), "second");
    drop(second);
    scratch.repository.lock("third", never).unwrap();
}

#[test]
fn keys_differ_when_any_part_does() {
    let of = |parts: &[(&'static str, &str)]| {
        ArtifactKey::new(parts.iter().map(|(name, value)| (*name, (*value).to_owned()))).name()
    };
    let plain = of(&[("a", "1"), ("b", "2")]);
    assert_eq!(plain.len(), 32);
    assert!(plain.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(of(&[("a", "1"), ("b", "2")]), plain);
    let others = [
        of(&[("a", "1")]),
        of(&[("a", "1"), ("b", "3")]),
        of(&[("a", "1"), ("c", "2")]),
        of(&[("a", "1\"\nb=\"2")]),
    ];
    assert!(!others.contains(&plain));
}

#[test]
fn what_was_published_is_found_again_as_it_was() {
    let scratch = Scratch::new();
    let key = key("it");
    assert!(artifact::find(&scratch.repository, &key, &[]).unwrap().is_none());
    let published = scratch.publish(&key);
    assert_eq!(scratch.builds(), [key.name()]);
    let manifest = scratch.repository.builds().join(key.name()).join("manifest.json");
    let month = Duration::from_secs(30 * 24 * 3600);
    let old = SystemTime::now() - 2 * month;
    File::open(&manifest).unwrap().set_modified(old).unwrap();
    let found = artifact::find(&scratch.repository, &key, &[]).unwrap().unwrap();
    // Use makes it young again.
    assert!(manifest.metadata().unwrap().modified().unwrap() > old + month);
    for artifact in [published, found] {
        assert_eq!(artifact.name(), key.name());
        let files = artifact.files();
        assert_eq!(names(&files), ["release", "tmp"]);
        assert_eq!(std::fs::read_to_string(files.join("release/build/data")).unwrap(), "data");
        assert!(files.join("tmp/deep").is_dir());
        let paths: Vec<&Path> = artifact.paths().collect();
        assert_eq!(paths, [Path::new("release/bench"), Path::new("release/build/data")]);
        assert_eq!(artifact.executable("bench").unwrap().path, Path::new("release/bench"));
        assert!(artifact.executable("other").is_none());
    }
    // Nobody else's key leads to it.
    assert!(artifact::find(&scratch.repository, &self::key("other"), &[]).unwrap().is_none());
}

#[test]
fn what_a_benchmark_left_in_an_artifact_goes_and_what_it_took_comes_back() {
    let scratch = Scratch::new();
    let key = key("it");
    let files = scratch.publish(&key).files();
    for stray in ["stray", "release/stray", "release/build/strays/deep", "tmp/deep/stray"] {
        write(&files.join(stray), "");
    }
    std::os::unix::fs::symlink(scratch.around(), files.join("release/link")).unwrap();
    artifact::find(&scratch.repository, &key, &[]).unwrap().unwrap();
    assert_eq!(names(&files), ["release", "tmp"]);
    assert_eq!(names(&files.join("release")), ["bench", "build"]);
    assert_eq!(names(&files.join("release/build")), ["data"]);
    assert_eq!(names(&files.join("tmp/deep")), [""; 0]);
    std::fs::remove_dir_all(files.join("tmp")).unwrap();
    artifact::find(&scratch.repository, &key, &[]).unwrap().unwrap();
    assert!(files.join("tmp/deep").is_dir());
    assert!(scratch.around().join("work").is_dir());
}

#[test]
fn what_could_be_executed_can_be_again() {
    let scratch = Scratch::new();
    let key = key("it");
    let files = scratch.publish(&key).files();
    let mode = |name: &str| files.join(name).metadata().unwrap().permissions().mode() & 0o777;
    let others = mode("release/build/data");
    std::fs::set_permissions(files.join("release/bench"), PermissionsExt::from_mode(0o644))
        .unwrap();
    artifact::find(&scratch.repository, &key, &[]).unwrap().unwrap();
    assert_eq!((mode("release/bench"), mode("release/build/data")), (0o744, others));
}

#[test]
fn a_file_in_the_place_of_an_artifact_or_a_folder_in_that_of_a_link_goes() {
    let scratch = Scratch::new();
    let key = key("it");
    let path = scratch.publish(&key).files().parent().unwrap().to_owned();
    std::fs::remove_dir_all(&path).unwrap();
    std::fs::write(&path, "").unwrap();
    assert!(artifact::find(&scratch.repository, &key, &[]).unwrap().is_none());
    assert!(!path.exists());
    let link = scratch.repository.target_link(Side::Base, "spec");
    write(&link.join("release/bench"), "");
    scratch.repository.link_target(Side::Base, "spec", &path).unwrap();
    assert_eq!(std::fs::read_link(link).unwrap(), path);
}

/// Puts a link in the place of a folder, to a folder with the same in it and more.
fn moves(folder: &Path, files: &Path) {
    let outside = files.ancestors().nth(5).unwrap().join("outside");
    std::fs::rename(folder, &outside).unwrap();
    std::fs::write(outside.join("of somebody"), "").unwrap();
    std::os::unix::fs::symlink(&outside, folder).unwrap();
}

#[test]
fn a_damaged_artifact_is_not_used_and_removed() {
    type Damage = fn(&Path);
    let link = |files: &Path| {
        std::fs::rename(files.join("release/bench"), files.join("../moved")).unwrap();
        std::os::unix::fs::symlink("../../moved", files.join("release/bench")).unwrap();
    };
    let damages: [Damage; 9] = [
        |files| moves(&files.join("release"), files),
        |files| moves(files, files),
        |files| std::fs::write(files.join("release/build/data"), "dat").unwrap(),
        |files| std::fs::remove_file(files.join("release/bench")).unwrap(),
        link,
        |files| std::fs::write(files.join("../manifest.json"), "{").unwrap(),
        |files| {
            let manifest = files.join("../manifest.json");
            let text = std::fs::read_to_string(&manifest).unwrap();
            std::fs::write(&manifest, text.replace("\"bench\"", "\"benci\"")).unwrap();
        },
        |files| std::fs::remove_file(files.join("../manifest.json")).unwrap(),
        |files| std::fs::remove_dir_all(files).unwrap(),
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let scratch = Scratch::new();
        let key = key("it");
        let artifact = scratch.publish(&key);
        damage(&artifact.files());
        assert!(
            artifact::find(&scratch.repository, &key, &[]).unwrap().is_none(),
            "damage {number}"
        );
        assert_eq!(scratch.builds(), [""; 0]);
        assert!(number > 1 || scratch.around().join("cache/outside/of somebody").exists());
        scratch.publish(&key);
        assert!(artifact::find(&scratch.repository, &key, &[]).unwrap().is_some());
    }
}

/// Runs go on in copies of an executable, each of which replaces the one before: see
/// [`SideProgram::renew`](crate::exec::execution::SideProgram::renew).
#[test]
fn after_a_replacement_of_an_executable_that_was_cut_short_it_is_whole_or_built_again() {
    type Step = fn(&Path, &Path) -> std::io::Result<()>;
    let steps: [(Step, bool); 4] = [
        (|_, copy| std::fs::write(copy, "prog"), true),
        (|program, copy| std::fs::copy(program, copy).map(drop), true),
        (|program, _| std::fs::remove_file(program), false),
        (|program, copy| std::fs::rename(copy, program), true),
    ];
    for killed_after in 0..steps.len() {
        let scratch = Scratch::new();
        let key = key("it");
        let program = scratch.publish(&key).files().join("release/bench");
        let copy = program.with_extension("new");
        for (step, _) in &steps[..=killed_after] {
            step(&program, &copy).unwrap();
        }
        let found = artifact::find(&scratch.repository, &key, &[]).unwrap();
        assert_eq!(found.is_some(), steps[killed_after].1, "{killed_after}");
        assert!(!copy.exists());
        if found.is_some() {
            assert_eq!(std::fs::read_to_string(&program).unwrap(), "program");
        }
    }
}

#[test]
fn errors_say_what_can_be_done() {
    let lock = Path::new("/c/repositories-v1/it-1/lock");
    let hint = |kind: io::ErrorKind| Error::io("open", lock)(kind.into()).hint().unwrap();
    for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
        assert!(hint(kind).starts_with("make room; CBDR_CACHE_DIR moves the cache"), "{kind}");
    }
    assert_eq!(hint(io::ErrorKind::PermissionDenied), WRITABLE);
    let delete = "the cache may be damaged: delete `/c/repositories-v1/it-1`";
    assert_eq!(hint(io::ErrorKind::IsADirectory), delete);
    let elsewhere = Error::io("open", Path::new("/x"))(io::ErrorKind::InvalidData.into());
    assert_eq!(elsewhere.hint().as_deref(), Some("check the path and its permissions"));
    let root = unusable("create", Path::new("/x"))(io::ErrorKind::NotADirectory.into());
    assert_eq!(root.hint().as_deref(), Some(WRITABLE));
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = make_dir(file.path()).unwrap_err();
    assert_eq!(error.to_string(), format!("could not create `{}`", file.path().display()));
}
