//! The environment in which both sides are built and run: the user's, without
//! what git, cargo and rustup put there for somebody else.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::workspace::cache::Environment;

/// Variables that an outer cargo, or a hook, sets for its own children.
const DROPPED: [&str; 16] = [
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
    "RUSTUP_TOOLCHAIN_SOURCE",
    "RUST_RECURSION_COUNT",
];

/// The same, by how they begin.
const DROPPED_PREFIXES: [&str; 4] = ["GIT_", "CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_EXE_"];

/// Where shared libraries are looked for: on Linux and on macOS. On Windows it
/// is `PATH`, which stays as it is, because cargo is found there.
const LIBRARIES: [&str; 2] = ["DYLD_FALLBACK_LIBRARY_PATH", "LD_LIBRARY_PATH"];

/// Variables that shape a build and that cargo watches, by how they begin: it
/// builds again by itself when one of them changes.
const WATCHED: [&str; 6] = [
    "CARGO_BUILD_",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
    "RUSTFLAGS",
    "RUST_TARGET_PATH",
];

/// Variables that shape a build, by how they begin, and that cargo does not
/// watch: it takes what was built under other values for up to date. Some
/// build scripts declare some of them, linkers and compilers declare none.
const UNWATCHED: [&str; 31] = [
    "AR",
    "AS",
    "CARGO_INCREMENTAL",
    "CARGO_UNSTABLE_",
    "CC",
    "CFLAGS",
    "COMPILER_PATH",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "CPPFLAGS",
    "CXX",
    "CXXFLAGS",
    "C_INCLUDE_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "GCC_EXEC_PREFIX",
    "HOST_",
    "IPHONEOS_DEPLOYMENT_TARGET",
    "LDFLAGS",
    "LD_LIBRARY_PATH",
    "LD_RUN_PATH",
    "LIBRARY_PATH",
    "MACOSX_DEPLOYMENT_TARGET",
    "NASM",
    "NVCC",
    "PKG_CONFIG",
    "RANLIB",
    "RUSTC",
    "SDKROOT",
    "SOURCE_DATE_EPOCH",
    "TARGET_",
    "ZERO_AR_DATE",
];

/// Variables that tell of a terminal or a session. No build goes by them, and
/// they are others in each.
const SESSION: [&str; 19] = [
    "COLUMNS",
    "DBUS_SESSION_BUS_ADDRESS",
    "GPG_TTY",
    "LINES",
    "OLDPWD",
    "PWD",
    "SHLVL",
    "SSH_AUTH_SOCK",
    "SSH_CLIENT",
    "SSH_CONNECTION",
    "SSH_TTY",
    "STY",
    "TERM_SESSION_ID",
    "TMUX",
    "TMUX_PANE",
    "WINDOWID",
    "XAUTHORITY",
    "XDG_SESSION_ID",
    "_",
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

/// All variables that a build of which nothing is known may go by, `NAME=value`
/// each.
pub(super) fn all_but_session(env: &Environment) -> String {
    lines_of(env, |name| !SESSION.contains(&name))
}

/// The variables that shape a build and that cargo watches, `NAME=value` each.
pub(super) fn watched(env: &Environment) -> String {
    lines_of(env, |name| WATCHED.iter().any(|prefix| name.starts_with(prefix)))
}

/// The variables that shape a build and that cargo does not watch, `NAME=value`
/// each. `AR` stands for `AR_x86_64-unknown-linux-gnu`, too, but not for
/// `ARCHIVE`.
pub(super) fn unwatched(env: &Environment) -> String {
    lines_of(env, |name| {
        UNWATCHED.iter().any(|prefix| {
            let rest = name.strip_prefix(prefix);
            rest.is_some_and(|rest| prefix.ends_with('_') || !rest.starts_with(is_letter))
        })
    })
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic()
}

fn lines_of(env: &Environment, is_wanted: impl Fn(&str) -> bool) -> String {
    let line = |(name, value): &(OsString, OsString)| {
        let name = name.to_str().filter(|name| is_wanted(name))?;
        // As bytes: two values that are not UTF-8 may look alike.
        Some(format!("{name}={:?}", value.as_encoded_bytes()))
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
    fn without_an_outer_cargo_a_library_path_stays_whole() {
        let path = "LD_LIBRARY_PATH=/w/target/release:/mine";
        let got =
            names(&[("LD_LIBRARY_PATH", "/w/target/release:/mine")], Some("/w/target/release/c"));
        assert_eq!(got, [path]);
    }
}
