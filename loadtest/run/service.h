/*
 * What is under test: a private Redis, or the one of --redis, and the seckilld instances on it,
 * started by us, or running ones named by --url. Afterwards nothing of what we started is left.
 */
#ifndef LOADTEST_SERVICE_H
#define LOADTEST_SERVICE_H

#include "base/http_client.h"
#include "options.h"
#include "stats/under_test.h"

/* Redis' flags of a sale that may be believed, and of which no rewrite disturbs the measuring. */
#define SERVICE_AOF                                                                                \
    "--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-min-size", "512mb"

/* `connections` is the most one run will open in all; 0: the service's default. `run_dir` exists
 * and is absolute.
 * Returns  false   not everything started; what did is stopped again. */
bool service_start(struct service *service, const struct options *options, long connections,
                   const char *run_dir, struct failure *failure);
void service_stop(struct service *service);

/* One more instance, which may have other options than the first, another Redis too: there must be
 * room. When it does not start, service_stop() still cleans up. Drop ends the last one at once. */
bool service_add_instance(struct service *service, const struct options *options, long connections,
                          const char *run_dir, struct failure *failure);
void service_drop_instance(struct service *service);

/* kill -9 the last one; and start it again where it was, which takes a moment. */
void service_kill_last(struct service *service);
bool service_bring_back(struct service *service, const struct options *options, const char *run_dir,
                        struct failure *failure);

/* Delete what the stopped Redis wrote: of a speed run it proves nothing, and it is large. */
void service_discard_data(const char *run_dir);

/* A connection to Redis, with all that it takes; as ledger_open(). */
struct ledger *service_open_ledger(const struct service *service, struct failure *failure);

/* Did an instance or the Redis of ours end by itself? Words about the first one that did. */
bool service_has_died(struct service *service, struct failure *failure);

/* Read each instance's peak resident memory into memory_kib. */
void service_measure_memory(struct service *service);

#endif
