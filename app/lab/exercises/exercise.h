/*
 * What your guard has at hand. You write sell(); the rest is here.
 *
 *   make exercise FILE=path/to/mine.c
 *
 * Two servers call your sell() at the same time, each for its own buyers, on one Redis. Whatever
 * happens (a server dies, stands still, comes late), nothing may be sold twice.
 */
#ifndef SECKILL_EXERCISE_H
#define SECKILL_EXERCISE_H

#include <stdbool.h>

struct shop; /* one call of sell(): its buyers, its connection to Redis */

enum sold {
    SOLD, /* done: the buyers are told what the last shop_read() found and the write made of it */
    BUSY, /* nothing was written, and the lock is somebody else's: sell() is called again, soon */
};

/* Yours. Do not wait in it: say BUSY. */
enum sold sell(struct shop *shop);

/*
 * One Redis command, its words as text: REDIS(shop, "GET", shop_lock(shop)).
 * A script, too: REDIS(shop, "EVAL", script, "1", key, argument).
 *
 * Its answer as text ("OK", "1", a value, "ERR ..."), good until sell() returns; NULL for nil, and
 * when there was no answer.
 */
#define REDIS(shop, ...) shop_ask((shop), (const char *const[]){__VA_ARGS__, (const char *)0})
const char *shop_ask(struct shop *shop, const char *const words[]);

/* Whether an answer is that text; NULL is never. */
bool says(const char *answer, const char *text);

/* The key that your lock must have, so that all servers mean the same one. */
const char *shop_lock(const struct shop *shop);
/* 32 random digits: no other call of sell(), on any server, has the same. */
const char *shop_token(const struct shop *shop);
/* How long a lease is to be, in milliseconds: "3000". */
const char *shop_lease_ms(const struct shop *shop);

/* Read what is left and who has an order already, and decide. False: Redis does not answer. */
bool shop_read(struct shop *shop);

/* Write what was decided: the orders, and what is left now. False: not written. */
bool shop_write(struct shop *shop);

/*
 * The same, in one step with a question: Redis runs a script that writes only if `condition`, an
 * expression in Lua, is true. In it KEYS[1] is `key` and ARGV[1] is `argument`.
 *
 *   shop_write_if(shop, "redis.call('EXISTS', KEYS[1]) == 1", key, "")
 *
 * False: not written.
 */
bool shop_write_if(struct shop *shop, const char *condition, const char *key, const char *argument);

#endif
