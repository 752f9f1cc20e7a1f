#!/bin/sh
# What the deployment that is up needs, for the sizing table of docker/README.md: memory by connections, and
# what an order costs Redis. Sells some 100,000 orders; takes two minutes; the deployment should be fresh.
#   docker/measure.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
project=${PROJECT:-seckill}

id() {
    docker ps -q --filter "label=com.docker.compose.project=$project" --filter "label=com.docker.compose.service=$1"
}
peak_kib() { awk '/^VmHWM/ { print $2 }' "/proc/$(docker inspect -f '{{.State.Pid}}' "$(id "$1")")/status"; }
# HAProxy's master has one child that does the work.
haproxy_kib() {
    for pid in $(docker top "$(id haproxy)" -o pid | tail -n +2); do awk '/^VmHWM/ { print $2 }' "/proc/$pid/status"; done |
        awk '{ sum += $1 } END { print sum }'
}
redis_says() { # SECTION NAME
    docker exec "$(id redis)" start.sh cli info "$1" | tr -d '\r' | sed -n "s/^$2://p"
}

[ -n "$(id seckilld-1)" ] || { echo "measure: nothing is up: make up" >&2; exit 1; }
memory=$(redis_says memory used_memory_dataset) aof=$(redis_says persistence aof_current_size) orders=0
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
