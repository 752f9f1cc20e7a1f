/*
 * See readiness.h. Only a write shows whether a server accepts writes: a replica, a server whose memory or disk is
 * full, or one without enough replicas still answers reads. Where an order waits for replicas, so does this write.
 * The key expires soon after the last check.
 *
 * A cluster's server has only some slots, so several keys are tried, and the one that worked is used again. A server
 * that has none of them, or whose ACL forbids the write, counts as one that answers. Any thread; one thread at a time
 * runs the check, with no mutex held.
 */
#include "readiness.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { ALL_MS = 1500, ONE_MS = 1000, KEYS = 24, REMEMBERED = 64 };

struct readiness_probe {
    lk_client *client; /* borrowed */
    unsigned sync_replicas;
    int64_t sync_ms;
    pthread_cond_t was_read; /* is_reading ended */
    pthread_mutex_t mutex;   /* guards all below */
    uint64_t readings;       /* so far */
    bool is_reading;         /* a thread is: until it ends, the members below are its own */
    int64_t too_old_at_ms;   /* 0: never read */
    unsigned char key_of[REMEMBERED]; /* by primary: the number of a key that it has had */
    /* Always under the mutex. */
    int64_t found_at_ms; /* 0: never */
    struct readiness found;
};

struct readiness_probe *readiness_new(lk_client *client, unsigned sync_replicas, int64_t sync_ms)
{
    struct readiness_probe *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->client = client;
    self->sync_replicas = sync_replicas;
    self->sync_ms = sync_ms;
    (void)pthread_mutex_init(&self->mutex, NULL);
    (void)pthread_cond_init(&self->was_read, NULL);
    return self;
}

void readiness_free(struct readiness_probe *self)
{
    if (!self) return;
    (void)pthread_cond_destroy(&self->was_read);
    (void)pthread_mutex_destroy(&self->mutex);
    free(self);
}

/* ---- one server ------------------------------------------------------------------------------ */

typedef enum verdict_of_write {
    WRITE_TAKEN,
    WRITE_ELSEWHERE, /* another server has this key's slot */
    WRITE_REFUSED,   /* its word is noted */
    WRITE_UNHEARD,
} verdict_of_write;

static bool begins_with(struct lk_bytes words, const char *word)
{
    size_t len = strlen(word);

    return words.len > len && memcmp(words.data, word, len) == 0 && words.data[len] == ' ';
}

static verdict_of_write judge(const lk_reply *reply, char refusal[READINESS_WORD_SIZE])
{
    struct lk_bytes words = lk_reply_bytes(reply);

    if (lk_reply_type_of(reply) != LK_REPLY_ERROR) return WRITE_TAKEN;
    if (begins_with(words, "MOVED") || begins_with(words, "ASK")) return WRITE_ELSEWHERE;
    if (begins_with(words, "NOPERM")) return WRITE_TAKEN; /* nobody can tell more */
    (void)snprintf(refusal, READINESS_WORD_SIZE, "%.*s", (int)strcspn(words.data, " \r\n"),
                   words.data);
    return WRITE_REFUSED;
}

static verdict_of_write write_key(lk_session *session, unsigned number, int64_t limit_ms,
                                  char refusal[READINESS_WORD_SIZE])
{
    char key[32];
    lk_reply *reply = NULL;
    verdict_of_write verdict = WRITE_UNHEARD;

    (void)snprintf(key, sizeof key, "seckill:ready:{%u}", number);
    const struct lk_bytes words[] = {LK_BYTES("SET"), lk_bytes_of(key), LK_BYTES("1"),
                                     LK_BYTES("PX"), LK_BYTES("60000")};
    if (lk_session_call(session, &(struct lk_command){words, 5}, 1, limit_ms, &reply, NULL) ==
        LK_OK)
        verdict = judge(reply, refusal);
    lk_reply_free(reply);
    return verdict;
}

/* What was written: behind it on its connection. */
static verdict_of_write wait_for_replicas(const struct readiness_probe *self, lk_session *session,
                                          int64_t limit_ms, char refusal[READINESS_WORD_SIZE])
{
    char number[16];
    char wait_ms[24];
    lk_reply *reply = NULL;
    verdict_of_write verdict = WRITE_UNHEARD;

    (void)snprintf(number, sizeof number, "%u", self->sync_replicas);
    (void)snprintf(wait_ms, sizeof wait_ms, "%lld", (long long)self->sync_ms);
    const struct lk_bytes words[] = {LK_BYTES("WAIT"), lk_bytes_of(number), lk_bytes_of(wait_ms)};
    if (lk_session_call(session, &(struct lk_command){words, 3}, 1, limit_ms + self->sync_ms,
                        &reply, NULL) == LK_OK)
        verdict = judge(reply, refusal);
    if (lk_reply_type_of(reply) == LK_REPLY_INTEGER &&
        lk_reply_integer(reply, 0) < self->sync_replicas) {
        (void)snprintf(refusal, READINESS_WORD_SIZE, "NOREPLICAS");
        verdict = WRITE_REFUSED;
    }
    lk_reply_free(reply);
    return verdict;
}

/* key: of the last time; of this time. */
static bool takes_writes(const struct readiness_probe *self, size_t primary, int64_t limit_ms,
                         unsigned char *key, char refusal[READINESS_WORD_SIZE])
{
    lk_session *session = lk_session_open_at(self->client, primary, limit_ms, NULL);
    verdict_of_write verdict = session ? WRITE_ELSEWHERE : WRITE_UNHEARD;

    for (unsigned i = 0; i < KEYS && verdict == WRITE_ELSEWHERE; i++) {
        unsigned number = (*key + i) % KEYS;

        verdict = write_key(session, number, limit_ms, refusal);
        if (verdict != WRITE_ELSEWHERE) *key = (unsigned char)number;
    }
    if (verdict == WRITE_TAKEN && self->sync_replicas > 0)
        verdict = wait_for_replicas(self, session, limit_ms, refusal);
    lk_session_close(session);
    return verdict == WRITE_TAKEN || verdict == WRITE_ELSEWHERE;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static struct readiness ask_all(struct readiness_probe *self)
{
    int64_t deadline_ms = clock_mono_ms() + ALL_MS;
    struct readiness found = {.servers = lk_client_primaries(self->client)};

    for (size_t i = 0; i < found.servers; i++) {
        int64_t left_ms = deadline_ms - clock_mono_ms();
        int64_t share_ms = left_ms / (int64_t)(found.servers - i); /* or one that hangs took all */

        if (share_ms <= 0) break; /* those not asked are not counted as serving */
        if (takes_writes(self, i, share_ms < ONE_MS ? share_ms : ONE_MS,
                         &self->key_of[i % REMEMBERED], found.refusal))
            found.serving++;
    }
    return found;
}

/* Called and returns with the mutex held. */
static void renew_locked(struct readiness_probe *self)
{
    struct readiness found;

    self->is_reading = true;
    (void)pthread_mutex_unlock(&self->mutex);
    self->too_old_at_ms = clock_mono_ms() + READINESS_AGE_MS;
    found = ask_all(self);
    (void)pthread_mutex_lock(&self->mutex);
    self->found = found;
    self->found_at_ms = clock_mono_ms();
    self->is_reading = false;
    self->readings++;
    (void)pthread_cond_broadcast(&self->was_read);
}

struct readiness readiness_check(struct readiness_probe *self)
{
    struct readiness found;

    (void)pthread_mutex_lock(&self->mutex);
    if (self->is_reading) { /* its end is what we wait for, however old that is by then */
        uint64_t before = self->readings;

        while (self->readings == before)
            (void)pthread_cond_wait(&self->was_read, &self->mutex);
    } else if (clock_mono_ms() >= self->too_old_at_ms) {
        renew_locked(self);
    }
    found = self->found;
    (void)pthread_mutex_unlock(&self->mutex);
    return found;
}

bool readiness_recall(struct readiness_probe *self, int64_t max_age_ms, struct readiness *out)
{
    bool is_fresh = false;

    (void)pthread_mutex_lock(&self->mutex);
    is_fresh = self->found_at_ms > 0 && clock_mono_ms() - self->found_at_ms <= max_age_ms;
    if (is_fresh) *out = self->found;
    (void)pthread_mutex_unlock(&self->mutex);
    return is_fresh;
}
