/*
 * lockkit and a rival at one key: what checks of any kind are made of, and those that fit several.
 * Whatever does not come as it should fails the running test.
 */
#ifndef LOCKKIT_INTEROP_DUEL_H
#define LOCKKIT_INTEROP_DUEL_H

#include "matrix.h"
#include "peer.h"
#include "test/support/lk_support.h"
#include "test/support/lk_topology.h"

/* One run of a check. */
struct duel {
    struct lks_server *server;
    struct lkt *cluster;             /* behind the server, or NULL */
    struct lks_server *const *nodes; /* of a redlock */
    size_t node_count;
    const char *kind;   /* that requests are made of */
    const char *wanted; /* what b asks for in the checks below; the same kind unless set */
    struct peer *a, *b; /* lockkit and the rival, or the reverse; borrowed */
    bool is_lockkit_first;
    char key[64]; /* not used before */
};

/* The same duel with requests of another kind. */
struct duel duel_of(const struct duel *duel, const char *kind);

/* Which of the two is which. */
struct peer *duel_lockkit(const struct duel *duel);
struct peer *duel_rival(const struct duel *duel);

enum {
    SOON_MS = 1000, /* for what comes by a message, or by a look that is due */
    SHORT_LEASE_MS = 300,
    LEASE_MS = 1500, /* of duel_lock_renewed() and of the rival Redisson's watchdog */
};

/* Try once, with a lease of 30 s. */
struct answer duel_lock(const struct duel *duel, struct peer *peer, unsigned thread,
                        const char *result);
/* Take it, to be renewed. */
void duel_lock_renewed(const struct duel *duel, struct peer *peer, unsigned thread);
void duel_unlock(const struct duel *duel, struct peer *peer, unsigned thread, const char *result);
/* a takes it for so long, and b, who wants it, has it when that is over: b's answer. */
struct answer duel_outwait(const struct duel *duel, int64_t lease_ms);
/* Wait for it, and be asleep: the request's ID. */
unsigned duel_send_waiter(const struct duel *duel, struct peer *peer, unsigned thread);

/* The fields and values of the key, or its value: the same text is the same hold. "" if there is no
   key. Good for 8 calls. */
const char *duel_state(const struct duel *duel);
bool duel_is_locked(const struct duel *duel);
long long duel_ttl_ms(const struct duel *duel);

/* Wait until somebody has subscribed to a channel of the key and has had time to fall asleep. For a
   kind without messages, or without a key of its own: only the time. */
void duel_await_sleeper(const struct duel *duel);
/* How many channels of the key have subscribers. */
size_t duel_channels(const struct duel *duel);

/* ---- contests: threads of both sides that take and give back as fast as they can ----------- */

enum { CONTEST_MAX = 8 };
struct contest {
    int ask_again_ms; /* a rival that still waits by then asks again; 0: it needs no such help */
    size_t count;
    struct {
        struct peer *peer;
        const char *kind;
        unsigned thread, id;
    } fighters[CONTEST_MAX];
};
/* One thread of one side. */
void contest_add(struct contest *contest, struct peer *peer, unsigned thread, const char *kind);
/* Let them run for a second, or a few; nobody may see a fault, and the sides must take turns. */
void contest_run(struct contest *contest, const struct duel *duel);
/* How often a side was inside, of all contests of the duel. */
unsigned contest_turns_of(const struct duel *duel, const struct peer *peer);

/* ---- wake-ups ------------------------------------------------------------------------------ */

enum {
    STOPWATCH_MAX = 21,
    WAKE_UP_LEASE_MS = 3000, /* of what is waited for: who has missed the message comes by then */
    WAKE_UP_LIMIT_MS = 6000, /* for any of them */
};
struct stopwatch {
    size_t count, late;
    double took_ms[STOPWATCH_MAX];
};
/* From the beginning of what wakes to the end of what waits. A waiter may miss the message now and
   then: Redisson's does when a writer leaves before it has fallen asleep. */
void stopwatch_add(struct stopwatch *watch, const struct answer *waking,
                   const struct answer *woken);
/* Sorts them. */
double duel_median(double *numbers, size_t count);
/* Print the median, which must be below 50 ms, and put it into the matrix. */
void duel_judge_wake_up(const struct duel *duel, struct stopwatch *watch);

/* ---- checks -------------------------------------------------------------------------------- */

/* Nobody is ever inside with somebody it excludes. */
void duel_exclusion(struct duel *duel);
/* a holds, b wants it, a releases: how soon b has it, at the median. */
void duel_wake_up(struct duel *duel);
/* a's lease ends and b has it, whatever a says afterwards. */
void duel_lease_expiry(struct duel *duel);
/* a is renewed longer than its lease. */
void duel_renewal(struct duel *duel);
/* Another one like a is killed: b has it when the lease ends. */
void duel_killed_holder(struct duel *duel);

#endif
