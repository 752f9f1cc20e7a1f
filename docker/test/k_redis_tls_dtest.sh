#!/bin/sh
# Redis over TLS alone, of each kind: it comes up, sells, is audited; whoever does not speak TLS, or does not
# know the CA, gets nowhere.
. "$(dirname "$0")/lib.sh"

is_refused_without_ca() {
    said=$(docker exec "$(containers "$1")" timeout 3 redis-cli --no-auth-warning --tls --user health --pass - ping 2>&1)
    case $said in *"certificate verify failed"*) ;; *) echo "$said" && return 1 ;; esac
}
is_plain_refused() {
    said=$(docker exec "$(containers "$1")" timeout 3 redis-cli --no-auth-warning --user health --pass - ping 2>&1)
    case $said in *PONG* | *NOAUTH*) echo "$said" && return 1 ;; esac
}
audits_without_ca() { # the loadtest image, told nothing of the CA
    said=$(deploy compose --profile loadtest run --rm -T --entrypoint audit loadtest --redis rediss://auditor@redis \
        --redis-password /run/secrets/redis-auditor --sale s 2>&1)
    [ $? -eq 2 ] || { echo "$said" && return 1; }
    case $said in *"give who signed it, --redis-ca FILE"*) ;; *) echo "$said" && return 1 ;; esac
}
follows() { redis_cli "$1" info replication | grep -q '^master_link_status:up'; }
comes_back() { docker restart -t 5 "$(containers redis)" >/dev/null && within 30 all_ready; }
remembers() { deploy compose config | grep -q redis-server.key; }

export EXTRA=docker/redis-tls.yaml
need "single: up" deploy up single
unset EXTRA
need "single: all are ready" within 30 all_ready
check "it is remembered" remembers
check "a plain client gets no answer" is_plain_refused redis
check "nor one that does not know the CA" is_refused_without_ca redis
check "the auditor without the CA is told what is missing" audits_without_ca
check "the copy follows, over TLS" within 20 follows replica
need "a load begins" load_begin --buyers 3000 --stock 1600 --pace 400 --connections 100
check "Redis starts again under load, and all are ready" comes_back
check "the audit holds" load_end 60
check "down" deploy down --volumes
for kind in sentinel cluster; do
    export EXTRA=docker/redis-tls.yaml
    need "$kind: up" deploy up "$kind"
    unset EXTRA
    need "$kind: all are ready" within 30 all_ready
    check "$kind: a load, and its audit" deploy demo --buyers 3000 --stock 500 --connections 100
    check "$kind: down" deploy down --volumes
done
checks_end
