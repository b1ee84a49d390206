//! Libraries that rustc has compiled are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use super::comparison::FunctionComparison;
use super::executable::ElfExecutable;
use super::{Files, FunctionPlaces, changed as changed_names, different, exact_sides, places};
use crate::exec::process::Command;
use crate::exec::program::{OrderingLinker, Program, Relink, RelinkInput};
use crate::exec::system::{LINKS_AS_GNU, digest_file, write};
use crate::model::side::{Pair, Side};
use crate::workspace::identical::Moves;

/// Functions that do some work each, two of which refer to something beside themselves.
const LIBRARY: &str = r#"
#[inline(never)] pub fn plain(x: u64) -> u64 { x.wrapping_mul(7) ^ (x >> 3) }
#[inline(never)] pub fn other(x: u64) -> u64 { plain(x).wrapping_add(11) }
#[inline(never)] pub fn text(x: u64) -> &'static str { if x > 3 { "many words" } else { "few" } }
#[inline(never)] pub fn real(x: f64) -> f64 { x * 1.2345678 + 0.5 }
#[inline(never)] pub fn table(x: usize) -> u32 { TABLE[x % 4] }
static TABLE: [u32; 4] = [2, 3, 5, 7];
#[inline(never)] pub fn panics(x: &[u64], at: usize) -> u64 { x[at] }
#[inline(never)] pub fn shown(x: u64) -> String { format!("{x} words") }
"#;

/// How rustc mangles names since 1.97.
const V0: &str = "-Csymbol-mangling-version=v0";

/// A library as rustc compiles it for a side, of which many tests have the same.
fn compiled(side: Side, source: &str) -> Files {
    type Libraries = BTreeMap<(Side, String), Vec<u8>>;
    static KNOWN: Mutex<Libraries> = Mutex::new(Libraries::new());
    let key = (side, source.to_owned());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(content) = known().get(&key) {
        return vec![Rc::new(("library".to_owned(), content.clone()))];
    }
    let folder = tempfile::tempdir().unwrap();
    let files = rustc(folder.path(), "library", source, &["-Ccodegen-units=1"]);
    known().insert(key, files[0].1.clone());
    files
}

fn both_compiled(sources: &Pair<String>) -> Pair<Files> {
    Pair::both(|side| compiled(side, &sources[side]))
}

fn rustc(folder: &Path, name: &str, source: &str, more: &[&str]) -> Files {
    // The house keeps that word to where system calls are.
    let source = source.replace("UNSAFE", concat!("un", "safe"));
    let file = format!("{name}.rs");
    write(&folder.join(&file), &source);
    let mut rustc = std::process::Command::new("rustc");
    rustc.current_dir(folder).args(["--crate-type=rlib", "-O", "-Awarnings"]);
    rustc.args(["--edition=2021", &file]).args(more);
    assert!(rustc.status().unwrap().success());
    let content = std::fs::read(folder.join(format!("lib{name}.rlib"))).unwrap();
    vec![Rc::new((name.to_owned(), content))]
}

/// The names of the functions that differ after a replacement in the library.
fn changed(old: &str, new: &str) -> Vec<String> {
    assert!(LIBRARY.contains(old), "{old}");
    let sources = Pair { base: LIBRARY.to_owned(), head: LIBRARY.replace(old, new) };
    let libraries = both_compiled(&sources);
    let changed = different(&libraries, &Pair::both(|_| BTreeSet::new())).unwrap();
    changed.into_iter().map(|function| function.name).collect()
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn functions_differ_if_their_code_or_constants_do() {
    if !LINKS_AS_GNU {
        return;
    }
    let table: [(&str, &str, &[&str]); 8] = [
        ("x.wrapping_mul(7)", "x.wrapping_mul(9)", &["library::plain"]),
        ("many words", "more words", &["library::text"]),
        ("1.2345678", "1.2345679", &["library::real"]),
        ("[2, 3, 5, 7]", "[2, 3, 5, 8]", &["library::table"]),
        // One in code of its own, one in a constant that the code refers to.
        ("plain(x).wrapping_add", "plain(x + 1).wrapping_add", &["library::other"]),
        ("{x} words", "{x} terms", &["library::shown"]),
        // A line more: only a location moves.
        ("#[inline(never)] pub fn panics", "\n#[inline(never)] pub fn panics", &[]),
        ("fn other", "fn another", &["library::another", "library::other"]),
    ];
    for (old, new, expected) in table {
        let mut names = changed(old, new);
        names.sort();
        assert_eq!(names, expected, "{old}");
    }
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn what_changed_most_in_length_comes_first_and_what_is_not_linked_does_not_come() {
    if !LINKS_AS_GNU {
        return;
    }
    let head = LIBRARY.replace("x.wrapping_mul(7)", "x.wrapping_mul(9)").replace(
        "fn other(x: u64) -> u64 {",
        "fn other(x: u64) -> u64 { if x % 5 == 3 { return plain(x * 3) / (x | 1) }",
    );
    let libraries = both_compiled(&Pair { base: LIBRARY.to_owned(), head });
    let all = different(&libraries, &Pair::both(|_| BTreeSet::new())).unwrap();
    let names: Vec<&str> = all.iter().map(|function| &*function.name).collect();
    assert_eq!(names, ["library::other", "library::plain"]);
    let other = all[0].bytes;
    assert!(other.base.unwrap() < other.head.unwrap(), "{other:?}");
    let linked = BTreeSet::from(["library::plain".to_owned()]);
    let linked = different(&libraries, &Pair::both(|_| linked.clone()));
    assert_eq!(linked.unwrap(), all[1..]);
}

/// Whether two libraries differ in a way that no function shows, and the names of the
/// functions in which they differ, without hashes.
fn exactly(base: &str, head: &str) -> (Option<String>, Vec<String>) {
    let sources = Pair { base, head }.map(|source| format!("{LIBRARY}{source}"));
    let libraries = both_compiled(&sources);
    differences(&libraries, &Files::new())
}

/// `shared` are linked after the libraries on both sides.
fn differences(libraries: &Pair<Files>, shared: &Files) -> (Option<String>, Vec<String>) {
    let all = libraries.as_ref().map(|own| own.iter().chain(shared).cloned().collect());
    let (sides, others) = exact_sides(&all).unwrap();
    let mut comparison = FunctionComparison::new(sides.as_ref(), &|_| false);
    let other = comparison.other_change(&others);
    let changed = comparison.changed_functions().into_iter();
    let names = changed.flat_map(|name| {
        let of = |side: Side| sides[side].functions.get(name).into_iter().flatten();
        Side::BOTH.into_iter().flat_map(of).map(|function| super::shown(&function.name))
    });
    let mut names: BTreeSet<String> = names.collect();
    names.extend(comparison.other_unwinding().then(|| super::UNWINDS.to_owned()));
    (other, names.into_iter().collect())
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn what_hundreds_of_files_define_is_the_same_if_it_is_in_all_of_them() {
    if !LINKS_AS_GNU {
        return;
    }
    let usual = compiled(Side::Base, LIBRARY);
    let other = compiled(Side::Head, &LIBRARY.replace("[2, 3, 5, 7]", "[2, 3, 5, 8]"));
    let copies = |count: usize| -> Files {
        (0..count).map(|number| Rc::new((format!("{number}"), usual[0].1.clone()))).collect()
    };
    let same = Pair { base: copies(150), head: copies(151) };
    assert_eq!(differences(&same, &Files::new()), (None, Vec::new()));
    for at in [0, 150] {
        let mut libraries = Pair { base: copies(150), head: copies(150) };
        libraries.head.insert(at, other[0].clone());
        let (_, names) = differences(&libraries, &Files::new());
        assert_eq!(names, ["library::table"], "{at}");
    }
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn what_is_referred_to_without_a_name_belongs_to_the_function() {
    if !LINKS_AS_GNU {
        return;
    }
    // A function, what it refers to, and a change of that.
    let table = [
        // A vtable, with a method of another type in it.
        (
            "pub trait T { fn f(&self) -> u64; } pub struct A; pub struct B; \
             impl T for A { fn f(&self) -> u64 { 1 } } impl T for B { fn f(&self) -> u64 { 2 } } \
             #[inline(never)] pub fn user() -> Box<dyn T> { Box::new(A) }",
            "Box::new(A)",
            "Box::new(B)",
        ),
        // A variable of a thread, and one that a lock guards.
        (
            "use std::cell::Cell; thread_local! { static V: Cell<u64> = const { Cell::new(17) }; } \
             #[inline(never)] pub fn user() -> u64 { V.with(|v| v.replace(3)) }",
            "17",
            "19",
        ),
        (
            "use std::sync::Mutex; static V: Mutex<[u64; 3]> = Mutex::new([1, 2, 3]); \
             #[inline(never)] pub fn user() -> u64 { V.lock().unwrap()[1] }",
            "[1, 2, 3]",
            "[1, 4, 3]",
        ),
        // Constants that refer to constants, in a circle.
        (
            "pub struct N(u64, &'static N); static A: N = N(1, &B); static B: N = N(2, &A); \
             #[inline(never)] pub fn user(x: usize) -> u64 { let mut n = &A; for _ in 0..x { n = n.1 } n.0 }",
            "N(2, &A)",
            "N(3, &A)",
        ),
        (
            "pub struct N(u64, &'static N); static A: N = N(1, &B); static B: N = N(1, &A); \
             static C: N = N(1, &B); \
             #[inline(never)] pub fn user(x: usize) -> u64 { let mut n = &A; for _ in 0..x { n = n.1 } \
             (n as *const N as u64) ^ (&raw const C as u64) }",
            "static B: N = N(1, &A)",
            "static B: N = N(7, &A)",
        ),
        // A table of functions.
        (
            "static F: [fn(u64) -> u64; 2] = [plain, other]; \
             #[inline(never)] pub fn user(x: usize) -> u64 { F[x % 2](3) }",
            "[plain, other]",
            "[other, plain]",
        ),
        // Two variables that hold the same at first: one is written to, and which is read?
        (
            "use std::sync::atomic::{AtomicU64, Ordering::SeqCst}; \
             static V: AtomicU64 = AtomicU64::new(0); static W: AtomicU64 = AtomicU64::new(0); \
             #[inline(never)] pub fn user(x: u64) -> u64 { V.store(x, SeqCst); W.load(SeqCst) } \
             #[inline(never)] pub fn more(x: u64) { W.store(x, SeqCst); }",
            "W.load",
            "V.load",
        ),
        // The same code, of which another part is left behind when a call panics.
        (
            "pub struct Guard; impl Drop for Guard { fn drop(&mut self) { std::hint::black_box(7); } } \
             #[inline(never)] pub fn user(f: fn(), g: fn()) { f(); let _guard = Guard; g(); }",
            "f(); let _guard = Guard;",
            "let _guard = Guard; f();",
        ),
        // One of the strings that a table points to, all of a length whose constants linkers
        // merge, with the place in the table added to each.
        (NAMED, "Many", "Much"),
        (NAMED, "Zero", "None"),
        (NAMED, "Most", "Zero"),
        // The same bytes, which may lie across cache lines.
        (
            "#[repr(align(64))] pub struct T([u64; 8]); static V: T = T([1, 2, 3, 4, 5, 6, 7, 8]); \
             #[inline(never)] pub fn user(x: usize) -> u64 { std::hint::black_box(&V).0[x % 8] }",
            "align(64)",
            "align(8)",
        ),
        // What the assembler makes of a function.
        (
            "#[inline(never)] pub fn user() -> u64 { let x: u64; UNSAFE { std::arch::asm!(\"mov {}, 5\", out(reg) x) }; x }",
            "5",
            "6",
        ),
    ];
    for (source, old, new) in table {
        assert!(source.contains(old), "{source}");
        let (other, changed) = exactly(source, &source.replace(old, new));
        let is_it = |name: &String| ["library::user", super::UNWINDS].contains(&name.as_str());
        let is_found = other.is_some() || changed.iter().any(is_it);
        assert!(is_found, "{source}: {other:?} {changed:?}");
        assert_eq!(exactly(source, source), (None, Vec::new()), "{source}");
    }
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn who_differs_only_by_a_local_function_is_told_from_who_differs_itself() {
    if !LINKS_AS_GNU {
        return;
    }
    let user = |body: &str| {
        format!(
            "{LIBRARY} #[inline(never)] fn local(x: u64) -> u64 {{ std::hint::black_box(x) * 777 }} \
             type Work = fn(u64) -> u64; #[inline(never)] pub fn user(x: u64) -> u64 {{ {body} }}"
        )
    };
    let takes = "std::hint::black_box(local as Work) as u64 ^ x";
    let more = format!("#[inline(never)] fn more(x: u64) -> u64 {{ {takes} }} more(x) ^ more(3)");
    let table = [
        (takes, takes, Some("library::local")),
        // It calls another one that does, which is no change of its own.
        (&*more, &*more, Some("library::user::more")),
        ("local(x) ^ 5", "local(x) ^ 5", Some("library::local")),
        (takes, "local(x) ^ 5", None),
        ("local(x) ^ 5", "local(x) ^ 6", None),
    ];
    for (base, head, expected) in table {
        let sources = Pair { base: user(base), head: user(head).replace("777", "999") };
        let libraries = both_compiled(&sources);
        let (sides, _) = exact_sides(&libraries).unwrap();
        let mut comparison = FunctionComparison::new(sides.as_ref(), &|_| false);
        let changed = comparison.changed_functions();
        let is_user = |name: &&&String| super::shown(name) == "library::user";
        assert!(changed.iter().any(|name| is_user(&name)), "{base}");
        let found = comparison.same_but_for_locals(&changed);
        let all = changed.iter().map(|name| name.as_str()).collect();
        let referred = found.iter().find(is_user).map(|name| {
            let referred = comparison.referred_to(Side::Base, name, &all);
            referred.into_iter().map(super::shown).collect::<Vec<_>>().join(" ")
        });
        assert_eq!(referred.as_deref(), expected, "{base}");
    }
}

/// Names of a length whose constants linkers merge, which a table points to.
const NAMED: &str = "#[inline(never)] pub fn user(x: u8) -> &'static str { match x { \
    0 => \"Zero\", 1 => \"Some\", 2 => \"Many\", 3 => \"Much\", 4 => \"Most\", 5 => \"More\", _ => \"Also\" } }";

/// Assembly: lines, each of which may be a function of some name and its code.
fn assembly(lines: &[&str]) -> String {
    let lines = lines.iter().map(|line| match line.split_once(" = ") {
        Some((name, code)) => format!(
            ".globl {name}; .type {name}, @function; {name}: {code}; .size {name}, . - {name}"
        ),
        None => (*line).to_owned(),
    });
    format!("std::arch::global_asm!({:?});", lines.collect::<Vec<_>>().join("\n"))
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn code_that_is_reached_without_a_relocation_belongs_to_who_may_reach_it() {
    if !LINKS_AS_GNU {
        return;
    }
    let elsewhere = ".section .text.elsewhere,\"ax\",@progbits";
    let table = [
        // A function of the same section, and one of an unrelated one.
        "#[UNSAFE(link_section = \".text.mine\")] pub fn user(x: u64) -> u64 { helper(x) ^ helper(x + 1) } \
         #[UNSAFE(link_section = \".text.mine\")] #[inline(never)] fn helper(x: u64) -> u64 { x * 777 }"
            .to_owned(),
        assembly(&[".text", "user = call helper; ret", "helper: mov eax, 777; ret"]),
        assembly(&[".text", "user = nop", "mov eax, 777; ret", "other = ret"]),
        assembly(&[".text", "user = jmp inside", "other = ret; inside: mov eax, 777; ret"]),
        // What assembly reads without a symbol, and what looks like padding.
        assembly(&[".text", "user = mov rax, [rip + constant]; ret", "constant: .quad 777"]),
        // Into the middle of a function of another section.
        assembly(&[".text", "user = jmp other + 1", elsewhere, "other = ret; mov eax, 777; ret"]),
        assembly(&[".text", "user = jmp 5f", elsewhere, "other = ret; 5: mov eax, 777; ret"]),
        assembly(&[".text", "user = jmp [rip + 3f]", ".data", "3: .quad other + 1", elsewhere,
            "other = ret; mov eax, 777; ret"]),
    ];
    for source in table {
        assert!(source.contains("777"), "{source}");
        let (other, changed) = exactly(&source, &source.replace("777", "999"));
        let is_seen = changed.iter().any(|name| name.ends_with("user"));
        assert!(other.is_none() && is_seen, "{source}: {other:?} {changed:?}");
        // Nor does everything differ.
        assert!(!changed.contains(&"library::plain".to_owned()), "{source}: {changed:?}");
        assert_eq!(exactly(&source, &source), (None, Vec::new()), "{source}");
    }
}

/// A function that refers to constants in sections whose entries linkers merge.
const MERGED: &str = r#"
std::arch::global_asm!(
    ".section .rodata.cst16,\"aM\",@progbits,16",
    ".long 9, 9, 9, 9", ".Lentry:", ".long 1, 2, 3, 4",
    ".section .rodata.str4.4,\"aMS\",@progbits,4",
    ".Lwide:", ".long 65, 66, 0",
    ".text", ".globl in_assembly", ".type in_assembly, @function", "in_assembly:",
    "pshufd xmm0, [rip + .Lentry], 27", "lea rax, [rip + .Lwide]", "ret",
    ".size in_assembly, . - in_assembly");
"#;

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn an_entry_that_linkers_merge_is_the_one_that_is_referred_to() {
    if !LINKS_AS_GNU {
        return;
    }
    // Any of its bytes, that of a string of wide characters behind a zero, too; but no
    // other entry of the section.
    for (old, new, is_seen) in [
        ("1, 2, 3, 4", "1, 2, 3, 5", true),
        ("65, 66, 0", "65, 67, 0", true),
        ("65, 66, 0", "65, 66, 67, 0", true),
        ("\".long 9, 9, 9, 9\", ", "", false),
        ("\".Lwide:\", ", "\".long 9, 0\", \".Lwide:\", ", false),
    ] {
        assert!(MERGED.contains(old), "{old}");
        let (other, changed) = exactly(MERGED, &MERGED.replace(old, new));
        assert_eq!(other, None, "{old}");
        assert_eq!(changed.contains(&"in_assembly".to_owned()), is_seen, "{old}: {changed:?}");
    }
}

/// What registers a function before `main`, which nothing else refers to.
const REGISTERS: &str = "pub struct Node(fn(u64) -> u64); fn work(x: u64) -> u64 { x.wrapping_mul(5) } \
    #[used] #[UNSAFE(link_section = \".init_array\")] static PUSH: extern \"C\" fn() = push; \
    extern \"C\" fn push() { static NODE: Node = Node(work); std::hint::black_box((&NODE, 3)); }";

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn what_is_registered_before_main_differs_by_itself() {
    if !LINKS_AS_GNU {
        return;
    }
    let changed = |old: &str, new: &str| exactly(REGISTERS, &REGISTERS.replace(old, new));
    assert_eq!(changed("mul(5)", "mul(6)"), (None, vec!["library::work".to_owned()]));
    // What registers it runs before `main`, and is a function, too.
    assert_eq!(changed("NODE, 3", "NODE, 4"), (None, vec!["library::push".to_owned()]));
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn what_no_function_refers_to_is_not_overlooked() {
    if !LINKS_AS_GNU {
        return;
    }
    let table = [
        // Runs before `main`.
        (
            "extern \"C\" fn early() { std::hint::black_box(1); } extern \"C\" fn late() {} \
             #[used] #[UNSAFE(link_section = \".init_array\")] \
             static RUN: extern \"C\" fn() = early;",
            "= early",
            "= late",
        ),
        // Is collected by the linker.
        (
            "#[used] #[UNSAFE(link_section = \"plugins\")] static ONE: [u8; 4] = [1, 2, 3, 4];",
            "2, 3",
            "3, 2",
        ),
        // Is collected by a linker script, which also names it.
        (
            "#[used] #[UNSAFE(link_section = \".plugins_all\")] static ONE: [u8; 4] = [1, 2, 3, 4];",
            "2, 3",
            "3, 2",
        ),
        // Code of no function.
        (
            "std::arch::global_asm!(\".globl entry_of_asm\", \"entry_of_asm:\", \"mov $5, %rax\", \"ret\", \
             options(att_syntax));",
            "$5",
            "$6",
        ),
        // The same, shorter than what may be between functions.
        (
            "std::arch::global_asm!(\".globl entry\", \"entry: ret; mov eax, 5\");",
            "eax, 5",
            "eax, 6",
        ),
        // Data of unknown length, and a value without a place.
        (
            "std::arch::global_asm!(\".data; .globl table\", \"table: .quad 5\");",
            "quad 5",
            "quad 6",
        ),
        ("std::arch::global_asm!(\".globl COUNT; .set COUNT, 5\");", ", 5", ", 6"),
        // A variable that code in other languages may know by its name.
        ("#[UNSAFE(no_mangle)] pub static EXPORTED: u64 = 5;", "= 5", "= 6"),
    ];
    for (source, old, new) in table {
        assert!(source.contains(old), "{source}");
        let (other, changed) = exactly(source, &source.replace(old, new));
        assert!(other.is_some(), "{source}: {changed:?}");
        assert_eq!(exactly(source, source), (None, Vec::new()), "{source}");
    }
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn a_variable_that_both_sides_files_read_is_not_overlooked() {
    if !LINKS_AS_GNU {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = "#[inline(never)] pub fn filler() {} pub static TABLE: [u64; 3] = [5, 6, 7];";
    let base = rustc(folder.path(), "library", source, &[]);
    let user = "#[inline(never)] pub fn user(x: usize) -> u64 { library::TABLE[x % 3] }";
    let user = rustc(folder.path(), "user", user, &["--extern=library=liblibrary.rlib"]);
    let head = rustc(folder.path(), "library", &source.replace("6, 7", "8, 7"), &[]);
    let libraries = Pair { base, head };
    let (other, changed) = differences(&libraries, &user);
    assert!(other.is_some_and(|other| other.contains("TABLE")), "{changed:?}");
}

/// The library `name` with this source, of no version.
fn library(name: &str, source: &str) -> Files {
    let folder = tempfile::tempdir().unwrap();
    rustc(folder.path(), name, source, &["-Ccodegen-units=1"])
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn the_order_of_the_same_files_counts_where_something_depends_on_it() {
    if !LINKS_AS_GNU {
        return;
    }
    let swapped = |one: &str, other: &str| {
        let (one, other) = (library("one", one), library("other", other));
        let both = |first: &Files, second: &Files| [first.clone(), second.clone()].concat();
        let libraries = Pair { base: both(&one, &other), head: both(&other, &one) };
        differences(&libraries, &Files::new())
    };
    // Which of their functions comes first matters to nobody.
    assert_eq!(swapped(LIBRARY, "pub fn more() {}"), (None, Vec::new()));
    // Which is found first in a section that linkers collect, or runs first.
    let named = |section: &str, value: u64| {
        format!("#[used] #[UNSAFE(link_section = \"{section}\")] static ONE: u64 = {value};")
    };
    for section in ["registry", ".init_array", ".ctors"] {
        let (other, _) = swapped(&named(section, 1), &named(section, 2));
        assert_eq!(other, Some(format!("the section `{section}`")));
    }
    // Which of two definitions is taken.
    let work = |value: u64| {
        format!("#[UNSAFE(no_mangle)] pub extern \"C\" fn work(x: u64) -> u64 {{ x * {value} }}")
    };
    assert_eq!(swapped(&work(3), &work(7)), (None, vec!["work".to_owned()]));
    assert_eq!(swapped(&work(3), &work(3)), (None, Vec::new()));
    let weak = |value: u64| {
        format!(
            "std::arch::global_asm!(\".data; .weak count; .size count, 8\", \"count: .quad {value}\");"
        )
    };
    let (other, _) = swapped(&weak(3), &weak(7));
    assert_eq!(other, Some("the variable `count`".to_owned()));
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn an_executable_shows_what_differs_before_any_function_is_entered() {
    if !LINKS_AS_GNU {
        return;
    }
    let early = |value: u64| {
        format!(
            "extern \"C\" fn early() {{ std::hint::black_box({value}); }} \
             #[used] #[UNSAFE(link_section = \".init_array\")] \
             static RUN: extern \"C\" fn() = early;"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    for (name, value) in [("one", 1), ("other", 2)] {
        rustc(folder.path(), name, &early(value), &[]);
    }
    let linked = |main: &str| {
        write(&folder.path().join("main.rs"), main);
        let mut rustc = std::process::Command::new("rustc");
        rustc.current_dir(folder.path()).args(["-O", "--edition=2021", "-L.", "main.rs"]);
        assert!(rustc.status().unwrap().success());
        ElfExecutable::read(&std::fs::read(folder.path().join("main")).unwrap()).unwrap()
    };
    let differs = |base: &str, head: &str| {
        ElfExecutable::other_start(&Pair { base: linked(base), head: linked(head) })
    };
    let first = "extern crate one; extern crate other; fn main() {}";
    let longer = first.replace("{}", "{ std::process::exit(std::env::args().count() as i32) }");
    assert_eq!(differs(first, &longer), None);
    let other = "extern crate other; extern crate one; fn main() {}";
    let order = "the order of what is linked into the section `.init_array`";
    assert_eq!(differs(first, other).as_deref(), Some(order));
    assert_eq!(differs(first, "extern crate one; fn main() {}").as_deref(), Some(order));
    // What is copied whenever a thread starts.
    let of_thread = |length: usize| {
        format!(
            "use std::cell::Cell; fn main() {{ std::process::exit(V.with(|v| std::hint::black_box(v).get()[1])) }} \
             thread_local! {{ static V: Cell<[i32; {length}]> = const {{ Cell::new([5; {length}]) }}; }}"
        )
    };
    let length = "the length of the variables that each thread has";
    assert_eq!(differs(&of_thread(20), &of_thread(2000)).as_deref(), Some(length));
    assert_eq!(differs(&of_thread(20), &of_thread(22)), None);
    // A function that is only asked for.
    let asks = |more: &str| {
        let main = "extern \"C\" { fn asks() -> i32; } fn main() { std::process::exit(UNSAFE { asks() }) }";
        let lines = ".weak hook; .globl asks; asks: mov rax, [rip + hook@GOTPCREL]; ret;";
        main.replace("UNSAFE", concat!("un", "safe")) + &assembly(&[lines, more])
    };
    let (without, with) = (asks(""), asks(".type hook, @function; hook: ret"));
    let there_is = Some("whether there is `hook`".to_owned());
    assert_eq!(differs(&without, &with), there_is);
    assert_eq!(differs(&with, &without), there_is);
    // Pointers that the loader writes.
    let texts = |count: usize| {
        format!(
            "fn main() {{ std::process::exit(T[std::env::args().count()].len() as i32) }} \
             static T: [&str; {count}] = [\"one\"; {count}];"
        )
    };
    let [few, many] = [20, 2020].map(|count| linked(&texts(count)).prepared);
    assert!((28_672..=36_864).contains(&(many - few)), "{few} {many}");
    // Also into variables, which are not protected afterwards.
    let locked = |count: usize| {
        texts(count).replace("T[", "T.lock().unwrap()[").replace(
            &format!("T: [&str; {count}] = [\"one\"; {count}]"),
            &format!(
                "T: std::sync::Mutex<[&str; {count}]> = std::sync::Mutex::new([\"one\"; {count}])"
            ),
        )
    };
    let [few, many] = [20, 2020].map(|count| linked(&locked(count)).prepared);
    assert!((11_904..=20_096).contains(&(many - few)), "{few} {many}");
    // Names that it searches for.
    let names = "abs labs atoi atol rand srand isalnum isalpha isblank iscntrl isdigit isgraph \
        islower isprint ispunct isspace isupper isxdigit tolower toupper clock alarm nice puts \
        div ldiv strtol strtoul strtod toascii ffs wait times uname gethostid sethostname random \
        srandom drand48 lrand48 mrand48 getchar putchar tmpfile ttyname ctime gmtime mktime";
    let searches = |count: usize| {
        let names = names.split_whitespace().take(count);
        let declared: String = names.clone().map(|name| format!("fn {name}();")).collect();
        let used: String = names.map(|name| format!("{name} as *const () as usize,")).collect();
        format!("extern \"C\" {{ {declared} }} fn main() {{ std::hint::black_box([{used}]); }}")
    };
    let [few, many] = [4, 48].map(|count| linked(&searches(count)).prepared);
    assert!((9_984..=18_176).contains(&(many - few)), "{few} {many}");
}

/// Functions that are told apart by what they do: several are written alike, or call each
/// other in circles.
const ALIKE: &str = r#"
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::hint::black_box;
pub trait Kind { fn go(&self, x: u64) -> u64; }
pub struct One; pub struct Two; pub struct Three;
impl Kind for One { #[inline(never)] fn go(&self, x: u64) -> u64 { odd::<One>(x) ^ 3 } }
impl Kind for Two { #[inline(never)] fn go(&self, x: u64) -> u64 { odd::<Two>(x) ^ 5 } }
impl Kind for Three { #[inline(never)] fn go(&self, x: u64) -> u64 { even::<Three>(x) ^ 3 } }
pub trait Amount { const AMOUNT: u64; }
impl Amount for One { const AMOUNT: u64 = 1; }
impl Amount for Two { const AMOUNT: u64 = 2; }
impl Amount for Three { const AMOUNT: u64 = 1; }
#[inline(never)] fn even<T: Amount>(x: u64) -> u64 { if x == 0 { 1 } else { black_box(odd::<T>)(x - 1) } }
#[inline(never)] fn odd<T: Amount>(x: u64) -> u64 { if x == 0 { T::AMOUNT } else { black_box(even::<T>)(x - 1) } }
#[inline(never)] fn relay<T: Amount>(x: u64) -> u64 { black_box(even::<T> as fn(u64) -> u64)(x) }
#[inline(never)] pub fn user(x: u64) -> u64 {
    let all: [&dyn Kind; 3] = [&One, &Two, &Three];
    black_box(all).iter().map(|kind| kind.go(x)).sum()
}
#[inline(never)] pub fn pointers(x: u64) -> u64 {
    let all: [fn(u64) -> u64; 2] = [relay::<One>, relay::<Two>];
    black_box(all).iter().map(|one| one(x)).sum()
}
#[inline(never)] pub fn closures(x: u64) -> u64 {
    let all: [fn(u64) -> u64; 2] = [|x| plain(x) + 1, |x| plain(x) + 2];
    black_box(all)[black_box(0)](x)
}
#[inline(never)] pub fn counts(x: u64) -> u64 {
    static V: AtomicU64 = AtomicU64::new(0); V.fetch_add(x, SeqCst)
}
#[inline(never)] pub fn shows(x: u64) -> u64 {
    static V: AtomicU64 = AtomicU64::new(0); static W: AtomicU64 = AtomicU64::new(0);
    black_box(&V).store(x, SeqCst); black_box(&W).load(SeqCst)
}
"#;

/// Many functions of the standard library's.
const SORTED: &str = "
#[inline(never)] pub fn sorted(mut x: Vec<u64>) -> Vec<u64> { x.sort_by_key(|one| one ^ 5); x }
";

const CLOSURE: &str =
    "<library::closures::{closure#0} as core::ops::function::FnOnce<(u64,)>>::call_once";

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn functions_that_are_written_alike_are_not_taken_for_each_other() {
    if !LINKS_AS_GNU {
        return;
    }
    // What is exchanged or changed, and functions of which one at least has to differ.
    let table: [(&str, &str, &[&str]); 9] = [
        ("[&One, &Two, &Three]", "[&Two, &One, &Three]", &["library::user"]),
        ("[&One, &Two, &Three]", "[&One, &Two, &One]", &["library::user"]),
        ("[relay::<One>, relay::<Two>]", "[relay::<Two>, relay::<One>]", &["library::pointers"]),
        (
            "plain(x) + 1, |x| plain(x) + 2",
            "plain(x) + 2, |x| plain(x) + 1",
            // Or the closures themselves, where their names tell them apart.
            &["library::closures", CLOSURE],
        ),
        (
            "Two { const AMOUNT: u64 = 2",
            "Two { const AMOUNT: u64 = 7",
            &["library::pointers", "library::odd"],
        ),
        // Those of the first type do what those of the second did, and the reverse.
        (
            "One { const AMOUNT: u64 = 1; }\nimpl Amount for Two { const AMOUNT: u64 = 2",
            "One { const AMOUNT: u64 = 2; }\nimpl Amount for Two { const AMOUNT: u64 = 1",
            &["library::pointers", "library::odd"],
        ),
        ("black_box(&W).load", "black_box(&V).load", &["library::shows"]),
        ("odd::<Two>(x) ^ 5", "odd::<One>(x) ^ 5", &["<library::Two as library::Kind>::go"]),
        ("plain(x).wrapping", "plain(x + 1).wrapping", &["library::other"]),
    ];
    let all = format!("{LIBRARY}{ALIKE}");
    for units in ["-Ccodegen-units=1", "-Ccodegen-units=16", V0] {
        let of = |source: &str, version: &str| {
            let folder = tempfile::tempdir().unwrap();
            rustc(folder.path(), "library", source, &[&format!("-Cmetadata={version}"), units])
        };
        let sorted = format!("{all}{SORTED}");
        let libraries = Pair { base: of(&sorted, "1.0.0"), head: of(&sorted, "1.0.1") };
        assert_eq!(differences(&libraries, &Files::new()), (None, Vec::new()), "{units}");
        let base = of(&all, "1.0.0");
        for (old, new, expected) in table {
            assert!(all.contains(old), "{old}");
            let head = of(&all.replace(old, new), "1.0.1");
            let (_, changed) = differences(&Pair { base: base.clone(), head }, &Files::new());
            let is_seen =
                expected.iter().any(|name| changed.iter().any(|one| one.starts_with(name)));
            assert!(is_seen, "{old}, {units}: {changed:?}");
            // Nor does everything differ.
            assert!(!changed.contains(&"library::real".to_owned()), "{old}: {changed:?}");
        }
    }
}

/// A program that uses the library.
const MAIN: &str = r#"
fn main() {
    let x = std::env::args().count() as u64;
    std::process::exit((library::other(x) ^ library::panics(&[x, x], x as usize)) as i32);
}
"#;

/// A program with that library, as it is linked from what lies in a folder.
fn linked(folder: &Path, library: &str, main: &str) -> Program {
    std::fs::create_dir_all(folder).unwrap();
    rustc(folder, "library", library, &["-Ccodegen-units=1"]);
    write(&folder.join("main.rs"), main);
    let mut rustc = std::process::Command::new("rustc");
    rustc.current_dir(folder).args(["-O", "--edition=2021", "main.rs"]);
    assert!(rustc.arg("--extern=library=liblibrary.rlib").status().unwrap().success());
    let (path, executable) = (folder.join("liblibrary.rlib"), folder.join("main"));
    let bytes = path.metadata().unwrap().len();
    let sha256 = Some(digest_file(&path).unwrap());
    let argv = vec!["cc".into(), path.clone().into()];
    let inputs = vec![RelinkInput { path, bytes, sha256 }];
    let command = Command { argv, ..Command::default() };
    Program {
        command: Command::default(),
        executable_sha256: Some(digest_file(&executable).unwrap()),
        executable: Some(executable),
        relink: Ok(Relink {
            command,
            linker: Some(OrderingLinker::Lld),
            prefix: "-Wl,".to_owned(),
            linked: None,
            inputs,
            heap: None,
        }),
        identity: String::new(),
        home: folder.to_owned(),
        records: None,
        comparisons: Some(folder.join("compared")),
    }
}

/// Two programs, of which the head's lines are one further down and one function differs.
struct Linked {
    folder: tempfile::TempDir,
    programs: Pair<Program>,
}

impl Linked {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let head = format!("\n{}", LIBRARY.replace("x.wrapping_mul(7)", "x.wrapping_mul(9)"));
        let programs = Pair {
            base: linked(&folder.path().join("base"), LIBRARY, MAIN),
            head: linked(&folder.path().join("head"), &head, MAIN),
        };
        Linked { folder, programs }
    }

    /// The files of comparisons.
    fn stored(&self) -> Vec<PathBuf> {
        let folder = std::fs::read_dir(self.folder.path().join("head/compared"));
        let mut all: Vec<_> =
            folder.into_iter().flatten().map(|file| file.unwrap().path()).collect();
        all.sort();
        all
    }

    /// Hides what the programs were linked from, or lays it back.
    fn hide(&self, hides: bool) {
        for side in Side::BOTH {
            let at = |name: &str| self.folder.path().join(side.name()).join(name);
            let (path, hidden) = (at("liblibrary.rlib"), at("hidden"));
            let (from, to) = if hides { (path, hidden) } else { (hidden, path) };
            std::fs::rename(from, to).unwrap();
        }
    }

    /// The same comparison where nothing is stored.
    fn fresh(&self, moves: &Moves) -> Result<Pair<FunctionPlaces>, String> {
        let programs =
            self.programs.as_ref().map(|program| Program { comparisons: None, ..program.clone() });
        places(&programs, moves)
    }
}

/// Line moves by so many lines.
fn moved_by(lines: u32) -> Moves {
    Moves::of_lines("", "library.rs", (1..50).map(|line| (line, line + lines)).collect())
}

fn names(places: &Pair<FunctionPlaces>) -> BTreeSet<&str> {
    let all = Side::BOTH.into_iter().flat_map(|side| places[side].changed.values());
    all.map(String::as_str).collect()
}

#[test]
fn an_edit_of_what_compares_forgets_what_was_compared() {
    let others = ["alignment.rs", "labelled.rs", "tests.rs"];
    for room in ["functions", "identical"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/workspace").join(room);
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        for file in files.filter(|file| !others.iter().any(|other| file.ends_with(other))) {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(super::SOURCES.contains(&text), "`SOURCES` lacks {}", file.display());
        }
    }
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn a_stored_comparison_counts_while_all_that_it_depends_on_is_the_same() {
    if !LINKS_AS_GNU {
        return;
    }
    let linked = Linked::new();
    let moves = moved_by(1);
    let first = linked.fresh(&moves).unwrap();
    assert_eq!(names(&first), BTreeSet::from(["library::plain"]));
    assert_eq!(linked.stored(), [""; 0].map(PathBuf::from));
    assert_eq!(places(&linked.programs, &moves).as_ref(), Ok(&first));
    let listed = changed_names(&linked.programs).unwrap();
    let stored = linked.stored();
    assert_eq!(stored.len(), 2, "{stored:?}");
    // What is stored needs no object file, and is what these would tell.
    linked.hide(true);
    assert_eq!(places(&linked.programs, &moves).as_ref(), Ok(&first));
    assert_eq!(changed_names(&linked.programs).as_ref(), Ok(&listed));
    // With anything else, they are read again, which fails.
    let is_read = |programs: &Pair<Program>, moves: &Moves, about: &str| {
        let error = places(programs, moves).expect_err(about);
        assert!(error.starts_with("could not read"), "{about}: {error}");
    };
    is_read(&linked.programs, &moved_by(2), "a moved line");
    let elsewhere =
        Moves::of_lines("in", "library.rs", (1..50).map(|line| (line, line + 1)).collect());
    is_read(&linked.programs, &elsewhere, "another workspace");
    type Change = fn(&mut Program);
    let changes: [(&str, Change); 5] = [
        ("an executable", |program| program.executable_sha256 = Some("0".to_owned())),
        ("a folder", |program| program.home.push("x")),
        ("an object file", |program| {
            program.relink.as_mut().unwrap().inputs[0].sha256 = Some("0".to_owned());
        }),
        ("the name of a crate", |program| {
            let relink = program.relink.as_mut().unwrap();
            relink.inputs[0].path.set_file_name("libother.rlib");
            relink.command.argv[1] = relink.inputs[0].path.clone().into();
        }),
        ("the length of a file", |program| {
            program.relink.as_mut().unwrap().inputs[0].bytes += 1;
        }),
    ];
    for (about, change) in changes {
        for side in Side::BOTH {
            let mut programs = linked.programs.clone();
            change(&mut programs[side]);
            is_read(&programs, &moves, &format!("{about} of the {side}"));
        }
    }
    // An argument that both calls have.
    let mut programs = linked.programs.clone();
    for side in Side::BOTH {
        programs[side].relink.as_mut().unwrap().command.argv.push("-Wl,-z,now".into());
    }
    is_read(&programs, &moves, "an argument");
    // The other way round, also where that is stored at the same place.
    let Pair { base, head } = linked.programs.clone();
    let mut turned = Pair { base: head, head: base };
    turned.head.comparisons.clone_from(&turned.base.comparisons);
    turned.head.executable.clone_from(&turned.base.executable);
    is_read(&turned, &moves, "the sides exchanged");
    assert_eq!(places(&linked.programs, &moves).as_ref(), Ok(&first));
    linked.hide(false);
    assert_eq!(linked.stored(), stored);
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn a_library_that_only_names_other_files_is_not_known_to_be_the_same() {
    if !LINKS_AS_GNU {
        return;
    }
    let linked = Linked::new();
    for (name, content, is_known) in [
        ("libnone.a", "!<arch>\n", true),
        ("libthin.a", "!<thin>\n", false),
        ("libscript.so", "INPUT(other.o)", false),
        ("list", "{ main; };", true),
    ] {
        let mut programs = linked.programs.clone();
        for side in Side::BOTH {
            let path = programs[side].home.join(name);
            write(&path, content);
            let sha256 = Some(digest_file(&path).unwrap());
            let input = RelinkInput { path, bytes: content.len() as u64, sha256 };
            programs[side].relink.as_mut().unwrap().inputs.push(input);
        }
        let places = places(&programs, &moved_by(1));
        assert_eq!(places.is_ok(), is_known, "{name}: {:?}", places.err());
    }
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn what_changed_is_compared_afresh_and_replaces_what_was_stored() {
    if !LINKS_AS_GNU {
        return;
    }
    let mut linked = Linked::new();
    let first = places(&linked.programs, &moved_by(1)).unwrap();
    let check = |linked: &Linked, moves: &Moves, about: &str| {
        let fresh = linked.fresh(moves);
        for _ in 0..2 {
            assert_eq!(places(&linked.programs, moves), fresh, "{about}");
        }
        assert_eq!(linked.stored().len(), 1, "{about}");
        fresh.unwrap()
    };
    let still = check(&linked, &moved_by(0), "lines that did not move");
    assert_eq!(names(&still), BTreeSet::from(["library::plain", "library::panics"]));
    let folder = linked.folder.path().join("head");
    let edited = format!("\n{}", LIBRARY.replace("wrapping_add(11)", "wrapping_add(12)"));
    linked.programs.head = self::linked(&folder, &edited, MAIN);
    let other = check(&linked, &moved_by(1), "an edited library");
    assert_eq!(names(&other), BTreeSet::from(["library::other"]));
    let longer = MAIN.replace("as i32", "as i32 / 3");
    linked.programs.head = self::linked(&folder, &edited, &longer);
    let placed = check(&linked, &moved_by(1), "another executable");
    // Of the program itself, only its length is known here.
    assert_eq!(names(&placed), BTreeSet::from(["library::other", "main::main"]));
    assert_eq!(placed.base.all, other.base.all);
    linked.programs.head = linked.programs.base.clone();
    linked.programs.head.comparisons = Some(folder.join("compared"));
    // Its file has another name, as that of another executable.
    let stored = linked.stored();
    assert_eq!(places(&linked.programs, &moved_by(1)), linked.fresh(&moved_by(1)));
    assert_ne!(linked.stored(), stored);
    assert_ne!(first, other);
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn neither_a_damaged_comparison_nor_a_damaged_object_file_counts() {
    if !LINKS_AS_GNU {
        return;
    }
    let linked = Linked::new();
    let moves = moved_by(1);
    let first = places(&linked.programs, &moves).unwrap();
    let file = linked.stored().pop().unwrap();
    let whole = std::fs::read(&file).unwrap();
    let text = String::from_utf8(whole.clone()).unwrap();
    let digits = text.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at);
    let places_of_digits: Vec<usize> = digits.collect();
    let step = places_of_digits.len() / 20;
    for at in places_of_digits.into_iter().step_by(step) {
        let mut damaged = whole.clone();
        damaged[at] = if damaged[at] == b'7' { b'8' } else { b'7' };
        std::fs::write(&file, damaged).unwrap();
        assert_eq!(places(&linked.programs, &moves).as_ref(), Ok(&first), "byte {at}");
        assert_eq!(std::fs::read(&file).unwrap(), whole, "byte {at} was not repaired");
    }
    for damaged in [&b""[..], b"\n", b"{}", &whole[..whole.len() / 2], &whole[..whole.len() - 1]] {
        std::fs::write(&file, damaged).unwrap();
        assert_eq!(places(&linked.programs, &moves).as_ref(), Ok(&first));
        assert_eq!(std::fs::read(&file).unwrap(), whole);
    }
    // An object file that is not what was linked is no source of a comparison.
    std::fs::remove_file(&file).unwrap();
    let library = linked.folder.path().join("head/liblibrary.rlib");
    let mut content = std::fs::read(&library).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    std::fs::write(&library, content).unwrap();
    let error = places(&linked.programs, &moves).unwrap_err();
    assert!(error.ends_with("has changed since it was linked"), "{error}");
    assert_eq!(linked.stored().len(), 0);
}

#[test]
fn a_name_is_shown_without_what_the_compiler_appends() {
    let mangled = "_ZN4core3ptr13drop_in_place17h0123456789abcdefE";
    for suffix in ["", ".104", ".llvm.123", ".104.llvm.123"] {
        assert_eq!(super::shown(&format!("{mangled}{suffix}")), "core::ptr::drop_in_place");
    }
    // A C compiler's are part of the name.
    for name in ["copy.constprop.0", "table.12"] {
        assert_eq!(super::shown(name), name);
    }
}
