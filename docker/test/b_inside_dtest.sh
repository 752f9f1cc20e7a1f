#!/bin/sh
# What a process is and may be inside each container, asked of the kernel and not of the compose file;
# what can be reached from where; who may do what in Redis; and how big and how quick the image is.
. "$(dirname "$0")/lib.sh"
[ "$(command id -u)" = 0 ] || { echo "1..0 # SKIP looks into other users' processes: needs root"; exit 0; }

services="loadtest redis replica seckilld-1 seckilld-2 seckilld-3 haproxy prometheus" # the load goes on for seconds

# ---- processes ---------------------------------------------------------------------------------------
pids() { docker top "$(containers "$1")" -eo pid | sed 1d; }
# PID: it has ended meanwhile, as a health check does: nothing can be said of it.
is_gone() { sleep 0.3 && [ ! -e "/proc/$1" ]; }

# SERVICE: no root, no capability, no way to get one, a filter of system calls.
is_nobody() {
    for pid in $(pids "$1"); do
        awk -v pid="$pid" '
            /^[UG]id:/ { for (i = 2; i <= 5; i++) if ($i != 10001) bad = bad " " $1 $i }
            /^Groups:/ { for (i = 2; i <= NF; i++) if ($i != 10001) bad = bad " " $1 $i }
            /^Cap(Inh|Prm|Eff|Bnd|Amb):/ { caps++; if ($2 !~ /^0+$/) bad = bad " " $1 $2 }
            /^NoNewPrivs:/ { seen++; if ($2 != 1) bad = bad " " $1 $2 }
            /^Seccomp:/ { seen++; if ($2 != 2) bad = bad " " $1 $2 }
            END { if (bad || caps != 5 || seen != 2) { print "pid " pid ":" bad; exit 1 } }
        ' "/proc/$pid/status" || is_gone "$pid" || return 1
    done
}

# SERVICE: nothing of the root can be written, nothing that can be written in memory can be run.
# /dev: made by the engine, of root's alone; /proc: the engine's masks.
is_read_only() {
    for pid in $(pids "$1"); do
        awk '
            $2 == "/" { root = $4 }
            $3 == "tmpfs" && $4 ~ /^rw/ && $2 != "/dev" && $2 !~ /^\/(proc|sys)\// && $4 !~ /noexec/ { bad = bad " " $2 }
            END {
                if (root !~ /^ro(,|$)/) { print "the root is " substr(root, 1, 2); exit 1 }
                if (bad) { print "executable:" bad; exit 1 }
            }' "/proc/$pid/mounts" || is_gone "$pid" || return 1
    done
    [ "$(docker inspect -f '{{.HostConfig.ReadonlyRootfs}}' "$(containers "$1")")" = true ]
}

refuses_a_file() { # SERVICE: even root of the container, in a folder that is root's
    ! said=$(docker exec -u 0 "$(containers "$1")" sh -c 'echo x >/etc/x' 2>&1) || return 1
    case $said in *"Read-only file system"*) ;; *) echo "$said" && return 1 ;; esac
}

# PID CONTROLLER FILE-OF-V1 FILE-OF-V2: what the control group says.
cgroup() {
    path=$(sed -n "s/^[0-9]*:$2://p" "/proc/$1/cgroup")
    if [ -n "$path" ]; then
        cat "/sys/fs/cgroup/$2$path/$3"
    else
        cat "/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$1/cgroup")/$4"
    fi
}

has_limits() { # SERVICE MiB PIDS FILES
    for pid in $(pids "$1"); do
        memory=$(cgroup "$pid" memory memory.limit_in_bytes memory.max)
        tasks=$(cgroup "$pid" pids pids.max pids.max)
        files=$(awk '/^Max open files/ { print $4 "/" $5 }' "/proc/$pid/limits")
        core=$(awk '/^Max core file size/ { print $6 }' "/proc/$pid/limits")
        [ "$memory" = $(($2 * 1048576)) ] && [ "$tasks" = "$3" ] && [ "$files" = "$4/$4" ] && [ "$core" = 0 ] && continue
        is_gone "$pid" && continue
        echo "pid $pid: memory $memory, pids $tasks, files $files, core $core"
        return 1
    done
}

# ---- secrets -----------------------------------------------------------------------------------------
# The words themselves, a line each, and what is asked of all processes, containers and their logs.
words_of_secrets() {
    for name in redis-admin redis-seckill redis-auditor redis-replica redis-sentinel redis-loader postgres-seckill admin-token token-key token-key-2 payment-key payment-key-2; do
        sed 's/^loader://; q' "$SECKILL_SECRETS/$name"
    done
}
tells_no_secret() { # SERVICE
    words_of_secrets >"$WORK/words"
    {
        for pid in $(pids "$1"); do
            tr '\0' '\n' <"/proc/$pid/cmdline"
            tr '\0' '\n' <"/proc/$pid/environ"
        done
        docker inspect "$(containers "$1")"
        docker logs "$(containers "$1")" 2>&1
    } >"$WORK/told"
    [ "$(wc -l <"$WORK/told")" -gt 50 ] && [ "$(wc -l <"$WORK/words")" = 12 ] && ! grep -F -c -f "$WORK/words" "$WORK/told"
}

has_secrets() { # SERVICE FILE…: these, each for its user alone
    pid=$(pids "$1" | sed -n 1p)
    shift
    found=$(cd "/proc/$pid/root/run/secrets" 2>/dev/null && stat -c '%n %a %u' -- *)
    wanted=$(for name in "$@"; do echo "$name 400 10001"; done | sort)
    [ "$found" = "$wanted" ] || { echo "$found" && return 1; }
}

# ---- networks ----------------------------------------------------------------------------------------
# 127.0.0.11 is the engine's name server.
listens_on() { # SERVICE PORT…: and on nothing else
    pid=$(pids "$1" | sed -n 1p)
    shift
    found=$(awk '$4 == "0A" && $2 !~ /^0B00007F:/ { sub(/.*:/, "", $2); print $2 }' "/proc/$pid/net/tcp" "/proc/$pid/net/tcp6" |
        while read -r port; do echo $((0x$port)); done | sort -nu | tr '\n' ' ')
    [ "$found" = "$*${1:+ }" ] || { echo "$found" && return 1; }
}

# SERVICE ADDRESS PORT: can a process there connect?
reaches() {
    # shellcheck disable=SC2016  # for the bash inside
    nsenter -t "$(pids "$1" | sed -n 1p)" -n timeout 2 bash -c ': <"/dev/tcp/$0/$1"' "$2" "$3" 2>/dev/null
}

published() { # of the whole deployment, as it runs: SERVICE PORT ADDRESS
    for name in $services; do
        docker inspect -f '{{range $port, $at := .NetworkSettings.Ports}}{{range $at}}{{$port}} {{.HostIp}}{{"\n"}}{{end}}{{end}}' \
            "$(containers "$name")" | sed "/./!d; s/^/$name /"
    done
}
publishes_only() {
    found=$(published | sort | tr '\n' ';')
    [ "$found" = "haproxy 8080/tcp $SECKILL_BIND;haproxy 8081/tcp 127.0.0.1;prometheus 9090/tcp 127.0.0.1;" ] || { echo "$found" && return 1; }
}
# As an operator runs it: every door is for this machine, until another SECKILL_BIND is set.
would_publish_only() {
    found=$(env -u SECKILL_PORT -u SECKILL_ADMIN_PORT -u PROMETHEUS_PORT -u SECKILL_BIND docker/deploy.sh compose config |
        sed -n 's/^ *- *"\{0,1\}\([0-9.]*:[0-9]*\):[0-9]*\(\/tcp\)\{0,1\}"\{0,1\}$/\1/p; s/^ *host_ip: */+/p; s/^ *published: *"\{0,1\}\([0-9]*\)"\{0,1\}$/:\1/p' |
        sed ':next; N; s/\n:/:/; tnext; P; D' | tr -d + | sort | tr '\n' ' ')
    [ "$found" = "127.0.0.1:8080 127.0.0.1:8081 127.0.0.1:9090 " ] || { echo "$found" && return 1; }
}

# ---- Redis -------------------------------------------------------------------------------------------
says() { # WORD COMMAND…: its output begins with the word
    word=$1
    shift
    said=$("$@" 2>&1)
    case $said in "$word"*) ;; *) echo "$said" && return 1 ;; esac
}
bare_cli() { docker exec "$(containers redis)" redis-cli --no-auth-warning "$@"; }

# One line each: may or not, user, command.
acl_table() {
    sed 's/ *#.*//; /./!d' <<'TABLE'
may seckill set seckill:ready:{1} 1 PX 60000
may seckill evalsha abc 1 seckill:{cup}:stock
may seckill hget seckill:{cup} state
may seckill hgetall seckill:{cup}:orders
may seckill publish lockkit_wake:seckill:{cup}:lock 1
may seckill subscribe lockkit_wake:seckill:{cup}:lock
may seckill subscribe lockkit_wake:{seckill:node:1}
may seckill del seckill:{cup}
may seckill wait 1 100
may seckill info
not seckill eval return 1 seckill:{cup}
not seckill script load x
not seckill script flush
not seckill get other
not seckill set other 1
not seckill del other
not seckill publish other 1
not seckill subscribe other
not seckill keys *
not seckill scan 0
not seckill flushall
not seckill flushdb
not seckill config get dir
not seckill config set dir /tmp
not seckill debug sleep 1
not seckill module load x
not seckill acl list
not seckill replicaof no one
not seckill shutdown
not seckill client kill id 1
not seckill monitor
not seckill function load x
not seckill rename seckill:a seckill:b
not seckill save
not seckill migrate h 1 seckill:a 0 1
may loader script load x
not loader script flush
not loader script kill
not loader eval return 1
not loader evalsha abc 0
not loader get seckill:{cup}
not loader set seckill:{cup} 1
not loader config get dir
may auditor hgetall seckill:{cup}
may auditor xrange seckill:{cup}:log - +
not auditor set seckill:{cup} 1
not auditor del seckill:{cup}
not auditor get other
not auditor evalsha abc 0
not auditor config get dir
may replica psync ? -1
not replica get seckill:{cup}
not replica set seckill:{cup} 1
not replica config get dir
may sentinel ping
not sentinel get seckill:{cup}
not sentinel set seckill:{cup} 1
not sentinel acl list
not sentinel config get dir
not sentinel flushall
may health ping
not health info
not health get seckill:{cup}
TABLE
}
acl_is_as_said() { # all in one connection
    acl_table >"$WORK/acl"
    sed 's/^[a-z]* /acl dryrun /' "$WORK/acl" | docker exec -i "$(containers redis)" start.sh cli >"$WORK/acl-said"
    [ "$(wc -l <"$WORK/acl")" = "$(wc -l <"$WORK/acl-said")" ] || { echo "answers are missing" && return 1; }
    paste -d '|' "$WORK/acl" "$WORK/acl-said" | awk -F '|' '
        $1 ~ /^may / && $2 != "OK" { print; bad = 1 }
        $1 ~ /^not / && $2 !~ /has no permissions/ { print; bad = 1 }
        END { exit bad }'
}
default_is_off() {
    redis_cli redis acl list | grep '^user default ' >"$WORK/default"
    grep -q '^user default off' "$WORK/default" || { cat "$WORK/default" && return 1; }
}

# ---- the image ---------------------------------------------------------------------------------------
has_no_shell() {
    docker export "$(containers seckilld-1)" | tar -t | grep -v '/$' >"$WORK/files"
    grep -q '^usr/bin/seckilld$' "$WORK/files" || return 1
    # Of programs: seckilld alone (and the loader of its libraries, in lib).
    ! grep -E '(^|/)s?bin/' "$WORK/files" | grep -v '^usr/bin/seckilld$' &&
        ! grep -E '(^|/)(sh|bash|dash|busybox|perl[^/]*|python[^/]*|apt|dpkg|curl)$' "$WORK/files"
}
has_labels() { # IMAGE WORD…
    image=seckill/$1:$SECKILL_TAG
    shift
    for word in "$@"; do
        value=$(docker image inspect -f "{{index .Config.Labels \"org.opencontainers.image.$word\"}}" "$image")
        [ -n "$value" ] || { echo "$image: $word is missing" && return 1; }
    done
}

# A sixth instance, with all that the first has; from `docker run` to the first 200 of /readyz, and since
# its process began.
cold_start() {
    first=$(containers seckilld-1)
    docker inspect -f '{{range .Config.Env}}{{println .}}{{end}}' "$first" | grep SECKILL_ >"$WORK/env"
    mounts="-v ${PROJECT}_operators:/var/lib/seckill"
    for name in redis-seckill redis-loader postgres-seckill admin-token token-key token-key-2 payment-key payment-key-2; do
        mounts="$mounts -v $SECKILL_SECRETS/$name:/run/secrets/$name:ro"
    done
    for _ in 1 2 3 4 5; do
        began=$(date +%s%N)
        # shellcheck disable=SC2086  # words
        cold=$(docker run -d --network "${PROJECT}_back" --env-file "$WORK/env" $mounts \
            --read-only --tmpfs /run/seckill:uid=10001 --cap-drop ALL "seckill/seckilld:$SECKILL_TAG") || return 1
        at=$(docker inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$cold")
        started=$(date +%s%N -d "$(docker inspect -f '{{.State.StartedAt}}' "$cold")")
        tries=0
        until curl -s -f -m 1 -o /dev/null "http://$at:8080/readyz"; do
            tries=$((tries + 1))
            [ "$tries" -lt 500 ] || { docker logs "$cold"; docker rm -f "$cold" >/dev/null; return 1; }
            sleep 0.01
        done
        now=$(date +%s%N)
        docker rm -f "$cold" >/dev/null
        echo "$(((now - began) / 1000000)) $(((now - started) / 1000000))"
    done >"$WORK/cold"
}
median() { awk -v n="$1" '{ print $n }' "$WORK/cold" | sort -n | sed -n 3p; }
is_quick() {
    cold_start || { cat "$WORK/cold" && return 1; }
    [ "$(median 1)" -lt 5000 ]
}

# ---- and so ------------------------------------------------------------------------------------------
need "up" deploy up single
need "a load, for a look at its container" load_begin --stock 300 --buyers 3500 --connections 20 --pace 300
for service in $services; do
    case $service in
    redis | replica) limits='1024 64 4096' ports=6379 secrets='redis-admin redis-replica users.acl' ;;
    seckilld-*) limits='256 2048 8192' ports='8080 8081' secrets='admin-token payment-key payment-key-2 postgres-seckill redis-loader redis-seckill token-key token-key-2' ;;
    haproxy) limits='256 64 20000' ports='8080 8081 8090' secrets= ;;
    prometheus) limits='512 128 4096' ports=9090 secrets= ;;
    loadtest) limits='2048 256 20000' ports='' secrets='admin-token redis-auditor token-key' ;;
    esac
    need "$service: runs" test -n "$(pids "$service")"
    check "$service: user 10001, no capability, no new privileges, system calls filtered" is_nobody "$service"
    check "$service: a root that cannot be written, memory that cannot be run" is_read_only "$service"
    # shellcheck disable=SC2086  # lists
    check "$service: limits of memory, processes and files" has_limits "$service" $limits
    check "$service: no secret in arguments, environment, description or log" tells_no_secret "$service"
    # shellcheck disable=SC2086
    check "$service: its own secrets and no others, for its user alone" has_secrets "$service" $secrets
    # shellcheck disable=SC2086
    check "$service: listens on: ${ports:-nothing}" listens_on "$service" $ports
    case $service in
    loadtest) check "$service reaches nothing outside" not reaches "$service" "$(address haproxy front)" 8080 ;;
    seckilld-*) continue ;;
    esac
    check "$service: refuses a file in its root" refuses_a_file "$service"
done
check "published: buyers' port, and two on loopback" publishes_only
check "published by default: 8080 for all, 8081 and 9090 on loopback" would_publish_only

front=$(address haproxy front)
check "what is on the front network reaches HAProxy there" reaches prometheus "$front" 8080
for service in seckilld-1 redis; do
    check "$service reaches nothing outside" not reaches "$service" "$front" 8080
done
check "seckilld reaches Redis" reaches seckilld-1 "$(address redis back)" 6379
for service in haproxy prometheus; do
    check "$service does not reach Redis" not reaches "$service" "$(address redis back)" 6379
done
check "a stranger on the back network is asked to log in" says NOAUTH bare_cli ping
check "the default user is off" default_is_off
check "and cannot log in" says WRONGPASS bare_cli auth default ""
check "the health check's user can do nothing but that" says NOPERM bare_cli --user health --pass x get seckill:x
check "everybody in Redis may do what they must, and no more" acl_is_as_said
check "the image of seckilld has no shell, no tool" has_no_shell
for image in seckilld loadtest; do
    check "labels of $image" has_labels "$image" title description version revision licenses
done
for image in redis haproxy prometheus; do
    check "labels of $image" has_labels "$image" title description licenses
done
check "the load passes the audit" load_end 60
check "seckilld starts in less than 5 s" is_quick
for image in seckilld redis haproxy prometheus loadtest; do
    size=$(docker image inspect -f '{{.Size}}' "seckill/$image:$SECKILL_TAG")
    echo "# $image: $((size / 1000000)).$((size / 100000 % 10)) MB"
done
echo "# seckilld: ready $(median 1) ms after docker run, $(median 2) ms after its process began (median of 5)"
checks_end
