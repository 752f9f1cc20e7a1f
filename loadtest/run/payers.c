/*
 * Two queues of tasks by the moment that each is due, and THREADS that take what is: who has an order
 * first. What a buyer does with it hangs on his name alone. A task belongs to the thread that took it
 * until it is put back or freed.
 */
#include "payers.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/random.h"
#include "common/fnv.h"

enum {
    THREADS = 16,
    NAME_MAX_LEN = 72,
    LOOK_EVERY_MS = 5,
    ASK_EVERY_MS = 100,
    STALL_MS = 15000, /* nothing was paid for so long: nothing will be */
    AGAIN_MS = 200,
    DOWN_MS = 250, /* an instance is left alone that did not answer */
    TRIES_MAX = 60,
    CARDS = 3, /* a declined buyer has */
    REGRETS =
        10, /* with faults: of those who have paid, or whose time is over, one of so many cancels */
    PAYS_TWICE = 20, /* with faults: one of so many */
    JITTER_MS = 400,
    TOLD_AFTER_MS = 400, /* somebody who has paid looks at his order */
    CHANCES = 1000000,
};

typedef enum task_kind { TASK_BUY, TASK_SETTLE, TASK_LOOK, TASK_CANCEL } task_kind;

struct task {
    task_kind kind;
    char buyer[NAME_MAX_LEN], order[24];
    int64_t due_ms;
    int tries;   /* of any kind, since it is this task */
    int comings; /* back to buy: each has a key of its own */
};

/* A heap, the soonest first. */
struct queue {
    struct task **tasks; /* owned */
    size_t count, room;
};

struct payers {
    const struct drive_target *target; /* borrowed, as the next */
    const char *sale;
    FILE *ledger; /* owned; each line is one call */
    pthread_t threads[THREADS];
    struct http_client *clients[THREADS]; /* owned */
    int thread_count;
    atomic_bool is_over;
    atomic_uint requests;
    atomic_int_fast64_t down_ms[INSTANCES_MAX]; /* of each instance: until then it is left alone */
    pthread_mutex_t mutex;                      /* guards what follows */
    struct queue orders, crowd;
    size_t working;
    /* of the main thread alone */
    int64_t asked_ms, changed_ms, paid;
    bool has_stalled;
};

/* ---- tasks ---- */

/* Is task `a` of the heap due before task `b`? */
static bool is_sooner(const struct queue *queue, size_t a, size_t b)
{
    return queue->tasks[a]->due_ms < queue->tasks[b]->due_ms;
}

static void swap(const struct queue *queue, size_t a, size_t b)
{
    struct task *task = queue->tasks[a];
    queue->tasks[a] = queue->tasks[b];
    queue->tasks[b] = task;
}

static void put(struct payers *payers, struct task *task, int64_t in_ms)
{
    struct queue *queue = task->kind == TASK_BUY ? &payers->crowd : &payers->orders;

    task->due_ms = clock_ms() + in_ms;
    (void)pthread_mutex_lock(&payers->mutex);
    if (queue->count == queue->room) {
        size_t room = queue->room ? queue->room * 2 : 1024;
        void *grown = reallocarray(queue->tasks, room, sizeof *queue->tasks);
        if (grown) queue->tasks = grown;
        if (grown) queue->room = room;
    }
    if (queue->count < queue->room) {
        size_t at = queue->count++;
        queue->tasks[at] = task;
        for (; at > 0 && is_sooner(queue, at, (at - 1) / 2); at = (at - 1) / 2)
            swap(queue, at, (at - 1) / 2);
    } else {
        free(task); /* out of memory: one buyer fewer */
    }
    (void)pthread_mutex_unlock(&payers->mutex);
}

static struct task *take_due(struct queue *queue)
{
    size_t at = 0;

    if (queue->count == 0 || queue->tasks[0]->due_ms > clock_ms()) return NULL;
    swap(queue, 0, --queue->count);
    for (size_t next = 1; next < queue->count; next = 2 * at + 1) {
        if (next + 1 < queue->count && is_sooner(queue, next + 1, next)) next++;
        if (!is_sooner(queue, next, at)) break;
        swap(queue, at, next);
        at = next;
    }
    return queue->tasks[queue->count];
}

static struct task *take(struct payers *payers)
{
    (void)pthread_mutex_lock(&payers->mutex);
    struct task *task = take_due(&payers->orders);
    if (!task) task = take_due(&payers->crowd);
    if (task) payers->working++;
    (void)pthread_mutex_unlock(&payers->mutex);
    return task;
}

static void add(struct payers *payers, task_kind kind, const char *buyer, const char *order,
                int64_t in_ms)
{
    struct task *task = calloc(1, sizeof *task);

    if (!task) return; /* one buyer fewer */
    task->kind = kind;
    (void)snprintf(task->buyer, sizeof task->buyer, "%s", buyer);
    (void)snprintf(task->order, sizeof task->order, "%s", order);
    put(payers, task, in_ms);
}

/* Once more, as something else, or as the same when that failed; too often: never. */
static bool again(struct payers *payers, struct task *task, task_kind kind, int64_t in_ms)
{
    task->tries = task->kind == kind ? task->tries + 1 : 0;
    task->kind = kind;
    if (task->tries > TRIES_MAX) return false;
    put(payers, task, in_ms);
    return true;
}

/* The same for this buyer in each run: from 0 to CHANCES - 1, another one for each `what`. */
static int64_t draw(const struct task *task, unsigned what)
{
    struct random chance = random_stream(what, fnv_of(task->buyer));
    return random_between(&chance, 0, CHANCES - 1);
}

/* ---- asking ---- */

/* What one thread has. */
struct self {
    struct payers *payers;
    struct http_client *http;
    struct http_reply reply;
};

/* One after the other, but for those that are down. */
static unsigned choose_instance(struct payers *payers)
{
    unsigned count = (unsigned)payers->target->service->count;
    unsigned first = atomic_fetch_add(&payers->requests, 1);
    unsigned n = 0;

    while (n + 1 < count && atomic_load(&payers->down_ms[(first + n) % count]) > clock_ms())
        n++;
    return (first + n) % count;
}

/* Ask an instance as the buyer of a task, another one each time; what it says in JSON, yours. */
static json_t *ask(struct self *self, const struct task *task, const char *method, const char *path,
                   const char *key)
{
    unsigned chosen = choose_instance(self->payers);
    char url[URL_MAX + 80];

    (void)snprintf(url, sizeof url, "%s/api/v1/sales/%s%s",
                   self->payers->target->service->instances[chosen].url, self->payers->sale, path);
    struct http_request request = {.url = url,
                                   .method = method,
                                   .buyer = task->buyer,
                                   .key = key,
                                   .json = strcmp(method, "POST") == 0 ? "" : NULL};
    if (!http_client_send(self->http, &request, &self->reply, NULL))
        atomic_store(&self->payers->down_ms[chosen], clock_ms() + DOWN_MS);
    return json_loadb(self->reply.body, self->reply.body_len, 0, NULL);
}

static const char *text_of(const json_t *said, const char *name)
{
    const char *text = json_string_value(json_object_get(said, name));
    return text ? text : "";
}

/* The last part of a problem's type; "other". */
static const char *type_of(const json_t *said)
{
    const char *slash = strrchr(text_of(said, "type"), '/');
    return slash ? slash + 1 : "other";
}

static void note(const struct payers *payers, const char *line)
{
    (void)fprintf(payers->ledger, "{\"t\":%" PRId64 ",%s}\n", clock_ns(), line);
}

static void write_told(const struct payers *payers, const struct task *task, const char *state)
{
    char line[256];

    (void)snprintf(line, sizeof line,
                   "\"e\":\"told\",\"buyer\":\"%s\",\"order\":\"%s\",\"state\":\"%s\"", task->buyer,
                   task->order, state);
    note(payers, line);
}

/* ---- who has an order ---- */

/* At the provider; a declined buyer tries his other cards, and some pay twice. */
static bool pay_at(struct self *self, const struct task *task, const char *url)
{
    const struct options *options = self->payers->target->options;
    struct http_request request = {.url = url, .json = ""};
    bool is_charged = false;

    for (int card = 0; card < CARDS && !is_charged; card++) {
        if (!http_client_send(self->http, &request, &self->reply, NULL)) return false;
        json_t *said = json_loadb(self->reply.body, self->reply.body_len, 0, NULL);
        is_charged = json_is_true(json_object_get(said, "charged"));
        json_decref(said);
    }
    if (is_charged && options->has_payer_faults && draw(task, 3) % PAYS_TWICE == 0)
        (void)http_client_send(self->http, &request, &self->reply, NULL);
    return is_charged;
}

/* true: the task goes on. */
static bool pay(struct self *self, struct task *task)
{
    json_t *said = ask(self, task, "POST", "/orders/me/payment", NULL);
    const char *url = text_of(said, "url");
    bool is_paid = self->reply.status == 200 && *url && pay_at(self, task, url);
    bool is_open = self->reply.status == 0 || self->reply.status >= 500;

    json_decref(said);
    if (is_paid) return again(self->payers, task, TASK_LOOK, TOLD_AFTER_MS);
    return is_open && again(self->payers, task, TASK_SETTLE, AGAIN_MS);
}

static bool cancel(struct self *self, struct task *task)
{
    json_t *said = ask(self, task, "DELETE", "/orders/me", NULL);

    if (self->reply.status == 200 && strcmp(text_of(said, "state"), "cancelled") == 0)
        write_told(self->payers, task, "cancelled");
    json_decref(said);
    return (self->reply.status == 0 || self->reply.status >= 500) &&
           again(self->payers, task, TASK_CANCEL, AGAIN_MS);
}

/* Who does not have to, and may not be able to. */
static bool regrets(const struct self *self, const struct task *task)
{
    return self->payers->target->options->has_payer_faults && draw(task, 5) % REGRETS == 0;
}

static bool settle(struct self *self, struct task *task)
{
    const struct options *options = self->payers->target->options;
    double chance = (double)draw(task, 1) / CHANCES;

    if (chance < options->pay_share) return pay(self, task);
    if (chance < options->pay_share + options->cancel_share) return cancel(self, task);
    return regrets(self, task) && again(self->payers, task, TASK_CANCEL, options->window_ms);
}

static bool check_paid(struct self *self, struct task *task)
{
    json_t *said = ask(self, task, "GET", "/orders/me", NULL);

    if (self->reply.status == 200 && strcmp(text_of(said, "state"), "paid") == 0)
        write_told(self->payers, task, "paid");
    json_decref(said);
    return regrets(self, task) && again(self->payers, task, TASK_CANCEL, 0);
}

/* Within the first half of the window: later no payment may be begun. */
static int64_t thinks_ms(const struct payers *payers, const struct task *task)
{
    return draw(task, 2) * (payers->target->options->window_ms * 2 / 5) / CHANCES;
}

/* ---- who has none ---- */

static void note_answer(const struct self *self, const char *req, const char *rid,
                        const json_t *said)
{
    const char *type = type_of(said);
    const char *order = text_of(said, "id");
    const char *shown = text_of(said, "orderId");
    long status = self->reply.status;
    bool is_sure = status < 500 || strcmp(type, "lock-timeout") == 0 ||
                   strcmp(type, "overloaded") == 0 || strcmp(type, "store-unavailable") == 0 ||
                   strcmp(type, "sale-paused") == 0;
    char line[512];
    bool is_ok = status == 201 && *order;

    (void)snprintf(line, sizeof line,
                   "\"e\":\"%s\",\"req\":\"%s\",\"rid\":\"%s\",\"status\":%ld,\"%s\":\"%s\"%s%s%s",
                   is_ok                                   ? "ok"
                   : is_sure && strcmp(type, "other") != 0 ? "fail"
                                                           : "info",
                   req, rid, status, is_ok ? "order" : "type", is_ok ? order : type,
                   *shown ? ",\"order\":\"" : "", shown, *shown ? "\"" : "");
    note(self->payers, line);
}

/* Whoever was told nothing certain asks again under the same key. */
static bool buy(struct self *self, struct task *task)
{
    struct payers *payers = self->payers;
    char rid[NAME_MAX_LEN + 16], req[24], line[512];

    (void)snprintf(rid, sizeof rid, "%s.r%d", task->buyer, task->comings);
    (void)snprintf(req, sizeof req, "p%u", atomic_fetch_add(&payers->requests, 1));
    (void)snprintf(line, sizeof line,
                   "\"e\":\"invoke\",\"req\":\"%s\",\"rid\":\"%s\",\"buyer\":\"%s\",\"key\":\"%s\"",
                   req, rid, task->buyer, rid);
    note(payers, line);
    json_t *said = ask(self, task, "POST", "/orders", rid);
    long status = self->reply.status;
    if (status) note_answer(self, req, rid, said);
    bool is_held =
        json_integer_value(json_object_get(said, "held")) > 0 || self->reply.retry_after_s;
    bool is_sold_out = status == 409 && strcmp(type_of(said), "sold-out") == 0;
    (void)snprintf(task->order, sizeof task->order, "%s", status == 201 ? text_of(said, "id") : "");
    json_decref(said);
    if (*task->order) return again(payers, task, TASK_SETTLE, thinks_ms(payers, task));
    if (status == 0 || status >= 500) return again(payers, task, TASK_BUY, AGAIN_MS);
    if (!is_sold_out || !is_held) return false;
    task->comings++;
    task->tries = 0;
    long wait_s = self->reply.retry_after_s > 0 ? self->reply.retry_after_s : 1;
    return again(payers, task, TASK_BUY, wait_s * 1000 + draw(task, 4) % JITTER_MS);
}

/* ---- threads ---- */

static bool perform(struct self *self, struct task *task)
{
    switch (task->kind) {
    case TASK_BUY:
        return buy(self, task);
    case TASK_SETTLE:
        return settle(self, task);
    case TASK_LOOK:
        return check_paid(self, task);
    case TASK_CANCEL:
        return cancel(self, task);
    }
    return false;
}

static void *work(void *arg)
{
    struct self *self = arg;
    struct payers *payers = self->payers;

    while (!atomic_load(&payers->is_over)) {
        struct task *task = take(payers);
        if (!task) {
            clock_sleep_ms(LOOK_EVERY_MS);
            continue;
        }
        if (!perform(self, task)) free(task);
        (void)pthread_mutex_lock(&payers->mutex);
        payers->working--;
        (void)pthread_mutex_unlock(&payers->mutex);
    }
    free(self);
    return NULL;
}

static bool start_thread(struct payers *payers)
{
    struct self *self = calloc(1, sizeof *self);
    int me = payers->thread_count;

    payers->clients[me] = http_client_new();
    if (self && payers->clients[me]) {
        self->payers = payers;
        self->http = payers->clients[me];
        if (pthread_create(&payers->threads[me], NULL, work, self) == 0) {
            payers->thread_count++;
            return true;
        }
    }
    free(self);
    return false;
}

struct payers *payers_start(const struct drive_target *target, const char *sale, const char *ledger,
                            struct failure *failure)
{
    struct payers *payers = calloc(1, sizeof *payers);
    bool is_good = payers != NULL;

    if (!payers) return NULL;
    *payers = (struct payers){.target = target, .sale = sale, .changed_ms = clock_ms()};
    (void)pthread_mutex_init(&payers->mutex, NULL);
    payers->ledger = fopen(ledger, "ae");
    is_good = payers->ledger || failure_set(failure, "%s: %s", ledger, failure_errno_text());
    while (is_good && payers->thread_count < THREADS)
        is_good = start_thread(payers) || failure_set(failure, "the payers do not start");
    if (is_good) return payers;
    (void)payers_stop(payers, NULL);
    return NULL;
}

/* The text behind a label up to a quote. */
static bool word_behind(const char *line, const char *label, char *out, size_t size)
{
    const char *at = strstr(line, label);
    size_t length = at ? strcspn(at + strlen(label), "\"") : 0;

    if (length == 0 || length >= size) return false;
    (void)snprintf(out, size, "%.*s", (int)length, at + strlen(label));
    return true;
}

void payers_on_line(void *arg, const char *line)
{
    struct payers *payers = arg;
    char buyer[NAME_MAX_LEN], order[24];
    bool is_bought = strstr(line, "\"e\":\"ok\"") && !strstr(line, "\"replayed\"") &&
                     word_behind(line, "\"order\":\"", order, sizeof order);
    bool is_sold_out = strstr(line, "\"type\":\"sold-out\"") != NULL;

    if (!is_bought && !is_sold_out) return;
    if (!word_behind(line, "\"rid\":\"", buyer, sizeof buyer)) return;
    char *click = strrchr(buyer, '.'); /* rid: "BUYER.CLICK" */
    if (!click || (is_sold_out && strcmp(click, ".1") != 0)) return;
    *click = '\0';
    struct task task = {.kind = TASK_SETTLE};
    (void)snprintf(task.buyer, sizeof task.buyer, "%s", buyer);
    if (is_bought)
        add(payers, TASK_SETTLE, buyer, order, thinks_ms(payers, &task));
    else
        add(payers, TASK_BUY, buyer, "", 1000 + draw(&task, 4) % JITTER_MS);
}

/* What a sale says of itself; -1: it does not. */
static int64_t number_of(const json_t *sale, const char *name)
{
    const json_t *number = json_object_get(sale, name);
    return json_is_integer(number) ? json_integer_value(number) : -1;
}

static bool is_idle(struct payers *payers)
{
    (void)pthread_mutex_lock(&payers->mutex);
    bool is_idle = payers->working == 0 && payers->orders.count == 0 && payers->crowd.count == 0;
    (void)pthread_mutex_unlock(&payers->mutex);
    return is_idle;
}

bool payers_are_done(struct payers *payers)
{
    static struct http_reply reply;
    const struct service *service = payers->target->service;
    int64_t now_ms = clock_ms();
    char url[URL_MAX + 80];

    if (now_ms - payers->asked_ms < ASK_EVERY_MS) return false;
    payers->asked_ms = now_ms;
    (void)snprintf(url, sizeof url, "%s/api/v1/sales/%s",
                   service->instances[choose_instance(payers)].url, payers->sale);
    (void)http_client_send(service->http, &(struct http_request){.url = url}, &reply, NULL);
    json_t *sale = json_loadb(reply.body, reply.body_len, 0, NULL);
    int64_t paid = number_of(sale, "paid");
    bool is_none_held = number_of(sale, "held") == 0;
    json_decref(sale);
    if (paid > payers->paid) payers->changed_ms = now_ms;
    if (paid > payers->paid) payers->paid = paid;
    payers->has_stalled = now_ms - payers->changed_ms > STALL_MS;
    return payers->paid >= payers->target->options->stock || payers->has_stalled ||
           (is_none_held && is_idle(payers));
}

int64_t payers_paid(const struct payers *payers)
{
    return payers->paid;
}

static void free_all(struct queue *queue)
{
    while (queue->count)
        free(queue->tasks[--queue->count]);
    free(queue->tasks);
}

bool payers_stop(struct payers *payers, struct failure *failure)
{
    if (!payers) return true;
    atomic_store(&payers->is_over, true);
    for (int i = 0; i < payers->thread_count; i++)
        (void)pthread_join(payers->threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        http_client_free(payers->clients[i]);
    bool is_good =
        !payers->has_stalled ||
        failure_set(failure, "%" PRId64 " of %ld units are paid for, and then none any more",
                    payers->paid, payers->target->options->stock);
    if (payers->ledger && (ferror(payers->ledger) | fclose(payers->ledger)) != 0)
        is_good = failure_set(failure, "the payers' ledger could not be written");
    free_all(&payers->orders);
    free_all(&payers->crowd);
    (void)pthread_mutex_destroy(&payers->mutex);
    free(payers);
    return is_good;
}
