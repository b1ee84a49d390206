//! Stores what was linked: the part that runs while cargo builds, in a separate process
//! for each link.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::{KEPT, Link, archive};
use crate::exec::process::{Command, environment};
use crate::exec::program::RelinkInput;
use crate::exec::system::{digest, digest_file, make_private_dir};
use crate::workspace::files::remove;

/// The folder of the records, in the target folder. No profile can have such a name. Its number
/// is incremented when the format of the records changes.
pub(crate) const FOLDER: &str = ".links-v2";

/// The variable that passes that folder to the recording linker.
pub(crate) const FOLDER_VARIABLE: &str = "CBDR_LINKS";

/// The file of a record, next to the files that were kept.
const RECORD: &str = "record.json";

/// The prefix of the names of build scripts' executables.
const BUILD_SCRIPT: &str = "build_script_";

/// The arguments with which a linker creates something other than an executable.
const OTHER_OUTPUTS: [&str; 5] = ["-shared", "--shared", "-Bshareable", "-r", "--relocatable"];

/// The number of digits of a file's digest in the name of its folder.
const DIGITS: usize = 32;

/// The record of a link: the digest of the executable that was made, and how.
type LinkRecord = (String, Link);

/// How the executable with this digest was linked, which cargo has built in a target folder.
///
/// # Errors
/// Why that is not known.
pub(crate) fn find(target_folder: &Path, executable: &str) -> Result<Link, String> {
    let folders = std::fs::read_dir(target_folder.join(FOLDER)).into_iter().flatten().flatten();
    for folder in folders.map(|entry| entry.path()) {
        let Ok(text) = std::fs::read(folder.join(RECORD)) else { continue };
        let record = serde_json::from_slice::<LinkRecord>(&text).ok();
        if let Some((_, link)) = record.filter(|(made, _)| made == executable) {
            return Ok(Link { place: folder, ..link });
        }
    }
    Err("its link was not recorded, perhaps because RUSTFLAGS set the linker".to_owned())
}

/// Stores what a linker has linked. `args` are the linker and its arguments. Does
/// nothing if the output is not an executable of a package.
///
/// # Errors
/// If it can't be stored; then there is no record.
pub fn record_link(args: impl Iterator<Item = OsString>) -> io::Result<()> {
    let Some(records) = std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from) else {
        return Ok(());
    };
    let args = args.map(|arg| arg.into_string().map_err(|_| ErrorKind::InvalidData.into()));
    let args = args.collect::<io::Result<Vec<_>>>()?;
    let (linker, args) = args.split_first().ok_or(ErrorKind::InvalidInput)?;
    let cwd = std::env::current_dir()?;
    let env = environment();
    let command = Command { argv: vec![linker.into()], env, cwd, ..Command::default() };
    // With response files replaced by their content.
    let expanded = args.iter().map(|arg| match arg.strip_prefix('@') {
        Some(file) => shlex::split(&std::fs::read_to_string(command.cwd.join(file))?)
            .ok_or_else(|| io::Error::from(ErrorKind::InvalidData)),
        None => Ok(vec![arg.clone()]),
    });
    let mut args = expanded.collect::<io::Result<Vec<_>>>()?.concat();
    let Some(at) = args.iter().position(|arg| arg == "-o") else { return Ok(()) };
    let output = command.cwd.join(args.get(at + 1).ok_or(ErrorKind::InvalidInput)?);
    args.drain(at..at + 2);
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let is_other = args.iter().any(|arg| OTHER_OUTPUTS.contains(&arg.as_str()));
    if is_other || name.starts_with(BUILD_SCRIPT) {
        return Ok(());
    }
    // In cargo's layout since 1.99, a program and an example may have the same name.
    let path = &digest(output.as_os_str().as_encoded_bytes())[..8];
    let place = records.join(format!("{name}-{path}"));
    remove(&place).map_err(io::Error::other)?;
    make_private_dir(&records)?;
    let staging = tempfile::Builder::new().prefix("new-").tempdir_in(&records)?;
    let target = records.parent().unwrap_or(&records);
    let roots = [target.to_owned(), std::env::temp_dir()];
    let roots = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    let link = Link { linker: command.program()?, folder: command.cwd, ..Link::default() };
    let mut keeper = Keeper { place: staging.path(), roots, link };
    keeper.keep(&args)?;
    let record: LinkRecord = (digest_file(&output)?, keeper.link);
    std::fs::write(staging.path().join(RECORD), serde_json::to_vec(&record)?)?;
    std::fs::rename(staging.path(), &place)?;
    // There is nothing under that name that has to be removed.
    let _ = staging.keep();
    Ok(())
}

/// Keeps the files that a linker was called with.
struct Keeper<'a> {
    /// The folder to keep them in.
    place: &'a Path,
    /// The content of these folders is temporary, or is modified later.
    roots: Vec<PathBuf>,
    link: Link,
}

impl Keeper<'_> {
    /// Adds arguments to the link, and stores the files that they name.
    fn keep(&mut self, args: &[String]) -> io::Result<()> {
        let searched = searched(args);
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let folder = match arg.strip_prefix("-L") {
                Some("") => rest.next().map(String::as_str),
                folder => folder,
            };
            match folder {
                Some(folder) => self.keep_folder(folder, &searched)?,
                None => {
                    let kept = self.kept_argument(arg)?;
                    self.link.args.push(kept);
                }
            }
        }
        Ok(())
    }

    /// Adds a folder in which the linker searches for these files.
    fn keep_folder(&mut self, folder: &str, searched: &BTreeSet<String>) -> io::Result<()> {
        let path = self.link.folder.join(folder);
        if !self.is_ours(&path) {
            self.link.args.push(format!("-L{folder}"));
        }
        for file in searched.iter().map(|name| path.join(name)) {
            let kept = self.kept_path(&file)?;
            let kept = kept.as_deref().and_then(|kept| kept.rsplit_once('/'));
            self.link.args.extend(kept.map(|(folder, _)| format!("-L{folder}")));
        }
        Ok(())
    }

    /// An argument, with the files that it names kept: it may be the path of one, or have
    /// it in it, as in `-Wl,--version-script=path` and `-Tpath`.
    fn kept_argument(&mut self, arg: &str) -> io::Result<String> {
        if let Some(path) = self.kept_path(Path::new(arg))? {
            return Ok(path);
        }
        let mut kept = String::new();
        for piece in arg.split_inclusive([',', '=']) {
            let named = piece.trim_end_matches([',', '=']);
            let path = named.strip_prefix("-T").unwrap_or(named);
            kept += &named[..named.len() - path.len()];
            kept += self.kept_path(Path::new(path))?.as_deref().unwrap_or(path);
            kept += &piece[named.len()..];
        }
        Ok(kept)
    }

    /// The path by which an argument names a file once it is kept; `None` for what is no
    /// temporary file, and stays where it is.
    fn kept_path(&mut self, path: &Path) -> io::Result<Option<String>> {
        let path = self.link.folder.join(path);
        let Some(about) = path.metadata().ok().filter(|about| about.is_file()) else {
            return Ok(None);
        };
        let (kept, file) = match self.is_ours(&path) {
            true => self.keep_file(&path).map(|(kept, file)| (Some(kept), file))?,
            false => (None, RelinkInput { path, bytes: about.len(), sha256: None }),
        };
        if !self.link.files.contains(&file) {
            self.link.files.push(file);
        }
        Ok(kept)
    }

    fn is_ours(&self, path: &Path) -> bool {
        let path = path.canonicalize();
        path.is_ok_and(|path| self.roots.iter().any(|root| path.starts_with(root)))
    }

    /// Keeps a file in a folder named after its content, a library without rustc's metadata.
    fn keep_file(&mut self, path: &Path) -> io::Result<(String, RelinkInput)> {
        let content = std::fs::read(path)?;
        let content = archive::without_metadata(&content).unwrap_or(content);
        let sha256 = digest(&content);
        let name = path.file_name().and_then(OsStr::to_str).ok_or(ErrorKind::InvalidInput)?;
        let kept = format!("{}/{name}", &sha256[..DIGITS]);
        let to = self.place.join(&kept);
        make_private_dir(to.parent().unwrap_or(self.place))?;
        std::fs::write(&to, &content)?;
        let bytes = content.len() as u64;
        let file = RelinkInput { path: kept.clone().into(), bytes, sha256: Some(sha256) };
        Ok((format!("{KEPT}/{kept}"), file))
    }
}

/// The names of the files for which a linker may search: libraries, and its scripts.
fn searched(args: &[String]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut pieces = args.iter().flat_map(|arg| arg.split([',', '=']));
    while let Some(piece) = pieces.next() {
        let library = match piece.strip_prefix("-l") {
            Some("") => pieces.next(),
            library => library,
        };
        match library.map(|name| (name, name.strip_prefix(':'))) {
            Some((_, Some(file))) => drop(names.insert(file.to_owned())),
            Some((name, None)) => names.extend(["a", "so"].map(|end| format!("lib{name}.{end}"))),
            None if piece.contains('/') => {}
            None => drop(names.insert(piece.strip_prefix("-T").unwrap_or(piece).to_owned())),
        }
    }
    names
}
