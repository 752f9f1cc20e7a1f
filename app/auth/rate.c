/*
 * Token buckets. A bucket is one number: the moment at which it will be full again; a token taken
 * moves it one interval further. So a full bucket is the same as none, and dropping one loses nothing.
 *
 * Buckets lie in sets of 16, found by a keyed hash of the buyer; two buyers whose 64 bits are equal
 * would share one. In a full set the bucket that is full, or will be soonest, makes room: with more
 * buyers at once than there is memory for, the limit gets more lenient for those who use it least.
 *
 * Each of 64 mutexes guards every 64th set, so buyers rarely wait for each other. Runs on any thread.
 */
#include "rate.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"

enum { WAYS = 16, LOCKS = 64, BUYERS = 131072, CACHE_LINE = 64, NS_PER_S = 1000000000 };

struct bucket {
    uint64_t buyer;     /* hash */
    int64_t full_at_ns; /* in the past: full, and free for another buyer */
};

struct bucket_set {
    struct bucket way[WAYS];
};

struct padded_mutex {
    pthread_mutex_t mutex; /* guards the sets whose number ends like this one's */
} __attribute__((aligned(CACHE_LINE)));

struct rate {
    struct padded_mutex locks[LOCKS];
    struct bucket_set *sets; /* owned; guarded by locks */
    size_t set_count;        /* a power of two */
    uint64_t hash_key[2];
    int64_t interval_ns; /* between two tokens */
    int64_t burst_ns;    /* an empty bucket is full again after that */
};

/* ---- the limit as text ----------------------------------------------------------------------- */

static bool read_number(const char **text, int64_t max, int64_t *out)
{
    size_t len = strspn(*text, "0123456789");
    int64_t number = 0;

    if (len == 0 || len > 9) return false;
    for (size_t i = 0; i < len; i++)
        number = number * 10 + ((*text)[i] - '0');
    *text += len;
    *out = number;
    return number <= max;
}

bool rate_limit_read(const char *text, struct rate_limit *out)
{
    struct rate_limit limit = {0};

    if (!read_number(&text, RATE_PER_S_MAX, &limit.per_s)) return false;
    limit.burst = limit.per_s;
    if (strncmp(text, "/s", 2) == 0) text += 2;
    if (*text == ':') {
        text++;
        if (!read_number(&text, RATE_BURST_MAX, &limit.burst) || limit.burst == 0) return false;
    }
    if (*text) return false;
    *out = limit;
    return true;
}

/* ---- hash ------------------------------------------------------------------------------------ */

static uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static void mix(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 (Aumasson, Bernstein): without its key an attacker cannot find names that collide. */
static uint64_t hash_of(const struct rate *self, const char *text)
{
    uint64_t v[4] = {self->hash_key[0] ^ 0x736f6d6570736575, self->hash_key[1] ^ 0x646f72616e646f6d,
                     self->hash_key[0] ^ 0x6c7967656e657261,
                     self->hash_key[1] ^ 0x7465646279746573};
    size_t len = strlen(text);
    uint64_t word = 0;

    for (size_t at = 0; at + 8 <= len; at += 8) {
        memcpy(&word, text + at, 8);
        v[3] ^= word;
        mix(v);
        v[0] ^= word;
    }
    word = 0;
    memcpy(&word, text + len / 8 * 8, len % 8);
    word |= (uint64_t)len << 56;
    v[3] ^= word;
    mix(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        mix(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- buckets --------------------------------------------------------------------------------- */

static size_t sets_for(size_t buyers)
{
    size_t count = LOCKS;

    while (count * WAYS < buyers)
        count *= 2;
    return count;
}

struct rate *rate_new(const struct rate_options *options)
{
    struct rate *self = aligned_alloc(CACHE_LINE, sizeof *self);
    size_t size = 0;

    assert(options->limit.per_s > 0 && options->limit.burst > 0);
    if (!self) return NULL;
    memset(self, 0, sizeof *self);
    for (size_t i = 0; i < LOCKS; i++)
        (void)pthread_mutex_init(&self->locks[i].mutex, NULL); /* cannot fail without attributes */
    self->set_count = sets_for(options->buyers ? options->buyers : BUYERS);
    self->interval_ns = NS_PER_S / options->limit.per_s;
    self->burst_ns = options->limit.burst * self->interval_ns;
    size = self->set_count * sizeof *self->sets;
    self->sets = aligned_alloc(CACHE_LINE, size);
    if (!self->sets ||
        getrandom(self->hash_key, sizeof self->hash_key, 0) != (ssize_t)sizeof self->hash_key) {
        rate_free(self);
        return NULL;
    }
    memset(self->sets, 0, size);
    return self;
}

void rate_free(struct rate *self)
{
    if (!self) return;
    for (size_t i = 0; i < LOCKS; i++)
        (void)pthread_mutex_destroy(&self->locks[i].mutex);
    free(self->sets);
    free(self);
}

/* The buyer's bucket, or the one that makes room: the fullest. */
static struct bucket *find_bucket_locked(struct bucket_set *set, uint64_t buyer)
{
    struct bucket *fullest = &set->way[0];

    for (size_t i = 0; i < WAYS; i++) {
        if (set->way[i].buyer == buyer) return &set->way[i];
        if (set->way[i].full_at_ns < fullest->full_at_ns) fullest = &set->way[i];
    }
    *fullest = (struct bucket){.buyer = buyer};
    return fullest;
}

/* 0, or how long until there is a token. */
static int64_t take_locked(const struct rate *self, struct bucket *bucket, int64_t now_ns)
{
    int64_t since_ns = bucket->full_at_ns > now_ns ? bucket->full_at_ns : now_ns;
    int64_t full_at_ns = since_ns + self->interval_ns;
    int64_t wait_ns = full_at_ns - now_ns - self->burst_ns;

    if (wait_ns > 0) return wait_ns;
    bucket->full_at_ns = full_at_ns;
    return 0;
}

/*
 * Whole seconds, rounded up, plus a random time of up to a second and a quarter of the wait, so that clients that
 * were refused together do not retry together.
 */
static int64_t retry_s_of(int64_t wait_ns, uint64_t chance)
{
    int64_t wait_s = (wait_ns + NS_PER_S - 1) / NS_PER_S;
    uint64_t spread_s = 2 + (uint64_t)wait_s / 4;

    return wait_s + (int64_t)(chance % spread_s);
}

struct rate_verdict rate_take(struct rate *self, const char *buyer)
{
    int64_t now_ns = clock_mono_ns();
    uint64_t hash = hash_of(self, buyer);
    size_t number = (size_t)hash & (self->set_count - 1);
    pthread_mutex_t *mutex = &self->locks[number % LOCKS].mutex;
    int64_t wait_ns = 0;

    (void)pthread_mutex_lock(mutex);
    wait_ns = take_locked(self, find_bucket_locked(&self->sets[number], hash), now_ns);
    (void)pthread_mutex_unlock(mutex);
    if (wait_ns == 0) return (struct rate_verdict){.is_over = false};
    return (struct rate_verdict){
        true, retry_s_of(wait_ns, (hash ^ (uint64_t)now_ns) * 0x9e3779b97f4a7c15 >> 32)};
}
