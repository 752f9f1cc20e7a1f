/*
 * HTTP by hand over a socket: a buyer's request is one write, and what the connection did to it is
 * seen plainly. A ledger line is one write too, so that a kill loses the last one at most.
 */
#include "lt_crowd.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/http_client.h"
#include "base/moment.h"
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
    struct lt_crowd *crowd; /* borrowed */
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
         moment_ns(), errand->req, errand->rid, errand->buyer, errand->rid);
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
    struct lt_crowd_counts *counts = &shopper->crowd->counts;
    bool is_replay = strcasestr(shopper->reply, "\nIdempotency-Replayed: true") != NULL;
    char order[NAME_MAX_LEN];

    (void)lt_find_word(shopper->reply, "\"id\":\"", order, sizeof order);
    note(shopper,
         "{\"t\":%" PRId64 ",\"e\":\"ok\",\"req\":\"%u\",\"rid\":\"%s\",\"status\":201,%s"
         "\"order\":\"%s\"}\n",
         moment_ns(), errand->req, errand->rid, is_replay ? "\"replayed\":true," : "", order);
    atomic_fetch_add(is_replay ? &counts->replayed : &counts->sold, 1);
    if (is_replay && !errand->is_doubtful) atomic_fetch_add(&counts->broken, 1);
    return TOLD_YES;
}

static told take_refusal(struct lt_shopper *shopper, struct errand *errand, long status)
{
    struct lt_crowd_counts *counts = &shopper->crowd->counts;
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
         moment_ns(), is_known ? "fail" : "info", errand->req, errand->rid, status, type, shown);
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
    const struct service *service = shopper->crowd->options.service;

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
                   shopper->crowd->options.sale, errand->buyer, errand->rid);
    return lt_http_ask(&shopper->fd, 0, request, shopper->reply, REPLY_MAX);
}

static void count_span(struct lt_crowd_counts *counts, int64_t span_ms)
{
    unsigned slowest = atomic_load(&counts->slowest_ms);

    while ((int64_t)slowest < span_ms &&
           !atomic_compare_exchange_weak(&counts->slowest_ms, &slowest, (unsigned)span_ms)) {}
}

static void think(const struct lt_crowd *crowd)
{
    if (crowd->options.think_ms > 0) moment_sleep_ms(crowd->options.think_ms);
}

static told ask_once(struct lt_shopper *shopper, struct errand *errand)
{
    struct lt_crowd_counts *counts = &shopper->crowd->counts;
    told what = TOLD_NOTHING;

    if (!atomic_load(&shopper->crowd->is_in_haste)) think(shopper->crowd);
    if (!dial(shopper)) return what;
    note_invoke(shopper, errand);
    int64_t begin_ms = moment_ms();
    atomic_fetch_add(&counts->in_flight, 1);
    long status = exchange(shopper, errand);
    atomic_fetch_sub(&counts->in_flight, 1);
    if (status == 0) {
        atomic_fetch_add(&counts->unanswered, 1);
        errand->is_doubtful = true;
        return what;
    }
    count_span(counts, moment_ms() - begin_ms);
    what = status == 201 ? take_order(shopper, errand) : take_refusal(shopper, errand, status);
    atomic_fetch_add(&counts->answers, 1);
    return what;
}

/* Ask until told for sure, the next instance each time. */
static told run_errand(struct lt_shopper *shopper, struct errand *errand)
{
    told what = ask_once(shopper, errand);

    while (what == TOLD_NOTHING && !atomic_load(&shopper->crowd->is_over)) {
        lt_hang_up(&shopper->fd);
        shopper->instance++;
        moment_sleep_ms(AGAIN_MS);
        what = ask_once(shopper, errand);
    }
    return what;
}

static void *shop(void *arg)
{
    struct lt_shopper *shopper = arg;
    struct lt_crowd *crowd = shopper->crowd;
    unsigned number = 0;

    while (!atomic_load(&crowd->is_over) &&
           (number = atomic_fetch_add(&crowd->next_buyer, 1)) < crowd->options.buyers) {
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
    atomic_fetch_sub(&crowd->busy, 1);
    return NULL;
}

/* KIND-SALE-NAME.jsonl in the place. */
static void file_path(const struct lt_crowd *crowd, const char *kind, const char *name,
                      char out[FILE_MAX])
{
    (void)snprintf(out, FILE_MAX, "%s/%s-%s%s%s.jsonl", crowd->options.place->dir, kind,
                   crowd->options.sale, *name ? "-" : "", name);
}

/* ---- the sampler -------------------------------------------------------------------------------------- */

static void *sample(void *arg)
{
    struct lt_crowd *crowd = arg;
    char path[FILE_MAX];
    struct ledger *ledger = NULL;
    int64_t left = 0;

    file_path(crowd, "clients", "sampler", path);
    FILE *file = fopen(path, "we");
    if (!file) abort();
    while (atomic_load(&crowd->busy) > 0) {
        if (!ledger) ledger = ledger_open(crowd->options.service->redis_url, NULL);
        if (ledger && ledger_sale_stock(ledger, crowd->options.sale, &left, NULL)) {
            (void)fprintf(file, "{\"t\":%" PRId64 ",\"e\":\"sample\",\"left\":%" PRId64 "}\n",
                          moment_ns(), left);
        } else {
            ledger_close(ledger);
            ledger = NULL;
        }
        moment_sleep_ms(LOOK_EVERY_MS);
    }
    ledger_close(ledger);
    if (fclose(file) != 0) abort();
    return NULL;
}

/* ---- public ------------------------------------------------------------------------------------------- */

static void ledger_path(const struct lt_crowd *crowd, unsigned number, char out[FILE_MAX])
{
    char name[16];

    (void)snprintf(name, sizeof name, "%u", number);
    file_path(crowd, "clients", name, out);
}

bool lt_crowd_start(struct lt_crowd *crowd, const struct lt_crowd_options *options)
{
    unsigned threads = options->threads;

    *crowd = (struct lt_crowd){.options = *options, .busy = threads};
    crowd->shoppers = calloc(threads, sizeof *crowd->shoppers);
    if (!crowd->shoppers) return false;
    crowd->began_ms = moment_ms();
    for (unsigned i = 0; i < threads; i++) {
        struct lt_shopper *shopper = &crowd->shoppers[i];
        char path[FILE_MAX];

        *shopper = (struct lt_shopper){.crowd = crowd, .number = i, .instance = i, .fd = -1};
        ledger_path(crowd, i, path);
        shopper->ledger = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
        if (shopper->ledger < 0) return false;
        if (pthread_create(&shopper->thread, NULL, shop, shopper) != 0) return false;
    }
    return pthread_create(&crowd->sampler, NULL, sample, crowd) == 0;
}

static bool has_gone_home(void *arg)
{
    const struct lt_crowd *crowd = arg;

    return atomic_load(&crowd->busy) == 0;
}

bool lt_crowd_finish(struct lt_crowd *crowd, int64_t limit_ms)
{
    atomic_store(&crowd->is_in_haste, true);
    bool is_done = lt_eventually(has_gone_home, crowd, limit_ms);

    atomic_store(&crowd->is_over, true);
    for (unsigned i = 0; i < crowd->options.threads; i++) {
        (void)pthread_join(crowd->shoppers[i].thread, NULL);
        (void)close(crowd->shoppers[i].ledger);
    }
    (void)pthread_join(crowd->sampler, NULL);
    free(crowd->shoppers);
    crowd->shoppers = NULL;
    return is_done;
}

static bool read_clients(const struct lt_crowd *crowd, struct facts *facts, struct failure *failure)
{
    char path[FILE_MAX];

    for (unsigned i = 0; i < crowd->options.threads; i++) {
        ledger_path(crowd, i, path);
        if (!client_log_read(facts, path, failure)) return false;
    }
    file_path(crowd, "clients", "sampler", path);
    return client_log_read(facts, path, failure);
}

static bool read_redis(const struct lt_crowd *crowd, struct facts *facts, struct failure *failure)
{
    const struct service *service = crowd->options.service;
    char url[sizeof service->redis_url];

    (void)snprintf(url, sizeof url, "%s", service->redis_url);
    (void)lt_eventually(lt_redis_answers, url, FIND_MS);
    struct ledger *ledger = ledger_open(url, failure);
    bool is_read = ledger && ledger_sale_read(ledger, crowd->options.sale, facts, failure);

    ledger_close(ledger);
    return is_read;
}

static bool judge(const struct lt_crowd *crowd, const struct facts *facts,
                  struct audit_result *out_result, struct failure *failure)
{
    const struct audit_options strictness = {.allow_lost = crowd->options.allow_lost};
    char path[FILE_MAX];

    file_path(crowd, "lost", "", path);
    return audit_run(facts, &strictness, out_result, failure) &&
           (out_result->lost == 0 || resolve_name_lost(facts, path, failure));
}

bool lt_crowd_judge(struct lt_crowd *crowd, struct audit_result *out_result,
                    struct failure *failure)
{
    char path[FILE_MAX];
    struct facts facts;

    file_path(crowd, "clients", "resolve", path);
    (void)unlink(path);
    facts_init(&facts);
    bool is_judged =
        read_clients(crowd, &facts, failure) &&
        lt_place_read_operators(crowd->options.place, crowd->options.sale, &facts, failure) &&
        resolve_unknowns(crowd->options.service, crowd->options.sale, path, &facts, failure) &&
        read_redis(crowd, &facts, failure) && judge(crowd, &facts, out_result, failure);
    facts_done(&facts);
    return is_judged;
}

double lt_crowd_rate(const struct lt_crowd *crowd)
{
    int64_t span_ms = moment_ms() - crowd->began_ms;

    return span_ms > 0 ? atomic_load(&crowd->counts.answers) * 1000.0 / (double)span_ms : 0;
}
