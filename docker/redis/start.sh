#!/bin/sh
# What a container of the Redis image runs.
#   start.sh primary [OPTION…]         takes the writes; OPTIONs of redis-server
#   start.sh replica HOST [OPTION…]    a warm copy of HOST, until Sentinel or an operator says otherwise
#   start.sh node [OPTION…]            of a cluster; HOSTNAME is its name there
#   start.sh sentinel HOST             one of three; HOST takes the writes at first
#   start.sh create-cluster HOST…      makes one of the nodes, once
#   start.sh cli WORD…                 redis-cli, as admin
#   start.sh check                     does it answer?
# With SENTINELS="HOST HOST HOST" primary and replica first ask them who takes the writes by now.
# What Sentinel changes (CONFIG REWRITE) is kept in /data; passwords come from /run/secrets. Where a certificate
# is among them, all speak TLS and nothing else.
set -eu
name=$(hostname)
tls=
[ ! -e /run/secrets/redis-server.crt ] || tls="--tls --cacert /run/secrets/redis-ca.crt"

secret() { cat "/run/secrets/$1"; }

cli() { # as admin
    # shellcheck disable=SC2086  # words
    REDISCLI_AUTH=$(secret redis-admin) exec redis-cli $tls --user admin "$@"
}

check() {
    port=6379
    if [ -e /data/sentinel.conf ]; then port=26379; fi
    # shellcheck disable=SC2086  # words
    [ "$(timeout 2 redis-cli $tls -p "$port" --user health --pass - --no-auth-warning ping 2>/dev/null)" = PONG ]
}

# The host that the Sentinels name; empty when none answers.
primary_by_sentinel() {
    for sentinel in ${SENTINELS-}; do
        # shellcheck disable=SC2086  # words
        found=$(timeout 1 redis-cli $tls -h "$sentinel" -p 26379 --user health --pass - --no-auth-warning \
            sentinel get-master-addr-by-name seckill 2>/dev/null | sed -n 1p) || continue
        case $found in '' | *' '*) continue ;; esac
        echo "$found"
        return
    done
}

# CONFIG PORT: what was there of it may be of another time.
write_tls() {
    sed -i '/^tls-/d; /^port /d' "$1"
    [ -n "$tls" ] || return 0
    cat >>"$1" <<END
port 0
tls-port $2
tls-cert-file /run/secrets/redis-server.crt
tls-key-file /run/secrets/redis-server.key
tls-ca-cert-file /run/secrets/redis-ca.crt
tls-auth-clients no
tls-replication yes
END
}

# [HOST]: of whom it is a copy.
write_config() {
    config=/data/redis.conf
    if [ ! -e "$config" ]; then
        umask 077
        printf 'include /etc/seckill/redis.conf\nreplica-announce-ip %s\n' "$name" >"$config"
        [ -z "${1-}" ] || echo "replicaof $1 6379" >>"$config"
    fi
    primary=$(primary_by_sentinel)
    if [ -n "$primary" ]; then
        sed -i '/^replicaof /d' "$config"
        [ "$primary" = "$name" ] || echo "replicaof $primary 6379" >>"$config"
    fi
    sed -i '/^masterauth /d' "$config"
    printf 'masterauth "%s"\n' "$(secret redis-replica)" >>"$config"
    write_tls "$config" 6379
}

write_sentinel() { # HOST
    config=/data/sentinel.conf
    if [ -e "$config" ]; then
        write_tls "$config" 26379
        return
    fi
    for _ in $(seq 60); do # a name that cannot be resolved would hold it up (TILT)
        getent hosts "$1" >/dev/null && break
        sleep 0.5
    done
    umask 077
    {
        echo "include /etc/seckill/sentinel.conf"
        echo "dir /data"
        echo "sentinel announce-ip $name"
        echo "sentinel monitor seckill $1 6379 2"
        echo "sentinel auth-user seckill sentinel"
        echo "sentinel auth-pass seckill $(secret redis-sentinel)"
        echo "sentinel sentinel-user sentinel"
        echo "sentinel sentinel-pass $(secret redis-sentinel)"
        echo "sentinel down-after-milliseconds seckill ${DOWN_AFTER_MS:-2000}"
        echo "sentinel failover-timeout seckill 10000"
        echo "sentinel parallel-syncs seckill 1"
    } >"$config"
    write_tls "$config" 26379
}

wait_for() { # HOST: until it answers, 30 s
    for _ in $(seq 60); do
        # shellcheck disable=SC2086  # words
        if timeout 1 redis-cli $tls -h "$1" --user health --pass - --no-auth-warning ping >/dev/null 2>&1; then return; fi
        sleep 0.5
    done
    echo "start.sh: $1 does not answer" >&2
    exit 1
}

# redis-cli wants addresses here, not names.
create_cluster() {
    addresses=
    for host in "$@"; do
        wait_for "$host"
        addresses="$addresses $(getent ahostsv4 "$host" | awk '{ print $1; exit }'):6379"
    done
    REDISCLI_AUTH=$(secret redis-admin)
    export REDISCLI_AUTH
    # shellcheck disable=SC2086  # words
    if timeout 1 redis-cli $tls -h "$1" --user admin cluster info | grep -q '^cluster_known_nodes:1.$'; then
        # shellcheck disable=SC2086  # a list
        redis-cli $tls --user admin --cluster create $addresses --cluster-replicas 1 --cluster-yes
    fi
    for host in "$@"; do wait_for_cluster "$host"; done
    echo "start.sh: the cluster is complete"
}

wait_for_cluster() { # HOST: until it says that all slots are served, 30 s
    for _ in $(seq 60); do
        # shellcheck disable=SC2086  # words
        if timeout 1 redis-cli $tls -h "$1" --user admin cluster info | grep -q '^cluster_state:ok'; then return; fi
        sleep 0.5
    done
    echo "start.sh: $1 does not see the whole cluster" >&2
    exit 1
}

what=${1:-primary}
[ $# -eq 0 ] || shift
case $what in
primary)
    write_config
    exec redis-server /data/redis.conf "$@"
    ;;
replica)
    host=$1
    shift
    write_config "$host"
    exec redis-server /data/redis.conf "$@"
    ;;
node)
    write_config
    [ -z "$tls" ] || echo "tls-cluster yes" >>/data/redis.conf
    exec redis-server /data/redis.conf --cluster-enabled yes --cluster-config-file /data/nodes.conf \
        --cluster-node-timeout 2000 --cluster-announce-hostname "$name" \
        --cluster-preferred-endpoint-type hostname "$@"
    ;;
sentinel)
    write_sentinel "$1"
    exec redis-server /data/sentinel.conf --sentinel
    ;;
create-cluster) create_cluster "$@" ;;
cli) cli "$@" ;;
check) check ;;
*)
    echo "start.sh: \"$what\" is none of primary, replica, node, sentinel, create-cluster, cli, check" >&2
    exit 2
    ;;
esac
