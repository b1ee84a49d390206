//! The toolchains of both sides.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::model::Pair;
use crate::settings::values::Toolchain;
use crate::workspace::context::PrepareContext;
use crate::workspace::diagnose;

/// The toolchain that rustup should use for each side; `None` for the side's own.
pub(super) fn toolchains(
    context: &PrepareContext<'_>,
    toolchain: Toolchain,
    folders: &Pair<PathBuf>,
    has_base: bool,
) -> Result<Pair<Option<String>>, Error> {
    let one = match toolchain {
        Toolchain::Each if has_base => return Ok(Pair::default()),
        Toolchain::Of(side) if has_base => active_toolchain(context, &folders[side])?,
        Toolchain::Each | Toolchain::Of(_) => active_toolchain(context, &folders.head)?,
        Toolchain::Named(name) => Some(name),
    };
    Ok(Pair::both(|_| one.clone()))
}

/// The toolchain that rustup uses in a folder. Without rustup, there is only one
/// toolchain.
fn active_toolchain(context: &PrepareContext<'_>, folder: &Path) -> Result<Option<String>, Error> {
    let command = context.tools.command("rustup", ["show", "active-toolchain"], folder, None);
    let Ok(ran) = context.tools.capture(command) else { return Ok(None) };
    context.tools.interrupt.check()?;
    if !ran.exit.success() && diagnose::is_fault_of_machine(ran.exit, &ran.stderr) {
        return Err(ran.failed().into());
    }
    let name = ran.stdout.split_whitespace().next().filter(|_| ran.exit.success());
    Ok(name.map(str::to_owned))
}

/// The output of `rustc -vV` and that of `cargo -V` in a worktree.
pub(super) fn versions(
    context: &PrepareContext<'_>,
    tree: &Path,
    toolchain: Option<&str>,
) -> Result<(String, String), Error> {
    // With `-v`, it also names the system, if it can find that out.
    let cargo = context.tools.command("cargo", ["-V"], tree, toolchain);
    Ok((rustc_version(context, tree, toolchain)?, context.tools.output(cargo)?))
}

/// The output of `rustc -vV` in a worktree. For a compiler that was built by hand,
/// also the sizes and times of its files, since it may be replaced by another one of
/// the same version.
fn rustc_version(
    context: &PrepareContext<'_>,
    tree: &Path,
    toolchain: Option<&str>,
) -> Result<String, Error> {
    let ask =
        |args: &[&str]| context.tools.output(context.tools.command("rustc", args, tree, toolchain));
    let version = ask(&["-vV"])?;
    if !version.contains("commit-hash: unknown") {
        return Ok(version);
    }
    let sysroot = ask(&["--print", "sysroot"])?;
    let mut lines = Vec::new();
    for folder in ["bin", "lib"].map(|name| Path::new(sysroot.trim()).join(name)) {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if let Ok(about) = entry.metadata() {
                let name: OsString = entry.file_name();
                lines.push(format!("{name:?} {} {:?}", about.len(), about.modified().ok()));
            }
        }
    }
    lines.sort();
    Ok(version + &lines.join("\n"))
}
