/*
 * What hostile clients attack: two services of one build on one Redis, one with --lab and one that
 * knows buyers by tokens alone, and a sale "cup" of many units.
 */
#ifndef SECKILL_HOSTILE_WORLD_H
#define SECKILL_HOSTILE_WORLD_H

#include <netinet/in.h>

#include "hostile_rows.h"
#include "test/support/app_support.h"

enum { HOSTILE_UNITS = 1000000, HOSTILE_SERVICES = 2 };

struct hostile_world {
    char dirs[HOSTILE_SERVICES][APP_PATH_SIZE]; /* --data */
    char redis_dir[APP_PATH_SIZE];
    char keys[HOSTILE_SERVICES][APP_PATH_SIZE + 16]; /* files */
    struct app_process redis;
    struct app_process services[HOSTILE_SERVICES]; /* with --lab, without */
};

/*
 * Start it with the seckilld of that folder ("build/asan") and that --log-level; reports of
 * sanitizers end a service with a status of their own.
 *
 * Returns  false when something did not start; close it all the same.
 */
bool hostile_world_open(struct hostile_world *self, const char *build, const char *log_level);

/* The base URL behind a door. */
const char *hostile_world_base(const struct hostile_world *self, enum hostile_door door);

/*
 * Connect to the service on this machine's address `to` from its address `from` and *port (0: a free
 * one, which is told). -1: no. Any thread.
 */
int hostile_connect(const char *base, in_addr_t from, in_addr_t to, uint16_t *port);

/*
 * Stop all of it. Each service ends in its time and with 0, and each line of its log is one object of
 * three members, without a secret: so there is no report of a sanitizer among them.
 *
 * Returns  false if not, and `why` says what (cut).
 */
bool hostile_world_close(struct hostile_world *self, char *why, size_t size);

#endif
