/*
 * Owners in several processes that contend for one lock: how often it changes hands, and how soon
 * the next one has it after a release. Any library, by its players.
 *
 * A hand-over is from the moment its holder begins to release until a waiter's acquire has
 * returned; both are told by the players, by one clock. Before each, all who wait are given time to
 * fall asleep, and never the same time, so that a library that asks again and again is met at any
 * point of its rhythm. Processors fall asleep, too: so a hand-over is compared with two bare round trips
 * after such a pause, which take three to five times as long as those that follow each other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "moment.h"
#include "works.h"

enum {
    RATE_PLAYERS = 2,
    WAIT_MS = 60000,   /* of the players' own acquires */
    ANSWER_MS = 70000, /* for any answer */
    SETTLE_US = 4000,  /* for waiters to fall asleep: and up to as much again */
    HANDOVERS_MAX = 20000,
};

/* Who contends, at which key: owner i is thread 1 + i / players of player i % players. */
struct crowd {
    struct player **players; /* borrowed */
    size_t player_count;
    const char *kind;
    char key[128];
};

static unsigned thread_of(const struct crowd *crowd, size_t owner)
{
    return 1 + (unsigned)(owner / crowd->player_count);
}

static size_t owner_of(const struct crowd *crowd, const struct answer *answer)
{
    return (answer->thread - 1) * crowd->player_count + answer->player;
}

static lk_status tell(const struct crowd *crowd, size_t owner, const char *verb,
                      const char *options, struct lk_error *err)
{
    return player_tell(crowd->players[owner % crowd->player_count], thread_of(crowd, owner), err,
                       "%s %s %s %s", verb, crowd->kind, crowd->key, options);
}

static lk_status next_answer(const struct crowd *crowd, struct answer *out, struct lk_error *err)
{
    return players_next(crowd->players, crowd->player_count, ANSWER_MS, out, err);
}

/* Tell one owner something and wait until it is done. */
static lk_status have(const struct crowd *crowd, size_t owner, const char *verb,
                      const char *options, struct lk_error *err)
{
    struct answer answer;
    lk_status status = tell(crowd, owner, verb, options, err);

    return status == LK_OK ? next_answer(crowd, &answer, err) : status;
}

static lk_status gather(struct crowd *crowd, struct stage *stage, const struct task *task,
                        size_t player_count, struct lk_error *err)
{
    const char *key = stage_key(stage);
    lk_status status = stage_players(stage, task->library, player_count, err);

    *crowd = (struct crowd){
        .players = stage->players[task->library], .player_count = player_count, .kind = task->kind};
    if (strcmp(task->kind, "multi") == 0)
        (void)snprintf(crowd->key, sizeof crowd->key, "%s:0,%s:1", key, key);
    else
        (void)snprintf(crowd->key, sizeof crowd->key, "%s", key);
    if (status != LK_OK) return status;
    bool is_counted = strcmp(task->kind, "semaphore") == 0 || strcmp(task->kind, "permits") == 0;
    return is_counted ? have(crowd, 0, "set", task->size > 1 ? "n=2" : "n=1", err) : LK_OK;
}

/* ---- rate ----------------------------------------------------------------------------------- */

lk_status crowd_rate(struct stage *stage, const struct task *task, double *out_values,
                     struct lk_error *err)
{
    struct crowd crowd;
    struct answer answer = {.value = ""};
    int64_t began_ns = INT64_MAX, ended_ns = 0;
    double taken = 0;
    char options[32];
    lk_status status =
        gather(&crowd, stage, task, task->size < RATE_PLAYERS ? task->size : RATE_PLAYERS, err);

    (void)snprintf(options, sizeof options, "ms=%lld", (long long)stage->duration_ms);
    for (size_t i = 0; i < task->size && status == LK_OK; i++)
        status = tell(&crowd, i, "bench", options, err);
    for (size_t i = 0; i < task->size && status == LK_OK; i++) {
        status = next_answer(&crowd, &answer, err);
        if (status != LK_OK) break;
        taken += strtod(answer.value, NULL);
        if (answer.began_ns < began_ns) began_ns = answer.began_ns;
        if (answer.ended_ns > ended_ns) ended_ns = answer.ended_ns;
    }
    if (status != LK_OK) return status;
    if (taken < 1) return LKI_FAIL(err, LK_BUSY, "nobody got the lock");
    out_values[0] = taken / ((double)(ended_ns - began_ns) / 1e9);
    return LK_OK;
}

/* ---- hand-over ------------------------------------------------------------------------------ */

struct handovers {
    double us[HANDOVERS_MAX], trips_us[HANDOVERS_MAX];
    size_t count;
    struct bare bare;
    size_t holder;  /* owner */
    size_t waiting; /* owners */
    uint64_t seed;  /* of the pauses */
};

static lk_status join(const struct crowd *crowd, struct handovers *handovers, size_t owner,
                      struct lk_error *err)
{
    char options[48];

    (void)snprintf(options, sizeof options, "wait=%d lease=%d", WAIT_MS, WAIT_MS);
    handovers->waiting++;
    return tell(crowd, owner, "lock", options, err);
}

/* The holder releases; two answers come, its own and that of the next one. */
static lk_status hand_over(const struct crowd *crowd, struct handovers *handovers,
                           struct lk_error *err)
{
    size_t before = handovers->holder;
    struct answer answers[2];
    lk_status status = tell(crowd, before, "unlock", "", err);

    for (size_t i = 0; i < 2 && status == LK_OK; i++)
        status = next_answer(crowd, &answers[i], err);
    if (status != LK_OK) return status;
    size_t given = owner_of(crowd, &answers[0]) == before ? 0 : 1;
    handovers->holder = owner_of(crowd, &answers[1 - given]);
    handovers->waiting--;
    if (handovers->count < HANDOVERS_MAX)
        handovers->us[handovers->count++] =
            (double)(answers[1 - given].ended_ns - answers[given].began_ns) / 1e3;
    return LK_OK;
}

static void settle(struct handovers *handovers)
{
    uint64_t chance = plan_chance(handovers->seed, handovers->count);

    moment_nap_us(SETTLE_US + (int64_t)(chance % SETTLE_US));
}

/* Two bare round trips after such a pause. */
static lk_status trip(struct handovers *handovers, struct lk_error *err)
{
    struct wire ping;

    bare_write(&ping, (const char *const[]){"PING", NULL});
    settle(handovers);
    int64_t begin_ns = moment_ns();
    bool is_answered = true;
    for (int i = 0; i < 2 && is_answered; i++)
        is_answered = bare_trip(&handovers->bare, &ping, "+PONG\r\n");
    if (!is_answered)
        return LKI_FAIL(err, LK_SERVER, "a bare round trip was not answered as expected");
    if (handovers->count < HANDOVERS_MAX)
        handovers->trips_us[handovers->count] = (double)(moment_ns() - begin_ns) / 1e3;
    return LK_OK;
}

static lk_status play(const struct crowd *crowd, struct handovers *handovers, int64_t duration_ms,
                      struct lk_error *err)
{
    int64_t until_ns = moment_ns() + duration_ms * 1000000;
    lk_status status = LK_OK;

    while (status == LK_OK && moment_ns() < until_ns) {
        size_t before = handovers->holder;

        status = trip(handovers, err);
        if (status != LK_OK) break;
        settle(handovers);
        status = hand_over(crowd, handovers, err);
        if (status == LK_OK) status = join(crowd, handovers, before, err);
    }
    size_t count = handovers->count; /* the rest is to get everybody home */
    while (status == LK_OK && handovers->waiting > 0)
        status = hand_over(crowd, handovers, err);
    handovers->count = count;
    return status == LK_OK ? have(crowd, handovers->holder, "unlock", "", err) : status;
}

lk_status crowd_handover(struct stage *stage, const struct task *task, double *out_values,
                         struct lk_error *err)
{
    static struct handovers handovers;
    struct crowd crowd;
    size_t player_count = task->size < STAGE_PLAYERS ? task->size + 1 : STAGE_PLAYERS;
    char lease[24];
    lk_status status = gather(&crowd, stage, task, player_count, err);

    handovers = (struct handovers){.seed = stage->seed};
    (void)snprintf(lease, sizeof lease, "wait=0 lease=%d", WAIT_MS);
    if (status == LK_OK) status = bare_open(&handovers.bare, stage->tcp_url, err);
    if (status == LK_OK) status = have(&crowd, 0, "lock", lease, err);
    for (size_t i = 1; i <= task->size && status == LK_OK; i++)
        status = join(&crowd, &handovers, i, err);
    if (status == LK_OK) status = play(&crowd, &handovers, stage->duration_ms, err);
    bare_close(&handovers.bare);
    if (status != LK_OK) return status;
    out_values[0] = plan_quantile(handovers.us, handovers.count, 0.50);
    out_values[1] = plan_quantile(handovers.us, handovers.count, 0.99);
    out_values[2] = plan_quantile(handovers.trips_us, handovers.count, 0.50);
    return LK_OK;
}
