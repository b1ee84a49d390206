#!/bin/bash
# Made by `cargo cbdr init --ci slurm --shards @SHARDS@`.
#
# Compares the benchmarks of HEAD with its merge-base with BASE on a Slurm cluster whose nodes
# share the home folder: one of them builds both sides, and @SHARDS@ measure them. By default, BASE
# is what `cargo cbdr compare` chooses: the `base` in Cargo.toml, or the default branch.
#
#     ci/cbdr-slurm.sh submit [BASE]       builds, measures, and prints the verdict
#     ci/cbdr-slurm.sh retry RUN I[,I..]   measures lost shards of the folder RUN again
#
# Both wait for the verdict and end with its exit code: 0, 100 for a regression, 101 if
# shards are missing.
set -euo pipefail

shards=@SHARDS@
# More options of `sbatch`. No two tasks may share a node: their files are at the same place.
options=(--exclusive --time=30)
# The calls, for more options of each.
pack=(cargo-cbdr pack)
compare=(cargo-cbdr compare --time-limit 5m)
# A folder that each node has for itself, and in which it can create that place.
scratch=/tmp

# Submits the shards $2 of the run $1, after its builds if there are none, and waits for the
# verdict.
submit() {
    echo "The files are in $1" >&2
    if ! [ -e "$1/change.pack" ]; then
        job=$(sbatch --parsable --job-name=cbdr-pack --chdir="$PWD" --output="$1/pack.txt" \
            "${options[@]}" "$script" pack "$1")
        # If nothing was built, the tasks are cancelled.
        options+=(--dependency=afterok:"$job" --kill-on-invalid-dep=yes)
    fi
    # The last minute is for writing what was measured.
    job=$(sbatch --parsable --job-name=cbdr --array="$2" --chdir="$PWD" --requeue \
        --signal=B:USR1@60 --output="$1/shard-%a.txt" --open-mode=append \
        "${options[@]}" "$script" task "$1")
    # Also after tasks that failed or were cancelled: the verdict names the missing shards.
    code=0
    sbatch --wait --quiet --job-name=cbdr-verdict --dependency=afterany:"$job" \
        --chdir="$PWD" --output="$1/verdict.txt" "$script" verdict "$1" || code=$?
    cat "$1/verdict.txt"
    exit "$code"
}

case "${1-}" in
    submit)
        script=$(realpath "$0")
        cd "$(dirname "$script")/@UP@"
        head=$(git rev-parse HEAD)
        base=${2:+$(git merge-base "$2" HEAD)}
        # Outside of the repository, whose working tree stays clean; in a folder of its own.
        runs=${CBDR_RUNS:-$HOME/cbdr-runs}
        mkdir -p "$runs"
        run=$(mktemp -d "$runs/${head:0:9}-XXXXXX")
        # By commit: the branches may move before the builds begin.
        echo "$head $base" > "$run/commits"
        submit "$run" "1-$shards"
        ;;
    retry)
        script=$(realpath "$0")
        cd "$(dirname "$script")/@UP@"
        submit "$2" "$3"
        ;;
    pack)
        run=$2
        read -r head base < "$run/commits"
        CBDR_CACHE_DIR=$scratch/cbdr-$(basename "$run")
        export CBDR_CACHE_DIR
        trap 'rm -rf "$CBDR_CACHE_DIR"' EXIT
        # This shell has to outlive the program, as below.
        trap : TERM
        "${pack[@]}" --head "$head" ${base:+--exact-base "$base"} "$run/change.pack"
        ;;
    task)
        run=$2
        # Of a retry, Slurm counts only the tasks that are started again.
        export CBDR_SHARDS=$shards
        # Where the files of the pack are put.
        cache=$scratch/cbdr-$(basename "$run")
        trap 'rm -rf "$cache"' EXIT
        "${compare[@]}" --packed "$run/change.pack" --shard auto \
            --samples "$run/$SLURM_ARRAY_TASK_ID.csv" &
        program=$!
        # That time is running out, Slurm tells this shell alone; that the task has to go, all
        # programs, of which this shell has to outlive the others.
        trap 'kill -TERM "$program"' USR1
        trap : TERM
        # A signal ends `wait`, but not the program.
        while code=0; wait "$program" || code=$?; kill -0 "$program" 2> /dev/null; do :; done
        exit "$code"
        ;;
    verdict)
        if ! [ -e "$2/change.pack" ]; then cat "$2/pack.txt" || true; fi
        exec cargo-cbdr analyze --combine --format markdown "$2"
        ;;
    *)
        sed -n '2,/^set/{s/^# \{0,1\}//p}' "$0" >&2
        exit 2
        ;;
esac
