/*
 * The lab's ZooKeeper, for scenarios whose lock is there, and who has it. One thread, that of the lab.
 */
#ifndef SECKILL_LAB_ENSEMBLE_H
#define SECKILL_LAB_ENSEMBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/start_error.h"

struct ensemble; /* opaque */

/* Whether it is installed, and Java. */
bool ensemble_is_here(void);

/* Start it, beside what is in this folder, with a place for locks of this key; NULL with *why. Owns: the result is
   yours. */
struct ensemble *ensemble_start(const char *dir, const char *key, struct start_error *why);
/* NULL is fine. */
void ensemble_stop(struct ensemble *self);

/* "127.0.0.1:PORT" */
const char *ensemble_address(const struct ensemble *self);

/* The nodes of those who have that lock; how many, at most ENSEMBLE_HOLDERS. -1: no answer. */
enum { ENSEMBLE_HOLDERS = 8, ENSEMBLE_NODE = 128 };
int ensemble_holders(struct ensemble *self, const char *key,
                     char out[ENSEMBLE_HOLDERS][ENSEMBLE_NODE]);

#endif
