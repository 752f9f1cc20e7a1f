/*
 * As guard "postgres", with the lock in ZooKeeper (--zookeeper): its number is that of the transaction that made
 * the holder's node, which grows with each grant.
 */
#include "guards/shared/held_lock.h"

const struct guard guard_zookeeper = {
    .name = "zookeeper",
    .idea = "a fenced lock in ZooKeeper; the write in Redis refuses a lower number",
    .expected = VERDICT_SOUND,
    .needs = NEED_ZOOKEEPER,
    .sell = held_lock_sell,
    .way = &(const struct held_lock){.make = lk_fenced_new, .eval = held_lock_eval_fenced},
};
