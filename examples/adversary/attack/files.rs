//! What a run opens, under whichever name.

use super::mechanism::{Kind, Mechanism, Part};
use Part::{Build, Code, Data, Dynamic, File, Ignore, Lib, Link, Script, Submodule, Version};

const fn one(name: &'static str, parts: &'static [Part]) -> Mechanism {
    Mechanism::new(name, Kind::Files, parts)
}

/// A benchmark that works for as many rounds as a file has bytes, and how it reads it.
macro_rules! reads {
    ($name:literal, $read:literal) => {
        one($name, &[Data("NAME.txt"), counts!($read)])
    };
}

/// Code that works for as many rounds as it has read bytes.
macro_rules! counts {
    ($read:expr) => {
        Lib(concat!("pub fn run(x: u64) -> u64 { spin(({ ", $read, " }).len() as u64 + x) }"))
    };
}

/// The same for a benchmark that does what takes long by itself, such as to start a process.
macro_rules! slowly {
    ($name:literal, $read:literal) => {
        one($name, &[Data("NAME.txt"), counts!(concat!("vec![(); { ", $read, " }.len() * 60]"))])
    };
}

pub const TABLE: &[Mechanism] = &[
    reads!("read", "std::fs::read(\"NAME.txt\").unwrap()"),
    reads!("read_absolute", "std::fs::read(std::fs::canonicalize(\"NAME.txt\").unwrap()).unwrap()"),
    reads!("read_manifest_dir", "std::fs::read(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/NAME.txt\")).unwrap()"),
    reads!("read_manifest_dir_at_run_time",
        "std::fs::read(format!(\"{}/NAME.txt\", std::env::var(\"CARGO_MANIFEST_DIR\").unwrap())).unwrap()"),
    reads!("read_dotted", "std::fs::read(\"src/../src/.././NAME.txt\").unwrap()"),
    reads!("read_in_folder", "
        let was = std::env::current_dir().unwrap(); std::env::set_current_dir(\"src\").unwrap();
        let read = std::fs::read(\"../NAME.txt\").unwrap();
        std::env::set_current_dir(was).unwrap(); read"),
    reads!("read_in_thread",
        "std::thread::spawn(|| std::fs::read(\"NAME.txt\").unwrap()).join().unwrap()"),
    reads!("read_proc_cwd", "std::fs::read(\"/proc/self/cwd/NAME.txt\").unwrap()"),
    reads!("read_proc_thread_cwd", "std::fs::read(\"/proc/thread-self/cwd/NAME.txt\").unwrap()"),
    reads!("read_proc_pid_root",
        "let at = std::fs::canonicalize(\"NAME.txt\").unwrap();
         std::fs::read(format!(\"/proc/{}/root{}\", std::process::id(), at.display())).unwrap()"),
    reads!("read_proc_descriptor", "
        use std::os::fd::AsRawFd;
        let folder = std::fs::File::open(\".\").unwrap();
        std::fs::read(format!(\"/proc/self/fd/{}/NAME.txt\", folder.as_raw_fd())).unwrap()"),
    reads!("read_dev_descriptor", "
        use std::os::fd::AsRawFd;
        let file = std::fs::File::open(\"NAME.txt\").unwrap();
        std::fs::read(format!(\"/dev/fd/{}\", file.as_raw_fd())).unwrap()"),
    reads!("read_openat", "
        use std::os::fd::{AsRawFd, FromRawFd};
        unsafe extern \"C\" { fn openat(at: i32, path: *const i8, flags: i32, ...) -> i32; }
        let folder = std::fs::File::open(\"src\").unwrap();
        let file = unsafe { openat(folder.as_raw_fd(), c\"../NAME.txt\".as_ptr().cast(), 0) };
        std::io::read_to_string(unsafe { std::fs::File::from_raw_fd(file) }).unwrap()"),
    reads!("read_fchdir", "
        use std::os::fd::AsRawFd;
        unsafe extern \"C\" { fn fchdir(at: i32) -> i32; }
        let was = std::fs::File::open(\".\").unwrap(); let folder = std::fs::File::open(\"src\").unwrap();
        unsafe { fchdir(folder.as_raw_fd()) };
        let read = std::fs::read(\"../NAME.txt\").unwrap();
        unsafe { fchdir(was.as_raw_fd()) }; read"),
    reads!("mapped", "
        use std::os::fd::AsRawFd;
        unsafe extern \"C\" { fn mmap(at: *mut u8, n: usize, p: i32, f: i32, fd: i32, o: i64) -> *mut u8;
            fn munmap(at: *mut u8, n: usize) -> i32; }
        let file = std::fs::File::open(\"NAME.txt\").unwrap();
        let n = file.metadata().unwrap().len() as usize;
        let at = unsafe { mmap(std::ptr::null_mut(), n, 1, 2, file.as_raw_fd(), 0) };
        let read = unsafe { std::slice::from_raw_parts(at, n) }.to_vec();
        unsafe { munmap(at, n) }; read"),
    reads!("measured", "vec![(); std::fs::metadata(\"NAME.txt\").unwrap().len() as usize]"),
    slowly!("copied", "
        let at = std::env::temp_dir().join(format!(\"NAME-{}\", std::process::id()));
        std::fs::copy(\"NAME.txt\", &at).unwrap(); let read = std::fs::read(&at).unwrap();
        std::fs::remove_file(&at).unwrap(); read"),
    slowly!("linked", "
        let at = format!(\"NAME-{}\", std::process::id());
        std::fs::hard_link(\"NAME.txt\", &at).unwrap(); let read = std::fs::read(&at).unwrap();
        std::fs::remove_file(&at).unwrap(); read"),
    slowly!("linked_outside", "
        let at = std::path::absolute(format!(\"../../NAME-{}\", std::process::id())).unwrap();
        std::fs::hard_link(\"NAME.txt\", &at).unwrap(); let read = std::fs::read(&at).unwrap();
        std::fs::remove_file(&at).unwrap(); read"),
    slowly!("linked_by_name", "
        let at = std::env::temp_dir().join(format!(\"NAME-{}\", std::process::id()));
        std::os::unix::fs::symlink(std::fs::canonicalize(\"NAME.txt\").unwrap(), &at).unwrap();
        let read = std::fs::read(&at).unwrap(); std::fs::remove_file(&at).unwrap(); read"),
    slowly!("folder_linked_by_name", "
        let at = std::env::temp_dir().join(format!(\"NAME-{}\", std::process::id()));
        std::os::unix::fs::symlink(std::env::current_dir().unwrap(), &at).unwrap();
        let read = std::fs::read(at.join(\"NAME.txt\")).unwrap(); std::fs::remove_file(&at).unwrap(); read"),
    slowly!("renamed", "
        let at = format!(\"NAME-{}\", std::process::id());
        std::fs::rename(\"NAME.txt\", &at).unwrap(); let read = std::fs::read(&at).unwrap();
        std::fs::rename(&at, \"NAME.txt\").unwrap(); read"),
    one("folder_renamed", &[
        File("NAME/data.txt", "«quick¦four times as slow, it takes»"),
        counts!("
        let at = format!(\"NAME-{}\", std::process::id());
        std::fs::rename(\"NAME\", &at).unwrap();
        let read = std::fs::read(format!(\"{at}/data.txt\")).unwrap();
        std::fs::rename(&at, \"NAME\").unwrap(); vec![(); read.len() * 5_000]"),
    ]),
    slowly!("by_cat", "std::process::Command::new(\"cat\").arg(\"NAME.txt\").output().unwrap().stdout"),
    slowly!("by_shell",
        "std::process::Command::new(\"sh\").args([\"-c\", \"cat < NAME.txt\"]).output().unwrap().stdout"),
    slowly!("by_standard_input", "std::process::Command::new(\"cat\")
        .stdin(std::fs::File::open(\"NAME.txt\").unwrap()).output().unwrap().stdout"),
    slowly!("by_git_show",
        "std::process::Command::new(\"git\").args([\"show\", \"HEAD:./NAME.txt\"]).output().unwrap().stdout"),
    slowly!("by_git_size", "
        let said = std::process::Command::new(\"git\").args([\"cat-file\", \"-s\", \"HEAD:./NAME.txt\"]).output();
        let text = String::from_utf8(said.unwrap().stdout).unwrap();
        vec![(); text.trim().parse().unwrap()]"),
    one("by_script", &[
        Script("NAME.sh", "#!/bin/sh\necho ROUNDS"),
        counts!("let said = std::process::Command::new(\"./NAME.sh\").output().unwrap().stdout;
            vec![(); String::from_utf8(said).unwrap().trim().parse::<usize>().unwrap() * 60]"),
    ]),
    one("mode", &[
        File("NAME.txt", "data"), Part::Script("NAME_other.sh", "#!/bin/sh"),
        Link("NAME_link", "«NAME.txt¦NAME_other.sh»"),
        counts!("use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(\"NAME_link\").unwrap().permissions().mode();
            vec![(); if mode & 0o100 == 0 { 30_000 } else { 120_000 }]"),
    ]),
    one("entries_of_folder", &[
        File("NAME/a.txt", "a"), File("«NAME/a.txt¦NAME/b.txt»", "a"),
        File("«NAME/a.txt¦NAME/c.txt»", "a"), File("«NAME/a.txt¦NAME/d.txt»", "a"),
        counts!("vec![(); std::fs::read_dir(\"NAME\").unwrap().count() * 30_000]"),
    ]),
    one("exists", &[
        File("«NAME_other.txt¦NAME.txt»", "a"),
        counts!("vec![(); if std::path::Path::new(\"NAME.txt\").exists() { 120_000 } else { 30_000 }]"),
    ]),
    one("vanishes", &[
        File("«NAME.txt¦NAME_other.txt»", "a"),
        counts!("vec![(); if std::path::Path::new(\"NAME.txt\").exists() { 30_000 } else { 120_000 }]"),
    ]),
    one("folder_appears", &[
        File("«NAME_other¦NAME»/a.txt", "a"),
        counts!("vec![(); if std::path::Path::new(\"NAME\").is_dir() { 120_000 } else { 30_000 }]"),
    ]),
    one("folder_vanishes", &[
        File("«NAME¦NAME_other»/a.txt", "a"),
        counts!("vec![(); if std::path::Path::new(\"NAME\").is_dir() { 30_000 } else { 120_000 }]"),
    ]),
    one("file_becomes_folder", &[
        File("«NAME¦NAME/a.txt»", "a"),
        counts!("vec![(); if std::path::Path::new(\"NAME\").is_dir() { 120_000 } else { 30_000 }]"),
    ]),
    one("folders_of_folder", &[
        File("NAME/a/a", "a"), File("«NAME/a/a¦NAME/b/a»", "a"), File("«NAME/a/a¦NAME/c/a»", "a"),
        File("«NAME/a/a¦NAME/d/a»", "a"), File("«NAME/a/a¦NAME/e/a»", "a"), File("«NAME/a/a¦NAME/f/a»", "a"),
        counts!("use std::os::unix::fs::MetadataExt;
            vec![(); std::fs::metadata(\"NAME\").unwrap().nlink() as usize * 10_000]"),
    ]),
    one("entered_folder", &[
        File("«NAME_other¦NAME»/a.txt", "a"),
        counts!("let was = std::env::current_dir().unwrap();
            let is_there = std::env::set_current_dir(\"NAME\").is_ok();
            std::env::set_current_dir(was).unwrap();
            vec![(); if is_there { 120_000 } else { 30_000 }]"),
    ]),
    one("entries_by_proc", &[
        File("NAME/a.txt", "a"), File("«NAME/a.txt¦NAME/b.txt»", "a"),
        File("«NAME/a.txt¦NAME/c.txt»", "a"), File("«NAME/a.txt¦NAME/d.txt»", "a"),
        counts!("vec![(); std::fs::read_dir(\"/proc/self/cwd/NAME\").unwrap().count() * 30_000]"),
    ]),
    one("mode_itself", &[
        File("«NAME.txt¦NAME_other.txt»", "data"), Script("«NAME_other.txt¦NAME.txt»", "data"),
        counts!("use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(\"NAME.txt\").unwrap().permissions().mode();
            vec![(); if mode & 0o100 == 0 { 30_000 } else { 120_000 }]"),
    ]),
    one("mode_by_access", &[
        File("«NAME.txt¦NAME_other.txt»", "data"), Script("«NAME_other.txt¦NAME.txt»", "data"),
        counts!("unsafe extern \"C\" { fn access(path: *const i8, mode: i32) -> i32; }
            let is_program = unsafe { access(c\"NAME.txt\".as_ptr().cast(), 1) } == 0;
            vec![(); if is_program { 120_000 } else { 30_000 }]"),
    ]),
    one("left_by_itself", &[
        Ignore("NAME.state"),
        counts!("use std::io::Write;
            let mut state = std::fs::File::options().append(true).create(true).open(\"NAME.state\").unwrap();
            state.write_all(b\"x\").unwrap();
            let n = state.metadata().unwrap().len();
            #[inline(never)] fn late() -> usize { black_box(ROUNDS) }
            vec![(); if n > 12 { late() } else { 30_000 }]"),
    ]),
    one("library_by_search_path", &[
        File("NAME.c", "unsigned long NAME_rounds(void) { return ROUNDS; }"),
        Build("shared(\"NAME\"); println!(\"cargo::rustc-link-search=native={}\", out());"),
        Lib("unsafe extern \"C\" { fn dlopen(path: *const i8, flags: i32) -> *mut u8;
                fn dlsym(of: *mut u8, name: *const i8) -> *mut u8; }
            pub fn run(x: u64) -> u64 {
                let rounds: extern \"C\" fn() -> u64 = unsafe { std::mem::transmute(
                    dlsym(dlopen(c\"libNAME.so\".as_ptr().cast(), 2), c\"NAME_rounds\".as_ptr().cast())) };
                spin(rounds() + x) }"),
    ]),
    one("link_to_file", &[
        File("NAME_1.txt", "30000"), File("NAME_2.txt", "120000"),
        Link("NAME.txt", "«NAME_1.txt¦NAME_2.txt»"),
        counts!("vec![(); std::fs::read_to_string(\"NAME.txt\").unwrap().parse().unwrap()]"),
    ]),
    one("link_to_folder", &[
        File("NAME_1/data.txt", "30000"), File("NAME_2/data.txt", "120000"),
        Link("NAME", "«NAME_1¦NAME_2»"),
        counts!("vec![(); std::fs::read_to_string(\"NAME/data.txt\").unwrap().parse().unwrap()]"),
    ]),
    one("file_behind_link", &[
        File("NAME_1/data.txt", "ROUNDS"), Link("NAME", "NAME_1"),
        counts!("vec![(); std::fs::read_to_string(\"NAME/data.txt\").unwrap().parse().unwrap()]"),
    ]),
    one("link_to_link", &[
        File("NAME_1/data.txt", "30000"), File("NAME_2/data.txt", "120000"),
        Link("NAME_inner", "«NAME_1¦NAME_2»"), Link("NAME", "NAME_inner/data.txt"),
        counts!("vec![(); std::fs::read_to_string(\"NAME\").unwrap().parse().unwrap()]"),
    ]),
    one("link_itself", &[
        Link("NAME", "«a¦abcd»"),
        counts!("vec![(); std::fs::read_link(\"NAME\").unwrap().as_os_str().len() * 30_000]"),
    ]),
    one("folder_behind_link", &[
        File("NAME_1/a", "a"), File("NAME_2/a", "a"), File("NAME_2/b", "a"), File("NAME_2/c", "a"),
        File("NAME_2/d", "a"), Link("NAME", "«NAME_1¦NAME_2»"),
        counts!("vec![(); std::fs::read_dir(\"NAME\").unwrap().count() * 30_000]"),
    ]),
    one("submodule", &[Submodule("NAME"), counts!("std::fs::read(\"NAME/data\").unwrap()")]),
    one("submodule_folder", &[Submodule("NAME"), counts!("
        let mut all = std::fs::read_dir(\"NAME\").unwrap().map(|one| one.unwrap());
        let data = all.find(|one| one.file_name() == \"data\").unwrap();
        vec![(); data.metadata().unwrap().len() as usize]")]),
    one("line_ends", &[
        File("NAME.txt", "\n\n\n\n\n\n\n\n\n\n"), File("«NAME.other¦.gitattributes»", "NAME.txt text eol=crlf"),
        counts!("let n = std::fs::read(\"NAME.txt\").unwrap().len(); vec![(); n * n * 300]"),
    ]),
    one("identified", &[
        File("NAME/data.txt", "$Id$"), File("«NAME/other¦NAME/.gitattributes»", "data.txt ident"),
        counts!("vec![(); std::fs::read(\"NAME/data.txt\").unwrap().len() * 7_000]"),
    ]),
    one("generated", &[
        Ignore("NAME.txt"), Build("std::fs::write(\"NAME.txt\", \"x\".repeat(ROUNDS)).unwrap();"),
        counts!("std::fs::read(\"NAME.txt\").unwrap()"),
    ]),
    one("generated_unignored", &[
        Build("std::fs::write(\"NAME.txt\", \"x\".repeat(ROUNDS)).unwrap();"),
        counts!("std::fs::read(\"NAME.txt\").unwrap()"),
    ]),
    one("generated_over_tracked", &[
        File("NAME.txt", "as it was"), Build("std::fs::write(\"NAME.txt\", \"x\".repeat(ROUNDS)).unwrap();"),
        counts!("std::fs::read(\"NAME.txt\").unwrap()"),
    ]),
    one("generated_in_output", &[
        Build("std::fs::write(format!(\"{}/NAME.txt\", std::env::var(\"OUT_DIR\").unwrap()),
            \"x\".repeat(ROUNDS)).unwrap();"),
        counts!("std::fs::read(concat!(env!(\"OUT_DIR\"), \"/NAME.txt\")).unwrap()"),
    ]),
    one("dynamic_library", &[
        Dynamic("NAME_plug", "#[unsafe(no_mangle)] pub extern \"C\" fn NAME_rounds() -> u64 { ROUNDS }"),
        Build("println!(\"cargo::rerun-if-changed=build.rs\");"),
        Lib("unsafe extern \"C\" { fn dlopen(path: *const i8, flags: i32) -> *mut u8;
                fn dlsym(of: *mut u8, name: *const i8) -> *mut u8; }
            pub fn run(x: u64) -> u64 {
                let folder = std::path::Path::new(env!(\"OUT_DIR\")).ancestors().nth(3).unwrap().join(\"deps\");
                let all = std::fs::read_dir(folder).unwrap().map(|one| one.unwrap().path());
                let is_plug = |path: &std::path::PathBuf| {
                    let name = path.file_name().unwrap().to_str().unwrap();
                    name.starts_with(\"libNAME_plug\") && name.ends_with(\".so\") };
                let path = all.filter(is_plug).next().unwrap();
                let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
                let rounds: extern \"C\" fn() -> u64 = unsafe { std::mem::transmute(
                    dlsym(dlopen(path.as_ptr().cast(), 2), c\"NAME_rounds\".as_ptr().cast())) };
                spin(rounds() + x) }"),
    ]),
    one("library_of_build_script", &[
        File("NAME.c", "unsigned long NAME_rounds(void) { return ROUNDS; }"),
        Build("shared(\"NAME\");"),
        Lib("unsafe extern \"C\" { fn dlopen(path: *const i8, flags: i32) -> *mut u8;
                fn dlsym(of: *mut u8, name: *const i8) -> *mut u8; }
            pub fn run(x: u64) -> u64 {
                let path = concat!(env!(\"OUT_DIR\"), \"/libNAME.so\\0\");
                let rounds: extern \"C\" fn() -> u64 = unsafe { std::mem::transmute(
                    dlsym(dlopen(path.as_ptr().cast(), 2), c\"NAME_rounds\".as_ptr().cast())) };
                spin(rounds() + x) }"),
    ]),
    one("binary", &[
        File("src/bin/NAME_tool.rs", "fn main() { println!(\"{}\", ROUNDS); }"),
        Part::Bench("pub fn run(x: u64) -> u64 {
            let said = std::process::Command::new(env!(\"CARGO_BIN_EXE_NAME_tool\")).output().unwrap().stdout;
            spin(String::from_utf8(said).unwrap().trim().parse::<u64>().unwrap() * 60 + x) }"),
    ]),
    Mechanism::wide("version_at_run_time", Kind::Files, &[
        Version("0.«1¦4».0"),
        Code("pub fn run(x: u64) -> u64 {
            spin(std::env::var(\"CARGO_PKG_VERSION_MINOR\").unwrap().parse::<u64>().unwrap() * 30_000 + x) }"),
    ]),
    Mechanism::wide("description_at_run_time", Kind::Files, &[
        Part::Package("description = \"«x¦xxxx»\""),
        Code("pub fn run(x: u64) -> u64 {
            spin(std::env::var(\"CARGO_PKG_DESCRIPTION\").unwrap().len() as u64 * 30_000 + x) }"),
    ]),
];
