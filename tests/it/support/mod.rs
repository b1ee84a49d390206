//! A repository made from a fixture, and the binary run in it.

#[cfg(unix)]
pub(crate) mod live;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// Variables of the environment.
pub(crate) type Variables = &'static [(&'static str, &'static str)];

/// With these, cargo lays out its build folder as it did before 1.99, or as it does since.
pub(crate) const LAYOUTS: [Variables; 2] = [
    &[("RUSTC_BOOTSTRAP", "1"), ("CARGO_UNSTABLE_BUILD_DIR_NEW_LAYOUT", "false")],
    &[("RUSTC_BOOTSTRAP", "1"), ("CARGO_UNSTABLE_BUILD_DIR_NEW_LAYOUT", "true")],
];

/// With these, rustc also mangles names as it did before 1.97, or as it does since.
pub(crate) const RELEASES: [Variables; 2] = [
    &[
        LAYOUTS[0][0],
        LAYOUTS[0][1],
        ("RUSTFLAGS", "-Zunstable-options -Csymbol-mangling-version=legacy"),
    ],
    &[LAYOUTS[1][0], LAYOUTS[1][1], ("RUSTFLAGS", "-Csymbol-mangling-version=v0")],
];

/// Where scratch folders are made: `TMPDIR` if it is set, else in memory if there is room and
/// programs can be run from there. Tests create and delete so many files that ext4 takes a tenth
/// more of the processor's time.
static SCRATCH: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let usual = std::env::temp_dir();
    if std::env::var_os("TMPDIR").is_none() && can_hold_programs(memory) {
        memory.to_owned()
    } else {
        usual
    }
});

/// Whether a folder has 4 GiB for builds, and the system runs what is there.
fn can_hold_programs(folder: &Path) -> bool {
    let Ok(here) = tempfile::tempdir_in(folder) else { return false };
    let program = here.path().join("program");
    let df = Command::new("df").args(["-Pk"]).arg(folder).output();
    let free = df.ok().and_then(|output| {
        let text = String::from_utf8(output.stdout).ok()?;
        text.lines().nth(1)?.split_whitespace().nth(3)?.parse::<u64>().ok()
    });
    let is_run = || Command::new(&program).stdout(Stdio::null()).status();
    free.is_some_and(|kilobytes| kilobytes > 4 << 20)
        && std::fs::copy("/bin/true", &program).is_ok()
        && is_run().is_ok_and(|status| status.success())
}

/// A scratch folder for one test.
#[track_caller]
pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in(&*SCRATCH).unwrap()
}

/// The variables with which cargo and rustc take the least time: their PATH, and no certificates,
/// of which cargo would read all whenever it is called. Nothing is fetched from other machines.
pub(crate) fn toolchain() -> [(&'static str, &'static OsStr); 3] {
    let none = OsStr::new("/dev/null");
    [("PATH", search_path()), ("SSL_CERT_FILE", none), ("SSL_CERT_DIR", none)]
}

/// PATH with the folder of the toolchain instead of rustup's, whose proxies would look up cargo
/// and rustc in each of their calls, and which each comparison would ask for the toolchain. Before
/// it, [`quick_rustc`].
pub(crate) fn search_path() -> &'static OsStr {
    static PATH: LazyLock<OsString> = LazyLock::new(|| {
        let usual = std::env::var_os("PATH").unwrap();
        let rustc = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
        let bin = Path::new(String::from_utf8(rustc.stdout).unwrap().trim()).join("bin");
        let has = |name: &str| bin.join(name).is_file();
        let direct = (has("cargo") && has("rustc")).then(|| bin.clone());
        let is_rustups = |folder: &PathBuf| {
            folder.join("rustup").is_file() && !folder.join("sh").exists() && direct.is_some()
        };
        let others = std::env::split_paths(&usual).filter(|folder| !is_rustups(folder));
        let quick = direct.as_deref().and_then(quick_rustc);
        std::env::join_paths(quick.iter().chain(&direct).cloned().chain(others)).unwrap()
    });
    &PATH
}

/// What is asked of rustc so often that a script answers it: its version, by each comparison several
/// times, and what it knows of the target, by cargo for each new target folder.
const QUESTIONS: [&str; 2] = [
    "-vV",
    "- --crate-name ___ --print=file-names --crate-type bin --crate-type rlib \
     --crate-type dylib --crate-type cdylib --crate-type staticlib --crate-type proc-macro \
     --print=sysroot --print=split-debuginfo --print=crate-name --print=cfg -Wwarnings",
];

/// A folder with a rustc that answers these questions without loading the compiler. All other calls
/// are those of the rustc in `bin`.
fn quick_rustc(bin: &Path) -> Option<PathBuf> {
    let rustc = bin.join("rustc");
    let mut text = String::from("#!/bin/sh\ncase $RUSTC_BOOTSTRAP:$* in\n");
    // With the variable, it knows more of the target.
    for (bootstrap, question) in ["", "1"].into_iter().flat_map(|it| QUESTIONS.map(|of| (it, of))) {
        let mut command = Command::new(&rustc);
        command.args(question.split(' ')).stdin(Stdio::null()).env_remove("RUSTC_BOOTSTRAP");
        command.envs((!bootstrap.is_empty()).then_some(("RUSTC_BOOTSTRAP", bootstrap)));
        let answer = command.output().ok()?;
        if answer.status.success() && answer.stderr.is_empty() {
            let answer = String::from_utf8(answer.stdout).ok()?;
            text += &format!("'{bootstrap}:{question}') printf %s '{answer}' ;;\n");
        }
    }
    text += &format!("*) exec '{}' \"$@\" ;;\nesac\n", rustc.display());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rustc");
    let quick = folder.join("rustc");
    if std::fs::read_to_string(&quick).is_ok_and(|known| known == text) {
        return Some(folder);
    }
    // Other processes may do the same.
    std::fs::create_dir_all(&folder).ok()?;
    let mut new = tempfile::NamedTempFile::new_in(&folder).ok()?;
    std::io::Write::write_all(&mut new, text.as_bytes()).ok()?;
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(new.path(), mode).ok()?;
    }
    // Closed first: what is open for writing can't be executed.
    new.into_temp_path().persist(quick).ok()?;
    Some(folder)
}

/// What earlier tests' caches have of the compilers and linkers of this machine, which is as good
/// for all others: their digests, and the objects that scatter the heap.
static SHARED: Mutex<BTreeMap<PathBuf, Vec<u8>>> = Mutex::new(BTreeMap::new());

fn shared() -> MutexGuard<'static, BTreeMap<PathBuf, Vec<u8>>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a cache, with what the caches of earlier tests have of the machine's tools.
#[track_caller]
pub(crate) fn create_cache(cache: &Path) {
    let files = shared().clone();
    let mut folder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    for (path, content) in files {
        let path = cache.join(path);
        folder.recursive(true).create(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

/// Keeps what a cache has for those of other tests.
fn keep_for_others(cache: &Path) {
    let objects = std::fs::read_dir(cache.join("heap-v1")).into_iter().flatten().flatten();
    let objects = objects.map(|entry| entry.path()).filter(|path| path.extension().is_some());
    let mut shared = shared();
    for path in objects.chain([cache.join("tools-v1")]) {
        let name = path.strip_prefix(cache).unwrap();
        if !shared.contains_key(name)
            && let Ok(content) = std::fs::read(&path)
        {
            shared.insert(name.to_owned(), content);
        }
    }
}

impl Drop for Repo {
    fn drop(&mut self) {
        keep_for_others(&self.folder.path().join("cache"));
    }
}

/// A scratch folder with a git repository `repo` and a cache of its own.
pub(crate) struct Repo {
    folder: tempfile::TempDir,
    path: PathBuf,
    /// The environment of its runs of the binary.
    env: Variables,
}

impl Repo {
    /// A repository with one commit of `fixtures/NAME`, on `main`.
    #[track_caller]
    pub(crate) fn new(fixture: &str) -> Self {
        Repo::named(fixture, "repo")
    }

    /// The same, in a folder of that name.
    #[track_caller]
    pub(crate) fn named(fixture: &str, name: &str) -> Self {
        Repo::inside(scratch(), fixture, name)
    }

    /// The same on the disk of temporary files. Unlike memory, it reuses the numbers of files.
    #[track_caller]
    pub(crate) fn on_disk(fixture: &str) -> Self {
        Repo::inside(tempfile::tempdir().unwrap(), fixture, "repo")
    }

    #[track_caller]
    fn inside(folder: tempfile::TempDir, fixture: &str, name: &str) -> Self {
        let path = folder.path().canonicalize().unwrap().join(name);
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(fixture);
        copy(&from, &path);
        let repo = Repo { folder, path, env: &[] };
        repo.create_git_folder(fixture);
        create_cache(&repo.cache());
        repo
    }

    /// Makes a repository of the fixture's files, with one commit. Git does that for the first
    /// repository of each fixture, and those after it have the same files.
    #[track_caller]
    fn create_git_folder(&self, fixture: &str) {
        let git = self.path.join(".git");
        let known = GIT_FOLDERS.lock().unwrap().get(fixture).cloned();
        if let Some(files) = known {
            for (name, content) in files {
                let path = git.join(name);
                match content {
                    Some(content) => std::fs::write(path, content).unwrap(),
                    None => std::fs::create_dir(path).unwrap(),
                }
            }
            return;
        }
        // Without the examples of hooks that git would copy.
        self.git(&["init", "--quiet", "--initial-branch=main", "--template="]);
        for folder in ["hooks", "info"] {
            std::fs::create_dir(git.join(folder)).unwrap();
        }
        self.commit("first");
        let mut files = vec![(PathBuf::new(), None)];
        read_files(&git, Path::new(""), &mut files);
        GIT_FOLDERS.lock().unwrap().insert(fixture.to_owned(), files);
    }

    /// With these variables in the environment of its runs of the binary.
    pub(crate) fn with(mut self, env: Variables) -> Self {
        self.env = env;
        self
    }

    /// The root of the working tree.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The scratch folder around it.
    pub(crate) fn around(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// The cache that its runs of the binary use.
    pub(crate) fn cache(&self) -> PathBuf {
        self.around().join("cache")
    }

    /// The repository's part of that cache.
    #[track_caller]
    pub(crate) fn cached(&self) -> PathBuf {
        let parts = cached(&self.cache());
        assert_eq!(parts.len(), 1);
        parts[0].clone()
    }

    /// Runs git and returns what it printed.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.path, args)
    }

    /// Writes a file of the working tree.
    #[track_caller]
    pub(crate) fn write(&self, path: &str, text: &str) {
        let full = self.path.join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
    }

    /// Replaces the one occurrence of `old` in a file.
    #[track_caller]
    pub(crate) fn replace(&self, path: &str, old: &str, new: &str) {
        let full = self.path.join(path);
        let text = std::fs::read_to_string(&full).unwrap();
        assert_eq!(text.matches(old).count(), 1, "{old:?} in {path}");
        std::fs::write(full, text.replace(old, new)).unwrap();
    }

    /// Commits everything; returns the commit. Only git itself runs the filters that attributes
    /// name.
    #[track_caller]
    pub(crate) fn commit(&self, message: &str) -> String {
        if !self.path.join(".gitattributes").exists() {
            return commit(&self.path, message).unwrap();
        }
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.head()
    }

    /// Creates a branch and switches to it, as git does.
    #[track_caller]
    pub(crate) fn branch(&self, name: &str) {
        let (git, commit) = (self.path.join(".git"), self.head());
        let file = git.join("refs/heads").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!("{commit}\n")).unwrap();
        std::fs::write(git.join("HEAD"), format!("ref: refs/heads/{name}\n")).unwrap();
    }

    /// The commit of HEAD, from the files in which git has just written it if they are there.
    #[track_caller]
    pub(crate) fn head(&self) -> String {
        let git = self.path.join(".git");
        let head = std::fs::read_to_string(git.join("HEAD")).unwrap_or_default();
        let branch = head.trim_end().strip_prefix("ref: ").map(|name| git.join(name));
        match branch.and_then(|branch| std::fs::read_to_string(branch).ok()) {
            Some(commit) => commit.trim_end().to_owned(),
            None => self.git(&["rev-parse", "HEAD"]),
        }
    }

    /// The binary, to be run in the repository: `args` split at blanks.
    pub(crate) fn cbdr(&self, args: &str) -> Cbdr {
        let cbdr = Cbdr::new(&self.path, &self.cache()).args(args.split_whitespace());
        self.env.iter().fold(cbdr, |cbdr, (name, value)| cbdr.env(name, value))
    }
}

/// The git folders of repositories with one commit, by fixture.
static GIT_FOLDERS: Mutex<BTreeMap<String, Files>> = Mutex::new(BTreeMap::new());

/// Paths, each folder before what is in it, and the contents of those that are files.
type Files = Vec<(PathBuf, Option<Vec<u8>>)>;

fn read_files(folder: &Path, name: &Path, files: &mut Files) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = name.join(path.file_name().unwrap());
        if path.is_dir() {
            files.push((name.clone(), None));
            read_files(&path, &name, files);
        } else {
            files.push((name, Some(std::fs::read(path).unwrap())));
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        // The fixtures' manifests are named so that no tool takes them for
        // ours.
        let name = entry.file_name().to_str().unwrap().replace("Cargo_fixture", "Cargo");
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to.join(name));
        } else {
            std::fs::copy(entry.path(), to.join(name)).unwrap();
        }
    }
}

/// The parts of a cache that belong to single repositories, whatever the version of its
/// layout.
pub(crate) fn cached(cache: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let is_bucket = |path: &PathBuf| {
        path.file_name().unwrap().as_encoded_bytes().starts_with(b"repositories-v")
    };
    entries(cache).into_iter().filter(is_bucket).flat_map(|bucket| entries(&bucket)).collect()
}

/// Commits everything in a repository as git would, with the author and the time of
/// [`git_command`], but without processes.
fn commit(folder: &Path, message: &str) -> Result<String, git2::Error> {
    let repository = git2::Repository::open(folder)?;
    let mut index = repository.index()?;
    index.update_all(["*"], None)?;
    index.add_all(["*"], git2::IndexAddOption::DEFAULT, None)?;
    index.write()?;
    let tree = repository.find_tree(index.write_tree()?)?;
    // 2026-01-01T00:00:00Z.
    let author = git2::Signature::new("A", "a@localhost", &git2::Time::new(1_767_225_600, 0))?;
    let parent = repository.head().ok().map(|head| head.peel_to_commit()).transpose()?;
    let parents = Vec::from_iter(&parent);
    let message = format!("{message}\n");
    let new = repository.commit(Some("HEAD"), &author, &author, &message, &tree, &parents)?;
    Ok(new.to_string())
}

/// Runs git in a folder, regardless of the machine's configuration.
#[track_caller]
pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let output = git_command(folder, args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// The command of [`git`].
pub(crate) fn git_command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).args(args).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    // Repositories that are gone soon need no maintenance, and need not survive a power failure.
    let settings = [("maintenance.auto", "false"), ("core.fsync", "none")];
    command.env("GIT_CONFIG_COUNT", settings.len().to_string());
    for (number, (name, value)) in settings.into_iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{number}"), name);
        command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
    }
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "A")
        .env("GIT_AUTHOR_EMAIL", "a@localhost")
        .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
        .env("GIT_COMMITTER_NAME", "A")
        .env("GIT_COMMITTER_EMAIL", "a@localhost")
        .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z");
    command
}

/// A call of the binary.
pub(crate) struct Cbdr {
    command: Command,
}

impl Cbdr {
    /// In a folder, with a cache.
    pub(crate) fn new(folder: &Path, cache: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-cbdr"));
        command.current_dir(folder).stdin(Stdio::null());
        for name in [
            "GITHUB_BASE_REF",
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
            "GITHUB_STEP_SUMMARY",
            // With it, libtest shuffles tests.
            "RUSTC_BOOTSTRAP",
        ] {
            command.env_remove(name);
        }
        command.env("CBDR_CACHE_DIR", cache).env("NO_COLOR", "1").env("CARGO_TERM_COLOR", "never");
        command.env("TMPDIR", &*SCRATCH);
        command.envs(toolchain());
        Cbdr { command }
    }

    /// Further arguments, as they are.
    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// A variable of its environment.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Another folder to run it in.
    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// The same call by a shell that does something else before, in the process that then makes
    /// the call.
    pub(crate) fn after(self, script: &str) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{script} && exec \"$0\" \"$@\"")]).stdin(Stdio::null());
        shell.arg(self.command.get_program()).args(self.command.get_args());
        shell.current_dir(self.command.get_current_dir().unwrap());
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        Cbdr { command: shell }
    }

    /// The command, for tests that start it themselves.
    pub(crate) fn into_command(self) -> Command {
        self.command
    }

    /// Runs it to its end.
    #[track_caller]
    pub(crate) fn run(mut self) -> Ran {
        let output = self.command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

/// What a call of the binary came to.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// Its standard output.
    pub(crate) stdout: String,
    /// Its standard error.
    pub(crate) stderr: String,
}

impl Ran {
    /// Demands an exit code.
    #[track_caller]
    pub(crate) fn code(self, expected: i32) -> Self {
        let Ran { code, stdout, stderr } = &self;
        assert_eq!(*code, Some(expected), "--- stdout\n{stdout}\n--- stderr\n{stderr}");
        self
    }

    /// Demands a piece of standard error.
    #[track_caller]
    pub(crate) fn says(self, piece: &str) -> Self {
        assert!(self.stderr.contains(piece), "{piece:?} is not in:\n{}", self.stderr);
        self
    }

    /// Demands that a piece is not in standard error.
    #[track_caller]
    pub(crate) fn never_says(self, piece: &str) -> Self {
        assert!(!self.stderr.contains(piece), "{piece:?} is in:\n{}", self.stderr);
        self
    }

    /// Standard output as the one JSON object that it is.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("{error}: {self:#?}"),
        }
    }
}

/// Numbers from a seed (SplitMix64, Steele et al. 2014).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// One from 0 up to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Says why the rest of a test is left out, also where tests' output is not shown.
pub(crate) fn skipped(why: &str) {
    use std::io::Write;
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr().lock(), "SKIPPED: {test}: {why}");
}

/// A number from the environment, for those who want more than is usual.
pub(crate) fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

/// Measures a single pair, as only a shard may, here one of one. What is not about verdicts needs no
/// more.
pub(crate) const ONE_PAIR: &str = "--shard 1/1 --max-pairs 1 --samples ../one-pair.csv";

/// The beginning of the `main` of a benchmark that is recognised as one of libtest: `names` are
/// those that it is to run, or none for all. It is compiled so often that it does without
/// iterators.
pub(crate) const LIBTEST_NAMES: &str = r#"let mut names = Vec::new();
    for arg in std::env::args_os().skip(1) {
        if arg == "--help" {
            println!("--exact   Exactly match filters rather than by substring");
            return;
        }
        if !arg.as_encoded_bytes().starts_with(b"-") {
            names.push(arg);
        }
    }"#;

/// The steady fixture with a branch on which the work is `rounds`.
pub(crate) fn branch_with(rounds: &str) -> Repo {
    let repo = Repo::new("steady");
    repo.branch("feature");
    repo.replace("src/lib.rs", "500_000", rounds);
    repo.commit("change the work");
    repo
}

/// A repository whose benchmark is a script, which builds nothing, with what it prints on each side.
pub(crate) fn printing(base: &str, head: &str) -> Repo {
    printing_as_configured("", base, head)
}

/// The same, with this at the end of the manifest of both sides, such as a table that begins with
/// [`PRINTED_KEYS`].
pub(crate) fn printing_as_configured(end: &str, base: &str, head: &str) -> Repo {
    let repo = Repo::new("steady");
    let manifest = std::fs::read_to_string(repo.path().join("Cargo.toml")).unwrap();
    repo.write("Cargo.toml", &format!("{manifest}\n{end}"));
    write_script(&repo, base);
    repo.commit("print");
    repo.branch("feature");
    write_script(&repo, head);
    repo.commit("print something else");
    repo
}

/// Writes the script that prints this JSON, with a digit that varies in place of `N`.
pub(crate) fn write_script(repo: &Repo, json: &str) {
    let script = format!("#!/bin/sh\necho '{}'\n", json.replace('N', "'$(($$ % 7))'"));
    repo.write("run.sh", &script);
    make_executable(&repo.path().join("run.sh"));
}

pub(crate) fn make_executable(path: &Path) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path, mode).unwrap();
}

/// How [`printing`] is measured.
pub(crate) const PRINTED: &str = "--command ./run.sh --harness json";

/// The same in a table of the configuration.
pub(crate) const PRINTED_KEYS: &str = "command = \"./run.sh\"\nharness = \"json\"\n";

/// Of the first benchmark, the metric of a name.
#[track_caller]
pub(crate) fn metric<'a>(object: &'a Value, name: &str) -> &'a Value {
    let metrics = object["benchmarks"][0]["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == name).unwrap()
}

/// The configuration of cargo with which programs are linked statically, where there is a C
/// library for that: valgrind starts these three times as fast, since it reads what debuggers know
/// of each library.
pub(crate) fn static_linking() -> String {
    let library = Command::new("cc").arg("-print-file-name=libc.a").output();
    let is_there = library.is_ok_and(|found| found.stdout.starts_with(b"/"));
    let gnu = cfg!(all(target_os = "linux", target_env = "gnu"));
    let flags = if is_there && gnu { "\"-Ctarget-feature=+crt-static\"" } else { "" };
    format!("[build]\nrustflags = [{flags}]\n")
}

/// A linker that is this script, for [`linker_variable`].
pub(crate) fn linker(repo: &Repo, script: &str) -> String {
    let path = repo.around().join("my-cc");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\nexec cc \"$@\"\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The target triple of this machine.
pub(crate) fn host() -> String {
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let rustc = String::from_utf8(rustc.stdout).unwrap();
    rustc.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

/// The variable that names the linker to cargo.
pub(crate) fn linker_variable() -> String {
    format!("CARGO_TARGET_{}_LINKER", host().to_uppercase().replace('-', "_"))
}

/// Checks each case in a thread of its own: they spend most of their time waiting.
pub(crate) fn side_by_side<T: Sync>(cases: &[T], check: impl Fn(&T) + Sync) {
    let check = &check;
    std::thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || check(case));
        }
    });
}

/// PATH with the binary's folder before all others.
pub(crate) fn path_with_binary() -> std::ffi::OsString {
    let binary = Path::new(env!("CARGO_BIN_EXE_cargo-cbdr")).parent().unwrap();
    let path = search_path();
    let paths = std::iter::once(binary.to_owned()).chain(std::env::split_paths(path));
    std::env::join_paths(paths).unwrap()
}
