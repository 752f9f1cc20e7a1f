/*
 * The hub's channels, by name, and who waits on them. The hub's mutex guards them.
 */
#ifndef LKI_CHANNEL_H
#define LKI_CHANNEL_H

#include "base/backoff.h"
#include "hub.h"

struct lki_pubsub_conn;

/* A channel's way: WANTED -> ASKED -> LIVE -> LEAVING -> gone (or WANTED again). */
enum lki_channel_state { CHANNEL_WANTED, CHANNEL_ASKED, CHANNEL_LIVE, CHANNEL_LEAVING };

struct lki_channel {
    char *name;               /* owned; never changes */
    struct lki_channel *next; /* in its bucket */
    struct lki_channel *older;
    struct lki_channel *newer;
    struct lki_waiter *first; /* longest waiting first */
    struct lki_waiter *last;
    int64_t idle_since; /* meaningful without waiters */
    enum lki_channel_state state;
    bool may_have_missed; /* a waiter sleeps that may have missed a message: wake it once LIVE */
    unsigned losses;      /* of its connection, so far: who joins does not wait for the next one */
    int64_t ask_at;       /* not asked for before: it was refused; nor does who joins wait for it */

    /* The hub thread's alone, without the mutex: */
    struct lki_pubsub_conn *conn; /* borrowed; where it is asked for; NULL: not settled */
    int slot;                     /* meaningful with a connection */
    uint64_t asked_as;            /* meaningful while not answered: the number of the question */
    struct lki_backoff refused;   /* pauses of its refusals; none once it was LIVE */
};

enum { LKI_CHANNEL_BUCKETS = 256 };

/* Only the hub's thread removes channels, so it goes from one to the older ones, and reads their
   names, without the mutex. */
struct lki_channels {
    struct lki_channel *buckets[LKI_CHANNEL_BUCKETS];
    struct lki_channel *newest; /* owned, as all older ones */
};

/* NULL: there is none. */
struct lki_channel *lki_channels_find(const struct lki_channels *channels, struct lk_bytes name);
/* Copies the name. NULL: out of memory. */
struct lki_channel *lki_channels_add(struct lki_channels *channels, const char *name);
void lki_channels_remove(struct lki_channels *channels, struct lki_channel *channel);
void lki_channels_done(struct lki_channels *channels);

void lki_channel_enter(struct lki_channel *channel, struct lki_waiter *waiter);
void lki_channel_exit(struct lki_channel *channel, struct lki_waiter *waiter);

/* Wake those that sleep, the longest waiting first, for so many units; who needs more than are left
   sleeps on. */
void lki_channel_wake(struct lki_channel *channel, size_t units);
/* A message has come: wake as many as its text says, by the rule of its waiters. */
void lki_channel_notify(struct lki_channel *channel, struct lk_bytes text);
/* Its subscription has ended, if there was one: messages may be missed until it is LIVE again. */
void lki_channel_drop(struct lki_channel *channel);

#endif
