#!/bin/sh
# Redis is lost under load: stopped, killed, its disk full. Nothing is sold meanwhile and everybody says so;
# all that was accepted is there afterwards, on the copy, too.
. "$(dirname "$0")/lib.sh"

pid_of() { docker inspect -f '{{.State.Pid}}' "$(containers "$1")"; }
none_ready() { readyz_is seckilld-1 503 && readyz_is seckilld-2 503 && readyz_is seckilld-3 503; }
sold() { sed -n 's/.* sold \([0-9]*\)\/.*/\1/p' "$WORK/load.log" | tail -n 1; }
sold_beyond() { [ "$(sold)" -gt "$1" ]; }

# WHAT SECONDS: at 300 a second; a third is sold before the fault, and there are buyers for the rest after it,
# though those who come meanwhile are turned away.
load() { need "$1: a load begins" load_begin --stock 1100 --buyers $(($2 * 145)) --connections 60 --pace 300; }
end_of_load() { # WHAT
    check "$1: all of it happened under load" load_is_on
    check "$1: the audit holds" load_end 90
    echo "# $1: accepted $(result accepted), unknown $(result unknown), unanswered $(result unanswered), a proxy's own answers $(result strays); refused: $(results refused); uncertain: $(results uncertain)"
    check "$1: no accepted order is lost" test "$(result lost)" = 0
}

# `began`: when the fault was.
is_back() { # WHAT
    check "$1: all are ready again" within 40 all_ready
    echo "# $1: ready again $(($(now_ms) - began)) ms after the fault"
    then_sold=$(sold)
    check "$1: sold again" within 15 sold_beyond "$then_sold"
}

# The lines of a server's own account of itself.
info() { redis_cli "$1" info "$2" | tr -d '\r' | sed -n "s/^$3://p"; }
scripts_are_loaded() { [ "$(info redis memory number_of_cached_scripts)" -ge 1 ]; }

# ---- the copy ----------------------------------------------------------------------------------------
caught_up() { # with what the primary had when it was asked: it goes on writing, leases at least
    [ "$(info replica replication master_link_status)" = up ] || return 1
    had=$(info redis replication master_repl_offset)
    [ "$(info replica replication slave_repl_offset)" -ge "$had" ]
}
# All keys of a sale and all that is in them, as one number; the order of what has none is made.
content() { # SERVICE SALE
    redis_cli "$1" eval_ro '
        local keys = redis.call("keys", "seckill:{" .. ARGV[1] .. "}*")
        table.sort(keys)
        local all = {}
        local function add(words) for _, word in ipairs(words) do all[#all + 1] = type(word) == "table" and cjson.encode(word) or word end end
        local function sorted(words) table.sort(words) return words end
        for _, key in ipairs(keys) do
            local kind = redis.call("type", key).ok
            add({key, kind})
            if kind == "string" then add({redis.call("get", key)})
            elseif kind == "hash" then
                local flat, pairs_ = redis.call("hgetall", key), {}
                for i = 1, #flat, 2 do pairs_[#pairs_ + 1] = flat[i] .. "=" .. flat[i + 1] end
                add(sorted(pairs_))
            elseif kind == "set" then add(sorted(redis.call("smembers", key)))
            elseif kind == "zset" then add(redis.call("zrange", key, 0, -1, "withscores"))
            elseif kind == "list" then add(redis.call("lrange", key, 0, -1))
            elseif kind == "stream" then add(redis.call("xrange", key, "-", "+"))
            else return redis.error_reply(kind) end
        end
        return {#keys, #all, redis.sha1hex(table.concat(all, "\n"))}' 0 "$2" | tr '\n' ' '
}
copy_is_equal() {
    sale=$(sed -n 's/^  "sale": "\(.*\)",$/\1/p' "$WORK/load/result.json")
    here=$(content redis "$sale") there=$(content replica "$sale")
    echo "$here; $there"
    [ -n "$sale" ] && [ "$here" = "$there" ] && [ "$(echo "$here" | cut -d' ' -f2)" -gt 1000 ]
}
follows() { # WHAT
    check "$1: the copy catches up" within 20 caught_up
    check "$1: and has the same" copy_is_equal
}

# Who tried what they may not, since Redis began; CONFIG GET is asked at the start, and refused on purpose.
acl_log_is_empty() {
    redis_cli redis acl log | awk '
        want { word[want] = $0; want = "" }
        $0 == "object" || $0 == "username" || $0 == "context" { want = $0 }
        $0 == "client-info" { if (word["object"] != "config|get") { print word["username"], word["context"], word["object"]; bad = 1 } }
        END { exit bad }'
}

need "up" deploy up single
need "all three instances are ready" within 30 all_ready

# ---- stopped, and started again -------------------------------------------------------------------------
load stop 22
began=$(now_ms)
docker stop "$(containers redis)" >/dev/null
check "stop: no instance says it is ready" within 5 none_ready
check "stop: /livez is still well" curl -s -f -m 2 "http://$(address seckilld-1 edge):8080/livez"
docker start "$(containers redis)" >/dev/null
is_back stop
check "stop: scripts were loaded again" scripts_are_loaded
end_of_load stop
follows stop
check "stop: nobody tried what they may not" acl_log_is_empty

# ---- killed ------------------------------------------------------------------------------------------
load kill 20
began=$(now_ms)
before=$(pid_of redis)
kill -9 "$before"
another_runs() { now=$(pid_of redis) && [ "$now" != 0 ] && [ "$now" != "$before" ]; }
check "kill -9: docker starts it again" within 10 another_runs
is_back "kill -9"
end_of_load "kill -9"
follows "kill -9"

# ---- the disk is full ----------------------------------------------------------------------------------
# The disk is memory here: somebody keeps it mounted while Redis is away.
holder=${PROJECT}_holder
hold() {
    docker rm -f "$holder" >/dev/null 2>&1
    docker run -d --name "$holder" --user 10001 --entrypoint sleep -v "${PROJECT}_small-disk:/data" "seckill/redis:$SECKILL_TAG" 600
}
on_disk() { docker exec "$holder" sh -c "$1"; }
is_full() { ! on_disk 'echo x >/data/probe' 2>/dev/null; }
fill() {
    on_disk 'head -c 100m /dev/zero >/data/filler' 2>/dev/null
    is_full
}
# compose 1.29 gives a new container the old one's /data: without an old one it cannot.
up_afresh() {
    docker stop "$(containers redis)" && docker rm "$(containers redis)" && deploy up single || return 1
    docker inspect -f '{{json .Mounts}}' "$(containers redis)" | grep "\"${PROJECT}_$1\"" # or it would be another test
}
export EXTRA=docker/test/small-disk.yaml
need "up, on a small disk" up_afresh small-disk
need "the disk stays when Redis goes" hold
need "all are ready on it" within 30 all_ready
load disk 34
check "the disk is filled" fill
began=$(now_ms)
check "full disk: no instance says it is ready" within 8 none_ready
echo "# full disk: all say so after $(($(now_ms) - began)) ms"
sleep 2
check "full disk: nor a moment later" none_ready
began=$(now_ms)
check "there is room again" on_disk 'rm /data/filler'
is_back "full disk"
end_of_load "full disk"
follows "full disk"
unset EXTRA
docker rm -f "$holder" >/dev/null
need "up, as before" up_afresh redis
check "all is well again" within 30 all_ready
docker volume rm -f "${PROJECT}_small-disk" >/dev/null
checks_end
