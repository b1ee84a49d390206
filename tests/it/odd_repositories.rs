//! Repositories that libgit2 alone can't check out as git does.

use std::path::{Path, PathBuf};

use crate::support::{Cbdr, Ran, Repo, git};

/// One run of a command on each side, which has to end well.
fn once(repo: &Repo, folder: &Path, base: &str, command: &str) -> Ran {
    let cbdr = Cbdr::new(folder, &repo.cache()).args([
        "compare",
        base,
        "--max-pairs",
        "6",
        "--threshold",
        "900%",
    ]);
    let cbdr = cbdr.args(["--always-run", "--warmup", "0", "--command", command]);
    cbdr.env("GIT_CONFIG_GLOBAL", "/dev/null").run()
}

/// The worktree of a side in the cache.
fn tree(repo: &Repo, side: &str) -> PathBuf {
    repo.cached().join(side).join("tree")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn read_bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// A filter that turns letters; on `main` and on a branch one file each way.
fn filtered() -> Repo {
    let repo = Repo::new("steady");
    repo.git(&["config", "filter.turn.clean", "tr a-z b-za"]);
    repo.git(&["config", "filter.turn.smudge", "tr b-za a-z"]);
    repo.git(&["config", "filter.turn.required", "true"]);
    repo.write(".gitattributes", "*.turned filter=turn\n");
    repo.write("a.turned", "hello\n");
    repo.write("with space/b.turned", "hello\n");
    repo.commit("turned");
    repo.branch("feature");
    repo.write("a.turned", "world\n");
    repo.commit("turned otherwise");
    assert_eq!(repo.git(&["cat-file", "blob", "HEAD:a.turned"]), "xpsme");
    repo
}

#[test]
fn files_with_a_filter_are_passed_through_it() {
    let repo = filtered();
    once(&repo, repo.path(), "main", "sh -c 'cat a.turned | grep -E ^\"(hello|world)$\"'").code(0);
    assert_eq!(read(&tree(&repo, "base").join("a.turned")), "hello\n");
    let head = tree(&repo, "head");
    assert_eq!(read(&head.join("a.turned")), "world\n");
    assert_eq!(read(&head.join("with space/b.turned")), "hello\n");
    // What is right is left alone, so that nothing is built again for it.
    let time = |name: &str| head.join(name).metadata().unwrap().modified().unwrap();
    let before = (time("a.turned"), time("with space/b.turned"));
    once(&repo, repo.path(), "main", "true").code(0);
    assert_eq!((time("a.turned"), time("with space/b.turned")), before);
    // And what is not, is not.
    std::fs::write(head.join("a.turned"), "xpsme\n").unwrap();
    once(&repo, repo.path(), "main", "true").code(0);
    assert_eq!(read(&head.join("a.turned")), "world\n");
    repo.write("a.turned", "again\n");
    repo.commit("again");
    once(&repo, repo.path(), "main", "true").code(0);
    assert_eq!(read(&head.join("a.turned")), "again\n");
}

#[test]
fn a_dirty_file_with_a_filter_is_taken_as_it_lies_there() {
    let repo = filtered();
    repo.write("a.turned", "dirty\n");
    repo.write("c.turned", "new\n");
    let cbdr = repo.cbdr(
        "compare main --dirty --max-pairs 6 --threshold 900% --layouts off --always-run --warmup 0",
    );
    cbdr.args(["--command", "true"]).run().code(0);
    let head = tree(&repo, "head");
    assert_eq!(read(&head.join("a.turned")), "dirty\n");
    assert_eq!(read(&head.join("c.turned")), "new\n");
    assert_eq!(read(&head.join("with space/b.turned")), "hello\n");
}

#[test]
fn a_filter_that_fails_is_an_error_where_git_has_it_for_one() {
    let repo = filtered();
    repo.git(&["config", "filter.turn.smudge", "git-turn-that-is-not-there"]);
    let ran = once(&repo, repo.path(), "main", "true").code(101);
    let ran = ran.says("error: the filter of `a.turned` failed on the base: git exited with");
    ran.says("git-turn-that-is-not-there");
    // Where it is not required, git takes the file as it is.
    repo.git(&["config", "filter.turn.required", "false"]);
    once(&repo, repo.path(), "main", "true").code(0);
    assert_eq!(read(&tree(&repo, "base").join("a.turned")), "ifmmp\n");
}

#[test]
fn files_that_stand_for_others_are_said() {
    let repo = Repo::new("steady");
    let hash = "4d7a".repeat(16);
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hash}\nsize 12345\n");
    repo.write(".gitattributes", "*.bin filter=lfs\n");
    repo.write("data.bin", &pointer);
    repo.write("small.bin", "not of git-lfs\n");
    repo.commit("data");
    repo.branch("feature");
    repo.write("other", "x");
    repo.commit("other");
    let ran = once(&repo, repo.path(), "main", "true").code(0);
    let ran = ran.says(
        "warning: 1 file of the base, such as `data.bin`, is without the content that git-lfs",
    );
    ran.says("1 file of the head, such as `data.bin`");
}

/// The hash of the output of `printf hello`, and its pointer file.
const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

#[test]
fn what_git_lfs_has_in_the_clone_is_put_in_its_place() {
    let repo = Repo::new("steady");
    // To be called for nothing: it would write into the clone, and fetch.
    repo.git(&["config", "filter.lfs.smudge", "git-lfs-that-is-not-there"]);
    repo.git(&["config", "filter.lfs.clean", "cat"]);
    repo.git(&["config", "filter.lfs.required", "true"]);
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{HELLO}\nsize 5\n");
    repo.write(".gitattributes", "*.bin filter=lfs\n");
    repo.write("tool.bin", &pointer);
    let tool = repo.path().join("tool.bin");
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    repo.commit("a large file");
    repo.branch("feature");
    repo.write("other", "x");
    repo.commit("other");
    let missing = "1 file of the head, such as `tool.bin`, is without the content that git-lfs";
    let at = |storage: &str| {
        let folder = repo.path().join(storage).join("objects/2c/f2");
        std::fs::create_dir_all(&folder).unwrap();
        folder.join(HELLO)
    };
    let usual = at(".git/lfs");
    for wrong in [None, Some("jello"), Some("hello, world")] {
        wrong.inspect(|text| std::fs::write(&usual, text).unwrap());
        once(&repo, repo.path(), "main", "true").code(0).says(missing);
        assert_eq!(read(&tree(&repo, "head").join("tool.bin")), pointer);
    }
    // Another place for it may be set.
    repo.git(&["config", "lfs.storage", "large"]);
    std::fs::write(at(".git/large"), "hello").unwrap();
    let command = "sh -c 'test -x tool.bin && test $(cat tool.bin) = hello'";
    once(&repo, repo.path(), "main", command).code(0).never_says("only a pointer");
    // And stays as it is.
    let time = || tree(&repo, "head").join("tool.bin").metadata().unwrap().modified().unwrap();
    let before = time();
    once(&repo, repo.path(), "main", command).code(0);
    assert_eq!(time(), before);
}

#[test]
fn a_build_with_a_pointer_is_none_with_the_file() {
    let repo = Repo::new("steady");
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{HELLO}\nsize 5\n");
    repo.write(".gitattributes", "*.bin filter=lfs\n");
    repo.write("src/data.bin", &pointer);
    let shown = "fn main() {\n    std::hint::black_box(include_bytes!(\"../src/data.bin\"));";
    repo.replace("benches/work.rs", "fn main() {", shown);
    repo.commit("a large file");
    repo.branch("feature");
    repo.write("other", "x");
    repo.commit("other");
    repo.cbdr("compare main").run().code(0).says("Building");
    repo.cbdr("compare main").run().code(0).says("Fresh");
    let folder = repo.path().join(".git/lfs/objects/2c/f2");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(HELLO), "hello").unwrap();
    repo.cbdr("compare main").run().code(0).says("Building").never_says("Fresh");
}

/// A clone of the repository that leaves objects out.
fn partial(repo: &Repo, filter: &str) -> PathBuf {
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    repo.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let url = format!("file://{}", repo.path().display());
    let path = repo.around().join(filter.replace([':', '='], "-"));
    let to = path.to_str().unwrap();
    git(repo.path(), &["clone", "--quiet", filter, "--branch", "feature", &url, to]);
    path
}

/// The objects of a clone, how many and where.
fn objects(folder: &Path) -> String {
    git(folder, &["count-objects", "-v"])
}

#[test]
fn a_partial_clone_is_completed_only_when_asked() {
    let repo = Repo::new("steady");
    repo.branch("feature");
    repo.write("src/lib.rs", "//! Other work.\n\n/// Rounds.\npub const ROUNDS: u64 = 5;\n");
    repo.write("a/b/c/d", "deep\n");
    repo.commit("other");
    for filter in ["--filter=blob:none", "--filter=tree:0"] {
        let clone = partial(&repo, filter);
        let before = objects(&clone);
        let ran = once(&repo, &clone, "origin/main", "true").code(101);
        let ran = ran.says("error: this partial clone lacks 1 object of `origin/main`");
        ran.says("hint: `--fetch` fetches them");
        assert_eq!(objects(&clone), before);
        let cbdr = Cbdr::new(&clone, &repo.cache()).args(["compare", "origin/main", "--fetch"]);
        let ran = cbdr
            .args(["--max-pairs", "6", "--threshold", "900%", "--command", "true"])
            .run()
            .code(0);
        ran.says("Fetching");
        once(&repo, &clone, "origin/main", "true").code(0);
        std::fs::remove_dir_all(repo.cache()).unwrap();
    }
}

#[test]
fn submodules_of_submodules_are_filled_from_the_clone() {
    let inner = Repo::new("steady");
    inner.write("who", "inner\n");
    inner.commit("inner");
    let middle = Repo::new("steady");
    let file = ["-c", "protocol.file.allow=always"];
    let add = |repo: &Repo, part: &Repo, name: &str| {
        let path = part.path().to_str().unwrap();
        repo.git(&[&file[..], &["submodule", "--quiet", "add", path, name]].concat());
        repo.commit("a submodule");
    };
    add(&middle, &inner, "inner");
    let repo = Repo::new("steady");
    add(&repo, &middle, "middle");
    let update = ["submodule", "--quiet", "update", "--init", "--recursive"];
    repo.git(&[&file[..], &update].concat());
    repo.branch("feature");
    repo.write("other", "x");
    repo.commit("other");
    let command = "grep inner middle/inner/who";
    once(&repo, repo.path(), "main", command).code(0);
    // The clone has them also where they are not checked out.
    repo.git(&["submodule", "--quiet", "deinit", "--all", "--force"]);
    std::fs::remove_dir_all(repo.cache()).unwrap();
    once(&repo, repo.path(), "main", command).code(0);
}

#[test]
fn a_submodule_that_the_clone_lacks_is_named_where_the_build_needs_it() {
    let part = Repo::new("steady");
    let repo = Repo::new("steady");
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    repo.git(&[&add[..], &[part.path().to_str().unwrap(), "part"]].concat());
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    let dependency = "[dependencies.part]\npath = \"part\"\npackage = \"steady\"\n";
    repo.write("Cargo.toml", &format!("{manifest}\n{dependency}"));
    repo.commit("a submodule");
    repo.branch("feature");
    repo.git(&["commit", "--quiet", "--allow-empty", "--message", "nothing"]);
    repo.git(&["submodule", "--quiet", "deinit", "--all", "--force"]);
    std::fs::remove_dir_all(repo.path().join(".git/modules")).unwrap();
    let ran = repo.cbdr("compare main --bench work").run().code(101);
    let ran = ran.says("the folder of the submodule `part` is empty\n");
    ran.says("hint: this clone lacks the submodule: `git submodule update --init --recursive`");
}

#[test]
fn links_folders_and_files_may_take_each_others_places() {
    let repo = Repo::new("steady");
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, repo.path().join(name)).unwrap();
    };
    repo.write("folder/file", "1\n");
    repo.write("file", "1\n");
    link("folder", "link");
    repo.commit("one");
    repo.branch("feature");
    for name in ["file", "link"] {
        std::fs::remove_file(repo.path().join(name)).unwrap();
    }
    std::fs::remove_dir_all(repo.path().join("folder")).unwrap();
    repo.write("link/1", "2\n");
    // The link leads to a file of this name.
    repo.write("link/file", "2\n");
    repo.write("file/1", "2\n");
    repo.write("folder", "2\n");
    repo.commit("two");
    let command = "sh -c 'cat file link/file || cat file/1 folder link/1'";
    once(&repo, repo.path(), "main", command).code(0);
    repo.git(&["checkout", "--quiet", "main"]);
    let back = repo.cbdr(
        "compare feature --exact-base --max-pairs 6 --threshold 900% --layouts off --always-run",
    );
    back.args(["--command", "true"]).run().code(0);
    assert!(tree(&repo, "head").join("link").is_symlink());
    assert!(tree(&repo, "base").join("link/1").is_file());
    // And once more the other way round.
    repo.git(&["checkout", "--quiet", "feature"]);
    once(&repo, repo.path(), "main", command).code(0);
    assert!(tree(&repo, "head").join("link/1").is_file());
}

#[test]
fn a_damaged_pack_is_not_a_repository_without_commits() {
    let repo = Repo::new("steady");
    repo.git(&["gc", "--quiet"]);
    for entry in std::fs::read_dir(repo.path().join(".git/objects/pack")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "pack") {
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, "PACK").unwrap();
        }
    }
    repo.cbdr("compare main").run().code(101).never_says("no commits yet").says("error: could not");
}

/// A package next to the repository, from which the benchmark prints something.
fn beside(repo: &Repo, path: &str) -> PathBuf {
    let other = repo.around().join("other");
    std::fs::create_dir_all(other.join("src")).unwrap();
    let manifest = "[package]\nname = \"other\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    std::fs::write(other.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(other.join("src/lib.rs"), "pub const A: u64 = 1;\n").unwrap();
    let manifest = read(&repo.path().join("Cargo.toml"));
    repo.write(
        "Cargo.toml",
        &format!("{manifest}\n[dependencies]\nother = {{ path = \"{path}\" }}\n"),
    );
    let bench = read(&repo.path().join("benches/work.rs"));
    repo.write(
        "benches/work.rs",
        &bench.replace("fn main() {", "fn main() {\n    assert_ne!(other::A, 3);"),
    );
    repo.commit("a dependency");
    repo.branch("feature");
    repo.replace("src/lib.rs", "500_000", "505_000");
    repo.commit("change the work");
    other
}

#[test]
fn a_package_beside_the_repository_is_said_to_be_in_no_commit() {
    let repo = Repo::new("steady");
    let other = beside(&repo, "../other");
    let said = format!(
        "package `steady` needs `other` in `{}`, which is outside the repository",
        other.display()
    );
    let hint = "hint: a worktree contains only what is committed";
    for call in ["compare main", "history record --runs 2"] {
        let ran = repo.cbdr(call).run().code(101);
        ran.says(&format!("error: the head's {said}\n{hint}"));
    }
    // The advice helps although the base can't follow it.
    repo.replace("Cargo.toml", "../other", other.to_str().unwrap());
    repo.commit("an absolute path");
    let ran = repo.cbdr("compare main").run().code(0);
    ran.says("no baseline").says(&format!("the base's {said}"));
}

#[test]
fn a_package_elsewhere_is_built_again_when_it_has_changed() {
    let repo = Repo::new("steady");
    let at = repo.around().join("other");
    let other = beside(&repo, at.to_str().unwrap());
    let compare = || {
        repo.cbdr(
            "compare main --max-pairs 6 --threshold 900% --layouts off --warmup 0 --always-run",
        )
        .run()
    };
    compare().code(0).says("Building base").says("Building head");
    // Not known to be as it was: it was made in the second of the build.
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    for file in ["src/lib.rs", "Cargo.toml"] {
        std::fs::File::open(other.join(file)).unwrap().set_modified(long_ago).unwrap();
    }
    compare().code(0);
    compare().code(0).says("Fresh base").says("Fresh head");
    std::fs::write(other.join("src/lib.rs"), "pub const A: u64 = 3;\n").unwrap();
    let ran = compare().code(101).says("Building base").says("Building head");
    ran.says("of `work` exited with code 101");
    // An older copy, beside a file that is newer than the build.
    let write_older = |number: u64| {
        let (path, text) = (other.join("src/lib.rs"), format!("pub const A: u64 = {number};\n"));
        std::fs::write(&path, text).unwrap();
        std::fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
        std::fs::write(other.join("README.md"), "newer\n").unwrap();
    };
    write_older(4);
    compare().code(0).says("Building base").says("Building head");
    // Also where the code was last compiled in a build that failed.
    repo.replace("benches/work.rs", "fn main() {", "fn main() {\n    does_not_compile;");
    repo.commit("broken");
    std::fs::write(other.join("src/lib.rs"), "pub const A: u64 = 3;\n").unwrap();
    compare().code(101).says("does not build");
    repo.replace("benches/work.rs", "    does_not_compile;", "");
    repo.commit("mended");
    write_older(4);
    compare().code(0);
}

/// A repository with a folder `far`, on a branch with one more commit; git left `far` out
/// of the working tree.
fn sparse(index: &str) -> Repo {
    let repo = Repo::new("steady");
    repo.write("far/away", "far\n");
    repo.commit("far away");
    repo.branch("feature");
    repo.replace("src/lib.rs", "500_000", "500_001");
    repo.commit("more");
    repo.git(&["sparse-checkout", "set", "--cone", index, "src", "benches"]);
    assert!(!repo.path().join("far").exists());
    repo
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_not_deleted() {
    // Libgit2 does not support a sparse index at all.
    for index in ["--no-sparse-index", "--sparse-index"] {
        let repo = sparse(index);
        let before = read_bytes(&repo.path().join(".git/index"));
        let ran = once(&repo, repo.path(), "main", "cat far/away").code(0);
        ran.never_says("in the working tree are not measured");
        repo.write("new", "new\n");
        let ran = once(&repo, repo.path(), "main", "true").code(0);
        ran.says("the changes of 1 file in the working tree are not measured");
        let dirty = Cbdr::new(repo.path(), &repo.cache()).args(["compare", "main", "--dirty"]);
        let dirty = dirty.args([
            "--max-pairs",
            "6",
            "--threshold",
            "900%",
            "--warmup",
            "0",
            "--command",
            "cat far/away",
        ]);
        dirty.run().code(0);
        assert_eq!(read(&tree(&repo, "head").join("new")), "new\n");
        assert_eq!(read_bytes(&repo.path().join(".git/index")), before);
    }
}

#[test]
fn an_index_in_two_parts_is_read_also_in_a_submodule_that_git_ignores() {
    let repo = Repo::new("steady");
    let part = Repo::new("steady");
    let url = part.path().to_str().unwrap();
    let allow = "protocol.file.allow=always";
    repo.git(&["-c", allow, "submodule", "--quiet", "add", url, "part"]);
    repo.git(&["config", "--file", ".gitmodules", "submodule.part.ignore", "all"]);
    repo.commit("with a submodule");
    repo.branch("feature");
    repo.replace("src/lib.rs", "500_000", "500_001");
    repo.commit("more");
    let at = repo.path().join("part");
    for is_split in [false, true] {
        if is_split {
            git(&at, &["update-index", "--split-index"]);
        }
        std::fs::write(at.join("new"), "new\n").unwrap();
        let ran = once(&repo, repo.path(), "main", "true").code(0);
        ran.says("the changes of 1 file in the working tree are not measured");
        let dirty = Cbdr::new(repo.path(), &repo.cache()).args(["compare", "main", "--dirty"]);
        let dirty = dirty.args(["--max-pairs", "6", "--threshold", "900%", "--warmup", "0"]);
        dirty.args(["--command", "true"]).run().code(0);
        assert_eq!(read(&tree(&repo, "head").join("part/new")), "new\n");
    }
}

#[test]
fn an_index_in_two_parts_is_read() {
    let repo = Repo::new("steady");
    repo.branch("feature");
    repo.replace("src/lib.rs", "500_000", "500_001");
    repo.commit("more");
    repo.git(&["update-index", "--split-index"]);
    repo.write("new", "new\n");
    let ran = once(&repo, repo.path(), "main", "true").code(0);
    ran.says("the changes of 1 file in the working tree are not measured");
}
