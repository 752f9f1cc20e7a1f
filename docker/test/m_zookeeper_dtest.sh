#!/bin/sh
# With a ZooKeeper: new sales have their lock there, and it may go away and come back, with the sessions that it knew.
. "$(dirname "$0")/lib.sh"
export WITH=zookeeper SECKILL_GUARD=zookeeper

need "up" deploy up single
sold() { deploy demo --stock 300 --buyers 3000 --connections 100 --quiet --keep "$@"; }
check "a load under a lock in ZooKeeper passes the audit" sold
docker stop -t 20 "$(containers zookeeper)" >/dev/null
check "while it is away the instances are ready all the same" all_ready
check "and sell what needs no lock there" sold --guard mutex
docker start "$(containers zookeeper)" >/dev/null
check "it comes back" within 30 sold
docker kill "$(containers zookeeper)" >/dev/null
docker start "$(containers zookeeper)" >/dev/null
check "also when it was killed" within 30 sold
checks_end
