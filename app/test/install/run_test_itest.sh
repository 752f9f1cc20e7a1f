#!/bin/sh
# What runs the tests: of one that hangs the log has every thread's stack, its children's too, and nothing of
# it is left; else it is not in the way, of others neither.
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

is_gone() { # a while after they were killed
    for _ in $(seq 100); do
        grep -aqsF "$work/data" /proc/[0-9]*/cmdline || return 0
        sleep 0.05
    done
    return 1
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

# The first one speaks, and ends when the third was there, which waits for the second's place.
printf '#!/bin/sh\necho amid it >&2\nfor _ in $(seq 100); do [ -e "%s/third" ] && break; sleep 0.05; done\n' "$work" >"$work/a"
printf '[ -e "%s/third" ] && echo ok 1\necho 1..1\n' "$work" >>"$work/a"
printf '#!/bin/sh\necho ok 1\necho 1..1\n' >"$work/b"
printf '#!/bin/sh\ntouch "%s/third"\necho ok 1\necho 1..1\n' "$work" >"$work/c"
chmod +x "$work/a" "$work/b" "$work/c"
check "what one says amid it keeps no other from beginning" prove -j2 -e '.ci/run-test 60' "$work/a" "$work/b" "$work/c"
checks_end
