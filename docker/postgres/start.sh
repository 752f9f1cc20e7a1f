#!/bin/sh
# What the container of PostgreSQL runs: start.sh [check | run PROGRAM…: pg_dump, psql, as seckill]. Made when /data is empty: database and user seckill, who
# comes in from the back network with the password of a secret, and nobody else. It is synchronous (fsync).
set -eu
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
if [ "${1-}" = check ]; then exec pg_isready -q -h /tmp -d seckill; fi
if [ "${1-}" = run ]; then
    shift
    export PGHOST=/tmp PGUSER=seckill PGDATABASE=seckill
    PGPASSWORD=$(cat /run/secrets/postgres-seckill) exec "$@"
fi
if [ ! -e /data/db/PG_VERSION ]; then
    rm -rf /data/db /data/new # one that was killed half-way
    initdb -D /data/new -U seckill -A scram-sha-256 --pwfile /run/secrets/postgres-seckill -E UTF8 --locale=C >/dev/null
    echo 'host all seckill all scram-sha-256' >>/data/new/pg_hba.conf
    echo 'CREATE DATABASE seckill;' | postgres --single -D /data/new postgres >/dev/null
    sync -f /data/new
    mv /data/new /data/db
fi
exec postgres -D /data/db -k /tmp -c 'listen_addresses=*' -c max_connections=300 -c tcp_user_timeout=3s \
    -c tcp_keepalives_idle=1 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=3
