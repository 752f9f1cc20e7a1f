/*
 * A lock in ShedLock's table: its columns, its times in UTC without a zone. An expired row is taken over; rows are
 * never deleted.
 */
#include "lockkit/postgres.h"

#include "base/error.h"
#include "postgres.h"

#define UTC  "timezone('utc', clock_timestamp())"
#define MINE " WHERE name = $1 AND right(locked_by, length($2)) = $2 AND lock_until > " UTC

const struct postgres_words postgres_shedlock = {
    .make = "INSERT INTO public.shedlock (name, lock_until, locked_at, locked_by)"
            " VALUES ($1, 'epoch', 'epoch', '') ON CONFLICT DO NOTHING",
    .acquire = "WITH won AS (UPDATE public.shedlock SET locked_by = $3::text || ' ' || $2::text,"
               " locked_at = " UTC ", lock_until = " UTC " + $4::bigint * interval '1 ms'"
               " WHERE name = $1 AND lock_until <= " UTC " RETURNING 1)"
               " SELECT (SELECT 1 FROM won),"
               " ceil(extract(epoch FROM greatest(lock_until - " UTC ", '0')) * 1000)::bigint,"
               " $5::bigint < 0 FROM public.shedlock WHERE name = $1",
    .renew = "UPDATE public.shedlock SET lock_until ="
             " greatest(lock_until, " UTC " + $3::bigint * interval '1 ms')" MINE " RETURNING 1",
    .release = "UPDATE public.shedlock SET lock_until = " UTC " WHERE name = $1"
               " AND ($2::text IS NULL OR right(locked_by, length($2)) = $2)"
               " AND lock_until > " UTC " RETURNING 1",
    .check = "SELECT " POSTGRES_TRANSACTION " FROM public.shedlock" MINE " FOR UPDATE",
};

lk_lock *lk_shedlock_new(lk_client *client, const char *key, struct lk_error *err)
{
    if (client && client->backend) return client->backend->lock_new(client, "shedlock", key, err);
    (void)LKI_FAIL(err, LK_INVALID, "ShedLock's table is looked for in PostgreSQL");
    return NULL;
}
