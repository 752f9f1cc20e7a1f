#!/bin/sh
# Another version under load, one instance after the other: no order is lost, no buyer hears a proxy's error.
# A version that does not start ends the upgrade at the first instance; the two others sell on.
. "$(dirname "$0")/lib.sh"

old=seckill/seckilld:$SECKILL_TAG
variant() { # TAG LINE: the image of this version with one line more
    printf 'FROM %s\n%s\n' "$old" "$2" | docker build -q -t "seckill/seckilld:$1" -
}
# TAG SERVICE…: they run it.
all_run() {
    tag=$1
    shift
    for service in "$@"; do
        [ "$(docker inspect -f '{{.Config.Image}}' "$(containers "$service")")" = "seckill/seckilld:$tag" ] || { echo "$service does not"; return 1; }
    done
}
nobody_heard_the_proxy() { [ "$(result strays)" = 0 ] || { echo "answers that name no request: $(result strays)"; return 1; }; }

export SECKILL_SYNC_REPLICAS=0
need "up" deploy up single
need "a new version" variant "$SECKILL_TAG-new" 'LABEL org.opencontainers.image.revision="new"'
need "a broken one" variant "$SECKILL_TAG-broken" 'ENTRYPOINT ["/usr/bin/seckilld", "--no-such-flag"]'

need "a load begins" load_begin --buyers 3000 --stock 2400 --pace 220 --connections 50
began=$(now_ms)
check "the upgrade ends well" timeout 120 docker/upgrade.sh "$SECKILL_TAG-new"
echo "# three instances upgraded in $((($(now_ms) - began) / 1000)) s"
check "all of it under load" load_is_on
check "each runs the new version" all_run "$SECKILL_TAG-new" seckilld-1 seckilld-2 seckilld-3
check "the audit holds: no order is lost" load_end 90
check "every answer came from an instance" nobody_heard_the_proxy

need "another load begins" load_begin --buyers 700 --stock 500 --pace 120 --connections 20
check "a broken version ends the upgrade" not timeout 120 docker/upgrade.sh "$SECKILL_TAG-broken"
check "the two others are untouched" all_run "$SECKILL_TAG-new" seckilld-2 seckilld-3
check "one of them is ready" is_ready seckilld-2
check "and the other" is_ready seckilld-3
check "the audit holds" load_end 90
check "back to the version before" timeout 120 docker/upgrade.sh
check "each runs it" all_run "$SECKILL_TAG" seckilld-1 seckilld-2 seckilld-3
check "all is well again" within 20 all_ready
ids() { containers seckilld-1 seckilld-2 seckilld-3; }
before=$(ids)
all_new() { for id in $(ids); do case "$before" in *"$id"*) echo "$id stayed" && return 1 ;; esac; done; }
check "the same image anew, one after the other" timeout 120 docker/upgrade.sh --restart
check "each instance is another container" all_new
need "the same image by another name" docker tag "$old" "seckill/seckilld:$SECKILL_TAG-same"
check "the name is what counts" timeout 120 docker/upgrade.sh "$SECKILL_TAG-same"
check "each is called so" all_run "$SECKILL_TAG-same" seckilld-1 seckilld-2 seckilld-3
check "and back" timeout 120 docker/upgrade.sh
docker rmi "seckill/seckilld:$SECKILL_TAG-same" >/dev/null
docker rmi "seckill/seckilld:$SECKILL_TAG-new" "seckill/seckilld:$SECKILL_TAG-broken" >/dev/null
checks_end
