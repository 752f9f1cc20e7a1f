/*
 * What every lockkit function answers: a status that says what the caller does next, and, when the
 * caller asks for it, a text that names the thing that failed.
 *
 * Example
 *     lk_status status = lk_lock_try(lock, &err);
 *     if (status == LK_BUSY) puts("another time");
 *     if (status != LK_OK && status != LK_BUSY)
 *         fprintf(stderr, "%s: %s\n", lk_status_name(status), err.text);
 */
#ifndef LOCKKIT_ERROR_H
#define LOCKKIT_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#define LK_MUST_CHECK __attribute__((warn_unused_result))

/*
 * Options of a kind (client, lock, fair, multi, redlock, permit), for C: LK_OPTIONS(lock, .wait_ms = 2000).
 *
 * They begin with their size, so that they may grow: a program compiled with fewer of them has the defaults
 * of the new ones, and an older library answers INVALID to one that it does not know. Without a size, only
 * those of version 0.1 are seen.
 */
#define LK_OPTIONS(kind, ...)                                                                      \
    (&(struct lk_##kind##_options){.size = sizeof(struct lk_##kind##_options), __VA_ARGS__})

/* X(value, name, what it means to the caller) */
#define LK_STATUS_LIST(X)                                                                          \
    X(LK_OK, "ok", "done")                                                                         \
    X(LK_BUSY, "busy", "somebody else holds it; try later")                                        \
    X(LK_NOT_OWNER, "not-owner", "not held by this handle (any more); nothing was changed")        \
    X(LK_LOST, "lost", "was held, and ended before it was released")                               \
    X(LK_DEADLOCK, "deadlock", "would wait for its own owner, for ever; nothing was changed")      \
    X(LK_CANCELLED, "cancelled", "the wait was cancelled")                                         \
    X(LK_UNKNOWN, "unknown", "sent, but no answer came: it may or may not have happened")          \
    X(LK_UNSYNCED, "unsynced", "done, but too few replicas confirmed it; a lock was given back")   \
    X(LK_INVALID, "invalid", "a bad argument; nothing was sent")                                   \
    X(LK_NO_MEMORY, "no-memory", "out of memory")                                                  \
    X(LK_UNREACHABLE, "unreachable", "the server could not be reached; nothing was sent")          \
    X(LK_SERVER, "server", "the server answered with an error")                                    \
    X(LK_EXHAUSTED, "exhausted", "all connections of the pool were in use; nothing was sent")

typedef enum lk_status {
#define LK_STATUS_VALUE(value, name, meaning) value,
    LK_STATUS_LIST(LK_STATUS_VALUE)
#undef LK_STATUS_VALUE
        LK_STATUS_COUNT
} lk_status;

/* Filled on failure only, by the innermost function that knows; upper layers do not reword it. */
struct lk_error {
    lk_status code;
    int sys_errno;     /* 0 when no system call was involved */
    const char *where; /* function; static storage */
    char text[160];    /* "127.0.0.1:6379: connection refused" */
};

/* The short name ("busy") and the meaning of a status; static storage, never NULL. */
const char *lk_status_name(lk_status status);
const char *lk_status_meaning(lk_status status);

#ifdef __cplusplus
}
#endif
#endif
