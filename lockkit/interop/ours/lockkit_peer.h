/*
 * What lockkit_peer.c can be told to do; its protocol is in checks/peer.h.
 */
#ifndef LOCKKIT_INTEROP_LOCKKIT_PEER_H
#define LOCKKIT_INTEROP_LOCKKIT_PEER_H

#include <stdint.h>

#include "lockkit/lockkit.h"

enum {
    DEED_OPTIONS_MAX = 8,
    DEED_LONG_MS = 600000, /* a wait without limit */
};

/* The servers: one for all locks but a redlock, which is over the others. */
struct servers {
    lk_client *first;  /* borrowed */
    lk_client **nodes; /* borrowed */
    size_t node_count;
};

/* A request without its ID and thread. */
struct deed {
    const char *verb, *kind, *key;         /* borrowed */
    const char *options[DEED_OPTIONS_MAX]; /* "name=value", borrowed; the rest NULL */
};

struct outcome {
    const char *result; /* static storage */
    char value[200];
};

/* Everything one owner has asked for so far, by kind and key. NULL at first. */
struct objects;

/* Do it, on the owner's thread. */
void objects_do(struct objects **objects, const struct servers *servers, const struct deed *deed,
                struct outcome *out);

/* An option's value, or otherwise. */
int64_t deed_number(const struct deed *deed, const char *name, int64_t otherwise);
const char *deed_text(const struct deed *deed, const char *name, const char *otherwise);

int64_t now_ns(void);

void outcome_number(struct outcome *out, int64_t number);
void outcome_status(struct outcome *out, lk_status status, const struct lk_error *err);

/* What is no lock. */
void semaphore_do(lk_semaphore *semaphore, const struct deed *deed, struct outcome *out);
void permits_do(lk_permits *permits, const struct deed *deed, struct outcome *out);
void latch_do(lk_latch *latch, const struct deed *deed, struct outcome *out);

#endif
