//! Libraries that rustc has compiled are compared.

mod files;
mod stored;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use super::comparison::FunctionComparison;
use super::{Files, different, exact_sides};
use crate::exec::system::{LINKS_AS_GNU, write};
use crate::model::side::{Pair, Side};

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
/// Names of a length whose constants linkers merge, which a table points to.
const NAMED: &str = "#[inline(never)] pub fn user(x: u8) -> &'static str { match x { \
    0 => \"Zero\", 1 => \"Some\", 2 => \"Many\", 3 => \"Much\", 4 => \"Most\", 5 => \"More\", _ => \"Also\" } }";

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
    // The edits of one head each, which have nothing to do with each other: what is exchanged or
    // changed, and functions of which one at least has to differ.
    type Edit = (&'static str, &'static str, &'static [&'static str]);
    let heads: [&[Edit]; 4] = [
        &[
            ("[&One, &Two, &Three]", "[&Two, &One, &Three]", &["library::user"]),
            (
                "[relay::<One>, relay::<Two>]",
                "[relay::<Two>, relay::<One>]",
                &["library::pointers"],
            ),
            (
                "plain(x) + 1, |x| plain(x) + 2",
                "plain(x) + 2, |x| plain(x) + 1",
                // Or the closures themselves, where their names tell them apart.
                &["library::closures", CLOSURE],
            ),
            ("black_box(&W).load", "black_box(&V).load", &["library::shows"]),
            ("plain(x).wrapping", "plain(x + 1).wrapping", &["library::other"]),
        ],
        &[
            ("[&One, &Two, &Three]", "[&One, &Two, &One]", &["library::user"]),
            ("odd::<Two>(x) ^ 5", "odd::<One>(x) ^ 5", &["<library::Two as library::Kind>::go"]),
        ],
        &[(
            "Two { const AMOUNT: u64 = 2",
            "Two { const AMOUNT: u64 = 7",
            &["library::pointers", "library::odd"],
        )],
        // Those of the first type do what those of the second did, and the reverse.
        &[(
            "One { const AMOUNT: u64 = 1; }\nimpl Amount for Two { const AMOUNT: u64 = 2",
            "One { const AMOUNT: u64 = 2; }\nimpl Amount for Two { const AMOUNT: u64 = 1",
            &["library::pointers", "library::odd"],
        )],
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
        for edits in heads {
            let mut source = all.clone();
            for (old, new, _) in edits {
                assert!(source.contains(old), "{old}");
                source = source.replace(old, new);
            }
            let head = of(&source, "1.0.1");
            let (_, changed) = differences(&Pair { base: base.clone(), head }, &Files::new());
            for (old, _, expected) in edits {
                let is_seen =
                    expected.iter().any(|name| changed.iter().any(|one| one.starts_with(name)));
                assert!(is_seen, "{old}, {units}: {changed:?}");
            }
            // Nor does everything differ.
            for same in ["library::real", "library::counts"] {
                assert!(!changed.contains(&same.to_owned()), "{edits:?}: {changed:?}");
            }
        }
    }
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
