/*
 * See sale_model.h. One thread.
 */
#include "sale_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const buyers[MODEL_BUYERS] = {"ann", "Bob", "c-3", "d_4", "E5"};
static const char *const keys[MODEL_KEYS] = {"", "k1", "K.2", "-"};
static const char *const processes[MODEL_PROCESSES] = {"here.1", "there.2"};
static const char *const windows[WINDOW_KINDS] = {[WINDOW_NOW] = "from now",
                                                  [WINDOW_OPEN] = "open",
                                                  [WINDOW_FUTURE] = "future",
                                                  [WINDOW_PAST] = "past"};

const char *model_buyer(unsigned buyer)
{
    return buyers[buyer];
}

const char *model_key(unsigned key)
{
    return keys[key];
}

const char *model_process(unsigned process)
{
    return processes[process];
}

void model_order_id(const struct model_step *step, size_t wish, char out[24])
{
    (void)snprintf(out, 24, "%u", 1000 + step->number * 10 + (unsigned)wish);
}

/* Append to a text; what does not fit is cut. */
__attribute__((format(printf, 3, 4))) static void add(char *text, size_t size, const char *format,
                                                      ...)
{
    size_t len = strlen(text);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text + len, size - len, format, args);
    va_end(args);
}

void model_init(struct model *model)
{
    *model = (struct model){.holder = -1};
    for (size_t i = 0; i < MODEL_PROCESSES; i++)
        model->void_marks[i] = -1;
}

/* ---- sales ------------------------------------------------------------------------------------- */

static const char *create(struct model *model, const struct model_step *step)
{
    if (model->has_sale || model->has_parts) return "0 0";
    model->has_sale = true;
    model->has_parts = true;
    model->state = "open";
    model->window = step->window;
    model->initial = step->stock;
    model->stock = step->stock;
    model->epoch = 1;
    add(model->ledger, sizeof model->ledger, "event created by here epoch 1 left %u initial %u\n",
        step->stock, step->stock);
    return "1 1";
}

static void end(struct model *model, char *answer, size_t size)
{
    if (!model->has_sale) {
        add(answer, size, "0 0");
        return;
    }
    if (strcmp(model->state, "ended") != 0) {
        model->state = "ended";
        add(model->ledger, sizeof model->ledger, "event ended by here epoch %u left %u\n",
            model->epoch, model->stock);
    }
    add(answer, size, "1 %u", model->epoch);
}

static void restock(struct model *model, const struct model_step *step, char *answer, size_t size)
{
    unsigned units = 1 + step->stock;
    unsigned key = step->wishes[0].key;
    char memo = (char)('0' + units);

    if (key == 0) {
        add(answer, size, "BADARGS the key");
    } else if (!model->has_sale) {
        add(answer, size, "0 0");
    } else if (model->memo[key]) {
        add(answer, size, "%d %u", model->memo[key] == memo ? 2 : -6, model->epoch);
    } else if (strcmp(model->state, "ended") == 0 || model->window == WINDOW_PAST) {
        add(answer, size, "-1 %u", model->epoch);
    } else {
        model->memo[key] = memo;
        model->stock += units;
        model->cooling += units;
        model->restocked += units;
        add(answer, size, "1 %u later", ++model->epoch);
        add(model->ledger, sizeof model->ledger,
            "event restocked by here epoch %u left %u units %u key %s sellable_ms later\n",
            model->epoch, model->stock, units, keys[key]);
    }
}

static const char *set_state(struct model *model, const char *state)
{
    if (model->has_sale) model->state = state;
    return "";
}

static const char *wipe(struct model *model)
{
    int holder = model->holder;
    bool is_held[MODEL_HANDLES];

    memcpy(is_held, model->is_held, sizeof is_held);
    model_init(model);
    model->holder = holder;
    memcpy(model->is_held, is_held, sizeof is_held);
    return "";
}

/* ---- purchases ----------------------------------------------------------------------------------- */

/* The letter that refuses everybody without an order, or '\0'. */
static char closed_by(const struct model *model)
{
    if (strcmp(model->state, "ended") == 0 || model->window == WINDOW_PAST) return 'E';
    if (strcmp(model->state, "paused") == 0) return 'P';
    return model->window == WINDOW_FUTURE ? 'N' : '\0';
}

static void buy(struct model *model, const struct model_step *step, char *answer, size_t size)
{
    char rows[512] = "";
    char each[512] = "";

    if (model->void_marks[step->process] >= (int)step->attempt) {
        add(answer, size, "VOID this attempt was given up");
        return;
    }
    if (!model->has_sale) {
        add(answer, size, "-1 now 0");
        return;
    }
    for (size_t i = 0; i < step->count; i++) {
        unsigned buyer = step->wishes[i].buyer;
        unsigned key = step->wishes[i].key;
        char *held = model->orders[buyer].id;
        char closed = closed_by(model);

        if (held[0]) {
            bool is_same = key > 0 && key == model->orders[buyer].key;
            add(each, sizeof each, " %c%s", is_same ? 'R' : 'A', held);
        } else if (closed) {
            add(each, sizeof each, " %c", closed);
        } else if (model->stock <= model->cooling) {
            add(each, sizeof each, " S");
        } else {
            model->stock--;
            model_order_id(step, i, held);
            model->orders[buyer].key = key;
            add(rows, sizeof rows, " order %s:%s:%s", held, buyers[buyer], keys[key]);
            add(each, sizeof each, " C");
        }
    }
    add(answer, size, "%u %s %u%s", model->stock, model->window == WINDOW_FUTURE ? "later" : "now",
        model->epoch, each);
    if (rows[0]) {
        add(model->ledger, sizeof model->ledger, "event sold by here epoch %u left %u%s\n",
            model->epoch, model->stock, rows);
    }
}

static void resolve(struct model *model, const struct model_step *step, char *answer, size_t size)
{
    int *mark = &model->void_marks[step->process];

    if (*mark < (int)step->attempt) *mark = (int)step->attempt;
    for (size_t i = 0; i < step->count; i++) {
        unsigned buyer = step->wishes[i].buyer;
        const char *id = model->orders[buyer].id;

        if (id[0]) {
            add(answer, size, "%s%s:held:%s", i > 0 ? " " : "", id, keys[model->orders[buyer].key]);
        } else {
            add(answer, size, i > 0 ? " nil" : "nil");
        }
    }
}

/* ---- locks ----------------------------------------------------------------------------------------- */

static const char *acquire(struct model *model, unsigned handle)
{
    if (model->is_held[handle]) return "invalid";
    if (model->holder >= 0) return "busy";
    model->holder = (int)handle;
    model->is_held[handle] = true;
    return "ok";
}

static const char *release(struct model *model, unsigned handle)
{
    bool was_held = model->is_held[handle];

    model->is_held[handle] = false;
    if (!was_held) return "ok"; /* nothing to release */
    if (model->holder != (int)handle) return "not-owner";
    model->holder = -1;
    return "ok";
}

static const char *guarded(struct model *model, const struct model_step *step, char *answer,
                           size_t size)
{
    if (!model->is_held[step->handle]) return "invalid";
    if (model->holder != (int)step->handle) return "not-owner";
    buy(model, step, answer, size);
    return "";
}

static const char *run(struct model *model, const struct model_step *step, char *answer,
                       size_t size)
{
    if (model->holder >= 0) return "busy";
    buy(model, step, answer, size);
    return "";
}

void model_do(struct model *model, const struct model_step *step, char *answer, size_t size)
{
    const char *word = "";

    answer[0] = '\0';
    switch (step->kind) {
    case STEP_CREATE:
        word = create(model, step);
        break;
    case STEP_END:
        end(model, answer, size);
        break;
    case STEP_RESTOCK:
        restock(model, step, answer, size);
        break;
    case STEP_COOLED:
        model->cooling = 0;
        break;
    case STEP_PAUSE:
        word = set_state(model, "paused");
        break;
    case STEP_REOPEN:
        word = set_state(model, "open");
        break;
    case STEP_VANISH:
        model->has_sale = false;
        break;
    case STEP_WIPE:
        word = wipe(model);
        break;
    case STEP_ACQUIRE:
        word = acquire(model, step->handle);
        break;
    case STEP_RELEASE:
        word = release(model, step->handle);
        break;
    case STEP_EXPIRE:
        model->holder = -1;
        break;
    case STEP_RESOLVE:
        resolve(model, step, answer, size);
        break;
    case STEP_BUY:
        buy(model, step, answer, size);
        break;
    case STEP_GUARDED:
        word = guarded(model, step, answer, size);
        break;
    case STEP_RUN:
        word = run(model, step, answer, size);
        break;
    case STEP_KINDS:
        break;
    }
    add(answer, size, "%s", word);
}

/* ---- texts ------------------------------------------------------------------------------------------- */

void model_state(const struct model *model, char *out, size_t size)
{
    out[0] = '\0';
    if (model->has_sale) {
        add(out, size, "sale: a title, initial %u, %s, guard mutex, epoch %u, window %s\n",
            model->initial, model->state, model->epoch, windows[model->window]);
        if (model->restocked > 0)
            add(out, size, "restocked: %u, %u cooling\n", model->restocked, model->cooling);
        for (unsigned i = 1; i < MODEL_KEYS; i++)
            if (model->memo[i]) add(out, size, "under %s: %c\n", keys[i], model->memo[i]);
    }
    if (model->has_parts) add(out, size, "stock: %u\n", model->stock);
    for (unsigned i = 0; i < MODEL_BUYERS; i++) {
        if (!model->orders[i].id[0]) continue;
        add(out, size, "order %s: %s:held:%s\n", buyers[i], model->orders[i].id,
            keys[model->orders[i].key]);
    }
    for (unsigned i = 0; i < MODEL_PROCESSES; i++) {
        if (model->void_marks[i] < 0) continue;
        add(out, size, "void %s: %d\n", processes[i], model->void_marks[i]);
    }
    add(out, size, "%slock: %s\n", model->ledger, model->holder >= 0 ? "held" : "free");
}

void model_step_print(const struct model_step *step, char *out, size_t size)
{
    static const char *const names[] = {
#define STEP_NAME(value, name) [value] = (name),
        STEP_LIST(STEP_NAME)
#undef STEP_NAME
    };

    out[0] = '\0';
    add(out, size, "%s", names[step->kind]);
    if (step->kind == STEP_CREATE) {
        add(out, size, " stock %u, window %s", step->stock, windows[step->window]);
    }
    if (step->kind == STEP_RESTOCK)
        add(out, size, " %u units, key \"%s\"", 1 + step->stock, keys[step->wishes[0].key]);
    if (step->kind == STEP_ACQUIRE || step->kind == STEP_RELEASE || step->kind == STEP_GUARDED) {
        add(out, size, " by handle %u", step->handle);
    }
    if (step->kind >= STEP_RESOLVE) {
        add(out, size, " in %s, attempt %u", processes[step->process], step->attempt);
    }
    for (size_t i = 0; step->kind >= STEP_RESOLVE && i < step->count; i++) {
        char id[24];

        model_order_id(step, i, id);
        add(out, size, " (%s, \"%s\", id %s)", buyers[step->wishes[i].buyer],
            keys[step->wishes[i].key], id);
    }
}
