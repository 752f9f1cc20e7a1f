#!/bin/sh
# The operator's words to HAProxy, inside its container:
#   server state              every instance: UP, DOWN, DRAIN; sessions now
#   server drain NAME         no new requests for it; those it has go on
#   server ready NAME         back again
#   server check              is HAProxy itself alive?
set -eu
ask() { echo "$1" | socat -t 2 - UNIX-CONNECT:/run/haproxy/admin.sock; }
each() { # WORD NAME: in every backend that has it
    for backend in buyers streams operators; do
        answer=$(ask "set server $backend/$2 state $1")
        [ -z "$answer" ] || { echo "server: $2: $answer" >&2 && exit 1; }
    done
}
case ${1-} in
state) ask "show stat" | awk -F, '$2 ~ /^seckilld-/ && $1 == "buyers" { print $2, $18, $5 }' ;;
drain) each drain "${2:?which one}" ;;
ready) each ready "${2:?which one}" ;;
check) ask "show info" | grep -q '^Name: HAProxy' ;;
*)
    sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
