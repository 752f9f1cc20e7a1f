#!/bin/sh
# Buyers over IPv6: HAProxy serves them, and counts a /64 as one address, as seckilld does.
. "$(dirname "$0")/lib.sh"

haproxy6() { docker inspect -f "{{(index .NetworkSettings.Networks \"${PROJECT}_front\").GlobalIPv6Address}}" "$(containers haproxy)"; }
# Of the bridge, in one /64: the first it has by itself.
FIRST=fd5e:c:1::1 NEIGHBOUR=fd5e:c:1::aaaa:2
add_neighbour() { ip address add "$NEIGHBOUR/64" dev "br-$(docker network inspect -f '{{.Id}}' "${PROJECT}_front" | cut -c1-12)" nodad; }

says() { # STATUS URL CURL-FLAG…
    status=$1 url=$2
    shift 2
    got=$(curl -s -g -m 5 -o /dev/null -w '%{http_code}' "$@" "$url")
    [ "$got" = "$status" ] || { echo "$got" && return 1; }
}
flood() { curl -s -Z --parallel-max 20 -o /dev/null --interface "$FIRST" "$over6?[1-400]" 2>/dev/null; }
limits_the_net() { flood; says 429 "$over6" --interface "$NEIGHBOUR"; }

need "nothing is up, as the network is another one" deploy down --volumes
export EXTRA=docker/ipv6.yaml SECKILL_BIND6=::1 SECKILL_TLS_PORT=0 HAPROXY_ADDRESS_RATE=20
need "up with IPv6" deploy up single
over6=http://[$(haproxy6)]:8080/livez over4=http://$(address haproxy front):8080/livez
need "HAProxy answers over IPv6" within 10 says 200 "$over6"
need "a second address of the same /64" add_neighbour
need "is served" within 5 says 200 "$over6" --interface "$NEIGHBOUR"
check "a flood from one address of a /64 is one from all of it" within 15 limits_the_net
check "and none of those who come over IPv4" says 200 "$over4"
check "it ends in a second, too" within 5 says 200 "$over6" --interface "$NEIGHBOUR"
unset EXTRA
check "down again" deploy down --volumes
checks_end
