/*
 * Locks made of locks: lockkit's and Redisson's multi locks over the same two keys, which they take
 * in opposite orders. Numbers in brackets are the cases of Redisson's checklist that a check
 * covers.
 */
#include "interop/checks/arena.h"

/* The duel with the key of the multi lock, "KEY-1,KEY-2"; Redisson begins with the second. */
static struct duel over_two(const struct duel *duel)
{
    struct duel multi = *duel;

    (void)snprintf(multi.key, sizeof multi.key, "%.20s-1,%.20s-2", duel->key, duel->key);
    return multi;
}

/* One of its locks, as a reentrant lock alone: 1 or 2. */
static struct duel member(const struct duel *duel, int number)
{
    struct duel single = duel_of(duel, "reentrant");

    (void)snprintf(single.key, sizeof single.key, "%.20s-%d", duel->key, number);
    return single;
}

static void expect_locked(const struct duel *duel, bool first, bool second)
{
    struct duel members[] = {member(duel, 1), member(duel, 2)};

    assert_int_equal(duel_is_locked(&members[0]), first);
    assert_int_equal(duel_is_locked(&members[1]), second);
}

/* [55] */
static void exclusion(struct duel *duel)
{
    struct duel multi = over_two(duel);

    duel_exclusion(&multi);
    expect_locked(duel, false, false);
}

static void wake_up(struct duel *duel)
{
    struct duel multi = over_two(duel);

    duel_wake_up(&multi);
}

static void both_members(struct duel *duel)
{
    struct duel multi = over_two(duel);

    (void)duel_lock(&multi, duel->a, 1, "ok");
    for (int i = 1; i <= 2; i++) {
        struct duel single = member(duel, i);

        (void)duel_lock(&single, duel->b, 1, "busy");
        assert_in_range(duel_ttl_ms(&single), 29000, 30000);
    }
    (void)duel_lock(&multi, duel->b, 1, "busy");
    duel_unlock(&multi, duel->a, 1, "ok");
    expect_locked(duel, false, false);
}

/* [55] The one that cannot be had lets the others go. */
static void all_or_none(struct duel *duel)
{
    struct duel multi = over_two(duel);

    for (int i = 1; i <= 2; i++) {
        struct duel single = member(duel, i);

        (void)duel_lock(&single, duel->b, 1, "ok");
        (void)duel_lock(&multi, duel->a, 1, "busy");
        expect_locked(duel, i == 1, i == 2);
        unsigned waiter = duel_send_waiter(&multi, duel->a, 1);
        duel_unlock(&single, duel->b, 1, "ok");
        (void)peer_await(duel->a, waiter, "ok", SOON_MS);
        expect_locked(duel, true, true);
        duel_unlock(&multi, duel->a, 1, "ok");
    }
    expect_locked(duel, false, false);
}

/* [57] The member that Redisson begins with is lost. */
static void lost_member(struct duel *duel)
{
    struct duel multi = over_two(duel);
    struct duel lost = member(duel, 2);

    (void)duel_lock(&multi, duel->a, 1, "ok");
    LKS_DO(duel->server, "DEL", lost.key);
    (void)duel_lock(&lost, duel->b, 1, "ok");
    duel_unlock(&multi, duel->a, 1, "not-owner");
    expect_locked(duel, !duel->is_lockkit_first, true);
    if (!duel->is_lockkit_first) {
        matrix_differ("released with a member lost, Redisson leaves the others to their leases; "
                      "lockkit releases them");
    }
    duel_unlock(&lost, duel->b, 1, "ok");
}

static const struct check checks[] = {
    {.what = "exclusion in opposite orders", .kinds = "multi", .is_once = true, .run = exclusion},
    {.what = "wake-up", .kinds = "multi", .run = wake_up},
    {.what = "keys and TTL", .kinds = "multi", .run = both_members},
    {.what = "all or none", .kinds = "multi", .run = all_or_none},
    {.what = "lost member", .kinds = "multi", .run = lost_member},
    {0}};

int main(void)
{
    return arena_run(&(const struct arena){
        .name = "multi", .start_rival = arena_start_redisson, .tables = {checks}});
}
