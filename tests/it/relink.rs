//! The files from which executables are linked are kept next to them, without changing them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{LAYOUTS, Ran, Repo, Variables, host, linker, linker_variable};

/// Builds the head alone, as a comparison does both sides.
#[track_caller]
fn record(repo: &Repo, env: &[(&str, &str)]) -> Ran {
    let call = repo.cbdr("history record --runs 1 --warmup 0");
    env.iter().fold(call, |call, (name, value)| call.env(name, value)).run()
}

/// The folders of the published builds, the latest last.
fn builds(repo: &Repo) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(repo.cached().join("builds")).unwrap();
    let mut builds: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    builds.sort_by_key(|build| build.join("manifest.json").metadata().unwrap().modified().unwrap());
    builds
}

/// The links of a build: for each target its link, or why there is none.
fn links(build: &Path) -> Vec<(String, Result<Value, String>)> {
    let text = std::fs::read_to_string(build.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
    let link = |executable: &Value| {
        let (target, link) = (&executable["target"], &executable["link"]);
        let link = match link["Err"].as_str() {
            Some(why) => Err(why.to_owned()),
            None => Ok(link["Ok"].clone()),
        };
        (target.as_str().unwrap().to_owned(), link)
    };
    manifest["executables"].as_array().unwrap().iter().map(link).collect()
}

/// Why there is no link of the one executable of each build.
#[track_caller]
fn reasons(repo: &Repo) -> Vec<String> {
    let why = |build: &PathBuf| links(build).remove(0).1.unwrap_err();
    builds(repo).iter().map(why).collect()
}

/// The names of the files that are kept of a link; checks that they are there.
#[track_caller]
fn kept(build: &Path, link: &Value) -> Vec<String> {
    let files = link["files"].as_array().unwrap().iter();
    let kept = files.filter(|file| !file["sha256"].is_null());
    let name = |file: &Value| {
        let path = build.join("links").join(file["path"].as_str().unwrap());
        assert_eq!(path.metadata().unwrap().len(), file["bytes"].as_u64().unwrap());
        path.file_name().unwrap().to_str().unwrap().to_owned()
    };
    kept.map(name).collect()
}

/// A repository on a branch with another text in its library.
fn branch() -> Repo {
    branch_with(&[])
}

/// The same, built with these variables, and quickly: how does not matter here.
fn branch_with(env: Variables) -> Repo {
    let repo = Repo::new("demo").with(env);
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    repo.write("Cargo.toml", &format!("{manifest}\n[profile.bench]\nopt-level = 0\n"));
    repo.commit("quickly");
    repo.branch("feature");
    let lib = std::fs::read_to_string(repo.path().join("src/lib.rs")).unwrap();
    repo.write("src/lib.rs", &format!("{lib}\n/// Not used.\npub const MORE: u8 = 1;\n"));
    repo.commit("more");
    repo
}

#[test]
fn benches_bins_and_examples_are_kept_and_scripts_and_macros_are_not() {
    LAYOUTS.into_iter().for_each(all_kinds_but_scripts_and_macros_are_kept);
}

fn all_kinds_but_scripts_and_macros_are_kept(layout: Variables) {
    let repo = Repo::new("steady").with(layout);
    repo.git(&["rm", "--quiet", "-r", "--force", "."]);
    repo.write(
        "Cargo.toml",
        "[package]\nname = \"all\"\nedition = \"2021\"\n[dependencies]\nmac = { path = \"mac\" }\n\
         [[bench]]\nname = \"b\"\nharness = false\n[profile.release]\nopt-level = 0\n[workspace]\nmembers = [\"mac\"]\n\
         [package.metadata.cbdr.benchmarks]\nx = { bench = \"b\" }\ny = { bin = \"all\" }\n\
         z = { example = \"all\" }\n",
    );
    repo.write(
        "mac/Cargo.toml",
        "[package]\nname = \"mac\"\nedition = \"2021\"\n[lib]\nproc-macro = true\n",
    );
    repo.write(
        "mac/src/lib.rs",
        "extern crate proc_macro;\n#[proc_macro]\npub fn empty(_: proc_macro::TokenStream) -> \
         proc_macro::TokenStream { Default::default() }\n",
    );
    repo.write("build.rs", "fn main() {}\n");
    let main = "mac::empty!();\nfn main() { println!(\"x\"); }\n";
    for path in ["src/main.rs", "benches/b.rs", "examples/all.rs"] {
        repo.write(path, main);
    }
    repo.commit("all kinds");
    repo.branch("feature");
    repo.write("src/main.rs", &format!("{main}// more\n"));
    repo.commit("more");
    record(&repo, &[]).code(0);
    let live = std::fs::read_dir(repo.cached().join("head")).unwrap();
    let live = live.map(|entry| entry.unwrap().path());
    let live = live.filter(|path| !path.is_symlink() && path.join(".links-v2").is_dir());
    let entries = live.flat_map(|folder| std::fs::read_dir(folder.join(".links-v2")).unwrap());
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        names.map(|name| name.split('-').next().unwrap().to_owned()).collect();
    names.sort();
    assert_eq!(names, ["all", "all", "b"]);
    let mut targets = Vec::new();
    for build in builds(&repo) {
        for (target, link) in links(&build) {
            let kept = kept(&build, &link.unwrap());
            assert!(kept.iter().any(|name| name.ends_with(".rcgu.o")), "{kept:?}");
            targets.push(target);
        }
    }
    targets.sort();
    assert_eq!(targets, [":bench:b", ":bin:all", ":example:all"]);
}

#[test]
fn the_executable_as_built_is_the_one_that_cargo_builds_without_a_record() {
    LAYOUTS.into_iter().for_each(the_executable_as_built_is_that_of_cargo);
}

fn the_executable_as_built_is_that_of_cargo(layout: Variables) {
    let repo = branch_with(layout);
    record(&repo, &[]).code(0);
    let folder = repo.cached().join("head");
    let mut entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let link = entries.find(|path| path.is_symlink()).unwrap();
    let build = std::fs::read_link(&link).unwrap().parent().unwrap().to_owned();
    let text = std::fs::read_to_string(build.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
    let executable = manifest["executables"][0]["path"].as_str().unwrap();
    let published = std::fs::read(build.join("files").join(executable)).unwrap();
    // At the same path, since that is in the executable.
    let empty = folder.join("empty");
    std::fs::create_dir(&empty).unwrap();
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&empty, &link).unwrap();
    let cargo = std::process::Command::new("cargo")
        .args(["bench", "--no-run", "--quiet", "--bench=words", "--target-dir"])
        .arg(&link)
        .env_remove("CARGO_TARGET_DIR")
        .env("CARGO_BUILD_BUILD_DIR", &link)
        .envs(layout.iter().copied())
        .current_dir(folder.join("tree"))
        .status();
    assert!(cargo.unwrap().success());
    assert!(std::fs::read(link.join(executable)).unwrap() == published);
}

#[test]
fn links_are_there_in_a_warm_start_also_where_only_the_builds_were_kept() {
    let repo = branch();
    record(&repo, &[]).code(0);
    let all = |repo: &Repo| -> Vec<(PathBuf, Vec<String>)> {
        let of = |build: PathBuf| {
            let (_, link) = links(&build).remove(0);
            let kept = kept(&build, &link.unwrap());
            (build, kept)
        };
        let mut all: Vec<_> = builds(repo).into_iter().map(of).collect();
        all.sort();
        all
    };
    let cold = all(&repo);
    assert_eq!(cold.len(), 1);
    record(&repo, &[]).code(0).never_says("Compiling");
    assert_eq!(all(&repo), cold);
    let parts = std::fs::read_dir(repo.cached()).unwrap().map(|entry| entry.unwrap().path());
    for part in parts.filter(|part| part.is_dir() && !part.ends_with("builds")) {
        std::fs::remove_dir_all(part).unwrap();
    }
    record(&repo, &[]).code(0).never_says("Compiling");
    assert_eq!(all(&repo), cold);
    // As a removal that was cut short leaves a build.
    std::fs::remove_dir_all(cold[0].0.join("links")).unwrap();
    record(&repo, &[]).code(0);
    assert_eq!(all(&repo), cold);
}

#[test]
fn a_program_that_nobody_may_execute_since_a_kill_is_one_again() {
    let repo = branch();
    record(&repo, &[]).code(0);
    // As while cargo tells how it runs the program.
    let script = "chmod -R a-x,a+X head/live-* && rm -r head/files-* builds";
    let mut killed = std::process::Command::new("sh");
    let killed = killed.args(["-c", script]).current_dir(repo.cached()).status();
    assert!(killed.unwrap().success());
    record(&repo, &[]).code(0);
}

#[test]
fn the_users_linker_is_called() {
    let (host, variable) = (host(), linker_variable());
    let by_all = [
        (Some(&*variable), None, true),
        (None, Some(format!("[target.{host}]\nlinker = \"LINKER\"\n")), true),
        (None, Some("[target.'cfg(unix)']\nlinker = \"LINKER\"\n".to_owned()), false),
        (Some("RUSTFLAGS"), None, false),
    ];
    for (variable, config, is_kept) in by_all {
        let repo = branch();
        let log = repo.around().join("log");
        let path = linker(&repo, &format!("echo linked >> '{}'", log.display()));
        if let Some(config) = config {
            let folder = repo.around().join(".cargo");
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("config.toml"), config.replace("LINKER", &path)).unwrap();
        }
        let flag = format!("-Clinker={path}");
        let value = if variable == Some("RUSTFLAGS") { &*flag } else { &*path };
        let env: Vec<_> = variable.iter().map(|name| (*name, value)).collect();
        record(&repo, &env).code(0);
        let log = std::fs::read_to_string(log).unwrap();
        assert!(log.lines().count() >= 1, "{variable:?}: {log}");
        for build in builds(&repo) {
            let (_, link) = links(&build).remove(0);
            assert_eq!(
                link.as_ref().is_ok_and(|link| link["linker"] == *path),
                is_kept,
                "{link:?}"
            );
        }
        if !is_kept {
            assert!(reasons(&repo).iter().all(|why| why.contains("linker")));
        }
    }
}

#[test]
fn a_link_that_fails_is_told_as_by_cargo() {
    let repo = branch();
    let ran = record(&repo, &[("RUSTFLAGS", "-Clink-arg=-lno-such-library")]);
    ran.says("no-such-library").says("error: linking with `").never_says("__link");
}
