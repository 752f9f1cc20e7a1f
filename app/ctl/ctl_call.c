/*
 * seckillctl's HTTP: one call to the admin port, and its answer in words. One thread.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>

#include "base/rfc3339.h"
#include "common/utf8.h"
#include "ctl.h"
#include "http/strict_json.h"

enum { TOKEN_SIZE = 512, TIMEOUT_S = 15, SLOWEST_BYTES_S = 1, KEY_MAX_LEN = 64, RANKS = 6 };

struct response {
    CURL *curl;      /* borrowed; of the call under way */
    const char *url; /* of --admin; borrowed */
    bool is_list;
    FILE *to; /* borrowed; NULL: stdout */
    long status;
    char *body; /* owned; NUL-terminated; of a list: only what was not printed yet */
    size_t len;
};

/* JSON as it came; what a terminal would obey is escaped in it, and so the same JSON. */
static void print_json(const char *text)
{
    char *shown = utf8_show(text, "\n");

    if (shown) (void)fputs(shown, stdout);
    free(shown);
}

/* The lines that are whole; the rest waits for its end. */
static void print_lines(struct response *response)
{
    char *last = memrchr(response->body, '\n', response->len);
    size_t len = last ? (size_t)(last - response->body) : 0;

    if (!last) return;
    *last = '\0';
    print_json(response->body);
    (void)fputs("\n", stdout);
    response->len -= len + 1;
    memmove(response->body, last + 1, response->len + 1);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct response *response = arg;
    size_t len = size * count;
    char *grown = NULL;

    (void)curl_easy_getinfo(response->curl, CURLINFO_RESPONSE_CODE, &response->status);
    if (response->to && response->status == 200) return fwrite(bytes, 1, len, response->to);
    grown = realloc(response->body, response->len + len + 1);
    if (!grown) return 0;
    memcpy(grown + response->len, bytes, len);
    response->body = grown;
    response->len += len;
    grown[response->len] = '\0';
    if (response->is_list && response->status == 200) print_lines(response);
    return ferror(stdout) ? 0 : len;
}

/* "Authorization: Bearer ..." from the first line of the token's file: TOKEN, or NAME ROLE TOKEN. */
static bool read_authorization(const char *path, char out[TOKEN_SIZE])
{
    static const char prefix[] = "Authorization: Bearer ";
    char line[TOKEN_SIZE - sizeof prefix];
    FILE *file = fopen(path, "re");
    bool good = false;

    if (!file) return false;
    good = fgets(line, sizeof line, file) != NULL;
    for (size_t len = strlen(line); good && len > 0 && strchr(" \r\n", line[len - 1]); len--)
        line[len - 1] = '\0';
    const char *blank = good ? strrchr(line, ' ') : NULL;
    (void)stpcpy(stpcpy(out, prefix), !good ? "" : blank ? blank + 1 : line);
    (void)fclose(file); /* it was only read */
    return good;
}

/* All of an answer has its time; a list may take as long as it comes. */
static void set_limit(CURL *curl, bool is_list)
{
    if (!is_list) {
        (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)TIMEOUT_S);
        return;
    }
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)TIMEOUT_S);
    (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)SLOWEST_BYTES_S);
    (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)TIMEOUT_S);
}

static bool perform(CURL *curl, const char *url, struct curl_slist *headers,
                    const struct ctl_call *call, struct response *out)
{
    char reason[CURL_ERROR_SIZE] = "";
    CURLcode code = CURLE_OK;

    out->curl = curl;
    out->is_list = call->is_list;
    out->to = call->to;
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
    (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
    if (call->body) (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body);
    if (call->method) (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method);
    set_limit(curl, call->is_list);
    code = curl_easy_perform(curl);
    if (code != CURLE_OK) {
        (void)ctl_complain("%s: %s", url, reason[0] ? reason : curl_easy_strerror(code));
        return false;
    }
    return curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &out->status) == CURLE_OK;
}

static struct curl_slist *headers_of(const struct ctl_call *call, const char *authorization)
{
    char key[128];
    struct curl_slist *headers = curl_slist_append(NULL, authorization);

    headers = curl_slist_append(headers, "Content-Type: application/json");
    if (!call->key) return headers;
    (void)snprintf(key, sizeof key, "Idempotency-Key: %s", call->key);
    return curl_slist_append(headers, key);
}

/* Gives an exit status; *out is yours (its body). */
static int ask(const struct ctl_request *request, const struct ctl_call *call, struct response *out)
{
    char url[1024];
    char authorization[TOKEN_SIZE];
    struct curl_slist *headers = NULL;
    CURL *curl = NULL;
    bool answered = false;

    if (!read_authorization(request->token_file, authorization))
        return ctl_complain(
            "%s: this file with the admin token cannot be read: %s; --admin-token or "
            "SECKILL_ADMIN_TOKEN names another",
            request->token_file, strerrordesc_np(errno));
    if (snprintf(url, sizeof url, "%s/api/v1/admin/sales%s", request->admin, call->path) >=
        (int)sizeof url)
        return ctl_complain("%s: this URL is too long", request->admin);
    if (call->key && strlen(call->key) > KEY_MAX_LEN)
        return ctl_complain("--key: \"%s\" is longer than %d", call->key, KEY_MAX_LEN);
    curl = curl_easy_init(); /* the first one sets libcurl up */
    if (!curl) return CTL_UNREACHABLE;
    headers = headers_of(call, authorization);
    out->url = request->admin;
    answered = perform(curl, url, headers, call, out);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    curl_global_cleanup();
    return answered ? CTL_OK : CTL_UNREACHABLE;
}

/* ---- what is printed ------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "-";
}

static long long number_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* Put up at first, and later. */
static long long units_of(const json_t *sale)
{
    return number_of(sale, "initialStock") + number_of(sale, "restocked");
}

/* As the service says it, and by the clock here where that is another. */
static void print_moment(const char *name, const json_t *sale, const char *member)
{
    const char *moment = text_of(sale, member);
    char here[64] = "";
    int64_t at_ms = 0;
    struct tm parts;

    if (rfc3339_parse(moment, &at_ms)) {
        time_t at_s = at_ms / 1000;

        if (localtime_r(&at_s, &parts) && parts.tm_gmtoff != 0)
            (void)strftime(here, sizeof here, "  (%F %T %Z)", &parts);
    }
    (void)printf("%-10s %s%s\n", name, moment, here);
}

/* Units of a restock are for sale a moment later: what is left now is not all. */
static void print_sale(const json_t *sale)
{
    const char *from = json_string_value(json_object_get(sale, "sellableAt"));
    bool opens_again = from && strcmp(text_of(sale, "state"), "sold_out") == 0;

    (void)printf("sale       %s\ntitle      %s\nstate      %s%s\n", text_of(sale, "id"),
                 text_of(sale, "title"), text_of(sale, "state"),
                 opens_again ? ", until the new units are for sale" : "");
    (void)printf("stock      %lld of %lld left\n", number_of(sale, "remaining"), units_of(sale));
    if (from)
        (void)printf("restocked  %lld units, for sale from %s\n", number_of(sale, "cooling"), from);
    (void)printf("guard      %s\n", text_of(sale, "guard"));
    print_moment("starts", sale, "startsAt");
    print_moment("ends", sale, "endsAt");
}

/* What sells stands first, what is over behind it; last a state that we do not know. */
static size_t rank_of(const json_t *sale)
{
    static const char *const states[] = {"active", "upcoming", "paused", "sold_out", "ended"};
    size_t rank = 0;

    while (rank < RANKS - 1 && strcmp(text_of(sale, "state"), states[rank]) != 0)
        rank++;
    return rank;
}

static void print_sales(const json_t *list)
{
    size_t i = 0;
    const json_t *sale = NULL;

    (void)printf("%-24s %-9s %10s %10s  %-16s %s\n", "SALE", "STATE", "LEFT", "OF", "GUARD",
                 "TITLE");
    for (size_t rank = 0; rank < RANKS; rank++) {
        json_array_foreach(list, i, sale)
        {
            if (rank_of(sale) != rank) continue;
            (void)printf("%-24s %-9s %10lld %10lld  %-16s %s\n", text_of(sale, "id"),
                         text_of(sale, "state"), number_of(sale, "remaining"), units_of(sale),
                         text_of(sale, "guard"), text_of(sale, "title"));
        }
    }
}

/* Gives an exit status: an audit that did not pass is no success. */
static int print_audit(const json_t *audit)
{
    size_t i = 0;
    const json_t *check = NULL;

    (void)printf("sale %s, as the service %s sees itself\n", text_of(audit, "saleId"),
                 text_of(audit, "instance"));
    json_array_foreach(json_object_get(audit, "checks"), i, check)
    {
        (void)printf("  %-7s  %-18s  %s\n", text_of(check, "verdict"), text_of(check, "name"),
                     text_of(check, "detail"));
    }
    (void)printf("%s\n", text_of(audit, "verdict"));
    return strcmp(text_of(audit, "verdict"), "pass") == 0 ? CTL_OK : CTL_REFUSED;
}

static void print_refusal(const struct response *response, const json_t *problem)
{
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    const char *field = json_string_value(json_object_get(problem, "field"));

    if (!json_object_get(problem, "title")) {
        (void)ctl_complain(
            "%s (%ld): this is no answer of seckilld's; is its admin address another?",
            response->url, response->status);
        return;
    }
    (void)ctl_complain("%s (%ld)%s%s%s%s", text_of(problem, "title"), response->status,
                       field ? ": " : "", field ? field : "", detail ? ": " : "",
                       detail ? detail : "");
}

/* Every text in it as it is printed: what a terminal would obey is escaped. */
static void show_texts(json_t *value)
{
    const char *name = NULL;
    size_t i = 0;
    json_t *inner = NULL;

    if (json_is_string(value)) {
        char *shown = utf8_show(json_string_value(value), "");

        (void)json_string_set(value, shown ? shown : "?");
        free(shown);
    }
    json_object_foreach(value, name, inner) show_texts(inner); /* STRICT_JSON_DEPTH_MAX at most */
    json_array_foreach(value, i, inner) show_texts(inner);
}

static json_t *load(const struct response *response)
{
    return strict_json_load(response->body ? response->body : "", response->len, NULL);
}

static int print_response(const struct ctl_request *request, const struct response *response)
{
    json_t *root = load(response);
    const json_t *list = json_object_get(root, "sales");
    int exit_status = response->status / 100 == 2 ? CTL_OK : CTL_REFUSED;
    bool is_audit = json_object_get(root, "checks") != NULL;

    show_texts(root);
    if (request->is_json) {
        print_json(response->body ? response->body : "");
        (void)fputs("\n", stdout);
        if (is_audit && strcmp(text_of(root, "verdict"), "pass") != 0) exit_status = CTL_REFUSED;
    } else if (exit_status == CTL_REFUSED) {
        print_refusal(response, root);
    } else if (is_audit) {
        exit_status = print_audit(root);
    } else if (list) {
        print_sales(list);
    } else {
        print_sale(root);
    }
    json_decref(root);
    return exit_status;
}

/* The query that leads on from a page of sales; NULL: it is the last. */
static const char *next_of(const json_t *page)
{
    const char *next = json_string_value(json_object_get(page, "next"));

    return next ? strchr(next, '?') : NULL;
}

/* Put the sales of the pages behind a first one to its own; a page that fails is told instead. */
static int add_pages(const struct ctl_request *request, struct response *told)
{
    int exit_status = CTL_OK;
    json_t *all = load(told);
    json_t *last = json_incref(all);

    while (exit_status == CTL_OK && next_of(last)) {
        free(told->body);
        *told = (struct response){0};
        exit_status = ask(request, &(struct ctl_call){.path = next_of(last)}, told);
        json_decref(last);
        last = load(told);
        (void)json_array_extend(json_object_get(all, "sales"), json_object_get(last, "sales"));
    }
    if (last != all && exit_status == CTL_OK && told->status == 200) {
        (void)json_object_del(all, "next");
        free(told->body);
        told->body = json_dumps(all, JSON_COMPACT);
        told->len = told->body ? strlen(told->body) : 0;
    }
    json_decref(last);
    json_decref(all);
    return exit_status;
}

int ctl_call_and_print(const struct ctl_request *request, const struct ctl_call *call)
{
    struct response response = {0};
    int exit_status = ask(request, call, &response);
    bool is_printed = call->is_list && response.status == 200;

    if (call->out_status) *call->out_status = exit_status == CTL_OK ? response.status : 0;
    if (is_printed && response.body)
        print_json(response.body); /* the last line, if it has no end */
    if (exit_status == CTL_OK && !is_printed) exit_status = add_pages(request, &response);
    if (exit_status == CTL_OK && !is_printed) exit_status = print_response(request, &response);
    free(response.body);
    return exit_status;
}
