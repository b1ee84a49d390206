#!/bin/sh
# Ends `cargo cbdr compare` at many moments and looks at what is left:
#
#   tests/kill.sh [KILLS [SIGNALS [SEED]]]
#
# 200 SIGKILLs and 100 of SIGINT, SIGTERM and SIGHUP where nothing is said.
# How it is done, and what is demanded, stands in `tests/it/kill.rs`.
set -eu
cd "$(dirname "$0")/.."
CBDR_KILLS=${1:-200} CBDR_SIGNALS=${2:-100} CBDR_SEED=${3:-1} \
    exec cargo test --test it kill:: -- --nocapture
