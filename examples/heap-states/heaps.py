#!/usr/bin/env python3
"""How much the state of the heap at the beginning of `main` moves workloads that allocate.

usage: heaps.py [ROUNDS] [FEATURES]

Builds the program `work` next to this file with the object that `cargo cbdr` links into
executables, and runs each workload in ROUNDS (24) rounds, as one executable: with its set-up as
it is, and with eight edits of the set-up. So there is no difference but that of the heap. Prints
for each workload, in percent: the standard deviation of a pair without edits, if the heap is as
it is, if both members of a pair have one seed, and if each has one of its own; and the largest
and the second largest change (median over the rounds) of the eight edits, as it is and over
heaps. FEATURES may be `mimalloc`.
"""

import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent.resolve()
SOURCE = HERE.parent.parent / "src/workspace/relink/constructor.rs.in"
WORKLOADS = ["toml", "serde_json", "BTreeMap", "HashMap", "regex", "pulldown-cmark"]
EDITS = range(9)
FLAGS = ["--edition=2018", "--crate-type=lib", "--emit=obj", "-Copt-level=2", "-Cpanic=abort",
         "-Ccodegen-units=1", "-Awarnings"]
CALLS = """#![no_std]
extern crate alloc;
#[no_mangle] pub unsafe fn one(l: core::alloc::Layout) -> *mut u8 { alloc::alloc::alloc(l) }
#[no_mangle] pub unsafe fn two(p: *mut u8, l: core::alloc::Layout) { alloc::alloc::dealloc(p, l) }
"""


def compile_object(folder, name, source):
    path = folder / f"{name}.rs"
    path.write_text(source)
    subprocess.run(["rustc", *FLAGS, "-o", path.with_suffix(".o"), path], check=True)
    return path.with_suffix(".o")


def build(folder, features):
    """The program with the object; the names of the allocator's functions are those of the compiler."""
    words = compile_object(folder, "calls", CALLS).read_bytes().split(b"\0")
    source = SOURCE.read_text()
    for name in ["alloc", "dealloc"]:
        word = next(word for word in words if word.endswith(f"__rust_{name}".encode()))
        source = source.replace(f"RUST_{name.upper()}", word.decode().split(".")[-1])
    heap = compile_object(folder, "heap", source)
    shutil.copytree(HERE / "work", folder / "work")
    os.rename(folder / "work/Cargo_fixture.toml", folder / "work/Cargo.toml")
    environment = dict(os.environ, RUSTFLAGS=f"-Clink-arg={heap}", CARGO_TARGET_DIR=str(folder / "target"))
    subprocess.run(["cargo", "build", "--release", "--quiet", f"--features={features}"],
                   cwd=folder / "work", env=environment, check=True)
    return folder / "target/release/work"


def measure(program, workload, edit, seed):
    environment = dict(os.environ)
    if seed is not None:
        environment["CBDR_HEAP_SEED"] = f"{seed:016x}"
    out = subprocess.run([program, workload, str(edit)], env=environment, capture_output=True, check=True)
    return math.log(int(out.stdout))


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    features = sys.argv[2] if len(sys.argv) > 2 else ""
    rng = random.Random(1)
    print("| workload | sd as it is | sd, one seed | sd, two seeds | edits as it is | edits over heaps |")
    print("|---|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        program = build(pathlib.Path(folder), features)
        for workload in WORKLOADS:
            pairs = {"none": [], "one": [], "two": []}
            changes = {(edit, way): [] for edit in EDITS for way in ["none", "one"]}
            for _ in range(rounds):
                seeds = rng.getrandbits(64), rng.getrandbits(64)
                both = {"none": (None, None), "one": (seeds[0], seeds[0]), "two": seeds}
                for way, (of_base, of_head) in both.items():
                    base = measure(program, workload, 0, of_base)
                    pairs[way].append(measure(program, workload, 0, of_head) - base)
                for edit in EDITS[1:]:
                    for way in ["none", "one"]:
                        seed = both[way][0]
                        runs = [0, edit]
                        rng.shuffle(runs)
                        times = {run: measure(program, workload, run, seed) for run in runs}
                        changes[edit, way].append(times[edit] - times[0])
            # The machine disturbs some of them.
            spread = lambda logs: statistics.median(map(abs, logs)) * 148.26
            cells = [f"{spread(pairs[way]):.2f} %" for way in pairs]
            for way in ["none", "one"]:
                medians = [100 * statistics.median(changes[edit, way]) for edit in EDITS[1:]]
                largest = sorted(medians, key=abs)[:-3:-1]
                cells.append(", ".join(f"{change:+.1f} %" for change in largest))
            print("| " + " | ".join([workload, *cells]) + " |", flush=True)


main()
