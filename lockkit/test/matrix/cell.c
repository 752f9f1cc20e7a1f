/*
 * See cell.h. Threads: a cell's own takes its step; a rival's goes through all cells of a topology; the main thread
 * begins, judges and ends them.
 */
#include "cell.h"

#include "base/slot.h"

enum {
    LEASE_MS = 2400,   /* of what is renewed, so every 800 ms */
    SETTLED_MS = 6000, /* ...where servers come back: a cluster's takes writes after 2 s */
    LONG_MS = 60000,   /* of what is not: nothing here is saved by its end */
    WAIT_MS = 10000,   /* longer than any fault */
    COMMAND_MS = 2000, /* no limit is reached for want of a processor */
    SLACK_MS = 5000,   /* of a step: less than a wait */
    SOON_MS = 10000,   /* a second, on a machine that is not very busy; a lease takes far longer */
};

const char *cell_kind_name(size_t kind)
{
    static const char *const names[CELL_KINDS] = {
        [LKS_ANY_READ] = "read",
        [LKS_ANY_WRITE] = "write",
        [LKS_ANY_PERMIT] = "permit",
        [LKS_ANY_MULTI] = "multi",
        [CELL_REDLOCK] = "redlock",
        [CELL_SEMAPHORE] = "semaphore",
        [CELL_LATCH] = "latch",
        [CELL_FIRST_READ] = "read (writers first)",
        [CELL_FIRST_WRITE] = "write (writers first)",
        [CELL_FAIR_READ] = "read (fair)",
        [CELL_FAIR_WRITE] = "write (fair)",
    };

    return kind < LKS_KINDS ? lks_kinds[kind].name : names[kind];
}

const char *const cell_reasons[CELL_REASONS] = {
    "there is no such fault in such a topology",
    "the watchdog renews in no child, and with no handle of others",
    "such servers have no such kind",
    "multi, redlock, semaphore and latch guard no script",
    "semaphore and latch have no lease, and that one is gone with the memory of its server",
    "such servers do nothing under a lock",
};

static bool is_counter(size_t kind)
{
    return kind == CELL_SEMAPHORE || kind == CELL_LATCH;
}

static bool is_reader(size_t kind)
{
    return kind == LKS_ANY_READ || kind == CELL_FIRST_READ || kind == CELL_FAIR_READ;
}

static bool guards(size_t kind)
{
    return kind < LKS_ANY_MULTI || kind >= CELL_FIRST_READ;
}

const char *cell_is_missing(const struct cell *cell)
{
    if (!faults_has(cell->fault, cell->world)) return cell_reasons[0];
    if (cell->fault->may[cell->step] == 0) return cell_reasons[1];
    if (cell->world->lacks & 1U << cell->kind) return cell_reasons[2];
    if (cell->step == EVAL && !guards(cell->kind)) return cell_reasons[3];
    if (cell->step == EVAL && !cell->world->ops->eval) return cell_reasons[5];
    if (!is_counter(cell->kind)) return NULL;
    bool is_gone = cell->kind == CELL_SEMAPHORE && cell->fault->forgets;
    return cell->step == RENEW || cell->step == BY_HAND || is_gone ? cell_reasons[4] : NULL;
}

int64_t cell_command_ms(const struct fault *fault)
{
    return fault->command_ms ? fault->command_ms : COMMAND_MS;
}

/* ---- a lock, a semaphore or a latch ------------------------------------------------------------------------------ */

static bool is_lock(const struct part *part)
{
    return !part->semaphore && !part->latch;
}

/* A wait ends when it is open, and is all there is to it. */
static lk_status take_latch(struct part *part, int64_t wait_ms, struct lk_error *err)
{
    if (wait_ms > 0) return lk_latch_await(part->latch, wait_ms, err);
    lk_status status = lk_latch_try_set(part->latch, 1, err);
    atomic_store(&part->is_taken, status == LK_OK);
    part->is_owed |= status == LK_UNKNOWN;
    return status;
}

static lk_status acquire(struct part *part, const struct lk_lock_options *options,
                         struct lk_error *err)
{
    if (is_lock(part)) return lk_lock_acquire(part->any.lock, options, err);
    if (part->latch) return take_latch(part, options->wait_ms, err);
    lk_status status = lk_semaphore_acquire(part->semaphore, 1, options->wait_ms, err);
    if (status == LK_OK) atomic_store(&part->is_taken, true);
    return status;
}

static lk_status release(struct part *part, struct lk_error *err)
{
    if (is_lock(part)) return lk_lock_release(part->any.lock, err);
    if (!atomic_exchange(&part->is_taken, false) && !part->is_owed) return LK_OK;
    lk_status status = part->latch ? lk_latch_count_down(part->latch, err)
                                   : lk_semaphore_release(part->semaphore, 1, err);
    part->is_owed = status != LK_OK;
    return status;
}

bool cell_holds(const struct part *part)
{
    return is_lock(part) ? lk_held(part->any.lock) : atomic_load(&part->is_taken);
}

static lk_status acquire_as_rival(struct cell *cell, int64_t wait_ms)
{
    struct lk_lock_options options = {.wait_ms = wait_ms, .lease_ms = LONG_MS};

    return acquire(&cell->other, &options, &cell->of_rival);
}

/* ---- the step ------------------------------------------------------------------------------------------------ */

static lk_status take(struct cell *cell, int64_t wait_ms, int64_t lease_ms)
{
    struct lk_lock_options options = {.wait_ms = wait_ms,
                                      .lease_ms = lease_ms,
                                      .is_renewed = cell->step == RENEW,
                                      .on_lost = lks_count_loss,
                                      .on_lost_arg = &cell->losses};

    return acquire(&cell->mine, &options, &cell->err);
}

static int64_t wait_ms_of(const struct cell *cell)
{
    if (cell->step != WAIT) return 0;
    return cell->fault->wait_ms ? cell->fault->wait_ms : WAIT_MS;
}

/* Of what shall outlive a fault, or not be found gone by its next renewal. */
static int64_t lease_ms_of(const struct cell *cell)
{
    if (cell->step != RENEW || cell->fault->forgets) return LONG_MS;
    return cell->fault->is_unsettled ? SETTLED_MS : LEASE_MS;
}

lk_status cell_try(struct cell *cell)
{
    switch (cell->step) {
    case ACQUIRE:
    case WAIT:
        return take(cell, wait_ms_of(cell), LONG_MS);
    case BY_HAND:
        return lk_lock_renew(cell->mine.any.lock, 0, &cell->err);
    case RELEASE:
        return release(&cell->mine, &cell->err);
    case EVAL:
        return cell->world->ops->eval(cell->mine.any.lock, cell->key, &cell->err);
    case RENEW:
    case STEPS:
        break;
    }
    return LK_OK;
}

static void *cell_main(void *arg)
{
    struct cell *cell = arg;

    cell->began_ms = lks_now_ms();
    if (cell->fault->place == AT_CALL)
        lks_fault_arm(cell->fault->call, cell->step == EVAL ? cell->world->ops->deciding : 1);
    cell->status = cell_try(cell);
    (void)lks_fault_disarm();
    lks_fault_arm(LKS_NO_FAULT, 0);
    (void)lks_fault_disarm();
    cell->ended_ms = lks_now_ms();
    atomic_store(&cell->has_ended, true);
    return NULL;
}

/* In the middle of something with the same handle, as long as the server stands still. */
static void *beside_main(void *arg)
{
    struct cell *cell = arg;
    bool is_to_take = cell->step == ACQUIRE || cell->step == WAIT;
    struct lk_lock_options options = {.wait_ms = wait_ms_of(cell), .lease_ms = LONG_MS};

    if (is_to_take) {
        cell->of_beside = acquire(&cell->mine, &options, NULL);
    } else if (cell->kind == CELL_SEMAPHORE) {
        cell->of_beside = lk_semaphore_acquire(cell->mine.semaphore, 1, 0, NULL);
    } else if (cell->kind == CELL_LATCH) {
        cell->of_beside = lk_latch_await(cell->mine.latch, 0, NULL);
    } else {
        cell->of_beside = lk_lock_renew(cell->mine.any.lock, 0, NULL);
    }
    return NULL;
}

void cell_start(struct cell *cell)
{
    if (cell->fault->place == BESIDE) {
        assert_int_equal(pthread_create(&cell->beside, NULL, beside_main, cell), 0);
        lks_nap(1);
    }
    if (cell->fault->place != IN_CHILD)
        assert_int_equal(pthread_create(&cell->thread, NULL, cell_main, cell), 0);
}

void cell_join(struct cell *cell)
{
    if (cell->thread) assert_int_equal(pthread_join(cell->thread, NULL), 0);
    if (cell->beside) assert_int_equal(pthread_join(cell->beside, NULL), 0);
    if (cell->beside && cell->of_beside == LK_INVALID)
        cell->status = LK_INVALID; /* it came second */
    cell->thread = cell->beside = 0;
    atomic_store(&cell->has_ended, true);
}

/* ---- the rival --------------------------------------------------------------------------------------------- */

/* Whoever waits for it, or is about to take it, is not disturbed. */
static bool is_mine_first(const struct cell *cell)
{
    return (cell->step == ACQUIRE || cell->step == WAIT) && !atomic_load(&cell->has_ended);
}

void cell_rival(struct cell *cell, bool is_over)
{
    if (cell_holds(&cell->other) && !is_over) return;
    if (release(&cell->other, NULL) != LK_OK || is_mine_first(cell)) return;
    if (acquire_as_rival(cell, 0) != LK_OK) return;
    if (cell_holds(&cell->mine)) atomic_fetch_add(&cell->overlaps, 1);
    (void)release(&cell->other, NULL);
}

/* ---- before and after ------------------------------------------------------------------------------------------ */

static void make_side(struct part *part, size_t kind, lk_client *client, const char *key,
                      struct lk_error *err)
{
    const struct lk_rwlock_options options = {
        .order = kind < CELL_FAIR_READ ? LK_RWLOCK_WRITERS_FIRST : LK_RWLOCK_FAIR};
    lk_rwlock *rwlock = lk_rwlock_new_with(client, key, &options, err);

    part->any.rwlock = rwlock;
    part->any.lock = is_reader(kind) ? lk_rwlock_read(rwlock) : lk_rwlock_write(rwlock);
}

static void make(struct part *part, size_t kind, lk_client *client, const char *key)
{
    struct lk_error err = {0};

    if (kind < LKS_ANY_KINDS) lks_any_new(&part->any, kind, client, key);
    if (kind == CELL_REDLOCK) part->any.lock = lk_redlock_new(&client, 1, key, NULL, &err);
    if (kind == CELL_SEMAPHORE) part->semaphore = lk_semaphore_new(client, key, &err);
    if (kind == CELL_LATCH) part->latch = lk_latch_new(client, key, &err);
    if (kind >= CELL_FIRST_READ) make_side(part, kind, client, key, &err);
    if (is_lock(part) && !part->any.lock) fail_msg("%s: %s", key, err.text);
}

static void end(struct part *part)
{
    lks_any_free(&part->any);
    lk_semaphore_free(part->semaphore);
    lk_latch_free(part->latch);
}

void cell_mend(struct cell *cell)
{
    lk_permits *permits = NULL;
    lk_status status = LK_OK;

    if (cell->kind != LKS_ANY_PERMIT || !cell->fault->forgets) return;
    permits = lk_permits_new(cell->world->rival, cell->key, NULL);
    LKS_EVENTUALLY((status = lk_permits_try_set(permits, 1, NULL)) == LK_OK || status == LK_BUSY,
                   SOON_MS); /* BUSY: kept, by who took over */
    lk_permits_free(permits);
}

static void must_be_ok(struct cell *cell, lk_status status)
{
    if (status != LK_OK) cell->wrong = "it did not come to its step";
}

/* Client and server know the scripts: so what a fault hits is the step itself. */
static void warm_up(struct cell *cell)
{
    must_be_ok(cell, take(cell, 0, LONG_MS));
    if (!is_counter(cell->kind) && cell->world->ops->eval)
        must_be_ok(cell, lk_lock_renew(cell->mine.any.lock, 0, &cell->err));
    if (guards(cell->kind) && cell->world->ops->eval)
        must_be_ok(cell, cell->world->ops->eval(cell->mine.any.lock, "warm", &cell->err));
    must_be_ok(cell, release(&cell->mine, &cell->err));
}

/* In the slot of "m"; a latch's has no braces, which its channel has. */
static void name_key(struct cell *cell, unsigned serial)
{
    const char *kind = cell_kind_name(cell->kind);
    const char *tag = cell->kind == CELL_LATCH ? "" : "{m}:";
    unsigned more = 0;

    do {
        (void)snprintf(cell->key, sizeof cell->key, "%s%s-%u-%u", tag, kind, serial, more++);
    } while (lki_slot_of(cell->key, strlen(cell->key)) != lki_slot_of("m", 1));
}

void cell_begin(struct cell *cell)
{
    static unsigned serial;
    size_t rivals = cell->kind + is_reader(cell->kind);

    name_key(cell, serial++);
    if (cell->kind == LKS_ANY_PERMIT) lks_any_prepare(cell->kind, cell->world->rival, cell->key);
    make(&cell->mine, cell->kind, cell->world->mine, cell->key);
    make(&cell->other, rivals, cell->world->rival, cell->key);
    if (cell->kind == CELL_SEMAPHORE)
        must_be_ok(cell, lk_semaphore_try_set(cell->mine.semaphore, 1, &cell->err));
    if (!cell->fault->is_cold) warm_up(cell);
    if (cell->step == WAIT) must_be_ok(cell, acquire_as_rival(cell, 0));
    cell->held_ms = lks_now_ms();
    if (cell->step > WAIT) must_be_ok(cell, take(cell, 0, lease_ms_of(cell)));
}

void cell_end(struct cell *cell)
{
    end(&cell->mine);
    end(&cell->other);
}

/* ---- what must be true ------------------------------------------------------------------------------------------- */

static bool is_for_later(lk_status status)
{
    return status == LK_BUSY || status == LK_UNREACHABLE || status == LK_UNKNOWN ||
           status == LK_EXHAUSTED;
}

static bool is_told(const struct cell *cell)
{
    return cell->status == LK_OK || cell->step == RENEW || cell->fault->place == IN_CHILD ||
           cell->of_beside == LK_INVALID ||
           (cell->err.code == cell->status && cell->err.text[0] != '\0');
}

/* A client of Redis makes up for a release that failed, unasked. */
static bool is_owed(const struct cell *cell)
{
    return cell->step == RELEASE && is_for_later(cell->status) && is_lock(&cell->mine) &&
           cell->world->set;
}

/* Somebody else gets it within a moment, and then nothing is left. */
static bool becomes_free(struct cell *cell)
{
    for (int i = 0; i < 3 && !is_owed(cell) && release(&cell->mine, NULL) != LK_OK; i++) {}
    (void)release(&cell->other, NULL); /* for which there was no wait */
    double begin = lks_now_ms();
    bool is_free = acquire_as_rival(cell, SOON_MS) == LK_OK;
    cell->free_ms = lks_now_ms() - begin;
    return is_free && release(&cell->other, &cell->of_rival) == LK_OK;
}

/* Before it is released: what became of what was held. */
static const char *judge_hold(const struct cell *cell)
{
    bool is_held = cell_holds(&cell->mine);

    if (atomic_load(&cell->losses) > 1) return "told twice of its loss";
    if (cell->step <= WAIT || cell->step == RELEASE) return NULL;
    if (cell->fault->forgets && is_held) return "not told that its hold is gone";
    if (cell->fault->forgets && atomic_load(&cell->losses) == 0)
        return "its on_lost was not called";
    if (!cell->fault->forgets && cell->step != RENEW && !is_held) return "a good hold was given up";
    return NULL;
}

static const char *judge_step(const struct cell *cell)
{
    double took_ms = cell->ended_ms - cell->began_ms;
    double limit_ms = 2.0 * (double)cell_command_ms(cell->fault) + SLACK_MS;

    bool is_short = cell->step == WAIT && cell->fault->wait_ms > 0;
    unsigned may = cell->fault->may[cell->step] | (is_short ? cell->world->late : 0);

    if (!(may & 1U << cell->status)) return "a status that it must not have";
    if (!is_told(cell)) return "nothing said why";
    if (cell->step == WAIT && is_for_later(cell->status) && took_ms < (double)wait_ms_of(cell))
        return "it did not wait for as long as it was asked to";
    if (cell->step != WAIT && took_ms > limit_ms) return "it took too long";
    return NULL;
}

/* The watchdog's step has no status of its own; the machine may have taken longer than the lease. */
static lk_status status_of_renewal(const struct cell *cell, double over_ms)
{
    bool is_in_time = over_ms - cell->held_ms < (double)lease_ms_of(cell) * 2 / 3;

    if (cell_holds(&cell->mine)) return LK_OK;
    return cell->fault->forgets || is_in_time ? LK_LOST : LK_OK;
}

const char *cell_judge(struct cell *cell, double over_ms)
{
    const struct world_ops *ops = cell->world->ops;
    bool is_kept = cell->fault->forgets && cell->world->has_moved; /* by who took over */
    const char *wrong = NULL;

    if (cell->step == RENEW) cell->status = status_of_renewal(cell, over_ms);
    if (atomic_load(&cell->overlaps) > 0 && !cell->fault->forgets) return "two hold it";
    if (!is_kept) wrong = judge_hold(cell);
    if (!is_kept && !wrong) wrong = judge_step(cell);
    if (wrong) return wrong;
    if (!becomes_free(cell)) return "nobody else gets it";
    bool is_counted = cell->kind == LKS_ANY_PERMIT || cell->kind == CELL_SEMAPHORE;
    if (ops->is_left(cell->world, cell->key, is_counted))
        return "something of it is left, or too much";
    bool is_told_by_it = cell->step == EVAL && cell->fault->place != BESIDE;
    if (is_told_by_it && ops->is_true && !ops->is_true(cell->world, cell->key, cell->status))
        return "what it guards was done, or not, and it says otherwise";
    return NULL;
}
