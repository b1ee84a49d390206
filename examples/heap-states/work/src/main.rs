//! `work WORKLOAD EDIT`: the median time of a workload that allocates, in nanoseconds, after a
//! set-up as it is (0) or with one of the edits 1 to 8, none of which the workload runs.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TIME: Duration = Duration::from_millis(15);

fn main() {
    let mut args = std::env::args().skip(1);
    let (name, edit) = (args.next().unwrap(), args.next().unwrap().parse().unwrap());
    let kept = set_up(edit);
    let mut work = workload(&name);
    let begin = Instant::now();
    let mut times = Vec::with_capacity(1 << 16);
    while begin.elapsed() < TIME || times.len() < 5 {
        let start = Instant::now();
        work();
        times.push(start.elapsed().as_nanos());
    }
    times.sort_unstable();
    println!("{}", times[times.len() / 2]);
    drop(kept);
}

/// Allocations such as edits of a set-up add; what it returns lives as long as the workload.
fn set_up(edit: u32) -> Vec<Vec<u8>> {
    let blocks = |number: usize, size: usize| (0..number).map(|_| black_box(vec![1; size])).collect();
    match edit {
        0 => Vec::new(),
        // One that is kept, of three sizes.
        1 => blocks(1, 40),
        2 => blocks(1, 5_000),
        3 => blocks(1, 70_000),
        // One that is freed: below and above the size from which the system is asked for each.
        4 => drop_all(blocks(1, 100_000)),
        5 => drop_all(blocks(1, 200_000)),
        // Many that are freed, all or every other one.
        6 => drop_all(blocks(300, 100)),
        7 => blocks(300, 100).into_iter().enumerate().filter(|(i, _)| i % 2 == 0).map(|(_, b)| b).collect(),
        // One that grows.
        _ => {
            let mut grows = Vec::new();
            (0..60_000).for_each(|i| grows.push(i as u8));
            vec![black_box(grows)]
        }
    }
}

fn drop_all(blocks: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    drop(blocks);
    Vec::new()
}

fn workload(name: &str) -> Box<dyn FnMut()> {
    match name {
        "toml" => {
            let text = text(400, |i| format!("[table{i}]\nname = \"n{i}\"\nlist = [1, {i}]\nx = {{ y = 1.5 }}\n"));
            Box::new(move || drop(black_box(text.parse::<toml::Table>().unwrap())))
        }
        "serde_json" => {
            let items = text(600, |i| format!(r#"{{"id":{i},"name":"name {i}","t":[1,2,3]}},"#));
            let text = format!("[{items}0]");
            Box::new(move || drop(black_box(serde_json::from_str::<serde_json::Value>(&text).unwrap())))
        }
        "BTreeMap" => Box::new(|| {
            let numbers = (0..5_000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            drop(black_box(numbers.map(|i| (i, [i; 4])).collect::<BTreeMap<_, _>>()))
        }),
        "HashMap" => Box::new(|| {
            let words = (0..2_000_u32).map(|i| (format!("word {i}"), i));
            let fixed = std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default();
            let mut map = HashMap::with_hasher(fixed);
            map.extend(words);
            drop(black_box(map))
        }),
        "regex" => Box::new(|| drop(black_box(regex::Regex::new(r"(\w+) (\d{1,3})\.|[a-f]{2}-\s").unwrap()))),
        "pulldown-cmark" => {
            let text = text(200, |i| format!("# Head {i}\n\nSome *text* and [a link](http://x.y/{i}).\n\n- item\n\n"));
            Box::new(move || {
                let mut html = String::new();
                pulldown_cmark::html::push_html(&mut html, pulldown_cmark::Parser::new(&text));
                drop(black_box(html));
            })
        }
        _ => panic!("there is no workload `{name}`"),
    }
}

fn text(number: u32, part: impl Fn(u32) -> String) -> String {
    (0..number).fold(String::new(), |mut text, i| {
        write!(text, "{}", part(i)).unwrap();
        text
    })
}
