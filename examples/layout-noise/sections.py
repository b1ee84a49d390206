#!/usr/bin/env python3
"""Which parts of an executable move a benchmark when they are placed at random.

usage: sections.py MANIFEST BENCHMARK [LAYOUTS] [ROUNDS]

MANIFEST is a `manifest.json` in the cache (`builds/KEY`) of a criterion suite that was
compared with `cargo cbdr`. Links its executable LAYOUTS times (20) in each of a few ways,
runs one BENCHMARK of all of them in ROUNDS (9) turns, and prints the standard deviation
of the logarithm of the layouts' medians, each the median of its runs: of copies of one
executable, with functions in random order, with read-only data in random order, with
random padding between the sections, and with everything at once.
"""

import glob
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

WAYS = {
    "copies": [],
    "functions": ["--shuffle-sections=.text*={seed}"],
    "read-only data": ["--shuffle-sections=.rodata*={seed}", "--shuffle-sections=.data.rel.ro*={seed}"],
    "padding": ["--randomize-section-padding={seed}"],
}
WAYS["all of these"] = [option for options in WAYS.values() for option in options]


def lld():
    root = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True)
    return glob.glob(root.stdout.strip() + "/lib/rustlib/*/bin/gcc-ld")[0]


def link(link, links, options, output):
    """Links an executable again with more options of lld's."""
    words = []
    for parts in link["args"]:
        word = ""
        for part in parts:
            if "Text" in part:
                word += part["Text"]
            else:
                word += os.path.join(links, link["kept"][part["File"]]["path"])
        words.append(word)
    words += [f"-B{lld()}", "-fuse-ld=lld", "-Wl,-S", "-o", output]
    words += ["-Wl," + option for option in options]
    subprocess.run([link["linker"], *words], cwd=link["folder"], check=True, capture_output=True)


def measure(program, benchmark, home):
    """The median that criterion reports of one short run, ns."""
    shutil.rmtree(home, ignore_errors=True)
    options = ["--warm-up-time", "0.003", "--measurement-time", "0.02", "--nresamples", "1001", "--noplot"]
    environment = dict(os.environ, CRITERION_HOME=home)
    subprocess.run([program, "--bench", "--exact", benchmark, *options], env=environment,
                   check=True, capture_output=True)
    found = glob.glob(glob.escape(home) + "/**/new/estimates.json", recursive=True)
    if not found:
        sys.exit(f"criterion has no benchmark `{benchmark}`, or wrote no estimates of it")
    with open(found[0]) as file:
        return json.load(file)["median"]["point_estimate"]


def main():
    manifest, benchmark = sys.argv[1:3]
    layouts = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 9
    with open(manifest) as file:
        executable = json.load(file)["executables"][0]
    links = os.path.join(os.path.dirname(os.path.abspath(manifest)), "links")
    with tempfile.TemporaryDirectory() as folder:
        programs = {}
        for way, options in WAYS.items():
            for seed in range(1, layouts + 1):
                program = os.path.join(folder, f"{way}-{seed}".replace(" ", "-"))
                link(executable["link"]["Ok"], links, [option.format(seed=seed) for option in options], program)
                programs[way, seed] = program
        times = {key: [] for key in programs}
        for _ in range(rounds):
            for key, program in programs.items():
                times[key].append(measure(program, benchmark, os.path.join(folder, "home")))
        for way in WAYS:
            medians = sorted(statistics.median(times[way, seed]) for seed in range(1, layouts + 1))
            spread = statistics.stdev(math.log(median) for median in medians)
            print(f"| {benchmark} | {way} | {layouts} | {100 * spread:.2f} % | "
                  f"{100 * (medians[-1] / medians[0] - 1):+.1f} % |", flush=True)


main()
