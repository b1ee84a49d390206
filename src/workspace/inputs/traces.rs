//! The traces that a build leaves of what it has read: cargo's messages, rustc's
//! dep-info, the output of build scripts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::configuration::cargo_home;
use super::{FileRole, Inputs};
use crate::error::Error;
use crate::workspace::cargo::{BuildScript, Built};
use crate::workspace::environment::Environment;
use crate::workspace::files::{is_incremental, walk};

/// The variable by which cargo passes a folder for its files to a bench target.
const SCRATCH: &str = "CARGO_TARGET_TMPDIR";

/// The variables that cargo and rustup set for the programs that they run, but
/// that users set, too. If the two agree, it is not known who did.
const HOMES: [&str; 2] = ["CARGO_HOME", "RUSTUP_HOME"];

/// Prefixes and suffixes of the names of libraries.
const LIBRARIES: [(&str, &str); 6] =
    [("lib", ".a"), ("lib", ".so"), ("lib", ".dylib"), ("lib", ".tbd"), ("", ".lib"), ("", ".dll")];

/// Builds in one target folder, and where they took place.
pub(crate) struct BuildSite<'a> {
    pub(crate) built: &'a [Built],
    /// When they began.
    pub(crate) began: SystemTime,
    pub(crate) env: &'a Environment,
    /// The target folder as cargo knows it.
    pub(crate) into: &'a Path,
    /// The side's folder in the cache: its content is in the commit, or was made
    /// from it.
    pub(crate) side: PathBuf,
    /// The root of the workspace, to which rustc's paths are relative.
    pub(crate) workspace: &'a Path,
}

/// The traces of builds in one target folder.
pub(crate) struct Traces<'a> {
    site: BuildSite<'a>,
    /// The folders of cargo's home in which the packages of registries are: they never change.
    registries: Vec<PathBuf>,
    /// What rustc has read, for all units.
    compiled: Tracked,
}

impl<'a> Traces<'a> {
    /// Reads all dep-info in the target folder, which is `live`.
    /// Some of it may be from earlier builds; then a little more is checked than
    /// necessary.
    ///
    /// # Errors
    /// When the folder can't be read.
    pub(crate) fn read(site: BuildSite<'a>, live: &Path) -> Result<Self, Error> {
        let mut compiled = Tracked::default();
        for (_, tracked) in dep_info(live)? {
            compiled.paths.extend(tracked.paths);
            for (name, value) in tracked.variables {
                let known = compiled.variables.entry(name).or_default();
                // What was copied from the other side contains its paths.
                let is_ours = |value: &String| Path::new(value).starts_with(site.into);
                if known.is_none() || value.as_ref().is_some_and(is_ours) {
                    *known = value;
                }
            }
        }
        let registries = cargo_home(site.env).into_iter().flat_map(|home| {
            ["registry", "git"]
                .map(|name| home.join(name).canonicalize().unwrap_or(home.join(name)))
        });
        Ok(Traces { registries: registries.collect(), site, compiled })
    }

    /// The folder below the target folder that was passed to a bench target, if it uses one.
    pub(crate) fn scratch_folder(&self) -> Option<PathBuf> {
        let folder = self.compiled.variables.get(SCRATCH)?.as_ref().map(PathBuf::from)?;
        (folder.starts_with(self.site.into) && folder.is_dir()).then_some(folder)
    }

    /// What the builds have read that is not in the commit. Runs of their programs depend on the
    /// variables `run_variables`.
    pub(crate) fn inputs<'b>(&self, run_variables: impl IntoIterator<Item = &'b str>) -> Inputs {
        let BuildSite { built, began, env, workspace, .. } = self.site;
        let scripts = || built.iter().flat_map(|built| &built.scripts);
        let packages: BTreeSet<_> = built.iter().flat_map(|built| &built.packages).collect();
        let mut inputs = Inputs::default();
        inputs.add_variables(run_variables, env);
        let read = scripts().flat_map(|script| &script.variables);
        inputs.add_variables(read.chain(self.compiled.variables.keys()).map(String::as_str), env);
        inputs.add_variables(HOMES, env);
        for package in packages.iter().filter(|package| self.is_outside(package)) {
            inputs.add_file(package.to_path_buf(), FileRole::Source, began);
        }
        let is_known = |built: &Built| {
            let mut paths = self.compiled.paths.iter();
            paths.any(|path| built.source.ends_with(path) || *path == built.source)
        };
        if !built.iter().all(is_known) {
            inputs.set_unknown("rustc's dep-info was not found");
        }
        for path in &self.compiled.paths {
            // From an earlier build, it may be missing.
            let Ok(path) = workspace.join(path).canonicalize() else { continue };
            // Also one in a package: a newer file beside it would hide that it is older now.
            if self.is_outside(&path) {
                inputs.add_file(path, FileRole::Source, began);
            }
        }
        scripts().for_each(|script| self.add_script(&mut inputs, script));
        inputs
    }

    fn add_script(&self, inputs: &mut Inputs, script: &BuildScript) {
        let BuildSite { began, env, .. } = self.site;
        let package = script.package.display();
        // Next to its `OUT_DIR`, in cargo's layout since 1.99 in a folder `run`.
        let mut files =
            ["output", "run/stdout"].iter().map(|name| script.out_dir.with_file_name(name));
        let Some(output) = files.find_map(|file| std::fs::read(file).ok()) else {
            return inputs.set_unknown(format!("no output of the build script of `{package}`"));
        };
        // What is not for cargo need not be UTF-8.
        let tracked = Tracked::of_build_script(&String::from_utf8_lossy(&output));
        inputs.add_variables(tracked.variables.keys().map(String::as_str), env);
        for path in tracked.paths {
            match script.package.join(&path).canonicalize() {
                Ok(path) if self.is_outside(&path) => {
                    inputs.add_file(path, FileRole::Source, began);
                }
                Ok(_) => {}
                // Cargo then runs the script in every build.
                Err(_) => inputs.set_unknown(format!(
                    "the build script of `{package}` requests to be run until `{}` exists",
                    path.display()
                )),
            }
        }
        for folder in script.library_folders.iter().filter(|folder| self.is_outside(folder)) {
            for name in &script.libraries {
                let files = LIBRARIES.map(|(begin, end)| format!("{begin}{name}{end}"));
                for path in files.map(|file| folder.join(file)).into_iter().filter(|p| p.is_file())
                {
                    inputs.add_file(path, FileRole::Library, began);
                }
            }
        }
    }

    /// Whether a file or folder may change while the commit does not.
    fn is_outside(&self, path: &Path) -> bool {
        let mut inside = std::iter::once(&self.site.side).chain(&self.registries);
        !inside.any(|folder| path.starts_with(folder))
    }
}

/// The files that compilers have read for what is in a target folder.
#[derive(Default)]
pub(crate) struct ReadFiles {
    /// All of them; those in the workspace are relative to its root.
    pub(crate) all: BTreeSet<PathBuf>,
    /// The sources of build scripts, as the ends of their paths.
    pub(crate) of_scripts: BTreeSet<PathBuf>,
}

/// Finds them in the dep-info of a target folder.
pub(crate) fn read_files(live: &Path) -> Result<ReadFiles, Error> {
    let mut read = ReadFiles::default();
    for (path, Tracked { paths, .. }) in dep_info(live)? {
        // The name of the crate is cargo's.
        let name = path.file_name().unwrap_or_default();
        if name.as_encoded_bytes().starts_with(b"build_script_") {
            let end = |path: &PathBuf| path.iter().skip_while(|part| *part == "..").collect();
            read.of_scripts.extend(paths.iter().map(end));
        }
        read.all.extend(paths);
    }
    Ok(read)
}

/// What the compilers have recorded in each dep-info file of a target folder.
fn dep_info(live: &Path) -> Result<Vec<(PathBuf, Tracked)>, Error> {
    let mut found = Vec::new();
    for (path, about) in walk(live, is_incremental)? {
        if about.is_dir() || path.extension().is_none_or(|extension| extension != "d") {
            continue;
        }
        let path = live.join(path);
        let text = fs_err::read(&path).map_err(Error::io("read", &path))?;
        found.push((path, Tracked::of_dep_info(&String::from_utf8_lossy(&text))));
    }
    Ok(found)
}

/// Environment variables and files that a build has read, as recorded by its
/// tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tracked {
    /// The variables, each with the value that rustc saw, if known.
    variables: BTreeMap<String, Option<String>>,
    /// The files and folders. Relative paths are relative to where the tool
    /// ran.
    paths: BTreeSet<PathBuf>,
}

impl Tracked {
    /// Reads a dep-info file of rustc: rules as in a Makefile, and a comment
    /// `# env-dep:NAME=VALUE` for each variable (`NAME` alone for one that was
    /// not set).
    fn of_dep_info(text: &str) -> Self {
        let mut tracked = Tracked::default();
        for line in text.lines() {
            if let Some(variable) = line.strip_prefix("# env-dep:") {
                let (name, value) = variable
                    .split_once('=')
                    .map_or((variable, None), |(name, value)| (name, Some(unescape(value))));
                tracked.variables.insert(name.to_owned(), value);
            } else if !line.starts_with('#')
                && let Some((_, paths)) = line.split_once(": ")
            {
                tracked.paths.extend(words(paths));
            }
        }
        tracked
    }

    /// Reads what a build script printed: its lines `rerun-if-env-changed` and
    /// `rerun-if-changed`, with one colon or with two.
    fn of_build_script(output: &str) -> Self {
        let mut tracked = Tracked::default();
        for line in output.lines() {
            let Some(instruction) = line.strip_prefix("cargo:") else { continue };
            let instruction = instruction.strip_prefix(':').unwrap_or(instruction);
            let Some((key, value)) = instruction.split_once('=') else { continue };
            let value = value.trim_end();
            match key {
                "rerun-if-env-changed" => drop(tracked.variables.insert(value.to_owned(), None)),
                "rerun-if-changed" => drop(tracked.paths.insert(PathBuf::from(value))),
                _ => {}
            }
        }
        tracked
    }
}

/// The words of a rule; a blank in a word has a backslash before it.
fn words(text: &str) -> Vec<PathBuf> {
    let text = text.replace("\\ ", "\0");
    let words = text.split(' ').filter(|word| !word.is_empty());
    words.map(|word| word.replace('\0', " ").into()).collect()
}

/// Undoes what rustc does to line ends and backslashes in the value of a
/// variable.
fn unescape(value: &str) -> String {
    let value = value.replace("\\\\", "\0").replace("\\n", "\n").replace("\\r", "\r");
    value.replace('\0', "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables<'a>(pairs: &[(&'a str, Option<&'a str>)]) -> BTreeMap<String, Option<String>> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))).collect()
    }

    #[test]
    fn dep_info_names_files_and_variables() {
        let text = "/t/deps/b-1.d: benches/b.rs /data/a\\ b.txt\n\n\
                    /t/deps/b-1: benches/b.rs /data/a\\ b.txt\n\n\
                    benches/b.rs:\n/data/a\\ b.txt:\n\n\
                    # env-dep:ROUNDS=3\n# env-dep:TEXT=a\\nb\\\\c\n# env-dep:UNSET\n";
        let tracked = Tracked::of_dep_info(text);
        let paths = ["benches/b.rs", "/data/a b.txt"].map(PathBuf::from);
        assert_eq!(tracked.paths, BTreeSet::from(paths));
        let expected = [("ROUNDS", Some("3")), ("TEXT", Some("a\nb\\c")), ("UNSET", None)];
        assert_eq!(tracked.variables, variables(&expected));
    }

    #[test]
    fn build_scripts_speak_with_one_colon_or_two() {
        let output = "cargo:rerun-if-env-changed=ONE\ncargo::rerun-if-env-changed=TWO\n\
                      cargo:rerun-if-changed=wrapper.h\ncargo::rerun-if-changed=/usr/include/x.h\n\
                      cargo:warning=cargo:rerun-if-env-changed=NO\n said cargo:rerun-if-changed=no\n";
        let tracked = Tracked::of_build_script(output);
        assert_eq!(tracked.variables, variables(&[("ONE", None), ("TWO", None)]));
        let paths = ["wrapper.h", "/usr/include/x.h"].map(PathBuf::from);
        assert_eq!(tracked.paths, BTreeSet::from(paths));
    }

    #[test]
    fn what_is_neither_names_nothing() {
        assert_eq!(Tracked::of_dep_info("\n:\n# x\nsrc/lib.rs:\n"), Tracked::default());
        assert_eq!(
            Tracked::of_build_script("cargo:\ncargo:rerun-if-changed\n"),
            Tracked::default()
        );
    }
}
