//! The command that links an executable again.

use std::path::{Path, PathBuf};

use super::linker::host;
use super::{KEPT, Link};
use crate::exec::process::Command;
use crate::exec::program::{OrderingLinker, Relink, RelinkInput};
use crate::workspace::environment::Environment;

/// The maximum length of a command on common systems, bytes.
const LONGEST: usize = 1 << 20;

/// The linkers that can order functions by parts of their names.
const LINKERS: [(&str, OrderingLinker); 2] =
    [("mold", OrderingLinker::Mold), ("lld", OrderingLinker::Lld)];

/// The linker to use if another one can't order functions.
const LLD: &str = "ld.lld";

impl Link {
    /// How to link the executable again. The kept files are in the folder `links`;
    /// `rustc` is the output of `rustc -vV`.
    ///
    /// # Errors
    /// Why it can't be.
    pub(crate) fn relink(
        &self,
        links: &Path,
        rustc: &str,
        env: &Environment,
    ) -> Result<Relink, String> {
        let kept = links.to_string_lossy();
        let args = self.args.iter().map(|arg| arg.replace(KEPT, &kept));
        let mut args: Vec<String> = args.collect();
        if args.iter().any(|arg| arg.contains("-plugin-opt")) {
            let why = "its linker also compiles (`-C linker-plugin-lto`)";
            return Err(why.to_owned());
        }
        if args.iter().map(String::len).sum::<usize>() > LONGEST {
            return Err("the command line of its linker is too long".to_owned());
        }
        // A C compiler calls the linker, and not this one itself.
        let is_driver = args.iter().any(|arg| arg.starts_with("-Wl,"));
        let names_linker = |arg: &String| {
            is_driver && ["-fuse-ld=", "--ld-path="].iter().any(|flag| arg.starts_with(flag))
        };
        let named = args.iter().rfind(|arg| names_linker(arg)).and_then(|arg| arg.split_once('='));
        let called = named.map(|(_, linker)| Path::new(linker));
        let called = if is_driver { called } else { Some(&*self.linker) };
        let called = called.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let ordering = LINKERS.iter().find(|(part, _)| called.contains(part));
        let (mut program, mut linker) = (self.linker.clone(), ordering.map(|(_, linker)| *linker));
        let (env, cwd) = (env.to_vec(), self.folder.clone());
        let mut command = Command { env, cwd, ..Command::default() };
        if linker != Some(OrderingLinker::Lld)
            && let Some(lld) = lld(&args, rustc, &command)
        {
            linker = Some(OrderingLinker::Lld);
            if is_driver {
                let folder = lld.parent().unwrap_or(Path::new("/")).display();
                args.retain(|arg| !names_linker(arg));
                args.extend([format!("-B{folder}"), "-fuse-ld=lld".to_owned()]);
            } else {
                program = lld;
            }
        }
        let prefix = if is_driver { "-Wl," } else { "" }.to_owned();
        // Without debug information, which takes most of the linking time.
        args.push(format!("{prefix}-S"));
        command.argv.push(program.into());
        command.argv.extend(args.into_iter().map(Into::into));
        let input =
            |file: &RelinkInput| RelinkInput { path: links.join(&file.path), ..file.clone() };
        let inputs = self.files.iter().map(input).collect();
        Ok(Relink { command, linker, prefix, inputs, heap: None, linked: None })
    }
}

/// The lld of the toolchain, or else that in the `PATH` of a command.
fn lld(args: &[String], rustc: &str, command: &Command) -> Option<PathBuf> {
    let rustlib = "/lib/rustlib/";
    let sysroot = args.iter().find_map(|arg| {
        let (before, _) = arg.split_once(rustlib)?;
        before.find('/').map(|at| &before[at..])
    });
    let own = sysroot.zip(host(rustc)).map(|(sysroot, host)| {
        Path::new(&format!("{sysroot}{rustlib}{host}/bin/gcc-ld")).join(LLD)
    });
    let in_path = || Command { argv: vec![LLD.into()], ..command.clone() }.program().ok();
    own.filter(|own| own.is_file()).or_else(in_path)
}
