//! A comparison that finds its builds, invocations and worktrees in the cache
//! has the same result as with an empty cache. What one side shows as well as two
//! is shown by `history record`, which prepares the head as a comparison does.
//!
//! Each change of the tables below is made between two comparisons. A third
//! one, with an empty cache at the same path, determines what is right: which
//! programs are run (every byte of them), how, and what is around them; if
//! nothing changed that counts, it is what the first one saw. To add a change,
//! add a line.
//!
//! These are the longest tests. Their module's name lets them be run first.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::support::{Cbdr, LAYOUTS, Repo, cached, create_cache, git, scratch, search_path};

/// The fixture `inputs`, with a branch `feature`, and how it is compared.
struct World {
    repo: Repo,
    env: BTreeMap<String, OsString>,
    base: String,
    args: Vec<String>,
    cache: PathBuf,
    /// Whether an empty cache has what is known of the machine's tools.
    shares_tools: bool,
    way: Way,
}

/// How the fixture is measured.
#[derive(Clone, Copy)]
enum Way {
    /// Both sides, with executables for other layouts or without.
    Compare { layouts: &'static str },
    /// The head alone.
    Record,
}

impl Way {
    fn sides(self) -> usize {
        match self {
            Way::Compare { .. } => 2,
            Way::Record => 1,
        }
    }
}

/// What a comparison has run.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    /// The lines that the runs of the base and the head wrote: what they were
    /// built of, their arguments and variables, the files around them.
    runs: BTreeMap<String, String>,
    /// Every file of the programs, by side and path, with a digest.
    programs: BTreeMap<PathBuf, Vec<u8>>,
    exit: Option<i32>,
}

/// The name of a cache that is put aside.
const WARM: &str = "cache.warm";

/// Where the files of a world are.
#[derive(Clone, Copy)]
enum Place {
    Usual,
    /// Where numbers of files that are gone are used again, unlike in memory.
    Disk,
}

impl World {
    fn new(place: Place, way: Way) -> Self {
        let repo = match place {
            Place::Usual => Repo::new("inputs"),
            Place::Disk => Repo::on_disk("inputs"),
        };
        repo.branch("feature");
        repo.replace("src/lib.rs", "library of A", "library of B");
        repo.commit("B");
        let cache = repo.cache();
        let (env, base, args) = (BTreeMap::new(), "main".to_owned(), Vec::new());
        let shares_tools = matches!(place, Place::Usual);
        let mut world = World { repo, env, base, args, cache, shares_tools, way };
        world.write("outside.txt", "outside of both");
        world.wrap("bin/cc", "cc", "");
        world.library(1);
        let path = search_path();
        let folders = std::iter::once(world.path("bin")).chain(std::env::split_paths(path));
        world.set("PATH", std::env::join_paths(folders.collect::<Vec<_>>()).unwrap());
        world.set("OUTSIDE", world.path("outside.txt"));
        world.set("NATIVE", world.path("native"));
        world.age("outside.txt", 3600);
        world.age("native/libnative.a", 3600);
        world
    }

    /// A path next to the repository.
    fn path(&self, name: &str) -> PathBuf {
        self.repo.around().join(name)
    }

    /// Writes a file next to the repository.
    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes a script that calls a program of this machine with `more`
    /// arguments before its own.
    fn wrap(&self, name: &str, program: &str, more: &str) {
        let found = std::env::split_paths(search_path()).map(|folder| folder.join(program));
        let program = found.into_iter().find(|path| path.is_file()).unwrap();
        self.write(name, &format!("#!/bin/sh\nexec {} {more} \"$@\"\n", program.display()));
        self.executable(name);
    }

    fn executable(&self, name: &str) {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path(name), mode).unwrap();
    }

    /// Writes a file next to the repository, keeping its time.
    fn write_unnoticed(&self, name: &str, text: &str) {
        let time = self.path(name).metadata().unwrap().modified().unwrap();
        self.write(name, text);
        set_time(&self.path(name), time);
    }

    /// Makes a file next to the repository this many seconds old.
    fn age(&self, name: &str, seconds: u64) {
        set_time(&self.path(name), SystemTime::now() - Duration::from_secs(seconds));
    }

    /// Makes the library that is linked from outside give `value`.
    fn library(&self, value: u32) {
        static BUILT: Mutex<BTreeMap<u32, Vec<u8>>> = Mutex::new(BTreeMap::new());
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        let library = built.entry(value).or_insert_with(|| build_library(value));
        std::fs::create_dir_all(self.path("native")).unwrap();
        std::fs::write(self.path("native/libnative.a"), library).unwrap();
    }

    fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.env.insert(name.to_owned(), value.into());
    }

    fn unset(&mut self, name: &str) {
        self.env.remove(name);
    }

    fn args(&mut self, args: &str) {
        self.args = args.split_whitespace().map(str::to_owned).collect();
    }

    /// A tracked file of the head changes.
    fn commit(&self, path: &str, old: &str, new: &str) {
        self.repo.replace(path, old, new);
        self.repo.commit("change");
    }

    /// A file in the cache, of which there is one such.
    fn cached(&self, side: &str, begins: &str) -> PathBuf {
        let side = cached(&self.cache)[0].join(side);
        let mut found = std::fs::read_dir(&side).unwrap().map(|entry| entry.unwrap().path());
        found.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(begins)).unwrap()
    }

    fn cbdr(&self) -> Cbdr {
        let mut cbdr = Cbdr::new(self.repo.path(), &self.cache);
        for (name, value) in &self.env {
            cbdr = cbdr.env(name, value);
        }
        let call = match self.way {
            Way::Compare { layouts } => {
                // A shard may measure a single pair, but none over layouts.
                let brief = match layouts {
                    "off" => "--shard 1/2 --max-pairs 1 --samples ../samples.csv",
                    _ => "--max-pairs 6 --threshold 900%",
                };
                format!("compare {} --always-run {brief} --layouts {layouts}", self.base)
            }
            Way::Record => "history record --runs 1".to_owned(),
        };
        cbdr.args(call.split(' ')).args(["--warmup", "0"]).args(&self.args)
    }

    /// Compares, and returns what was run.
    #[track_caller]
    fn compare(&self) -> Seen {
        let log = self.path("look.log");
        let _ = std::fs::remove_file(&log);
        let ran = self.cbdr().env("LOOK", &log).run();
        let runs = std::fs::read_to_string(log).unwrap_or_default();
        let side = |line: String| {
            let side = if line.contains("/base/") { "base" } else { "head" };
            (side.to_owned(), line)
        };
        let runs: BTreeMap<String, String> = runs.lines().map(sorted).map(side).collect();
        assert_eq!(runs.len(), self.way.sides(), "{}", ran.stderr);
        let mut programs = BTreeMap::new();
        for (side, run) in &runs {
            // Other ways to build have links of their own, commands have none.
            let Some((_, path)) = run.split_once(&format!("/{side}/t-")) else { continue };
            let link = format!("t-{}", path.split('/').next().unwrap());
            add_files(&self.cached(side, &link), Path::new(side), &mut programs);
        }
        Seen { runs, programs, exit: ran.code }
    }
}

impl World {
    /// Compares with an empty cache at the same path, and then does more with what is in it.
    #[track_caller]
    fn compare_fresh(&mut self, and_then: impl FnOnce(&mut Self)) -> Seen {
        let (cache, aside) = (self.cache.clone(), self.path(WARM));
        std::fs::rename(&cache, &aside).unwrap();
        if self.shares_tools {
            create_cache(&cache);
        }
        let seen = self.compare();
        and_then(self);
        std::fs::remove_dir_all(&cache).unwrap();
        std::fs::rename(&aside, &cache).unwrap();
        seen
    }
}

/// A library whose function `native` gives this value.
fn build_library(value: u32) -> Vec<u8> {
    let folder = scratch();
    let source = format!("int native(void) {{ return {value}; }}\n");
    std::fs::write(folder.path().join("native.c"), source).unwrap();
    for call in ["cc -c native.c -o native.o", "ar crsD libnative.a native.o"] {
        let mut words = call.split(' ');
        let mut command = std::process::Command::new(words.next().unwrap());
        let status = command.current_dir(&folder).args(words).status().unwrap();
        assert!(status.success(), "{call}");
    }
    std::fs::read(folder.path().join("libnative.a")).unwrap()
}

/// A line of the benchmark, whose parts but the first are lists in any order.
fn sorted(line: &str) -> String {
    let parts = line.split('\x1e').enumerate().map(|(number, part)| {
        let mut entries: Vec<&str> = part.split('\x1f').collect();
        if number > 0 {
            entries.sort_unstable();
        }
        entries.join("\x1f")
    });
    parts.collect::<Vec<_>>().join("\x1e")
}

fn set_time(path: &Path, time: SystemTime) {
    std::fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Adds all files below `folder` with digests, under `name`; not what the runs
/// themselves leave.
fn add_files(folder: &Path, name: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = name.join(path.file_name().unwrap());
        if path.is_dir() {
            add_files(&path, &name, found);
        } else if !name.ends_with("left.log") {
            // Its code is optimized in tests, too.
            found.insert(name, Sha256::digest(std::fs::read(&path).unwrap()).to_vec());
        }
    }
}

/// Gives every file below `folder` the time `time`.
fn set_all_times(folder: &Path, time: SystemTime) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() { set_all_times(&path, time) } else { set_time(&path, time) }
    }
}

/// What a comparison after a change sees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// What the one before it saw: nothing changed that counts.
    Same,
    /// What one with an empty cache sees.
    Fresh,
    /// The same; and with that cache, before the change, what the first one saw.
    FreshAndBack,
}
use Then::{Fresh, FreshAndBack, Same};

/// A change between two comparisons: its name, what is done before the first comparison, the
/// change, and what a comparison sees then.
type Change = (&'static str, fn(&mut World), fn(&mut World), Then);

fn nothing(_: &mut World) {}

/// Makes each change of a table and demands that what is seen warm is what is seen fresh. All
/// changes with the same beginning share a first comparison and a cache: after each, all but
/// the cache is as it was before. Cargo uses either layout of its build folder in turn, the new one
/// for those with the first beginning. Executables are not linked for other layouts.
fn check(changes: &[Change]) {
    check_in_groups(changes, begin_alike, Place::Usual, Way::Compare { layouts: "off" });
}

/// As [`check`], with recordings of the head instead of comparisons.
fn check_recordings(changes: &[Change]) {
    check_in_groups(changes, begin_alike, Place::Usual, Way::Record);
}

/// As [`check`], on a disk, for files that are replaced, and with executables for other layouts.
fn check_on_disk(changes: &[Change]) {
    check_in_groups(changes, begin_alike, Place::Disk, Way::Compare { layouts: "auto" });
}

/// As [`check_recordings`], on a disk.
fn check_recordings_on_disk(changes: &[Change]) {
    check_in_groups(changes, begin_alike, Place::Disk, Way::Record);
}

/// As [`check`], with a first comparison and a cache for each change: for those that change
/// the cache itself. Executables are linked for other layouts.
fn check_each(changes: &[Change]) {
    check_in_groups(changes, |_, _| false, Place::Usual, Way::Compare { layouts: "auto" });
}

/// As [`check_each`], with recordings of the head.
fn check_each_recording(changes: &[Change]) {
    check_in_groups(changes, |_, _| false, Place::Usual, Way::Record);
}

fn begin_alike(one: &Change, other: &Change) -> bool {
    std::ptr::fn_addr_eq(one.1, other.1)
}

fn check_in_groups(
    changes: &[Change],
    is_alike: fn(&Change, &Change) -> bool,
    place: Place,
    way: Way,
) {
    let mut groups: Vec<Vec<&Change>> = Vec::new();
    for change in changes {
        match groups.iter_mut().find(|group| is_alike(group[0], change)) {
            Some(group) => group.push(change),
            None => groups.push(vec![change]),
        }
    }
    let mut wrong = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let mut world = World::new(place, way);
        let layout = LAYOUTS[(number + 1) % LAYOUTS.len()];
        layout.iter().for_each(|(variable, value)| world.set(variable, *value));
        wrong.extend(check_group(group, world));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Those that are wrong of changes with the same beginning.
fn check_group(changes: &[&Change], mut world: World) -> Vec<String> {
    (changes[0].1)(&mut world);
    let first = world.compare();
    let before = Before::of(&world);
    let mut wrong = Vec::new();
    for (number, (name, _, change, then)) in changes.iter().enumerate() {
        change(&mut world);
        let warm = world.compare();
        if *then == Same && warm != first {
            wrong.push(format!("{name}: first {first:#?}\nwarm {warm:#?}"));
        }
        if *then != Same {
            let mut back = None;
            let fresh = world.compare_fresh(|world| {
                if *then == FreshAndBack {
                    before.restore(world);
                    back = Some(world.compare());
                }
            });
            if warm != fresh {
                wrong.push(format!("{name}: first {first:#?}\nwarm {warm:#?}\nfresh {fresh:#?}"));
            }
            if back.as_ref().is_some_and(|back| *back != first) {
                wrong.push(format!("{name}, undone: first {first:#?}\nback {back:#?}"));
            }
        }
        if number + 1 < changes.len() {
            before.restore(&mut world);
        }
    }
    wrong
}

/// All that a comparison depends on but its cache, to be restored after a change.
struct Before {
    folder: PathBuf,
    env: BTreeMap<String, OsString>,
    base: String,
    args: Vec<String>,
}

impl Before {
    fn of(world: &World) -> Self {
        let folder = world.path("before");
        std::fs::create_dir(&folder).unwrap();
        copy_exactly(&inputs(world), &folder);
        let World { env, base, args, .. } = world;
        Before { folder, env: env.clone(), base: base.clone(), args: args.clone() }
    }

    fn restore(&self, world: &mut World) {
        for path in inputs(world) {
            if path.is_dir() {
                std::fs::remove_dir_all(path).unwrap();
            } else {
                std::fs::remove_file(path).unwrap();
            }
        }
        let kept = std::fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path());
        copy_exactly(&kept.collect::<Vec<_>>(), &world.repo.around());
        world.env = self.env.clone();
        world.base = self.base.clone();
        world.args = self.args.clone();
    }
}

/// What lies beside the caches of a world.
fn inputs(world: &World) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(world.repo.around()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_kept = |path: &PathBuf| path.ends_with("before") || path.ends_with(WARM);
    paths.filter(|path| *path != world.cache && !is_kept(path)).collect()
}

/// Copies files and folders into a folder, with their times, modes and links.
fn copy_exactly(from: &[PathBuf], folder: &Path) {
    let status = std::process::Command::new("cp").arg("-a").args(from).arg(folder).status();
    assert!(status.unwrap().success(), "cp {from:?}");
}

/// Sets variables as the build script and the configuration do.
fn with_variables(world: &mut World) {
    for name in ["DECLARED", "STAMPED", "ROUNDS"] {
        world.set(name, "1");
    }
}

#[test]
fn a_comparison_or_a_recording_is_as_a_fresh_one_after_a_change_of_the_environment() {
    check(&[
        ("nothing", nothing, nothing, Same),
        ("declared by a build script", nothing, |w| w.set("DECLARED", "1"), FreshAndBack),
    ]);
    check_recordings(&[
        ("read by option_env!", nothing, |w| w.set("BUILT_WITH", "1"), FreshAndBack),
        ("set by the build script for runs", nothing, |w| w.set("STAMPED", "mine"), Fresh),
        ("the same, with the value that it sets", with_variables, |w| w.unset("STAMPED"), Fresh),
        ("of [env]", nothing, |w| w.set("ROUNDS", "3"), FreshAndBack),
        ("of [env], with its value", with_variables, |w| w.set("ROUNDS", "2"), Fresh),
        ("of [env], forced", nothing, |w| w.set("FORCED", "3"), Fresh),
        ("that cargo tracks", nothing, |w| w.set("RUSTFLAGS", "--cfg=loud"), Fresh),
        ("undeclared CFLAGS", nothing, |w| w.set("CFLAGS", "-DLOUD=7"), Fresh),
    ]);
}

/// Lets cargo read files of each kind: included ones, those of its home, and ignored ones.
fn with_configuration(world: &mut World) {
    let include = "include = [{ path = 'a.toml', optional = true }, 'b.toml']\n";
    world.write(".cargo/config.toml", include);
    world.write(".cargo/b.toml", "env.ROUNDS = '5'\n");
    world.write("home/config.toml", "");
    world.set("CARGO_HOME", world.path("home"));
    world.commit(".cargo/config.toml", "more.toml", "ignored.toml");
    world.repo.write(".cargo/ignored.toml", "");
}

#[test]
fn a_recording_is_as_a_fresh_one_after_a_change_of_cargos_configuration() {
    check_recordings(&[
        (
            "around the repository",
            nothing,
            |w| {
                w.write(".cargo/config.toml", "build.rustflags = ['--cfg=loud']\n");
            },
            Fresh,
        ),
        (
            "an included file",
            with_configuration,
            |w| w.write(".cargo/a.toml", "build.rustflags = ['--cfg=loud']\n"),
            Fresh,
        ),
        (
            "an included file that was another",
            with_configuration,
            |w| w.write_unnoticed(".cargo/b.toml", "env.ROUNDS = '6'\n"),
            Fresh,
        ),
        (
            "of cargo's home",
            with_configuration,
            |w| w.write("home/config.toml", "[env]\nHOME_SAYS = '1'\n"),
            Fresh,
        ),
        (
            "of the head's commit",
            nothing,
            |w| {
                w.commit(".cargo/config.toml", "ROUNDS = \"1\"", "ROUNDS = \"2\"");
            },
            Fresh,
        ),
        (
            "an included file of the worktree that is ignored",
            with_configuration,
            |w| w.repo.write(".cargo/ignored.toml", "env.ROUNDS = '9'\n"),
            Fresh,
        ),
    ]);
}

/// Makes the C compiler an hour old.
fn with_old_compiler(world: &mut World) {
    world.age("bin/cc", 3600);
}

/// Lets variables and the configuration name the tools.
fn with_named_tools(world: &mut World) {
    for (name, program, variable) in [("mycc", "cc", "CC"), ("myrustc", "rustc", "RUSTC")] {
        world.wrap(name, program, "");
        world.set(variable, world.path(name));
    }
    world.wrap("linker", "cc", "");
    let path = world.path("linker").display().to_string();
    world.write(".cargo/config.toml", &format!("target.'cfg(unix)'.linker = '{path}'\n"));
    world.write("wrap", "#!/bin/sh\nexec \"$@\"\n");
    world.executable("wrap");
    world.set("RUSTC_WORKSPACE_WRAPPER", world.path("wrap"));
}

#[test]
fn a_recording_is_as_a_fresh_one_after_a_change_of_the_tools() {
    check_recordings_on_disk(&[
        (
            "the C compiler, replaced by one as old",
            with_old_compiler,
            |w| {
                w.wrap("bin/cc", "cc", "-DLOUD=3");
                w.age("bin/cc", 3600);
            },
            Fresh,
        ),
        ("an archiver that comes first", with_old_compiler, |w| w.wrap("bin/ar", "ar", "-v"), Same),
        (
            "the C compiler that CC names",
            with_named_tools,
            |w| w.wrap("mycc", "cc", "-DLOUD=4"),
            Fresh,
        ),
        (
            "the linker of the configuration",
            with_named_tools,
            |w| w.wrap("linker", "cc", "-Wl,--build-id=0x1234 -s"),
            Fresh,
        ),
        (
            "the compiler that RUSTC names",
            with_named_tools,
            |w| w.wrap("myrustc", "rustc", "--cfg loud"),
            Fresh,
        ),
        (
            "the wrapper of rustc",
            with_named_tools,
            |w| w.write("wrap", "#!/bin/sh\nexec \"$@\" --cfg loud\n"),
            Fresh,
        ),
    ]);
}

#[test]
fn a_comparison_or_a_recording_is_as_a_fresh_one_after_a_change_of_files_outside_of_the_commit() {
    check_on_disk(&[(
        "one that a build script reads, as old as it was",
        nothing,
        |w| w.write_unnoticed("outside.txt", "changed"),
        Fresh,
    )]);
    check_recordings_on_disk(&[
        (
            "the clone's attributes",
            nothing,
            |w| w.repo.write(".git/info/attributes", "told.txt text eol=crlf\n"),
            Fresh,
        ),
        (
            "a library that is linked, as old as it was",
            nothing,
            |w| {
                w.library(3);
                w.age("native/libnative.a", 3600);
            },
            Fresh,
        ),
        (
            "the package of a patch, as old as it was",
            with_old_patch,
            |w| w.write_unnoticed("dep/src/lib.rs", "pub const N: &str = \"2\";\n"),
            Fresh,
        ),
        (
            "the user's lock file",
            |w| {
                std::fs::remove_file(w.repo.path().join("Cargo.lock")).unwrap();
                w.repo.write(".gitignore", "Cargo.lock\n");
                w.repo.git(&["checkout", "--quiet", "-B", "main"]);
                w.repo.commit("no lock file");
                w.repo.git(&["checkout", "--quiet", "-B", "feature"]);
                w.commit("src/lib.rs", "library of B", "library of C");
                w.repo.write("Cargo.lock", &lock(""));
            },
            |w| w.repo.write("Cargo.lock", &lock("# Another one.\n")),
            Fresh,
        ),
    ]);
}

fn lock(comment: &str) -> String {
    format!("{comment}version = 4\n\n[[package]]\nname = \"inputs\"\nversion = \"0.1.0\"\n")
}

/// Makes the head depend on a package next to the repository, whose source is an hour old.
fn with_old_patch(world: &mut World) {
    world.write("dep/Cargo.toml", "[package]\nname = \"dep\"\nversion = \"0.1.0\"\n");
    world.write("dep/src/lib.rs", "pub const N: &str = \"1\";\n");
    world.age("dep/src/lib.rs", 3600);
    depend(world, &format!("dep = {{ path = \"{}\" }}", world.path("dep").display()));
    world.repo.replace("src/lib.rs", "/// Who", "pub use dep::N;\n/// Who");
    world.repo.replace("benches/look.rs", "inputs::WHO,", "inputs::WHO, inputs::N,");
    world.repo.commit("depend");
}

/// Makes the head depend on a macro of the repository, which reads a file that it does not declare.
fn with_macro(world: &mut World) {
    let manifest = "[package]\nname = \"said\"\nversion = \"0.1.0\"\n\n[lib]\nproc-macro = true\n";
    world.repo.write("said/Cargo.toml", manifest);
    let source = "use proc_macro::{Literal, TokenStream, TokenTree};\n\
        #[proc_macro]\npub fn said(_: TokenStream) -> TokenStream {\n    \
        let folder = std::env::var(\"CARGO_MANIFEST_DIR\").unwrap();\n    \
        let text = std::fs::read_to_string(folder + \"/data/said.txt\").unwrap();\n    \
        TokenTree::from(Literal::string(&text)).into()\n}\n";
    world.repo.write("said/src/lib.rs", &format!("extern crate proc_macro;\n{source}"));
    world.repo.write("data/said.txt", "said by A\n");
    depend(world, "said = { path = \"said\" }");
    world.commit("benches/look.rs", "inputs::WHO,", "inputs::WHO, said::said!(),");
}

/// Adds a dependency to the head's manifest and lock file.
fn depend(world: &World, dependency: &str) {
    let table = format!("[dependencies]\n{dependency}\n\n[features]\n");
    world.repo.replace("Cargo.toml", "[features]\n", &table);
    let cargo = std::process::Command::new("cargo")
        .args(["generate-lockfile", "--offline"])
        .current_dir(world.repo.path())
        .status();
    assert!(cargo.unwrap().success());
}

#[test]
fn a_comparison_or_a_recording_is_as_a_fresh_one_after_a_change_of_what_is_asked_for() {
    check(&[
        (
            "the working tree",
            nothing,
            |w| {
                w.repo.replace("src/lib.rs", "library of B", "library of nobody");
                w.args("--dirty");
            },
            Fresh,
        ),
        (
            "the working tree, then its commit",
            |w| {
                w.repo.write("told.txt", "told by nobody\n");
                w.args("--dirty");
            },
            |w| w.args(""),
            Fresh,
        ),
        (
            "an untracked file",
            nothing,
            |w| {
                w.repo.write(".cargo/more.toml", "env.ROUNDS = '7'\n");
                w.args("--dirty");
            },
            Fresh,
        ),
    ]);
    check_recordings(&[
        ("features", nothing, |w| w.args("--features more"), Fresh),
        ("no default features", nothing, |w| w.args("--no-default-features"), Fresh),
        ("the profile", nothing, |w| w.args("--profile other"), Fresh),
        ("arguments", |w| w.args("-- one"), |w| w.args("-- two three"), Fresh),
    ]);
}

/// The SHA-256 of a file with the line `large`.
const LARGE: &str = "9bfce334a37bd1bc1d36b0370195b31fe9a9389dd43d0873891a3544ef1140a1";

/// Lets the head have a file of git-lfs, which the clone lacks, and read it when
/// it is built.
fn with_large_file(world: &mut World) {
    for (key, value) in [("clean", "cat"), ("smudge", "git-lfs-that-is-not-there")] {
        world.repo.git(&["config", &format!("filter.lfs.{key}"), value]);
    }
    world.repo.write(".gitattributes", "*.large filter=lfs\n");
    let oid = format!("oid sha256:{LARGE}");
    let pointer = format!("version https://git-lfs.github.com/spec/v1\n{oid}\nsize 6\n");
    world.repo.write("some.large", &pointer);
    world.repo.commit("a large file");
    let declared = "cargo:rerun-if-changed=told.txt\n";
    let also = declared.replace("told.txt", "some.large");
    world.commit("make.sh", declared, &format!("{declared}{also}"));
    world.commit("make.sh", "cat told.txt", "cat told.txt some.large");
}

#[test]
fn a_comparison_or_a_recording_is_as_a_fresh_one_after_a_change_of_the_commits() {
    check(&[
        ("another head", nothing, |w| w.commit("value.c", "return 1;", "return 8;"), Fresh),
        (
            "another branch in between",
            nothing,
            |w| {
                w.repo.git(&["checkout", "--quiet", "-b", "other"]);
                w.commit("told.txt", "told by A", "told by other");
                w.compare();
                w.repo.git(&["checkout", "--quiet", "feature"]);
            },
            Same,
        ),
        (
            "the branches change places",
            nothing,
            |w| {
                w.repo.git(&["checkout", "--quiet", "main"]);
                w.commit("told.txt", "told by A", "told by main");
                w.base = "feature".to_owned();
            },
            Fresh,
        ),
        (
            "the same tree in another commit",
            nothing,
            |w| {
                w.repo.git(&["commit", "--quiet", "--amend", "--message", "amended"]);
            },
            Same,
        ),
    ]);
}

#[test]
fn a_recording_is_as_a_fresh_one_after_a_change_of_files_of_the_commit() {
    check_recordings(&[
        (
            "attributes of a file that is as it was",
            nothing,
            |w| {
                w.repo.write(".gitattributes", "told.txt text eol=crlf\n");
                w.repo.commit("line endings");
            },
            Fresh,
        ),
        (
            "a file that becomes a folder",
            nothing,
            |w| {
                std::fs::remove_file(w.repo.path().join("told.txt")).unwrap();
                w.repo.write("told.txt/deep", "told by a folder\n");
                w.commit("make.sh", "cat told.txt", "cat told.txt/deep");
            },
            Fresh,
        ),
        (
            "a file that the build script does not declare",
            |w| {
                w.commit("make.sh", "cargo:rerun-if-changed=told.txt\n", "");
                // A folder that is called as dep-info is.
                w.commit("make.sh", "set -e\n", "set -e\nmkdir -p \"$OUT_DIR/conf.d\"\n");
            },
            |w| w.commit("told.txt", "told by A", "told by other"),
            Fresh,
        ),
        (
            "a file that a macro does not declare",
            with_macro,
            |w| w.commit("data/said.txt", "said by A", "said by B"),
            Fresh,
        ),
        (
            "a file of git-lfs that is fetched later",
            with_large_file,
            |w| {
                w.repo.write(&format!(".git/lfs/objects/9b/fc/{LARGE}"), "large\n");
            },
            Fresh,
        ),
        (
            "a submodule that is fetched later",
            |w| {
                let module = w.path("module");
                std::fs::create_dir_all(&module).unwrap();
                git(&module, &["init", "--quiet", "--initial-branch=main"]);
                w.write("module/told.txt", "told by the module\n");
                git(&module, &["add", "--all"]);
                git(&module, &["commit", "--quiet", "--message", "module"]);
                let url = module.to_str().unwrap();
                let add = ["-c", "protocol.file.allow=always", "submodule", "add", "--quiet"];
                w.repo.git(&[&add[..], &[url, "module"]].concat());
                w.commit("make.sh", "cat told.txt", "cat told.txt $(ls module/told.txt)");
                std::fs::rename(w.repo.path().join("module"), w.path("aside")).unwrap();
                std::fs::rename(w.repo.path().join(".git/modules"), w.path("modules")).unwrap();
            },
            |w| {
                std::fs::rename(w.path("aside"), w.repo.path().join("module")).unwrap();
                std::fs::rename(w.path("modules"), w.repo.path().join(".git/modules")).unwrap();
            },
            Fresh,
        ),
    ]);
}

/// Lets the build script of both sides write into the source tree.
fn write_elsewhere(world: &mut World) {
    world.repo.git(&["checkout", "--quiet", "main"]);
    let write = "cp \"$OUT_DIR/told.txt\" generated.txt\n";
    world.commit("make.sh", "if [ \"$NATIVE\" ]", &format!("{write}if [ \"$NATIVE\" ]"));
    let generated = "const GENERATED: &str = include_str!(\"../generated.txt\");\n\nextern \"C\" {";
    world.commit("benches/look.rs", "extern \"C\" {", generated);
    world.commit("benches/look.rs", "inputs::WHO, ", "inputs::WHO, GENERATED, ");
    world.repo.git(&["checkout", "--quiet", "feature"]);
    world.repo.git(&["merge", "--quiet", "main"]);
}

#[test]
fn a_recording_is_as_a_fresh_one_after_a_build_script_wrote_into_the_source_tree() {
    check_recordings(&[
        ("nothing", write_elsewhere, nothing, Same),
        (
            "another head",
            write_elsewhere,
            |w| w.commit("told.txt", "told by A", "told by C"),
            Fresh,
        ),
        ("a declared variable", write_elsewhere, |w| w.set("DECLARED", "1"), Fresh),
    ]);
}

/// Lets both sides be compared by a command that a script builds. The build
/// rewrites a tracked file, and runs leave a log behind.
fn with_build_command(world: &mut World) {
    world.repo.git(&["checkout", "--quiet", "main"]);
    let main =
        "#include <stdio.h>\nint value(void);\nint main(void) { printf(\"%d\", value()); }\n";
    world.repo.write("main.c", main);
    let build = "set -e\ntest ! -f broken\ntest ! -f deadly || kill -9 $PPID\n\
                 echo \"built with ${BUILT_WITH-nothing}\" >> told.txt\n\
                 cc -o app main.c value.c\n";
    world.repo.write("build.sh", build);
    let run = "echo \"$PWD $(./app) $(find . -type f -not -name .git | sort | xargs cksum | tr '\\n' ' ')\" \
               >> \"$LOOK\"\necho a run was here >> store.log\n";
    world.repo.write("run.sh", run);
    world.repo.commit("build by a script");
    world.repo.git(&["checkout", "--quiet", "feature"]);
    world.repo.git(&["merge", "--quiet", "main"]);
    let args = ["--build-command", "sh build.sh", "--command", "sh run.sh"];
    world.args = args.map(str::to_owned).to_vec();
}

/// Compares a commit that has a further file, on a branch of its own.
fn compare_other(world: &World, file: &str) -> Option<i32> {
    world.repo.git(&["checkout", "--quiet", "-b", file]);
    world.repo.write(file, "");
    world.commit("value.c", "return 1;", "return 9;");
    let code = world.cbdr().env("LOOK", "/dev/null").run().code;
    world.repo.git(&["checkout", "--quiet", "feature"]);
    code
}

#[test]
fn a_comparison_is_as_a_fresh_one_after_a_change_around_a_build_command() {
    check(&[
        ("nothing", with_build_command, nothing, Same),
        (
            "another head",
            with_build_command,
            |w| w.commit("value.c", "return 1;", "return 2;"),
            Fresh,
        ),
        ("the environment", with_build_command, |w| w.set("BUILT_WITH", "something"), Fresh),
        ("the terminal", with_build_command, |w| w.set("WINDOWID", "7"), Same),
        (
            "the C compiler, replaced in place",
            with_build_command,
            |w| {
                w.wrap("bin/cc", "cc", "-DLOUD=6");
            },
            Fresh,
        ),
        (
            "a build that failed in between",
            with_build_command,
            |w| {
                assert_eq!(compare_other(w, "broken"), Some(101));
            },
            Same,
        ),
        (
            "a build that was killed in between",
            with_build_command,
            |w| {
                assert_ne!(compare_other(w, "deadly"), Some(0));
            },
            Same,
        ),
        (
            "another branch in between",
            with_build_command,
            |w| {
                assert_eq!(compare_other(w, "other"), Some(0));
            },
            Same,
        ),
        (
            "a program that was damaged",
            with_build_command,
            |w| {
                std::fs::write(
                    w.cached("base", "tree").with_file_name("built").join("app"),
                    "damaged",
                )
                .unwrap();
            },
            Same,
        ),
        (
            "another build command",
            with_build_command,
            |w| {
                w.args[1] = "sh -e build.sh".to_owned();
            },
            Same,
        ),
    ]);
}

#[test]
fn a_comparison_or_a_recording_is_as_a_fresh_one_after_what_went_wrong_in_between() {
    check(&[
        (
            "a head that does not compile",
            nothing,
            |w| {
                w.repo.git(&["checkout", "--quiet", "-b", "broken"]);
                w.commit("src/lib.rs", "pub const", "pub konst");
                w.cbdr().run().code(101);
                w.repo.git(&["checkout", "--quiet", "feature"]);
            },
            Same,
        ),
        (
            "a compiler that is killed with all around it",
            nothing,
            |w| {
                w.repo.git(&["checkout", "--quiet", "-b", "killed"]);
                w.commit("told.txt", "told by A", "told by the killed");
                w.write("wrap", "#!/bin/sh\nkill -9 $PPID\nsleep 1\nexit 1\n");
                w.executable("wrap");
                let ran = w.cbdr().env("RUSTC_WORKSPACE_WRAPPER", w.path("wrap")).run();
                assert_ne!(ran.code, Some(0), "{}", ran.stderr);
                w.repo.git(&["checkout", "--quiet", "feature"]);
            },
            Same,
        ),
    ]);
    check_each_recording(&[
        (
            "a program cut short in the target folder",
            nothing,
            |w| {
                let live = w.cached("head", "live-");
                let program = program_in(&live);
                let about = program.metadata().unwrap();
                let file = std::fs::File::options().write(true).open(&program).unwrap();
                file.set_len(about.len() / 2).unwrap();
                file.set_modified(about.modified().unwrap()).unwrap();
                drop_artifacts(w);
            },
            Same,
        ),
        (
            "an artifact with a byte changed",
            nothing,
            |w| {
                let program = program_in(&w.cached("head", "t-"));
                let mut bytes = std::fs::read(&program).unwrap();
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
                std::fs::write(program, bytes).unwrap();
            },
            Same,
        ),
        (
            "a target folder without what is known of it",
            nothing,
            |w| {
                std::fs::remove_file(w.cached("head", "record-")).unwrap();
                drop_artifacts(w);
            },
            Same,
        ),
    ]);
}

/// The one program of the benchmark in a target folder, as cargo linked it.
fn program_in(folder: &Path) -> PathBuf {
    let mut files = BTreeMap::new();
    add_files(folder, Path::new(""), &mut files);
    let is_program = |path: &&PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("look-") && !name.contains('.')
    };
    let programs: Vec<&PathBuf> = files.keys().filter(is_program).collect();
    assert_eq!(programs.len(), 1, "{programs:?}");
    folder.join(programs[0])
}

/// Removes what was published, but not what cargo built.
fn drop_artifacts(world: &World) {
    std::fs::remove_dir_all(world.cached("builds", "").parent().unwrap()).unwrap();
}

#[test]
fn a_comparison_or_a_recording_is_as_a_fresh_one_after_the_cache_or_the_clock_was_moved() {
    check_each(&[(
        "a cache that was restored without times",
        nothing,
        |w| {
            let time = SystemTime::now() - Duration::from_secs(7200);
            set_all_times(&w.cache, time);
            w.commit("told.txt", "told by A", "told by C");
        },
        Fresh,
    )]);
    check_each_recording(&[
        (
            "a cache with builds only",
            nothing,
            |w| {
                let live = w.cached("head", "live-");
                std::fs::remove_dir_all(live.parent().unwrap()).unwrap();
            },
            Same,
        ),
        (
            "a cache at another path",
            nothing,
            |w| {
                let other = w.path("elsewhere");
                std::fs::rename(&w.cache, &other).unwrap();
                w.cache = other;
            },
            Fresh,
        ),
        (
            "a cache whose files are from the future",
            nothing,
            |w| {
                let time = SystemTime::now() + Duration::from_secs(7200);
                set_all_times(&w.cache, time);
                w.commit("told.txt", "told by A", "told by C");
            },
            Fresh,
        ),
        (
            "sources from the future",
            |w| {
                let time = SystemTime::now() + Duration::from_secs(7200);
                set_time(&w.path("outside.txt"), time);
            },
            |w| w.write_unnoticed("outside.txt", "changed"),
            Fresh,
        ),
    ]);
}
