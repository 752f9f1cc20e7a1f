#!/bin/sh
# The deployment by one word (make up, down, docker-demo):
#   deploy.sh up [single|sentinel|cluster]   secrets, images, start, wait until all are ready [single]
#   deploy.sh down [--volumes]               stop all; with --volumes what was sold is deleted, too
#   deploy.sh build                          the images alone; PLATFORMS=linux/amd64,linux/arm64 [this engine's]
#   deploy.sh demo [FLAG…]                   load through HAProxy, audit, verdict; FLAGs of loadtest;
#                                            OUT=DIR keeps result.json and ledgers (DIR: writable by all)
#   deploy.sh audit SALE [FLAG…]             judge one sale by what Redis holds; FLAGs of audit; OUT is /out there
#   deploy.sh compose WORD…                  docker compose, for this deployment: logs -f, ps, exec redis …
# The kind, EXTRA and WITH are kept in docker/.kind for demo and compose. PROJECT names another deployment [seckill],
# WITH=postgres|zookeeper|book, or some with commas: with such a server; new sales are the guard's of the last of the first two, and every order is
# in the book. KIND_FILE its kind's file; EXTRA compose files on top, blanks between; ENV_FILE instead of docker/.env; NO_BUILD=1: up takes the images that are there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
project=${PROJECT:-seckill}
. "$here/containers.sh"
kind_file=${KIND_FILE:-$here/.kind}
with=$(echo "${WITH-}" | tr ',' ' ')

die() {
    echo "deploy: $*" >&2
    exit 1
}

need_engine() {
    command -v docker >/dev/null || die "docker is not installed: make docker-deps, or see docs.docker.com/engine/install"
    docker info >/dev/null 2>&1 || die "no docker engine answers: start it (systemctl start docker), or join the group docker"
}

# What differs by kind: who takes the writes, and what is started besides.
set_kind() {
    profiles='' tls='' with_services=''
    case ${EXTRA-} in *redis-tls.yaml*) tls=s ;; esac
    case $1 in
    single) stores="redis replica" ;;
    sentinel)
        profiles="--profile sentinel"
        stores="redis replica replica-2 sentinel-1 sentinel-2 sentinel-3"
        hosts=sentinel-1:26379,sentinel-2:26379,sentinel-3:26379
        export SECKILL_REDIS="redis$tls+sentinel://seckill@$hosts/seckill"
        export REDIS_SENTINELS="sentinel-1 sentinel-2 sentinel-3"
        ;;
    cluster)
        profiles="--profile cluster"
        stores="node-1 node-2 node-3 node-4 node-5 node-6"
        export SECKILL_REDIS="redis$tls+cluster://seckill@node-1,node-2,node-3,node-4,node-5,node-6"
        ;;
    *) die "\"$1\" is none of single, sentinel, cluster" ;;
    esac
    redis=${SECKILL_REDIS:-redis$tls://seckill@redis:6379}
    for server in $with; do
        guard=$server
        case $server in
        postgres) export SECKILL_POSTGRES=postgres://seckill@postgres/seckill ;;
        zookeeper) export SECKILL_ZOOKEEPER=zookeeper://zookeeper/seckill ;;
        book) export SECKILL_BOOK=postgres://seckill@postgres/seckill && server=postgres guard='' ;;
        *) die "\"$server\" is none of postgres, zookeeper, book" ;;
        esac
        profiles="$profiles --profile $server" stores="$stores $server" with_services="$with_services $server"
        [ -z "$guard" ] || with_guard=$guard
    done
    [ -z "${with_guard-}" ] || export SECKILL_GUARD="${SECKILL_GUARD:-$with_guard}"
}

kind() { sed -n 1p "$kind_file" 2>/dev/null | grep . || echo single; }

# docker compose v2, or docker-compose 1.29.
compose() {
    extra=
    SECKILL_BUILD_PLATFORM=${SECKILL_BUILD_PLATFORM:-$(docker version -f '{{.Server.Os}}/{{.Server.Arch}}')}
    export SECKILL_BUILD_PLATFORM
    for file in ${EXTRA-}; do extra="$extra -f $file"; done
    # shellcheck disable=SC2086  # words
    if docker compose version >/dev/null 2>&1; then
        docker compose ${ENV_FILE:+--env-file "$ENV_FILE"} -p "$project" -f "$here/compose.yaml" $extra "$@"
    elif command -v docker-compose >/dev/null; then
        docker-compose ${ENV_FILE:+--env-file "$ENV_FILE"} -p "$project" -f "$here/compose.yaml" $extra "$@"
    else
        die "neither docker compose nor docker-compose is installed: make docker-deps"
    fi
}

# This engine's own, or of another: those have names by it, seckill/redis:latest-arm64.
build_for() { # PLATFORM
    case $1 in
    "$SECKILL_BUILD_PLATFORM") ;;
    linux/arm64) SECKILL_CROSS=aarch64-linux-gnu ;;
    linux/amd64) SECKILL_CROSS=x86_64-linux-gnu ;;
    *) die "\"$1\" is none of linux/amd64, linux/arm64" ;;
    esac
    if [ -n "${SECKILL_CROSS-}" ]; then
        SECKILL_ARCH=${1#linux/}
        SECKILL_TAG=${SECKILL_TAG:-latest}-$SECKILL_ARCH
        SECKILL_BASE=$(PLATFORM=$1 "$here/base-image.sh") || exit
        export SECKILL_CROSS SECKILL_ARCH SECKILL_TAG SECKILL_BASE DOCKER_DEFAULT_PLATFORM="$1"
        export DOCKER_BUILDKIT=1 COMPOSE_DOCKER_CLI_BUILD=1 # the old builder cannot have stages of two platforms
        # Since docker 23 BuildKit is a program of its own.
        [ "$(docker version -f '{{.Client.Version}}' | cut -d. -f1)" -lt 23 ] || docker buildx version >/dev/null 2>&1 ||
            "$here/../.ci/deps" docker-buildx
    fi
    echo "deploy: building images on $SECKILL_BASE (the first time takes minutes)"
    log=$(mktemp)
    # shellcheck disable=SC2086  # words
    if ! compose --profile loadtest --profile postgres --profile zookeeper build seckilld-1 loadtest redis haproxy prometheus $with_services >"$log" 2>&1; then
        tail -n 25 "$log" >&2
        die "an image could not be built; all of it: $log"
    fi
    rm -f "$log"
}

build() {
    (cd "$here/.." && make -s build/web/uplot/uplot.js build/web/uplot/uplot.css)
    SECKILL_BASE=${SECKILL_BASE:-$("$here/base-image.sh")}
    SECKILL_BUILD_PLATFORM=$(docker version -f '{{.Server.Os}}/{{.Server.Arch}}')
    SECKILL_REVISION=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)
    export SECKILL_BASE SECKILL_BUILD_BASE="$SECKILL_BASE" SECKILL_BUILD_PLATFORM SECKILL_REVISION
    for platform in $(echo "${PLATFORMS:-$SECKILL_BUILD_PLATFORM}" | tr , ' '); do (build_for "$platform") || exit; done
}

# Until all of these are well; 90 s.
wait_ready() {
    until=$(($(date +%s) + 90))
    for service in "$@"; do
        until is_well "$service"; do
            if [ "$(date +%s)" -ge "$until" ]; then
                docker logs --tail 5 "$(containers "$service")" >&2
                die "$service is not ready after 90 s"
            fi
            sleep 0.3
        done
    done
}

# The one that makes the cluster ends when all nodes agree.
wait_cluster() {
    if [ "$(timeout 90 docker wait "$(containers create-cluster)")" != 0 ]; then
        docker logs --tail 10 "$(containers create-cluster)" >&2
        die "the cluster could not be made"
    fi
}

# Until a Sentinel knows the two others and both copies: before that it could not fail over.
wait_sentinels() {
    for _ in $(seq 100); do
        docker exec "$(containers sentinel-1)" start.sh cli -p 26379 sentinel master seckill | tr -d '\r' | paste -s -d ' ' |
            grep -q 'num-slaves 2 num-other-sentinels 2 ' && return
        sleep 0.3
    done
    docker logs --tail 10 "$(containers sentinel-1)" >&2
    die "the Sentinels do not know all others after 30 s"
}

# Before minutes of images: somebody else's port. SETTING=DEFAULT…
refuse_taken() {
    [ -z "$(containers haproxy)" ] || return 0 # it is ours
    for setting in "$@"; do
        name=${setting%=*}
        port=$(eval "echo \"\${$name-}\"")
        [ -n "$port" ] || port=$(sed -n "s/^$name=\([0-9]*\).*/\1/p" "${ENV_FILE:-$here/.env}" 2>/dev/null | tail -n 1)
        port=${port:-${setting#*=}}
        [ "$port" = 0 ] || ! grep -qi ":$(printf %04x "$port") 0*:0000 0A " /proc/net/tcp /proc/net/tcp6 ||
            die "port $port is taken: set $name in docker/.env, or stop who has it (ss -ltnp sport = :$port)"
    done
}

# After Sentinel has failed over, redis is a copy, and without Sentinel nothing would make it anything else.
refuse_copy() {
    # shellcheck disable=SC2046  # ids
    if docker inspect -f '{{.State.Running}}' $(containers sentinel-1 sentinel-2 sentinel-3) 2>/dev/null | grep -qx true; then
        die "Sentinels run, and may make another one the primary: go on with make up KIND=sentinel, or make down first"
    fi
    compose up -d --no-build redis
    wait_ready redis
    docker exec "$(containers redis)" start.sh cli role | grep -qx master ||
        die "redis is a copy since Sentinel failed over, and takes no writes: go on with make up KIND=sentinel"
}

up() {
    set_kind "${1:-single}"
    need_engine
    refuse_taken SECKILL_PORT=8080 SECKILL_ADMIN_PORT=8081 PROMETHEUS_PORT=9090
    "$here/secrets.sh" "${SECKILL_SECRETS:-$here/secrets}" ${tls:+tls}
    [ -n "${NO_BUILD-}" ] || build
    volumes >"$kind_file.volumes"
    [ "${1:-single}" != single ] || refuse_copy
    # shellcheck disable=SC2086  # words
    printf '%s\n%s\n%s\n' "${1:-single}" "${EXTRA:+$(realpath $EXTRA | tr '\n' ' ')}" "$with" >"$kind_file"
    services="$stores seckilld-1 seckilld-2 seckilld-3 haproxy prometheus"
    maker=
    [ "${1-}" != cluster ] || maker=create-cluster
    # shellcheck disable=SC2086  # lists
    compose $profiles up -d --no-build $services $maker
    # docker-compose 1.29 makes those of every kind: what it made just now, and nobody uses, is empty.
    volumes | grep -vxFf "$kind_file.volumes" | xargs -r docker volume rm >/dev/null 2>&1 || true
    rm -f "$kind_file.volumes"
    [ -z "$maker" ] || wait_cluster
    # shellcheck disable=SC2086  # a list
    wait_ready $services
    [ "${1-}" != sentinel ] || wait_sentinels
    port=$(compose port haproxy 8080) admin=$(compose port haproxy 8081) prometheus=$(compose port prometheus 9090)
    echo "deploy: $redis is sold by three instances"
    echo "  buyers      http://$port/"
    echo "  operators   http://$admin/dashboard   token: ${SECKILL_SECRETS:-$here/secrets}/admin-token"
    echo "  Prometheus  http://$prometheus/alerts"
    case $port in 127.*) echo "              for this machine alone: SECKILL_BIND=0.0.0.0 in docker/.env opens it, see \"For real\" in docker/GUIDE.md" ;; esac
    echo "  try         make docker-demo; make down"
    echo "  restart     docker/upgrade.sh --restart   one instance after the other: for new secrets or settings"
}

volumes() { docker volume ls -q --filter "label=com.docker.compose.project=$project"; }

down() {
    need_engine
    set_kind single
    compose --profile loadtest --profile sentinel --profile cluster --profile postgres --profile zookeeper down --remove-orphans "$@"
    rm -f "$kind_file"
}

need_up() { [ -n "$(containers haproxy)" ] || die "nothing is up: make up"; }

audit() { # SALE [FLAG…]
    set_kind "$(kind)"
    need_engine
    need_up
    sale=$1
    shift
    OPERATORS=${OPERATORS-/var/lib/seckill/operators.ndjson} # empty: a sale that is older than that log
    audited=$(printf %s "$redis" | sed 's|//seckill@|//auditor@|')
    # shellcheck disable=SC2086
    compose --profile loadtest $profiles run --rm -T ${OUT:+-v "$OUT:/out"} --entrypoint audit loadtest \
        --redis "$audited" --redis-password /run/secrets/redis-auditor ${tls:+--redis-ca /run/secrets/redis-ca.crt} --sale "$sale" \
        ${OPERATORS:+--operators "$OPERATORS"} "$@"
}

demo() {
    set_kind "$(kind)"
    need_engine
    need_up
    audited=$(printf %s "$redis" | sed 's|//seckill@|//auditor@|')
    out=/run/seckill
    [ -z "${OUT-}" ] || out=/out
    # shellcheck disable=SC2086
    compose --profile loadtest $profiles run --rm -T ${OUT:+-v "$OUT:/out"} loadtest \
        --url http://haproxy:8090 --admin-url http://haproxy:8081 --admin-token /run/secrets/admin-token \
        --tokens --token-key /run/secrets/token-key --redis "$audited" --redis-password /run/secrets/redis-auditor \
        ${tls:+--redis-ca /run/secrets/redis-ca.crt} \
        ${SECKILL_GUARD:+--guard "$SECKILL_GUARD"} --wrk-dir /usr/local/share/seckill/wrk --out "$out" "$@"
}

word=${1-}
[ $# -eq 0 ] || shift
if [ "$word" != up ]; then
    EXTRA=${EXTRA-$(sed -n 2p "$kind_file" 2>/dev/null || true)}
    [ -n "${WITH+given}" ] || with=$(sed -n 3p "$kind_file" 2>/dev/null || true)
fi
case $word in
up) up "$@" ;;
down) down "$@" ;;
build)
    set_kind single
    need_engine
    build
    ;;
demo) demo "$@" ;;
audit)
    [ $# -gt 0 ] || die "audit: which sale?"
    audit "$@"
    ;;
compose)
    set_kind "$(kind)"
    need_engine
    # shellcheck disable=SC2086
    compose $profiles "$@"
    ;;
*)
    sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
