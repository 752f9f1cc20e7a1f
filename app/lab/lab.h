/*
 * The lock lab: scenarios in which every classical mistake shows, every time, and every cure holds.
 *
 * A scenario steps actors from point to point. The actors are real guards and real lockkit, each with a
 * connection of its own, in threads or in processes of their own, on a real Redis that belongs to the
 * lab. One runs at a time, up to the exchange with Redis that the scenario names; time passes because
 * the scenario lets a lease run out. So the same events come in the same order in every run.
 */
#ifndef SECKILL_LAB_H
#define SECKILL_LAB_H

#include "run.h"
#include "stage/actor.h"

/* Opaque: a private Redis in a folder of its own, further ones once they are wanted, and what is between
   them and the actors. */
struct lab;

/*
 * Start the lab: its folder, its redis-server.
 *
 * Owns     the result is yours; end it with lab_close().
 * Returns  NULL with *why.
 * Threads  one at a time, the one that opened it: the kernel ends the redis-server with that thread.
 */
struct lab *lab_open(struct start_error *why);
void lab_close(struct lab *lab);

/*
 * From now on this thread, those of the actors that it starts, tap and Redis run on these cores. They take turns: on one
 * core nobody is woken on another, which takes longer than what most of them do then.
 */
void lab_gather(struct lab *lab, const cpu_set_t *cores);

/* Run one; the result is yours: lab_run_free(). NULL when out of memory. */
struct lab_run *lab_play(struct lab *lab, const struct lab_scenario *scenario);
#endif
