/*
 * A latch is a node: waiters wait while it exists, as for Curator's DistributedBarrier. It holds the count as Curator's
 * SharedCount does; a node with other data, such as Curator's own, has the count 1. Behind the count are the claims of
 * the last count-downs: when one is repeated after a lost answer, its claim is found there. The count-down to zero
 * deletes the node. Threads: any.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sha1.h"
#include "counters/counter.h"
#include "zookeeper.h"

enum { TAG_LEN = 4, CLAIM_LEN = 8, CLAIMS = 64, TRIES_MOST = 1000 };
enum { HEAD_LEN = ZOOKEEPER_NUMBER_LEN + TAG_LEN, DATA_MAX = HEAD_LEN + CLAIMS * CLAIM_LEN };

static const char tag[] = "lkcd"; /* in front of the claims */

struct latch {
    const struct lki_counter *counter;
    lk_client *client;
    int64_t deadline;
    char path[ZOOKEEPER_PATH_MAX];
    struct zookeeper_answer seen;
    long long count; /* 0: open */
};

static bool has_claims(const struct zookeeper_answer *seen)
{
    return seen->len >= HEAD_LEN && memcmp(seen->path + ZOOKEEPER_NUMBER_LEN, tag, TAG_LEN) == 0;
}

long long zookeeper_latch_read(const struct zookeeper_answer *seen)
{
    long long count = seen->code == ZOK;

    if (count > 0 && (seen->len == ZOOKEEPER_NUMBER_LEN || has_claims(seen)))
        (void)zookeeper_number_read(seen, &count);
    return count > 0 ? count : 0;
}

/* Read it and set a watch: a later change wakes the waiter. */
static lk_status look(struct latch *latch, struct lk_error *err)
{
    bool is_waiting = latch->counter->waiter.channel != NULL;
    const struct zookeeper_question get = {
        .verb = ZOOKEEPER_GET,
        .path = latch->path,
        .node = is_waiting ? strtoul(latch->counter->channel, NULL, 10) : 0};

    zookeeper_answer_done(&latch->seen);
    lk_status status =
        zookeeper_ask_latest(latch->client, &get, latch->deadline, &latch->seen, err);
    if (status != LK_OK) return zookeeper_ask_again(status, err);
    latch->count = zookeeper_latch_read(&latch->seen);
    return LK_OK;
}

/* The claim: unique for this step of this handle. */
static void name_claim(const struct lki_counter *counter, char out[CLAIM_LEN])
{
    char hex[LKI_SHA1_LEN + 1], number[LKI_NUMBER_MAX], claim[2 * LKI_KEY_MAX];
    int len = snprintf(claim, sizeof claim, "%s %s", counter->claim,
                       lki_number(number, (long long)counter->step).data);

    lki_sha1(claim, (size_t)len, hex);
    memcpy(out, hex, CLAIM_LEN);
}

static bool is_claimed(const struct latch *latch, const char claim[CLAIM_LEN])
{
    bool is_there = false;

    for (int at = HEAD_LEN; has_claims(&latch->seen) && at + CLAIM_LEN <= latch->seen.len;
         at += CLAIM_LEN)
        is_there |= memcmp(latch->seen.path + at, claim, CLAIM_LEN) == 0;
    return is_there;
}

/* Change the node; OK, and whether another client changed it first. */
static lk_status change(struct latch *latch, long long count, const char claim[CLAIM_LEN],
                        bool *out_is_done, struct lk_error *err)
{
    char data[DATA_MAX];
    struct zookeeper_answer answer = {0};
    struct zookeeper_question ask = {.verb = count > 0 ? ZOOKEEPER_SET : ZOOKEEPER_DELETE,
                                     .path = latch->path,
                                     .data = data,
                                     .len = HEAD_LEN + CLAIM_LEN,
                                     .next_version = latch->seen.version + 1};
    int older = has_claims(&latch->seen) ? latch->seen.len - HEAD_LEN : 0;

    if (older > DATA_MAX - ask.len) older = DATA_MAX - ask.len;
    zookeeper_number_write(count, data);
    memcpy(data + ZOOKEEPER_NUMBER_LEN, tag, TAG_LEN);
    memcpy(data + HEAD_LEN, claim, CLAIM_LEN);
    if (older > 0) memcpy(data + ask.len, latch->seen.path + HEAD_LEN, (size_t)older);
    ask.len += older;
    lk_status status = zookeeper_ask(latch->client, &ask, latch->deadline, &answer, err);
    *out_is_done = status == LK_OK && answer.code != ZBADVERSION;
    if (status == LK_OK && answer.code == ZNOTEMPTY)
        status = LKI_FAIL(err, LK_SERVER, "%s: it has children: no latch", latch->path);
    zookeeper_answer_done(&answer);
    return status;
}

static lk_status count_down(struct latch *latch, long long *out, struct lk_error *err)
{
    char claim[CLAIM_LEN];
    lk_status status = LK_OK;
    bool is_done = false;

    name_claim(latch->counter, claim);
    for (int i = 0; i < TRIES_MOST && status == LK_OK && !is_done; i++) {
        status = look(latch, err);
        if (status != LK_OK) break;
        *out = latch->count;
        if (latch->seen.code == ZNONODE || is_claimed(latch, claim)) return LK_OK;
        *out = latch->count > 0 ? latch->count - 1 : 0;
        status = change(latch, *out, claim, &is_done, err);
    }
    if (status == LK_OK && !is_done)
        status = LKI_FAIL(err, LK_UNREACHABLE, "%s: others counted each time", latch->path);
    return status;
}

static lk_status open_it(struct latch *latch, long long *out, struct lk_error *err)
{
    struct zookeeper_answer answer = {0};
    const struct zookeeper_question ask = {.verb = ZOOKEEPER_DELETE, .path = latch->path};
    lk_status status = zookeeper_ask(latch->client, &ask, latch->deadline, &answer, err);

    *out = status == LK_OK && answer.code == ZOK;
    zookeeper_answer_done(&answer);
    return status;
}

lk_status zookeeper_latch(const struct lki_counter *counter, const char *script, int64_t number,
                          long long *out_answer, struct lk_error *err)
{
    struct latch latch = {.counter = counter,
                          .client = counter->client,
                          .deadline = lki_context_deadline(counter->client, 0)};
    lk_status status =
        zookeeper_queue_path(zookeeper_of(counter->client)->base, counter->key, latch.path, err);

    if (status != LK_OK) return status;
    if (strcmp(script, "latch_count_down") == 0) {
        status = count_down(&latch, out_answer, err);
    } else if (strcmp(script, "counter_delete") == 0) {
        status = open_it(&latch, out_answer, err);
    } else if (strcmp(script, "counter_try_set") == 0) {
        status = zookeeper_number_create(latch.client, latch.path, number, out_answer, err);
    } else {
        status = look(&latch, err);
        if (status == LK_OK) *out_answer = latch.count;
    }
    zookeeper_answer_done(&latch.seen);
    return status;
}
