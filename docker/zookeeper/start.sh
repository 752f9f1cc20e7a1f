#!/bin/bash
# What the container of ZooKeeper runs: start.sh [check]. One server, which anybody on the back network may ask; each
# write is on the disk before it is answered.
set -eu
if [ "${1-}" = check ]; then
    exec 3<>/dev/tcp/127.0.0.1/2181
    echo srvr >&3
    exec grep -q Mode: <&3
fi
printf '%s\n' tickTime=1000 dataDir=/data clientPort=2181 maxClientCnxns=0 admin.enableServer=false \
    '4lw.commands.whitelist=srvr' preAllocSize=4096 autopurge.purgeInterval=1 autopurge.snapRetainCount=3 >/tmp/zoo.cfg
exec java -Xmx128m -XX:+UseSerialGC -XX:-UsePerfData -Dzookeeper.jmx.log4j.disable=true \
    -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar \
    org.apache.zookeeper.server.ZooKeeperServerMain /tmp/zoo.cfg
