//! The order in which things are linked decides which comes first.

use super::mechanism::{Kind, Mechanism, Part};
use Part::{Build, Code, Crate, File, Lib, Root};

const fn wide(name: &'static str, parts: &'static [Part]) -> Mechanism {
    Mechanism::wide(name, Kind::Order, parts)
}

/// What a crate adds to a section that linkers collect.
macro_rules! entry {
    ($rounds:literal) => {
        concat!(
            "#[used] #[unsafe(link_section = \"NAME_all\")] static ENTRY: fn(u64) -> u64 = go;
            #[inline(never)] fn go(x: u64) -> u64 { let mut s = 1u64; for i in 0..",
            $rounds,
            " + x { s = std::hint::black_box(s.wrapping_mul(31).wrapping_add(i)); } s }"
        )
    };
}

/// What a crate registers before `main` in `NAME_core`.
macro_rules! registered {
    ($rounds:literal) => {
        concat!(
            "#[inline(never)] fn go(x: u64) -> u64 { let mut s = 1u64; for i in 0..", $rounds,
            " + x { s = std::hint::black_box(s.wrapping_mul(31).wrapping_add(i)); } s }
            static NODE: NAME_core::Node = NAME_core::Node::new(go);
            extern \"C\" fn add() { NAME_core::add(&NODE) }
            #[used] #[unsafe(link_section = \".init_array\")] static ADD: extern \"C\" fn() = add;"
        )
    };
}

/// A list to which nodes are added at its head.
const LIST: &str = "use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};
    pub struct Node { pub work: fn(u64) -> u64, next: AtomicPtr<Node> }
    impl Node { pub const fn new(work: fn(u64) -> u64) -> Node {
        Node { work, next: AtomicPtr::new(std::ptr::null_mut()) } } }
    static HEAD: AtomicPtr<Node> = AtomicPtr::new(std::ptr::null_mut());
    pub fn add(node: &'static Node) {
        node.next.store(HEAD.swap(node as *const Node as *mut Node, SeqCst), SeqCst) }
    pub fn first() -> fn(u64) -> u64 { unsafe { (*HEAD.load(SeqCst)).work } }";

/// The first of what the linker collected.
const FIRST: Part = Lib("
    unsafe extern \"C\" { #[link_name = \"__start_NAME_all\"] static START: fn(u64) -> u64; }
    pub fn run(x: u64) -> u64 { unsafe { (*black_box(&raw const START))(x) } }");

pub const TABLE: &[Mechanism] = &[
    wide("collected", &[
        Crate("NAME_a", entry!("30000")),
        Crate("NAME_b", entry!("120000")),
        Root("«extern crate NAME_b; extern crate NAME_a;¦extern crate NAME_a; extern crate NAME_b;»"),
        FIRST,
    ]),
    wide("registered", &[
        Crate("NAME_core", LIST),
        Crate("NAME_a", registered!("30000")),
        Crate("NAME_b", registered!("120000")),
        Root("«extern crate NAME_a; extern crate NAME_b;¦extern crate NAME_b; extern crate NAME_a;»"),
        Lib("pub fn run(x: u64) -> u64 { NAME_core::first()(x) }"),
    ]),
    wide("registered_in_modules", &[Code(concat!("
        mod «a¦z» {", entry!("30000"), "}
        mod m {", entry!("120000"), "}
        unsafe extern \"C\" { #[link_name = \"__start_NAME_all\"] static START: fn(u64) -> u64; }
        pub fn run(x: u64) -> u64 { unsafe { (*black_box(&raw const START))(x) } }"))]),
    wide("registered_in_items", &[Code("
        fn quick(x: u64) -> u64 { spin(30_000 + x) }
        fn slow(x: u64) -> u64 { spin(120_000 + x) }
        #[used] #[unsafe(link_section = \"NAME_all\")] static «A¦Z»: fn(u64) -> u64 = quick;
        #[used] #[unsafe(link_section = \"NAME_all\")] static «Z¦A»: fn(u64) -> u64 = slow;
        unsafe extern \"C\" { #[link_name = \"__start_NAME_all\"] static START: fn(u64) -> u64; }
        pub fn run(x: u64) -> u64 { unsafe { (*black_box(&raw const START))(x) } }")]),
    wide("constructors", &[Code("
        static N: AtomicU64 = AtomicU64::new(0);
        extern \"C\" fn quick() { N.store(30_000, Relaxed); }
        extern \"C\" fn slow() { N.store(120_000, Relaxed); }
        #[used] #[unsafe(link_section = \".init_array.00«300¦100»\")] static A: extern \"C\" fn() = quick;
        #[used] #[unsafe(link_section = \".init_array.00200\")] static B: extern \"C\" fn() = slow;
        pub fn run(x: u64) -> u64 { spin(N.load(Relaxed) + x) }")]),
    wide("archives", &[
        File("NAME_a.c", "#include <stdint.h>\nuint64_t NAME_rounds(void) { return 30000; }"),
        File("NAME_b.c", "#include <stdint.h>\nuint64_t NAME_rounds(void) { return 120000; }"),
        Build("«cc(\"NAME_a\", &[]); cc(\"NAME_b\", &[]);¦cc(\"NAME_b\", &[]); cc(\"NAME_a\", &[]);»"),
        Lib("unsafe extern \"C\" { safe fn NAME_rounds() -> u64; }
            pub fn run(x: u64) -> u64 { spin(NAME_rounds() + x) }"),
    ]),
    wide("objects", &[
        File("NAME_a.c", "#include <stdint.h>
            __attribute__((section(\"NAME_all\"), used, retain)) uint64_t NAME_a = 30000;"),
        File("NAME_b.c", "#include <stdint.h>
            __attribute__((section(\"NAME_all\"), used, retain)) uint64_t NAME_b = 120000;"),
        Build("let [a, b] = [object(\"NAME_a\"), object(\"NAME_b\")];
            for one in «[a, b]¦[b, a]» { println!(\"cargo::rustc-link-arg={one}\"); }"),
        Lib("unsafe extern \"C\" { #[link_name = \"__start_NAME_all\"] static START: u64; }
            pub fn run(x: u64) -> u64 { spin(unsafe { *black_box(&raw const START) } + x) }"),
    ]),
    wide("linker_option", &[
        Code("#[unsafe(no_mangle)] pub extern \"C\" fn NAME_quick(x: u64) -> u64 { spin(30_000 + x) }
            #[unsafe(no_mangle)] pub extern \"C\" fn NAME_slow(x: u64) -> u64 { spin(120_000 + x) }
            #[used] static KEEP: [extern \"C\" fn(u64) -> u64; 2] = [NAME_quick, NAME_slow];
            unsafe extern \"C\" { safe fn NAME_work(x: u64) -> u64; }
            pub fn run(x: u64) -> u64 { NAME_work(x) }"),
        Build("println!(\"cargo::rustc-link-arg=-Wl,--defsym=NAME_work=NAME_«quick¦slow»\");"),
    ]),
    wide("linker_script", &[
        Code("#[unsafe(no_mangle)] pub extern \"C\" fn NAME_quick(x: u64) -> u64 { spin(30_000 + x) }
            #[unsafe(no_mangle)] pub extern \"C\" fn NAME_slow(x: u64) -> u64 { spin(120_000 + x) }
            #[used] static KEEP: [extern \"C\" fn(u64) -> u64; 2] = [NAME_quick, NAME_slow];
            unsafe extern \"C\" { safe fn NAME_work(x: u64) -> u64; }
            pub fn run(x: u64) -> u64 { NAME_work(x) }"),
        File("NAME.ld", "NAME_work = NAME_«quick¦slow»;"),
        Build("println!(\"cargo::rustc-link-arg=NAME.ld\");"),
    ]),
];
