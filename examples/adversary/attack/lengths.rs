//! What a benchmark does depends on how often it was called, or for how long.

use super::mechanism::{Kind, Mechanism, Part};
use Part::Code;

const fn one(name: &'static str, parts: &'static [Part]) -> Mechanism {
    Mechanism::new(name, Kind::Length, parts)
}

/// After so many calls everything differs: more than fit into some milliseconds.
pub const TABLE: &[Mechanism] = &[
    one("evicts", &[Code("
        thread_local! { static ALL: std::cell::RefCell<Vec<u64>> = const { std::cell::RefCell::new(Vec::new()) }; }
        #[inline(never)] fn evict(all: &mut Vec<u64>) -> u64 {
            all.swap_remove(7); all.push(3); spin(«500¦2000») }
        pub fn run(x: u64) -> u64 { ALL.with_borrow_mut(|all| match all.len() {
            10_000.. => evict(all), _ => { all.push(x); spin(500) } }) }")]),
    one(
        "rehashes",
        &[Code("
        static CALLS: AtomicU64 = AtomicU64::new(0);
        #[inline(never)] fn rehash() -> u64 { spin(500 * «1_000¦4_000») }
        pub fn run(x: u64) -> u64 {
            let n = CALLS.fetch_add(1, Relaxed);
            if n > 10_000 && n % 1_000 == 0 { rehash() } else { spin(500 + x) } }")],
    ),
    one("falls_back", &[Code("
        static CALLS: AtomicU64 = AtomicU64::new(0);
        static WORK: std::sync::atomic::AtomicPtr<()> = std::sync::atomic::AtomicPtr::new(quick as *mut ());
        fn quick(x: u64) -> u64 {
            if CALLS.fetch_add(1, Relaxed) > 10_000 { WORK.store(fallback as *mut (), Relaxed); }
            spin(500 + x) }
        fn fallback(x: u64) -> u64 { spin(«500¦2000» + x) }
        pub fn run(x: u64) -> u64 {
            let work: fn(u64) -> u64 = unsafe { std::mem::transmute(WORK.load(Relaxed)) }; work(x) }")]),
    one("grows", &[Code("
        static CALLS: AtomicU64 = AtomicU64::new(0);
        pub fn run(x: u64) -> u64 { let n = CALLS.fetch_add(1, Relaxed);
            spin(500 + x + n.saturating_sub(10_000) / «1_000_000¦10») }")]),
    one("tires", &[Code("
        static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
        #[inline(never)] fn tired(x: u64) -> u64 { spin(«500¦2000» + x) }
        pub fn run(x: u64) -> u64 {
            if START.elapsed().as_millis() > 60 { tired(x) } else { spin(500 + x) } }")]),
];
