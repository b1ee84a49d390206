//! What the cache contains, and how it is removed.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::support::{Cbdr, Repo, cached};

/// The repository, on a branch that changes no program.
fn documented(repo: Repo) -> Repo {
    repo.branch("feature");
    repo.write("README.md", "words\n");
    repo.commit("document it");
    repo
}

/// The steady fixture, compared once.
fn compared(name: &str) -> Repo {
    let repo = documented(Repo::named("steady", name));
    repo.cbdr("compare main --layouts off").run().code(0);
    repo
}

/// The names of what the cache keeps of repositories, but for what stays: the lock, and the
/// samples, which nobody can make again.
fn parts(repo: &Repo) -> Vec<String> {
    let mut found = Vec::new();
    for repository in cached(&repo.cache()) {
        for part in std::fs::read_dir(repository).unwrap() {
            found.push(part.unwrap().file_name().into_string().unwrap());
        }
    }
    let stays = ["lock", "repository", "samples.csv"];
    found.retain(|name| !stays.contains(&name.as_str()));
    found.sort_unstable();
    found
}

#[test]
fn the_list_names_each_repository_and_what_it_takes() {
    let repo = compared("first one");
    let other = documented(Repo::named("steady", "other"));
    let empty = Cbdr::new(repo.path(), &repo.around().join("nothing")).args(["cache", "list"]);
    assert!(empty.run().code(0).stdout.ends_with(": 0 B of 0 repositories\n"));
    // Both in the cache of the first.
    other.cbdr("compare main").env("CBDR_CACHE_DIR", repo.cache()).run().code(0);
    let listed = repo.cbdr("cache list").run().code(0).stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].ends_with(" of 2 repositories") && !lines[0].contains(": 0 B"), "{listed}");
    let line = |path: &str| lines.iter().find(|line| line.contains(path)).unwrap().to_string();
    let own = line(repo.path().to_str().unwrap());
    assert!(own.contains("   2  ") && own.ends_with(" ago"), "{listed}");
    std::fs::remove_dir_all(other.path().join(".git")).unwrap();
    let listed = repo.cbdr("cache list").run().code(0).stdout;
    assert!(listed.contains("other (gone)"), "{listed}");
}

#[test]
fn clean_empties_the_part_of_this_repository_and_with_all_every_one() {
    let repo = compared("repo");
    let other = documented(Repo::named("steady", "other"));
    other.cbdr("compare main").env("CBDR_CACHE_DIR", repo.cache()).run().code(0);
    let both = ["base", "builds", "git", "head", "linker"].map(|part| [part; 2]).concat();
    assert_eq!(parts(&repo), both);
    repo.cbdr("cache clean").run().code(0).says("Removed");
    assert_eq!(parts(&repo), ["base", "builds", "git", "head", "linker"]);
    // And it works again.
    repo.cbdr("compare main --layouts off").run().code(0).says("Building");
    std::fs::create_dir(repo.cache().join("repositories-v0")).unwrap();
    std::fs::write(repo.cache().join("somebody's"), "file").unwrap();
    repo.cbdr("cache clean --all").folder(&repo.around()).run().code(0);
    assert_eq!(parts(&repo), [""; 0]);
    assert!(!repo.cache().join("repositories-v0").exists());
    assert!(!repo.cache().join("heap-v1").exists());
    assert!(repo.cache().join("somebody's").exists());
    let ran = repo.cbdr("cache clean").folder(&repo.around()).run().code(101);
    ran.says("not inside a git").says("hint: `--all` cleans the cache of every repository");
}

/// Takes the lock of the repository's part, as process 7.
fn lock(repo: &Repo) -> std::fs::File {
    let path = repo.cached().join("lock");
    let lock = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    lock.lock().unwrap();
    std::fs::write(&path, "a comparison, process 7").unwrap();
    lock
}

#[test]
fn what_somebody_uses_stays_who_comes_second_waits_and_what_a_killed_call_left_goes() {
    let repo = compared("repo");
    let lock = lock(&repo);
    let ran = repo.cbdr("cache clean").run().code(0);
    ran.says("Leaving").says("in use by a comparison, process 7");
    assert_eq!(parts(&repo), ["base", "builds", "git", "head", "linker"]);
    let left = repo.cached().join("tmp-left");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("out"), "half").unwrap();
    let mut second = repo.cbdr("compare main --layouts off").into_command();
    let mut second = second.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(second.stderr.take().unwrap());
    let (mut before, line) = (String::new(), "Blocking waiting for a comparison, process 7");
    while !before.contains(line) {
        assert_ne!(said.read_line(&mut before).unwrap(), 0, "{before}");
    }
    assert!(!before.contains("Checking out"), "{before}");
    drop(lock);
    let mut after = String::new();
    said.read_to_string(&mut after).unwrap();
    assert!(second.wait().unwrap().success(), "{before}{after}");
    assert!(after.contains("Checking out") && !after.contains("Blocking"), "{after}");
    assert_eq!(parts(&repo), ["base", "builds", "git", "head", "linker"]);
}

#[test]
fn a_home_without_a_root_is_no_place_for_it() {
    let repo = Repo::new("steady");
    repo.branch("feature");
    repo.commit("other");
    let mut command = repo.cbdr("compare main").env("HOME", "relative").into_command();
    let output =
        command.env_remove("CBDR_CACHE_DIR").env_remove("XDG_CACHE_HOME").output().unwrap();
    assert_eq!(output.status.code(), Some(101), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("error: no folder for the cache: neither"), "{said}");
    assert!(said.contains("hint: set CBDR_CACHE_DIR to a folder"), "{said}");
    assert!(!repo.path().join("relative/.cache/cargo-cbdr").exists());
}

#[test]
fn a_working_directory_that_is_gone_is_said() {
    let repo = Repo::new("steady");
    let gone = repo.around().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let compare = Cbdr::new(&repo.around(), &repo.cache()).args(["compare", "main"]);
    let said = compare.after("cd gone && rmdir ../gone").run().stderr;
    assert!(said.starts_with("error: could not find the working directory: "), "{said}");
}

/// The one build of a side, by its manifest.
fn manifests(repo: &Repo) -> Vec<std::path::PathBuf> {
    let builds = std::fs::read_dir(repo.cached().join("builds")).unwrap();
    builds.map(|build| build.unwrap().path().join("manifest.json")).collect()
}

#[cfg(unix)]
#[test]
fn the_cache_is_its_users_alone() {
    use std::os::unix::fs::PermissionsExt;
    let repo = compared("alone");
    let repository = manifests(&repo)[0].ancestors().nth(3).unwrap().to_owned();
    let folders = [
        repo.cache(),
        repository.parent().unwrap().to_owned(),
        repository.clone(),
        repository.join("builds"),
    ];
    for folder in &folders {
        let mode = || folder.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o700, "{}", folder.display());
        for open in [0o770, 0o707] {
            std::fs::set_permissions(folder, PermissionsExt::from_mode(open)).unwrap();
            let ran = repo
                .cbdr("compare main --layouts off")
                .run()
                .code(101)
                .says("is writable by other users");
            ran.says(&format!("hint: run `chmod go-w {}`", folder.display()));
        }
        // Read by others it may be.
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
        repo.cbdr("compare main --layouts off").run().code(0).says("Fresh");
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o700)).unwrap();
    }
}

#[test]
fn a_build_that_is_not_what_its_manifest_should_say_is_built_again() {
    let repo = compared("forged");
    let elsewhere = repo.around().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("precious"), "mine").unwrap();
    // One change for each of the two builds.
    type Change<'a> = &'a dyn Fn(&mut serde_json::Value);
    let seal = |changes: [Change<'_>; 2]| {
        for (path, change) in manifests(&repo).iter().zip(changes) {
            let text = std::fs::read_to_string(path).unwrap();
            let (_, text) = text.split_once('\n').unwrap();
            let mut manifest: serde_json::Value = serde_json::from_str(text).unwrap();
            change(&mut manifest);
            // Not damaged, but written by somebody who knows the format.
            let keyed = format!("{}\n3\n{manifest}", env!("CARGO_PKG_VERSION"));
            let sha256 = cargo_cbdr::exec::system::digest(keyed.as_bytes());
            std::fs::write(path, format!("{sha256}\n{manifest}")).unwrap();
        }
        repo.cbdr("compare main --layouts off").run().code(0)
    };
    seal([&|_| {}, &|_| {}]).says("Fresh").never_says("Building");
    let forge = |changes: [Change<'_>; 2]| {
        seal(changes).says("Building").never_says("Fresh");
    };
    let outside = elsewhere.join("made");
    forge([
        // Of another key: as though it had been moved here.
        &|manifest| manifest["key"] = "side=\"base\"\n".into(),
        // Paths that lead out of it.
        &|manifest| manifest["folders"] = serde_json::json!([outside]),
    ]);
    assert!(!outside.exists());
    // What is run has no checksum.
    forge([&|manifest| manifest["executables"][0]["path"] = "/bin/true".into(), &|manifest| {
        manifest["executables"][0]["path"] = "../../evil".into()
    }]);
    #[cfg(unix)]
    {
        let files = manifests(&repo)[0].with_file_name("files");
        let moved = elsewhere.join("moved");
        std::fs::rename(&files, &moved).unwrap();
        std::fs::write(moved.join("precious"), "mine").unwrap();
        std::os::unix::fs::symlink(&moved, &files).unwrap();
        let without = |manifest: &mut serde_json::Value| {
            let path = manifest["executables"][0]["path"].as_str().unwrap().to_owned();
            manifest["files"].as_object_mut().unwrap().remove(&path).unwrap();
        };
        forge([&|_| {}, &without]);
        assert_eq!(std::fs::read_to_string(moved.join("precious")).unwrap(), "mine");
    }
    repo.cbdr("compare main --layouts off").run().code(0).says("Fresh").never_says("Building");
}

#[cfg(unix)]
#[test]
fn a_damaged_target_folder_or_repository_is_made_again() {
    let repo = documented(Repo::new("library"));
    repo.cbdr("compare main --layouts off").run().code(0);
    let cached = repo.cached();
    let libraries = |side: &str| -> Vec<std::path::PathBuf> {
        let entries = |path: &std::path::Path| -> Vec<std::path::PathBuf> {
            std::fs::read_dir(path).into_iter().flatten().map(|it| it.unwrap().path()).collect()
        };
        let live = entries(&cached.join(side)).into_iter();
        let live =
            live.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("live-"));
        let files = live.flat_map(|live| entries(&live.join("release/deps")));
        files.filter(|path| path.extension().is_some_and(|of| of == "rlib")).collect()
    };
    let compare = || repo.cbdr("compare main --layouts off").run().code(0).says("Building");
    type Damage<'a> = &'a dyn Fn(&std::path::Path);
    let empty: Damage<'_> = &|path| std::fs::write(path, "").unwrap();
    // In the place of a byte that no compiler looks at, at the same time.
    let edit: Damage<'_> = &|path| {
        let modified = path.metadata().unwrap().modified().unwrap();
        let mut bytes = std::fs::read(path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(path, bytes).unwrap();
        std::fs::File::open(path).unwrap().set_modified(modified).unwrap();
    };
    let of_git_and_linker: Damage<'_> = &|path| {
        let folder = path.ancestors().nth(5).unwrap();
        std::fs::write(folder.join("git/worktrees/base-tree/index"), "").unwrap();
        std::fs::write(folder.join("git/worktrees/head-tree/HEAD"), "").unwrap();
        for linker in std::fs::read_dir(folder.join("linker")).unwrap() {
            let script = linker.unwrap().path().join("cc");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
            std::fs::set_permissions(script, mode).unwrap();
        }
    };
    let nothing: Damage<'_> = &|_| {};
    // What is done to the base, and to the head.
    for damages in [[edit, empty], [of_git_and_linker, nothing]] {
        std::fs::remove_dir_all(cached.join("builds")).unwrap();
        let read = || {
            ["base", "head"].map(|side| {
                libraries(side).iter().map(std::fs::read).map(Result::unwrap).collect::<Vec<_>>()
            })
        };
        let before = read();
        assert_eq!(before[0].len(), 1);
        for (side, damage) in ["base", "head"].into_iter().zip(damages) {
            libraries(side).iter().for_each(|path| damage(path));
        }
        compare();
        assert!(read() == before);
    }
}
