/*
 * Whose turn it is among the children of a lock's node, as Curator and kazoo read their names. No I/O.
 */
#ifndef LKI_ZOOKEEPER_QUEUE_H
#define LKI_ZOOKEEPER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "lockkit/error.h"

/* How a place in the queue is named, and for whose places it waits. */
struct zookeeper_rule {
    const char *prefix; /* before the UUID */
    bool is_plain;      /* the UUID has no hyphens: kazoo's */
    bool is_shared;     /* others of this rule hold along with it */
    const char *mark;   /* between the UUID and the server's number */
    const char
        *cuts[2]; /* a place sorts by what is behind the last of these, one after the other */
    /* Only names with one of these count, the number right behind it; NULL: all the children do, whatever they are. */
    const char *awaited[2];
};

enum {
    ZOOKEEPER_GRANTED = -1,
    ZOOKEEPER_MISSING = -2,
    ZOOKEEPER_NAME_MAX = 128,
    ZOOKEEPER_PATH_MAX = 1024
};

/*
 * The nearest place before ours that has to go first: its index; GRANTED: there is none; MISSING: ours is not
 * among them. Numbers are compared as text, as the others do it: after 2147483647 come negative ones, which sort first.
 */
int zookeeper_queue_before(const struct zookeeper_rule *rule, const char *const *names,
                           size_t count, const char *own);

/* The server's number, as text, in a name that some rule of either dialect makes; NULL: it is a stranger's. */
const char *zookeeper_queue_number(const char *name);

/* Of "_c_<uuid>-lease-..." the UUID without its hyphens; of a stranger the name's begin. */
void zookeeper_queue_id(const char *name, char out[33]);

/* "_c_<uuid>-lock-", what the server puts a number behind. */
void zookeeper_queue_name(const struct zookeeper_rule *rule, const char *uuid,
                          char out[ZOOKEEPER_NAME_MAX]);

/* What ZooKeeper takes as a path; "/" alone is no place for a queue. And the path of a lock's: INVALID, and why. */
bool zookeeper_queue_is_path(const char *path);
LK_MUST_CHECK lk_status zookeeper_queue_path(const char *base, const char *key,
                                             char out[ZOOKEEPER_PATH_MAX], struct lk_error *err);

#endif
