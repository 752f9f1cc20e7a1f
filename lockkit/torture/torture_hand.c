/*
 * See torture_hand.h.
 */
#include "torture_hand.h"

#include "test/support/lk_support.h"
#include "torture_faults.h"
#include "torture_worker.h"

enum { PULSE_MS = 20, GAP_LEAST_MS = 200, GAP_MOST_MS = 600, PAUSE_LEAST_MS = 20 };
enum {
    PAUSE_MOST_MS = 300,
    LEASES_MS = 1000,
    UNSUBSCRIBED_MS = 3000,
    ONCE_MORE_MS = 8000,
    CHOICES = 50,
    WORDS_MAX = 8
};

struct hand {
    const struct torture_plan *plan;
    struct torture_board *board;
    struct history_writer writer;
    lk_client *client; /* owned */
    struct torture_deck deck;
    int64_t next_at_ns;
    int64_t felt_ns; /* the server has answered last; 0: never */
};

/* ---- commands ----------------------------------------------------------------------------------------- */

#define ASK(hand, ...) ask((hand), (const char *const[]){__VA_ARGS__, NULL})

/* NULL: no answer. Yours to free. */
static lk_reply *ask(const struct hand *hand, const char *const *texts)
{
    struct lk_bytes words[WORDS_MAX];
    struct lk_command command = {words, 0};
    lk_reply *reply = NULL;

    for (; texts[command.count]; command.count++)
        words[command.count] = lk_bytes_of(texts[command.count]);
    return lk_client_call(hand->client, &command, 1, 0, &reply, NULL) == LK_OK ? reply : NULL;
}

/* ---- faults --------------------------------------------------------------------------------------------- */

static void pause_clients(struct hand *hand)
{
    char ms[24];
    int64_t span_ms = torture_between(&hand->deck.seed, PAUSE_LEAST_MS, PAUSE_MOST_MS);

    (void)snprintf(ms, sizeof ms, "%lld", (long long)span_ms);
    history_note(&hand->writer, 0, "mark paused");
    lk_reply_free(ASK(hand, "CLIENT", "PAUSE", ms, "ALL"));
    lks_nap(span_ms); /* nobody else may pause it before */
    history_note(&hand->writer, 0, "mark resumed");
}

static void kill_clients(struct hand *hand)
{
    const char *type = torture_chance(&hand->deck.seed, 50) ? "normal" : "pubsub";

    history_note(&hand->writer, 0, "mark cut");
    lk_reply_free(ASK(hand, "CLIENT", "KILL", "TYPE", type));
    history_note(&hand->writer, 0, "mark healed");
}

static void strike(struct hand *hand)
{
    enum torture_fault fault = torture_deck_draw(&hand->deck);

    atomic_fetch_add(&hand->board->faults[fault], 1);
    if (fault == FAULT_CLIENT_PAUSE)
        pause_clients(hand);
    else if (fault == FAULT_CLIENT_KILL)
        kill_clients(hand);
    else
        lk_reply_free(ASK(hand, "SCRIPT", "FLUSH"));
}

/* An answer that comes late is a trouble of everybody; also one to what the hand has done since. */
static void feel_pulse(struct hand *hand)
{
    int64_t begin_ns = hand->felt_ns ? hand->felt_ns : torture_now_ns();

    lks_nap(PULSE_MS);
    lk_reply_free(ASK(hand, "PING"));
    hand->felt_ns = torture_now_ns();
    torture_note_noise(&hand->writer, 0, begin_ns, hand->felt_ns);
}

static void disturb(struct hand *hand)
{
    while (atomic_load(&hand->board->phase) == PHASE_RUN) {
        feel_pulse(hand);
        if (torture_now_ns() < hand->next_at_ns) continue;
        strike(hand);
        int64_t gap_ms = torture_between(&hand->deck.seed, GAP_LEAST_MS, GAP_MOST_MS);
        hand->next_at_ns = torture_now_ns() + gap_ms * 1000000;
    }
    while (atomic_load(&hand->board->phase) == PHASE_STOP)
        feel_pulse(hand);
}

/* ---- what is left ---------------------------------------------------------------------------------------- */

/* Of a pattern made of the prefix, whatever the kind has put around it. */
static lk_reply *list(const struct hand *hand, const char *command, const char *argument)
{
    char pattern[sizeof hand->plan->prefix + 8];

    (void)snprintf(pattern, sizeof pattern, "*%s*", hand->plan->prefix);
    return argument ? ASK(hand, command, argument, pattern) : ASK(hand, command, pattern);
}

static void tell_key(const struct hand *hand, const char *key)
{
    lk_reply *type = ASK(hand, "TYPE", key);
    lk_reply *ttl = ASK(hand, "PTTL", key);
    bool stays = hand->plan->kind->stays && hand->plan->kind->stays(key);

    if (!stays && lk_reply_integer(ttl, -2) != -2) {
        history_note(&hand->writer, 0, "left-key %s %s %lld", key, lk_reply_bytes(type).data,
                     lk_reply_integer(ttl, -2));
    }
    lk_reply_free(type);
    lk_reply_free(ttl);
    lk_reply_free(ASK(hand, "DEL", key));
}

static void tell_keys(const struct hand *hand)
{
    lk_reply *keys = list(hand, "KEYS", NULL);

    for (size_t i = 0; i < lk_reply_count(keys); i++)
        tell_key(hand, lk_reply_bytes(lk_reply_at(keys, i)).data);
    lk_reply_free(keys);
}

/* The connections of the dead end a little later than they. */
static void tell_channels(const struct hand *hand)
{
    int64_t until_ns = torture_now_ns() + UNSUBSCRIBED_MS * 1000000LL;
    lk_reply *channels = list(hand, "PUBSUB", "CHANNELS");

    while (lk_reply_count(channels) > 0 && torture_now_ns() < until_ns) {
        lks_nap(PULSE_MS);
        lk_reply_free(channels);
        channels = list(hand, "PUBSUB", "CHANNELS");
    }
    for (size_t i = 0; i < lk_reply_count(channels); i++) {
        const char *name = lk_reply_bytes(lk_reply_at(channels, i)).data;
        lk_reply *numbers = ASK(hand, "PUBSUB", "NUMSUB", name);

        history_note(&hand->writer, 0, "left-channel %s %lld", name,
                     lk_reply_integer(lk_reply_at(numbers, 1), 0));
        lk_reply_free(numbers);
    }
    lk_reply_free(channels);
}

/* Whatever has happened: in the end a lock can be had again, also for oneself alone. */
static void take_once_more(struct hand *hand, unsigned key)
{
    const struct torture_kind *kind = hand->plan->kind;
    struct torture_seat seat = {.kind = kind,
                                .plan = hand->plan,
                                .client = hand->client,
                                .seed = &hand->deck.seed,
                                .key = key};
    struct lk_lock_options options = {.wait_ms = ONCE_MORE_MS, .lease_ms = LEASES_MS};
    struct lk_error err = {0};
    lk_status status = LK_INVALID;

    if (torture_seat_make(&seat, &err)) {
        for (int i = 0; i < CHOICES && (i == 0 || seat.claim.weight < kind->limit); i++)
            torture_seat_choose(&seat);
        status = torture_seat_acquire(&seat, &options, &err);
    }
    if (status == LK_OK) status = torture_seat_release(&seat, &err);
    if (status != LK_OK) {
        torture_violation(hand->board, "key %u once more in the end: %s: %s", key,
                          lk_status_name(status), err.text);
    }
    torture_seat_done(&seat);
}

/* It may have come back a moment ago, and locks of several servers do not wait for it. */
static void wait_for_server(const struct hand *hand)
{
    int64_t until_ns = torture_now_ns() + ONCE_MORE_MS * 1000000LL;
    lk_reply *answer = NULL;

    while (!(answer = ASK(hand, "PING")) && torture_now_ns() < until_ns)
        lks_nap(PULSE_MS);
    lk_reply_free(answer);
}

static void sweep(struct hand *hand)
{
    const struct torture_plan *plan = hand->plan;
    const struct torture_kind *kind = plan->kind;
    char name[TORTURE_KEY_MAX];

    wait_for_server(hand);
    for (unsigned key = 1; key <= plan->keys; key++) {
        torture_key_name(plan, key, name);
        if (kind->check) kind->check(plan, hand->client, name, hand->board);
        if (kind->is_leased && !kind->is_flawed) take_once_more(hand, key);
    }
    tell_channels(hand);
    lks_nap(LEASES_MS); /* every lease ends within */
    tell_keys(hand);
}

/* ---- life -------------------------------------------------------------------------------------------------- */

static bool set_up(struct hand *hand)
{
    const struct torture_plan *plan = hand->plan;
    struct lk_error err = {0};
    char key[TORTURE_KEY_MAX];

    for (unsigned i = 1; plan->kind->set_up && i <= plan->keys; i++) {
        torture_key_name(plan, i, key);
        if (!plan->kind->set_up(hand->client, key, plan->kind->limit, &err)) {
            (void)fprintf(stderr, "torture: %s\n", err.text);
            return false;
        }
        history_note(&hand->writer, 0, "limit %s %s %u", plan->kind->limited_as, key,
                     plan->kind->limit);
    }
    return true;
}

static bool open_all(struct hand *hand)
{
    struct lk_error err = {0};

    if (!history_open(&hand->writer, hand->plan->history_path)) return false;
    hand->client =
        lk_client_open(&(struct lk_client_options){.url = hand->plan->url, .pool_size = 1}, &err);
    if (!hand->client) (void)fprintf(stderr, "torture: %s\n", err.text);
    return hand->client && set_up(hand);
}

int torture_hand_main(const struct torture_plan *plan, struct torture_board *board)
{
    struct hand hand = {.plan = plan, .board = board};

    if (!open_all(&hand)) return EXIT_FAILURE;
    hand.deck.seed = torture_seed(plan->seed, 0, 1);
    torture_deck_add(&hand.deck, FAULT_CLIENT_PAUSE);
    torture_deck_add(&hand.deck, FAULT_CLIENT_KILL);
    torture_deck_add(&hand.deck, FAULT_FLUSH);
    hand.next_at_ns = torture_now_ns() + GAP_MOST_MS * 1000000LL;
    atomic_store(&board->phase, PHASE_RUN);
    disturb(&hand);
    sweep(&hand);
    atomic_store(&board->phase, PHASE_OVER);
    lk_client_close(hand.client);
    history_close(&hand.writer);
    return EXIT_SUCCESS;
}
