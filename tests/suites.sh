#!/bin/sh
# How soon a suite's verdicts are in: tests/suites.sh PROGRAM LIMIT FOLDER [BASE HEAD]
#
# Compares HEAD with BASE in the repository of FOLDER with PROGRAM, a built cargo-cbdr,
# under the time limit LIMIT (`2m`); without them, its HEAD with itself, built twice.
# Prints a row: the name, how many verdicts there are to be, how many of them were in
# after 30, 60, 120 and 300 seconds of sampling and at the end, regressions, seconds of
# preparation and of sampling. What it says is that of this machine at this moment: say
# what else ran. The options in CBDR_FLAGS are added.
set -eu

program=$(realpath "$1")
limit=$2
folder=$3
log=$(mktemp)
object=$(mktemp)
trap 'rm -f "$log" "$object"' EXIT

cd "$folder"
name=$(basename "$PWD")
if [ $# -ge 5 ]; then
    sides="$4 --head $5 --exact-base"
    name="$name $5"
else
    sides="--aa"
fi
# shellcheck disable=SC2086
"$program" cbdr compare $sides --time-limit "$limit" --progress plain --format json \
    ${CBDR_FLAGS:-} > "$object" 2> "$log" || code=$?
case ${code:-0} in
    0 | 100 | 101 | 102) ;;
    *) cat "$log" >&2; exit "$code" ;;
esac
if ! [ -s "$object" ]; then
    cat "$log" >&2
    exit 1
fi
awk -v name="$name" '
    # A line of the log: its verdicts, those that are open, and the seconds spent.
    FILENAME == ARGV[1] && /Sampling [0-9]+ verdicts: / {
        match($0, /Sampling [0-9]+/); total = substr($0, RSTART + 9, RLENGTH - 9) + 0
        open = 0
        if (match($0, /[0-9]+ open/)) open = substr($0, RSTART, RLENGTH) + 0
        match($0, /, [0-9.ms ]+\//); spent = substr($0, RSTART + 2, RLENGTH - 3)
        seconds = spent ~ /m/ ? 60 * spent + substr(spent, index(spent, "m") + 1) : spent + 0
        for (mark in marks) if (seconds <= marks[mark]) in_by[mark] = total - open
    }
    BEGIN { split("30 60 120 300", marks, " ") }
    FILENAME == ARGV[2] { text = text $0 }
    END {
        # What was found over layouts stands beside the verdicts.
        gsub(/"layouts":\{("[^"]*":\{[^}]*\},?)*\}/, "", text)
        all = gsub(/"verdict": *"(no-regression|regression|inconclusive)"/, "&", text) - 1
        open = gsub(/"verdict": *"inconclusive"/, "&", text)
        slower = gsub(/"verdict": *"regression"/, "&", text)
        # The first is that of the whole.
        if (open > 0 && slower == 0) open--
        if (slower > 0) slower--
        match(text, /"prepare_seconds": *[0-9.]+/)
        prepared = substr(text, RSTART, RLENGTH); sub(/.*: */, "", prepared); prepared += 0
        match(text, /"elapsed_seconds": *[0-9.]+/)
        sampled = substr(text, RSTART, RLENGTH); sub(/.*: */, "", sampled); sampled += 0
        printf "| %s | %d |", name, all
        for (mark = 1; mark <= 4; mark++) {
            done = marks[mark] >= sampled ? all - open : in_by[mark] + 0
            printf " %d |", done
        }
        printf " %d | %d | %.0f | %.0f |\n", all - open, slower, prepared, sampled
    }
' "$log" "$object"
