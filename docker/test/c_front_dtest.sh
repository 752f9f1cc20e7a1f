#!/bin/sh
# What HAProxy lets through, and to whom; what Prometheus sees, and when it cries.
. "$(dirname "$0")/lib.sh"

published() { docker port "$(containers "$1")" "$2/tcp" | sed -n 1p; }
token() { cat "$SECKILL_SECRETS/admin-token"; }

# CODE CURL-WORD…: answered with it; head and body are kept.
answers() {
    code=$1
    shift
    got=$(curl -s -m 10 -D "$WORK/head" -o "$WORK/body" -w '%{http_code}' "$@")
    [ "$got" = "$code" ] || { echo "$got $*" && return 1; }
}
body_has() { grep -q -- "$1" "$WORK/body" || { head -c 600 "$WORK/body" && return 1; }; }
head_has() { grep -qi -- "$1" "$WORK/head" || { cat "$WORK/head" && return 1; }; }

# ---- doors -------------------------------------------------------------------------------------------
# However it is spelled: nothing of what the service counts or says of itself comes out.
hides() { # PATH
    for path in "/$1" "/$1?x=1" "/$1/" "//$1" "/./$1" "/x/../$1" "/%$(printf %s "$1" | head -c 1 | od -An -tx1 | tr -d ' ')${1#?}" "/$1%00" "/$1;x" "/%2e/$1" "/%2f$1"; do
        curl -s -m 5 --path-as-is -o "$WORK/body" "$buyers$path"
        ! grep -q '^seckill_\|^ready\|^store \|"redis' "$WORK/body" || { echo "$path comes out" && return 1; }
    done
    answers 404 "$buyers/$1"
}

page_loads() { # URL: and all that it names
    answers 200 "$1" && head_has 'content-type: text/html' || return 1
    base=${1%"${1#http://*/}"}
    named=$(grep -o '\(src\|href\)="/assets/[^"]*"' "$WORK/body" | cut -d'"' -f2)
    [ -n "$named" ] || { echo "it names nothing" && return 1; }
    for asset in $named; do answers 200 "${base%/}$asset" || return 1; done
}

creates_sale() { # ID: an operator who says to come from elsewhere
    answers 201 -X POST -H "Authorization: Bearer $(token)" -H 'Content-Type: application/json' \
        -H 'X-Forwarded-For: 203.0.113.7' -H 'X-Forwarded-For: 203.0.113.8' \
        -d "{\"id\":\"$1\",\"stock\":5}" "$operators/api/v1/admin/sales"
}
logged_from() { # ID: who created it
    for n in 1 2 3; do docker logs "$(containers seckilld-$n)" 2>&1; done | grep "sale $1: created" >"$WORK/created"
    gateway=$(docker network inspect -f '{{range .IPAM.Config}}{{.Gateway}}{{end}}' "${PROJECT}_front")
    if ! grep -q "\"from\":\"$gateway\"" "$WORK/created" || grep '203\.0\.113' "$WORK/created"; then
        cat "$WORK/created"
        return 1
    fi
}

# ---- limits ------------------------------------------------------------------------------------------
flood() { # URL: 2000 requests as fast as they go; how often each status came
    curl -s -Z --parallel-max 40 -o /dev/null -w '%{http_code}\n' "$1/livez?[1-2000]" 2>/dev/null | sort | uniq -c >"$WORK/flood"
}
limits_a_flood() {
    flood "$buyers"
    answers 429 "$buyers/livez"
    limited=$?
    grep -q ' 429$' "$WORK/flood" || { cat "$WORK/flood" && return 1; }
    # The last answers may be a second old on a slow machine: then ask for some more.
    [ "$limited" = 0 ] || { flood "$buyers" && answers 429 "$buyers/livez"; }
}
lets_a_flood_in() {
    flood "$1"
    [ "$(awk '{ print $2 ":" $1 }' "$WORK/flood")" = 200:2000 ] || { cat "$WORK/flood" && return 1; }
}

# HOST:PORT HEAD LEAST MOST: sends HEAD, then a byte every 300 ms; answered 408 or cut between LEAST and MOST ms.
cuts_a_dripper() {
    began=$(date +%s%N)
    # shellcheck disable=SC2016  # for the bash inside
    timeout 30 bash -c '
        exec 3<>"/dev/tcp/$0/$1" || exit 9
        printf "$2" >&3
        while printf x >&3; do sleep 0.3; done 2>/dev/null &
        cat <&3 2>/dev/null
        kill $!' "${1%:*}" "${1#*:}" "$2" >"$WORK/dripped" 2>/dev/null
    took=$((($(date +%s%N) - began) / 1000000))
    echo "$took ms: $(head -n 1 "$WORK/dripped")"
    [ "$took" -ge "$3" ] && [ "$took" -le "$4" ] || return 1
    [ ! -s "$WORK/dripped" ] || grep -q ' 408 ' "$WORK/dripped"
}

# ---- server-sent events ------------------------------------------------------------------------------
# 28: curl ended it; 18 or 0 would be the other side.
listen() {
    {
        curl -s -N -m 9 -w '\nfirst %{time_starttransfer}\n' "$buyers/api/v1/sales/front/events" >"$WORK/events"
        echo $? >"$WORK/events.end"
    } >/dev/null 2>&1 &
}
first_event_is_there() { grep -q '^data:' "$WORK/events"; }
listened_on() {
    within 15 test -s "$WORK/events.end"
    [ "$(cat "$WORK/events.end")" = 28 ] || { echo "curl: $(cat "$WORK/events.end")" && tail -n 3 "$WORK/events" && return 1; }
}

# ---- health and alerts -------------------------------------------------------------------------------
health_is() { # SERVICE STATE
    state=$(docker inspect -f '{{.State.Health.Status}}' "$(containers "$1")")
    [ "$state" = "$2" ] || { echo "$1 is $state" && return 1; }
}
all_health() { for n in 1 2 3; do health_is seckilld-$n "$1" || return 1; done; }
targets_up() { [ "$(curl -s -m 5 "$prometheus/api/v1/targets?state=active" | grep -o '"health":"[a-z]*"' | sort | uniq -c | tr -s ' ')" = " $1 \"health\":\"up\"" ]; }
rules_loaded() {
    curl -s -m 5 "$prometheus/api/v1/rules?type=alert" >"$WORK/rules"
    wanted=$(grep -c 'alert: Seckill' docker/prometheus/alerts.yml)
    [ "$(grep -o '"name":"Seckill[A-Za-z]*"' "$WORK/rules" | wc -l)" = "$wanted" ] &&
        [ "$(grep -o '"health":"ok"' "$WORK/rules" | wc -l)" = "$wanted" ]
}
fires() { # ALERT [WHOSE]
    curl -s -m 5 "$prometheus/api/v1/alerts" | tr '{' '\n' | grep -A9 "\"alertname\":\"$1\".*${2-}" | grep -q '"state":"firing"'
}

need "up" deploy up single
buyers=http://$(published haproxy 8080) operators=http://$(published haproxy 8081) prometheus=http://$(published prometheus 9090)
need "all three instances are ready" within 30 all_ready
need "HAProxy sees all three" within 30 haproxy_says seckilld-3 UP

for path in metrics readyz version; do check "/$path is not on the buyers' port, however it is spelled" hides $path; done
check "/livez is" answers 200 "$buyers/livez"
check "the operators' API is not on the buyers' port" answers 404 -H "Authorization: Bearer $(token)" "$buyers/api/v1/admin/sales"
check "it wants a token" answers 401 "$operators/api/v1/admin/sales"
check "the right one" answers 403 -H "Authorization: Bearer wrong" "$operators/api/v1/admin/sales"
check "and answers those who have it" answers 200 -H "Authorization: Bearer $(token)" "$operators/api/v1/admin/sales"
check "the buyers' page loads" page_loads "$buyers/"
check "the dashboard loads" page_loads "$operators/dashboard"
docker exec "$(containers redis)" start.sh cli del seckill:front >/dev/null
sale=front-$(date +%s)
check "an operator with a forged address creates a sale" creates_sale "$sale"
check "the log has the operator's own" logged_from "$sale"

creates_sale front >/dev/null 2>&1
listen
check "server-sent events come at once" within 3 first_event_is_there
head -c 5000 /dev/zero | tr '\0' x >"$WORK/much"
check "a body over the limit" answers 413 -X POST -H 'Content-Type: application/json' --data-binary @"$WORK/much" "$buyers/api/v1/sales/front/orders"
check "is told so" body_has '"/problems/payload-too-large"'
check "a flood from one address" limits_a_flood
check "is told so" body_has '"/problems/quota-exceeded"'
check "as a problem" head_has 'content-type: application/problem+json'
check "and when to come back" head_has '^retry-after: 1'
check "which is soon" within 5 answers 200 "$buyers/livez"
check "the load test's door has no such limit" lets_a_flood_in "http://$(address haproxy edge):8090"
check "a client that drips its head is cut after 5 s" cuts_a_dripper "${buyers#http://}" 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ' 4000 9000
check "one that drips a body is cut there too, before an instance hears of it" cuts_a_dripper "${operators#http://}" \
    "POST /api/v1/admin/sales HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer $(token)\r\nContent-Type: application/json\r\nContent-Length: 2000\r\n\r\n" 4000 9000
check "the events were still open after 9 s" listened_on

check "Prometheus reaches all three" within 15 targets_up 3
check "its rules are loaded" within 15 rules_loaded
docker stop "$(containers seckilld-2)" >/dev/null
check "an instance that is stopped: SeckillInstanceDown" within 30 fires SeckillInstanceDown seckilld-2
check "of this instance alone" not fires SeckillInstanceDown seckilld-1
check "others sell: not SeckillNobodySells" not fires SeckillNobodySells
docker start "$(containers seckilld-2)" >/dev/null
check "it is back: the alert goes" within 30 not fires SeckillInstanceDown
docker pause "$(containers redis)" >/dev/null
check "Redis is stuck: all instances say so" within 15 readyz_is seckilld-1 503
check "their containers are unhealthy" within 45 all_health unhealthy
check "SeckillNotReady" within 30 fires SeckillNotReady
check "SeckillNobodySells" within 30 fires SeckillNobodySells
docker unpause "$(containers redis)" >/dev/null
check "Redis goes on: all are ready" within 15 all_ready
check "and healthy" within 30 all_health healthy
check "the alerts go" within 40 not fires SeckillNobodySells
check "HAProxy sees all three again" within 15 haproxy_says seckilld-2 UP
checks_end
