//! The command that links an executable again.

use std::path::{Path, PathBuf};

use super::linker::host;
use super::{ArgumentPart, Link};
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
        let args: Vec<String> = self.args.iter().map(|arg| self.text(arg, links)).collect();
        if args.iter().any(|arg| arg.contains("-plugin-opt")) {
            let why = "its linker also compiles (`-C linker-plugin-lto`)";
            return Err(why.to_owned());
        }
        if args.iter().map(String::len).sum::<usize>() > LONGEST {
            return Err("the command line of its linker is too long".to_owned());
        }
        let linker = self.linker.clone();
        let call = LinkCommand { linker, args, folder: &self.folder, rustc, env };
        let is_driver = call.args.iter().any(|arg| arg.starts_with("-Wl,"));
        let (call, linker) = if is_driver { call.by_driver() } else { call.direct() };
        let prefix = if is_driver { "-Wl," } else { "" }.to_owned();
        let argv = std::iter::once(call.linker.into_os_string());
        let argv = argv.chain(call.args.into_iter().map(Into::into));
        // Without debug information, which takes most of the linking time.
        let argv = argv.chain([format!("{prefix}-S").into()]).collect();
        let (env, cwd) = (env.to_vec(), self.folder.clone());
        let command = Command { argv, env, cwd, ..Command::default() };
        let inputs = self.inputs(links);
        Ok(Relink { command, linker, prefix, inputs, heap: None, linked: None })
    }

    fn text(&self, arg: &[ArgumentPart], links: &Path) -> String {
        let path = |file: &usize| {
            self.kept.get(*file).map_or(links.to_owned(), |file| links.join(&file.path))
        };
        let part = |part: &ArgumentPart| match part {
            ArgumentPart::Text(text) => text.clone(),
            ArgumentPart::File(file) => path(file).to_string_lossy().into_owned(),
            ArgumentPart::Folder(file) => {
                path(file).parent().unwrap_or(links).to_string_lossy().into_owned()
            }
        };
        arg.iter().map(part).collect()
    }

    fn inputs(&self, links: &Path) -> Vec<RelinkInput> {
        let kept = self.kept.iter().map(|file| RelinkInput {
            path: links.join(&file.path),
            bytes: file.bytes,
            sha256: Some(file.sha256.clone()),
        });
        let others = self.others.iter().map(|(path, bytes)| RelinkInput {
            path: path.clone(),
            bytes: *bytes,
            sha256: None,
        });
        kept.chain(others).collect()
    }
}

/// A command in preparation.
struct LinkCommand<'a> {
    linker: PathBuf,
    args: Vec<String>,
    folder: &'a Path,
    rustc: &'a str,
    env: &'a Environment,
}

impl LinkCommand<'_> {
    /// That of a C compiler, which calls the linker.
    fn by_driver(mut self) -> (Self, Option<OrderingLinker>) {
        let named =
            |arg: &'_ String| ["-fuse-ld=", "--ld-path="].iter().any(|flag| arg.starts_with(flag));
        let asked = self.args.iter().rfind(|arg| named(arg)).and_then(|arg| arg.split_once('='));
        let asked = asked.and_then(|(_, linker)| ordering(Path::new(linker)));
        let Some(lld) = self.lld().filter(|_| asked != Some(OrderingLinker::Lld)) else {
            return (self, asked);
        };
        self.args.retain(|arg| !named(arg));
        let folder = lld.parent().unwrap_or(Path::new("/")).display();
        self.args.extend([format!("-B{folder}"), "-fuse-ld=lld".to_owned()]);
        (self, Some(OrderingLinker::Lld))
    }

    /// That of the linker itself.
    fn direct(mut self) -> (Self, Option<OrderingLinker>) {
        let own = ordering(&self.linker);
        let Some(lld) = self.lld().filter(|_| own != Some(OrderingLinker::Lld)) else {
            return (self, own);
        };
        self.linker = lld;
        (self, Some(OrderingLinker::Lld))
    }

    /// The lld of the toolchain, or else that in the `PATH`.
    fn lld(&self) -> Option<PathBuf> {
        let rustlib = "/lib/rustlib/";
        let sysroot = self.args.iter().find_map(|arg| {
            let (before, _) = arg.split_once(rustlib)?;
            before.find('/').map(|at| &before[at..])
        });
        let own = sysroot.zip(host(self.rustc)).map(|(sysroot, host)| {
            Path::new(&format!("{sysroot}{rustlib}{host}/bin/gcc-ld")).join(LLD)
        });
        if let Some(own) = own.filter(|own| own.is_file()) {
            return Some(own);
        }
        let (argv, env, cwd) = (vec![LLD.into()], self.env.to_vec(), self.folder.to_owned());
        Command { argv, env, cwd, ..Command::default() }.program().ok()
    }
}

/// Which linker that can order functions this is.
fn ordering(linker: &Path) -> Option<OrderingLinker> {
    let name = linker.file_name()?.to_string_lossy();
    LINKERS.iter().find(|(part, _)| name.contains(part)).map(|(_, linker)| *linker)
}
