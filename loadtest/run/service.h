/*
 * What is under test: a private Redis, or the one of --redis, and the seckilld instances on it,
 * started by us, or running ones named by --url. Afterwards nothing of what we started is left.
 */
#ifndef LOADTEST_SERVICE_H
#define LOADTEST_SERVICE_H

#include "base/http_client.h"
#include "base/process.h"
#include "base/secret.h"
#include "evidence/ledger.h"
#include "evidence/tokens.h"
#include "options.h"

enum { URL_MAX = 256, RUN_PATH_MAX = 1024, TOKEN_MAX = 256 };

struct instance {
    char name[24];
    char url[URL_MAX]; /* of the buyers' port */
    struct process process;
    long memory_kib; /* most it had resident; -1: not ours, or gone */
};

struct service {
    bool is_ours;
    bool has_redis; /* of our own */
    struct process redis;
    char redis_url[RUN_PATH_MAX];
    char redis_password[SECRET_MAX]; /* of its user; "": the URL has it, or there is none */
    char sentinel_password[SECRET_MAX];
    struct tls_options tls;
    char redis_version[LEDGER_VERSION_MAX];
    char version[64];    /* of the service, as /version says */
    char socket_dir[32]; /* made by us for the socket, because the run's path is too long; or "" */
    struct instance instances[INSTANCES_MAX];
    int count;
    int started; /* instances so far, so that each has a name and a log of its own */
    char admin_url[URL_MAX];
    char token[TOKEN_MAX];
    struct tokens *tokens; /* owned: of buyers; NULL: they are known by X-User-Id */
};

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

/* Delete what the stopped Redis wrote: of a speed run it proves nothing, and it is large. */
void service_discard_data(const char *run_dir);

/* A connection to Redis, with all that it takes; as ledger_open(). */
struct ledger *service_open_ledger(const struct service *service, struct failure *failure);

/* Put `stock` units on sale under that id. */
bool service_create_sale(const struct service *service, struct http_client *http, const char *sale,
                         const char *guard, long stock, struct failure *failure);

/* Did an instance or the Redis of ours end by itself? Words about the first one that did. */
bool service_has_died(struct service *service, struct failure *failure);

/* Read each instance's peak resident memory into memory_kib. */
void service_measure_memory(struct service *service);

/* The service's program: beside us in the build tree, in sbin when installed. */
bool service_find_seckilld(char *out, size_t size, struct failure *failure);

/* The folder of our own executable; false when /proc does not say. */
bool service_find_programs(char *out_dir, size_t size, struct failure *failure);

#endif
