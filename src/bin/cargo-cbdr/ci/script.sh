#!/bin/sh
# Made by `cargo cbdr init --ci script`.
#
# Compares the benchmarks of the commit checked out with its merge-base with BASE,
# the first argument. By default, BASE is the target branch named by the CI service,
# or what `cargo cbdr compare` chooses: the `base` in Cargo.toml, or the default branch.
# A shallow clone is deepened as far as needed. The exit code is that of
# `cargo cbdr compare`: 0, 100 for a regression, 101 if it could not finish.
set -eu

cd "$(dirname "$0")/@UP@"
base=${1:-${GITHUB_BASE_REF:-${CI_MERGE_REQUEST_TARGET_BRANCH_NAME:-${CHANGE_TARGET-}}}}
out=${CBDR_OUT:-$(mktemp -d)}

command -v cargo-cbdr >/dev/null || cargo install --locked cargo-cbdr@@VERSION@

code=0
cargo-cbdr compare --fetch --format markdown --samples "$out/cbdr.csv" \
    --report "$out/cbdr.html" ${base:+"$base"} >"$out/cbdr.md" || code=$?
if [ -s "$out/cbdr.md" ]; then cat "$out/cbdr.md"; fi
echo "The report and the samples are in $out" >&2
exit "$code"
