#!/bin/sh
# lockkit/tools/redis_set: comes up, obeys, moves slots with whatever keys they have, and leaves nothing behind.
set -u
cd "$(dirname "$0")/../../.." || exit 1
work=$(mktemp -d /tmp/topology-itest-XXXXXX) || exit 1
trap 'exec 8>&- ; rm -rf "$work"' EXIT
number=0
status=0

ok() { # NAME COMMAND...
    name=$1
    number=$((number + 1))
    shift
    if "$@"; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        status=1
    fi
}

start() { # KIND: description in $work/said
    rm -f "$work/commands" "$work/answers"
    mkfifo "$work/commands" "$work/answers"
    lockkit/tools/redis_set "$1" "$work/$1" <"$work/commands" >"$work/answers" 8>&- &
    script=$!
    exec 8>"$work/commands" 9<"$work/answers"
    : >"$work/said"
    while read -r line <&9 && [ "$line" != ready ]; do echo "$line" >>"$work/said"; done
    [ "$line" = ready ]
}
tell() { echo "$*" >&8 && read -r answer <&9 && [ "${answer%% *}" = ok ]; }
refuses() { ! tell "$@" && [ "${answer%% *}" = error ]; }
port() { awk -v name="$1" '$1 == name { print $3 }' "$work/said"; }
is_described() { # SERVERS URL-SCHEME
    [ "$(grep -cE '^[ns][0-9] (primary|replica|sentinel) [0-9]+ [0-9]+$' "$work/said")" = "$1" ] &&
        grep -q "^url $2://127.0.0.1:" "$work/said"
}
running() { # servers of ours that run
    awk '$4 { print $4 }' "$work/said" | while read -r pid; do
        if grep -q '^State:.[RSDT]' "/proc/$pid/status" 2>/dev/null; then echo "$pid"; fi
    done | wc -l
}
is_gone() {
    for _ in $(seq 100); do
        [ "$(running)" = 0 ] && return
        sleep 0.05
    done
    return 1
}
stop() {
    exec 8>&-
    wait "$script" && is_gone
    exec 9<&-
}

echo 1..13
ok "a sentinel set comes up" start sentinel
ok "...and says what it is" is_described 6 redis+sentinel
switches() { tell primary && [ "$answer" = "ok n1" ] && tell kill n1 && tell ready && tell primary && [ "$answer" != "ok n1" ]; }
ok "a killed primary is replaced" switches
ok "what it does not know it refuses" refuses dance n1
ok "and a server that is not there" refuses kill n7
ok "the end of its stdin ends all" stop

ok "a cluster comes up" start cluster
ok "...and says what it is" is_described 6 redis+cluster
odd_keys() { # of one slot
    cat <<'END'
set "{odd}" 1
set "{odd} with \"quotes\"" 2
set "{odd}\nline" 3
set "{odd}\x00\xff'" 4 px 100000
END
}
moves_keys() {
    tell slot '{odd}' && slot=${answer#ok }
    tell primary "$slot" && owner=${answer#ok }
    target=n1
    [ "$owner" != n1 ] || target=n2
    [ "$(odd_keys | redis-cli -p "$(port "$owner")" | grep -cx OK)" = 4 ] || return 1
    tell reshard "$slot" "$target" && [ "$answer" = "ok 4" ] || return 1
    tell primary "$slot" && [ "$answer" = "ok $target" ] || return 1
    [ "$(redis-cli -p "$(port "$target")" cluster countkeysinslot "$slot")" = 4 ] || return 1
    [ "$(printf '%s\n' 'get "{odd}\x00\xff'"'"'"' | redis-cli -p "$(port "$target")")" = 4 ] || return 1
    [ "$(printf '%s\n' 'pttl "{odd}\x00\xff'"'"'"' | redis-cli -p "$(port "$target")")" -gt 1000 ]
}
ok "a slot moves with its keys, whatever they are" moves_keys
moves_runs() { tell reshard 5400-5520 n1 && tell primary 5520 && [ "$answer" = "ok n1" ] && tell ready; }
ok "a run of slots, of several masters, moves to one" moves_runs
ok "a replica takes over when it is told to" tell failover n4
dies_with_it() {
    kill -KILL "$script"
    wait "$script" 2>/dev/null
    is_gone
}
ok "a script that is killed takes its servers along" dies_with_it
exec 8>&- 9<&-
refuses_kind() { ! lockkit/tools/redis_set ring </dev/null 2>/dev/null; }
ok "an unknown kind is refused" refuses_kind
exit "$status"
