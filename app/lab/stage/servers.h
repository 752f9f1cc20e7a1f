/*
 * The lab's servers, by their numbers in TAP_SERVER_LIST: the shop's Redis, and further ones, "redis-1", "redis-2"...
 * These keep locks; they are killed, started again empty, and made replicas of each other. All is in memory.
 *
 * Threads: the lab's, as the kernel ends them with the thread that started them.
 */
#ifndef SECKILL_LAB_SERVERS_H
#define SECKILL_LAB_SERVERS_H

#include <stdbool.h>

#include "lockkit/lockkit.h"

#include "base/start_error.h"
#include "database.h"
#include "ensemble.h"
#include "lab/tap/tap.h"

struct servers; /* opaque */

enum { SERVERS_MAX = 3, SERVERS_WORDS = 4, SERVERS_ASKS_MAX = 3 };

/*
 * The shop's is started in this folder, which is there; others for the first scenario that wants them.
 *
 * Owns     the result is yours: servers_free().
 * Returns  NULL with *why.
 */
struct servers *servers_open(const char *dir, struct start_error *why);
/* The shop's runs on these cores from now on. */
void servers_gather(const struct servers *self, const cpu_set_t *cores);
void servers_free(struct servers *self);

/* From now on so many are up, empty, and nobody's replica; but of the one that is to follow, 0: none, the primary sees to it,
   and it is sooner in step when it has followed that one before. */
bool servers_prepare(struct servers *self, unsigned count, unsigned replica,
                     struct start_error *why);

/* Likewise as three masters of one cluster; the sale's keys are the third one's. */
bool servers_prepare_cluster(struct servers *self, struct start_error *why);

/* What has to be installed for one that is no Redis; NULL: nothing. */
const char *servers_lack(enum tap_server_number which);

/* That one is up, and nobody has a lock of that key there. */
bool servers_prepare_beside(struct servers *self, enum tap_server_number which, const char *key,
                            struct start_error *why);
struct database *servers_database(const struct servers *self);
struct ensemble *servers_ensemble(const struct servers *self);

/* Of each: a client of its own for whoever looks on, NULL while it is down; its socket's path. */
lk_client *servers_client(const struct servers *self, unsigned server);
const char *servers_socket(const struct servers *self, unsigned server);

/* SIGKILL; and start it again, empty. */
void servers_kill(struct servers *self, unsigned server);
bool servers_start(struct servers *self, unsigned server, struct start_error *why);

/* Likewise, to whoever is behind a tap, and sooner: it lives on where nobody reaches it; and has forgotten all. */
void servers_send_away(struct servers *self, unsigned server);
bool servers_call_back(struct servers *self, unsigned server, struct start_error *why);

/* The one that is to follow is told where, a port of 127.0.0.1, and goes there at once; or that it is the primary now. */
bool servers_follow(struct servers *self, unsigned server, int port, struct start_error *why);
bool servers_promote(struct servers *self, unsigned server, struct start_error *why);

/* Wait until the replica has all that the primary has, and the primary knows. */
bool servers_await_replica(struct servers *self, unsigned primary, unsigned replica,
                           struct start_error *why);

/* A command, NULL behind its last word. */
struct servers_words {
    const char *word[SERVERS_WORDS + 1];
};

/* One; NULL when there is no answer. Any server. */
lk_reply *servers_ask(lk_client *client, struct servers_words words);
#define SERVERS_ASK(client, ...) servers_ask((client), (struct servers_words){{__VA_ARGS__}})
/* Whether it was done: answered, and by no error. */
bool servers_did(lk_reply *reply);
#define SERVERS_DO(client, ...) servers_did(SERVERS_ASK((client), __VA_ARGS__))
/* Up to three in one round trip; false: there is no answer. */
bool servers_ask_all(lk_client *client, const struct servers_words *words, size_t count,
                     lk_reply **out);
/* The replies of so many; NULL is fine. */
void servers_free_replies(lk_reply **replies, size_t count);

#endif
