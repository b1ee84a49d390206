//! What a build left behind that tells what it has read: cargo's messages,
//! rustc's dep-info, the output of build scripts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::Error;
use crate::exec::system::canonical;
use crate::workspace::cache::{Environment, Inputs};
use crate::workspace::cargo::{BuildScript, Built, Tracked};

/// The variable by which cargo tells a bench target of a folder for its files.
const SCRATCH: &str = "CARGO_TARGET_TMPDIR";

/// The variables that cargo and rustup set for the programs that they run, and
/// that users set, too. Where the two agree, it does not show who did.
const HOMES: [&str; 2] = ["CARGO_HOME", "RUSTUP_HOME"];

/// The names of libraries, by how they begin and end.
const LIBRARIES: [(&str, &str); 6] =
    [("lib", ".a"), ("lib", ".so"), ("lib", ".dylib"), ("lib", ".tbd"), ("", ".lib"), ("", ".dll")];

/// Where the files lie that need not be watched, or from where others are named.
pub(super) struct Places {
    /// The side's folder in the cache: what lies in it is in the commit, or
    /// was made of it.
    pub(super) side: PathBuf,
    /// The root of the workspace, to which rustc's paths are relative.
    pub(super) workspace: PathBuf,
    /// Cargo's home: the packages of registries in it never change.
    pub(super) home: Option<PathBuf>,
}

impl Places {
    /// Whether a file or folder may change while the commit does not.
    fn is_outside(&self, path: &Path) -> bool {
        let kept =
            self.home.iter().flat_map(|home| ["registry", "git"].map(|name| home.join(name)));
        let kept: Vec<PathBuf> = kept.map(|folder| canonical(&folder).unwrap_or(folder)).collect();
        !path.starts_with(&self.side) && !kept.iter().any(|folder| path.starts_with(folder))
    }
}

/// The traces of one or more builds in one folder.
#[derive(Default)]
pub(super) struct Traces {
    /// Variables that shape how the executables are run.
    pub(super) names: BTreeSet<String>,
    packages: BTreeSet<PathBuf>,
    scripts: Vec<BuildScript>,
    /// The sources of the targets asked for.
    sources: BTreeSet<PathBuf>,
    /// What rustc has read, of all units.
    compiled: Tracked,
}

impl Traces {
    /// Adds what cargo said of a build, and to `files` what it made.
    pub(super) fn add(&mut self, built: Built, files: &mut BTreeSet<PathBuf>) {
        files.extend(built.files);
        self.packages.extend(built.packages);
        self.scripts.extend(built.scripts);
        self.sources.insert(built.source);
    }

    /// Reads all dep-info below the folder `live`, which cargo knows as `into`.
    /// Some of it may be of earlier builds; then a little more is watched than
    /// need be.
    ///
    /// # Errors
    /// When the folder can't be read.
    pub(super) fn read_dep_info(&mut self, live: &Path, into: &Path) -> Result<(), Error> {
        let mut folders = vec![live.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs_err::read_dir(&folder).map_err(Error::io("read", &folder))? {
                let entry = entry.map_err(Error::io("read", &folder))?;
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    if entry.file_name() != "incremental" {
                        folders.push(path);
                    }
                } else if path.extension().is_some_and(|extension| extension == "d") {
                    let text = fs_err::read(&path).map_err(Error::io("read", &path))?;
                    let tracked = Tracked::of_dep_info(&String::from_utf8_lossy(&text));
                    self.compiled.paths.extend(tracked.paths);
                    for (name, value) in tracked.variables {
                        let known = self.compiled.variables.entry(name).or_default();
                        // What was copied from the other side has its paths.
                        let is_ours = |value: &String| Path::new(value).starts_with(into);
                        if known.is_none() || value.as_ref().is_some_and(is_ours) {
                            *known = value;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The folder below `into` that a bench target was told of, if it asked.
    pub(super) fn scratch_folder(&self, into: &Path) -> Option<PathBuf> {
        let told = self.compiled.variables.get(SCRATCH)?.as_ref().map(PathBuf::from)?;
        (told.starts_with(into) && told.is_dir()).then_some(told)
    }

    /// What the builds, which started at `began`, have read that is not in the
    /// commit.
    pub(super) fn inputs(&self, places: &Places, env: &Environment, began: SystemTime) -> Inputs {
        let mut inputs = Inputs::default();
        let set = self.scripts.iter().flat_map(|script| &script.variables);
        let names = self.names.iter().chain(self.compiled.variables.keys()).chain(set);
        inputs.add_variables(names.map(String::as_str), env);
        inputs.add_variables(HOMES, env);
        for package in self.packages.iter().filter(|package| places.is_outside(package)) {
            inputs.add_source(package.clone(), began);
        }
        let is_known = |source: &PathBuf| {
            self.compiled.paths.iter().any(|path| source.ends_with(path) || path == source)
        };
        if !self.sources.iter().all(is_known) {
            inputs.set_unknown("rustc's dep-info was not found");
        }
        for path in &self.compiled.paths {
            // Of an earlier build, it may be gone.
            let Ok(path) = canonical(&places.workspace.join(path)) else { continue };
            let in_package = || self.packages.iter().any(|package| path.starts_with(package));
            if places.is_outside(&path) && !in_package() {
                inputs.add_source(path, began);
            }
        }
        for script in &self.scripts {
            add_script(&mut inputs, script, places, env, began);
        }
        inputs
    }
}

fn add_script(
    inputs: &mut Inputs,
    script: &BuildScript,
    places: &Places,
    env: &Environment,
    began: SystemTime,
) {
    let package = script.package.display();
    let Some(output) = script.output() else {
        return inputs.set_unknown(format!("no output of the build script of `{package}`"));
    };
    let tracked = Tracked::of_build_script(&output);
    inputs.add_variables(tracked.variables.keys().map(String::as_str), env);
    for path in tracked.paths {
        match canonical(&script.package.join(&path)) {
            Ok(path) if places.is_outside(&path) => inputs.add_source(path, began),
            Ok(_) => {}
            // Cargo then runs the script in every build.
            Err(_) => inputs.set_unknown(format!(
                "the build script of `{package}` asks to be run until there is `{}`",
                path.display()
            )),
        }
    }
    for folder in script.library_folders.iter().filter(|folder| places.is_outside(folder)) {
        for name in &script.libraries {
            for (begin, end) in LIBRARIES {
                let path = folder.join(format!("{begin}{name}{end}"));
                if path.is_file() {
                    inputs.add_library(path, began);
                }
            }
        }
    }
}
