#!/usr/bin/env python3
"""False alarms of edits that change no code that is timed.

usage: neutral.py FOLDER [OPTIONS OF compare...]

Makes a repository of the suite `work` in FOLDER, with eight edits of it as commits of their own:
four add code or data that does not run, and four change only what the set-up allocates. Compares
each with the suite as it is, and prints for each what was undecided, what regressed, and what
had regressed before layouts were measured. With `--layouts off`, these are the executables as
built. `CARGO_CBDR` names the program.
"""

import json
import os
import pathlib
import shutil
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
EDITS = {
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


def git(folder, *arguments):
    subprocess.run(["git", "-c", "user.name=work", "-c", "user.email=work@example.org", *arguments],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL)


def repository(folder):
    shutil.copytree(HERE / "work", folder)
    os.rename(folder / "Cargo_fixture.toml", folder / "Cargo.toml")
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


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    repository(folder)
    print("| edit | benchmarks | seconds | before layouts, regressed | regressed | undecided |")
    print("|---|--:|--:|---|---|---|", flush=True)
    source = folder / "benches/work.rs"
    for name, (before, after) in EDITS.items():
        git(folder, "checkout", "--quiet", "-B", "edit", "main")
        text = source.read_text()
        assert text.count(before) >= 1, name
        source.write_text(text.replace(before, after, 1))
        git(folder, "commit", "--quiet", "--all", f"--message={name}")
        outcome = compare(folder, sys.argv[2:])
        verdict = lambda wanted: lambda metric: metric["change"] if metric["verdict"] == wanted else None
        earlier = lambda metric: metric.get("as_built", {}).get("change")
        print(f"| {name} | {len(outcome['benchmarks'])} | {outcome['elapsed_seconds']:.0f} "
              f"| {changes(outcome, earlier)} | {changes(outcome, verdict('regression'))} "
              f"| {changes(outcome, verdict('inconclusive'))} |", flush=True)


main()
