/*
 * The lab's PostgreSQL, for scenarios whose lock is there, and what is seen of it. One thread, that of the lab.
 */
#ifndef SECKILL_LAB_DATABASE_H
#define SECKILL_LAB_DATABASE_H

#include <stdbool.h>
#include <stddef.h>

#include "lockkit/client.h"

#include "base/start_error.h"

struct database; /* opaque */

/* Whether it is installed. */
bool database_is_here(void);

/* Start it, beside what is in this folder; NULL with *why. Owns: the result is yours. */
struct database *database_start(const char *dir, struct start_error *why);
/* NULL is fine. */
void database_stop(struct database *self);

/* Its socket's path. */
const char *database_socket(const struct database *self);

/* As it is at first: no sale, nobody's lease, and two lamps (seckill.goods). */
bool database_clear(struct database *self, struct start_error *why);

/* Ask for one field: that of the first row, "" when there is none. False: no answer. */
bool database_ask(struct database *self, const char *sql, char *out, size_t size);
/* Likewise by somebody's own connection. */
bool database_ask_by(lk_client *client, const char *sql, char *out, size_t size);

#endif
