/*
 * See torture_kinds.h: the table is at the bottom. What is no lk_lock is in torture_counters.c and
 * torture_latch.c, the flawed locks are in torture_flawed.c.
 */
#include "torture_kinds.h"

#include <string.h>

enum {
    MULTI_KEYS = 12,
    REDLOCK_KEYS = TORTURE_PARTS_MAX * (TORTURE_KEYS + 1) - 1,
    READERS_MAX = TORTURE_PROCESSES_MAX * TORTURE_THREADS_MAX,
    WRITE_PERCENT = 25,
    FAIR_WAITER_MS = 150,     /* how long a dead waiter holds up those behind it */
    PATIENT_WAITER_MS = 1200, /* twice that would be too long (stuck_ms) */
    SOFTENED_PERCENT = 30,
    HARDENED_PERCENT = 10,
};

/* ---- locks ------------------------------------------------------------------------------------------ */

static lk_lock *make_fair(lk_client *client, const char *key, struct lk_error *err)
{
    return lk_fair_new(client, key, &(struct lk_fair_options){.waiter_ms = FAIR_WAITER_MS}, err);
}

static lk_lock *make_patient(lk_client *client, const char *key, struct lk_error *err)
{
    return lk_fair_new(client, key, &(struct lk_fair_options){.waiter_ms = PATIENT_WAITER_MS}, err);
}

/* Highest numbers last for ever, or they would begin anew. */
static bool is_fence(const char *key)
{
    return strstr(key, "redisson_lock_token") != NULL;
}

/* ---- read/write ------------------------------------------------------------------------------------- */

static bool make_rwlock(struct torture_seat *seat, lk_rwlock_order order, struct lk_error *err)
{
    struct lk_rwlock_options options = {.order = order, .waiter_ms = FAIR_WAITER_MS};
    char key[TORTURE_KEY_MAX];

    torture_key_name(seat->plan, seat->key, key);
    seat->thing = lk_rwlock_new_with(seat->client, key, &options, err);
    return seat->thing != NULL;
}

static bool make_unordered(struct torture_seat *seat, struct lk_error *err)
{
    return make_rwlock(seat, LK_RWLOCK_UNORDERED, err);
}

static bool make_writers_first(struct torture_seat *seat, struct lk_error *err)
{
    return make_rwlock(seat, LK_RWLOCK_WRITERS_FIRST, err);
}

static bool make_in_order(struct torture_seat *seat, struct lk_error *err)
{
    return make_rwlock(seat, LK_RWLOCK_FAIR, err);
}

static void rwlock_done(struct torture_seat *seat)
{
    lk_rwlock_free(seat->thing);
}

static void choose_side(struct torture_seat *seat)
{
    bool writes = torture_chance(seat->seed, WRITE_PERCENT);

    seat->lock = writes ? lk_rwlock_write(seat->thing) : lk_rwlock_read(seat->thing);
    seat->claim.weight = writes ? READERS_MAX : 1;
}

static lk_lock *read_besides(struct torture_seat *seat)
{
    bool writes = seat->lock == lk_rwlock_write(seat->thing);

    if (!writes || !torture_chance(seat->seed, SOFTENED_PERCENT)) return NULL;
    return lk_rwlock_read(seat->thing);
}

/* The write side, of who reads; NULL: not now. */
static lk_lock *write_instead(struct torture_seat *seat)
{
    bool reads = seat->lock == lk_rwlock_read(seat->thing);

    if (!reads || !torture_chance(seat->seed, HARDENED_PERCENT)) return NULL;
    return lk_rwlock_write(seat->thing);
}

static lk_status upgrade(struct torture_seat *seat, const struct lk_lock_options *options,
                         struct lk_error *err)
{
    seat->claim.weight = READERS_MAX;
    return lk_rwlock_upgrade(seat->thing, options, err);
}

/* ---- locks made of locks ----------------------------------------------------------------------------- */

/* A key is locked by everybody in the same way. */
static lk_lock *make_part(const struct torture_seat *seat, unsigned key, struct lk_error *err)
{
    static lk_lock *(*const makers[])(lk_client *, const char *, struct lk_error *) = {
        lk_mutex_new, lk_reentrant_new, lk_fenced_new};
    char name[TORTURE_KEY_MAX];

    torture_key_name(seat->plan, key, name);
    return makers[key % (sizeof makers / sizeof makers[0])](seat->client, name, err);
}

static bool make_parts(struct torture_seat *seat, const unsigned *keys, size_t count,
                       unsigned allowed, struct lk_error *err)
{
    struct lk_multi_options options = {.failures_allowed = allowed};

    for (size_t i = 0; i < count; i++) {
        seat->parts[i] = make_part(seat, keys[i], err);
        if (!seat->parts[i]) return false;
    }
    seat->lock = lk_multi_new(seat->parts, count, &options, err);
    seat->thing = seat->lock;
    return seat->lock != NULL;
}

/* The seat's key and one or two others, in any order. */
static bool make_multi(struct torture_seat *seat, struct lk_error *err)
{
    unsigned count = 2 + torture_random(seat->seed) % 2;
    unsigned step = 1 + torture_random(seat->seed) % 2;
    unsigned keys[TORTURE_PARTS_MAX];

    for (unsigned i = 0; i < count; i++) {
        keys[i] = (seat->key - 1 + i * step) % seat->plan->keys + 1;
        seat->claim.keys[i] = keys[i];
    }
    return make_parts(seat, keys, count, 0, err);
}

/* Two of three keys that belong together: who has them excludes who has any two. */
static bool make_redlock(struct torture_seat *seat, struct lk_error *err)
{
    unsigned first = TORTURE_PARTS_MAX * seat->key;
    unsigned keys[] = {first, first + 1, first + 2};

    return make_parts(seat, keys, TORTURE_PARTS_MAX, 1, err);
}

/* The whole before its parts. */
static void multi_done(struct torture_seat *seat)
{
    lk_lock_free(seat->thing);
    for (size_t i = 0; i < TORTURE_PARTS_MAX; i++)
        lk_lock_free(seat->parts[i]);
}

/* ---- the table ------------------------------------------------------------------------------------------ */

#define LOCK(what)                                                                                 \
    .name = (what), .keys = TORTURE_KEYS, .watched = TORTURE_KEYS, .limit = 1, .is_leased = true,  \
    .has_holds = true
#define NESTING(what) LOCK(what), .is_reentrant = true
#define RWLOCK(what)                                                                               \
    .name = (what), .keys = TORTURE_KEYS, .watched = TORTURE_KEYS, .limit = READERS_MAX,           \
    .is_reentrant = true, .is_leased = true, .has_holds = true, .waiter_ms = FAIR_WAITER_MS,       \
    .done = rwlock_done, .choose = choose_side, .soften = read_besides, .harden = write_instead,   \
    .upgrade = upgrade
#define KIND(...)                                                                                  \
    &(const struct torture_kind)                                                                   \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

const struct torture_kind *const torture_kinds[] = {
    KIND(LOCK("mutex"), .make_lock = lk_mutex_new),
    KIND(NESTING("reentrant"), .shows = CHECK_DEPTH, .make_lock = lk_reentrant_new),
    KIND(LOCK("non-reentrant"), .make_lock = lk_non_reentrant_new),
    KIND(NESTING("spin"), .make_lock = lk_spin_new),
    KIND(NESTING("fenced"), .shows = CHECK_FENCE, .stays = is_fence, .make_lock = lk_fenced_new),
    KIND(NESTING("fair"), .waiter_ms = FAIR_WAITER_MS, .shows = CHECK_FAIRNESS,
         .make_lock = make_fair),
    KIND(NESTING("fair-patient"), .waiter_ms = PATIENT_WAITER_MS, .shows = CHECK_FAIRNESS,
         .make_lock = make_patient),
    KIND(RWLOCK("rwlock"), .make = make_unordered),
    KIND(RWLOCK("rwlock-writers"), .make = make_writers_first),
    KIND(RWLOCK("rwlock-fair"), .shows = CHECK_FAIRNESS, .make = make_in_order),
    KIND(.name = "multi", .keys = MULTI_KEYS, .watched = MULTI_KEYS, .limit = 1, .is_leased = true,
         .has_holds = true, .gives_up = true, .stays = is_fence, .make = make_multi,
         .done = multi_done),
    KIND(.name = "redlock", .keys = TORTURE_KEYS, .watched = REDLOCK_KEYS, .limit = 1,
         .is_leased = true, .has_holds = true, .gives_up = true, .stays = is_fence,
         .make = make_redlock, .done = multi_done),
    &torture_semaphore,
    &torture_semaphore_spared,
    &torture_permits,
    &torture_latch,
    &torture_flawed_release,
    &torture_flawed_acquire,
    &torture_flawed_answer,
};

const size_t torture_kind_count = sizeof torture_kinds / sizeof torture_kinds[0];

const struct torture_kind *torture_kind_named(const char *name)
{
    for (size_t i = 0; i < torture_kind_count; i++) {
        if (strcmp(torture_kinds[i]->name, name) == 0) return torture_kinds[i];
    }
    return NULL;
}
