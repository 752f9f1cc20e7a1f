#!/bin/sh
# What runs the tests: which of those that fail run once more, and what comes of it (.ci/tests).
. .ci/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset REPEAT # of the run that this is a part of
export BUILD_DIR="$work" TIMED="$work/timed" LANES=2
printf 'any: first_time says judges hangs\n60000: patient\n' >"$TIMED"

program() { # NAME COMMANDS: a test that says TAP
    printf '#!/bin/sh\necho 1..1\n%s\necho "ok 1 - fine"\n' "$2" >"$work/$1"
    chmod +x "$work/$1"
}

# Fails as cmocka does, with what an assertion said.
fails() { echo "echo 'not ok 1 - it'; echo '# $1'; exit 1"; }
once() { echo "[ -e $work/seen.$1 ] || { : >$work/seen.$1; $(fails late); }"; }

tests() { # LAST STATUS PROGRAM...: it ends with that line, and that status
    last=$1 wanted=$2
    shift 2
    status=0
    # shellcheck disable=SC2046  # names
    .ci/tests some 3 $(printf "$work/%s " "$@") >"$work/out" 2>&1 || status=$?
    [ "$(tail -n 1 "$work/out")" = "some: $last" ] && [ "$status" -eq "$wanted" ] || { cat "$work/out" && false; }
}

program fine ''
program fails "$(fails wrong)"
program first_time "$(once first_time)"
program not_timed "$(once not_timed)"
program patient "$(once patient)"
program says "echo '==1==ERROR: AddressSanitizer: x' >&2; $(once says)"
program judges "$(once judges | sed 's/late/2 overlaps/')"
program hangs 'sleep 60'
check "what passes is counted" tests "1 passed, 0 failed, 0 retried" 0 fine
check "what fails is red" tests "1 passed, 1 failed, 0 retried" 1 fine fails
check "what is timed runs once more" tests "2 passed, 0 failed, 1 retried" 0 fine first_time
check "which is written down" grep -q "first_time	any" "$work/flakes.tsv"
check "what is not timed does not" tests "0 passed, 1 failed, 0 retried" 1 not_timed
check "nor what allows a longer stop than there was" tests "0 passed, 1 failed, 0 retried" 1 patient
check "nor what a sanitizer reports" tests "0 passed, 1 failed, 0 retried" 1 says
check "nor two holders" tests "0 passed, 1 failed, 0 retried" 1 judges
check "nor what hangs" tests "0 passed, 1 failed, 0 retried" 1 hangs
for name in a b c d; do
    echo "any: $name" >>"$TIMED"
    program "$name" "$(once "$name")"
done
check "more than three are red" tests "0 passed, 4 failed, 0 retried" 1 a b c d
checks_end
