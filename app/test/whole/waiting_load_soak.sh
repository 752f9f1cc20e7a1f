#!/bin/sh
# Twenty times as many buyers as a waiting room lets in, for ten seconds, by wrk: it lets in what it promises and no more,
# and whoever is let in is served at once. Then what a million who wait take of Redis. Needs BUILD_DIR; runs at the root.
#   SECONDS_OF_LOAD=10 ADMIT=200
set -u
bin=${BUILD_DIR:-build/release}
. .ci/tap.sh
seconds=${SECONDS_OF_LOAD:-10} admit=${ADMIT:-200}
work=$(mktemp -d)
pids=
end() {
    for pid in $pids; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
    rm -rf "$work"
}
trap end EXIT
trap 'exit 1' HUP INT TERM

cli() { redis-cli -s "$work/redis.sock" "$@"; }
answers() { for _ in $(seq 100); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; return 1; }
operate() { # METHOD PATH BODY
    curl -s -X "$1" -H "Authorization: Bearer $(cat "$work/admin.token")" -H 'Content-Type: application/json' -d "$3" "$admin$2"
}
number() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$work/$2"; }
p99() { sed -n 's/.*"purchase_us":{[^}]*"p99":\([0-9]*\).*/\1/p' "$work/load"; }

redis-server --port 0 --unixsocket "$work/redis.sock" --save '' --appendonly yes --dir "$work" >"$work/redis.log" 2>&1 &
pids=$!
need "redis-server" answers cli ping
"$bin/seckilld" --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --redis "unix://$work/redis.sock" --data "$work" --lab \
    --connections 600 >"$work/seckilld.log" 2>&1 &
pids="$! $pids"
need "seckilld" answers grep -q 'buyers http' "$work/seckilld.log"
buyers=$(sed -n 's/.*buyers \(http[^,]*\),.*/\1/p' "$work/seckilld.log")
admin=$(sed -n 's/.*admin \(http[^,]*\),.*/\1/p' "$work/seckilld.log")

operate POST /api/v1/admin/sales "{\"id\":\"lamp\",\"stock\":100000,\"waitingRoom\":{\"admitPerSecond\":$admit}}" >"$work/sale"
wrk -t1 -c500 -d"$seconds" -s loadtest/wrk/waiting.lua "$buyers" -- path=/api/v1/sales/lamp rate=$((20 * admit)) tag=w >"$work/wrk" 2>&1
grep '^{' "$work/wrk" >"$work/load"
echo "# $(cat "$work/load")"
curl -s "$buyers/api/v1/sales/lamp" >"$work/after"
sold=$((100000 - $(number remaining after)))
most=$((admit * (seconds + 3))) # with the second ahead, and what came before and after wrk's own count
check "many times as many came" test "$(number came load)" -ge $((10 * admit * seconds))
check "as many bought as were let in: $sold of at most $most" test "$sold" -le $most
check "nobody's turn was wasted: at least half of them, on a busy machine, too" test "$sold" -ge $((admit * seconds / 2))
check "whoever was told that it is his turn could buy" test "$(number refused load)" = 0
check "nobody was turned away" test "$(number others load)" = 0
check "who is let in is served soon: p99 $(p99) us" test "$(p99)" -le 1000000

# From outside: each order's place, at the moment of Redis' clock that the ledger gives it, was let in by then.
cat >"$work/turns.lua" <<'LUA'
local admit, begin = tonumber(ARGV[1])
local early, strangers, orders = 0, 0, 0
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+')) do
  local at = tonumber(string.match(entry[1], '^%d+'))
  begin = begin or at
  for i = 1, #entry[2], 2 do
    local buyer = entry[2][i] == 'order' and string.match(entry[2][i + 1], '^%d+:([^:]+):')
    local number = buyer and redis.call('HGET', KEYS[2], buyer)
    if buyer and not number then strangers = strangers + 1 end
    if number then
      orders = orders + 1
      if tonumber(number) > admit * (at - begin) / 1000 + admit then early = early + 1 end
    end
  end
end
return orders .. ' orders, ' .. early .. ' early, ' .. strangers .. ' without a place'
LUA
turns=$(cli --eval "$work/turns.lua" 'seckill:{lamp}:ledger' 'seckill:{lamp}:places' , "$admit")
check "the ledger has nobody before his turn: $turns" test "${turns#*, }" = "0 early, 0 without a place"

cat >"$work/million.lua" <<'LUA'
for i = 1, 1000000 do redis.call('HSET', KEYS[1], 'user-' .. i, i) end
return redis.call('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', 0)
LUA
bytes=$(cli --eval "$work/million.lua" 'seckill:{m}:places')
echo "# a million places: $((bytes / 1048576)) MiB"
check "a million who wait take 200 MB at most" test "$bytes" -le 200000000
checks_end
