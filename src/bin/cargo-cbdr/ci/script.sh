#!/bin/sh
# Made by `cargo cbdr init --ci script`.
#
# Compares what is checked out with where it left BASE, the first argument; by
# default the target branch that the CI names, else `main`. A shallow clone is
# deepened as far as needed. Ends as `cargo cbdr compare` does: 0, or 100 for a
# regression, 101 when it could not finish.
set -eu

cd "$(dirname "$0")/@UP@"
base=${1:-${GITHUB_BASE_REF:-${CI_MERGE_REQUEST_TARGET_BRANCH_NAME:-${CHANGE_TARGET:-main}}}}
out=${CBDR_OUT:-$(mktemp -d)}

command -v cargo-cbdr >/dev/null || cargo install --locked --git @REPOSITORY@ cargo-cbdr

code=0
cargo cbdr compare --fetch --format markdown --samples "$out/cbdr.csv" \
    --report "$out/cbdr.html" "$base" >"$out/cbdr.md" || code=$?
if [ -s "$out/cbdr.md" ]; then cat "$out/cbdr.md"; fi
echo "The page and the samples are in $out" >&2
exit "$code"
