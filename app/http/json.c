/*
 * JSON of the API. Runs on civetweb's threads, shares nothing.
 *
 * Jansson takes the last of two equal members and ignores unknown ones unless told otherwise; here
 * every member is looked up in a table, and what is not in it is refused by name.
 */
#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/rfc3339.h"
#include "common/utf8.h"
#include "guards/guards.h"
#include "sale/segment.h"
#include "strict_json.h"

/* Reads one member into `out`; gives NULL, or why not (static). */
typedef const char *(*member_reader)(const json_t *value, void *out);

struct member {
    const char *name;
    member_reader read;
    bool is_needed;
};

static bool refuse(struct json_error *error, const char *field, const char *detail)
{
    size_t len = utf8_cut(field, sizeof error->field - 1); /* so much of a name is enough */

    memcpy(error->field, field, len);
    error->field[len] = '\0';
    error->detail = detail;
    return false;
}

/* Jansson names the second of two equal members as: duplicate object key near '"qty"' */
static bool refuse_syntax(struct json_error *error, const json_error_t *from)
{
    const char *quote = strchr(from->text, '"');
    char name[sizeof error->field] = "body";

    if (json_error_code(from) == json_error_stack_overflow)
        return refuse(error, "body", "The body is nested too deeply.");
    if (json_error_code(from) != json_error_duplicate_key)
        return refuse(error, "body", "The body is no JSON object.");
    if (quote && strcspn(quote + 1, "\"") < sizeof name) {
        size_t len = strcspn(quote + 1, "\"");

        memcpy(name, quote + 1, len);
        name[len] = '\0';
    }
    return refuse(error, name, "This member comes twice.");
}

static const struct member *find_member(const struct member *members, const char *name)
{
    for (; members->name; members++) {
        if (strcmp(members->name, name) == 0) return members;
    }
    return NULL;
}

static bool read_members(json_t *object, const struct member *members, void *out,
                         struct json_error *error)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach(object, name, value)
    {
        const struct member *member = find_member(members, name);
        const char *wrong = member ? member->read(value, out) : "This member is not known here.";

        if (wrong) return refuse(error, name, wrong);
    }
    for (; members->name; members++) {
        if (members->is_needed && !json_object_get(object, members->name))
            return refuse(error, members->name, "This member is missing.");
    }
    return true;
}

static bool read_object(const char *body, size_t len, const struct member *members, void *out,
                        struct json_error *error)
{
    json_error_t syntax;
    json_t *root = strict_json_load(body, len, &syntax);
    bool good = false;

    if (!root) return refuse_syntax(error, &syntax);
    good = json_is_object(root) ? read_members(root, members, out, error)
                                : refuse(error, "body", "The body is no JSON object.");
    json_decref(root);
    return good;
}

/* ---- purchases ------------------------------------------------------------------------------- */

static const char *read_qty(const json_t *value, void *out)
{
    (void)out; /* there is one valid quantity */
    return json_is_integer(value) && json_integer_value(value) == 1 ? NULL : "It has to be 1.";
}

bool json_read_purchase(const char *body, size_t len, void *out, struct json_error *error)
{
    static const char usual[] = "{\"qty\":1}";
    static const struct member members[] = {{"qty", read_qty, false}, {0}};

    if (len == 0 || (len == 2 && memcmp(body, "{}", 2) == 0)) return true;
    if (len == sizeof usual - 1 && memcmp(body, usual, len) == 0) return true;
    return read_object(body, len, members, out, error);
}

/* ---- sales in -------------------------------------------------------------------------------- */

static const char *read_id(const json_t *value, void *out)
{
    struct sale *sale = out;

    if (!json_is_string(value) || json_string_length(value) > SALE_ID_MAX ||
        !sale_id_is_valid(json_string_value(value)))
        return "It has to be 1 to 40 of a-z 0-9 -.";
    (void)stpcpy(sale->id, json_string_value(value));
    return NULL;
}

static const char *read_title(const json_t *value, void *out)
{
    struct sale *sale = out;

    if (!json_is_string(value) || json_string_length(value) == 0 ||
        json_string_length(value) > SALE_TITLE_MAX)
        return "It has to be a text of 1 to 200 bytes.";
    (void)stpcpy(sale->title, json_string_value(value));
    return NULL;
}

static const char *read_stock(const json_t *value, void *out)
{
    struct sale *sale = out;

    if (!json_is_integer(value) || json_integer_value(value) < 1 ||
        json_integer_value(value) > SALE_STOCK_MAX)
        return "It has to be an integer from 1 to 100000000.";
    sale->initial = json_integer_value(value);
    return NULL;
}

static const char *read_moment(const json_t *value, int64_t *out_ms)
{
    static const char wrong[] = "It has to be a moment like 2026-11-20T10:00:00Z.";

    if (json_is_null(value)) return NULL;
    if (!json_is_string(value)) return wrong;
    return rfc3339_parse(json_string_value(value), out_ms) ? NULL : wrong;
}

/* By our clock, to say it early; a script has the last word, by that of Redis. */
static const char *read_end(const json_t *value, int64_t *out_ms)
{
    const char *wrong = read_moment(value, out_ms);

    if (wrong || json_is_null(value)) return wrong;
    return *out_ms > clock_unix_ms() ? NULL : "It has to be in the future.";
}

static const char *read_starts_at(const json_t *value, void *out)
{
    struct sale *sale = out;

    return read_moment(value, &sale->starts_ms);
}

static const char *read_ends_at(const json_t *value, void *out)
{
    struct sale *sale = out;

    return read_end(value, &sale->ends_ms);
}

static const char *read_guard(const json_t *value, void *out)
{
    struct sale *sale = out;

    if (!json_is_string(value) || json_string_length(value) > SALE_GUARD_MAX ||
        !guards_find(json_string_value(value)))
        return "There is no guard of this name.";
    (void)stpcpy(sale->guard, json_string_value(value));
    return NULL;
}

static bool is_integer_in(const json_t *value, json_int_t least, json_int_t most)
{
    return json_is_integer(value) && json_integer_value(value) >= least &&
           json_integer_value(value) <= most;
}

static const char *read_payment(const json_t *value, void *out)
{
    enum { WINDOW_LEAST_MS = 1000, WINDOW_MOST_MS = 86400000 };
    static const json_int_t amount_most = 1000000000000;
    struct sale_payment *payment = &((struct sale *)out)->payment;
    const json_t *window = json_object_get(value, "windowMs");
    const json_t *amount = json_object_get(value, "amount");
    const json_t *currency = json_object_get(value, "currency");
    const char *code = json_is_string(currency) ? json_string_value(currency) : "";

    if (json_is_null(value)) return NULL;
    if (json_object_size(value) != 3 || !is_integer_in(window, WINDOW_LEAST_MS, WINDOW_MOST_MS) ||
        !is_integer_in(amount, 1, amount_most) || strlen(code) != CURRENCY_SIZE - 1 ||
        strspn(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != CURRENCY_SIZE - 1)
        return "It has to be an object of windowMs (1000 to 86400000), amount (1 to 1000000000000, "
               "in the minor unit) and currency (three capital letters).";
    payment->window_ms = json_integer_value(window);
    payment->amount = json_integer_value(amount);
    memcpy(payment->currency, code, CURRENCY_SIZE);
    return NULL;
}

/* The object's members, into what they say; wrong: false. */
static bool read_room(const json_t *value, struct sale_waiting *out)
{
    const json_t *admit = json_object_get(value, "admitPerSecond");
    const json_t *places = json_object_get(value, "places");
    const char *word = places ? json_string_value(places) : "arrival";

    out->is_drawn = word && strcmp(word, "draw") == 0;
    out->admit = json_integer_value(admit);
    return is_integer_in(admit, 1, SALE_ADMIT_MAX) && json_object_size(value) == 1U + !!places &&
           word && (out->is_drawn || strcmp(word, "arrival") == 0);
}

static const char *read_waiting(const json_t *value, void *out)
{
    struct sale_waiting *waiting = &((struct sale *)out)->waiting;

    if (json_is_null(value)) waiting->admit = 0;
    return json_is_null(value) || read_room(value, waiting)
               ? NULL
               : "It has to be an object of admitPerSecond (1 to 1000000), and if you like places "
                 "(arrival or draw).";
}

static const char *read_segments(const json_t *value, void *out)
{
    if (!is_integer_in(value, 1, SALE_SEGMENTS_MAX)) return "It has to be an integer from 1 to 32.";
    ((struct sale *)out)->segments.count = (unsigned)json_integer_value(value);
    return NULL;
}

bool json_read_sale(const char *body, size_t len, void *out, struct json_error *error)
{
    static const struct member members[] = {
        {"id", read_id, true},
        {"stock", read_stock, true},
        {"payment", read_payment, false},
        {"title", read_title, false},
        {"startsAt", read_starts_at, false},
        {"endsAt", read_ends_at, false},
        {"guard", read_guard, false},
        {"waitingRoom", read_waiting, false},
        {"segments", read_segments, false},
        {0},
    };
    struct sale sale = {.waiting = {.admit = -1}};

    if (!read_object(body, len, members, &sale, error)) return false;
    if (sale.ends_ms && sale.ends_ms <= sale.starts_ms)
        return refuse(error, "endsAt", "It has to come after startsAt.");
    if (sale.segments.count > 0 && strlen(sale.id) > SEGMENTED_ID_MAX)
        return refuse(error, "id", "It has to be of at most 28 characters for a sale in segments.");
    if (sale.segments.count > 0 && sale.payment.window_ms > 0)
        return refuse(error, "segments", "A sale that is paid for later has to be in one piece.");
    if (!sale.title[0]) (void)stpcpy(sale.title, sale.id);
    *(struct sale *)out = sale;
    return true;
}

/* ---- operators' steps in ---------------------------------------------------------------------- */

bool json_read_nothing(const char *body, size_t len, void *out, struct json_error *error)
{
    static const struct member members[] = {{0}};

    return len == 0 || read_object(body, len, members, out, error);
}

static const char *read_units(const json_t *value, void *out)
{
    int64_t *units = out;

    if (!json_is_integer(value) || json_integer_value(value) < 1 ||
        json_integer_value(value) > SALE_STOCK_MAX)
        return "It has to be an integer from 1 to 100000000.";
    *units = json_integer_value(value);
    return NULL;
}

bool json_read_restock(const char *body, size_t len, void *out, struct json_error *error)
{
    static const struct member members[] = {{"units", read_units, true}, {0}};

    return read_object(body, len, members, out, error);
}

/* ---- payments in ------------------------------------------------------------------------------- */

static bool is_payment_word(const json_t *value)
{
    return json_is_string(value) && json_string_length(value) <= PAYMENT_ID_MAX &&
           sale_key_is_valid(json_string_value(value));
}

#define READ_TEXT(member)                                                                          \
    static const char *read_event_##member(const json_t *value, void *out)                         \
    {                                                                                              \
        if (!is_payment_word(value)) return "It has to be 1 to 64 of A-Z a-z 0-9 _ . -";           \
        (void)stpcpy(((struct json_event *)out)->member, json_string_value(value));                \
        return NULL;                                                                               \
    }
READ_TEXT(id)
READ_TEXT(payment)
READ_TEXT(sale)
READ_TEXT(order)
READ_TEXT(buyer)
READ_TEXT(currency)
#undef READ_TEXT

/* One of these words, into the event's kind. */
static bool read_kind(const char *text, const char *const words[], struct json_event *out)
{
    out->kind = NULL; /* whatever it was before */
    for (; *words && !out->kind; words++) {
        if (strcmp(text, *words) == 0) out->kind = *words;
    }
    return out->kind != NULL;
}

static const char *read_event_type(const json_t *value, void *out)
{
    static const char *const kinds[] = {"succeeded", "failed", "started", NULL};
    static const char start[] = "payment.";
    const char *type = json_is_string(value) ? json_string_value(value) : "";
    bool is_of_payment = strncmp(type, start, sizeof start - 1) == 0;

    return is_of_payment && read_kind(type + sizeof start - 1, kinds, out)
               ? NULL
               : "It has to be payment.succeeded, payment.failed or payment.started.";
}

static const char *read_refund_state(const json_t *value, void *out)
{
    static const char *const states[] = {"sent", "done", NULL};

    return read_kind(json_is_string(value) ? json_string_value(value) : "", states, out)
               ? NULL
               : "It has to be sent or done.";
}

static const char *read_event_amount(const json_t *value, void *out)
{
    struct json_event *event = out;

    if (!is_integer_in(value, 0, INT64_MAX)) return "It has to be an integer from 0.";
    (void)snprintf(event->amount, sizeof event->amount, "%" PRId64,
                   (int64_t)json_integer_value(value));
    return NULL;
}

bool json_read_event(const char *body, size_t len, void *out, struct json_error *error)
{
    static const struct member members[] = {{"id", read_event_id, true},
                                            {"type", read_event_type, true},
                                            {"payment", read_event_payment, true},
                                            {"sale", read_event_sale, true},
                                            {"order", read_event_order, true},
                                            {"buyer", read_event_buyer, true},
                                            {"amount", read_event_amount, true},
                                            {"currency", read_event_currency, true},
                                            {0}};

    return read_object(body, len, members, out, error);
}

bool json_read_refund(const char *body, size_t len, void *out, struct json_error *error)
{
    static const struct member members[] = {
        {"payment", read_event_payment, true}, {"state", read_refund_state, true}, {0}};

    return read_object(body, len, members, out, error);
}

bool json_read_guard(const char *body, size_t len, void *out, struct json_error *error)
{
    static const struct member members[] = {{"guard", read_guard, true}, {0}};
    struct sale sale = {0};

    if (!read_object(body, len, members, &sale, error)) return false;
    (void)stpcpy(out, sale.guard);
    return true;
}

static const char *read_any_guard(const json_t *value, void *out)
{
    struct json_play *play = out;

    if (!json_is_string(value) || json_string_length(value) > SALE_GUARD_MAX)
        return "There is no guard of this name.";
    (void)stpcpy(play->sale.guard, json_string_value(value));
    return NULL;
}

static const char *read_few_units(const json_t *value, void *out)
{
    if (!is_integer_in(value, 1, JSON_ACTED_UNITS_MAX))
        return "It has to be an integer from 1 to 16.";
    return read_stock(value, out);
}

static const char *read_actors(const json_t *value, void *out)
{
    if (!is_integer_in(value, 1, JSON_ACTORS_MAX)) return "It has to be an integer from 1 to 4.";
    ((struct json_play *)out)->actors = (unsigned)json_integer_value(value);
    return NULL;
}

static const char *read_schedule(const json_t *value, void *out)
{
    if (!json_is_string(value) || json_string_length(value) > JSON_SCHEDULE_MAX)
        return "It has to be a text of up to 128 bytes.";
    (void)stpcpy(((struct json_play *)out)->schedule, json_string_value(value));
    return NULL;
}

bool json_read_play(const char *body, size_t len, void *out, struct json_error *error)
{
    static const struct member members[] = {{"guard", read_any_guard, true},
                                            {"units", read_few_units, false},
                                            {"actors", read_actors, false},
                                            {"schedule", read_schedule, true},
                                            {0}};

    return read_object(body, len, members, out, error);
}

static const char *read_faults(const json_t *value, void *out)
{
    if (!is_integer_in(value, 0, JSON_FAULTS_MAX)) return "It has to be an integer from 0 to 2.";
    ((struct json_search *)out)->faults = (unsigned)json_integer_value(value);
    return NULL;
}

static const char *read_seconds(const json_t *value, void *out)
{
    if (!is_integer_in(value, 1, JSON_SEARCH_SECONDS_MAX))
        return "It has to be an integer from 1 to 5.";
    ((struct json_search *)out)->seconds = (unsigned)json_integer_value(value);
    return NULL;
}

static const char *read_kinds(const json_t *value, void *out)
{
    const char *text = json_string_value(value);

    if (!text || strlen(text) > JSON_KINDS_MAX || text[strspn(text, "tklspr")])
        return "It has to be some of the letters t, k, l, s, p, r.";
    (void)stpcpy(((struct json_search *)out)->kinds, text);
    return NULL;
}

static const char *read_events(const json_t *value, void *out)
{
    if (!json_is_boolean(value)) return "It has to be true or false.";
    ((struct json_search *)out)->events = json_is_true(value);
    return NULL;
}

bool json_read_search(const char *body, size_t len, void *out, struct json_error *error)
{
    static const struct member members[] = {
        {"guard", read_any_guard, true}, {"units", read_few_units, false},
        {"actors", read_actors, false},  {"faults", read_faults, false},
        {"kinds", read_kinds, false},    {"seconds", read_seconds, false},
        {"events", read_events, false},  {0}};

    return read_object(body, len, members, out, error);
}

static const char *read_short_name(const json_t *value, void *out)
{
    if (!json_is_string(value) || json_string_length(value) == 0 ||
        json_string_length(value) > JSON_NAME_MAX)
        return "It has to be a text of 1 to 40 bytes.";
    (void)stpcpy(out, json_string_value(value));
    return NULL;
}

bool json_read_name(const char *body, size_t len, void *out, struct json_error *error)
{
    static const struct member members[] = {{"name", read_short_name, true}, {0}};

    return read_object(body, len, members, out, error);
}

static const char *read_new_title(const json_t *value, void *out)
{
    struct json_patch *patch = out;
    struct sale sale = {0};
    const char *wrong = read_title(value, &sale);

    if (wrong) return wrong;
    memcpy(patch->title, sale.title, sizeof patch->title);
    patch->patch.title = patch->title;
    return NULL;
}

static const char *read_new_start(const json_t *value, void *out)
{
    struct json_patch *patch = out;

    if (json_is_null(value)) return "A sale has to start some time.";
    return read_moment(value, &patch->patch.starts_ms);
}

static const char *read_new_end(const json_t *value, void *out)
{
    struct json_patch *patch = out;

    if (json_is_null(value)) patch->patch.ends_ms = 0;
    return read_end(value, &patch->patch.ends_ms);
}

static const char *read_new_admit(const json_t *value, void *out)
{
    struct sale_waiting waiting = {.admit = 0};

    if (!read_room(value, &waiting) || json_object_size(value) != 1)
        return "It has to be an object of admitPerSecond (1 to 1000000) alone.";
    ((struct json_patch *)out)->patch.admit = waiting.admit;
    return NULL;
}

static const char *refuse_stock(const json_t *value, void *out)
{
    (void)value;
    (void)out;
    return "It cannot be changed; a restock adds units.";
}

bool json_read_patch(const char *body, size_t len, void *out, struct json_error *error)
{
    static const struct member members[] = {
        {"title", read_new_title, false}, {"startsAt", read_new_start, false},
        {"endsAt", read_new_end, false},  {"waitingRoom", read_new_admit, false},
        {"stock", refuse_stock, false},   {0},
    };

    struct json_patch *patch = out;

    *patch = (struct json_patch){.patch = {.starts_ms = -1, .ends_ms = -1}};
    if (!read_object(body, len, members, out, error)) return false;
    if (!patch->patch.title && patch->patch.starts_ms < 0 && patch->patch.ends_ms < 0 &&
        patch->patch.admit == 0)
        return refuse(error, "body", "There is nothing to change in it.");
    return true;
}

/* ---- sales out ------------------------------------------------------------------------------- */

static json_t *moment_or_null(int64_t at_ms)
{
    char text[RFC3339_SIZE];

    if (at_ms == 0) return json_null();
    rfc3339_format(at_ms, text);
    return json_string(text);
}

static void add_payment(json_t *object, const struct sale *sale)
{
    const struct sale_payment *payment = &sale->payment;

    (void)json_object_set_new(
        object, "payment",
        json_pack("{s:I, s:I, s:s}", "windowMs", (json_int_t)payment->window_ms, "amount",
                  (json_int_t)payment->amount, "currency", payment->currency));
    (void)json_object_set_new(object, "held", json_integer(sale->orders - payment->paid));
    (void)json_object_set_new(object, "paid", json_integer(payment->paid));
    (void)json_object_set_new(object, "cancelled", json_integer(payment->cancelled));
    (void)json_object_set_new(object, "expired", json_integer(payment->expired));
}

static void add_waiting(json_t *object, const struct sale *sale, enum json_view view)
{
    const struct sale_waiting *waiting = &sale->waiting;
    json_t *room = json_pack("{s:I, s:s}", "admitPerSecond", (json_int_t)waiting->admit, "places",
                             waiting->is_drawn ? "draw" : "arrival");

    if (view == JSON_FOR_OPERATORS) {
        (void)json_object_set_new(room, "admitted", json_integer(waiting->admitted));
        (void)json_object_set_new(room, "waiting", json_integer(waiting->waiting));
    }
    (void)json_object_set_new(object, "waitingRoom", room);
}

static void add_segments(json_t *object, const struct sale_segments *segments)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < segments->count; i++) {
        const struct sale_segment *one = &segments->each[i];

        (void)json_array_append_new(
            list, json_pack("{s:I, s:I, s:I}", "remaining", (json_int_t)one->left, "orders",
                            (json_int_t)one->orders, "moving", (json_int_t)one->moving.units));
    }
    (void)json_object_set_new(object, "segments", list);
}

static json_t *sale_object(const struct sale *sale, enum json_view view)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:i, s:I, s:o}", "id", sale->id,
                  "title", sale->title, "state", sale_state_name(sale_state_of(sale)), "startsAt",
                  moment_or_null(sale->starts_ms), "endsAt", moment_or_null(sale->ends_ms),
                  "initialStock", (json_int_t)sale->initial, "restocked",
                  (json_int_t)sale->restocked, "remaining", (json_int_t)sale->left, "perUserLimit",
                  1, "epoch", (json_int_t)sale->epoch, "serverTime", moment_or_null(sale->now_ms));

    if (sale->payment.window_ms > 0) add_payment(object, sale);
    if (sale->waiting.admit > 0) add_waiting(object, sale, view);
    if (!object || view != JSON_FOR_OPERATORS) return object;
    (void)json_object_set_new(object, "guard", json_string(sale->guard)); /* else: left out */
    if (sale->guard_here)
        (void)json_object_set_new(object, "guardHere", json_string(sale->guard_here));
    if (sale->segments.count > 0) add_segments(object, &sale->segments);
    if (sale->sellable_ms == 0) return object;
    (void)json_object_set_new(object, "cooling", json_integer(sale->cooling));
    (void)json_object_set_new(object, "sellableAt", moment_or_null(sale->sellable_ms));
    return object;
}

static char *dump(json_t *root)
{
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;

    json_decref(root);
    return text;
}

char *json_of_sale(const struct sale *sale, enum json_view view)
{
    return dump(sale_object(sale, view));
}

/* ---- audits out ------------------------------------------------------------------------------- */

static json_t *number_or_null(int64_t number)
{
    return number == AUDIT_NONE ? json_null() : json_integer(number);
}

static json_t *checks_array(const struct sale_audit *audit)
{
    json_t *list = json_array();

    for (int i = 0; i < AUDIT_CHECK_COUNT; i++) {
        json_t *check = json_pack(
            "{s:s, s:s, s:s}", "name", sale_audit_check_name((enum audit_check)i), "verdict",
            sale_audit_verdict_name(audit->checks[i].verdict), "detail", audit->checks[i].words);

        if (json_array_append_new(list, check) == 0) continue;
        json_decref(list);
        return NULL;
    }
    return list;
}

char *json_of_audit(const struct sale_audit *audit, const char *id, const char *instance)
{
    static const char note[] = "The service's own view of itself. The auditor (audit) judges from "
                               "outside and does not ask the service.";
    const struct audit_reading *is = &audit->reading;

    return dump(json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o, s:o}, s:o}",
        "saleId", id, "view", "service", "instance", instance, "note", note, "at",
        moment_or_null(is->now_ms), "verdict", sale_audit_verdict_name(audit->verdict), "orders",
        number_or_null(is->orders), "remaining",
        number_or_null(is->left == AUDIT_NONE ? AUDIT_NONE : is->left + is->on_way), "initialStock",
        number_or_null(is->initial), "restocked", number_or_null(is->restocked), "oversoldUnits",
        number_or_null(audit->oversold), "epoch", number_or_null(is->epoch), "ledger", "entries",
        number_or_null(is->entries), "lastLeft", number_or_null(is->last_left), "lastEpoch",
        number_or_null(is->last_epoch), "checks", checks_array(audit)));
}
