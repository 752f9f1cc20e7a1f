/*
 * The hub's channels, by name, and their waiters. The hub's mutex guards them.
 */
#ifndef LKI_CHANNEL_H
#define LKI_CHANNEL_H

#include "base/backoff.h"
#include "hub.h"

struct lki_pubsub_conn;

/* The states of a subscription: WANTED -> ASKED -> LIVE -> LEAVING -> gone (or WANTED again). */
enum lki_channel_state { CHANNEL_WANTED, CHANNEL_ASKED, CHANNEL_LIVE, CHANNEL_LEAVING };

struct lki_channel {
    char *name;               /* owned; never changes */
    struct lki_channel *next; /* in its bucket */
    struct lki_channel *older;
    struct lki_channel *newer;
    struct lki_waiter *first; /* longest waiting first */
    struct lki_waiter *last;
    int64_t idle_since; /* valid without waiters */
    enum lki_channel_state state;
    bool may_have_missed; /* a waiter may have missed a message: wake all once it is LIVE */
    unsigned losses;      /* lost connections so far; each one ends the waits in lki_hub_join() */
    int64_t ask_at; /* a refused channel is not subscribed before this, nor do joins wait for it */

    /* Used by the hub's thread alone, without the mutex: */
    struct lki_pubsub_conn *conn; /* borrowed; NULL: not routed */
    int slot;                     /* valid with a connection */
    uint64_t asked_as;            /* the number of its last command, while that is not answered */
    struct lki_backoff refused;   /* pauses after refusals; reset when it is LIVE */
};

enum { LKI_CHANNEL_BUCKETS = 256 };

/* Only the hub's thread removes channels; so it may iterate over them, and read their names, without the mutex. */
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

/* Wake waiters for this many units, the longest waiting first; one that needs more than are left sleeps on. */
void lki_channel_wake(struct lki_channel *channel, size_t units);
/* A message has come: wake waiters by their rule and the number in its text. */
void lki_channel_notify(struct lki_channel *channel, struct lk_bytes text);
/* The subscription has ended: until the channel is LIVE again, messages may be missed. */
void lki_channel_drop(struct lki_channel *channel);

#endif
