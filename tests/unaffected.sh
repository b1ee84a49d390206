#!/bin/sh
# What leaving out unaffected benchmarks saves, and whether it was right:
# tests/unaffected.sh PROGRAM LIMIT FOLDER BASE HEAD
#
# Compares HEAD with BASE in the repository of FOLDER with PROGRAM, a built cargo-cbdr,
# under the time limit LIMIT (`2m`), with and without `--measure-all`. Prints a row: the
# benchmarks, how many of them were unaffected, seconds of sampling without and with these,
# and which unaffected ones are a regression after all; if any is, it fails. Needs jq. The
# options in CBDR_FLAGS are added.
set -eu

program=$(realpath "$1")
limit=$2
folder=$3
sides="$4 --head $5 --exact-base"
some=$(mktemp)
all=$(mktemp)
row=$(mktemp)
trap 'rm -f "$some" "$all" "$row"' EXIT

cd "$folder"
compare() {
    # shellcheck disable=SC2086
    "$program" cbdr compare $sides --time-limit "$limit" --progress none --format json \
        ${CBDR_FLAGS:-} "$@" 2> /dev/null || [ $? -ge 100 ]
}
compare > "$some"
compare --measure-all > "$all"
jq -r --slurpfile all "$all" --arg name "$(basename "$PWD") $5" '
    [.benchmarks[] | select(.status == "unaffected") | .name] as $unaffected
    | [$all[0].benchmarks[]
        | select(.name as $name | $unaffected | index($name))
        | select(any(.metrics[]; .verdict == "regression")) | .name] as $wrong
    | "| \($name) | \(.benchmarks | length) | \($unaffected | length) | \(.elapsed_seconds
        * 10 | round / 10) | \($all[0].elapsed_seconds * 10 | round / 10) | \($wrong
        | join(", ")) |"' "$some" > "$row"
cat "$row"
# The last column of a good row is empty.
grep -q '|  |$' "$row"
