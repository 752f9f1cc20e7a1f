# shellcheck shell=sh
# For docker/test/*_dtest.sh: a deployment of their own, a load in the background, what breaks it, and
# what is asked of it. TAP by tap.sh. docker/test/run sets the environment.
set -u
cd "$(dirname "$0")/../.." || exit 1
. .ci/tap.sh
: "${PROJECT:?start these tests by docker/test/run}" "${SECKILL_SECRETS:?}" "${WORK:?}"
project=$PROJECT
. docker/containers.sh

deploy() { docker/deploy.sh "$@"; }

# SERVICE NETWORK: its address there; the host can reach it.
address() {
    docker inspect -f "{{with index .NetworkSettings.Networks \"${PROJECT}_$2\"}}{{.IPAddress}}{{end}}" "$(containers "$1")"
}

# SECONDS COMMAND…: until it succeeds; fails when it never does.
within() {
    until=$(($(date +%s) + $1))
    shift
    while ! "$@" >/dev/null 2>&1; do
        if [ "$(date +%s)" -ge "$until" ]; then
            echo "not within the time: $*"
            return 1
        fi
        sleep 0.2
    done
}

not() { ! "$@"; }

now_ms() { date +%s%3N; }

# SERVICE CODE: what it says of itself on /readyz; 000: no answer.
readyz_is() {
    code=$(curl -s -m 3 -o /dev/null -w '%{http_code}' "http://$(address "$1" edge):8080/readyz")
    [ "$code" = "$2" ] || { echo "$1: /readyz says $code"; return 1; }
}
is_ready() { readyz_is "$1" 200; }
all_ready() { is_ready seckilld-1 && is_ready seckilld-2 && is_ready seckilld-3; }

# SERVICE STATE: what HAProxy thinks of it: UP, DOWN, DRAIN…
haproxy_says() { docker exec "$(containers haproxy)" server state | grep -q "^$1 $2"; }

redis_cli() { # SERVICE WORD…: as admin
    service=$1
    shift
    docker exec "$(containers "$service")" start.sh cli "$@"
}

# ---- a load in the background: load_begin FLAG…; then break things; load_end; then ask of its result ------
# What is known of it is kept in files: check runs its command in a shell of its own.
load_begin() {
    rm -rf "$WORK/load" "$WORK/load.end"
    mkdir -p "$WORK/load"
    chmod 0777 "$WORK/load"
    {
        if OUT=$WORK/load deploy demo --keep --allow-errors "$@" >"$WORK/load.log" 2>&1; then echo 0; else echo $?; fi >"$WORK/load.part"
        mv "$WORK/load.part" "$WORK/load.end"
    } >/dev/null 2>&1 & # check would wait for who holds its output
    within 60 grep -q 'replies' "$WORK/load.log" || { tail -n 5 "$WORK/load.log" && return 1; }
}
load_is_on() { [ ! -e "$WORK/load.end" ]; }

# Waits for its verdict; SECONDS at most. The exit status is loadtest's.
load_end() {
    if ! within "${1:-120}" not load_is_on; then
        # shellcheck disable=SC2046  # ids
        docker rm -f $(containers loadtest)
        tail -n 5 "$WORK/load.log"
        return 1
    fi
    [ "$(cat "$WORK/load.end")" = 0 ] && return
    tail -n 40 "$WORK/load.log"
    return 1
}

# How long the machine itself stood still at most, for a disk or for processors, from stills_begin to still_ms: what
# happens then says nothing of the deployment.
stills_begin() {
    rm -f "$WORK/still"
    {
        most=0 before=$(now_ms)
        while dd if=/dev/zero of="$WORK/still.probe" bs=4k count=1 conv=fsync 2>/dev/null; do
            now=$(now_ms)
            [ $((now - before)) -le "$most" ] || most=$((now - before))
            echo "$most" >"$WORK/still"
            before=$now
            sleep 0.05
        done
    } >/dev/null 2>&1 &
    stills=$!
}
still_ms() {
    kill "$stills" 2>/dev/null && wait "$stills" 2>/dev/null
    cat "$WORK/still"
}

# NAME: a number of the last load's result.json.
result() { sed -n "s/^  \"$1\": \([0-9]*\),\{0,1\}$/\1/p" "$WORK/load/result.json"; }
# NAME: the numbers of one of its objects (refused, uncertain), by name: "sold-out 571 overloaded 3".
results() {
    sed -n "/^  \"$1\": {$/,/^  }/s/^    \"\(.*\)\": \([0-9]*\),\{0,1\}$/\1 \2/p" "$WORK/load/result.json" | tr '\n' ' '
}
