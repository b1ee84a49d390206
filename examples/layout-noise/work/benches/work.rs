//! Small workloads, most of them of one crate each.

use std::fmt::Write;
use std::hint::black_box;

use base64::Engine;
use criterion::{Criterion, criterion_group, criterion_main};
use sha2::Digest;
use unicode_segmentation::UnicodeSegmentation;

fn markdown() -> String {
    let mut text = String::new();
    for i in 0..100 {
        let number = i * 7919;
        write!(
            text,
            "# Head {i}\n\nSome *text* with `code` and [a link](http://x.y/{i}), number {number}.\n\n\
             - item {i}\n- more\n\n"
        )
        .unwrap();
    }
    text
}

fn json() -> String {
    let item = |i: u32| {
        let value = i * 31;
        format!(r#"{{"id":{i},"name":"name {i}","v":{value}.5,"ok":true,"t":[1,2,3]}}"#)
    };
    format!("[{}]", (0..200).map(item).collect::<Vec<_>>().join(","))
}

const REQUEST: &[u8] = b"GET /wp-content/uploads/hello.jpg HTTP/1.1\r\nHost: example.org\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept: image/webp,*/*;q=0.5\r\n\
    Accept-Language: en,de;q=0.7\r\nConnection: keep-alive\r\nCookie: a=1; b=22; c=333\r\n\r\n";

fn work(c: &mut Criterion) {
    let (text, json) = (markdown(), json());
    let data: Vec<u8> =
        (0..8192_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    c.bench_function("hex::encode", |b| b.iter(|| hex::encode(black_box(&data))));
    c.bench_function("base64", |b| {
        b.iter(|| base64::prelude::BASE64_STANDARD.encode(black_box(&data)))
    });
    c.bench_function("pulldown-cmark", |b| {
        b.iter(|| pulldown_cmark::Parser::new(black_box(&text)).count())
    });
    c.bench_function("serde_json::Value", |b| {
        b.iter(|| serde_json::from_str::<serde_json::Value>(black_box(&json)).unwrap())
    });
    let regex = regex::Regex::new(r"(\w+) (\d+)\.").unwrap();
    c.bench_function("regex", |b| b.iter(|| regex.find_iter(black_box(&text)).count()));
    c.bench_function("memchr", |b| {
        b.iter(|| memchr::memmem::find_iter(black_box(text.as_bytes()), "code").count())
    });
    c.bench_function("httparse", |b| {
        b.iter(|| {
            let mut headers = [httparse::EMPTY_HEADER; 16];
            httparse::Request::new(&mut headers).parse(black_box(REQUEST)).unwrap()
        })
    });
    c.bench_function("unicode-segmentation", |b| {
        b.iter(|| black_box(&text).unicode_words().count())
    });
    c.bench_function("itoa", |b| {
        let mut buffer = itoa::Buffer::new();
        b.iter(|| {
            let length = |i: u64| buffer.format(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).len();
            (0..1000_u64).map(black_box).map(length).sum::<usize>()
        })
    });
    c.bench_function("ryu", |b| {
        let mut buffer = ryu::Buffer::new();
        b.iter(|| {
            let length = |i: u64| buffer.format(1.0 / (i + 3) as f64).len();
            (0..300_u64).map(black_box).map(length).sum::<usize>()
        })
    });
    c.bench_function("sha2", |b| b.iter(|| sha2::Sha256::digest(black_box(&data))));
    c.bench_function("fnv", |b| {
        b.iter(|| {
            let mut hasher = fnv::FnvHasher::default();
            std::hash::Hasher::write(&mut hasher, black_box(&data));
            std::hash::Hasher::finish(&hasher)
        })
    });
    c.bench_function("sort_unstable", |b| {
        b.iter(|| {
            let mut words: Vec<u32> =
                data.chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect();
            words.sort_unstable();
            words[0]
        })
    });
}

fn allocating(c: &mut Criterion) {
    let json = json();
    let strings: Vec<String> = (0..200_u32).map(|i| format!("key {}", i * 7919 % 200)).collect();
    let tables: String = (0..100)
        .map(|i| format!("[table-{i}]\nname = \"name {i}\"\nlist = [1, 2, {i}]\n"))
        .collect();
    c.bench_function("toml", |b| b.iter(|| black_box(&tables).parse::<toml::Table>().unwrap()));
    c.bench_function("BTreeMap", |b| {
        let pairs = || black_box(&strings).iter().map(|key| (key.clone(), key.len()));
        b.iter(|| pairs().collect::<std::collections::BTreeMap<_, _>>())
    });
    c.bench_function("fnv::FnvHashMap", |b| {
        let pairs = || black_box(&strings).iter().map(|key| (key.clone(), key.len()));
        b.iter(|| pairs().collect::<fnv::FnvHashMap<_, _>>())
    });
    c.bench_function("regex::new", |b| {
        b.iter(|| regex::Regex::new(black_box(r"(\w+) (\d+)\.")).unwrap())
    });
    c.bench_function("pulldown-cmark::html", |b| {
        let text = markdown();
        b.iter(|| {
            let mut out = String::new();
            pulldown_cmark::html::push_html(
                &mut out,
                pulldown_cmark::Parser::new(black_box(&text)),
            );
            out.len() + black_box(&json).len()
        })
    });
}

criterion_group!(benches, work, allocating);
criterion_main!(benches);
