/*
 * lockkit and node-redlock 5 on the same keys: on one server, and on five, there also with redsync as
 * the third.
 */
#include "interop/checks/redlock_checks.h"

enum { LEAST_TURNS = 3 };

/* All three libraries at one lock. */
static void exclusion_of_three(struct duel *duel)
{
    struct peer *redsync = arena_start_redsync(duel->server);
    struct peer *const sides[] = {duel->a, duel->b, redsync};
    struct contest contest = {0};

    for (unsigned i = 0; i < 6; i++)
        contest_add(&contest, sides[i % 3], 1 + i / 3, duel->kind);
    contest_run(&contest, duel);
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++)
        assert_true(contest_turns_of(duel, sides[i]) >= LEAST_TURNS);
    redlock_expect_free(duel);
    peer_stop(redsync);
}

/* A lease that its drift uses up. */
static void no_validity(struct duel *duel)
{
    struct answer taken =
        peer_must(duel_rival(duel), "ok", "1 lock redlock %s wait=0 lease=2", duel->key);

    assert_true(strtoll(taken.value, NULL, 10) <= 0);
    (void)peer_must(duel_lockkit(duel), "invalid", "1 lock redlock %s-2 wait=0 lease=2", duel->key);
    matrix_differ(
        "node-redlock 5 hands out a lock whose validity is over already (a lease of 2 ms, "
        "less the drift); lockkit says INVALID");
}

static const struct check own[] = {
    {.what = "exclusion of three, with redsync",
     .kinds = "redlock",
     .is_once = true,
     .run = exclusion_of_three},
    {.what = "no validity left", .kinds = "redlock", .is_once = true, .run = no_validity},
    {0}};

REDLOCK_ARENA("node_redlock", arena_start_node_redlock, own);
