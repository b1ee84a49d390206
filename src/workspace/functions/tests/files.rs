//! What is compared beside the code of functions: what files define, register and read.

use super::{LIBRARY, differences, exactly, rustc};
use crate::exec::system::{LINKS_AS_GNU, write};
use crate::model::side::Pair;
use crate::workspace::functions::Files;
use crate::workspace::functions::executable::ElfExecutable;

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
