/*
 * The servers of a way: private ones on 127.0.0.1, which are lost, emptied, cut off from a client and
 * have their clocks moved. What is started ends with this process.
 */
#ifndef LOCKKIT_BENCH_COMPARE_SITE_H
#define LOCKKIT_BENCH_COMPARE_SITE_H

#include <sys/types.h>

#include "way.h"

struct site {
    const struct way *way;
    char dir[64];
    struct {
        pid_t pid;
        int port;
    } servers[WAY_SERVERS_MAX];
    pid_t keeper;             /* of an ensemble: what started it */
    pid_t proxy;              /* one link for each server; 0: none */
    struct way_urls urls;     /* where clients go */
    struct way_urls cut_urls; /* the same through the proxy */
    int64_t *clock_offset_ns; /* mapped, of the first server; NULL: of no server */
};

/* has_faults: clocks that can be moved, and links that can be cut; both cost time. INVALID: what it needs is not
   installed. */
LK_MUST_CHECK lk_status site_open(struct site *site, const struct way *way, bool has_faults,
                                  struct lk_error *err);
void site_close(struct site *site); /* also half-way */

/* SIGKILL for the first server. */
void site_lose(struct site *site);
/* It is back, or all of an ensemble are, and know nothing. */
LK_MUST_CHECK lk_status site_empty(struct site *site, struct lk_error *err);

/* Of all servers: what they have in memory, shared pages by their share. */
double site_memory_mib(const struct site *site);

#endif
