//! Cargo's configuration files that apply to a folder, with the files that they
//! include.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use toml_edit::{DocumentMut, Item};

use crate::error::Error;
use crate::workspace::environment::{Environment, var};

/// The keys of `[build]` for the folders in which cargo builds, and the variables that
/// override them.
const BUILD_FOLDERS: [(&str, &str); 2] =
    [("build-dir", "CARGO_BUILD_BUILD_DIR"), ("target-dir", "CARGO_BUILD_TARGET_DIR")];

/// The keys that decide neither what is built nor how it is run; an included file counts by itself.
const OF_CALLS: [&str; 9] = [
    "alias",
    "cargo-new",
    "doc",
    "future-incompat-report",
    "http",
    "include",
    "install",
    "net",
    "term",
];

/// All configuration files that cargo reads in some folders, and what they name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Configuration {
    /// The path of each and its text; no text for a missing one.
    pub(crate) files: Vec<(PathBuf, Option<String>)>,
    /// The variables that their tables `[env]` set.
    pub(crate) variables: BTreeSet<String>,
    /// All their strings, each with the folder to which its paths are relative.
    pub(crate) strings: BTreeSet<(PathBuf, String)>,
    /// The targets for which cargo builds: `build.target`.
    pub(crate) targets: BTreeSet<String>,
    /// The folders in which cargo builds, each with the variable that overrides it.
    pub(crate) build_folders: BTreeSet<(&'static str, PathBuf)>,
    /// The linkers in their tables `[target]`, each with the table's name, a target or
    /// `cfg(…)`, and the folder to which its path is relative.
    pub(crate) linkers: BTreeSet<(String, PathBuf, String)>,
    /// Whether one of them has an alias of the name by which cargo calls this program.
    pub(crate) has_alias: bool,
    /// Whether one of them has a table `[profile]`.
    pub(crate) has_profiles: bool,
    /// See [`compiler_settings`]; of several files, those of the first.
    pub(crate) compiler: BTreeMap<String, String>,
    /// The files by their paths without links.
    known: BTreeSet<PathBuf>,
}

impl Configuration {
    /// Reads what cargo reads in `folders` by itself, and the files `outer`,
    /// with which it is called.
    ///
    /// # Errors
    /// If an existing file can't be read.
    pub(crate) fn read<'a>(
        folders: impl IntoIterator<Item = &'a Path>,
        outer: &[PathBuf],
        env: &Environment,
    ) -> Result<Self, Error> {
        let mut found = Configuration::default();
        let around = folders.into_iter().flat_map(Path::ancestors);
        let around = around.map(|folder| folder.join(".cargo")).chain(cargo_home(env));
        let own = around.filter_map(|folder| config_in(&folder));
        own.chain(outer.iter().cloned()).try_for_each(|path| found.add(&path))?;
        Ok(found)
    }

    /// Adds a file and those that it includes, unless it is known already: files may
    /// include each other.
    fn add(&mut self, path: &Path) -> Result<(), Error> {
        if !self.known.insert(path.canonicalize().unwrap_or_else(|_| path.to_owned())) {
            return Ok(());
        }
        let text = match fs_err::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            bytes => Some(bytes.map_err(Error::io("read", path))?),
        };
        let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let folder = path.parent().unwrap_or(Path::new("/"));
        // The paths in `x/.cargo/config.toml` are relative to `x`.
        let base = folder.parent().unwrap_or(folder);
        let includes = self.add_text(text.as_deref().unwrap_or_default(), base);
        self.files.push((path.to_owned(), text));
        includes.into_iter().try_for_each(|include| self.add(&folder.join(include)))
    }

    /// Adds what the text of a file names, whose paths are relative to `base`. One that is not
    /// TOML, which cargo refuses, names nothing. Returns the files that it includes, relative to
    /// its own folder.
    fn add_text(&mut self, text: &str, base: &Path) -> BTreeSet<String> {
        let mut includes = BTreeSet::new();
        let Ok(document) = text.parse::<DocumentMut>() else { return includes };
        if let Some(variables) = document.get("env").and_then(Item::as_table_like) {
            self.variables.extend(variables.iter().map(|(name, _)| name.to_owned()));
        }
        // In whatever way files are included, their paths are the only strings.
        if let Some(include) = document.get("include") {
            add_strings(include, &mut includes);
        }
        let mut strings = BTreeSet::new();
        add_strings(document.as_item(), &mut strings);
        self.strings.extend(strings.into_iter().map(|text| (base.to_owned(), text)));
        let build = |key: &str| document.get("build").and_then(|build| build.get(key));
        if let Some(target) = build("target") {
            add_strings(target, &mut self.targets);
        }
        for (key, variable) in BUILD_FOLDERS {
            let folder = build(key).and_then(Item::as_str);
            self.build_folders.extend(folder.map(|folder| (variable, joined(base, folder))));
        }
        self.has_profiles |= document.get("profile").is_some();
        for (key, value) in compiler_settings(&document) {
            self.compiler.entry(key).or_insert(value);
        }
        self.has_alias |=
            document.get("alias").is_some_and(|aliases| aliases.get("cbdr").is_some());
        let tables = document.get("target").and_then(Item::as_table_like);
        for (name, table) in tables.into_iter().flat_map(|tables| tables.iter()) {
            if let Some(linker) = table.get("linker").and_then(Item::as_str) {
                self.linkers.insert((name.to_owned(), base.to_owned(), linker.to_owned()));
            }
        }
        includes
    }

    /// The files in the folder `root` that are not in `tree`, another one of the same repository,
    /// and that say more than how cargo is called or shows its work: paths relative to it.
    pub(crate) fn missing_in(&self, tree: &Path, root: &Path) -> Vec<String> {
        let decides = |text: &str| {
            let document = text.parse::<DocumentMut>().unwrap_or_default();
            document.iter().any(|(key, _)| !OF_CALLS.contains(&key))
        };
        let missing = self.files.iter().filter_map(|(path, text)| {
            let path = joined(Path::new(""), &path.to_string_lossy());
            let inside = path.strip_prefix(root).ok()?;
            let is_missing = text.as_deref().is_some_and(decides) && !tree.join(inside).exists();
            is_missing.then(|| inside.display().to_string())
        });
        missing.collect()
    }

    /// A text that changes when a file does.
    pub(crate) fn text(&self) -> String {
        format!("{:?}", self.files)
    }
}

/// The configuration files in the folders around the repository `root`, outermost
/// first, without those that cargo finds from the folder `seen_from` by itself, and
/// without that of cargo's home, which cargo reads wherever it runs.
pub(crate) fn outer_configs(root: &Path, seen_from: &Path, env: &Environment) -> Vec<PathBuf> {
    let home = cargo_home(env);
    let is_home = |folder: &Path| home.as_ref().is_some_and(|home| folder.join(".cargo") == *home);
    let folders = root.ancestors().skip(1);
    let folders = folders.filter(|folder| !seen_from.starts_with(folder) && !is_home(folder));
    let found = folders.filter_map(|folder| config_in(&folder.join(".cargo")));
    let mut found: Vec<_> = found.collect();
    found.reverse();
    found
}

/// Cargo's home in an environment.
pub(crate) fn cargo_home(env: &Environment) -> Option<PathBuf> {
    let usual = || var(env, "HOME").map(|home| Path::new(home).join(".cargo"));
    var(env, "CARGO_HOME").map(PathBuf::from).or_else(usual)
}

/// A path relative to `base`, without `..`, whether or not it exists.
fn joined(base: &Path, path: &str) -> PathBuf {
    let mut joined = base.to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => drop(joined.pop()),
            part => joined.push(part),
        }
    }
    joined
}

/// Whether a manifest defines a profile. One that is not TOML may: cargo reports it.
pub(crate) fn has_profile(manifest: &str, name: &str) -> bool {
    let Ok(manifest) = manifest.parse::<DocumentMut>() else { return true };
    manifest.get("profile").is_some_and(|profiles| profiles.get(name).is_some())
}

/// How a manifest has rustc compile: the keys of its profiles. One that is not TOML has none.
pub(crate) fn profile_settings(manifest: &str) -> BTreeMap<String, String> {
    manifest.parse().map_or_else(|_| BTreeMap::new(), |manifest| compiler_settings(&manifest))
}

/// How a file of cargo's has rustc compile: the keys of profiles, and the flags.
fn compiler_settings(document: &DocumentMut) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if let Some(profiles) = document.get("profile") {
        add_values("profile", profiles, &mut found);
    }
    let build = document.get("build").map(|build| ("build".to_owned(), build));
    let targets = document.get("target").and_then(Item::as_table_like);
    let targets = targets.into_iter().flat_map(|tables| tables.iter());
    let targets = targets.map(|(name, table)| (format!("target.{name}"), table));
    for (name, table) in build.into_iter().chain(targets) {
        if let Some(flags) = table.get("rustflags") {
            add_values(&format!("{name}.rustflags"), flags, &mut found);
        }
    }
    found
}

/// Adds the values of a table by their full keys, arrays as their strings with spaces between them.
fn add_values(key: &str, item: &Item, found: &mut BTreeMap<String, String>) {
    let text = |value: &toml_edit::Value| match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.clone().decorated("", "").to_string(),
    };
    if let Some(table) = item.as_table_like() {
        for (name, item) in table.iter() {
            add_values(&format!("{key}.{name}"), item, found);
        }
    } else if let Some(list) = item.as_array() {
        found.insert(key.to_owned(), list.iter().map(text).collect::<Vec<_>>().join(" "));
    } else if let Some(value) = item.as_value() {
        found.insert(key.to_owned(), text(value));
    }
}

fn add_strings(item: &Item, found: &mut BTreeSet<String>) {
    if let Some(table) = item.as_table_like() {
        table.iter().for_each(|(_, item)| add_strings(item, found));
    } else if let Some(tables) = item.as_array_of_tables() {
        let items = tables.iter().flat_map(|table| table.iter());
        items.for_each(|(_, item)| add_strings(item, found));
    } else if let Some(list) = item.as_array() {
        list.iter().for_each(|value| add_strings(&Item::Value(value.clone()), found));
    } else {
        found.extend(item.as_str().map(str::to_owned));
    }
}

/// The configuration file in a folder of cargo's: `config`, which wins over `config.toml`.
fn config_in(folder: &Path) -> Option<PathBuf> {
    ["config", "config.toml"].map(|name| folder.join(name)).into_iter().find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scratch folder with these files.
    fn with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            crate::exec::system::write(&folder.path().join(path), text);
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
        assert_eq!(found("cache/cache", &[]), [home, code.clone()]);
        let code = std::slice::from_ref(&code);
        assert_eq!(found("home/.cache/cache", &[]), code);
        assert_eq!(found("cache/cache", &[("HOME", root.join("home"))]), code);
        let set = [("HOME", root.join("x")), ("CARGO_HOME", root.join("home/.cargo"))];
        assert_eq!(found("cache/cache", &set), code);
    }

    fn paths(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// What a file with this text names, relative to `/`, and what it includes.
    fn parsed(text: &str) -> (Configuration, BTreeSet<String>) {
        let mut found = Configuration::default();
        let includes = found.add_text(text, Path::new("/"));
        (found, includes)
    }

    #[test]
    fn a_file_includes_others_in_each_of_the_ways_that_cargo_knows() {
        let includes = |text: &str| parsed(text).1;
        assert_eq!(includes("include = 'a.toml'"), paths(&["a.toml"]));
        assert_eq!(includes("include = ['a.toml', \"b.toml\"]"), paths(&["a.toml", "b.toml"]));
        let tables = "include = ['a.toml', { path = 'b.toml', optional = true }]";
        assert_eq!(includes(tables), paths(&["a.toml", "b.toml"]));
        assert_eq!(includes("[[include]]\npath = 'c.toml'\n"), paths(&["c.toml"]));
        assert_eq!(includes("[build]\njobs = 1\n"), paths(&[]));
    }

    #[test]
    fn the_variables_of_its_environment_are_known_by_name() {
        let text = "env.ONE = '1'\n[env]\n";
        assert_eq!(parsed(text), Default::default(), "that is no TOML");
        let text =
            "[env]\nONE = '1'\nTWO = { value = '2', force = true }\n[env.THREE]\nvalue = '3'\n";
        let names = ["ONE", "TWO", "THREE"].map(str::to_owned);
        assert_eq!(parsed(text).0.variables, BTreeSet::from(names));
    }

    #[test]
    fn an_alias_that_replaces_this_program_is_known() {
        let has_alias = |text: &str| parsed(text).0.has_alias;
        assert!(has_alias("[alias]\ncbdr = 'version'\n"));
        assert!(has_alias("alias.cbdr = ['run', '--']\n"));
        assert!(!has_alias("[alias]\nb = 'cbdr'\n"));
    }

    #[test]
    fn targets_and_their_linkers_are_known() {
        let text = "[build]\ntarget = ['a-b']\n[target.a-b]\nlinker = 'x/cc'\nrunner = 'r'\n\
                    [target.'cfg(all())']\nlinker = 'y'\n";
        let (file, _) = parsed(text);
        assert_eq!(file.targets, paths(&["a-b"]));
        let linkers = [("a-b", "x/cc"), ("cfg(all())", "y")];
        let linkers =
            linkers.map(|(name, linker)| (name.to_owned(), "/".into(), linker.to_owned()));
        assert_eq!(file.linkers, BTreeSet::from(linkers));
        let text = "build.target = 'a-b'\ntarget.a-b.linker = 'x/cc'\n\
                    target.'cfg(all())' = { linker = 'y' }\n";
        let (other, _) = parsed(text);
        assert_eq!((other.linkers, other.targets), (file.linkers, file.targets));
    }

    #[test]
    fn the_folders_in_which_cargo_builds_are_known() {
        let folder = with(&[(
            "a/.cargo/config.toml",
            "build.target-dir = 'b/../out'\nbuild.build-dir = '/shared/{workspace-path-hash}'\n",
        )]);
        let at = folder.path().join("a");
        let expected = [
            ("CARGO_BUILD_BUILD_DIR", "/shared/{workspace-path-hash}".into()),
            ("CARGO_BUILD_TARGET_DIR", at.join("out")),
        ];
        let found = Configuration::read([&*at], &[], &[]).unwrap();
        assert_eq!(found.build_folders, BTreeSet::from(expected));
    }

    #[test]
    fn how_rustc_compiles_is_known_by_keys() {
        let folder = with(&[
            ("a/.cargo/config.toml", "[build]\nrustflags = ['-C', 'target-cpu=native']\n"),
            (
                ".cargo/config.toml",
                "build.rustflags = '-g'\n[target.'cfg(all())']\nrustflags = '-Cdebuginfo=1'\n\
                 linker = 'cc'\n[profile.bench]\nlto = \"thin\"\n",
            ),
        ]);
        let found = Configuration::read([&*folder.path().join("a")], &[], &[]).unwrap();
        let settings = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let expected = [
            ("build.rustflags", "-C target-cpu=native"),
            ("target.cfg(all()).rustflags", "-Cdebuginfo=1"),
            ("profile.bench.lto", "thin"),
        ];
        assert_eq!(found.compiler, settings(&expected));
        let manifest =
            "[profile.release]\nopt-level = 2 # less\n[profile.bench.package.'*']\nlto = true\n";
        let expected =
            [("profile.release.opt-level", "2"), ("profile.bench.package.*.lto", "true")];
        assert_eq!(profile_settings(manifest), settings(&expected));
        assert_eq!(profile_settings("[profile"), settings(&[]));
    }

    #[test]
    fn all_strings_are_found_wherever_they_stand() {
        let text = "[build]\nrustc-wrapper = 'sccache'\nrustflags = ['-Clinker=clang']\n\
                    [target.'cfg(debug_assertions)']\nlinker = '/usr/bin/ld'\n\
                    [profile.release.package]\na = { opt-level = 's' }\n";
        let strings = ["sccache", "-Clinker=clang", "/usr/bin/ld", "s"];
        let strings = strings.map(|text| ("/".into(), text.to_owned()));
        assert_eq!(parsed(text).0.strings, BTreeSet::from(strings));
    }
}
