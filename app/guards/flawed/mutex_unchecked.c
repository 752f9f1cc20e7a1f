/*
 * FLAWED on purpose: the lock is perfect, and the holder even looks whether it still holds it, but
 * the write itself does not check. A holder that is paused right after looking (a stopped process, a
 * slow disk, a long collection of garbage) writes what it had decided long ago over what the next
 * holder has written since.
 */
#include "unchecked_lock.h"

static struct guard_result mutex_unchecked_sell(const struct guard_ctx *ctx,
                                                struct purchase **batch, size_t count)
{
    return unchecked_lock_sell(
        &(struct lk_lock_options){.wait_ms = ctx->wait_ms, .lease_ms = ctx->lease_ms}, ctx, batch,
        count);
}

const struct guard guard_mutex_unchecked = {
    .name = "mutex-unchecked",
    .idea = "the same lock, but read, decide and write trust it instead of checking it",
    .flaw = "a holder paused for longer than its lease writes over what others sold meanwhile",
    .expected = VERDICT_OVERSELLS,
    .sell = mutex_unchecked_sell,
};
