#!/bin/sh
# What runs the tests: of one that hangs the log has every thread's stack, its children's too, and nothing of
# it is left; else it is not in the way.
. .ci/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export FAILED=/dev/null # these fail on purpose
build=${BUILD_DIR:-build/release}

status_is() { # STATUS COMMAND...
    wanted=$1
    shift
    "$@" >"$work/out" 2>"$work/err"
    [ $? -eq "$wanted" ] || { cat "$work/err" && false; }
}

has_stack() { # FUNCTION...: the one called by the next
    for function in "$@"; do
        grep -q " $function (" "$work/err" || { echo "not there: $function" && return 1; }
    done
}

is_gone() {
    ! grep -aqsF "$work/data" /proc/[0-9]*/cmdline
}

service="$build/seckilld --lab --connections 4 --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --data $work/data"
check "a status is passed on" status_is 3 .ci/run-test 60 sh -c 'exit 3'
check "a signal ends who is not ready for it" status_is 130 .ci/run-test 60 sh -c 'kill -INT $$; exit 1'
check "also where whoever started us ignores it" status_is 130 \
    sh -c 'trap "" INT; exec .ci/run-test 60 sh -c "kill -INT \$\$; exit 1"'
# shellcheck disable=SC2086  # a command
check "who hangs is ended" status_is 124 .ci/run-test 2 $service
check "the stack of its main thread is told" has_stack signal_came serve main
check "...and that of another" has_stack runner_main
check "...and that of its Redis" has_stack epoll_wait bioProcessBackgroundJobs
check "nothing of it is left" is_gone
checks_end
