/*
 * Locks with classical faults, to see that torture finds them: a key with an expiry, as SET key token
 * PX lease; what is wrong is in the table. They tell the history what they believe in, as lockkit does.
 */
#include <unistd.h>

#include "test/support/lk_support.h"
#include "torture_kinds.h"

struct flaw {
    const char *kind;
    const char *const take[2]; /* Lua; the steps are not one: something may come between */
    const char *give;          /* Lua */
};

/* KEYS: 1 key. ARGV: 1 token, 2 lease in ms. */
static const struct flaw flaws[] = {
    {"flawed-release", /* whoever holds it now, it is deleted */
     {"return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0", NULL},
     "return redis.call('DEL', KEYS[1])"},
    {"flawed-acquire", /* two may find it free */
     {"return 1 - redis.call('EXISTS', KEYS[1])",
      "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1"},
     "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call('DEL', "
     "KEYS[1])"},
    {"flawed-answer", /* once in a while who has taken it is told that it is not free */
     {"return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0",
      "return redis.call('TIME')[2] % 8 == 0 and 0 or 1"},
     "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call('DEL', "
     "KEYS[1])"},
};

struct flawed {
    const struct flaw *flaw;
    char key[TORTURE_KEY_MAX];
    char token[64];
    unsigned long holds;
    int64_t ends_ns;
};

static bool make_flawed(struct torture_seat *seat, struct lk_error *err)
{
    struct flawed *flawed = calloc(1, sizeof *flawed);

    (void)err;
    seat->thing = flawed;
    if (!flawed) return false;
    for (size_t i = 0; i < sizeof flaws / sizeof flaws[0]; i++) {
        if (strcmp(seat->kind->name, flaws[i].kind) == 0) flawed->flaw = &flaws[i];
    }
    torture_key_name(seat->plan, seat->key, flawed->key);
    return true;
}

static void flawed_done(struct torture_seat *seat)
{
    free(seat->thing);
}

/* Run a script; its answer, or -1 for want of one. */
static long long run(const struct torture_seat *seat, const char *source, int64_t lease_ms)
{
    const struct flawed *flawed = seat->thing;
    char lease[24];

    (void)snprintf(lease, sizeof lease, "%lld", (long long)lease_ms);
    struct lk_bytes words[] = {
        LK_BYTES("EVAL"),         lk_bytes_of(source),        LK_BYTES("1"),
        lk_bytes_of(flawed->key), lk_bytes_of(flawed->token), lk_bytes_of(lease)};
    struct lk_command command = {words, sizeof words / sizeof words[0]};
    lk_reply *reply = NULL;
    if (lk_client_call(seat->client, &command, 1, 0, &reply, NULL) != LK_OK) return -1;
    long long answer = lk_reply_integer(reply, -1);
    lk_reply_free(reply);
    return answer;
}

static void tell(struct torture_seat *seat, lk_event_type type, lk_status status, int64_t begin_ns)
{
    struct flawed *flawed = seat->thing;
    bool is_taken = type == LK_EVENT_ACQUIRE;
    int64_t now = torture_now_ns();
    struct lk_event event = {.type = type,
                             .status = status,
                             .at_ns = now,
                             .duration_ns = now - begin_ns,
                             .kind = seat->kind->name,
                             .key = flawed->key,
                             .token = flawed->token,
                             .ends_ns = is_taken ? flawed->ends_ns : 0,
                             .count = is_taken};

    history_on_event(&event, seat->writer);
}

static lk_status acquire_flawed(struct torture_seat *seat, const struct lk_lock_options *options,
                                struct lk_error *err)
{
    struct flawed *flawed = seat->thing;
    int64_t begin_ns = torture_now_ns();
    int64_t until_ns = begin_ns + options->wait_ms * 1000000;
    long long answer = 0;

    (void)err;
    (void)snprintf(flawed->token, sizeof flawed->token, "%d-%u-%lu", (int)getpid(),
                   seat->place->thread, ++flawed->holds);
    for (;;) {
        int64_t sent_ns = torture_now_ns();

        answer = run(seat, flawed->flaw->take[0], options->lease_ms);
        bool is_last = answer != 0;
        if (answer == 1 && flawed->flaw->take[1])
            answer = run(seat, flawed->flaw->take[1], options->lease_ms);
        flawed->ends_ns = sent_ns + (options->lease_ms * 99 / 100 - 2) * 1000000;
        if (is_last || torture_now_ns() > until_ns) break;
        lks_nap(torture_between(seat->seed, 1, 10));
    }
    bool is_held = answer == 1 && torture_now_ns() < flawed->ends_ns;
    lk_status status = is_held ? LK_OK : answer == 0 ? LK_BUSY : LK_UNKNOWN;
    tell(seat, LK_EVENT_ACQUIRE, status, begin_ns);
    return status;
}

static lk_status release_flawed(struct torture_seat *seat, struct lk_error *err)
{
    int64_t begin_ns = torture_now_ns();
    const struct flawed *flawed = seat->thing;
    long long answer = run(seat, flawed->flaw->give, 0);
    lk_status status = answer < 0 ? LK_UNKNOWN : answer > 0 ? LK_OK : LK_NOT_OWNER;

    (void)err;
    tell(seat, LK_EVENT_RELEASE, status, begin_ns);
    return status;
}

static int64_t flawed_remaining_ms(const struct torture_seat *seat)
{
    const struct flawed *flawed = seat->thing;
    int64_t left_ns = flawed->ends_ns - torture_now_ns();

    return left_ns > 0 ? left_ns / 1000000 : 0;
}

static void cancel_nothing(struct torture_seat *seat)
{
    (void)seat;
}

#define FLAWED(what)                                                                               \
    {                                                                                              \
        .name = (what), .keys = TORTURE_KEYS, .watched = TORTURE_KEYS, .limit = 1,                 \
        .is_leased = true, .has_holds = true, .is_flawed = true, .make = make_flawed,              \
        .done = flawed_done, .acquire = acquire_flawed, .release = release_flawed,                 \
        .remaining_ms = flawed_remaining_ms, .cancel = cancel_nothing                              \
    }
const struct torture_kind torture_flawed_release = FLAWED("flawed-release");
const struct torture_kind torture_flawed_acquire = FLAWED("flawed-acquire");
const struct torture_kind torture_flawed_answer = FLAWED("flawed-answer");
