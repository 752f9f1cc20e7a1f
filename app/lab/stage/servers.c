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
#include "start/private_server.h"

enum { LIMIT_MS = 30000, LOOK_MS = 2 };

struct server {
    struct private_server *child; /* owned; NULL: it is down */
    lk_client *client;            /* owned, while it is up */
    bool is_in_cluster;
    bool is_away;      /* it is up, and nobody reaches it */
    bool is_replica;   /* it has followed another one until now */
    unsigned followed; /* so often it was told to */
};

struct servers {
    char dir[PATH_MAX];
    struct server list[1 + SERVERS_MAX]; /* the first is the shop's */
    char sockets[1 + SERVERS_MAX][PATH_MAX];
    struct database *database; /* owned; NULL: not wanted yet */
    struct ensemble *ensemble; /* likewise */
};

static struct server *at(struct servers *self, unsigned server)
{
    return &self->list[server];
}

/* ---- life ------------------------------------------------------------------------------------------ */

void servers_free(struct servers *self)
{
    if (!self) return;
    for (unsigned server = TAP_SHOP; server <= SERVERS_MAX; server++)
        servers_kill(self, server); /* there is nothing to save */
    database_stop(self->database);
    ensemble_stop(self->ensemble);
    free(self);
}

void servers_kill(struct servers *self, unsigned server)
{
    lk_client_close(at(self, server)->client);
    private_server_kill(at(self, server)->child);
    *at(self, server) = (struct server){0};
}

/* So that it knows the script of a release. */
static bool rehearse(lk_client *client)
{
    lk_lock *lock = lk_mutex_new(client, "{lamp}:rehearsal", NULL);
    bool is_ready =
        lock && lk_lock_acquire(lock, NULL, NULL) == LK_OK && lk_lock_release(lock, NULL) == LK_OK;

    lk_lock_free(lock);
    return is_ready;
}

/* It is a primary that does not wait before it feeds a replica. */
static bool make_ready(lk_client *client)
{
    return rehearse(client) && SERVERS_DO(client, "CONFIG", "SET", "hz", "500") &&
           SERVERS_DO(client, "CONFIG", "SET", "repl-diskless-sync", "yes") &&
           SERVERS_DO(client, "CONFIG", "SET", "repl-diskless-sync-delay", "0");
}

/* In a folder of its own, that is there. */
static bool start_in(struct servers *self, unsigned server, private_kind kind, const char *dir,
                     struct start_error *why)
{
    struct server *started = at(self, server);

    started->child = private_server_start(kind, dir, why);
    if (!started->child) return false;
    started->client =
        lk_client_open(&(struct lk_client_options){.url = private_server_url(started->child),
                                                   .command_ms = LIMIT_MS},
                       NULL);
    (void)snprintf(self->sockets[server], PATH_MAX, "%s",
                   private_server_url(started->child) + sizeof "unix://" - 1);
    return started->client || start_error_say(why, "%s does not answer", tap_server_name(server));
}

struct servers *servers_open(const char *dir, struct start_error *why)
{
    struct servers *self = calloc(1, sizeof *self);

    if (!self) {
        (void)start_error_say(why, "out of memory");
        return NULL;
    }
    (void)snprintf(self->dir, sizeof self->dir, "%s", dir);
    if (start_in(self, TAP_SHOP, PRIVATE_REDIS_IN_MEMORY, dir, why)) return self;
    servers_free(self);
    return NULL;
}

void servers_gather(const struct servers *self, const cpu_set_t *cores)
{
    (void)sched_setaffinity(private_server_pid(self->list[TAP_SHOP].child), sizeof *cores, cores);
}

static bool make_dir(const struct servers *self, const char *name, unsigned server,
                     char out[PATH_MAX], struct start_error *why)
{
    return (snprintf(out, PATH_MAX, "%s/%s-%u", self->dir, name, server) < PATH_MAX &&
            (mkdir(out, 0700) == 0 || errno == EEXIST)) ||
           start_error_say(why, "%s: %s", out, strerrordesc_np(errno));
}

bool servers_start(struct servers *self, unsigned server, struct start_error *why)
{
    char dir[PATH_MAX];

    if (!make_dir(self, "redis", server, dir, why) ||
        !start_in(self, server, PRIVATE_REDIS_IN_MEMORY, dir, why))
        return false;
    if (make_ready(servers_client(self, server))) return true;
    servers_kill(self, server);
    return start_error_say(why, "redis-%u does not do what a lock needs", server);
}

bool servers_prepare(struct servers *self, unsigned count, unsigned replica,
                     struct start_error *why)
{
    for (unsigned server = 1; server <= count; server++) {
        lk_client *client = at(self, server)->client;

        at(self, server)->is_away = false;
        if (at(self, server)->is_in_cluster) {
            servers_kill(self, server);
            client = NULL;
        }
        if (!client) {
            if (!servers_start(self, server, why)) return false;
        } else if (server == replica && at(self, server)->is_replica) {
            continue; /* it will hear from its primary that it is empty */
        } else if (!servers_promote(self, server, why) || !SERVERS_DO(client, "FLUSHALL")) {
            return start_error_say(why, "redis-%u cannot be made empty", server);
        }
    }
    return true;
}

void servers_send_away(struct servers *self, unsigned server)
{
    at(self, server)->is_away = true;
}

bool servers_call_back(struct servers *self, unsigned server, struct start_error *why)
{
    lk_client *client = at(self, server)->client;

    at(self, server)->is_away = false;
    return (SERVERS_DO(client, "FLUSHALL") && SERVERS_DO(client, "SCRIPT", "FLUSH") &&
            rehearse(client)) ||
           start_error_say(why, "redis-%u cannot be made empty", server);
}

/* Who they are, as this one is to know it: a third of the slots each. */
static bool write_nodes(unsigned server, const char *dir, struct start_error *why)
{
    static const char *const slots[SERVERS_MAX] = {"0-5460", "5461-10921", "10922-16383"};
    char path[PATH_MAX + sizeof "/nodes.conf"];

    (void)snprintf(path, sizeof path, "%s/nodes.conf", dir);
    FILE *file = fopen(path, "we");
    if (!file) return start_error_say(why, "%s: %s", path, strerrordesc_np(errno));
    for (unsigned i = 1; i <= SERVERS_MAX; i++)
        (void)fprintf(file, "%040u 127.0.0.1:700%u@1 %smaster - 0 0 %u connected %s\n", i, i,
                      i == server ? "myself," : "", i, slots[i - 1]);
    (void)fprintf(file, "vars currentEpoch %d lastVoteEpoch 0\n", SERVERS_MAX);
    return fclose(file) == 0 || start_error_say(why, "%s: %s", path, strerrordesc_np(errno));
}

/* Each serves two seconds after it has started. */
static bool await_cluster(lk_client *client)
{
    int64_t deadline_ms = clock_mono_ms() + LIMIT_MS;
    bool is_up = false;

    while (!is_up && !tap_is_interrupted() && clock_mono_ms() < deadline_ms) {
        lk_reply *reply = SERVERS_ASK(client, "CLUSTER", "INFO");
        struct lk_bytes text = lk_reply_bytes(reply);

        is_up = text.data && strstr(text.data, "cluster_state:ok");
        lk_reply_free(reply);
        if (!is_up) clock_pause_ms(LOOK_MS);
    }
    return is_up;
}

bool servers_prepare_cluster(struct servers *self, struct start_error *why)
{
    char dir[PATH_MAX];

    for (unsigned server = 1; server <= SERVERS_MAX; server++) {
        if (at(self, server)->is_in_cluster) continue;
        servers_kill(self, server);
        if (!make_dir(self, "cluster", server, dir, why) || !write_nodes(server, dir, why) ||
            !start_in(self, server, PRIVATE_REDIS_IN_CLUSTER, dir, why))
            return false;
        at(self, server)->is_in_cluster = true;
    }
    for (unsigned server = 1; server <= SERVERS_MAX; server++) {
        lk_client *client = servers_client(self, server);

        if (!await_cluster(client) || !SERVERS_DO(client, "FLUSHALL"))
            return start_error_say(why, "redis-%u is no master of a cluster", server);
        (void)rehearse(client); /* whose keys they are */
    }
    return true;
}

lk_client *servers_client(const struct servers *self, unsigned server)
{
    return self->list[server].is_away ? NULL : self->list[server].client;
}

const char *servers_lack(enum tap_server_number which)
{
    if (which == TAP_POSTGRES && !database_is_here()) return "postgresql";
    if (which == TAP_ZOOKEEPER && !ensemble_is_here())
        return "libzookeeper-java default-jre-headless";
    return NULL;
}

bool servers_prepare_beside(struct servers *self, enum tap_server_number which, const char *key,
                            struct start_error *why)
{
    char holders[ENSEMBLE_HOLDERS][ENSEMBLE_NODE];
    struct start_error ignored;

    if (servers_lack(which)) return start_error_say(why, "not installed: %s", servers_lack(which));
    if (which == TAP_ZOOKEEPER) { /* its nodes are gone with their sessions */
        if (self->ensemble && ensemble_holders(self->ensemble, key, holders) >= 0) return true;
        ensemble_stop(self->ensemble); /* it has died, if there was one */
        self->ensemble = ensemble_start(self->dir, key, why);
        return self->ensemble;
    }
    if (self->database && database_clear(self->database, &ignored)) return true;
    database_stop(self->database);
    self->database = database_start(self->dir, why);
    return self->database && database_clear(self->database, why);
}

struct ensemble *servers_ensemble(const struct servers *self)
{
    return self->ensemble;
}

struct database *servers_database(const struct servers *self)
{
    return self->database;
}

const char *servers_socket(const struct servers *self, unsigned server)
{
    if (server == TAP_POSTGRES) return database_socket(self->database);
    if (server == TAP_ZOOKEEPER) return ensemble_address(self->ensemble);
    return self->sockets[server];
}

/* ---- replicas -------------------------------------------------------------------------------------- */

bool servers_follow(struct servers *self, unsigned server, int port, struct start_error *why)
{
    static const char *const spellings[] = {"127.0.0.1",
                                            "127.1"}; /* the same twice is no news to it */
    struct server *replica = at(self, server);
    const char *host = spellings[replica->followed++ % 2];
    char number[16];

    (void)snprintf(number, sizeof number, "%d", port);
    replica->is_replica = SERVERS_DO(replica->client, "REPLICAOF", host, number);
    return replica->is_replica ||
           start_error_say(why, "redis-%u does not want to be a replica", server);
}

bool servers_promote(struct servers *self, unsigned server, struct start_error *why)
{
    at(self, server)->is_replica = false;
    return SERVERS_DO(servers_client(self, server), "REPLICAOF", "NO", "ONE") ||
           start_error_say(why, "redis-%u does not want to be the primary", server);
}

/* ROLE of the one: "slave", host, port, "connected", offset; of the other: "master", offset, those who
   follow. */
static bool is_in_step(struct servers *self, unsigned primary, unsigned replica)
{
    lk_reply *there = SERVERS_ASK(servers_client(self, replica), "ROLE");
    lk_reply *here = SERVERS_ASK(servers_client(self, primary), "ROLE");
    struct lk_bytes state = lk_reply_bytes(lk_reply_at(there, 3));
    bool is_there =
        state.data && strcmp(state.data, "connected") == 0 &&
        lk_reply_count(lk_reply_at(here, 2)) > 0 &&
        lk_reply_integer(lk_reply_at(there, 4), -1) == lk_reply_integer(lk_reply_at(here, 1), -2);

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

bool servers_ask_all(lk_client *client, const struct servers_words *words, size_t count,
                     lk_reply **out)
{
    struct lk_bytes args[SERVERS_ASKS_MAX][SERVERS_WORDS];
    struct lk_command commands[SERVERS_ASKS_MAX] = {{0}};

    for (size_t i = 0; i < count; i++) {
        size_t *used = &commands[i].count;

        commands[i].args = args[i];
        for (; words[i].word[*used]; (*used)++)
            args[i][*used] = lk_bytes_of(words[i].word[*used]);
    }
    return lk_client_call(client, commands, count, LIMIT_MS, out, NULL) == LK_OK;
}

lk_reply *servers_ask(lk_client *client, struct servers_words words)
{
    lk_reply *reply = NULL;

    return servers_ask_all(client, &words, 1, &reply) ? reply : NULL;
}

bool servers_did(lk_reply *reply)
{
    bool is_answer = reply && lk_reply_type_of(reply) != LK_REPLY_ERROR;

    lk_reply_free(reply);
    return is_answer;
}

void servers_free_replies(lk_reply **replies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lk_reply_free(replies[i]);
}
