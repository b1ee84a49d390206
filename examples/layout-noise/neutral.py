#!/usr/bin/env python3
"""False alarms of edits that change no code that is timed, or not how long it takes, and what is
found of edits that do.

usage: neutral.py unchanged|changed|slower FOLDER [OPTIONS OF compare...]

Makes a repository of the suite `work` in FOLDER, with eight edits of it as commits of their own.
`unchanged`: four add code or data that does not run, and four change only what the set-up
allocates. `changed`: the loop of every benchmark gets as many more bytes that it never reaches.
`slower`: every iteration takes 3, 5 or 10 % longer (x86-64). Compares each with the suite as it is,
and prints for each edit what was undecided, what regressed, and what had regressed before layouts
were measured; then for each benchmark the standard deviation and the largest of its changes before
layouts. With `--layouts off`, these are the executables as built. `CARGO_CBDR` names the program.
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent.resolve()
PROGRAM = os.environ.get("CARGO_CBDR", "cargo-cbdr")


def unused(steps):
    """A function that is kept, though nothing calls it."""
    body = "".join(f"    x = black_box(x.rotate_left({n % 63 + 1}) ^ {n * 7919 + 1});\n" for n in range(steps))
    return (f"#[used]\nstatic KEPT: fn(u64) -> u64 = kept;\n\n"
            f"fn kept(mut x: u64) -> u64 {{\n{body}    x\n}}\n\nfn markdown()")


SET_UP = "    let (text, json) = (markdown(), json());\n"
UNCHANGED = {
    "an unused function of 0.2 kB": ("fn markdown()", unused(10)),
    "one of 2 kB": ("fn markdown()", unused(100)),
    "one of 20 kB": ("fn markdown()", unused(1000)),
    "an unused text of 5 kB": ("fn markdown()", "#[used]\nstatic TEXT: [u8; 5000] = [b'x'; 5000];\n\nfn markdown()"),
    "one more string": (SET_UP, SET_UP + "    let more = black_box(\"x\".repeat(3000));\n    black_box(&more);\n"),
    "another capacity": ("String::new()", "String::with_capacity(70_000)"),
    "another order": (SET_UP, "    let json = json();\n    let text = markdown();\n"),
    "many freed blocks": (SET_UP, SET_UP + "    let mut more: Vec<_> = (0..2000).map(|n| vec![1u8; n]).collect();\n"
                          "    more.retain(|one| one.len() % 3 == 0);\n    black_box(&more);\n"),
}


def unreached(length):
    """Makes each loop contain bytes that are never reached."""
    function = (f"fn iter<R>(b: &mut criterion::Bencher<'_>, mut run: impl FnMut() -> R) {{\n"
                f"    b.iter(|| {{\n        if black_box(false) {{\n"
                f"            unsafe {{ std::arch::asm!(\".skip {length}, 0x90\") }}\n        }}\n"
                f"        run()\n    }})\n}}\n\nfn markdown()")
    return lambda text: text.replace("b.iter(", "iter(b, ").replace("fn markdown()", function, 1)


def slower(percent):
    """Makes each iteration take so much longer: by the time of the fastest of many calls."""
    function = f"""#[inline(never)]
fn spin(steps: u64) -> u64 {{
    let mut x = 1_u64;
    // Nothing of this is done at the same time as the work itself.
    unsafe {{ std::arch::x86_64::_mm_lfence() }};
    for _ in 0..steps {{
        x = (x ^ (x >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }}
    unsafe {{ std::arch::x86_64::_mm_lfence() }};
    black_box(x)
}}

fn fastest<R>(mut run: impl FnMut() -> R) -> f64 {{
    let mut seconds = |calls: u32| {{
        let start = std::time::Instant::now();
        for _ in 0..calls {{
            black_box(run());
        }}
        start.elapsed().as_secs_f64() / f64::from(calls)
    }};
    let calls = (20e-6 / seconds(3)).ceil() as u32;
    (0..20).map(|_| seconds(calls)).fold(f64::INFINITY, f64::min)
}}

fn iter<R>(b: &mut criterion::Bencher<'_>, mut run: impl FnMut() -> R) {{
    let (call, steps) = (fastest(&mut run), fastest(|| spin(black_box(1000))) / 1000.0);
    let steps = black_box(({percent} as f64 / 100.0 * call / steps).round() as u64);
    b.iter(|| (run(), spin(black_box(steps))))
}}

fn markdown()"""
    return lambda text: text.replace("b.iter(", "iter(b, ").replace("fn markdown()", function, 1)


def replaced(before, after):
    def edit(text):
        assert before in text, before
        return text.replace(before, after, 1)
    return edit


KINDS = {
    "unchanged": (lambda text: text, {name: replaced(*edit) for name, edit in UNCHANGED.items()}),
    "changed": (unreached(4), {f"{length} bytes": unreached(length)
                               for length in [16, 36, 68, 100, 160, 300, 700, 1500]}),
    "slower": (slower(0), {f"{percent} %": slower(percent) for percent in [3, 5, 10]}),
}


def git(folder, *arguments):
    subprocess.run(["git", "-c", "user.name=work", "-c", "user.email=work@example.org", *arguments],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL)


def repository(folder, edit):
    shutil.copytree(HERE / "work", folder)
    os.rename(folder / "Cargo_fixture.toml", folder / "Cargo.toml")
    source = folder / "benches/work.rs"
    source.write_text(edit(source.read_text()))
    subprocess.run(["cargo", "generate-lockfile", "--quiet"], cwd=folder, check=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=work")


def compare(folder, options):
    command = [PROGRAM, "compare", "main", "--measure-all", "--always-run", "--format", "json", *options]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def changes(outcome, chosen):
    """The benchmarks with a metric that is chosen, with its change."""
    found = []
    for benchmark in outcome["benchmarks"]:
        for metric in benchmark["metrics"]:
            change = chosen(metric) if metric["gates"] else None
            if change is not None:
                found.append(f"{benchmark['name']} {100 * change:+.1f} %")
    return ", ".join(found) or "none"


def earlier(metric):
    """The change before layouts."""
    return metric.get("as_built", metric)["change"]


def main():
    base, edits = KINDS[sys.argv[1]]
    folder = pathlib.Path(sys.argv[2]).resolve()
    repository(folder, base)
    print("| edit | benchmarks | seconds | before layouts, regressed | regressed | undecided |")
    print("|---|--:|--:|---|---|---|", flush=True)
    source, by_benchmark = HERE / "work/benches/work.rs", {}
    for name, edit in edits.items():
        git(folder, "checkout", "--quiet", "-B", "edit", "main")
        (folder / "benches/work.rs").write_text(edit(source.read_text()))
        git(folder, "commit", "--quiet", "--all", f"--message={name}")
        outcome = compare(folder, sys.argv[3:])
        verdict = lambda wanted: lambda metric: metric["change"] if metric["verdict"] == wanted else None
        first = lambda metric: earlier(metric) if "as_built" in metric else None
        print(f"| {name} | {len(outcome['benchmarks'])} | {outcome['elapsed_seconds']:.0f} "
              f"| {changes(outcome, first)} | {changes(outcome, verdict('regression'))} "
              f"| {changes(outcome, verdict('inconclusive'))} |", flush=True)
        for benchmark in outcome["benchmarks"]:
            found = [earlier(metric) for metric in benchmark["metrics"] if metric["gates"]]
            by_benchmark.setdefault(benchmark["name"], []).extend(found)
    print("\n| benchmark | sd | largest |\n|---|--:|--:|")
    for name, found in by_benchmark.items():
        print(f"| {name} | {100 * statistics.pstdev(found):.2f} % | {100 * max(found, key=abs):+.1f} % |")


main()
