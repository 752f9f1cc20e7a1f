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
lessons_are_there() { ! grep -oE '(run|beside)=[a-z-]+' web/lab/lessons.js | cut -d= -f2 | grep -vxF -f "$work/names" | grep -vxE "none|mutex"; }
check "what the lessons play is there" lessons_are_there
checks_end
