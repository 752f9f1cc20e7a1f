#!/bin/sh
# Backup and restore of a sale: all is deleted, the sale comes back with every order that was in the backup,
# and sells on. What is damaged or would overwrite is refused, and changes nothing.
. "$(dirname "$0")/lib.sh"

backup() { docker/backup.sh "$@"; }
says() { # TEXT COMMAND…: it fails, and says so
    text=$1
    shift
    if said=$("$@" 2>&1); then echo "it was accepted: $said" && return 1; fi
    case $said in *"$text"*) ;; *) echo "$said" && return 1 ;; esac
}
held() { # the sale in Redis, in one line
    redis_cli redis hgetall "seckill:{$sale}:orders" | paste - - | sort | sha256sum
    redis_cli redis get "seckill:{$sale}:stock"
    redis_cli redis xlen "seckill:{$sale}:ledger"
}
is_as_before() { [ "$(held)" = "$before" ] || { echo "it was: $before; it is: $(held)"; return 1; }; }
audit() { # FLAG…: with what the clients and the operator wrote down; the instances' log went with the volumes
    ledgers=$(cd "$WORK/load" && printf '/out/%s ' run-*/clients-*.jsonl)
    operators=$(cd "$WORK/load" && printf -- '--operators /out/%s ' run-*/operators-*.ndjson)
    # shellcheck disable=SC2086  # files
    OPERATORS='' OUT=$WORK/load deploy audit "$sale" "$@" $operators --clients $ledgers
}
# SUB [CURL-FLAG…]: METHOD and path are its; what the service says to this buyer of this sale
asks() {
    token=$(docker run --rm --network none -v "$SECKILL_SECRETS/token-key:/key:ro" --entrypoint seckillctl \
        "seckill/loadtest:$SECKILL_TAG" token --key /key --sub "$1")
    path=$2
    shift 2
    curl -s -m 5 -H "Authorization: Bearer $token" "$@" \
        "http://$(address haproxy edge):8090/api/v1/sales/$sale/orders$path"
}
finds_the_order() { # the first that the ledger of the clients tells of
    line=$(cat "$WORK"/load/run-*/clients-*.jsonl | grep '"order":"' | head -n 1)
    order=$(printf %s "$line" | sed 's/.*"order":"\([0-9]*\)".*/\1/')
    request=$(printf %s "$line" | sed 's/.*"req":"\([^"]*\)".*/\1/')
    buyer=$(cat "$WORK"/load/run-*/clients-*.jsonl | grep "\"req\":\"$request\"" | sed -n 's/.*"buyer":"\([^"]*\)".*/\1/p' | head -n 1)
    asks "$buyer" /me | grep "\"$order\"" || { echo "$buyer does not find $order"; return 1; }
}
# A sale that is paid for later: what its backup must have besides.
makes_a_paid_sale() {
    curl -sf -m 5 -o "$WORK/answer" -H "Authorization: Bearer $(cat "$SECKILL_SECRETS/admin-token")" -H 'Content-Type: application/json' \
        -d '{"id": "paid", "stock": 3, "payment": {"amount": 100, "currency": "EUR", "windowMs": 600000}}' \
        "http://$(address haproxy edge):8081/api/v1/admin/sales" || { cat "$WORK/answer" && return 1; }
}
due() { redis_cli redis zrange 'seckill:{paid}:due' 0 -1 withscores | paste -s -d ' ' | grep '^early [0-9]*$'; }
holds_come_back() {
    sale=paid
    makes_a_paid_sale && buys early && before=$(due) && backup save "$WORK/paid" paid && buys late &&
        backup restore "$WORK/paid" --force && [ "$(due)" = "$before" ]
}
buys() { asks "$1" '' -X POST -H 'Content-Type: application/json' -o "$WORK/answer" -w '%{http_code}' | grep -qx 201 || { cat "$WORK/answer"; return 1; }; }

backup_of_all_has_it() {
    backup save "$WORK/all" && backup check "$WORK/all" >"$WORK/sales" && grep -qx "$sale" "$WORK/sales" &&
        [ "$(wc -l <"$WORK/sales")" = "$(redis_cli redis scard seckill:sales)" ]
}

export SECKILL_SYNC_REPLICAS=0
need "up" deploy up single
need "a load begins" load_begin --buyers 1500 --stock 2000 --pace 300 --connections 50
sleep 2
sale=$(redis_cli redis smembers seckill:sales | sort | tail -n 1)
check "a backup of the sale under load" backup save "$WORK/early" "$sale"
need "the audit of the run holds" load_end 60
began=$(now_ms)
check "a backup of it when all is sold" backup save "$WORK/late" "$sale"
echo "# $(result sold) orders: saved in $(($(now_ms) - began)) ms, $(wc -c <"$WORK/late") bytes"

before=$(held)
sed 's/\(^orders ".\{200\}\)./\1~/' "$WORK/late" >"$WORK/damaged"
check "a damaged file is refused" says damaged backup restore "$WORK/damaged" --force
sed '$d' "$WORK/damaged" >"$WORK/forged"
echo "end $(sha256sum <"$WORK/forged" | cut -d' ' -f1)" >>"$WORK/forged"
check "so is one that only Redis finds damaged" says "does not take" backup restore "$WORK/forged" --force
head -n 4 "$WORK/late" >"$WORK/short"
check "so is half a file" says damaged backup restore "$WORK/short" --force
check "a sale that is there is not overwritten" says "is there already" backup restore "$WORK/late"
check "no id, no backup" says "no sale" backup save "$WORK/none" no-such-sale
check "and no file" not ls "$WORK/none" "$WORK/none.part"
check "nothing of that has changed the sale" is_as_before
check "and it is sold still" within 20 all_ready

check "a backup of all sales has this one, too" backup_of_all_has_it
need "everything is deleted" deploy down --volumes
need "up again, empty" deploy up single
began=$(now_ms)
check "the sale comes back" backup restore "$WORK/late"
echo "# restored in $(($(now_ms) - began)) ms"
check "just as they were" is_as_before
check "the audit with the clients' ledgers holds" audit
check "all instances are ready" within 30 all_ready
check "a buyer finds the order" finds_the_order
check "the sale sells on" buys late-comer
check "with --force the earlier backup replaces it" backup restore "$WORK/early" --force
check "its audit holds, but for the orders after it" audit --allow-lost
check "holds of a sale that is paid for later are in its backup, with the moments they end" holds_come_back
echo "# orders of the early backup: $(redis_cli redis hlen "seckill:{$sale}:orders") of $(result sold)"
check "all instances are ready again" within 30 all_ready
check "the sale sells on from there" buys late-comer
checks_end
