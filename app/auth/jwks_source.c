/*
 * See jwks_source.h. One thread reads the keys; other threads take the cached set, or wake it and wait for its round.
 */
#include "jwks_source.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/worker.h"

enum {
    REFRESH_MS = 300000,
    REFRESH_WITHOUT_MS = 10000,
    ASK_AGAIN_MS = 60000,
    ANSWER_MS = 5000, /* for one request */
    WAIT_S = 2,
};

struct jwks_source {
    const char *place; /* borrowed */
    bool is_url;
    bool is_failing;       /* and that was logged */
    struct worker worker;  /* its mutex does not guard the members below */
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t read;   /* `rounds` has grown */
    atomic_ullong rounds;  /* read without it, too */
    int64_t ask_from_ms;   /* a token's unknown key is asked for from then on */
    bool is_asked;         /* the next round was woken for that */
    struct jwks *keys;     /* owned */
};

struct text {
    size_t len;
    char bytes[JWKS_TEXT_MAX];
};

/* ---- read ------------------------------------------------------------------------------------ */

static size_t take(char *bytes, size_t size, size_t count, void *arg)
{
    struct text *text = arg;
    size_t len = size * count;

    if (len > sizeof text->bytes - text->len) return 0; /* which ends the transfer */
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
    return len;
}

static bool fetch(const char *url, struct text *out, struct start_error *why)
{
    char reason[CURL_ERROR_SIZE] = "";
    CURL *curl = curl_easy_init();
    CURLcode code = CURLE_FAILED_INIT;

    if (!curl) return start_error_say(why, "out of memory");
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)ANSWER_MS);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
    code = curl_easy_perform(curl);
    curl_easy_cleanup(curl);
    if (code == CURLE_OK) return true;
    return start_error_say(why, "%s", reason[0] ? reason : curl_easy_strerror(code));
}

static bool read_file(const char *path, struct text *out, struct start_error *why)
{
    FILE *file = fopen(path, "re");

    if (!file) return start_error_say(why, "%s", strerrordesc_np(errno));
    out->len = fread(out->bytes, 1, sizeof out->bytes, file);
    (void)fclose(file); /* it was only read */
    return true;
}

/* NULL and *why: there is no usable key set now. */
static struct jwks *read_keys(const struct jwks_source *self, struct start_error *why)
{
    struct text *text = calloc(1, sizeof *text);
    struct jwks *keys = NULL;

    if (!text) {
        (void)start_error_say(why, "out of memory");
    } else if (self->is_url ? fetch(self->place, text, why) : read_file(self->place, text, why)) {
        keys = jwks_new(text->bytes, text->len, why);
    }
    free(text);
    return keys;
}

/* An outage is logged once, and its end. */
static void log_outcome(struct jwks_source *self, const struct jwks *keys,
                        const struct start_error *why)
{
    if (!keys && !self->is_failing)
        log_line(LOG_WARN, "--token-jwks %s: %s; the last good keys stay", self->place, why->text);
    if (keys && self->is_failing) log_line(LOG_INFO, "--token-jwks %s: keys again", self->place);
    self->is_failing = !keys;
}

static int64_t read_round(void *arg)
{
    struct jwks_source *self = arg;
    struct start_error why = {0};
    struct jwks *keys = read_keys(self, &why);
    struct jwks *old = NULL;
    bool has_keys = false;

    log_outcome(self, keys, &why);
    (void)pthread_mutex_lock(&self->mutex);
    if (keys) {
        old = self->keys;
        self->keys = keys;
    }
    has_keys = self->keys;
    self->is_asked = false;
    self->rounds++;
    (void)pthread_cond_broadcast(&self->read);
    (void)pthread_mutex_unlock(&self->mutex);
    jwks_unref(old);
    return clock_mono_ms() + (has_keys ? REFRESH_MS : REFRESH_WITHOUT_MS);
}

struct jwks_source *jwks_source_new(const char *place, struct start_error *why)
{
    struct jwks_source *self = calloc(1, sizeof *self);
    struct start_error of_file = {0};

    if (!self) {
        (void)start_error_say(why, "out of memory");
        return NULL;
    }
    self->place = place;
    self->is_url = strncmp(place, "http://", 7) == 0 || strncmp(place, "https://", 8) == 0;
    (void)pthread_mutex_init(&self->mutex, NULL);
    (void)pthread_cond_init(&self->read, NULL);
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    if (!self->is_url) self->keys = read_keys(self, &of_file);
    if (!self->is_url && !self->keys) {
        (void)start_error_say(why, "--token-jwks: %s: %s", place, of_file.text);
    } else if (!worker_start(&self->worker, read_round, self)) {
        (void)start_error_say(why, "--token-jwks: no thread could be started");
    } else {
        return self;
    }
    jwks_source_free(self);
    return NULL;
}

void jwks_source_free(struct jwks_source *self)
{
    if (!self) return;
    worker_stop(&self->worker);
    jwks_unref(self->keys);
    free(self);
}

/* ---- asked ----------------------------------------------------------------------------------- */

struct jwks *jwks_source_get(struct jwks_source *self)
{
    struct jwks *keys = NULL;

    if (!self) return NULL;
    (void)pthread_mutex_lock(&self->mutex);
    keys = jwks_ref(self->keys);
    (void)pthread_mutex_unlock(&self->mutex);
    return keys;
}

uint64_t jwks_source_rounds(struct jwks_source *self)
{
    return self ? atomic_load(&self->rounds) : 0;
}

/* Whether a round is under way for this request; the first request wakes the thread. */
static bool is_being_asked_locked(struct jwks_source *self)
{
    int64_t now_ms = clock_mono_ms();

    if (self->is_asked || now_ms < self->ask_from_ms) return self->is_asked;
    self->ask_from_ms = now_ms + ASK_AGAIN_MS;
    return self->is_asked = true;
}

struct jwks *jwks_source_get_newer(struct jwks_source *self, const struct jwks *known)
{
    struct timespec until;
    struct jwks *keys = NULL;
    uint64_t rounds = 0;
    int timed_out = 0;

    if (!self) return NULL;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += WAIT_S;
    (void)pthread_mutex_lock(&self->mutex);
    rounds = self->rounds;
    if (self->keys == known && is_being_asked_locked(self)) {
        worker_wake(&self->worker);
        while (self->rounds == rounds && timed_out == 0)
            timed_out = pthread_cond_clockwait(&self->read, &self->mutex, CLOCK_MONOTONIC, &until);
    }
    if (self->keys != known) keys = jwks_ref(self->keys);
    (void)pthread_mutex_unlock(&self->mutex);
    return keys;
}
