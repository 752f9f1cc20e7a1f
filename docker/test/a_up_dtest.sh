#!/bin/sh
# A stranger's first minutes: up, sell, audit.
. "$(dirname "$0")/lib.sh"

need "up" deploy up single
check "all three instances are ready" all_ready
check "HAProxy sees all three" haproxy_says seckilld-3 UP
others() { PROJECT=seckill-other SECKILL_PORT=$(docker port "$(containers haproxy)" 8080/tcp | sed -n 's/.*://p;q') deploy up single 2>&1; }
is_refused() {
    if said=$(others); then return 1; fi
    case $said in *" is taken: set SECKILL_PORT"*) ;; *) echo "$said" && return 1 ;; esac
}
check "a port that somebody else has is named at once" is_refused
every_volume_is_used() {
    for volume in $(docker volume ls -q --filter "label=com.docker.compose.project=$PROJECT"); do
        docker ps -aq --filter "volume=$volume" | grep -q . || { echo "$volume: nobody uses it" && return 1; }
    done
}
check "no volume is there that nobody uses" every_volume_is_used
says_its_durability() { curl -s "http://$(docker port "$(containers haproxy)" 8081/tcp)/version" | grep '"durability":"appendfsync-always"'; }
check "it says what a crash of Redis can cost" says_its_durability
check "a load through HAProxy passes the audit" deploy demo --stock 500 --buyers 5000 --connections 200 --quiet
checks_end
