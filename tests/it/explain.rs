//! Why a benchmark regressed: the function that executes more instructions is named.

use crate::meter::has_valgrind;
use serde_json::Value;

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

/// The functions of what has regressed in that repository, with whether their code differs.
fn explained(repo: &Repo) -> Vec<(String, Option<bool>)> {
    let call = "compare main --harness json --layouts off --seed 5 --explain --format json";
    let object = repo.cbdr(call).run().code(100).json();
    let explanation = &object["explanations"][0];
    assert_eq!(explanation["benchmark"], "work", "{object}");
    let functions = explanation["functions"].as_array().unwrap().iter();
    let more =
        |one: &&Value| one["instructions"]["head"].as_u64() > one["instructions"]["base"].as_u64();
    let more = functions.filter(more);
    more.map(|one| (one["name"].as_str().unwrap().to_owned(), one["differs"].as_bool())).collect()
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
    let repo = repo(library, &library.replace("1000", "9000"));
    assert_eq!(explained(&repo)[0], ("deep::inner".to_owned(), Some(true)));
    // It is also in the page and in Markdown, without an option.
    let call = "compare main --harness json --layouts off --seed 5 --format";
    let said = repo.cbdr(&format!("{call} markdown --report ../page.html")).run().code(100).stdout;
    let row = said.lines().find(|line| line.contains("deep::inner")).unwrap_or_default();
    assert!(row.starts_with("| `deep::inner` |") && row.ends_with("| differs |"), "{said}");
    let page = std::fs::read_to_string(repo.around().join("page.html")).unwrap();
    assert!(page.contains("<th scope=\"row\"><code>deep::inner</code></th>"), "{page}");
    let said = repo.cbdr(&format!("{call} markdown --explain=never")).run().code(100).stdout;
    assert!(!said.contains("instructions"), "{said}");
    let said = repo.cbdr(&format!("{call} human --explain")).run().code(100).stdout;
    let row = said.lines().find(|line| line.contains("deep::inner")).unwrap_or_default();
    assert!(row.starts_with("  deep::inner ") && row.ends_with("  differs"), "{said}");
    // By a constant that makes a buffer smaller.
    let library = "static SIZE: usize = 4096;
        #[inline(never)] pub fn work(x: u64) -> u64 {
            let size = std::hint::black_box(&SIZE); (0..9999 / size).map(|n| fill(n as u64 + x)).sum() }
        #[inline(never)] fn fill(x: u64) -> u64 {
            let mut all = x; for n in 0..100 { all = std::hint::black_box(all ^ n); } all }";
    let functions = explained(&self::repo(library, &library.replace("4096", "64")));
    assert_eq!(functions[0], ("deep::fill".to_owned(), Some(false)));
    assert!(functions.iter().any(|(name, _)| name == "deep::work"), "{functions:?}");
}
