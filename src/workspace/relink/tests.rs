//! Programs that rustc has linked are linked again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::linker::LinkerChoice;
use super::{KEPT, Link, record};
use crate::exec::process::{Command, environment};
use crate::exec::program::{HEAP_SEED, Relink, RelinkInput};
use crate::exec::system::{LINKS_AS_GNU, digest_file, write};
use crate::workspace::inputs::configuration::Configuration;

const HOST: &str = "rustc 1\nhost: x86_64-unknown-linux-gnu\n";

/// With functions enough that two orders differ.
const MAIN: &str = "
#[inline(never)] fn one(x: u64) -> u64 { std::hint::black_box(x) + 1 }
#[inline(never)] fn two(x: u64) -> u64 { std::hint::black_box(x) * 2 }
#[inline(never)] fn six(x: u64) -> u64 { std::hint::black_box(x) ^ 6 }
fn main() {
    let x = six(two(one(std::env::args().count() as u64)));
    std::io::Write::write_all(&mut std::io::stdout(), format!(\"{x}\\n\").as_bytes()).unwrap();
}
";

/// No test of its own: those below call it as the recording linker calls our program.
#[test]
fn recorder() {
    if std::env::var_os(record::FOLDER_VARIABLE).is_some() {
        let mut args = std::env::args_os();
        args.find(|arg| arg == "--");
        record::record_link(args).unwrap();
    }
}

fn recorder_call() -> Vec<OsString> {
    let test = ["--exact", "workspace::relink::tests::recorder", "--"].map(OsString::from);
    std::iter::once(std::env::current_exe().unwrap().into()).chain(test).collect()
}

/// A folder with a program.
struct World {
    folder: tempfile::TempDir,
    rustc: String,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("main.rs"), MAIN);
        std::fs::create_dir_all(folder.path().join("target/deps")).unwrap();
        let rustc = std::process::Command::new("rustc").arg("-vV").output().unwrap();
        World { folder, rustc: String::from_utf8(rustc.stdout).unwrap() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn linker(&self) -> PathBuf {
        let (configuration, env) = (Configuration::default(), environment());
        let folder = self.folder.path();
        let choice =
            LinkerChoice { configuration: &configuration, folder, env: &env, rustc: &self.rustc };
        choice.recording(&self.at("linker"), &recorder_call()).unwrap().path
    }

    /// Lets rustc build `main.rs` as `target/deps/NAME`.
    fn build(&self, name: &str, linker: Option<&Path>, flags: &[&str]) -> Output {
        let mut command = std::process::Command::new("rustc");
        command.arg("-O").arg("main.rs").current_dir(self.folder.path());
        command.arg("-o").arg(self.at("target/deps").join(name)).args(flags);
        if let Some(linker) = linker {
            command.arg(format!("-Clinker={}", linker.display()));
        }
        command.env(record::FOLDER_VARIABLE, self.at("target").join(record::FOLDER));
        // What is elsewhere in the folder is no temporary file.
        command.env("TMPDIR", self.at("target")).output().unwrap()
    }

    /// The link of `target/deps/NAME`.
    fn find(&self, name: &str) -> Result<Link, String> {
        let digest = digest_file(&self.at("target/deps").join(name)).unwrap();
        record::find(&self.at("target"), &digest)
    }

    /// How a program that is built with these flags is linked again.
    fn relink(&self, flags: &[&str]) -> Result<Relink, String> {
        let built = self.build("main-1", Some(&self.linker()), flags);
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let link = self.find("main-1")?;
        link.publish(&self.at("links"))?;
        // All that may go is gone.
        std::fs::remove_dir_all(self.at("target").join(record::FOLDER)).unwrap();
        let rustc = |args: Vec<OsString>| {
            std::process::Command::new("rustc").args(args).status().unwrap().success()
        };
        let (links, objects) = (self.at("links"), self.folder.path());
        let heap = link.heap_object(&links, objects, &self.rustc, rustc);
        assert!(heap.is_some());
        let again = link.heap_object(&links, objects, &self.rustc, |_| panic!("it is there"));
        assert_eq!(again, heap);
        let relink = link.relink(&self.at("links"), &self.rustc, &environment())?;
        Ok(Relink { heap, ..relink })
    }
}

#[track_caller]
fn run(command: &Command) -> Output {
    let mut process = std::process::Command::new(&command.argv[0]);
    process.args(&command.argv[1..]).env_clear().envs(command.env.iter().cloned());
    process.current_dir(&command.cwd).output().unwrap()
}

#[track_caller]
fn printed(program: &Path, heap_seed: &str) -> String {
    let mut program = std::process::Command::new(program);
    if !heap_seed.is_empty() {
        program.env(HEAP_SEED, heap_seed);
    }
    let output = program.output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_program_is_linked_again_in_the_order_of_a_seed() {
    if !LINKS_AS_GNU {
        return;
    }
    let ways: [&[&str]; 8] = [
        &[],
        // All of the standard library is compiled with these: not optimized, it takes a third.
        &["-Clto=fat", "-Copt-level=0"],
        &["-Clto=thin", "-Ccodegen-units=4", "-Copt-level=0"],
        &["-Cstrip=symbols"],
        &["-g", "-Csplit-debuginfo=packed"],
        &["-Ctarget-feature=+crt-static"],
        &["-Clink-arg=-fuse-ld=bfd"],
        &["-Cprefer-dynamic", "-Crpath"],
    ];
    std::thread::scope(|scope| {
        for flags in ways {
            scope.spawn(move || check_order(flags));
        }
    });
}

fn check_order(flags: &[&str]) {
    let world = World::new();
    let relink = world.relink(flags).unwrap();
    relink.check().unwrap();
    let link = |seed: u32, name: &str| {
        let linked = run(&relink.command(seed, &world.at(name)));
        let said = String::from_utf8_lossy(&linked.stderr).into_owned();
        assert!(linked.status.success(), "{flags:?}: {said}");
        std::fs::read(world.at(name)).unwrap()
    };
    let (zero, one, two) = (link(0, "zero"), link(1, "one"), link(2, "two"));
    assert!(one != two, "{flags:?}");
    // Two ways to link suffice to see that links are repeatable and the record changes nothing.
    if flags.contains(&"-Ctarget-feature=+crt-static") || flags.contains(&"-Clink-arg=-fuse-ld=bfd")
    {
        let recorded = std::fs::read(world.at("target/deps/main-1")).unwrap();
        assert!(world.build("main-1", None, flags).status.success());
        let plain = std::fs::read(world.at("target/deps/main-1")).unwrap();
        assert!(plain == recorded, "{flags:?}");
        assert!(link(0, "again") == zero && link(1, "again") == one, "{flags:?}");
    }
    for name in ["one", "two", "zero"] {
        for seed in ["", "0123456789abcdef"] {
            assert_eq!(printed(&world.at(name), seed), "2\n", "{flags:?}");
        }
    }
}

/// Prints how many blocks it allocated and freed before `main`.
const COUNTING: &str = include_str!("counting.rs.in");

#[test]
fn the_heap_is_scattered_by_a_seed_whatever_the_global_allocator_is() {
    if !LINKS_AS_GNU {
        return;
    }
    let world = World::new();
    write(&world.at("main.rs"), COUNTING);
    let relink = world.relink(&[]).unwrap();
    assert!(run(&relink.command(1, &world.at("one"))).status.success());
    let counts = |seed: &str| -> Vec<usize> {
        let printed = printed(&world.at("one"), seed);
        printed.split_whitespace().map(|count| count.parse().unwrap()).collect()
    };
    let (usual, scattered) = (counts(""), counts("00000000000000ff"));
    assert!(usual[0] < 10, "{usual:?}");
    // Half of at least 64 blocks are of this allocator, the others of `malloc`.
    assert!(scattered[0] > 16 && scattered[1] > 8 && scattered[0] > scattered[1], "{scattered:?}");
    assert_eq!(counts("00000000000000ff"), scattered);
    assert_ne!(counts("00000000000000fe"), scattered);
}

#[test]
fn a_library_is_kept_without_its_metadata() {
    if !LINKS_AS_GNU {
        return;
    }
    let world = World::new();
    let source =
        "pub fn seven<T: std::fmt::Display>(x: T) -> String { format!(\"{x}{}\\n\", six()) }
                  #[inline(never)] pub fn six() -> u32 { std::hint::black_box(6) }";
    write(&world.at("lib.rs"), source);
    let main = "fn main() { let text = seven::seven(1);
                std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes()).unwrap() }";
    write(&world.at("main.rs"), main);
    let library = world.at("target/libseven.rlib");
    let mut rustc = std::process::Command::new("rustc");
    rustc.args(["-O", "--crate-type=rlib", "--crate-name=seven"]).arg(world.at("lib.rs"));
    assert!(rustc.arg("-o").arg(&library).status().unwrap().success());
    let relink = world.relink(&[&format!("--extern=seven={}", library.display())]).unwrap();
    let is_it = |input: &&RelinkInput| input.path.ends_with("libseven.rlib");
    let kept = relink.inputs.iter().find(is_it).unwrap();
    assert!(kept.bytes < library.metadata().unwrap().len());
    let link = |seed: u32, name: &str| {
        let linked = run(&relink.command(seed, &world.at(name)));
        assert!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr));
        assert_eq!(printed(&world.at(name), ""), "16\n");
        std::fs::read(world.at(name)).unwrap()
    };
    let small = link(1, "of the small one");
    std::fs::copy(&library, &kept.path).unwrap();
    assert!(link(1, "of the whole one") == small);
}

#[test]
fn the_program_as_built_is_the_same_with_and_without_a_record() {
    if !LINKS_AS_GNU {
        return;
    }
    let world = World::new();
    let read = |name: &str| std::fs::read(world.at("target/deps").join(name)).unwrap();
    assert!(world.build("main-1", Some(&world.linker()), &["-g"]).status.success());
    assert!(world.find("main-1").is_ok());
    let recorded = read("main-1");
    assert!(world.build("main-1", None, &["-g"]).status.success());
    assert!(read("main-1") == recorded);
}

#[test]
fn a_record_is_of_one_executable_alone() {
    if !LINKS_AS_GNU {
        return;
    }
    let world = World::new();
    let linker = world.linker();
    assert!(world.build("main-1", Some(&linker), &[]).status.success());
    assert!(world.find("main-1").is_ok());
    // Built again, but not by a linker of ours.
    assert!(world.build("main-1", None, &["-Copt-level=0"]).status.success());
    assert!(world.find("main-1").is_err());
    for (name, flags) in [
        ("build_script_main-1", &["-Copt-level=1"][..]),
        ("libmain.so", &["--crate-type=proc-macro"]),
        ("libmain2.so", &["--crate-type=cdylib"]),
    ] {
        assert!(world.build(name, Some(&linker), flags).status.success(), "{name}");
        assert!(world.find(name).is_err(), "{name}");
    }
}

#[test]
fn a_linker_that_fails_says_why_and_leaves_no_record() {
    if !LINKS_AS_GNU {
        return;
    }
    let world = World::new();
    let linker = world.linker();
    let plain = world.build("main-1", None, &["-Clink-arg=-lnowhere"]);
    let recording = world.build("main-1", Some(&linker), &["-Clink-arg=-lnowhere"]);
    assert!(!plain.status.success());
    assert_eq!(recording.status.code(), plain.status.code());
    let text = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    // But for the name of a scratch folder.
    let lines = |text: String| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.contains("symbols.o")).map(str::to_owned);
        lines.collect()
    };
    let same = text(&recording).replace(&format!("`{}`", linker.display()), "`cc`");
    assert_eq!(lines(same), lines(text(&plain)));
    assert!(!world.at("target").join(record::FOLDER).join("main-1").exists());
}

#[test]
fn what_was_kept_is_missed_when_it_is_gone_or_changed() {
    if !LINKS_AS_GNU {
        return;
    }
    let world = World::new();
    let relink = world.relink(&[]).unwrap();
    let kept = relink.inputs.iter().find(|input| input.sha256.is_some()).unwrap();
    let bytes = std::fs::read(&kept.path).unwrap();
    let mut changed = bytes.clone();
    changed[100] ^= 1;
    std::fs::write(&kept.path, changed).unwrap();
    assert!(relink.check().unwrap_err().ends_with("has changed since it was linked"));
    // So the next comparison builds again.
    assert!(!kept.path.exists());
    std::fs::write(&kept.path, bytes).unwrap();
    relink.check().unwrap();
    std::fs::remove_file(&kept.path).unwrap();
    assert!(relink.check().unwrap_err().starts_with("could not read"));
}

#[test]
fn bitcode_is_not_linked_again() {
    if !LINKS_AS_GNU {
        return;
    }
    let world = World::new();
    let why = world.relink(&["-Clinker-plugin-lto", "-Clink-arg=-fuse-ld=lld"]).unwrap_err();
    assert!(why.contains("linker-plugin-lto"), "{why}");
}

#[test]
fn files_in_arguments_and_response_files_are_kept_and_libraries_found() {
    if !LINKS_AS_GNU {
        return;
    }
    let world = World::new();
    let c = |name: &str, text: &str| {
        write(&world.at(&format!("{name}.c")), text);
        let object = world.at(&format!("target/{name}.o"));
        let mut cc = std::process::Command::new("cc");
        let cc = cc.arg("-c").arg(world.at(&format!("{name}.c"))).arg("-o").arg(&object);
        assert!(cc.status().unwrap().success());
        object
    };
    let native = c("native", "#include <stdio.h>\nint main(void) { return puts(\"7\") < 0; }");
    let archive = world.at("target/libnative.a");
    let mut ar = std::process::Command::new("ar");
    assert!(ar.arg("crs").arg(&archive).arg(&native).status().unwrap().success());
    write(&world.at("target/list"), "{ main; };");
    write(&world.at("main.rs"), "#![no_main]\n");
    let (target, response) = (world.at("target"), world.at("target/re sponse"));
    let list = format!("-Wl,--dynamic-list={}", world.at("target/list").display());
    write(&response, &format!("{list}\n-L{}\n-lnative", target.display()));
    let relink = world.relink(&[&format!("-Clink-arg=@{}", response.display())]).unwrap();
    for path in [&native, &archive, &world.at("target/list"), &response] {
        std::fs::remove_file(path).unwrap();
    }
    relink.check().unwrap();
    let linked = run(&relink.command(3, &world.at("again")));
    assert!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr));
    assert_eq!(printed(&world.at("again"), ""), "7\n");
}

#[test]
fn files_of_the_commit_are_noted_wherever_the_linker_finds_them() {
    if !LINKS_AS_GNU {
        return;
    }
    let world = World::new();
    write(&world.at("lib/libnative.a"), "!<arch>\n");
    let more = "SECTIONS { .more : { *(.more) } } INSERT AFTER .data;";
    write(&world.at("lib/found.x"), more);
    write(&world.at("named"), &more.replace("more", "others"));
    let flags = ["-Llib", "-Wl,-lnative", "-Wl,-Tfound.x", "-Wl,-Tnamed"];
    let relink = world
        .relink(&flags.map(|flag| format!("-Clink-arg={flag}")).each_ref().map(|flag| &**flag));
    let others: Vec<RelinkInput> = relink.unwrap().inputs;
    for file in ["lib/libnative.a", "lib/found.x", "named"] {
        let found = others.iter().find(|input| input.path.ends_with(file));
        assert_eq!(found.map(|input| &input.sha256), Some(&None), "{file}: {others:?}");
    }
}

/// The link with this linker, and its arguments but for the inputs.
fn relinked(linker: &str, args: &[&str]) -> (Relink, Vec<String>) {
    let kept = format!("{KEPT}/12/x.o");
    let args = args.iter().chain([&&*kept]).map(|arg| (*arg).to_owned()).collect();
    let link = Link { linker: linker.into(), args, ..Link::default() };
    let relink = link.relink(Path::new("/links"), HOST, &[]).unwrap();
    let command = relink.command(5, Path::new("/out"));
    let words = command.argv.iter().map(|word| word.to_str().unwrap().to_owned());
    (relink, words.collect())
}

fn arguments(linker: &str, args: &[&str]) -> Vec<String> {
    relinked(linker, args).1
}

#[test]
fn each_linker_is_asked_in_its_own_words() {
    let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    assert_eq!(
        arguments("/usr/bin/cc", &["-fuse-ld=bfd", "-Wl,-O1", "-fuse-ld=mold"]),
        words(
            "/usr/bin/cc -fuse-ld=bfd -Wl,-O1 -fuse-ld=mold /links/12/x.o -Wl,-S -o /out \
             -Wl,--shuffle-sections=5"
        )
    );
    assert_eq!(
        arguments("/usr/bin/clang", &["--ld-path=/x/ld.lld", "-Wl,-O1"]),
        words(
            "/usr/bin/clang --ld-path=/x/ld.lld -Wl,-O1 /links/12/x.o -Wl,-S -o /out \
             -Wl,--shuffle-sections=.text*=5 -Wl,--shuffle-sections=.rodata*=5 \
             -Wl,--shuffle-sections=.data*=5 -Wl,--shuffle-sections=.bss*=5 \
             -Wl,--section-start=.rodata=0x300140 -Wl,--section-start=.text=0x10300000 \
             -Wl,-zseparate-code"
        )
    );
    assert_eq!(
        arguments("/x/rust-lld", &["-flavor", "gnu"]),
        words(
            "/x/rust-lld -flavor gnu /links/12/x.o -S -o /out --shuffle-sections=.text*=5 \
             --shuffle-sections=.rodata*=5 --shuffle-sections=.data*=5 \
             --shuffle-sections=.bss*=5 --section-start=.rodata=0x300140 \
             --section-start=.text=0x10300000 -zseparate-code"
        )
    );
}

#[test]
fn a_linker_that_knows_no_order_is_replaced_by_the_toolchains_own() {
    let folder = tempfile::tempdir().unwrap();
    let rustlib = folder.path().join("lib/rustlib/x86_64-unknown-linux-gnu");
    let own = rustlib.join("bin/gcc-ld");
    let search = format!("-L{}/lib", rustlib.display());
    // Without lld, it is known what was linked, but not again.
    let (none, _) = relinked("/usr/bin/ld", &["-O1", &search]);
    write(&own.join("ld.lld"), "");
    if none.linker.is_none() {
        let why = "its linker can't order functions, and there is no lld";
        assert_eq!(none.check(), Err(why.to_owned()));
    }
    let direct = arguments("/usr/bin/ld", &["-O1", &search]);
    assert_eq!(Path::new(&direct[0]), own.join("ld.lld"));
    let driver = arguments("/usr/bin/cc", &["-Wl,-O1", "-fuse-ld=gold", &search]);
    let end = [&*format!("-B{}", own.display()), "-fuse-ld=lld", "-Wl,-S", "-o", "/out"];
    assert_eq!(driver[4..9], end);
    assert_eq!(driver[9], "-Wl,--shuffle-sections=.text*=5");
    assert!(!driver.contains(&"-fuse-ld=gold".to_owned()));
}

/// The linker that stands for what the configuration and a variable name.
fn chosen(config: &str, variables: &[(&str, &str)]) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a/.cargo/config.toml"), config);
    for path in ["bin/cc", "bin/clang", "a/tools/my-cc"] {
        let path = folder.path().join(path);
        write(&path, "");
        let mode = crate::exec::system::permissions(0o700);
        std::fs::set_permissions(path, mode).unwrap();
    }
    let mut env: Vec<(OsString, OsString)> =
        variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
    env.push(("PATH".into(), folder.path().join("bin").into()));
    let at = folder.path().join("a");
    let configuration = Configuration::read([&*at], &[], &env).unwrap();
    let choice =
        LinkerChoice { configuration: &configuration, folder: &at, env: &env, rustc: HOST };
    let place = folder.path().join("linker");
    let linker = choice.recording(&place, &["/us".into(), "__link".into()])?;
    let again = choice.recording(&place, &["/us/elsewhere".into()])?;
    assert_eq!(linker, again, "its path does not depend on where we are");
    let text = std::fs::read_to_string(&linker.path).unwrap();
    assert!(text.contains("/us/elsewhere "));
    let called = text.lines().find_map(|line| line.strip_suffix(" \"$@\"")).unwrap();
    assert_eq!(Path::new(called).file_name(), linker.path.file_name());
    Ok(format!("{} {}", linker.triple, called.replace(folder.path().to_str().unwrap(), "")))
}

#[test]
fn the_linker_is_the_one_that_cargo_would_take() {
    if !LINKS_AS_GNU {
        return;
    }
    let usual = "x86_64-unknown-linux-gnu";
    let ours = format!("{usual} cc");
    assert_eq!(chosen("", &[]).unwrap(), ours);
    assert_eq!(chosen("build.target = 'host-tuple'", &[]).unwrap(), ours);
    assert_eq!(chosen("target.a-b.linker = 'clang'", &[]).unwrap(), ours);
    let config = format!("target.{usual}.linker = 'tools/my-cc'");
    assert_eq!(chosen(&config, &[]).unwrap(), format!("{usual} /a/tools/my-cc"));
    let variable = "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER";
    assert_eq!(chosen("", &[(variable, "clang")]).unwrap(), format!("{usual} clang"));
    let musl = [("CARGO_BUILD_TARGET", "x86_64-unknown-linux-musl")];
    assert_eq!(chosen(&config, &musl).unwrap(), "x86_64-unknown-linux-musl cc");
    for (config, variables, why) in [
        (&*config, &[(variable, "clang")][..], "several linkers"),
        ("target.'cfg(all())'.linker = 'clang'", &[], "`[target.'cfg(all())']`"),
        ("build.target = ['a-b', 'c-d']", &[], "several targets"),
        ("build.target = 'wasm32-wasip1'", &[], "`wasm32-wasip1` is not known"),
        ("", &[(variable, "no-such-linker")], "`no-such-linker` was not found"),
    ] {
        let error = chosen(config, variables).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}
