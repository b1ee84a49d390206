//! The environment in which both sides are built and run: the user's, without
//! what git, cargo and rustup set for other programs.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::request::Request;

/// The environment of a process.
pub(crate) type Environment = [(OsString, OsString)];

/// Variables that an outer cargo, or a hook, sets for its own children.
const DROPPED: &str = "CARGO CARGO_BIN_NAME CARGO_BUILD_BUILD_DIR CARGO_BUILD_TARGET_DIR \
    CARGO_CRATE_NAME CARGO_MAKEFLAGS CARGO_PRIMARY_PACKAGE CARGO_RUSTC_CURRENT_DIR \
    CARGO_TARGET_DIR CARGO_TARGET_TMPDIR RUSTUP_TOOLCHAIN RUSTUP_TOOLCHAIN_SOURCE \
    RUST_RECURSION_COUNT";

/// Prefixes of such variables.
const DROPPED_PREFIXES: [&str; 4] = ["GIT_", "CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_EXE_"];

/// Variables that cargo sets for its children, and that others set for theirs.
const DROPPED_UNDER_CARGO: &str = "MAKEFLAGS MFLAGS OUT_DIR";

/// The search paths of shared libraries on Linux and macOS.
const LIBRARY_PATHS: &str = "DYLD_FALLBACK_LIBRARY_PATH LD_LIBRARY_PATH";

/// Prefixes of variables that affect a build and that cargo tracks: it builds
/// again if one of them changes.
const TRACKED: &str = "CARGO_BUILD_ CARGO_ENCODED_RUSTFLAGS CARGO_PROFILE_ CARGO_TARGET_ \
    RUSTFLAGS RUST_TARGET_PATH";

/// Prefixes of variables that affect a build but that cargo does not track: it
/// considers builds with other values up to date. Some build scripts declare
/// some of them; linkers and compilers declare none.
const UNTRACKED: &str = "AR AS BINDGEN CARGO_INCREMENTAL CARGO_RESOLVER_ CARGO_UNSTABLE_ CC \
    CCC_OVERRIDE_OPTIONS CFLAGS CLANG_PATH CMAKE COMPILER_PATH CPATH CPLUS_INCLUDE_PATH CPPFLAGS \
    CRATE_CC CROSS_COMPILE CXX CXXFLAGS CXXSTDLIB C_INCLUDE_PATH DYLD_FALLBACK_LIBRARY_PATH FC \
    FFLAGS GCC_EXEC_PREFIX HOST_ IPHONEOS_DEPLOYMENT_TARGET LD LDFLAGS LIBCLANG LIBRARY_PATH \
    LLVM_CONFIG_PATH MACOSX_DEPLOYMENT_TARGET NASM NVCC OBJC_INCLUDE_PATH PKG_CONFIG PROTOC \
    RANLIB RUSTC SDKROOT SOURCE_DATE_EPOCH TARGET_ ZERO_AR_DATE";

/// The prefix of the variables that decide which versions a new lock file has.
const RESOLVER: &str = "CARGO_RESOLVER_";

/// Variables about a terminal or a session. They differ from one to the next,
/// and no build depends on them.
const SESSION: &str = "COLUMNS DBUS_SESSION_BUS_ADDRESS GPG_TTY LINES OLDPWD PWD SHLVL \
    SSH_AUTH_SOCK SSH_CLIENT SSH_CONNECTION SSH_TTY STY TERM_SESSION_ID TMUX TMUX_PANE WINDOWID \
    XAUTHORITY XDG_SESSION_ID _";

/// The value of a variable.
pub(super) fn var<'a>(env: &'a Environment, name: &str) -> Option<&'a OsStr> {
    env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
}

/// The environment for the child processes of a request.
pub(super) fn of(request: &Request) -> Vec<(OsString, OsString)> {
    for_children(&request.env, request.capture.first().map(Path::new))
}

/// The environment for child processes, derived from that of the program
/// `executable`.
fn for_children(env: &Environment, executable: Option<&Path>) -> Vec<(OsString, OsString)> {
    let cargo = var(env, "CARGO").map(Path::new);
    let toolchain = cargo.and_then(Path::parent).and_then(Path::parent);
    let rustup = var(env, "RUSTUP_HOME").map(Path::new);
    let ours = executable.and_then(Path::parent);
    let foreign: Vec<&Path> = [toolchain, rustup, ours].into_iter().flatten().collect();
    let is_kept = |(name, _): &&(OsString, OsString)| !is_dropped(name, cargo.is_some());
    let kept = env.iter().filter(is_kept).filter_map(|(name, value)| {
        let is_path = cargo.is_some() && name.to_str().is_some_and(|one| lists(LIBRARY_PATHS, one));
        let value = if is_path { without_folders(value, &foreign)? } else { value.clone() };
        Some((name.clone(), value))
    });
    let mut kept: Vec<_> = kept.collect();
    kept.sort();
    kept
}

fn lists(words: &str, name: &str) -> bool {
    words.split_ascii_whitespace().any(|word| word == name)
}

fn is_dropped(name: &OsStr, under_cargo: bool) -> bool {
    let Some(name) = name.to_str() else { return false };
    lists(DROPPED, name)
        || DROPPED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || under_cargo && lists(DROPPED_UNDER_CARGO, name)
}

/// A library path without what is in the folders `foreign`, which an outer cargo
/// prepended: those of its toolchain and those around this executable.
fn without_folders(value: &OsStr, foreign: &[&Path]) -> Option<OsString> {
    let is_foreign = |entry: &PathBuf| foreign.iter().any(|root| entry.starts_with(root));
    let own = std::env::split_paths(value).filter(|entry| !is_foreign(entry));
    let joined = std::env::join_paths(own).ok()?;
    (!joined.is_empty()).then_some(joined)
}

/// A variable that cargo sets for a program that was built in the folder `built`. The
/// search path of libraries loses the folders in there that have no library: in cargo's
/// layout since 1.99, these are folders of single units, and some versions name any of them.
pub(super) fn for_run(name: &str, value: &str, built: &Path) -> OsString {
    let has_library = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let is_library = |name: &str| [".so", ".dylib"].iter().any(|end| name.contains(end));
        entries.map(|entry| entry.file_name()).any(|name| is_library(&name.to_string_lossy()))
    };
    let counts = |folder: &PathBuf| !folder.starts_with(built) || has_library(folder);
    let searched = || std::env::join_paths(std::env::split_paths(value).filter(counts)).ok();
    lists(LIBRARY_PATHS, name).then(searched).flatten().unwrap_or_else(|| value.into())
}

/// All variables on which an unknown build may depend.
pub(super) fn all_but_session(env: &Environment) -> String {
    lines(env, |name| !lists(SESSION, name))
}

/// The variables that decide which versions a new lock file has.
pub(super) fn of_resolver(env: &Environment) -> String {
    lines(env, |name| name.starts_with(RESOLVER))
}

/// The variables that affect a build and that cargo tracks.
pub(super) fn tracked_by_cargo(env: &Environment) -> String {
    lines(env, |name| TRACKED.split_ascii_whitespace().any(|prefix| name.starts_with(prefix)))
}

/// The variables that affect a build but that cargo does not track. `AR` includes
/// `AR_x86_64-unknown-linux-gnu`, but not `ARCHIVE`.
pub(super) fn untracked(env: &Environment) -> String {
    lines(env, |name| {
        UNTRACKED.split_ascii_whitespace().any(|prefix| {
            let rest = name.strip_prefix(prefix);
            let is_letter = |c: char| c.is_ascii_alphabetic();
            rest.is_some_and(|rest| prefix.ends_with('_') || !rest.starts_with(is_letter))
        })
    })
}

/// Some variables as lines `NAME=value`.
fn lines(env: &Environment, is_wanted: impl Fn(&str) -> bool) -> String {
    let line = |(name, value): &(OsString, OsString)| {
        let name = name.to_str().filter(|name| is_wanted(name))?;
        // As bytes, since two values that are not UTF-8 may look the same.
        Some(format!("{name}={:?}", value.as_encoded_bytes()))
    };
    env.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

/// The variables with compiler flags or profile settings, as `NAME=value`, for
/// display: no paths of tools, no secrets.
pub fn compiler_flags(env: &Environment) -> Vec<String> {
    let holds_flags = |name: &str| {
        let name = name.to_ascii_uppercase();
        name.starts_with("CARGO_PROFILE_")
            || ["RUSTFLAGS", "CFLAGS", "CXXFLAGS", "LDFLAGS"].iter().any(|f| name.contains(f))
    };
    let line = |(name, value): &(OsString, OsString)| {
        let name = name.to_str().filter(|name| holds_flags(name))?;
        Some(format!("{name}={}", value.to_string_lossy()))
    };
    env.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(vars: &[(&str, &str)], executable: Option<&str>) -> Vec<String> {
        let env: Vec<_> = vars.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let kept = for_children(&env, executable.map(Path::new));
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

    #[test]
    fn a_build_depends_on_flags_and_profiles_wherever_they_are_set() {
        let environment = |names: &[&str]| -> Vec<(OsString, OsString)> {
            names.iter().map(|name| (name.into(), "x".into())).collect()
        };
        let tracked = environment(&[
            "CARGO_BUILD_RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_PROFILE_BENCH_DEBUG_ASSERTIONS",
            "RUSTFLAGS",
        ]);
        assert_eq!(tracked_by_cargo(&tracked).lines().count(), tracked.len());
        let others = environment(&["CARGO_INCREMENTAL", "CFLAGS", "CFLAGS_x86_64-linux-gnu"]);
        assert_eq!(untracked(&others).lines().count(), others.len());
        assert_eq!(untracked(&environment(&["CARGO_HOME", "CFLAGSX"])), "");
    }
}
