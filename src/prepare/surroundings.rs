//! The environment in which both sides are built and run: the user's, without
//! what git, cargo and rustup put there for somebody else.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::system::HOME;

/// Variables that an outer cargo, or a hook, sets for its own children.
const DROPPED: [&str; 15] = [
    "CARGO",
    "CARGO_BIN_NAME",
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_CRATE_NAME",
    "CARGO_MAKEFLAGS",
    "CARGO_PRIMARY_PACKAGE",
    "CARGO_RUSTC_CURRENT_DIR",
    "CARGO_TARGET_DIR",
    "CARGO_TARGET_TMPDIR",
    "MAKEFLAGS",
    "MFLAGS",
    "OUT_DIR",
    "RUSTUP_TOOLCHAIN",
    "RUST_RECURSION_COUNT",
];

/// The same, by how they begin.
const DROPPED_PREFIXES: [&str; 4] = ["GIT_", "CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_EXE_"];

/// Where shared libraries are looked for: on Linux and on macOS. On Windows it
/// is `PATH`, which stays as it is, because cargo is found there.
const LIBRARIES: [&str; 2] = ["DYLD_FALLBACK_LIBRARY_PATH", "LD_LIBRARY_PATH"];

/// Variables that shape a build, and so belong to the key of an artifact.
const SHAPING: [&str; 13] = [
    "AR",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_HOME",
    "CARGO_INCREMENTAL",
    "CC",
    "CFLAGS",
    "CXX",
    "CXXFLAGS",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "LDFLAGS",
    "LD_LIBRARY_PATH",
    "RUSTC",
    "RUSTFLAGS",
];

/// The same, by how they begin.
const SHAPING_PREFIXES: [&str; 12] = [
    "AR_",
    "CARGO_BUILD_",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
    "CC_",
    "CFLAGS_",
    "CXX_",
    "CXXFLAGS_",
    "HOST_",
    "PKG_CONFIG",
    "RUSTC_",
    "TARGET_",
];

/// The environment for children.
pub(crate) fn clean(
    vars: impl IntoIterator<Item = (OsString, OsString)>,
    executable: Option<&Path>,
) -> Vec<(OsString, OsString)> {
    let vars: Vec<_> = vars.into_iter().collect();
    let find = |wanted: &str| vars.iter().find(|(name, _)| name == wanted).map(|(_, v)| v.clone());
    let cargo = find("CARGO").map(PathBuf::from);
    let rustup = find("RUSTUP_HOME").map(PathBuf::from);
    let mut kept: Vec<(OsString, OsString)> = Vec::with_capacity(vars.len());
    for (name, value) in vars {
        if is_dropped(&name, cargo.is_some()) {
            continue;
        }
        if LIBRARIES.iter().any(|libraries| name == *libraries) && cargo.is_some() {
            let own = own_libraries(&value, cargo.as_deref(), rustup.as_deref(), executable);
            if let Some(own) = own {
                kept.push((name, own));
            }
            continue;
        }
        kept.push((name, value));
    }
    kept.sort();
    kept
}

fn is_dropped(name: &OsStr, under_cargo: bool) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    if name == "MAKEFLAGS" || name == "MFLAGS" || name == "OUT_DIR" {
        return under_cargo;
    }
    DROPPED.contains(&name) || DROPPED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// A library path without the folders that the cargo around us put in front:
/// those of its toolchain and those around our own executable.
fn own_libraries(
    value: &OsStr,
    cargo: Option<&Path>,
    rustup: Option<&Path>,
    executable: Option<&Path>,
) -> Option<OsString> {
    let toolchain = cargo.and_then(Path::parent).and_then(Path::parent);
    let ours = executable.and_then(Path::parent);
    let foreign = |entry: &PathBuf| {
        [toolchain, rustup, ours].into_iter().flatten().any(|root| entry.starts_with(root))
    };
    let kept: Vec<_> = std::env::split_paths(value).filter(|entry| !foreign(entry)).collect();
    let joined = std::env::join_paths(&kept).ok()?;
    (!joined.is_empty()).then_some(joined)
}

/// The variables that shape a build, for the key.
pub(crate) fn shaping(env: &[(OsString, OsString)]) -> String {
    let shapes = |name: &str| {
        SHAPING.contains(&name) || SHAPING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    let line = |(name, value): &(OsString, OsString)| {
        let name = name.to_str().filter(|name| shapes(name))?;
        Some(format!("{name}={}", value.to_string_lossy()))
    };
    env.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

/// The variables that hold compiler flags or a profile's settings, `NAME=value`
/// each, for people to read: no paths of tools, nothing secret.
pub(crate) fn flags(env: &[(OsString, OsString)]) -> Vec<String> {
    let holds = |name: &str| {
        let name = name.to_ascii_uppercase();
        name.starts_with("CARGO_PROFILE_")
            || ["RUSTFLAGS", "CFLAGS", "CXXFLAGS", "LDFLAGS"].iter().any(|f| name.contains(f))
    };
    let line = |(name, value): &(OsString, OsString)| {
        let name = name.to_str().filter(|name| holds(name))?;
        Some(format!("{name}={}", value.to_string_lossy()))
    };
    env.iter().filter_map(line).collect()
}

/// Cargo's configuration files in the folders around the repository `root`,
/// which a worktree elsewhere does not see, outermost first. Not that of
/// cargo's home, which cargo reads by itself wherever it is.
pub(crate) fn outer_configs(
    root: &Path,
    seen_from: &Path,
    env: &[(OsString, OsString)],
) -> Vec<PathBuf> {
    let home = cargo_home(env);
    let is_home = |folder: &Path| home.as_ref().is_some_and(|home| folder.join(".cargo") == *home);
    let around = root.ancestors().skip(1);
    let around = around.filter(|folder| !seen_from.starts_with(folder) && !is_home(folder));
    let mut found: Vec<_> = around.filter_map(config_in).collect();
    found.reverse();
    found
}

/// Cargo's home in an environment.
fn cargo_home(env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let var = |wanted: &str| env.iter().find(|(name, _)| name == wanted).map(|(_, v)| v);
    let usual = || var(HOME).map(|home| Path::new(home).join(".cargo"));
    var("CARGO_HOME").map(PathBuf::from).or_else(usual)
}

/// Cargo's configuration file of a folder.
fn config_in(folder: &Path) -> Option<PathBuf> {
    let names = ["config", "config.toml"].map(|name| folder.join(".cargo").join(name));
    names.into_iter().find(|path| path.is_file())
}

/// The configuration files that cargo reads in `folder` by itself, and
/// `outer`: their contents, for the key.
pub(crate) fn config_texts(
    folder: &Path,
    outer: &[PathBuf],
    env: &[(OsString, OsString)],
) -> Vec<String> {
    let home = cargo_home(env).into_iter().flat_map(|home| {
        ["config", "config.toml"].map(|name| home.join(name)).into_iter().filter(|p| p.is_file())
    });
    let seen = folder.ancestors().filter_map(config_in);
    let paths = seen.chain(home).chain(outer.iter().cloned());
    paths.map(|path| std::fs::read_to_string(path).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(vars: &[(&str, &str)], executable: Option<&str>) -> Vec<String> {
        let vars = vars.iter().map(|&(name, value)| (name.into(), value.into()));
        let kept = clean(vars, executable.map(Path::new));
        kept.into_iter().map(|(n, v)| format!("{}={}", n.display(), v.display())).collect()
    }

    #[test]
    fn what_belongs_to_git_and_to_an_outer_cargo_goes() {
        let got = names(
            &[
                ("GIT_DIR", "/x"),
                ("CARGO", "/r/toolchains/s/bin/cargo"),
                ("CARGO_PKG_NAME", "x"),
                ("CARGO_MANIFEST_DIR", "/x"),
                ("CARGO_TARGET_DIR", "/t"),
                ("RUSTUP_TOOLCHAIN", "stable"),
                ("CARGO_HOME", "/c"),
                ("CARGO_PROFILE_RELEASE_LTO", "true"),
                ("DYLD_FALLBACK_LIBRARY_PATH", "/w/target/release/deps:/usr/lib"),
                ("LD_LIBRARY_PATH", "/w/target/release/deps:/r/toolchains/s/lib:/mine"),
            ],
            Some("/w/target/release/cargo-cbdr"),
        );
        let kept = [
            "CARGO_HOME=/c",
            "CARGO_PROFILE_RELEASE_LTO=true",
            "DYLD_FALLBACK_LIBRARY_PATH=/usr/lib",
            "LD_LIBRARY_PATH=/mine",
        ];
        assert_eq!(got, kept);
    }

    #[test]
    fn configurations_around_the_repository_count_unless_cargo_sees_them_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let config = |at: &str| {
            let folder = root.join(at).join(".cargo");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("config.toml"), "").unwrap();
            folder.join("config.toml")
        };
        let (home, code, _) = (config("home"), config("home/code"), config("home/code/repo"));
        let found = |from: &str, vars: &[(&str, PathBuf)]| {
            let env: Vec<_> =
                vars.iter().map(|(name, value)| (name.into(), value.into())).collect();
            outer_configs(&root.join("home/code/repo"), &root.join(from), &env)
        };
        assert_eq!(found("cache/room", &[]), [home, code.clone()]);
        let code = std::slice::from_ref(&code);
        assert_eq!(found("home/.cache/room", &[]), code);
        assert_eq!(found("cache/room", &[("HOME", root.join("home"))]), code);
        let set = [("HOME", root.join("x")), ("CARGO_HOME", root.join("home/.cargo"))];
        assert_eq!(found("cache/room", &set), code);
        // That of cargo's home belongs to the key all the same.
        std::fs::write(root.join("home/.cargo/config.toml"), "at home").unwrap();
        let env = [("HOME".into(), root.join("home").into())];
        assert_eq!(config_texts(&root.join("cache"), &[], &env), ["at home"]);
    }

    #[test]
    fn without_an_outer_cargo_a_library_path_stays_whole() {
        let path = "LD_LIBRARY_PATH=/w/target/release:/mine";
        let got =
            names(&[("LD_LIBRARY_PATH", "/w/target/release:/mine")], Some("/w/target/release/c"));
        assert_eq!(got, [path]);
    }
}
