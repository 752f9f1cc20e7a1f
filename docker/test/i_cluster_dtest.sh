#!/bin/sh
# Six nodes, three of which take writes: the one that holds the sale is lost under load, its copy takes over.
# Orders that were accepted in the moments before may be lost, counted and named.
. "$(dirname "$0")/lib.sh"

newest_sale() { redis_cli node-1 -c smembers seckill:sales | sort | tail -n 1; }

# SALE: the node that takes its writes.
holder() {
    for n in 1 2 3 4 5 6; do
        if [ "$(redis_cli "node-$n" exists "seckill:{$1}:sale" 2>/dev/null)" = 1 ]; then
            echo "node-$n"
            return
        fi
    done
    return 1
}
is_held() { holder "$1" >"$WORK/holder"; }
follows() { # NODE: it is a copy, and hears of its master
    redis_cli "$1" info replication | tr -d '\r' | grep -c '^role:slave\|^master_link_status:up' | grep -qx 2
}
readyz_says() { # TEXT: all three instances say just this
    for n in 1 2 3; do
        said=$(curl -s -m 3 "http://$(address "seckilld-$n" edge):8081/readyz")
        [ "$said" = "$1" ] || { echo "seckilld-$n: $said"; return 1; }
    done
}
spread() { # on how many nodes sales are
    for sale in $(redis_cli node-1 -c smembers seckill:sales); do holder "$sale"; done | sort -u | wc -l
}

deploy down --volumes >/dev/null 2>&1
export SECKILL_SYNC_REPLICAS=0
need "up" deploy up cluster
need "a load begins" load_begin --allow-lost --repeat 2 --buyers 1600 --stock 1000 --pace 400 --connections 60
sleep 1
sale=$(newest_sale)
need "its sale is found" is_held "$sale"
old=$(holder "$sale")
docker kill "$(containers "$old")" >/dev/null
began=$(now_ms)
check "readiness says at once that some sales cannot be sold" within 4 readyz_says "ready, but for the sales of a server that is away"
check "its copy takes the writes" within 15 is_held "$sale"
echo "# $old was killed, $(cat "$WORK/holder") took its sales after $(($(now_ms) - began)) ms"
check "sold again: all is ready" within 15 readyz_says ready
echo "# all instances ready again after $(($(now_ms) - began)) ms"
check "the killed one comes back" docker start "$(containers "$old")"
check "as a copy" within 30 follows "$old"
check "the audit of every sale holds" load_end 90
echo "# accepted orders lost: $(sed -n 's/.*accepted orders lost: //p' "$WORK/load.log" | paste -s -d, | sed 's/,/, /g')"
check "all is well again" within 20 all_ready
echo "# sales are on $(spread) of three masters"
checks_end
