#!/bin/sh
# Another version of seckilld without losing an order, one instance after the other:
#   docker/upgrade.sh --restart the same image, anew: for new secrets or settings
#   docker/upgrade.sh [TAG]     to the image seckill/seckilld:TAG [$SECKILL_TAG, or latest]
# Each is taken out of HAProxy, ends what it has begun, is made anew from the image, and goes back when it is
# healthy. One that does not get healthy ends the upgrade: the others sell on with the old image. It may be
# run again at any time; what runs the image by this name already is left alone. To go back: run it with the old TAG.
# Keep the TAG as SECKILL_TAG in docker/.env, else the next `make up` goes back to the old one. PROJECT as in deploy.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
project=${PROJECT:-seckill}
. "$here/containers.sh"
restart=
[ "${1-}" != --restart ] || { restart=--force-recreate && shift; }
SECKILL_TAG=${1:-${SECKILL_TAG:-latest}}
export SECKILL_TAG
image=seckill/seckilld:$SECKILL_TAG
name=

say() { echo "upgrade: $*"; }
die() {
    echo "upgrade: $*" >&2
    exit 1
}
server() { docker exec "$(containers haproxy)" server "$@"; }

# SECONDS COMMAND…: until it succeeds.
within() {
    until=$(($(date +%s) + $1))
    shift
    while ! "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$until" ] || return 1
        sleep 0.2
    done
}
has_image() { [ "$(docker inspect -f '{{.Image}} {{.Config.Image}}' "$(containers "$1")")" = "$wanted $image" ]; }
# 40 s; one that ends again and again need not be waited for.
gets_healthy() {
    until=$(($(date +%s) + 40))
    while ! is_well "$1"; do
        [ "$(date +%s)" -lt "$until" ] && [ "$(docker inspect -f '{{.RestartCount}}' "$(containers "$1")")" -lt 3 ] || return 1
        sleep 0.2
    done
}
is_idle() { server state | grep -qx "$1 [A-Z]* 0"; }
is_up() { server state | grep -q "^$1 UP"; }

replace() { # SERVICE
    server drain "$1"
    within 10 is_idle "$1" || say "$1 is still busy after 10 s; it ends that by itself"
    # shellcheck disable=SC2086  # a word, or none
    "$here/deploy.sh" compose up -d --no-deps --no-build $restart "$1" >"$log" 2>&1 || { cat "$log" >&2 && die "$1 could not be made"; }
    if ! gets_healthy "$1"; then
        docker logs --tail 5 "$(containers "$1")" >&2
        die "$1 does not get healthy with $image and is out of service; the upgrade ends here, the others are untouched"
    fi
}

case ${1-} in
-*)
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    [ "$1" = --help ] && exit
    exit 2
    ;;
esac
wanted=$(docker image inspect -f '{{.Id}}' "$image" 2>/dev/null) || die "there is no image $image"
[ -n "$(containers haproxy)" ] || die "nothing is up: make up"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'echo "upgrade: interrupted at ${name:-the beginning}; run it again to go on" >&2; exit 130' INT TERM
for name in seckilld-1 seckilld-2 seckilld-3; do
    if [ -z "$restart" ] && has_image "$name" && is_well "$name"; then
        server ready "$name"
        say "$name runs $image already"
        continue
    fi
    replace "$name"
    server ready "$name"
    within 20 is_up "$name" || die "HAProxy does not take $name back; the upgrade ends here"
    say "$name runs $image"
done
