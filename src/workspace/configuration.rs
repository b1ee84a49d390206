//! Cargo's configuration files that count in a folder, with the files that
//! they include.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::exec::system::{HOME, canonical};
use crate::workspace::cargo::{ConfigFile, config_in};

/// All configuration files that cargo reads in some folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Configuration {
    /// The path of each and its text; no text for one that is not there.
    pub(super) files: Vec<(PathBuf, Option<String>)>,
    /// The variables that their tables `[env]` set.
    pub(super) variables: BTreeSet<String>,
    /// All their strings, each with the folder to which its paths are relative.
    pub(super) strings: BTreeSet<(PathBuf, String)>,
    /// The files, without links.
    known: BTreeSet<PathBuf>,
}

impl Configuration {
    /// Reads what cargo reads in `folders` by itself, and the files `outer`,
    /// with which it is called.
    ///
    /// # Errors
    /// When a file that is there can't be read now.
    pub(super) fn read<'a>(
        folders: impl IntoIterator<Item = &'a Path>,
        outer: &[PathBuf],
        env: &[(OsString, OsString)],
    ) -> Result<Self, Error> {
        let mut found = Configuration::default();
        for folder in folders {
            for path in folder.ancestors().filter_map(config_in) {
                found.add(&path)?;
            }
        }
        if let Some(home) = cargo_home(env) {
            // Of these two, cargo takes the first.
            let names = ["config", "config.toml"].map(|name| home.join(name));
            if let Some(path) = names.iter().find(|path| path.is_file()) {
                found.add(path)?;
            }
        }
        for path in outer {
            found.add(path)?;
        }
        Ok(found)
    }

    /// Adds a file and those that it includes, unless it is known already.
    fn add(&mut self, path: &Path) -> Result<(), Error> {
        // Files may include each other, by ever longer ways.
        if !self.known.insert(canonical(path).unwrap_or_else(|_| path.to_owned())) {
            return Ok(());
        }
        // What is no text is refused by cargo.
        let text = match fs_err::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            bytes => Some(bytes.map_err(Error::io("read", path))?),
        };
        let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let file = ConfigFile::parse(text.as_deref().unwrap_or_default());
        self.files.push((path.to_owned(), text));
        self.variables.extend(file.variables);
        let folder = path.parent().unwrap_or(Path::new("/"));
        // The paths in `x/.cargo/config.toml` are relative to `x`.
        let base = folder.parent().unwrap_or(folder);
        self.strings.extend(file.strings.into_iter().map(|text| (base.to_owned(), text)));
        for include in file.includes {
            self.add(&folder.join(include))?;
        }
        Ok(())
    }

    /// All of it as text, for a digest.
    pub(super) fn text(&self) -> String {
        format!("{:?}", self.files)
    }
}

/// The configuration files in the folders around the repository `root`, which
/// cargo does not find from a worktree elsewhere, outermost first. That of
/// cargo's home is not among them: cargo reads it wherever it runs.
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
pub(super) fn cargo_home(env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let var = |wanted: &str| env.iter().find(|(name, _)| name == wanted).map(|(_, v)| v);
    let usual = || var(HOME).map(|home| Path::new(home).join(".cargo"));
    var("CARGO_HOME").map(PathBuf::from).or_else(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scratch folder with these files.
    fn with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn included_files_count_also_those_that_are_not_there_yet() {
        let folder = with(&[
            ("a/.cargo/config.toml", "include = ['../more.toml', 'gone.toml']\n[env]\nONE = '1'\n"),
            // A circle.
            ("a/more.toml", "include = '.cargo/config.toml'\nenv.TWO = '2'\nbuild.rustc = 'r'\n"),
        ]);
        let at = folder.path().join("a");
        let read = || Configuration::read([&*at], &[], &[]).unwrap();
        let found = read();
        assert_eq!(found.variables, BTreeSet::from(["ONE", "TWO"].map(str::to_owned)));
        assert!(found.strings.iter().any(|(_, text)| text == "r"));
        std::fs::write(at.join(".cargo/gone.toml"), "").unwrap();
        assert_ne!(read().text(), found.text());
        std::fs::remove_file(at.join(".cargo/gone.toml")).unwrap();
        assert_eq!(read(), found);
        std::fs::write(at.join("more.toml"), "").unwrap();
        assert_ne!(read().text(), found.text());
    }

    #[test]
    fn the_configuration_of_cargos_home_counts() {
        let folder = with(&[("home/.cargo/config.toml", "[env]\nHOME_SAYS = '1'\n")]);
        let home = folder.path().join("home");
        let env = [("HOME".into(), home.clone().into())];
        let found = Configuration::read([folder.path()], &[], &env).unwrap();
        assert_eq!(found.variables, BTreeSet::from(["HOME_SAYS".to_owned()]));
        let env = [("CARGO_HOME".into(), home.join(".cargo").into())];
        assert_eq!(Configuration::read([folder.path()], &[], &env).unwrap(), found);
        let nothing = Configuration::read([folder.path()], &[], &[]).unwrap();
        assert_eq!(nothing, Configuration::default());
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
    }
}
