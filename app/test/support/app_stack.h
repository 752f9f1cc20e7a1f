/*
 * How deep stacks have been: those of a seckilld's threads, or that of a function in the test.
 */
#ifndef SECKILL_APP_STACK_H
#define SECKILL_APP_STACK_H

#include "app_support.h"

/*
 * The deepest stack of any thread that served a connection, in percent of what it has; asked when no
 * connection but ours is open any more, for it is told when one ends. -1: no answer, or they stay.
 */
int app_stack_percent(const struct app_process *service);

/* Run it in a thread on a painted stack; the bytes that are not as they were painted. */
size_t app_stack_use(void (*run)(void *arg), void *arg);

#endif
