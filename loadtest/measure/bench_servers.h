/*
 * Further redis-servers of the bench, on ports of 127.0.0.1 that were free: a primary and its
 * replica, lock servers.
 */
#ifndef LOADTEST_BENCH_SERVERS_H
#define LOADTEST_BENCH_SERVERS_H

#include "base/process.h"
#include "run/service.h"

enum { BENCH_SERVERS_MAX = 8, BENCH_SERVER_URL_MAX = 40, BENCH_URLS_MAX = 8 * 40 };

struct bench_server {
    struct process process;
    int port;
    char dir[RUN_PATH_MAX]; /* its files */
};

struct bench_servers {
    struct bench_server list[BENCH_SERVERS_MAX];
    int count;
};

/* Start one more, in a folder of its own under `dir`, with these settings besides (at most 16 words,
 * then NULL), and wait until it answers. */
bool bench_servers_add(struct bench_servers *servers, const char *dir, const char *const more[],
                       struct failure *failure);

void bench_servers_url(const struct bench_servers *servers, int which,
                       char out[BENCH_SERVER_URL_MAX]);

/* Five that nobody else uses, for the locks of guard redlock; `urls` names them, commas between. */
bool bench_servers_add_locks(struct bench_servers *servers, const char *dir,
                             char urls[BENCH_URLS_MAX], struct failure *failure);

/* Stop all, and delete what they wrote. */
void bench_servers_stop(struct bench_servers *servers);

#endif
