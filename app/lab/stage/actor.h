/*
 * Who acts on a stage: each has a thread, which runs its way itself, or starts a process that does and looks after it.
 */
#ifndef SECKILL_LAB_ACTOR_H
#define SECKILL_LAB_ACTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "lockkit/client.h"

#include "base/start_error.h"

struct stage_actor;
struct stage_home;
struct guard;

bool actor_start(struct stage_actor *self, struct start_error *why);
/* Its connections end. */
void actor_leave(struct stage_home *home);
/* Kill its process; its thread ends soon. */
void actor_kill(struct stage_actor *self);
void actor_join(struct stage_actor *self);
/* Join it if it ends by then (monotonic clock); false when it has not. */
bool actor_ends(struct stage_actor *self, int64_t until_ms);

/*
 * Actors that are processes: this program, started again under a second name. To be called first of
 * all in main(), with private_server_is_this().
 *
 * Returns  false when these arguments are not that call; else it does not return.
 */
bool actor_is_this(int argc, char **argv);

/* For bodies: the actor's client, and its keys; that it cannot go on before that lock is free; and that a
   round of tries is over. */
lk_client *stage_client(struct stage_actor *self);
/* Where its branch to the server beside is; it opens its own connections there. */
const char *stage_url_beside(const struct stage_actor *self);
const char *stage_name(const struct stage_actor *self);
const char *stage_key(const struct stage_actor *self, size_t index);
/* What its buyer, or whoever it serves, is told; static. */
void stage_report(struct stage_actor *self, const char *what);
/* Buy in this way for a buyer, who is told of it. */
void stage_buy(struct stage_actor *self, const struct guard *guard, const char *buyer);
void stage_wants(struct stage_actor *self, const char *key);
void stage_tried(struct stage_actor *self, bool has_won);

#endif
