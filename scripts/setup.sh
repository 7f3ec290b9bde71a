#!/bin/sh
# Build .venv from requirements.lock with nothing but a Python that has venv and pip.
#
# Rule 1: the stamp is removed first and written last, so a broken-off setup is never taken for a finished one.
# Rule 2: a .venv without a stamp is not trusted; it is emptied and built anew.
set -eu
cd "$(dirname "$0")/.."

STAMP=.venv/.drover-setup
LOG=.venv/setup.log
HERE=$(pwd -P) # as make's CURDIR: without links, or the two would never agree

say() { printf 'setup: %s\n' "$*" >&2; }

# Prints the first Python that is new enough and can make an environment; says what is missing if there is none.
find_python() {
    without_venv=
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11 python3.14 python; do
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue
        if "$candidate" -c 'import ensurepip, venv' >/dev/null 2>&1; then
            command -v "$candidate"
            return
        fi
        without_venv=${without_venv:-$candidate}
    done
    if [ -n "$without_venv" ]; then
        say "$without_venv is new enough but cannot make an environment: its ensurepip module is missing."
        say "On Debian and Ubuntu run 'apt install python3-venv', then 'make setup' again."
    else
        say "no Python 3.11 or newer found. Install one, or name it: make setup PYTHON=/path/to/python3"
    fi
    return 1
}

# Runs pip quietly: one line per package on the terminal, everything in the log, the log's end if it fails.
pip() {
    total=$(grep -c '^[a-z]' requirements.lock)
    done_file=.venv/.pip-done
    rm -f "$done_file"
    { .venv/bin/python -m pip --disable-pip-version-check --no-input "$@" 2>&1 && : >"$done_file"; } | {
        count=0
        while IFS= read -r line; do
            printf '%s\n' "$line"
            case $line in
            "Collecting "* | "Processing /"*)
                count=$((count + 1))
                package=${line#* }
                package=${package%% *}
                say "  $count of at most $total: ${package##*/}"
                ;;
            "Installing collected packages"*) say "  unpacking" ;;
            esac
        done >>"$LOG"
    }
    [ -e "$done_file" ] && return
    tail -n 15 "$LOG" >&2
    say "pip failed; the lines above are the end of $LOG. Check the network or the package index, then run it again."
    return 1
}

started=$(date +%s)
if [ -f "$STAMP" ] && [ "$(cat "$STAMP")" = "$HERE" ] && [ -x .venv/bin/python ]; then
    say "bringing .venv up to date with requirements.lock"
    rm -f "$STAMP"
else
    python=$(find_python)
    say "building .venv with $python ($("$python" -V 2>&1)); the packages take 1.3 GB and a few minutes"
    rm -f "$STAMP"
    "$python" -m venv --clear .venv
fi
: >"$LOG"
# Every package is in the lock, so pip has nothing to resolve; `pip check` proves that nothing was left out of it.
pip install --no-deps -r requirements.lock
pip install --no-deps --no-build-isolation --editable . --editable ./src/drover_lab
pip check
printf '%s\n' "$HERE" >"$STAMP"
say "done in $(($(date +%s) - started)) s"
