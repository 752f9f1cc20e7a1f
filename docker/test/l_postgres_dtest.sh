#!/bin/sh
# With a PostgreSQL: new sales have their lock there, all orders are in its book, and it may go away and come back.
. "$(dirname "$0")/lib.sh"
export WITH=postgres,book SECKILL_GUARD=postgres

in_postgres() { docker exec -i "$(containers postgres)" start.sh run "$@"; }
booked() { in_postgres psql -Atqc 'SELECT count(*) FROM seckill_book.orders'; }
ordered() { redis_cli redis eval "local n = 0 for _, id in ipairs(redis.call('SMEMBERS', 'seckill:sales')) do n = n + redis.call('HLEN', 'seckill:{' .. id .. '}:orders') end return n" 0; }
all_booked() {
    booked=$(booked)
    if [ "$booked" -eq 0 ] || [ "$booked" != "$(ordered)" ]; then echo "$booked of $(ordered)" && return 1; fi
}
saves() { in_postgres pg_dump -Fc >"$WORK/book.dump"; }
# The book of a moment ago, as a whole or not at all: who writes it may be in the way.
restores() { in_postgres pg_restore -d seckill --clean --if-exists --single-transaction <"$WORK/book.dump"; }
comes_back() { within 20 restores && within 20 all_booked; }

need "up" deploy up single
keeps() { (unset WITH SECKILL_GUARD && docker/deploy.sh compose config) | grep -q 'SECKILL_BOOK: postgres://seckill@postgres/seckill'; }
check "an instance that is made anew later, by an upgrade, has what it was begun WITH" keeps
sold() { deploy demo --stock 300 --buyers 3000 --connections 100 --quiet --keep "$@"; }
check "a load under a lock in PostgreSQL passes the audit" sold
docker stop -t 20 "$(containers postgres)" >/dev/null
check "while it is away the instances are ready all the same" all_ready
check "and sell what needs no lock there" sold --guard mutex
docker start "$(containers postgres)" >/dev/null
check "it comes back" within 30 sold
check "the book has every order of all that, each once" within 20 all_booked
check "it is saved" saves
check "what is sold then" sold --guard mutex
check "is in the book again behind a restore" comes_back
forgets() { redis_cli redis flushall && within 20 all_booked; }
check "Redis that forgets all of it has it again from the book" forgets
check "where units are its own, too" sold --guard database
checks_end
