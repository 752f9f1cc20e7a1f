/*
 * HTTP by hand over a socket: a buyer's request is one write, and what the connection did to it is
 * seen plainly. A ledger line is one write too, so that a kill loses the last one at most.
 */
#include "lt_buyers.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/http_client.h"
#include "evidence/client_log.h"
#include "evidence/ledger.h"
#include "lt_net.h"
#include "run/resolve.h"

enum {
    ANSWER_LIMIT_S = 20,
    REPLY_MAX = 4096,
    LOOK_EVERY_MS = 10,
    AGAIN_MS = 4, /* before a buyer who was not told for sure asks again */
    NAME_MAX_LEN = 32,
    LINE_MAX_LEN = 512,
    FIND_MS = 15000, /* Redis, after the run: a failover may be under way */
    FILE_MAX = LT_PATH_MAX + 96,
};

struct lt_shopper {
    struct lt_buyers *self; /* borrowed */
    unsigned number;
    pthread_t thread;
    int fd;            /* the connection; -1: none */
    int ledger;        /* file */
    unsigned requests; /* written down so far: names the next one */
    unsigned instance; /* whom to ask next */
    char reply[REPLY_MAX];
};

/* One purchase on its way. */
struct errand {
    char buyer[NAME_MAX_LEN];
    char rid[NAME_MAX_LEN];
    unsigned req;
    bool is_doubtful; /* executed or not, for all the buyer knows */
};

typedef enum told {
    TOLD_NOTHING, /* ask again */
    TOLD_YES,
    TOLD_NO,
} told;

/* ---- the ledger --------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void note(const struct lt_shopper *shopper,
                                                       const char *format, ...)
{
    char line[LINE_MAX_LEN];
    va_list args;

    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (write(shopper->ledger, line, (size_t)length) != length) abort(); /* no proof without it */
}

static void note_invoke(struct lt_shopper *shopper, struct errand *errand)
{
    errand->req = ++shopper->requests;
    note(shopper,
         "{\"t\":%" PRId64 ",\"e\":\"invoke\",\"req\":\"%u\",\"rid\":\"%s\",\"buyer\":\"%s\","
         "\"key\":\"%s\"}\n",
         clock_ns(), errand->req, errand->rid, errand->buyer, errand->rid);
}

/* ---- answers ------------------------------------------------------------------------------------------ */

/* Refusals that promise: not executed. */
static bool is_sure(long status, const char *type)
{
    static const char *const sure[] = {"lock-timeout", "overloaded", "store-unavailable",
                                       "sale-paused"};

    if (status >= 400 && status < 500) return true;
    for (size_t i = 0; status == 503 && i < sizeof sure / sizeof *sure; i++)
        if (strcmp(type, sure[i]) == 0) return true;
    return false;
}

static told take_order(struct lt_shopper *shopper, const struct errand *errand)
{
    struct lt_buyers_counts *counts = &shopper->self->counts;
    bool is_replay = strcasestr(shopper->reply, "\nIdempotency-Replayed: true") != NULL;
    char order[NAME_MAX_LEN];

    (void)lt_find_word(shopper->reply, "\"id\":\"", order, sizeof order);
    note(shopper,
         "{\"t\":%" PRId64 ",\"e\":\"ok\",\"req\":\"%u\",\"rid\":\"%s\",\"status\":201,%s"
         "\"order\":\"%s\"}\n",
         clock_ns(), errand->req, errand->rid, is_replay ? "\"replayed\":true," : "", order);
    atomic_fetch_add(is_replay ? &counts->replayed : &counts->sold, 1);
    if (is_replay && !errand->is_doubtful) atomic_fetch_add(&counts->broken, 1);
    return TOLD_YES;
}

static told take_refusal(struct lt_shopper *shopper, struct errand *errand, long status)
{
    struct lt_buyers_counts *counts = &shopper->self->counts;
    char type[NAME_MAX_LEN], order[NAME_MAX_LEN];
    char shown[NAME_MAX_LEN + 16] = "";

    if (!lt_find_word(shopper->reply, "\"type\":\"/problems/", type, sizeof type))
        (void)snprintf(type, sizeof type, "other");
    if (lt_find_word(shopper->reply, "\"orderId\":\"", order, sizeof order))
        (void)snprintf(shown, sizeof shown, ",\"order\":\"%s\"", order);
    bool is_known = is_sure(status, type);
    if (!is_known) errand->is_doubtful = true;
    note(shopper,
         "{\"t\":%" PRId64
         ",\"e\":\"%s\",\"req\":\"%u\",\"rid\":\"%s\",\"status\":%ld,\"type\":\"%s\"%s}\n",
         clock_ns(), is_known ? "fail" : "info", errand->req, errand->rid, status, type, shown);
    atomic_fetch_add(status < 500 ? &counts->refused
                     : is_known   ? &counts->unavailable
                                  : &counts->unknown,
                     1);
    return status < 500 ? TOLD_NO : TOLD_NOTHING;
}

/* ---- the connection ----------------------------------------------------------------------------------- */

/* The next instance's; the connection is kept. */
static bool dial(struct lt_shopper *shopper)
{
    const struct service *service = shopper->self->options.service;

    if (shopper->fd >= 0) return true;
    shopper->fd = lt_connect(
        lt_port_of(service->instances[shopper->instance % (unsigned)service->count].url));
    if (shopper->fd >= 0) lt_limit(shopper->fd, ANSWER_LIMIT_S);
    return shopper->fd >= 0;
}

/* The status of one whole reply, which is in shopper->reply then; 0: none came. */
static long exchange(struct lt_shopper *shopper, const struct errand *errand)
{
    char request[LINE_MAX_LEN];

    (void)snprintf(request, sizeof request,
                   "POST /api/v1/sales/%s/orders HTTP/1.1\r\nHost: fault\r\nX-User-Id: %s\r\n"
                   "Idempotency-Key: %s\r\nContent-Length: 0\r\n\r\n",
                   shopper->self->options.sale, errand->buyer, errand->rid);
    return lt_http_ask(&shopper->fd, 0, request, shopper->reply, REPLY_MAX);
}

static void count_span(struct lt_buyers_counts *counts, int64_t span_ms)
{
    unsigned slowest = atomic_load(&counts->slowest_ms);

    while ((int64_t)slowest < span_ms &&
           !atomic_compare_exchange_weak(&counts->slowest_ms, &slowest, (unsigned)span_ms)) {}
}

static void think(const struct lt_buyers *self)
{
    if (self->options.think_ms > 0) clock_sleep_ms(self->options.think_ms);
}

static told ask_once(struct lt_shopper *shopper, struct errand *errand)
{
    struct lt_buyers_counts *counts = &shopper->self->counts;
    told what = TOLD_NOTHING;

    if (!atomic_load(&shopper->self->is_in_haste)) think(shopper->self);
    if (!dial(shopper)) return what;
    note_invoke(shopper, errand);
    int64_t begin_ms = clock_ms();
    atomic_fetch_add(&counts->in_flight, 1);
    long status = exchange(shopper, errand);
    atomic_fetch_sub(&counts->in_flight, 1);
    if (status == 0) {
        atomic_fetch_add(&counts->unanswered, 1);
        errand->is_doubtful = true;
        return what;
    }
    count_span(counts, clock_ms() - begin_ms);
    what = status == 201 ? take_order(shopper, errand) : take_refusal(shopper, errand, status);
    atomic_fetch_add(&counts->answers, 1);
    return what;
}

/* Ask until told for sure, the next instance each time. */
static told run_errand(struct lt_shopper *shopper, struct errand *errand)
{
    told what = ask_once(shopper, errand);

    while (what == TOLD_NOTHING && !atomic_load(&shopper->self->is_over)) {
        lt_hang_up(&shopper->fd);
        shopper->instance++;
        clock_sleep_ms(AGAIN_MS);
        what = ask_once(shopper, errand);
    }
    return what;
}

static void *shop(void *arg)
{
    struct lt_shopper *shopper = arg;
    struct lt_buyers *self = shopper->self;
    unsigned number = 0;

    while (!atomic_load(&self->is_over) &&
           (number = atomic_fetch_add(&self->next_buyer, 1)) < self->options.buyers) {
        struct errand errand = {.is_doubtful = false};

        (void)snprintf(errand.buyer, sizeof errand.buyer, "f-%u", number);
        (void)snprintf(errand.rid, sizeof errand.rid, "f-%u.1", number);
        told what = run_errand(shopper, &errand);
        errand.is_doubtful = what == TOLD_YES; /* now a replay is due */
        if (what == TOLD_YES && number % 8 == 0) (void)run_errand(shopper, &errand);
        errand.is_doubtful = false;
        (void)snprintf(errand.rid, sizeof errand.rid, "f-%u.2", number);
        if (what != TOLD_NOTHING && number % 8 == 1) (void)run_errand(shopper, &errand);
    }
    lt_hang_up(&shopper->fd);
    atomic_fetch_sub(&self->busy, 1);
    return NULL;
}

/* KIND-SALE-NAME.jsonl in the place. */
static void file_path(const struct lt_buyers *self, const char *kind, const char *name,
                      char out[FILE_MAX])
{
    (void)snprintf(out, FILE_MAX, "%s/%s-%s%s%s.jsonl", self->options.sandbox->dir, kind,
                   self->options.sale, *name ? "-" : "", name);
}

/* ---- the sampler -------------------------------------------------------------------------------------- */

static void *sample(void *arg)
{
    struct lt_buyers *self = arg;
    char path[FILE_MAX];
    struct ledger *ledger = NULL;
    int64_t left = 0;

    file_path(self, "clients", "sampler", path);
    FILE *file = fopen(path, "we");
    if (!file) abort();
    while (atomic_load(&self->busy) > 0) {
        if (!ledger) ledger = ledger_open(self->options.service->redis_url, NULL);
        if (ledger && ledger_sale_stock(ledger, self->options.sale, &left, NULL)) {
            (void)fprintf(file, "{\"t\":%" PRId64 ",\"e\":\"sample\",\"left\":%" PRId64 "}\n",
                          clock_ns(), left);
        } else {
            ledger_close(ledger);
            ledger = NULL;
        }
        clock_sleep_ms(LOOK_EVERY_MS);
    }
    ledger_close(ledger);
    if (fclose(file) != 0) abort();
    return NULL;
}

/* ---- public ------------------------------------------------------------------------------------------- */

static void ledger_path(const struct lt_buyers *self, unsigned number, char out[FILE_MAX])
{
    char name[16];

    (void)snprintf(name, sizeof name, "%u", number);
    file_path(self, "clients", name, out);
}

bool lt_buyers_start(struct lt_buyers *self, const struct lt_buyers_options *options)
{
    unsigned threads = options->threads;

    *self = (struct lt_buyers){.options = *options, .busy = threads};
    self->shoppers = calloc(threads, sizeof *self->shoppers);
    if (!self->shoppers) return false;
    self->began_ms = clock_ms();
    for (unsigned i = 0; i < threads; i++) {
        struct lt_shopper *shopper = &self->shoppers[i];
        char path[FILE_MAX];

        *shopper = (struct lt_shopper){.self = self, .number = i, .instance = i, .fd = -1};
        ledger_path(self, i, path);
        shopper->ledger = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
        if (shopper->ledger < 0) return false;
        if (pthread_create(&shopper->thread, NULL, shop, shopper) != 0) return false;
    }
    return pthread_create(&self->sampler, NULL, sample, self) == 0;
}

static bool has_gone_home(void *arg)
{
    const struct lt_buyers *self = arg;

    return atomic_load(&self->busy) == 0;
}

bool lt_buyers_finish(struct lt_buyers *self, int64_t limit_ms)
{
    atomic_store(&self->is_in_haste, true);
    bool is_done = lt_eventually(has_gone_home, self, limit_ms);

    atomic_store(&self->is_over, true);
    for (unsigned i = 0; i < self->options.threads; i++) {
        (void)pthread_join(self->shoppers[i].thread, NULL);
        (void)close(self->shoppers[i].ledger);
    }
    (void)pthread_join(self->sampler, NULL);
    free(self->shoppers);
    self->shoppers = NULL;
    return is_done;
}

static bool read_clients(const struct lt_buyers *self, struct facts *facts, struct failure *failure)
{
    char path[FILE_MAX];

    for (unsigned i = 0; i < self->options.threads; i++) {
        ledger_path(self, i, path);
        if (!client_log_read(facts, path, failure)) return false;
    }
    file_path(self, "clients", "sampler", path);
    return client_log_read(facts, path, failure);
}

static bool read_redis(const struct lt_buyers *self, struct facts *facts, struct failure *failure)
{
    const struct service *service = self->options.service;
    char url[sizeof service->redis_url];

    (void)snprintf(url, sizeof url, "%s", service->redis_url);
    (void)lt_eventually(lt_redis_answers, url, FIND_MS);
    struct ledger *ledger = ledger_open(url, failure);
    bool is_read = ledger && ledger_sale_read(ledger, self->options.sale, facts, failure);

    ledger_close(ledger);
    return is_read;
}

static bool judge(const struct lt_buyers *self, const struct facts *facts,
                  struct audit_result *out_result, struct failure *failure)
{
    const struct audit_options strictness = {.allow_lost = self->options.allow_lost};
    char path[FILE_MAX];

    file_path(self, "lost", "", path);
    return audit_run(facts, &strictness, out_result, failure) &&
           (out_result->lost == 0 || resolve_name_lost(facts, path, failure));
}

bool lt_buyers_judge(struct lt_buyers *self, struct audit_result *out_result,
                     struct failure *failure)
{
    char path[FILE_MAX];
    struct facts facts;

    file_path(self, "clients", "resolve", path);
    (void)unlink(path);
    facts_init(&facts);
    bool is_judged =
        read_clients(self, &facts, failure) &&
        lt_sandbox_read_operators(self->options.sandbox, self->options.sale, &facts, failure) &&
        resolve_unknowns(self->options.service, self->options.sale, path, &facts, failure) &&
        read_redis(self, &facts, failure) && judge(self, &facts, out_result, failure);
    facts_done(&facts);
    return is_judged;
}

double lt_buyers_rate(const struct lt_buyers *self)
{
    int64_t span_ms = clock_ms() - self->began_ms;

    return span_ms > 0 ? atomic_load(&self->counts.answers) * 1000.0 / (double)span_ms : 0;
}
