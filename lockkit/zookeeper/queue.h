/*
 * The order of the children of a lock's node, as Curator and kazoo read their names. No I/O.
 */
#ifndef LKI_ZOOKEEPER_QUEUE_H
#define LKI_ZOOKEEPER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "lockkit/error.h"

/* How a place in the queue is named, and for which places it waits. */
struct zookeeper_rule {
    const char *prefix; /* before the UUID */
    bool is_plain;      /* the UUID has no hyphens: kazoo's */
    bool is_shared;     /* several places of this rule may hold at once */
    const char *mark;   /* between the UUID and the server's number */
    const char
        *cuts[2]; /* a place sorts by what is behind the last of these, one after the other */
    /* Only names with one of these, directly followed by the number, are places; NULL: all children are. */
    const char *awaited[2];
};

enum {
    ZOOKEEPER_GRANTED = -1,
    ZOOKEEPER_MISSING = -2,
    ZOOKEEPER_NAME_MAX = 128,
    ZOOKEEPER_PATH_MAX = 1024
};

/*
 * The nearest place before ours that must end first: its index; GRANTED: there is none; MISSING: ours is not there.
 * Numbers are compared as text, as the other libraries do: after 2147483647 come negative ones, which sort first.
 */
int zookeeper_queue_before(const struct zookeeper_rule *rule, const char *const *names,
                           size_t count, const char *own);

/* The server's number, as text, in a name by any rule of Curator or kazoo; NULL: a foreign name. */
const char *zookeeper_queue_number(const char *name);

/* The UUID of "_c_<uuid>-lease-...", without hyphens; of a foreign name its beginning. */
void zookeeper_queue_id(const char *name, char out[33]);

/* Write "_c_<uuid>-lock-", to which the server appends a number. */
void zookeeper_queue_name(const struct zookeeper_rule *rule, const char *uuid,
                          char out[ZOOKEEPER_NAME_MAX]);

/* Whether ZooKeeper accepts a path, other than "/". And write the path of a lock's queue: OK; INVALID, with *err. */
bool zookeeper_queue_is_path(const char *path);
LK_MUST_CHECK lk_status zookeeper_queue_path(const char *base, const char *key,
                                             char out[ZOOKEEPER_PATH_MAX], struct lk_error *err);

#endif
