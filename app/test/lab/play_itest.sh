#!/bin/sh
# seckillctl lab play asks for choices: each is played, undo takes one back, what is not enabled is not taken.
# Needs BUILD_DIR; runs at the root.
set -u
bin=${BUILD_DIR:-build/release}
. .ci/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

printf '%s\n' A t t undo undo B A B A - | "$bin/seckillctl" lab play mutex-unchecked >"$work/asked" 2>"$work/said"
grep -o '^[A-Dt]*> ' "$work/asked" | tr -d '> ' | tr '\n' ' ' >"$work/prompts"
printf ' A At At A  B BA BAB BAB BA ' >"$work/wanted"
check "what was chosen is what was played" same "$work/wanted" "$work/prompts"
check "what is not enabled is told" grep -q '"t" is not enabled there' "$work/said"
"$bin/seckillctl" lab list | awk '{ print $2 }' >"$work/names"
lessons_are_there() { ! grep -oE '(run|beside)=[a-z-]+' web/class/LESSONS.md | cut -d= -f2 | grep -vxF -f "$work/names" | grep -vx none; }
check "what the lessons play is there" lessons_are_there
# Each run that a model names breaks a promise in the lab, too.
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
