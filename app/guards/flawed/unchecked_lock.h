/*
 * What guards share that trust lockkit's mutex: hold it, read, decide, look whether it is still held,
 * and write without checking in the same step.
 */
#ifndef SECKILL_GUARDS_UNCHECKED_LOCK_H
#define SECKILL_GUARDS_UNCHECKED_LOCK_H

#include "guards/base/guard.h"

/* guard.sell() under a mutex of the sale's lock key, taken with these options. */
struct guard_result unchecked_lock_sell(const struct lk_lock_options *options,
                                        const struct guard_ctx *ctx, struct purchase **batch,
                                        size_t count);

#endif
