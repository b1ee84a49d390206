//! Libraries that rustc has compiled are compared.

use std::collections::BTreeSet;

use super::comparison::{Comparison, Naming};
use super::{different, objects};
use crate::exec::system::{LINKS_AS_GNU, write};
use crate::model::side::Pair;

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

/// A library as rustc compiles it.
fn compiled(source: &str) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    // The house keeps that word to where system calls are.
    let source = source.replace("UNSAFE", concat!("un", "safe"));
    write(&folder.path().join("library.rs"), &source);
    let mut rustc = std::process::Command::new("rustc");
    rustc.current_dir(&folder).args(["--crate-type=rlib", "-O", "-Ccodegen-units=1", "-Awarnings"]);
    rustc.args(["--edition=2021", "library.rs"]);
    assert!(rustc.status().unwrap().success());
    vec![std::fs::read(folder.path().join("liblibrary.rlib")).unwrap()]
}

/// The names of the functions that differ after a replacement in the library.
fn changed(old: &str, new: &str) -> Vec<String> {
    assert!(LIBRARY.contains(old), "{old}");
    let sources = Pair { base: LIBRARY.to_owned(), head: LIBRARY.replace(old, new) };
    let libraries = sources.map(|source| compiled(&source));
    let changed = different(&libraries, &Pair::both(|_| BTreeSet::new()));
    changed.into_iter().map(|function| function.name).collect()
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn those_differ_whose_code_or_constants_do() {
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
    let libraries = Pair { base: compiled(LIBRARY), head: compiled(&head) };
    let all = different(&libraries, &Pair::both(|_| BTreeSet::new()));
    let names: Vec<&str> = all.iter().map(|function| &*function.name).collect();
    assert_eq!(names, ["library::other", "library::plain"]);
    let other = all[0].bytes;
    assert!(other.base.unwrap() < other.head.unwrap(), "{other:?}");
    let linked = BTreeSet::from(["library::plain".to_owned()]);
    let linked = different(&libraries, &Pair::both(|_| linked.clone()));
    assert_eq!(linked, all[1..]);
}

/// Whether two libraries differ in a way that no function shows, and the names of the
/// functions in which they differ, without hashes.
fn exactly(base: &str, head: &str) -> (Option<String>, Vec<String>) {
    let libraries = Pair { base, head }.map(|source| compiled(&format!("{LIBRARY}{source}")));
    let sides = libraries.as_ref().map(|library| objects(library, Naming::Exact).0);
    let mut comparison = Comparison::new(sides.as_ref(), &|_| false);
    let other = comparison.other_change();
    let mut names: Vec<String> =
        comparison.changed_functions().into_iter().map(|name| super::shown(name)).collect();
    names.dedup();
    (other, names)
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
        let is_found = other.is_some() || changed.iter().any(|name| name == "library::user");
        assert!(is_found, "{source}: {other:?} {changed:?}");
        assert_eq!(exactly(source, source), (None, Vec::new()), "{source}");
    }
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
        // Code of no function.
        (
            "std::arch::global_asm!(\".globl entry_of_asm\", \"entry_of_asm:\", \"mov $5, %rax\", \"ret\", \
             options(att_syntax));",
            "$5",
            "$6",
        ),
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
