#!/bin/sh
# Each run of the lab that a model of spin names breaks a promise there, too: the trails are searched for anew.
# Needs BUILD_DIR; runs at the root.
set -u
bin=${BUILD_DIR:-build/release}
. .ci/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

models_break() {
    lockkit/model/run "$work/model" trails >"$work/trails" || return 1
    [ "$(wc -l <"$work/trails")" -ge 6 ] || return 1 # with head and sum
    cat lockkit/model/run "$work/trails" | grep -oE '/lab\?run=[^)]+' | grep -v TRAIL |
        sed 's/.*run=//; s/&schedule=/ /; s/&actors=/ /' | while read -r name schedule actors; do
        if [ -n "$schedule" ]; then
            "$bin/seckillctl" lab play "$name" --schedule "$schedule" --actors "${actors:-2}" --json | grep -q '"broken":\[{'
        else
            "$bin/seckillctl" lab list | awk -v name="$name" '$2 == name && $3 != "sound" { found = 1 } END { exit !found }'
        fi || { echo "$name $schedule breaks nothing" && return 1; }
    done
}
check "what a model breaks breaks in the lab" models_break
checks_end
