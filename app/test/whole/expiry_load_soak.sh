#!/bin/sh
# Very many holds that all end at once, while others buy another sale: purchases go on, and every unit comes back, once.
# Needs BUILD_DIR; runs at the root.
#   HOLDS=200000 RATE=4000
set -u
bin=${BUILD_DIR:-build/release}
. .ci/tap.sh
holds=${HOLDS:-200000} rate=${RATE:-4000}
work=$(mktemp -d)
redis='' service=''
end() {
    for pid in $service $redis; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
    rm -rf "$work"
}
trap end EXIT
trap 'exit 1' HUP INT TERM

cli() { redis-cli -s "$work/redis.sock" "$@"; }
answers() { for _ in $(seq 100); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; return 1; }
start() { # until it is ready
    rm -f "$work/seckilld.log"
    "$bin/seckilld" --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --redis "unix://$work/redis.sock" --data "$work" --lab \
        --connections 200 >"$work/seckilld.log" 2>&1 &
    service=$!
    need "seckilld" answers grep -q 'buyers http' "$work/seckilld.log"
    buyers=$(sed -n 's/.*buyers \(http[^,]*\),.*/\1/p' "$work/seckilld.log")
    admin=$(sed -n 's/.*admin \(http[^,]*\),.*/\1/p' "$work/seckilld.log")
}
operate() { # METHOD PATH BODY
    curl -s -X "$1" -H "Authorization: Bearer $(cat "$work/admin.token")" -H 'Content-Type: application/json' -d "$3" "$admin$2"
}
left() { cli ZCARD 'seckill:{held}:due'; }
p99() { # SECONDS TAG: of purchases of the other sale, in microseconds
    wrk -t1 -c50 -d"$1" -s loadtest/wrk/open.lua "$buyers" -- path=/api/v1/sales/other/orders rate="$rate" tag="$2" connections=50 2>&1 | grep '^{' >"$work/$2"
    sed -n 's/.*"p99":\([0-9]*\).*/\1/p' "$work/$2"
}

redis-server --port 0 --unixsocket "$work/redis.sock" --save '' --appendonly yes --dir "$work" >"$work/redis.log" 2>&1 &
redis=$!
need "redis-server" answers cli ping
start
operate POST /api/v1/admin/sales "{\"id\":\"held\",\"stock\":$holds,\"payment\":{\"windowMs\":1000,\"amount\":1,\"currency\":\"CNY\"}}" >"$work/sale"
operate POST /api/v1/admin/sales '{"id":"other","stock":10000000}' >>"$work/sale"
kill "$service" && wait "$service"

# The service's own step, a thousand buyers at a time.
{
    echo 'local function buy(KEYS, ARGV)'
    cat app/store/scripts/purchase.lua
    cat <<'LUA'
end
for i = 0, 99 do
  local args = {'test', 'test', '1', '1000'}
  for k = 1, 1000 do
    local number = (ARGV[1] * 100 + i) * 1000 + k
    args[3 * k + 2], args[3 * k + 3], args[3 * k + 4] = 'user-' .. number, tostring(number), ''
  end
  buy(KEYS, args)
end
LUA
} >"$work/hold.lua"
for part in $(seq 0 $((holds / 100000 - 1))); do
    cli --eval "$work/hold.lua" 'seckill:{held}:sale' 'seckill:{held}:stock' 'seckill:{held}:orders' 'seckill:{held}:ledger' \
        'seckill:{held}:void' 'seckill:{held}:due' , "$part" >/dev/null
done
need "$holds are held" test "$(left)" = "$holds"
sleep 1

start
during=$(p99 2 during)
still=$(left)
check "purchases went on: $(cat "$work/during")" grep -q '"refused":0' "$work/during"
check "while holds ended: $((holds - still)) in 2 s, $still to go" test "$still" -gt 0 -a "$still" -lt "$holds"
all_end() { for _ in $(seq 600); do [ "$(left)" = 0 ] && return; sleep 0.1; done; return 1; }
check "all end" all_end
after=$(p99 2 after)
echo "# p99 of purchases while holds end $during us, afterwards $after us"
check "nobody waits for all of them: on a busy machine, too" test "$during" -le $((4 * after + 100000))
check "every unit is back" test "$(cli GET 'seckill:{held}:stock')" = "$holds"
check "once" test "$(cli HGET 'seckill:{held}:sale' expired)" = "$holds"
checks_end
