#!/bin/sh
# Sales of the running deployment, into a file and back. Good for every kind, single, sentinel and cluster.
#   docker/backup.sh save FILE [ID…]              these sales, or all; the service goes on
#   docker/backup.sh restore FILE [--force]       all that are in FILE; the instances stop meanwhile
#   docker/backup.sh check FILE                   is it whole? names the sales in it
# A sale is read in one step: its orders, ledger and stock fit each other. What was sold after that is not
# in FILE. A sale that is there is put back only with --force, which drops what it holds now.
# While a sale is read or put back Redis does nothing else: some 15 ms for 10,000 orders.
# FILE is text: redis-cli's own quoting of DUMP, and the SHA-256 of all of it. PROJECT as in deploy.sh.
set -eu
umask 077
here=$(cd "$(dirname "$0")" && pwd)
project=${PROJECT:-seckill}
. "$here/containers.sh"
# Not the lock nor the fence: they belong to who sold at that time.
parts="sale stock orders ledger void due events refunds waiting places"
instances="seckilld-1 seckilld-2 seckilld-3"
work='' part='' stopped='' changed=''

say() { echo "backup: $*"; }
die() {
    echo "backup: $*" >&2
    exit 1
}
usage() { sed -n '2,10s/^# \{0,1\}//p' "$0"; }

end() {
    code=$?
    trap - EXIT INT TERM
    if [ -n "$changed" ]; then echo "backup: ended in the middle; these may be half put back, restore them again with --force:$changed" >&2; fi
    [ -z "$part" ] || rm -f "$part"
    # shellcheck disable=SC2086  # a list
    [ -z "$stopped" ] || "$here/deploy.sh" compose start $instances >/dev/null 2>&1 || echo "backup: the instances could not be started" >&2
    [ -z "$work" ] || rm -rf "$work"
    exit "$code"
}

cli() { # CONTAINER: commands on stdin, answers quoted
    docker exec -i "$1" start.sh cli --no-raw
}

# KEY: the container that takes its writes.
holder() {
    for service in redis replica replica-2 node-1 node-2 node-3 node-4 node-5 node-6; do
        container=$(containers "$service")
        [ -n "$container" ] || continue
        if printf 'ROLE\nEXISTS "%s"\n' "$1" | cli "$container" 2>/dev/null | paste -s -d ' ' |
            grep -q '^1) "master".* (integer) [01]$'; then
            echo "$container"
            return
        fi
    done
    die "no Redis takes writes to $1: is the deployment up?"
}

save_sale() { # ID: appended to $part
    case $1 in '' | *[!A-Za-z0-9._-]*) die "\"$1\" is no id of a sale" ;; esac
    at=$(holder "seckill:{$1}:sale")
    {
        echo MULTI
        for name in $parts; do echo "DUMP \"seckill:{$1}:$name\""; done
        echo EXEC
    } | cli "$at" >"$work/answers"
    # shellcheck disable=SC2086  # a list
    printf '%s\n' $parts >"$work/names"
    sed -n 's/^ *[0-9]*) //p' "$work/answers" | paste -d ' ' "$work/names" - | grep -v ' (nil)$' >"$work/keys" || true
    if ! grep -q '^sale "' "$work/keys" || ! grep -q '^stock "' "$work/keys"; then
        grep '^(error)' "$work/answers" >&2 || true
        die "there is no sale \"$1\""
    fi
    { grep -qv '^[a-z]* ".*"$' "$work/keys" && die "sale $1: an answer that is no DUMP"; } || true
    {
        echo "id $1"
        cat "$work/keys"
    } >>"$part"
}

save() { # FILE [ID…]
    file=$1
    shift
    part=$file.part
    echo "seckill-backup 1 $(date -u +%FT%TZ)" >"$part"
    if [ $# -eq 0 ]; then
        # shellcheck disable=SC2046  # ids: no blanks in them
        set -- $(echo 'SMEMBERS seckill:sales' | cli "$(holder seckill:sales)" | sed -n 's/^ *[0-9]*) "\(.*\)"$/\1/p' | sort)
        [ $# -gt 0 ] || die "there are no sales"
    fi
    for sale in "$@"; do save_sale "$sale"; done
    echo "end $(sha256sum <"$part" | cut -d' ' -f1)" >>"$part"
    sync "$part"
    mv "$part" "$file"
    part=
    say "$# sales in $file ($(wc -c <"$file") bytes)"
}

check() { # FILE: its sales
    [ -r "$1" ] || die "cannot read $1"
    head -n 1 "$1" | grep -q '^seckill-backup 1 ' || die "$1 is no backup of sales"
    [ "$(tail -n 1 "$1")" = "end $(sed '$d' "$1" | sha256sum | cut -d' ' -f1)" ] || die "$1 is damaged: its SHA-256 is another"
    sed -n 's/^id //p' "$1"
}

keys_of() { # ID: its lines in the file: NAME "DUMP"
    awk -v id="$1" '$1 == "id" { is_it = ($2 "" == id "") } is_it && /^[a-z]+ "/' "$work/file"
}

# Each sale beside its place first: what Redis refuses changes nothing.
lay_aside() { # ID
    keys_of "$1" | sed "s/^\([a-z]*\) \(.*\)/RESTORE \"seckill:{$1}:restoring:\1\" 0 \2 REPLACE/" |
        cli "$(holder "seckill:{$1}:sale")" >"$work/answers"
    if grep -v '^OK$' "$work/answers" >&2 || [ "$(wc -l <"$work/answers")" -ne "$(keys_of "$1" | wc -l)" ]; then
        die "Redis does not take sale $1; nothing is changed"
    fi
}
drop_aside() { # ID
    for name in $parts; do echo "DEL \"seckill:{$1}:restoring:$name\""; done | cli "$(holder "seckill:{$1}:sale")" >/dev/null
}
put_in_place() { # ID
    {
        echo MULTI
        for name in $parts fence lock expirer-fence; do echo "DEL \"seckill:{$1}:$name\""; done
        keys_of "$1" | sed "s/^\([a-z]*\) .*/RENAME \"seckill:{$1}:restoring:\1\" \"seckill:{$1}:\1\"/"
        echo EXEC
    } | cli "$(holder "seckill:{$1}:sale")" >"$work/answers"
    if grep '(error)' "$work/answers" >&2 || [ "$(grep -c '^ *[0-9]*) OK$' "$work/answers")" -ne "$(keys_of "$1" | wc -l)" ]; then
        die "sale $1 was not put back"
    fi
    echo "SADD seckill:sales \"$1\"" | cli "$(holder seckill:sales)" | grep -q '^(integer)' || die "sale $1 is back, but not in the list of sales"
}

restore() { # FILE [--force]
    sales=$(check "$1")
    cp "$1" "$work/file"
    for sale in $sales; do
        [ "${2-}" != --force ] || break
        [ "$(echo "EXISTS \"seckill:{$sale}:sale\"" | cli "$(holder "seckill:{$sale}:sale")")" = "(integer) 0" ] ||
            die "sale $sale is there already: --force drops what it holds now; nothing is changed"
    done
    stopped=yes
    # shellcheck disable=SC2086  # a list
    "$here/deploy.sh" compose stop $instances >/dev/null 2>&1 || die "the instances cannot be stopped; nothing is changed"
    for sale in $sales; do (lay_aside "$sale") || { for one in $sales; do drop_aside "$one"; done && exit 1; }; done
    for sale in $sales; do
        changed="$changed $sale"
        put_in_place "$sale"
    done
    changed='' verdict=0
    for sale in $sales; do
        code=0
        # What operators did to it may have been done elsewhere, or be gone with that place.
        OPERATORS='' "$here/deploy.sh" audit "$sale" >"$work/audit" 2>&1 || code=$?
        # 2: without the buyers' ledgers some checks have nothing to judge by.
        case $code in
        0 | 2) say "sale $sale is back, and its audit holds" ;;
        *)
            cat "$work/audit" >&2
            echo "backup: sale $sale is back, but its audit does not hold" >&2
            verdict=1
            ;;
        esac
    done
    return $verdict
}

word=${1-}
[ $# -eq 0 ] || shift
case $word in
--help)
    usage
    exit
    ;;
save | restore | check) [ $# -gt 0 ] || { usage >&2 && exit 2; } ;;
*)
    usage >&2
    exit 2
    ;;
esac
case $1 in -*) usage >&2 && exit 2 ;; esac
if [ "$word" = restore ] && { [ $# -gt 2 ] || [ "${2---force}" != --force ]; }; then usage >&2 && exit 2; fi
trap end EXIT
trap 'exit 130' INT TERM
work=$(mktemp -d)
"$word" "$@"
