/*
 * seckillctl sale: the operator's commands, put into requests to the admin port. One thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/rfc3339.h"
#include "ctl.h"

enum { PATH_SIZE = 256 };

/* "2026-11-20 10:00", with or without seconds, or a date: by the clock here. */
static bool read_time_here(const char *text, int64_t *out_ms)
{
    static const char *const forms[] = {"%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d"};

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct tm parts = {.tm_isdst = -1};
        const char *end = strptime(text, forms[i], &parts);
        time_t at_s = end && !*end ? mktime(&parts) : -1;

        if (at_s < 0) continue;
        *out_ms = (int64_t)at_s * 1000;
        return true;
    }
    return false;
}

/* A TIME of the help as JSON; NULL: it is none. */
static json_t *moment_of(const char *text)
{
    char moment[RFC3339_SIZE];
    char *end = NULL;
    int64_t at_ms = 0;

    if (*text == '+') {
        long seconds = strtol(text + 1, &end, 10);

        if (end == text + 1 || *end || seconds < 0) return NULL;
        at_ms = clock_unix_ms() + seconds * 1000;
    } else if (!rfc3339_parse(text, &at_ms) && !read_time_here(text, &at_ms)) {
        return NULL;
    }
    rfc3339_format(at_ms, moment);
    return json_string(moment);
}

static bool add_moment(json_t *sale, const char *name, const char *text)
{
    return !text || json_object_set_new(sale, name, moment_of(text)) == 0; /* NULL is refused */
}

static bool add_text(json_t *sale, const char *name, const char *text)
{
    return !text || json_object_set_new(sale, name, json_string(text)) == 0;
}

/* AMOUNT:CURRENCY:SECONDS; the service judges what they are. */
static bool add_payment(json_t *sale, const char *text)
{
    char *rest = NULL;

    if (!text) return true;
    long long amount = strtoll(text, &rest, 10);
    const char *currency = rest + (*rest == ':');
    size_t len = strcspn(currency, ":");
    const char *seconds = currency + len + (currency[len] == ':');
    double window_s = strtod(seconds, &rest);
    bool is_whole = currency > text + 1 && len > 0 && rest > seconds && *rest == '\0';

    return is_whole &&
           json_object_set_new(sale, "payment",
                               json_pack("{s:I, s:s%, s:I}", "amount", (json_int_t)amount,
                                         "currency", currency, len, "windowMs",
                                         (json_int_t)(window_s * 1000))) == 0;
}

/* "N" or "N:draw"; NULL: nothing is said of a waiting room. */
static bool add_waiting(json_t *sale, const char *text)
{
    char *end = NULL;
    long long admit = text ? strtoll(text, &end, 10) : 0;

    if (!text) return true;
    if (end == text || (*end && strcmp(end, ":draw") != 0)) return false;
    json_t *room = json_pack("{s:I}", "admitPerSecond", (json_int_t)admit);
    if (*end) (void)json_object_set_new(room, "places", json_string("draw"));
    return json_object_set_new(sale, "waitingRoom", room) == 0;
}

/* N; NULL: in one piece. */
static bool add_segments(json_t *sale, const char *text)
{
    char *end = NULL;
    long long count = text ? strtoll(text, &end, 10) : 0;

    return !text ||
           (end > text && !*end && json_object_set_new(sale, "segments", json_integer(count)) == 0);
}

static int create_with(const struct ctl_request *request, json_t *sale)
{
    char *end = NULL;
    long long stock = strtoll(request->stock, &end, 10);
    char *body = NULL;
    int exit_status = CTL_OK;

    if (end == request->stock || *end)
        return ctl_complain("--stock: \"%s\" is no number", request->stock);
    if (!add_text(sale, "id", request->id)) return ctl_complain("\"%s\" is no text", request->id);
    if (!add_text(sale, "title", request->title))
        return ctl_complain("--title: \"%s\" is no UTF-8 text", request->title);
    if (!add_text(sale, "guard", request->guard))
        return ctl_complain("--guard: \"%s\" is no text", request->guard);
    if (!add_payment(sale, request->payment))
        return ctl_complain("--payment: \"%s\" is not AMOUNT:CURRENCY:SECONDS", request->payment);
    if (!add_waiting(sale, request->admit))
        return ctl_complain("--admit: \"%s\" is neither N nor N:draw", request->admit);
    if (!add_segments(sale, request->segments))
        return ctl_complain("--segments: \"%s\" is no number", request->segments);
    if (!add_moment(sale, "startsAt", request->starts))
        return ctl_complain("--starts: \"%s\" is no time like 2026-11-20T10:00:00+08:00, "
                            "\"2026-11-20 10:00\" or +60",
                            request->starts);
    if (!add_moment(sale, "endsAt", request->ends))
        return ctl_complain(
            "--ends: \"%s\" is no time like 2026-11-20T10:00:00+08:00, \"2026-11-20 10:00\" or +60",
            request->ends);
    (void)json_object_set_new(sale, "stock", json_integer(stock)); /* its lack would be refused */
    body = json_dumps(sale, JSON_COMPACT);
    exit_status = ctl_call_and_print(request, &(struct ctl_call){.path = "", .body = body});
    free(body);
    return exit_status;
}

int ctl_sale_create(const struct ctl_request *request)
{
    json_t *sale = NULL;
    int exit_status = CTL_OK;

    if (!request->stock) return ctl_complain("sale create: %s is missing", "--stock N");
    sale = json_object();
    exit_status = create_with(request, sale);
    json_decref(sale);
    return exit_status;
}

int ctl_sale_list(const struct ctl_request *request)
{
    return ctl_call_and_print(request, &(struct ctl_call){.path = ""});
}

/* The id becomes part of a path: what is not [a-z0-9-] has no business there. */
static bool path_of(const struct ctl_request *request, const char *action, char out[PATH_SIZE])
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

    if (!request->id[0] || strspn(request->id, allowed) != strlen(request->id)) return false;
    return snprintf(out, PATH_SIZE, "/%s%s", request->id, action) < PATH_SIZE;
}

int ctl_sale_call(const struct ctl_request *request, const char *action, struct ctl_call call)
{
    char path[PATH_SIZE];

    if (!path_of(request, action, path)) return ctl_complain("\"%s\" is no sale's id", request->id);
    call.path = path;
    return ctl_call_and_print(request, &call);
}

int ctl_sale_refund(const struct ctl_request *request)
{
    int exit_status = CTL_OK;

    if (!request->payment || !request->state)
        return ctl_complain("sale refund: %s is missing",
                            request->payment ? "--state sent|done" : "--payment PAYMENT");
    json_t *step = json_pack("{s:s, s:s}", "payment", request->payment, "state", request->state);
    char *body = step ? json_dumps(step, JSON_COMPACT) : NULL;
    exit_status = body ? ctl_sale_call(request, "/refunds", (struct ctl_call){.body = body})
                       : ctl_complain("\"%s\" is no text", request->payment);
    free(body);
    json_decref(step);
    return exit_status;
}

/* A key that nobody else has. */
static bool make_key(char *out, size_t size)
{
    uint64_t chance[2];

    if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance) return false;
    (void)snprintf(out, size, "%016" PRIx64 "%016" PRIx64, chance[0], chance[1]);
    return true;
}

int ctl_sale_restock(const struct ctl_request *request)
{
    char body[64];
    char own[40];
    char *end = NULL;
    long long units = 0;
    const char *key = request->key ? request->key : own;
    int exit_status = CTL_OK;

    if (!request->units) return ctl_complain("sale restock: %s is missing", "--units N");
    units = strtoll(request->units, &end, 10);
    if (end == request->units || *end)
        return ctl_complain("--units: \"%s\" is no number", request->units);
    if (!request->key && !make_key(own, sizeof own))
        return ctl_complain("sale restock: no random key, give one: --key KEY");
    (void)snprintf(body, sizeof body, "{\"units\":%lld}", units);
    exit_status = ctl_sale_call(request, "/restock", (struct ctl_call){.body = body, .key = key});
    if (!request->key && (exit_status == CTL_UNREACHABLE || exit_status == CTL_REFUSED))
        (void)fprintf(stderr, "seckillctl: to ask again, never twice: --key %s\n", key);
    return exit_status;
}

static int edit_with(const struct ctl_request *request, json_t *patch)
{
    bool is_open_end = request->ends && strcmp(request->ends, "none") == 0;
    char *body = NULL;
    int exit_status = CTL_OK;

    if (!add_text(patch, "title", request->title))
        return ctl_complain("--title: \"%s\" is no UTF-8 text", request->title);
    if (!add_moment(patch, "startsAt", request->starts))
        return ctl_complain("--starts: \"%s\" is no time like 2026-11-20T10:00:00+08:00, "
                            "\"2026-11-20 10:00\" or +60",
                            request->starts);
    if (is_open_end) (void)json_object_set_new(patch, "endsAt", json_null());
    if (!is_open_end && !add_moment(patch, "endsAt", request->ends))
        return ctl_complain("--ends: \"%s\" is no time like 2026-11-20T10:00:00+08:00, "
                            "\"2026-11-20 10:00\" or +60, nor none",
                            request->ends);
    if (!add_waiting(patch, request->admit))
        return ctl_complain("--admit: \"%s\" is no number", request->admit);
    if (json_object_size(patch) == 0) return ctl_complain("sale edit: nothing to change is given");
    body = json_dumps(patch, JSON_COMPACT);
    exit_status = ctl_sale_call(request, "", (struct ctl_call){.method = "PATCH", .body = body});
    free(body);
    return exit_status;
}

int ctl_sale_edit(const struct ctl_request *request)
{
    json_t *patch = json_object();
    int exit_status = edit_with(request, patch);

    json_decref(patch);
    return exit_status;
}
