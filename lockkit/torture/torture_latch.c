/*
 * Latches under torture: always a newest one, for which some count down and others wait. Who counts
 * down takes a ticket first, on the shared board. So who gets through before all tickets are taken has
 * found an open latch that cannot have been one, whoever was killed between the ticket and the
 * count-down. Tickets come one after the other, the last one late, so that a count-down that counts
 * twice opens the latch before.
 */
#include <unistd.h>

#include "test/support/lk_support.h"
#include "torture_kinds.h"

enum {
    COUNT = 24,
    STEP_MS = 25,
    LAST_STEP_MS = 600, /* before it all others have counted down, even those that were held up */
    ROUND_LEAST_MS = 200,
    ROUND_MAX_MS = 4000,
    TRIES = 20,
    PAUSE_MS = 20
};

/* Of the seat's latch; 0: it has none yet. */
static unsigned *round_of(struct torture_seat *seat)
{
    return &seat->claim.keys[0];
}

static atomic_uint *tickets_of(struct torture_board *board, unsigned round)
{
    return &board->latch_tickets[round % TORTURE_KEYS_MAX];
}

static lk_latch *make_latch(const struct torture_seat *seat, unsigned round)
{
    char key[TORTURE_KEY_MAX];

    torture_key_name(seat->plan, round, key);
    return lk_latch_new(seat->client, key, NULL);
}

static bool begin_seat(struct torture_seat *seat, struct lk_error *err)
{
    (void)err;
    *round_of(seat) = 0;
    return true;
}

static void latch_done(struct torture_seat *seat)
{
    lk_latch_free(seat->thing);
    seat->thing = NULL;
}

/* One thread of all: it sets the next latch, if it was not killed before. */
static void begin_round(const struct torture_seat *seat)
{
    struct torture_board *board = seat->place->board;
    unsigned round = atomic_fetch_add(&board->latch_rounds, 1) + 1;
    lk_latch *latch = make_latch(seat, round);
    char key[TORTURE_KEY_MAX];

    torture_key_name(seat->plan, round, key);
    if (latch && lk_latch_try_set(latch, COUNT, NULL) == LK_OK) {
        history_note(seat->writer, getpid(), "limit latch %s %d", key, COUNT);
        atomic_store(&board->latch_round, round);
    }
    lk_latch_free(latch);
}

static void choose_latch(struct torture_seat *seat)
{
    struct torture_board *board = seat->place->board;
    unsigned round = atomic_load(&board->latch_round);
    int64_t begun = atomic_load(&board->latch_begun_ns);
    int64_t now = torture_now_ns();
    int64_t age_ms = (now - begun) / 1000000;
    bool is_over = atomic_load(tickets_of(board, round)) >= COUNT && age_ms > ROUND_LEAST_MS;
    bool is_due = is_over || age_ms > ROUND_MAX_MS;

    if (is_due && atomic_compare_exchange_strong(&board->latch_begun_ns, &begun, now)) {
        begin_round(seat);
        round = atomic_load(&board->latch_round);
    }
    if (round == *round_of(seat)) return;
    latch_done(seat);
    seat->thing = make_latch(seat, round);
    *round_of(seat) = round;
}

/* Whether it is ours to count down: one after the other, in time. */
static bool take_ticket(struct torture_board *board, unsigned round)
{
    unsigned next = atomic_load(tickets_of(board, round));
    int64_t age_ms = (torture_now_ns() - atomic_load(&board->latch_begun_ns)) / 1000000;
    bool is_last = next == COUNT - 1;

    return next < COUNT && age_ms >= (int64_t)next * STEP_MS + (is_last ? LAST_STEP_MS : 0) &&
           atomic_compare_exchange_strong(tickets_of(board, round), &next, next + 1);
}

static lk_status count_down(const struct torture_seat *seat, struct lk_error *err)
{
    lk_status status = LK_UNKNOWN;

    for (int i = 0; i < TRIES && status == LK_UNKNOWN; i++) {
        if (i > 0) lks_nap(PAUSE_MS);
        status = lk_latch_count_down(seat->thing, err);
        atomic_fetch_add(&seat->place->board->releases[status], 1);
    }
    return status;
}

static lk_status acquire_latch(struct torture_seat *seat, const struct lk_lock_options *options,
                               struct lk_error *err)
{
    struct torture_board *board = seat->place->board;
    unsigned round = *round_of(seat);

    if (!seat->thing) return LK_BUSY;
    if (take_ticket(board, round)) return count_down(seat, err);
    /* Half of them only look, so that there is always somebody to count down. */
    int64_t wait_ms = seat->place->thread % 2 == 0 ? options->wait_ms : 0;
    lk_status status = lk_latch_await(seat->thing, wait_ms, err);
    unsigned tickets = atomic_load(tickets_of(board, round));
    if (status == LK_OK && tickets < COUNT) {
        torture_violation(board, "latch %u let through after %u of %d count-downs", round, tickets,
                          COUNT);
    }
    return status;
}

static void cancel_latch(struct torture_seat *seat)
{
    lk_latch_cancel(seat->thing);
}

const struct torture_kind torture_latch = {
    .name = "latch",
    .keys = TORTURE_KEYS,
    .shows = CHECK_LATCH,
    .limit = COUNT,
    .stays = torture_is_counter, /* one that was never opened */
    .make = begin_seat,
    .done = latch_done,
    .choose = choose_latch,
    .acquire = acquire_latch,
    .cancel = cancel_latch,
};
