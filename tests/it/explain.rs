//! Why a benchmark has regressed: the function that executes more instructions is named.

use crate::meter::has_valgrind;
use crate::support::Repo;

/// A repository whose benchmark calls a library in another package, and reports as its time
/// what the library says. `base` and `head` are the library's.
fn repo(base: &str, head: &str) -> Repo {
    let repo = Repo::new("steady");
    repo.replace(
        "Cargo.toml",
        "[[bench]]",
        "[dependencies]\ndeep = { path = \"deep\" }\n\n[[bench]]",
    );
    repo.replace(
        "Cargo.lock",
        "name = \"steady\"\nversion = \"0.1.0\"\n",
        "name = \"steady\"\nversion = \"0.1.0\"\ndependencies = [\n \"deep\",\n]\n",
    );
    repo.replace(
        "Cargo.lock",
        "[[package]]",
        "[[package]]\nname = \"deep\"\nversion = \"0.1.0\"\n\n[[package]]",
    );
    repo.write(
        "deep/Cargo.toml",
        "[package]\nname = \"deep\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    repo.write(
        "benches/work.rs",
        "fn main() {\n    \
             std::hint::black_box(deep::work(std::hint::black_box(3)));\n    \
             let noise = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos() % 1000;\n    \
             let time = deep::TIME * (1.0 + f64::from(noise) * 1e-8);\n    \
             println!(\"{{\\\"work\\\": {{\\\"wall_time\\\": {time}}}}}\");\n\
         }\n",
    );
    repo.write("deep/src/lib.rs", &format!("pub static TIME: f64 = 1e-3;\n{base}"));
    repo.commit("base");
    repo.branch("feature");
    repo.write("deep/src/lib.rs", &format!("pub static TIME: f64 = 2e-3;\n{head}"));
    repo.commit("head");
    repo
}

/// What is said of the regression of that repository.
fn explained(base: &str, head: &str) -> String {
    let repo = repo(base, head);
    let call = "compare main --harness json --layouts off --seed 5 --explain --format json";
    let object = repo.cbdr(call).run().code(100).json();
    let notices = object["notices"].as_array().unwrap().iter();
    let mut notices = notices.map(|notice| notice.as_str().unwrap().to_owned());
    notices.find(|notice| notice.contains("instructions")).unwrap_or_else(|| panic!("{object}"))
}

#[test]
fn the_function_that_executes_more_comes_first() {
    if !has_valgrind() {
        return;
    }
    // Deep in a dependency.
    let library = "#[inline(never)] pub fn work(x: u64) -> u64 { (0..x).map(middle).sum() }
        #[inline(never)] fn middle(x: u64) -> u64 { inner(x) + 1 }
        #[inline(never)] fn inner(x: u64) -> u64 {
            let mut all = x; for n in 0..1000 { all = std::hint::black_box(all ^ n); } all }";
    let said = explained(library, &library.replace("1000", "9000"));
    let first = said.split("): `").nth(1).unwrap_or_else(|| panic!("{said}"));
    assert!(first.starts_with("deep::inner` (+"), "{said}");
    assert!(said.contains("its code differs"), "{said}");
    // By a constant that makes a buffer smaller.
    let library = "static SIZE: usize = 4096;
        #[inline(never)] pub fn work(x: u64) -> u64 {
            let size = std::hint::black_box(&SIZE); (0..9999 / size).map(|n| fill(n as u64 + x)).sum() }
        #[inline(never)] fn fill(x: u64) -> u64 {
            let mut all = x; for n in 0..100 { all = std::hint::black_box(all ^ n); } all }";
    let said = explained(library, &library.replace("4096", "64"));
    let first = said.split("): `").nth(1).unwrap_or_else(|| panic!("{said}"));
    assert!(first.starts_with("deep::fill` (+"), "{said}");
    assert!(said.contains("its code is the same"), "{said}");
    assert!(said.contains("`deep::work`"), "{said}");
}
