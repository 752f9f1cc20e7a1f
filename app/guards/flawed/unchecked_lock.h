/*
 * What guards share that trust lockkit's mutex: hold it, read, decide, look whether it is still held,
 * and write without checking in the same step.
 */
#ifndef SECKILL_GUARDS_UNCHECKED_LOCK_H
#define SECKILL_GUARDS_UNCHECKED_LOCK_H

#include "guards/base/guard.h"

/* guard.sell() under a mutex of the sale's lock key. guard.way: its lk_lock_options, but for the times. */
struct guard_result unchecked_lock_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                        size_t count);

#endif
