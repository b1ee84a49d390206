//! Libraries that rustc has compiled are compared.

use std::collections::BTreeSet;

use super::{Functions, add, different};
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

/// The functions of a library.
fn functions(source: &str) -> Functions {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("library.rs"), source);
    let mut rustc = std::process::Command::new("rustc");
    rustc.current_dir(&folder).args(["--crate-type=rlib", "-O", "-Ccodegen-units=1"]);
    rustc.args(["--edition=2021", "library.rs"]);
    assert!(rustc.status().unwrap().success());
    let mut functions = Functions::new();
    add(&mut functions, &std::fs::read(folder.path().join("liblibrary.rlib")).unwrap());
    functions
}

/// The names of the functions that differ after a replacement in the library.
fn changed(old: &str, new: &str) -> Vec<String> {
    assert!(LIBRARY.contains(old), "{old}");
    let sources = Pair { base: LIBRARY.to_owned(), head: LIBRARY.replace(old, new) };
    let functions = sources.map(|source| functions(&source));
    assert!(functions.base.contains_key("library::plain"), "{:?}", functions.base.keys());
    let changed = different(&functions, &Pair::both(|_| BTreeSet::new()));
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
    let functions = Pair { base: functions(LIBRARY), head: functions(&head) };
    let all = different(&functions, &Pair::both(|_| BTreeSet::new()));
    let names: Vec<&str> = all.iter().map(|function| &*function.name).collect();
    assert_eq!(names, ["library::other", "library::plain"]);
    let other = all[0].bytes;
    assert!(other.base.unwrap() < other.head.unwrap(), "{other:?}");
    let linked = BTreeSet::from(["library::plain".to_owned()]);
    let linked = different(&functions, &Pair::both(|_| linked.clone()));
    assert_eq!(linked, all[1..]);
}
