#!/bin/sh
# Makes a large repository: tests/large.sh FOLDER [COMMITS] [FILES] [REFS]
#
# A small Rust program with a benchmark among FILES text files of some 3 kB (50000),
# and COMMITS commits (100000), packed. `old` left `main` at its second commit,
# `feature` ten commits before its end. With REFS, so many branches and so many
# tags lie about as files. The same arguments make the same commits.
set -eu
folder=$1
commits=${2:-100000}
files=${3:-50000}
refs=${4:-0}

git init -q -b main "$folder"
cd "$folder"
awk -v commits="$commits" -v files="$files" '
    function data(text) { printf "data %d\n%s\n", length(text), text }
    function file(path, text) { printf "M 100644 inline %s\n", path; data(text) }
    function path(n) { return sprintf("text/%02d/%02d/file%05d.txt", n % 40, int(n / 40) % 25, n) }
    function text(n, version,   lines, seed, i, word) {
        lines = ""
        seed = 1000 * n + 1
        for (i = 0; i < 40; i++) {
            lines = lines "    "
            for (word = 0; word < 8; word++) {
                seed = (seed * 16807) % 2147483647
                lines = lines seed " "
            }
            lines = lines "\n"
        }
        return lines "version " version "\n"
    }
    function commit(branch, number, from) {
        printf "commit refs/heads/%s\nmark :%d\n", branch, ++mark
        printf "committer Large <large@example.org> %d +0000\n", 1500000000 + 600 * number
        data("Change number " number "\n\nIt has a reason.")
        if (from) printf "from :%d\n", from
    }
    function program(work) {
        return "use std::hint::black_box;\nfn main() {\n    let mut sum = 0u64;\n    for i in 0.." \
            work "u64 {\n        sum = sum.wrapping_add(black_box(i));\n    }\n    black_box(sum);\n}\n"
    }
    BEGIN {
        srand(7)
        commit("main", 0)
        file("Cargo.toml", "[package]\nname = \"large\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n" \
            "[[bench]]\nname = \"work\"\nharness = false\n")
        file("Cargo.lock", "version = 3\n\n[[package]]\nname = \"large\"\nversion = \"0.1.0\"\n")
        file(".gitignore", "/target\n")
        file("src/lib.rs", "")
        file("benches/work.rs", program(200000))
        for (n = 0; n < files; n++) file(path(n), text(n, 0))
        for (n = 1; n < commits; n++) {
            commit("main", n)
            changed = int(rand() * files)
            file(path(changed), "line of " n "\n" text(changed, n))
            if (n == 1) second = mark
            if (n == commits - 10) fork = mark
        }
        commit("old", 2, second)
        file("benches/work.rs", program(200001))
        commit("feature", commits, fork)
        file("benches/work.rs", program(200002))
        print "done"
    }' | git fast-import --quiet --done
git -c gc.auto=0 repack -adq --depth=50 --window=10
git pack-refs --all
git checkout -q feature
n=0
while [ "$n" -lt "$refs" ]; do
    echo "create refs/heads/topic/$n main~$((n % 50))"
    echo "create refs/tags/v0.$n main~$((n % 50))"
    n=$((n + 1))
done | git update-ref --stdin
