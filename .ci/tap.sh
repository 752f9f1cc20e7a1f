# shellcheck shell=sh
# TAP for tests in shell: check and skip print a line each, checks_end the plan and the exit status.
checks=0
failures=0

# check WHAT COMMAND...: ok when the command ends with 0; else its output is shown, and check fails.
check() {
    what=$1
    shift
    checks=$((checks + 1))
    if said=$("$@" 2>&1); then
        echo "ok $checks - $what"
    else
        failures=$((failures + 1))
        echo "not ok $checks - $what"
        printf '%s\n' "$said" | sed 's/^/# /' >&2
        return 1
    fi
}

# need WHAT COMMAND...: as check, but without it the rest would prove nothing: the test ends.
need() {
    check "$@" && return
    checks_end
    exit 1
}

# skip WHAT WHY
skip() {
    checks=$((checks + 1))
    echo "ok $checks - $1 # SKIP $2"
}

# same A B: two files hold the same lines; else the difference is shown.
same() {
    diff -U0 "$1" "$2"
}

has_program() {
    command -v "$1" >/dev/null 2>&1
}

checks_end() {
    echo "1..$checks"
    [ "$failures" -eq 0 ]
}
