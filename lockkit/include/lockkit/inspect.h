/*
 * Inspect locks: for operators, and for programs that monitor locks they do not hold.
 *
 * Nothing here changes a key. A lock is recognised by the format of its keys, so the answer is only as
 * good as that: a plain counter looks like a semaphore, and a random word with a TTL like a mutex.
 *
 * Example
 *     struct lk_inspection found;
 *     if (lk_inspect(client, "report", &found, &err) == LK_OK)
 *         printf("%d\n", (int)found.layout);
 */
#ifndef LOCKKIT_INSPECT_H
#define LOCKKIT_INSPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "lockkit/client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(value, name, what the key is) */
#define LK_LAYOUT_LIST(X)                                                                          \
    X(LK_LAYOUT_NONE, "none", "no such key: free")                                                 \
    X(LK_LAYOUT_MUTEX, "mutex", "string: a token with a TTL, or 32 hex digits without")            \
    X(LK_LAYOUT_REENTRANT, "reentrant", "hash of owners: reentrant or spin; fair, none waiting")   \
    X(LK_LAYOUT_FENCED, "fenced", "hash of owners, and a fence; or PostgreSQL's row")              \
    X(LK_LAYOUT_FAIR, "fair", "hash of owners, and a queue; or ZooKeeper's nodes")                 \
    X(LK_LAYOUT_READ, "read", "hash of owners, mode read")                                         \
    X(LK_LAYOUT_WRITE, "write", "hash of owners, mode write")                                      \
    X(LK_LAYOUT_PERMITS, "permits", "number, and ends of permits that are out")                    \
    X(LK_LAYOUT_NUMBER, "number", "number: semaphore, latch, permits all in; or any counter")      \
    X(LK_LAYOUT_OTHER, "other", "something else: no lock of these kinds")

typedef enum lk_layout {
#define LK_LAYOUT_VALUE(value, name, meaning) value,
    LK_LAYOUT_LIST(LK_LAYOUT_VALUE)
#undef LK_LAYOUT_VALUE
        LK_LAYOUT_COUNT
} lk_layout;

/* The short name ("mutex") and what it stands for; static storage, never NULL. */
const char *lk_layout_name(lk_layout layout);
const char *lk_layout_meaning(lk_layout layout);

enum {
    LK_INSPECT_ROWS = 64, /* holders, and waiters, that are listed one by one */
    LK_INSPECT_KEY_MAX = 513,
    LK_INSPECT_OWNER_MAX = 80,
    LK_INSPECT_FOREVER = -1, /* for left_ms: without an end */
};

struct lk_holder {
    char owner[LK_INSPECT_OWNER_MAX]; /* token, "<uuid>:<n>", or a permit's id in hex */
    int64_t holds;                    /* 1; more: taken again */
    int64_t left_ms;                  /* 0: has ended, and is only written down yet */
    bool is_writer;
};

struct lk_waiter {
    char owner[LK_INSPECT_OWNER_MAX];
    int64_t left_ms; /* of its window, in which it keeps its place without asking; 0: it is over */
};

struct lk_inspection {
    char key[LK_INSPECT_KEY_MAX];
    lk_layout layout;
    int64_t left_ms;     /* of the key; FOREVER; 0 when there is none */
    size_t holder_count; /* all; the first LK_INSPECT_ROWS of them follow */
    struct lk_holder holders[LK_INSPECT_ROWS];
    size_t waiter_count; /* in a fair lock's queue; likewise, the next one first */
    struct lk_waiter waiters[LK_INSPECT_ROWS];
    uint64_t fence; /* the last fencing token that was given; 0: none ever was */
    int64_t number; /* NUMBER: it; PERMITS: those that are available */
};

/*
 * Read one lock, with all that belongs to it, in one atomic step of the server.
 *
 * Shape    key: 1 to 512 bytes. LK_LAYOUT_LIST documents the formats. A token is 16 to 64 letters,
 *          digits and + / = _ : -, including a digit. An owner is "<uuid>:<n>", with ":write" behind
 *          it in a write lock. A fair lock looks like a reentrant one without waiters; permits look
 *          like a number while none is out.
 *          The work is bounded whatever the key holds: a string is read up to 128 bytes, of a
 *          hash, a queue, a set of permits about LK_INSPECT_ROWS rows are read.
 * Units    milliseconds, by the server's clock, at the moment it read.
 * Returns  OK (also when there is nothing, or no lock); INVALID, UNKNOWN, UNREACHABLE, BUSY (no free
 *          connection), SERVER, NO_MEMORY: *out is as it was.
 * Threads  any.
 * Source   scripts/inspect.lua; the layouts are those of locks.h and semaphore.h.
 */
LK_MUST_CHECK lk_status lk_inspect(lk_client *client, const char *key, struct lk_inspection *out,
                                   struct lk_error *err);

/* A walk over all keys of all primaries. */
typedef struct lk_walk lk_walk;

/* Zero means the default given in brackets. */
struct lk_walk_options {
    const char *match; /* glob, as SCAN has it [every key] */
    bool has_numbers;  /* also NUMBERs: any counter is one [false] */
};

/*
 * Begin to look for locks.
 *
 * Owns     options are copied; the result is yours: lk_walk_free(). client must outlive it.
 * Returns  NULL with err filled: INVALID, NO_MEMORY.
 * Threads  a walk is for one thread at a time.
 */
lk_walk *lk_walk_new(lk_client *client, const struct lk_walk_options *options,
                     struct lk_error *err);

/*
 * Find the next lock: a key that is neither NONE nor OTHER.
 *
 * The server is asked for about a hundred keys at a time (SCAN), and then only about those that can
 * be locks. A lock that is there all the time is found at least once, perhaps twice; in a cluster
 * whose slots move meanwhile one may be missed. Keys with a NUL in them, or longer than 512 bytes,
 * are passed over, and so are fencing counters.
 *
 * Owns     *out_found is borrowed, until the next call; NULL: there are no more.
 * Returns  OK; as lk_inspect(): it may be called again, and goes on where it was.
 */
LK_MUST_CHECK lk_status lk_walk_next(lk_walk *walk, const struct lk_inspection **out_found,
                                     struct lk_error *err);

/* Owns     takes the walk; NULL is fine. */
void lk_walk_free(lk_walk *walk);

#ifdef __cplusplus
}
#endif
#endif
