#!/bin/sh
# How soon a suite's verdicts are in: tests/suites.sh PROGRAM LIMIT FOLDER [BASE HEAD]
#
# Compares HEAD with BASE in the repository of FOLDER with PROGRAM, a built cargo-cbdr,
# under the time limit LIMIT (`2m`); without them, its HEAD with itself, built twice.
# Prints a row: the name, how many verdicts there are to be, how many of them were in
# after 30, 60, 120 and 300 seconds of sampling and at the end, how many are regressions,
# how many benchmarks are unaffected, seconds of preparation and of sampling. The row is
# about this machine at this moment: note what else runs. The options in CBDR_FLAGS are
# added. Needs jq.
set -eu

program=$(realpath "$1")
limit=$2
folder=$3
events=$(mktemp)
log=$(mktemp)
trap 'rm -f "$events" "$log"' EXIT

cd "$folder"
name=$(basename "$PWD")
if [ $# -ge 5 ]; then
    sides="$4 --head $5 --exact-base"
    name="$name $5"
else
    sides="--aa"
fi
# shellcheck disable=SC2086
"$program" cbdr compare $sides --time-limit "$limit" --progress none --message-format json \
    ${CBDR_FLAGS:-} > "$events" 2> "$log" || code=$?
case ${code:-0} in
    0 | 100 | 101 | 102) ;;
    *) cat "$log" >&2; exit "$code" ;;
esac
# A pair has the time of sampling; a verdict follows the pair that decided it.
jq --raw-output --null-input --arg name "$name" '
    reduce inputs as $event ({time: 0, in: []};
        if $event.reason == "pair" then .time = $event.elapsed_seconds
        elif $event.reason == "verdict" and $event.final then .in += [.time]
        elif $event.reason == "result" then .result = $event
        else . end)
    | if .result == null then "no result\n" | halt_error else . end
    | .in as $in | .result as $result
    | [$result.benchmarks[].metrics[] | select(.gates).verdict] as $verdicts
    | ($verdicts | map(select(. != "inconclusive")) | length) as $decided
    | [$name, ($verdicts | length)]
      + [(30, 60, 120, 300) as $mark
         | if $mark >= $result.elapsed_seconds then $decided
           else $in | map(select(. <= $mark)) | length end]
      + [$decided, ($verdicts | map(select(. == "regression")) | length),
         ($result.benchmarks | map(select(.status == "unaffected")) | length),
         ($result.prepare_seconds | round), ($result.elapsed_seconds | round)]
    | "| " + (map(tostring) | join(" | ")) + " |"
' "$events" || { cat "$log" >&2; exit 1; }
