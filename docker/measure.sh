#!/bin/sh
# What the deployment that is up needs, for the sizing table of docker/GUIDE.md: memory by connections, and
# what an order costs Redis. Sells some 100,000 orders; takes two minutes; the deployment should be fresh.
#   docker/measure.sh             PROJECT as in deploy.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
project=${PROJECT:-seckill}
. "$here/containers.sh"

peak_kib() { awk '/^VmHWM/ { print $2 }' "/proc/$(docker inspect -f '{{.State.Pid}}' "$(containers "$1")")/status"; }
# HAProxy's master has one child that does the work.
haproxy_kib() {
    for pid in $(docker top "$(containers haproxy)" -o pid | tail -n +2); do awk '/^VmHWM/ { print $2 }' "/proc/$pid/status"; done |
        awk '{ sum += $1 } END { print sum }'
}
redis_says() { # SECTION NAME
    docker exec "$(containers redis)" start.sh cli info "$1" | tr -d '\r' | sed -n "s/^$2://p"
}

usage() { sed -n '2,4s/^# \{0,1\}//p' "$0"; }

case ${1-} in
'') ;;
--help)
    usage
    exit
    ;;
*)
    usage >&2
    exit 2
    ;;
esac
for service in redis haproxy seckilld-1 seckilld-2 seckilld-3; do
    [ "$(docker inspect -f '{{.State.Running}}' "$(containers "$service")" 2>/dev/null)" = true ] ||
        { echo "measure: $service does not run: make up (it measures KIND=single)" >&2; exit 1; }
done
memory=$(redis_says memory used_memory_dataset) aof=$(redis_says persistence aof_current_size) orders=0
trap 'exit 130' INT TERM
echo "connections  orders  orders/s  p99 ms  seckilld MiB  HAProxy MiB"
for connections in 100 500 1000 2500; do
    out=$(mktemp -d)
    chmod 0777 "$out"
    OUT=$out "$here/deploy.sh" demo --quiet --stock 25000 --buyers 30000 --connections "$connections" >/dev/null 2>&1 ||
        { echo "measure: the load did not pass: $out/result.json" >&2; exit 1; }
    orders=$((orders + 25000))
    tr -d '\n' <"$out/result.json" | tr -s ' ' >"$out/line"
    speed=$(sed -n 's/.*"purchases_per_s": \([0-9]*\).*"latency": { *"created": {[^}]*"p99_ms": \([0-9]*\).*/\1 \2/p' "$out/line")
    most=0
    for n in 1 2 3; do
        kib=$(peak_kib "seckilld-$n")
        [ "$kib" -le "$most" ] || most=$kib
    done
    # shellcheck disable=SC2086  # two words
    printf '%11s  %6s  %8s  %6s  %12s  %11s\n' "$connections" 25000 $speed "$((most / 1024))" "$(($(haproxy_kib) / 1024))"
    rm -rf "$out"
done
echo "Redis memory per order: $((($(redis_says memory used_memory_dataset) - memory) / orders)) bytes"
echo "AOF per order:          $((($(redis_says persistence aof_current_size) - aof) / orders)) bytes"
