/*
 * The one hook that metrics, traces and histories share. It sees every step of every lock of a
 * client, with monotonic times of one host that can be compared between processes.
 *
 * Example
 *     void hook(const struct lk_event *event, void *arg)
 *     {
 *         if (event->type == LK_EVENT_LOST) fprintf(arg, "lost: %s\n", event->key);
 *     }
 *     lk_client_open(LK_OPTIONS(client, .on_event = hook, .on_event_arg = stderr), &err);
 */
#ifndef LOCKKIT_EVENT_H
#define LOCKKIT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "lockkit/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LK_EVENT_LIST(X)                                                                           \
    X(LK_EVENT_ACQUIRE, "acquire")       /* an acquire ended; status says how */                   \
    X(LK_EVENT_QUEUED, "queued")         /* a waiter has its place in a fair lock's queue */       \
    X(LK_EVENT_RUN, "run")               /* an lk_mutex_run ended */                               \
    X(LK_EVENT_RELEASE, "release")       /* a release ended: OK, NOT_OWNER, UNKNOWN... */          \
    X(LK_EVENT_RENEW, "renew")           /* a renewal ended: OK, LOST, UNKNOWN... */               \
    X(LK_EVENT_LOST, "lost")             /* a hold ended before its release */                     \
    X(LK_EVENT_ROUND_TRIP, "round-trip") /* one pipeline was sent and answered, or failed */       \
    X(LK_EVENT_CONNECT, "connect")       /* a connection was made, or could not be made */         \
    X(LK_EVENT_TOPOLOGY, "topology")     /* another server is the primary, or slots moved */       \
    X(LK_EVENT_REFUSED, "refused")       /* the server refused a channel, the first one of a       \
                                            connection: waiters poll instead */

typedef enum lk_event_type {
#define LK_EVENT_VALUE(value, name) value,
    LK_EVENT_LIST(LK_EVENT_VALUE)
#undef LK_EVENT_VALUE
        LK_EVENT_COUNT
} lk_event_type;

struct lk_event {
    lk_event_type type;
    lk_status status;
    int64_t at_ns;       /* when it ended, monotonic */
    int64_t duration_ns; /* how long it took; an acquire: with its wait */
    unsigned attempts;   /* tries (acquire, run) or commands (round trip) */
    const char *kind;    /* "mutex"; NULL for round trips and connects */
    const char *key;     /* the lock's key; NULL likewise; of a refusal, the channel */
    const char *token;   /* this hold's token or owner; NULL likewise, and without an owner */
    int64_t ends_ns;     /* acquire, renew: until when it is, or (UNKNOWN) may be, held; else 0 */
    uint64_t fence;      /* acquire: the fencing token; 0 where the kind has none */
    int64_t count;   /* locks: holds of the handle afterwards; semaphores, latches: units moved */
    bool is_renewed; /* acquire: the watchdog keeps it */
};

/*
 * Threads  called by whichever thread did the step, several at once, with no lockkit mutex held. It
 *          must not block and must not call lockkit. The event is borrowed for the call.
 */
typedef void (*lk_event_hook)(const struct lk_event *event, void *arg);

const char *lk_event_name(lk_event_type type);

#ifdef __cplusplus
}
#endif
#endif
