/*
 * The sale's scripts on a real Redis against the reference model (sale_model.h): random steps over
 * small domains, the answer compared after each step and all keys at the end. A sequence that fails
 * is cut down to the shortest that still does, and printed with its seed.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "store/app_scripts.h"
#include "test/support/sale_model.h"
#include "test/support/script_world.h"
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

static bool is_unguarded; /* a mutant: whoever holds the lock, the script runs */

/* One sequence on its way: the real thing. */
struct play {
    struct script_world *world; /* whose keys are the play's */
    const struct model *model;  /* before the step */
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

/* Moments are told as words: how far away they are changes from run to run. */
static const char *sellable_of(int64_t at_ms)
{
    int64_t in_ms = at_ms - clock_unix_ms();

    return in_ms > COOL_MS - 1000 && in_ms <= COOL_MS + 50 && at_ms % 50 == 0 ? "later" : "?";
}

static const char *wait_of(int64_t wait_ms)
{
    if (wait_ms == 0) return "now";
    return wait_ms > HOUR_MS / 2 && wait_ms <= HOUR_MS ? "later" : "?";
}

/* The words of an answer, or why there is none. */
static void print_answer(enum script_name script, struct script_answer *got, char *answer)
{
    FILE *out = fmemopen(answer, ANSWER, "w");

    if (!out) abort();
    if (got->status != LK_OK)
        (void)fputs(got->status == LK_SERVER ? got->err.text : lk_status_name(got->status), out);
    for (size_t i = 0; i < lk_reply_count(got->reply); i++) {
        const lk_reply *part = lk_reply_at(got->reply, i);

        if (i > 0) (void)fputc(' ', out);
        if (script == PURCHASE && i == 1) {
            (void)fputs(wait_of(lk_reply_integer(part, -1)), out);
        } else if (script == RESTOCK && i == 2) {
            (void)fputs(sellable_of(lk_reply_integer(part, -1)), out);
        } else {
            sale_print(out, part);
        }
    }
    (void)fclose(out);
    lk_reply_free(got->reply);
}

/* lk_mutex_run() with a lock of its own, as the guard does it. */
static lk_status run_once(const struct play *play, const struct lk_eval *eval,
                          struct script_answer *out)
{
    lk_lock *lock = lk_mutex_new(play->world->client, play->world->keys.text[KEY_LOCK], &out->err);

    if (!lock) return LK_NO_MEMORY;
    lk_status status = lk_mutex_run(lock, &(struct lk_lock_options){.lease_ms = LEASE_MS}, eval,
                                    &out->reply, &out->err);
    lk_lock_free(lock);
    return status;
}

/* The script with these arguments, "," between them, as the step says; whether it was answered. */
static bool run(struct play *play, const struct model_step *step, enum script_name script,
                char *text, char *answer)
{
    struct script_answer got = {.reply = NULL};
    struct lk_bytes args[SCRIPT_ARGS_MAX];
    struct lk_bytes keys[SCRIPT_KEYS_MAX];
    size_t count = script_split(text, args);
    const struct lk_eval eval = script_eval(play->world, script, args, count, keys);

    if (step->kind == STEP_RUN) {
        got.status = run_once(play, &eval, &got);
    } else if (step->kind == STEP_GUARDED && !is_unguarded) {
        got.status = lk_guarded_eval(play->handles[step->handle], &eval, 0, &got.reply, &got.err);
    } else {
        got.status = lk_client_eval(play->world->client, &eval, 0, &got.reply, &got.err);
    }
    print_answer(script, &got, answer);
    return got.status == LK_OK;
}

static void do_create(struct play *play, const struct model_step *step, char *answer)
{
    int64_t now_ms = clock_unix_ms();
    const int64_t starts_ms[] = {0, now_ms - HOUR_MS, now_ms + HOUR_MS, now_ms - HOUR_MS - HOUR_MS};
    const int64_t ends_ms[] = {0, now_ms + HOUR_MS, now_ms + HOUR_MS + HOUR_MS, now_ms - HOUR_MS};
    char args[ANSWER];

    (void)snprintf(args, sizeof args, "here,a title,%u,%" PRId64 ",%" PRId64 ",mutex", step->stock,
                   starts_ms[step->window], ends_ms[step->window]);
    if (!run(play, step, CREATE, args, answer) || answer[0] != '1') return;
    play->starts_ms = starts_ms[step->window];
    play->ends_ms = ends_ms[step->window];
    play->created_ms = now_ms;
}

static void do_restock(struct play *play, const struct model_step *step, char *answer)
{
    char args[ANSWER];

    (void)snprintf(args, sizeof args, "here,%u,%s,%u", 1 + step->stock,
                   model_key(step->wishes[0].key),
                   COOL_MS - 50 * (step->number % 8)); /* several lots */
    (void)run(play, step, RESTOCK, args, answer);
}

/* Time passes for what cools; or the server's clock is set back, by more than anything can cool. */
static void do_cooled(struct play *play, const struct model_step *step)
{
    int64_t at_ms = step->number % 2 ? 1000 : clock_unix_ms() + HOUR_MS;

    if (!play->model->has_sale || play->model->cooling == 0) return;
    (void)sale_do(play->world->client, "HSET %s cool %" PRId64 ":%u",
                  play->world->keys.text[KEY_SALE], at_ms, play->model->cooling);
}

static void do_buy(struct play *play, const struct model_step *step, char *answer)
{
    char args[ANSWER];
    size_t len = (size_t)snprintf(args, sizeof args, "here,%s,%u,%zu", model_process(step->process),
                                  step->attempt, step->count);

    for (size_t i = 0; i < step->count; i++) {
        char id[24];

        model_order_id(step, i, id);
        len += (size_t)snprintf(args + len, sizeof args - len, ",%s,%s,%s",
                                model_buyer(step->wishes[i].buyer), id,
                                model_key(step->wishes[i].key));
    }
    (void)run(play, step, PURCHASE, args, answer);
}

static void do_resolve(struct play *play, const struct model_step *step, char *answer)
{
    char args[ANSWER];
    size_t len =
        (size_t)snprintf(args, sizeof args, "%s,%u", model_process(step->process), step->attempt);

    for (size_t i = 0; i < step->count; i++)
        len += (size_t)snprintf(args + len, sizeof args - len, ",%s",
                                model_buyer(step->wishes[i].buyer));
    (void)run(play, step, RESOLVE, args, answer);
}

static void do_state(struct play *play, const char *state)
{
    if (!play->model->has_sale) return;
    (void)sale_do(play->world->client, "HSET %s state %s", play->world->keys.text[KEY_SALE], state);
}

static void do_wipe(struct play *play)
{
    for (size_t i = 0; i < KEY_LOCK; i++)
        (void)sale_do(play->world->client, "DEL %s", play->world->keys.text[i]);
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
        (void)run(play, step, END, (char[]){"here"}, answer);
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
        (void)sale_do(play->world->client, "DEL %s", play->world->keys.text[KEY_SALE]);
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
        (void)sale_do(play->world->client, "DEL %s", play->world->keys.text[KEY_LOCK]);
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

/* When it was ended, if it was; somebody may have opened it again by hand. */
static int64_t ended_fields(const struct play *play)
{
    return sale_ask_number(play->world->client, "HEXISTS %s ended_ms",
                           play->world->keys.text[KEY_SALE]);
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

/* The fields that a hash has of these names; the number of others. */
static int64_t print_hash(const struct play *play, const char *label, const char *key,
                          const char *prefix, const char *(*name_of)(unsigned), unsigned count,
                          FILE *out)
{
    int64_t others = sale_ask_number(play->world->client, "HLEN %s", key);

    for (unsigned i = 0; i < count; i++) {
        lk_reply *reply = sale_ask(play->world->client, "HGET %s %s%s", key, prefix, name_of(i));
        const char *text = lk_reply_bytes(reply).data;

        if (text) (void)fprintf(out, "%s %s: %s\n", label, name_of(i), text);
        others -= text != NULL;
        lk_reply_free(reply);
    }
    return others;
}

/* What restocks have left in the sale, whose other fields are eight. */
static void print_restocked(const struct play *play, FILE *out)
{
    const char *key = play->world->keys.text[KEY_SALE];
    lk_reply *read = sale_ask(play->world->client, "HMGET %s restocked cool", key);
    struct sale sale = {.now_ms = clock_unix_ms()};

    sale_read_lots(&sale, field(read, 1));
    sale_set_stock(&sale, 0);
    (void)fprintf(out, "restocked: %s, %" PRId64 " cooling\n", field(read, 0), sale.cooling);
    lk_reply_free(read);
    if (print_hash(play, "under", key, "restock:", model_key, MODEL_KEYS, out) -
            ended_fields(play) !=
        10)
        (void)fputs("and more fields\n", out);
}

static void print_sale(const struct play *play, FILE *out)
{
    lk_client *client = play->world->client;
    const char *key = play->world->keys.text[KEY_SALE];
    int64_t fields = sale_ask_number(client, "HLEN %s", key);

    if (fields == 0) return;
    lk_reply *sale = sale_ask(client, "HMGET %s title initial state guard epoch", key);
    (void)fprintf(
        out, "sale: %s, initial %s, %s, guard %s, epoch %s, window %s%s\n", field(sale, 0),
        field(sale, 1), field(sale, 2), field(sale, 3), field(sale, 4),
        window_of(play, sale_ask_number(client, "HGET %s starts_ms", key),
                  sale_ask_number(client, "HGET %s ends_ms", key)),
        fields - ended_fields(play) == 8 || play->model->restocked > 0 ? "" : ", and more fields");
    lk_reply_free(sale);
    if (play->model->restocked > 0) print_restocked(play, out);
}

static void print_ledger(const struct play *play, FILE *out)
{
    lk_reply *rows =
        sale_ask(play->world->client, "XRANGE %s - +", play->world->keys.text[KEY_LEDGER]);

    for (size_t i = 0; i < lk_reply_count(rows); i++) {
        const lk_reply *words = lk_reply_at(lk_reply_at(rows, i), 1);

        for (size_t k = 0; k < lk_reply_count(words); k++) {
            const char *word = field(words, k);

            if (k > 0 && strcmp(field(words, k - 1), "sellable_ms") == 0)
                word = sellable_of(strtoll(word, NULL, 10));
            (void)fprintf(out, "%s%s", k > 0 ? " " : "", word);
        }
        (void)fputs("\n", out);
    }
    lk_reply_free(rows);
}

static char *real_state(const struct play *play)
{
    lk_client *client = play->world->client;
    char(*keys)[SALE_KEY_ROOM] = play->world->keys.text;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out) abort();
    print_sale(play, out);
    lk_reply *stock = sale_ask(client, "GET %s", play->world->keys.text[KEY_STOCK]);
    if (lk_reply_bytes(stock).data) (void)fprintf(out, "stock: %s\n", lk_reply_bytes(stock).data);
    lk_reply_free(stock);
    if (print_hash(play, "order", keys[KEY_ORDERS], "", model_buyer, MODEL_BUYERS, out) != 0 ||
        print_hash(play, "void", keys[KEY_VOID], "", model_process, MODEL_PROCESSES, out) != 0)
        (void)fputs("and more\n", out);
    print_ledger(play, out);
    bool is_held = sale_ask_number(client, "EXISTS %s", play->world->keys.text[KEY_LOCK]) == 1;
    (void)fprintf(out, "lock: %s\n", is_held ? "held" : "free");
    (void)fclose(out);
    return text;
}

/* ---- one sequence ------------------------------------------------------------------------------------ */

/* Do steps on a fresh sale; false with the reason as text when it differs from the model. */
static bool play_once(struct script_world *world, const struct model_step *steps, size_t count,
                      char *why, size_t why_size)
{
    static unsigned plays;
    static char expected[MODEL_TEXT];
    static struct model model;
    struct play play = {.world = world, .model = &model};
    char id[24];
    bool is_same = true;

    (void)snprintf(id, sizeof id, "play-%u", plays++);
    sale_keys_make(id, &world->keys);
    model_init(&model);
    for (size_t i = 0; i < MODEL_HANDLES; i++)
        play.handles[i] = lk_mutex_new(world->client, world->keys.text[KEY_LOCK], NULL);
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
    (void)sale_do(world->client, "DEL %s", world->keys.text[KEY_LOCK]);
    return is_same;
}

/* A play that took so long, or whose clock was set, says nothing of what still cools: once more. */
static bool agree(struct script_world *world, const struct model_step *steps, size_t count,
                  char *why, size_t why_size)
{
    int64_t began_ms = 0;
    int64_t took_ms = PLAY_MS;
    bool is_same = false;

    for (int i = 0; i < 10 && !is_same && (took_ms < 0 || took_ms >= PLAY_MS); i++) {
        began_ms = clock_unix_ms();
        is_same = play_once(world, steps, count, why, why_size);
        took_ms = clock_unix_ms() - began_ms;
    }
    return is_same;
}

/* Drop steps, last first, while the rest still fails; how many are left. */
static size_t shrink(struct script_world *world, struct model_step *steps, size_t count, char *why,
                     size_t why_size)
{
    bool has_shrunk = true;

    while (has_shrunk) {
        has_shrunk = false;
        for (size_t i = count; i-- > 0;) {
            struct model_step fewer[STEPS];

            memcpy(fewer, steps, i * sizeof *steps);
            memcpy(fewer + i, steps + i + 1, (count - i - 1) * sizeof *steps);
            if (agree(world, fewer, count - 1, why, why_size)) continue;
            memcpy(steps, fewer, --count * sizeof *steps);
            has_shrunk = true;
        }
    }
    (void)agree(world, steps, count, why, why_size);
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
static unsigned first_failure(struct script_world *world, unsigned limit,
                              struct model_step steps[STEPS], size_t *out_count, char *why,
                              size_t why_size)
{
    for (unsigned seed = 0; seed < limit; seed++) {
        make_steps(seed, steps);
        if (agree(world, steps, STEPS, why, why_size)) continue;
        *out_count = shrink(world, steps, STEPS, why, why_size);
        return seed;
    }
    return limit;
}

TEST(the_scripts_do_what_the_model_says, struct script_world *world)
{
    struct model_step steps[STEPS];
    size_t count = 0;
    static char why[2 * MODEL_TEXT];

    unsigned seed = first_failure(world, SEEDS, steps, &count, why, sizeof why);
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

/* It shows in two restocks within 50 ms alone; cut down, on a slow machine, they may lie further apart. */
static bool is_of_one_lot(const struct mutant *mutant)
{
    return strcmp(mutant->to, "lot = more") == 0;
}

/* The model is worth something only if it sees what is wrong. */
TEST(every_mutant_is_found_and_cut_down_to_few_steps, struct script_world *world)
{
    enum { COUNT = sizeof mutants / sizeof mutants[0] };
    static char why[2 * MODEL_TEXT];

    for (size_t i = 0; i <= COUNT; i++) {
        struct script_world other = *world;
        struct model_step steps[STEPS];
        size_t count = 0;
        lk_script *mutant = NULL;

        is_unguarded = i == COUNT;
        if (!is_unguarded)
            other.script[script_named(mutants[i].script)] = mutant = mutate(&mutants[i]);
        unsigned seed = first_failure(&other, SEEDS, steps, &count, why, sizeof why);
        lk_script_free(mutant);
        is_unguarded = false;
        if (seed == SEEDS) fail_msg("mutant %zu was not found", i);
        bool is_short = count <= 8 || (i < COUNT && is_of_one_lot(&mutants[i]));
        if (!is_short) print_steps(seed, steps, count, why);
        assert_true(is_short);
    }
}

GROUP(script_world_open, script_world_close);
