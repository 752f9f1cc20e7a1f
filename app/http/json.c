/*
 * JSON of the API. Runs on civetweb's threads, shares nothing.
 *
 * Jansson takes the last of two equal members and ignores unknown ones unless told otherwise; here
 * every member is looked up in a table, and what is not in it is refused by name.
 */
#include "json.h"

#include <string.h>

#include "base/clock.h"
#include "base/rfc3339.h"
#include "base/utf8.h"
#include "guards/guards.h"
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

bool json_read_sale(const char *body, size_t len, void *out, struct json_error *error)
{
    static const struct member members[] = {
        {"id", read_id, true},
        {"stock", read_stock, true},
        {"title", read_title, false},
        {"startsAt", read_starts_at, false},
        {"endsAt", read_ends_at, false},
        {"guard", read_guard, false},
        {0},
    };
    struct sale sale = {0};

    if (!read_object(body, len, members, &sale, error)) return false;
    if (sale.ends_ms && sale.ends_ms <= sale.starts_ms)
        return refuse(error, "endsAt", "It has to come after startsAt.");
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

bool json_read_guard(const char *body, size_t len, void *out, struct json_error *error)
{
    static const struct member members[] = {{"guard", read_guard, true}, {0}};
    struct sale sale = {0};

    if (!read_object(body, len, members, &sale, error)) return false;
    (void)stpcpy(out, sale.guard);
    return true;
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

static const char *refuse_stock(const json_t *value, void *out)
{
    (void)value;
    (void)out;
    return "It cannot be changed; a restock adds units.";
}

bool json_read_patch(const char *body, size_t len, void *out, struct json_error *error)
{
    static const struct member members[] = {
        {"title", read_new_title, false},
        {"startsAt", read_new_start, false},
        {"endsAt", read_new_end, false},
        {"stock", refuse_stock, false},
        {0},
    };

    struct json_patch *patch = out;

    *patch = (struct json_patch){.patch = {.starts_ms = -1, .ends_ms = -1}};
    if (!read_object(body, len, members, out, error)) return false;
    if (!patch->patch.title && patch->patch.starts_ms < 0 && patch->patch.ends_ms < 0)
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

static json_t *sale_object(const struct sale *sale, enum json_view view)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:i, s:I, s:o}", "id", sale->id,
                  "title", sale->title, "state", sale_state_name(sale_state_of(sale)), "startsAt",
                  moment_or_null(sale->starts_ms), "endsAt", moment_or_null(sale->ends_ms),
                  "initialStock", (json_int_t)sale->initial, "restocked",
                  (json_int_t)sale->restocked, "remaining", (json_int_t)sale->left, "perUserLimit",
                  1, "epoch", (json_int_t)sale->epoch, "serverTime", moment_or_null(sale->now_ms));

    if (!object || view != JSON_FOR_OPERATORS) return object;
    (void)json_object_set_new(object, "guard", json_string(sale->guard)); /* else: left out */
    if (sale->guard_here)
        (void)json_object_set_new(object, "guardHere", json_string(sale->guard_here));
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
        number_or_null(is->orders), "remaining", number_or_null(is->left), "initialStock",
        number_or_null(is->initial), "restocked", number_or_null(is->restocked), "oversoldUnits",
        number_or_null(audit->oversold), "epoch", number_or_null(is->epoch), "ledger", "entries",
        number_or_null(is->entries), "lastLeft", number_or_null(is->last_left), "lastEpoch",
        number_or_null(is->last_epoch), "checks", checks_array(audit)));
}
