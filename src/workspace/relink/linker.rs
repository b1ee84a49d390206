//! The linker that cargo is configured to call instead of its own choice.
//!
//! Its path must not depend on the side or on time, since cargo rebuilds everything when
//! it changes; and its name must be that of the real linker, since rustc chooses its
//! arguments by that.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::record::{FOLDER, FOLDER_VARIABLE};
use crate::exec::process::Command;
use crate::exec::system::{LINKS_AS_GNU, Place, digest, make_private_dir, may_execute};
use crate::workspace::cargo::Linker;
use crate::workspace::environment::{Environment, var};
use crate::workspace::files::remove;
use crate::workspace::inputs::configuration::Configuration;

/// rustc's default linker.
const USUAL: &str = "cc";
/// The rest of the names of those targets, after the processor and the vendor.
const WITH_USUAL: [&str; 2] = ["-linux-gnu", "-linux-musl"];
/// A linker that rustc finds among its own files.
const RUSTCS_OWN: &str = "rust-lld";
/// The name that stands for rustc's host target in cargo.
const HOST: &str = "host-tuple";

/// What decides which linker is called.
pub(crate) struct LinkerChoice<'a> {
    /// The configuration that cargo reads in the folder where it is called.
    pub(crate) configuration: &'a Configuration,
    pub(crate) folder: &'a Path,
    pub(crate) env: &'a Environment,
    /// The output of `rustc -vV`.
    pub(crate) rustc: &'a str,
}

impl LinkerChoice<'_> {
    /// The recording linker, below the folder `place`. `recorder` is the program, with its
    /// first argument, that calls [`super::record::record_link`].
    ///
    /// # Errors
    /// Why links can't be recorded.
    pub(crate) fn recording(&self, place: &Path, recorder: &[OsString]) -> Result<Linker, String> {
        let Linker { triple, path: real } = self.real()?;
        let path = install(&real, place, recorder);
        let path = path.map_err(|error| format!("its link could not be recorded: {error}"))?;
        Ok(Linker { triple, path })
    }

    /// The linker that cargo and rustc would use; one without a folder is searched for in
    /// the `PATH`. If more is needed to determine it, it counts as unknown, since a wrong
    /// one would make another program.
    fn real(&self) -> Result<Linker, String> {
        if !LINKS_AS_GNU {
            return Err("links are recorded on Linux only".to_owned());
        }
        let triple = self.triple()?;
        let mut named = BTreeSet::new();
        for (of, base, linker) in &self.configuration.linkers {
            if of.starts_with("cfg(") {
                let table = format!("a table `[target.'{of}']`");
                return Err(format!("{table} of cargo's configuration names a linker"));
            } else if *of == triple {
                named.insert(resolved(linker, base));
            }
        }
        let variable = format!("CARGO_TARGET_{}_LINKER", triple.to_uppercase().replace('-', "_"));
        if let Some(linker) = var(self.env, &variable) {
            let linker = linker.to_str().ok_or("the name of its linker is not UTF-8")?;
            named.insert(resolved(linker, self.folder));
        }
        let path = match (named.pop_first(), named.is_empty()) {
            (Some(path), true) => path,
            (Some(_), false) => return Err("several linkers are configured for it".to_owned()),
            (None, _) if WITH_USUAL.iter().any(|system| triple.contains(system)) => USUAL.into(),
            (None, _) => return Err(format!("the linker for `{triple}` is not known")),
        };
        let argv = vec![path.clone().into()];
        let (env, cwd) = (self.env.to_vec(), self.folder.to_owned());
        let command = Command { argv, env, cwd, ..Command::default() };
        if path != Path::new(RUSTCS_OWN) && command.program().is_err() {
            return Err(format!("its linker `{}` was not found", path.display()));
        }
        Ok(Linker { triple, path })
    }

    /// The target for which cargo builds.
    fn triple(&self) -> Result<String, String> {
        let variable = var(self.env, "CARGO_BUILD_TARGET").map(|target| target.to_string_lossy());
        let named = self.configuration.targets.iter().cloned();
        let named = named.chain(variable.map(|target| target.into_owned()));
        let mut named: BTreeSet<String> = named.filter(|target| !target.is_empty()).collect();
        let target = named.pop_first();
        if !named.is_empty() {
            return Err("several targets are configured for it".to_owned());
        }
        let host = host(self.rustc).ok_or("rustc does not report its target")?;
        Ok(target.filter(|target| target != HOST).unwrap_or_else(|| host.to_owned()))
    }
}

/// rustc's host target, from the output of `rustc -vV`.
pub(in crate::workspace) fn host(rustc: &str) -> Option<&str> {
    rustc.lines().find_map(|line| line.strip_prefix("host: "))
}

/// The name of a program as cargo interprets it: one without a slash is searched for in the `PATH`.
fn resolved(program: &str, base: &Path) -> PathBuf {
    if program.contains(std::path::is_separator) { base.join(program) } else { program.into() }
}

/// Writes the script that replaces a linker; returns its path.
fn install(linker: &Path, place: &Path, recorder: &[OsString]) -> io::Result<PathBuf> {
    let name = linker.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let linker = linker.to_str().ok_or(io::ErrorKind::InvalidInput)?;
    // A record of another format is made anew: cargo links again.
    let folder = place.join(&digest(format!("{FOLDER} {linker}").as_bytes())[..8]);
    let path = folder.join(name);
    let recorder: Option<Vec<&str>> = recorder.iter().map(|word| word.to_str()).collect();
    let recorder = shlex::try_join(recorder.ok_or(io::ErrorKind::InvalidInput)?);
    let linker = shlex::try_quote(linker).map_err(io::Error::other)?;
    let text = script(&linker, &recorder.map_err(io::Error::other)?);
    let is_executable = path.metadata().is_ok_and(|about| may_execute(&about));
    if is_executable && std::fs::read_to_string(&path).is_ok_and(|known| known == text) {
        return Ok(path);
    }
    make_private_dir(&folder)?;
    remove(&path).map_err(|error| error.source)?;
    // Written atomically, since a script that can't be executed would count as complete from then
    // on.
    Place::find(&path)?.replace_script(text.as_bytes())?;
    Ok(path)
}

/// The variable with which the linker strips the names of functions.
pub(crate) const STRIP_VARIABLE: &str = "CBDR_STRIP";

/// The exit code of the script is that of the linker, even if recording fails. It keeps the names of
/// functions, by which what a benchmark runs is compared. They are not loaded, so that the program
/// is the same.
fn script(linker: &str, recorder: &str) -> String {
    format!(
        "#!/bin/sh\n\
         # Made by cargo cbdr: calls the linker, and then keeps what it has linked.\n\
         case \"${STRIP_VARIABLE} $*\" in\n\
         ' '*--strip-all*)\n\
         \x20   for word do\n\
         \x20       shift\n\
         \x20       case $word in --strip-all | -Wl,--strip-all) word=${{word%all}}debug ;; esac\n\
         \x20       set -- \"$@\" \"$word\"\n\
         \x20   done ;;\n\
         esac\n\
         {linker} \"$@\"\n\
         status=$?\n\
         if [ \"$status\" -eq 0 ] && [ -n \"${FOLDER_VARIABLE}\" ]; then\n\
         \x20   {recorder} {linker} \"$@\" </dev/null >/dev/null 2>&1\n\
         elif [ \"$status\" -gt 128 ]; then\n\
         \x20   # A signal ended it. Rustc tells that from an exit code.\n\
         \x20   kill -\"$((status - 128))\" \"$$\" 2>/dev/null\n\
         fi\n\
         exit \"$status\"\n"
    )
}
