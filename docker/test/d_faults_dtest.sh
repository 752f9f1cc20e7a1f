#!/bin/sh
# Instances are lost under load, one way after the other: killed, paused past the lease of their lock, cut off
# from Redis, replaced by new ones. Others sell on, readiness tells the truth, the audit holds.
. "$(dirname "$0")/lib.sh"

pid_of() { docker inspect -f '{{.State.Pid}}' "$(containers "$1")"; }
restarts() { docker inspect -f '{{.RestartCount}}' "$(containers "$1")"; }
health_is() { [ "$(docker inspect -f '{{.State.Health.Status}}' "$(containers "$1")")" = "$2" ]; }

# What is sold by now, as the load shows it once a second.
sold() { sed -n 's/.* sold \([0-9]*\)\/.*/\1/p' "$WORK/load.log" | tail -n 1; }
sold_beyond() { [ "$(sold)" -gt "$1" ]; }

load() { # WHAT SECONDS SHARE: at 300 a second, with units for SHARE % of the buyers; at about 60 % of the time they come back
    need "$1: a load begins" load_begin --stock $(($2 * 145 * $3 / 100)) --buyers $(($2 * 145)) --connections 60 --pace 300
}
end_of_load() { # WHAT
    check "$1: all of it happened under load" load_is_on
    check "$1: the audit holds" load_end 90
    echo "# $1: accepted $(result accepted), unknown $(result unknown), unanswered $(result unanswered), a proxy's own answers $(result strays); refused: $(results refused); uncertain: $(results uncertain)"
    check "$1: no accepted order is lost" test "$(result lost)" = 0
}
# WHAT SERVICE: it is back in every respect.
is_back() {
    check "$1: ready again" within 15 is_ready "$2"
    check "$1: HAProxy sends buyers to it again" within 10 haproxy_says "$2" UP
    check "$1: healthy for docker" within 30 health_is "$2" healthy
}

need "up" deploy up single
need "all three instances are ready" within 30 all_ready
need "HAProxy sees the third" within 30 haproxy_says seckilld-3 UP

# ---- killed ------------------------------------------------------------------------------------------
load kill 13 75
before=$(restarts seckilld-1)
kill -9 "$(pid_of seckilld-1)"
began=$(now_ms)
then_sold=$(sold)
was_restarted() { [ "$(restarts seckilld-1)" != "$before" ]; }
check "kill -9: docker starts it again" within 10 was_restarted
is_back "kill -9" seckilld-1
echo "# kill -9: back after $(($(now_ms) - began)) ms"
check "kill -9: others sell on" within 8 sold_beyond $((then_sold + 50))
end_of_load "kill -9"

# ---- paused ------------------------------------------------------------------------------------------
# The lease of a lock is 3 s; who wakes up after that must not sell by it.
load pause 16 75
docker pause "$(containers seckilld-2)" >/dev/null
began=$(now_ms)
then_sold=$(sold)
check "pause: /readyz does not answer" readyz_is seckilld-2 000
check "pause: HAProxy sends nobody to it" within 4 not haproxy_says seckilld-2 UP
check "pause: others sell on" within 6 sold_beyond $((then_sold + 50))
while [ $(($(now_ms) - began)) -lt 5000 ]; do sleep 0.1; done
docker unpause "$(containers seckilld-2)" >/dev/null
is_back pause seckilld-2
end_of_load pause

# ---- off the back network ------------------------------------------------------------------------------
load "no Redis" 18 75
docker network disconnect "${PROJECT}_back" "$(containers seckilld-3)"
began=$(now_ms)
then_sold=$(sold)
check "no Redis: /readyz says so" within 8 readyz_is seckilld-3 503
echo "# no Redis: /readyz says so after $(($(now_ms) - began)) ms"
check "no Redis: HAProxy sends nobody to it" within 4 not haproxy_says seckilld-3 UP
check "no Redis: others sell on" within 6 sold_beyond $((then_sold + 50))
docker network connect "${PROJECT}_back" "$(containers seckilld-3)"
is_back "no Redis" seckilld-3
end_of_load "no Redis"

# ---- all of them, one after the other --------------------------------------------------------------------
has_no_sessions() { [ "$(docker exec "$(containers haproxy)" server state | awk -v name="$1" '$1 == name { print $3 }')" = 0 ]; }
replace() { # SERVICE: as an operator does it by hand
    docker exec "$(containers haproxy)" server drain "$1" || return 1
    within 10 has_no_sessions "$1" || return 1
    docker restart "$(containers "$1")" || return 1
    within 20 is_ready "$1" || return 1
    docker exec "$(containers haproxy)" server ready "$1" || return 1
    within 10 haproxy_says "$1" UP
}
replace_plainly() { # SERVICE: its readiness is all that HAProxy has
    docker restart "$(containers "$1")" || return 1
    within 20 is_ready "$1" || return 1
    within 10 haproxy_says "$1" UP
}
nobody_noticed() {
    [ "$(result unknown)" = 0 ] && [ "$(result unanswered)" = 0 ] && [ "$(result strays)" = 0 ] || return 1
    refused=$(results refused | sed 's/already-ordered [0-9]* *//; s/sold-out [0-9]* *//')
    [ -z "$refused" ] || { echo "$refused" && return 1; }
}
replace_all() { # WAY
    seconds=32 # to let the sessions end takes its time
    [ "$1" = replace ] || seconds=22
    load "$1" $seconds 90
    began=$(now_ms)
    stills_begin
    for name in seckilld-1 seckilld-2 seckilld-3; do check "$1: $name" "$1" $name; done
    echo "# $1: three instances in $(($(now_ms) - began)) ms"
    end_of_load "$1"
    still=$(still_ms)
}
for way in replace replace_plainly; do
    replace_all $way
    if [ "$still" -ge 400 ] && ! nobody_noticed; then # longer than HAProxy waits from one check to the next
        echo "# $way: the machine stood still for $still ms: once more"
        replace_all $way
    fi
    check "$way: no buyer saw anything of it (the machine stood still for $still ms at most)" nobody_noticed
done
check "all is well again" within 20 all_ready
checks_end
