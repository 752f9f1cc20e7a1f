#!/bin/sh
# Three Sentinels: the primary is lost under load, a copy takes over by itself. Orders that were accepted in
# the moments before may be lost, counted and named; none where instances wait for a copy.
. "$(dirname "$0")/lib.sh"

primary() { redis_cli sentinel-1 -p 26379 sentinel get-master-addr-by-name seckill | head -n 1; }
another_is_primary() { now=$(primary) && [ -n "$now" ] && [ "$now" != "$1" ]; }

# SERVICE: it follows the primary, and has all that the primary had when it was asked.
follows() {
    had=$(redis_cli "$(primary)" info replication | tr -d '\r' | sed -n 's/^master_repl_offset://p')
    said=$(redis_cli "$1" info replication | tr -d '\r')
    printf '%s\n' "$said" | grep -q '^role:slave' && printf '%s\n' "$said" | grep -q '^master_link_status:up' || return 1
    [ "$(printf '%s\n' "$said" | sed -n 's/^slave_repl_offset://p')" -ge "$had" ]
}
# For half a second the copies get nothing: what is accepted now, the next primary will not have.
copies_fall_behind() { # PRIMARY
    redis_cli "$1" acl setuser replica off >/dev/null && redis_cli "$1" client kill type replica >/dev/null
    sleep 0.5
}
lost_are_named() {
    [ "$(result lost)" -gt 0 ] || { echo "none is lost: the copies had all"; return 1; }
    names=$(cat "$WORK"/load/run-*/lost* | grep -c .)
    [ "$names" -ge "$(result lost)" ] || { echo "$names names for $(result lost)"; return 1; }
}
up_single_says() { # WORDS
    if said=$(deploy up single 2>&1); then return 1; fi
    printf '%s\n' "$said" | grep -q "$1" || { printf '%s\n' "$said"; return 1; }
}
none_is_lost() { [ "$(result lost)" = 0 ]; }
not_one_ready() { not is_ready seckilld-1 && not is_ready seckilld-2 && not is_ready seckilld-3; }

# WHAT: a load, and its primary killed in the middle.
fail_over() {
    about=$1
    need "$about: a load begins" load_begin --buyers 3000 --stock 1600 --pace 400 --connections 100 --allow-lost
    sleep 1
    old=$(primary)
    check "$about: the copies fall behind" copies_fall_behind "$old"
    docker kill "$(containers "$old")" >/dev/null
    began=$(now_ms)
    check "$about: readiness says at once that nothing can be sold" within 4 not_one_ready
    check "$about: another one takes the writes" within 15 another_is_primary "$old"
    echo "# $about: $old was killed, $(primary) is named after $(($(now_ms) - began)) ms"
    check "$about: sold again" within 15 all_ready
    echo "# $about: all instances ready again after $(($(now_ms) - began)) ms"
    check "$about: the old one comes back" docker start "$(containers "$old")"
    check "$about: as a copy" within 30 follows "$old"
    check "$about: the audit holds" load_end 60
    echo "# $about: accepted orders lost: $(result lost) of $(result accepted)"
    check "$about: all is well again" within 20 all_ready
}

export SECKILL_SYNC_REPLICAS=0
need "up" deploy up sentinel
fail_over "as it is"
check "the lost orders are counted and named" lost_are_named
check "while Sentinels run, nothing is sold without them" up_single_says 'Sentinels run.*make down'
deploy compose stop sentinel-1 sentinel-2 sentinel-3 >/dev/null 2>&1
check "nor from a copy; the way out is said" up_single_says 'redis is a copy .*make up KIND=sentinel'
export SECKILL_SYNC_REPLICAS=1
need "up, with orders that wait for a copy" deploy up sentinel
fail_over "waiting for a copy"
check "not one is lost" none_is_lost
checks_end
