/*
 * FLAWED on purpose: the lock is perfect, and the holder even looks whether it still holds it, but
 * the write itself does not check. A holder that is paused right after looking (a stopped process, a
 * slow disk, a long collection of garbage) writes what it had decided long ago over what the next
 * holder has written since.
 */
#include "unchecked_lock.h"

const struct guard guard_mutex_unchecked = {
    .name = "mutex-unchecked",
    .idea = "the same lock, but read, decide and write trust it instead of checking it",
    .flaw = "a holder paused for longer than its lease writes over what others sold meanwhile",
    .expected = VERDICT_OVERSELLS,
    .sell = unchecked_lock_sell,
    .way = &(const struct lk_lock_options){0},
};
