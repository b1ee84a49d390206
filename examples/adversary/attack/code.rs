//! Code and data of Rust.

use super::mechanism::{Kind, Mechanism, Part};
use Part::{Build, Code, Config, Crate, File, Ignore, Lib, Manifest, Version};

const fn one(name: &'static str, parts: &'static [Part]) -> Mechanism {
    Mechanism::new(name, Kind::Code, parts)
}

const fn wide(name: &'static str, parts: &'static [Part]) -> Mechanism {
    Mechanism::wide(name, Kind::Code, parts)
}

pub const TABLE: &[Mechanism] = &[
    one("helper", &[Code("
        #[inline(never)] fn go(x: u64) -> u64 { spin(ROUNDS + x) }
        pub fn run(x: u64) -> u64 { go(x) }")]),
    one("inlined", &[Code("
        #[inline(always)] fn rounds() -> u64 { ROUNDS }
        pub fn run(x: u64) -> u64 { spin(rounds() + x) }")]),
    one("constant", &[Code("
        const TABLE: [u64; 4] = [2, 3, 5, ROUNDS];
        pub fn run(x: u64) -> u64 { spin(black_box(&TABLE)[3] + x) }")]),
    one("pointed", &[Code("
        static N: AtomicU64 = AtomicU64::new(ROUNDS); static P: &AtomicU64 = &N;
        pub fn run(x: u64) -> u64 { spin(black_box(P).load(Relaxed) + x) }")]),
    one("thread_local", &[Code("
        thread_local! { static N: Cell<u64> = const { Cell::new(ROUNDS) }; }
        pub fn run(x: u64) -> u64 { spin(N.with(Cell::get) + x) }")]),
    one("dispatched", &[Code("
        trait Work { fn go(&self, x: u64) -> u64; }
        struct Quick; impl Work for Quick { fn go(&self, x: u64) -> u64 { spin(30_000 + x) } }
        struct Slow; impl Work for Slow { fn go(&self, x: u64) -> u64 { spin(120_000 + x) } }
        pub fn run(x: u64) -> u64 {
            let all: [Box<dyn Work>; 2] = [Box::new(«Quick¦Slow»), Box::new(«Slow¦Quick»)];
            black_box(all)[0].go(x) }")]),
    one("generic", &[Code("
        trait Size { const N: u64; } struct Own; impl Size for Own { const N: u64 = ROUNDS; }
        #[inline(never)] fn go<T: Size>(x: u64) -> u64 { spin(T::N + x) }
        pub fn run(x: u64) -> u64 { go::<Own>(x) }")]),
    one("closure", &[Code("
        pub fn run(x: u64) -> u64 {
            let all: [&dyn Fn(u64) -> u64; 2] = [&|x| x + 1, &|x| spin(ROUNDS + x)];
            black_box(all)[1](x) }")]),
    one("pointers", &[Code("
        #[inline(never)] fn quick(x: u64) -> u64 { spin(30_000 + x) }
        #[inline(never)] fn slow(x: u64) -> u64 { spin(120_000 + x) }
        static ALL: [fn(u64) -> u64; 2] = [«quick, slow¦slow, quick»];
        pub fn run(x: u64) -> u64 { black_box(&ALL)[0](x) }")]),
    one("jump_table", &[Code("
        pub fn run(x: u64) -> u64 {
            let n = match black_box(x) { 0 => 17, 1 => 9_000, 2 => 31, 3 => ROUNDS, 4 => 77,
                5 => 8, 6 => 1_000_000, 7 => 4, _ => 1 };
            spin(n) }")]),
    one("dropped", &[Code("
        struct Guard(u64);
        impl Drop for Guard { fn drop(&mut self) { black_box(spin(ROUNDS + self.0)); } }
        pub fn run(x: u64) -> u64 { let guard = Guard(x); guard.0 }")]),
    one("unwound", &[Code("
        struct Guard(u64);
        impl Drop for Guard { fn drop(&mut self) { black_box(spin(ROUNDS + self.0)); } }
        pub fn run(x: u64) -> u64 {
            let all = std::panic::catch_unwind(|| {
                let _guard = Guard(x); std::panic::resume_unwind(Box::new(1)) });
            u64::from(all.is_err()) }")]),
    one("lazy", &[Code("
        static ALL: std::sync::LazyLock<Vec<u64>> = std::sync::LazyLock::new(|| vec![ROUNDS; 9]);
        pub fn run(x: u64) -> u64 { spin(ALL[x as usize]) }")]),
    one("text", &[Code("
        static TEXT: &str = \"«030000¦120000»\";
        pub fn run(x: u64) -> u64 { spin(black_box(TEXT).parse::<u64>().unwrap() + x) }")]),
    one("displayed", &[Code("
        struct Shown(u64);
        impl std::fmt::Display for Shown { fn fmt(&self, f: &mut std::fmt::Formatter<'_>)
            -> std::fmt::Result { write!(f, \"{}\", spin(ROUNDS + self.0)) } }
        pub fn run(x: u64) -> u64 { format!(\"{}\", Shown(x)).len() as u64 }")]),
    one("iterated", &[Code("
        struct Steps(u64);
        impl Iterator for Steps { type Item = u64; fn next(&mut self) -> Option<u64> {
            self.0 = self.0.checked_sub(1)?; Some(spin(ROUNDS / 10)) } }
        pub fn run(x: u64) -> u64 { Steps(x + 7).fold(0, u64::wrapping_add) }")]),
    one("threaded", &[Code("
        #[inline(never)] fn go(x: u64) -> u64 { spin(ROUNDS + x) }
        pub fn run(x: u64) -> u64 { std::thread::spawn(move || go(x)).join().unwrap() }")]),
    wide("thread_variables", &[Lib("
        thread_local! { static ALL: Cell<[u64; «1¦200_000»]> = const { Cell::new([1; «1¦200_000»]) }; }
        #[inline(never)] pub fn other() -> u64 { ALL.with(|all| all.as_ptr() as u64) }
        pub fn run(x: u64) -> u64 { if black_box(x) == 77 { return other(); }
            std::thread::spawn(move || spin(9_000 + x)).join().unwrap() }")]),
    one("line", &[Code("
        #[track_caller] fn line() -> u64 { u64::from(std::panic::Location::caller().line()) }
        pub fn run(x: u64) -> u64 {
            let first = line();
            «¦\n\n\n»let last = line();
            spin((last - first) * 30_000 + x) }")]),
    one("panic_line", &[Code("
        thread_local! { static LINE: Cell<u32> = const { Cell::new(0) }; }
        fn first() { panic!(\"first\") }
        «¦\n\n\n»fn last() { panic!(\"last\") }
        fn line(of: fn()) -> u64 { let _ = std::panic::catch_unwind(of); LINE.get().into() }
        pub fn run(x: u64) -> u64 {
            std::panic::set_hook(Box::new(|about| LINE.set(about.location().unwrap().line())));
            let rounds = (line(last) - line(first)) * 30_000;
            let _ = std::panic::take_hook();
            spin(rounds + x) }")]),
    one("type_name", &[Code("
        pub struct «Quick¦LongerByFar»;
        pub fn run(x: u64) -> u64 {
            let name = std::any::type_name::<«Quick¦LongerByFar»>().rsplit(':').next().unwrap();
            spin(name.len() as u64 * name.len() as u64 * 1_000 + x) }")]),
    one("included_text", &[
        File("NAME.txt", "ROUNDS"),
        Lib("pub fn run(x: u64) -> u64 {
            let text = include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/NAME.txt\"));
            spin(text.parse::<u64>().unwrap() + x) }")]),
    one("included_bytes", &[
        Part::Data("NAME.bin"),
        Lib("static ALL: &[u8] = include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/NAME.bin\"));
            pub fn run(x: u64) -> u64 { spin(black_box(ALL).len() as u64 + x) }")]),
    one("crate_code", &[
        Crate("NAME_dep", "#[inline(never)] pub fn rounds() -> u64 { std::hint::black_box(ROUNDS) }"),
        Lib("pub fn run(x: u64) -> u64 { spin(NAME_dep::rounds() + x) }")]),
    one("crate_macro", &[
        Crate("NAME_dep", "#[macro_export] macro_rules! rounds { () => { ROUNDS } }"),
        Lib("pub fn run(x: u64) -> u64 { spin(NAME_dep::rounds!() + x) }")]),
    one("crate_generic", &[
        Crate("NAME_dep", "pub trait Size { fn size(&self) -> u64; }
            impl<T> Size for Vec<T> { fn size(&self) -> u64 { self.len() as u64 * «10_000¦40_000» } }"),
        Lib("use NAME_dep::Size; pub fn run(x: u64) -> u64 { spin(black_box(vec![x; 3]).size()) }")]),
    one("build_env", &[
        Build("println!(\"cargo::rustc-env=NAME_N={}\", ROUNDS);"),
        Lib("pub fn run(x: u64) -> u64 { spin(env!(\"NAME_N\").parse::<u64>().unwrap() + x) }")]),
    one("build_cfg", &[
        Build("println!(\"cargo::rustc-cfg=NAME_«quick¦slow»\");"),
        Lib("pub fn run(x: u64) -> u64 { spin(if cfg!(NAME_slow) { 120_000 } else { 30_000 } + x) }")]),
    one("build_output", &[
        Build("std::fs::write(format!(\"{}/NAME.rs\", std::env::var(\"OUT_DIR\").unwrap()),
            \"const N: u64 = ROUNDS;\").unwrap();"),
        Lib("include!(concat!(env!(\"OUT_DIR\"), \"/NAME.rs\"));
            pub fn run(x: u64) -> u64 { spin(N + x) }")]),
    one("build_input", &[
        File("NAME.txt", "ROUNDS"),
        Build("println!(\"cargo::rustc-env=NAME_N={}\",
            std::fs::read_to_string(\"NAME.txt\").unwrap().trim());
            println!(\"cargo::rerun-if-changed=NAME.txt\");"),
        Lib("pub fn run(x: u64) -> u64 { spin(env!(\"NAME_N\").parse::<u64>().unwrap() + x) }")]),
    wide("constructor", &[Code("
        static N: AtomicU64 = AtomicU64::new(0);
        extern \"C\" fn set() { N.store(ROUNDS, Relaxed); }
        #[used] #[unsafe(link_section = \".init_array\")] static SET: extern \"C\" fn() = set;
        pub fn run(x: u64) -> u64 { spin(N.load(Relaxed) + x) }")]),
    wide("entries", &[Code("
        #[used] #[unsafe(link_section = \"NAME_all\")] static ALL: [u64; «1¦4»] = [1; «1¦4»];
        unsafe extern \"C\" { #[link_name = \"__start_NAME_all\"] static START: u64;
            #[link_name = \"__stop_NAME_all\"] static STOP: u64; }
        pub fn run(x: u64) -> u64 {
            let (start, stop) = (&raw const START as u64, &raw const STOP as u64);
            spin(black_box(stop - start) / 8 * 30_000 + x) }")]),
    wide("version_compiled", &[
        Version("0.«1¦4».0"),
        Lib("pub fn run(x: u64) -> u64 {
            spin(env!(\"CARGO_PKG_VERSION_MINOR\").parse::<u64>().unwrap() * 30_000 + x) }")]),
    wide("feature", &[
        Manifest("[features]\ndefault = [«¦\"slow\"»]\nslow = []"),
        Lib("pub fn run(x: u64) -> u64 { spin(if cfg!(feature = \"slow\") { 120_000 } else { 30_000 } + x) }")]),
    wide("assertions", &[
        Part::Profile("debug-assertions = «false¦true»"),
        Lib("pub fn run(x: u64) -> u64 { spin(if cfg!(debug_assertions) { 120_000 } else { 30_000 } + x) }")]),
    wide("compiler_flags", &[
        Config("[build]\nrustflags = [\"--cfg\", \"NAME_«quick¦slow»\"]"),
        Lib("pub fn run(x: u64) -> u64 { spin(if cfg!(NAME_slow) { 120_000 } else { 30_000 } + x) }")]),
    one("ignored_output", &[
        Ignore("NAME.rs"),
        Build("std::fs::write(\"NAME.rs\", \"const N: u64 = ROUNDS;\").unwrap();"),
        Lib("include!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/NAME.rs\"));
            pub fn run(x: u64) -> u64 { spin(N + x) }")]),
    one("crate_includes", &[
        File("NAME.txt", "ROUNDS"),
        Crate("NAME_dep", "pub fn rounds() -> u64 { include_str!(\"../../NAME.txt\").parse().unwrap() }"),
        Lib("pub fn run(x: u64) -> u64 { spin(NAME_dep::rounds() + x) }")]),
    one("variable_compiled", &[
        Config("[env]\nNAME_N = \"ROUNDS\""),
        Lib("pub fn run(x: u64) -> u64 { spin(env!(\"NAME_N\").parse::<u64>().unwrap() + x) }")]),
    one("debug_information", &[
        Part::Profile("debug = «0¦2»"),
        Lib("pub fn run(x: u64) -> u64 {
            std::backtrace::Backtrace::force_capture().to_string().len() as u64 + x }")]),
];
