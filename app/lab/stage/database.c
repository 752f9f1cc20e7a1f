/*
 * See database.h. The only file of the lab that knows libpq: of its results.
 */
#include "database.h"

#include <glob.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "lockkit/lockkit.h"
#include "lockkit/postgres.h"

#include "base/clock.h"
#include "lab/tap/tap.h"
#include "own_server.h"

enum { START_MS = 60000, LOOK_MS = 20 };

struct database {
    struct own_server server;
    char socket[PATH_MAX + 32];
    lk_client *client; /* owned */
};

bool database_is_here(void)
{
    glob_t found = {0};
    /* it reads no environment: NOLINTNEXTLINE(concurrency-mt-unsafe) */
    bool is_here = glob("/usr/{lib/postgresql/*/,}bin/initdb", GLOB_BRACE, NULL, &found) == 0;

    globfree(&found);
    return is_here;
}

/* It is there once it lets us in. */
static bool connect_to(struct database *self, struct start_error *why)
{
    int64_t deadline_ms = clock_mono_ms() + START_MS;
    char url[PATH_MAX + 64];

    (void)snprintf(url, sizeof url, "postgres://postgres@/postgres?host=%s&port=5432",
                   self->server.dir);
    while (!self->client && own_server_runs(&self->server) && clock_mono_ms() < deadline_ms &&
           !tap_is_interrupted()) {
        self->client = lk_client_open(&(struct lk_client_options){.url = url}, NULL);
        if (!self->client) clock_pause_ms(LOOK_MS);
    }
    return self->client || start_error_say(why, "the lab's PostgreSQL does not start");
}

struct database *database_start(const char *dir, struct start_error *why)
{
    static const char *const words[OWN_SERVER_WORDS] = {"5432", "listen_addresses=", "fsync=off"};
    struct database *self = calloc(1, sizeof *self);

    if (!self) {
        (void)start_error_say(why, "out of memory");
    } else if (!own_server_start(&self->server, "postgres_server", dir, words, why) ||
               !connect_to(self, why)) {
        database_stop(self);
        self = NULL;
    } else {
        (void)snprintf(self->socket, sizeof self->socket, "%s/.s.PGSQL.5432", self->server.dir);
    }
    return self;
}

void database_stop(struct database *self)
{
    if (!self) return;
    lk_client_close(self->client);
    own_server_stop(&self->server);
    free(self);
}

const char *database_socket(const struct database *self)
{
    return self->socket;
}

bool database_clear(struct database *self, struct start_error *why)
{
    static const char clear[] =
        "DO $$ BEGIN DROP SCHEMA IF EXISTS seckill CASCADE; CREATE SCHEMA seckill;"
        " CREATE TABLE seckill.lease (name text PRIMARY KEY, until timestamptz NOT NULL,"
        " owner text NOT NULL DEFAULT pg_catalog.current_setting('application_name'));"
        " CREATE TABLE seckill.goods AS SELECT 2 AS units; END $$";
    char ignored[2];

    return (own_server_runs(&self->server) && /* else its last process may answer still */
            database_ask(self, clear, ignored, sizeof ignored)) ||
           start_error_say(why, "the lab's PostgreSQL cannot be made empty");
}

bool database_ask(struct database *self, const char *sql, char *out, size_t size)
{
    return database_ask_by(self->client, sql, out, size);
}

bool database_ask_by(lk_client *client, const char *sql, char *out, size_t size)
{
    PGresult *answer = NULL;

    if (lk_postgres_ask(client, &(struct lk_postgres_work){.sql = sql}, 0, &answer, NULL) != LK_OK)
        return false;
    (void)snprintf(out, size, "%s", PQntuples(answer) > 0 ? PQgetvalue(answer, 0, 0) : "");
    PQclear(answer);
    return true;
}
