//! Verdicts that do not depend on how a benchmark's set-up leaves the heap.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::Repo;

/// A repository whose benchmark reports a time that depends on where in its page of memory a block
/// is, by at most 6 %. Its set-up keeps a block of `base` bytes in the base, of `head` in the head.
/// All runs note their heap's seed, their path and the number of their file in a file next to the
/// repository.
fn repo(base: usize, head: usize) -> Repo {
    let repo = Repo::new("steady");
    let log = repo.around().join("log");
    let source = |kept: usize| {
        format!(
            "use std::io::Write;
            use std::os::unix::fs::MetadataExt;

            fn main() {{
                let kept = std::hint::black_box(vec![1_u8; {kept}]);
                let block = std::hint::black_box(Box::new([0_u64; 5]));
                let place = (block.as_ptr() as usize % 4096) as f64 / 4096.0;
                let clock = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
                let noise = 1.0 + f64::from(clock % 1000) * 1e-8;
                let time = 1e-3 * (1.0 + 0.06 * place) * noise;
                println!(\"{{{{\\\"place\\\": {{{{\\\"wall_time\\\": {{time}}}}}}}}}}\");
                drop(kept);
                let path = std::env::args().next().unwrap();
                let file = std::fs::metadata(&path).unwrap().ino();
                let seed = std::env::var(\"CBDR_HEAP_SEED\").unwrap_or_default();
                let mut log = std::fs::File::options();
                let mut log = log.append(true).create(true).open({log:?}).unwrap();
                log.write_all(format!(\"{{seed}} {{path}} {{file}}\\n\").as_bytes()).unwrap();
            }}
            "
        )
    };
    repo.write("benches/work.rs", &source(base));
    repo.commit("base");
    repo.branch("feature");
    repo.write("benches/work.rs", &source(head));
    repo.commit("head");
    repo
}

fn compare(repo: &Repo, args: &str) -> Value {
    let args = format!("compare main --harness json --seed 5 --format json {args}");
    repo.cbdr(&args).run().json()
}

/// What all runs have noted: the seed of the heap, the path, the number of the file.
fn noted(repo: &Repo) -> Vec<(String, String, String)> {
    let text = std::fs::read_to_string(repo.around().join("log")).unwrap();
    let line = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        (words.next().unwrap(), words.next().unwrap(), words.next().unwrap())
    };
    text.lines().map(line).collect()
}

#[test]
fn what_the_set_up_leaves_on_the_heap_is_no_regression() {
    // Half a page more moves the block by half a page, from wherever it is.
    let slower = [(64, 64 + 2048), (64 + 2048, 64)].map(|(base, head)| repo(base, head));
    let is_slower = |repo: &&Repo| compare(repo, "--layouts off")["verdict"] == "regression";
    let repo = slower.iter().find(is_slower).unwrap();
    std::fs::remove_file(repo.around().join("log")).unwrap();
    let object = compare(repo, "");
    assert_eq!(object["verdict"], "no-regression", "{object}");
    let metric = &object["benchmarks"][0]["metrics"][0];
    assert_eq!(metric["as_built"]["verdict"], "regression", "{object}");
    // Both sides of a pair have the same seed, each pair has another, and as built there is none.
    let noted = noted(repo);
    let seeds: Vec<&String> =
        noted.iter().map(|(seed, ..)| seed).filter(|seed| !seed.is_empty()).collect();
    let is_pair = |pair: &[&String]| pair[0] == pair[1] && pair[0].len() == 16;
    assert!(seeds.len() >= 2 * 9 && seeds.chunks(2).all(is_pair), "{seeds:?}");
    assert_eq!(seeds.iter().collect::<BTreeSet<_>>().len(), seeds.len() / 2);
    let in_layouts = noted.iter().filter(|(_, path, _)| path.ends_with(".layout")).count();
    assert_eq!(in_layouts, seeds.len());
}

#[test]
fn executables_as_built_become_new_files_at_the_same_path() {
    let repo = repo(64, 128);
    compare(&repo, "--layouts off --threshold 0.01% --max-pairs 100");
    let noted = noted(&repo);
    let paths: BTreeSet<_> = noted.iter().map(|(_, path, _)| path).collect();
    let files: BTreeSet<_> = noted.iter().map(|(_, path, file)| (path, file)).collect();
    assert_eq!(paths.len(), 2, "one for each side: {paths:?}");
    assert!(files.len() > 2, "{files:?}");
}
