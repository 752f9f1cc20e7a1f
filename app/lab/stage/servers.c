/*
 * See servers.h. One thread.
 */
#include "servers.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "lab/tap/tap.h"
#include "start/redis_child.h"

enum { LIMIT_MS = 30000, LOOK_MS = 2 };

struct server {
    struct redis_child *child; /* owned; NULL: it is down */
    lk_client *client;         /* owned, while it is up */
};

struct servers {
    char dir[PATH_MAX];
    struct server list[SERVERS_MAX];
    char sockets[SERVERS_MAX][PATH_MAX];
};

static struct server *at(struct servers *self, unsigned server)
{
    return &self->list[server - 1];
}

static bool is_done(lk_reply *reply)
{
    bool is_ok = lk_reply_type_of(reply) == LK_REPLY_STRING;

    lk_reply_free(reply);
    return is_ok;
}

/* ---- life ------------------------------------------------------------------------------------------ */

struct servers *servers_new(const char *dir)
{
    struct servers *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    (void)snprintf(self->dir, sizeof self->dir, "%s", dir);
    return self;
}

void servers_free(struct servers *self)
{
    if (!self) return;
    for (unsigned server = 1; server <= SERVERS_MAX; server++)
        servers_kill(self, server); /* there is nothing to save */
    free(self);
}

void servers_kill(struct servers *self, unsigned server)
{
    lk_client_close(at(self, server)->client);
    redis_child_kill(at(self, server)->child);
    *at(self, server) = (struct server){0};
}

/* So that it knows the script of a release, and is a primary that does not wait before it feeds a replica. */
static bool make_ready(lk_client *client)
{
    lk_lock *lock = lk_mutex_new(client, "{rehearsal}:mutex", NULL);
    bool is_ready =
        lock && lk_lock_acquire(lock, NULL, NULL) == LK_OK && lk_lock_release(lock, NULL) == LK_OK;

    lk_lock_free(lock);
    return is_ready && is_done(SERVERS_ASK(client, "CONFIG", "SET", "repl-diskless-sync", "yes")) &&
           is_done(SERVERS_ASK(client, "CONFIG", "SET", "repl-diskless-sync-delay", "0"));
}

bool servers_start(struct servers *self, unsigned server, struct start_error *why)
{
    struct server *started = at(self, server);
    char dir[PATH_MAX];

    if (snprintf(dir, sizeof dir, "%s/redis-%u", self->dir, server) >= (int)sizeof dir ||
        (mkdir(dir, 0700) != 0 && errno != EEXIST))
        return start_error_say(why, "%s: %s", dir, strerrordesc_np(errno));
    started->child = redis_child_start_in_memory(dir, why);
    if (!started->child) return false;
    started->client = lk_client_open(
        &(struct lk_client_options){.url = redis_child_url(started->child), .command_ms = LIMIT_MS},
        NULL);
    if (started->client && make_ready(started->client)) {
        (void)snprintf(self->sockets[server - 1], PATH_MAX, "%s",
                       redis_child_url(started->child) + sizeof "unix://" - 1);
        return true;
    }
    servers_kill(self, server);
    return start_error_say(why, "redis-%u does not do what a lock needs", server);
}

bool servers_prepare(struct servers *self, unsigned count, struct start_error *why)
{
    for (unsigned server = 1; server <= count; server++) {
        lk_client *client = servers_client(self, server);

        if (!client) {
            if (!servers_start(self, server, why)) return false;
        } else if (!servers_promote(self, server, why) ||
                   !is_done(SERVERS_ASK(client, "FLUSHALL"))) {
            return start_error_say(why, "redis-%u cannot be made empty", server);
        }
    }
    return true;
}

lk_client *servers_client(const struct servers *self, unsigned server)
{
    return self->list[server - 1].client;
}

const char *servers_socket(const struct servers *self, unsigned server)
{
    return self->sockets[server - 1];
}

/* ---- replicas -------------------------------------------------------------------------------------- */

bool servers_follow(struct servers *self, unsigned server, int port, struct start_error *why)
{
    char number[16];

    (void)snprintf(number, sizeof number, "%d", port);
    return is_done(SERVERS_ASK(servers_client(self, server), "REPLICAOF", "127.0.0.1", number)) ||
           start_error_say(why, "redis-%u does not want to be a replica", server);
}

bool servers_promote(struct servers *self, unsigned server, struct start_error *why)
{
    return is_done(SERVERS_ASK(servers_client(self, server), "REPLICAOF", "NO", "ONE")) ||
           start_error_say(why, "redis-%u does not want to be the primary", server);
}

/* ROLE of the one: "slave", host, port, "connected", offset; of the other: "master", offset, those who are
   in step. */
static bool is_in_step(struct servers *self, unsigned primary, unsigned replica)
{
    lk_reply *there = SERVERS_ASK(servers_client(self, replica), "ROLE");
    lk_reply *here = SERVERS_ASK(servers_client(self, primary), "ROLE");
    struct lk_bytes state = lk_reply_bytes(lk_reply_at(there, 3));
    bool is_there = state.data && strcmp(state.data, "connected") == 0 &&
                    lk_reply_count(lk_reply_at(here, 2)) > 0;

    lk_reply_free(there);
    lk_reply_free(here);
    return is_there;
}

bool servers_await_replica(struct servers *self, unsigned primary, unsigned replica,
                           struct start_error *why)
{
    int64_t deadline_ms = clock_mono_ms() + LIMIT_MS;

    while (!is_in_step(self, primary, replica)) {
        if (tap_is_interrupted() || clock_mono_ms() >= deadline_ms)
            return start_error_say(why, "redis-%u does not follow redis-%u", replica, primary);
        clock_pause_ms(LOOK_MS);
    }
    return true;
}

/* ---- asking ---------------------------------------------------------------------------------------- */

lk_reply *servers_ask(lk_client *client, const char *const words[SERVERS_WORDS + 1])
{
    struct lk_bytes args[SERVERS_WORDS];
    struct lk_command command = {.args = args};
    lk_reply *reply = NULL;

    while (words[command.count]) {
        args[command.count] = lk_bytes_of(words[command.count]);
        command.count++;
    }
    if (lk_client_call(client, &command, 1, LIMIT_MS, &reply, NULL) != LK_OK) return NULL;
    return reply;
}
