/*
 * The sale's scripts on a real Redis against the reference model (sale_model.h): random steps over
 * small domains, the answer compared after each step and all keys at the end. A sequence that fails
 * is cut down to the shortest that still does, and printed with its seed.
 */
#include <inttypes.h>
#include <signal.h>

#include "base/clock.h"
#include "sale/sale_keys.h"
#include "store/app_scripts.h"
#include "test/support/sale_model.h"
#include "test/support/sale_support.h"
#include "test/support/testing.h"

enum {
    SEEDS = 300,
    STEPS = 60,
    ANSWER = 512,
    HOUR_MS = 3600000,
    LEASE_MS = 60000,
    COOL_MS = 9950, /* longer than a play takes: */
    PLAY_MS = 500,  /* at most, or it does not count; print_sellable() allows 600 */
};

/* The scripts under test, and how a handle buys. */
struct subject {
    lk_client *client;
    lk_script *purchase;
    lk_script *resolve;
    lk_script *create;
    lk_script *end;
    lk_script *restock;
    bool is_unguarded; /* a mutant: whoever holds the lock, the script runs */
};

struct world {
    struct sale_server server;
    lk_client *client;
};

/* One sequence on its way: the real thing. */
struct play {
    const struct subject *subject;
    const struct model *model; /* before the step */
    struct sale_keys keys;
    lk_lock *handles[MODEL_HANDLES];
    int64_t starts_ms; /* of the sale, as asked for; 0: now */
    int64_t ends_ms;
    int64_t created_ms;
};

/* ---- randomness --------------------------------------------------------------------------------- */

/* xorshift64*: the same steps for the same seed on every machine. */
static unsigned below(uint64_t *state, unsigned limit)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (unsigned)(*state * 2685821657736338717U >> 33) % limit;
}

/* Buying is common, so that states have something to act on. */
static step_kind random_kind(uint64_t *state)
{
    static const step_kind kinds[] = {
        STEP_CREATE,  STEP_CREATE,  STEP_CREATE,  STEP_CREATE,  STEP_END,     STEP_PAUSE,
        STEP_RESTOCK, STEP_RESTOCK, STEP_COOLED,  STEP_RESTOCK, STEP_REOPEN,  STEP_REOPEN,
        STEP_REOPEN,  STEP_VANISH,  STEP_WIPE,    STEP_WIPE,    STEP_ACQUIRE, STEP_ACQUIRE,
        STEP_EXPIRE,  STEP_RELEASE, STEP_RELEASE, STEP_BUY,     STEP_BUY,     STEP_BUY,
        STEP_BUY,     STEP_BUY,     STEP_GUARDED, STEP_GUARDED, STEP_GUARDED, STEP_GUARDED,
        STEP_RUN,     STEP_RUN,     STEP_RUN,     STEP_RUN,     STEP_RESOLVE, STEP_RESOLVE};

    return kinds[below(state, sizeof kinds / sizeof kinds[0])];
}

static void make_steps(unsigned seed, struct model_step steps[STEPS])
{
    uint64_t state = (uint64_t)seed * 0x9e3779b97f4a7c15U + 0x1234567U;

    for (unsigned i = 0; i < STEPS; i++) {
        struct model_step *step = &steps[i];

        *step = (struct model_step){.kind = random_kind(&state), .number = i};
        step->handle = below(&state, MODEL_HANDLES);
        /* They grow, as attempts do, and are near enough to what was given up. */
        step->process = below(&state, MODEL_PROCESSES);
        step->attempt = i / 4 + below(&state, 4);
        step->stock = below(&state, MODEL_STOCK_MAX + 1);
        /* Most sales are open: the others refuse everything. */
        step->window = below(&state, 3) > 0 ? below(&state, 2) : below(&state, WINDOW_KINDS);
        step->count = 1 + below(&state, MODEL_BATCH);
        for (size_t k = 0; k < step->count; k++) {
            step->wishes[k] = (struct model_wish){.buyer = below(&state, MODEL_BUYERS),
                                                  .key = below(&state, MODEL_KEYS)};
        }
    }
    steps[0].kind = STEP_CREATE;
}

/* ---- the real thing -------------------------------------------------------------------------------- */

static void print_purchase(const lk_reply *reply, char *answer)
{
    long long wait_ms = lk_reply_integer(lk_reply_at(reply, 1), -1);
    const char *wait = "?";
    size_t used = 0;

    long long epoch = lk_reply_integer(lk_reply_at(reply, 2), -1);

    if (lk_reply_count(reply) == 3 && lk_reply_integer(lk_reply_at(reply, 0), 0) == -1) {
        (void)snprintf(answer, ANSWER, wait_ms == 0 && epoch == 0 ? "no sale" : "?");
        return;
    }
    if (wait_ms == 0) wait = "now";
    if (wait_ms > HOUR_MS / 2 && wait_ms <= HOUR_MS) wait = "later";
    used = (size_t)snprintf(answer, ANSWER, "left %lld, starts %s, epoch %lld:",
                            lk_reply_integer(lk_reply_at(reply, 0), -2), wait, epoch);
    for (size_t i = 3; i < lk_reply_count(reply) && used < ANSWER; i++) {
        const char *word = lk_reply_bytes(lk_reply_at(reply, i)).data;

        used += (size_t)snprintf(answer + used, ANSWER - used, " %s", word ? word : "?");
    }
}

static void print_answer(lk_status status, lk_reply *reply, const struct lk_error *err,
                         char *answer)
{
    if (status == LK_SERVER) {
        (void)snprintf(answer, ANSWER, "server: %s", err->text);
    } else if (status != LK_OK) {
        (void)snprintf(answer, ANSWER, "%s", lk_status_name(status));
    } else if (lk_reply_count(reply) == 2) {
        (void)snprintf(answer, ANSWER, "%lld, epoch %lld",
                       lk_reply_integer(lk_reply_at(reply, 0), -1),
                       lk_reply_integer(lk_reply_at(reply, 1), -1));
    } else {
        print_purchase(reply, answer);
    }
    lk_reply_free(reply);
}

static void do_create(struct play *play, const struct model_step *step, char *answer)
{
    int64_t now_ms = clock_unix_ms();
    const int64_t starts_ms[] = {0, now_ms - HOUR_MS, now_ms + HOUR_MS, now_ms - HOUR_MS - HOUR_MS};
    const int64_t ends_ms[] = {0, now_ms + HOUR_MS, now_ms + HOUR_MS + HOUR_MS, now_ms - HOUR_MS};
    char texts[3][24];
    struct lk_error err = {0};
    lk_reply *reply = NULL;

    (void)snprintf(texts[0], sizeof texts[0], "%u", step->stock);
    (void)snprintf(texts[1], sizeof texts[1], "%" PRId64, starts_ms[step->window]);
    (void)snprintf(texts[2], sizeof texts[2], "%" PRId64, ends_ms[step->window]);
    const struct lk_bytes args[] = {LK_BYTES("here"),      LK_BYTES("a title"),
                                    lk_bytes_of(texts[0]), lk_bytes_of(texts[1]),
                                    lk_bytes_of(texts[2]), LK_BYTES("mutex")};
    const struct lk_eval eval = {.script = play->subject->create,
                                 .keys = play->keys.key,
                                 .key_count = 4,
                                 .args = args,
                                 .arg_count = 6};
    lk_status status = lk_client_eval(play->subject->client, &eval, 0, &reply, &err);
    if (status == LK_OK && lk_reply_integer(lk_reply_at(reply, 0), 0) == 1) {
        play->starts_ms = starts_ms[step->window];
        play->ends_ms = ends_ms[step->window];
        play->created_ms = now_ms;
    }
    print_answer(status, reply, &err, answer);
}

static void do_end(struct play *play, char *answer)
{
    const struct lk_bytes used[] = {play->keys.key[KEY_SALE], play->keys.key[KEY_STOCK],
                                    play->keys.key[KEY_LEDGER]};
    const struct lk_bytes arg = LK_BYTES("here");
    const struct lk_eval eval = {
        .script = play->subject->end, .keys = used, .key_count = 3, .args = &arg, .arg_count = 1};
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    lk_status status = lk_client_eval(play->subject->client, &eval, 0, &reply, &err);

    print_answer(status, reply, &err, answer);
}

static void print_sellable(const char *label, int64_t at_ms, char *out, size_t size)
{
    int64_t in_ms = at_ms - clock_unix_ms();
    bool is_later = in_ms > COOL_MS - 1000 && in_ms <= COOL_MS + 50 && at_ms % 50 == 0;

    (void)snprintf(out, size, "%s%s", label, is_later ? "later" : "?");
}

static void do_restock(struct play *play, const struct model_step *step, char *answer)
{
    const struct lk_bytes used[] = {play->keys.key[KEY_SALE], play->keys.key[KEY_STOCK],
                                    play->keys.key[KEY_LEDGER]};
    char texts[2][16];
    char sellable[32] = "";
    struct lk_error err = {0};
    lk_reply *reply = NULL;

    (void)snprintf(texts[0], sizeof texts[0], "%u", 1 + step->stock);
    (void)snprintf(texts[1], sizeof texts[1], "%u",
                   COOL_MS - 50 * (step->number % 8)); /* several lots */
    const struct lk_bytes args[] = {LK_BYTES("here"), lk_bytes_of(texts[0]),
                                    lk_bytes_of(model_key(step->wishes[0].key)),
                                    lk_bytes_of(texts[1])};
    const struct lk_eval eval = {.script = play->subject->restock,
                                 .keys = used,
                                 .key_count = 3,
                                 .args = args,
                                 .arg_count = 4};
    lk_status status = lk_client_eval(play->subject->client, &eval, 0, &reply, &err);
    if (status != LK_OK || lk_reply_count(reply) < 3) {
        print_answer(status, reply, &err, answer);
        return;
    }
    print_sellable(", sellable ", lk_reply_integer(lk_reply_at(reply, 2), 0), sellable,
                   sizeof sellable);
    (void)snprintf(answer, ANSWER, "%lld, epoch %lld%s",
                   lk_reply_integer(lk_reply_at(reply, 0), -1),
                   lk_reply_integer(lk_reply_at(reply, 1), -1), sellable);
    lk_reply_free(reply);
}

/* Time passes for what cools; or the server's clock is set back, by more than anything can cool. */
static void do_cooled(struct play *play, const struct model_step *step)
{
    int64_t at_ms = step->number % 2 ? 1000 : clock_unix_ms() + HOUR_MS;

    if (!play->model->has_sale || play->model->cooling == 0) return;
    (void)sale_do(play->subject->client, "HSET %s cool %" PRId64 ":%u", play->keys.text[KEY_SALE],
                  at_ms, play->model->cooling);
}

/* lk_mutex_run() with a lock of its own, as the guard does it. */
static lk_status run_once(struct play *play, const struct lk_eval *eval, lk_reply **out_reply,
                          struct lk_error *err)
{
    lk_lock *lock = lk_mutex_new(play->subject->client, play->keys.text[KEY_LOCK], err);

    if (!lock) return LK_NO_MEMORY;
    lk_status status =
        lk_mutex_run(lock, &(struct lk_lock_options){.lease_ms = LEASE_MS}, eval, out_reply, err);
    lk_lock_free(lock);
    return status;
}

static void do_buy(struct play *play, const struct model_step *step, char *answer)
{
    char ids[MODEL_BATCH][24];
    char attempt[16];
    char count[8];
    struct lk_bytes args[4 + 3 * MODEL_BATCH] = {LK_BYTES("here"),
                                                 lk_bytes_of(model_process(step->process))};
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    lk_status status = LK_OK;

    (void)snprintf(count, sizeof count, "%zu", step->count);
    (void)snprintf(attempt, sizeof attempt, "%u", step->attempt);
    args[2] = lk_bytes_of(attempt);
    args[3] = lk_bytes_of(count);
    for (size_t i = 0; i < step->count; i++) {
        model_order_id(step, i, ids[i]);
        args[4 + 3 * i] = lk_bytes_of(model_buyer(step->wishes[i].buyer));
        args[5 + 3 * i] = lk_bytes_of(ids[i]);
        args[6 + 3 * i] = lk_bytes_of(model_key(step->wishes[i].key));
    }
    const struct lk_eval eval = {.script = play->subject->purchase,
                                 .keys = play->keys.key,
                                 .key_count = KEY_VOID + 1,
                                 .args = args,
                                 .arg_count = 4 + 3 * step->count};
    if (step->kind == STEP_RUN) {
        status = run_once(play, &eval, &reply, &err);
    } else if (step->kind == STEP_GUARDED && !play->subject->is_unguarded) {
        status = lk_guarded_eval(play->handles[step->handle], &eval, 0, &reply, &err);
    } else {
        status = lk_client_eval(play->subject->client, &eval, 0, &reply, &err);
    }
    print_answer(status, reply, &err, answer);
}

static void print_held(const lk_reply *reply, char *answer)
{
    size_t used = (size_t)snprintf(answer, ANSWER, "held:");

    for (size_t i = 0; i < lk_reply_count(reply) && used < ANSWER; i++) {
        const char *order = lk_reply_bytes(lk_reply_at(reply, i)).data;

        used += (size_t)snprintf(answer + used, ANSWER - used, " %s", order ? order : "nil");
    }
}

static void do_resolve(struct play *play, const struct model_step *step, char *answer)
{
    char attempt[16];
    const struct lk_bytes used[] = {play->keys.key[KEY_VOID], play->keys.key[KEY_ORDERS]};
    struct lk_bytes args[2 + MODEL_BATCH] = {lk_bytes_of(model_process(step->process))};
    struct lk_error err = {0};
    lk_reply *reply = NULL;

    (void)snprintf(attempt, sizeof attempt, "%u", step->attempt);
    args[1] = lk_bytes_of(attempt);
    for (size_t i = 0; i < step->count; i++)
        args[2 + i] = lk_bytes_of(model_buyer(step->wishes[i].buyer));
    const struct lk_eval eval = {.script = play->subject->resolve,
                                 .keys = used,
                                 .key_count = 2,
                                 .args = args,
                                 .arg_count = 2 + step->count};
    if (lk_client_eval(play->subject->client, &eval, 0, &reply, &err) == LK_OK) {
        print_held(reply, answer);
    } else {
        (void)snprintf(answer, ANSWER, "server: %s", err.text);
    }
    lk_reply_free(reply);
}

static void do_state(struct play *play, const char *state)
{
    if (!play->model->has_sale) return;
    (void)sale_do(play->subject->client, "HSET %s state %s", play->keys.text[KEY_SALE], state);
}

static void do_wipe(struct play *play)
{
    for (size_t i = 0; i < KEY_LOCK; i++)
        (void)sale_do(play->subject->client, "DEL %s", play->keys.text[i]);
}

static void do_step(struct play *play, const struct model_step *step, char answer[ANSWER])
{
    lk_lock *handle = play->handles[step->handle];
    const struct lk_lock_options options = {.lease_ms = LEASE_MS};

    answer[0] = '\0';
    switch (step->kind) {
    case STEP_CREATE:
        do_create(play, step, answer);
        break;
    case STEP_END:
        do_end(play, answer);
        break;
    case STEP_RESTOCK:
        do_restock(play, step, answer);
        break;
    case STEP_COOLED:
        do_cooled(play, step);
        break;
    case STEP_PAUSE:
        do_state(play, "paused");
        break;
    case STEP_REOPEN:
        do_state(play, "open");
        break;
    case STEP_VANISH:
        (void)sale_do(play->subject->client, "DEL %s", play->keys.text[KEY_SALE]);
        break;
    case STEP_WIPE:
        do_wipe(play);
        break;
    case STEP_ACQUIRE:
        (void)snprintf(answer, ANSWER, "%s",
                       lk_status_name(lk_lock_acquire(handle, &options, NULL)));
        break;
    case STEP_RELEASE:
        (void)snprintf(answer, ANSWER, "%s", lk_status_name(lk_lock_release(handle, NULL)));
        break;
    case STEP_EXPIRE:
        (void)sale_do(play->subject->client, "DEL %s", play->keys.text[KEY_LOCK]);
        break;
    case STEP_RESOLVE:
        do_resolve(play, step, answer);
        break;
    case STEP_BUY:
    case STEP_GUARDED:
    case STEP_RUN:
        do_buy(play, step, answer);
        break;
    case STEP_KINDS:
        break;
    }
}

/* ---- all keys as text, in the model's words -------------------------------------------------------- */

static const char *field(const lk_reply *reply, size_t index)
{
    const char *text = lk_reply_bytes(lk_reply_at(reply, index)).data;

    return text ? text : "nil";
}

static const char *window_of(const struct play *play, int64_t starts_ms, int64_t ends_ms)
{
    bool is_exact = starts_ms == play->starts_ms;

    if (play->starts_ms == 0) {
        is_exact = starts_ms >= play->created_ms && starts_ms < play->created_ms + HOUR_MS / 2;
    }
    if (!is_exact || ends_ms != play->ends_ms) return "?";
    if (play->starts_ms == 0) return "from now";
    if (starts_ms > play->created_ms) return "future";
    return ends_ms > play->created_ms ? "open" : "past";
}

/* What restocks have left in the sale: so many fields. */
static void print_restocked(const struct play *play, int64_t fields, FILE *out)
{
    lk_reply *read =
        sale_ask(play->subject->client, "HMGET %s restocked cool", play->keys.text[KEY_SALE]);
    struct sale sale = {.now_ms = clock_unix_ms()};

    sale_read_lots(&sale, field(read, 1));
    sale_set_stock(&sale, 0);
    (void)fprintf(out, "restocked: %s, %" PRId64 " cooling\n", field(read, 0), sale.cooling);
    lk_reply_free(read);
    fields -= 2;
    for (unsigned i = 1; i < MODEL_KEYS; i++) {
        lk_reply *memo = sale_ask(play->subject->client, "HGET %s restock:%s",
                                  play->keys.text[KEY_SALE], model_key(i));
        const char *units = lk_reply_bytes(memo).data;

        if (units) (void)fprintf(out, "under %s: %s\n", model_key(i), units);
        if (units) fields--;
        lk_reply_free(memo);
    }
    if (fields != 0) (void)fprintf(out, "and %" PRId64 " more fields\n", fields);
}

static void print_sale(const struct play *play, FILE *out)
{
    lk_client *client = play->subject->client;
    const char *key = play->keys.text[KEY_SALE];
    int64_t fields = sale_ask_number(client, "HLEN %s", key);

    if (fields == 0) return;
    lk_reply *sale = sale_ask(client, "HMGET %s title initial state guard epoch", key);
    (void)fprintf(out, "sale: %s, initial %s, %s, guard %s, epoch %s, window %s%s\n",
                  field(sale, 0), field(sale, 1), field(sale, 2), field(sale, 3), field(sale, 4),
                  window_of(play, sale_ask_number(client, "HGET %s starts_ms", key),
                            sale_ask_number(client, "HGET %s ends_ms", key)),
                  fields == 7 || play->model->restocked > 0 ? "" : ", and more fields");
    lk_reply_free(sale);
    if (play->model->restocked > 0) print_restocked(play, fields - 7, out);
}

static void print_orders(const struct play *play, FILE *out)
{
    const char *key = play->keys.text[KEY_ORDERS];
    int64_t count = sale_ask_number(play->subject->client, "HLEN %s", key);

    for (unsigned i = 0; i < MODEL_BUYERS; i++) {
        lk_reply *order = sale_ask(play->subject->client, "HGET %s %s", key, model_buyer(i));
        const char *text = lk_reply_bytes(order).data;

        if (text) (void)fprintf(out, "order: %s %s\n", model_buyer(i), text);
        if (text) count--;
        lk_reply_free(order);
    }
    if (count != 0) (void)fprintf(out, "and %" PRId64 " more orders\n", count);
}

static void print_void_marks(const struct play *play, FILE *out)
{
    const char *key = play->keys.text[KEY_VOID];
    int64_t count = sale_ask_number(play->subject->client, "HLEN %s", key);

    for (unsigned i = 0; i < MODEL_PROCESSES; i++) {
        lk_reply *mark = sale_ask(play->subject->client, "HGET %s %s", key, model_process(i));
        const char *text = lk_reply_bytes(mark).data;

        if (text) (void)fprintf(out, "void: %s %s\n", model_process(i), text);
        if (text) count--;
        lk_reply_free(mark);
    }
    if (count != 0) (void)fprintf(out, "and %" PRId64 " more void marks\n", count);
}

static void print_ledger(const struct play *play, FILE *out)
{
    lk_reply *rows = sale_ask(play->subject->client, "XRANGE %s - +", play->keys.text[KEY_LEDGER]);

    for (size_t i = 0; i < lk_reply_count(rows); i++) {
        const lk_reply *words = lk_reply_at(lk_reply_at(rows, i), 1);

        for (size_t k = 0; k < lk_reply_count(words); k++) {
            char text[24];
            bool is_sellable = k > 0 && strcmp(field(words, k - 1), "sellable_ms") == 0;

            print_sellable("", strtoll(field(words, k), NULL, 10), text, sizeof text);
            (void)fprintf(out, "%s%s", k > 0 ? " " : "", is_sellable ? text : field(words, k));
        }
        (void)fputs("\n", out);
    }
    lk_reply_free(rows);
}

static char *real_state(const struct play *play)
{
    lk_client *client = play->subject->client;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out) abort();
    print_sale(play, out);
    lk_reply *stock = sale_ask(client, "GET %s", play->keys.text[KEY_STOCK]);
    if (lk_reply_bytes(stock).data) (void)fprintf(out, "stock: %s\n", lk_reply_bytes(stock).data);
    lk_reply_free(stock);
    print_orders(play, out);
    print_void_marks(play, out);
    print_ledger(play, out);
    bool is_held = sale_ask_number(client, "EXISTS %s", play->keys.text[KEY_LOCK]) == 1;
    (void)fprintf(out, "lock: %s\n", is_held ? "held" : "free");
    (void)fclose(out);
    return text;
}

/* ---- one sequence ------------------------------------------------------------------------------------ */

/* Do steps on a fresh sale; false with the reason as text when it differs from the model. */
static bool play_once(const struct subject *subject, const struct model_step *steps, size_t count,
                      char *why, size_t why_size)
{
    static unsigned plays;
    static char expected[MODEL_TEXT];
    static struct model model;
    struct play play = {.subject = subject, .model = &model};
    char id[24];
    bool is_same = true;

    (void)snprintf(id, sizeof id, "play-%u", plays++);
    sale_keys_make(id, &play.keys);
    model_init(&model);
    for (size_t i = 0; i < MODEL_HANDLES; i++)
        play.handles[i] = lk_mutex_new(subject->client, play.keys.text[KEY_LOCK], NULL);
    for (size_t i = 0; i < count && is_same; i++) {
        char wanted[ANSWER];
        char got[ANSWER];

        do_step(&play, &steps[i], got);
        model_do(&model, &steps[i], wanted, sizeof wanted);
        is_same = strcmp(got, wanted) == 0;
        if (!is_same) (void)snprintf(why, why_size, "answer: %s\nmodel:  %s", got, wanted);
    }
    char *real = real_state(&play);
    model_state(&model, expected, sizeof expected);
    if (is_same && strcmp(real, expected) != 0) {
        is_same = false;
        (void)snprintf(why, why_size, "keys:\n%s\nmodel:\n%s", real, expected);
    }
    free(real);
    for (size_t i = 0; i < MODEL_HANDLES; i++)
        lk_lock_free(play.handles[i]);
    do_wipe(&play);
    (void)sale_do(subject->client, "DEL %s", play.keys.text[KEY_LOCK]);
    return is_same;
}

/* A play that took so long, or whose clock was set, says nothing of what still cools: once more. */
static bool agree(const struct subject *subject, const struct model_step *steps, size_t count,
                  char *why, size_t why_size)
{
    int64_t began_ms = 0;
    int64_t took_ms = PLAY_MS;
    bool is_same = false;

    for (int i = 0; i < 10 && !is_same && (took_ms < 0 || took_ms >= PLAY_MS); i++) {
        began_ms = clock_unix_ms();
        is_same = play_once(subject, steps, count, why, why_size);
        took_ms = clock_unix_ms() - began_ms;
    }
    return is_same;
}

/* Drop steps, last first, while the rest still fails; how many are left. */
static size_t shrink(const struct subject *subject, struct model_step *steps, size_t count,
                     char *why, size_t why_size)
{
    bool has_shrunk = true;

    while (has_shrunk) {
        has_shrunk = false;
        for (size_t i = count; i-- > 0;) {
            struct model_step fewer[STEPS];

            memcpy(fewer, steps, i * sizeof *steps);
            memcpy(fewer + i, steps + i + 1, (count - i - 1) * sizeof *steps);
            if (agree(subject, fewer, count - 1, why, why_size)) continue;
            memcpy(steps, fewer, --count * sizeof *steps);
            has_shrunk = true;
        }
    }
    (void)agree(subject, steps, count, why, why_size);
    return count;
}

static void print_steps(unsigned seed, const struct model_step *steps, size_t count,
                        const char *why)
{
    char line[512];

    print_message("seed %u fails; the shortest steps that do:\n", seed);
    for (size_t i = 0; i < count; i++) {
        model_step_print(&steps[i], line, sizeof line);
        print_message("  %2zu  %s\n", i + 1, line);
    }
    print_message("%s\n", why);
}

/* The first seed that fails, or `limit`; its steps are cut down in place. */
static unsigned first_failure(const struct subject *subject, unsigned limit,
                              struct model_step steps[STEPS], size_t *out_count, char *why,
                              size_t why_size)
{
    for (unsigned seed = 0; seed < limit; seed++) {
        make_steps(seed, steps);
        if (agree(subject, steps, STEPS, why, why_size)) continue;
        *out_count = shrink(subject, steps, STEPS, why, why_size);
        return seed;
    }
    return limit;
}

/* ---- tests -------------------------------------------------------------------------------------------- */

static void open_subject(struct subject *subject, lk_client *client)
{
    *subject = (struct subject){.client = client,
                                .purchase = lk_script_new(app_scripts_named("purchase")),
                                .resolve = lk_script_new(app_scripts_named("resolve")),
                                .create = lk_script_new(app_scripts_named("create_sale")),
                                .end = lk_script_new(app_scripts_named("end_sale")),
                                .restock = lk_script_new(app_scripts_named("restock_sale"))};
    assert_true(subject->purchase && subject->resolve && subject->create && subject->end &&
                subject->restock);
}

static void close_subject(struct subject *subject)
{
    lk_script_free(subject->purchase);
    lk_script_free(subject->resolve);
    lk_script_free(subject->create);
    lk_script_free(subject->end);
    lk_script_free(subject->restock);
}

TEST(the_scripts_do_what_the_model_says, struct world *world)
{
    struct subject subject;
    struct model_step steps[STEPS];
    size_t count = 0;
    static char why[2 * MODEL_TEXT];

    open_subject(&subject, world->client);
    unsigned seed = first_failure(&subject, SEEDS, steps, &count, why, sizeof why);
    close_subject(&subject);
    if (seed < SEEDS) {
        print_steps(seed, steps, count, why);
        fail();
    }
}

/* A change of a script that must be noticed. */
struct mutant {
    const char *script;
    const char *from;
    const char *to;
};

static const struct mutant mutants[] = {
    {"purchase", "left <= cooling", "left < cooling"},
    {"purchase", "left <= cooling", "left == 0"}, /* sold before it has cooled */
    {"purchase", "wait > 0 and", ""},             /* never sold */
    {"purchase", "and wait < 10050", ""},         /* the same, once the clock was set back */
    {"restock_sale", "local sellable = now + ARGV[4]", "local sellable = now"},
    {"restock_sale", "lot = lot + more", "lot = more"},
    {"restock_sale", "cool = cool .. at .. ':' .. more .. ' '", "cool = ''"},
    {"restock_sale", "redis.call('SET', KEYS[2], digits(left))", ""},
    {"restock_sale", "'epoch', epoch + 1, 'restocked'", "'epoch', epoch, 'restocked'"},
    {"restock_sale", ", memo, units,", ","},
    {"restock_sale", "sale[6] == units and 2 or -6", "2"},
    {"restock_sale", "sale[1] == 'ended' or ", ""},
    {"purchase", "left = left - 1", "left = left - 2"},
    {"purchase", "fresh[buyer] or held[i]", "held[i]"},
    {"purchase", "fresh[buyer] or held[i]", "fresh[buyer]"},
    {"purchase", "key ~= '' and ", ""},
    {"purchase", "key == held_key", "key ~= held_key"},
    {"purchase", "if order then", "if order and not closed then"},
    {"purchase", "sale[1] == 'ended' or ", ""},
    {"purchase", "now >= ends", "now < ends"},
    {"purchase", "sale[1] == 'paused'", "false"},
    {"purchase", "now < starts", "false"},
    {"purchase", "if left < before", "if true"},
    {"purchase", "redis.call('SET', KEYS[2], left)", ""},
    {"purchase", "redis.call('HSET', KEYS[3], unpack(orders))", ""},
    {"purchase", "if not sale[1] then return {-1, 0, 0} end", ""},
    {"purchase", "answers[1] = left", "answers[1] = before"},
    {"purchase", "tonumber(sale[4])}", "0}"},
    {"purchase", "if void and tonumber(void) >=", "if false and tonumber(void) >="},
    {"purchase", "tonumber(void) >= tonumber", "tonumber(void) > tonumber"},
    {"purchase", "'HGET', KEYS[5], ARGV[2]", "'HGET', KEYS[5], 'here.1'"},
    {"resolve", "redis.call('HSET', KEYS[1], ARGV[1], void)", ""},
    {"resolve", "not void or tonumber(void) < tonumber(ARGV[2])", "true"},     /* lowers the mark */
    {"resolve", "not void or tonumber(void) < tonumber(ARGV[2])", "not void"}, /* never raises it */
    {"resolve", "tonumber(void) < tonumber(ARGV[2])", "void < ARGV[2]"},
    {"resolve", "unpack(ARGV, 3)", "unpack(ARGV, 2)"},
    {"create_sale", " > 0 then return {0", " > 3 then return {0"},
    {"create_sale", "starts == '0'", "false"},
    {"end_sale", "~= 'ended'", "~= ''"},
    {"end_sale", "{1, epoch}", "{1, 0}"},
    {"end_sale", "redis.call('HSET', KEYS[1], 'state', 'ended')", ""},
};

/* The script with its first `from` replaced; yours to free. */
static lk_script *mutate(const struct mutant *mutant)
{
    const char *source = app_scripts_named(mutant->script)->source;
    const char *at = strstr(source, mutant->from);
    char *text = NULL;
    lk_script *script = NULL;

    if (!at) fail_msg("%s.lua has no \"%s\" any more", mutant->script, mutant->from);
    if (asprintf(&text, "%.*s%s%s", (int)(at - source), source, mutant->to,
                 at + strlen(mutant->from)) >= 0) {
        script = lk_script_new(&(struct lk_script_source){.name = "mutant", .source = text});
    }
    free(text);
    assert_non_null(script);
    return script;
}

static void put_in(struct subject *subject, const struct mutant *mutant)
{
    lk_script **place = &subject->purchase;

    if (strcmp(mutant->script, "resolve") == 0) place = &subject->resolve;
    if (strcmp(mutant->script, "create_sale") == 0) place = &subject->create;
    if (strcmp(mutant->script, "end_sale") == 0) place = &subject->end;
    if (strcmp(mutant->script, "restock_sale") == 0) place = &subject->restock;
    lk_script_free(*place);
    *place = mutate(mutant);
}

/* The model is worth something only if it sees what is wrong. */
TEST(every_mutant_is_found_and_cut_down_to_few_steps, struct world *world)
{
    static char why[2 * MODEL_TEXT];

    for (size_t i = 0; i <= sizeof mutants / sizeof mutants[0]; i++) {
        bool is_unguarded = i == sizeof mutants / sizeof mutants[0];
        struct subject subject;
        struct model_step steps[STEPS];
        size_t count = 0;

        open_subject(&subject, world->client);
        subject.is_unguarded = is_unguarded;
        if (!is_unguarded) put_in(&subject, &mutants[i]);
        unsigned seed = first_failure(&subject, SEEDS, steps, &count, why, sizeof why);
        close_subject(&subject);
        if (seed == SEEDS) fail_msg("mutant %zu was not found", i);
        if (count > 8) print_steps(seed, steps, count, why);
        assert_true(count <= 8);
    }
}

static int open_world(void **state)
{
    struct world *world = calloc(1, sizeof *world);

    if (!world) return -1;
    *state = world;
    if (!sale_server_start(&world->server)) return -1;
    world->client = sale_connect(&world->server, 4, SALE_GENEROUS_MS);
    return world->client ? 0 : -1;
}

static int close_world(void **state)
{
    struct world *world = *state;

    lk_client_close(world->client);
    sale_server_remove(&world->server);
    free(world);
    return 0;
}

GROUP(open_world, close_world);
