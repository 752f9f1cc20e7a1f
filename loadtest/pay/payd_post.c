/*
 * A list by the moment that is due, and SENDERS threads that take from its head. What they share stands
 * under one mutex; an event that is being sent belongs to its thread.
 */
#include "payd_post.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "base/clock.h"
#include "base/http_client.h"
#include "payd_sign.h"

enum {
    SENDERS = 8,
    PATIENCE_MS = 30000,
    FIRST_PAUSE_MS = 100,
    LAST_PAUSE_MS = 3000,
    LOOK_EVERY_MS = 20,
    OLD_S = 600
};

struct on_its_way {
    TAILQ_ENTRY(on_its_way) others;
    json_t *event; /* owned */
    payd_damage damage;
    int64_t due_ms, give_up_ms;
    long pause_ms;
};

struct payd_post {
    struct payd_post_plan plan;
    pthread_t threads[SENDERS];
    struct http_client *clients[SENDERS]; /* owned */
    int thread_count;
    atomic_bool is_closing;
    pthread_mutex_t mutex; /* guards what follows */
    TAILQ_HEAD(payd_way, on_its_way) waiting;
    size_t sending, lost;
};

void payd_post_note(FILE *file, json_t *line)
{
    char *text = file && line ? json_dumps(line, JSON_COMPACT) : NULL;

    if (text) (void)fprintf(file, "%s\n", text); /* one call is one line; ferror() tells */
    if (text) (void)fflush(file);
    free(text);
    json_decref(line);
}

static void enqueue(struct payd_post *post, struct on_its_way *item)
{
    (void)pthread_mutex_lock(&post->mutex);
    struct on_its_way *later = TAILQ_FIRST(&post->waiting);
    while (later && later->due_ms <= item->due_ms)
        later = TAILQ_NEXT(later, others);
    if (later)
        TAILQ_INSERT_BEFORE(later, item, others);
    else
        TAILQ_INSERT_TAIL(&post->waiting, item, others);
    (void)pthread_mutex_unlock(&post->mutex);
}

/* One that is due; NULL: none is. */
static struct on_its_way *take(struct payd_post *post)
{
    (void)pthread_mutex_lock(&post->mutex);
    struct on_its_way *first = TAILQ_FIRST(&post->waiting);
    if (first && first->due_ms > clock_ms()) first = NULL;
    if (first) TAILQ_REMOVE(&post->waiting, first, others);
    if (first) post->sending++;
    (void)pthread_mutex_unlock(&post->mutex);
    return first;
}

static void done(struct payd_post *post)
{
    (void)pthread_mutex_lock(&post->mutex);
    post->sending--;
    (void)pthread_mutex_unlock(&post->mutex);
}

void payd_post_lose(struct payd_post *post, json_t *event)
{
    (void)pthread_mutex_lock(&post->mutex);
    post->lost++;
    (void)pthread_mutex_unlock(&post->mutex);
    payd_post_note(post->plan.lost, event);
}

/* Once; the status, 0: no answer. */
static long deliver(const struct payd_post *post, struct http_client *client,
                    const struct on_its_way *item)
{
    static _Thread_local struct http_reply reply;
    char signature[PAYD_SIGNATURE_MAX];
    char *body = json_dumps(item->event, JSON_COMPACT);
    struct http_request request = {.url = post->plan.webhook, .json = body, .header = signature};

    if (!body) return 0;
    payd_sign_webhook(post->plan.key,
                      (long long)time(NULL) - (item->damage == PAYD_OLD ? OLD_S : 0), body,
                      signature);
    if (item->damage == PAYD_FORGED) {
        char *last = signature + strlen(signature) - 1;
        *last = *last == '0' ? '1' : '0';
    }
    (void)http_client_send(client, &request, &reply, NULL);
    free(body);
    json_t *said = json_loadb(reply.body, reply.body_len, 0, NULL);
    const char *result = json_string_value(json_object_get(said, "result"));
    payd_post_note(post->plan.log, json_pack("{s:s,s:O,s:b,s:I,s:s?}", "e", "answer", "event",
                                             item->event, "damaged", item->damage != PAYD_WHOLE,
                                             "status", (json_int_t)reply.status, "result", result));
    json_decref(said);
    return reply.status;
}

static void settle(struct payd_post *post, struct on_its_way *item, long status)
{
    bool is_settled = (status > 0 && status < 500) || item->damage != PAYD_WHOLE;
    int64_t next_ms = clock_ms() + item->pause_ms;

    if (!is_settled && next_ms < item->give_up_ms) {
        item->due_ms = next_ms;
        item->pause_ms = item->pause_ms < LAST_PAUSE_MS / 2 ? item->pause_ms * 2 : LAST_PAUSE_MS;
        enqueue(post, item);
        return;
    }
    if (is_settled)
        json_decref(item->event);
    else
        payd_post_lose(post, item->event);
    free(item);
}

struct sender {
    struct payd_post *post;
    struct http_client *client;
};

static void *send_all(void *arg)
{
    struct sender self = *(struct sender *)arg;

    free(arg);
    while (!atomic_load(&self.post->is_closing)) {
        struct on_its_way *item = take(self.post);
        if (!item) {
            clock_sleep_ms(LOOK_EVERY_MS);
            continue;
        }
        settle(self.post, item, deliver(self.post, self.client, item));
        done(self.post);
    }
    return NULL;
}

static bool start_sender(struct payd_post *post)
{
    struct sender *sender = malloc(sizeof *sender);
    int me = post->thread_count;

    post->clients[me] = http_client_new();
    if (sender) *sender = (struct sender){post, post->clients[me]};
    if (sender && sender->client &&
        pthread_create(&post->threads[me], NULL, send_all, sender) == 0) {
        post->thread_count++;
        return true;
    }
    free(sender);
    return false;
}

struct payd_post *payd_post_open(const struct payd_post_plan *plan, struct failure *failure)
{
    struct payd_post *post = calloc(1, sizeof *post);
    bool is_good = post != NULL;

    if (post) {
        post->plan = *plan;
        TAILQ_INIT(&post->waiting);
        (void)pthread_mutex_init(&post->mutex, NULL);
    }
    while (is_good && post->thread_count < SENDERS)
        is_good = start_sender(post);
    if (is_good) return post;
    payd_post_close(post);
    (void)failure_set(failure, "the threads that send do not start");
    return NULL;
}

void payd_post_send(struct payd_post *post, json_t *event, payd_damage damage, long after_ms)
{
    struct on_its_way *item = malloc(sizeof *item);
    int64_t now_ms = clock_ms();

    if (!item) {
        payd_post_lose(post, event);
        return;
    }
    *item = (struct on_its_way){.event = event,
                                .damage = damage,
                                .due_ms = now_ms + after_ms,
                                .give_up_ms = now_ms + after_ms + PATIENCE_MS,
                                .pause_ms = FIRST_PAUSE_MS};
    enqueue(post, item);
}

size_t payd_post_drain(struct payd_post *post)
{
    size_t lost = 0;

    for (bool is_busy = true; is_busy;) {
        (void)pthread_mutex_lock(&post->mutex);
        is_busy = post->sending > 0 || !TAILQ_EMPTY(&post->waiting);
        lost = post->lost;
        (void)pthread_mutex_unlock(&post->mutex);
        if (is_busy) clock_sleep_ms(LOOK_EVERY_MS);
    }
    return lost;
}

void payd_post_close(struct payd_post *post)
{
    struct on_its_way *item = NULL;

    if (!post) return;
    atomic_store(&post->is_closing, true);
    for (int i = 0; i < post->thread_count; i++)
        (void)pthread_join(post->threads[i], NULL);
    for (int i = 0; i < SENDERS; i++)
        http_client_free(post->clients[i]);
    while ((item = TAILQ_FIRST(&post->waiting))) {
        TAILQ_REMOVE(&post->waiting, item, others);
        if (item->damage == PAYD_WHOLE)
            payd_post_lose(post, item->event);
        else
            json_decref(item->event);
        free(item);
    }
    (void)pthread_mutex_destroy(&post->mutex);
    free(post);
}
